"""Secrets of the client are shown nowhere, and blanked values of a recording match anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case
from stage import Stage, a_case, cases, contract, manifest

from mcptest.core.results import Mismatch
from mcptest.core.secrets import is_secret
from mcptest.core.value_class import ABSENT
from mcptest.mock.respond import respond_to_noise
from mcptest.mock.session import (
    HIDDEN,
    hide_mismatch_secrets,
    hide_secrets,
    redact_line,
    render_report,
    render_summary,
)
from mcptest.protocol.framing import Noise

SECRET = "hunter2-xyz"

LOGIN = a_case("Logs in", "{name: login, arguments: {user: ada, password: right-one}}", "welcome")


def everything(stage: Stage, error: Any) -> str:
    """The whole report about a session, in one text."""
    return json.dumps(error) + render_report(stage.report) + render_summary(stage.report)


def refused(stage: Stage, tool: str, **arguments: Any) -> str:
    error = stage.error("tools/call", {"name": tool, "arguments": arguments})
    return everything(stage, error)


@pytest.mark.parametrize(
    "arguments",
    [
        {"user": "ada", "password": SECRET},
        {"user": "bob", "password": "right-one", "apiKey": SECRET},
        {"user": {"credentials": {"of": SECRET}}, "password": "right-one"},
        {"user": "ada", "password": [SECRET]},
        {"user": f"Bearer {SECRET}", "password": "right-one"},
        {"nested": [{"access_token": SECRET}]},
        {"auth": {"Authorization": f"Basic {SECRET}"}},
    ],
)
def test_a_secret_of_the_client_is_in_no_answer_and_no_report(arguments: Any) -> None:
    message = refused(contract(LOGIN), "login", **arguments)
    assert SECRET not in message
    assert HIDDEN in message


def test_values_that_are_not_secret_are_shown_beside_a_secret() -> None:
    stage = contract(LOGIN)
    message = refused(stage, "login", user="bob", password=SECRET)
    assert "differs, expected 'ada', got 'bob'" in message or '"bob"' in message
    paths = [each["path"] for each in stage.report.wrong[0].differences]
    assert paths == ["params.arguments.user", "params.arguments.password"]


def test_a_secret_in_an_answer_of_the_client_is_not_shown() -> None:
    text = (
        "in: {jsonrpc: '2.0', id: 1, method: go}\n"
        "out_q: {jsonrpc: '2.0', id: 7, method: elicitation/create}\n"
        "in_a: {jsonrpc: '2.0', id: 7, result: {content: {password: !!re '^x'}}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )
    stage = contract(text)
    stage.send({"jsonrpc": "2.0", "id": 1, "method": "go"})
    (answer,) = stage.reply(7, {"content": {"password": SECRET}})
    assert SECRET not in everything(stage, answer)


def test_a_secret_that_was_bound_before_is_not_shown_as_expected_value() -> None:
    sets = a_case("Sets", "{name: set, arguments: {password: !!bind p}}", "ok")
    uses = a_case("Uses", "{name: use, arguments: {password: !!ref p}}", "ok")
    stage = contract(cases(sets, uses))
    stage.call("set", password=SECRET)
    assert SECRET not in refused(stage, "use", password="wrong")


MANIFEST = """
tools:
  - name: login
    inputSchema:
      type: object
      properties: {password: {type: string, pattern: '^x'}, pwd: {type: string}, n: {type: integer}}
    answer: ok
  - name: choose
    answers: [{when: {token: abc}, answer: ok}]
"""


@pytest.mark.parametrize("value", [SECRET, [SECRET], {"of": SECRET}])
def test_a_manifest_tells_no_secret_either(value: object) -> None:
    assert SECRET not in refused(manifest(MANIFEST), "login", password=value)
    assert SECRET not in refused(manifest(MANIFEST), "choose", token=SECRET)


def test_a_manifest_tells_what_else_is_wrong_with_the_arguments() -> None:
    assert "n: " in refused(manifest(MANIFEST), "login", password=f"x{SECRET}", n="many")


def test_a_manifest_says_that_what_is_wrong_is_hidden() -> None:
    message = refused(manifest(MANIFEST), "login", pwd=1234567)
    assert "a hidden value" in message
    assert "1234567" not in message


@pytest.mark.parametrize(
    "line", ['{"password": "hunter2-xyz"', "Authorization: Bearer hunter2-xyz", "token=hunter2-xyz"]
)
def test_a_line_that_is_not_a_message_is_not_quoted_when_it_may_hold_a_secret(line: str) -> None:
    stage = contract(LOGIN)
    respond_to_noise(stage.session, noise(line))
    assert SECRET not in everything(stage, None)


def test_another_line_that_is_not_a_message_is_quoted() -> None:
    assert redact_line('{"user": "ada"') == '{"user": "ada"'


def noise(line: str) -> Noise:
    return Noise(raw=line.encode(), size=len(line), reason="is no JSON", line=1)


# What is a secret

KEYS = [
    *("password", "userPassword", "PASSWORD", "db_passwd", "pwd", "passphrase", "api_key"),
    *("apiKey", "apikey", "X-API-Key", "access-key", "private_key", "authKey", "secret"),
    *(
        "client_secret",
        "credentials",
        "credential",
        "Authorization",
        "token",
        "accessToken",
        "tokens",
    ),
]
OTHERS = [
    *("user", "name", "key", "progressToken", "nextToken", "page_token", "syncToken"),
    *("max_tokens", "author", "monkey", "", "continuationToken"),
]


@each_case("key", KEYS)
def test_values_blanked_in_a_recording_are_hidden_here(key: str) -> None:
    assert is_secret(key, SECRET)
    assert hide_secrets({key: SECRET}) == {key: HIDDEN}


@each_case("key", OTHERS)
def test_values_kept_in_a_recording_are_reported_here(key: str) -> None:
    assert not is_secret(key, SECRET)
    assert hide_secrets({key: SECRET}) == {key: SECRET}


@pytest.mark.parametrize("value", [None, True, "", [], {}])
def test_a_common_value_is_not_a_secret(value: object) -> None:
    assert hide_secrets({"password": value}) == {"password": value}


def test_a_difference_without_secrets_stays_as_it_is() -> None:
    found = Mismatch(path="params.a", expected=1, actual=ABSENT, message="is missing", hint="b")
    assert hide_mismatch_secrets(found) is found


def test_a_difference_with_a_secret_loses_whatever_might_quote_it() -> None:
    found = Mismatch(
        path='params["api key"].of',
        expected="!!re x",
        actual=SECRET,
        message=f"{SECRET} does not match",
        hint=f"it is {SECRET}",
    )
    assert hide_mismatch_secrets(found) == Mismatch(
        path='params["api key"].of', expected=HIDDEN, actual=HIDDEN, message="differs"
    )


# What a recording has blanked out


@pytest.mark.parametrize("blank", ["REDACTED", "'[secret]'"])
@pytest.mark.parametrize("value", [SECRET, "", 7, {"a": 1}])
def test_a_blanked_value_matches_anything(blank: str, value: object) -> None:
    stage = contract(a_case("Logs in", f"{{name: login, arguments: {{password: {blank}}}}}", "in"))
    assert stage.call("login", password=value) == "in"


def test_a_blanked_value_must_be_present() -> None:
    stage = contract(a_case("Logs in", "{name: login, arguments: {password: REDACTED}}", "in"))
    error = stage.error("tools/call", {"name": "login"})
    assert [each["path"] for each in error["data"]["differences"]] == ["params.arguments.password"]


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        (f"https://h/?key={SECRET}&a=1", True),
        ("https://h/?key=&a=1", True),
        (f"https://h/?key={SECRET}\n&a=1", True),
        (f"https://h/?key={SECRET}&a=2", False),
        (f"http://h/?key={SECRET}&a=1", False),
        (f"https://h/?key={SECRET}&a=1\n", False),
    ],
)
def test_around_what_was_blanked_out_a_text_is_as_it_is_written(url: str, fits: bool) -> None:
    text = a_case("Gets", "{name: get, arguments: {url: 'https://h/?key=REDACTED&a=1'}}", "got")
    params = {"name": "get", "arguments": {"url": url}}
    assert ("result" in contract(text).ask("tools/call", params)) == fits


def test_in_an_answer_of_the_server_it_is_a_text_like_any_other() -> None:
    assert contract(a_case("Tells", "{name: tell}", "REDACTED")).call("tell") == "REDACTED"
