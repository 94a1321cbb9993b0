"""Which reporters a command line asks for, and where each of them writes."""

from __future__ import annotations

import os
import sys

from mcptest import __version__
from mcptest.cli.failure import failure_kind, in_words
from mcptest.cli.output import (
    StandardOutput,
    check_writable,
    is_terminal,
    wants_colour,
    write_file,
)
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.redaction import redact_all, redactor
from mcptest.core.suggest import closest
from mcptest.core.visible import visible
from mcptest.runner.discovery import SUITE_ENDINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from mcptest.cli.options import Arguments
    from mcptest.core.errors import McptestError
    from mcptest.core.events import Event
    from mcptest.reporters.terminal import TerminalReporter

    class Rendering(Protocol):
        def __call__(self, event: Event) -> None: ...
        def render(self) -> str: ...


__all__ = ["Reports"]

REPORTERS = ("terminal", "json", "junit")
_STDOUT = ""


class Reports:
    """All reports of one run."""

    def __init__(self, targets: dict[str, list[str]], *, no_colour: bool, verbose: bool) -> None:
        self._targets = targets
        self._no_colour = no_colour
        self._verbose = verbose
        self.tick: Callable[[], None] | None = None
        self._listeners: list[Callable[[Event], None]] = []
        self._rendered: list[tuple[Rendering, str]] = []
        self._redact: Callable[[str], str] | None = None

    @classmethod
    def of(cls, arguments: Arguments) -> Reports:
        """The reports a command line asks for; a `UsageError` when they cannot be written."""
        asked = [_name_and_file(word) for word in arguments.all("--reporter")]
        if arguments.has("--json"):
            asked.append(("json", _STDOUT))
        if arguments.has("--junit"):
            check_writable(arguments.last("--junit"))
            asked.append(("junit", arguments.last("--junit")))
        if all(file != _STDOUT for _, file in asked):
            asked.append(("terminal", _STDOUT))
        _refuse_shared_files([file for _, file in asked], arguments)
        on_stdout = [name for name, file in asked if file == _STDOUT]
        if len(set(on_stdout)) > 1:
            names = " and ".join(on_stdout)
            raise UsageError(f"{names} cannot both go to standard output; give one a =FILE")
        targets: dict[str, list[str]] = {}
        for name, file in asked:
            if file != _STDOUT:
                check_writable(file)
            targets.setdefault(name, []).append(file)
        if arguments.has("--capture"):
            check_writable(arguments.last("--capture"))
        return cls(
            targets, no_colour=arguments.has("--no-color"), verbose=arguments.has("--verbose")
        )

    def open(self, secrets: Sequence[str]) -> None:
        """Make the reporters; only those that are wanted are imported."""
        self._redact = redactor(secrets) if secrets else None
        for name, files in self._targets.items():
            for file in dict.fromkeys(files):
                if name == "terminal" and file == _STDOUT:
                    self._listeners.append(self._terminal())
                else:
                    rendering = self._rendering(name)
                    self._listeners.append(rendering)
                    self._rendered.append((rendering, file))

    def _terminal(self) -> TerminalReporter:
        # Only the reporters that are wanted are paid for.
        from mcptest.reporters.terminal import TerminalReporter  # noqa: PLC0415

        is_live = is_terminal()
        reporter = TerminalReporter(
            StandardOutput(),
            colour=wants_colour(self._no_colour),
            live=is_live,
            width=_columns(),
            verbose=self._verbose,
        )
        self.tick = reporter.tick if is_live else None
        return reporter

    def _rendering(self, name: str) -> Rendering:
        if name == "json":
            from mcptest.reporters.json_report import JsonReporter  # noqa: PLC0415  # as above

            return JsonReporter(__version__)
        if name == "junit":
            from mcptest.reporters.junit import JunitReporter  # noqa: PLC0415  # as above

            return JunitReporter()
        raise UsageError("the terminal report goes to standard output, not to a file")

    def tell(self, event: Event) -> None:
        event = self.redacted(event)
        for listener in self._listeners:
            listener(event)

    def redacted(self, value: Any) -> Any:
        """An event, or whatever else is to be written, without the secrets of this run."""
        return redact_all(value, self._redact) if self._redact else value

    def write_failure(self, error: McptestError, started_at: str) -> None:
        """Say in the report files, too, that the run never began.

        What lies there from an earlier run would be taken for the result of this one.
        """
        kind, _ = failure_kind(error)
        for name, files in self._targets.items():
            for file in files:
                if file != _STDOUT:
                    write_file(file, _failure_text(name, kind, error, started_at))

    def close(self, files: dict[str, str]) -> None:
        """Write what is written at the end: the reports, and these texts to these files.

        A file that cannot be written does not keep the others from being written, and is
        told last. Standard output comes after the files, so that it has one story to tell.
        """
        texts = [(file, rendering.render()) for rendering, file in self._rendered]
        trouble: UsageError | None = None
        for file, text in (*texts, *files.items()):
            try:
                if file != _STDOUT:
                    write_file(file, text)
            except UsageError as error:
                trouble = trouble or error
        if trouble:
            raise trouble
        for file, text in texts:
            if file == _STDOUT:
                StandardOutput().write_utf8(text)


def _refuse_shared_files(files: list[str], arguments: Arguments) -> None:
    """Two reports in one file would be one of them, or neither."""
    named = [file for file in (*files, *arguments.all("--capture")) if file != _STDOUT]
    for file in named:
        if named.count(file) > 1:
            raise UsageError(f"two reports cannot share the file {visible(file)}")
        if file.endswith(SUITE_ENDINGS):
            raise UsageError(f"{visible(file)} is a test file; a report would replace it")
        if os.path.realpath(file) == os.path.realpath("/dev/stdout") != os.devnull:
            message = f"{visible(file)} is standard output, which holds one report"
            raise UsageError(message, "leave the file name out to choose which one")


def _failure_text(name: str, kind: str, error: McptestError, started_at: str) -> str:
    # As everywhere here, only what is wanted is paid for.
    if name == "json":
        from mcptest.reporters import json_report  # noqa: PLC0415

        diagnostics = error.diagnostics if isinstance(error, FormatError) else ()
        return json_report.render_failure(kind, str(error), diagnostics, __version__, started_at)
    from mcptest.reporters import junit  # noqa: PLC0415

    return junit.render_failure(kind, in_words(error), started_at)


def _name_and_file(word: str) -> tuple[str, str]:
    name, equals, file = word.partition("=")
    if name not in REPORTERS:
        meant = closest(name, REPORTERS)
        question = f"; did you mean {meant}?" if meant else ""
        there = ", ".join(REPORTERS)
        raise UsageError(f"there is no reporter {visible(name)!r}{question}", f"there are: {there}")
    if equals and not file:
        raise UsageError(f"--reporter {name}= needs a file after the equals sign")
    if name == "terminal" and file:
        raise UsageError("the terminal report goes to standard output, not to a file")
    return name, file


def _columns() -> int:
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        pass
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 80
