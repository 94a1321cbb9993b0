"""Every mistake in a `*.test.mcp.yml`: its code, its place, its words; all of them at once."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.core.errors import FormatError
from mcptest.formats.conductor import load_conductor
from mcptest.matching.registry import builtin_registry

REGISTRY = builtin_registry()
FILE = "a.test.mcp.yml"
HEAD = "description: d\ntests:\n  - it: a\n    request: {id: 1, method: ping}\n"
FINE = "    expect: {stderr: toBeEmpty}\n"
CHECKS_NOTHING = '"expect" is empty: this test would check nothing'
NOT_A_TIME = 'must be a number of milliseconds or a text such as "500ms" or "2s"'
OUT_OF_RANGE = "must be more than 0 and at most 24 hours"


def mistakes(text: str) -> list[tuple[str, int, int, str]]:
    with pytest.raises(FormatError) as caught:
        load_conductor(text, FILE, REGISTRY, {})
    found = [each for each in caught.value.diagnostics if each.severity == "error"]
    assert all(each.file == FILE for each in found)
    return [(each.code, each.line, each.column, each.message) for each in found]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "F005", "a test file must be a mapping and is empty"),
        ("- 1\n", "F005", "a test file must be a mapping and is a list"),
        ("just text\n", "F005", "a test file must be a mapping and is text"),
        ("[1, 2]", "F005", "a test file must be a mapping and is a list"),
    ],
)
def test_a_file_that_is_not_a_mapping_is_not_a_test_file(
    text: str, code: str, message: str
) -> None:
    assert mistakes(text) == [(code, 1, 1, message)]


def test_all_mistakes_of_a_file_are_reported_in_the_order_of_the_file() -> None:
    text = (
        "descripton: d\n"
        "tests:\n"
        "  - it: 5\n"
        "    request: ping\n"
        "    expect:\n"
        "      response: [1]\n"
        "  - itt: a\n"
        "    request: {method: ping}\n"
        "    only: true\n"
        "    expect:\n"
        "      respons: {}\n"
        "      response:\n"
        "        result:\n"
        '          - text: "match:containz:x"\n'
        '            more: "match:regex:("\n'
        "            match:partail: {}\n"
        "      exitCode: 1000\n"
        "      performance: {maxResponseTime: fast}\n"
        "  - 5\n"
        "server:\n"
    )
    assert mistakes(text) == [
        ("F006", 1, 1, 'a test file has no key "descripton"; did you mean "description"?'),
        ("F008", 3, 9, '"it" must be text and is a number'),
        ("F008", 4, 14, '"request" must be a JSON-RPC object and is text'),
        ("F006", 7, 5, 'a test has no key "itt"; did you mean "it"?'),
        ("F006", 11, 7, '"expect" has no key "respons"; did you mean "response"?'),
        (
            "F017",
            12,
            7,
            'the request has no "id", so it is a notification and no response will come',
        ),
        ("F012", 14, 26, 'unknown matcher "containz"; did you mean "contains"?'),
        (
            "F015",
            15,
            32,
            'the matcher "regex" is not a regular expression: missing ), unterminated '
            "subpattern at position 0",
        ),
        ("F012", 16, 13, 'unknown directive "match:partail"; did you mean "match:partial"?'),
        ("F009", 17, 17, '"exitCode" must be from -64 to 255'),
        ("F017", 18, 7, "a notification has no answer whose time could be taken"),
        ("F009", 18, 38, f'"maxResponseTime" {NOT_A_TIME}'),
        ("F008", 19, 5, "a test must be a mapping and is a number"),
        ("F008", 20, 8, '"server" must be a mapping and is empty'),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("description: d\n", [("F007", 1, 1, 'a test file needs the key "tests"')]),
        (
            "tests: []\n",
            [
                ("F007", 1, 1, 'a test file needs the key "description"'),
                ("F011", 1, 1, '"tests" is empty: a file without tests checks nothing'),
            ],
        ),
        ("description: d\ntests:\n", [("F008", 2, 7, '"tests" must be a list and is empty')]),
        (
            "description: d\ntests: {}\n",
            [("F008", 2, 8, '"tests" must be a list and is a mapping')],
        ),
        (
            "description:\ntests: [1]\n",
            [
                ("F008", 1, 13, '"description" must be text and is empty'),
                ("F008", 2, 9, "a test must be a mapping and is a number"),
            ],
        ),
        (
            "description: d\ntests:\n  - it: a\n",
            [
                ("F007", 3, 5, 'a test needs the key "expect"'),
                (
                    "F007",
                    3,
                    5,
                    "a test needs one of the keys request, tool, resource, prompt, list: "
                    "what it sends",
                ),
            ],
        ),
        (
            "description: d\nsuite: x\ntests:\n  - {it: a, request: {}, expect: {stderr: x}}\n",
            [
                ("F006", 2, 1, 'a test file has no key "suite"'),
            ],
        ),
    ],
)
def test_a_key_of_the_file_that_is_missing_unknown_or_wrong_is_an_error(
    text: str, expected: list[tuple[str, int, int, str]]
) -> None:
    assert mistakes(text) == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("    expect:\n", ("F011", 5, 5, CHECKS_NOTHING)),
        ("    expect: {}\n", ("F011", 5, 5, CHECKS_NOTHING)),
        ("    expect:\n      response:\n", ("F011", 5, 5, CHECKS_NOTHING)),
        ("    expect: {stderr: ~, exitCode: null}\n", ("F011", 5, 5, CHECKS_NOTHING)),
        ("    expect: {performance: }\n", ("F011", 5, 5, CHECKS_NOTHING)),
        ("    expect: {anything: }\n", ("F011", 5, 5, CHECKS_NOTHING)),
        ("    expect: {}\n    stderr:\n", ("F011", 5, 5, CHECKS_NOTHING)),
        (
            "    expect: {performance: {}}\n",
            ("F011", 5, 14, '"performance" is empty: it checks nothing'),
        ),
        (
            "    expect: {performance: {maxResponseTime: }}\n",
            ("F011", 5, 14, '"performance" is empty: it checks nothing'),
        ),
        (
            "    expect: {response: {match:partial: {}}}\n",
            ("F011", 5, 14, '"match:partial" is empty: every answer meets it'),
        ),
        ("", ("F007", 3, 5, 'a test needs the key "expect"')),
    ],
)
def test_an_expect_that_checks_nothing_is_an_error(
    keys: str, expected: tuple[str, int, int, str]
) -> None:
    assert mistakes(HEAD + keys) == [expected]


@each_case(
    ("keys", "expected"),
    [
        ("    expect: []\n", ("F008", 5, 13, '"expect" must be a mapping and is a list')),
        ("    expect: ok\n", ("F008", 5, 13, '"expect" must be a mapping and is text')),
        (
            "    expect: {response: ok}\n",
            ("F008", 5, 24, '"response" must be the answer as an object and is text'),
        ),
        (
            "    expect: {response: [], stderr: x}\n",
            ("F008", 5, 24, '"response" must be the answer as an object and is a list'),
        ),
        (
            "    expect: {response: {id: 1}, stderr: }\n",
            ("F008", 5, 41, '"stderr" must be toBeEmpty, a text or a pattern and is empty'),
        ),
        (
            "    expect: {stderr: true}\n",
            ("F008", 5, 22, '"stderr" must be toBeEmpty, a text or a pattern and is a boolean'),
        ),
        (
            "    expect: {exitCode: '0'}\n",
            ("F008", 5, 24, '"exitCode" must be a whole number and is text'),
        ),
        (
            "    expect: {exitCode: true}\n",
            ("F008", 5, 24, '"exitCode" must be a whole number and is a boolean'),
        ),
        (
            "    expect: {exitCode: 0.5}\n",
            ("F008", 5, 24, '"exitCode" must be a whole number and is a number'),
        ),
        ("    expect: {exitCode: 256}\n", ("F009", 5, 24, '"exitCode" must be from -64 to 255')),
        (
            "    expect: {performance: 5}\n",
            ("F008", 5, 27, '"performance" must be a mapping and is a number'),
        ),
        (
            "    expect: {performance: {maxTime: 5}}\n",
            (
                "F006",
                5,
                28,
                '"performance" has no key "maxTime"; did you mean "maxResponseTime"?',
            ),
        ),
        (
            "    expect: {performance: {maxResponsTime: 5}}\n",
            (
                "F006",
                5,
                28,
                '"performance" has no key "maxResponsTime"; did you mean "maxResponseTime"?',
            ),
        ),
        (
            "    expect: {stderr: a}\n    stderr: b\n",
            ("F003", 6, 5, '"stderr" is here and under "expect"; only one of them can count'),
        ),
        (
            "    stderr: 5\n",
            ("F008", 5, 13, '"stderr" must be toBeEmpty, a text or a pattern and is a number'),
        ),
        (
            "    performance: {maxResponseTime: 0}\n",
            ("F009", 5, 36, f'"maxResponseTime" {OUT_OF_RANGE}'),
        ),
        (
            "    expect: {stderr: 'match:length:x'}\n",
            ("F013", 5, 36, 'the matcher "length" needs a whole number, not "x"'),
        ),
        (
            "    expect: {response: 'match:partial'}\n",
            (
                "F014",
                5,
                31,
                '"match:partial" is a directive: write it as a key, and what it takes below it',
            ),
        ),
        (f"    skip: []\n{FINE}", ("F008", 5, 11, '"skip" must be true, false or a reason')),
        (f"    skip: ''\n{FINE}", ("F008", 5, 11, '"skip" must be true, false or a reason')),
        (
            f"    tiemout: 5\n{FINE}",
            ("F006", 5, 5, 'a test has no key "tiemout"; did you mean "timeout"?'),
        ),
    ],
)
def test_a_key_of_a_test_that_is_unknown_or_wrong_is_an_error(
    keys: str, expected: tuple[str, int, int, str]
) -> None:
    assert mistakes(HEAD + keys) == [expected]


@each_case(
    ("value", "why"),
    [
        ("0", OUT_OF_RANGE),
        ("-5", OUT_OF_RANGE),
        ("0.0", OUT_OF_RANGE),
        ('"0s"', OUT_OF_RANGE),
        ("86400001", OUT_OF_RANGE),
        ('"25h"', NOT_A_TIME),
        ('"2000m"', OUT_OF_RANGE),
        ("9" * 400, OUT_OF_RANGE),
        ("9" * 400 + "s", OUT_OF_RANGE),
        ('"-5"', NOT_A_TIME),
        ('"soon"', NOT_A_TIME),
        ('""', NOT_A_TIME),
        ('"5 s s"', NOT_A_TIME),
        ("true", NOT_A_TIME),
        ("", NOT_A_TIME),
        ("[1]", NOT_A_TIME),
        ("{s: 1}", NOT_A_TIME),
    ],
)
def test_a_timeout_that_is_none_is_refused_when_the_file_is_loaded(value: str, why: str) -> None:
    ((code, line, _, message),) = mistakes(f"{HEAD}    timeout: {value}\n{FINE}")
    assert (code, line, message) == ("F009", 5, f'"timeout" {why}')


@pytest.mark.parametrize("value", [".nan", ".inf", "1e400"])
def test_a_timeout_that_json_has_no_number_for_is_refused_by_the_reader(value: str) -> None:
    ((code, line, column, _),) = mistakes(f"{HEAD}    timeout: {value}\n{FINE}")
    assert (code, line, column) == ("F004", 5, 14)


def test_a_notification_cannot_expect_a_response() -> None:
    with pytest.raises(FormatError) as caught:
        load_conductor(
            "description: d\ntests:\n  - it: a\n    request: {method: ping}\n"
            "    expect: {response: {result: {}}}\n",
            FILE,
            REGISTRY,
            {},
        )
    (found,) = caught.value.diagnostics
    assert (found.code, found.line, found.column, found.help) == (
        "F017",
        5,
        14,
        'give the request an "id"',
    )


def test_a_mistake_points_at_the_word_in_its_line() -> None:
    with pytest.raises(FormatError) as caught:
        load_conductor(
            HEAD + '    expect:\n      response:\n        result: "match:containz:x"\n',
            FILE,
            REGISTRY,
            {},
        )
    (found,) = caught.value.diagnostics
    assert (found.source, found.column, found.width) == (
        '        result: "match:containz:x"',
        24,
        8,
    )


def file_with(response: str, request: str = "{jsonrpc: '2.0', id: 2, method: ping}") -> str:
    head = f"description: d\ntests:\n  - it: a\n    request: {request}\n"
    return f"{head}    expect:\n      response: {response}\n"


@pytest.mark.parametrize(
    ("response", "column", "message"),
    [
        ("{id: 3}", 22, "the request has id 2, and so will the answer"),
        ("{id: '2'}", 22, "the request has id 2, and so will the answer"),
        ("{jsonrpc: 2.0, id: 2}", 27, 'every answer says jsonrpc: "2.0", in quotes'),
        ("{}", 7, "no answer is an empty object"),
        (
            "{id: 2, stderr: toBeEmpty}",
            25,
            'no answer has a key "stderr"; it belongs beside "response", not in it',
        ),
    ],
)
def test_an_expectation_that_no_answer_can_meet_is_refused(
    response: str, column: int, message: str
) -> None:
    assert mistakes(file_with(response)) == [("F017", 6, column, message)]


@pytest.mark.parametrize(
    "response",
    [
        "{id: 2}",
        "{id: null, error: {code: -32700}}",
        "{id: 'match:type:integer'}",
        "{jsonrpc: 'match:exists', id: 2}",
        "{match:partial: {id: 2}}",
        "{error: {code: 1}}",
    ],
)
def test_an_expectation_that_an_answer_can_meet_is_accepted(response: str) -> None:
    suite, warnings = load_conductor(file_with(response), FILE, REGISTRY, {})
    assert (len(suite.cases), warnings) == (1, ())


def test_one_misspelt_key_is_one_mistake() -> None:
    text = (
        "description: d\ntests:\n  - it: a\n    requst: {id: 1}\n    expect: {response: {id: 1}}\n"
    )
    assert mistakes(text) == [("F006", 4, 5, 'a test has no key "requst"; did you mean "request"?')]


@pytest.mark.parametrize("word", ["no", "Off", "'false'", "yes", "n", "''"])
def test_a_word_that_yaml_1_2_does_not_read_as_a_boolean_is_not_a_reason_to_skip(word: str) -> None:
    text = file_with("{id: 2}").replace("    expect", f"    skip: {word}\n    expect")
    assert [code for code, *_ in mistakes(text)] == ["F008"]


def test_a_near_miss_of_the_word_for_empty_stderr_is_refused() -> None:
    text = file_with("{id: 2}") + "      stderr: toBeEmtpy\n"
    message = '"toBeEmtpy" is not a value for stderr; did you mean "toBeEmpty"?'
    assert mistakes(text) == [("F012", 7, 15, message)]


@pytest.mark.parametrize(
    ("expect", "codes"),
    [
        ("{performance: {minResponseTime: 5s, maxResponseTime: 1s}}", ["F017"]),
        ("{performance: {minResponseTime: 1s, maxResponseTime: 5s}}", []),
        ("{response: {result: 'Match:contains:x'}}", ["F012"]),
        ("{response: {result: 'match:NOT:contains:x'}}", ["F012"]),
        ("{response: {result: 'match:not'}}", ["F012"]),
        ("{response: {result: 'match:not: contains:x'}}", ["F012"]),
        ("{response: {result: 'match:hasSuch:x'}}", ["F012"]),
        ("{response: {result: 'match:not:Error'}}", []),
    ],
)
def test_a_key_that_looks_like_a_check_is_refused(expect: str, codes: list[str]) -> None:
    head = "description: d\ntests:\n  - it: a\n    request: {id: 1, method: ping}\n"
    text = f"{head}    expect: {expect}\n"
    found = [code for code, *_ in mistakes(text)] if codes else []
    assert found == codes
    if not codes:
        load_conductor(text, FILE, REGISTRY, {})


def test_the_time_of_an_answer_that_never_arrives_cannot_be_checked() -> None:
    text = (
        "description: d\ntests:\n  - it: a\n    request: {method: notifications/x}\n"
        "    expect: {performance: {maxResponseTime: 1s}}\n"
    )
    assert [code for code, *_ in mistakes(text)] == ["F017"]


def test_an_abbreviated_key_gets_the_full_key_as_suggestion() -> None:
    text = "description: d\ntests:\n  - it: a\n    tool: t\n    args: {a: 1}\n" + FINE
    message = 'a test has no key "args"; did you mean "arguments"?'
    assert mistakes(text) == [("F006", 5, 5, message)]


RESPONSE = "    response: {jsonrpc: '2.0', id: 1, result: {}}\n"


@pytest.mark.parametrize("beside", ["", "    expect:\n", FINE, "    expect: {stderr: }\n"])
def test_a_response_beside_expect_belongs_under_it(beside: str) -> None:
    line = 5 + beside.count("\n")
    expected = ("F006", line, 5, '"response" belongs under "expect"')
    assert mistakes(HEAD + beside + RESPONSE) == [expected]


def test_a_response_beside_expect_and_under_it_is_one_too_many() -> None:
    under = "    expect: {response: {jsonrpc: '2.0', id: 1, result: {}}}\n"
    message = '"response" is here and under "expect"; only one of them can count'
    assert mistakes(HEAD + under + RESPONSE) == [("F003", 6, 5, message)]
