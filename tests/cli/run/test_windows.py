"""On Windows what starts no process works, and the rest says what is missing."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from console import ENVIRONMENT, PATIENCE_S, Ended, mcptest
from http_mock_client import http_mocking

from mcptest.cli.commands.registry import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator

WINDOWS = (sys.executable, str(Path(__file__).parents[1] / "windows.py"))
EXAMPLES = Path(__file__).parents[3] / "examples"
REFERENCE = Path(__file__).parents[2] / "servers" / "conformance" / "reference_server.py"
SENTENCE = "is not supported on Windows yet"
URL = "or start the server yourself and name its URL"


def on_windows(folder: Path, *words: str, program: tuple[str, ...] = WINDOWS) -> Ended:
    """The command where POSIX is missing, in a Western console."""
    done = subprocess.run(
        [*program, *words],
        cwd=folder,
        env=ENVIRONMENT | {"PYTHONIOENCODING": "cp1252"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    # JSON, HTML and the like are UTF-8 even there.
    out, err = (raw.decode("utf-8", "replace") for raw in (done.stdout, done.stderr))
    assert "Traceback" not in err
    return Ended(done.returncode, out, err)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with test files, a report of a run and a capture of it; line ends are CRLF."""
    folder = tmp_path_factory.mktemp("windows")
    shutil.copytree(EXAMPLES / "notes", folder, dirs_exist_ok=True)
    shutil.copy(EXAMPLES / "contract" / "library.cases.yaml", folder)
    ended = mcptest(folder, "run", "notes.test.mcp.yml", "--json", "--capture", "c.json")
    assert ended.code == 0
    report = ended.out.replace('"has a resource for it"', '"has a résumé ✓ 日本 for it"')
    (folder / "run.json").write_text(report, encoding="utf-8")
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    return folder


@pytest.mark.parametrize("words", [("--version",), ("--help",), *((n, "--help") for n in COMMANDS)])
def test_every_command_has_its_help(tmp_path: Path, words: tuple[str, ...]) -> None:
    ended = on_windows(tmp_path, *words)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out


@pytest.mark.parametrize(
    "words",
    [
        ("validate", "notes.test.mcp.yml", "library.cases.yaml"),
        ("validate", ".", "--json"),
        ("schema", "suite"),
        ("docs", "library.cases.yaml"),
        ("docs", "library.cases.yaml", "-o", "library.html"),
        ("report", "run.json"),
        ("report", "run.json", "--format", "html=r.html", "--format", "junit=r.xml"),
        ("report", "run.json", "--format", "markdown", "--verbose"),
        ("migrate", "library.cases.yaml", "-o", "mcptest.yaml"),
        ("cases", "from", "c.json"),
        ("cases", "from", "c.json", "-o", "new.cases.yaml"),
        ("compliance", "invariants", "--capture", "c.json"),
        ("compliance", "run", "--list"),
        ("plugin", "list"),
        ("init",),
    ],
    ids=" ".join,
)
def test_commands_that_start_nothing_have_the_same_output_as_elsewhere(
    recorded: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        shutil.copytree(recorded, folder)
    ours = on_windows(here, *words, program=(sys.executable, "-m", "mcptest"))
    theirs = on_windows(there, *words)
    assert theirs.code == ours.code
    assert theirs.code in (0, 1), "what a suite cannot express is status 1"
    assert SENTENCE not in theirs.err
    assert sorted(path.name for path in there.rglob("*")) == sorted(
        path.name for path in here.rglob("*")
    )
    if "--json" not in words:
        assert theirs.out == ours.out


TESTS = r"""
description: web
tests:
  - it: adds
    tool: add
    arguments: {a: 1, b: 2}
    expect: {response: {match:partial: {result: {structuredContent: {sum: 3}}}}}
  - it: matches
    tool: echo
    arguments: {text: abc 12}
    expect: {response: {result: {content: [{type: text, text: 'match:regex:^abc \d+$'}]}}}
  - it: meets a schema
    tool: echo
    arguments: {text: abc}
    expect: {response: {result: {content: [{type: text, text: 'match:jsonSchema:text.json'}]}}}
  - it: differs
    tool: echo
    arguments: {text: abc}
    expect: {response: {result: {content: [{type: text, text: abd}]}}}
"""
SUITE = """
name: Web
servers:
  web: {{url: "{url}"}}
tools:
  - name: adds
    server: web
    tool: add
    args: {{a: 1, b: 2}}
    expect:
      - {{target: result.structuredContent.sum, matcher: {{exact: 3}}}}
      - {{target: result, matcher: {{snapshot: true}}}}
compliance: {{tests: [invariants]}}
"""
# Durations differ from run to run.
DURATION = re.compile(r"\(?(< ?)?\b\d+(\.\d+)? m?s\b\)?")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where a server listens."""
    with subprocess.Popen(
        [sys.executable, str(REFERENCE), "--http", "0"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as server:
        assert server.stderr
        yield server.stderr.readline().decode().split()[-1]
        server.kill()


@pytest.fixture
def web(tmp_path: Path, url: str) -> Path:
    """A folder with tests for that server."""
    (tmp_path / "web.test.mcp.yml").write_text(TESTS, encoding="utf-8")
    (tmp_path / "text.json").write_text('{"type": "string", "minLength": 2}', encoding="utf-8")
    (tmp_path / "suite").mkdir()
    text = SUITE.format(url=url)
    (tmp_path / "suite" / "mcptest.yaml").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("run", "web.test.mcp.yml", "--url", "URL"),
        ("run", "suite/mcptest.yaml"),
        ("list", "--url", "URL"),
        ("call", "add", "a=1", "b=2", "--url", "URL"),
        ("read", "file:///notes/one.txt", "--url", "URL"),
        ("prompt", "greet", "name=Ada", "--url", "URL"),
        ("discover", "--url", "URL"),
        ("docs", "--url", "URL"),
        ("compliance", "run", "--only", "base", "--url", "URL"),
        ("security", "--url", "URL"),
        ("list", "--url", "http://127.0.0.1:1/mcp"),
        ("list", "--url", "http://localhost:1/mcp"),
    ],
    ids=" ".join,
)
def test_a_server_that_has_a_url_is_tested_as_anywhere(
    web: Path, url: str, words: tuple[str, ...]
) -> None:
    words = tuple(url if word == "URL" else word for word in words)
    ours = mcptest(web, *words, PYTHONIOENCODING="cp1252")
    shutil.rmtree(web / "suite" / "__snapshots__", ignore_errors=True)
    theirs = on_windows(web, *words)
    assert (theirs.code, theirs.code in (0, 1, 3)) == (ours.code, True)
    assert DURATION.sub("", theirs.out) == DURATION.sub("", ours.out)
    assert DURATION.sub("", theirs.err) == DURATION.sub("", ours.err)


def test_a_mock_serves_over_http(recorded: Path) -> None:
    with http_mocking(recorded, "library.cases.yaml", program=WINDOWS) as mock:
        ended = mcptest(recorded, "run", "library.cases.yaml", "--url", mock.url)
        assert ended.code == 0
        # Ctrl-Break; its report is written, and the port is free again.
        stopped = mock.end(signal.SIGQUIT)
    assert stopped.code == 0
    assert "cases exercised" in stopped.err


def test_the_console_interprets_escapes_before_the_first_one(recorded: Path) -> None:
    ours, theirs = pty.openpty()
    with (
        open(ours, "rb", buffering=0) as screen,
        subprocess.Popen(
            [*WINDOWS, "report", "run.json"],
            cwd=recorded,
            env=ENVIRONMENT | {"TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        os.close(theirs)
        shown = b""
        # At its end a pseudo-terminal has an error.
        with contextlib.suppress(OSError):
            while piece := screen.read(4096):
                shown += piece
        assert process.stderr
        assert process.stderr.read() == b""
    assert b"\x1b[" in shown
    assert shown.startswith(b"(escape sequences from here on)")
    # A handle that is not a console is not asked.
    assert "from here on" not in on_windows(recorded, "report", "run.json").out


def test_files_run_one_after_the_other(web: Path, url: str) -> None:
    ended = on_windows(web, "run", "web.test.mcp.yml", "--url", url, "-j", "2", "-k", "adds")
    assert ended.code == 0
    assert "note: files run one after the other: --parallel has no effect on Windows" in ended.err
    assert "1 test: 1 passed" in ended.out


def test_reports_are_replaced(web: Path, url: str) -> None:
    words = ("run", "web.test.mcp.yml", "--url", url, "-k", "adds", "--junit", "r.xml")
    for _ in range(2):
        ended = on_windows(web, *words, "--reporter", "ndjson=r.jsonl")
        assert (ended.code, ended.err) == (0, "")
    assert "<testsuites" in (web / "r.xml").read_text(encoding="utf-8")
    assert (web / "r.jsonl").read_text(encoding="utf-8").count("\n") > 2
    assert not list(web.glob("*.tmp"))


@pytest.mark.long
def test_a_report_that_another_program_has_open_is_an_error(web: Path, url: str) -> None:
    (web / "r.xml").write_text("old", encoding="utf-8")
    with open(web / "r.xml", encoding="utf-8"):
        words = ("run", "web.test.mcp.yml", "--url", url, "-k", "adds")
        ended = on_windows(web, *words, "--junit", "r.xml")
    assert ended.code == 2
    assert ended.err == "error: cannot write r.xml: Permission denied\n"
    assert not list(web.glob("*.tmp"))


ENDLESS = """
description: endless
tests:
  - it: small
    tool: echo
    arguments: {text: "SMALL!"}
    expect: {response: {result: {content: [{type: text, text: 'match:regex:^(a|aa)+$'}]}}}
  - it: large
    tool: echo
    arguments: {text: "LARGE!"}
    expect: {response: {result: {content: [{type: text, text: 'match:regex:^(a|aa)+$'}]}}}
  - it: large and harmless
    tool: echo
    arguments: {text: "LARGE!"}
    expect: {response: {result: {content: [{type: text, text: 'match:regex:^a+!$'}]}}}
"""


@pytest.mark.long
def test_expressions_without_an_end_are_stopped(web: Path, url: str) -> None:
    text = ENDLESS.replace("SMALL", "a" * 200).replace("LARGE", "a" * 300_000)
    (web / "endless.test.mcp.yml").write_text(text, encoding="utf-8")
    ended = on_windows(web, "run", "endless.test.mcp.yml", "--url", url, "--json")
    cases = ended.report()["suites"][0]["tests"]
    assert [each["status"] for each in cases] == ["error", "error", "passed"]
    assert {each["error"]["kind"] for each in cases[:2]} == {"pattern_too_slow"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT], ids=["Ctrl-C", "Ctrl-Break"])
def test_ctrl_c_ends_a_run_that_waits(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "silent.test.mcp.yml").write_text(TESTS.partition("  - it: meets")[0], "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE_S)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        with subprocess.Popen(
            [*WINDOWS, "run", "silent.test.mcp.yml", "--url", url],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            client, _ = silent.accept()
            # It waits for the answer now.
            assert client.recv(1 << 16)
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE_S)
            client.close()
    assert process.returncode == 130
    assert b"interrupted" in out + err
    assert b"Traceback" not in err


@pytest.mark.parametrize(
    ("words", "what", "instead"),
    [
        (("run", "notes.test.mcp.yml"), "starting the server notes", URL),
        (("run", "notes.test.mcp.yml", "--parallel", "2"), "starting the server notes", URL),
        (("run", "--watch", "."), "--watch", "or run the command again by hand"),
        (("discover", "--", "python3", "server.py"), "starting python3", URL),
        (("list", "--", "python3", "server.py"), "starting python3", URL),
        (("call", "greet", "--", "python3", "server.py"), "starting python3", URL),
        (("read", "note://1", "--", "python3", "server.py"), "starting python3", URL),
        (("prompt", "ask", "--", "python3", "server.py"), "starting python3", URL),
        (("docs", "--", "python3", "server.py"), "starting python3", URL),
        (("security", "--", "python3", "server.py"), "starting python3", URL),
        (("compliance", "run", "--", "python3", "server.py"), "starting python3", URL),
        (
            ("mock", "library.cases.yaml"),
            "serving on standard input",
            "or serve over HTTP with --http PORT",
        ),
        (("record", "-o", "n.json", "--", "python3", "s.py"), "recording on standard input", ""),
        (
            ("exec", "--connection-server", "--server-command", "python3 server.py"),
            "serving an SDK on standard input",
            "",
        ),
        (
            ("plugin", "call", "geo", "near", "{}", "--plugin", "geo=python3 geo.py"),
            "starting a plugin",
            "",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_commands_that_need_a_process_say_so_in_one_sentence(
    recorded: Path, words: tuple[str, ...], what: str, instead: str
) -> None:
    ended = on_windows(recorded, *words)
    assert (ended.code, ended.out) == (2, "")
    first, second = ended.err.splitlines()
    assert first == f"error: {what} {SENTENCE}"
    assert second == f"  help: use WSL{', ' if instead else ''}{instead}"


PLACES = """
description: places
tests:
  - it: knows where Paris is
    tool: echo
    arguments: {text: Paris}
    expect: {response: {result: "match:plugin:geo.near:48.85,2.35,10"}}
"""


def test_a_test_that_asks_a_plugin_says_so(web: Path, url: str) -> None:
    (web / "places.test.mcp.yml").write_text(PLACES, encoding="utf-8")
    words = ("run", "places.test.mcp.yml", "--url", url, "--plugin", "geo=geo --fast")
    ended = on_windows(web, *words)
    assert ended.code == 1
    assert f"starting geo {SENTENCE}" in ended.out


def test_a_report_in_json_has_the_sentence(recorded: Path) -> None:
    ended = on_windows(recorded, "run", "notes.test.mcp.yml", "--json")
    assert ended.code == 2
    assert SENTENCE in ended.report()["error"]["message"]


def test_mistakes_are_shown_with_the_names_and_lines_of_windows(tmp_path: Path) -> None:
    name = r"C:\tests\bad.test.mcp.yml"
    text = 'description: "é ✓"\r\ntests:\r\n  - it: "日本"\r\n    tol: greet\r\n'
    (tmp_path / name).write_bytes(text.encode())
    ended = on_windows(tmp_path, "validate", name)
    assert ended.code == 2
    assert rf" --> {name}:4:5" in ended.err
    assert "4 |     tol: greet\n" in ended.err, "without the end of the line"
    ended = on_windows(tmp_path, "validate", name, "--json")
    diagnostics = ended.report()["error"]["diagnostics"]
    assert (name, 4) in [(each["file"], each["line"]) for each in diagnostics]


def test_tests_of_pytest_use_the_url_of_a_server(web: Path, url: str) -> None:
    text = TESTS.replace("tests:", f"server: {{name: web, url: '{url}'}}\ntests:", 1)
    (web / "web.test.mcp.yml").write_text(text, encoding="utf-8")
    ended = on_windows(web, "pytest", "-p", "no:cacheprovider", "web.test.mcp.yml")
    assert ended.code == 1
    assert "1 failed, 3 passed" in ended.out
    assert "INTERNAL" not in ended.out + ended.err


def test_tests_of_pytest_say_so_one_by_one(recorded: Path) -> None:
    ended = on_windows(recorded, "pytest", "-p", "no:cacheprovider", "notes.test.mcp.yml")
    assert ended.code == 1
    assert "7 failed" in ended.out
    assert ended.out.count(f"{SENTENCE}\nuse WSL") == 7
    assert "INTERNAL" not in ended.out + ended.err


PROGRAM = """
import mcptest
from mcptest.plugins import HostError, PluginHost

async def app(scope, receive, send):
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 500, "headers": []})
    await send({"type": "http.response.body", "body": b"broken"})

mcptest.expect({"a": "x1"}).to_match({"a": "match:regex:^x[0-9]$"})
for connect in (
    lambda: mcptest.connect("python3 server.py").__enter__(),
    lambda: PluginHost("python3 plugin.py").call("near"),
    lambda: mcptest.connect_memory(app).__enter__(),
):
    try:
        connect()
    except (mcptest.CoprocessError, HostError) as error:
        print(type(error).__name__, str(error).partition("\\n")[0])
"""


def test_the_sdk_says_so_and_what_is_in_memory_works(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    ended = on_windows(tmp_path, "python", "program.py")
    assert (ended.code, ended.err) == (0, "")
    first, second, third = ended.out.splitlines()
    assert first.startswith("BinaryError ")
    assert second.startswith("SpawnFailed ")
    assert SENTENCE in first
    assert SENTENCE in second
    assert "500" in third
