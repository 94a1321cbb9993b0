"""What a contract says of its server: from the answers in its dialogues, and from its calls."""

from __future__ import annotations

from docgen_samples import SMALL, cases, conductor, docs_of

from mcptest.docgen.cases import describe_server
from mcptest.docgen.model import Code, FeatureDoc, Row, Table


def listing(tools: str, name: str = "a", id: int = 1) -> str:
    return f"""
case: {name}
in: {{"jsonrpc": "2.0", "id": {id}, "method": "tools/list"}}
out: {{"jsonrpc": "2.0", "id": {id}, "result": {{"tools": {tools}}}}}
"""


def call(name: str, arguments: str) -> str:
    return f"""
in: {{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
  "params": {{"name": "{name}", "arguments": {arguments}}}}}
"""


def test_the_handshake_says_who_the_server_is() -> None:
    found = describe_server([cases(SMALL)])
    assert found.source == "the contract"
    assert found.info == {"name": "dice", "version": "1.2"}
    assert found.capabilities == {"tools": {"listChanged": True}}
    assert (found.protocol_version, found.instructions) == ("2025-06-18", "Roll fairly.")


def introduction(result: str) -> str:
    return f"""
in: {{"jsonrpc": "2.0", "id": 1, "method": "initialize"}}
out: {{"jsonrpc": "2.0", "id": 1, "result": {result}}}
"""


def test_the_description_of_another_server_is_not_mixed_in() -> None:
    first = introduction('{"serverInfo": {"name": "a"}}')
    other = introduction('{"serverInfo": {"name": "b"}, "instructions": "of b"}')
    again = introduction('{"serverInfo": {"name": "a"}, "protocolVersion": "1"}')
    vague = introduction('{"serverInfo": {"name": !!any }, "capabilities": {"tools": {}}}')
    found = describe_server([cases(f"{first}---{other}---{again}---{vague}")])
    assert (found.info, found.instructions, found.protocol_version) == ({"name": "a"}, "", "1")
    assert found.capabilities == {"tools": {}}


def test_a_discovery_says_who_the_server_is_as_well() -> None:
    text = """
in: {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
out: {"jsonrpc": "2.0", "id": 1, "result": {"serverInfo": {"name": "modern"}}}
"""
    assert describe_server([cases(text)]).info == {"name": "modern"}


def test_every_kind_of_list_is_read() -> None:
    text = """
in_1: {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}
out_1: {"jsonrpc": "2.0", "id": 1, "result": {"resources": [{"uri": "a://b"}]}}
in_2: {"jsonrpc": "2.0", "id": 2, "method": "resources/templates/list"}
out_2: {"jsonrpc": "2.0", "id": 2, "result": {"resourceTemplates": [{"uriTemplate": "a://{x}"}]}}
in_3: {"jsonrpc": "2.0", "id": 3, "method": "prompts/list"}
out_3: {"jsonrpc": "2.0", "id": 3, "result": {"prompts": [{"name": "p"}]}}
"""
    assert describe_server([cases(text)]).features == {
        "tools": (),
        "resources": ({"uri": "a://b"},),
        "resourceTemplates": ({"uriTemplate": "a://{x}"},),
        "prompts": ({"name": "p"},),
    }


def test_the_same_tool_in_two_answers_is_one_and_what_was_said_first_counts() -> None:
    first = listing('[{"name": "a", "description": "first"}]')
    second = listing('[{"name": "a", "description": "second", "title": "A"}, {"name": "b"}]')
    found = describe_server([cases(f"{first}---{second}")])
    assert found.features["tools"] == (
        {"name": "a", "description": "first", "title": "A"},
        {"name": "b"},
    )


def test_an_answer_is_known_by_its_id_and_not_by_its_place() -> None:
    text = """
in_1: {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
in_2: {"jsonrpc": "2.0", "id": 2, "method": "prompts/list"}
out_2: {"jsonrpc": "2.0", "id": 2, "result": {"prompts": [{"name": "p"}]}}
out_1: {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t"}]}}
"""
    found = describe_server([cases(text)]).features
    assert (found["tools"], found["prompts"]) == (({"name": "t"},), ({"name": "p"},))


def test_answers_to_a_batch_are_distinguished_by_id() -> None:
    text = """
in: [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
  {"jsonrpc": "2.0", "id": "1", "method": "prompts/list"}]
out_1: {"jsonrpc": "2.0", "id": "1", "result": {"prompts": [{"name": "p"}]}}
out_2: {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t"}]}}
"""
    found = describe_server([cases(text)]).features
    assert (found["tools"], found["prompts"]) == (({"name": "t"},), ({"name": "p"},))


def test_a_tag_says_nothing_about_a_tool_and_names_none() -> None:
    tools = '[{"name": "a", "description": !!re "x", "title": "A"}, {"name": !!any }, !!any ]'
    assert describe_server([cases(listing(tools))]).features["tools"] == (
        {"name": "a", "title": "A"},
    )
    schema = '[{"name": "a", "inputSchema": {"type": !!any , "required": ["b", !!any ]}}]'
    (found,) = describe_server([cases(listing(schema))]).features["tools"]
    assert found["inputSchema"] == {"required": ["b"]}


def test_a_list_that_is_a_tag_offers_nothing() -> None:
    assert describe_server([cases(listing("!!type array"))]).features["tools"] == ()


def test_answers_of_the_client_describe_no_feature() -> None:
    text = """
out: {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
in: {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}]}}
"""
    assert describe_server([cases(text)]).features["tools"] == ()


# What is only used


def test_a_tool_that_is_only_called_is_shown_with_the_arguments_seen() -> None:
    text = call("a", '{"x": 1, "y": "b"}') + "---" + call("a", '{"x": "two"}')
    (feature,) = docs_of(cases(text)).features
    assert feature == FeatureDoc(
        kind=feature.kind,
        name="a",
        note="Not described by the contract: what is known of this tool is how it is used.",
        tables=(
            Table(
                title="Arguments seen",
                rows=(
                    Row(
                        name="x",
                        type="number or string",
                        rules=(("seen: ", Code("1"), ", ", Code('"two"')),),
                    ),
                    Row(name="y", type="string", rules=(("seen: ", Code('"b"')),)),
                ),
            ),
        ),
        cases=(0, 1),
    )


def test_many_values_seen_are_cut() -> None:
    text = "---".join(call("a", f'{{"x": {number}}}') for number in range(9))
    (feature,) = docs_of(cases(text)).features
    assert "".join(feature.tables[0].rows[0].rules[0]) == "seen: 0, 1, 2, 3, 4, …"


def test_a_tag_among_the_arguments_is_shown_as_one() -> None:
    text = call("a", '{"x": !!type string }')
    (feature,) = docs_of(cases(text)).features
    assert feature.tables[0].rows == (Row(name="x", rules=(("seen: ", Code("!!type string")),)),)


def test_a_tool_that_is_listed_and_called_is_described_once() -> None:
    text = listing('[{"name": "a"}]') + "---" + call("a", '{"x": 1}')
    (feature,) = docs_of(cases(text)).features
    assert (feature.name, feature.note, feature.cases) == ("a", "", (1,))


def test_reading_and_prompting_count_as_use_too() -> None:
    text = """
in_1: {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "a://b"}}
in_2: {"jsonrpc": "2.0", "id": 2, "method": "prompts/get", "params": {"name": "p"}}
"""
    found = docs_of(cases(text)).features
    assert [(feature.kind.unit, feature.name) for feature in found] == [
        ("resource", "a://b"),
        ("prompt", "p"),
    ]


def test_a_call_whose_name_is_not_known_is_the_use_of_nothing() -> None:
    text = """
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": !!type string }}
"""
    assert docs_of(cases(text)).features == ()


# Conductor files


CONDUCTOR = """
description: Dice
tests:
  - it: lists
    list: tools
    expect:
      response:
        match:partial: {result: {tools: [{name: roll, title: Roll}]}}
  - it: rolls
    tool: roll
    arguments: {sides: 6}
    capture: {throw: result.id}
    expect:
      notifications: [notifications/progress]
      response: {result: {id: "match:type:number"}}
  - it: undoes
    tool: undo
    arguments: {throw: "${throw}"}
    expect: {response: {result: {gone: "${throw}"}}}
"""


def test_the_tests_of_a_conductor_file_are_read_as_dialogues() -> None:
    docs = docs_of(conductor(CONDUCTOR))
    assert docs.title == "Dice"
    assert [(feature.name, feature.title) for feature in docs.features] == [
        ("roll", "Roll"),
        ("undo", ""),
    ]
    said = [("".join(each.summary), each.is_ours) for each in docs.cases[1].messages]
    assert said == [
        ("request tools/call roll", True),
        ("notification notifications/progress", False),
        ("answer to tools/call roll", False),
    ]


def test_captured_values_are_shown_by_their_names() -> None:
    case = docs_of(conductor(CONDUCTOR)).cases[2]
    shown = [
        "".join(text for _, pieces in said.lines for _, text in pieces) for said in case.messages
    ]
    assert '"arguments": { "throw": "${throw}" }' in shown[0]
    assert '"gone": "${throw}"' in shown[1]
