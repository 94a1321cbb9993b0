"""`each` in suites: every row is a test of its own, whatever an entry has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console import mcptest
from suite_runs import call, journal, outcomes, results_of, run_suite, server, text_is, write

if TYPE_CHECKING:
    from pathlib import Path

    from suite_runs import Keys

ROWS = [{"text": "a", "wants": "a"}, {"text": "b", "wants": "not b"}]


def echoes(**keys: object) -> Keys:
    return call(
        "echoes",
        **{"each": ROWS, "args": {"text": "${text}"}, "expect": text_is("${wants}")} | keys,
    )


def test_every_row_is_a_test_with_steps_of_its_own(tmp_path: Path) -> None:
    entry = {
        "name": "keeps",
        "each": [{"text": "one"}, {"text": "two"}],
        "setup": [
            {
                "tool": "create",
                "args": {"text": "${text}"},
                "capture": {"id": "result.structuredContent.id"},
            }
        ],
        "steps": [{"tool": "read", "args": {"id": "${id}"}, "expect": text_is("${text}")}],
        "teardown": [{"tool": "delete", "args": {"id": "${id}"}}],
    }
    ended = run_suite(tmp_path, {"tools": [entry]})
    assert outcomes(ended) == {"keeps [text=one]": "passed", "keeps [text=two]": "passed"}
    calls = [line.partition(" ")[0] for line in journal(tmp_path)]
    assert [each for each in calls if each in ("create", "read", "delete")] == [
        *("create", "read", "delete"),
        *("create", "read", "delete"),
    ]


def test_a_failure_has_the_line_of_its_row_or_of_its_step_and_names_the_row(tmp_path: Path) -> None:
    steps = {
        "name": "steps",
        "each": ROWS,
        "steps": [
            {"tool": "echo", "args": {"text": "${text}"}},
            {"tool": "echo", "args": {"text": "${text}"}, "expect": text_is("${wants}")},
        ],
    }
    ended = run_suite(tmp_path, {"tools": [echoes(), steps]})
    lines = (tmp_path / "mcptest.yaml").read_text(encoding="utf-8").splitlines()
    _, row, _, step = results_of(ended)
    assert '"text": "b"' in lines[row["line"]]
    assert '"tool": "echo"' in lines[step["line"]]
    assert step["line"] > row["line"]
    [note] = [note for note in step["notes"] if "row" in note]
    number = int(note.removeprefix("its row is at mcptest.yaml:"))
    assert '"text": "b"' in lines[number]
    assert number < step["line"]


def test_columns_count_before_variables_which_rows_may_use(tmp_path: Path) -> None:
    suite = {
        "variables": {"text": "variable", "other": "other"},
        "tools": [
            echoes(each=[{"text": "row", "wants": "row"}, {"text": "${other}", "wants": "other"}]),
            call("variable", args={"text": "${text}"}, expect=text_is("variable")),
        ],
    }
    assert set(outcomes(run_suite(tmp_path, suite)).values()) == {"passed"}


def test_columns_count_before_captured_values(tmp_path: Path) -> None:
    steps = [
        {
            "tool": "echo",
            "args": {"text": "captured"},
            "capture": {"text": "result.content[0].text"},
        },
        {"tool": "echo", "args": {"text": "${text}"}, "expect": text_is("${text}")},
    ]
    run_suite(tmp_path, {"tools": [{"name": "n", "each": [{"text": "row"}], "steps": steps}]})
    assert [line for line in journal(tmp_path) if line.startswith("echo")] == [
        'echo {"text": "captured"}',
        'echo {"text": "row"}',
    ]


def test_every_row_has_a_snapshot_of_its_own(tmp_path: Path) -> None:
    expect = [{"target": "result.content[0].text", "matcher": {"snapshot": True}}]
    suite = {"tools": [echoes(each=[{"text": "a"}, {"text": "b"}], expect=expect)]}
    assert run_suite(tmp_path, suite).code == 0
    kept = (tmp_path / "__snapshots__" / "mcptest.yaml.snap.yaml").read_text(encoding="utf-8")
    assert "echoes [text=a] > result.content[0].text" in kept
    assert "echoes [text=b] > result.content[0].text" in kept
    assert run_suite(tmp_path, None, CI="1").code == 0
    # One row more, and only that one is new.
    suite["tools"][0]["each"] = [{"text": "a"}, {"text": "b"}, {"text": "c"}]
    ended = run_suite(tmp_path, suite, CI="1")
    assert outcomes(ended) == {
        "echoes [text=a]": "passed",
        "echoes [text=b]": "passed",
        "echoes [text=c]": "failed",
    }


def test_rows_of_every_lane_of_calls_and_of_imported_files(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "rows.yaml").write_text(
        "- {a: 1, b: 2}\n- {a: 2, b: 5}\n", encoding="utf-8"
    )
    total = [{"target": "result.structuredContent.sum", "matcher": {"lt": "${b}"}}]
    adds = call(
        "adds",
        "add",
        server="a",
        each={"file": "rows.yaml"},
        args={"a": "${a}", "b": 1},
        expect=total,
    )
    write(tmp_path, {"servers": {"a": server()}, "tools": [adds]}, "more/mcptest.yaml")
    ended = run_suite(tmp_path, {"servers": {"b": server("b-")}, "imports": ["more/mcptest.yaml"]})
    assert outcomes(ended) == {"adds [a=1]": "failed", "adds [a=2]": "passed"}
    assert "its row is at more/rows.yaml:1" in results_of(ended)[0]["notes"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (echoes(args={"text": "${txt}"}), "nothing is known as 'txt'; did you mean ${text}?"),
        (echoes(each=[]), '"each" is empty: it tests nothing'),
        (echoes(each={"file": "a.csv", "sheet": 1}), '"each" has no key "sheet"'),
        (echoes(tool=5), '"tool" must be text and is a number'),
    ],
)
def test_a_mistake_is_reported_once(tmp_path: Path, entry: Keys, message: str) -> None:
    (tmp_path / "a.csv").write_text("text,wants\na,a\n", encoding="utf-8")
    write(tmp_path, {"servers": {"a": server()}, "tools": [entry]})
    mistakes = mcptest(tmp_path, "validate", "--json").report()["error"]["diagnostics"]
    assert [each["message"] for each in mistakes if message in each["message"]] != []
    assert len(mistakes) == 1, mistakes


# From a Conductor file


MIGRATED = """\
tests:
  - it: echoes
    each: [{text: a, wants: a}, {text: b, wants: not b}]
    tags: ["${text}"]
    tool: echo
    arguments: {text: "${text}"}
    expect: {response: {match:partial: {result: {content: [{text: "match:contains:${wants}"}]}}}}
  - it: "adds ${a}"
    each: {file: rows.json}
    request:
      jsonrpc: "2.0"
      id: 1
      method: tools/call
      params: {name: add, arguments: {a: "${a}", b: 1}}
    expect: {response: {match:partial: {result: {structuredContent: {sum: "${sum}"}}}}}
  - it: patterns
    each: [{wants: "match:exists"}]
    tool: echo
    expect: {response: {match:partial: {result: {content: [{text: "${wants}"}]}}}}
  - it: captures
    each: [{text: a}]
    tool: echo
    arguments: {text: "${text}"}
    expect: {response: {result: "match:exists"}}
    capture: {b: "result.content[0].text"}
"""


def test_a_test_file_with_rows_becomes_a_suite_with_the_same_verdicts(tmp_path: Path) -> None:
    program, *args = server()["command"]
    head = json.dumps({"name": "a", "command": program, "args": args})
    file = f"description: rows\nserver: {head}\n" + MIGRATED
    (tmp_path / "a.test.mcp.yml").write_text(file, encoding="utf-8")
    (tmp_path / "rows.json").write_text(
        '[{"a": 1, "sum": 2}, {"a": 2, "sum": 4}]', encoding="utf-8"
    )
    (tmp_path / "to").mkdir()
    ended = mcptest(tmp_path, "migrate", "a.test.mcp.yml", "-o", "to/mcptest.yaml")
    assert ended.code == 1
    assert "'patterns': one of its rows expects a pattern" in ended.err
    assert "'captures': it has rows, and shares values with other tests" in ended.err
    assert "file: ../rows.json" in (tmp_path / "to" / "mcptest.yaml").read_text(encoding="utf-8")
    before = outcomes(mcptest(tmp_path, "run", "a.test.mcp.yml", "--json"))
    after = outcomes(mcptest(tmp_path, "run", "to/mcptest.yaml", "--json"))
    assert after == {
        "echoes [text=a]": "passed",
        "echoes [text=b]": "failed",
        "adds 1": "passed",
        "adds 2": "failed",
    }
    assert {name: before[name] for name in after} == after
