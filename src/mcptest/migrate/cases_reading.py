"""The cases of a contract, as a suite would write them.

A case is carried over when it is made of requests, each followed by its answer. What a server
asks, what it says on its own and what a client notifies it of stay in the contract.
"""

from __future__ import annotations

import re

from mcptest.core.jsonrpc import id_key, message_kind
from mcptest.core.record import Record
from mcptest.formats.case_turns import is_ours, is_turn
from mcptest.formats.cases import EXTENSIONS
from mcptest.formats.stream import Tagged
from mcptest.formats.templates import NAME
from mcptest.migrate.answers import AnswerReader
from mcptest.migrate.calls import call_of_request
from mcptest.migrate.drafts import Draft, Source, without_nothing
from mcptest.migrate.pattern_words import is_pattern
from mcptest.migrate.references import escaped
from mcptest.migrate.remarks import LeftBehindError, Remark
from mcptest.migrate.tag_words import TagWords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.formats.stream import Stream, StreamDocument
    from mcptest.migrate.pattern_words import Setting

    Mapping = dict[str, object]
    Turns = list[tuple[str, object]]

__all__ = ["Contract", "read_cases"]

_MARKS = {"_tags": "tags", "_skip": "skip", "_only": "only", "_timeout": "timeout"}
_REFUSED = {
    "_before": "it runs a command before",
    "_after": "it runs a command after",
    "_wire_id": "with _wire_id its ids are used again, and a suite chooses its own",
    "_strict": "with _strict nothing else may come, and a suite does not look for that",
}
_PLAIN_KEYS = ("_server", "_match", "_patterns", *_MARKS, *_REFUSED)


class Contract(Record):
    """What a contract holds; `hello` are the params with which it opens its session itself."""

    source: Source
    hello: Mapping | None


def read_cases(stream: Stream, setting: Setting) -> Contract:
    """What the file holds; it has been loaded before, and has no mistakes."""
    drafts: list[Draft] = []
    remarks: list[Remark] = []
    number = 0
    hellos = [hello for document in stream.documents for hello in _hellos(document)]
    seen = 0
    for document in stream.documents:
        if not any(is_turn(key) for key in _mapping(document)):
            continue
        number += 1
        reader = _CaseReader(document, stream.file, number, setting)
        opens = len(list(_hellos(document)))
        try:
            reader.refuse_elsewhere(opens, seen, len(hellos))
            drafts.append(reader.draft())
            remarks += reader.notes
        except LeftBehindError as error:
            remarks.append(reader.remark(error.reason))
        seen += opens
    source = Source(file=stream.file, title="", drafts=tuple(drafts), remarks=tuple(remarks))
    return Contract(source=source, hello=hellos[0] if hellos else None)


class _CaseReader:
    """Reads one case."""

    def __init__(self, document: StreamDocument, file: str, number: int, setting: Setting) -> None:
        self._case = _mapping(document)
        self._file = file
        self._line = document.key_lines.get("case", document.line)
        self._name = str(self._case.get("case") or f"case {number}")
        self._setting = setting
        self._turns: Turns = [
            (key, escaped(value)) for key, value in self._case.items() if is_turn(key)
        ]
        others = [key for key in self._case if key.startswith("_") and key not in _PLAIN_KEYS]
        self.notes = [self._note(key) for key in others if self._case[key] is not None]

    def remark(self, reason: str, *, is_loss: bool = True) -> Remark:
        return Remark(
            file=self._file, line=self._line, what=self._name, reason=reason, is_loss=is_loss
        )

    def _note(self, key: str) -> Remark:
        owner = "has no place in a suite" if key in EXTENSIONS else "is not ours, and is left out"
        return self.remark(f"{key} {owner}", is_loss=False)

    def refuse_elsewhere(self, opens: int, seen: int, count: int) -> None:
        """Cases that are not about the one session that a suite opens itself."""
        if opens:
            raise LeftBehindError("it opens a session, and a suite does that itself")
        if count and not seen:
            raise LeftBehindError("it comes before the session is opened")
        if seen > 1:
            raise LeftBehindError("it comes after a second session has been opened")

    def draft(self) -> Draft:
        for key, reason in _REFUSED.items():
            if self._case.get(key):
                raise LeftBehindError(reason)
        if not self._case.get("_patterns") and any(map(_has_match_texts, self._messages())):
            raise LeftBehindError("a text that begins with match: is meant as it stands")
        marks = {name: self._case.get(key) for key, name in _MARKS.items()}
        steps = tuple(self._steps())
        return Draft(
            file=self._file,
            line=self._line,
            name=self._name,
            steps=steps,
            marks=without_nothing(marks),
        )

    def _messages(self) -> Iterator[object]:
        return (message for _, message in self._turns)

    def _steps(self) -> Iterator[Mapping]:
        turns = self._turns
        used = tuple(name for message in self._messages() for name in _references(message))
        bound: tuple[str, ...] = ()
        for at in range(0, len(turns), 2):
            request, answer = self._pair(turns[at : at + 2])
            tags = TagWords(bound, used)
            call, note = call_of_request(request)
            if note:
                self.notes.append(self.remark(note, is_loss=False))
            call = _filled(call, tags)
            step: Mapping = {**call, **self._expect(request["id"], answer, tags)}
            bound += tuple(tags.captures)
            yield step

    def _pair(self, turns: Turns) -> tuple[Mapping, Mapping]:
        """A request and the answer that follows it at once."""
        values = [value for _, value in turns]
        ours = [is_ours(key) for key, _ in turns]
        kinds = [message_kind(value) for value in values]
        if any(isinstance(value, list) for value in values):
            raise LeftBehindError("it sends a batch")
        if len(turns) < 2 and kinds == ["request"] and ours == [True]:
            raise LeftBehindError("it does not say what the answer must be")
        if ours != [True, False] or kinds != ["request", "response"]:
            raise LeftBehindError("it is more than requests, each followed by its answer")
        request, answer = values
        assert isinstance(request, dict)
        assert isinstance(answer, dict)
        id = answer.get("id")
        if not isinstance(id, Tagged) and id is not None and id_key(id) != id_key(request["id"]):
            raise LeftBehindError("it is more than requests, each followed by its answer")
        return request, answer

    def _expect(self, id: object, answer: Mapping, tags: TagWords) -> Mapping:
        is_exact = self._case.get("_match") == "exact"
        reader = AnswerReader(self._setting, tags)
        reader.read(answer, id, "" if is_exact else "objects", is_ours=False)
        for name in tags.captures:
            if not re.fullmatch(NAME, name):
                raise LeftBehindError(f"{name} cannot be the name of a value in a suite")
        found = reader.found or [{"target": "duration_ms", "matcher": {"gte": 0}}]
        return without_nothing({"capture": dict(tags.captures), "expect": found})


def _mapping(document: StreamDocument) -> Mapping:
    assert isinstance(document.value, dict), "it has been loaded"
    return document.value


def _hellos(document: StreamDocument) -> Iterator[Mapping]:
    """The params of every `initialize` that a case sends."""
    for key, value in _mapping(document).items():
        if is_turn(key) and is_ours(key) and isinstance(value, dict):
            params = value.get("params")
            if value.get("method") == "initialize":
                yield params if isinstance(params, dict) else {}


def _references(value: object) -> Iterator[str]:
    """The names of all `!!ref` in a message."""
    if isinstance(value, Tagged):
        if value.tag == "ref":
            yield value.text
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _references(each)


def _filled(value: object, tags: TagWords) -> Mapping:
    """A call with the values of names in the place of `!!ref`."""
    filled = _put(value, tags)
    assert isinstance(filled, dict)
    return filled


def _put(value: object, tags: TagWords) -> object:
    if isinstance(value, dict):
        return {key: _put(inner, tags) for key, inner in value.items()}
    if isinstance(value, list):
        return [_put(inner, tags) for inner in value]
    if isinstance(value, Tagged):
        if value.tag != "ref":
            raise LeftBehindError("it sends a value that is made up")
        return tags.reference(value.text)
    return value


def _has_match_texts(value: object) -> bool:
    if isinstance(value, dict):
        return any(_has_match_texts(each) for pair in value.items() for each in pair)
    if isinstance(value, list):
        return any(map(_has_match_texts, value))
    return is_pattern(value)
