"""`expect:` of a suite: assertions about what came, and what it may cost.

    expect:
      - {target: "result.content[0].text", matcher: {contains: A-17}, message: echoed, weight: 2}

or `{assertions: […], threshold: 0.8, max_duration_ms: 900, max_response_tokens: 2000}`.
"""

from __future__ import annotations

from mcptest.core.paths import trail_of
from mcptest.core.plan import Assertion, Expectation, Performance
from mcptest.formats.fields import Fields, kind_of
from mcptest.matching.group import Group, Not, Partial
from mcptest.matching.target import ROOTS, parse_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.matching.suite_words import SuiteWords

__all__ = ["ASSERTION_KEYS", "BUDGETS", "EXPECT_KEYS", "ExpectReader", "successful"]

BUDGETS = ("threshold", "max_duration_ms", "max_response_tokens")
EXPECT_KEYS = ("assertions", *BUDGETS)
ASSERTION_KEYS = ("target", "matcher", "message", "weight")

_DAY_MS = 24 * 3600 * 1000.0
_MAX_TOKENS = 1_000_000_000
_MAX_WEIGHT = 1_000_000.0


def successful(method: str) -> tuple[Assertion, ...]:
    """What is asserted of a call of which nothing else is: that it succeeds."""
    found = (Assertion(target="result", steps=("result",), check=_AN_OBJECT),)
    if method != "tools/call":
        return found
    message = "the tool reports an error"
    return (*found, Assertion(target="result", steps=("result",), check=_FINE, message=message))


_AN_OBJECT = Group(source={"type": "object"}, checks=(Partial(value={}),))
_AN_ERROR = Group(source={"partial": {"isError": True}}, checks=(Partial(value={"isError": True}),))
_FINE = Group(source={"not": _AN_ERROR.source}, checks=(Not(value=_AN_ERROR),))


class ExpectReader:
    """Reads the expectations of one file."""

    def __init__(self, words: SuiteWords, roots: Sequence[str] = ROOTS) -> None:
        self._words = words
        self._roots = roots

    def read(self, fields: Fields, key: str, name: str) -> Expectation | None:
        """What an entry or a step expects; None when it says nothing. `name` is for snapshots."""
        budgets = {each: fields.mapping[each] for each in BUDGETS if each in fields.mapping}
        value = fields.mapping.get(key)
        if key not in fields.mapping:
            return self._expectation((), fields.replaced(budgets)) if budgets else None
        if isinstance(value, list):
            items, limits = value, fields.replaced(budgets)
            place = fields.at((key,))
        else:
            items, limits, place = self._from_mapping(fields, key, budgets)
        assertions = self._assertions(items, place, name)
        if not assertions and isinstance(value, list):
            fields.complain(key, "F011", f'"{key}" is empty: this test would check nothing')
        return self._expectation(assertions, limits)

    def _from_mapping(
        self, fields: Fields, key: str, budgets: dict[str, object]
    ) -> tuple[list[object], Fields, Fields]:
        inner = fields.mapping_at(key) or fields.at((key,))
        inner.refuse_unknown(EXPECT_KEYS, (), f'"{key}"')
        for each in budgets:
            if each in inner.mapping:
                message = f'"{each}" stands here and under "{key}"; only one of them can count'
                fields.complain(each, "F003", message)
        if isinstance(fields.mapping[key], dict) and not inner.mapping:
            fields.complain(key, "F011", f'"{key}" is empty: this test would check nothing')
        limits = inner if any(each in inner.mapping for each in BUDGETS) else fields
        merged = limits.replaced({**budgets, **inner.mapping})
        return inner.list_at("assertions"), merged, inner.at(("assertions",))

    def _assertions(self, items: list[object], place: Fields, name: str) -> tuple[Assertion, ...]:
        self._words.start()
        read = (self._assertion(item, place.at((index,)), name) for index, item in enumerate(items))
        return tuple(assertion for assertion in read if assertion)

    def _assertion(self, item: object, place: Fields, name: str) -> Assertion | None:
        if not isinstance(item, dict):
            message = f"an assertion is a mapping with target and matcher and is {kind_of(item)}"
            place.complain("", "F008", message, on_key=False)
            return None
        fields = place.replaced(item)
        fields.refuse_unknown(ASSERTION_KEYS, (), "an assertion")
        fields.require(("target", "matcher"), "an assertion")
        target = fields.text("target")
        steps = self._target(fields, target) if "target" in item else ()
        key = f"{name} > {target}"
        check = None
        if "matcher" in item:
            trail = trail_of((*fields.steps, "matcher"))
            check = self._words.compile(item["matcher"], trail, key)
        weight = fields.number("weight", 0.0, _MAX_WEIGHT)
        if weight == 0:
            fields.complain("weight", "F011", "with a weight of 0 it counts for nothing")
        if not steps or "matcher" not in item:
            return None
        return Assertion(
            target=target,
            steps=steps,
            check=check,
            message=fields.text("message"),
            weight=1.0 if weight is None else weight,
        )

    def _target(self, fields: Fields, text: str) -> tuple[str | int, ...]:
        try:
            return parse_target(text, self._roots)
        except ValueError as error:
            example = "for example result.content[0].text"
            fields.complain("target", "F009", f'"target" {error}', example, on_key=False)
            return ()

    def _expectation(self, assertions: tuple[Assertion, ...], limits: Fields) -> Expectation:
        words = self._words
        slowest_ms = limits.number("max_duration_ms", 0.001, _DAY_MS)
        threshold = limits.number("threshold", 0.0, 1.0)
        if threshold == 0:
            message = '"threshold" is 0: this test would pass whatever comes'
            limits.complain("threshold", "F011", message, on_key=False)
        tokens = None
        if "max_response_tokens" in limits.mapping:
            tokens = limits.whole_number("max_response_tokens", 1, _MAX_TOKENS, 1)
        performance = Performance(max_response_s=slowest_ms / 1000) if slowest_ms else None
        return Expectation(
            assertions=assertions,
            threshold=1.0 if threshold is None else threshold,
            performance=performance,
            max_tokens=tokens,
            has_regex=words.has_regex,
            has_foreign_check=words.has_foreign,
            has_remote_check=words.has_remote,
        )
