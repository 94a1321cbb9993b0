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


def test_scripted_capabilities_are_declared() -> None:
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
        (
            {"roots": ["http://a"]},
            "F009",
            "number 1 is not a file:// URI; roots must be file:// URIs",
        ),
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
def test_a_mistake_is_reported(client: object, code: str, message: str) -> None:
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


FIELDS = {
    "name": {"type": "string", "default": "Ada"},
    "age": {"type": "integer", "default": 0},
    "note": {"type": "string"},
}


def form(**schema: object) -> dict[str, object]:
    params = {"message": "?", "requestedSchema": {"type": "object", **schema}}
    return {"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": params}


def test_a_form_is_accepted_with_the_defaults_of_its_fields() -> None:
    spec = load({"elicitation": "accept-defaults"})
    assert spec.capabilities == {"elicitation": {}}
    reply = ClientScript(spec).reply_to(form(properties=FIELDS, required=["name"]))
    assert reply["result"] == {"action": "accept", "content": {"name": "Ada", "age": 0}}


def test_accepting_defaults_may_be_one_of_several_answers() -> None:
    script = ClientScript(load({"elicitation": ["decline", "accept-defaults"]}))
    replies = [script.reply_to(form(properties=FIELDS)) for _ in range(3)]
    assert replies[0]["result"] == {"action": "decline"}
    assert replies[1]["result"]["action"] == "accept"
    assert replies[2]["error"]["code"] == -32603


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (form(properties=FIELDS, required=["note"]), 'the required field "note" has no default'),
        (form(properties=5), "requestedSchema has no properties"),
        (
            {**form(), "params": {"mode": "url", "url": "http://a"}},
            'this is not a form: mode is "url"',
        ),
        ({"id": 1, "method": "elicitation/create"}, "requestedSchema has no properties"),
    ],
)
def test_a_form_that_has_not_all_defaults_is_refused(
    request_: dict[str, object], message: str
) -> None:
    reply = ClientScript(load({"elicitation": "accept-defaults"})).reply_to(request_)
    assert reply["error"]["code"] == -32602
    assert reply["error"]["message"].endswith(message)
