"""`mcptest compliance`, and the rules that every run is watched for."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from console import Ended, mcptest, run

from mcptest.cli.commands import compliance
from mcptest.cli.main import main

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "tests" / "captures"
BROKEN = CAPTURES / "INV-003.breaks.json"
KEPT = CAPTURES / "INV-003.keeps.json"
DIALOGUE_SERVER = ROOT / "tests" / "servers" / "dialogue_server.py"


def judged(folder: Path, *words: str) -> Ended:
    return mcptest(folder, "compliance", "invariants", *words)


def checked(folder: Path, *words: str) -> Ended:
    return mcptest(folder, "compliance", "check", *words)


def ids(ended: Ended) -> list[str]:
    [session] = ended.report()["sessions"]
    return [each["id"] for each in session["invariants"]]


def test_invariants_are_the_seven_and_check_is_all_rules(tmp_path: Path) -> None:
    words = ("--capture", str(CAPTURES / "BASE-21.breaks.json"), "--format", "json")
    seven, every = judged(tmp_path, *words), checked(tmp_path, *words)
    assert (seven.code, ids(seven)) == (0, [f"INV-00{number}" for number in range(1, 8)])
    assert (every.code, "BASE-21" in ids(every), len(ids(every)) > 100) == (1, True, True)


def test_check_has_the_output_and_exit_codes_of_invariants(tmp_path: Path) -> None:
    for capture, code in ((KEPT, 0), (BROKEN, 1), (tmp_path / "nowhere", 2)):
        for format in ("text", "json", "junit", "sarif"):
            words = ("--capture", str(capture), "--format", format)
            codes = judged(tmp_path, *words).code, checked(tmp_path, *words).code
            assert codes == (code, code)


def test_a_capture_that_keeps_all_rules_is_a_success(tmp_path: Path) -> None:
    ended = judged(tmp_path, "--capture", str(KEPT))
    assert (ended.code, ended.err) == (0, "")
    assert "✓ INV-003" in ended.out
    assert ended.out.endswith("1 session: no rule broken\n")


def test_a_capture_that_breaks_a_rule_is_a_failure_that_says_which(tmp_path: Path) -> None:
    ended = judged(tmp_path, "--capture", str(BROKEN))
    assert (ended.code, ended.err) == (1, "")
    assert "✗ INV-003 the server answered prompts/list and did not advertise" in ended.out
    assert ended.out.endswith("1 session: 1 rule broken\n")


@pytest.mark.parametrize(
    "source", ["/dev/stdin", "<(cat {})", "<(sleep 0.5; head -c 99 {}; sleep 0.5; tail -c +100 {})"]
)
def test_a_capture_may_be_read_from_a_pipe(tmp_path: Path, source: str) -> None:
    words = f"-m mcptest compliance invariants --capture {source.replace('{}', str(KEPT))}"
    shell = f"cat {KEPT} | {sys.executable} {words}"
    ended = run(["bash", "-c", shell], tmp_path, {})
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("1 session: no rule broken\n")


def test_reading_from_a_pipe_without_a_writer_times_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compliance, "_WRITER_PATIENCE_S", 0.2)
    monkeypatch.setattr(compliance, "_SILENCE_PATIENCE_S", 0.3)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["compliance", "invariants", "--capture", str(pipe)]) == 2
    assert "it is a pipe, and nothing was written to it within 0.2 s" in capsys.readouterr().err
    # The other end is open, and stays silent.
    holder = os.open(pipe, os.O_RDWR)
    try:
        assert main(["compliance", "invariants", "--capture", str(pipe)]) == 2
    finally:
        os.close(holder)
    assert "nothing came through it for 0.3 s" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["report", "report merge", "mock", "cases from", "docs"])
def test_other_commands_take_no_pipe_that_may_never_end(tmp_path: Path, words: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    ended = mcptest(tmp_path, *words.split(), "pipe")
    assert (ended.code, "it is not a regular file" in ended.err) == (2, True)


def test_the_json_has_exactly_the_promised_members(tmp_path: Path) -> None:
    ended = judged(tmp_path, "--capture", str(BROKEN), "--format", "json")
    report: dict[str, Any] = ended.report()
    assert set(report) == {"sessions", "composition", "passed"}
    [session] = report["sessions"]
    assert set(session) == {"server_label", "invariants"}
    [broken] = [each for each in session["invariants"] if each["id"] == "INV-003"]
    assert broken == {
        "id": "INV-003",
        "category": "capability",
        "status": "fail",
        "message": "the server answered prompts/list and did not advertise the capability prompts",
        "exchange": None,
    }
    assert (report["passed"], report["composition"]) == (False, [])


def test_the_same_capture_gives_the_same_bytes(tmp_path: Path) -> None:
    for format in ("text", "json", "junit", "sarif"):
        words = ("--capture", str(BROKEN), "--format", format)
        assert judged(tmp_path, *words).out == judged(tmp_path, *words).out


def test_junit_has_a_case_for_each_rule(tmp_path: Path) -> None:
    ended = judged(tmp_path, "--capture", str(BROKEN), "--format", "junit")
    suite = ElementTree.fromstring(ended.out).find("testsuite")
    assert suite is not None
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert (cases["INV-001"], cases["INV-003"], cases["INV-007"]) == ([], ["failure"], ["skipped"])


def test_sarif_has_a_result_for_each_finding(tmp_path: Path) -> None:
    ended = judged(tmp_path, "--capture", str(BROKEN), "--format", "sarif")
    [run] = json.loads(ended.out)["runs"]
    assert "INV-003" in [result["ruleId"] for result in run["results"]]


def test_sessions_together_can_clash(tmp_path: Path) -> None:
    one = json.loads(KEPT.read_text(encoding="utf-8"))
    listed = {"tools": [{"name": "search", "inputSchema": {"type": "object"}}]}
    one["exchanges"][2]["response"]["result"] = listed
    other = {**one, "server_label": "stdio://other"}
    (tmp_path / "two.json").write_text(json.dumps([one, other]), encoding="utf-8")
    report = judged(tmp_path, "--capture", "two.json", "--format", "json").report()
    assert [conflict["kind"] for conflict in report["composition"]] == [
        "tool_overlap",
        "id_collision",
    ]
    assert report["composition"][0]["tool"] == "search"
    text = judged(tmp_path, "--capture", "two.json")
    assert text.code == 1
    assert "tool_overlap: the tool search is offered by stdio://s and stdio://other" in text.out


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("{", "F002", "1:2"),
        ("3", "F008", "1:1"),
        ("[]", "F011", "1:3"),
        ('{"server_label": "x"}', "F007", "1:21"),
        ('{"exchanges": []}', "F007", "1:17"),
        ('{"server_label": 3, "exchanges": []}', "F008", "1:18"),
        ('{"server_label": "x",\n "exchanges": {}}', "F008", "2:15"),
        ('{"server_label": "x", "exchanges": [{}]}', "F007", "1:37"),
        ('{"server_label": "x", "exchanges": [{"request": 3}]}', "F008", "1:37"),
        ('{"server_label": "x", "exchanges": [{"request": {}, "response": 3}]}', "F008", "1:37"),
        ('{"server_label": "x", "server_capabilities": [], "exchanges": []}', "F008", "1:46"),
        ('{"server_label": "x", "exchanges": []} x', "F002", "1:40"),
        ("", "F005", "1:1"),
        ('{"server_label": "x", "exchanges": [{"request": {"id": 1e999}}]}', "F002", "1:37"),
        ('{"server_label": "x", "exchanges": [{"request": {}},]}', "F002", "1:53"),
        ('{"server_label": "x", "exchanges": [],}', "F002", "1:39"),
        ('{"server_label": "x", "exchanges": [], "exchanges": []}', "F003", "1:55"),
    ],
)
def test_a_malformed_capture_is_refused_with_its_place(
    text: str, code: str, place: str, tmp_path: Path
) -> None:
    (tmp_path / "c.json").write_text(text, encoding="utf-8")
    ended = judged(tmp_path, "--capture", "c.json")
    assert (ended.code, ended.out) == (2, "")
    assert f"error[{code}]" in ended.err
    assert f"c.json:{place}" in ended.err


def test_an_impossible_time_in_a_capture_causes_no_error(tmp_path: Path) -> None:
    capture = json.loads(KEPT.read_text(encoding="utf-8"))
    capture["exchanges"][0]["ms"] = {"request": 10**400}
    (tmp_path / "c.json").write_text(json.dumps(capture), encoding="utf-8")
    assert judged(tmp_path, "--capture", "c.json").code == 0


def test_the_example_in_the_documentation_keeps_all_rules(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "compliance.md").read_text(encoding="utf-8")
    example = page.split("```json\n")[1].split("```")[0]
    (tmp_path / "c.json").write_text(example, encoding="utf-8")
    assert judged(tmp_path, "--capture", "c.json").code == 0


def test_terminal_control_characters_are_escaped_in_json_as_well(tmp_path: Path) -> None:
    capture = json.loads(KEPT.read_text(encoding="utf-8"))
    capture["server_label"] = "stdio://\x9b2J\u202e"
    (tmp_path / "c.json").write_text(json.dumps(capture), encoding="utf-8")
    ended = judged(tmp_path, "--capture", "c.json", "--format", "json")
    assert ended.report()["sessions"][0]["server_label"] == "stdio://\x9b2J\u202e"
    assert "\x9b" not in ended.out
    assert "\u202e" not in ended.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compliance",), "takes the word run, invariants or check"),
        (("compliance", "invariant"), "not 'invariant'; did you mean invariants?"),
        (("compliance", "check"), "mcptest compliance check takes one capture, not 0"),
        (("compliance", "invariants"), "takes one capture, not 0"),
        (("compliance", "invariants", "a", "--capture", "b"), "not 2"),
        (("compliance", "invariants", "--capture", "nowhere.json"), "cannot read it"),
        (("compliance", "invariants", "--capture", "a", "--format", "jsn"), "did you mean json?"),
    ],
)
def test_bad_arguments_are_reported(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    ended = mcptest(tmp_path, *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


# Every run is watched


# The dialogue server answers prompts/list, which it does not advertise.
CASES = """\
_server: {command: %s, args: [%s]}
---
in: {"jsonrpc": "2.0", "id": 1, "method": "%s"}
out: {"jsonrpc": "2.0", "id": 1, "result": {}}
"""


def written(folder: Path, method: str) -> Path:
    text = CASES % (json.dumps(sys.executable), json.dumps(str(DIALOGUE_SERVER)), method)
    path = folder / "a.cases.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_run_tells_what_is_broken_and_fails_only_when_it_is_strict(tmp_path: Path) -> None:
    written(tmp_path, "prompts/list")
    ended = mcptest(tmp_path, "run")
    assert ended.code == 0
    assert "INV-003: the server answered prompts/list" in ended.out
    strict = mcptest(tmp_path, "run", "--strict-invariants")
    assert strict.code == 1
    assert "rules broken: INV-003" in strict.out


def test_a_run_without_a_finding_prints_nothing_and_its_report_has_the_verdicts(
    tmp_path: Path,
) -> None:
    written(tmp_path, "ping")
    ended = mcptest(tmp_path, "run", "--strict-invariants")
    assert (ended.code, "INV-" in ended.out) == (0, False)
    report = mcptest(tmp_path, "run", "--json").report()
    by_id = {each["id"]: each for each in report["invariants"]}
    assert (by_id["INV-001"]["status"], by_id["INV-005"]["status"]) == ("pass", "not_applicable")


def test_a_config_can_be_strict(tmp_path: Path) -> None:
    text = written(tmp_path, "prompts/list").read_text(encoding="utf-8")
    text = text.replace("_server: {", "_server: {strictInvariants: true, ")
    (tmp_path / "a.cases.yaml").write_text(text, encoding="utf-8")
    assert mcptest(tmp_path, "run").code == 1


def test_a_capture_of_a_run_gets_the_same_verdicts_as_the_run(tmp_path: Path) -> None:
    written(tmp_path, "prompts/list")
    report = mcptest(tmp_path, "run", "--json", "--capture", "c.json").report()
    live = {each["id"]: each["status"] for each in report["invariants"]}
    captured = checked(tmp_path, "--capture", "c.json", "--format", "json").report()
    [session] = captured["sessions"]
    assert live == {
        each["id"]: each["status"] for each in session["invariants"] if each["id"] in live
    }


def test_files_side_by_side_are_watched_as_well(tmp_path: Path) -> None:
    text = written(tmp_path, "prompts/list").read_text(encoding="utf-8")
    (tmp_path / "b.cases.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "run", "--parallel", "2", "--strict-invariants", "--json")
    report = ended.report()
    assert (ended.code, report["broken_rules"]) == (1, ["INV-003"])
    assert [found["kind"] for found in report["findings"]] == ["INV-003"]
