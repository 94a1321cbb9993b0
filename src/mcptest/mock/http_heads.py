"""Check the head of an HTTP request: before its body is read, and against its body.

A web page may send requests to any address of this machine, so requests with another host
name, or from a page of another origin, are refused first.
"""

from __future__ import annotations

import base64
import binascii
import re

from mcptest.core.record import Record
from mcptest.core.text import shorten, visible
from mcptest.mock.protocol import PROTOCOL_VERSION, STATELESS, meta_of, params_of
from mcptest.mock.stateless import Rejection
from mcptest.protocol.framing import encode_line
from mcptest.protocol.jsonrpc import INVALID_REQUEST
from mcptest.protocol.revisions import HEADER_MISMATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest.mock.session import Message
    from mcptest.protocol.http_messages import WebRequest

__all__ = [
    "ENDPOINT",
    "EVENT_STREAM",
    "JSON",
    "SESSION_ID",
    "VERSION",
    "Refusal",
    "check_head",
    "check_headers",
]

ENDPOINT = "/mcp"

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

SESSION_ID = "mcp-session-id"
VERSION = "mcp-protocol-version"

_LOOPBACK = frozenset(["localhost", "127.0.0.1", "[::1]"])
_ORIGIN = re.compile(r"https?://(\[[^\]]*\]|[^:/?#]*)(?::\d+)?", re.IGNORECASE)


class Refusal(Record):
    """An HTTP error. If it `is_wrong`, the report blames the client for it."""

    status: int
    sentence: str
    code: int = INVALID_REQUEST
    headers: Mapping[str, str] | None = None
    is_wrong: bool = True

    def body(self) -> bytes:
        """The error as a JSON-RPC message."""
        error = {"code": self.code, "message": f"mcptest mock: {self.sentence}"}
        return encode_line({"jsonrpc": "2.0", "id": None, "error": error})


def check_head(request: WebRequest, port: int) -> Refusal | None:
    """Why a request is refused by its head alone, if it is."""
    host = request.header("host") or ""
    name, _, number = host.rpartition(":")
    if name.lower() not in _LOOPBACK or number != str(port):
        sentence = f"the Host header must be 127.0.0.1:{port} or localhost:{port}, not "
        return Refusal(status=403, sentence=sentence + _quote(host), is_wrong=False)
    origin = request.header("origin")
    found = None if origin is None else _ORIGIN.fullmatch(origin)
    if origin is not None and (found is None or found[1].lower() not in _LOOPBACK):
        sentence = f"the Origin header must be of this machine, not {_quote(origin)}"
        return Refusal(status=403, sentence=sentence, is_wrong=False)
    path = request.target.partition("?")[0]
    if path != ENDPOINT:
        sentence = f"there is nothing at {_quote(path)}; the endpoint is {ENDPOINT}"
        return Refusal(status=404, sentence=sentence, is_wrong=False)
    if request.method == "POST":
        return _check_post(request)
    if request.method not in ("GET", "DELETE"):
        sentence = f"{_quote(request.method)} is not a method of {ENDPOINT}"
        return Refusal(status=405, sentence=sentence, headers={"Allow": "POST, GET, DELETE"})
    if request.header(SESSION_ID) is None or request.header(VERSION) == STATELESS:
        # A client may well try whether there is such a stream.
        needed = "needs the Mcp-Session-Id of a session that began with initialize"
        sentence = f"{request.method} {needed}"
        return Refusal(status=405, sentence=sentence, headers={"Allow": "POST"}, is_wrong=False)
    if request.method == "GET" and not _is_accepted(request, EVENT_STREAM):
        sentence = f"the Accept header of a GET must have {EVENT_STREAM}"
        return Refusal(status=406, sentence=sentence)
    return None


def _check_post(request: WebRequest) -> Refusal | None:
    kind = request.header("content-type") or ""
    if kind.partition(";")[0].strip().lower() != JSON:
        sentence = f"the Content-Type of a message must be {JSON}, not {_quote(kind)}"
        return Refusal(status=415, sentence=sentence)
    missing = [each for each in (JSON, EVENT_STREAM) if not _is_accepted(request, each)]
    if missing:
        sentence = f"the Accept header must have {JSON} and {EVENT_STREAM}; it lacks "
        return Refusal(status=406, sentence=sentence + " and ".join(missing))
    return None


def _is_accepted(request: WebRequest, kind: str) -> bool:
    family = kind.partition("/")[0]
    for each in (request.header("accept") or "").split(","):
        name, _, rest = each.partition(";")
        is_refused = re.search(r"(?:^|;)\s*q=0(?:\.0*)?\s*(?:;|$)", rest)
        if name.strip().lower() in (kind, f"{family}/*", "*/*") and not is_refused:
            return True
    return False


def _quote(value: object) -> str:
    text = value if isinstance(value, str) else "nothing that is a string"
    return f'"{shorten(visible(text), 80)}"'


# Headers of the stateless revision, which repeat what is in the body

# The member of the params that the header Mcp-Name repeats.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
_DECIMAL = re.compile(r"(-?[0-9]+)(?:\.0+)?")

_MAX_PARAMS = 1_000


def check_headers(
    request: WebRequest, message: Message, schema_of: Callable[[str], object]
) -> Rejection | None:
    """How the headers differ from the body; `schema_of` is the input schema of a tool."""
    method, params = message["method"], params_of(message)
    sentence = _compare_header(
        request, "MCP-Protocol-Version", meta_of(message).get(PROTOCOL_VERSION)
    )
    sentence = sentence or _compare_header(request, "Mcp-Method", method)
    if not sentence and method in _NAMED:
        name = params.get(_NAMED[method])
        # If it is not a string, the body is refused later.
        if isinstance(name, str):
            sentence = _compare_header(request, "Mcp-Name", name, is_encoded=True)
            if not sentence and method == "tools/call":
                sentence = _compare_params(request, params.get("arguments"), schema_of(name))
    return Rejection(code=HEADER_MISMATCH, sentence=sentence) if sentence else None


def _compare_header(
    request: WebRequest, name: str, wanted: object, *, is_encoded: bool = False
) -> str:
    """How a header differs from what the body says, "" if it does not."""
    values = request.values(name.lower())
    if len(values) != 1:
        return f"the header {name} is missing" if not values else f"the header {name} came twice"
    value = _decode(values[0]) if is_encoded else values[0]
    if value is None:
        return f"the header {name} is not ASCII, or not base64: {_quote(values[0])}"
    if value != wanted:
        return f"the header {name} is {_quote(value)} and the body says {_quote(wanted)}"
    return ""


def _decode(value: str) -> str | None:
    """The text of a header that may be in base64, None if it cannot be read."""
    found = _ENCODED.fullmatch(value)
    if not found:
        return value if value.isascii() else None
    try:
        raw = base64.b64decode(found[1], validate=True)
        # Only the canonical encoding is right.
        return raw.decode("utf-8") if base64.b64encode(raw).decode() == found[1] else None
    except (binascii.Error, ValueError):
        return None


def _compare_params(request: WebRequest, arguments: object, schema: object) -> str:
    """How the `Mcp-Param-…` headers differ from the arguments; values may be secrets."""
    for path, name, kind in _annotated_arguments(schema):
        header, where = f"Mcp-Param-{name}", ".".join(path)
        values = request.values(header.lower())
        value = arguments
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, bool):
            value = "true" if value else "false"
        if len(values) > 1:
            return f"the header {header} came twice"
        if not isinstance(value, (str, int, float)):
            if values:
                return f"the header {header} came, and the argument {where} did not"
            continue
        if not values:
            return f"the header {header} is missing, which repeats the argument {where}"
        decoded = _decode(values[0])
        if decoded is None:
            return f"the header {header} is not ASCII, or not base64"
        if not _is_same(decoded, str(value), kind):
            return f"the header {header} is not what the argument {where} is"
    return ""


def _annotated_arguments(schema: object) -> Iterator[tuple[tuple[str, ...], str, object]]:
    """The arguments that a header repeats: their paths, the names of the headers, their types."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), schema)]
    for path, each in waiting:
        if not isinstance(each, dict):
            continue
        name = each.get("x-mcp-header")
        if path and isinstance(name, str) and _TOKEN.fullmatch(name):
            yield path, name, each.get("type")
        inner = each.get("properties")
        if isinstance(inner, dict) and len(waiting) < _MAX_PARAMS:
            waiting += [((*path, key), schema) for key, schema in inner.items()]


def _is_same(header: str, value: str, kind: object) -> bool:
    if header == value:
        return True
    one, other = _DECIMAL.fullmatch(header), _DECIMAL.fullmatch(value)
    return kind == "integer" and bool(one and other and one[1] == other[1])
