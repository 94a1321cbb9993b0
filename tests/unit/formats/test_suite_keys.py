"""Every key of a suite is read: what it says, and what holds when it is not there."""

from __future__ import annotations

import pytest
from suite_reading import (
    FILE,
    FOLDER,
    SERVER,
    case_of,
    entry,
    load,
    sent,
    step_of,
    suites_of,
)

from mcptest.core.plan import Case, Gates, Limits, Performance, SavedValue, ServerSpec

TEST = "tools: [{name: a, tool: t}]\n"


def server_of(keys: str, **environment: str) -> ServerSpec:
    """The server of a suite that has these keys beside its command."""
    text = f"servers: {{s: {{command: [x], {keys}}}}}\n{TEST}"
    [suite] = suites_of(text, None, **environment)
    assert suite.server is not None
    return suite.server


# The file


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("", FILE),
        ("name: Shop\n", "Shop"),
        ("description: The shop\n", "The shop"),
        ("name: Shop\ndescription: The shop\n", "Shop"),
        ("$schema: suite.json\n", FILE),
    ],
)
def test_a_suite_is_called_what_it_says_or_what_its_file_is(head: str, name: str) -> None:
    [suite] = suites_of(head + SERVER + TEST)
    assert (suite.name, suite.file, suite.format) == (name, FILE, "suite")
    assert (suite.gates, suite.parallel) == (None, None)


def test_json_is_read_as_well() -> None:
    [suite] = suites_of(
        '{"servers": {"s": {"command": ["x"]}}, "prompts": [{"name": "p", "prompt": "q"}]}'
    )
    assert [case.name for case in suite.cases] == ["p"]


def test_a_file_becomes_one_suite_for_each_server_in_the_order_of_first_appearance() -> None:
    text = """\
servers: {a: {command: [x]}, b: {command: [y]}, c: {command: [z]}}
resources: [{name: r, server: a, uri: "x:y"}]
tools:
  - {name: t1, server: c, tool: t}
  - {name: t2, server: a, tool: t}
  - {name: t3, server: c, tool: t}
prompts: [{name: p, server: c, prompt: q}]
compliance: [{name: k, server: c, check: ping}]
"""
    found = [
        (suite.server.name if suite.server else "", [case.name for case in suite.cases])
        for suite in suites_of(text)
    ]
    assert found == [("a", ["r", "t2"]), ("c", ["t1", "t3", "p", "k"])]


def test_conformance_checks_run_last_wherever_they_are_written() -> None:
    text = SERVER + "compliance: [{name: k, check: ping}]\nresources: [{name: r, uri: 'x:y'}]\n"
    [suite] = suites_of(text)
    assert [(case.name, case.check) for case in suite.cases] == [("r", ""), ("k", "ping")]


# Servers


def test_a_server_is_its_command_in_the_folder_of_the_file_and_nothing_else_is_needed() -> None:
    assert server_of("") == ServerSpec(
        name="s", command=("x",), cwd=FOLDER, env={}, is_of_suite=True
    )


def test_every_key_of_a_server_is_read() -> None:
    spec = server_of(
        "env: {A: b}, inherit_env: false, cwd: sub, startup_timeout: 7s, ready_pattern: up, "
        "timeout: 250, protocol_version: 2025-06-18, isolation: test, max_line_bytes: 99, "
        "client: {roots: ['file:///r']}"
    )
    assert spec == ServerSpec(
        name="s",
        command=("x",),
        cwd=f"{FOLDER}/sub",
        is_of_suite=True,
        env={"A": "b"},
        inherit_env=False,
        startup_timeout_s=7.0,
        ready_pattern="up",
        timeout_s=0.25,
        protocol_version="2025-06-18",
        isolation="test",
        limits=Limits(max_line_bytes=99),
        client=spec.client,
    )
    assert spec.client.capabilities == {"roots": {}}


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        ("", FOLDER),
        ("cwd: .", FOLDER),
        ("cwd: sub/../deep/", f"{FOLDER}/deep"),
        ("cwd: ../pl", "/home/me/pl"),
        ("cwd: /elsewhere", "/elsewhere"),
        ("cwd: '${CONFIG_DIR}/x'", f"{FOLDER}/x"),
    ],
)
def test_a_working_folder_is_definite_and_taken_from_the_folder_of_the_file(
    cwd: str, expected: str
) -> None:
    assert server_of(cwd).cwd == expected


def test_a_package_runner_gets_time_to_fetch() -> None:
    [suite] = suites_of(f"servers: {{s: {{command: [npx, some-server]}}}}\n{TEST}")
    assert suite.server is not None
    assert suite.server.startup_timeout_s == 20.0


@pytest.mark.parametrize(
    ("env", "value", "secrets"),
    [
        ("A: plain", "plain", ()),
        ("A: {from_env: HERE}", "here!", ()),
        ("A: {from_env: NOT_HERE, default: spare}", "spare", ()),
        ("A: {from_env: HERE, default: spare}", "here!", ()),
        ("A: {secret_env: HERE}", "here!", ("here!",)),
        ("A: {from_env: API_TOKEN}", "tok-4711-tok", ("tok-4711-tok",)),
    ],
)
def test_a_variable_of_a_server_is_a_string_or_read_from_the_environment(
    env: str, value: str, secrets: tuple[str, ...]
) -> None:
    spec = server_of(f"env: {{{env}}}", HERE="here!", API_TOKEN="tok-4711-tok")
    assert (spec.env, spec.secrets) == ({"A": value}, secrets)


# Calls


@pytest.mark.parametrize(
    ("lane", "keys", "method", "params"),
    [
        ("tools", "tool: t", "tools/call", {"name": "t", "arguments": {}}),
        ("tools", "tool: t, args: {}", "tools/call", {"name": "t", "arguments": {}}),
        (
            "tools",
            "tool: t, args: {a: [1, {b: null}]}",
            "tools/call",
            {"name": "t", "arguments": {"a": [1, {"b": None}]}},
        ),
        ("resources", "uri: 'x:y'", "resources/read", {"uri": "x:y"}),
        ("prompts", "prompt: p", "prompts/get", {"name": "p"}),
        (
            "prompts",
            "prompt: p, args: {a: '1'}",
            "prompts/get",
            {"name": "p", "arguments": {"a": "1"}},
        ),
    ],
)
def test_an_entry_calls_what_its_lane_is_about(
    lane: str, keys: str, method: str, params: dict[str, object]
) -> None:
    step = step_of(keys, lane)
    assert sent(step) == {"method": method, "params": params}
    assert step.tool == ("t" if lane == "tools" else "")
    assert step.use is not None


def test_an_entry_without_marks_has_none() -> None:
    case = case_of(entry("name: n, tool: t"))
    assert case == Case(name="n", line=3, steps=case.steps)
    assert case.steps[0].label == ""


def test_every_mark_of_an_entry_is_read() -> None:
    case = case_of(
        entry("name: n, tool: t, tags: [x, y], skip: not yet, timeout: 2s, retries: 3, only: false")
    )
    assert case.but(steps=()) == Case(
        name="n", line=3, tags=("x", "y"), skip="not yet", timeout_s=2.0, retries=3
    )


def test_one_tag_need_not_be_a_list_and_true_is_not_a_skip_reason() -> None:
    case = case_of(entry("name: n, tool: t, tags: x, skip: true"))
    assert (case.tags, case.skip) == (("x",), "")


def test_a_test_that_asks_to_be_the_only_one_is_warned_about() -> None:
    suites, warnings = load(entry("name: n, tool: t, only: true"))
    assert suites[0].cases[0].only
    assert [(each.code, each.line) for each in warnings] == [("W002", 3)]


def test_names_may_be_the_same_and_ids_are_not() -> None:
    text = SERVER + "tools: [{name: n, tool: t}, {name: n, tool: t}]\n"
    [suite] = suites_of(text)
    assert [case.steps[0].id for case in suite.cases] == [f"{FILE}#tools-1", f"{FILE}#tools-2"]


# Steps


STEPS = """\
servers: {shop: {command: [x]}}
tools:
  - name: n
    setup: [{tool: log_in}]
    steps:
      - {name: makes one, tool: create, args: {a: 1}, capture: {id: result.structuredContent.id}}
      - {uri: "x:y", max_duration_ms: 50}
      - {prompt: ask}
    teardown: [{tool: log_out}, {name: tidies up, tool: sweep}]
"""


def test_steps_setup_and_teardown_are_distinguished_by_labels_and_ids() -> None:
    case = case_of(STEPS)
    assert [(step.label, step.id) for step in (*case.steps, *case.teardown)] == [
        ("setup 1: tool log_in", f"{FILE}#tools-1/setup-1"),
        ("step 1: makes one", f"{FILE}#tools-1/steps-1"),
        ("step 2: uri x:y", f"{FILE}#tools-1/steps-2"),
        ("step 3: prompt ask", f"{FILE}#tools-1/steps-3"),
        ("teardown 1: tool log_out", f"{FILE}#tools-1/teardown-1"),
        ("teardown 2: tidies up", f"{FILE}#tools-1/teardown-2"),
    ]
    assert case.steps[1].captures == (
        SavedValue(
            name="id",
            path="result.structuredContent.id",
            steps=("result", "structuredContent", "id"),
        ),
    )


def test_a_single_call_with_setup_has_a_label_and_without_has_none() -> None:
    case = case_of(entry("name: n, tool: t, setup: [{tool: s}]"))
    assert [step.label for step in case.steps] == ["setup 1: tool s", "tool t"]
    case = case_of(entry("name: n, tool: t, teardown: [{tool: s}]"))
    assert [step.label for step in case.steps] == [""]


def test_a_call_of_an_entry_may_capture_for_its_teardown() -> None:
    keys = "name: n, tool: t, capture: {id: result.id}, teardown: [{tool: d, args: {id: '${id}'}}]"
    [teardown] = case_of(entry(keys)).teardown
    assert teardown.template is not None
    assert teardown.template.needs == ("id",)


# Defaults


DEFAULTS = """\
servers: {a: {command: [x]}, b: {command: [y]}}
defaults:
  server: b
  tags: [all]
  timeout: 3s
  retries: 2
  setup: [{tool: log_in}]
  teardown: [{tool: log_out}]
  max_duration_ms: 800
  max_response_tokens: 70
"""


def test_defaults_hold_for_every_entry_of_every_lane_that_says_nothing_else() -> None:
    text = DEFAULTS + "tools: [{name: n, tool: t}]\nresources: [{name: r, uri: 'x:y'}]\n"
    [suite] = suites_of(text)
    assert suite.server is not None
    assert suite.server.name == "b"
    for case in suite.cases:
        assert (case.tags, case.timeout_s, case.retries) == (("all",), 3.0, 2)
        assert case.steps[0].label == "setup 1: tool log_in"
        assert [step.label for step in case.teardown] == ["teardown 1: tool log_out"]
        before, call, after = (*case.steps, *case.teardown)
        assert call.expectation.performance == Performance(max_response_s=0.8)
        assert call.expectation.max_tokens == 70
        # Setup and teardown have no budget except their own.
        for step in (before, after):
            assert (step.expectation.performance, step.expectation.max_tokens) == (None, None)


def test_an_entry_overrides_defaults_and_adds_tags() -> None:
    text = DEFAULTS + (
        "tools:\n"
        "  - {name: n, tool: t, server: a, tags: [own, all], timeout: 1s, retries: 0,\n"
        "     setup: [{tool: s}], teardown: [{tool: e}], max_response_tokens: 5,\n"
        "     expect: {max_duration_ms: 10}}\n"
    )
    [suite] = suites_of(text)
    [case] = suite.cases
    assert suite.server is not None
    assert suite.server.name == "a"
    assert (case.tags, case.timeout_s, case.retries) == (("all", "own"), 1.0, 0)
    setup, call = case.steps
    assert (setup.label, case.teardown[0].label) == ("setup 1: tool s", "teardown 1: tool e")
    assert call.expectation.performance == Performance(max_response_s=0.01)
    assert call.expectation.max_tokens == 5


def test_default_budgets_are_those_of_every_step_that_has_none() -> None:
    text = DEFAULTS + (
        "tools: [{name: n, steps: [{tool: t}, {tool: t, max_duration_ms: 1}], "
        "setup: [{tool: s}], teardown: [{tool: e}]}]\n"
    )
    [suite] = suites_of(text)
    [case] = suite.cases
    limits = [step.expectation.performance for step in case.steps[1:]]
    assert limits == [Performance(max_response_s=0.8), Performance(max_response_s=0.001)]


def test_a_default_threshold_applies_to_assertions_and_never_to_the_success_of_a_bare_call() -> (
    None
):
    head = "servers: {a: {command: [x]}}\ndefaults: {threshold: 0.5}\ntools:\n"
    checked = "  - {name: n, tool: t, expect: [{target: result, matcher: {exact: 1}}]}\n"
    [suite] = suites_of(head + checked + "  - {name: m, tool: t}\n")
    weighed, bare = (case.steps[0].expectation for case in suite.cases)
    assert (weighed.threshold, bare.threshold) == (0.5, 1.0)


# What is asked of the whole run


def test_run_options_gates_and_their_absence() -> None:
    text = SERVER + TEST + "run_options: {parallel: 3, isolation: file, retries: 2}\n"
    text += "coverage: {tools: 80, total: 10.5}\nperformance: {p95_ms: 900, max_ms: 0.5}\n"
    [suite] = suites_of(text)
    assert suite.parallel == 3
    assert suite.cases[0].retries == 2
    assert suite.server is not None
    assert suite.server.isolation == "file"
    assert suite.gates == Gates(
        coverage={"tools": 80.0, "total": 10.5}, performance={"p95_ms": 900.0, "max_ms": 0.5}
    )


def test_a_server_and_an_entry_count_more_than_run_options() -> None:
    text = (
        "servers: {a: {command: [x], isolation: test}}\n"
        "run_options: {isolation: file, retries: 2}\n"
        "tools: [{name: n, tool: t, retries: 0}]\n"
    )
    [suite] = suites_of(text)
    assert suite.server is not None
    assert (suite.server.isolation, suite.cases[0].retries) == ("test", 0)


def test_one_kind_of_gate_alone_leaves_the_other_out() -> None:
    [suite] = suites_of(SERVER + TEST + "coverage: {prompts: 1}\n")
    assert suite.gates == Gates(coverage={"prompts": 1.0})
    [suite] = suites_of(SERVER + TEST + "performance: {mean_ms: 1}\n")
    assert suite.gates == Gates(performance={"mean_ms": 1.0})
