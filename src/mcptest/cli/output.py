"""The standard streams: what is written to them, and the terminal that they may be."""

from __future__ import annotations

import contextlib
import os
import sys

from mcptest.core.errors import UsageError, hint_at_limit
from mcptest.core.secrets import redactor
from mcptest.core.text import defuse
from mcptest.transport.process.child import open_null

if sys.platform == "win32":
    from mcptest.transport.windows import interpret_escapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, TextIO

__all__ = [
    "StandardOutput",
    "describe_exhaustion",
    "hide_secrets",
    "is_terminal",
    "prepare_streams",
    "silence_broken_stderr",
    "silence_stdout",
    "terminal_columns",
    "wants_colour",
    "write_commands",
    "write_note",
    "write_stderr",
    "write_stderr_wrapped",
]


class StandardOutput:
    """Standard output; errors such as a full disk are raised as `UsageError`."""

    def __init__(self) -> None:
        self.encoding = sys.stdout.encoding

    def write(self, text: str) -> int:
        """Write text for people; no line of it acts as a command to a CI system."""
        # Called for every test, so without a context manager.
        try:
            return sys.stdout.write(defuse(text))
        except OSError as error:
            raise _to_usage_error(error) from None

    def write_utf8(self, text: str) -> None:
        """Write formats that must be UTF-8 in any locale: JSON, XML, YAML, Markdown.

        The caller makes the text safe for CI logs, as its format allows.
        """
        raw = text.encode("utf-8", "backslashreplace")
        with _raise_usage_error():
            sys.stdout.flush()
            # Tests and embedders may have replaced it by a simpler stream.
            binary = getattr(sys.stdout, "buffer", None)
            if binary:
                binary.write(raw)
            else:
                sys.stdout.write(raw.decode("utf-8"))

    def flush(self) -> None:
        with _raise_usage_error():
            sys.stdout.flush()


@contextlib.contextmanager
def _raise_usage_error() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _to_usage_error(error) from None


def describe_exhaustion(error: Exception) -> UsageError | None:
    """Return a `UsageError` if the system is out of files, processes or memory, else None."""
    hint = hint_at_limit(error)
    if not hint:
        return None
    why = (error.strerror if isinstance(error, OSError) else "") or "Cannot allocate memory"
    return UsageError(f"this command reached a limit of the system: {why}", hint)


def _to_usage_error(error: OSError) -> OSError | UsageError:
    """Convert an error of standard output, except a closed pipe."""
    if isinstance(error, BrokenPipeError):
        return error
    silence_stdout()
    return UsageError(f"cannot write to standard output: {error.strerror}")


def silence_stdout() -> None:
    """Discard further output: a broken standard output must not cause a traceback at exit."""
    _send_to_null(sys.stdout.fileno())


def silence_broken_stderr() -> None:
    """Discard what standard error does not take; otherwise Python would exit with status 120."""
    try:
        sys.stderr.flush()
    except OSError:
        _send_to_null(sys.stderr.fileno())


def _send_to_null(number: int) -> None:
    null = open_null()
    os.dup2(null, number)
    os.close(null)


def write_stderr(text: str) -> None:
    """Write to standard error, ignoring errors; no line acts as a command to a CI system."""
    with contextlib.suppress(OSError):
        # Secrets are replaced first, while they are unchanged.
        sys.stderr.write(text if isinstance(sys.stderr, _SafeStderr) else defuse(text))
        sys.stderr.flush()


def write_commands(text: str) -> None:
    """Write commands to the CI system on standard error; the caller has made the text safe."""
    stream = sys.stderr
    with contextlib.suppress(OSError):
        stream = stream.stream if isinstance(stream, _SafeStderr) else stream
        stream.write(text)
        stream.flush()


def write_note(text: str) -> None:
    """Write a note to standard error; the run is not affected."""
    write_stderr_wrapped(f"note: {text}\n")


def write_stderr_wrapped(text: str) -> None:
    """Write sentences to standard error, wrapped to the width of the terminal."""
    columns = 0
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr.isatty():
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
    if columns and any(len(line) > columns for line in text.split("\n")):
        from mcptest.reporters.style import wrap_text  # noqa: PLC0415  # rare

        text = wrap_text(text, columns)
    write_stderr(text)


class _SafeStderr:
    """Standard error without secrets and without commands to a CI system.

    This covers tracebacks, plugins and workers too.
    """

    def __init__(self, stream: TextIO, secrets: Sequence[str]) -> None:
        self.stream = stream
        self._redact = redactor(secrets)

    def write(self, text: str) -> int:
        return self.stream.write(defuse(self._redact(text)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def hide_secrets(secrets: Sequence[str]) -> None:
    """Blank these secrets, and those learned later, in everything written to standard error."""
    if secrets or not isinstance(sys.stderr, _SafeStderr):
        sys.stderr = _SafeStderr(sys.stderr, secrets)


def prepare_streams() -> None:
    """Open closed streams, and escape characters that the encoding of a stream lacks.

    Streams that the parent closed are opened on the null device: otherwise their numbers would be
    reused for the next file, such as a pipe to a server.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            open_null()
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            # Stays open until the process ends.
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        # Tests and embedders may have replaced them by simpler streams.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")
        if sys.platform == "win32" and stream.isatty():
            interpret_escapes(stream.fileno())


def is_terminal() -> bool:
    return sys.stdout.isatty()


def terminal_columns() -> int:
    """Return the width of standard output, 0 if it is not known."""
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        pass
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0


def wants_colour(wish: str = "") -> bool:
    """Whether to use colour: as `wish` says ("always", "never"), else the environment.

    NO_COLOR counts before FORCE_COLOR and CLICOLOR_FORCE, and these before the terminal.
    """
    if wish or os.environ.get("NO_COLOR"):
        return wish == "always"
    forcing = (os.environ.get(name, "") for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))
    if any(value not in ("", "0", "false") for value in forcing):
        return True
    return is_terminal() and os.environ.get("TERM") != "dumb"
