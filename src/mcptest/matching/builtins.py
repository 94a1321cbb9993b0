"""Everything that comes with the package, in one registry.

A family of matchers is loaded when a file first uses one of it: most runs need two or
three of them, and starting is part of the product.
"""

from __future__ import annotations

from mcptest.matching.directives import DIRECTIVES
from mcptest.matching.registry import Family, Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest.matching.plugin_matcher import Plugins
    from mcptest.matching.registry import Matcher
    from mcptest.matching.schema_matchers import Trial

__all__ = ["builtin_registry"]

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
        from mcptest.matching.date_matchers import date_matchers  # noqa: PLC0415  # see above

        return date_matchers(now)

    def asking() -> tuple[Matcher, ...]:
        from mcptest.matching.plugin_matcher import plugin_matcher  # noqa: PLC0415  # see above

        return (plugin_matcher(plugins),)

    def schemas() -> tuple[Matcher, ...]:
        from mcptest.matching.schema_matchers import schema_matchers  # noqa: PLC0415  # see above

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
    from mcptest.matching.value_matchers import VALUE_MATCHERS  # noqa: PLC0415  # see above

    return VALUE_MATCHERS


def _texts() -> tuple[Matcher, ...]:
    from mcptest.matching.text_matchers import TEXT_MATCHERS  # noqa: PLC0415  # see above

    return TEXT_MATCHERS


def _arrays() -> tuple[Matcher, ...]:
    from mcptest.matching.array_matchers import ARRAY_MATCHERS  # noqa: PLC0415  # see above

    return ARRAY_MATCHERS


def _numbers() -> tuple[Matcher, ...]:
    from mcptest.matching.number_matchers import NUMBER_MATCHERS  # noqa: PLC0415  # see above

    return NUMBER_MATCHERS


def _formats() -> tuple[Matcher, ...]:
    from mcptest.matching.format_matchers import FORMAT_MATCHERS  # noqa: PLC0415  # see above

    return FORMAT_MATCHERS


def _fields() -> tuple[Matcher, ...]:
    from mcptest.matching.field_matchers import FIELD_MATCHERS  # noqa: PLC0415  # see above

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
