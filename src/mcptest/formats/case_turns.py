"""The turns of a case: every message under a key that begins with `in` or `out`, in order.

Which request a message answers, and which names it may use, follows from what was written
before it; what cannot be is complained about here.
"""

from __future__ import annotations

from itertools import islice

from mcptest.core.dialogue import Turn
from mcptest.core.jsonrpc import describe_id, id_key
from mcptest.core.plan import Expectation
from mcptest.core.record import ABSENT
from mcptest.core.strict_json import dump_json
from mcptest.core.suggest import closest
from mcptest.formats.case_messages import MessageReader
from mcptest.formats.fields import kind_of
from mcptest.matching.compare import Group, source_of
from mcptest.matching.patterns import PREFIX
from mcptest.matching.tags import bound_name, has_blanks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from mcptest.core.plan import Leniency
    from mcptest.formats.case_messages import Bounded, Draft
    from mcptest.formats.fields import Fields
    from mcptest.formats.stream import StreamDocument
    from mcptest.matching.expectation import Compiler

__all__ = ["TurnReader", "is_ours", "is_turn"]

# So many mistakes of one kind, and names in one sentence, are enough for anybody.
_MAX_UNBOUND = 100
_MAX_LISTED = 20
_MAX_WEIGHED = 1000

_MEMBERS = ("method", "result", "error")
_ASKED_HELP = "bind the id of the question with !!bind, and write !!ref here"


def is_turn(key: str) -> bool:
    """Whether a key of a case stands for a message."""
    return key.startswith(("in", "out"))


def is_ours(key: str) -> bool:
    """Whether the message under a key is the client's."""
    return key.startswith("in")


class TurnReader:
    """Reads the turns of one case after the other; `bound` are the names bound so far."""

    def __init__(self, compiler: Compiler, bounded: Bounded, *, for_mock: bool) -> None:
        self._compiler = compiler
        self._bounded = bounded
        self._for_mock = for_mock
        self._bound: dict[str, None] = {}
        self._unbound = 0

    def read(self, fields: Fields, document: StreamDocument) -> tuple[Turn, ...]:
        """All messages of a case, in the order in which they are written."""
        has_patterns = fields.flag("_patterns", False)
        is_exact = fields.choice("_match", ("exact", "partial"), "partial") == "exact"
        pairs = _Pairs(fields)
        for key, value in fields.mapping.items():
            if not is_turn(key) or not _is_message(fields, key, value):
                continue
            if is_ours(key):
                _warn_of_version(fields.at((key,)), value)
            if has_patterns == is_ours(key):
                _look_for_patterns(fields.at((key,)), value, is_ours(key))
            draft = self._draft(fields, key, value, has_patterns=has_patterns)
            if isinstance(draft.value, Group):
                _refuse_directive(fields.at((key,)), draft.value.source)
                continue
            pairs.add(
                Turn(
                    key=key,
                    is_ours=is_ours(key),
                    value=draft.value,
                    line=document.key_lines[key],
                    binds=draft.binds,
                    needs=tuple(dict.fromkeys(name for name, _ in draft.refs)),
                    comment=document.comments.get(key, ""),
                    expectation=None
                    if is_ours(key)
                    else _expectation(draft, "" if is_exact else "objects"),
                )
            )
        return tuple(pairs.turns)

    def _draft(self, fields: Fields, key: str, value: object, *, has_patterns: bool) -> Draft:
        compiler = self._compiler if has_patterns and not is_ours(key) else None
        is_sent = is_ours(key) != self._for_mock
        draft = MessageReader(fields, compiler, self._bounded, is_sent=is_sent).read(key, value)
        self._bound.update(dict.fromkeys(bind.name for bind in draft.binds))
        for name, steps in draft.refs:
            if name not in self._bound:
                self._refuse_unbound(fields.at((key, *steps)), name)
        return draft

    def _refuse_unbound(self, here: Fields, name: str) -> None:
        self._unbound += 1
        if self._unbound > _MAX_UNBOUND:
            return
        meant = closest(name, self._bound) if len(self._bound) < _MAX_WEIGHED else ""
        question = f"; did you mean {meant}?" if meant else ""
        there = ", ".join(islice(self._bound, _MAX_LISTED)) or "none"
        there += ", …" if len(self._bound) > _MAX_LISTED else ""
        message = f"nothing before this binds the name {name}{question}"
        here.complain("", "F020", message, f"bound so far with !!bind: {there}", on_key=False)


def _is_message(fields: Fields, key: str, value: object) -> bool:
    """Whether a message stands under the key; a complaint when it does not."""
    direction = "in" if is_ours(key) else "out"
    parts = value if isinstance(value, list) and direction == "in" else [value]
    if not parts:
        fields.complain(key, "F008", f'"{key}" is an empty batch', on_key=False)
    for part in parts:
        if isinstance(part, dict) and any(member in part for member in _MEMBERS):
            continue
        seen = f"it is {kind_of(part)}"
        if isinstance(part, dict):
            seen = 'it has neither "method" nor "result" nor "error"'
        message = f'a key that begins with "{direction}" holds a message, and "{key}" does not'
        help = f"{seen}; keys of your own begin with _"
        fields.complain(key, "F008", message, help)
        return False
    return bool(parts)


def _refuse_directive(here: Fields, message: Iterable[str]) -> None:
    """Which request a message answers, and what it is, must be there to be read."""
    directive = next(name for name in message if name.startswith(PREFIX))
    said = f'"{directive}" cannot stand beside the members of a message'
    here.complain(directive, "F014", said, 'write it under "result", "error" or "params"')


def _look_for_patterns(here: Fields, value: object, is_sent: bool) -> None:
    """Texts that look like patterns and are none: in what is sent, and without `_patterns`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _look_for_patterns(here.at((name,)), inner, is_sent)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _look_for_patterns(here.at((index,)), inner, is_sent)
    elif isinstance(value, str) and value.startswith(PREFIX):
        _complain_of_pattern(here, is_sent)


def _complain_of_pattern(here: Fields, is_sent: bool) -> None:
    if is_sent:
        message = "a pattern cannot be sent: it says what must come, not what to send"
        help = "write a value; a tag such as !!type string stands for one that is made up"
        here.complain("", "F014", message, help, on_key=False)
    else:
        message = "this text is compared as it is; it is a pattern only with _patterns: true"
        here.complain("", "W001", message, on_key=False, severity="warning")


def _warn_of_version(here: Fields, value: object) -> None:
    """What is sent is sent as it is written, and servers may well refuse it without a version."""
    for message in value if isinstance(value, list) else (value,):
        if isinstance(message, dict) and message.get("jsonrpc") != "2.0":
            seen = "has another" if "jsonrpc" in message else "has no"
            sentence = f'this message {seen} "jsonrpc": "2.0", and is sent as it is'
            here.complain("", "W001", sentence, severity="warning")


def _expectation(draft: Draft, leniency: Leniency) -> Expectation:
    return Expectation(
        response=draft.value,
        has_regex=draft.has_regex,
        has_foreign_check=draft.has_foreign_check,
        has_remote_check=draft.has_remote_check,
        may_check_nothing=draft.may_check_nothing,
        leniency=leniency,
    )


class _Waiting:
    """The requests of one side that wait for an answer, oldest first."""

    def __init__(self) -> None:
        self._indexes: dict[object, int] = {}

    def add(self, id: object, index: int) -> bool:
        """Whether this is the only one with its id."""
        key = _id_key(id)
        is_new = key not in self._indexes
        # An id that says nothing of itself waits under its place.
        self._indexes[key if is_new and key is not None else ("at", index, len(self._indexes))] = (
            index
        )
        return is_new or key is None

    def take(self, id: object) -> int | None:
        """The turn with the request that has this id; the oldest one for an id that is open."""
        key = _id_key(id)
        if key is None:
            key = next(iter(self._indexes), None)
        return self._indexes.pop(key, None)


def _id_key(id: object) -> object:
    """What an id is looked up by; None when it can be anything."""
    if id is None or id is ABSENT:
        return None
    if has_blanks(id):
        name = _name_of(id)
        return ("name", name) if name else None
    return id_key(id)


class _Pairs:
    """The turns of a case so far, and which requests in them have no answer yet."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self.turns: list[Turn] = []
        # By side: the client's, and the server's.
        self._waiting = {True: _Waiting(), False: _Waiting()}

    def add(self, turn: Turn) -> None:
        if not turn.is_ours:
            self._refuse_impossible(turn)
        for message in _messages_of(turn):
            if "method" not in message:
                turn = turn.but(answers=self._answered(turn, message.get("id", ABSENT)))
            elif "id" in message:
                self._ask(turn, message["id"])
        self.turns.append(turn)

    def _ask(self, turn: Turn, id: object) -> None:
        if not self._waiting[turn.is_ours].add(id, len(self.turns)):
            message = f"{describe_id(source_of(id))} is used again before its first answer"
            self._complain(turn, "id", message, "give each request of a case an id of its own")

    def _answered(self, turn: Turn, id: object) -> int | None:
        """The turn with the request that this message answers."""
        waiting = self._waiting[not turn.is_ours]
        index = waiting.take(id)
        if index is None and bound_name(id):
            # A name that is new here: whatever the id is, it gets it.
            index = waiting.take(ABSENT)
        if index is not None:
            return index
        if not turn.is_ours:
            is_open = _id_key(id) is None
            said = "that waits for an answer" if is_open else f"with {describe_id(source_of(id))}"
            message = f"no request {said} stands before this in the case"
            help = 'an answer carries the id of its request, and ids 1 and "1" differ'
            self._complain(turn, "id", message, help)
        elif not has_blanks(id) and id is not None and id is not ABSENT:
            message = f"no request of the server with {describe_id(id)} stands before this"
            here = self._fields.at((turn.key, "id"))
            here.complain("", "W001", message, _ASKED_HELP, on_key=False, severity="warning")
        return None

    def _refuse_impossible(self, turn: Turn) -> None:
        message: Any = turn.value
        version = message.get("jsonrpc", "2.0")
        if version != "2.0" and not has_blanks(version):
            sentence = f'every message has "jsonrpc": "2.0", not {dump_json(version)}'
            self._complain(turn, "jsonrpc", sentence, 'write it in quotes: "2.0"')
        if "result" in message and "error" in message:
            self._complain(turn, "error", "no answer has both a result and an error")

    def _complain(self, turn: Turn, member: str, message: str, help: str = "") -> None:
        here = self._fields.at((turn.key, member))
        here.complain("", "F017", message, help, on_key=False)


def _messages_of(turn: Turn) -> Iterator[dict[str, object]]:
    for message in turn.value if isinstance(turn.value, list) else (turn.value,):
        if isinstance(message, dict):
            yield message


def _name_of(id: object) -> str:
    """The name that an id is bound to or taken from, "" when there is none."""
    return bound_name(id) or (getattr(id, "name", "") if has_blanks(id) else "")
