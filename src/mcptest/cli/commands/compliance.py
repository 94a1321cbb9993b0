"""`mcptest compliance`: check a live server, or a capture of one against the rules.

`mcptest compliance run`, which needs a server, is `mcptest.cli.compliance_run`.
"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys

from mcptest import __version__
from mcptest.cli.compliance_run import RUN_COMMAND
from mcptest.cli.options import COLOR_OPTIONS, Command, Option, check_choice, parse_color
from mcptest.cli.output import StandardOutput, wants_colour
from mcptest.core.diagnostics import Diagnostic, suggest
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import join_words, visible
from mcptest.reporters.rules import (
    render_score,
    render_score_json,
    render_score_junit,
    render_score_sarif,
)
from mcptest.reporters.style import Paint, narrow_encoding
from mcptest.rules.all_rules import INVARIANTS, RULES
from mcptest.rules.captures import score_file
from mcptest.transport import IS_WINDOWS, OPEN_FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import WriteableBuffer

    from mcptest.cli.options import Arguments
    from mcptest.core.results import CaptureScore
    from mcptest.rules.rule import Rule

__all__ = ["COMMAND", "compliance"]

# The subcommands, and the rules that each of them checks.
_SUBCOMMANDS = {"invariants": INVARIANTS, "check": RULES}
_FORMATS = ("text", "json", "junit", "sarif")
_PIECE_CHARS = 1 << 16

# Limits for another process to open the other end of a pipe, and then for silence on it.
_WRITER_PATIENCE_S = 10.0
_SILENCE_PATIENCE_S = 300.0


def compliance(arguments: Arguments) -> int:
    """Check the capture and show the result; return the exit code."""
    subcommand, file = _subcommand(arguments)
    format = arguments.last("--format", "text")
    check_choice("--format", format, _FORMATS)
    score = _score(file, _SUBCOMMANDS[subcommand])
    _write(score, format, file, arguments)
    return ExitCode.PASSED if score.passed else ExitCode.FAILED


def _subcommand(arguments: Arguments) -> tuple[str, str]:
    """The subcommand, and the capture to check."""
    word, *files = arguments.paths or ("",)
    if word not in _SUBCOMMANDS:
        words = ("run", *_SUBCOMMANDS)
        seen = f", not {visible(word)!r}{suggest(word, words)}" if word else ""
        raise UsageError(
            f"mcptest compliance takes the word {join_words(words, 'or')}{seen}",
            "mcptest compliance run -- COMMAND, mcptest compliance invariants --capture FILE",
        )
    files += arguments.all("--capture")
    if len(files) != 1:
        raise UsageError(
            f"mcptest compliance {word} takes one capture, not {len(files)}",
            "write one with: mcptest run … --capture FILE; an array holds several sessions",
        )
    return word, files[0]


def _score(file: str, rules: Sequence[Rule]) -> CaptureScore:
    try:
        # Non-blocking: opening a pipe would wait until another process opens it for writing.
        fd = os.open(file, os.O_RDONLY | OPEN_FLAGS)
        with io.TextIOWrapper(io.BufferedReader(_Input(fd)), encoding="utf-8-sig") as stream:
            return score_file(lambda: stream.read(_PIECE_CHARS), file, rules)
    except OSError as error:
        raise _unreadable(file, f"cannot read it: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise _unreadable(file, f"it is not UTF-8: {error.reason}") from None


class _Input(io.RawIOBase):
    """A file, or a pipe such as /dev/stdin or <(…), with a bound on every read."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        # On Windows there is no poll, and reads wait as long as the pipe does.
        self._poll = None if IS_WINDOWS else select.poll()
        if self._poll:
            self._poll.register(fd, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        for wait_s in (_WRITER_PATIENCE_S, _SILENCE_PATIENCE_S):
            is_ready = self._poll is None or self._poll.poll(wait_s * 1000)
            try:
                chunk = os.read(self._fd, len(view))
            except BlockingIOError:
                if stat.S_ISREG(os.fstat(self._fd).st_mode):
                    raise OSError(errno.EAGAIN, "it has nothing to read yet") from None
                # Another process has opened the other end and has not written yet.
                continue
            if not (chunk or is_ready):
                reason = f"it is a pipe, and nothing was written to it within {wait_s:g} s"
                raise TimeoutError(errno.ETIMEDOUT, reason)
            view[: len(chunk)] = chunk
            return len(chunk)
        reason = f"it is a pipe, and nothing came through it for {_SILENCE_PATIENCE_S:g} s"
        raise TimeoutError(errno.ETIMEDOUT, reason)

    def close(self) -> None:
        if not self.closed:
            os.close(self._fd)
        super().close()


def _unreadable(file: str, reason: str) -> FormatError:
    return FormatError([Diagnostic(code="F001", file=file, message=reason)])


def _write(score: CaptureScore, format: str, file: str, arguments: Arguments) -> None:
    output = StandardOutput()
    if format == "json":
        output.write_utf8(render_score_json(score))
    elif format == "junit":
        output.write_utf8(render_score_junit(score, file))
    elif format == "sarif":
        output.write_utf8(render_score_sarif(score, file, __version__))
    else:
        paint = Paint(on=wants_colour(parse_color(arguments)))
        encoding = narrow_encoding(sys.stdout)
        is_verbose = arguments.has("--verbose")
        output.write(render_score(score, paint, encoding, is_verbose=is_verbose))


COMMAND = Command(
    name="mcptest compliance",
    summary="Check a server against the specification, or a capture against its rules.",
    usage="mcptest compliance run … | invariants|check --capture FILE",
    details="run checks a live server; mcptest compliance run --help shows its options. "
    "invariants checks INV-001 to INV-007 in a capture, check all passive rules; both compare "
    "its sessions, too. FILE is a session or an array of sessions, as written by mcptest run "
    "--capture and mcptest record. Exit code 0: no rule is violated and the sessions agree; 1: "
    "otherwise.",
    options=(
        Option(names=("--capture",), value="FILE", help="the capture to check"),
        Option(
            names=("--format",),
            value="NAME",
            choices=_FORMATS,
            help="text, json, junit or sarif (default: text)",
        ),
        *COLOR_OPTIONS,
        Option(names=("-v", "--verbose"), help="show all rules, including those that are met"),
    ),
    examples=(
        "mcptest compliance run -- node server.js",
        "mcptest compliance invariants --capture session.json",
        "mcptest compliance check --capture session.json --format json",
    ),
    words=tuple(_SUBCOMMANDS),
    run=compliance,
    subcommands={"run": RUN_COMMAND},
)
