"""From words on a command line to the arguments of a tool or a prompt.

`key=value` is read as the tool's schema says, `key:=json` is strict JSON, `a.b=value` goes
into the object `a`. Every word that makes no sense is a `UsageError` that says what would.
"""

from __future__ import annotations

import re

from mcptest.core.errors import UsageError
from mcptest.core.record import Record
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.suggest import closest
from mcptest.core.text import shorten, visible
from mcptest.explore.schema import (
    allows_extra,
    branches,
    properties_of,
    required_of,
    resolved,
    type_words,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from mcptest.explore.schema import Schema

__all__ = ["Word", "build_arguments", "parse_words", "unknown_name"]

_WORD = r"(?s)(?!:=)(.+?)(:?=)(.*)"
_INTEGER = r"-?(?:0|[1-9][0-9]*)"

# What a text may mean, from the most to the least particular; text is what is left.
_READINGS = ("null", "boolean", "integer", "number", "array", "object")


class Word(Record):
    """One `key=value` or `key:=json`, as it was typed."""

    key: str
    value: str
    is_json: bool = False


def parse_words(words: Iterable[str]) -> tuple[Word, ...]:
    """Cut the words at their first `=` or `:=`; the same key twice is an error."""
    parsed: dict[str, Word] = {}
    for word in words:
        found = re.fullmatch(_WORD, word)
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
    """The arguments that the words, on top of those given as JSON, ask for.

    Unless checked, nothing is refused for what the schema says of names.
    """
    builder = _Builder(schema, given, is_checked)
    for word in words:
        builder.place(word)
    if is_checked:
        builder.refuse_unknown(given)
        builder.refuse_missing()
    return builder.built


class _Builder:
    """Arguments in the making."""

    def __init__(self, schema: Schema, given: dict[str, Any], is_checked: bool) -> None:
        self._root = schema
        self._schema = resolved(schema, schema)
        self._is_checked = is_checked
        self._owned: set[str] = set()
        self.built: dict[str, Any] = _copied(given)

    def place(self, word: Word) -> None:
        """Put the word's value where its key leads, making objects on the way."""
        holder, schema = self.built, self._schema
        *parents, last = self._steps(word.key)
        path = ""
        for step in parents:
            path = f"{path}.{step}" if path else step
            self._refuse_owned(path, path in self._owned)
            schema = _object_branch(self._part(step, schema, path), self._root)
            if not isinstance(holder.get(step), dict):
                holder[step] = {}
            holder = holder[step]
        path = f"{path}.{last}" if path else last
        self._refuse_owned(path, any(other.startswith(f"{path}.") for other in self._owned))
        holder[last] = self._value(word, self._part(last, schema, path))
        self._owned.add(path)

    def _value(self, word: Word, schema: Schema) -> object:
        try:
            return _value(word, schema, self._root)
        except UsageError:
            # Whoever wants no check wants to see what the server makes of it.
            if self._is_checked or word.is_json:
                raise
            return word.value

    def _steps(self, key: str) -> list[str]:
        """Where a key leads; a property that is really called `a.b` is meant before a path."""
        steps = key.split(".")
        return [key] if key in properties_of(self._schema) or not all(steps) else steps

    def _refuse_owned(self, path: str, is_owned: bool) -> None:
        if is_owned:
            raise UsageError(f"{visible(path)} is given whole and in parts; give it one way")

    def _part(self, name: str, schema: Schema, path: str) -> Schema:
        """The schema of a property; a `UsageError` when there is none and none is allowed."""
        known = properties_of(schema)
        if name in known:
            return resolved(known[name], self._root)
        if not self._is_checked or allows_extra(schema):
            return resolved(schema.get("additionalProperties"), self._root)
        raise unknown_name("argument", path, known, "--no-check sends it all the same")

    def refuse_unknown(self, names: Iterable[str]) -> None:
        for name in names:
            self._part(name, self._schema, name)

    def refuse_missing(self) -> None:
        missing = [name for name in required_of(self._schema) if name not in self.built]
        if not missing:
            return
        known = properties_of(self._schema)
        shown = [f"{visible(name)} ({type_words(known.get(name), self._root)})" for name in missing]
        noun = "argument is" if len(missing) == 1 else "arguments are"
        raise UsageError(
            f"{len(missing)} required {noun} missing: {', '.join(shown)}",
            f"give each as {visible(missing[0])}=VALUE; --no-check calls without",
        )


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return value


def _object_branch(schema: object, root: Schema) -> Schema:
    found = list(branches(schema, root))
    return next((branch for branch in found if properties_of(branch)), {})


def unknown_name(noun: str, name: str, known: Iterable[str], help: str = "") -> UsageError:
    """There is no such tool, argument or prompt; the one that was probably meant."""
    names = [visible(each) for each in known]
    meant = closest(name.rpartition(".")[2], names)
    question = f"; did you mean {meant!r}?" if meant else ""
    there = (
        f"there are: {shorten(', '.join(names), 400)}" if names else f"there is no {noun} at all"
    )
    message = f"there is no {noun} {visible(name)!r}{question}"
    return UsageError(message, f"{there}; {help}" if help else there)


def _value(word: Word, schema: Schema, root: Schema) -> object:
    if word.is_json:
        try:
            return parse_json(word.value)
        except NotJsonError as error:
            raise UsageError(
                f"{visible(word.key)}:= takes JSON: {error.reason}",
                f"a text is written {visible(word.key)}=text",
            ) from None
    return _coerced(word, schema, root)


def _coerced(word: Word, schema: Schema, root: Schema) -> object:
    """The value as the schema's types read it; without any, it is text."""
    found = list(branches(schema, root))
    choices = [value for branch in found for value in _choices(branch)]
    if choices and all(_choices(branch) for branch in found):
        return _chosen(word, choices)
    kinds = [branch.get("type") for branch in found]
    for kind in _READINGS:
        if kind in kinds:
            value = _read_as(kind, word.value)
            if value is not _NO_SUCH:
                return value
    if "string" in kinds or not any(kind in _READINGS for kind in kinds):
        return word.value
    wanted = type_words(schema, root)
    shown = visible(shorten(word.value, 80))
    raise UsageError(
        f"{visible(word.key)} must be {wanted} and is {shown!r}", _example(word.key, kinds)
    )


def _choices(branch: Schema) -> list[object]:
    if isinstance(branch.get("enum"), list):
        return list(branch["enum"])
    if "const" in branch:
        return [branch["const"]]
    return [None] if branch.get("type") == "null" else []


def _chosen(word: Word, choices: list[object]) -> object:
    for choice in choices:
        if choice == word.value or (
            not isinstance(choice, str) and dump_json(choice) == word.value
        ):
            return choice
    texts = [choice if isinstance(choice, str) else dump_json(choice) for choice in choices]
    shown = visible(shorten(word.value, 80))
    meant = closest(word.value, texts)
    question = f"; did you mean {visible(meant)!r}?" if meant else ""
    there = shorten(", ".join(map(visible, texts)), 400)
    raise UsageError(f"{visible(word.key)} cannot be {shown!r}{question}", f"it is one of: {there}")


_NO_SUCH = object()


def _read_as(kind: str, text: str) -> object:
    """The value of a text as this JSON type, or `_NO_SUCH`."""
    if kind == "integer":
        return int(text) if re.fullmatch(_INTEGER, text) and len(text) < 1000 else _NO_SUCH
    wanted: dict[str, tuple[type, ...]] = {
        "null": (type(None),),
        "boolean": (bool,),
        "number": (int, float),
        "array": (list,),
        "object": (dict,),
    }
    try:
        value = parse_json(text)
    except NotJsonError:
        return _NO_SUCH
    return value if type(value) in wanted[kind] else _NO_SUCH


def _example(key: str, kinds: list[object]) -> str:
    key = visible(key)
    examples = {
        "boolean": f"{key}=true or {key}=false",
        "array": f'{key}:=\'["a", "b"]\'',
        "object": f"{key}:='{{\"a\": 1}}', or {key}.a=1",
        "integer": f"{key}=1",
        "number": f"{key}=1.5",
    }
    return next((f"for example {examples[kind]}" for kind in examples if kind in kinds), "")
