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
    from typing import Any

__all__ = ["Directive", "Matcher", "Miss", "Registry"]


class Miss(Record):
    """Why a value does not meet a matcher."""

    why: str
    hint: str = ""


class Matcher(Record):
    """One named pattern.

    `parse` turns the parameter texts into what `check` wants, and raises ValueError
    with a sentence when they make no sense. `wants` puts the expectation in words that
    follow "expected". `check` returns None when the value meets it, else why not.
    """

    name: str
    parameters: tuple[str, ...]
    summary: str
    example: str
    parse: Callable[..., Any]
    wants: Callable[[Any], str]
    check: Callable[[Any, object], Miss | None]


class Directive(Record):
    """One mapping key that says how what is under it is compared."""

    name: str
    summary: str
    example: str


class Registry:
    """Matchers and directives by name."""

    def __init__(self, matchers: Iterable[Matcher], directives: Iterable[Directive]) -> None:
        self._matchers: dict[str, Matcher] = {}
        self.directives = {directive.name: directive for directive in directives}
        for matcher in matchers:
            self.add(matcher)

    def add(self, matcher: Matcher) -> None:
        if matcher.name in self._matchers:
            raise ValueError(f"two matchers are named {matcher.name!r}")
        self._matchers[matcher.name] = matcher

    def get(self, name: str) -> Matcher | None:
        return self._matchers.get(name)

    def __iter__(self) -> Iterator[Matcher]:
        return iter(self._matchers.values())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._matchers)
