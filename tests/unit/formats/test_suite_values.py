"""Values in suites: variables, secrets, `${name}`, and what steps capture for later ones."""

from __future__ import annotations

import pytest
from case_tables import each_case
from suite_reading import (
    FOLDER,
    SERVER,
    case_of,
    entry,
    mistakes,
    refusals,
    reported_at,
    sent,
    suites_of,
    warnings_of,
)

from mcptest.core.plan import Case, Step
from mcptest.engine.loading import PlaceholderEnvironment
from mcptest.formats.suite.loader import SuiteContext, load_suite
from mcptest.matching.compare import is_met
from mcptest.matching.registry import builtin_registry

VARIABLES = """\
servers: {shop: {command: [x]}}
variables:
  order: A-17
  count: 3
  deep: {list: [1, "${count}"], text: "order ${order}"}
  none: null
"""


def arguments(written: str, head: str = VARIABLES, **environment: str) -> object:
    """What a tool is given by a test that writes this."""
    text = entry(f"name: n, tool: t, args: {{a: {written}}}", head=head)
    [step] = case_of(text, **environment).steps
    return sent(step)["params"]["arguments"]["a"]


# References


@each_case(
    ("written", "value"),
    [
        ("'${order}'", "A-17"),
        ("'${count}'", 3),
        ("'${none}'", None),
        ("'${deep}'", {"list": [1, 3], "text": "order A-17"}),
        ("'no. ${count} of ${order}'", "no. 3 of A-17"),
        ("'${none}!'", "null!"),
        ("'${deep} x'", '{"list":[1,3],"text":"order A-17"} x'),
        ("'$${order}'", "${order}"),
        ("'$$${order}'", "$${order}"),
        ("'$order'", "$order"),
        ("['${count}', {'${order}': '${order}'}]", [3, {"A-17": "A-17"}]),
        ("'${CONFIG_DIR}/data'", f"{FOLDER}/data"),
    ],
)
def test_a_reference_alone_is_the_value_and_inside_a_text_it_is_text(
    written: str, value: object
) -> None:
    assert arguments(written) == value


def test_references_may_be_in_calls_expectations_budgets_and_servers() -> None:
    text = """\
servers:
  shop: {command: ["${program}", "${count}"], cwd: "${place}", env: {N: "${count}", F: "${flag}"},
         timeout: "${time}", ready_pattern: "${count}"}
variables: {program: python3, count: 3, flag: true, place: sub, time: 250, what: find, most: 9}
tools:
  - name: n
    tool: "${what}_order"
    expect:
      assertions: [{target: "result.${what}", matcher: {exact: "${count}"}, message: "${what}"}]
      max_response_tokens: "${most}"
resources: [{name: r, uri: "x:${what}"}]
prompts: [{name: p, prompt: "${what}", args: {n: "${count}", t: "${what}!"}}]
"""
    [suite] = suites_of(text)
    spec = suite.server
    assert spec is not None
    assert (spec.command, spec.cwd) == (("python3", "3"), f"{FOLDER}/sub")
    assert (spec.env, spec.timeout_s, spec.ready_pattern) == ({"N": "3", "F": "true"}, 0.25, "3")
    tool, resource, prompt = (case.steps[0] for case in suite.cases)
    assert sent(tool)["params"]["name"] == "find_order"
    [assertion] = tool.expectation.assertions
    assert (assertion.target, assertion.check, assertion.message) == ("result.find", 3, "find")
    assert tool.expectation.max_tokens == 9
    assert sent(resource)["params"] == {"uri": "x:find"}
    # What a prompt is given is text, whatever the value is.
    assert sent(prompt)["params"]["arguments"] == {"n": "3", "t": "find!"}


def test_a_whole_matcher_may_be_a_variable_of_the_file() -> None:
    head = "servers: {s: {command: [x]}}\nvariables: {greets: {contains: Hello}}\n"
    keys = "name: n, tool: t, expect: [{target: result, matcher: '${greets}'}]"
    [assertion] = case_of(entry(keys, head=head)).steps[0].expectation.assertions
    assert is_met(assertion.check, "Hello you")
    assert not is_met(assertion.check, "Bye")


@pytest.mark.parametrize(
    ("written", "code", "message"),
    [
        ("§'${ordr}'", "F020", "nothing is known as 'ordr'; did you mean ${order}?"),
        ("§'${}'", "F020", "nothing is known as ''"),
        ("§'a ${order of} b'", "F020", "nothing is known as 'order of'"),
        ("[1, §'${x.y}']", "F020", "nothing is known as 'x.y'"),
        ("{b: §'${HOME}'}", "F020", "nothing is known as 'HOME'"),
    ],
)
def test_an_unknown_name_is_reported_at_its_place(written: str, code: str, message: str) -> None:
    text = entry(f"name: n, tool: t, args: {{a: {written}}}", head=VARIABLES)
    assert reported_at(text) == (code, message)


def test_every_unknown_name_is_reported_and_the_help_lists_the_known_ones() -> None:
    text = entry("name: n, tool: '${a1}', args: {x: '${b2} ${c3}'}", head=VARIABLES)
    found = refusals(text)
    assert [each.message for each in found] == [
        "nothing is known as 'a1'",
        "nothing is known as 'b2'",
        "nothing is known as 'c3'",
    ]
    there = "there are: CONFIG_DIR, count, deep, none, order; "
    assert found[0].help == there + "to mean this very text, write $${a1}"


def test_the_help_says_how_a_suite_reads_an_environment_variable() -> None:
    (found,) = refusals(entry("name: n, tool: '${API_KEY}'", head=VARIABLES))
    declared = "declare variables: {x: {secret_env: API_KEY}} and write ${x}; there are: "
    assert found.help.startswith(f"for the environment variable, {declared}")


def test_an_unclosed_reference_is_kept_literally_with_a_warning() -> None:
    words = "a ${ that is never closed is taken as written"
    text = entry("name: n, tool: t, args: {a: 'x ${order'}")
    assert warnings_of(text) == [("W001", 3, 34, words)]
    assert warnings_of(entry("name: n, tool: t, args: {a: 'x $ { order'}")) == []


def test_two_keys_that_become_one_are_an_error() -> None:
    text = entry("name: n, tool: t, args: {A-17: 1, '${order}': 2}", head=VARIABLES)
    [found] = refusals(text)
    assert (found.code, found.message) == ("F003", 'the key "A-17" would be there twice')


# Variables


@each_case(
    ("variables", "code", "message"),
    [
        ("{§9a: x}", "F009", "'9a' is not a name: letters, digits and _ only, not first a digit"),
        ("{§a-b: x}", "F009", "'a-b' is not a name: letters, digits and _ only, not first a digit"),
        ("{§CONFIG_DIR: x}", "F003", "CONFIG_DIR is the folder of the file, and cannot be set"),
        (
            "{a: §'${b}', b: 1}",
            "F020",
            "'b' is set further down; a value is known only below the place",
        ),
        (
            "{a: §'${a}'}",
            "F020",
            "'a' is set further down; a value is known only below the place",
        ),
        ("{a: {from_env: §5}}", "F008", '"from_env" must be text and is a number'),
        ("{a: {from_env: §''}}", "F009", '"from_env" is empty'),
        ("{a: {from_env: SET, default: §5}}", "F008", '"default" must be text and is a number'),
        (
            "{a: {secret_env: SET, §default: x}}",
            "F006",
            "a secret has no default: it would be written in this file",
        ),
        (
            "{a: {from_env: SET, §secret_env: SET}}",
            "F003",
            "from_env and secret_env cannot both be meant",
        ),
        (
            "{a: {from_env: SET, §fallback: x}}",
            "F006",
            'a value from the environment has no key "fallback"',
        ),
        (
            "{a: {§from_evn: SET, default: x}}",
            "F006",
            'a value from the environment has no key "from_evn"; did you mean "from_env"?',
        ),
        (
            "{a: {§secretEnv: SET}}",
            "F006",
            'a value from the environment has no key "secretEnv"; did you mean "secret_env"?',
        ),
    ],
)
def test_a_wrong_variable_is_reported(variables: str, code: str, message: str) -> None:
    text = f"{SERVER}variables: {variables}\ntools: [{{name: n, tool: t}}]\n"
    before = text[: text.index("§")]
    [found] = refusals(text.replace("§", ""), None, SET="value")
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert ((found.code, found.message), (found.line, found.column)) == ((code, message), place)


@pytest.mark.parametrize(
    "value", ["{from: Oslo, to: Rome}", "{default: x}", "{from_end: 1, to_end: 2}", "{}", "[]"]
)
def test_a_mapping_that_is_not_a_source_is_a_plain_value(value: str) -> None:
    text = f"{SERVER}variables: {{a: {value}}}\ntools: [{{name: n, tool: t}}]\n"
    assert len(suites_of(text)) == 1


def test_an_unset_variable_with_a_default_is_its_default_and_a_set_one_is_not() -> None:
    head = SERVER + "variables: {region: {from_env: REGION, default: eu}}\n"
    assert arguments("'${region}'", head) == "eu"
    assert arguments("'${region}'", head, REGION="us") == "us"
    assert arguments("'${region}'", head, REGION="") == ""


def test_secrets_are_known_to_the_server_and_others_are_not() -> None:
    text = (
        "servers: {s: {command: [x], env: {K: {secret_env: KEY}}}}\n"
        "variables: {a: {secret_env: TOKEN}, b: {from_env: REGION}, c: {from_env: DB_PASSWORD}}\n"
        "tools: [{name: n, tool: t}]\n"
    )
    given = {"TOKEN": "tok-1", "REGION": "eu-west", "DB_PASSWORD": "hunter2!", "KEY": "key-2"}
    [suite] = suites_of(text, None, **given)
    assert suite.server is not None
    assert suite.server.secrets == ("tok-1", "hunter2!", "key-2")


def test_without_a_server_to_start_no_variable_needs_to_be_set() -> None:
    text = "servers: {s: {command: [x], env: {K: {secret_env: KEY}}}}\n"
    text += "variables: {a: {from_env: A}, b: {from_env: B, default: d}}\n"
    text += "tools: [{name: n, tool: '${b}'}]\n"
    registry = builtin_registry()
    context = SuiteContext(
        environment=PlaceholderEnvironment({}),
        folder=FOLDER,
        read_beside=lambda name: "",
        registry_with=lambda plugins: registry,
    )
    [suite], _ = load_suite(text, "mcptest.yaml", context)
    assert suite.cases[0].steps[0].tool == "d"


# Captures


def steps_of(second: str, first: str = "tool: a, capture: {id: result.id, n: result.n}") -> Case:
    return case_of(entry(f"name: n, steps: [{{{first}}}, {{{second}}}]", head=VARIABLES))


def filled(second: str, **values: object) -> Step:
    """The second step of a test whose first captures `id` and `n`, with these values."""
    template = steps_of(second).steps[1].template
    assert template is not None
    return template.fill(values)


def test_a_step_waits_for_what_an_earlier_one_captures() -> None:
    step = steps_of("tool: b, args: {x: '${id}', y: '${order} ${n}'}").steps[1]
    assert step.template is not None
    assert step.template.needs == ("id", "n")
    step = step.template.fill({"id": [1], "n": 5})
    assert sent(step)["params"]["arguments"] == {"x": [1], "y": "A-17 5"}


def test_a_step_that_needs_nothing_waits_for_nothing() -> None:
    assert steps_of("tool: b, args: {x: '${order}'}").steps[1].template is None


def test_a_value_captured_by_another_entry_does_not_replace_a_variable() -> None:
    step = filled("tool: b, args: {x: '${id}', y: '${order}'}", id=1, n=2, order="theirs")
    assert sent(step)["params"]["arguments"] == {"x": 1, "y": "A-17"}


def test_a_captured_value_counts_more_than_a_variable_of_its_name() -> None:
    case = steps_of("tool: b, args: {x: '${order}'}", "tool: a, capture: {order: result}")
    template = case.steps[1].template
    assert template is not None
    assert sent(template.fill({"order": "new"}))["params"]["arguments"] == {"x": "new"}


def test_captured_values_may_be_in_expectations_and_prompts() -> None:
    expect = (
        "expect: [{target: result, matcher: {all: [{contains: '${id}'}, {not: {exact: '${n}'}}]}}]"
    )
    [assertion] = filled(f"tool: b, {expect}", id="x", n="x!").expectation.assertions
    assert is_met(assertion.check, "a x")
    assert not is_met(assertion.check, "x!")
    prompt = filled("prompt: b, args: {x: '${n}'}", id="x", n=5)
    assert sent(prompt)["params"]["arguments"] == {"x": "5"}


def test_a_captured_value_is_compared_as_it_is_even_if_it_looks_like_a_matcher() -> None:
    step = filled(
        "tool: b, expect: [{target: result, matcher: {exact: '${id}'}}]", id={"contains": ""}, n=0
    )
    [assertion] = step.expectation.assertions
    assert not is_met(assertion.check, "anything")
    assert is_met(assertion.check, {"contains": ""})
    step = filled(
        "tool: b, expect: [{target: result, matcher: {exact: '${id}'}}]", id="match:contains:", n=0
    )
    assert not is_met(step.expectation.assertions[0].check, "anything")


@each_case(
    "expect",
    [
        "[{target: result, matcher: §'${id}'}]",
        "[{target: §'result.${id}', matcher: {exact: 1}}]",
        "[{target: result, matcher: {not: §'${id}'}}]",
        "[{target: result, matcher: {all: §'${id}'}}]",
        "[{target: result, matcher: {any: [{exact: 1}, §'${id}']}}]",
        "[{target: result, matcher: {pattern: §'${id}'}}]",
        "[{target: result, matcher: {pattern: §'match:${id}:x'}}]",
        "[{target: result, matcher: {pattern: §'not:${id}'}}]",
        "[{target: result, matcher: {schema: §'${id}.json'}}]",
        "[{target: result, matcher: {plugin: {name: §'${id}', method: m}}}]",
        "[{target: result, matcher: {plugin: {name: g, method: §'${id}'}}}]",
        "{assertions: §'${id}'}",
        "[§'${id}']",
    ],
)
def test_captured_values_cannot_choose_what_is_checked(expect: str) -> None:
    steps = f"[{{tool: a, capture: {{id: result}}}}, {{tool: b, expect: {expect}}}]"
    text = entry(f"name: n, steps: {steps}")
    before = text[: text.index("§")]
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    message = "a captured value can be what a matcher compares with, not choose one"
    assert ("F013", *place, message) in mistakes(text.replace("§", ""))


@pytest.mark.parametrize(
    "matcher",
    [
        "{pattern: 'contains:${id}'}",
        "{schema: {const: '${id}'}}",
        "{partial: {a: '${id}'}}",
        "{one-of: ['${id}']}",
        "{gt: '${n}'}",
    ],
)
def test_captured_values_may_be_compared_with(matcher: str) -> None:
    case = steps_of(f"tool: b, expect: [{{target: result, matcher: {matcher}}}]")
    assert case.steps[1].template is not None


@pytest.mark.parametrize(
    ("second", "values", "message"),
    [
        (
            "tool: b, expect: [{target: result, matcher: {gt: '${n}'}}]",
            {"n": "many"},
            'the matcher "gt" takes a number, not a string',
        ),
        ("tool: '${id}'", {"id": 5}, '"tool" must be text and is a number'),
        ("tool: b, args: {a: 1, '${id}': 2}", {"id": "a"}, 'the key "a" would be there twice'),
    ],
)
def test_a_captured_value_with_which_a_step_makes_no_sense_is_refused_when_it_is_known(
    second: str, values: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(")):
        filled(second, **({"id": "x", "n": 1} | values))


@pytest.mark.parametrize(
    ("steps", "code", "message"),
    [
        (
            "[{tool: a, args: {x: §'${id}'}, capture: {id: result}}]",
            "F020",
            "nothing is known as 'id'",
        ),
        (
            "[{tool: a, args: {x: §'${id}'}}, {tool: b, capture: {id: result}}]",
            "F020",
            "nothing is known as 'id'",
        ),
        (
            "[{tool: a, capture: {id: result}}, {tool: b, args: {x: §'${ids}'}}]",
            "F020",
            "nothing is known as 'ids'; did you mean ${id}?",
        ),
        (
            "[{tool: a, capture: {id: result}}, {tool: b, args: {x: '${id}'}, §wht: 1}]",
            "F006",
            'a step has no key "wht"',
        ),
        (
            "[{tool: a, capture: {id: result}}, "
            "{tool: b, expect: [{target: result, matcher: {exact: '${id}', §nope: 1}}]}]",
            "F012",
            'unknown matcher "nope"',
        ),
    ],
)
def test_the_mistakes_of_steps_with_captured_values_are_reported_when_the_file_is_read(
    steps: str, code: str, message: str
) -> None:
    assert reported_at(entry(f"name: n, steps: {steps}")) == (code, message)


def test_values_captured_by_one_entry_are_unknown_in_the_next() -> None:
    text = SERVER + (
        "tools:\n  - {name: a, tool: t, capture: {id: result}}\n"
        "  - {name: b, tool: t, args: {x: §'${id}'}}\n"
    )
    assert reported_at(text) == ("F020", "nothing is known as 'id'")


def test_two_keys_with_captured_values_may_turn_out_to_be_different() -> None:
    step = filled("tool: b, args: {'${id}': 1, '${n}': 2}", id="x", n="y")
    assert sent(step)["params"]["arguments"] == {"x": 1, "y": 2}


def test_two_keys_that_become_one_beside_a_captured_value_are_reported_once() -> None:
    steps = "{tool: a, capture: {id: result}}, {tool: b, args: {A-17: 1, '${order}': '${id}'}}"
    [found] = refusals(entry(f"name: n, steps: [{steps}]", head=VARIABLES))
    assert (found.code, found.message) == ("F003", 'the key "A-17" would be there twice')


def test_the_name_of_a_tool_may_be_a_captured_value() -> None:
    assert filled("tool: 'b_${id}'", id="x", n=0).tool == "b_x"
