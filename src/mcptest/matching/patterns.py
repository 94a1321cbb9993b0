"""Text that begins with `match:`, turned into a pattern once, when a file is loaded.

    match:contains:sunny        a matcher of the registry, with its parameters
    match:not:contains:sunny    its negation
    match:File not found        no known name: a regular expression, searched

A misspelt name would be searched as text and could pass by accident, so a near
miss of a known name is an error that names the right one.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import Complaint
from mcptest.core.errors import PatternTimeoutError
from mcptest.core.outcome import ABSENT, Mismatch
from mcptest.core.paths import render_trail
from mcptest.core.record import Record
from mcptest.core.suggest import edit_distance
from mcptest.matching.planned import PLANNED_MATCHERS
from mcptest.matching.registry import Matcher, Miss, Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.paths import Trail

__all__ = ["PREFIX", "Pattern", "PatternError", "parse_pattern"]

PREFIX = "match:"

# Names people bring from other tools, and what they are called here.
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
}

_WORD = r"[A-Za-z][A-Za-z0-9]*"


class PatternError(ValueError):
    """A `match:` text that makes no sense."""

    def __init__(self, complaint: Complaint) -> None:
        super().__init__(complaint.message)
        self.complaint = complaint


class Pattern(Record):
    """A compiled `match:` text."""

    source: str
    matcher: Matcher
    parameter: Any
    negated: bool

    @property
    def accepts_absence(self) -> bool:
        return self.negated and self.matcher.name == "exists"

    def mismatch(self, actual: object, trail: Trail) -> Mismatch | None:
        """None when the value meets the pattern, else why it does not."""
        try:
            miss = self.matcher.check(self.parameter, actual)
        except PatternTimeoutError as error:
            raise PatternTimeoutError(error.limit_s, self.source) from None
        wants = self.matcher.wants(self.parameter)
        if self.negated:
            why = None if miss else Miss(why="it is just that")
            wants = f"anything but {wants}"
            if self.accepts_absence:
                wants, why = "nothing, or null", why and Miss(why="it is there")
        else:
            why = miss
        if why is None:
            return None
        return self._mismatch(actual, trail, f"expected {wants}; {why.why}", why.hint)

    def absence(self, trail: Trail) -> Mismatch:
        wants = self.matcher.wants(self.parameter)
        lead = "anything but " if self.negated else ""
        return self._mismatch(ABSENT, trail, f"is missing; expected {lead}{wants}", "")

    def _mismatch(self, actual: object, trail: Trail, message: str, hint: str) -> Mismatch:
        return Mismatch(
            path=render_trail(trail),
            expected=self.source,
            actual=actual,
            message=message,
            hint=hint,
        )


def parse_pattern(source: str, registry: Registry) -> Pattern:
    """Compile a text that begins with `match:`, or raise `PatternError`."""
    at = len(PREFIX)
    negated = source.startswith("not:", at)
    if negated:
        at += len("not:")
    if source.startswith("not:", at):
        raise _error("F013", "a pattern can be negated once", at, 4, "write it without both not:")
    body = source[at:]
    word = re.match(_WORD, body)
    name = word[0] if word else ""
    is_named = bool(name) and body[len(name) : len(name) + 1] in ("", ":")
    matcher = registry.get(name) if is_named else None
    if matcher is None:
        if is_named:
            _refuse_near_miss(name, body, at, registry)
        _refuse_spaced(body, at, registry)
        return _bare(source, body, at, negated, registry)
    texts = _split(body[len(name) + 1 :], len(matcher.parameters)) if ":" in body else []
    parameter = _parse_parameters(matcher, texts, at)
    return Pattern(source=source, matcher=matcher, parameter=parameter, negated=negated)


def _split(text: str, count: int) -> list[str]:
    # Values may hold colons, so only as many are split as there are parameters.
    return text.split(":", count - 1) if count else [text]


def _parse_parameters(matcher: Matcher, texts: list[str], at: int) -> Any:
    wanted = len(matcher.parameters)
    example = f"for example {matcher.example}"
    if len(texts) != wanted:
        takes = f"{wanted} parameter{'s' if wanted != 1 else ''}" if wanted else "no parameter"
        message = f'the matcher "{matcher.name}" takes {takes}, and {len(texts) or "none"} is given'
        raise _error("F013", message, at, len(matcher.name), example)
    offset = at + len(matcher.name) + 1
    try:
        return matcher.parse(*texts)
    except ValueError as error:
        code = "F015" if matcher.name == "regex" and texts[0] else "F013"
        message = f'the matcher "{matcher.name}" {error}'
        raise _error(code, message, offset, sum(map(len, texts)), example) from None


def _bare(source: str, body: str, at: int, negated: bool, registry: Registry) -> Pattern:
    matcher = registry.get("regex")
    assert matcher is not None
    if not body:
        message = "a pattern needs something after match:"
        raise _error("F013", message, 0, len(source), "for example match:contains:sunny")
    try:
        parameter = matcher.parse(body)
    except ValueError as error:
        help = "to search for this very text, write match:contains: in front of it"
        raise _error("F015", f"the pattern {error}", at, len(body), help) from None
    return Pattern(source=source, matcher=matcher, parameter=parameter, negated=negated)


def _refuse_spaced(body: str, at: int, registry: Registry) -> None:
    """` contains:x` would be searched as it is written, and with not: would always pass."""
    word = re.match(_WORD, body.lstrip())
    if body[:1] == " " and word and registry.get(word[0]):
        message = f'there is a space before the matcher "{word[0]}"'
        raise _error("F012", message, at, len(body) - len(body.lstrip()), "leave it out")


def _refuse_near_miss(name: str, body: str, at: int, registry: Registry) -> None:
    if name in PLANNED_MATCHERS:
        message = f'the matcher "{name}" is not supported by this version of mcptest'
        raise _error("F010", message, at, len(name), f"there are: {', '.join(registry.names)}")
    if name.lower() == "not":
        message = f'"{PREFIX}not:" is written in small letters, and a pattern follows it'
        raise _error("F012", message, at, len(name), "for example match:not:contains:secret")
    if name in registry.directives:
        message = f'"{PREFIX}{name}" is a directive: write it as a key, and what it takes below it'
        example = f"for example {registry.directives[name].example}"
        raise _error("F014", message, at, len(name), example)
    meant = near_miss(name, registry.names + tuple(PLANNED_MATCHERS))
    if meant:
        help = f"to search for the text itself, write match:contains:{body}"
        message = f'unknown matcher "{name}"; did you mean "{meant}"?'
        raise _error("F012", message, at, len(name), help)
    if re.fullmatch(_CAMEL_CASE, name) and body != name:
        # Nobody writes such a word and a colon but to name a matcher.
        message = f'unknown matcher "{name}"'
        raise _error("F012", message, at, len(name), f"there are: {', '.join(registry.names)}")


_CAMEL_CASE = r"[a-z]+([A-Z][a-z]+)+"


def near_miss(name: str, known: tuple[str, ...]) -> str:
    """The matcher a word was meant to be, or "" when it is just text."""
    if name in HABITS:
        return HABITS[name]
    near = [
        (edit_distance(name.lower(), candidate.lower()), candidate)
        for candidate in sorted(known)
        if candidate[0].lower() == name[0].lower() and abs(len(candidate) - len(name)) <= 2
    ]
    distance, best = min(near, default=(3, ""))
    # Two slips in a word of four letters are another word: "text" is not "type".
    return best if distance <= (2 if len(name) > 4 else 1) else ""


def _error(code: str, message: str, offset: int, width: int, help: str) -> PatternError:
    complaint = Complaint(code=code, message=message, help=help, offset=offset, width=width)
    return PatternError(complaint)
