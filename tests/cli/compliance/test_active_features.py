"""Active checks of tools, resources, prompts, completion, tasks and input.

Each check passes with the reference server and fails with the break of its id. Breaks that do not
touch each other are tested in one run, which must find them and nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from active import REFERENCE_SERVER, Checked, check_server, http_server

if TYPE_CHECKING:
    pass

SERVER = str(REFERENCE_SERVER)
FAMILIES = ("TOOL", "RES", "SUB", "PROMPT", "COMP", "TASK", "XTASK", "ELIC", "SAMP", "MRTR")
CHOSEN = (*FAMILIES, "BASE-35", "HTTP-38", "BASE-41", "HTTP-10", "LIFE-24", "PAGE-03")
OBSERVER = "import pathlib; print([(p.name, p.stat().st_size) for p in pathlib.Path().iterdir()])"
HINTS = {
    "slow_tool": {"name": "slow", "arguments": {"seconds": 0.6}, "seconds": 0.6},
    "eliciting_tool": {"name": "elicit"},
    "sampling_tool": {"name": "sample"},
    "failing_tool": {"name": "fail"},
    "resource_that_changes": {
        "uri": "live://clock",
        "tool": {"name": "touch", "arguments": {"uri": "live://clock"}},
    },
    "readonly_observer": [sys.executable, "-c", OBSERVER],
}

# What cannot be seen over HTTP, and what exists only there.
ONLY_STDIO = {"SUB-08", "SUB-09"}
ONLY_HTTP = {"XTASK-12", "HTTP-38"}
TRANSPORTS = ("stdio", "http")

BREAKS = (
    "TOOL-01 RES-01 PROMPT-01",
    "TOOL-02 RES-02 PROMPT-02",
    "TOOL-16 TOOL-18 TOOL-21 TOOL-22 TOOL-24 RES-05 RES-07 RES-08 RES-10 RES-11 RES-13 SUB-02 "
    "SUB-04 SUB-08 SUB-09 PROMPT-04 PROMPT-08 PROMPT-09 COMP-04 TASK-10 TASK-11 TASK-12 TASK-14 "
    "TASK-15 TASK-16 TASK-17 XTASK-04 XTASK-05 XTASK-07 XTASK-08 XTASK-09 XTASK-10 XTASK-11 "
    "XTASK-12 BASE-35 MRTR-08 MRTR-09 MRTR-10",
    "TOOL-17 RES-09 COMP-05 COMP-07 TASK-04 TASK-06 SUB-06 XTASK-03 HTTP-38 ELIC-08 SAMP-07 "
    "MRTR-06",
    "PROMPT-10 COMP-01 TASK-03 TASK-08 TASK-13 SUB-01 MRTR-07",
    "TASK-01",
    "TASK-02",
)
ACTIVE = {id for breaks in BREAKS for id in breaks.split()}


def checked(folder: Path, transport: str, *breaks: str, hints: dict[str, Any] = HINTS) -> Checked:
    (folder / "hints.yml").write_text(json.dumps(hints), encoding="utf-8")
    words = [word for name in CHOSEN for word in ("--only", name)]
    words += ["--hints", "hints.yml", "--allow-tool", "task_required", "--timeout", "5s"]
    given = ["--break", ",".join(breaks)] if breaks else []
    if transport == "stdio":
        return check_server(*words, "--", sys.executable, SERVER, *given, folder=folder)
    with http_server(*given, folder=folder) as url:
        return check_server(*words, "--url", url, folder=folder)


# What passes with a server that breaks nothing; TASK-01 with one that declares no tasks.
KEPT = ACTIVE


@pytest.mark.long
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_correct_server_passes(tmp_path: Path, transport: str) -> None:
    found = checked(tmp_path, transport)
    assert found.ids("failed", "warning", "could_not_run") == set()
    missing = ONLY_HTTP if transport == "stdio" else {"SUB-08"}
    assert KEPT - missing - {"TASK-01"} <= found.ids("passed")


def test_a_server_without_tasks_ignores_them(tmp_path: Path) -> None:
    words = ["--only", "TASK-01", "--", sys.executable, SERVER, "--no", "tasks"]
    assert check_server(*words, folder=tmp_path).ids("passed") == {"TASK-01"}


@pytest.mark.long
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("breaks", BREAKS, ids=lambda breaks: breaks.partition(" ")[0])
def test_a_break_is_found_and_nothing_else(tmp_path: Path, transport: str, breaks: str) -> None:
    wanted = set(breaks.split()) - (ONLY_HTTP if transport == "stdio" else ONLY_STDIO)
    found = checked(tmp_path, transport, *breaks.split())
    assert found.ids("failed", "warning") == wanted
    for check in found.report["checks"]:
        if check["verdict"] in ("failed", "warning"):
            assert check["sent"]
            assert check["received"] or "server" in check["message"]


@pytest.mark.long
def test_missing_hints_are_named_only_where_they_would_help(tmp_path: Path) -> None:
    found = checked(tmp_path, "stdio", hints={}).checks()
    assert found["TOOL-22"]["verdict"] == "could_not_run"
    assert "readonly_observer" in found["TOOL-22"]["message"]
    assert found["XTASK-04"]["verdict"] == "could_not_run"
    words = ["--only", "XTASK", "--", sys.executable, SERVER, "--no", "tasks"]
    without = check_server(*words, folder=tmp_path).checks()
    assert without["XTASK-04"]["verdict"] == "not_applicable"
    assert "does not declare the extension" in without["XTASK-04"]["message"]


def test_tools_that_may_change_something_are_not_called(tmp_path: Path) -> None:
    words = ["--only", "TOOL", "--", sys.executable, SERVER]
    ended = check_server(*words, folder=tmp_path)
    assert "TOOL-16" in ended.ids("passed")
    assert "CALLED write_note" not in ended.err


# The reference server; the first page of its tasks has an object where the list should be.
MALFORMED_PAGE = """
import sys
sys.path.insert(0, {servers!r})
from conformance import reference_server
from conformance.eras import METHODS

whole = METHODS["tasks/list"]

def serve(call):
    if "cursor" not in call.params:
        return {{"tasks": {{"of": "page 1"}}, "nextCursor": "2"}}
    call.params.clear()
    return whole.handler(call)

METHODS["tasks/list"] = whole._replace(handler=serve)
reference_server.main()
"""


def test_a_task_is_looked_for_also_after_a_malformed_page(tmp_path: Path) -> None:
    script = MALFORMED_PAGE.format(servers=str(REFERENCE_SERVER.parents[1]))
    (tmp_path / "hints.yml").write_text(json.dumps(HINTS), encoding="utf-8")
    words = ["--only", "TASK-15", "--hints", "hints.yml", "--timeout", "5s"]
    ended = check_server(*words, "--", sys.executable, "-c", script, folder=tmp_path)
    assert (ended.ids("passed"), ended.ids("failed")) == ({"TASK-15"}, set())
