"""Tests to migrate, each with answers of a server: the first one is right, all others are wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

SCHEMA = {"type": "object", "required": ["city"]}


class Sample(NamedTuple):
    """A test of a Conductor file without its name, and what the server answers."""

    name: str
    test: dict[str, Any]
    answers: list[dict[str, Any]]


def said(text: object, **more: object) -> dict[str, Any]:
    """A result with one text in it."""
    return {"result": {"content": [{"type": "text", "text": text}], "isError": False, **more}}


def wanted(text: object, **more: object) -> dict[str, Any]:
    return {"response": said(text, **more)}


def partly(value: object) -> dict[str, Any]:
    return {"response": {"match:partial": {"result": value}}}


def structured(value: object) -> dict[str, Any]:
    return {"result": {"content": [], "structuredContent": value}}


def wrote(stderr: str) -> dict[str, Any]:
    return {**said("ok"), "stderr": stderr}


def notified(*methods: str) -> dict[str, Any]:
    messages = [{"method": method, "params": {"level": "info"}} for method in methods]
    return {**said("ok"), "notify": messages}


LOG, PROGRESS = "notifications/message", "notifications/progress"

# What is expected of one tool, by name; its answers: right, and wrong in one way after another.
TOOLS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "a whole result": (wanted("Hello"), [said("Hello"), said("Hallo"), said("Hello", more=1)]),
    "a text that varies": (
        wanted("match:regex:^v\\d+$"),
        [said("v12"), said("v12 "), said("v12", more=1)],
    ),
    "a search": (wanted("match:File not found"), [said("File not found: a"), said("File found")]),
    "part of a result": (
        partly({"content": [{"text": "match:contains:sun"}]}),
        [said("sunny"), said("rain"), {"error": {"code": 1, "message": "sun"}}],
    ),
    "a word that must not come": (
        partly({"content": [{"text": "match:not:contains:secret"}]}),
        [said("sunny"), said("a secret"), {"result": {"content": [{"type": "image"}]}}],
    ),
    "a key that must not come": (
        {"response": {"result": {"content": [], "_meta": "match:not:exists"}}},
        [
            {"result": {"content": []}},
            {"result": {"content": [], "_meta": {}}},
            {"result": {"content": [], "more": 1}},
        ],
    ),
    "one of several": (
        partly({"structuredContent": {"size": {"match:any": ["S", "M", None]}}}),
        [structured({"size": None}), structured({"size": "L"}), structured({})],
    ),
    "several at once": (
        partly({"content": [{"text": {"match:all": ["match:startsWith:a", "match:endsWith:z"]}}]}),
        [said("a to z"), said("a to y"), said("b to z")],
    ),
    "one that may be absent": (
        partly({"structuredContent": {"a": {"match:any": ["match:not:exists", "match:length:2"]}}}),
        [structured({}), structured({"a": "abc"}), {"result": {}}],
    ),
    "every element": (
        partly({"content": {"match:arrayElements": {"type": "text", "text": "match:type:string"}}}),
        [said("a"), said(1), {"result": {"content": [{"type": "text", "text": "a", "b": 1}]}}],
    ),
    "some element": (
        partly({"content": {"match:anyElement": {"match:partial": {"text": "b"}}}}),
        [said("b"), said("a"), {"result": {"content": []}}],
    ),
    "fields pulled out": (
        {
            "response": {
                "result": {"match:extractField": "content.*.text", "value": ["a", "b"]},
            }
        },
        [
            {"result": {"content": [{"text": "a"}, {"text": "b"}]}},
            {"result": {"content": [{"text": "a"}]}},
            {"result": {"content": {}}},
        ],
    ),
    "two fields": (
        partly({"structuredContent": {"match:crossField": "start < end"}}),
        [structured({"start": 1, "end": 2}), structured({"start": 2, "end": 1}), structured({})],
    ),
    "numbers": (
        partly({"structuredContent": {"n": "match:between:1:2.5", "m": "match:greaterThan:0"}}),
        [structured({"n": 2.5, "m": "1"}), structured({"n": 3, "m": 1}), structured({"n": 2})],
    ),
    "a date": (
        partly({"structuredContent": {"at": "match:dateAfter:2025-01-01"}}),
        [structured({"at": "2026-01-01"}), structured({"at": "2024-01-01"}), structured({})],
    ),
    "a schema": (
        partly({"structuredContent": "match:jsonSchema:city.json"}),
        [structured({"city": "Oslo"}), structured({"town": "Oslo"}), {"result": {}}],
    ),
    "a text that looks like a reference": (
        wanted("costs ${price}, or $${price}"),
        [said("costs ${price}, or $${price}"), said("costs $${price}, or $${price}")],
    ),
    "an error": (
        {"response": {"error": {"code": -32602, "message": "match:contains:99"}}},
        [
            {"error": {"code": -32602, "message": "no 99"}},
            {"error": {"code": -32602, "message": "no 98"}},
            {"error": {"code": -32602, "message": "no 99", "data": 1}},
        ],
    ),
    "nothing on stderr": (
        {**wanted("ok"), "stderr": "toBeEmpty"},
        [wrote(" \n"), wrote("oops\n"), said("no")],
    ),
    "a text on stderr": (
        {"stderr": "two (2) words"},
        [wrote("\n two (2) words \n"), wrote("two words\n"), wrote("more than two (2) words\n")],
    ),
    "a pattern on stderr": (
        {"stderr": "match:regex:^ready on \\d+$"},
        [wrote("ready on 80\n"), wrote("not ready on 80\n"), wrote("ready on 80, almost\n")],
    ),
    # A missing notification is waited for, so there is only one of these.
    "two notifications in order": (
        {"notifications": [LOG, PROGRESS]},
        [notified(LOG, LOG, PROGRESS), notified(PROGRESS, LOG)],
    ),
    "an answer in time": (
        {"performance": {"maxResponseTime": "1s"}},
        [said("ok"), {**said("ok"), "wait_s": 1.2}, {"error": {"code": 1, "message": "no"}}],
    ),
    "an answer that takes its time": (
        {**wanted("ok"), "performance": {"minResponseTime": 20}},
        [{**said("ok"), "wait_s": 0.05}, said("ok")],
    ),
}


def samples() -> list[Sample]:
    """All tests: of tools, raw and in short, of resources and of prompts."""
    found = [
        Sample(name, {"tool": name, "expect": expect}, answers)
        for name, (expect, answers) in TOOLS.items()
    ]
    raw = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    call = {**raw, "params": {"name": "raw", "arguments": {"a": 1}}}
    response = {"jsonrpc": "2.0", "id": 7, "result": {"content": "match:empty"}}
    answers: list[dict[str, Any]] = [{"result": {"content": []}}, {"result": {"content": [1]}}]
    found.append(Sample("raw", {"request": call, "expect": {"response": response}}, answers))
    contents: dict[str, Any] = {"result": {"contents": [{"uri": "memo://a", "text": "x"}]}}
    other: dict[str, Any] = {"result": {"contents": []}}
    test = {"resource": "memo://a", "expect": {"response": contents}}
    found.append(Sample("a resource", test, [contents, other]))
    messages = {"messages": [{"role": "match:type:string"}]}
    prompt = {"prompt": "greet", "arguments": {"who": "Ada"}, "expect": partly(messages)}
    roles = [{"result": {"messages": [{"role": role}]}} for role in ("user", 1)]
    found.append(Sample("a prompt", prompt, roles))
    return found


# What a contract expects of a tool, as YAML; its answers: right, and wrong in one way or another.
CASES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "objects may have more": ('{"content": []}', [structured(1), {"result": {"content": [1]}}]),
    "arrays may not": (
        '{"content": [{"type": "text"}]}',
        [
            said("a"),
            {"result": {"content": [{"type": "text"}, {}]}},
            {"error": {"code": 1, "message": ""}},
        ],
    ),
    "deep arrays": (
        '{"structuredContent": {"deep": [[1, {"a": []}]]}}',
        [
            structured({"deep": [[1, {"a": [], "b": 2}]]}),
            structured({"deep": [[1, {"a": [1]}]]}),
            structured({"deep": [[1, {"a": []}, 2]]}),
        ],
    ),
    "an expression": (
        '{"content": [{"text": !!re "^v[0-9]"}]}',
        [said("v12"), said("12"), said(["v12"])],
    ),
    "a text with expressions": (
        '{"content": [{"text": !!ere \'port /[0-9]+/ (tcp)\'}]}',
        [said("port 80 (tcp)"), said("port 80 tcp"), said("the port 80 (tcp)")],
    ),
    "anything": (
        '{"structuredContent": !!any }',
        [structured(None), {"result": {"content": []}}],
    ),
    "a type": (
        '{"structuredContent": {"n": !!type integer}}',
        [structured({"n": 5.0}), structured({"n": 5.5}), structured({"n": "5"})],
    ),
    "an error of a contract": (
        '{"code": -1, "message": !!type string}',
        [
            {"error": {"code": -1, "message": "m", "data": 1}},
            {"error": {"code": -2, "message": ""}},
        ],
    ),
}


def contract() -> str:
    """The same as a case file; ids count up."""
    documents = []
    for id, (name, (wish, _)) in enumerate(CASES.items()):
        root = "error" if "error" in name else "result"
        call = f'{{"jsonrpc": "2.0", "id": {id}, "method": "tools/call"'
        call += f', "params": {{"name": "{name}", "arguments": {{}}}}}}'
        answer = f'{{"jsonrpc": "2.0", "id": {id}, "{root}": {wish}}}'
        documents.append(f"case: {name}\nin: {call}\nout: {answer}\n")
    return "---\n".join(documents)
