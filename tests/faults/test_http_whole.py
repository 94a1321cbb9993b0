"""Rows 136 to 143: where requests go, sessions, the older transport, and how it all ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from http_runs import ENVIRONMENT, run_over_http, with_config, words_for
from raw_http import (
    EVENTS,
    Asked,
    Line,
    RawHttp,
    answer,
    as_json,
    event,
    good,
    hangs_up_after,
    holds_after,
    on,
    refusal,
    result_for,
    says,
)
from staging import LONG_S, echo, perform, stage

from mcptest.core.plan import HttpSpec, Limits, ServerSpec
from mcptest.transport.http.transport import HttpTransport

if TYPE_CHECKING:
    from raw_http import Script

CALL, INITIALIZE = "tools/call", "initialize"
RAW_HTTP = str(Path(__file__).parent.parent / "servers" / "raw_http.py")
KEY = ("--header-env", "X-Api-Key=KEY")


# Redirects


def redirects(status: str, goal: str, about: str = CALL) -> Script:
    """A server that sends one method elsewhere, once it is asked at its own place."""

    def script(asked: Asked, line: Line) -> None:
        if asked.about == about and asked.target == "/mcp":
            line.send(refusal(status, Location=goal))
        else:
            good(asked, line)

    return script


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
def test_a_redirect_within_the_server_is_followed_with_all_that_was_sent(
    status: str, tmp_path: Path
) -> None:
    with RawHttp(redirects(status, "/other?x=1")) as server:
        report = run_over_http(tmp_path, server.url, words=KEY, KEY="s3cret-value")
    report.assert_spotless()
    first, second = server.about(CALL)
    assert (first.target, second.target) == ("/mcp", "/other?x=1")
    assert first.body == second.body
    assert first.headers == second.headers
    assert second.headers["x-api-key"] == "s3cret-value"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other"])
def test_a_redirect_that_would_turn_a_post_into_a_get_is_refused(
    status: str, tmp_path: Path
) -> None:
    with RawHttp(redirects(status, "/other")) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (1, "redirect_refused")
    assert "a POST would become a GET there" in report.fault["message"]
    assert len(server.about(CALL)) == 1


@pytest.mark.parametrize("about", [INITIALIZE, CALL])
def test_another_server_gets_nothing_not_even_a_connection(about: str, tmp_path: Path) -> None:
    with RawHttp() as other, RawHttp(redirects("307 Go", other.url, about)) as server:
        report = run_over_http(tmp_path, server.url, words=KEY, KEY="s3cret-value")
    assert report.status == (3 if about == INITIALIZE else 1)
    assert report.fault["kind"] == "redirect_refused"
    assert "that is another server" in report.fault["message"]
    assert (other.connections, other.asked) == (0, [])


@pytest.mark.parametrize(
    "goal",
    [
        "http://169.254.169.254/latest/meta-data",
        "https://127.0.0.1/mcp",
        "//localhost/mcp",
        "file:///etc/passwd",
        "http://[x",
        "javascript:alert(1)",
    ],
)
def test_no_redirect_leaves_the_origin(goal: str, tmp_path: Path) -> None:
    with RawHttp(redirects("307 Go", goal)) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (1, "redirect_refused")
    assert len(server.about(CALL)) == 1


def test_a_loop_of_redirects_ends(tmp_path: Path) -> None:
    with RawHttp(redirects("307 Go", "/mcp")) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (1, "redirect_refused")
    assert "it is redirect number 6" in report.fault["message"]
    assert len(server.about(CALL)) == 6


# Sessions


def with_sessions(then: Script) -> Script:
    """A server that gives each handshake a session of its own, s1, s2, and so on."""
    given: list[str] = []

    def script(asked: Asked, line: Line) -> None:
        if asked.about == INITIALIZE:
            given.append(f"s{len(given) + 1}")
            line.send(as_json(result_for(asked), Mcp_Session_Id=given[-1]))
        elif asked.method == "DELETE":
            line.send(answer(b"", "200 OK", ""))
        else:
            then(asked, line)

    return script


def sessions(server: RawHttp, about: str) -> list[str]:
    return [asked.headers.get("mcp-session-id", "") for asked in server.about(about)]


def test_a_session_is_named_in_every_request_and_ended(tmp_path: Path) -> None:
    with RawHttp(with_sessions(good)) as server:
        report = run_over_http(tmp_path, server.url, echo(), echo("b", id=2))
    report.assert_spotless()
    assert sessions(server, INITIALIZE) == [""]
    assert sessions(server, CALL) == ["s1", "s1"]
    assert sessions(server, "GET") == ["s1"]
    assert sessions(server, "DELETE") == ["s1"]


LOST = {
    "without a word": refusal("404 Not Found"),
    "in a message for nobody": as_json(
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Session not found"}},
        "404 Not Found",
    ),
    "in a message for somebody else": as_json(
        {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "gone"}},
        "404 Not Found",
    ),
}


@pytest.mark.parametrize("how", LOST)
def test_a_lost_session_is_reported_and_the_next_test_begins_a_new_one(
    how: str, tmp_path: Path
) -> None:
    def forgets(asked: Asked, line: Line) -> None:
        is_lost = asked.about == CALL and asked.headers.get("mcp-session-id") == "s1"
        (says(LOST[how]) if is_lost else good)(asked, line)

    with RawHttp(with_sessions(forgets)) as server:
        report = run_over_http(tmp_path, server.url, echo(), echo("b", id=2))
    assert (report.status, report.statuses) == (1, ["error", "passed"])
    assert report.fault["kind"] == "session_lost"
    assert "the next test begins a new one" in report.fault["hint"]
    assert sessions(server, CALL) == ["s1", "s2"]


def test_a_404_that_answers_the_very_request_is_an_answer(tmp_path: Path) -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "unknown"}}
    test = echo() | {"expect": {"response": error}}
    script = with_sessions(on(CALL, says(as_json(error, "404 Not Found"))))
    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url, test)
    assert report.statuses == ["passed"]


@pytest.mark.parametrize("session", ["a b", "sess\u00e9", "x" * 5000])
def test_a_session_id_that_cannot_be_sent_back_is_a_finding(session: str, tmp_path: Path) -> None:
    def script(asked: Asked, line: Line) -> None:
        line.send(as_json(result_for(asked), Mcp_Session_Id=session))

    with RawHttp(on(INITIALIZE, script)) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.statuses == ["passed"]
    assert (
        "a session id that is not visible ASCII" in report.findings["protocol_violation"]["message"]
    )
    assert sessions(server, CALL) == [""]


def test_a_session_id_with_a_line_break_is_invalid_http(tmp_path: Path) -> None:
    def script(asked: Asked, line: Line) -> None:
        line.send(as_json(result_for(asked), Mcp_Session_Id="a\0b"))

    with RawHttp(on(INITIALIZE, script)) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (3, "http_body")


# The older transport


class OlderServer:
    """Two endpoints: a GET returns the stream of all answers, which names where to POST."""

    def __init__(self, endpoint: str = "/messages?s=1", *, drops_on: str = "") -> None:
        self._endpoint = endpoint
        self._drops_on = drops_on
        self._stream: Line | None = None

    def __call__(self, asked: Asked, line: Line) -> None:
        if asked.method == "GET" and asked.target == "/mcp":
            self._stream = line
            line.send(EVENTS, f"event: endpoint\ndata: {self._endpoint}\n\n".encode())
            line.wait_for_the_end()
        elif not asked.target.startswith("/messages"):
            line.send(refusal("405 Method Not Allowed"))
        else:
            line.send(answer(b"Accepted", "202 Accepted", "text/plain"))
            self._answer(asked)

    def _answer(self, asked: Asked) -> None:
        assert self._stream
        if asked.about == self._drops_on:
            self._stream.close()
        elif "id" in asked.message:
            self._stream.send(event(result_for(asked), "event: message"))


def test_a_server_of_the_older_transport_is_found_and_spoken_to(tmp_path: Path) -> None:
    with RawHttp(OlderServer()) as server:
        report = run_over_http(tmp_path, server.url, echo(), echo("b", id=2))
    report.assert_spotless()
    assert [asked.target for asked in server.about(INITIALIZE)] == ["/mcp", "/messages?s=1"]
    assert [asked.target for asked in server.about(CALL)] == ["/messages?s=1"] * 2


def test_a_server_configured_with_the_older_transport_is_asked_for_its_stream_at_once(
    tmp_path: Path,
) -> None:
    with RawHttp(OlderServer()) as server:
        report = with_config(tmp_path, server.url, transport="sse")
    report.assert_spotless()
    assert [asked.target for asked in server.about(INITIALIZE)] == ["/messages?s=1"]


def test_an_endpoint_elsewhere_is_refused_and_gets_nothing(tmp_path: Path) -> None:
    with RawHttp() as other, RawHttp(OlderServer(other.url)) as server:
        report = run_over_http(tmp_path, server.url, words=KEY, KEY="s3cret-value")
    assert (report.status, report.fault["kind"]) == (3, "redirect_refused")
    assert "which is another server; nothing is sent there" in report.fault["message"]
    assert other.connections == 0


def test_an_endpoint_event_that_is_not_a_url_is_refused(tmp_path: Path) -> None:
    with RawHttp(OlderServer("http://[x")) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (3, "event_stream")


def test_the_end_of_the_one_stream_ends_the_call(tmp_path: Path) -> None:
    with RawHttp(OlderServer(drops_on=CALL)) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (1, "exited_during_call")
    assert "the server ended its stream while tools/call" in report.fault["message"]


NOT_OLDER: dict[str, Script] = {
    "no stream either": says(refusal("404 Not Found")),
    "a stream that names nothing": hangs_up_after(EVENTS),
    "nothing at all": hangs_up_after(),
}


@pytest.mark.parametrize("name", NOT_OLDER)
def test_without_the_older_transport_the_first_refusal_is_reported(
    name: str, tmp_path: Path
) -> None:
    with RawHttp(on("GET", NOT_OLDER[name], says(refusal("404 Not Found")))) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (3, "http_status")
    assert "refused initialize with status 404" in report.fault["message"]
    assert "those of the older transport of two endpoints at /sse" in report.fault["hint"]
    assert "/mcp" not in report.fault["hint"]


def test_a_stream_that_never_names_the_endpoint_ends_by_the_limit(tmp_path: Path) -> None:
    with RawHttp(on("GET", holds_after(EVENTS), says(refusal("404 Not Found")))) as server:
        report = with_config(tmp_path, server.url, startupTimeout=400)
    assert (report.status, report.fault["kind"]) == (3, "handshake_timeout")
    assert "has not named the endpoint for messages" in report.story


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (good, "event_stream"),
        (on("GET", hangs_up_after()), "http_body"),
        (on("GET", hangs_up_after(EVENTS)), "event_stream"),
    ],
)
def test_the_older_transport_that_is_requested_and_missing_is_reported(
    script: Script, kind: str, tmp_path: Path
) -> None:
    with RawHttp(script) as server:
        report = with_config(tmp_path, server.url, transport="sse")
    assert (report.status, report.fault["kind"]) == (3, kind)


# Proxies


def test_loopback_never_goes_through_a_proxy(tmp_path: Path) -> None:
    with RawHttp() as proxy, RawHttp() as server:
        report = run_over_http(
            tmp_path, server.url, HTTP_PROXY=proxy.url, http_proxy=proxy.url, ALL_PROXY=proxy.url
        )
    report.assert_spotless()
    assert proxy.connections == 0


def test_other_servers_go_through_the_proxy_with_their_whole_url(tmp_path: Path) -> None:
    with RawHttp() as proxy:
        url = f"http://user:pass%20word@127.0.0.1:{proxy.port}"
        report = run_over_http(tmp_path, "http://nobody.invalid/mcp", HTTP_PROXY=url)
    report.assert_spotless()
    first = proxy.asked[0]
    assert (first.target, first.headers["host"]) == ("http://nobody.invalid/mcp", "nobody.invalid")
    assert first.headers["proxy-authorization"] == "Basic dXNlcjpwYXNzIHdvcmQ="


def test_a_proxy_that_makes_no_connection_is_reported_as_such(tmp_path: Path) -> None:
    with RawHttp(says(refusal("403 Forbidden"))) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        report = run_over_http(tmp_path, "https://nobody.invalid/mcp", HTTPS_PROXY=url)
    assert (report.status, report.fault["kind"]) == (3, "connect_failed")
    assert "the proxy refused the connection (status 403)" in report.fault["message"]
    assert [(asked.method, asked.target) for asked in proxy.asked] == [
        ("CONNECT", "nobody.invalid:443")
    ]


def test_a_proxy_that_cannot_be_used_is_a_bad_invocation(tmp_path: Path) -> None:
    report = run_over_http(tmp_path, "http://nobody.invalid/mcp", HTTP_PROXY="socks5://a:1")
    assert report.status == 2
    assert "the proxy in the environment cannot be used" in report.members["error"]["message"]


# A server that we start


def started(mode: str = "good", **options: Any) -> ServerSpec:
    """The program that serves HTTP, on a port that is chosen for it."""
    defaults: dict[str, Any] = {
        "name": mode,
        "command": (sys.executable, "-S", "-E", RAW_HTTP, "{port}", mode),
        "http": HttpSpec(url="http://127.0.0.1:{port}/mcp"),
        "startup_timeout_s": LONG_S,
        "timeout_s": LONG_S,
    }
    return ServerSpec(**(defaults | options))


@pytest.mark.parametrize("mode", ["good", "streams"])
def test_a_server_that_is_started_leaves_nothing_behind(mode: str) -> None:
    """Neither process nor descriptor: `perform` insists on that."""
    perform(started(mode), echo(), echo("b", id=2)).assert_spotless()


def test_a_server_with_a_single_thread_is_not_blocked_while_it_logs() -> None:
    """An idle connection is closed although something arrives on stderr again and again."""
    report = perform(started("serial", timeout_s=4.0), echo(), echo("b", id=2))
    assert report.statuses == ["passed", "passed"]


def test_a_server_that_hangs_leaves_nothing_behind_either() -> None:
    report = perform(started("hangs", timeout_s=0.3))
    assert (report.status, report.fault["kind"]) == (1, "timeout")


def test_a_server_that_ends_during_a_call_is_reported_with_its_last_output() -> None:
    report = perform(started("exits"))
    assert (report.status, report.fault["kind"]) == (1, "exited_during_call")
    assert "exit status 3" in report.fault["message"]
    assert report.fault["stderr_tail"] == "out of memory"


def test_the_end_of_its_process_seen_while_sending_ends_the_wait() -> None:
    """No poll reports it a second time, and the wait for an answer must not continue without it."""
    with stage() as launcher:
        transport = HttpTransport(started("exits"), launcher.guardian, launcher.interrupts)
        assert transport.open(time.monotonic() + LONG_S) is None
        assert transport.process
        os.kill(transport.process.pid, signal.SIGKILL)
        assert transport.process.wait_for_exit(time.monotonic() + LONG_S)
        began = time.monotonic()
        assert transport.receive(began + LONG_S) == []
        assert transport.is_closed
        assert time.monotonic() < began + LONG_S
        transport.end(launcher.grace)


def test_a_server_that_ends_after_its_answer_has_answered() -> None:
    """Also when most of the answer is still on its way."""
    report = perform(started("answers-and-exits"), echo("x" * 8_000_000))
    assert report.statuses == ["passed"]


def test_a_server_that_floods_is_bounded_by_the_budget_of_a_call() -> None:
    report = perform(started("floods", limits=Limits(max_messages_per_call=500)))
    assert (report.status, report.fault["kind"]) == (1, "output_budget")
    size = started("floods", limits=Limits(max_bytes_per_call=100_000))
    assert perform(size).fault["kind"] == "output_budget"


@pytest.mark.parametrize(
    ("command", "kind", "words"),
    [
        (("false",), "exited_early", "before it listened at the address of the URL"),
        (("sleep", "600"), "handshake_timeout", "does not listen at 127.0.0.1:"),
        (("/nonexistent/server",), "spawn_failed", "/nonexistent/server"),
    ],
)
def test_a_server_that_never_listens_is_reported(
    command: tuple[str, ...], kind: str, words: str
) -> None:
    report = perform(started(command=command, startup_timeout_s=0.5))
    assert (report.status, report.fault["kind"]) == (3, kind)
    assert words in report.fault["message"]


def test_a_stranger_on_the_port_is_not_tested_in_its_place(tmp_path: Path) -> None:
    with RawHttp() as stranger:
        words = ("--server-command", f"{sys.executable} {RAW_HTTP} {stranger.port}")
        report = run_over_http(tmp_path, stranger.url, words=words)
    assert (report.status, report.fault["kind"]) == (3, "spawn_failed")
    assert "something listens at" in report.fault["message"]
    assert stranger.asked == []


def test_a_server_that_may_not_be_ours_is_tested_with_a_note() -> None:
    """As in a container: who listens has not the mark that what we start has."""
    ours = started()
    report = perform(ours.but(command=("env", "-i", *ours.command)))
    assert report.statuses == ["passed"]
    assert list(report.findings) == ["foreign_listener"]


# Ending


def test_an_interrupt_ends_a_call_that_hangs(tmp_path: Path) -> None:
    def hangs(asked: Asked, line: Line) -> None:
        server.heard.set()
        line.wait_for_the_end()

    with (
        RawHttp(on(CALL, hangs)) as server,
        subprocess.Popen(
            words_for(tmp_path, server.url),
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        try:
            assert server.heard.wait(20)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert json.loads(out)["interrupted"] is True


def loaded_by(words: list[str], folder: Path) -> set[str]:
    """The modules that a run has loaded by its end."""
    driver = (
        "import sys; from mcptest.cli.main import main\n"
        f"status = main({words!r})\n"
        "sys.stderr.write(' '.join(sys.modules)); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", driver],
        cwd=folder,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return set(done.stderr.decode().split())


OF_THE_NETWORK = {"socket", "_socket", "ssl", "_ssl", "h11", "http.client", "urllib.request"}


def test_a_run_on_pipes_cannot_open_a_socket(tmp_path: Path) -> None:
    """Row 143: it has not even loaded what sockets are made with."""
    words_for(tmp_path, "unused")
    fault_server = Path(RAW_HTTP).with_name("fault_server.py")
    command = f"{sys.executable} -S -E {fault_server} good"
    words = ["run", "a.test.mcp.yml", "--server-command", command]
    assert loaded_by(words, tmp_path) & OF_THE_NETWORK == set()
