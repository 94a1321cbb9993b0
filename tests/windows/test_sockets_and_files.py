"""What works on Windows, on whatever system this is: CI runs this folder on Windows, too.

`tests/cli/run/test_windows.py` has the details, where Windows is simulated.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from mcptest.transport import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MCPTEST = (sys.executable, "-m", "mcptest")
PATIENCE_S = 120.0

TEXTS = {"add": "3", "small": "a" * 200 + "!", "large": "a" * 300_000 + "!"}
EXPECTED = {"add": r"^\d$", "small": "^(a|aa)+$", "large": "^(a|aa)+$"}

APART: dict[str, Any]
if sys.platform == "win32":
    # So that Ctrl-Break reaches only what is started.
    APART = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    STOP = signal.CTRL_BREAK_EVENT
else:
    APART = {"start_new_session": True}
    STOP = signal.SIGINT


@contextmanager
def start(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command; it ends with the block, whatever happens there."""
    with subprocess.Popen(
        [*MCPTEST, *words],
        cwd=folder,
        env=os.environ | {"PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **APART,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def run(folder: Path, *words: str) -> tuple[int, str, str]:
    with start(folder, *words) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out.decode("utf-8"), err.decode("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("windows")
    cases, tests = [], []
    for name, text in TEXTS.items():
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}
        result = {"content": [{"type": "text", "text": text}]}
        answer = {"jsonrpc": "2.0", "id": 1, "result": result}
        cases.append(json.dumps({"case": name, "in": call, "out": answer}))
        wanted = {"content": [{"type": "text", "text": f"match:regex:{EXPECTED[name]}"}]}
        tests.append({"it": name, "tool": name, "expect": {"response": {"result": wanted}}})
    (folder / "c.cases.yaml").write_text("\n---\n".join(cases) + "\n", "utf-8")
    (folder / "t.test.mcp.yml").write_text(
        json.dumps({"description": "t", "tests": tests}), "utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with start(folder, "mock", "c.cases.yaml", "--http", "0") as mock:
        assert mock.stderr
        yield mock.stderr.readline().decode().split()[-1]
        mock.send_signal(STOP)
        _, err = mock.communicate(timeout=PATIENCE_S)
        assert mock.returncode == 0, "Ctrl-C ends it"
        assert b"cases exercised" in err


def test_a_server_is_asked(folder: Path, url: str) -> None:
    code, out, err = run(folder, "call", "add", "--url", url)
    assert (code, err) == (0, "")
    assert json.loads(out)["content"][0]["text"] == "3"


@pytest.mark.long
def test_regular_expressions_end(folder: Path, url: str) -> None:
    code, out, _ = run(folder, "run", "t.test.mcp.yml", "--url", url, "--json")
    assert code == 1
    cases = json.loads(out)["suites"][0]["tests"]
    assert [each["status"] for each in cases] == ["passed", "error", "error"]
    assert {each["error"]["kind"] for each in cases[1:]} == {"pattern_too_slow"}


def test_a_server_that_is_not_there_is_named(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    code, _, err = run(folder, "list", "--url", f"http://127.0.0.1:{port}/mcp")
    assert code == 3
    assert f"cannot connect to 127.0.0.1:{port}: " in err
    assert "refused" in err


def test_reports_are_replaced(folder: Path, url: str) -> None:
    for _ in range(2):
        words = ("run", "t.test.mcp.yml", "-k", "add", "--url", url)
        code, _, err = run(folder, *words, "--junit", "r.xml", "--reporter", "ndjson=r.jsonl")
        assert (code, err) == (0, "")
    assert sorted(each.name for each in folder.glob("r.*")) == ["r.jsonl", "r.xml"]


def test_a_wait_ends_with_ctrl_c(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE_S)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        with start(folder, "run", "t.test.mcp.yml", "--url", url) as process:
            client, _ = silent.accept()
            assert client.recv(1 << 16), "it waits for the answer now"
            process.send_signal(STOP)
            process.communicate(timeout=PATIENCE_S)
            client.close()
    assert process.returncode == 130


def test_a_folder_is_locked_against_other_processes(tmp_path: Path) -> None:
    locking = (
        "import sys; from mcptest.transport import files\n"
        "try:\n"
        "    with files.locked(sys.argv[1], 0.0): print('free')\n"
        "except TimeoutError: print('locked')"
    )
    other = [sys.executable, "-c", locking, str(tmp_path)]
    with files.locked(str(tmp_path), 0.0):
        held = subprocess.run(other, capture_output=True, check=True, timeout=PATIENCE_S)
    after = subprocess.run(other, capture_output=True, check=True, timeout=PATIENCE_S)
    assert (held.stdout.split(), after.stdout.split()) == ([b"locked"], [b"free"])


@pytest.mark.skipif(sys.platform != "win32", reason="it is refused on Windows only")
def test_starting_a_server_is_refused(folder: Path) -> None:
    code, out, err = run(folder, "list", "--", "python", "server.py")
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "error: starting python is not supported on Windows yet"
