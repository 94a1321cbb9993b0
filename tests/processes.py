"""Start `mcptest` or `python -m pytest` for a test: always a real process of its own.

*Cold*, it is started as users start it: a new interpreter imports what the command needs. That is
most of the processor time of a short run. *Warm*, it is forked from a process that has imported all
of mcptest already; each pytest worker has one. The child has its own pipes, folder, environment,
arguments, session and signals, and calls the same entry point. `python -m pytest` is forked from a
second process, which has imported pytest, too, but not our plugin: pytest rewrites its assertions.

`pytest` and `./check` run it warm, `pytest --cold` and `./check --cold` (CI) cold. What depends on
starting is cold in both: tests with `@pytest.mark.cold`, commands that are not just
`python -m mcptest`, the installed script or `python -m pytest`, and environments that differ in a
variable that the interpreter reads when it starts.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import inspect
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ENVIRONMENT", "MCPTEST", "end", "run", "start"]

MCPTEST = str(Path(sys.executable).with_name("mcptest"))

# The environment of the tests, without what concerns only the interpreter that runs them.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONUNBUFFERED", "PYTHONWARNDEFAULTENCODING")
}

# Set by `conftest` before each test.
is_cold = True

# Beginnings of the names of variables that an interpreter reads when it starts.
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "DYLD_", "COVERAGE_", "OPENSSL_", "TZ")
_WARM_OPTIONS = {
    *("cwd", "env", "stdin", "stdout", "stderr", "start_new_session"),
    *("bufsize", "text", "encoding", "errors"),
}

# What is reported of a command: that it has started, with its pid, or ended, with its exit status.
_REPORT = struct.Struct("=?i")
_STARTED, _ENDED = False, True


def start(words: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a command; the options are those of `subprocess.Popen`."""
    environment = options.get("env")
    environment = os.environ if environment is None else environment
    if (
        is_cold
        or _program(words) is None
        or not options.keys() <= _WARM_OPTIONS
        or _read_at_start(environment) != _read_at_start(ENVIRONMENT)
    ):
        return subprocess.Popen(words, **options)
    return _WarmPopen(words, **options)


def run(
    words: Sequence[str], *, timeout: float, input: bytes | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end; the options are those of `start`, and output is captured."""
    defaults: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        defaults["stdin"] = subprocess.PIPE
    with start(words, **(defaults | options)) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        finally:
            process.kill()
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def has_ended(pid: int, patience_s: float = 60.0) -> bool:
    """True if a process, which need not be a child of this one, ends in time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], patience_s)[0])
    finally:
        os.close(handle)


def end() -> None:
    """End the warm processes, if there are any."""
    _WarmProcess.end()


def _program(words: Sequence[str]) -> tuple[str, list[str]] | None:
    """The program, one of `_IMPORTS`, and its arguments; None if the words start something else."""
    if list(words[:2]) == [sys.executable, "-m"] and words[2] in _IMPORTS:
        return words[2], list(words[3:])
    return ("mcptest", list(words[1:])) if words[0] == MCPTEST else None


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}


class _WarmPopen(subprocess.Popen[Any]):
    """A command that was forked by the warm process, which reports its pid and its end."""

    def _execute_child(self, *arguments: Any) -> None:
        """Start the command and close its ends of the pipes, as the method of `Popen` does."""
        usual: Any = super()
        given = inspect.signature(usual._execute_child).bind(*arguments).arguments
        ends = (given["p2cread"], given["c2pwrite"], given["errwrite"])
        streams = [number if end == -1 else end for number, end in enumerate(ends)]
        program, words = _program(given["args"]) or ("", [])
        request = {
            "arguments": words,
            "cwd": str(given["cwd"] or os.getcwd()),
            "environment": dict(os.environ if given["env"] is None else given["env"]),
            "is_new_session": given["start_new_session"],
        }
        self._status, theirs = os.pipe()
        try:
            _WarmProcess.get(program).send(request, [*streams, theirs])
        finally:
            os.close(theirs)
        self.pid = self._read_report(_STARTED)
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        usual._close_pipe_fds(*[given[name] for name in pipes])

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = self._read_report(_ENDED)
            os.close(self._status)
        return self.returncode

    def _read_report(self, wanted: bool) -> int:
        data = os.read(self._status, _REPORT.size)
        assert data, "the warm process has ended"
        kind, number = _REPORT.unpack(data)
        assert kind == wanted, "the command has ended before it began; its folder may be missing"
        return int(number)


class _WarmProcess:
    """A warm process of this pytest worker. It ends when the worker does."""

    _running: ClassVar[dict[str, _WarmProcess]] = {}

    def __init__(self, program: str) -> None:
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), program],
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    @classmethod
    def get(cls, program: str) -> _WarmProcess:
        if program not in cls._running:
            cls._running[program] = cls(program)
        return cls._running[program]

    @classmethod
    def end(cls) -> None:
        while cls._running:
            _, warm = cls._running.popitem()
            warm._control.close()
            warm._process.wait()

    def send(self, request: dict[str, Any], handles: list[int]) -> None:
        text = json.dumps(request).encode()
        with self._lock:
            socket.send_fds(self._control, [len(text).to_bytes(4, "big")], handles)
            self._control.sendall(text)


# What follows runs in the warm process.


def _serve(control: socket.socket) -> None:
    """Fork for every request and report the ends; only the children return, as commands."""
    # The collector would change the objects, and a page that is changed is copied.
    gc.freeze()
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    reports: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([control.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 1000)
            _report_ended(reports)
        if control.fileno() in ready:
            size, handles, _, _ = socket.recv_fds(control, 4, 4)
            if not size:
                os._exit(0)
            request = json.loads(control.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
            pid = os.fork()
            if pid == 0:
                control.detach()
                *streams, report = handles
                _become_command(request, streams)
                # Only now, as `Popen` returns when a program has replaced the child.
                os.write(report, _REPORT.pack(_STARTED, os.getpid()))
                os.closerange(3, 1024)
                return
            *streams, reports[pid] = handles
            for handle in streams:
                os.close(handle)


def _import_mcptest() -> None:
    _import_all("mcptest", (*_NOT_IMPORTED, "mcptest.sdk"))


def _import_pytest() -> None:
    _import_all("mcptest", _NOT_IMPORTED)
    _import_all("_pytest", ())
    importlib.import_module("pytest")


def _import_all(name: str, others: tuple[str, ...]) -> None:
    """Import a package and all that is in it, except what has one of these names."""
    package = importlib.import_module(name)
    for found in pkgutil.iter_modules(package.__path__, f"{name}."):
        if found.name in others:
            continue
        if found.ispkg:
            _import_all(found.name, others)
        else:
            importlib.import_module(found.name)


# Programs of their own, and the plugin: pytest imports that, and rewrites its assertions.
_NOT_IMPORTED = (
    "mcptest.__main__",
    "mcptest.engine.code_coverage.sitecustomize",
    "mcptest.pytest_plugin",
)
# The programs that can be forked, and what makes them warm.
_IMPORTS = {"mcptest": _import_mcptest, "pytest": _import_pytest}


def _report_ended(reports: dict[int, int]) -> None:
    while reports:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            break
        report = reports.pop(pid)
        with contextlib.suppress(BrokenPipeError):
            os.write(report, _REPORT.pack(_ENDED, os.waitstatus_to_exitcode(status)))
        os.close(report)


def _become_command(request: dict[str, Any], streams: list[int]) -> None:
    """Make this process what a new interpreter would be."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
    if request["is_new_session"]:
        os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [MCPTEST, *request["arguments"]]
    sys.path[0] = request["cwd"]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        new = open(  # noqa: SIM115  # it is open as long as the process
            number,
            old.mode,
            encoding=old.encoding,
            errors=old.errors,
            newline="\n",
            closefd=False,
        )
        new.reconfigure(line_buffering=name == "stderr" or new.isatty())
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _main() -> None:
    program = sys.argv[2] if len(sys.argv) > 2 else "mcptest"
    try:
        _IMPORTS[program]()
        _serve(socket.socket(fileno=int(sys.argv[1])))
    except KeyboardInterrupt:
        os._exit(130)
    if program == "pytest":
        _run_pytest()
    else:
        importlib.import_module("mcptest.cli.start").mcptest_command()


def _run_pytest() -> None:
    try:
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, int):
            raise
        # All that an interpreter does at its end but freeing every module, which takes as long as a
        # short session.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code)


if __name__ == "__main__":
    _main()
