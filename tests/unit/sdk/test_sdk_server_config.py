"""The arguments of `connect`, written as a config for the binary and read again."""

from __future__ import annotations

import json
import os

import pytest

from mcptest.core.plan import HttpSpec, ServerSpec
from mcptest.formats.config import load_config
from mcptest.sdk.arguments import ServerArguments, build_config


def read_back(given: ServerArguments) -> tuple[ServerSpec, str]:
    """The server that the binary reads, and the text it reads."""
    config, variables = build_config(given)
    text = json.dumps(config)
    spec, warnings = load_config(text, "/tmp/mcptest.json", variables)
    assert [each for each in warnings if each.code != "W003"] == []
    return spec, text


@pytest.mark.parametrize(
    ("env", "secrets"),
    [
        ({"A": "1", "EMPTY": ""}, ()),
        ({"TOKEN": "s3cr3t-value", "HEADER": "Bearer s3cr3t-value!", "PLAIN": "a"}, ()),
        # One secret is a part of the other.
        ({"A": "s3cr3t-v", "B": "s3cr3t-value", "C": "xs3cr3t-vx"}, ("A", "B")),
        # It looks like a variable, and reaches the server as it is.
        ({"A": "${HOME}", "B": "a ${"}, ()),
        ({"TOKEN": "s3cr3t-value", "A": "$${A} s3cr3t-value"}, ()),
    ],
)
def test_the_environment_arrives_and_its_secrets_are_not_written(
    env: dict[str, str], secrets: tuple[str, ...]
) -> None:
    spec, text = read_back(ServerArguments(command=("server",), env=env, secrets=secrets))
    assert spec.env == env
    assert "s3cr3t" not in text
    named = [env[name] for name in ("TOKEN", *secrets) if name in env]
    assert set(named) <= set(spec.secrets)


def test_a_server_starts_in_a_definite_folder() -> None:
    given = ServerArguments(command=("./bin/server", "-x"), env={"A": "b"})
    assert build_config(given) == (
        {
            "name": "server",
            "command": "./bin/server",
            "args": ["-x"],
            "cwd": os.getcwd(),
            "env": {"A": "b"},
        },
        {},
    )


def test_the_startup_timeout_defaults_to_that_of_the_binary() -> None:
    spec, _ = read_back(ServerArguments(command=("npx", "server"), cwd="/srv"))
    assert spec.startup_timeout_s == 20.0


def test_a_server_at_a_url_is_described_by_names_of_variables() -> None:
    given = ServerArguments(
        url="http://127.0.0.1:3001/mcp",
        bearer_env="TOKEN",
        header_env={"X-Key": "KEY"},
        ca_file="/etc/ca.pem",
        startup_timeout_s=2.5,
        client={"roots": []},
    )
    config, variables = build_config(given)
    assert variables == {}
    spec, _ = load_config(json.dumps(config), "/tmp/mcptest.json", {"TOKEN": "t1", "KEY": "k1"})
    assert spec.http == HttpSpec(
        url="http://127.0.0.1:3001/mcp",
        headers={"X-Key": "k1", "Authorization": "Bearer t1"},
        ca_file="/etc/ca.pem",
    )
    assert (spec.command, spec.startup_timeout_s) == ((), 2.5)
    assert spec.client.answers is not None
