"""A mock over Streamable HTTP: what to do about each request, with and without a handshake.

Requests and the time go in, acts come out; sockets are handled elsewhere. A request with the
envelope of a stateless revision is answered by itself, every other one belongs to a session,
which begins with `initialize`.
"""

from __future__ import annotations

from mcptest.core.record import ABSENT
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.mock.faults import plan_deliveries
from mcptest.mock.http_sessions import (
    JSON,
    SESSION_ID,
    VERSION,
    Delivery,
    HttpSessions,
    Refusal,
    Stream,
    check_head,
    check_headers,
    requests_in,
)
from mcptest.mock.protocol import params_of
from mcptest.mock.respond import respond
from mcptest.mock.session import join_reports, problem
from mcptest.mock.stateless import (
    check_envelope,
    has_envelope,
    rejection_answer,
    unsupported_version,
)
from mcptest.protocol.framing import encode_line
from mcptest.protocol.http_messages import Act, Answer
from mcptest.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    find_violations,
    message_kind,
)
from mcptest.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    NEWEST_STATELESS,
    REVISIONS,
    STATELESS_REVISIONS,
    UNSUPPORTED_VERSION,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from mcptest.mock.faults import Faults
    from mcptest.mock.http_sessions import HttpSession
    from mcptest.mock.respond import Player
    from mcptest.mock.session import MockReport, Sent
    from mcptest.protocol.http_messages import WebRequest
    from mcptest.protocol.jsonrpc import IdKey

    Later = list[tuple[float, Act | Delivery]]

__all__ = ["HttpMock"]

# The HTTP status of an answer without a handshake, by the code of its error.
_STATUS = {
    METHOD_NOT_FOUND: 404,
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}

_WITHOUT_SESSION = Refusal(
    status=400,
    sentence="the header Mcp-Session-Id is missing: begin with initialize, or send the "
    f"params._meta of revision {NEWEST_STATELESS}, which needs no handshake",
)
_UNKNOWN_SESSION = Refusal(
    status=404,
    sentence="there is no such session, or it has ended: begin with initialize",
    is_wrong=False,
)
_TOO_MANY_SESSIONS = Refusal(
    status=503,
    sentence="there are too many sessions, and all of them are in use",
    headers={"Retry-After": "1"},
    is_wrong=False,
)


class HttpMock:
    """A mock with all of its clients. `mint` makes ids that cannot be guessed.

    Clients without a handshake cannot be distinguished, so they share one session, which is also
    blamed for what belongs to no session. `limit` bounds the time of comparing one message.
    """

    def __init__(
        self,
        player: Player,
        faults: Faults,
        mint: Callable[[], str],
        limit: AbstractContextManager[object] | None = None,
    ) -> None:
        self._player = player
        self._faults = faults
        self._limit = limit
        self._sessions = HttpSessions(mint, self._keep_report)
        self._shared = player.start()
        self._shared.era, self._shared.revision = "stateless", NEWEST_STATELESS
        self._shared_streams: dict[int, Stream] = {}
        self._ended: MockReport | None = None

    def check_head(self, exchange: int, request: WebRequest, port: int) -> Answer | None:
        """The answer to a request that is refused by its head, None if it is not."""
        refusal = check_head(request, port)
        return self._refuse(exchange, request, refusal) if refusal else None

    def handle(self, exchange: int, request: WebRequest, now: float) -> Later:
        """What to do about a request, and after how many seconds."""
        if request.method == "POST":
            return self._post(exchange, request, now)
        found = self._find_session(request, now)
        if isinstance(found, Refusal):
            return _at_once(self._refuse(exchange, request, found))
        if request.method == "DELETE":
            self._sessions.end(found)
            gone = Answer(exchange=exchange, status=204, headers={})
            return _at_once(*found.end(), gone)
        acts = found.attach(exchange, request.header("last-event-id"))
        if isinstance(acts, Refusal):
            return _at_once(self._refuse(exchange, request, acts))
        return _at_once(*acts)

    def perform(self, item: Act | Delivery) -> list[Act]:
        """What to do about something whose time has come."""
        return [item] if isinstance(item, Act) else item.acts()

    def close_exchange(self, exchange: int) -> None:
        """Handle a connection that is gone, or complete."""
        for each in self._sessions.all():
            each.leave(exchange)
        stream = self._shared_streams.pop(exchange, None)
        if stream:
            stream.exchange = None
            self._shared.unsubscribe(_subscription_key(exchange))

    def report(self) -> MockReport:
        """What all clients together did."""
        found = self._player.report(self._shared)
        if self._ended:
            found = join_reports(found, self._ended)
        for each in self._sessions.all():
            found = join_reports(found, self._player.report(each.session))
        return found

    def _keep_report(self, ended: HttpSession) -> None:
        report = self._player.report(ended.session)
        self._ended = join_reports(self._ended, report) if self._ended else report

    def _refuse(self, exchange: int, request: WebRequest, refusal: Refusal) -> Answer:
        if refusal.is_wrong:
            # The query may hold a secret.
            head = {"http": f"{request.method} {request.target.partition('?')[0]}"}
            self._shared.blame(head, None, (problem(refusal.sentence),))
        else:
            subject = f"{refusal.status} {request.method}"
            sentence = f"{request.method} was answered with {refusal.status}: {refusal.sentence}"
            self._shared.note(subject, sentence)
        headers = {"Content-Type": JSON, **(refusal.headers or {})}
        return Answer(
            exchange=exchange, status=refusal.status, headers=headers, body=refusal.body()
        )

    def _post(self, exchange: int, request: WebRequest, now: float) -> Later:
        try:
            value = parse_json(request.body.decode("utf-8"))
        except (UnicodeDecodeError, NotJsonError) as error:
            sentence = f"the body is not JSON: {error}"
            refusal = Refusal(status=400, code=PARSE_ERROR, sentence=sentence)
            return _at_once(self._refuse(exchange, request, refusal))
        method = value.get("method") if isinstance(value, dict) else None
        has_session = request.header(SESSION_ID) is not None
        if (
            request.header(VERSION) in STATELESS_REVISIONS
            or (isinstance(value, dict) and has_envelope(value))
            or (method == "server/discover" and not has_session)
        ):
            return self._post_stateless(exchange, request, value)
        is_first = method == "initialize" and not has_session
        found: HttpSession | Refusal
        if is_first:
            found = self._sessions.add(self._player.start(), now) or _TOO_MANY_SESSIONS
        else:
            found = self._find_session(request, now)
        if isinstance(found, Refusal):
            return _at_once(self._refuse(exchange, request, found))
        if not is_first:
            _note_header(found, request)
        return self._post_to(found, exchange, value, is_first=is_first)

    # Clients with a handshake

    def _find_session(self, request: WebRequest, now: float) -> HttpSession | Refusal:
        version = request.header(VERSION)
        if version is not None and version not in HANDSHAKE_REVISIONS:
            known = ", ".join(HANDSHAKE_REVISIONS)
            sentence = f"the header MCP-Protocol-Version must be one of {known}"
            return Refusal(status=400, sentence=sentence)
        id = request.header(SESSION_ID)
        if id is None:
            return _WITHOUT_SESSION
        return self._sessions.get(id, now) or _UNKNOWN_SESSION

    def _post_to(
        self, client: HttpSession, exchange: int, value: object, *, is_first: bool
    ) -> Later:
        sent = respond(self._player, client.session, value, self._limit)
        waiting = requests_in(value)
        stream = client.open(exchange, waiting) if waiting else None
        later: Later = []
        is_welcome = is_answered = False
        for wait_s, each, line in plan_deliveries(self._faults, sent):
            is_result = isinstance(each.message, dict) and "result" in each.message
            is_welcome = is_welcome or (each.method == "initialize" and is_result)
            delivery = client.route(each, line)
            is_answered = is_answered or delivery is None
            # An answer to something that is not a request is the answer to the POST.
            later.append((wait_s, delivery or _http_answer(exchange, each, 400)))
        if stream is None and not is_answered:
            later.insert(0, (0.0, Answer(exchange=exchange, status=202, headers={})))
        if isinstance(value, dict) and value.get("method") == "notifications/cancelled":
            later += [(0.0, act) for act in client.cancel(params_of(value).get("requestId"))]
        if stream and is_first and is_welcome:
            stream.headers = {"Mcp-Session-Id": client.id}
        elif is_first:
            self._sessions.end(client)
        return later

    # Clients without a handshake

    def _post_stateless(self, exchange: int, request: WebRequest, value: object) -> Later:
        is_request = message_kind(value) == "request"
        if not isinstance(value, dict) or not is_request or any(find_violations(value)):
            return self._take_notification(exchange, request, value)
        rejection = check_envelope(value) or check_headers(
            request, value, self._player.input_schema
        )
        if rejection:
            self._shared.blame(value, None, (problem(rejection.sentence),))
            return [(0.0, _http_answer(exchange, rejection_answer(value["id"], rejection)))]
        key = _subscription_key(exchange)
        sent = respond(self._player, self._shared, value, self._limit, key)
        stream = self._shared_streams[exchange] = Stream(exchange, exchange)
        return list(self._deliveries(stream, sent))

    def _take_notification(self, exchange: int, request: WebRequest, value: object) -> Later:
        """Accept a notification, and refuse everything else that is not a request."""
        version = request.header(VERSION)
        if version not in (None, *STATELESS_REVISIONS):
            answer = rejection_answer(None, unsupported_version(version))
            return [(0.0, _http_answer(exchange, answer))]
        sent = respond(self._player, self._shared, value, self._limit)
        refused = [each for each in sent if each.is_answer]
        if refused:
            return [(0.0, _http_answer(exchange, refused[0], 400))]
        taken = Answer(exchange=exchange, status=202, headers={})
        return [(0.0, taken), *self._deliveries(None, sent)]

    def _deliveries(
        self, own: Stream | None, sent: Iterable[Sent]
    ) -> Iterable[tuple[float, Delivery]]:
        for wait_s, each, line in plan_deliveries(self._faults, sent):
            stream, key = own, each.subscription
            if key is not ABSENT:
                stream = self._shared_streams.get(key[1]) if isinstance(key, tuple) else None
            if stream:
                data = None if line is None else line.rstrip(b"\n")
                is_last = each.is_answer
                status = _status_of(each) if is_last else 200
                yield wait_s, Delivery(stream=stream, data=data, is_last=is_last, status=status)


def _at_once(*acts: Act) -> Later:
    return [(0.0, act) for act in acts]


def _note_header(client: HttpSession, request: WebRequest) -> None:
    """Note a client that does not repeat the negotiated revision."""
    agreed, given = client.session.revision, request.header(VERSION)
    revision = REVISIONS.get(agreed)
    if revision is None or not revision.has_version_header or given == agreed:
        return
    seen = "without MCP-Protocol-Version" if given is None else f"with MCP-Protocol-Version {given}"
    sentence = f"a {request.method} came {seen}; {agreed} was agreed on"
    client.session.note("version header", sentence)


def _subscription_key(exchange: int) -> IdKey:
    return ("exchange", exchange)


def _status_of(sent: Sent) -> int:
    error = sent.message.get("error") if isinstance(sent.message, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return _STATUS.get(code, 200) if isinstance(code, int) else 200


def _http_answer(exchange: int, sent: Sent, status: int | None = None) -> Answer:
    return Answer(
        exchange=exchange,
        status=status or _status_of(sent),
        headers={"Content-Type": JSON},
        body=encode_line(sent.message),
    )
