"""The tests of a file as a test framework collects them, and the lanes it leaves to the command.

Nothing that a file declares is dropped: a lane that cannot be driven by an SDK is named, with the
command that runs it, in the words that every SDK uses.
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
_COMMAND = "mcptest run {suite}"

# How much of a file is looked at to tell whether it is ours.
_LOOK_BYTES = 64 * 1024
_MOST_MISTAKES = 20


class CollectedTest(Record):
    """One test of a file, or a lane of it; `skip` says why it is not run.

    `suite` and `case` are indexes in the plan of the file, -1 for a lane, whose `server` is
    "lanes". `unset` is what the environment lacks for it.
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
    """Everything in a file, and in those that it imports."""

    tests: tuple[CollectedTest, ...]
    plan: Plan


def lane_cli_hint(lane: str, suite: str = "<suite>") -> str:
    """That a lane cannot be driven over the channel, and the command that runs it."""
    command = _COMMANDS.get(lane, _COMMAND).format(suite=suite)
    return f'lane "{lane}" is not drivable over the SDK channel; run: {command}'


def is_test_file(path: str, *, is_named: bool = False) -> bool:
    """Whether a file holds tests of ours, by its name and by how it begins.

    Files of others have such names as well: those, and all that cannot be read, are not ours.
    Of a file that the user named, mistakes are wanted, so its name is enough.
    """
    # Whoever has no such file pays for nothing.
    from mcptest.engine.discovery import (  # noqa: PLC0415
        is_recognisable,
        is_test_name,
        open_regular,
    )

    if is_named or not is_test_name(path):
        return is_test_name(path)
    try:
        with open(open_regular(path), "rb") as file:
            beginning = file.read(_LOOK_BYTES)
    except OSError:
        return False
    return b"\0" not in beginning and is_recognisable(path, beginning.decode("utf-8", "replace"))


def node_names(names: Iterable[str]) -> list[str]:
    """Names for nodes of pytest, no two alike, each of which selects its own node."""
    plain = list(map(_selectable, names))
    # Whoever comes first has the name as it is written, whatever others would be called.
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


def _selectable(name: str) -> str:
    """A name without what pytest cuts a node id at, and what a CI system takes for a command."""
    from mcptest.core.text import defuse_markers, visible  # noqa: PLC0415  # as above

    return re.sub(":(?=:|$)", ": ", defuse_markers(visible(name)))


def describe_mistakes(mistakes: Sequence[Diagnostic], file: str) -> str:
    """The mistakes of a file; when there are very many, the first and how many more."""
    from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # as above

    told = [render_diagnostic(each) for each in mistakes[:_MOST_MISTAKES]]
    more = len(mistakes) - len(told)
    if more:
        words = "1 mistake" if more == 1 else f"{more:,} mistakes"
        told.append(f"and {words} more; to see all: mcptest validate {shlex.quote(file)}")
    return "\n\n".join(told)


def collect(path: str) -> Collection:
    """Every test of a file, in its order, and an entry for each lane it leaves to the command.

    `FormatError` lists every mistake of the file.
    """
    # As above.
    from mcptest.engine.loading import Wanted, load_plan  # noqa: PLC0415

    plan = load_plan(Wanted(paths=(path,), is_found=True, is_chosen_later=True), os.environ)
    tests: list[CollectedTest] = []
    lanes: dict[str, CollectedTest] = {}
    for suite_index, (suite, spec) in enumerate(plan.suites):
        for case_index, case in enumerate(suite.cases):
            lane = "compliance" if case.check else case.lane
            if lane:
                # A path with a space in it is one word of a command.
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
