"""For any expectation and any answer, a migrated test judges as it did before."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from migrating import (
    SERVER,
    calling,
    case_of_conductor,
    case_of_contract,
    case_of_suite,
    conductor,
    contract_from,
    is_met,
    suite_from,
)

from mcptest.core.errors import FormatError
from mcptest.core.plan import Case
from mcptest.formats.yaml.writer import render_yaml

SEEDS = range(3)
ROUNDS = 50
KEYS = ("a", "b", "c", "isError", "0", "x.y")
SCALARS = (0, 1, 2.5, True, False, None, "", "a", "ab", "5", "true", "b: c", " a ", "${x}", "$${x}")
PATTERNS = (
    *("contains:a", "containsIgnoreCase:A", "startsWith:a", "endsWith:b", "regex:^a", "a."),
    *("type:string", "type:number|null", "type:object", "exists", "not:exists", "length:2"),
    *("arrayLength:2", "count:1", "greaterThan:1", "between:0:2", "equals:5", "equals:a"),
    *("equals:true", "oneOf:a|b", "oneOf:1|a", "stringEmpty", "stringNotEmpty", "not:contains:a"),
    *("not:type:string", "not:type:null", "not:equals:5", "positive", "integer", "notEmpty"),
    *("stringLength:2", "not:stringEmpty", "arrayContains:a", "lessThanOrEqual:2.50"),
)


class Chance:
    """Values, expectations and possible answers."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def value(self, depth: int = 0) -> Any:
        kind = self.random.random()
        if depth > 2 or kind < 0.5:
            return self.random.choice(SCALARS)
        count = self.random.randint(0, 3)
        if kind < 0.75:
            return {key: self.value(depth + 1) for key in self.random.sample(KEYS, count)}
        return [self.value(depth + 1) for _ in range(count)]

    def result(self) -> Any:
        if self.random.random() < 0.5:
            return self.value()
        content = {"type": "text", "text": self.random.choice(SCALARS)}
        return {"content": [content, content], "isError": False, "s": self.value()}

    def changed(self, value: Any) -> Any:
        if self.random.random() < 0.3:
            return self.value()
        if isinstance(value, dict):
            kept = {key: each for key, each in value.items() if self.random.random() > 0.12}
            more = {self.random.choice(KEYS): self.value(1)} if self.random.random() < 0.2 else {}
            return {key: self._perhaps(each) for key, each in kept.items()} | more
        if isinstance(value, list):
            kept_items = [self._perhaps(each) for each in value if self.random.random() > 0.1]
            return kept_items + ([self.value(1)] if self.random.random() < 0.2 else [])
        return self.random.choice(SCALARS)

    def _perhaps(self, value: Any) -> Any:
        return self.changed(value) if self.random.random() < 0.3 else value

    def answers(self, root: str, value: Any) -> list[dict[str, Any]]:
        other = "error" if root == "result" else "result"
        near = [{root: self.changed(value)} for _ in range(6)]
        odd: list[dict[str, Any]] = [{"result": {"isError": True}}, {"result": {"isError": "true"}}]
        return [{root: value}, *near, {other: value}, {"result": []}, *odd]

    def expectation(self, value: Any, depth: int = 0) -> Any:
        """Something that this value may well meet."""
        kind = self.random.random()
        if kind < 0.12:
            return f"match:{self.random.choice(PATTERNS)}"
        if kind < 0.33 and depth < 4:
            return self._directive(value, depth)
        if isinstance(value, dict):
            found = {key: self.expectation(each, depth + 1) for key, each in value.items()}
            if self.random.random() < 0.2:
                odd = ("match:not:exists", "match:not:contains:a", 1)
                found[self.random.choice(KEYS)] = self.random.choice(odd)
            return found
        if isinstance(value, list):
            return [self.expectation(each, depth + 1) for each in value]
        return value if self.random.random() < 0.85 else self.random.choice(SCALARS)

    def _directive(self, value: Any, depth: int) -> Any:
        name = self.random.choice(("partial", "partial", "elements", "all", "any", "extract"))
        inner = self.expectation(value, depth + 1)
        if name == "elements" and isinstance(value, list) and value:
            key = self.random.choice(("match:arrayElements", "match:anyElement"))
            return {key: self.expectation(value[0], depth + 1)}
        if name in ("all", "any"):
            return {f"match:{name}": [inner, self.expectation(value, depth + 1)]}
        if name == "extract" and isinstance(value, dict) and value:
            key = self.random.choice([key for key in value if "." not in key] or ["a"])
            wanted = self.expectation(value.get(key), depth + 1)
            return {"match:extractField": key, "value": wanted}
        return {"match:partial": inner}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_conductor_test_judges_the_same_as_a_suite(seed: int) -> None:
    chance = Chance(seed)
    compared = 0
    for _ in range(ROUNDS):
        value, root = chance.result(), chance.random.choice(["result", "result", "error"])
        expected = {root: chance.expectation(value)}
        response = expected if chance.random.random() < 0.6 else {"match:partial": expected}
        text = conductor(calling({"response": response}))
        compared += compare(chance, case_of_conductor, suite_from, text, root, value)
    assert compared > 5 * ROUNDS


@pytest.mark.parametrize("seed", SEEDS)
def test_a_case_judges_the_same_as_a_suite(seed: int) -> None:
    chance = Chance(seed)
    compared = 0
    params = {"name": "t", "arguments": {}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    for _ in range(ROUNDS):
        value, root = chance.result(), chance.random.choice(["result", "result", "error"])
        answered = {"jsonrpc": "2.0", "id": 1, root: chance.expectation(value)}
        match = chance.random.choice(["exact", "partial"])
        case = {"_server": SERVER, "_patterns": True, "_match": match, "in": asked, "out": answered}
        text = render_yaml(case)
        compared += compare(chance, case_of_contract, contract_from, text, root, value)
    assert compared > 5 * ROUNDS


def compare(
    chance: Chance,
    load: Callable[[str], Case],
    convert: Callable[[str], tuple[str, object]],
    text: str,
    root: str,
    value: Any,
) -> int:
    """Judge responses by a file and by its suite; how many, 0 if it does not load or convert."""
    try:
        before = load(text)
    except FormatError:
        return 0
    suite, _ = convert(text)
    if not suite:
        return 0
    after = case_of_suite(suite)
    answers = chance.answers(root, value)
    for answer in answers:
        assert is_met(after, answer) == is_met(before, answer), (text, suite, answer)
    return len(answers)
