"""`mcptest compliance run`: its reports, its gates, and the files it reads."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from active import check_server, compliance_run
from console import mcptest

from mcptest.compliance.checks import CHECKS
from mcptest.rules.all_rules import RULES

REFERENCE = Path(__file__).parents[2] / "servers" / "conformance" / "reference_server.py"
SERVER = (sys.executable, str(REFERENCE))
BROKEN = (*SERVER, "--break", "BASE-18")
ONE = ("--only", "BASE-18", "--spec-version", "2025-11-25")


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


# The whole report


@pytest.mark.long
def test_a_correct_server_has_the_best_grade_once_the_hints_say_what_it_lacks(
    tmp_path: Path,
) -> None:
    names = (
        *("slow_tool", "progress_tool", "eliciting_tool", "sampling_tool", "failing_tool"),
        *("resource_that_changes", "readonly_observer", "token", "other_token"),
    )
    hints = write(tmp_path, "hints.yml", "".join(f"{name}: none\n" for name in names))
    words = ("--spec-version", "2025-11-25", "--hints", hints, "--min-grade", "A+")
    found = check_server(*words, "--require-complete", "--", *SERVER)
    assert found.ids("failed", "could_not_run") == set()
    assert (found.code, found.report["grade"], found.report["verdict"]) == (0, "A+", "conformant")
    assert found.report["profile"] == "2025-11-25.1"


@pytest.mark.long
def test_without_hints_the_run_is_not_complete_and_the_gate_says_so() -> None:
    words = ("--spec-version", "2025-11-25", "--require-complete", "--min-grade", "A")
    found = check_server(*words, "--", *SERVER)
    assert (found.code, found.report["grade"], found.report["verdict"]) == (6, "A", "incomplete")
    assert "checks could not run, and --require-complete is given" in found.err
    assert {each["needs"] for each in found.checks().values()} >= {"slow_tool"}


@pytest.mark.long
def test_a_missed_grade_is_6_even_if_checks_failed() -> None:
    words = ("--spec-version", "2025-11-25", "--min-grade", "B")
    found = check_server(*words, "--", *BROKEN)
    assert (found.code, found.report["grade"], found.report["verdict"]) == (
        6,
        "C",
        "not conformant",
    )
    assert "the grade is C, and --min-grade is B" in found.err
    assert found.ids("failed") == {"BASE-18"}


# Formats


@pytest.mark.parametrize("format", ["text", "json", "junit", "sarif", "html", "markdown", "badge"])
def test_every_format_goes_to_standard_output_and_to_a_file(tmp_path: Path, format: str) -> None:
    file = tmp_path / "report"
    ended = compliance_run(*ONE, "--format", format, "-o", str(file), "--", *BROKEN)
    assert (ended.code, ended.out) == (1, "")
    text = file.read_text(encoding="utf-8")
    if format == "badge":
        assert "no grade" in text
    else:
        assert "BASE-18" in text
    if format in ("json", "sarif"):
        json.loads(text)
    elif format in ("junit", "badge"):
        ElementTree.fromstring(text)


def test_a_finding_shows_the_request_the_response_and_how_to_repeat_it(tmp_path: Path) -> None:
    found = check_server(*ONE, "--", *BROKEN)
    (check,) = found.report["checks"]
    assert (found.code, check["verdict"], check["level"]) == (1, "failed", "MUST")
    assert check["spec"]["url"].endswith("/specification/2025-11-25/basic#messages")
    assert '"method":"mcptest/unknown' in check["sent"][0]
    assert check["received"]
    words = check["repeat"].split()
    assert words[:3] == ["mcptest", "compliance", "run"]
    again = compliance_run(*words[3:])
    assert again.code == 1
    assert "✗ BASE-18" in again.out
    assert found.report["grade"] is None


def test_over_http_a_finding_has_a_curl_command(tmp_path: Path) -> None:
    url = "http://127.0.0.1:{port}/mcp"
    words = ("--url", url, "--", *BROKEN, "--http", "{port}")
    (check,) = check_server(*ONE, *words).report["checks"]
    assert check["verdict"] == "failed"
    assert check["curl"].startswith("curl -i -X POST http://127.0.0.1:")
    assert "--data-binary" in check["curl"]


def test_over_http_the_evidence_is_the_message_and_the_headers_that_matter(tmp_path: Path) -> None:
    url = "http://127.0.0.1:{port}/mcp"
    words = ("--url", url, "--", *BROKEN, "--http", "{port}")
    ended = compliance_run(*ONE, *words)
    received = ended.out.partition("    received  ")[2].partition("    repeat    ")[0]
    assert received.startswith("HTTP 200\n")
    assert "content-type: " in received
    assert '"result":' in received.replace(" ", "").replace("\n", "")
    assert "further header" in received
    assert "date: " not in received


def test_over_http_a_line_is_left_free_between_two_requests() -> None:
    url = "http://127.0.0.1:{port}/mcp"
    chosen = ("--only", "HTTP-13", "--spec-version", "2025-11-25", "--url", url)
    server = (*SERVER, "--break", "HTTP-13", "--http", "{port}")
    ended = compliance_run(*chosen, "--", *server)
    sent = ended.out.partition("    sent      ")[2].partition("    received  ")[0]
    lines = [line.strip() for line in sent.splitlines()]
    assert lines[0] == "DELETE /mcp"
    assert lines[lines.index("POST /mcp") - 1] == ""


def test_the_token_of_the_hints_is_not_given_twice(tmp_path: Path) -> None:
    hints = write(tmp_path, "hints.yml", "token: {secret_env: SHOP_TOKEN}\n")
    words = ("--hints", hints, "--bearer-env", "SHOP_TOKEN", "--url", "http://127.0.0.1:1/mcp")
    ended = compliance_run(*words, folder=tmp_path, SHOP_TOKEN="canary")
    assert (ended.code, ended.out) == (2, "")
    assert "--bearer-env and token in the file of --hints both give a token" in ended.err


def test_secrets_are_blanked_in_every_report(tmp_path: Path) -> None:
    server = (
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    info = {'name': os.environ['SHOP_TOKEN'], 'version': '1'}\n"
        "    result = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': info,\n"
        "              'leak': os.environ['SHOP_TOKEN']}\n"
        "    if 'id' in message:\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}),\n"
        "              flush=True)\n"
    )
    write(tmp_path, "server.py", server)
    hints = write(tmp_path, "hints.yml", "token: {secret_env: SHOP_TOKEN}\n")
    for format in ("text", "json", "junit", "sarif", "html", "markdown", "badge"):
        words = (*ONE, "--hints", hints, "--format", format, "--", sys.executable, "server.py")
        ended = compliance_run(*words, folder=tmp_path, SHOP_TOKEN="canary-of-the-shop")
        assert ended.code == 1
        assert "canary" not in ended.out + ended.err
        assert "[secret]" in ended.out or format == "badge"


def test_credentials_in_the_command_are_blanked_in_the_command_that_repeats_a_check() -> None:
    ended = compliance_run(*ONE, "--format", "json", "--", *BROKEN, "--auth", "canary-in-argv")
    assert ended.code == 1
    assert "canary" not in ended.out + ended.err
    assert "--auth [secret]" in ended.report()["checks"][0]["repeat"]


def test_the_list_has_every_check_with_its_section(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "compliance", "run", "--list")
    assert (ended.code, ended.err) == (0, "")
    ids = {check.id for check in CHECKS} | {rule.id for rule in RULES}
    assert all(f"{id} " in ended.out for id in ids if not id.startswith("INV-"))
    assert "server/tools, Output Schema" in ended.out


# Expected failures


def test_an_expected_failure_passes_the_run(tmp_path: Path) -> None:
    text = '- {check: BASE-18, server: "%s", reason: it is known, until: 2099-01-01}\n'
    name = check_server(*ONE, "--", *SERVER).report["server"]["name"]
    file = write(tmp_path, "expected.yml", text % name)
    found = check_server(*ONE, "--expected-failures", file, "--", *BROKEN)
    (check,) = found.report["checks"]
    assert (found.code, check["verdict"], check["expected"]) == (0, "failed", "it is known")


@pytest.mark.parametrize(
    ("server", "until", "problem"),
    [
        (SERVER, "2099-01-01", "BASE-18 is expected to fail and does not; take the entry out"),
        (BROKEN, "2020-01-01", "BASE-18 was expected to fail until 2020-01-01, which is past"),
    ],
)
def test_entries_that_are_out_of_date_fail_the_run(
    tmp_path: Path, server: tuple[str, ...], until: str, problem: str
) -> None:
    file = write(tmp_path, "e.yml", f"- {{check: BASE-18, reason: known, until: {until}}}\n")
    found = check_server(*ONE, "--expected-failures", file, "--", *server)
    assert (found.code, found.report["problems"]) == (1, [f"{file}:1: {problem}"])


@pytest.mark.parametrize(
    ("option", "text", "place", "message"),
    [
        ("--hints", "slow_tol: x\n", ":1:1", 'did you mean "slow_tool"?'),
        ("--hints", "token: abc\n", ":1:8", "must name the environment variable"),
        ("--expected-failures", "- {check: BASE-18}\n", ":1:3", 'needs the key "reason"'),
        ("--expected-failures", "- {check: BASE-1, reason: a}\n", ":1:11", "there is no check"),
    ],
)
def test_mistakes_in_files_are_2_with_their_place(
    tmp_path: Path, option: str, text: str, place: str, message: str
) -> None:
    file = write(tmp_path, "file.yml", text)
    ended = compliance_run(option, file, "--", "./never-started", folder=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert f"{file}{place}" in ended.err
    assert message in ended.err


def test_a_token_in_a_file_of_hints_is_not_repeated(tmp_path: Path) -> None:
    file = write(tmp_path, "file.yml", "token: canary-token\n")
    ended = compliance_run("--hints", file, "--", "./never-started", folder=tmp_path)
    assert (ended.code, "canary" in ended.err) == (2, False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--profile", "2025-11-25.99"), "--profile has no '2025-11-25.99'"),
        (("--min-grade", "E"), "--min-grade has no 'E'"),
        (("--min-grade", "A", "--only", "BASE"), "there is no grade for a part of the checks"),
        (("--hints", "nowhere.yml"), "nowhere.yml"),
        (("-o", "no/such/folder/report"), "there is no folder"),
        (("-o", "server.js", "--", "node", "server.js"), "is named in the command of the server"),
    ],
)
def test_bad_usage_is_2(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    command = () if "--" in words else ("--", "node", "server.js")
    ended = compliance_run(*words, *command, folder=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


# Suites


def suite(folder: Path, server: tuple[str, ...], tests: list[str], **more: Any) -> None:
    value = {
        "servers": {"shop": {"command": [*server]}},
        "compliance": {"spec_version": "2025-11-25", "tests": tests},
        **more,
    }
    (folder / "mcptest.yaml").write_text(json.dumps(value), encoding="utf-8")


CALL = {
    "name": "fails",
    "tool": "no_such_tool",
    "expect": [{"target": "result", "matcher": {"exists": True}}],
}


@pytest.mark.long
def test_active_checks_are_a_test_of_a_suite(tmp_path: Path) -> None:
    suite(tmp_path, BROKEN, ["ping", "active"])
    ended = mcptest(tmp_path, "run", "--json")
    tests = {test["name"]: test for each in ended.report()["suites"] for test in each["tests"]}
    assert (ended.code, tests["compliance: ping"]["status"]) == (1, "passed")
    active = tests["compliance: active"]
    assert active["status"] == "failed"
    assert [each["path"] for each in active["mismatches"]] == ["BASE-18"]
    suite(tmp_path, SERVER, ["active"])
    ended = mcptest(tmp_path, "run", "--json")
    assert ended.code == 0


def test_from_suite_runs_the_lane_and_nothing_else(tmp_path: Path) -> None:
    suite(tmp_path, SERVER, ["ping", "initialize"], tools=[CALL], security={})
    words = ("compliance", "run", "--from-suite", "mcptest.yaml", "--format", "json")
    ended = mcptest(tmp_path, *words)
    tests = [test["name"] for each in ended.report()["suites"] for test in each["tests"]]
    assert (ended.code, tests) == (0, ["compliance: ping", "compliance: initialize"])
    text = mcptest(tmp_path, *words[:-2])
    assert (text.code, "2 tests: 2 passed" in text.out) == (0, True)
    assert "coverage" not in text.out


@pytest.mark.long
def test_a_suite_shows_the_answer_that_is_wrong_and_not_that_of_a_later_request(
    tmp_path: Path,
) -> None:
    suite = {
        "servers": {"it": {"command": list(BROKEN)}},
        "compliance": {"spec_version": "2025-11-25", "tests": ["active"]},
    }
    write(tmp_path, "mcptest.yaml", json.dumps(suite))
    words = ("compliance", "run", "--from-suite", "mcptest.yaml", "--format", "json")
    ended = mcptest(tmp_path, *words)
    (test,) = (test for each in ended.report()["suites"] for test in each["tests"])
    assert (ended.code, test["status"]) == (1, "failed")
    (mismatch,) = test["mismatches"]
    assert mismatch["path"] == "BASE-18"
    check = check_server("--spec-version", "2025-11-25", "--", *BROKEN).checks()["BASE-18"]
    wrong, later = (json.loads(sent) for sent in check["sent"])
    assert later["method"] == "ping"
    assert json.loads(mismatch["actual"])["id"] == wrong["id"]


def test_a_suite_without_the_lane_has_nothing_to_run(tmp_path: Path) -> None:
    (tmp_path / "mcptest.yaml").write_text(
        json.dumps({"servers": {"shop": {"command": [*SERVER]}}, "tools": [CALL]}), encoding="utf-8"
    )
    ended = mcptest(tmp_path, "compliance", "run", "--from-suite", "mcptest.yaml")
    assert ended.code == 7
    assert 'no test matches the lane "compliance"' in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--only", "BASE"), "it does not go with --only"),
        (("--", "node", "server.js"), "it does not go with a command after --"),
        (("--format", "badge"), "which do not have the format badge"),
    ],
)
def test_options_that_conflict_with_from_suite_are_refused(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    suite(tmp_path, SERVER, ["ping"])
    ended = mcptest(tmp_path, "compliance", "run", "--from-suite", "mcptest.yaml", *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
