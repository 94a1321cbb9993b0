"""`--max-failures`, `--repeat`, `--quiet`, `--durations`, `--color`, and words of other tools."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest
from console import case, mcptest, write_config, write_suite

from mcptest.cli import main
from mcptest.cli.commands.registry import COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

# Answers `flip` with "even" and "odd" in turn.
FLIPPING = """\
import json, sys
count = 0
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = message.get("params", {})
    if message["method"] == "initialize":
        info = {"name": "flip", "version": "1"}
        version = result["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
    elif message["method"] == "flip":
        result = {"is": ("even", "odd")[count % 2]}
        count += 1
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def flips(name: str = "flips", wants: str = "even", **keys: object) -> dict[str, object]:
    return case(name, "flip", params={}, wants={"is": wants}, **keys)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "server.py").write_text(FLIPPING, encoding="utf-8")
    write_config(tmp_path / "conductor.config.json")
    return tmp_path


@pytest.fixture
def flipping(folder: Path) -> Path:
    config = {"command": sys.executable, "args": ["server.py"]}
    write_config(folder / "conductor.config.json", **config)
    return folder


# Stopping


@pytest.fixture
def failing(folder: Path) -> Path:
    for name in ("a", "b", "c"):
        cases = [case(f"{name}1", wants={}), case(f"{name}2"), case(f"{name}3", wants={})]
        write_suite(folder / f"{name}.test.mcp.yml", *cases)
    return folder


@pytest.mark.parametrize("parallel", [(), ("-j", "2", "--isolation", "file")])
@pytest.mark.parametrize(
    ("words", "ran", "ending"),
    [
        (["--bail"], 1, "stopped after the first failure: 8 of 9 tests not run"),
        (["--max-failures", "1"], 1, "stopped after the first failure: 8 of 9 tests not run"),
        (["--max-failures", "2"], 3, "stopped after 2 failures: 6 of 9 tests not run"),
        (["--max-failures=3"], 4, "stopped after 3 failures: 5 of 9 tests not run"),
        (["--max-failures", "7"], 9, ""),
    ],
)
def test_a_run_stops_after_the_given_number_of_failures(
    failing: Path, words: list[str], ran: int, ending: str, parallel: tuple[str, ...]
) -> None:
    ended = mcptest(failing, "run", *words, *parallel)
    assert ended.code == 1
    assert f"{ran} test{'s' if ran > 1 else ''}: " in ended.out
    assert len(re.findall("^  [✓✗] ", ended.out, re.MULTILINE)) == ran
    assert ("stopped after" in ended.out) == bool(ending)
    assert ending in ended.out


# Repeating


def test_a_test_that_passes_only_sometimes_fails(flipping: Path) -> None:
    write_suite(flipping / "a.test.mcp.yml", flips(retries=2), case("echoes"))
    ended = mcptest(flipping, "run", "--repeat", "5")
    assert ended.code == 1
    assert re.search(r"✗ flips \(.*, 5 times\)", ended.out)
    assert "note: it passed 3 of 5 times; it failed in repetitions 2, 4\n" in ended.out
    assert re.search(r"✓ echoes \(.*, 5 times\)", ended.out)
    assert "2 tests: 1 passed, 1 failed" in ended.out
    report = mcptest(flipping, "run", "--repeat", "4", "--json").report()
    assert [test["repeats"] for test in report["suites"][0]["tests"]] == [4, 4]
    assert "attempts" not in report["suites"][0]["tests"][0]


def test_a_test_that_always_fails_says_so_and_one_repetition_is_one_run(flipping: Path) -> None:
    write_suite(flipping / "a.test.mcp.yml", flips(wants="neither"))
    assert "note: it failed all 3 times\n" in mcptest(flipping, "run", "--repeat", "3").out
    assert "times" not in mcptest(flipping, "run", "--repeat", "1").out


def test_every_repetition_has_its_own_server_if_every_test_has(flipping: Path) -> None:
    write_suite(flipping / "a.test.mcp.yml", flips())
    assert mcptest(flipping, "run", "--repeat", "3", "--isolation", "test").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--repeat", "0"], "--repeat takes a number from 1 to 10,000, not '0'"),
        (["--repeat", "²"], "--repeat takes a number from 1 to 10,000, not '²'"),
        (["--max-failures", "-1"], "--max-failures takes a number from 1 to 999,999, not '-1'"),
        (["-x", "--max-failures", "2"], "--bail is --max-failures 1, and --max-failures 2 is"),
        (["--repeat", "2", "--retries", "2"], "--repeat finds tests that pass only sometimes"),
        (["-q", "-v"], "--quiet and --verbose contradict each other; give one of them"),
        (["--durations", "many"], "--durations takes a number from 0 to 1,000,000, not 'many'"),
        (["--color", "blue"], "--color takes auto, always or never, not 'blue'"),
        (["--color", "allways"], "--color takes auto, always or never, not 'allways'; did you"),
        (["--no-color", "--color=always"], "--no-color and --color always contradict each other"),
    ],
)
def test_values_that_make_no_sense_are_refused(
    folder: Path, words: list[str], message: str
) -> None:
    ended = mcptest(folder, "run", *words)
    assert ended.code == 2
    assert ended.err.startswith(f"error: {message}")


# How much is shown


def test_quiet_shows_only_what_does_not_pass(folder: Path) -> None:
    write_suite(folder / "a.test.mcp.yml", case("good"), case("off", skip="later"))
    write_suite(folder / "b.test.mcp.yml", case("bad", wants={}), case("well"))
    for option in ("-q", "--quiet"):
        ended = mcptest(folder, "run", option)
        lines = ended.out.splitlines()
        assert lines[:2] == ["b  b.test.mcp.yml", lines[1]]
        assert lines[1].startswith("  ✗ bad (")
        assert lines[-1].startswith("4 tests: 2 passed, 1 failed, 1 skipped, in ")
        assert not any(name in ended.out for name in ("good", "well", "off", "tiny"))
    assert mcptest(folder, "run", "-q", "a.test.mcp.yml").out.startswith("2 tests: 1 passed, 1 ")


def test_the_slowest_tests_are_listed(folder: Path) -> None:
    cases = [case("fast"), case("slow", "sleep", timeout=300), case("skipped", skip=True)]
    write_suite(folder / "a.test.mcp.yml", *cases)
    ended = mcptest(folder, "run", "--durations", "1")
    assert re.search(r"\n\nthe slowest test:\n +\d+ ms  slow  a.test.mcp.yml:24\n\n3 ", ended.out)
    ended = mcptest(folder, "run", "--durations=0")
    assert "\nthe 2 slowest tests:\n" in ended.out
    assert ended.out.index("  slow  a.") < ended.out.index("  fast  a.")


@pytest.mark.parametrize(
    ("words", "environment", "is_coloured"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color=auto"], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"CLICOLOR_FORCE": "1", "TERM": "dumb"}, True),
        ([], {"FORCE_COLOR": "0"}, False),
        ([], {"FORCE_COLOR": ""}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--no-color"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_options_count_before_the_environment_and_that_before_the_terminal(
    folder: Path, words: list[str], environment: dict[str, str], is_coloured: bool
) -> None:
    write_suite(folder / "a.test.mcp.yml", case("good"))
    ended = mcptest(folder, "run", *words, **environment)
    assert ended.code == 0
    assert ("\x1b[32m" in ended.out) == is_coloured


# Attempts in JUnit


def test_earlier_attempts_are_in_the_report_for_build_servers(flipping: Path) -> None:
    cases = [flips("turns", "odd"), flips("never", "neither"), case("hangs", "hang", timeout=1)]
    (flipping / "server.py").write_text(
        FLIPPING.replace(
            'elif message["method"] == "flip"',
            'elif message["method"] == "hang":\n'
            '        continue\n    elif message["method"] == "flip"',
        ),
        encoding="utf-8",
    )
    write_suite(flipping / "a.test.mcp.yml", *cases)
    ended = mcptest(flipping, "run", "--retries", "1", "--junit", "a.xml", "--reporter", "json")
    assert ended.code == 1
    suite = ET.parse(flipping / "a.xml").getroot()[0]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", suite.attrib["timestamp"])
    turns, never, hangs = suite.iter("testcase")
    assert [each.tag for each in turns] == ["properties", "flakyFailure"]
    assert turns[1].attrib["type"] == "mismatch"
    assert turns[1].attrib["message"] == "failed at result.is, differs"
    assert turns[1].findtext("stackTrace") == "failed at result.is, differs"
    assert [each.tag for each in never] == ["properties", "failure", "rerunFailure"]
    assert [each.tag for each in hangs] == ["properties", "error", "rerunError"]
    assert hangs[2].attrib["type"] == "timeout"
    # A saved run has all of it.
    (flipping / "run.json").write_text(ended.out, encoding="utf-8")
    again = mcptest(flipping, "report", "run.json", "--format", "junit")
    assert again.out == (flipping / "a.xml").read_text(encoding="utf-8")


# Words of other tools


@pytest.mark.parametrize(
    ("word", "help"),
    [
        ("test", "mcptest run runs tests"),
        ("lint", "mcptest validate checks test files, and mcptest compliance run a server"),
        ("inspect", "mcptest list shows what a server offers; call, read and prompt try it out"),
        ("inspector", "mcptest list shows what a server offers; call, read and prompt try it out"),
        ("query", "mcptest call calls a tool, and mcptest list shows what a server offers"),
        ("conformance", "mcptest compliance run checks a server against the specification"),
        ("audit", "mcptest security looks for what can harm the users of a server"),
        ("doctor", "mcptest validate checks test files, mcptest list tries to start a server"),
        ("generate", "mcptest discover writes tests for what a server offers"),
        ("scan", "mcptest security looks for what can harm the users of a server"),
        ("serve", "mcptest mock serves a contract, to test clients"),
        ("tools", "mcptest list tools lists the tools of a server"),
        ("version", "mcptest --version shows the version"),
        ("watch", "mcptest run --watch runs tests again when a file changes"),
    ],
)
def test_a_command_of_another_tool_is_answered_with_ours(
    tmp_path: Path, word: str, help: str
) -> None:
    ended = mcptest(tmp_path, word, "x")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: there is no command '{word}'\n  help: {help}")


def test_a_command_that_exists_is_not_one_of_another_tool_nor_planned() -> None:
    assert COMMANDS.keys() & (main._ELSEWHERE.keys() | main._PLANNED.keys()) == set()
