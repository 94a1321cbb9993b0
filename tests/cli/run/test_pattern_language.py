"""Patterns as a user meets them: a schema beside the file, mistakes with places, hints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console import case, mcptest, write_config, write_suite

if TYPE_CHECKING:
    from pathlib import Path

WEATHER = {"city": "Oslo", "degrees": -3, "days": ["Mon", "Tue"], "from": "2024-01-01", "to": 2e9}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    return tmp_path


def asking(name: str, wants: object) -> dict[str, object]:
    return case(name, params=WEATHER, wants=wants)


def test_a_schema_is_read_beside_the_test_file_whatever_the_folder(folder: Path) -> None:
    schema = {"properties": {"degrees": {"type": "integer", "minimum": 0}}}
    write_suite(
        folder / "sub" / "a.test.mcp.yml", asking("schema", "match:jsonSchema:schemas/weather.json")
    )
    (folder / "sub" / "schemas").mkdir()
    (folder / "sub" / "schemas" / "weather.json").write_text(json.dumps(schema), encoding="utf-8")
    ended = mcptest(folder, "run", "sub", "--json")
    ((mismatch,),) = [test["mismatches"] for test in ended.report()["suites"][0]["tests"]]
    assert (ended.code, mismatch["path"]) == (1, "result")
    assert mismatch["message"].endswith("degrees: -3 is less than the minimum of 0")


def test_several_families_of_patterns_pass_in_one_run(folder: Path) -> None:
    wants = {
        "match:crossField": "from < to",
        "match:partial": {"degrees": {"match:all": ["match:negative", "match:multipleOf:0.5"]}},
        "city": {"match:any": ["match:oneOf:Oslo|Bergen", "match:not:exists"]},
        "country": {"match:any": ["match:not:exists", "match:stringLength:2"]},
        "days": {"match:anyElement": "Tue"},
        "from": "match:dateBetween:2023-12-31T23:00:00Z:2024-01-02",
    }
    write_suite(folder / "a.test.mcp.yml", asking("weather", wants))
    ended = mcptest(folder, "run")
    assert (ended.code, "1 passed" in ended.out) == (0, True)


def test_every_mistake_is_reported_with_its_place_and_nothing_is_started(folder: Path) -> None:
    text = """\
description: mistakes
tests:
  - it: a
    request: {jsonrpc: "2.0", id: 1, method: echo}
    expect:
      response:
        jsonrpc: "2.0"
        id: 1
        result:
          city: "contains:Oslo"
          degrees: "match:between:5:1"
          days:
            arrayElements: "match:type:strng"
          schema: "match:jsonSchema:nowhere.json"
"""
    (folder / "a.test.mcp.yml").write_text(text, encoding="utf-8")
    ended = mcptest(folder, "validate", "a.test.mcp.yml")
    assert ended.code == 2
    for place in (
        'error[F018]: "contains" is a matcher, and this is compared as a plain string\n'
        "  --> a.test.mcp.yml:10:18\n",
        'error[F017]: the matcher "between" goes from 5 down to 1, where nothing lies; write 1:5\n'
        "  --> a.test.mcp.yml:11:35\n",
        'error[F018]: "arrayElements" is a directive, and this is compared as a plain key\n'
        "  --> a.test.mcp.yml:13:13\n",
        'array, null, not "strng"; did you mean "string"?\n  --> a.test.mcp.yml:13:40\n',
        'error[F019]: the matcher "jsonSchema" cannot read nowhere.json: ',
    ):
        assert place in ended.err + ended.out


def test_a_failure_says_where_the_value_is_instead(folder: Path) -> None:
    moved = {"match:partial": {"town": "Oslo", "days": ["Tue", "Mon"], "degrees": "-3"}}
    write_suite(folder / "a.test.mcp.yml", asking("moved", moved))
    ended = mcptest(folder, "run")
    assert ended.code == 1
    for hint in (
        "the expected value is at result.city",
        "result.days has the same elements in another order",
        "the same, but a number instead of a string",
    ):
        assert f"hint      {hint}" in ended.out
