"""`expect(result).to_match({…})`: the matchers and the diffs of test files, in Python."""

from __future__ import annotations

import threading
from functools import lru_cache

from mcptest.core.errors import CheckError, PatternTimeoutError
from mcptest.core.results import CaseResult
from mcptest.core.text import visible
from mcptest.engine.loading import SuiteResources
from mcptest.engine.server import Launcher
from mcptest.matching.compare import compare, source_of
from mcptest.matching.expectation import Compiler
from mcptest.matching.suite_matchers import SuiteMatchers
from mcptest.reporters.text import render_result
from mcptest.sdk.errors import hide_secrets
from mcptest.sdk.verdict import Verdict
from mcptest.transport.process.guardian import NoGuardian, NoInterrupts
from mcptest.transport.process.isolated import judge_in_child, silence_fork_warnings
from mcptest.transport.process.limits import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.diagnostics import PathDiagnostic
    from mcptest.core.results import Mismatch
    from mcptest.matching.registry import Registry

__all__ = ["BadExpectationError", "Expectations", "expect"]

# pytest leaves the frames of this module out of tracebacks.
__tracebackhide__ = True

_PATTERN_LIMIT = CpuLimit(2.0)
# In a process of its own, by the clock: on a large string the signal is handled late.
_APART_S = 10.0
_COLUMNS = 100


class BadExpectationError(AssertionError, ValueError):
    """An invalid expectation; it says nothing about the value."""


def expect(actual: object) -> Expectations:
    """Assertions about a verdict, an answer or any JSON value."""
    return Expectations(actual)


class Expectations:
    """Assertions about one value; each raises AssertionError with a diff, or returns itself."""

    def __init__(self, actual: object) -> None:
        self._verdict = actual if isinstance(actual, Verdict) else None
        self._value = _json(self._verdict.raw if self._verdict else actual, "the value")

    def to_match(self, expected: object) -> Expectations:
        """The value equals what is written, where strings may be `match:` patterns."""
        compiler = Compiler(_registry())
        compiled = compiler.compile(_json(expected, "what is expected"), None)
        self._judge(compiled, compiler.complaints, compiler.has_seen_regex)
        return self

    def to_meet(self, matcher: dict[str, object]) -> Expectations:
        """The value meets a matcher of a suite, such as `{"contains": "sunny"}`."""
        complaints: list[PathDiagnostic] = []
        words = SuiteMatchers(_registry(), complaints)
        compiled = words.compile(_json(matcher, "the matcher"), None)
        self._judge(compiled, complaints, words.has_regex)
        return self

    def to_succeed(self) -> Expectations:
        """The tool reported no error."""
        verdict = self._verdict_for("to_succeed")
        if not verdict.success:
            said = visible(hide_secrets(verdict.error or ""), keep_newlines=True)
            if not isinstance(verdict.raw.get("isError"), bool):
                raise AssertionError(f"the tool did not succeed: {said}")
            raise AssertionError(f"the tool reported an error: {said}")
        return self

    def to_fail(self) -> Expectations:
        """The tool reported an error."""
        verdict = self._verdict_for("to_fail")
        if verdict.success:
            text = visible(hide_secrets(verdict.text or ""), keep_newlines=True)
            said = f"; it said: {text}" if text else ""
            message = "the tool was expected to report an error, and did not"
            raise AssertionError(f"{message}{said}")
        if not isinstance(verdict.raw.get("isError"), bool):
            message = "the tool was expected to report an error"
            raise AssertionError(f"{message}: {visible(verdict.error or '')}")
        return self

    def _verdict_for(self, name: str) -> Verdict:
        if self._verdict is None:
            message = f"{name}() is about what call_tool() returned, and this is another value"
            raise BadExpectationError(message)
        return self._verdict

    def _judge(self, compiled: object, complaints: list[PathDiagnostic], has_regex: bool) -> None:
        if complaints:
            messages = (f"{each.message}; {each.help}".removesuffix("; ") for each in complaints)
            raise BadExpectationError(hide_secrets("\n".join(messages)))
        try:
            mismatches = self._compared(compiled, has_regex)
        except (PatternTimeoutError, CheckError) as error:
            message = f"{hide_secrets(str(error))}; what it says of the value is not known"
            raise BadExpectationError(message) from None
        if not mismatches:
            return
        result = CaseResult(
            name="",
            status="failed",
            line=0,
            mismatches=mismatches,
            expected=source_of(compiled),
            actual=self._value,
        )
        # Before rendering, which may cut a secret in two.
        lines = render_result(hide_secrets(result), columns=_COLUMNS, verbose=False)
        raise AssertionError("\n".join(line.text for line in lines).strip("\n"))

    def _compared(self, compiled: object, has_regex: bool) -> tuple[Mismatch, ...]:
        """The mismatches. The time of regular expressions is limited."""

        def judge() -> tuple[Mismatch, ...]:
            return tuple(compare(compiled, self._value))

        if not has_regex:
            return judge()
        # Only the main thread handles the timer's signal.
        if threading.current_thread() is not threading.main_thread():
            return _judged_apart(judge)
        with _PATTERN_LIMIT:
            return judge()


def _judged_apart(judge: Callable[[], tuple[Mismatch, ...]]) -> tuple[Mismatch, ...]:
    """The result of `judge` in a forked process, whose main thread handles the timer's signal."""

    def bounded() -> tuple[Mismatch | str, ...]:
        try:
            with _PATTERN_LIMIT:
                return judge()
        except PatternTimeoutError as error:
            return (error.pattern,)

    launcher = Launcher(
        guardian=NoGuardian(),  # type: ignore[arg-type]  # it ends by itself
        interrupts=NoInterrupts(),  # type: ignore[arg-type]  # signals are the program's own
    )
    with silence_fork_warnings():
        found = judge_in_child(bounded, _APART_S, launcher)
    for each in found:
        if isinstance(each, str):
            raise PatternTimeoutError(_PATTERN_LIMIT.seconds, each)
    return tuple(each for each in found if not isinstance(each, str))


@lru_cache(maxsize=1)
def _registry() -> Registry:
    """Our matchers and those of installed packages."""
    return SuiteResources(lambda file: ()).registry_for("", "")


def _json(value: object, what: str) -> object:
    """A JSON value; tuples become lists."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_json(inner, what) for inner in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json(inner, what) for key, inner in value.items()}
    kind = "a dict with keys that are not strings"
    kind = kind if isinstance(value, dict) else repr(type(value))
    raise BadExpectationError(f"{what} is not a JSON value: it contains {kind}")
