"""How text looks on a terminal, and sentences about a run as a whole.

The caller finds out whether a stream is a terminal, its width and what NO_COLOR says.
"""

from __future__ import annotations

import re

from mcptest.core.text import excerpt, plural
from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from mcptest.core.coverage import ServerCoverage
    from mcptest.core.events import RunFinished, RunStarted
    from mcptest.core.results import SnapshotReport, Summary
    from mcptest.matching.diff import DiffLine

    class TextSink(Protocol):
        """The part of a text stream that is used; `sys.stdout` has it."""

        @property
        def encoding(self) -> str: ...
        def write(self, text: str, /) -> int: ...
        def flush(self) -> None: ...


__all__ = [
    "NO_COLOUR",
    "Paint",
    "coverage_lines",
    "encode_narrow",
    "ending_line",
    "narrow_encoding",
    "never_exercised",
    "not_run_line",
    "percent_shown",
    "percent_text",
    "render_duration",
    "snapshot_counts",
    "status_counts",
    "status_marks",
    "times",
    "totals",
    "width_of",
    "wrap_detail",
    "wrap_line",
    "wrap_text",
]


class Paint(Record):
    """Wraps text in colour codes when `on`, else returns it unchanged."""

    on: bool

    def red(self, text: str) -> str:
        return self._with("31", text)

    def green(self, text: str) -> str:
        return self._with("32", text)

    def yellow(self, text: str) -> str:
        return self._with("33", text)

    def dim(self, text: str) -> str:
        return self._with("2", text)

    def bold(self, text: str) -> str:
        return self._with("1", text)

    def diff_line(self, line: DiffLine) -> str:
        """The line in the colour of its kind: expected values green, actual values red."""
        if line.sign == "-":
            return self.green(line.text)
        if line.sign in "+^":
            return self.red(line.text)
        return self.dim(line.text) if line.sign == "…" else line.text

    def _with(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text


NO_COLOUR = Paint(on=False)

_MARKS = {"passed": "✓", "failed": "✗", "error": "!", "skipped": "-"}
# Padded, so that the names that follow are aligned.
_ASCII_MARKS = {"passed": "ok   ", "failed": "FAIL ", "error": "ERROR", "skipped": "skip "}
_ASCII_FORMS = {ord("…"): "...", ord("›"): ">"}


def status_marks(paint: Paint, encoding: str) -> dict[str, str]:
    """The mark of each status, in its colour; in ASCII for a narrow encoding."""
    marks = _ASCII_MARKS if encoding else _MARKS
    colours = {"passed": paint.green, "skipped": paint.yellow}
    return {status: colours.get(status, paint.red)(mark) for status, mark in marks.items()}


def narrow_encoding(stream: TextSink) -> str:
    """The encoding of a stream that cannot encode every character; "" for UTF-8 and the like."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return "" if encoding.lower().replace("_", "-").startswith("utf") else encoding


def encode_narrow(text: str, encoding: str) -> str:
    """`text` with characters that `encoding` lacks replaced; "" means UTF-8."""
    if not encoding or text.isascii():
        return text
    text = text.translate(_ASCII_FORMS)
    return text.encode(encoding, "backslashreplace").decode(encoding)


def render_duration(seconds: float) -> str:
    """`<1 ms`, `12 ms`, `1.2 s`, `1 m 03 s`, `1 h 02 m`."""
    if seconds < 0.001:
        return "<1 ms"
    # Rounded before the unit is chosen, so that 999.9 ms is not "1000 ms".
    if round(seconds * 1000) < 1000:
        return f"{round(seconds * 1000)} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} m"


# Compiled on first use: most runs wrap nothing, and compiling takes a tenth of a small run.
_COLOUR = r"\x1b\[[0-9;]*m"
# The source line of a diagnostic and the caret line below it must stay aligned.
_EXCERPT = r" *[0-9]* \|( |$)"
# Chinese, Japanese, Korean, emoji: two columns each on a terminal.
_WIDE = (
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
    "\U0001f300-\U0001faff\U00020000-\U0003fffd]"
)
_HANG = 2
# Lines of a diff and of a server's output, and a label in front of a value or a sentence.
_VERBATIM = r"[-+] |    +\S|  [a-z]* +\| "
_LABEL = r"  [a-z]+ {2,}"


def wrap_line(line: str, columns: int, hang_columns: int = 0) -> list[str]:
    """The line broken between words; continuation lines are indented further.

    A word longer than a line is left to the terminal. A terminal of unknown width reports 0.
    """
    if columns < 1 or width_of(line) <= columns:
        return [line]
    indent = len(line) - len(line.lstrip(" "))
    hang = " " * (hang_columns or indent + _HANG)
    lines, room = [""], columns
    for word in re.findall(r" *[^ ]+", line):
        if width_of(word) > room and lines != [""] and len(lines[-1]) > hang_columns:
            lines.append(hang + word.lstrip(" "))
        else:
            lines[-1] += word
        room = columns - width_of(lines[-1])
    return lines


def wrap_detail(line: str, columns: int) -> list[str]:
    """`wrap_line` for a line about a failure; what has a label stays in its column."""
    if re.match(_VERBATIM, line):
        return [line]
    label = re.match(_LABEL, line)
    return wrap_line(line, columns, len(label[0]) if label else 0)


def wrap_text(text: str, columns: int) -> str:
    """`wrap_line` for each line of a text; source excerpts are left as they are."""
    lines = []
    for line in text.split("\n"):
        lines += [line] if re.match(_EXCERPT, line) else wrap_line(line, columns)
    return "\n".join(lines)


def width_of(text: str) -> int:
    """The columns a text takes: none for colour codes, two for wide characters."""
    plain = re.sub(_COLOUR, "", text)
    return len(plain) if plain.isascii() else len(plain) + len(re.findall(_WIDE, plain))


# Sentences about a run


def times(count: int) -> str:
    """How often something happened, to be appended; "" for once."""
    return f" ({count:,} times)" if count > 1 else ""


_MAX_NAME_CHARS = 60
# What is left of 80 columns beside the label, and beside the count of hidden names as well.
_LINE_CHARS = 56
_LIST_CHARS = 42

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
        failures = finished.summary.failed + finished.summary.errors
        what = "the first failure" if failures < 2 else plural(failures, "failure")
        return f"stopped after {what}: {left}"
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
        name = excerpt(server.server, _MAX_NAME_CHARS) or "the server"
        lines.append(f"coverage of {name}: {percent_text([server])} ({hit:,} of {total:,})")
        for label, names in never_exercised(server):
            shown = [excerpt(name, _MAX_NAME_CHARS) for name in names]
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
        if lines[-1] and len(lines[-1]) + 1 + len(text) > _LINE_CHARS:
            lines.append("")
        lines[-1] += f" {text}" if lines[-1] else text
    return lines


def _first_names(names: Sequence[str]) -> str:
    """As many names as fit in a line beside the label, and the count of the others."""
    everything = ", ".join(names)
    if len(everything) <= _LINE_CHARS:
        return everything
    shown: list[str] = []
    room = _LIST_CHARS
    for name in names:
        room -= len(name) + 2
        if shown and room < 0:
            break
        shown.append(name)
    hidden = len(names) - len(shown)
    return ", ".join(shown) + (f", … and {hidden:,} more" if hidden else "")
