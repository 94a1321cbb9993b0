"""`expect:` of a suite: assertions about the answer, and budgets.

    expect:
      - {target: "result.content[0].text", matcher: {contains: A-17}, message: echoed, weight: 2}

or `{assertions: […], threshold: 0.8, max_duration_ms: 900, max_response_tokens: 2000}`.
"""

from __future__ import annotations

from mcptest.core.plan import Assertion, Expectation, Performance
from mcptest.core.text import trail_of
from mcptest.core.value_class import Record
from mcptest.formats.fields import STRING, Fields, Key, Keys, kind_of, number, whole_number
from mcptest.matching.json_values import type_name
from mcptest.matching.patterns import Pattern
from mcptest.matching.registry import Matcher, Miss
from mcptest.matching.suite_matchers import ROOTS, parse_target
from mcptest.protocol.jsonrpc import tool_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.matching.suite_matchers import SuiteMatchers

__all__ = [
    "ASSERTION_KEYS",
    "BUDGETS",
    "DAY_MS",
    "EXPECT",
    "EXPECT_KEYS",
    "Budgets",
    "ExpectReader",
    "read_budgets",
    "successful",
]

DAY_MS = 24 * 3600 * 1000
_SHARE = "The share of the weights that must hold; 1 is all of them."

BUDGETS = Keys(
    {
        "threshold": Key(number(0, 1, is_open=True), _SHARE, 0.8, is_filled=True),
        "max_duration_ms": Key(
            number(0.001, DAY_MS), "The longest time that the answer may take.", 900, is_filled=True
        ),
        "max_response_tokens": Key(
            whole_number(1, 1_000_000_000),
            "The largest answer, in tokens: a token is four bytes of its JSON.",
            2000,
            is_filled=True,
        ),
    }
)
EXPECT = Key("expect", "What must hold of the answer; without it, that the call succeeds.")
EXPECT_KEYS = Keys(
    {
        "assertions": Key("assertions", "What must hold of the answer.", is_filled=True),
        **BUDGETS,
    }
)
ASSERTION_KEYS = Keys(
    {
        "target": Key(
            "target", "Where to look: a path into the answer.", is_required=True, is_filled=True
        ),
        "matcher": Key("matcher", "What must hold of the value there.", is_required=True),
        "message": Key(STRING, "What it means when this does not hold."),
        "weight": Key(
            number(0, 1_000_000, is_open=True),
            "How much it counts where there is a threshold (default: 1).",
            is_filled=True,
        ),
    }
)


def successful(method: str) -> tuple[Assertion, ...]:
    """Return the implied assertion of a call without assertions: that it succeeds."""
    check = Pattern(source=_SUCCESS, matcher=_SUCCEEDS, parameter=method, negated=False)
    return (Assertion(target="result", steps=("result",), check=check, is_implied=True),)


_SUCCESS = "a call that succeeds"


def _failure(method: str, result: object) -> Miss | None:
    if not isinstance(result, dict):
        return Miss(why=f"it is {type_name(result)}")
    why = tool_failure(result) if method == "tools/call" else ""
    return Miss(why=why) if why else None


# Files cannot name it: it is used where nothing is written.
_SUCCEEDS = Matcher(
    name="succeeds",
    family="",
    summary="The call succeeds: there is a result, and a tool does not call it an error.",
    example="",
    passes=({},),
    fails=([],),
    parse=str,
    wants=lambda _: _SUCCESS,
    check=_failure,
)


class Budgets(Record):
    """How much of the assertions must hold, and what a call may cost; None if not written."""

    threshold: float | None = None
    max_duration_ms: float | None = None
    max_tokens: int | None = None

    def over(self, other: Budgets) -> Budgets:
        """Return these budgets, with those of `other` where these are not written."""
        return other.but(**{key: value for key, value in self.fields() if value is not None})


def read_budgets(fields: Fields) -> Budgets:
    """Return the budgets of a mapping."""
    threshold = fields.number("threshold", *BUDGETS["threshold"].bounds)
    if threshold == 0:
        message = '"threshold" is 0: this test would pass whatever comes'
        fields.report("threshold", "F011", message, on_key=False)
    tokens = None
    if "max_response_tokens" in fields.mapping:
        bounds = BUDGETS["max_response_tokens"].bounds
        tokens = fields.whole_number("max_response_tokens", *bounds, 1)
    slowest_ms = fields.number("max_duration_ms", *BUDGETS["max_duration_ms"].bounds)
    return Budgets(threshold=threshold, max_duration_ms=slowest_ms, max_tokens=tokens)


class ExpectReader:
    """Reads the expectations of one file."""

    def __init__(self, words: SuiteMatchers, roots: Sequence[str] = ROOTS) -> None:
        self._words = words
        self._roots = roots

    def read(
        self, fields: Fields, key: str, name: str, shared: Budgets | None = None
    ) -> Expectation:
        """Return what an entry or a step expects.

        `name` is for snapshots, `shared` are the budgets of `defaults`.
        """
        budgets = read_budgets(fields)
        assertions: tuple[Assertion, ...] = ()
        if isinstance(fields.mapping.get(key), list):
            assertions = self._read_assertions(fields, key, fields.at((key,)), name)
        elif key in fields.mapping:
            inner = fields.mapping_at(key) or fields.at((key,))
            self._refuse_mixture(fields, inner, key)
            assertions = self._read_assertions(inner, "assertions", inner.at(("assertions",)), name)
            budgets = read_budgets(inner).over(budgets)
            self._refuse_idle_threshold(inner, fields.mapping.get(key))
        else:
            self._refuse_idle_threshold(fields, {})
        budgets = budgets.over(shared or Budgets())
        threshold, slowest_ms = budgets.threshold, budgets.max_duration_ms
        return Expectation(
            assertions=assertions,
            # Without assertions there is nothing to weigh.
            threshold=threshold if assertions and threshold is not None else 1.0,
            performance=Performance(max_response_s=slowest_ms / 1000) if slowest_ms else None,
            max_tokens=budgets.max_tokens,
            **self._words.flags.take(),
        )

    def _refuse_mixture(self, fields: Fields, inner: Fields, key: str) -> None:
        inner.check_keys(EXPECT_KEYS, f'"{key}"')
        for each in BUDGETS:
            if each in fields.mapping and each in inner.mapping:
                message = f'"{each}" is here and under "{key}"; only one of them can count'
                fields.report(each, "F003", message)
        if isinstance(fields.mapping[key], dict) and not inner.mapping:
            fields.report(key, "F011", f'"{key}" is empty: this test would check nothing')

    def _refuse_idle_threshold(self, fields: Fields, value: object) -> None:
        """Report a threshold without assertions to weigh."""
        if "threshold" in fields.mapping and isinstance(value, dict) and "assertions" not in value:
            message = '"threshold" weighs assertions, and there are none'
            fields.report("threshold", "F011", message)

    def _read_assertions(
        self, fields: Fields, key: str, place: Fields, name: str
    ) -> tuple[Assertion, ...]:
        if fields.mapping.get(key) == []:
            fields.report(key, "F011", f'"{key}" is empty: this test would check nothing')
        items = fields.list_at(key)
        read = (
            self._read_assertion(item, place.at((index,)), name) for index, item in enumerate(items)
        )
        return tuple(assertion for assertion in read if assertion)

    def _read_assertion(self, item: object, place: Fields, name: str) -> Assertion | None:
        if not isinstance(item, dict):
            message = f"an assertion is a mapping with target and matcher and is {kind_of(item)}"
            place.report("", "F008", message, on_key=False)
            return None
        fields = place.replaced(item)
        fields.check_keys(ASSERTION_KEYS, "an assertion")
        target = fields.text("target")
        steps: tuple[str | int, ...] = ()
        if isinstance(item.get("target"), str):
            try:
                steps = parse_target(target, self._roots)
            except ValueError as error:
                example = f"for example {_EXAMPLES.get(self._roots[0], self._roots[0])}"
                fields.report("target", "F009", f'"target" {error}', example, on_key=False)
        check = None
        if "matcher" in item:
            trail = trail_of((*fields.steps, "matcher"))
            check = self._words.compile(item["matcher"], trail, f"{name} > {target}")
        weight = fields.number("weight", *ASSERTION_KEYS["weight"].bounds)
        if weight == 0:
            fields.report("weight", "F011", "with a weight of 0 it counts for nothing")
        message = fields.text("message")
        if not steps or "matcher" not in item:
            return None
        return Assertion(
            target=target,
            steps=steps,
            check=check,
            message=message,
            weight=1.0 if weight is None else weight,
        )


_EXAMPLES = {"result": "result.content[0].text", "tool_calls": "tool_calls[0].name"}
