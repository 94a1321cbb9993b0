"""The matchers of a suite, `{contains: A-17}`, and the targets of its assertions.

Each name stands for one of the matchers that suites know, or for a group of them; any other matcher
is written `{pattern: "match:NAME"}`. The value under it is a value of the file, not a string that
has to be parsed again. A target is a path of dots, `[n]`, `[*]` and quoted keys (`result["a.b"]`).
"""

from __future__ import annotations

from mcptest.core.diagnostics import PathDiagnostic, closest, suggest
from mcptest.core.strict_json import dump_json
from mcptest.core.text import steps_of
from mcptest.core.value_class import ABSENT
from mcptest.matching.compare import AllOf, AnyOf, Group, Not, Partial
from mcptest.matching.json_values import describe_none, is_equal, read_path, to_text, type_name
from mcptest.matching.patterns import PREFIX, Pattern, PatternError, parse_pattern, suggest_matcher
from mcptest.matching.registry import CannotHoldError, CheckFlags, Matcher, Miss, ParameterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest.core.text import Trail
    from mcptest.matching.json_values import Steps
    from mcptest.matching.registry import Registry
    from mcptest.matching.snapshots import SnapshotBook

__all__ = ["EXAMPLES", "ROOTS", "SuiteMatchers", "parse_target"]

# Names that take one string, and the matcher of the registry behind each.
_TEXTS = {
    "icontains": "containsIgnoreCase",
    "starts-with": "startsWith",
    "ends-with": "endsWith",
    "regex": "regex",
}
_NUMBERS = {
    "gt": "greaterThan",
    "gte": "greaterThanOrEqual",
    "lt": "lessThan",
    "lte": "lessThanOrEqual",
}
# The name here of a matcher that has this name in the registry.
_NAME_HERE = {
    **{matcher: word for word, matcher in (_TEXTS | _NUMBERS).items()},
    "jsonSchema": "schema",
    "notEquals": "not",
    "arrayLength": "length",
    "count": "length",
}


class SuiteMatchers:
    """Compiles the matchers of one file; mistakes are collected as diagnostics."""

    def __init__(
        self,
        registry: Registry,
        diagnostics: list[PathDiagnostic],
        read_beside: Callable[[str], str] | None = None,
        book: SnapshotBook | None = None,
    ) -> None:
        self._registry = registry
        self._read_beside = read_beside
        self._book = book
        self._diagnostics = diagnostics
        self._key = ""
        self.flags = CheckFlags()

    def compile(self, value: object, trail: Trail, key: str = "") -> object:
        """The compiled matcher at this place; `key` names it among snapshots."""
        self._key = key or self._key
        if not isinstance(value, dict):
            shape = "a mapping such as {contains: sunny}"
            message = f"a matcher is {shape}, and this is {_type_name(value)}"
            self._report("F008", message, trail, _instead_of(value))
            return ABSENT
        if not value:
            help = f"write one of {', '.join(_MATCHERS)}"
            self._report("F011", "the matcher is empty: every value meets it", trail, help)
            return ABSENT
        checks = [self._word(word, inner, (trail, word)) for word, inner in value.items()]
        if len(checks) == 1:
            return checks[0]
        return Group(source=value, checks=(AllOf(values=tuple(checks)),))

    def _word(self, word: str, value: object, trail: Trail) -> object:
        if word not in _MATCHERS:
            self._refuse_unknown(word, trail)
            return ABSENT
        read, example = _MATCHERS[word]
        try:
            return read(self, word, value, trail)
        except ParameterError as error:
            help = error.help or f"for example {{{word}: {example}}}"
            # Only the parameters of `match:` patterns follow a colon.
            reason = str(error).replace(" after the colon", "")
            self._report(error.code, f'the matcher "{word}" {reason}', trail, help)
            return ABSENT

    def _refuse_unknown(self, word: str, trail: Trail) -> None:
        # It may be misspelt, or the name in another tool.
        names = tuple(_MATCHERS)
        habit = suggest_matcher(word, names) if word.strip("_-") else ""
        meant = _NAME_HERE.get(word) or _NAME_HERE.get(habit)
        meant = meant or (habit if habit in names else closest(word, names))
        question = f'; did you mean "{meant}"?' if meant else ""
        help = f"there are: {', '.join(names)}"
        matcher = self._registry.get(word)
        if matcher and not meant:
            example = matcher.example.removeprefix(PREFIX)
            help = f"write it as a pattern: {{pattern: {dump_json(example)}}}"
        self._report("F012", f'unknown matcher "{word}"{question}', trail, help, on_key=True)

    # One reader for each kind of matcher

    def _exact(self, word: str, value: object, trail: Trail) -> object:
        return value

    def _contains(self, word: str, value: object, trail: Trail) -> Pattern:
        if isinstance(value, str):
            return self._make_pattern("contains", word, value, value)
        matcher = self._known("contains").but(
            check=_contains_value,
            wants=lambda wanted: f"something that contains {dump_json(wanted)}",
            kinds=(),
        )
        return self._pattern(matcher, word, value, value)

    def _contains_each(self, word: str, value: object, trail: Trail) -> Group:
        values = self._list(value)
        checks = tuple(self._contains("contains", each, trail) for each in values)
        check = AllOf(values=checks) if word == "contains-all" else AnyOf(values=checks)
        return Group(source={word: value}, checks=(check,))

    def _text(self, word: str, value: object, trail: Trail) -> Pattern:
        if not isinstance(value, str):
            raise ParameterError(f"takes a string, not {_type_name(value)}")
        return self._make_pattern(_TEXTS[word], word, value, value)

    def _number(self, word: str, value: object, trail: Trail) -> Pattern:
        return self._make_pattern(_NUMBERS[word], word, value, self._number_text(value))

    def _between(self, word: str, value: object, trail: Trail) -> Pattern:
        if not isinstance(value, list) or len(value) != 2:
            raise ParameterError(f"takes a list of two numbers, not {_type_name(value)}")
        low, high = map(self._number_text, value)
        if value[0] > value[1]:
            message = f"goes from {low} down to {high}, where nothing lies"
            raise CannotHoldError(message, f"write [{high}, {low}]")
        return self._make_pattern("between", word, value, low, high)

    def _type(self, word: str, value: object, trail: Trail) -> Pattern:
        if not isinstance(value, str):
            raise ParameterError(f"takes the name of a type, not {_type_name(value)}")
        return self._make_pattern("type", word, value, value)

    def _length(self, word: str, value: object, trail: Trail) -> Pattern:
        if type(value) is not int:
            raise ParameterError(f"takes a whole number, not {_type_name(value)}")
        return self._make_pattern("length", word, value, str(value))

    def _one_of(self, word: str, value: object, trail: Trail) -> Group:
        return Group(source={word: value}, checks=(AnyOf(values=tuple(self._list(value))),))

    def _exists(self, word: str, value: object, trail: Trail) -> Pattern:
        if not isinstance(value, bool):
            raise ParameterError(f"takes true or false, not {_type_name(value)}")
        return self._make_pattern("exists", word, value).but(negated=not value)

    def _not(self, word: str, value: object, trail: Trail) -> Group:
        return Group(source={word: value}, checks=(Not(value=self.compile(value, trail)),))

    def _choices(self, word: str, value: object, trail: Trail) -> Group:
        inner = self._list(value)
        checks = tuple(self.compile(each, (trail, index)) for index, each in enumerate(inner))
        check = AllOf(values=checks) if word == "all" else AnyOf(values=checks)
        return Group(source={word: value}, checks=(check,))

    def _partial(self, word: str, value: object, trail: Trail) -> Group:
        if value in ({}, []):
            raise ParameterError("is empty: every value meets it")
        return Group(source={word: value}, checks=(Partial(value=value),))

    def _schema(self, word: str, value: object, trail: Trail) -> Pattern:
        return self._make_pattern("jsonSchema", word, value, value, self._read_beside)

    def _plugin(self, word: str, value: object, trail: Trail) -> Pattern:
        if not isinstance(value, dict):
            raise ParameterError(f"takes a mapping, not {_type_name(value)}")
        surplus = [key for key in value if key not in ("name", "method", "params")]
        if surplus:
            raise ParameterError(f'has no key "{surplus[0]}"; there are: name, method, params')
        name, method = value.get("name"), value.get("method")
        if not isinstance(name, str) or not isinstance(method, str):
            raise ParameterError("needs a name and a method, both strings")
        matcher = self._known("plugin")
        use = matcher.parse(f"{name}.{method}").but(expected=value.get("params"))
        return self._pattern(matcher, word, value, use)

    def _any_pattern(self, word: str, value: object, trail: Trail) -> Pattern:
        if not isinstance(value, str):
            raise ParameterError(f"takes a string, not {_type_name(value)}")
        try:
            found = parse_pattern(
                PREFIX + value.removeprefix(PREFIX), self._registry, self._read_beside
            )
        except PatternError as error:
            wrong = ParameterError(f"is wrong: {error.diagnostic.message}", error.diagnostic.help)
            wrong.code = error.diagnostic.code
            raise wrong from None
        self.flags.add(found.matcher)
        return found

    def _snapshot(self, word: str, value: object, trail: Trail) -> Pattern:
        from mcptest.matching.snapshots import snapshot_pattern  # noqa: PLC0415  # few

        if self._book is None:
            raise ParameterError("cannot be used here", "only what is run has snapshots")
        if "not" in steps_of(trail):
            raise ParameterError(
                "cannot be denied: what is new would be accepted and fail",
                'take it out of "not", at any depth',
            )
        pattern = snapshot_pattern(self._book, self._key, value, trail)
        self.flags.add(pattern.matcher)
        return pattern

    # Patterns

    def _known(self, name: str) -> Matcher:
        matcher = self._registry.get(name)
        assert matcher is not None, f"the registry has no {name!r}"
        return matcher

    def _make_pattern(self, name: str, word: str, value: object, *texts: object) -> Pattern:
        matcher = self._known(name)
        return self._pattern(matcher, word, value, matcher.parse(*texts))

    def _pattern(self, matcher: Matcher, word: str, value: object, parameter: object) -> Pattern:
        self.flags.add(matcher)
        source = f"{word}: {to_text(value)}"
        return Pattern(source=source, matcher=matcher, parameter=parameter, negated=False)

    def _list(self, value: object) -> list[object]:
        if not isinstance(value, list):
            raise ParameterError(f"takes a list, not {_type_name(value)}")
        if not value:
            raise ParameterError("is empty")
        return value

    def _number_text(self, value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ParameterError(f"takes a number, not {_type_name(value)}")
        return dump_json(value)

    def _report(
        self, code: str, message: str, trail: Trail, help: str = "", *, on_key: bool = False
    ) -> None:
        steps = steps_of(trail)
        self._diagnostics.append(
            PathDiagnostic(code=code, message=message, help=help, steps=steps, on_key=on_key)
        )


def _contains_value(wanted: object, actual: object) -> Miss | None:
    if isinstance(actual, list):
        if any(is_equal(wanted, element) for element in actual):
            return None
        return Miss(why=describe_none(actual, "is it"))
    if isinstance(actual, str) and not isinstance(wanted, (dict, list)):
        return None if to_text(wanted) in actual else Miss(why="it does not")
    return Miss(why=f"it is {type_name(actual)}")


def _instead_of(value: object) -> str:
    """What to write instead of a value where a matcher belongs."""
    if isinstance(value, str) and value.startswith(PREFIX):
        return f"write {{pattern: {dump_json(value)}}}"
    if isinstance(value, (dict, list)):
        return ""
    return f"to compare with this very value, write {{exact: {dump_json(value)}}}"


def _type_name(value: object) -> str:
    return "a tag" if type(value).__name__ == "Tagged" else type_name(value)


# One entry for each matcher: how the value under it is read, and an example of that value.
_MATCHERS: dict[str, tuple[Callable[[SuiteMatchers, str, object, Trail], object], str]] = {
    "exact": (SuiteMatchers._exact, "false"),
    "equals": (SuiteMatchers._exact, "{city: Oslo}"),
    "contains": (SuiteMatchers._contains, "sunny"),
    "icontains": (SuiteMatchers._text, "SUNNY"),
    "contains-all": (SuiteMatchers._contains_each, "[sun, rain]"),
    "contains-any": (SuiteMatchers._contains_each, "[sun, rain]"),
    "starts-with": (SuiteMatchers._text, "Dear"),
    "ends-with": (SuiteMatchers._text, '"!"'),
    "regex": (SuiteMatchers._text, '"^v[0-9]+"'),
    "schema": (SuiteMatchers._schema, "{type: object, required: [city]}"),
    "type": (SuiteMatchers._type, "string"),
    "length": (SuiteMatchers._length, "3"),
    "gt": (SuiteMatchers._number, "0"),
    "gte": (SuiteMatchers._number, "0"),
    "lt": (SuiteMatchers._number, "100"),
    "lte": (SuiteMatchers._number, "100"),
    "between": (SuiteMatchers._between, "[1, 10]"),
    "one-of": (SuiteMatchers._one_of, "[sun, rain]"),
    "exists": (SuiteMatchers._exists, "true"),
    "not": (SuiteMatchers._not, "{contains: secret}"),
    "all": (SuiteMatchers._choices, "[{contains: sun}, {contains: rain}]"),
    "any": (SuiteMatchers._choices, "[{contains: sun}, {contains: rain}]"),
    "snapshot": (SuiteMatchers._snapshot, "true"),
    "partial": (SuiteMatchers._partial, "{city: Oslo}"),
    "plugin": (SuiteMatchers._plugin, '{name: geo, method: near, params: "48.85,2.35,10"}'),
    "pattern": (SuiteMatchers._any_pattern, '"dateValid"'),
}
EXAMPLES = {name: example for name, (_, example) in _MATCHERS.items()}


# What there is to look at after a call.
ROOTS = ("result", "error", "notifications", "stderr", "duration_ms")
_SCALAR_ROOTS = frozenset(["stderr", "duration_ms"])


def parse_target(text: str, roots: Sequence[str] = ROOTS) -> Steps:
    """The steps of a target; ValueError says what is wrong with it.

    The message quotes all of it: a part of a secret would not be recognised and hidden.
    """
    try:
        steps = read_path(text)
    except ValueError as error:
        raise ValueError(f"is not a path: {text!r} {error}") from None
    if not steps:
        raise ValueError(f"is empty; it begins with one of {', '.join(roots)}")
    root = steps[0]
    if root not in roots:
        question = suggest(str(root), roots, "{!r}")
        raise ValueError(f"is {text!r}; it begins with one of {', '.join(roots)}{question}")
    if root in _SCALAR_ROOTS and len(steps) > 1:
        raise ValueError(f"goes on after {root!r}, which has nothing in it")
    return steps
