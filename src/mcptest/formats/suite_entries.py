"""`tools:`, `resources:` and `prompts:` of a suite: each entry becomes a case."""

from __future__ import annotations

from mcptest.core.plan import Case
from mcptest.formats.fields import Fields, kind_of
from mcptest.formats.marks import read_only, read_skip, read_tags
from mcptest.formats.suite_expect import BUDGETS
from mcptest.formats.suite_steps import CALLS, STEP_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.plan import Step
    from mcptest.formats.suite_parts import Part
    from mcptest.formats.suite_steps import StepReader

__all__ = ["DEFAULT_KEYS", "ENTRY_KEYS", "EntryReader"]

_MARKS = ("name", "server", "tags", "skip", "only", "timeout", "retries")
_CALL = ("args", "capture", "expect", *BUDGETS)
_AROUND = ("steps", "setup", "teardown")
ENTRY_KEYS = {lane: (*_MARKS, call, *_CALL, *_AROUND) for lane, call in CALLS.items()}

# What `defaults:` may say for every entry that does not say it itself; tags are added.
DEFAULT_KEYS = ("server", "tags", "timeout", "retries", "setup", "teardown", *BUDGETS)

_MOST_RETRIES = 100


class EntryReader:
    """Reads the entries of one file into cases, each with the name of its server."""

    def __init__(
        self,
        part: Part,
        steps: StepReader,
        server_of: Callable[[Fields], str],
        retries: int | None,
    ) -> None:
        self._part = part
        self._steps = steps
        self._server_of = server_of
        self._retries = retries
        defaults = part.top.mapping_at("defaults")
        if defaults:
            defaults.refuse_unknown(DEFAULT_KEYS, (), '"defaults"')
        self._defaults = defaults.mapping if defaults else {}
        self._names: dict[str, int] = {}

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

    def _entry(self, lane: str, written: Fields, index: int, line: int) -> tuple[str, Case]:
        written.refuse_unknown(ENTRY_KEYS[lane], (), f"an entry of {lane}")
        written.require(("name",), f"an entry of {lane}")
        self._refuse_mixture(lane, written)
        fields = written.replaced({**self._defaults, **written.mapping})
        name = fields.text("name")
        id = f"{self._part.file}#{lane}-{index + 1}"
        captured: list[str] = []
        key = self._key_of(name)
        setup = self._listed(fields, "setup", id, key, captured)
        steps = self._calls(lane, fields, id, key, captured)
        teardown = self._listed(fields, "teardown", id, key, captured)
        if len(setup) + len(steps) == 1:
            steps = [step.but(label="") for step in steps]
        case = self._marked(fields, line, name)
        return self._server_of(fields), case.but(steps=(*setup, *steps), teardown=tuple(teardown))

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
        count = self._names[name] = self._names.get(name, 0) + 1
        return name if count == 1 else f"{name} ({count})"

    def _calls(
        self, lane: str, fields: Fields, id: str, name: str, captured: list[str]
    ) -> list[Step]:
        if "steps" in fields.mapping:
            if fields.mapping["steps"] == []:
                fields.complain("steps", "F011", '"steps" is empty: it does nothing')
            return self._listed(fields, "steps", id, name, captured)
        step = self._steps.read(fields, id, name, captured)
        return [step] if step else []

    def _listed(
        self, fields: Fields, key: str, id: str, name: str, captured: list[str]
    ) -> list[Step]:
        found = []
        for index, item in enumerate(fields.list_at(key)):
            place = fields.at((key, index))
            if not isinstance(item, dict):
                message = f"a step must be a mapping and is {kind_of(item)}"
                place.complain("", "F008", message, on_key=False)
                continue
            inner = place.replaced(item)
            inner.refuse_unknown(STEP_KEYS, (), "a step")
            calls = CALLS.values()
            if not any(call in item or inner.is_misspelt(call) for call in calls):
                inner.complain("", "F007", f"a step needs one of the keys {', '.join(calls)}")
            number = f"{key.removesuffix('s')} {index + 1}"
            step = self._steps.read(
                inner, f"{id}/{key}-{index + 1}", f"{name} > {number}", captured
            )
            if step:
                title = inner.text("name") or step.label
                found.append(step.but(label=f"{number}: {title}"))
        return found

    def _marked(self, fields: Fields, line: int, name: str) -> Case:
        mapping = fields.mapping
        retries = self._retries
        if "retries" in mapping:
            retries = fields.whole_number("retries", 0, _MOST_RETRIES, 0)
        return Case(
            name=name,
            line=line,
            timeout_s=fields.duration_s("timeout"),
            skip=read_skip(fields, "skip") if "skip" in mapping else None,
            only=read_only(fields, "only") if "only" in mapping else False,
            tags=self._tags(fields),
            retries=retries,
        )

    def _tags(self, fields: Fields) -> tuple[str, ...]:
        own = read_tags(fields, "tags") if "tags" in fields.mapping else ()
        shared = self._defaults.get("tags")
        extra = (shared,) if isinstance(shared, str) else shared
        more = (
            tuple(tag for tag in extra if isinstance(tag, str))
            if isinstance(extra, (list, tuple))
            else ()
        )
        return tuple(dict.fromkeys((*more, *own)))
