"""What counts as a date, and which moment it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from asking import NOW_S, is_met, why_not
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.matching.matchers.dates import epoch_ms, render_ms, split_dates

JUNE_15 = datetime(2023, 6, 15, tzinfo=UTC).timestamp() * 1000
NINE_AND_A_HALF = JUNE_15 + (9 * 60 + 30) * 60_000

ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
# Far enough from both ends for any zone, and whole milliseconds as most programs write them.
MOMENTS = st.datetimes(
    min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31), timezones=ZONES
).map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))


def milliseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@given(MOMENTS)
def test_iso_dates_are_the_moments_that_the_standard_library_says(moment: datetime) -> None:
    assert epoch_ms(moment.isoformat()) == milliseconds(moment)
    assert epoch_ms(moment.isoformat(" ")) == milliseconds(moment)
    assert epoch_ms(render_ms(milliseconds(moment))) == milliseconds(moment)


@given(MOMENTS)
def test_dates_of_mail_and_in_english_are_too(moment: datetime) -> None:
    whole = moment.replace(microsecond=0)
    assert epoch_ms(format_datetime(whole)) == milliseconds(whole)
    day = whole.replace(hour=0, minute=0, second=0, tzinfo=UTC)
    for written in (
        f"{day:%B} {day.day}, {day.year:04}",
        f"{day.day} {day:%b} {day.year:04}",
        f"{day.month}/{day.day}/{day.year:04}",
        f"{day.year:04}/{day:%m/%d}",
    ):
        assert epoch_ms(written) == milliseconds(day)


@given(st.integers(-8_640_000_000_000, 10_000_000_000))
def test_smaller_numbers_are_seconds_and_greater_ones_milliseconds(seconds: int) -> None:
    assert epoch_ms(seconds) == seconds * 1000
    greater = 10_000_000_001 + abs(seconds)
    assert epoch_ms(greater) == greater


@each_case(
    "text",
    [
        "2023-06-15T09:30",
        "2023-06-15T09:30:00Z",
        "2023-06-15t09:30:00.000z",
        "2023-06-15 09:30:00 UTC",
        "2023-06-15T11:30:00+02:00",
        "2023-06-15T11:30+0200",
        "2023-06-15T04:30:00-05",
        "20230615T093000Z",
        "Thu, 15 Jun 2023 09:30:00 GMT",
        "Thu, 15 Jun 2023 05:30:00 EDT",
        "Thu Jun 15 2023 11:30:00 GMT+0200 (Central European Summer Time)",
        "Thu Jun 15 2023 11:30:00 GMT+0200 (Mitteleuropäische Sommerzeit)",
        "Thu Jun 15 09:30:00 2023",
        "Thu Jun 15 09:30:00 UTC 2023",
        "June 15, 2023 9:30 AM",
        "June 15th, 2023 at 09:30",
        "15 June 2023, 09:30",
        "6/15/2023, 9:30:00 AM",
        "6-15-2023 09:30",
        "15-Jun-2023 09:30",
        " 2023-06-15T09:30:00Z ",
        "1686821400",
        "1686821400000",
        "1686821400.0",
    ],
)
def test_one_moment_is_written_in_many_ways(text: str) -> None:
    assert epoch_ms(text) == NINE_AND_A_HALF


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2023-06", datetime(2023, 6, 1, tzinfo=UTC)),
        ("June 2023", datetime(2023, 6, 1, tzinfo=UTC)),
        ("2023", datetime(2023, 1, 1, tzinfo=UTC)),
        ("20230615", datetime(2023, 6, 15, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("2000-02-29", datetime(2000, 2, 29, tzinfo=UTC)),
        ("2023-06-15T24:00:00Z", datetime(2023, 6, 16, tzinfo=UTC)),
        ("6/15/2023 12:00 am", datetime(2023, 6, 15, tzinfo=UTC)),
        ("6/15/2023 12:00 pm", datetime(2023, 6, 15, 12, tzinfo=UTC)),
        ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_dates_with_less_or_more_in_them(text: str, moment: datetime) -> None:
    assert epoch_ms(text) == milliseconds(moment)


@each_case(
    "value",
    [
        "",
        "soon",
        "not-a-date",
        "2023-02-29",
        "1900-02-29",
        "2023-13-01",
        "2023-00-01",
        "2023-06-31",
        "0000-01-01",
        "2023-06-15T25:00:00Z",
        "2023-06-15T24:00:01Z",
        "2023-06-15T09:60:00Z",
        "2023-06-15T09:30:60Z",
        "2023-06-15T09:30:00 XYZ",
        "2023-06-15T09:30:00+24:00",
        "15/06/2023",
        "6/15/2023 13:00 pm",
        "15 Juni 2023 abends",
        "2023-6-15",
        "9" * 101,
        10**18,
        -(10**18),
        True,
        None,
        [],
        {},
    ],
)
def test_other_values_are_not_dates(value: object) -> None:
    assert epoch_ms(value) is None
    assert is_met("not:dateValid", value)


# Between two dates


@given(MOMENTS, MOMENTS)
def test_two_dates_are_separated_whatever_colons_they_contain(
    one: datetime, other: datetime
) -> None:
    written = f"{one.isoformat()}:{other.isoformat()}"
    assert next(split_dates(written)) == (one.isoformat(), other.isoformat())


@pytest.mark.parametrize(
    "bounds",
    [
        "2023-06-01:2023-06-30",
        "2023-06-15:2023-06-15",
        "2023-06-01T00:00:00Z:2023-06-30T23:59:59Z",
        "6/1/2023:6/30/2023",
        "1685577600:1688083200000",
        "June 1, 2023:2023-06-30T10:00+02:00",
    ],
)
def test_a_date_between_two_is_found_there_and_another_is_not(bounds: str) -> None:
    assert is_met(f"dateBetween:{bounds}", "2023-06-15")
    assert not is_met(f"dateBetween:{bounds}", "2023-05-31")
    assert not is_met(f"dateBetween:{bounds}", "2023-07-01")


# How old


@pytest.mark.parametrize(
    ("age", "seconds"),
    [("1d", 86_400), ("2h", 7200), ("30m", 1800), ("45s", 45), ("1000ms", 1)],
)
def test_a_date_is_young_up_to_its_age_and_never_in_the_future(age: str, seconds: int) -> None:
    assert is_met(f"dateAge:{age}", NOW_S)
    assert is_met(f"dateAge:{age}", NOW_S - seconds)
    assert not is_met(f"dateAge:{age}", NOW_S - seconds - 1)
    assert not is_met(f"dateAge:{age}", NOW_S + 1)


# How it is written


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        (
            "iso",
            ["2023-06-15T09:30:00Z", "2023-06-15T09:30:00.123456", "2023-06-15T09:30:00+02:00"],
            ["2023-06-15", "2023-06-15T09:30", "2023-06-31T09:30:00Z", "2023-06-15 09:30:00", 5],
        ),
        ("iso-date", ["2023-06-15"], ["2023-6-15", "2023-02-29", "2023-06-15T09:30:00Z", None]),
        ("iso-time", ["09:30:00", "23:59:59.999Z"], ["9:30", "24:00:00", "09:60:00", "09:30"]),
        ("us-date", ["6/15/2023", "06/15/2023"], ["15/6/2023", "6/15/23", "2023-06-15"]),
        ("eu-date", ["15/6/2023", "15.06.2023"], ["6/15/2023", "31/6/2023", "15-06-2023"]),
        ("timestamp", ["1686821400", 1686821400], ["1686821400.5", "-1", -1, True, 1.5, "x"]),
    ],
)
def test_a_date_is_written_in_this_way(format: str, good: list[object], bad: list[object]) -> None:
    assert [value for value in good if not is_met(f"dateFormat:{format}", value)] == []
    assert [value for value in bad if is_met(f"dateFormat:{format}", value)] == []


@pytest.mark.parametrize(
    ("pattern", "actual", "message", "hint"),
    [
        (
            "dateValid",
            "15/06/2023",
            "a date; it is a string that is not a date",
            "it is a date when the day comes first",
        ),
        ("dateValid", True, "a date; it is a boolean", ""),
        (
            "dateAfter:2025-01-01",
            "6/15/2023 9:30:00.250 AM",
            "a date after 2025-01-01T00:00:00Z; it is 2023-06-15T09:30:00.250Z",
            "",
        ),
        ("dateAge:1d", NOW_S + 90, "a date of the last 1d; it is 1.5m in the future", ""),
        ("dateAge:90m", NOW_S - 7200, "a date of the last 1.5h; it is 2h old", ""),
        ("dateAge:500ms", NOW_S - 1, "a date of the last 500ms; it is 1s old", ""),
        (
            "dateFormat:iso",
            "1/2/2023",
            "a date written as iso; it is not written so",
            "it is written as us-date or eu-date",
        ),
        ("dateFormat:iso", 5, "a date written as iso; it is a number", ""),
    ],
)
def test_a_value_that_does_not_meet_the_pattern_says_why(
    pattern: str, actual: object, message: str, hint: str
) -> None:
    assert why_not(pattern, actual) == (message, hint)
