"""Rules about frames and their ids: JSON-RPC 2.0 in UTF-8, one message at a time."""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.protocol import jsonrpc
from mcptest.rules.rule import Latest, Rule, Watch, show, show_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings

    Members = dict[str, Any]

__all__ = ["ID_RULES", "RULES", "encoding_fault"]

_BOM = "\ufeff"
_UTF16_MARKS = ("\\xff\\xfe", "\\xfe\\xff")
_ESCAPE_CHARS = 4


def encoding_fault(line: str) -> str:
    """What is wrong with the encoding of a line, "" when nothing is or it is not a message.

    Lines that are not messages are kept as strings with each byte that is not UTF-8 as `\\xNN`.
    The line itself may have these characters, so only what cannot be text counts.
    """
    if line.startswith(_UTF16_MARKS) and "\0" in line:
        return "a message must be UTF-8 and begins with the byte order mark of UTF-16"
    bare = line.replace("\0", "") if "\0" in line else line
    if not _is_like_a_message(bare.lstrip(_BOM)):
        return ""
    if bare is not line and (len(line) - len(bare)) * 3 > len(line):
        return "a message must be UTF-8 and looks like UTF-16"
    if line.startswith(_BOM):
        return "a message must not begin with a byte order mark"
    byte = _first_byte(line)
    return f"a message must be UTF-8 and holds the byte {byte} (hex)" if byte else ""


def _is_like_a_message(line: str) -> bool:
    body = line.lstrip("[ \t")
    return body[:1] == "{" and body[1:].lstrip(" \t").startswith('"')


def _first_byte(line: str) -> str:
    """The first byte that an escape must have been, in hex; "" when there is none."""
    at = line.find("\\x")
    while at >= 0:
        run = _run_at(line, at)
        end = at + len(run) * _ESCAPE_CHARS
        # The last bytes of a line that was cut may be a part of one character.
        is_whole = end < len(line)
        if run and is_whole and line[at - 1 : at] != "\\" and not _is_utf8(run):
            return f"{run[0]:x}"
        at = line.find("\\x", max(end, at + 1))
    return ""


def _run_at(line: str, at: int) -> bytes:
    """The bytes that the escapes from here on would be."""
    run = bytearray()
    while line.startswith("\\x", at) and (byte := _byte_of(line[at + 2 : at + 4])) > 127:
        run.append(byte)
        at += _ESCAPE_CHARS
    return bytes(run)


def _byte_of(digits: str) -> int:
    is_hex = len(digits) == 2 and not digits.strip("0123456789abcdef")
    return int(digits, 16) if is_hex else -1


def _is_utf8(run: bytes) -> bool:
    try:
        run.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _jsonrpc_member(entry: Entry, _: Facts) -> Findings:
    message = entry.message
    if isinstance(message, dict):
        if message.get("jsonrpc") == "2.0":
            return ()
        found = show_member(message, "jsonrpc")
        return [f'the member jsonrpc of a message must be "2.0" and is {found}']
    if entry.kind == "batch" and message:
        # Its messages are looked at one by one.
        return None
    return [f"a message must be an object and is {show(message)}"]


def _utf8(entry: Entry, _: Facts) -> Findings:
    if entry.kind != "noise":
        # It could be read, so it was UTF-8.
        return ()
    fault = encoding_fault(entry.message)
    return [f"{fault}: {show(entry.message)}"] if fault else None


def _result_xor_error(entry: Entry, _: Facts) -> Findings:
    message = entry.message
    if entry.kind == "result":
        return ()
    if not isinstance(message, dict) or (entry.kind == "malformed" and "id" not in message):
        return None
    return [sentence for path, sentence in jsonrpc.find_violations(message) if not path]


def _result_object(entry: Entry, _: Facts) -> Findings:
    result = entry.message["result"]
    if isinstance(result, dict):
        return ()
    answered = f" of {show(entry.method)}" if entry.method else ""
    return [f"the result{answered} must be an object and is {show(result)}"]


def _notification_no_id(entry: Entry, _: Facts) -> Findings:
    if not entry.method.startswith("notifications/"):
        return None
    if "id" not in entry.message:
        return ()
    return [f"{show(entry.method)} must not have an id and has {show(entry.message['id'])}"]


def _no_batch(entry: Entry, _: Facts) -> Findings:
    if entry.kind != "batch":
        return ()
    return [f"a frame must be one message and is an array of {len(entry.message):,}"]


def _no_requests(entry: Entry, _: Facts) -> Findings:
    if entry.kind != "request":
        return ()
    return [
        f"the server sent a request, {show(entry.message['method'])} with the id "
        f"{show(entry.message['id'])}; this revision has none from servers"
    ]


_EVERY_FRAME = "the server sent nothing"

_FRAME_RULES = (
    Rule(
        id="BASE-01",
        name="jsonrpc-member",
        category="base",
        property='every message of the server is an object whose member jsonrpc is "2.0"',
        topics=("server",),
        look=_jsonrpc_member,
        nothing=_EVERY_FRAME,
    ),
    Rule(
        id="BASE-02",
        name="utf8",
        category="base",
        property="every message of the server is UTF-8 without a byte order mark",
        topics=("server", "noise"),
        look=_utf8,
        nothing=_EVERY_FRAME,
    ),
    Rule(
        id="BASE-09",
        name="result-xor-error",
        category="base",
        property="every response has either a result or an error",
        topics=("result", "error", "malformed"),
        look=_result_xor_error,
        nothing="the server answered nothing",
    ),
    Rule(
        id="BASE-10",
        name="result-object",
        category="base",
        property="every result is an object",
        topics=("result",),
        look=_result_object,
        nothing="no request was answered with a result",
    ),
    Rule(
        id="BASE-14",
        name="notification-no-id",
        category="base",
        property="no notification of the server has an id",
        topics=("request", "notification"),
        look=_notification_no_id,
        nothing="the server sent no notification",
    ),
    Rule(
        id="BASE-17",
        name="no-batch-emit",
        category="base",
        property="the server sends one message at a time, never an array of them",
        since="2025-06-18",
        topics=("server",),
        look=_no_batch,
        nothing=_EVERY_FRAME,
    ),
    Rule(
        id="BASE-36",
        name="server-sends-no-requests",
        category="base",
        property="the server sends no requests",
        since="2026-07-28",
        topics=("server",),
        look=_no_requests,
        nothing=_EVERY_FRAME,
    ),
)


# Longer ids are remembered by their hash.
_MAX_ID_CHARS = 100

# An error with one of these may have no id: what it answers could not be read.
_UNREADABLE = (-32700, -32600)


def _is_request(entry: Entry) -> bool:
    """True if a frame with a method and an id is not a notification that has one by mistake."""
    return not entry.method.startswith("notifications/")


def _request_id_type(entry: Entry, _: Facts) -> Findings:
    id = entry.message["id"]
    if id is None or not _is_request(entry):
        return None
    if type(id) in (str, int):
        return ()
    return [f"the id of {show(entry.method)} must be a string or an integer and is {show(id)}"]


def _request_id_not_null(entry: Entry, _: Facts) -> Findings:
    if not _is_request(entry):
        return None
    if entry.message["id"] is not None:
        return ()
    return [f"the id of {show(entry.method)} must be a string or an integer and is null"]


def _key(id: object) -> object:
    """A key under which ids are equal when JSON says so; short, however long the id is."""
    # A server that reads 1.0 as a number and writes it as 1 has answered it.
    if type(id) is float and id.is_integer():
        id = int(id)
    if type(id) is int or (type(id) is str and len(id) <= _MAX_ID_CHARS):
        return id
    text = dump_json(id)
    return ("json", text) if len(text) <= _MAX_ID_CHARS else (len(text), hash(text))


class _RequestIdsUnique(Watch):
    def __init__(self) -> None:
        self._used = Latest()

    def see(self, entry: Entry, _: Facts) -> Findings:
        id = entry.message["id"]
        if id is None or not _is_request(entry):
            return None
        key = _key(id)
        if key in self._used:
            return [f"the id {show(id)} of {show(entry.method)} was that of an earlier request"]
        self._used.add(key)
        return ()


class _OneResponse(Watch):
    def __init__(self) -> None:
        # How many answers each id is owed: a client may use one twice.
        self._owed: dict[object, int] = {}
        self._answered = Latest()

    def see(self, entry: Entry, facts: Facts) -> Findings:
        message = entry.message
        if not entry.is_client:
            return self._answer(entry, facts)
        if isinstance(message, dict) and "id" in message and entry.kind in ("request", "malformed"):
            key = _key(message["id"])
            self._owed[key] = self._owed.get(key, 0) + 1
            self._answered.drop(key)
        return None

    def _answer(self, entry: Entry, facts: Facts) -> Findings:
        id = entry.message.get("id")
        key = _key(id)
        owed = self._owed.pop(key, 0)
        if owed > 1:
            self._owed[key] = owed - 1
        if owed:
            self._answered.add(key)
            return ()
        if id is None and entry.kind == "error":
            # The request could not be read, or its id is missing: that is another rule.
            return None
        is_second = key in self._answered or jsonrpc.id_key(id) in facts.skipped
        return [_describe_unexpected(entry, facts, is_second=is_second)]


def _describe_unexpected(entry: Entry, facts: Facts, *, is_second: bool) -> str:
    id = entry.message.get("id")
    if is_second:
        return f"the request with the id {facts.name_id(id)} was answered more than once"
    if id is None:
        return "a result must have the id of its request and has none"
    return f"a response has the id {show(id)}, and no request had it"


def _error_id(entry: Entry, facts: Facts) -> Findings:
    message = entry.message
    if message.get("id") is not None:
        # An id that no request had is another rule.
        return () if entry.request else None
    if entry.http or facts.transport.startswith(("http", "sse")):
        # The body of an error status may be an error without an id.
        return None
    if "id" not in message and facts.oldest < "2025-11-25":
        return ["an error must have an id, null if that of the request could not be read"]
    if entry.error_code in _UNREADABLE:
        return ()
    ids = [request.get("id") for request in facts.open.values()]
    if not ids or any(type(id) not in (str, int) for id in ids):
        return None
    named = ",".join(map(facts.name_id, ids[:5]))
    wanted = named if len(ids) == 1 else f"one of [{named}]"
    absent = "null" if "id" in message else "missing"
    return [f"the id of an error must be that of its request ({wanted}) and is {absent}"]


_NO_REQUEST = "the server sent no request"
_NO_ERROR = "no request was answered with an error"

ID_RULES = (
    Rule(
        id="BASE-03",
        name="request-id-type",
        category="base",
        property="the id of every request of the server is a string or an integer",
        topics=("request",),
        look=_request_id_type,
        nothing=_NO_REQUEST,
    ),
    Rule(
        id="BASE-04",
        name="request-id-not-null",
        category="base",
        property="the id of no request of the server is null",
        topics=("request",),
        look=_request_id_not_null,
        nothing=_NO_REQUEST,
    ),
    Rule(
        id="BASE-05",
        name="request-id-unique-session",
        category="base",
        property="the server uses no id for two requests of a session",
        until="2025-11-25",
        topics=("request",),
        watch=_RequestIdsUnique,
        nothing=_NO_REQUEST,
        elsewhere="no requests from servers",
    ),
    Rule(
        id="BASE-08",
        name="one-response",
        category="base",
        property="no request is answered twice, and nothing is answered that was not asked",
        topics=("client", "result", "error"),
        watch=_OneResponse,
        nothing="the server answered nothing",
    ),
    Rule(
        id="BASE-12",
        name="error-id",
        category="base",
        property="every error has the id of its request, null if it could not be read",
        until="2025-06-18",
        topics=("error",),
        look=_error_id,
        nothing=_NO_ERROR,
        elsewhere="another rule for it (BASE-13)",
    ),
    Rule(
        id="BASE-13",
        name="error-id-optional",
        category="base",
        property="every error has the id of its request, none if it could not be read",
        since="2025-11-25",
        topics=("error",),
        look=_error_id,
        nothing=_NO_ERROR,
        elsewhere="another rule for it (BASE-12)",
    ),
)

RULES = (*_FRAME_RULES, *ID_RULES)
