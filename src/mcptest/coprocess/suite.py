"""The channel that drives the tests of a file, one at a time (docs/suite-channel.md)."""

from __future__ import annotations

import math
import shlex
import time

from mcptest._collect import (
    collect,
    describe_internal_error,
    describe_load_error,
    describe_mistakes,
    group_by_server,
    reword_hints,
)
from mcptest.coprocess.protocol import SUITE_CHANNEL_VERSION, SUITE_METHODS, RefusedError, quote
from mcptest.coprocess.serve import Session
from mcptest.core.diagnostics import render_diagnostic, suggest
from mcptest.core.errors import InterruptedRunError, McptestError, UsageError
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import defuse
from mcptest.core.value_class import Record
from mcptest.engine.on_demand import Session as EngineSession
from mcptest.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcptest.reporters.failure_text import SeenFailures, describe_case

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcptest._collect import CollectedTest, Collection
    from mcptest.coprocess.protocol import Request
    from mcptest.core.events import RunFinished
    from mcptest.engine.on_demand import FileRun
    from mcptest.engine.server import Launcher

    Message = dict[str, Any]

__all__ = ["SuiteSession"]


class _LoadedFile(Record):
    """The file with its tests by id, and its run."""

    collection: Collection
    run: FileRun
    tests: Mapping[str, CollectedTest]


class SuiteSession(Session):
    """Lists the tests of a file and runs those that are asked for."""

    methods = SUITE_METHODS

    def __init__(self, file: str, launcher: Launcher) -> None:
        super().__init__()
        self._file = file
        self._engine = EngineSession(launcher)
        self._loaded: _LoadedFile | None = None
        # When the current test was requested; later than any time if there is none.
        self.asked_at = math.inf

    def perform(self, request: Request) -> object:
        if self._loaded is None:
            self._loaded = self._load()
        loaded = self._loaded
        if request.method == "suite.list":
            return self._list(loaded)
        id = request.params["id"]
        if id not in loaded.tests:
            advice = suggest(id, loaded.tests, '"{}"') or "; suite.list has the ids"
            raise RefusedError(INVALID_PARAMS, f"there is no test {quote(id)}{advice}")
        self.asked_at = time.monotonic()
        try:
            return self._run(loaded, loaded.tests[id])
        finally:
            self.asked_at = math.inf

    def close(self) -> list[RunFinished]:
        """Stop every server and plugin, and write new snapshots; how it all ended."""
        secrets = self._loaded.run.plan.secrets if self._loaded else ()
        return [redact_all(ended, redactor(secrets)) for ended in self._engine.close()]

    def _load(self) -> _LoadedFile:
        try:
            collection = collect(self._file)
        except McptestError as error:
            message = describe_load_error(error, self._file, most=None)
            raise RefusedError(INVALID_PARAMS, defuse(message)) from None
        plan = collection.plan
        # Gates are judged for a whole run.
        ungated = tuple((suite.but(gates=None), spec) for suite, spec in plan.suites)
        run = self._engine.add(plan.but(suites=ungated))
        tests = {
            f"{server}::{name}": test
            for server, named in group_by_server(collection.tests).items()
            for name, test in named
            if test.suite >= 0
        }
        for test in tests.values():
            if not test.skip:
                run.suites[test.suite].expected.add(test.case)
        return _LoadedFile(collection=collection, run=run, tests=tests)

    # Methods

    def _list(self, loaded: _LoadedFile) -> Message:
        plan, suites = loaded.collection.plan, loaded.run.suites
        # What is judged for a whole run, and not here.
        gates = [suite.gates for suite, _ in plan.suites if suite.gates]
        left = {
            "coverage gate": any(gate.coverage for gate in gates),
            "performance gate": any(gate.performance for gate in gates),
            "strict invariants": any(spec.strict_invariants for _, spec in plan.suites),
        }
        reason = f"judged for a whole run only; run: mcptest run {shlex.quote(self._file)}"
        return {
            "version": SUITE_CHANNEL_VERSION,
            "file": self._file,
            "tests": [
                {
                    "id": id,
                    "server": test.server,
                    "name": test.name,
                    "file": suites[test.suite].suite.file,
                    "line": test.line,
                    "tags": list(test.tags),
                    "skip": test.skip,
                    "limit_ms": math.ceil(suites[test.suite].time_limit_s(test.case) * 1000),
                }
                for id, test in loaded.tests.items()
            ],
            "lanes": [
                {"lane": lane.name, "line": lane.line}
                for lane in loaded.collection.tests
                if lane.suite < 0
            ],
            "left": [{"name": name, "reason": reason} for name, is_set in left.items() if is_set],
            "warnings": [defuse(render_diagnostic(warning)) for warning in plan.warnings],
        }

    def _run(self, loaded: _LoadedFile, test: CollectedTest) -> Message:
        suite = loaded.run.suites[test.suite]
        file = suite.suite.file

        def answer(status: str, text: str, **more: object) -> Message:
            known = {"status": status, "text": defuse(text), "file": file, "line": test.line}
            return {**known, "duration_ms": 0, "notes": [], **more}

        if test.skip:
            return answer("skipped", test.skip)
        if test.unset:
            return answer("error", f"{describe_mistakes(test.unset, file)}\n\n{file}:{test.line}")
        try:
            result = suite.settle(suite.perform(test.case))
        except InterruptedRunError:
            raise
        except UsageError as error:
            text = f"{error.message}\n{error.help}".rstrip("\n")
            return answer("error", f"{text}\n\n{file}:{test.line}")
        except Exception as error:
            message = describe_internal_error(error, file) or f"{type(error).__name__}: {error}"
            raise RefusedError(INTERNAL_ERROR, defuse(message)) from error
        result = reword_hints(result, '"isolation: file"')
        result = redact_all(result, redactor(loaded.collection.plan.secrets))
        notes = [*result.notes]
        text = ""
        if result.status != "passed":
            # Each text is read by itself: what earlier ones have shown counts for nothing.
            text = describe_case(result, file, SeenFailures())
        elif result.is_flaky:
            notes.append(f"flaky: attempt {result.attempts} passed")
        return answer(
            result.status,
            text,
            line=result.line,
            duration_ms=round(result.duration_s * 1000, 3),
            notes=[defuse(note) for note in notes],
        )
