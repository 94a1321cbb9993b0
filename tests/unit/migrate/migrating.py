"""Convert tests into suites, and judge responses by the result, without any server."""

from __future__ import annotations

from typing import Any

from mcptest.core.errors import FormatError
from mcptest.core.plan import Case
from mcptest.engine.dialogue import describe_other_kind
from mcptest.engine.judge import judge
from mcptest.engine.server import Reply
from mcptest.formats.cases import is_turn, load_cases
from mcptest.formats.conductor import has_captures, load_conductor
from mcptest.formats.suite.loader import SuiteContext, load_suite
from mcptest.formats.yaml import read_document
from mcptest.formats.yaml.stream import read_stream
from mcptest.formats.yaml.writer import render_yaml
from mcptest.matching.case_tags import TAG_NAMES
from mcptest.matching.compare import source_of
from mcptest.matching.registry import builtin_registry
from mcptest.migrate.drafts import Note, Source
from mcptest.migrate.matchers import Setting
from mcptest.migrate.sources import read_cases, read_conductor
from mcptest.migrate.suite import ServerConfig, SuiteServer, convert_server, write_suite

REGISTRY = builtin_registry(lambda: 0.0)
FOLDER = "/here"
SERVER: dict[str, object] = {"name": "s", "command": "run", "args": []}


def setting(*, has_references: bool = False) -> Setting:
    return Setting(
        registry=REGISTRY, has_references=has_references, relocate=lambda name: f"../{name}"
    )


def server(keys: dict[str, object], **more: Any) -> SuiteServer:
    return convert_server(ServerConfig(keys=keys, file="a.json", cwd=FOLDER), FOLDER, **more)


# Conductor files


def conductor(*tests: dict[str, Any]) -> str:
    """The text of a Conductor file."""
    named = [{"it": f"test {number + 1}", **test} for number, test in enumerate(tests)]
    return render_yaml({"description": "d", "server": SERVER, "tests": named})


def calling(expect: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"tool": "t", "expect": expect, **keys}


def conductor_source(text: str, file: str = "a.test.mcp.yml") -> Source:
    document = read_document(text, file)
    return read_conductor(document, setting(has_references=has_captures(document.value)))


def suite_from(text: str) -> tuple[str, tuple[Note, ...]]:
    """The suite that a Conductor file becomes, and the notes about it."""
    return write_suite([(conductor_source(text), server(SERVER))], mistake_in_suite)


def carried(*tests: dict[str, Any]) -> Any:
    """The suite that these tests become, as a value; with nothing left behind."""
    text, notes = suite_from(conductor(*tests))
    assert [note for note in notes if note.is_loss] == []
    return read_document(text, "mcptest.yaml").value


def left(*tests: dict[str, Any]) -> list[str]:
    """Why something of these tests is left behind."""
    return losses(suite_from(conductor(*tests))[1])


def losses(notes: tuple[Note, ...]) -> list[str]:
    return [note.reason for note in notes if note.is_loss]


# Contracts


def contract_from(text: str) -> tuple[str, tuple[Note, ...]]:
    """The suite that a contract becomes, and the notes about it."""
    stream = read_stream(text, "a.cases.yaml", tags=TAG_NAMES, may_repeat=is_turn)
    source, handshake = read_cases(stream, setting())
    return write_suite([(source, server(SERVER, handshake=handshake))], mistake_in_suite)


# Loading


def case_of_conductor(text: str) -> Case:
    return load_conductor(text, "a.test.mcp.yml", REGISTRY, {})[0].cases[0]


def case_of_contract(text: str) -> Case:
    return load_cases(text, "a.cases.yaml", REGISTRY, {})[0].cases[0]


def case_of_suite(text: str) -> Case:
    context = SuiteContext(
        environment={"TOKEN": "set"},
        folder=FOLDER,
        read_beside=lambda name: '{"type": "object"}',
        registry_with=lambda plugins: REGISTRY,
    )
    return load_suite(text, "mcptest.yaml", context)[0][0].cases[0]


def mistake_in_suite(text: str) -> str:
    try:
        case_of_suite(text)
    except FormatError as error:
        return error.diagnostics[0].message
    return ""


# Verdicts


def is_met(
    case: Case, answer: dict[str, Any], stderr: str = "", notifications: tuple[Any, ...] = ()
) -> bool:
    """Whether a case passes when this is the response to its first request."""
    if case.dialogue:
        request, response = case.dialogue.turns[:2]
        assert response.expectation is not None
        reply = _reply(request.id, answer)
        if describe_other_kind("out", source_of(response.value), reply.message):
            return False
        return not any(True for _ in judge(response.expectation, reply))
    step = case.steps[0]
    reply = _reply(step.id, answer).but(stderr=stderr, notifications=notifications)
    return not any(True for _ in judge(step.expectation, reply))


def _reply(id: object, answer: dict[str, Any]) -> Reply:
    message = {"jsonrpc": "2.0", "id": id, **answer}
    return Reply(message=message, elapsed_s=0.01, stderr="", stderr_mark=0, size=1)
