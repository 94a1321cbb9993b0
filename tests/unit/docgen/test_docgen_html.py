"""A docs as an HTML page: what is on it, and that no text from outside becomes markup."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from case_tables import each_case
from docgen_samples import SMALL, cases, docs_of, docs_of_texts, docs_of_tool
from hostile_texts import HOSTILE, hostile_texts
from hypothesis import HealthCheck, given, settings

from mcptest.core.text import visible
from mcptest.docgen.html import render_html

SMALL_CASE = """
case: Roll <b>
_tags: [luck]
_skip: the die is lost
# Six sides.
in: {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
  "params": {"name": "roll", "arguments": {"sides": 6}}}
out: {"jsonrpc": "2.0", "id": 3, "result": {"text": !!re "^[1-6]$"}}
"""

SMALL_CASE_AS_HTML = """\
<a href="#main" class="skip">Skip to the content</a>
<header><h1>dice</h1>
<p class="lead">The server offers 1 tool. 1 dialogue shows how it is used.</p></header>
<div class="layout"><nav aria-label="Contents"><ul>\
<li><a href="#tools" class="group">Tools</a>\
<ul><li><a href="#tool-roll"><code>roll</code></a></li></ul></li>
<li><a href="#dialogues" class="group">Dialogues</a>\
<ul><li><a href="#case-roll-b">Roll &lt;b&gt;</a></li></ul></li></ul></nav>
<main id="main"><section id="tools"><h2>Tools</h2>
<article class="feature" id="tool-roll"><h3><a href="#tool-roll"><code>roll</code></a></h3>
<p class="warning">Not described by the contract: what is known of this tool is how it is used.</p>
<h4>Arguments seen</h4>
<table><thead><tr><th scope="col">name</th><th scope="col">type</th><th scope="col">rules</th>\
</tr></thead><tbody><tr><th scope="row"><code>sides</code></th><td>number</td>\
<td><ul class="rules"><li>seen: <code>6</code></li></ul></td></tr></tbody></table>
<p class="links">Used in: <a href="#case-roll-b">Roll &lt;b&gt;</a></p></article></section>
<section id="dialogues"><h2>Dialogues</h2>
<div class="legend aside">Messages hold these signs where a value is not always the same:\
<ul><li><code>!!re R</code>: A string in which the regular expression R is found.</li></ul></div>
<article class="case" id="case-roll-b"><h3><a href="#case-roll-b">Roll &lt;b&gt;</a></h3>
<p class="warning">Skipped: the die is lost</p>
<ul class="chips"><li>luck</li></ul>
<p class="links">Uses: <a href="#tool-roll"><code>roll</code></a></p>
<ol class="messages"><li class="ours"><p class="head">\
<span class="direction">client → server</span> request \
<code>tools/call</code> <code>roll</code></p>\
<div class="prose comment"><p>Six sides.</p></div><pre><span>{
</span><span class="d1">  &quot;jsonrpc&quot;: <span class="text">&quot;2.0&quot;</span>,
</span><span class="d1">  &quot;id&quot;: 3,
</span><span class="d1">  &quot;method&quot;: <span class="text">&quot;tools/call&quot;</span>,
</span><span class="d1">  &quot;params&quot;: { &quot;name&quot;: \
<span class="text">&quot;roll&quot;</span>, \
&quot;arguments&quot;: { &quot;sides&quot;: 6 } }
</span><span>}
</span></pre></li>
<li class="theirs"><p class="head"><span class="direction">server → client</span> answer to \
<code>tools/call</code> <code>roll</code></p><pre><span>{ &quot;jsonrpc&quot;: \
<span class="text">&quot;2.0&quot;</span>, &quot;id&quot;: 3, &quot;result&quot;: \
{ &quot;text&quot;: <span class="tag">!!re</span> <span class="tag">&quot;^[1-6]$&quot;</span> } }
</span></pre></li></ol></article></section></main></div>
<footer>Made by mcptest docs.</footer>
"""

# Everything a docs is made of.
TAGS = frozenset(
    """html head meta title style body header main section nav footer article h1 h2 h3 h4 p div
    span a ul ol li dl dt dd details summary pre code table thead tbody tr th td
    blockquote""".split()  # noqa: SIM905  # a list would be 40 lines
)
ATTRIBUTES = frozenset(
    [
        "charset",
        "http-equiv",
        "content",
        "name",
        "lang",
        "href",
        "class",
        "id",
        "aria-label",
        "scope",
    ]
)


class Seen(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag != "meta":
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def values(self, name: str) -> list[str]:
        return [value or "" for each, value in self.attributes if each == name]


def body_of(page: str) -> str:
    return page.partition("<body>\n")[2].partition("</body>")[0]


def test_a_small_contract_as_html() -> None:
    assert body_of(render_html(docs_of(cases(SMALL_CASE)))) == SMALL_CASE_AS_HTML


def test_the_policy_allows_our_style_and_nothing_else() -> None:
    page = render_html(docs_of(cases(SMALL)))
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    (policy,) = re.findall('Content-Security-Policy" content="(.*?)"', page)
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "<script" not in page
    assert "url(" not in style
    assert "@import" not in style


def test_the_description_of_the_server_is_first() -> None:
    seen = Seen(render_html(docs_of(cases(SMALL))))
    assert seen.texts["title"] == ["dice"]
    assert seen.texts["dt"] == ["Server", "Protocol revision", "Capabilities"]
    assert seen.texts["dd"] == ["dice 1.2", "2025-06-18", "tools: listChanged"]
    assert seen.texts["blockquote"] == ["What the server says about how to use itRoll fairly."]


def test_every_link_leads_to_something_on_the_page() -> None:
    both = docs_of(cases(SMALL, "a_test.yaml"), cases(SMALL_CASE, "b_test.yaml"))
    seen = Seen(render_html(both))
    ids = seen.values("id")
    assert len(ids) == len(set(ids))
    assert {target.removeprefix("#") for target in seen.values("href")} == set(ids)


def test_a_required_argument_is_marked_and_an_empty_column_left_out() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}
    seen = Seen(render_html(docs_of_tool(inputSchema=schema)))
    assert seen.texts["th"] == ["name", "type", "a required", "b"]
    assert seen.texts["td"] == ["string", "any"]


def test_a_long_message_begins_closed_and_a_short_one_open() -> None:
    text = 'in: {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"a": [%s]}}'
    long = render_html(docs_of(cases(text % ", ".join(['"' + "x" * 70 + '"'] * 50))))
    assert "<details><summary>59 lines</summary><pre>" in long
    assert "<details" not in render_html(docs_of(cases(text % "1, 2")))


# Hostile texts


def assert_harmless(page: str) -> Seen:
    seen = Seen(page)
    assert seen.tags <= TAGS
    assert {name for name, _ in seen.attributes} <= ATTRIBUTES
    assert all(re.fullmatch(r"#[\w-]+", target) for target in seen.values("href"))
    assert all(re.fullmatch(r"[\w-]+", each) for each in seen.values("id"))
    assert len(set(seen.values("id"))) == len(seen.values("id"))
    assert page.replace("\n", "").isprintable()
    return seen


@pytest.mark.long
@pytest.mark.slow
@each_case("text", [text for text in HOSTILE if text.strip()])
def test_a_page_full_of_hostile_texts_shows_them(text: str) -> None:
    seen = assert_harmless(render_html(docs_of_texts(text)))
    # Longer ones are shortened with a note.
    if len(text) < 150:
        assert seen.texts["h1"] == [visible(text.strip())]
        assert seen.texts["title"] == [visible(text.strip())]
        assert visible(text) in seen.texts["code"]


@pytest.mark.long
@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hostile_texts)
def test_a_page_full_of_random_hostile_texts_has_no_markup_but_ours(text: str) -> None:
    assert_harmless(render_html(docs_of_texts(text)))
    assert_harmless(render_html(docs_of_texts(text, is_live=False)))
