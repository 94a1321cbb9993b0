"""Run the fault server in one of its modes and return the report.

`perform` does it in this process, through the runner, with short shutdown times; `stage`
returns the parts for tests that need fewer of them. Both assert that nothing is left: no process
with the run's mark, no child, no descriptor.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest.core.plan import Limits, ServerSpec
from mcptest.core.results import exit_code_of
from mcptest.engine.loading import Plan
from mcptest.engine.run import RunOptions, run_plan
from mcptest.engine.server import Launcher
from mcptest.formats.conductor import load_conductor
from mcptest.matching.registry import builtin_registry
from mcptest.reporters.json import JsonReporter
from mcptest.transport.process.child import Guardian
from mcptest.transport.process.signals import Interrupts
from mcptest.transport.process.stopping import Grace, list_marked, list_unknown_children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connect_back import Listener

    Message = dict[str, Any]

FAULT_SERVER = Path(__file__).parent.parent / "servers" / "fault_server.py"

# Long enough for a loaded machine to start Python, short enough to wait for three times.
SHORT_GRACE = Grace(stdin_s=1.0, term_s=1.0, kill_s=5.0)

# A limit that no test reaches: a test that ends sooner did not wait for it.
LONG_S = 30.0


def command_for(mode: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-S", "-E", str(FAULT_SERVER), mode, *arguments)


def spec_for(
    mode: str, *arguments: str, listener: Listener | None = None, **options: Any
) -> ServerSpec:
    """The fault server in this mode, with long limits unless they are given."""
    defaults: dict[str, Any] = {
        "name": mode,
        "command": command_for(mode, *arguments),
        "env": listener.environment if listener else None,
        "startup_timeout_s": LONG_S,
        "timeout_s": LONG_S,
    }
    return ServerSpec(**(defaults | options))


def with_line_limit(size: int) -> dict[str, Any]:
    return {"limits": Limits(max_line_bytes=size)}


# Tests, as a Conductor file has them


def call(text: str = "hi", id: object = 1) -> Message:
    """A request for the echo of a text."""
    params = {"name": "echo", "arguments": {"text": text}}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def echo(text: str = "hi", id: object = 1, **more: Any) -> Message:
    """A test that a good server passes; `more` goes beside it, `expect` into it."""
    expect = more.pop("expect", {})
    response = {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}
    return {
        "it": f"echoes {text[:20]} under {id}",
        "request": call(text, id),
        "expect": {"response": response} | expect,
        **more,
    }


def plan_for(spec: ServerSpec, *tests: Message) -> Plan:
    text = json.dumps({"description": "a suite", "tests": list(tests) or [echo()]})
    suite, _ = load_conductor(text, "a.test.mcp.yml", builtin_registry(), {})
    return Plan(suites=((suite, spec),))


# Running them


class Report:
    """The outcome of a run: the JSON report, the exit status, and shortcuts to both."""

    def __init__(self, text: str, status: int) -> None:
        self.members: Message = json.loads(text)
        self.status = status

    @property
    def tests(self) -> list[Message]:
        return [test for suite in self.members["suites"] for test in suite["tests"]]

    @property
    def statuses(self) -> list[str]:
        return [test["status"] for test in self.tests]

    @property
    def fault(self) -> Message:
        """The fault of the one test, or of the run when no test could run."""
        if self.members["error"] is not None:
            return dict(self.members["error"])
        (fault,) = [test["error"] for test in self.tests if test["error"]]
        return dict(fault)

    @property
    def story(self) -> str:
        """The sentence of the fault and its hint, as a person reads them."""
        return f"{self.fault['message']}; {self.fault['hint']}"

    @property
    def findings(self) -> dict[str, Message]:
        """The findings by kind; no test here has two of one kind."""
        found = {finding["kind"]: finding for finding in self.members["findings"]}
        assert len(found) == len(self.members["findings"])
        return found

    @property
    def notes(self) -> list[str]:
        return [note for test in self.tests for note in test.get("notes", [])]

    def assert_spotless(self) -> None:
        assert self.status == 0
        assert set(self.statuses) == {"passed"}
        assert (self.members["findings"], self.notes) == ([], [])


@contextlib.contextmanager
def stage(grace: Grace = SHORT_GRACE) -> Iterator[Launcher]:
    """What servers are started with; afterwards nothing of them may be left."""
    before, children = open_descriptors(), set(list_unknown_children(set()))
    with Interrupts() as interrupts:
        guardian = new_guardian()
        interrupts.on_second = guardian.kill_all
        try:
            yield Launcher(guardian=guardian, interrupts=interrupts, grace=grace)
        finally:
            left = list_marked(guardian.mark)
            guardian.dismiss()
    assert left == {}, "processes of the run are still alive"
    assert list_unknown_children(children) == [], "a child or a zombie is left"
    assert open_descriptors() == before, "a descriptor is left"


def new_guardian() -> Guardian:
    # It forks, and newer Pythons warn of that where there are threads, as in pytest-xdist.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return Guardian()


def perform(spec: ServerSpec, *tests: Message, grace: Grace = SHORT_GRACE) -> Report:
    """Run the tests (one echo when none are given) against a server; the whole report."""
    plan = plan_for(spec, *tests)
    reporter = JsonReporter("0")
    with stage(grace) as launcher:
        finished, _ = run_plan(plan, RunOptions(started_at=""), launcher, reporter)
    return Report(reporter.render(), exit_code_of(finished))


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def has_children() -> bool:
    """Whether this process has a child of any kind; only for those who have none of their own."""
    return bool(list_unknown_children(set()))
