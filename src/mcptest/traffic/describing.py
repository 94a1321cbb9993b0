"""Turn recorded messages into what a contract says: literal, but for what varies or is secret.

What the server says is described: a value that varies becomes a tag, and a secret any value.
What the client says is said again, so only names that were bound, and a word in the place of
a secret, differ from what was recorded.
"""

from __future__ import annotations

import re

from mcptest.core.paths import render_path
from mcptest.core.redaction import BLANK
from mcptest.core.visible import shorten, visible
from mcptest.matching.values import equal, json_type
from mcptest.traffic.hiding import REDACTED, is_secret
from mcptest.traffic.looks import CONSTANT_KEYS, SCHEMA_KEYS, look_of, spans_in, without_overlaps
from mcptest.traffic.tag import ANY, HALF_CHARACTER, TEXT, Tag, described_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from mcptest.traffic.ids import Marks
    from mcptest.traffic.recording import Message, Spoken, Steps
    from mcptest.traffic.tag import Span

__all__ = ["Describer"]

# More are not looked for outside their own keys.
_MAX_SECRETS = 1_000
# Of a message, what is about the message itself.
_ENVELOPE = ("jsonrpc", "id", "method")
# Differ from recording to recording, and mean nothing: the client chooses them.
_CHOSEN_BY_CLIENT = frozenset(["progressToken", "requestId"])


class Describer:
    """Describes one message after the other, and keeps what the client has said so far."""

    def __init__(self, secrets: Iterable[str], *, keep_values: bool) -> None:
        self._keep_values = keep_values
        longest_first = sorted(dict.fromkeys(secrets), key=len, reverse=True)[:_MAX_SECRETS]
        self._secret = re.compile("|".join(map(re.escape, [*longest_first, BLANK])))
        self._known: set[str] = set()
        self._marks: Marks = {}
        self._case = ""
        self._index = 0
        self.notes: dict[str, None] = {}

    def described(self, index: int, spoken: Spoken, marks: Marks, case: str) -> Any:
        """The message at this index of a case, as it stands in the contract."""
        self._marks, self._case, self._index = marks, case, index
        if spoken.direction == "out":
            return self._heard_message(spoken.message, spoken.others)
        if isinstance(spoken.message, list):
            return [
                self._sent_message(message, _at(spoken.others, part), (part,))
                for part, message in enumerate(spoken.message)
            ]
        return self._sent_message(spoken.message, spoken.others, ())

    # What the client says

    def _sent_message(self, message: Message, others: tuple[Message, ...], lead: Steps) -> Message:
        said = {}
        for name, inner in message.items():
            steps = (*lead, name)
            if name in _ENVELOPE and (self._index, steps) not in self._marks:
                said[name] = _mended(inner)
            else:
                said[self._writable(name)] = self._sent(inner, _at(others, name), steps, name)
        return said

    def _sent(self, value: Any, others: tuple[Any, ...], steps: Steps, key: str) -> Any:
        mark = self._marks.get((self._index, steps))
        if mark is not None:
            return mark
        if is_secret(key, value) and SCHEMA_KEYS.isdisjoint(steps):
            self._tell(steps, f'holds a secret, and "{REDACTED}" is sent in its place')
            return _blanked(value)
        if isinstance(value, dict):
            return {
                self._writable(name): self._sent(inner, _at(others, name), (*steps, name), name)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [
                self._sent(inner, _at(others, index), (*steps, index), key)
                for index, inner in enumerate(value)
            ]
        return self._sent_scalar(value, others, steps, key)

    def _sent_scalar(self, value: Any, others: tuple[Any, ...], steps: Steps, key: str) -> Any:
        if key not in _CHOSEN_BY_CLIENT and not all(equal(value, other) for other in others):
            self._tell(steps, "differs between the recordings; the first one's is sent")
        if isinstance(value, str):
            self._known.add(value)
            self._known.update(value[start:end] for start, end, _ in spans_in(key, value))
            return self._writable(value, steps)
        self._known.add(str(value))
        return value

    def _writable(self, text: str, steps: Steps = ()) -> str:
        """Text that a file can hold and that holds no secret."""
        if BLANK in text:
            self._tell(steps, f"holds {BLANK}, a secret that was blanked when it was recorded")
        text = self.without_secrets(text)
        if HALF_CHARACTER.search(text):
            self._tell(steps, "holds half a character, which cannot be written")
        return str(_mended(text))

    def without_secrets(self, text: str) -> str:
        """Text of our own, with nothing secret in it that was recorded."""
        return self._secret.sub(lambda found: _kept_blank(found[0]), text)

    def _tell(self, steps: Steps, what: str) -> None:
        place = visible(shorten(render_path(steps), 100))
        self.notes[f"{self._case}: {place} {what}"] = None

    # What the server says

    def _heard_message(self, message: Message, others: tuple[Message, ...]) -> Message:
        said = {}
        for name, inner in message.items():
            if name == "jsonrpc" and inner != "2.0":
                # A contract cannot ask for another one.
                continue
            if name in _ENVELOPE and (self._index, (name,)) not in self._marks:
                said[name] = _mended(inner)
            elif not _is_surplus(message, name) and not self._is_unwritable(name):
                said[name] = self._heard(inner, _at(others, name), (name,), name)
        return said

    def _heard(self, value: Any, others: tuple[Any, ...], steps: Steps, key: str) -> Any:
        place = (self._index, steps)
        if place in self._marks:
            mark = self._marks[place]
            return value if mark is None else mark
        is_schema = not SCHEMA_KEYS.isdisjoint(steps)
        if is_secret(key, value) and not is_schema:
            return ANY
        if any(json_type(other) != json_type(value) for other in others):
            return ANY
        if isinstance(value, dict):
            return {
                name: self._heard(inner, _at(others, name), (*steps, name), name)
                for name, inner in value.items()
                if not self._is_unwritable(name) and all(name in other for other in others)
            }
        if isinstance(value, list):
            if any(len(other) != len(value) for other in others):
                return Tag(name="type", text="array")
            return [
                self._heard(inner, _at(others, index), (*steps, index), key)
                for index, inner in enumerate(value)
            ]
        is_constant = is_schema or key in CONSTANT_KEYS
        return self._heard_scalar(value, others, key, is_constant=is_constant)

    def _heard_scalar(
        self, value: Any, others: tuple[Any, ...], key: str, *, is_constant: bool
    ) -> Any:
        tag = self._look(key, value, is_literal=is_constant or self._keep_values)
        if not all(equal(value, other) for other in others):
            is_precise = tag is not None and all(map(tag.is_met, others))
            return tag if is_precise else Tag(name="type", text=json_type(value))
        if tag is None and isinstance(value, str) and HALF_CHARACTER.search(value):
            return TEXT
        return value if tag is None else tag

    def _look(self, key: str, value: Any, *, is_literal: bool) -> Tag | None:
        hidden: list[Span] = []
        if isinstance(value, str):
            hidden = [(*found.span(), r"[\s\S]+") for found in self._secret.finditer(value)]
        if not hidden:
            return None if is_literal else look_of(key, value, self._known)
        varying = [] if is_literal else spans_in(key, value, self._known)
        spans = without_overlaps([*hidden, *varying])
        # Half a secret would be left over where one overlaps with something else.
        return described_text(value, spans) if set(hidden) <= set(spans) else TEXT

    def _is_unwritable(self, name: str) -> bool:
        """Whether a key is better not written; what is not written is not checked."""
        return bool(HALF_CHARACTER.search(name) or self._secret.search(name))


def _at(values: tuple[Any, ...], step: str | int) -> tuple[Any, ...]:
    """What stands at a step in each of the values, where there is something."""
    found = []
    for value in values:
        is_member = isinstance(value, dict) and step in value
        is_item = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if is_member or is_item:
            found.append(value[step])
    return tuple(found)


def _is_surplus(message: Message, name: str) -> bool:
    """Whether an answer has both a result and an error, and this is the one to leave out."""
    if "result" not in message or "error" not in message:
        return False
    return name == ("error" if message["error"] is None else "result")


def _mended(value: Any) -> Any:
    """A text without halves of characters, which no file can hold; anything else as it is."""
    return HALF_CHARACTER.sub("\ufffd", value) if isinstance(value, str) else value


def _kept_blank(text: str) -> str:
    return text if text == BLANK else REDACTED


def _blanked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _blanked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_blanked(inner) for inner in value]
    return value if value is None or isinstance(value, bool) else REDACTED
