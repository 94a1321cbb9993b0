"""Matchers on dates; what counts as one is in `dates`."""

from __future__ import annotations

import re

from mcptest.core.strict_json import dump_json
from mcptest.core.suggest import closest
from mcptest.matching.dates import epoch_ms, has_format, render_ms, split_dates
from mcptest.matching.parameters import nothing
from mcptest.matching.registry import CannotHoldError, Matcher, Miss, ParameterError
from mcptest.matching.values import a_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["date_matchers"]

_KINDS = ("string", "number")
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_FORMAT_NAMES = ("iso", "iso-date", "iso-time", "us-date", "eu-date", "timestamp")


def _a_date(raw: str) -> float:
    moment = epoch_ms(raw)
    if moment is None:
        raise ParameterError(f"needs a date such as 2024-01-31, not {dump_json(raw)}")
    return moment


def _two_dates(raw: str) -> tuple[float, float]:
    for left, right in split_dates(raw):
        bounds = _a_date(left), _a_date(right)
        if bounds[0] > bounds[1]:
            raise CannotHoldError(f"goes from {left} back to {right}; write {right}:{left}")
        return bounds
    raise ParameterError(f"needs two dates with a colon between, not {dump_json(raw)}")


def _an_age(raw: str) -> int:
    found = re.fullmatch(r"([0-9]{1,12})(ms|s|m|h|d)", raw.strip())
    if found is None:
        units = "ms, s, m, h or d"
        raise ParameterError(f"needs a number with {units} behind it, not {dump_json(raw)}")
    return int(found[1]) * _UNITS_MS[found[2]]


def _a_format(raw: str) -> str:
    name = raw.strip()
    if name in _FORMAT_NAMES:
        return name
    meant = closest(name, _FORMAT_NAMES)
    question = f'; did you mean "{meant}"?' if meant else ""
    raise ParameterError(f"knows {', '.join(_FORMAT_NAMES)}, not {dump_json(raw)}{question}")


def _dated(test: Callable[[float, Any], bool]) -> Callable[[Any, object], Miss | None]:
    """A check on the moment that a value says."""

    def check(wanted: Any, actual: object) -> Miss | None:
        moment = epoch_ms(actual)
        if moment is None:
            return _no_date(actual)
        return None if test(moment, wanted) else Miss(why=f"it is {render_ms(moment)}")

    return check


def _no_date(actual: object) -> Miss:
    if not isinstance(actual, str):
        return Miss(why=f"it is {a_type(actual)}")
    hint = (
        (lambda: "it is a date when the day comes first") if has_format("eu-date", actual) else None
    )
    return Miss(why="it is text that is no date", hint=hint)


def _is_written(name: str, actual: object) -> Miss | None:
    if has_format(name, actual):
        return None
    if not isinstance(actual, str):
        return Miss(why=f"it is {a_type(actual)}")
    others = [other for other in _FORMAT_NAMES if has_format(other, actual)]
    return Miss(
        why="it is not written so",
        hint=(lambda: f"it is written as {' or '.join(others)}") if others else None,
    )


def _length_of_time(age_ms: float) -> str:
    fitting = (unit for unit in ("d", "h", "m", "s") if age_ms >= _UNITS_MS[unit])
    unit = next(fitting, "ms")
    return f"{age_ms / _UNITS_MS[unit]:,.1f}".removesuffix(".0") + unit


def _age_check(now: Callable[[], float]) -> Callable[[int, object], Miss | None]:
    def check(longest_ms: int, actual: object) -> Miss | None:
        moment = epoch_ms(actual)
        if moment is None:
            return _no_date(actual)
        age_ms = now() * 1000 - moment
        if age_ms < 0:
            return Miss(why=f"it is {_length_of_time(-age_ms)} in the future")
        return None if age_ms <= longest_ms else Miss(why=f"it is {_length_of_time(age_ms)} old")

    return check


def _no_clock() -> float:
    raise RuntimeError("match:dateAge needs a clock: build the registry with one")


def _entry(name: str, words: str, summary: str, **fields: Any) -> Matcher:
    return Matcher(
        name=name,
        family="Dates",
        parameters=("D",),
        summary=summary,
        parse=_a_date,
        wants=lambda moment: f"a date {words} {render_ms(moment)}",
        kinds=_KINDS,
        **fields,
    )


def date_matchers(now: Callable[[], float] | None) -> tuple[Matcher, ...]:
    """All of them; `now` is the clock by which a date is young or old, in seconds."""
    return (*_DATE_MATCHERS, _AGE.but(check=_age_check(now)) if now else _AGE)


_DATE_MATCHERS = (
    Matcher(
        name="dateValid",
        family="Dates",
        summary="A date: ISO 8601, a common English form, or epoch seconds or milliseconds.",
        example="match:dateValid",
        passes=("2024-02-29", "June 15, 2023", 1687686600),
        fails=("2023-02-29", "soon", None),
        parse=nothing,
        wants=lambda _: "a date",
        check=_dated(lambda _, __: True),
        kinds=_KINDS,
    ),
    _entry(
        "dateAfter",
        "after",
        "A date later than D.",
        example="match:dateAfter:2023-01-01",
        passes=("2023-01-01T00:00:01Z", 1687686600),
        fails=("2023-01-01", "soon", None),
        check=_dated(lambda moment, limit: moment > limit),
    ),
    _entry(
        "dateBefore",
        "before",
        "A date earlier than D.",
        example="match:dateBefore:2023-01-01",
        passes=("2022-12-31T23:59:59Z", 1400000000000),
        fails=("2023-01-01", "", None),
        check=_dated(lambda moment, limit: moment < limit),
    ),
    Matcher(
        name="dateBetween",
        family="Dates",
        parameters=("A:B",),
        summary="A date from A to B, both included; both may have a time.",
        example="match:dateBetween:2023-01-01:2023-06-30T12:00:00Z",
        passes=("2023-01-01", "30 June 2023"),
        fails=("2023-06-30T12:00:01Z", None),
        parse=_two_dates,
        wants=lambda bounds: f"a date from {render_ms(bounds[0])} to {render_ms(bounds[1])}",
        check=_dated(lambda moment, bounds: bounds[0] <= moment <= bounds[1]),
        kinds=_KINDS,
    ),
    _entry(
        "dateEquals",
        "equal to",
        "The same moment as D, however it is written.",
        example="match:dateEquals:2023-06-25T09:50:00Z",
        passes=(1687686600, "2023-06-25T11:50:00+02:00"),
        fails=("2023-06-25", None),
        check=_dated(lambda moment, wanted: moment == wanted),
    ),
    Matcher(
        name="dateFormat",
        family="Dates",
        parameters=("K",),
        summary=f"A date that is written as K: {', '.join(_FORMAT_NAMES)}.",
        example="match:dateFormat:iso-date",
        passes=("2023-06-15",),
        fails=("2023-13-15", "6/15/2023", None),
        parse=_a_format,
        wants=lambda name: f"a date written as {name}",
        check=_is_written,
        kinds=_KINDS,
    ),
)

_AGE = Matcher(
    name="dateAge",
    family="Dates",
    parameters=("N(ms|s|m|h|d)",),
    summary="A date in the past, not longer ago than this.",
    example="match:dateAge:36500d",
    passes=("2024-01-01",),
    fails=("1900-01-01", "2999-01-01", None),
    parse=_an_age,
    wants=lambda age_ms: f"a date of the last {_length_of_time(age_ms)}",
    check=_age_check(_no_clock),
    kinds=_KINDS,
    needs_clock=True,
)
