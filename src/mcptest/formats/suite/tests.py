"""`tools:`, `resources:` and `prompts:` of a suite: each entry becomes a case."""

from __future__ import annotations

from mcptest.core.plan import Case, Step, Template
from mcptest.core.value_class import Record
from mcptest.formats.conductor import read_captures, use_of
from mcptest.formats.fields import (
    EACH,
    NON_EMPTY,
    OBJECT,
    ONLY,
    SKIP,
    STRING,
    TEST_TAGS,
    UNLISTED,
    Fields,
    Key,
    Keys,
    fill_references,
    read_only,
    read_skip,
    read_tags,
    references,
    whole_number,
)
from mcptest.formats.suite.expect import (
    BUDGETS,
    EXPECT,
    Budgets,
    ExpectReader,
    read_budgets,
    successful,
)
from mcptest.formats.suite.servers import SERVER
from mcptest.formats.suite.variables import (
    CAPTURED,
    CONFIG_DIR,
    find_forbidden_uses,
    names_in_partial,
    size_put_in,
    text_of,
)
from mcptest.matching.suite_matchers import SuiteMatchers, parse_target
from mcptest.protocol.framing import encode_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcptest.core.diagnostics import PathDiagnostic
    from mcptest.formats.each import Row, RowReader
    from mcptest.formats.suite.loader import Part
    from mcptest.formats.suite.variables import Variables

    Words = Callable[[list[PathDiagnostic]], SuiteMatchers]

__all__ = [
    "ARGS",
    "CALLS",
    "CALL_KEYS",
    "DEFAULT_KEYS",
    "ENTRY_KEYS",
    "RETRIES",
    "STEP_KEYS",
    "Defaults",
    "EntryReader",
    "StepReader",
]


# The key that says what is called, by lane.
CALLS = {"tools": "tool", "resources": "uri", "prompts": "prompt"}
_METHODS = {"tool": "tools/call", "uri": "resources/read", "prompt": "prompts/get"}

_TARGETS = Keys(
    {
        "tool": Key(NON_EMPTY, "The tool to call.", "find_order"),
        "uri": Key(NON_EMPTY, "The resource to read.", "file:///readme"),
        "prompt": Key(NON_EMPTY, "The prompt to get.", "greet"),
    }
)
# What goes with each of them.
ARGS = Keys(
    {
        "tool": Key(OBJECT, "The arguments of the call.", {"id": "${order}"}, is_filled=True),
        "uri": Key({"not": {}}, "A resource takes no arguments."),
        "prompt": Key(
            {**OBJECT, "additionalProperties": STRING},
            "The arguments of the call; a prompt takes strings.",
            is_filled=True,
        ),
    }
)
CALL_KEYS = Keys(
    {
        "args": ARGS["tool"],
        "capture": Key(
            "capture",
            "What to keep of the answer, by name; ${name} stands for it in the steps that follow.",
            {"order": "result.structuredContent.id"},
        ),
        "expect": EXPECT,
        **BUDGETS,
    }
)
STEP_KEYS = Keys({"name": Key(STRING, "What reports call this step."), **_TARGETS, **CALL_KEYS})

RETRIES = Key(whole_number(0, 100), "How often a test that does not pass is tried again.")
_PATIENCE = Keys(
    {
        "timeout": Key("duration", "Longest wait for one answer of this test."),
        "retries": RETRIES,
    }
)
_AROUND = Keys(
    {
        "setup": Key("steps", "Calls that are made before."),
        "teardown": Key("steps", "Calls that are made after, whether or not the test passed."),
    }
)
ENTRY_KEYS = {
    lane: Keys(
        {
            "name": Key(NON_EMPTY, "What reports call this test.", is_required=True),
            "each": EACH,
            "server": SERVER,
            "tags": TEST_TAGS,
            "skip": SKIP,
            "only": ONLY,
            **({} if call == "uri" else {"unlisted": UNLISTED}),
            **_PATIENCE,
            call: _TARGETS[call],
            **CALL_KEYS,
            "args": ARGS[call],
            "steps": Key("steps", "Several calls, one after the other."),
            **_AROUND,
        }
    )
    for lane, call in CALLS.items()
}
# Tags are added to those of an entry; of everything else an entry's own value counts.
DEFAULT_KEYS = Keys({"server": SERVER, "tags": TEST_TAGS, **_PATIENCE, **_AROUND, **BUDGETS})

# Keys that may have references to values; `capture` only has paths.
_FILLED = (*CALLS.values(), "args", "expect", *BUDGETS)

# Those that may hold `${column}` in an entry with `each`; first its name.
_ROW_KEYS = ("name", "tags", "skip", *_FILLED, "steps", *_AROUND)

# Codes of mistakes that depend on the value.
_ABOUT_VALUES = frozenset(["F008", "F009", "F011", "F013", "F015", "F017", "F019"])

# A sample for a value that is known only when the step is sent.
_SAMPLE = "…"


class _Origin(Record):
    """What a step gets from its context: its id, its name, the shared budgets."""

    id: str
    name: str
    shared: Budgets


class StepReader:
    """Reads the calls of one file."""

    def __init__(
        self, variables: Variables, words: Words, diagnostics: list[PathDiagnostic]
    ) -> None:
        self.variables = variables
        self._words = words
        self._diagnostics = diagnostics

    def read(
        self, fields: Fields, id: str, name: str, captured: list[str], shared: Budgets
    ) -> Step | None:
        """Return the step, None if it has mistakes; adds the names it saves to `captured`."""
        origin = _Origin(id=id, name=name, shared=shared)
        written = {key: value for key, value in fields.mapping.items() if key in _FILLED}
        # Reports unknown names; captured values are not known before the step is sent.
        values = {
            key: self.variables.fill(value, fields.at((key,)), captured)
            for key, value in written.items()
        }
        needs = tuple(dict.fromkeys(each for each, _ in references(written) if each in captured))
        if needs:
            step = self._read_template(fields, origin, written, needs)
        else:
            call = _replace_values(fields, written, values)
            step = _make_step(call, origin, self._words(self._diagnostics))
        captures = read_captures(fields, _parse_target, "for example result.structuredContent.id")
        captured += [capture.name for capture in captures]
        return step.but(captures=captures) if step and captures else step

    def _read_template(
        self, fields: Fields, origin: _Origin, written: dict[str, object], needs: tuple[str, ...]
    ) -> Step | None:
        """Return a step made of samples, with the template that makes it of captured values."""
        for steps, (message, help) in find_forbidden_uses(fields.mapping, needs):
            fields.at(steps).report("", "F013", message, help, on_key=False)
        call = _CallTemplate(fields, origin, written, needs, self.variables.values, self._words)
        samples: dict[str, object] = {name: f"{_SAMPLE}{name}" for name in needs}
        if not self._can_fill(fields, written, call.known | samples):
            return None
        found: list[PathDiagnostic] = []
        step = call.make_step(samples, found)
        # What is wrong with a sample may be right with the captured value.
        places = [(*fields.steps, *at) for name, at in references(written) if name in needs]
        self._diagnostics += [
            each
            for each in found
            if each.code not in _ABOUT_VALUES
            or not any(_overlap(each.steps, place) for place in places)
        ]
        return step.but(template=Template(needs=needs, fill=call.fill)) if step else None

    def _can_fill(
        self, fields: Fields, written: dict[str, object], values: Mapping[str, object]
    ) -> bool:
        """True if all names are known, the result is not too large, and no two keys collide."""
        for key, value in written.items():
            if any(name not in values for name, _ in references(value)):
                return False
            if not self.variables.has_room(value, values, fields.at((key,))):
                return False
            try:
                fill_references(value, values)
            except ValueError as error:
                # Two keys become equal, whatever the captured values are.
                fields.report(key, "F003", str(error))
                return False
        return True


class _CallTemplate:
    """A call that uses captured values, from which a step is made as soon as they are known."""

    def __init__(
        self,
        fields: Fields,
        origin: _Origin,
        written: dict[str, object],
        needs: tuple[str, ...],
        known: Mapping[str, object],
        words: Words,
    ) -> None:
        # A copy: `CONFIG_DIR` changes from file to file.
        self.known = dict(known)
        self._fields = fields
        self._origin = origin
        self._written = written
        self._needs = needs
        self._words = words
        self._in_partial = frozenset(names_in_partial(written.get("expect"), needs))

    def make_step(
        self, captured: dict[str, object], diagnostics: list[PathDiagnostic]
    ) -> Step | None:
        """Return the step with these values; None, and diagnostics, if it has mistakes."""
        values = fill_references(self._written, self.known | captured)
        assert isinstance(values, dict)
        place = Fields(self._fields.mapping, self._fields.steps, diagnostics)
        call = _replace_values(place, self._written, values)
        return _make_step(call, self._origin, self._words(diagnostics))

    def fill(self, values: Mapping[str, object]) -> Step:
        """Return the step to send; ValueError if it has mistakes with the captured values."""
        captured = {name: values[name] for name in self._needs}
        size_put_in(self._written, self.known | captured, CAPTURED)
        _refuse_idle(captured, self._in_partial)
        diagnostics: list[PathDiagnostic] = []
        step = self.make_step(captured, diagnostics)
        for diagnostic in diagnostics:
            if diagnostic.severity == "error":
                raise ValueError(diagnostic.message)
        assert step is not None, "a step that cannot be made was refused when it was loaded"
        return step


def _make_step(fields: Fields, origin: _Origin, words: SuiteMatchers) -> Step | None:
    """Return the step of a call without references, None if it has mistakes."""
    # Read first, to report its mistakes in any case.
    expectation = ExpectReader(words).read(fields, "expect", origin.name, origin.shared)
    calls = [key for key in _METHODS if key in fields.mapping]
    if len(calls) != 1:
        if calls:
            message = f"one call at a time, and here are {' and '.join(calls)}"
            fields.report(calls[1], "F003", message)
        fields.mapping_at("args")
        return None
    call = calls[0]
    method = _METHODS[call]
    request: dict[str, object] = {"jsonrpc": "2.0", "id": origin.id, "method": method}
    request["params"] = _read_params(fields, call)
    if not expectation.assertions:
        expectation = expectation.but(assertions=successful(method))
    target = fields.mapping[call]
    return Step(
        line=encode_line(request),
        method=method,
        expectation=expectation,
        id=origin.id,
        use=use_of(request),
        tool=str(target) if call == "tool" else "",
        label=f"{call} {target}",
    )


def _read_params(fields: Fields, call: str) -> dict[str, object]:
    target = fields.non_empty_text(call)
    inner = fields.mapping_at("args")
    if inner and call == "uri":
        fields.report("args", "F006", '"args" goes with a tool or a prompt, not with a uri')
    params: dict[str, object] = {"uri" if call == "uri" else "name": target}
    arguments = inner.mapping if inner else {}
    if call == "tool" or (call == "prompt" and arguments):
        params["arguments"] = arguments
    if call == "prompt" and inner:
        for key in arguments:
            inner.text(key)
    return params


def _parse_target(path: str) -> tuple[str | int, ...]:
    try:
        return parse_target(path, ("result", "error"))
    except ValueError as error:
        raise ValueError(f"the path {error}") from None


def _refuse_idle(values: Mapping[str, object], names: Iterable[str]) -> None:
    """Raise ValueError for empty values under `partial`, which every value would meet."""
    for name in names:
        if values[name] in ({}, []):
            raise ValueError(f'{name!r} is empty, and under "partial" every value would meet it')
        if _has_empty(values[name]):
            raise ValueError(
                f'{name!r} has something empty in it, and under "partial" every value would meet '
                "that; compare with exact"
            )


def _has_empty(value: object) -> bool:
    level = [value]
    while level:
        inner = [each for each in level if isinstance(each, (dict, list))]
        if not all(inner):
            return True
        level = [
            below for each in inner for below in (each.values() if isinstance(each, dict) else each)
        ]
    return False


def _replace_values(
    fields: Fields, written: dict[str, object], values: dict[str, object]
) -> Fields:
    """Return the call with its values; arguments of a prompt become strings."""
    given, args = written.get("args"), values.get("args")
    if "prompt" in fields.mapping and isinstance(given, dict) and isinstance(args, dict):
        texts = map(text_of, given.values(), args.values())
        values = {**values, "args": dict(zip(args, texts, strict=True))}
    return fields.replaced({**fields.mapping, **values})


def _overlap(steps: tuple[object, ...], place: tuple[object, ...]) -> bool:
    """True if one of two places is in the other."""
    shorter = min(len(steps), len(place))
    return steps[:shorter] == place[:shorter]


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
        self._rows: RowReader | None = None
        # The lists of steps as they are written, while an entry with `each` is read.
        self._sources: dict[str, list[object]] = {}
        self._written = frozenset(_names_in(part.top.mapping))

    def read(self, lane: str) -> list[tuple[str, Case]]:
        """Return the cases of a lane, in the order of the file."""
        fields = self._part.top
        if fields.mapping.get(lane) == []:
            fields.report(lane, "F011", f'"{lane}" is empty: it tests nothing')
        found = []
        for index, entry in fields.mappings_at(lane, f"an entry of {lane}"):
            line = self._part.document.item_line(fields.list_at(lane), index)
            id = f"{self._part.file}#{lane}-{index + 1}"
            if "each" in entry.mapping:
                found += self._read_rows(lane, entry, id, line)
            else:
                found.append(self._read_entry(lane, entry, id, line))
        return found

    @property
    def row_files(self) -> tuple[str, ...]:
        """The files of rows that were read."""
        return tuple(self._rows.files) if self._rows else ()

    def _read_rows(self, lane: str, fields: Fields, id: str, line: int) -> list[tuple[str, Case]]:
        """Return one case for each row of an entry with `each`."""
        # Loaded only for suites that have rows.
        from mcptest.formats.each import RowReader  # noqa: PLC0415

        part = self._part
        self._rows = self._rows or RowReader(part.document, part.read_beside, (CONFIG_DIR,))
        written = {key: fields.mapping.get(key) for key in ("steps", *_AROUND)}
        self._sources = {key: each for key, each in written.items() if isinstance(each, list)}

        def read(inner: Fields, row: Row, number: int) -> tuple[str, Case]:
            self._steps.variables.columns = row.values
            server, case = self._read_entry(lane, inner, f"{id}.{number}", row.line)
            return server, case.but(row=row.place)

        found, mistakes = self._rows.expand(fields, line, _ROW_KEYS, part.diagnostics, read)
        part.diagnostics.extend(mistakes)
        self._steps.variables.columns = ()
        self._sources = {}
        return found

    def read_unused(self) -> None:
        """Report mistakes in defaults that no entry has used."""
        fields, used = self._defaults.fields, self._defaults.used
        for key in ("setup", "teardown"):
            if key in fields.mapping and key not in used:
                self._read_steps(fields, key, key, key, [], Budgets())
        if "server" in fields.mapping and "server" not in used:
            self._server_of(fields)

    def _read_entry(self, lane: str, fields: Fields, id: str, line: int) -> tuple[str, Case]:
        fields.check_keys(ENTRY_KEYS[lane], f"an entry of {lane}")
        self._refuse_mixture(lane, fields)
        name = fields.non_empty_text("name")
        captured: list[str] = []
        self._steps.variables.take_unset()
        # Snapshots of a second test of the same name get a number.
        count = self._names.get(name, 0) + 1
        # With its number it must not equal the name of another test.
        while count > 1 and f"{name} ({count})" in self._written:
            count += 1
        self._names[name] = count
        key = name if count == 1 else f"{name} ({count})"
        setup = self._read_around(fields, "setup", id, key, captured)
        steps = self._read_calls(lane, fields, id, key, captured)
        teardown = self._read_around(fields, "teardown", id, key, captured)
        if len(setup) + len(steps) == 1:
            steps = [step.but(label="") for step in steps]
        defaults = self._defaults
        retries = defaults.retries
        if "retries" in fields.mapping:
            retries = fields.whole_number("retries", *RETRIES.bounds, 0)
        case = Case(
            name=name,
            line=line,
            steps=(*setup, *steps),
            teardown=tuple(teardown),
            timeout_s=fields.duration_s("timeout") or defaults.timeout_s,
            skip=read_skip(fields, "skip"),
            only=read_only(fields, "only"),
            tags=tuple(dict.fromkeys((*defaults.tags, *read_tags(fields, "tags")))),
            retries=retries,
            is_unlisted=fields.flag("unlisted", False),
            needs=(*defaults.needs, *self._steps.variables.take_unset()),
        )
        return self._server_of(defaults.owner_of("server", fields)), case

    def _refuse_mixture(self, lane: str, fields: Fields) -> None:
        call = CALLS[lane]
        if "steps" in fields.mapping:
            for key in (call, *CALL_KEYS):
                if key in fields.mapping:
                    message = f'"{key}" and "steps" do not go together: each step has its own'
                    fields.report(key, "F003", message)
        elif call not in fields.mapping and not fields.is_misspelt(call):
            message = f'an entry of {lane} needs the key "{call}", or "steps"'
            fields.report("", "F007", message)

    def _read_calls(
        self, lane: str, fields: Fields, id: str, name: str, captured: list[str]
    ) -> list[Step]:
        shared = self._defaults.budgets
        if "steps" in fields.mapping:
            return self._read_steps(fields, "steps", id, name, captured, shared)
        # A call of another lane has been reported already.
        known = {key: fields.mapping[key] for key in ENTRY_KEYS[lane] if key in fields.mapping}
        step = self._steps.read(fields.replaced(known), id, name, captured, shared)
        return [step] if step else []

    def _read_around(
        self, fields: Fields, key: str, id: str, name: str, captured: list[str]
    ) -> list[Step]:
        """Return the steps before or after the calls; budgets do not apply to them."""
        owner = self._defaults.owner_of(key, fields)
        return self._read_steps(owner, key, id, name, captured, Budgets())

    def _read_steps(
        self, fields: Fields, key: str, id: str, name: str, captured: list[str], shared: Budgets
    ) -> list[Step]:
        if fields.mapping.get(key) == []:
            fields.report(key, "F011", f'"{key}" is empty: it does nothing')
        found = []
        calls = CALLS.values()
        for index, inner in fields.mappings_at(key, "a step"):
            number = f"{key.removesuffix('s')} {index + 1}"
            inner.check_keys(STEP_KEYS, "a step")
            if not any(call in inner.mapping or inner.is_misspelt(call) for call in calls):
                inner.report("", "F007", f"a step needs one of the keys {', '.join(calls)}")
            step_id = f"{id}/{key}-{index + 1}"
            step = self._steps.read(inner, step_id, f"{name} > {number}", captured, shared)
            title = inner.text("name")
            if step:
                label = f"{number}: {title or step.label}"
                steps = self._sources.get(key) or fields.list_at(key)
                at = self._part.document.item_line(steps, index)
                found.append(step.but(label=label, at=at))
        return found


def _names_in(file: Mapping[str, object]) -> Iterator[str]:
    """Yield the names of all entries of a file, as written."""
    for lane in CALLS:
        items = file.get(lane)
        for item in items if isinstance(items, list) else ():
            name = item.get("name") if isinstance(item, dict) else None
            if isinstance(name, str):
                yield name


class Defaults:
    """The `defaults` of a file, for entries that do not say it themselves.

    They are read once, so that each mistake is reported once. `retries` are those of
    `run_options`, unless `defaults` has its own.
    """

    def __init__(self, top: Fields, variables: Variables, retries: int | None) -> None:
        fields = top.mapping_at("defaults") or top.at(("defaults",))
        fields.check_keys(DEFAULT_KEYS, '"defaults"')
        self.fields = fields
        self.used: set[str] = set()
        self.tags = read_tags(fields, "tags")
        self.timeout_s = fields.duration_s("timeout")
        self.retries = retries
        if "retries" in fields.mapping:
            self.retries = fields.whole_number("retries", *RETRIES.bounds, 0)
        variables.take_unset()
        given = {key: fields.mapping[key] for key in BUDGETS if key in fields.mapping}
        filled = {key: variables.fill(value, fields.at((key,))) for key, value in given.items()}
        self.budgets = read_budgets(fields.replaced(filled))
        # Variables that every test needs and that are not set.
        self.needs = variables.take_unset()

    def owner_of(self, key: str, entry: Fields) -> Fields:
        """Return the fields that have a key: the entry itself, or the defaults."""
        if key in entry.mapping or key not in self.fields.mapping:
            return entry
        self.used.add(key)
        return self.fields
