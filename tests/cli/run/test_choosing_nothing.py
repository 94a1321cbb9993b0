"""A part of what was asked for that selects nothing: named, and then nothing runs at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from console import Ended, case, conductor, mcptest, write_config, write_suite

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "good.test.mcp.yml"
ENDINGS = "test files end in .test.mcp.yml, _test.yaml, .cases.yaml or mcptest.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a test that passes and a folder without tests; another one beside it."""
    here = tmp_path / "here"
    write_config(here / "conductor.config.json")
    write_suite(here / GOOD, case("works"))
    (here / "empty").mkdir()
    (here / "empty" / "notes.txt").write_text("none", encoding="utf-8")
    write_suite(tmp_path / "there" / "deep" / "other.test.mcp.yml", case("works elsewhere"))
    return here


def refused(ended: Ended, *messages: str, code: int = 7) -> None:
    assert ended.code == code
    assert ended.out == ""
    for message in messages:
        assert message in ended.err


def passes(folder: Path, *words: str, total: int = 1) -> None:
    ended = mcptest(folder, "run", *words)
    assert (ended.code, ended.err) == (0, "")
    assert f"{total} test{'s' if total > 1 else ''}: {total} passed" in ended.out


# Globs and folders


@pytest.mark.parametrize("nothing", ["empty/*.yml", "*.nope", "empty", "empty/", "empty/**"])
def test_a_path_that_selects_nothing_beside_a_valid_one_is_named(
    folder: Path, nothing: str
) -> None:
    message = f"error: no test file found in {nothing}; {ENDINGS}\n"
    refused(mcptest(folder, "run", GOOD, nothing), message)
    refused(mcptest(folder, "run", nothing, GOOD), message)
    refused(mcptest(folder, "validate", GOOD, nothing), message)
    refused(conductor(folder, GOOD, nothing), message)


def test_a_glob_in_a_folder_that_does_not_exist_selects_nothing(folder: Path) -> None:
    where = "no test file found in nothing/*.yml (there is no folder 'nothing'); test files"
    refused(mcptest(folder, "run", GOOD, "nothing/*.yml"), where)
    refused(mcptest(folder, "run", "nothing/*.yml"), where)


def test_all_of_them_are_named(folder: Path) -> None:
    refused(mcptest(folder, "run", "a*.yml", GOOD, "empty"), "no test file found in a*.yml, empty;")


def test_the_json_report_says_it(folder: Path) -> None:
    ended = mcptest(folder, "run", GOOD, "empty", "--json")
    report = ended.report()
    assert (ended.code, report["error"]["kind"], report["suites"]) == (7, "nothing_selected", [])


def test_a_path_that_does_not_exist_is_bad_usage_before_that(folder: Path) -> None:
    refused(mcptest(folder, "run", GOOD, "empty", "nope.yml"), "no file or folder", code=2)


def test_paths_may_name_the_same_files(folder: Path) -> None:
    passes(folder, GOOD, "*.test.mcp.yml", ".")


# Files that cannot be read


@pytest.mark.parametrize("path", [".", "*", "**", "*.test.mcp.yml", "**/*.test.mcp.yml"])
def test_a_test_file_whose_link_leads_nowhere_is_named(folder: Path, path: str) -> None:
    os.symlink("../lost.test.mcp.yml", folder / "gone.test.mcp.yml")
    message = "gone.test.mcp.yml is a symbolic link to ../lost.test.mcp.yml, which does not exist"
    refused(mcptest(folder, "run", path), f"error: {message}\n")
    refused(mcptest(folder, "validate", path), f"error: {message}\n")
    refused(mcptest(folder, "run", GOOD, path), message)


def test_a_link_that_leads_nowhere_is_bad_usage_when_it_is_named(folder: Path) -> None:
    os.symlink("../lost.test.mcp.yml", folder / "gone.test.mcp.yml")
    ended = mcptest(folder, "run", GOOD, "gone.test.mcp.yml")
    refused(ended, "gone.test.mcp.yml is a symbolic link to ../lost.test.mcp.yml", code=2)


LOOP = "skipped loop.test.mcp.yml: it is a symbolic link that leads in a circle"
PIPE = "skipped pipe.test.mcp.yml: it is not a regular file"


@pytest.mark.parametrize("path", [".", "*", "*.test.mcp.yml"])
def test_a_link_to_itself_and_a_pipe_are_skipped_with_a_note(folder: Path, path: str) -> None:
    os.symlink("loop.test.mcp.yml", folder / "loop.test.mcp.yml")
    os.mkfifo(folder / "pipe.test.mcp.yml")
    for command in ("run", "validate"):
        ended = mcptest(folder, command, path)
        assert (ended.code, ended.err) == (0, f"note: {LOOP}\nnote: {PIPE}\n")
    for name in ("loop", "pipe"):
        refused(mcptest(folder, "run", f"{name}.test.mcp.yml"), f"{name}.test.mcp.yml", code=2)


def test_where_there_is_nothing_else_nothing_is_selected(folder: Path) -> None:
    os.mkfifo(folder / "empty" / "pipe.test.mcp.yml")
    message = "no test file found in empty"
    refused(mcptest(folder, "run", "empty"), message, PIPE.replace("pipe", "empty/pipe"))


def test_a_link_to_a_test_file_is_that_file(folder: Path) -> None:
    os.symlink("../there/deep/other.test.mcp.yml", folder / "other.test.mcp.yml")
    passes(folder, total=2)


def test_other_links_that_lead_nowhere_are_nobodys_business(folder: Path) -> None:
    for name in ("README.md", "server", "data.yml", ".hidden.yml"):
        os.symlink("lost", folder / name)
    for parent in ("node_modules/.bin", ".cache", "__pycache__"):
        (folder / parent).mkdir(parents=True)
        os.symlink("lost", folder / parent / "x.test.mcp.yml")
    passes(folder)
    passes(folder, "*")
    passes(folder, "**/*.test.mcp.yml")


# Linked folders


@pytest.mark.parametrize("path", [".", "**/*.test.mcp.yml"])
def test_a_linked_folder_with_tests_that_would_not_run_is_named(folder: Path, path: str) -> None:
    os.symlink("../there", folder / "linked")
    message = (
        "linked is a symbolic link to a folder, which is not followed, and "
        "linked/deep/other.test.mcp.yml is in it: name the folder itself too, or remove the link"
    )
    refused(mcptest(folder, "run", path), f"error: {message}\n")
    refused(mcptest(folder, "validate", path), f"error: {message}\n")
    refused(conductor(folder, path), message)


@pytest.mark.parametrize("named", ["linked", "../there", "linked/deep/*.yml"])
def test_a_linked_folder_that_is_named_as_well_is_run(folder: Path, named: str) -> None:
    os.symlink("../there", folder / "linked")
    passes(folder, ".", named, total=2)


def test_a_linked_folder_that_is_named_alone_is_followed(folder: Path) -> None:
    os.symlink("../there", folder / "linked")
    passes(folder, "linked", "--config", "conductor.config.json")


def test_links_to_folders_without_tests_of_their_own_are_silent(folder: Path) -> None:
    (folder / "sub").mkdir()
    write_suite(folder / "sub" / "in.test.mcp.yml", case("works inside"))
    os.symlink("empty", folder / "to-empty")
    os.symlink("sub", folder / "to-sub")  # its tests run anyway
    os.symlink("..", folder / "sub" / "up")  # a circle
    os.symlink(".", folder / "self")
    os.symlink("../there", folder / ".hidden")
    os.symlink("../there", folder / "node_modules")
    os.symlink("nowhere", folder / "sub" / "lost")
    passes(folder, total=2)
    passes(folder, "**/*.test.mcp.yml", total=2)


def test_a_linked_folder_that_a_glob_does_not_reach_is_silent(folder: Path) -> None:
    os.symlink("../there", folder / "linked")
    passes(folder, "*.test.mcp.yml")
    passes(folder, "g*")


def test_a_linked_folder_is_searched_within_bounds(folder: Path) -> None:
    """Links behind the link are not followed, and unreadable folders are skipped."""
    there = folder.parent / "data"
    there.mkdir()
    os.symlink(".", there / "self")
    os.symlink("../there", there / "further")
    (there / "closed").mkdir(mode=0o000)
    os.symlink("../data", folder / "linked")
    passes(folder)
