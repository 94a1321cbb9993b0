"""A contract with many cases: each is found, and not by looking at all the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stage import Stage, a_case, cases, contract

from mcptest.matching.case_tags import read_tag
from mcptest.matching.compare import is_met
from mcptest.mock import contract as mock_contract
from mcptest.mock.contract import Incoming, Index

if TYPE_CHECKING:
    from collections.abc import Callable


def counting(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[None]:
    """One entry for each time that a function is called from now on."""
    calls: list[None] = []
    original: Callable[..., object] = getattr(module, name)

    def counted(*arguments: object) -> object:
        calls.append(None)
        return original(*arguments)

    monkeypatch.setattr(module, name, counted)
    return calls


WRITTEN = {
    "plain": "{{name: t, arguments: {{a: {n}, b: [{n}]}}}}",
    "tagged": "{{name: t, arguments: {{a: {n}, b: !!type array}}}}",
    "alike": "{{name: t}}",
    "bound": "{{name: t, arguments: {{a: {n}, b: !!bind b}}}}",
    "other tools": "{{name: t{n}}}",
}


def many(written: str, count: int = 300) -> Stage:
    template = WRITTEN[written]
    texts = (a_case(f"Case {n}", template.format(n=n), f"n{n}") for n in range(count))
    return contract(cases(*texts))


def asked(written: str, n: int) -> dict[str, Any]:
    if written == "alike":
        return {"name": "t"}
    return {"name": f"t{n}"} if written == "other tools" else called(n)


def called(n: int) -> dict[str, Any]:
    return {"name": "t", "arguments": {"a": n, "b": [n]}}


@pytest.mark.slow
@pytest.mark.parametrize("written", WRITTEN)
def test_each_of_many_cases_is_found_by_one_comparison(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    stage = many(written)
    compared = counting(monkeypatch, mock_contract, "_expected_body")
    for n in range(300):
        result = stage.result("tools/call", asked(written, n))
        assert result["content"][0]["text"] == f"n{n}"
    assert len(compared) == 300
    assert stage.missed == []


def test_only_cases_that_differ_in_their_tags_are_compared_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [a_case(f"Case {n}", f"{{name: t, arguments: {{a: !!re x{n}}}}}", "r") for n in "123"]
    stage = contract(cases(*texts, *(a_case("Plain", f"{{name: {n}}}", "r") for n in "abc")))
    compared = counting(monkeypatch, mock_contract, "_expected_body")
    assert stage.call("t", a="x3") == "r"
    assert len(compared) == 3


def test_the_nearest_case_is_searched_among_a_limited_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mock_contract, "_MAX_COMPARED", 100)
    stage = many("plain", 120)
    compared = counting(monkeypatch, mock_contract, "_expected_body")
    error = stage.error("tools/call", {"name": "t", "arguments": {"a": 5, "b": [6]}})
    assert error["data"]["nearest"]["case"] == "Case 5"
    # One more comparison for the mismatches of the nearest.
    assert len(compared) == 100 + 1


def test_the_nearest_is_looked_for_among_those_with_the_same_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = many("other tools", 120)
    compared = counting(monkeypatch, mock_contract, "_expected_body")
    error = stage.error("tools/call", {"name": "t119", "arguments": {"a": 5}})
    assert error["data"]["nearest"]["case"] == "Case 119"
    assert len(compared) == 1 + 1


LARGE: list[Any] = [list(range(1_000)), {f"k{n}": n for n in range(1_000)}]


@pytest.mark.parametrize("large", LARGE)
def test_large_arguments_are_compared_to_the_last_value(large: Any) -> None:
    changed = large[:-1] if isinstance(large, list) else large | {"k999": 0}
    text = a_case("Large", f"{{name: t, arguments: {{v: {large}}}}}", "large")
    stage = contract(text)
    assert stage.call("t", v=large) == "large"
    assert "error" in stage.ask("tools/call", {"name": "t", "arguments": {"v": changed}})


# The same message as by comparing all of them

SCALARS = st.sampled_from([0, 1, 1.0, True, "a", None])
PLAIN = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)
TAGS = st.sampled_from([read_tag("any", ""), read_tag("type", "number"), read_tag("re", "a")])
TAGGED = st.recursive(
    SCALARS | TAGS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)


def incoming(number: int, params: object) -> Incoming:
    return Incoming(
        index=number,
        case=0,
        scope=0,
        body={"params": params},
        kind="request",
        method="m",
        leniency="",
    )


@settings(deadline=None)
@given(st.lists(TAGGED, max_size=8), st.lists(PLAIN, max_size=6))
def test_every_message_that_fits_is_a_candidate(written: list[object], sent: list[object]) -> None:
    messages = [incoming(number, params) for number, params in enumerate(written)]
    index = Index(messages)
    for params in sent:
        fitting = [each.index for each in messages if is_met(each.body["params"], params)]
        found = list(index.candidates("request", "m", {"params": params}))
        assert set(fitting) <= set(found)
        assert [each for each in found if each in fitting] == fitting
