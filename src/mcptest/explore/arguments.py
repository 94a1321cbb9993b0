"""The arguments of a tool or a prompt: read from a command line, or made up from a schema.

On a command line `key=value` is read as the schema says, `key:=json` is strict JSON, `a.b=value`
goes into the object `a`. An argument that makes no sense is a `UsageError` that says what would.

Made-up arguments are what the schema gives as an example, else a value of the right type. The
same schema always gives the same arguments.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import closest
from mcptest.core.errors import UsageError
from mcptest.core.schema_walk import SchemaWalker, dict_at, list_at, required_names
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import excerpt, shorten, visible
from mcptest.core.value_class import Record
from mcptest.matching.regex import sample_match

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from mcptest.core.schema_walk import Schema

__all__ = [
    "Sample",
    "Word",
    "build_arguments",
    "describe_type",
    "is_fit_to_write",
    "parse_words",
    "sample_arguments",
    "sample_string",
    "unknown_name",
]


class Word(Record):
    """One `key=value` or `key:=json` of a command line."""

    key: str
    value: str
    is_json: bool = False


def parse_words(words: Iterable[str]) -> tuple[Word, ...]:
    """Split the words at their first `=` or `:=`; the same key twice is an error."""
    parsed: dict[str, Word] = {}
    for word in words:
        found = re.fullmatch(r"(?s)(?!:=)(.+?)(:?=)(.*)", word)
        if found is None:
            message = f"{visible(word)!r} is neither key=value nor key:=json"
            raise UsageError(message, "a server's command comes after --")
        key, mark, value = found.groups()
        if key in parsed:
            raise UsageError(f"{visible(key)} is given twice")
        parsed[key] = Word(key=key, value=value, is_json=mark == ":=")
    return tuple(parsed.values())


def build_arguments(
    words: Sequence[Word], schema: Schema, given: dict[str, Any], *, is_checked: bool = True
) -> dict[str, Any]:
    """The arguments of these words, on top of those given as JSON.

    Unless `is_checked`, nothing is refused for what the schema says of names.
    """
    builder = _Builder(schema, given, is_checked)
    for word in words:
        builder.add(word)
    if is_checked:
        builder.refuse_unknown(given)
        builder.refuse_missing()
    return builder.built


def unknown_name(noun: str, name: str, known: Iterable[str], help: str = "") -> UsageError:
    """There is no such tool, argument or prompt; suggests the one that was probably meant."""
    names = [visible(each) for each in known]
    meant = closest(name.rpartition(".")[2], names)
    question = f"; did you mean {meant!r}?" if meant else ""
    there = (
        f"there are: {shorten(', '.join(names), 400)}" if names else f"there is no {noun} at all"
    )
    message = f"there is no {noun} {visible(name)!r}{question}"
    return UsageError(message, f"{there}; {help}" if help else there)


def describe_type(schema: object, walker: SchemaWalker) -> str:
    """What a value may be, in a few words: `integer`, `"a" | "b"`, `array of string`."""
    words: list[str] = []
    for branch in walker.branches(schema):
        choices, kind = _choices(branch), branch.get("type")
        if choices:
            words += map(dump_json, choices[:_MAX_CHOICES])
        elif not isinstance(kind, str):
            words.append("object" if dict_at(branch, "properties") else "any")
        elif kind == "array":
            inner = walker.resolve(branch.get("items")).schema.get("type")
            words.append(f"array of {inner}" if isinstance(inner, str) else "array")
        else:
            words.append(kind)
    return shorten(visible(" | ".join(dict.fromkeys(words))), 60)


_MAX_CHOICES = 50


def _choices(branch: Schema) -> list[object]:
    """The values that a schema names one by one."""
    if isinstance(branch.get("enum"), list):
        return list(branch["enum"])
    if "const" in branch:
        return [branch["const"]]
    return [None] if branch.get("type") == "null" else []


def _conflict(path: str) -> UsageError:
    return UsageError(f"{visible(path)} is given whole and in parts; give it one way")


class _Builder:
    """Arguments while they are being put together."""

    def __init__(self, schema: Schema, given: dict[str, Any], is_checked: bool) -> None:
        self._walker = SchemaWalker(schema)
        self._schema = self._walker.root().schema
        self._is_checked = is_checked
        self._given_paths: set[str] = set()
        self.built: dict[str, Any] = _copy_objects(given)

    def add(self, word: Word) -> None:
        """Put the value where its key leads, and make the objects on the way."""
        holder, schema = self.built, self._schema
        steps = word.key.split(".")
        # A property that is really called `a.b` comes before the path.
        if word.key in dict_at(schema, "properties") or not all(steps):
            steps = [word.key]
        *way, last = steps
        for at, step in enumerate(way, 1):
            path = ".".join(steps[:at])
            if path in self._given_paths:
                raise _conflict(path)
            branches = self._walker.branches(self._find_property(step, schema, path))
            schema = next((each for each in branches if dict_at(each, "properties")), {})
            if not isinstance(holder.get(step), dict):
                holder[step] = {}
            holder = holder[step]
        path = ".".join(steps)
        if any(each.startswith(f"{path}.") for each in self._given_paths):
            raise _conflict(path)
        holder[last] = self._parse_value(word, self._find_property(last, schema, path))
        self._given_paths.add(path)

    def _find_property(self, name: str, schema: Schema, path: str) -> Schema:
        """The schema of a property; a `UsageError` if there is none and none is allowed."""
        known = dict_at(schema, "properties")
        if name in known:
            return self._walker.resolve(known[name]).schema
        # JSON Schema allows other names by default. But where a schema names properties and says
        # nothing of others, another name is a typing error far more often than not.
        extra = schema.get("additionalProperties")
        allows_extra = not known if extra is None else extra is not False
        if not self._is_checked or allows_extra or "patternProperties" in schema:
            return self._walker.resolve(extra).schema
        raise unknown_name("argument", path, known, "--no-check sends it anyway")

    def refuse_unknown(self, names: Iterable[str]) -> None:
        for name in names:
            self._find_property(name, self._schema, name)

    def refuse_missing(self) -> None:
        missing = [name for name in required_names(self._schema) if name not in self.built]
        if not missing:
            return
        known = dict_at(self._schema, "properties")
        types = [describe_type(known.get(name), self._walker) for name in missing]
        shown = [f"{visible(name)} ({kind})" for name, kind in zip(missing, types, strict=True)]
        noun = "argument is" if len(missing) == 1 else "arguments are"
        raise UsageError(
            f"{len(missing)} required {noun} missing: {', '.join(shown)}",
            f"give each as {visible(missing[0])}=VALUE; --no-check calls without",
        )

    def _parse_value(self, word: Word, schema: Schema) -> object:
        if word.is_json:
            try:
                return parse_json(word.value)
            except NotJsonError as error:
                raise UsageError(
                    f"{visible(word.key)}:= takes JSON: {error.reason}",
                    f"a string is written {visible(word.key)}=string",
                ) from None
        try:
            return self._parse_by_type(word, schema)
        except UsageError:
            # Without checks, the server decides what to make of the value.
            if self._is_checked:
                raise
            return word.value

    def _parse_by_type(self, word: Word, schema: Schema) -> object:
        """The value as the types of the schema read it; without types it is a string."""
        branches = list(self._walker.branches(schema))
        choices = [value for branch in branches for value in _choices(branch)]
        if choices and all(_choices(branch) for branch in branches):
            return _choose(word, choices)
        kinds = [branch.get("type") for branch in branches]
        for kind, types in _JSON_TYPES.items():
            if kind in kinds:
                try:
                    value = parse_json(word.value)
                except NotJsonError:
                    continue
                if type(value) in types:
                    return value
        if "string" in kinds or not any(kind in _JSON_TYPES for kind in kinds):
            return word.value
        wanted, key = describe_type(schema, self._walker), visible(word.key)
        examples = {
            "boolean": f"{key}=true or {key}=false",
            "array": f'{key}:=\'["a", "b"]\'',
            "object": f"{key}:='{{\"a\": 1}}', or {key}.a=1",
            "integer": f"{key}=1",
            "number": f"{key}=1.5",
        }
        example = next((f"for example {examples[kind]}" for kind in examples if kind in kinds), "")
        shown = excerpt(word.value, 80)
        raise UsageError(f"{key} must be {wanted} and is {shown!r}", example)


# What a value may be read as, from the most to the least particular; a string is what is left.
_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


def _copy_objects(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy_objects(inner) for key, inner in value.items()}
    return value


def _choose(word: Word, choices: list[object]) -> object:
    written = [each if isinstance(each, str) else dump_json(each) for each in choices]
    if word.value in written:
        return choices[written.index(word.value)]
    meant = closest(word.value, written)
    question = f"; did you mean {visible(meant)!r}?" if meant else ""
    there = shorten(", ".join(map(visible, written)), 400)
    shown = excerpt(word.value, 80)
    raise UsageError(f"{visible(word.key)} cannot be {shown!r}{question}", f"it is one of: {there}")


# Made-up arguments

_MAX_DEPTH = 8
_MAX_VALUE_CHARS = 2_000
_MAX_ITEMS = 20

_FORMATS = {
    "date-time": "2025-01-01T12:00:00Z",
    "date": "2025-01-01",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uri-reference": "/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "regex": "a",
    "json-pointer": "/a",
}

# Words in the names of properties, and a value that such properties often take.
_NAMES = {
    "timezone": "UTC",
    "time_zone": "UTC",
    "email": "someone@example.com",
    "url": "https://example.com/",
    "uri": "https://example.com/",
    "path": ".",
    "directory": ".",
    "folder": ".",
    "date": "2025-01-01",
    "time": "12:00",
    "language": "en",
    "locale": "en",
    "currency": "EUR",
    "country": "DE",
    "city": "Berlin",
}
_COUNTS = frozenset(["count", "index", "limit", "number", "offset", "page", "size", "year"])


class Sample(Record):
    """Made-up arguments of a tool.

    `harmful` are those that have no harmless value. `needed` are names of arguments that must not
    be left out, because the schema also gives values for them that do harm.
    """

    arguments: dict[str, Any]
    harmful: tuple[tuple[str, object], ...] = ()
    needed: frozenset[str] = frozenset()


def sample_arguments(
    schema: object,
    choose: Callable[[str, list[object]], list[object]] = lambda name, values: values,
) -> Sample:
    """The required arguments of a tool with this input schema, and those with a harmful default.

    `choose` gets the name of an argument and its possible values; it returns the harmless ones,
    best first.
    """
    walker = SchemaWalker(schema)
    sampler = _Sampler(walker, choose)
    arguments = sampler.sample_object(walker.root().schema, 0)
    return Sample(
        arguments=arguments, harmful=tuple(sampler.harmful), needed=frozenset(sampler.needed)
    )


def sample_string(name: str) -> str:
    """A string for something of this name, of which nothing else is known."""
    folded = name.casefold()
    if folded == "id" or name.endswith(("Id", "ID", "_id", "-id")) or folded in _COUNTS:
        return "1"
    return next((value for word, value in _NAMES.items() if word in folded), "example")


def is_fit_to_write(value: object) -> bool:
    """True if a value from a server is small and plain enough for a test file."""
    try:
        text = dump_json(value)
        # Half a surrogate pair cannot be written to any file.
        text.encode()
    except (RecursionError, ValueError):
        return False
    # `${` would be taken for a saved value of another test.
    return len(text) <= _MAX_VALUE_CHARS and _depth(value) <= _MAX_DEPTH and "${" not in text


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner)) if inner else 0


class _Sampler:
    """Makes up values for the parts of one schema."""

    def __init__(
        self, walker: SchemaWalker, choose: Callable[[str, list[object]], list[object]]
    ) -> None:
        self._walker = walker
        self._choose = choose
        self.harmful: list[tuple[str, object]] = []
        self.needed: set[str] = set()

    def _sample(self, schema: object, name: str, depth: int) -> object:
        outer = self._walker.resolve(schema).schema
        branches = list(self._walker.branches(outer))
        # Null is often allowed, and rarely meant.
        branch = next((each for each in branches if each.get("type") != "null"), None)
        for part in (outer, branch or {}):
            given = [value for value in _given_values(part) if is_fit_to_write(value)]
            harmless = self._choose(name, given)
            if len(harmless) < len(given):
                self.needed.add(name)
            if harmless:
                return harmless[0]
            if given and ("const" in part or "enum" in part):
                self.harmful.append((name, given[0]))
                return given[0]
        value = None if branch is None else self._sample_branch(branch, name, depth)
        if not isinstance(value, (dict, list)) and not self._choose(name, [value]):
            self.harmful.append((name, value))
        return value

    def _sample_branch(self, schema: Schema, name: str, depth: int) -> object:
        kind = schema.get("type")
        if kind == "object" or (not isinstance(kind, str) and dict_at(schema, "properties")):
            return self.sample_object(schema, depth)
        if kind == "array":
            if depth > _MAX_DEPTH:
                return []
            count = max(_size_at(schema, "minItems", 1), 1)
            count = min(count, _size_at(schema, "maxItems", _MAX_ITEMS), _MAX_ITEMS)
            return [self._sample(schema.get("items"), name, depth + 1) for _ in range(count)]
        if kind in ("integer", "number"):
            return _make_number(schema, is_integer=kind == "integer")
        return False if kind == "boolean" else _make_string(schema, name)

    def sample_object(self, schema: Schema, depth: int) -> dict[str, Any]:
        if depth > _MAX_DEPTH:
            return {}
        known = dict_at(schema, "properties")
        required = required_names(schema)[:_MAX_ITEMS]
        # Left out, these would have their harmful default.
        defaults = [
            name
            for name in known
            if name not in required and self._has_harmful_default(known[name], name)
        ]
        return {
            name: self._sample(known.get(name), name, depth + 1)
            for name in [*required, *defaults]
            if is_fit_to_write(name)
        }

    def _has_harmful_default(self, schema: object, name: str) -> bool:
        outer = self._walker.resolve(schema).schema
        for part in (outer, *self._walker.branches(outer)):
            if "default" in part and part["default"] not in self._choose(name, _given_values(part)):
                return True
        return False


def _given_values(schema: Schema) -> list[object]:
    """The values that the schema itself gives, best first."""
    if "const" in schema:
        return [schema["const"]]
    values = [schema["default"]] if "default" in schema else []
    for key in ("examples", "enum"):
        values += list_at(schema, key)[:_MAX_CHOICES]
    return [*values, schema["example"]] if "example" in schema else values


def _make_number(schema: Schema, *, is_integer: bool) -> int | float:
    """1, or the nearest number that the bounds allow."""
    value: int | float = 1
    least = _number_at(schema, "minimum")
    above = _number_at(schema, "exclusiveMinimum")
    most = _number_at(schema, "maximum")
    below = _number_at(schema, "exclusiveMaximum")
    if least is not None:
        value = max(value, least)
    if above is not None:
        value = max(value, above + 1)
    if most is not None:
        value = min(value, most)
    if below is not None and value > below - 1:
        bottom = least if least is not None else above
        value = below - 1 if is_integer or bottom is None else (bottom + below) / 2
    factor = _number_at(schema, "multipleOf")
    if factor:
        value = factor * -(-value // factor)
    is_whole = is_integer or (isinstance(value, float) and value.is_integer())
    return int(-(-value // 1)) if is_whole else value


def _number_at(schema: Schema, key: str) -> int | float | None:
    value = schema.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return value if abs(value) < 1e15 else None


def _size_at(schema: Schema, key: str, default: int) -> int:
    value = schema.get(key)
    return value if type(value) is int and value >= 0 else default


def _make_string(schema: Schema, name: str) -> str:
    pattern, format = schema.get("pattern"), schema.get("format")
    if isinstance(format, str) and format in _FORMATS:
        return _FORMATS[format]
    text = sample_match(pattern) if isinstance(pattern, str) else None
    if text is None:
        least = min(_size_at(schema, "minLength", 0), _MAX_VALUE_CHARS)
        most = _size_at(schema, "maxLength", _MAX_VALUE_CHARS)
        text = sample_string(name).ljust(least, "a")[:most]
    return text if is_fit_to_write(text) else "example"
