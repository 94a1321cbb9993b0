"""From the results of a run to its report: grade, expected failures, known causes.

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
import re
import shlex
from importlib.resources import files

from mcptest.core.compliance import ComplianceReport, ProfileName, Reference
from mcptest.core.strict_json import dump_json
from mcptest.core.text import join_words, plural, visible
from mcptest.core.value_class import Record
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest.compliance.run import Run
    from mcptest.core.compliance import CheckResult, Overall
    from mcptest.formats.lane_files import ExpectedFailure
    from mcptest.rules.rule import Requirement

__all__ = [
    "GRADES",
    "SHARED",
    "UNKNOWN",
    "Grade",
    "Judgement",
    "Profile",
    "best_profiles",
    "build_report",
    "curl_command",
    "find_reference",
    "give_grade",
    "give_verdict",
    "load_profiles",
    "profile_text",
]


class Judgement(Record):
    """By what a run is judged: the profiles by revision, the failures that are expected."""

    profiles: Mapping[str, Profile]
    expected: tuple[ExpectedFailure, ...] = ()
    today: str = ""


def build_report(
    run: Run, judgement: Judgement, started_at: str, duration_s: float
) -> ComplianceReport:
    """The report of a run that has ended."""
    name, version = run.server_info.get("name"), run.server_info.get("version")
    own_name = name if isinstance(name, str) else ""
    own_version = version if isinstance(version, str) else ""
    names = (own_name or run.spec.name, own_version)
    checks = [_with_cause(_mark_pending(each, judgement.profiles)) for each in run.results]
    checks, problems = _mark_expected(checks, judgement, names)
    settings = run.settings
    is_part = bool(settings.only or settings.skip or settings.level != "should")
    is_whole = not (is_part or run.is_interrupted)
    versions = run.spoken or dict.fromkeys(check.revision for check in checks)
    profiles = {each: judgement.profiles[each] for each in versions if each in judgement.profiles}
    letter, reason = "", "only a part of the checks was run"
    if not (checks or run.is_interrupted):
        reason = "no check could be made"
    if is_whole and checks:
        grade = give_grade(checks, profiles, has_session=bool(run.spoken))
        letter, reason = grade.letter, grade.reason
    return ComplianceReport(
        server=names[0],
        version=own_version,
        target=settings.target,
        transport=run.transport,
        revisions=tuple(run.spoken),
        profiles=tuple(profile.name for profile in profiles.values()),
        grade=letter,
        grade_reason=reason,
        verdict=give_verdict(checks, is_whole=is_whole),
        checks=tuple(checks),
        started_at=started_at,
        duration_s=duration_s,
        interrupted=run.is_interrupted,
        notes=tuple(run.notes),
        problems=problems,
    )


def _mark_pending(check: CheckResult, profiles: Mapping[str, Profile]) -> CheckResult:
    profile = profiles.get(check.revision)
    return check.but(is_pending=profile is None or check.id not in profile.checks)


# Profiles

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


# Grade and verdict

# From the worst to the best.
GRADES = ("F", "D", "C", "B", "A", "A+")

# Failures that put users at risk, or break every client.
_GRAVE = ("HTTP-02", "STDIO-01", "TOOL-16")
_MANY_FAMILIES = 2

# The share of MUST from which on each grade is given, and that of SHOULD for an A.
_SHARES = (("A", 1.0), ("B", 0.9), ("C", 0.75), ("D", 0.5), ("F", 0.0))
_SHOULD_SHARE = 0.9


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
    counted = [check for check in checks if _is_counted(check)]
    must = [check for check in counted if _counted_level(check, profiles) == "MUST"]
    should = [check for check in counted if _counted_level(check, profiles) == "SHOULD"]
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


def _is_counted(check: CheckResult) -> bool:
    is_open = check.verdict == "could_not_run" and check.needs
    return not (check.is_pending or check.is_shared or check.verdict == "not_applicable" or is_open)


def _counted_level(check: CheckResult, profiles: Mapping[str, Profile]) -> str:
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


# Expected failures


def _mark_expected(
    checks: Sequence[CheckResult], judgement: Judgement, names: tuple[str, str]
) -> tuple[list[CheckResult], tuple[str, ...]]:
    """The checks with the failures that are expected, and what is wrong with the entries."""
    marked = list(checks)
    problems = []
    for entry in judgement.expected:
        about = [
            index
            for index, check in enumerate(marked)
            if entry.is_about(check.id, check.revision, *names)
        ]
        found = [index for index in about if marked[index].verdict in ("failed", "warning")]
        is_known = any(marked[index].verdict in ("passed", "not_applicable") for index in about)
        where = f"{visible(entry.file)}:{entry.line}"
        if entry.until and entry.until < judgement.today:
            if about:
                problems.append(
                    f"{where}: {entry.check} was expected to fail until {entry.until}, which is "
                    "past"
                )
        elif found:
            for index in found:
                marked[index] = marked[index].but(expected=entry.reason)
        elif is_known:
            problems.append(
                f"{where}: {entry.check} is expected to fail and does not; take the entry out"
            )
    return marked, tuple(problems)


# Known causes


class _Cause(Record):
    """A mistake of an SDK that many servers have, known by the words of its messages."""

    ids: tuple[str, ...]
    words: str
    sdk: str


# Enough for the first answers; the time of a search may grow with the square of it.
_MAX_SEARCHED_CHARS = 20_000

_TYPESCRIPT = "TypeScript SDK 1.x"
_PYTHON = "Python SDK"

_CAUSES = (
    # A call with the member task is refused by a server without tasks, and run by one that has
    # them, whatever the tool supports.
    _Cause(
        ids=("TASK-01",),
        words=r'"code":-32603,"message":"Server does not support task creation',
        sdk=_TYPESCRIPT,
    ),
    _Cause(
        ids=("TASK-17",),
        words=r'"code":-32602,"message":"MCP error -32602: Invalid task creation result',
        sdk=_TYPESCRIPT,
    ),
    # It is reported like a failure of the tool.
    _Cause(
        ids=("TASK-16",),
        words="MCP error -32601: Tool .* requires task augmentation",
        sdk=_TYPESCRIPT,
    ),
    # A schema that a request does not meet is reported as an internal error, with its issues.
    _Cause(
        ids=("BASE-19", "LOG-04", "COMP-04", "PROMPT-09", "PROMPT-10", "TOOL-18"),
        words=r'"code":-32603.*(?:invalid_type|invalid_union|invalid_value|invalid_enum_value)',
        sdk=_TYPESCRIPT,
    ),
    _Cause(
        ids=("TOOL-18", "TOOL-16", "TOOL-17"),
        words=r"MCP error -32602: (?:Tool|Input validation)",
        sdk=_TYPESCRIPT,
    ),
    # Every request that is not understood gets the same error.
    _Cause(
        ids=("BASE-18", "LIFE-13", "LIFE-14", "LIFE-22"),
        words=r'"code":-32602,"message":"Invalid request parameters"',
        sdk=f"{_PYTHON} 1.x",
    ),
    # An exception of a handler becomes an error with the code 0, or an internal error.
    _Cause(
        ids=("PROMPT-08", "PROMPT-09"),
        words=r'"code":-32603,"message":"Internal server error"',
        sdk=_PYTHON,
    ),
    _Cause(
        ids=("BASE-27", "PROMPT-08", "PROMPT-09", "RES-07", "COMP-04"),
        words=r'"code":0,"message":"(?:Unknown (?:prompt|resource|tool)|Missing required arg)',
        sdk=_PYTHON,
    ),
    # An id that is neither a string nor an integer makes a request a notification.
    _Cause(
        ids=("BASE-42",),
        words=r"^HTTP 202\n(?=.*^server: uvicorn$)(?=.*^content-type: application/json$)",
        sdk=_PYTHON,
    ),
)


def _with_cause(check: CheckResult) -> CheckResult:
    if check.verdict not in ("failed", "warning"):
        return check
    text = "\n".join(check.received)[:_MAX_SEARCHED_CHARS]
    for cause in _CAUSES:
        if check.id in cause.ids and re.search(cause.words, text, re.DOTALL | re.MULTILINE):
            return check.but(cause=cause.sdk)
    return check


# The same request without mcptest

# The beginning of names that the server cannot have.
UNKNOWN = "mcptest-unknown-"


def curl_command(sent: Sequence[str], url: str) -> str:
    """A command that sends the last HTTP request of the evidence; "" if there is none.

    The end of a handshake has no answer that a finding could be about.
    """
    requests = [each for each in sent if re.match(r"[A-Z]+ /", each)]
    asked = [each for each in requests if '"method":"notifications/initialized"' not in each]
    if not requests:
        return ""
    head, _, body = (asked or requests)[-1].partition("\n\n")
    first, *headers = head.split("\n")
    method, _, target = first.partition(" ")
    origin = re.match(r"[a-z]+://[^/?#]*", url)
    words = ["curl", "-i", "-X", method, f"{origin[0] if origin else url}{target}"]
    parts = [shlex.join(words), *map(_header_option, headers)]
    if body:
        parts.append(shlex.join(["--data-binary", body]))
    return " ".join(parts)


def _header_option(header: str) -> str:
    name, _, value = header.partition(":")
    if name.lower() == "mcp-session-id" and not value.strip().startswith(UNKNOWN):
        # The session of the run has ended.
        return f'-H "{name}: $SESSION"'
    return shlex.join(["-H", header])


# Where the specification has it


def find_reference(entry: Requirement, version: str) -> Reference:
    """The page and section of a rule or check in a revision; empty if that does not have it."""
    if not entry.applies(version, version):
        return Reference()
    revision = REVISIONS.get(version)
    place = entry.section
    if version in entry.older_sections:
        place = entry.older_sections[version]
    elif revision and revision.is_stateless:
        place = entry.stateless_section or place
    elif version == "2024-11-05" and place.startswith("basic#"):
        place = place.replace("basic#", "basic/messages#", 1)
    page, _, section = place.partition("#")
    return Reference(page=page, section=section, url=_make_url(page, section, version))


def _make_url(page: str, section: str, version: str) -> str:
    """The address of a section, with the anchor that the site of the specification makes of it."""
    base = "https://modelcontextprotocol.io/"
    if page.startswith("extensions/"):
        return base + page
    words = section.replace("&", "%26").lower()
    anchor = re.sub(r"[^a-z0-9%_ -]", "", words).strip("_").replace(" ", "-")
    return f"{base}specification/{version}/{page}#{anchor}"
