"""`mcptest migrate` loses nothing: no test between two names, and no file that is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from console import mcptest

from mcptest.cli.migrate_suite import file_names
from mcptest.formats.document import read_document

CONDUCTOR = (".test.mcp.yml", ".test.mcp.yaml")
CASES = ("--to", "cases", "-o")
FORCED = ("--force",)
ONE = "servers: {s: {command: [run]}}\ntools: [{name: a, tool: t}]\n"


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def suite_of(*servers: str) -> str:
    """A suite with a test for each of these servers, called after it."""
    return json.dumps(
        {
            "servers": {name: {"command": ["run"]} for name in servers},
            "tools": [{"name": f"on {name}", "server": name, "tool": "t"} for name in servers],
        }
    )


def contents(folder: Path) -> dict[str, str]:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return {str(each.relative_to(folder)): each.read_text(encoding="utf-8") for each in files}


# Names of files


@pytest.mark.parametrize(
    ("servers", "marks"),
    [
        (("shop", "clock"), ("shop", "clock")),
        (("a/b", "a b", "a_b"), ("a-b", "a-b-2", "a_b")),
        (("shop", "Shop", "SHOP"), ("shop", "Shop-2", "SHOP-3")),
        (("a b", "a-b-2", "a-b"), ("a-b", "a-b-2", "a-b-3")),
        (("a", "A", "a-2"), ("a", "A-2", "a-2-2")),
        (("…", "../.."), ("server", "server-2")),
        (("x" * 300 + "a", "x" * 300 + "b"), ("x" * 80, "x" * 80 + "-2")),
    ],
)
def test_every_server_has_a_file_name_of_its_own(
    servers: tuple[str, ...], marks: tuple[str, ...]
) -> None:
    found = file_names("t/x.test.mcp.yml", servers, CONDUCTOR)
    assert found == {
        server: f"t/x.{mark}.test.mcp.yml" for server, mark in zip(servers, marks, strict=True)
    }


def test_the_file_of_the_only_server_is_called_as_the_user_says() -> None:
    assert file_names("x.test.mcp.yml", ("a b",), CONDUCTOR) == {"a b": "x.test.mcp.yml"}
    assert file_names("", ("a b",), CONDUCTOR) == {"a b": ""}


@pytest.mark.parametrize("to", ["cases", "conductor"])
def test_no_test_is_lost_between_servers_with_names_alike(tmp_path: Path, to: str) -> None:
    servers = ("a/b", "a b", "a_b", "A_B")
    write(tmp_path, "mcptest.yaml", suite_of(*servers))
    target = "x.cases.yaml" if to == "cases" else "x.test.mcp.yml"
    assert mcptest(tmp_path, "migrate", "mcptest.yaml", "--to", to, "-o", target).code == 0
    made = [text for name, text in contents(tmp_path).items() if name.startswith("x.")]
    assert len(made) == len(servers)
    for server in servers:
        assert sum(f"on {server}\n" in text for text in made) == 1


# Files that are needed


@pytest.mark.parametrize("link", ["", "symbolic", "hard"])
def test_an_imported_file_is_not_replaced_even_by_force(tmp_path: Path, link: str) -> None:
    write(tmp_path, "mcptest.yaml", f"imports: [more/b_test.yaml]\n{ONE}")
    write(tmp_path, "more/b_test.yaml", "tools: [{name: b, tool: t}]\n")
    target = "more/b_test.yaml"
    if link:
        target = "c_test.yaml"
        there = tmp_path / "more" / "b_test.yaml"
        (tmp_path / target).symlink_to(there) if link == "symbolic" else (
            tmp_path / target
        ).hardlink_to(there)
    before = contents(tmp_path)
    ended = mcptest(tmp_path, "migrate", "mcptest.yaml", *CASES, target, *FORCED)
    assert ended.code == 2
    assert f"{target} is one of the files to read; it would be replaced" in ended.err
    assert contents(tmp_path) == before


@pytest.mark.parametrize("cwd", [".", "lib"])
def test_a_file_that_a_server_needs_is_not_replaced_even_by_force(tmp_path: Path, cwd: str) -> None:
    server = {"command": ["mcptest", "mock", "plays.cases.yaml"], "cwd": cwd}
    suite = {"servers": {"s": server}, "tools": [{"name": "a", "tool": "t"}]}
    write(tmp_path, "mcptest.yaml", json.dumps(suite))
    write(tmp_path, f"{cwd}/plays.cases.yaml", "case: a\n")
    target = "plays.cases.yaml" if cwd == "." else "lib/plays.cases.yaml"
    ended = mcptest(tmp_path, "migrate", "mcptest.yaml", *CASES, target, *FORCED)
    assert ended.code == 2
    assert f"{target} is named in the command of a server; it would be replaced" in ended.err
    assert (tmp_path / target).read_text(encoding="utf-8") == "case: a\n"


def test_a_suite_that_the_server_of_a_conductor_file_needs_is_not_replaced(tmp_path: Path) -> None:
    server = {"name": "s", "command": "run", "args": ["mcptest.yaml"]}
    test = {"it": "a", "tool": "t", "expect": {"response": {"result": {"a": 1}}}}
    value = {"description": "d", "server": server, "tests": [test]}
    write(tmp_path, "a.test.mcp.yml", json.dumps(value))
    write(tmp_path, "mcptest.yaml", "mine")
    words = ("migrate", "a.test.mcp.yml", "-o")
    ended = mcptest(tmp_path, *words, "mcptest.yaml", *FORCED)
    assert (ended.code, "named in the command of a server" in ended.err) == (2, True)
    assert (tmp_path / "mcptest.yaml").read_text(encoding="utf-8") == "mine"
    assert mcptest(tmp_path, *words, "b.mcptest.yaml").code == 0


def test_any_other_file_is_replaced_by_force(tmp_path: Path) -> None:
    write(tmp_path, "mcptest.yaml", f"imports: [b_test.yaml]\n{ONE}")
    write(tmp_path, "b_test.yaml", "tools: [{name: b, tool: t}]\n")
    write(tmp_path, "c_test.yaml", "old")
    assert mcptest(tmp_path, "migrate", "mcptest.yaml", *CASES, "c_test.yaml", *FORCED).code == 0
    assert (tmp_path / "c_test.yaml").read_text(encoding="utf-8").startswith("_server:")


def test_a_file_that_is_imported_by_two_names_is_migrated_once(tmp_path: Path) -> None:
    write(tmp_path, "mcptest.yaml", f"imports: [b_test.yaml, c_test.yaml]\n{ONE}")
    write(tmp_path, "b_test.yaml", "tools: [{name: imported, tool: t}]\n")
    (tmp_path / "c_test.yaml").symlink_to("b_test.yaml")
    ended = mcptest(tmp_path, "migrate", "mcptest.yaml", *CASES, "x.cases.yaml")
    assert ended.code == 0
    assert (tmp_path / "x.cases.yaml").read_text(encoding="utf-8").count("imported") == 1


# All or nothing


def test_two_names_of_one_file_do_not_get_two_contracts(tmp_path: Path) -> None:
    write(tmp_path, "mcptest.yaml", suite_of("a", "b"))
    write(tmp_path, "x.a.cases.yaml", "old")
    (tmp_path / "x.b.cases.yaml").symlink_to("x.a.cases.yaml")
    ended = mcptest(tmp_path, "migrate", "mcptest.yaml", *CASES, "x.cases.yaml", *FORCED)
    assert ended.code == 2
    assert "x.a.cases.yaml and x.b.cases.yaml are one and the same file" in ended.err
    assert (tmp_path / "x.a.cases.yaml").read_text(encoding="utf-8") == "old"


def test_two_links_to_a_file_that_is_not_there_yet_are_one_file(tmp_path: Path) -> None:
    write(tmp_path, "mcptest.yaml", suite_of("a", "b"))
    for name in ("x.a.cases.yaml", "x.b.cases.yaml"):
        (tmp_path / name).symlink_to("later.yaml")
    ended = mcptest(tmp_path, "migrate", "mcptest.yaml", *CASES, "x.cases.yaml", *FORCED)
    assert (ended.code, "are one and the same file" in ended.err) == (2, True)
    assert not (tmp_path / "later.yaml").exists()


def test_when_one_file_cannot_be_written_none_is(tmp_path: Path) -> None:
    write(tmp_path, "mcptest.yaml", suite_of("a", "b" * 40))
    # With the second mark, there is no room for the name of a temporary file.
    target = "x" * 200 + ".cases.yaml"
    write(tmp_path, f"{'x' * 200}.a.cases.yaml", "old")
    before = contents(tmp_path)
    ended = mcptest(tmp_path, "migrate", "mcptest.yaml", *CASES, target, *FORCED)
    assert ended.code == 2
    assert f"{'b' * 40}.cases.yaml: File name too long\n" in ended.err
    assert "help: nothing was written, and nothing was replaced\n" in ended.err
    assert contents(tmp_path) == before


def test_when_one_of_several_sources_cannot_be_read_nothing_is_written(tmp_path: Path) -> None:
    test = {"it": "a", "tool": "t", "expect": {"response": {"result": {"a": 1}}}}
    server = {"name": "s", "command": "run", "args": []}
    value: Any = {"description": "d", "server": server, "tests": [test]}
    write(tmp_path, "a.test.mcp.yml", json.dumps(value))
    (tmp_path / "b.test.mcp.yml").write_bytes(b"description: \xff\n")
    ended = mcptest(tmp_path, "migrate", ".", "-o", "mcptest.yaml")
    assert ended.code == 2
    assert not (tmp_path / "mcptest.yaml").exists()
    (tmp_path / "b.test.mcp.yml").unlink()
    assert mcptest(tmp_path, "migrate", ".", "-o", "mcptest.yaml").code == 0
    made: Any = read_document((tmp_path / "mcptest.yaml").read_text(encoding="utf-8"), "").value
    assert [entry["name"] for entry in made["tools"]] == ["a"]


def test_what_is_no_regular_file_is_not_written_to(tmp_path: Path) -> None:
    write(tmp_path, "mcptest.yaml", ONE)
    (tmp_path / "x.cases.yaml").symlink_to("/dev/null")
    ended = mcptest(tmp_path, "migrate", "mcptest.yaml", *CASES, "x.cases.yaml", *FORCED)
    assert (ended.code, "it is no regular file" in ended.err) == (2, True)
