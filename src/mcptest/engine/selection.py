"""Select the cases to run: by name, tag, `only` and shard.

What the command line leaves out is not in the report at all; what `only` leaves out is
there, as skipped, because the file itself says so.
"""

from __future__ import annotations

import os

from mcptest.core.diagnostics import closest
from mcptest.core.errors import NothingSelectedError
from mcptest.core.events import ReportedShard
from mcptest.core.record import Record
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.plan import Case, Suite

__all__ = ["Selection", "Shard", "describe_shard", "select"]

_LEFT_OUT = "another test of this file says only"


class Shard(Record):
    """Part `number` of `count`, from 1."""

    number: int
    count: int


class Selection(Record):
    """The options of the command line that select tests."""

    filters: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    skip_tags: tuple[str, ...] = ()
    shard: Shard | None = None


def select(suites: Sequence[Suite], selection: Selection) -> list[Suite]:
    """The suites with the cases that are wanted; an error when there are none.

    Files are dealt out to shards in turn, before anything else, so that it never depends on
    a filter which machine gets which file.
    """
    shard = selection.shard
    mine = _take_shard(suites, shard) if shard else suites
    if shard and not mine:
        count = len({suite.file for suite in suites})
        raise NothingSelectedError(
            f"shard {shard.number} of {shard.count} has no file: there are {count} in all"
        )
    chosen = [_filter_cases(suite, selection) for suite in mine]
    alone = {suite.file for suite in chosen if any(case.only for case in suite.cases)}
    selected = [_apply_only(suite, alone) for suite in chosen if suite.cases]
    if not selected:
        raise NothingSelectedError(_describe_nothing(mine, selection))
    return selected


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
        [os.path.relpath(file, root), [case.name for case in _filter_cases(suite, selection).cases]]
        for file, suite in zip(files, suites, strict=True)
    ]
    digest = hashlib.sha256(json.dumps(selected).encode()).hexdigest()
    return ReportedShard(indexes=(shard.number,), count=shard.count, selection=digest)


def _take_shard(suites: Sequence[Suite], shard: Shard) -> list[Suite]:
    """The suites of every n-th file; a file may contain several."""
    files = list(dict.fromkeys(suite.file for suite in suites))
    mine = set(files[shard.number - 1 :: shard.count])
    return [suite for suite in suites if suite.file in mine]


def _filter_cases(suite: Suite, selection: Selection) -> Suite:
    if not (selection.filters or selection.tags or selection.skip_tags):
        return suite
    cases = tuple(case for case in suite.cases if _is_wanted(case, suite, selection))
    return suite.but(cases=cases)


def _is_wanted(case: Case, suite: Suite, selection: Selection) -> bool:
    names = (suite.name.casefold(), case.name.casefold())
    texts = [text.casefold() for text in selection.filters]
    if texts and not any(text in name for text in texts for name in names):
        return False
    if selection.tags and not set(selection.tags) & set(case.tags):
        return False
    return not set(selection.skip_tags) & set(case.tags)


def _apply_only(suite: Suite, alone: set[str]) -> Suite:
    if suite.file not in alone:
        return suite
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
    message = f"no test matches {' and '.join(said)} (of {len(cases)} in all)"
    there = sorted({tag for case in cases for tag in case.tags})
    if selection.tags and not set(selection.tags) & set(there):
        meant = closest(selection.tags[0], there)
        message += f"; did you mean {visible(meant)!r}?" if meant else ""
        message += f"; tags there are: {visible(', '.join(there[:20])) or 'none'}"
    return message
