"""The era of a client on one connection, and what a contract is in the stateless one."""

from __future__ import annotations

from typing import Any

import pytest
from http_stage import envelope
from stage import Stage, a_case, cases, contract, manifest, request

from mcptest import __version__

STATELESS = "2026-07-28"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"

ADD = a_case("Adds", "{name: add, arguments: {a: 1}}", "one")
ADDING = {"name": "add", "arguments": {"a": 1}}

OPENS = """
case: Opens
in: {jsonrpc: '2.0', id: 1, method: initialize, params: {protocolVersion: '2025-06-18'}}
out: {jsonrpc: '2.0', id: 1, result: {protocolVersion: '2025-06-18',
      capabilities: {tools: {listChanged: true}}, serverInfo: {name: Ours, version: '7'}}}
in_ready: {jsonrpc: '2.0', method: notifications/initialized}
"""


def modern(
    stage: Stage, method: str, id: object = 1, meta: object = None, **params: object
) -> list[Any]:
    """All that is sent because of a request of the stateless era."""
    return stage.send(request(method, {**params, "_meta": meta or envelope()}, id))


def answer(stage: Stage, method: str, id: object = 1, **params: Any) -> Any:
    """The one message that such a request causes."""
    (message,) = modern(stage, method, id, **params)
    assert message["id"] == id
    return message


# Which era


def test_the_first_request_with_an_envelope_makes_a_client_stateless() -> None:
    stage = contract(ADD)
    assert answer(stage, "tools/list")["result"]["resultType"] == "complete"
    assert stage.error("tools/list")["code"] == -32602
    error = stage.error("initialize", {"protocolVersion": "2025-06-18"})
    assert error["code"] == -32022
    assert error["data"] == {"supported": [STATELESS], "requested": "2025-06-18"}


def test_a_handshake_makes_it_one_of_sessions() -> None:
    stage = contract(ADD).greet()
    assert answer(stage, "tools/list")["error"]["code"] == -32600
    assert "resultType" not in stage.result("tools/list")


def test_a_request_that_is_refused_decides_nothing() -> None:
    stage = contract(ADD)
    assert answer(stage, "tools/list", meta=envelope("1999-01-01"))["error"]["code"] == -32022
    assert stage.result("initialize", {"protocolVersion": "2025-06-18"})


def test_without_any_of_both_a_request_is_answered_as_ever() -> None:
    stage = contract(ADD)
    assert "resultType" not in stage.result("tools/list")
    assert answer(stage, "tools/list")["result"]["resultType"] == "complete"


def test_every_request_is_judged_by_itself() -> None:
    stage = contract(ADD)
    for version, is_fine in ((STATELESS, True), ("1999-01-01", False), (STATELESS, True)):
        assert ("result" in answer(stage, "tools/list", meta=envelope(version))) == is_fine


def test_no_note_is_made_of_a_handshake_that_there_is_not() -> None:
    stage = contract(ADD)
    modern(stage, "tools/call", **ADDING)
    assert (stage.report.notes, stage.report.wrong) == ((), ())


def test_a_client_without_handshake_answers_nothing() -> None:
    stage = contract(ADD)
    modern(stage, "tools/list")
    (refused,) = stage.send({"jsonrpc": "2.0", "id": "x", "result": {}})
    assert refused["error"]["code"] == -32600
    assert len(stage.report.wrong) == 1


# Results


def test_results_are_stamped_with_what_the_era_requires() -> None:
    result = answer(contract(ADD), "tools/call", **ADDING)["result"]
    assert result == {
        "resultType": "complete",
        "content": [{"type": "text", "text": "one"}],
        "_meta": {SERVER_INFO: {"name": "contract", "version": __version__}},
    }


@pytest.mark.parametrize(
    "method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"]
)
def test_lists_say_how_long_they_may_be_kept(method: str) -> None:
    result = answer(contract(ADD), method)["result"]
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


def test_a_value_in_the_contract_is_not_changed() -> None:
    text = ADD.replace(
        "result: {",
        f"result: {{resultType: task, ttlMs: 5, _meta: {{{SERVER_INFO}: mine, x: 1}}, ",
    )
    result = answer(contract(text), "tools/call", **ADDING)["result"]
    assert (result["resultType"], result["ttlMs"]) == ("task", 5)
    assert result["_meta"] == {SERVER_INFO: "mine", "x": 1}


def test_a_manifest_is_stamped_like_a_contract() -> None:
    stage = manifest(
        "name: canned\nversion: '3'\nresources: [{uri: 'note://one', text: first}]\n"
        "instructions: Ask nicely."
    )
    result = answer(stage, "resources/read", uri="note://one")["result"]
    assert (result["resultType"], result["ttlMs"]) == ("complete", 0)
    assert result["_meta"] == {SERVER_INFO: {"name": "canned", "version": "3"}}
    found = answer(stage, "server/discover")["result"]
    assert (found["instructions"], found["capabilities"]) == ("Ask nicely.", {"resources": {}})


def test_the_server_is_who_the_handshake_of_the_contract_says() -> None:
    found = answer(contract(cases(OPENS, ADD)), "server/discover")["result"]
    assert found["_meta"][SERVER_INFO] == {"name": "Ours", "version": "7"}
    assert found["capabilities"] == {"tools": {"listChanged": True}}
    assert found["supportedVersions"] == [STATELESS]


def test_a_case_for_discover_is_the_one_that_answers() -> None:
    text = (
        "case: Says\nin: {jsonrpc: '2.0', id: 1, method: server/discover}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {capabilities: {prompts: {}}, ttlMs: 9}}\n"
    )
    stage = contract(text)
    found = answer(stage, "server/discover")["result"]
    assert (found["capabilities"], found["ttlMs"]) == ({"prompts": {}}, 9)
    assert found["supportedVersions"] == [STATELESS]
    assert stage.exercised == ["Says"]


# Cases of a handshake


def test_cases_that_begin_with_a_handshake_have_had_it() -> None:
    stage = contract(cases(OPENS, ADD))
    modern(stage, "tools/call", **ADDING)
    assert stage.exercised == ["Opens", "Adds"]


def test_a_case_that_this_era_cannot_have_is_missed_with_a_note() -> None:
    ping = "case: Pings\nin: {jsonrpc: '2.0', id: 1, method: ping}\n"
    stage = contract(cases(ADD, ping))
    modern(stage, "tools/call", **ADDING)
    assert answer(stage, "ping")["error"]["code"] == -32601
    assert stage.missed == ["Pings"]
    (note,) = stage.report.notes
    assert note == (
        f"1 case asks for what revision {STATELESS} does not have, and cannot be exercised in it"
    )


# Notifications beside the answer


def sending_first(method: str, params: str) -> str:
    line = f"out_told: {{jsonrpc: '2.0', method: {method}, params: {params}}}\nout:"
    return ADD.replace("out:", line)


@pytest.mark.parametrize(
    ("wanted", "level", "count"),
    [(None, "error", 0), ("debug", "info", 1), ("info", "info", 1), ("error", "info", 0)],
)
def test_log_messages_are_for_who_asks_for_their_level(
    wanted: str | None, level: str, count: int
) -> None:
    stage = contract(sending_first("notifications/message", f"{{level: {level}, data: x}}"))
    meta = envelope(logLevel=wanted) if wanted else envelope()
    sent = modern(stage, "tools/call", meta=meta, **ADDING)
    assert [each.get("method") for each in sent] == ["notifications/message"] * count + [None]


def test_progress_is_for_who_gives_a_token() -> None:
    text = sending_first("notifications/progress", "{progressToken: t, progress: 1}").replace(
        "{name: add", "{_meta: {progressToken: t}, name: add"
    )
    stage = contract(text)
    assert len(modern(stage, "tools/call", **ADDING)) == 1
    progress, _ = modern(stage, "tools/call", meta=envelope() | {"progressToken": 9}, **ADDING)
    assert progress["params"] == {"progressToken": 9, "progress": 1}


def test_changes_are_for_who_listens_until_it_cancels() -> None:
    stage = contract(sending_first("notifications/tools/list_changed", "{}"))
    assert len(modern(stage, "tools/call", **ADDING)) == 1
    (acknowledged,) = modern(
        stage, "subscriptions/listen", "l", notifications={"toolsListChanged": True}
    )
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    methods = [each.get("method") for each in modern(stage, "tools/call", **ADDING)]
    assert methods == [None, "notifications/tools/list_changed"]
    stage.notify("notifications/cancelled", {"requestId": "l"})
    assert len(modern(stage, "tools/call", **ADDING)) == 1


def test_an_opening_goes_to_the_first_listener() -> None:
    opening = "case: Changes\nout: {jsonrpc: '2.0', method: notifications/tools/list_changed}\n"
    stage = contract(cases(opening, ADD))
    modern(stage, "server/discover")
    _, changed = modern(
        stage, "subscriptions/listen", "l", notifications={"toolsListChanged": True}
    )
    assert changed["method"] == "notifications/tools/list_changed"
    assert stage.exercised == ["Changes"]


def test_a_case_about_listening_is_exercised_and_the_subscription_stays_open() -> None:
    text = (
        "case: Listens\n"
        "in: {jsonrpc: '2.0', id: 1, method: subscriptions/listen,"
        " params: {notifications: {toolsListChanged: true}}}\n"
        "out_ack: {jsonrpc: '2.0', method: notifications/subscriptions/acknowledged}\n"
        "out_changed: {jsonrpc: '2.0', method: notifications/tools/list_changed}\n"
    )
    stage = contract(text)
    sent = modern(stage, "subscriptions/listen", notifications={"toolsListChanged": True})
    assert [each["method"] for each in sent] == [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ]
    assert stage.exercised == ["Listens"]
