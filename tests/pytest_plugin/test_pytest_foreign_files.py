"""Files of other projects that only have names like ours are left alone, silently."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest
from sessions import call, pytest_in, write_conductor

if TYPE_CHECKING:
    from pathlib import Path

FOREIGN = {
    "chart_test.yaml": "suite: a\ntemplates: [a.yaml]\ntests:\n  - it: renders\n    asserts: []\n",
    "rules_test.yaml": "rule_files: [rules.yml]\ntests:\n  - interval: 1m\n",
    "goss_test.yaml": "file:\n  /etc/passwd: {exists: true}\n",
    "policy_test.yaml": "cases:\n- note: a\n  want: [\n",
    "squares_test.yaml": "case: squares\nin: 3\nout: 9\n",
    "broken_test.yaml": "{[}\n\t- : :\n",
    "empty_test.yml": "",
    "court.cases.yaml": "cases:\n  - plaintiff: a\n",
    "broken.cases.yml": "}}}",
    "mcptest.yaml": "version: 2\nmodel: small\n",
    "x.mcptest.yml": "- a\n- b\n",
    "pod.test.mcp.yml": "apiVersion: v1\nkind: Pod\n",
    "notes.mcp.yml": "tests: []\n",
}
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FOREIGN.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_files_of_others_are_left_alone(project: Path) -> None:
    (project / "binary_test.yaml").write_bytes(b"\x89PNG\r\n\x00case: a\nin: {jsonrpc: 1}\n")
    (project / "latin_test.yaml").write_bytes(b"k\xf6y: 1\n")
    os.mkfifo(project / "pipe_test.yaml")
    (project / "gone.cases.yaml").symlink_to("nowhere")
    (project / "folder_test.yaml").mkdir()
    closed = project / "closed_test.yaml"
    closed.write_text("a: 1\n", encoding="utf-8")
    closed.chmod(0)
    with (project / "huge_test.yaml").open("wb") as huge:
        huge.write(b"# nothing of ours\n")
        huge.truncate(10_000_000_000)
    write_conductor(project / "ours.test.mcp.yml", call("counts", "count"))
    (project / "test_a.py").write_text("def test_python(): pass\n", encoding="utf-8")
    ended = pytest_in(project, "-v", "-rA", "-W", "error")
    assert (ended.code, ended.summary) == (0, "2 passed"), ended.out
    shown = [name for name in (*FOREIGN, "huge", "pipe_", "closed", "gone") if name in ended.out]
    assert shown == []


def test_a_project_that_has_only_files_of_others_has_no_tests(project: Path) -> None:
    ended = pytest_in(project)
    assert (ended.code, ended.summary) == (5, "no tests ran")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.test.mcp.yml", "description: a\ntsets: []\n", 'has no key "tsets"'),
        ("a.test.mcp.yml", "tests: [\n", "F002"),
        ("mcptest.yaml", "servers: {s: {command: [a]}}\ntols: []\n", 'has no key "tols"'),
        ("a.cases.yaml", json.dumps({"case": "a", "in": REQUEST, "ot": 1}), 'has no key "ot"'),
        ("a_test.yaml", f"case: a\nin: {json.dumps(REQUEST)}\nout: [\n", "F002"),
        ("b_test.yaml", f"case: a\nin: {json.dumps(REQUEST)}\nto: 1\n", 'has no key "to"'),
    ],
)
def test_a_mistake_in_a_file_of_ours_is_reported(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    ended = pytest_in(tmp_path)
    assert ended.code == 2
    assert ended.summary.endswith("1 error"), ended.out
    assert message in ended.out


@pytest.mark.parametrize("name", [name for name in FOREIGN if name != "notes.mcp.yml"])
def test_a_file_that_is_named_is_reported_whatever_it_is(project: Path, name: str) -> None:
    ended = pytest_in(project, name)
    assert ended.code == 2
    assert f"ERROR {name}" in ended.out
    assert "error[F" in ended.out


@pytest.mark.long
@pytest.mark.cold
def test_five_thousand_files_of_others_cost_little(tmp_path: Path) -> None:
    text = FOREIGN["chart_test.yaml"] * 50
    for folder in range(50):
        (tmp_path / f"f{folder}").mkdir()
        for number in range(100):
            ending = ("_test.yaml", ".cases.yaml", ".yaml")[number % 3]
            (tmp_path / f"f{folder}" / f"n{number}{ending}").write_text(text, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_sessionfinish():\n"
        "    ours = {'mcptest.formats.yaml', 'mcptest.pytest_plugin.items'}\n"
        "    print('loaded', ({'yaml'} | ours) & set(sys.modules))\n",
        encoding="utf-8",
    )
    began = time.monotonic()
    bare = pytest_in(tmp_path, plugins=("no:mcptest.pytest_plugin", "no:cacheprovider"))
    between = time.monotonic()
    ended = pytest_in(tmp_path)
    ours_s, bare_s = time.monotonic() - between, between - began
    assert (bare.code, ended.code) == (5, 5)
    assert "loaded set()" in ended.out
    assert ours_s < 2 * bare_s + 2
