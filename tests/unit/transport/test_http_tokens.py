"""What every request says of us: fixed headers, or a token that is fetched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest
from case_tables import each_case

from mcptest.core.plan import HttpSpec, OAuthSpec
from mcptest.core.secrets import LEARNED, redactor
from mcptest.protocol.http_address import parse_url
from mcptest.protocol.oauth import OAuthError
from mcptest.transport.http.authorization import Credentials, Fetched

if TYPE_CHECKING:
    from mcptest.transport.http.client import HttpRequest

OAUTH = OAuthSpec(
    token_url="https://auth.example/token",
    client_id="us:er",
    client_secret="s3 cret",
    scope="tools",
)


@pytest.fixture(autouse=True)
def _nothing_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret learned here must not affect other tests."""
    monkeypatch.setattr(LEARNED, "secrets", ())


def fixed(**headers: str) -> Credentials:
    return Credentials(HttpSpec(url="http://a/", headers=headers), parse_url("http://a/"))


def fetching(oauth: OAuthSpec = OAUTH) -> Credentials:
    spec = HttpSpec(url="http://a/", oauth=oauth, headers={"X-Key": "k"})
    return Credentials(spec, parse_url(spec.url))


def token_request(credentials: Credentials) -> HttpRequest:
    return next(credentials.obtain())


def take(credentials: Credentials, status: int, raw: bytes) -> str:
    """Give the answer to the request for a token; why it is of no use, or ""."""
    steps = credentials.obtain()
    next(steps)
    try:
        steps.send(Fetched(status=status, body=raw))
    except StopIteration:
        return ""
    except OAuthError as error:
        return error.message
    raise AssertionError("there is a further request")


def body(**members: object) -> bytes:
    return json.dumps({"access_token": "t1", "token_type": "Bearer"} | members).encode()


def test_headers_alone_are_ready_at_once() -> None:
    credentials = fixed(Authorization="Bearer x")
    assert credentials.is_ready
    assert not credentials.take_refusal(401, {})
    assert credentials.headers() == {"Authorization": "Bearer x"}


def test_a_token_is_asked_for_with_our_own_credentials() -> None:
    request = token_request(fetching())
    assert (request.method, request.address.url) == ("POST", OAUTH.token_url)
    headers = dict(request.headers)
    assert headers["Authorization"] == "Basic dXMlM0FlcjpzMytjcmV0"
    assert parse_qs(request.body.decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["tools"],
    }
    assert (
        b"resource=https%3A%2F%2Fa%2F"
        in token_request(fetching(OAUTH.but(resource="https://a/"))).body
    )


def test_a_fetched_token_is_sent_with_every_request() -> None:
    credentials = fetching()
    was_ready = credentials.is_ready
    assert take(credentials, 200, body()) == ""
    assert (was_ready, credentials.is_ready) == (False, True)
    assert credentials.headers() == {"X-Key": "k", "Authorization": "Bearer t1"}


@each_case(
    ("status", "raw", "words"),
    [
        (401, b'{"error": "invalid_client"}', "status 401"),
        (400, b'{"error": "x", "error_description": "who\\u001b are you"}', "who"),
        (200, b"{}", "status 200"),
        (200, b"<html>t1", "the body is not a JSON object"),
        (200, b'{"access_token": "t1", "expires_in": 1e999}', "the body is not a JSON object"),
        (201, body(), "which is to be 200"),
        (400, body(error={"access_token": "t1"}), "which is to be 200"),
        (200, b"", "no token could be fetched"),
        (200, body(access_token="a b"), "no token could be fetched"),
        (200, body(access_token="a\r\nX: y"), "no token could be fetched"),
        (200, body(access_token=""), "no token could be fetched"),
        (200, body(access_token=7), "no token could be fetched"),
        (200, b"\xff", "no token could be fetched"),
    ],
)
def test_an_answer_without_a_token_that_can_be_sent_says_why(
    status: int, raw: bytes, words: str
) -> None:
    credentials = fetching()
    problem = take(credentials, status, raw)
    assert words in problem
    assert "\x1b" not in problem
    assert "t1" not in problem
    assert not credentials.is_ready


@pytest.mark.parametrize("status", [200, 400])
def test_every_fetched_token_is_blanked_from_then_on(status: int) -> None:
    redact = redactor([])
    before = redact("fetched-1 refreshing-1")
    take(fetching(), status, body(access_token="fetched-1", refresh_token="refreshing-1"))
    take(fetching(), status, body(access_token="fetched-2"))
    assert before == "fetched-1 refreshing-1"
    assert redact("fetched-1 refreshing-1 fetched-2") == "[secret] [secret] [secret]"


def test_credentials_sent_for_a_token_are_blanked() -> None:
    basic = dict(token_request(fetching()).headers)["Authorization"]
    assert redactor([])(basic) == "Basic [secret]"


def test_an_error_that_is_cut_shows_no_half_of_a_secret() -> None:
    said = "x" * 185 + "canary-0123456789-abcdef"
    problem = take(fetching(), 400, json.dumps({"error": said}).encode())
    shown = redactor(["canary-0123456789-abcdef"])(problem)
    assert ("xxx" in shown, "canary" in shown) == (True, False)


def test_an_infinite_lifetime_is_not_an_error() -> None:
    credentials = fetching()
    raw = b'{"access_token": "t1", "expires_in": 1' + b"0" * 400 + b"}"
    assert take(credentials, 200, raw) == ""
    assert credentials.is_ready


def test_a_refused_token_is_fetched_again_once() -> None:
    credentials = fetching()
    take(credentials, 200, body())
    assert credentials.take_refusal(401, {})
    assert not credentials.is_ready
    take(credentials, 200, body())
    assert not credentials.take_refusal(401, {})
    credentials.take_success()
    assert credentials.take_refusal(401, {})


@pytest.mark.parametrize(
    ("lasts", "now", "is_ready"),
    [(60, 49.0, True), (60, 51.0, False), (1, 0.5, True), (None, 1e9, True), ("soon", 1e9, True)],
)
def test_a_token_is_fetched_again_before_it_expires(
    lasts: object, now: float, is_ready: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    credentials = fetching()
    take(credentials, 200, body(expires_in=lasts))
    clock[0] = now
    assert credentials.is_ready is is_ready
