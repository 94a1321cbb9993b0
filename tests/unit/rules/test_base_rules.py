"""The rules about every frame, beyond what one capture each can show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.results import Verdict
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.all_rules import RULES as EVERY_RULE
from mcptest.rules.captures import score_capture
from mcptest.rules.jsonrpc import encoding_fault
from mcptest.rules.rule import Facts
from mcptest.rules.scorer import Scorer

CAPTURES = sorted((Path(__file__).parent.parent.parent / "captures").glob("BASE-*.json"))
RULES = [rule for rule in EVERY_RULE if rule.id.startswith("BASE-")]
IDS = {rule.id for rule in RULES}
KEEPING = [path for path in CAPTURES if ".keeps" in path.name and path.name[:7] in IDS]
VERSIONS = dict(zip("ABCDE", REVISIONS, strict=True))

Message = dict[str, Any]


def started(letter: str = "D", transport: str = "") -> Scorer:
    """A session at the point where the client may ask."""
    facts = Facts()
    facts.transport = transport
    scorer = Scorer(RULES, facts)
    if letter == "E":
        facts.set_version(VERSIONS[letter])
        return scorer
    scorer.client(request(0, "initialize", {"capabilities": {}}))
    result = {"protocolVersion": VERSIONS[letter], "capabilities": {}}
    scorer.server({"jsonrpc": "2.0", "id": 0, "result": result})
    scorer.client({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return scorer


def request(id: object, method: str, params: Message | None = None) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}


def error(id: object, code: object) -> Message:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}}


def verdict(scorer: Scorer, id: str) -> Verdict:
    [found] = [each for each in scorer.finish().verdicts if each.id == id]
    return found


def outcome(scorer: Scorer, id: str) -> tuple[str, str]:
    found = verdict(scorer, id)
    return found.status, found.message


# All of them


def test_levels_depend_on_the_revision() -> None:
    rules = {rule.id: rule for rule in RULES}
    mixed = rules["BASE-37"]
    assert [mixed.level_at(version) for version in REVISIONS][:3] == ["SHOULD", "SHOULD", "MUST"]
    applies = {id: [v for v in REVISIONS if rules[id].applies(v, v)] for id in rules}
    assert applies["BASE-12"] == ["2024-11-05", "2025-03-26", "2025-06-18"]
    assert applies["BASE-13"] == ["2025-11-25", "2026-07-28"]
    assert applies["BASE-36"] == ["2026-07-28"]
    assert applies["BASE-01"] == [*REVISIONS]


@pytest.mark.parametrize("letter", VERSIONS)
def test_no_rule_passes_when_the_server_has_said_nothing(letter: str) -> None:
    facts = Facts()
    facts.set_version(VERSIONS[letter])
    scorer = Scorer(RULES, facts)
    scorer.client(request(1, "tools/list"))
    assert {each.status for each in scorer.finish().verdicts} == {"not_applicable"}


@each_case("path", KEEPING)
def test_a_capture_that_keeps_one_of_these_rules_breaks_no_other(path: Path) -> None:
    score = score_capture([json.loads(path.read_text(encoding="utf-8"))], RULES)
    bad = [each for each in score.sessions[0].verdicts if each.status in ("fail", "warning")]
    assert bad == []


def test_messages_about_huge_values_are_short() -> None:
    huge = "x" * 1_000_000
    scorer = started("E", transport="stdio:1")
    meta = {f"-{huge}": 1, f"io.modelcontextprotocol/{huge}": 1, "traceparent": huge}
    scorer.server({"jsonrpc": huge, "id": huge, "method": huge, "params": {"_meta": meta}})
    scorer.server({"jsonrpc": huge, "id": huge, "method": f"notifications/{huge}"})
    scorer.client(request(1, "tools/call"))
    scorer.server({"id": 1, "result": {"resultType": huge, "_meta": {f"-{huge}/a": 1}}})
    scorer.client(request(2, "tools/call"))
    scorer.server({"id": 2, "error": {"code": huge, "message": [huge]}})
    scorer.server([huge] * 3)
    verdicts = scorer.finish().verdicts
    assert sum(each.status == "fail" for each in verdicts) >= 9
    assert max(len(each.message) for each in verdicts) < 600


def test_the_number_of_errors_reported_for_one_message_is_limited() -> None:
    scorer = started()
    meta = {f"-{number}": 1 for number in range(5000)}
    scorer.server({"jsonrpc": "2.0", "method": "notifications/message", "params": {"_meta": meta}})
    assert verdict(scorer, "BASE-28").count == 20


@given(st.text(alphabet='{["\\xcefab0129 \ufeff\0') | st.text())
def test_no_line_makes_the_look_at_its_encoding_raise(line: str) -> None:
    assert len(encoding_fault(line)) < 100


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_a_line_that_is_utf8_is_never_said_not_to_be(before: bytes, after: bytes) -> None:
    # Decoded text has no escape for a byte, except those it was sent with.
    text = (b'{"' + before + after + b'"').decode("utf-8", "ignore").replace("\\", "")
    assert "(hex)" not in encoding_fault(text)


# Encodings


@pytest.mark.parametrize(
    "raw",
    [b'{"a": "caf\xe9"}', b'[{"a": "\xff"}]', b'{ "\xe9\xe9 \xc3\xa9": 1}', b'{"\xed\xa0\x80"'],
)
def test_a_byte_that_is_not_utf8_is_found_in_a_line_that_is_meant_as_a_message(raw: bytes) -> None:
    assert "(hex)" in encoding_fault(raw.decode("utf-8", "backslashreplace"))


def test_a_character_that_was_cut_in_two_is_not_a_finding() -> None:
    whole = ('{"a": "' + "é" * 10).encode()
    assert encoding_fault(whole[:-1].decode("utf-8", "backslashreplace")) == ""


@pytest.mark.parametrize(
    "line",
    [
        "plain text \\xe9 here",
        "{'python': b'\\xe9 '}",
        '["a log" \\xe9 ]',
        '{"escaped": "\\\\xe9 "',
        '{"digits": "\\xZZ \\x7f "',
        '{"sent so": "\\xc3\\xa9 "',
        '{"one": "\0"}',
        "",
    ],
)
def test_a_plausible_line_is_not_a_finding(line: str) -> None:
    assert encoding_fault(line) == ""


# Ids


def test_a_notification_with_an_id_is_not_judged_as_a_request() -> None:
    scorer = started()
    scorer.server({"jsonrpc": "2.0", "method": "notifications/message", "id": None})
    statuses = {each.id: each.status for each in scorer.finish().verdicts}
    assert [statuses[f"BASE-{number}"] for number in ("03", "04", "05", "14")] == [
        "not_applicable",
        "not_applicable",
        "not_applicable",
        "fail",
    ]


def test_long_ids_are_distinguished_and_found_again() -> None:
    scorer = started()
    for end in "abcb":
        scorer.server(request("x" * 10_000 + end, "ping"))
    found = verdict(scorer, "BASE-05")
    assert (found.status, found.count) == ("fail", 1)


def test_ids_of_different_types_are_different() -> None:
    scorer = started()
    for id in (1, "1", True, "true", [1], "[1]"):
        scorer.server(request(id, "ping"))
    assert verdict(scorer, "BASE-05").status == "pass"


@pytest.mark.slow
def test_only_a_limited_number_of_ids_are_remembered() -> None:
    scorer = started()
    for id in (*range(10_001), 10_000, 0):
        scorer.server(request(id, "ping"))
    found = verdict(scorer, "BASE-05")
    # The first has been forgotten by then.
    assert (found.status, found.count) == ("fail", 1)


def test_an_answer_to_a_message_without_a_method_answers_something() -> None:
    scorer = started()
    scorer.client({"jsonrpc": "2.0", "id": 7})
    scorer.server(error(7, -32600))
    assert verdict(scorer, "BASE-08").status == "pass"


def test_an_answer_of_the_client_is_not_mistaken_for_a_request() -> None:
    scorer = started()
    scorer.server(request("a", "ping"))
    scorer.client({"jsonrpc": "2.0", "id": "a", "result": {}})
    scorer.server({"jsonrpc": "2.0", "id": "a", "result": {}})
    assert outcome(scorer, "BASE-08") == (
        "fail",
        'a response has the id "a", and no request had it',
    )


def test_an_answer_to_an_id_that_is_null_has_no_other() -> None:
    scorer = started()
    scorer.client(request(None, "tools/list"))
    scorer.server({"jsonrpc": "2.0", "id": None, "result": {}})
    assert verdict(scorer, "BASE-08").status == "pass"


# Ids of errors


def test_an_error_with_a_null_id_is_not_judged_over_http() -> None:
    scorer = started("D", transport="http://127.0.0.1/mcp")
    scorer.client(request(1, "tools/list"))
    scorer.server(error(None, -32000))
    assert verdict(scorer, "BASE-13").status == "not_applicable"


def test_a_refusal_with_an_http_status_needs_no_id() -> None:
    scorer = started("B")
    scorer.client(request(1, "tools/list"))
    scorer.server({"jsonrpc": "2.0", "error": {}}, http={"status": 400})
    assert verdict(scorer, "BASE-12").status == "not_applicable"


def test_an_error_without_an_id_names_the_requests_it_can_be_for() -> None:
    scorer = started()
    for id in (1, "b"):
        scorer.client(request(id, "tools/list"))
    scorer.server(error(None, -32603))
    assert outcome(scorer, "BASE-13") == (
        "fail",
        'the id of an error must be that of its request (one of [1,"b"]) and is null',
    )


@pytest.mark.parametrize("id", [None, 1.5, True])
def test_an_error_without_an_id_is_not_judged_when_the_request_had_no_sound_one(
    id: object,
) -> None:
    scorer = started()
    scorer.client(request(id, "tools/list"))
    scorer.server(error(None, -32602))
    assert verdict(scorer, "BASE-13").status == "not_applicable"


def test_an_error_for_an_unknown_id_is_left_to_the_rule_about_answers() -> None:
    scorer = started()
    scorer.server(error(5, -32602))
    statuses = {each.id: each.status for each in scorer.finish().verdicts}
    assert (statuses["BASE-08"], statuses["BASE-13"]) == ("fail", "not_applicable")


# Errors and results


def test_a_header_that_does_not_match_is_not_judged_on_a_channel_that_is_not_known() -> None:
    scorer = started("E")
    scorer.client(request(1, "tools/list"))
    scorer.server(error(1, -32020))
    assert verdict(scorer, "BASE-24").status == "not_applicable"


def test_a_code_that_is_not_an_integer_is_left_to_the_rule_about_shapes() -> None:
    scorer = started("E")
    scorer.client(request(1, "tools/list"))
    scorer.server(error(1, True))
    statuses = {each.id: each.status for each in scorer.finish().verdicts}
    assert statuses["BASE-11"] == "fail"
    assert {statuses[f"BASE-{number}"] for number in (23, 24, 25, 26, 27)} == {"not_applicable"}


def test_a_refused_handshake_is_not_judged_by_the_codes_of_the_other_era() -> None:
    scorer = started("E")
    scorer.client(request(1, "initialize", {"protocolVersion": "2025-11-25"}))
    data = {"supported": ["2026-07-28"], "requested": "2025-11-25"}
    scorer.server({**error(1, 0), "error": {"code": -32022, "message": "no", "data": data}})
    assert verdict(scorer, "BASE-24").status == "not_applicable"


def test_the_type_of_a_result_that_answers_nothing_is_not_judged() -> None:
    scorer = started("E")
    scorer.server({"jsonrpc": "2.0", "id": 4, "result": {"resultType": "odd"}})
    assert verdict(scorer, "BASE-22").status == "not_applicable"


def test_the_type_of_a_result_that_is_not_an_object_is_left_to_the_rule_about_objects() -> None:
    scorer = started("E")
    scorer.client(request(1, "tools/list"))
    scorer.server({"jsonrpc": "2.0", "id": 1, "result": []})
    statuses = {each.id: each.status for each in scorer.finish().verdicts}
    assert (statuses["BASE-10"], statuses["BASE-21"]) == ("fail", "not_applicable")


# What was negotiated


def test_a_request_of_the_server_is_not_judged_while_nothing_was_negotiated() -> None:
    scorer = Scorer(RULES, Facts())
    scorer.server(request(1, "roots/list"))
    statuses = {each.id: each.status for each in scorer.finish().verdicts}
    assert (statuses["BASE-37"], statuses["BASE-38"]) == ("not_applicable", "not_applicable")


def test_methods_that_no_revision_has_are_not_newer() -> None:
    scorer = started("A")
    scorer.server({"jsonrpc": "2.0", "method": "notifications/x-ours"})
    assert verdict(scorer, "BASE-38").status == "not_applicable"


# Metadata


def test_the_keys_of_an_input_request_are_checked() -> None:
    scorer = started("E")
    scorer.client(request(1, "tools/call"))
    content = {"type": "text", "_meta": {"_c": 1}}
    params = {
        "messages": [{"content": content, "_meta": {"_m": 1}}],
        "tools": [{"_meta": {"_t": 1}}],
    }
    asked = {
        "a": {"method": "sampling/createMessage", "params": params},
        "b": {"method": "roots/list"},
        "c": "roots/list",
    }
    result = {"resultType": "input_required", "inputRequests": asked}
    scorer.server({"jsonrpc": "2.0", "id": 1, "result": result})
    assert verdict(scorer, "BASE-28").count == 3


@pytest.mark.parametrize("extensions", [[], {}, None])
def test_extensions_that_are_none_are_not_judged(extensions: object) -> None:
    scorer = started("E")
    scorer.client(request(1, "server/discover"))
    result = {"capabilities": {"extensions": extensions}}
    scorer.server({"jsonrpc": "2.0", "id": 1, "result": result})
    assert verdict(scorer, "BASE-31").status == "not_applicable"
