"""Values that will be others next time, wherever they stand in what the server says.

A note's id is bound where it stands alone. "Added caf2bc7d" must not ask for the old one.
"""

from __future__ import annotations

import re

from mcptest.traffic.shapes import expression_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from typing import Any

    from mcptest.traffic.ids import Marks
    from mcptest.traffic.passages import Passage
    from mcptest.traffic.recording import Steps
    from mcptest.traffic.tag import Span

__all__ = ["Varying", "has_digit", "is_random"]

# Shorter ones might be a part of anything.
_LEAST_CHARS = 4
# What nobody used again must look more like it.
_LEAST_CHARS_BY_LOOK = 8

_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile("[0-9]")


class Varying:
    """Texts that vary, and what may stand in their place inside longer texts."""

    def __init__(self) -> None:
        self._expressions: dict[str, str] = {}
        # By one of its words, so that a text is looked through once for all of them.
        self._by_word: dict[str, list[tuple[str, int]]] = {}

    def add_bound(self, passage: Passage, marks: Marks) -> None:
        """Every value of a passage that is bound to a name, in all recordings."""
        for (index, steps), tag in marks.items():
            if tag is not None and tag.name == "bind":
                spoken = passage.messages[index]
                found = [_value_at(each, steps) for each in (spoken.message, *spoken.others)]
                texts = [str(each) for each in found if type(each) in (str, int)]
                if texts and all(len(text) >= _LEAST_CHARS for text in texts):
                    self._add(texts, expression_for(texts))

    def add_seen(self, text: str, expression: str) -> None:
        """A text that varies by its look, and is known only by the key it stood under."""
        if len(text) >= _LEAST_CHARS_BY_LOOK and has_digit(text):
            self._add([text], expression)

    def _add(self, texts: list[str], expression: str) -> None:
        for text in texts:
            words = list(_WORD.finditer(text))
            if text in self._expressions or not words:
                continue
            self._expressions[text] = expression
            # The longest word with a digit is the one that fewest others share.
            word = max(words, key=lambda found: (has_digit(found[0]), len(found[0])))
            listed = self._by_word.setdefault(word[0], [])
            listed.append((text, word.start()))
            listed.sort(key=lambda each: len(each[0]), reverse=True)

    def __contains__(self, text: str) -> bool:
        """Whether this very text varies, and is no word."""
        return text in self._expressions and has_digit(text)

    def spans_in(
        self, text: str, known: Container[str] = (), *, are_words_kept: bool = False
    ) -> Iterator[Span]:
        """Where they stand in a text, and what may stand there."""
        if not self._by_word or self._by_word.keys().isdisjoint(_WORD.findall(text)):
            return
        done = 0
        for word in _WORD.finditer(text):
            for value, offset in self._by_word.get(word[0], ()):
                start = word.start() - offset
                is_kept = value in known or (are_words_kept and not has_digit(value))
                if start >= done and not is_kept and _stands_at(value, text, start):
                    done = start + len(value)
                    yield start, done, self._expressions[value]
                    break


def has_digit(text: str) -> bool:
    """Whether there is a digit in a text: words have none."""
    return _DIGIT.search(text) is not None


def is_random(text: str) -> bool:
    """Whether a text looks like the hexadecimal digits of something that nobody has chosen."""
    return (
        re.fullmatch("[0-9a-f]{8,}|[0-9A-F]{8,}", text) is not None
        and has_digit(text)
        and not text.isdigit()
    )


def _stands_at(value: str, text: str, start: int) -> bool:
    """Whether a value stands at a place of a text, and is not a part of a longer word there."""
    end = start + len(value)
    if not text.startswith(value, start):
        return False
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if value.isdigit() and (
        re.search(r"[0-9][.,]$", text[max(0, start - 2) : start])
        or re.match(r"[.,][0-9]", text[end : end + 2])
    ):
        return False
    return not _joins(before, value[0], value) and not _joins(value[-1], after, value)


def _joins(left: str, right: str, value: str) -> bool:
    """Whether two characters belong to one word. An id may stand before or behind a _."""
    if not (left.isalnum() or left == "_") or not (right.isalnum() or right == "_"):
        return False
    return not has_digit(value) or "_" not in (left, right)


def _value_at(message: Any, steps: Steps) -> Any:
    for step in steps:
        try:
            message = message[step]
        except (KeyError, IndexError, TypeError):
            return None
    return message
