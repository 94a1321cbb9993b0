"""Conductor tests as entries of a suite: what is asserted, and what is left behind."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case
from migrating import (
    calling,
    carried,
    case_of_conductor,
    case_of_suite,
    conductor,
    is_met,
    left,
    losses,
    suite_from,
)

CALL: dict[str, Any] = {"name": "t", "arguments": {"a": 1}}
RAW: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}


def asserted(expect: dict[str, Any]) -> list[tuple[str, Any]]:
    """The targets and matchers that an expectation becomes."""
    found = carried(calling(expect))["tools"][0]["expect"]
    return [(each["target"], each["matcher"]) for each in found]


def partly(value: object) -> dict[str, Any]:
    return {"response": {"match:partial": {"result": value}}}


def raw(request: dict[str, Any], response: Any = None) -> dict[str, Any]:
    answer = response or {"jsonrpc": "2.0", "id": 1, "result": {}}
    return {"request": request, "expect": {"response": answer}}


def test_a_plain_result_is_compared_as_a_whole() -> None:
    assert asserted({"response": {"result": {"a": [1, {}]}}}) == [
        ("result", {"exact": {"a": [1, {}]}})
    ]


def test_around_a_pattern_nothing_may_be_left_over() -> None:
    wish = {"content": [{"type": "text", "text": "match:contains:x"}], "isError": False}
    assert asserted({"response": {"result": wish}}) == [
        ("result", {"pattern": "count:2"}),
        ("result.content", {"length": 1}),
        ("result.content[0]", {"pattern": "count:2"}),
        ("result.content[0].type", {"exact": "text"}),
        ("result.content[0].text", {"contains": "x"}),
        ("result.isError", {"exact": False}),
    ]


def test_only_the_written_members_of_a_part_are_asserted() -> None:
    wish = {"a": {"b": 1, "0": 2}, "c": [{"d": "match:uuid"}], "e": [], "f": {}, "g": {"0": 1}}
    assert asserted(partly(wish)) == [
        ("result.a", {"partial": {"b": 1, "0": 2}}),
        ("result.c[0].d", {"pattern": "uuid"}),
        ("result.e", {"type": "array"}),
        ("result.f", {"type": "object"}),
        ("result.g", {"partial": {"0": 1}}),
    ]


def test_a_key_of_any_name_can_be_a_target() -> None:
    assert asserted(partly({'a "b".c': "match:uuid", "*": "match:uuid"})) == [
        ('result["a \\"b\\".c"]', {"pattern": "uuid"}),
        ('result["*"]', {"pattern": "uuid"}),
    ]


def test_an_absent_member_asserts_that_its_object_exists() -> None:
    assert asserted(partly({"a": {"b": "match:not:exists"}})) == [
        ("result.a", {"type": "object"}),
        ("result.a.b", {"exists": False}),
    ]


def test_a_negated_member_below_a_part_must_exist() -> None:
    assert asserted(partly({"a": 1, "b": "match:not:contains:x"})) == [
        ("result.a", {"exact": 1}),
        ("result.b", {"not": {"contains": "x"}}),
    ]


def test_directives_become_words_paths_and_schemas() -> None:
    assert asserted({"response": {"result": {"match:any": [1, "a"]}}}) == [
        ("result", {"one-of": [1, "a"]})
    ]
    assert asserted({"response": {"result": {"match:any": [1, "match:uuid"]}}}) == [
        ("result", {"any": [{"exact": 1}, {"pattern": "uuid"}]})
    ]
    pulled = {"match:extractField": "a.*.b", "value": ["x"]}
    assert asserted({"response": {"result": pulled}}) == [("result.a[*].b", {"exact": ["x"]})]
    assert asserted({"response": {"match:extractField": "result.a", "value": 1}}) == [
        ("result.a", {"exact": 1})
    ]
    assert asserted(partly({"match:arrayElements": "match:type:string"})) == [
        ("result", {"schema": {"type": "array", "items": {"type": "string"}}})
    ]
    assert asserted(partly({"match:not:crossField": "a < b"})) == [
        ("result", {"pattern": "not:crossField:a < b"})
    ]


def test_directives_about_the_whole_answer_are_taken_apart() -> None:
    both = [
        {"match:partial": {"result": {"a": 1}}},
        {"match:partial": {"error": "match:not:exists"}},
    ]
    assert asserted({"response": {"match:all": both}}) == [
        ("result.a", {"exact": 1}),
        ("error", {"exists": False}),
    ]
    beside = {"match:partial": {"result": {"a": 1}}, "result": {"b": [2]}}
    assert asserted({"response": beside}) == [
        ("result.a", {"exact": 1}),
        ("result.b", {"partial": [2]}),
    ]


def test_values_extracted_from_many_items_are_compared_as_one_array() -> None:
    pulled = {"match:extractField": "a.*", "value": ["match:type:string"]}
    items = {"type": "array", "minItems": 1, "prefixItems": [{"type": "string"}], "maxItems": 1}
    assert asserted({"response": {"result": pulled}}) == [("result.a[*]", {"schema": items})]
    part = {"match:extractField": "a.*", "value": {"match:partial": [{"b": "match:exists"}]}}
    ((target, matcher),) = asserted({"response": {"result": part}})
    assert (target, list(matcher)) == ("result.a[*]", ["schema"])


def test_null_instead_of_an_absent_value_is_null() -> None:
    assert asserted(partly(["match:not:exists", "match:not:contains:a"])) == [
        ("result[0]", {"exact": None}),
        ("result[1]", {"not": {"contains": "a"}}),
    ]
    either = {"match:any": ["match:not:exists", "a", {"match:partial": {"b": 1}}]}
    assert asserted({"response": {"result": [either]}}) == [
        ("result", {"length": 1}),
        ("result[0]", {"any": [{"exact": None}, {"exact": "a"}, {"partial": {"b": 1}}]}),
    ]


def test_times_are_a_budget_and_an_assertion() -> None:
    times = {"minResponseTime": "10ms", "maxResponseTime": "2.5s"}
    entry = carried(calling({**partly({"a": 1}), "performance": times}))["tools"][0]
    assert entry["expect"] == {
        "assertions": [
            {"target": "result.a", "matcher": {"exact": 1}},
            {"target": "duration_ms", "matcher": {"gte": 10}},
        ],
        "max_duration_ms": 2500,
    }


def test_a_test_that_only_takes_the_time_does_not_ask_for_success() -> None:
    entry = carried(calling({"performance": {"maxResponseTime": 500}}))["tools"][0]
    assert entry["expect"] == [{"target": "duration_ms", "matcher": {"lte": 500}}]


def test_marks_are_kept() -> None:
    marks = {"tags": ["a"], "skip": "later", "only": True, "timeout": "2s", "retries": 0}
    entry = carried(calling(partly({"a": 1}), **marks))["tools"][0]
    assert {key: entry[key] for key in marks} == marks
    assert "skip" not in carried(calling(partly({"a": 1}), skip=False))["tools"][0]


def test_short_forms_and_raw_requests_become_calls() -> None:
    answered: dict[str, Any] = {"response": {"result": {}}}
    resource = {"jsonrpc": "2.0", "id": "r", "method": "resources/read", "params": {"uri": "a:b"}}
    prompt = {"jsonrpc": "2.0", "id": 2, "method": "prompts/get", "params": {"name": "p"}}
    suite = carried(
        raw(RAW),
        {"resource": "c:d", "expect": answered},
        raw(resource, {"jsonrpc": "2.0", "id": "r", "result": {}}),
        {"prompt": "q", "arguments": {"a": "b"}, "expect": answered},
        raw(prompt, {"jsonrpc": "match:exists", "id": "match:type:number", "result": {}}),
    )
    calls = [
        [{key: entry[key] for key in ("tool", "uri", "prompt", "args") if key in entry}]
        for lane in ("tools", "resources", "prompts")
        for entry in suite[lane]
    ]
    assert calls == [
        [{"tool": "t", "args": {"a": 1}}],
        [{"uri": "c:d"}],
        [{"uri": "a:b"}],
        [{"prompt": "q", "args": {"a": "b"}}],
        [{"prompt": "p"}],
    ]


def test_arguments_that_are_still_sent_have_a_comment() -> None:
    _, notes = suite_from(conductor(raw({**RAW, "params": {"name": "t"}})))
    assert [(note.reason, note.is_loss) for note in notes] == [
        ('it is sent with "arguments": {}, which its request left out', False)
    ]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({**RAW, "method": "tools/list"}, "it sends tools/list, and a suite only calls tools"),
        ({**RAW, "method": 5}, "it sends something else, and a suite only calls tools"),
        ({**RAW, "trace": 1}, 'its request has "trace" in the envelope'),
        ({**RAW, "jsonrpc": "1.0"}, 'its request does not have jsonrpc "2.0"'),
        ({**RAW, "id": 1.5}, "its request has an id that is neither a string nor an integer"),
        ({**RAW, "params": {}}, 'its params have no "name"'),
        ({**RAW, "params": [1]}, 'its params have no "name"'),
        ({**RAW, "params": {"name": 5}}, 'the "name" in its params is not a string'),
        ({**RAW, "params": {**CALL, "_meta": {}}}, 'its params have "_meta", which a suite never'),
        ({**RAW, "params": {"name": "t", "arguments": 5}}, 'the "arguments" in its params are not'),
        (
            {**RAW, "method": "prompts/get"},
            "a suite passes only strings to a prompt",
        ),
    ],
)
def test_a_request_that_no_suite_makes_is_left_behind(
    request_: dict[str, Any], reason: str
) -> None:
    answer = {"jsonrpc": "2.0", "id": request_["id"], "result": {}}
    (found,) = left(raw(request_, answer))
    assert found.startswith(reason)


@each_case(
    ("expect", "reason"),
    [
        ({"exitCode": 0}, "it expects an exit code, and a suite keeps its servers running"),
        ({"response": "match:type:object"}, "its pattern is about the whole response"),
        ({"response": {"match:any": [{"result": 1}]}}, "match:any is about the whole response"),
        ({"response": {"match:partial": {"id": "match:exists"}}}, "the response will have"),
        ({"response": {"match:partial": {"jsonrpc": "2.0"}}}, "it checks only the envelope of the"),
        ({"response": {"match:partial": {"more": 1}}}, '"more" is in the envelope'),
        ({"response": {"jsonrpc": "2.0"}}, "every response has a result or an error"),
        (partly({"a": {"match:any": [{"b": "match:uuid"}]}}), '"uuid" is expected of elements'),
        (
            partly({"match:extractField": "a.*", "value": {"match:extractField": "b", "value": 1}}),
            "match:extractField is applied to what another one extracts",
        ),
        ({"response": {"match:extractField": "id", "value": 1}}, "id is in the envelope"),
        ({"notifications": ["match:log"]}, "a suite cannot look for a notification by a pattern"),
        ({"stderr": "match:length:3"}, "a Conductor file ignores white space around stderr"),
    ],
)
def test_an_expectation_that_no_suite_has_is_left_behind(
    expect: dict[str, Any], reason: str
) -> None:
    (found,) = left(calling(expect))
    assert found.startswith(reason)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (
            {"jsonrpc": "2.0", "result": {}},
            'the expected response has no "id", so no response can match',
        ),
        (
            {"jsonrpc": "2.0", "id": "match:type:string", "result": {}},
            "the response will have id 1",
        ),
        (
            {"jsonrpc": "match:not:exists", "id": 1, "result": {}},
            'the response will have jsonrpc "2.0"',
        ),
    ],
)
def test_an_envelope_that_no_answer_has_is_left_behind(response: Any, reason: str) -> None:
    (found,) = left(raw(RAW, response))
    assert found.startswith(reason)


def test_a_list_and_a_notification_are_left_behind() -> None:
    listing = {"list": "tools", "expect": {"response": {"result": {}}}}
    message = {"jsonrpc": "2.0", "method": "notifications/x"}
    notice = {"request": message, "expect": {"stderr": "toBeEmpty"}}
    assert left(listing, notice) == [
        "it lists tools, and a suite only makes calls",
        "it sends a notification, and a suite only makes calls",
    ]


def test_a_file_without_anything_to_carry_has_no_text() -> None:
    listing = {"list": "tools", "expect": {"response": {"result": {}}}}
    text, notes = suite_from(conductor(listing))
    assert (text, len(notes)) == ("", 1)


# Standard error

STDERR = (
    "",
    " \n",
    "ready",
    " ready\n",
    "ready on 80\n",
    "not ready",
    "ready.",
    "READY\n",
    "a b\n",
)
STDERR_CHECKS = (
    "toBeEmpty",
    "ready",
    "  ready ",
    "ready.",
    "match:ready",
    "match:regex:^ready$",
    "match:regex:^ready on \\d+$",
    "match:regex:on \\d+",
    "match:not:regex:^ready",
    "match:contains:ready",
    "match:not:contains:ready",
    "match:containsIgnoreCase:ready",
    "match:startsWith:ready",
    "match:endsWith:ready",
    "match:stringEmpty",
    "match:not:stringNotEmpty",
    "match:notEmpty",
)


@each_case("check", STDERR_CHECKS)
def test_a_check_of_stderr_judges_the_same_in_a_suite(check: str) -> None:
    text = conductor(calling({"stderr": check}))
    before, after = case_of_conductor(text), case_of_suite(suite_from(text)[0])
    judged = [is_met(before, {"result": {}}, stderr) for stderr in STDERR]
    assert [is_met(after, {"result": {}}, stderr) for stderr in STDERR] == judged
    assert set(judged) == {True, False}


@pytest.mark.parametrize(
    "check",
    [
        "match:regex:ready $",
        "match:regex: ready",
        "match:regex:ready|set",
        "match:regex:^(ready)?$",
        "match:regex:a*b",
        "match:regex:\\bready",
        "match:regex:re.d.",
        "match:contains: ready",
        "match:equals:ready",
        "match:stringLength:5",
    ],
)
def test_a_check_that_depends_on_white_space_is_left_behind(check: str) -> None:
    (reason,) = left(calling({"stderr": check}))
    assert reason.startswith("a Conductor file ignores white space around stderr")


def test_a_captured_value_on_stderr_is_left_behind() -> None:
    keeps = calling({"response": {"result": {}}}, capture={"a": "result"})
    _, notes = suite_from(conductor(keeps, calling({"stderr": "${a}"})))
    assert losses(notes) == ["a captured value is expected on stderr"]


def test_nothing_on_stderr_is_nothing_to_be_seen() -> None:
    entry = carried(calling({"stderr": "toBeEmpty"}))["tools"][0]
    assert entry["expect"] == [{"target": "stderr", "matcher": {"not": {"regex": "\\S"}}}]


# Notifications

LOG, PROGRESS = "notifications/message", "notifications/progress"


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


SENT: tuple[tuple[dict[str, Any], ...], ...] = (
    (),
    (notification(LOG),),
    (notification(PROGRESS), notification(LOG)),
    (notification(LOG), notification(LOG), notification(PROGRESS)),
    (notification(LOG, level="info"),),
    (notification(LOG, level="info", data=1), notification("x")),
    (notification(f'{LOG}"{PROGRESS}'),),
    (notification("notifications/message/more"),),
)
NOTIFICATION_CHECKS: tuple[list[Any], ...] = (
    [LOG],
    [LOG, PROGRESS],
    [LOG, LOG],
    [{"method": LOG}],
    [{"method": LOG, "params": {"level": "info"}}],
    [{"match:partial": {"method": LOG, "params": {"level": "info"}}}],
    [{"method": LOG, "params": {"level": "match:type:string"}}],
)


@pytest.mark.parametrize("check", NOTIFICATION_CHECKS)
def test_a_check_of_notifications_judges_the_same_in_a_suite(check: list[Any]) -> None:
    text = conductor(calling({"notifications": check}))
    before, after = case_of_conductor(text), case_of_suite(suite_from(text)[0])
    judged = [is_met(before, {"result": {}}, notifications=sent) for sent in SENT]
    assert [is_met(after, {"result": {}}, notifications=sent) for sent in SENT] == judged
    assert set(judged) == {True, False}


def test_a_method_is_looked_for_among_all_methods() -> None:
    entry = carried(calling({"notifications": [LOG]}))["tools"][0]
    assert entry["expect"] == [
        {"target": "notifications[*].method", "matcher": {"pattern": f"arrayContains:{LOG}"}}
    ]


def test_only_methods_have_an_order_in_a_suite() -> None:
    assert left(calling({"notifications": [LOG, {"method": PROGRESS}]})) == [
        "a suite checks the order of notifications only by their methods"
    ]
