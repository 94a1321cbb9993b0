"""The names of all matchers, by module of this package.

Made from the modules by `python -m tools.generate_docs`; do not edit. To add a matcher, add its
declaration to a module here and run that.
"""

from __future__ import annotations

__all__ = ["NAMES_BY_MODULE"]

NAMES_BY_MODULE: dict[str, tuple[str, ...]] = {
    "values": (
        "type",
        "exists",
        "equals",
        "notEquals",
        "oneOf",
    ),
    "text": (
        "regex",
        "contains",
        "containsIgnoreCase",
        "startsWith",
        "endsWith",
        "equalsIgnoreCase",
        "stringLength",
        "stringLengthGreaterThan",
        "stringLengthGreaterThanOrEqual",
        "stringLengthLessThan",
        "stringLengthLessThanOrEqual",
        "stringLengthBetween",
        "stringEmpty",
        "stringNotEmpty",
    ),
    "arrays": (
        "length",
        "count",
        "empty",
        "notEmpty",
        "arrayLength",
        "arrayLengthGreaterThan",
        "arrayLengthGreaterThanOrEqual",
        "arrayLengthLessThan",
        "arrayLengthLessThanOrEqual",
        "arrayLengthBetween",
        "arrayContains",
        "unique",
        "sorted",
    ),
    "numbers": (
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
    "dates": (
        "dateValid",
        "dateAfter",
        "dateBefore",
        "dateBetween",
        "dateEquals",
        "dateFormat",
        "dateAge",
    ),
    "formats": (
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
    "objects": (
        "crossField",
        "jsonSchema",
        "plugin",
    ),
}
