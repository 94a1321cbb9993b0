"""`mcptest schema`: print the JSON Schema of a file format, or of the frames of a channel."""

from __future__ import annotations

import json
import os

from mcptest.cli.options import Command, Option
from mcptest.cli.output import StandardOutput, write_stderr
from mcptest.cli.report_files import check_writable, is_special, write_file
from mcptest.coprocess.protocol import connection_schema, suite_channel_schema
from mcptest.core.diagnostics import closest
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.project import schema_url
from mcptest.core.results import ExitCode
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import defuse_markers, visible
from mcptest.core.value_class import Record
from mcptest.engine.test_files import read_text
from mcptest.formats.schemas.files import (
    ManifestTables,
    cases_schema,
    conductor_schema,
    expected_failures_schema,
    hints_schema,
    manifest_schema,
    snapshot_schema,
    suite_schema,
)
from mcptest.formats.schemas.from_keys import config_schema
from mcptest.matching.registry import builtin_registry
from mcptest.mock.manifest import (
    ANSWER_KEYS,
    ARGUMENT_KEYS,
    CONTENT_KEYS,
    MANIFEST_KEYS,
    MESSAGE_KEYS,
    PROMPT_KEYS,
    RESOURCE_KEYS,
    ROLES,
    TOOL_KEYS,
)
from mcptest.plugins.installed import installed_matchers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.cli.options import Arguments
    from mcptest.matching.registry import Registry

__all__ = ["CHANNELS", "COMMAND", "FORMATS", "schema", "schema_of"]

_MANIFEST = ManifestTables(
    file=MANIFEST_KEYS,
    tool=TOOL_KEYS,
    answers=ANSWER_KEYS,
    resource=RESOURCE_KEYS,
    contents=CONTENT_KEYS,
    prompt=PROMPT_KEYS,
    messages=MESSAGE_KEYS,
    argument=ARGUMENT_KEYS,
    roles=ROLES,
)


class _Format(Record):
    """A format that has a schema: the files that are written in it, and what builds it."""

    files: str
    build: Callable[[Registry], dict[str, Any]]


FORMATS = {
    "suite": _Format(files="mcptest.yaml, mcptest.yml", build=suite_schema),
    "conductor": _Format(files="*.test.mcp.yml, *.test.mcp.yaml", build=conductor_schema),
    "cases": _Format(files="*.cases.yaml, *_test.yaml: one document", build=cases_schema),
    "config": _Format(files="conductor.config.json", build=lambda _: config_schema()),
    "manifest": _Format(
        files="manifests for mcptest mock", build=lambda known: manifest_schema(known, _MANIFEST)
    ),
    "snapshot": _Format(files="__snapshots__/*.snap.yaml", build=lambda _: snapshot_schema()),
    "hints": _Format(files="mcptest compliance run --hints FILE", build=lambda _: hints_schema()),
    "expected-failures": _Format(
        files="mcptest compliance run --expected-failures FILE",
        build=lambda _: expected_failures_schema(),
    ),
}
# What SDKs and `mcptest exec` send each other, on one line each.
CHANNELS = {
    "coprocess": _Format(
        files="frames of mcptest exec --connection-server", build=lambda _: connection_schema()
    ),
    "suite-channel": _Format(
        files="frames of mcptest exec --suite-server", build=lambda _: suite_channel_schema()
    ),
}
_ALL = FORMATS | CHANNELS
_DEFAULT = "suite"
# By these ids, schemas of mcptest are recognised in files.
_IDS = tuple(map(schema_url, _ALL))


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of a format, with the matchers of mcptest and of installed packages."""
    registry = builtin_registry()
    for matcher in sorted(installed_matchers(), key=lambda matcher: matcher.name):
        registry.add(matcher)
    return _ALL[name].build(registry)


def schema(arguments: Arguments) -> int:
    """Write a schema, or list the formats; return the exit code."""
    target = arguments.last("--output", "-")
    if arguments.has("--list"):
        if arguments.paths or arguments.has("--output") or arguments.has("--force"):
            raise UsageError("--list writes no schema, so it takes no other arguments")
        width = max(map(len, _ALL))
        lines = (f"{name.ljust(width)}  {each.files}\n" for name, each in _ALL.items())
        StandardOutput().write("".join(lines))
        return ExitCode.PASSED
    name = _name(arguments)
    if target != "-":
        check_writable(target)
        # Pipes and devices are not replaced.
        is_file = os.path.exists(target) and not is_special(target)
        if is_file and not arguments.has("--force") and not _is_ours(target):
            message = f"{visible(target)} exists already and is not a schema of mcptest"
            raise UsageError(message, "--force replaces it; another name with -o keeps both")
    text = defuse_markers(json.dumps(schema_of(name), ensure_ascii=False, indent=2)) + "\n"
    if target == "-":
        StandardOutput().write_utf8(text)
    else:
        write_file(target, text)
        write_stderr(f"wrote {visible(target)}\n")
    return ExitCode.PASSED


def _is_ours(path: str) -> bool:
    try:
        kept = parse_json(read_text(path))
    except (FormatError, NotJsonError):
        return False
    return isinstance(kept, dict) and kept.get("$id") in _IDS


def _name(arguments: Arguments) -> str:
    name, *others = arguments.paths or (_DEFAULT,)
    if others:
        message = f"mcptest schema takes one format, not {visible(name)} and {visible(others[0])}"
        raise UsageError(message, "call it once for each format, with -o FILE")
    if name not in _ALL:
        meant = closest(name, _ALL)
        question = f"; did you mean {meant}?" if meant else ""
        message = f"there is no format {visible(name)!r}{question}"
        raise UsageError(message, f"there are: {', '.join(_ALL)}")
    return name


COMMAND = Command(
    name="mcptest schema",
    summary="Print the JSON Schema of a file format, for editors.",
    usage="mcptest schema [FORMAT] [-o FILE]",
    details=f"The default is the schema of a {_DEFAULT}. With it, editors check files, complete "
    "keys and explain them: see docs/editors.md. For authors of SDKs there are also the frames of "
    f"both channels of mcptest exec. The formats: {', '.join(_ALL)}.",
    options=(
        Option(
            names=("-o", "--output"),
            value="FILE",
            help="file to write (default: standard output)",
        ),
        Option(names=("--force",), help="replace a file that is not a schema of mcptest"),
        Option(names=("--list",), help="list the formats and their files"),
    ),
    examples=(
        "mcptest schema -o mcptest.schema.json",
        "mcptest schema conductor -o conductor.schema.json",
        "mcptest schema --list",
    ),
    words=tuple(_ALL),
    run=schema,
)
