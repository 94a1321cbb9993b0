"""`client:` in a config: scripted answers, and what is wrong with them."""

from __future__ import annotations

import json

import pytest

from mcptest.core.errors import FormatError
from mcptest.core.plan import ClientSpec
from mcptest.formats.config import load_config
from mcptest.protocol.session import ClientScript


def load(client: object) -> ClientSpec:
    config = {"name": "n", "command": "c", "args": [], "client": client}
    spec, _ = load_config(json.dumps(config), "c.json", {})
    return spec.client


def test_what_is_scripted_is_declared() -> None:
    spec = load({"roots": [], "sampling": "x", "capabilities": {"sampling": {"tools": {}}}})
    assert spec.capabilities == {"roots": {}, "sampling": {"tools": {}}}


def test_nothing_scripted_is_nothing_declared() -> None:
    assert load({}) == ClientSpec()


@pytest.mark.parametrize(
    ("client", "code", "message"),
    [
        ([], "F008", '"client" must be a mapping and is a list'),
        ({"root": []}, "F006", '"client" has no key "root"; did you mean "roots"?'),
        ({"roots": "a"}, "F008", '"roots" must be a list and is text'),
        ({"roots": [5]}, "F009", 'a root is a URI or has the key "uri"; number 1 does not'),
        ({"roots": ["http://a"]}, "F009", "number 1 is no file:// URI, and roots are only those"),
        ({"sampling": 5}, "F009", "an answer to sampling is a text or a whole result and is a"),
        ({"sampling": []}, "F011", '"sampling" is an empty list: it answers nothing'),
        (
            {"sampling": {"role": "user", "content": {}}},
            "F009",
            'a sampling result needs the key "model"',
        ),
        ({"elicitation": "yes"}, "F009", "an answer to elicitation says one of accept, decline"),
        (
            {"elicitation": [{"action": "accept", "contents": {}}]},
            "F009",
            'an elicitation result has no key "contents"',
        ),
        ({"sampling": {"error": "no"}}, "F009", "an error answer is {error: {code: NUMBER"),
    ],
)
def test_a_mistake_is_told(client: object, code: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        load(client)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message[: len(message)]) == (code, message)


def test_a_list_of_answers_is_used_up_and_a_single_one_never_is() -> None:
    script = ClientScript(load({"elicitation": ["decline"], "roots": []}))
    ask = {"jsonrpc": "2.0", "id": 7, "method": "elicitation/create"}
    assert script.reply_to(ask)["result"] == {"action": "decline"}
    assert script.reply_to(ask)["error"]["code"] == -32603
    roots = {"jsonrpc": "2.0", "id": 8, "method": "roots/list"}
    assert [script.reply_to(roots) for _ in range(2)] == [
        {"jsonrpc": "2.0", "id": 8, "result": {"roots": []}}
    ] * 2
