"""JSON objects whose keys and types are declared.

`check_object` holds an object against its declared keys and refuses any other key. `JsonObject`
reads an object key by key and ignores the keys that are not asked for, so that a format may grow.
The message is left to the caller, who knows what the value is called: a param, a key, an argument.
"""

from __future__ import annotations

from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal, TypeVar

    Problem = Literal["type", "choice", "missing", "unknown"]
    Word = TypeVar("Word", bound=str)
    Value = TypeVar("Value")

__all__ = ["STRING", "JsonObject", "Key", "TypedJsonError", "check_object", "check_value"]

_WORDS: dict[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}


class Key(Record):
    """What the value of one key must be. The type float accepts integers as well."""

    type: type
    required: bool = True
    # The only strings that are accepted, if not all are.
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    # Says what is expected where the words for the type do not.
    words: str = ""

    @property
    def expected(self) -> str:
        return self.words or _WORDS[self.type]


class TypedJsonError(ValueError):
    """A value that is not what is declared.

    `path` leads to the value; for "missing" and "unknown" it leads to the object, and `name` is
    the key. `expected` is in words, or for "choice" the list of choices.
    """

    def __init__(
        self, problem: Problem, path: str, expected: str, actual: object = None, *, name: str = ""
    ) -> None:
        super().__init__(f"{path or name}: {problem}: expected {expected}")
        self.problem = problem
        self.path = path
        self.expected = expected
        self.actual = actual
        self.name = name


STRING = Key(type=str)
_OBJECT = Key(type=dict)
_LIST = Key(type=list)
_FLAG = Key(type=bool)
_COUNT = Key(type=int, minimum=0, words="a whole number from 0")
_NUMBER = Key(type=float, minimum=0, words="a number from 0")
_MILLISECONDS = Key(type=float, minimum=0, words="a number of milliseconds")


def check_value(value: object, key: Key, path: str) -> None:
    """Raise a `TypedJsonError` unless the value is what the key declares."""
    number: Any = value
    is_right = isinstance(value, (int, float) if key.type is float else key.type)
    # In JSON true is not a number, but bool is a subclass of int.
    is_right = is_right and (key.type is bool or not isinstance(value, bool))
    if is_right and key.minimum is not None:
        is_right = number >= key.minimum
    if is_right and key.type is float:
        try:
            float(number)
        except OverflowError:
            is_right = False
    if not is_right:
        raise TypedJsonError("type", path, key.expected, value)
    if key.choices and value not in key.choices:
        raise TypedJsonError("choice", path, ", ".join(key.choices), value)


def check_object(value: object, keys: Mapping[str, Key], path: str = "") -> dict[str, Any]:
    """The object, if it has the declared keys and no others."""
    members = JsonObject(value, path).members
    for name in members:
        if name not in keys:
            raise TypedJsonError("unknown", path, ", ".join(keys), name=name)
    for name, key in keys.items():
        if name in members:
            check_value(members[name], key, _join(path, name))
        elif key.required:
            raise TypedJsonError("missing", path, key.expected, name=name)
    return members


class JsonObject:
    """An object and the path that leads to it. Without a default a key is required."""

    def __init__(self, value: object, path: str = "") -> None:
        check_value(value, _OBJECT, path)
        assert isinstance(value, dict)
        self.members: dict[str, Any] = value
        self._path = path

    def has(self, name: str) -> bool:
        """Whether the key exists and is not null."""
        return self.members.get(name) is not None

    def string(self, name: str, default: str | None = None) -> str:
        return str(self._read(name, STRING, default))

    def choice(self, name: str, known: Sequence[Word], default: str | None = None) -> Word:
        value: Word = self._read(name, Key(type=str, choices=tuple(known)), default)
        return value

    def count(self, name: str, default: int | None = None) -> int:
        return int(self._read(name, _COUNT, default))

    def number(self, name: str) -> float:
        return float(self._read(name, _NUMBER, None))

    def seconds(self, name: str) -> float:
        """A duration that is written in milliseconds."""
        return float(self._read(name, _MILLISECONDS, None)) / 1000

    def flag(self, name: str, *, default: bool) -> bool:
        return bool(self._read(name, _FLAG, default))

    def strings(self, name: str) -> tuple[str, ...]:
        return self._items(name, STRING)

    def counts(self, name: str) -> tuple[int, ...]:
        return self._items(name, _COUNT)

    def numbers(self, name: str) -> tuple[float, ...]:
        return tuple(map(float, self._items(name, _NUMBER)))

    def inner(self, name: str) -> JsonObject:
        return JsonObject(self._read(name, _OBJECT, None), _join(self._path, name))

    def objects(
        self, name: str, read: Callable[[JsonObject], Value], *, required: bool = False
    ) -> tuple[Value, ...]:
        """What `read` returns for each object of a list; an optional list may be missing."""
        items = self._read(name, _LIST, None if required else [])
        path = _join(self._path, name)
        return tuple(read(JsonObject(item, f"{path}[{at}]")) for at, item in enumerate(items))

    def _items(self, name: str, key: Key) -> tuple[Any, ...]:
        items = self._read(name, _LIST, [])
        path = _join(self._path, name)
        for at, item in enumerate(items):
            check_value(item, key, f"{path}[{at}]")
        return tuple(items)

    def _read(self, name: str, key: Key, default: Any) -> Any:
        if name not in self.members:
            if default is None:
                raise TypedJsonError("missing", self._path, key.expected, name=name)
            return default
        value = self.members[name]
        check_value(value, key, _join(self._path, name))
        return value


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
