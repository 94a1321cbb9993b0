"""Which known word was meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.suggest import closest, edit_distance

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
