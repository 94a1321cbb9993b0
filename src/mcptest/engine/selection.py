"""Select the tests to run: by name, tag, shard and lane, by line, and by what failed before.

The tests that failed in the last runs of a folder are kept in `.mcptest/last-failed.json` of that
folder. Whatever is wrong with that file means that nothing is known; that it cannot be written
never fails a run.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from mcptest.core.diagnostics import closest
from mcptest.core.errors import NothingSelectedError, UsageError
from mcptest.core.events import ReportedShard
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import excerpt, visible
from mcptest.core.value_class import Record
from mcptest.engine.test_files import (
    find_test_files,
    glob_root,
    read_regular,
    read_text,
    resolve_inside,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.plan import Case, Suite
    from mcptest.formats.yaml.stream import Span

    # The names of tests by their file.
    Results = dict[str, set[str]]
    # The names of tests by the file that they are in, relative to the current folder.
    Names = dict[str, frozenset[str]]

__all__ = [
    "STATE_FILE",
    "Selection",
    "Shard",
    "describe_shard",
    "filter_cases",
    "keep_failed",
    "read_failed",
    "select",
    "select_lines",
    "split_lines",
]

# Where the tests that failed are kept.
STATE_FILE = os.path.join(".mcptest", "last-failed.json")

_LEFT_OUT = "another test of this file says only"

# How many tests an error about a line names, and how much of each name.
_MAX_NEAREST = 3
_MAX_NAME_CHARS = 80

# The version of the file of failed tests.
_VERSION = 1


class Shard(Record):
    """Part `number` of `count`, from 1."""

    number: int
    count: int


class Selection(Record):
    """What selects tests; with `lane`, only tests of that lane of suites."""

    filters: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    skip_tags: tuple[str, ...] = ()
    shard: Shard | None = None
    lane: str = ""
    # Files and lines: in these files, only tests at these lines.
    lines: tuple[tuple[str, int], ...] = ()
    # Names of tests that failed the last time, by file relative to the current folder; only these
    # are run if there are any.
    last_failed: dict[str, frozenset[str]] = {}  # noqa: RUF012  # nothing of a record changes


def select(suites: Sequence[Suite], selection: Selection) -> list[Suite]:
    """The suites with the cases that are wanted; an error when there are none.

    Files are dealt out to shards in turn, before anything else, so that it never depends on
    a filter which machine gets which file.
    """
    shard = selection.shard
    mine = suites
    if shard:
        # Every n-th file; a file may contain several suites.
        files = list(dict.fromkeys(suite.file for suite in suites))
        own = set(files[shard.number - 1 :: shard.count])
        mine = [suite for suite in suites if suite.file in own]
        if not mine:
            raise NothingSelectedError(
                f"shard {shard.number} of {shard.count} has no file: there are {len(files)} in all"
            )
    chosen = [filter_cases(suite, selection) for suite in mine]
    selected = [suite for suite in chosen if suite.cases]
    if not selected:
        raise NothingSelectedError(_describe_nothing(mine, selection))
    alone = {suite.file for suite in selected if any(case.only for case in suite.cases)}
    return [_apply_only(suite) if suite.file in alone else suite for suite in selected]


def describe_shard(suites: Sequence[Suite], selection: Selection, shard: Shard) -> ReportedShard:
    """The shard, with a digest of what it is a part of: all files and the tests selected in them.

    The order counts, because files are dealt out in order. Paths are relative to the folder that
    holds all files, so that the digest is the same wherever that folder is.
    """
    # Loaded only for sharded runs.
    import hashlib  # noqa: PLC0415
    import json  # noqa: PLC0415

    files = [os.path.abspath(suite.file) for suite in suites]
    root = os.path.commonpath([os.path.dirname(file) for file in files]) if files else ""
    selected = [
        [os.path.relpath(file, root), [case.name for case in filter_cases(suite, selection).cases]]
        for file, suite in zip(files, suites, strict=True)
    ]
    digest = hashlib.sha256(json.dumps(selected).encode()).hexdigest()
    return ReportedShard(indexes=(shard.number,), count=shard.count, selection=digest)


def filter_cases(suite: Suite, selection: Selection) -> Suite:
    if selection.but(shard=None, lines=()) == Selection():
        return suite
    texts = [text.casefold() for text in selection.filters]
    failed: frozenset[str] = frozenset()
    if selection.last_failed:
        failed = selection.last_failed.get(os.path.relpath(suite.file), failed)

    def is_wanted(case: Case) -> bool:
        names = (suite.name.casefold(), case.name.casefold())
        if texts and not any(text in name for text in texts for name in names):
            return False
        if selection.tags and not set(selection.tags) & set(case.tags):
            return False
        if selection.last_failed and case.name not in failed:
            return False
        if selection.lane and selection.lane != (case.lane or (case.check and "compliance")):
            return False
        return not set(selection.skip_tags) & set(case.tags)

    return suite.but(cases=tuple(filter(is_wanted, suite.cases)))


def _apply_only(suite: Suite) -> Suite:
    cases = [case if case.only else case.but(skip=_LEFT_OUT, not_run=False) for case in suite.cases]
    return suite.but(cases=tuple(cases))


def _describe_nothing(suites: Sequence[Suite], selection: Selection) -> str:
    cases = [case for suite in suites for case in suite.cases]
    said = []
    if selection.filters:
        shown = " or ".join(repr(visible(text)) for text in selection.filters)
        said.append(f"the filter {shown}")
    if selection.tags:
        said.append(f"--tag {visible(' --tag '.join(selection.tags))}")
    if selection.skip_tags:
        said.append(f"--skip-tag {visible(' --skip-tag '.join(selection.skip_tags))}")
    if selection.lane:
        said.append(f'the lane "{selection.lane}"')
    if selection.lines:
        said.append(", ".join(f"{visible(file)}:{line}" for file, line in selection.lines))
    message = f"no test matches {' and '.join(said)} (of {len(cases)} in all)"
    there = sorted({tag for case in cases for tag in case.tags})
    if selection.tags and not set(selection.tags) & set(there):
        meant = closest(selection.tags[0], there)
        message += f"; did you mean {visible(meant)!r}?" if meant else ""
        message += f"; tags there are: {visible(', '.join(there[:20])) or 'none'}"
    return message


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
    # Loaded only with its option.
    from mcptest.formats.yaml.stream import find_spans  # noqa: PLC0415

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
            raise _no_test_error(file, number, cases)
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


def _no_test_error(file: str, number: int, cases: Sequence[Case]) -> UsageError:
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
    # Loaded only if tests failed.
    from mcptest.transport.files import replace_file  # noqa: PLC0415

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
