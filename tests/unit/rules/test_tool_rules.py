"""Rules about tools, where captures would be too large, too many or too odd."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from case_tables import each_case
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest.core.results import Verdict
from mcptest.rules.all_rules import RULES as EVERY_RULE
from mcptest.rules.captures import score_capture
from mcptest.rules.schemas import is_affordable, is_plainly_valid

RULES = {rule.id: rule for rule in EVERY_RULE}
OLD = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}


def exchange(id: int, method: str, params: Any, result: Any) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return {"request": request, "response": {"jsonrpc": "2.0", "id": id, "result": result}}


def verdict(id: str, *exchanges: dict[str, Any], **members: Any) -> Verdict:
    """What one rule says of a session."""
    session = {"server_label": "stdio://s", "exchanges": list(exchanges), **members}
    [found] = score_capture([session], [RULES[id]]).sessions[0].verdicts
    return found


def called(
    id: str, result: Any, schema: Any = None, version: str = "2025-11-25", **params: Any
) -> Verdict:
    """What one rule says of the result of a tool, whose outputSchema is known if there is one."""
    tool = {"name": "a", "inputSchema": {"type": "object"}}
    if schema is not None:
        tool["outputSchema"] = schema
    return verdict(
        id,
        exchange(1, "tools/list", {}, {"tools": [tool]}),
        exchange(2, "tools/call", {"name": "a", **params}, result),
        protocol_version=version,
    )


# Results that are not judged


@pytest.mark.parametrize("id", ["TOOL-07", "TOOL-08", "TOOL-11", "TOOL-12", "TOOL-13", "TOOL-15"])
def test_a_result_that_asks_for_input_is_not_yet_a_tool_result(id: str) -> None:
    result = {"resultType": "input_required", "inputRequests": {}, "isError": 5, "content": [5]}
    assert called(id, result, {"type": "object"}, "2026-07-28").status == "not_applicable"


@pytest.mark.parametrize("id", ["TOOL-08", "TOOL-12"])
def test_a_task_that_was_requested_is_not_yet_a_tool_result(id: str) -> None:
    result = {"task": {"taskId": "1", "status": "working"}}
    assert called(id, result, {"type": "object"}, task={}).status == "not_applicable"
    assert called(id, result, {"type": "object"}).status == "fail"


def test_a_result_that_tells_of_an_error_need_not_meet_the_output_schema() -> None:
    result = {"content": [], "isError": True, "structuredContent": {"a": 1}}
    for id in ("TOOL-07", "TOOL-08", "TOOL-11"):
        assert called(id, result, {"type": "object", "required": ["b"]}).status == "not_applicable"


def test_a_tool_that_no_list_showed_is_not_judged_by_its_schema() -> None:
    result: dict[str, Any] = {"content": [], "structuredContent": {}}
    lone = exchange(1, "tools/call", {"name": ["a"]}, result)
    assert verdict("TOOL-07", lone, protocol_version="2025-11-25").status == "not_applicable"


# Lists


def test_a_page_that_is_asked_for_again_repeats_nothing() -> None:
    first = {"tools": [{"name": "a"}], "nextCursor": "x"}
    second = {"tools": [{"name": "b"}]}
    again = [
        exchange(1, "tools/list", {}, first),
        exchange(2, "tools/list", {"cursor": "x"}, second),
        exchange(3, "tools/list", {"cursor": "x"}, second),
        exchange(4, "tools/list", {}, first),
    ]
    assert verdict("TOOL-05", *again).status == "pass"


def test_two_walks_at_once_are_distinguished_by_their_cursors() -> None:
    second = {"tools": [{"name": "b"}]}
    walks = [
        exchange(1, "tools/list", {}, {"tools": [{"name": "a"}], "nextCursor": "x"}),
        exchange(2, "tools/list", {}, {"tools": [{"name": "a"}], "nextCursor": "y"}),
        exchange(3, "tools/list", {"cursor": "x"}, second),
        exchange(4, "tools/list", {"cursor": "y"}, second),
    ]
    assert verdict("TOOL-05", *walks).status == "pass"
    walks[3]["response"]["result"] = {"tools": [{"name": "a"}]}
    assert verdict("TOOL-05", *walks).exchange == 3


def test_only_a_limited_number_of_walks_are_remembered() -> None:
    begun = [
        exchange(n, "tools/list", {}, {"tools": [{"name": "a"}], "nextCursor": f"{n}"})
        for n in range(30)
    ]
    for cursor, status in (("29", "warning"), ("0", "pass")):
        last = exchange(99, "tools/list", {"cursor": cursor}, {"tools": [{"name": "a"}]})
        assert verdict("TOOL-05", *begun, last).status == status


def test_an_empty_list_is_nothing_to_look_at() -> None:
    empty = exchange(1, "tools/list", {}, {"tools": []})
    for id in ("TOOL-03", "TOOL-04", "TOOL-05", "TOOL-06", "TOOL-10", "TOOL-19", "TOOL-25"):
        found = verdict(id, empty, protocol_version="2025-11-25")
        assert found.status == "not_applicable", id


def test_a_list_of_many_broken_tools_is_reported_in_few_sentences() -> None:
    many = exchange(1, "tools/list", {}, {"tools": [{"name": "a"}] * 5000})
    assert verdict("TOOL-03", many).count == verdict("TOOL-05", many).count == 20


def test_a_long_name_is_cut_short_in_the_sentence() -> None:
    long = exchange(1, "tools/list", {}, {"tools": [{"name": ["x" * 10_000]}]})
    assert len(verdict("TOOL-03", long).message) < 200


# Changed lists

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def test_without_a_handshake_a_changed_list_is_judged_by_the_capture() -> None:
    lone = exchange(1, "tools/list", {}, {"tools": []}) | {"server_messages": [CHANGED]}
    assert verdict("TOOL-20", lone).status == "not_applicable"
    for declared, status in (({}, "warning"), ({"tools": {"listChanged": True}}, "pass")):
        # The members of a session may be before its exchanges or after them.
        assert verdict("TOOL-20", lone, server_capabilities=declared).status == status
        early: dict[str, Any] = {"server_capabilities": declared, "exchanges": [lone]}
        [found] = score_capture([early], [RULES["TOOL-20"]]).sessions[0].verdicts
        assert found.status == status


def test_a_notification_before_the_handshake_is_judged_by_what_the_handshake_declares() -> None:
    declared = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}}}
    assert verdict("TOOL-20", _hello(declared)).status == "pass"
    assert verdict("TOOL-20", _hello(OLD)).status == "fail"


def _hello(result: dict[str, Any]) -> dict[str, Any]:
    return exchange(1, "initialize", {}, result) | {"server_messages": [CHANGED]}


# Schemas

OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TREE = {
    "$defs": {"node": {"type": "object", "properties": {"in": {"$ref": "#/$defs/node"}}}},
    "$ref": "#/$defs/node",
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (OBJECT, {"a": 1, "b": None}),
        ({"type": ["string", "null"]}, None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "x-a": 1}, None),
        ({"type": "array", "items": OBJECT}, [{"a": 1}, {"a": 2}]),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1, "b": 1.5}),
        ({"enum": ["a", "b"]}, "b"),
        ({"const": "a"}, "a"),
        ({"allOf": [OBJECT, True]}, {"a": 1}),
        (TREE, {"in": {"in": {}}}),
    ],
)
def test_a_simple_value_is_plainly_valid(schema: dict[str, Any], value: object) -> None:
    assert is_plainly_valid(schema, value)


@each_case(
    ("schema", "value"),
    [
        (OBJECT, {"a": True}),
        (OBJECT, {}),
        (OBJECT, []),
        ({"type": "object", "additionalProperties": False}, {"a": 1}),
        ({"enum": [1, 2]}, True),
        ({"type": "integer", "minimum": 0}, 3),
        ({"items": [{"type": "string"}]}, [1]),
        ({"prefixItems": [True], "items": False}, [1]),
        ({"$ref": "#"}, 1),
        ({"$ref": "#/$defs/a"}, 1),
        ({"$ref": "#/$defs/a", "$defs": 5}, 1),
        ({"type": {}}, 1),
        ({"type": [[]], "properties": [], "required": "a"}, {"a": 1}),
    ],
)
def test_invalid_and_doubtful_schemas_are_not_plainly_valid(
    schema: dict[str, Any], value: object
) -> None:
    assert not is_plainly_valid(schema, value)


def doubling(levels: int) -> dict[str, Any]:
    """A schema whose every part refers twice to the next: small, and endless to validate."""
    parts: dict[str, Any] = {
        f"a{level}": {"allOf": [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(levels)
    }
    parts[f"a{levels}"] = {"minimum": 0}
    return {"$defs": parts, "$ref": "#/$defs/a0"}


def chained(levels: int) -> dict[str, Any]:
    parts: dict[str, Any] = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(levels)}
    return {"$defs": parts, "$ref": "#/$defs/a0"}


def nested(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(levels):
        inner = {"anyOf": [inner], "unevaluatedProperties": False}
    return inner


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (doubling(60), 1),
        (chained(5000), 1),
        (nested(40), {}),
        (TREE, {}),
        ({"$dynamicRef": "#a"}, 1),
        ({"properties": {"a": {"$id": "https://a.example/"}}}, {}),
        ({"$ref": "https://a.example/"}, 1),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, 1),
        ({"enum": list(range(15_000))}, [1] * 15_000),
    ],
    ids=str,
)
def test_a_schema_that_could_take_forever_is_not_given_to_a_validator(
    schema: dict[str, Any], value: object
) -> None:
    assert not is_affordable(schema, value)
    result = {"content": [], "structuredContent": value}
    if not is_plainly_valid(schema, value):
        assert called("TOOL-07", result, schema, "2026-07-28").status == "not_applicable"


def test_an_ordinary_schema_is_affordable() -> None:
    schema = {"$defs": {"a": OBJECT}, "type": "array", "items": {"$ref": "#/$defs/a"}}
    assert is_affordable(schema, [{"a": 1}] * 10_000)
    assert is_affordable(doubling(5), 1)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nothing"},
        {"pattern": "(?=a)"},
        {"pattern": "("},
        {"minLength": "1"},
        {"title": "\ud800", "minLength": 1},
    ],
)
def test_an_invalid_schema_is_not_used_for_validation(schema: dict[str, Any]) -> None:
    result = {"content": [], "structuredContent": "b"}
    assert called("TOOL-07", result, schema, "2026-07-28").status == "not_applicable"


def test_half_of_a_surrogate_pair_is_not_judged() -> None:
    result = {"content": [], "structuredContent": "\ud800"}
    found = called("TOOL-07", result, {"minLength": 5}, "2026-07-28")
    assert found.status == "not_applicable"


def test_a_format_is_only_an_annotation() -> None:
    schema = {"type": "string", "format": "date", "minLength": 1}
    result = {"content": [], "structuredContent": "tomorrow"}
    assert called("TOOL-07", result, schema, "2026-07-28").status == "pass"


def test_a_tool_that_is_listed_again_is_judged_by_its_new_schema() -> None:
    def listed(id: int, least: int) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"a": {"minimum": least}}}
        return exchange(id, "tools/list", {}, {"tools": [{"name": "a", "outputSchema": schema}]})

    def call(id: int) -> dict[str, Any]:
        return exchange(id, "tools/call", {"name": "a"}, {"structuredContent": {"a": 3}})

    found = verdict(
        "TOOL-07", listed(1, 0), call(2), listed(3, 5), call(4), protocol_version="2025-11-25"
    )
    assert (found.status, found.exchange, found.count) == ("fail", 3, 1)


SIMPLE = st.recursive(
    st.sampled_from(
        [
            *({"type": "string"}, {"type": "integer"}, {"type": ["null", "number"]}, {}, True),
            *(False, {"enum": ["a", 1]}, {"const": "a"}, {"$ref": "#/$defs/a"}, {"minimum": 1}),
        ]
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", "string", ["object", "null"]]),
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
            "additionalProperties": inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, 1.0, 1.5, "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    ),
    max_leaves=5,
)


@pytest.mark.slow
@settings(deadline=None)
@given(schema=SIMPLE.filter(lambda schema: isinstance(schema, dict)), part=SIMPLE, value=VALUES)
def test_plainly_valid_schemas_are_valid(schema: Any, part: Any, value: object) -> None:
    whole = schema | {"$defs": {"a": part}}
    if is_plainly_valid(whole, value):
        assert jsonschema_rs.validator_for(whole).is_valid(value)


def test_any_number_of_tools_is_judged_by_their_schemas() -> None:
    schema = {"properties": {"a": {"minimum": 5}}}
    tools = [{"name": f"{n}", "outputSchema": schema} for n in range(150)]
    calls = [
        exchange(n, "tools/call", {"name": f"{n % 150}"}, {"structuredContent": {"a": 3}})
        for n in range(1, 301)
    ]
    listed = exchange(0, "tools/list", {}, {"tools": tools})
    assert verdict("TOOL-07", listed, *calls, protocol_version="2025-11-25").count == 300


# Copies in text


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ({"a": 1}, [' {"a": 1.0}\n']),
        ([1], ["x", "[1]"]),
        ("a", ['"a"']),
        ({"result": "a"}, ["a"]),
        ({"result": 5}, ["5"]),
        ({"result": []}, []),
        ({"result": None}, []),
        ({"result": [{"a": 1}, 2]}, ['{"a": 1}', "2"]),
        ({"result": [1]}, ["[1]"]),
        ({"content": "a"}, ["a"]),
        ({"content": [{"type": "text", "text": "a"}]}, ["a"]),
    ],
)
def test_a_text_that_says_the_same_is_a_copy(value: object, texts: list[str]) -> None:
    assert called("TOOL-11", _structured(value, texts), version="2026-07-28").status == "pass"


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ({"a": 1}, ['{"a": 1, "a": 1}']),
        ({"a": 1}, ['{"a": 2}']),
        ({"a": 1, "b": 2}, ["1"]),
        ({"result": [1, 2]}, ["1"]),
        ({"result": ["a", "b"]}, ["b", "a"]),
        ({"result": "a", "more": 1}, ["a"]),
    ],
)
def test_a_text_that_says_something_else_is_not_a_copy(value: object, texts: list[str]) -> None:
    assert called("TOOL-11", _structured(value, texts), version="2026-07-28").status == "warning"


def _structured(value: object, texts: list[str]) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return {"content": content, "structuredContent": value}
