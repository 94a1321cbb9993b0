"""Under `--json` standard output is exactly one JSON object, however the command ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from console import case, conductor, mcptest, write_config, write_suite

if TYPE_CHECKING:
    from pathlib import Path

NO_TESTS = {"total": 0, "passed": 0, "failed": 0, "errors": 0, "skipped": 0, "flaky": 0}
MEMBERS = {
    "version",
    "tool",
    "tool_version",
    "started_at",
    "duration_ms",
    "server",
    "summary",
    "suites",
    "warnings",
    "findings",
    "invariants",
    "composition",
    "coverage",
    "gates",
    "broken_rules",
    "not_run",
    "not_run_allowed",
    "error",
    "interrupted",
    "interrupted_in",
    "bailed",
    "selected",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    write_suite(
        tmp_path / "mixed.test.mcp.yml",
        case("good"),
        case("bad", wants={"say": "other"}),
        case("dies", "die"),
        case("later", skip="not yet"),
    )
    write_suite(tmp_path / "good.test.mcp.yml", case("grüße 🙂", params={"say": "grüße 🙂"}))
    (tmp_path / "wrong.yml").write_text("tests: []\n", encoding="utf-8")
    return tmp_path


def test_the_report_has_the_verdict_on_every_test(folder: Path) -> None:
    ended = mcptest(folder, "run", "mixed.test.mcp.yml", "--json")
    assert (ended.code, ended.err) == (1, "")
    report = ended.report()
    # It is there when a server was reached.
    assert set(report) - {"spoken"} == MEMBERS
    assert (report["version"], report["tool"], report["error"]) == (1, "mcptest", None)
    assert report["summary"] == {
        "total": 4,
        "passed": 1,
        "failed": 1,
        "errors": 1,
        "skipped": 1,
        "flaky": 0,
    }
    (suite,) = report["suites"]
    assert (suite["name"], suite["file"], suite["format"], suite["server"]) == (
        "mixed",
        "mixed.test.mcp.yml",
        "conductor",
        "tiny",
    )
    tests: list[dict[str, Any]] = suite["tests"]
    assert [(test["name"], test["status"]) for test in tests] == [
        ("good", "passed"),
        ("bad", "failed"),
        ("dies", "error"),
        ("later", "skipped"),
    ]
    assert tests[1]["mismatches"] == [
        {
            "path": "result.say",
            "expected": "other",
            "actual": "bad",
            "message": "differs",
            "hint": "",
        }
    ]
    assert tests[2]["error"]["kind"] == "exited_during_call"
    assert tests[3]["reason"] == "not yet"


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (("run", "good.test.mcp.yml", "--json"), 0, None),
        (("run", "--json", "wrong.yml"), 2, "bad_file"),
        (("run", "--json", "nope.yml"), 2, "usage"),
        (("run", "--json", "--nope"), 2, "usage"),
        (("run", "--nope", "--json"), 2, "usage"),
        (("run", "--json", "--timeout"), 2, "usage"),
        (("run", "--json", "-c", "nope.json"), 2, "usage"),
        (("run", "--json", "--reporter", "json=no/such/folder/x"), 2, "usage"),
        (("nope", "--json"), 2, "usage"),
        (("--json",), 2, "usage"),
        (("run", "--json", "good.test.mcp.yml", "--server-command", "no-such-thing"), 3, "spawn"),
        (("run", "--json", "*.nope"), 7, "nothing_selected"),
        (("run", "--json", "-k", "nope"), 7, "nothing_selected"),
        (("run", "--reporter", "json", "nope.yml"), 2, "usage"),
        (("run", "--reporter=json", "good.test.mcp.yml"), 0, None),
    ],
)
def test_standard_output_is_one_object_however_it_ends(
    folder: Path, words: tuple[str, ...], code: int, kind: str | None
) -> None:
    ended = mcptest(folder, *words)
    report = ended.report()
    assert ended.code == code
    # It is there when a server was reached.
    assert set(report) - {"spoken"} == MEMBERS
    if kind is None:
        assert report["error"] is None
    else:
        assert report["error"]["kind"].startswith(kind)
        assert report["error"]["message"]
        assert (report["suites"], report["summary"]) == ([], NO_TESTS)


def test_the_conductor_command_keeps_the_same_promise(folder: Path) -> None:
    assert conductor(folder, "*.nope", "--json").report()["error"]["kind"] == "nothing_selected"


def test_mistakes_in_files_are_listed_with_their_places(folder: Path) -> None:
    report = mcptest(folder, "run", "--json", "wrong.yml").report()
    assert report["error"]["diagnostics"] == [
        {
            "code": "F007",
            "file": "wrong.yml",
            "line": 1,
            "column": 1,
            "message": 'a test file needs the key "description"',
            "help": "",
        },
        {
            "code": "F011",
            "file": "wrong.yml",
            "line": 1,
            "column": 1,
            "message": '"tests" is empty: a file without tests checks nothing',
            "help": "",
        },
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_the_object_is_utf8_whatever_the_locale_says(folder: Path, encoding: str) -> None:
    write_config(folder / "conductor.config.json", env={"PYTHONIOENCODING": "utf-8"})
    ended = mcptest(folder, "run", "good.test.mcp.yml", "--json", PYTHONIOENCODING=encoding)
    assert ended.code == 0
    assert ended.report()["suites"][0]["tests"][0]["name"] == "grüße 🙂"


def test_warnings_stay_inside_the_object(folder: Path) -> None:
    write_suite(folder / "good.test.mcp.yml", case("a", stderr="toBeEmpty"))
    ended = mcptest(folder, "run", "good.test.mcp.yml", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert [warning["code"] for warning in ended.report()["warnings"]] == ["W001"]
