"""Make one ending out of the endings of several files. Pure."""

from __future__ import annotations

from mcptest.core.coverage import measure, merge_coverage
from mcptest.core.events import RunFinished
from mcptest.core.outcome import Summary, merge_findings
from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.capture import SessionCapture
    from mcptest.core.conformance import SessionScore
    from mcptest.core.coverage import CoveredOffer, ServerCoverage, Use
    from mcptest.rules.composition import Member

    # The file of the suite that has a server, "" for one that belongs to none, and its name.
    Owned = tuple[str, str]

__all__ = ["Counted", "Ending", "measured", "merge_endings"]


class Counted(Record):
    """What each server offers, as far as it could say so, and what was used of it."""

    offers: dict[Owned, tuple[CoveredOffer, ...]] = {}  # noqa: RUF012  # nothing of it changes
    uses: dict[Owned, dict[Use, int]] = {}  # noqa: RUF012  # as above


class Ending(Record):
    """How the run of one file ended, and what was captured in it."""

    finished: RunFinished
    captures: tuple[SessionCapture, ...] = ()
    scores: tuple[tuple[SessionScore, Member], ...] = ()
    coverage: Counted = Counted()


def measured(parts: Iterable[Counted]) -> tuple[ServerCoverage, ...]:
    """The coverage of each server of each suite.

    What was used in one file may be known to be offered from another one alone.
    """
    uses: dict[Owned, dict[Use, int]] = {}
    offers: dict[Owned, tuple[CoveredOffer, ...]] = {}
    for part in parts:
        # The first word counts, and the order is that of the files.
        offers |= {owned: found for owned, found in part.offers.items() if owned not in offers}
        for server, used in part.uses.items():
            known = uses.setdefault(server, {})
            for use, count in used.items():
                known[use] = known.get(use, 0) + count
    return tuple(
        measure(name, offers[home, name], uses.get((home, name), {}), home) for home, name in offers
    )


def merge_endings(endings: Sequence[Ending]) -> RunFinished:
    """The sum of them, in their order; a finding that several have is told once."""
    finished = [ending.finished for ending in endings]
    summaries = [each.summary for each in finished]
    return RunFinished(
        summary=Summary(
            passed=sum(each.passed for each in summaries),
            failed=sum(each.failed for each in summaries),
            errors=sum(each.errors for each in summaries),
            skipped=sum(each.skipped for each in summaries),
            flaky=sum(each.flaky for each in summaries),
        ),
        duration_s=0.0,
        findings=merge_findings(finding for each in finished for finding in each.findings),
        fault=next((each.fault for each in finished if each.fault), None),
        interrupted_in=next((each.interrupted_in for each in finished if each.interrupted_in), ""),
        coverage=merge_coverage([measured(ending.coverage for ending in endings)]),
        not_run=sum(each.not_run for each in finished),
        spoken=tuple(dict.fromkeys(spoken for each in finished for spoken in each.spoken)),
    )
