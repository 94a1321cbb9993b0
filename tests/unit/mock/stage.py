"""A mock to talk to without any pipe, and short ways to write contracts for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcptest.formats.cases import load_cases
from mcptest.matching.registry import builtin_registry
from mcptest.mock.contract import build_contract
from mcptest.mock.manifest import ManifestPlayer, load_manifest
from mcptest.mock.player import ContractPlayer
from mcptest.mock.respond import respond
from mcptest.protocol.framing import encode_line

if TYPE_CHECKING:
    from mcptest.mock.contract import Contract
    from mcptest.mock.respond import Player
    from mcptest.mock.session import MockReport, Session

    Message = dict[str, Any]

FILE = "contract.yaml"


def build(*texts: str) -> Contract:
    registry = builtin_registry()
    names = [FILE, *(f"more-{number}.yaml" for number in range(len(texts) - 1))]
    suites = [
        load_cases(text, name, registry, {}, for_mock=True)[0]
        for text, name in zip(texts, names, strict=True)
    ]
    return build_contract(suites)


def contract(*texts: str, once: bool = False) -> Stage:
    return Stage(ContractPlayer(build(*texts), is_once=once))


def manifest(text: str) -> Stage:
    return Stage(ManifestPlayer(load_manifest(text, "manifest.yaml", builtin_registry())[0]))


class Stage:
    """One session with a player."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.session: Session = player.start()

    def send(self, value: object) -> list[Any]:
        """What is sent because of a value, as it goes over the wire."""
        sent = respond(self.player, self.session, value)
        return [json.loads(encode_line(each.message)) for each in sent]

    def greet(self, *capabilities: str) -> Stage:
        """Make the handshake as a client that declares these capabilities."""
        declared: Message = {name: {} for name in capabilities}
        self.send(request("initialize", {"capabilities": declared}))
        return self

    def ask(self, method: str, params: object = None, id: object = 1) -> Message:
        """The one message that a request causes, which is its answer."""
        (answer,) = self.send(request(method, params, id))
        assert answer["id"] == id
        assert isinstance(answer, dict)
        return answer

    def result(self, method: str, params: object = None) -> Any:
        return self.ask(method, params)["result"]

    def error(self, method: str, params: object = None) -> Any:
        return self.ask(method, params)["error"]

    def call(self, tool: str, **arguments: Any) -> Any:
        """The text that a tool answers with."""
        result = self.result("tools/call", {"name": tool, "arguments": arguments})
        return result["content"][0]["text"]

    def notify(self, method: str, params: object = None) -> list[Any]:
        message = {"jsonrpc": "2.0", "method": method}
        return self.send(message if params is None else message | {"params": params})

    def reply(self, id: object, result: object) -> list[Any]:
        return self.send({"jsonrpc": "2.0", "id": id, "result": result})

    @property
    def report(self) -> MockReport:
        return self.player.report(self.session)

    @property
    def exercised(self) -> list[object]:
        return [case.place["case"] for case in self.report.cases if case.is_exercised]

    @property
    def missed(self) -> list[object]:
        return [missed.place["case"] for missed in self.report.missed]


def request(method: str, params: object = None, id: object = 1) -> Message:
    message: Message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else message | {"params": params}


def a_case(name: str, params: str, answer: str, method: str = "tools/call") -> str:
    """A case in which the tool, say, that `params` names answers with a text."""
    return (
        f"case: {name}\n"
        f"in: {{jsonrpc: '2.0', id: 1, method: {method}, params: {params}}}\n"
        f"out: {{jsonrpc: '2.0', id: 1, result: {{content: [{{type: text, text: {answer}}}]}}}}\n"
    )


def cases(*texts: str) -> str:
    return "---\n".join(texts)
