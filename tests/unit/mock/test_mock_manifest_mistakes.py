"""Mistakes in a manifest: each with its place, all in one go."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.core.errors import FormatError
from mcptest.matching.registry import builtin_registry
from mcptest.mock.manifest import load_manifest


def mistakes(text: str) -> list[tuple[str, int, str]]:
    with pytest.raises(FormatError) as caught:
        load_manifest(text, "m.yaml", builtin_registry())
    return [(each.code, each.line, each.message) for each in caught.value.diagnostics]


SCHEMA = "inputSchema: {type: object, properties: {who: {}}}"


@each_case(
    ("text", "code", "words"),
    [
        ("- a", "F005", "a manifest must be a mapping and is a list"),
        ("nam: x\ntools: []", "F006", 'a manifest has no key "nam"; did you mean "name"?'),
        ("tools: {a: 1}", "F008", '"tools" must be a list and is a mapping'),
        ("tools: [5]", "F008", "a tool must be a mapping and is a number"),
        ("tools: [{answer: x}]", "F007", 'a tool needs the key "name"'),
        ("tools: [{name: '', answer: x}]", "F009", '"name" is empty'),
        ("tools: [{name: a}]", "F007", "here is none of them"),
        ("tools: [{name: a, answer: x, result: {}}]", "F007", "here is answer and result"),
        ("tools: [{name: a, answer: 5}]", "F008", '"answer" must be text and is a number'),
        ("tools: [{name: a, answer: x, b: 1}]", "F006", 'a tool has no key "b"'),
        ("tools: [{name: a, answer: x}, {name: a, answer: x}]", "F003", 'a tool "a" already'),
        ("tools: [{name: a, answer: x, inputSchema: {}}]", "F009", "has the type object"),
        (
            "tools: [{name: a, answer: x, inputSchema: {type: object, required: 5}}]",
            "F019",
            "is not a schema",
        ),
        ("tools: [{name: a, answer: '${who}'}]", "F009", "${who} cannot be filled in"),
        ("tools: [{name: a, answer: '${args.}'}]", "F009", "${args.} cannot be filled in"),
        (
            f"tools: [{{name: a, answer: '${{args.wo}}', {SCHEMA}}}]",
            "F009",
            "there is no argument wo; did you mean who?",
        ),
        ("tools: [{name: a, result: {content: x}}]", "F008", '"content" must be a list'),
        ("tools: [{name: a, error: {code: 1}}]", "F007", 'an error needs the key "message"'),
        ("tools: [{name: a, error: {code: x, message: m}}]", "F008", '"code" must be a whole'),
        ("tools: [{name: a, answers: []}]", "F011", '"answers" is empty'),
        ("tools: [{name: a, answers: [x]}]", "F008", "an answer must be a mapping"),
        ("tools: [{name: a, answers: [{when: {}}]}]", "F007", "an answer has one of the keys"),
        (
            "tools: [{name: a, answers: [{answer: x}, {answer: y}]}]",
            "F011",
            "those after it never are",
        ),
        (
            "tools: [{name: a, answers: [{when: {b: 'match:containz:x'}, answer: y}]}]",
            "F012",
            'unknown matcher "containz"',
        ),
        ("tools: [{name: a, answer: 'hi ${args.who'}]", "F009", "${args.who is not closed"),
        ("tools: [{name: a, answer: 'hi ${args'}]", "F009", "${args is not closed"),
        ("tools: [{name: a, answer: '${args.a and {x}'}]", "F009", "${args.a is not closed"),
        ("tools: [{name: a, answer: '${args.a ${args.b}'}]", "F009", "${args.a is not closed"),
        ("tools: [{name: a, result: {'${args.a': 1}}]", "F009", "${args.a is not closed"),
        ("prompts: [{name: p, text: '${args.who'}]", "F009", "${args.who is not closed"),
        ("resources: [{uri: a, text: 'b ${args.x} c'}]", "F009", "and ${args.x} cannot be filled"),
        ("resources: [{uri: a, text: '${args}'}]", "F009", "and ${args} cannot be filled"),
        ("resources: [{uri: a, text: '${args.x'}]", "F009", "and ${args.x cannot be filled"),
        ("resources: [{uri: a, json: {b: ['${args.x}']}}]", "F009", "is read without arguments"),
        ("resources: [{text: x}]", "F007", 'a resource needs the key "uri"'),
        ("resources: [{uri: a}]", "F007", "a resource has one of the keys text, blob, json"),
        ("resources: [{uri: a, text: x, json: 1}]", "F007", "here is text and json"),
        ("resources: [{uri: a, blob: '!'}]", "F009", '"blob" must be base64'),
        ("prompts: [{name: p}]", "F007", "a prompt has one of the keys messages, text"),
        ("prompts: [{name: p, text: x, arguments: [a]}]", "F008", "an argument must be a mapping"),
        ("prompts: [{name: p, text: x, arguments: [{nam: a}]}]", "F006", 'did you mean "name"?'),
        (
            "prompts: [{name: p, text: '${args.b}', arguments: [{name: a}]}]",
            "F009",
            "there is no argument b",
        ),
        ("prompts: [{name: p, messages: [{role: me, content: x}]}]", "F008", "user, assistant"),
        ("prompts: [{name: p, messages: [{role: user}]}]", "F007", 'needs the key "content"'),
        ("prompts: [{name: p, messages: [{role: user, content: 5}]}]", "F008", "a mapping"),
        ("prompts: [{name: p, messages: [x]}]", "F008", "a message must be a mapping"),
    ],
)
def test_a_mistake_is_reported_with_its_code(text: str, code: str, words: str) -> None:
    assert any(found[0] == code and words in found[2] for found in mistakes(text)), mistakes(text)


def test_all_mistakes_are_reported_in_the_order_of_the_file() -> None:
    found = mistakes(
        "tools:\n  - {name: a}\nresources:\n  - {uri: b}\nprompts:\n  - {name: c}\nodd: 1\n"
    )
    assert [(code, line) for code, line, _ in found] == [
        ("F007", 2),
        ("F007", 4),
        ("F007", 6),
        ("F006", 7),
    ]


def test_arguments_beside_the_schema_may_be_used_where_it_allows_them() -> None:
    schema = "{type: object, properties: {a: {}}, additionalProperties: true}"
    text = f"tools: [{{name: t, inputSchema: {schema}, answer: '${{args.other}}'}}]"
    manifest, warnings = load_manifest(text, "m.yaml", builtin_registry())
    assert (len(manifest.offers), warnings) == (1, ())


def test_a_mistake_in_a_string_is_reported_once_with_its_place() -> None:
    found = mistakes(
        "tools:\n"
        f"  - name: a\n    {SCHEMA}\n"
        "    result:\n      content:\n        - type: text\n"
        "          text: ${args.who and ${args.b}\n"
        "resources:\n  - uri: a\n    json:\n      b: 1\n      c: ${args.x}\n"
    )
    assert [(code, line) for code, line, _ in found] == [("F009", 7), ("F009", 12)]


@pytest.mark.parametrize(
    "text",
    [
        "${args.$ref} {",
        "{${args.a}}",
        "$${args.a",
        "costs ${ 5",
        "${args.a} ${argsy",
        "a } b ${args.c}",
    ],
)
def test_closed_and_other_braces_are_not_mistakes(text: str) -> None:
    source = f"tools: [{{name: t, answer: '{text}'}}]"
    assert load_manifest(source, "m.yaml", builtin_registry())[1] == ()
