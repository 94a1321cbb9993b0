"""The tests of a file as a test framework collects them.

Nothing that a file declares is dropped: a lane that an SDK cannot drive becomes a skipped test,
whose reason names the command that runs it, with the same words in every SDK.
"""

from __future__ import annotations

import os
import re
import shlex

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.engine.loading import Plan

__all__ = [
    "UNSUPPORTED_LANES",
    "CollectedTest",
    "Collection",
    "collect",
    "describe_mistakes",
    "is_test_file",
    "lane_cli_hint",
    "node_names",
]

UNSUPPORTED_LANES = ("agents", "compliance", "security", "evals")

_COMMANDS = {
    "compliance": "mcptest compliance run --from-suite {suite}",
    "evals": "mcptest eval {suite}",
}

_MAX_MISTAKES = 20


class CollectedTest(Record):
    """One test of a file, or a lane of it; `skip` is the reason not to run it.

    `suite` and `case` are indexes in the plan of the file, -1 for a lane, whose `server` is
    "lanes". `unset` has a diagnostic for each environment variable that it needs and that is not
    set.
    """

    name: str
    server: str
    line: int
    suite: int = -1
    case: int = -1
    tags: tuple[str, ...] = ()
    skip: str = ""
    unset: tuple[Diagnostic, ...] = ()


class Collection(Record):
    """The tests of a file and of those that it imports."""

    tests: tuple[CollectedTest, ...]
    plan: Plan


def lane_cli_hint(lane: str, suite: str = "<suite>") -> str:
    """The reason to skip a lane, with the command that runs it."""
    command = _COMMANDS.get(lane, "mcptest run {suite}").format(suite=suite)
    return f'lane "{lane}" is not drivable over the SDK channel; run: {command}'


def is_test_file(path: str, *, is_named: bool = False) -> bool:
    """Whether this is a test file of ours, by its name and its beginning.

    Other tools use such names too, and files that cannot be read are not ours either. If the
    user named the file, its name is enough, so that mistakes in it are reported.
    """
    # Deferred: most projects have no such file.
    from mcptest.engine.discovery import (  # noqa: PLC0415
        RECOGNISED_BYTES,
        begins_like_test_file,
        is_test_name,
        open_regular,
    )

    if is_named or not is_test_name(path):
        return is_test_name(path)
    try:
        with open(open_regular(path), "rb") as file:
            beginning = file.read(RECOGNISED_BYTES)
    except OSError:
        return False
    return begins_like_test_file(path, beginning)


def node_names(names: Iterable[str]) -> list[str]:
    """Unique names for pytest nodes, without what pytest or a CI system would interpret."""
    from mcptest.core.text import defuse_markers, visible  # noqa: PLC0415  # as above

    # pytest splits node ids at "::".
    plain = [re.sub(":(?=:|$)", ": ", defuse_markers(visible(name))) for name in names]
    # A name as it is written has precedence over the same name made by numbering another.
    written, seen, found = set(plain), set[str](), list[str]()
    counts: dict[str, int] = {}
    for name in plain:
        final = name
        while final in seen or (final in written and final != name):
            counts[name] = counts.get(name, 1) + 1
            final = f"{name} #{counts[name]}"
        seen.add(final)
        found.append(final)
    return found


def describe_mistakes(mistakes: Sequence[Diagnostic], file: str) -> str:
    """The first mistakes of a file, and how many more there are."""
    from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # as above

    shown = [render_diagnostic(each) for each in mistakes[:_MAX_MISTAKES]]
    more = len(mistakes) - len(shown)
    if more:
        words = "1 mistake" if more == 1 else f"{more:,} mistakes"
        shown.append(f"and {words} more; to see all: mcptest validate {shlex.quote(file)}")
    return "\n\n".join(shown)


def collect(path: str, isolation: str = "") -> Collection:
    """Every test of a file in its order, then one entry for each lane that is not driven.

    `isolation`, if given, counts instead of what configs and suites say. `FormatError` lists every
    mistake of the file.
    """
    from mcptest.engine.loading import Wanted, load_plan  # noqa: PLC0415  # as above

    wanted = Wanted(paths=(path,), is_found=True, is_chosen_later=True, isolation=isolation)
    plan = load_plan(wanted, os.environ)
    tests: list[CollectedTest] = []
    lanes: dict[str, CollectedTest] = {}
    for suite_index, (suite, spec) in enumerate(plan.suites):
        for case_index, case in enumerate(suite.cases):
            lane = "compliance" if case.check else case.lane
            if lane:
                hint = lane_cli_hint(lane, shlex.quote(path))
                entry = CollectedTest(name=lane, server="lanes", line=case.line, skip=hint)
                lanes.setdefault(lane, entry)
                continue
            is_skipped = case.skip is not None
            test = CollectedTest(
                name=case.name,
                server=spec.name,
                line=case.line,
                suite=suite_index,
                case=case_index,
                tags=case.tags,
                skip=(case.skip or "skipped in the file") if is_skipped else "",
                unset=() if is_skipped else case.needs,
            )
            tests.append(test)
    return Collection(tests=(*tests, *lanes.values()), plan=plan)
