"""Which known word was meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core import diagnostics
from mcptest.core.diagnostics import MAX_CHARS, MAX_KNOWN, closest, edit_distance, find_abbreviation

KNOWN = ("name", "command", "args", "startupTimeout", "readyPattern")


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("args", "args", 0),
        ("arg", "args", 1),
        ("agrs", "args", 1),
        ("argz", "args", 1),
        ("kitten", "sitting", 3),
    ],
)
def test_letters_are_added_dropped_changed_or_swapped(left: str, right: str, distance: int) -> None:
    assert edit_distance(left, right) == distance


@given(st.text(max_size=8), st.text(max_size=8))
def test_the_distance_is_the_same_both_ways_and_never_more_than_the_longer_word(
    left: str, right: str
) -> None:
    there = edit_distance(left, right)
    assert there == edit_distance(right, left)
    assert abs(len(left) - len(right)) <= there <= max(len(left), len(right))


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("comand", "command"),
        ("Command", "command"),
        ("startuptimout", "startupTimeout"),
        ("arg", "args"),
        ("nmae", "name"),
        ("url", ""),
        ("xyz", ""),
        ("", ""),
        ("ready", ""),
    ],
)
def test_the_nearest_word_is_meant_when_it_is_near_enough(word: str, meant: str) -> None:
    assert closest(word, KNOWN) == meant


def test_short_words_must_be_nearer_than_long_ones() -> None:
    assert closest("at", ("it",)) == "it"
    assert closest("tag", ("it",)) == ""
    assert closest("sttartupTimeuot", KNOWN) == "startupTimeout"


def test_nothing_is_near_when_nothing_is_known() -> None:
    assert closest("name", ()) == ""


def test_a_key_of_a_megabyte_from_a_server_costs_nothing() -> None:
    assert closest("name", ["n" * 5_000_000, "nane"]) == "nane"


@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.integers(0, 4))
def test_with_a_limit_the_distance_is_the_same_as_far_as_it_goes(
    left: str, right: str, limit: int
) -> None:
    assert edit_distance(left, right, limit) == min(edit_distance(left, right), limit + 1)


def test_only_the_first_of_very_many_names_are_compared() -> None:
    names = iter([*("x" * 8 for _ in range(MAX_KNOWN - 1)), "command", "comman", "comand"])
    assert closest("comand", names) == "command"
    assert next(names) == "comman"


def test_names_that_are_very_long_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def remembering(left: str, right: str, limit: int) -> int:
        compared.append(right)
        return edit_distance(left, right, limit)

    monkeypatch.setattr(diagnostics, "edit_distance", remembering)
    most = "n" * MAX_CHARS
    assert closest(most, [f"{most}n", most]) == most
    assert compared == [most]
    assert closest(f"{most}n", [f"{most}n", most]) == ""
    assert compared == [most]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("args", "arguments"),
        ("Args", "arguments"),
        ("max_duration", "max_duration_ms"),
        ("timeout_ms", "timeout"),
        ("max", ""),
        ("ar", ""),
        ("arrangements", ""),
        ("gum", ""),
        ("t" * MAX_CHARS, ""),
        ("", ""),
    ],
)
def test_a_word_is_short_for_the_one_that_begins_alike_and_has_its_letters(
    word: str, meant: str
) -> None:
    known = ("arguments", "max_duration_ms", "max_response_tokens", "timeout", "t" * 200)
    assert find_abbreviation(word, known) == meant
