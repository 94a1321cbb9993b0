"""What a report makes of the results: expected failures, known causes, curl."""

from __future__ import annotations

import shlex
from typing import Any, NamedTuple

from mcptest.compliance.report import Judgement, Profile, build_report, curl_command
from mcptest.compliance.run import Settings
from mcptest.core.compliance import CheckResult, ComplianceReport
from mcptest.core.plan import ServerSpec
from mcptest.formats.lane_files import ExpectedFailure

REVISION = "2025-11-25"
PROFILE = Profile(
    id=f"{REVISION}.1", revision=REVISION, checks={"BASE-18": "MUST", "LOG-04": "SHOULD"}
)


class Ran(NamedTuple):
    """The part of a run that a report is made of."""

    results: list[CheckResult]
    settings: Settings = Settings()
    spec: ServerSpec = ServerSpec(name="x", command=("x",))
    server_info: dict[str, Any] = {"name": "shop", "version": "1.2.0"}  # noqa: RUF012  # not changed
    spoken: tuple[str, ...] = (REVISION,)
    transport: str = "stdio"
    is_interrupted: bool = False
    notes: tuple[str, ...] = ()


def result(id: str, verdict: Any = "failed", received: str = "", **more: Any) -> CheckResult:
    return CheckResult(
        id=id,
        name="a-check",
        family=id.partition("-")[0],
        level="MUST",
        revision=REVISION,
        transport="stdio",
        verdict=verdict,
        message="it broke",
        received=(received,) if received else (),
        **more,
    )


def report(ran: Ran, *expected: ExpectedFailure, today: str = "2026-11-18") -> ComplianceReport:
    judgement = Judgement(profiles={REVISION: PROFILE}, expected=expected, today=today)
    return build_report(ran, judgement, "", 1.0)  # type: ignore[arg-type]  # the part that is used


def entry(**keys: Any) -> ExpectedFailure:
    known: dict[str, Any] = {"check": "BASE-18", "reason": "known", "file": "e.yml", "line": 3}
    return ExpectedFailure(**{**known, **keys})


def test_an_expected_failure_fails_nothing_and_keeps_its_reason() -> None:
    for keys in ({}, {"server": "shop"}, {"server": "shop@1.2.0"}, {"until": "2026-11-18"}):
        found = report(Ran([result("BASE-18")]), entry(**keys))
        assert [(check.expected, check.verdict) for check in found.checks] == [("known", "failed")]
        assert (found.failures, found.problems) == ((), ())
        assert (found.grade, found.verdict) == ("F", "not conformant")


def test_an_entry_about_another_server_or_revision_changes_nothing() -> None:
    for keys in ({"server": "other"}, {"server": "shop@2"}, {"revision": "2025-06-18"}):
        found = report(Ran([result("BASE-18")]), entry(**keys))
        assert ([check.id for check in found.failures], found.problems) == (["BASE-18"], ())


def test_an_entry_about_a_check_that_did_not_run_is_none() -> None:
    assert report(Ran([result("BASE-18", "could_not_run")]), entry()).problems == ()
    assert report(Ran([result("LOG-04", "passed")]), entry()).problems == ()


def test_an_entry_past_its_day_is_a_problem_and_expects_nothing() -> None:
    found = report(Ran([result("BASE-18")]), entry(until="2026-11-17"))
    assert [check.id for check in found.failures] == ["BASE-18"]
    assert found.problems == (
        "e.yml:3: BASE-18 was expected to fail until 2026-11-17, which is past",
    )


def test_a_check_that_the_profile_does_not_have_is_pending() -> None:
    found = report(Ran([result("BASE-18", "passed"), result("NEW-01")]))
    assert [(check.id, check.is_pending) for check in found.checks] == [
        ("BASE-18", False),
        ("NEW-01", True),
    ]
    assert (found.failures, found.grade, found.verdict) == ((), "A+", "conformant")


def test_there_is_no_grade_for_a_part_of_the_checks() -> None:
    for settings in (Settings(only=("BASE",)), Settings(skip=("LOG",)), Settings(level="must")):
        found = report(Ran([result("BASE-18", "passed")], settings=settings))
        assert (found.grade, found.verdict) == ("", "incomplete")
    found = report(Ran([result("BASE-18", "passed")], is_interrupted=True))
    assert (found.grade, found.verdict) == ("", "incomplete")


# Known causes


def test_a_cause_is_named_only_if_the_evidence_shows_it() -> None:
    words = '{"id":1,"error":{"code":-32602,"message":"Invalid request parameters","data":""}}'
    issue = r'{"id":1,"error":{"code":-32603,"message":"[{\"code\": \"invalid_type\"}]"}}'
    task = "MCP error -32601: Tool a requires task augmentation (taskSupport: 'required')"
    for id, received, cause in (
        ("TASK-16", f'{{"result":{{"content":[{{"text":"{task}"}}]}}}}', "TypeScript SDK 1.x"),
        ("BASE-18", words, "Python SDK 1.x"),
        ("BASE-18", '{"id":1,"error":{"code":-32602,"message":"no"}}', ""),
        ("TOOL-03", words, ""),
        ("PROMPT-08", '{"error":{"code":0,"message":"Unknown prompt: x"}}', "Python SDK"),
        ("PROMPT-08", '{"error":{"code":0,"message":"no such thing"}}', ""),
        (
            "PROMPT-09",
            '{"error":{"code":0,"message":"Missing required arguments: x"}}',
            "Python SDK",
        ),
        ("BASE-42", "HTTP 202\nserver: uvicorn\ncontent-type: application/json", "Python SDK"),
        ("BASE-42", "HTTP 202\nserver: nginx\ncontent-type: application/json", ""),
        ("LOG-04", issue, "TypeScript SDK 1.x"),
        ("BASE-18", "", ""),
    ):
        (check,) = report(Ran([result(id, received=received)])).checks
        assert check.cause == cause
    (check,) = report(Ran([result("BASE-18", "passed", words)])).checks
    assert check.cause == ""


# The same without mcptest


def test_a_curl_command_sends_the_same_request() -> None:
    sent = (
        'POST /mcp\nContent-Type: application/json\nMcp-Session-Id: abc\nX-It: it\'s\n\n{"id":1}',
    )
    command = curl_command(sent, "http://127.0.0.1:3001/mcp")
    assert shlex.split(command) == [
        *("curl", "-i", "-X", "POST", "http://127.0.0.1:3001/mcp"),
        *("-H", "Content-Type: application/json"),
        *("-H", "Mcp-Session-Id: $SESSION"),
        *("-H", "X-It: it's"),
        *("--data-binary", '{"id":1}'),
    ]


def test_a_curl_command_sends_what_the_finding_is_about() -> None:
    offered = 'POST /mcp\n\n{"jsonrpc":"2.0","id":1,"method":"initialize"}'
    ended = 'POST /mcp\n\n{"jsonrpc":"2.0","method":"notifications/initialized"}'
    assert '"initialize"' in curl_command((offered, ended), "http://127.0.0.1/mcp")
    assert '"notifications/initialized"' in curl_command((ended,), "http://127.0.0.1/mcp")
    unknown = "POST /mcp\nMcp-Session-Id: mcptest-unknown-session-1\n\n{}"
    assert "$SESSION" not in curl_command((unknown,), "http://127.0.0.1/mcp")


def test_without_an_http_request_there_is_no_curl_command() -> None:
    assert curl_command(('{"id":1}',), "http://127.0.0.1/") == ""
    assert curl_command((), "http://127.0.0.1/") == ""
