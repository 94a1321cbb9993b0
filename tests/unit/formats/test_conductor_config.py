"""`conductor.config.json`: what each key means, and every mistake with its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from case_tables import each_case

from mcptest.core.errors import FormatError
from mcptest.core.plan import ClientSpec, HttpSpec, Limits, OAuthSpec, ServerSpec
from mcptest.formats.config import KEYS, load_config

if TYPE_CHECKING:
    from mcptest.core.diagnostics import Diagnostic

FILE = "conductor.config.json"
LEAST = {"name": "n", "command": "node", "args": ["a.js"]}
OUT_OF_RANGE = "must be more than 0 and at most 24 hours"


def load(config: object, **environment: str) -> ServerSpec:
    spec, warnings = load_config(json.dumps(config), FILE, environment)
    assert warnings == ()
    return spec


def diagnostics(text: str, **environment: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(FormatError) as caught:
        load_config(text, FILE, environment)
    assert all(found.file == FILE for found in caught.value.diagnostics)
    return caught.value.diagnostics


def mistakes(text: str, **environment: str) -> list[tuple[str, int, int, str]]:
    found = diagnostics(text, **environment)
    return [(each.code, each.line, each.column, each.message) for each in found]


# What it means


def test_the_example_of_the_source_loads_unchanged() -> None:
    """Source 001, part III, section 5."""
    text = """
{
  "name": "Simple Filesystem Server",
  "command": "node",
  "args": ["./examples/simple-fs-server.js"]
}
"""
    spec, warnings = load_config(text, FILE, {})
    assert warnings == ()
    assert spec == ServerSpec(
        name="Simple Filesystem Server",
        command=("node", "./examples/simple-fs-server.js"),
        env={},
    )


def test_missing_keys_have_the_documented_default() -> None:
    spec = load(LEAST)
    assert (spec.cwd, spec.inherit_env, spec.startup_timeout_s, spec.timeout_s) == (
        "",
        True,
        5.0,
        30.0,
    )
    assert (spec.ready_pattern, spec.protocol_version, spec.isolation) == ("", "", "run")


def test_every_key_is_read() -> None:
    config = {
        "name": "n",
        "command": "node",
        "args": ["a", "b c"],
        "cwd": "sub",
        "env": {"A": "1", "B": "x${TOKEN}y"},
        "inheritEnv": False,
        "startupTimeout": 1500,
        "readyPattern": "ready on (?<port>\\d+)",
        "timeout": "2s",
        "protocolVersion": "2025-06-18",
        "isolation": "file",
        "maxLineBytes": 1024,
        "client": {"roots": ["file:///a"]},
        "strictInvariants": True,
        "strict": True,
        "url": "http://127.0.0.1:{port}/mcp",
        "headers": {"X-Key": "${TOKEN}"},
        "auth": {
            "clientCredentials": {
                "tokenUrl": "https://login.example/token",
                "clientId": "us",
                "clientSecretEnv": "TOKEN",
                "scope": "all",
                "resource": "https://shop.example",
            }
        },
        "caFile": "a.pem",
        "insecureTls": True,
        "transport": "sse",
    }
    assert set(config) == set(KEYS)
    assert load(config, TOKEN="s3cret") == ServerSpec(
        name="n",
        command=("node", "a", "b c"),
        cwd="sub",
        env={"A": "1", "B": "xs3crety"},
        inherit_env=False,
        startup_timeout_s=1.5,
        ready_pattern="ready on (?P<port>[0-9]+)",
        timeout_s=2.0,
        protocol_version="2025-06-18",
        isolation="file",
        limits=Limits(max_line_bytes=1024),
        secrets=("s3cret", "s3cret", "s3cret"),
        client=ClientSpec(
            capabilities={"roots": {}},
            answers={"roots/list": {"result": {"roots": [{"uri": "file:///a"}]}}},
        ),
        strict_invariants=True,
        is_strict=True,
        http=HttpSpec(
            url="http://127.0.0.1:{port}/mcp",
            headers={"X-Key": "s3cret"},
            oauth=OAuthSpec(
                token_url="https://login.example/token",
                client_id="us",
                client_secret="s3cret",
                scope="all",
                resource="https://shop.example",
            ),
            ca_file="a.pem",
            insecure_tls=True,
            transport="sse",
        ),
    )


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("npx", 20.0),
        ("uvx", 20.0),
        ("/usr/local/bin/npx", 20.0),
        ("docker", 20.0),
        ("podman", 20.0),
        ("deno", 20.0),
        ("bun", 20.0),
        ("node", 5.0),
        ("./npx-like", 5.0),
    ],
)
def test_a_package_runner_gets_time_to_fetch(command: str, seconds: float) -> None:
    assert load(LEAST | {"command": command}).startup_timeout_s == seconds


def test_a_startup_timeout_that_is_written_wins_over_the_runner() -> None:
    spec = load(LEAST | {"command": "npx", "startupTimeout": 100})
    assert spec.startup_timeout_s == 0.1


def test_a_config_may_be_yaml() -> None:
    spec, _ = load_config("name: n\ncommand: node # here\nargs: []\n", FILE, {})
    assert spec.command == ("node",)


# The environment


def test_values_from_the_environment_are_secrets_and_expanded_once() -> None:
    config = LEAST | {"env": {"A": "${ONE}${TWO}", "B": "$ONE $${ONE}", "C": "plain"}}
    spec = load(config, ONE="${TWO}", TWO="two")
    assert spec.env == {"A": "${TWO}two", "B": "$ONE $${TWO}", "C": "plain"}
    assert spec.secrets == ("${TWO}", "two", "${TWO}")


def test_an_empty_variable_is_set_and_no_secret() -> None:
    spec = load(LEAST | {"env": {"A": "${EMPTY}"}}, EMPTY="")
    assert (spec.env, spec.secrets) == ({"A": ""}, ())


def test_variables_are_expanded_in_env_alone() -> None:
    spec = load(LEAST | {"args": ["${HOME}"], "cwd": "${HOME}"}, HOME="/root")
    assert (spec.command, spec.cwd) == (("node", "${HOME}"), "${HOME}")


def test_variables_with_the_name_of_a_secret_are_expanded_in_args_too() -> None:
    args = ["--api-key=${API_KEY}", "Bearer ${TOKEN}", "${token}", "${API_KEY"]
    spec = load(LEAST | {"args": args}, API_KEY="abc-1", TOKEN="abc-2", token="x")
    assert spec.command[1:] == ("--api-key=abc-1", "Bearer abc-2", "${token}", "${API_KEY")
    assert spec.secrets == ("abc-1", "abc-2")


def test_a_shell_expands_its_arguments_itself() -> None:
    spec = load(LEAST | {"command": "/bin/sh", "args": ["-c", "x ${TOKEN}"]}, TOKEN="abc")
    assert spec.command[1:] == ("-c", "x ${TOKEN}")


def test_a_secret_of_args_that_is_not_set_is_an_error() -> None:
    text = '{"name": "n", "command": "c",\n "args": ["a",\n  "${TOKEN}"]}'
    assert mistakes(text) == [("F016", 3, 3, "the environment variable 'TOKEN' is not set")]


def test_variables_are_expanded_in_a_url() -> None:
    spec = load({"name": "n", "url": "https://a.test/${TOKEN}/mcp"}, TOKEN="abc-1")
    assert spec.http
    assert (spec.http.url, spec.secrets) == ("https://a.test/abc-1/mcp", ("abc-1",))


def test_a_variable_that_is_not_set_is_an_error_for_each_use() -> None:
    text = (
        '{"name": "n", "command": "c", "args": [],\n'
        ' "env": {"A": "${NOPE}",\n'
        '         "B": "x${SET}${}"}}'
    )
    assert mistakes(text, SET="1234") == [
        ("F016", 2, 15, "the environment variable 'NOPE' is not set"),
        ("F016", 3, 15, "the environment variable '' is not set"),
    ]


# Mistakes


@pytest.mark.parametrize(
    ("text", "kind"),
    [("[]", "a list"), ("", "empty"), ("5", "a number"), ("text", "text"), ("null", "empty")],
)
def test_a_config_must_be_an_object(text: str, kind: str) -> None:
    assert mistakes(text) == [("F005", 1, 1, f"a config must be an object and is {kind}")]


def test_all_missing_keys_are_named() -> None:
    assert mistakes("{}") == [
        ("F007", 1, 1, 'the config of a server needs the key "name"'),
        ("F007", 1, 1, 'the config of a server needs the key "command"'),
        ("F007", 1, 1, 'the config of a server needs the key "args"'),
    ]


def test_all_mistakes_are_reported_in_the_order_of_the_file() -> None:
    text = """{
  "name": 1,
  "command": 5,
  "args": ["a", 1, ["b"]],
  "cwd": null,
  "env": {"A": 5, "B": null},
  "inheritEnv": "no",
  "startupTimeout": 0,
  "readyPattern": "(",
  "timeout": -1,
  "protocolVersion": "2026-07-29",
  "isolation": "all",
  "maxLineBytes": 0,
  "comand": "x",
  "headers": {}
}"""
    assert mistakes(text) == [
        ("F008", 2, 11, '"name" must be text and is a number'),
        ("F008", 3, 14, '"command" must be text and is a number'),
        ("F008", 4, 17, '"args" must hold texts; number 2 is a number'),
        ("F008", 4, 20, '"args" must hold texts; number 3 is a list'),
        ("F008", 5, 10, '"cwd" must be text and is empty'),
        ("F008", 6, 16, '"A" must be text and is a number'),
        ("F008", 6, 24, '"B" must be text and is empty'),
        ("F008", 7, 17, '"inheritEnv" must be true or false and is text'),
        ("F009", 8, 21, f'"startupTimeout" {OUT_OF_RANGE}'),
        (
            "F015",
            9,
            19,
            '"readyPattern" is not a regular expression: missing ), unterminated subpattern at '
            "position 0",
        ),
        ("F009", 10, 14, f'"timeout" {OUT_OF_RANGE}'),
        (
            "F008",
            11,
            22,
            '"protocolVersion" must be one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, '
            "2026-07-28",
        ),
        ("F008", 12, 16, '"isolation" must be one of run, file, test'),
        ("F009", 13, 19, '"maxLineBytes" must be from 1 to 2,147,483,648'),
        ("F006", 14, 3, 'the config of a server has no key "comand"; did you mean "command"?'),
        ("F003", 15, 3, '"headers" is for a server on HTTP, and there is no "url"'),
    ]


@each_case(
    ("changes", "code", "message"),
    [
        ({"command": ""}, "F009", '"command" is empty'),
        ({"command": ["node"]}, "F008", '"command" must be text and is a list'),
        ({"args": "a.js"}, "F008", '"args" must be a list and is text'),
        ({"args": None}, "F008", '"args" must be a list and is empty'),
        ({"env": []}, "F008", '"env" must be a mapping and is a list'),
        ({"env": None}, "F008", '"env" must be a mapping and is empty'),
        ({"maxLineBytes": "1"}, "F008", '"maxLineBytes" must be a whole number and is text'),
        ({"maxLineBytes": True}, "F008", '"maxLineBytes" must be a whole number and is a boolean'),
        (
            {"protocolVersion": "2020-01-01"},
            "F008",
            '"protocolVersion" must be one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, '
            "2026-07-28",
        ),
        ({"isolation": None}, "F008", '"isolation" must be one of run, file, test'),
        ({"colour": 1}, "F006", 'the config of a server has no key "colour"'),
        (
            {"url": "ftp://x"},
            "F009",
            '"url" is not the URL of a server: it must begin with http:// or https://',
        ),
        ({"url": 5}, "F008", '"url" must be text and is a number'),
        (
            {"url": "http://x", "transport": "udp"},
            "F008",
            '"transport" must be one of auto, streamable-http, sse',
        ),
        (
            {"url": "http://x", "headers": {"Host": "y"}},
            "F003",
            "the header Host is set by mcptest itself",
        ),
        *(
            (
                {"url": "http://x", "headers": {name: "y"}},
                "F003",
                f"the header {name} is set by mcptest itself",
            )
            for name in ("MCP-Protocol-Version", "Mcp-Method", "mcp-name")
        ),
        ({"url": "http://x", "headers": {"A b": "y"}}, "F009", "'A b' is not the name of a header"),
        ({"url": "http://x", "headers": {"A": "ü"}}, "F009", "a header holds visible ASCII only"),
        (
            {"url": "http://x", "auth": {}},
            "F007",
            '"auth" needs one of "bearerTokenEnv", "clientCredentials" and "login"',
        ),
        ({"url": "http://x", "auth": {"login": 1}}, "F009", '"login" is true, or left out'),
        (
            {"url": "http://x:{port}", "command": "a", "auth": {"login": True}},
            "F003",
            '"login" is for a server at one address, and {port} differs each time',
        ),
        (
            {"url": "http://x", "auth": {"bearerTokenEnv": "NOT_SET"}},
            "F016",
            "the environment variable 'NOT_SET' is not set",
        ),
        (
            {
                "url": "http://x",
                "headers": {"authorization": "y"},
                "auth": {"bearerTokenEnv": "TOKEN"},
            },
            "F003",
            '"auth" and the header "Authorization" both say who we are; give one of them',
        ),
    ],
)
def test_one_wrong_key_is_one_error(changes: dict[str, object], code: str, message: str) -> None:
    found = mistakes(json.dumps(LEAST | changes))
    assert [(each[0], each[3]) for each in found] == [(code, message)]


@each_case("key", ["startupTimeout", "timeout"])
@each_case("value", [0, -1, 0.0, 86_400_001, 10**400, "soon", "", "-2s", True, None, []])
def test_a_timeout_that_is_none_is_refused(key: str, value: object) -> None:
    ((code, _, _, message),) = mistakes(json.dumps(LEAST | {key: value}))
    assert (code, message.startswith(f'"{key}" must be ')) == ("F009", True)


@pytest.mark.parametrize(
    ("value", "seconds"), [(1, 0.001), (1.5, 0.0015), ("2s", 2.0), ("500ms", 0.5), ("250", 0.25)]
)
def test_a_timeout_is_a_number_of_milliseconds_or_has_a_unit(value: object, seconds: float) -> None:
    assert load(LEAST | {"timeout": value}).timeout_s == seconds


def test_an_unknown_key_that_is_empty_is_left_out_with_a_warning() -> None:
    spec, warnings = load_config(json.dumps(LEAST | {"notes": None}), FILE, {})
    assert spec == load(LEAST)
    assert [(found.severity, found.code, found.message) for found in warnings] == [
        (
            "warning",
            "W001",
            '"notes" means nothing in the config of a server; it is empty, and is left out',
        )
    ]


def test_a_key_written_twice_is_an_error_with_both_lines() -> None:
    ((code, line, column, message),) = mistakes(
        '{"name": "n",\n "command": "a",\n "command": "b",\n "args": []}'
    )
    assert (code, line, column) == ("F003", 3, 2)
    assert "line 2" in message


def test_a_config_indented_with_tabs_still_has_its_places() -> None:
    assert mistakes('{\n\t"name": "n",\n\t"command": 5,\n\t"args": []\n}') == [
        ("F008", 3, 13, '"command" must be text and is a number')
    ]


def test_help_tells_what_can_be_written() -> None:
    text = json.dumps(LEAST | {"colour": 1, "args": [1]})
    assert [found.help for found in diagnostics(text)] == [
        'put it in quotes: "…"',
        "there are: " + ", ".join((*KEYS, "imports")),
    ]


def test_the_config_of_a_client_is_recognised() -> None:
    text = '{"mcpServers": {"x": {"command": "y", "args": []}}}'
    with pytest.raises(FormatError) as caught:
        load_config(text, "c.json", {})
    (found,) = caught.value.diagnostics
    assert (found.code, found.column, found.message) == (
        "F006",
        2,
        '"mcpServers" is what a client\'s config has; this one describes one server',
    )


@pytest.mark.parametrize("env", ['{"": "x"}', '{"A=B": "x"}', '{"A": "a\\u0000b"}', '{"A": "${X"}'])
def test_a_variable_that_cannot_be_set_is_refused(env: str) -> None:
    text = f'{{"name": "n", "command": "c", "args": [], "env": {env}}}'
    with pytest.raises(FormatError) as caught:
        load_config(text, "c.json", {})
    assert [found.code for found in caught.value.diagnostics] == ["F009"]
