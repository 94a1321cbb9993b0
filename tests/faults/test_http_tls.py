"""Row 141 of the fault catalogue: a connection that cannot be trusted is not used."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from certificates import Authority
from http_runs import run_over_http, with_config
from raw_http import RawHttp, holds_after, on
from staging import echo

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_a_server_whose_authority_is_named_is_spoken_to(
    authority: Authority, tmp_path: Path
) -> None:
    with RawHttp(tls=authority.server()) as server:
        words = ("--ca-file", authority.file)
        report = run_over_http(
            tmp_path, server.url, echo("x" * 200_000), echo("b", id=2), words=words
        )
    report.assert_spotless()
    assert server.connections < len(server.asked)


def test_a_server_with_an_untrusted_certificate_gets_no_request(
    authority: Authority, tmp_path: Path
) -> None:
    with RawHttp(tls=authority.server()) as server:
        words = ("--header-env", "X-Api-Key=KEY")
        report = run_over_http(tmp_path, server.url, words=words, KEY="s3cret-value")
    assert (report.status, report.fault["kind"]) == (3, "tls_failed")
    assert "the certificate of 127.0.0.1:" in report.fault["message"]
    assert '"ca_file"' in report.fault["hint"]
    assert server.asked == []


def test_an_expired_certificate_is_refused(authority: Authority, tmp_path: Path) -> None:
    with RawHttp(tls=authority.server(ends_in_days=-2)) as server:
        report = run_over_http(tmp_path, server.url, words=("--ca-file", authority.file))
    assert (report.status, report.fault["kind"]) == (3, "tls_failed")
    assert "expired" in report.fault["message"]
    assert server.asked == []


def test_the_certificate_of_another_host_is_refused(authority: Authority, tmp_path: Path) -> None:
    with RawHttp(tls=authority.server("other.example")) as server:
        report = run_over_http(tmp_path, server.url, words=("--ca-file", authority.file))
    assert (report.status, report.fault["kind"]) == (3, "tls_failed")
    assert "127.0.0.1" in report.fault["message"]
    assert server.asked == []


def test_verification_can_be_switched_off_explicitly(authority: Authority, tmp_path: Path) -> None:
    with RawHttp(tls=authority.server("other.example")) as server:
        report = with_config(tmp_path, server.url, insecureTls=True)
    assert report.statuses == ["passed"]
    assert list(report.findings) == ["tls_unverified"]


def test_a_server_without_tls_is_reported_as_such(tmp_path: Path) -> None:
    with RawHttp() as server:
        report = run_over_http(tmp_path, server.url.replace("http:", "https:"))
    assert (report.status, report.fault["kind"]) == (3, "tls_failed")
    assert "no secure connection to 127.0.0.1:" in report.fault["message"]
    assert "does it speak TLS on this port?" in report.fault["hint"]


def test_a_tls_server_that_is_reached_over_http_is_reported_as_such(
    authority: Authority, tmp_path: Path
) -> None:
    with RawHttp(tls=authority.server()) as server:
        report = run_over_http(tmp_path, server.url.replace("https:", "http:"))
    assert (report.status, report.fault["kind"]) == (3, "http_body")


def test_an_invalid_ca_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate", encoding="utf-8")
    with RawHttp() as server:
        url = server.url.replace("http:", "https:")
        report = run_over_http(tmp_path, url, words=("--ca-file", "no.pem"))
    assert (report.status, report.fault["kind"]) == (3, "tls_failed")
    assert "the file of authorities 'no.pem' cannot be used" in report.fault["message"]


def test_a_tls_handshake_that_never_ends_times_out(tmp_path: Path) -> None:
    """The other side accepts the connection and sends not one byte."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/mcp"
        report = with_config(tmp_path, url, startupTimeout=300)
    assert (report.status, report.fault["kind"]) == (3, "handshake_timeout")
    assert "has not completed the TLS handshake" in report.story


def test_a_call_that_hangs_over_tls_ends_by_its_timeout(
    authority: Authority, tmp_path: Path
) -> None:
    with RawHttp(on("tools/call", holds_after()), authority.server()) as server:
        words = ("--ca-file", authority.file, "--timeout", "300ms")
        report = run_over_http(tmp_path, server.url, words=words)
    assert (report.status, report.fault["kind"]) == (1, "timeout")
