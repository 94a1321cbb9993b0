"""`*.test.mcp.yml`: one description, a list of tests, each a raw request and what to expect.

`load_conductor` returns a `Suite`, or raises a `FormatError` with every mistake.
"""

from __future__ import annotations

import re

from mcptest.core.coverage import KINDS
from mcptest.core.diagnostics import closest
from mcptest.core.errors import FormatError
from mcptest.core.plan import Case, SavedValue, Step, Suite, Template
from mcptest.core.record import ABSENT
from mcptest.formats.conductor_expect import (
    SLIPPED_KEYS,
    ExpectReader,
    misplaced_keys,
    refuse_misplaced,
)
from mcptest.formats.config import read_server
from mcptest.formats.keys import (
    FLAG,
    NON_EMPTY,
    OBJECT,
    ONLY,
    SKIP,
    STRING,
    TEST_TAGS,
    Fields,
    Key,
    Keys,
    diagnose,
    kind_of,
    one_of,
    read_only,
    read_skip,
    read_tags,
    whole_number,
)
from mcptest.formats.templates import NAME, filled, filled_texts, misplaced, references
from mcptest.formats.yaml.document import read_document
from mcptest.matching.expectation import Compiler
from mcptest.matching.values import parse_field_path
from mcptest.protocol.framing import encode_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest.core.coverage import Use
    from mcptest.core.diagnostics import Diagnostic, PathDiagnostic
    from mcptest.core.plan import ServerSpec
    from mcptest.formats.yaml.document import Document
    from mcptest.matching.registry import Registry

    Message = dict[str, object]
    ReadBeside = Callable[[str], str] | None

__all__ = ["FILE_KEYS", "FORMS", "TEST_KEYS", "load_conductor", "use_of"]

# What a test sends: it has exactly one of these keys.
FORMS = Keys(
    {
        "request": Key(
            OBJECT,
            "A raw JSON-RPC request; without an id it is a notification.",
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        ),
        "tool": Key(NON_EMPTY, "Call this tool.", "read_file"),
        "resource": Key(NON_EMPTY, "Read the resource of this URI.", "file:///a.txt"),
        "prompt": Key(NON_EMPTY, "Get this prompt.", "greet"),
        "list": Key(one_of(KINDS), "Ask for a whole list."),
    }
)
TEST_KEYS = Keys(
    {
        "it": Key(STRING, "What this test shows.", "reads a file", is_required=True),
        **FORMS,
        "arguments": Key(OBJECT, "The arguments of the tool or the prompt.", {"path": "a.txt"}),
        "expect": Key("expect", "What is expected of the answer."),
        "timeout": Key("duration", "Longest wait for the answer."),
        "skip": SKIP,
        "only": ONLY,
        "tags": TEST_TAGS,
        "capture": Key(
            "capture",
            "What to keep of the answer, by name; ${name} stands for it in the tests that follow.",
            {"id": "result.structuredContent.id"},
        ),
        "retries": Key(whole_number(0, 100), "How often it is tried again when it does not pass."),
        "wire_id": Key(
            FLAG, "true: the id is sent as written, even if the session has used it before."
        ),
    }
)
FILE_KEYS = Keys(
    {
        "description": Key(STRING, "What reports call this file.", is_required=True),
        "tests": Key("tests", "The tests, in the order in which they run.", is_required=True),
        "server": Key("server", "How to start the server; otherwise a config says it."),
    }
)


# Requests: a raw `request`, or one of the short forms
#
#     tool: read_file            resource: file:///a.txt
#     arguments: {path: a.txt}   prompt: greet
#     list: tools                arguments: {name: Ada}
#
# A raw request is sent as it is written. A short form gets an envelope and an id.


def read_request(fields: Fields, id: str) -> Message | None:
    """Return the request of a test, None if it has mistakes; `id` is for the short forms."""
    forms = [form for form in FORMS if form in fields.mapping]
    if len(forms) > 1:
        message = f"a test sends one thing, and this one says {' and '.join(forms)}"
        fields.complain(forms[1], "F003", message, f'keep "{forms[0]}", or make two tests of it')
        return None
    if not forms:
        return {}
    if "arguments" in fields.mapping and forms[0] not in ("tool", "prompt"):
        message = f'"arguments" goes with "tool" or "prompt", not with "{forms[0]}"'
        fields.complain("arguments", "F006", message)
    if forms[0] == "request":
        return _raw(fields)
    method, params = _short(fields, forms[0])
    envelope: Message = {"jsonrpc": "2.0", "id": id, "method": method}
    return envelope | ({"params": params} if params else {})


def _raw(fields: Fields) -> Message | None:
    request = fields.mapping["request"]
    if isinstance(request, dict):
        return request
    message = f'"request" must be a JSON-RPC object and is {kind_of(request)}'
    fields.complain("request", "F008", message, on_key=False)
    return None


def _short(fields: Fields, form: str) -> tuple[str, Message]:
    if form == "list":
        return KINDS[fields.choice("list", tuple(KINDS), "tools")].method, {}
    name = fields.text(form)
    if not name and fields.mapping[form] == "":
        fields.complain(form, "F009", f'"{form}" is empty', on_key=False)
    if form == "resource":
        return "resources/read", {"uri": name}
    inner = fields.mapping_at("arguments")
    arguments = inner.mapping if inner else {}
    if form == "tool":
        return "tools/call", {"name": name, "arguments": arguments}
    for key in arguments:
        assert inner is not None
        inner.text(key)
    return "prompts/get", {"name": name} | ({"arguments": arguments} if arguments else {})


def use_of(request: Message) -> Use | None:
    """Return what a request uses, for coverage; None if it is not about one tool, … or prompt."""
    params = request.get("params")
    if not isinstance(params, dict):
        return None
    method = request.get("method")
    if method == "tools/call" or method == "prompts/get":
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            return None
        given = tuple(arguments) if isinstance(arguments, dict) else ()
        return ("tool" if method == "tools/call" else "prompt"), name, given
    uri = params.get("uri")
    if method == "resources/read" and isinstance(uri, str):
        return "resource", uri, ()
    return None


_PLAIN_TEST_KEYS = frozenset(["it", "request", "expect"])

# The keys of a manifest for the mock.
_OFFERS = frozenset(["tools", "resources", "prompts"])


def load_conductor(
    text: str,
    file: str,
    registry: Registry,
    environment: Mapping[str, str],
    read_beside: Callable[[str], str] | None = None,
) -> tuple[Suite, tuple[Diagnostic, ...]]:
    """Return the suite of a file, and warnings about accepted mistakes.

    `read_beside` returns the text of a file that the test file names.
    """
    document = read_document(text, file)
    steps = _step_reader(document, registry, read_beside)
    loader = _Loader(document, environment, steps)
    suite = loader.suite()
    diagnostics = diagnose(document, loader.complaints)
    if suite is None or any(found.severity == "error" for found in diagnostics):
        raise FormatError(diagnostics)
    return suite, diagnostics


def _step_reader(
    document: Document, registry: Registry, read_beside: Callable[[str], str] | None
) -> StepReader:
    if not _has_captures(document.value):
        return StepReader(registry, read_beside)
    # Most files save no values.

    return CapturingReader(registry, read_beside)


class _Loader:
    """Reads one document; every mistake is a complaint, and reading continues."""

    def __init__(
        self, document: Document, environment: Mapping[str, str], steps: StepReader
    ) -> None:
        self._document = document
        self._environment = environment
        self._steps = steps
        self.complaints: list[PathDiagnostic] = steps.complaints

    def suite(self) -> Suite | None:
        value = self._document.value
        if not isinstance(value, dict):
            message = f"a test file must be a mapping and is {kind_of(value)}"
            Fields({}, (), self.complaints).complain("", "F005", message)
            return None
        fields = Fields(value, (), self.complaints)
        if "tests" not in value and _OFFERS.intersection(value):
            message = "this is a manifest of what a server offers, not a test file"
            fields.complain("", "F005", message, "mcptest mock plays it")
            return None
        if "config" in value:
            message = 'a test file has no key "config"; the config on the command line is used'
            fields.complain("config", "W001", message, severity="warning")
        fields.refuse_unknown(FILE_KEYS, "a test file", accepted=("config",))
        fields.require(FILE_KEYS.required, "a test file")
        return Suite(
            name=fields.text("description"),
            file=self._document.file,
            format="conductor",
            cases=self._cases(fields),
            server=self._server(fields),
        )

    def _server(self, fields: Fields) -> ServerSpec | None:
        inner = fields.mapping_at("server")
        return read_server(inner, self._environment) if inner else None

    def _cases(self, fields: Fields) -> tuple[Case, ...]:
        tests = fields.list_at("tests")
        if not tests and isinstance(fields.mapping.get("tests"), list):
            message = '"tests" is empty: a file without tests checks nothing'
            fields.complain("tests", "F011", message)
        lines = self._document.item_lines(tests) if tests else []
        cases = []
        for index, (test, line) in enumerate(zip(tests, lines, strict=True)):
            # Remove it from the list, to free the memory of a test that has been read.
            tests[index] = None
            if isinstance(test, dict):
                inner = Fields(test, ("tests", index), self.complaints)
                cases.append(self._case(inner, line, index))
            else:
                message = f"a test must be a mapping and is {kind_of(test)}"
                fields.at(("tests", index)).complain("", "F008", message, on_key=False)
        return tuple(cases)

    def _case(self, fields: Fields, line: int, index: int) -> Case:
        test = fields.mapping
        if not test.keys() <= TEST_KEYS.keys():
            refuse_misplaced(fields)
            reported = (*SLIPPED_KEYS, *misplaced_keys(test))
            fields.refuse_unknown(TEST_KEYS, "a test", accepted=reported)
        if not test.keys() >= _PLAIN_TEST_KEYS:
            self._require(fields)
        step = self._steps.read(fields, f"{self._document.file}#{index + 1}")
        if len(test) == len(_PLAIN_TEST_KEYS):
            steps = (step,) if step else ()
            return Case.made_of({"name": fields.text("it"), "line": line, "steps": steps})
        if "wire_id" in test and step:
            step = step.but(keeps_id=self._keeps_id(fields))
        return Case(
            name=fields.text("it"),
            line=line,
            steps=(step,) if step else (),
            timeout_s=fields.duration_s("timeout") if "timeout" in test else None,
            skip=read_skip(fields, "skip") if "skip" in test else None,
            only=read_only(fields, "only") if "only" in test else False,
            tags=read_tags(fields, "tags") if "tags" in test else (),
            retries=fields.whole_number("retries", *TEST_KEYS["retries"].bounds, 0)
            if "retries" in test
            else None,
        )

    def _keeps_id(self, fields: Fields) -> bool:
        keeps_id = fields.flag("wire_id", False)
        request = fields.mapping.get("request")
        if keeps_id and not (isinstance(request, dict) and "id" in request):
            message = '"wire_id" keeps the "id" that a "request" has, and this test writes none'
            fields.complain("wire_id", "F006", message)
        return keeps_id

    def _require(self, fields: Fields) -> None:
        test = fields.mapping
        has_slipped = any(key in test for key in SLIPPED_KEYS) or misplaced_keys(test)
        fields.require(("it",) if has_slipped else ("it", "expect"), "a test")
        if not any(form in test or fields.is_misspelt(form) for form in FORMS):
            message = f"a test needs one of the keys {', '.join(FORMS)}: what it sends"
            fields.complain("", "F007", message)


def _has_captures(document: object) -> bool:
    tests = document.get("tests") if isinstance(document, dict) else None
    return isinstance(tests, list) and any(
        isinstance(test, dict) and "capture" in test for test in tests
    )


# Steps: a request and its expectation


class StepReader:
    """Reads the steps of one file, in order."""

    def __init__(self, registry: Registry, read_beside: ReadBeside) -> None:
        self._compiler = Compiler(registry, read_beside)
        self._registry = registry
        self._read_beside = read_beside
        self._expect = ExpectReader(self._compiler)
        self.complaints: list[PathDiagnostic] = self._compiler.complaints

    def read(self, fields: Fields, id: str) -> Step | None:
        """Return the step of a test, None if it has mistakes; `id` is for the short forms."""
        request = read_request(fields, id)
        if request is None:
            return None
        is_short = bool(request) and "request" not in fields.mapping
        expectation = self._expect.read(fields, request, is_short=is_short)
        method = request.get("method")
        return Step.made_of(
            {
                "line": encode_line(request),
                "method": method if isinstance(method, str) else "",
                "expectation": expectation,
                "id": request.get("id", ABSENT),
                "use": use_of(request),
            }
        )


# Steps of a file that saves values of answers for later tests: `capture` and `${name}`

# The keys of a test that may hold `${name}`.
_FILLED_KEYS = (*FORMS, "arguments", "expect", *SLIPPED_KEYS)

# Those that are compiled, in which values of a server must not become patterns.
_COMPARED_KEYS = ("expect", *SLIPPED_KEYS)

# A sample for a value that is not known yet while the file is checked: it is a string, a number
# and a date.
_SAMPLE = "1"


class CapturingReader(StepReader):
    """Reads the steps of such a file; in a file without `capture`, ${…} has no meaning."""

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
        """Return the names a test refers to, once each; report those that are not captured."""
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

    def _captures(self, fields: Fields, step: Step | None) -> tuple[SavedValue, ...]:
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

    def _capture(self, fields: Fields, name: str) -> SavedValue | None:
        if not re.fullmatch(NAME, name):
            message = f"{name!r} is no name: letters, digits and _ only, not first a digit"
            fields.complain(name, "F009", message)
        path = fields.text(name)
        steps = parse_field_path(path)
        if steps is None:
            message = "a capture takes a path into the answer"
            fields.complain(name, "F009", message, "such as result.content[0].text", on_key=False)
            return None
        return SavedValue(name=name, path=path, steps=steps)


def _filled(
    written: dict[str, object],
    steps: tuple[str | int, ...],
    complaints: list[PathDiagnostic],
    values: Mapping[str, object],
) -> Fields:
    """Return a test with its references replaced by values."""
    inner = {
        key: filled(written[key], values, literal=key in _COMPARED_KEYS)
        for key in _FILLED_KEYS
        if key in written
    }
    if "prompt" in written and "arguments" in written:
        # Arguments of a prompt are strings.
        inner["arguments"] = filled_texts(written["arguments"], values)
    return Fields(written | inner, steps, complaints)
