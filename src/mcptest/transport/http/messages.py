"""Speak MCP over HTTP: messages become POSTs, answers and streams become messages again.

This is where sessions, streams, resumption and the older transport of two endpoints are known.
Time and handles are the business of `mcptest.transport.http.client`, which drives this; what bytes
mean is asked in `mcptest.protocol.http_messages`.
"""

from __future__ import annotations

import re

from mcptest import __version__
from mcptest.core.record import ABSENT
from mcptest.core.strict_json import dump_json, parse_json
from mcptest.core.text import shorten, visible
from mcptest.protocol.framing import Frame, Trouble
from mcptest.protocol.http_address import BadUrlError, parse_url, redirected, same_origin
from mcptest.protocol.http_messages import (
    CANCELLED,
    NOT_SPOKEN,
    AnswerReader,
    message_headers,
    of_refused_credentials,
    own_version,
    param_headers,
    status_trouble,
    without_older_transport,
)
from mcptest.protocol.jsonrpc import id_key, is_illegal
from mcptest.protocol.revisions import REVISIONS, STATELESS
from mcptest.transport.http.auth import Credentials
from mcptest.transport.http.channel import HttpRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from mcptest.core.plan import HttpSpec
    from mcptest.protocol.http_address import Address
    from mcptest.protocol.http_messages import Item
    from mcptest.protocol.jsonrpc import IdKey
    from mcptest.transport.http.channel import Head, HttpChannel
    from mcptest.transport.http.connection import HttpConnectionError

__all__ = ["HttpTalk"]


_ACCEPT = "application/json, text/event-stream"

# A session id is visible ASCII; anything else could end the line of the header it stands in.
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,4096}")

# How long to wait before a stream that broke off is asked for again, at least and at most, and
# how often in a row that may bring nothing.
_RESUME_S = (0.2, 30.0)
_MAX_RESUMES = 5

# So many requests may wait for the server at a time; each has a connection of its own.
_MAX_RUNNING = 200


class HttpTalk:
    """One client's talk with one server.

    `deliver` takes what has come, `later` sets a timer, `hear` counts the bytes of answers.
    """

    def __init__(
        self,
        spec: HttpSpec,
        channel: HttpChannel,
        limit: int,
        deliver: Callable[[Sequence[Item]], None],
        later: Callable[[float, Callable[[], None]], None],
        hear: Callable[[bytes], None],
    ) -> None:
        self.spec = spec
        self.channel = channel
        self.limit = limit
        self.later = later
        self.hear = hear
        self._deliver = deliver
        self.credentials = Credentials(spec)
        self.token_s = 10.0
        self.address = parse_url(spec.url)
        self.session_id = ""
        self.version = ""
        self.is_old = spec.transport == "sse"
        self.is_lost = False
        self._endpoint: Address | None = None
        self._unsent: list[bytes] = []
        self._is_fetching = False
        self._tools: dict[str, object] = {}
        self._resumed: dict[IdKey, int] = {}
        self._seen: dict[str, None] = {}
        self.running: list[Listening] = []

    # Sending

    def send(self, line: bytes) -> None:
        """Send a message, as soon as that is possible."""
        if not self.credentials.is_ready:
            self._unsent.append(line)
            self.fetch_token()
        elif self.is_old and self._endpoint is None:
            self._unsent.append(line)
            if not any(isinstance(each, Stream) for each in self.running):
                self._open_old()
        else:
            self._post(line)

    def _send_waiting(self) -> None:
        waiting, self._unsent = self._unsent, []
        for line in waiting:
            self.send(line)

    def _post(self, line: bytes) -> None:
        message: Any = parse_json(line.decode("utf-8"))
        first = _leading(message)
        method = first.get("method") if isinstance(first, dict) else None
        is_request = isinstance(method, str) and "id" in first
        said = visible(shorten(method, 80)) if isinstance(method, str) else "an answer"
        reader = AnswerReader(
            said,
            first["id"] if is_request else ABSENT,
            stream="post",
            limit=self.limit,
            is_old=self.is_old,
            ids=_ids_of(message),
            is_illegal=is_illegal(first),
        )
        reader.seen = self._seen
        if not self.version and own_version(message) == STATELESS:
            # Without a handshake each request says it; what is none has only this.
            self.version = STATELESS
        headers = {
            "Content-Type": "application/json",
            "Accept": _ACCEPT,
            **message_headers(message, self.version),
            **self._mirrored(first),
        }
        request = self._request("POST", headers, line.rstrip(b"\n"))
        self._start(request, Post(self, reader, str(method or ""), line))

    def _mirrored(self, message: Any) -> dict[str, str]:
        params = message.get("params") if isinstance(message, dict) else None
        name = params.get("name") if isinstance(params, dict) else None
        if params is None or not isinstance(name, str) or name not in self._tools:
            return {}
        return param_headers(self._tools[name], params.get("arguments"))

    def _request(self, method: str, headers: dict[str, str], body: bytes = b"") -> HttpRequest:
        every = {
            "User-Agent": f"mcptest/{__version__}",
            "Accept-Encoding": "identity",
            **headers,
            **self.credentials.headers(),
        }
        if self.session_id:
            every["Mcp-Session-Id"] = self.session_id
        address = self._endpoint if self._endpoint and method == "POST" else self.address
        return HttpRequest(method=method, address=address, headers=tuple(every.items()), body=body)

    def _start(self, request: HttpRequest, listening: Listening) -> None:
        if len(self.running) >= _MAX_RUNNING:
            self._make_room()
        self.running.append(listening)
        self.channel.start(request, listening)

    def _make_room(self) -> None:
        """Give up what has waited longest: connections are not endless."""
        oldest = next((each for each in self.running if isinstance(each, Post)), None)
        if oldest is None:
            return
        self.channel.cancel(oldest)
        self.finished(oldest)
        message = f"{oldest.reader.said} was given up: {_MAX_RUNNING} requests wait for the server"
        trouble = Trouble(kind="http_body", message=message, id=oldest.reader.id)
        self.deliver([trouble])

    # Tokens

    def fetch_token(self) -> None:
        """Ask for a token, unless that is under way."""
        if not self._is_fetching:
            self._is_fetching = True
            fetch = Fetch(self)
            self._start(self.credentials.token_request(), fetch)
            self.later(self.token_s, lambda: self._give_up_token(fetch))

    def _give_up_token(self, fetch: Fetch) -> None:
        """The time for it is over; a silence of others is not the server's."""
        if fetch in self.running:
            self.channel.cancel(fetch)
            self.finished(fetch)
            problem = f"no token could be fetched: no answer within {self.token_s:g} s"
            self.take_token(0, b"", problem)

    def take_token(self, status: int, raw: bytes, problem: str = "") -> None:
        """What the request for a token brought."""
        self._is_fetching = False
        problem = problem or self.credentials.take(status, raw)
        if not problem:
            self._send_waiting()
            return
        problem = problem.replace("fetched:", f"fetched at {self.credentials.token_place}:", 1)
        hint = '"auth" says where the token is fetched and with which credentials'
        self.fail_waiting(Trouble(kind="auth_failed", message=problem, hint=hint))

    def fail_waiting(self, trouble: Trouble) -> None:
        """What could not be sent yet will not be, and this is why."""
        waiting, self._unsent = self._unsent, []
        for line in waiting:
            message: Any = parse_json(line.decode("utf-8"))
            id = message.get("id", ABSENT) if isinstance(message, dict) else ABSENT
            self.deliver([trouble.but(id=id, is_refusal=id is ABSENT, effect="definite")])

    def send_again(self, line: bytes) -> None:
        """The server did not take the token; a fresh one may be taken."""
        self.credentials.forget()
        self.send(line)

    # What has come

    def deliver(self, items: Sequence[Item]) -> None:
        if self.credentials.are_sent:
            items = [of_refused_credentials(x) if isinstance(x, Trouble) else x for x in items]
        self._deliver(items)

    def finished(self, listening: Listening) -> None:
        """Nothing more comes of this one."""
        if listening in self.running:
            self.running.remove(listening)

    def take_head(self, headers: dict[str, str]) -> Trouble | None:
        """The answer to initialize may begin a session."""
        given = headers.get("mcp-session-id", "")
        if not given:
            return None
        if _SESSION_ID.fullmatch(given):
            self.session_id = given
            return None
        message = "the server gave a session id that is not visible ASCII, or is endless: "
        return Trouble(kind="protocol_violation", message=message + visible(shorten(given, 80)))

    def look_at(self, method: str, items: Sequence[Item]) -> None:
        """Learn from answers what later requests must say."""
        for item in items:
            value: Any = item.value if isinstance(item, Frame) else None
            result = value.get("result") if isinstance(value, dict) else None
            if not isinstance(result, dict):
                continue
            if method == "initialize" and isinstance(result.get("protocolVersion"), str):
                self.version = result["protocolVersion"]
            elif method == "tools/list" and isinstance(result.get("tools"), list):
                for tool in result["tools"]:
                    if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                        self._tools[tool["name"]] = tool.get("inputSchema")

    # Streams

    def open_stream(self) -> None:
        """Listen to what the server says on its own, where the revision has that."""
        revision = REVISIONS.get(self.version)
        if revision and revision.has_get_stream and not self.is_old:
            said = "the GET for its own messages"
            self._listen(AnswerReader(said, stream="get", limit=self.limit))

    def _open_old(self) -> None:
        said = "the GET for an event stream"
        reader = AnswerReader(said, stream="get", limit=self.limit, is_old=True)
        self._listen(reader)

    def _listen(self, reader: AnswerReader, last_id: str = "", tries: int = 0) -> None:
        headers = {"Accept": "text/event-stream", **message_headers(None, self.version)}
        if last_id:
            headers["Last-Event-ID"] = last_id
        self._start(self._request("GET", headers), Stream(self, reader, tries))

    def resume(self, reader: AnswerReader, tries: int) -> bool:
        """Ask for the rest of a stream that broke off; False when it cannot be had."""
        if not reader.last_id or tries >= _MAX_RESUMES or self.is_old or self.is_stateless:
            return False
        if not _SESSION_ID.fullmatch(reader.last_id.replace(" ", "_")):
            # No header can hold it.
            return False
        least, most = _RESUME_S
        # Each try that brings nothing doubles the wait, whatever the server would like.
        delay = min(most, max(least * 2**tries, reader.retry_s or 0.0))
        rest = AnswerReader(reader.said, reader.id, stream="get", limit=self.limit)
        rest.resume(reader)
        rest.seen = self._seen
        key = id_key(reader.id)
        self._resumed[key] = self._resumed.get(key, 0) + 1
        self.later(delay, lambda: self._listen(rest, reader.last_id, tries + 1))
        return True

    @property
    def begun_event(self) -> int:
        """The number of the event that is arriving where all answers come; 0 when there is none."""
        readers = [each.reader for each in self.running if self.is_old and isinstance(each, Stream)]
        return readers[0].begun_event if readers else 0

    @property
    def is_stateless(self) -> bool:
        return self.version == STATELESS

    # The older transport

    def may_fall_back(self, method: str, status: int) -> bool:
        """Whether a refused initialize may mean a server of the older transport."""
        is_open = self.spec.transport == "auto" and not self.is_old
        return is_open and method == "initialize" and status in NOT_SPOKEN

    def fall_back(self, line: bytes, refusal: Sequence[Item]) -> None:
        """Try the older transport with what was refused."""
        self.is_old = True
        self._unsent.append(line)
        reader = AnswerReader("the GET", stream="get", limit=self.limit, is_old=True)
        headers = {"Accept": "text/event-stream"}
        self._start(self._request("GET", headers), Stream(self, reader, 0, refusal))

    def give_up_old(self, refusal: Sequence[Item]) -> None:
        """There is no older transport either: what was refused stays refused."""
        self.is_old = False
        self._unsent.clear()
        target = self.address.target
        self.deliver(
            [
                without_older_transport(item, target) if isinstance(item, Trouble) else item
                for item in refusal
            ]
        )

    def take_endpoint(self, text: str) -> None:
        """The server says where messages go: to itself, or nowhere."""
        trouble = self._go_to(text)
        if trouble:
            self.fail_waiting(trouble)
            self.lose()
        else:
            self._send_waiting()

    def _go_to(self, text: str) -> Trouble | None:
        shown = visible(shorten(text, 200))
        try:
            goal = redirected(self.address, text)
        except BadUrlError as error:
            message = f"the server names the endpoint {shown}, which is no URL: {error}"
            return Trouble(kind="event_stream", message=message)
        if not same_origin(goal, self.address):
            message = f"the server names the endpoint {shown}, which is another server; nothing "
            return Trouble(kind="redirect_refused", message=message + "is sent there")
        self._endpoint = goal
        return None

    def lose(self) -> None:
        """The one stream that carries all answers has ended."""
        self.is_lost = True

    # Ending

    def give_up(self, id: object) -> bool:
        """Close the answer to a request that is given up; False when there is none."""
        for each in self._about(id):
            if isinstance(each, Post):
                self.channel.cancel(each)
                self.finished(each)
                return True
        return False

    def progress(self, id: object) -> str:
        """How far the request with this id has come."""
        if self._is_fetching:
            return f"the token for it has not come from {self.credentials.token_place}"
        if self.is_old and self._endpoint is None:
            return "its event stream has not named the endpoint for messages"
        if count := self._resumed.get(id_key(id), 0):
            return f"its event stream broke off and was asked for again, {count} times"
        told = (each.reader.progress or self.channel.progress(each) for each in self._about(id))
        return next(filter(None, told), "")

    def _about(self, id: object) -> list[Listening]:
        key = id_key(id)
        return [each for each in self.running if id_key(each.reader.id) == key]

    def end_session(self) -> bool:
        """Tell the server that the session is over; whether there is one."""
        for each in list(self.running):
            self.channel.cancel(each)
        self.running.clear()
        if not self.session_id or self.is_old:
            return False
        reader = AnswerReader("DELETE", stream="post", limit=self.limit)
        self._start(
            self._request("DELETE", message_headers(None, self.version)), Fetch(self, reader)
        )
        return True


def _leading(message: Any) -> Any:
    """The message of a batch whose answer is waited for: its first request, if it has one."""
    if not isinstance(message, list) or not message:
        return message
    requests = [
        each for each in message if isinstance(each, dict) and {"id", "method"} <= set(each)
    ]
    return (requests or message)[0]


def _ids_of(message: Any) -> frozenset[IdKey]:
    """What is asked for in a message, or in all the messages of a batch."""
    each_message = message if isinstance(message, list) else [message]
    return frozenset(
        id_key(each["id"])
        for each in each_message
        if isinstance(each, dict) and {"id", "method"} <= set(each)
    )


# Who hears what comes of a request over HTTP: of a message, of a stream, of a token.


_UNAUTHORIZED, _GONE = 401, 404
_NO_STREAM = (404, 405, 501)
_MAX_TOKEN_BYTES = 1 << 20


class Post:
    """A message that was sent, and the answer to it."""

    def __init__(self, talk: HttpTalk, reader: AnswerReader, method: str, line: bytes) -> None:
        self.reader = reader
        self.method = method
        self._talk = talk
        self._line = line
        self._is_dropped = False

    @property
    def is_receipt(self) -> bool:
        """Whether only its acceptance is waited for."""
        return self.reader.id is ABSENT

    def began(self, head: Head) -> None:
        talk = self._talk
        if head.status == _UNAUTHORIZED and talk.credentials.may_fetch_again:
            self._is_dropped = True
            talk.send_again(self._line)
            return
        if 200 <= head.status < 300:
            talk.credentials.accepted()
        if self.method == "initialize" and 200 <= head.status < 300:
            trouble = talk.take_head(head.headers)
            if trouble:
                talk.deliver([trouble])
        talk.deliver(self.reader.began(head.status, head.headers))

    def brought(self, chunk: bytes) -> None:
        if not self._is_dropped:
            self._talk.hear(chunk)
            self._take(self.reader.brought(chunk))

    def _take(self, items: Sequence[Item]) -> None:
        self._talk.look_at(self.method, items)
        self._talk.deliver(items)

    def ended(self) -> None:
        talk, reader = self._talk, self.reader
        talk.finished(self)
        if self._is_dropped:
            return
        items = reader.ended()
        has_message = any(isinstance(item, Frame) for item in items)
        if not has_message and talk.may_fall_back(self.method, reader.status):
            talk.fall_back(self._line, items)
            return
        if talk.session_id and reader.status == _GONE and not _has_answer(items, reader.id):
            items = [_session_lost(items, reader)]
        self._take(items)
        if reader.is_stream and not reader.is_answered and not self.is_receipt:
            self._rest_is_missing("the server ended its event stream")
        elif self.method == "notifications/initialized" and 200 <= reader.status < 300:
            talk.open_stream()

    def failed(self, error: HttpConnectionError) -> None:
        self._talk.finished(self)
        if self._is_dropped:
            return
        if self.reader.is_stream and not self.is_receipt:
            if not self.reader.is_answered:
                self._rest_is_missing(error.message)
            return
        self._talk.deliver([_failure(error, self.reader)])

    def _rest_is_missing(self, how: str) -> None:
        if not self._talk.resume(self.reader, 0):
            message = f"{how} before it had answered {self.reader.said}"
            self._talk.deliver([_broken_off(message, self.reader)])


class Stream:
    """A stream that was asked for with GET: the server's own, the rest of another, or the old one.

    `refusal` is what initialize was refused with, when this asks for the older transport.
    """

    is_receipt = False

    def __init__(
        self,
        talk: HttpTalk,
        reader: AnswerReader,
        tries: int,
        refusal: Sequence[Item] | None = None,
    ) -> None:
        self.reader = reader
        self._talk = talk
        self._tries = tries
        self._refusal = refusal
        self._has_endpoint = False
        self._is_refused = False

    def began(self, head: Head) -> None:
        items = self.reader.began(head.status, head.headers)
        if self.reader.is_stream:
            self._talk.deliver(items)
            return
        self._is_refused = True
        if self._refusal is not None:
            self._talk.give_up_old(self._refusal)
        elif self._talk.is_old:
            self._talk.fail_waiting(self._no_stream())
            self._talk.lose()
        elif self.reader.id is not ABSENT or head.status not in _NO_STREAM:
            self._talk.deliver([*items, self._no_stream()])

    def _no_stream(self) -> Trouble:
        reader = self.reader
        rest = "the GET for the rest of its answer to " if reader.id is not ABSENT else ""
        message = f"the server answered {rest}{reader.said} with status {reader.status} and no "
        hint = ""
        if self._talk.spec.transport == "sse" and not self._has_endpoint:
            hint = '"transport: sse" asks for the older transport alone: leave out "transport"'
        return Trouble(
            kind="event_stream", message=f"{message}event stream", hint=hint, id=reader.id
        )

    def brought(self, chunk: bytes) -> None:
        if self._is_refused:
            return
        self._talk.hear(chunk)
        items = self.reader.brought(chunk)
        if self.reader.endpoint and not self._has_endpoint:
            self._has_endpoint = True
            self._talk.take_endpoint(self.reader.endpoint)
        self._talk.deliver(items)

    def ended(self) -> None:
        how = "the server ended its event stream"
        self._over(how, Trouble(kind="event_stream", message=f"{how} before it named an endpoint"))

    def failed(self, error: HttpConnectionError) -> None:
        self._over(error.message, _failure(error, self.reader))

    def _over(self, how: str, trouble: Trouble) -> None:
        talk, reader = self._talk, self.reader
        talk.finished(self)
        if self._is_refused or reader.is_answered:
            return
        if self._refusal is not None and not self._has_endpoint:
            talk.give_up_old(self._refusal)
            return
        if talk.is_old:
            talk.fail_waiting(trouble)
            talk.lose()
            return
        tries = 0 if reader.events else self._tries
        if not talk.resume(reader, tries) and reader.id is not ABSENT:
            message = f"{how} before it had answered {reader.said}, and again when it was resumed"
            talk.deliver([_broken_off(message, reader)])


class Fetch:
    """A request that is no message: for a token, or the end of a session."""

    is_receipt = False

    def __init__(self, talk: HttpTalk, reader: AnswerReader | None = None) -> None:
        self._talk = talk
        # Of the end of a session nothing is wanted but that it comes.
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
        self._talk.finished(self)
        if self._is_for_token:
            self._talk.take_token(self._status, self._raw)

    def failed(self, error: HttpConnectionError) -> None:
        self._talk.finished(self)
        if self._is_for_token:
            self._talk.take_token(0, b"", f"no token could be fetched: {error.message}")


def _failure(error: HttpConnectionError, reader: AnswerReader) -> Trouble:
    return Trouble(
        kind=error.kind,
        message=error.message,
        hint=error.hint,
        id=reader.id,
        effect="indefinite" if error.was_sent else "definite",
        is_refusal=reader.id is ABSENT and reader.said != CANCELLED,
    )


def _broken_off(message: str, reader: AnswerReader) -> Trouble:
    return Trouble(kind="event_stream", message=message, hint=reader.flaw, id=reader.id)


def _has_answer(items: Sequence[Item], id: object) -> bool:
    """Whether the server has answered under the very id that it was sent."""
    for item in items:
        value = item.value if isinstance(item, Frame) else None
        if isinstance(value, dict) and id_key(value.get("id")) == id_key(id):
            return True
    return False


def _session_lost(items: Sequence[Item], reader: AnswerReader) -> Trouble:
    """Most servers tell it in a message that answers nothing in particular."""
    said = [dump_json(item.value).encode() for item in items if isinstance(item, Frame)]
    troubles = [item for item in items if isinstance(item, Trouble)]
    trouble = (
        troubles[0]
        if troubles
        else status_trouble(reader.said, reader.id, reader.status, {}, said[0] if said else b"")
    )
    hint = "the session has ended on the server's side; the next test begins a new one"
    return trouble.but(kind="session_lost", hint=hint)


if TYPE_CHECKING:
    Listening = Fetch | Post | Stream
