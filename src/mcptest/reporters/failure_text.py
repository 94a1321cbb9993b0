"""Why a case failed, in the words that all reports share.

Results and faults go in, strings or `DiffLine`s come out: escaped, bounded, without colour or
indentation. Not loaded by a run that passes.
"""

from __future__ import annotations

from mcptest.core.events import names_a_way
from mcptest.core.text import excerpt, plural, show_json, visible
from mcptest.core.value_class import ABSENT
from mcptest.matching.diff import DiffLine, context_diff, render_mismatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import RunStarted, SuiteStarted
    from mcptest.core.results import CaseResult, Fault, Mismatch

__all__ = [
    "SeenFailures",
    "case_name",
    "case_place",
    "case_title",
    "describe_case",
    "diagnostic_line",
    "fault_details",
    "fault_headline",
    "headline",
    "note_lines",
    "place_line",
    "render_result",
    "shown_server",
    "stable_server",
    "stderr_lines",
]

_MAX_MISMATCHES = 20
# Fewer fit on a screen, where -v shows all of them.
_MAX_ON_TERMINAL = 10
_MAX_VERBOSE_MISMATCHES = 1_000
_MAX_MESSAGE_CHARS = 1_000
_MAX_HEADLINE_CHARS = 400
_MAX_NAME_CHARS = 200
_MAX_TAIL_LINES = 20
_MAX_VERBOSE_CHARS = 4_000
_MAX_TAIL_CHARS = 240

_BLANK = DiffLine(sign=" ", text="")

# A failure is looked up by this much of its mismatches, then compared whole.
_KEY_MISMATCHES = 20
_KEY_CHARS = 200


def render_result(
    result: CaseResult, *, columns: int, verbose: bool, is_on_terminal: bool = False
) -> list[DiffLine]:
    """Everything about a failed case except its place."""
    lines: list[DiffLine] = []
    if result.reason:
        reason = excerpt(result.reason, _MAX_MESSAGE_CHARS)
        lines.append(DiffLine(sign=" ", text=reason))
    if result.fault is not None:
        lines.append(DiffLine(sign="+", text=fault_headline(result.fault)))
        lines += fault_details(result.fault, verbose=verbose)
    if result.mismatches:
        limit, advice = _MAX_MISMATCHES, ""
        if is_on_terminal:
            limit = _MAX_VERBOSE_MISMATCHES if verbose else _MAX_ON_TERMINAL
            advice = "" if verbose else "; -v shows them"
        for mismatch in result.mismatches[:limit]:
            lines += [_BLANK, *render_mismatch(mismatch, columns=columns)]
        hidden = len(result.mismatches) - limit
        if hidden > 0:
            noun = "mismatch" if hidden == 1 else "mismatches"
            lines += [_BLANK, DiffLine(sign="…", text=f"… and {hidden:,} more {noun}{advice}")]
        # The answer around the mismatches, unless a single mismatch of two scalars says it all.
        first = result.mismatches[0]
        has_context = len(result.mismatches) > 1 or any(
            side is ABSENT or isinstance(side, dict | list)
            for side in (first.expected, first.actual)
        )
        if has_context and result.actual is not ABSENT:
            context = context_diff(result.actual, result.mismatches)
            lines += [_BLANK, *context] if context else []
    if verbose:
        answer = "" if result.actual is ABSENT else show_json(result.actual, _MAX_VERBOSE_CHARS)
        sent = excerpt(result.sent, _MAX_VERBOSE_CHARS)
        rows = _label_lines([("sent", sent), ("answer", answer)])
        lines += [_BLANK, *rows] if rows else []
    if result.stderr and (result.fault is None or not result.fault.evidence.stderr_tail):
        lines += [_BLANK, *stderr_lines(result.stderr)]
    return lines + note_lines(result)


def describe_case(
    result: CaseResult,
    file: str,
    seen: SeenFailures,
    *,
    columns: int = 80,
    verbose: bool = False,
) -> str:
    """What `mcptest run` prints for a case that did not pass, ending with its place.

    For hosts that report one test at a time. A cause that was `seen` before is not shown again.
    """
    if result.fault and seen.first_like(result, "first"):
        headline = f"{fault_headline(result.fault)} (same cause as above)"
        lines = [headline, *(line.text for line in note_lines(result))]
    else:
        shown = render_result(result, columns=columns, verbose=verbose, is_on_terminal=True)
        lines = [line.text for line in shown]
    text = "\n".join(lines).strip("\n")
    return f"{text}\n\n{file}:{result.line}"


def fault_headline(fault: Fault) -> str:
    return f"{visible(fault.kind)}: {excerpt(fault.message, _MAX_MESSAGE_CHARS)}"


def fault_details(fault: Fault, *, verbose: bool) -> list[DiffLine]:
    """What helps to find the cause: hint, effect, and what the server left behind."""
    evidence = fault.evidence
    effect = "unknown: the call may have taken effect"
    rows = [
        ("hint", fault.hint),
        ("effect", effect if fault.effect == "indefinite" else ""),
        ("ended", evidence.exit_status),
        ("url", evidence.url),
        ("command", " ".join(evidence.command)),
        ("folder", evidence.cwd if verbose else ""),
    ]
    shown_rows = [(label, excerpt(text, _MAX_MESSAGE_CHARS)) for label, text in rows]
    return [
        *_label_lines(shown_rows),
        *_tail_lines("stderr", evidence.stderr_tail),
        *_tail_lines("body" if evidence.url else "stdout", evidence.stdout_tail),
    ]


def _label_lines(rows: list[tuple[str, str]]) -> list[DiffLine]:
    return [DiffLine(sign=" ", text=f"  {label:<8}  {text}") for label, text in rows if text]


def note_lines(result: CaseResult) -> list[DiffLine]:
    """The notes of the runner about a case, whatever its status, and the trace of a failure."""
    lines = [
        DiffLine(sign="…", text=f"note: {excerpt(note, _MAX_MESSAGE_CHARS)}")
        for note in result.notes
    ]
    if result.trace_id and result.status in ("failed", "error"):
        lines.append(DiffLine(sign="…", text=f"trace: {excerpt(result.trace_id, 200)}"))
    return lines


def stderr_lines(stderr: str) -> list[DiffLine]:
    """What the server wrote to standard error during a case."""
    return list(_tail_lines("stderr", stderr))


def _tail_lines(label: str, text: str) -> Iterator[DiffLine]:
    """The last lines of a server's output, each after a bar that sets them apart from our own."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    hidden = len(lines) - _MAX_TAIL_LINES
    if hidden > 0:
        lines = [f"… {plural(hidden, 'earlier line')}", *lines[hidden:]]
    for line in lines:
        yield DiffLine(sign=" ", text=f"  {label:<8}  | {excerpt(line, _MAX_TAIL_CHARS)}")
        label = ""


def headline(result: CaseResult) -> str:
    """Why a case did not pass, in one line: its fault, else its first mismatch."""
    if result.fault is not None:
        return fault_headline(result.fault)
    if result.mismatches:
        first, others = result.mismatches[0], len(result.mismatches) - 1
        where = excerpt(first.path, _MAX_NAME_CHARS) or "(the whole answer)"
        text = f"{where}: {excerpt(first.message, _MAX_HEADLINE_CHARS) or 'differs'}"
        return f"{text} (and {others:,} more)" if others else text
    return excerpt(result.reason, _MAX_HEADLINE_CHARS) or "no reason is known"


def case_name(result: CaseResult) -> str:
    return excerpt(result.name, _MAX_NAME_CHARS) or "(a test without a name)"


def case_title(started: RunStarted, suite: SuiteStarted, result: CaseResult) -> str:
    """The name of a case, and its server where the same name may exist on several."""
    server = shown_server(started, suite)
    return f"{case_name(result)} (on {server})" if server else case_name(result)


def shown_server(started: RunStarted, suite: SuiteStarted) -> str:
    """The server of a suite; "" if its file, or the whole run, has only this one."""
    return stable_server(suite) if suite.server != started.server else ""


def stable_server(suite: SuiteStarted) -> str:
    """The server of a suite; "" if its file has only one, reached in one way.

    Unlike `shown_server` it does not depend on which suites are selected, so it can be part of
    an identifier.
    """
    is_named = suite.format == "suite" or names_a_way(suite.server)
    return excerpt(suite.server, _MAX_NAME_CHARS) if is_named else ""


def case_place(suite: SuiteStarted, result: CaseResult) -> str:
    return place_line(suite.file, result.line).text


def place_line(file: str, line: int) -> DiffLine:
    """`file:line`, which editors and terminals make clickable."""
    place = visible(file)
    return DiffLine(sign="…", text=f"{place}:{line}" if line else place)


def diagnostic_line(diagnostic: Diagnostic) -> str:
    """A diagnostic in one line, the place first."""
    place = visible(diagnostic.file)
    if diagnostic.line:
        place += f":{diagnostic.line}:{diagnostic.column}"
    message = excerpt(diagnostic.message, _MAX_HEADLINE_CHARS)
    help = f"; {excerpt(diagnostic.help, _MAX_HEADLINE_CHARS)}" if diagnostic.help else ""
    return f"{place}: {diagnostic.severity}[{diagnostic.code}]: {message}{help}"


class SeenFailures:
    """Remembers the first failure of each cause, so that a report shows a cause once."""

    def __init__(self) -> None:
        self._seen: dict[object, list[tuple[tuple[Mismatch, ...], str]]] = {}
        self._stderr: set[str] = set()

    def first_like(self, result: CaseResult, label: str) -> str | None:
        """The label of the first failure with the same cause; None if this is the first.

        A dead server fails every test, and a renamed member every test that reads it. A fault
        with mismatches beside it has no cause in common with others.
        """
        fault, mismatches = result.fault, result.mismatches
        if result.status not in ("failed", "error") or bool(fault) == bool(mismatches):
            return None
        cause: tuple[object, ...]
        if fault:
            cause = (fault.kind, fault.message)
        else:
            # As JSON: in Python 1, 1.0 and True are equal.
            cause = tuple(
                (
                    *(each.path, each.message),
                    *(show_json(side, _KEY_CHARS) for side in (each.expected, each.actual)),
                )
                for each in mismatches[:_KEY_MISMATCHES]
            )
        alike = self._seen.setdefault(cause, [])
        for others, first in alike:
            if others == mismatches:
                return first
        alike.append((mismatches, label))
        return None

    def has_shown(self, fault: Fault) -> bool:
        """True if a failure with this fault as its cause has been shown."""
        return (fault.kind, fault.message) in self._seen

    def new_stderr(self, result: CaseResult) -> str:
        """What the server wrote to stderr, unless an earlier failure has shown the same.

        The same mismatches may have different reasons.
        """
        is_new = result.status == "failed" and result.stderr not in self._stderr
        self._stderr.add(result.stderr)
        return result.stderr if is_new else ""
