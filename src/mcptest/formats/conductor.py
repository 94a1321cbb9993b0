"""`*.test.mcp.yml`: one description, a list of tests, each a raw request and what to expect.

`load_conductor` returns a `Suite`, or raises a `FormatError` with every mistake.
"""

from __future__ import annotations

from mcptest.core.coverage import KINDS
from mcptest.core.diagnostics import closest, suggest
from mcptest.core.errors import FormatError
from mcptest.core.plan import Case, Expectation, Performance, SavedValue, Step, Suite, Template
from mcptest.core.value_class import ABSENT
from mcptest.formats.config import read_server
from mcptest.formats.fields import (
    EACH,
    FLAG,
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
    check_diagnostics,
    diagnose,
    fill_references,
    fill_strings,
    kind_of,
    misplaced,
    one_of,
    read_only,
    read_skip,
    read_tags,
    read_top,
    references,
    whole_number,
)
from mcptest.formats.yaml import read_document
from mcptest.matching.compiler import Compiler, Literal
from mcptest.matching.json_values import parse_field_path, to_text
from mcptest.matching.patterns import PREFIX
from mcptest.protocol.framing import encode_line
from mcptest.protocol.jsonrpc import describe_id, id_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from mcptest.core.coverage import Use
    from mcptest.core.diagnostics import Diagnostic, PathDiagnostic
    from mcptest.formats.each import Row, RowReader
    from mcptest.formats.yaml import Document
    from mcptest.matching.registry import Registry

    Message = dict[str, object]
    ReadBeside = Callable[[str], str] | None

__all__ = [
    "ANSWER_KEYS",
    "EXPECT_KEYS",
    "FILE_KEYS",
    "FORMS",
    "PERFORMANCE_KEYS",
    "SLIPPED_KEYS",
    "TEST_KEYS",
    "ExpectReader",
    "has_captures",
    "load_conductor",
    "read_captures",
    "use_of",
]

# What a test sends: it has exactly one of these keys.
FORMS = Keys(
    {
        "request": Key(
            OBJECT,
            "A raw JSON-RPC request; without an id it is a notification.",
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
            is_filled=True,
        ),
        "tool": Key(NON_EMPTY, "Call this tool.", "read_file"),
        "resource": Key(NON_EMPTY, "Read the resource of this URI.", "file:///a.txt"),
        "prompt": Key(NON_EMPTY, "Get this prompt.", "greet"),
        "list": Key(one_of(KINDS), "Ask for a whole list.", is_filled=True),
    }
)
TEST_KEYS = Keys(
    {
        "it": Key(STRING, "What this test shows.", "reads a file", is_required=True),
        "each": EACH,
        **FORMS,
        "arguments": Key(
            OBJECT, "The arguments of the tool or the prompt.", {"path": "a.txt"}, is_filled=True
        ),
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
        "unlisted": UNLISTED,
    }
)
FILE_KEYS = Keys(
    {
        "description": Key(STRING, "What reports call this file.", is_required=True),
        "tests": Key("tests", "The tests, in the order in which they run.", is_required=True),
        "server": Key("server", "How to start the server; otherwise a config says it."),
    }
)

# `expect` of a test

_STDERR_EMPTY = "toBeEmpty"

PERFORMANCE_KEYS = Keys(
    {
        "maxResponseTime": Key("duration", "The answer takes no longer.", "500ms", is_filled=True),
        "minResponseTime": Key(
            "duration", "The answer takes at least as long.", "100ms", is_filled=True
        ),
    }
)
EXPECT_KEYS = Keys(
    {
        "response": Key(
            "response",
            "The whole answer: what is written must be there, and nothing else.",
            {"result": {"match:partial": {"isError": False}}},
            is_filled=True,
        ),
        "stderr": Key(
            "stderr",
            f"What was written to stderr meanwhile: {_STDERR_EMPTY}, a string or a pattern.",
            _STDERR_EMPTY,
            "match:ready",
        ),
        "exitCode": Key(
            whole_number(-64, 255), "The exit code of the server, when it ends.", 0, is_filled=True
        ),
        "performance": Key("performance", "How long the answer may take."),
        "notifications": Key(
            "notifications",
            "Notifications that must arrive: their methods, or whole messages.",
            ["notifications/progress"],
        ),
    }
)
# The keys of an answer.
ANSWER_KEYS = frozenset(["jsonrpc", "id", "result", "error"])

# Keys that belong under `expect` and are often written one level too high.
SLIPPED_KEYS = ("stderr", "performance")
_SLIPPED = frozenset(SLIPPED_KEYS)
_NEVER_SLIPPED = tuple(key for key in EXPECT_KEYS if key not in _SLIPPED)

_EMPTY_PARTIAL: Message = {"match:partial": {}}


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
        fields.report(forms[1], "F003", message, f'keep "{forms[0]}", or make two tests of it')
        return None
    if not forms:
        return {}
    if "arguments" in fields.mapping and forms[0] not in ("tool", "prompt"):
        message = f'"arguments" goes with "tool" or "prompt", not with "{forms[0]}"'
        fields.report("arguments", "F006", message)
    if forms[0] == "request":
        request = fields.mapping["request"]
        if isinstance(request, dict):
            return request
        message = f'"request" must be a JSON-RPC object and is {kind_of(request)}'
        fields.report("request", "F008", message, on_key=False)
        return None
    method, params = _short(fields, forms[0])
    envelope: Message = {"jsonrpc": "2.0", "id": id, "method": method}
    return envelope | ({"params": params} if params else {})


def _short(fields: Fields, form: str) -> tuple[str, Message]:
    if form == "list":
        return KINDS[fields.choice("list", tuple(KINDS), "tools")].method, {}
    name = fields.non_empty_text(form)
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
    reader = _CapturingReader if has_captures(document.value) else StepReader
    suite = _Loader(document, environment, steps := reader(registry, read_beside)).suite()
    return suite, check_diagnostics(document, steps.diagnostics)


def has_captures(document: object) -> bool:
    """True if a test of a file captures a value, so that `${name}` is a reference in it."""
    tests = document.get("tests") if isinstance(document, dict) else None
    return isinstance(tests, list) and any(
        isinstance(test, dict) and "capture" in test for test in tests
    )


class _Loader:
    """Reads one document; every mistake is a diagnostic, and reading continues."""

    def __init__(
        self, document: Document, environment: Mapping[str, str], steps: StepReader
    ) -> None:
        self._document = document
        self._environment = environment
        self._steps = steps
        # Of tests with `each`.
        self._rows: RowReader | None = None
        self._row_steps: _CapturingReader | None = None
        self.diagnostics: list[PathDiagnostic] = steps.diagnostics

    def suite(self) -> Suite:
        fields = read_top(self._document, "a test file must be a mapping", self.diagnostics)
        if "tests" not in fields.mapping and _OFFERS.intersection(fields.mapping):
            message = "this is a manifest of what a server offers, not a test file"
            fields.report("", "F005", message, "mcptest mock plays it")
            raise FormatError(diagnose(self._document, self.diagnostics))
        if "config" in fields.mapping:
            message = 'a test file has no key "config"; the config on the command line is used'
            fields.report("config", "W001", message, severity="warning")
        fields.refuse_unknown(FILE_KEYS, "a test file", accepted=("config",))
        fields.require(FILE_KEYS.required, "a test file")
        server = fields.mapping_at("server")
        cases = self._cases(fields)
        return Suite(
            name=fields.text("description"),
            file=self._document.file,
            format="conductor",
            cases=cases,
            server=read_server(server, self._environment) if server else None,
            row_files=tuple(self._rows.files) if self._rows else (),
        )

    def _cases(self, fields: Fields) -> tuple[Case, ...]:
        tests = fields.list_at("tests")
        if not tests and isinstance(fields.mapping.get("tests"), list):
            message = '"tests" is empty: a file without tests checks nothing'
            fields.report("tests", "F011", message)
        lines = self._document.item_lines(tests) if tests else []
        cases = []
        for index, (test, line) in enumerate(zip(tests, lines, strict=True)):
            # Remove it from the list, to free the memory of a test that has been read.
            tests[index] = None
            if isinstance(test, dict):
                inner = Fields(test, ("tests", index), self.diagnostics)
                id = f"{self._document.file}#{index + 1}"
                if "each" in test:
                    cases += self._cases_of_rows(inner, line, id)
                else:
                    cases.append(self._case(inner, line, id, self._steps))
            else:
                message = f"a test must be a mapping and is {kind_of(test)}"
                fields.at(("tests", index)).report("", "F008", message, on_key=False)
        return tuple(cases)

    def _cases_of_rows(self, fields: Fields, line: int, id: str) -> list[Case]:
        """Return one case for each row of a test with `each`."""
        # Loaded only for files that have rows.
        from mcptest.formats.each import RowReader  # noqa: PLC0415

        steps = self._row_steps = self._row_steps or self._steps.for_rows()
        self._rows = self._rows or RowReader(self._document, steps.read_beside)

        def read(inner: Fields, row: Row, number: int) -> Case:
            steps.columns = row.values
            case = self._case(inner, row.line, f"{id}.{number}", steps)
            steps.columns = ()
            return case.but(row=row.place)

        cases, mistakes = self._rows.expand(fields, line, _ROW_KEYS, steps.diagnostics, read)
        self.diagnostics += mistakes
        return cases

    def _case(self, fields: Fields, line: int, id: str, steps: StepReader) -> Case:
        test = fields.mapping
        is_plain = test.keys() == _PLAIN_TEST_KEYS
        if not is_plain:
            self._check_keys(fields)
        step = steps.read(fields, id)
        if is_plain:
            made = (step,) if step else ()
            return Case.made_of({"name": fields.text("it"), "line": line, "steps": made})
        if "wire_id" in test and step:
            keeps_id = fields.flag("wire_id", False)
            request = test.get("request")
            if keeps_id and not (isinstance(request, dict) and "id" in request):
                message = '"wire_id" keeps the "id" that a "request" has, and this test writes none'
                fields.report("wire_id", "F006", message)
            step = step.but(keeps_id=keeps_id)
        is_unlisted = fields.flag("unlisted", False)
        if is_unlisted and step and not (step.use and step.use[0] in ("tool", "prompt")):
            message = '"unlisted" is about a tool or a prompt, and this test calls neither'
            fields.report("unlisted", "F006", message)
        return Case(
            name=fields.text("it"),
            line=line,
            steps=(step,) if step else (),
            timeout_s=fields.duration_s("timeout"),
            skip=read_skip(fields, "skip"),
            only=read_only(fields, "only"),
            tags=read_tags(fields, "tags"),
            retries=fields.whole_number("retries", *TEST_KEYS["retries"].bounds, 0)
            if "retries" in test
            else None,
            is_unlisted=is_unlisted,
        )

    def _check_keys(self, fields: Fields) -> None:
        """Report keys of a test that are unknown, in the wrong place or missing."""
        test = fields.mapping
        misplaced = _misplaced_keys(test)
        if not test.keys() <= TEST_KEYS.keys():
            _refuse_misplaced(fields)
            fields.refuse_unknown(TEST_KEYS, "a test", accepted=(*SLIPPED_KEYS, *misplaced))
        has_slipped = any(key in test for key in SLIPPED_KEYS) or misplaced
        fields.require(("it",) if has_slipped else ("it", "expect"), "a test")
        if not any(form in test or fields.is_misspelt(form) for form in FORMS):
            message = f"a test needs one of the keys {', '.join(FORMS)}: what it sends"
            fields.report("", "F007", message)


# Steps: a request and its expectation


class StepReader:
    """Reads the steps of one file, in order."""

    def __init__(self, registry: Registry, read_beside: ReadBeside) -> None:
        self._compiler = Compiler(registry, read_beside)
        self._registry = registry
        self.read_beside = read_beside
        self._expect = ExpectReader(self._compiler)
        self.diagnostics: list[PathDiagnostic] = self._compiler.diagnostics

    def for_rows(self) -> _CapturingReader:
        """Return the reader for tests with `each`, in which ${…} has a meaning."""
        return _CapturingReader(self._registry, self.read_beside)

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

# Those that may hold `${column}` in a test with `each`; first its name.
_ROW_KEYS = ("it", "tags", "skip", *_FILLED_KEYS)

# Those that are compiled, in which values of a server must not become patterns.
_COMPARED_KEYS = ("expect", *SLIPPED_KEYS)

# A sample for a value that is not known yet while the file is checked: it is a string, a number
# and a date.
_SAMPLE = "1"


class _CapturingReader(StepReader):
    """Reads the steps of such a file; in a file without `capture`, ${…} has no meaning."""

    def __init__(self, registry: Registry, read_beside: ReadBeside) -> None:
        super().__init__(registry, read_beside)
        self._captured: list[str] = []
        # The names of the columns while a test with `each` is read.
        self.columns: Collection[str] = ()

    def for_rows(self) -> _CapturingReader:
        return self

    def read(self, fields: Fields, id: str) -> Step | None:
        needs = self._needs(fields)
        samples = dict.fromkeys(needs, _SAMPLE)
        try:
            filled_in = _fill(fields.mapping, fields.steps, self.diagnostics, samples)
        except ValueError as error:
            fields.report("", "F003", str(error))
            return None
        # A sample is not a real value, so it cannot contradict anything.
        self._compiler.is_sample = bool(needs)
        sample = super().read(filled_in, id)
        self._compiler.is_sample = False
        is_notification = sample and sample.id is ABSENT and fields.mapping.get("request")
        if is_notification and isinstance(fields.mapping.get("capture"), dict):
            message = "a notification has no answer to capture from"
            fields.report("capture", "F017", message, 'give the request an "id"')
        captures = read_captures(fields, _parse_capture_path, "such as result.content[0].text")
        self._captured += [capture.name for capture in captures]
        if sample is None:
            return None
        if not needs:
            return sample.but(captures=captures)
        registry, read_beside, steps = self._registry, self.read_beside, fields.steps

        def fill(values: Mapping[str, object]) -> Step:
            reader = StepReader(registry, read_beside)
            step = reader.read(_fill(fields.mapping, steps, reader.diagnostics, values), id)
            for diagnostic in reader.diagnostics:
                if diagnostic.severity == "error":
                    raise ValueError(diagnostic.message)
            assert step is not None, "a test without a step was refused when it was loaded"
            return step

        return sample.but(captures=captures, template=Template(needs=needs, fill=fill))

    def _needs(self, fields: Fields) -> tuple[str, ...]:
        """Return the names a test refers to, once each; report those that are not captured."""
        needs: dict[str, None] = {}
        for key in _FILLED_KEYS:
            for name, steps in references(fields.mapping.get(key), (key,)):
                if name not in self._captured and name not in needs:
                    question = suggest(name, (*self.columns, *self._captured), "${{{}}}")
                    there = ", ".join(dict.fromkeys(self._captured)) or "none"
                    help = f"captured so far: {there}; to mean this very text, write $${{{name}}}"
                    message = f"no earlier test of this file captures {name!r}{question}"
                    if name in self.columns:
                        message = f"the value of a row cannot refer to a column, such as {name!r}"
                    elif self.columns:
                        message = f'"each" has no column {name!r}, and {message}'
                        help = f"columns: {', '.join(self.columns)}; {help}"
                    fields.at(steps).report("", "F020", message, help, on_key=False)
                needs[name] = None
        for key in _COMPARED_KEYS:
            for steps in misplaced(fields.mapping.get(key), (key,)):
                message = "a captured value can be a parameter of a matcher, not choose one"
                help = "write the name of the matcher, and of a schema's file, in full"
                fields.at(steps).report("", "F013", message, help, on_key=False)
        return tuple(needs)


def read_captures(
    fields: Fields, parse: Callable[[str], tuple[str | int, ...]], example: str
) -> tuple[SavedValue, ...]:
    """Return what `capture` keeps of an answer; `parse` reads a path, or raises a ValueError."""
    inner = fields.mapping_at("capture")
    if inner is None:
        return ()
    if not inner.mapping:
        fields.report("capture", "F011", '"capture" is empty: it keeps nothing')
    found = []
    for name, written in inner.mapping.items():
        inner.check_name(name)
        path = inner.text(name)
        try:
            if isinstance(written, str):
                found.append(SavedValue(name=name, path=path, steps=parse(path)))
        except ValueError as error:
            inner.report(name, "F009", str(error), example, on_key=False)
    return tuple(found)


def _parse_capture_path(path: str) -> tuple[str | int, ...]:
    steps = parse_field_path(path)
    if steps is None:
        raise ValueError("a capture takes a path into the answer")
    return steps


def _fill(
    written: dict[str, object],
    steps: tuple[str | int, ...],
    diagnostics: list[PathDiagnostic],
    values: Mapping[str, object],
) -> Fields:
    """Return a test with its references replaced by values."""
    inner = {
        key: fill_references(written[key], values, literal=key in _COMPARED_KEYS)
        for key in _FILLED_KEYS
        if key in written
    }
    if "prompt" in written and "arguments" in written:
        # Arguments of a prompt are strings.
        inner["arguments"] = fill_strings(written["arguments"], values)
    return Fields(written | inner, steps, diagnostics)


# Expectations


def _misplaced_keys(test: Message) -> tuple[str, ...]:
    """Return the keys of `expect` that are beside it, where they are not read."""
    return tuple(key for key in _NEVER_SLIPPED if test.get(key) is not None)


def _refuse_misplaced(fields: Fields) -> None:
    """Report every key that is beside `expect` and belongs under it."""
    inner = fields.mapping.get("expect")
    for key in _misplaced_keys(fields.mapping):
        if isinstance(inner, dict) and key in inner:
            fields.report(key, "F003", *_twice(key))
        else:
            help = "indent it, so that it is below expect: and not beside it"
            fields.report(key, "F006", f'"{key}" belongs under "expect"', help)


def _twice(key: str) -> tuple[str, str]:
    message = f'"{key}" is here and under "expect"; only one of them can count'
    return message, 'keep the one under "expect"'


class ExpectReader:
    """Reads the expectations of one file."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self.diagnostics: list[PathDiagnostic] = compiler.diagnostics

    def read(self, fields: Fields, request: Message, *, is_short: bool) -> Expectation:
        """Return what the test expects of the answer to its request."""
        holders = self._holders(fields)
        # Only what is written: most tests leave most fields at their defaults.
        said: dict[str, Any] = {}
        if "response" in holders:
            said["response"] = self._response(holders["response"], request, is_short)
        if "stderr" in holders:
            said["stderr"] = self._stderr(holders["stderr"])
        if "notifications" in holders:
            said["notifications"] = self._notifications(holders["notifications"])
        said |= self._compiler.flags.take()
        if "exitCode" in holders:
            said["exit_code"] = holders["exitCode"].whole_number(
                "exitCode", *EXPECT_KEYS["exitCode"].bounds, 0
            )
        if "performance" in holders:
            said["performance"] = self._performance(holders["performance"], request)
        return Expectation.made_of(said)

    def _holders(self, fields: Fields) -> dict[str, Fields]:
        """Return the mapping that holds each key: `expect`, or the test itself."""
        test = fields.mapping
        inner = fields.mapping_at("expect") if test.get("expect") is not None else None
        holders: dict[str, Fields] = {}
        if inner:
            if not inner.mapping.keys() <= EXPECT_KEYS.keys():
                inner.refuse_unknown(EXPECT_KEYS, '"expect"')
            holders = dict.fromkeys(inner.mapping, inner)
            if _SLIPPED.isdisjoint(test) and holders and None not in inner.mapping.values():
                return holders
        for key in SLIPPED_KEYS:
            if key in test and key in holders:
                fields.report(key, "F003", *_twice(key))
            elif key in test:
                message = f'"{key}" belongs under "expect"; it is read as if it were there'
                fields.report(key, "W001", message, severity="warning")
                holders[key] = fields
        if any(holder.mapping[key] is not None for key, holder in holders.items()):
            return holders
        if _misplaced_keys(test):
            # A key in the wrong place has been reported already.
            return {}
        if holders or inner or test.get("expect", ABSENT) is None:
            message = '"expect" is empty: this test would check nothing'
            fields.report("expect", "F011", message, f"say one of: {', '.join(EXPECT_KEYS)}")
        return {}

    def _response(self, fields: Fields, request: Message, is_short: bool) -> object:
        value = fields.mapping["response"]
        if not isinstance(value, dict) and not _is_pattern(value):
            message = f'"response" must be the answer as an object and is {kind_of(value)}'
            fields.report("response", "F008", message, on_key=False)
            return ABSENT
        if isinstance(value, dict):
            self._refuse_impossible(fields, value, request)
            if is_short and not _has_directive(value):
                # The envelope of the answer to a short form is not written.
                for key in value:
                    if key not in ANSWER_KEYS:
                        message = f'no answer has a key "{key}" at its top'
                        help = (
                            "what a server answers goes under result: or error:, "
                            f"so put {key} there"
                        )
                        fields.at(("response", key)).report("", "F017", message, help)
                value = {"jsonrpc": "2.0", "id": request["id"]} | value
        return self._compiler.compile_at(value, (*fields.steps, "response"))

    def _refuse_impossible(self, fields: Fields, response: Message, request: Message) -> None:
        """Report expectations that no answer can meet, or that every answer meets."""
        if request and "id" not in request:
            message = 'the request has no "id", so it is a notification and no response will come'
            fields.report("response", "F017", message, 'give the request an "id"')
        if response == _EMPTY_PARTIAL:
            fields.report("response", "F011", '"match:partial" is empty: every answer meets it')
        if not response:
            fields.report("response", "F017", "no answer is an empty object")
        for key in response:
            if key in EXPECT_KEYS:
                message = f'no answer has a key "{key}"; it belongs beside "response", not in it'
                fields.at(("response", key)).report("", "F017", message)
        version = response.get("jsonrpc", "2.0")
        if version != "2.0" and _plain(version) != "2.0" and not _is_pattern(version):
            message = 'every answer says jsonrpc: "2.0", in quotes'
            fields.at(("response", "jsonrpc")).report("", "F017", message, on_key=False)
        if "id" in request:
            sent, wanted = request["id"], _plain(response.get("id"))
            if isinstance(wanted, str):
                is_possible = wanted == sent or _is_pattern(wanted)
            else:
                # An error may have no id, or null.
                is_possible = wanted is None or id_key(wanted) == id_key(sent)
            if not is_possible:
                message = f"the request has {describe_id(sent)}, and so will the answer"
                fields.at(("response", "id")).report("", "F017", message, on_key=False)

    def _stderr(self, fields: Fields) -> object:
        value = fields.mapping["stderr"]
        if isinstance(value, Literal):
            return to_text(value.value).strip()
        if not isinstance(value, str):
            message = f'"stderr" must be toBeEmpty, a text or a pattern and is {kind_of(value)}'
            fields.report("stderr", "F008", message, on_key=False)
            return ABSENT
        if value == _STDERR_EMPTY:
            return ""
        if closest(value, [_STDERR_EMPTY]):
            message = f'"{value}" is not a value for stderr; did you mean "{_STDERR_EMPTY}"?'
            fields.report("stderr", "F012", message, on_key=False)
        return self._compiler.compile_at(value.strip(), (*fields.steps, "stderr"))

    def _performance(self, fields: Fields, request: Message) -> Performance | None:
        inner = fields.mapping_at("performance")
        if inner is None:
            return None
        inner.refuse_unknown(PERFORMANCE_KEYS, '"performance"')
        if request and "id" not in request:
            message = "a notification has no answer whose time could be taken"
            fields.report("performance", "F017", message)
        if all(value is None for value in inner.mapping.values()):
            fields.report("performance", "F011", '"performance" is empty: it checks nothing')
            return None
        longest = inner.duration_s("maxResponseTime")
        shortest = inner.duration_s("minResponseTime")
        if longest and shortest and shortest > longest:
            message = '"minResponseTime" is more than "maxResponseTime"'
            inner.report("minResponseTime", "F017", message)
        return Performance(max_response_s=longest, min_response_s=shortest)

    def _notifications(self, fields: Fields) -> tuple[object, ...]:
        wanted = fields.list_at("notifications")
        if not wanted and isinstance(fields.mapping["notifications"], list):
            message = '"notifications" is empty: it checks nothing'
            fields.report("notifications", "F011", message)
        found = []
        for index, value in enumerate(wanted):
            place = fields.at(("notifications", index))
            # A string is its method, a mapping the whole message.
            if isinstance(value, (str, Literal)):
                value = {"match:partial": {"method": value}}
            elif not isinstance(value, dict):
                message = f"a notification is a method or a whole message and is {kind_of(value)}"
                place.report("", "F008", message, on_key=False)
            elif not _has_directive(value):
                value = {"jsonrpc": "2.0"} | value
            found.append(self._compiler.compile_at(value, place.steps))
        return tuple(found)


def _plain(value: object) -> object:
    return value.value if isinstance(value, Literal) else value


def _has_directive(value: Message) -> bool:
    return any(key.startswith(PREFIX) for key in value)


def _is_pattern(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)
