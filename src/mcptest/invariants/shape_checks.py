"""Hold a value against a shape of `shape_table`.

A shape is made into functions when it is first asked for, once for each revision.
"""

from __future__ import annotations

from functools import cache

from mcptest.core.text import render_trail, shorten
from mcptest.invariants.shape_table import SHAPES
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.text import Trail

    # Notes in a list what is wrong with a value at a place.
    Check = Callable[[Any, Trail, list[str]], None]
    Row = tuple[str, str]

__all__ = ["MAX_FAULTS", "faults_of", "is_whole", "rows_at", "told"]

# So many sentences about one message: a hostile one could have a million mistakes.
MAX_FAULTS = 20
_MAX_PATH = 120


def faults_of(shape: str, letter: str, value: object, path: Trail) -> list[str]:
    """What is wrong with a value that must have a shape, in a revision."""
    faults: list[str] = []
    _check_of(shape, letter)(value, path, faults)
    return faults[:MAX_FAULTS]


def told(path: Trail, wanted: str, seen: str) -> str:
    """The sentence about one mistake."""
    return f"{shorten(render_trail(path), _MAX_PATH)} must be {wanted} and is {seen}"


def is_whole(value: object) -> bool:
    """Whether a value is an integer; 3.0 is one too."""
    return type(value) is int or (type(value) is float and value.is_integer())


def rows_at(rows: tuple[str, ...], letter: str) -> Iterator[Row]:
    """The rows that a revision has, cut into their two parts."""
    for row in rows:
        text, _, letters = row.partition(" @")
        if not letters or letter in letters:
            name, _, type_ = text.rpartition(" ")
            yield name, type_


_BASIC: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": ("text", lambda value: type(value) is str),
    "integer": ("an integer", is_whole),
    "number": ("a number", lambda value: type(value) in (int, float)),
    "boolean": ("a boolean", lambda value: type(value) is bool),
    "object": ("an object", lambda value: type(value) is dict),
    "null": ("null", lambda value: value is None),
    "id": ("text or an integer", lambda value: type(value) is str or is_whole(value)),
    "any": ("anything", lambda _: True),
}


@cache
def _check_of(type_: str, letter: str) -> Check:
    if "|" in type_:
        return _either(type_.split("|"), letter)
    if type_ in _BASIC:
        return _simple(*_BASIC[type_])
    if type_[0] == "=":
        words = type_[1:].split(",")
        return _simple(_one_of(words), lambda value: type(value) is str and value in words)
    if type_[0] == "[":
        return _every("an array", list, enumerate, _check_of(type_[1:-1], letter))
    if type_[0] == "{":
        return _every("an object", dict, _named, _check_of(type_[1:-1], letter))
    if SHAPES[type_][0].startswith("by "):
        return _choice(SHAPES[type_], letter)
    return _members(type_, letter)


def _simple(wanted: str, test: Callable[[Any], bool]) -> Check:
    def check(value: Any, path: Trail, faults: list[str]) -> None:
        if not test(value):
            faults.append(told(path, wanted, shown(value)))

    return check


def _one_of(words: list[str]) -> str:
    quoted = [f'"{word}"' for word in words]
    return f"one of {', '.join(quoted)}" if len(quoted) > 1 else quoted[0]


def _named(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return iter(value.items())


def _every(
    wanted: str, kind: type, items: Callable[[Any], Iterator[tuple[Any, Any]]], inner: Check
) -> Check:
    def check(value: Any, path: Trail, faults: list[str]) -> None:
        if type(value) is not kind:
            faults.append(told(path, wanted, shown(value)))
            return
        for step, each in items(value):
            inner(each, (path, step), faults)
            if len(faults) >= MAX_FAULTS:
                return

    return check


def _either(types: list[str], letter: str) -> Check:
    """Either type; what is no array and not null is held against the first."""
    first, *others = types
    checks = {_OTHER_KINDS[other[0]]: _check_of(other, letter) for other in others}
    usual = _check_of(first, letter)

    def check(value: Any, path: Trail, faults: list[str]) -> None:
        checks.get(type(value), usual)(value, path, faults)

    return check


# What the second of two types can be: an array or null.
_OTHER_KINDS = {"[": list, "n": type(None)}


def _choice(rows: tuple[str, ...], letter: str) -> Check:
    member, _, usual = rows[0].removeprefix("by ").partition("=")
    checks = {word: _check_of(shape, letter) for word, shape in rows_at(rows[1:], letter)}
    wanted = _one_of(list(checks))

    def check(value: Any, path: Trail, faults: list[str]) -> None:
        if type(value) is not dict:
            faults.append(told(path, "an object", shown(value)))
            return
        word = value.get(member, usual)
        inner = checks.get(word) if type(word) is str else None
        if inner:
            inner(value, path, faults)
        else:
            seen = shown(word) if member in value else "missing"
            faults.append(told((path, member), wanted, seen))

    return check


def _members(shape: str, letter: str) -> Check:
    needed, optional, either = _sorted_rows(shape, letter)

    def check(value: Any, path: Trail, faults: list[str]) -> None:
        if type(value) is not dict:
            faults.append(told(path, "an object", shown(value)))
            return
        for name, wanted, inner in needed:
            if name in value:
                inner(value[name], (path, name), faults)
            else:
                faults.append(told((path, name), wanted, "missing"))
        for name, inner in optional:
            if name in value:
                inner(value[name], (path, name), faults)
        for names in either:
            if not any(type(value.get(name)) is str for name in names):
                faults.append(told(path, f"an object with text in {' or '.join(names)}", "not"))

    return check


def _sorted_rows(
    shape: str, letter: str
) -> tuple[list[tuple[str, str, Check]], list[tuple[str, Check]], list[list[str]]]:
    """The rows of a shape: members that must be there, that may be, and either of several."""
    needed, optional, either = [], [], []
    for name, type_ in _flat_rows(shape, letter):
        if "|" in name:
            either.append(name.split("|"))
        elif name[-1] == "?":
            optional.append((name[:-1], _check_of(type_, letter)))
        else:
            needed.append((name, _wanted(type_), _check_of(type_, letter)))
    return needed, optional, either


def _flat_rows(shape: str, letter: str) -> Iterator[Row]:
    for name, type_ in rows_at(SHAPES[shape], letter):
        if type_[0] == "+":
            yield from _flat_rows(type_[1:], letter)
        else:
            yield name, type_


def _wanted(type_: str) -> str:
    """What is said of a member that is missing."""
    if type_ in _BASIC:
        return _BASIC[type_][0]
    if "|" in type_:
        return " or ".join(map(_wanted, type_.split("|")))
    if type_[0] == "=":
        return _one_of(type_[1:].split(","))
    return "an array" if type_[0] == "[" else "an object"
