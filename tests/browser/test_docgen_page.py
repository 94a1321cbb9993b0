"""The page of `mcptest docs` in a browser: it runs nothing, asks for nothing, and reads well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from reading import assert_fits, assert_named, assert_printed, assert_readable, show
from test_hostile_texts import ACTIVE, QUIET, is_noticed

from mcptest.core.plan import Case, Suite
from mcptest.core.text import visible
from mcptest.docgen.build import build_docs
from mcptest.docgen.html import render_html
from mcptest.docgen.model import ServerDescription
from mcptest.matching.case_tags import read_tag
from mcptest.protocol.dialogue import Bind, Dialogue, Ref, Turn

if TYPE_CHECKING:
    from pathlib import Path

    from chromium import Tab

pytest_plugins = ["browsing"]

# Nothing listens there; the attempt of the page is recorded anyway.
HOME = "http://127.0.0.1:9"
TEXTS = [text.replace("HOME", HOME) for text in (*ACTIVE, *QUIET)]


def described(text: str) -> ServerDescription:
    part = {"type": text, "description": text, "default": text, "enum": [text]}
    schema = {"type": "object", "properties": {text: part, "b": part}, "required": [text]}
    said = {"title": text, "description": text, "mimeType": text}
    tool = {"name": text, "inputSchema": schema, "outputSchema": schema, **said}
    features: dict[str, tuple[dict[str, Any], ...]] = {
        "tools": (tool,),
        "resources": ({"uri": text, "name": text, **said},),
        "resourceTemplates": ({"uriTemplate": text, "name": text, **said},),
        "prompts": ({"name": text, "arguments": [{"name": text, "description": text}], **said},),
    }
    info = {"name": text, "version": text, "description": text}
    return ServerDescription(
        source="the server",
        info=info,
        capabilities={text: {text: True}},
        protocol_version=text,
        instructions=text,
        features=features,
    )


def suite_of(text: str, lines: int = 1) -> Suite:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": text}}
    result = {text: [text] * lines, "n": Ref(name="a"), "r": read_tag("re", r"^\d+$")}
    answer = {"jsonrpc": "2.0", "id": 1, "result": result}
    binds = (Bind(name=text, steps=("result", text)),)
    turns = (
        Turn(key="in", is_ours=True, value=call, line=1, comment=text),
        Turn(key="out", is_ours=False, value=answer, line=2, answers=0, binds=binds, needs=(text,)),
    )
    dialogue = Dialogue(turns=turns, comment=text, description=text)
    case = Case(name=text, line=1, dialogue=dialogue, tags=(text,), skip=text)
    return Suite(name=text, file=text, format="cases", cases=(case, case))


def page_of(text: str, lines: int = 1) -> str:
    return render_html(build_docs(described(text), [suite_of(text, lines)] * 2, text))


@pytest.fixture
def docs(tab: Tab, tmp_path: Path) -> Tab:
    """The page of an ordinary server, with a message that is long enough to begin closed."""
    tab.resize(1200)
    show(tab, tmp_path, page_of("weather", lines=60))
    return tab


# Hostile texts


@pytest.mark.parametrize("text", TEXTS)
def test_a_page_full_of_hostile_texts_is_shown_and_does_nothing(
    tab: Tab, tmp_path: Path, text: str
) -> None:
    show(tab, tmp_path, page_of(text))
    tab.value(
        """(() => {
        for (const each of document.querySelectorAll("details")) each.open = true;
        for (const each of document.querySelectorAll("a")) each.click();
        for (const each of document.querySelectorAll("*"))
            for (const kind of ["mouseover", "focus", "click", "toggle", "error", "load"])
                each.dispatchEvent(new Event(kind));
        })()"""
    )
    tab.settle()
    assert tab.deeds == []
    assert tab.value("window.canary === undefined")
    assert tab.value("document.scripts.length") == 0
    targets = "Array.from(document.querySelectorAll('[href], [src]'), e => e.getAttribute('href'))"
    assert all(target.startswith("#") for target in tab.value(targets))
    if len(text) < 200:
        assert tab.value("document.querySelector('h1').textContent") == visible(text.strip())


def test_the_policy_alone_stops_scripts_that_were_not_escaped(tab: Tab, tmp_path: Path) -> None:
    """Were escaping to fail one day, the browser would still refuse all of it."""
    active = "".join(text for text in TEXTS[: len(ACTIVE)] if "refresh" not in text)
    page = page_of("x")
    holed = page.replace("<footer>", f"{active}<footer>")
    assert holed != page
    show(tab, tmp_path, holed)
    assert tab.value("window.canary === undefined")
    assert any("Content Security Policy" in deed for deed in tab.deeds)
    kinds = {deed.split()[0] for deed in tab.deeds}
    assert kinds <= {"Log.entryAdded", "Page.frameAttached", "Network.requestWillBeSent"}
    bare = "<!doctype html><title></title><style></style><body>"
    assert is_noticed(tab, tmp_path / "raw.html", f"{bare}{active}")


# Reading


def test_our_own_style_is_allowed_and_nothing_is_complained_about(docs: Tab) -> None:
    assert docs.deeds == []
    assert docs.value("getComputedStyle(document.body).maxWidth") == "1312px"


def test_headings_are_in_the_order_of_the_page(docs: Tab) -> None:
    headings = docs.value("Array.from(document.querySelectorAll('h2'), each => each.textContent)")
    assert headings == ["Tools", "Resources", "Resource templates", "Prompts", "Dialogues"]


def test_every_link_leads_to_what_it_names(docs: Tab) -> None:
    lost = docs.value(
        """Array.from(document.querySelectorAll("a"), each => each.hash)
        .filter(hash => !document.getElementById(decodeURIComponent(hash.slice(1))))"""
    )
    assert lost == []


def test_a_feature_leads_to_its_dialogue_and_back(docs: Tab) -> None:
    docs.value("document.querySelector('.feature .links a').click()")
    docs.settle()
    assert docs.value("document.querySelector(':target').className") == "case"
    docs.value("document.querySelector(':target .links a').click()")
    docs.settle()
    assert docs.value("document.querySelector(':target').className") == "feature"


def test_the_contents_stay_in_sight_on_a_wide_screen(docs: Tab) -> None:
    docs.value("window.scrollTo(0, 2000)")
    docs.settle()
    assert 0 <= docs.value("document.querySelector('nav').getBoundingClientRect().top") < 100


def test_a_page_without_script_is_the_same(docs: Tab) -> None:
    before = docs.value("document.body.innerText")
    docs.reload_without_script()
    assert docs.value("document.body.innerText") == before


@pytest.mark.parametrize("text", ["weather", "x" * 5_000, "W" * 150, "\u0e01\u0e33" * 300])
def test_a_narrow_screen_needs_no_sideways_scrolling(tab: Tab, tmp_path: Path, text: str) -> None:
    tab.resize(360)
    show(tab, tmp_path, page_of(text))
    assert_fits(tab, 360)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_both_colour_schemes(docs: Tab, scheme: str) -> None:
    assert_readable(docs, scheme, {"light": "rgb(251, 250, 248)", "dark": "rgb(20, 23, 26)"})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_everything_is_open_and_paper_is_white(docs: Tab, scheme: str) -> None:
    assert_printed(docs, scheme, closed="details pre", blocks="pre", control="nav")


@pytest.mark.long
def test_the_keyboard_reaches_links_and_closed_messages(docs: Tab) -> None:
    docs.press("Tab", 9)
    assert docs.value("document.activeElement.textContent") == "Skip to the content"
    reached = set()
    for _ in range(50):
        docs.press("Tab", 9)
        reached.add(docs.value("document.activeElement.localName"))
    assert reached >= {"a", "summary"}


def test_everything_that_can_be_used_has_a_name_for_those_who_do_not_see_it(docs: Tab) -> None:
    assert_named(docs, {"link", "DisclosureTriangle", "navigation"})
