"""Dates as people and programs write them, turned into milliseconds since 1970 in UTC.

ISO 8601, the common English and American forms, what mail and JavaScript print, and
epoch seconds or milliseconds. A time without a zone is taken as UTC: a verdict must not
depend on where it is reached.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["epoch_ms", "has_format", "is_date_text", "render_ms", "split_dates"]

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
    """Milliseconds since 1970 in UTC, or None when the value is no date."""
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
    return _from_text(text)


def is_date_text(value: object) -> bool:
    """Whether a value is a date by its looks: text that is one, and not just a number."""
    if not isinstance(value, str) or not re.search(r"\d[-/]\d|[a-z]", value, re.IGNORECASE):
        return False
    return epoch_ms(value) is not None


def split_dates(text: str) -> Iterator[tuple[str, str]]:
    """Every way to take a text with colons in it as two dates with one between them."""
    for colon in (at for at, char in enumerate(text) if char == ":"):
        left, right = text[:colon], text[colon + 1 :]
        if epoch_ms(left) is not None and epoch_ms(right) is not None:
            yield left, right


def has_format(name: str, value: object) -> bool:
    """Whether a text is written that way, and is a date; a timestamp may be a number."""
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
    days, rest = divmod(int(moment), _DAY_MS)
    year, month, day = _civil(days)
    seconds, millis = divmod(rest, 1000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{year:04}-{month:02}-{day:02}T{clock}{f'.{millis:03}' if millis else ''}Z"


def _from_number(number: float) -> float | None:
    if not -_LAST_MS <= number <= _LAST_MS:
        return None
    return number if number > _LAST_SECOND else number * 1000


def _from_text(text: str) -> float | None:
    folded = text.casefold()
    if not folded.isascii():
        # Words for the zone may stand in brackets, in any language.
        folded = re.sub(r"\([^()]*\)$", "", folded).strip()
    for form in _FORMS:
        found = re.fullmatch(form, folded, re.ASCII)
        if found:
            fields = found.groupdict()
            day, clock = _day(fields), _clock(fields)
            if day is not None and clock is not None:
                return day * _DAY_MS + clock
    return None


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
    return _days(year, month, day) if 1 <= day <= longest else None


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
    zone_minutes = _zone_minutes(fields)
    if zone_minutes is None:
        return None
    millis = float(f"0.{fields.get('fraction') or 0}") * 1000
    return ((hour * 60 + minute - zone_minutes) * 60 + second) * 1000 + millis


def _zone_minutes(fields: dict[str, str | None]) -> int | None:
    zone, offset = fields.get("zone"), fields.get("offset")
    hours = _ZONE_HOURS.get(zone) if zone else 0
    if hours is None:
        return None
    if not offset:
        return hours * 60
    digits = offset[1:].replace(":", "").ljust(4, "0")
    if int(digits[:2]) > 23 or int(digits[2:]) > 59:
        return None
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return hours * 60 + (minutes if offset[0] == "+" else -minutes)


# The calendar counts from March, so that the leap day is the last of its year.


def _days(year: int, month: int, day: int) -> int:
    year -= month < 3
    month = (month + 9) % 12
    of_year = (153 * month + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + of_year - 719_468


def _civil(days: int) -> tuple[int, int, int]:
    era, rest = divmod(days + 719_468, 146_097)
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    of_year = rest - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return era * 400 + year + (month < 3), month, day
