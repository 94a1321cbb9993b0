"""Server-sent events as text."""

from __future__ import annotations

import pytest

from mcptest.protocol.http_messages import render_event


def test_an_event_is_its_fields_and_an_empty_line() -> None:
    assert render_event(b"{}") == b"data: {}\n\n"
    assert render_event(b"{}", id="1-2", event="message") == (
        b"event: message\nid: 1-2\ndata: {}\n\n"
    )


def test_an_event_without_data_has_an_empty_field() -> None:
    assert render_event(b"", id="1-0") == b"id: 1-0\ndata: \n\n"


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_no_line_end_in_the_data_can_make_a_field_of_it(end: bytes) -> None:
    assert render_event(b"a" + end + b"id: 9") == b"data: a\ndata: id: 9\n\n"
