"""Rules about JSON-RPC: the shape and encoding of messages, and their ids (BASE)."""

from __future__ import annotations

import re

from mcptest.core.strict_json import dump_json
from mcptest.protocol import jsonrpc
from mcptest.rules.rule import Latest, Rule, SessionCheck, show, show_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.rules.rule import Entry, Facts, Findings

__all__ = ["ID_RULES", "RULES", "encoding_fault"]

_BOM = "\ufeff"
_UTF16_MARKS = ("\\xff\\xfe", "\\xfe\\xff")


def encoding_fault(line: str) -> str:
    """What is wrong with the encoding of a line, "" if nothing is or it is not like a message.

    Lines that cannot be parsed are kept as strings in which bytes that are not UTF-8 are `\\xNN`.
    A line may also contain these four characters, so only sequences that are not UTF-8 count.
    """
    if line.startswith(_UTF16_MARKS) and "\0" in line:
        return "a message must be UTF-8 and begins with the byte order mark of UTF-16"
    bare = line.replace("\0", "") if "\0" in line else line
    # A message begins with { and the name of a member.
    body = bare.lstrip(_BOM).lstrip(" \t[")
    if body[:1] != "{" or not body[1:].lstrip(" \t").startswith('"'):
        return ""
    if bare is not line and (len(line) - len(bare)) * 3 > len(line):
        return "a message must be UTF-8 and looks like UTF-16"
    if line.startswith(_BOM):
        return "a message must not begin with a byte order mark"
    for found in re.finditer(r"(\\?)((?:\\x[89a-f][0-9a-f])+)", line):
        is_escaped, run = found.groups()
        # A line that was cut may end in the middle of a character.
        if is_escaped or found.end() == len(line):
            continue
        digits = run.replace("\\x", "")
        try:
            bytes.fromhex(digits).decode("utf-8")
        except UnicodeDecodeError:
            return f"a message must be UTF-8 and holds the byte {digits[:2]} (hex)"
    return ""


def _check_version(entry: Entry, facts: Facts) -> Findings:
    message = entry.message
    is_message = entry.kind != "malformed" or (isinstance(message, dict) and "jsonrpc" in message)
    if not is_message and facts.is_stdio:
        # STDIO-01 judges lines that are not messages.
        return None
    if isinstance(message, dict):
        if message.get("jsonrpc") == "2.0":
            return ()
        found = show_member(message, "jsonrpc")
        return [f'the member jsonrpc of a message must be "2.0" and is {found}']
    if entry.kind == "batch" and message:
        # The messages of a batch are judged one by one.
        return None
    return [f"a message must be an object and is {show(message)}"]


def _check_encoding(entry: Entry, _: Facts) -> Findings:
    if entry.kind != "noise":
        # It was parsed, so it is UTF-8.
        return ()
    fault = encoding_fault(entry.message)
    return [f"{fault}: {show(entry.message)}"] if fault else None


def _check_result_or_error(entry: Entry, _: Facts) -> Findings:
    message = entry.message
    if entry.kind == "result":
        return ()
    if not isinstance(message, dict) or (entry.kind == "malformed" and "id" not in message):
        return None
    if jsonrpc.is_log_entry(message):
        return None
    return [sentence for path, sentence in jsonrpc.find_violations(message) if not path]


def _check_result(entry: Entry, _: Facts) -> Findings:
    result = entry.message["result"]
    if isinstance(result, dict):
        return ()
    answered = f" of {show(entry.method)}" if entry.method else ""
    return [f"the result{answered} must be an object and is {show(result)}"]


def _check_notification(entry: Entry, _: Facts) -> Findings:
    if not entry.method.startswith("notifications/"):
        return None
    if "id" not in entry.message:
        return ()
    return [f"{show(entry.method)} must not have an id and has {show(entry.message['id'])}"]


def _check_no_batch(entry: Entry, _: Facts) -> Findings:
    if entry.kind != "batch":
        return ()
    return [f"a frame must be one message and is an array of {len(entry.message):,}"]


def _check_no_request(entry: Entry, _: Facts) -> Findings:
    if entry.kind != "request":
        return ()
    return [
        f"the server sent a request, {show(entry.message['method'])} with the id "
        f"{show(entry.message['id'])}; this revision has none from servers"
    ]


_NO_MESSAGE = "the server sent nothing"

_MESSAGE_RULES = {
    "BASE-01 jsonrpc-member": Rule(
        property='every message of the server is an object whose member jsonrpc is "2.0"',
        topics=("server",),
        check=_check_version,
        reason_if_unused=_NO_MESSAGE,
        section="basic#Messages",
        older_sections={"2024-11-05": "basic/messages#Requests"},
    ),
    "BASE-02 utf8": Rule(
        property="every message of the server is UTF-8 without a byte order mark",
        topics=("server", "noise"),
        check=_check_encoding,
        covers=("STDIO-01",),
        reason_if_unused=_NO_MESSAGE,
        section="basic#Messages",
        older_sections={"2024-11-05": "basic/messages#Requests"},
    ),
    "BASE-09 result-xor-error": Rule(
        property="every response has either a result or an error",
        topics=("result", "error", "malformed"),
        check=_check_result_or_error,
        covers=("BASE-11", "INV-006"),
        reason_if_unused="the server answered nothing",
        section="basic#Responses",
    ),
    "BASE-10 result-object": Rule(
        property="every result is an object",
        topics=("result",),
        check=_check_result,
        covers=("INV-005",),
        reason_if_unused="no request was answered with a result",
        section="basic#Responses",
    ),
    "BASE-14 notification-no-id": Rule(
        property="no notification of the server has an id",
        topics=("request", "notification"),
        check=_check_notification,
        covers=("BASE-36", "HTTP-39", "LIFE-10", "STDIO-07"),
        reason_if_unused="the server sent no notification",
        section="basic#Notifications",
    ),
    "BASE-17 no-batch-emit": Rule(
        property="the server sends one message at a time, never an array of them",
        since="2025-06-18",
        topics=("server",),
        check=_check_no_batch,
        covers=("BASE-01",),
        reason_if_unused=_NO_MESSAGE,
        section="basic#Messages",
    ),
    "BASE-36 server-sends-no-requests": Rule(
        property="the server sends no requests",
        since="2026-07-28",
        topics=("server",),
        check=_check_no_request,
        covers=("ELIC-01", "ELIC-02", "ROOT-01", "SAMP-01"),
        reason_if_unused=_NO_MESSAGE,
        section="basic/patterns/mrtr#Multi Round-Trip Requests",
    ),
}


# Longer ids are kept as a hash.
_MAX_ID_CHARS = 100

# An error with one of these codes may have no id: the request could not be read.
_UNREADABLE = (jsonrpc.PARSE_ERROR, jsonrpc.INVALID_REQUEST)


def _is_request(entry: Entry) -> bool:
    """False for a notification that has an id by mistake (BASE-14)."""
    return not entry.method.startswith("notifications/")


def _check_id_type(entry: Entry, _: Facts) -> Findings:
    id = entry.message["id"]
    if id is None or not _is_request(entry):
        return None
    if type(id) in (str, int):
        return ()
    return [f"the id of {show(entry.method)} must be a string or an integer and is {show(id)}"]


def _check_id_not_null(entry: Entry, _: Facts) -> Findings:
    if not _is_request(entry):
        return None
    if entry.message["id"] is not None:
        return ()
    return [f"the id of {show(entry.method)} must be a string or an integer and is null"]


def _short_key(id: object) -> object:
    """A short key that is the same for ids that are equal in JSON: 1 and 1.0 are."""
    if type(id) is float and id.is_integer():
        id = int(id)
    if type(id) is int or (type(id) is str and len(id) <= _MAX_ID_CHARS):
        return id
    text = dump_json(id)
    return ("json", text) if len(text) <= _MAX_ID_CHARS else (len(text), hash(text))


class _UniqueRequestIds(SessionCheck):
    def __init__(self) -> None:
        self._used = Latest()

    def check(self, entry: Entry, _: Facts) -> Findings:
        id = entry.message["id"]
        if id is None or not _is_request(entry):
            return None
        key = _short_key(id)
        if key in self._used:
            return [f"the id {show(id)} of {show(entry.method)} was that of an earlier request"]
        self._used.add(key)
        return ()


class _OneResponse(SessionCheck):
    def __init__(self) -> None:
        # How many requests are open under each id: a client may use one twice.
        self._open: dict[object, int] = {}
        self._answered = Latest()

    def check(self, entry: Entry, facts: Facts) -> Findings:
        message = entry.message
        if entry.is_client:
            is_request = entry.kind in ("request", "malformed")
            if is_request and isinstance(message, dict) and "id" in message:
                key = _short_key(message["id"])
                self._open[key] = self._open.get(key, 0) + 1
                self._answered.drop(key)
            return None
        id = message.get("id")
        key = _short_key(id)
        count = self._open.pop(key, 0)
        if count > 1:
            self._open[key] = count - 1
        if count:
            self._answered.add(key)
            return ()
        if id is None and entry.kind == "error":
            # BASE-12 and BASE-13 judge errors without an id.
            return None
        if key in self._answered or jsonrpc.id_key(id) in facts.skipped:
            return [f"the request with the id {facts.name_id(id)} was answered more than once"]
        if id is None:
            return [
                "a result must have the id of its request and has none; notifications, which have "
                "no id, must not be answered"
            ]
        return [f"a response has the id {show(id)}, and no request had it"]


def _check_error_id(entry: Entry, facts: Facts) -> Findings:
    message = entry.message
    if message.get("id") is not None:
        # BASE-08 judges ids that no request had.
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

ID_RULES = {
    "BASE-03 request-id-type": Rule(
        property="the id of every request of the server is a string or an integer",
        topics=("request",),
        check=_check_id_type,
        reason_if_unused=_NO_REQUEST,
        section="basic#Requests",
    ),
    "BASE-04 request-id-not-null": Rule(
        property="the id of no request of the server is null",
        topics=("request",),
        check=_check_id_not_null,
        reason_if_unused=_NO_REQUEST,
        section="basic#Requests",
    ),
    "BASE-05 request-id-unique-session": Rule(
        property="the server uses no id for two requests of a session",
        until="2025-11-25",
        topics=("request",),
        session_check=_UniqueRequestIds,
        reason_if_unused=_NO_REQUEST,
        reason_if_other_revision="no requests from servers",
        section="basic#Requests",
    ),
    "BASE-08 one-response": Rule(
        property="no request is answered twice, and nothing is answered that was not asked",
        topics=("client", "result", "error"),
        session_check=_OneResponse,
        reason_if_unused="the server answered nothing",
        section="basic#Responses",
    ),
    "BASE-12 error-id": Rule(
        property="every error has the id of its request, null if it could not be read",
        until="2025-06-18",
        topics=("error",),
        check=_check_error_id,
        reason_if_unused=_NO_ERROR,
        reason_if_other_revision="another rule for it (BASE-13)",
        section="basic#Responses",
    ),
    "BASE-13 error-id-optional": Rule(
        property="every error has the id of its request, none if it could not be read",
        since="2025-11-25",
        topics=("error",),
        check=_check_error_id,
        reason_if_unused=_NO_ERROR,
        reason_if_other_revision="another rule for it (BASE-12)",
        section="basic#Responses",
    ),
}

RULES = {**_MESSAGE_RULES, **ID_RULES}
