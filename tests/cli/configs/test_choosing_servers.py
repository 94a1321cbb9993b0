"""Which file describes the server, and which of its servers is meant."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from client_files import SECRET, SERVER, copy_example, local, seen_in, write_client, write_text
from console import mcptest

if TYPE_CHECKING:
    from console import Ended

TWO = {"shop": local(args=["server.py", "shop"]), "mail": local(args=["server.py", "mail"])}


def chosen(folder: Path, *words: str) -> str:
    """The last argument of the server that `mcptest list` starts."""
    ended = mcptest(folder, "list", *words)
    assert ended.code == 0, ended.err
    return str(seen_in(folder)["argv"][-1])


def refused(folder: Path, *words: str) -> str:
    """The error of a command that starts nothing."""
    ended = mcptest(folder, *words)
    assert (ended.code, ended.out) == (2, "")
    assert not (folder / "seen.json").exists()
    return ended.err


def test_one_of_several_servers_is_chosen_by_name(tmp_path: Path) -> None:
    write_client(tmp_path, TWO)
    assert [chosen(tmp_path, "--server", name) for name in TWO] == ["shop", "mail"]


def test_several_servers_are_named_in_the_error(tmp_path: Path) -> None:
    write_client(tmp_path, TWO)
    assert refused(tmp_path, "list") == (
        "error: .mcp.json has 2 servers: shop, mail\n"
        "  help: choose one with --server NAME: shop, mail\n"
    )


def test_a_name_that_is_not_there_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    write_client(tmp_path, TWO)
    assert refused(tmp_path, "list", "--server", "shopp") == (
        "error: .mcp.json has no server 'shopp'; did you mean shop?\n"
        "  help: choose one with --server NAME: shop, mail\n"
    )


def test_a_file_without_servers_is_refused(tmp_path: Path) -> None:
    write_client(tmp_path, {})
    assert refused(tmp_path, "list") == "error: .mcp.json has no server\n"


@pytest.mark.parametrize("keys", [{"disabled": True}, {"enabled": False}])
def test_a_disabled_server_is_skipped_with_a_note(keys: dict[str, bool], tmp_path: Path) -> None:
    key = "context_servers" if "enabled" in keys else "mcpServers"
    servers = {"mail": {"command": "none", **keys}, "shop": local()}
    write_text(tmp_path, json.dumps({key: servers}), "c.json")
    ended = mcptest(tmp_path, "list", "--config", "c.json")
    assert ended.code == 0
    assert ended.err == "note: skipped the server 'mail' of c.json: it is disabled\n"


def test_a_disabled_server_is_taken_if_it_is_named(tmp_path: Path) -> None:
    write_client(tmp_path, {"shop": local(disabled=True)})
    assert mcptest(tmp_path, "list", "--server", "shop").code == 0
    (tmp_path / "seen.json").unlink()
    assert refused(tmp_path, "list") == (
        "error: all servers of .mcp.json are disabled: shop\n"
        "  help: choose one with --server NAME: shop\n"
    )


def test_several_servers_are_named_with_those_that_are_disabled(tmp_path: Path) -> None:
    write_client(tmp_path, {**TWO, "off": local(disabled=True)})
    assert refused(tmp_path, "list") == (
        "error: .mcp.json has 2 servers: shop, mail; disabled: off\n"
        "  help: choose one with --server NAME: shop, mail, off\n"
    )


# Which file


def write_all(folder: Path) -> list[str]:
    """One file of each kind, in the order in which they are searched for."""
    entry = local()

    def with_last(word: str) -> dict[str, Any]:
        return {**entry, "args": ["server.py", word]}

    files: dict[str, Any] = {
        "conductor.config.json": {"name": "a", **with_last("conductor.config.json")},
        "mcptest.yaml": {
            "servers": {"a": {"command": ["python3", "server.py", "mcptest.yaml"]}},
            "tools": [{"name": "t", "tool": "units"}],
        },
        ".mcp.json": {"mcpServers": {"a": with_last(".mcp.json")}},
        "claude_desktop_config.json": {
            "mcpServers": {"a": with_last("claude_desktop_config.json")}
        },
        ".cursor/mcp.json": {"mcpServers": {"a": with_last(".cursor/mcp.json")}},
        ".vscode/mcp.json": {"servers": {"a": with_last(".vscode/mcp.json")}},
        ".zed/settings.json": {"context_servers": {"a": with_last(".zed/settings.json")}},
    }
    for name, content in files.items():
        write_text(folder, json.dumps(content), name)
    return list(files)


def test_the_files_are_searched_for_in_this_order(tmp_path: Path) -> None:
    for name in write_all(tmp_path):
        assert chosen(tmp_path) == name
        (tmp_path / name).unlink()


def test_a_file_that_is_named_has_precedence_over_all_others(tmp_path: Path) -> None:
    for name in write_all(tmp_path):
        assert chosen(tmp_path, "--config", name) == name


def test_a_server_of_a_suite_is_chosen_by_name_too(tmp_path: Path) -> None:
    servers = {name: {"command": ["python3", "server.py", name]} for name in ("shop", "mail")}
    tests = [{"name": name, "server": name, "tool": "units"} for name in servers]
    write_text(tmp_path, json.dumps({"servers": servers, "tools": tests}), "mcptest.yaml")
    assert refused(tmp_path, "list") == (
        "error: mcptest.yaml has 2 servers: shop, mail\n  help: choose one with --server NAME\n"
    )
    assert refused(tmp_path, "list", "--server", "mial") == (
        "error: mcptest.yaml has no server 'mial'; did you mean mail?\n"
        "  help: there are: shop, mail\n"
    )
    assert chosen(tmp_path, "--server", "mail") == "mail"


def test_our_own_config_has_one_server(tmp_path: Path) -> None:
    write_text(tmp_path, json.dumps({"name": "mine", **local()}), "conductor.config.json")
    assert refused(tmp_path, "list", "--server", "shop") == (
        "error: conductor.config.json has no server 'shop'; there is mine\n"
        "  help: it describes one server, so --server is not needed\n"
    )
    assert mcptest(tmp_path, "list", "--server", "mine").code == 0


@pytest.mark.parametrize(
    "words", [("--url", "http://x/mcp"), ("--server-command", "x"), ("--", "x")]
)
def test_a_server_is_not_chosen_and_given_at_once(words: tuple[str, ...], tmp_path: Path) -> None:
    write_client(tmp_path, TWO)
    message = "error: --server chooses a server of a file, and the command line names one already\n"
    assert refused(tmp_path, "list", "--server", "shop", *words).startswith(message)
    if words[0] != "--":
        assert refused(tmp_path, "run", "--server", "shop", *words).startswith(message)


# Every command that takes a server

COMMANDS = [
    ("list",),
    ("call", "units"),
    ("discover",),
    ("docs",),
    ("compliance", "run", "--only", "BASE-01"),
    ("security",),
]


@pytest.mark.long
@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_takes_the_config_of_a_client(words: tuple[str, ...], tmp_path: Path) -> None:
    write_client(tmp_path, TWO)
    ended = mcptest(tmp_path, *words, "--server", "mail")
    assert ended.code == 0, ended.err
    assert seen_in(tmp_path)["argv"] == ["mail"]
    shutil.move(tmp_path / ".mcp.json", tmp_path / "mine.json")
    (tmp_path / "seen.json").unlink()
    ended = mcptest(tmp_path, *words, "--config", "mine.json", "--server", "shop")
    assert ended.code == 0, ended.err
    assert seen_in(tmp_path)["argv"] == ["shop"]


def test_the_channel_of_the_sdks_takes_it_too(tmp_path: Path) -> None:
    write_client(tmp_path, TWO)
    ended = mcptest(tmp_path, "exec", "--connection-server")
    assert (ended.code, ended.err.splitlines()[0]) == (
        2,
        "error: .mcp.json has 2 servers: shop, mail",
    )
    assert mcptest(tmp_path, "exec", "--connection-server", "--server", "mail").code == 0


def test_security_scans_all_servers_of_a_client_together(tmp_path: Path) -> None:
    write_client(tmp_path, {**TWO, "off": {"command": "none", "disabled": True}})
    ended = mcptest(tmp_path, "security", "--format", "json")
    assert {"shop", "mail"} <= set(json.dumps(ended.report()).replace('"', " ").split())
    assert ended.err == (
        "note: skipped the server 'off' of .mcp.json: it is disabled\n"
        "note: .mcp.json describes the servers: shop, mail\n"
    )


def test_a_check_is_repeated_without_words_for_the_server_that_is_found(tmp_path: Path) -> None:
    write_client(tmp_path, {"shop": local()})
    words = ("compliance", "run", "--only", "BASE-20", "--spec-version", "2025-11-25")
    ended = mcptest(tmp_path, *words)
    assert (ended.code, f"    repeat    mcptest {' '.join(words)}\n" in ended.out) == (1, True)


def test_discover_leaves_the_server_in_the_config(tmp_path: Path) -> None:
    write_client(tmp_path, {"shop": local(env={"KEY": SECRET})})
    ended = mcptest(tmp_path, "discover", "-o", "a.test.mcp.yml")
    assert ended.code == 0
    assert ended.err.endswith("run them: mcptest run a.test.mcp.yml --config .mcp.json\n")
    printed = mcptest(tmp_path, "discover", "--server", "shop").err
    hint = "the file does not name its server: run it with --config .mcp.json --server shop"
    assert printed.endswith(f"note: {hint}\n")
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert "\nserver:" not in text
    assert SECRET not in text
    assert mcptest(tmp_path, "run", "a.test.mcp.yml").code == 0


@pytest.mark.long
@pytest.mark.parametrize("words", [("list",), ("call", "units"), ("compliance", "run"), ("docs",)])
def test_variables_of_a_file_are_for_every_command(tmp_path: Path, words: tuple[str, ...]) -> None:
    write_client(tmp_path, {"shop": local(env={"KEY": "${SHOP_KEY}"})})
    assert mcptest(tmp_path, *words).code == 2
    (tmp_path / "dev.env").write_text(f"SHOP_KEY={SECRET}\n", encoding="utf-8")
    ended = mcptest(tmp_path, *words, "--env-file", "dev.env")
    assert ended.code in (0, 1)
    assert seen_in(tmp_path)["env"]["KEY"] == SECRET
    assert SECRET not in ended.out + ended.err


# mcptest run

UNITS = {
    "description": "d",
    "tests": [
        {
            "it": "has units",
            "tool": "units",
            "expect": {
                "response": {"match:partial": {"result": {"content": [{"text": "metric"}]}}}
            },
        }
    ],
}


def run_in(folder: Path, *words: str, **environment: str) -> Ended:
    environment |= {"WEATHER_API_KEY": SECRET, "WEATHER_KEY": SECRET}
    return mcptest(folder, "run", *words, **environment)


def test_tests_are_run_against_the_server_of_a_client(tmp_path: Path) -> None:
    folder = copy_example("vscode", tmp_path)
    (folder / "tests").mkdir()
    for name in "ab":
        path = folder / "tests" / f"{name}.test.mcp.yml"
        path.write_text(json.dumps(UNITS), encoding="utf-8")
    ended = run_in(folder, "tests")
    assert ended.code == 0, ended.out
    assert ended.err == "note: .vscode/mcp.json describes the server: weather\n"
    for words in (
        ("vscode",),
        ("vscode/tests/a.test.mcp.yml", "--config", "vscode/.vscode/mcp.json"),
    ):
        assert run_in(tmp_path, *words).code == 0


def test_one_of_several_servers_is_tested(tmp_path: Path) -> None:
    servers = {name: local(args=["server.py", "--units", name]) for name in ("metric", "other")}
    write_client(tmp_path, servers)
    (tmp_path / "a.test.mcp.yml").write_text(json.dumps(UNITS), encoding="utf-8")
    assert "has 2 servers: metric, other\n" in run_in(tmp_path).err
    assert [run_in(tmp_path, "--server", name).code for name in servers] == [0, 1]


def test_a_config_of_our_own_has_precedence_over_the_config_of_a_client(tmp_path: Path) -> None:
    write_client(tmp_path, {"other": {"command": "not-installed"}})
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.test.mcp.yml").write_text(json.dumps(UNITS), encoding="utf-8")
    config = {"name": "own", "command": "python3", "args": ["server.py", "--units", "metric"]}
    (tmp_path / "tests" / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    shutil.copy(SERVER, tmp_path / "tests" / "server.py")
    ended = run_in(tmp_path, "tests")
    assert (ended.code, ended.err) == (0, "")


def test_mistakes_in_our_own_config_are_not_evaded(tmp_path: Path) -> None:
    write_client(tmp_path, {"a": local()})
    (tmp_path / "a.test.mcp.yml").write_text(json.dumps(UNITS), encoding="utf-8")
    (tmp_path / "conductor.config.json").write_text('{"name": "own"}', encoding="utf-8")
    ended = run_in(tmp_path)
    assert (ended.code, (tmp_path / "seen.json").exists()) == (2, False)


def test_a_server_is_not_chosen_for_files_that_name_their_own(tmp_path: Path) -> None:
    write_client(tmp_path, TWO)
    own = {"name": "own", **local()}
    (tmp_path / "a.test.mcp.yml").write_text(json.dumps(UNITS | {"server": own}), encoding="utf-8")
    ended = run_in(tmp_path, "--server", "shop")
    assert ended.code == 2
    assert "error: --server chooses a server of a config, and no test here needs one\n" in ended.err
