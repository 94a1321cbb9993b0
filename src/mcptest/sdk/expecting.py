"""`expect(result).to_match({…})`: the matchers and the diffs of test files, in Python."""

from __future__ import annotations

import time

from mcptest.core.outcome import CaseResult
from mcptest.matching.builtins import builtin_registry
from mcptest.matching.compare import compare
from mcptest.matching.expectation import Compiler, written
from mcptest.matching.suite_words import SuiteWords
from mcptest.reporters.failure_text import render_result
from mcptest.sdk.verdict import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.diagnostics import Complaint

__all__ = ["BadExpectationError", "Expectations", "expect"]


class BadExpectationError(AssertionError, ValueError):
    """An expectation that makes no sense; it would be wrong to say that the value is."""


def expect(actual: object) -> Expectations:
    """What is to be asserted of a verdict, an answer or any JSON value."""
    return Expectations(actual.raw if isinstance(actual, Verdict) else actual, actual)


class Expectations:
    """Assertions about one value; each raises AssertionError with a diff, or returns itself."""

    def __init__(self, value: object, given: object) -> None:
        self._value = value
        self._given = given

    def to_match(self, expected: object) -> Expectations:
        """The value is what is written, where texts may be `match:` patterns."""
        compiler = Compiler(builtin_registry(time.time))
        compiled = compiler.compile(expected, None)
        return self._judged(compiled, compiler.complaints)

    def to_meet(self, matcher: dict[str, object]) -> Expectations:
        """The value meets a matcher of a suite, such as `{"contains": "sunny"}`."""
        complaints: list[Complaint] = []
        compiled = SuiteWords(builtin_registry(time.time), complaints).compile(matcher, None)
        return self._judged(compiled, complaints)

    def to_succeed(self) -> Expectations:
        """The tool reported no error."""
        if isinstance(self._given, Verdict) and not self._given.success:
            raise AssertionError(f"the tool reported an error: {self._given.error}")
        return self

    def to_fail(self) -> Expectations:
        """The tool reported an error."""
        if isinstance(self._given, Verdict) and self._given.success:
            raise AssertionError("the tool was expected to report an error, and did not")
        return self

    def _judged(self, compiled: object, complaints: list[Complaint]) -> Expectations:
        mistakes = [found for found in complaints if found.severity == "error"]
        if mistakes:
            first = mistakes[0]
            raise BadExpectationError(f"{first.message}{'; ' + first.help if first.help else ''}")
        mismatches = tuple(compare(compiled, self._value))
        if mismatches:
            result = CaseResult(
                name="",
                status="failed",
                line=0,
                mismatches=mismatches,
                expected=written(compiled),
                actual=self._value,
            )
            lines = render_result(result, columns=100, verbose=False, is_on_terminal=False)
            raise AssertionError("\n".join(line.text for line in lines))
        return self
