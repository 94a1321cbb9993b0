"""`expect(result).to_match({…})`: the matchers and the diffs of test files, in Python."""

from __future__ import annotations

import threading
from collections import deque
from functools import lru_cache

from mcptest.core.errors import CheckError, PatternTimeoutError
from mcptest.core.results import CaseResult
from mcptest.core.text import visible
from mcptest.core.value_class import Record
from mcptest.engine.loading import SuiteResources
from mcptest.engine.server import make_bare_launcher
from mcptest.matching.compare import compare, source_of
from mcptest.matching.compiler import Compiler
from mcptest.matching.suite_matchers import SuiteMatchers
from mcptest.protocol.jsonrpc import tool_failure
from mcptest.reporters.failure_text import render_result, stderr_lines
from mcptest.sdk.errors import ContractError, hide_secrets, quote_json
from mcptest.transport.process.isolated import judge_in_child, silence_fork_warnings
from mcptest.transport.process.signals import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.diagnostics import PathDiagnostic
    from mcptest.core.results import Mismatch
    from mcptest.matching.registry import Registry

__all__ = [
    "BadExpectationError",
    "Expectations",
    "Verdict",
    "expect",
    "read_verdict",
    "remember_stderr",
]


# pytest leaves the frames of this module out of tracebacks.
__tracebackhide__ = True

_PATTERN_LIMIT = CpuLimit(2.0)
# In a process of its own, by the clock: on a large string the signal is handled late.
_APART_S = 10.0
_COLUMNS = 100


# The last answers that came with something on stderr: plain JSON has no place for it.
_REMEMBERED: deque[tuple[tuple[object, ...], str]] = deque(maxlen=8)


def remember_stderr(stderr: str, *values: object) -> None:
    """Show this when an expectation about one of the values fails."""
    if stderr:
        _REMEMBERED.appendleft((values, stderr))


def _recall_stderr(actual: object) -> str:
    # By identity: an equal value need not be part of that answer. Python shares numbers, and
    # strings of one character.
    is_shared = not isinstance(actual, (dict, list, str)) or (
        isinstance(actual, str) and len(actual) < 2
    )
    for values, stderr in () if is_shared else _REMEMBERED:
        if any(value is actual for value in values):
            return stderr
    return ""


class BadExpectationError(AssertionError, ValueError):
    """An invalid expectation; it says nothing about the value."""


def expect(actual: object) -> Expectations:
    """Assertions about a verdict, an answer or any JSON value."""
    return Expectations(actual)


class Expectations:
    """Assertions about one value; each raises AssertionError with a diff, or returns itself."""

    def __init__(self, actual: object) -> None:
        self._verdict = actual if isinstance(actual, Verdict) else None
        self._value = _to_json(self._verdict.raw if self._verdict else actual, "the value")
        self._stderr = self._verdict.stderr if self._verdict else _recall_stderr(actual)

    def to_match(self, expected: object) -> Expectations:
        """The value equals what is written, where strings may be `match:` patterns."""
        compiler = Compiler(_load_registry())
        compiled = compiler.compile(_to_json(expected, "what is expected"), None)
        self._judge(compiled, compiler.diagnostics, "has_regex" in compiler.flags.take())
        return self

    def to_meet(self, matcher: dict[str, object]) -> Expectations:
        """The value meets a matcher of a suite, such as `{"contains": "sunny"}`."""
        diagnostics: list[PathDiagnostic] = []
        words = SuiteMatchers(_load_registry(), diagnostics)
        compiled = words.compile(_to_json(matcher, "the matcher"), None)
        self._judge(compiled, diagnostics, "has_regex" in words.flags.take())
        return self

    def to_succeed(self) -> Expectations:
        """The tool reported no error."""
        verdict = self._verdict_for("to_succeed")
        if not verdict.success:
            said = visible(hide_secrets(verdict.error or ""), keep_newlines=True)
            if not isinstance(verdict.raw.get("isError"), bool):
                raise self._failure(f"the tool did not succeed: {said}")
            raise self._failure(f"the tool reported an error: {said}")
        return self

    def to_fail(self) -> Expectations:
        """The tool reported an error."""
        verdict = self._verdict_for("to_fail")
        if verdict.success:
            text = visible(hide_secrets(verdict.text or ""), keep_newlines=True)
            said = f"; it said: {text}" if text else ""
            message = "the tool was expected to report an error, and did not"
            raise self._failure(f"{message}{said}")
        if not isinstance(verdict.raw.get("isError"), bool):
            message = "the tool was expected to report an error"
            raise self._failure(f"{message}: {visible(verdict.error or '')}")
        return self

    def _failure(self, message: str) -> AssertionError:
        """The error with this message, and what the server wrote to stderr meanwhile."""
        lines = stderr_lines(hide_secrets(self._stderr))
        return AssertionError("\n".join([message, *(line.text for line in lines)]))

    def _verdict_for(self, name: str) -> Verdict:
        if self._verdict is None:
            message = f"{name}() is about what call_tool() returned, and this is another value"
            raise BadExpectationError(message)
        return self._verdict

    def _judge(self, compiled: object, diagnostics: list[PathDiagnostic], has_regex: bool) -> None:
        if diagnostics:
            messages = (f"{each.message}; {each.help}".removesuffix("; ") for each in diagnostics)
            raise BadExpectationError(hide_secrets("\n".join(messages)))
        try:
            mismatches = self._find_mismatches(compiled, has_regex)
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
            stderr=self._stderr,
        )
        # Before rendering, which may cut a secret in two.
        lines = render_result(hide_secrets(result), columns=_COLUMNS, verbose=False)
        raise AssertionError("\n".join(line.text for line in lines).strip("\n"))

    def _find_mismatches(self, compiled: object, has_regex: bool) -> tuple[Mismatch, ...]:
        """The mismatches. The time of regular expressions is limited."""

        def judge() -> tuple[Mismatch, ...]:
            return tuple(compare(compiled, self._value))

        if not has_regex:
            return judge()
        # Only the main thread handles the timer's signal.
        if threading.current_thread() is not threading.main_thread():
            return _judge_in_process(judge)
        with _PATTERN_LIMIT:
            return judge()


def _judge_in_process(judge: Callable[[], tuple[Mismatch, ...]]) -> tuple[Mismatch, ...]:
    """The result of `judge` in a forked process, whose main thread handles the timer's signal."""

    def bounded() -> tuple[Mismatch | str, ...]:
        try:
            with _PATTERN_LIMIT:
                return judge()
        except PatternTimeoutError as error:
            return (error.pattern,)

    with silence_fork_warnings():
        found = judge_in_child(bounded, _APART_S, make_bare_launcher())
    for each in found:
        if isinstance(each, str):
            raise PatternTimeoutError(_PATTERN_LIMIT.seconds, each)
    return tuple(each for each in found if not isinstance(each, str))


@lru_cache(maxsize=1)
def _load_registry() -> Registry:
    """Our matchers and those of installed packages."""
    return SuiteResources(lambda file: ()).registry


def _to_json(value: object, what: str) -> object:
    """A JSON value; tuples become lists."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_to_json(inner, what) for inner in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _to_json(inner, what) for key, inner in value.items()}
    kind = "a dict with keys that are not strings"
    kind = kind if isinstance(value, dict) else repr(type(value))
    raise BadExpectationError(f"{what} is not a JSON value: it contains {kind}")


# The verdict of a tool call: as the binary declares it, or derived from the server's answer.


_FIELDS = ("success", "data", "text", "error", "duration_ms")
_UNLESS = 'unless it is the server that says "success": mcptest call shows its answer'


class Verdict(Record):
    """The outcome of a tool call. `raw` is the server's answer, or one made from a verdict.

    `data` is its structured content, `text` its text blocks joined by newlines, `stderr` what the
    server wrote to stderr during the call, `progress` what it reported of it, if asked to.
    """

    success: bool
    data: Any = None
    text: str | None = None
    error: str | None = None
    duration_ms: float = 0.0
    raw: dict[str, Any] = {}  # noqa: RUF012  # records are not changed
    stderr: str = ""
    progress: list[dict[str, Any]] | None = None


def read_verdict(result: object, took_ms: float, stderr: str = "") -> Verdict:
    """The verdict in a result of `mcp.call`; `ContractError` if it has neither shape."""
    if not isinstance(result, dict):
        raise ContractError(f"contract drift: the result of mcp.call is {quote_json(result)}")
    # Only a verdict has this member.
    if "success" in result:
        return _read_declared(result).but(stderr=stderr)
    content = result.get("content")
    texts = [
        block["text"]
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    ]
    text = "\n".join(texts) if texts else None
    error = tool_failure(result, text or "the tool reported an error")
    return Verdict(
        success=not error,
        data=result.get("structuredContent"),
        text=text,
        error=error or None,
        duration_ms=took_ms,
        raw=result,
        stderr=stderr,
    )


def _read_declared(result: dict[str, Any]) -> Verdict:
    surplus = [key for key in result if key not in _FIELDS]
    if surplus:
        raise _contract_error(f"a verdict has no field {quote_json(surplus[0])}")
    missing = [key for key in _FIELDS if key not in result]
    if missing:
        raise _contract_error(f'a verdict without "{missing[0]}"')
    success, text, error = result["success"], result["text"], result["error"]
    took_ms = result["duration_ms"]
    is_right = (
        isinstance(success, bool)
        and (text is None or isinstance(text, str))
        and (error is None or isinstance(error, str))
        and isinstance(took_ms, (int, float))
        and not isinstance(took_ms, bool)
    )
    if not is_right:
        raise _contract_error(f"{quote_json(result)} is not a verdict")
    # An answer with this verdict, for paths that look into it.
    shown = error if text is None else text
    raw: dict[str, Any] = {"content": [] if shown is None else [{"type": "text", "text": shown}]}
    if result["data"] is not None:
        raw["structuredContent"] = result["data"]
    return Verdict(
        success=success,
        data=result["data"],
        text=text,
        error=error,
        duration_ms=took_ms,
        raw={**raw, "isError": not success},
    )


def _contract_error(message: str) -> ContractError:
    return ContractError(f"contract drift: {message}; {_UNLESS}")
