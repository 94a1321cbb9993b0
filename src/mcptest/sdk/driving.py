"""Run the steps of a case over the coprocess channel, and judge what comes.

The channel has a word for calling a tool, reading a resource, getting a prompt and two lists.
Whatever else a case asks for is said, never left out.
"""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext

from mcptest._coprocess import UpstreamError
from mcptest.core.framing import encode_line
from mcptest.core.outcome import ABSENT, CaseResult
from mcptest.core.plan import ClientSpec, Step
from mcptest.core.strict_json import parse_json
from mcptest.matching.compare import pull
from mcptest.matching.expectation import written
from mcptest.runner.judging import judge, server_words
from mcptest.runner.launcher import Reply
from mcptest.runner.outputs import Outputs
from mcptest.wire.cpu_limit import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest._coprocess import Coprocess
    from mcptest.core.outcome import Mismatch
    from mcptest.core.plan import Case, Expectation, ServerSpec

    Message = dict[str, Any]

__all__ = ["Driver", "why_not_drivable"]

_LIMIT = CpuLimit(2.0)

_WORDS = {
    "tools/call": "mcp.call",
    "resources/read": "mcp.readResource",
    "prompts/get": "mcp.callPrompt",
    "tools/list": "mcp.listTools",
    "resources/list": "mcp.listResources",
}


def why_not_drivable(case: Case, spec: ServerSpec) -> str:
    """What of a case the channel has no word for; "" when it can be run."""
    if spec.client != ClientSpec():
        return "answers of the client to the server cannot be given over the SDK channel"
    steps = _steps_of(case)
    if steps is None:
        return "a dialogue is not drivable over the SDK channel"
    for step in (*steps, *case.teardown):
        why = _why_not(step)
        if why:
            return why
    return ""


def _why_not(step: Step) -> str:
    if step.method not in _WORDS or step.id is ABSENT:
        what = step.method or "a message without a method"
        return f"{what} is not drivable over the SDK channel"
    if step.template is None and _asked(step) is None:
        return f"this form of {step.method} is not drivable over the SDK channel"
    wanted = step.expectation
    if wanted.stderr is not ABSENT or wanted.exit_code is not None:
        return "stderr and exit codes are not visible over the SDK channel"
    roots = {assertion.steps[0] for assertion in wanted.assertions}
    if wanted.notifications or roots & {"notifications", "stderr"}:
        return "notifications and stderr are not visible over the SDK channel"
    if wanted.has_remote_check:
        return "plugins and snapshots are not asked over the SDK channel"
    return ""


def _steps_of(case: Case) -> tuple[Step, ...] | None:
    """The steps of a case; a dialogue of one request and its answer is one, another is None."""
    dialogue = case.dialogue
    if dialogue is None:
        return case.steps
    if len(dialogue.turns) != 2 or dialogue.before or dialogue.after or dialogue.opens_session:
        return None
    asked, answered = dialogue.turns
    is_plain = asked.is_ours and asked.kind == "request" and not answered.is_ours
    has_names = asked.binds or asked.needs or answered.binds or answered.needs
    if not is_plain or has_names or answered.expectation is None or not _is_data(asked.value):
        return None
    step = Step(
        line=encode_line(asked.value),
        method=asked.method,
        expectation=answered.expectation,
        id=asked.id,
    )
    return (step,)


def _is_data(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_data, value.values()))
    if isinstance(value, list):
        return all(map(_is_data, value))
    return value is None or isinstance(value, (str, int, float))


def _asked(step: Step) -> tuple[str, Message] | None:
    """The word of the channel for a step, and its params; None when they do not fit."""
    request = parse_json(step.line.decode("utf-8"))
    params = request.get("params", {}) if isinstance(request, dict) else None
    if not isinstance(params, dict):
        return None
    if step.method == "tools/call" and params.keys() <= {"name", "arguments"}:
        given = {"tool": params.get("name"), "arguments": params.get("arguments", {})}
        return "mcp.call", given
    if step.method == "prompts/get" and params.keys() <= {"name", "arguments"}:
        return "mcp.callPrompt", params
    if step.method == "resources/read" and params.keys() == {"uri"}:
        return "mcp.readResource", params
    if step.method in ("tools/list", "resources/list") and not params:
        return _WORDS[step.method], {}
    return None


class _Lists:
    """What `Outputs` asks of a server, asked over the channel."""

    def __init__(self, coprocess: Coprocess, spec: ServerSpec) -> None:
        self._coprocess = coprocess
        self.spec = spec
        self.findings = _Findings()

    def ask(self, method: str, params: Message, limit_s: float) -> Message:
        try:
            return {"result": self._coprocess.request("mcp.listTools")}
        except UpstreamError:
            return {"error": {}}


class _Findings:
    def add(self, kind: str, message: str) -> None:
        """Told by the tests that call the tool; there is no report of the whole run here."""


class Driver:
    """Runs cases of one server; knows what the tests of each file have captured."""

    def __init__(self, coprocess: Coprocess, spec: ServerSpec) -> None:
        self._coprocess = coprocess
        self._spec = spec
        self._lists = _Lists(coprocess, spec)
        self._outputs = Outputs()
        self._values: dict[str, dict[str, object]] = {}

    def perform(self, case: Case, file: str) -> CaseResult:
        """The verdict on a case; what breaks the channel or the server is raised."""
        values = self._values.setdefault(file, {})
        try:
            return self._through(case, _steps_of(case) or (), values)
        finally:
            if case.teardown:
                self._through(case, case.teardown, values)

    def _through(
        self, case: Case, steps: tuple[Step, ...], values: dict[str, object]
    ) -> CaseResult:
        began = time.monotonic()
        for written_step in steps:
            step = _filled(written_step, values)
            reply = self._sent(step)
            mismatches = _judged(step.expectation, reply)
            if step.tool:
                mismatches += self._outputs.judge(self._lists, step.tool, reply)  # type: ignore[arg-type]  # it has what is asked of a server
            if mismatches:
                return _failed(case, step, reply, mismatches, time.monotonic() - began)
            for capture in written_step.captures:
                value, _ = pull(reply.message, capture.steps)
                if value is not ABSENT:
                    values[capture.name] = value
        duration_s = time.monotonic() - began
        return CaseResult(name=case.name, status="passed", line=case.line, duration_s=duration_s)

    def _sent(self, step: Step) -> Reply:
        asked = _asked(step)
        assert asked is not None, "what does not fit is skipped when it is collected"
        word, params = asked
        began = time.monotonic()
        envelope: Message = {"jsonrpc": "2.0", "id": step.id}
        try:
            result = self._coprocess.request(word, params or None)
            message = {**envelope, "result": result}
        except UpstreamError as error:
            if not isinstance(error.data, dict) or "code" not in error.data:
                raise
            message = {**envelope, "error": error.data}
        return Reply(message=message, elapsed_s=time.monotonic() - began, stderr="")


def _filled(step: Step, values: dict[str, object]) -> Step:
    if step.template is None:
        return step
    missing = [name for name in step.template.needs if name not in values]
    if missing:
        message = f"no earlier test of this file has captured {missing[0]!r}"
        raise LookupError(f"{message}; tests that share values must run in one process, in order")
    return step.template.fill(values)


def _judged(expectation: Expectation, reply: Reply) -> tuple[Mismatch, ...]:
    is_main = threading.current_thread() is threading.main_thread()
    with _LIMIT if expectation.has_regex and is_main else nullcontext():
        return tuple(judge(expectation, reply))


def _failed(
    case: Case, step: Step, reply: Reply, mismatches: tuple[Mismatch, ...], duration_s: float
) -> CaseResult:
    response = step.expectation.response
    notes = (f"in {step.label}",) if step.label and len(case.steps) > 1 else ()
    return CaseResult(
        name=case.name,
        status="failed",
        line=case.line,
        duration_s=duration_s,
        mismatches=mismatches,
        sent=step.line.decode("utf-8").rstrip("\n"),
        expected=ABSENT if response is ABSENT else written(response),
        actual=reply.message,
        notes=(*notes, *server_words(reply.message, mismatches)),
    )
