"""The places of a suite's failures, and what a run of it needs of the environment."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING

import pytest
from console import mcptest
from suite_runs import SUITE_SERVER, results_of

if TYPE_CHECKING:
    from pathlib import Path

HEAD = f"servers:\n  s: {{command: ['{sys.executable}', -S, -E, '{SUITE_SERVER}']}}\n"

STEPS = """\
tools:
  - name: n
    setup:
      - {tool: echo}
      - {tool: SETUP, args: {text: a}}
    steps:
      - tool: create
        args: {text: milk}
        capture: {id: result.structuredContent.id}
      - name: reads it
        tool: READ
        args: {id: "${id}"}
    teardown: [{tool: delete, args: {id: "${id}"}},
               {tool: DELETE, args: {id: "${id}"}}]
"""


def write(folder: Path, setup: str = "echo", read: str = "read", delete: str = "echo") -> None:
    text = STEPS.replace("SETUP", setup).replace("READ", read).replace("DELETE", delete)
    (folder / "mcptest.yaml").write_text(HEAD + text, encoding="utf-8")


# The lines of failures


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({}, 4),
        ({"setup": "refuse"}, 7),
        ({"read": "refuse"}, 12),
        ({"read": "die"}, 12),
        ({"delete": "refuse"}, 16),
    ],
    ids=["nothing", "setup", "step", "end of the server", "teardown"],
)
def test_a_failure_is_reported_at_the_line_of_its_step(
    keys: dict[str, str], line: int, tmp_path: Path
) -> None:
    write(tmp_path, **keys)
    ended = mcptest(tmp_path, "run", "--json")
    [result] = results_of(ended)
    assert (ended.code, result["line"]) == (1 if keys else 0, line)


def test_a_step_that_cannot_be_sent_is_reported_at_its_line(tmp_path: Path) -> None:
    first = "{tool: echo, args: {text: ''}, capture: {x: 'result.content[0].text'}}"
    second = '{tool: echo, expect: [{target: result, matcher: {contains: "${x}"}}]}'
    steps = f"    steps:\n      - {first}\n      - {second}\n"
    (tmp_path / "mcptest.yaml").write_text(f"{HEAD}tools:\n  - name: n\n{steps}", encoding="utf-8")
    [result] = results_of(mcptest(tmp_path, "run", "--json"))
    assert (result["line"], result["error"]["kind"]) == (7, "unusable_capture")


REPORTERS = ("--reporter", "terminal", "--reporter", "junit=r.xml", "--reporter", "github=r.txt")


def test_every_report_names_the_line_of_the_step(tmp_path: Path) -> None:
    write(tmp_path, read="refuse")
    ended = mcptest(tmp_path, "run", *REPORTERS)
    assert "mcptest.yaml:12\n" in ended.out
    case = ElementTree.parse(tmp_path / "r.xml").find(".//testcase")
    assert case is not None
    assert case.get("line") == "12"
    assert "file=mcptest.yaml,line=12," in (tmp_path / "r.txt").read_text(encoding="utf-8")


# What the environment does not have

SECRETS = """\
variables: {token: {secret_env: SUITE_TOKEN}}
tools:
  - {name: plain, tool: echo, args: {text: hello}}
  - {name: signed, tool: echo, args: {text: "${token}"}}
"""


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    (tmp_path / "mcptest.yaml").write_text(HEAD + SECRETS, encoding="utf-8")
    return tmp_path


def test_validate_needs_no_secret_and_says_that_a_run_will(secrets: Path) -> None:
    ended = mcptest(secrets, "validate")
    assert (ended.code, ended.out) == (0, "1 file with 2 tests: no mistakes\n")
    assert "warning[F016]: the environment variable 'SUITE_TOKEN' is not set" in ended.err
    assert "mcptest.yaml:3:21" in ended.err
    ended = mcptest(secrets, "validate", SUITE_TOKEN="correct-horse-9")
    assert (ended.code, ended.err) == (0, "")


def test_a_run_needs_only_the_secrets_of_its_tests(secrets: Path) -> None:
    ended = mcptest(secrets, "run")
    assert (ended.code, ended.out) == (2, "")
    assert "error[F016]: the environment variable 'SUITE_TOKEN' is not set" in ended.err
    assert "mcptest.yaml:3:21" in ended.err
    assert "'signed' uses it: export SUITE_TOKEN=… before the run" in ended.err
    ended = mcptest(secrets, "run", "-k", "plain", "--json")
    assert (ended.code, [each["name"] for each in results_of(ended)]) == (0, ["plain"])


def test_a_secret_that_no_selected_test_uses_is_still_blanked(secrets: Path) -> None:
    text = (secrets / "mcptest.yaml").read_text(encoding="utf-8")
    expect = '[{target: "result.content[0].text", matcher: {exact: "no"}}]'
    text = text.replace("{text: hello}", f"{{text: correct-horse-9}}, expect: {expect}")
    (secrets / "mcptest.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(secrets, "run", "-k", "plain", SUITE_TOKEN="correct-horse-9")
    assert ended.code == 1
    assert "correct-horse-9" not in ended.out + ended.err
    assert "[secret]" in ended.out
