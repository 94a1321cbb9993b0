"""Server output and files cannot send commands to a CI system in the output of pytest either."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from sessions import pytest_in

HOSTILE = Path(__file__).parent.parent / "servers" / "hostile_server.py"
NAME = "::error::a ##[error]b ##vso[task.complete]c ##teamcity[buildStop]d"
TEXT = f"{NAME}\n::error::e\r::error::f\n  ::error::g"
COMMANDS = re.compile(r"(?:^|[\r\n])\s*::|##\[|##vso\[|##teamcity\[")


def suite(*entries: dict[str, Any]) -> str:
    servers = {"s": {"command": [sys.executable, str(HOSTILE)]}}
    return json.dumps({"servers": servers, "tools": list(entries)})


def entry(name: str, tool: str, text: str, **keys: Any) -> dict[str, Any]:
    expect = [{"target": "result.content[0].text", "matcher": {"exact": text}}]
    return {"name": name, "tool": tool, "expect": expect, **keys}


@pytest.mark.parametrize("words", [(), ("-v", "-rA"), ("--tb=short",)], ids=" ".join)
def test_neither_names_nor_failures_nor_reasons_are_obeyed(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    entries = (
        entry(NAME, "show", TEXT),
        entry("refused", "refused", "x"),
        entry("dies", "noise", "x"),
        entry("left out", "show", "x", skip=TEXT),
    )
    (tmp_path / "mcptest.yaml").write_text(suite(*entries), encoding="utf-8")
    ended = pytest_in(tmp_path, *words)
    assert ended.summary == "3 failed, 1 skipped", ended.out
    assert COMMANDS.findall(ended.out) + COMMANDS.findall(ended.err) == []


def test_a_test_is_selected_by_the_name_that_is_shown(tmp_path: Path) -> None:
    (tmp_path / "mcptest.yaml").write_text(suite(entry(NAME, "show", TEXT)), encoding="utf-8")
    shown = pytest_in(tmp_path, "--collect-only", "-q").out.partition("\n")[0]
    assert pytest_in(tmp_path, shown).summary == "1 failed"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"servers": {}, "tools": [{NAME: TEXT}]}),
        f"tools:\n- name: a\n{NAME}: [\n",
    ],
    ids=["unknown key", "broken"],
)
def test_mistakes_in_a_file_are_not_obeyed(tmp_path: Path, text: str) -> None:
    (tmp_path / "mcptest.yaml").write_text(text, encoding="utf-8")
    ended = pytest_in(tmp_path)
    assert ended.code == 2
    assert "mcptest.yaml" in ended.out
    assert COMMANDS.findall(ended.out) + COMMANDS.findall(ended.err) == []
