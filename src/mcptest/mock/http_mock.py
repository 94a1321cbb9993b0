"""A mock over Streamable HTTP: what is done about each request, in both eras of the protocol.

Requests and the time go in, acts come out; no socket is known here. A request that carries the
envelope of the stateless era is of that era, every other one belongs to a session, which begins
with `initialize`.
"""

from __future__ import annotations

from contextlib import nullcontext

from mcptest.core.errors import CheckError, PatternTimeoutError
from mcptest.core.framing import encode_line
from mcptest.core.revisions import HANDSHAKE_REVISIONS
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.web import Act, Answer
from mcptest.mock.eras import STATELESS, has_envelope, params_of
from mcptest.mock.faults import planned
from mcptest.mock.http_rules import JSON, SESSION_ID, VERSION, Refusal, refuse_head
from mcptest.mock.http_sessions import Sessions, requests_in
from mcptest.mock.http_stateless import StatelessClients
from mcptest.mock.refusal import PARSE_ERROR
from mcptest.mock.report import joined_reports
from mcptest.mock.respond import give_up, respond

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from mcptest.core.jsonrpc import IdKey
    from mcptest.core.web import WebRequest
    from mcptest.mock.faults import Faults
    from mcptest.mock.http_sessions import Session
    from mcptest.mock.http_stateless import Later
    from mcptest.mock.http_streams import Speech
    from mcptest.mock.report import MockReport
    from mcptest.mock.respond import Player
    from mcptest.mock.state import Sent, State

__all__ = ["HttpMock"]

# Revisions in which every request says in a header what was agreed on.
_WITH_HEADER = HANDSHAKE_REVISIONS[2:]


class HttpMock:
    """Everything that a mock over HTTP remembers. `mint` makes ids that nobody can guess."""

    def __init__(
        self,
        player: Player,
        faults: Faults,
        mint: Callable[[], str],
        bounded: AbstractContextManager[object] | None = None,
    ) -> None:
        self._player = player
        self._faults = faults
        self._bounded = bounded or nullcontext()
        self._sessions = Sessions(mint, self._keep)
        self._common = StatelessClients(player, faults, self._heard)
        self._ended: MockReport | None = None

    def refuse(self, exchange: int, request: WebRequest, port: int) -> Answer | None:
        """The answer to a request that is refused by its head, None when it is to be heard."""
        refusal = refuse_head(request, port)
        return self._refused(exchange, request, refusal) if refusal else None

    def hear(self, exchange: int, request: WebRequest, now: float) -> Later:
        """What is done about a request, and after how long."""
        if request.method == "POST":
            return self._post(exchange, request, now)
        session = self._session_of(request, now)
        if isinstance(session, Refusal):
            return [(0.0, self._refused(exchange, request, session))]
        if request.method == "DELETE":
            self._sessions.end(session)
            gone = Answer(exchange=exchange, status=204, headers={})
            return [(0.0, act) for act in (*session.end(), gone)]
        found = session.attach(exchange, request.header("last-event-id"))
        if isinstance(found, Refusal):
            return [(0.0, self._refused(exchange, request, found))]
        return [(0.0, act) for act in found]

    def due(self, item: Act | Speech) -> list[Act]:
        """What to do about something whose time has come."""
        return [item] if isinstance(item, Act) else item.said()

    def leave(self, exchange: int) -> None:
        """The connection of an exchange is gone, or all was said on it."""
        for session in self._sessions.all():
            session.leave(exchange)
        self._common.leave(exchange)

    def report(self) -> MockReport:
        """What all clients together did."""
        found = self._player.report(self._common.state)
        if self._ended:
            found = joined_reports(found, self._ended)
        for session in self._sessions.all():
            found = joined_reports(found, self._player.report(session.state))
        return found

    def _keep(self, session: Session) -> None:
        report = self._player.report(session.state)
        self._ended = joined_reports(self._ended, report) if self._ended else report

    def _heard(
        self, state: State, value: object, key: IdKey | None = None
    ) -> tuple[State, tuple[Sent, ...]]:
        try:
            with self._bounded:
                return respond(self._player, state, value, key)
        except (PatternTimeoutError, CheckError) as error:
            return give_up(state, value, error)

    # Refusals

    def _refused(self, exchange: int, request: WebRequest, refusal: Refusal) -> Answer:
        common = self._common
        if refusal.is_wrong:
            # What is behind the path may be a secret.
            said = {"http": f"{request.method} {request.target.partition('?')[0]}"}
            common.blame(said, refusal.sentence)
        else:
            subject = f"{refusal.status} {request.method}"
            told = f"{request.method} was answered with {refusal.status}: {refusal.sentence}"
            common.state = common.state.note(subject, told)
        headers = {"Content-Type": JSON, **(refusal.headers or {})}
        return Answer(
            exchange=exchange, status=refusal.status, headers=headers, body=refusal.body()
        )

    def _session_of(self, request: WebRequest, now: float) -> Session | Refusal:
        version = request.header(VERSION)
        if version is not None and version not in HANDSHAKE_REVISIONS:
            spoken = ", ".join(HANDSHAKE_REVISIONS)
            sentence = f"the header MCP-Protocol-Version must be one of {spoken}"
            return Refusal(status=400, sentence=sentence)
        id = request.header(SESSION_ID)
        if id is None:
            return _WITHOUT_SESSION
        return self._sessions.get(id, now) or _NO_SESSION

    # Messages

    def _post(self, exchange: int, request: WebRequest, now: float) -> Later:
        try:
            value = parse_json(request.body.decode("utf-8"))
        except (UnicodeDecodeError, NotJsonError) as error:
            sentence = f"the body is not JSON: {error}"
            refusal = Refusal(status=400, code=PARSE_ERROR, sentence=sentence)
            return [(0.0, self._refused(exchange, request, refusal))]
        if _is_stateless(request, value):
            return self._common.post(exchange, request, value)
        is_first = request.header(SESSION_ID) is None and _method(value) == "initialize"
        session = self._new_session(now) if is_first else self._session_of(request, now)
        if isinstance(session, Refusal):
            return [(0.0, self._refused(exchange, request, session))]
        if not is_first:
            _note_header(session, request)
        return self._post_to(session, exchange, value, is_first=is_first)

    def _new_session(self, now: float) -> Session | Refusal:
        return self._sessions.new(self._player.start(), now) or _TOO_MANY

    def _post_to(self, session: Session, exchange: int, value: object, *, is_first: bool) -> Later:
        session.state, sent = self._heard(session.state, value)
        waiting = requests_in(value)
        stream = session.open(exchange, waiting) if waiting else None
        later: Later = []
        is_welcome = is_taken = False
        for wait_s, each, line in planned(self._faults, sent):
            is_welcome = is_welcome or _is_welcome(each)
            said = session.speech(each, line)
            is_taken = is_taken or said is None
            later.append((wait_s, said or _unroutable(exchange, each)))
        if stream is None and not is_taken:
            later.insert(0, (0.0, Answer(exchange=exchange, status=202, headers={})))
        if isinstance(value, dict) and _method(value) == "notifications/cancelled":
            later += [(0.0, act) for act in session.cancel(params_of(value).get("requestId"))]
        if stream and is_first and is_welcome:
            stream.headers = {"Mcp-Session-Id": session.id}
        elif is_first:
            self._sessions.end(session)
        return later


def _is_welcome(sent: Sent) -> bool:
    """Whether this is the answer to `initialize`, and no error."""
    is_result = isinstance(sent.message, dict) and "result" in sent.message
    return sent.method == "initialize" and is_result


def _unroutable(exchange: int, sent: Sent) -> Answer:
    """The answer to what is no request of anybody: it is told with a status that says so."""
    body = encode_line(sent.message)
    return Answer(exchange=exchange, status=400, headers={"Content-Type": JSON}, body=body)


def _note_header(session: Session, request: WebRequest) -> None:
    """Note a client that does not repeat the revision that was agreed on."""
    agreed, told = session.state.revision, request.header(VERSION)
    if agreed not in _WITH_HEADER or told == agreed:
        return
    seen = "without MCP-Protocol-Version" if told is None else f"with MCP-Protocol-Version {told}"
    sentence = f"a {request.method} came {seen}; {agreed} was agreed on"
    session.state = session.state.note("version header", sentence)


_WITHOUT_SESSION = Refusal(
    status=400,
    sentence="the header Mcp-Session-Id is missing: begin with initialize, or send the "
    f"params._meta of revision {STATELESS}, which needs no handshake",
)
_NO_SESSION = Refusal(
    status=404,
    sentence="there is no such session, or it has ended: begin with initialize",
    is_wrong=False,
)
_TOO_MANY = Refusal(
    status=503,
    sentence="there are too many sessions, and all of them are in use",
    headers={"Retry-After": "1"},
    is_wrong=False,
)


def _method(value: object) -> object:
    return value.get("method") if isinstance(value, dict) else None


def _is_stateless(request: WebRequest, value: object) -> bool:
    """Whether a message is of the stateless era: its envelope or a header says so."""
    if request.header(VERSION) == STATELESS:
        return True
    if not isinstance(value, dict):
        return False
    is_discover = _method(value) == "server/discover" and request.header(SESSION_ID) is None
    return has_envelope(value) or is_discover
