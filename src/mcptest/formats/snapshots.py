"""The file that holds the snapshots of a suite: YAML for a person who reviews a change.

    version: 1
    snapshots:
      "finds the order":
        content:
          - type: "text"
            text: |-
              A-17
              sent

Every JSON value reads back as it was written. Values that YAML cannot carry (half of a surrogate
pair) or that are not readable as YAML (very deep ones) are JSON strings under `json`.
"""

from __future__ import annotations

import json
import re

from mcptest.core.diagnostics import Diagnostic, PathDiagnostic
from mcptest.core.errors import FormatError
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.formats.fields import OBJECT, STRING, Fields, Key, Keys, check_diagnostics, read_top
from mcptest.formats.yaml import read_document
from mcptest.formats.yaml.writer import LiteralBlock, comment_lines, render_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["KEYS", "VERSION", "read_snapshots", "write_snapshots"]

VERSION = 1
KEYS = Keys(
    {
        "version": Key({"const": VERSION}, "The version of this format.", is_required=True),
        "snapshots": Key(
            OBJECT, "The accepted values, by the name of the snapshot.", is_required=True
        ),
        "json": Key(
            {**OBJECT, "additionalProperties": STRING},
            "The same for values that YAML cannot hold, each as a string of JSON.",
        ),
    }
)
_WHAT = "a file of snapshots"

# Deeper values are not readable, and too deep for the quick reader.
_MAX_DEPTH = 40
# So many quotes and backslashes make a text hard to read between quotes.
_MANY_ESCAPES = 4

# Text of a snapshot is indented, so that a conflict of a merge is never part of one.
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?\r?$", re.MULTILINE)


def write_snapshots(entries: Mapping[str, object], suite_name: str) -> str:
    """The text of the file, the same for the same entries in any order."""
    notes = (
        f"Snapshots of {suite_name}: what its server answered when they were last accepted.",
        "mcptest writes this file. Review it and commit it with the suite.",
        "To accept what the server answers now, run mcptest with --update-snapshots.",
    )
    readable = {key: entries[key] for key in sorted(entries) if _is_readable(entries[key])}
    others = {
        key: LiteralBlock(text=json.dumps(entries[key]))
        for key in sorted(entries)
        if key not in readable
    }
    lines = [*comment_lines(notes), f"version: {VERSION}"]
    lines += _section("snapshots", {key: _lay_out(value) for key, value in readable.items()})
    if others:
        lines += _section("json", others)
    return "".join(f"{line}\n" for line in lines)


def _section(name: str, entries: Mapping[str, object]) -> Iterator[str]:
    """One entry after the other, with a blank line between them."""
    yield f"{name}:" if entries else f"{name}: {{}}"
    for number, (key, value) in enumerate(entries.items()):
        if number:
            yield ""
        for line in render_yaml({key: value}).removesuffix("\n").split("\n"):
            yield f"  {line}" if line else line


def _lay_out(value: object) -> object:
    """The same value, with texts as lines where they are better read so."""
    if isinstance(value, str):
        escapes = value.count('"') + value.count("\\")
        return LiteralBlock(text=value) if "\n" in value or escapes >= _MANY_ESCAPES else value
    if isinstance(value, dict):
        return {key: _lay_out(inner) for key, inner in value.items()}
    return [_lay_out(inner) for inner in value] if isinstance(value, list) else value


def _is_readable(value: object) -> bool:
    """True if YAML can carry the value in a readable form."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        below: list[object] = []
        for node in level:
            if isinstance(node, dict):
                below += node
                below += node.values()
            elif isinstance(node, list):
                below += node
            elif isinstance(node, str) and not _is_encodable(node):
                return False
        if not below:
            return True
        level = below
    return False


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read_snapshots(text: str, file: str) -> dict[str, object]:
    """The snapshots by their names. FormatError lists every mistake with its place."""
    _refuse_conflicts(text, file)
    document = read_document(text, file)
    diagnostics: list[PathDiagnostic] = []
    fields = read_top(document, f"{_WHAT} must be a mapping", diagnostics, _HELP)
    fields.check_keys(KEYS, _WHAT)
    version = fields.mapping.get("version", VERSION)
    if type(version) is not int or version != VERSION:
        message = f'"version" must be {VERSION}: this mcptest knows no other'
        help = "a newer mcptest may have written it"
        fields.report("version", "F010", message, help, on_key=False)
    snapshots = fields.mapping_at("snapshots")
    others = fields.mapping_at("json")
    found = dict(snapshots.mapping) if snapshots else {}
    for key in others.mapping if others else ():
        assert others is not None, "there are keys"
        if key in found:
            message = 'a snapshot of this name is under "snapshots", too'
            others.report(key, "F003", message, "keep one of them")
        found[key] = _parse_value(others, key)
    check_diagnostics(document, diagnostics)
    return found


_HELP = "delete it, and the next run writes a new one; or restore the one you had"


def _refuse_conflicts(text: str, file: str) -> None:
    first = _CONFLICT.search(text)
    if first is None:
        return
    source = first[0].rstrip("\r")
    found = Diagnostic(
        code="F002",
        file=file,
        message="there is a merge conflict here",
        line=text.count("\n", 0, first.start()) + 1,
        column=1,
        width=len(source),
        source=source,
        help="take the file of one side, and run mcptest with --update-snapshots",
    )
    raise FormatError([found])


def _parse_value(others: Fields, key: str) -> object:
    """The value of a snapshot that is written as JSON text; None after a diagnostic."""
    text = others.text(key, "null")
    try:
        return parse_json(text)
    except NotJsonError as error:
        others.report(key, "F002", f"this is not JSON: {error.reason}", on_key=False)
        return None
