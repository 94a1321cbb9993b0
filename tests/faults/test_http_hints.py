"""The hints of faults of servers on HTTP: what to look at, and what to write."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from certificates import Authority
from http_runs import ENVIRONMENT, run, run_over_http, with_config, write_suite
from raw_http import RawHttp, on, refusal, says

from mcptest.protocol.http_messages import status_fault, without_older_transport

if TYPE_CHECKING:
    from pathlib import Path

    from staging import Report

RUN = [sys.executable, "-m", "mcptest", "run"]


# Certificates


def test_the_hint_about_authorities_names_every_way_to_name_one(tmp_path: Path) -> None:
    with RawHttp(tls=Authority(tmp_path).server()) as server:
        hint = run_over_http(tmp_path, server.url).fault["hint"]
    for word in ("--ca-file", '"ca_file"', '"caFile"', '"insecure_tls"', '"insecureTls"'):
        assert word in hint


def test_a_server_that_wants_tls_is_asked_for_with_https(tmp_path: Path) -> None:
    with RawHttp(on("initialize", says(b"\x15\x03\x03\x00\x02\x02\x46"))) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.fault["hint"] == "does it want https://?"


def test_a_file_of_authorities_is_beside_the_config_that_names_it(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    write_suite(tmp_path / "elsewhere")
    with RawHttp(tls=authority.server()) as server:
        name = authority.file.rpartition("/")[2]
        config = {"name": "shop", "url": server.url, "caFile": f"../{name}"}
        path = tmp_path / "elsewhere" / "conductor.config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        words = ["elsewhere/a.test.mcp.yml", "--config", "elsewhere/conductor.config.json"]
        report = run(tmp_path, [*RUN, *words, "--json"])
    assert report.statuses == ["passed"]


def test_a_missing_ca_file_is_reported_with_its_key(tmp_path: Path) -> None:
    with RawHttp() as server:
        report = with_config(tmp_path, server.url, caFile="no.pem")
    assert (report.status, report.fault["kind"], server.asked) == (3, "tls_failed", [])
    assert '"ca_file" (in a config "caFile") names' in report.fault["message"]


# Places


def hint_of_404(target: str) -> str:
    fault = status_fault("initialize", 1, 404, {}, b"")
    return without_older_transport(fault, target).hint


def test_only_the_places_are_named_that_were_not_asked() -> None:
    for target, named in (("/", {"/mcp", "/sse"}), ("/mcp?a=b", {"/sse"}), ("/sse/", {"/mcp"})):
        hint = hint_of_404(target)
        assert {place for place in ("/mcp", "/sse") if f"at {place}" in hint} == named
    other = status_fault("initialize", 1, 405, {}, b"")
    assert "nor does it have the older transport" in without_older_transport(other, "/mcp").hint


def test_a_hint_suggests_the_newer_transport_only_if_the_older_was_requested(
    tmp_path: Path,
) -> None:
    with RawHttp(on("GET", says(refusal("405 Method Not Allowed")))) as server:
        report = with_config(tmp_path, server.url, transport="sse")
    assert 'leave out "transport"' in report.fault["hint"]
    with RawHttp(on("initialize", says(refusal("405 Method Not Allowed")))) as server:
        report = with_config(tmp_path, server.url, transport="streamable-http")
    assert "leave out" not in report.fault["hint"]


@pytest.mark.parametrize(("words", "has_hint"), [((), True), (("{port}",), False)])
def test_a_server_that_does_not_get_its_port_is_reported(
    tmp_path: Path, words: tuple[str, ...], has_hint: bool
) -> None:
    args = ["-c", "import signal; signal.pause()", *words]
    url = "http://127.0.0.1:{port}/mcp"
    report = with_config(tmp_path, url, command=sys.executable, args=args, startupTimeout=300)
    assert report.fault["kind"] == "handshake_timeout"
    assert ("cannot know at which port" in report.fault["hint"]) is has_hint


# Refusals


UNAUTHORIZED = on("initialize", says(refusal("401 Unauthorized")))


def refused(folder: Path, *words: str) -> Report:
    with RawHttp(UNAUTHORIZED) as server:
        return run_over_http(folder, server.url, words=words, KEY="s3cret-value")


@pytest.mark.parametrize("words", [("--bearer-env", "KEY"), ("--header-env", "X-Api-Key=KEY")])
def test_refused_credentials_and_missing_ones_have_different_messages(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    given = refused(tmp_path, *words).fault["hint"]
    assert given.startswith("the server refused the credentials it was given")
    for hint in (given, refused(tmp_path).fault["hint"]):
        assert "--bearer-env" in hint
        assert "--header-env" in hint
    for other in ((), ("--header-env", "X-Tenant=KEY")):
        assert refused(tmp_path, *other).fault["hint"].startswith("the server wants credentials")


def test_a_refused_handshake_has_done_nothing() -> None:
    for status in (401, 404, 500, 503):
        assert status_fault("initialize", 1, status, {}, b"").effect == "definite"
    assert status_fault("tools/call", 1, 500, {}, b"").effect == "indefinite"


def test_a_body_that_is_quoted_whole_is_not_shown_again(tmp_path: Path) -> None:
    short = b'{"error": "nobody knows you"}'
    with RawHttp(on("initialize", says(refusal("403 Forbidden", short)))) as server:
        fault = run_over_http(tmp_path, server.url).fault
    assert "nobody knows you" in fault["message"]
    assert "nobody knows you" not in json.dumps({**fault, "message": ""})
    long = b'{"error": "' + b"nobody " * 100 + b'"}'
    with RawHttp(on("initialize", says(refusal("403 Forbidden", long)))) as server:
        fault = run_over_http(tmp_path, server.url).fault
    assert "nobody" in json.dumps({**fault, "message": ""})


@pytest.mark.parametrize(
    ("keys", "words", "named"),
    [
        ({"protocolVersion": "2026-07-28"}, (), '"protocol_version" (in a config'),
        ({}, ("--spec-version", "2026-07-28"), "--spec-version"),
    ],
)
def test_the_hint_names_the_option_that_requested_the_other_era(
    tmp_path: Path, keys: dict[str, Any], words: tuple[str, ...], named: str
) -> None:
    write_suite(tmp_path)
    with RawHttp(on("server/discover", says(refusal("404 Not Found")))) as server:
        config = {"name": "server", "url": server.url, **keys}
        (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
        report = run(tmp_path, [*RUN, "a.test.mcp.yml", "--json", *words])
    assert f"leave out {named}" in report.fault["hint"]


def test_listing_a_server_with_an_unverified_certificate_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mcptest", "list"]
    for is_blind in (True, False):
        authority = Authority(tmp_path)
        secure: dict[str, Any] = {"insecureTls": True} if is_blind else {"caFile": authority.file}
        with RawHttp(tls=authority.server()) as server:
            config = {"name": "shop", "url": server.url, **secure}
            (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
            done = subprocess.run(
                command,
                cwd=tmp_path,
                env=ENVIRONMENT,
                capture_output=True,
                timeout=60,
                check=False,
            )
        assert (b"certificate of the server was not checked" in done.stderr) is is_blind
