"""What a client did with a contract: which cases it exercised, missed and called wrongly."""

from __future__ import annotations

import json

from mcptest.core.record import Record
from mcptest.core.text import printable_json, shorten, show_json, visible
from mcptest.mock.state import MAX_WRONG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest.mock.state import State, Wrong

    Place = dict[str, object]

__all__ = ["Missed", "MockReport", "joined_reports", "render_report", "render_summary"]

_MAX_SHOWN = 20
_MAX_CHARS = 300


class Missed(Record):
    """A case that was not exercised.

    `awaited` is the method of a request of the mock that the client has yet to answer, when
    the case was called and that is what it waits for.
    """

    place: Place
    awaited: str = ""


class MockReport(Record):
    """The cases by what became of them, and what was wrong; `more_wrong` was not recorded.

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
        state: State,
        awaited: Mapping[int, str] | None = None,
    ) -> MockReport:
        """What became of the cases at these places; `awaited` is by their numbers."""
        told = list(enumerate(zip(places, exercised, strict=True)))
        waiting = awaited or {}
        return cls(
            exercised=tuple(place for _, (place, is_exercised) in told if is_exercised),
            missed=tuple(
                Missed(place=place, awaited=waiting.get(number, ""))
                for number, (place, is_exercised) in told
                if not is_exercised
            ),
            wrong=state.wrong,
            more_wrong=state.more_wrong,
            notes=tuple(state.notes.values()),
            fates=tuple(fate for _, (_, fate) in told),
        )

    @property
    def is_kept(self) -> bool:
        """Whether the client kept the contract: all of it, and nothing else."""
        return not self.missed and not self.wrong


def joined_reports(one: MockReport, other: MockReport) -> MockReport:
    """The report about two sessions with the same cases: one exercised in either of them is so."""
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
    """The cases in the order of the files, each as it is told of."""
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
    """The report in a few lines, for whoever started the mock."""
    total = len(report.exercised) + len(report.missed)
    wrong = len(report.wrong) + report.more_wrong
    head = f"mcptest mock: {len(report.exercised)} of {total} cases exercised"
    lines = [f"{head}, {wrong:,} wrong call{'s' if wrong != 1 else ''}" if wrong else head]
    lines += [f"  missed  {_missed(missed)}" for missed in report.missed[:_MAX_SHOWN]]
    lines += _left_out(len(report.missed))
    lines += [f"  wrong   {_wrong(each)}" for each in report.wrong[:_MAX_SHOWN]]
    lines += _left_out(wrong)
    lines += [f"  note    {visible(note)}" for note in report.notes]
    return "\n".join(lines) + "\n"


def _left_out(count: int) -> list[str]:
    return [f"  … and {count - _MAX_SHOWN:,} more"] if count > _MAX_SHOWN else []


def _place(place: Place) -> str:
    return visible(f"{place['case']} ({place['file']}:{place['line']})")


def _missed(missed: Missed) -> str:
    place = _place(missed.place)
    if not missed.awaited:
        return place
    return f"{place}: waiting for the client's answer to {visible(missed.awaited)}"


def _wrong(wrong: Wrong) -> str:
    request = wrong.request
    method = request.get("method") if isinstance(request, dict) else None
    what = visible(method) if isinstance(method, str) else show_json(request, 80)
    where = f"; nearest: {_place(wrong.nearest)}" if wrong.nearest else ""
    first = wrong.differences[0] if wrong.differences else None
    return shorten(f"{what}{where}{_difference(first) if first else ''}", _MAX_CHARS)


def _difference(difference: Place) -> str:
    path = f"{visible(str(difference['path']))}: " if difference["path"] else ""
    sides = ""
    if difference["message"] == "differs":
        expected, actual = (
            show_json(difference["expected"], 80),
            show_json(difference["actual"], 80),
        )
        sides = f", expected {expected}, got {actual}"
    return f"; {path}{visible(str(difference['message']))}{sides}"
