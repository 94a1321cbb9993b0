"""The baseline of `mcptest security`: findings that are accepted, each with a reason.

version: 1
accepted:
  - id: SEC-012
    path: tools[3].name
    fingerprint: 8f14e45fceea167a
    reason: both servers are ours, and clients use one of them
"""

from __future__ import annotations

from mcptest.core.diagnostics import PathDiagnostic
from mcptest.core.security import BaselineEntry
from mcptest.formats.keys import STRING, Key, Keys, check_diagnostics, read_top
from mcptest.formats.yaml import read_document
from mcptest.formats.yaml.writer import comment_lines, render_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BASELINE_VERSION", "read_baseline", "write_baseline"]

BASELINE_VERSION = 1

_TOP_KEYS = Keys(
    {
        "version": Key(
            {"const": BASELINE_VERSION}, "The version of this format.", is_required=True
        ),
        "accepted": Key("entries", "The accepted findings.", is_required=True),
    }
)
_ENTRY_KEYS = Keys(
    {
        "id": Key(STRING, "The rule.", "SEC-012", is_required=True),
        "path": Key(STRING, "Where it is.", "tools[3].name", is_required=True),
        "fingerprint": Key(STRING, "The hash of the definition.", is_required=True),
        "reason": Key(STRING, "Why it is accepted.", is_required=True),
        "server": Key(STRING, "The server, if there are several."),
    }
)


def read_baseline(text: str, file: str, *, needs_reasons: bool = True) -> tuple[BaselineEntry, ...]:
    """The entries of a baseline; FormatError lists every mistake."""
    document = read_document(text, file)
    diagnostics: list[PathDiagnostic] = []
    top = read_top(document, "a baseline must be an object", diagnostics)
    top.check_keys(_TOP_KEYS, "a baseline")
    if top.mapping.get("version", BASELINE_VERSION) != BASELINE_VERSION:
        top.report("version", "F003", f"this version of mcptest reads version {BASELINE_VERSION}")
    entries = []
    for _, entry in top.mappings_at("accepted", "an accepted finding"):
        entry.check_keys(_ENTRY_KEYS, "an accepted finding")
        if needs_reasons and entry.mapping.get("reason") == "":
            help = "write why this finding does no harm here"
            entry.report("reason", "F003", '"reason" is empty', help, on_key=False)
        names = ("id", "path", "fingerprint", "reason", "server")
        entries.append(BaselineEntry(**{name: entry.text(name) for name in names}))
    check_diagnostics(document, diagnostics)
    return tuple(entries)


def write_baseline(entries: Sequence[BaselineEntry]) -> str:
    """The text of a baseline; entries that are new have an empty reason, to be filled in."""
    notes = (
        "Findings of mcptest security that are accepted, each with a reason.",
        "An entry holds until the definition that it is about changes.",
    )
    accepted = [
        {name: value for name, value in entry.fields() if value or name == "reason"}
        for entry in entries
    ]
    value = {"version": BASELINE_VERSION, "accepted": accepted}
    lines = [f"{line}\n" for line in comment_lines(notes)]
    return "".join([*lines, render_yaml(value)])
