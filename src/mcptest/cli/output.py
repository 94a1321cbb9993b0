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
    from collections.abc import Callable

__all__ = ["RedactedStream", "is_terminal", "prepare_streams", "wants_colour", "write_file"]


class RedactedStream:
    """A text stream that blanks secrets before they leave us."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self.encoding = sys.stdout.encoding

    def write(self, text: str) -> int:
        return sys.stdout.write(self._redact(text))

    def flush(self) -> None:
        sys.stdout.flush()


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
            with open(path, "wb", buffering=0) as target:
                target.write(raw)
        else:
            _replace(os.path.realpath(path), raw)
    except OSError as error:
        raise UsageError(f"cannot write {visible(path)}: {error.strerror}") from None


def check_writable(path: str) -> None:
    """Refuse a report that could not be written, before anything runs."""
    folder = os.path.dirname(os.path.realpath(path)) or "."
    if os.path.isdir(path):
        raise UsageError(f"cannot write {visible(path)}: it is a folder")
    if not os.path.isdir(folder):
        raise UsageError(f"cannot write {visible(path)}: there is no folder {visible(folder)}")


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
