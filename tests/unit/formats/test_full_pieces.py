"""A stream is cut where its documents begin and end, and nothing of it is lost."""

from __future__ import annotations

from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.formats.yaml.stream import Piece, cut


def texts(text: str) -> list[str]:
    return [piece.text for piece in cut(text)]


@each_case(
    ("text", "pieces"),
    [
        ("", [""]),
        ("a\n", ["a\n"]),
        ("---\na\n", ["---\na\n"]),
        ("a\n---\nb\n", ["a\n", "---\nb\n"]),
        ("a\n---", ["a\n", "---"]),
        ("# c\n\n---\na\n", ["# c\n\n---\na\n"]),
        ("%YAML 1.2\n---\na\n", ["%YAML 1.2\n---\na\n"]),
        (" %\n---\na\n", [" %\n", "---\na\n"]),
        ("---\n---\n", ["---\n", "---\n"]),
        ("---\n# c\n---\n", ["---\n# c\n", "---\n"]),
        ("a\n...\n# c\n---\nb\n", ["a\n...\n", "# c\n---\nb\n"]),
        ("a\n...\n...\nb\n", ["a\n...\n", "b\n"]),
        ("a\n...", ["a\n...", ""]),
        ("...\na\n", ["a\n"]),
        ("# c\n...\n\n...\na\n", ["a\n"]),
        ("%YAML 1.2\n...\na\n", ["%YAML 1.2\n...\n", "a\n"]),
        ("a\n...\n", ["a\n...\n", ""]),
        ("a\n... # c\nb", ["a\n... # c\n", "b"]),
        ("a\n...\n... # c\n... b\n", ["a\n...\n", "... b\n", ""]),
        ("---a\n....\n ---\n#---\n", ["---a\n....\n ---\n#---\n"]),
        ("a\r\n---\tb\r\n", ["a\r\n", "---\tb\r\n"]),
        ("a\r---\rb", ["a\r", "---\rb"]),
        ("a\u2028---\n", ["a\u2028---\n"]),
    ],
)
def test_a_piece_is_one_document_and_what_belongs_to_it(text: str, pieces: list[str]) -> None:
    assert texts(text) == pieces


def test_a_piece_knows_the_line_it_begins_at() -> None:
    assert list(cut("a\r\n\r\n---\rb\n...\n...\nc")) == [
        Piece(text="a\r\n\r\n", first_line=0),
        Piece(text="---\rb\n...\n", first_line=2),
        Piece(text="c", first_line=6),
    ]


@given(
    st.lists(
        st.sampled_from(["a", "---", "...", "\n", "\r", "\r\n", " ", "#", "%", "b: 1"]), max_size=12
    ).map("".join)
)
def test_all_of_a_text_is_in_one_piece_but_what_ends_nothing(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    left_out = list(lines)
    for piece in cut(text):
        own = piece.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        # The last one is where the next piece begins.
        complete = own if own[-1] else own[:-1]
        here = slice(piece.first_line, piece.first_line + len(complete))
        assert lines[here] == complete
        left_out[here] = [""] * len(complete)
    assert all(line.strip() == "" or line[0] in " #." for line in left_out)
