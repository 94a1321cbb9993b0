"""Uploads over TLS: only to hosts with a trusted certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from certificates import Authority
from raw_http import RawHttp

from mcptest.coprocess.uploads import UploadError, Uploads, read_target
from mcptest.transport.http.probe import post

if TYPE_CHECKING:
    from pathlib import Path

    from raw_http import Asked, Line

PATIENCE_S = 20.0


def taking(asked: Asked, line: Line) -> None:
    """Take whatever is posted."""
    line.send(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    line.close()


def uploads(url: str, text: str) -> Uploads:
    made = Uploads(post)
    made.target, made.is_enabled = read_target(url), True
    made.add({"text": text})
    return made


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_records_are_posted_to_a_target_whose_certificate_is_right(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority.file)
    with RawHttp(taking, tls=authority.server()) as server:
        assert server.url.startswith("https:")
        made = uploads(server.url, "x" * 1_000_000)
        assert (made.flush(PATIENCE_S), len(made)) == (1, 0)
    (asked,) = server.asked
    assert (asked.method, asked.headers["content-type"]) == ("POST", "application/x-ndjson")
    assert asked.body == b'{"text":"' + b"x" * 1_000_000 + b'"}\n'


@pytest.mark.parametrize("host", ["", "other.example"])
def test_nothing_is_posted_to_a_target_whose_certificate_is_not(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """Once the certificate is untrusted, once it is for another host."""
    if host:
        monkeypatch.setenv("SSL_CERT_FILE", authority.file)
    tls = authority.server(host) if host else authority.server()
    with RawHttp(taking, tls=tls) as server:
        made = uploads(server.url, "x")
        with pytest.raises(UploadError, match=r"the certificate of .* is not valid: "):
            made.flush(PATIENCE_S)
    assert (server.asked, len(made)) == ([], 1)
