"""Bytes of an event stream become the same events, wherever they are cut."""

from __future__ import annotations

import itertools
import sys

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.protocol.http_messages import OverlongEvent, SseDecoder, SseEvent


def events(*chunks: bytes, limit: int = 1000) -> list[SseEvent | OverlongEvent]:
    decoder = SseDecoder(limit)
    return [event for chunk in chunks for event in decoder.feed(chunk)]


def event(data: bytes, name: str = "message", id: str | None = None) -> SseEvent:
    return SseEvent(data=data, name=name, id=id)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_each_of_the_three_line_ends_ends_a_line(end: bytes) -> None:
    lines = [b"event: news", b"id: 7", b"data: one", b"data:two", b"", b"data: three", b"", b""]
    assert events(end.join(lines)) == [
        event(b"one\ntwo", "news", "7"),
        event(b"three"),
    ]


def test_line_ends_may_be_mixed() -> None:
    assert events(b"data: a\r\ndata: b\rdata: c\n\r") == [event(b"a\nb\nc")]


@each_case(
    ("stream", "found"),
    [
        (b"data: a\n\n", [event(b"a")]),
        (b"data:  a\n\n", [event(b" a")]),
        (b"data\n\n", [event(b"")]),
        (b"data:\n\n", [event(b"")]),
        (b"data\ndata\n\n", [event(b"\n")]),
        (b"\n\n\n", []),
        (b": comment\n\n", []),
        (b"event: x\n\n", []),
        (b"Data: a\n\n", []),
        (b" data: a\n\n", []),
        (b"other: x\ndata: a\n\n", [event(b"a")]),
        (b"data: a:b\n\n", [event(b"a:b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [event(b"a")]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [event(b"a")]),
        (b"data: a\n", []),
        (b"data: a", []),
        (b"", []),
    ],
)
def test_lines_mean_what_the_format_says(stream: bytes, found: list[SseEvent]) -> None:
    assert events(stream) == found


def test_unicode_line_separators_do_not_end_a_line() -> None:
    text = "a\u2028b\x0bc\x85".encode()
    assert events(b"data: " + text + b"\n\n") == [event(text)]


STREAM = (
    "\ufeffretry: 250\r\n: ping\r\nid: 1\r\ndata: Grüße\r\rdata: 世界\n\n"
    "event: other\rdata: 👋\r\n\r\nid: \0\ndata\n\nid\ndata: last\n\n"
).encode()


@given(st.lists(st.integers(0, len(STREAM)), max_size=8).map(sorted))
def test_every_way_to_cut_a_stream_gives_the_same_events(cuts: list[int]) -> None:
    whole = events(STREAM)
    assert len(whole) == 5
    edges = [0, *cuts, len(STREAM)]
    chunks = [STREAM[start:end] for start, end in itertools.pairwise(edges)]
    assert events(*chunks) == whole


@each_case("limit", range(1, 40))
def test_byte_by_byte_is_the_same_also_at_every_limit(limit: int) -> None:
    singles = [STREAM[at : at + 1] for at in range(len(STREAM))]
    assert events(*singles, limit=limit) == events(STREAM, limit=limit)


def test_the_data_of_an_event_is_unchanged() -> None:
    assert events(b"data: \xff\xfe\n\n") == [event(b"\xff\xfe")]


# Ids and times


def test_the_last_id_is_that_of_a_complete_event() -> None:
    decoder = SseDecoder()
    decoder.feed(b"id: 1\ndata: a\n\nid: 2\ndata: half")
    assert decoder.last_id == "1"
    decoder.feed(b"\n\n")
    assert decoder.last_id == "2"


def test_an_event_without_data_may_name_an_id() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"id: 9\n\n") == []
    assert decoder.last_id == "9"


def test_an_event_without_an_id_leaves_the_last_one() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"id: 1\ndata: a\n\ndata: b\n\n") == [event(b"a", id="1"), event(b"b")]
    assert decoder.last_id == "1"


def test_an_id_with_nul_is_ignored_and_an_empty_one_counts() -> None:
    decoder = SseDecoder()
    decoder.feed(b"id: 1\n\nid: a\0b\n\n")
    assert decoder.last_id == "1"
    decoder.feed(b"id\n\n")
    assert decoder.last_id == ""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1500", 1.5),
        ("0", 0.0),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("9" * 5000, 999_999.999),
    ],
)
def test_retry_is_a_number_of_milliseconds_or_nothing(text: str, seconds: float | None) -> None:
    decoder = SseDecoder()
    decoder.feed(f"retry: {text}\n\n".encode())
    assert decoder.retry_s == seconds


# Limits


def test_an_event_at_the_limit_is_taken_and_one_over_it_is_not() -> None:
    assert events(b"data: " + b"x" * 14 + b"\n\n", limit=20) == [event(b"x" * 14)]
    assert events(b"data: " + b"x" * 15, limit=20) == [OverlongEvent(limit=20)]


def test_several_lines_of_one_event_count_together() -> None:
    line = b"data: " + b"x" * 8 + b"\n"
    assert events(line * 3, limit=40) == [OverlongEvent(limit=40)]


def test_after_an_event_over_the_limit_nothing_is_read() -> None:
    giant = b"data: " + b"x" * 50
    assert events(giant, b"\n\ndata: a\n\n", limit=20) == [OverlongEvent(limit=20)]


def test_a_giant_event_in_small_pieces_takes_time_in_proportion() -> None:
    decoder = SseDecoder(1 << 26)
    piece = b"x" * 65_536
    decoder.feed(b"data: ")
    for _ in range(512):
        assert decoder.feed(piece) == []
    assert decoder.pending_bytes == 6 + 512 * 65_536
    (found,) = decoder.feed(b"\n\n")
    assert isinstance(found, SseEvent)
    assert len(found.data) == 512 * 65_536


@pytest.mark.parametrize("line", [b": ping\n", b"\n", b"other: x\n", b"event: x\n", b"id: 1\n"])
def test_a_flood_of_what_carries_nothing_costs_no_memory(line: bytes) -> None:
    decoder = SseDecoder(100)
    for _ in range(100):
        assert decoder.feed(line * 1000) == []
    assert decoder.pending_bytes == 0
    kept = sum(sys.getsizeof(each) for each in vars(decoder).values())
    assert kept < 4096
    assert decoder.feed(b"\ndata: a\n\n")


def test_empty_data_lines_do_count() -> None:
    assert events(b"data\n" * 30, limit=100) == [OverlongEvent(limit=100)]


def test_a_long_id_and_a_long_name_are_cut() -> None:
    (found,) = events(
        b"id: " + b"i" * 9000 + b"\nevent: " + b"e" * 9000 + b"\ndata: a\n\n", limit=20_000
    )
    assert isinstance(found, SseEvent)
    assert (len(found.id or ""), len(found.name)) == (4096, 4096)
