"""`*.test.mcp.yml`: one description, a list of tests, each a raw request and what to expect.

Text goes in, a `Suite` comes out, or a `FormatError` with every mistake in it.
"""

from __future__ import annotations

from mcptest.core.errors import FormatError
from mcptest.core.framing import encode_line
from mcptest.core.jsonrpc import describe_id, id_key
from mcptest.core.outcome import ABSENT
from mcptest.core.paths import trail_of
from mcptest.core.plan import Case, Expectation, Performance, Step, Suite
from mcptest.core.suggest import closest
from mcptest.formats.conductor_config import read_server
from mcptest.formats.document import read_document
from mcptest.formats.fields import Fields, diagnose, kind_of
from mcptest.matching.expectation import Compiler
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.core.diagnostics import Complaint, Diagnostic
    from mcptest.core.plan import ServerSpec
    from mcptest.formats.document import Document
    from mcptest.matching.registry import Registry

__all__ = ["STDERR_EMPTY", "load_conductor"]

_FILE_KEYS = ("description", "tests", "server")
_TEST_KEYS = ("it", "request", "expect", "timeout", "skip")
_PLANNED_TEST_KEYS = (
    "only",
    "tags",
    "capture",
    "retries",
    "tool",
    "arguments",
    "resource",
    "prompt",
    "list",
)
_EXPECT_KEYS = ("response", "stderr", "exitCode", "performance")
_PLANNED_EXPECT_KEYS = ("notifications",)
_PERFORMANCE_KEYS = ("maxResponseTime", "minResponseTime")

# Keys that belong under `expect` and often stand one level too high.
_SLIPPED_KEYS = ("stderr", "performance")

STDERR_EMPTY = "toBeEmpty"

# Words that other versions of YAML take for booleans; none of them is a reason.
_SWITCHES = frozenset(["yes", "no", "on", "off", "y", "n", "true", "false"])


def load_conductor(
    text: str, file: str, registry: Registry, environment: Mapping[str, str]
) -> tuple[Suite, tuple[Diagnostic, ...]]:
    """The suite in a file, and warnings about slips that were accepted."""
    document = read_document(text, file)
    loader = _Loader(document, registry, environment)
    suite = loader.suite()
    diagnostics = diagnose(document, loader.complaints)
    if suite is None or any(found.severity == "error" for found in diagnostics):
        raise FormatError(diagnostics)
    return suite, diagnostics


class _Loader:
    """Reads one document; every mistake is a complaint, and reading goes on."""

    def __init__(
        self, document: Document, registry: Registry, environment: Mapping[str, str]
    ) -> None:
        self._document = document
        self._environment = environment
        self._compiler = Compiler(registry)
        self.complaints: list[Complaint] = self._compiler.complaints

    def suite(self) -> Suite | None:
        value = self._document.value
        if not isinstance(value, dict):
            message = f"a test file must be a mapping and is {kind_of(value)}"
            Fields({}, (), self.complaints).complain("", "F005", message)
            return None
        fields = Fields(value, (), self.complaints)
        if "config" in value:
            message = 'a test file has no key "config"; the config on the command line is used'
            fields.complain("config", "W001", message, severity="warning")
        known = (*_FILE_KEYS, "config")
        fields.refuse_unknown(known, (), "a test file")
        fields.require(("description", "tests"), "a test file")
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
        cases = []
        for index, test in enumerate(tests):
            inner = Fields(
                test if isinstance(test, dict) else {}, ("tests", index), self.complaints
            )
            if isinstance(test, dict):
                cases.append(self._case(inner, self._document.item_line(tests, index)))
            else:
                message = f"a test must be a mapping and is {kind_of(test)}"
                inner.complain("", "F008", message, on_key=False)
        return tuple(cases)

    def _case(self, fields: Fields, line: int) -> Case:
        test = fields.mapping
        if not test.keys() <= _ALL_TEST_KEYS:
            fields.refuse_unknown((*_TEST_KEYS, *_SLIPPED_KEYS), _PLANNED_TEST_KEYS, "a test")
        if not test.keys() >= _REQUIRED_TEST_KEYS:
            has_slipped = any(key in test for key in _SLIPPED_KEYS)
            needed = ("it", "request") if has_slipped else ("it", "request", "expect")
            fields.require(needed, "a test")
        step = self._step(fields)
        return Case(
            name=fields.text("it"),
            line=line,
            steps=(step,) if step else (),
            timeout_s=fields.duration_s("timeout") if "timeout" in test else None,
            skip=self._skip(fields) if "skip" in test else None,
        )

    def _skip(self, fields: Fields) -> str | None:
        """Why the test is skipped, "" without a reason; None when it is not."""
        value = fields.mapping["skip"]
        if isinstance(value, bool):
            return "" if value else None
        is_reason = isinstance(value, str) and value.strip()
        if is_reason and str(value).casefold() not in _SWITCHES:
            return str(value)
        message = '"skip" must be true, false or a reason'
        help = "in YAML 1.2 only true and false are booleans" if is_reason else ""
        fields.complain("skip", "F008", message, help, on_key=False)
        return None

    def _step(self, fields: Fields) -> Step | None:
        request = fields.mapping.get("request", {})
        if not isinstance(request, dict):
            message = f'"request" must be a JSON-RPC object and is {kind_of(request)}'
            fields.complain("request", "F008", message, on_key=False)
            return None
        expectation = self._expectation(fields, request)
        method = request.get("method")
        return Step(
            line=encode_line(request),
            method=method if isinstance(method, str) else "",
            expectation=expectation,
            id=request.get("id", ABSENT),
        )

    def _expectation(self, fields: Fields, request: dict[str, object]) -> Expectation:
        holders = self._holders(fields)
        response = holders.get("response")
        stderr = holders.get("stderr")
        exit_code = holders.get("exitCode")
        performance = holders.get("performance")
        compiler = self._compiler
        compiler.has_seen_regex = compiler.may_check_nothing = False
        return Expectation(
            response=self._response(response, request) if response else ABSENT,
            stderr=self._stderr(stderr) if stderr else ABSENT,
            has_regex=compiler.has_seen_regex,
            may_check_nothing=compiler.may_check_nothing,
            exit_code=exit_code.whole_number("exitCode", -64, 255, 0) if exit_code else None,
            performance=self._performance(performance, request) if performance else None,
        )

    def _holders(self, fields: Fields) -> dict[str, Fields]:
        """The mapping that holds each key of `expect`: itself, or the test it slipped out to."""
        test = fields.mapping
        inner = fields.mapping_at("expect") if test.get("expect") is not None else None
        holders: dict[str, Fields] = {}
        if inner:
            if not inner.mapping.keys() <= _ALL_EXPECT_KEYS:
                inner.refuse_unknown(_EXPECT_KEYS, _PLANNED_EXPECT_KEYS, '"expect"')
            holders = dict.fromkeys(inner.mapping, inner)
        for key in _SLIPPED_KEYS:
            if key in test:
                self._take_slipped(key, fields, holders)
        if any(holder.mapping[key] is not None for key, holder in holders.items()):
            return holders
        if holders or inner or test.get("expect", ABSENT) is None:
            message = '"expect" is empty: this test would check nothing'
            fields.complain("expect", "F011", message, f"say one of: {', '.join(_EXPECT_KEYS)}")
        return {}

    def _take_slipped(self, key: str, fields: Fields, holders: dict[str, Fields]) -> None:
        if key in holders:
            message = f'"{key}" stands here and under "expect"; only one of them can count'
            fields.complain(key, "F003", message, 'keep the one under "expect"')
            return
        message = f'"{key}" belongs under "expect"; it is read as if it stood there'
        fields.complain(key, "W001", message, severity="warning")
        holders[key] = fields

    def _response(self, fields: Fields, request: dict[str, object]) -> object:
        value = fields.mapping["response"]
        if not isinstance(value, dict) and not _is_pattern(value):
            message = f'"response" must be the answer as an object and is {kind_of(value)}'
            fields.complain("response", "F008", message, on_key=False)
            return ABSENT
        if isinstance(value, dict):
            self._refuse_impossible(fields, value, request)
        return self._compiler.compile(value, trail_of((*fields.steps, "response")))

    def _refuse_impossible(
        self, fields: Fields, response: dict[str, object], request: dict[str, object]
    ) -> None:
        """Expectations that no answer can meet, or that every answer meets."""
        if request and "id" not in request:
            message = 'the request has no "id", so it is a notification and no response will come'
            fields.complain("response", "F017", message, 'give the request an "id"')
        if response == {"match:partial": {}}:
            fields.complain("response", "F011", '"match:partial" is empty: every answer meets it')
        if not response:
            fields.complain("response", "F017", "no answer is an empty object")
        inner = Fields(response, (*fields.steps, "response"), self.complaints)
        for key in _EXPECT_KEYS:
            if key in response:
                message = f'no answer has a key "{key}"; it belongs beside "response", not in it'
                inner.complain(key, "F017", message)
        if response.get("jsonrpc", "2.0") != "2.0" and not _is_pattern(response["jsonrpc"]):
            message = 'every answer says jsonrpc: "2.0", in quotes'
            inner.complain("jsonrpc", "F017", message, on_key=False)
        if "id" in request and not _may_be_id(response.get("id"), request["id"]):
            message = f"the request has {describe_id(request['id'])}, and so will the answer"
            inner.complain("id", "F017", message, on_key=False)

    def _stderr(self, fields: Fields) -> object:
        value = fields.mapping["stderr"]
        if not isinstance(value, str):
            message = f'"stderr" must be toBeEmpty, a text or a pattern and is {kind_of(value)}'
            fields.complain("stderr", "F008", message, on_key=False)
            return ABSENT
        if value == STDERR_EMPTY:
            return ""
        if closest(value, [STDERR_EMPTY]):
            message = f'"{value}" is no word for stderr; did you mean "{STDERR_EMPTY}"?'
            fields.complain("stderr", "F012", message, on_key=False)
        return self._compiler.compile(value.strip(), trail_of((*fields.steps, "stderr")))

    def _performance(self, fields: Fields, request: dict[str, object]) -> Performance | None:
        inner = fields.mapping_at("performance")
        if inner is None:
            return None
        inner.refuse_unknown(_PERFORMANCE_KEYS, (), '"performance"')
        if request and "id" not in request:
            message = "a notification has no answer whose time could be taken"
            fields.complain("performance", "F017", message)
        if all(value is None for value in inner.mapping.values()):
            fields.complain("performance", "F011", '"performance" is empty: it checks nothing')
            return None
        longest = inner.duration_s("maxResponseTime")
        shortest = inner.duration_s("minResponseTime")
        if longest and shortest and shortest > longest:
            message = '"minResponseTime" is more than "maxResponseTime"'
            inner.complain("minResponseTime", "F017", message)
        return Performance(max_response_s=longest, min_response_s=shortest)


def _may_be_id(wanted: object, sent: object) -> bool:
    """Can an answer to `sent` have this id? An error may have none, or null."""
    if wanted is None or _is_pattern(wanted):
        return True
    return id_key(wanted) == id_key(sent)


def _is_pattern(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)


_ALL_TEST_KEYS = frozenset(_TEST_KEYS)
_REQUIRED_TEST_KEYS = frozenset(("it", "request", "expect"))
_ALL_EXPECT_KEYS = frozenset(_EXPECT_KEYS)
