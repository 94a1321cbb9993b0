"""From recorded traffic to a contract: the text of a case file, and what to know about it."""

from __future__ import annotations

import posixpath

from mcptest.core.record import Record
from mcptest.core.text import shorten
from mcptest.formats.limits import MAX_NODES, MAX_TEXT_BYTES, is_within_limits
from mcptest.traffic.comparing import laid_over
from mcptest.traffic.describing import Describer
from mcptest.traffic.hiding import secrets_in
from mcptest.traffic.ids import marks_of_server, with_own_ids
from mcptest.traffic.links import Linker
from mcptest.traffic.naming import Names, case_name, keys_of
from mcptest.traffic.passages import passages_of
from mcptest.traffic.reading import read_recording
from mcptest.traffic.recording import mistake
from mcptest.traffic.telling import sentence_about
from mcptest.traffic.texts import TextDescriber
from mcptest.traffic.writing import WrittenCase, render_cases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from mcptest.traffic.ids import Marks
    from mcptest.traffic.passages import Passage
    from mcptest.traffic.recording import Recording

__all__ = ["Contract", "build_contract", "contract_text"]

_LESS = "record less at a time"
_UNANSWERED = "the recording has no answer to this"


class Contract(Record):
    """A case file: its text, how many cases it has, and sentences about what is special."""

    text: str
    cases: int
    skipped: int = 0
    notes: tuple[str, ...] = ()


def contract_text(text: str, file: str, *, keep_values: bool = False) -> str:
    """The case file that a recording makes. FormatError when there is nothing to make it of."""
    return build_contract([read_recording(text, file)], keep_values=keep_values).text


def build_contract(recordings: Sequence[Recording], *, keep_values: bool = False) -> Contract:
    """The contract of one conversation, recorded once or several times."""
    recording = laid_over(list(recordings))
    passages: list[Passage] = []
    notes = list(recording.notes)
    for session in recording.sessions:
        found, left_out = passages_of(session)
        passages += map(with_own_ids, found)
        notes += [f"{recording.file}: {sentence}" for sentence in left_out]
    if not passages:
        raise mistake("F005", recording.file, "no message of this recording can be in a contract")
    _refuse_too_much(passages, recording.file)
    builder = _Builder(passages, keep_values=keep_values)
    cases = builder.cases()
    text = render_cases(_heading(recordings), cases)
    _refuse_too_long(text, recording.file)
    return Contract(
        text=text,
        cases=len(cases),
        skipped=sum(bool(case.skip) for case in cases),
        notes=(*notes, *builder.notes()),
    )


class _Builder:
    """Describes the passages of a recording, one after the other."""

    def __init__(self, passages: list[Passage], *, keep_values: bool) -> None:
        self._passages = passages
        self._keep_values = keep_values
        # Names of values hold for the whole file.
        self._value_names = Names()
        self._linker = Linker(self._value_names)
        secrets = (
            secret
            for passage in passages
            for spoken in passage.messages
            for message in (spoken.message, *spoken.others)
            for secret in secrets_in(message)
        )
        self._texts = TextDescriber(secrets, self._linker.varying, keep_values=keep_values)
        self._describer = Describer(self._texts, keep_values=keep_values)
        names = Names()
        self._case_names = [
            names.unique(self._ours(case_name(self._shown(passage))), "{name} ({number})")
            for passage in passages
        ]

    def _ours(self, text: str) -> str:
        return self._texts.without_secrets(text)

    def _shown(self, passage: Passage) -> Passage:
        """A passage to be named: of a secret that is cut, nobody would know what is left."""
        said = (each.but(message=self._shown_message(each.message)) for each in passage.messages)
        return passage.but(messages=tuple(said))

    def _shown_message(self, message: Any) -> Any:
        if isinstance(message, list):
            return [self._shown_message(part) for part in message]
        params = message.get("params")
        if not isinstance(params, dict):
            return message
        named = {
            name: self._texts.redacted(params[name])
            for name in ("name", "uri")
            if isinstance(params.get(name), str)
        }
        return {**message, "params": {**params, **named}}

    def cases(self) -> list[WrittenCase]:
        marks = self._marks()
        return [
            WrittenCase(
                name=name,
                comment=self._ours(sentence_about(self._shown(passage))),
                messages=tuple(
                    zip(keys_of(passage.messages), self._values(passage, own, name), strict=True)
                ),
                skip=_UNANSWERED if passage.is_unanswered else "",
            )
            for passage, own, name in zip(self._passages, marks, self._case_names, strict=True)
        ]

    def notes(self) -> list[str]:
        """What whoever reads the contract should know."""
        return [self._ours(note) for note in (*self._linker.notes, *self._describer.notes)]

    def _marks(self) -> list[Marks]:
        marks = [marks_of_server(passage, self._value_names) for passage in self._passages]
        if not self._keep_values:
            for passage, own, name in zip(self._passages, marks, self._case_names, strict=True):
                self._link(passage, own, name)
            for passage, own in zip(self._passages, marks, strict=True):
                self._linker.varying.add_bound(passage, own)
        return marks

    def _link(self, passage: Passage, marks: Marks, name: str) -> None:
        for index, spoken in enumerate(passage.messages):
            if spoken.direction == "in":
                self._linker.say(index, spoken, marks, name)
            else:
                self._linker.hear(index, spoken, marks, is_source=not passage.is_unanswered)

    def _values(self, passage: Passage, marks: Marks, name: str) -> Iterator[object]:
        for index, spoken in enumerate(passage.messages):
            yield self._describer.described(index, spoken, marks, name)


def _heading(recordings: Sequence[Recording]) -> str:
    files = (posixpath.basename(recording.file) for recording in recordings)
    return f"Made by mcptest from {shorten(', '.join(files), 200)}; edit it as you like."


def _refuse_too_much(passages: list[Passage], file: str) -> None:
    """Refuse what no reader of case files would take, before much time is spent on it."""
    if not is_within_limits([[each.message for each in one.messages] for one in passages]):
        limit = f"a case file may hold {MAX_NODES:,} values"
        raise mistake("F004", file, "there is too much in this recording", f"{limit}; {_LESS}")


def _refuse_too_long(text: str, file: str) -> None:
    size = len(text.encode("utf-8"))
    if size > MAX_TEXT_BYTES:
        message = f"the contract would have {size:,} bytes (limit {MAX_TEXT_BYTES:,})"
        raise mistake("F004", file, message, _LESS)
