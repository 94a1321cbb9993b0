"""A server, written as a config for the binary and read again, is the same server."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from mcptest.core.plan import ClientSpec, HttpSpec, Limits, OAuthSpec, ServerSpec
from mcptest.formats.config import load_config, read_client
from mcptest.formats.keys import Fields
from mcptest.sdk.arguments import Told, config_of, plain_config

PLAIN = ServerSpec(name="weather", command=("python3", "server.py", "a b"), cwd="/srv", env={})


def client(**keys: object) -> ClientSpec:
    """A client as a config describes it."""
    complaints: list[Any] = []
    found = read_client(Fields(keys, (), complaints))
    assert complaints == []
    return found


def again(spec: ServerSpec) -> tuple[ServerSpec, str, dict[str, str]]:
    """The server that the binary reads, the text it reads, and the variables it is given."""
    config, variables = config_of(spec, spec.timeout_s)
    text = json.dumps(config)
    read, warnings = load_config(text, "/tmp/mcptest.json", variables)
    assert [each for each in warnings if each.code != "W003"] == []
    return read, text, variables


@pytest.mark.parametrize(
    "spec",
    [
        PLAIN,
        PLAIN.but(env={"A": "1", "EMPTY": ""}),
        PLAIN.but(inherit_env=False),
        PLAIN.but(startup_timeout_s=0.25, timeout_s=1.5),
        PLAIN.but(ready_pattern="listening on [0-9]+$"),
        PLAIN.but(protocol_version="2024-11-05"),
        PLAIN.but(limits=Limits(max_line_bytes=1000)),
        PLAIN.but(client=client(roots=["file:///project"])),
        PLAIN.but(client=client(sampling="Paris")),
        PLAIN.but(client=client(sampling=["a", {"error": {"code": 1, "message": "b"}}])),
        PLAIN.but(client=client(elicitation=[{"action": "accept", "content": {}}, "decline"])),
        PLAIN.but(client=client(capabilities={"experimental": {"x": {}}})),
        PLAIN.but(client=client(roots=[], capabilities={"roots": {"listChanged": True}})),
    ],
    ids=lambda spec: ",".join(
        name for name, value in spec.fields() if value != getattr(PLAIN, name)
    ),
)
def test_nothing_of_a_server_is_lost_on_the_way(spec: ServerSpec) -> None:
    assert again(spec)[0] == spec


def test_a_secret_is_not_written_down_and_still_is_one() -> None:
    spec = PLAIN.but(
        env={"TOKEN": "s3cr3t-value", "HEADER": "Bearer s3cr3t-value!", "PLAIN": "a"},
        secrets=("s3cr3t-value",),
    )
    read, text, variables = again(spec)
    assert "s3cr3t" not in text
    assert read.env == spec.env
    assert set(read.secrets) == {"s3cr3t-value"}
    assert list(variables.values()) == ["s3cr3t-value"]


def test_a_secret_within_another_is_not_written_down_either() -> None:
    secrets = ("abcd", "abcdefgh")
    spec = PLAIN.but(env={"A": "abcdefgh", "B": "xabcdx"}, secrets=secrets)
    read, text, _ = again(spec)
    assert "abcd" not in text
    assert read.env == spec.env
    assert set(read.secrets) == set(secrets)


@pytest.mark.parametrize("value", ["${HOME}", "a ${", "$${A} s3cr3t-value"])
def test_what_looks_like_a_variable_reaches_the_server_as_it_is(value: str) -> None:
    spec = PLAIN.but(env={"A": value}, secrets=("s3cr3t-value",))
    read, text, _ = again(spec)
    assert read.env == {"A": value}
    assert "s3cr3t" not in text


def test_a_server_of_which_little_is_known_starts_in_a_folder_that_is_definite() -> None:
    config, variables = plain_config(Told(command=("./bin/server", "-x"), env={"A": "b"}))
    assert (config, variables) == (
        {
            "name": "server",
            "command": "./bin/server",
            "args": ["-x"],
            "cwd": os.getcwd(),
            "env": {"A": "b"},
        },
        {},
    )


def test_how_long_a_server_may_take_to_start_is_left_to_the_binary_where_nobody_said() -> None:
    config, _ = plain_config(Told(command=("npx", "server"), cwd="/srv"))
    read, _ = load_config(json.dumps(config), "/tmp/mcptest.json", {})
    assert read.startup_timeout_s == 20.0


HTTP = HttpSpec(url="http://127.0.0.1:3001/mcp", headers={})
THERE = ServerSpec(name="shop", command=(), http=HTTP, env={})
GRANT = OAuthSpec(
    token_url="https://id.example/token",
    client_id="me",
    client_secret="s3cr3t-value",
    scope="read",
)


@pytest.mark.parametrize(
    "spec",
    [
        THERE,
        PLAIN.but(http=HTTP),
        THERE.but(http=HTTP.but(headers={"X-User": "ada"}, transport="sse", insecure_tls=True)),
        THERE.but(http=HTTP.but(ca_file="/etc/ca.pem")),
    ],
)
def test_nothing_of_a_server_on_http_is_lost_on_the_way(spec: ServerSpec) -> None:
    assert again(spec)[0] == spec


def test_the_secrets_of_a_server_on_http_are_not_written_down_and_still_are_some() -> None:
    headers = {"Authorization": "Bearer s3cr3t-token", "X-User": "ada"}
    spec = THERE.but(http=HTTP.but(headers=headers, oauth=None), secrets=("s3cr3t-token",), env={})
    read, text, _ = again(spec)
    assert "s3cr3t" not in text
    assert read.http == spec.http
    assert set(read.secrets) == {"s3cr3t-token"}


def test_credentials_for_tokens_travel_in_the_environment() -> None:
    spec = THERE.but(http=HTTP.but(oauth=GRANT), secrets=("s3cr3t-value",))
    read, text, variables = again(spec)
    assert "s3cr3t" not in text
    assert read.http == spec.http
    assert list(variables.values()) == ["s3cr3t-value"]


def test_a_server_at_a_url_is_told_with_names_of_variables() -> None:
    told = Told(
        url="http://127.0.0.1:3001/mcp",
        bearer_env="TOKEN",
        header_env={"X-Key": "KEY"},
        ca_file="/etc/ca.pem",
        startup_timeout_s=2.5,
        client={"roots": []},
    )
    config, variables = plain_config(told)
    assert variables == {}
    read, _ = load_config(json.dumps(config), "/tmp/mcptest.json", {"TOKEN": "t1", "KEY": "k1"})
    assert read.http == HttpSpec(
        url="http://127.0.0.1:3001/mcp",
        headers={"X-Key": "k1", "Authorization": "Bearer t1"},
        ca_file="/etc/ca.pem",
    )
    assert (read.command, read.startup_timeout_s) == ((), 2.5)
    assert read.client.answers is not None
