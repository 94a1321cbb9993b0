"""A further revision takes no rule and no check from the revisions before it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mcptest.compliance.checks import CHECKS
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.all_rules import RULES

LISTED = """
from newer_revision import add_revision
add_revision()
from mcptest.compliance.checks import CHECKS
from mcptest.rules.all_rules import RULES
for each in (*CHECKS, *RULES):
    for version in %r:
        print(each.id, version, each.applies(version, version))
"""


def test_a_newer_revision_leaves_those_before_it_as_they_are() -> None:
    versions = tuple(REVISIONS)
    paths = (str(Path(__file__).parents[2] / "cli"), *sys.path)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{LISTED % (versions,)}"],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == [
        f"{each.id} {version} {each.applies(version, version)}"
        for each in (*CHECKS, *RULES)
        for version in versions
    ]
