"""A manifest: tools, resources and prompts with canned answers."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case
from stage import Stage, manifest, request

from mcptest.core.errors import FormatError
from mcptest.matching.registry import builtin_registry
from mcptest.mock.manifest import kind_of_file, load_manifest, merge_manifests

TEXT = """
name: weather
version: "1.2"
instructions: Ask nicely.
tools:
  - name: greet
    description: Says hello
    inputSchema: {type: object, properties: {who: {type: string}, n: {}}, required: [who]}
    answer: "Hello ${args.who}, not $${args.who}"
  - name: pick
    answers:
      - {when: {who: Bob}, answer: It is Bob}
      - when: {who: "match:startsWith:A"}
        result: {content: [{type: text, text: "${args.who}"}], structuredContent: {is: "${args}"}}
      - {when: {who: Eve}, error: {code: -32001, message: "no ${args.who}", data: "${args.n}"}}
  - name: deep
    answer: "${args.a.b}"
resources:
  - {uri: "note://one", name: One, text: first}
  - {uri: "note://json", json: {a: [1]}}
  - {uri: "note://blob", blob: AAEC, mimeType: image/png}
prompts:
  - name: ask
    description: Asks
    arguments: [{name: who, required: true}]
    text: "Ask ${args.who}"
  - name: talk
    messages:
      - {role: assistant, content: "Hi ${args.who}"}
      - {role: user, content: {type: text, text: x}}
"""


@pytest.fixture
def stage() -> Stage:
    return manifest(TEXT)


def call(stage: Stage, tool: str, **arguments: Any) -> Any:
    return stage.ask("tools/call", {"name": tool, "arguments": arguments})


def test_the_session_is_answered_from_the_top_of_the_file(stage: Stage) -> None:
    assert stage.result("initialize", {"protocolVersion": "2025-06-18"}) == {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "weather", "version": "1.2"},
        "instructions": "Ask nicely.",
    }
    assert stage.result("ping") == {}
    assert stage.result("server/discover")["instructions"] == "Ask nicely."


def test_features_missing_in_the_file_are_not_declared_and_not_answered() -> None:
    stage = manifest("tools: []")
    assert stage.result("initialize")["capabilities"] == {"tools": {}}
    assert stage.result("initialize")["serverInfo"]["name"] == "manifest"
    assert stage.result("tools/list") == {"tools": []}
    assert stage.error("prompts/list")["code"] == -32601


def test_everything_is_listed_as_it_is_written(stage: Stage) -> None:
    greet, pick, deep = stage.result("tools/list")["tools"]
    assert list(greet) == ["name", "description", "inputSchema"]
    assert greet["inputSchema"]["required"] == ["who"]
    assert pick["inputSchema"]["properties"] == {"n": {}, "who": {}}
    assert deep["inputSchema"] == {"type": "object", "properties": {"a": {}}, "required": ["a"]}
    assert stage.result("resources/list")["resources"][:2] == [
        {"uri": "note://one", "name": "One"},
        {"uri": "note://json", "name": "note://json", "mimeType": "application/json"},
    ]
    assert stage.result("resources/templates/list") == {"resourceTemplates": []}
    ask, talk = stage.result("prompts/list")["prompts"]
    assert ask["arguments"] == talk["arguments"] == [{"name": "who", "required": True}]


def test_a_list_has_one_page(stage: Stage) -> None:
    assert stage.error("tools/list", {"cursor": "x"})["code"] == -32602


# Templates


def test_an_argument_is_put_into_the_text(stage: Stage) -> None:
    assert stage.call("greet", who="you") == "Hello you, not ${args.who}"


def test_a_whole_template_keeps_the_type_but_content_is_text(stage: Stage) -> None:
    result = call(stage, "pick", who="Ada", n=5)["result"]
    assert result["content"] == [{"type": "text", "text": "Ada"}]
    assert result["structuredContent"] == {"is": {"who": "Ada", "n": 5}}
    assert call(stage, "deep", a={"b": 7})["result"]["content"][0]["text"] == "7"


def test_an_error_is_sent_with_its_data(stage: Stage) -> None:
    error = call(stage, "pick", who="Eve", n=[1])["error"]
    assert error == {"code": -32001, "message": "no Eve", "data": [1]}
    assert stage.report.wrong == ()


def test_inserted_values_are_not_expanded_again(stage: Stage) -> None:
    assert stage.call("greet", who="${args.who}") == "Hello ${args.who}, not ${args.who}"


def test_an_argument_that_a_template_needs_is_missed_by_name(stage: Stage) -> None:
    cases: list[dict[str, Any]] = [{}, {"a": {}}, {"a": 5}]
    for arguments in cases:
        error = call(stage, "deep", **arguments)["error"]
        assert error["code"] == -32602
        assert "the argument a.b is missing" in error["message"]


# Arguments


@pytest.mark.parametrize(
    ("arguments", "words"), [({}, "who"), ({"who": 5}, "string"), ({"who": None}, "string")]
)
def test_arguments_are_checked_by_the_schema(
    stage: Stage, arguments: dict[str, Any], words: str
) -> None:
    error = call(stage, "greet", **arguments)["error"]
    assert error["code"] == -32602
    assert "the arguments are not valid" in error["message"]
    assert words in error["message"]
    assert stage.exercised == []


def test_arguments_that_are_not_an_object_are_refused(stage: Stage) -> None:
    assert stage.error("tools/call", {"name": "deep", "arguments": [1]})["code"] == -32602


def test_the_first_answer_that_fits_is_given(stage: Stage) -> None:
    assert stage.call("pick", who="Bob", more=1) == "It is Bob"


def test_when_no_answer_fits_the_nearest_is_reported(stage: Stage) -> None:
    error = call(stage, "pick", who="Zoe")["error"]
    assert error["code"] == -32602
    assert error["data"]["nearest"] == {"case": "tool pick", "file": "manifest.yaml", "line": 10}
    assert error["data"]["differences"][0]["path"] == "params.arguments.who"


@pytest.mark.parametrize(
    ("method", "params", "meant", "code"),
    [
        ("tools/call", {"name": "gret"}, "tool greet", -32602),
        ("resources/read", {"uri": "note://on"}, "resource note://one", -32002),
        ("prompts/get", {"name": "tall"}, "prompt talk", -32602),
    ],
)
def test_an_unknown_name_is_reported_with_the_one_that_was_meant(
    stage: Stage, method: str, params: dict[str, Any], meant: str, code: int
) -> None:
    error = stage.error(method, params)
    assert (error["code"], error["data"]["nearest"]["case"]) == (code, meant)


@pytest.mark.parametrize(("revision", "is_error"), [("2025-06-18", True), ("2025-11-25", False)])
def test_arguments_that_are_not_valid_are_an_error_of_the_tool_in_newer_revisions(
    stage: Stage, revision: str, is_error: bool
) -> None:
    stage.send(request("initialize", {"protocolVersion": revision, "capabilities": {}}))
    answer = call(stage, "greet", who=5)
    assert ("error" in answer) == is_error
    if not is_error:
        assert answer["result"]["isError"] is True
        assert "the arguments are not valid" in answer["result"]["content"][0]["text"]


@pytest.mark.parametrize("params", [None, [], {"name": 5}, {"name": "completely else"}])
def test_a_name_that_is_none_has_no_nearest(stage: Stage, params: object) -> None:
    error = stage.error("tools/call", params)
    assert (error["code"], error["data"]["nearest"]) == (-32602, None)


# Resources and prompts


def test_resources_hold_text_json_or_bytes(stage: Stage) -> None:
    def read(uri: str) -> Any:
        return stage.result("resources/read", {"uri": uri})["contents"]

    assert read("note://one") == [{"uri": "note://one", "text": "first"}]
    assert read("note://json") == [
        {"uri": "note://json", "mimeType": "application/json", "text": '{"a":[1]}'}
    ]
    assert read("note://blob") == [{"uri": "note://blob", "mimeType": "image/png", "blob": "AAEC"}]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("{text: 'in ${HOME} and ${argsy}'}", "in ${HOME} and ${argsy}"),
        ("{text: '$${args.x} and $${HOME}'}", "${args.x} and $${HOME}"),
        ("{json: {a: '$${args.x} ${b}'}}", '{"a":"${args.x} ${b}"}'),
    ],
)
def test_nothing_is_filled_in_in_a_resource(written: str, read: str) -> None:
    stage = manifest(f"resources: [{{uri: 'note://a', {written[1:-1]}}}]")
    (contents,) = stage.result("resources/read", {"uri": "note://a"})["contents"]
    assert contents["text"] == read


def test_nothing_is_filled_in_in_the_description_of_a_prompt() -> None:
    stage = manifest("prompts: [{name: p, description: 'on ${args.who} ${b}', text: x}]")
    assert stage.result("prompts/get", {"name": "p"})["description"] == "on ${args.who} ${b}"


def test_prompts_are_texts_or_messages(stage: Stage) -> None:
    asked = stage.result("prompts/get", {"name": "ask", "arguments": {"who": "Ada"}})
    text = {"type": "text", "text": "Ask Ada"}
    assert asked == {"description": "Asks", "messages": [{"role": "user", "content": text}]}
    talked = stage.result("prompts/get", {"name": "talk", "arguments": {"who": "Bob"}})
    assert [each["content"]["text"] for each in talked["messages"]] == ["Hi Bob", "x"]


@pytest.mark.parametrize("name", ["ask", "talk"])
def test_a_prompt_misses_its_arguments_by_name(stage: Stage, name: str) -> None:
    error = stage.error("prompts/get", {"name": name})
    assert error["code"] == -32602
    assert "the argument who is missing" in error["message"]


# The report


def test_every_offer_counts_as_a_case(stage: Stage) -> None:
    stage.call("greet", who="you")
    stage.result("resources/read", {"uri": "note://one"})
    stage.error("tools/call", {"name": "gone"})
    assert stage.exercised == ["tool greet", "resource note://one"]
    assert stage.missed[:2] == ["tool pick", "tool deep"]
    assert len(stage.report.wrong) == 1


def test_notifications_of_a_session_are_fine_and_others_are_wrong(stage: Stage) -> None:
    assert stage.notify("notifications/initialized") == []
    assert stage.report.wrong == ()
    assert stage.notify("notifications/x") == []
    assert stage.reply(1, {}) == []
    assert len(stage.report.wrong) == 2


def test_several_manifests_are_one_server() -> None:
    registry = builtin_registry()
    one, two = (
        load_manifest(text, file, registry)[0]
        for text, file in (
            ("name: first\ntools: [{name: a, answer: x}]", "one.yaml"),
            ("name: second\ntools: [{name: b, answer: y}]\nprompts: []", "two.yaml"),
        )
    )
    merged = merge_manifests([one, two])
    assert (merged.name, merged.kinds) == ("first", ("tools", "prompts"))
    assert [offer.name for offer in merged.offers] == ["a", "b"]


def test_two_manifests_that_offer_the_same_are_a_mistake() -> None:
    one = load_manifest("tools: [{name: a, answer: x}]", "one.yaml", builtin_registry())[0]
    with pytest.raises(FormatError) as caught:
        merge_manifests([one, one])
    (found,) = caught.value.diagnostics
    assert (found.code, found.line) == ("F003", 1)


# What kind of file it is, by its content


@each_case(
    ("text", "kind"),
    [
        ("tools: []", "manifest"),
        ("# a comment\nname: x\ninstructions: y\n\nprompts:\n  - {name: p, text: x}\n", "manifest"),
        ('{"resources": []}', "manifest"),
        ("{tools: [], name: x}", "manifest"),
        ("\ufeff# words\n\n{tools: []}", "manifest"),
        ("# words\n---\n# more\n{tools: []}", "manifest"),
        ("--- {tools: []}", "manifest"),
        ("%YAML 1.2\n---\n{tools: []}\n", "manifest"),
        ('{"tools": []}\n# the end\n', "manifest"),
        ("# see issue #12\n" * 2000 + "{tools: []}", "manifest"),
        ("# see issue #12\n" * 2000 + "\ttools: x\ntools: []\n", "manifest"),
        ('"tools":\n  - name: broken\n   answer: [', "manifest"),
        ('{"exchanges": []}', "capture"),
        ('[{"exchanges": []}]', "capture"),
        ("exchanges: []\n", "capture"),
        ("", "cases"),
        ("case: a\nin: {}\n", "cases"),
        ("in: {method: tools/list}\nout: {result: {tools: []}}\n", "cases"),
        ("case: a\ntools: []\n", "cases"),
        ("in_request: {}\ntools: []\n", "cases"),
        ('{"out": {}, "tools": []}', "cases"),
        ("---\nin: {}\n---\nin: {}\n", "cases"),
        ("in:\n  tools: []\n", "cases"),
        ("[1]", "cases"),
        ("{broken", "cases"),
        ("# see issue #12\n" * 2000, "cases"),
        ("# see issue #12\n" * 2000 + "case: a\nin: {}\n", "cases"),
        ("#" + " #" * 100_000 + " {tools", "cases"),
        ("\n \n" * 100_000 + "# {tools: []}", "cases"),
        ("x" * 1_000_000, "cases"),
        ("x" + " " * 1_000_000, "cases"),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * 5_000, "cases"),
        ("---\n" * 1000 + "in: {}\n", "cases"),
    ],
)
def test_a_file_is_recognised_by_its_content(text: str, kind: str) -> None:
    assert kind_of_file(text) == kind
