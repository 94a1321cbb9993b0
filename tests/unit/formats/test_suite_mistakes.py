"""Every mistake in a suite: its code, its place, its words, its help; all of them at once."""

from __future__ import annotations

import pytest
from case_tables import each_case
from suite_reading import SERVER, entry, mistakes, refusals, reported_at

TEST = "tools: [{name: a, tool: t}]\n"
TWO = "servers: {shop: {command: [x]}, bank: {command: [y]}}\n"
NOT_A_TIME = 'must be a number of milliseconds or a text such as "500ms" or "2s"'
CHECKS_NOTHING = "is empty: this test would check nothing"


def test_all_mistakes_of_a_file_are_reported_at_once_in_the_order_of_the_file() -> None:
    text = """\
nam: Shop
servers:
  shop:
    comand: [shop-server]
    timeout: soon
variables:
  9lives: cat
  order: "${ordr}"
defaults: {tag: quick, retries: -1}
tools:
  - nmae: finds
    server: shap
    tool: find
    args: [1]
    expect:
      - {target: reslt.content, matcher: {containz: A-17}}
      - {target: result, matcher: {regex: "("}, weight: 0, why: because}
  - 5
resources: {}
prompts:
  - {name: greets, server: shop, promt: greet, expect: []}
coverage: {tool: 80}
performance: {p95_ms: fast}
run_options: {isolation: always, workers: 3}
surprise: true
"""
    assert mistakes(text) == [
        ("F006", 1, 1, 'a suite has no key "nam"; did you mean "name"?'),
        ("F006", 4, 5, 'a server has no key "comand"; did you mean "command"?'),
        ("F009", 5, 14, f'"timeout" {NOT_A_TIME}'),
        ("F009", 7, 3, "'9lives' is not a name: letters, digits and _ only, not first a digit"),
        ("F020", 8, 10, "nothing is known as 'ordr'"),
        ("F006", 9, 12, '"defaults" has no key "tag"; did you mean "tags"?'),
        ("F009", 9, 33, '"retries" must be from 0 to 100'),
        ("F006", 11, 5, 'an entry of tools has no key "nmae"; did you mean "name"?'),
        ("F009", 12, 13, "there is no server 'shap'; did you mean 'shop'?"),
        ("F008", 14, 11, '"args" must be a mapping and is a list'),
        (
            "F009",
            16,
            18,
            "\"target\" is 'reslt.content'; it begins with one of result, error, notifications, "
            "stderr, duration_ms; did you mean 'result'?",
        ),
        ("F012", 16, 43, 'unknown matcher "containz"; did you mean "contains"?'),
        (
            "F015",
            17,
            43,
            'the matcher "regex" is not a regular expression: missing ), unterminated '
            "subpattern at position 0",
        ),
        ("F011", 17, 49, "with a weight of 0 it counts for nothing"),
        ("F006", 17, 60, 'an assertion has no key "why"'),
        ("F008", 18, 5, "an entry of tools must be a mapping and is a number"),
        ("F008", 19, 12, '"resources" must be a list and is a mapping'),
        ("F006", 21, 34, 'an entry of prompts has no key "promt"; did you mean "prompt"?'),
        ("F011", 21, 48, f'"expect" {CHECKS_NOTHING}'),
        ("F006", 22, 12, '"coverage" has no key "tool"; did you mean "tools"?'),
        ("F008", 23, 23, '"p95_ms" must be a number and is text'),
        ("F008", 24, 26, '"isolation" must be one of run, file, test'),
        ("F006", 24, 34, '"run_options" has no key "workers"'),
        ("F006", 25, 1, 'a suite has no key "surprise"'),
    ]


def test_help_says_what_there_is_or_what_to_write() -> None:
    text = """\
servers: {shop: {command: python3 server.py}}
tools:
  - name: 5
    server: bank
    tool: t
    args: {a: "${x}"}
    expect: [{target: "result[", matcher: {gt: high}}, {target: result, matcher: 7}]
"""
    assert {each.code + " " + each.message[:12]: each.help for each in refusals(text)} == {
        'F008 "command" mu': 'write command: ["python3", "server.py"]',
        'F008 "name" must ': 'put it in quotes: "…"',
        "F009 there is no ": "there are: shop",
        "F020 nothing is k": "there are: CONFIG_DIR; to mean this very text, write $${x}",
        'F009 "target" is ': "for example result.content[0].text",
        "F013 the matcher ": "for example {gt: 0}",
        "F008 a matcher is": "to compare with this very value, write {exact: 7}",
    }


# The document


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("F005", 1, 1, "a suite must be a mapping and is empty")),
        ("# nothing\n", ("F005", 1, 1, "a suite must be a mapping and is empty")),
        ("- tools\n", ("F005", 1, 1, "a suite must be a mapping and is a list")),
        ("tools\n", ("F005", 1, 1, "a suite must be a mapping and is text")),
        ("7", ("F005", 1, 1, "a suite must be a mapping and is a number")),
        ("servers: [\n", ("F002", 1, 11, None)),
        ("a: 1\na: 2\n", ("F003", 2, 1, 'the key "a" is written twice: at line 1 and at line 2')),
        (SERVER + "---\n" + TEST, ("F005", 2, 1, None)),
    ],
)
def test_a_suite_must_be_a_mapping(text: str, expected: tuple[str, int, int, str | None]) -> None:
    [(code, line, column, message)] = mistakes(text)
    assert (code, line, column) == expected[:3]
    assert expected[3] in (None, message)


def test_a_suite_without_tests_is_none() -> None:
    lanes = "tools, resources, prompts, agents, evals, compliance, security"
    expected = [("F007", 1, 1, f"a suite needs tests: one of the keys {lanes}")]
    assert mistakes("{}") == expected
    assert mistakes(SERVER) == expected
    assert mistakes("name: only a name\n") == expected


@pytest.mark.parametrize("lane", ["tools", "resources", "prompts", "agents", "evals", "compliance"])
def test_a_lane_without_entries_tests_nothing(lane: str) -> None:
    expected = ("F011", 2, 1, f'"{lane}" is empty: it tests nothing')
    assert mistakes(f"{SERVER}{lane}: []\n") == [expected]


# Servers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TEST, ("F007", 1, 1, 'a suite needs the key "servers"')),
        ("servers: {}\n" + TEST, ("F011", 1, 1, '"servers" is empty: there is nothing to test')),
        ("servers: []\n" + TEST, ("F008", 1, 10, '"servers" must be a mapping and is a list')),
        ("servers:\n" + TEST, ("F008", 1, 9, '"servers" must be a mapping and is empty')),
        ("servers: {s: }\n" + TEST, ("F008", 1, 14, '"s" must be a mapping and is empty')),
        ("servers: {s: x}\n" + TEST, ("F008", 1, 14, '"s" must be a mapping and is text')),
        ("servers: {s: {}}\n" + TEST, ("F007", 1, 11, 'a server needs the key "command"')),
        (
            "servers: {'': {command: [x]}}\n" + TEST,
            ("F009", 1, 1, "the name of a server must not be empty"),
        ),
    ],
)
def test_a_suite_needs_servers_with_names_and_commands(
    text: str, expected: tuple[str, int, int, str]
) -> None:
    assert mistakes(text) == [expected]


@each_case(
    ("keys", "code", "message"),
    [
        ("command: x y", "F008", '"command" must be a list: the program and its arguments'),
        ("command: []", "F009", '"command" is empty'),
        ("command: ['']", "F009", '"command" is empty'),
        ("command: [1]", "F008", '"command" must hold texts; number 1 is a number'),
        ("command: {a: b}", "F008", '"command" must be a list and is a mapping'),
        ('command: ["a\\0"]', "F009", '"command" must not hold NUL'),
        ("command: [x], cwd: 5", "F008", '"cwd" must be text and is a number'),
        ('command: [x], cwd: "a\\0"', "F009", '"cwd" must not hold NUL'),
        ("command: [x], env: [A]", "F008", '"env" must be a mapping and is a list'),
        (
            "command: [x], env: {A: 5}",
            "F008",
            '"A" must be text, {from_env: NAME} or {secret_env: NAME} and is a number',
        ),
        (
            "command: [x], env: {A=B: c}",
            "F009",
            "the name of a variable must not be empty or hold =",
        ),
        ('command: [x], env: {A: "\\0"}', "F009", '"A" must not hold NUL'),
        (
            "command: [x], inherit_env: yes",
            "F008",
            '"inherit_env" must be true or false and is text',
        ),
        (
            "command: [x], startup_timeout: 0",
            "F009",
            '"startup_timeout" must be more than 0 and at most 24 hours',
        ),
        ("command: [x], timeout: {}", "F009", f'"timeout" {NOT_A_TIME}'),
        (
            "command: [x], ready_pattern: '('",
            "F015",
            '"ready_pattern" is not a regular expression: missing ), unterminated subpattern at '
            "position 0",
        ),
        (
            "command: [x], protocol_version: '2020-01-01'",
            "F008",
            '"protocol_version" must be one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, '
            "2026-07-28",
        ),
        ("command: [x], isolation: all", "F008", '"isolation" must be one of run, file, test'),
        (
            "command: [x], max_line_bytes: 0",
            "F009",
            '"max_line_bytes" must be from 1 to 2,147,483,648',
        ),
        ("command: [x], client: 5", "F008", '"client" must be a mapping and is a number'),
        ("url: 'http://'", "F009", '"url" is not the URL of a server: it names no host'),
        (
            "command: [x], headers: {}",
            "F003",
            '"headers" is for a server on HTTP, and there is no "url"',
        ),
        (
            "url: 'http://x', auth: {}",
            "F007",
            '"auth" needs one of "bearer_token_env", "client_credentials" and "login"',
        ),
        ("command: [x], port: 5", "F006", 'a server has no key "port"'),
    ],
)
def test_a_wrong_key_of_a_server_is_reported(keys: str, code: str, message: str) -> None:
    [found] = refusals(f"servers:\n  s: {{{keys}}}\n{TEST}")
    assert (found.code, found.message, found.line) == (code, message, 2)


@pytest.mark.parametrize(
    ("keys", "code", "message"),
    [
        ("tool: t, server: §bnk", "F009", "there is no server 'bnk'; did you mean 'bank'?"),
        ("tool: t, server: §cafe", "F009", "there is no server 'cafe'"),
        ("tool: t, server: §5", "F008", '"server" must be text and is a number'),
        ("¶tool: t", "F007", 'it must say which "server" is meant: there is more than one'),
    ],
)
def test_an_entry_names_a_server_that_is_there(keys: str, code: str, message: str) -> None:
    assert reported_at(entry(f"name: n, {keys}", head=TWO)) == (code, message)


def test_a_server_that_has_mistakes_is_not_missed_as_well() -> None:
    head = "servers: {shop: 5, bank: {command: [x]}}\n"
    text = entry("name: n, tool: t, server: shop", head=head)
    assert mistakes(text) == [("F008", 1, 17, '"shop" must be a mapping and is a number')]


# Entries


@each_case(
    ("keys", "code", "message"),
    [
        ("¶tool: t", "F007", 'an entry of tools needs the key "name"'),
        ("name: §'', tool: t", "F009", '"name" is empty'),
        ("name: §[n], tool: t", "F008", '"name" must be text and is a list'),
        ("¶name: n", "F007", 'an entry of tools needs the key "tool", or "steps"'),
        ("name: n, tool: §''", "F009", '"tool" is empty'),
        ("name: n, tool: §5", "F008", '"tool" must be text and is a number'),
        ("name: n, tool: t, args: §x", "F008", '"args" must be a mapping and is text'),
        ("name: n, tool: t, tags: §5", "F008", '"tags" must be a list and is a number'),
        ("name: n, tool: t, tags: [a, §5]", "F008", '"tags" must hold texts; number 2 is a number'),
        ("name: n, tool: t, skip: §5", "F008", '"skip" must be true, false or a reason'),
        ("name: n, tool: t, skip: §no", "F008", '"skip" must be true, false or a reason'),
        ("name: n, tool: t, only: §maybe", "F008", '"only" must be true or false and is text'),
        (
            "name: n, tool: t, timeout: §x",
            "F009",
            '"timeout" must be a number of milliseconds or a text such as "500ms" or "2s"',
        ),
        ("name: n, tool: t, retries: §101", "F009", '"retries" must be from 0 to 100'),
        (
            "name: n, tool: t, retries: §1.5",
            "F008",
            '"retries" must be a whole number and is a number',
        ),
        ("name: n, tool: t, §uri: 'x:y'", "F006", 'an entry of tools has no key "uri"'),
        (
            "name: n, §tool: t, steps: [{tool: t}]",
            "F003",
            '"tool" and "steps" do not go together: each step has its own',
        ),
        ("name: n, §steps: []", "F011", '"steps" is empty: it does nothing'),
        ("name: n, steps: §{}", "F008", '"steps" must be a list and is a mapping'),
        ("name: n, steps: [§5]", "F008", "a step must be a mapping and is a number"),
        ("name: n, tool: t, §setup: []", "F011", '"setup" is empty: it does nothing'),
        (
            "name: n, tool: t, teardown: [§{args: {}}]",
            "F007",
            "a step needs one of the keys tool, uri, prompt",
        ),
        (
            "name: n, steps: [{tool: t, §uri: x}]",
            "F003",
            "one call at a time, and here are tool and uri",
        ),
        ("name: n, steps: [{§tol: t}]", "F006", 'a step has no key "tol"; did you mean "tool"?'),
        ("name: n, steps: [{tool: t, §server: shop}]", "F006", 'a step has no key "server"'),
        ("name: n, steps: [{tool: t, name: §5}]", "F008", '"name" must be text and is a number'),
        (
            "name: n, steps: [{uri: 'x:y', §args: {a: b}}]",
            "F006",
            '"args" goes with a tool or a prompt, not with a uri',
        ),
    ],
)
def test_a_wrong_entry_or_step_is_reported(keys: str, code: str, message: str) -> None:
    assert reported_at(entry(keys)) == (code, message)


def test_arguments_of_a_prompt_are_strings() -> None:
    expected = ("F008", '"a" must be text and is a number')
    assert reported_at(entry("name: n, prompt: p, args: {a: §5}", "prompts")) == expected


@pytest.mark.parametrize(
    ("keys", "code", "message"),
    [
        ("capture: §5", "F008", '"capture" must be a mapping and is a number'),
        ("§capture: {}", "F011", '"capture" is empty: it keeps nothing'),
        (
            "capture: {§a-b: result}",
            "F009",
            "'a-b' is not a name: letters, digits and _ only, not first a digit",
        ),
        ("capture: {a: §5}", "F008", '"a" must be text and is a number'),
        (
            "capture: {a: §'result['}",
            "F009",
            "the path is not a path: 'result[' goes wrong at character 7",
        ),
        (
            "capture: {a: §stderr}",
            "F009",
            "the path is 'stderr'; it begins with one of result, error",
        ),
    ],
)
def test_a_capture_is_a_name_and_a_path_into_the_answer(keys: str, code: str, message: str) -> None:
    assert reported_at(entry(f"name: n, tool: t, {keys}")) == (code, message)


# Expectations


@each_case(
    ("keys", "code", "message"),
    [
        ("§expect: []", "F011", '"expect" is empty: this test would check nothing'),
        ("§expect: {}", "F011", '"expect" is empty: this test would check nothing'),
        ("expect: §~", "F008", '"expect" must be a mapping and is empty'),
        ("expect: §all", "F008", '"expect" must be a mapping and is text'),
        (
            "expect: {§assertions: []}",
            "F011",
            '"assertions" is empty: this test would check nothing',
        ),
        ("expect: {assertions: §{}}", "F008", '"assertions" must be a list and is a mapping'),
        (
            "expect: [§5]",
            "F008",
            "an assertion is a mapping with target and matcher and is a number",
        ),
        ("expect: [§{target: result}]", "F007", 'an assertion needs the key "matcher"'),
        ("expect: [§{matcher: {exact: 1}}]", "F007", 'an assertion needs the key "target"'),
        ("expect: {§threshold: 0.5}", "F011", '"threshold" weighs assertions, and there are none'),
        ("§threshold: 0.5", "F011", '"threshold" weighs assertions, and there are none'),
        ("max_duration_ms: §0", "F009", '"max_duration_ms" must be from 0.001 to 8.64e+07'),
        ("max_duration_ms: §1s", "F008", '"max_duration_ms" must be a number and is text'),
        (
            "max_response_tokens: §0",
            "F009",
            '"max_response_tokens" must be from 1 to 1,000,000,000',
        ),
        (
            "max_response_tokens: §1.5",
            "F008",
            '"max_response_tokens" must be a whole number and is a number',
        ),
        (
            "§max_duration_ms: 5, expect: {max_duration_ms: 6}",
            "F003",
            '"max_duration_ms" is here and under "expect"; only one of them can count',
        ),
    ],
)
def test_an_expectation_that_checks_nothing_or_is_invalid_is_reported(
    keys: str, code: str, message: str
) -> None:
    assert reported_at(entry(f"name: n, tool: t, {keys}")) == (code, message)


@pytest.mark.parametrize(
    ("keys", "code", "message"),
    [
        ("target: §5, matcher: {exact: 1}", "F008", '"target" must be text and is a number'),
        (
            "target: result, matcher: {exact: 1}, message: §5",
            "F008",
            '"message" must be text and is a number',
        ),
        (
            "target: result, matcher: {exact: 1}, weight: §-1",
            "F009",
            '"weight" must be from 0 to 1e+06',
        ),
        (
            "target: result, matcher: {exact: 1}, weight: §much",
            "F008",
            '"weight" must be a number and is text',
        ),
        ("target: result, matcher: §{}", "F011", "the matcher is empty: every value meets it"),
    ],
)
def test_a_wrong_assertion_is_reported(keys: str, code: str, message: str) -> None:
    assert reported_at(entry(f"name: n, tool: t, expect: [{{{keys}}}]")) == (code, message)


def test_a_threshold_of_zero_is_refused_because_it_always_passes() -> None:
    keys = "expect: {threshold: §0, assertions: [{target: result, matcher: {exact: 1}}]}"
    expected = ("F011", '"threshold" is 0: this test would pass whatever comes')
    assert reported_at(entry(f"name: n, tool: t, {keys}")) == expected


# The rest of the file


@each_case(
    ("keys", "code", "message"),
    [
        ("§coverage: {}", "F011", '"coverage" is empty: it asks for nothing'),
        ("coverage: §80", "F008", '"coverage" must be a mapping and is a number'),
        ("coverage: {tools: §101}", "F009", '"tools" must be from 0 to 100'),
        ("coverage: {tools: §true}", "F008", '"tools" must be a number and is a boolean'),
        (
            "performance: {§p96_ms: 5}",
            "F006",
            '"performance" has no key "p96_ms"; did you mean "p90_ms"?',
        ),
        ("performance: {max_ms: §-1}", "F009", '"max_ms" must be from 0 to 8.64e+07'),
        ("run_options: §5", "F008", '"run_options" must be a mapping and is a number'),
        ("run_options: {parallel: §0}", "F009", '"parallel" must be from 1 to 256'),
        ("run_options: {parallel: §auto}", "F008", '"parallel" must be a whole number and is text'),
        ("run_options: {retries: §1000}", "F009", '"retries" must be from 0 to 100'),
        ("name: §5", "F008", '"name" must be text and is a number'),
        ("description: §[a]", "F008", '"description" must be text and is a list'),
        ("$schema: §{}", "F008", '"$schema" must be text and is a mapping'),
        ("defaults: §[]", "F008", '"defaults" must be a mapping and is a list'),
        ("variables: §[]", "F008", '"variables" must be a mapping and is a list'),
        ("imports: §5", "F008", '"imports" must be a list of files, or a mapping, and is a number'),
        ("imports: [§5]", "F008", '"imports" must hold texts; number 1 is a number'),
        ("imports: {§suite: []}", "F006", '"imports" has no key "suite"; did you mean "suites"?'),
        (
            "imports: {subprocess_matchers: §[]}",
            "F008",
            '"subprocess_matchers" must be a mapping and is a list',
        ),
    ],
)
def test_a_wrong_key_of_the_file_is_reported(keys: str, code: str, message: str) -> None:
    assert reported_at(f"{SERVER}{TEST}{keys}\n") == (code, message)


def test_a_mistake_in_defaults_is_reported_once_at_its_place() -> None:
    text = """\
servers: {a: {command: [x]}, b: {command: [y]}}
defaults:
  server: cafe
  timeout: never
  tags: [1]
  threshold: 2
  setup: [{tol: t}]
tools: [{name: one, tool: t}, {name: two, tool: t}]
prompts: [{name: three, prompt: p}]
"""
    assert mistakes(text) == [
        ("F009", 3, 11, "there is no server 'cafe'"),
        ("F009", 4, 12, f'"timeout" {NOT_A_TIME}'),
        ("F008", 5, 10, '"tags" must hold texts; number 1 is a number'),
        ("F009", 6, 14, '"threshold" must be from 0 to 1'),
        ("F006", 7, 12, 'a step has no key "tol"; did you mean "tool"?'),
    ]


def test_mistakes_in_unused_defaults_are_reported_as_well() -> None:
    text = """\
servers: {a: {command: [x]}, b: {command: [y]}}
defaults: {server: cafe, teardown: [5]}
tools: [{name: n, server: a, tool: t, teardown: [{tool: t}]}]
"""
    assert mistakes(text) == [
        ("F009", 2, 20, "there is no server 'cafe'"),
        ("F008", 2, 37, "a step must be a mapping and is a number"),
    ]


@pytest.mark.parametrize(
    ("key", "meant"),
    [("max_duration: 5", "max_duration_ms"), ("arguments: {a: 1}", "args")],
)
def test_an_abbreviated_or_lengthened_key_gets_a_suggestion(key: str, meant: str) -> None:
    word = key.partition(":")[0]
    message = f'an entry of tools has no key "{word}"; did you mean "{meant}"?'
    assert reported_at(entry(f"name: n, tool: t, §{key}")) == ("F006", message)
