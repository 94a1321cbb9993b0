"""No command writes through a symbolic link that leads out of the folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from console import ENVIRONMENT, PATIENCE_S, TINY_SERVER, Ended, case, mcptest, write_config
from console import write_suite as write_conductor

SCRIPTED = str(Path(__file__).parents[2] / "servers" / "scripted_server.py")
SERVER = ("--", sys.executable, str(TINY_SERVER))
MINE = "mine"
LOG = (
    '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    '{"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}\n'
)
CONTRACT = (
    'case: pings\nin: {"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    'out: {"jsonrpc": "2.0", "id": 1, "result": {}}\n'
)
CALL = CONTRACT.replace('"ping"', '"tools/call", "params": {"name": "t", "arguments": {}}')
SNAPSHOT = {"target": "result", "matcher": {"snapshot": True}}

# Every command that writes a file, with the name of that file as its last word.
WRITERS = [
    ("run", "--junit", "out.xml"),
    ("run", "--reporter", "json=out.json"),
    ("run", "--reporter", "ndjson=out.ndjson"),
    ("run", "--capture", "out.json"),
    ("report", "run.json", "--format", "html", "-o", "out.html"),
    ("docs", "a.cases.yaml", "-o", "out.md"),
    ("schema", "suite", "--force", "-o", "out.json"),
    ("cases", "from", "log.ndjson", "--force", "-o", "out.cases.yaml"),
    ("migrate", "call.cases.yaml", "--force", "-o", "out.mcptest.yaml"),
    ("mock", "a.cases.yaml", "--report", "out.json"),
    ("discover", "--force", "-o", "out.test.mcp.yml"),
    ("record", "-o", "out.json"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    write_config(folder / "conductor.config.json", str(tmp_path / "started"))
    write_conductor(folder / "a.test.mcp.yml", case("good"))
    (folder / "a.cases.yaml").write_text(CONTRACT, encoding="utf-8")
    (folder / "call.cases.yaml").write_text(CALL, encoding="utf-8")
    (folder / "log.ndjson").write_text(LOG, encoding="utf-8")
    return folder


def write(project: Path, words: tuple[str, ...]) -> Ended:
    """Run a command that writes a file; the report that it renders may have to be made first."""
    if words[0] == "report":
        mcptest(project, "run", "a.test.mcp.yml", "--reporter", "json=run.json")
        (project.parent / "started").unlink()
    server = SERVER if words[0] in ("discover", "record") else ()
    files = ("a.test.mcp.yml",) if words[0] == "run" else ()
    return mcptest(project, words[0], *files, *words[1:], *server)


@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_a_link_out_of_its_folder_is_refused(project: Path, words: tuple[str, ...]) -> None:
    outside = project.parent / "precious"
    outside.write_text(MINE, encoding="utf-8")
    name = words[-1].rpartition("=")[2]
    (project / name).symlink_to(outside)
    ended = write(project, words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"error: cannot write {name}: the link {name} leads out of its folder, to {outside}; "
        "name that file itself, or remove the link\n"
    )
    assert outside.read_text(encoding="utf-8") == MINE
    assert not (project.parent / "started").exists()


@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_a_link_within_its_folder_is_followed(project: Path, words: tuple[str, ...]) -> None:
    name = words[-1].rpartition("=")[2]
    inside = project / "archive" / name
    inside.parent.mkdir()
    inside.write_text(MINE, encoding="utf-8")
    (project / name).symlink_to(f"archive/{name}")
    ended = write(project, words)
    assert ended.code == 0, ended.err
    assert (project / name).is_symlink()
    assert inside.read_text(encoding="utf-8") != MINE


def test_a_link_to_nothing_makes_no_file_outside(project: Path) -> None:
    (project / "out.xml").symlink_to(project.parent / "new.xml")
    ended = mcptest(project, "run", "a.test.mcp.yml", "--junit", "out.xml")
    assert ended.code == 2
    assert "the link out.xml leads out of its folder" in ended.err
    assert not (project.parent / "new.xml").exists()


def test_a_folder_that_the_user_named_may_be_a_link(project: Path) -> None:
    (project.parent / "reports").mkdir()
    (project / "reports").symlink_to(project.parent / "reports")
    ended = mcptest(project, "run", "a.test.mcp.yml", "--junit", "reports/out.xml")
    assert ended.code == 0
    assert (project.parent / "reports" / "out.xml").is_file()


# Devices and pipes


@pytest.mark.parametrize("name", ["/dev/null", "link"])
def test_a_device_is_written_to_also_through_a_link(project: Path, name: str) -> None:
    (project / "link").symlink_to("/dev/null")
    ended = mcptest(project, "run", "a.test.mcp.yml", "--junit", name)
    assert (ended.code, ended.err) == (0, "")
    assert (project / "link").is_symlink()


@pytest.mark.parametrize("is_file", [True, False], ids=["file", "pipe"])
def test_standard_output_is_a_file_name_as_well(project: Path, is_file: bool) -> None:
    argv = [sys.executable, "-m", "mcptest", "docs", "a.cases.yaml", "-o", "/dev/stdout"]
    with (project.parent / "redirected").open("wb") as file:
        ended = subprocess.run(
            argv,
            cwd=project,
            env=ENVIRONMENT,
            stdout=file if is_file else subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"wrote /dev/stdout\n")
    written = (project.parent / "redirected").read_bytes() if is_file else ended.stdout
    assert b"pings" in written


def test_a_descriptor_of_the_shell_is_written_to(project: Path) -> None:
    read, write = os.pipe()
    ended = subprocess.run(
        [sys.executable, "-m", "mcptest", "docs", "a.cases.yaml", "-o", f"/dev/fd/{write}"],
        cwd=project,
        env=ENVIRONMENT,
        pass_fds=[write],
        timeout=PATIENCE_S,
        check=False,
    )
    os.close(write)
    with open(read, "rb") as pipe:
        assert b"pings" in pipe.read()
    assert ended.returncode == 0


# Paths that mcptest makes up


@pytest.mark.parametrize("link", ["tests", ".github", ".github/workflows"])
def test_init_writes_into_no_linked_folder(tmp_path: Path, link: str) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    (project / link).parent.mkdir(parents=True)
    (project / link).symlink_to(outside)
    ended = mcptest(project, "init", *SERVER, str(tmp_path / "started"))
    assert ended.code == 2
    assert f"the link {link} leads out of this folder, to {outside}" in ended.err
    assert list(outside.iterdir()) == []
    assert not (project / "conductor.config.json").exists()
    assert not (tmp_path / "started").exists()


def test_init_follows_a_linked_folder_within_this_one(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "tests").symlink_to("checks")
    assert mcptest(tmp_path, "init").code == 0
    assert (tmp_path / "checks" / "first.test.mcp.yml").is_file()


def write_snapshot_suite(folder: Path, started: Path) -> None:
    command = [sys.executable, "-S", "-E", "-c", f"open({str(started)!r}, 'w'); {RUN_SCRIPTED}"]
    entry: dict[str, Any] = {"name": "a", "tool": "echo", "args": {"text": "hi"}}
    suite = {"servers": {"s": {"command": command}}, "tools": [entry | {"expect": [SNAPSHOT]}]}
    folder.mkdir(exist_ok=True)
    (folder / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")


RUN_SCRIPTED = (
    f"import sys, runpy; sys.argv = ['s', '{{}}']; "
    f"sys.path.insert(0, {str(Path(SCRIPTED).parent)!r}); "
    f"runpy.run_path({SCRIPTED!r}, run_name='__main__')"
)
STORED = "__snapshots__/mcptest.yaml.snap.yaml"


@pytest.mark.parametrize("words", [(), ("--update-snapshots",)])
@pytest.mark.parametrize("link", ["__snapshots__", STORED])
def test_snapshots_are_neither_read_nor_written_through_a_link_out_of_the_folder(
    tmp_path: Path, link: str, words: tuple[str, ...]
) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    write_snapshot_suite(project, tmp_path / "started")
    outside.mkdir()
    secret = outside / Path(STORED).name
    secret.write_text("PRIVATE KEY", encoding="utf-8")
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(outside if link == "__snapshots__" else secret)
    ended = mcptest(project, "run", *words)
    assert ended.code == 2
    where = outside if link == "__snapshots__" else secret
    assert (
        f"error[F001]: the link {link} leads out of this folder, to {where}; remove the link"
        in ended.err
    )
    assert "PRIVATE KEY" not in ended.err
    assert secret.read_text(encoding="utf-8") == "PRIVATE KEY"
    assert [each.name for each in outside.iterdir()] == [secret.name]
    assert not (tmp_path / "started").exists()


def test_a_snapshot_folder_that_becomes_a_link_during_the_run_is_not_written_to(
    tmp_path: Path,
) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    write_snapshot_suite(project, project / "__snapshots__" / "started")
    outside.mkdir()
    suite = (project / "mcptest.yaml").read_text(encoding="utf-8")
    made = f"import os; os.symlink({str(outside)!r}, {str(project / '__snapshots__')!r}); "
    (project / "mcptest.yaml").write_text(suite.replace("open(", f"{made}open("), encoding="utf-8")
    ended = mcptest(project, "run")
    assert ended.code == 1
    assert "the link __snapshots__ leads out of this folder" in ended.err
    assert [each.name for each in outside.iterdir()] == ["started"]


def test_snapshots_follow_a_link_within_the_folder(tmp_path: Path) -> None:
    write_snapshot_suite(tmp_path, tmp_path / "started")
    (tmp_path / "kept").mkdir()
    (tmp_path / "__snapshots__").symlink_to("kept")
    assert mcptest(tmp_path, "run").code == 0
    assert (tmp_path / "kept" / "mcptest.yaml.snap.yaml").is_file()
