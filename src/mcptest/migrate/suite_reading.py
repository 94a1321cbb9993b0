"""The entries of a suite, with everything in them that other places of the suite say."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.formats.document import locate
from mcptest.formats.suite_expect import BUDGETS
from mcptest.migrate.drafts import CALL_KEYS, Draft, without_nothing
from mcptest.migrate.remarks import LeftBehindError, Remark
from mcptest.migrate.suite_values import SuiteValues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.formats.suite_parts import Part, Parts

    Mapping = dict[str, object]

__all__ = ["SuiteEntries", "read_entries"]

_MARKS = ("skip", "only", "timeout", "retries")
_LANES = ("agents", "evals", "compliance", "security")
_WHOLE = {
    "coverage": "what a whole run must reach is said on the command line: --min-coverage",
    "performance": "what a whole run must reach cannot be said in this format",
}


class SuiteEntries(Record):
    """The tests of a suite by server, and what else it says. Setup and teardown are steps.

    `owners` are the files in which the servers stand.
    """

    title: str
    by_server: dict[str, list[Draft]]
    owners: dict[str, Part]
    isolation: str
    values: SuiteValues
    remarks: tuple[Remark, ...]


def read_entries(parts: Parts) -> SuiteEntries:
    """What these files hold; they have been loaded before, and have no mistakes."""
    main = parts.files[0]
    values = SuiteValues(main.folder)
    options: Mapping = {}
    owners: dict[str, Part] = {}
    for part in parts.imports_first:
        top = part.top.mapping
        values.turn_to(part.folder)
        values.read(_mapping(top.get("variables")))
        options.update(_mapping(top.get("run_options")))
        owners.update(dict.fromkeys(_mapping(top.get("servers")), part))
    reader = _Reader(values, next(iter(owners)), options)
    for part in parts.files:
        reader.read(part)
    if options.get("parallel"):
        reader.leave(main, "run_options", f"run it with --parallel {options['parallel']} instead")
    return SuiteEntries(
        title=str(main.top.mapping.get("name") or main.top.mapping.get("description") or ""),
        by_server=reader.by_server,
        owners=owners,
        isolation=str(options.get("isolation") or ""),
        values=values,
        remarks=tuple(reader.remarks),
    )


class _Reader:
    def __init__(self, values: SuiteValues, server: str, options: Mapping) -> None:
        self._values = values
        self._server = server
        self._retries = options.get("retries")
        self.by_server: dict[str, list[Draft]] = {}
        self.remarks: list[Remark] = []

    def read(self, part: Part) -> None:
        """Take in the entries of one file."""
        self._values.turn_to(part.folder)
        top = part.top.mapping
        defaults = _mapping(top.get("defaults"))
        for lane in CALL_KEYS.values():
            items = _list(top.get(lane))
            for index, entry in enumerate(items):
                line = part.document.item_line(items, index)
                self._entry(_mapping(entry), defaults, part.file, line)
        self._leave_lanes(part)

    def _entry(self, entry: Mapping, defaults: Mapping, file: str, line: int) -> None:
        server = str(entry.get("server") or defaults.get("server") or self._server)
        try:
            draft = self._draft(entry, defaults, file, line)
        except LeftBehindError as error:
            name = str(entry["name"])
            self.remarks.append(Remark(file=file, line=line, what=name, reason=error.reason))
        else:
            self.by_server.setdefault(server, []).append(draft)

    def _draft(self, entry: Mapping, defaults: Mapping, file: str, line: int) -> Draft:
        name = str(entry["name"])
        marks = {key: entry.get(key, defaults.get(key)) for key in _MARKS}
        marks["tags"] = list(dict.fromkeys([*_tags(defaults), *_tags(entry)]))
        if marks["retries"] is None:
            marks["retries"] = self._retries
        steps = tuple(self._steps(entry, defaults))
        if len(steps) > 1 and marks["retries"]:
            raise LeftBehindError("its steps are tried again together, and here one by one")
        return Draft(
            file=file,
            line=line,
            name=name,
            steps=steps,
            marks=without_nothing(marks),
            captures=tuple(each for step in steps for each in _mapping(step.get("capture"))),
        )

    def _steps(self, entry: Mapping, defaults: Mapping) -> Iterator[Mapping]:
        name = str(entry["name"])
        budgets = {key: defaults[key] for key in BUDGETS if key in defaults}
        for key in ("setup", "steps", "teardown"):
            if key == "steps" and "steps" not in entry:
                yield {"title": name, **self._step(entry, budgets)}
                continue
            items = entry.get(key, defaults.get(key) if key != "steps" else None)
            for index, item in enumerate(_list(items)):
                step = _mapping(item)
                given = budgets if key == "steps" else {}
                number = f"{key.removesuffix('s')} {index + 1}"
                title = step.get("name") or f"{name} ({number})"
                yield {"title": title, **self._step(step, given)}

    def _step(self, step: Mapping, budgets: Mapping) -> Mapping:
        """One call with its assertions as a list, and its budgets beside them."""
        own = {key: step[key] for key in BUDGETS if key in step}
        expect = step.get("expect")
        inner = _mapping(expect)
        limits = {**budgets, **own, **{key: inner[key] for key in BUDGETS if key in inner}}
        found = {
            **{key: step[key] for key in (*CALL_KEYS, "args") if key in step},
            **limits,
            "assertions": expect if isinstance(expect, list) else inner.get("assertions", []),
        }
        filled = self._values.filled(found)
        assert isinstance(filled, dict)
        return {**filled, "capture": _mapping(step.get("capture"))}

    # What no other format has

    def _leave_lanes(self, part: Part) -> None:
        top = part.top.mapping
        for lane in _LANES:
            items = top.get(lane)
            if isinstance(items, list):
                for index, item in enumerate(items):
                    name = str(_mapping(item).get("name") or lane)
                    line = part.document.item_line(items, index)
                    reason = f"{lane} are part of a suite only"
                    self.remarks.append(Remark(file=part.file, line=line, what=name, reason=reason))
            elif lane in top:
                self.leave(part, lane, "this is part of a suite only")
        for key, reason in _WHOLE.items():
            if key in top:
                self.leave(part, key, reason)

    def leave(self, part: Part, key: str, reason: str) -> None:
        """Say that what stands under a key of a file has no place in another format."""
        line = locate(part.document).key((key,)).line
        self.remarks.append(Remark(file=part.file, line=line, what=key, reason=reason))


def _mapping(value: object) -> Mapping:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _tags(entry: Mapping) -> list[object]:
    tags = entry.get("tags", [])
    return [tags] if isinstance(tags, str) else _list(tags)
