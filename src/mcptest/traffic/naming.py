"""Names that say what happens: of cases, of the keys in them, and of values that get one."""

from __future__ import annotations

import re
from collections import Counter

from mcptest.core.jsonrpc import message_kind
from mcptest.core.secrets import split_words
from mcptest.core.text import shorten, visible
from mcptest.traffic.recording import parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.traffic.passages import Passage
    from mcptest.traffic.recording import Message, Spoken

__all__ = ["Names", "case_name", "keys_of", "method_of", "target_of", "word_of"]

_MAX_NAME = 100
_MAX_TARGET = 60
_MAX_WORD = 40


class Names:
    """Names that are all different: the second of its kind gets a number."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def unique(self, name: str, form: str = "{name}_{number}") -> str:
        """The name, or the name with the next number."""
        number = self._last.get(name, 1)
        told = name
        while told in self._taken:
            number += 1
            told = form.format(name=name, number=number)
        self._last[name] = number
        self._taken.add(told)
        return told


def method_of(message: Message) -> str:
    """The method of a message, "" where it has none."""
    method = message.get("method")
    return method if isinstance(method, str) else ""


def target_of(message: Message) -> str:
    """What a request is about: the name of a tool or a prompt, the address of a resource."""
    params = message.get("params")
    if not isinstance(params, dict):
        return ""
    named = (params.get("name"), params.get("uri"))
    return next((each for each in named if isinstance(each, str)), "")


def case_name(passage: Passage) -> str:
    """What happens in a passage, by the requests that the client makes."""
    said = [
        part
        for spoken in passage.messages
        if spoken.direction == "in"
        for part in parts_of(spoken.message)
    ]
    asked = [part for part in said if message_kind(part) == "request"]
    told = [_title(message) for message in asked or said[:1]]
    if not told:
        first = parts_of(passage.messages[0].message)[0]
        return f"the server begins with {_title(first)}"
    more = f" and {len(told) - 2} more" if len(told) > 2 else ""
    return shorten(" and ".join(told[:2]) + more, _MAX_NAME)


def _title(message: Message) -> str:
    method = visible(shorten(method_of(message) or "a message", _MAX_TARGET))
    target = visible(shorten(target_of(message), _MAX_TARGET))
    return f"{method} {target}".strip()


def keys_of(messages: tuple[Spoken, ...]) -> list[str]:
    """The keys of a case's messages: `in` and `out`, or more where one does not do."""
    names = Names()
    counts = Counter(spoken.direction for spoken in messages)
    return [
        names.unique(
            spoken.direction
            if counts[spoken.direction] == 1
            else f"{spoken.direction}_{_what_it_is(spoken)}"
        )
        for spoken in messages
    ]


def _what_it_is(spoken: Spoken) -> str:
    """A word for a message: the last one of its method, or that it is an answer."""
    if isinstance(spoken.message, list):
        return "batch"
    method = method_of(spoken.message)
    if not method:
        return "error" if "error" in spoken.message else "answer"
    return word_of(method.rpartition("/")[2])


def word_of(text: str) -> str:
    """A word that may stand in a key or be a name: letters, digits and _."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", "_".join(split_words(text))).strip("_")
    words = words[:_MAX_WORD].strip("_")
    return words if words and not words[0].isdigit() else f"value_{words}".strip("_")
