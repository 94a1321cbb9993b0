"""Steps of a file whose tests keep values of answers for later ones: `capture` and `${name}`."""

from __future__ import annotations

import re

from mcptest.core.plan import Capture, Template
from mcptest.core.record import ABSENT
from mcptest.core.suggest import closest
from mcptest.formats.conductor_expect import SLIPPED_KEYS
from mcptest.formats.conductor_request import FORMS
from mcptest.formats.conductor_step import StepReader
from mcptest.formats.fields import Fields
from mcptest.formats.templates import NAME, filled, filled_texts, misplaced, references
from mcptest.matching.compare import parse_field_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest.core.diagnostics import Complaint
    from mcptest.core.plan import Step
    from mcptest.formats.conductor_step import ReadBeside
    from mcptest.matching.registry import Registry

__all__ = ["CapturingReader"]

# The keys of a test that may hold `${name}`.
_FILLED_KEYS = (*FORMS, "arguments", "expect", *SLIPPED_KEYS)

# Those of them that are compiled, and where values from outside must stay values.
_COMPARED_KEYS = ("expect", *SLIPPED_KEYS)

# What stands for a value that is not known yet, while the file is checked: it is a text, a
# number and a date.
_SAMPLE = "1"


class CapturingReader(StepReader):
    """Reads the steps of such a file; without a capture in it, ${…} is a text like any other."""

    def __init__(self, registry: Registry, read_beside: ReadBeside) -> None:
        super().__init__(registry, read_beside)
        self._captured: list[str] = []

    def read(self, fields: Fields, id: str) -> Step | None:
        needs = self._needs(fields)
        samples = dict.fromkeys(needs, _SAMPLE)
        try:
            filled_in = _filled(fields.mapping, fields.steps, self.complaints, samples)
        except ValueError as error:
            fields.complain("", "F003", str(error))
            return None
        # What a sample says cannot contradict anything: it is no value anybody will see.
        self._compiler.is_sample = bool(needs)
        sample = super().read(filled_in, id)
        self._compiler.is_sample = False
        captures = self._captures(fields, sample)
        self._captured += [capture.name for capture in captures]
        if sample is None:
            return None
        template = Template(needs=needs, fill=self._filler(fields, id)) if needs else None
        return sample.but(captures=captures, template=template)

    def _needs(self, fields: Fields) -> tuple[str, ...]:
        """The names a test refers to, once each; a complaint about those nobody captures."""
        needs: dict[str, None] = {}
        for key in _FILLED_KEYS:
            for name, steps in references(fields.mapping.get(key), (key,)):
                if name not in self._captured and name not in needs:
                    self._complain_unknown(fields, name, steps)
                needs[name] = None
        for key in _COMPARED_KEYS:
            for steps in misplaced(fields.mapping.get(key), (key,)):
                message = "a captured value can be a parameter of a matcher, not choose one"
                help = "write the name of the matcher, and of a schema's file, in full"
                fields.at(steps).complain("", "F013", message, help, on_key=False)
        return tuple(needs)

    def _complain_unknown(self, fields: Fields, name: str, steps: tuple[str | int, ...]) -> None:
        meant = closest(name, self._captured)
        question = f"; did you mean ${{{meant}}}?" if meant else ""
        there = ", ".join(dict.fromkeys(self._captured)) or "none"
        help = f"captured so far: {there}; to mean this very text, write $${{{name}}}"
        message = f"no earlier test of this file captures {name!r}{question}"
        fields.at(steps).complain("", "F020", message, help, on_key=False)

    def _filler(self, fields: Fields, id: str) -> Callable[[Mapping[str, object]], Step]:
        registry, read_beside, steps = self._registry, self._read_beside, fields.steps

        def fill(values: Mapping[str, object]) -> Step:
            reader = StepReader(registry, read_beside)
            step = reader.read(_filled(fields.mapping, steps, reader.complaints, values), id)
            for complaint in reader.complaints:
                if complaint.severity == "error":
                    raise ValueError(complaint.message)
            assert step is not None, "a test without a step was refused when it was loaded"
            return step

        return fill

    def _captures(self, fields: Fields, step: Step | None) -> tuple[Capture, ...]:
        inner = fields.mapping_at("capture")
        if inner is None:
            return ()
        if not inner.mapping:
            fields.complain("capture", "F011", '"capture" is empty: it keeps nothing')
        if step and step.id is ABSENT and fields.mapping.get("request"):
            message = "a notification has no answer to capture from"
            fields.complain("capture", "F017", message, 'give the request an "id"')
        captures = [self._capture(inner, name) for name in inner.mapping]
        return tuple(capture for capture in captures if capture)

    def _capture(self, fields: Fields, name: str) -> Capture | None:
        if not re.fullmatch(NAME, name):
            message = f"{name!r} is no name: letters, digits and _ only, not first a digit"
            fields.complain(name, "F009", message)
        path = fields.text(name)
        steps = parse_field_path(path)
        if steps is None:
            message = "a capture takes a path into the answer"
            fields.complain(name, "F009", message, "such as result.content[0].text", on_key=False)
            return None
        return Capture(name=name, path=path, steps=steps)


def _filled(
    written: dict[str, object],
    steps: tuple[str | int, ...],
    complaints: list[Complaint],
    values: Mapping[str, object],
) -> Fields:
    """A test with the values put in for which it has names."""
    inner = {
        key: filled(written[key], values, literal=key in _COMPARED_KEYS)
        for key in _FILLED_KEYS
        if key in written
    }
    if "prompt" in written and "arguments" in written:
        # What a prompt is given is text, whatever it was captured as.
        inner["arguments"] = filled_texts(written["arguments"], values)
    return Fields(written | inner, steps, complaints)
