"""What went wrong, in the words that every report for people shares.

Results and faults go in, `DiffLine`s come out: plain, escaped, bounded. Terminal
and JUnit say the same because both print these; colour and indentation are theirs.
"""

from __future__ import annotations

from mcptest.core.record import ABSENT
from mcptest.core.text import plural, shorten, show_json, visible
from mcptest.matching.diff import DiffLine, context_diff, render_mismatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.outcome import CaseResult, Fault, Mismatch

__all__ = [
    "fault_details",
    "fault_headline",
    "note_lines",
    "place_line",
    "render_result",
    "stderr_lines",
]

MAX_MISMATCHES = 20
# A screen holds fewer, but there whoever wants more can ask for all that were looked for.
MAX_ON_TERMINAL = 10
MAX_VERBOSE_MISMATCHES = 1_000
MAX_MESSAGE_CHARS = 1_000
MAX_TAIL_LINES = 20
MAX_VERBOSE_CHARS = 4_000
MAX_TAIL_CHARS = 240

_BLANK = DiffLine(sign=" ", text="")


def render_result(
    result: CaseResult, *, columns: int, verbose: bool, is_on_terminal: bool = False
) -> list[DiffLine]:
    """Everything there is to say about a case that failed or broke, save where it stands."""
    lines: list[DiffLine] = []
    if result.reason:
        reason = visible(shorten(result.reason, MAX_MESSAGE_CHARS))
        lines.append(DiffLine(sign=" ", text=reason))
    if result.fault is not None:
        lines.append(DiffLine(sign="+", text=fault_headline(result.fault)))
        lines += fault_details(result.fault, verbose=verbose)
    if result.mismatches:
        most, advice = MAX_MISMATCHES, ""
        if is_on_terminal:
            most = MAX_VERBOSE_MISMATCHES if verbose else MAX_ON_TERMINAL
            advice = "" if verbose else "; -v shows them"
        told = _mismatch_lines(result.mismatches, columns, most, advice)
        lines += [_BLANK, *told, *_context_lines(result)]
    if verbose:
        lines += _conversation(result)
    if result.stderr and (result.fault is None or not result.fault.evidence.stderr_tail):
        lines += [_BLANK, *stderr_lines(result.stderr)]
    return lines + note_lines(result)


def _conversation(result: CaseResult) -> list[DiffLine]:
    """What was sent and what came back, whole or nearly so."""
    came = "" if result.actual is ABSENT else show_json(result.actual, MAX_VERBOSE_CHARS)
    rows = (("sent", visible(shorten(result.sent, MAX_VERBOSE_CHARS))), ("answer", came))
    lines = [DiffLine(sign=" ", text=f"  {label:<8}  {text}") for label, text in rows if text]
    return [_BLANK, *lines] if lines else []


def place_line(file: str, line: int) -> DiffLine:
    """Where the case is written, in the form editors and terminals make clickable."""
    place = visible(file)
    return DiffLine(sign="…", text=f"{place}:{line}" if line else place)


def fault_headline(fault: Fault) -> str:
    return f"{visible(fault.kind)}: {visible(shorten(fault.message, MAX_MESSAGE_CHARS))}"


def fault_details(fault: Fault, *, verbose: bool) -> list[DiffLine]:
    """What helps to find out why: hint, effect, and what the server left behind."""
    evidence = fault.evidence
    rows = [("hint", fault.hint)]
    if fault.effect == "indefinite":
        rows.append(("effect", "unknown: the call may have done its work all the same"))
    rows.append(("ended", evidence.exit_status))
    rows.append(("url", evidence.url))
    rows.append(("command", " ".join(evidence.command)))
    if verbose:
        rows.append(("folder", evidence.cwd))
    lines = [
        DiffLine(sign=" ", text=f"  {label:<8}  {visible(shorten(text, MAX_MESSAGE_CHARS))}")
        for label, text in rows
        if text
    ]
    lines += _tail_lines("stderr", evidence.stderr_tail)
    lines += _tail_lines("body" if evidence.url else "stdout", evidence.stdout_tail)
    return lines


def note_lines(result: CaseResult) -> list[DiffLine]:
    """What the runner has to say about a case, whatever its verdict."""
    return [
        DiffLine(sign="…", text=f"note: {visible(shorten(note, MAX_MESSAGE_CHARS))}")
        for note in result.notes
    ]


def stderr_lines(stderr: str) -> list[DiffLine]:
    """What the server wrote to standard error during a case."""
    return list(_tail_lines("stderr", stderr))


def _tail_lines(label: str, text: str) -> Iterator[DiffLine]:
    """The last lines of an output of the server, each behind a bar: none can pass for ours."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    hidden = len(lines) - MAX_TAIL_LINES
    if hidden > 0:
        lines = [f"… {plural(hidden, 'earlier line')}", *lines[hidden:]]
    for line in lines:
        yield DiffLine(sign=" ", text=f"  {label:<8}  | {visible(shorten(line, MAX_TAIL_CHARS))}")
        label = ""


def _mismatch_lines(
    mismatches: tuple[Mismatch, ...], columns: int, most: int, advice: str
) -> list[DiffLine]:
    lines: list[DiffLine] = []
    for mismatch in mismatches[:most]:
        lines += [_BLANK] if lines else []
        lines += render_mismatch(mismatch, columns=columns)
    hidden = len(mismatches) - most
    if hidden > 0:
        more = "mismatch" if hidden == 1 else "mismatches"
        lines += [_BLANK, DiffLine(sign="…", text=f"… and {hidden:,} more {more}{advice}")]
    return lines


def _context_lines(result: CaseResult) -> list[DiffLine]:
    """The place in the answer, unless the one mismatch between two scalars says it all."""
    if result.actual is ABSENT:
        return []
    if len(result.mismatches) == 1 and not _needs_context(result.mismatches[0]):
        return []
    lines = context_diff(result.actual, result.mismatches)
    return [_BLANK, *lines] if lines else []


def _needs_context(mismatch: Mismatch) -> bool:
    return any(
        side is ABSENT or isinstance(side, dict | list)
        for side in (mismatch.expected, mismatch.actual)
    )
