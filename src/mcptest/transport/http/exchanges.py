"""What becomes of one HTTP request: a message and its answer, a stream, or a token.

`HttpChannel` calls these listeners while the answer arrives; they interpret it with an
`AnswerReader` and pass on what it means to the transport.
"""

from __future__ import annotations

import base64
import time
from urllib.parse import quote_plus, urlencode

from mcptest.core.record import ABSENT
from mcptest.core.secrets import LEARNED, names_secret
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import quote_bytes, visible
from mcptest.protocol.framing import Frame, TransportFault
from mcptest.protocol.http_address import parse_url
from mcptest.protocol.http_messages import CANCELLED, AnswerReader, status_fault
from mcptest.protocol.jsonrpc import id_key
from mcptest.transport.http.channel import HttpRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from mcptest.core.plan import HttpSpec
    from mcptest.protocol.http_messages import Item
    from mcptest.transport.http.channel import Head
    from mcptest.transport.http.client import HttpTransport
    from mcptest.transport.http.connection import HttpConnectionError

__all__ = ["Credentials", "Fetch", "Post", "Stream"]


_UNAUTHORIZED, _GONE = 401, 404
_NO_STREAM = (404, 405, 501)
_MAX_TOKEN_BYTES = 1 << 20


class Post:
    """A message that was sent, and the answer to it."""

    def __init__(
        self, transport: HttpTransport, reader: AnswerReader, method: str, line: bytes
    ) -> None:
        self.reader = reader
        self.method = method
        self._transport = transport
        self._line = line
        self._is_dropped = False

    @property
    def is_receipt(self) -> bool:
        """True if no answer is expected, only that it is accepted."""
        return self.reader.id is ABSENT

    def began(self, head: Head) -> None:
        transport = self._transport
        if head.status == _UNAUTHORIZED and transport.credentials.may_fetch_again:
            self._is_dropped = True
            transport.send_again(self._line)
            return
        if 200 <= head.status < 300:
            transport.credentials.accepted()
        if self.method == "initialize" and 200 <= head.status < 300:
            fault = transport.take_session_id(head.headers)
            if fault:
                transport.deliver([fault])
        transport.deliver(self.reader.began(head.status, head.headers))

    def brought(self, chunk: bytes) -> None:
        if not self._is_dropped:
            self._transport.stdout_tail.add(chunk)
            self._take(self.reader.brought(chunk))

    def _take(self, items: Sequence[Item]) -> None:
        self._transport.learn_from(self.method, items)
        self._transport.deliver(items)

    def ended(self) -> None:
        transport, reader = self._transport, self.reader
        transport.finished(self)
        if self._is_dropped:
            return
        items = reader.ended()
        has_message = any(isinstance(item, Frame) for item in items)
        if not has_message and transport.may_fall_back(self.method, reader.status):
            transport.fall_back(self._line, items)
            return
        if transport.session_id and reader.status == _GONE and not _has_answer(items, reader.id):
            items = [_session_lost(items, reader)]
        self._take(items)
        if reader.is_stream and not reader.is_answered and not self.is_receipt:
            self._rest_is_missing("the server ended its event stream")
        elif self.method == "notifications/initialized" and 200 <= reader.status < 300:
            transport.open_stream()

    def failed(self, error: HttpConnectionError) -> None:
        self._transport.finished(self)
        if self._is_dropped:
            return
        if self.reader.is_stream and not self.is_receipt:
            if not self.reader.is_answered:
                self._rest_is_missing(error.message)
            return
        self._transport.deliver([_failure(error, self.reader)])

    def _rest_is_missing(self, how: str) -> None:
        if not self._transport.resume(self.reader, 0):
            message = f"{how} before it had answered {self.reader.said}"
            self._transport.deliver([_broken_off(message, self.reader)])


class Stream:
    """A stream requested with GET: the server's own, the rest of another, or the older transport's.

    `refusal` is how initialize was refused, if this looks for the older transport.
    """

    is_receipt = False

    def __init__(
        self,
        transport: HttpTransport,
        reader: AnswerReader,
        tries: int,
        refusal: Sequence[Item] | None = None,
    ) -> None:
        self.reader = reader
        self._transport = transport
        self._tries = tries
        self._refusal = refusal
        self._has_endpoint = False
        self._is_refused = False

    def began(self, head: Head) -> None:
        items = self.reader.began(head.status, head.headers)
        if self.reader.is_stream:
            self._transport.deliver(items)
            return
        self._is_refused = True
        if self._refusal is not None:
            self._transport.give_up_old(self._refusal)
        elif self._transport.is_old:
            self._transport.fail_waiting(self._no_stream())
            self._transport.is_lost = True
        elif self.reader.id is not ABSENT or head.status not in _NO_STREAM:
            self._transport.deliver([*items, self._no_stream()])

    def _no_stream(self) -> TransportFault:
        reader = self.reader
        rest = "the GET for the rest of its answer to " if reader.id is not ABSENT else ""
        message = f"the server answered {rest}{reader.said} with status {reader.status} and no "
        hint = ""
        if self._transport.http.transport == "sse" and not self._has_endpoint:
            hint = '"transport: sse" asks for the older transport alone: leave out "transport"'
        return TransportFault(
            kind="event_stream", message=f"{message}event stream", hint=hint, id=reader.id
        )

    def brought(self, chunk: bytes) -> None:
        if self._is_refused:
            return
        self._transport.stdout_tail.add(chunk)
        items = self.reader.brought(chunk)
        if self.reader.endpoint and not self._has_endpoint:
            self._has_endpoint = True
            self._transport.take_endpoint(self.reader.endpoint)
        self._transport.deliver(items)

    def ended(self) -> None:
        how = "the server ended its event stream"
        self._over(
            how, TransportFault(kind="event_stream", message=f"{how} before it named an endpoint")
        )

    def failed(self, error: HttpConnectionError) -> None:
        self._over(error.message, _failure(error, self.reader))

    def _over(self, how: str, fault: TransportFault) -> None:
        transport, reader = self._transport, self.reader
        transport.finished(self)
        if self._is_refused or reader.is_answered:
            return
        if self._refusal is not None and not self._has_endpoint:
            transport.give_up_old(self._refusal)
            return
        if transport.is_old:
            transport.fail_waiting(fault)
            transport.is_lost = True
            return
        tries = 0 if reader.events else self._tries
        if not transport.resume(reader, tries) and reader.id is not ABSENT:
            message = f"{how} before it had answered {reader.said}, and again when it was resumed"
            transport.deliver([_broken_off(message, reader)])


class Fetch:
    """A request that is not a message: for a token, or the end of a session."""

    is_receipt = False

    def __init__(self, transport: HttpTransport, reader: AnswerReader | None = None) -> None:
        self._transport = transport
        # The answer to the end of a session is ignored.
        self._is_for_token = reader is None
        self.reader = reader or AnswerReader("the request for a token", stream="post")
        self._status = 0
        self._raw = b""

    def began(self, head: Head) -> None:
        self._status = head.status

    def brought(self, chunk: bytes) -> None:
        if len(self._raw) < _MAX_TOKEN_BYTES:
            self._raw += chunk

    def ended(self) -> None:
        self._transport.finished(self)
        if self._is_for_token:
            self._transport.take_token(self._status, self._raw)

    def failed(self, error: HttpConnectionError) -> None:
        self._transport.finished(self)
        if self._is_for_token:
            self._transport.take_token(0, b"", f"no token could be fetched: {error.message}")


def _failure(error: HttpConnectionError, reader: AnswerReader) -> TransportFault:
    return TransportFault(
        kind=error.kind,
        message=error.message,
        hint=error.hint,
        id=reader.id,
        effect="indefinite" if error.was_sent else "definite",
        is_refusal=reader.id is ABSENT and reader.said != CANCELLED,
    )


def _broken_off(message: str, reader: AnswerReader) -> TransportFault:
    return TransportFault(kind="event_stream", message=message, hint=reader.flaw, id=reader.id)


def _has_answer(items: Sequence[Item], id: object) -> bool:
    """True if the server has answered under the id that it was sent."""
    for item in items:
        value = item.value if isinstance(item, Frame) else None
        if isinstance(value, dict) and id_key(value.get("id")) == id_key(id):
            return True
    return False


def _session_lost(items: Sequence[Item], reader: AnswerReader) -> TransportFault:
    """The fault of a lost session. Most servers report it in a message without an id."""
    said = [dump_json(item.value).encode() for item in items if isinstance(item, Frame)]
    faults = [item for item in items if isinstance(item, TransportFault)]
    fault = (
        faults[0]
        if faults
        else status_fault(reader.said, reader.id, reader.status, {}, said[0] if said else b"")
    )
    hint = "the session has ended on the server's side; the next test begins a new one"
    return fault.but(kind="session_lost", hint=hint)


# The credentials that every request to a server carries: headers, or a token that is fetched.


# A token is replaced this long before it expires.
_MARGIN_S = 10.0

# An upper bound for the life of a token.
_LONGEST_S = 1e9

# Members of the answer that are secrets, also if the token cannot be used.
_SECRET_MEMBERS = ("access_token", "refresh_token", "id_token")

# How many fresh tokens a server may refuse before that is reported.
_MAX_FRESH = 1


class Credentials:
    """Headers of the config and the current token, by the client credentials grant of OAuth."""

    def __init__(self, spec: HttpSpec) -> None:
        self._headers = dict(spec.headers or {})
        self._oauth = spec.oauth
        self.token = ""
        self._ends_at = float("inf")
        self._refused = 0

    @property
    def is_ready(self) -> bool:
        """True if a request can be sent with them."""
        if self._oauth is None:
            return True
        return bool(self.token) and time.monotonic() < self._ends_at

    @property
    def are_sent(self) -> bool:
        """True if requests carry credentials."""
        return bool(self.token) or any(map(names_secret, self._headers))

    @property
    def token_place(self) -> str:
        """The URL that tokens are fetched from, without its query."""
        return visible(self._oauth.token_url.partition("?")[0]) if self._oauth else ""

    @property
    def may_fetch_again(self) -> bool:
        """True if a refused token may be replaced by a fresh one."""
        return self._oauth is not None and self._refused < _MAX_FRESH

    def forget(self) -> None:
        """Drop a token that the server refused."""
        self._refused += 1
        self.token = ""

    def accepted(self) -> None:
        """Note that the server took the token; if it refuses it later, it has expired."""
        self._refused = 0

    def headers(self) -> dict[str, str]:
        token = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return self._headers | token

    def token_request(self) -> HttpRequest:
        """The request for a token (RFC 6749, section 4.4)."""
        oauth = self._oauth
        assert oauth
        form = {
            "grant_type": "client_credentials",
            "scope": oauth.scope,
            "resource": oauth.resource,
        }
        pair = f"{quote_plus(oauth.client_id)}:{quote_plus(oauth.client_secret)}"
        basic = base64.b64encode(pair.encode("utf-8")).decode("ascii")
        LEARNED.add(basic)
        return HttpRequest(
            method="POST",
            address=parse_url(oauth.token_url),
            headers=(
                ("Accept", "application/json"),
                ("Accept-Encoding", "identity"),
                ("Authorization", f"Basic {basic}"),
                ("Content-Type", "application/x-www-form-urlencoded"),
            ),
            body=urlencode({key: value for key, value in form.items() if value}).encode("ascii"),
        )

    def take(self, status: int, raw: bytes) -> str:
        """Use the answer to it; why there is no token in it, or ""."""
        found = _object(raw)
        secrets = [(found or {}).get(name) for name in _SECRET_MEMBERS]
        # Secrets that were fetched are never shown.
        LEARNED.add(*(secret for secret in secrets if isinstance(secret, str)))
        token = (found or {}).get("access_token")
        if found is None or status != 200 or not isinstance(token, str) or not _is_sendable(token):
            return f"no token could be fetched: status {status}, {_flaw(found, raw, status)}"
        lasts_s = found.get("expires_in")
        self.token = token
        self._ends_at = float("inf")
        if isinstance(lasts_s, (int, float)) and lasts_s > 0:
            lasts_s = min(lasts_s, _LONGEST_S)
            self._ends_at = time.monotonic() + max(1.0, lasts_s - _MARGIN_S)
        return ""


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        found = parse_json(raw.decode("utf-8"))
    except (UnicodeDecodeError, NotJsonError):
        return None
    return found if isinstance(found, dict) else None


def _flaw(found: dict[str, Any] | None, raw: bytes, status: int) -> str:
    """What is wrong with an answer. Nothing else of it is quoted: there may be a token in it."""
    if not raw.strip():
        return "no body"
    if found is None:
        return "and the body is not a JSON object"
    for said in (found.get("error_description"), found.get("error")):
        if said and isinstance(said, str):
            return quote_bytes(said.encode("utf-8", "backslashreplace"))
    if "access_token" not in found:
        return 'and no "access_token" in the body'
    if status != 200:
        return "which is to be 200"
    return 'and its "access_token" cannot be sent in a header'


def _is_sendable(token: str) -> bool:
    return bool(token) and token.isascii() and token.isprintable() and " " not in token
