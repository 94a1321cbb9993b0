"""`*.test.mcp.yml`: one description, a list of tests, each a raw request and what to expect.

Text goes in, a `Suite` comes out, or a `FormatError` with every mistake in it.
"""

from __future__ import annotations

from mcptest.core.errors import FormatError
from mcptest.core.plan import Case, Suite
from mcptest.formats.conductor_config import read_server
from mcptest.formats.conductor_expect import SLIPPED_KEYS, misplaced_keys, refuse_misplaced
from mcptest.formats.conductor_request import FORMS
from mcptest.formats.conductor_step import StepReader
from mcptest.formats.document import read_document
from mcptest.formats.fields import Fields, diagnose, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest.core.diagnostics import Complaint, Diagnostic
    from mcptest.core.plan import ServerSpec
    from mcptest.formats.document import Document
    from mcptest.matching.registry import Registry

__all__ = ["load_conductor"]

_FILE_KEYS = ("description", "tests", "server")
_TEST_KEYS = (
    "it",
    *FORMS,
    "arguments",
    "expect",
    "timeout",
    "skip",
    "only",
    "tags",
    "capture",
    "retries",
    "wire_id",
)
_ALL_TEST_KEYS = frozenset(_TEST_KEYS)
_REQUIRED_TEST_KEYS = frozenset(["it", "request", "expect"])

_MAX_RETRIES = 100

# What a manifest for the mock has at its top.
_OFFERS = frozenset(["tools", "resources", "prompts"])


def load_conductor(
    text: str,
    file: str,
    registry: Registry,
    environment: Mapping[str, str],
    read_beside: Callable[[str], str] | None = None,
) -> tuple[Suite, tuple[Diagnostic, ...]]:
    """The suite in a file, and warnings about slips that were accepted.

    `read_beside` gives the text of a file that the test file names.
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
    # Most files keep nothing.
    from mcptest.formats.conductor_captures import CapturingReader  # noqa: PLC0415

    return CapturingReader(registry, read_beside)


class _Loader:
    """Reads one document; every mistake is a complaint, and reading goes on."""

    def __init__(
        self, document: Document, environment: Mapping[str, str], steps: StepReader
    ) -> None:
        self._document = document
        self._environment = environment
        self._steps = steps
        self.complaints: list[Complaint] = steps.complaints

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
        fields.refuse_unknown(_FILE_KEYS, (), "a test file", accepted=("config",))
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
        lines = self._document.item_lines(tests) if tests else []
        cases = []
        for index, (test, line) in enumerate(zip(tests, lines, strict=True)):
            # Out of the list: what nobody keeps of a test makes room for the next ones.
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
        if not test.keys() <= _ALL_TEST_KEYS:
            refuse_misplaced(fields)
            told = (*SLIPPED_KEYS, *misplaced_keys(test))
            fields.refuse_unknown(_TEST_KEYS, (), "a test", accepted=told)
        if not test.keys() >= _REQUIRED_TEST_KEYS:
            self._require(fields)
        step = self._steps.read(fields, f"{self._document.file}#{index + 1}")
        if len(test) == len(_REQUIRED_TEST_KEYS):
            steps = (step,) if step else ()
            return Case.made_of({"name": fields.text("it"), "line": line, "steps": steps})
        # As above.
        from mcptest.formats.marks import read_only, read_skip, read_tags  # noqa: PLC0415

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
            retries=fields.whole_number("retries", 0, _MAX_RETRIES, 0)
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
