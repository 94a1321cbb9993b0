"""Frozen value classes that cost nothing to import.

`dataclasses` imports `inspect` and compiles every class with `exec`, which takes longer than all
of this package (docs/decisions/0001-start-up.md has the figures). A `Record` has the part of it
that is used here: named fields, keyword-only construction, equality by type and value, and no
assignment afterwards. Type checkers see a frozen dataclass.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_options):
        return lambda cls: cls


__all__ = ["ABSENT", "Record"]


class _Absent:
    """The type of `ABSENT`, which marks a missing JSON value; null is a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        # Unpickles to the one instance of this module.
        return "ABSENT"


ABSENT = _Absent()


class _RecordType(type):
    """Turns the annotations of a class body into fields, defaults and a signature."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _RecordType:
        own = tuple(field for field in body.get("__annotations__", {}) if field[0] != "_")
        cls = super().__new__(mcs, name, bases, body)
        inherited = getattr(cls, "_fields", ())
        cls._fields = (*inherited, *own)
        # A default is an attribute of the class, used if the field is not given.
        cls._required = frozenset(field for field in cls._fields if not hasattr(cls, field))
        cls._accepted = set()
        return cls

    _fields: tuple[str, ...]
    _required: frozenset[str]
    _accepted: set[tuple[str, ...]]


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record(metaclass=_RecordType):
    """A value: fields by keyword, compared by type and content, never changed."""

    def __init__(self, **given: Any) -> None:
        # Each combination of names is checked once.
        if (*given,) not in type(self)._accepted:
            _check(type(self), given)
        # Bypasses `__setattr__`, which makes the record immutable.
        _fill(self, given)

    @classmethod
    def made_of(cls, given: dict[str, Any]) -> Self:
        """The record with these fields; it takes over the dict.

        A third of the cost of a call with keywords, for records that are made for every test.
        Names are not checked here: tests/unit/core/test_record.py reads every call.
        """
        self = object.__new__(cls)
        _fill(self, given)
        return self

    def fields(self) -> list[tuple[str, Any]]:
        """Names and values, in the order they were declared."""
        return [(field, getattr(self, field)) for field in type(self)._fields]

    def but(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return type(self)(**(dict(self.fields()) | changes))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), dict(self.fields()))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, field) == getattr(other, field) for field in type(self)._fields)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, field) for field in type(self)._fields)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{field}={getattr(self, field)!r}" for field in type(self)._fields)
        return f"{type(self).__name__}({shown})"


def _rebuilt(cls: type[Record], fields: dict[str, Any]) -> Record:
    return cls(**fields)


def _check(cls: type[Record], given: dict[str, Any]) -> None:
    missing = [field for field in cls._fields if field in cls._required and field not in given]
    if missing:
        raise TypeError(f"{cls.__name__} needs {missing[0]!r}")
    surplus = sorted(given.keys() - set(cls._fields))
    if surplus:
        raise TypeError(f"{cls.__name__} has no field {surplus[0]!r}")
    cls._accepted.add(tuple(given))


_fill = Record.__dict__["__dict__"].__set__
