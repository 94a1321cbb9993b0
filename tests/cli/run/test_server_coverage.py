"""`--server-coverage`: the server's own collector is switched on, and its files are there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from console import mcptest, write_suite
from test_features import echo, features, said

NODE_SERVER = """
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return;
  const info = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "n" } };
  const content = { content: [{ type: "text", text: "hi" }] };
  const result = message.method === "initialize" ? info : content;
  console.log(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
});
"""


def test_a_server_in_python_leaves_what_coverage_can_read(tmp_path: Path) -> None:
    args = [str(features()["args"][2])]
    server = features() | {"args": args}
    write_suite(tmp_path / "a.test.mcp.yml", echo("hi"), server=server)
    ended = mcptest(tmp_path, "run", ".", "--server-coverage", "cov")
    assert (ended.code, ended.err) == (0, f"server coverage: 1 file in {tmp_path}/cov\n")
    command = [sys.executable, "-m", "coverage"]
    subprocess.run([*command, "combine", "-q", "cov"], cwd=tmp_path, check=True)
    subprocess.run([*command, "json", "-q", "-o", "c.json"], cwd=tmp_path, check=True)
    files = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["files"]
    assert not any("sitecustomize" in name for name in files), "what we put there is not theirs"
    (covered,) = [figures for name, figures in files.items() if "feature_server" in name]
    assert covered["summary"]["covered_lines"] > 20


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node on this machine")
def test_a_server_in_node_leaves_what_v8_writes(tmp_path: Path) -> None:
    (tmp_path / "server.js").write_text(NODE_SERVER, encoding="utf-8")
    server = {"name": "node", "command": "node", "args": ["server.js"]}
    test = {"it": "hi", "tool": "x", "expect": said("hi")}
    write_suite(tmp_path / "a.test.mcp.yml", test, server=server)
    ended = mcptest(tmp_path, "run", ".", "--server-coverage", "cov")
    assert ended.code == 0
    (report,) = (tmp_path / "cov").glob("coverage-*.json")
    assert any(
        "server.js" in each["url"]
        for each in json.loads(report.read_text(encoding="utf-8"))["result"]
    )


def test_a_server_without_the_coverage_package_fails_with_instructions(tmp_path: Path) -> None:
    """Without its site-packages a Python has nothing but itself."""
    server = features() | {"args": ["-s", str(features()["args"][2])]}
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "coverage.py").write_text(
        "raise ImportError('not here')\n", encoding="utf-8"
    )
    server |= {"env": {"PYTHONPATH": str(tmp_path / "hidden")}}
    write_suite(tmp_path / "a.test.mcp.yml", echo("hi"), server=server)
    ended = mcptest(tmp_path, "run", ".", "--server-coverage", "cov")
    assert ended.code == 0
    assert "has no coverage.py (pip install coverage)" in ended.err


def test_a_module_that_ours_shadows_is_loaded_too(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text(
        "open('was-here', 'w').close()\n", encoding="utf-8"
    )
    server = features() | {
        "args": [str(features()["args"][2])],
        "env": {"PYTHONPATH": str(tmp_path / "own")},
    }
    write_suite(tmp_path / "a.test.mcp.yml", echo("hi"), server=server)
    assert mcptest(tmp_path, "run", ".", "--server-coverage", "cov").code == 0
    assert (tmp_path / "was-here").exists()


def test_a_server_that_writes_no_file_is_said_to_have_none(tmp_path: Path) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", echo("hi"), server=features())
    ended = mcptest(tmp_path, "run", ".", "--server-coverage", "cov")
    assert ended.err.startswith("server coverage: none; the server wrote no file.")


def test_a_folder_that_cannot_be_made_is_2_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "cov").write_text("", encoding="utf-8")
    write_suite(tmp_path / "a.test.mcp.yml", echo("hi"), server=features())
    ended = mcptest(tmp_path, "run", ".", "--server-coverage", "cov")
    assert (ended.code, ended.out) == (2, "")
    assert "--server-coverage cannot use cov: File exists" in ended.err


def test_files_of_the_users_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", echo("hi"), server=features())
    (tmp_path / "cov").mkdir()
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    (tmp_path / "cov" / "coveragerc").symlink_to(tmp_path / "mine")
    (tmp_path / "cov" / "no-coverage-py").write_text("mine", encoding="utf-8")
    # The second finds what the first has left.
    for _ in range(2):
        assert mcptest(tmp_path, "run", ".", "--server-coverage", "cov").code == 0
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "cov" / "no-coverage-py").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", [".mcptest-coveragerc", ".mcptest-no-coverage-py"])
@pytest.mark.parametrize("kind", ["link", "file", "pipe"])
def test_a_foreign_folder_with_our_name_is_neither_written_nor_removed(
    tmp_path: Path, name: str, kind: str
) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", echo("hi"), server=features())
    (tmp_path / "mine").write_text("# written by mcptest\nmine", encoding="utf-8")
    taken = tmp_path / "cov" / name
    taken.parent.mkdir()
    if kind == "link":
        taken.symlink_to(tmp_path / "mine")
    elif kind == "file":
        taken.write_text("mine", encoding="utf-8")
    else:
        os.mkfifo(taken)
    ended = mcptest(tmp_path, "run", ".", "--server-coverage", "cov")
    assert (ended.code, ended.out) == (2, "")
    assert f"would replace {taken}, which mcptest has not written" in ended.err
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "# written by mcptest\nmine"
    assert taken.lstat()
