"""`mcptest validate`: equal warnings in one line, and JSON of one shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from console import case, mcptest, write_suite

if TYPE_CHECKING:
    from pathlib import Path

_DIAGNOSTIC = {
    "type": "object",
    "additionalProperties": False,
    "required": ["code", "file", "line", "column", "message", "help"],
    "properties": {
        "code": {"pattern": "^[A-Z][0-9]{3}$"},
        "file": {"type": "string"},
        "line": {"type": "integer"},
        "column": {"type": "integer"},
        "message": {"type": "string", "minLength": 1},
        "help": {"type": "string"},
    },
}
_LIST = {"type": "array", "items": _DIAGNOSTIC}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        *("version", "tool", "tool_version", "files", "tests", "warnings", "notes", "error")
    ],
    "properties": {
        "version": {"const": 1},
        "tool": {"const": "mcptest"},
        "tool_version": {"type": "string"},
        "files": {"type": "integer", "minimum": 0},
        "tests": {"type": "integer", "minimum": 0},
        "warnings": _LIST,
        "notes": {"type": "array", "items": {"type": "string"}},
        "error": {
            "anyOf": [
                {"type": "null"},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["kind", "message", "diagnostics"],
                    "properties": {
                        "kind": {"type": "string"},
                        "message": {"type": "string", "minLength": 1},
                        "diagnostics": _LIST,
                    },
                },
            ]
        },
    },
}
FOREIGN = "suite: a\ntemplates: [a.yaml]\ntests:\n  - it: renders\n    asserts: []\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files with five warnings: four of one kind, and one of another."""
    for name in ("a", "b"):
        slipped = [case(f"test {number}", stderr="toBeEmpty") for number in (1, 2)]
        write_suite(tmp_path / f"{name}.test.mcp.yml", *slipped)
    write_suite(tmp_path / "c.test.mcp.yml", case("test", performance={"maxResponseTime": 5000}))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        ((".",), 0, None),
        (("c.test.mcp.yml",), 0, None),
        (("wrong.test.mcp.yml",), 2, "bad_file"),
        ((".", "wrong.test.mcp.yml"), 2, "bad_file"),
        (("nope.yml",), 2, "usage"),
        (("--nope",), 2, "usage"),
        (("-c", "nope.json"), 2, "usage"),
        (("*.nope",), 7, "nothing_selected"),
    ],
)
def test_its_json_has_one_shape_however_it_ends(
    folder: Path, words: tuple[str, ...], code: int, kind: str | None
) -> None:
    if "wrong.test.mcp.yml" in words:
        (folder / "wrong.test.mcp.yml").write_text("description: x\ntests: 5\n", encoding="utf-8")
    ended = mcptest(folder, "validate", "--json", *words)
    report = ended.report()
    jsonschema_rs.validate(SCHEMA, report)
    assert ended.code == code
    assert (report["error"] and report["error"]["kind"]) == kind
    if words[0] == ".":
        assert (report["files"], report["tests"], len(report["warnings"])) == (3, 5, 5)


def test_equal_warnings_are_one_line_with_their_number_and_the_first_place(folder: Path) -> None:
    ended = mcptest(folder, "validate")
    line = (
        'warning[W001]: "stderr" belongs under "expect"; it is read as if it were there '
        "(and 3 more, first at a.test.mcp.yml:"
    )
    assert ended.err.count("warning[") == 2
    assert line in ended.err
    # A single one is shown with its line.
    assert "--> c.test.mcp.yml:" in ended.err
    assert ended.out == "3 files with 5 tests: no mistakes\n"


def test_verbose_shows_every_place(folder: Path) -> None:
    ended = mcptest(folder, "validate", "-v")
    assert ended.err.count("warning[") == ended.err.count("--> ") == 5
    assert "more, first at" not in ended.err


def test_warnings_are_folded_beside_mistakes_too(folder: Path) -> None:
    (folder / "wrong.test.mcp.yml").write_text("description: x\ntests: 5\n", encoding="utf-8")
    ended = mcptest(folder, "validate")
    assert ended.code == 2
    assert ended.err.count("warning[") == 2
    assert ended.err.count("error[") == 1


def test_a_warning_in_a_file_with_mistakes_is_a_warning(folder: Path) -> None:
    for name in ("a", "b"):
        path = folder / f"{name}.test.mcp.yml"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("{", '{"nope": 1, ', 1), encoding="utf-8")
    ended = mcptest(folder, "validate", "--json")
    report = ended.report()
    assert {each["code"][0] for each in report["error"]["diagnostics"]} == {"F"}
    assert {each["file"] for each in report["warnings"]} == {
        *("a.test.mcp.yml", "b.test.mcp.yml", "c.test.mcp.yml")
    }
    assert "(and 3 more, first at a.test.mcp.yml:" in ended.err
    assert ended.err.count("error[") == 2


# Files of other tools


@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_file_of_another_tool_is_skipped_with_a_note(folder: Path, command: str) -> None:
    (folder / "deploy_test.yaml").write_text(FOREIGN, encoding="utf-8")
    for path in (".", "*"):
        ended = (
            mcptest(folder, command, path, "--server-command", "nothing-of-the-kind")
            if (command == "run")
            else mcptest(folder, command, path)
        )
        assert ended.err.count("deploy_test.yaml") == 1
        assert (
            "note: skipped deploy_test.yaml: it is not a test file of mcptest (no message under "
            "in or out); name it to check it\n"
        ) in ended.err
        assert ended.code == (3 if command == "run" else 0)


def test_the_json_of_validate_has_the_note(folder: Path) -> None:
    (folder / "deploy_test.yaml").write_text(FOREIGN, encoding="utf-8")
    [note] = mcptest(folder, "validate", "--json").report()["notes"]
    assert note.startswith("skipped deploy_test.yaml: ")


def test_a_file_of_another_tool_that_is_named_is_checked(folder: Path) -> None:
    (folder / "deploy_test.yaml").write_text(FOREIGN, encoding="utf-8")
    for words in (("deploy_test.yaml",), (".", "deploy_test.yaml"), (".", "--format", "cases")):
        ended = mcptest(folder, "validate", *words)
        assert ended.code == 2
        assert 'a case has no key "suite"' in ended.err
        assert "skipped" not in ended.err


def test_a_folder_with_nothing_else_has_no_tests(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"n{number}_test.yaml").write_text(FOREIGN, encoding="utf-8")
    ended = mcptest(tmp_path, "run")
    assert ended.code == 7
    assert "no test file found in this folder" in ended.err
    assert ended.err.count("it is not a test file of mcptest") == 5
    assert "skipped 3 more of the kind" in ended.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a_test.yaml", "case: a\nin: {method: custom}\nout: {result: {}}\nto: 1\n"),
        ("a_test.yml", '{"case": "a", "in": {"jsonrpc": "2.0", "method": "ping"}, "ot": 1}'),
        ("a.cases.yaml", FOREIGN),
        ("a.test.mcp.yml", "apiVersion: v1\n"),
        ("mcptest.yaml", "version: 2\n"),
    ],
)
def test_a_mistake_in_a_file_of_ours_is_never_skipped(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "validate", ".")
    assert ended.code == 2
    assert "skipped" not in ended.err
