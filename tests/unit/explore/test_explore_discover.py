"""What a server offers becomes tests, and nothing that could do harm is tried."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.coverage import KINDS
from mcptest.explore.discover import MAX_TRIED, Probe, Surveyor, render_suite
from mcptest.formats.conductor import load_conductor
from mcptest.matching.registry import builtin_registry
from mcptest.protocol.lists import Listing, list_features

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


def test_an_argument_that_may_do_harm_is_never_left_out() -> None:
    staged = Staged(TEXT)
    choice = {"enum": ["delete", "get"], "default": "delete"}
    schema = {"properties": {"action": choice, "b": {}}, "required": ["action", "b"]}
    survey(staged, listing("tools", tool("x", inputSchema=schema)))
    assert [params["arguments"] for _, params in staged.asked] == [
        {"action": "get", "b": "example"},
        {"action": "get"},
    ]


def test_a_tool_that_is_listed_twice_with_different_hints_is_not_called() -> None:
    staged = Staged(TEXT)
    other = {"name": "x", "annotations": {"destructiveHint": True}}
    _, probe, _ = survey(staged, listing("tools", tool("x"), other, tool("y")))
    assert "the server lists it more than once, and not always the same" in probe.skip
    assert [params["name"] for _, params in staged.asked] == ["y"]


def test_a_call_without_a_required_argument_that_still_succeeds_is_reported() -> None:
    probes = survey(Staged(TEXT), listing("tools", tool("x", inputSchema=NEEDY)))
    assert probes[-1].name == "answers x without a"


def test_a_tool_that_could_do_harm_is_a_placeholder_and_is_not_called() -> None:
    staged = Staged(TEXT)
    probes = survey(staged, listing("tools", {"name": "delete", "inputSchema": NEEDY}))
    assert staged.asked == []
    assert probes[-1].params == {"name": "delete", "arguments": {"a": 1}}
    assert probes[-1].skip.startswith("not called: its name says")


def test_a_call_without_a_result_is_a_placeholder_that_says_what_happened() -> None:
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


def error_text(text: str) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}


def test_generated_arguments_that_cause_an_error_have_a_comment() -> None:
    staged = Staged(error_text("Unknown city"), error_text("a is required"))
    probes = survey(staged, listing("tools", tool("x", inputSchema=NEEDY)))
    probes.pop()
    assert probes[-1].name == "calls x with made-up values, and gets an error"
    assert "Put in real ones" in probes[-1].comments[-1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Invalid state", "it takes no arguments, so no value is to blame; repair"),
        ("you must be set up: not logged in", "something that it needs is not set up"),
    ],
)
def test_an_error_of_a_tool_without_arguments_is_not_expected(text: str, why: str) -> None:
    probes = survey(Staged(error_text(text)), listing("tools", tool("x")))
    assert (probes[-1].name, why in probes[-1].skip) == ("calls x", True)


def test_an_error_of_a_broken_server_is_not_expected() -> None:
    broken = {"error": {"code": -32603, "message": "KeyError: 'a' \x1b ${X}"}}
    probes = survey(Staged(broken), listing("tools", tool("x", inputSchema=NEEDY)))
    assert [probe.name for probe in probes] == ["lists its tools", "calls x"]
    assert probes[-1].problem == "error -32603 \"KeyError: 'a' \\u001b {X}\""
    assert probes[-1].skip.startswith(f"the server answered {probes[-1].problem}: that is an ")
    assert "error" not in probes[-1].response
    assert loaded(probes) == [probe.name for probe in probes]


def test_a_refusal_that_is_an_exception_is_not_expected() -> None:
    for answer in (error_text("'a'"), {"error": {"code": -32603, "message": "oops"}}):
        probes = survey(Staged(TEXT, answer), listing("tools", tool("x", inputSchema=NEEDY)))
        assert probes[-1].name == "refuses x without a"
        assert "it does not validate its arguments" in probes[-1].skip


def test_a_listed_resource_that_cannot_be_read_is_never_expected_to_fail() -> None:
    missing = {"error": {"code": -32002, "message": "Resource not found"}}
    probes = survey(Staged(missing), listing("resources", {"uri": "a://b"}))
    assert "it lists this resource and cannot read it" in probes[-1].skip


def test_when_time_is_over_the_rest_is_not_tried() -> None:
    late = iter(["", "not tried: over", "not tried: over"])
    staged = Staged(TEXT)
    surveyor = Surveyor(staged, {}, out_of_time=lambda: next(late))
    probes = surveyor.survey(listing("tools", tool("a"), tool("b"), tool("c")))
    assert [(probe.skip, probe.is_untried) for probe in probes[1:]] == [
        ("", False),
        ("not tried: over", True),
        ("not tried: over", True),
    ]
    assert (surveyor.called, len(staged.asked)) == (["a"], 1)


def test_the_tools_to_call_are_announced_before_the_first_call() -> None:
    staged = Staged(TEXT)
    seen: list[object] = []
    surveyor = Surveyor(staged, {}, announce=lambda *seen_: seen.append((*seen_, staged.asked[:])))
    surveyor.survey(listing("tools", tool("a"), {"name": "delete"}, {"name": "get_x"}))
    assert seen == [(["a", "get_x"], 3, [])]


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


def test_a_template_whose_generated_address_is_refused_is_a_placeholder() -> None:
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


def test_a_list_that_a_server_need_not_have_is_expected_to_be_refused() -> None:
    refusal = {"error": {"code": -32601, "message": "no"}}
    refused = list_features(lambda *_: refusal, KINDS["resourceTemplates"])
    probes = survey(Staged(TEXT), {"resourceTemplates": refused})
    assert probes[0].response == {"error": {"code": -32601, "message": "match:type:string"}}
    assert probes[0].skip == ""


def test_a_list_ends_when_time_is_over() -> None:
    page = {"result": {"tools": [{"name": "a"}], "nextCursor": "1"}}
    left_s = iter([1.0, 0.0])
    found = list_features(lambda *_: page, KINDS["tools"], lambda: next(left_s), 30.0)
    assert (found.names, found.problem) == (("a",), "tools/list is not at its end after 30 s")


HOSTILE = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30) | (
    st.sampled_from(["match:partial", "# x", "a: b", "- it: x", "'", '"', "\n---\n", "${x}", "{{"])
)


@pytest.mark.slow
@given(HOSTILE, HOSTILE, HOSTILE)
def test_the_written_file_is_valid_for_any_names_of_the_server(
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
