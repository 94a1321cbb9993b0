"""Matchers on dates, as people and programs write them.

ISO 8601, the common English and American forms, what mail and JavaScript print, and epoch seconds
or milliseconds. A time without a zone is UTC: a verdict must not depend on where it is reached.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import suggest
from mcptest.core.strict_json import dump_json
from mcptest.matching.json_values import no_parameter, type_name
from mcptest.matching.registry import CannotHoldError, Matcher, Miss, ParameterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["MATCHERS", "epoch_ms", "is_date_text"]

_DAY_MS = 86_400_000
# As far as JavaScript counts in both directions: some 270,000 years.
_LAST_MS = 8_640_000_000_000_000
# A greater number of seconds would be after the year 2286, so it counts milliseconds.
_LAST_SECOND = 10_000_000_000
_MAX_CHARS = 100

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_ZONE_HOURS = {
    **dict.fromkeys(["z", "utc", "gmt", "ut"], 0),
    "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}  # fmt: skip

_MONTH = r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_DAY_NUMBER = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?:\s?(?P<half>[ap])\.?m\.?)?"
    r"(?:\s*(?P<zone>z|[a-z]{2,3})?(?P<offset>[+-]\d{2}(?::?\d{2})?)?)(?:\s*\([^()]*\))?"
)
_AFTER_DATE = rf"(?:(?:t|,?\s+(?:at\s+)?){_TIME})?"

# Each whole form of a date, in small letters.
_FORMS = (
    rf"(?P<year>\d{{4}})-(?P<month>\d{{2}})-(?P<day>\d{{2}}){_AFTER_DATE}",
    r"(?P<year>\d{4})-(?P<month>\d{2})",
    r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?:t(?P<hour>\d{2})(?P<minute>\d{2})"
    r"(?P<second>\d{2})?(?P<zone>z)?(?P<offset>[+-]\d{2}(?::?\d{2})?)?)?",
    r"(?P<year>\d{4})",
    rf"{_WEEKDAY}{_MONTH}\s+{_DAY_NUMBER},?\s+(?P<year>\d{{4}}){_AFTER_DATE}",
    rf"{_WEEKDAY}{_DAY_NUMBER}\s+(?:of\s+)?{_MONTH},?\s+(?P<year>\d{{4}}){_AFTER_DATE}",
    rf"(?P<day>\d{{1,2}})-{_MONTH}-(?P<year>\d{{4}}){_AFTER_DATE}",
    rf"{_MONTH}\s+(?P<year>\d{{4}})",
    rf"(?P<year>\d{{4}})/(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}}){_AFTER_DATE}",
    rf"(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})/(?P<year>\d{{4}}){_AFTER_DATE}",
    rf"(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}})-(?P<year>\d{{4}}){_AFTER_DATE}",
    # What a clock of Unix prints: the year comes last.
    rf"{_WEEKDAY}{_MONTH}\s+{_DAY_NUMBER}\s+{_TIME}\s+(?P<year>\d{{4}})",
)

_FORMATS = {
    "iso": r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})?",
    "iso-date": r"\d{4}-\d{2}-\d{2}",
    "iso-time": r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]\d{2}:?\d{2})?",
    "us-date": r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})",
    "eu-date": r"(?P<day>\d{1,2})[/.](?P<month>\d{1,2})[/.](?P<year>\d{4})",
    "timestamp": r"\d+",
}


def epoch_ms(value: object) -> float | None:
    """Milliseconds since 1970 in UTC, or None when the value is not a date."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value)
    if not isinstance(value, str) or len(value) > _MAX_CHARS:
        return None
    text = value.strip()
    # Four digits are a year, and eight that make a date of our times are one.
    if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) and not re.fullmatch(
        r"\d{4}|(19|20)\d{6}", text, re.ASCII
    ):
        return _from_number(float(text))
    folded = text.casefold()
    if not folded.isascii():
        # The name of the zone may be in brackets, in any language.
        folded = re.sub(r"\([^()]*\)$", "", folded).strip()
    for form in _FORMS:
        found = re.fullmatch(form, folded, re.ASCII)
        if found:
            fields = found.groupdict()
            day, clock = _day(fields), _clock(fields)
            if day is not None and clock is not None:
                return day * _DAY_MS + clock
    return None


def is_date_text(value: object) -> bool:
    """True if a value is a string that is a date, and not just a number."""
    if not isinstance(value, str) or not re.search(r"\d[-/]\d|[a-z]", value, re.IGNORECASE):
        return False
    return epoch_ms(value) is not None


def split_dates(text: str) -> Iterator[tuple[str, str]]:
    """Every way to take a text with colons in it as two dates with one between them."""
    for colon in (at for at, char in enumerate(text) if char == ":"):
        left, right = text[:colon], text[colon + 1 :]
        if epoch_ms(left) is not None and epoch_ms(right) is not None:
            yield left, right


def _has_format(name: str, value: object) -> bool:
    """True if a string has this format and is a date; a timestamp may be a number."""
    if name == "timestamp" and type(value) is int:
        return value >= 0
    if not isinstance(value, str) or len(value) > _MAX_CHARS:
        return False
    found = re.fullmatch(_FORMATS[name], value, re.ASCII)
    if found is None or name in ("iso-time", "timestamp"):
        return found is not None
    fields = found.groupdict()
    return (_day(fields) if fields else epoch_ms(value)) is not None


def render_ms(moment: float) -> str:
    """A moment as ISO 8601 writes it."""
    days, in_day = divmod(int(moment), _DAY_MS)
    # The calendar counts from March, so that the leap day is the last of its year.
    era, rest = divmod(days + 719_468, 146_097)
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    of_year = rest - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year += era * 400 + (month < 3)
    seconds, millis = divmod(in_day, 1000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{year:04}-{month:02}-{day:02}T{clock}{f'.{millis:03}' if millis else ''}Z"


def _from_number(number: float) -> float | None:
    if not -_LAST_MS <= number <= _LAST_MS:
        return None
    return number if number > _LAST_SECOND else number * 1000


def _day(fields: dict[str, str | None]) -> int | None:
    """The days from 1970 to a date, or None when the calendar does not have it."""
    year = int(fields["year"] or 0)
    name = fields.get("name")
    month = _MONTHS.index(name) + 1 if name else int(fields.get("month") or 1)
    day = int(fields.get("day") or 1)
    if not 1 <= month <= 12 or year < 1:
        return None
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    longest = 29 if month == 2 and is_leap else _DAYS_IN_MONTH[month - 1]
    if not 1 <= day <= longest:
        return None
    # As if the year began in March, so that the leap day is its last.
    year -= month < 3
    month = (month + 9) % 12
    of_year = (153 * month + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + of_year - 719_468


def _clock(fields: dict[str, str | None]) -> float | None:
    """The milliseconds of a time of day in UTC, or None when there is no such time."""
    hour, minute, second = (int(fields.get(name) or 0) for name in ("hour", "minute", "second"))
    half = fields.get("half")
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    is_midnight = hour == 24 and minute == second == 0
    if (hour > 23 and not is_midnight) or minute > 59 or second > 59:
        return None
    zone, offset = fields.get("zone"), fields.get("offset") or "+"
    zone_hours = _ZONE_HOURS.get(zone) if zone else 0
    digits = offset[1:].replace(":", "").ljust(4, "0")
    if zone_hours is None or int(digits[:2]) > 23 or int(digits[2:]) > 59:
        return None
    offset_minutes = int(digits[:2]) * 60 + int(digits[2:])
    minute -= zone_hours * 60 + (offset_minutes if offset[0] == "+" else -offset_minutes)
    millis = float(f"0.{fields.get('fraction') or 0}") * 1000
    return ((hour * 60 + minute) * 60 + second) * 1000 + millis


_KINDS = ("string", "number")
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _parse_date(raw: str) -> float:
    moment = epoch_ms(raw)
    if moment is None:
        raise ParameterError(f"needs a date such as 2024-01-31, not {dump_json(raw)}")
    return moment


def _parse_dates(raw: str) -> tuple[float, float]:
    for left, right in split_dates(raw):
        bounds = _parse_date(left), _parse_date(right)
        if bounds[0] > bounds[1]:
            raise CannotHoldError(f"goes from {left} back to {right}; write {right}:{left}")
        return bounds
    raise ParameterError(f"needs two dates with a colon between, not {dump_json(raw)}")


def _parse_age(raw: str) -> int:
    found = re.fullmatch(r"([0-9]{1,12})(ms|s|m|h|d)", raw.strip())
    if found is None:
        units = "ms, s, m, h or d"
        raise ParameterError(f"needs a number with {units} behind it, not {dump_json(raw)}")
    return int(found[1]) * _UNITS_MS[found[2]]


def _parse_format(raw: str) -> str:
    name = raw.strip()
    if name in _FORMATS:
        return name
    question = suggest(name, _FORMATS, '"{}"')
    raise ParameterError(f"knows {', '.join(_FORMATS)}, not {dump_json(raw)}{question}")


def _check_date(test: Callable[[float, Any], bool]) -> Callable[[Any, object], Miss | None]:
    """A check on the moment that a value says."""

    def check(wanted: Any, actual: object) -> Miss | None:
        moment = epoch_ms(actual)
        if moment is None:
            return _no_date(actual)
        return None if test(moment, wanted) else Miss(why=f"it is {render_ms(moment)}")

    return check


def _no_date(actual: object) -> Miss:
    if not isinstance(actual, str):
        return Miss(why=f"it is {type_name(actual)}")
    hint = (
        (lambda: "it is a date when the day comes first")
        if _has_format("eu-date", actual)
        else None
    )
    return Miss(why="it is a string that is not a date", hint=hint)


def _check_format(name: str, actual: object) -> Miss | None:
    if _has_format(name, actual):
        return None
    if not isinstance(actual, str):
        return Miss(why=f"it is {type_name(actual)}")
    others = [other for other in _FORMATS if _has_format(other, actual)]
    return Miss(
        why="it is not written so",
        hint=(lambda: f"it is written as {' or '.join(others)}") if others else None,
    )


def _render_age(age_ms: float) -> str:
    fitting = (unit for unit in ("d", "h", "m", "s") if age_ms >= _UNITS_MS[unit])
    unit = next(fitting, "ms")
    return f"{age_ms / _UNITS_MS[unit]:,.1f}".removesuffix(".0") + unit


def _check_age(now: Callable[[], float] | None) -> Callable[[int, object], Miss | None]:
    def check(longest_ms: int, actual: object) -> Miss | None:
        moment = epoch_ms(actual)
        if moment is None:
            return _no_date(actual)
        if now is None:
            raise RuntimeError("match:dateAge needs a clock: build the registry with one")
        age_ms = now() * 1000 - moment
        if age_ms < 0:
            return Miss(why=f"it is {_render_age(-age_ms)} in the future")
        return None if age_ms <= longest_ms else Miss(why=f"it is {_render_age(age_ms)} old")

    return check


def _entry(name: str, words: str, summary: str, **fields: Any) -> Matcher:
    return Matcher(
        name=name,
        family="Dates",
        parameters=("D",),
        summary=summary,
        parse=_parse_date,
        wants=lambda moment: f"a date {words} {render_ms(moment)}",
        kinds=_KINDS,
        **fields,
    )


MATCHERS = (
    Matcher(
        name="dateValid",
        family="Dates",
        summary="A date: ISO 8601, a common English form, or epoch seconds or milliseconds.",
        example="match:dateValid",
        passes=("2024-02-29", "June 15, 2023", 1687686600),
        fails=("2023-02-29", "soon", None),
        parse=no_parameter,
        wants=lambda _: "a date",
        check=_check_date(lambda _, __: True),
        kinds=_KINDS,
    ),
    _entry(
        "dateAfter",
        "after",
        "A date later than D.",
        example="match:dateAfter:2023-01-01",
        passes=("2023-01-01T00:00:01Z", 1687686600),
        fails=("2023-01-01", "soon", None),
        check=_check_date(lambda moment, limit: moment > limit),
    ),
    _entry(
        "dateBefore",
        "before",
        "A date earlier than D.",
        example="match:dateBefore:2023-01-01",
        passes=("2022-12-31T23:59:59Z", 1400000000000),
        fails=("2023-01-01", "", None),
        check=_check_date(lambda moment, limit: moment < limit),
    ),
    Matcher(
        name="dateBetween",
        family="Dates",
        parameters=("A:B",),
        summary="A date from A to B, both included; both may have a time.",
        example="match:dateBetween:2023-01-01:2023-06-30T12:00:00Z",
        passes=("2023-01-01", "30 June 2023"),
        fails=("2023-06-30T12:00:01Z", None),
        parse=_parse_dates,
        wants=lambda bounds: f"a date from {render_ms(bounds[0])} to {render_ms(bounds[1])}",
        check=_check_date(lambda moment, bounds: bounds[0] <= moment <= bounds[1]),
        kinds=_KINDS,
    ),
    _entry(
        "dateEquals",
        "equal to",
        "The same moment as D, however it is written.",
        example="match:dateEquals:2023-06-25T09:50:00Z",
        passes=(1687686600, "2023-06-25T11:50:00+02:00"),
        fails=("2023-06-25", None),
        check=_check_date(lambda moment, wanted: moment == wanted),
    ),
    Matcher(
        name="dateFormat",
        family="Dates",
        parameters=("K",),
        summary=f"A date that is written as K: {', '.join(_FORMATS)}.",
        example="match:dateFormat:iso-date",
        passes=("2023-06-15",),
        fails=("2023-13-15", "6/15/2023", None),
        parse=_parse_format,
        wants=lambda name: f"a date written as {name}",
        check=_check_format,
        kinds=_KINDS,
    ),
    Matcher(
        name="dateAge",
        family="Dates",
        parameters=("N(ms|s|m|h|d)",),
        summary="A date in the past, not longer ago than this.",
        example="match:dateAge:36500d",
        passes=("2024-01-01",),
        fails=("1900-01-01", "2999-01-01", None),
        parse=_parse_age,
        wants=lambda age_ms: f"a date of the last {_render_age(age_ms)}",
        check=_check_age(None),
        kinds=_KINDS,
        bind=lambda matcher, services: matcher.but(check=_check_age(services.now)),
    ),
)
