"""What a request over HTTP must be before anybody looks at its body.

A web page may send requests to any address of this machine. So who asks under another name than
ours, or from a page that is not of this machine, is refused before anything else.
"""

from __future__ import annotations

import re

from mcptest.core.framing import encode_line
from mcptest.core.record import Record
from mcptest.core.text import shorten, visible
from mcptest.mock.eras import STATELESS
from mcptest.mock.refusal import INVALID_REQUEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.core.web import WebRequest

__all__ = [
    "ENDPOINT",
    "EVENT_STREAM",
    "JSON",
    "SESSION_ID",
    "VERSION",
    "Refusal",
    "refuse_head",
]

ENDPOINT = "/mcp"

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

SESSION_ID = "mcp-session-id"
VERSION = "mcp-protocol-version"

_LOOPBACK = frozenset(["localhost", "127.0.0.1", "[::1]"])
_ORIGIN = re.compile(r"https?://(\[[^\]]*\]|[^:/?#]*)(?::\d+)?", re.IGNORECASE)


class Refusal(Record):
    """An answer that says why not. One that `is_wrong` is a mistake of the client under test."""

    status: int
    sentence: str
    code: int = INVALID_REQUEST
    headers: Mapping[str, str] | None = None
    is_wrong: bool = True

    def body(self) -> bytes:
        """The same as an error of JSON-RPC."""
        error = {"code": self.code, "message": f"mcptest mock: {self.sentence}"}
        return encode_line({"jsonrpc": "2.0", "id": None, "error": error})


def refuse_head(request: WebRequest, port: int) -> Refusal | None:
    """Why a request is refused by its head alone, None when it is not."""
    refusal = _refuse_stranger(request, port)
    if refusal:
        return refusal
    path = request.target.partition("?")[0]
    if path != ENDPOINT:
        sentence = f"there is nothing at {_quoted(path)}; the endpoint is {ENDPOINT}"
        return Refusal(status=404, sentence=sentence, is_wrong=False)
    return _METHODS.get(request.method, _refuse_method)(request)


def _refuse_stranger(request: WebRequest, port: int) -> Refusal | None:
    host = request.header("host") or ""
    name, _, number = host.rpartition(":")
    if name.lower() not in _LOOPBACK or number != str(port):
        sentence = f"the Host header must be 127.0.0.1:{port} or localhost:{port}, not "
        return Refusal(status=403, sentence=sentence + _quoted(host), is_wrong=False)
    origin = request.header("origin")
    if origin is None:
        return None
    found = _ORIGIN.fullmatch(origin)
    if found is None or found[1].lower() not in _LOOPBACK:
        sentence = f"the Origin header must be of this machine, not {_quoted(origin)}"
        return Refusal(status=403, sentence=sentence, is_wrong=False)
    return None


def _refuse_method(request: WebRequest) -> Refusal:
    sentence = f"{_quoted(request.method)} is not a method of {ENDPOINT}"
    return Refusal(status=405, sentence=sentence, headers={"Allow": "POST, GET, DELETE"})


def _refuse_post(request: WebRequest) -> Refusal | None:
    kind = request.header("content-type") or ""
    if kind.partition(";")[0].strip().lower() != JSON:
        sentence = f"the Content-Type of a message must be {JSON}, not {_quoted(kind)}"
        return Refusal(status=415, sentence=sentence)
    missing = [each for each in (JSON, EVENT_STREAM) if not _is_accepted(request, each)]
    if missing:
        sentence = f"the Accept header must have {JSON} and {EVENT_STREAM}; it lacks "
        return Refusal(status=406, sentence=sentence + " and ".join(missing))
    return None


def _refuse_get(request: WebRequest) -> Refusal | None:
    refusal = _refuse_without_session(request)
    if refusal is None and not _is_accepted(request, EVENT_STREAM):
        sentence = f"the Accept header of a GET must have {EVENT_STREAM}"
        return Refusal(status=406, sentence=sentence)
    return refusal


def _refuse_without_session(request: WebRequest) -> Refusal | None:
    """Only a session of the handshake era can be listened to, or ended."""
    if request.header(SESSION_ID) is not None and request.header(VERSION) != STATELESS:
        return None
    sentence = f"{request.method} needs the Mcp-Session-Id of a session that began with initialize"
    # A client may well try whether there is such a stream.
    return Refusal(status=405, sentence=sentence, headers={"Allow": "POST"}, is_wrong=False)


_METHODS = {"POST": _refuse_post, "GET": _refuse_get, "DELETE": _refuse_without_session}


def _is_accepted(request: WebRequest, kind: str) -> bool:
    family = kind.partition("/")[0]
    for each in (request.header("accept") or "").split(","):
        name, _, rest = each.partition(";")
        is_refused = re.search(r"(?:^|;)\s*q=0(?:\.0*)?\s*(?:;|$)", rest)
        if name.strip().lower() in (kind, f"{family}/*", "*/*") and not is_refused:
            return True
    return False


def _quoted(text: str) -> str:
    return f'"{shorten(visible(text), 80)}"'
