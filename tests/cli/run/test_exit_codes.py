"""The exit status of the whole command, for every ending a user can meet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console import case, mcptest, write_config, write_suite

from mcptest.cli.commands.run import COMMAND
from mcptest.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest.cli.options import Arguments


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "good.test.mcp.yml", case("one"), case("two"))
    write_suite(tmp_path / "bad.test.mcp.yml", case("three", wants={}))
    return tmp_path


def test_a_run_in_which_everything_passed_is_0(folder: Path) -> None:
    ended = mcptest(folder, "run", "good.test.mcp.yml")
    assert (ended.code, ended.err) == (0, "")
    assert "2 tests: 2 passed" in ended.out


def test_a_failed_expectation_is_1(folder: Path) -> None:
    ended = mcptest(folder, "run")
    assert (ended.code, ended.err) == (1, "")
    assert "3 tests: 2 passed, 1 failed" in ended.out


def test_a_server_that_dies_in_the_middle_is_1(folder: Path) -> None:
    write_suite(folder / "bad.test.mcp.yml", case("dies", "die"))
    ended = mcptest(folder, "run", "bad.test.mcp.yml", "good.test.mcp.yml")
    assert ended.code == 1
    assert "3 tests: 2 passed, 1 error" in ended.out


@pytest.mark.parametrize(
    ("words", "diagnostic"),
    [
        (("run", "nope.test.mcp.yml"), "there is no file or folder 'nope.test.mcp.yml'"),
        (
            ("run", "[z-a].yml"),
            "'[z-a].yml' is not a pattern for file names: bad character range z-a",
        ),
        (("validate", "t/[9-0]*/*.yml"), "bad character range 9-0"),
        (("docs", "[z-a].yml"), "bad character range z-a"),
        (("run", "--config", "nope.json"), "there is no config file 'nope.json'"),
        (("run", "--config", "."), "= help: the config in it is conductor.config.json"),
        (("run", "--nope"), "mcptest run has no option --nope"),
        (("run", "--timeout", "0"), "--timeout must be more than 0 and at most 24 hours"),
        (("run", "--timeout", "soon"), "--timeout must be a number of milliseconds or a text"),
        (("run", "--timeout"), "--timeout needs a value: --timeout TIME"),
        (("run", "--timeout", "1s", "--timeout", "2s"), "--timeout is given twice"),
        (("run", "--shard", "3/2"), "--shard takes I/N, part I of N, such as 2/3, not '3/2'"),
        (("run", "--shard", "0/2"), "--shard takes I/N"),
        (("run", "-j", "0"), "--parallel takes a number from 1 to 256 or auto, not '0'"),
        (("run", "-j", "many"), "--parallel takes a number from 1 to 256 or auto, not 'many'"),
        (("run", "--retries", "-1"), "--retries takes a number from 0 to 100, not '-1'"),
        (("run", "--min-coverage", "0"), "--min-coverage takes a number above 0 and up to 100"),
        (("run", "--min-coverage", "101"), "--min-coverage takes a number above 0 and up to 100"),
        (("run", "--json=yes"), "--json is a flag and takes no value"),
        (("run", "--server-command", "'"), "--server-command cannot be split"),
        (("run", "--server-command", ""), "--server-command is empty"),
        (
            ("run", "--server-command", "x", "--config", "y"),
            "--server-command and --config both name a server",
        ),
        (("run", "--reporter", "nope"), "there is no reporter 'nope'"),
        (("run", "--reporter", "terminal=x"), "the terminal report goes to standard output"),
        (("run", "--json", "--reporter", "junit"), "cannot both go to standard output"),
        (("nope",), "there is no command 'nope'"),
        (("eval", "mcptest.yaml"), "this version has no command mcptest eval"),
    ],
)
def test_bad_usage_is_2_and_says_what_is_wrong(
    folder: Path, words: tuple[str, ...], diagnostic: str
) -> None:
    ended = mcptest(folder, *words)
    assert ended.code == 2
    assert ended.err.startswith(f"error: {diagnostic}") or diagnostic in ended.err
    assert "Traceback" not in ended.err


def test_mistakes_in_the_files_are_2_and_nothing_is_started(folder: Path) -> None:
    write_config(folder / "conductor.config.json", str(folder / "started"))
    (folder / "wrong.test.mcp.yml").write_text("tests: []\n", encoding="utf-8")
    ended = mcptest(folder, "run")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        'error[F007]: a test file needs the key "description"\n'
        " --> wrong.test.mcp.yml:1:1\n"
        "  |\n"
        "1 | tests: []\n"
        "  | ^\n"
        "\n"
        'error[F011]: "tests" is empty: a file without tests checks nothing\n'
        " --> wrong.test.mcp.yml:1:1\n"
        "  |\n"
        "1 | tests: []\n"
        "  | ^^^^^\n"
        "\n"
        "2 mistakes in the files given; nothing was started\n"
    )
    assert not (folder / "started").exists()


@pytest.mark.parametrize(
    "command", [{"command": "no-such-program-anywhere"}, {"args": ["-c", "raise SystemExit(5)"]}]
)
def test_a_server_that_cannot_be_started_is_3(folder: Path, command: dict[str, object]) -> None:
    write_config(folder / "conductor.config.json", **command)
    ended = mcptest(folder, "run")
    assert ended.code == 3
    assert "no tests ran" in ended.out


def test_a_server_that_never_answers_initialize_is_3(folder: Path) -> None:
    sleepy = {"args": ["-c", "import sys; sys.stdin.read()"], "startupTimeout": 300}
    write_config(folder / "conductor.config.json", **sleepy)
    ended = mcptest(folder, "run")
    assert ended.code == 3
    assert "did not answer initialize within 300 ms" in ended.out


def test_a_command_with_shell_characters_is_never_given_to_a_shell(folder: Path) -> None:
    write_config(folder / "conductor.config.json", command="touch pwned;", args=[])
    assert mcptest(folder, "run").code == 3
    assert mcptest(folder, "run", "--server-command", "touch pwned; true").code == 3
    assert not (folder / "pwned").exists()


@pytest.mark.parametrize("words", [("run", "*.nope"), ("run", "-k", "nope"), ("validate", "*.no")])
def test_nothing_selected_is_7(folder: Path, words: tuple[str, ...]) -> None:
    ended = mcptest(folder, *words)
    assert (ended.code, ended.out) == (7, "")
    assert ended.err.startswith("error: no test ")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_fault_of_ours_is_4_with_a_traceback_and_a_plea(
    as_json: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(_: Arguments) -> int:
        raise ZeroDivisionError("we cannot count")

    monkeypatch.setattr("mcptest.cli.commands.run.COMMAND", COMMAND.but(run=broken))
    assert main(["run", "x", *(["--json"] if as_json else [])]) == 4
    out, err = capfd.readouterr()
    assert "ZeroDivisionError: we cannot count" in err
    assert "This is a fault of mcptest" in err
    assert "Please report it" in err
    assert ('"kind": "internal"' in out) is as_json


def test_a_fault_of_ours_does_not_leave_an_old_report_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("we cannot count")

    (folder / "report.json").write_text("old", encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("mcptest.engine.run.run_plan", broken)
    assert main(["run", ".", "--reporter", "json=report.json"]) == 4
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report["error"]["kind"] == "internal"
    assert "we cannot count" in report["error"]["message"]
    assert "ZeroDivisionError" in capfd.readouterr().err
