"""Move tests between formats, and judge answers by what comes out, without any server."""

from __future__ import annotations

from typing import Any

from mcptest.core.errors import FormatError
from mcptest.core.plan import Case
from mcptest.formats.case_turns import is_turn
from mcptest.formats.cases import load_cases
from mcptest.formats.conductor import load_conductor
from mcptest.formats.document import read_document
from mcptest.formats.stream import read_stream
from mcptest.formats.suite import SuiteContext, load_suite
from mcptest.formats.suite_parts import read_parts
from mcptest.formats.yaml_text import render_yaml
from mcptest.matching.compare import source_of
from mcptest.matching.registry import builtin_registry
from mcptest.matching.tags import TAG_NAMES
from mcptest.migrate.cases_reading import read_cases
from mcptest.migrate.cases_writing import CasesText, write_cases
from mcptest.migrate.conductor_reading import has_captures, read_conductor
from mcptest.migrate.conductor_writing import ConductorText, write_conductor
from mcptest.migrate.pattern_words import Setting
from mcptest.migrate.suite_reading import SuiteEntries, read_entries
from mcptest.migrate.suite_servers import ServerText, suite_server
from mcptest.migrate.suite_writing import Owned, SuiteText, write_suite
from mcptest.runner.judging import judge
from mcptest.runner.launcher import Reply
from mcptest.runner.surplus import other_kind

REGISTRY = builtin_registry(lambda: 0.0)
FOLDER = "/here"
SERVER: dict[str, object] = {"name": "s", "command": "run", "args": []}


class Everything(dict[str, str]):
    """An environment in which every variable is set."""

    def get(self, name: str, default: object = None) -> Any:
        return "set"

    def __contains__(self, name: object) -> bool:
        return True


def setting(*, has_references: bool = False) -> Setting:
    return Setting(
        registry=REGISTRY, has_references=has_references, relocated=lambda name: f"../{name}"
    )


# To a suite


def context() -> SuiteContext:
    return SuiteContext(
        environment=Everything(),
        folder=FOLDER,
        read_beside=lambda name: '{"type": "object"}',
        registry_with=lambda plugins: REGISTRY,
    )


def mistake_in_suite(text: str) -> str:
    try:
        load_suite(text, "mcptest.yaml", context())
    except FormatError as error:
        return error.diagnostics[0].message
    return ""


def owned(
    text: str, server: dict[str, object] | None = None, file: str = "a.test.mcp.yml"
) -> Owned:
    document = read_document(text, file)
    source = read_conductor(document, setting(has_references=has_captures(document.value)))
    return Owned(source=source, server=moved(server or SERVER))


def moved(keys: dict[str, object], **more: Any) -> Any:
    return suite_server(ServerText(keys=keys, file="a.json", cwd=FOLDER), FOLDER, **more)


def suite_from(text: str) -> SuiteText:
    """The suite that a Conductor file becomes."""
    return write_suite([owned(text)], mistake_in_suite)


def conductor(*tests: dict[str, Any]) -> str:
    """The text of a Conductor file."""
    named = [{"it": f"test {number + 1}", **test} for number, test in enumerate(tests)]
    return render_yaml({"description": "d", "server": SERVER, "tests": named})


def calling(expect: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"tool": "t", "expect": expect, **keys}


def carried(*tests: dict[str, Any]) -> Any:
    """The suite that these tests become, as a value; with nothing left behind."""
    suite = suite_from(conductor(*tests))
    assert [remark for remark in suite.remarks if remark.is_loss] == []
    return read_document(suite.text, "mcptest.yaml").value


def left(*tests: dict[str, Any]) -> list[str]:
    """Why something of these tests is left behind."""
    return [each.reason for each in suite_from(conductor(*tests)).remarks if each.is_loss]


def contract_from(text: str) -> SuiteText:
    """The suite that a contract becomes."""
    stream = read_stream(text, "a.cases.yaml", tags=TAG_NAMES, may_repeat=is_turn)
    contract = read_cases(stream, setting())
    server = moved(SERVER, is_contract=True, hello=contract.hello)
    return write_suite([Owned(source=contract.source, server=server)], mistake_in_suite)


# From a suite


def entries_of(text: str, **others: str) -> SuiteEntries:
    return read_entries(read_parts(text, "mcptest.yaml", FOLDER, lambda name: others[name]))


def mistake_in_conductor(text: str) -> str:
    try:
        load_conductor(text, "a.test.mcp.yml", REGISTRY, {}, lambda name: '{"type": "object"}')
    except FormatError as error:
        return error.diagnostics[0].message
    return ""


def mistake_in_cases(text: str) -> str:
    try:
        load_cases(text, "a.cases.yaml", REGISTRY, {}, lambda name: '{"type": "object"}')
    except FormatError as error:
        return error.diagnostics[0].message
    return ""


def conductor_from(suite: str) -> ConductorText:
    """The Conductor file for the only server of a suite."""
    entries = entries_of(suite)
    drafts = next(iter(entries.by_server.values()), [])
    return write_conductor("d", SERVER, drafts, lambda file: setting(), mistake_in_conductor)


def cases_from(suite: str) -> CasesText:
    """The contract for the only server of a suite."""
    drafts = next(iter(entries_of(suite).by_server.values()), [])
    return write_cases(SERVER, drafts, lambda file: setting(), mistake_in_cases)


# Verdicts


def case_of_conductor(text: str) -> Case:
    return load_conductor(text, "a.test.mcp.yml", REGISTRY, {})[0].cases[0]


def case_of_suite(text: str) -> Case:
    return load_suite(text, "mcptest.yaml", context())[0][0].cases[0]


def case_of_contract(text: str) -> Case:
    return load_cases(text, "a.cases.yaml", REGISTRY, {})[0].cases[0]


def is_met(
    case: Case, answer: dict[str, Any], stderr: str = "", heard: tuple[Any, ...] = ()
) -> bool:
    """Whether a case passes when this is what comes of its first call."""
    if case.dialogue:
        return _is_met_in_dialogue(case, answer)
    step = case.steps[0]
    reply = _reply(step.id, answer).but(stderr=stderr, notifications=heard)
    return not any(True for _ in judge(step.expectation, reply))


def _is_met_in_dialogue(case: Case, answer: dict[str, Any]) -> bool:
    assert case.dialogue is not None
    asked, told = case.dialogue.turns[:2]
    assert told.expectation is not None
    reply = _reply(asked.id, answer)
    if other_kind("out", source_of(told.value), reply.message):
        return False
    return not any(True for _ in judge(told.expectation, reply))


def _reply(id: object, answer: dict[str, Any]) -> Reply:
    message = {"jsonrpc": "2.0", "id": id, **answer}
    return Reply(message=message, elapsed_s=0.01, stderr="", stderr_mark=0, size=1)
