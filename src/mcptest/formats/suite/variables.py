"""`variables:` of a suite, and `${name}` wherever a value is allowed.

    variables: {order: A-17, region: {from_env: REGION, default: eu}, token: {secret_env: TOKEN}}

A text that is nothing but `${order}` becomes the value itself, whatever its type. Secrets are
named by environment variable, never written, and blanked wherever they would be.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import PathDiagnostic, closest, suggest
from mcptest.core.secrets import is_secret
from mcptest.core.strict_json import dump_json
from mcptest.core.value_class import Record
from mcptest.formats.fields import (
    NON_EMPTY,
    STRING,
    Fields,
    Key,
    Keys,
    fill_references,
    lone_reference,
    may_refer,
    misplaced,
    references,
    strings_in,
    warn_of_weak_secret,
)
from mcptest.formats.suite.expect import BUDGETS
from mcptest.formats.yaml.quick import MAX_DEPTH, MAX_NODES, MAX_TEXT_BYTES
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from mcptest.core.diagnostics import Diagnostic

    Steps = tuple[str | int, ...]
    Names = Collection[str]
    # Where a word of a matcher is, the word, and what is under it.
    Word = tuple[Steps, str, object]
    # Where a captured value is not allowed; why, and what to do instead.
    Choice = tuple[Steps, tuple[str, str]]

__all__ = [
    "CAPTURED",
    "CONFIG_DIR",
    "SOURCE_KEYS",
    "WHOLE_FILE",
    "GivenVariables",
    "Size",
    "TooLargeError",
    "Variables",
    "find_forbidden_uses",
    "is_source",
    "names_in_partial",
    "size_put_in",
    "text_of",
]


# A value from the environment.
SOURCE_KEYS = Keys(
    {
        "from_env": Key(NON_EMPTY, "The environment variable that holds the value.", "REGION"),
        "secret_env": Key(
            NON_EMPTY,
            "The environment variable that holds a secret: it is blanked in every output.",
            "API_TOKEN",
        ),
        "default": Key(STRING, "The value when the variable is not set; secrets have none."),
    }
)
_SOURCES = ("from_env", "secret_env")

# How environment variables are named, by most people.
_VARIABLE = re.compile("[A-Z][A-Z0-9_]*")

# The folder of the file that uses it; it cannot be set.
CONFIG_DIR = "CONFIG_DIR"

_UNCLOSED = r"\$\{[^}]*\Z"

# A sample for the value of a variable that is not set.
_STAND_IN = "…"

# The same where only ASCII is allowed.
_STAND_IN_TEXT = "not-set"


class GivenVariables:
    """The values of variables that the command line gives, and the names that suites declare."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = values
        self.declared: set[str] = set()


class Variables:
    """The values that a suite may refer to, and which of them are secrets.

    Those that are `given` replace what the suite says.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: str,
        is_whole: bool = True,
        given: GivenVariables | None = None,
    ) -> None:
        self.environment = environment
        self._given = given or GivenVariables({})
        # False if a file that could set a value cannot be read.
        self._is_whole = is_whole
        self.values: dict[str, object] = {CONFIG_DIR: folder}
        self.secrets: list[str] = []
        # Names that are declared later in the file.
        self._later: frozenset[str] = frozenset()
        # The names of the columns while a test with `each` is read, whose values are in place.
        self.columns: Collection[str] = ()
        self._put_in = Size()
        self._is_full = False
        # Variables that are not set: by value, and those used since the last call of `take_unset`.
        self._unset: dict[str, tuple[Diagnostic, ...]] = {}
        self._used_unset: dict[Diagnostic, None] = {}
        self._point: Callable[[PathDiagnostic], Diagnostic] | None = None

    def turn_to(self, folder: str, point: Callable[[PathDiagnostic], Diagnostic]) -> None:
        """Continue with a file of this folder; `point` finds places in it."""
        self.values[CONFIG_DIR] = folder
        self._point = point

    def take_unset(self) -> tuple[Diagnostic, ...]:
        """Return the variables that are not set, of those used since the last call."""
        found = tuple(self._used_unset)
        self._used_unset.clear()
        return found

    def read(self, fields: Fields) -> None:
        """Read `variables`, each after those that it refers to."""
        names = list(fields.mapping)
        for index, name in enumerate(names):
            self._later = frozenset(names[index:]) - self.values.keys()
            if not fields.check_name(name):
                continue
            if name == CONFIG_DIR:
                message = f"{CONFIG_DIR} is the folder of the file, and cannot be set"
                fields.report(name, "F003", message)
            else:
                self._given.declared.add(name)
                self.take_unset()
                value = self._value(fields, name)
                unset = self.take_unset()
                is_given = name in self._given.values
                self.values[name] = self._given.values[name] if is_given else value
                self._unset[name] = () if is_given else unset
        self._later = frozenset()

    def _value(self, fields: Fields, name: str) -> object:
        value = fields.mapping[name]
        if is_source(value):
            return self.from_environment(fields, name)
        if isinstance(value, dict) and len(value) == 1 + ("default" in value):
            # It may be a source with a misspelt key.
            key = next(key for key in value if key != "default")
            if meant := closest(key, _SOURCES):
                message = (
                    f'a value from the environment has no key "{key}"; did you mean "{meant}"?'
                )
                fields.at((name, key)).report("", "F006", message)
        return self.fill(value, fields.at((name,)))

    def from_environment(self, fields: Fields, key: str) -> str:
        """Return the value of `{from_env: NAME, default: …}` or `{secret_env: NAME}`."""
        inner = fields.mapping_at(key)
        assert inner is not None, "asked only where there is a mapping"
        inner.check_keys(SOURCE_KEYS, "a value from the environment")
        source, *others = [each for each in _SOURCES if each in inner.mapping]
        if others:
            inner.report(others[0], "F003", "from_env and secret_env cannot both be meant")
        default = None
        if "default" in inner.mapping and source == "secret_env":
            message = "a secret has no default: it would be written in this file"
            inner.report("default", "F006", message)
        elif "default" in inner.mapping:
            default = inner.text("default")
        name = inner.non_empty_text(source)
        if not name:
            return ""
        value = self.environment.get(name)
        if value is None:
            if default is None:
                self._miss(name, (*inner.steps, source))
            return f"{_STAND_IN}{name}" if default is None else default
        if value and (source == "secret_env" or is_secret(name, value)):
            self.secrets.append(value)
            warn_of_weak_secret(inner, source, name, value)
        return value

    def sent_from_environment(self, fields: Fields, key: str) -> str:
        """The same for a header, in which even a sample must be a valid value."""
        value = self.from_environment(fields, key)
        return _STAND_IN_TEXT if value.startswith(_STAND_IN) else value

    def secret(self, fields: Fields, key: str) -> str:
        """Return the value of the environment variable that is named at a key."""
        name = fields.non_empty_text(key)
        if not name:
            return ""
        value = self.environment.get(name)
        if not value:
            # An empty credential is of no use.
            self._miss(name, (*fields.steps, key), is_empty=value == "")
            return _STAND_IN_TEXT
        self.secrets.append(value)
        warn_of_weak_secret(fields, key, name, value)
        return value

    def _miss(self, name: str, steps: Steps, *, is_empty: bool = False) -> None:
        """Record an unset variable; it is an error only for tests that are run and use it."""
        # Commands that start no server pass an environment that contains every name.
        if (name in self.environment and not is_empty) or self._point is None:
            return
        diagnostic = PathDiagnostic(
            code="F016",
            message=f"the environment variable {name!r} is {'empty' if is_empty else 'not set'}",
            help=f"export {name}=… before the run",
            steps=steps,
            on_key=True,
        )
        self._used_unset[self._point(diagnostic)] = None

    def fill(self, value: object, place: Fields, more: Collection[str] = ()) -> object:
        """Return the value with its references replaced; unknown names are reported.

        `more` are names that become known later; who uses them must be filled again.
        """
        if not may_refer(value):
            return value
        known = {*self.values, *more}
        is_whole = True
        for name, steps in references(value):
            if name not in more:
                self._used_unset |= dict.fromkeys(self._unset.get(name, ()))
            if name not in known:
                is_whole = False
                if self._is_whole:
                    self._report(name, place.at(steps), known)
        unclosed = (at for at, text in strings_in(value) if re.search(_UNCLOSED, text))
        for steps in unclosed:
            message = "a ${ that is never closed is taken as written"
            place.at(steps).report("", "W001", message, on_key=False, severity="warning")
        try:
            if is_whole and self.has_room(value, self.values, place):
                return fill_references(value, self.values)
        except KeyError:
            pass
        except ValueError as error:
            place.report("", "F003", str(error))
        return value

    def has_room(self, value: object, values: Mapping[str, object], place: Fields) -> bool:
        """True if the filled value is within the limits; reported if it is not."""
        if self._is_full:
            return False
        try:
            size_put_in(value, values, ONE_VALUE)
            self._put_in = size_put_in(value, values, WHOLE_FILE, self._put_in)
        except TooLargeError as error:
            # After that, every other value would exceed the limit as well.
            self._is_full = error.is_of_all
            message = str(error)
            if place.steps[:1] == ("variables",) and not error.is_of_all:
                message = error.about(repr(place.steps[1]))
            place.at(error.steps).report("", "F004", message, on_key=False)
            return False
        return True

    def text(self, value: object, place: Fields) -> object:
        """The same where a string is needed: the value of a lone reference becomes a string."""
        return text_of(value, self.fill(value, place))

    def _report(self, name: str, place: Fields, known: set[str]) -> None:
        known = {*known, *self.columns}
        question = suggest(name, known, "${{{}}}")
        message = f"nothing is known as {name!r}{question}"
        if name in self.columns:
            message = f"{name!r} is a column, to which values of rows and defaults cannot refer"
        elif name in self._later:
            message = f"{name!r} is set further down; a value is known only below the place"
        there = ", ".join(sorted(known)) or "none"
        help = f"there are: {there}; to mean this very text, write $${{{name}}}"
        if _VARIABLE.fullmatch(name):
            source = f"variables: {{x: {{secret_env: {name}}}}}"
            help = f"for the environment variable, declare {source} and write ${{x}}; {help}"
        place.report("", "F020", message, help, on_key=False)


def text_of(written: object, value: object) -> object:
    """Return a string if a string was written, the value as it is otherwise."""
    return dump_json(value) if isinstance(written, str) and not isinstance(value, str) else value


def is_source(value: object) -> bool:
    """True if a value comes from the environment."""
    return isinstance(value, dict) and ("from_env" in value or "secret_env" in value)


# Captured values must not decide what is checked
#
# Only the author of a file writes targets, matchers, regular expressions, schemas, limits and names
# of plugins. A captured value may be sent, and be compared with.

_CHOOSES = (
    "a captured value can be what a matcher compares with, not choose one",
    "write the target, and the name of the matcher, plugin or schema, in full",
)
_EXPRESSION = (
    "a captured value cannot be in a regular expression: its server would write the check",
    "compare with it: exact, contains, starts-with or ends-with",
)
_SCHEMA = (
    "in a schema, a captured value can only be under const or enum",
    "write the schema in full, or compare with the value: {exact: …}",
)
_REFERRED = (
    "a schema with a captured value in it cannot refer to what is under const or enum: its "
    "server would write that schema",
    "put the schema that is meant under $defs",
)
_BAR = (
    "a captured value cannot say how much is enough: its server would set its own bar",
    "write the number",
)

# Words whose parameter is a choice itself, as a whole or in these of its members.
_CHOICES = ("snapshot", "type", "exists")
_CHOOSING_KEYS = ("name", "method")

# Patterns that take one value, as it is, and compare with it.
_COMPARING = (
    *("equals", "notEquals", "equalsIgnoreCase", "contains", "containsIgnoreCase"),
    *("startsWith", "endsWith", "greaterThan", "greaterThanOrEqual", "lessThan"),
    *("lessThanOrEqual", "length", "count", "stringLength", "arrayLength"),
    *("dateAfter", "dateBefore", "dateEquals", "plugin"),
)
_LANGUAGE = (
    "in this pattern, a captured value would be more than what is compared with",
    f"use a word in its place, such as {{contains: …}}; patterns that may: {', '.join(_COMPARING)}",
)
_PATTERN_NAME = re.compile(rf"(?:{PREFIX})?(?:not:)?([A-Za-z0-9]+):")
_EXPRESSION_NAME = "regex"

# Keys of a schema that hold values, and those that hold schemas by names of the author's.
_VALUES = ("const", "enum")
_NAMED_SCHEMAS = (
    *("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"),
    *("dependencies", "dependentRequired"),
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def find_forbidden_uses(call: dict[str, object], names: Names) -> Iterator[Choice]:
    """Yield where in a call one of these names is used but not allowed, and why."""
    expect = call.get("expect")
    for key in BUDGETS:
        yield from _anywhere(call.get(key), names, (key,), _BAR)
        if isinstance(expect, dict):
            yield from _anywhere(expect.get(key), names, ("expect", key), _BAR)
    for steps, item in _assertions(expect):
        if not isinstance(item, dict):
            yield from _anywhere(item, names, steps, _CHOOSES)
            continue
        yield from _anywhere(item.get("target"), names, (*steps, "target"), _CHOOSES)
        yield from _anywhere(item.get("weight"), names, (*steps, "weight"), _BAR)
        for word in _words(item.get("matcher"), (*steps, "matcher")):
            yield from _in_word(word, names)


def names_in_partial(expect: object, names: Names) -> Iterator[str]:
    """Yield the names that are whole values under `partial`, where an empty one checks nothing."""
    for steps, item in _assertions(expect):
        if isinstance(item, dict):
            for _, word, value in _words(item.get("matcher"), steps):
                if word == "partial":
                    found = (lone_reference(text) for _, text in strings_in(value))
                    yield from (name for name in found if name in names)


def _assertions(expect: object) -> Iterator[tuple[Steps, object]]:
    """The assertions, each with its place; what should be a list of them and is none, as one."""
    steps: Steps = ("expect",)
    if isinstance(expect, dict):
        expect, steps = expect.get("assertions"), ("expect", "assertions")
    if isinstance(expect, list):
        yield from (((*steps, index), item) for index, item in enumerate(expect))
    else:
        yield steps, expect


def _words(matcher: object, steps: Steps) -> Iterator[Word]:
    """Every word of a matcher and of those in it; what is not a matcher has the word ""."""
    if not isinstance(matcher, dict):
        yield steps, "", matcher
        return
    for word, inner in matcher.items():
        here = (*steps, word)
        # A reference in a key is reported at the place of the mapping.
        yield steps, "", word
        if word == "not":
            yield from _words(inner, here)
        elif word in ("all", "any") and isinstance(inner, list):
            for index, each in enumerate(inner):
                yield from _words(each, (*here, index))
        elif word in ("all", "any"):
            yield here, "", inner
        else:
            yield here, word, inner


def _in_word(written: Word, names: Names) -> Iterator[Choice]:
    steps, word, value = written
    # A string under `schema` is the name of a file.
    if not word or word in _CHOICES or (word == "schema" and isinstance(value, str)):
        yield from _anywhere(value, names, steps, _CHOOSES)
    elif word == "regex":
        yield from _anywhere(value, names, steps, _EXPRESSION)
    elif word == "schema":
        yield from _in_schema(value, names, steps)
        if any(name in names for name, _ in references(value)):
            yield from _find_references(value, steps)
    elif word == "pattern" and isinstance(value, str):
        if any(name in names for name, _ in references(value)):
            found = _PATTERN_NAME.match(value)
            name = found[1] if found else ""
            if any(True for _ in misplaced(PREFIX + value.removeprefix(PREFIX))):
                yield steps, _CHOOSES
            elif name == _EXPRESSION_NAME:
                yield steps, _EXPRESSION
            elif name not in _COMPARING:
                yield steps, _LANGUAGE
    elif word == "plugin" and isinstance(value, dict):
        for key in _CHOOSING_KEYS:
            yield from _anywhere(value.get(key), names, (*steps, key), _CHOOSES)
    elif word == "plugin":
        yield from _anywhere(value, names, steps, _CHOOSES)


def _in_schema(schema: object, names: Names, steps: Steps) -> Iterator[Choice]:
    if isinstance(schema, list):
        for index, each in enumerate(schema):
            yield from _in_schema(each, names, (*steps, index))
        return
    if not isinstance(schema, dict):
        yield from _anywhere(schema, names, steps, _SCHEMA)
        return
    for key, inner in schema.items():
        here = (*steps, key)
        yield from _anywhere(key, names, steps, _SCHEMA)
        if key in _NAMED_SCHEMAS and isinstance(inner, dict):
            for name, each in inner.items():
                yield from _anywhere(name, names, here, _SCHEMA)
                yield from _in_schema(each, names, (*here, name))
        elif key not in _VALUES:
            yield from _in_schema(inner, names, here)


def _find_references(schema: object, steps: Steps) -> Iterator[Choice]:
    """The references that lead to a value, as far as they can be followed without knowing it."""
    if not isinstance(schema, (dict, list)):
        return
    for key, inner in schema.items() if isinstance(schema, dict) else enumerate(schema):
        here = (*steps, key)
        if key in _REFERENCES and isinstance(inner, str):
            # What is written in another way than as it is may be one of them, too.
            if "%" in inner or any(step in _VALUES for step in inner.split("/")):
                yield here, _REFERRED
        else:
            yield from _find_references(inner, here)


def _anywhere(value: object, names: Names, steps: Steps, why: tuple[str, str]) -> Iterator[Choice]:
    return (((*steps, *inner), why) for name, inner in references(value) if name in names)


# Limits of `${name}`, checked before a value is built
#
# Like an alias of YAML, a name is short and its value may be large and have other names in it: a
# dozen lines of them could fill the memory.


class Size(Record):
    """How many characters, keys and values a value has, and how deep it is."""

    text: int = 0
    nodes: int = 0
    depth: int = 0

    def plus(self, other: Size) -> Size:
        return Size(
            text=self.text + other.text,
            nodes=self.nodes + other.nodes,
            depth=max(self.depth, other.depth),
        )

    def excess(self, most: Size) -> str:
        """Return what exceeds these limits in words, "" if nothing does."""
        if self.text > most.text:
            return f"has more than {most.text:,} characters"
        if self.nodes > most.nodes:
            return f"has more than {most.nodes:,} keys and values"
        return f"is more than {most.depth} levels deep" if self.depth > most.depth else ""


# What may be put into one value of a file, into all values of a suite together, and, when it
# comes from a server, into one value of a step.
ONE_VALUE = Size(text=1 << 20, nodes=100_000, depth=MAX_DEPTH)
WHOLE_FILE = Size(text=MAX_TEXT_BYTES, nodes=MAX_NODES, depth=MAX_DEPTH)
CAPTURED = WHOLE_FILE

_NOTHING = Size()


class TooLargeError(ValueError):
    """A value that would grow beyond the limit. `steps` lead to the name that is too much.

    `is_of_all` says that it is too much only together with what was put in before.
    """

    def __init__(self, name: str, excess: str, steps: Steps, *, is_of_all: bool) -> None:
        self.name = name
        self.excess = excess
        super().__init__(self.about("all that is put in" if is_of_all else "it"))
        self.steps = steps
        self.is_of_all = is_of_all

    def about(self, what: str) -> str:
        """The sentence, about the value that would be too large."""
        return f"with ${{{self.name}}} in its place, {what} {self.excess}"


def size_put_in(
    value: object, values: Mapping[str, object], most: Size, before: Size = _NOTHING
) -> Size:
    """Return the total size of the values of all names in a value, added to `before`.

    TooLargeError as soon as it is more than `most`. What is written out does not count.
    """
    total = before
    known: dict[str, Size] = {}
    for name, steps in references(value):
        if name not in known:
            known[name] = _size_of(values[name], most)
        size = known[name]
        total = total.plus(size.but(depth=len(steps) + size.depth))
        excess = total.excess(most)
        if excess:
            raise TooLargeError(name, excess, steps, is_of_all=bool(before.nodes))
    return total


def _size_of(value: object, most: Size) -> Size:
    """Return the size of a value; beyond the limit it is not exact."""
    text = nodes = depth = 0
    level = [value]
    while level and depth <= most.depth and nodes <= most.nodes and text <= most.text:
        depth += 1
        nodes += len(level)
        below: list[object] = []
        for node in level:
            if isinstance(node, str):
                text += len(node)
            elif isinstance(node, dict):
                nodes += len(node)
                text += sum(map(len, node))
                below += node.values()
            elif isinstance(node, list):
                below += node
            if len(below) > most.nodes:
                break
        level = below
    # What has nothing in it goes no level deeper.
    return Size(text=text, nodes=nodes + len(level), depth=depth - 1)
