"""A docs as Markdown: what is on it, and that no text from outside becomes markup."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from case_tables import each_case
from docgen_samples import SMALL, cases, docs_of, docs_of_texts, docs_of_tool
from hostile_texts import HOSTILE, hostile_texts
from hypothesis import HealthCheck, given, settings
from markdown_it import MarkdownIt

from mcptest.core.text import defuse_markers, visible
from mcptest.docgen.markdown import (
    escape_cell,
    escape_line,
    escape_paragraphs,
    render_inline,
    render_markdown,
)
from mcptest.docgen.model import Code
from mcptest.reporters.markdown import fenced, render_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

SECTIONS = ("Tools", "Resources", "Resource templates", "Prompts", "Dialogues")
# Those of which anything is left when the room around them is gone.
SAMPLES = [text for text in HOSTILE if text.strip()]

TWO_CASES = """
case: List tools
# Which are there?
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
out: {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "roll", "title": "Roll a die",
  "description": "Rolls *one* die.", "annotations": {"readOnlyHint": true},
  "inputSchema": {"type": "object", "required": ["sides"], "properties": {
    "sides": {"type": "integer", "minimum": 2, "description": "how | many"}}}}]}}
---
# It may land anywhere.
case: Roll <b>
_tags: [luck]
_skip: the die is lost
_description: Once.
_strict: true
in: {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
  "params": {"name": "roll", "arguments": {"sides": 6}}}
out: {"jsonrpc": "2.0", "id": 3, "result": {"id": !!bind throw, "text": !!re "^[1-6]$"}}
"""

TWO_CASES_AS_MARKDOWN = """\
# dice

The server offers 1 tool. 2 dialogues show how it is used.

## Contents

- [Tools](#tools)
  - [`roll`](#roll)
- [Dialogues](#dialogues)
  - [List tools](#list-tools)
  - [Roll &lt;b&gt;](#roll-b)

## Tools

### `roll`

**Roll a die** · *read-only*

Rolls \\*one\\* die.

Arguments:

| name | type | required | rules | description |
| --- | --- | --- | --- | --- |
| `sides` | integer | yes | at least `2` | how \\| many |

Used in: [Roll &lt;b&gt;](#roll-b)

## Dialogues

Messages hold these signs where a value is not always the same:

- `!!re R`: A string in which the regular expression R is found.
- `!!bind NAME`: Any value; it is kept under NAME, for `!!ref` further down in the file.

### List tools

**client → server** · request `tools/list`

Which are there?

```json
{ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }
```

**server → client** · answer to `tools/list`

```json
{
  "jsonrpc": "2.0",
  "id": 1,
  "result": {
    "tools": [
      {
        "name": "roll",
        "title": "Roll a die",
        "description": "Rolls *one* die.",
        "annotations": { "readOnlyHint": true },
        "inputSchema": {
          "type": "object",
          "required": ["sides"],
          "properties": {
            "sides": {
              "type": "integer",
              "minimum": 2,
              "description": "how | many"
            }
          }
        }
      }
    ]
  }
}
```

### Roll &lt;b&gt;

**Skipped**: the die is lost

It may land anywhere.

Once.

- Tags: `luck`
- Uses: [`roll`](#roll)
- Strict: no other message may come in between.

**client → server** · request `tools/call` `roll`

```json
{
  "jsonrpc": "2.0",
  "id": 3,
  "method": "tools/call",
  "params": { "name": "roll", "arguments": { "sides": 6 } }
}
```

**server → client** · answer to `tools/call` `roll`

```yaml
{
  "jsonrpc": "2.0",
  "id": 3,
  "result": { "id": !!bind throw, "text": !!re "^[1-6]$" }
}
```

- The value at `result.id` is kept under the name `throw`.
"""


def test_a_small_contract_as_markdown() -> None:
    assert render_markdown(docs_of(cases(TWO_CASES))) == TWO_CASES_AS_MARKDOWN


def test_the_description_of_the_server_is_first() -> None:
    text = render_markdown(docs_of(cases(SMALL)))
    assert text.startswith(
        "# dice\n\n"
        "The server offers 2 tools. 3 dialogues show how it is used.\n\n"
        "- Server: `dice 1.2`\n"
        "- Protocol revision: `2025-06-18`\n\n"
        "Capabilities:\n\n"
        "- `tools`: `listChanged`\n\n"
        "What the server says about how to use it:\n\n"
        "> Roll fairly.\n\n"
        "## Contents\n"
    )


def test_dialogues_of_several_files_are_under_the_names_of_the_files() -> None:
    both = docs_of(cases(SMALL, "a_test.yaml"), cases(TWO_CASES, "b_test.yaml"))
    headings = re.findall("^#{2,4} .*", render_markdown(both).partition("## Dialogues")[2], re.M)
    assert headings == [
        "### a\\_test.yaml",
        "#### Hello",
        "#### List tools",
        "#### Roll",
        "### b\\_test.yaml",
        "#### List tools",
        "#### Roll &lt;b&gt;",
    ]
    assert "[List tools](#list-tools-1)" in render_markdown(both)


def test_the_same_input_gives_the_same_bytes() -> None:
    assert render_markdown(docs_of(cases(SMALL))) == render_markdown(docs_of(cases(SMALL)))


# Pieces


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def inner(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def shown(token: Token) -> str:
    """What a reader sees of a paragraph, a heading or a cell."""
    parts = {"softbreak": " ", "hardbreak": "\n"}
    return "".join(parts.get(each.type, each.content) for each in token.children or ())


def collapsed(text: str) -> str:
    return " ".join(word for word in visible(text).split(" ") if word)


@each_case("text", SAMPLES)
def test_a_text_is_a_paragraph_that_says_just_this(text: str) -> None:
    opening, content, closing = parsed(escape_line(text))
    assert (opening.type, closing.type) == ("paragraph_open", "paragraph_close")
    assert shown(content) == collapsed(text)
    assert {each.type for each in content.children or ()} <= {"text", "code_inline"}


@each_case("text", HOSTILE)
def test_a_text_in_a_cell_stays_in_it(text: str) -> None:
    tokens = parsed(render_table(["a", "b"], [[escape_cell(text), "end"]]))
    cells = [token for token in tokens if token.type == "inline"]
    assert len(cells) == 4
    assert shown(cells[3]) == "end"
    wanted = collapsed(" ".join(text.split()))
    # Backslashes before a bar are doubled in code, where a renderer would eat one.
    assert shown(cells[2]).replace("\\\\|", "\\|") == wanted.replace("\\\\|", "\\|")


@each_case("text", HOSTILE)
def test_a_text_of_several_lines_is_nothing_but_paragraphs(text: str) -> None:
    blocks = "\n\n".join(escape_paragraphs(f"{text}\n{text}\n\n  {text}"))
    kinds = {token.type for token in parsed(blocks)}
    assert kinds <= {"paragraph_open", "inline", "paragraph_close"}
    allowed = {"text", "code_inline", "hardbreak", "softbreak"}
    children = [each for token in parsed(blocks) for each in token.children or ()]
    assert {each.type for each in children} <= allowed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a_b *c* [d](e)", "a\\_b \\*c\\* \\[d\\](e)"),
        ("- item", "\\- item"),
        ("a - b", "a - b"),
        ("12. twelve", "12\\. twelve"),
        ("version 1.2.", "version 1.2."),
        ("see https://example.com/a_b.", "see `https://example.com/a_b.`"),
        ("ask me@example.com now", "ask `me@example.com` now"),
        ("WWW.example.com", "`WWW.example.com`"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("plain words, nothing else!", "plain words, nothing else!"),
    ],
)
def test_only_what_could_be_markup_is_escaped(text: str, wanted: str) -> None:
    assert escape_line(text) == wanted


def test_words_and_code_keep_the_room_between_them() -> None:
    words = ("- at ", Code("a`b"), ": then ", Code("c"), ", ", Code("d"), ".")
    assert render_inline(words) == "\\- at ``a`b``: then `c`, `d`."


def test_a_fence_is_longer_than_any_run_of_backticks_in_it() -> None:
    assert fenced(["a ```` b"], "json") == "`````json\na ```` b\n`````"
    assert fenced(["a"], "json") == "```json\na\n```"


# Whole files of hostile texts


def headings_of(tokens: list[Token]) -> list[tuple[str, str]]:
    pairs = pairwise(tokens)
    return [(one.tag, shown(two)) for one, two in pairs if one.type == "heading_open"]


def assert_harmless(text: str, hostile: str) -> None:
    """The document has our headings, tables and fences, and nothing else of that kind."""
    tokens = parsed(text)
    every = list(inner(tokens))
    kinds = {token.type for token in every}
    assert not kinds & {"html_block", "html_inline", "image", "hr", "code_block", "s_open"}
    targets = [str(token.attrs["href"]) for token in every if token.type == "link_open"]
    assert all(re.fullmatch(r"#[\w%-]+", target) for target in targets)
    names = [collapsed(hostile), collapsed(hostile.strip()), visible(hostile).strip()]
    levels = headings_of(tokens)
    ours = [("h2", name) for name in ("Contents", *SECTIONS)]
    assert [each for each in levels if each in ours] == ours
    others = {defuse_markers(text) for tag, text in levels if (tag, text) not in ours}
    if len(hostile) < 150:
        assert others <= set(map(defuse_markers, names))
    assert len(levels) == 1 + len(ours) + len(SECTIONS) - 1 + 2 + 4
    fences = [token for token in tokens if token.type == "fence"]
    assert {token.info for token in fences} <= {"json", "yaml"}
    assert len(fences) == 4 * 6
    assert sum(token.type == "table_open" for token in tokens) == 3
    assert text.replace("\n", "").isprintable()


@pytest.mark.long
@pytest.mark.slow
@each_case("text", SAMPLES)
def test_a_file_full_of_hostile_texts_has_no_markup_but_ours(text: str) -> None:
    assert_harmless(render_markdown(docs_of_texts(text)), text)


@pytest.mark.long
@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hostile_texts.filter(str.strip))
def test_a_file_full_of_random_hostile_texts_has_no_markup_but_ours(text: str) -> None:
    assert_harmless(render_markdown(docs_of_texts(text)), text)


def test_no_line_can_be_mistaken_for_a_command_to_a_ci_system() -> None:
    text = render_markdown(docs_of_texts("::error::x ##[error]y"))
    assert not re.search(r"^\s*::|##\[", text, re.M)


def test_a_tool_without_anything_is_documented() -> None:
    assert render_markdown(docs_of_tool()).endswith(
        "## Tools\n\n### `t`\n\nArguments: no schema describes them\n"
    )
