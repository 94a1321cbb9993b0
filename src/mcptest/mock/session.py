"""What a mock knows about MCP, the state of one client session, error answers, and the report.

About MCP it knows what of a message is compared, and standard results. Error answers and reports
show values without secrets, as JSON, and not too long.

A `Session` is changed in place. Before a message is handled that may have to be abandoned half
way (a pattern takes too long, a name is not bound) a copy is taken, and restored then. Copying
is cheap because the only large part, which messages of the contract were used, is a bytearray.
"""

from __future__ import annotations

import json
import re

from mcptest import __version__
from mcptest.core.results import Mismatch
from mcptest.core.secrets import is_secret, names_secret
from mcptest.core.strict_json import dump_json
from mcptest.core.text import printable_json, shorten, show_json, visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.protocol.revisions import (
    DEFAULT_OFFER,
    HANDSHAKE_REVISIONS,
    META_SERVER_INFO,
    STATELESS_REVISIONS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Literal

    from mcptest.protocol.jsonrpc import IdKey

    Message = dict[str, Any]
    Place = dict[str, object]
    Era = Literal["", "handshake", "stateless"]
    Result = dict[str, object]

__all__ = [
    "ALWAYS_ALLOWED",
    "BEFORE_HANDSHAKE",
    "COMPARED_IN_PART",
    "HIDDEN",
    "INITIALIZED",
    "LISTS",
    "MAX_WRONG",
    "NEEDED_CAPABILITIES",
    "PROGRESS",
    "REMOVED",
    "Asked",
    "CaseReport",
    "MockReport",
    "Pending",
    "Round",
    "Sent",
    "Session",
    "Subscription",
    "Wrong",
    "body_of",
    "describe_unasked",
    "discover_result",
    "empty_result",
    "error_answer",
    "hide_mismatch_secrets",
    "hide_secrets",
    "initialize_result",
    "join_reports",
    "problem",
    "redact_line",
    "render_report",
    "render_summary",
]


INITIALIZED = "notifications/initialized"
PROGRESS = "notifications/progress"

# Requests of a client before its session is ready: nothing is sent before their answers.
BEFORE_HANDSHAKE = ("initialize", "ping", "server/discover")

# Requests that the stateless revision no longer has.
REMOVED = frozenset(
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
)

# Notifications that a client may send at any time.
ALWAYS_ALLOWED = frozenset(
    [INITIALIZED, "notifications/cancelled", PROGRESS, "notifications/roots/list_changed"]
)

# The capability a client must declare to be sent a request.
NEEDED_CAPABILITIES = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}

# The methods that list something, and the member of the result with the list.
LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}

# Of these messages a contract writes only a part: who the client is, and why it cancels, is up
# to the client. Every other request must be exactly what is written.
COMPARED_IN_PART = frozenset(["initialize", "notifications/cancelled"])

_WITH_ARGUMENTS = frozenset(["tools/call", "prompts/get"])


def body_of(message: Message) -> dict[str, object]:
    """The part of a message that is compared: its params, or its result or error.

    Ids and `_meta` differ from client to client, and a client may omit what is empty.
    """
    if "method" not in message:
        outcome: Message = {key: message[key] for key in ("result", "error") if key in message}
        for key, value in outcome.items():
            if isinstance(value, dict):
                outcome[key] = {name: value[name] for name in value if name != "_meta"}
        return outcome
    params = message.get("params")
    if params is None or params == []:
        params = {}
    if not isinstance(params, dict):
        return {"params": params}
    omitted = ["_meta"]
    # The method in a contract may be a tag, which has no hash.
    method = message["method"] if isinstance(message["method"], str) else ""
    if method in LISTS and params.get("cursor") is None:
        omitted.append("cursor")
    if method == "notifications/cancelled":
        omitted.append("requestId")
    body = {key: value for key, value in params.items() if key not in omitted}
    if method in _WITH_ARGUMENTS and body.get("arguments") is None:
        body["arguments"] = {}
    return {"params": body}


def initialize_result(name: str, version: str, capabilities: Result, params: object) -> Result:
    """The result of `initialize`: the client's revision if it is a known one."""
    offered = params.get("protocolVersion") if isinstance(params, dict) else None
    return {
        "protocolVersion": offered if offered in HANDSHAKE_REVISIONS else DEFAULT_OFFER,
        "capabilities": capabilities,
        "serverInfo": {"name": name, "version": version or __version__},
    }


def discover_result(name: str, version: str, capabilities: Result) -> Result:
    """The result of `server/discover`."""
    return {
        "resultType": "complete",
        "supportedVersions": list(STATELESS_REVISIONS),
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {META_SERVER_INFO: {"name": name, "version": version or __version__}},
    }


_EMPTY: dict[str, Result] = {
    **{method: {member: []} for method, member in LISTS.items()},
    "tools/call": {"content": []},
    "resources/read": {"contents": []},
    "prompts/get": {"messages": []},
    "completion/complete": {"completion": {"values": []}},
}


def empty_result(method: str) -> Result:
    """The smallest valid result of a request."""
    return dict(_EMPTY.get(method, {}))


# The state of a session

# Wrong calls kept for the report.
MAX_WRONG = 200

# Requests waiting for an answer, in either direction; the oldest are forgotten.
_MAX_WAITING = 1000

# Mismatches in an error answer or a report entry, and those quoted in the error's message.
_MAX_MISMATCHES = 20
_MAX_IN_WORDS = 3


class Sent(Record):
    """A message for the client; `method` is that of the request it answers, if any.

    A batch also has its answers in `parts`. `request_id` is the id of the client's request that
    caused a message which is not an answer, `subscription` the key of the subscription it is
    for. A request has in `key` the id that the contract writes, which may be taken.
    """

    message: object
    method: str = ""
    parts: tuple[Sent, ...] = ()
    request_id: object = ABSENT
    subscription: object = ABSENT
    key: str = ""

    @property
    def members(self) -> Message:
        """The members of the message, {} for a batch."""
        return self.message if isinstance(self.message, dict) else {}

    @property
    def is_answer(self) -> bool:
        return "method" not in self.members


class Pending(Record):
    """A request of the client that is answered later: its number in the contract, and its id."""

    incoming: int
    id: object


class Asked(Record):
    """A request to the client that it has not answered, and the client's request behind it."""

    outgoing: int
    pending: Pending | None


class Round(Record):
    """Questions that a stateless client answers by repeating its request with `token`.

    `questions` are by the keys they were sent under; `request_id` is the id of the original
    request, `method` and `body` what it asked for.
    """

    token: str
    request_id: object
    method: str
    body: object
    questions: Mapping[str, Message]


class Subscription(Record):
    """An open `subscriptions/listen`: the id of its request, and the notifications wanted."""

    key: IdKey
    id: object
    wanted: Mapping[str, object]


class Wrong(Record):
    """A message of the client that the contract does not have, ready for the report."""

    request: object
    nearest: Place | None = None
    differences: tuple[Place, ...] = ()


class Session:
    """One client session. `size` is how many messages or offers can be used.

    `used[n]` is 1 once message n of the contract was received; `unsent` are the messages that
    open a case and have not been sent. `names` are bound values by file and name, `tokens` the
    client's progress tokens by case and by how the contract writes them. `held` are the cases
    that would be opened if a name were bound. `touched` are the cases that made progress, and
    `has_new_names` is true if a name was bound, since cases were last opened.

    `declared` are the client's capabilities, None before the handshake. `era` is "" until the
    first request shows it; only a stateless session has `rounds` and `subscriptions`, and it
    `has_begun` with the first request about the contract. `notes` are printed at the end, one for
    each subject.
    """

    def __init__(self, size: int, unsent: Iterable[int] = ()) -> None:
        self.used = bytearray(size)
        self.unsent = set(unsent)
        self.names: dict[tuple[int, str], object] = {}
        self.tokens: dict[tuple[int, IdKey], object] = {}
        self.held: list[int] = []
        self.touched: set[int] = set()
        self.has_new_names = False
        self.pending: list[Pending] = []
        self.asked: dict[IdKey, Asked] = {}
        self.ids_made = 0
        self.is_ready = False
        self.revision = ""
        self.declared: frozenset[str] | None = None
        self.era: Era = ""
        self.has_begun = False
        self.rounds: list[Round] = []
        self.subscriptions: list[Subscription] = []
        self.notes: dict[str, str] = {}
        self.wrong: list[Wrong] = []
        self.more_wrong = 0

    def copy(self) -> Session:
        """A copy that later changes to this session do not reach."""
        twin = Session(0)
        for name, value in vars(self).items():
            is_container = isinstance(value, (bytearray, dict, list, set))
            setattr(twin, name, value.copy() if is_container else value)
        return twin

    def restore(self, copy: Session) -> None:
        """Undo everything that happened since the copy was taken."""
        vars(self).update(vars(copy))

    def add_pending(self, pending: Pending) -> None:
        self.pending = [*self.pending, pending][-_MAX_WAITING:]

    def is_pending(self, pending: Pending) -> bool:
        return any(each is pending for each in self.pending)

    def settle(self, pending: Pending) -> None:
        self.pending = [each for each in self.pending if each is not pending]

    def ask(self, key: IdKey, asked: Asked) -> None:
        self.asked[key] = asked
        if len(self.asked) > _MAX_WAITING:
            del self.asked[next(iter(self.asked))]

    def open_round(self, round: Round) -> None:
        self.rounds = [*self.rounds, round][-_MAX_WAITING:]
        self.ids_made += 1

    def close_round(self, token: str) -> None:
        self.rounds = [each for each in self.rounds if each.token != token]

    def unsubscribe(self, key: IdKey) -> None:
        self.subscriptions = [each for each in self.subscriptions if each.key != key]

    def report(self, cases: Iterable[CaseReport]) -> MockReport:
        """The report about this session."""
        notes = tuple(self.notes.values())
        return MockReport(
            cases=tuple(cases), wrong=tuple(self.wrong), more_wrong=self.more_wrong, notes=notes
        )

    def note(self, subject: str, sentence: str) -> None:
        """Add a note about something that is not wrong, once for each subject."""
        self.notes.setdefault(subject, sentence)

    def blame(
        self, request: object, nearest: Place | None = None, mismatches: Iterable[Mismatch] = ()
    ) -> None:
        """Record something wrong that the client sent."""
        if len(self.wrong) >= MAX_WRONG:
            self.more_wrong += 1
            return
        differences = tuple(map(_render_mismatch, mismatches))[:_MAX_MISMATCHES]
        request = _shorten_value(hide_secrets(request))
        self.wrong.append(Wrong(request=request, nearest=nearest, differences=differences))

    def refuse(
        self,
        request: Message,
        code: int,
        sentence: str,
        nearest: Place | None = None,
        mismatches: Sequence[Mismatch] = (),
    ) -> Sent:
        """Record a wrong request; return the error that answers it."""
        self.blame(request, nearest, mismatches or (problem(sentence),))
        return error_answer(request["id"], request["method"], code, sentence, nearest, mismatches)


# Error answers


def problem(sentence: str, path: str = "") -> Mismatch:
    """A mismatch that is only a sentence."""
    return Mismatch(path=path, expected=ABSENT, actual=ABSENT, message=sentence)


def describe_unasked(message: Message) -> Mismatch:
    """What is wrong with an answer to nothing that was asked."""
    sentence = "answers nothing that was asked"
    return Mismatch(path="id", expected=ABSENT, actual=message.get("id"), message=sentence)


def error_answer(
    id: object,
    method: str,
    code: int,
    sentence: str,
    nearest: Place | None = None,
    mismatches: Sequence[Mismatch] = (),
) -> Sent:
    """An error with the nearest case and what differs from it; `method` is the request's."""
    mismatches = [hide_mismatch_secrets(each) for each in mismatches]
    message = f"mcptest mock: {sentence}"
    if nearest:
        place = f"{nearest['file']}:{nearest['line']}"
        message += f"; the nearest is {dump_json(nearest['case'])} ({place})"
    # The sentence already mentions an unknown method.
    if mismatches and mismatches[0].path != "method" and mismatches[0].message not in sentence:
        words = [_describe_mismatch(each) for each in mismatches[:_MAX_IN_WORDS]]
        if len(mismatches) > _MAX_IN_WORDS:
            words.append(f"and {len(mismatches) - _MAX_IN_WORDS} more")
        message += f": {'; '.join(words)}"
    differences = [_render_mismatch(each) for each in mismatches[:_MAX_MISMATCHES]]
    data = {"nearest": nearest, "differences": differences}
    error = {"code": code, "message": message, "data": data}
    return Sent(message={"jsonrpc": "2.0", "id": id, "error": error}, method=method)


def _describe_mismatch(mismatch: Mismatch) -> str:
    where = f"{mismatch.path}: " if mismatch.path else ""
    sides = ""
    if mismatch.message in ("differs", "is missing"):
        sides += f", expected {show_json(mismatch.expected)}"
    if mismatch.message in ("differs", "is not expected"):
        sides += f", got {show_json(mismatch.actual)}"
    hint = f" ({mismatch.hint})" if mismatch.hint else ""
    return f"{where}{mismatch.message}{sides}{hint}"


# Values as error answers and reports show them

HIDDEN = "(hidden)"

_SCHEMES = ("Bearer ", "Basic ")

# Messages that quote no value.
_PLAIN = frozenset(["differs", "is missing", "is not expected"])

_MAX_VALUE_CHARS = 2_000


def hide_secrets(value: Any, key: str = "") -> Any:
    """Replace the secrets in the value of `key`."""
    if _is_secret(key, value):
        return HIDDEN
    if isinstance(value, dict):
        return {name: hide_secrets(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [hide_secrets(inner, key) for inner in value]
    return value


def hide_mismatch_secrets(mismatch: Mismatch) -> Mismatch:
    """Replace secrets on both sides: the expected value may have come from the client too."""
    steps = re.findall(r'[^.\[\]"]+', mismatch.path) or [""]

    def hide(value: object) -> object:
        if any(_is_secret(step, value) for step in steps):
            return HIDDEN
        found = hide_secrets(value)
        return value if found == value else found

    expected, actual = hide(mismatch.expected), hide(mismatch.actual)
    if expected is mismatch.expected and actual is mismatch.actual:
        return mismatch
    message = mismatch.message if mismatch.message in _PLAIN else "differs"
    return mismatch.but(expected=expected, actual=actual, message=message, hint="")


def redact_line(text: str) -> str:
    """A line that is not a message, or HIDDEN if it may contain a secret."""
    is_open = not names_secret(text) and not any(scheme in text for scheme in _SCHEMES)
    return text if is_open and "token" not in text.lower() else HIDDEN


def _is_secret(key: str, value: object) -> bool:
    if isinstance(value, str) and value.startswith(_SCHEMES):
        return True
    return value is not ABSENT and is_secret(key, value)


def _render_mismatch(mismatch: Mismatch) -> dict[str, object]:
    """The members of a mismatch in reports and error answers; an absent value is null."""
    mismatch = hide_mismatch_secrets(mismatch)
    return {
        "path": mismatch.path,
        "expected": _shorten_value(mismatch.expected),
        "actual": _shorten_value(mismatch.actual),
        "message": mismatch.message + (f" ({mismatch.hint})" if mismatch.hint else ""),
    }


def _shorten_value(value: object) -> object:
    """The value if it is short JSON, otherwise the beginning of its text; null if absent."""
    if value is ABSENT:
        return None
    try:
        is_short = len(dump_json(value)) <= _MAX_VALUE_CHARS
    except (TypeError, ValueError):
        # YAML has values that JSON does not: .nan, .inf, dates.
        is_short = False
    return value if is_short else show_json(value, _MAX_VALUE_CHARS)


# The report: which cases the client exercised, missed and called wrongly

_MAX_SHOWN = 20
_MAX_CHARS = 300


class CaseReport(Record):
    """One case of the contract, and if the client exercised it.

    `awaited` is the method of a request of the mock that the client has not answered, if that
    is what the case waits for.
    """

    place: Place
    is_exercised: bool
    awaited: str = ""


class MockReport(Record):
    """All cases in the order of the files, and what was wrong; `more_wrong` calls were not kept."""

    cases: tuple[CaseReport, ...]
    wrong: tuple[Wrong, ...]
    more_wrong: int = 0
    notes: tuple[str, ...] = ()

    @property
    def missed(self) -> list[CaseReport]:
        return [case for case in self.cases if not case.is_exercised]

    @property
    def is_kept(self) -> bool:
        """True if the client exercised every case, and did nothing else."""
        return not self.missed and not self.wrong


def join_reports(one: MockReport, other: MockReport) -> MockReport:
    """One report about two sessions: a case exercised in either of them is exercised."""
    pairs = zip(one.cases, other.cases, strict=True)
    wrong = (*one.wrong, *other.wrong)
    return MockReport(
        cases=tuple(
            max(pair, key=lambda case: (case.is_exercised, bool(case.awaited))) for pair in pairs
        ),
        wrong=wrong[:MAX_WRONG],
        more_wrong=one.more_wrong + other.more_wrong + max(0, len(wrong) - MAX_WRONG),
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
    )


def render_report(report: MockReport) -> str:
    """The report as JSON."""
    wrong = [
        {"request": each.request, "nearest": each.nearest, "differences": list(each.differences)}
        for each in report.wrong
    ]
    if report.more_wrong:
        rest = f"{report.more_wrong:,} more wrong calls were not recorded"
        left_out = {"path": "", "expected": None, "actual": None, "message": rest}
        wrong.append({"request": None, "nearest": None, "differences": [left_out]})
    members = {
        "exercised": [case.place["case"] for case in report.cases if case.is_exercised],
        "missed": [case.place["case"] for case in report.missed],
        "waiting": [
            {"case": case.place["case"], "method": case.awaited}
            for case in report.missed
            if case.awaited
        ],
        "wrong": wrong,
    }
    return printable_json(json.dumps(members, ensure_ascii=False, indent=2)) + "\n"


def render_summary(report: MockReport) -> str:
    """The report in a few lines, for standard error."""
    total, missed = len(report.cases), report.missed
    wrong = len(report.wrong) + report.more_wrong
    head = f"mcptest mock: {total - len(missed)} of {total} cases exercised"
    lines = [f"{head}, {wrong:,} wrong call{'s' if wrong != 1 else ''}" if wrong else head]
    for case in missed[:_MAX_SHOWN]:
        waiting = f": waiting for the client's answer to {visible(case.awaited)}"
        lines.append(f"  missed  {_show_place(case.place)}{waiting if case.awaited else ''}")
    if len(missed) > _MAX_SHOWN:
        lines.append(f"  … and {len(missed) - _MAX_SHOWN:,} more")
    lines += [f"  wrong   {_describe_wrong(each)}" for each in report.wrong[:_MAX_SHOWN]]
    if wrong > _MAX_SHOWN:
        lines.append(f"  … and {wrong - _MAX_SHOWN:,} more")
    lines += [f"  note    {visible(note)}" for note in report.notes]
    return "\n".join(lines) + "\n"


def _show_place(place: Place) -> str:
    return visible(f"{place['case']} ({place['file']}:{place['line']})")


def _describe_wrong(wrong: Wrong) -> str:
    request = wrong.request
    method = request.get("method") if isinstance(request, dict) else None
    text = visible(method) if isinstance(method, str) else show_json(request, 80)
    if wrong.nearest:
        text += f"; nearest: {_show_place(wrong.nearest)}"
    for first in wrong.differences[:1]:
        path = f"{visible(str(first['path']))}: " if first["path"] else ""
        text += f"; {path}{visible(str(first['message']))}"
        if first["message"] == "differs":
            expected, actual = (show_json(first[side], 80) for side in ("expected", "actual"))
            text += f", expected {expected}, got {actual}"
    return shorten(text, _MAX_CHARS)
