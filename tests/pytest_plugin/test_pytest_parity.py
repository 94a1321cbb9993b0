"""Both fronts agree: a file has the same verdicts and the same messages in pytest and in a run."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from good_server import MODES
from sessions import SERVERS, call, cases_of, mcptest, pytest_in, text, write_conductor, write_suite

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
VERDICTS = {"passed": "passed", "skipped": "skipped", "failed": "failed", "error": "failed"}

# Every fault that needs no argument.
for module in ("faults_in_bytes", "faults_in_messages", "faults_in_life", "faults_in_flow"):
    __import__(module)


def flat(words: str) -> str:
    """Without what differs from one process to the next: times and process ids."""
    words = re.sub(r"\d[\d.,]* ?(ms|s)\b", "N s", words)
    return re.sub(r"\s+", " ", re.sub(r"\b\d[\d,]{2,}\b", "N", words))


def reported_by(test: dict[str, Any]) -> list[str]:
    """Every sentence about a test in a JSON report that is shown to people."""
    found = [f"{each['path']}: {each['message']}" for each in test.get("mismatches") or ()]
    fault = test.get("error") or {}
    found += [f"{fault['kind']}: {fault['message']}"] if fault else []
    return [*found[:10], *(test.get("notes") or ())]


def assert_same(folder: Path, *words: str, options: tuple[str, ...] = ()) -> None:
    ran = mcptest(folder, "run", ".", "--json", *words)
    report = json.loads(ran.out)
    assert "suites" in report, ran.out
    ended = pytest_in(folder, "--junitxml", "report.xml", "-rs", *options)
    # What fails after a test that failed itself is a second entry of the same name.
    entries = [
        (each.attrib["classname"], each.attrib["name"], each)
        for each in cases_of(folder / "report.xml")
    ]
    here = {(place, name): each for place, name, each in reversed(entries)}
    names = {name for place, name in here if not place.endswith(".lanes")}
    has_lanes = len(names) < len(here)
    run = [test for suite in report["suites"] for test in suite["tests"]]
    # Lanes that pytest skips are run, or not, by the command.
    run = [test for test in run if not has_lanes or test["name"] in names]
    items = [here.pop((place, name)) for place, name, _ in entries if (place, name) in here]
    items = [each for each in items if not each.attrib["classname"].endswith(".lanes")]
    assert run, ran.out
    assert len(items) == len(run), ended.out
    for test, item in zip(run, items, strict=True):
        tags = [child.tag for child in item if child.tag in ("failure", "skipped")]
        verdict = {"failure": "failed", "skipped": "skipped"}[tags[0]] if tags else "passed"
        message = "".join(child.text or "" for child in item)
        message += " ".join(each.attrib.get("value", "") for each in item.iter("property"))
        assert verdict == VERDICTS[test["status"]], (test["name"], message, ended.out)
        for sentence in reported_by(test):
            assert flat(sentence) in flat(message), (test["name"], message)
    assert (ended.code == 0) == (ran.code == 0), ended.out


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "contract",
        "failing",
        "filesystem",
        "http",
        "notes",
        "plugins/geo",
        "pytest",
        "rows",
        "suite",
    ],
)
def test_an_example_ends_as_in_a_run(tmp_path: Path, name: str) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    folder = tmp_path / "examples" / name
    for file in folder.glob("test_*.py"):
        file.unlink()
    assert_same(folder)


@pytest.mark.parametrize("name", ["contract", "filesystem", "notes"])
def test_an_example_passes_as_a_whole(name: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / name, tmp_path / name)
    assert pytest_in(tmp_path / name).summary == "7 passed"


@pytest.mark.long
def test_rows_are_the_same_tests(tmp_path: Path) -> None:
    rows = [{"says": "a", "wants": "a"}, {"says": "b", "wants": "x"}, {"says": "b", "wants": "b"}]
    (tmp_path / "rows.csv").write_text("says,wants\na,a\nb::c[1],x\n", encoding="utf-8")
    keys: dict[str, Any] = {"arguments": {"text": "${says}"}, "tags": ["tag_${says}"]}
    one = call("one", "echo", text("${wants}"), **keys, each=rows)
    two = call("two", "echo", text("${wants}"), **keys, each={"file": "rows.csv"})
    write_conductor(tmp_path / "a.test.mcp.yml", one, two)
    assert_same(tmp_path)
    ended = pytest_in(tmp_path, "--collect-only", "-q")
    ids = [line for line in ended.out.splitlines() if "::" in line]
    assert [id.rpartition("::mcptest::")[2].partition("::")[2] for id in ids] == [
        "one [says=a, wants=a]",
        "one [says=b, wants=x]",
        "one [says=b, wants=b]",
        "two [says=a]",
        "two [says=b: :c[1]]",
    ]
    for id in ids:
        assert pytest_in(tmp_path, id).summary in ("1 passed", "1 failed")
    assert pytest_in(tmp_path, "-m", "tag_a").summary == "2 passed, 3 deselected"
    assert pytest_in(tmp_path, "-k", "one and wants=x").code in (1, 4)


# Which of two faults it meets first is a matter of time.
RACY = {"ask-and-never-listen"}


def needs_argument(program: Any) -> bool:
    handler = getattr(program, "__wrapped__", None)
    # A handler of one method gets the request and a good answer before its own arguments.
    return bool(handler.__code__.co_argcount > 2 if handler else program.__code__.co_argcount)


PLAIN = sorted(mode for mode, program in MODES.items() if not needs_argument(program))
PLAIN = [mode for mode in PLAIN if mode not in RACY]


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, len(PLAIN), 8))
def test_a_server_with_a_fault_has_the_same_verdicts(tmp_path: Path, start: int) -> None:
    for mode in PLAIN[start : start + 8]:
        script = [str(SERVERS / "fault_server.py"), mode]
        keys: dict[str, Any] = {"command": sys.executable, "args": ["-S", "-E", *script]}
        tests = [call("one", "echo", text("x"), arguments={"text": "x"}), call("two", "echo")]
        file = tmp_path / f"{mode}.test.mcp.yml"
        write_conductor(file, *tests, name=mode, timeout=1000, startupTimeout=3000, **keys)
    assert_same(tmp_path)


def expecting(name: str, tool: str, expect: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return {"it": name, "tool": tool, "arguments": arguments, "expect": expect}


@pytest.mark.long
def test_messages_beside_the_answers_are_checked(tmp_path: Path) -> None:
    right = {"response": "match:type:object"}
    write_conductor(
        tmp_path / "a.test.mcp.yml",
        expecting("is quiet", "count", right | {"stderr": "toBeEmpty"}),
        expecting("is not quiet", "count", right | {"stderr": "match:contains:nothing"}),
        expecting("ends", "die", {"exitCode": 3}),
        expecting("ends otherwise", "die", {"exitCode": 4}),
        expecting("is quick", "count", right | {"performance": {"maxResponseTime": "30s"}}),
        expecting("is slow", "slow", right | {"performance": {"maxResponseTime": "1ms"}}, ms=50),
        {"it": "has no notification", "tool": "count", "expect": right | {"notifications": [{}]}},
        {"it": "pings", "request": {"jsonrpc": "2.0", "id": 1, "method": "ping"}, "expect": right},
        call("flaky", "flaky", text("ok"), arguments={"until": 2}, retries=1),
        call("left out", "count", skip="not today"),
    )
    assert_same(tmp_path)


@pytest.mark.parametrize("isolation", ["run", "file", "test"])
def test_servers_live_as_long_as_in_a_run(tmp_path: Path, isolation: str) -> None:
    for name in ("a", "b", "c"):
        tests = [call(f"{name}{n}", "count", text(str(n))) for n in (1, 2)]
        other = "sdk" if name != "b" else "other"
        write_conductor(tmp_path / f"{name}.test.mcp.yml", *tests, name=other, isolation=isolation)
    assert_same(tmp_path)


@pytest.mark.parametrize(
    "keys",
    [
        {"performance": {"p95_ms": 10_000}},
        {"performance": {"p95_ms": 1}},
        {"coverage": {"tools": 1}},
        {"coverage": {"tools": 100}},
    ],
    ids=str,
)
def test_gates_of_a_whole_run_are_checked(tmp_path: Path, keys: dict[str, Any]) -> None:
    tools = [{"name": "takes a while", "tool": "slow", "args": {"ms": 20}}]
    write_suite(tmp_path / "mcptest.yaml", tools=tools, **keys)
    assert_same(tmp_path)


def test_a_strict_config_fails_the_run_when_a_rule_is_broken(tmp_path: Path) -> None:
    test = call("asks", "ask", arguments={"method": "elicitation/create"})
    keys: dict[str, Any] = {"client": {"elicitation": [{"action": "accept"}]}}
    for is_strict in (False, True):
        write_conductor(tmp_path / "a.test.mcp.yml", test, strictInvariants=is_strict, **keys)
        assert (mcptest(tmp_path, "run", ".").code == 1) == is_strict
        assert_same(tmp_path)


def test_a_snapshot_is_written_and_held_against_the_next_answer(tmp_path: Path) -> None:
    expect = [{"target": "result.content[0].text", "matcher": {"snapshot": True}}]
    tools = [{"name": "counts", "tool": "count", "expect": expect}]
    write_suite(tmp_path / "mcptest.yaml", tools=tools)
    ended = pytest_in(tmp_path)
    assert (ended.summary, "1 snapshot written" in ended.out) == ("1 passed", True), ended.out
    assert (tmp_path / "__snapshots__" / "mcptest.yaml.snap.yaml").exists()
    tools.insert(0, {"name": "counts before", "tool": "count"})
    write_suite(tmp_path / "mcptest.yaml", tools=tools)
    assert pytest_in(tmp_path).summary == "1 failed, 1 passed"
    assert_same(tmp_path)


@pytest.mark.parametrize("way", ["option", "ini"])
def test_a_trace_is_sent_and_shown_as_in_a_run(tmp_path: Path, way: str) -> None:
    expected = {"response": {"match:partial": {"result": {"other": 1}}}}
    test = {"it": "says it", "tool": "say", "arguments": {}, "expect": expected}
    config = {"command": sys.executable, "args": [str(SERVERS / "traced_server.py"), "log"]}
    suite = {"description": "a", "server": {"name": "traced", **config}, "tests": [test]}
    (tmp_path / "a.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")
    if way == "ini":
        (tmp_path / "pytest.ini").write_text("[pytest]\nmcptest_trace = true\n", encoding="utf-8")
    assert_same(tmp_path, "--trace", options=("--mcptest-trace",) if way == "option" else ())
    lines = map(json.loads, (tmp_path / "log").read_text(encoding="utf-8").splitlines())
    sent = [each["meta"] for each in lines if each["method"] == "tools/call"]
    # Once by the command, once by pytest.
    assert len(set(sent)) == 2
    (entry,) = cases_of(tmp_path / "report.xml")
    shown = re.findall(r"trace: ([0-9a-f]{32})", "".join(entry.itertext()))
    assert shown
    assert shown[0] in sent[1]
