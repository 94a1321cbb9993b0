"""`mcptest schema -o FILE` replaces what it has written itself, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from console import mcptest

from mcptest.cli.commands.schema import FORMATS

SUITE = "https://mcptest.github.io/mcptest/schemas/suite.schema.json"


def id_in(file: Path) -> str:
    return str(json.loads(file.read_text(encoding="utf-8"))["$id"])


@pytest.mark.parametrize(
    "text",
    ["precious\n", "", "{}", '{"$id": "urn:mine"}', f'{{"$id": ["{SUITE}"]}}', "[]"],
)
def test_a_file_that_is_not_one_of_our_schemas_is_not_changed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "schema", "-o", "a.json")
    assert ended.code == 2
    assert ended.err == (
        "error: a.json exists already and is not a schema of mcptest\n"
        "  help: --force replaces it; another name with -o keeps both\n"
    )
    assert [file.read_text(encoding="utf-8"), os.listdir(tmp_path)] == [text, ["a.json"]]


def test_with_force_any_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("precious", encoding="utf-8")
    assert mcptest(tmp_path, "schema", "-o", "a.json", "--force").code == 0
    assert id_in(tmp_path / "a.json") == SUITE


@pytest.mark.parametrize("name", FORMATS)
def test_a_schema_of_ours_is_replaced_by_another(tmp_path: Path, name: str) -> None:
    assert mcptest(tmp_path, "schema", name, "-o", "a.json").code == 0
    assert mcptest(tmp_path, "schema", "-o", "a.json").code == 0
    assert id_in(tmp_path / "a.json") == SUITE


def test_a_device_takes_a_schema_without_being_asked(tmp_path: Path) -> None:
    assert mcptest(tmp_path, "schema", "-o", "/dev/null").code == 0


def test_the_same_bytes_are_printed_every_time(tmp_path: Path) -> None:
    first, second = (
        mcptest(tmp_path, "schema", "suite", PYTHONHASHSEED=seed).out for seed in ("1", "2")
    )
    assert first
    assert first == second
