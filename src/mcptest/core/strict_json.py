"""JSON as RFC 8259 has it, and nothing more; and objects whose keys and types are declared.

Python's `json` is lenient where a tester must not be: it takes NaN and
Infinity, turns 1e400 into infinity, lets the last of two equal keys win and
guesses encodings. Which `id` or `result` a server meant must never be a guess,
so all of that is refused here, with the reason and the place.

`check_object` holds an object against its declared keys and refuses any other key. `JsonObject`
reads an object key by key and ignores the keys that are not asked for, so that a format may grow.
The message is left to the caller, who knows what the value is called: a param, a key, an argument.
"""

from __future__ import annotations

import json
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]

from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal, NoReturn, TypeVar

    Problem = Literal["type", "choice", "missing", "unknown"]
    Word = TypeVar("Word", bound=str)
    Value = TypeVar("Value")

__all__ = [
    "MAX_DEPTH",
    "STRING",
    "BrokenStreamError",
    "JsonObject",
    "JsonStream",
    "Key",
    "NotJsonError",
    "TypedJsonError",
    "check_object",
    "check_value",
    "dump_json",
    "is_deeper_than",
    "parse_json",
]


MAX_DEPTH = 200


class NotJsonError(ValueError):
    """Text that is not strict JSON; `column` counts characters from 1, 0 when unknown."""

    def __init__(self, reason: str, column: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column


def parse_json(text: str, max_depth: int = MAX_DEPTH) -> object:
    """The value of a JSON text, or `NotJsonError` with the reason."""
    try:
        value = _decode(text)
    except json.JSONDecodeError as error:
        raise _explain(error) from None
    except RecursionError:
        raise NotJsonError(f"nested deeper than {max_depth} levels") from None
    except NotJsonError:
        raise
    except ValueError:
        # CPython refuses to convert integers of more than 4,300 digits.
        raise NotJsonError("a number with more digits than can be read (limit 4,300)") from None
    # Each level takes two brackets, so most messages are too short to be too deep.
    if len(text) > 2 * max_depth and _may_be_deep(text) and is_deeper_than(value, max_depth):
        raise NotJsonError(f"nested deeper than {max_depth} levels")
    return value


def _decode(text: str) -> object:
    # Nearly every message is one value without white space around it, and looking for white space
    # takes a third of the time of parsing.
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        end = -1
    return value if end == len(text) else _DECODER.decode(text)


def dump_json(value: object) -> str:
    """One line of compact JSON; characters that are not ASCII are not escaped."""
    if type(value) is str:
        # Half of all values are ids, keys and names.
        return encode_basestring(value)
    return "".join(_ENCODE(value, 0)) if _ENCODE else _ENCODER.encode(value)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotJsonError(f"the key {json.dumps(key)} occurs twice in one object")
            seen.add(key)
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise NotJsonError(f"{name} is not JSON")


def finite_float(digits: str) -> float:
    """The number with these digits; NotJsonError if it is too large for a float."""
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise NotJsonError(f"the number {digits[:40]} is too large")
    return number


def _explain(error: json.JSONDecodeError) -> NotJsonError:
    text, at = error.doc, error.pos
    if error.msg == "Extra data":
        return NotJsonError("something follows the end of the JSON value", at + 1)
    # Older versions of Python report the place after the comma.
    before = text[:at].rstrip()
    if text[at : at + 1] in ("]", "}") and before.endswith(","):
        return NotJsonError("a comma with nothing after it", len(before))
    if error.msg.startswith("Illegal trailing comma"):
        return NotJsonError("a comma with nothing after it", at + 1)
    # Some reasons end with "at": Python writes the place after them.
    reason = error.msg.removesuffix(" starting at").removesuffix(" at")
    return NotJsonError(reason[:1].lower() + reason[1:], at + 1)


def _may_be_deep(text: str) -> bool:
    """True if there are enough brackets: searching the text is faster than walking the value."""
    found = 0
    for bracket in "[{":
        at = text.find(bracket)
        while at >= 0:
            found += 1
            if found > MAX_DEPTH:
                return True
            at = text.find(bracket, at + 1)
    return False


def is_deeper_than(value: object, limit: int) -> bool:
    """True if a value has more levels of objects and arrays than this."""
    level = [value]
    for _ in range(limit):
        inner: list[object] = []
        for node in level:
            if isinstance(node, dict):
                inner += node.values()
            elif isinstance(node, list):
                inner += node
        level = inner
    return any(isinstance(node, (dict, list)) for node in level)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=finite_float
)
_SCAN = _DECODER.scan_once  # type: ignore[attr-defined]  # the stubs leave it out
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

# Made once: `encode` makes it for every value, which takes as long as a small message.
_ENCODE = c_make_encoder and c_make_encoder(
    None, _ENCODER.default, encode_basestring, None, ":", ",", False, False, False
)


# Long JSON texts, read piece by piece. Only the current value and a piece of text after it are in
# memory. Invalid JSON raises `BrokenStreamError` with the place.


_SPACE = " \t\n\r"

# A larger value is not part of a capture: it must be another kind of file.
_MAX_VALUE_CHARS = 512 * 1024 * 1024

# A mistake this close to the end of the text read so far may be the end itself: `nul`, `\\u12`.
_CUT_CHARS = 12

# How much of a number may follow what was read of it.
_NUMBER_CHARS = 3


class BrokenStreamError(ValueError):
    """Invalid JSON. Lines and columns count from 1."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


class JsonStream:
    """One JSON text. `read` returns the next piece of it, "" at the end."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._text = ""
        self._at = 0
        self._has_ended = False
        # The place where the text in memory begins.
        self._line, self._column = 1, 1
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=finite_float)

    def error(self, reason: str) -> BrokenStreamError:
        """An error at the current place."""
        return self._error_at(reason, self._at)

    def _error_at(self, reason: str, at: int) -> BrokenStreamError:
        lines = self._text.count("\n", 0, at)
        if lines:
            return BrokenStreamError(reason, self._line + lines, at - self._text.rfind("\n", 0, at))
        return BrokenStreamError(reason, self._line, self._column + at)

    def peek(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, char: str) -> None:
        """Skip this character, which must be next."""
        found = self.peek()
        if found != char:
            seen = f"not {json.dumps(found)}" if found else "and the file ends here"
            raise self.error(f"expected {json.dumps(char)}, {seen}")
        self._at += 1

    def takes(self, char: str) -> bool:
        """Skip this character if it is next."""
        if self.peek() != char:
            return False
        self._at += 1
        return True

    def value(self) -> object:
        """The next value."""
        if not self.peek():
            raise self.error("expected a value, and the file ends here")
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_cut = error.pos >= len(self._text) - _CUT_CHARS
                is_cut = is_cut or error.msg.startswith("Unterminated string")
                if not is_cut or not self._more():
                    raise self._error_at(error.msg[:1].lower() + error.msg[1:], error.pos) from None
            except RecursionError:
                raise self.error("nested too deep") from None
            except NotJsonError as error:
                raise self.error(error.reason) from None
            except ValueError:
                raise self.error("a number with more digits than can be read") from None
            else:
                # The end of what has been read may be in the middle of a number: `1.`, `2e-`.
                if end + _NUMBER_CHARS < len(self._text) or not self._more():
                    self._at = end
                    return value

    def _more(self) -> bool:
        """Read at least as much again as is in memory; False at the end."""
        if self._has_ended:
            return False
        wanted = len(self._text) - self._at
        if wanted > _MAX_VALUE_CHARS:
            raise self.error(f"a value of more than {_MAX_VALUE_CHARS:,} characters")
        pieces = []
        while wanted >= 0 and (piece := self._read()):
            pieces.append(piece)
            wanted -= len(piece)
        self._has_ended = wanted >= 0
        if not pieces:
            return False
        # What has been read is dropped.
        here = self._error_at("", self._at)
        self._line, self._column = here.line, here.column
        self._text, self._at = self._text[self._at :] + "".join(pieces), 0
        return True


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
