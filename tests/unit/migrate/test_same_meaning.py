"""Whatever is expected and whatever comes: a test that is carried over judges as it did before."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from migrating import (
    SERVER,
    calling,
    case_of_conductor,
    case_of_contract,
    case_of_suite,
    cases_from,
    conductor,
    conductor_from,
    contract_from,
    is_met,
    mistake_in_cases,
    mistake_in_conductor,
    mistake_in_suite,
    suite_from,
)

from mcptest.core.text import EVERY
from mcptest.formats.yaml_text import render_yaml
from mcptest.migrate.answers import target_of
from mcptest.migrate.yaml_page import render_page

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
    """Values, expectations and answers that may come."""

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

    # As a Conductor file writes it

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

    # As a suite writes it

    def assertion(self, root: str, value: Any) -> dict[str, Any]:
        steps: list[Any] = [root]
        while isinstance(value, (dict, list)) and value and self.random.random() < 0.75:
            if isinstance(value, list) and self.random.random() < 0.2:
                steps.append(EVERY)
                break
            step: Any = self.random.choice([*value] if isinstance(value, dict) else [0])
            steps.append(step)
            value = value[step]
        if self.random.random() < 0.1:
            steps.append(self.random.choice(KEYS))
        return {"target": target_of(steps), "matcher": self.matcher(value)}

    def matcher(self, value: Any, depth: int = 0) -> dict[str, Any]:
        near = value if self.random.random() < 0.6 else self.value(1)
        choices: list[dict[str, Any]] = [
            {"exact": near},
            {"contains": self.random.choice(["a", "5", 1])},
            {"icontains": "A"},
            {"starts-with": "a"},
            {"regex": self.random.choice(["^a", "5"])},
            {"type": self.random.choice(["string", "object", "string|null"])},
            {"length": 2},
            {self.random.choice(["gt", "gte", "lt", "lte"]): 1},
            {"between": [0, 2]},
            {"one-of": [near, "a"]},
            {"exists": self.random.random() < 0.5},
            {"partial": near} if near not in ({}, []) else {"exact": near},
            {"pattern": self.random.choice(PATTERNS)},
            {"contains-any": ["a", "b"]},
            {"schema": {"type": "array", "items": {"type": "string"}}},
            {"length": 1, "exists": True},
        ]
        if depth < 2 and self.random.random() < 0.3:
            inner = [self.matcher(value, depth + 1) for _ in range(2)]
            choices = [{"not": inner[0]}, {"all": inner}, {"any": inner}]
        return self.random.choice(choices)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_conductor_test_judges_the_same_as_a_suite_and_back(seed: int) -> None:
    chance = Chance(seed)
    compared = 0
    for _ in range(ROUNDS):
        value, root = chance.result(), chance.random.choice(["result", "result", "error"])
        wish = {root: chance.expectation(value)}
        response = wish if chance.random.random() < 0.6 else {"match:partial": wish}
        text = conductor(calling({"response": response}))
        if mistake_in_conductor(text):
            continue
        suite = suite_from(text).text
        back = conductor_from(suite).text if suite else ""
        for answer in chance.answers(root, value) if suite else ():
            before = is_met(case_of_conductor(text), answer)
            assert is_met(case_of_suite(suite), answer) == before, (text, suite, answer)
            if back:
                assert is_met(case_of_conductor(back), answer) == before, (suite, back, answer)
            compared += 1
    assert compared > 5 * ROUNDS


@pytest.mark.parametrize("seed", SEEDS)
def test_a_case_judges_the_same_as_a_suite(seed: int) -> None:
    chance = Chance(seed)
    compared = 0
    params = {"name": "t", "arguments": {}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    for _ in range(ROUNDS):
        value, root = chance.result(), chance.random.choice(["result", "result", "error"])
        told = {"jsonrpc": "2.0", "id": 1, root: chance.expectation(value)}
        match = chance.random.choice(["exact", "partial"])
        case = {"_server": SERVER, "_patterns": True, "_match": match, "in": asked, "out": told}
        text = render_yaml(case)
        if mistake_in_cases(text):
            continue
        suite = contract_from(text).text
        for answer in chance.answers(root, value) if suite else ():
            before = is_met(case_of_contract(text), answer)
            assert is_met(case_of_suite(suite), answer) == before, (text, suite, answer)
            compared += 1
    assert compared > 5 * ROUNDS


@pytest.mark.parametrize("seed", SEEDS)
def test_an_entry_of_a_suite_judges_the_same_in_other_formats(seed: int) -> None:
    chance = Chance(seed)
    compared = 0
    calls = {"tool": "tools", "uri": "resources", "prompt": "prompts"}
    for _ in range(ROUNDS):
        value, root = chance.result(), chance.random.choice(["result", "result", "error"])
        count = chance.random.randint(0, 3)
        expect = {"expect": [chance.assertion(root, value) for _ in range(count)]} if count else {}
        call = chance.random.choice(list(calls))
        entry = {"name": "n", call: "x", **expect}
        text = render_page({"servers": {"s": {"command": ["run"]}}, calls[call]: [entry]})
        if mistake_in_suite(text):
            continue
        file, contract = conductor_from(text).text, cases_from(text).text
        for answer in chance.answers(root, value):
            before = is_met(case_of_suite(text), answer)
            if file:
                assert is_met(case_of_conductor(file), answer) == before, (text, file, answer)
                compared += 1
            if contract:
                after = is_met(case_of_contract(contract), answer)
                assert after == before, (text, contract, answer)
    assert compared > 5 * ROUNDS
