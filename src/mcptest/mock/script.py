"""A contract made ready to be played: what the client may say, and what is said then.

Suites go in, a `Script` comes out. A **cue** is one message of the client, a **line** one of
the server; `mcptest.mock.wiring` says which line is said upon which cue.
"""

from __future__ import annotations

import posixpath
from contextlib import nullcontext

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.dialogue import Bind, Ref
from mcptest.core.errors import FormatError, PatternTimeoutError
from mcptest.core.record import ABSENT, Record
from mcptest.core.strict_json import dump_json
from mcptest.matching.tags import fill, has_blanks, make_value
from mcptest.mock.bodies import IN_PART, body_of
from mcptest.mock.completing import completed
from mcptest.mock.cue_index import CueIndex
from mcptest.mock.secret_values import with_open_blanks
from mcptest.mock.wiring import Links, Part, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from mcptest.core.dialogue import Turn
    from mcptest.core.jsonrpc import MessageKind
    from mcptest.core.plan import Case, Leniency, Suite

    Message = dict[str, Any]
    Bounded = AbstractContextManager[object]

__all__ = ["RECORDED", "Act", "Cue", "Line", "Script", "build_script"]

# The format of a suite that was recorded: what a server really said is said again.
RECORDED = "capture"


class Line(Record):
    """A message of the server in which only refs are left to be filled in.

    `answers` is the cue whose request it answers, `reply` the cue that answers it. A line that
    needs one of the names `optional`, which the client need not give, may be left out. One that
    `is_partial` says what a case is about, and not all that the protocol requires.
    """

    index: int
    act: int
    scope: int
    value: Message
    kind: MessageKind
    method: str
    id: object = ABSENT
    binds: tuple[Bind, ...] = ()
    needs: tuple[str, ...] = ()
    answers: int | None = None
    reply: int | None = None
    optional: frozenset[str] = frozenset()
    is_partial: bool = False


class Cue(Record):
    """A message of the client, as the contract writes it, and the lines that follow upon it.

    `body` is what of it is compared; `needs` are the names in it that are bound before, `own`
    those that are bound in the message itself. `answer` is the line that answers it, `token` its
    progress token as it is written.
    """

    index: int
    act: int
    scope: int
    body: dict[str, object]
    kind: MessageKind
    method: str
    leniency: Leniency
    binds: tuple[Bind, ...] = ()
    needs: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    answer: int | None = None
    token: object = ABSENT


class Act(Record):
    """A case: its cues, and the lines that open it."""

    name: str
    file: str
    line: int
    scope: int
    cues: range
    opening: tuple[int, ...]

    def place(self) -> dict[str, object]:
        """Where it stands, as errors and reports have it."""
        return {"case": self.name, "file": self.file, "line": self.line}


class Script(Record):
    """Everything that can be said, numbered through in the order of the files."""

    name: str
    acts: tuple[Act, ...]
    cues: tuple[Cue, ...]
    lines: tuple[Line, ...]
    index: CueIndex

    @property
    def opening(self) -> tuple[int, ...]:
        """The lines that open a case, of all cases."""
        return tuple(index for act in self.acts for index in act.opening)

    def act_before(self, act: int) -> int | None:
        """The case that stands before this one in its file."""
        return act - 1 if act and self.acts[act - 1].scope == self.acts[act].scope else None

    def act_after(self, act: int) -> int | None:
        """The case that stands after this one in its file."""
        is_last = act + 1 == len(self.acts) or self.acts[act + 1].scope != self.acts[act].scope
        return None if is_last else act + 1

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of the client's requests."""
        return self.index.methods("request")

    def cues_for(self, kind: MessageKind, method: str) -> tuple[Cue, ...]:
        """The cues of a kind with this method, in written order."""
        return tuple(self.cues[number] for number in self.index.numbers(kind, method))

    def answer_to(self, cue: Cue) -> Message:
        """The answer that the contract has for a request, {} when it has none."""
        return {} if cue.answer is None else self.lines[cue.answer].value


def build_script(suites: Sequence[Suite], bounded: Bounded | None = None) -> Script:
    """The script of these suites. FormatError names every message that cannot be played.

    `bounded` limits how long a pattern may compute until a value for it is made up.
    """
    draft = _Draft(bounded or nullcontext())
    for scope, suite in enumerate(suites):
        for case in _wanted(suite):
            draft.add(case, suite, scope)
    if draft.mistakes:
        raise FormatError(draft.mistakes)
    file = suites[0].file if suites else ""
    return Script(
        name=posixpath.basename(file).partition(".")[0] or "mock",
        acts=tuple(draft.acts),
        cues=tuple(draft.cues),
        lines=tuple(draft.lines),
        index=CueIndex([cue for cue in draft.cues if cue.kind != "response"]),
    )


def _wanted(suite: Suite) -> list[Case]:
    """The cases that are played: as in a run, not those that are skipped."""
    is_narrowed = any(case.only for case in suite.cases)
    return [
        case
        for case in suite.cases
        if case.dialogue and case.skip is None and (case.only or not is_narrowed)
    ]


class _Draft:
    """The script so far; each case adds to it."""

    def __init__(self, bounded: Bounded) -> None:
        self._bounded = bounded
        self.acts: list[Act] = []
        self.cues: list[Cue] = []
        self.lines: list[Line] = []
        self.mistakes: list[Diagnostic] = []

    def add(self, case: Case, suite: Suite, scope: int) -> None:
        assert case.dialogue is not None
        file = suite.file
        turns = case.dialogue.turns
        parts = parts_of(turns)
        links = Links(parts, len(self.cues), len(self.lines))
        is_exact = case.dialogue.is_exact
        is_partial = not is_exact and suite.format != RECORDED
        optional = frozenset(_names_in_meta(parts))
        first_cue = len(self.cues)
        for at, part in enumerate(parts):
            if part.is_clients:
                self._refuse_open_method(part, file)
                self.cues.append(self._cue(part, scope, links, at, is_exact=is_exact))
            else:
                value = self._sendable(part.turn, file)
                if is_partial and part.answers is not None:
                    asker = parts[part.answers]
                    value = completed(value, asker.method, asker.value.get("params"))
                line = self._line(part, scope, value, links, at)
                self.lines.append(line.but(optional=optional, is_partial=is_partial))
        self.acts.append(
            Act(
                name=case.name,
                file=file,
                line=case.line,
                scope=scope,
                cues=range(first_cue, len(self.cues)),
                opening=links.followers(None),
            )
        )

    def _cue(self, part: Part, scope: int, links: Links, at: int, *, is_exact: bool) -> Cue:
        body = with_open_blanks(body_of(part.value))
        bound = {bind.name for bind in part.binds}
        refs = list(_refs(body))
        own = [ref.name for ref in refs if ref.is_own and ref.name in bound]
        return Cue(
            index=links.number(at),
            act=len(self.acts),
            scope=scope,
            body=body,
            kind=part.kind,
            method=part.method,
            leniency=_leniency(part, is_exact=is_exact),
            binds=part.binds,
            needs=tuple(
                dict.fromkeys(ref.name for ref in refs if not (ref.is_own and ref.name in bound))
            ),
            own=tuple(dict.fromkeys(own)),
            lines=links.followers(at),
            answer=links.answer_to(at),
            token=_token(part.value),
        )

    def _line(self, part: Part, scope: int, value: Message, links: Links, at: int) -> Line:
        return Line(
            index=links.number(at),
            act=len(self.acts),
            scope=scope,
            value=value,
            kind=part.kind,
            method=part.method,
            id=part.turn.id,
            binds=part.binds,
            needs=part.turn.needs,
            answers=None if part.answers is None else links.number(part.answers),
            reply=links.answer_to(at),
        )

    def _sendable(self, turn: Turn, file: str) -> Message:
        """The message with everything made up that can be; a mistake when it cannot."""
        try:
            with self._bounded:
                value = make_value(turn.value)
            dump_json(fill(value, dict.fromkeys(turn.needs), {}))
        except (TypeError, ValueError, PatternTimeoutError) as error:
            message = f'"{turn.key}" is to be sent, and {error}'
            self._complain(turn, file, message, "write a value, or a simpler pattern")
            return {}
        assert isinstance(value, dict)
        return {"jsonrpc": "2.0"} | value

    def _refuse_open_method(self, part: Part, file: str) -> None:
        """A message is looked up by its method, so a tag there would never be met."""
        if has_blanks(part.value.get("method")):
            message = f'the method in "{part.turn.key}" is a tag, and a mock could not look it up'
            self._complain(part.turn, file, message, "write a case for each method")

    def _complain(self, turn: Turn, file: str, message: str, help: str) -> None:
        self.mistakes.append(
            Diagnostic(code="F013", file=file, message=message, help=help, line=turn.line, column=1)
        )


def _leniency(part: Part, *, is_exact: bool) -> Leniency:
    """A request is the whole of what is written; of an answer, more than that may be there."""
    if part.kind == "response":
        return "" if is_exact else "objects"
    return "objects" if part.method in IN_PART else ""


def _names_in_meta(parts: Iterable[Part]) -> Iterator[str]:
    """The names whose values a client may give with a request, and need not."""
    for part in parts:
        if part.is_clients:
            yield from (bind.name for bind in part.binds if bind.steps[:2] == _META)


_META = ("params", "_meta")


def _refs(value: object) -> Iterator[Ref]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _refs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _refs(inner)
    elif isinstance(value, Ref):
        yield value


def _token(value: Message) -> object:
    """The progress token that a request is written with, when it is plain."""
    params = value.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    token = meta.get("progressToken", ABSENT) if isinstance(meta, dict) else ABSENT
    return ABSENT if has_blanks(token) else token
