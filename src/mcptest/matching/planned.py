"""Words of the pattern language that this version does not have yet.

They are errors that say so, never plain text to search for.
"""

from __future__ import annotations

__all__ = ["PLANNED_DIRECTIVES", "PLANNED_MATCHERS"]

PLANNED_MATCHERS = frozenset(
    """
    containsIgnoreCase equalsIgnoreCase stringLength stringLengthGreaterThan
    stringLengthGreaterThanOrEqual stringLengthLessThan stringLengthLessThanOrEqual
    stringLengthBetween stringEmpty stringNotEmpty arrayLengthGreaterThan
    arrayLengthGreaterThanOrEqual arrayLengthLessThan arrayLengthLessThanOrEqual
    arrayLengthBetween equals notEquals greaterThan greaterThanOrEqual lessThan
    lessThanOrEqual between range approximately multipleOf divisibleBy decimalPlaces
    dateValid dateAfter dateBefore dateBetween dateAge dateEquals dateFormat crossField
    uuid email url ipv4 ipv6 json base64 semver jwt hostname unique sorted positive
    negative integer oneOf jsonSchema notEmpty empty
    """.split()  # noqa: SIM905  # sixty quoted words are harder to read
)
PLANNED_DIRECTIVES = frozenset(["anyElement", "crossField", "not:crossField", "all", "any"])
