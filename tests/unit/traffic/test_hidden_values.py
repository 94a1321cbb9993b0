"""No recorded secret is in a contract."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case
from traffic_samples import call, cases_of, contract, request, result

from mcptest.core.secrets import is_secret
from mcptest.core.text import render_path


def only_case(*said: tuple[str, Any], keep_values: bool = False) -> dict[str, Any]:
    (found,) = cases_of(contract(*said, keep_values=keep_values).text).values()
    return found


@pytest.mark.slow
@each_case(
    "key",
    [
        *("password", "userPassword", "db_password", "passwd", "secret", "client_secret", "apiKey"),
        *("api_key", "API-KEY", "X-Api-Key", "authorization", "Authorization", "credentials"),
        *("token", "accessToken", "refresh_token", "private_key", "passphrase", "tokens"),
        *("secrets", "passwords", "apikeys", "cookie", "Set-Cookie", "jwt", "bearer", "auth"),
        *("tokenValue", "access_key", "ACCESSKEY", "pin", "otp", "session_token", "accesstoken"),
        *("password2", "pass_word", "pass"),
    ],
)
@each_case("keep_values", [False, True])
def test_a_secret_is_any_value_in_an_answer_and_in_a_request(key: str, keep_values: bool) -> None:
    said = [("in", call(1, **{key: "hunter2"})), ("out", result(1, **{key: "swordfish"}))]
    made = contract(*said, keep_values=keep_values)
    found = only_case(*said, keep_values=keep_values)
    assert found["in"]["params"]["arguments"] == {key: "!!any"}
    assert found["out"]["result"] == {key: "!!any"}
    place = render_path(("params", "arguments", key))
    assert made.notes == (
        f"tools/call get_time: {place} holds a secret; a made-up string is sent instead",
        f"tools/call get_time: {render_path(('result', key))} holds a secret, which is left out "
        "and not checked",
    )


@each_case(
    ("key", "value"),
    [
        ("progressToken", "abc"),
        ("nextPageToken", "abc"),
        ("maxTokens", 5),
        ("max_tokens", "5"),
        ("maxtokens", 5),
        ("tokens", 512),
        ("tokenCount", 5),
        ("token_type", "bearer"),
        ("nextCursor", "abc"),
        ("author", "Ann"),
        ("authors", "Ann"),
        ("secretary", "Ann"),
        ("password_policy", "8 characters"),
        ("pass", 5),
        ("pins", "abc"),
        ("", "abc"),
        ("password", ""),
        ("password", None),
        ("secret", False),
        ("password", "REDACTED"),
        ("keyboard", "abc"),
        ("name", "password"),
    ],
)
def test_a_value_that_is_not_a_secret_stays(key: str, value: object) -> None:
    assert not is_secret(key, value)


def test_secrets_inside_a_credential_are_hidden_one_by_one() -> None:
    inner = {"user": "alice", "parts": ["x1234", 5], "ok": True, "none": None}
    found = only_case(("in", call(1, credentials=inner)), ("out", result(1, credentials=inner)))
    assert found["in"]["params"]["arguments"]["credentials"] == {
        "user": "!!any",
        "parts": ["!!any", "!!any"],
        "ok": True,
        "none": None,
    }
    assert found["out"]["result"] == {"credentials": "!!any"}


def test_an_authorization_is_hidden_under_any_key() -> None:
    found = only_case(
        ("in", call(1, header="Bearer abc.def")), ("out", result(1, said="Basic eDp5"))
    )
    assert found["in"]["params"]["arguments"] == {"header": "!!any"}
    assert found["out"]["result"] == {"said": "!!any"}


@pytest.mark.parametrize("keep_values", [False, True])
def test_a_secret_is_hidden_wherever_else_it_occurs(keep_values: bool) -> None:
    said = [
        ("in", call(1, password="hunter2", note="mine is hunter2", hunter2=1)),
        (
            "out",
            result(1, text="hello hunter2!", hunter2="x", all="hunter2", description="hunter2"),
        ),
    ]
    made = contract(*said, keep_values=keep_values)
    assert "hunter2" not in made.text
    found = only_case(*said, keep_values=keep_values)
    assert found["in"]["params"]["arguments"] == {
        "password": "!!any",
        "note": "mine is REDACTED",
        "REDACTED": 1,
    }
    assert found["out"]["result"] == {
        "text": r'!!ere hello /[^\s"]+/!',
        "all": "!!any",
        "description": "!!any",
    }


def test_a_secret_that_overlaps_with_something_that_varies_leaves_nothing_behind() -> None:
    said = [
        ("in", call(1, secret="05Z-tail")),
        ("out", result(1, text="2026-01-02T03:04:05Z-tail")),
    ]
    assert only_case(*said)["out"]["result"] == {"text": "!!type string"}


def test_short_secrets_are_hidden_only_under_their_keys() -> None:
    said = [("in", call(1, password="test", note="tests")), ("out", result(1, text="a test"))]
    found = only_case(*said)
    assert found["in"]["params"]["arguments"] == {"password": "!!any", "note": "tests"}
    assert found["out"]["result"] == {"text": "a test"}


def test_a_token_that_the_server_issues_and_the_client_uses_is_a_name() -> None:
    said = [
        *(("in", call(1)), ("out", result(1, token="tok-123456"))),
        *(("in", call(2, token="tok-123456")), ("out", result(2, text="ok tok-123456"))),
    ]
    made = contract(*said)
    assert "tok-123456" not in made.text
    (note,) = made.notes
    assert "result.text holds a secret" in note
    first, second = cases_of(made.text).values()
    assert first["out"]["result"] == {"token": "!!bind token"}
    assert second["in"]["params"]["arguments"] == {"token": "!!ref token"}


def test_the_schema_of_a_tool_may_mention_passwords() -> None:
    schema = {"properties": {"password": {"type": "string", "default": "pass"}}}
    tools = [{"name": "login", "inputSchema": schema}]
    said = [("in", request(1, "tools/list", tools=tools)), ("out", result(1, tools=tools))]
    assert only_case(*said)["in"]["params"] == only_case(*said)["out"]["result"] == {"tools": tools}


def test_a_value_blanked_by_an_earlier_run_matches_anything() -> None:
    said = [("in", call(1, key="[secret]")), ("out", result(1, text="key [secret]."))]
    made = contract(*said)
    found = only_case(*said)
    assert found["out"]["result"] == {"text": r"!!ere key /[\s\S]+/."}
    assert found["in"]["params"]["arguments"] == {"key": "[secret]"}
    assert made.notes == (
        "tools/call get_time: params.arguments.key holds [secret], a secret that was blanked when "
        "it was recorded",
    )


def test_a_secret_is_in_no_name_no_comment_and_no_warning() -> None:
    said = [
        ("in", request(1, "resources/read", uri="x://hunter2", password="hunter2")),
        ("out", result(1, text="hunter2 12:34:56")),
        ("in", request(2, "tools/call", name="a", when="12:34:56", hunter2=["Bearer hunter2"])),
        ("out", result(2)),
    ]
    made = contract(*said)
    assert "hunter2" not in "".join((made.text, *made.notes))
    assert list(cases_of(made.text)) == ["resources/read x://REDACTED", "tools/call a"]
