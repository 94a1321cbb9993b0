"""In what the ways to a server differ: the results of its tests, and what it says of itself. Pure.

Between revisions only that is compared which both of them have: a capability that came or went
with a revision is no fault of the server.
"""

from __future__ import annotations

from mcptest.core.events import CaseFinished, SuiteStarted
from mcptest.core.matrix import OfferDifference, ResultDifference, SeenResult, SeenValue
from mcptest.core.offer_kinds import KINDS
from mcptest.core.record import ABSENT, Record
from mcptest.core.strict_json import dump_json
from mcptest.core.text import render_path
from mcptest.matching.compare import is_same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest.core.events import Event
    from mcptest.core.matrix import Way
    from mcptest.core.outcome import CaseResult

    # The name and the file of a suite, which time it is that it runs, and which test it is.
    Key = tuple[str, str, int, int]
    # By name, and which time it is that the list has it.
    Entries = dict[tuple[str, int], dict[str, object]]

__all__ = ["Opening", "WayResults", "offer_differences", "result_differences", "unread_lists"]

# The capabilities that have the same meaning in every revision.
_LASTING = ("tools", "resources", "prompts", "completions")
_INFO = ("name", "title", "version")
_MEMBERS = {
    "tool": ("description", "inputSchema", "outputSchema", "annotations"),
    "resource": ("name", "mimeType"),
    "resourceTemplate": ("name", "mimeType"),
    "prompt": ("description", "arguments"),
}


class Opening(Record):
    """What a server says of itself when it is opened; None where it could not be found out.

    `lists` has each list that the server says it has, by the name of its kind.
    """

    capabilities: dict[str, object]
    info: dict[str, object] | None = None
    lists: dict[str, Entries | None] = {}  # noqa: RUF012  # nothing of a record changes


class WayResults:
    """A listener that keeps the results of one way, each under what it is called in all ways."""

    def __init__(self) -> None:
        self.results: dict[Key, CaseResult] = {}
        self._times: dict[tuple[str, str], int] = {}
        self._suite = ("", "")
        self._next = 0

    def hear(self, event: Event) -> None:
        if isinstance(event, SuiteStarted):
            self._suite = (event.name, event.file)
            self._times[self._suite] = self._times.get(self._suite, 0) + 1
            self._next = 0
        elif isinstance(event, CaseFinished):
            key = (*self._suite, self._times.get(self._suite, 0), self._next)
            self.results[key] = event.result
            self._next += 1


def result_differences(
    ways: Sequence[tuple[Way, Mapping[Key, CaseResult]]],
) -> tuple[int, tuple[ResultDifference, ...]]:
    """How many tests ran in more than one way, and those of them that did not end the same."""
    compared, found = 0, []
    for key in dict.fromkeys(key for _, results in ways for key in results):
        there = [results[key] for _, results in ways if key in results]
        if len(there) < 2:
            continue
        compared += 1
        if len({result.status for result in there}) > 1:
            seen = tuple(_seen(way, results.get(key)) for way, results in ways)
            first = there[0]
            found.append(
                ResultDifference(
                    suite=key[0], file=key[1], line=first.line, test=first.name, seen=seen
                )
            )
    return compared, tuple(found)


def _seen(way: Way, result: CaseResult | None) -> SeenResult:
    if result is None:
        return SeenResult(way=way, status=None)
    return SeenResult(way=way, status=result.status, reason=_reason(result))


def _reason(result: CaseResult) -> str:
    """Why a test did not pass: its fault, else the first thing that differs."""
    if result.status == "passed":
        return ""
    if result.fault:
        return f"{result.fault.kind}: {result.fault.message}"
    if result.mismatches:
        first = result.mismatches[0]
        return f"{first.path or '(the whole answer)'}: {first.message or 'differs'}"
    return result.reason


def offer_differences(openings: Sequence[tuple[Way, Opening]]) -> Iterator[OfferDifference]:
    """What the server says of itself in some ways, and otherwise or not at all in others."""
    yield from _capability_differences(openings)
    infos = [(way, opening.info) for way, opening in openings if opening.info is not None]
    for member in _INFO:
        seen = [(way, info.get(member, ABSENT)) for way, info in infos]
        yield from _difference("serverInfo", member, seen)
    for kind in KINDS.values():
        lists = [
            (way, entries)
            for way, opening in openings
            if (entries := opening.lists.get(kind.name)) is not None
        ]
        yield from _list_differences(kind.noun, _MEMBERS[kind.unit], lists)


def _capability_differences(
    openings: Sequence[tuple[Way, Opening]],
) -> Iterator[OfferDifference]:
    told = set()
    for name in _LASTING:
        there = [(way, name in opening.capabilities or ABSENT) for way, opening in openings]
        for difference in _difference(f"capability {name}", "", there):
            told.add(name)
            yield difference
    for revision in dict.fromkeys(way.revision for way, _ in openings):
        alike = [(way, each.capabilities) for way, each in openings if way.revision == revision]
        for name in dict.fromkeys(name for _, capabilities in alike for name in capabilities):
            if name not in told:
                seen = [(way, capabilities.get(name, ABSENT)) for way, capabilities in alike]
                yield from _difference("capabilities", name, seen)


def _list_differences(
    noun: str, members: Iterable[str], lists: Sequence[tuple[Way, Entries]]
) -> Iterator[OfferDifference]:
    for key in dict.fromkeys(key for _, entries in lists for key in entries):
        name, time = key
        what = f"{noun} {dump_json(name)}" + (f", listed {time} times" if time > 1 else "")
        there = [(way, key in entries or ABSENT) for way, entries in lists]
        missing = list(_difference(what, "", there))
        yield from missing
        if not missing:
            for member in members:
                seen = [(way, entries[key].get(member, ABSENT)) for way, entries in lists]
                yield from _difference(what, member, seen)


def _difference(
    what: str, member: str, seen: Sequence[tuple[Way, object]]
) -> Iterator[OfferDifference]:
    if _are_one([value for _, value in seen]):
        return
    steps, values = _narrowed([value for _, value in seen])
    path = render_path((member, *steps)) if member else ""
    found = zip((way for way, _ in seen), values, strict=True)
    pairs = tuple(SeenValue(way=way, value=value) for way, value in found)
    yield OfferDifference(what=what, member=path, seen=pairs)


def _narrowed(values: list[object]) -> tuple[list[str | int], list[object]]:
    """The first place at which values differ, and what is there: whole ones may be long."""
    steps: list[str | int] = []
    while True:
        parts = [_parts(value) for value in values]
        # A part of what is not there, or is something else, says less than the whole.
        if any(part is None for part in parts) or len({type(value) for value in values}) > 1:
            return steps, values
        known = [part for part in parts if part is not None]
        for step in dict.fromkeys(step for part in known for step in part):
            inner = [part.get(step, ABSENT) for part in known]
            if not _are_one(inner):
                steps.append(step)
                values = inner
                break


def _parts(value: object) -> dict[str | int, object] | None:
    if isinstance(value, dict):
        return {str(key): inner for key, inner in value.items()}
    return dict(enumerate(value)) if isinstance(value, list) else None


def _are_one(values: Sequence[object]) -> bool:
    return all(_is_one(values[0], value) for value in values[1:])


def _is_one(one: object, other: object) -> bool:
    return one is other or is_same(one, other)


def unread_lists(openings: Sequence[tuple[Way, Opening]]) -> Iterator[str]:
    """A sentence for each list that could not be compared."""
    for way, opening in openings:
        for name, entries in opening.lists.items():
            if entries is None:
                yield f"the list of {name} could not be read over {way.label}"
