"""`Fields` reads a mapping of a file by the keys that are declared for it.

A loader declares the keys of each mapping it reads as `Keys`, next to the code that reads them:

    RUN_KEYS = Keys(
        {
            "parallel": Key(whole_number(1, 256), "How many files run at a time."),
            "retries": Key(whole_number(0, 100), "How often a failed test is tried again."),
        }
    )

The loader (`Fields`), the JSON Schema (`formats.schemas`) and the documentation all use this
declaration. A key that is not declared is an error with a suggestion, so nothing that is written
is ever ignored.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import Diagnostic, PathDiagnostic, closest, find_abbreviation
from mcptest.core.errors import FormatError
from mcptest.core.secrets import LEAST_CHARS, why_not_blanked
from mcptest.core.strict_json import dump_json
from mcptest.formats.yaml import locate
from mcptest.formats.yaml.quick import MAX_DIAGNOSTICS
from mcptest.matching.compiler import Literal
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from mcptest.core.diagnostics import Severity
    from mcptest.formats.yaml import Document, Places
    from mcptest.formats.yaml.stream import Stream

    Schema = dict[str, Any]
    Steps = tuple[str | int, ...]

__all__ = [
    "ANYTHING",
    "EACH",
    "EACH_KEYS",
    "FLAG",
    "MAX_DURATION_S",
    "NAME",
    "NON_EMPTY",
    "OBJECT",
    "ONLY",
    "ROW_ENDINGS",
    "SKIP",
    "STRING",
    "STRINGS",
    "TEST_TAGS",
    "UNLISTED",
    "Fields",
    "Key",
    "Keys",
    "check_diagnostics",
    "diagnose",
    "fill_references",
    "fill_strings",
    "kind_of",
    "lone_reference",
    "may_refer",
    "misplaced",
    "number",
    "one_of",
    "parse_duration",
    "point_at",
    "read_only",
    "read_skip",
    "read_tags",
    "read_top",
    "references",
    "strings_in",
    "warn_of_weak_secret",
    "whole_number",
]


class Key:
    """One key of a mapping: the type of its value, what it means, and examples.

    `type` is a JSON Schema, the `Keys` of an inner mapping, or the name of a type, such as
    "duration": those of all formats are in `formats.schemas.from_keys.Types`, those of one format
    beside its schema in `formats.schemas.files`. With `is_filled`, `${name}` may be
    the value or a part of it.
    """

    __slots__ = ("description", "examples", "is_filled", "is_required", "type")

    def __init__(
        self,
        type: Schema | Keys | str,
        description: str,
        *examples: object,
        is_required: bool = False,
        is_filled: bool = False,
    ) -> None:
        self.type = type
        self.description = description
        self.examples = examples
        self.is_required = is_required
        self.is_filled = is_filled

    @property
    def bounds(self) -> tuple[Any, Any]:
        """The least and the greatest value of a number."""
        assert isinstance(self.type, dict)
        least = self.type.get("minimum", self.type.get("exclusiveMinimum"))
        return least, self.type["maximum"]


class Keys(dict[str, Key]):
    """The keys of one mapping by name."""

    @property
    def required(self) -> list[str]:
        return [name for name, key in self.items() if key.is_required]

    def spelled(self, spell: Callable[[str], str]) -> Keys:
        """The same keys with their names in another spelling."""
        return Keys({spell(name): key for name, key in self.items()})


# Types of values, as JSON Schemas.

ANYTHING: Schema = {}
STRING: Schema = {"type": "string"}
NON_EMPTY: Schema = {"type": "string", "minLength": 1}
STRINGS: Schema = {"type": "array", "items": STRING}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}


def number(least: float, most: float, *, is_open: bool = False) -> Schema:
    """A number in a range; with `is_open`, `least` itself is excluded."""
    return {"type": "number", "exclusiveMinimum" if is_open else "minimum": least, "maximum": most}


def whole_number(least: int, most: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most}


def one_of(choices: Iterable[str]) -> Schema:
    """One of these strings."""
    return {"enum": list(choices)}


# Keys that several formats have.

TEST_TAGS = Key("tags", "Words to choose tests by: mcptest run --tag and --skip-tag.", ["quick"])
SKIP = Key(
    "skip", "true, or the reason why this test is not run.", True, "the server has no clock yet"
)
ONLY = Key(FLAG, "true: no other test of this file is run. Take it out before committing.")
ROW_ENDINGS = (".csv", ".json", ".yaml", ".yml")
EACH_KEYS = Keys(
    {
        "file": Key(
            "row_file",
            "A file of rows, relative to this one: CSV with a first line of names, or a list in "
            "JSON or YAML.",
            "orders.csv",
            is_required=True,
        )
    }
)
EACH = Key(
    "each",
    "One test for each of these rows; ${column} stands for the value of its row.",
    [{"path": "hello.txt", "text": "Hello"}, {"path": "empty.txt", "text": ""}],
    {"file": "rows.csv"},
)
UNLISTED = Key(FLAG, "true: it calls a tool or prompt that the server does not list, on purpose.")

_KINDS = {
    str: "text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    dict: "a mapping",
    list: "a list",
    type(None): "empty",
}


def kind_of(value: object) -> str:
    """Return the kind of a value in the words of YAML."""
    return _KINDS.get(type(value), "a tag")


class Fields:
    """One mapping of a file, read key by key."""

    def __init__(
        self, mapping: dict[str, object], steps: Steps, diagnostics: list[PathDiagnostic]
    ) -> None:
        self.mapping = mapping
        self.steps = steps
        self._diagnostics = diagnostics
        self._misspelt: set[str] = set()

    def report(
        self,
        key: str,
        code: str,
        message: str,
        help: str = "",
        *,
        on_key: bool = True,
        severity: Severity = "error",
    ) -> None:
        steps = (*self.steps, key) if key else self.steps
        self._diagnostics.append(
            PathDiagnostic(
                code=code, message=message, help=help, steps=steps, on_key=on_key, severity=severity
            )
        )

    def add(self, diagnostic: PathDiagnostic) -> None:
        """Report a diagnostic that has been made already."""
        self._diagnostics.append(diagnostic)

    def at(self, steps: Steps) -> Fields:
        """Return a place further down, for diagnostics about it."""
        return Fields({}, (*self.steps, *steps), self._diagnostics)

    def replaced(self, mapping: dict[str, object]) -> Fields:
        """Return the same place with another mapping, for a mapping with values filled in."""
        other = Fields(mapping, self.steps, self._diagnostics)
        other._misspelt = self._misspelt
        return other

    def number(self, key: str, least: float, most: float) -> float | None:
        """Return the number at a key, None if there is none; an error if it is out of bounds."""
        if key not in self.mapping:
            return None
        value = self.mapping[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._wrong_type(key, "a number")
        elif not least <= value <= most:
            message = f'"{key}" must be from {least:g} to {most:g}'
            self.report(key, "F009", message, on_key=False)
        else:
            return float(value)
        return None

    def check_name(self, key: str, help: str = "") -> bool:
        """True if a key can be the name of a value; an error if not."""
        if re.fullmatch(NAME, key):
            return True
        message = f"{key!r} is not a name: letters, digits and _ only, not first a digit"
        self.report(key, "F009", message, help)
        return False

    def require(self, keys: Iterable[str], where: str) -> None:
        for key in keys:
            # A misspelt key has been reported already.
            if key not in self.mapping and key not in self._misspelt:
                self.report("", "F007", f'{where} needs the key "{key}"')

    def is_misspelt(self, key: str) -> bool:
        """True if an unknown key has been reported as a misspelling of this one."""
        return key in self._misspelt

    def check_keys(self, keys: Keys, where: str) -> None:
        """An error for every key that is not declared, and for every required one that is missing.

        `where` names the mapping in messages.
        """
        self.refuse_unknown(keys, where)
        self.require(keys.required, where)

    def refuse_unknown(
        self, known: Collection[str], where: str, accepted: Collection[str] = ()
    ) -> None:
        """An error for every key that is not known, or a warning if it is empty.

        Keys in `accepted` are allowed, but never suggested.
        """
        for key, value in self.mapping.items():
            if key in known or key in accepted:
                continue
            if value is None:
                message = f'"{key}" means nothing in {where}; it is empty, and is left out'
                self.report(key, "W001", message, severity="warning")
            else:
                names = tuple(known)
                meant = closest(key, names) or find_abbreviation(key, names)
                self._misspelt.add(meant)
                question = f'; did you mean "{meant}"?' if meant else ""
                message = f'{where} has no key "{key}"{question}'
                self.report(key, "F006", message, f"there are: {', '.join(names)}")

    def text(self, key: str, default: str = "") -> str:
        """Return the string at a key; an error if it is something else."""
        value = self.mapping.get(key, default)
        if isinstance(value, str):
            return value
        help = 'put it in quotes: "…"' if not isinstance(value, (dict, list)) else ""
        self._wrong_type(key, "text", help)
        return default

    def non_empty_text(self, key: str) -> str:
        """Return the string at a key; an error if it is empty, or something else."""
        if self.mapping.get(key) == "":
            self.report(key, "F009", f'"{key}" is empty', on_key=False)
        return self.text(key)

    def flag(self, key: str, default: bool) -> bool:
        value = self.mapping.get(key, default)
        if isinstance(value, bool):
            return value
        self._wrong_type(key, "true or false")
        return default

    def mapping_at(self, key: str) -> Fields | None:
        """Return the mapping at a key as `Fields`, or None if there is none."""
        value = self.mapping.get(key)
        if isinstance(value, dict):
            return Fields(value, (*self.steps, key), self._diagnostics)
        if key in self.mapping:
            self._wrong_type(key, "a mapping")
        return None

    def list_at(self, key: str) -> list[object]:
        value = self.mapping.get(key, [])
        if isinstance(value, list):
            return value
        self._wrong_type(key, "a list")
        return []

    def mappings_at(self, key: str, what: str, help: str = "") -> Iterator[tuple[int, Fields]]:
        """Yield the mappings in the list at a key with their indexes; an error for other items.

        `what` names an item in messages.
        """
        for index, item in enumerate(self.list_at(key)):
            place = self.at((key, index))
            if isinstance(item, dict):
                yield index, place.replaced(item)
            else:
                message = f"{what} must be a mapping and is {kind_of(item)}"
                place.report("", "F008", message, help, on_key=False)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the list of strings at a key; an error for every item that is something else."""
        texts = []
        for index, item in enumerate(self.list_at(key)):
            if isinstance(item, str):
                texts.append(item)
            else:
                help = 'put it in quotes: "…"' if not isinstance(item, (dict, list)) else ""
                message = f'"{key}" must hold texts; number {index + 1} is {kind_of(item)}'
                self.at((key, index)).report("", "F008", message, help, on_key=False)
        return tuple(texts)

    def choice(self, key: str, choices: Collection[str], default: str) -> str:
        if key not in self.mapping:
            return default
        value = self.mapping[key]
        if isinstance(value, str) and value in choices:
            return value
        message = f'"{key}" must be one of {", ".join(choices)}'
        self.report(key, "F008", message, on_key=False)
        return default

    def whole_number(self, key: str, least: int, most: int, default: int) -> int:
        value = self.mapping.get(key, default)
        if type(value) is not int:
            self._wrong_type(key, "a whole number")
        elif not least <= value <= most:
            message = f'"{key}" must be from {least:,} to {most:,}'
            self.report(key, "F009", message, on_key=False)
        else:
            return value
        return default

    def duration_s(self, key: str) -> float | None:
        """Return the duration at a key in seconds, or None if there is none."""
        if key not in self.mapping:
            return None
        try:
            return parse_duration(self.mapping[key])
        except ValueError as error:
            self.report(key, "F009", f'"{key}" {error}', on_key=False)
            return None

    def _wrong_type(self, key: str, wanted: str, help: str = "") -> None:
        seen = kind_of(self.mapping[key])
        message = f'"{key}" must be {wanted} and is {seen}'
        self.report(key, "F008", message, help, on_key=False)


def read_top(
    document: Document, must: str, diagnostics: list[PathDiagnostic], help: str = ""
) -> Fields:
    """Return the mapping that a document is; FormatError if it is something else.

    `must` says so: "a config must be an object".
    """
    if not isinstance(document.value, dict):
        message = f"{must} and is {kind_of(document.value)}"
        Fields({}, (), diagnostics).report("", "F005", message, help)
        raise FormatError(diagnose(document, diagnostics))
    return Fields(document.value, (), diagnostics)


def check_diagnostics(
    document: Document | Stream, diagnostics: Sequence[PathDiagnostic]
) -> tuple[Diagnostic, ...]:
    """Return the warnings with their places; FormatError if there is a mistake."""
    found = diagnose(document, diagnostics)
    if any(each.severity == "error" for each in found):
        raise FormatError(found)
    return found


def diagnose(
    document: Document | Stream, diagnostics: Sequence[PathDiagnostic]
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics with their places, in the order of the file.

    Only the first `MAX_DIAGNOSTICS` are shown, errors before warnings; the rest is counted.
    """
    if not diagnostics:
        return ()
    shown = sorted(diagnostics, key=lambda diagnostic: diagnostic.severity)[:MAX_DIAGNOSTICS]
    # A stream knows its places. Not `isinstance`: most runs do not load the reader of streams.
    places = document.places() if hasattr(document, "places") else locate(document)
    found = [point_at(diagnostic, document.file, places) for diagnostic in shown]
    # The file itself first.
    found.sort(key=lambda each: (each.file != document.file, each.file, each.line, each.column))
    if hidden := len(diagnostics) - len(shown):
        message = f"there are {hidden:,} more like these in this file, which are not shown"
        last = found[-1]
        found.append(last.but(message=message, help="", line=0, source="", severity="warning"))
    return tuple(found)


def point_at(diagnostic: PathDiagnostic, file: str, places: Places) -> Diagnostic:
    """Return the diagnostic with its place in the file."""
    if diagnostic.elsewhere:
        return diagnostic.elsewhere
    if diagnostic.on_key:
        place = places.key(diagnostic.steps)
    else:
        place = places.value(diagnostic.steps, diagnostic.offset, diagnostic.width)
    return Diagnostic(
        code=diagnostic.code,
        file=file,
        message=diagnostic.message,
        line=place.line,
        column=place.column,
        help=diagnostic.help,
        source=place.source,
        width=place.width,
        severity=diagnostic.severity,
    )


def warn_of_weak_secret(fields: Fields, key: str, name: str, value: str) -> None:
    """Warn if the value of the variable `name` at this key is too weak to be blanked."""
    reason = why_not_blanked(value)
    if value and reason:
        message = f"the value of {name!r} {reason}; whatever is written may hold it"
        help = f"a secret has at least {LEAST_CHARS} characters and is not an everyday word"
        fields.report(key, "W003", message, help, on_key=False, severity="warning")


# skip, only, tags

# Words that other versions of YAML take for booleans; none of them is a reason.
_SWITCHES = frozenset(["yes", "no", "on", "off", "y", "n", "true", "false"])


def read_only(fields: Fields, key: str) -> bool:
    """Return the value of `only`, with a warning if it is true."""
    is_only = fields.flag(key, False)
    if is_only:
        message = f'"{key}" leaves out all other tests of this file'
        fields.report(key, "W002", message, "take it out before committing", severity="warning")
    return is_only


def read_tags(fields: Fields, key: str) -> tuple[str, ...]:
    if isinstance(fields.mapping.get(key), str):
        return (fields.text(key),)
    return fields.texts(key)


def read_skip(fields: Fields, key: str) -> str | None:
    """Return why the test is skipped, "" without a reason, None if it is not skipped."""
    value = fields.mapping.get(key, False)
    if isinstance(value, bool):
        return "" if value else None
    is_reason = isinstance(value, str) and value.strip()
    if is_reason and str(value).casefold() not in _SWITCHES:
        return str(value)
    message = f'"{key}" must be true, false or a reason'
    help = "in YAML 1.2 only true and false are booleans" if is_reason else ""
    fields.report(key, "F008", message, help, on_key=False)
    return None


# Durations in files and on command lines: 500, "500ms", "2.5s", "1m"

_WRITTEN = r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|)\s*"
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 0.001}

MAX_DURATION_S = 24 * 3600.0


def parse_duration(value: object) -> float:
    """Return seconds; a bare number means milliseconds. ValueError says what is wrong."""
    if isinstance(value, str):
        found = re.fullmatch(_WRITTEN, value)
        seconds = float(found[1]) * _UNITS_S[found[2]] if found else None
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        # Compare first: an integer may be too large to divide.
        seconds = value / 1000 if value <= MAX_DURATION_S * 1000 else MAX_DURATION_S + 1
    else:
        seconds = None
    if seconds is None:
        raise ValueError('must be a number of milliseconds or a text such as "500ms" or "2s"')
    if not 0 < seconds <= MAX_DURATION_S:
        raise ValueError("must be more than 0 and at most 24 hours")
    return seconds


# `${name}` refers to a value that an earlier test captured, or that the file declares.
# A string that is nothing but `${name}` becomes the value itself, whatever its type; inside a
# longer string the value is put as text. `$${name}` is the text `${name}`.

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(r"(\$?)\$\{([^}]*)\}")


def may_refer(value: object) -> bool:
    """True if a string in a value has a reference, or what looks like one. Most have none."""
    if isinstance(value, str):
        return "${" in value
    if isinstance(value, dict):
        return any("${" in key or may_refer(member) for key, member in value.items())
    return isinstance(value, list) and any(map(may_refer, value))


def references(value: object, steps: Steps = ()) -> Iterator[tuple[str, Steps]]:
    """Yield every name that a value refers to, and where."""
    if not may_refer(value):
        return
    for at, text in strings_in(value, steps, with_keys=True):
        for found in _REFERENCE.finditer(text):
            if not found[1]:
                yield found[2], at


def strings_in(
    value: object, steps: Steps = (), *, with_keys: bool = False
) -> Iterator[tuple[Steps, str]]:
    """Yield every string in a value, and where it is; a key is at the place of its mapping."""
    if isinstance(value, str):
        yield steps, value
    elif isinstance(value, dict):
        for key, member in value.items():
            if with_keys:
                yield steps, key
            yield from strings_in(member, (*steps, key), with_keys=with_keys)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings_in(item, (*steps, index), with_keys=with_keys)


def lone_reference(text: str) -> str:
    """Return the name in a string that is exactly one reference, "" for any other string."""
    whole = _REFERENCE.fullmatch(text)
    return whole[2] if whole and not whole[1] else ""


def fill_references(
    value: object, values: Mapping[str, object], *, literal: bool = False
) -> object:
    """The value with every reference replaced; all names must be known.

    With `literal`, what comes from outside is marked: it is compared as it is, and never read
    as a pattern or a directive, which only the author of the file may write. ValueError when a
    key becomes one that is there already, or a directive.
    """
    if isinstance(value, str):
        if name := lone_reference(value):
            return Literal(value=values[name]) if literal else values[name]
        text = _as_text(value, values)
        # A string that was not written as a pattern does not become one by a value.
        is_marked = literal and text != value and not value.startswith(PREFIX)
        return Literal(value=text) if is_marked else text
    if isinstance(value, dict):
        members: dict[str, object] = {}
        for key, member in value.items():
            members[_filled_key(key, values, members)] = fill_references(
                member, values, literal=literal
            )
        return members
    if isinstance(value, list):
        return [fill_references(item, values, literal=literal) for item in value]
    return value


def fill_strings(value: object, values: Mapping[str, object]) -> object:
    """Like `fill_references`, for a mapping of strings that must stay strings."""
    if not isinstance(value, dict):
        return fill_references(value, values)
    members: dict[str, object] = {}
    for key, member in value.items():
        text = (
            _as_text(member, values) if isinstance(member, str) else fill_references(member, values)
        )
        members[_filled_key(key, values, members)] = text
    return members


def _filled_key(key: str, values: Mapping[str, object], others: Mapping[str, object]) -> str:
    put = _as_text(key, values)
    if put in others:
        raise ValueError(f"the key {dump_json(put)} would be there twice")
    if put != key and put.startswith(PREFIX):
        raise ValueError(f"the key {dump_json(put)} would be a directive")
    return put


def _as_text(text: str, values: Mapping[str, object]) -> str:
    def replacement(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        value = values[found[2]]
        return value if isinstance(value, str) else dump_json(value)

    return _REFERENCE.sub(replacement, text)


# References in the name of a matcher, of a file, or of a plugin and its method.
_MISPLACED = re.compile(
    PREFIX + r"(?:not:)?(?:[^:]*(?<!\$)\$\{|jsonSchema:.*(?<!\$)\$\{|plugin:[^:]*(?<!\$)\$\{)",
    re.DOTALL,
)


def misplaced(value: object, steps: Steps = ()) -> Iterator[Steps]:
    """The places where a value from a server would choose what is checked."""
    return (at for at, text in strings_in(value, steps) if _MISPLACED.match(text))
