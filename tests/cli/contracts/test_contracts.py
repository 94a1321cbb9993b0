"""Every contract of this repository: played by its own mock, and false in one value at a time."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from console import mcptest

from mcptest.core.errors import FormatError
from mcptest.core.text import render_path
from mcptest.formats.cases import is_ours, is_turn, load_cases
from mcptest.formats.yaml.full import Tagged
from mcptest.formats.yaml.stream import Stream, read_stream
from mcptest.matching.case_tags import TAG_NAMES
from mcptest.matching.registry import builtin_registry

ROOT = Path(__file__).parents[3]
CONTRACTS = sorted(
    path for folder in ("examples", "tests") for path in (ROOT / folder).rglob("*.cases.yaml")
)
Steps = tuple[str | int, ...]

# What is wrong with these is seen when the file is loaded.
SEEN_AT_LOAD = re.compile(r"\.(id|jsonrpc)$")


class Change(NamedTuple):
    """A copy of a contract with one value changed, and where."""

    path: str
    line: int
    column: int
    text: str


def mocked(contract: Path) -> tuple[str, ...]:
    return ("--server-command", f"{sys.executable} -m mcptest mock --quiet {contract}")


def changes(text: str) -> Iterator[Change]:
    """The contract with each value that a server is expected to send changed, one at a time."""
    stream = read_stream(text, "contract", tags=TAG_NAMES, may_repeat=is_turn)
    for steps, value in leaves(stream):
        if isinstance(value, Tagged) and value.tag in ("bind", "any"):
            continue  # nothing in particular is expected there
        place = stream.places().value(steps)
        lines = text.split("\n")
        line = lines[place.line - 1]
        start = place.column - 1
        lines[place.line - 1] = f'{line[:start]}"quite another"{line[start + place.width :]}'
        yield Change(render_path(steps[1:]), place.line, place.column, "\n".join(lines))


def leaves(stream: Stream) -> Iterator[tuple[Steps, object]]:
    for document in stream.documents:
        assert isinstance(document.value, dict)
        for key, message in document.value.items():
            if is_turn(key) and not is_ours(key):
                yield from _leaves(message, (document.index, key))


def _leaves(value: object, steps: Steps) -> Iterator[tuple[Steps, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*steps, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*steps, index))
    else:
        yield steps, value


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda path: path.name)
def test_a_contract_is_kept_by_its_own_mock(contract: Path) -> None:
    ended = mcptest(ROOT, "run", str(contract), *mocked(contract), "--json")
    summary = ended.report()["summary"]
    assert (ended.code, summary["passed"], summary["skipped"]) == (0, summary["total"], 0)


@pytest.mark.long
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda path: path.name)
def test_a_contract_with_one_value_changed_fails_at_that_value(
    contract: Path, tmp_path: Path
) -> None:
    expected: dict[str, Change] = {}
    for number, change in enumerate(changes(contract.read_text(encoding="utf-8"))):
        if SEEN_AT_LOAD.search(change.path):
            with pytest.raises(FormatError) as refused:
                load_cases(change.text, "changed", builtin_registry(), {})
            [found, *_] = refused.value.diagnostics
            assert (found.line, found.column) == (change.line, change.column)
            continue
        name = f"{number:03}.cases.yaml"
        (tmp_path / name).write_text(change.text, encoding="utf-8")
        expected[name] = change
    words = ("--timeout", "1s", "--parallel", "2", "--json")
    report = mcptest(tmp_path, "run", *mocked(contract), *words).report()
    assert len(expected) > 10
    assert {suite["file"]: failed_at(suite) for suite in report["suites"]} == {
        name: [place_of(change)] for name, change in expected.items()
    }


def failed_at(suite: dict[str, Any]) -> list[str]:
    return [found["path"] for test in suite["tests"] for found in test["mismatches"]]


def place_of(change: Change) -> str:
    # A message with another method is another message: the expected one does not arrive.
    return change.path.removesuffix(".method")
