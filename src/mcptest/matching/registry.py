"""What a matcher is, and every matcher and directive by name.

A matcher is one declaration in a module of `matching/matchers`: name, parameters, check,
description and examples. Documentation, suggestions and editor schemas are made from it.
`matchers/__init__.py` lists the names by module, so that a module is loaded when a file first uses
one of its matchers: most runs need one or two, and starting is part of the product.
"""

from __future__ import annotations

from mcptest.core.errors import UsageError
from mcptest.core.value_class import Record
from mcptest.matching.matchers import NAMES_BY_MODULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol

    # Compiles a schema, which may take forever or end the process, where that is harmless. Given
    # the call and the text of the schema; why it cannot be compiled, "" when it can.
    TrySchema = Callable[[Callable[[], object], str], str]

    class Plugins(Protocol):
        """The plugins that a file may use."""

        @property
        def names(self) -> Sequence[str]: ...

        def ask(self, name: str, method: str, params: object) -> object:
            """The result of a call; `CheckError` when there is none."""


__all__ = [
    "DIRECTIVES",
    "BadExpressionError",
    "BadSchemaError",
    "CannotHoldError",
    "CheckFlags",
    "Directive",
    "Matcher",
    "Miss",
    "ParameterError",
    "Registry",
    "Services",
    "TwoOwnersError",
    "UnknownPluginError",
    "builtin_registry",
]


class Matcher(Record):
    """One named pattern, `match:NAME:PARAMETERS`.

    `parse` turns the strings of the parameters into what `check` and `wants` take first, and
    raises ParameterError when they make no sense; with `reads_file` it is also given a function
    that reads a file beside the test file. The last `optional` parameters may be left out. `wants`
    returns words that follow "expected". `check` returns None when the value
    meets it, else why not.

    `example` is met by every value of `passes` and by none of `fails`. `kinds` are the JSON types
    that can pass; none named is all. `owner` names the package it comes from, if not this one.

    `is_slow` asks for a time limit. `is_foreign` says that no signal to this process ends the
    check. `is_remote` says that another process is asked: `check` is also given the path.
    `bind` gives the matcher what it needs from outside this package.
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
    is_slow: bool = False
    reads_file: bool = False
    is_foreign: bool = False
    is_remote: bool = False
    owner: str = ""
    bind: Callable[[Matcher, Services], Matcher] | None = None


class CheckFlags:
    """What an expectation must know of its checks: the fields of `core.plan.Expectation` to set."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}

    def add(self, matcher: Matcher) -> None:
        if matcher.is_slow:
            self._found["has_regex"] = True
        if matcher.is_foreign:
            self._found["has_foreign_check"] = True
        if matcher.is_remote:
            self._found["has_remote_check"] = True

    def add_absence(self) -> None:
        """A check that something which is not there can meet."""
        self._found["may_check_nothing"] = True

    def take(self) -> dict[str, Any]:
        """Return the fields that are true, and begin with the next expectation."""
        found, self._found = self._found, {}
        return found


class Miss(Record):
    """Why a value does not meet a matcher. The hint is computed only when it is shown.

    `nowhere` says which path of the matcher leads to nothing: then its negation checks nothing.
    `find_place` returns where it stops to match: the index in the parameter as written, and that
    in the value; None if there is no such place. `why_there` replaces `why` then, with the
    place for its `{}`; "" means `why` followed by "from … on".
    """

    why: str
    hint: Callable[[], str] | None = None
    nowhere: str = ""
    find_place: Callable[[], tuple[int, int] | None] | None = None
    why_there: str = ""


class Services(Record):
    """What some matchers need from outside this package.

    `now` is the clock, in seconds since 1970, without which `match:dateAge` can be read but not
    checked. `plugins` returns those that `match:plugin` may use; it is called once, when a file
    uses one. `try_schema` tries a schema that has
    references before it is compiled in this process.
    """

    now: Callable[[], float] | None = None
    plugins: Callable[[], Plugins] | None = None
    try_schema: TrySchema | None = None


class Directive(Record):
    """One mapping key that says how the value under it is compared."""

    name: str
    summary: str
    example: str
    passes: tuple[object, ...]
    fails: tuple[object, ...]


# Mistakes in the parameters of a pattern


class ParameterError(ValueError):
    """A parameter that makes no sense; the message follows the name of the matcher.

    `help` says what to do about it, where an example of the matcher would not.
    """

    code = "F013"

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class UnknownPluginError(ParameterError):
    """A plugin that is not declared."""

    code = "F021"


class BadExpressionError(ParameterError):
    """A regular expression that cannot be compiled."""

    code = "F015"


class CannotHoldError(ParameterError):
    """Parameters that no value can meet."""

    code = "F017"


class BadSchemaError(ParameterError):
    """A JSON Schema that cannot be read, is invalid, or refers to another resource."""

    code = "F019"


class TwoOwnersError(UsageError):
    """Two matchers of one name."""

    def __init__(self, name: str, first: str, second: str) -> None:
        owners = f"{first or 'mcptest itself'} and {second or 'mcptest itself'}"
        super().__init__(f"the matcher {name!r} has two owners: {owners}", "uninstall one of them")


def builtin_registry(
    now: Callable[[], float] | None = None,
    plugins: Callable[[], Plugins] | None = None,
    outside: Callable[[], Iterable[Matcher]] | None = None,
    try_schema: TrySchema | None = None,
) -> Registry:
    """The matchers and directives of this package; see `Services` and `Registry`."""
    services = Services(now=now, plugins=plugins, try_schema=try_schema)
    return Registry((), DIRECTIVES, NAMES_BY_MODULE, services, outside)


class Registry:
    """Matchers and directives by name.

    `modules` names the matchers of each module of `matching/matchers`, which is loaded on demand.
    `outside` returns matchers of other packages; it is called when a name is met that is not known.
    """

    def __init__(
        self,
        matchers: Iterable[Matcher],
        directives: Iterable[Directive],
        modules: dict[str, tuple[str, ...]] | None = None,
        services: Services | None = None,
        outside: Callable[[], Iterable[Matcher]] | None = None,
    ) -> None:
        # In the order in which they are shown; a string is the module of a matcher not yet loaded.
        self._entries: dict[str, Matcher | str] = {}
        self._services = services or Services()
        self._outside = outside
        self.directives = {directive.name: directive for directive in directives}
        for module, names in (modules or {}).items():
            self._entries.update(dict.fromkeys(names, module))
        for matcher in matchers:
            self.add(matcher)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def __iter__(self) -> Iterator[Matcher]:
        found = (self.get(name) for name in self.names)
        return (matcher for matcher in found if matcher)

    def get(self, name: str) -> Matcher | None:
        """The matcher of this name that is built in, or was added."""
        entry = self._entries.get(name)
        if isinstance(entry, str):
            module = __import__(f"mcptest.matching.matchers.{entry}", fromlist=["MATCHERS"])
            for matcher in module.MATCHERS:
                # Another one of the module may be bound already.
                if isinstance(self._entries.get(matcher.name), str):
                    bound = matcher.bind(matcher, self._services) if matcher.bind else matcher
                    self._entries[matcher.name] = bound
            entry = self._entries[name]
            assert isinstance(entry, Matcher), f"{module.__name__} has no matcher {name!r}"
        return entry

    def find(self, name: str) -> Matcher | None:
        """As `get`, looking in other packages as well.

        That takes longer than a small run, so it is done once, and only for a name not known here.
        """
        found = self.get(name)
        if found is None and self._outside:
            outside, self._outside = self._outside, None
            for matcher in outside():
                self.add(matcher)
            found = self.get(name)
        return found

    def add(self, matcher: Matcher) -> None:
        """Add a matcher; `TwoOwnersError` when its name is taken."""
        if matcher.name in self._entries or matcher.name in self.directives:
            known = self._entries.get(matcher.name)
            owner = known.owner if isinstance(known, Matcher) else ""
            raise TwoOwnersError(matcher.name, owner, matcher.owner)
        self._entries[matcher.name] = matcher

    def with_plugins(self, plugins: Callable[[], Plugins]) -> Registry:
        """A copy whose `match:plugin` may use these plugins."""
        services = self._services.but(plugins=plugins)
        copy = Registry((), self.directives.values(), None, services, self._outside)
        # It is bound again, to these services.
        copy._entries = self._entries | {"plugin": "objects"}
        return copy


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
