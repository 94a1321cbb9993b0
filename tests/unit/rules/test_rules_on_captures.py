"""Each rule on captures that break it and captures that keep it; see `tests/requirements.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.results import Verdict
from mcptest.rules.captures import score_capture
from mcptest.rules.registry import RULES

TESTS = Path(__file__).parent.parent.parent
sys.path.insert(0, str(TESTS))

from requirements import GAPS, REQUIREMENTS  # noqa: E402  # found beside the folders of tests

CAPTURES = sorted((TESTS / "captures").glob("*.json"))
BY_ID = {rule.id: rule for rule in RULES}


def verdict_on(path: Path) -> Verdict:
    """What the rule that a file is named after says of it."""
    value: Any = json.loads(path.read_text(encoding="utf-8"))
    score = score_capture(value if isinstance(value, list) else [value])
    id = path.name.partition(".")[0]
    [verdict] = [each for each in score.sessions[0].verdicts if each.id == id]
    return verdict


def captures(id: str, fate: str) -> list[Path]:
    return [path for path in CAPTURES if path.name.startswith(f"{id}.{fate}")]


def test_every_requirement_is_a_rule_and_every_rule_a_requirement() -> None:
    assert {rule.id: rule.name for rule in RULES} == {
        id: name for id, name in REQUIREMENTS.items() if id not in GAPS
    }
    assert GAPS.keys() <= REQUIREMENTS.keys()


def test_no_two_rules_share_an_id() -> None:
    assert len(BY_ID) == len(RULES)


@each_case("id", sorted(BY_ID))
def test_a_rule_has_captures_that_break_it_and_that_keep_it(id: str) -> None:
    assert captures(id, "breaks")
    assert captures(id, "keeps")


@pytest.mark.slow
@each_case("path", CAPTURES)
def test_a_capture_has_the_fate_in_its_name(path: Path) -> None:
    id, fate, _ = path.name.split(".")
    verdict = verdict_on(path)
    if fate.startswith("keeps"):
        assert (verdict.status, verdict.count, verdict.message) == (
            "pass",
            0,
            BY_ID[id].property,
        )
    else:
        assert fate.startswith("breaks")
        assert verdict.status in ("fail", "warning")
        assert verdict.count > 0
        assert verdict.message != BY_ID[id].property
