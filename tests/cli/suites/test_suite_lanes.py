"""The lanes of a suite: what `compliance` sees, and how checks that cannot run are reported."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest

SERVERS = Path(__file__).parents[2] / "servers"
SCRIPTED = str(SERVERS / "scripted_server.py")
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "scripted", "version": "1"},
}
CALLS = [{"name": "echoes", "tool": "echo", "args": {"text": "hi"}}]


def server(script: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    command = [sys.executable, "-S", "-E", SCRIPTED, json.dumps(script or {})]
    return {"command": command, "timeout": "20s", **keys}


def write(folder: Path, script: dict[str, Any] | None = None, **lanes: Any) -> None:
    """A suite with one server; JSON is YAML."""
    suite = {"servers": {"shop": server(script)}, **lanes}
    (folder / "mcptest.yaml").write_text(json.dumps(suite, indent=1), encoding="utf-8")


def ran(folder: Path, *words: str) -> tuple[dict[str, dict[str, Any]], Ended]:
    """The tests of a run by their names, and how it ended."""
    ended = mcptest(folder, "run", "--json", *words)
    suites = ended.report()["suites"]
    return {test["name"]: test for suite in suites for test in suite["tests"]}, ended


def checked(
    folder: Path, check: str, script: dict[str, Any] | None = None, **lanes: Any
) -> tuple[dict[str, Any], Ended]:
    """What became of one check against the scripted server."""
    write(folder, script, compliance=[{"name": "it", "check": check}], **lanes)
    tests, ended = ran(folder)
    return tests["it"], ended


# The checks


@pytest.mark.parametrize("check", ["initialize", "ping", "list", "invariants", "rules"])
def test_a_good_server_passes_every_check(tmp_path: Path, check: str) -> None:
    test, ended = checked(tmp_path, check)
    assert (test["status"], test["mismatches"], ended.code) == ("passed", [], 0)


WITHOUT_VERSION = {"serverInfo": {"name": "scripted"}}
PAGE = {"result": {"tools": [], "nextCursor": "a"}}
BREACHES: list[tuple[str, dict[str, Any], str]] = [
    (
        "initialize",
        {"initialize": {"result": HELLO | WITHOUT_VERSION}},
        "result.serverInfo.version",
    ),
    (
        "initialize",
        {"initialize": {"result": HELLO | {"capabilities": {"tools": True}}}},
        "result.capabilities.tools",
    ),
    ("initialize", {"initialize": {"result": HELLO | {"instructions": 5}}}, "result.instructions"),
    ("initialize", {"initialize": {"result": HELLO | {"_meta": {"-a": 1}}}}, "BASE-28"),
    ("ping", {"ping": {"result": {"pong": True}}}, "result"),
    ("ping", {"ping": {"error": {"code": -32601, "message": "no"}}}, "error"),
    ("list", {"tools/list": {"error": {"code": -1, "message": "no"}}}, "tools/list error"),
    ("list", {"tools/list": {"result": {}}}, "tools/list result.tools"),
    ("list", {"tools/list": {"result": {"tools": ["a"]}}}, "tools/list result.tools[0]"),
    ("list", {"tools/list": {"result": {"tools": [{}]}}}, "tools/list result.tools[0].name"),
    ("list", {"tools/list": PAGE}, "tools/list (page 2) result.nextCursor"),
    (
        "list",
        {"tools/list": {"result": {"tools": [], "nextCursor": None}}},
        "tools/list result.nextCursor",
    ),
    ("rules", {"ping": {"result": {}, "jsonrpc": "1.0"}}, "BASE-01"),
]


@pytest.mark.parametrize(("check", "script", "path"), BREACHES)
def test_a_violation_is_a_mismatch_that_names_its_place(
    tmp_path: Path, check: str, script: dict[str, Any], path: str
) -> None:
    write(tmp_path, script, compliance={"tests": ["ping", check] if check == "rules" else [check]})
    tests, ended = ran(tmp_path)
    test = tests[f"compliance: {check}"]
    assert test["status"] == "failed"
    assert [mismatch["path"] for mismatch in test["mismatches"]] == [path]
    assert ended.code == 1


def test_an_invariant_that_the_calls_of_a_suite_show_broken_fails_the_check(tmp_path: Path) -> None:
    call = {
        **CALLS[0],
        "expect": [{"target": "result.text", "matcher": {"exact": "hi"}}],
    }
    script = {"tools/call": {"result": {"text": "hi"}}}
    test, ended = checked(tmp_path, "invariants", script, tools=[call])
    (mismatch,) = test["mismatches"]
    assert mismatch["path"] == "INV-005"
    assert "neither a content array nor a structuredContent object" in mismatch["message"]
    assert mismatch["expected"].startswith("a successful tools/call result carries")
    assert mismatch["actual"] == {"times": 1, "first_in_exchange": 3}
    assert ended.code == 1


def test_a_rule_that_was_not_applicable_is_a_note_and_not_a_pass(tmp_path: Path) -> None:
    test, _ = checked(tmp_path, "invariants", tools=CALLS)
    assert test["status"] == "passed"
    assert "INV-006 does not apply: no error was sent" in test["notes"]
    assert not [note for note in test["notes"] if note.startswith("INV-001")]


def test_a_violated_recommendation_is_a_note(tmp_path: Path) -> None:
    test, ended = checked(tmp_path, "rules", {"stderr": "na\xefve\n"})
    (note,) = test["notes"]
    assert note.startswith("STDIO-08 is only recommended, and not followed: ")
    assert (test["status"], ended.code) == ("passed", 0)


def test_the_rules_see_what_the_other_checks_have_asked_for(tmp_path: Path) -> None:
    """A tool without a schema is known only from the list."""
    script = {"tools/list": {"result": {"tools": [{"name": "echo"}]}}}
    write(tmp_path, script, compliance={"tests": ["rules"]})
    tests, _ = ran(tmp_path)
    assert tests["compliance: rules"]["status"] == "passed"
    write(tmp_path, script, compliance={"tests": ["list", "rules"]})
    tests, _ = ran(tmp_path)
    assert tests["compliance: list"]["status"] == "passed"
    paths = [mismatch["path"] for mismatch in tests["compliance: rules"]["mismatches"]]
    assert "TOOL-03" in paths


def test_a_list_is_read_to_its_last_page(tmp_path: Path) -> None:
    wrong = {"result": {"tools": [{"name": 5}]}}
    test, _ = checked(tmp_path, "list", {"tools/list": [PAGE, wrong]})
    (mismatch,) = test["mismatches"]
    assert mismatch["path"] == "tools/list (page 2) result.tools[0].name"
    assert (mismatch["expected"], mismatch["actual"]) == ("match:type:string", 5)


def test_only_declared_lists_are_asked_for(tmp_path: Path) -> None:
    script: dict[str, Any] = dict.fromkeys(("prompts/list", "resources/list"), "exit")
    test, _ = checked(tmp_path, "list", script | {"initialize": {"result": HELLO}})
    assert test["status"] == "passed"


def test_a_server_that_declares_no_list_has_nothing_to_check_and_does_not_pass(
    tmp_path: Path,
) -> None:
    script = {"initialize": {"result": HELLO | {"capabilities": {}}}, "tools/list": "exit"}
    test, ended = checked(tmp_path, "list", script)
    reason = "the server declares none of tools, resources, prompts: there is nothing to list"
    assert (test["status"], test["reason"], ended.code) == ("skipped", reason, 7)
    assert "not_run" not in test


def test_a_server_of_resources_need_not_know_templates(tmp_path: Path) -> None:
    script = {
        "initialize": {"result": HELLO | {"capabilities": {"resources": {}}}},
        "resources/list": {"result": {"resources": [{"uri": "a:b", "name": "b"}]}},
    }
    test, ended = checked(tmp_path, "list", script)
    note = "the server does not know resources/templates/list: it has no templates"
    assert (test["status"], test["notes"], ended.code) == ("passed", [note], 0)


@pytest.mark.parametrize(("check", "method"), [("ping", "ping"), ("list", "tools/list")])
def test_a_check_whose_server_is_gone_is_an_error(tmp_path: Path, check: str, method: str) -> None:
    test, ended = checked(tmp_path, check, {method: "exit"})
    assert (test["status"], test["error"]["kind"]) == ("error", "exited_during_call")
    assert ended.code == 1


@pytest.mark.parametrize("check", ["initialize", "ping", "list", "invariants", "rules"])
def test_no_check_passes_on_a_server_that_never_opened_a_session(
    tmp_path: Path, check: str
) -> None:
    suite = {
        "servers": {"good": server(), "shop": server({"initialize": "exit"})},
        "tools": [{**CALLS[0], "server": "good"}],
        "compliance": [
            {"name": "first", "server": "shop", "check": check},
            {"name": "again", "server": "shop", "check": check},
        ],
    }
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    tests, ended = ran(tmp_path)
    for name in ("first", "again"):
        assert (tests[name]["status"], tests[name]["error"]["kind"]) == ("error", "exited_early")
    assert (tests["echoes"]["status"], ended.code) == ("passed", 1)


def test_judging_ends_the_session_and_the_next_test_has_a_note(tmp_path: Path) -> None:
    write(tmp_path, compliance={"tests": ["ping", "invariants", "rules", "ping"]})
    ended = mcptest(tmp_path, "run", "--json", "--capture", "all.json")
    (suite,) = ended.report()["suites"]
    assert [test["status"] for test in suite["tests"]] == ["passed"] * 4
    note = "a fresh server was started: the session before was ended to be judged"
    assert suite["tests"][3]["notes"] == [note]
    # The two judges have shared the one session that there was.
    sessions = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert len(sessions) == 2


def test_checks_start_no_second_server_and_leave_coverage_known(tmp_path: Path) -> None:
    write(tmp_path, tools=CALLS, compliance={}, coverage={"tools": 100})
    ended = mcptest(tmp_path, "run", "--json", "--capture", "all.json")
    report = ended.report()
    assert (ended.code, report["gates"], report["coverage"]["percent"]) == (0, [], 100.0)
    session = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    methods = [exchange["request"]["method"] for exchange in session["exchanges"]]
    # The first list is there for the schemas of the tools that the tests call.
    assert [method for method in methods if method in ("ping", "tools/list")] == [
        "tools/list",
        "ping",
        "tools/list",
    ]
    judged = mcptest(tmp_path, "compliance", "check", "--capture", "all.json")
    assert judged.code == 0


def test_checks_are_retried_and_run_side_by_side_like_other_tests(tmp_path: Path) -> None:
    script = {"ping": [{"result": {"late": 1}}, {"result": {}}]}
    write(tmp_path, script, compliance={"tests": ["ping", "rules"]}, tools=CALLS)
    tests, ended = ran(tmp_path, "--retries", "1", "--parallel", "2")
    assert (tests["compliance: ping"]["flaky"], ended.code) == (True, 0)


def test_a_revision_that_the_session_does_not_have_fails_every_check(tmp_path: Path) -> None:
    older = {"spec_version": "2025-06-18", "tests": ["initialize", "rules"]}
    write(tmp_path, compliance=older)
    tests, ended = ran(tmp_path)
    for test in tests.values():
        (mismatch,) = test["mismatches"]
        assert mismatch["path"] == "result.protocolVersion"
        assert (mismatch["expected"], mismatch["actual"]) == ("2025-06-18", "2025-11-25")
    assert ended.code == 1
    write(tmp_path, compliance=older | {"spec_version": "2025-11-25"})
    assert ran(tmp_path)[1].code == 0


def test_the_stateless_era_is_asked_for_like_any_revision(tmp_path: Path) -> None:
    write(tmp_path, tools=CALLS, compliance={"spec_version": "2026-07-28", "tests": ["ping"]})
    tests, ended = ran(tmp_path)
    (mismatch,) = tests["compliance: ping"]["mismatches"]
    assert (mismatch["expected"], mismatch["actual"]) == ("2026-07-28", "2025-11-25")
    assert ended.code == 1


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("handshake", "initialize"),
        ("Initialise", "initialize"),
        ("pong", "ping"),
        ("heartbeat", "ping"),
        ("tools/list", "list"),
        ("pagination", "list"),
        ("INV-003", "invariants"),
        ("conformance", "rules"),
        ("ruls", "rules"),
    ],
)
def test_other_names_of_a_check_are_answered_with_the_right_one(
    tmp_path: Path, written: str, meant: str
) -> None:
    for lane in ([{"name": "it", "check": written}], {"tests": ["ping", written]}):
        write(tmp_path, compliance=lane)
        ended = mcptest(tmp_path, "validate", "mcptest.yaml", "--json")
        (mistake,) = ended.report()["error"]["diagnostics"]
        assert mistake["code"] == "F009"
        assert mistake["message"] == f"there is no check {written!r}; did you mean {meant!r}?"
        assert mistake["help"] == "there are: initialize, ping, list, invariants, rules, active"
        assert (mistake["line"] > 1, ended.code) == (True, 2)


def test_a_name_that_resembles_nothing_is_answered_with_all_there_are(tmp_path: Path) -> None:
    write(tmp_path, compliance={"tests": ["everything"]})
    ended = mcptest(tmp_path, "validate", "mcptest.yaml", "--json")
    (mistake,) = ended.report()["error"]["diagnostics"]
    assert mistake["message"] == "there is no check 'everything'"


@pytest.mark.parametrize(
    ("lanes", "code", "words"),
    [
        ({"compliance": []}, "F011", '"compliance" is empty'),
        ({"compliance": {"tests": []}}, "F011", '"tests" is empty'),
        ({"compliance": {"tests": "ping"}}, "F008", '"tests" must be a list'),
        ({"compliance": {"tests": [1]}}, "F008", '"tests" must hold texts; number 1'),
        ({"compliance": {"test": ["ping"]}}, "F006", 'did you mean "tests"?'),
        ({"compliance": {"spec_version": "2025"}}, "F008", '"spec_version" must be one of'),
        ({"compliance": [{"name": "a", "check": 5}]}, "F008", '"check" must be text'),
        ({"compliance": [{"name": "a"}]}, "F007", 'needs the key "check"'),
        ({"agents": []}, "F011", '"agents" is empty'),
        (
            {"agents": [{"name": "a", "prompt": "b", "servers": ["shp"]}]},
            "F009",
            "there is no server 'shp'; did you mean 'shop'?",
        ),
        ({"security": {"fail_on": "some"}}, "F008", '"fail_on" must be one of'),
        ({"security": {"skip": ["SEC-099"]}}, "F009", "there is no rule 'SEC-099'"),
        (
            {"security": {"baseline": "none.yaml"}},
            "F001",
            "the baseline 'none.yaml': cannot read it",
        ),
        ({"evals": [{"name": "a", "prompt": "b", "rubric": {}}]}, "F007", '"criteria"'),
    ],
)
def test_a_mistake_in_a_lane_is_reported_once_with_its_place(
    tmp_path: Path, lanes: dict[str, Any], code: str, words: str
) -> None:
    write(tmp_path, tools=CALLS, **lanes)
    ended = mcptest(tmp_path, "validate", "mcptest.yaml", "--json")
    (mistake,) = ended.report()["error"]["diagnostics"]
    assert (mistake["code"], ended.code) == (code, 2)
    assert words in mistake["message"]
    assert mistake["line"] > 1


# What cannot be run

LEFT: dict[str, Any] = {
    "agents": [{"name": "refunds", "prompt": "Refund A-17", "tags": ["slow"]}],
    "evals": [{"name": "tone", "prompt": "Say no", "rubric": "It stays kind"}],
}
REASON = 'lane "{}" is not drivable by this version of mcptest; with one that can, run: {} '
REASONS = {
    "refunds": REASON.format("agents", "mcptest run"),
    "tone": REASON.format("evals", "mcptest eval"),
}
CLOSING = (
    "2 declared tests cannot be run by this version of mcptest, which fails the run; "
    "--allow-not-run accepts it"
)


def test_checks_that_cannot_run_are_reported_one_by_one_and_fail_the_run(tmp_path: Path) -> None:
    write(tmp_path, tools=CALLS, **LEFT)
    tests, ended = ran(tmp_path)
    for name, reason in REASONS.items():
        assert (tests[name]["status"], tests[name]["not_run"]) == ("skipped", True)
        assert tests[name]["reason"].startswith(reason)
    assert "not_run" not in tests["echoes"]
    report = ended.report()
    assert (report["not_run"], report["not_run_allowed"], ended.code) == (2, False, 1)


def test_with_allow_not_run_the_run_passes_if_any_test_passed(tmp_path: Path) -> None:
    write(tmp_path, tools=CALLS, **LEFT)
    tests, ended = ran(tmp_path, "--allow-not-run")
    assert (tests["tone"]["status"], tests["tone"]["not_run"]) == ("skipped", True)
    report = ended.report()
    assert (report["not_run"], report["not_run_allowed"], ended.code) == (2, True, 0)
    write(tmp_path, **LEFT)
    assert ran(tmp_path)[1].code == 1
    assert ran(tmp_path, "--allow-not-run")[1].code == 7


def test_a_terminal_says_not_run_and_how_to_accept_it(tmp_path: Path) -> None:
    write(tmp_path, tools=CALLS, **LEFT)
    ended = mcptest(tmp_path, "run")
    assert f"  - refunds (not run: {REASONS['refunds']}" in ended.out
    assert "skipped:" not in ended.out
    assert ended.out.endswith(CLOSING + "\n")
    accepted = mcptest(tmp_path, "run", "--allow-not-run")
    assert "2 declared tests cannot be run" in accepted.out
    assert "which --allow-not-run accepts\n" in accepted.out


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("-k", "refund"), {"refunds"}),
        (("-k", "tone", "-k", "echo"), {"tone", "echoes"}),
        (("--tag", "slow"), {"refunds"}),
        (("--skip-tag", "slow"), {"echoes", "tone"}),
        (("--tag", "all"), {"echoes", "refunds", "tone"}),
    ],
)
def test_selection_applies_to_what_cannot_be_run(
    tmp_path: Path, words: tuple[str, ...], names: set[str]
) -> None:
    write(tmp_path, tools=CALLS, defaults={"tags": ["all"]}, **LEFT)
    tests, ended = ran(tmp_path, *words)
    assert set(tests) == names
    assert ended.report()["not_run"] == len(names - {"echoes"})
    assert ended.code == 1


def test_a_run_without_such_a_test_among_the_selected_succeeds(tmp_path: Path) -> None:
    write(tmp_path, tools=CALLS, **LEFT)
    tests, ended = ran(tmp_path, "-k", "echoes")
    assert (set(tests), ended.report()["not_run"], ended.code) == ({"echoes"}, 0, 0)


def test_a_check_that_its_author_skips_is_only_skipped(tmp_path: Path) -> None:
    agent = {"name": "refunds", "prompt": "a", "skip": "not now"}
    write(tmp_path, tools=CALLS, agents=[agent])
    tests, ended = ran(tmp_path)
    assert (tests["refunds"]["reason"], ended.code) == ("not now", 0)
    assert "not_run" not in tests["refunds"]


def test_a_saved_run_keeps_what_was_not_run_and_whether_that_is_accepted(tmp_path: Path) -> None:
    write(tmp_path, tools=CALLS, **LEFT)
    for words, code in ((), 1), (("--allow-not-run",), 0):
        mcptest(tmp_path, "run", "--reporter", "json=run.json", *words)
        again = mcptest(tmp_path, "report", "run.json", "--format", "json")
        saved = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
        assert (again.report(), again.code) == (saved, code)
        shown = mcptest(tmp_path, "report", "run.json", "--format", "terminal")
        assert "- tone (not run: " in shown.out


def test_files_side_by_side_count_together(tmp_path: Path) -> None:
    write(tmp_path, tools=CALLS, **LEFT)
    other = tmp_path / "other.yaml"
    other.write_text((tmp_path / "mcptest.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    words = ("mcptest.yaml", "other.yaml", "--format", "suite", "--parallel", "2")
    _, ended = ran(tmp_path, *words)
    assert (ended.report()["not_run"], ended.code) == (4, 1)
    _, accepted = ran(tmp_path, *words, "--allow-not-run")
    assert (accepted.report()["not_run"], accepted.code) == (4, 0)


# Gates


def test_a_gate_of_a_suite_is_reported_as_one_of_the_command_line(tmp_path: Path) -> None:
    listed = [{"name": each, "inputSchema": {"type": "object"}} for each in ("echo", "other")]
    write(
        tmp_path, {"tools/list": {"result": {"tools": listed}}}, tools=CALLS, coverage={"tools": 80}
    )
    missed = "coverage of tools is 50.0 %, and the suite asks for 80 %; unused: other"
    ended = mcptest(tmp_path, "run", "--json", "--junit", "run.xml", "--reporter", "tap=run.tap")
    assert (ended.report()["gates"], ended.code) == ([missed], 6)
    assert "the gate is reached" in (tmp_path / "run.xml").read_text(encoding="utf-8")
    assert missed in (tmp_path / "run.tap").read_text(encoding="utf-8")
    both = mcptest(tmp_path, "run", "--json", "--min-coverage", "90")
    assert len(both.report()["gates"]) == 2
    assert f"gate missed: {missed}" in mcptest(tmp_path, "run").out


# Over several files


def test_checks_run_after_the_calls_of_imported_suites(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"tools/call": {"result": {"text": "hi"}}},
        imports=["more.yaml"],
        compliance=[{"name": "it", "check": "invariants"}],
        prompts=[{"name": "first", "prompt": "p", "expect": [FINE_OR_NOT]}],
    )
    call = {**CALLS[0], "expect": [{"target": "result", "matcher": {"exists": True}}]}
    (tmp_path / "more.yaml").write_text(json.dumps({"tools": [call]}), encoding="utf-8")
    tests, ended = ran(tmp_path)
    assert list(tests)[-1] == "it"
    assert (tests["it"]["status"], ended.code) == ("failed", 1)


FINE_OR_NOT = {"target": "duration_ms", "matcher": {"gte": 0}}


# What fails a run without failing a test


def test_an_invalid_schema_is_in_every_report_that_fails(tmp_path: Path) -> None:
    tool = {"name": "odd", "inputSchema": {"type": "objct"}}
    listed = {"result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}, tool]}}
    write(tmp_path, {"tools/list": listed}, tools=CALLS)
    words = ("--junit", "out.xml", "--reporter", "markdown=out.md", "--reporter", "minimal=out.txt")
    tests, ended = ran(tmp_path, *words)
    assert (tests["echoes"]["status"], ended.code) == ("passed", 1)
    assert ended.report()["broken_rules"] == ["bad_schema"]
    for name in ("out.xml", "out.md", "out.txt"):
        assert "bad_schema" in (tmp_path / name).read_text(encoding="utf-8")


# Thirty levels, each twice the next: no validator ever finishes.
BOMB = {
    "$ref": "#/$defs/d0",
    "$defs": {
        **{
            f"d{n}": {
                "allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2,
                "unevaluatedProperties": False,
            }
            for n in range(30)
        },
        "d30": {"type": "object"},
    },
}


@pytest.mark.parametrize("key", ["inputSchema", "outputSchema"])
def test_an_unreadable_schema_does_not_end_the_run(tmp_path: Path, key: str) -> None:
    tool = {"name": "odd", "inputSchema": {"type": "object"}, key: BOMB}
    write(tmp_path, {"tools/list": {"result": {"tools": [tool]}}}, tools=CALLS)
    tests, ended = ran(tmp_path)
    assert (tests["echoes"]["status"], ended.code) == ("passed", 1)
    (finding,) = [each for each in ended.report()["findings"] if each["kind"] == "bad_schema"]
    assert f"the {key} of the tool odd" in finding["message"]
    assert finding["message"].endswith("takes over 1 s to read")


def test_a_schema_that_refers_within_itself_is_read(tmp_path: Path) -> None:
    schema = {"type": "object", "$ref": "#/$defs/any", "$defs": {"any": {"type": "object"}}}
    tool = {"name": "odd", "inputSchema": schema, "outputSchema": schema}
    write(tmp_path, {"tools/list": {"result": {"tools": [tool]}}}, tools=CALLS)
    assert ran(tmp_path)[1].code == 0
