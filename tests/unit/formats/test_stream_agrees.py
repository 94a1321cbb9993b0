"""A stream of one document holds what the document reader reads, whichever parser is there."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from case_tables import each_case
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest.core.errors import FormatError
from mcptest.formats.yaml import Document, full, locate, read_document
from mcptest.formats.yaml.stream import Stream, read_stream

# One JSON string per line: every trap we could think of, right and wrong.
SNIPPETS: list[str] = [
    json.loads(line)
    for line in Path(__file__).with_name("yaml_snippets.jsonl").read_text("utf-8").splitlines()
]
# What is read in a stream, and refused in a file of one document by one parser or the other.
ONLY_IN_STREAMS = ["a: {b:}", "a: [b:]", "a: [?]", "a: [b?]", "a: [b?c, d]", "a: |# c\n  b\n"]
# Where a second document may begin, or the only one end: a mistake for the document reader.
MARKERS = ("\n---", "\n...")


def stream_of(text: str, tags: tuple[str, ...] = ()) -> Stream:
    return read_stream(text, "f.yml", tags=tags, may_repeat=lambda key: key == "in")


def described(value: object) -> object:
    """A value with its types (1, 1.0 and True are equal in Python) and its order."""
    if isinstance(value, dict):
        return "map", [(key, described(item)) for key, item in value.items()]
    if isinstance(value, list):
        return "list", [described(item) for item in value]
    return type(value).__name__, value


def places_in(stream: Stream) -> list[object]:
    """The place of every key, and of every value that is not missing."""
    places = stream.places()
    found: list[object] = []
    waiting: list[tuple[tuple[str | int, ...], object]] = [
        ((document.index,), document.value) for document in stream.documents
    ]
    while waiting:
        steps, value = waiting.pop()
        found.append((steps, value is not None and places.value(steps)))
        if isinstance(value, dict):
            waiting += [((*steps, key), inner) for key, inner in value.items()]
            # An empty key may be one that is missing; the parsers differ about where.
            found += [(steps, key, places.key((*steps, key))) for key in value if key]
        elif isinstance(value, list):
            waiting += [((*steps, index), inner) for index, inner in enumerate(value)]
    return found


def outcome(text: str, tags: tuple[str, ...] = ()) -> object:
    try:
        stream = stream_of(text, tags)
    except FormatError:
        return "refused"
    documents = [
        (document.index, document.line, document.key_lines, document.comments)
        for document in stream.documents
    ]
    values = [described(document.value) for document in stream.documents]
    return documents, values, places_in(stream)


def assert_agreement(text: str) -> None:
    try:
        document = read_document(text, "f.yml")
    except FormatError as error:
        refused = places_of(error)
    else:
        assert_same(document, stream_of(text))
        return
    has_marker = any(mark in f"\n{text}" for mark in MARKERS)
    if "\t" not in text and text not in ONLY_IN_STREAMS and not has_marker:
        with pytest.raises(FormatError) as caught:
            stream_of(text)
        assert places_of(caught.value) == refused


def assert_same(document: Document, stream: Stream) -> None:
    if not stream.documents:
        assert document.value is None
        return
    (found,) = stream.documents
    assert (found.index, described(found.value)) == (0, described(document.value))
    if isinstance(document.value, dict):
        places = locate(document)
        assert found.key_lines == {key: places.key((key,)).line for key in document.value}


def places_of(error: FormatError) -> list[tuple[str, int, int]]:
    return [(found.code, found.line, found.column) for found in error.diagnostics]


@each_case("text", SNIPPETS)
def test_a_stream_of_one_document_reads_as_the_document(text: str) -> None:
    assert_agreement(text)


@pytest.mark.slow
@each_case("text", SNIPPETS)
def test_a_stream_of_one_document_reads_as_the_document_without_libyaml(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full, "CParser", None)
    assert_agreement(text)


def assert_parsers_agree(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full, "CParser", None)
        without = outcome(text, ("re", "any"))
    assert outcome(text, ("re", "any")) == without, text


@each_case("text", SNIPPETS)
def test_both_parsers_read_every_trap_alike(text: str) -> None:
    if "\ufeff" in text[1:]:
        return
    assert_parsers_agree(text)


PIECES = st.sampled_from(
    [
        *["a", "a: ", "in: ", "in: 1\n", "- ", "\n", "\n  ", "\n\t", " ", "\t", "{", "}", "[", "]"],
        *[",", ": ", '"', "'", '"x"', "# c", "\n# c\n", "\n---\n", "\n...\n", "!!re ", "!!any"],
        *[
            "!x ",
            "&x ",
            "*x",
            "|\n  ",
            "1",
            "null",
            "<<: ",
            "\\/",
            "\r\n",
            "\u2028",
            "\\ud83d\\ude00",
        ],
    ]
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_both_parsers_read_whatever_is_thrown_at_them_alike(text: str) -> None:
    assert_parsers_agree(text)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_documents_are_read_the_same_alone_and_among_others(text: str) -> None:
    among = f"x\n...\n{text}\n---\ny\n"
    try:
        alone = stream_of(text + "\n")
    except FormatError as error:
        refused = [(code, line + 2) for code, line, _ in places_of(error)]
        with pytest.raises(FormatError) as caught:
            stream_of(among)
    else:
        first, *between, last = stream_of(among).documents
        assert (first.value, last.value) == ("x", "y")
        assert [(described(each.value), each.comments) for each in between] == [
            (described(each.value), each.comments) for each in alone.documents
        ]
        return
    assert [(code, line) for code, line, _ in places_of(caught.value)] == refused


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(VALUES, min_size=1, max_size=4),
    indent=st.sampled_from([None, 0, 2, "\t"]),
    raw=st.booleans(),
    seed=st.integers(),
)
def test_pasted_json_is_read_with_its_comments(
    values: list[object], indent: int | str | None, raw: bool, seed: int
) -> None:
    chance = random.Random(seed)
    notes = [chance.choice(["", "# note\n", "# a\n\n# b\n"]) for _ in values]
    text = "---\n".join(
        f"case: x\n{note}in: {json.dumps(value, indent=indent, ensure_ascii=not raw)}\n"
        for value, note in zip(values, notes, strict=True)
    )
    documents = stream_of(text).documents
    assert [document.value for document in documents] == [
        {"case": "x", "in": value} for value in values
    ]
    assert [document.comments.get("in", "") for document in documents] == [
        note.replace("# ", "").strip() for note in notes
    ]
