"""A mock over HTTP to talk to without any socket."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

from stage import build

from mcptest.matching.registry import builtin_registry
from mcptest.mock.faults import parse_faults
from mcptest.mock.http import HttpMock
from mcptest.mock.manifest import ManifestPlayer, load_manifest
from mcptest.mock.player import ContractPlayer
from mcptest.protocol.http_messages import Answer, Begin, Cut, End, Piece, WebRequest

if TYPE_CHECKING:
    from mcptest.mock.respond import Player
    from mcptest.mock.session import MockReport
    from mcptest.protocol.http_messages import Act

    Message = dict[str, Any]


PORT = 8000
STATELESS = "2026-07-28"
BOTH = "application/json, text/event-stream"

_PREFIX = "io.modelcontextprotocol/"


def head(method: str = "POST", target: str = "/mcp", /, **headers: str | None) -> WebRequest:
    """A correct request, except for these headers; None leaves one out."""
    known: dict[str, str | None] = {
        "host": f"127.0.0.1:{PORT}",
        "accept": BOTH,
        "content-type": "application/json",
    }
    known |= {name.replace("_", "-"): value for name, value in headers.items()}
    pairs = tuple((name, value) for name, value in known.items() if value is not None)
    return WebRequest(method=method, target=target, headers=pairs)


def envelope(version: object = STATELESS, *capabilities: str, **more: object) -> Message:
    """The `_meta` of a request of the stateless era."""
    declared: Message = {name: {} for name in capabilities}
    keys = {"protocolVersion": version, "clientCapabilities": declared, **more}
    return {f"{_PREFIX}{key}": value for key, value in keys.items()}


class Response:
    """What has been done about one exchange so far."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.data = b""
        self._is_over = False
        self.is_cut = False

    def do(self, act: Act) -> None:
        assert not self._is_over, "nothing can be said after the end"
        if isinstance(act, Answer):
            self.status, self.headers, self.data = act.status, dict(act.headers), act.body
        elif isinstance(act, Begin):
            self.status, self.headers = 200, dict(act.headers)
        elif isinstance(act, Piece):
            assert self.status
            self.data += act.data
        self.is_cut = isinstance(act, Cut)
        self._is_over = isinstance(act, (Answer, End, Cut))

    def has_ended(self) -> bool:
        return self._is_over

    @property
    def kind(self) -> str:
        return self.headers.get("Content-Type", "")

    @property
    def message(self) -> Any:
        assert self.kind == "application/json"
        return json.loads(self.data)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """The events of a stream: their ids, and what they say."""
        assert self.kind == "text/event-stream"
        found = []
        for block in self.data.decode("utf-8").split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            found.append((fields.get("id", ""), json.loads(fields["data"] or "null")))
        return found

    @property
    def messages(self) -> list[Any]:
        return [message for _, message in self.events if message is not None]


class HttpStage:
    """One mock and its time; sessions are named `session-1` and so on."""

    def __init__(self, player: Player, fault: tuple[str, ...], latency: tuple[str, ...]) -> None:
        names = count(1)
        faults = parse_faults(latency, fault, player.methods)
        self.mock = HttpMock(player, faults, lambda: f"session-{next(names)}")
        self.now = 0.0
        self.later: list[tuple[float, Any]] = []
        self._exchanges: dict[int, Response] = {}

    def send(self, request: WebRequest) -> Response:
        """What is done at once about a request."""
        exchange = len(self._exchanges) + 1
        response = self._exchanges[exchange] = Response()
        refused = self.mock.check_head(exchange, request, PORT)
        if refused:
            response.do(refused)
            return response
        for delay_s, item in self.mock.handle(exchange, request, self.now):
            self.later.append((self.now + delay_s, item))
        self.wait(0.0)
        return response

    def wait(self, seconds: float) -> None:
        """Let time go by."""
        self.now += seconds
        due = [item for at, item in self.later if at <= self.now]
        self.later = [(at, item) for at, item in self.later if at > self.now]
        for item in due:
            for act in self.mock.perform(item):
                self._exchanges[act.exchange].do(act)

    def leave(self, response: Response) -> None:
        """The connection of an exchange breaks."""
        (exchange,) = (number for number, each in self._exchanges.items() if each is response)
        self.mock.close_exchange(exchange)

    def post(self, value: object, **headers: str | None) -> Response:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.send(head(**headers).but(body=body))

    def get(self, **headers: str | None) -> Response:
        return self.send(head("GET", content_type=None, **headers))

    def delete(self, **headers: str | None) -> Response:
        return self.send(head("DELETE", content_type=None, **headers))

    def open(self, version: str = "2025-11-25", *capabilities: str) -> Client:
        """A client that has made the handshake."""
        declared: Message = {name: {} for name in capabilities}
        response = self.post(asking("initialize", protocolVersion=version, capabilities=declared))
        assert response.status == 200
        client = Client(self, response.headers["Mcp-Session-Id"])
        assert client.tell("notifications/initialized").status == 202
        return client

    def ask(self, method: str, id: object = 1, meta: object = None, **params: object) -> Response:
        """Ask as a client of the stateless era does, with all of its headers."""
        message = asking(method, id, **params, _meta=meta or envelope())
        name = params.get("uri", params.get("name"))
        named = str(name) if method in ("tools/call", "prompts/get", "resources/read") else None
        return self.post(message, mcp_protocol_version=STATELESS, mcp_method=method, mcp_name=named)

    @property
    def report(self) -> MockReport:
        return self.mock.report()

    @property
    def exercised(self) -> list[object]:
        return [case.place["case"] for case in self.report.cases if case.is_exercised]

    @property
    def blamed(self) -> list[str]:
        """What was wrong, in words."""
        return [str(each.differences[0]["message"]) for each in self.report.wrong]


class Client:
    """A client with a session."""

    def __init__(self, stage: HttpStage, id: str) -> None:
        self.stage = stage
        self.id = id

    def post(self, value: object, **headers: str | None) -> Response:
        return self.stage.post(value, mcp_session_id=self.id, **headers)

    def ask(self, method: str, id: object = 1, **params: object) -> Response:
        return self.post(asking(method, id, **params))

    def tell(self, method: str, **params: object) -> Response:
        return self.post({"jsonrpc": "2.0", "method": method, "params": params})

    def reply(self, id: object, **result: object) -> Response:
        return self.post({"jsonrpc": "2.0", "id": id, "result": result})

    def listen(self, **headers: str | None) -> Response:
        return self.stage.get(mcp_session_id=self.id, **headers)


def asking(method: str, id: object = 1, **params: object) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def http_contract(
    *texts: str, once: bool = False, fault: tuple[str, ...] = (), latency: tuple[str, ...] = ()
) -> HttpStage:
    return HttpStage(ContractPlayer(build(*texts), is_once=once), fault, latency)


def http_manifest(text: str) -> HttpStage:
    manifest, _ = load_manifest(text, "manifest.yaml", builtin_registry())
    return HttpStage(ManifestPlayer(manifest), (), ())
