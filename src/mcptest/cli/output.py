"""Where reports go: standard output, or files that are replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import sys

from mcptest.core.errors import UsageError
from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "StandardOutput",
    "check_writable",
    "is_terminal",
    "prepare_streams",
    "silence_stdout",
    "wants_colour",
    "write_file",
]


class StandardOutput:
    """Standard output, where a full disk is the user's trouble and not a fault of ours."""

    def __init__(self) -> None:
        self.encoding = sys.stdout.encoding

    def write(self, text: str) -> int:
        with _told_as_usage():
            return sys.stdout.write(text)

    def write_utf8(self, text: str) -> None:
        """Write what must be UTF-8 whatever the locale says: JSON and XML reports."""
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
    except BrokenPipeError:
        raise
    except OSError as error:
        silence_stdout()
        raise UsageError(f"cannot write to standard output: {error.strerror}") from None


def silence_stdout() -> None:
    """Nobody can be told any more: what is still buffered must not end in a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prepare_streams() -> None:
    """No character that a server sends may end in an encoding error of ours."""
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
        if _is_special(path):
            with open(path, "wb") as target:
                target.write(raw)
        else:
            _replace(os.path.realpath(path), raw)
    except OSError as error:
        raise UsageError(f"cannot write {visible(path)}: {error.strerror}") from None


def check_writable(path: str) -> None:
    """Refuse a report that could not be written, before anything runs."""
    folder = os.path.dirname(os.path.realpath(path))
    reason = ""
    if os.path.isdir(path):
        reason = "it is a folder"
    elif not os.path.isdir(folder):
        reason = f"there is no folder {visible(folder)}"
    elif not _is_special(path) and not os.access(folder, os.W_OK):
        reason = f"the folder {visible(folder)} cannot be written to"
    if reason:
        raise UsageError(f"cannot write {visible(path)}: {reason}")


def _is_special(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


def _replace(path: str, raw: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as target:
            target.write(raw)
            target.flush()
            os.fsync(target.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
