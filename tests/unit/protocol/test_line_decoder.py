"""How a byte stream is cut into lines; the many ways to break it are tested elsewhere."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mcptest.protocol.framing import Frame, LineDecoder, Noise, Overlong, encode_line

TRAFFIC = (
    b'{"jsonrpc":"2.0","id":1,"result":{}}\nGot a request!\n\n{"id":"\xc3\xa9"}\r\n\xff\n'
    + b"x" * 90
    + b'\n{"id":2}\nunfinished'
)


def test_a_line_is_a_frame_noise_or_too_long() -> None:
    decoder = LineDecoder(max_line_bytes=80)
    first, stray, *rest = decoder.feed(TRAFFIC)
    assert first == Frame(value={"jsonrpc": "2.0", "id": 1, "result": {}}, line=1)
    assert isinstance(stray, Noise)
    assert (stray.raw, stray.size, stray.line) == (b"Got a request!", 14, 2)
    assert rest == [
        Frame(value={"id": "é"}, line=4),
        Noise(
            raw=b"\xff",
            size=1,
            reason="byte 0 (hex ff) is not valid UTF-8 (invalid start byte)",
            line=5,
            column=1,
        ),
        Overlong(raw=b"x" * 80, limit=80, line=6),
        Frame(value={"id": 2}, line=7),
    ]
    assert (decoder.blank_lines, decoder.crlf_lines) == (1, 1)
    assert decoder.remainder == (b"unfinished", 10)


@given(st.lists(st.integers(min_value=0, max_value=len(TRAFFIC)), max_size=6))
def test_the_lines_do_not_depend_on_how_the_bytes_are_split(cuts: list[int]) -> None:
    decoder = LineDecoder(max_line_bytes=200)
    edges = [0, *sorted(cuts), len(TRAFFIC)]
    pieces = [TRAFFIC[start:end] for start, end in pairwise(edges)]
    found = [item for piece in pieces for item in decoder.feed(piece)]
    assert found == LineDecoder(max_line_bytes=200).feed(TRAFFIC)


def test_a_line_is_decoded_alike_alone_and_among_others() -> None:
    alone, among = LineDecoder(max_line_bytes=80), LineDecoder(max_line_bytes=80)
    found = [item for line in TRAFFIC.splitlines(keepends=True) for item in alone.feed(line)]
    assert found == among.feed(TRAFFIC)
    assert (alone.blank_lines, alone.crlf_lines) == (among.blank_lines, among.crlf_lines) == (1, 1)


def test_a_whole_line_may_be_as_long_as_the_limit_and_no_longer() -> None:
    line = b'{"id":"12345"}\n'
    size = len(line) - 1
    assert LineDecoder(max_line_bytes=size).feed(line) == [Frame(value={"id": "12345"}, line=1)]
    too_long = Overlong(raw=line[: size - 1], limit=size - 1, line=1)
    assert LineDecoder(max_line_bytes=size - 1).feed(line) == [too_long]


def test_a_chunk_that_looks_like_a_whole_line_may_be_the_end_of_one() -> None:
    decoder = LineDecoder(max_line_bytes=20)
    assert decoder.feed(b'{"a":') == []
    assert decoder.feed(b"1}\n") == [Frame(value={"a": 1}, line=1)]
    assert [type(item) for item in decoder.feed(b"x" * 21)] == [Overlong]
    assert decoder.feed(b'{"a":2}\n') == []
    assert decoder.feed(b'{"a":3}\n') == [Frame(value={"a": 3}, line=3)]


def test_a_message_is_written_as_one_line_of_utf8() -> None:
    assert encode_line({"text": "é\n", "half": "\ud800"}) == (
        b'{"text":"\xc3\xa9\\n","half":"\\ud800"}\n'
    )
