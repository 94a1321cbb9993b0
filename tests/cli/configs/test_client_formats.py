"""The config of each client, as its client documents it, describes the server unchanged."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from client_files import SECRET, copy_example, local, seen_in, write_client, write_text
from console import Ended, mcptest
from raw_http import RawHttp

CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "zed")
TOOLS = ["reveal", "units"]
UNITS = ["--units", "metric"]


def listed(ended: Ended) -> list[str]:
    assert ended.code == 0, ended.err
    return [tool["name"] for tool in ended.report()["tools"]]


@pytest.mark.parametrize("client", CLIENTS)
def test_the_config_of_a_client_is_found_and_describes_the_server(
    client: str, tmp_path: Path
) -> None:
    folder = copy_example(client, tmp_path)
    ended = mcptest(folder, "list", WEATHER_API_KEY=SECRET, WEATHER_KEY=SECRET)
    assert listed(ended) == TOOLS
    seen = seen_in(folder)
    literal = client in ("claude-desktop", "zed")
    assert seen["argv"] == UNITS
    assert seen["cwd"] == str(folder)
    assert seen["env"]["WEATHER_API_KEY"] == ("wk-4711-literal" if literal else SECRET)
    assert "describes the server: weather" in ended.err
    assert "warning" not in ended.err


@pytest.mark.parametrize("client", CLIENTS)
def test_the_same_file_can_be_named_from_elsewhere(client: str, tmp_path: Path) -> None:
    folder = copy_example(client, tmp_path)
    path = next(path for path in folder.rglob("*.json"))
    words = ("--config", str(path), "--server", "weather")
    ended = mcptest(tmp_path, "list", *words, WEATHER_API_KEY=SECRET, WEATHER_KEY=SECRET)
    assert listed(ended) == TOOLS
    assert ended.err == ""
    assert seen_in(folder)["cwd"] == str(folder)


def test_values_of_an_env_file_are_set_and_those_of_env_override_them(tmp_path: Path) -> None:
    folder = copy_example("cursor", tmp_path)
    assert mcptest(folder, "list", WEATHER_API_KEY=SECRET).code == 0
    env = seen_in(folder)["env"]
    names = ("REGION", "CACHE_DIR", "WEATHER_API_KEY")
    assert [env[name] for name in names] == ["eu north", "/tmp/weather-cache", SECRET]


@pytest.mark.parametrize("name", ["weather-key", "WEATHER_KEY"])
def test_an_input_is_read_from_the_environment_by_its_id_or_in_capitals(
    name: str, tmp_path: Path
) -> None:
    folder = copy_example("vscode", tmp_path)
    assert mcptest(folder, "list", **{name: SECRET}, UNITS="imperial").code == 0
    seen = seen_in(folder)
    assert (seen["argv"][1], seen["env"]["WEATHER_API_KEY"]) == ("imperial", SECRET)


def test_the_older_form_of_zed_has_the_command_in_an_object(tmp_path: Path) -> None:
    command = {"path": "python3", "args": ["server.py"], "env": {"A": "b"}}
    text = json.dumps({"context_servers": {"weather": {"command": command, "settings": {}}}})
    write_text(tmp_path, text, "settings.json")
    assert listed(mcptest(tmp_path, "list", "--config", "settings.json")) == TOOLS
    assert seen_in(tmp_path)["env"]["A"] == "b"


# Servers on HTTP

TYPES: list[dict[str, Any]] = [
    {"type": "http"},
    {"type": "streamable-http"},
    {"type": "streamableHttp"},
    {},
]


@pytest.mark.parametrize("keys", TYPES)
@pytest.mark.parametrize("key", ["url", "serverUrl", "httpUrl"])
def test_a_server_on_http_gets_its_headers(key: str, keys: dict[str, Any], tmp_path: Path) -> None:
    with RawHttp() as server:
        entry = {**keys, key: "${BASE}/mcp", "headers": {"X-Key": "Bearer ${KEY}"}}
        write_client(tmp_path, {"shop": entry})
        base = server.url.removesuffix("/mcp")
        assert mcptest(tmp_path, "list", "tools", BASE=base, KEY=SECRET).code == 0
        assert {asked.headers["x-key"] for asked in server.asked} == {f"Bearer {SECRET}"}


def test_the_type_sse_uses_the_older_transport(tmp_path: Path) -> None:
    with RawHttp() as server:
        write_client(tmp_path, {"shop": {"type": "sse", "url": server.url}})
        assert mcptest(tmp_path, "list", "tools").code == 3
        assert [asked.method for asked in server.asked] == ["GET"]


# server.json


def put_program(folder: Path, name: str) -> str:
    """A program of this name that starts the server with all of its arguments; returns a PATH."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / name
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} "{folder}/server.py" "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    return f"{folder}/bin{os.pathsep}{os.environ['PATH']}"


def test_a_package_of_the_registry_is_started_by_its_runner(tmp_path: Path) -> None:
    folder = copy_example("registry", tmp_path)
    path = put_program(folder, "npx")
    ended = mcptest(folder, "list", PATH=path, WEATHER_API_KEY=SECRET)
    assert listed(ended) == TOOLS
    words = ["-y", "@ada/weather@1.2.0", "--units", "metric", "oslo.json"]
    assert seen_in(folder)["argv"] == words
    assert "server.json describes the server: io.github.ada/weather" in ended.err
    ended = mcptest(
        folder,
        "list",
        PATH=path,
        WEATHER_API_KEY=SECRET,
        UNITS="imperial",
        PROXY="p:1",
        CITY="rome",
    )
    assert seen_in(folder)["argv"][2:] == ["--units", "imperial", "--proxy", "p:1", "rome.json"]


PACKAGES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("uvx", {"registryType": "pypi", "identifier": "shop", "version": "2"}, ["shop@2"]),
    (
        "docker",
        {
            "registryType": "oci",
            "identifier": "docker.io/ada/shop:2",
            "environmentVariables": [{"name": "KEY", "isRequired": True}],
        },
        ["run", "-i", "--rm", "-e", "KEY", "docker.io/ada/shop:2"],
    ),
    (
        "podman",
        {
            "registryType": "oci",
            "identifier": "ada/shop",
            "version": "2",
            "runtimeHint": "podman",
            "runtimeArguments": [{"type": "named", "name": "--network", "value": "none"}],
        },
        ["run", "-i", "--rm", "--network", "none", "ada/shop:2"],
    ),
    (
        "dnx",
        {
            "registryType": "nuget",
            "identifier": "Ada.Shop",
            "version": "2",
            "packageArguments": [{"type": "positional", "value": "x"}],
        },
        ["Ada.Shop@2", "--yes", "--", "x"],
    ),
]


@pytest.mark.parametrize(("program", "package", "words"), PACKAGES)
def test_every_type_of_package_has_its_runner(
    program: str, package: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    write_text(tmp_path, json.dumps({"name": "ada/shop", "packages": [package]}), "server.json")
    path = put_program(tmp_path, program)
    ended = mcptest(tmp_path, "list", "--config", "server.json", PATH=path, KEY=SECRET)
    assert listed(ended) == TOOLS
    assert seen_in(tmp_path)["argv"] == words


def test_a_remote_of_the_registry_gets_what_the_user_would_enter(tmp_path: Path) -> None:
    with RawHttp() as server:
        remote = {
            "type": "streamable-http",
            "url": "http://127.0.0.1:{port_number}/mcp",
            "variables": {"port_number": {"isRequired": True}},
            "headers": [
                {
                    "name": "Authorization",
                    "value": "Bearer {key}",
                    "variables": {"key": {"isRequired": True, "isSecret": True}},
                },
                {"name": "X-Region", "default": "eu"},
                {"name": "X-Other", "description": "left out"},
            ],
        }
        document = {"name": "ada/shop", "packages": [{"registryType": "mcpb"}], "remotes": [remote]}
        write_text(tmp_path, json.dumps(document), "server.json")
        words = ("list", "tools", "--config", "server.json", "--server", "streamable-http")
        ended = mcptest(tmp_path, *words, PORT_NUMBER=str(server.port), KEY=SECRET)
        assert (ended.code, ended.err) == (0, "")
        headers = server.asked[0].headers
        assert (headers["authorization"], headers["x-region"]) == (f"Bearer {SECRET}", "eu")
        assert "x-other" not in headers


def test_entries_of_the_registry_are_chosen_by_their_type(tmp_path: Path) -> None:
    package = {"registryType": "npm", "identifier": "shop"}
    remotes = [{"type": "sse", "url": "http://x/"}]
    document = {"name": "ada/shop", "packages": [package, package], "remotes": remotes}
    write_text(tmp_path, json.dumps(document), "server.json")
    ended = mcptest(tmp_path, "list", "--config", "server.json")
    assert ended.code == 2
    assert "error: server.json has 3 servers: npm, npm#2, sse\n" in ended.err


def test_another_file_with_the_name_of_a_client_config_is_not_taken(tmp_path: Path) -> None:
    write_text(tmp_path, '{"packages": ["a"], "port": 1}', "server.json")
    write_text(tmp_path, '{"tab_size": 2}', ".zed/settings.json")
    ended = mcptest(tmp_path, "list")
    assert ended.code == 2
    assert "error: no server to talk to\n" in ended.err


def test_our_own_config_may_be_called_as_a_client_config_is(tmp_path: Path) -> None:
    config = {"name": "mine", **local(env={"servers": "a", "packages": "b"})}
    write_text(tmp_path, json.dumps(config), "server.json")
    assert listed(mcptest(tmp_path, "list", "--config", "server.json")) == TOOLS
