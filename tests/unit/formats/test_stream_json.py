"""JSON as people paste it into a stream loads, and its places stay true."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case

from mcptest.core.errors import FormatError
from mcptest.formats.yaml import full
from mcptest.formats.yaml.stream import Stream, read_stream

MESSAGE = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {"tools": [{"name": "a/b", "ok": True, "size": 1.5}, 2, None], "empty": {}, "x": []},
}


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(full, "CParser", None)


def stream_of(text: str) -> Stream:
    return read_stream(text, "f.yaml", tags=(), may_repeat=lambda _key: False)


def value_of(text: str) -> object:
    (document,) = stream_of(text).documents
    return document.value


def mistakes(text: str) -> list[tuple[str, int, int]]:
    with pytest.raises(FormatError) as caught:
        stream_of(text)
    return [(found.code, found.line, found.column) for found in caught.value.diagnostics]


@each_case("indent", [None, 0, 1, 2, 4, "\t", "\t\t", " \t"])
@each_case("key", ["in: ", "# c\nin:\n  ", "in:\n\n    "])
def test_a_message_may_be_indented_in_any_way(indent: int | str | None, key: str) -> None:
    pasted = json.dumps(MESSAGE, indent=indent)
    text = f"case: one\n{key}{pasted}\nout: {pasted}\n---\nin: {pasted}\n"
    first, second = stream_of(text).documents
    assert first.value == {"case": "one", "in": MESSAGE, "out": MESSAGE}
    assert second.value == {"in": MESSAGE}


@each_case(
    ("text", "value"),
    [
        ('a: {\n"b": [\n1,\n2\n]\n}\nc: 1\n', {"a": {"b": [1, 2]}, "c": 1}),
        ('a: {\n\t"b": 1\n\t}\n', {"a": {"b": 1}}),
        ('a: {\n\t"b": true\n\t,\n\t"c": x\n}\n', {"a": {"b": True, "c": "x"}}),
        (
            'a: {\n\t# note\n\t"b": 1, # note\n\t\n\t"c": [1,\t2\t]\t}\n',
            {"a": {"b": 1, "c": [1, 2]}},
        ),
        ('a: [\n\t"x\n\ty",\n\tplain\n\ttext\n]\n', {"a": ["x y", "plain text"]}),
        ('- {\n\t"a": 1\n\t}\n- [\n\t1\n]\n', [{"a": 1}, [1]]),
        ('--- {\n\t"a": 1\n\t}\n', {"a": 1}),
        ('{\n\t"a": 1\n\t}\n', {"a": 1}),
        ('a:\t"b"\t# note\nc:\td\n', {"a": "b", "c": "d"}),
        ("a: b\tc\n", {"a": "b\tc"}),
        ("a: |\t# note\n  b\tc\n  \td\n", {"a": "b\tc\n\td\n"}),
        (r'a: "\/x\/"', {"a": "/x/"}),
        (r'a: {"b": "http:\/\/x"}', {"a": {"b": "http://x"}}),
        ('a: {"b": 1e3, "c": 1E-2, "d": -0.5}', {"a": {"b": 1000.0, "c": 0.01, "d": -0.5}}),
        (r'a: ["\ud83d\ude00", "\u00e9"]', {"a": ["😀", "é"]}),
        ('a: [1, 2,]\nb: {"c": 1,}\n', {"a": [1, 2], "b": {"c": 1}}),
        ('a: {"b":1,"c":"d","e":[]}', {"a": {"b": 1, "c": "d", "e": []}}),
        ('a: {"b"  : 1 , "c":\n\n2}', {"a": {"b": 1, "c": 2}}),
        ("a: {b: http://x?y=1, c: [d?, e]}", {"a": {"b": "http://x?y=1", "c": ["d?", "e"]}}),
    ],
)
def test_json_and_what_looks_like_it_is_read(text: str, value: object) -> None:
    assert value_of(text) == value
    assert [document.value for document in stream_of(f"1\n...\n{text}").documents] == [1, value]


@each_case(
    ("text", "place"),
    [
        ("a:\n\tb: 1\n", (2, 1)),
        ("a:\n  b: 1\n\tc: 2\n", (3, 1)),
        ("a:\n\t- 1\n", (2, 1)),
        ("a: {\n\t}\n\tb: 1\n", (3, 1)),
        ("a: b\n\tc\n", (2, 1)),
        ("\ta: 1\n", (1, 1)),
        ("a: 1\n\t\nb: {\n\t}\n", (2, 1)),
    ],
)
def test_a_tab_that_indents_a_block_is_an_error(text: str, place: tuple[int, int]) -> None:
    assert mistakes(text) == [("F002", *place)]
    assert mistakes(f"x: {{\n\t}}\n---\n{text}") == [("F002", place[0] + 3, place[1])]


def test_places_stay_true_after_tabs() -> None:
    text = 'x\n---\na: {\n\t"b": [\n\t\t1,\n\t\t"\\ud83d\\ude00", "c"\n\t]\n\t}\n'
    places = stream_of(text).places()
    found = places.value((1, "a", "b", 2))
    assert (found.line, found.column, found.width) == (6, 19, 3)
    assert places.key((1, "a", "b")).source == '\t"b": ['
    assert mistakes('a: {\n\t"b": 1,\n\t"b": 2\n\t}\n') == [("F003", 3, 2)]
    assert mistakes('a: {\n\t"b": ""\n\t"c": 2\n\t}\n') == [("F002", 3, 2)]


def test_a_comment_is_found_below_json_with_tabs() -> None:
    (document,) = stream_of('a: {\n\t# no\n\t"b": 1\n\t}\n# yes\nc: 1\n').documents
    assert document.comments == {"c": "yes"}


def test_a_file_that_is_one_json_value_is_read_whatever_its_keys() -> None:
    long = "k" * 2000
    value = {"a": 1, long: 2, "c": {"d": 3}}
    stream = stream_of(json.dumps(value, indent=1))
    (document,) = stream.documents
    assert (document.value, document.index, document.line) == (value, 0, 2)
    assert document.key_lines["a"] == 2
    assert set(document.key_lines) == set(value)
    assert stream.places().key((0, "a")).line == 2
    assert stream.places().key((0, "c", "d")).line == 1
    assert value_of('["\x7f"]') == ["\x7f"]


@pytest.mark.parametrize("text", ['in:\n{\n  "a": 1\n}\n', "in:\n[\n  1\n]\n"])
def test_an_opening_bracket_below_its_key_gets_the_advice_to_indent_it(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        stream_of(f"x\n---\n{text}")
    (found,) = caught.value.diagnostics
    assert (found.code, found.line, found.column) == ("F002", 4, 1)
    assert found.message.endswith("is not indented, so it is not a value of the key before it")
    assert value_of(text.replace("\n[", "\n [").replace("\n{", "\n {")) is not None


def test_half_a_surrogate_pair_is_refused() -> None:
    assert mistakes('a: "x"\n---\nb: "\\ud83d"\n') == [("F004", 3, 4)]
