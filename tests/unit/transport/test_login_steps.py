"""The steps of a login that take time, without waiting."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcptest.protocol.http_address import parse_url
from mcptest.protocol.oauth import (
    AuthorizationServer,
    Client,
    DevicePrompt,
    LoginServer,
    OAuthError,
    build_code_challenge,
)
from mcptest.transport.http.authorization import Fetched
from mcptest.transport.http.login import Pause, Prepared, poll_device

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.transport.http.stored_login import Login

URL = "https://shop.example/mcp"
ISSUER = AuthorizationServer(
    issuer="https://login.example", token_endpoint=parse_url("https://login.example/token")
)
PREPARED = Prepared(
    server=LoginServer(known=ISSUER),
    client=Client(id="a client"),
    scope="",
    resource=URL,
    redirect_uri="",
)
TOKEN = {"access_token": "a-token", "token_type": "Bearer"}


def poll(answers: list[Fetched], lasts_s: float = 60.0) -> tuple[list[float], Login]:
    """Poll with these answers; the pauses, and the outcome."""
    clock = [0.0]
    prompt = DevicePrompt(
        device_code="code",
        user_code="CODE",
        url="https://login.example/",
        complete_url="",
        lasts_s=lasts_s,
        interval_s=5.0,
    )
    steps = poll_device(PREPARED, URL, prompt, lambda: clock[0])
    pauses: list[float] = []
    waiting: Iterator[Fetched] = iter(answers)
    try:
        step = next(steps)
        while True:
            if isinstance(step, Pause):
                pauses.append(step.wait_s)
                clock[0] += step.wait_s
                step = steps.send(Fetched())
            else:
                step = steps.send(next(waiting))
    except StopIteration as end:
        return pauses, end.value


def said(error: str) -> Fetched:
    return Fetched(status=400, body=json.dumps({"error": error}).encode())


GIVEN = Fetched(status=200, body=json.dumps(TOKEN).encode())


def test_each_slow_down_adds_five_seconds() -> None:
    answers = [said("authorization_pending"), said("slow_down"), said("slow_down"), GIVEN]
    pauses, login = poll(answers)
    assert pauses == [5.0, 5.0, 10.0, 15.0]
    assert login.access_token == "a-token"


def test_a_code_that_has_expired_is_not_asked_for_again() -> None:
    with pytest.raises(OAuthError, match="the code was not entered in time"):
        poll([said("authorization_pending")] * 2, lasts_s=12.0)


def test_an_answer_that_is_lost_is_asked_for_again_less_often() -> None:
    gone = Fetched(problem="it is gone")
    pauses, login = poll([gone, said("authorization_pending"), gone, gone, GIVEN], lasts_s=200.0)
    assert pauses == [5.0, 10.0, 10.0, 15.0, 20.0]
    assert login.access_token == "a-token"


def test_a_token_endpoint_that_does_not_answer_three_times_ends_it() -> None:
    with pytest.raises(OAuthError, match=r"no token could be fetched at .*: it is gone"):
        poll([Fetched(problem="it is gone")] * 3)


def test_the_challenge_of_pkce_is_the_one_of_the_standard() -> None:
    """The example of RFC 7636, appendix B."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert build_code_challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
