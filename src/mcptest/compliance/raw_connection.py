"""A connection with the server that is checked, on which anything can be sent.

`StdioPeer` and `HttpPeer` have the same interface, `Peer`: open a session, send requests,
notifications and messages that no client would send, and collect what comes back. All of it is
kept as the evidence of the check that runs, and is judged by the passive rules as well; messages
that are wrong on purpose, and the answers to them, are not.

Every wait ends with the `TimeLimit` of the run, and a server that sends too much is given up.
"""

from __future__ import annotations

import contextlib
import time

from mcptest import __version__
from mcptest.core.coverage import KINDS
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt, shorten
from mcptest.core.value_class import ABSENT, Record
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import Frame, Noise, TransportFault, encode_line, read_message
from mcptest.protocol.http_messages import AnswerReader, message_headers, param_headers
from mcptest.protocol.lists import ListPages
from mcptest.protocol.revisions import (
    META_CAPABILITIES,
    META_CLIENT_INFO,
    META_SERVER_INFO,
    REVISIONS,
    VERSION_KEY,
)
from mcptest.rules.all_rules import RULES
from mcptest.rules.rule import Facts
from mcptest.rules.scorer import Scorer
from mcptest.transport.http.probe import HttpReply
from mcptest.transport.process.stopping import describe_end
from mcptest.transport.stdio import StdioTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from mcptest.core.plan import HttpSpec, ServerSpec
    from mcptest.core.results import Verdict
    from mcptest.engine.server import Launcher
    from mcptest.protocol.framing import Overlong
    from mcptest.protocol.http_address import Address
    from mcptest.transport.http.probe import HttpProbe, ProbeClient
    from mcptest.transport.process.stopping import Stopped

    Message = dict[str, Any]
    # Values of headers by name; None leaves a header out that is sent otherwise.
    Headers = Mapping[str, str | None]

__all__ = [
    "Answer",
    "HttpPeer",
    "OutOfTimeError",
    "Peer",
    "Pending",
    "StdioPeer",
    "TimeLimit",
    "TooMuchError",
]

# Session rules about the client, or with a counterpart among the other rules, are left out.
_RULES = tuple(rule for rule in RULES if not rule.id.startswith("INV-"))

# How long to wait for an answer once a later request has been answered.
_OVERTAKEN_S = 0.3

_MAX_EVIDENCE = 40
_MAX_EVIDENCE_CHARS = 4_000

# What a server may send during one check, and how many messages on one connection.
_MAX_BYTES = 32 * 1024 * 1024
_MAX_ITEMS = 20_000

# Exchanges of one connection that are kept, and messages of each of them.
_MAX_EXCHANGES = 2_000
_MAX_EXCHANGE_MESSAGES = 10

# How many requests of a server are answered, and how many bytes may wait until it reads them.
_MAX_REPLIES = 1_000
_MAX_UNREAD_BYTES = 1_000_000

# How long the end of a session and each step of stopping a server may take when the run has to end.
_HURRY_S = 0.5

# How long a server that has closed its stdout may take to exit.
_EXIT_AFTER_EOF_S = 0.5


class OutOfTimeError(Exception):
    """The time limit of the run is over: nothing is known of what was being waited for."""


class TooMuchError(Exception):
    """A server has sent more than is kept; the message is the end of a sentence about it."""


class TimeLimit:
    """The time of the whole run, by which every wait is bounded."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._end

    @property
    def reason(self) -> str:
        """Why a check could not run once it is over."""
        return f"the time limit of the run, {self._seconds:g} s, was over"

    def deadline(self, seconds: float) -> float:
        """The end of a wait of so many seconds, or that of the run if it comes first."""
        self.check()
        return min(time.monotonic() + seconds, self._end)

    def check(self) -> None:
        """Raise OutOfTimeError if the run is over: the server is then not to blame for the wait."""
        if self.is_over:
            raise OutOfTimeError


class Answer(Record):
    """What came back for a message.

    `message` is the response with the id of the request, None if there is none; `problem` then says
    why. `others` are the messages that arrived meanwhile, `noise` the lines that are not messages.
    `reply` is how it came over HTTP.
    """

    message: Message | None = None
    others: tuple[Message, ...] = ()
    noise: tuple[str, ...] = ()
    problem: str = ""
    reply: HttpReply | None = None

    @property
    def result(self) -> Message | None:
        """The result if it is an object, else None."""
        result = self.message.get("result") if self.message else None
        return result if isinstance(result, dict) else None

    @property
    def error(self) -> Message | None:
        """The error if it is an object, else None."""
        error = self.message.get("error") if self.message else None
        return error if isinstance(error, dict) else None

    @property
    def code(self) -> int | None:
        """The code of the error, None if there is none."""
        code = self.error.get("code") if self.error else None
        return code if type(code) is int else None

    @property
    def status(self) -> int:
        """The HTTP status, 0 on stdio and if there was no answer."""
        return self.reply.status if self.reply else 0

    @property
    def is_refused(self) -> bool:
        """True if the server answered with an error, or refused the request over HTTP."""
        return self.error is not None or self.status >= 400

    def describe(self) -> str:
        """What came back, as the end of a sentence: "the server answered with …"."""
        status = f"HTTP status {self.status}" if self.reply and self.status else ""
        if self.error is not None:
            said = excerpt(_one_line(self.error.get("message")), 120)
            what = f"error {dump_json(self.error.get('code'))}, {said}"
            return f"{status} and {what}" if status and self.status != 200 else what
        if self.message is not None:
            shown = shorten(dump_json(self.message.get("result")), 120)
            return f"the result {excerpt(shown, 140)}"
        if self.reply and self.status and 200 <= self.status < 300:
            return f"{status} and no response to the request"
        body = self.reply.body.decode("utf-8", "replace") if self.reply else ""
        said = f", {excerpt(_one_line(body), 160)}" if status and body.strip() else ""
        if self.problem.startswith("no answer"):
            return f"nothing{self.problem.removeprefix('no answer')}"
        return f"{status}{said}" if status else self.problem


def _one_line(value: object) -> str:
    """What a server said, quoted unless it is JSON, with each run of white space as one space."""
    said = " ".join(value.split()) if isinstance(value, str) else value
    return (
        said if isinstance(said, str) and said.startswith(("{", "[{", "[ {")) else dump_json(said)
    )


class Peer:
    """One connection, from its start to its end. See the two transports below."""

    transport = ""

    def __init__(self, label: str, carrier: str, timeout_s: float, limit: TimeLimit) -> None:
        self.timeout_s = timeout_s
        self.limit = limit
        # What the session was opened with: "" and empty before.
        self.version = ""
        self.capabilities: Message = {}
        self.server_info: Message = {}
        self.opening: Message = {}
        self.client_capabilities: Message = {}
        self.client_name = "mcptest"
        # True if requests of the server are left without an answer.
        self.is_mute = False
        # The `result` or `error` with which a request of the server is answered, by its method;
        # other requests than ping are refused.
        self.replies: dict[str, Message] = {}
        self.messages: list[Message] = []
        self.noise: list[str] = []
        self.sent: list[str] = []
        self.received: list[str] = []
        # How many requests were not answered in time.
        self.timeouts = 0
        # What was sent and received in each exchange, as evidence of what passive rules find.
        self.exchanges: list[tuple[str, list[str]]] = []
        self._next_id = 0
        self._scorer = Scorer(_RULES, Facts(label, carrier))
        self._exchange = -1
        # Ids of requests that are wrong on purpose; also null if anything wrong was sent.
        self._unjudged_ids: set[jsonrpc.IdKey] = set()
        # The exchange of each request, for its response, which may come after further requests.
        self._exchange_of: dict[jsonrpc.IdKey, int] = {}
        self._asked_ids: set[jsonrpc.IdKey] = set()
        self._lists: dict[str, list[Message] | None] = {}
        # What the server has sent so far: items, bytes of results since the last check began, and
        # bytes of everything else.
        self._items = self._result_bytes = self._other_bytes = 0
        self.has_sent_too_much = False
        # So many messages have been emptied: their results were dropped.
        self._emptied = 0
        self._replies = 0
        self._is_replying = False

    # Sessions

    @property
    def is_stateless(self) -> bool:
        revision = REVISIONS.get(self.version)
        return revision is not None and revision.is_stateless

    @property
    def is_lost(self) -> bool:
        """True if the server has ended, or cannot be reached any more."""
        raise NotImplementedError

    @property
    def end_status(self) -> str:
        """How the process of the server ended, as the end of a sentence about it."""
        return "closed the connection"

    def open(self, version: str, params: Message | None = None) -> Answer:
        """Open a session in this revision: with a handshake, or with `server/discover`.

        `params` are added to those of `initialize`. Without a result the session stays closed.
        """
        if REVISIONS[version].is_stateless:
            self.version = version
            answer = self.request("server/discover")
            if answer.result is None:
                self.version = ""
                return answer
            meta = answer.result.get("_meta")
            info = meta.get(META_SERVER_INFO) if isinstance(meta, dict) else {}
        else:
            answer = self.request("initialize", self.initialize_params(version) | (params or {}))
            if answer.result is None:
                return answer
            agreed = answer.result.get("protocolVersion")
            self.version = agreed if isinstance(agreed, str) and agreed in REVISIONS else version
            info = answer.result.get("serverInfo")
            self.notify("notifications/initialized")
        self.opening = answer.result
        self.server_info = info if isinstance(info, dict) else {}
        capabilities = answer.result.get("capabilities")
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        return answer

    def initialize_params(self, version: str) -> Message:
        return {
            "protocolVersion": version,
            "capabilities": self.client_capabilities,
            "clientInfo": self.client_info,
        }

    @property
    def client_info(self) -> Message:
        return {"name": self.client_name, "version": __version__}

    @property
    def meta(self) -> Message:
        """The metadata that every request of the stateless era has."""
        return {
            VERSION_KEY: self.version,
            META_CAPABILITIES: self.client_capabilities,
            META_CLIENT_INFO: self.client_info,
        }

    def has(self, capability: str, flag: str = "") -> bool:
        """True if the server declares a capability, and in it this flag as true."""
        found = self.capabilities.get(capability)
        if not flag:
            return found is not None
        return isinstance(found, dict) and found.get(flag) is True

    # Sending

    @property
    def harmless_method(self) -> str:
        """A method that every server has, and that changes nothing."""
        return "server/discover" if self.is_stateless else "ping"

    def next_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def message(
        self, method: str, params: Message | None = None, *, id: object = None, meta: bool = True
    ) -> Message:
        """A request as it is sent, with the metadata of the stateless era unless it has its own."""
        id = self.next_id() if id is None else id
        params = dict(params or {})
        if meta and self.is_stateless:
            params["_meta"] = self.meta | params.get("_meta", {})
        return jsonrpc.request(id, method, params if params else ABSENT)

    def request(
        self,
        method: str,
        params: Message | None = None,
        *,
        id: object = None,
        timeout_s: float | None = None,
        headers: Headers | None = None,
        is_judged: bool = True,
    ) -> Answer:
        """Send a request, and wait for its response. `is_judged` is False for a wrong one."""
        message = self.message(method, params, id=id)
        pending = self.start(message, headers=headers, is_judged=is_judged)
        try:
            return pending.wait(timeout_s)
        finally:
            pending.close()

    def start(
        self, message: Message, *, headers: Headers | None = None, is_judged: bool = True
    ) -> Pending:
        """Send a request, and return without waiting. `is_judged` is False for a wrong one."""
        raise NotImplementedError

    def notify(
        self, method: str, params: Message | None = None, *, headers: Headers | None = None
    ) -> Answer:
        """Send a notification. Over HTTP the answer has its status."""
        message = jsonrpc.notification(method, params or ABSENT)
        return self.send(message, headers=headers, is_judged=True)

    def send(
        self, value: object, *, headers: Headers | None = None, is_judged: bool = False
    ) -> Answer:
        """Send any JSON value, such as a batch or a message that is wrong on purpose.

        On stdio this does not wait: `settle` or `wait_for` collect what comes back.
        """
        raise NotImplementedError

    def send_bytes(self, body: bytes, *, headers: Headers | None = None) -> Answer:
        """Send any bytes as a line, or as the body of a POST."""
        raise NotImplementedError

    def settle(self) -> Answer:
        """Send a harmless request and wait for its response.

        `others` is all that arrived before it: what has not come by then does not come.
        """
        return self.request(self.harmless_method)

    def request_or_silence(self, message: Message, *, is_judged: bool = True) -> Answer:
        """Send a request that a server may ignore; a later one proves that it did."""
        raise NotImplementedError

    def listen(self, seconds: float) -> Answer:
        """What arrives within this time."""
        raise NotImplementedError

    def end(self, *, in_hurry: bool = False) -> Stopped | None:
        """End the session, and the process if there is one for this connection alone."""
        raise NotImplementedError

    # Lists

    def list_all(self, kind: str) -> list[Message] | None:
        """The entries of a list, by its name in `KINDS`, read once.

        None if the server does not declare or refuses the list; [] if it is empty.
        """
        if kind not in self._lists:
            is_declared = self.has(KINDS[kind].capability)
            self._lists[kind] = self.read_list(kind) if is_declared else None
        return self._lists[kind]

    def read_list(self, kind: str) -> list[Message] | None:
        """The entries of a list, read now; None if the server refuses it or does not answer."""
        method = KINDS[kind].method
        pages, entries = ListPages(method, kind, max_pages=50), []
        while (params := pages.next_params()) is not None:
            answer = self.request(method, params)
            if answer.message is None:
                return None
            entries += pages.add(answer.message)
        if pages.problem is not None and pages.problem.kind == "refused":
            return None
        return [each for each in entries if isinstance(each, dict)]

    # Evidence and rules

    def clear_evidence(self) -> None:
        """What is sent and received from here on is the evidence of the next check."""
        self.sent, self.received = [], []
        # No check looks at results that came before it, and they may be large.
        for at in range(self._emptied, len(self.messages)):
            if "result" in self.messages[at]:
                self.messages[at] = {**self.messages[at], "result": {}}
        self._emptied = len(self.messages)
        self._result_bytes = 0

    @property
    def judged_version(self) -> str:
        """The revision by which the passive rules judge this connection, "" if none is known."""
        return self._scorer.facts.version

    def verdicts(self) -> tuple[Verdict, ...]:
        """What the passive rules say of this connection; called once, after its end."""
        return self._scorer.finish().verdicts

    def _note_message(self, text: str, exchange: int) -> None:
        if self.transport == "stdio":
            _keep(self.received, text)
        if 0 <= exchange < len(self.exchanges):
            _keep(self.exchanges[exchange][1], text, _MAX_EXCHANGE_MESSAGES)

    def unasked_responses(self, answer: Answer) -> list[Message]:
        """The responses that arrived meanwhile and answer no request, early or late."""
        responses = (each for each in answer.others if "method" not in each)
        return [each for each in responses if jsonrpc.id_key(each.get("id")) not in self._asked_ids]

    def record_sent(self, value: object, *, is_judged: bool) -> None:
        """Record what is sent and judge it, unless it is wrong on purpose."""
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict) and each.get("id") is not None:
                self._asked_ids.add(jsonrpc.id_key(each["id"]))
        if is_judged:
            self._exchange += 1
            if len(self.exchanges) < _MAX_EXCHANGES:
                self.exchanges.append((shorten(dump_json(value), _MAX_EVIDENCE_CHARS), []))
                if isinstance(value, dict) and "id" in value:
                    self._exchange_of[jsonrpc.id_key(value["id"])] = self._exchange
            self._scorer.client(value, self._exchange)
            return
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict) and "id" in each:
                self._unjudged_ids.update(map(jsonrpc.id_key, _readings(each["id"])))
        self._unjudged_ids.add(jsonrpc.id_key(None))

    def take(self, item: Frame | Noise | Overlong | TransportFault) -> list[Message]:
        """Keep what arrived, judge it, and answer requests; the messages in it."""
        if isinstance(item, TransportFault):
            return []
        if not isinstance(item, Frame):
            text = item.raw.decode("utf-8", "backslashreplace")
            self._count(len(text), is_result=False)
            self.noise.append(text)
            self._note_message(text, self._exchange)
            self._scorer.noise(text, self._exchange)
            return []
        text = dump_json(item.value)
        self._count(len(text), is_result=isinstance(item.value, dict) and "result" in item.value)
        # A response belongs to the exchange of its request, everything else to the last one.
        place = self._exchange
        if isinstance(item.value, dict) and "method" not in item.value:
            place = self._exchange_of.get(jsonrpc.id_key(item.value.get("id")), place)
        self._note_message(text, place)
        parts = item.value if isinstance(item.value, list) else [item.value]
        messages = [each for each in parts if isinstance(each, dict)]
        if not (isinstance(item.value, list) and self._unjudged_ids) and not any(
            "method" not in each and jsonrpc.id_key(each.get("id")) in self._unjudged_ids
            for each in messages
        ):
            self._scorer.server(item.value, place, item.http)
        self.messages += messages
        for message in messages:
            if "method" in message and "id" in message and not self.is_mute:
                self._reply(message)
        return messages

    def _count(self, size: int, *, is_result: bool) -> None:
        """Count what arrived. After a TooMuchError the connection is not used any more."""
        self._items += 1
        if is_result:
            self._result_bytes += size
        else:
            self._other_bytes += size
        if self._items > _MAX_ITEMS:
            self.has_sent_too_much = True
            raise TooMuchError(f"has sent more than {_MAX_ITEMS:,} messages on one connection")
        if self._result_bytes + self._other_bytes > _MAX_BYTES:
            self.has_sent_too_much = True
            raise TooMuchError(f"has sent more than {_MAX_BYTES:,} bytes for one check")

    @property
    def _is_reader(self) -> bool:
        """True if the server reads what it is sent, as far as can be seen."""
        return True

    def _reply(self, request: Message) -> None:
        # Over HTTP a request may come in the answer to a reply, and so on without end.
        if self._is_replying or self._replies >= _MAX_REPLIES or not self._is_reader:
            return
        method = request["method"] if isinstance(request["method"], str) else ""
        if method in self.replies:
            reply = {"jsonrpc": "2.0", "id": request["id"], **self.replies[method]}
        elif method == "ping":
            reply = jsonrpc.result_response(request["id"], {})
        else:
            text = "mcptest does not answer this while it checks a server"
            reply = jsonrpc.error_response(request["id"], jsonrpc.METHOD_NOT_FOUND, text)
        self._replies += 1
        self._is_replying = True
        try:
            self.send(reply, is_judged=True)
        finally:
            self._is_replying = False


def _readings(id: object) -> tuple[object, ...]:
    """The ids with which a server may answer that has read an id in a type of its own."""
    if isinstance(id, float):
        return id, int(id), dump_json(id)
    return (id, int(id), dump_json(id), str(id)) if isinstance(id, bool) else (id,)


def _keep(lines: list[str], text: str, count: int = _MAX_EVIDENCE) -> None:
    if len(lines) < count:
        lines.append(shorten(text, _MAX_EVIDENCE_CHARS))


def _describe_other_ids(id: object, messages: Iterable[Message]) -> str:
    """The hint that a response came with another id than that of the request; "" if none did."""
    for each in messages:
        if "method" not in each and ("result" in each or "error" in each) and id is not None:
            seen = f"the id {excerpt(dump_json(each['id']), 60)}" if "id" in each else "no id"
            wanted = excerpt(dump_json(id), 60)
            return f"; a response came with {seen}; it must have that of the request, {wanted}"
    return ""


class Pending:
    """A request that has been sent."""

    def __init__(self, peer: Peer, id: object) -> None:
        self.peer = peer
        self.id = id
        self._key = jsonrpc.id_key(id)

    def wait(self, timeout_s: float | None = None) -> Answer:
        """Wait for the response."""
        return self.wait_until(self.is_response, timeout_s)

    def is_response(self, message: Message) -> bool:
        """True if a message is the response to this request."""
        is_response = "method" not in message and ("result" in message or "error" in message)
        return is_response and jsonrpc.id_key(message.get("id")) == self._key

    def wait_until(
        self, is_wanted: Callable[[Message], bool], timeout_s: float | None = None
    ) -> Answer:
        """Wait for a message that `is_wanted`, or until none can come any more."""
        raise NotImplementedError

    def look_for(self, is_wanted: Callable[[Message], bool], seconds: float) -> Answer:
        """Wait for a message that need not come: then this is not counted as a timeout."""
        timeouts = self.peer.timeouts
        try:
            return self.wait_until(is_wanted, seconds)
        finally:
            self.peer.timeouts = timeouts

    def close(self) -> None:
        """Stop reading the answer: over HTTP this closes its stream."""


# stdio


class StdioPeer(Peer):
    """A process of its own on pipes."""

    transport = "stdio"

    def __init__(self, spec: ServerSpec, launcher: Launcher, limit: TimeLimit) -> None:
        limit.check()
        self.wire = StdioTransport(spec, launcher.guardian, launcher.interrupts)
        super().__init__(self.wire.label, self.wire.transport, spec.timeout_s, limit)
        # How long the first answer may take: programs need time to start.
        self.first_timeout_s = max(spec.timeout_s, spec.startup_timeout_s)
        self._launcher = launcher
        self._stopped: Stopped | None = None
        # How long the server took to end after its input; None if it did not, or is not asked to.
        self._exit_s: float | None = None
        self._has_closed_input = False

    @property
    def is_lost(self) -> bool:
        return self.wire.is_closed or self.wire.has_exited

    @property
    def end_status(self) -> str:
        if self.wire.is_closed and not self._stopped:
            # A process that ends closes its stdout a moment before.
            self.wire.wait_for_exit(time.monotonic() + _EXIT_AFTER_EOF_S)
        code = self._stopped.exit_code if self._stopped else self.wire.peek_exit_code()
        if code is None:
            return "closed its stdout"
        # The end of a stack trace is what its author looks for first.
        last = next((line for line in reversed(self.stderr.splitlines()) if line.strip()), "")
        said = f" (on stderr: {excerpt(dump_json(last.strip()), 160)})" if last and code else ""
        return f"{describe_end(code)}{said}"

    def start(
        self, message: Message, *, headers: Headers | None = None, is_judged: bool = True
    ) -> _StdioPending:
        pending = _StdioPending(self, message["id"])
        self.send(message, is_judged=is_judged)
        return pending

    def send(
        self, value: object, *, headers: Headers | None = None, is_judged: bool = False
    ) -> Answer:
        self.record_sent(value, is_judged=is_judged)
        self._write(encode_line(value))
        return Answer()

    def send_bytes(self, body: bytes, *, headers: Headers | None = None) -> Answer:
        self.record_sent(None, is_judged=False)
        self._write(body + b"\n")
        return Answer()

    def _write(self, line: bytes) -> None:
        _keep(self.sent, line.decode("utf-8", "backslashreplace").rstrip("\n"))
        self.wire.send(line)

    def request_or_silence(self, message: Message, *, is_judged: bool = True) -> Answer:
        pending = self.start(message, is_judged=is_judged)
        later = self.settle()
        if any(pending.is_response(each) for each in later.others):
            return pending.wait(0.0)
        # A message that is wrong may be ignored; any other request is answered, at its own speed.
        is_over = is_judged or later.message is None
        return pending.wait(None if is_over else _OVERTAKEN_S)

    def listen(self, seconds: float) -> Answer:
        return _StdioPending(self, None).wait_until(lambda _: False, seconds)

    def pump(self, deadline: float) -> bool:
        """Take what arrives by the deadline; False if nothing did."""
        items = self.wire.receive(deadline)
        for item in items:
            self.take(item)
        return bool(items)

    def settle_until(self, is_wanted: Callable[[Message], bool], seconds: float) -> None:
        """Wait for a message that need not come, if it has not come by the answer to a request."""
        self.settle()
        deadline = self.limit.deadline(seconds)
        while not any(map(is_wanted, self.messages)) and time.monotonic() < deadline:
            if not self.pump(deadline):
                return

    def close_input(self, wait_s: float) -> float | None:
        """End the input of the server; the seconds it took to end, None if it did not.

        A second call returns the same.
        """
        if not self._has_closed_input:
            self._has_closed_input = True
            self.wire.close_stdin()
            self._exit_s = self._wait_for_exit(wait_s)
        return self._exit_s

    def terminate(self, signal_number: int, wait_s: float) -> float | None:
        """Send a signal to the server; the seconds it took to end, None if it did not."""
        self.wire.signal_group(signal_number)
        return self._wait_for_exit(wait_s)

    def _wait_for_exit(self, wait_s: float) -> float | None:
        began, deadline = time.monotonic(), self.limit.deadline(wait_s)
        has_ended = self.wire.wait_for_exit(deadline, heed_interrupts=True)
        self._take_last()
        if not has_ended:
            self.limit.check()
        return time.monotonic() - began if has_ended else None

    def _take_last(self) -> None:
        items, self.wire.last_output = self.wire.last_output, []
        for item in items:
            self.take(item)

    @property
    def _is_reader(self) -> bool:
        return self.wire.unsent_bytes < _MAX_UNREAD_BYTES

    def describe_unfinished_line(self) -> str:
        """The hint that the server wrote something that no newline has ended; "" if it did not."""
        head, size = self.wire.decoder.remainder
        if not size:
            return ""
        many = f"{size:,} bytes" if size > 1 else "1 byte"
        text = self.wire.redact_output(head).decode("utf-8", "backslashreplace")
        return (
            f"; {many} came without the newline that ends a message: {excerpt(text, 80)}; does the "
            "server write one, and flush stdout after it?"
        )

    def end(self, *, in_hurry: bool = False) -> Stopped:
        if self._stopped is None:
            grace = self._launcher.grace
            if in_hurry or self.limit.is_over:
                grace = grace.but(stdin_s=_HURRY_S, term_s=_HURRY_S)
            self._stopped = self.wire.end(grace)
            # Output beyond the limit does not matter any more.
            with contextlib.suppress(TooMuchError):
                self._take_last()
            code = self._stopped.exit_code
            self._scorer.facts.exit_status = describe_end(code) if code is not None else ""
        return self._stopped

    @property
    def stderr(self) -> str:
        """The end of what the server wrote to stderr."""
        self.wire.drain_stderr()
        return self.wire.redact_output(self.wire.stderr.tail()).decode("utf-8", "backslashreplace")


class _StdioPending(Pending):
    peer: StdioPeer

    def __init__(self, peer: StdioPeer, id: object) -> None:
        super().__init__(peer, id)
        self._from = len(peer.messages)
        self._noise_from = len(peer.noise)

    def wait_until(
        self, is_wanted: Callable[[Message], bool], timeout_s: float | None = None
    ) -> Answer:
        peer = self.peer
        if timeout_s is None:
            timeout_s = peer.timeout_s if peer.messages else peer.first_timeout_s
        deadline, seen = peer.limit.deadline(timeout_s), self._from
        is_over = False
        while True:
            for at in range(seen, len(peer.messages)):
                if is_wanted(peer.messages[at]):
                    others = (*peer.messages[self._from : at], *peer.messages[at + 1 :])
                    return self._answer(peer.messages[at], others)
            seen = len(peer.messages)
            if is_over:
                break
            # A server that never stops sending is given no more time than a silent one.
            is_over = not peer.pump(deadline) or time.monotonic() >= deadline
        others = tuple(peer.messages[self._from :])
        if peer.is_lost:
            return self._answer(None, others, f"no answer: the server {peer.end_status}")
        peer.limit.check()
        peer.timeouts += 1
        problem = f"no answer within {timeout_s:g} s{peer.describe_unfinished_line()}"
        problem += _describe_other_ids(self.id, others)
        return self._answer(None, others, problem)

    def _answer(
        self, message: Message | None, others: tuple[Message, ...], problem: str = ""
    ) -> Answer:
        noise = tuple(self.peer.noise[self._noise_from :])
        return Answer(message=message, others=others, noise=noise, problem=problem)


# HTTP

_ACCEPT = "application/json, text/event-stream"


class HttpPeer(Peer):
    """A session of its own with a server on HTTP."""

    transport = "http"

    def __init__(
        self, http: HttpSpec, client: ProbeClient, name: str, timeout_s: float, limit: TimeLimit
    ) -> None:
        super().__init__(f"http://{name}", f"http:{client.address.url}", timeout_s, limit)
        self.name = name
        self.http = http
        self.client = client
        self.session_id = ""
        # The schemas of tools whose arguments are repeated in headers.
        self.schemas: dict[str, object] = {}
        self._is_unreachable = False

    @property
    def is_lost(self) -> bool:
        return self._is_unreachable

    @property
    def end_status(self) -> str:
        return "cannot be reached any more"

    def open(self, version: str, params: Message | None = None) -> Answer:
        answer = super().open(version, params)
        self.schemas |= {
            tool["name"]: tool.get("inputSchema")
            for tool in self.list_all("tools") or ()
            if self.is_stateless and isinstance(tool.get("name"), str)
        }
        return answer

    def other_client(self, authorization: str | None = None) -> HttpPeer:
        """Another client of the server, in no session.

        Its requests have the user's token, or this value of `Authorization` in its place; "" is
        none.
        """
        http = self.http
        if authorization is not None:
            given = (http.headers or {}).items()
            headers = {name: value for name, value in given if name.lower() != "authorization"}
            headers |= {"Authorization": authorization} if authorization else {}
            http = http.but(headers=headers)
        return HttpPeer(http, self.client, self.name, self.timeout_s, self.limit)

    def default_headers(self, message: object) -> dict[str, str]:
        """The headers that a client sends with a message."""
        headers = {"Content-Type": "application/json", "Accept": _ACCEPT}
        headers |= self.http.headers or {}
        if self.session_id:
            headers["Mcp-Session-Id"] = self.session_id
        headers |= message_headers(message, self.version)
        if isinstance(message, dict) and message.get("method") == "tools/call":
            called = jsonrpc.params_of(message)
            schema = self.schemas.get(str(called.get("name")))
            headers |= param_headers(schema, called.get("arguments"))
        return headers

    def exchange(
        self,
        method: str,
        headers: Headers,
        body: bytes = b"",
        *,
        host: str = "",
        address: Address | None = None,
        timeout_s: float | None = None,
    ) -> HttpReply:
        """Send any HTTP request with exactly these headers, and wait for the whole answer."""
        pairs = _header_pairs({}, headers)
        self._note_request(method, pairs, body, host, address)
        deadline = self.limit.deadline(self.timeout_s if timeout_s is None else timeout_s)
        reply = self.client.request(
            method,
            pairs,
            body,
            timeout_s=deadline - time.monotonic(),
            host=host,
            address=address,
        )
        if reply.error:
            self.limit.check()
        _keep(self.received, self.show_reply(reply))
        return reply

    def exchange_head(self, method: str, headers: Headers) -> HttpReply:
        """The same, but an event stream is not read: it may never end."""
        pairs = _header_pairs({}, headers)
        self._note_request(method, pairs, b"", "", None)
        deadline = self.limit.deadline(self.timeout_s)
        probe = self.client.start(method, pairs)
        try:
            if not probe.read_head(deadline):
                self.limit.check()
            elif not probe.reply.is_event_stream:
                while probe.read(deadline) and time.monotonic() < deadline:
                    pass
            _keep(self.received, self.show_reply(probe.reply))
            return probe.reply
        finally:
            probe.close()

    def start(
        self, message: Message, *, headers: Headers | None = None, is_judged: bool = True
    ) -> HttpPending:
        return self._post(message, encode_line(message), message.get("id"), headers, is_judged)

    def send(
        self, value: object, *, headers: Headers | None = None, is_judged: bool = False
    ) -> Answer:
        id = value.get("id") if isinstance(value, dict) and "method" in value else None
        return self._answer(self._post(value, encode_line(value), id, headers, is_judged))

    def send_bytes(self, body: bytes, *, headers: Headers | None = None) -> Answer:
        return self._answer(self._post(None, body, None, headers, is_judged=False))

    def _answer(self, pending: HttpPending) -> Answer:
        try:
            return pending.wait()
        finally:
            pending.close()

    def _post(
        self, value: object, body: bytes, id: object, headers: Headers | None, is_judged: bool
    ) -> HttpPending:
        self.record_sent(value, is_judged=is_judged)
        pairs = _header_pairs(self.default_headers(value), headers or {})
        self._note_request("POST", pairs, body, "", None)
        probe = self.client.start("POST", pairs, body)
        return HttpPending(self, id, probe)

    def open_stream(self) -> HttpPending:
        """Open the stream of a session for messages that belong to no request, with GET."""
        headers = {"Accept": "text/event-stream", "Content-Type": None}
        pairs = _header_pairs(self.default_headers(None), headers)
        self._note_request("GET", pairs, b"", "", None)
        return HttpPending(self, None, self.client.start("GET", pairs), stream="get")

    def request_or_silence(self, message: Message, *, is_judged: bool = True) -> Answer:
        return self._answer(self.start(message, is_judged=is_judged))

    def listen(self, seconds: float) -> Answer:
        """Without a stream nothing can arrive between two requests."""
        return Answer()

    def end(self, *, in_hurry: bool = False) -> None:
        """End the session, if the server has given one."""
        if self.session_id and not self._is_unreachable:
            headers = self.default_headers(None) | {"Content-Type": None}
            is_late = in_hurry or self.limit.is_over
            timeout_s = _HURRY_S if is_late else self.timeout_s
            self.client.request("DELETE", _header_pairs({}, headers), timeout_s=timeout_s)
        self.session_id = ""

    def take_session_id(self, reply: HttpReply) -> None:
        """Take the session from the answer to a request."""
        if not self.version and not self.session_id:
            self.session_id = reply.header("mcp-session-id")

    def mark_unreachable(self) -> None:
        self._is_unreachable = True

    def _note_request(
        self,
        method: str,
        headers: Iterable[tuple[str, str]],
        body: bytes,
        host: str,
        address: Address | None,
    ) -> None:
        address = address or self.client.address
        shown = [("Host", host)] if host else []
        lines = [f"{method} {address.target}"]
        lines += [f"{name}: {value}" for name, value in (*shown, *headers)]
        if body:
            lines += ["", body.decode("utf-8", "backslashreplace").rstrip("\n")]
        _keep(self.sent, "\n".join(lines))

    def show_reply(self, reply: HttpReply) -> str:
        """An answer as evidence."""
        lines = [f"HTTP {reply.status}" if reply.status else reply.error]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        if reply.body:
            lines += ["", reply.body.decode("utf-8", "backslashreplace").rstrip("\n")]
        return "\n".join(lines)


def _header_pairs(defaults: Headers, changes: Headers) -> list[tuple[str, str]]:
    """The headers with changes; names are compared without case."""
    changed = {name.lower() for name in changes}
    kept = {name: value for name, value in defaults.items() if name.lower() not in changed}
    return [(name, value) for name, value in (kept | dict(changes)).items() if value is not None]


class HttpPending(Pending):
    """A POST under way: its answer is one message, or a stream of them."""

    peer: HttpPeer

    def __init__(
        self, peer: HttpPeer, id: object, probe: HttpProbe, *, stream: str = "post"
    ) -> None:
        super().__init__(peer, id)
        self._probe = probe
        self._reader = AnswerReader("the request", ABSENT if id is None else id, stream=stream)
        self._has_head = False
        self._is_mislabelled = False
        self._messages: list[Message] = []
        self._is_ended = False
        # Where the evidence has this answer, which may still grow.
        self._evidence, self._at = peer.received, len(peer.received)

    def wait_until(
        self, is_wanted: Callable[[Message], bool], timeout_s: float | None = None
    ) -> Answer:
        timeout_s = self.peer.timeout_s if timeout_s is None else timeout_s
        try:
            deadline, seen = self.peer.limit.deadline(timeout_s), 0
            is_over = False
            while True:
                for at in range(seen, len(self._messages)):
                    if is_wanted(self._messages[at]):
                        message = self._messages.pop(at)
                        others = tuple(self._messages)
                        if self.is_response(message):
                            self._finish(deadline)
                        return Answer(message=message, others=others, reply=self._probe.reply)
                seen = len(self._messages)
                if is_over or self._is_ended:
                    break
                is_over = not self._read(deadline) or time.monotonic() >= deadline
            if not self._is_ended:
                self.peer.limit.check()
            return self._without_answer(timeout_s)
        finally:
            if self._at < _MAX_EVIDENCE:
                shown = shorten(self.peer.show_reply(self._probe.reply), _MAX_EVIDENCE_CHARS)
                self._evidence[self._at : self._at + 1] = [shown]

    def _without_answer(self, timeout_s: float) -> Answer:
        """Why what was wanted did not come."""
        reply = self._probe.reply
        if not reply.status:
            problem = f"no answer: {reply.error}"
            if self._probe.is_over:
                self.peer.mark_unreachable()
            else:
                self.peer.timeouts += 1
        elif self._is_ended:
            problem = "the answer has no response to the request"
            problem += _describe_other_ids(self.id, self._messages)
            if self.id is not None and reply.status < 300:
                # Treated like a timeout: the session may be broken.
                self.peer.timeouts += 1
        else:
            self.peer.timeouts += 1
            problem = f"no response within {timeout_s:g} s"
        return Answer(others=tuple(self._messages), problem=problem, reply=reply)

    def _read(self, deadline: float) -> bool:
        """Read the next piece; False at the deadline."""
        if not self._has_head:
            if not self._probe.read_head(deadline):
                self._is_ended = self._probe.is_over
                return self._is_ended
            self._has_head = True
            reply = self._probe.reply
            self.peer.take_session_id(reply)
            self._reader.begin(reply.status, reply.headers)
        piece = self._probe.read(deadline)
        if piece:
            self._take(self._reader.feed(piece))
        elif self._probe.is_over:
            self._is_ended = True
            self._take(self._reader.finish())
            self._take_refusal()
        return bool(piece) or self._is_ended

    def _take(self, items: Iterable[Frame | TransportFault]) -> None:
        for item in items:
            self._messages += self.peer.take(item)
            self._is_mislabelled |= isinstance(item, TransportFault) and item.kind == "content_type"

    def _take_refusal(self) -> None:
        """Messages in a body that the reader does not expect, such as the answer to a batch."""
        body = self._probe.reply.body
        if not self._messages and body and not self._reader.is_stream:
            found = read_message(body)
            if self._is_mislabelled and isinstance(found, Frame):
                # JSON of another type is an answer all the same, with a mistake that rules report.
                self._messages += self.peer.take(found.but(http=self._reader.facts))
                return
            value = found.value if isinstance(found, Frame) else None
            parts = value if isinstance(value, list) else [value]
            self._messages += [each for each in parts if isinstance(each, dict)]

    def _finish(self, deadline: float) -> None:
        """Read on to the end of the body, if that is soon."""
        deadline = min(deadline, time.monotonic() + _OVERTAKEN_S)
        while not self._is_ended and self._read(deadline) and time.monotonic() < deadline:
            pass

    def close(self) -> None:
        self._probe.close()
