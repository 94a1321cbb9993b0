"""A matcher of a suite, as what a Conductor file writes for it."""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.matching.matchers.values import values_equal_to
from mcptest.matching.patterns import PREFIX, find_missing_prefix
from mcptest.matching.values import json_type, to_text
from mcptest.migrate.element_schemas import expectation_of
from mcptest.migrate.pattern_words import NEGATION, NUMBER_WORDS, TEXT_WORDS
from mcptest.migrate.remarks import LeftBehindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.migrate.pattern_words import Setting

__all__ = ["WordReader", "accepts_absence"]

_TEXTS = {word: name for name, word in TEXT_WORDS.items()}
_NUMBERS = {word: name for name, word in NUMBER_WORDS.items()}
_ONCE = "what must not hold is more than one pattern can say"


class WordReader:
    """Turns matchers into patterns, directives and plain values."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def expression(self, matcher: object) -> object:
        """What stands in the place of a value that must meet this matcher."""
        assert isinstance(matcher, dict), "it has been loaded"
        found = [self._word(word, value) for word, value in matcher.items()]
        return found[0] if len(found) == 1 else {"match:all": found}

    def _word(self, word: str, value: object) -> object:
        if word in ("exact", "equals"):
            return self.literal(value)
        if word in _TEXTS and isinstance(value, str):
            return f"{PREFIX}{_TEXTS[word]}:{value}"
        if word in _NUMBERS:
            return f"{PREFIX}{_NUMBERS[word]}:{dump_json(value)}"
        read = _READERS.get(word)
        if read is None:
            raise LeftBehindError(f"{word}: {dump_json(value)} has no counterpart among patterns")
        return read(self, value)

    def literal(self, value: object) -> object:
        """A value that means just itself, wherever patterns are looked for."""
        if isinstance(value, dict):
            for key in value:
                if key.startswith(PREFIX) or self._is_directive(key):
                    raise LeftBehindError(f'the key "{key}" would be read as a directive')
            return {key: self.literal(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.literal(inner) for inner in value]
        if isinstance(value, str) and self._is_misleading(value):
            return f"{PREFIX}equals:{value}"
        return value

    def _is_directive(self, key: str) -> bool:
        # Words in small letters may well be keys of somebody's own.
        return key in self._setting.registry.directives and not key.islower()

    def _is_misleading(self, text: str) -> bool:
        begins = text[: len(PREFIX)].lower() == PREFIX
        return begins or find_missing_prefix(text, self._setting.registry) is not None

    def _between(self, value: object) -> object:
        assert isinstance(value, list)
        low, high = map(dump_json, value)
        return f"{PREFIX}between:{low}:{high}"

    def _exists(self, value: object) -> object:
        return f"{PREFIX}exists" if value else f"{PREFIX}{NEGATION}exists"

    def _all(self, value: object) -> object:
        return {"match:all": [self.expression(each) for each in _listed(value)]}

    def _any(self, value: object) -> object:
        return {"match:any": [self.expression(each) for each in _listed(value)]}

    def _contains_all(self, value: object) -> object:
        return {"match:all": [self._word("contains", each) for each in _listed(value)]}

    def _contains_any(self, value: object) -> object:
        return {"match:any": [self._word("contains", each) for each in _listed(value)]}

    def _one_of(self, value: object) -> object:
        return {"match:any": [self.literal(each) for each in _listed(value)]}

    def _partial(self, value: object) -> object:
        return {"match:partial": self.literal(value)}

    def _length(self, value: object) -> object:
        return f"{PREFIX}length:{value}"

    def _pattern(self, value: object) -> object:
        return PREFIX + str(value).removeprefix(PREFIX)

    def _schema(self, value: object) -> object:
        if not isinstance(value, str):
            return expectation_of(value)
        return f"{PREFIX}jsonSchema:{self._setting.relocated(value)}"

    def _plugin(self, value: object) -> object:
        assert isinstance(value, dict)
        called = f"{PREFIX}plugin:{value['name']}.{value['method']}"
        params = value.get("params")
        if params is None:
            return called
        if not isinstance(params, str):
            raise LeftBehindError("a plugin is given text by a pattern, and here something else")
        return f"{called}:{params}"

    # What must not hold

    def _not(self, value: object) -> object:
        assert isinstance(value, dict)
        found = [self._negated(word, inner) for word, inner in value.items()]
        return found[0] if len(found) == 1 else {"match:any": found}

    def _negated(self, word: str, value: object) -> object:
        if word in ("exact", "equals"):
            return self._anything_but(value)
        if word == "not":
            return self.expression(value)
        joined = {"all": "any", "any": "all", "contains-all": "any", "contains-any": "all"}
        if word in ("all", "any"):
            return {f"match:{joined[word]}": [self._not(each) for each in _listed(value)]}
        if word in joined:
            each = [self._negated("contains", inner) for inner in _listed(value)]
            return {f"match:{joined[word]}": each}
        if word == "one-of":
            return {"match:all": [self._anything_but(each) for each in _listed(value)]}
        return _negation(self._word(word, value))

    def _anything_but(self, value: object) -> object:
        if isinstance(value, bool):
            return {"match:any": [not value, f"{PREFIX}{NEGATION}type:boolean"]}
        if value is None:
            return f"{PREFIX}{NEGATION}type:null"
        if isinstance(value, (dict, list)):
            raise LeftBehindError(f"no pattern means anything but {dump_json(value)}")
        differs = f"{PREFIX}{NEGATION}equals:{to_text(value)}"
        if values_equal_to((to_text(value),)) == (value,):
            return differs
        # What prints the same is not the same: a text that is a number is no number.
        return {"match:any": [differs, f"{PREFIX}{NEGATION}type:{json_type(value)}"]}


def accepts_absence(matcher: object) -> bool:
    """Whether a matcher is met where there is nothing to match."""
    return _of_nothing(matcher) is True


def _of_nothing(matcher: object) -> bool | None:
    """What a matcher says of nothing; None when it only speaks of values."""
    assert isinstance(matcher, dict), "it has been loaded"
    return _joint([_word_of_nothing(word, value) for word, value in matcher.items()], False)


def _word_of_nothing(word: str, value: object) -> bool | None:
    if word == "exists":
        return not value
    if word == "pattern" and str(value).removeprefix(PREFIX) in ("exists", "not:exists"):
        return str(value).removeprefix(PREFIX) != "exists"
    if word == "not":
        said = _of_nothing(value)
        return None if said is None else not said
    if word in ("all", "any"):
        return _joint([_of_nothing(each) for each in _listed(value)], word == "any")
    return None


def _joint(all_said: list[bool | None], decides: bool) -> bool | None:
    """One that fails decides for all of them, one that holds for any of them."""
    if decides in all_said:
        return decides
    return None if None in all_said else not decides


def _negation(expression: object) -> str:
    if not isinstance(expression, str) or not expression.startswith(PREFIX):
        raise LeftBehindError(_ONCE)
    body = expression.removeprefix(PREFIX)
    if body.startswith(NEGATION):
        return PREFIX + body.removeprefix(NEGATION)
    return f"{PREFIX}{NEGATION}{body}"


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_READERS: dict[str, Callable[[WordReader, object], object]] = {
    "between": WordReader._between,
    "exists": WordReader._exists,
    "all": WordReader._all,
    "any": WordReader._any,
    "contains-all": WordReader._contains_all,
    "contains-any": WordReader._contains_any,
    "one-of": WordReader._one_of,
    "partial": WordReader._partial,
    "length": WordReader._length,
    "pattern": WordReader._pattern,
    "schema": WordReader._schema,
    "plugin": WordReader._plugin,
    "not": WordReader._not,
}
