"""What the captures do not show of the rules about sampling, elicitation and input in rounds."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.results import Verdict
from mcptest.protocol.revisions import META_CAPABILITIES, REVISIONS, VERSION_KEY
from mcptest.rules.all_rules import RULES as EVERY_RULE
from mcptest.rules.rule import Facts
from mcptest.rules.scorer import Scorer
from mcptest.rules.shared import is_url

VERSIONS = dict(zip("ABCDE", REVISIONS, strict=True))
RULES = {rule.id: rule for rule in EVERY_RULE}


def judged(
    id: str, letter: str, *, capabilities: Any = None, asked: Any = (), result: Any = None
) -> Verdict:
    """What one rule says when a server asks for things, or answers a call with a result."""
    facts = Facts()
    facts.set_version(VERSIONS[letter])
    facts.client_capabilities = capabilities or {}
    scorer = Scorer([RULES[id]], facts)
    meta = {VERSION_KEY: VERSIONS[letter], META_CAPABILITIES: capabilities or {}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": meta}}
    scorer.client(call if letter == "E" else {**call, "params": {}}, 0)
    for number, (method, params) in enumerate(asked):
        scorer.server({"jsonrpc": "2.0", "id": number, "method": method, "params": params}, 0)
    if result is not None:
        scorer.server({"jsonrpc": "2.0", "id": 1, "result": result}, 0)
    return scorer.finish().verdicts[0]


def interim(**inputs: Any) -> dict[str, Any]:
    return {"resultType": "input_required", "inputRequests": inputs}


def form(**properties: Any) -> dict[str, Any]:
    return {"message": "?", "requestedSchema": {"type": "object", "properties": properties}}


# Where a server asks


def test_input_requests_mean_nothing_before_the_revision_that_has_them() -> None:
    result = interim(name={"method": "sampling/createMessage", "params": {}})
    assert judged("SAMP-03", "D", result=result).status == "not_applicable"
    assert judged("SAMP-03", "E", result=result).status == "fail"


def test_input_requests_in_a_complete_result_are_not_requests() -> None:
    result = interim(name={"method": "roots/list"}) | {"resultType": "complete"}
    assert judged("ROOT-01", "E", result=result).status == "not_applicable"


@pytest.mark.parametrize(("id", "status"), [("ELIC-01", "not_applicable"), ("ELIC-03", "fail")])
def test_requests_of_a_task_are_judged_by_shape_but_not_by_capabilities(
    id: str, status: str
) -> None:
    facts = Facts()
    facts.set_version(VERSIONS["E"])
    scorer = Scorer([RULES[id]], facts)
    scorer.client({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": "t"}})
    inputs = {"inputRequests": {"q": {"method": "elicitation/create", "params": {}}}}
    result = {"resultType": "complete", "status": "input_required", **inputs}
    scorer.server({"jsonrpc": "2.0", "id": 1, "result": result})
    assert scorer.finish().verdicts[0].status == status


def test_the_place_of_an_input_request_with_a_strange_name_is_quoted_and_short() -> None:
    result = interim(**{"a.b" * 100: {"method": "elicitation/create", "params": {}}})
    message = judged("ELIC-03", "E", result=result).message
    assert message.startswith('result.inputRequests["a.ba')
    assert len(message) < 200


def test_a_million_mistakes_are_not_a_million_sentences() -> None:
    asked = {"maxTokens": 1, "messages": [None] * 1000}
    verdict = judged("SAMP-03", "D", asked=[("sampling/createMessage", asked)])
    assert verdict.count == 20


def test_a_capability_that_is_null_is_not_declared() -> None:
    asked: list[Any] = [("roots/list", {})]
    assert judged("ROOT-01", "D", capabilities={"roots": None}, asked=asked).status == "fail"
    assert judged("ROOT-01", "D", capabilities={"roots": {}}, asked=asked).status == "pass"


@pytest.mark.parametrize(
    ("letter", "status"),
    [("A", "warning"), ("B", "warning"), ("C", "fail"), ("D", "fail")],
)
def test_asking_for_what_was_not_declared_is_a_fault_from_2025_06_18_on(
    letter: str, status: str
) -> None:
    assert judged("ROOT-01", letter, asked=[("roots/list", {})]).status == status


# Forms


@pytest.mark.parametrize(
    "wanted",
    [
        {"type": "array", "items": {"type": "string", "enum": []}},
        {"type": "array", "items": {"oneOf": [{"const": "a"}]}},
        {"type": "string", "format": "date-time"},
        {"type": "number", "format": "whatever"},
    ],
)
def test_a_property_that_is_primitive_or_a_choice_is_flat(wanted: Any) -> None:
    asked = [("elicitation/create", form(it=wanted))]
    assert judged("ELIC-04", "D", asked=asked).status == "pass"


@pytest.mark.parametrize(
    "wanted",
    [
        None,
        {},
        {"type": ["string", "null"]},
        {"$ref": "#/$defs/x"},
        {"type": "array"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": {"enum": [1]}},
        {"type": "array", "items": {"anyOf": [{"type": "string"}]}},
        {"type": "string", "format": None},
    ],
)
def test_any_other_property_is_not(wanted: Any) -> None:
    asked = [("elicitation/create", form(it=wanted))]
    verdict = judged("ELIC-04", "D", asked=asked)
    assert verdict.status == "fail"
    assert verdict.message.startswith("params.requestedSchema.properties.it ")


def test_the_mode_url_has_no_form_but_in_the_first_revision_everything_is_one() -> None:
    asked = [("elicitation/create", {"mode": "url"})]
    assert judged("ELIC-04", "D", asked=asked).status == "not_applicable"
    assert judged("ELIC-04", "C", asked=asked).status == "fail"


# URLs


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "HTTPS://example.com:8443/a?b=c#d",
        "http://[::1]:80/",
        "https://bücher.example/ä",
        "myapp:callback",
        "myapp://open",
    ],
)
def test_a_url_has_a_scheme_and_something_after_it(url: str) -> None:
    assert is_url(url)


@each_case(
    "url",
    [
        "",
        "example.com",
        "/connect",
        "https://",
        "https:///path",
        "https:example.com",
        "https://:80/",
        "https://user@/",
        "://example.com",
        "1http://example.com",
        "ht tp://example.com",
        "https://example.com/a b",
        "https://example.com/\u202e",
        "https://example.com/\n",
        "mailto:",
    ],
)
def test_other_texts_are_not_urls(url: str) -> None:
    assert not is_url(url)


# Rounds


def test_an_answer_to_nothing_in_particular_is_not_judged_by_its_method() -> None:
    facts = Facts()
    facts.set_version(VERSIONS["E"])
    scorer = Scorer([RULES["MRTR-01"]], facts)
    scorer.server({"jsonrpc": "2.0", "id": 9, "result": {"resultType": "input_required"}})
    assert scorer.finish().verdicts[0].status == "not_applicable"


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"requestState": "s"}, "pass"),
        ({"inputRequests": {}}, "pass"),
        ({"inputRequests": None}, "fail"),
        ({}, "fail"),
    ],
)
def test_a_round_must_give_the_client_something(result: Any, status: str) -> None:
    verdict = judged("MRTR-02", "E", result={"resultType": "input_required", **result})
    assert verdict.status == status


def test_roots_need_no_params_and_the_other_kinds_do() -> None:
    assert judged("MRTR-03", "E", result=interim(a={"method": "roots/list"})).status == "pass"
    sampling = interim(a={"method": "sampling/createMessage"})
    assert judged("MRTR-03", "E", result=sampling).status == "fail"


def test_every_undeclared_kind_and_mode_is_counted() -> None:
    url = {"method": "elicitation/create", "params": {"mode": "url"}}
    result = interim(a={"method": "roots/list"}, b=url, c={"method": "ping"})
    verdict = judged("MRTR-04", "E", capabilities={"elicitation": {}}, result=result)
    assert (verdict.status, verdict.count) == ("fail", 2)


def test_a_token_that_a_later_request_reuses_no_longer_belongs_to_the_task() -> None:
    for is_again, status in ((True, "pass"), (False, "fail")):
        facts = Facts()
        facts.set_version(VERSIONS["E"])
        scorer = Scorer([RULES["XTASK-13"]], facts)
        params = {"_meta": {"progressToken": "p"}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        scorer.client(call)
        scorer.server({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "task"}})
        if is_again:
            scorer.client({**call, "id": 2})
        message = {"progressToken": "p", "progress": 1}
        scorer.server({"jsonrpc": "2.0", "method": "notifications/progress", "params": message})
        assert scorer.finish().verdicts[0].status == status
