"""Where two long strings, or a string and an `!!ere` text, begin to differ is in every report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from console import case, mcptest, write_config, write_suite

import mcptest as api
from mcptest.matching.case_tags import TAGS
from mcptest.matching.patterns import Pattern

if TYPE_CHECKING:
    from pathlib import Path

# The first difference is the 1,001st character.
LEAD = "0123456789" * 100
TAIL = "abcdefghij" * 200
NAMES = ("json", "junit", "markdown", "html", "agent", "tap", "github")


def reports(folder: Path, file: str) -> dict[str, str]:
    """The terminal report of a run, and all others."""
    words = [word for name in NAMES for word in ("--reporter", f"{name}={name}.txt")]
    ended = mcptest(folder, "run", file, *words)
    assert ended.code == 1, ended.err
    return {"terminal": ended.out} | {
        name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in NAMES
    }


def test_a_long_string_is_cut_around_the_first_difference(tmp_path: Path) -> None:
    write_config(tmp_path / "conductor.config.json")
    wrong = case("long", params={"text": f"{LEAD}X{TAIL}"}, wants={"text": f"{LEAD}Y{TAIL}"})
    write_suite(tmp_path / "a.test.mcp.yml", wrong)
    for name, text in reports(tmp_path, "a.test.mcp.yml").items():
        assert "differs at character 1,001" in text, name
        assert "23456789X" in text, name
        assert "23456789Y" in text, name
    shown = reports(tmp_path, "a.test.mcp.yml")["terminal"]
    assert f'actual    (… 960 characters) "{LEAD[-40:]}X{TAIL[:79]}"' in shown
    assert 'differs   at character 1,001, after "01234567890123456789"' in shown


def test_the_line_is_named_if_there_are_several(tmp_path: Path) -> None:
    write_config(tmp_path / "conductor.config.json")
    lines = "".join(f"line {number}\n" for number in range(1, 101))
    wanted = lines.replace("line 70\n", "line seventy\n")
    wrong = case("lines", params={"text": lines}, wants={"text": wanted})
    write_suite(tmp_path / "a.test.mcp.yml", wrong)
    out = mcptest(tmp_path, "run", "a.test.mcp.yml").out
    assert "(line 70)" in out
    assert "- line seventy" in out
    assert "+ line 70" in out


def test_short_strings_are_shown_whole_with_a_caret(tmp_path: Path) -> None:
    write_config(tmp_path / "conductor.config.json")
    wrong = case("short", params={"text": "abX"}, wants={"text": "abY"})
    write_suite(tmp_path / "a.test.mcp.yml", wrong)
    out = mcptest(tmp_path, "run", "a.test.mcp.yml").out
    assert "result.text: differs\n" in out
    assert 'actual    "abX"\n                     ^' in out


def write_case(folder: Path, said: str, ere: str) -> str:
    write_config(folder / "conductor.config.json")
    request = {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"text": said}}
    escaped = ere.replace("'", "''")
    text = (
        f"case: ere\nin: {json.dumps(request)}\n"
        f"out: {{jsonrpc: '2.0', id: 1, result: {{text: !!ere '{escaped}'}}}}\n"
    )
    (folder / "a.cases.yaml").write_text(text, encoding="utf-8")
    return "a.cases.yaml"


def test_an_ere_text_is_cut_where_it_stops_to_match(tmp_path: Path) -> None:
    file = write_case(tmp_path, f"{LEAD}port 80X{TAIL}", f"{LEAD}port /[0-9]+/Y{TAIL}")
    for name, text in reports(tmp_path, file).items():
        assert "it does not match from character 1,008 on" in text, name
        assert "port 80X" in text, name
        assert "port /[0-9]+/Y" in text or "port &#x2F;[0-9]+" in text, name
    [suite] = json.loads((tmp_path / "json.txt").read_text(encoding="utf-8"))["suites"]
    [mismatch] = suite["tests"][0]["mismatches"]
    assert mismatch["actual"][mismatch["at"]["actual"]] == "X"
    assert mismatch["expected"][mismatch["at"]["expected"]] == "Y"
    again = mcptest(tmp_path, "report", "json.txt").out
    assert "differs   at character 1,008" in again


@pytest.mark.parametrize(
    ("ere", "said", "at"),
    [
        ("abc", "abd", 2),
        ("abc", "xbc", 0),
        ("abc", "ab", 2),
        ("abc", "abcd", 3),
        ("port /[0-9]+/", "port x", 5),
        ("port /[0-9]+/ open", "port 80 shut", 8),
        ("a/.*/b c", "axxb d", 5),
        ("/[a-z]+/-/[0-9]+/", "abc-x", 4),
        (r"a\/b", "a/c", 2),
        (r"/a\/?/b", "a/c", 2),
    ],
)
def test_the_place_is_the_end_of_the_longest_beginning_that_matches(
    ere: str, said: str, at: int
) -> None:
    mismatch = mismatch_of(ere, said)
    assert mismatch.at is not None
    assert mismatch.at[1] == at
    assert mismatch.message.endswith(f"from character {at + 1} on")
    assert mismatch.expected[: mismatch.at[0]].startswith("!!ere ")


@pytest.mark.parametrize(
    ("ere", "said", "rest"),
    [("port /[0-9]+/ open", "port 80 shut", "open"), (r"a\/b\/c", "a/b/d", "c")],
)
def test_the_place_in_the_text_is_that_as_it_is_written(ere: str, said: str, rest: str) -> None:
    mismatch = mismatch_of(ere, said)
    assert mismatch.at is not None
    assert mismatch.expected[mismatch.at[0] :] == rest


@pytest.mark.parametrize("said", [5, None, []])
def test_a_value_that_is_not_a_string_has_no_place(said: object) -> None:
    assert mismatch_of("abc", said).at is None


def mismatch_of(ere: str, said: object) -> Any:
    matcher = TAGS["ere"]
    pattern = Pattern(
        source=f"!!ere {ere}", matcher=matcher, parameter=matcher.parse(ere), negated=False
    )
    return pattern.mismatch(said, None)


def test_expect_shows_the_same() -> None:
    with pytest.raises(AssertionError) as raised:
        api.expect(f"{LEAD}X{TAIL}").to_match(f"{LEAD}Y{TAIL}")
    assert "differs at character 1,001" in str(raised.value)
    assert f'actual    (… 960 characters) "{LEAD[-40:]}X' in str(raised.value)


def test_many_expressions_are_located_quickly_and_too_many_not_at_all() -> None:
    """The place never costs more than the comparison: it would be cut short, as too slow."""
    found = mismatch_of("/\\d+/ ms " * 600, "1 ms " * 599 + "x ms ")
    assert "from character 2,996 on" in found.message
    assert "from character" not in mismatch_of("/\\d/ " * 6000, "x").message


# Patterns with long strings


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (f"match:equals:{LEAD}Y{TAIL}", "it differs from character 1,001 on"),
        (f"match:startsWith:{LEAD}Y{TAIL}", "it differs from character 1,001 on"),
        (f"match:equalsIgnoreCase:{LEAD}Y{TAIL.upper()}", "it differs from character 1,001 on"),
        (f"starts-with: {LEAD}Y", "it differs from character 1,001 on"),
        (f"ends-with: {LEAD}Y{TAIL}", "it differs up to character 1,001"),
        (f"contains: {LEAD[500:]}Y", "what is nearest to it differs from character 501 on"),
        (f"icontains: {LEAD}Y{TAIL.upper()}", "what is nearest to it differs from character 1,001"),
    ],
)
def test_a_pattern_is_cut_where_it_stops_to_match(pattern: str, why: str) -> None:
    """Of the parts that `contains` may mean, the first one is shown."""
    failure = failing(pattern, f"{LEAD}X{TAIL}")
    assert why in failure
    assert failure.count("1234567890") > 1
    assert "9Y" in failure.partition("expected  ")[2]
    assert "23456789X" in failure.partition("actual  ")[2] or "501 on" in why


@pytest.mark.parametrize(
    "pattern",
    [
        f"contains: Y{LEAD}",
        f"icontains: Y{LEAD}",
        f"ends-with: Y{LEAD}X{TAIL}",
        f"regex: Y{LEAD}",
        "regex: Y",
        f"match:contains:Y{LEAD}",
        f"match:regex:Y{LEAD}",
    ],
)
def test_no_place_is_named_where_there_is_none(pattern: str) -> None:
    failure = failing(pattern, f"{LEAD}X{TAIL}")
    assert "differs" not in failure
    assert f"expected  {pattern[:100]}" in failure


def test_case_is_ignored_where_a_letter_has_two_capitals() -> None:
    said = "straße " * 100
    failure = failing(f"match:equalsIgnoreCase:{said.upper()}Y", f"{said}X")
    assert "it differs from character 701 on" in failure


def failing(pattern: str, actual: str) -> str:
    if pattern.startswith("match:"):
        with pytest.raises(AssertionError) as failure:
            api.expect(actual).to_match(pattern)
    else:
        word, _, text = pattern.partition(": ")
        with pytest.raises(AssertionError) as failure:
            api.expect(actual).to_meet({word: text})
    return str(failure.value)


# Several choices


@pytest.mark.parametrize("directive", ["one-of", "match:any"])
def test_the_nearest_of_several_strings_is_shown_with_its_place(directive: str) -> None:
    choices = ["rain", f"{LEAD[:500]}Z", f"{LEAD}Y{TAIL}", 5]
    failure = choosing(directive, choices, f"{LEAD}X{TAIL}")
    assert "number 3 is nearest: differs at character 1,001: expected " in failure
    hint = failure.partition("hint ")[2]
    assert "6789Yabc" in hint
    assert "6789Xabc" in hint
    hint = choosing(directive, ["rain", "sunny dog"], "sunny day").partition("hint ")[2]
    assert hint.lstrip().startswith("number 2 is nearest: differs at character 8\n")


@pytest.mark.parametrize("directive", ["one-of", "match:any"])
def test_no_choice_is_near_if_all_differ_from_the_start(directive: str) -> None:
    failure = choosing(directive, ["rain", "fog"], "sunny")
    assert ("sunny" in failure, "nearest" in failure) == (True, False)


def choosing(directive: str, choices: list[object], actual: str) -> str:
    any_of: dict[str, object] = {directive: choices}
    about = api.expect(actual if directive == "one-of" else {"a": actual})
    check = about.to_meet if directive == "one-of" else about.to_match
    with pytest.raises(AssertionError) as caught:
        check(any_of if directive == "one-of" else {"a": any_of})
    return f"{caught.value}\n"
