"""Which reporters a command line asks for, and where each of them writes."""

from __future__ import annotations

import os
import sys

from mcptest import __version__
from mcptest.cli.output import StandardOutput, check_writable, is_terminal, wants_colour
from mcptest.cli.report_names import REPORTERS, VERSIONED, load_reporter, split_target
from mcptest.cli.report_target import STDOUT, write_line, write_report
from mcptest.core.errors import UsageError
from mcptest.core.redaction import redact_all, redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from mcptest.cli.options import Arguments
    from mcptest.cli.report_stream import ReportStream
    from mcptest.core.errors import McptestError
    from mcptest.core.events import Event
    from mcptest.core.outcome import LogWish
    from mcptest.reporters.terminal import TerminalReporter

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
    ) -> None:
        self._targets = targets
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
                    self._listeners.append(self._terminal())
                elif name == "ndjson":
                    self._listeners.append(self._ndjson(file))
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
        self.tick = reporter.tick if is_live else None
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
        ends the command, unless asked for.
        """
        from mcptest.cli.report_failure import failure_text  # noqa: PLC0415  # as above

        for name, files in self._targets.items():
            for file in dict.fromkeys(files):
                is_told = name == "terminal" or (name == "json" and not json_on_stdout)
                if file != STDOUT or not is_told:
                    write_report(name, file, failure_text(name, error, started_at))

    def close(self, files: dict[str, str], *, json_on_stdout: bool = False) -> None:
        """Write what is written at the end: the reports, and these texts to these files.

        A file that cannot be written does not keep the others from being written, and is
        told last. Standard output comes after the files, so that it has one story to tell.
        So it is with a reporter that fails, but for standard output: it holds another report
        all the same, unless that is JSON, which whoever ends the command writes (as above).
        """
        texts, failure = self._texts()
        others = [("", file, text) for file, text in files.items()]
        trouble: UsageError | None = None
        for stream in self._streams:
            try:
                stream.finish()
            except UsageError as error:
                trouble = trouble or error
        for name, file, text in (*texts, *others):
            try:
                if file != STDOUT:
                    write_report(name, file, text)
            except UsageError as error:
                trouble = trouble or error
        if trouble:
            raise trouble
        for name, file, text in texts:
            if file == STDOUT and not (failure and name == "json" and not json_on_stdout):
                write_report(name, file, text)
        if failure:
            raise failure

    def _texts(self) -> tuple[list[tuple[str, str, str]], UsageError | None]:
        """All reports that are rendered at the end, and the first failure to do so."""
        texts: list[tuple[str, str, str]] = []
        failure: UsageError | None = None
        for rendering, name, file in self._rendered:
            try:
                texts.append((name, file, rendering.render()))
            except UsageError as error:
                failure = failure or error
                if file != STDOUT:
                    # What lies there from an earlier run must not be taken for this one's.
                    texts.append((name, file, f"{error}\n"))
        return texts, failure


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
