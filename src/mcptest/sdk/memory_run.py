"""`mcptest.run_memory`: test files of any format, run against an object in this process."""

from __future__ import annotations

import os
import threading

from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.events import CaseFinished, SuiteStarted
from mcptest.core.outcome import Finding
from mcptest.core.record import Record
from mcptest.core.revisions import REVISIONS
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import visible
from mcptest.core.verdict import exit_code_of
from mcptest.reporters.style import Paint
from mcptest.reporters.summary import not_run_line, totals
from mcptest.reporters.text import fault_details, fault_headline, render_result
from mcptest.runner.loading import Wanted, load_plan
from mcptest.runner.memory import client_of, memory_spec
from mcptest.runner.run import options_for, run_plan
from mcptest.runner.selection import Selection
from mcptest.sdk.arguments import choice_of, mapping_of, path_of, seconds_of, text_of
from mcptest.sdk.memory import Bell, memory_launcher
from mcptest.wire.alone import own_guardian
from mcptest.wire.forking import quiet_forks
from mcptest.wire.memory_ending import RAISED
from mcptest.wire.memory_target import MemoryTarget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from mcptest.core.events import Event, RunFinished
    from mcptest.core.outcome import CaseResult
    from mcptest.runner.launcher import Launcher
    from mcptest.runner.loading import Plan
    from mcptest.sdk.arguments import Path

__all__ = ["MemoryRun", "run_memory"]

# Whoever reads a traceback in a test of their own has no use for what is in here.
__tracebackhide__ = True

_COLUMNS = 100


class MemoryRun(Record):
    """What came of a run: how many tests ended how, and each result, by file."""

    finished: RunFinished
    results: tuple[tuple[str, CaseResult], ...]

    @property
    def passed(self) -> int:
        return self.finished.summary.passed

    @property
    def failed(self) -> int:
        """How many failed, or ended in an error."""
        return self.finished.summary.failed + self.finished.summary.errors

    @property
    def skipped(self) -> int:
        return self.finished.summary.skipped

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What breaks a rule without breaking a test."""
        return self.finished.findings

    @property
    def is_success(self) -> bool:
        """Whether `mcptest run` would have ended with 0, and the server has raised nothing."""
        return exit_code_of(self.finished) == 0 and not self._raised()

    def _raised(self) -> list[str]:
        """What came out of the server's own code when no test was there to be told."""
        return [visible(each.message) for each in self.findings if each.kind == RAISED]

    def raise_for_failures(self) -> MemoryRun:
        """AssertionError with everything that went wrong; the run itself when nothing did."""
        if not self.is_success:
            raise AssertionError("\n".join(self._told()))
        return self

    def _told(self) -> Iterator[str]:
        for file, result in self.results:
            if result.status in ("failed", "error"):
                yield f"{visible(result.name)} ({visible(file)}:{result.line})"
                lines = render_result(result, columns=_COLUMNS, verbose=False)
                yield from (f"  {line.text}".rstrip() for line in lines)
                yield ""
        finished = self.finished
        if finished.fault:
            yield fault_headline(finished.fault)
            yield from (line.text for line in fault_details(finished.fault, verbose=True))
        yield totals(finished.summary, finished.duration_s, Paint(on=False))
        yield from (f"rule broken: {visible(rule)}" for rule in finished.broken_rules)
        yield from (f"gate missed: {visible(gate)}" for gate in finished.missed_gates)
        yield from (f"server_raised: {message}" for message in self._raised())
        if finished.not_run:
            yield not_run_line(finished)


def run_memory(
    target: Any,
    *files: Path,
    path: str = "/mcp",
    headers: dict[str, str] | None = None,
    spec_version: str = "",
    timeout: float | None = None,
    client: dict[str, Any] | None = None,
    filters: Sequence[str] = (),
    tags: Sequence[str] = (),
) -> MemoryRun:
    """Run test files against a server object, an ASGI app, or a function that makes one.

    Whatever server the files name, the object stands in its place. `filters` and `tags` choose
    tests as `-k` and `--tag` do. Mistakes in the files raise `FormatError`.
    """
    if threading.current_thread() is not threading.main_thread():
        raise UsageError("run_memory() is called in the main thread: only it can bound patterns")
    if not files:
        raise TypeError("run_memory() needs the path of a test file, or of a folder of them")
    told = MemoryTarget(target)
    spec = memory_spec(told, path=text_of("path", path), headers=mapping_of("headers", headers))
    wanted = Wanted(
        paths=tuple(path_of("a file", each) for each in files),
        server=spec.but(client=client_of(client)),
        spec_version=choice_of("spec_version", spec_version, ("", *REVISIONS)),
        selection=Selection(filters=tuple(filters), tags=tuple(tags)),
        timeout_s=None if timeout is None else seconds_of("timeout", timeout),
    )
    return _run(_loaded(wanted), told)


def _loaded(wanted: Wanted) -> Plan:
    try:
        plan = load_plan(wanted, os.environ)
    except FormatError as error:
        for diagnostic in error.diagnostics:
            error.add_note(render_diagnostic(diagnostic))
        raise
    except UsageError as error:
        # Who names a server on the command line does it with an option.
        message = error.message.replace("--url names", "run_memory() tests")
        raise UsageError(message, error.help) from None
    # Nothing is started, so that nothing says on stderr that it is ready.
    return plan.with_servers(lambda spec: spec.but(ready_pattern=""))


def _run(plan: Plan, target: MemoryTarget) -> MemoryRun:
    bell = Bell()
    launcher = memory_launcher(target, bell, judges=True)
    if plan.plugins or _has_hooks(plan):
        # These are processes, and must not outlive us.
        launcher = launcher.but(guardian=own_guardian())
    if plan.plugins:
        plan.plugins.open(launcher.guardian, launcher.interrupts)
    book = _Book()
    try:
        finished = _run_quietly(plan, launcher, book)
    finally:
        if plan.plugins:
            plan.plugins.close()
        troubles = target.close()
        launcher.guardian.dismiss()
        bell.close()
    late = tuple(
        Finding(kind=each.kind, server=target.name, message=each.message) for each in troubles
    )
    run = MemoryRun(
        finished=finished.but(findings=(*finished.findings, *late)), results=tuple(book.results)
    )
    cleaned: MemoryRun = redact_all(run, redactor(plan.secrets)) if plan.secrets else run
    return cleaned


def _run_quietly(plan: Plan, launcher: Launcher, book: _Book) -> RunFinished:
    options = options_for(plan)
    with quiet_forks():
        return run_plan(plan, options, launcher, book.hear)[0]


def _has_hooks(plan: Plan) -> bool:
    dialogues = (case.dialogue for suite, _ in plan.suites for case in suite.cases)
    return any(each.before or each.after for each in dialogues if each)


class _Book:
    """Keeps the results of a run as they are told."""

    def __init__(self) -> None:
        self.results: list[tuple[str, CaseResult]] = []
        self._file = ""

    def hear(self, event: Event) -> None:
        if isinstance(event, SuiteStarted):
            self._file = event.file
        elif isinstance(event, CaseFinished):
            self.results.append((self._file, event.result))
