"""The end of the terminal report: findings, the fault that stopped everything, the totals.

The last event of a run goes in, finished lines come out, painted but not indented
any further. What the cases said has been printed by then.
"""

from __future__ import annotations

from mcptest.core.text import plural, shorten, visible
from mcptest.reporters.coverage_text import coverage_lines
from mcptest.reporters.wording import render_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.events import RunFinished, RunStarted
    from mcptest.core.outcome import Fault, Finding, Summary
    from mcptest.core.snapshots import SnapshotReport
    from mcptest.reporters.paint import Paint

__all__ = [
    "closing_lines",
    "ending_line",
    "finding_lines",
    "not_run_line",
    "snapshot_counts",
    "snapshot_lines",
    "totals",
]

MAX_MESSAGE_CHARS = 1_000
MAX_QUOTE_CHARS = 300


def closing_lines(
    started: RunStarted, finished: RunFinished, paint: Paint, *, verbose: bool
) -> list[str]:
    """Everything that follows the last case."""
    lines: list[str] = []
    for finding in finished.findings:
        lines += [*finding_lines(finding, started.server, paint), ""]
    if finished.fault is not None:
        lines += [*_fault_lines(finished.fault, paint), ""]
    lines += _section(coverage_lines(finished.coverage, whole=verbose))
    if finished.matrix:
        # Few runs have one.
        from mcptest.reporters.matrix_text import matrix_lines  # noqa: PLC0415

        lines += _section(matrix_lines(finished.matrix, paint))
    lines += _section(_spoken_lines(finished) if verbose else [])
    lines.append(totals(finished.summary, finished.duration_s, paint))
    if finished.broken_rules:
        listed = ", ".join(finished.broken_rules)
        lines.append(paint.red(f"rules broken: {visible(shorten(listed, MAX_MESSAGE_CHARS))}"))
    if finished.snapshots:
        lines += snapshot_lines(finished.snapshots, paint)
    for gate in finished.missed_gates:
        lines.append(paint.red(f"gate missed: {visible(shorten(gate, MAX_MESSAGE_CHARS))}"))
    not_run = not_run_line(finished)
    if not_run:
        lines.append(paint.yellow(not_run) if finished.may_leave_out else paint.red(not_run))
    ending = ending_line(started, finished)
    if ending:
        lines.append(paint.red(ending) if finished.interrupted else paint.yellow(ending))
    if finished.interrupted and finished.interrupted_in:
        name = visible(shorten(finished.interrupted_in, MAX_QUOTE_CHARS))
        lines.append(f'  in the middle of "{name}", whose call may have had its effect')
    return lines


def _spoken_lines(finished: RunFinished) -> list[str]:
    """Where each server was, and in which revision it was spoken to."""
    return [
        f"{visible(each.server)}  {visible(each.url) or 'stdio'}, {visible(each.revision)}"
        for each in finished.spoken
    ]


def _section(lines: list[str]) -> list[str]:
    """Lines that belong together, and a gap; nothing stays nothing."""
    return [*lines, ""] if lines else []


def not_run_line(finished: RunFinished) -> str:
    """How much of what is declared this version cannot run; nothing when it can run all."""
    if not finished.not_run:
        return ""
    declared = plural(finished.not_run, "declared test")
    accepted = "which --allow-not-run accepts"
    if not finished.may_leave_out:
        accepted = "which fails the run; --allow-not-run accepts it"
    return f"{declared} cannot be run by this version of mcptest, {accepted}"


def snapshot_counts(report: SnapshotReport) -> list[str]:
    """How many snapshots are others than before."""
    words = ("written", "updated", "removed")
    counts = [(sum(map(len, getattr(report, word).values())), word) for word in words]
    return [f"{plural(count, 'snapshot')} {word}" for count, word in counts if count]


def snapshot_lines(report: SnapshotReport, paint: Paint) -> list[str]:
    """What became of the snapshots; nothing when they are what they were."""
    lines = snapshot_counts(report)
    for file, keys in report.stale.items():
        named = visible(shorten(", ".join(keys), MAX_MESSAGE_CHARS))
        text = f"{plural(len(keys), 'stale snapshot')} of {visible(file)}: {named}"
        lines.append(paint.yellow(f"{text} (--update-snapshots removes what no test asks for)"))
    for file, keys in report.held.items():
        named = visible(shorten(", ".join(keys), MAX_MESSAGE_CHARS))
        text = f"{plural(len(keys), 'snapshot')} of {visible(file)} held back: {named}"
        lines.append(paint.yellow(f"{text} (only what a test passes with is accepted)"))
    for file, keys in report.unstable.items():
        named = visible(shorten(", ".join(keys), MAX_MESSAGE_CHARS))
        lines.append(paint.yellow(f"snapshots of {visible(file)} that varied: {named}"))
    return lines


def ending_line(started: RunStarted, finished: RunFinished) -> str:
    """How a run ended that did not come to its end; nothing for one that did."""
    ran, total = finished.summary.total, started.total
    if finished.interrupted:
        return f"interrupted: {ran:,} of {plural(total, 'test')} ran"
    if finished.bailed:
        left = f"{max(0, total - ran):,} of {plural(total, 'test')} not run"
        return f"stopped after the first failure: {left}"
    return ""


def finding_lines(finding: Finding, server: str, paint: Paint) -> list[str]:
    """One finding; the name of its server where that is not the one of the run."""
    text = visible(shorten(finding.message, MAX_MESSAGE_CHARS))
    if finding.count > 1:
        text += f" ({finding.count:,} times)"
    if finding.server not in ("", server):
        text += f" [{visible(finding.server)}]"
    lines = [f"{paint.yellow('note:')} {text}"]
    if finding.quote:
        lines.append(f"      {visible(shorten(finding.quote, MAX_QUOTE_CHARS))}")
    return lines


def _fault_lines(fault: Fault, paint: Paint) -> list[str]:
    # Few runs end like this.
    from mcptest.reporters.failure_text import fault_details  # noqa: PLC0415

    title = f"{paint.red('error:')} {visible(shorten(fault.message, MAX_MESSAGE_CHARS))}"
    return [title, *(paint.signed(line) for line in fault_details(fault, verbose=True))]


def totals(summary: Summary, duration_s: float, paint: Paint) -> str:
    """The closing line: how many tests ended how, and how long it took."""
    took = paint.dim(f", in {render_duration(duration_s)}")
    if not summary.total:
        return f"no tests ran{took}"
    flaky = f" ({summary.flaky:,} flaky)" if summary.flaky else ""
    counts = [
        (paint.green, summary.passed, f"passed{paint.yellow(flaky)}"),
        (paint.red, summary.failed, "failed"),
        (paint.red, summary.errors, "error" if summary.errors == 1 else "errors"),
        (paint.yellow, summary.skipped, "skipped"),
    ]
    shown = ", ".join(colour(f"{count:,} {word}") for colour, count, word in counts if count)
    return f"{paint.bold(plural(summary.total, 'test'))}: {shown}{took}"
