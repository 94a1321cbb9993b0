"""JSON from a server: as RFC 8259 has it, and nothing more."""

from __future__ import annotations

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.strict_json import NotJsonError, dump_json, parse_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=20,
)


@pytest.mark.slow
@given(JSON)
def test_a_written_value_is_read_back_unchanged(value: object) -> None:
    assert repr(parse_json(dump_json(value))) == repr(value)


@pytest.mark.slow
@given(JSON)
def test_a_message_is_one_line(value: object) -> None:
    assert "\n" not in dump_json(value)


@each_case(
    ("text", "reason", "column"),
    [
        ("", "expecting value", 1),
        ("nope", "expecting value", 1),
        ('{"a": 1,}', "a comma with nothing after it", 8),
        ("[1, ]", "a comma with nothing after it", 3),
        ('{"a": 1} x', "something follows the end of the JSON value", 10),
        ("1 2", "something follows the end of the JSON value", 3),
        ('{"a": 1, "b": 2, "a": 3}', 'the key "a" occurs twice in one object', 0),
        ('[{"x": {"k": 1, "k": 1}}]', 'the key "k" occurs twice in one object', 0),
        ("NaN", "NaN is not JSON", 0),
        ("[Infinity]", "Infinity is not JSON", 0),
        ("[-Infinity]", "-Infinity is not JSON", 0),
        ("1e400", "the number 1e400 is too large", 0),
        ("[-1e400]", "the number -1e400 is too large", 0),
        ("9" * 5000, "a number with more digits than can be read (limit 4,300)", 0),
        ("[" * 201 + "1" + "]" * 201, "nested deeper than 200 levels", 0),
        ('{"a":' * 201 + "1" + "}" * 201, "nested deeper than 200 levels", 0),
        ("[" * 100_000, "nested deeper than 200 levels", 0),
        ("'a'", "expecting value", 1),
        ('"a\nb"', "invalid control character", 3),
        ('["a', "unterminated string", 2),
        ("// comment", "expecting value", 1),
        ("\ufeff{}", "expecting value", 1),
    ],
)
def test_text_that_is_not_strict_json_is_refused_with_the_reason(
    text: str, reason: str, column: int
) -> None:
    with pytest.raises(NotJsonError) as caught:
        parse_json(text)
    assert (caught.value.reason, caught.value.column) == (reason, column)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[" * 200 + "1" + "]" * 200, None),
        ("9" * 4300, 10**4300 - 1),
        ("1e308", 1e308),
        ("-0", 0),
        ('"\\ud83d\\ude42"', "🙂"),
        ('"\\ud83d"', "\ud83d"),
        (' {"a" : [ ] }\t', {"a": []}),
        ('{"a": {"a": 1}, "b": {"a": 1}}', {"a": {"a": 1}, "b": {"a": 1}}),
    ],
)
def test_strict_json_is_read(text: str, value: object) -> None:
    found = parse_json(text)
    assert value is None or found == value


@pytest.mark.parametrize(
    "text", ["", "t-1", 'a "b"', "back\\slash", "\x00\n\x7f", "é\u2028", "\ud83d"]
)
def test_a_text_is_written_alike_alone_and_inside(text: str) -> None:
    assert f"[{dump_json(text)}]" == dump_json([text])


def test_half_a_surrogate_pair_survives_the_round_trip() -> None:
    assert parse_json(dump_json("\ud83d")) == "\ud83d"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_has_no_word_for_is_never_written(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_json([value])


@pytest.mark.parametrize("innermost", ["", "1"])
def test_depth_counts_arrays_whether_they_hold_something_or_not(innermost: str) -> None:
    parse_json("[" * 200 + innermost + "]" * 200)
    with pytest.raises(NotJsonError, match="deeper than 200"):
        parse_json("[" * 201 + innermost + "]" * 201)
