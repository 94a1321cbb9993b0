"""Freeze the checks that count for the grade of a server: `python -m tools.profiles [--rewrite]`.

For each revision whose newest profile is not what the code has now, a profile with the next number
is written; with `--rewrite` the newest is replaced, which is only for profiles that were never
released. The digests are printed; tests/unit/compliance/test_grade.py holds them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mcptest.compliance.checks import CHECKS
from mcptest.compliance.report import SHARED, Profile, load_profiles, profile_text
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.all_rules import RULES

FOLDER = Path(__file__).resolve().parent.parent / "src/mcptest/compliance/profiles"


def current_checks(revision: str) -> dict[str, str]:
    """The checks and rules that a revision has, with their levels."""
    found: dict[str, str] = {
        rule.id: rule.level_at(revision)
        for rule in RULES
        if rule.applies(revision, revision) and not rule.id.startswith("INV-")
    }
    for check in CHECKS:
        if check.applies(revision, revision):
            found[check.id] = SHARED if check.is_shared else check.level_at(revision)
    return found


def main() -> int:
    known = load_profiles()
    for revision in REVISIONS:
        newest = max(
            (each.number for each in known.values() if each.revision == revision), default=0
        )
        profile = known.get(f"{revision}.{newest}")
        checks = current_checks(revision)
        if profile is None or profile.checks != checks:
            number = max(newest, 1) if "--rewrite" in sys.argv else newest + 1
            profile = Profile(id=f"{revision}.{number}", revision=revision, checks=checks)
            path = FOLDER / f"{profile.id}.json"
            path.write_text(profile_text(profile), encoding="utf-8")
        print(f'    "{profile.id}": "{profile.name.digest}",')
    return 0


if __name__ == "__main__":
    sys.exit(main())
