"""Everything that comes with the package, in one registry."""

from __future__ import annotations

from mcptest.matching.array_matchers import ARRAY_MATCHERS, SIZE_MATCHERS
from mcptest.matching.date_matchers import date_matchers
from mcptest.matching.directives import DIRECTIVES
from mcptest.matching.field_matchers import FIELD_MATCHERS
from mcptest.matching.format_matchers import FORMAT_MATCHERS
from mcptest.matching.number_matchers import NUMBER_MATCHERS
from mcptest.matching.registry import Registry
from mcptest.matching.schema_matchers import SCHEMA_MATCHERS
from mcptest.matching.text_matchers import TEXT_MATCHERS
from mcptest.matching.value_matchers import VALUE_MATCHERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["builtin_registry"]


def builtin_registry(now: Callable[[], float] | None = None) -> Registry:
    """Every matcher and directive there is.

    `now` says what time it is, in seconds since 1970, for `match:dateAge`; without it,
    that matcher can be read but not used.
    """
    matchers = (
        *VALUE_MATCHERS,
        *TEXT_MATCHERS,
        *SIZE_MATCHERS,
        *ARRAY_MATCHERS,
        *NUMBER_MATCHERS,
        *date_matchers(now),
        *FORMAT_MATCHERS,
        *FIELD_MATCHERS,
        *SCHEMA_MATCHERS,
    )
    return Registry(matchers, DIRECTIVES)
