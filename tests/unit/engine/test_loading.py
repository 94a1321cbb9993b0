"""From file names to a plan: which server, which cases, and every mistake in one go."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcptest.core.errors import FormatError, NothingSelectedError
from mcptest.engine.loading import Wanted, load_plan, load_suites
from mcptest.engine.selection import Selection

CONFIG = {"name": "from config", "command": "node", "args": ["a.js"]}
SUITE = """\
description: Weather
tests:
  - it: says sunny
    request: {id: 1}
    expect: {response: {id: 1}}
  - it: says rain
    request: {id: 2}
    expect: {response: {id: 2}}
"""
SERVER = "server: {name: from file, command: python3, args: []}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.test.mcp.yml").write_text(SUITE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_config(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(CONFIG | changes), encoding="utf-8")


# Which server


def test_a_config_on_the_command_line_wins_over_the_one_in_the_folder(folder: Path) -> None:
    write_config(folder / "conductor.config.json")
    write_config(folder / "sub" / "other.json", name="other")
    ((_, spec),) = load_plan(Wanted(paths=("sub",), config="sub/other.json"), {}).suites
    assert (spec.name, spec.cwd) == ("other", str(folder / "sub"))


def test_a_command_on_the_command_line_wins_over_everything(folder: Path) -> None:
    write_config(folder / "conductor.config.json")
    (folder / "sub" / "b.test.mcp.yml").write_text(SERVER + SUITE, encoding="utf-8")
    wanted = Wanted(paths=("sub",), server_command=("/usr/bin/node", "b.js"))
    specs = [spec for _, spec in load_plan(wanted, {}).suites]
    assert [(spec.name, spec.command, spec.startup_timeout_s) for spec in specs] == [
        ("node", ("/usr/bin/node", "b.js"), 5.0)
    ] * 2


def test_a_package_runner_on_the_command_line_gets_time_to_fetch(folder: Path) -> None:
    wanted = Wanted(paths=("sub",), server_command=("npx", "some-server"))
    ((_, spec),) = load_plan(wanted, {}).suites
    assert spec.startup_timeout_s == 20.0


def test_the_server_of_a_file_wins_over_a_config_that_lies_in_the_folder(folder: Path) -> None:
    write_config(folder / "conductor.config.json")
    (folder / "sub" / "b.test.mcp.yml").write_text(SERVER + SUITE, encoding="utf-8")
    specs = [spec for _, spec in load_plan(Wanted(paths=("sub",)), {}).suites]
    assert [spec.name for spec in specs] == ["from config", "from file"]
    assert specs[1].cwd == str(folder / "sub")


def test_the_server_of_a_file_gives_way_to_a_config_on_the_command_line(folder: Path) -> None:
    write_config(folder / "given.json")
    (folder / "sub" / "a.test.mcp.yml").write_text(SERVER + SUITE, encoding="utf-8")
    ((_, spec),) = load_plan(Wanted(paths=("sub",), config="given.json"), {}).suites
    assert spec.name == "from config"


# Its working folder


@pytest.mark.parametrize(
    ("cwd", "exists", "expected"),
    [
        ("", (), "conf"),
        ("here", ("conf/here",), "conf/here"),
        ("here", ("here",), "here"),
        ("here", ("conf/here", "here"), "conf/here"),
        ("nowhere", (), "conf/nowhere"),
        ("..", (), "."),
        (".", (), "conf"),
    ],
)
def test_a_relative_folder_is_taken_from_the_config_else_from_where_we_started(
    folder: Path, cwd: str, exists: tuple[str, ...], expected: str
) -> None:
    for name in ("conf", *exists):
        (folder / name).mkdir()
    write_config(folder / "conf" / "c.json", cwd=cwd)
    ((_, spec),) = load_plan(Wanted(paths=("sub",), config="conf/c.json"), {}).suites
    assert spec.cwd == os.path.normpath(folder / expected)


def test_an_absolute_folder_is_taken_as_it_is(folder: Path) -> None:
    write_config(folder / "c.json", cwd="/usr")
    ((_, spec),) = load_plan(Wanted(paths=("sub",), config="c.json"), {}).suites
    assert spec.cwd == "/usr"


# Which cases


def test_a_filter_that_matches_nothing_selects_nothing(folder: Path) -> None:
    write_config(folder / "conductor.config.json")
    with pytest.raises(
        NothingSelectedError, match=r"^no test matches the filter 'snow' \(of \d+ in all\)$"
    ):
        load_plan(Wanted(paths=("sub",), selection=Selection(filters=("snow",))), {})


def test_a_timeout_on_the_command_line_wins_over_the_config(folder: Path) -> None:
    write_config(folder / "conductor.config.json", timeout=1000)
    ((_, spec),) = load_plan(Wanted(paths=("sub",), timeout_s=7.0), {}).suites
    assert spec.timeout_s == 7.0


# Mistakes


def test_the_mistakes_of_all_files_and_the_config_are_reported_together(folder: Path) -> None:
    (folder / "sub" / "b.test.mcp.yml").write_text("descripton: d\ntests: []\n", encoding="utf-8")
    (folder / "sub" / "c.test.mcp.yml").write_bytes(b"\xff")
    (folder / "conductor.config.json").write_text('{"name": 5}', encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        load_plan(Wanted(paths=("sub",)), {})
    assert [(found.file, found.code) for found in caught.value.diagnostics] == [
        ("sub/b.test.mcp.yml", "F006"),
        ("sub/b.test.mcp.yml", "F011"),
        ("sub/c.test.mcp.yml", "F001"),
        ("conductor.config.json", "F007"),
        ("conductor.config.json", "F007"),
        ("conductor.config.json", "F008"),
    ]


def test_warnings_and_secrets_are_kept_with_the_plan(folder: Path) -> None:
    write_config(folder / "conductor.config.json", env={"KEY": "${TOKEN}"}, notes=None)
    plan = load_plan(Wanted(paths=("sub",)), {"TOKEN": "s3cret"})
    assert [warning.code for warning in plan.warnings] == ["W001"]
    assert plan.secrets == ("s3cret",)


def test_suites_can_be_loaded_without_any_server(folder: Path) -> None:
    assert folder.exists()
    suites, mistakes, warnings = load_suites(Wanted(paths=("sub",)), {})
    assert ([suite.name for suite in suites], mistakes, warnings) == (["Weather"], [], [])
