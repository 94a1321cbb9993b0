"""What reaches the screen: help, suggestions, colour, and never a raw byte of a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from console import case, mcptest, write_config, write_suite
from terminal import on_terminal

from mcptest import __version__
from mcptest.cli.commands.registry import COMMANDS
from mcptest.cli.commands.run import COMMAND as RUN
from mcptest.cli.commands.run import CONDUCTOR_COMMAND as CONDUCTOR
from mcptest.cli.commands.validate import COMMAND as VALIDATE
from mcptest.cli.main import conductor, main

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest.cli.options import Command

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


# Help


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_the_overview_names_every_command_and_has_an_example(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name}" in out for name in COMMANDS)
    assert "\nexample:\n  mcptest run " in out


def test_without_a_command_the_overview_is_shown_and_the_exit_status_is_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 2
    assert "usage: mcptest COMMAND" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--version"], ["-V"]])
def test_the_version_is_shown(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out == f"mcptest {__version__}\n"


@pytest.mark.parametrize("command", [RUN, VALIDATE, CONDUCTOR], ids=lambda command: command.name)
def test_the_help_of_every_command_lists_its_options_and_has_an_example(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *name = command.name.split()
    assert (main if program == "mcptest" else conductor)([*name, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{command.summary}\n\nusage: {command.usage}\n")
    assert re.search(rf"\nexamples?:\n  {command.name} ", out)
    assert all(f"  {', '.join(option.names)}" in out for option in command.options)
    assert max(map(len, out.splitlines())) <= 90


def test_no_command_is_without_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        assert "example" in capsys.readouterr().out


# Suggestions


@pytest.mark.parametrize(
    ("words", "first_line"),
    [
        (["rnu"], "error: there is no command 'rnu'; did you mean 'run'?"),
        (["validat", "x"], "error: there is no command 'validat'; did you mean 'validate'?"),
        (["fly"], "error: there is no command 'fly'"),
        (["\x1b[31m"], "error: there is no command '\\\\u001b[31m'"),
        (["run", "--jsno"], "error: mcptest run has no option --jsno; did you mean --json?"),
        (["run", "--Junit=x"], "error: mcptest run has no option --Junit; did you mean --junit?"),
        (["run", "-z"], "error: mcptest run has no option -z"),
        (["run", "--completely-else"], "error: mcptest run has no option --completely-else"),
        (
            ["run", "--reporter", "jnuit"],
            "error: there is no reporter 'jnuit'; did you mean junit?",
        ),
    ],
)
def test_a_typo_on_the_command_line_gets_a_suggestion(
    words: list[str], first_line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.splitlines()[0] == first_line


# Colour


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "a.test.mcp.yml", case("good"), case("bad", wants={}))
    return tmp_path


def test_a_terminal_gets_colour(folder: Path) -> None:
    assert COLOUR.search(on_terminal(folder, "run", stderr=False).out)


@pytest.mark.parametrize(
    ("words", "environment"),
    [(("--no-color",), {}), ((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"})],
)
def test_a_terminal_gets_no_colour_when_it_is_switched_off(
    folder: Path, words: tuple[str, ...], environment: dict[str, str]
) -> None:
    written = on_terminal(folder, "run", *words, stderr=False, environment=environment).out
    assert "2 tests: 1 passed, 1 failed" in written
    assert not COLOUR.search(written)


def test_an_empty_no_color_says_nothing(folder: Path) -> None:
    """no-color.org: the variable counts when it is not empty."""
    assert COLOUR.search(on_terminal(folder, "run", stderr=False, environment={"NO_COLOR": ""}).out)


# Raw bytes

NASTY = "\x1b[31mred\x1b[0m \x07 \x9b31m \u202eabc \u200b \r\x08 \x00"


@pytest.mark.parametrize("verbose", [(), ("--verbose",)])
def test_no_control_character_of_a_file_or_a_server_is_written(
    folder: Path, verbose: tuple[str, ...]
) -> None:
    write_suite(
        folder / "a.test.mcp.yml",
        case(NASTY, params={NASTY: NASTY}, wants={NASTY: "other"}),
        case("env", "env", params={"name": NASTY.replace("\x00", "")}, wants=5),
        case("dies", "die"),
        description=NASTY,
    )
    ended = mcptest(folder, "run", *verbose)
    assert ended.code == 1
    assert "\\u001b[31mred" in ended.out
    for char in ended.out + ended.err:
        assert char == "\n" or char.isprintable()


def test_no_control_character_of_a_path_or_an_option_is_written(folder: Path) -> None:
    for words in (("run", "\x1bpath"), ("run", "--\x1b[31m"), ("run", "--junit", "\x1b/x")):
        ended = mcptest(folder, *words)
        assert ended.code == 2
        assert "\x1b" not in ended.out + ended.err
