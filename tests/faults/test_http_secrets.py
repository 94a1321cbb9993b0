"""No secret is shown, whichever side sends it over HTTP, and blanking changes no verdict."""

from __future__ import annotations

import base64
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from certificates import Authority
from http_runs import ENVIRONMENT, run, run_over_http, with_config, write_suite
from raw_http import (
    EVENTS,
    RawHttp,
    answer,
    as_json,
    good,
    hangs_up_after,
    holds_after,
    on,
    refusal,
    says,
)
from staging import Report, echo

if TYPE_CHECKING:
    from raw_http import Asked, Line, Script

CALL = "tools/call"
SERVERS = Path(__file__).parent.parent / "servers"
SECRET = "canary-0123456789-abcdefghij-KLMNOPQRST"
WORDS = ("--header-env", "X-Api-Key=KEY")


def shown(report: Report) -> str:
    return json.dumps(report.members)


# Quotes that are cut

LONG = b"x" * 171 + SECRET.encode() + b"x" * 20


@pytest.mark.long
@pytest.mark.parametrize(
    "script",
    [
        says(refusal("403 Forbidden", LONG)),
        says(answer(b'{"a": ' + LONG)),
        says(answer(LONG, kind="text/plain")),
        says(EVENTS + b"data: " + LONG + b"\n\n"),
    ],
    ids=["status", "no JSON", "no type", "event"],
)
def test_half_a_secret_where_a_quote_is_cut_is_not_shown(script: Script, tmp_path: Path) -> None:
    with RawHttp(on(CALL, script)) as server:
        test = {**echo(), "timeout": 3000}
        report = run_over_http(tmp_path, server.url, test, words=WORDS, KEY=SECRET)
    assert report.status == 1
    assert "xxxx" in shown(report)
    assert SECRET[:12] not in shown(report)


def test_the_name_of_a_header_may_hold_what_http_allows(tmp_path: Path) -> None:
    with RawHttp() as server:
        words = ("--header-env", "X_Api.Key=KEY")
        report = run_over_http(tmp_path, server.url, words=words, KEY=SECRET)
    report.assert_spotless()
    assert server.asked[0].headers["x_api.key"] == SECRET


# Tokens


class Issuer:
    """A server that gives out tokens at /token, and does as its script says with the rest."""

    def __init__(self, token: str = "") -> None:
        self.tokens: list[str] = []
        # Those that a client has shown.
        self.used: list[str] = []
        self.script: Script = good
        self._token = token

    def __call__(self, asked: Asked, line: Line) -> None:
        if asked.target != "/token":
            self.used.append(asked.headers["authorization"].removeprefix("Bearer "))
            self.script(asked, line)
            return
        self.tokens.append(self._token or f"issued-{len(self.tokens)}-{SECRET}")
        line.send(as_json({"access_token": self.tokens[-1], "token_type": "Bearer"}))

    def tells_all(self, asked: Asked, line: Line) -> None:
        """Answers a call with every token so far."""
        content = [{"type": "text", "text": "seen: " + " ".join(dict.fromkeys(self.used))}]
        found = {"jsonrpc": "2.0", "id": asked.message["id"], "result": {"content": content}}
        line.send(as_json(found))


def auth(port: int, scheme: str = "http") -> dict[str, Any]:
    grant = {
        "tokenUrl": f"{scheme}://127.0.0.1:{port}/token",
        "clientId": "us",
        "clientSecretEnv": "CLIENT_SECRET",
    }
    return {"clientCredentials": grant}


@pytest.fixture(autouse=True)
def _client_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "CLIENT_SECRET", "the-secret-of-the-client")


def test_a_token_in_the_stderr_of_a_server_that_we_start_is_not_shown(tmp_path: Path) -> None:
    program = str(SERVERS / "raw_http.py")
    with RawHttp(Issuer()) as issuer:
        report = with_config(
            tmp_path,
            "http://127.0.0.1:{port}/mcp",
            command=sys.executable,
            args=["-S", "-E", program, "{port}", "betrays"],
            auth=auth(issuer.port),
        )
    assert "I was told Bearer [secret]" in shown(report)
    assert "canary" not in shown(report)


@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
def test_a_token_of_an_earlier_session_is_not_shown_either(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    issuer = Issuer()
    issuer.script = on(CALL, issuer.tells_all)
    with RawHttp(issuer) as server:
        write_suite(tmp_path, echo(), echo("b", id=2))
        suite = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
        (tmp_path / "b.test.mcp.yml").write_text(suite, encoding="utf-8")
        config = {"name": "s", "url": server.url, "isolation": "test", "auth": auth(server.port)}
        (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
        command = [sys.executable, "-m", "mcptest", "run", ".", "--json", *words]
        report = run(tmp_path, command)
    assert len(issuer.tokens) > 2
    assert report.statuses == ["failed"] * 4
    assert "seen: [secret] [secret]" in shown(report)
    assert "canary" not in shown(report)


def test_a_token_that_a_test_names_by_chance_changes_no_verdict(tmp_path: Path) -> None:
    with RawHttp(Issuer(token="hello")) as server:
        report = with_config(tmp_path, server.url, echo("hello world"), auth=auth(server.port))
    assert report.statuses == ["passed"]


@pytest.mark.parametrize(
    "script",
    [
        says(as_json({"access_token": SECRET}, "201 Created")),
        says(answer(b'{"access_token": "' + SECRET.encode() + b'", "expires_in": 1e999}')),
        says(as_json({"access_token": f"a {SECRET}"})),
    ],
    ids=["status", "no strict JSON", "not sendable"],
)
def test_an_answer_without_a_token_is_not_quoted(script: Script, tmp_path: Path) -> None:
    with RawHttp(script) as server:
        report = with_config(tmp_path, server.url, auth=auth(server.port))
    assert (report.status, report.fault["kind"]) == (3, "auth_failed")
    assert "no token could be fetched" in report.fault["message"]
    assert "canary" not in shown(report)


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "message"),
    [
        (says(), "no answer within 1.35 s"),
        (holds_after(b"HTTP/1.1 200 OK\r\n"), "no answer within 1.35 s"),
        (says(as_json({"access_token": "x"})[:-5]), "no answer within 1.35 s"),
        (hangs_up_after(), "the server closed the connection without an answer"),
        (
            says(answer(b"<html>Log in</html>", kind="text/html")),
            "status 200, and the body is not a JSON object",
        ),
        (says(as_json({"error": "invalid_client"}, "401 Unauthorized")), 'status 401, "invalid_'),
    ],
    ids=["silent", "half a head", "half a body", "hangs up", "page", "error"],
)
def test_a_failing_token_endpoint_is_named_and_not_the_server(
    script: Script, message: str, tmp_path: Path
) -> None:
    """The server itself is never asked anything, so it is not blamed either."""
    grant = auth(0)
    with RawHttp(script) as issuer, RawHttp() as server:
        grant["clientCredentials"]["tokenUrl"] = f"http://127.0.0.1:{issuer.port}/token?key=canary"
        report = with_config(tmp_path, server.url, startupTimeout=1500, auth=grant)
    assert (report.status, report.fault["kind"]) == (3, "auth_failed")
    place = f"http://127.0.0.1:{issuer.port}/token"
    assert report.fault["message"].startswith(f"no token could be fetched at {place}: {message}")
    assert "initialize" not in report.fault["message"]
    assert "canary" not in shown(report)
    assert server.asked == []


def test_a_slow_token_endpoint_is_waited_for(tmp_path: Path) -> None:
    def late(asked: Asked, line: Line) -> None:
        time.sleep(1.0)
        line.send(as_json({"access_token": "issued", "token_type": "Bearer"}))

    with RawHttp(late) as issuer, RawHttp() as server:
        report = with_config(tmp_path, server.url, startupTimeout=8000, auth=auth(issuer.port))
    assert report.statuses == ["passed"]


def test_trust_in_the_server_does_not_extend_to_the_token_endpoint(tmp_path: Path) -> None:
    tls = Authority(tmp_path).server("other.example")
    with RawHttp(Issuer(), tls=tls) as issuer, RawHttp(tls=tls) as server:
        report = with_config(
            tmp_path, server.url, insecureTls=True, auth=auth(issuer.port, "https")
        )
    assert (report.status, report.fault["kind"]) == (3, "auth_failed")
    assert f"the certificate of 127.0.0.1:{issuer.port} is not valid" in report.fault["message"]
    assert (issuer.asked, server.asked) == ([], [])


def test_a_token_endpoint_on_the_server_itself_is_trusted_like_it(tmp_path: Path) -> None:
    tls = Authority(tmp_path).server("other.example")
    with RawHttp(Issuer(), tls=tls) as server:
        report = with_config(
            tmp_path, server.url, insecureTls=True, auth=auth(server.port, "https")
        )
    assert report.statuses == ["passed"]


# Proxies


def test_credentials_that_a_proxy_gives_back_are_not_shown(tmp_path: Path) -> None:
    def gives_back(asked: Asked, line: Line) -> None:
        said = asked.headers["proxy-authorization"]
        pair = base64.b64decode(said.split()[1]).decode()
        line.send(refusal("407 Proxy Authentication Required", f"no: {said} {pair}".encode()))

    with RawHttp(gives_back) as proxy:
        url = f"http://canary-user:canary%20word@127.0.0.1:{proxy.port}"
        report = run_over_http(tmp_path, "http://nobody.invalid/mcp", HTTP_PROXY=url)
    assert "status 407" in report.fault["message"]
    assert "[secret]" in shown(report)
    basic = base64.b64encode(b"canary-user:canary word").decode()
    assert basic not in shown(report)
    assert "canary" not in shown(report)


def test_credentials_of_a_proxy_may_be_any_bytes(tmp_path: Path) -> None:
    with RawHttp() as proxy:
        url = f"http://us\udcff:p%FE@127.0.0.1:{proxy.port}"
        report = run_over_http(tmp_path, "http://nobody.invalid/mcp", HTTP_PROXY=url)
    report.assert_spotless()
    said = proxy.asked[0].headers["proxy-authorization"].split()[1]
    assert base64.b64decode(said) == b"us\xff:p\xfe"


# Refusals that cannot be read


def test_a_refusal_whose_body_is_packed_is_a_refusal(tmp_path: Path) -> None:
    packed = refusal("401 Unauthorized", b"\x1f\x8b", Content_Encoding="gzip")
    with RawHttp(says(packed)) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (3, "auth_failed")
    assert report.fault["message"].endswith("with status 401 and a body packed as 'gzip'")
