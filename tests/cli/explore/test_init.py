"""`mcptest init`: what a new project starts with, and never at the cost of what is there."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from console import mcptest

from mcptest.core.project import schema_comment

EXAMPLE = Path(__file__).parents[3] / "examples" / "filesystem"
SERVERS = Path(__file__).parents[2] / "servers"
FILES = (
    "conductor.config.json",
    "tests/first.test.mcp.yml",
    ".github/workflows/mcptest.yml",
)


def files_in(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_folder_with_a_server_gets_everything_and_the_output_says_what_was_assumed(
    tmp_path: Path,
) -> None:
    (tmp_path / "server.py").touch()
    ended = mcptest(tmp_path, "init")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        *(f"wrote {path}" for path in FILES),
        "",
        "the server is started with: python3 server.py",
        "  (there is a server.py)",
        "",
        "next:",
        "  mcptest run",
        "  mcptest discover -o tests/server.test.mcp.yml",
    ]
    assert sorted(files_in(tmp_path)) == sorted([*FILES, "server.py"])
    assert mcptest(tmp_path, "validate", "tests").code == 0


def test_no_second_config_is_written_beside_that_of_a_client(tmp_path: Path) -> None:
    command = {"command": "python3", "args": [str(EXAMPLE / "server.py"), str(EXAMPLE)]}
    config = tmp_path / ".mcp.json"
    config.write_text(json.dumps({"mcpServers": {"files": command}}), encoding="utf-8")
    ended = mcptest(tmp_path, "init")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        *(f"wrote {path}" for path in FILES[1:]),
        "left .mcp.json as it is",
        "",
        "the server is the one that .mcp.json describes",
        "",
        "next:",
        "  mcptest run",
        "  mcptest discover -o tests/server.test.mcp.yml",
    ]
    assert mcptest(tmp_path, "run").code == 0


@pytest.mark.parametrize("servers", [{}, {"a": {"command": "x"}, "b": {"command": "y"}}])
def test_the_config_of_a_client_without_exactly_one_server_is_not_used(
    tmp_path: Path, servers: dict[str, object]
) -> None:
    config = tmp_path / ".mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    ended = mcptest(tmp_path, "init")
    assert ended.code == 0
    assert ended.out.startswith("wrote conductor.config.json\n")


def test_an_empty_folder_gets_something_to_fill_in(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "init")
    assert ended.code == 0
    assert ended.out.splitlines()[len(FILES) + 1 :] == [
        "the server is started with: python3 server.py",
        '  (nothing here says how the server is started; "command" and "args" in '
        "conductor.config.json are only a guess)",
        "",
        "next:",
        '  put what starts the server into "command" and "args" in conductor.config.json',
        "  mcptest run",
        "  mcptest discover -o tests/server.test.mcp.yml",
    ]


def test_with_an_existing_config_there_is_no_advice_to_fill_it_in(tmp_path: Path) -> None:
    (tmp_path / "conductor.config.json").write_text("{}", encoding="utf-8")
    ended = mcptest(tmp_path, "init")
    assert (ended.code, "put what starts the server" in ended.out) == (0, False)


def test_a_command_gives_a_first_suite_that_passes_at_once(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "server.py", tmp_path / "my_server.py")
    shutil.copytree(EXAMPLE / "test-data", tmp_path / "data")
    ended = mcptest(tmp_path, "init", "--", sys.executable, "my_server.py", "data")
    assert ended.code == 0
    config = json.loads((tmp_path / FILES[0]).read_text(encoding="utf-8"))
    assert config["args"] == ["my_server.py", "data"]
    text = (tmp_path / FILES[1]).read_text(encoding="utf-8")
    assert text.startswith(schema_comment("conductor"))
    assert "\nserver:" not in text
    report = mcptest(tmp_path, "run", "--json")
    assert report.code == 0
    assert report.report()["summary"]["passed"] >= 2


def test_a_command_that_does_not_start_is_exit_3_and_the_files_are_there(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "init", "--", "no-such-program")
    assert ended.code == 3
    assert "spawn_failed" in ended.err
    assert sorted(files_in(tmp_path)) == sorted(FILES)


def test_with_a_command_the_next_steps_do_not_mention_discover(tmp_path: Path) -> None:
    shutil.copy(SERVERS / "tiny_server.py", tmp_path / "server.py")
    ended = mcptest(tmp_path, "init", "--", sys.executable, "server.py")
    _, _, after = ended.out.partition("next:\n")
    assert after.splitlines() == [
        "  mcptest run",
        "  put the values that matter into tests/first.test.mcp.yml: it expects only their types",
    ]


def test_the_workflow_passes_the_credentials_that_the_config_needs(tmp_path: Path) -> None:
    shutil.copy(SERVERS / "tiny_server.py", tmp_path / "server.py")
    words = ("--api-key", "abc-123-def", "ghp_abcdef123456")
    ended = mcptest(tmp_path, "init", "--", sys.executable, "server.py", *words)
    assert ended.code == 0
    files = files_in(tmp_path)
    assert not any(word in text for text in files.values() for word in words[1:])
    env = 'env:\n          API_KEY: "${{ secrets.API_KEY }}"\n          GITHUB_TOKEN: '
    assert f'{env}"${{{{ secrets.MCP_GITHUB_TOKEN }}}}"\n' in files[FILES[2]]
    said = "note: the workflow takes API_KEY from a secret; set it: gh secret set API_KEY\n"
    assert said in ended.err
    assert "set it: gh secret set MCP_GITHUB_TOKEN\n" in ended.err


def test_a_workflow_that_is_there_is_said_to_lack_the_credentials(tmp_path: Path) -> None:
    shutil.copy(SERVERS / "tiny_server.py", tmp_path / "server.py")
    (tmp_path / FILES[2]).parent.mkdir(parents=True)
    (tmp_path / FILES[2]).write_text("mine", encoding="utf-8")
    ended = mcptest(tmp_path, "init", "--", sys.executable, "server.py", "--api-key=abc-123-def")
    assert "add to env: API_KEY: ${{ secrets.API_KEY }}\n" in ended.err


@pytest.mark.parametrize("kept", FILES)
def test_existing_files_are_not_changed(tmp_path: Path, kept: str) -> None:
    (tmp_path / kept).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / kept).write_text("mine", encoding="utf-8")
    ended = mcptest(tmp_path, "init")
    assert ended.code == 0
    assert f"left {kept} as it is\n" in ended.out
    assert files_in(tmp_path)[kept] == "mine"
    assert sorted(files_in(tmp_path)) == sorted(FILES)


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    mcptest(tmp_path, "init")
    before = files_in(tmp_path)
    ended = mcptest(tmp_path, "init")
    assert (ended.code, files_in(tmp_path)) == (0, before)
    assert "wrote" not in ended.out


def test_a_config_of_another_name_counts_as_one(tmp_path: Path) -> None:
    (tmp_path / "mcptest.config.json").write_text("{}", encoding="utf-8")
    assert "left mcptest.config.json as it is\n" in mcptest(tmp_path, "init").out
    assert not (tmp_path / FILES[0]).exists()


@pytest.mark.parametrize(
    ("file", "wanted"),
    [("tests", "tests/first.test.mcp.yml"), (".github", ".github/workflows/mcptest.yml")],
)
def test_a_file_where_a_folder_should_be_is_reported_and_nothing_is_written(
    file: str, wanted: str, tmp_path: Path
) -> None:
    (tmp_path / file).touch()
    ended = mcptest(tmp_path, "init")
    reason = "a file is where its folder should be"
    assert (ended.code, ended.err) == (2, f"error: cannot write {wanted}: {reason}\n")
    assert [each.name for each in tmp_path.iterdir()] == [file]


def test_a_word_that_is_not_a_command_is_refused(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "init", "server.py")
    assert ended.code == 2
    assert ended.err.startswith("error: mcptest init takes no 'server.py'")
    assert list(tmp_path.iterdir()) == []
