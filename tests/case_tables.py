"""Tests over large tables of cases."""

from __future__ import annotations

import functools
import inspect
import reprlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Test = Callable[..., None]

_Param = type(pytest.param())
# Cases may be large, or too deep for `repr`.
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 200


def each_case(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, but one pytest item for the whole table.

    For tables of dozens of cheap cases: an item for each would take longer than the cases. All
    cases run, and one failure reports every case that failed. The cases share the test's fixtures.
    """
    if isinstance(names, str):
        names = tuple(name.strip() for name in names.split(","))
    table = [_read_case(case, len(names)) for case in cases]
    assert table, "a table without cases tests nothing"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run_all(**fixtures: Any) -> None:
            failures: list[tuple[str, BaseException]] = []
            for label, values in table:
                try:
                    test(**fixtures, **dict(zip(names, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # raised below
                    failures.append((label or _short.repr(values), error))
            if failures:
                reasons = (f"{label}\n  {type(e).__name__}: {e}" for label, e in failures)
                count = f"{len(failures)} of {len(table)} cases failed:"
                raise AssertionError("\n".join([count, *reasons])) from failures[0][1]

        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in names]
        run_all.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run_all

    return decorate


def _read_case(case: Any, count: int) -> tuple[str, tuple[Any, ...]]:
    """The id of a case, if it has one, and its values."""
    if isinstance(case, _Param):
        assert not case.marks, "marks belong to pytest items; use pytest.mark.parametrize"
        return str(case.id or ""), tuple(case.values)
    return "", (case,) if count == 1 else tuple(case)
