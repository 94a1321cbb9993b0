"""`mcptest.yaml`: servers, and everything that is asked of them, in one file.

Text goes in; suites come out, one for each server of each file, or a FormatError with every
mistake in it. What a file imports is read through the same functions as the file itself.
"""

from __future__ import annotations

import posixpath

from mcptest.core.errors import FormatError
from mcptest.core.plan import ISOLATIONS, Case, Gates, Suite
from mcptest.core.record import Record
from mcptest.core.suggest import closest
from mcptest.core.visible import visible
from mcptest.formats.fields import Fields, diagnose
from mcptest.formats.suite_entries import EntryReader
from mcptest.formats.suite_lanes import LaneReader
from mcptest.formats.suite_parts import Part, read_parts
from mcptest.formats.suite_servers import read_servers
from mcptest.formats.suite_steps import CALLS, StepReader
from mcptest.formats.suite_variables import Variables
from mcptest.matching.suite_words import SuiteWords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest.core.diagnostics import Complaint, Diagnostic
    from mcptest.core.plan import PluginSpec, ServerSpec
    from mcptest.matching.registry import Registry
    from mcptest.matching.snapshot_matcher import SnapshotBook

__all__ = ["FILE_KEYS", "LANES", "RUN_KEYS", "SuiteContext", "load_suite"]

LANES = (*CALLS, "agents", "evals", "compliance", "security")
FILE_KEYS = (
    "name",
    "description",
    "$schema",
    "servers",
    "variables",
    "imports",
    "defaults",
    *LANES,
    "coverage",
    "performance",
    "run_options",
)
RUN_KEYS = ("parallel", "isolation", "retries")
COVERAGE_KEYS = ("tools", "resources", "prompts", "total")
PERFORMANCE_KEYS = ("p50_ms", "p90_ms", "p95_ms", "p99_ms", "mean_ms", "max_ms")

_MOST_WORKERS = 256
_MOST_RETRIES = 100
_DAY_MS = 24 * 3600 * 1000.0


class SuiteContext(Record):
    """What a suite is read with: everything outside of its text.

    `folder` is where the file lies, definite. `registry_with` gives the matchers together with
    plugins that the file declares, `book_of` the snapshots of a file.
    """

    environment: Mapping[str, str]
    folder: str
    read_beside: Callable[[str], str]
    registry_with: Callable[[tuple[PluginSpec, ...]], Registry]
    book_of: Callable[[str], SnapshotBook] | None = None


def load_suite(
    text: str, file: str, context: SuiteContext
) -> tuple[list[Suite], tuple[Diagnostic, ...]]:
    """The suites in a file and in those it imports, and warnings."""
    parts = read_parts(text, file, context.folder, context.read_beside)
    loader = _Loader(parts, context)
    suites = loader.suites()
    found = [each for part in parts for each in diagnose(part.document, part.complaints)]
    if any(each.severity == "error" for each in found):
        raise FormatError(found)
    return suites, tuple(found)


class _Loader:
    """Reads all parts of one suite; every mistake is a complaint, and reading goes on."""

    def __init__(self, parts: list[Part], context: SuiteContext) -> None:
        self._parts = parts
        self._context = context
        main = parts[0]
        self._variables = Variables(context.environment, {"CONFIG_DIR": context.folder})
        self._servers: dict[str, ServerSpec] = {}
        self._owners: dict[str, str] = {}
        self._isolation, self._parallel, self._retries = self._run_options(main.top)
        self._gates = self._read_gates(main.top)
        plugins = tuple(plugin for part in parts for plugin in part.plugins)
        self._registry = context.registry_with(plugins)

    def suites(self) -> list[Suite]:
        # What is imported is there for whoever imports it; the importer's own word is last.
        for part in reversed(self._parts):
            part.top.refuse_unknown(FILE_KEYS, (), "a suite")
            inner = part.top.mapping_at("variables")
            if inner:
                self._variables.values["CONFIG_DIR"] = part.folder
                self._variables.read(inner)
        for part in reversed(self._parts):
            self._read_servers(part)
        found = [suite for part in self._parts for suite in self._suites_of(part)]
        main = self._parts[0]
        if not found and not main.complaints:
            message = f"a suite needs tests: one of the keys {', '.join(LANES)}"
            main.top.complain("", "F007", message)
        return found

    def _read_servers(self, part: Part) -> None:
        self._variables.values["CONFIG_DIR"] = part.folder
        is_needed = part is self._parts[0] and any(lane in part.top.mapping for lane in LANES)
        is_needed = is_needed and not self._servers
        specs = read_servers(part.top, self._variables, self._isolation, is_needed=is_needed)
        for name, spec in specs.items():
            if name in self._owners:
                owners = f"{visible(self._owners[name])} and {visible(part.file)}"
                message = f"the server {name!r} has two owners: {owners}"
                part.top.at(("servers", name)).complain("", "F003", message)
            cwd = posixpath.normpath(posixpath.join(part.folder, spec.cwd))
            self._owners[name] = part.file
            self._servers[name] = spec.but(cwd=cwd)

    def _suites_of(self, part: Part) -> list[Suite]:
        """The cases of one file, dealt out to its servers in the order in which they appear."""
        self._variables.values["CONFIG_DIR"] = part.folder
        by_server: dict[str, list[Case]] = {}
        for server, case in self._cases(part):
            by_server.setdefault(server, []).append(case)
        name = part.top.text("name") or part.top.text("description")
        secrets = tuple(dict.fromkeys(self._variables.secrets))
        return [
            Suite(
                name=name or posixpath.basename(part.file),
                file=part.file,
                format="suite",
                cases=tuple(sorted(cases, key=lambda case: bool(case.check))),
                server=self._servers[server].but(secrets=secrets),
                gates=self._gates,
                parallel=self._parallel,
            )
            for server, cases in by_server.items()
            if server in self._servers
        ]

    def _cases(self, part: Part) -> list[tuple[str, Case]]:
        fields = part.top
        book = self._context.book_of(part.file) if self._context.book_of else None

        def words(complaints: list[Complaint]) -> SuiteWords:
            return SuiteWords(self._registry, complaints, part.read_beside, book)

        steps = StepReader(self._variables, words, part.complaints)
        entries = EntryReader(part, steps, self._server_of, self._retries)
        lanes = LaneReader(words(part.complaints), self._server_of, part.document.item_line)
        found = [pair for lane in CALLS for pair in entries.read(lane)]
        found += lanes.agents(fields) + lanes.evals(fields) + lanes.compliance(fields)
        return found + lanes.security(fields, next(iter(self._servers), ""))

    def _server_of(self, fields: Fields) -> str:
        """The server that an entry names, or the only one there is."""
        if "server" in fields.mapping:
            name = fields.text("server")
            if name not in self._servers and isinstance(fields.mapping["server"], str):
                meant = closest(name, self._servers)
                question = f"; did you mean {meant!r}?" if meant else ""
                there = f"there are: {', '.join(self._servers) or 'none'}"
                message = f"there is no server {name!r}{question}"
                fields.complain("server", "F009", message, there, on_key=False)
            return name
        if "servers" in fields.mapping and isinstance(fields.mapping["servers"], list):
            names = [name for name in fields.mapping["servers"] if name in self._servers]
            if names:
                return str(names[0])
        if len(self._servers) > 1:
            there = f"there are: {', '.join(self._servers)}"
            message = 'it must say which "server" is meant: there is more than one'
            fields.complain("", "F007", message, there)
        return next(iter(self._servers), "")

    # What is asked of the whole run

    def _run_options(self, fields: Fields) -> tuple[str, int | None, int | None]:
        inner = fields.mapping_at("run_options")
        if inner is None:
            return "run", None, None
        inner.refuse_unknown(RUN_KEYS, (), '"run_options"')
        parallel = retries = None
        if "parallel" in inner.mapping:
            parallel = inner.whole_number("parallel", 1, _MOST_WORKERS, 1)
        if "retries" in inner.mapping:
            retries = inner.whole_number("retries", 0, _MOST_RETRIES, 0)
        return inner.choice("isolation", ISOLATIONS, "run"), parallel, retries

    def _read_gates(self, fields: Fields) -> Gates | None:
        coverage = _numbers(fields, "coverage", COVERAGE_KEYS, 100.0)
        performance = _numbers(fields, "performance", PERFORMANCE_KEYS, _DAY_MS)
        if coverage is None and performance is None:
            return None
        return Gates(coverage=coverage, performance=performance)


def _numbers(
    fields: Fields, key: str, keys: tuple[str, ...], most: float
) -> dict[str, float] | None:
    inner = fields.mapping_at(key)
    if inner is None:
        return None
    inner.refuse_unknown(keys, (), f'"{key}"')
    if not inner.mapping:
        fields.complain(key, "F011", f'"{key}" is empty: it asks for nothing')
    found = {each: inner.number(each, 0.0, most) for each in keys if each in inner.mapping}
    return {each: value for each, value in found.items() if value is not None}
