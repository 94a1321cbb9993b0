"""What a client did with a contract: which cases it exercised, missed and called wrongly."""

from __future__ import annotations

import json

from mcptest.core.record import Record
from mcptest.core.text import printable_json, shorten, show_json, visible
from mcptest.mock.session import MAX_WRONG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest.mock.session import Place, Session, Wrong

__all__ = ["Missed", "MockReport", "join_reports", "render_report", "render_summary"]

_MAX_SHOWN = 20
_MAX_CHARS = 300


class Missed(Record):
    """A case that was not exercised.

    `awaited` is the method of a request of the mock that the client has not answered, if that
    is what the case waits for.
    """

    place: Place
    awaited: str = ""


class MockReport(Record):
    """The exercised and missed cases, and what was wrong; `more_wrong` calls were not kept.

    `fates` says of each case, in the order of the files, whether it was exercised.
    """

    exercised: tuple[Place, ...]
    missed: tuple[Missed, ...]
    wrong: tuple[Wrong, ...]
    more_wrong: int = 0
    notes: tuple[str, ...] = ()
    fates: tuple[bool, ...] = ()

    @classmethod
    def of(
        cls,
        places: Sequence[Place],
        exercised: Iterable[bool],
        session: Session,
        awaited: Mapping[int, str] | None = None,
    ) -> MockReport:
        """The report about the cases at these places; `awaited` is by their numbers."""
        fates = tuple(exercised)
        waiting = awaited or {}
        return cls(
            exercised=tuple(place for place, fate in zip(places, fates, strict=True) if fate),
            missed=tuple(
                Missed(place=place, awaited=waiting.get(number, ""))
                for number, place in enumerate(places)
                if not fates[number]
            ),
            wrong=tuple(session.wrong),
            more_wrong=session.more_wrong,
            notes=tuple(session.notes.values()),
            fates=fates,
        )

    @property
    def is_kept(self) -> bool:
        """True if the client exercised every case, and did nothing else."""
        return not self.missed and not self.wrong


def join_reports(one: MockReport, other: MockReport) -> MockReport:
    """One report about two sessions: a case exercised in either of them is exercised."""
    exercised: list[Place] = []
    missed: list[Missed] = []
    for first, second in zip(_cases(one), _cases(other), strict=True):
        if not isinstance(first, Missed):
            exercised.append(first)
        elif not isinstance(second, Missed):
            exercised.append(second)
        else:
            missed.append(first if first.awaited else second)
    wrong = (*one.wrong, *other.wrong)
    return MockReport(
        exercised=tuple(exercised),
        missed=tuple(missed),
        wrong=wrong[:MAX_WRONG],
        more_wrong=one.more_wrong + other.more_wrong + max(0, len(wrong) - MAX_WRONG),
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
        fates=tuple(map(max, one.fates, other.fates)),
    )


def _cases(report: MockReport) -> Iterator[Place | Missed]:
    """The cases in the order of the files."""
    exercised, missed = iter(report.exercised), iter(report.missed)
    for fate in report.fates:
        yield next(exercised) if fate else next(missed)


def render_report(report: MockReport) -> str:
    """The report as JSON."""
    wrong = [
        {"request": each.request, "nearest": each.nearest, "differences": list(each.differences)}
        for each in report.wrong
    ]
    if report.more_wrong:
        rest = f"{report.more_wrong:,} more wrong calls were not recorded"
        left_out = {"path": "", "expected": None, "actual": None, "message": rest}
        wrong.append({"request": None, "nearest": None, "differences": [left_out]})
    members = {
        "exercised": [place["case"] for place in report.exercised],
        "missed": [missed.place["case"] for missed in report.missed],
        "waiting": [
            {"case": missed.place["case"], "method": missed.awaited}
            for missed in report.missed
            if missed.awaited
        ],
        "wrong": wrong,
    }
    return printable_json(json.dumps(members, ensure_ascii=False, indent=2)) + "\n"


def render_summary(report: MockReport) -> str:
    """The report in a few lines, for standard error."""
    total = len(report.exercised) + len(report.missed)
    wrong = len(report.wrong) + report.more_wrong
    head = f"mcptest mock: {len(report.exercised)} of {total} cases exercised"
    lines = [f"{head}, {wrong:,} wrong call{'s' if wrong != 1 else ''}" if wrong else head]
    for missed in report.missed[:_MAX_SHOWN]:
        waiting = f": waiting for the client's answer to {visible(missed.awaited)}"
        lines.append(f"  missed  {_place(missed.place)}{waiting if missed.awaited else ''}")
    if len(report.missed) > _MAX_SHOWN:
        lines.append(f"  … and {len(report.missed) - _MAX_SHOWN:,} more")
    lines += [f"  wrong   {_describe_wrong(each)}" for each in report.wrong[:_MAX_SHOWN]]
    if wrong > _MAX_SHOWN:
        lines.append(f"  … and {wrong - _MAX_SHOWN:,} more")
    lines += [f"  note    {visible(note)}" for note in report.notes]
    return "\n".join(lines) + "\n"


def _place(place: Place) -> str:
    return visible(f"{place['case']} ({place['file']}:{place['line']})")


def _describe_wrong(wrong: Wrong) -> str:
    request = wrong.request
    method = request.get("method") if isinstance(request, dict) else None
    text = visible(method) if isinstance(method, str) else show_json(request, 80)
    if wrong.nearest:
        text += f"; nearest: {_place(wrong.nearest)}"
    for first in wrong.differences[:1]:
        path = f"{visible(str(first['path']))}: " if first["path"] else ""
        text += f"; {path}{visible(str(first['message']))}"
        if first["message"] == "differs":
            expected, actual = (show_json(first[side], 80) for side in ("expected", "actual"))
            text += f", expected {expected}, got {actual}"
    return shorten(text, _MAX_CHARS)
