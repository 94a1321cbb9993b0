"""Error answers: is the request to blame, or is the server broken or not set up?

`mcptest discover` sends made-up values. An error that is plainly about such a value is what a
server should answer, and a test may expect it. Any other error would freeze a fault as a test that
passes: an exception, a missing key, a backend that cannot be reached.
"""

from __future__ import annotations

import re

from mcptest.core.likely_secrets import hide_secrets_in
from mcptest.core.text import excerpt
from mcptest.core.value_class import Record
from mcptest.formats.fields import strings_in
from mcptest.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, tool_failure
from mcptest.protocol.revisions import RESOURCE_NOT_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Message = dict[str, Any]

__all__ = ["Breakage", "find_breakage", "is_error_answer"]

_MAX_QUOTED_CHARS = 120
_MAX_READ_CHARS = 20_000


class Breakage(Record):
    """Why an error answer says that the server is broken: what it said, the cause, the remedy."""

    said: str
    cause: str
    remedy: str

    @property
    def reason(self) -> str:
        """The reason for skipping the test."""
        return f"the server answered {self.said}: {self.cause}; {self.remedy}"


def is_error_answer(answer: Message) -> bool:
    """True if an answer is a JSON-RPC error, or the result of a tool that failed."""
    result = answer.get("result")
    return "error" in answer or (isinstance(result, dict) and bool(tool_failure(result)))


def find_breakage(
    answer: Message, arguments: Mapping[str, object], *, missing: str = "", promise: str = ""
) -> Breakage | None:
    """What an error answer to a request with these made-up arguments says; None if it is in order.

    `missing` is the required argument that the request left out: then an error is expected, and
    only one that is plainly not a validation is a breakage. `promise` says why no made-up value can
    be to blame: every error is a breakage then.
    """
    if not is_error_answer(answer):
        return None
    code, text = _code_and_text(answer)
    said = _quote(answer, text)
    result = answer.get("result")
    if odd := tool_failure(result, "") if isinstance(result, dict) else "":
        return Breakage(said=said, cause=odd, remedy=_REPAIR)
    unvalidated = "it does not validate its arguments" if missing else ""
    if cause := _find_exception(text, arguments, missing):
        return Breakage(said=said, cause=unvalidated or cause, remedy=_REPAIR)
    is_validation = bool(re.search(_VALIDATION, text))
    is_about_value = is_validation or code in (INVALID_PARAMS, RESOURCE_NOT_FOUND)
    causes: list[tuple[str, str, str]] = []
    if not is_validation and not _quotes_value(text, arguments):
        causes += _PLAIN_CAUSES
    if not is_about_value:
        causes += _CAUSES
    for pattern, cause, remedy in causes:
        if re.search(pattern, text):
            return Breakage(said=said, cause=cause, remedy=remedy)
    if promise:
        return Breakage(said=said, cause=promise, remedy=_REPAIR)
    if is_about_value:
        return None
    if code is not None and -32768 <= code <= -32000:
        is_internal = code == INTERNAL_ERROR
        cause = "an internal error" if is_internal else "not the code of a bad value"
        return Breakage(said=said, cause=unvalidated or f"that is {cause}", remedy=_REPAIR)
    if missing or re.search(_ABOUT_A_VALUE, text):
        return None
    cause = "nothing says that the made-up values are to blame"
    remedy = "put in real ones, and take this line out"
    return Breakage(said=said, cause=cause, remedy=remedy)


_REPAIR = "repair the server, and take this line out"
_SET_UP = "set it up, and take this line out"

# An SDK says so when it checks arguments against the schema; the text quotes names of arguments,
# which may be any word below.
_VALIDATION = (
    r"(?i)\binput validation error\b|\bvalidation errors? for\b|\binvalid arguments? for\b"
)

# Names of exceptions that a server raises on purpose, to refuse a value.
_DELIBERATE = (
    r"(?:Mcp|MCP|Tool|Validation|Zod|Schema|NotFound|BadRequest|InvalidArgument|InvalidParams?"
    r"|InvalidInput|InvalidRequest)(?:Error|Exception)"
)
_EXCEPTION = re.compile(
    rf"\b(?!{_DELIBERATE}\b)[A-Z][A-Za-z]*(?:Error|Exception)\b"
    r"|Traceback \(most recent call last\)|^panic: |\bgoroutine \d|^\s+at [\w.$<>]+ ?\("
    r"|Cannot read propert|(?:undefined|null) is not |is not a function\b|is not iterable\b"
    r"|\bNoneType\b|has no attribute\b|is not subscriptable|unsupported operand|nil pointer"
    r"|required positional argument|unexpected keyword argument|can only concatenate"
    r"|must be str, not|string indices must be|index out of range|division by zero",
    re.MULTILINE,
)
_NO_FILE = (
    r"\bENOENT\b|\bFileNotFoundError\b|(?i:no such file or directory|\bfile not found: ?\S"
    r"|cannot find the (?:file|path) specified|unable to open database file"
    r"|cannot find (?:module|package)|no module named)"
)

_REFUSES = "a service that it uses refuses it"
_UNREACHABLE = "something that it depends on cannot be reached"
_MAKE_REACHABLE = "make it reachable, and take this line out"
_HAS_FAILED = "it or a service that it uses has failed"

# These count whatever the code is, unless the text quotes a made-up value: pattern, cause, remedy.
_PLAIN_CAUSES = (
    (
        r"(?i)\bcommand not found\b|\bexecutable (?:file )?not found\b"
        r"|\bnot found (?:in|on) \W?PATH|\bis not recogni[sz]ed as an internal\b"
        r"|\bis not installed\b",
        "a program that it needs is missing",
        _SET_UP,
    ),
    (
        r"(?i)\bno such (?:column|database|function|index|schema|table|view)\b"
        r"|\b(?:column|database|relation|schema|table)\s+\S+\s+(?:does not|doesn't) exist\b"
        r"|\bunknown (?:column|database|table)\b|\bdatabase is locked\b",
        "its database is not set up",
        _SET_UP,
    ),
    (
        r"\bE(?:ACCES|PERM|ROFS|NOSPC)\b|(?i:\bpermission[ _-]denied\b|\baccess is denied\b"
        r"|\boperation not permitted\b|\baccess denied for user\b|\bread-only file system\b"
        r"|\binsufficient permissions?\b|\bno space left on device\b)",
        "it lacks a permission or space that it needs",
        _SET_UP,
    ),
    (
        r"(?i)econnrefused|\bconnect(?:ion|ing)?\b[^.\n]{0,80}\brefused\b|connection[_-]?refused"
        r"|\brefused\b[^.\n]{0,40}\bconnect|\bactively refused\b|\b(?:no such|unknown) host\b"
        r"|\bno route to host\b|\bhost is down\b|\bcould not translate host name\b",
        _UNREACHABLE,
        _MAKE_REACHABLE,
    ),
    (
        r"(?i)\bunauthori[sz]ed|\bnot authori[sz]ed\b"
        r"|\bauthori[sz]ation (?:denied|failed|required)\b"
        r"|\b(?:token|session)(?: has| is)? expired\b|\bexpired token\b",
        _REFUSES,
        _SET_UP,
    ),
    (
        r"(?i)quota(?:[ _-]\w+)?[ _-]?(?:exceeded|exhausted|reached)|insufficient_quota"
        r"|\b(?:exceeded|over|out of) (?:\w+ ){0,3}quota\b|\brate[ _-]?limit|\bthrottl(?:ed|ing)\b"
        r"|\btoo[ _]many[ _]requests\b",
        _HAS_FAILED,
        _REPAIR,
    ),
)

# Pattern, cause, remedy; the first that is found counts.
_CAUSES = (
    (
        r"(?i)\b(?:api|access|secret)[ _-]?(?:key|token)s?\b|_(?:KEY|TOKEN|SECRET)\b"
        r"|\bcredentials?\b|\benv(?:ironment)?[ _-]?var"
        r"|\bnot (?:been )?(?:configured|initiali[sz]ed|set\b|logged in|authenticated|signed in)"
        r"|\b(?:must|should) be (?:configured|set)\b|\blog ?in\b"
        r"|\bunconfigured\b|\bmissing (?:config|token)",
        "something that it needs is not set up",
        _SET_UP,
    ),
    (
        r"(?i)\bunauthori[sz]ed\b|\bunauthenticated\b|\bforbidden\b|\bauthentication\b"
        r"|\b(?:http|status|code|error)\W{0,3}(?:code\W{0,3})?(?:401|403|407)\b|\b(?:401|403)\b:",
        _REFUSES,
        _SET_UP,
    ),
    (
        r"\bE(?:CONNREFUSED|CONNRESET|CONNABORTED|NOTFOUND|TIMEDOUT|AI_AGAIN|HOSTUNREACH|NETUNREACH"
        r"|PIPE)\b|(?i:\bconnection (?:refused|reset|error|failed|timed out|aborted|closed)"
        r"|\b(?:could not|cannot|can't|failed to|unable to) (?:connect|reach|resolve)\b"
        r"|\bgetaddrinfo\b|name or service not known|name resolution|\bfetch failed\b"
        r"|\bnetwork (?:error|is unreachable)\b|\bunreachable\b|\btimed? ?out\b|\btimeout\b"
        r"|\bdeadline exceeded\b|\bmax retries\b|\bsocket hang up\b|\bcertificate\b"
        r"|\ball connection attempts failed\b)",
        _UNREACHABLE,
        _MAKE_REACHABLE,
    ),
    (
        r"(?i)\b(?:http|status|code|error)\W{0,3}(?:code\W{0,3})?(?:429|5\d\d)\b"
        r"|\binternal (?:server )?error\b|\bbad gateway\b|\bservice unavailable\b"
        r"|\bgateway time|\btoo many requests\b|\brate limit|\bquota\b|\bunexpected error\b",
        _HAS_FAILED,
        _REPAIR,
    ),
)

_ABOUT_A_VALUE = (
    r"(?i)\bnot? (?:\w+ ){0,3}found\b|\bdoes(?: not|n't) exist\b|\bno such\b|\bunknown\b"
    r"|\binvalid\b|\billegal\b|\bmalformed\b|\bmust (?:be|have|match|not|start|contain|provide)\b"
    r"|\brequired\b|\bexpected\b|\bunsupported\b"
    r"|\bnot (?:supported|allowed|valid|a valid|permitted)\b"
    r"|\bout of (?:range|bounds)\b|\boutside\b|\btoo (?:long|short|large|small|many|few)\b"
    r"|\b(?:could not|cannot|can't|failed to|unable to) (?:parse|find|decode)\b|\bbad request\b"
    r"|\bunrecogni[sz]ed\b|\bno match|\bEISDIR\b|\bENOTDIR\b|\b40[04]\b"
)


def _find_exception(text: str, arguments: Mapping[str, object], missing: str) -> str:
    """What exception a text shows, as part of a sentence; "" if none."""
    if re.search(_NO_FILE, text):
        return "" if _quotes_value(text, arguments) else "a file of its own is missing"
    # Python's KeyError says nothing but the key.
    is_key = missing and re.fullmatch(rf"(?:[^'\"]*:\s*)?['\"]{re.escape(missing)}['\"]", text)
    found = _EXCEPTION.search(text)
    return "that is an exception in the server" if found or is_key else ""


def _quotes_value(text: str, arguments: Mapping[str, object]) -> bool:
    """True if a text contains a made-up string, and not only as a part of another word."""
    # "." is part of every sentence.
    return any(
        re.search(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])", text)
        for _, value in strings_in(arguments)
        if len(value) > 1
    )


def _code_and_text(answer: Message) -> tuple[int | None, str]:
    """The code and the words of an error; SDKs write the code of an error into its text."""
    error, result = answer.get("error"), answer.get("result")
    code: int | None = None
    if isinstance(error, dict):
        code = error["code"] if type(error.get("code")) is int else None
        parts = [error.get("message"), error.get("data")]
        text = "\n".join(part for part in parts if isinstance(part, str))
    else:
        content = result.get("content") if isinstance(result, dict) else None
        blocks = content if isinstance(content, list) else ()
        texts = [block.get("text") for block in blocks if isinstance(block, dict)]
        text = "\n".join(each for each in texts if isinstance(each, str))
    text = text[:_MAX_READ_CHARS]
    written = re.search(r"\bMCP error (-32\d{3})\b", text)
    return int(written[1]) if written and code is None else code, text


def _quote(answer: Message, text: str) -> str:
    """What the server said, for the reader of the file: short, on one line, without secrets."""
    error = answer.get("error")
    code = f"error {error['code']}" if isinstance(error, dict) and "code" in error else ""
    words = excerpt(" ".join(hide_secrets_in(text).split()), _MAX_QUOTED_CHARS)
    # `${` would be taken for a saved value of another test.
    quoted = f'"{words.replace("${", "{")}"' if words else ""
    return " ".join(part for part in (code, quoted) if part) or "with an error that says nothing"
