"""What a test expects of an answer, as the assertions of a suite.

An expected value is taken apart: what is plain is compared as a whole, each pattern becomes an
assertion of its own, and where nothing may be left over, that is asserted as well. What comes
out holds of the same answers; what cannot be said so is a `LeftBehindError`.
"""

from __future__ import annotations

from mcptest.core.jsonrpc import describe_id
from mcptest.core.strict_json import dump_json
from mcptest.core.text import EVERY, render_path
from mcptest.formats.stream import Tagged
from mcptest.matching.compare import parse_field_path
from mcptest.matching.patterns import PREFIX, Pattern, parse_pattern
from mcptest.matching.tags import read_tag
from mcptest.matching.values import is_equal
from mcptest.migrate.element_schemas import schema_of
from mcptest.migrate.pattern_words import is_pattern, matcher_of
from mcptest.migrate.remarks import LeftBehindError
from mcptest.migrate.shapes import ABSENT_PATTERN, directives_in, is_plain, may_be_absent
from mcptest.migrate.tag_words import TagWords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.core.plan import Leniency
    from mcptest.migrate.pattern_words import Matcher, Setting

    Steps = tuple[str | int, ...]
    Assertion = dict[str, object]

__all__ = ["AnswerReader", "target_of"]

_ROOTS = ("result", "error")
_ABSENT: Matcher = {"exists": False}
_ELEMENTS = (f"{PREFIX}arrayElements", f"{PREFIX}anyElement")
_RELATIONS = (f"{PREFIX}crossField", f"{PREFIX}not:crossField")


class AnswerReader:
    """Takes one expected answer apart. `found` are the assertions so far."""

    def __init__(self, setting: Setting, tags: TagWords | None = None) -> None:
        self._setting = setting
        # Only contracts have tags; in them, an answer of the other kind never will do.
        self._is_contract = tags is not None
        self._tags = tags or TagWords()
        self.found: list[Assertion] = []

    # The whole answer

    def read(self, response: object, id: object, leniency: Leniency, *, is_ours: bool) -> None:
        """Assert that an answer to a request with this id is as expected.

        `is_ours` says that nobody has to write the envelope.
        """
        if not isinstance(response, dict):
            raise LeftBehindError("a pattern stands for the whole answer, envelope and all")
        if directives_in(response):
            self._whole_group(response, id)
        else:
            self._members(response, id, leniency, is_ours=is_ours)
        if not self.found and not self._tags.captures:
            raise LeftBehindError("it looks at the envelope of the answer only")

    def _whole_group(self, response: dict[str, object], id: object) -> None:
        siblings = {key: value for key, value in response.items() if not key.startswith(PREFIX)}
        for key, value in response.items():
            if key == f"{PREFIX}partial" and isinstance(value, dict) and not directives_in(value):
                self._members(value, id, "all", is_ours=True)
            elif key == f"{PREFIX}extractField":
                self._extract((), value, siblings.pop("value"))
            elif key == f"{PREFIX}all" and isinstance(value, list):
                for each in value:
                    self.read(each, id, "", is_ours=False)
            elif key.startswith(PREFIX):
                raise LeftBehindError(f"{key} is about the whole answer, envelope and all")
        if siblings:
            self._members(siblings, id, "all", is_ours=True)

    def _members(
        self, members: dict[str, object], id: object, leniency: Leniency, *, is_ours: bool
    ) -> None:
        envelope = {"jsonrpc": "2.0", "id": id}
        for key, actual in envelope.items():
            if key in members:
                self._refuse_other(key, members[key], actual)
            elif not leniency and not is_ours:
                raise LeftBehindError(f'without "{key}" in what is expected, no answer is met')
        wanted = [root for root in _ROOTS if not may_be_absent(members.get(root, ABSENT_PATTERN))]
        if not leniency and not wanted:
            raise LeftBehindError("no answer is without a result or an error")
        for key, value in members.items():
            if key in _ROOTS:
                read = self._walk if self._is_contract else self._member
                read(value, (key,), leniency)
            elif key not in envelope:
                raise LeftBehindError(f'"{key}" stands in the envelope of the answer')

    def _refuse_other(self, key: str, wanted: object, actual: object) -> None:
        """The envelope is the runner's in a suite: what is said of it must always hold."""
        if isinstance(wanted, Tagged) or is_pattern(wanted):
            holds = _is_met(wanted, actual, self._setting)
        else:
            holds = is_plain(wanted) and is_equal(wanted, actual)
        if not holds:
            shown = describe_id(actual) if key == "id" else f"{key} {dump_json(actual)}"
            raise LeftBehindError(f"the answer will have {shown}, and something else is expected")

    # What stands in it

    def _member(self, value: object, steps: Steps, leniency: Leniency) -> None:
        """What is expected under a key, which may be one that is not there."""
        if may_be_absent(value):
            self._assert(steps, self._optional(value))
        else:
            self._walk(value, steps, leniency)

    def _optional(self, value: object) -> Matcher:
        """What must hold of a value if there is one; for a suite null is none."""
        if value == ABSENT_PATTERN:
            return {"exists": False}
        choices = [value]
        if directives_in(value) and list(value) == [f"{PREFIX}any"]:
            choices = [each for each in _as_list(value[f"{PREFIX}any"]) if each != ABSENT_PATTERN]
        return {"any": [dict(_ABSENT), *map(self._single, choices)]}

    def _walk(self, value: object, steps: Steps, leniency: Leniency) -> None:
        """What is expected of something that must be there."""
        if isinstance(value, Tagged):
            self._tag(value, steps)
        elif value == ABSENT_PATTERN:
            self._assert(steps, {"exact": None})
        elif is_pattern(value):
            self._assert(steps, matcher_of(str(value), self._setting))
        elif directives_in(value):
            self._group(value, steps)
        elif is_plain(value):
            self._plain(value, steps, leniency)
        elif EVERY in steps:
            self._assert(steps, {"schema": schema_of(value, leniency)})
        elif isinstance(value, dict):
            self._object(value, steps, leniency)
        elif isinstance(value, list):
            self._array(value, steps, leniency)

    def _tag(self, tagged: Tagged, steps: Steps) -> None:
        matcher = self._tags.matcher_of(tagged, target_of(steps))
        if matcher:
            self._assert(steps, matcher)

    def _object(self, value: dict[str, object], steps: Steps, leniency: Leniency) -> None:
        closing: Matcher = {} if leniency else _no_other_keys(value)
        # A key of digits is also found in an array, and one that is absent in anything.
        if all(key.isdecimal() or may_be_absent(each) for key, each in value.items()):
            closing = {"type": "object", **closing}
        if closing:
            self._assert(steps, closing)
        for key, inner in value.items():
            self._member(inner, (*steps, key), leniency)

    def _array(self, value: list[object], steps: Steps, leniency: Leniency) -> None:
        if leniency != "all":
            self._assert(steps, {"length": len(value)})
        for index, inner in enumerate(value):
            self._walk(inner, (*steps, index), leniency)

    def _plain(self, value: object, steps: Steps, leniency: Leniency) -> None:
        is_lenient = leniency and isinstance(value, (dict, list))
        if not is_lenient or (leniency == "objects" and not _has_objects(value)):
            self._assert(steps, {"exact": value})
        elif not value:
            self._assert(steps, {"type": "object" if isinstance(value, dict) else "array"})
        elif isinstance(value, dict) and _is_only_a_way(value) and EVERY not in steps:
            ((key, inner),) = value.items()
            self._plain(inner, (*steps, key), leniency)
        else:
            self._assert(steps, {"partial": value})
            if leniency == "objects":
                self._lengths(value, steps)

    def _lengths(self, value: object, steps: Steps) -> None:
        """Of a contract's arrays nothing may be left over, however deep they are."""
        if EVERY in steps:
            raise LeftBehindError("an array inside of many others may have nothing left over")
        if isinstance(value, list):
            self._assert(steps, {"length": len(value)})
        inner = value.items() if isinstance(value, dict) else enumerate(_as_list(value))
        for step, each in inner:
            if isinstance(each, (dict, list)):
                self._lengths(each, (*steps, step))

    # Directives

    def _group(self, value: dict[str, object], steps: Steps) -> None:
        siblings = {key: inner for key, inner in value.items() if not key.startswith(PREFIX)}
        for key, inner in value.items():
            if key == f"{PREFIX}partial":
                self._walk(inner, steps, "all")
            elif key == f"{PREFIX}extractField":
                self._extract(steps, inner, siblings.pop("value"))
            elif key == f"{PREFIX}all":
                for each in _as_list(inner):
                    self._walk(each, steps, "")
            elif key.startswith(PREFIX):
                self._assert(steps, self._single({key: inner}))
        if siblings:
            self._walk(siblings, steps, "all")

    def _extract(self, steps: Steps, path: object, value: object) -> None:
        if EVERY in steps:
            raise LeftBehindError("match:extractField looks into what another one has pulled out")
        inner = (*steps, *(parse_field_path(str(path)) or ()))
        if inner[0] not in _ROOTS:
            raise LeftBehindError(f"{path} stands in the envelope of the answer")
        if EVERY in inner and not _is_of_one_value(value):
            self._assert(inner, {"schema": schema_of(value)})
        else:
            self._walk(value, inner, "")

    def _single(self, value: object) -> Matcher:
        """One matcher for a value as a whole, which must be there."""
        if value == ABSENT_PATTERN:
            return {"exact": None}
        if is_pattern(value):
            return matcher_of(str(value), self._setting)
        if is_plain(value):
            return {"exact": value}
        if not directives_in(value) or len(value) > 1:
            return {"schema": schema_of(value)}
        key, inner = next(iter(value.items()))
        if key == f"{PREFIX}partial" and is_plain(inner) and inner not in ({}, []):
            return {"partial": inner} if isinstance(inner, (dict, list)) else {"exact": inner}
        if key in _RELATIONS:
            return {"pattern": f"{key.removeprefix(PREFIX)}:{inner}"}
        if key == f"{PREFIX}any" and all(map(_is_scalar, _as_list(inner))):
            return {"one-of": inner}
        if key in (f"{PREFIX}all", f"{PREFIX}any"):
            return {key.removeprefix(PREFIX): [self._single(each) for each in _as_list(inner)]}
        return {"schema": schema_of(value)}

    def _assert(self, steps: Steps, matcher: Matcher) -> None:
        self.found.append({"target": target_of(steps), "matcher": matcher})


def target_of(steps: Iterable[str | int]) -> str:
    """The text of a target; keys that are no plain words are quoted as JSON does it."""
    text = ""
    for step in steps:
        shown = render_path([step])
        if isinstance(step, int) or step is EVERY:
            text += shown
        elif shown == step:
            text += f".{step}" if text else step
        else:
            text += f"[{dump_json(step)}]"
    return text


def _is_met(wanted: object, actual: object, setting: Setting) -> bool:
    """Whether a pattern or a tag holds of this value; False where that cannot be said."""
    try:
        if isinstance(wanted, Tagged):
            found = read_tag(wanted.tag, wanted.text)
        else:
            found = parse_pattern(str(wanted), setting.registry)
    except ValueError:
        return False
    return isinstance(found, Pattern) and not found.matcher.is_remote and found.is_met(actual)


def _no_other_keys(value: dict[str, object]) -> Matcher:
    """Together with what is asserted of each key: there are no others."""
    if any(may_be_absent(inner) for inner in value.values()):
        return {"schema": {"propertyNames": {"enum": list(value)}}}
    return {"pattern": f"count:{len(value)}"}


def _is_only_a_way(value: dict[str, object]) -> bool:
    """Whether an object has one key, which is a longer path as well."""
    return len(value) == 1 and not next(iter(value)).isdecimal()


def _has_objects(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_has_objects, value))
    return isinstance(value, dict)


def _is_scalar(value: object) -> bool:
    return not isinstance(value, (dict, list, Tagged)) and not is_pattern(value)


def _is_of_one_value(value: object) -> bool:
    return is_plain(value) or is_pattern(value) or directives_in(value)


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
