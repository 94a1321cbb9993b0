"""Turn recorded messages into what a contract says: literal, but for what varies or is secret.

What the server says is described: a value that varies becomes a tag, and a secret any value.
What the client says is said again, so only names that were bound, and what stands in the place
of a secret, differ from what was recorded.
"""

from __future__ import annotations

from mcptest.core.secrets import BLANK, REDACTED, is_secret, members_of
from mcptest.core.text import render_path, shorten, visible
from mcptest.matching.values import is_equal, json_type
from mcptest.traffic.looks import CONSTANT_KEYS, SCHEMA_KEYS, look_of
from mcptest.traffic.tag import ANY, HALF_CHARACTER, Tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.traffic.ids import Marks
    from mcptest.traffic.recording import Message, Spoken, Steps
    from mcptest.traffic.texts import TextDescriber

__all__ = ["Describer"]

# Of a message, what is about the message itself.
_ENVELOPE = ("jsonrpc", "id", "method")
# Differ from recording to recording, and mean nothing: the client chooses them.
_CHOSEN_BY_CLIENT = frozenset(["progressToken", "requestId"])
_SENT = "holds a secret; a made-up text is sent in its place"
_SENT_INSIDE = (
    f'holds a secret inside a longer text; "{REDACTED}" is sent in its place, and the case will '
    "not play as recorded"
)
_HEARD = "holds a secret, which is left out and not checked"


class Describer:
    """Describes one message after the other, and keeps what the client has said so far."""

    def __init__(self, texts: TextDescriber, *, keep_values: bool = False) -> None:
        self._texts = texts
        self._keep_values = keep_values
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
                said[self._writable(name, lead)] = self._sent(inner, _at(others, name), steps, name)
        return said

    def _sent(self, value: Any, others: tuple[Any, ...], steps: Steps, key: str) -> Any:
        mark = self._marks.get((self._index, steps))
        if mark is not None:
            return mark
        if is_secret(key, value) and SCHEMA_KEYS.isdisjoint(steps):
            self._tell(steps, _SENT)
            return _blanked(value)
        if isinstance(value, dict):
            return {
                self._writable(str(step), steps): self._sent(
                    inner, _at(others, step), (*steps, step), name
                )
                for step, name, inner in members_of(value, key)
            }
        if isinstance(value, list):
            return [
                self._sent(inner, _at(others, step), (*steps, step), name)
                for step, name, inner in members_of(value, key)
            ]
        return self._sent_scalar(value, others, steps, key)

    def _sent_scalar(self, value: Any, others: tuple[Any, ...], steps: Steps, key: str) -> Any:
        if key not in _CHOSEN_BY_CLIENT and not all(is_equal(value, other) for other in others):
            self._tell(steps, "differs between the recordings; the first one's is sent")
        if isinstance(value, str):
            self._texts.know(value, key)
            is_prose = key in CONSTANT_KEYS or not SCHEMA_KEYS.isdisjoint(steps)
            if value != BLANK and self._is_all_hidden(value, is_prose=is_prose):
                self._tell(steps, _SENT)
                return ANY
            return self._writable(value, steps, is_prose=is_prose)
        if self._is_all_hidden(str(value)):
            self._tell(steps, _SENT)
            return ANY
        self._texts.know(str(value))
        return value

    def _is_all_hidden(self, text: str, *, is_prose: bool = False) -> bool:
        return self._texts.hidden_in(text, is_prose=is_prose) == [(0, len(text))]

    def _writable(self, text: str, steps: Steps, *, is_prose: bool = True) -> str:
        """Text that a file can hold and that holds no secret."""
        if BLANK in text:
            self._tell(steps, f"holds {BLANK}, a secret that was blanked when it was recorded")
        recorded, text = text, self._texts.redacted(text, is_prose=is_prose)
        if text != recorded:
            self._tell(steps, _SENT_INSIDE)
        if HALF_CHARACTER.search(text):
            self._tell(steps, "holds half a character, which cannot be written")
        return str(_mended(text))

    def _tell(self, steps: Steps, what: str) -> None:
        named = [
            self._texts.redacted(str(each)) if isinstance(each, str) else each for each in steps
        ]
        place = visible(shorten(render_path(named), 100))
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
            elif not _is_surplus(message, name) and not self._texts.is_unwritable(name):
                said[name] = self._heard(inner, _at(others, name), (name,), name)
        return said

    def _heard(self, value: Any, others: tuple[Any, ...], steps: Steps, key: str) -> Any:
        place = (self._index, steps)
        if place in self._marks:
            mark = self._marks[place]
            return value if mark is None else mark
        is_schema = not SCHEMA_KEYS.isdisjoint(steps)
        if is_secret(key, value) and not is_schema:
            self._tell(steps, _HEARD)
            return ANY
        if others and any(json_type(other) != json_type(value) for other in others):
            return ANY
        if isinstance(value, dict):
            return {
                step: self._heard(inner, _at(others, step), (*steps, step), name)
                for step, name, inner in members_of(value, key)
                if not self._is_left_out(str(step), steps)
                and (not others or all(step in other for other in others))
            }
        if isinstance(value, list):
            if any(len(other) != len(value) for other in others):
                return Tag(name="type", text="array")
            return [
                self._heard(inner, _at(others, step), (*steps, step), name)
                for step, name, inner in members_of(value, key)
            ]
        return self._heard_scalar(value, others, steps, key)

    def _is_left_out(self, name: str, steps: Steps) -> bool:
        """Whether a key is not written; that it holds a secret is told."""
        if not self._texts.is_unwritable(name):
            return False
        if self._texts.has_secret(name, is_prose=True):
            self._tell(steps, "has a secret for a key, and is checked without it")
        return True

    def _heard_scalar(self, value: Any, others: tuple[Any, ...], steps: Steps, key: str) -> Any:
        is_schema = not SCHEMA_KEYS.isdisjoint(steps)
        if isinstance(value, str):
            if self._texts.has_secret(value, is_prose=is_schema or key in CONSTANT_KEYS):
                self._tell(steps, _HEARD)
            return self._texts.described(value, others, key, is_schema=is_schema)
        is_literal = is_schema or key in CONSTANT_KEYS or self._keep_values
        if self._is_all_hidden(str(value)):
            self._tell(steps, _HEARD)
            return ANY
        tag = None if is_literal else look_of(key, value, self._texts.known)
        if not all(is_equal(value, other) for other in others):
            return tag or Tag(name="type", text=json_type(value))
        return value if tag is None else tag


def _at(values: tuple[Any, ...], step: str | int) -> tuple[Any, ...]:
    """What stands at a step in each of the values, where there is something."""
    if not values:
        return ()
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


def _blanked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _blanked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_blanked(inner) for inner in value]
    return value if value is None or isinstance(value, bool) else ANY
