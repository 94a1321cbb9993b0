"""Strings that begin with `match:`, compiled to patterns when a file is loaded.

    match:contains:sunny        a matcher of the registry, with its parameters
    match:not:contains:sunny    its negation
    match:File not found        no known name: a regular expression, searched

A misspelt name would be searched as an expression and could pass by accident, so a near miss of a
known name is an error that names the right one.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import PathDiagnostic, edit_distance
from mcptest.core.errors import PatternTimeoutError
from mcptest.core.results import Mismatch
from mcptest.core.text import describe_place, is_pattern, render_trail
from mcptest.core.value_class import ABSENT, Record
from mcptest.matching.registry import Matcher, Miss, ParameterError, Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.text import Trail

    Reader = Callable[[str], str] | None

__all__ = ["PREFIX", "Pattern", "PatternError", "find_missing_prefix", "parse_pattern"]

PREFIX = "match:"

# Names from other tools, and the names of the same matchers here.
HABITS = {
    "regexp": "regex",
    "matches": "regex",
    "includes": "contains",
    "include": "contains",
    "hasLength": "length",
    "len": "length",
    "size": "count",
    "has": "contains",
    "hasText": "contains",
    "exact": "equals",
    "equal": "equals",
    "is": "equals",
    "beginsWith": "startsWith",
    "instanceOf": "type",
    "typeof": "type",
    "isType": "type",
    "defined": "exists",
    "present": "exists",
    "gt": "greaterThan",
    "gte": "greaterThanOrEqual",
    "lt": "lessThan",
    "lte": "lessThanOrEqual",
    "eq": "equals",
    "ne": "notEquals",
    "icontains": "containsIgnoreCase",
    "iequals": "equalsIgnoreCase",
    "closeTo": "approximately",
    "guid": "uuid",
    "uri": "url",
    "isEmpty": "empty",
    "isNotEmpty": "notEmpty",
    "minLength": "stringLengthGreaterThanOrEqual",
    "maxLength": "stringLengthLessThanOrEqual",
    "ge": "greaterThanOrEqual",
    "le": "lessThanOrEqual",
    "greater": "greaterThan",
    "less": "lessThan",
    "atLeast": "greaterThanOrEqual",
    "atMost": "lessThanOrEqual",
    "lengthGreaterThan": "stringLengthGreaterThan",
    "lengthLessThan": "stringLengthLessThan",
    "isString": "type",
    "isNumber": "type",
    "isBoolean": "type",
    "isObject": "type",
    "isArray": "type",
    "isNull": "type",
    "isInteger": "integer",
    "string": "type:string",
    "number": "type:number",
    "boolean": "type:boolean",
    "bool": "type:boolean",
    "object": "type:object",
    "array": "type:array",
    "null": "type:null",
}
_BY_HABIT = {name.lower(): meant for name, meant in HABITS.items()}

# Includes the spellings of other tools: greater_than, array-length.
_WORD = r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*"


class PatternError(ValueError):
    """A mistake in a `match:` string."""

    def __init__(self, diagnostic: PathDiagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Pattern(Record):
    """A compiled `match:` string."""

    source: str
    matcher: Matcher
    parameter: Any
    negated: bool

    @property
    def accepts_absence(self) -> bool:
        return self.negated and self.matcher.name == "exists"

    @property
    def is_description(self) -> bool:
        """True if the source does not look like a pattern: `contains: sunny` of a suite."""
        return not is_pattern(self.source)

    def is_met(self, actual: object) -> bool:
        """True if the value meets the pattern."""
        return self.miss(actual) is None

    def miss(self, actual: object, trail: Trail = None) -> Miss | None:
        """None when the value at `trail` meets the pattern; otherwise why not."""
        matcher = self.matcher
        try:
            if matcher.is_remote:
                miss = matcher.check(self.parameter, actual, render_trail(trail))
            else:
                miss = matcher.check(self.parameter, actual)
        except PatternTimeoutError as error:
            raise PatternTimeoutError(error.limit_s, self.source) from None
        if not self.negated:
            return miss
        if miss:
            return None
        return Miss(why="it is there" if self.accepts_absence else "it is just that")

    def idle_reason(self, actual: object) -> str:
        """Which path of a negated pattern leads to nothing, so that it proves nothing; or ""."""
        if not self.negated or self.matcher.is_remote:
            return ""
        miss = self.matcher.check(self.parameter, actual)
        return miss.nowhere if miss else ""

    def mismatch(self, actual: object, trail: Trail) -> Mismatch | None:
        """The same, as a mismatch with its hint."""
        miss = self.miss(actual, trail)
        if miss is None:
            return None
        found = self.describe(miss, actual, trail)
        return found if found.hint or not miss.hint else found.but(hint=miss.hint())

    def describe(self, miss: Miss, actual: object, trail: Trail) -> Mismatch:
        """The mismatch for a value that does not meet the pattern, without the hint."""
        found = self._mismatch(actual, trail, f"expected {self._wants()}; {miss.why}")
        if miss.find_place is None or self.negated or not isinstance(actual, str):
            return found
        place = miss.find_place()
        if place is None:
            return found
        written = self.parameter
        if not isinstance(written, str):
            written = getattr(written, "source", "")
        why = (miss.why_there or f"{miss.why} from {{}} on").format(
            describe_place(actual, place[1])
        )
        message = f"expected {self._wants()}; {why}"
        return found.but(message=message, at=(place[0] + len(self.source) - len(written), place[1]))

    def absence(self, trail: Trail) -> Mismatch:
        seen = "no such path" if self.negated else "is missing"
        return self._mismatch(ABSENT, trail, f"{seen}; expected {self._wants()}")

    def _wants(self) -> str:
        if self.accepts_absence:
            return "nothing, or null"
        wants = self.matcher.wants(self.parameter)
        return f"anything but {wants}" if self.negated else wants

    def _mismatch(self, actual: object, trail: Trail, message: str) -> Mismatch:
        return Mismatch(
            path=render_trail(trail),
            expected=self.source,
            actual=actual,
            message=message,
            is_described=self.is_description,
        )


def parse_pattern(source: str, registry: Registry, read_beside: Reader = None) -> Pattern:
    """Compile a string that begins with `match:`, or raise `PatternError`.

    `read_beside` gives the text of a file that is named relative to the test file.
    """
    at = len(PREFIX)
    negated = source.startswith("not:", at)
    if negated:
        at += len("not:")
    if source.startswith("not:", at):
        raise _error("F013", "a pattern can be negated once", at, 4, "write it without both not:")
    body = source[at:]
    if negated:
        _refuse_second_prefix(body, at)
    # The word that it begins with is a name if nothing or a colon follows.
    word = re.match(_WORD, body)
    name = word[0] if word and body[word.end() : word.end() + 1] in ("", ":") else ""
    matcher = registry.find(name) if name else None
    if matcher is None:
        if name:
            _refuse_near_miss(name, body, at, registry, negated=negated)
        return _parse_expression(source, body, at, negated, registry)
    texts = _split(body[len(name) + 1 :], len(matcher.parameters)) if ":" in body else []
    parameter = _parse_parameters(matcher, texts, at, read_beside)
    return Pattern(source=source, matcher=matcher, parameter=parameter, negated=negated)


def find_missing_prefix(text: str, registry: Registry) -> PatternError | None:
    """An error for a string that would be a pattern with `match:` in front, else None.

    `contains:sunny` is meant as a pattern; "contains: 3 items" is prose.
    """
    body = text.removeprefix("not:")
    name, _, rest = body.partition(":")
    matcher = registry.get(name)
    if matcher is None or not matcher.parameters or not rest or rest[0].isspace() or "\n" in rest:
        return None
    texts = _split(rest, len(matcher.parameters))
    try:
        if len(texts) != len(matcher.parameters):
            return None
        # The file of a schema need not exist to see what is meant.
        if not matcher.reads_file:
            matcher.parse(*texts)
    except ValueError:
        return None
    message = f'"{name}" is a matcher, and this is compared as a plain string'
    help = f"write {PREFIX}{text}, or {PREFIX}equals:{text} when exactly that string is meant"
    return _error("F018", message, 0, len(text) - len(rest) - 1, help)


def _split(text: str, count: int) -> list[str]:
    # Values may hold colons, so only as many are split as there are parameters.
    return text.split(":", count - 1) if count else [text]


def _parse_parameters(matcher: Matcher, texts: list[str], at: int, read_beside: Reader) -> Any:
    wanted = len(matcher.parameters)
    example = f"for example {matcher.example}"
    if not wanted - matcher.optional <= len(texts) <= wanted:
        least = f"{wanted - matcher.optional} or " if matcher.optional else ""
        noun = f"parameter{'s' if wanted != 1 else ''}"
        takes = f"{least}{wanted} {noun}" if wanted else "no parameter"
        message = f'the matcher "{matcher.name}" takes {takes}, and {len(texts) or "none"} is given'
        raise _error("F013", message, at, len(matcher.name), example)
    offset = at + len(matcher.name) + 1
    try:
        return matcher.parse(*texts, read_beside) if matcher.reads_file else matcher.parse(*texts)
    except ParameterError as error:
        message = f'the matcher "{matcher.name}" {error}'
        help = error.help or example
        raise _error(error.code, message, offset, len(":".join(texts)), help) from None


def _parse_expression(
    source: str, body: str, at: int, negated: bool, registry: Registry
) -> Pattern:
    """The pattern for a body that names no matcher: a regular expression."""
    matcher = registry.get("regex")
    assert matcher is not None
    word = re.match(_WORD, body.lstrip())
    if body[:1] == " " and word and registry.get(word[0]):
        # ` contains:x` would be searched as it is written, and with not: would always pass.
        message = f'there is a space before the matcher "{word[0]}"'
        raise _error("F012", message, at, len(body) - len(body.lstrip()), "leave it out")
    if not body:
        message = "a pattern needs something after match:"
        raise _error("F013", message, 0, len(source), "for example match:contains:sunny")
    try:
        parameter = matcher.parse(body)
    except ParameterError as error:
        start = f"{PREFIX}{'not:' if negated else ''}contains:"
        help = f"to search for exactly this string, write {start} in front of it"
        raise _error("F015", f"the pattern {error}", at, len(body), help) from None
    return Pattern(source=source, matcher=matcher, parameter=parameter, negated=negated)


def _refuse_second_prefix(body: str, at: int) -> None:
    """`match:not:match:contains:x` would search for "match:contains:x", and so always pass."""
    rest = body.lstrip()
    if rest[: len(PREFIX)].lower() != PREFIX:
        return
    message = f'"{PREFIX}" is written once, in front of "not:"'
    meant = rest[len(PREFIX) :].lstrip().removeprefix("not:")
    help = f"write {PREFIX}not:{meant}; to search for exactly this string, write "
    width = len(body) - len(rest) + len(PREFIX)
    raise _error("F012", message, at, width, f"{help}{PREFIX}not:contains:{body}")


def _refuse_near_miss(name: str, body: str, at: int, registry: Registry, *, negated: bool) -> None:
    if name.lower() == "not":
        message = f'"{PREFIX}not:" is written in small letters, and a pattern follows it'
        raise _error("F012", message, at, len(name), "for example match:not:contains:secret")
    # "all: 3 passed" is prose.
    if name in registry.directives and body[len(name) : len(name) + 2] != ": ":
        message = f'"{PREFIX}{name}" is a directive: write it as a key, and what it takes below it'
        example = f"for example {registry.directives[name].example}"
        raise _error("F014", message, at, len(name), example)
    meant = suggest_matcher(name, registry.names)
    search = (
        f"to search for the string itself, write {PREFIX}{'not:' if negated else ''}contains:{body}"
    )
    if meant:
        message = f'unknown matcher "{name}"; did you mean "{meant}"?'
        raise _error("F012", message, at, len(name), search)
    if re.fullmatch(_CAMEL_CASE, name) and body != name:
        # A word like this with a colon can only be meant as a matcher.
        message = f'unknown matcher "{name}"'
        help = f"docs/matchers.md lists what there is; {search}"
        raise _error("F012", message, at, len(name), help)


_CAMEL_CASE = r"[a-z]+([A-Z][a-z]+)+"


def suggest_matcher(name: str, known: tuple[str, ...]) -> str:
    """The matcher that a word was meant to be, "" if none."""
    word = name.replace("_", "").replace("-", "").lower()
    if word in _BY_HABIT:
        return _BY_HABIT[word]
    near = [
        (edit_distance(word, candidate.lower()), candidate)
        for candidate in sorted(known)
        if _may_be(word, candidate.lower())
    ]
    distance, best = min(near, default=(3, ""))
    # Two typos in a word of four letters are another word: "text" is not "type".
    if distance <= (2 if len(word) > 4 else 1):
        return best
    # One typo in a word that is long enough to be meant: "grater" for "greater".
    for habit, meant in _BY_HABIT.items():
        if len(habit) > 5 and _may_be(word, habit) and edit_distance(word, habit) == 1:
            return meant
    return ""


def _may_be(word: str, name: str) -> bool:
    """True if a word may be this name: most typos do not change the first letter.

    If it is missing or swapped, the rest must be right: "ontains", but not "amount" for "count".
    """
    if name[0] == word[0]:
        return abs(len(name) - len(word)) <= 2
    is_lost = name[1:] == word and len(word) > 2 and word not in _WORDS
    return is_lost or name == word[1:2] + word[0] + word[2:]


# Names without their first letter that are words of their own.
_WORDS = frozenset(["mail", "son"])


def _error(code: str, message: str, offset: int, width: int, help: str) -> PatternError:
    diagnostic = PathDiagnostic(code=code, message=message, help=help, offset=offset, width=width)
    return PatternError(diagnostic)
