"""Group C of the fault catalogue: text that is not JSON, or more than JSON should be."""

from __future__ import annotations

import json
import time
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from staging import call, echo, perform, plan_for, spec_for

from mcptest.core.events import CaseFinished, RunFinished, RunStarted, SuiteStarted
from mcptest.core.results import CaseResult, Finding, Mismatch, Summary
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import visible
from mcptest.protocol.framing import Frame, LineDecoder, Noise, encode_line
from mcptest.reporters.json import JsonReporter
from mcptest.reporters.junit import JunitReporter

NOT_JSON = {
    "hello": ("expecting value", 1),
    "{": ("expecting property name enclosed in double quotes", 2),
    '{"a":1': ("expecting ',' delimiter", 7),
    '{"a":1,}': ("a comma with nothing after it", 7),
    "[1,]": ("a comma with nothing after it", 3),
    "1 2": ("something follows the end of the JSON value", 3),
    '{} {"id":1}': ("something follows the end of the JSON value", 4),
    "{'a':1}": ("expecting property name enclosed in double quotes", 2),
    "// note": ("expecting value", 1),
    '{"a":1} // note': ("something follows the end of the JSON value", 9),
    "NaN": ("NaN is not JSON", 0),
    "[Infinity]": ("Infinity is not JSON", 0),
    "[-Infinity]": ("-Infinity is not JSON", 0),
    "1e400": ("the number 1e400 is too large", 0),
    "9" * 5000: ("a number with more digits than can be read (limit 4,300)", 0),
    '{"id":1,"id":2}': ('the key "id" occurs twice in one object', 0),
    '{"a":{"result":1,"b":2,"result":1}}': ('the key "result" occurs twice in one object', 0),
    "01": ("something follows the end of the JSON value", 2),
    "True": ("expecting value", 1),
    '"\t"': ("invalid control character", 2),
    '"\\x"': ("invalid \\escape", 2),
}


@pytest.mark.parametrize("text", NOT_JSON, ids=lambda text: str(text)[:20])
def test_text_that_is_not_json_is_refused_with_the_reason_and_the_column(text: str) -> None:
    """Rows 39 to 41 and 43."""
    reason, column = NOT_JSON[text]
    with pytest.raises(NotJsonError) as caught:
        parse_json(text)
    assert caught.value.reason.startswith(reason)
    if column:
        assert caught.value.column == column


@pytest.mark.parametrize(
    "text", ["9007199254740993", "-0", "1.0", "-1e-400", "9" * 4300, '{"__proto__":1}']
)
def test_numbers_at_the_edge_are_kept_as_they_are(text: str) -> None:
    """Row 43: integers are exact, and a number too small to hold is zero, as everywhere."""
    assert parse_json(text) == json.loads(text)
    assert type(parse_json(text)) is type(json.loads(text))


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_the_depth_limit_is_exact_and_no_depth_crashes_us(opening: str, closing: str) -> None:
    """Row 42."""

    def nested(depth: int) -> str:
        return opening * depth + "1" + closing * depth

    parse_json(nested(200))
    for depth in (201, 900, 10_000, 1_000_000):
        with pytest.raises(NotJsonError, match="nested deeper than 200 levels"):
            parse_json(nested(depth))
    with pytest.raises(NotJsonError):
        parse_json(opening * 1_000_000)


@pytest.mark.parametrize(
    "text",
    [
        "[" + ",".join(["1"] * 1_000_000) + "]",
        "{" + ",".join(f'"k{n}":{n}' for n in range(1_000_000)) + "}",
        '"' + "x" * 10_000_000 + '"',
    ],
    ids=["a million elements", "a million keys", "ten million characters"],
)
def test_large_values_are_read_in_bounded_time(text: str) -> None:
    """Row 45."""
    began = time.monotonic()
    (frame,) = LineDecoder().feed(text.encode() + b"\n")
    assert isinstance(frame, Frame)
    assert time.monotonic() - began < 20


TRICKY = ["a\x00b", "\uffff", "\U0010ffff", "\x1b[31m", "]]>", "\u202e"]


@pytest.mark.parametrize("text", TRICKY, ids=ascii)
def test_tricky_characters_survive_the_wire_and_compare_equal(text: str) -> None:
    """Row 44."""
    assert LineDecoder().feed(encode_line({"a": text})) == [Frame(value={"a": text}, line=1)]
    perform(spec_for("good"), echo(text)).assert_spotless()


def test_half_a_surrogate_pair_in_an_answer_is_data_like_any_other() -> None:
    """Row 44. A test file may not contain one; a server may still send one."""
    line = b'{"jsonrpc":"2.0","id":1,"result":"\\ud800"}\n'
    report = perform(spec_for("instead", line.hex()))
    assert (report.status, report.statuses) == (1, ["failed"])
    assert report.tests[0]["mismatches"][0]["actual"] == "\ud800"


@given(st.text(st.characters(exclude_categories=())))
def test_every_writer_copes_with_every_character(text: str) -> None:
    """Row 44."""
    wrong = Mismatch(path="a", expected=text, actual={text: text}, message=text)
    result = CaseResult(name=text, status="failed", line=1, mismatches=(wrong,), stderr=text)
    finding = Finding(kind="malformed_line", server=text, message=text, quote=text)
    events = (
        RunStarted(started_at="", server=text, suites=1, total=1),
        SuiteStarted(name=text, file="a", format="conductor", server=text, total=1),
        CaseFinished(result=result),
        RunFinished(summary=Summary(failed=1), duration_s=0.0, findings=(finding,)),
    )
    as_json, as_junit = JsonReporter("0"), JunitReporter()
    for event in events:
        as_json(event)
        as_junit(event)
    json.loads(as_json.render().encode("utf-8", "backslashreplace"))
    ElementTree.fromstring(as_junit.render().encode("utf-8", "backslashreplace"))
    assert visible(text).isprintable()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":NaN}\n', "NaN is not JSON"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"result":1}\n', 'the key "result" occurs twice'),
        (b'{"jsonrpc":"2.0","id":1,"result":{},}\n', "a comma with nothing after it"),
        (b'{"jsonrpc":"2.0","id":1,"result":1e999}\n', "the number 1e999 is too large"),
        (
            b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 500 + b"]" * 500 + b"}\n",
            "nested deeper than 200 levels",
        ),
    ],
)
def test_an_answer_that_is_not_strict_json_ends_the_call_at_once(line: bytes, reason: str) -> None:
    """Rows 39 to 43, through a pipe."""
    report = perform(spec_for("instead", line.hex()))
    assert (report.status, report.fault["kind"]) == (1, "malformed_line")
    assert reason in report.fault["message"]
    assert report.members["duration_ms"] < 10_000


def test_a_broken_line_does_not_answer_the_next_call_either() -> None:
    """Row 39: the line after a bad one is handled."""
    bad = b'{"jsonrpc":"2.0","id":7,"oops\n'
    report = perform(spec_for("before", bad.hex()), echo(id=1), echo(id=2))
    assert (report.status, report.statuses) == (0, ["passed", "passed"])
    assert report.findings["malformed_line"]["count"] == 2


def test_arguments_that_are_deeply_nested_are_sent_as_they_are() -> None:
    """Row 42, for what we send."""
    value: object = "deep"
    for _ in range(150):
        value = [value]
    request = call()
    request["params"]["arguments"]["more"] = value
    assert plan_for(spec_for("good"), echo() | {"request": request}).total == 1


def test_noise_keeps_the_beginning_of_a_huge_line_and_its_size() -> None:
    """Row 45 meets row 39."""
    (noise,) = LineDecoder().feed(b"x" * 1_000_000 + b"\n")
    assert isinstance(noise, Noise)
    assert (len(noise.raw), noise.size) == (4096, 1_000_000)
