"""Every check and every rule says where the specification has it."""

from __future__ import annotations

import re
from pathlib import Path

from mcptest.compliance.checks import CHECKS
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules import references
from mcptest.rules.all_rules import RULES
from mcptest.rules.references import reference_for


def test_every_check_and_rule_has_a_section_in_every_revision_that_has_it() -> None:
    spans = [(check.id, check.since, check.until) for check in CHECKS]
    spans += [(rule.id, rule.since, rule.until) for rule in RULES]
    missing = [
        (id, version)
        for id, since, until in spans
        for version in REVISIONS
        if since <= version and (not until or version <= until)
        if not reference_for(id, version).section
    ]
    assert missing == []


def test_an_address_names_the_revision_and_the_section() -> None:
    site = "https://modelcontextprotocol.io/specification"
    assert reference_for("BASE-18", "2025-11-25").url == f"{site}/2025-11-25/basic#messages"
    assert (
        reference_for("BASE-18", "2024-11-05").url == f"{site}/2024-11-05/basic/messages#requests"
    )
    assert reference_for("LIFE-19", "2026-07-28").url == (
        f"{site}/2026-07-28/basic/versioning#protocol-version-negotiation"
    )
    assert reference_for("BASE-28", "2025-11-25").url == f"{site}/2025-11-25/basic#meta"


def test_addresses_have_no_character_that_an_address_cannot_have() -> None:
    addresses = {
        reference_for(each.id, version).url for each in CHECKS for version in REVISIONS
    } | {reference_for(each.id, version).url for each in RULES for version in REVISIONS}
    assert all(
        re.fullmatch(r"(https://[a-z0-9.]+/[A-Za-z0-9/_#%.-]+)?", each) for each in addresses
    )


def test_the_tables_name_only_checks_and_rules_that_exist() -> None:
    known = {each.id for each in (*CHECKS, *RULES)}
    source = Path(references.__file__).read_text(encoding="utf-8")
    assert set(re.findall(r"\b[A-Z]+-\d{2,3}\b", source)) - known == set()


def test_an_unknown_id_has_no_section() -> None:
    assert reference_for("NOPE-01", "2025-11-25").page == ""
