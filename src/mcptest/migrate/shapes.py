"""Expected values as their authors write them: what is plain, and what may be missing."""

from __future__ import annotations

from mcptest.formats.stream import Tagged
from mcptest.matching.patterns import PREFIX
from mcptest.migrate.pattern_words import NEGATION, is_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = ["ABSENT_PATTERN", "directives_in", "is_plain", "may_be_absent"]

ABSENT_PATTERN = f"{PREFIX}{NEGATION}exists"


def directives_in(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a value is a mapping with directives in it."""
    return isinstance(value, dict) and any(key.startswith(PREFIX) for key in value)


def is_plain(value: object) -> bool:
    """Whether a value means just itself: no pattern, no directive, no tag is in it."""
    if isinstance(value, dict):
        return not directives_in(value) and all(map(is_plain, value.values()))
    if isinstance(value, list):
        return all(map(is_plain, value))
    return not is_pattern(value) and not isinstance(value, Tagged)


def may_be_absent(value: object) -> bool:
    """Whether this is met by a key that is not there."""
    if is_pattern(value):
        return value == ABSENT_PATTERN
    if not directives_in(value):
        return False
    return all(_directive_may_be_absent(key, inner) for key, inner in value.items())


def _directive_may_be_absent(key: str, value: object) -> bool:
    members = value if isinstance(value, list) else []
    if key == f"{PREFIX}any":
        return any(map(may_be_absent, members))
    return key == f"{PREFIX}all" and all(map(may_be_absent, members))
