"""From what is known of a server to the contents of its guide."""

from __future__ import annotations

from typing import Any

import pytest
from docgen_samples import SMALL, cases, conductor, guide_of, guide_of_tool, server

from mcptest.docgen.anchors import markdown_anchors, page_anchors
from mcptest.docgen.building import MAX_OFFERS, build_guide
from mcptest.docgen.contents import Described, Offer
from mcptest.docgen.wording import flowed, overview


def test_a_guide_is_called_what_the_server_calls_itself() -> None:
    assert guide_of(cases(SMALL)).title == "dice"
    titled = Described(
        source="the server", info={"name": "a", "title": "A"}, capabilities={}, offers={}
    )
    assert build_guide(titled, ()).title == "A"


@pytest.mark.parametrize(
    ("file", "title"),
    [("dice_test.yaml", "dice"), ("dice.cases.yml", "dice"), ("dice.yaml", "dice.yaml")],
)
def test_a_guide_without_a_server_is_called_like_its_file(file: str, title: str) -> None:
    text = 'in: {"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert guide_of(cases(text, file)).title == title


def test_a_guide_to_several_files_without_a_name_is_called_something() -> None:
    text = 'in: {"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert guide_of(cases(text, "a_test.yaml"), cases(text, "b_test.yaml")).title == "MCP server"


def test_a_title_that_is_given_counts_most() -> None:
    assert guide_of(cases(SMALL), title="My dice").title == "My dice"


def test_the_overview_counts_everything() -> None:
    assert overview(guide_of(cases(SMALL))) == (
        "The server offers 2 tools. 3 dialogues show how it is used."
    )
    several = server(tools=[{"name": "a"}], prompts=[{"name": "p"}], resources=[{"uri": "u"}])
    assert overview(build_guide(several, ())) == (
        "The server offers 1 tool, 1 resource and 1 prompt."
    )
    text = 'in: {"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert overview(guide_of(cases(text))) == "It names no offers. 1 dialogue shows how it is used."


def test_a_live_server_says_what_is_offered_and_the_cases_how_it_is_used() -> None:
    guide = build_guide(server(tools=[{"name": "roll"}, {"name": "extra"}]), [cases(SMALL)])
    assert guide.title == "live"
    assert [(offer.name, offer.note, offer.scenes) for offer in guide.offers] == [
        ("roll", "", (2,)),
        ("extra", "", ()),
        (
            "undo",
            "Not described by the server: what is known of this tool is how it is used.",
            (2,),
        ),
    ]


def test_a_dialogue_and_its_offers_know_each_other() -> None:
    guide = guide_of(cases(SMALL))
    assert [scene.offers for scene in guide.scenes] == [(), (), (0, 1)]
    assert [offer.scenes for offer in guide.offers] == [(2,), (2,)]


def test_an_address_that_fits_a_template_is_a_use_of_the_template() -> None:
    text = """
in: {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "note://paris"}}
"""
    listed = server(
        resourceTemplates=[{"uriTemplate": "note://{city}"}, {"uriTemplate": "x://{y}"}]
    )
    guide = build_guide(listed, [cases(text)])
    assert [(offer.name, offer.scenes) for offer in guide.offers] == [
        ("note://{city}", (0,)),
        ("x://{y}", ()),
    ]


def test_an_address_that_is_listed_is_no_use_of_a_template() -> None:
    text = """
in: {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "note://paris"}}
"""
    listed = server(
        resources=[{"uri": "note://paris"}], resourceTemplates=[{"uriTemplate": "note://{city}"}]
    )
    guide = build_guide(listed, [cases(text)])
    assert [offer.scenes for offer in guide.offers] == [(0,), ()]


def test_offers_of_one_name_are_one_and_those_without_are_left_out() -> None:
    tools: list[dict[str, Any]] = [{"name": "a", "title": "first"}, {"name": "a"}, {}, {"name": 5}]
    assert [offer.title for offer in build_guide(server(tools=tools), ()).offers] == ["first"]


def test_more_offers_than_anybody_reads_are_counted() -> None:
    tools = [{"name": f"t{number}"} for number in range(MAX_OFFERS + 3)]
    guide = build_guide(server(tools=tools), ())
    assert len(guide.offers) == MAX_OFFERS
    assert guide.left_out == (("… 3 more tools",),)


# Offers


def tool(**members: Any) -> Offer:
    return guide_of_tool(**members).offers[0]


@pytest.mark.parametrize(
    ("hints", "marks"),
    [
        ({"readOnlyHint": True}, ("read-only",)),
        ({"readOnlyHint": False, "destructiveHint": False}, ("not read-only", "not destructive")),
        ({"readOnlyHint": True, "destructiveHint": False}, ("read-only",)),
        ({"readOnlyHint": True, "destructiveHint": True}, ("read-only", "destructive")),
        ({"idempotentHint": True, "openWorldHint": True}, ("idempotent", "open world")),
        ({"idempotentHint": False, "openWorldHint": False}, ("not idempotent", "closed world")),
        ({"readOnlyHint": "yes", "other": True}, ()),
        ("odd", ()),
        ({}, ()),
    ],
)
def test_annotations_are_said_in_words(hints: object, marks: tuple[str, ...]) -> None:
    assert tool(annotations=hints).marks == marks


@pytest.mark.parametrize(
    ("members", "title"),
    [
        ({"title": "A tool"}, "A tool"),
        ({"annotations": {"title": "Old style"}}, "Old style"),
        ({"title": "New", "annotations": {"title": "Old"}}, "New"),
        ({"title": "t"}, ""),
        ({"title": 5}, ""),
        ({}, ""),
    ],
)
def test_a_title_is_shown_where_it_is_not_just_the_name(
    members: dict[str, Any], title: str
) -> None:
    assert tool(**members).title == title


def test_a_tool_without_a_schema_says_so() -> None:
    (table,) = tool().tables
    assert (table.rows, table.notes) == ((), (("no schema describes them",),))


def test_a_resource_has_its_facts() -> None:
    about = {"audience": ["user"], "priority": 0.5}
    listed = {
        "uri": "a://b",
        "name": "b",
        "mimeType": "text/plain",
        "size": 5,
        "annotations": about,
    }
    (offer,) = build_guide(server(resources=[listed]), ()).offers
    assert offer.title == "b"
    assert ["".join(fact) for fact in offer.facts] == [
        "Type: text/plain",
        "Size in bytes: 5",
        'Meant for: ["user"]',
        "Priority: 0.5",
    ]


@pytest.mark.parametrize(
    ("arguments", "rows", "notes"),
    [
        ([{"name": "a", "required": True}, {"name": "b"}], [("a", "yes"), ("b", "no")], 0),
        ([{}], [("(no name)", "no")], 0),
        ([5, None], [], 1),
        ([], [], 1),
        ("odd", [], 1),
    ],
)
def test_the_arguments_of_a_prompt_are_rows(
    arguments: object, rows: list[tuple[str, str]], notes: int
) -> None:
    (offer,) = build_guide(server(prompts=[{"name": "p", "arguments": arguments}]), ()).offers
    (table,) = offer.tables
    assert [(row.name, row.required) for row in table.rows] == rows
    assert len(table.notes) == notes


# Messages


def summaries(text: str) -> list[str]:
    (scene,) = guide_of(cases(text)).scenes
    return ["".join(said.summary) for said in scene.said]


def test_every_kind_of_message_has_its_gist() -> None:
    text = """
in_1: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}}
out_1: {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}
out_2: {"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage"}
in_2: {"jsonrpc": "2.0", "id": "q", "result": {}}
out_3: {"jsonrpc": "2.0", "id": 1, "result": {"isError": true}}
in_3: [{"jsonrpc": "2.0", "id": 2, "method": "ping"}, {"jsonrpc": "2.0", "id": 3, "method": "x"}]
out_4: {"jsonrpc": "2.0", "id": 2, "result": {}}
out_5: {"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "no"}}
"""
    assert summaries(text) == [
        "request tools/call t",
        "notification notifications/message info",
        "request sampling/createMessage",
        "answer to sampling/createMessage",
        "answer to tools/call t, which says that it failed",
        "batch of 2 messages",
        "answer to ping",
        "error -32601 to x",
    ]


def test_names_that_are_kept_and_used_are_explained() -> None:
    said = guide_of(cases(SMALL)).scenes[2].said
    assert ["".join(note) for each in said for note in each.notes] == [
        "The value at result.id is kept under the name throw.",
        "Where !!ref throw stands, the value kept as throw is used.",
    ]


def test_the_legend_explains_the_tags_that_are_used_and_no_others() -> None:
    signs = [words[0] for words in guide_of(cases(SMALL)).legend]
    assert signs == ["!!re R", "!!bind NAME", "!!ref NAME"]
    plain = 'in: {"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert guide_of(cases(plain)).legend == ()


def test_patterns_in_words_are_explained_too() -> None:
    text = """
description: d
tests: [{it: a, list: tools, expect: {response: {result: {"match:partial": {a: 1}}}}}]
"""
    assert [words[0] for words in guide_of(conductor(text)).legend] == ["match:…"]


# Anchors


def test_anchors_are_what_github_makes_of_the_headings() -> None:
    tools = [{"name": "read_file"}, {"name": "a://b.c"}, {"name": "Tools"}, {"name": "!?"}]
    guide = build_guide(server(tools=tools, prompts=[{"name": "read_file"}]), ())
    assert markdown_anchors(guide) == {
        ("section", "tools"): "tools",
        ("offer", 0): "read_file",
        ("offer", 1): "abc",
        ("offer", 2): "tools-1",
        ("offer", 3): "",
        ("section", "prompts"): "prompts",
        ("offer", 4): "read_file-1",
    }


def test_on_a_page_of_ours_every_heading_has_an_id_of_its_own() -> None:
    tools = [{"name": "a-b"}, {"name": "a b"}, {"name": "!"}, {"name": "?"}]
    guide = build_guide(server(tools=tools, prompts=[{"name": "a-b"}]), [cases(SMALL)] * 2)
    found = page_anchors(guide)
    assert found["offer", 0] == "tool-a-b"
    assert found["offer", 1] == "tool-a-b-1"
    assert found["scene", 1] == "case-list-tools"
    assert found["chapter", 0] == "file-dice_testyaml"
    assert len(set(found.values())) == len(found)
    assert all(found.values())


# Text of several lines


def test_paragraphs_and_indented_lines_stay_what_they_are() -> None:
    text = "First.\r\n\r\nArgs:\n    a: one\n\tb: two\n- item\n"
    assert flowed(text) == [
        [(0, "First.")],
        [(0, "Args:"), (4, "a: one"), (4, "b: two"), (0, "- item")],
    ]


def test_lines_that_were_only_full_are_one_again() -> None:
    long = "a word " * 10
    assert flowed(f"{long}\nand on.\nNext.") == [[(0, f"{long.strip()} and on."), (0, "Next.")]]
    assert flowed(f"{long}\n- item") == [[(0, long.strip()), (0, "- item")]]
    assert flowed(f"{long}\n    in") == [[(0, long.strip()), (4, "in")]]


def test_what_cannot_be_seen_is_written_as_an_escape() -> None:
    assert flowed("a\x1b[31m\u202eb\x85c") == [[(0, "a\\u001b[31m\\u202eb\\u0085c")]]
    assert flowed(" \n\n ") == []
