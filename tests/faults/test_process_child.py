"""Processes of ours are started as `subprocess` would start them, whichever way is taken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcptest.transport.process.child import Child, start

QUICKLY, BY_LIBRARY = "quickly", "by library"


@pytest.fixture(params=[QUICKLY, BY_LIBRARY])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Both ways of starting; only one of them may call `subprocess`."""
    started: list[object] = []
    popen = subprocess.Popen

    def noted(*given: object, **named: object) -> object:
        started.append(given)
        return popen(*given, **named)  # type: ignore[call-overload]  # handed on as it came

    monkeypatch.setattr(subprocess, "Popen", noted)
    if request.param == BY_LIBRARY:
        monkeypatch.setattr("mcptest.transport.process.child._OPEN_FILES", "/nowhere")
    yield request.param
    assert bool(started) == (request.param == BY_LIBRARY)


def said_by(child: Child) -> str:
    os.close(child.stdin)
    parts = []
    while part := os.read(child.stdout, 65536):
        parts.append(part)
    child.wait()
    child.close_outputs()
    return b"".join(parts).decode()


def test_its_pipes_are_ours_and_its_end_is_reported(way: str) -> None:
    child = start(["sh", "-c", "read line; echo got $line; echo why >&2; exit 3"], os.environ)
    os.write(child.stdin, b"this\n")
    assert os.read(child.stdout, 100) == b"got this\n"
    assert os.read(child.stderr, 100) == b"why\n"
    assert child.wait() == 3
    assert child.poll() == 3
    child.close_outputs()
    child.close_outputs()
    os.close(child.stdin)


def test_a_signal_is_reported_as_a_negative_number(way: str) -> None:
    child = start(["sleep", "60"], os.environ)
    assert child.poll() is None
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    said_by(child)


def test_it_leads_a_session_of_its_own(way: str) -> None:
    child = start(["cat", "/proc/self/stat"], os.environ)
    words = said_by(child).split()
    assert [int(words[place]) for place in (4, 5)] == [child.pid, child.pid]


def test_it_ignores_no_signal_that_python_ignores(way: str) -> None:
    said = said_by(start(["cat", "/proc/self/status"], os.environ))
    ignored = next(line.split()[1] for line in said.splitlines() if line.startswith("SigIgn"))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        assert not int(ignored, 16) >> (number - 1) & 1


def test_it_gets_no_open_file_of_ours(way: str, tmp_path: Path) -> None:
    with (tmp_path / "open").open("w", encoding="utf-8") as file:
        os.set_inheritable(file.fileno(), True)
        said = said_by(start(["ls", "/proc/self/fd"], os.environ))
    # The last one is that of the folder which is listed.
    assert said.split() == ["0", "1", "2", "3"]


def test_its_stderr_is_ours_if_it_gets_none(way: str, capfd: pytest.CaptureFixture[str]) -> None:
    child = start(["sh", "-c", "echo told >&2"], os.environ, with_stderr=False)
    assert child.stderr == -1
    assert said_by(child) == ""
    assert capfd.readouterr().err == "told\n"


def test_its_environment_is_the_given_one_and_its_path_decides(way: str, tmp_path: Path) -> None:
    tool = tmp_path / "there" / "my-tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho $WORD\n", encoding="utf-8")
    tool.chmod(0o755)
    unusable = tmp_path / "first" / "my-tool"
    unusable.parent.mkdir()
    unusable.write_text("", encoding="utf-8")
    path = f"{tmp_path}/none:{unusable.parent}:{tool.parent}"
    assert said_by(start(["my-tool"], {"PATH": path, "WORD": "right"})) == "right\n"
    with pytest.raises(PermissionError):
        start(["my-tool"], {"PATH": f"{unusable.parent}:{tmp_path}/none"})
    with pytest.raises(FileNotFoundError):
        start(["my-tool"], {"PATH": str(tmp_path / "none")})


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["./not-there"], FileNotFoundError),
        (["/dev/null/x"], NotADirectoryError),
        (["/"], PermissionError),
        (["cat", "a\0b"], ValueError),
    ],
)
def test_a_command_that_cannot_be_started_is_an_error_and_leaves_nothing_open(
    way: str, command: list[str], error: type[Exception]
) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(error):
        start(command, os.environ)
    assert os.listdir("/proc/self/fd") == before


def test_it_runs_in_its_folder_and_we_stay_in_ours(tmp_path: Path) -> None:
    # By itself, so that it has one thread.
    script = (
        "import os, sys; from mcptest.transport.process.child import start\n"
        "child = start(['sh', '-c', 'pwd'], os.environ, sys.argv[1])\n"
        "print(os.read(child.stdout, 999).decode().strip(), os.getcwd())\n"
        "try: start(['pwd'], os.environ, sys.argv[1] + '/none')\n"
        "except FileNotFoundError: print(os.getcwd(), 'subprocess' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    here = os.getcwd()
    assert done.stdout.splitlines() == [f"{tmp_path} {here}", f"{here} False"]


def test_while_others_look_our_folder_is_never_changed(tmp_path: Path) -> None:
    is_over = threading.Event()
    other = threading.Thread(target=is_over.wait)
    other.start()
    try:
        said = said_by(start(["sh", "-c", "pwd"], os.environ, str(tmp_path)))
        with pytest.raises(FileNotFoundError):
            start(["pwd"], os.environ, str(tmp_path / "none"))
    finally:
        is_over.set()
        other.join()
    assert said == f"{tmp_path}\n"


def test_a_closed_standard_input_is_not_a_pipe_of_the_child(tmp_path: Path) -> None:
    script = (
        "import os; from mcptest.transport.process.child import start\n"
        "child = start(['sh', '-c', 'read x; echo $x; echo err >&2'], os.environ)\n"
        "os.write(child.stdin, b'in\\n')\n"
        "said = os.read(child.stdout, 99), os.read(child.stderr, 99)\n"
        "os.write(2, repr(said).encode())\n"
    )
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" <&- >&-', sys.executable, script],
        stderr=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    assert done.stderr == b"(b'in\\n', b'err\\n')"


def test_where_posix_spawn_makes_no_session_the_library_starts_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise NotImplementedError

    monkeypatch.setattr(os, "posix_spawn", refuse)
    child = start(["cat", "/proc/self/stat"], os.environ)
    assert said_by(child).split()[5] == str(child.pid)
