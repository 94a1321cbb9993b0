"""Take a JSON value apart by what it must hold, and say in words where it holds something else.

Values go in, values of a known type come out, or `SavedPartError`. Members that nobody asks for
are passed over: a report may grow.
"""

from __future__ import annotations

from mcptest.core.text import shorten, show_json, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    Word = TypeVar("Word", bound=str)

__all__ = ["SavedPart", "SavedPartError"]

_SHOWN_CHARS = 80


class SavedPartError(ValueError):
    """A value that is not what belongs there; `code` is that of the diagnostic."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class SavedPart:
    """One object of a report, and the path that leads to it."""

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, dict):
            raise _wrong(path or "the report", "an object", value)
        self.members: dict[str, object] = value
        self._path = path

    def has(self, name: str) -> bool:
        """Whether there is something under this name; null is nothing."""
        return self.members.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        value = self._value(name, default)
        if not isinstance(value, str):
            raise _wrong(self._at(name), "a text", value)
        return value

    def word(self, name: str, known: Sequence[Word], default: str | None = None) -> Word:
        value = self.text(name, default)
        for word in known:
            if word == value:
                return word
        seen = visible(shorten(value, _SHOWN_CHARS))
        message = f'{self._at(name)} is "{seen}"; there are: {", ".join(known)}'
        raise SavedPartError("F009", message)

    def count(self, name: str, default: int | None = None) -> int:
        return _a_count(self._at(name), self._value(name, default))

    def counts(self, name: str) -> tuple[int, ...]:
        items = enumerate(self._items(name))
        return tuple(_a_count(f"{self._at(name)}[{number}]", item) for number, item in items)

    def milliseconds(self, name: str) -> float:
        """A duration, in seconds."""
        value = self._value(name, None)
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise _wrong(self._at(name), "a number of milliseconds", value)
        try:
            return value / 1000
        except OverflowError:
            raise _wrong(self._at(name), "a number of milliseconds", value) from None

    def number(self, name: str) -> float:
        return _a_number(self._at(name), self._value(name, None))

    def numbers(self, name: str) -> tuple[float, ...]:
        items = enumerate(self._items(name))
        return tuple(_a_number(f"{self._at(name)}[{number}]", item) for number, item in items)

    def flag(self, name: str, default: bool) -> bool:
        value = self._value(name, default)
        if not isinstance(value, bool):
            raise _wrong(self._at(name), "true or false", value)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        items = self._items(name)
        for number, item in enumerate(items):
            if not isinstance(item, str):
                raise _wrong(f"{self._at(name)}[{number}]", "a text", item)
        return tuple(map(str, items))

    def lists(self) -> dict[str, tuple[str, ...]]:
        """All members, each a list of texts."""
        return {name: self.texts(name) for name in self.members}

    def part(self, name: str) -> SavedPart:
        return SavedPart(self._value(name, None), self._at(name))

    def parts(self, name: str, *, is_needed: bool = False) -> list[SavedPart]:
        if is_needed:
            self._value(name, None)
        items = enumerate(self._items(name))
        return [SavedPart(item, f"{self._at(name)}[{number}]") for number, item in items]

    def _items(self, name: str) -> list[object]:
        value = self.members.get(name, [])
        if not isinstance(value, list):
            raise _wrong(self._at(name), "a list", value)
        return value

    def _value(self, name: str, default: object) -> object:
        if name in self.members:
            return self.members[name]
        if default is None:
            where = self._path or "a report"
            raise SavedPartError("F007", f'{where} needs the key "{name}"')
        return default

    def _at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name


def _a_count(where: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _wrong(where, "a whole number from 0", value)
    return value


def _a_number(where: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise _wrong(where, "a number from 0", value)
    try:
        return float(value)
    except OverflowError:
        raise _wrong(where, "a number from 0", value) from None


def _wrong(where: str, wanted: str, value: object) -> SavedPartError:
    return SavedPartError("F008", f"{where} must be {wanted}, not {show_json(value, _SHOWN_CHARS)}")
