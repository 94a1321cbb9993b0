"""Sentences about a run as a whole: totals, how it ended, what was not run, coverage."""

from __future__ import annotations

from mcptest.core.text import excerpt, plural
from mcptest.reporters.style import NO_COLOUR, render_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.coverage import ServerCoverage
    from mcptest.core.events import RunFinished, RunStarted
    from mcptest.core.results import SnapshotReport, Summary
    from mcptest.reporters.style import Paint

__all__ = [
    "coverage_lines",
    "ending_line",
    "never_exercised",
    "not_run_line",
    "percent_shown",
    "percent_text",
    "snapshot_counts",
    "status_counts",
    "totals",
]

MAX_NAME_CHARS = 60
# What is left of 80 columns beside the label, and beside the count of hidden names as well.
LINE_CHARS = 56
LIST_CHARS = 42

_NEVER = {
    "tool": "tools never called",
    "resource": "resources never read",
    "resourceTemplate": "templates never used",
    "prompt": "prompts never used",
}
_NEVER_GIVEN = "inputs never given"


def totals(summary: Summary, duration_s: float, paint: Paint = NO_COLOUR) -> str:
    """How many tests ended with each status, and how long the run took."""
    took = paint.dim(f", in {render_duration(duration_s)}")
    if not summary.total:
        return f"no tests ran{took}"
    flaky = f" ({summary.flaky:,} flaky)" if summary.flaky else ""
    counts = status_counts(summary, paint, paint.yellow(flaky))
    return f"{paint.bold(plural(summary.total, 'test'))}: {counts}{took}"


def status_counts(summary: Summary, paint: Paint, after_passed: str = "") -> str:
    counts = (
        (paint.green, summary.passed, f"passed{after_passed}"),
        (paint.red, summary.failed, "failed"),
        (paint.red, summary.errors, "error" if summary.errors == 1 else "errors"),
        (paint.yellow, summary.skipped, "skipped"),
    )
    return ", ".join(colour(f"{count:,} {word}") for colour, count, word in counts if count)


def ending_line(started: RunStarted, finished: RunFinished) -> str:
    """Why a run stopped early; "" for one that did not."""
    ran, total = finished.summary.total, started.total
    if finished.interrupted:
        return f"interrupted: {ran:,} of {plural(total, 'test')} ran"
    if finished.bailed:
        left = f"{max(0, total - ran):,} of {plural(total, 'test')} not run"
        return f"stopped after the first failure: {left}"
    return ""


def not_run_line(finished: RunFinished) -> str:
    """How many declared tests this version cannot run; "" if it can run all."""
    if not finished.not_run:
        return ""
    declared = plural(finished.not_run, "declared test")
    accepted = "which --allow-not-run accepts"
    if not finished.may_leave_out:
        accepted = "which fails the run; --allow-not-run accepts it"
    return f"{declared} cannot be run by this version of mcptest, {accepted}"


def snapshot_counts(report: SnapshotReport) -> list[str]:
    """How many snapshots were written, updated and removed."""
    words = ("written", "updated", "removed")
    counts = [(sum(map(len, getattr(report, word).values())), word) for word in words]
    return [f"{plural(count, 'snapshot')} {word}" for count, word in counts if count]


def percent_shown(coverage: Iterable[ServerCoverage]) -> float | None:
    """The exercised part in percent, to a tenth; None when nothing is offered.

    Rounded down, so that 100 means that nothing is left.
    """
    points = [server.points for server in coverage]
    whole = sum(total for _, total in points)
    return sum(hit for hit, _ in points) * 1000 // whole / 10 if whole else None


def percent_text(coverage: Iterable[ServerCoverage]) -> str:
    percent = percent_shown(coverage)
    return "nothing is offered" if percent is None else f"{percent:g} %"


def coverage_lines(coverage: Sequence[ServerCoverage], *, whole: bool = False) -> list[str]:
    """One line for each server that offers something, then what was never exercised.

    With `whole` all names are listed, on as many lines as needed. The lines are safe to print.
    """
    lines: list[str] = []
    for server in coverage:
        hit, total = server.points
        if not total:
            continue
        name = excerpt(server.server, MAX_NAME_CHARS) or "the server"
        lines.append(f"coverage of {name}: {percent_text([server])} ({hit:,} of {total:,})")
        for label, names in never_exercised(server):
            shown = [excerpt(name, MAX_NAME_CHARS) for name in names]
            for part in _all_names(shown) if whole else [_first_names(shown)]:
                lines.append(f"  {label:<20}  {part}")
                label = ""
    return lines


def never_exercised(server: ServerCoverage) -> list[tuple[str, list[str]]]:
    """What no test used, by kind. Inputs count only where the tool itself was called."""
    never: dict[str, list[str]] = {}
    for offer in server.offers:
        if not offer.calls:
            never.setdefault(_NEVER[offer.kind], []).append(offer.name)
            continue
        for part in offer.properties:
            if not part.calls:
                never.setdefault(_NEVER_GIVEN, []).append(f"{offer.name}.{part.name}")
    return [(label, never[label]) for label in (*_NEVER.values(), _NEVER_GIVEN) if label in never]


def _all_names(names: Sequence[str]) -> list[str]:
    lines = [""]
    for number, name in enumerate(names, 1):
        text = name if number == len(names) else f"{name},"
        if lines[-1] and len(lines[-1]) + 1 + len(text) > LINE_CHARS:
            lines.append("")
        lines[-1] += f" {text}" if lines[-1] else text
    return lines


def _first_names(names: Sequence[str]) -> str:
    """As many names as fit in a line beside the label, and the count of the others."""
    everything = ", ".join(names)
    if len(everything) <= LINE_CHARS:
        return everything
    shown: list[str] = []
    room = LIST_CHARS
    for name in names:
        room -= len(name) + 2
        if shown and room < 0:
            break
        shown.append(name)
    hidden = len(names) - len(shown)
    return ", ".join(shown) + (f", … and {hidden:,} more" if hidden else "")
