"""Gates of suites: two that call their servers the same, servers that never ran, and shards."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest

SCRIPTED = str(Path(__file__).parents[2] / "servers" / "scripted_server.py")
NOT_ASKED = "gates_not_asked"


def server(*tools: str) -> dict[str, Any]:
    """A server that offers these tools, and has one answer for all of them."""
    offer = [{"name": name, "inputSchema": {"type": "object"}} for name in tools]
    script = {
        "tools/list": {"result": {"tools": offer}},
        "tools/call": {"result": {"content": [{"type": "text", "text": "done"}]}},
    }
    return {"command": [sys.executable, "-S", "-E", SCRIPTED, json.dumps(script)]}


def call(tool: str, **keys: Any) -> dict[str, Any]:
    return {"name": tool, "tool": tool, **keys}


def write(folder: Path, name: str, **suite: Any) -> None:
    (folder / name).write_text(json.dumps(suite), encoding="utf-8")


def run(folder: Path, *words: str) -> Ended:
    return mcptest(folder, "run", "--json", *words, CI="")


def kinds(ended: Ended) -> list[str]:
    return [finding["kind"] for finding in ended.report()["findings"]]


ALL = {"tools": 100}


@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
def test_two_suites_with_a_server_of_one_name_are_measured_apart(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    write(
        tmp_path,
        "a.mcptest.yaml",
        servers={"s": server("one", "two")},
        tools=[call("one")],
        coverage=ALL,
    )
    write(
        tmp_path,
        "b.mcptest.yaml",
        servers={"s": server("two")},
        tools=[call("two")],
        coverage=ALL,
    )
    ended = run(tmp_path, "a.mcptest.yaml", "b.mcptest.yaml", *words)
    report = ended.report()
    assert (ended.code, report["gates"]) == (
        6,
        ["a.mcptest.yaml: coverage of tools is 50.0 %, and the suite asks for 100 %; unused: two"],
    )
    assert [(each["server"], each["suite"]) for each in report["coverage"]["servers"]] == [
        ("s (a.mcptest.yaml)", "a.mcptest.yaml"),
        ("s (b.mcptest.yaml)", "b.mcptest.yaml"),
    ]


def test_two_suites_of_the_same_server_each_have_to_reach_their_gates(tmp_path: Path) -> None:
    for name, tool in (("a.mcptest.yaml", "one"), ("b.mcptest.yaml", "two")):
        write(
            tmp_path,
            name,
            servers={"s": server("one", "two")},
            tools=[call(tool)],
            coverage={"tools": 60},
        )
    ended = run(tmp_path, "a.mcptest.yaml", "b.mcptest.yaml")
    report = ended.report()
    assert (ended.code, len(report["gates"])) == (6, 2)
    # What all of them together have used of it is another question.
    assert (report["coverage"]["percent"], len(report["coverage"]["servers"])) == (100.0, 1)


@pytest.mark.parametrize(("skip", "code"), [({"skip": "later"}, 6), ({}, 0)])
def test_a_server_whose_tests_are_all_skipped_is_not_left_out(
    tmp_path: Path, skip: dict[str, str], code: int
) -> None:
    write(
        tmp_path,
        "mcptest.yaml",
        servers={"s": server("one"), "t": server("two")},
        tools=[call("one", server="s"), call("two", server="t", **skip)],
        coverage=ALL,
    )
    ended = run(tmp_path)
    assert ended.code == code
    message = (
        "coverage of tools is not known: t could not be asked, for all of its tests are skipped"
    )
    assert ended.report()["gates"] == ([message] if skip else [])


def spread(folder: Path, *offered: str) -> None:
    """A suite of two files, which are in two shards."""
    write(
        folder,
        "mcptest.yaml",
        imports=["part.yaml"],
        servers={"s": server(*offered)},
        tools=[call("one")],
        coverage=ALL,
        performance={"max_ms": 60_000},
    )
    write(folder, "part.yaml", tools=[call("two")])


@pytest.mark.parametrize(
    ("offered", "code", "gates"),
    [
        (("one", "two"), 0, []),
        (
            ("one", "two", "three"),
            6,
            ["coverage of tools is 66.6 %, and the suite asks for 100 %; unused: three"],
        ),
    ],
)
def test_the_gates_of_a_suite_in_two_shards_are_checked_when_the_reports_are_merged(
    tmp_path: Path, offered: tuple[str, ...], code: int, gates: list[str]
) -> None:
    spread(tmp_path, *offered)
    for number in (1, 2):
        ended = run(tmp_path, "--shard", f"{number}/2", f"--reporter=junit={number}.xml")
        assert (ended.code, kinds(ended)) == (0, [NOT_ASKED])
        (tmp_path / f"{number}.json").write_text(ended.out, encoding="utf-8")
    merged = mcptest(tmp_path, "report", "merge", "1.json", "2.json", "--format", "json")
    report = merged.report()
    assert (merged.code, report["gates"], report["findings"]) == (code, gates, [])
    words = ("1.json", "--allow-missing", "--format", "json")
    half = mcptest(tmp_path, "report", "merge", *words)
    assert half.code == 6
    assert "no report here has the tests of part.yaml" in half.report()["gates"][0]


def test_a_shard_that_has_all_files_of_a_suite_asks_its_gates(tmp_path: Path) -> None:
    spread(tmp_path, "one", "two", "three")
    ended = run(tmp_path, "--shard", "1/1")
    assert (ended.code, len(ended.report()["gates"]), kinds(ended)) == (6, 1, [])


def test_where_a_filter_leaves_tests_out_it_is_said_that_gates_were_not_asked(
    tmp_path: Path,
) -> None:
    spread(tmp_path, "one", "two", "three")
    ended = run(tmp_path, "-k", "one")
    assert (ended.code, kinds(ended)) == (0, [NOT_ASKED])
