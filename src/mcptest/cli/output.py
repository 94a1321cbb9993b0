"""Where reports go: standard output, or files that are replaced whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time

from mcptest.core.errors import UsageError, hint_at_limit
from mcptest.core.secrets import redactor
from mcptest.core.text import defuse, visible
from mcptest.transport.process.child import open_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, TextIO

__all__ = [
    "StandardOutput",
    "check_writable",
    "complain",
    "exhaustion",
    "explain",
    "hide_secrets",
    "is_special",
    "is_terminal",
    "open_special",
    "prepare_streams",
    "silence_stdout",
    "wants_colour",
    "write_file",
    "write_special",
]


# How long a report waits for somebody to open the pipe it goes to, and then to read on.
_READER_PATIENCE_S = 10.0


class StandardOutput:
    """Standard output, where a full disk is the user's trouble and not a fault of ours."""

    def __init__(self) -> None:
        self.encoding = sys.stdout.encoding

    def write(self, text: str) -> int:
        """Write text for people, in which no line is a command to a CI system."""
        # Said for every test, so without a context manager.
        try:
            return sys.stdout.write(defuse(text))
        except OSError as error:
            raise _usage_of(error) from None

    def write_utf8(self, text: str) -> None:
        """Write what must be UTF-8 whatever the locale says: JSON, XML, YAML, Markdown.

        The caller has made it safe for CI logs in the way that its format allows.
        """
        raw = text.encode("utf-8", "backslashreplace")
        with _told_as_usage():
            sys.stdout.flush()
            # Tests and embedders may have put something simpler in its place.
            binary = getattr(sys.stdout, "buffer", None)
            if binary:
                binary.write(raw)
            else:
                sys.stdout.write(raw.decode("utf-8"))

    def flush(self) -> None:
        with _told_as_usage():
            sys.stdout.flush()


@contextlib.contextmanager
def _told_as_usage() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _usage_of(error) from None


def exhaustion(error: Exception) -> UsageError | None:
    """The user's trouble in words, when the system has nothing more to give; else None."""
    hint = hint_at_limit(error)
    if not hint:
        return None
    why = (error.strerror if isinstance(error, OSError) else "") or "Cannot allocate memory"
    return UsageError(f"the system gives no more to this command: {why}", hint)


def _usage_of(error: OSError) -> OSError | UsageError:
    """The user's trouble in words; a reader that has left is nobody's."""
    if isinstance(error, BrokenPipeError):
        return error
    silence_stdout()
    return UsageError(f"cannot write to standard output: {error.strerror}")


def silence_stdout() -> None:
    """Nobody can be told any more: what is still buffered must not end in a traceback."""
    nowhere = open_null()
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def complain(text: str) -> None:
    """Say something on standard error, if anybody can hear it.

    No line of it is a command to a CI system, whatever is quoted in it.
    """
    with contextlib.suppress(OSError):
        # Secrets are looked for first: they must be found as they are.
        sys.stderr.write(text if isinstance(sys.stderr, _Blanked) else defuse(text))
        sys.stderr.flush()


def explain(text: str) -> None:
    """Say sentences on standard error; those that a terminal is too narrow for are wrapped."""
    columns = _error_columns()
    if columns and any(len(line) > columns for line in text.split("\n")):
        # Only those who look at a terminal pay for it.
        from mcptest.reporters.style import wrap_text  # noqa: PLC0415

        text = wrap_text(text, columns)
    complain(text)


def _error_columns() -> int:
    """How wide the terminal is that standard error goes to; 0 when it goes elsewhere."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns if sys.stderr.isatty() else 0
    except (OSError, ValueError):
        return 0


class _Blanked:
    """Standard error without secrets and without commands to a CI system.

    This covers tracebacks, plugins and workers too.
    """

    def __init__(self, stream: TextIO, secrets: Sequence[str]) -> None:
        self._stream = stream
        self._redact = redactor(secrets)

    def write(self, text: str) -> int:
        return self._stream.write(defuse(self._redact(text)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def hide_secrets(secrets: Sequence[str]) -> None:
    """From here on nothing that is said on standard error holds any of these, or learned ones."""
    if secrets or not isinstance(sys.stderr, _Blanked):
        sys.stderr = _Blanked(sys.stderr, secrets)


def _open_closed_streams() -> None:
    """A stream that was closed when we were started becomes one to nowhere.

    Otherwise its number would be given to the next file we open, a pipe to a server say.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            open_null()
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            # It stays open for as long as we live.
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def prepare_streams() -> None:
    """No character that a server sends may end in an encoding error of ours."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Tests and embedders may have put something simpler in their place.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")


def is_terminal() -> bool:
    return sys.stdout.isatty()


def wants_colour(refused: bool) -> bool:
    """Colour on a terminal, unless the user or their environment said no."""
    if refused or os.environ.get("NO_COLOR"):
        return False
    return is_terminal() and os.environ.get("TERM") != "dumb"


def write_file(path: str, text: str) -> None:
    """Write a report. A regular file is replaced atomically; a pipe or device is written to."""
    raw = text.encode("utf-8", "backslashreplace")
    try:
        if is_special(path):
            fd = open_special(path)
            try:
                write_special(fd, raw)
            finally:
                os.close(fd)
        else:
            # Only for those who write files.
            from mcptest.engine.files import resolve_target  # noqa: PLC0415
            from mcptest.transport.files import replace_file  # noqa: PLC0415

            replace_file(resolve_target(path), raw)
    except OSError as error:
        raise UsageError(f"cannot write {visible(path)}: {error.strerror}") from None


def open_special(path: str) -> int:
    """Open a pipe or device for `write_special`; a reader is waited for, but not for ever."""
    deadline = time.monotonic() + _READER_PATIENCE_S
    while True:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return fd


def write_special(fd: int, raw: bytes) -> None:
    """Write all of it; a `TimeoutError` when a reader takes nothing for too long."""
    # Only those who write to a pipe pay for it.
    import select  # noqa: PLC0415

    rest = memoryview(raw)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            writable = select.poll()
            writable.register(fd, select.POLLOUT)
            if not writable.poll(_READER_PATIENCE_S * 1000):
                reason = f"its reader has read nothing for {_READER_PATIENCE_S:g} s"
                raise TimeoutError(errno.ETIMEDOUT, reason) from None


def check_writable(path: str) -> None:
    """Refuse a report that could not be written, before anything runs."""
    if not path:
        raise UsageError("the name of a report file is empty")
    try:
        reason = _why_unwritable(path)
    except OSError as error:
        reason = error.strerror or "it cannot be looked at"
    if reason:
        raise UsageError(f"cannot write {visible(path)}: {reason}")


def _why_unwritable(path: str) -> str:
    from mcptest.engine.files import resolve_target  # noqa: PLC0415  # as above

    if os.path.isdir(path):
        return "it is a folder"
    folder = os.path.dirname(resolve_target(path))
    reason = ""
    if not os.path.isdir(folder):
        reason = f"there is no folder {visible(folder)}"
    elif not is_special(path) and not os.access(folder, os.W_OK):
        reason = f"the folder {visible(folder)} cannot be written to"
    return reason


def is_special(path: str) -> bool:
    """Whether something other than a regular file is there: a pipe, a device, a folder."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False
