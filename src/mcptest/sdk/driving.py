"""Run the cases of test files over the coprocess channel, with the servers they need."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from mcptest.core.record import ABSENT, Record
from mcptest.core.secrets import redact_all, redactor
from mcptest.runner.performing import Performer
from mcptest.runner.surplus import other_kind
from mcptest.sdk.channel_server import ChannelKeeper
from mcptest.sdk.drivable import as_sent, is_list
from mcptest.sdk.forking import quiet_forks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.core.outcome import CaseResult, Mismatch
    from mcptest.core.plan import Case, ServerSpec, Step, Suite, Template
    from mcptest.sdk.drivable import Spoken

    # The file that has it for itself, or ""; its name, its command, its folder and its URL.
    _Key = tuple[str, str, tuple[str, ...], str, str]

__all__ = ["Drivers"]

# How many servers are kept for later tests that may need them.
_MOST_RUNNING = 4
_ONE_PAGE = "over the SDK channel, the pages of a list come as one"


class _Turn(Record):
    """Who performs the cases of a suite, and who keeps its server."""

    performer: Performer
    keeper: ChannelKeeper


class Drivers:
    """The servers of a session, each as long as its isolation says, and the cases they get."""

    def __init__(self) -> None:
        # How long answers may take, and who keeps the server, by what tells servers apart at once.
        self._limits: dict[_Key, list[tuple[ServerSpec, float]]] = {}
        self._keepers: dict[_Key, list[ChannelKeeper]] = {}
        self._turns: dict[int, _Turn] = {}
        # Those whose servers may be running, the last used at the end.
        self._used: list[ChannelKeeper] = []
        self._file = ""

    def expect(self, suite: Suite, spec: ServerSpec) -> None:
        """Learn how long the cases of a suite may take: a server is started once for all."""
        longest_s = max((case.timeout_s or spec.timeout_s for case in suite.cases), default=0.0)
        self._limits.setdefault(_key(suite, spec), []).append((spec, longest_s))

    def perform(
        self, suite: Suite, spec: ServerSpec, spoken: Spoken, following: Case | None
    ) -> CaseResult:
        """The verdict on a case. What breaks the channel itself is raised."""
        turn = self._turn(suite, spec)
        if suite.file != self._file:
            self._file = suite.file
            turn.keeper.forgive()
        self._make_room(turn.keeper)
        case = spoken.case
        if threading.current_thread() is not threading.main_thread():
            case, following = _unbounded(case), None
        may_follow = following if spec.isolation != "test" else None
        with quiet_forks():
            result = turn.performer.perform(case, spec, case.retries or 0, may_follow)
        if result.sent:
            result = _as_spoken(result)
        if spoken.key and result.mismatches:
            result = _in_dialogue(result, spoken)
        redacted: CaseResult = redact_all(result, redactor(spec.secrets))
        return redacted

    def finish_case(self, suite: Suite, spec: ServerSpec) -> None:
        """A case is over: where each has a server of its own, that one is."""
        if spec.isolation == "test" and id(suite) in self._turns:
            self._turns[id(suite)].keeper.close()

    def finish_file(self, file: str) -> None:
        """The next case is of another file: the servers of this one are not needed."""
        for keeper in self._used:
            if keeper.owner == file:
                keeper.close()

    def close(self) -> None:
        """Stop every server, also when there is something to say of one."""
        with ExitStack() as stack:
            for keeper in self._used:
                stack.callback(keeper.close)

    def _turn(self, suite: Suite, spec: ServerSpec) -> _Turn:
        # A suite is the cases of one file that need one server; what they capture is theirs.
        turn = self._turns.get(id(suite))
        if turn is None:
            keeper = self._keeper(suite, spec)
            performer = Performer(keeper)
            performer.start_suite(suite)
            turn = self._turns[id(suite)] = _Turn(performer=performer, keeper=keeper)
        return turn

    def _keeper(self, suite: Suite, spec: ServerSpec) -> ChannelKeeper:
        key = _key(suite, spec)
        keepers = self._keepers.setdefault(key, [])
        for keeper in keepers:
            if keeper.spec == spec:
                return keeper
        limits = [limit_s for other, limit_s in self._limits.get(key, ()) if other == spec]
        keepers.append(ChannelKeeper(spec, max([spec.timeout_s, *limits]), owner=key[0]))
        return keepers[-1]

    def _make_room(self, wanted: ChannelKeeper) -> None:
        """Stop whoever was not used for longest, when too many would run."""
        if not self._used or self._used[-1] is not wanted:
            running = [each for each in self._used if each is not wanted and each.is_running]
            for keeper in running[: max(0, len(running) + 1 - _MOST_RUNNING)]:
                keeper.replace("others were needed meanwhile")
            self._used = [*(each for each in running if each.is_running), wanted]


def _key(suite: Suite, spec: ServerSpec) -> _Key:
    """What two cases with one server have in common, whatever else there is to it."""
    owner = "" if spec.isolation == "run" else suite.file
    return owner, spec.name, spec.command, spec.cwd, spec.http.url if spec.http else ""


def _as_spoken(result: CaseResult) -> CaseResult:
    """The result with what was really sent, and what is to be known of the answer."""
    notes = (*result.notes, _ONE_PAGE) if is_list(result.sent) else result.notes
    return result.but(sent=as_sent(result.sent), notes=notes)


def _in_dialogue(result: CaseResult, spoken: Spoken) -> CaseResult:
    """The result of a case that was a dialogue, told as one: its answer stands under a key."""
    key, expected, actual = spoken.key, result.expected, result.actual
    found: tuple[Mismatch, ...] = tuple(
        mismatch.but(path=_below(key, mismatch.path)) for mismatch in result.mismatches
    )
    if isinstance(expected, dict) and isinstance(actual, dict):
        other = other_kind(key, expected, actual)
        found = (other,) if other else found
    told = {} if expected is ABSENT else {key: expected}
    changes = {"expected": told, "actual": {key: actual}, "line": spoken.line}
    return result.but(mismatches=found, **changes)


def _below(key: str, path: str) -> str:
    return f"{key}{path}" if path.startswith("[") or not path else f"{key}.{path}"


def _unbounded(case: Case) -> Case:
    """The case without the bounds on patterns that only the main thread can keep."""
    return case.but(
        steps=tuple(map(_unbounded_step, case.steps)),
        teardown=tuple(map(_unbounded_step, case.teardown)),
    )


def _unbounded_step(step: Step) -> Step:
    wanted = step.expectation.but(has_regex=False, has_foreign_check=False)
    template = step.template and _unbounded_template(step.template)
    return step.but(expectation=wanted, template=template)


def _unbounded_template(template: Template) -> Template:
    def fill(values: Mapping[str, object]) -> Step:
        return _unbounded_step(template.fill(values))

    return template.but(fill=fill)
