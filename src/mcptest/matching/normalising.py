"""Make a value the same in every run: what varies by nature gives way to a placeholder.

A JSON value goes in and another comes out. Ids that are equal get equal numbers
(`<uuid-1>`, `<uuid-2>`), so that what belongs together still does; they are counted in the
order in which they stand in the result, where the keys of every object are sorted. Times
get no number: whether two of them are equal is chance.
"""

from __future__ import annotations

from mcptest.core.paths import EVERY
from mcptest.core.record import Record
from mcptest.matching.placeholders import number_in_place_of, spans_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from mcptest.matching.regex_form import Expression

    Steps = tuple[str | int, ...]

__all__ = ["IGNORED", "Replacement", "Rules", "normalised", "without"]

IGNORED = "<ignored>"


class Replacement(Record):
    """What an author knows to vary in texts, and what stands in its place."""

    expression: Expression
    text: str

    def applied(self, text: str) -> str:
        return self.expression.compiled.sub(self._shown, text)

    def _shown(self, found: re.Match[str]) -> str:
        # Where nothing was matched, nothing is put.
        return self.text if found[0] else ""


class Rules(Record):
    """What an author says of one value, beside what is known of all.

    `ignored` are paths into the value: a member is left out, an element gives way.
    """

    ignored: tuple[Steps, ...] = ()
    replaced: tuple[Replacement, ...] = ()


def normalised(value: object, rules: Rules) -> object:
    """The value without what is ignored, and with placeholders for what varies."""
    return _Scribe(rules.replaced).value(without(value, rules.ignored), "")


def without(value: object, ignored: Iterable[Steps]) -> object:
    """The value without what stands at these places; it is copied as far as they reach."""
    for steps in ignored:
        value = _without(value, steps)
    return value


def _without(value: object, steps: Steps) -> object:
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        named = value if step is EVERY else [step] if step in value else []
        if not rest:
            return {key: inner for key, inner in value.items() if key not in named}
        return value | {key: _without(value[key], rest) for key in named}
    if isinstance(value, list):
        copy = list(value)
        for index in _indexes(step, len(value)):
            copy[index] = _without(value[index], rest) if rest else IGNORED
        return copy
    return value


def _indexes(step: str | int, count: int) -> Iterable[int]:
    if step is EVERY:
        return range(count)
    is_index = isinstance(step, int) or (step.isdecimal() and step.isascii() and len(step) < 10)
    return [int(step)] if is_index and int(step) < count else []


class _Scribe:
    """Writes one value down, and remembers which originals have which numbers."""

    def __init__(self, replaced: tuple[Replacement, ...]) -> None:
        self._replaced = replaced
        self._numbers: dict[str, dict[str, int]] = {}

    def value(self, value: object, key: str) -> object:
        if isinstance(value, str):
            return self._text(self._with_replacements(value), key)
        if isinstance(value, dict):
            return self._mapping(value)
        if isinstance(value, list):
            return [self.value(inner, key) for inner in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return number_in_place_of(value, key) or value
        return value

    def _mapping(self, mapping: dict[str, object]) -> dict[str, object]:
        """Sorted, for objects have no order; keys that vary come last, as they came."""
        varying = [key for key in mapping if spans_in(key)]
        written: dict[str, object] = {}
        for key in (*sorted(mapping.keys() - {*varying}), *varying):
            name = self._text(key, "")
            # Two keys may look the same now, and neither may get lost.
            if name in written or (name != key and name in mapping):
                name = key
            written[name] = self.value(mapping[key], key)
        return written

    def _with_replacements(self, text: str) -> str:
        for each in self._replaced:
            text = each.applied(text)
        return text if text.isascii() else _with_whole_pairs(text)

    def _text(self, text: str, key: str) -> str:
        spans = spans_in(text, key)
        if not spans:
            return text
        pieces: list[str] = []
        at = 0
        for start, end, shown in spans:
            pieces += (text[at:start], self._placeholder(shown, text[start:end]))
            at = end
        return "".join(pieces) + text[at:]

    def _placeholder(self, shown: str, original: str) -> str:
        if shown.startswith("<"):
            return shown
        numbers = self._numbers.setdefault(shown, {})
        known = original.lower() if shown == "uuid" else original
        return f"<{shown}-{numbers.setdefault(known, len(numbers) + 1)}>"


def _with_whole_pairs(text: str) -> str:
    """Two halves of a surrogate pair that have come together are one character in a file."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text
