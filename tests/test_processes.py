"""A command that is forked from the warm process is like one in a new interpreter."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from console import PATIENCE_S, mcptest
from mock_client import mocking

CONTRACT = str(Path(__file__).parents[1] / "examples" / "contract" / "library.cases.yaml")
MOCK = [sys.executable, "-m", "mcptest", "mock", CONTRACT]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux shows all of it")
def test_both_have_the_same_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for is_cold in (False, True):
        monkeypatch.setattr(processes, "is_cold", is_cold)
        with mocking(tmp_path, CONTRACT) as client:
            client.ask("ping")
            assert (type(client.process) is subprocess.Popen) is is_cold
            seen.append(surroundings_of(client.process.pid))
    warm, cold = seen
    assert warm == cold


def surroundings_of(pid: int) -> dict[str, Any]:
    folder = Path(f"/proc/{pid}")
    status = (folder / "status").read_text(encoding="utf-8")
    handles = sorted((folder / "fd").iterdir(), key=lambda handle: int(handle.name))
    return {
        "status": re.findall(r"(?m)^((?:Sig(?:Blk|Ign|Cgt)|Threads|Umask).*)$", status),
        "handles": [(each.name, re.sub(r"\d+", "N", str(each.readlink()))) for each in handles],
        "cwd": (folder / "cwd").readlink(),
        "group": os.getpgid(pid),
        "session": os.getsid(pid),
    }


@pytest.mark.parametrize("is_cold", [False, True])
def test_it_ends_as_a_child_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_cold: bool
) -> None:
    monkeypatch.setattr(processes, "is_cold", is_cold)
    environment: dict[str, Any] = {"env": processes.ENVIRONMENT, "cwd": tmp_path}
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with processes.start(MOCK, start_new_session=True, **environment, **pipes) as process:
        assert os.getsid(process.pid) == process.pid
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.kill()
        assert process.wait(PATIENCE_S) == process.poll() == -signal.SIGKILL
    unread, open_end = os.pipe()
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run(MOCK, timeout=0.1, stdin=unread, **environment)
    os.close(unread)
    os.close(open_end)
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    done = processes.run(MOCK, timeout=PATIENCE_S, input=ping, **environment)
    assert (done.returncode, done.stdout) == (0, b'{"jsonrpc":"2.0","id":1,"result":{}}\n')


def test_an_environment_that_the_interpreter_reads_is_cold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "is_cold", False)
    # Python refuses to start with it.
    ended = mcptest(tmp_path, "--version", PYTHONHOME="/nowhere")
    assert ended.code == 1
    assert "init_fs_encoding" in ended.err
    assert mcptest(tmp_path, "--version", HOME="/nowhere").code == 0


def test_a_command_that_is_not_plain_is_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "is_cold", False)
    for words in (["true"], [sys.executable, "-S", "-c", "pass"], [sys.executable, "-m", "this"]):
        with processes.start(words, stdout=subprocess.DEVNULL) as process:
            assert type(process) is subprocess.Popen
