"""Perform the cases of one file that are dialogues, and turn each into its verdict.

Names that one case binds are known to all after it, and what a server says on its own between
two cases is there for the second one.
"""

from __future__ import annotations

import time
from itertools import takewhile

from mcptest.core.errors import CheckError, InterruptedRunError, PatternTimeoutError, ServerError
from mcptest.core.outcome import CaseResult
from mcptest.matching.tags import fill, make_value
from mcptest.runner.hooks import Hooks
from mcptest.runner.judging import server_words
from mcptest.runner.talk import Talk
from mcptest.runner.unsent import UnsentError
from mcptest.runner.weighing import MAX_MISMATCHES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.coverage import Use
    from mcptest.core.dialogue import Dialogue, Turn
    from mcptest.core.outcome import Fault
    from mcptest.core.plan import Case, ServerSpec
    from mcptest.runner.ear import Heard
    from mcptest.runner.keeper import Keeper
    from mcptest.runner.server import Server

__all__ = ["Conversations"]


class Conversations:
    """The dialogues of one file, one after the other.

    `uses` counts what they exercise, `values` has what they bind.
    """

    def __init__(
        self,
        keeper: Keeper,
        folder: str,
        uses: dict[str, dict[Use, int]],
        values: dict[str, object],
    ) -> None:
        self._keeper = keeper
        self._folder = folder
        self._uses = uses
        self._values = values
        # What the last case left over, and the server that said it.
        self._left_over: tuple[Server, list[Heard]] | None = None

    def perform(self, case: Case, spec: ServerSpec, following: Case | None) -> CaseResult:
        """The verdict on a case. What breaks is raised: see `mcptest.runner.performing`."""
        dialogue = case.dialogue
        assert dialogue is not None, "only called with dialogues"
        if not (dialogue.before or dialogue.after):
            return self._talk(case, dialogue, spec, following)
        limit_s = case.timeout_s or spec.timeout_s
        hooks = Hooks(self._keeper.launcher, self._folder, limit_s, spec.secrets)
        try:
            return self._with_hooks(hooks, case, dialogue, spec, following)
        finally:
            hooks.close()

    def _with_hooks(
        self,
        hooks: Hooks,
        case: Case,
        dialogue: Dialogue,
        spec: ServerSpec,
        following: Case | None,
    ) -> CaseResult:
        fault = hooks.run(dialogue.before) if dialogue.before else None
        if fault:
            raise UnsentError(fault)
        try:
            result = self._talk(case, dialogue, spec, following)
        except (ServerError, UnsentError, PatternTimeoutError, CheckError):
            # What the case set up is put away all the same.
            if dialogue.after:
                hooks.run(dialogue.after)
            raise
        except InterruptedRunError:
            if dialogue.after:
                hooks.run_last(dialogue.after)
            raise
        fault = hooks.run(dialogue.after) if dialogue.after else None
        return _with_failed_hook(result, fault) if fault else result

    def _talk(
        self, case: Case, dialogue: Dialogue, spec: ServerSpec, following: Case | None
    ) -> CaseResult:
        server, note = self.server_for(spec, dialogue)
        began = time.monotonic()
        talk = Talk(server, dialogue, self._values, case.timeout_s or spec.timeout_s)
        try:
            talk.perform(self._carried(server, dialogue), _opening(following))
        finally:
            self._count(server, talk)
            if talk.has_answers:
                self._keeper.answered()
        self._left_over = (server, talk.left_over)
        result = CaseResult(
            name=case.name,
            status="failed" if talk.mismatches else "passed",
            line=case.line,
            duration_s=time.monotonic() - began,
            notes=((note,) if note else ()) + tuple(talk.notes),
        )
        if talk.mismatches:
            result = _with_reasons(result, talk)
        else:
            self._keeper.passed()
            log = self._keeper.log() if self._keeper.keeps_log == "all" else ()
            result = result.but(log=log)
        if talk.is_spent:
            self._keeper.replace("the case before waited in vain for a message that may still come")
        return result

    def server_for(self, spec: ServerSpec, dialogue: Dialogue) -> tuple[Server, str]:
        """A server that is as far as the dialogue needs it, and a note when it is a fresh one."""
        try:
            hello = make_value(fill(dialogue.hello, self._values))
        except (KeyError, ValueError):
            # It needs what nothing has bound in this run: then the usual one must do.
            hello = None
        params = hello if isinstance(hello, dict) else None
        return self._keeper.server_for_dialogue(spec, dialogue, params)

    def _carried(self, server: Server, dialogue: Dialogue) -> list[Heard]:
        """What the server has said already, for a dialogue that begins with what it says."""
        carried, self._left_over = self._left_over, None
        if carried is None or carried[0] is not server or not _first_turns(dialogue):
            return []
        return carried[1]

    def _count(self, server: Server, talk: Talk) -> None:
        used = self._uses.setdefault(server.spec.name, {})
        for use in talk.uses:
            used[use] = used.get(use, 0) + 1


def _opening(case: Case | None) -> tuple[Turn, ...]:
    """The turns with which the server begins a case."""
    dialogue = case.dialogue if case else None
    return _first_turns(dialogue) if dialogue and not dialogue.opens_session else ()


def _first_turns(dialogue: Dialogue) -> tuple[Turn, ...]:
    return tuple(takewhile(lambda turn: not turn.is_ours, dialogue.turns))


def _with_reasons(result: CaseResult, talk: Talk) -> CaseResult:
    mismatches = tuple(talk.mismatches)
    notes = result.notes
    for message in talk.actual.values():
        notes += tuple(server_words(message, mismatches))
    if len(mismatches) >= MAX_MISMATCHES:
        notes += (f"only the first {MAX_MISMATCHES:,} mismatches were looked for",)
    return result.but(
        # Where it went wrong says more than where the case begins.
        line=talk.line or result.line,
        mismatches=mismatches[:MAX_MISMATCHES],
        sent="\n".join(talk.sent),
        expected=talk.expected,
        actual=talk.actual,
        notes=notes,
    )


def _with_failed_hook(result: CaseResult, fault: Fault) -> CaseResult:
    if result.status == "passed":
        return result.but(status="error", fault=fault)
    return result.but(notes=(*result.notes, f"{fault.kind}: {fault.message}"))
