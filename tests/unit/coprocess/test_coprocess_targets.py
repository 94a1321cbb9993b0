"""Where calls may be uploaded to, and where not."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.coprocess.uploads import BadTargetError, Target, read_target
from mcptest.protocol.http_address import Address


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("file:///tmp/calls.ndjson", b"/tmp/calls.ndjson"),
        ("file:/tmp/calls.ndjson", b"/tmp/calls.ndjson"),
        ("file://localhost/tmp/a", b"/tmp/a"),
        ("FILE:///tmp/a", b"/tmp/a"),
        ("file:calls.ndjson", b"calls.ndjson"),
        ("file:a/b c.ndjson", b"a/b c.ndjson"),
        ("file:///tmp/%23%3F%20%ff", b"/tmp/#? \xff"),
        ("file:ü", "ü".encode()),
    ],
)
def test_a_file_target_names_a_path(text: str, path: bytes) -> None:
    assert read_target(text) == Target(text=text, file=path)


@pytest.mark.parametrize(
    ("text", "host", "port", "target"),
    [
        ("http://localhost/", "localhost", 80, "/"),
        ("http://LOCALHOST:8080", "localhost", 8080, "/"),
        ("http://127.0.0.1:1/a/b?c=d", "127.0.0.1", 1, "/a/b?c=d"),
        ("http://127.1.2.3/", "127.1.2.3", 80, "/"),
        ("http://127.0.0.1:0/", "127.0.0.1", 0, "/"),
        ("http://[::1]:9/x", "::1", 9, "/x"),
        ("https://[2001:db8::abcd]/x", "2001:db8::abcd", 443, "/x"),
        ("https://example.com/%20", "example.com", 443, "/%20"),
        ("HTTPS://localhost", "localhost", 443, "/"),
    ],
)
def test_a_url_names_a_host_a_port_and_what_is_asked_for(
    text: str, host: str, port: int, target: str
) -> None:
    is_secure = text.lower().startswith("https:")
    address = Address(scheme="https" if is_secure else "http", host=host, port=port, target=target)
    assert read_target(text) == Target(text=text, address=address)


@each_case(
    ("text", "why"),
    [
        ("", "is none of them"),
        ("calls.ndjson", "is none of them"),
        ("/tmp/calls.ndjson", "is none of them"),
        ("ftp://localhost/a", "is none of them"),
        ("ws://localhost/a", "is none of them"),
        ("http://example.com/", "use https:"),
        ("http://127.evil.example.com/", "use https:"),
        ("http://127.0.0.1.example.com/", "use https:"),
        ("http://localhost.example.com/", "use https:"),
        ("http://10.0.0.1/", "use https:"),
        ("http://0.0.0.0/", "use https:"),
        ("http:///a", "names no host"),
        ("https:a", "names no host"),
        ("http://localhost@example.com/", "no user, no password"),
        ("https://me:secret@example.com/", "no user, no password"),
        ("https://example.com/#a", "no user, no password and no #"),
        ("http://localhost:99999/", "Port out of range"),
        ("http://localhost:x/", "cannot be read"),
        ("http://[::1/", "cannot be read"),
        ("http://localhost/a b", "is not a URL"),
        ("https://bücher.example/", "is not a URL"),
        ("http://localhost/\n", "cannot be seen"),
        ("file:///tmp/\x00", "cannot be seen"),
        ("file:///tmp/\ud800", "cannot be seen"),
        ("file:", "names a file"),
        ("file:///", "names a file"),
        ("file:///tmp/", "names a file"),
        ("file:///tmp/a%00b", "names a file"),
        ("file://tmp/a", "a path begins with a third slash"),
        ("file:///tmp/a?b", "no ? and no #"),
        ("file:///tmp/a#b", "no ? and no #"),
    ],
)
def test_nothing_else_is_a_target(text: str, why: str) -> None:
    with pytest.raises(BadTargetError) as caught:
        read_target(text)
    assert why in str(caught.value)


def test_a_refused_target_is_shown_shortened_and_escaped() -> None:
    with pytest.raises(BadTargetError) as caught:
        read_target("http://example.com/" + "\x1b" * 100_000)
    assert len(str(caught.value)) < 1500
    assert "\x1b" not in str(caught.value)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(BadTargetError) as caught:
        read_target("https://me:secret@example.com/")
    assert "secret" not in str(caught.value)
