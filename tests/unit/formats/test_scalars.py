"""Plain scalars mean what the core schema of YAML 1.2 says."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.formats.yaml.quick import MAX_DIGITS, resolve_as, resolve_plain


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_null_has_five_spellings(text: str) -> None:
    assert resolve_plain(text) is None


@pytest.mark.parametrize("text", ["true", "True", "TRUE"])
def test_true_has_three_spellings(text: str) -> None:
    assert resolve_plain(text) is True


@pytest.mark.parametrize("text", ["false", "False", "FALSE"])
def test_false_has_three_spellings(text: str) -> None:
    assert resolve_plain(text) is False


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("-12", -12),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("9" * MAX_DIGITS, int("9" * MAX_DIGITS)),
        ("0x" + "f" * 3300, 16**3300 - 1),
    ],
)
def test_integers_are_decimal_octal_or_hexadecimal(text: str, value: int) -> None:
    found = resolve_plain(text)
    assert type(found) is int
    assert found == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5E-1", -0.05),
        ("+1.5e+2", 150.0),
        ("0.0", 0.0),
    ],
)
def test_floats_need_a_point_or_an_exponent(text: str, value: float) -> None:
    found = resolve_plain(text)
    assert type(found) is float
    assert found == value


@each_case(
    "text",
    # YAML 1.1 reads most of these as something else.
    [
        "yes",
        "no",
        "on",
        "off",
        "y",
        "2020-01-01",
        "1:30",
        "1_000",
        "0b1",
        "0o8",
        "0xg",
        "-0x1",
        ".",
        "-",
        "+",
        "..",
        "1e",
        "e3",
        "nULL",
        "tRUE",
        "inf",
        "NaN",
        "+.nan",
        "１２",
        "<<",
        "=",
    ],
)
def test_everything_else_is_text(text: str) -> None:
    assert resolve_plain(text) == text


@each_case(
    "text",
    [
        ".inf",
        "-.Inf",
        "+.INF",
        ".nan",
        ".NaN",
        ".NAN",
        "1e400",
        "-1e400",
        "9" * (MAX_DIGITS + 1),
        "0x" + "f" * 3600,
        "0o" + "7" * 5000,
        "1." + "1" * MAX_DIGITS,
    ],
)
def test_numbers_that_json_cannot_carry_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|digits"):
        resolve_plain(text)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("str", "1", "1"),
        ("int", "0x10", 16),
        ("float", "1", 1.0),
        ("bool", "True", True),
        ("null", "", None),
        ("null", "~", None),
        ("str", "", ""),
    ],
)
def test_a_tag_decides_what_a_text_is_read_as(kind: str, text: str, value: object) -> None:
    found = resolve_as(kind, text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [("int", "x"), ("int", "1.5"), ("float", "x"), ("bool", "yes"), ("bool", ""), ("null", "0")],
)
def test_a_tag_that_does_not_fit_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"not|neither"):
        resolve_as(kind, text)
