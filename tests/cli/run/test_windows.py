"""On Windows the commands that start nothing work, and the others say what is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from console import ENVIRONMENT, PATIENCE_S, Ended, mcptest

from mcptest.cli.main import COMMANDS

WINDOWS = (sys.executable, str(Path(__file__).parents[1] / "windows.py"))
EXAMPLES = Path(__file__).parents[3] / "examples"
SENTENCE = "is not supported on Windows yet"


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
def test_what_starts_nothing_says_the_same_as_anywhere(
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


@pytest.mark.parametrize(
    "words",
    [
        ("run", "notes.test.mcp.yml"),
        ("run", "notes.test.mcp.yml", "--url", "http://127.0.0.1:1/mcp"),
        ("run", "notes.test.mcp.yml", "--parallel", "2"),
        ("run", "--watch", "."),
        ("discover", "--", "python3", "server.py"),
        ("list", "--", "python3", "server.py"),
        ("call", "greet", "--", "python3", "server.py"),
        ("read", "note://1", "--", "python3", "server.py"),
        ("prompt", "ask", "--url", "http://127.0.0.1:1/mcp"),
        ("docs", "--", "python3", "server.py"),
        ("compliance", "run", "--", "python3", "server.py"),
        ("compliance", "run", "--url", "http://127.0.0.1:1/mcp"),
        ("mock", "library.cases.yaml"),
        ("mock", "library.cases.yaml", "--http", "0"),
        ("record", "-o", "new.json", "--", "python3", "server.py"),
        ("exec", "--connection-server", "--server-command", "python3 server.py"),
        ("plugin", "call", "geo", "near", "{}", "--plugin", "geo=python3 geo.py"),
    ],
    ids=" ".join,
)
def test_what_needs_a_process_says_so_in_one_sentence(
    recorded: Path, words: tuple[str, ...]
) -> None:
    ended = on_windows(recorded, *words)
    assert (ended.code, ended.out) == (2, "")
    first, second = ended.err.splitlines()
    assert first.startswith("error: ")
    assert SENTENCE in first
    assert second.startswith("  help: use WSL")


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


def test_tests_of_pytest_say_so_one_by_one(recorded: Path) -> None:
    ended = on_windows(recorded, "pytest", "-p", "no:cacheprovider", "notes.test.mcp.yml")
    assert ended.code == 1
    assert "7 failed" in ended.out
    assert ended.out.count(f"{SENTENCE}\nuse WSL") == 7
    assert "INTERNAL" not in ended.out + ended.err


PROGRAM = """
import mcptest
from mcptest.core.errors import UsageError
from mcptest.plugins import HostError, PluginHost

async def app(scope, receive, send): ...

mcptest.expect({"a": 1}).to_match({"a": "match:type:number"})
for connect in (
    lambda: mcptest.connect("python3 server.py").__enter__(),
    lambda: mcptest.connect_memory(app).__enter__(),
    lambda: PluginHost("python3 plugin.py").call("near"),
):
    try:
        connect()
    except (mcptest.CoprocessError, UsageError, HostError) as error:
        print(type(error).__name__, error)
"""


def test_the_sdk_says_so_and_its_matchers_work(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    ended = on_windows(tmp_path, "python", "program.py")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert [line.split()[0] for line in lines] == ["BinaryError", "UsageError", "SpawnFailed"]
    assert all(SENTENCE in line for line in lines)
