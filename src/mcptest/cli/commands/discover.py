"""`mcptest discover`: write a test file for everything that a server offers.

The features that the server lists are tried if that cannot do harm. The answers become a test file,
which is loaded and run once before it is written: tests that do not pass a second time are skipped
in it, with the reason.
"""

from __future__ import annotations

import os
import sys

from mcptest.cli.one_server import print_note, use_server
from mcptest.cli.options import Command, Option
from mcptest.cli.output import StandardOutput, check_writable, write_file, write_stderr
from mcptest.cli.shared_options import (
    SERVER_DETAILS,
    SERVER_OPTIONS,
    choose_server,
    find_own_config,
)
from mcptest.core.coverage import KINDS
from mcptest.core.errors import InterruptedRunError, ServerError, UsageError
from mcptest.core.events import CaseFinished
from mcptest.core.results import ExitCode
from mcptest.core.text import excerpt, plural, visible
from mcptest.engine.discovery import CONDUCTOR_ENDINGS, read_text
from mcptest.engine.loading import Plan
from mcptest.engine.run import RunOptions, run_plan
from mcptest.explore.discover import Surveyor, hidden_env, render_suite
from mcptest.explore.features import is_declared, list_features
from mcptest.formats.conductor import load_conductor
from mcptest.formats.yaml import read_document
from mcptest.matching.registry import builtin_registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcptest.cli.options import Arguments
    from mcptest.core.events import Event
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import CaseResult
    from mcptest.engine.pool import SingleServer
    from mcptest.engine.server import Launcher
    from mcptest.explore.discover import Probe

    Message = dict[str, Any]

__all__ = ["COMMAND", "build_verified_suite", "discover", "with_short_timeout"]

# Shorter than in a run: a slow call is not a good first test.
_TIMEOUT_S = 5.0


def discover(arguments: Arguments) -> int:
    """Write tests for the features of a server; return the exit code."""
    if arguments.paths:
        message = f"mcptest discover takes no {visible(arguments.paths[0])!r}"
        raise UsageError(message, "the command that starts the server comes after --")
    target = _target(arguments)
    spec = with_short_timeout(choose_server(arguments), arguments)
    block = _server_block(arguments, spec, target)

    def work(visit: SingleServer, launcher: Launcher) -> int:
        if visit.stateless_revision:
            # Spares each run of the file a handshake that the server refuses.
            block["protocolVersion"] = visit.stateless_revision
        text, probes = build_verified_suite(
            visit, launcher, target or "discovered.test.mcp.yml", block
        )
        if target:
            write_file(target, text)
        else:
            StandardOutput().write_utf8(text)
        _report(target, probes)
        return ExitCode.PASSED

    return use_server(arguments, spec, work)


def with_short_timeout(spec: ServerSpec, arguments: Arguments) -> ServerSpec:
    """Return the server with a short timeout, unless the user has set one."""
    return spec if arguments.has("--timeout") else spec.but(timeout_s=_TIMEOUT_S)


def _target(arguments: Arguments) -> str:
    """Return the file to write, "" for standard output; refuse existing files and bad names."""
    path = arguments.last("--output", "-")
    if path == "-":
        return ""
    if not path.endswith(CONDUCTOR_ENDINGS):
        raise UsageError(
            f"{visible(path)} would not be found as a test file; their names end in "
            f"{CONDUCTOR_ENDINGS[0]}",
            f"for example -o {visible(path.partition('.')[0] or 'server')}{CONDUCTOR_ENDINGS[0]}",
        )
    if os.path.lexists(path) and not arguments.has("--force"):
        message = f"{visible(path)} exists already and was not changed"
        raise UsageError(message, "--force replaces it; another name with -o keeps both")
    check_writable(path)
    return path


def _server_block(arguments: Arguments, spec: ServerSpec, target: str) -> Message:
    """Return the keys under `server:`: those of the config, or the command and its folder."""
    config = find_own_config(arguments)
    block: Message = {"name": spec.name}
    if spec.command:
        block |= {"command": spec.command[0], "args": list(spec.command[1:])}
    if arguments.has("--url"):
        block["url"] = arguments.last("--url")
    if config:
        written = read_document(read_text(config), config).value
        assert isinstance(written, dict), "the config has been loaded before"
        block |= {key: value for key, value in written.items() if value is not None}
        if isinstance(block.get("env"), dict):
            block["env"] = _without_secrets(block["env"])
    if spec.http:
        block |= _http_keys(arguments, block.get("headers"))
    if spec.spec_version:
        block["protocolVersion"] = spec.spec_version
    block.pop("cwd", None)
    folder = os.path.relpath(spec.cwd, os.path.dirname(os.path.abspath(target)))
    if target and folder != "." and spec.command:
        block["cwd"] = folder
    return block


def _http_keys(arguments: Arguments, written: object) -> Message:
    """Return headers and credentials of a server on HTTP, as references to variables."""
    found: Message = {}
    words = (word.partition("=") for word in arguments.all("--header-env"))
    headers = {header: f"${{{name}}}" for header, _, name in words}
    if headers:
        found["headers"] = (written if isinstance(written, dict) else {}) | headers
    if arguments.has("--bearer-env"):
        found["auth"] = {"bearerTokenEnv": arguments.last("--bearer-env")}
    if arguments.has("--ca-file"):
        found["caFile"] = os.path.abspath(arguments.last("--ca-file"))
    return found


def _without_secrets(env: Message) -> Message:
    hidden = hidden_env(env)
    for name in env:
        if hidden[name] != env[name]:
            print_note(
                f"{visible(name)} is written as ${{{visible(name)}}}; set it to run the file"
            )
    return hidden


def build_verified_suite(
    visit: SingleServer, launcher: Launcher, file: str, block: Mapping[str, object] | None
) -> tuple[str, list[Probe]]:
    """Return the text of a test file whose tests have passed or are skipped, and its probes."""
    declared = [kind for kind in KINDS.values() if is_declared(kind, visit.capabilities)]
    listings = {kind.name: list_features(visit.ask, kind) for kind in declared}
    for listing in listings.values():
        if listing.problem:
            print_note(f"{listing.kind.name}: {listing.problem}")
    surveyor = Surveyor(visit.attempt, visit.capabilities, lambda: visit.unfinished)
    probes = surveyor.survey(listings)
    for each in surveyor.notes:
        print_note(each)
    visit.close()
    name = visit.server_info.get("name")
    description = _writable(name) if isinstance(name, str) and name else visit.spec.name
    command = visit.spec.command
    # Unless the user has named the server, its own name is used.
    unnamed = os.path.basename(command[0]) if command else visit.spec.name
    if block is not None and block["name"] == unnamed:
        block = {**block, "name": description}
    text = render_suite(description, block, probes)
    results = visit.cleaned(_results(text, file, visit.spec, launcher))
    probes = [
        probe if result.status in ("passed", "skipped") else probe.but(skip=_why(result))
        for probe, result in zip(probes, results, strict=True)
    ]
    text = render_suite(description, block, probes)
    _load(text, file, visit.spec)
    return text, probes


def _writable(name: str) -> str:
    """Return the name of a server without references to variables, to be written to a file."""
    return excerpt(name, 100).replace("${", "{")


def _results(text: str, file: str, spec: ServerSpec, launcher: Launcher) -> list[CaseResult]:
    """Run the file like `mcptest run`, and return the results."""
    plan = _load(text, file, spec)
    results: list[CaseResult] = []

    def listen(event: Event) -> None:
        if isinstance(event, CaseFinished):
            results.append(event.result)

    finished, _ = run_plan(plan, RunOptions(started_at=""), launcher, listen)
    if finished.interrupted:
        raise InterruptedRunError
    if finished.fault:
        raise ServerError(finished.fault)
    return results


def _load(text: str, file: str, spec: ServerSpec) -> Plan:
    # Variables that the file refers to have their values from the config.
    environment = {**(spec.env or {}), **os.environ}
    suite, _ = load_conductor(text, file, builtin_registry(), environment)
    return Plan(suites=((suite, spec),))


def _why(result: CaseResult) -> str:
    """Return why a test that has passed once did not pass again."""
    if result.fault:
        said = excerpt(result.fault.message, 200)
        return f"a second try ended in {result.fault.kind}: {said}"
    where = result.mismatches[0]
    reason = f"a second try was answered differently: {where.path} {where.message}"
    return excerpt(reason, 300)


def _report(target: str, probes: list[Probe]) -> None:
    skipped = [probe.skip for probe in probes if probe.skip]
    where = f"wrote {visible(target)}: " if target else ""
    # Overwrites the progress line.
    start = "\r\x1b[K" if sys.stderr.isatty() else ""
    summary = f"{plural(len(probes), 'test')}, {len(skipped)} of them skipped with a reason"
    write_stderr(f"{start}{where}{summary}\n")
    deaths = sum(1 for reason in skipped if "exited_during_call" in reason)
    if deaths:
        write_stderr(f"{plural(deaths, 'call')} ended the server: look for exited_during_call\n")
    if target:
        write_stderr(f"run them: mcptest run {visible(target)}\n")


COMMAND = Command(
    name="mcptest discover",
    summary="Write a test file for everything a server offers.",
    usage="mcptest discover [-o FILE] [options] [-- COMMAND…]",
    details="Features are tried if that cannot do harm, and the answers become tests that pass. "
    f"Tools that could change something are never called. {SERVER_DETAILS}",
    options=(
        Option(
            names=("-o", "--output"),
            value="FILE",
            help="test file to write, *.test.mcp.yml (default: standard output)",
        ),
        Option(names=("--force",), help="replace the file if it exists"),
        *SERVER_OPTIONS,
    ),
    examples=(
        "mcptest discover -o server.test.mcp.yml -- python3 server.py",
        "mcptest discover --config conductor.config.json > server.test.mcp.yml",
    ),
    run=discover,
    takes_command=True,
)
