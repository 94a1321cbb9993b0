"""The tests of a file as a test framework collects them, in this process or behind an SDK.

Nothing that a file declares is dropped: a lane that an SDK cannot drive becomes a skipped test,
whose reason names the command that runs it, with the same words in every SDK.
"""

from __future__ import annotations

import os
import re
import shlex

from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.errors import McptestError
    from mcptest.core.results import CaseResult
    from mcptest.engine.loading import Plan

__all__ = [
    "UNSUPPORTED_LANES",
    "CollectedTest",
    "Collection",
    "collect",
    "describe_internal_error",
    "describe_load_error",
    "describe_mistakes",
    "group_by_server",
    "is_test_file",
    "lane_cli_hint",
    "node_names",
    "reword_hints",
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
    from mcptest.engine.test_files import (  # noqa: PLC0415
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


def group_by_server(
    tests: Iterable[CollectedTest],
) -> dict[str, list[tuple[str, CollectedTest]]]:
    """The tests of each server, both under the unique names that ids are made of."""
    servers: dict[str, list[CollectedTest]] = {}
    for one in tests:
        servers.setdefault(one.server, []).append(one)
    # pytest takes a bracket for the start of parameters.
    names = node_names(server.replace("[", "(") for server in servers)
    groups = zip(names, servers.values(), strict=True)
    return {
        name: list(zip(node_names(one.name for one in group), group, strict=True))
        for name, group in groups
    }


def describe_internal_error(error: Exception, file: str) -> str:
    """One sentence for an exception raised in our own code; "" for any other.

    A plugin with a time limit, for example, raises from its own code.
    """
    last: TracebackType | None = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    name = str(last.tb_frame.f_globals.get("__name__", "")) if last else ""
    if not last or name.split(".")[0] != "mcptest":
        return ""
    what = f"this is a fault of mcptest, and not of the server: {type(error).__name__}: {error}"
    return f"{what} ({name}:{last.tb_lineno}); please report it, and run: mcptest run {file}"


def describe_load_error(
    error: McptestError,
    file: str,
    most: int | None = _MAX_MISTAKES,
    server_option: str = "",
) -> str:
    """Why the tests of a file cannot be collected, for hosts that have no options of ours.

    `server_option` is the host's own option that is like `--server`, if it has one.
    """
    from mcptest.core.errors import FormatError, UsageError  # noqa: PLC0415  # as above

    if isinstance(error, FormatError):
        return describe_mistakes(error.diagnostics, file, most)
    if isinstance(error, UsageError):
        help = error.help.removeprefix("give --config FILE or --server-command, ")
        if server_option:
            help = help.replace("--server", server_option)
        elif help.startswith("choose one with --server"):
            help = "choose one in a suite, with from: FILE#NAME, or describe it in the test file"
        return f"{error.message}\n{help}".rstrip("\n")
    return str(error)


def reword_hints(result: CaseResult, isolation: str) -> CaseResult:
    """The result with hints that name what the host has instead of options of the command line."""
    from mcptest.core.plan import ISOLATE_FILES, START_OPTION  # noqa: PLC0415  # as above

    notes = [note.replace(ISOLATE_FILES, isolation) for note in result.notes]
    result, fault = result.but(notes=tuple(notes)), result.fault
    return (
        result.but(fault=fault.but(hint=fault.hint.replace(START_OPTION, ""))) if fault else result
    )


def describe_mistakes(
    mistakes: Sequence[Diagnostic], file: str, most: int | None = _MAX_MISTAKES
) -> str:
    """The first mistakes of a file, and how many more there are."""
    from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # as above

    shown = [render_diagnostic(each) for each in mistakes[:most]]
    more = len(mistakes) - len(shown)
    if more:
        words = "1 mistake" if more == 1 else f"{more:,} mistakes"
        shown.append(f"and {words} more; to see all: mcptest validate {shlex.quote(file)}")
    return "\n\n".join(shown)


def collect(path: str, isolation: str = "", server_name: str = "") -> Collection:
    """Every test of a file in its order, then one entry for each lane that is not driven.

    `isolation`, if given, counts instead of what configs and suites say; `server_name` chooses one
    of several servers of a config. `FormatError` lists every mistake of the file.
    """
    from mcptest.engine.loading import Wanted, load_plan  # noqa: PLC0415  # as above

    wanted = Wanted(
        paths=(path,),
        is_found=True,
        is_chosen_later=True,
        isolation=isolation,
        server_name=server_name,
    )
    plan = load_plan(wanted, os.environ)
    tests: list[CollectedTest] = []
    lanes: dict[str, CollectedTest] = {}
    for suite_index, (suite, spec) in enumerate(plan.suites):
        for case_index, case in enumerate(suite.cases):
            lane = case.lane or ("compliance" if case.check else "")
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
