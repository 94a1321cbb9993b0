"""JSON is read as JSON, and only JSON is."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.formats.yaml import NOT_JSON, read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 1.5, true, null, "x"]}', {"a": [1, 1.5, True, None, "x"]}),
        ('{\n\t"a": {\n\t\t"b": 1e3\n\t}\n}', {"a": {"b": 1000.0}}),
        (r'["\ud83d\ude00"]', ["😀"]),
        ('{"' + "k" * 2000 + '": 1}', {"k" * 2000: 1}),
        ('["\x7f\u2028"]', ["\x7f\u2028"]),
    ],
)
def test_json_is_read(text: str, value: object) -> None:
    assert read_json(text) == value


@each_case(
    "text",
    [
        "",
        "a: 1",
        '"text"',
        "12",
        "[a]",
        "{'a': 1}",
        "[1,]",
        '{"a": 1} # c',
        '{"a": 1, "a": 2}',
        "[NaN]",
        "[-Infinity]",
        "[1e400]",
        "[" + "9" * 4301 + "]",
        r'["\ud83d"]',
        '["\ud83d"]',
        "[" * 201 + "]" * 201,
        "[" * 100_000,
        "[" + "1," * 1_000_000 + "1]",
    ],
)
def test_text_that_is_not_acceptable_json_is_left_to_the_yaml_reader(text: str) -> None:
    assert read_json(text) is NOT_JSON


def test_nesting_up_to_the_limit_is_read() -> None:
    assert read_json("[" * 200 + "]" * 200) is not NOT_JSON
