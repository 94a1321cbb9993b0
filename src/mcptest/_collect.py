"""What an SDK can run of a test file over the channel, and what it must leave to the command.

Nothing that a file declares is dropped: whatever cannot be driven over the channel is named,
with the command that runs it, in the words that every SDK uses.
"""

from __future__ import annotations

import os

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.plan import Case, ServerSpec, Suite

__all__ = ["UNSUPPORTED_LANES", "Collected", "collect", "lane_cli_hint", "may_hold_tests"]

UNSUPPORTED_LANES = ("agents", "compliance", "security", "evals")

_COMMANDS = {
    "compliance": "mcptest compliance run --from-suite {suite}",
    "evals": "mcptest eval {suite}",
}
_COMMAND = "mcptest run {suite}"

_CASE_ENDINGS = ("_test.yaml", "_test.yml", ".cases.yaml", ".cases.yml")
_ENDINGS = (".test.mcp.yml", ".test.mcp.yaml", ".cases.yaml", ".cases.yml")
_NAMES = ("mcptest.yaml", "mcptest.yml")
_LOOK_BYTES = 64 * 1024


class Collected(Record):
    """One test of a file, or a lane of it that stays with the command; `skip` says why."""

    name: str
    server: str
    line: int
    suite: Suite
    spec: ServerSpec
    case: Case | None = None
    skip: str = ""


def lane_cli_hint(lane: str, suite: str = "<suite>") -> str:
    """That a lane cannot be driven over the channel, and the command that runs it."""
    command = _COMMANDS.get(lane, _COMMAND).format(suite=suite)
    return f'lane "{lane}" is not drivable over the SDK channel; run: {command}'


def may_hold_tests(path: str) -> bool:
    """Whether a file is one of ours, by its name, and where that says little by its text."""
    name = os.path.basename(path)
    if name in _NAMES or name.endswith(_ENDINGS):
        return True
    if not name.endswith(_CASE_ENDINGS):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(_LOOK_BYTES)
    except OSError:
        return False
    return any(line.startswith((b"case:", b"in:", b"_server:")) for line in head.splitlines())


def collect(path: str) -> list[Collected]:
    """Every test of a file, in its order, and one entry for each lane it leaves to the command.

    `FormatError` lists every mistake of the file.
    """
    # Whoever only asks for names, or has no such file, pays for none of this.
    from mcptest.runner.loading import Wanted, load_plan  # noqa: PLC0415
    from mcptest.sdk.driving import why_not_drivable  # noqa: PLC0415

    plan = load_plan(Wanted(paths=(path,)), os.environ)
    found: list[Collected] = []
    lanes: dict[str, Collected] = {}
    for suite, spec in plan.suites:
        for case in suite.cases:
            one = Collected(
                name=case.name, server=spec.name, line=case.line, suite=suite, spec=spec, case=case
            )
            lane = _lane_of(case)
            if lane:
                hint = lane_cli_hint(lane, suite.file)
                lanes.setdefault(lane, one.but(name=lane, case=None, skip=hint))
            elif case.skip is not None:
                found.append(one.but(skip=case.skip or "skipped in the file"))
            else:
                why = why_not_drivable(case, spec)
                command = _COMMAND.format(suite=suite.file)
                found.append(one.but(skip=f"{why}; run: {command}") if why else one)
    return [*found, *lanes.values()]


def _lane_of(case: Case) -> str:
    """The lane of a case that the channel has no word for; "" for all others."""
    return "compliance" if case.check else case.lane
