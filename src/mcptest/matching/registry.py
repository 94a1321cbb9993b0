"""Every matcher there is, in one place: name, parameters, check and description.

Documentation, suggestions and editor schemas are made from these entries, so a
matcher is added by adding one entry. A registry is built and passed down;
importing a module registers nothing.
"""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Literal

    Quantity = Literal["number", "length"]

__all__ = [
    "BadExpressionError",
    "BadSchemaError",
    "CannotHoldError",
    "Directive",
    "Family",
    "Interval",
    "Matcher",
    "Miss",
    "ParameterError",
    "Registry",
]


class ParameterError(ValueError):
    """A parameter that makes no sense; the sentence follows the name of the matcher."""

    code = "F013"


class BadExpressionError(ParameterError):
    """A regular expression that cannot be compiled."""

    code = "F015"


class CannotHoldError(ParameterError):
    """Parameters that no value can meet."""

    code = "F017"


class BadSchemaError(ParameterError):
    """A JSON Schema that cannot be read, is none, or points outside of itself."""

    code = "F019"


class Miss(Record):
    """Why a value does not meet a matcher; the hint is looked for when somebody reads it."""

    why: str
    hint: Callable[[], str] | None = None


class Interval(Record):
    """From where to where a quantity may be, as (mantissa, places); None is without end."""

    quantity: Quantity
    low: tuple[int, int] | None = None
    high: tuple[int, int] | None = None
    is_low_open: bool = False
    is_high_open: bool = False


class Matcher(Record):
    """One named pattern.

    `parse` turns the parameter texts into what `check` wants, and raises ParameterError
    with a sentence when they make no sense; with `reads_file` it is also given what reads
    a file beside the test file. `wants` puts the expectation in words that follow
    "expected". `check` returns None when the value meets it, else why not.

    `example` is met by every value of `passes` and by none of `fails`. What two of them
    cannot both allow is seen from `kinds` or `kinds_of` (the JSON types that can pass; none
    named is all), `interval` (of a number or a length) and `only` (every value that can
    pass, where that is known). `is_slow` asks for a limit in time.
    """

    name: str
    family: str
    parameters: tuple[str, ...] = ()
    summary: str
    example: str
    passes: tuple[object, ...]
    fails: tuple[object, ...]
    parse: Callable[..., Any]
    wants: Callable[[Any], str]
    check: Callable[[Any, object], Miss | None]
    kinds: tuple[str, ...] = ()
    kinds_of: Callable[[Any], tuple[str, ...]] | None = None
    interval: Callable[[Any], Interval | None] | None = None
    only: Callable[[Any], tuple[object, ...]] | None = None
    is_slow: bool = False
    needs_clock: bool = False
    reads_file: bool = False


class Directive(Record):
    """One mapping key that says how what is under it is compared."""

    name: str
    summary: str
    example: str
    passes: tuple[object, ...]
    fails: tuple[object, ...]


class Family(Record):
    """Matchers that are loaded together, when one of them is first asked for."""

    names: tuple[str, ...]
    load: Callable[[], Iterable[Matcher]]


class Registry:
    """Matchers and directives by name."""

    def __init__(
        self,
        matchers: Iterable[Matcher],
        directives: Iterable[Directive],
        families: Iterable[Family] = (),
    ) -> None:
        # In the order in which they are shown; a family that waits stands for its members.
        self._entries: dict[str, Matcher | Family] = {}
        self.directives = {directive.name: directive for directive in directives}
        for family in families:
            self._entries.update(dict.fromkeys(family.names, family))
        for matcher in matchers:
            self.add(matcher)

    def add(self, matcher: Matcher) -> None:
        if matcher.name in self._entries:
            raise ValueError(f"two matchers are named {matcher.name!r}")
        self._entries[matcher.name] = matcher

    def get(self, name: str) -> Matcher | None:
        entry = self._entries.get(name)
        if isinstance(entry, Family):
            self._entries.update((matcher.name, matcher) for matcher in entry.load())
            entry = self._entries[name]
            assert isinstance(entry, Matcher), f"the family of {name!r} has no such matcher"
        return entry

    def __iter__(self) -> Iterator[Matcher]:
        found = (self.get(name) for name in self.names)
        return (matcher for matcher in found if matcher)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)
