"""The shapes of messages and the schemas in them: what the captures do not show."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.results import Verdict
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.all_rules import RULES
from mcptest.rules.captures import score_capture
from mcptest.rules.rule import MAX_SENTENCES
from mcptest.rules.schemas import describe_schema_error, inner_schemas
from mcptest.rules.shapes import MESSAGES, SHAPE_TOPICS, SHAPES, by_shape, check_shape, rows_at

VERSIONS = dict(zip("ABCDE", REVISIONS, strict=True))
BY_ID = {rule.id: rule for rule in RULES}

IN_TABLE = {
    id
    for rows in (MESSAGES, *SHAPES.values())
    for row in rows_at(rows, "")
    for id in (row.rule, row.within, "BASE-41")
} - {""}
# The rules of the table, without what they judge beyond shapes.
BY_SHAPE = [
    *(
        BY_ID[id].but(topics=SHAPE_TOPICS, check=by_shape(id), session_check=None)
        for id in sorted(IN_TABLE)
    ),
    BY_ID["BASE-39"],
]
RESULT = (None, "result")
DRAFTS = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
ALL = " ".join(DRAFTS)


def verdicts(letter: str, *exchanges: dict[str, Any]) -> dict[str, Verdict]:
    """What the rules about shapes say of exchanges in a session of a revision."""
    session = {
        "server_label": "stdio://s",
        "protocol_version": VERSIONS.get(letter, ""),
        "exchanges": exchanges,
    }
    [score] = score_capture([session], BY_SHAPE).sessions
    return {verdict.id: verdict for verdict in score.verdicts}


def answered(method: str, result: object, **params: object) -> dict[str, Any]:
    """An exchange of a request and its result."""
    return {
        "request": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
        "response": {"jsonrpc": "2.0", "id": 1, "result": result},
    }


def with_notification(method: str, params: object = None) -> dict[str, Any]:
    """An exchange in which the server says something of its own."""
    message = {"jsonrpc": "2.0", "method": method}
    return answered("ping", {}) | {
        "server_messages": [message if params is None else message | {"params": params}]
    }


def frame(letter: str, exchange: dict[str, Any]) -> str:
    """The first finding of an exchange, or else what BASE-41 says: pass or not_applicable."""
    found = verdicts(letter, exchange)
    broken = [each.message for each in found.values() if each.status == "fail"]
    return broken[0] if broken else found["BASE-41"].status


def is_broken(letter: str, exchange: dict[str, Any]) -> bool:
    return any(each.status == "fail" for each in verdicts(letter, exchange).values())


# The table


@pytest.mark.parametrize("version", REVISIONS)
def test_every_shape_that_the_table_names_is_in_it(version: str) -> None:
    for shape in SHAPES:
        assert isinstance(check_shape(shape, version, {}, RESULT), dict)
    for row in rows_at(MESSAGES, version):
        assert row.type.removesuffix("?") in SHAPES


@pytest.mark.parametrize("version", REVISIONS)
def test_a_message_has_one_shape_in_a_revision(version: str) -> None:
    messages = [row.name for row in rows_at(MESSAGES, version)]
    assert len(set(messages)) == len(messages)


def test_every_shape_is_used() -> None:
    words = " ".join([*MESSAGES, *(row for rows in SHAPES.values() for row in rows)])
    for sign in "[]{}|+?":
        words = words.replace(sign, " ")
    in_code = {"CreateTaskResult", "InputRequired"}
    assert SHAPES.keys() - in_code <= set(words.split())


def rules_within(type_: str, version: str, seen: set[str]) -> set[str]:
    """The rules that rows name which can be reached from a type."""
    found: set[str] = set()
    for name in (
        type_.replace("|", " ").replace("+", "").translate(str.maketrans("", "", "[]{}?")).split()
    ):
        if name in SHAPES and name not in seen:
            for row in rows_at(SHAPES[name], version):
                found |= {row.rule, row.within} - {""}
                found |= rules_within(row.type, version, seen | {name})
    return found


@pytest.mark.parametrize("version", REVISIONS)
def test_a_rule_that_a_row_names_judges_every_message_that_can_have_it(version: str) -> None:
    for row in rows_at(MESSAGES, version):
        types = [row.type]
        if row.name == "result tools/call" and REVISIONS[version].has_tasks:
            types.append("CreateTaskResult")
        if row.name.startswith("result ") and REVISIONS[version].is_stateless:
            types.append("InputRequired")
        rules = {row.rule} - {""}
        for type_ in types:
            rules |= rules_within(type_, version, set())
        for id in rules:
            rule, topic = BY_ID[id], row.name.replace(" ", ":")
            assert rule.applies(version, version), (id, row)
            assert rule.level_at(version) == "MUST", id
            assert {topic, topic.partition(":")[0]} & set(rule.topics), (id, topic)


# Values against shapes


def test_members_that_are_not_in_the_table_are_fine() -> None:
    result = {"tools": [{"name": "a", "inputSchema": {"type": "object"}, "x": 1}], "y": None}
    assert frame("D", answered("tools/list", result)) == "pass"


@each_case(
    ("method", "result", "sentence"),
    [
        ("tools/list", {}, "result.tools must be an array and is missing"),
        ("tools/list", {"tools": {}}, "result.tools must be an array and is {}"),
        ("tools/list", {"tools": [5]}, "result.tools[0] must be an object and is 5"),
        (
            "tools/list",
            {"tools": [], "nextCursor": None},
            "result.nextCursor must be a string and is null",
        ),
        (
            "tools/list",
            {"tools": [{"name": "a", "inputSchema": {"type": "array"}}]},
            'result.tools[0].inputSchema.type must be "object" and is "array"',
        ),
        (
            "resources/read",
            {"contents": [{"uri": "a:b"}]},
            "result.contents[0] must be an object with text or blob and is an object with neither",
        ),
        (
            "prompts/get",
            {"messages": [{"role": "system", "content": {"type": "text", "text": ""}}]},
            'result.messages[0].role must be one of "user", "assistant" and is "system"',
        ),
        (
            "prompts/get",
            {"messages": [{"role": "user", "content": "hi"}]},
            'result.messages[0].content must be an object and is "hi"',
        ),
        (
            "tools/call",
            {"content": [{"text": "hi"}]},
            'result.content[0].type must be one of "text", "image", "audio", "resource", '
            '"resource_link" and is missing',
        ),
        (
            "completion/complete",
            {"completion": {"values": [], "total": True}},
            "result.completion.total must be an integer and is true",
        ),
        (
            "initialize",
            {"capabilities": {"experimental": {"x": 1}}, "serverInfo": {}, "protocolVersion": "?"},
            "result.capabilities.experimental.x must be an object and is 1",
        ),
        ("tasks/get", {"taskId": "t"}, 'result.status must be one of "working", "input_'),
    ],
)
def test_a_sentence_says_where_what_is_wanted_and_what_is_there(
    method: str, result: object, sentence: str
) -> None:
    assert frame("D", answered(method, result)).startswith(sentence)


@pytest.mark.parametrize(
    ("letters", "exchange"),
    [
        (
            "BCDE",
            with_notification(
                "notifications/progress", {"progressToken": 1, "progress": 1, "message": 5}
            ),
        ),
        ("ABCE", with_notification("notifications/cancelled", {})),
        ("CDE", answered("tools/list", {"tools": [{"name": "a", "inputSchema": {}, "title": 5}]})),
        ("ABCD", answered("logging/setLevel", {"_meta": 5})),
        ("E", answered("server/discover", {})),
        ("D", with_notification("notifications/elicitation/complete", {})),
    ],
)
def test_the_shape_that_is_invalid_depends_on_the_revision(
    letters: str, exchange: dict[str, Any]
) -> None:
    sound = {"type": "object"}
    result = exchange["response"]["result"]
    for tool in result.get("tools", ()):
        tool["inputSchema"] = sound
    for letter in "ABCDE":
        stated = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        full = exchange | {"response": {"jsonrpc": "2.0", "id": 1, "result": stated | result}}
        assert is_broken(letter, full) is (letter in letters), letter


def test_parameters_that_a_notification_need_not_have_may_be_missing() -> None:
    assert frame("D", with_notification("notifications/tools/list_changed")) == "pass"
    assert (
        frame("D", with_notification("notifications/resources/updated"))
        == "params must be an object and is missing"
    )


def test_a_whole_number_may_be_written_with_a_point() -> None:
    token = {"progressToken": 3.0, "progress": 1}
    assert frame("D", with_notification("notifications/progress", token)) == "pass"


@pytest.mark.parametrize(
    "content", [{"type": "text", "text": "a"}, [{"type": "text", "text": "a"}]]
)
def test_a_sampling_message_has_one_block_or_from_2025_11_25_on_several(content: object) -> None:
    params = {"messages": [{"role": "user", "content": content}], "maxTokens": 5}
    asked = answered("tools/call", {"content": []}) | {
        "server_messages": [
            {"jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage", "params": params}
        ]
    }
    assert frame("D", asked) == "pass"
    assert (frame("C", asked) == "pass") is isinstance(content, dict)


def test_an_elicitation_without_a_mode_is_a_form() -> None:
    asked = answered("tools/call", {"content": []}) | {
        "server_messages": [
            {"jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": {"message": "?"}}
        ]
    }
    assert frame("D", asked) == "params.requestedSchema must be an object and is missing"
    asked["server_messages"][0]["params"] |= {"mode": "url", "url": "a:b", "elicitationId": "e"}
    assert frame("D", asked) == "pass"
    asked["server_messages"][0]["params"]["mode"] = ["url"]
    assert frame("D", asked) == 'params.mode must be one of "form", "url" and is ["url"]'


def test_a_task_may_replace_a_result_only_if_one_was_requested() -> None:
    task = {"taskId": "t", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": None}
    result = {"task": task}
    assert frame("D", answered("tools/call", result, task={})) == "pass"
    assert frame("D", answered("tools/call", result)) == (
        "result.content must be an array and is missing"
    )


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ({"resultType": "task", "taskId": 5}, "pass"),
        ({"resultType": "input_required", "requestState": "s"}, "pass"),
        (
            {"resultType": "input_required", "requestState": 5},
            "result.requestState must be a string and is 5",
        ),
        (
            {"resultType": "input_required", "inputRequests": {"a": {"method": "ping"}}},
            'result.inputRequests.a.method must be one of "elicitation/create", '
            '"sampling/createMessage", "roots/list" and is "ping"',
        ),
    ],
)
def test_a_result_without_a_handshake_says_what_it_is(result: object, sentence: str) -> None:
    assert frame("E", answered("tools/call", result)) == sentence


def test_before_a_version_is_known_it_is_enough_to_be_right_in_one() -> None:
    cancelled = with_notification("notifications/cancelled", {})
    assert frame("?", cancelled) == "pass"
    assert frame("?", with_notification("notifications/cancelled", {"requestId": {}})) == (
        "params.requestId must be a string or an integer and is {}"
    )


def test_a_method_that_is_not_in_the_table_is_not_checked() -> None:
    assert frame("D", {"request": answered("x/y", {})["request"], "response": {}}) == (
        "not_applicable"
    )


def test_a_message_with_a_thousand_mistakes_has_few_sentences() -> None:
    tools: list[object] = [5] * 1000
    assert verdicts("D", answered("tools/list", {"tools": tools}))["BASE-41"].count == MAX_SENTENCES


# Schemas


def test_a_schema_of_an_unknown_dialect_is_not_judged() -> None:
    assert describe_schema_error({"$schema": "https://example.com/mine", "type": 5}) is None
    assert describe_schema_error({"$schema": 5}) == (["$schema"], '5 is not of type "string"')


@each_case(
    ("schema", "valid"),
    [
        ({"items": [{}]}, "4 6 7 2019-09"),
        ({"prefixItems": {}}, "4 6 7 2019-09"),
        ({"minimum": 1, "exclusiveMinimum": True}, "4"),
        ({"exclusiveMinimum": 1}, "6 7 2019-09 2020-12"),
        ({"properties": {"a": True}}, "6 7 2019-09 2020-12"),
        ({"additionalProperties": True}, ALL),
        ({"additionalProperties": "no"}, ""),
        ({"$defs": []}, "4 6 7"),
        ({"if": 5}, "4 6"),
        ({"dependencies": {"a": ["b"], "c": {}}}, ALL),
        ({"dependencies": {"a": ["b", "b"]}}, ""),
        ({"allOf": []}, ""),
        ({"type": []}, ""),
        ({"type": "any"}, ""),
        ({"type": ["null", "string"]}, ALL),
        ({"required": ["a", 5]}, ""),
        ({"minLength": 2.0}, "6 7 2019-09 2020-12"),
        ({"minLength": -1}, ""),
        ({"multipleOf": 0}, ""),
        ({"dependentRequired": {"a": [5]}}, "4 6 7"),
        ({"default": {"type": 5}, "const": {"allOf": []}, "x": {"type": 5}}, ALL),
    ],
)
def test_validity_of_a_schema_depends_on_the_dialect(schema: dict[str, Any], valid: str) -> None:
    for name, uri in DRAFTS.items():
        found = describe_schema_error(schema | {"$schema": uri})
        assert (found == ()) is (name in valid.split()), name


def test_the_schemas_inside_a_schema_are_found_by_the_keywords_of_any_dialect() -> None:
    schema = {
        "properties": {"a": {}},
        "items": [{}, {}],
        "dependencies": {"b": ["c"], "d": {}},
        "additionalProperties": False,
        "default": {},
        "anyOf": "nothing",
    }
    found = [(keyword, path) for keyword, path, _ in inner_schemas(schema, None)]
    assert found == [
        ("properties", ((None, "properties"), "a")),
        ("items", ((None, "items"), 0)),
        ("items", ((None, "items"), 1)),
        ("dependencies", ((None, "dependencies"), "d")),
    ]


def test_a_schema_may_be_nested_as_deep_as_it_likes() -> None:
    schema: object = 5
    for _ in range(5000):
        schema = {"not": schema}
    assert isinstance(schema, dict)
    exchange = answered("tools/list", {"tools": [{"inputSchema": schema | {"type": "object"}}]})
    assert len(verdicts("D", exchange)["BASE-39"].message) < 400


def test_a_repeated_list_of_tools_counts_again() -> None:
    bad = {"tools": [{"name": "a", "inputSchema": {"type": "object", "if": 5}}]}
    twice = verdicts("D", answered("tools/list", bad), answered("tools/list", bad))
    assert (twice["BASE-39"].status, twice["BASE-39"].count) == ("fail", 2)
    assert twice["BASE-39"].message.endswith('(the tool "a")')


def test_tools_without_schemas_are_nothing_to_look_at() -> None:
    listed = answered("tools/list", {"tools": [5, {}, {"inputSchema": True}]})
    assert verdicts("D", listed)["BASE-39"].status == "not_applicable"


LEAVES: st.SearchStrategy[object] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(-2, 2),
    st.sampled_from(["a", "string", "null"]),
    st.lists(st.sampled_from(["a", "b", "string", 5]), max_size=2),
)
KEYWORDS = """
type required properties items prefixItems allOf not $defs definitions dependencies if enum title
additionalProperties exclusiveMinimum minLength multipleOf uniqueItems examples contains readOnly
dependentRequired dependentSchemas contentSchema writeOnly minContains propertyNames
"""
WORDS = KEYWORDS.split()


def holding(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    named = st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    schemas = st.dictionaries(st.sampled_from(WORDS), inner | named, max_size=3)
    return schemas | st.lists(inner, max_size=2)


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(WORDS), st.recursive(LEAVES, holding, max_leaves=8), max_size=4
    ),
    st.sampled_from(["6", "7", "2019-09", "2020-12"]),
)
def test_a_schema_is_one_exactly_when_the_meta_schema_says_so(
    schema: dict[str, Any], draft: str
) -> None:
    schema = {"$schema": DRAFTS[draft]} | schema
    assert (describe_schema_error(schema) == ()) is jsonschema_rs.meta.is_valid(schema)
