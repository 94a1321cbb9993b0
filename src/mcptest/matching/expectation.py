"""Compile what a file expects: patterns and directives become objects, the rest stays data.

The compiled tree is made of plain dicts, lists and scalars, with a `Pattern` where a
text began with `match:` and a `Group` where a mapping holds directives. `written`
turns it back into what the author wrote.
"""

from __future__ import annotations

import operator
import re

from mcptest.core.diagnostics import Complaint
from mcptest.core.paths import EVERY, steps_of
from mcptest.core.record import Record
from mcptest.core.suggest import closest
from mcptest.matching.patterns import PREFIX, Pattern, PatternError, parse_pattern
from mcptest.matching.planned import PLANNED_DIRECTIVES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.paths import Trail
    from mcptest.matching.registry import Registry

    Steps = tuple[str | int, ...]

__all__ = ["Compiler", "Extract", "Group", "written"]


class Extract(Record):
    """`match:extractField`: where to look, and what must be there."""

    path: str
    steps: Steps
    value: object


class Group(Record):
    """A mapping with directives; all of them, and the siblings, speak of one value."""

    source: dict[str, object]
    partial: object = None
    has_partial: bool = False
    elements: object = None
    has_elements: bool = False
    extract: Extract | None = None
    siblings: dict[str, object] | None = None


class Compiler:
    """Compiles expectations of one file, collecting complaints instead of stopping."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._patterns: dict[str, Pattern] = {}
        self.complaints: list[Complaint] = []
        self.has_seen_regex = False
        self.may_check_nothing = False

    def compile(self, value: object, trail: Trail) -> object:
        """The compiled form of `value`, which stands at the end of `trail` in its file."""
        if isinstance(value, str):
            if value.startswith(PREFIX):
                return self._text(value, trail)
            if value[: len(PREFIX)].lower() == PREFIX:
                message = f"a pattern begins with {PREFIX} in small letters"
                self._complain("F012", message, trail, on_key=False)
            return value
        if isinstance(value, dict):
            for key in value:
                if key.startswith(PREFIX):
                    return self._group(value, trail)
            return self._mapping(value, trail)
        if isinstance(value, list):
            return self._sequence(value, trail)
        return value

    # Most of any expectation is plain data: it is copied only where something changes.

    def _mapping(self, value: dict[str, object], trail: Trail) -> dict[str, object]:
        changed = {}
        for key, inner in value.items():
            compiled = self.compile(inner, (trail, key))
            if compiled is not inner:
                changed[key] = compiled
        return {**value, **changed} if changed else value

    def _sequence(self, value: list[object], trail: Trail) -> list[object]:
        compiled = [self.compile(inner, (trail, index)) for index, inner in enumerate(value)]
        is_same = all(map(operator.is_, value, compiled))
        return value if is_same else compiled

    def _text(self, source: str, trail: Trail) -> object:
        known = self._patterns.get(source)
        if known is None:
            try:
                known = self._patterns[source] = parse_pattern(source, self._registry)
            except PatternError as error:
                self.complaints.append(error.complaint.but(steps=steps_of(trail)))
                return source
        self.may_check_nothing |= known.negated
        self.has_seen_regex |= known.matcher.name == "regex"
        return known

    def _group(self, source: dict[str, object], trail: Trail) -> Group:
        fields: dict[str, object] = {}
        siblings: dict[str, object] = {}
        extracts = PREFIX + "extractField" in source
        for key, value in source.items():
            inner = (trail, key)
            if key == PREFIX + "partial":
                fields |= {"partial": self.compile(value, inner), "has_partial": True}
            elif key == PREFIX + "arrayElements":
                fields |= {"elements": self.compile(value, inner), "has_elements": True}
                self.may_check_nothing = True
            elif key == PREFIX + "extractField":
                fields["extract"] = self._extract(source, value, trail)
            elif key.startswith(PREFIX):
                self._refuse_directive(key, inner)
            elif key != "value" or not extracts:
                siblings[key] = self.compile(value, inner)
        return Group(source=source, siblings=siblings or None, **fields)  # type: ignore[arg-type]  # checked just above

    def _extract(self, source: dict[str, object], path: object, trail: Trail) -> Extract | None:
        key = PREFIX + "extractField"
        parsed = parse_field_path(path) if isinstance(path, str) else None
        if parsed is None:
            message = "match:extractField takes a path such as tools.*.name or content[0].text"
            self._complain("F013", message, (trail, key), on_key=False)
        if "value" not in source:
            message = 'match:extractField needs a "value" beside it to compare with'
            self._complain("F014", message, (trail, key))
        if parsed is None or "value" not in source:
            return None
        value = self.compile(source["value"], (trail, "value"))
        return Extract(path=str(path), steps=parsed, value=value)

    def _refuse_directive(self, key: str, trail: Trail) -> None:
        name = key.removeprefix(PREFIX)
        known = tuple(self._registry.directives)
        if name in PLANNED_DIRECTIVES:
            message = f'the directive "{key}" is not supported by this version of mcptest'
            self._complain("F010", message, trail)
            return
        meant = closest(name, known)
        message = f'unknown directive "{key}"'
        if meant:
            message += f'; did you mean "{PREFIX}{meant}"?'
        help = f"as keys there are: {', '.join(PREFIX + name for name in known)}"
        if self._registry.get(name.split(":")[0]):
            help = "this one is a pattern: write it as a value, not as a key"
        self._complain("F012", message, trail, help)

    def _complain(
        self, code: str, message: str, trail: Trail, help: str = "", *, on_key: bool = True
    ) -> None:
        steps = steps_of(trail)
        complaint = Complaint(code=code, message=message, help=help, steps=steps, on_key=on_key)
        self.complaints.append(complaint)


_FIELD_STEP = r"\[(?P<index>\d+|\*)\]|(?:^|\.)(?P<word>[^.\[\]]+)"


def parse_field_path(path: str) -> Steps | None:
    """The steps of a field path; `*` and `[*]` stand for every element or member."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = re.compile(_FIELD_STEP).match(path, at)
        if found is None:
            return None
        at = found.end()
        index, word = found["index"], found["word"]
        if "*" in (index, word):
            steps.append(EVERY)
        else:
            steps.append(word if index is None else int(index))
    return tuple(steps) or None


def written(compiled: object) -> object:
    """What the author wrote, from the compiled form."""
    if isinstance(compiled, Pattern):
        return compiled.source
    if isinstance(compiled, Group):
        return compiled.source
    if isinstance(compiled, dict):
        return {key: written(value) for key, value in compiled.items()}
    if isinstance(compiled, list):
        return [written(value) for value in compiled]
    return compiled
