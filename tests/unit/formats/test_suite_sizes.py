"""`${name}` may be a value of any size: what would fill the memory is refused beforehand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from suite_reading import SERVER, case_of, refusals, sent, suites_of

from mcptest.formats.suite import variables as suite_sizes
from mcptest.formats.suite.variables import Size, TooLargeError, size_put_in


def suite(variables: dict[str, Any], *tests: dict[str, Any]) -> str:
    """A suite with these variables, each on a line of its own; the first is in line 3."""
    lines = "".join(f"  {name}: {json.dumps(value)}\n" for name, value in variables.items())
    entries = json.dumps([{"name": "n", "tool": "t", **test} for test in tests or ({},)])
    return f"{SERVER}variables:\n{lines}tools: {entries}\n"


def grown(first: Any, next_one: Any, count: int) -> dict[str, Any]:
    """Variables of which each holds the one before it, as `next_one` says with ${v}."""
    written = json.dumps(next_one)
    others = {
        f"v{n}": json.loads(written.replace("${v}", f"${{v{n - 1}}}")) for n in range(1, count)
    }
    return {"v0": first, **others}


def filled(text: str, **values: object) -> Any:
    """The arguments of the second step of the one test, with what its first captured."""
    template = case_of(text).steps[1].template
    assert template is not None
    return sent(template.fill(values))["params"]["arguments"]


def capturing(args: object) -> str:
    steps = [{"tool": "a", "capture": {"x": "result"}}, {"tool": "b", "args": args}]
    return f"{SERVER}tools: {json.dumps([{'name': 'n', 'steps': steps}])}\n"


# Values of a file


@pytest.mark.parametrize(
    ("first", "next_one", "place", "message"),
    [
        (
            "a" * 100,
            "${v}" * 10,
            (8, 7),
            "with ${v4} in its place, 'v5' has more than 1,048,576 characters",
        ),
        (
            ["a"],
            ["${v}"] * 10,
            (8, 44),
            "with ${v4} in its place, 'v5' has more than 100,000 keys and values",
        ),
        (
            {"k": 1},
            {f"k{n}": "${v}" for n in range(10)},
            (8, 44),
            "with ${v4} in its place, 'v5' has more than 100,000 keys and values",
        ),
        (
            ["a" * 100],
            "${v}" * 10,
            (8, 7),
            "with ${v4} in its place, 'v5' has more than 1,048,576 characters",
        ),
    ],
    ids=["text", "lists", "mappings", "text of lists"],
)
def test_a_bomb_of_variables_is_refused_at_the_one_that_is_too_much(
    first: Any, next_one: Any, place: tuple[int, int], message: str
) -> None:
    # Where it went off, there would be ten to the power of forty of them.
    found = refusals(suite(grown(first, next_one, 40)))
    assert (found[0].code, found[0].message) == ("F004", message)
    assert (found[0].line, found[0].column) == place


def test_a_bomb_of_depth_is_refused() -> None:
    found = refusals(suite(grown("x", ["${v}"], 500)))
    message = "with ${v200} in its place, 'v201' is more than 200 levels deep"
    assert (found[0].code, found[0].message) == ("F004", message)


def test_keys_count_as_well() -> None:
    variables = grown("k" * 1000, "${v}" * 30, 3)
    found = refusals(suite(variables, {"args": {"${v2}": 1, "x${v2}": 2}}))
    message = "with ${v2} in its place, it has more than 1,048,576 characters"
    assert [(each.code, each.message) for each in found] == [("F004", message)]


def test_a_value_too_large_beside_a_captured_value_is_reported_when_the_file_is_read() -> None:
    variables = grown("a" * 1000, "${v}" * 100, 2)
    steps = [
        {"tool": "a", "capture": {"x": "result"}},
        {"tool": "b", "args": {"x": "${x}", "y": "${v1}" * 20}},
    ]
    text = suite(variables).partition("tools:")[0]
    text += f"tools: {json.dumps([{'name': 'n', 'steps': steps}])}\n"
    [found] = refusals(text)
    message = "with ${v1} in its place, it has more than 1,048,576 characters"
    assert (found.code, found.message, found.line) == ("F004", message, 5)


@pytest.mark.long
@pytest.mark.slow
def test_all_values_of_a_suite_together_have_a_limit_and_are_reported_once() -> None:
    variables = {"v0": [1] * 90_000}
    found = refusals(suite(variables, *({"args": {"a": "${v0}"}} for _ in range(30))))
    message = "with ${v0} in its place, all that is put in has more than 1,000,000 keys and values"
    assert [(each.code, each.message) for each in found] == [("F004", message)]


@pytest.mark.slow
def test_values_within_the_limits_are_put_in() -> None:
    assert suites_of(suite(grown("a" * 100, "${v}" * 10, 5), {"args": {"a": "${v4}"}}))
    assert suites_of(suite(grown(["a"], ["${v}"] * 10, 5), {"args": {"a": "${v4}"}}))
    assert suites_of(suite(grown("x", ["${v}"], 150), {"args": {"a": "${v149}"}}))
    assert suites_of(suite({"v0": [1] * 90_000}, *({"args": {"a": "${v0}"}} for _ in range(5))))


def test_a_literal_value_does_not_count_as_inserted() -> None:
    assert suites_of(suite({"v0": "x"}, {"args": {"a": "b" * 2_000_000 + "${v0}"}}))


# Values from a server


def test_inserting_captured_values_has_a_size_limit() -> None:
    text = capturing({"a": ["${x}"] * 100, "b": "${x}" * 100})
    with pytest.raises(ValueError, match=r"^with \$\{x\} in its place, it has more than 67,108"):
        filled(text, x="a" * 1_000_000)
    with pytest.raises(ValueError, match=r"it has more than 1,000,000 keys and values$"):
        filled(text, x=[1] * 10_000)


def test_a_large_value_from_a_server_may_be_sent_on() -> None:
    assert filled(capturing({"a": "${x}"}), x="a" * 3_000_000) == {"a": "a" * 3_000_000}


# What is counted


def test_texts_keys_values_and_levels_are_counted() -> None:
    values = {"a": {"key": ["text", 1, None]}, "b": "12"}
    most = suite_sizes.ONE_VALUE
    assert size_put_in("${b}", values, most) == Size(text=2, nodes=1, depth=0)
    assert size_put_in(["${a}", "x ${b}"], values, most) == Size(text=9, nodes=7, depth=3)
    assert size_put_in(["no names", "$${a}"], values, most) == Size()


def test_counting_ends_where_the_limit_is() -> None:
    bomb: list[Any] = []
    for _ in range(190):
        bomb = [bomb, bomb]
    with pytest.raises(TooLargeError):
        size_put_in("${a}", {"a": bomb}, suite_sizes.ONE_VALUE)
