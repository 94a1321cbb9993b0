"""A value is compared with its snapshot, and the first difference is shown where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from case_tables import each_case

from mcptest.core.results import Mismatch
from mcptest.core.secrets import redact_all
from mcptest.core.value_class import ABSENT
from mcptest.matching.compare import compare, is_met
from mcptest.matching.diff import render_mismatch
from mcptest.matching.registry import BadExpressionError, ParameterError
from mcptest.matching.snapshots import MAX_CHARS, MAX_NODES, snapshot_pattern

if TYPE_CHECKING:
    from mcptest.core.results import SnapshotMode
    from mcptest.core.text import Trail
    from mcptest.matching.patterns import Pattern

UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
ANSWER = {"content": [{"type": "text", "text": "to Oslo"}], "took": 3, "n": 1}
STORED = {"content": [{"type": "text", "text": "to Oslo"}], "took": "<duration>", "n": 1}
ACCEPT = "run with --update-snapshots to accept it"


class Book:
    """Snapshots in memory, with the recorded values."""

    def __init__(self, mode: SnapshotMode, secret: str = "", **entries: object) -> None:
        self.mode = mode
        self.entries = entries
        self.declared: list[str] = []
        self.seen: list[tuple[str, object, bool]] = []
        self._secret = secret

    def declare(self, key: str, place: Trail, *, is_given: bool) -> None:
        self.declared.append(key)

    def redacted(self, value: object) -> object:
        if not self._secret:
            return value
        result: object = redact_all(value, lambda text: text.replace(self._secret, "[secret]"))
        return result

    def stored(self, key: str) -> object:
        return self.entries.get(key, ABSENT)

    def record(
        self, key: str, value: object, *, is_same: bool, place: tuple[str | int, ...]
    ) -> None:
        self.seen.append((key, value, is_same))


def pattern(book: Book, options: object = True) -> Pattern:
    return snapshot_pattern(book, "a", options)


def mismatches(book: Book, actual: object, options: object = True) -> list[Mismatch]:
    return list(compare({"result": pattern(book, options)}, {"result": actual}))


# The three modes


@pytest.mark.parametrize("mode", ["check", "write_new", "update"])
def test_the_same_value_passes_in_every_mode(mode: SnapshotMode) -> None:
    book = Book(mode, a=STORED)
    assert mismatches(book, ANSWER) == []
    assert book.seen == [("a", STORED, True)]


@pytest.mark.parametrize("mode", ["write_new", "update"])
def test_a_value_without_a_snapshot_passes_where_it_is_written(mode: SnapshotMode) -> None:
    book = Book(mode)
    assert mismatches(book, ANSWER) == []
    assert book.seen == [("a", STORED, False)]


def test_a_value_without_a_snapshot_fails_where_nothing_is_written() -> None:
    book = Book("check")
    (found,) = mismatches(book, ANSWER)
    assert (found.path, found.expected, found.actual) == ("result", "match:snapshot:a", ANSWER)
    assert found.message == ('expected what the snapshot "a" holds; there is none of that name yet')
    assert found.hint == "run it outside CI, and commit what is written"
    assert book.seen == [("a", STORED, False)]


def test_another_value_passes_where_it_is_accepted() -> None:
    book = Book("update", a=STORED)
    assert mismatches(book, ANSWER | {"n": 2}) == []
    assert book.seen == [("a", STORED | {"n": 2}, False)]


@pytest.mark.parametrize("mode", ["check", "write_new"])
def test_another_value_fails_where_it_is_not(mode: SnapshotMode) -> None:
    (found,) = mismatches(Book(mode, a=STORED), ANSWER | {"n": 2})
    assert found == Mismatch(
        path="result.n", expected=1, actual=2, message='snapshot "a": differs', hint=ACCEPT
    )


# How a difference is shown


def test_the_first_difference_is_shown_in_its_place_and_the_next_ones_are_named() -> None:
    stored = {"a": "one\ntwo\nthree", "b": 1, "c": [1, 2], "d": None, "e": 1, "f": 1}
    actual = {"a": "one\n2\nthree", "b": "1", "c": [1], "d": 0, "e": 2, "g": 1}
    (found,) = mismatches(Book("check", a=stored), actual)
    assert (found.path, found.expected, found.actual) == ("result.a", stored["a"], actual["a"])
    also = "result.b, result.c[1], result.d and 3 more places"
    assert found.message == f'snapshot "a": differs; it also differs at {also}'
    lines = [line.text.strip() for line in render_mismatch(found, columns=10)]
    assert "- two" in lines
    assert "+ 2" in lines


def test_very_many_differences_are_not_counted() -> None:
    (found,) = mismatches(Book("check", a=list(range(1000))), list(range(1, 1001)))
    assert found.message.endswith("result[1], result[2], result[3] and many more places")


def test_missing_and_additional_members_are_reported() -> None:
    (found,) = mismatches(Book("check", a={"b": 1}), {})
    assert (found.path, found.actual) == ("result.b", ABSENT)
    assert found.message == 'snapshot "a": is missing'
    (found,) = mismatches(Book("check", a={}), {"b": 1})
    assert (found.path, found.expected) == ("result.b", ABSENT)


def test_a_hint_of_the_comparison_is_kept() -> None:
    (found,) = mismatches(Book("check", a=["x", "y"]), ["y", "x"])
    assert found.hint == f"result has the same elements in another order; {ACCEPT}"


def test_a_pattern_can_be_asked_by_itself_and_says_where_it_differs() -> None:
    asked = pattern(Book("check", a={"b": 1, "c": 2}))
    miss = asked.miss({"b": 2, "c": 3})
    assert miss is not None
    assert miss.why == "it differs at b, c"
    found = asked.mismatch({"b": 2, "c": 3}, (None, "result"))
    assert found is not None
    assert (found.path, found.hint) == ("result.b", ACCEPT)
    assert asked.mismatch({"b": 1, "c": 2}, None) is None
    unknown = pattern(Book("check")).mismatch(1, None)
    assert unknown is not None
    assert unknown.hint.startswith("run it outside CI")


def test_a_string_that_looks_like_a_pattern_is_literal_in_a_snapshot() -> None:
    assert not is_met(pattern(Book("check", a="match:contains:x")), "x")
    assert is_met(pattern(Book("check", a={"match:type": "x"})), {"match:type": "x"})


def test_a_value_is_judged_once_and_in_this_process() -> None:
    matcher = pattern(Book("check")).matcher
    assert (matcher.name, matcher.is_remote, matcher.is_slow) == ("snapshot", True, True)


def test_a_long_or_hostile_name_is_shown_short_and_visible() -> None:
    asked = snapshot_pattern(Book("check"), "a\x1b[31m" + "b" * 200, True)
    found = asked.mismatch(1, None)
    assert found is not None
    assert "\x1b" not in found.message
    assert "…" in found.message


def test_its_negation_can_be_asked() -> None:
    differs = pattern(Book("check", a=1)).but(negated=True)
    assert differs.is_met(2)
    found = differs.mismatch(1, None)
    assert found is not None
    assert found.message == 'expected anything but what the snapshot "a" holds; it is just that'


# Options


def test_a_name_takes_the_place_of_the_key() -> None:
    for options in ("b", {"name": "b"}):
        book = Book("check", b=1)
        assert mismatches(book, 1, options) == []
        assert book.declared == ["b"]


def test_without_a_name_the_key_is_declared() -> None:
    choices: tuple[object, ...] = (True, {}, {"ignore": []})
    for options in choices:
        book = Book("check", a=1)
        assert mismatches(book, 1, options) == []
        assert book.declared == ["a"]


@pytest.mark.parametrize(
    "path",
    [
        "items[*].at",
        "items.*.at",
        "items.0.at",
        "items[0].at",
        'items[0]["at"]',
        "['items'][0]['at']",
        "result.items[*].at",
        "result.items[0].at",
    ],
)
def test_ignored_members_are_neither_compared_nor_kept(path: str) -> None:
    book = Book("check", a={"items": [{"n": 1}]})
    assert mismatches(book, {"items": [{"n": 1, "at": 5}]}, {"ignore": [path]}) == []


def test_a_path_from_the_top_of_the_answer_leads_into_an_element() -> None:
    book = Book("check", a={"n": 1})
    asked = pattern(book, {"ignore": ["result.items[*].at"]})
    answer = {"result": {"items": [{"n": 1, "at": 5}]}}
    assert list(compare({"result": {"items": [asked]}}, answer)) == []


def test_keys_in_quotes_may_hold_anything() -> None:
    book = Book("check", a={})
    actual = {"a.b": 1, 'q"q': 2, "it's": 3}
    options = {"ignore": ['["a.b"]', '["q\\"q"]', '["it\'s"]']}
    assert mismatches(book, actual, options) == []


def test_a_pattern_of_the_author_is_replaced() -> None:
    book = Book("check", a={"text": "build <n>"})
    options = {"normalize": [{"pattern": r"\d{4}$", "as": "<n>"}]}
    assert mismatches(book, {"text": "build 4711"}, options) == []


@each_case(
    ("options", "message"),
    [
        (False, "is never false"),
        (None, "takes true, the name of a snapshot or a mapping, not null"),
        (3, "takes true, the name of a snapshot or a mapping, not a number"),
        (["a"], "takes true, the name of a snapshot or a mapping, not an array"),
        ("", "needs a string as the name of the snapshot, not an empty string"),
        ({"name": 3}, "needs a string as the name of the snapshot, not a number"),
        ({"ignored": []}, "has no option 'ignored'; did you mean 'ignore'?"),
        ({"normalise": []}, "has no option 'normalise'; did you mean 'normalize'?"),
        ({"ignore": "a"}, 'takes a list under "ignore", not a string'),
        ({"ignore": [3]}, 'takes paths under "ignore", not a number'),
        ({"ignore": [""]}, 'takes paths under "ignore", not an empty string'),
        ({"ignore": ["a[b]"]}, "cannot read the path 'a[b]' under \"ignore\""),
        ({"ignore": ["a..b"]}, "cannot read the path 'a..b' under \"ignore\""),
        ({"normalize": {}}, 'takes a list under "normalize", not an object'),
        ({"normalize": ["a"]}, 'takes mappings under "normalize", not a string'),
        (
            {"normalize": [{"pattern": "a"}]},
            'needs a string as "as" under "normalize"; it is missing',
        ),
        (
            {"normalize": [{"pattern": 3, "as": ""}]},
            'needs a string as "pattern" under "normalize"; it is a number',
        ),
        (
            {"normalize": [{"pattern": "a", "as": "", "with": ""}]},
            'takes "pattern" and "as" under "normalize", not \'with\'',
        ),
        (
            {"normalize": [{"pattern": "a*", "as": ""}]},
            "has a pattern 'a*' that matches nothing at all",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options: object, message: str) -> None:
    book = Book("check")
    with pytest.raises(ParameterError) as caught:
        pattern(book, options)
    assert str(caught.value) == message
    assert caught.value.help
    assert book.declared == []


def test_a_bad_regular_expression_is_called_one() -> None:
    with pytest.raises(BadExpressionError, match=r"has a pattern '\(' that is not a regular"):
        pattern(Book("check"), {"normalize": [{"pattern": "(", "as": ""}]})


# Secrets and hostile values


def test_a_secret_is_blanked_before_anything_else_is_done_to_the_value() -> None:
    secret = "/home/ada/hunter2"
    book = Book("write_new", secret=secret)
    assert mismatches(book, {"p": f"at {secret}", "q": UUID}) == []
    assert book.seen == [("a", {"p": "at [secret]", "q": "<uuid-1>"}, False)]


def test_a_secret_that_an_author_writes_is_blanked_too() -> None:
    book = Book("write_new", secret="hunter2")
    options = {"normalize": [{"pattern": "x", "as": "hunter2"}]}
    assert mismatches(book, "x", options) == []
    assert book.seen == [("a", "[secret]", False)]


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@each_case(
    ("value", "why"),
    [
        ("x" * (MAX_CHARS + 1), "its strings have more than 1,048,576 characters"),
        ({"k" * (MAX_CHARS + 1): 1}, "its strings have more than 1,048,576 characters"),
        ([0] * (MAX_NODES + 1), "it has more than 100,000 values in it"),
        (nested(100_000), "it is nested deeper than 200 levels"),
    ],
)
@each_case("mode", ["check", "write_new", "update"])
def test_a_value_too_large_for_review_is_refused_and_not_kept(
    mode: SnapshotMode, value: object, why: str
) -> None:
    book = Book(mode)
    miss = pattern(book).miss(value)
    assert miss is not None
    assert miss.why == why
    assert miss.hint is not None
    assert "ignore" in miss.hint()
    assert book.seen == []


def test_ignored_members_may_be_of_any_size() -> None:
    book = Book("write_new")
    actual = {"big": "x" * (MAX_CHARS + 1), "deep": nested(100_000), "n": 1}
    assert mismatches(book, actual, {"ignore": ["big", "deep"]}) == []
    assert book.seen == [("a", {"n": 1}, False)]


@pytest.mark.parametrize(
    "value", ["\ud800", "\x00", {"\udc00": "\x1b"}, nested(200), -0.0, 10**300]
)
def test_a_strange_value_is_taken_and_known_again(value: object) -> None:
    book = Book("write_new")
    assert pattern(book).is_met(value)
    kept = book.seen[0][1]
    assert pattern(Book("check", a=kept)).is_met(value)


def test_a_value_that_is_not_there_has_no_snapshot() -> None:
    book = Book("update")
    assert not pattern(book).is_met(ABSENT)
    assert book.seen == []
