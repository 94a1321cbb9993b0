"""The reports of one run: which reporters a command line asks for, and where each writes."""

from __future__ import annotations

import os

from mcptest import __version__
from mcptest.cli.options import parse_color, parse_number
from mcptest.cli.output import (
    StandardOutput,
    is_terminal,
    silence_stdout,
    terminal_columns,
    wants_colour,
    write_commands,
    write_stderr_wrapped,
)
from mcptest.core.diagnostics import closest
from mcptest.core.errors import FormatError, RefusedError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import visible
from mcptest.reporters.registry import REPORTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, ParamSpec, Protocol

    from mcptest.cli.options import Arguments
    from mcptest.cli.report_files import ReportStream
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.errors import McptestError
    from mcptest.core.events import Event
    from mcptest.core.results import LogWish
    from mcptest.reporters.terminal import TerminalReporter

    P = ParamSpec("P")

    class Rendering(Protocol):
        def __call__(self, event: Event) -> None: ...
        def render(self) -> str: ...


__all__ = ["Reports", "split_target"]

# The file names that mean standard output and, for annotations in GitHub Actions, standard error.
_STDOUT = ""
_STDERR = "\0stderr"

# The most tests that --durations lists.
_MOST_DURATIONS = 1_000_000

# The options that say which server is tested, and how.
_SERVER_OPTIONS = (
    "--config",
    "--server",
    "--server-command",
    "--plugin",
    "--url",
    "--http-command",
    "--format",
    "--spec-version",
    "--timeout",
    "--start-timeout",
    "--isolation",
    "--transport-matrix",
)


def split_target(word: str, option: str) -> tuple[str, str]:
    """Split `NAME[=FILE]`; raise a `UsageError` for an unknown reporter."""
    name, equals, file = word.partition("=")
    if name not in REPORTERS:
        # Reading the metadata of installed packages takes longer than a small run.
        from mcptest.plugins.installed import installed_reporters  # noqa: PLC0415

        known = (*REPORTERS, *installed_reporters(REPORTERS))
        if name not in known:
            meant = closest(name, known)
            question = f"; did you mean {visible(meant)}?" if meant else ""
            message = f"there is no reporter {visible(name)!r}{question}"
            raise UsageError(message, f"there are: {visible(', '.join(known))}")
    if equals and not file:
        raise UsageError(f"{option} {name}= needs a file after the equals sign")
    if name == "terminal" and file:
        raise UsageError("the terminal report goes to standard output, not to a file")
    return name, file


class Reports:
    """All reports of one run, as a command line asks for them.

    Raises a `UsageError` if one of them cannot be written. With `on_github`, those are added that
    GitHub Actions shows.
    """

    def __init__(
        self, arguments: Arguments, *, all_logs: bool = False, on_github: bool = False
    ) -> None:
        asked = _parse_targets(arguments)
        named = [*(file for _, file in asked if file != _STDOUT), *arguments.all("--capture")]
        if named:
            from mcptest.cli.report_files import (  # noqa: PLC0415  # rare
                check_writable,
                refuse_clashes,
            )

            refuse_clashes(named, arguments)
            for file in named:
                check_writable(file)
        self._targets: dict[str, list[str]] = {}
        if on_github and os.environ.get("GITHUB_ACTIONS") == "true":
            for name, file in () if arguments.has("--no-github") else _find_github_targets(asked):
                self._targets.setdefault(name, []).append(file)
        for name, file in asked:
            self._targets.setdefault(name, []).append(file)
        self.has_files = arguments.has("--capture") or any(
            file not in (_STDOUT, _STDERR) for files in self._targets.values() for file in files
        )
        self._verbose, self._quiet = arguments.has("--verbose"), arguments.has("--quiet")
        if self._verbose and self._quiet:
            raise UsageError("--quiet and --verbose contradict each other; give one of them")
        self._colour = parse_color(arguments)
        self._durations = parse_number(arguments, "--durations", 0, _MOST_DURATIONS)
        self._all_logs = all_logs or self._verbose
        self._options = tuple(_server_options(arguments))
        # Reporters of other packages are made now, so that errors are reported before the run.
        self._installed = {
            (name, file): _load_reporter(name)()
            for name, files in self._targets.items()
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
        # The warnings that the terminal report shows, unless all of them.
        self.terminal_warnings: tuple[Diagnostic, ...] | None = None

    @property
    def wants_log(self) -> LogWish:
        """The tests whose messages must be kept for these reports."""
        wishes = {_load_reporter(name).wants_log for name in self._targets}
        if "all" in wishes or (self._all_logs and "failures" in wishes):
            return "all"
        return "failures" if "failures" in wishes else ""

    def open(self, secrets: Sequence[str]) -> None:
        """Create the reporters; only those that are used are imported."""
        self._redact = redactor(secrets)
        for name, files in self._targets.items():
            for file in dict.fromkeys(files):
                if name == "terminal":
                    self._listeners.append(self._on_stdout(self._terminal()))
                elif name == "ndjson":
                    listener = self._ndjson(file)
                    self._listeners.append(
                        self._on_stdout(listener) if file == _STDOUT else listener
                    )
                else:
                    rendering = self._installed.get((name, file)) or self._make(name, file)
                    self._listeners.append(rendering)
                    self._rendered.append((rendering, name, file))

    @property
    def shows_starts(self) -> bool:
        """Whether a report shows that a test begins; most show only how it ended."""
        return self.tick is not None or "ndjson" in self._targets or bool(self._installed)

    def _terminal(self) -> TerminalReporter:
        is_live = is_terminal()
        reporter: TerminalReporter = _load_reporter("terminal")(
            StandardOutput(),
            colour=wants_colour(self._colour),
            live=is_live,
            width=terminal_columns() or 80,
            verbose=self._verbose,
            quiet=self._quiet,
            durations=self._durations,
        )
        reporter.warnings = self.redact(self.terminal_warnings)
        self.tick = self._on_stdout(reporter.tick) if is_live else None
        return reporter

    def _ndjson(self, file: str) -> Callable[[Event], None]:
        listener: Callable[[Event], None]
        if file == _STDOUT:

            def write_line(text: str) -> None:
                output = StandardOutput()
                output.write_utf8(text)
                output.flush()

            listener = self._make("ndjson", file, write=write_line)
            return listener
        from mcptest.cli.report_files import ReportStream  # noqa: PLC0415  # rare

        stream = ReportStream(file)
        self._streams.append(stream)
        listener = self._make("ndjson", file, write=stream.write)
        return listener

    def _make(self, name: str, file: str, **more: object) -> Any:
        """Create a reporter with the settings that its entry names."""
        if name not in REPORTERS:
            return _load_reporter(name)()
        settings = {
            "tool_version": __version__,
            "all_logs": self._all_logs,
            "options": self.redact(self._options),
            "folder": _folder_in_workspace(),
        }
        entry = REPORTERS[name]
        if file == _STDERR:
            more["has_log"] = False
        return entry.load()(**{key: settings[key] for key in entry.made_with}, **more)

    def _on_stdout(self, act: Callable[P, object]) -> Callable[P, None]:
        """`act`, which writes to standard output; when that fails the other reports go on.

        Without other reports the error ends the run: no one would see its result.
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

    def emit(self, event: Event) -> None:
        if self._redact:
            event = redact_all(event, self._redact)
        for listener in self._listeners:
            listener(event)

    def redact(self, value: Any) -> Any:
        """An event, or any other value to be written, without the secrets of this run."""
        return redact_all(value, self._redact) if self._redact else value

    def write_failure(
        self, error: McptestError, started_at: str, *, json_on_stdout: bool = False
    ) -> None:
        """Write to every report that the run never began.

        A file of an earlier run would be taken for the result of this one. On standard output the
        terminal report is left out, since standard error has the message, and so is JSON, which
        the caller writes, unless `json_on_stdout`. Reports that cannot be written are attached to
        the error.
        """
        targets = [(name, file) for name, files in self._targets.items() for file in files]
        for name, file in sorted(dict.fromkeys(targets), key=lambda target: target[1] == _STDOUT):
            is_left_out = name == "terminal" or (name == "json" and not json_on_stdout)
            if file != _STDOUT or not is_left_out:
                self._write(name, file, self._failure_text(name, file, error, started_at))
        error.unwritten = tuple(self._unwritten)

    def _failure_text(self, name: str, file: str, error: McptestError, started_at: str) -> str:
        """The report of a run that never began."""
        # Needed only here: a run that begins loads none of these.
        from mcptest.cli.main import failure_kind  # noqa: PLC0415
        from mcptest.core.results import Fault  # noqa: PLC0415

        kind, _ = failure_kind(error)
        diagnostics = error.diagnostics if isinstance(error, FormatError) else ()
        if name == "json":
            from mcptest.reporters.json import render_failure  # noqa: PLC0415

            shard = error.shard
            return render_failure(kind, str(error), diagnostics, __version__, started_at, shard)
        if name == "html":
            from mcptest.reporters.html.page import render_failure_page  # noqa: PLC0415

            return render_failure_page(kind, str(error), diagnostics, __version__, started_at)
        from mcptest.reporters.run_model import failed_run  # noqa: PLC0415

        hint = error.help if isinstance(error, (UsageError, RefusedError)) else ""
        fault = Fault(kind=kind, message=str(error), hint=hint)
        lines: list[str] = []
        try:
            more = {"write": lines.append} if name == "ndjson" else {}
            listener = self._make(name, file, **more)
            for event in failed_run(fault, diagnostics, started_at):
                listener(event)
            return "".join(lines) if name == "ndjson" else str(listener.render())
        except UsageError as second:
            # The reporter of an installed package failed, too.
            return f"{fault.message}\n{second}\n"

    def close(self, files: dict[str, str]) -> None:
        """Write the reports that are rendered at the end, and these texts to these files.

        A report that cannot be rendered or written does not stop the others; `exit_status`
        reports it. Standard output comes last: an error there may end the run.
        """
        texts: list[tuple[str, str, str]] = []
        for rendering, name, file in self._rendered:
            try:
                texts.append((name, file, rendering.render()))
            except UsageError as error:
                self._unwritten.append(error)
                if file != _STDOUT:
                    # The file of an earlier run must not be taken for the result of this one.
                    texts.append((name, file, f"{error}\n"))
        for stream in self._streams:
            try:
                stream.finish()
            except UsageError as error:
                self._unwritten.append(error)
        for name, file, text in (*texts, *(("", file, text) for file, text in files.items())):
            if file != _STDOUT:
                self._write(name, file, text)
        for name, file, text in texts:
            if file == _STDOUT:
                self._on_stdout(_write_report)(name, file, text)
        self._on_stdout(StandardOutput().flush)()

    def _write(self, name: str, file: str, text: str) -> None:
        try:
            _write_report(name, file, text)
            if file == _STDOUT:
                StandardOutput().flush()
        except UsageError as error:
            self._unwritten.append(error)
        except BrokenPipeError as error:
            self._lose_stdout(error)

    def exit_status(self, status: int) -> int:
        """The exit status of the command: that of its run if all reports are written.

        Reports that could not be written are named on standard error.
        """
        if not self._unwritten:
            return status
        from mcptest.cli.main import render_error  # noqa: PLC0415  # rare

        write_stderr_wrapped("".join(map(render_error, self._unwritten)))
        return status if status == ExitCode.INTERRUPTED else ExitCode.BAD_INPUT


def _folder_in_workspace() -> str:
    """The current folder from the root of the repository in a job of GitHub, "" elsewhere."""
    root, folder = os.environ.get("GITHUB_WORKSPACE", ""), os.getcwd()
    if root and folder.startswith(os.path.join(os.path.realpath(root), "")):
        return os.path.relpath(folder, os.path.realpath(root))
    return ""


def _load_reporter(name: str) -> Any:
    """The class of a reporter of ours, or of an installed package."""
    if name in REPORTERS:
        return REPORTERS[name].load()
    from mcptest.plugins.installed import load_reporter  # noqa: PLC0415  # rare

    return load_reporter(name)


def _parse_targets(arguments: Arguments) -> list[tuple[str, str]]:
    """The reports that a command line asks for, with their files; one of them is on stdout."""
    asked = [split_target(word, "--reporter") for word in arguments.all("--reporter")]
    if arguments.has("--json"):
        asked.append(("json", _STDOUT))
    if arguments.has("--junit"):
        from mcptest.cli.report_files import check_writable  # noqa: PLC0415  # rare

        check_writable(arguments.last("--junit"))
        asked.append(("junit", arguments.last("--junit")))
    if all(file != _STDOUT for _, file in asked):
        asked.append(("terminal", _STDOUT))
    on_stdout = [name for name, file in asked if file == _STDOUT]
    if len(set(on_stdout)) > 1:
        names = " and ".join(on_stdout)
        raise UsageError(f"{names} cannot both go to standard output; give one a =FILE")
    return asked


def _find_github_targets(asked: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The reports that GitHub Actions shows and that are not asked for: annotations, a summary.

    Annotations go to standard error, which GitHub reads as well: standard output has one report.
    """
    found = [] if any(name == "github" for name, _ in asked) else [("github", _STDERR)]
    summary = os.environ.get("GITHUB_STEP_SUMMARY", "")
    is_given = any(
        name == "markdown" and file and os.path.realpath(file) == os.path.realpath(summary)
        for name, file in asked
    )
    # It was not asked for, so a pipe, a device or a folder does not get it.
    if os.path.isfile(summary) and not is_given and os.access(summary, os.W_OK):
        found.append(("markdown", summary))
    return found


def _write_report(name: str, file: str, text: str) -> None:
    if file == _STDERR:
        write_commands(text)
        return
    if file == _STDOUT:
        output, entry = StandardOutput(), REPORTERS.get(name)
        (output.write if entry and entry.is_for_people else output.write_utf8)(text)
        return
    from mcptest.cli.report_files import write_file  # noqa: PLC0415  # rare

    summary = os.environ.get("GITHUB_STEP_SUMMARY", "")
    # All programs of a step of GitHub Actions append to its summary.
    is_summary = bool(summary) and os.path.realpath(file) == os.path.realpath(summary)
    write_file(file, text, appends=is_summary and name == "markdown")


def _server_options(arguments: Arguments) -> list[str]:
    words = arguments.words(_SERVER_OPTIONS)
    if arguments.command:
        import shlex  # noqa: PLC0415  # rare

        words += ["--server-command", shlex.join(arguments.command)]
    return words
