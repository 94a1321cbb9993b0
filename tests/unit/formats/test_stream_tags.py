"""Tags that the caller enables: where they are allowed, and the error elsewhere."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.formats.yaml import full
from mcptest.formats.yaml.full import Tagged
from mcptest.formats.yaml.stream import read_stream

TAGS = ("re", "ere", "any", "type")


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(full, "CParser", None)


def never(_key: str) -> bool:
    return False


def value_of(text: str, tags: tuple[str, ...] = TAGS) -> object:
    (document,) = read_stream(text, "f.yaml", tags=tags, may_repeat=never).documents
    return document.value


def mistake(text: str, tags: tuple[str, ...] = TAGS) -> Diagnostic:
    with pytest.raises(FormatError) as caught:
        read_stream(text, "f.yaml", tags=iter(tags), may_repeat=never)
    (found,) = caught.value.diagnostics
    return found


ANY = Tagged(tag="any", text="")


@each_case(
    ("text", "value"),
    [
        ("!!re a+", Tagged(tag="re", text="a+")),
        ("!!re 'a+'", Tagged(tag="re", text="a+")),
        ('!!re "a\\tb"', Tagged(tag="re", text="a\tb")),
        ("!!re |\n  a+\n", Tagged(tag="re", text="a+\n")),
        ("!!re 12", Tagged(tag="re", text="12")),
        ("!!re ~", Tagged(tag="re", text="~")),
        ("!!re\n  a+", Tagged(tag="re", text="a+")),
        ("!!re\t'a+'", Tagged(tag="re", text="a+")),
        ("!<tag:yaml.org,2002:re> a", Tagged(tag="re", text="a")),
        ("%TAG !y! tag:yaml.org,2002:\n---\n!y!re a", Tagged(tag="re", text="a")),
        ('!!re "\\ud83d\\ude00 \u2028"', Tagged(tag="re", text="😀 \u2028")),
        ("a: !!any\nb: !!any\n", {"a": ANY, "b": ANY}),
        ("- !!any\n- !!type number\n", [ANY, Tagged(tag="type", text="number")]),
        ("[!!any]", [ANY]),
        ("[!!any, !!any , !!any]", [ANY, ANY, ANY]),
        ('{"a":!!any, "b": [!!any],"c":{"d":!!any}}', {"a": ANY, "b": [ANY], "c": {"d": ANY}}),
        ("{a: !!any\n}", {"a": ANY}),
        (
            "a: &x !!re b\nc: *x\n",
            {"a": Tagged(tag="re", text="b"), "c": Tagged(tag="re", text="b")},
        ),
        (
            "a: !!re &x b\nc: [*x]\n",
            {"a": Tagged(tag="re", text="b"), "c": [Tagged(tag="re", text="b")]},
        ),
        ("x: &x {a: !!any}\n<<: *x\n", {"x": {"a": ANY}, "a": ANY}),
        ("!!str 1", "1"),
        ("[!!str, !!int 1]", ["", 1]),
        ("{a: !!str }", {"a": ""}),
        ("! 12", "12"),
        ("a: !!map {b: !!seq []}", {"a": {"b": []}}),
    ],
)
def test_a_tag_of_ours_keeps_the_text_of_its_scalar(text: str, value: object) -> None:
    assert value_of(text) == value


def test_a_tag_that_is_not_enabled_is_refused_as_in_any_file() -> None:
    found = mistake("a: !!re x", ())
    assert (found.code, found.column, found.width) == ("F004", 4, 4)
    assert found.message == "the tag !!re is refused: object tags are not allowed"
    assert found.help == "write plain mappings, lists, text, numbers, true, false or null"


@each_case(
    ("text", "shown", "question"),
    [
        ("a: !!rf x", "!!rf", "; did you mean !!re?"),
        ("a: !!anny", "!!anny", "; did you mean !!any?"),
        ("a: !!Type x", "!!Type", "; did you mean !!type?"),
        ("a: !typ x", "!typ", "; did you mean !!type?"),
        (
            "a: !!python/name:os.system x",
            "!!python/name:os.system",
            ": object tags are not allowed",
        ),
        ("a: [!!anny, 1]", "!!anny", "; did you mean !!any?"),
        (
            "a: !<tag:example.org,2000:x> 1",
            "tag:example.org,2000:x",
            ": object tags are not allowed",
        ),
        ("a: !!sequence {}", "!!sequence", ": object tags are not allowed"),
    ],
)
def test_an_unknown_tag_is_refused_with_those_there_are(
    text: str, shown: str, question: str
) -> None:
    found = mistake(text)
    assert (found.code, found.message) == ("F004", f"the tag {shown} is refused{question}")
    assert found.help.startswith("there are: !!re, !!ere, !!any, !!type; ")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: !!re {b: 1}", "a mapping"),
        ("a: !!re\n  b: 1\n", "a mapping"),
        ("a: !!re [1]", "a list"),
    ],
)
def test_a_tag_of_ours_on_a_collection_is_refused(text: str, what: str) -> None:
    found = mistake(text)
    assert (found.code, found.line, found.column, found.width) == ("F004", 1, 4, 4)
    assert found.message == f"!!re is on text, not on {what}"


@pytest.mark.parametrize("text", ["a: !re x", "a: !re {}", "a: !re [x]", "a: [!re , 1]"])
def test_one_exclamation_mark_is_one_too_few(text: str) -> None:
    found = mistake(text)
    assert (found.code, found.message) == ("F004", "the tag !re needs two exclamation marks")
    assert found.help == "write !!re"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("!!re a: 1\n", (1, 1)),
        ("x: 1\ny:\n  !!re a: 1\n", (3, 3)),
        ("? !!re a\n: 1\n", (1, 3)),
        ("{!!re a: 1}", (1, 2)),
        ("a: &x !!re b\n*x : 1\n", (2, 1)),
    ],
)
def test_a_tag_of_ours_on_a_key_is_refused(text: str, place: tuple[int, int]) -> None:
    found = mistake(text)
    assert (found.code, found.line, found.column) == ("F004", *place)
    assert found.message == "!!re is on a key; a key is plain text"


@pytest.mark.parametrize("text", ['a: !!re"x"', 'a: [1, !!re"x"]', "a: !!re{}"])
def test_a_tag_without_a_space_after_it_is_reported(text: str) -> None:
    found = mistake(text)
    assert (found.code, found.column) == ("F002", text.index("re") + 3)
    assert found.message == "a tag ends with a space, and this is not one"


def test_a_tagged_value_is_pointed_at_as_a_whole() -> None:
    stream = read_stream("x\n---\na: !!re 'b+'\n", "f.yaml", tags=TAGS, may_repeat=never)
    found = stream.places().value((1, "a"), offset=1, width=1)
    assert (found.line, found.column, found.width) == (3, 4, 9)
