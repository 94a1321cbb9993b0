"""What the complete reader accepts, what it refuses, and that it refuses all of it at once."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.core.errors import FormatError
from mcptest.formats.yaml import full
from mcptest.formats.yaml.full import read_fully
from mcptest.formats.yaml.quick import MAX_DIAGNOSTICS


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(full, "CParser", None)


def value_of(text: str) -> object:
    return read_fully(text, "f.yml")[0]


def mistakes(text: str) -> list[tuple[str, int, int]]:
    with pytest.raises(FormatError) as caught:
        read_fully(text, "f.yml")
    return [(found.code, found.line, found.column) for found in caught.value.diagnostics]


def messages(text: str) -> list[str]:
    with pytest.raises(FormatError) as caught:
        read_fully(text, "f.yml")
    return [found.message for found in caught.value.diagnostics]


@each_case(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("yes", "yes"),
        ("a: 1e3\nb: 2020-01-01\nc: 1:30\n", {"a": 1000.0, "b": "2020-01-01", "c": "1:30"}),
        ("1: a\n~: b\n1.50: c\n'': d\n", {"1": "a", "~": "b", "1.50": "c", "": "d"}),
        ("? a\n: b\n? c\n", {"a": "b", "c": None}),
        ("a: b\n  c\n\n  d\n", {"a": "b c\nd"}),
        ("a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
        ("a: &x k\n*x : v\n", {"a": "k", "k": "v"}),
        ("\ufeffa: 1\n", {"a": 1}),
        ("--- a\n...\n", "a"),
    ],
)
def test_yaml_1_2_is_read(text: str, value: object) -> None:
    assert value_of(text) == value


@each_case(
    ("text", "value"),
    [
        ("!!str 1", "1"),
        ("!!int '0x10'", 16),
        ("!!float 1", 1.0),
        ("!!bool True", True),
        ("!!null ''", None),
        ("!!map {a: !!seq [!!str ]}", {"a": [""]}),
        ("! 12", "12"),
        ("a: !", {"a": ""}),
        ("! [! {}]", [{}]),
        ("!<tag:yaml.org,2002:str> 1", "1"),
        ("%TAG !y! tag:yaml.org,2002:\n---\n!y!str 1", "1"),
        ("!!int 1: a", {"1": "a"}),
    ],
)
def test_tags_of_plain_values_are_honoured(text: str, value: object) -> None:
    assert value_of(text) == value


@each_case(
    ("text", "tag"),
    [
        ("!!python/object/apply:os.system ['x']", "!!python/object/apply:os.system"),
        ("!!python/name:os.system x", "!!python/name:os.system"),
        ("!ruby {a: 1}", "!ruby"),
        ("!!binary aGk=", "!!binary"),
        ("!!set {a}", "!!set"),
        ("!<tag:example.org,2000:x> 1", "tag:example.org,2000:x"),
        ("!x k: v", "!x"),
        ("!str x", "!str"),
    ],
)
def test_every_other_tag_is_refused_by_name(text: str, tag: str) -> None:
    assert mistakes(text) == [("F004", 1, 1)]
    assert messages(text) == [f"the tag {tag} is refused: object tags are not allowed"]


@pytest.mark.parametrize("text", ["!!int x", "!!bool yes", "!!map x", "!!seq {}", "!!str []"])
def test_a_tag_that_does_not_fit_is_refused(text: str) -> None:
    assert mistakes(text) == [("F004", 1, 1)]


def test_a_repeated_key_names_both_lines() -> None:
    assert mistakes('a: 1\nb: 2\n"a": 3\n') == [("F003", 3, 1)]
    assert messages('a: 1\nb: 2\n"a": 3\n') == [
        'the key "a" is written twice: at line 1 and at line 3'
    ]
    assert mistakes("{a: 1, a: 2}") == [("F003", 1, 8)]


def test_the_same_key_in_another_mapping_is_not_a_duplicate() -> None:
    assert value_of("a: {a: 1}\nb: {a: 2}\n") == {"a": {"a": 1}, "b": {"a": 2}}


@pytest.mark.parametrize("text", ["? [a]\n: b\n", "{a: 1}: b", "a: &x [1]\n*x : b\n"])
def test_a_collection_as_key_is_refused(text: str) -> None:
    assert [code for code, _, _ in mistakes(text)] == ["F004"]


def test_merge_keys_let_own_keys_win_and_earlier_sources_too() -> None:
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  c: 3\n  <<: [*x, *y]\n"
    assert value_of(text) == {
        "x": {"a": 1, "b": 1},
        "y": {"b": 2, "c": 2},
        "z": {"a": 1, "b": 1, "c": 3},
    }
    assert value_of("<<: {a: 1}\na: 2\n") == {"a": 2}
    assert value_of("<<: []\na: 2\n") == {"a": 2}


def test_a_quoted_merge_key_is_a_key() -> None:
    assert value_of('"<<": 1') == {"<<": 1}


@pytest.mark.parametrize("given", ["1", "[1]", "~", "text", "[[{}]]"])
def test_a_merge_of_anything_but_mappings_is_refused(given: str) -> None:
    assert mistakes(f"a: 1\n<<: {given}\n") == [("F004", 2, 1)]


def test_two_merge_keys_are_a_repeated_key() -> None:
    assert mistakes("<<: {a: 1}\n<<: {b: 1}\n") == [("F003", 2, 1)]


def test_all_independent_mistakes_are_reported_in_order() -> None:
    text = "a: !x 1\nb: .inf\na: 2\nc: *gone\n? [k]\n: v\nd: [1\n"
    assert mistakes(text) == [
        ("F004", 1, 4),
        ("F004", 2, 4),
        ("F003", 3, 1),
        ("F002", 4, 4),
        ("F004", 5, 3),
        ("F002", 7, 4),
    ]


def test_mistakes_are_counted_up_to_a_limit() -> None:
    assert len(mistakes("a: 1\n" * 10_000)) == MAX_DIAGNOSTICS
    assert len(mistakes("- \x00\n" * 10_000)) == MAX_DIAGNOSTICS


@pytest.mark.parametrize(
    ("text", "place"),
    [("a\n---\nb\n", (2, 1)), ("---\na: 1\n---\n", (3, 1)), ("a: 1\n...\n---\nb: 2\n", (3, 1))],
)
def test_a_second_document_is_pointed_at(text: str, place: tuple[int, int]) -> None:
    assert mistakes(text) == [("F005", *place)]


def test_many_documents_stop_at_the_second() -> None:
    assert mistakes("---\na\n" * 100_000) == [("F005", 3, 1)]


def bomb(first: str, again: str) -> str:
    lines = [f"a0: &a0 {first}\n"]
    for level in range(1, 30):
        inside = ", ".join(again.format(index, f"*a{level - 1}") for index in range(9))
        brackets = "{%s}" if ":" in again else "[%s]"
        lines.append(f"a{level}: &a{level} {brackets % inside}\n")
    return "".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        bomb("[x, x]", "{1}"),
        bomb("{x: x}", "k{0}: {1}"),
        "a: &a [*a]",
        "a: &a {b: {<<: *a}}",
        "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 300)),
    ],
    ids=["lists", "mappings", "itself", "merges itself", "deep"],
)
def test_alias_bombs_are_refused_while_they_are_read(text: str) -> None:
    assert [code for code, _, _ in mistakes(text)] == ["F004"]


def test_merging_a_large_mapping_many_times_counts_every_time() -> None:
    large = ", ".join(f"k{index}: 1" for index in range(1000))
    text = f"a: &a {{{large}}}\n" + "".join(f"b{index}:\n  <<: *a\n" for index in range(600))
    assert [code for code, _, _ in mistakes(text)] == ["F004"]


def test_nesting_is_refused_beyond_two_hundred_levels() -> None:
    assert value_of("[" * 200 + "]" * 200) is not None
    assert mistakes("[" * 201 + "]" * 201) == [("F004", 1, 201)]
    assert mistakes("- " * 100_000) == [("F004", 1, 401)]


def test_a_lone_surrogate_is_refused_and_a_pair_is_a_character() -> None:
    assert value_of(r'"\ud83d\ude00"') == "😀"
    assert mistakes(r'"\ud83d"') == [("F004", 1, 1)]
    assert mistakes('a: "x"\nb: "\\ude00\\ud83d"') == [("F004", 2, 4)]
    assert mistakes("a: \ud83d") == [("F002", 1, 4)]


def test_forbidden_characters_are_all_pointed_at() -> None:
    assert mistakes('a: "\x00"\nb: \x1b\x7f\n') == [("F002", 1, 5), ("F002", 2, 4), ("F002", 2, 5)]


def test_json_with_tabs_keeps_its_columns() -> None:
    assert value_of('{\n\t"a": 1,\n\t\t"b": "x\ty"}') == {"a": 1, "b": "x\ty"}
    assert mistakes('{\n\t"a": 1,\n\t"a": 2}') == [("F003", 3, 2)]


def test_item_lines_are_recorded_for_every_sequence() -> None:
    value, starts = read_fully("- a\n-\n  b: [x,\n\n    y]\n-\n- &l\n  - z\n", "f.yml")
    assert value == ["a", {"b": ["x", "y"]}, None, ["z"]]
    assert sorted(starts.values()) == [[1, 3, 6, 7], [3, 5], [8]]
