"""The member `matrix` of the JSON report, version 1: written from a run, and read back."""

from __future__ import annotations

from mcptest.core.matrix import (
    Matrix,
    OfferDifference,
    ResultDifference,
    SeenResult,
    SeenValue,
    Way,
    WayRun,
)
from mcptest.core.outcome import STATUSES, Summary
from mcptest.core.record import ABSENT
from mcptest.core.revisions import REVISIONS
from mcptest.reporters.members import summary_members
from mcptest.reporters.reported_value import side_members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.reporters.saved_part import SavedPart

    Members = dict[str, object]

__all__ = ["matrix_members", "read_matrix"]


def matrix_members(matrix: Matrix) -> Members:
    """The ways, the tests that did not end the same in all of them, and what else differs."""
    return {
        "ways": [_way_run_members(run) for run in matrix.ways],
        "selected": matrix.total,
        "compared": matrix.compared,
        "differences": [
            {
                "suite": each.suite,
                "file": each.file,
                "line": each.line,
                "test": each.test,
                "results": [_result_members(seen) for seen in each.seen],
            }
            for each in matrix.differences
        ],
        "offers": [
            {
                "what": each.what,
                "member": each.member or None,
                "seen": [_way_members(seen.way) | _value_members(seen) for seen in each.seen],
            }
            for each in matrix.offers
        ],
        "more_offers": matrix.more_offers,
        "unread": list(matrix.unread),
    }


def _way_members(way: Way) -> Members:
    return {"transport": way.transport, "revision": way.revision}


def _way_run_members(run: WayRun) -> Members:
    members = _way_members(run.way)
    revision = REVISIONS.get(run.way.revision)
    members["era"] = "handshake" if revision is None or revision.has_handshake else "stateless"
    members["spoken"] = not (run.refusal or run.error)
    if run.refusal:
        members["reason"] = run.refusal
    if run.error:
        members["error"] = run.error
    members["summary"] = None if run.summary is None else summary_members(run.summary)
    return members


def _result_members(seen: SeenResult) -> Members:
    members = _way_members(seen.way) | {"status": seen.status}
    return members | {"reason": seen.reason} if seen.reason else members


def _value_members(seen: SeenValue) -> Members:
    return side_members({"value": seen.value})


def read_matrix(part: SavedPart) -> Matrix:
    """The same, from a report."""
    return Matrix(
        ways=tuple(map(_way_run, part.parts("ways"))),
        total=part.count("selected"),
        compared=part.count("compared"),
        differences=tuple(
            ResultDifference(
                suite=each.text("suite"),
                file=each.text("file"),
                line=each.count("line"),
                test=each.text("test"),
                seen=tuple(map(_seen_result, each.parts("results"))),
            )
            for each in part.parts("differences")
        ),
        offers=tuple(
            OfferDifference(
                what=each.text("what"),
                member=each.text("member") if each.has("member") else "",
                seen=tuple(map(_seen_value, each.parts("seen"))),
            )
            for each in part.parts("offers")
        ),
        more_offers=part.count("more_offers", 0),
        unread=part.texts("unread"),
    )


def _way(part: SavedPart) -> Way:
    return Way(transport=part.text("transport"), revision=part.text("revision"))


def _way_run(part: SavedPart) -> WayRun:
    summary = part.part("summary") if part.has("summary") else None
    names = ("passed", "failed", "errors", "skipped", "flaky")
    return WayRun(
        way=_way(part),
        refusal=part.text("reason", ""),
        error=part.text("error", ""),
        summary=Summary(**{name: summary.count(name, 0) for name in names}) if summary else None,
    )


def _seen_result(part: SavedPart) -> SeenResult:
    status = part.word("status", STATUSES) if part.has("status") else None
    return SeenResult(way=_way(part), status=status, reason=part.text("reason", ""))


def _seen_value(part: SavedPart) -> SeenValue:
    is_there = "value" not in part.texts("missing")
    return SeenValue(way=_way(part), value=part.members.get("value") if is_there else ABSENT)
