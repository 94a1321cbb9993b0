"""Expectations as a suite writes them.

`match:…` patterns become matchers, expectations for elements JSON Schemas. An expected response
is taken apart into assertions: plain values are compared whole, each pattern becomes an assertion
of its own, and where no other members are allowed, that is asserted as well. The assertions accept
exactly the same responses; where that is impossible, LeftBehindError.
"""

from __future__ import annotations

import re

from mcptest.core.strict_json import dump_json
from mcptest.core.text import EVERY, render_path
from mcptest.core.value_class import Record
from mcptest.formats.yaml.full import Tagged
from mcptest.formats.yaml.quick import resolve_plain
from mcptest.matching.case_tags import literal_parts, read_tag
from mcptest.matching.json_values import (
    exact_number,
    is_equal,
    is_same_number,
    parse_exact,
    parse_field_path,
)
from mcptest.matching.matchers.values import values_equal_to
from mcptest.matching.patterns import PREFIX, Pattern, parse_pattern
from mcptest.migrate.drafts import LeftBehindError, escape_references
from mcptest.protocol.jsonrpc import describe_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeGuard

    from mcptest.core.plan import Leniency
    from mcptest.matching.registry import Registry

    Matcher = dict[str, object]
    Schema = dict[str, object]
    Steps = tuple[str | int, ...]
    Assertion = dict[str, object]

__all__ = [
    "NEGATION",
    "CaseTags",
    "ResponseReader",
    "Setting",
    "convert_pattern",
    "convert_to_schema",
    "escape_regex",
    "has_directives",
    "is_pattern",
    "is_plain",
    "render_target",
]

NEGATION = "not:"
_ABSENT_PATTERN = f"{PREFIX}{NEGATION}exists"

# Patterns with one string as their argument, and numeric comparisons: what a suite calls them.
_STRING_MATCHERS = {
    "contains": "contains",
    "containsIgnoreCase": "icontains",
    "startsWith": "starts-with",
    "endsWith": "ends-with",
    "regex": "regex",
    "type": "type",
}
_NUMBER_MATCHERS = {
    "greaterThan": "gt",
    "greaterThanOrEqual": "gte",
    "lessThan": "lt",
    "lessThanOrEqual": "lte",
}


class Setting(Record):
    """What the conversion of a file depends on.

    `has_references` says that `${name}` is a reference in this file. `relocate` turns the name
    of a file beside the source into its name as seen from the new suite; `read_beside` reads it.
    """

    registry: Registry
    has_references: bool
    relocate: Callable[[str], str]
    read_beside: Callable[[str], str] | None = None


# Expected values


def is_pattern(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)


def has_directives(value: object) -> TypeGuard[dict[str, object]]:
    """True for a mapping with at least one `match:` key."""
    return isinstance(value, dict) and any(key.startswith(PREFIX) for key in value)


def is_plain(value: object) -> bool:
    """True if a value contains no pattern, no directive and no tag."""
    if isinstance(value, dict):
        return not has_directives(value) and all(map(is_plain, value.values()))
    if isinstance(value, list):
        return all(map(is_plain, value))
    return not is_pattern(value) and not isinstance(value, Tagged)


def _may_be_absent(value: object) -> bool:
    """True if a missing key meets this expectation."""
    if not has_directives(value):
        return value == _ABSENT_PATTERN
    choices = {f"{PREFIX}any": any, f"{PREFIX}all": all}
    return all(
        key in choices and isinstance(inner, list) and choices[key](map(_may_be_absent, inner))
        for key, inner in value.items()
    )


def escape_regex(text: str) -> str:
    """Return a regular expression for exactly this string."""
    return re.sub(r"[\\^$.|?*+()\[\]{}]", r"\\\g<0>", text)


# Patterns


def convert_pattern(source: str, setting: Setting) -> Matcher:
    """Return the matcher that makes the same check as a `match:…` pattern."""
    body = source.removeprefix(PREFIX)
    # A captured value is inserted as a string in a pattern, and with its own type elsewhere.
    if not (setting.has_references and "${" in body):
        matcher = _suite_matcher(body.removeprefix(NEGATION), setting)
        if matcher and not body.startswith(NEGATION):
            return matcher
        if matcher:
            return {"exists": False} if "exists" in matcher else {"not": matcher}
    # A suite removes one prefix, so a prefix that belongs to the pattern needs another one.
    return {"pattern": PREFIX + body if body.startswith(PREFIX) else body}


def _suite_matcher(body: str, setting: Setting) -> Matcher | None:
    """Return the suite's own matcher for a pattern, None if there is none."""
    name, colon, rest = body.partition(":")
    known = re.fullmatch("[A-Za-z][A-Za-z0-9]*", name) and setting.registry.find(name)
    if not known:
        return {"regex": body}
    if name in _STRING_MATCHERS:
        return {_STRING_MATCHERS[name]: rest}
    if name == "jsonSchema":
        return {"schema": setting.relocate(rest.strip())}
    if name in ("equals", "oneOf"):
        values = values_equal_to((rest,) if name == "equals" else known.parse(rest))
        if not values or not all(isinstance(value, str) for value in values):
            return None
        return {"exact": values[0]} if name == "equals" else {"one-of": list(values)}
    if not colon:
        simple: dict[str, Matcher] = {"exists": {"exists": True}, "stringEmpty": {"exact": ""}}
        return simple.get(name)
    if name == "length" and re.fullmatch("0|[1-9][0-9]{0,17}", rest):
        return {"length": int(rest)}
    if name in _NUMBER_MATCHERS:
        number = _read_number(rest)
        return None if number is None else {_NUMBER_MATCHERS[name]: number}
    if name in ("between", "range"):
        low, high = (_read_number(text) for text in rest.split(":", 1))
        return None if low is None or high is None else {"between": [low, high]}
    return None


def _read_number(text: str) -> float | None:
    """Return a number, None if writing it in YAML would change it."""
    try:
        value = resolve_plain(text.strip())
    except ValueError:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    written, read = parse_exact(text), exact_number(value)
    is_kept = written and read and parse_exact(dump_json(value)) and is_same_number(written, read)
    return value if is_kept else None


# JSON Schemas

_PATTERN_SCHEMAS: dict[str, Schema] = {
    "exists": {"not": {"type": "null"}},
    "not:exists": {"type": "null"},
    "stringEmpty": {"const": ""},
    "stringNotEmpty": {"type": "string", "minLength": 1},
    "integer": {"type": "integer"},
}
_SIZES = {"stringLength": ("string", "Length"), "arrayLength": ("array", "Items")}


def convert_to_schema(value: object, leniency: Leniency = "") -> Schema:
    """Return the JSON Schema that exactly the same values meet.

    Only a schema can say something about every element of an array in a suite.
    """
    if has_directives(value):
        parts = _directive_schemas(value)
        return parts[0] if len(parts) == 1 else {"allOf": parts}
    if is_pattern(value):
        return _pattern_schema(str(value).removeprefix(PREFIX))
    if is_plain(value) and (not leniency or not isinstance(value, (dict, list))):
        return {"const": value}
    if isinstance(value, dict):
        properties = {key: convert_to_schema(inner, leniency) for key, inner in value.items()}
        schema: Schema = {"type": "object", "properties": properties}
        required = [key for key, inner in value.items() if not _may_be_absent(inner)]
        if required:
            schema["required"] = required
        if not leniency:
            schema["additionalProperties"] = False
        return schema
    if isinstance(value, list):
        schema = {"type": "array", "minItems": len(value)}
        if value:
            schema["prefixItems"] = [convert_to_schema(inner, leniency) for inner in value]
        if leniency != "all":
            schema["maxItems"] = len(value)
        return schema
    raise LeftBehindError("a tag is expected of elements, and a JSON Schema cannot express it")


def _directive_schemas(value: dict[str, object]) -> list[Schema]:
    found: list[Schema] = []
    for key, inner in value.items():
        name = key.removeprefix(PREFIX)
        if not key.startswith(PREFIX):
            continue
        if name == "partial":
            found.append(convert_to_schema(inner, "all"))
        elif name == "arrayElements":
            found.append({"type": "array", "items": convert_to_schema(inner)})
        elif name == "anyElement":
            found.append({"type": "array", "contains": convert_to_schema(inner)})
        elif name in ("all", "any") and isinstance(inner, list):
            found.append({f"{name}Of": [convert_to_schema(member) for member in inner]})
        else:
            reason = f"{key} is expected of elements, and a JSON Schema cannot express it"
            raise LeftBehindError(reason)
    siblings = {key: inner for key, inner in value.items() if not key.startswith(PREFIX)}
    return [*found, convert_to_schema(siblings, "all")] if siblings else found


def _pattern_schema(body: str) -> Schema:
    if body in _PATTERN_SCHEMAS:
        return dict(_PATTERN_SCHEMAS[body])
    name, _, rest = body.partition(":")
    if name == "type":
        kinds = [kind.strip() for kind in rest.split("|")]
        return {"type": kinds[0] if len(kinds) == 1 else kinds}
    if name in _SIZES and rest.strip().isdecimal():
        kind, unit = _SIZES[name]
        return {"type": kind, f"min{unit}": int(rest), f"max{unit}": int(rest)}
    if body.startswith(NEGATION):
        return {"not": _pattern_schema(body.removeprefix(NEGATION))}
    reason = f'"{name}" is expected of elements, and a JSON Schema cannot express it exactly'
    raise LeftBehindError(reason)


_ROOTS = ("result", "error")
_RELATIONS = (f"{PREFIX}crossField", f"{PREFIX}not:crossField")


class CaseTags:
    """The tags (`!!re` …) in one response of a contract.

    `bound` are the names that earlier messages of the case have bound, `used` those that it
    refers to anywhere. A name that is bound here and used becomes one of the `captures`.
    """

    def __init__(self, bound: tuple[str, ...] = (), used: tuple[str, ...] = ()) -> None:
        self._bound = bound
        self._used = used
        self.captures: dict[str, str] = {}

    def convert(self, tagged: Tagged, target: str) -> Matcher | None:
        """Return the matcher for a tag; None if capturing the value checks all there is."""
        if tagged.tag == "bind" and tagged.text in self._used:
            self.captures[tagged.text] = target
            return None
        if tagged.tag == "ref":
            return {"exact": self.refer_to(tagged.text)}
        if tagged.tag == "type":
            return {"type": tagged.text}
        if tagged.tag == "re":
            return {"type": "string", "regex": escape_references(tagged.text)}
        if tagged.tag == "ere":
            parts = enumerate(literal_parts(tagged.text))
            regex = "".join(f"(?:{each})" if at % 2 else escape_regex(each) for at, each in parts)
            return {"type": "string", "regex": escape_references(f"^{regex}$")}
        return {"any": [{"exists": True}, {"exact": None}]}

    def refer_to(self, name: str) -> str:
        """Return the reference to a bound name as a suite writes it."""
        if name not in self._bound:
            raise LeftBehindError(f"the value of {name} is bound by another case or message")
        return f"${{{name}}}"


class ResponseReader:
    """Takes one expected response apart; `assertions` are the result."""

    def __init__(self, setting: Setting, tags: CaseTags | None = None) -> None:
        self._setting = setting
        # Only contracts have tags, and a contract always says whether a result or an error comes.
        self._is_contract = tags is not None
        self._tags = tags or CaseTags()
        self.assertions: list[Assertion] = []

    # The response

    def read(self, response: object, id: object, leniency: Leniency, *, has_envelope: bool) -> None:
        """Add the assertions for the response to the request with this id.

        `has_envelope` says that the source writes out jsonrpc and id.
        """
        if not isinstance(response, dict):
            raise LeftBehindError("its pattern is about the whole response, with its envelope")
        if has_directives(response):
            self._read_directives(response, id)
        else:
            self._read_members(response, id, leniency, has_envelope=has_envelope)
        if not self.assertions and not self._tags.captures:
            raise LeftBehindError("it checks only the envelope of the response")

    def _read_directives(self, response: dict[str, object], id: object) -> None:
        siblings = _siblings(response)
        for key, value in response.items():
            if key == f"{PREFIX}partial" and isinstance(value, dict) and not has_directives(value):
                self._read_members(value, id, "all", has_envelope=False)
            elif key == f"{PREFIX}extractField":
                self._add_extracted((), value, siblings.pop("value"))
            elif key == f"{PREFIX}all" and isinstance(value, list):
                for each in value:
                    self.read(each, id, "", has_envelope=True)
            elif key.startswith(PREFIX):
                raise LeftBehindError(f"{key} is about the whole response, with its envelope")
        if siblings:
            self._read_members(siblings, id, "all", has_envelope=False)

    def _read_members(
        self, members: dict[str, object], id: object, leniency: Leniency, *, has_envelope: bool
    ) -> None:
        envelope = {"jsonrpc": "2.0", "id": id}
        for key, actual in envelope.items():
            if key in members:
                self._check_envelope(key, members[key], actual)
            elif not leniency and has_envelope:
                reason = f'the expected response has no "{key}", so no response can match'
                raise LeftBehindError(reason)
        required = [
            root for root in _ROOTS if not _may_be_absent(members.get(root, _ABSENT_PATTERN))
        ]
        if not leniency and not required:
            raise LeftBehindError("every response has a result or an error, and it expects neither")
        for key, value in members.items():
            if key in _ROOTS:
                read = self._add_value if self._is_contract else self._add_member
                read(value, (key,), leniency)
            elif key not in envelope:
                raise LeftBehindError(f'"{key}" is in the envelope of the response')

    def _check_envelope(self, key: str, expected: object, actual: object) -> None:
        """Refuse an expectation that the envelope of the suite's own request does not meet."""
        if isinstance(expected, Tagged) or is_pattern(expected):
            is_met = _is_met(expected, actual, self._setting)
        else:
            is_met = is_plain(expected) and is_equal(expected, actual)
        if not is_met:
            shown = describe_id(actual) if key == "id" else f"{key} {dump_json(actual)}"
            raise LeftBehindError(f"the response will have {shown}, and something else is expected")

    # Values in it

    def _add_member(self, value: object, steps: Steps, leniency: Leniency) -> None:
        """Add what is expected of a key, which may be missing."""
        if not _may_be_absent(value):
            self._add_value(value, steps, leniency)
        elif value == _ABSENT_PATTERN:
            self._add(steps, {"exists": False})
        else:
            choices = [value]
            if has_directives(value) and list(value) == [f"{PREFIX}any"]:
                members = _items(value[f"{PREFIX}any"])
                choices = [each for each in members if each != _ABSENT_PATTERN]
            self._add(steps, {"any": [{"exists": False}, *map(self._make_matcher, choices)]})

    def _add_value(self, value: object, steps: Steps, leniency: Leniency) -> None:
        """Add what is expected of a value that must exist."""
        if isinstance(value, Tagged):
            self._add(steps, self._tags.convert(value, render_target(steps)))
        elif value == _ABSENT_PATTERN:
            self._add(steps, {"exact": None})
        elif is_pattern(value):
            self._add(steps, convert_pattern(str(value), self._setting))
        elif has_directives(value):
            self._add_directives(value, steps)
        elif is_plain(value):
            self._add_plain(value, steps, leniency)
        elif EVERY in steps:
            self._add(steps, {"schema": convert_to_schema(value, leniency)})
        elif isinstance(value, dict):
            self._add_object(value, steps, leniency)
        elif isinstance(value, list):
            if leniency != "all":
                self._add(steps, {"length": len(value)})
            for index, inner in enumerate(value):
                self._add_value(inner, (*steps, index), leniency)

    def _add_object(self, value: dict[str, object], steps: Steps, leniency: Leniency) -> None:
        matcher: Matcher = {}
        if not leniency and any(map(_may_be_absent, value.values())):
            matcher = {"schema": {"propertyNames": {"enum": list(value)}}}
        elif not leniency:
            matcher = {"pattern": f"count:{len(value)}"}
        # The other assertions do not prove that it is an object: a key of digits also finds an
        # element of an array, and any value lacks a key that must be absent.
        if all(key.isdecimal() or _may_be_absent(each) for key, each in value.items()):
            matcher = {"type": "object", **matcher}
        self._add(steps, matcher)
        for key, inner in value.items():
            self._add_member(inner, (*steps, key), leniency)

    def _add_plain(self, value: object, steps: Steps, leniency: Leniency) -> None:
        is_lenient = leniency and isinstance(value, (dict, list))
        if not is_lenient or (leniency == "objects" and not _has_objects(value)):
            self._add(steps, {"exact": value})
        elif not value:
            self._add(steps, {"type": "object" if isinstance(value, dict) else "array"})
        elif (
            isinstance(value, dict)
            and len(value) == 1
            and not next(iter(value)).isdecimal()
            and EVERY not in steps
        ):
            ((key, inner),) = value.items()
            self._add_plain(inner, (*steps, key), leniency)
        else:
            self._add(steps, {"partial": value})
            if leniency == "objects":
                self._add_lengths(value, steps)

    def _add_lengths(self, value: object, steps: Steps) -> None:
        """Add the lengths of all arrays in a value: those of a contract allow no more elements."""
        if EVERY in steps:
            raise LeftBehindError("the length of an array inside many others cannot be checked")
        if isinstance(value, list):
            self._add(steps, {"length": len(value)})
        for step, each in value.items() if isinstance(value, dict) else enumerate(_items(value)):
            if isinstance(each, (dict, list)):
                self._add_lengths(each, (*steps, step))

    # Directives

    def _add_directives(self, value: dict[str, object], steps: Steps) -> None:
        siblings = _siblings(value)
        for key, inner in value.items():
            if key == f"{PREFIX}partial":
                self._add_value(inner, steps, "all")
            elif key == f"{PREFIX}extractField":
                self._add_extracted(steps, inner, siblings.pop("value"))
            elif key == f"{PREFIX}all":
                for each in _items(inner):
                    self._add_value(each, steps, "")
            elif key.startswith(PREFIX):
                self._add(steps, self._make_matcher({key: inner}))
        if siblings:
            self._add_value(siblings, steps, "all")

    def _add_extracted(self, steps: Steps, path: object, value: object) -> None:
        if EVERY in steps:
            raise LeftBehindError("match:extractField is applied to what another one extracts")
        inner = (*steps, *(parse_field_path(str(path)) or ()))
        if inner[0] not in _ROOTS:
            raise LeftBehindError(f"{path} is in the envelope of the response")
        is_single = is_plain(value) or is_pattern(value) or has_directives(value)
        if EVERY in inner and not is_single:
            self._add(inner, {"schema": convert_to_schema(value)})
        else:
            self._add_value(value, inner, "")

    def _make_matcher(self, value: object) -> Matcher:
        """Return one matcher for a whole value that must exist."""
        if value == _ABSENT_PATTERN:
            return {"exact": None}
        if is_pattern(value):
            return convert_pattern(str(value), self._setting)
        if is_plain(value):
            return {"exact": value}
        if not has_directives(value) or len(value) > 1:
            return {"schema": convert_to_schema(value)}
        key, inner = next(iter(value.items()))
        if key == f"{PREFIX}partial" and is_plain(inner) and inner not in ({}, []):
            return {"partial": inner} if isinstance(inner, (dict, list)) else {"exact": inner}
        if key in _RELATIONS:
            return {"pattern": f"{key.removeprefix(PREFIX)}:{inner}"}
        if key == f"{PREFIX}any" and not any(
            isinstance(each, (dict, list, Tagged)) or is_pattern(each) for each in _items(inner)
        ):
            return {"one-of": inner}
        if key in (f"{PREFIX}all", f"{PREFIX}any"):
            return {key.removeprefix(PREFIX): [self._make_matcher(each) for each in _items(inner)]}
        return {"schema": convert_to_schema(value)}

    def _add(self, steps: Steps, matcher: Matcher | None) -> None:
        if matcher:
            self.assertions.append({"target": render_target(steps), "matcher": matcher})


def render_target(steps: Iterable[str | int]) -> str:
    """Return the target for a path; keys that are not plain words are quoted as in JSON."""
    text = ""
    for step in steps:
        shown = render_path([step])
        if isinstance(step, int) or step is EVERY:
            text += shown
        elif shown == step:
            text += f".{step}" if text else step
        else:
            text += f"[{dump_json(step)}]"
    return text


def _is_met(expected: object, actual: object, setting: Setting) -> bool:
    """True if a pattern or a tag surely accepts this value."""
    try:
        if isinstance(expected, Tagged):
            found = read_tag(expected.tag, expected.text)
        else:
            found = parse_pattern(str(expected), setting.registry)
    except ValueError:
        return False
    return isinstance(found, Pattern) and not found.matcher.is_remote and found.is_met(actual)


def _siblings(value: dict[str, object]) -> dict[str, object]:
    """Return the members of a mapping that are not directives."""
    return {key: inner for key, inner in value.items() if not key.startswith(PREFIX)}


def _has_objects(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_has_objects, value))
    return isinstance(value, dict)


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []
