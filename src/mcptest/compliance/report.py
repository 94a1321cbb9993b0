"""From the results of a run to its report: grade, expected failures, known causes. Pure."""

from __future__ import annotations

import re
import shlex

from mcptest.compliance.grade import give_grade, give_verdict
from mcptest.core.conformance import ConformanceReport
from mcptest.core.record import Record
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest.compliance.grade import Profile
    from mcptest.compliance.run import Run
    from mcptest.core.conformance import CheckResult
    from mcptest.formats.compliance import ExpectedFailure

__all__ = ["UNKNOWN", "Judgement", "build_report", "curl_command"]

# The beginning of names that the server cannot have.
UNKNOWN = "mcptest-unknown-"


class Judgement(Record):
    """By what a run is judged: the profiles by revision, the failures that are expected."""

    profiles: Mapping[str, Profile]
    expected: tuple[ExpectedFailure, ...] = ()
    today: str = ""


def build_report(
    run: Run, judgement: Judgement, started_at: str, duration_s: float
) -> ConformanceReport:
    """The report of a run that has ended."""
    name, version = run.server_info.get("name"), run.server_info.get("version")
    own_name = name if isinstance(name, str) else ""
    own_version = version if isinstance(version, str) else ""
    names = (own_name or run.spec.name, own_version)
    checks = [_with_cause(_with_profile(each, judgement.profiles)) for each in run.results]
    checks, problems = _expect(checks, judgement, names)
    settings = run.settings
    is_part = bool(settings.only or settings.skip or settings.level != "should")
    is_whole = not (is_part or run.is_interrupted)
    versions = run.spoken or dict.fromkeys(check.revision for check in checks)
    profiles = {each: judgement.profiles[each] for each in versions if each in judgement.profiles}
    letter, reason = "", "only a part of the checks was run"
    if not (checks or run.is_interrupted):
        reason = "no check could be made"
    if is_whole and checks:
        grade = give_grade(checks, profiles, has_session=bool(run.spoken))
        letter, reason = grade.letter, grade.reason
    return ConformanceReport(
        server=names[0],
        version=own_version,
        target=settings.target,
        transport=run.transport,
        revisions=tuple(run.spoken),
        profiles=tuple(profile.name for profile in profiles.values()),
        grade=letter,
        grade_reason=reason,
        verdict=give_verdict(checks, is_whole=is_whole),
        checks=tuple(checks),
        started_at=started_at,
        duration_s=duration_s,
        interrupted=run.is_interrupted,
        notes=tuple(run.notes),
        problems=problems,
    )


def _with_profile(check: CheckResult, profiles: Mapping[str, Profile]) -> CheckResult:
    profile = profiles.get(check.revision)
    return check.but(is_pending=profile is None or check.id not in profile.checks)


# Expected failures


def _expect(
    checks: Sequence[CheckResult], judgement: Judgement, names: tuple[str, str]
) -> tuple[list[CheckResult], tuple[str, ...]]:
    """The checks with the failures that are expected, and what is wrong with the entries."""
    marked = list(checks)
    problems = []
    for entry in judgement.expected:
        about = [
            index
            for index, check in enumerate(marked)
            if entry.is_about(check.id, check.revision, *names)
        ]
        found = [index for index in about if marked[index].verdict in ("failed", "warning")]
        is_known = any(marked[index].verdict in ("passed", "not_applicable") for index in about)
        where = f"{visible(entry.file)}:{entry.line}"
        if entry.until and entry.until < judgement.today:
            if about:
                problems.append(
                    f"{where}: {entry.check} was expected to fail until {entry.until}, which is "
                    "past"
                )
        elif found:
            for index in found:
                marked[index] = marked[index].but(expected=entry.reason)
        elif is_known:
            problems.append(
                f"{where}: {entry.check} is expected to fail and does not; take the entry out"
            )
    return marked, tuple(problems)


# Known causes


class _Cause(Record):
    """A mistake of an SDK that many servers have, known by the words of its messages."""

    ids: tuple[str, ...]
    words: str
    sdk: str


# Enough for the first answers; the time of a search may grow with the square of it.
_MAX_SEARCHED_CHARS = 20_000

_TYPESCRIPT = "TypeScript SDK 1.x"
_PYTHON = "Python SDK"
_CAUSES = (
    # A call with the member task is refused by a server without tasks, and run by one that has
    # them, whatever the tool supports.
    _Cause(
        ids=("TASK-01",),
        words=r'"code":-32603,"message":"Server does not support task creation',
        sdk=_TYPESCRIPT,
    ),
    _Cause(
        ids=("TASK-17",),
        words=r'"code":-32602,"message":"MCP error -32602: Invalid task creation result',
        sdk=_TYPESCRIPT,
    ),
    # It is reported like a failure of the tool.
    _Cause(
        ids=("TASK-16",),
        words="MCP error -32601: Tool .* requires task augmentation",
        sdk=_TYPESCRIPT,
    ),
    # A schema that a request does not meet is reported as an internal error, with its issues.
    _Cause(
        ids=("BASE-19", "LOG-04", "COMP-04", "PROMPT-09", "PROMPT-10", "TOOL-18"),
        words=r'"code":-32603.*(?:invalid_type|invalid_union|invalid_value|invalid_enum_value)',
        sdk=_TYPESCRIPT,
    ),
    _Cause(
        ids=("TOOL-18", "TOOL-16", "TOOL-17"),
        words=r"MCP error -32602: (?:Tool|Input validation)",
        sdk=_TYPESCRIPT,
    ),
    # Every request that is not understood gets the same error.
    _Cause(
        ids=("BASE-18", "LIFE-13", "LIFE-14", "LIFE-22"),
        words=r'"code":-32602,"message":"Invalid request parameters"',
        sdk=f"{_PYTHON} 1.x",
    ),
    # An exception of a handler becomes an error with the code 0, or an internal error.
    _Cause(
        ids=("PROMPT-08", "PROMPT-09"),
        words=r'"code":-32603,"message":"Internal server error"',
        sdk=_PYTHON,
    ),
    _Cause(
        ids=("BASE-27", "PROMPT-08", "PROMPT-09", "RES-07", "COMP-04"),
        words=r'"code":0,"message":"(?:Unknown (?:prompt|resource|tool)|Missing required arg)',
        sdk=_PYTHON,
    ),
    # An id that is neither a string nor an integer makes a request a notification.
    _Cause(
        ids=("BASE-42",),
        words=r"^HTTP 202\n(?=.*^server: uvicorn$)(?=.*^content-type: application/json$)",
        sdk=_PYTHON,
    ),
)


def _with_cause(check: CheckResult) -> CheckResult:
    if check.verdict not in ("failed", "warning"):
        return check
    text = "\n".join(check.received)[:_MAX_SEARCHED_CHARS]
    for cause in _CAUSES:
        if check.id in cause.ids and re.search(cause.words, text, re.DOTALL | re.MULTILINE):
            return check.but(cause=cause.sdk)
    return check


# The same request without mcptest


def curl_command(sent: Sequence[str], url: str) -> str:
    """A command that sends the last HTTP request of the evidence; "" if there is none.

    The end of a handshake has no answer that a finding could be about.
    """
    requests = [each for each in sent if re.match(r"[A-Z]+ /", each)]
    asked = [each for each in requests if '"method":"notifications/initialized"' not in each]
    if not requests:
        return ""
    head, _, body = (asked or requests)[-1].partition("\n\n")
    first, *headers = head.split("\n")
    method, _, target = first.partition(" ")
    origin = re.match(r"[a-z]+://[^/?#]*", url)
    words = ["curl", "-i", "-X", method, f"{origin[0] if origin else url}{target}"]
    parts = [shlex.join(words), *map(_header_option, headers)]
    if body:
        parts.append(shlex.join(["--data-binary", body]))
    return " ".join(parts)


def _header_option(header: str) -> str:
    name, _, value = header.partition(":")
    if name.lower() == "mcp-session-id" and not value.strip().startswith(UNKNOWN):
        # The session of the run has ended.
        return f'-H "{name}: $SESSION"'
    return shlex.join(["-H", header])
