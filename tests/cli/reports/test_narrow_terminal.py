"""On a terminal of 80 columns nothing is broken inside of a word; elsewhere nothing is broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from console import mcptest
from terminal import on_terminal

COLUMNS = 80
MISTAKES = """\
servers: {a: {command: [run], startup_timeut: 5}}
tools:
  - {name: n, tool: t, expect: [{target: "resul.content[0].text", \
matcher: {containz: "a text that goes on"}}]}
"""
LISTING = """\
description: d
server: {name: a, command: run, args: []}
tests: [{it: lists all of its tools, list: tools, expect: {response: {result: {tools: []}}}}]
"""


def narrow_lines(folder: Path, *words: str) -> list[str]:
    """The lines that a terminal of this width shows."""
    return on_terminal(folder, *words, columns=COLUMNS, environment={"NO_COLOR": "1"}).out.split(
        "\n"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MISTAKES, ("validate", "mcptest.yaml")),
        (MISTAKES, ("run", "mcptest.yaml")),
        (LISTING, ("migrate", "a.test.mcp.yml")),
    ],
)
def test_sentences_fit_a_terminal_and_are_whole_elsewhere(
    tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    (tmp_path / words[1]).write_text(text, encoding="utf-8")
    shown = narrow_lines(tmp_path, *words)
    whole = mcptest(tmp_path, *words).err
    assert max(map(len, shown)) <= COLUMNS
    assert max(map(len, whole.split("\n"))) > COLUMNS
    assert " ".join(" ".join(shown).split()) == " ".join(whole.split())


FAILING = """\
description: d
tests:
  - it: differs
    tool: log
    arguments: {text: SAID, say: SAID}
    expect: {response: {result: {content: [{type: text, text: "match:contains:not SAID"}]}}}
  - it: has a caret
    tool: log
    arguments: {text: sunny day}
    expect: {response: {result: {content: [{type: text, text: sunny dog}]}}}
"""
SAID = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"


def test_failures_fit_a_terminal_and_stay_in_their_columns(tmp_path: Path) -> None:
    (tmp_path / "a.test.mcp.yml").write_text(FAILING.replace("SAID", SAID), encoding="utf-8")
    server = Path(__file__).parents[2] / "servers" / "logging_server.py"
    shown = narrow_lines(tmp_path, "run", "--", sys.executable, "-S", "-E", str(server))
    # Only the output of a server stays as it is.
    assert [line for line in shown if len(line) > COLUMNS] == [f"        stderr    | {SAID}"]
    at = next(index for index, line in enumerate(shown) if line.startswith("        actual  "))
    first, middle, rest = SAID.partition("eleven")
    assert shown[at] == f'        actual    "{first}{middle}'
    assert shown[at + 1] == f'                 {rest}"'
    caret = next(index for index, line in enumerate(shown) if line.strip() == "^")
    assert shown[caret - 1][shown[caret].index("^") :] == 'ay"'


def test_a_caret_is_below_the_text_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "mcptest.yaml").write_text(MISTAKES, encoding="utf-8")
    lines = narrow_lines(tmp_path, "validate", "mcptest.yaml")
    at = next(index for index, line in enumerate(lines) if "containz" in line and "|" in line)
    assert lines[at][lines[at + 1].index("^") :].startswith("containz")


@pytest.mark.parametrize("name", ["run", "validate", "list", "schema", "migrate"])
def test_the_help_of_these_commands_fits_80_columns(tmp_path: Path, name: str) -> None:
    assert max(map(len, mcptest(tmp_path, name, "--help").out.split("\n"))) <= COLUMNS
