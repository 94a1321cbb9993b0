"""Which cases are run."""

from __future__ import annotations

import pytest

from mcptest.core.errors import NothingSelectedError
from mcptest.core.plan import Case, Suite
from mcptest.engine.selection import Selection, Shard, select


def case(name: str, *tags: str, only: bool = False) -> Case:
    return Case(name=name, line=1, steps=(), tags=tags, only=only)


def suite(file: str, *cases: Case) -> Suite:
    return Suite(name=f"suite {file}", file=file, format="conductor", cases=cases)


SUITES = [
    suite("a", case("Sun", "fast"), case("rain", "slow", "fast")),
    suite("b", case("snow", "slow")),
    suite("c", case("fog")),
]


def names(selection: Selection) -> list[str]:
    return [case.name for suite in select(SUITES, selection) for case in suite.cases]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), ["Sun", "rain", "snow", "fog"]),
        (Selection(filters=("s",)), ["Sun", "rain", "snow", "fog"]),
        (Selection(filters=("SUN", "og")), ["Sun", "fog"]),
        (Selection(filters=("suite b",)), ["snow"]),
        (Selection(tags=("fast",)), ["Sun", "rain"]),
        (Selection(tags=("fast",), skip_tags=("slow",)), ["Sun"]),
        (Selection(skip_tags=("slow", "fast")), ["fog"]),
        (Selection(shard=Shard(number=1, count=2)), ["Sun", "rain", "fog"]),
        (Selection(shard=Shard(number=2, count=2)), ["snow"]),
        (Selection(filters=("fog",), shard=Shard(number=1, count=2)), ["fog"]),
    ],
)
def test_tests_are_chosen(selection: Selection, expected: list[str]) -> None:
    assert names(selection) == expected


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(filters=("hail",)), r"^no test matches the filter 'hail' \(of 4 in all\)$"),
        (
            Selection(filters=("a", "hail"), tags=("wet",)),
            r"^no test matches the filter 'a' or 'hail' and --tag wet \(of 4 in all\); "
            r"tags there are: fast, slow$",
        ),
        (Selection(tags=("fats",)), r"did you mean 'fast'\?"),
        (
            Selection(filters=("fog",), shard=Shard(number=2, count=2)),
            r"^no test matches the filter 'fog' \(of 1 in all\)$",
        ),
        (
            Selection(shard=Shard(number=4, count=4)),
            "^shard 4 of 4 has no file: there are 3 in all$",
        ),
    ],
)
def test_a_choice_that_leaves_nothing_is_an_error(selection: Selection, message: str) -> None:
    with pytest.raises(NothingSelectedError, match=message):
        select(SUITES, selection)


def test_only_is_about_its_own_file() -> None:
    suites = [suite("a", case("x"), case("y", only=True)), suite("b", case("z"))]
    chosen = [case for each in select(suites, Selection()) for case in each.cases]
    assert [(case.name, case.skip) for case in chosen] == [
        ("x", "another test of this file says only"),
        ("y", None),
        ("z", None),
    ]


def test_a_file_with_two_servers_is_in_one_shard() -> None:
    suites = [suite("a", case("one")), suite("a", case("two")), suite("b", case("three"))]
    found = [
        [case.name for each in select(suites, Selection(shard=shard)) for case in each.cases]
        for shard in (Shard(number=1, count=2), Shard(number=2, count=2))
    ]
    assert found == [["one", "two"], ["three"]]


def test_a_test_excluded_by_only_is_skipped_and_not_counted_as_not_run() -> None:
    left = Case(name="agent", line=1, skip="cannot be run", not_run=True)
    found = select([suite("a", case("one", only=True), left)], Selection())[0].cases[1]
    assert (found.skip, found.not_run) == ("another test of this file says only", False)
