"""What `mcptest run` adds by itself in GitHub Actions, and what it does not."""

from __future__ import annotations

import os
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from console import Ended, case, mcptest, write_config, write_suite

ERROR = "::error file=a.test.mcp.yml,line=24,title=bad failed::result.say: "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "a.test.mcp.yml", case("good"), case("bad", wants={}))
    (tmp_path / "summary.md").write_text("before\n", encoding="utf-8")
    return tmp_path


def run(folder: Path, *words: str, **environment: str) -> Ended:
    path = str(folder / "summary.md")
    return mcptest(
        folder,
        "run",
        *words,
        **{"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": path, **environment},
    )


def summary(folder: Path) -> str:
    return (folder / "summary.md").read_text(encoding="utf-8")


def test_annotations_go_to_standard_error_and_a_summary_is_appended(folder: Path) -> None:
    ended = run(folder)
    assert ended.code == 1
    assert "2 tests: 1 passed, 1 failed" in ended.out
    assert "::" not in ended.out
    assert ended.err.startswith(ERROR)
    assert "::group::" not in ended.err
    assert summary(folder).startswith("before\n## mcptest: 1 of 2 tests did not pass")


def test_json_on_standard_output_stays_json(folder: Path) -> None:
    ended = run(folder, "--json")
    assert ended.report()["summary"]["failed"] == 1
    assert ended.err.startswith(ERROR)


def test_a_run_that_cannot_begin_is_annotated(folder: Path) -> None:
    (folder / "a.test.mcp.yml").write_text("tests: 5\n", encoding="utf-8")
    ended = run(folder, "--json")
    assert ended.code == 2
    assert ended.report()["error"]["kind"] == "bad_file"
    assert ended.err.startswith("::error file=a.test.mcp.yml,line=1")
    assert "no test could run" in summary(folder)


def test_nothing_is_said_twice(folder: Path) -> None:
    ended = run(folder, "--reporter", "github", "--reporter", f"markdown={folder}/summary.md")
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.count(ERROR) == 1
    assert summary(folder).count("## mcptest") == 1


@pytest.mark.parametrize(
    ("words", "environment"),
    [(("--no-github",), {}), ((), {"GITHUB_ACTIONS": ""}), ((), {"GITHUB_ACTIONS": "false"})],
)
def test_it_can_be_switched_off(
    folder: Path, words: tuple[str, ...], environment: dict[str, str]
) -> None:
    ended = run(folder, *words, **environment)
    assert (ended.code, ended.err, summary(folder)) == (1, "", "before\n")


def test_a_summary_that_does_not_exist_changes_nothing(folder: Path) -> None:
    ended = run(folder, "-k", "good", GITHUB_STEP_SUMMARY=str(folder / "no" / "summary.md"))
    assert (ended.code, ended.err) == (0, "")


def test_a_summary_path_that_is_not_a_file_does_not_stop_the_run(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for path in (folder / "pipe", folder, Path("/dev/full")):
        ended = run(folder, "-k", "good", GITHUB_STEP_SUMMARY=str(path))
        assert (ended.code, ended.err) == (0, "")


def test_a_pipe_that_is_given_as_the_summary_gets_the_report(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    with Popen(["cat", str(pipe)], stdout=PIPE, encoding="utf-8") as reader:
        words = ("-k", "good", "--reporter", f"markdown={pipe}")
        assert run(folder, *words, GITHUB_STEP_SUMMARY=str(pipe)).code == 0
        assert reader.communicate()[0].startswith("## mcptest: ")


def test_no_string_of_a_server_is_a_command(folder: Path) -> None:
    evil = "x\n::set-output name=a::b"
    write_suite(folder / "a.test.mcp.yml", case("bad", params={"say": evil}, wants={"say": "y"}))
    ended = run(folder)
    assert ended.code == 1
    assert not any(line.startswith("::set") for line in (ended.out + ended.err).splitlines())
