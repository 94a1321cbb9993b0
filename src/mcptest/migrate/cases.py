"""Read the cases of a contract as a suite writes them.

A case can be carried over if it consists of requests, each followed by its response. Requests
and notifications of the server, and notifications of the client, have no place in a suite.
"""

from __future__ import annotations

import re

from mcptest.formats.cases import EXTENSIONS, is_ours, is_turn
from mcptest.formats.keys import NAME
from mcptest.formats.yaml.full import Tagged
from mcptest.migrate.drafts import (
    Draft,
    LeftBehindError,
    Note,
    Source,
    drop_empty,
    escape_references,
    read_request,
)
from mcptest.migrate.matchers import is_pattern
from mcptest.migrate.responses import CaseTags, ResponseReader
from mcptest.protocol.jsonrpc import id_key, message_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.plan import Leniency
    from mcptest.formats.yaml.stream import Stream, StreamDocument
    from mcptest.migrate.matchers import Setting

    Mapping = dict[str, object]
    Turns = list[tuple[str, object]]

__all__ = ["read_cases"]

_MARKS = {"_tags": "tags", "_skip": "skip", "_only": "only", "_timeout": "timeout"}
_REFUSED = {
    "_before": "it runs a command before",
    "_after": "it runs a command after",
    "_wire_id": "with _wire_id it reuses ids, and a suite chooses its own",
    "_strict": "with _strict it allows no other messages, and a suite does not check that",
}
_CONVERTED = ("_server", "_match", "_patterns", *_MARKS, *_REFUSED)
_NOT_PAIRS = "it is more than requests, each followed by its response"


def read_cases(stream: Stream, setting: Setting) -> tuple[Source, Mapping]:
    """Return the cases of a file that has been loaded without a mistake.

    The second value are the params of the first `initialize` request in it, {} without any.
    """
    drafts: list[Draft] = []
    notes: list[Note] = []
    cases = [each for each in stream.documents if any(map(is_turn, _mapping(each)))]
    handshakes = [params for document in cases for params in _handshakes(document)]
    opened = 0
    for number, document in enumerate(cases, 1):
        reader = _CaseReader(document, stream.file, number, setting)
        own = len(list(_handshakes(document)))
        try:
            if own:
                raise LeftBehindError("it opens a session, and a suite does that itself")
            if handshakes and not opened:
                raise LeftBehindError("it comes before the session is opened")
            if opened > 1:
                raise LeftBehindError("it comes after a second session has been opened")
            drafts.append(reader.read())
            notes += reader.notes
        except LeftBehindError as error:
            notes.append(reader.note(error.reason))
        opened += own
    source = Source(title="", drafts=tuple(drafts), notes=tuple(notes))
    return source, handshakes[0] if handshakes else {}


class _CaseReader:
    """Reads one case."""

    def __init__(self, document: StreamDocument, file: str, number: int, setting: Setting) -> None:
        self._case = _mapping(document)
        self._file = file
        self._line = document.key_lines.get("case", document.line)
        self._name = str(self._case.get("case") or f"case {number}")
        self._setting = setting
        self._turns: Turns = [
            (key, escape_references(value)) for key, value in self._case.items() if is_turn(key)
        ]
        self.notes: list[Note] = []
        for key, value in self._case.items():
            if key.startswith("_") and key not in _CONVERTED and value is not None:
                is_known = key in EXTENSIONS
                reason = "has no counterpart in a suite" if is_known else "is not a key of mcptest"
                self.notes.append(self.note(f"{key} {reason}", is_loss=False))

    def note(self, reason: str, *, is_loss: bool = True) -> Note:
        return Note(
            file=self._file, line=self._line, test=self._name, reason=reason, is_loss=is_loss
        )

    def read(self) -> Draft:
        for key, reason in _REFUSED.items():
            if self._case.get(key):
                raise LeftBehindError(reason)
        messages = [message for _, message in self._turns]
        if not self._case.get("_patterns") and any(map(_has_patterns, messages)):
            raise LeftBehindError("a string in it begins with match: and is meant literally")
        return Draft(
            file=self._file,
            line=self._line,
            name=self._name,
            steps=tuple(self._steps()),
            marks=drop_empty({name: self._case.get(key) for key, name in _MARKS.items()}),
        )

    def _steps(self) -> Iterator[Mapping]:
        used = tuple(name for _, message in self._turns for name in _referenced_names(message))
        bound: tuple[str, ...] = ()
        for at in range(0, len(self._turns), 2):
            request, response = _pair(self._turns[at : at + 2])
            tags = CaseTags(bound, used)
            call, difference = read_request(request)
            if difference:
                self.notes.append(self.note(difference, is_loss=False))
            call = {key: _fill_references(value, tags) for key, value in call.items()}
            reader = ResponseReader(self._setting, tags)
            leniency: Leniency = "" if self._case.get("_match") == "exact" else "objects"
            reader.read(response, request["id"], leniency, has_envelope=True)
            for name in tags.captures:
                if not re.fullmatch(NAME, name):
                    raise LeftBehindError(f"{name} cannot be the name of a value in a suite")
            bound += tuple(tags.captures)
            # Without an assertion, a suite would expect a success.
            expect = reader.assertions or [{"target": "duration_ms", "matcher": {"gte": 0}}]
            yield {**call, **drop_empty({"capture": dict(tags.captures), "expect": expect})}


def _pair(turns: Turns) -> tuple[Mapping, Mapping]:
    """Return a request and the response that follows it."""
    values = [value for _, value in turns]
    ours = [is_ours(key) for key, _ in turns]
    kinds = [message_kind(value) for value in values]
    if any(isinstance(value, list) for value in values):
        raise LeftBehindError("it sends a batch")
    if ours == [True] and kinds == ["request"]:
        raise LeftBehindError("it does not say what the response must be")
    if ours != [True, False] or kinds != ["request", "response"]:
        raise LeftBehindError(_NOT_PAIRS)
    request, response = values
    assert isinstance(request, dict)
    assert isinstance(response, dict)
    id = response.get("id")
    if not isinstance(id, Tagged) and id is not None and id_key(id) != id_key(request["id"]):
        raise LeftBehindError(_NOT_PAIRS)
    return request, response


def _mapping(document: StreamDocument) -> Mapping:
    assert isinstance(document.value, dict), "it has been loaded"
    return document.value


def _handshakes(document: StreamDocument) -> Iterator[Mapping]:
    """Yield the params of every `initialize` request of a case."""
    for key, value in _mapping(document).items():
        request = value if is_turn(key) and is_ours(key) and isinstance(value, dict) else {}
        if request.get("method") == "initialize":
            params = request.get("params")
            yield params if isinstance(params, dict) else {}


def _referenced_names(value: object) -> Iterator[str]:
    """Yield the names of all `!!ref` tags in a message."""
    if isinstance(value, Tagged):
        if value.tag == "ref":
            yield value.text
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _referenced_names(each)


def _fill_references(value: object, tags: CaseTags) -> object:
    """Return a value to send with every `!!ref` tag as a reference."""
    if isinstance(value, dict):
        return {key: _fill_references(inner, tags) for key, inner in value.items()}
    if isinstance(value, list):
        return [_fill_references(inner, tags) for inner in value]
    if isinstance(value, Tagged):
        if value.tag != "ref":
            raise LeftBehindError("it sends a generated value")
        return tags.refer_to(value.text)
    return value


def _has_patterns(value: object) -> bool:
    if isinstance(value, dict):
        return any(_has_patterns(each) for pair in value.items() for each in pair)
    if isinstance(value, list):
        return any(map(_has_patterns, value))
    return is_pattern(value)
