"""Documents of a stream: which there are, what they hold, and what is wrong with them."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.core.diagnostics import PathDiagnostic
from mcptest.core.errors import FormatError
from mcptest.formats.fields import diagnose
from mcptest.formats.yaml import full, stream
from mcptest.formats.yaml.quick import MAX_DIAGNOSTICS, MAX_TEXT_BYTES
from mcptest.formats.yaml.stream import Stream, StreamDocument, read_stream

CONTRACT = """\
# A contract
case: one
in: {"id": 1}

# answers

#   in order
out:
  id: 1
---
# nothing here
---
case: two
in: a
in: b
"""


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(full, "CParser", None)


def is_turn(key: str) -> bool:
    return key.startswith(("in", "out"))


def stream_of(text: str) -> Stream:
    return read_stream(text, "f.yaml", tags=(), may_repeat=is_turn)


def values_of(text: str) -> list[object]:
    return [document.value for document in stream_of(text).documents]


def mistakes(text: str) -> list[tuple[str, int, int]]:
    with pytest.raises(FormatError) as caught:
        stream_of(text)
    return [(found.code, found.line, found.column) for found in caught.value.diagnostics]


def messages(text: str) -> list[str]:
    with pytest.raises(FormatError) as caught:
        stream_of(text)
    return [found.message for found in caught.value.diagnostics]


def test_a_document_knows_its_number_its_lines_and_its_comments() -> None:
    stream = stream_of(CONTRACT)
    assert (stream.file, stream.text) == ("f.yaml", CONTRACT)
    assert stream.documents == (
        StreamDocument(
            value={"case": "one", "in": {"id": 1}, "out": {"id": 1}},
            index=0,
            line=2,
            key_lines={"case": 2, "in": 3, "out": 8},
            comments={"case": "A contract", "out": "answers\n\n  in order"},
        ),
        StreamDocument(
            value={"case": "two", "in": "a", "in#2": "b"},
            index=2,
            line=13,
            key_lines={"case": 13, "in": 14, "in#2": 15},
            comments={},
        ),
    )


@each_case(
    ("text", "found"),
    [
        ("", []),
        ("# only a comment\n", []),
        ("---\n", []),
        ("---\n---\n# c\n---\n", []),
        ("a\n", [(0, "a")]),
        ("a\n---\nb\n", [(0, "a"), (1, "b")]),
        ("--- a\n--- b\n...\n--- c\n", [(0, "a"), (1, "b"), (2, "c")]),
        ("---\n---\na\n", [(1, "a")]),
        ("a\n...\n...\n# c\n...\n---\nb\n", [(0, "a"), (1, "b")]),
        ("a\n...\nb\n", [(0, "a"), (1, "b")]),
        ("a\n...\n", [(0, "a")]),
        ("a\n...\n# c\n", [(0, "a")]),
        ("--- ~\n--- ''\n--- &x\n", [(0, None), (1, ""), (2, None)]),
        ("a\r\n---\r\nb\r\n", [(0, "a"), (1, "b")]),
        ("a\r---\rb\r", [(0, "a"), (1, "b")]),
        ("%YAML 1.2\n---\na\n...\n# c\n%YAML 1.2\n---\nb\n", [(0, "a"), (1, "b")]),
        ("--- |\n ---\n--- |\n  ...\n", [(0, "---\n"), (1, "...\n")]),
        ("a: --- b\n--- ---b\n", [(0, {"a": "--- b"}), (1, "---b")]),
        ("\ufeffa: 1\n\ufeff---\nb: 2\n", [(0, {"a": 1}), (1, {"b": 2})]),
    ],
)
def test_documents_are_counted_and_empty_ones_left_out(
    text: str, found: list[tuple[int, object]]
) -> None:
    documents = stream_of(text).documents
    assert [(document.index, document.value) for document in documents] == found


def test_an_anchor_is_known_in_its_own_document_only() -> None:
    assert values_of("a: &x [1]\nb: *x\n---\na: &x 2\nb: *x\n") == [
        {"a": [1], "b": [1]},
        {"a": 2, "b": 2},
    ]
    assert mistakes("a: &x 1\n---\nb: *x\n") == [("F002", 3, 4)]


def test_a_key_that_may_be_repeated_is_kept_with_its_number() -> None:
    text = "out: 1\nin: 2\nout: 3\nin: 4\nout: 5\n---\nin: 6\n"
    (first, second) = stream_of(text).documents
    assert isinstance(first.value, dict)
    assert list(first.value.items()) == [
        ("out", 1),
        ("in", 2),
        ("out#2", 3),
        ("in#2", 4),
        ("out#3", 5),
    ]
    assert first.key_lines == {"out": 1, "in": 2, "out#2": 3, "in#2": 4, "out#3": 5}
    assert second.value == {"in": 6}
    assert values_of('{"in": 1, "in": 2}') == [{"in": 1, "in#2": 2}]


@each_case(
    ("text", "place", "lines"),
    [
        ("case: 1\nin: 1\ncase: 2\n", (3, 1), (1, 3)),
        ("a: 1\n---\ncase: 1\nin: 1\ncase: 2\n", (5, 1), (3, 5)),
        ("in:\n  in: 1\n  in: 2\n", (3, 3), (2, 3)),
        ("a: 1\n--- {in: {in: 1, in: 2}}\n", (2, 18), (2, 2)),
        ("- in: 1\n  in: 2\n", (2, 3), (1, 2)),
        ("in: 1\nin:\n  in#2: 1\n  in#2: 2\n", (4, 3), (3, 4)),
        ("<<: {a: 1}\n<<: {b: 1}\n", (2, 1), (1, 2)),
    ],
)
def test_any_other_repeated_key_is_an_error_that_names_both_lines(
    text: str, place: tuple[int, int], lines: tuple[int, int]
) -> None:
    assert mistakes(text) == [("F003", *place)]
    assert messages(text)[0].endswith(
        f"is written twice: at line {lines[0]} and at line {lines[1]}"
    )


@pytest.mark.parametrize(
    ("text", "line", "written", "again"),
    [
        ("in#2: 1\nin: 1\nin: 2\n", 3, 1, 3),
        ("in: 1\nin: 2\nin#2: 3\n", 3, 3, 2),
        ("x: 1\n---\nin: 1\nin: 2\nin#2: 3\n", 5, 5, 4),
    ],
)
def test_a_number_that_makes_a_key_of_the_file_is_an_error(
    text: str, line: int, written: int, again: int
) -> None:
    assert mistakes(text) == [("F003", line, 1)]
    assert messages(text) == [
        f'the key "in#2" at line {written} is also the name that the repeated key at line '
        f"{again} gets"
    ]


def test_a_key_with_a_number_of_its_own_is_a_key() -> None:
    assert values_of("in#2: 1\nin: 2\nin#2: 3\n") == [{"in#2": 1, "in": 2, "in#2#2": 3}]


def test_merged_keys_are_not_duplicates_and_have_the_line_they_are_written_at() -> None:
    text = "# first\n_x: &x\n  # not of the root\n  in: 1\n# merged\n<<: *x\n# own\nout: 2\n"
    (document,) = stream_of(text).documents
    assert document.value == {"_x": {"in": 1}, "in": 1, "out": 2}
    assert document.key_lines == {"_x": 2, "in": 4, "out": 8}
    assert document.comments == {"_x": "first", "out": "own"}


@each_case(
    ("text", "comments"),
    [
        ("a: 1\n", {}),
        ("#a\na: 1 # b\n# c\n", {"a": "a"}),
        ("#  two  \n#\n#three\na: 1\n", {"a": " two\n\nthree"}),
        ("#\na: 1\n", {}),
        ("# x\n\n\n# y\n\na: 1\n", {"a": "x\n\ny"}),
        ("# x\n--- # y\n# z\na: 1\n", {"a": "z"}),
        ("# x\n---\na: 1\n", {}),
        ("%YAML 1.2\n# x\n---\n# y\na: 1\n", {"a": "y"}),
        ("a: |\n  # text\n\n# b\nb: 1\n", {"b": "b"}),
        ("a: |\n# b\nb: 1\n", {"b": "b"}),
        ("a: >-\n   text\n\n # b\nb: 1\n", {"b": "b"}),
        ('a: "text\n  # text"\n# b\nb: 1\n', {"b": "b"}),
        ('a: "text\n  # text"\nb: 1\n', {}),
        ("a: 'text\n\n# text'\nb: 1\n", {}),
        ("a: text\n  text\n# b\nb: 1\n", {"b": "b"}),
        ("a:\n  # inside\n  x: 1\n  # b\nb: 1\n", {"b": "b"}),
        ("a:\n# b\nb:\n# c\nc:\n", {"b": "b", "c": "c"}),
        ("a: &x\n# b\nb: *x\n# c\nc: 1\n", {"b": "b", "c": "c"}),
        ("a: {\n  # inside\n  x: 1\n  # inside\n}\n# b\nb: [\n# inside\n]\n", {"b": "b"}),
        ("{\n  # a\n  a: 1, # no\n  # b\n  b: 2\n  # dropped\n}\n", {"a": "a", "b": "b"}),
        ("? a\n# b\n? b\n# no\n: 1\n", {"b": "b"}),
        ("# a\r\n# a\r\na: 1\r\n# b\r\nb: 1\r\n", {"a": "a\na", "b": "b"}),
        ("- # no\n  a: 1\n", {}),
        ("# \u2028 \x85\n# \\ud83d\\ude00\na: \u2028\n", {"a": "\u2028 \x85\n\\ud83d\\ude00"}),
    ],
)
def test_comments_belong_to_the_root_key_below_them(text: str, comments: dict[str, str]) -> None:
    assert stream_of(text).documents[0].comments == comments
    assert stream_of(f"x: 1\n# dropped\n...\n{text}").documents[1].comments == comments
    if "---" not in text:
        assert stream_of(f"# x\n--- 1\n---\n--- # no\n{text}").documents[1].comments == comments


def test_a_comment_of_a_repeated_key_goes_by_its_number() -> None:
    (document,) = stream_of("# one\nin: 1\n# two\nin: 2\n").documents
    assert document.comments == {"in": "one", "in#2": "two"}


@each_case(
    ("text", "line"),
    [
        ("\n# c\na: 1\n", 3),
        ("--- &x\n\na: 1\n", 3),
        ("---\n{\n\n  a: 1}\n", 4),
        ("---\n\n- a\n", 3),
        ("---\n\ntext\n", 3),
        ("---\n{\n}\n", 2),
    ],
)
def test_a_document_begins_with_its_first_key_or_what_it_is(text: str, line: int) -> None:
    assert [document.line for document in stream_of(text).documents] == [line]
    assert [document.line for document in stream_of("x\n...\n" + text).documents] == [1, line + 2]


def test_places_are_found_by_the_number_of_the_document() -> None:
    places = stream_of(CONTRACT).places()
    found = places.key((0, "out", "id"))
    assert (found.line, found.column, found.width, found.source) == (9, 3, 2, "  id: 1")
    assert places.value((0, "in", "id")).column == 12
    assert places.key((2, "in#2")).line == 15
    assert places.value((2, "in#2")).column == 5
    assert places.key((2,)).line == 13
    assert places.value((2, "gone", 0)).line == 13
    assert places.key((9, "case")).line == 1
    assert places.key(()).line == 1


def test_places_reach_through_aliases_and_merges() -> None:
    text = "1\n---\na: {<<: {x: 1}}\nb: &b {y: [1, 2]}\nc: {<<: *b}\nd: *b\ne: {x: {}}\n"
    places = stream_of(text).places()
    assert (places.key((1, "a", "x")).line, places.key((1, "a", "x")).column) == (3, 10)
    assert places.value((1, "c", "y", 1)).line == 4
    assert places.value((1, "d", "y", 1)).column == 15
    assert places.key((1, "e", "x")).line == 7
    assert places.key((1, "e", "x", "gone")).line == 7


def test_a_value_missing_at_the_end_is_reported_on_the_last_line() -> None:
    found = stream_of("a: 1\n---\n? b").places().value((1, "b"))
    assert (found.line, found.column) == (3, 4)


def test_diagnostics_about_a_stream_have_their_places() -> None:
    diagnostics = [
        PathDiagnostic(code="F008", message="second", steps=(2, "in"), on_key=False),
        PathDiagnostic(code="F006", message="first", steps=(0, "out"), on_key=True),
    ]
    found = diagnose(stream_of(CONTRACT), diagnostics)
    assert [(each.message, each.file, each.line, each.column) for each in found] == [
        ("first", "f.yaml", 8, 1),
        ("second", "f.yaml", 14, 5),
    ]


def test_the_mistakes_of_all_documents_are_reported_in_order() -> None:
    text = (
        "a: 1\na: 2\n---\nb: [1\n---\nfine: 1\n---\nc: *gone\nd: 'x\n---\n? [k]\n: v\n"
        '---\ne: "\x01"\n---\nf: ]\n'
    )
    assert mistakes(text) == [
        ("F003", 2, 1),
        ("F002", 4, 4),
        ("F002", 8, 4),
        ("F002", 9, 4),
        ("F004", 11, 3),
        ("F002", 14, 5),
        ("F002", 16, 4),
    ]


@each_case(
    ("text", "message", "place"),
    [
        ("a: 1\n---\nb: [1, 2\n---\nc: 1\n", 'this "[" is never closed', (3, 4)),
        ("a: 1\n---\nb: 'x\n---\nc: 1\n", "this quote is never closed", (3, 4)),
        ("a: 1\n... b\n", 'text follows the "..." that ends the document', (2, 5)),
        ("a: 1\n...\n... b\n", 'a value is missing before "."', (3, 1)),
        ("a: 1\n---\n\tb: 1\n", "a tab is used as indentation", (3, 1)),
        ("a: 1\n---\nb:\n  - 1\n  c: 1\n", 'expected "- " here', (5, 3)),
    ],
)
def test_a_syntax_error_is_reported_as_in_a_single_document(
    text: str, message: str, place: tuple[int, int]
) -> None:
    assert messages(text) == [message]
    assert mistakes(text) == [("F002", *place)]


def test_lines_named_in_advice_are_lines_of_the_file() -> None:
    with pytest.raises(FormatError) as caught:
        stream_of("a: 1\n---\nb:\n  - 1\n  c: 1\n")
    assert caught.value.diagnostics[0].help == (
        "the list that starts at line 4 goes on with dashes in column 3"
    )


def test_mistakes_are_counted_up_to_a_limit_over_all_documents() -> None:
    assert len(mistakes("a: 1\na: 2\n---\n" * 1_000)) == MAX_DIAGNOSTICS
    assert len(mistakes("a: [\n---\n" * 1_000)) == MAX_DIAGNOSTICS
    assert len(mistakes("a: \x01\n---\n" * 1_000)) == MAX_DIAGNOSTICS


def test_nodes_are_counted_over_all_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (full, stream):
        monkeypatch.setattr(module, "MAX_NODES", 50_000)
    inside = ", ".join(["*x"] * 99)
    document = f"a: &x [{', '.join(['1'] * 99)}]\nb: [{inside}]\n---\n"
    per_document = 2 + 100 + 2 + 99 * 100
    count = 50_000 // per_document
    assert len(stream_of(document * count).documents) == count
    found = mistakes(document * (count + 2))
    assert [code for code, _, _ in found] == ["F004"]
    assert found[0][1] == count * 3 + 2


def test_depth_is_counted_in_each_document_and_the_next_one_is_read() -> None:
    deep = "[" * 201 + "]" * 201
    assert mistakes(f"{deep}\n---\n{deep}\n") == [("F004", 1, 201), ("F004", 3, 201)]
    fits = "[" * 200 + "]" * 200
    assert len(values_of(f"{fits}\n---\n{fits}\n")) == 2


def test_a_document_that_contains_itself_does_not_hide_the_next() -> None:
    assert mistakes("a: &a [*a]\n---\nb: 1\nb: 2\n") == [("F004", 1, 8), ("F003", 4, 1)]


def test_a_text_over_the_limit_is_refused_unread() -> None:
    assert mistakes("é" * (MAX_TEXT_BYTES // 2 + 1)) == [("F004", 0, 0)]
