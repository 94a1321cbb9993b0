"""The report of a compliance run: what was checked of a server, and what was found.

Pure values: `mcptest.compliance` makes them, `mcptest.reporters` render them.
"""

from __future__ import annotations

from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    CheckVerdict = Literal["passed", "failed", "warning", "not_applicable", "could_not_run"]
    Level = Literal["MUST", "SHOULD"]
    Overall = Literal["conformant", "not conformant", "incomplete"]

__all__ = ["CHECK_VERDICTS", "CheckResult", "ComplianceReport", "ProfileName", "Reference"]

CHECK_VERDICTS: tuple[CheckVerdict, ...] = (
    "failed",
    "warning",
    "could_not_run",
    "passed",
    "not_applicable",
)


class Reference(Record):
    """Where the specification of a revision has a point: its page, the section, the address."""

    page: str = ""
    section: str = ""
    url: str = ""


class CheckResult(Record):
    """The verdict of one check in one revision over one transport.

    `message` is what was found, or why there is no verdict; for a check that passed, the property
    that holds. `sent` and `received` are the evidence, one line for each message. `repeat` is the
    command that repeats only this check, `curl` the same request without mcptest. `is_shared` marks
    a deviation that all SDKs have, which the grade does not count, `is_pending` a check that the
    profile does not have yet. `expected` is the reason for which a failure is expected, `cause` the
    SDK that is known to cause it, `needs` the hint or option for lack of which it could not run.
    """

    id: str
    name: str
    family: str
    level: Level
    revision: str
    transport: str
    verdict: CheckVerdict
    message: str
    property: str = ""
    reference: Reference = Reference()
    sent: tuple[str, ...] = ()
    received: tuple[str, ...] = ()
    repeat: str = ""
    curl: str = ""
    is_passive: bool = False
    is_shared: bool = False
    is_pending: bool = False
    expected: str = ""
    cause: str = ""
    needs: str = ""


class ProfileName(Record):
    """A frozen set of checks by which a grade was given, and the hash of it."""

    id: str
    digest: str


class ComplianceReport(Record):
    """All results of one run.

    `grade` is "" if only a part of the checks was run, and `grade_reason` says why it is not
    better. `interrupted` says that the run was broken off, and the results are those of a part of
    it. `problems` are mistakes in the list of expected failures, which fail the run: entries that
    no longer fail, or are past their date.
    """

    server: str
    version: str = ""
    target: str = ""
    transport: str
    revisions: tuple[str, ...]
    profiles: tuple[ProfileName, ...]
    grade: str
    grade_reason: str = ""
    verdict: Overall
    checks: tuple[CheckResult, ...]
    started_at: str = ""
    duration_s: float = 0.0
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def profile(self) -> str:
        return "+".join(profile.id for profile in self.profiles)

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """What failed and was not expected to."""
        return tuple(
            check
            for check in self.checks
            if check.verdict == "failed" and not (check.expected or check.is_pending)
        )

    def count(self, verdict: CheckVerdict) -> int:
        return sum(check.verdict == verdict for check in self.checks)
