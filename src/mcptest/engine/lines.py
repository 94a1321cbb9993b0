"""Select tests by the lines of their files, for `mcptest run FILE:LINE`."""

from __future__ import annotations

import os
import re

from mcptest.core.errors import UsageError
from mcptest.core.text import excerpt, visible
from mcptest.engine.discovery import find_suites, glob_root, read_text
from mcptest.formats.yaml.stream import find_spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.plan import Case, Suite
    from mcptest.formats.yaml.stream import Span

__all__ = ["select_lines", "split_lines"]

# How many tests an error about a line names, and how much of each name.
_MAX_NEAREST = 3
_MAX_NAME_CHARS = 80


def split_lines(
    words: Sequence[str], *, has_format: bool
) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """Return the paths of `FILE:LINE` and other words, and the lines of the files to select in.

    All tests of a file run that is also given without a line, itself or with its folder.
    """
    paths: list[str] = []
    others: list[str] = []
    lines: dict[tuple[str, int], None] = {}
    for word in words:
        found = None if os.path.lexists(word) else re.fullmatch(r"(.+?):([0-9]{1,9})(:.*)?", word)
        if not found:
            paths.append(word)
            others.append(word)
            continue
        file, number = found[1], int(found[2])
        if found[3]:
            message = f"{visible(word)!r} names a column; a test is named by its line"
            raise UsageError(message, f"give {visible(file)}:{number}")
        if os.path.isdir(file) or glob_root(file) != file:
            what = "a folder" if os.path.isdir(file) else "a glob"
            raise UsageError(f"{visible(word)!r}: a line is of one file, and this is {what}")
        if not number:
            raise UsageError(f"{visible(word)!r}: lines are counted from 1")
        paths.append(file)
        lines[os.path.normpath(file), number] = None
    whole = find_suites(others, has_format=has_format) if others and lines else ()
    return tuple(dict.fromkeys(paths)), tuple(each for each in lines if each[0] not in whole)


def select_lines(suites: Sequence[Suite], lines: Iterable[tuple[str, int]]) -> list[Suite]:
    """The suites; in files of which lines are given, with the tests at these lines only.

    A test is at every line from its first to its last one; a row of `each` is at its own lines, and
    the other lines of its test stand for all rows. A UsageError if there is no test at a line.
    """
    chosen: dict[str, set[int]] = {}
    spans: dict[str, list[Span]] = {}
    for file, number in lines:
        mine = [suite for suite in suites if suite.file == file]
        if file not in spans:
            format = mine[0].format if mine else ""
            spans[file] = find_spans(read_text(file), is_stream=format == "cases")
        cases = [case for suite in mine for case in suite.cases]
        found = _find_lines({case.line for case in cases}, number, spans[file])
        if not found:
            raise _no_test(file, number, cases)
        chosen.setdefault(file, set()).update(found)
    return [
        suite.but(cases=tuple(case for case in suite.cases if case.line in chosen[suite.file]))
        if suite.file in chosen
        else suite
        for suite in suites
    ]


def _find_lines(starts: set[int], number: int, spans: Sequence[Span]) -> set[int]:
    """The first lines of the tests at a line."""
    if number in starts:
        return {number}
    around = [span for span in spans if span[0] <= number <= span[1]]
    for first, last in sorted(around, key=lambda span: span[1] - span[0]):
        # In brackets, the next test may begin in the last line of this one.
        next_ones = {start for start, end in spans if start == last < end}
        inside = {line for line in starts if first <= line <= last} - next_ones
        if inside:
            return inside
    return set()


def _no_test(file: str, number: int, cases: Sequence[Case]) -> UsageError:
    names: dict[int, str] = {}
    for case in cases:
        names.setdefault(case.line, excerpt(case.name, _MAX_NAME_CHARS))
    nearest = sorted(names, key=lambda line: abs(line - number))[:_MAX_NEAREST]
    shown = [f"{visible(file)}:{line} ({names[line]})" for line in sorted(nearest)]
    message = f"there is no test at {visible(file)}:{number}"
    return UsageError(message, f"the nearest: {', '.join(shown)}" if shown else "")
