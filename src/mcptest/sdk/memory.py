"""Servers in this process: `mcptest.connect_memory` and `mcptest.run_memory`.

The server is an object of the official SDK or an ASGI app; no process or socket is involved.
"""

from __future__ import annotations

import os
import re
import threading
import time

from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, InterruptedRunError, ServerError, UsageError
from mcptest.core.events import CaseFinished, SuiteStarted
from mcptest.core.plan import START_LIMIT, ClientSpec, HttpSpec, ServerSpec
from mcptest.core.results import Finding, exit_code_of
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import excerpt, visible
from mcptest.core.value_class import Record
from mcptest.engine.loading import Wanted, load_plan
from mcptest.engine.pool import FATAL_FAULTS
from mcptest.engine.recorder import NotificationLog
from mcptest.engine.run import make_options, run_plan
from mcptest.engine.selection import Selection
from mcptest.engine.server import Server, make_bare_launcher
from mcptest.formats.config import read_client
from mcptest.formats.fields import Fields
from mcptest.protocol.http_address import BadUrlError, parse_url
from mcptest.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from mcptest.protocol.lists import ListPages
from mcptest.protocol.revisions import REVISIONS
from mcptest.reporters.failure_text import fault_details, fault_headline, render_result
from mcptest.reporters.style import Paint, not_run_line, totals
from mcptest.sdk.arguments import (
    check_choice,
    check_mapping,
    check_path,
    check_seconds,
    check_string,
)
from mcptest.sdk.client import Connection
from mcptest.sdk.coprocess import emit_warnings
from mcptest.sdk.errors import (
    UPSTREAM_ERROR,
    UPSTREAM_GONE,
    ClosedError,
    RefusedError,
    UpstreamError,
    UpstreamGoneError,
)
from mcptest.transport import Waker
from mcptest.transport.memory.server import MemoryTarget
from mcptest.transport.memory.thread import RAISED
from mcptest.transport.process.child import make_guardian
from mcptest.transport.process.isolated import silence_fork_warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from mcptest.core.diagnostics import PathDiagnostic
    from mcptest.core.events import Event, RunFinished
    from mcptest.core.results import CaseResult, Fault
    from mcptest.engine.loading import Plan
    from mcptest.sdk.arguments import Path

    Message = dict[str, Any]

__all__ = ["MemoryRun", "connect_memory", "run_memory"]


# pytest leaves the frames of this module out of tracebacks.
__tracebackhide__ = True

_LISTS = {
    "mcp.listTools": ("tools/list", "tools"),
    "mcp.listResources": ("resources/list", "resources"),
    "mcp.listPrompts": ("prompts/list", "prompts"),
    "mcp.listResourceTemplates": ("resources/templates/list", "resourceTemplates"),
}

# Requests whose params are sent unchanged.
_PLAIN = {
    "mcp.readResource": "resources/read",
    "mcp.callPrompt": "prompts/get",
    "mcp.complete": "completion/complete",
    "mcp.ping": "ping",
    "mcp.subscribeResource": "resources/subscribe",
    "mcp.unsubscribeResource": "resources/unsubscribe",
}

# In memory, a message that is not read does not block the next one.
_FATAL_FAULTS = FATAL_FAULTS - {"stdin_blocked"}

# The ids of our own requests, which mean nothing to the user.
_OWN_ID = r' \(id "mcptest-\d+"\)'


def connect_memory(
    target: Any,
    *,
    path: str = "/mcp",
    headers: dict[str, str] | None = None,
    spec_version: str = "",
    timeout: float = 30.0,
    client: dict[str, Any] | None = None,
) -> Connection:
    """A connection to an object in this process; `timeout` is for one answer, in seconds.

    `target` is a server of the official SDK, an ASGI app, or a function that makes one. Requests
    to an app go to `path`, with these `headers`. Enter the connection with `with` for a `Client`,
    with `async with` for an `AsyncClient`.
    """
    if client is not None and not isinstance(client, dict):
        raise TypeError(f"client is a dict, not {type(client).__name__}")
    limit_s = check_seconds("timeout", timeout)
    memory = MemoryTarget(target)
    spec = _build_spec(memory, path, headers).but(
        spec_version=check_choice("spec_version", spec_version, ("", *REVISIONS)),
        startup_timeout_s=limit_s,
        timeout_s=limit_s,
        client=_read_client_section(client),
    )
    return Connection(_MemoryChannel(spec, memory))  # type: ignore[arg-type]  # same interface


class _Waker:
    """Ends a wait from another thread, where a run has its signals."""

    stopped_s = 0.0

    def __init__(self) -> None:
        self.count = 0
        self._waker = Waker()
        self.fd = self._waker.fd

    def wake(self) -> None:
        self.count += 1
        self._waker.wake()

    def close(self) -> None:
        self._waker.close()


class _MemoryChannel:
    """Implements the interface of `Coprocess` that a `Client` uses."""

    binary_version = ""

    def __init__(self, spec: ServerSpec, target: MemoryTarget) -> None:
        self._spec = spec
        self._target = target
        self._lock = threading.Lock()
        self._waker: _Waker | None = None
        self._server: Server | None = None
        self._lost: UpstreamGoneError | None = None
        self._is_closed = False
        self._notifications = NotificationLog()
        self._tokens = 0
        # Of each thread: what the server wrote to stderr during its last request.
        self._last = threading.local()

    def request(
        self, method: str, params: Message | None = None, *, timeout: float | None = None
    ) -> Message:
        """The result of a request; a `CoprocessError` if there is none."""
        self._last.stderr = ""
        with self._lock:
            try:
                result = self._perform(method, params or {})
            except InterruptedRunError:
                raise self._closed_error(method) from None
            except UpstreamError as error:
                error.add_stderr(self._read_stderr())
                raise
            self._last.stderr = self._read_stderr()
            return result

    @property
    def last_stderr(self) -> str:
        """What the server wrote to stderr during the last request of this thread."""
        return str(getattr(self._last, "stderr", ""))

    def _read_stderr(self) -> str:
        return self._server.connection.stderr_of_test() if self._server else ""

    def _perform(self, method: str, params: Message) -> Message:
        server = self._ensure_server(method)
        server.connection.start_test()
        if method == "mcp.initialize":
            return server.handshake
        if method in _LISTS:
            return self._read_list(server, *_LISTS[method])
        if method in _PLAIN:
            return self._ask(server, _PLAIN[method], params)
        if method in ("mcp.call", "mcp.callWithProgress"):
            call = {"name": params["tool"], "arguments": params["arguments"]}
            if method == "mcp.call":
                return self._ask(server, "tools/call", call)
            self._tokens += 1
            since, token = self._notifications.count, f"mcptest-progress-{self._tokens}"
            call["_meta"] = {"progressToken": token}
            result = self._ask(server, "tools/call", call)
            return {"result": result, "progress": self._notifications.progress(token, since)}
        if method == "mcp.notifications":
            return self._read_notifications(server, **params)
        if method == "mcp.stderr":
            advice = "the fixture capfd of pytest reads that of this process"
            message = f"a server in memory has no stderr of its own; {advice}"
            raise RefusedError(INVALID_PARAMS, message)
        features = "caches, cassettes and uploads"
        message = f"{method} is not available in memory: {features} are for connect()"
        raise RefusedError(METHOD_NOT_FOUND, message)

    def _closed_error(self, method: str) -> ClosedError:
        return ClosedError(f"the connection has been closed, so {method} has no answer")

    def _ensure_server(self, method: str) -> Server:
        if self._is_closed:
            raise self._closed_error(method)
        if self._lost:
            raise self._lost.with_traceback(None)
        if self._server is None:
            self._waker = _Waker()
            launcher = make_bare_launcher(
                self._waker, memory=self._target, on_notification=self._notifications.add
            )
            try:
                self._server = Server(self._spec, launcher)
                self._server.open()
            except ServerError as error:
                raise self._mark_lost(error.fault.but(effect="definite")) from None
        return self._server

    def _ask(
        self, server: Server, method: str, params: Message, limit_s: float | None = None
    ) -> Message:
        try:
            answer = server.ask(method, params, limit_s or self._spec.timeout_s)
        except ServerError as error:
            raise self._make_error(server, error.fault) from None
        if "error" in answer:
            said = answer["error"]
            words = excerpt(str(said.get("message")), 1000)
            raise UpstreamError(UPSTREAM_ERROR, f"the server refused {method}: {words}", said)
        result = answer.get("result")
        if not isinstance(result, dict):
            raise _bad_answer(f"its answer to {method} has no result that is an object")
        return result

    def _read_notifications(
        self, server: Server, after: int = 0, method: str = "", wait_ms: int = 0
    ) -> Message:
        """The notifications after the one with this number, waited for if there is none."""

        def find() -> list[Message]:
            return self._notifications.since(after, method)

        try:
            server.listen(time.monotonic() + wait_ms / 1000, find)
        except ServerError as error:
            raise self._make_error(server, error.fault) from None
        if wait_ms and not find() and not server.is_usable:
            raise self._mark_lost(server.exit_fault("while a notification was awaited"))
        return {"received": self._notifications.count, "notifications": find()}

    def _make_error(self, server: Server, fault: Fault) -> UpstreamError | UpstreamGoneError:
        """The error for a fault of the server, which is gone if it cannot be used any more."""
        if fault.kind in _FATAL_FAULTS or not server.is_usable:
            return self._mark_lost(fault)
        return UpstreamError(UPSTREAM_ERROR, _describe_fault(fault), _build_data(fault))

    def _read_list(self, server: Server, method: str, key: str) -> Message:
        """Every page of a list, in one; all together may take as long as one answer."""
        deadline = time.monotonic() + self._spec.timeout_s
        entries: list[object] = []
        pages = ListPages(method, key, limit_s=self._spec.timeout_s)
        while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
            entries += pages.add({"result": self._ask(server, method, params, left_s)})
        if pages.problem:
            raise _bad_answer(pages.problem.reason)
        return {key: entries}

    def _mark_lost(self, fault: Fault) -> UpstreamGoneError:
        self._lost = UpstreamGoneError(UPSTREAM_GONE, _describe_fault(fault), _build_data(fault))
        return self._lost

    def close(self) -> None:
        """Stop the server; a call that is under way fails."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._waker:
            self._waker.wake()
        with self._lock:
            if self._server:
                self._server.close()
            faults = self._target.close()
            if self._waker:
                self._waker.close()
        findings = self._server.findings if self._server else ()
        emit_warnings(f"{each.kind}: {each.message}" for each in (*findings, *faults))


def _describe_fault(fault: Fault) -> str:
    return re.sub(_OWN_ID, "", fault.message)


def _build_data(fault: Fault) -> Message:
    data = {"kind": fault.kind, "effect": fault.effect, "stderr": fault.evidence.stderr_tail}
    # One limit is for the handshake and for each answer.
    hint = re.sub(_OWN_ID, "", fault.hint).replace(START_LIMIT, "the limit is timeout=")
    return data | ({"hint": hint} if hint else {})


def _bad_answer(why: str) -> UpstreamError:
    return UpstreamError(UPSTREAM_ERROR, f"the server cannot be used like this: {why}")


# Running test files

_COLUMNS = 100


class MemoryRun(Record):
    """The outcome of a run: its totals, and each result with its file."""

    finished: RunFinished
    results: tuple[tuple[str, CaseResult], ...]

    @property
    def passed(self) -> int:
        return self.finished.summary.passed

    @property
    def failed(self) -> int:
        """How many tests failed or ended in an error."""
        return self.finished.summary.failed + self.finished.summary.errors

    @property
    def skipped(self) -> int:
        return self.finished.summary.skipped

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Rules that the server broke without failing a test."""
        return self.finished.findings

    @property
    def is_success(self) -> bool:
        """Whether `mcptest run` would have ended with 0, and the server raised no exception."""
        return exit_code_of(self.finished) == 0 and not self._list_exceptions()

    def _list_exceptions(self) -> list[str]:
        """Exceptions of the server's own code outside of any test."""
        return [visible(each.message) for each in self.findings if each.kind == RAISED]

    def raise_for_failures(self) -> MemoryRun:
        """Raise an AssertionError with all failures; return the run if there are none."""
        if not self.is_success:
            raise AssertionError("\n".join(self._describe_failures()))
        return self

    def _describe_failures(self) -> Iterator[str]:
        for file, result in self.results:
            if result.status in ("failed", "error"):
                yield f"{visible(result.name)} ({visible(file)}:{result.line})"
                lines = render_result(result, columns=_COLUMNS, verbose=False)
                yield from (f"  {line.text}".rstrip() for line in lines)
                yield ""
        finished = self.finished
        if finished.fault:
            yield fault_headline(finished.fault)
            yield from (line.text for line in fault_details(finished.fault, verbose=True))
        yield totals(finished.summary, finished.duration_s, Paint(on=False))
        yield from (f"rule broken: {visible(rule)}" for rule in finished.broken_rules)
        yield from (f"gate missed: {visible(gate)}" for gate in finished.missed_gates)
        yield from (f"server_raised: {message}" for message in self._list_exceptions())
        if finished.not_run:
            yield not_run_line(finished)


def run_memory(
    target: Any,
    *files: Path,
    path: str = "/mcp",
    headers: dict[str, str] | None = None,
    spec_version: str = "",
    timeout: float | None = None,
    client: dict[str, Any] | None = None,
    filters: Sequence[str] = (),
    tags: Sequence[str] = (),
) -> MemoryRun:
    """Run test files against a server object, an ASGI app, or a function that makes one.

    The object replaces whatever server the files name. `filters` and `tags` select tests as `-k`
    and `--tag` do. Mistakes in the files raise `FormatError`.
    """
    if threading.current_thread() is not threading.main_thread():
        raise UsageError("run_memory() is called in the main thread: only it can bound patterns")
    if not files:
        raise TypeError("run_memory() needs the path of a test file, or of a folder of them")
    memory = MemoryTarget(target)
    spec = _build_spec(memory, path, headers)
    wanted = Wanted(
        paths=tuple(check_path("a file", each) for each in files),
        server=spec.but(client=_read_client_section(client)),
        spec_version=check_choice("spec_version", spec_version, ("", *REVISIONS)),
        selection=Selection(filters=tuple(filters), tags=tuple(tags)),
        timeout_s=None if timeout is None else check_seconds("timeout", timeout),
    )
    try:
        plan = load_plan(wanted, os.environ)
    except FormatError as error:
        for diagnostic in error.diagnostics:
            error.add_note(render_diagnostic(diagnostic))
        raise
    except UsageError as error:
        # The message is about an option of the command.
        message = error.message.replace("--url names", "run_memory() tests")
        raise UsageError(message, error.help) from None
    # No process is started, so there is no stderr to wait for.
    return _run(plan.with_servers(lambda spec: spec.but(ready_pattern="")), memory)


def _run(plan: Plan, target: MemoryTarget) -> MemoryRun:
    waker = _Waker()
    launcher = make_bare_launcher(waker, memory=target, judges=True)
    dialogues = [case.dialogue for suite, _ in plan.suites for case in suite.cases]
    if plan.plugins or any(each.before or each.after for each in dialogues if each):
        # Plugins and hooks are processes.
        launcher = launcher.but(guardian=make_guardian())
    file = ""
    results: list[tuple[str, CaseResult]] = []

    def take_event(event: Event) -> None:
        nonlocal file
        if isinstance(event, SuiteStarted):
            file = event.file
        elif isinstance(event, CaseFinished):
            results.append((file, event.result))

    try:
        if plan.plugins:
            plan.plugins.open(launcher.guardian, launcher.interrupts)
        with silence_fork_warnings():
            finished, *_ = run_plan(plan, make_options(plan), launcher, take_event)
    finally:
        if plan.plugins:
            plan.plugins.close()
        faults = target.close()
        launcher.guardian.dismiss()
        waker.close()
    late = tuple(
        Finding(kind=each.kind, server=target.name, message=each.message) for each in faults
    )
    run = MemoryRun(
        finished=finished.but(findings=(*finished.findings, *late)), results=tuple(results)
    )
    cleaned: MemoryRun = redact_all(run, redactor(plan.secrets)) if plan.secrets else run
    return cleaned


# Describing a server in memory

# Nothing listens there; apps that check the Host header accept it.
_ORIGIN = "http://localhost:8000"


def _build_spec(target: MemoryTarget, path: object, headers: object) -> ServerSpec:
    """The spec of an object; requests to an app go to `path`, with these headers."""
    path, headers = check_string("path", path), check_mapping("headers", headers)
    http = None
    if target.is_app:
        url = _ORIGIN + (path if path.startswith("/") else f"/{path}")
        try:
            parse_url(url)
        except BadUrlError as error:
            raise ValueError(f"path is not the path of a URL: {error}") from None
        http = HttpSpec(url=url, headers=dict(headers or {}))
    return ServerSpec(name=target.name, command=(), http=http)


def _read_client_section(written: dict[str, Any] | None) -> ClientSpec:
    """The `client` section of a config; ValueError for mistakes in it."""
    diagnostics: list[PathDiagnostic] = []
    client = read_client(Fields(written or {}, (), diagnostics))
    if diagnostics:
        messages = ("; ".join(filter(None, (each.message, each.help))) for each in diagnostics)
        raise ValueError(f"client: {'; '.join(messages)}")
    return client
