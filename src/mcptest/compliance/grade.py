"""The grade of a server, and the frozen profiles by which it is given. Pure.

A profile is the list of the checks that count in one revision, with their levels. It never changes:
a server that had an A yesterday has one today, unless the server changed. Checks that are written
later are pending, shown and not counted, until there is a profile with the next number.

The grade is that of the weakest of these points:

- MUST: those that passed over those that apply. A check that could not run has not passed.
- A failure of a MUST: at best C; in two families, or of a check that protects users: at best D.
- No session could be opened: F.
- A: every MUST, and 90 % of SHOULD. A+: everything, and nothing is left open.

What could not run only because a hint or an option such as --allow-tool is missing says nothing
about the server: it neither counts as passed nor as not passed, but it keeps the run incomplete,
and so the grade below A+. A hint with the value `none` says that the server has no such feature;
then its checks do not apply.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files

from mcptest.core.conformance import ProfileName
from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.core.text import join_words, plural
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest.core.conformance import CheckResult, Overall

__all__ = [
    "GRADES",
    "Grade",
    "Profile",
    "best_profiles",
    "give_grade",
    "give_verdict",
    "load_profiles",
    "profile_text",
]

# From the worst to the best.
GRADES = ("F", "D", "C", "B", "A", "A+")

# Failures that put users at risk, or break every client.
_GRAVE = ("HTTP-02", "STDIO-01", "TOOL-16")
_MANY_FAMILIES = 2

# The share of MUST from which on each grade is given, and that of SHOULD for an A.
_SHARES = (("A", 1.0), ("B", 0.9), ("C", 0.75), ("D", 0.5), ("F", 0.0))
_SHOULD_SHARE = 0.9

# The level of a check that all SDKs fail in a profile: it does not count.
SHARED = "shared"


class Profile(Record):
    """The checks of a revision that count, with their levels: MUST, SHOULD or shared."""

    id: str
    revision: str
    checks: dict[str, str]

    @property
    def number(self) -> int:
        return int(self.id.rpartition(".")[2])

    @property
    def name(self) -> ProfileName:
        digest = hashlib.sha256(profile_text(self).encode("utf-8")).hexdigest()
        return ProfileName(id=self.id, digest=f"sha256:{digest}")


def profile_text(profile: Profile) -> str:
    """The file of a profile; its hash is the digest."""
    lines = [f'  "{id}": "{level}"' for id, level in sorted(profile.checks.items())]
    head = f'{{\n "id": {dump_json(profile.id)},\n "revision": {dump_json(profile.revision)},\n'
    return head + ' "checks": {\n' + ",\n".join(lines) + "\n }\n}\n"


def load_profiles() -> dict[str, Profile]:
    """All profiles by id, from the oldest revision to the newest."""
    folder = files("mcptest.compliance").joinpath("profiles")
    found = []
    for file in folder.iterdir():
        if file.name.endswith(".json"):
            found.append(Profile(**json.loads(file.read_text(encoding="utf-8"))))
    found.sort(key=lambda profile: (profile.revision, profile.number))
    return {profile.id: profile for profile in found}


def best_profiles(wanted: Sequence[str]) -> dict[str, Profile]:
    """The profile of each revision: the one that is wanted, else the newest."""
    profiles = load_profiles()
    chosen = {profile.revision: profile for profile in profiles.values()}
    chosen |= {profiles[id].revision: profiles[id] for id in wanted}
    return {version: chosen[version] for version in REVISIONS if version in chosen}


class Grade(Record):
    """A grade, and the reason why it is not better."""

    letter: str
    reason: str = ""

    def is_below(self, least: str) -> bool:
        return GRADES.index(self.letter) < GRADES.index(least)


def give_grade(
    checks: Iterable[CheckResult], profiles: Mapping[str, Profile], *, has_session: bool
) -> Grade:
    """The grade of a server by the profiles of the revisions it was checked in."""
    if not has_session:
        return Grade(letter="F", reason="no session could be opened")
    counted = [check for check in checks if _counts(check)]
    must = [check for check in counted if _level(check, profiles) == "MUST"]
    should = [check for check in counted if _level(check, profiles) == "SHOULD"]
    caps = [_cap_of_failures(must)]
    passed = sum(check.verdict == "passed" for check in must)
    if passed < len(must):
        letter = next(letter for letter, least in _SHARES if passed / len(must) >= least)
        reason = f"{passed} of {plural(len(must), 'MUST check')} passed"
        caps.append(Grade(letter=letter, reason=reason))
    passed = sum(check.verdict == "passed" for check in should)
    if passed < len(should):
        letter = "A" if passed / len(should) >= _SHOULD_SHARE else "B"
        reason = f"{passed} of {plural(len(should), 'SHOULD check')} passed"
        caps.append(Grade(letter=letter, reason=reason))
    # Below A+ while anything is left open.
    if needs := sorted({check.needs for check in checks if check.needs and not check.is_pending}):
        caps.append(Grade(letter="A", reason=f"not complete without {', '.join(needs)}"))
    # The first of the lowest.
    return min(caps, key=lambda grade: GRADES.index(grade.letter))


def _counts(check: CheckResult) -> bool:
    is_open = check.verdict == "could_not_run" and check.needs
    return not (check.is_pending or check.is_shared or check.verdict == "not_applicable" or is_open)


def _level(check: CheckResult, profiles: Mapping[str, Profile]) -> str:
    """The level that counts: a finding may be less grave than its check."""
    known = profiles[check.revision].checks[check.id] if check.revision in profiles else ""
    return "SHOULD" if "SHOULD" in (known, check.level) else "MUST"


def _cap_of_failures(must: Sequence[CheckResult]) -> Grade:
    """The best grade that is left after what failed."""
    failed = [check for check in must if check.verdict == "failed"]
    families = sorted({check.family for check in failed})
    grave = sorted({check.id for check in failed if check.id in _GRAVE})
    if grave:
        return Grade(letter="D", reason=f"{join_words(grave)} failed, which caps the grade at D")
    if len(families) >= _MANY_FAMILIES:
        names = ", ".join(families)
        reason = f"a MUST failed in {len(families)} families ({names}), which caps the grade at D"
        return Grade(letter="D", reason=reason)
    if failed:
        ids = ", ".join(sorted({check.id for check in failed}))
        return Grade(letter="C", reason=f"a MUST failed ({ids}), which caps the grade at C")
    return Grade(letter="A+")


def give_verdict(checks: Sequence[CheckResult], *, is_whole: bool) -> Overall:
    """Whether the server conforms; `is_whole` says that every check was asked for and made."""
    counted = [check for check in checks if not (check.is_pending or check.is_shared)]
    if any(check.verdict == "failed" for check in counted):
        return "not conformant"
    is_open = any(check.verdict == "could_not_run" for check in counted)
    return "conformant" if is_whole and counted and not is_open else "incomplete"
