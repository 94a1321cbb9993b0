"""What a server offers becomes tests, and nothing that could do harm is tried."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.coverage import KINDS
from mcptest.explore.discover import MAX_TRIED, Probe, Surveyor, hidden_env, render_suite
from mcptest.explore.features import Listing
from mcptest.formats.conductor import load_conductor
from mcptest.matching.registry import builtin_registry

TEXT = {"result": {"content": [{"type": "text", "text": "a"}]}}
FAILURE = {"result": {"content": [], "isError": True}}
NEEDY = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}


class Staged:
    """A server that gives these answers, and remembers what it was asked."""

    def __init__(self, *answers: dict[str, Any] | str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, object]]] = []

    def __call__(self, method: str, params: dict[str, object]) -> dict[str, Any] | str:
        self.asked.append((method, params))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def listing(kind: str, *features: dict[str, Any]) -> dict[str, Listing]:
    return {kind: Listing(kind=KINDS[kind], features=features, first_page_count=len(features))}


def tool(name: str, **more: object) -> dict[str, Any]:
    return {"name": name, "annotations": {"readOnlyHint": True}, **more}


def survey(staged: Staged, listings: dict[str, Listing], **capabilities: object) -> list[Probe]:
    return Surveyor(staged, capabilities).survey(listings)


def loaded(probes: list[Probe], server: dict[str, object] | None = None) -> list[str]:
    """The names of the tests in the file, once it has been loaded."""
    text = render_suite("a", server, probes)
    suite, warnings = load_conductor(text, "a.test.mcp.yml", builtin_registry(), {})
    assert warnings == ()
    return [case.name for case in suite.cases]


def test_a_tool_is_called_and_then_without_what_it_requires() -> None:
    staged = Staged(TEXT, FAILURE)
    probes = survey(staged, listing("tools", tool("x", inputSchema=NEEDY)))
    assert [probe.name for probe in probes] == ["lists its tools", "calls x", "refuses x without a"]
    assert [params for _, params in staged.asked] == [
        {"name": "x", "arguments": {"a": 1}},
        {"name": "x", "arguments": {}},
    ]
    assert loaded(probes) == [probe.name for probe in probes]


def test_a_call_that_lacks_something_and_is_answered_all_the_same_is_told() -> None:
    probes = survey(Staged(TEXT), listing("tools", tool("x", inputSchema=NEEDY)))
    assert probes[-1].name == "answers x without a"


def test_a_tool_that_could_do_harm_is_a_placeholder_and_is_not_called() -> None:
    staged = Staged(TEXT)
    probes = survey(staged, listing("tools", {"name": "delete", "inputSchema": NEEDY}))
    assert staged.asked == []
    assert probes[-1].params == {"name": "delete", "arguments": {"a": 1}}
    assert probes[-1].skip.startswith("not called: its name says")


def test_a_call_that_brought_nothing_is_a_placeholder_that_says_what_happened() -> None:
    probes = survey(Staged("timeout: no answer"), listing("tools", tool("x", inputSchema=NEEDY)))
    assert [probe.skip for probe in probes] == ["", "timeout: no answer"]


def test_after_three_calls_in_vain_no_more_are_made() -> None:
    staged = Staged("gone", "gone", "gone", TEXT)
    tools = [tool(str(number)) for number in range(5)]
    probes = survey(staged, listing("tools", *tools))
    assert len(staged.asked) == 3
    assert probes[-1].skip.startswith("not tried: 3 requests in a row")


def test_an_answer_between_two_failures_counts() -> None:
    staged = Staged("gone", "gone", TEXT, "gone", "gone", TEXT)
    survey(staged, listing("tools", *(tool(str(number)) for number in range(6))))
    assert len(staged.asked) == 6


def test_made_up_arguments_that_bring_an_error_are_told_of() -> None:
    probes = survey(Staged(FAILURE), listing("tools", tool("x")))
    assert probes[-1].name == "calls x with made-up values, and gets an error"
    assert "Put in real ones" in probes[-1].remarks[-1]


def test_no_more_than_the_first_of_many_are_tried() -> None:
    staged = Staged(TEXT)
    surveyor = Surveyor(staged, {})
    surveyor.survey(listing("tools", *(tool(str(number)) for number in range(500))))
    assert len(staged.asked) == MAX_TRIED["tools"]
    assert surveyor.notes == ["the first 100 of 500 tools are in the file"]


def test_templates_are_read_at_the_address_that_the_server_proposes() -> None:
    template = {"uriTemplate": "a://{kind}/{id}", "name": "t"}
    proposal = {"result": {"completion": {"values": ["book"]}}}
    contents = {"result": {"contents": [{"uri": "a://book/book", "text": ""}]}}
    staged = Staged(proposal, proposal, contents)
    probes = survey(staged, listing("resourceTemplates", template), completions={})
    assert probes[-1].params == {"uri": "a://book/book"}
    assert probes[-1].skip == ""


def test_a_template_whose_made_up_address_is_refused_is_a_placeholder() -> None:
    refusal = {"error": {"code": -32002, "message": "none"}}
    probes = survey(Staged(refusal), listing("resourceTemplates", {"uriTemplate": "a://{id}"}))
    assert probes[-1].params == {"uri": "a://1"}
    assert "put in a real one" in probes[-1].skip


def test_prompts_get_what_they_require() -> None:
    arguments = [{"name": "city", "required": True}, {"name": "b"}, {"required": True}, 5]
    staged = Staged({"result": {"messages": []}})
    survey(staged, listing("prompts", {"name": "p", "arguments": arguments}))
    assert staged.asked == [("prompts/get", {"name": "p", "arguments": {"city": "Berlin"}})]


def test_a_server_that_offers_nothing_is_pinged() -> None:
    probes = survey(Staged({"result": {}}), {})
    assert [(probe.method, probe.response) for probe in probes] == [("ping", {"result": {}})]
    assert loaded(probes) == ["answers a ping"]


def test_a_list_is_expected_to_begin_as_it_does() -> None:
    probes = survey(Staged(TEXT), listing("tools", tool("a"), tool("match:b")))
    assert probes[0].response == {
        "result": {
            "match:extractField": "tools.*.name",
            "value": {"match:partial": ["a", "match:type:string"]},
        }
    }


def test_a_list_that_the_server_refuses_is_expected_to_be_refused() -> None:
    refusal = {"error": {"code": -32601, "message": "no"}}
    refused = Listing(kind=KINDS["resourceTemplates"], answers=(refusal,))
    probes = survey(Staged(TEXT), {"resourceTemplates": refused})
    assert probes[0].response == {"error": {"code": -32601, "message": "match:type:string"}}


HOSTILE = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30) | (
    st.sampled_from(["match:partial", "# x", "a: b", "- it: x", "'", '"', "\n---\n", "${x}", "{{"])
)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_whatever_a_server_calls_things_the_file_loads(
    name: str, description: str, key: str
) -> None:
    schema = {"properties": {key: {"default": name}}, "required": [key]}
    listings: dict[str, Listing] = {}
    for kind in KINDS.values():
        feature: dict[str, Any] = {kind.key: name, "description": description, "name": name}
        feature |= {"inputSchema": schema, "annotations": {"readOnlyHint": True}}
        listings |= listing(kind.name, feature)
    answer = {"result": {"content": [{"type": name, key: description}], key: name}}
    surveyor = Surveyor(Staged(answer), {})
    probes = surveyor.survey(listings)
    assert len(loaded(probes, {"name": name, "command": name, "args": [description]})) >= 4
    assert ("${" in name) == bool(surveyor.notes)


def test_a_variable_that_looks_like_a_secret_becomes_a_reference() -> None:
    env = {"API_KEY": "abc", "LOG": "debug", "TOKEN": "${MY_TOKEN}", "Db_Password": "x"}
    assert hidden_env(env) == {
        "API_KEY": "${API_KEY}",
        "LOG": "debug",
        "TOKEN": "${MY_TOKEN}",
        "Db_Password": "${Db_Password}",
    }
