"""`tools:`, `resources:` and `prompts:` of a suite: each entry becomes a case."""

from __future__ import annotations

from mcptest.core.plan import Case
from mcptest.formats.fields import Fields, kind_of
from mcptest.formats.marks import read_only, read_skip, read_tags
from mcptest.formats.suite_defaults import DEFAULT_KEYS, MOST_RETRIES, Defaults
from mcptest.formats.suite_expect import BUDGETS, Budgets
from mcptest.formats.suite_steps import CALLS, STEP_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest.core.plan import Step
    from mcptest.formats.suite_parts import Part
    from mcptest.formats.suite_steps import StepReader

__all__ = ["DEFAULT_KEYS", "ENTRY_KEYS", "EntryReader"]

_MARKS = ("name", "server", "tags", "skip", "only", "timeout", "retries")
_CALL = ("args", "capture", "expect", *BUDGETS)
_AROUND = ("steps", "setup", "teardown")
ENTRY_KEYS = {lane: (*_MARKS, call, *_CALL, *_AROUND) for lane, call in CALLS.items()}


class EntryReader:
    """Reads the entries of one file into cases, each with the name of its server."""

    def __init__(
        self,
        part: Part,
        steps: StepReader,
        server_of: Callable[[Fields], str],
        defaults: Defaults,
    ) -> None:
        self._part = part
        self._steps = steps
        self._server_of = server_of
        self._defaults = defaults
        self._names: dict[str, int] = {}
        self._written = frozenset(_names_in(part.top.mapping))

    def read(self, lane: str) -> list[tuple[str, Case]]:
        """The cases of a lane, in the order of the file."""
        fields = self._part.top
        items = fields.list_at(lane)
        if not items and isinstance(fields.mapping.get(lane), list):
            fields.complain(lane, "F011", f'"{lane}" is empty: it tests nothing')
        found = []
        for index, item in enumerate(items):
            place = fields.at((lane, index))
            if isinstance(item, dict):
                line = self._part.document.item_line(items, index)
                found.append(self._entry(lane, place.replaced(item), index, line))
            else:
                message = f"an entry of {lane} must be a mapping and is {kind_of(item)}"
                place.complain("", "F008", message, on_key=False)
        return found

    def read_unused(self) -> None:
        """What `defaults` says for entries that are not there has its mistakes told, too."""
        fields, used = self._defaults.fields, self._defaults.used
        for key in ("setup", "teardown"):
            if key in fields.mapping and key not in used:
                self._listed(fields, key, key, key, [], Budgets())
        if "server" in fields.mapping and "server" not in used:
            self._server_of(fields)

    def _entry(self, lane: str, fields: Fields, index: int, line: int) -> tuple[str, Case]:
        fields.refuse_unknown(ENTRY_KEYS[lane], (), f"an entry of {lane}")
        fields.require(("name",), f"an entry of {lane}")
        self._refuse_mixture(lane, fields)
        name = fields.text("name")
        if fields.mapping.get("name") == "":
            fields.complain("name", "F009", '"name" is empty', on_key=False)
        id = f"{self._part.file}#{lane}-{index + 1}"
        captured: list[str] = []
        self._steps.asked()
        key = self._key_of(name)
        setup = self._around(fields, "setup", id, key, captured)
        steps = self._calls(lane, fields, id, key, captured)
        teardown = self._around(fields, "teardown", id, key, captured)
        if len(setup) + len(steps) == 1:
            steps = [step.but(label="") for step in steps]
        case = self._marked(fields, line, name)
        server = self._server_of(self._defaults.owner_of("server", fields))
        needs = (*self._defaults.needs, *self._steps.asked())
        return server, case.but(steps=(*setup, *steps), teardown=tuple(teardown), needs=needs)

    def _refuse_mixture(self, lane: str, fields: Fields) -> None:
        call = CALLS[lane]
        if "steps" in fields.mapping:
            for key in (call, *_CALL):
                if key in fields.mapping:
                    message = f'"{key}" and "steps" do not go together: each step has its own'
                    fields.complain(key, "F003", message)
        elif call not in fields.mapping and not fields.is_misspelt(call):
            message = f'an entry of {lane} needs the key "{call}", or "steps"'
            fields.complain("", "F007", message)

    def _key_of(self, name: str) -> str:
        """The name under which snapshots are kept; a second of the same name has a number."""
        count = self._names.get(name, 0) + 1
        # A number must not make it the name of another test.
        while count > 1 and f"{name} ({count})" in self._written:
            count += 1
        self._names[name] = count
        return name if count == 1 else f"{name} ({count})"

    def _calls(
        self, lane: str, fields: Fields, id: str, name: str, captured: list[str]
    ) -> list[Step]:
        shared = self._defaults.budgets
        if "steps" in fields.mapping:
            return self._listed(fields, "steps", id, name, captured, shared)
        # A call of another lane has been refused.
        known = {key: fields.mapping[key] for key in ENTRY_KEYS[lane] if key in fields.mapping}
        step = self._steps.read(fields.replaced(known), id, name, captured, shared)
        return [step] if step else []

    def _around(
        self, fields: Fields, key: str, id: str, name: str, captured: list[str]
    ) -> list[Step]:
        """What stands before or after the calls, which no budget is meant for."""
        owner = self._defaults.owner_of(key, fields)
        return self._listed(owner, key, id, name, captured, Budgets())

    def _listed(
        self, fields: Fields, key: str, id: str, name: str, captured: list[str], shared: Budgets
    ) -> list[Step]:
        if fields.mapping.get(key) == []:
            fields.complain(key, "F011", f'"{key}" is empty: it does nothing')
        found = []
        items = fields.list_at(key)
        for index, item in enumerate(items):
            place = fields.at((key, index))
            if not isinstance(item, dict):
                message = f"a step must be a mapping and is {kind_of(item)}"
                place.complain("", "F008", message, on_key=False)
                continue
            number = f"{key.removesuffix('s')} {index + 1}"
            inner = self._step_fields(place.replaced(item))
            step_id = f"{id}/{key}-{index + 1}"
            step = self._steps.read(inner, step_id, f"{name} > {number}", captured, shared)
            title = inner.text("name")
            if step:
                label = f"{number}: {title or step.label}"
                at = self._part.document.item_line(items, index)
                found.append(step.but(label=label, at=at))
        return found

    def _step_fields(self, fields: Fields) -> Fields:
        fields.refuse_unknown(STEP_KEYS, (), "a step")
        calls = CALLS.values()
        if not any(call in fields.mapping or fields.is_misspelt(call) for call in calls):
            fields.complain("", "F007", f"a step needs one of the keys {', '.join(calls)}")
        return fields

    def _marked(self, fields: Fields, line: int, name: str) -> Case:
        mapping, defaults = fields.mapping, self._defaults
        retries = defaults.retries
        if "retries" in mapping:
            retries = fields.whole_number("retries", 0, MOST_RETRIES, 0)
        tags = read_tags(fields, "tags") if "tags" in mapping else ()
        return Case(
            name=name,
            line=line,
            timeout_s=fields.duration_s("timeout") or defaults.timeout_s,
            skip=read_skip(fields, "skip") if "skip" in mapping else None,
            only=read_only(fields, "only") if "only" in mapping else False,
            tags=tuple(dict.fromkeys((*defaults.tags, *tags))),
            retries=retries,
        )


def _names_in(file: Mapping[str, object]) -> Iterator[str]:
    """The names of all entries of a file, as they are written."""
    for lane in CALLS:
        items = file.get(lane)
        for item in items if isinstance(items, list) else ():
            name = item.get("name") if isinstance(item, dict) else None
            if isinstance(name, str):
                yield name
