"""Each rule on captures that break it and captures that keep it; see `tests/requirements.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.results import Verdict
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.all_rules import RULES
from mcptest.rules.captures import score_capture

TESTS = Path(__file__).parent.parent.parent
sys.path.insert(0, str(TESTS))

from requirements import GAPS, REQUIREMENTS  # noqa: E402  # found beside the folders of tests

CAPTURES = sorted((TESTS / "captures").glob("*.json"))
BY_ID = {rule.id: rule for rule in RULES}


def verdicts_on(path: Path) -> dict[str, Verdict]:
    value: Any = json.loads(path.read_text(encoding="utf-8"))
    score = score_capture(value if isinstance(value, list) else [value])
    return {each.id: each for each in score.sessions[0].verdicts}


def verdict_on(path: Path) -> Verdict:
    """What the rule that a file is named after says of it."""
    return verdicts_on(path)[path.name.partition(".")[0]]


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
        assert verdict.status in ("fail", "warning") or verdict.reported_by
        assert verdict.count > 0
        assert verdict.message != BY_ID[id].property


@pytest.mark.slow
@each_case("path", [path for path in CAPTURES if ".breaks" in path.name])
def test_a_mistake_is_reported_once(path: Path) -> None:
    verdicts = verdicts_on(path)
    own = verdicts[path.name.partition(".")[0]]
    reported = [each.id for each in verdicts.values() if each.status in ("fail", "warning")]
    assert reported == [own.reported_by or own.id]


@each_case("id", sorted(id for id, rule in BY_ID.items() if rule.covers))
def test_a_rule_covers_rules_of_at_most_its_level(id: str) -> None:
    rule = BY_ID[id]
    for version in REVISIONS:
        for each in map(BY_ID.__getitem__, rule.covers):
            if rule.applies(version, version) and each.applies(version, version):
                levels = rule.level_at(version), each.level_at(version)
                assert levels != ("SHOULD", "MUST"), (version, each.id)


def test_no_rule_covers_itself_through_others() -> None:
    def check(id: str, seen: tuple[str, ...]) -> None:
        assert id not in seen, seen
        for each in BY_ID[id].covers:
            check(each, (*seen, id))

    for id in BY_ID:
        check(id, ())
