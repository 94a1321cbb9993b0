"""What a terminal shows of a case below its title: why it failed, or what is to be noted.

Results go in, finished lines come out. A failure whose cause was shown before is not shown again.
"""

from __future__ import annotations

from mcptest.core.text import shorten, visible
from mcptest.reporters.failure_text import note_lines, place_line, render_result, stderr_lines
from mcptest.reporters.folding import Folding
from mcptest.reporters.headline import server_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.events import RunStarted, SuiteStarted
    from mcptest.core.outcome import CaseResult
    from mcptest.matching.diff import DiffLine
    from mcptest.reporters.paint import Paint

__all__ = ["CaseDetails"]

DETAIL_INDENT = " " * 6
# The columns taken by DETAIL_INDENT and the label in front of a value.
VALUE_COLUMN = 18
MAX_NAME_CHARS = 80


class CaseDetails:
    """Tells the details of the cases of one run, and remembers the causes it has told."""

    def __init__(self, paint: Paint, width: int, *, verbose: bool) -> None:
        self._paint = paint
        self._width = width
        self._verbose = verbose
        self._folding = Folding()

    def first_like(self, result: CaseResult, run: RunStarted, suite: SuiteStarted) -> str | None:
        """What to say of a failure whose cause has been printed before."""
        if result.fault is not None:
            return self._folding.first_like(result, " same cause as above")
        # Who asks for more wants to see what each test sent, and what came back.
        if self._verbose or not result.mismatches:
            return None
        name = visible(shorten(result.name, MAX_NAME_CHARS))
        server = server_of(run, suite)
        label = f' same as "{name}"' + (f" on {server}" if server else "")
        return self._folding.first_like(result, label)

    def lines(self, result: CaseResult, file: str, *, is_known: bool) -> list[str]:
        """The lines below the title of a case of this file; none for most."""
        return [
            DETAIL_INDENT + self._paint.signed(line) if line.text else ""
            for line in self._plain(result, file, is_known)
        ]

    def _plain(self, result: CaseResult, file: str, is_known: bool) -> list[DiffLine]:
        if is_known:
            return note_lines(result)
        if result.status in ("failed", "error"):
            columns = self._width - VALUE_COLUMN
            lines = render_result(
                result, columns=columns, verbose=self._verbose, is_on_terminal=True
            )
            return [place_line(file, result.line), *lines]
        return note_lines(result) + (stderr_lines(result.stderr) if self._verbose else [])
