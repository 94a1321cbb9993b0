"""Structured output against the schema that a tool itself declares, and schemas that are none."""

from __future__ import annotations

import json
import os
import re
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mcptest.core.errors import ServerError
from mcptest.core.plan import ClientSpec, HttpSpec, ServerSpec, Step
from mcptest.core.results import Fault, Mismatch
from mcptest.core.value_class import ABSENT
from mcptest.engine.connection import Findings
from mcptest.engine.output_schemas import OutputSchemas
from mcptest.engine.pool import MAX_TOOL_PAGES
from mcptest.engine.server import Launcher, Reply, Server
from mcptest.transport.process.child import Guardian, NoGuardian
from mcptest.transport.process.signals import Interrupts

SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
NO_VALIDATOR_NEEDED = {**SUM, "description": "only what nearly every schema is made of"}
UNCHECKED = "answers of tools are not held against their outputSchema:"
NEEDS_VALIDATOR = {**SUM, "minProperties": 1}


class FakeServer:
    """Answers tools/list with these pages, and counts how often it is asked."""

    def __init__(self, *pages: object, name: str = "a", **spec: Any) -> None:
        self.spec = ServerSpec(name=name, command=("x",), **spec)
        self.findings = Findings(name)
        self.is_usable = True
        self.connection = SimpleNamespace(inbox=SimpleNamespace(tool_changes=0))
        # A schema that refers to something is tried in a process of its own.
        self.launcher = Launcher(guardian=cast(Guardian, NoGuardian()), interrupts=Interrupts())
        self._pages = pages
        self.capabilities: object = {"tools": {}}
        self.asked: list[tuple[str, object]] = []
        self.ids: set[str] = set()

    def perform(self, step: Step, timeout_s: float) -> Reply:
        message = json.loads(step.line)
        self.asked.append((message["method"], message["params"]))
        self.ids.add(message["id"])
        page = self._pages[min(len(self.asked), len(self._pages)) - 1]
        if isinstance(page, Fault):
            self.is_usable = page.kind != "exited_during_call"
            raise ServerError(page)
        return Reply(message=page, elapsed_s=0.1, stderr="")


def page(*tools: object, **more: object) -> dict[str, object]:
    return {"result": {"tools": list(tools), **more}}


def tool(name: str = "add", **schemas: object) -> dict[str, object]:
    return {"name": name, "inputSchema": {"type": "object"}, **schemas}


def reply_with(**result: object) -> Reply:
    return Reply(message={"id": 1, "result": {"content": [], **result}}, elapsed_s=0.1, stderr="")


def judged(
    server: FakeServer, reply: Reply, name: str = "add", outputs: OutputSchemas | None = None
) -> tuple[Mismatch, ...]:
    return (outputs or OutputSchemas()).judge(cast(Server, server), name, reply)


def found_by(server: FakeServer) -> list[tuple[str, str]]:
    return [(finding.kind, finding.message) for finding in server.findings]


# Outputs


@pytest.mark.parametrize("schema", [SUM, NO_VALIDATOR_NEEDED, NEEDS_VALIDATOR, {}, True])
def test_output_that_is_valid_is_silent(schema: object) -> None:
    server = FakeServer(page(tool(outputSchema=schema)))
    assert judged(server, reply_with(structuredContent={"sum": 5})) == ()
    assert list(server.findings) == []


@pytest.mark.parametrize("schema", [SUM, NEEDS_VALIDATOR])
def test_output_that_is_not_valid_is_a_mismatch_that_says_why(schema: object) -> None:
    value = {"sum": "five"}
    [found] = judged(
        FakeServer(page(tool(outputSchema=schema))), reply_with(structuredContent=value)
    )
    assert found == Mismatch(
        path="result.structuredContent",
        expected="what outputSchema says",
        actual=value,
        message="does not meet the tool's own outputSchema: it is not valid: "
        'sum: "five" is not of type "integer"',
        is_described=True,
    )


@pytest.mark.parametrize(
    ("value", "is_right"), [("2024-05-01T10:00:00Z", True), ("soon", False), (5, False)]
)
def test_formats_are_checked_however_simple_the_schema_is(value: object, is_right: bool) -> None:
    text = {"type": "string", "format": "date-time"}
    schema = {"type": "object", "properties": {"when": text}}
    server = FakeServer(page(tool(outputSchema=schema)))
    assert (judged(server, reply_with(structuredContent={"when": value})) == ()) == is_right


def test_output_that_is_missing_is_a_mismatch() -> None:
    [found] = judged(FakeServer(page(tool(outputSchema=SUM))), reply_with())
    assert (found.path, found.actual) == ("result.structuredContent", ABSENT)
    assert found.message == (
        "is missing: the tool declares an outputSchema, so it must answer with it"
    )


def test_null_is_an_output_and_a_wrong_one() -> None:
    [found] = judged(FakeServer(page(tool(outputSchema=SUM))), reply_with(structuredContent=None))
    assert found.actual is None


@pytest.mark.parametrize(
    "reply",
    [
        reply_with(isError=True),
        reply_with(isError=True, structuredContent={"sum": "five"}),
        Reply(message={"id": 1, "error": {"code": 1}}, elapsed_s=0.1, stderr=""),
        Reply(message={"id": 1, "result": []}, elapsed_s=0.1, stderr=""),
        Reply(message=ABSENT, elapsed_s=0.1, stderr=""),
    ],
)
def test_an_answer_that_is_an_error_needs_no_output(reply: Reply) -> None:
    assert judged(FakeServer(page(tool(outputSchema=SUM))), reply) == ()


def test_a_tool_without_a_schema_and_one_that_is_not_listed_may_answer_anything() -> None:
    server = FakeServer(page(tool(), tool("other", outputSchema=SUM)))
    for name in ("add", "unheard of"):
        assert judged(server, reply_with(structuredContent={"sum": "five"}), name) == ()


# Schemas


@pytest.mark.parametrize(
    ("schemas", "key", "why"),
    [
        ({"inputSchema": {"type": "objekt"}}, "inputSchema", "it is not a schema: type: "),
        ({"inputSchema": "none"}, "inputSchema", "it is not a schema: a schema is an object"),
        ({"inputSchema": None}, "inputSchema", "it is not a schema: a schema is an object"),
        ({"outputSchema": {"type": 5}}, "outputSchema", "it is not a schema: type: "),
        ({"outputSchema": [1]}, "outputSchema", "it is not a schema: a schema is an object"),
        (
            {"outputSchema": {"$ref": "http://127.0.0.1:9/x.json"}},
            "outputSchema",
            "it refers to http://127.0.0.1:9/x.json; nothing is fetched, so put what it needs "
            "under $defs",
        ),
        (
            {"outputSchema": {"$ref": "file:///etc/passwd"}},
            "outputSchema",
            "it refers to file:///etc/passwd; nothing is fetched, so put what it needs under $defs",
        ),
        ({"outputSchema": {"pattern": "("}}, "outputSchema", "it is not a schema: pattern: "),
        ({"inputSchema": {"const": "\ud800"}}, "inputSchema", "it is not a schema: "),
    ],
)
def test_a_schema_that_is_none_is_a_finding_and_fails_the_test_that_calls_its_tool(
    schemas: dict[str, object], key: str, why: str
) -> None:
    server = FakeServer(page(tool() | schemas, tool("fine")))
    lead = "is not a JSON Schema that can be used: "
    outputs = OutputSchemas()
    [found] = judged(server, reply_with(structuredContent={}), "add", outputs)
    assert (found.path, found.expected) == (f"tools/list add.{key}", "a JSON Schema")
    assert found.message.startswith(lead + why)
    # A test that calls another tool does not fail, but the finding is there.
    assert judged(server, reply_with(), "fine", outputs) == ()
    [finding] = server.findings
    assert (finding.kind, finding.count) == ("bad_schema", 1)
    assert finding.message.startswith(f"the {key} of the tool add {lead}{why}")


def test_both_schemas_of_a_tool_can_be_wrong() -> None:
    server = FakeServer(page(tool(inputSchema=5, outputSchema=5)))
    paths = [each.path for each in judged(server, reply_with())]
    assert paths == ["tools/list add.inputSchema", "tools/list add.outputSchema"]
    assert [finding.kind for finding in server.findings] == ["bad_schema", "bad_schema"]


def test_a_name_from_a_server_is_made_visible() -> None:
    server = FakeServer(page(tool("\x1b[31m", inputSchema=5)))
    judged(server, reply_with())
    [finding] = server.findings
    assert "\x1b" not in finding.message
    assert "\\u001b" in finding.message


# Asking


def test_a_server_is_asked_once_for_all_pages_and_another_one_as_well() -> None:
    outputs = OutputSchemas()
    first = FakeServer(page(tool("x"), nextCursor="two"), page(tool(outputSchema=SUM)))
    for _ in range(3):
        assert len(judged(first, reply_with(), "add", outputs)) == 1
    assert first.asked == [("tools/list", {}), ("tools/list", {"cursor": "two"})]
    # The same name in another file can be another server.
    for other in (FakeServer(page(tool()), name="b"), FakeServer(page(tool()), cwd="/elsewhere")):
        assert judged(other, reply_with(), "add", outputs) == ()
        assert len(other.asked) == 1


def test_the_next_process_of_a_server_is_not_asked_again() -> None:
    outputs = OutputSchemas()
    judged(FakeServer(page(tool(outputSchema=SUM))), reply_with(), "add", outputs)
    again = FakeServer(page(tool()))
    assert len(judged(again, reply_with(), "add", outputs)) == 1
    assert again.asked == []


def test_a_server_that_ends_over_the_question_is_asked_again_in_its_next_process() -> None:
    outputs = OutputSchemas()
    gone = FakeServer(Fault(kind="exited_during_call", message="gone"))
    assert judged(gone, reply_with(), "add", outputs) == ()
    assert found_by(gone) == [("unclean_end", "gone"), ("unchecked_output", f"{UNCHECKED} gone")]
    assert len(judged(FakeServer(page(tool(outputSchema=SUM))), reply_with(), "add", outputs)) == 1


@pytest.mark.parametrize("capabilities", [{}, None, {"resources": {}}, []])
def test_a_server_that_does_not_say_that_it_has_tools_is_not_asked(capabilities: object) -> None:
    server = FakeServer(page(tool(outputSchema=SUM)))
    server.capabilities = capabilities
    assert (judged(server, reply_with()), server.asked) == ((), [])
    assert found_by(server) == [
        ("unchecked_output", f"{UNCHECKED} the server does not declare tools")
    ]


def test_without_an_answer_to_check_it_need_not_say_that_it_has_tools() -> None:
    server = FakeServer(page())
    server.capabilities = {}
    assert (judged(server, reply_with(isError=True)), found_by(server)) == ((), [])


@pytest.mark.parametrize(
    ("kind", "kinds"),
    [("malformed_line", ["malformed_line", "unchecked_output"]), ("timeout", ["unchecked_output"])],
)
def test_a_fault_while_the_tools_are_listed_is_a_finding(kind: str, kinds: list[str]) -> None:
    server = FakeServer(Fault(kind=kind, message="that was no JSON"))
    assert judged(server, reply_with()) == ()
    assert [finding.kind for finding in server.findings] == kinds


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            {"error": {"code": -32601, "message": "n\x1bo"}},
            'the server refused tools/list: code -32601, "n\\u001bo"',
        ),
        ({"result": None}, 'the result of tools/list has no array "tools": null'),
        ({"result": {"tools": 5}}, 'the result of tools/list has no array "tools": {"tools":5}'),
        (page(nextCursor="again"), 'tools/list goes in a circle: a cursor came twice: "again"'),
        (page(nextCursor=5), "the nextCursor of tools/list is not a string: 5"),
    ],
)
def test_an_answer_that_could_not_be_checked_is_a_finding_that_says_why(
    answer: object, why: str
) -> None:
    server, outputs = FakeServer(answer), OutputSchemas()
    for _ in range(2):
        assert judged(server, reply_with(), "add", outputs) == ()
    [found] = server.findings
    assert (found.kind, found.server, found.count) == ("unchecked_output", "a", 2)
    assert found.message == f"{UNCHECKED} {why}"


def test_a_list_that_never_ends_is_read_to_a_bound() -> None:
    server = FakeServer(*(page(nextCursor=str(number)) for number in range(2 * MAX_TOOL_PAGES)))
    assert judged(server, reply_with()) == ()
    assert len(server.asked) == MAX_TOOL_PAGES
    why = f"tools/list does not end (pages read: {MAX_TOOL_PAGES}, entries: 0)"
    assert found_by(server) == [("unchecked_output", f"{UNCHECKED} {why}")]


@pytest.mark.parametrize(
    "reply",
    [
        reply_with(isError=True),
        Reply(message={"id": 1, "error": {"code": 1}}, elapsed_s=0.1, stderr=""),
    ],
)
def test_an_answer_that_needs_no_check_is_not_reported(reply: Reply) -> None:
    server = FakeServer({"error": {"code": -32601, "message": "no"}})
    assert judged(server, reply) == ()
    assert found_by(server) == []


def test_a_tool_that_was_read_is_checked_although_the_list_breaks_off() -> None:
    server = FakeServer(page(tool(outputSchema=SUM), nextCursor="two"), {"error": {"code": 1}})
    assert len(judged(server, reply_with())) == 1
    assert found_by(server) == []


@pytest.mark.parametrize(
    "answer", [{"result": {"tools": [5, {}, {"name": 5}, None]}}, page(nextCursor=None)]
)
def test_a_list_without_names_has_no_schemas(answer: object) -> None:
    server = FakeServer(answer)
    assert judged(server, reply_with()) == ()
    assert found_by(server) == []


# Lists that say two things


@pytest.mark.parametrize("first", [True, False])
def test_a_tool_that_is_listed_twice_is_held_against_both_schemas(first: bool) -> None:
    both = [tool(outputSchema=SUM), tool()]
    server = FakeServer(page(*(both if first else reversed(both))))
    assert len(judged(server, reply_with(structuredContent={"sum": "five"}))) == 1
    why = "with other schemas each time; what it answers is held against all of them"
    assert found_by(server) == [("listed_twice", f"the tool add is listed twice, {why}")]


def test_a_tool_that_is_listed_twice_identically_is_no_finding_about_outputs() -> None:
    server = FakeServer(page(tool(outputSchema=SUM), tool(outputSchema=SUM)))
    assert len(judged(server, reply_with())) == 1
    assert found_by(server) == []


def test_a_list_that_has_changed_is_read_again() -> None:
    server, outputs = FakeServer(page(tool()), page(tool(outputSchema=SUM))), OutputSchemas()
    assert judged(server, reply_with(), "add", outputs) == ()
    server.connection.inbox.tool_changes = 1
    for _ in range(2):
        assert len(judged(server, reply_with(), "add", outputs)) == 1
    assert len(server.asked) == 2
    # The next process has not changed its list yet, so it is asked for it.
    fresh = FakeServer(page(tool()))
    assert judged(fresh, reply_with(), "add", outputs) == ()
    assert len(fresh.asked) == 1


def test_no_two_requests_for_a_list_have_the_same_id() -> None:
    server, outputs = FakeServer(page(tool())), OutputSchemas()
    for changes in range(3):
        server.connection.inbox.tool_changes = changes
        judged(server, reply_with(), "add", outputs)
    assert len(server.ids) == 3


# Lists that change with the answer


def test_a_list_that_changes_with_the_answer_excuses_nothing() -> None:
    server, outputs = FakeServer(page(tool(outputSchema=SUM)), page(tool())), OutputSchemas()
    outputs.read_tools_of(cast(Server, server))
    server.connection.inbox.tool_changes = 1
    [found] = judged(server, reply_with(structuredContent={"sum": "five"}), "add", outputs)
    assert found.message.startswith(
        "does not meet the tool's own outputSchema, as it was listed when the call was sent: "
    )
    # By now the list was there before the call.
    assert judged(server, reply_with(structuredContent={"sum": "five"}), "add", outputs) == ()


def test_another_process_is_held_against_the_list_that_all_begin_with() -> None:
    outputs = OutputSchemas()
    judged(FakeServer(page(tool(outputSchema=SUM))), reply_with(), "add", outputs)
    server = FakeServer(page(tool()))
    server.connection.inbox.tool_changes = 1
    assert len(judged(server, reply_with(), "add", outputs)) == 1


def test_a_list_that_becomes_the_same_again_is_reported_once() -> None:
    server, outputs = FakeServer(page(tool(outputSchema=SUM))), OutputSchemas()
    outputs.read_tools_of(cast(Server, server))
    server.connection.inbox.tool_changes = 1
    assert len(judged(server, reply_with(), "add", outputs)) == 1


def test_after_a_list_change_the_tools_are_listed_only_once() -> None:
    gone = Fault(kind="timeout", message="no answer")
    server, outputs = FakeServer(page(tool(outputSchema=SUM)), gone), OutputSchemas()
    for changes in range(4):
        server.connection.inbox.tool_changes = changes
        assert len(judged(server, reply_with(), "add", outputs)) == 1
    assert len(server.asked) == 2
    why = "the server said that its tools are others, and it is not known which: no answer"
    assert found_by(server) == [
        ("unchecked_output", f"{why}; what it listed before is what counts")
    ]
    # Another process of the same server is not known either.
    other = FakeServer(page(tool()))
    assert (len(judged(other, reply_with(), "add", outputs)), other.asked) == (1, [])


def test_a_server_that_could_not_list_its_tools_at_first_is_asked_when_it_announces_them() -> None:
    refused = {"error": {"code": -32603, "message": "not yet"}}
    server, outputs = FakeServer(refused, page(tool(outputSchema=SUM))), OutputSchemas()
    assert judged(server, reply_with(), "add", outputs) == ()
    server.connection.inbox.tool_changes = 1
    assert len(judged(server, reply_with(), "add", outputs)) == 1


# Servers that are not one and the same


@pytest.mark.parametrize(
    "other",
    [
        {"protocol_version": "2025-06-18"},
        {"spec_version": "2025-06-18"},
        {"inherit_env": False},
        {"http": HttpSpec(url="http://127.0.0.1:1/")},
        {"client": ClientSpec(capabilities={"roots": {}})},
        {"env": {"A": "1"}},
    ],
)
def test_the_schemas_of_one_server_are_not_those_of_another(other: dict[str, Any]) -> None:
    outputs = OutputSchemas()
    assert judged(FakeServer(page(tool())), reply_with(), "add", outputs) == ()
    server = FakeServer(page(tool(outputSchema=SUM)), **other)
    assert len(judged(server, reply_with(), "add", outputs)) == 1


def test_two_processes_of_one_server_are_asked_once() -> None:
    outputs = OutputSchemas()
    for count in (1, 0):
        server = FakeServer(page(tool(outputSchema=SUM)), env={"A": "1"})
        assert len(judged(server, reply_with(), "add", outputs)) == 1
        assert len(server.asked) == count


# Schemas that break what reads them


def deep_schema(levels: int = 1000) -> dict[str, object]:
    """Each level must know what the next one has evaluated: more than fits into memory."""
    defs: dict[str, object] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}], "unevaluatedProperties": {}}
        for n in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": defs | {f"d{levels}": {"type": "object"}}}


def test_a_schema_that_breaks_what_reads_it_is_a_bad_one_and_harms_no_other_tool() -> None:
    tools = page(tool("deep", outputSchema=deep_schema()), tool(outputSchema=SUM))
    server, outputs = FakeServer(tools), OutputSchemas()
    for _ in range(2):
        assert judged(server, reply_with(structuredContent={"sum": 5}), "add", outputs) == ()
        [found] = judged(server, reply_with(structuredContent={}), "deep", outputs)
        assert (found.path, len(server.asked)) == ("tools/list deep.outputSchema", 1)
    [(kind, message)] = found_by(server)
    assert kind == "bad_schema"
    assert re.search(r"it (ends the program that reads it: |takes over 1 s to read$)", message)


def test_a_value_that_breaks_the_validator_does_not_count_as_valid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcptest.engine.output_schemas._CHECK", lambda *_: os._exit(7))
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    [found] = judged(FakeServer(page(tool(outputSchema=schema))), reply_with(structuredContent={}))
    assert found.message == (
        "cannot be held against the tool's outputSchema: that ends the program that does it: "
        "exit status 7"
    )
