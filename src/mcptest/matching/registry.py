"""Every matcher and directive by name."""

from __future__ import annotations

from mcptest.core.errors import UsageError
from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Literal

    from mcptest.matching.matchers.plugin import Plugins
    from mcptest.matching.matchers.schema import Trial

    Quantity = Literal["number", "length"]

__all__ = [
    "DIRECTIVES",
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
    "TwoOwnersError",
    "UnknownPluginError",
    "builtin_registry",
]


class ParameterError(ValueError):
    """A parameter that makes no sense; the sentence follows the name of the matcher.

    `help` says what to do about it, where an example of the matcher would not.
    """

    code = "F013"

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class UnknownPluginError(ParameterError):
    """A plugin that nobody declares."""

    code = "F021"


class BadExpressionError(ParameterError):
    """A regular expression that cannot be compiled."""

    code = "F015"


class CannotHoldError(ParameterError):
    """Parameters that no value can meet."""

    code = "F017"


class BadSchemaError(ParameterError):
    """A JSON Schema that cannot be read, is none, or points outside of itself."""

    code = "F019"


class TwoOwnersError(UsageError):
    """Two matchers of one name, and nobody can say which is meant."""

    def __init__(self, name: str, first: str, second: str) -> None:
        owners = f"{first or 'mcptest itself'} and {second or 'mcptest itself'}"
        super().__init__(f"the matcher {name!r} has two owners: {owners}", "uninstall one of them")


class Miss(Record):
    """Why a value does not meet a matcher; the hint is looked for when somebody reads it.

    `nowhere` says which path of the matcher leads to nothing: then its negation holds idly.
    """

    why: str
    hint: Callable[[], str] | None = None
    nowhere: str = ""


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

    The last `optional` parameters may be left out. `is_remote` says that another process is
    asked: `check` is also given the path of the value. `is_foreign` says that no signal to us
    ends what is computed. `owner` says where it comes from, if not with the package.
    """

    name: str
    family: str
    parameters: tuple[str, ...] = ()
    summary: str
    example: str
    passes: tuple[object, ...]
    fails: tuple[object, ...]
    optional: int = 0
    parse: Callable[..., Any]
    wants: Callable[[Any], str]
    check: Callable[..., Miss | None]
    kinds: tuple[str, ...] = ()
    kinds_of: Callable[[Any], tuple[str, ...]] | None = None
    interval: Callable[[Any], Interval | None] | None = None
    only: Callable[[Any], tuple[object, ...]] | None = None
    is_slow: bool = False
    needs_clock: bool = False
    reads_file: bool = False
    is_foreign: bool = False
    is_remote: bool = False
    owner: str = ""


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
        outside: Callable[[], Iterable[Matcher]] | None = None,
    ) -> None:
        # In the order in which they are shown; a family that waits stands for its members.
        self._entries: dict[str, Matcher | Family] = {}
        self._outside = outside
        self.directives = {directive.name: directive for directive in directives}
        for family in families:
            self._entries.update(dict.fromkeys(family.names, family))
        for matcher in matchers:
            self.add(matcher)

    def add(self, matcher: Matcher) -> None:
        """Take a matcher in; `TwoOwnersError` when another has its name."""
        if matcher.name in self._entries or matcher.name in self.directives:
            known = self._entries.get(matcher.name)
            owner = known.owner if isinstance(known, Matcher) else ""
            raise TwoOwnersError(matcher.name, owner, matcher.owner)
        self._entries[matcher.name] = matcher

    def replaced(self, matcher: Matcher) -> Registry:
        """The same with this matcher in the place of the one that has its name."""
        copy = Registry((), self.directives.values(), (), self._outside)
        copy._entries = self._entries | {matcher.name: matcher}
        return copy

    def find(self, name: str) -> Matcher | None:
        """The matcher of this name, looked for outside of the package as well.

        That takes longer than a small run, so it is done once, and for a name nobody knows.
        """
        found = self.get(name)
        if found is None and self._outside:
            outside, self._outside = self._outside, None
            for matcher in outside():
                self.add(matcher)
            found = self.get(name)
        return found

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


DIRECTIVES = (
    Directive(
        name="partial",
        summary="Only what is written is checked, all the way down; arrays by position.",
        example="match:partial: {isError: false}",
        passes=({"isError": False, "content": []},),
        fails=({"isError": True}, {}, None),
    ),
    Directive(
        name="arrayElements",
        summary="Every element of the array matches what is written.",
        example='match:arrayElements: {type: "text", text: "match:exists"}',
        passes=([{"type": "text", "text": "a"}], []),
        fails=([{"type": "text", "text": "a"}, {"type": "image"}], {}),
    ),
    Directive(
        name="anyElement",
        summary="At least one element of the array matches what is written.",
        example='match:anyElement: {match:partial: {name: "read_file"}}',
        passes=([{"name": "a"}, {"name": "read_file", "title": "Read"}],),
        fails=([{"name": "a"}], [], {"name": "read_file"}),
    ),
    Directive(
        name="extractField",
        summary="Pull values out by path (`a.b`, `[0]`, `*`), then compare with `value`.",
        example='{"match:extractField": "tools.*.name", value: ["read_file"]}',
        passes=({"tools": [{"name": "read_file", "title": "Read"}]},),
        fails=({"tools": []}, {}, None),
    ),
    Directive(
        name="crossField",
        summary="Two fields of this object, as the pattern `crossField` compares them.",
        example='match:crossField: "start < end"',
        passes=({"start": 1, "end": 2, "more": 3},),
        fails=({"start": 2, "end": 1}, {"start": 1}, None),
    ),
    Directive(
        name="not:crossField",
        summary="The same, and it must not hold; without one of the fields it holds with a note.",
        example='match:not:crossField: "used > limit"',
        passes=({"used": 1, "limit": 2}, {"used": 1}),
        fails=({"used": 3, "limit": 2},),
    ),
    Directive(
        name="all",
        summary="Everything in the list must hold of this one value.",
        example='match:all: ["match:startsWith:a", "match:endsWith:z"]',
        passes=("a to z",),
        fails=("a to y", None),
    ),
    Directive(
        name="any",
        summary="At least one of the list must hold; `match:not:exists` allows an absent key.",
        example='match:any: ["match:type:null", "match:startsWith:a"]',
        passes=(None, "abc"),
        fails=("b", 1),
    ),
)


_LENGTHS = ("", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual", "Between")


def builtin_registry(
    now: Callable[[], float] | None = None,
    plugins: Plugins | None = None,
    outside: Callable[[], Iterable[Matcher]] | None = None,
    trial: Trial | None = None,
) -> Registry:
    """Every matcher and directive there is.

    `now` says what time it is, in seconds since 1970, for `match:dateAge`; without it,
    that matcher can be read but not used. `plugins` are whom `match:plugin` asks; without
    them it cannot be written. `outside` brings the matchers that are installed beside us,
    when a name is met that is none of ours. `trial` tries a schema that refers to something
    before it is read here.
    """

    def dates() -> tuple[Matcher, ...]:
        from mcptest.matching.matchers.dates import date_matchers  # noqa: PLC0415  # see above

        return date_matchers(now)

    def asking() -> tuple[Matcher, ...]:
        from mcptest.matching.matchers.plugin import plugin_matcher  # noqa: PLC0415  # see above

        return (plugin_matcher(plugins),)

    def schemas() -> tuple[Matcher, ...]:
        from mcptest.matching.matchers.schema import schema_matchers  # noqa: PLC0415  # see above

        return schema_matchers(trial)

    families = (
        *_BEFORE_DATES,
        Family(names=_DATE_NAMES, load=dates),
        *_AFTER_DATES,
        Family(names=("jsonSchema",), load=schemas),
        Family(names=("plugin",), load=asking),
    )
    return Registry((), DIRECTIVES, families, outside)


def _values() -> tuple[Matcher, ...]:
    from mcptest.matching.matchers.values import VALUE_MATCHERS  # noqa: PLC0415  # see above

    return VALUE_MATCHERS


def _texts() -> tuple[Matcher, ...]:
    from mcptest.matching.matchers.text import TEXT_MATCHERS  # noqa: PLC0415  # see above

    return TEXT_MATCHERS


def _arrays() -> tuple[Matcher, ...]:
    from mcptest.matching.matchers.arrays import ARRAY_MATCHERS  # noqa: PLC0415  # see above

    return ARRAY_MATCHERS


def _numbers() -> tuple[Matcher, ...]:
    from mcptest.matching.matchers.numbers import NUMBER_MATCHERS  # noqa: PLC0415  # see above

    return NUMBER_MATCHERS


def _formats() -> tuple[Matcher, ...]:
    from mcptest.matching.matchers.formats import FORMAT_MATCHERS  # noqa: PLC0415  # see above

    return FORMAT_MATCHERS


def _fields() -> tuple[Matcher, ...]:
    from mcptest.matching.matchers.objects import FIELD_MATCHERS  # noqa: PLC0415  # see above

    return FIELD_MATCHERS


_BEFORE_DATES = (
    Family(names=("type", "exists", "equals", "notEquals", "oneOf"), load=_values),
    Family(
        names=(
            "regex",
            "contains",
            "containsIgnoreCase",
            "startsWith",
            "endsWith",
            "equalsIgnoreCase",
            *(f"stringLength{which}" for which in _LENGTHS),
            "stringEmpty",
            "stringNotEmpty",
        ),
        load=_texts,
    ),
    Family(
        names=(
            "length",
            "count",
            "empty",
            "notEmpty",
            *(f"arrayLength{which}" for which in _LENGTHS),
            "arrayContains",
            "unique",
            "sorted",
        ),
        load=_arrays,
    ),
    Family(
        names=(
            "greaterThan",
            "greaterThanOrEqual",
            "lessThan",
            "lessThanOrEqual",
            "between",
            "range",
            "approximately",
            "multipleOf",
            "divisibleBy",
            "decimalPlaces",
            "positive",
            "negative",
            "integer",
        ),
        load=_numbers,
    ),
)
_DATE_NAMES = (
    "dateValid",
    "dateAfter",
    "dateBefore",
    "dateBetween",
    "dateEquals",
    "dateFormat",
    "dateAge",
)
_AFTER_DATES = (
    Family(
        names=(
            "uuid",
            "email",
            "url",
            "hostname",
            "ipv4",
            "ipv6",
            "json",
            "base64",
            "semver",
            "jwt",
        ),
        load=_formats,
    ),
    Family(names=("crossField",), load=_fields),
)
