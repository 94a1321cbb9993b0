"""What an SDK can run of a test file over the channel, and what it must leave to the command.

Nothing that a file declares is dropped: whatever cannot be driven over the channel is named,
with the command that runs it, in the words that every SDK uses.
"""

from __future__ import annotations

import os
import re
import shlex

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.plan import Case, ServerSpec, Suite
    from mcptest.sdk.drivable import Spoken

__all__ = [
    "UNSUPPORTED_LANES",
    "Collected",
    "Collection",
    "collect",
    "lane_cli_hint",
    "may_hold",
    "node_names",
    "told_mistakes",
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


class Collected(Record):
    """One test of a file, or something of it that stays with the command; `skip` says why.

    `server` is "lanes" for what is no test. `spoken` is there when it can be run, and `unset` is
    what the environment has not for it.
    """

    name: str
    server: str
    line: int
    suite: Suite
    spec: ServerSpec
    tags: tuple[str, ...] = ()
    spoken: Spoken | None = None
    skip: str = ""
    unset: tuple[Diagnostic, ...] = ()

    @property
    def captures(self) -> frozenset[str]:
        """The values that it captures for later tests."""
        steps = self.spoken.case.steps if self.spoken else ()
        return frozenset(capture.name for step in steps for capture in step.captures)

    @property
    def needs(self) -> frozenset[str]:
        """The values of earlier tests that it needs."""
        steps = self.spoken.case.steps if self.spoken else ()
        wanted = {name for step in steps if step.template for name in step.template.needs}
        # A test of several steps may capture what it needs itself.
        return frozenset(wanted) - self.captures


class Collection(Record):
    """Everything in a file, and in those that it imports; what is doubtful in it."""

    tests: tuple[Collected, ...]
    suites: tuple[tuple[Suite, ServerSpec], ...]
    warnings: tuple[Diagnostic, ...] = ()


def lane_cli_hint(lane: str, suite: str = "<suite>") -> str:
    """That a lane cannot be driven over the channel, and the command that runs it."""
    command = _COMMANDS.get(lane, _COMMAND).format(suite=suite)
    return f'lane "{lane}" is not drivable over the SDK channel; run: {command}'


def may_hold(path: str, *, is_named: bool = False) -> bool:
    """Whether a file holds tests of ours, by its name and by how it begins.

    Files of others have such names as well: those, and all that cannot be read, are not ours.
    Of a file that the user named, mistakes are wanted, so its name is enough.
    """
    # Whoever has no such file pays for nothing.
    from mcptest.runner.discovery import is_test_name, open_regular  # noqa: PLC0415
    from mcptest.runner.file_format import is_recognisable  # noqa: PLC0415

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


def told_mistakes(mistakes: Sequence[Diagnostic], file: str) -> str:
    """The mistakes of a file; when there are very many, the first and how many more."""
    from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # as above

    told = [render_diagnostic(each) for each in mistakes[:_MOST_MISTAKES]]
    more = len(mistakes) - len(told)
    if more:
        words = "1 mistake" if more == 1 else f"{more:,} mistakes"
        told.append(f"and {words} more; to see all: mcptest validate {shlex.quote(file)}")
    return "\n\n".join(told)


def collect(path: str) -> Collection:
    """Every test of a file, in its order, and an entry for each thing it leaves to the command.

    `FormatError` lists every mistake of the file.
    """
    # As above.
    from mcptest.runner.loading import Wanted, load_plan  # noqa: PLC0415

    plan = load_plan(Wanted(paths=(path,), is_found=True, is_chosen_later=True), os.environ)
    # A path with a space in it is one word of a command.
    file = shlex.quote(path)
    found = [one for suite, spec in plan.suites for one in _tests(suite, spec, file)]
    lanes: dict[str, Collected] = {}
    for suite, spec in plan.suites:
        for one in _left(suite, spec, file):
            lanes.setdefault(one.name, one)
    tests = (*found, *lanes.values())
    return Collection(tests=tests, suites=plan.suites, warnings=plan.warnings)


def _tests(suite: Suite, spec: ServerSpec, file: str) -> Iterator[Collected]:
    from mcptest.sdk.drivable import NotDrivableError, spoken  # noqa: PLC0415  # as above

    # What tests capture that are not run here.
    missing: set[str] = set()
    for case in suite.cases:
        if _lane_of(case):
            continue
        skip, words = "", None
        if case.skip is not None:
            skip = case.skip or "skipped in the file"
        else:
            try:
                _refuse_dependent(case, missing)
                words = spoken(case)
            except NotDrivableError as error:
                missing |= {capture.name for step in case.steps for capture in step.captures}
                skip = f"{error}; run: {_COMMAND.format(suite=file)}"
        yield Collected(
            name=case.name,
            server=spec.name,
            line=case.line,
            suite=suite,
            spec=spec,
            tags=case.tags,
            spoken=words,
            skip=skip,
            unset=case.needs if words else (),
        )


def _refuse_dependent(case: Case, missing: set[str]) -> None:
    from mcptest.sdk.drivable import NotDrivableError  # noqa: PLC0415  # as above

    if not missing:
        return
    needs = {name for step in case.steps if step.template for name in step.template.needs}
    # A case of several steps may capture what it needs itself.
    own = {capture.name for step in case.steps for capture in step.captures}
    for name in sorted(needs & missing - own):
        message = f"it needs ${{{name}}}, and the test that captures it is not drivable"
        raise NotDrivableError(f"{message} over the SDK channel")


def _left(suite: Suite, spec: ServerSpec, file: str) -> Iterator[Collected]:
    """The lanes of a suite, and what it asks of a whole run."""
    for case in suite.cases:
        lane = _lane_of(case)
        if lane:
            hint = lane_cli_hint(lane, file)
            yield _lane(lane, hint, case.line, suite, spec)
    if suite.gates:
        why = f"gates are judged of a whole run; run: {_COMMAND.format(suite=file)}"
        yield _lane("gates", why, 0, suite, spec)
    if spec.strict_invariants:
        why = f"strict invariants are judged of a whole run; run: {_COMMAND.format(suite=file)}"
        yield _lane("strict invariants", why, 0, suite, spec)


def _lane(name: str, why: str, line: int, suite: Suite, spec: ServerSpec) -> Collected:
    return Collected(name=name, server="lanes", line=line, suite=suite, spec=spec, skip=why)


def _lane_of(case: Case) -> str:
    """The lane of a case that the channel has no word for; "" for all others."""
    return "compliance" if case.check else case.lane
