"""`each`: one test for each row, in test files, run by the real command against a real server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from console import PATIENCE_S, mcptest, write_suite
from matrix_runs import counts, greets, matrix
from matrix_runs import write as write_matrix
from test_features import echo, features, results, run, said, statuses
from watching import ENDS, Watching

if TYPE_CHECKING:
    from pathlib import Path


def echoes(rows: object, wants: str = "${wants}", **keys: Any) -> dict[str, Any]:
    return {
        "it": "echoes",
        "each": rows,
        "tool": "echo",
        "arguments": {"text": "${says}"},
        "expect": said(wants),
        **keys,
    }


ROWS = [{"says": "a", "wants": "a"}, {"says": "b", "wants": "not b"}, {"says": "c", "wants": "c"}]
CSV = "says,wants,kind\na,a,good\n\nb,not b,bad\n"


def test_every_row_is_a_test_with_its_own_name_line_and_verdict(tmp_path: Path) -> None:
    ended = run(tmp_path, echo("before"), echoes(ROWS), echo("after"))
    found = results(ended)
    assert {test["name"]: test["status"] for test in found} == {
        "before": "passed",
        "echoes [says=a]": "passed",
        "echoes [says=b]": "failed",
        "echoes [says=c]": "passed",
        "after": "passed",
    }
    lines = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8").splitlines()
    assert [lines[test["line"]].strip() for test in found[1:4]] == [
        f'"says": "{row["says"]}",' for row in ROWS
    ]
    assert "row" not in str(found[2].get("notes"))


def test_rows_are_read_from_a_file_and_a_failure_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text(CSV, encoding="utf-8")
    test = echoes({"file": "data/rows.csv"}, it="says ${says}", tags=["all", "${kind}"])
    ended = run(tmp_path, test)
    good, bad = results(ended)
    assert (good["name"], good["status"], good.get("notes")) == ("says a", "passed", None)
    assert (bad["name"], bad["status"]) == ("says b", "failed")
    assert bad["notes"] == ["its row is at data/rows.csv:4"]
    assert (good["tags"], bad["tags"]) == (["all", "good"], ["all", "bad"])
    shown = mcptest(tmp_path, "run", "a.test.mcp.yml").out
    assert "note: its row is at data/rows.csv:4" in shown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-k", "says=b"), ["echoes [says=b]"]),
        (("-k", "[says=c]"), ["echoes [says=c]"]),
        (("--tag", "good"), ["echoes [says=a]", "echoes [says=c]"]),
        (("--skip-tag", "good"), ["echoes [says=b]"]),
        (("--parallel", "2"), ["echoes [says=a]", "echoes [says=b]", "echoes [says=c]"]),
    ],
)
def test_rows_are_selected_by_name_and_tag(
    tmp_path: Path, words: tuple[str, ...], expected: list[str]
) -> None:
    kinds = ("good", "bad", "good")
    rows = [{**row, "kind": kind} for row, kind in zip(ROWS, kinds, strict=True)]
    ended = run(tmp_path, echoes(rows, tags="${kind}"), words=words)
    assert [test["name"] for test in results(ended)] == expected


def test_values_keep_their_types_and_may_be_patterns(tmp_path: Path) -> None:
    rows = [
        {"says": "one", "wants": "match:contains:n"},
        {"says": "two", "wants": "match:regex:^t"},
        {"says": "match:x", "wants": "match:equals:match:x"},
    ]
    assert statuses(run(tmp_path, echoes(rows))) == ["passed"] * 3
    # A row of JSON has numbers, one of CSV has not.
    add = {"it": "adds", "tool": "sum", "arguments": {"a": "${a}"}, "expect": said("match:exists")}
    (tmp_path / "rows.json").write_text('[{"a": 1}, {"a": [true]}]', encoding="utf-8")
    (tmp_path / "rows.csv").write_text("a\n1\n", encoding="utf-8")
    files = ("rows.json", "rows.csv")
    ended = run(
        tmp_path,
        *({**add, "each": {"file": file}} for file in files),
        words=("--capture", "c.json"),
    )
    assert len(results(ended)) == 3
    capture = json.dumps(json.loads((tmp_path / "c.json").read_text(encoding="utf-8")))
    for arguments in ('{"a": 1}', '{"a": [true]}', '{"a": "1"}'):
        assert f'"arguments": {arguments}' in capture


def test_columns_count_before_saved_values_and_rows_may_use_saved_values(tmp_path: Path) -> None:
    first = echo(
        "kept", capture={"says": "result.content[0].text", "old": "result.content[0].text"}
    )
    rows = [{"says": "row", "wants": "row"}, {"says": "${old}", "wants": "kept"}]
    last = echo("later", capture={"x": "result.content[0].text"}, arguments={"text": "${saved}"})
    saves = echoes(rows, capture={"saved": "result.content[0].text"})
    ended = run(tmp_path, first, saves, {**last, "expect": said("kept")})
    assert statuses(ended) == ["passed"] * 4


def test_a_row_can_be_skipped_and_retried(tmp_path: Path) -> None:
    rows = [
        {"says": "a", "wants": "a", "skip": False},
        {"says": "b", "wants": "x", "skip": "not yet"},
        {"says": "c", "wants": "x", "skip": False},
    ]
    ended = run(tmp_path, echoes(rows, skip="${skip}", retries=1))
    found = results(ended)
    assert [test["status"] for test in found] == ["passed", "skipped", "failed"]
    assert found[1]["reason"] == "not yet"
    assert found[2]["attempts"] == 2
    assert statuses(run(tmp_path, echoes(ROWS, skip=True), echo("x"))) == [
        *["skipped"] * 3,
        "passed",
    ]


def test_only_and_its_warning_are_there_once(tmp_path: Path) -> None:
    ended = run(tmp_path, echoes(ROWS, only=True), echo("x"))
    assert statuses(ended) == ["passed", "failed", "passed", "skipped"]
    assert [each["code"] for each in ended.report()["warnings"]] == ["W002"]


def test_a_dollar_brace_in_other_tests_is_still_plain_text(tmp_path: Path) -> None:
    ended = run(tmp_path, echoes(ROWS[:1]), echo("${says}"))
    assert statuses(ended) == ["passed", "passed"]


@pytest.mark.long
def test_every_way_of_the_matrix_has_every_row(tmp_path: Path) -> None:
    test = greets(it="greets", each=[{"tool": "greet"}, {"tool": "nobody"}])
    test["request"]["params"]["name"] = "${tool}"
    write_matrix(tmp_path, test, counts())
    report = matrix(tmp_path, "--json").report()
    shown = json.dumps(report)
    assert "greets [tool=greet]" in shown
    assert "greets [tool=nobody]" in shown


# Mistakes

MISTAKES = """\
description: d
server: {name: a, command: x, args: []}
tests:
  - it: columns
    each:
      - {path: a, text: b}
      - {path: a, txt: b}
      - 5
    tool: x
    expct: {}
  - it: values
    each:
      - {wants: "match:contains:a"}
      - {wants: "match:containz:a"}
      - {wants: "${nothing}"}
    tool: x
    expect: {response: {result: "${wants}"}}
  - it: csv
    each: {file: rows.csv}
    tool: "${tool}"
    expect: {response: {result: "match:lessThan:${most}"}}
  - it: csv again
    each: {file: rows.csv}
    tool: "${toool}"
    expect: {response: {result: 1}}
  - it: broken
    each: {file: broken.csv}
    tool: "${tool}"
    expect: {response: {result: 1}}
  - it: missing
    each: {file: missing.csv}
    tool: "${tool}"
    expect: {response: {result: 1}}
  - it: yaml
    each: {file: rows.yaml}
    tool: "${tool}"
    expect: {response: {result: 1}}
"""


def test_all_mistakes_are_reported_at_once_each_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.test.mcp.yml").write_text(MISTAKES, encoding="utf-8")
    # A second test file with the same mistake in the same rows.
    other = (
        MISTAKES[: MISTAKES.index("  - it: columns")]
        + MISTAKES[MISTAKES.index("  - it: broken") : MISTAKES.index("  - it: missing")]
    )
    (tmp_path / "b.test.mcp.yml").write_text(other, encoding="utf-8")
    (tmp_path / "rows.csv").write_text("tool,most\nx,5\ny,many\n", encoding="utf-8")
    (tmp_path / "broken.csv").write_text('tool,tool\nx\ny,"z\n', encoding="utf-8")
    (tmp_path / "rows.yaml").write_text("- tool: x\n- tool: 5\n", encoding="utf-8")
    ended = mcptest(tmp_path, "validate", "--json")
    assert ended.code == 2
    found = [
        (f"{each['file']}:{each['line']}:{each['column']}", each["code"])
        for each in ended.report()["error"]["diagnostics"]
    ]
    assert sorted(found) == sorted(
        [
            ("a.test.mcp.yml:7:19", "F006"),
            ("a.test.mcp.yml:8:9", "F008"),
            ("a.test.mcp.yml:10:5", "F006"),
            ("a.test.mcp.yml:14:24", "F012"),
            ("a.test.mcp.yml:15:17", "F020"),
            ("rows.csv:3:3", "F013"),
            ("a.test.mcp.yml:24:11", "F020"),
            ("broken.csv:1:6", "F003"),
            ("broken.csv:2:1", "F008"),
            ("broken.csv:3:3", "F002"),
            ("a.test.mcp.yml:31:18", "F001"),
            ("rows.yaml:2:9", "F008"),
        ]
    )


@pytest.mark.parametrize(
    ("row", "message", "help"),
    [
        ("a", "this row has 1 cell, and the first line 2", "write a comma for an empty cell, too"),
        (
            "a,b,c",
            "this row has 3 cells, and the first line 2",
            "put a cell that has a comma in it between double quotes",
        ),
    ],
)
def test_a_row_with_another_number_of_cells_is_explained(
    tmp_path: Path, row: str, message: str, help: str
) -> None:
    (tmp_path / "rows.csv").write_text(f"says,wants\n{row}\n", encoding="utf-8")
    write_suite(tmp_path / "a.test.mcp.yml", echoes({"file": "rows.csv"}), server=features())
    ended = mcptest(tmp_path, "validate")
    assert ended.code == 2
    assert f"error[F008]: {message}\n --> rows.csv:2:1\n" in ended.err
    assert f"= help: {help}\n" in ended.err


def test_a_row_that_refers_to_a_column_is_explained(tmp_path: Path) -> None:
    rows = [{"says": "${wants}", "wants": "a"}, {"says": "b", "wants": "b"}]
    write_suite(tmp_path / "a.test.mcp.yml", echoes(rows), server=features())
    test = {"name": "t", "each": rows, "tool": "echo", "args": {"text": "${says}${wants}"}}
    suite = {"servers": {"s": {"command": ["none"]}}, "tools": [test]}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    err = mcptest(tmp_path, "validate", ".").err
    assert "error[F020]: the value of a row cannot refer to a column, such as 'wants'\n" in err
    message = "'wants' is a column, to which values of rows and defaults cannot refer"
    assert f"error[F020]: {message}\n" in err


def test_a_file_of_rows_is_not_run_by_itself(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("says,wants\na,a\n", encoding="utf-8")
    ended = mcptest(tmp_path, "run", "rows.csv:2")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith(
        "  help: rows run with the test that names their file; -k TEXT selects some of them\n"
    )


def test_rows_outside_the_folders_of_the_run_are_refused_and_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("says,wants\nhush,hush\n", encoding="utf-8")
    folder = tmp_path / "project"
    folder.mkdir()
    write_suite(folder / "a.test.mcp.yml", echoes({"file": "../secret.csv"}), server=features())
    ended = mcptest(folder, "run")
    assert ended.code == 2
    assert "outside the folders of this run" in ended.err
    assert "hush" not in ended.out + ended.err
    assert mcptest(tmp_path, "run", "project").code == 0


# Watching


def test_a_change_of_the_rows_runs_their_tests_again(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("says,wants\na,a\n", encoding="utf-8")
    write_suite(tmp_path / "a.test.mcp.yml", echoes({"file": "rows.csv"}), server=features())
    command = Watching(tmp_path)
    try:
        command.wait_for("Ctrl-C ends it")
        assert "1 test: 1 passed" in command.text
        # Also while a mistake in them keeps the tests from being loaded.
        command.wait_for("F008", lambda: rows.write_text("says,wants\na\n", encoding="utf-8"))
        text = "says,wants\na,a\nb,b\n"
        command.wait_for("2 passed", lambda: rows.write_text(text, encoding="utf-8"))
        assert command.end() in ENDS
    finally:
        if command.process.poll() is None:
            command.process.kill()
        command.process.wait(PATIENCE_S)
