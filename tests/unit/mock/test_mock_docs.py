"""The examples in docs/mock.md do what the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

from stage import contract, manifest

PAGE = (Path(__file__).parents[3] / "docs" / "mock.md").read_text(encoding="utf-8")
CASES, MANIFEST = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_cases_of_the_page_are_played() -> None:
    assert contract(CASES).call("greet", who="Ada") == "Ada"


def test_the_manifest_of_the_page_is_played() -> None:
    stage = manifest(MANIFEST)
    assert stage.call("greet", who="Ada") == "Hello Ada"
    assert stage.call("forecast", city="Oslo") == "Snow"
    assert stage.call("forecast", city="Rome") == "Sunny in Rome"
    params = {"name": "forecast", "arguments": {"city": "Xanadu"}}
    assert stage.error("tools/call", params)["message"] == "Xanadu is nowhere"
    assert stage.result("prompts/get", {"name": "ask", "arguments": {"city": "Rome"}})
    assert stage.exercised == ["tool greet", "tool forecast", "prompt ask"]


def test_the_report_of_the_page_is_json_of_that_shape() -> None:
    (block,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    report = json.loads(block)
    assert list(report) == ["exercised", "missed", "waiting", "wrong"]
    assert list(report["wrong"][0]) == ["request", "nearest", "differences"]
