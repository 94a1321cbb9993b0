"""What a manifest offers: tools, resources and prompts with canned answers. Pure data."""

from __future__ import annotations

from mcptest.core.record import ABSENT, Record
from mcptest.formats.templates import filled, filled_texts
from mcptest.matching.compare import compare, pull

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    Kind = Literal["tool", "resource", "prompt"]

__all__ = ["CannedAnswer", "Manifest", "MissingArgumentError", "Offer"]


class MissingArgumentError(ValueError):
    """A template needs an argument that the call does not have."""


class CannedAnswer(Record):
    """One answer: `body` has a result or an error, with `${args.…}` where arguments are put.

    `as_is` are members of it that are sent as they are. It is given when the arguments have
    what `when` asks for.
    """

    body: dict[str, Any]
    as_is: Mapping[str, object]
    names: tuple[str, ...] = ()
    when: object = ABSENT

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments without which it cannot be given."""
        found = (name.split(".")[1] for name in self.names if "." in name)
        return tuple(dict.fromkeys(found))

    def filled(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """The body with the arguments of a call; MissingArgumentError names one it lacks."""
        values = {name: _argument(name, arguments) for name in self.names}
        ((outcome, members),) = self.body.items()
        put = {key: _filled_member(key, each, values) for key, each in members.items()}
        return {outcome: {**self.as_is, **put}}


def _argument(name: str, arguments: Mapping[str, object]) -> object:
    steps = tuple(name.split("."))[1:]
    value, _ = pull(arguments, steps)
    if value is ABSENT:
        raise MissingArgumentError(f"the argument {'.'.join(steps)} is missing")
    return value


def _filled_member(key: str, member: object, values: Mapping[str, object]) -> object:
    """A member of a result or an error. What content and messages say is text in any case."""
    if key == "message":
        return _text(member, values)
    if key == "content" and isinstance(member, list):
        return [filled_texts(item, values) for item in member]
    if key == "messages" and isinstance(member, list):
        return [_filled_message(message, values) for message in member]
    return filled(member, values)


def _text(text: object, values: Mapping[str, object]) -> object:
    texts = filled_texts({"text": text}, values)
    assert isinstance(texts, dict)
    return texts["text"]


def _filled_message(message: object, values: Mapping[str, object]) -> object:
    if not isinstance(message, dict):
        return message
    return message | {"content": filled_texts(message.get("content"), values)}


class Offer(Record):
    """A tool, resource or prompt, and what it answers.

    `entry` is what stands in the list of its kind; `check` says what is wrong with the
    arguments of a call, "" when nothing is.
    """

    kind: Kind
    name: str
    file: str
    line: int
    entry: dict[str, object]
    answers: tuple[CannedAnswer, ...]
    check: Callable[[Mapping[str, object]], str]

    def place(self) -> dict[str, object]:
        """Where it stands; it counts as a case."""
        return {"case": f"{self.kind} {self.name}", "file": self.file, "line": self.line}

    def answer_for(self, arguments: Mapping[str, object]) -> CannedAnswer | None:
        """The first answer that fits the arguments."""
        for answer in self.answers:
            if answer.when is ABSENT:
                return answer
            if next(compare(answer.when, arguments, leniency="objects"), None) is None:
                return answer
        return None


class Manifest(Record):
    """Everything that is offered; `kinds` are the capabilities, also of lists that are empty."""

    name: str
    version: str
    instructions: str
    kinds: tuple[str, ...]
    offers: tuple[Offer, ...]
