"""Group B of the fault catalogue: bytes and framing, first pure, then through a pipe."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from staging import LONG_S, echo, perform, spec_for, with_line_limit

from mcptest.core.plan import Limits
from mcptest.protocol.framing import Frame, LineDecoder, Noise, Overlong, encode_line

CORPUS = (
    '{"jsonrpc":"2.0","id":1,"result":{"text":"é\u2028\U0001f600 \\ud800"}}\n'.encode()
    + b"Got a request!\n"
    + b"\r\n \n"
    + b'{"id":"\xff"}\n'
    + b"\xef\xbb\xbf{}\n"
    + b'{"a":1}\r\n'
    + b"[1,2"
)


def decoded(*chunks: bytes, limit: int = 1000) -> list[Frame | Noise | Overlong]:
    decoder = LineDecoder(limit)
    return [item for chunk in chunks for item in decoder.feed(chunk)]


def test_a_stream_cut_in_two_anywhere_reads_as_if_it_were_whole() -> None:
    """Rows 17, 18 and 27: also in the middle of a character of several bytes."""
    whole = decoded(CORPUS)
    assert len(whole) == 5
    for cut in range(len(CORPUS) + 1):
        assert decoded(CORPUS[:cut], CORPUS[cut:]) == whole


@given(st.lists(st.integers(0, len(CORPUS))), st.integers(1, 60))
def test_a_stream_cut_anyhow_reads_as_if_it_were_whole(cuts: list[int], limit: int) -> None:
    """Rows 17, 18 and 31, with lines that are too long among them."""
    edges = sorted({0, len(CORPUS), *cuts})
    chunks = [CORPUS[start:end] for start, end in pairwise(edges)]
    assert decoded(*chunks, limit=limit) == decoded(CORPUS, limit=limit)


@pytest.mark.long
@given(st.lists(st.recursive(st.none() | st.booleans() | st.text(), st.lists, max_leaves=5)))
def test_messages_in_one_write_all_arrive_in_order(values: list[object]) -> None:
    """Row 18."""
    stream = b"".join(encode_line(value) for value in values)
    items = decoded(stream + b'{"half', limit=1 << 20)
    assert items == [Frame(value=value, line=n) for n, value in enumerate(values, 1)]


@pytest.mark.parametrize(("size", "is_too_long"), [(99, False), (100, False), (101, True)])
def test_the_line_limit_is_exact(size: int, is_too_long: bool) -> None:
    """Row 31. The newline does not count."""
    line = b'"' + b"x" * (size - 2) + b'"'
    for chunks in ([line + b"\n"], [line, b"\n"], [bytes([byte]) for byte in line] + [b"\n"]):
        (item,) = decoded(*chunks, limit=100)
        assert isinstance(item, Overlong) == is_too_long


def test_a_line_that_is_too_long_is_reported_at_once_and_the_next_one_is_read() -> None:
    """Rows 30 and 32. The rest of the line is discarded as it arrives."""
    decoder = LineDecoder(1000)
    (message,) = decoder.feed(b"x" * 1001)
    assert message == Overlong(raw=b"x" * 1000, limit=1000, line=1)
    for _ in range(100):
        assert decoder.feed(b"x" * 1000) == []
        assert decoder.remainder == (b"", 0)
    assert decoder.feed(b"x\n7\n") == [Frame(value=7, line=2)]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\xef\xbb\xbf{}", "it begins with a byte order mark (BOM); messages must not"),
        ("{}".encode("utf-16"), "it looks like UTF-16; messages must be UTF-8"),
        ('{"a":1}'.encode("utf-16-le"), "it looks like UTF-16; messages must be UTF-8"),
        ('{"a":1}'.encode("utf-16-be"), "it looks like UTF-16; messages must be UTF-8"),
        ('{"a":"é"}'.encode("latin-1"), "byte 6 (hex e9) is not valid UTF-8 (invalid"),
        (b'{"a":"\xc0\x80"}', "byte 6 (hex c0) is not valid UTF-8 (invalid start byte)"),
        (b'{"a":"\xed\xa0\x80"}', "byte 6 (hex ed) is not valid UTF-8"),
        (b'{"a":"\xf8\x88\x80\x80\x80"}', "byte 6 (hex f8) is not valid UTF-8"),
        (b'{"a":"\xe2\x82', "byte 6 (hex e2 82) is not valid UTF-8 (unexpected end of data)"),
        (b'{"a":"x\0y"}', "byte 7 is NUL; messages must not hold any"),
        (b'\0{"a":1}', "byte 0 is NUL; messages must not hold any"),
        (b"Content-Length: 12", "it is a Content-Length header, as LSP uses"),
        (b"\x1b[31mred\x1b[0m", "it does not begin like JSON"),
        (b"10%\r20%", "something follows the end of the JSON value"),
    ],
)
def test_bytes_that_are_not_a_message_are_kept_and_explained(raw: bytes, reason: str) -> None:
    """Rows 23, 25 to 29 and 36."""
    (noise, after) = decoded(raw + b"\n{}\n")
    assert isinstance(noise, Noise)
    assert (noise.raw, noise.size, noise.line) == (raw, len(raw), 1)
    assert noise.reason.startswith(reason)
    assert after == Frame(value={}, line=2)


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x7f", "\ufeff", "\ufffe"])
def test_unicode_line_separators_are_part_of_a_line(char: str) -> None:
    """Row 34."""
    assert decoded(f'"a{char}b"\n'.encode()) == [Frame(value=f"a{char}b", line=1)]


@pytest.mark.parametrize("escape", ["\\u000b", "\\u001c", "\\u001d", "\\f", "\\u0000"])
def test_separators_that_json_wants_escaped_are_one_message_too(escape: str) -> None:
    """Row 34."""
    (frame,) = decoded(f'"a{escape}b"\n'.encode())
    assert isinstance(frame, Frame)


def test_blank_lines_and_crlf_are_counted_and_skipped() -> None:
    """Rows 22 and 24."""
    decoder = LineDecoder()
    assert decoder.feed(b"\n  \n\t\r\n1\r\n2\n") == [Frame(value=1, line=4), Frame(value=2, line=5)]
    assert (decoder.blank_lines, decoder.crlf_lines) == (3, 2)


# Through a pipe


def test_answers_written_byte_by_byte_are_whole() -> None:
    """Row 17."""
    perform(spec_for("drip"), echo("é\U0001f600"), echo("two", id=2)).assert_spotless()


def test_half_a_line_and_the_end_is_an_exit_with_the_half_quoted() -> None:
    """Row 19. The cause is the exit; that half a message is not JSON is not reported."""
    report = perform(spec_for("half-exit"))
    assert (report.status, report.statuses) == (1, ["error"])
    assert report.fault["kind"] == "exited_during_call"
    assert report.fault["effect"] == "indefinite"
    assert "(exit status 0)" in report.fault["message"]
    assert report.fault["hint"] == (
        '20 bytes came without the newline that ends a message: "{"jsonrpc": "2.0", ""'
    )


def test_an_answer_without_its_newline_and_the_end_is_explained() -> None:
    """Row 20."""
    report = perform(spec_for("no-newline-exit"))
    assert report.fault["kind"] == "exited_during_call"
    assert "came without the newline that ends a message" in report.fault["hint"]
    assert '"id": 1, "result"' in report.fault["hint"]


def test_an_answer_without_its_newline_is_a_timeout_that_says_so() -> None:
    """Row 21."""
    report = perform(spec_for("no-newline", timeout_s=0.3))
    assert (report.status, report.statuses) == (1, ["error"])
    assert report.fault["kind"] == "timeout"
    assert "84 bytes came without the newline that ends a message" in report.fault["hint"]
    assert "does it write one, and flush stdout after it?" in report.fault["hint"]
    assert '"id": 1, "result"' in report.fault["hint"]


def test_crlf_is_accepted_and_noted_once() -> None:
    """Row 22."""
    report = perform(spec_for("crlf"), echo(), echo(id=2))
    assert (report.status, report.statuses) == (0, ["passed", "passed"])
    assert list(report.findings) == ["crlf"]
    # The handshake, two answers, and the list of tools that coverage asks for.
    assert report.findings["crlf"]["count"] == 4


@pytest.mark.parametrize(
    ("data", "quote"),
    [
        (b"10%\r20%\r", '"10%\\r20%\\r{'),
        (b"\xef\xbb\xbf", "byte order mark (BOM)"),
        (b"\0", '"\\u0000{'),
        (b"\x1b[1m", '"\\u001b[1m{'),
    ],
)
def test_bytes_before_the_answer_on_its_line_break_it_at_once(data: bytes, quote: str) -> None:
    """Rows 23, 25, 28 and 29."""
    report = perform(spec_for("before", data.hex()), echo(), echo(id=2))
    assert (report.status, report.statuses) == (1, ["error", "error"])
    fault = report.tests[0]["error"]
    assert fault["kind"] == "malformed_line"
    assert quote in fault["message"]
    assert report.findings["malformed_line"]["count"] == 2
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\n   \n", "blank_line"),
        (b"\0\0\n", "malformed_line"),
        (b"\xff\xfe\n", "malformed_line"),
        (b"\x1b]0;title\x07\n", "malformed_line"),
        (b"INFO working\n", "malformed_line"),
    ],
)
def test_lines_before_the_answer_are_findings_and_the_answer_counts(data: bytes, kind: str) -> None:
    """Rows 24, 28 and 29."""
    report = perform(spec_for("before", data.hex()))
    assert (report.status, report.statuses) == (0, ["passed"])
    assert list(report.findings) == [kind]


@pytest.mark.parametrize(
    ("encoding", "reason"),
    [
        ("utf-16", "it looks like UTF-16; messages must be UTF-8"),
        ("utf-16-le", "it looks like UTF-16; messages must be UTF-8"),
        ("latin-1", "byte 77 (hex e9) is not valid UTF-8"),
    ],
)
def test_another_encoding_is_named_and_never_guessed(encoding: str, reason: str) -> None:
    """Rows 26 and 27."""
    report = perform(spec_for("encoded", encoding), echo("é"))
    assert (report.status, report.fault["kind"]) == (1, "malformed_line")
    assert reason in report.fault["message"]
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


def test_a_long_line_within_the_limit_is_an_answer_like_any_other() -> None:
    """Row 31, at the limit."""
    spec = spec_for("big-line", "1000000", **with_line_limit(1_000_000))
    anything = {"expect": {"response": {"match:partial": {"id": 1}}}}
    report = perform(spec, echo() | anything)
    report.assert_spotless()


def test_a_line_over_the_limit_ends_the_call_and_the_next_test_has_a_fresh_server() -> None:
    """Rows 30 and 31, one byte over."""
    spec = spec_for("big-line", "1000001", **with_line_limit(1_000_000))
    ping = {
        "it": "answers a ping",
        "request": {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        "expect": {"response": {"jsonrpc": "2.0", "id": 2, "result": {}}},
    }
    report = perform(spec, echo(), ping)
    assert (report.status, report.statuses) == (1, ["error", "passed"])
    assert report.fault["kind"] == "line_too_long"
    assert report.fault["message"].startswith(
        'the server wrote more than 1,000,000 bytes without a newline; it begins "{"jsonrpc"'
    )
    assert "maxLineBytes" in report.fault["hint"]
    assert report.members["findings"] == []


def test_a_line_that_is_too_long_after_a_right_answer_breaks_the_next_test() -> None:
    """Row 30. A test with the right answer passes; the garbage is reported anyway."""
    spec = spec_for("long-after", "2000", **with_line_limit(1000))
    report = perform(spec, echo(), echo(id=2))
    assert (report.status, report.statuses) == (1, ["passed", "error"])
    assert report.fault["kind"] == "line_too_long"


def test_a_line_that_is_too_long_after_the_last_answer_is_a_finding() -> None:
    """Row 30."""
    report = perform(spec_for("long-after", "2000", **with_line_limit(1000)))
    assert (report.status, report.statuses) == (0, ["passed"])
    assert list(report.findings) == ["line_too_long"]


def test_an_endless_line_is_stopped_at_the_limit() -> None:
    """Row 32."""
    report = perform(spec_for("endless-line", **with_line_limit(1_000_000)))
    assert (report.status, report.fault["kind"]) == (1, "line_too_long")
    assert report.members["findings"] == []
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


@pytest.mark.parametrize(
    "limits", [Limits(max_messages_per_call=10_000), Limits(max_bytes_per_call=1_000_000)]
)
def test_endless_messages_end_at_the_budget(limits: Limits) -> None:
    """Row 33."""
    report = perform(spec_for("endless-notifications", limits=limits))
    assert (report.status, report.fault["kind"]) == (1, "output_budget")
    assert "during one call and did not answer it" in report.fault["message"]
    assert report.members["findings"] == []
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


@pytest.mark.long
@pytest.mark.parametrize("mode", ["endless-notifications", "endless-blank-lines"])
def test_endless_output_within_the_budget_ends_at_the_timeout(mode: str) -> None:
    """Row 33. The deadline applies even if output never stops."""
    report = perform(spec_for(mode, timeout_s=0.3))
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


def test_two_messages_torn_into_each_other_are_both_kept_and_explained() -> None:
    """Row 35."""
    report = perform(spec_for("torn"))
    assert (report.status, report.fault["kind"]) == (1, "malformed_line")
    assert '"method": "{"jsonrpc": "2.0", "id": 1' in report.fault["message"]
    assert "several threads" in report.fault["hint"]
    assert report.findings["malformed_line"]["count"] == 2


def test_the_framing_of_language_servers_is_recognised() -> None:
    """Row 36."""
    report = perform(spec_for("lsp", startup_timeout_s=0.5))
    assert (report.status, report.fault["kind"]) == (3, "handshake_timeout")
    assert report.fault["hint"].startswith("it wrote a line that is not JSON (it is a Content-Le")


def test_a_closed_stdout_ends_the_call_at_once_and_then_the_server() -> None:
    """Row 37."""
    report = perform(spec_for("close-stdout"))
    assert (report.status, report.fault["kind"]) == (1, "exited_during_call")
    assert "closed its stdout and went on running" in report.fault["message"]
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


def test_a_line_written_while_the_server_ends_is_still_reported() -> None:
    """Row 13 at the end of a session; the result must not depend on timing."""
    report = perform(spec_for("last", b"Goodbye\n".hex()))
    assert (report.status, report.statuses) == (0, ["passed"])
    assert report.findings["malformed_line"]["quote"].startswith('"Goodbye"')
