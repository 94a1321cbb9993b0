"""Text that PyYAML would change or refuse is read unchanged, at the same positions."""

from __future__ import annotations

from case_tables import each_case

from mcptest.formats.yaml.full import read_fully
from mcptest.formats.yaml.pyyaml import Shield


@each_case(
    ("text", "value"),
    [
        (r'"\ud83d\ude00"', "😀"),
        (r'"a\uD83D\uDE00b"', "a😀b"),
        (r'"\\ud83d"', r"\ud83d"),
        (r'"\\\ud83d\ude00"', "\\😀"),
        (r"'\ud83d\uDe00'", r"\ud83d\uDe00"),
        (r"\ud83d\ude00", r"\ud83d\ude00"),
        ('"\\ud83d\\ude00 \ue83d \\ue83d"', "😀 \ue83d \ue83d"),
        ('"\\ud83d\\ude00 \ue83d 가 \\uff01"', "😀 \ue83d 가 \uff01"),
        ('"a \u2028 b\x85c"', "a \u2028 b\x85c"),
        ("a\u2029b", "a\u2029b"),
        ("|\n a\u2028b\n", "a\u2028b\n"),
        ('"\u2028 \U000f0000"', "\u2028 \U000f0000"),
    ],
)
def test_scalars_are_read_as_they_were_written(text: str, value: str) -> None:
    assert read_fully(text, "f.yml")[0] == value


def test_the_length_of_the_text_never_changes() -> None:
    text = '"\\ud83d\\ude00 \u2028 \x85"'
    shield = Shield(text)
    assert shield.is_needed
    assert len(shield.text) == len(text)


def test_an_ordinary_text_needs_no_shield() -> None:
    shield = Shield('a: "\\u00e9"')
    assert not shield.is_needed
    assert shield.text == 'a: "\\u00e9"'
