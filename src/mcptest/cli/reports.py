"""Which reporters a command line asks for, and where each of them writes."""

from __future__ import annotations

import os
import sys

from mcptest import __version__
from mcptest.cli.output import (
    StandardOutput,
    check_writable,
    explain,
    is_terminal,
    silence_stdout,
    wants_colour,
)
from mcptest.cli.report_names import REPORTERS, VERSIONED, load_reporter, split_target
from mcptest.cli.report_target import STDOUT, write_line, write_report
from mcptest.core.errors import UsageError
from mcptest.core.exit_codes import ExitCode
from mcptest.core.secrets import redact_all, redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, ParamSpec, Protocol

    from mcptest.cli.options import Arguments
    from mcptest.cli.report_stream import ReportStream
    from mcptest.core.errors import McptestError
    from mcptest.core.events import Event
    from mcptest.core.outcome import LogWish
    from mcptest.reporters.terminal import TerminalReporter

    P = ParamSpec("P")

    class Rendering(Protocol):
        def __call__(self, event: Event) -> None: ...
        def render(self) -> str: ...


__all__ = ["Reports"]

# The words of a command line that say which server is tested, and how.
_REPEATED = (
    "--config",
    "--server-command",
    "--plugin",
    "--url",
    "--http-command",
    "--format",
    "--spec-version",
    "--timeout",
)


class Reports:
    """All reports of one run."""

    def __init__(
        self,
        targets: dict[str, list[str]],
        *,
        no_colour: bool,
        verbose: bool,
        all_logs: bool,
        options: Sequence[str] = (),
        has_capture: bool = False,
    ) -> None:
        self._targets = targets
        self.has_files = has_capture or any(
            file != STDOUT for files in targets.values() for file in files
        )
        self._no_colour = no_colour
        self._verbose = verbose
        self._all_logs = all_logs
        self._options = tuple(options)
        # Reporters of other packages are made at once: what cannot be made is known in time.
        self._made = {
            (name, file): load_reporter(name)()
            for name, files in targets.items()
            for file in files
            if name not in REPORTERS
        }
        self.tick: Callable[[], None] | None = None
        self._listeners: list[Callable[[Event], None]] = []
        self._rendered: list[tuple[Rendering, str, str]] = []
        self._streams: list[ReportStream] = []
        self._redact: Callable[[str], str] | None = None
        self._unwritten: list[UsageError] = []
        self._has_stdout = True

    @classmethod
    def of(cls, arguments: Arguments, *, all_logs: bool = False) -> Reports:
        """The reports a command line asks for; a `UsageError` when they cannot be written."""
        asked = [split_target(word, "--reporter") for word in arguments.all("--reporter")]
        if arguments.has("--json"):
            asked.append(("json", STDOUT))
        if arguments.has("--junit"):
            check_writable(arguments.last("--junit"))
            asked.append(("junit", arguments.last("--junit")))
        if all(file != STDOUT for _, file in asked):
            asked.append(("terminal", STDOUT))
        named = [*(file for _, file in asked if file != STDOUT), *arguments.all("--capture")]
        if named:
            # Most runs write no file.
            from mcptest.cli.report_clashes import refuse_clashes  # noqa: PLC0415

            refuse_clashes(named, arguments)
        on_stdout = [name for name, file in asked if file == STDOUT]
        if len(set(on_stdout)) > 1:
            names = " and ".join(on_stdout)
            raise UsageError(f"{names} cannot both go to standard output; give one a =FILE")
        targets: dict[str, list[str]] = {}
        for name, file in asked:
            if file != STDOUT:
                check_writable(file)
            targets.setdefault(name, []).append(file)
        if arguments.has("--capture"):
            check_writable(arguments.last("--capture"))
        verbose = arguments.has("--verbose")
        return cls(
            targets,
            no_colour=arguments.has("--no-color"),
            verbose=verbose,
            all_logs=all_logs or verbose,
            options=_repeated_options(arguments),
            has_capture=arguments.has("--capture"),
        )

    @property
    def wants_log(self) -> LogWish:
        """Of which tests the messages must be kept for these reports."""
        wishes = {load_reporter(name).wants_log for name in self._targets}
        if "all" in wishes or (self._all_logs and "failures" in wishes):
            return "all"
        return "failures" if "failures" in wishes else ""

    def open(self, secrets: Sequence[str]) -> None:
        """Make the reporters; only those that are wanted are imported."""
        self._redact = redactor(secrets)
        for name, files in self._targets.items():
            for file in dict.fromkeys(files):
                if name == "terminal":
                    self._listeners.append(self._on_stdout(self._terminal()))
                elif name == "ndjson":
                    listener = self._ndjson(file)
                    self._listeners.append(
                        self._on_stdout(listener) if file == STDOUT else listener
                    )
                else:
                    rendering = self._rendering(name, file)
                    self._listeners.append(rendering)
                    self._rendered.append((rendering, name, file))

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
        self.tick = self._on_stdout(reporter.tick) if is_live else None
        return reporter

    def _ndjson(self, file: str) -> Callable[[Event], None]:
        from mcptest.reporters.ndjson import NdjsonReporter  # noqa: PLC0415  # as above

        write = write_line
        if file != STDOUT:
            from mcptest.cli.report_stream import ReportStream  # noqa: PLC0415  # as above

            stream = ReportStream(file)
            self._streams.append(stream)
            write = stream.write
        return NdjsonReporter(write, __version__, all_logs=self._all_logs)

    def _rendering(self, name: str, file: str) -> Rendering:
        rendering: Rendering
        if name not in REPORTERS:
            rendering = self._made[name, file]
            return rendering
        reporter = load_reporter(name)
        if name == "json":
            rendering = reporter(__version__, all_logs=self._all_logs)
        elif name == "agent":
            rendering = reporter(self.redacted(self._options))
        else:
            rendering = reporter(__version__) if name in VERSIONED else reporter()
        return rendering

    def _on_stdout(self, act: Callable[P, object]) -> Callable[P, None]:
        """What writes to standard output; once that fails, the other reports go on without it.

        Without other reports no one would learn of the run any more: then what is raised ends it.
        """

        def guarded(*values: P.args, **named: P.kwargs) -> None:
            if not self._has_stdout:
                return
            try:
                act(*values, **named)
            except (BrokenPipeError, UsageError) as error:
                if not self.has_files:
                    raise
                self._lose_stdout(error)

        return guarded

    def _lose_stdout(self, error: BrokenPipeError | UsageError) -> None:
        self._has_stdout = False
        if isinstance(error, BrokenPipeError):
            silence_stdout()
            error = UsageError(f"cannot write to standard output: {error.strerror}")
        self._unwritten.append(error)

    def tell(self, event: Event) -> None:
        event = self.redacted(event)
        for listener in self._listeners:
            listener(event)

    def redacted(self, value: Any) -> Any:
        """An event, or whatever else is to be written, without the secrets of this run."""
        return redact_all(value, self._redact) if self._redact else value

    def write_failure(
        self, error: McptestError, started_at: str, *, json_on_stdout: bool = False
    ) -> None:
        """Say in every report, too, that the run never began.

        What lies in a file from an earlier run would be taken for the result of this one. For
        a person standard error has the words; JSON on standard output is written by whoever
        ends the command, unless asked for. Reports that cannot be written are noted in the error.
        """
        from mcptest.cli.report_failure import failure_text  # noqa: PLC0415  # as above

        asked = [(name, file) for name, files in self._targets.items() for file in files]
        for name, file in sorted(dict.fromkeys(asked), key=lambda target: target[1] == STDOUT):
            is_told = name == "terminal" or (name == "json" and not json_on_stdout)
            if file == STDOUT and is_told:
                continue
            self._write(name, file, failure_text(name, error, started_at))
        error.unwritten = tuple(self._unwritten)

    def close(self, files: dict[str, str]) -> None:
        """Write what is written at the end: the reports, and these texts to these files.

        A report that cannot be rendered or written does not keep the others from being written;
        `exit_status` tells of it. Standard output comes last: what fails there may end the run.
        """
        texts = self._texts()
        for stream in self._streams:
            try:
                stream.finish()
            except UsageError as error:
                self._unwritten.append(error)
        for name, file, text in (*texts, *(("", file, text) for file, text in files.items())):
            if file != STDOUT:
                self._write(name, file, text)
        for name, file, text in texts:
            if file == STDOUT:
                self._on_stdout(write_report)(name, file, text)
        self._on_stdout(StandardOutput().flush)()

    def _write(self, name: str, file: str, text: str) -> None:
        try:
            write_report(name, file, text)
            if file == STDOUT:
                StandardOutput().flush()
        except UsageError as error:
            self._unwritten.append(error)
        except BrokenPipeError as error:
            self._lose_stdout(error)

    def exit_status(self, status: int) -> int:
        """The status of a command that comes to its end: that of its run, if all is written.

        Reports that could not be written are named on standard error.
        """
        if not self._unwritten:
            return status
        from mcptest.cli.failure import in_words  # noqa: PLC0415  # as above

        explain("".join(map(in_words, self._unwritten)))
        return status if status == ExitCode.INTERRUPTED else ExitCode.BAD_INPUT

    def _texts(self) -> list[tuple[str, str, str]]:
        """All reports that are rendered at the end."""
        texts: list[tuple[str, str, str]] = []
        for rendering, name, file in self._rendered:
            try:
                texts.append((name, file, rendering.render()))
            except UsageError as error:
                self._unwritten.append(error)
                if file != STDOUT:
                    # What lies there from an earlier run must not be taken for this one's.
                    texts.append((name, file, f"{error}\n"))
        return texts


def _repeated_options(arguments: Arguments) -> list[str]:
    given = [name for name in _REPEATED if arguments.has(name)]
    words = [word for name in given for value in arguments.all(name) for word in (name, value)]
    words += ["--transport-matrix"] if arguments.has("--transport-matrix") else []
    if arguments.command:
        import shlex  # noqa: PLC0415  # only for those who give a command

        words += ["--server-command", shlex.join(arguments.command)]
    return words


def _columns() -> int:
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        pass
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 80
