"""One call of a suite: a tool, a resource or a prompt, what is expected of it and kept of it."""

from __future__ import annotations

import re

from mcptest.core.framing import encode_line
from mcptest.core.plan import Capture, Step, Template
from mcptest.core.record import Record
from mcptest.formats.conductor_request import use_of
from mcptest.formats.suite_choices import choosing, least
from mcptest.formats.suite_expect import BUDGETS, Budgets, ExpectReader, successful
from mcptest.formats.suite_sizes import CAPTURED, size_put_in
from mcptest.formats.suite_variables import text_of
from mcptest.formats.templates import NAME, filled, references
from mcptest.matching.suite_matchers import SuiteMatchers, parse_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcptest.core.diagnostics import Complaint, Diagnostic
    from mcptest.formats.fields import Fields
    from mcptest.formats.suite_variables import Variables

    Words = Callable[[list[Complaint]], SuiteMatchers]

__all__ = ["CALLS", "STEP_KEYS", "StepReader"]

# The key that says what is called, by lane.
CALLS = {"tools": "tool", "resources": "uri", "prompts": "prompt"}
_METHODS = {"tool": "tools/call", "uri": "resources/read", "prompt": "prompts/get"}
STEP_KEYS = ("name", *CALLS.values(), "args", "capture", "expect", *BUDGETS)

# Where references to values may stand; a capture only says where a value is.
_FILLED = (*CALLS.values(), "args", "expect", *BUDGETS)

# Mistakes that another value in the same place would not be.
_ABOUT_VALUES = frozenset(["F008", "F009", "F011", "F013", "F015", "F017", "F019"])

# Stands for a value that is known only when the step is sent.
_SAMPLE = "…"


class _Origin(Record):
    """What a step gets from where it stands: its id, its name, what all of the file have."""

    id: str
    name: str
    shared: Budgets


class StepReader:
    """Reads the calls of one file."""

    def __init__(self, variables: Variables, words: Words, complaints: list[Complaint]) -> None:
        self._variables = variables
        self._words = words
        self._complaints = complaints

    def asked(self) -> tuple[Diagnostic, ...]:
        """What the environment does not have of what was read since the last question."""
        return self._variables.asked()

    def read(
        self, fields: Fields, id: str, name: str, captured: list[str], shared: Budgets
    ) -> Step | None:
        """The step; what it keeps is added to `captured`. None when it has mistakes."""
        step = self._read_filled(fields, _Origin(id=id, name=name, shared=shared), captured)
        captures = self._captures(fields)
        captured += [capture.name for capture in captures]
        return step.but(captures=captures) if step and captures else step

    def _read_filled(self, fields: Fields, origin: _Origin, captured: list[str]) -> Step | None:
        written = {key: value for key, value in fields.mapping.items() if key in _FILLED}
        needs = tuple(dict.fromkeys(each for each, _ in references(written) if each in captured))
        # Complains about what nobody knows; what is captured is not known before the step.
        values = {
            key: self._variables.fill(value, fields.at((key,)), captured)
            for key, value in written.items()
        }
        if not needs:
            return self._made(_put(fields, written, values), origin, self._complaints)
        self._refuse_choices(fields, needs)
        found: list[Complaint] = []
        # As they are now: what `CONFIG_DIR` means changes from file to file.
        known = dict(self._variables.values)
        sample = self._sample(known, needs, fields, written, origin, found)
        places = [steps for each, steps in references(written) if each in needs]
        # What is wrong with a sample may be right with the value.
        base = len(fields.steps)
        self._complaints += [
            complaint
            for complaint in found
            if complaint.code not in _ABOUT_VALUES
            or not any(_meets(complaint.steps[base:], place) for place in places)
        ]
        if sample is None:
            return None
        filler = self._filler(known, needs, fields, written, origin)
        return sample.but(template=Template(needs=needs, fill=filler))

    def _sample(
        self,
        known: Mapping[str, object],
        needs: tuple[str, ...],
        fields: Fields,
        written: dict[str, object],
        origin: _Origin,
        complaints: list[Complaint],
    ) -> Step | None:
        values = {**known, **{name: f"{_SAMPLE}{name}" for name in needs}}
        for key, value in written.items():
            if any(name not in values for name, _ in references(value)):
                return None
            if not self._variables.has_room(value, values, fields.at((key,))):
                return None
            try:
                filled(value, values)
            except ValueError as error:
                # Two keys become one, whatever the captured values are.
                fields.complain(key, "F003", str(error))
                return None
        return self._with(values, fields, written, origin, complaints)

    def _refuse_choices(self, fields: Fields, needs: tuple[str, ...]) -> None:
        for choice in choosing(fields.mapping, needs):
            place = fields.at(choice.steps)
            place.complain("", "F013", choice.message, choice.help, on_key=False)

    def _with(
        self,
        values: Mapping[str, object],
        fields: Fields,
        written: dict[str, object],
        origin: _Origin,
        complaints: list[Complaint],
    ) -> Step | None:
        """The step with these values; None when it has mistakes."""
        inner = filled(written, values)
        assert isinstance(inner, dict)
        place = type(fields)(fields.mapping, fields.steps, complaints)
        return self._made(_put(place, written, inner), origin, complaints)

    def _filler(
        self,
        known: Mapping[str, object],
        needs: tuple[str, ...],
        fields: Fields,
        written: dict[str, object],
        origin: _Origin,
    ) -> Callable[[Mapping[str, object]], Step]:
        idle_if_empty = frozenset(least(written.get("expect"), needs))

        def fill(values: Mapping[str, object]) -> Step:
            complaints: list[Complaint] = []
            given = {**known, **{name: values[name] for name in needs}}
            size_put_in(written, given, CAPTURED)
            _refuse_idle(given, idle_if_empty)
            step = self._with(given, fields, written, origin, complaints)
            for complaint in complaints:
                if complaint.severity == "error":
                    raise ValueError(complaint.message)
            assert step is not None, "a step that cannot be made was refused when it was loaded"
            return step

        return fill

    def _made(self, fields: Fields, origin: _Origin, complaints: list[Complaint]) -> Step | None:
        calls = [key for key in _METHODS if key in fields.mapping]
        reader = ExpectReader(self._words(complaints))
        # Whatever else is wrong: its other mistakes are told as well.
        expectation = reader.read(fields, "expect", origin.name, origin.shared)
        if len(calls) != 1:
            if calls:
                message = f"one call at a time, and here are {' and '.join(calls)}"
                fields.complain(calls[1], "F003", message)
            fields.mapping_at("args")
            return None
        request = self._request(fields, calls[0], origin.id)
        method = _METHODS[calls[0]]
        if not expectation.assertions:
            expectation = expectation.but(assertions=successful(method))
        target = fields.mapping[calls[0]]
        return Step(
            line=encode_line(request),
            method=method,
            expectation=expectation,
            id=origin.id,
            use=use_of(request),
            tool=str(target) if calls[0] == "tool" else "",
            label=f"{calls[0]} {target}",
        )

    def _request(self, fields: Fields, call: str, id: str) -> dict[str, object]:
        target = fields.text(call)
        if fields.mapping[call] == "":
            fields.complain(call, "F009", f'"{call}" is empty', on_key=False)
        inner = fields.mapping_at("args")
        if inner and call == "uri":
            fields.complain("args", "F006", '"args" goes with a tool or a prompt, not with a uri')
        params: dict[str, object] = {"uri" if call == "uri" else "name": target}
        arguments = inner.mapping if inner else {}
        if call == "tool" or (call == "prompt" and arguments):
            params["arguments"] = arguments
        if call == "prompt" and inner:
            for key in arguments:
                inner.text(key)
        return {"jsonrpc": "2.0", "id": id, "method": _METHODS[call], "params": params}

    def _captures(self, fields: Fields) -> tuple[Capture, ...]:
        inner = fields.mapping_at("capture")
        if inner is None:
            return ()
        if not inner.mapping:
            fields.complain("capture", "F011", '"capture" is empty: it keeps nothing')
        captures = [self._capture(inner, name) for name in inner.mapping]
        return tuple(capture for capture in captures if capture)

    def _capture(self, fields: Fields, name: str) -> Capture | None:
        if not re.fullmatch(NAME, name):
            message = f"{name!r} is no name: letters, digits and _ only, not first a digit"
            fields.complain(name, "F009", message)
        path = fields.text(name)
        if not isinstance(fields.mapping[name], str):
            return None
        try:
            steps = parse_target(path, ("result", "error"))
        except ValueError as error:
            help = "for example result.structuredContent.id"
            fields.complain(name, "F009", f"the path {error}", help, on_key=False)
            return None
        return Capture(name=name, path=path, steps=steps)


def _refuse_idle(values: Mapping[str, object], names: Iterable[str]) -> None:
    """Everything has at least nothing."""
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


def _put(fields: Fields, written: dict[str, object], values: dict[str, object]) -> Fields:
    """The call with its values; what a prompt is given is text, whatever it was before."""
    given, args = written.get("args"), values.get("args")
    if "prompt" in fields.mapping and isinstance(given, dict) and isinstance(args, dict):
        texts = map(text_of, given.values(), args.values())
        values = {**values, "args": dict(zip(args, texts, strict=True))}
    return fields.replaced({**fields.mapping, **values})


def _meets(steps: tuple[object, ...], place: tuple[object, ...]) -> bool:
    """Whether one of two places is in the other."""
    shorter = min(len(steps), len(place))
    return steps[:shorter] == place[:shorter]
