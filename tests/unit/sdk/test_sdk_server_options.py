"""The arguments of `connect`, as options and variables of the binary."""

from __future__ import annotations

import json
import os

from mcptest.formats.config import load_config
from mcptest.sdk.arguments import ServerArguments, build_config, build_options, name_arguments


def test_a_command_is_quoted() -> None:
    given = ServerArguments(command=("./bin/server", "a b", ""))
    assert build_options(given) == (["--server-command", "./bin/server 'a b' ''"], {})


def test_values_of_variables_are_in_a_variable_and_not_in_options() -> None:
    env = {"TOKEN": "s3cr3t-value", "A": "${HOME}", "EMPTY": "", "HALF": "\udcff"}
    given = ServerArguments(command=("server",), env=env, secrets=("A",))
    options, variables = build_options(given)
    assert options == ["--server-command", "server"]
    sent = json.loads(variables.pop("MCPTEST_SERVER_ENV"))
    assert (sent, variables) == ({"set": env, "secrets": ["A"]}, {})


def test_a_server_at_a_url_is_described_by_names_of_variables() -> None:
    given = ServerArguments(
        url="http://127.0.0.1:3001/mcp",
        bearer_env="TOKEN",
        header_env={"X-Key": "KEY", "X-Id": "ID"},
        ca_file="/etc/ca.pem",
        startup_timeout_s=2.5,
    )
    options, variables = build_options(given)
    assert dict(zip(options[::2], options[1::2], strict=True)) == {
        "--url": "http://127.0.0.1:3001/mcp",
        "--bearer-env": "TOKEN",
        "--header-env": "X-Id=ID",
        "--ca-file": "/etc/ca.pem",
        "--start-timeout": "2500.000000ms",
    }
    assert "X-Key=KEY" in options
    assert variables == {}


def test_a_config_describes_only_what_has_no_option() -> None:
    given = ServerArguments(
        command=("./server", "-x"), env={"TOKEN": "s3cr3t-value"}, client={"roots": []}
    )
    config = build_config(given)
    assert config == {
        "name": "server",
        "command": "./server",
        "args": ["-x"],
        "client": {"roots": []},
    }
    # It is read from another folder.
    assert build_options(given)[0] == ["--cwd", os.getcwd()]
    spec, warnings = load_config(json.dumps(config), "/tmp/mcptest.json", {})
    assert (spec.command, spec.client.answers is not None, warnings) == (
        ("./server", "-x"),
        True,
        (),
    )
    there = ServerArguments(url="http://127.0.0.1:3001/mcp", client={"roots": []})
    spec, _ = load_config(json.dumps(build_config(there)), "/tmp/mcptest.json", {})
    assert spec.http is not None
    assert (build_options(there), spec.http.url) == (([], {}), "http://127.0.0.1:3001/mcp")


def test_options_are_named_as_the_user_wrote_them() -> None:
    said = "--start-timeout must be less, --timeout too; --cwd: there is no folder 'a--b'"
    assert name_arguments(said) == (
        "startup_timeout must be less, timeout too; cwd: there is no folder 'a--b'"
    )
    said = "leave out --spec-version, or give --spec-version 2026-07-28"
    assert name_arguments(said) == 'leave out spec_version, or give spec_version="2026-07-28"'
