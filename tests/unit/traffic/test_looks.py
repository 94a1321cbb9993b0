"""Values that vary become tags, and all others stay."""

from __future__ import annotations

import pytest
from case_tables import each_case
from traffic_samples import (
    HANDSHAKE,
    UUID,
    answer_to_call,
    call,
    cases_of,
    contract,
    is_met,
    result,
)

from mcptest.matching.case_tags import literal_parts, make_value, read_tag
from mcptest.traffic.varying_values import tag_for

HEX = "0123456789abcdef0123"


@each_case(
    ("value", "other"),
    [
        (UUID, "00000000-0000-4000-8000-000000000000"),
        ("2026-01-02T03:04:05Z", "2027-12-31T23:59:59.123456+02:00"),
        ("2026-01-02T03:04:05.123+0200", "2026-01-02T03:04:05Z"),
        ("2026-01-02 03:04", "2027-01-02 03:05"),
        ("2026-01-02 03:04:05,123", "2027-01-02 03:05:06"),
        ("Mon, 16 Nov 2026 03:49:59 GMT", "Tue, 1 Dec 2026 00:00:00 GMT"),
        ("Mon Nov 16 03:49:59 UTC 2026", "Tue Dec  1 00:00:00 UTC 2026"),
        ("4:12:08 AM", "12:00:00 PM"),
        ("11/16/2026, 4:12:08 AM", "1/1/2027, 12:00:00 PM"),
        (f"created {UUID} / done", "created 00000000-0000-4000-8000-000000000000 / done"),
        ("took 12 ms", "took 3.5 ms"),
        ("done in 0.5s.", "done in 12s."),
        ("ok (12ms)", "ok (7ms)"),
        ("12 seconds elapsed", "1 seconds elapsed"),
        ('{"timestamp": 1763264999, "n": 12}', '{"timestamp": 1763265000.5, "n": 12}'),
        (f'{{"session_id": "{HEX}"}}', f'{{"session_id": "{"f" * 20}"}}'),
        ('{"day_of_week":"Monday"}', '{"day_of_week":"Friday"}'),
        ("it's 2026-01-02T03:04:05Z", "it's 2027-01-02T03:04:05Z"),
        ("a\\/\\ 12:34:56 \\", "a\\/\\ 01:00:00 \\"),
        ("a\\12:34:56/", "a\\01:00:00/"),
        ("\n---\n# 12:34:56\n", "\n---\n# 01:00:00\n"),
    ],
)
def test_a_text_that_varies_is_met_by_another_of_its_kind_and_by_no_other(
    value: str, other: str
) -> None:
    tag = tag_for("text", value)
    assert tag is not None
    assert tag.tag in ("re", "ere")
    assert is_met(tag, value)
    assert is_met(tag, other)
    assert not is_met(tag, f"{value}.")
    assert not is_met(tag, f"x{value}")
    assert not is_met(tag, 12)
    # Written into a file and read again it is the same.
    assert answer_to_call(value) == f"!!{tag.tag} {tag.text}"


@each_case(
    "value",
    [
        "2026-01-02",
        "2025-11-25",
        "12:30",
        "1.2.3",
        "call in 5 minutes",
        "wait 12 ms",
        "550e8400",
        "0123456789abcdef0123",
        "1763264999",
        '{"n": 1763264999, "name": "0123456789abcdef0123"}',
        "Monday",
        "127.0.0.1:8080:1",
        "",
        12,
        1763264999,
        0.5,
        True,
        None,
    ],
)
def test_a_value_that_does_not_look_so_stays(value: object) -> None:
    assert tag_for("text", value) is None
    assert answer_to_call(value) == value


@each_case(
    ("key", "value", "tag"),
    [
        ("createdAt", 1763264999, "!!type number"),
        ("timestamp", 1763264999123, "!!type number"),
        ("ts", 1763264999.25, "!!type number"),
        ("time", "1763264999", r"!!re ^\d+(?:\.\d+)?$"),
        ("duration_ms", 12, "!!type number"),
        ("elapsed", 0.25, "!!type number"),
        ("uptime", "12 s", r"!!re ^\d+(?:\.\d+)? s$"),
        ("pid", 4711, "!!type number"),
        ("id", HEX, "!!re ^[0-9a-f]{20}$"),
        ("sessionId", HEX.upper(), "!!re ^[0-9A-F]{20}$"),
        ("nextCursor", "eyJvZmZzZXQiOjIwfQ==", r"!!re ^\S+$"),
        ("id", "V1StGXR8_Z5jdHi6B-myT", "!!re ^[A-Za-z0-9_-]+$"),
        ("id", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "!!re ^[0-9A-Z]{26}$"),
        ("weekday", "Monday", "!!re ^[A-Z][a-z]+day$"),
    ],
)
def test_a_key_says_that_a_value_varies(key: str, value: object, tag: str) -> None:
    found = tag_for(key, value)
    assert found is not None
    assert f"!!{found.tag} {found.text}" == tag
    assert is_met(found, value)


@each_case(
    ("key", "value"),
    [
        ("createdAt", 12),
        ("createdAt", 17632649991),
        ("timeout", 1763264999),
        ("expires_in", 3600),
        ("created", True),
        ("id", "note-1"),
        ("id", "my-project-with-a-long-name"),
        ("modelId", "claude-3-5-sonnet-20241022"),
        ("id", 12345),
        ("sha256", HEX),
        ("hash", "V1StGXR8_Z5jdHi6B-myT"),
        ("weekday", "Mon"),
        ("duration", "long"),
        ("", 12),
    ],
)
def test_a_key_does_not_say_that_a_value_varies(key: str, value: object) -> None:
    assert tag_for(key, value) is None


@pytest.mark.parametrize("key", ["description", "title", "instructions"])
def test_the_description_of_the_server_stays(key: str) -> None:
    assert answer_to_call({key: "for example 2026-01-02T03:04:05Z"}) == {
        key: "for example 2026-01-02T03:04:05Z"
    }


def test_nothing_in_a_schema_varies() -> None:
    schema = {"properties": {"at": {"default": "2026-01-02T03:04:05Z"}, "password": {"a": 1}}}
    assert answer_to_call({"inputSchema": schema}) == {"inputSchema": schema}


def test_values_of_the_client_that_the_server_repeats_stay_literal() -> None:
    said = [
        *HANDSHAKE,
        ("in", call(2, at="2026-01-02T03:04:05Z", text=f"is {UUID} there", ts=1763264999)),
        ("out", result(2, said=f"2026-01-02T03:04:05Z {UUID}", ts=1763264999, now="12:34:56")),
    ]
    answer = cases_of(contract(*said).text)["tools/call get_time"]["out"]["result"]
    assert answer == {
        "said": f"2026-01-02T03:04:05Z {UUID}",
        "ts": 1763264999,
        "now": r"!!re ^\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?$",
    }


def test_values_are_kept_when_that_is_asked_for() -> None:
    said = [("in", call(2)), ("out", result(2, at="2026-01-02T03:04:05Z", id=UUID))]
    text = contract(*said, keep_values=True).text
    assert cases_of(text)["tools/call get_time"]["out"] == result(
        2, at="2026-01-02T03:04:05Z", id=UUID
    )


def test_a_very_long_text_that_varies_is_any_text() -> None:
    assert answer_to_call("x " * 30_000 + UUID) == "!!type string"
    assert answer_to_call("x " * 30_000) == "x " * 30_000


@pytest.mark.slow
def test_very_many_values_in_one_text_are_described() -> None:
    text = f"{UUID} 12:34:56 took 3 ms\n" * 300
    assert read_tag("ere", answer_to_call(text).removeprefix("!!ere ")).is_met(text)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value",
    [
        *(UUID, "2026-01-02T03:04:05Z", "4:12:08 AM", "11/16/2026, 4:12:08 AM", "took 12 ms"),
        *("Mon, 16 Nov 2026 03:49:59 GMT", "Mon Nov 16 03:49:59 UTC 2026"),
    ],
)
def test_a_mock_can_make_up_a_value_for_every_tag(value: str) -> None:
    tag = tag_for("text", f"a/b\\ {value}!")
    assert tag is not None
    made = make_value(read_tag(tag.tag, tag.text))
    assert is_met(tag, made)


def test_the_literal_parts_of_a_described_text_are_the_text() -> None:
    value = "a/b\\/c 12:34:56 d\\"
    tag = tag_for("text", value)
    assert tag is not None
    spelt = literal_parts(tag.text)
    assert spelt[0] == "a/b"
