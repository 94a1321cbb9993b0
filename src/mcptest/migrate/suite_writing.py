"""Tests of one or more files, as the text of one suite."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.migrate.drafts import CALL_KEYS, lane_of
from mcptest.migrate.grouping import grouped
from mcptest.migrate.remarks import Remark
from mcptest.migrate.yaml_page import render_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest.migrate.drafts import Draft, Source
    from mcptest.migrate.suite_servers import SuiteServer

    Mapping = dict[str, object]
    Placed = tuple[str, Draft]
    # What is wrong with the text of a suite, "" when it can be read.
    Check = Callable[[str], str]

__all__ = ["Owned", "SuiteText", "write_suite"]

LANES = tuple(CALL_KEYS.values())
_LAST = ("max_duration_ms", "expect")
_STEP_ORDER = ("name", *CALL_KEYS, "args", "capture", *_LAST)


class Owned(Record):
    """A file with its server."""

    source: Source
    server: SuiteServer


class SuiteText(Record):
    """A suite; its text is "" when nothing could be carried over. `carried` counts tests."""

    text: str
    carried: int
    remarks: tuple[Remark, ...]


def write_suite(files: Sequence[Owned], check: Check) -> SuiteText:
    """One suite of all these files, which `check` has found no mistakes in."""
    writer = _Writer(files)
    remarks = writer.remarks
    value = writer.value()
    if value and check(render_page(value)):
        remarks += writer.drop_mistakes(check)
        value = writer.value()
    text = render_page(value) if value else ""
    return SuiteText(text=text, carried=writer.carried, remarks=tuple(remarks))


class _Writer:
    """Puts entries under servers and lanes, in an order that runs them as they were written."""

    def __init__(self, files: Sequence[Owned]) -> None:
        self.remarks: list[Remark] = []
        self._head: Mapping = {}
        self._servers: Mapping = {}
        self._variables: Mapping = {}
        self._entries: list[Placed] = []
        titles = dict.fromkeys(owned.source.title for owned in files if owned.source.title)
        if titles:
            self._head["name"] = ", ".join(titles)
        for owned in files:
            self._add(owned, is_alone=len(files) == 1)

    @property
    def carried(self) -> int:
        """How many tests of the sources are in the suite."""
        return sum(len(draft.steps) if _is_joined(draft) else 1 for _, draft in self._entries)

    def _add(self, owned: Owned, *, is_alone: bool) -> None:
        drafts, losses = grouped(owned.source.drafts)
        self.remarks += [*owned.source.remarks, *losses]
        if owned.server.value.get("isolation") == "test":
            drafts = [draft for draft in drafts if not self._leave_joined(draft)]
        if not drafts:
            return
        name = self._server(owned.server)
        self.remarks += owned.server.remarks
        self._variables.update(owned.server.variables)
        for draft in drafts:
            self._entries.append((name, draft if is_alone else self._without_only(draft)))

    def _leave_joined(self, draft: Draft) -> bool:
        """Whether tests that each have a process would have to share one."""
        is_joined = _is_joined(draft)
        if is_joined:
            reason = "its tests share a value, and each of them has a process of its own"
            self.remarks.append(_remark(draft, reason))
        return is_joined

    def _server(self, server: SuiteServer) -> str:
        """The name under which a server stands; the same one twice is shared, if it may be."""
        name, number = server.name, 1
        while name in self._servers:
            if self._servers[name] == server.value and not server.is_for_one_file:
                return name
            number += 1
            name = f"{server.name}-{number}"
        self._servers[name] = server.value
        return name

    def _without_only(self, draft: Draft) -> Draft:
        if "only" not in draft.marks:
            return draft
        reason = "only: it would leave out the tests of the other files, too"
        self.remarks.append(_remark(draft, reason))
        marks = {key: value for key, value in draft.marks.items() if key != "only"}
        return draft.but(marks=marks)

    # The text

    def value(self) -> Mapping:
        """The suite as a value; empty when there is no entry."""
        if not self._entries:
            return {}
        used = {server for server, _ in self._entries}
        servers = {name: value for name, value in self._servers.items() if name in used}
        value: Mapping = {**self._head, "servers": servers}
        if self._variables:
            value["variables"] = self._variables
        lanes: dict[str, list[object]] = {lane: [] for lane in LANES}
        for server in servers:
            drafts = [draft for name, draft in self._entries if name == server]
            for draft, lane in zip(drafts, _lanes(drafts), strict=True):
                entry = _entry(draft, lane, server if len(servers) > 1 else "")
                lanes[lane].append(entry)
        return {**value, **{lane: entries for lane, entries in lanes.items() if entries}}

    def drop_mistakes(self, check: Check) -> list[Remark]:
        """Leave behind what the reader of suites finds a mistake in; what was left behind."""
        remarks = []
        kept: list[Placed] = []
        everything = self._entries
        for placed in everything:
            self._entries = [placed]
            reason = check(render_page(self.value()))
            if reason:
                remarks.append(_remark(placed[1], reason))
            else:
                kept.append(placed)
        self._entries = kept
        return remarks


def _is_joined(draft: Draft) -> bool:
    """Whether several tests of a source have become one."""
    return "name" in draft.steps[0]


def _remark(draft: Draft, reason: str) -> Remark:
    return Remark(file=draft.file, line=draft.line, what=draft.name, reason=reason)


def _entry(draft: Draft, lane: str, server: str) -> Mapping:
    head: Mapping = {"name": draft.name}
    if server:
        head["server"] = server
    only = draft.steps[0]
    if len(draft.steps) > 1 or lane_of(only) != lane:
        return {**head, **draft.marks, "steps": [_ordered(step) for step in draft.steps]}
    step = _ordered(only)
    last: Mapping = {key: step.pop(key) for key in _LAST if key in step}
    return {**head, **step, **draft.marks, **last}


def _ordered(step: Mapping) -> Mapping:
    return {key: step[key] for key in _STEP_ORDER if key in step}


def _lanes(drafts: list[Draft]) -> list[str]:
    """A lane for each test, so that lane after lane is the order of the file.

    A suite runs all tools, then all resources, then all prompts. A test that comes after one of
    a later lane must stand in that lane; as few as possible do.
    """
    best: list[tuple[int, list[int]]] = [(0, [])] * len(LANES)
    for draft in drafts:
        own = LANES.index(lane_of(draft.steps[0])) if len(draft.steps) == 1 else None
        cheapest: list[tuple[int, list[int]]] = []
        for lane in range(len(LANES)):
            cost, way = min(best[: lane + 1], key=lambda found: found[0])
            strange = own is not None and own != lane
            cheapest.append((cost + strange, [*way, lane]))
        best = cheapest
    _, way = min(best, key=lambda found: found[0])
    return [LANES[lane] for lane in way]
