"""docs/suites.md says what the reader of suites knows: every key, every word, in its order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from suite_reading import load

from mcptest.core.results import ExitCode
from mcptest.core.security import SEVERITIES
from mcptest.formats.suite import lanes
from mcptest.formats.suite.expect import ASSERTION_KEYS, EXPECT_KEYS
from mcptest.formats.suite.loader import (
    COVERAGE_KEYS,
    FILE_KEYS,
    IMPORT_KEYS,
    PERFORMANCE_KEYS,
    RUN_KEYS,
)
from mcptest.formats.suite.servers import SERVER_KEYS
from mcptest.formats.suite.tests import DEFAULT_KEYS, ENTRY_KEYS, STEP_KEYS
from mcptest.formats.suite.variables import SOURCE_KEYS
from mcptest.matching.suite_matchers import EXAMPLES, ROOTS
from mcptest.protocol.revisions import HANDSHAKE_REVISIONS

ROOT = Path(__file__).parent.parent.parent.parent
PAGE = (ROOT / "docs" / "suites.md").read_text(encoding="utf-8")

ENTRIES = tuple(dict.fromkeys(key for keys in ENTRY_KEYS.values() for key in keys))


def section(title: str) -> str:
    """The text under a heading, down to the next one of any level."""
    found = re.search(rf"(?ms)^##+ {re.escape(title)}\n(.*?)(?=^##|\Z)", PAGE)
    assert found, title
    return found[1]


def tables(title: str) -> list[list[str]]:
    """The names in the first column of each table of a section."""
    blocks = re.findall(r"(?m)^\|[^\n]*\|\n\|[-|]+\|\n((?:\|[^\n]*\|\n)+)", section(title))
    return [
        re.findall(r"`([^`]+)`", " ".join(row.split("|")[1] for row in block.splitlines()))
        for block in blocks
    ]


def test_every_table_of_keys_is_what_the_reader_knows() -> None:
    assert tables("The file") == [list(FILE_KEYS)]
    assert tables("Servers") == [list(SERVER_KEYS)]
    assert tables("Expectations") == [list(EXPECT_KEYS), list(ASSERTION_KEYS)]
    assert tables("Steps") == [list(STEP_KEYS)]
    assert tables("Values") == [list(SOURCE_KEYS)]
    assert tables("Defaults") == [list(DEFAULT_KEYS)]
    assert tables("Imports") == [list(IMPORT_KEYS)]
    assert tables("The whole run") == [list(RUN_KEYS), list(COVERAGE_KEYS), list(PERFORMANCE_KEYS)]
    [entries] = tables("Tests")
    assert sorted(entries) == sorted(ENTRIES)


def test_every_key_of_every_lane_is_in_its_table() -> None:
    assert tables("agents") == [list(lanes.AGENT_KEYS)]
    assert tables("evals") == [list(lanes.EVAL_KEYS)]
    assert tables("security") == [list(lanes.SECURITY_KEYS)]
    keys, checks = tables("compliance")
    assert keys == [*lanes.CHECK_KEYS, *lanes.COMPLIANCE_KEYS]
    assert checks == list(lanes.CHECKS)
    assert all(f"`{each}`" in section("security") for each in SEVERITIES)
    assert all(f"`{each}`" in section("agents") for each in lanes.TARGETS_OF_AGENTS)
    rubric = f"{{criteria: [{{{', '.join(lanes.CRITERION_KEYS)}}}], threshold}}"
    assert rubric in section("evals")
    assert list(lanes.RUBRIC_KEYS) == ["criteria", "threshold"]


def test_every_target_and_every_matcher_is_in_its_table_with_its_example() -> None:
    assert tables("Targets") == [list(ROOTS)]
    rows = re.findall(r"(?m)^\| `([\w-]+)` \| .* \| `(.*)` \|$", section("Matchers"))
    assert rows == [(word, f"{{{word}: {EXAMPLES[word]}}}") for word in EXAMPLES]


def test_the_default_revision_is_the_newest() -> None:
    [row] = re.findall(
        r"(?m)^\| `protocol_version` \| the revision to offer.*$", section("Servers")
    )
    assert row.endswith(f"| {HANDSHAKE_REVISIONS[-1]} |")


def test_exit_codes_are_those_there_are() -> None:
    codes = [int(code) for code in re.findall(r"(?m)^\| (\d) \|", section("Exit codes"))]
    known = {code.value for code in ExitCode}
    assert set(codes) <= known
    # A fault of ours, and Ctrl-C, have nothing to do with suites.
    assert known - set(codes) == {ExitCode.OUR_FAULT, ExitCode.INTERRUPTED}


# The configs of clients that examples name.
CLIENTS = {
    ".mcp.json": '{"mcpServers": {"shop": {"command": "x"}}}',
    ".vscode/mcp.json": '{"servers": {"post": {"command": "x"}}}',
}
EXAMPLES_OF_YAML = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE)


def test_there_are_examples() -> None:
    assert len(EXAMPLES_OF_YAML) >= 3


@pytest.mark.parametrize("example", EXAMPLES_OF_YAML, ids=lambda text: text.split("\n")[0])
def test_every_example_is_read_without_mistakes(example: str) -> None:
    for text in example.split("---\n"):
        whole = text
        if "servers:" not in text:
            whole += "servers: {shop: {command: [x]}}\n"
        if "tools:" not in text:
            whole += "tools: [{name: n, server: shop, tool: t}]\n"
        files = {**CLIENTS, "pages.csv": "path\nreadme\n"}
        _, warnings = load(whole, files, MAIL_TOKEN="mail-12345", SHOP_TOKEN="shop-12345")
        assert warnings == ()
