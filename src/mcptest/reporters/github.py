"""The report for a GitHub Actions log: suites as groups, failures as annotations.

Events go in, workflow commands and the terminal report come out. Text between commands is defused,
and text in them is escaped the way GitHub reads it, so the only commands are ours.
"""

from __future__ import annotations

import io
import posixpath

from mcptest.core.events import RunFinished, SuiteFinished, SuiteStarted
from mcptest.core.text import defuse_markers, plural, shorten, visible
from mcptest.reporters.failure_text import case_title, render_result, shown_server
from mcptest.reporters.run_model import CollectedRun
from mcptest.reporters.style import not_run_line, times
from mcptest.reporters.terminal import TerminalReporter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.events import Event

__all__ = ["GithubReporter"]

_WIDTH = 100
_MAX_MESSAGE_CHARS = 4_000
_MAX_TITLE_CHARS = 200


class GithubReporter(CollectedRun):
    """A listener that collects the log, and writes the annotations at the end.

    `folder` is the current one, from the root of the repository. Without `has_log` there are only
    annotations.
    """

    def __init__(self, folder: str = "", *, has_log: bool = True) -> None:
        super().__init__()
        self._folder = folder
        self._has_log = has_log
        self._log = io.StringIO()
        self._terminal = TerminalReporter(
            self._log, colour=False, live=False, width=_WIDTH, verbose=False
        )
        self._is_in_group = False

    def __call__(self, event: Event) -> None:
        super().__call__(event)
        if not self._has_log:
            return
        if isinstance(event, SuiteStarted):
            self._end_group()
            name = shorten(event.name or event.file, _MAX_TITLE_CHARS)
            server = shown_server(self.started, event)
            name += f" on {server}" if server else ""
            self._log.write(_command("group", {}, f"{name} ({plural(event.total, 'test')})"))
            self._is_in_group = True
        if isinstance(event, RunFinished):
            self._end_group()
        self._terminal(event)
        if isinstance(event, SuiteFinished):
            self._end_group()

    def render(self) -> str:
        """The log of what has happened so far, then the annotations."""
        self._end_group()
        return self._log.getvalue() + "".join(self._annotations())

    def _end_group(self) -> None:
        if self._is_in_group:
            self._log.write(_command("endgroup", {}, ""))
            self._is_in_group = False

    def _place(self, file: str, line: int, column: int | None = None) -> dict[str, str]:
        # GitHub looks for files from the root of the repository, wherever the step runs.
        if self._folder and file:
            file = posixpath.normpath(posixpath.join(self._folder, file))
        place = {"file": file}
        if line:
            place["line"] = str(line)
            place |= {} if column is None else {"col": str(column)}
        return place

    def _annotations(self) -> Iterator[str]:
        for diagnostic in self.started.warnings:
            properties = self._place(diagnostic.file, diagnostic.line, diagnostic.column)
            text = "\n".join(part for part in (diagnostic.message, diagnostic.help) if part)
            yield _command(diagnostic.severity, {**properties, "title": diagnostic.code}, text)
        for suite, result in self.failures():
            verdict = "failed" if result.status == "failed" else "ended in an error"
            properties = self._place(suite.file, result.line)
            title = f"{case_title(self.started, suite, result)} {verdict}"
            lines = render_result(result, columns=_WIDTH, verbose=False)
            text = "\n".join(line.text for line in lines).strip("\n")
            yield _command("error", {**properties, "title": title}, text)
        for suite, result in self.flaky():
            properties = self._place(suite.file, result.line)
            title = f"{case_title(self.started, suite, result)} is flaky"
            message = f"passed on attempt {result.attempts:,}"
            yield _command("warning", {**properties, "title": title}, message)
        for suite, result in self.not_run():
            properties = self._place(suite.file, result.line)
            title = f"{case_title(self.started, suite, result)} was not run"
            yield _command("warning", {**properties, "title": title}, result.reason)
        finished = self.finished
        for finding in finished.findings:
            text = f"{finding.message}{times(finding.count)}"
            title = f"mcptest: {finding.kind}"
            level = "error" if finding.kind in finished.broken_rules else "notice"
            yield _command(level, {"title": title}, f"{text}\n{finding.quote}".strip())
        for gate in finished.missed_gates:
            yield _command("error", {"title": "mcptest: gate missed"}, gate)
        if finished.not_run and not finished.may_leave_out:
            yield _command("error", {"title": "mcptest: not run"}, not_run_line(finished))
        if finished.fault is not None:
            text = f"{finished.fault.message}\n{finished.fault.hint}".strip()
            yield _command("error", {"title": f"mcptest: {finished.fault.kind}"}, text)
        if finished.interrupted:
            text = f"{finished.summary.total:,} of {plural(self.started.total, 'test')} ran"
            yield _command("error", {"title": "mcptest: interrupted"}, text)


def _command(name: str, properties: dict[str, str], text: str) -> str:
    """`::name key=value,key=value::text`, with characters that would end a part escaped.

    Invisible characters are shown as escapes: annotations are displayed in a browser.
    """
    written = []
    for key, value in properties.items():
        value = defuse_markers(visible(value)).replace("%", "%25")
        if value:
            written.append(f"{key}={value.replace(':', '%3A').replace(',', '%2C')}")
    lead = f"{name} {','.join(written)}" if written else name
    text = defuse_markers(visible(shorten(text, _MAX_MESSAGE_CHARS), keep_newlines=True))
    text = text.replace("%", "%25").replace("\n", "%0A")
    return f"::{lead}::{text}\n"
