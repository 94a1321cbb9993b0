"""`from:` in a suite: the config of another program describes the server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from client_files import SECRET, copy_example, local, seen_in, write_client, write_text
from console import mcptest

if TYPE_CHECKING:
    from pathlib import Path

    from console import Ended


def run_from(folder: Path, server: dict[str, Any], *words: str, **environment: str) -> Ended:
    """Run a suite with one server, shop, and one test that passes."""
    suite = {"servers": {"shop": server}, "tools": [{"name": "t", "tool": "units"}]}
    (folder / "mcptest.yaml").write_text(json.dumps(suite, indent=1), encoding="utf-8")
    return mcptest(folder, *(words or ("run",)), **environment)


def error_of(ended: Ended) -> str:
    assert ended.code == 2, ended.err
    return ended.err


def test_a_suite_takes_its_server_from_the_config_of_a_client(tmp_path: Path) -> None:
    folder = copy_example("vscode", tmp_path)
    ended = run_from(folder, {"from": ".vscode/mcp.json"}, WEATHER_KEY=SECRET)
    assert ended.code == 0, ended.err
    seen = seen_in(folder)
    assert (seen["cwd"], seen["env"]["WEATHER_API_KEY"]) == (str(folder), SECRET)
    assert mcptest(tmp_path, "run", "vscode", WEATHER_KEY=SECRET).code == 0


@pytest.mark.parametrize(
    ("written", "argument"), [(".mcp.json", "shop"), (".mcp.json#mail", "mail")]
)
def test_the_server_of_the_same_name_is_taken_unless_another_is_named(
    written: str, argument: str, tmp_path: Path
) -> None:
    servers = {name: local(args=["server.py", name]) for name in ("mail", "shop")}
    write_client(tmp_path, servers)
    assert run_from(tmp_path, {"from": written}).code == 0
    assert seen_in(tmp_path)["argv"] == [argument]


def test_the_suite_adds_variables_and_settings(tmp_path: Path) -> None:
    write_client(tmp_path, {"a": local(env={"A": "theirs", "B": "theirs"})})
    (tmp_path / "sub").mkdir()
    keys = {"env": {"B": "ours"}, "startup_timeout": "9s", "timeout": "8s", "cwd": "sub"}
    server = {"from": ".mcp.json", **keys}
    text = (tmp_path / ".mcp.json").read_text(encoding="utf-8")
    path = tmp_path / ".mcp.json"
    path.write_text(text.replace("server.py", "${workspaceFolder}/server.py"), encoding="utf-8")
    assert run_from(tmp_path, server).code == 0
    seen = seen_in(tmp_path)
    assert (seen["env"]["A"], seen["env"]["B"]) == ("theirs", "ours")
    assert seen["cwd"] == str(tmp_path / "sub")


def test_variables_that_are_not_set_matter_only_to_tests_that_are_run(tmp_path: Path) -> None:
    write_client(tmp_path, {"a": local(env={"A": "${NOT_SET}"})})
    ended = run_from(tmp_path, {"from": ".mcp.json"})
    err = error_of(ended)
    assert "error[F016]: the environment variable 'NOT_SET' is not set\n" in err
    assert "--> .mcp.json:9:" in err
    assert run_from(tmp_path, {"from": ".mcp.json"}, "validate", "mcptest.yaml").code == 0
    assert run_from(tmp_path, {"from": ".mcp.json"}, NOT_SET="set").code == 0


def test_its_values_are_secrets_of_the_suite(tmp_path: Path) -> None:
    write_client(tmp_path, {"a": local(env={"A": SECRET})})
    suite = {
        "servers": {"shop": {"from": ".mcp.json"}},
        "tools": [
            {
                "name": "reveals",
                "tool": "reveal",
                "args": {"name": "A"},
                "expect": [{"target": "result.content[0].text", "matcher": {"exact": "b"}}],
            }
        ],
    }
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "run", "-v", "--json")
    assert ended.code == 1
    assert SECRET not in ended.out + ended.err
    assert "[secret]" in ended.out


def test_mistakes_there_have_their_place_there(tmp_path: Path) -> None:
    write_text(tmp_path, '{"mcpServers": {"a": {\n "command": 1, "colour": 1}}}')
    err = error_of(run_from(tmp_path, {"from": ".mcp.json"}))
    assert 'error[F008]: "command" must be text and is a number\n --> .mcp.json:2:13\n' in err
    assert 'warning[W004]: "colour" is not known to mcptest, and is ignored\n' in err


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({"from": "none.json"}, "cannot read 'none.json': No such file or directory"),
    "no file": ({"from": "#mail"}, '"from" names a server, and no file'),
    "several": ({"from": ".mcp.json"}, ".mcp.json has 2 servers: mail, post"),
    "other": ({"from": ".mcp.json#mial"}, ".mcp.json has no server 'mial'; did you mean mail?"),
    "both": (
        {"from": ".mcp.json#mail", "command": ["x"]},
        '"from" and "command" both say how the server is reached; give one of them',
    ),
    "headers": (
        {"from": ".mcp.json#mail", "headers": {"A": "b"}},
        '"from" and "headers" both say how the server is reached; give one of them',
    ),
    "number": ({"from": 1}, '"from" must be text and is a number'),
    "tls": ({"from": ".mcp.json#mail", "ca_file": "x"}, '"ca_file" is for a server on HTTP'),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_suite_is_reported_at_its_place(name: str, tmp_path: Path) -> None:
    server, message = MISTAKES[name]
    write_client(tmp_path, {"mail": local(), "post": local()})
    err = error_of(run_from(tmp_path, server))
    assert message in err
    assert " --> mcptest.yaml:" in err
    assert err.count("error[") == 1


def test_a_config_outside_of_the_folders_of_the_run_is_not_quoted(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "key.json").write_text('{"mcpServers": {"canary": 1}}', encoding="utf-8")
    err = error_of(run_from(inside, {"from": "../key.json"}))
    assert "canary" not in err
    assert "the config that it names has mistakes" in err
