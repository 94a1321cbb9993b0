"""`mcptest discover`: from a server to a test file that passes, with nothing edited by hand."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from console import CONDUCTOR, Ended, mcptest, run

SERVERS = Path(__file__).parents[2] / "servers"
ROOT = SERVERS.parent.parent
OFFERING = SERVERS / "offering_server.py"
FAULTY = SERVERS / "fault_server.py"
NODE_SERVERS = ROOT / ".venv" / "node" / "node_modules" / "@modelcontextprotocol"

needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None, reason="there is no npm, so ./check could not install it"
)


def discover(folder: Path, *command: str, **environment: str) -> Ended:
    words = ("-o", "a.test.mcp.yml", "--timeout", "2s", "--", *command)
    return mcptest(folder, "discover", *words, **environment)


def verdicts(folder: Path, *words: str, **environment: str) -> dict[str, str]:
    """What becomes of each test in the file, which is run as it is."""
    ended = mcptest(folder, "run", "a.test.mcp.yml", "--json", *words, **environment)
    tests = [test for suite in ended.report()["suites"] for test in suite["tests"]]
    assert ended.code == 0, [test for test in tests if test["status"] not in ("passed", "skipped")]
    return {test["name"]: test["status"] for test in tests}


# Servers of others


def test_the_time_server_becomes_a_file_that_passes(tmp_path: Path) -> None:
    ended = discover(tmp_path, sys.executable, "-m", "mcp_server_time")
    assert (ended.code, ended.out) == (0, "")
    found = verdicts(tmp_path)
    assert found["calls convert_time"] == "passed"
    assert set(found.values()) == {"passed"}


@needs_npm
def test_server_everything_becomes_a_file_that_passes(tmp_path: Path) -> None:
    script = NODE_SERVERS / "server-everything" / "dist" / "index.js"
    assert discover(tmp_path, "node", str(script), "stdio").code == 0
    found = verdicts(tmp_path)
    assert found["calls get-sum"] == "passed"
    assert found["calls gzip-file-as-resource"] == "skipped"
    assert sum(status == "passed" for status in found.values()) >= 25


@needs_npm
def test_server_filesystem_becomes_a_file_that_passes_and_no_file_is_touched(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "kept.txt").write_text("kept", encoding="utf-8")
    script = NODE_SERVERS / "server-filesystem" / "dist" / "index.js"
    assert discover(tmp_path, "node", str(script), "data").code == 0
    found = verdicts(tmp_path)
    assert found["calls list_directory"] == "passed"
    assert found["calls write_file"] == found["calls move_file"] == "skipped"
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["kept.txt"]


# A server of ours


def test_everything_that_is_offered_is_in_the_file_and_harm_is_only_a_placeholder(
    tmp_path: Path,
) -> None:
    calls = tmp_path / "calls"
    ended = discover(tmp_path, sys.executable, str(OFFERING), CALLS=str(calls))
    assert ended.code == 0
    found = verdicts(tmp_path)
    assert [name for name, status in found.items() if status == "skipped"] == [
        "calls hang",
        "calls die",
        "calls delete_all",
        "calls wipe",
    ]
    assert found["refuses show without text"] == found["reads note://one"] == "passed"
    assert found["gets the prompt greet"] == "passed"
    assert not {"delete_all", "wipe"} & set(calls.read_text(encoding="utf-8").split())


def test_what_happened_to_a_call_stands_in_its_placeholder(tmp_path: Path) -> None:
    discover(tmp_path, sys.executable, str(OFFERING))
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert 'skip: "timeout: no answer to tools/call within 2 s"' in text
    assert 'skip: "exited_during_call: the server ended (exit status 1)' in text


def test_a_test_that_does_not_pass_twice_is_skipped_with_the_reason(tmp_path: Path) -> None:
    fickle = {"FICKLE": str(tmp_path / "seen")}
    assert discover(tmp_path, sys.executable, str(OFFERING), **fickle).code == 0
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert 'skip: "a second try was answered differently: result' in text
    assert verdicts(tmp_path, **fickle)["calls fickle"] == "skipped"


def test_nothing_that_a_server_says_stands_raw_in_the_file(tmp_path: Path) -> None:
    discover(tmp_path, sys.executable, str(OFFERING))
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert "Shows what it was given. \\u001b[31mred" in text
    assert all(char == "\n" or char.isprintable() for char in text)


def test_texts_that_no_file_can_hold_are_written_so_that_it_can(tmp_path: Path) -> None:
    ended = discover(tmp_path, sys.executable, str(OFFERING), ODD="1")
    assert ended.code == 0, ended.err
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert text.count('"half \\\\ud800 a pair of {NOBODY}"') == 2
    assert "note: 1 tool(s) left out: their names cannot be written down\n" in ended.err
    assert verdicts(tmp_path, ODD="1")["calls odd"] == "passed"


def test_the_file_goes_to_standard_output_when_no_name_is_given(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "discover", "--", sys.executable, str(SERVERS / "tiny_server.py"))
    assert ended.code == 0
    assert ended.err == "1 test, 0 of them skipped with a reason\n"
    (tmp_path / "a.test.mcp.yml").write_text(ended.out, encoding="utf-8")
    assert verdicts(tmp_path) == {"answers a ping": "passed"}


def test_conductor_discover_is_the_same_command(tmp_path: Path) -> None:
    server = (sys.executable, str(SERVERS / "tiny_server.py"))
    same = run([sys.executable, "-c", CONDUCTOR, "discover", "--", *server], tmp_path, {})
    assert same == mcptest(tmp_path, "discover", "--", *server)
    assert same.code == 0


def test_a_file_in_another_folder_finds_its_server(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    shutil.copy(SERVERS / "tiny_server.py", tmp_path)
    target = "tests/a.test.mcp.yml"
    ended = mcptest(tmp_path, "discover", "-o", target, "--", sys.executable, "tiny_server.py")
    assert ended.code == 0
    assert 'cwd: ".."' in (tmp_path / target).read_text(encoding="utf-8")
    assert mcptest(tmp_path / "tests", "run").code == 0
    assert mcptest(tmp_path, "run", target).code == 0


# Files


def test_a_file_that_is_there_is_left_alone_unless_it_is_forced(tmp_path: Path) -> None:
    path = tmp_path / "a.test.mcp.yml"
    path.write_text("mine", encoding="utf-8")
    ended = discover(tmp_path, sys.executable, str(SERVERS / "tiny_server.py"))
    assert ended.code == 2
    assert ended.err.startswith("error: a.test.mcp.yml exists already and was not changed\n")
    assert path.read_text(encoding="utf-8") == "mine"
    words = ("-o", path.name, "--force", "--", sys.executable, str(SERVERS / "tiny_server.py"))
    assert mcptest(tmp_path, "discover", *words).code == 0
    assert verdicts(tmp_path) == {"answers a ping": "passed"}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-o", "a.yml"], "error: a.yml would not be found as a test file"),
        (["-o", "no/a.test.mcp.yml"], "error: cannot write no/a.test.mcp.yml: there is no folder"),
        (["server.py"], "error: mcptest discover takes no 'server.py'"),
        (["--url", "ftp://x"], "error: --url is not the URL of a server"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_starts(
    tmp_path: Path, words: list[str], error: str
) -> None:
    started = tmp_path / "started"
    server = (sys.executable, str(SERVERS / "tiny_server.py"), str(started))
    ended = mcptest(tmp_path, "discover", *words, "--", *server)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(error)
    assert not started.exists()


def test_secrets_of_a_config_are_not_copied(tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "name": "mine",
        "command": sys.executable,
        "args": [str(OFFERING)],
        "env": {"KEY": "${MY_KEY}", "API_TOKEN": "plain-as-day", "LEVEL": "debug"},
    }
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    words = ("discover", "-o", "a.test.mcp.yml", "--timeout", "2s")
    ended = mcptest(tmp_path, *words, MY_KEY="hunter22")
    assert ended.code == 0
    assert "note: API_TOKEN is written as ${API_TOKEN}; set it to run the file\n" in ended.err
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert "hunter22" not in text
    assert "plain-as-day" not in text
    assert all(line in text for line in ('KEY: "${MY_KEY}"', 'LEVEL: "debug"', 'name: "mine"'))
    assert verdicts(tmp_path, MY_KEY="hunter22", API_TOKEN="x")["calls secret"] == "passed"


# Servers with a fault


def test_a_server_that_does_not_start_writes_no_file(tmp_path: Path) -> None:
    ended = discover(tmp_path, "no-such-program")
    assert ended.code == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "mode",
    [
        ["crlf"],
        ["die-on-call", "KILL"],
        ["duplicate"],
        ["endless-notifications"],
        ["exit-on-call", "1"],
        ["half-exit"],
        ["instead", "garbage\n"],
        ["no-newline"],
        ["pretty"],
        ["stop-itself"],
    ],
    ids=lambda mode: mode[0],
)
def test_a_server_with_a_fault_gives_a_file_that_passes_or_a_reason(
    tmp_path: Path, mode: list[str]
) -> None:
    """None of these hangs: `run` gives up on a command that does."""
    command = (sys.executable, "-S", "-E", str(FAULTY), *mode)
    ended = mcptest(
        tmp_path, "discover", "-o", "a.test.mcp.yml", "--timeout", "300ms", "--", *command
    )
    if ended.code == 0:
        assert "passed" in verdicts(tmp_path).values()
    else:
        assert ended.code in (1, 3)
        assert ended.err.startswith("error: ")
        assert list(tmp_path.iterdir()) == []
