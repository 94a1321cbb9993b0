"""Select tests by their lines (`FILE:LINE`), or because they failed before (`--last-failed`).

The tests that failed in the last runs of a folder are kept in `.mcptest/last-failed.json` of that
folder. Whatever is wrong with that file means that nothing is known; that it cannot be written
never fails a run.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from mcptest.core.errors import UsageError
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import excerpt, visible
from mcptest.engine.discovery import (
    find_test_files,
    glob_root,
    read_regular,
    read_text,
    resolve_inside,
)
from mcptest.engine.loading import STATE_FILE
from mcptest.formats.yaml.stream import find_spans
from mcptest.transport.files import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.plan import Case, Suite
    from mcptest.formats.yaml.stream import Span

    # The names of tests by their file.
    Results = dict[str, set[str]]
    # The names of tests by the file that they are in, relative to the current folder.
    Names = dict[str, frozenset[str]]

__all__ = ["keep_failed", "read_failed", "select_lines", "split_lines"]

# How many tests an error about a line names, and how much of each name.
_MAX_NEAREST = 3
_MAX_NAME_CHARS = 80

# The version of the file of failed tests.
_VERSION = 1


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
    whole = find_test_files(others, has_format=has_format) if others and lines else ()
    return tuple(dict.fromkeys(paths)), tuple(each for each in lines if each[0] not in whole)


def select_lines(suites: Sequence[Suite], lines: Iterable[tuple[str, int]]) -> list[Suite]:
    """The suites; in files of which lines are given, with the tests at these lines only.

    A test is at every line from its first to its last one; a row of `each` is at its own lines, and
    the other lines of its test mean all rows. A UsageError if there is no test at a line.
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


def read_failed() -> tuple[Names, str]:
    """Return the tests that failed, and why they are not known, "" if they are."""
    try:
        value = parse_json(read_regular(resolve_inside(STATE_FILE, ".")))
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"{STATE_FILE} cannot be read: {error.strerror}"
    except (NotJsonError, UnicodeDecodeError):
        return {}, f"{STATE_FILE} is not JSON"
    state = value if isinstance(value, dict) else {}
    failed = state.get("failed")
    if not isinstance(failed, dict) or state.get("version") != _VERSION:
        return {}, f"{STATE_FILE} was not written by this version of mcptest"
    names: Names = {}
    for file, tests in failed.items():
        if not isinstance(tests, list) or not all(isinstance(name, str) for name in tests):
            return {}, f"{STATE_FILE} was not written by this version of mcptest"
        names[file] = frozenset(tests)
    return names, ""


def keep_failed(failed: Results, passed: Results, whole_files: Results) -> None:
    """Keep the failures of a run; those of tests that it did not run stay.

    `whole_files` has the names of all tests of files that were run whole: what else is known of
    these files is forgotten.
    """
    failed, passed, whole_files = (
        {os.path.relpath(file): names for file, names in results.items()}
        for results in (failed, passed, whole_files)
    )
    known, _ = read_failed()
    kept: dict[str, list[str]] = {}
    for file in sorted({*known, *failed}):
        names = known.get(file, frozenset()) - passed.get(file, set())
        names &= whole_files.get(file, set(names))
        names |= failed.get(file, set())
        if names and os.path.exists(file):
            kept[file] = sorted(names)
    if kept == {file: sorted(names) for file, names in known.items()}:
        return
    with suppress(OSError):
        path = resolve_inside(STATE_FILE, ".")
        if kept:
            _write(path, dump_json({"version": _VERSION, "failed": kept}) + "\n")
        else:
            os.unlink(path)


def _write(path: str, text: str) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    try:
        ignore = os.path.join(folder, ".gitignore")
        if not os.path.lexists(ignore):
            # The folder is not part of the project.
            replace_file(ignore, b"*\n")
        replace_file(path, text.encode("utf-8", "backslashreplace"))
    except OSError:
        # Only if nothing is in it.
        with suppress(OSError):
            os.rmdir(folder)
        raise
