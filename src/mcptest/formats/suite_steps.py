"""One call of a suite: a tool, a resource or a prompt, what is expected of it and kept of it."""

from __future__ import annotations

import re

from mcptest.core.framing import encode_line
from mcptest.core.plan import Capture, Expectation, Step, Template
from mcptest.formats.conductor_request import use_of
from mcptest.formats.suite_expect import BUDGETS, ExpectReader, successful
from mcptest.formats.templates import NAME, filled, references
from mcptest.matching.suite_words import SuiteWords
from mcptest.matching.target import parse_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest.core.diagnostics import Complaint
    from mcptest.formats.fields import Fields
    from mcptest.formats.suite_variables import Variables

    Words = Callable[[list[Complaint]], SuiteWords]

__all__ = ["CALLS", "STEP_KEYS", "StepReader"]

# The key that says what is called, by lane.
CALLS = {"tools": "tool", "resources": "uri", "prompts": "prompt"}
_METHODS = {"tool": "tools/call", "uri": "resources/read", "prompt": "prompts/get"}
STEP_KEYS = ("name", *CALLS.values(), "args", "capture", "expect", *BUDGETS)

# Where references to values may stand; a capture only says where a value is.
_FILLED = (*CALLS.values(), "args", "expect", *BUDGETS)

# Stands for a value that is known only when the step is sent.
_SAMPLE = "…"


class StepReader:
    """Reads the calls of one file."""

    def __init__(self, variables: Variables, words: Words, complaints: list[Complaint]) -> None:
        self._variables = variables
        self._words = words
        self._complaints = complaints

    def read(self, fields: Fields, id: str, name: str, captured: list[str]) -> Step | None:
        """The step; what it keeps is added to `captured`. None when it has mistakes."""
        step = self._read_filled(fields, id, name, captured)
        captures = self._captures(fields)
        captured += [capture.name for capture in captures]
        return step.but(captures=captures) if step and captures else step

    def _read_filled(self, fields: Fields, id: str, name: str, captured: list[str]) -> Step | None:
        later = {each: _SAMPLE for each in captured if each not in self._variables.values}
        written = {key: value for key, value in fields.mapping.items() if key in _FILLED}
        places = [steps for each, steps in references(written) if each in captured]
        if not places:
            return self._made(self._filled(fields, written), id, name, self._complaints)
        needs = tuple(dict.fromkeys(each for each, _ in references(written) if each in captured))
        self._refuse_unknown(fields, written, captured)
        found: list[Complaint] = []
        values = {**self._variables.values, **later, **dict.fromkeys(needs, _SAMPLE)}
        sample = self._sample(fields, written, values, found, id, name)
        # What is wrong with a sample may be right with the value.
        base = len(fields.steps)
        self._complaints += [
            complaint
            for complaint in found
            if not any(_meets(complaint.steps[base:], place) for place in places)
        ]
        if sample is None:
            return None
        return sample.but(
            template=Template(needs=needs, fill=self._filler(fields, written, id, name))
        )

    def _filled(self, fields: Fields, written: dict[str, object]) -> Fields:
        values = {
            key: self._variables.fill(value, fields.at((key,))) for key, value in written.items()
        }
        return fields.replaced({**fields.mapping, **values})

    def _refuse_unknown(
        self, fields: Fields, written: dict[str, object], captured: list[str]
    ) -> None:
        for key, value in written.items():
            self._variables.fill(value, fields.at((key,)), captured)

    def _sample(
        self,
        fields: Fields,
        written: dict[str, object],
        values: Mapping[str, object],
        complaints: list[Complaint],
        id: str,
        name: str,
    ) -> Step | None:
        if any(each not in values for each, _ in references(written)):
            return None
        inner = filled(written, values)
        assert isinstance(inner, dict)
        mapping = {**fields.mapping, **inner}
        place = type(fields)(mapping, fields.steps, complaints)
        return self._made(place, id, name, complaints)

    def _filler(
        self, fields: Fields, written: dict[str, object], id: str, name: str
    ) -> Callable[[Mapping[str, object]], Step]:
        def fill(values: Mapping[str, object]) -> Step:
            complaints: list[Complaint] = []
            known = {**self._variables.values, **values}
            step = self._sample(fields, written, known, complaints, id, name)
            for complaint in complaints:
                if complaint.severity == "error":
                    raise ValueError(complaint.message)
            assert step is not None, "a step that cannot be made was refused when it was loaded"
            return step

        return fill

    def _made(self, fields: Fields, id: str, name: str, complaints: list[Complaint]) -> Step | None:
        calls = [key for key in _METHODS if key in fields.mapping]
        if len(calls) != 1:
            if calls:
                message = f"one call at a time, and here are {' and '.join(calls)}"
                fields.complain(calls[1], "F003", message)
            # Its other mistakes are told as well.
            ExpectReader(self._words(complaints)).read(fields, "expect", name)
            return None
        request = self._request(fields, calls[0], id)
        words = self._words(complaints)
        expectation = ExpectReader(words).read(fields, "expect", name)
        method = _METHODS[calls[0]]
        if expectation is None or not (expectation.assertions or "expect" in fields.mapping):
            expectation = (expectation or Expectation()).but(assertions=successful(method))
        target = fields.mapping[calls[0]]
        return Step(
            line=encode_line(request),
            method=method,
            expectation=expectation,
            id=id,
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


def _meets(steps: tuple[object, ...], place: tuple[object, ...]) -> bool:
    """Whether one of two places is in the other."""
    shorter = min(len(steps), len(place))
    return steps[:shorter] == place[:shorter]
