"""Entries of a suite as tests and as cases: everything that they are told elsewhere is in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from migrating import (
    SERVER,
    cases_from,
    conductor_from,
    entries_of,
    mistake_in_conductor,
    setting,
)

from mcptest.formats.document import read_document
from mcptest.migrate.cases_writing import CasesText
from mcptest.migrate.conductor_writing import ConductorText, write_conductor

HEAD = "servers: {s: {command: [run]}}\n"


def made_of(suite: str) -> list[dict[str, Any]]:
    """The tests that the entries of a suite become, with nothing left behind."""
    found = conductor_from(HEAD + suite)
    assert [each for each in found.remarks if each.is_loss] == []
    value: Any = read_document(found.text, "").value
    tests: list[dict[str, Any]] = value["tests"]
    return tests


def reasons(suite: str) -> list[str]:
    found = conductor_from(HEAD + suite)
    return [each.reason for each in (*entries_of(HEAD + suite).remarks, *found.remarks)]


def response_of(expect: str) -> Any:
    (test,) = made_of(f"tools: [{{name: n, tool: t, expect: {expect}}}]\n")
    return test["expect"]["response"]


def test_assertions_become_one_tree() -> None:
    expect = """[
      {target: result.isError, matcher: {exact: false}},
      {target: "result.content[0].text", matcher: {contains: a}},
      {target: "result.content[1].text", matcher: {type: string}},
      {target: "result.content[0].text", matcher: {length: 3}},
      {target: result.structuredContent, matcher: {partial: {a: [1]}}}]"""
    texts = [{"text": {"match:all": ["match:contains:a", "match:length:3"]}}]
    texts.append({"text": "match:type:string"})  # type: ignore[dict-item]  # either may stand there
    whole = {"isError": False, "content": texts, "structuredContent": {"a": [1]}}
    assert response_of(expect) == {"match:partial": {"result": whole}}


def test_what_cannot_stand_in_the_tree_is_pulled_out() -> None:
    expect = """[
      {target: "result.content[1].text", matcher: {exact: a}},
      {target: "result.content[*].type", matcher: {exact: [text]}},
      {target: result.a, matcher: {not: {contains: b}}}]"""
    assert response_of(expect) == {
        "match:all": [
            {"match:extractField": "result.content[1].text", "value": "a"},
            {"match:extractField": "result.content[*].type", "value": ["text"]},
            {"match:extractField": "result.a", "value": "match:not:contains:b"},
        ]
    }
    assert response_of("[{target: result, matcher: {exact: {a: 1}}}]") == {
        "match:extractField": "result",
        "value": {"a": 1},
    }


def test_what_must_not_be_there_stands_in_the_tree_only_beside_others() -> None:
    missing = "{target: result.a, matcher: {exists: false}}"
    other = "{target: result.b, matcher: {exact: 1}}"
    assert response_of(f"[{missing}, {other}]") == {
        "match:partial": {"result": {"a": "match:not:exists", "b": 1}}
    }
    no_object = {"match:any": ["match:not:exists", "match:not:type:object"]}
    assert response_of(f"[{missing}]") == {
        "match:any": [
            {"match:partial": {"result": {"a": "match:not:exists"}}},
            {"match:partial": {"result": no_object}},
        ]
    }
    assert response_of("[{target: error, matcher: {exists: false}}]") == {
        "match:partial": {"error": "match:not:exists"}
    }


def test_without_expectations_a_call_must_succeed() -> None:
    tool, resource = made_of("tools: [{name: a, tool: t}]\nresources: [{name: b, uri: 'c:d'}]\n")
    either = {"match:any": [False, "match:not:exists"]}
    assert tool["expect"] == {"response": {"match:partial": {"result": {"isError": either}}}}
    assert resource["expect"] == {"response": {"match:partial": {"result": "match:type:object"}}}


def test_defaults_and_options_are_put_into_every_entry() -> None:
    tests = made_of(
        "defaults: {tags: [all], timeout: 5s, max_duration_ms: 900}\n"
        "run_options: {retries: 2}\n"
        "tools:\n"
        "  - {name: a, tool: t, tags: [own], retries: 0, expect: {max_duration_ms: 100}}\n"
        "  - {name: b, tool: t}\n"
    )
    marks = [{key: test[key] for key in ("tags", "timeout", "retries")} for test in tests]
    assert marks == [
        {"tags": ["all", "own"], "timeout": "5s", "retries": 0},
        {"tags": ["all"], "timeout": "5s", "retries": 2},
    ]
    assert [test["expect"]["performance"] for test in tests] == [
        {"maxResponseTime": 100},
        {"maxResponseTime": 900},
    ]


def test_variables_are_put_in_and_texts_that_look_like_them_stay() -> None:
    (test,) = made_of(
        'variables: {order: A-17, count: 3, odd: "$${x}", all: {n: "${count}"}}\n'
        'tools: [{name: a, tool: t, args: {id: "${order}/${count}", n: "${count}", o: "${odd}", '
        'all: "${all}", lit: "$${order}"}}]\n'
    )
    assert test["arguments"] == {
        "id": "A-17/3",
        "n": 3,
        "o": "${x}",
        "all": {"n": 3},
        "lit": "${order}",
    }


def test_who_uses_the_environment_is_left_behind() -> None:
    assert reasons(
        "variables: {region: {from_env: REGION, default: eu}, deep: 'a ${region}'}\n"
        "tools: [{name: a, tool: '${region}'}, {name: b, tool: t, args: {x: '${deep}'}}]\n"
    ) == [
        "it uses region, which comes from the environment",
        "it uses deep, which comes from the environment",
    ]


def test_steps_become_tests_in_their_order_and_share_what_they_capture() -> None:
    tests = made_of(
        "tools:\n"
        "  - name: all of it\n"
        "    tags: [slow]\n"
        "    setup: [{tool: open, capture: {id: 'result.list[0].id'}}]\n"
        "    steps:\n"
        "      - {name: uses it, tool: use, args: {id: '${id}', lit: '$${id}'}}\n"
        "      - {uri: 'x:${id}'}\n"
        "    teardown: [{tool: close, args: {id: '${id}'}}]\n"
    )
    assert [test["it"] for test in tests] == [
        "all of it (setup 1)",
        "uses it",
        "all of it (step 2)",
        "all of it (teardown 1)",
    ]
    assert [test["tags"] for test in tests] == [["slow"]] * 4
    assert tests[0]["capture"] == {"id": "result.list[0].id"}
    assert tests[1]["arguments"] == {"id": "${id}", "lit": "$${id}"}
    assert tests[2]["resource"] == "x:${id}"


def test_imported_files_are_carried_over_as_well() -> None:
    main = "imports: [lib/other.yaml]\nvariables: {who: Ada}\n" + HEAD
    other = "variables: {who: Bob}\ntools: [{name: b, tool: t, args: {who: '${who}'}}]\n"
    found = entries_of(main, **{"./lib/other.yaml": other})
    (draft,) = found.by_server["s"]
    assert (draft.file, draft.steps[0]["args"]) == ("lib/other.yaml", {"who": "Ada"})


def test_messages_are_noted_and_lost() -> None:
    found = conductor_from(
        HEAD + "tools: [{name: n, tool: t, expect: "
        "[{target: result, matcher: {type: object}, message: it is there}]}]\n"
    )
    message, _ = found.remarks
    assert (message.reason, message.is_loss) == (
        "its message 'it is there' has no place here",
        False,
    )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("{name: n, tool: t, max_response_tokens: 5}", "only a suite counts tokens"),
        (
            "{name: n, tool: t, expect: {threshold: 0.5, assertions: "
            "[{target: result, matcher: {type: object}}]}}",
            "with a threshold not all of its assertions must hold",
        ),
        (
            "{name: n, tool: t, expect: [{target: duration_ms, matcher: {lt: 5}}]}",
            "of a duration only gte and lte can be said here",
        ),
        (
            "{name: n, tool: t, expect: [{target: stderr, matcher: {contains: a}}, "
            "{target: stderr, matcher: {contains: b}}]}",
            "it asserts more than one thing of stderr",
        ),
        (
            "{name: n, retries: 1, steps: [{tool: t}, {tool: t}]}",
            "its steps are tried again together, and here one by one",
        ),
        (
            "{name: n, tool: t, expect: [{target: 'result[\"a.b\"]', matcher: {exact: [1]}}]}",
            'the key "a.b" cannot stand in a path',
        ),
        (
            "{name: n, tool: t, expect: [{target: 'result[0]', matcher: {exists: false}}]}",
            "an item that need not be there has no counterpart among patterns",
        ),
    ],
)
def test_an_entry_that_no_conductor_file_has_is_left_behind(entry: str, reason: str) -> None:
    assert reasons(f"tools: [{entry}]\n") == [reason]


def test_other_lanes_and_gates_are_left_behind_one_by_one() -> None:
    found = entries_of(
        HEAD + "tools: [{name: n, tool: t}]\n"
        "agents: [{name: refunds, prompt: p, model: m}]\n"
        "compliance: [{name: handshake, check: initialize}]\n"
        "security: {scan: true}\ncoverage: {tools: 80}\nperformance: {p95_ms: 5}\n"
        "run_options: {parallel: 2}\n"
    )
    assert [(each.line, each.what, each.reason.split(",")[0]) for each in found.remarks] == [
        (3, "refunds", "agents are part of a suite only"),
        (4, "handshake", "compliance are part of a suite only"),
        (5, "security", "this is part of a suite only"),
        (6, "coverage", "what a whole run must reach is said on the command line: --min-coverage"),
        (7, "performance", "what a whole run must reach cannot be said in this format"),
        (8, "run_options", "run it with --parallel 2 instead"),
    ]


def test_a_test_that_the_reader_of_conductor_files_refuses_is_left_behind() -> None:
    drafts = entries_of(HEAD + "tools: [{name: a, tool: t}, {name: b, tool: t}]\n").by_server["s"]

    def check(text: str) -> str:
        return "it is odd" if "it: b" in text else mistake_in_conductor(text)

    found = write_conductor("d", SERVER, drafts, lambda file: setting(), check)
    losses = [(each.what, each.reason) for each in found.remarks if each.is_loss]
    assert losses == [("b", "it is odd")]
    assert (found.carried, "it: b" in found.text) == (1, False)


# Contracts


def test_an_entry_becomes_a_case_with_a_request_and_its_answer() -> None:
    found = cases_from(
        HEAD + "tools:\n"
        "  - {name: a, tool: t, tags: [x], timeout: 5s, "
        "expect: [{target: result.a, matcher: {exact: 1}}]}\n"
        "prompts:\n"
        "  - {name: b, prompt: p, expect: [{target: result, matcher: {exact: {a: []}}}]}\n"
    )
    assert [each for each in found.remarks if each.is_loss] == []
    assert found.text == (
        "_server:\n  name: s\n  command: run\n  args: []\n"
        "---\n"
        'case: a\n_tags: [x]\n_timeout: "5s"\n'
        'in: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: t, arguments: {}}}\n'
        'out: {jsonrpc: "2.0", id: 1, result: {a: 1}}\n'
        "---\n"
        "case: b\n_match: exact\n"
        'in: {jsonrpc: "2.0", id: 2, method: prompts/get, params: {name: p}}\n'
        'out: {jsonrpc: "2.0", id: 2, result: {a: []}}\n'
    )


def test_steps_become_turns_of_one_case() -> None:
    found = cases_from(HEAD + "tools: [{name: a, steps: [{tool: t}, {tool: u}]}]\n")
    value: Any = read_document(found.text.partition("---\n")[2], "").value
    assert list(value) == ["case", "_patterns", "in_1", "out_1", "in_2", "out_2"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            "capture: {a: result.a}",
            "what it captures is put into texts, which a contract cannot do",
        ),
        (
            "expect: [{target: stderr, matcher: {contains: a}}]",
            "a contract asks nothing of stderr, of times and of notifications",
        ),
        (
            "expect: [{target: duration_ms, matcher: {gte: 0}}]",
            "it asserts nothing of the answer",
        ),
        (
            "expect: [{target: error, matcher: {exists: false}}]",
            "it is not about the result alone or the error alone",
        ),
        ("retries: 2", "retries: a case is tried as often as the run says"),
    ],
)
def test_what_no_contract_has_is_left_behind(entry: str, reason: str) -> None:
    found = cases_from(HEAD + f"tools: [{{name: n, tool: t, {entry}}}]\n")
    assert [each.reason for each in found.remarks if each.is_loss] == [reason]


# What only a suite does


@pytest.mark.parametrize("become", [conductor_from, cases_from])
def test_that_tools_are_no_longer_held_to_their_schemas_is_noted_once(
    become: Callable[[str], ConductorText | CasesText],
) -> None:
    found = become(HEAD + "tools: [{name: a, tool: t}, {name: b, tool: t}]\n")
    (note,) = found.remarks
    assert (note.file, note.line, note.what, note.is_loss) == ("mcptest.yaml", 0, "", False)
    assert note.reason == (
        "structured output is no longer held against the schema of its tool, "
        "which only a suite does without being asked"
    )


@pytest.mark.parametrize("become", [conductor_from, cases_from])
def test_where_no_call_of_a_tool_is_carried_over_no_schema_is_lost(
    become: Callable[[str], ConductorText | CasesText],
) -> None:
    assert become(HEAD + "prompts: [{name: a, prompt: p}]\n").remarks == ()
    found = become(HEAD + "tools: [{name: a, tool: t, max_response_tokens: 5}]\n")
    assert [each.is_loss for each in found.remarks] == [True]
