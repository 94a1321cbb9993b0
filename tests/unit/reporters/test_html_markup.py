"""Text becomes markup in one place, and only there."""

from __future__ import annotations

import html

from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.visible import visible
from mcptest.reporters.html.markup import Markup, cut, element, escaped, joined


def test_text_in_an_element_is_escaped_and_markup_is_not() -> None:
    inner = element("b", "a < b & 'c' \"d\"")
    assert inner == "<b>a &lt; b &amp; &#39;c&#39; &quot;d&quot;</b>"
    assert element("p", inner, "<i>") == f"<p>{inner}&lt;i&gt;</p>"


def test_markup_that_was_put_into_a_plain_text_is_text_again() -> None:
    assert element("p", f"{Markup('<b>')}") == "<p>&lt;b&gt;</p>"


def test_attributes_are_quoted_named_as_html_names_them_and_left_out_when_false() -> None:
    made = element("a", class_="x", aria_label='"><script>', hidden=True, open=False, tabindex=0)
    expected = '<a class="x" aria-label="&quot;&gt;&lt;script&gt;" hidden tabindex="0"></a>'
    assert made == expected


def test_an_element_that_has_no_end_is_written_without() -> None:
    assert element("input", type="search") == '<input type="search">'


def test_parts_are_joined_with_what_stands_between_them() -> None:
    assert joined([Markup("<b>"), "<"], ", ") == "<b>, &lt;"


def test_long_text_is_cut_in_the_middle() -> None:
    assert cut("a" * 50 + "b" * 50, 40) == "a" * 19 + " …72 more… " + "b" * 9


@given(st.text(st.characters() | st.sampled_from("<>&\"'#:[")))
def test_a_reader_sees_the_text_that_was_escaped(text: str) -> None:
    made = escaped(text)
    assert html.unescape(made) == visible(text)
    assert not set(made) & set("<>\"'")
    assert "##" not in made
    assert "::" not in made
