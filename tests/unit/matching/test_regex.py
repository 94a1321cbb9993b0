"""Expressions of the JavaScript world mean here what they mean there."""

from __future__ import annotations

import re

import pytest
import regress
from asking import is_met, why_not
from hypothesis import given
from hypothesis import strategies as st

from mcptest.matching.regex import compile_expression, compile_regex

FOUND = [
    (r"^(?<a>.)\k<a>$", "xx"),
    (r"^\d+$", "12"),
    (r"\bok\b", "is ok."),
    (r"^\s$", "\u00a0"),
    (r"^\s$", "\ufeff"),
    ("^ok$", "ok"),
    (r"[\w-.]+@[\w-]+\.org", "first.last@ex-ample.org"),
    (r"^[a-\d]$", "-"),
    (r"a\/b", "a/b"),
    (r"\u00e9", "é"),
    (r"\ud83d\ude00", "😀"),
    (r"[\ud83d\ude00x]", "😀"),
    ("[^]b", "\nb"),
    ("[[a]", "["),
    (r"^[\D]$", "é"),
    (r"^[^\W]$", "a"),
    (r"^[\S\n]+$", "a\n"),
    (r"^.$", "\x85"),
    (r"(?<=a|bb)c", "bbc"),
    (r"(?<!a|bb)c", "xbc"),
    (r"^(a)?b\1c$", "bc"),
    (r"^\1(a)$", "a"),
    (r"\a\A\Z\z\e", "aAZze"),
    (r"\x4 \u12 \c", "x4 u12 \\c"),
    (r"\cJ\0\101\8", "\n\0A8"),
    (r"\k", "k"),
    ("^x{,5}$", "x{,5}"),
    ("a{", "a{"),
    (r"\B", ""),
    (r"[\b]", "\b"),
    (r"[\101\B]", "B"),
]
NOT_FOUND = [
    (r"^(?<a>.)\k<a>$", "xy"),
    (r"^\d+$", "\u0663"),
    (r"^\w+$", "Müller"),
    (r"\bé", "é"),
    (r"^\s$", "\x85"),
    ("^ok$", "ok\n"),
    ("[]", "[]"),
    (r"^[\D]$", "1"),
    (r"^[^\W]$", "é"),
    (r"^.$", "\u2028"),
    ("^.$", "\r"),
    (r"(?<!a|bb)c", "bbc"),
    (r"\Aa", "ab"),
    ("^x{,5}$", "xx"),
]


@pytest.mark.parametrize(
    ("source", "found", "others"),
    [(r"[\c_]", "\x1f", "_c\\"), (r"[\c1]", "\x11", "1c\\"), (r"[\c!]", "\\c!", "\x01")],
)
def test_a_control_character_in_a_class(source: str, found: str, others: str) -> None:
    expression = compile_expression(source).compiled
    assert all(map(expression.search, found))
    assert not any(map(expression.search, others))
    assert not regress.Regex(r"\c1").find("\x11")
    assert not compile_expression(r"\c1").compiled.search("\x11")


@pytest.mark.parametrize(("source", "text"), FOUND)
def test_expressions_match_as_in_javascript(source: str, text: str) -> None:
    assert compile_expression(source).compiled.search(text)
    assert regress.Regex(source).find(text)


@pytest.mark.parametrize(("source", "text"), NOT_FOUND)
def test_expressions_do_not_match_where_javascript_does_not(source: str, text: str) -> None:
    assert not compile_expression(source).compiled.search(text)
    assert not regress.Regex(source).find(text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("(?i)OK", "ok"),
        ("(?P<n>a)(?P=n)", "aa"),
        (r"\u{1F600}", "😀"),
        ("^.$", "😀"),
        ("^[😀]$", "😀"),
        ("(?s)a.b", "a\nb"),
        ("(?m)^b$", "a\r\nb\nc"),
        ("(?m:^b$)", "a\nb"),
        ("(?#comment (x)a(?>b)", "ab"),
        ("a++b", "aab"),
        ("^(a)?(?(1)b|c)$", "c"),
    ],
)
def test_deliberate_differences_from_javascript_match(source: str, text: str) -> None:
    assert compile_expression(source).compiled.search(text)


ATOMS = (
    r"a b A 1 é . ^ $ ] } \d \D \w \W \s \S \b \B \n \r \0 \x41 \x4 \u0041 "
    r"\cJ \a \A \Z \e \- \/ \1 \2"
)
MEMBERS = r"a b - z ^ . $ [ é \d \D \w \W \s \S \b \n \] \\ 0-9 a-z \x41-\x5a \1 \A |"
GROUPS = ["(", "(?:", "(?=", "(?!", "(?<=", "(?<!"]
COUNTS = ["", "", "*", "+", "?", "{2}", "{0,2}", "{,2}"]
TEXTS = [
    "",
    "ab",
    "A1",
    "é b",
    "a\r\nb\u2028",
    "\ufeff\x85\x1c\xa0",
    "a{,2}-/^$.|][",
    "aa\n\b\0\1AZe",
]


def _join(parts: st.SearchStrategy[str], most: int, glue: str = "") -> st.SearchStrategy[str]:
    return st.lists(parts, min_size=1, max_size=most).map(glue.join)


_CLASSES = st.builds(
    "[{}{}]".format, st.sampled_from(["", "^"]), _join(st.sampled_from(MEMBERS.split()), 4)
)
_EXPRESSIONS = st.recursive(
    st.sampled_from(ATOMS.split()) | _CLASSES,
    lambda inner: st.builds(
        "{}{}){}".format,
        st.sampled_from(GROUPS),
        _join(_join(inner, 3), 3, "|"),
        st.sampled_from(COUNTS),
    ),
    max_leaves=6,
)


@pytest.mark.long
@pytest.mark.slow
@given(_join(_EXPRESSIONS, 4, ""))
def test_any_expression_finds_what_javascript_finds(source: str) -> None:
    try:
        theirs = regress.Regex(source)
        ours = compile_expression(source).compiled
    except (regress.RegressError, ValueError):
        return
    for text in TEXTS:
        assert bool(ours.search(text)) == bool(theirs.find(text)), (text, ours.pattern)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (r"\p{L}", r"\p{…} is not supported: list the characters, as in [A-Za-zÀ-ÿ]"),
        ("(?<=a+)b", "what a look-behind looks for must have one length in each alternative"),
        ("[a", "a character class lacks its ]"),
        ("[z-a]", "bad character range z-a"),
        ("a\\", "bad escape (end of pattern)"),
        (r"(?<a>x)\k<b>", "no group has the name 'b'"),
        (r"\u{110000}", "there is no character beyond 10FFFF"),
        ("(?#" * 60_000, "missing ), unterminated comment"),
        (f"a{{{'9' * 5000}}}", "the repetition number is too large"),
    ],
)
def test_unsupported_expressions_are_refused_with_the_reason(source: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^is not a regular expression: {re.escape(reason)}$"):
        compile_expression(source)


def test_contracts_may_use_the_anchors_of_go() -> None:
    expression = compile_expression(r"\Aok\a\z", from_go=True).compiled
    assert expression.search("ok\a")
    assert not expression.search("ok\a\n")
    with pytest.raises(ValueError, match="is not supported: list the characters"):
        compile_expression("[[:alpha:]]", from_go=True)


@given(st.text())
def test_escaped_text_finds_itself(text: str) -> None:
    assert compile_expression(re.escape(text)).compiled.search(f"a{text}b")


@given(st.text(alphabet=r"\$()[]{}^-?<>kdwbu=!:a1|*+.,", max_size=12))
def test_no_expression_is_too_odd_to_be_compiled_or_refused(source: str) -> None:
    try:
        compile_expression(source)
    except ValueError as error:
        assert str(error).startswith("is not a regular expression: ")  # noqa: PT017  # most pass


def test_an_odd_character_class_is_compiled_without_a_word_from_python() -> None:
    assert compile_regex("[[a]").search("a")


def test_an_expression_can_be_compiled_to_ignore_case() -> None:
    assert compile_regex("a", re.IGNORECASE).search("A")


def test_where_text_still_grows_a_line_break_may_follow_the_end() -> None:
    assert compile_regex("ready$").search("ready\n")


def test_the_place_of_a_mistake_is_given_only_where_the_author_would_find_it() -> None:
    with pytest.raises(ValueError, match=r"^is not a regular expression: .* at position 0$"):
        compile_expression("(a")
    with pytest.raises(ValueError, match=r"^is not a regular expression: [^0-9]*$"):
        compile_expression(r"\d(a")


# Hints


@pytest.mark.parametrize(
    ("pattern", "actual", "hint"),
    [
        ("regex:^OK$", "ok", "it matches when case is ignored"),
        ("regex:^ok$", "ok\n", "there is a line break at the end, and $ matches only the very end"),
        ("regex:/ok/", "ok", "the slashes around it are searched for too; leave them out"),
        (
            "regex:/ok/i",
            "OK",
            "the slashes around it are searched for too; leave them out, and to ignore case, "
            "write (?i) in front of it",
        ),
        ("regex:a.*z", "a\nz", "`.` does not match line breaks; (?s) in front of it does"),
        ("regex:a.*z", "a\nb", ""),
        ("regex:a\\.z", "a\nz", ""),
        ("regex:/ok/i", "no", ""),
        ("regex:/*/", "ok", ""),
        ("regex:x", "ok", ""),
    ],
)
def test_an_expression_that_is_not_found_says_what_would_be(
    pattern: str, actual: str, hint: str
) -> None:
    assert why_not(pattern, actual)[1] == hint


def test_slashes_are_searched_as_they_are_written() -> None:
    assert is_met("regex:/api/v1", "see /api/v1/users")
