"""Matchers that judge a whole value: two fields of it, its JSON Schema, or a plugin.

* `match:crossField:L op R` compares two fields of one object.
* `match:jsonSchema:FILE` validates by a schema in a file beside the test. The schema is read and
  checked when the test file is loaded. Nothing it refers to is fetched.
* `match:plugin:NAME.METHOD:ARG` asks a program of the user through `Plugins`. A program that fails,
  or whose answer is not a verdict, is a `CheckError`: the test neither passes nor fails.
"""

from __future__ import annotations

import operator
import re
from functools import partial

from mcptest.core.diagnostics import UNQUOTED, UnquotedText, suggest
from mcptest.core.errors import CheckError
from mcptest.core.results import Fault
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import render_path, shorten, show_json, visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.matching.json_values import (
    exact_number,
    is_equal,
    is_less,
    is_same_number,
    parse_exact,
    parse_field_path,
    pull,
    type_name,
)
from mcptest.matching.matchers.dates import epoch_ms, is_date_text
from mcptest.matching.registry import (
    BadSchemaError,
    CannotHoldError,
    Matcher,
    Miss,
    ParameterError,
    UnknownPluginError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from mcptest.matching.json_values import Steps
    from mcptest.matching.registry import Plugins, TrySchema


__all__ = ["JSON_SCHEMA", "MATCHERS", "declared_schema"]

# The operators in words; the longer ones come first, to be found first.
_OPERATORS = {
    "<=": "at most",
    ">=": "at least",
    "!=": "other than",
    "==": "equal to",
    "<": "less than",
    ">": "greater than",
    "=": "equal to",
}
_ORDERINGS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}


class _Relation(Record):
    """`L op R`: two places in one object, and what must hold between them."""

    source: str
    left: str
    right: str
    left_steps: Steps
    right_steps: Steps
    operator: str


def _parse_relation(raw: str) -> _Relation:
    found = re.fullmatch(r"\s*([^<>=!]+?)\s*(<=|>=|!=|==|<|>|=)\s*([^<>=!]+?)\s*", raw)
    if found is None:
        raise ParameterError(
            f"needs two fields with one of {' '.join(_OPERATORS)} between, not {dump_json(raw)}"
        )
    left, sign, right = found.groups()
    steps = parse_field_path(left), parse_field_path(right)
    if steps[0] is None or steps[1] is None:
        wrong = left if steps[0] is None else right
        raise ParameterError(f"takes paths such as order.total, not {dump_json(wrong)}")
    if steps[0] == steps[1] and sign in ("<", ">", "!="):
        raise CannotHoldError(f"compares {left} with itself, and nothing is {sign} itself")
    return _Relation(
        source=raw.strip(),
        left=left,
        right=right,
        left_steps=steps[0],
        right_steps=steps[1],
        operator=sign,
    )


def _check_relation(relation: _Relation, actual: object) -> Miss | None:
    if not isinstance(actual, (dict, list)):
        why = f"it is {type_name(actual)}"
        return Miss(why=why, nowhere=why)
    left, why = pull(actual, relation.left_steps)
    if left is ABSENT:
        return _nothing_at(relation.left, why)
    right, why = pull(actual, relation.right_steps)
    if right is ABSENT:
        return _nothing_at(relation.right, why)
    order, test = _compare_order(left, right), _ORDERINGS.get(relation.operator)
    if test:
        holds = order is not None and test(order, 0)
    else:
        is_same = order == 0 if order is not None else is_equal(left, right)
        holds = is_same != (relation.operator == "!=")
    if holds:
        return None
    shown = f"{relation.left} {show_json(left, 60)} and {relation.right} {show_json(right, 60)}"
    hint = f"{type_name(left)} and {type_name(right)} have no order"
    return Miss(why=f"it has {shown}", hint=(lambda: hint) if test and order is None else None)


def _nothing_at(path: str, why: str) -> Miss:
    is_literal = parse_exact(path) is not None or path[:1] in ("'", '"')
    hint = "both sides are fields; to compare with a value, write a pattern at the field"
    said = f"it has nothing at {path}: {why}"
    return Miss(why=said, hint=(lambda: hint) if is_literal else None, nowhere=said)


def _compare_order(left: object, right: object) -> int | None:
    """Less, equal or more as -1, 0, 1; None when they cannot be put in order."""
    numbers = exact_number(left), exact_number(right)
    if numbers[0] is not None and numbers[1] is not None:
        if is_same_number(numbers[0], numbers[1]):
            return 0
        return -1 if is_less(numbers[0], numbers[1]) else 1
    if is_date_text(left) or is_date_text(right):
        moments = epoch_ms(left), epoch_ms(right)
        if moments[0] is not None and moments[1] is not None:
            return (moments[0] > moments[1]) - (moments[0] < moments[1])
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    return None


# JSON Schemas

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

    def __reduce__(self) -> tuple[object, ...]:
        # The validator cannot be pickled. The schema was compiled once already, so that it is not
        # tried again.
        return declared_schema, (self.source, None, self.file)


def _parse_schema(
    given: object, read_beside: Callable[[str], str] | None, try_schema: TrySchema | None = None
) -> _Schema:
    """The schema in a file of this name, or one that is written in the test file."""
    if not isinstance(given, str):
        validator = _compile("holds a schema", given, try_schema)
        return _Schema(file="the schema", source=given, validator=validator)
    file = given.strip()
    if not file:
        raise BadSchemaError("needs the name of a file, relative to the test file")
    if read_beside is None:
        raise BadSchemaError("can only be used in a file: there is nothing to look beside")
    try:
        text = read_beside(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).removeprefix("cannot read it: ")
        reason = reason[:1].lower() + reason[1:]
        raise BadSchemaError(f"cannot read {file}: {reason}") from None
    try:
        schema = parse_json(text.removeprefix("\ufeff"))
        validator = _compile(f"reads {file},", schema, try_schema)
        return _Schema(file=file, source=schema, validator=validator)
    except (NotJsonError, BadSchemaError) as error:
        if isinstance(text, UnquotedText):
            message = f"reads {file}, which is not a JSON Schema; {UNQUOTED}"
            raise BadSchemaError(message) from None
        if isinstance(error, NotJsonError):
            raise BadSchemaError(f"reads {file}, which is not JSON: {error.reason}") from None
        raise


def declared_schema(
    schema: object, try_schema: TrySchema | None = None, file: str = "outputSchema"
) -> _Schema:
    """The same for a schema that a server declares, which may allow everything."""
    validator = _compile("", schema, try_schema, is_vague_allowed=True)
    return _Schema(file=file, source=schema, validator=validator)


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


JSON_SCHEMA = Matcher(
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
)


# Plugins

_MAX_QUOTED = 200
_MAX_MESSAGE = 1000


class _PluginUse(Record):
    """Which method of which plugin judges, and what it is given beside the value."""

    name: str
    method: str
    expected: object = None


def _make_plugin_matcher(open_plugins: Callable[[], Plugins] | None) -> Matcher:
    """The matcher that asks one of these plugins."""
    plugins: Plugins | None = None

    def parse(target: str, expected: str | None = None) -> _PluginUse:
        name, dot, method = target.partition(".")
        if not dot or not name or not method:
            raise ParameterError(f"takes NAME.METHOD, not {visible(target)!r}")
        nonlocal plugins
        if open_plugins is None:
            raise ParameterError("cannot be used here", "only what is run can ask plugins")
        plugins = plugins or open_plugins()
        if name not in plugins.names:
            raise _unknown_plugin(name, plugins.names)
        return _PluginUse(name=name, method=method, expected=expected)

    def check(use: _PluginUse, actual: object, path: str = "") -> Miss | None:
        assert plugins is not None, "without plugins nothing is parsed"
        params = {"actual": actual, "expected": use.expected, "path": path}
        return _read_verdict(use, plugins.ask(use.name, use.method, params))

    return Matcher(
        name="plugin",
        family="Plugins",
        parameters=("NAME.METHOD", "ARG"),
        optional=1,
        summary="The plugin NAME finds the value right: its METHOD is given the value, its path "
        "and ARG, which may be left out. See [plugins](plugins.md).",
        example="match:plugin:geo.near:48.85,2.35,10",
        passes=({"lat": 48.86, "lon": 2.34},),
        fails=({"lat": 59.9, "lon": 10.7}, "Paris", None),
        parse=parse,
        wants=_wants,
        check=check,
        is_remote=True,
    )


def _unknown_plugin(name: str, names: Sequence[str]) -> UnknownPluginError:
    there = f"; there are: {', '.join(names)}" if names else ""
    return UnknownPluginError(
        f"finds no plugin {visible(name)!r}{suggest(name, names, '{!r}') or there}",
        f"declare it with --plugin {visible(name)}=COMMAND, or under "
        "imports.subprocess_matchers in the config or the suite",
    )


def _wants(use: _PluginUse) -> str:
    given = "" if use.expected is None else f" for {_cut(dump_json(use.expected), _MAX_QUOTED)}"
    return f"what the plugin {use.name} accepts as {visible(use.method)}{given}"


def _read_verdict(use: _PluginUse, answer: object) -> Miss | None:
    members = answer if isinstance(answer, dict) else {}
    passes = members.get("pass")
    # Some languages write null for an empty message.
    message = members.get("message")
    message = "" if message is None else message
    unknown = [name for name in members if name not in ("pass", "message")]
    if unknown or not isinstance(passes, bool) or not isinstance(message, str):
        shown = visible(_cut(dump_json(answer), _MAX_QUOTED))
        message = f"the plugin {use.name!r} answered {visible(use.method)!r} with {shown}, "
        if unknown:
            name = visible(_cut(dump_json(unknown[0]), _MAX_QUOTED))
            message += f"and a verdict has no member {name}"
        else:
            message += "which is not a verdict"
        hint = 'a verdict is {"pass": true} or {"pass": false, "message": "why"}'
        raise CheckError(Fault(kind="plugin_failed", message=message, hint=hint))
    if passes:
        return None
    return Miss(why=f"it says: {_cut(message, _MAX_MESSAGE)}" if message else "it says no")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


MATCHERS = (
    Matcher(
        name="crossField",
        family="Objects",
        parameters=("L op R",),
        summary="Two fields of the object, by path, compared as numbers, dates or strings; op is "
        "one of `<` `>` `<=` `>=` `=` `==` `!=`.",
        example="match:crossField:order.start < order.end",
        passes=({"order": {"start": "2023-01-01", "end": "2023-01-02"}},),
        fails=({"order": {"start": 2, "end": 1}}, {"order": {"start": 1}}, None),
        parse=_parse_relation,
        wants=lambda relation: f"{relation.left} {_OPERATORS[relation.operator]} {relation.right}",
        check=_check_relation,
        kinds=("object", "array"),
    ),
    JSON_SCHEMA,
    _make_plugin_matcher(None).but(bind=lambda _, services: _make_plugin_matcher(services.plugins)),
)
