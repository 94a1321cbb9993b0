"""The options about HTTP: what they add to the server of a file, and what makes no sense."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, case, mcptest, write_suite
from matrix_runs import AT_A_FREE_PORT, argv, greets, server, ways, write

GUARDED = Path(__file__).parents[2] / "servers" / "guarded_server.py"
TOKEN = "Zx9-canary-4711"
SHOWS = {
    "it": "shows",
    "tool": "show",
    "expect": {"response": {"match:partial": {"result": "match:type:object"}}},
}


def guarded(wanted: str, **keys: Any) -> dict[str, Any]:
    """A server that answers only clients that send this."""
    args = [str(GUARDED), "{port}", "log.txt", wanted]
    return {"name": "shop", "command": sys.executable, "args": args, "url": AT_A_FREE_PORT, **keys}


def with_config(folder: Path, config: dict[str, Any], *words: str) -> Ended:
    write_suite(folder / "a.test.mcp.yml", SHOWS)
    (folder / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    return mcptest(folder, *words, KEY=TOKEN, EMPTY="")


SENT = [
    (("--bearer-env", "KEY"), f"Bearer {TOKEN}"),
    (("--header-env", "X-Other=KEY", "--header-env", "X-Key=KEY"), TOKEN),
]


@pytest.mark.parametrize(("words", "wanted"), SENT)
@pytest.mark.parametrize("command", ["run", "list"])
def test_credentials_reach_the_server_of_a_config(
    tmp_path: Path, words: tuple[str, ...], wanted: str, command: str
) -> None:
    assert with_config(tmp_path, guarded(wanted), command).code == 3
    ended = with_config(tmp_path, guarded(wanted), command, *words)
    assert (ended.code, TOKEN in ended.out + ended.err) == (0, False)


def test_credentials_reach_the_server_of_a_suite(tmp_path: Path) -> None:
    keys = guarded(f"Bearer {TOKEN}")
    spec = {"command": [keys["command"], *keys["args"]], "url": keys["url"]}
    # What the file says of the same header gives way.
    spec["headers"] = {"authorization": "Bearer other"}
    suite = {"servers": {"shop": spec}, "tools": [{"name": "a", "tool": "show"}]}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    assert mcptest(tmp_path, "run", "--bearer-env", "KEY", KEY=TOKEN).code == 0


def test_credentials_are_for_one_server(tmp_path: Path) -> None:
    servers = {name: {"url": f"http://127.0.0.1:1/{name}"} for name in ("shop", "till")}
    tools = [{"name": name, "server": name, "tool": "show"} for name in servers]
    suite = {"servers": servers, "tools": tools}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "run", "--bearer-env", "KEY", KEY=TOKEN)
    assert (ended.code, "these tests have 2 on HTTP: shop, till" in ended.err) == (2, True)


def test_a_discovered_file_names_the_variables(tmp_path: Path) -> None:
    words = ("discover", "-o", "b.test.mcp.yml", "--header-env", "X-Key=KEY")
    assert with_config(tmp_path, guarded(TOKEN), *words).code == 0
    text = (tmp_path / "b.test.mcp.yml").read_text(encoding="utf-8")
    assert "X-Key: ${KEY}" in text.replace('"', "")
    assert mcptest(tmp_path, "run", "b.test.mcp.yml", KEY=TOKEN).code == 0


URL = ("--url", "http://127.0.0.1:1/mcp")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--url", AT_A_FREE_PORT), "{port} in --url is a free port for a server that we start"),
        ((*URL, "--ca-file", "no.pem"), "--ca-file: there is no file 'no.pem'"),
        ((*URL, "--bearer-env", "EMPTY"), "variable 'EMPTY', which is empty"),
        ((*URL, "--bearer-env", "UNSET"), "variable 'UNSET', which is not set"),
    ],
)
@pytest.mark.parametrize("command", ["run", "list"])
def test_impossible_options_are_a_usage_error(
    tmp_path: Path, command: str, words: tuple[str, ...], message: str
) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", case("a"))
    ended = mcptest(tmp_path, command, *words, EMPTY="")
    assert (ended.code, message in ended.err) == (2, True), ended.err


def test_a_password_in_a_url_is_never_repeated(tmp_path: Path) -> None:
    for command in ("run", "list", "discover"):
        ended = mcptest(tmp_path, command, "--url", "http://me:canary@127.0.0.1:1/mcp")
        assert (ended.code, "canary" in ended.out + ended.err) == (2, False)


def test_a_port_of_our_choice_needs_a_command_in_files_too(tmp_path: Path) -> None:
    ended = with_config(tmp_path, {"name": "shop", "url": AT_A_FREE_PORT}, "run")
    wanted = '{port} is a free port for a server that we start; there is no "command"'
    assert (ended.code, wanted in ended.out + ended.err) == (2, True)


def test_a_misspelt_grant_is_one_mistake(tmp_path: Path) -> None:
    config = {"name": "shop", "url": "http://127.0.0.1:1/mcp", "auth": {"client_credentials": {}}}
    message = with_config(tmp_path, config, "run")
    assert (message.out + message.err).count("error[") == 1
    assert "clientCredentials" in message.out + message.err
    empty = with_config(tmp_path, config | {"auth": {}}, "run")
    assert '"auth" needs one of' in empty.out + empty.err


def test_a_server_at_a_url_has_host_and_port_for_its_name(tmp_path: Path) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", case("a"))
    report = mcptest(tmp_path, "run", "--json", *URL).report()
    assert report["server"] == "127.0.0.1:1"


# The matrix


def test_the_way_over_http_may_be_that_of_the_config(tmp_path: Path) -> None:
    write(tmp_path, greets())
    command, *args = argv("http", "{port}")
    config = {"name": "ways", "command": command, "args": args, "url": AT_A_FREE_PORT}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    words = ("--transport-matrix", "--server-command", server("stdio"), "--json")
    ended = mcptest(tmp_path, "run", *words)
    assert ended.code == 0, ended.out
    assert [transport for transport, _, _ in ways(ended.report())] == 2 * ["stdio"] + 2 * ["http"]


def test_a_config_without_a_url_adds_no_way(tmp_path: Path) -> None:
    write(tmp_path, greets())
    config = {"name": "ways", "command": "no-such-program", "args": [], "env": {"A": "${UNSET}"}}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    words = ("--transport-matrix", "--server-command", server("stdio"), "--json")
    ended = mcptest(tmp_path, "run", *words)
    assert {transport for transport, _, _ in ways(ended.report())} == {"stdio"}


def test_off_a_terminal_each_way_is_reported_when_it_ends(tmp_path: Path) -> None:
    write(tmp_path, greets())
    words = ("--transport-matrix", "--server-command", server("stdio"), "--json")
    lines = mcptest(tmp_path, "run", *words).err.splitlines()
    assert [line.partition(" [")[2].partition("]")[0] for line in lines] == [
        "stdio, 2025-11-25",
        "stdio, 2026-07-28",
    ]
    assert all("1 test: 1 passed" in line for line in lines)


# The revision in use


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("more", [(), ("--parallel", "2")])
def test_the_url_and_the_revision_of_a_server_are_reported(
    tmp_path: Path, revision: str, more: tuple[str, ...]
) -> None:
    write(tmp_path, greets())
    started = ("--url", AT_A_FREE_PORT, "--server-command", server("http", "{port}"))
    words = ("run", *started, "--spec-version", revision, *more)
    ended = mcptest(tmp_path, *words, "--verbose", "--reporter", "json=r.json")
    assert f"\nways  {AT_A_FREE_PORT}, {revision}\n" in ended.out
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    spoken = {"server": "ways", "revision": revision, "url": AT_A_FREE_PORT}
    assert report["spoken"] == [spoken]
    assert AT_A_FREE_PORT not in mcptest(tmp_path, *words).out
    again = mcptest(tmp_path, "report", "r.json", "--format", "json").report()
    assert again["spoken"] == [spoken]


def test_over_stdio_the_revision_is_reported(tmp_path: Path) -> None:
    write(tmp_path, greets())
    ended = mcptest(tmp_path, "run", "--verbose", "--server-command", server("stdio"))
    assert "  stdio, 2025-11-25\n" in ended.out


@pytest.mark.parametrize("how", ["EMPTY", "UNSET"])
def test_an_empty_credential_and_one_that_is_not_set_have_different_messages(
    tmp_path: Path, how: str
) -> None:
    message = f"the environment variable '{how}' is {'empty' if how == 'EMPTY' else 'not set'}"
    config = {"name": "shop", "url": "http://127.0.0.1:1/mcp", "auth": {"bearerTokenEnv": how}}
    ended = with_config(tmp_path, config, "run", "a.test.mcp.yml")
    assert (ended.code, message in ended.out + ended.err) == (2, True)
    server = {"url": config["url"], "auth": {"bearer_token_env": how}}
    suite = {"servers": {"shop": server}, "tools": [{"name": "a", "tool": "show"}]}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "run", "mcptest.yaml", EMPTY="")
    assert (ended.code, message in ended.out + ended.err) == (2, True)
