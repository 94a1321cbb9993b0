"""From what is known of a server to the contents of its docs."""

from __future__ import annotations

from typing import Any

import pytest
from docgen_samples import SMALL, cases, conductor, docs_of, docs_of_tool, server

from mcptest.docgen.build import MAX_FEATURES, build_docs
from mcptest.docgen.model import (
    FeatureDoc,
    ServerDescription,
    html_anchors,
    markdown_anchors,
    split_paragraphs,
)


def test_the_docs_are_called_what_the_server_calls_itself() -> None:
    assert docs_of(cases(SMALL)).title == "dice"
    titled = ServerDescription(
        source="the server", info={"name": "a", "title": "A"}, capabilities={}, features={}
    )
    assert build_docs(titled, ()).title == "A"


@pytest.mark.parametrize(
    ("file", "title"),
    [("dice_test.yaml", "dice"), ("dice.cases.yml", "dice"), ("dice.yaml", "dice.yaml")],
)
def test_docs_without_a_server_are_called_like_its_file(file: str, title: str) -> None:
    text = 'in: {"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert docs_of(cases(text, file)).title == title


def test_docs_of_several_files_without_a_name_are_called_something() -> None:
    text = 'in: {"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert docs_of(cases(text, "a_test.yaml"), cases(text, "b_test.yaml")).title == "MCP server"


def test_the_overview_counts_everything() -> None:
    assert docs_of(cases(SMALL)).overview == (
        "The server offers 2 tools. 3 dialogues show how it is used."
    )
    several = server(tools=[{"name": "a"}], prompts=[{"name": "p"}], resources=[{"uri": "u"}])
    assert build_docs(several, ()).overview == (
        "The server offers 1 tool, 1 resource and 1 prompt."
    )
    text = 'in: {"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert docs_of(cases(text)).overview == "It names no offers. 1 dialogue shows how it is used."


def test_a_live_server_says_what_is_offered_and_the_cases_how_it_is_used() -> None:
    docs = build_docs(server(tools=[{"name": "roll"}, {"name": "extra"}]), [cases(SMALL)])
    assert docs.title == "live"
    assert [(feature.name, feature.note, feature.cases) for feature in docs.features] == [
        ("roll", "", (2,)),
        ("extra", "", ()),
        (
            "undo",
            "Not described by the server: what is known of this tool is how it is used.",
            (2,),
        ),
    ]


def test_a_dialogue_and_its_features_know_each_other() -> None:
    docs = docs_of(cases(SMALL))
    assert [case.features for case in docs.cases] == [(), (), (0, 1)]
    assert [feature.cases for feature in docs.features] == [(2,), (2,)]


def test_an_address_that_fits_a_template_is_a_use_of_the_template() -> None:
    text = """
in: {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "note://paris"}}
"""
    listed = server(
        resourceTemplates=[{"uriTemplate": "note://{city}"}, {"uriTemplate": "x://{y}"}]
    )
    docs = build_docs(listed, [cases(text)])
    assert [(feature.name, feature.cases) for feature in docs.features] == [
        ("note://{city}", (0,)),
        ("x://{y}", ()),
    ]


def test_reading_a_listed_address_does_not_use_a_template() -> None:
    text = """
in: {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "note://paris"}}
"""
    listed = server(
        resources=[{"uri": "note://paris"}], resourceTemplates=[{"uriTemplate": "note://{city}"}]
    )
    docs = build_docs(listed, [cases(text)])
    assert [feature.cases for feature in docs.features] == [(0,), ()]


def test_features_of_one_name_are_one_and_those_without_are_left_out() -> None:
    tools: list[dict[str, Any]] = [{"name": "a", "title": "first"}, {"name": "a"}, {}, {"name": 5}]
    assert [feature.title for feature in build_docs(server(tools=tools), ()).features] == ["first"]


def test_very_many_features_are_only_counted() -> None:
    tools = [{"name": f"t{number}"} for number in range(MAX_FEATURES + 3)]
    docs = build_docs(server(tools=tools), ())
    assert len(docs.features) == MAX_FEATURES
    assert docs.left_out == (("… 3 more tools",),)


# Features


def tool(**members: Any) -> FeatureDoc:
    return docs_of_tool(**members).features[0]


@pytest.mark.parametrize(
    ("annotations", "hints"),
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
def test_annotations_are_said_in_words(annotations: object, hints: tuple[str, ...]) -> None:
    assert tool(annotations=annotations).hints == hints


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
    (feature,) = build_docs(server(resources=[listed]), ()).features
    assert feature.title == "b"
    assert ["".join(fact) for fact in feature.facts] == [
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
    (feature,) = build_docs(server(prompts=[{"name": "p", "arguments": arguments}]), ()).features
    (table,) = feature.tables
    assert [(row.name, row.required) for row in table.rows] == rows
    assert len(table.notes) == notes


# Messages


def summaries(text: str) -> list[str]:
    (case,) = docs_of(cases(text)).cases
    return ["".join(said.summary) for said in case.messages]


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
    said = docs_of(cases(SMALL)).cases[2].messages
    assert ["".join(note) for each in said for note in each.notes] == [
        "The value at result.id is kept under the name throw.",
        "!!ref throw is replaced by the value kept as throw.",
    ]


def test_the_legend_explains_the_tags_that_are_used_and_no_others() -> None:
    signs = [words[0] for words in docs_of(cases(SMALL)).legend]
    assert signs == ["!!re R", "!!bind NAME", "!!ref NAME"]
    plain = 'in: {"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert docs_of(cases(plain)).legend == ()


def test_patterns_in_words_are_explained_too() -> None:
    text = """
description: d
tests: [{it: a, list: tools, expect: {response: {result: {"match:partial": {a: 1}}}}}]
"""
    assert [words[0] for words in docs_of(conductor(text)).legend] == ["match:…"]


# Anchors


def test_anchors_are_what_github_makes_of_the_headings() -> None:
    tools = [{"name": "read_file"}, {"name": "a://b.c"}, {"name": "Tools"}, {"name": "!?"}]
    docs = build_docs(server(tools=tools, prompts=[{"name": "read_file"}]), ())
    assert markdown_anchors(docs) == {
        ("section", "tools"): "tools",
        ("feature", 0): "read_file",
        ("feature", 1): "abc",
        ("feature", 2): "tools-1",
        ("feature", 3): "",
        ("section", "prompts"): "prompts",
        ("feature", 4): "read_file-1",
    }


def test_on_a_page_of_ours_every_heading_has_an_id_of_its_own() -> None:
    tools = [{"name": "a-b"}, {"name": "a b"}, {"name": "!"}, {"name": "?"}]
    docs = build_docs(server(tools=tools, prompts=[{"name": "a-b"}]), [cases(SMALL)] * 2)
    found = html_anchors(docs)
    assert found["feature", 0] == "tool-a-b"
    assert found["feature", 1] == "tool-a-b-1"
    assert found["case", 1] == "case-list-tools"
    assert found["file", 0] == "file-dice_testyaml"
    assert len(set(found.values())) == len(found)
    assert all(found.values())


# Text of several lines


def test_paragraphs_and_indented_lines_stay_what_they_are() -> None:
    text = "First.\r\n\r\nArgs:\n    a: one\n\tb: two\n- item\n"
    assert split_paragraphs(text) == [
        [(0, "First.")],
        [(0, "Args:"), (4, "a: one"), (4, "b: two"), (0, "- item")],
    ]


def test_lines_that_were_only_full_are_one_again() -> None:
    long = "a word " * 10
    assert split_paragraphs(f"{long}\nand on.\nNext.") == [
        [(0, f"{long.strip()} and on."), (0, "Next.")]
    ]
    assert split_paragraphs(f"{long}\n- item") == [[(0, long.strip()), (0, "- item")]]
    assert split_paragraphs(f"{long}\n    in") == [[(0, long.strip()), (4, "in")]]


def test_invisible_characters_are_written_as_escapes() -> None:
    assert split_paragraphs("a\x1b[31m\u202eb\x85c") == [[(0, "a\\u001b[31m\\u202eb\\u0085c")]]
    assert split_paragraphs(" \n\n ") == []
