"""Compile what a file expects: patterns and directives become objects, the rest stays data.

Every mistake is a diagnostic about a place in the value, and compiling goes on, so that all of them
are reported at once.
"""

from __future__ import annotations

import operator

from mcptest.core.diagnostics import PathDiagnostic, closest
from mcptest.core.text import steps_of, trail_of
from mcptest.core.value_class import Record
from mcptest.matching.compare import AllOf, AnyOf, Each, Extract, Group, Partial, Some
from mcptest.matching.json_values import parse_field_path
from mcptest.matching.patterns import (
    PREFIX,
    Pattern,
    PatternError,
    find_missing_prefix,
    parse_pattern,
)
from mcptest.matching.registry import CheckFlags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.text import Trail
    from mcptest.matching.registry import Registry

__all__ = ["Compiler", "Literal"]

# The sets of keys that are repeated occur early; keeping all of a file would only cost memory.
_REMEMBERED = 200


class Literal(Record):
    """A value that is what it is, even where it looks like a pattern or a directive."""

    value: object


class Compiler:
    """Compiles expectations of one file, collecting diagnostics instead of stopping.

    `read_beside` gives the text of a file that is named relative to the one being compiled.
    """

    def __init__(self, registry: Registry, read_beside: Callable[[str], str] | None = None) -> None:
        self._registry = registry
        self._read_beside = read_beside
        self._patterns: dict[str, Pattern] = {}
        # Names that are not plain words: as a key without the prefix, a mistake for the directive.
        self._unprefixed = frozenset(name for name in registry.directives if not name.islower())
        # The keys of mappings, in their order, that are just data: most mappings have the same.
        self._plain_keys: set[tuple[str, ...]] = set()
        self.diagnostics: list[PathDiagnostic] = []
        self.flags = CheckFlags()
        # Set while samples replace values that are not known yet: a pattern that no sample meets
        # may be met by the value.
        self.is_sample = False

    def compile(self, value: object, trail: Trail) -> object:
        """The compiled form of `value`, which is at `trail` in its file."""
        return value if self._is_plain(value) else self._compile(value, trail)

    def compile_at(self, value: object, steps: tuple[str | int, ...]) -> object:
        """As `compile`, with steps instead of a trail, which few values need."""
        return value if self._is_plain(value) else self._compile(value, trail_of(steps))

    def _is_plain(self, value: object) -> bool:
        """True if nothing here can be a pattern, a directive or a mistake for one.

        Most expectations are just data, and this sees it in a third of the time.
        """
        nodes: list[Any] = [value]
        for node in nodes:  # and what is added to them on the way
            kind = type(node)
            if kind is str:
                if ":" in node:
                    return False
            elif kind is dict:
                keys = (*node,)
                if keys not in self._plain_keys:
                    if not self._unprefixed.isdisjoint(keys) or ":" in "".join(keys):
                        return False
                    if len(self._plain_keys) < _REMEMBERED:
                        self._plain_keys.add(keys)
                nodes += node.values()
            elif kind is list:
                nodes += node
            elif kind is Literal:
                return False
        return True

    def _compile(self, value: object, trail: Trail) -> object:
        if isinstance(value, str):
            return self._text(value, trail)
        # Most of any expectation is plain data: it is copied only where something changes.
        if isinstance(value, list):
            elements = [self._compile(inner, (trail, index)) for index, inner in enumerate(value)]
            return value if all(map(operator.is_, value, elements)) else elements
        if not isinstance(value, dict):
            return value.value if isinstance(value, Literal) else value
        if not self._unprefixed.isdisjoint(value):
            self._refuse_unprefixed(value, trail)
        for key in value:
            if key.startswith(PREFIX):
                return self._group(value, trail)
        changed = {}
        for key, inner in value.items():
            compiled = self._compile(inner, (trail, key))
            if compiled is not inner:
                changed[key] = compiled
        return {**value, **changed} if changed else value

    def _text(self, value: str, trail: Trail) -> object:
        if value.startswith(PREFIX):
            return self._pattern(value, trail)
        if value[: len(PREFIX)].lower() == PREFIX:
            message = f"a pattern begins with {PREFIX} in small letters"
            self._report("F012", message, trail, on_key=False)
        elif ":" in value:
            mistake = find_missing_prefix(value, self._registry)
            if mistake:
                self.diagnostics.append(mistake.diagnostic.but(steps=steps_of(trail)))
        return value

    def _pattern(self, source: str, trail: Trail, shift: int = 0) -> object:
        """The pattern; its text in the file begins `shift` characters into `source`."""
        known = self._patterns.get(source)
        if known is None:
            try:
                known = parse_pattern(source, self._registry, self._read_beside)
            except PatternError as error:
                found = error.diagnostic
                if self.is_sample and found.code == "F017":
                    return source
                offset = max(0, found.offset - shift)
                self.diagnostics.append(found.but(steps=steps_of(trail), offset=offset))
                return source
            self._patterns[source] = known
        self.flags.add(known.matcher)
        if known.negated:
            self.flags.add_absence()
        return known

    # Directives

    def _group(self, source: dict[str, object], trail: Trail) -> Group:
        checks: list[Any] = []
        siblings: dict[str, object] = {}
        extracts = PREFIX + "extractField" in source
        for key, value in source.items():
            inner = (trail, key)
            if key.startswith(PREFIX):
                read = _READERS.get(key.removeprefix(PREFIX))
                check = read(self, value, inner, source) if read else None
                if read is None:
                    self._refuse_directive(key, inner)
                elif check is not None:
                    checks.append(check)
            elif key != "value" or not extracts:
                siblings[key] = self._compile(value, inner)
        return Group(source=source, checks=tuple(checks), siblings=siblings or None)

    def _partial(self, value: object, trail: Trail, _: dict[str, object]) -> Partial:
        if value in ({}, []):
            around = steps_of(trail and trail[0])
            # One diagnostic about the mapping is enough.
            if not any(diagnostic.steps == around for diagnostic in self.diagnostics):
                kind = "object" if value == {} else "array"
                message = f'"match:partial" is empty: every {kind} meets it'
                help = f'to ask for no more, write "match:type:{kind}"'
                self._report("F011", message, trail, help)
        return Partial(value=self._compile(value, trail))

    def _each(self, value: object, trail: Trail, _: dict[str, object]) -> Each:
        self.flags.add_absence()
        return Each(value=self._compile(value, trail))

    def _some(self, value: object, trail: Trail, _: dict[str, object]) -> Some:
        return Some(value=self._compile(value, trail))

    def _extract(self, path: object, trail: Trail, source: dict[str, object]) -> Extract | None:
        parsed = parse_field_path(path) if isinstance(path, str) else None
        if parsed is None:
            message = "match:extractField takes a path such as tools.*.name or content[0].text"
            self._report("F013", message, trail, on_key=False)
        if "value" not in source:
            message = 'match:extractField needs a "value" beside it to compare with'
            self._report("F014", message, trail)
        if parsed is None or "value" not in source or trail is None:
            return None
        value = self._compile(source["value"], (trail[0], "value"))
        return Extract(path=str(path), steps=parsed, value=value)

    def _relation(self, value: object, trail: Trail, _: dict[str, object]) -> Pattern | None:
        assert trail is not None
        if not isinstance(value, str):
            self._report("F013", f'{trail[1]} takes a string such as "start < end"', trail)
            return None
        lead = f"{trail[1]}:"
        pattern = self._pattern(lead + value, trail, len(lead))
        return pattern if isinstance(pattern, Pattern) else None

    def _all_or_any(self, value: object, trail: Trail, _: dict[str, object]) -> AllOf | AnyOf:
        assert trail is not None
        name = str(trail[1]).removeprefix(PREFIX)
        if not isinstance(value, list):
            example = self._registry.directives[name].example
            self._report("F013", f"{trail[1]} takes a list", trail, f"for example {example}")
            value = []
        elif not value and name == "all":
            self._report("F011", "match:all is empty: every value meets it", trail)
        elif not value:
            self._report("F017", "match:any is empty: no value meets it", trail)
        values = tuple(self._compile(inner, (trail, index)) for index, inner in enumerate(value))
        return AllOf(values=values) if name == "all" else AnyOf(values=values)

    # Mistakes

    def _refuse_directive(self, key: str, trail: Trail) -> None:
        name = key.removeprefix(PREFIX)
        known = tuple(self._registry.directives)
        meant = closest(name, known)
        message = f'unknown directive "{key}"'
        if meant:
            message += f'; did you mean "{PREFIX}{meant}"?'
        help = f"as keys there are: {', '.join(PREFIX + name for name in known)}"
        if name.removeprefix("not:") in known:
            help = "of the keys only match:crossField can be negated; negate the patterns in it"
        elif self._registry.get(name.split(":")[0]):
            help = "this one is a pattern: write it as a value, not as a key"
        self._report("F012", message, trail, help)

    def _refuse_unprefixed(self, value: dict[str, object], trail: Trail) -> None:
        # A schema names the parameters of a tool, and those may be called anything.
        if trail and trail[1] == "properties":
            return
        for name in value:
            if name in self._unprefixed:
                message = f'"{name}" is a directive, and this is compared as a plain key'
                help = (
                    f"write {PREFIX}{name}; to mean a key of that very name, pull it out with "
                    f'match:extractField: "{name}"'
                )
                self._report("F018", message, (trail, name), help)

    def _report(
        self, code: str, message: str, trail: Trail, help: str = "", *, on_key: bool = True
    ) -> None:
        steps = steps_of(trail)
        diagnostic = PathDiagnostic(
            code=code, message=message, help=help, steps=steps, on_key=on_key
        )
        self.diagnostics.append(diagnostic)


_READERS: dict[str, Callable[[Compiler, object, Trail, dict[str, object]], object]] = {
    "partial": Compiler._partial,
    "arrayElements": Compiler._each,
    "anyElement": Compiler._some,
    "extractField": Compiler._extract,
    "crossField": Compiler._relation,
    "not:crossField": Compiler._relation,
    "all": Compiler._all_or_any,
    "any": Compiler._all_or_any,
}
