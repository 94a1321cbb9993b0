"""Files of the lanes: hints and expected failures of `compliance run`, the baseline of `security`.

    slow_tool: {name: sleep, arguments: {seconds: 5}, seconds: 5}
    eliciting_tool: none
    token: {secret_env: SHOP_TOKEN}

A hint says how to provoke what no client can find out by itself. `none` says that the server has
no such thing, so that the checks which need it do not apply.

    - {check: HTTP-02, server: shop@1.2.0, reason: behind a proxy that checks it, until: 2027-01-01}

A baseline has the findings of a scan that are accepted, each with a reason.

    version: 1
    accepted:
      - id: SEC-012
        path: tools[3].name
        fingerprint: 8f14e45fceea167a
        reason: both servers are ours, and clients use one of them
"""

from __future__ import annotations

from datetime import date

from mcptest.core.diagnostics import PathDiagnostic, suggest
from mcptest.core.errors import FormatError
from mcptest.core.security import BaselineEntry
from mcptest.core.value_class import Record
from mcptest.formats.fields import (
    NON_EMPTY,
    OBJECT,
    STRING,
    Fields,
    Key,
    Keys,
    check_diagnostics,
    diagnose,
    kind_of,
    number,
    one_of,
    read_top,
)
from mcptest.formats.yaml import read_document
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

__all__ = [
    "CHANGE_KEYS",
    "EXPECTED_KEYS",
    "HINT_KEYS",
    "NONE",
    "SECRET_KEYS",
    "TOOL_KEYS",
    "ExpectedFailure",
    "Hints",
    "read_baseline",
    "read_expected_failures",
    "read_hints",
    "write_baseline",
]


# The value of a hint about something that the server does not have.
NONE = "none"

_SECONDS = Key(number(0, 3600, is_open=True), "How many seconds it takes.", 5)
TOOL_KEYS = Keys(
    {
        "name": Key(NON_EMPTY, "The name of the tool.", "sleep", is_required=True),
        "arguments": Key(OBJECT, "The arguments to call it with.", {"seconds": 5}),
        "seconds": _SECONDS,
    }
)
CHANGE_KEYS = Keys(
    {
        "uri": Key(NON_EMPTY, "The URI of the resource.", "note://today", is_required=True),
        "tool": Key("tool_hint", "The call that changes it (default: it changes by itself)."),
        "seconds": _SECONDS,
    }
)
SECRET_KEYS = Keys(
    {
        "secret_env": Key(
            NON_EMPTY,
            "The environment variable that has the token; it is blanked in every report.",
            "SHOP_TOKEN",
            is_required=True,
        )
    }
)
HINT_KEYS = Keys(
    {
        "slow_tool": Key(
            "tool_hint",
            "A call that takes some seconds, to be cancelled.",
            {"name": "sleep", "arguments": {"seconds": 5}, "seconds": 5},
        ),
        "progress_tool": Key("tool_hint", "A call that reports its progress."),
        "eliciting_tool": Key("tool_hint", "A call that asks the user something (elicitation)."),
        "sampling_tool": Key("tool_hint", "A call that asks the model something (sampling)."),
        "failing_tool": Key("tool_hint", "A call that fails with isError."),
        "resource_that_changes": Key(
            "change_hint",
            "A resource that changes, by itself or by a call.",
            {"uri": "note://today", "tool": {"name": "add_note"}},
        ),
        "readonly_observer": Key(
            "command_hint",
            "A command whose output shows what the server has stored; it must stay the same while "
            "tools are called that declare readOnlyHint.",
            ["sqlite3", "shop.db", ".dump"],
        ),
        "token": Key("secret_hint", "A token that the server accepts.", {"secret_env": "TOKEN"}),
        "other_token": Key("secret_hint", "A token of another user, or for another server."),
        "file_root": Key("path_hint", "The folder that the server may read.", "data"),
    }
)


class Hints(Record):
    """The hints by name, None for `none`, and the secrets among them."""

    values: dict[str, Any]
    secrets: tuple[str, ...] = ()


def read_hints(text: str, file: str, environment: Mapping[str, str]) -> Hints:
    """The hints of a file. FormatError lists every mistake with its place."""
    document = read_document(text, file)
    diagnostics: list[PathDiagnostic] = []
    fields = read_top(document, "a file of hints must be a mapping", diagnostics)
    fields.check_keys(HINT_KEYS, "a file of hints")
    found: dict[str, Any] = {}
    secrets: list[str] = []
    for name in fields.mapping:
        kind = HINT_KEYS[name].type if name in HINT_KEYS else ""
        if kind and fields.mapping[name] == NONE:
            found[name] = None
        elif kind == "tool_hint":
            found[name] = _read_tool(fields, name)
        elif kind == "change_hint":
            found[name] = _read_change(fields, name)
        elif kind == "command_hint":
            found[name] = _read_command(fields, name)
        elif kind == "secret_hint":
            found[name] = _read_secret(fields, name, environment)
            secrets.append(found[name])
        elif kind == "path_hint":
            found[name] = fields.non_empty_text(name)
    try:
        check_diagnostics(document, diagnostics)
    except FormatError as error:
        # A token that was written here by mistake must not be quoted.
        if not any(isinstance(fields.mapping.get(name), str) for name in ("token", "other_token")):
            raise
        raise FormatError([each.but(source="") for each in error.diagnostics]) from None
    return Hints(values=found, secrets=tuple(secrets))


def _read_tool(fields: Fields, key: str) -> dict[str, Any]:
    """A call; only a name is a call without arguments."""
    if isinstance(fields.mapping[key], str):
        return {"name": fields.non_empty_text(key), "arguments": {}}
    inner = fields.mapping_at(key)
    if inner is None:
        return {}
    inner.check_keys(TOOL_KEYS, f'"{key}"')
    arguments = inner.mapping_at("arguments")
    call: dict[str, Any] = {
        "name": inner.non_empty_text("name"),
        "arguments": dict(arguments.mapping) if arguments else {},
    }
    return call | _read_seconds(inner)


def _read_seconds(fields: Fields) -> dict[str, Any]:
    seconds = fields.number("seconds", *_SECONDS.bounds)
    if seconds == 0:
        fields.report("seconds", "F009", '"seconds" must be more than 0', on_key=False)
    return {} if seconds is None else {"seconds": seconds}


def _read_change(fields: Fields, key: str) -> dict[str, Any]:
    """A resource; only a URI is one that changes by itself."""
    if isinstance(fields.mapping[key], str):
        return {"uri": fields.non_empty_text(key)}
    inner = fields.mapping_at(key)
    if inner is None:
        return {}
    inner.check_keys(CHANGE_KEYS, f'"{key}"')
    tool = {"tool": _read_tool(inner, "tool")} if "tool" in inner.mapping else {}
    return {"uri": inner.non_empty_text("uri"), **tool, **_read_seconds(inner)}


def _read_command(fields: Fields, key: str) -> list[str]:
    value = fields.mapping[key]
    if isinstance(value, str):
        words = ", ".join(f'"{word}"' for word in value.split())
        message = f'"{key}" must be a list: the program and its arguments'
        fields.report(key, "F008", message, f"write {key}: [{words}]", on_key=False)
        return []
    if value == []:
        fields.report(key, "F009", f'"{key}" is empty', on_key=False)
    return list(fields.texts(key))


def _read_secret(fields: Fields, key: str, environment: Mapping[str, str]) -> str:
    if isinstance(fields.mapping[key], str):
        message = f'"{key}" must name the environment variable that has the token'
        help = f"write {key}: {{secret_env: NAME}}; a token in a file is a secret that leaks"
        fields.report(key, "F008", message, help, on_key=False)
        return ""
    inner = fields.mapping_at(key)
    if inner is None:
        return ""
    inner.check_keys(SECRET_KEYS, f'"{key}"')
    name = inner.non_empty_text("secret_env")
    value = environment.get(name, "")
    if name and not value:
        how = "is empty" if name in environment else "is not set"
        message = f"the environment variable {name!r} {how}"
        inner.report("secret_env", "F016", message, f"export {name}=… before the run")
    return value


# Expected failures

EXPECTED_KEYS = Keys(
    {
        "check": Key(
            {
                "type": "string",
                "pattern": r"^[A-Z]+-\d+$",
                "patternErrorMessage": "the id of a check, such as HTTP-02",
            },
            "The id of the check.",
            "HTTP-02",
            is_required=True,
        ),
        "server": Key(
            NON_EMPTY,
            "The server that is meant, by its name or as name@version (default: any).",
            "shop@1.2.0",
        ),
        "revision": Key(one_of(REVISIONS), "The revision that is meant (default: any)."),
        "reason": Key(NON_EMPTY, "Why the failure is accepted.", is_required=True),
        "until": Key(
            {
                "type": "string",
                "pattern": r"^\d{4}-\d{2}-\d{2}$",
                "patternErrorMessage": "a day, such as 2027-01-01",
            },
            "The last day on which it is accepted.",
            "2027-01-01",
        ),
    }
)


class ExpectedFailure(Record):
    """A failure that is accepted, with the line that says so."""

    check: str
    reason: str
    server: str = ""
    revision: str = ""
    until: str = ""
    file: str = ""
    line: int = 0

    def is_about(self, id: str, revision: str, name: str, version: str) -> bool:
        """True if it is about this check of this server."""
        servers = ("", name, f"{name}@{version}")
        return self.check == id and self.server in servers and self.revision in ("", revision)


def read_expected_failures(
    text: str, file: str, known: Collection[str]
) -> tuple[ExpectedFailure, ...]:
    """The entries of a file; `known` are the ids of all checks. FormatError lists every mistake."""
    document = read_document(text, file)
    diagnostics: list[PathDiagnostic] = []
    top = Fields({}, (), diagnostics)
    items = document.value
    if items is None:
        items = []
    if not isinstance(items, list):
        message = f"a file of expected failures must be a list and is {kind_of(items)}"
        help = "write - {check: HTTP-02, reason: …} for each of them"
        top.report("", "F005", message, help)
        raise FormatError(diagnose(document, diagnostics))
    found = []
    for index, item in enumerate(items):
        place = top.at((index,))
        if not isinstance(item, dict):
            message = f"an expected failure must be a mapping and is {kind_of(item)}"
            place.report("", "F008", message, on_key=False)
            continue
        entry = _read_expected(place.replaced(item), known)
        found.append(entry.but(file=file, line=document.item_line(items, index)))
    check_diagnostics(document, diagnostics)
    return tuple(found)


def _read_expected(fields: Fields, known: Collection[str]) -> ExpectedFailure:
    fields.check_keys(EXPECTED_KEYS, "an expected failure")
    check = fields.non_empty_text("check")
    if check and check not in known:
        message = f"there is no check {check!r}{suggest(check, known)}"
        fields.report("check", "F009", message, "mcptest compliance run --list", on_key=False)
    until = fields.non_empty_text("until")
    try:
        if until:
            date.fromisoformat(until)
    except ValueError:
        message = '"until" must be a day, such as 2027-01-01'
        fields.report("until", "F009", message, on_key=False)
    return ExpectedFailure(
        check=check,
        reason=fields.non_empty_text("reason"),
        server=fields.non_empty_text("server"),
        revision=fields.choice("revision", REVISIONS, ""),
        until=until,
    )


# The baseline of security findings

_BASELINE_VERSION = 1

_TOP_KEYS = Keys(
    {
        "version": Key(
            {"const": _BASELINE_VERSION}, "The version of this format.", is_required=True
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
    if top.mapping.get("version", _BASELINE_VERSION) != _BASELINE_VERSION:
        top.report("version", "F003", f"this version of mcptest reads version {_BASELINE_VERSION}")
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
    # It loads PyYAML, which takes as long as the rest of a small run.
    from mcptest.formats.yaml.writer import comment_lines, render_yaml  # noqa: PLC0415

    notes = (
        "Findings of mcptest security that are accepted, each with a reason.",
        "An entry holds until the definition that it is about changes.",
    )
    accepted = [
        {name: value for name, value in entry.fields() if value or name == "reason"}
        for entry in entries
    ]
    value = {"version": _BASELINE_VERSION, "accepted": accepted}
    lines = [f"{line}\n" for line in comment_lines(notes)]
    return "".join([*lines, render_yaml(value)])
