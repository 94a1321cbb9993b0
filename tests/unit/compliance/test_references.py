"""Every check and every rule says where the specification has it."""

from __future__ import annotations

import re
from itertools import groupby

from mcptest.compliance.checks import CHECKS
from mcptest.compliance.report import find_reference
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.all_rules import RULES

ENTRIES = (*CHECKS, *RULES)
BY_ID = {entry.id: entry for entry in ENTRIES}


def test_every_check_and_rule_has_a_section_in_exactly_the_revisions_that_have_it() -> None:
    wrong = [
        (entry.id, version)
        for entry in ENTRIES
        for version in REVISIONS
        if entry.applies(version, version) != bool(find_reference(entry, version).section)
    ]
    assert wrong == []


def test_an_address_names_the_revision_and_the_section() -> None:
    site = "https://modelcontextprotocol.io/specification"

    def url(id: str, version: str) -> str:
        return find_reference(BY_ID[id], version).url

    assert url("BASE-18", "2025-11-25") == f"{site}/2025-11-25/basic#messages"
    assert url("BASE-18", "2024-11-05") == f"{site}/2024-11-05/basic/messages#requests"
    assert url("BASE-10", "2024-11-05") == f"{site}/2024-11-05/basic/messages#responses"
    assert url("LIFE-19", "2026-07-28") == (
        f"{site}/2026-07-28/basic/versioning#protocol-version-negotiation"
    )
    assert url("BASE-28", "2025-11-25") == f"{site}/2025-11-25/basic#meta"


def test_addresses_have_no_character_that_an_address_cannot_have() -> None:
    addresses = {find_reference(entry, version).url for entry in ENTRIES for version in REVISIONS}
    assert "" in addresses
    assert all(
        re.fullmatch(r"(https://[a-z0-9.]+/[A-Za-z0-9/_#%.-]+)?", each) for each in addresses
    )


def test_a_rule_and_a_check_of_the_same_id_are_in_the_same_section() -> None:
    for _, group in groupby(sorted(ENTRIES, key=lambda entry: entry.id), lambda entry: entry.id):
        places = {(each.section, each.stateless_section) for each in group}
        assert len(places) == 1, places


def test_only_revisions_that_have_a_rule_are_named_with_its_section() -> None:
    for entry in ENTRIES:
        assert all(entry.applies(version, version) for version in entry.older_sections), entry.id
