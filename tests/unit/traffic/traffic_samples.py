"""Messages, captures and contracts for tests, in few words."""

from __future__ import annotations

import json
from typing import Any

from mcptest.core.plan import Suite
from mcptest.formats.cases import load_cases
from mcptest.formats.yaml.full import Tagged
from mcptest.matching.case_tags import read_tag
from mcptest.matching.compare import source_of
from mcptest.matching.patterns import Pattern
from mcptest.matching.registry import builtin_registry
from mcptest.traffic.contract import Contract, build_contract
from mcptest.traffic.reading import Traffic, read_traffic

Message = dict[str, Any]

UUID = "550e8400-e29b-41d4-a716-446655440000"
OTHER_UUID = "123e4567-e89b-42d3-a456-426614174000"
FILE = "session.json"


def request(id: Any, method: str = "tools/call", /, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notification(method: str, /, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(id: Any, /, **members: Any) -> Message:
    return {"jsonrpc": "2.0", "id": id, "result": members}


def refused(id: Any, message: str = "no") -> Message:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}}


def call(id: Any, name: str = "get_time", /, **arguments: Any) -> Message:
    return request(id, name=name, arguments=arguments)


INITIALIZE = request(
    1,
    "initialize",
    protocolVersion="2025-11-25",
    capabilities={},
    clientInfo={"name": "c", "version": "1"},
)
OPENED = result(1, protocolVersion="2025-11-25", capabilities={}, serverInfo={"name": "s"})
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
HANDSHAKE = [("in", INITIALIZE), ("out", OPENED), ("in", INITIALIZED)]


def log(*said: tuple[str, Any]) -> str:
    """A log of who said what."""
    return "\n".join(json.dumps({"dir": side, "message": message}) for side, message in said)


def capture(*exchanges: Message, **members: Any) -> str:
    return json.dumps({"server_label": "stdio://s", "exchanges": list(exchanges), **members})


def recording(*said: tuple[str, Any]) -> Traffic:
    return read_traffic(log(*said), FILE)


def contract(*said: tuple[str, Any], keep_values: bool = False) -> Contract:
    """The contract of one recording; it loads, for a run and for a mock."""
    made = build_contract(recording(*said), keep_values=keep_values)
    loaded(made.text)
    return made


def loaded(text: str) -> Suite:
    suite, warnings = load_cases(text, "a.cases.yaml", builtin_registry(), {})
    for_mock, _ = load_cases(text, "a.cases.yaml", builtin_registry(), {}, for_mock=True)
    # That a text might be meant as a pattern is said of whatever looks like one.
    assert [each.message for each in warnings if "_patterns: true" not in each.message] == []
    assert len(suite.cases) == len(for_mock.cases)
    return suite


def cases_of(text: str) -> dict[str, dict[str, Any]]:
    """The messages of each case by their keys, tags as they are written."""
    return {
        case.name: {turn.key: source_of(turn.value) for turn in case.dialogue.turns}
        for case in loaded(text).cases
        if case.dialogue
    }


def answer_to_call(value: Any, **beside: Any) -> Any:
    """What becomes of a value in the answer to a call."""
    made = contract(*HANDSHAKE, ("in", call(2)), ("out", result(2, value=value, **beside)))
    return cases_of(made.text)["tools/call get_time"]["out"]["result"]["value"]


def is_met(tag: Tagged | str, value: object) -> bool:
    """Whether a value is what a tag describes; a text only by itself."""
    if isinstance(tag, str):
        return tag == value
    pattern = read_tag(tag.tag, tag.text)
    return pattern.is_met(value) if isinstance(pattern, Pattern) else True
