"""Do work in a separate interpreter, which can be killed at any moment: for systems without fork.

The interpreter is started once and gets one job after the other. Functions that it cannot import,
such as lambdas, are sent as their code: both sides are the same interpreter with the same modules.
"""

from __future__ import annotations

import contextlib
import io
import marshal
import os
import pickle
import subprocess
import sys
import threading
import time
import types

from mcptest.core.errors import EndedError, InterruptedRunError, PatternTimeoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from mcptest.transport.process.signals import Interrupts

__all__ = ["call_apart", "serve_calls"]

# How long an interpreter may take to start.
_START_S = 60.0
_GRACE_S = 1.0
# How often a signal to us is looked for: on Windows no wait for a thread is interrupted by one.
_LOOK_S = 0.05
# The exit status of an interpreter in which our own code failed.
_OUR_FAULT = 93

_HELPER = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from mcptest.transport.process.spawned import serve_calls
serve_calls()
"""


def call_apart(work: Callable[[], Any], limit_s: float, interrupts: Interrupts) -> Any:
    """What `work` returns within this time, computed in another process.

    PatternTimeoutError if it takes longer, EndedError if the process ends, RuntimeError if the
    work raises an exception.
    """
    helper = _helpers.pop() if _helpers else _Helper()
    try:
        found = helper.call(work, limit_s, interrupts)
    except BaseException:
        helper.kill()
        raise
    _helpers.append(helper)
    return found


class _Helper:
    """The other process."""

    def __init__(self) -> None:
        # Without a console of its own, Ctrl-C would reach it as well.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _HELPER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._send(pickle.dumps(sys.path))

    def call(self, work: Callable[[], Any], limit_s: float, interrupts: Interrupts) -> Any:
        target = io.BytesIO()
        _Pickler(target).dump((limit_s, work))
        job = target.getvalue()
        answers: list[Any] = []
        is_done = threading.Event()

        def talk() -> None:
            # Pipes cannot be waited for, so a thread does, and ends when the process does.
            with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
                self._send(job)
                for _ in range(2):
                    answers.append(pickle.load(self._output))
            is_done.set()

        threading.Thread(target=talk, daemon=True).start()
        deadline = time.monotonic() + _START_S
        has_begun = False
        while not is_done.wait(_LOOK_S):
            if answers and not has_begun:
                has_begun = True
                deadline = time.monotonic() + limit_s
            if interrupts.count:
                raise InterruptedRunError
            if time.monotonic() >= deadline:
                raise PatternTimeoutError(limit_s)
        if len(answers) < 2:
            code = self._process.wait()
            if code == _OUR_FAULT:
                raise RuntimeError("judging an answer failed; the traceback is above")
            raise EndedError(f"exit status {code}")
        return answers[1]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def _output(self) -> Any:
        return self._process.stdout

    def _send(self, raw: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(raw)
        self._process.stdin.flush()


# Those that wait for work.
_helpers: list[_Helper] = []


def serve_calls() -> NoReturn:
    """The other process from start to end: it ends with its input."""
    import faulthandler  # noqa: PLC0415  # only there
    import traceback  # noqa: PLC0415  # only there

    output = os.fdopen(os.dup(1), "wb")
    # What the work prints must not be taken for an answer.
    os.dup2(2, 1)
    with open(os.devnull, "w", encoding="utf-8") as null:
        while True:
            try:
                limit_s, work = pickle.load(sys.stdin.buffer)
            except EOFError:
                os._exit(0)
            try:
                # The last resort, if the process that wants the answer was killed: it needs
                # nothing of the interpreter.
                faulthandler.dump_traceback_later(limit_s + _GRACE_S, exit=True, file=null)
                pickle.dump(True, output)
                output.flush()
                answer = pickle.dumps(work())
                faulthandler.cancel_dump_traceback_later()
                output.write(answer)
                output.flush()
            except BaseException:  # noqa: BLE001  # it is shown here, and the status says so
                traceback.print_exc()
                os._exit(_OUR_FAULT)


class _Pickler(pickle.Pickler):
    """Pickles also functions that cannot be imported by their name."""

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, types.FunctionType) or _is_importable(value):
            return NotImplemented
        cells = value.__closure__ or ()
        contents: list[tuple[Any, ...]] = []
        for cell in cells:
            # A cell is empty until its variable is assigned.
            try:
                contents.append((cell.cell_contents,))
            except ValueError:
                contents.append(())
        made = (marshal.dumps(value.__code__), value.__module__, len(cells))
        rest = (value.__defaults__, value.__kwdefaults__, contents)
        # In two steps: a function may refer to itself.
        return _make_function, made, rest, None, None, _complete_function


def _is_importable(function: types.FunctionType) -> bool:
    found: object = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _make_function(code: bytes, module: str, cells: int) -> types.FunctionType:
    __import__(module)
    closure = tuple(types.CellType() for _ in range(cells)) or None
    return types.FunctionType(marshal.loads(code), vars(sys.modules[module]), closure=closure)


def _complete_function(function: types.FunctionType, rest: Any) -> None:
    function.__defaults__, function.__kwdefaults__, contents = rest
    for cell, content in zip(function.__closure__ or (), contents, strict=True):
        if content:
            cell.cell_contents = content[0]
