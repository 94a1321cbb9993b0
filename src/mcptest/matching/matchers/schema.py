"""Matchers by JSON Schema."""

from __future__ import annotations

import re
from functools import partial

from mcptest.core.diagnostics import UNQUOTED, UnquotedText
from mcptest.core.errors import CheckError
from mcptest.core.outcome import Fault
from mcptest.core.record import Record
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import render_path, shorten, visible
from mcptest.matching.registry import BadSchemaError, Matcher, Miss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # Tries to read a schema, which may take for ever or end the process; why it cannot be read,
    # "" when it can. It is given the text of the schema as well.
    Trial = Callable[[Callable[[], object], str], str]

__all__ = ["SCHEMA_MATCHERS", "declared_schema", "schema_matchers"]

_MAX_SHOWN = 3
_MAX_CHARS = 200

# What refers to itself over and over can take for ever to be read, and no signal ends that.
_REFERENCES = ('"$ref"', '"$dynamicRef"', '"$recursiveRef"')

# Kinds of errors with which the validator says that it gave up, not that a value is invalid.
_UNDECIDED = ("BacktrackLimitExceeded", "RegexEngineFailure")


class _Schema(Record):
    file: str
    source: Any
    validator: Any


def _a_schema(
    given: object, read_beside: Callable[[str], str] | None, trial: Trial | None = None
) -> _Schema:
    """The schema in a file of this name, or that which stands in the test file itself."""
    if not isinstance(given, str):
        validator = _compiled("holds a schema", given, trial)
        return _Schema(file="the schema", source=given, validator=validator)
    file = given
    if not file.strip():
        raise BadSchemaError("needs the name of a file, relative to the test file")
    if read_beside is None:
        raise BadSchemaError("can only be used in a file: there is nothing to look beside")
    try:
        text = read_beside(file.strip())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).removeprefix("cannot read it: ")
        reason = reason[:1].lower() + reason[1:]
        raise BadSchemaError(f"cannot read {file.strip()}: {reason}") from None
    try:
        schema = _parsed(file.strip(), text)
        validator = _compiled(f"reads {file.strip()},", schema, trial)
        return _Schema(file=file.strip(), source=schema, validator=validator)
    except BadSchemaError:
        if not isinstance(text, UnquotedText):
            raise
    message = f"reads {file.strip()}, which is not a JSON Schema; {UNQUOTED}"
    raise BadSchemaError(message)


def declared_schema(schema: object, trial: Trial | None = None) -> _Schema:
    """The same for a schema that a server declares, which may well allow everything."""
    validator = _compiled("", schema, trial, is_vague_allowed=True)
    return _Schema(file="outputSchema", source=schema, validator=validator)


def _parsed(file: str, text: str) -> object:
    try:
        return parse_json(text.removeprefix("\ufeff"))
    except NotJsonError as error:
        raise BadSchemaError(f"reads {file}, which is no JSON: {error.reason}") from None


def _compiled(
    lead: str, schema: object, trial: Trial | None, *, is_vague_allowed: bool = False
) -> Any:
    # Loading it takes longer than a whole small run, and few files use a schema.
    import jsonschema_rs  # noqa: PLC0415

    if not isinstance(schema, (dict, bool)):
        raise BadSchemaError(f"{lead} which is no schema: a schema is an object")
    if not is_vague_allowed and (schema is True or schema == {}):
        raise BadSchemaError(f"{lead} which every value meets")
    read = partial(jsonschema_rs.validator_for, schema, validate_formats=True, offline=True)
    if trial:
        text = dump_json(schema)
        if any(word in text for word in _REFERENCES) and (why := trial(read, text)):
            raise BadSchemaError(f"{lead} which {why}")
    try:
        return read()
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        raise BadSchemaError(f"{lead} {_explained(error)}") from None
    except ValueError as error:
        raise BadSchemaError(f"{lead} which is no schema: {error}") from None


def _explained(error: Any) -> str:
    message = str(getattr(error, "message", error)).partition("\n")[0]
    outside = re.match(r"Resource '(.*?)' is not present", message)
    if outside:
        return f"which refers to {outside[1]}; nothing is fetched, so put what it needs under $defs"
    place = render_path(getattr(error, "instance_path", None) or ())
    return f"which is no schema: {place + ': ' if place else ''}{message}"


def _is_valid(schema: _Schema, actual: object) -> Miss | None:
    try:
        if schema.validator.is_valid(actual):
            return None
        found = []
        for error in schema.validator.iter_errors(actual):
            found.append(error)
            if len(found) > _MAX_SHOWN:
                break
    except UnicodeEncodeError:
        return Miss(why="it has half of a surrogate pair in it, which is no character")
    except ValueError as error:
        raise CheckError(_gave_up(f"stopped validating by {schema.file}: {error}")) from None
    for each in found:
        if type(each.kind).__name__ in _UNDECIDED:
            raise CheckError(_undecided(schema, each))
    told = "; ".join(map(_told, found[:_MAX_SHOWN]))
    return Miss(why=f"it is not valid: {told}{'; …' if len(found) > _MAX_SHOWN else ''}")


def _undecided(schema: _Schema, error: Any) -> Fault:
    """That a pattern was not matched to its end: the value is neither valid nor invalid."""
    path = list(error.schema_path)
    pattern = path[-1] if path[-2:-1] == ["patternProperties"] else _at(schema.source, path)
    named = f"pattern {dump_json(shorten(pattern, _MAX_CHARS))}" if pattern else "pattern"
    place = render_path(error.instance_path)
    return _gave_up(
        f"gave up on the {named} of {schema.file} at {render_path(path)}"
        f"{f', with the value at {place}' if place else ''} ({error.message})"
    )


def _at(node: Any, path: list[str | int]) -> str:
    """The text at a place of a schema, "" where there is none."""
    for step in path:
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return ""
    return node if isinstance(node, str) else ""


def _gave_up(what: str) -> Fault:
    return Fault(
        kind="schema_undecided",
        message=f"the schema validator {visible(what)}; whether the value is valid is not known",
        hint="repeats inside repeats, such as (a+)+, and lookarounds take too many steps; "
        "write a simpler pattern",
    )


def _told(error: Any) -> str:
    place = render_path(error.instance_path)
    message = str(error.message)
    cut = message if len(message) <= _MAX_CHARS else f"{message[:_MAX_CHARS]}…"
    return f"{place}: {cut}" if place else cut


def schema_matchers(trial: Trial | None = None) -> tuple[Matcher, ...]:
    """The matcher, whose schemas are tried like this before they are read here."""
    return (_MATCHER.but(parse=partial(_a_schema, trial=trial)),)


_MATCHER = Matcher(
    name="jsonSchema",
    family="Objects",
    parameters=("FILE",),
    summary="The value is valid by the JSON Schema in FILE, which is named relative to the "
    "test file; 2020-12 unless it says another draft, formats are checked, and no `$ref` "
    "is fetched.",
    example="match:jsonSchema:schemas/weather.json",
    passes=({"city": "Oslo", "degrees": -3},),
    fails=({"city": "Oslo"}, "Oslo", None),
    parse=_a_schema,
    wants=lambda schema: f"a value that is valid by {schema.file}",
    check=_is_valid,
    is_slow=True,
    reads_file=True,
    is_foreign=True,
)
SCHEMA_MATCHERS = (_MATCHER,)
