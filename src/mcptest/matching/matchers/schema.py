"""`match:jsonSchema:FILE`: a value that is valid by a schema in a file beside the test.

The schema is read and checked when the test file is loaded. Nothing it refers to is fetched.
"""

from __future__ import annotations

import re
from functools import partial

from mcptest.core.diagnostics import UNQUOTED, UnquotedText
from mcptest.core.errors import CheckError
from mcptest.core.record import Record
from mcptest.core.results import Fault
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import render_path, shorten, visible
from mcptest.matching.registry import BadSchemaError, Matcher, Miss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.matching.registry import TrySchema


__all__ = ["MATCHERS", "declared_schema"]

_MAX_SHOWN = 3
_MAX_CHARS = 200

# A schema that refers to itself can take forever to compile, and no signal ends that.
_REFERENCES = ('"$ref"', '"$dynamicRef"', '"$recursiveRef"')

# Kinds of errors with which the validator says that it gave up, not that a value is invalid.
_UNDECIDED = ("BacktrackLimitExceeded", "RegexEngineFailure")


class _Schema(Record):
    file: str
    source: Any
    validator: Any


def _parse_schema(
    given: object, read_beside: Callable[[str], str] | None, try_schema: TrySchema | None = None
) -> _Schema:
    """The schema in a file of this name, or one that is written in the test file."""
    if not isinstance(given, str):
        validator = _compile("holds a schema", given, try_schema)
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
        schema = _parse_file(file.strip(), text)
        validator = _compile(f"reads {file.strip()},", schema, try_schema)
        return _Schema(file=file.strip(), source=schema, validator=validator)
    except BadSchemaError:
        if not isinstance(text, UnquotedText):
            raise
    message = f"reads {file.strip()}, which is not a JSON Schema; {UNQUOTED}"
    raise BadSchemaError(message)


def declared_schema(schema: object, try_schema: TrySchema | None = None) -> _Schema:
    """The same for a schema that a server declares, which may well allow everything."""
    validator = _compile("", schema, try_schema, is_vague_allowed=True)
    return _Schema(file="outputSchema", source=schema, validator=validator)


def _parse_file(file: str, text: str) -> object:
    try:
        return parse_json(text.removeprefix("\ufeff"))
    except NotJsonError as error:
        raise BadSchemaError(f"reads {file}, which is not JSON: {error.reason}") from None


def _compile(
    lead: str, schema: object, try_schema: TrySchema | None, *, is_vague_allowed: bool = False
) -> Any:
    # Loading it takes longer than a whole small run, and few files use a schema.
    import jsonschema_rs  # noqa: PLC0415

    if not isinstance(schema, (dict, bool)):
        raise BadSchemaError(f"{lead} which is not a schema: a schema is an object")
    if not is_vague_allowed and (schema is True or schema == {}):
        raise BadSchemaError(f"{lead} which every value meets")
    read = partial(jsonschema_rs.validator_for, schema, validate_formats=True, offline=True)
    if try_schema:
        text = dump_json(schema)
        if any(word in text for word in _REFERENCES) and (why := try_schema(read, text)):
            raise BadSchemaError(f"{lead} which {why}")
    try:
        return read()
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        raise BadSchemaError(f"{lead} {_explain(error)}") from None
    except ValueError as error:
        raise BadSchemaError(f"{lead} which is not a schema: {error}") from None


def _explain(error: Any) -> str:
    message = str(getattr(error, "message", error)).partition("\n")[0]
    outside = re.match(r"Resource '(.*?)' is not present", message)
    if outside:
        return f"which refers to {outside[1]}; nothing is fetched, so put what it needs under $defs"
    place = render_path(getattr(error, "instance_path", None) or ())
    return f"which is not a schema: {place + ': ' if place else ''}{message}"


def _check_valid(schema: _Schema, actual: object) -> Miss | None:
    try:
        if schema.validator.is_valid(actual):
            return None
        found = []
        for error in schema.validator.iter_errors(actual):
            found.append(error)
            if len(found) > _MAX_SHOWN:
                break
    except UnicodeEncodeError:
        return Miss(why="it has half of a surrogate pair in it, which is not a character")
    except ValueError as error:
        raise CheckError(
            _undecided_fault(f"stopped validating by {schema.file}: {error}")
        ) from None
    for each in found:
        if type(each.kind).__name__ in _UNDECIDED:
            raise CheckError(_undecided_pattern(schema, each))
    errors = "; ".join(map(_render_error, found[:_MAX_SHOWN]))
    return Miss(why=f"it is not valid: {errors}{'; …' if len(found) > _MAX_SHOWN else ''}")


def _undecided_pattern(schema: _Schema, error: Any) -> Fault:
    """That a pattern was not matched to its end: the value is neither valid nor invalid."""
    path = list(error.schema_path)
    pattern = path[-1] if path[-2:-1] == ["patternProperties"] else _string_at(schema.source, path)
    named = f"pattern {dump_json(shorten(pattern, _MAX_CHARS))}" if pattern else "pattern"
    place = render_path(error.instance_path)
    return _undecided_fault(
        f"gave up on the {named} of {schema.file} at {render_path(path)}"
        f"{f', with the value at {place}' if place else ''} ({error.message})"
    )


def _string_at(node: Any, path: list[str | int]) -> str:
    """The string at a place of a schema, or ""."""
    for step in path:
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return ""
    return node if isinstance(node, str) else ""


def _undecided_fault(what: str) -> Fault:
    return Fault(
        kind="schema_undecided",
        message=f"the schema validator {visible(what)}; whether the value is valid is not known",
        hint="repeats inside repeats, such as (a+)+, and lookarounds take too many steps; "
        "write a simpler pattern",
    )


def _render_error(error: Any) -> str:
    place = render_path(error.instance_path)
    message = str(error.message)
    cut = message if len(message) <= _MAX_CHARS else f"{message[:_MAX_CHARS]}…"
    return f"{place}: {cut}" if place else cut


MATCHERS = (
    Matcher(
        name="jsonSchema",
        family="Objects",
        parameters=("FILE",),
        summary="The value is valid by the JSON Schema in FILE, which is named relative to the "
        "test file; 2020-12 unless it says another draft, formats are checked, and no `$ref` "
        "is fetched.",
        example="match:jsonSchema:schemas/weather.json",
        passes=({"city": "Oslo", "degrees": -3},),
        fails=({"city": "Oslo"}, "Oslo", None),
        parse=_parse_schema,
        wants=lambda schema: f"a value that is valid by {schema.file}",
        check=_check_valid,
        is_slow=True,
        reads_file=True,
        is_foreign=True,
        bind=lambda matcher, services: matcher.but(
            parse=partial(_parse_schema, try_schema=services.try_schema)
        ),
    ),
)
