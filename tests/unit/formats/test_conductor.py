"""`*.test.mcp.yml`: what a file means, key by key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcptest.core.errors import FormatError
from mcptest.core.plan import Case, Expectation, Performance, Step, Suite
from mcptest.core.value_class import ABSENT
from mcptest.formats.conductor import load_conductor
from mcptest.matching.compare import source_of
from mcptest.matching.registry import builtin_registry

if TYPE_CHECKING:
    from mcptest.core.diagnostics import Diagnostic

REGISTRY = builtin_registry()

# The examples of the specification that defines the format, as they are printed there.
TABLE_2 = """\
description: "Test suite for the Filesystem Tool"
tests:
  - it: "should list the tools provided by the server"
    request:
      jsonrpc: "2.0"
      id: "test-001"
      method: "tools/list"
      params: {}
    expect:
      response:
        jsonrpc: "2.0"
        id: "test-001"
        result:
          tools:
            - name: "read_file"
              description: "Reads the content of a file."
            - name: "write_file"
              description: "Writes content to a file."
      stderr: "toBeEmpty"

  - it: "should successfully read an existing file"
    request:
      jsonrpc: "2.0"
      id: "test-002"
      method: "tools/call"
      params:
        name: "read_file"
        arguments:
          path: "./test-data/hello.txt"
    expect:
      response:
        jsonrpc: "2.0"
        id: "test-002"
        result:
          content:
            - type: "text"
              text: "Hello, world!"
          isError: false
      stderr: "toBeEmpty"

  - it: "should return an error for a non-existent file"
    request:
      jsonrpc: "2.0"
      id: "test-003"
      method: "tools/call"
      params:
        name: "read_file"
        arguments:
          path: "./test-data/nonexistent.txt"
    expect:
      response:
        jsonrpc: "2.0"
        id: "test-003"
        result:
          isError: true
          content:
            - type: "text"
              text: "match:File not found" # Example of a regex match
      stderr: "toBeEmpty"
"""
EXAMPLE_FILE = """\
description: "Test suite for the Simple Filesystem Server"
tests:
  - it: "should list the read_file tool"
    request:
      jsonrpc: "2.0"
      id: "list-1"
      method: "tools/list"
    expect:
      response:
        jsonrpc: "2.0"
        id: "list-1"
        result:
          tools:
            - name: "read_file"
              description: "Reads a file"
              inputSchema:
                type: "object"
                properties:
                  path: { type: "string" }
"""


def load(text: str, **environment: str) -> tuple[Suite, tuple[Diagnostic, ...]]:
    return load_conductor(text, "a.test.mcp.yml", REGISTRY, environment)


def only_case(keys: str) -> tuple[Case, tuple[Diagnostic, ...]]:
    """The one case of a file whose test has these keys beside its name and request."""
    head = "description: d\ntests:\n  - it: a\n    request: {id: 1, method: ping}\n"
    suite, warnings = load(head + keys)
    (case,) = suite.cases
    return case, warnings


def expectation(keys: str) -> Expectation:
    case, warnings = only_case(keys)
    assert warnings == ()
    return case.steps[0].expectation


# The examples of the source


def test_the_table_of_the_source_loads_unchanged() -> None:
    suite, warnings = load(TABLE_2)
    assert warnings == ()
    assert (suite.name, suite.file, suite.format, suite.server) == (
        "Test suite for the Filesystem Tool",
        "a.test.mcp.yml",
        "conductor",
        None,
    )
    assert [(case.name, case.line, case.timeout_s, case.skip) for case in suite.cases] == [
        ("should list the tools provided by the server", 3, None, None),
        ("should successfully read an existing file", 21, None, None),
        ("should return an error for a non-existent file", 41, None, None),
    ]
    steps = [case.steps[0] for case in suite.cases]
    assert [(step.method, step.id) for step in steps] == [
        ("tools/list", "test-001"),
        ("tools/call", "test-002"),
        ("tools/call", "test-003"),
    ]
    assert json.loads(steps[1].line) == {
        "jsonrpc": "2.0",
        "id": "test-002",
        "method": "tools/call",
        "params": {"name": "read_file", "arguments": {"path": "./test-data/hello.txt"}},
    }
    assert [step.expectation.stderr for step in steps] == ["", "", ""]
    assert source_of(steps[2].expectation.response) == {
        "jsonrpc": "2.0",
        "id": "test-003",
        "result": {
            "isError": True,
            "content": [{"type": "text", "text": "match:File not found"}],
        },
    }


def test_the_example_file_of_the_source_loads_unchanged() -> None:
    suite, warnings = load(EXAMPLE_FILE)
    assert warnings == ()
    assert [case.name for case in suite.cases] == ["should list the read_file tool"]


def test_a_file_of_json_means_the_same_and_knows_its_lines() -> None:
    case = {"it": "a", "request": {"id": 1}, "expect": {"response": {"id": 1}}}
    text = json.dumps({"description": "d", "tests": [case, case]}, indent=1)
    suite, _ = load(text)
    assert [case.line for case in suite.cases] == [4, 15]


# Requests


def test_a_request_is_sent_as_it_is_written() -> None:
    text = (
        "description: d\n"
        "tests:\n"
        "  - it: a\n"
        "    request: {method: x, zz: [1e3, yes, ~, é, '${HOME}'], id: 7, params: {b: 1, a: 2}}\n"
        "    expect: {stderr: toBeEmpty}\n"
    )
    suite, _ = load(text, HOME="/root")
    assert suite.cases == (
        Case(
            name="a",
            line=3,
            steps=(
                Step(
                    line='{"method":"x","zz":[1000.0,"yes",null,"é","${HOME}"],"id":7,'
                    '"params":{"b":1,"a":2}}\n'.encode(),
                    method="x",
                    id=7,
                    expectation=Expectation(stderr=""),
                ),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("request_text", "id", "method"),
    [
        ("{method: ping}", ABSENT, "ping"),
        ("{method: ping, id: null}", None, "ping"),
        ("{id: 1.5}", 1.5, ""),
        ("{id: 1, method: 5}", 1, ""),
        ("{}", ABSENT, ""),
    ],
)
def test_a_request_need_not_be_legal(request_text: str, id: object, method: str) -> None:
    """A tester must be able to send what no client would."""
    head = f"description: d\ntests:\n  - it: a\n    request: {request_text}\n"
    suite, _ = load(head + "    expect: {stderr: toBeEmpty}\n")
    assert (suite.cases[0].steps[0].id, suite.cases[0].steps[0].method) == (id, method)


# Expectations


def test_a_response_may_be_an_object_or_one_pattern() -> None:
    as_object = expectation("    expect: {response: {id: 1, result: {}}}\n")
    assert as_object == Expectation(response={"id": 1, "result": {}})
    as_pattern = expectation('    expect: {response: "match:contains:ok"}\n')
    assert source_of(as_pattern.response) == "match:contains:ok"


@pytest.mark.parametrize(
    ("stderr", "wanted"),
    [
        ("toBeEmpty", ""),
        ('""', ""),
        ('"  two words\\n"', "two words"),
        ('"match:contains:x"', "match:contains:x"),
        ('"match:not:contains:x"', "match:not:contains:x"),
    ],
)
def test_stderr_is_empty_a_trimmed_text_or_a_pattern(stderr: str, wanted: str) -> None:
    assert source_of(expectation(f"    expect: {{stderr: {stderr}}}\n").stderr) == wanted


@pytest.mark.parametrize("code", [0, 1, 255, -9])
def test_an_exit_code_is_a_whole_number(code: int) -> None:
    assert expectation(f"    expect: {{exitCode: {code}}}\n") == Expectation(exit_code=code)


@pytest.mark.parametrize(
    ("keys", "performance"),
    [
        ("maxResponseTime: 500", Performance(max_response_s=0.5)),
        ('maxResponseTime: "500ms"', Performance(max_response_s=0.5)),
        ('minResponseTime: "2.5s"', Performance(min_response_s=2.5)),
        (
            "maxResponseTime: 2s, minResponseTime: 1.5",
            Performance(max_response_s=2.0, min_response_s=0.0015),
        ),
    ],
)
def test_performance_has_bounds_in_milliseconds_or_with_a_unit(
    keys: str, performance: Performance
) -> None:
    found = expectation(f"    expect: {{performance: {{{keys}}}}}\n")
    assert found == Expectation(performance=performance)


# The other keys of a test


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2000", 2.0),
        ("1.5", 0.0015),
        ('"2s"', 2.0),
        ("500ms", 0.5),
        ('" 1 m "', 60.0),
        ("86400000", 86400.0),
    ],
)
def test_a_timeout_is_a_number_of_milliseconds_or_a_text(value: str, seconds: float) -> None:
    case, _ = only_case(f"    timeout: {value}\n    expect: {{stderr: toBeEmpty}}\n")
    assert case.timeout_s == seconds


@pytest.mark.parametrize(
    ("value", "reason"),
    [("true", ""), ("false", None), ('"not on CI"', "not on CI")],
)
def test_a_test_is_skipped_with_a_reason_or_without(value: str, reason: str | None) -> None:
    case, _ = only_case(f"    skip: {value}\n    expect: {{stderr: toBeEmpty}}\n")
    assert case.skip == reason


# Mistakes that are accepted


def test_stderr_and_performance_one_level_too_high_are_read_with_a_warning() -> None:
    case, warnings = only_case(
        "    stderr: toBeEmpty\n"
        "    performance: {maxResponseTime: 5}\n"
        "    expect: {response: {id: 1}}\n"
    )
    assert case.steps[0].expectation == Expectation(
        response={"id": 1}, stderr="", performance=Performance(max_response_s=0.005)
    )
    assert [(w.severity, w.code, w.line, w.column, w.message) for w in warnings] == [
        (
            "warning",
            "W001",
            5,
            5,
            '"stderr" belongs under "expect"; it is read as if it were there',
        ),
        (
            "warning",
            "W001",
            6,
            5,
            '"performance" belongs under "expect"; it is read as if it were there',
        ),
    ]


def test_a_test_whose_only_expectation_is_indented_wrongly_is_read_with_a_warning() -> None:
    case, warnings = only_case("    stderr: toBeEmpty\n")
    assert case.steps[0].expectation == Expectation(stderr="")
    assert [warning.code for warning in warnings] == ["W001"]


def test_unknown_keys_that_are_empty_and_a_config_key_are_left_out_with_a_warning() -> None:
    suite, warnings = load(
        "description: d\n"
        "notes:\n"
        "config: {command: node}\n"
        "tests:\n"
        "  - it: a\n"
        "    request: {id: 1}\n"
        "    todo: ~\n"
        "    expect:\n"
        "      response: {id: 1}\n"
        "      later:\n"
    )
    assert suite.server is None
    assert [(w.code, w.line, w.column, w.message) for w in warnings] == [
        ("W001", 2, 1, '"notes" means nothing in a test file; it is empty, and is left out'),
        (
            "W001",
            3,
            1,
            'a test file has no key "config"; the config on the command line is used',
        ),
        ("W001", 7, 5, '"todo" means nothing in a test; it is empty, and is left out'),
        ("W001", 10, 7, '"later" means nothing in "expect"; it is empty, and is left out'),
    ]


# A server of its own


def test_a_file_may_define_its_own_server() -> None:
    suite, warnings = load(
        "description: d\n"
        "server: {name: s, command: node, args: [a.js], env: {KEY: '${TOKEN}'}}\n"
        "tests:\n"
        "  - it: a\n"
        "    request: {id: 1}\n"
        "    expect: {response: {id: 1}}\n",
        TOKEN="s3cret",
    )
    assert warnings == ()
    assert suite.server is not None
    assert (suite.server.name, suite.server.command) == ("s", ("node", "a.js"))
    assert (suite.server.env, suite.server.secrets) == ({"KEY": "s3cret"}, ("s3cret",))


def test_the_mistakes_of_its_own_server_are_reported_with_the_others() -> None:
    with pytest.raises(FormatError) as caught:
        load("description: d\nserver: {name: s, comand: x}\ntests: []\n")
    assert [(d.code, d.line, d.column) for d in caught.value.diagnostics] == [
        ("F007", 2, 1),
        ("F006", 2, 19),
        ("F011", 3, 1),
    ]
