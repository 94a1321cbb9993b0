"""Targets: how a place in what came is written, and what is no such place."""

from __future__ import annotations

import pytest

from mcptest.core.text import EVERY, render_path
from mcptest.matching.suite_matchers import ROOTS, parse_target
from mcptest.matching.values import pull

VALUE = {
    "content": [{"type": "text", "text": "one"}, {"type": "image"}],
    "a.b": {"c d": 1, "": 2},
    "nested": [[1, 2], [3]],
    "by name": {"x": {"n": 1}, "y": {"n": 2}},
    "0": "zero",
}


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("result", ("result",)),
        ("error.code", ("error", "code")),
        ("stderr", ("stderr",)),
        ("duration_ms", ("duration_ms",)),
        ("notifications[0].method", ("notifications", 0, "method")),
        ("result.content[12].text", ("result", "content", 12, "text")),
        ("result.content[*].text", ("result", "content", EVERY, "text")),
        ("result.content.*.text", ("result", "content", EVERY, "text")),
        ("result[0][1]", ("result", 0, 1)),
        ('result["a.b"]', ("result", "a.b")),
        ("result['a.b']", ("result", "a.b")),
        ('result."a.b".c', ("result", "a.b", "c")),
        ("result.'a.b'.c", ("result", "a.b", "c")),
        (r'result["say \"hi\" \u00e9"]', ("result", 'say "hi" é')),
        ('result["*"]', ("result", "*")),
        ('result[""]', ("result", "")),
        ("result['']", ("result", "")),
        ('result["0"]', ("result", "0")),
        ("result.größe.$ref", ("result", "größe", "$ref")),
        ("result.a b-c", ("result", "a b-c")),
        ("result.content.0.text", ("result", "content", "0", "text")),
    ],
)
def test_a_target_is_a_path_of_keys_and_numbers(text: str, steps: tuple[object, ...]) -> None:
    found = parse_target(text)
    assert found == steps
    # A key that is a star is not the star that means everything.
    assert [step is EVERY for step in found] == [step is EVERY for step in steps]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"is empty; it begins with one of {', '.join(ROOTS)}"),
        ("result.", "is not a path: 'result.' ends too soon"),
        (".result", "is not a path: '.result' goes wrong at character 1"),
        ("result..a", "is not a path: 'result..a' goes wrong at character 8"),
        ("result[", "is not a path: 'result[' goes wrong at character 7"),
        ("result[]", "is not a path: 'result[]' goes wrong at character 7"),
        ("result[-1]", "is not a path: 'result[-1]' goes wrong at character 7"),
        ("result[1.5]", "is not a path: 'result[1.5]' goes wrong at character 7"),
        ("result[a]", "is not a path: 'result[a]' goes wrong at character 7"),
        ("result[0", "is not a path: 'result[0' goes wrong at character 7"),
        ("result[0]text", "is not a path: 'result[0]text' goes wrong at character 10"),
        ("result.[0]", "is not a path: 'result.[0]' goes wrong at character 8"),
        ('result"a"', "is not a path: 'result\"a\"' goes wrong at character 7"),
        ('result["a]', "is not a path: 'result[\"a]' goes wrong at character 7"),
        (
            r'result["\x"]',
            r"""is not a path: 'result["\\x"]' goes wrong in the quotes at character 7""",
        ),
        ("result[1234567890]", "is not a path: 'result[1234567890]' goes wrong at character 7"),
        (
            "reslt",
            f"is 'reslt'; it begins with one of {', '.join(ROOTS)}; did you mean 'result'?",
        ),
        ("$.result", f"is '$.result'; it begins with one of {', '.join(ROOTS)}"),
        ("[0]", f"is '[0]'; it begins with one of {', '.join(ROOTS)}"),
        ("*", f"is '*'; it begins with one of {', '.join(ROOTS)}"),
        ("stderr.text", "goes on after 'stderr', which has nothing in it"),
        ("duration_ms[0]", "goes on after 'duration_ms', which has nothing in it"),
    ],
)
def test_what_is_no_target_is_refused_with_a_sentence(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole sentence is compared
        parse_target(text)
    assert str(caught.value) == message


def test_other_roots_may_be_asked_for() -> None:
    assert parse_target("tool_names[0]", ("tool_names",)) == ("tool_names", 0)
    with pytest.raises(ValueError, match=r"^is 'result'; it .* tool_names$"):
        parse_target("result", ("tool_names",))


def test_a_long_text_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="is not a path"):
        parse_target("result" + "." * 100_000)
    assert len(parse_target("result" + ".a" * 10_000)) == 10_001


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("result.content[0].text", "one"),
        ("result.content.1.type", "image"),
        ("result.content[*].type", ["text", "image"]),
        # One that has no such member stands as null, so that places stay what they are.
        ("result.content[*].text", ["one", None]),
        ("result.nested[*][0]", [1, 3]),
        ("result.nested[*][*]", [[1, 2], [3]]),
        ("result['by name'][*].n", [1, 2]),
        ('result["a.b"]["c d"]', 1),
        ('result["a.b"][""]', 2),
        ('result["0"]', "zero"),
        ("result.content[*].none[*]", [None, None]),
    ],
)
def test_what_stands_at_a_target_is_pulled_out(text: str, value: object) -> None:
    assert pull(VALUE, parse_target(text)[1:]) == (value, "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("result.contnt", 'no key "contnt"; there is "content"'),
        ("result.content[2]", "no element 2 among 2"),
        ("result.content.text", 'there is an array where "text" should be'),
        ("result[0]", 'there is an object where "0" should be'),
        ("result.content[0].text[*]", "there is a string where * wants an array"),
    ],
)
def test_a_target_that_leads_nowhere_says_where_the_way_ends(text: str, why: str) -> None:
    found, reason = pull(VALUE, parse_target(text)[1:])
    assert (repr(found), reason) == ("ABSENT", why)


@pytest.mark.parametrize(
    "text", ["result.a[0]", "result[*]", 'result["a.b"]', 'result["*"]', "result.x.y[3].z"]
)
def test_a_target_is_shown_as_it_can_be_written(text: str) -> None:
    assert parse_target(render_path(parse_target(text))) == parse_target(text)
