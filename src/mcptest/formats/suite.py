"""`mcptest.yaml`: servers, and everything that is asked of them, in one file.

Text goes in; suites come out, one for each server of each file, or a FormatError with every
mistake in it. What a file imports is read through the same functions as the file itself.
"""

from __future__ import annotations

import posixpath
from functools import partial

from mcptest.core.errors import FormatError
from mcptest.core.plan import ISOLATIONS, Case, Gates, Suite
from mcptest.core.record import Record
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.suggest import closest
from mcptest.core.text import visible
from mcptest.formats.fields import Fields, diagnose
from mcptest.formats.suite_defaults import MOST_RETRIES, Defaults
from mcptest.formats.suite_entries import EntryReader
from mcptest.formats.suite_expect import DAY_MS
from mcptest.formats.suite_lanes import LaneReader
from mcptest.formats.suite_parts import Part, Parts, read_parts
from mcptest.formats.suite_servers import read_servers
from mcptest.formats.suite_steps import CALLS, StepReader
from mcptest.formats.suite_variables import Variables
from mcptest.matching.suite_matchers import SuiteMatchers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest.core.diagnostics import Complaint, Diagnostic
    from mcptest.core.plan import PluginSpec, ServerSpec
    from mcptest.matching.registry import Registry
    from mcptest.matching.snapshots import SnapshotBook

__all__ = [
    "COVERAGE_KEYS",
    "FILE_KEYS",
    "LANES",
    "PERFORMANCE_KEYS",
    "RUN_KEYS",
    "SuiteContext",
    "load_suite",
]

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


class SuiteContext(Record):
    """What a suite is read with: everything outside of its text.

    `folder` is where the file lies, definite. `registry_with` gives the matchers together with
    plugins that the file declares, `book_of` the snapshots of a file, `real_path` what a path
    leads to, by which imports are told apart.
    """

    environment: Mapping[str, str]
    folder: str
    read_beside: Callable[[str], str]
    registry_with: Callable[[tuple[PluginSpec, ...]], Registry]
    book_of: Callable[[str], SnapshotBook] | None = None
    real_path: Callable[[str], str] | None = None


def load_suite(
    text: str, file: str, context: SuiteContext
) -> tuple[list[Suite], tuple[Diagnostic, ...]]:
    """The suites in a file and in those it imports, and warnings."""
    real_path = context.real_path or posixpath.normpath
    parts = read_parts(text, file, context.folder, context.read_beside, real_path)
    loader = _Loader(parts, context)
    suites = loader.suites()
    found = list(parts.mistakes)
    for part in parts.files:
        # What `defaults` says is read for each entry, and told once.
        found += diagnose(part.document, list(dict.fromkeys(part.complaints)))
    # Mistakes are told with the values that were filled in.
    if loader.secrets:
        found = redact_all(found, redactor(loader.secrets))
    if any(each.severity == "error" for each in found):
        # What is not set may be the reason.
        needs = (need for suite in suites for case in suite.cases for need in case.needs)
        found += (need.but(severity="warning") for need in dict.fromkeys(needs))
        raise FormatError(found)
    return suites, tuple(found)


class _Loader:
    """Reads all parts of one suite; every mistake is a complaint, and reading goes on."""

    def __init__(self, parts: Parts, context: SuiteContext) -> None:
        self._parts = parts.files
        self._context = context
        complaints = (each for part in parts.files for each in part.complaints)
        # What cannot be read may have held what is missed elsewhere.
        self._is_whole = not parts.mistakes and all(each.code != "F001" for each in complaints)
        self._variables = Variables(context.environment, context.folder, self._is_whole)
        self._servers: dict[str, ServerSpec] = {}
        self._needs: dict[str, tuple[Diagnostic, ...]] = {}
        self._owners: dict[str, str] = {}
        self._options: dict[str, object] = {}
        coverage: dict[str, float] = {}
        performance: dict[str, float] = {}
        # What is imported is there for whoever imports it, whose own word is the last.
        for part in parts.imports_first:
            self._read_head(part)
            coverage |= _numbers(part.top, "coverage", COVERAGE_KEYS, 100.0)
            performance |= _numbers(part.top, "performance", PERFORMANCE_KEYS, DAY_MS)
        for part in parts.imports_first:
            self._read_servers(part)
        self._gates = None
        if coverage or performance:
            self._gates = Gates(coverage=coverage or None, performance=performance or None)
        plugins = tuple(plugin for part in parts.files for plugin in part.plugins)
        self._registry = context.registry_with(plugins)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must be shown to nobody."""
        return tuple(dict.fromkeys(self._variables.secrets))

    def suites(self) -> list[Suite]:
        """One suite for each server of each file; those of one server stand together."""
        self._refuse_no_servers()
        found = [suite for part in self._parts for suite in self._suites_of(part)]
        if not found and not any(part.complaints for part in self._parts):
            message = f"a suite needs tests: one of the keys {', '.join(LANES)}"
            self._parts[0].top.complain("", "F007", message)
        # A server is started once, so its turn comes once.
        turns: dict[str, int] = {}
        for suite in found:
            turns.setdefault(_server_name(suite), len(turns))
        found.sort(key=lambda suite: turns[_server_name(suite)])
        return [suite for name in turns for suite in _checks_last(found, name)]

    def _read_head(self, part: Part) -> None:
        """What a file says of itself, and for all of its tests."""
        part.top.refuse_unknown(FILE_KEYS, (), "a suite")
        for key in ("name", "description", "$schema"):
            part.top.text(key)
        self._options |= _run_options(part.top)
        inner = part.top.mapping_at("variables")
        if inner:
            self._variables.turn_to(part.folder, part.point)
            self._variables.read(inner)

    def _read_servers(self, part: Part) -> None:
        self._variables.turn_to(part.folder, part.point)
        isolation = str(self._options.get("isolation", "run"))
        for name, (spec, needs) in read_servers(part.top, self._variables, isolation).items():
            if name in self._owners:
                owners = f"{visible(self._owners[name])} and {visible(part.file)}"
                message = f"the server {name!r} has two owners: {owners}"
                part.top.at(("servers", name)).complain("", "F003", message)
            cwd = posixpath.normpath(posixpath.join(part.folder, spec.cwd))
            self._owners[name] = part.file
            if spec.http and spec.http.ca_file:
                ca_file = posixpath.join(part.folder, spec.http.ca_file)
                spec = spec.but(http=spec.http.but(ca_file=ca_file))
            self._servers[name] = spec.but(cwd=cwd)
            self._needs[name] = needs

    def _refuse_no_servers(self) -> None:
        files = [part.top.mapping for part in self._parts]
        if any("servers" in file for file in files) or not self._is_whole:
            return
        if any(lane in file for file in files for lane in LANES):
            self._parts[0].top.require(("servers",), "a suite")

    def _suites_of(self, part: Part) -> list[Suite]:
        """The cases of one file, dealt out to its servers in the order in which they appear."""
        self._variables.turn_to(part.folder, part.point)
        by_server: dict[str, list[Case]] = {}
        for server, case in self._cases(part):
            needs = dict.fromkeys((*self._needs.get(server, ()), *case.needs))
            case = case.but(needs=tuple(needs)) if needs else case
            by_server.setdefault(server, []).append(case)
        name = part.top.mapping.get("name") or part.top.mapping.get("description")
        secrets = self.secrets
        parallel = self._options.get("parallel")
        return [
            Suite(
                name=str(name or posixpath.basename(part.file)),
                file=part.file,
                format="suite",
                cases=tuple(sorted(cases, key=lambda case: bool(case.check))),
                server=self._servers[server].but(secrets=secrets),
                gates=self._gates,
                parallel=parallel if isinstance(parallel, int) else None,
                home=self._parts[0].file,
                needs=self._needs.get(server, ()),
            )
            for server, cases in by_server.items()
            if server in self._servers
        ]

    def _cases(self, part: Part) -> list[tuple[str, Case]]:
        fields = part.top
        book = self._context.book_of(part.file) if self._context.book_of else None

        def words(complaints: list[Complaint]) -> SuiteMatchers:
            return SuiteMatchers(self._registry, complaints, part.read_beside, book)

        retries = self._options.get("retries")
        retries = retries if isinstance(retries, int) else None
        defaults = Defaults(fields, self._variables, retries)
        steps = StepReader(self._variables, words, part.complaints)
        entries = EntryReader(part, steps, self._server_of, defaults)
        lanes = LaneReader(
            words(part.complaints), self._server_of, part.document.item_line, visible(part.file)
        )
        read = {lane: partial(entries.read, lane) for lane in CALLS} | {
            "agents": lambda: lanes.agents(fields),
            "evals": lambda: lanes.evals(fields),
            "compliance": lambda: lanes.compliance(fields),
            "security": lambda: lanes.security(fields, next(iter(self._servers), "")),
        }
        # In the order of the file.
        found = [pair for key in fields.mapping if key in read for pair in read[key]()]
        entries.read_unused()
        return found

    def _server_of(self, fields: Fields) -> str:
        """The server that an entry names, or the only one there is."""
        if "server" in fields.mapping:
            name = fields.text("server")
            if isinstance(fields.mapping["server"], str):
                self._refuse_unknown_server(fields.at(("server",)), name)
            return name
        named = fields.mapping.get("servers")
        if isinstance(named, list) and named:
            known = [name for name in named if isinstance(name, str) and name in self._servers]
            return known[0] if known else ""
        if len(self._servers) > 1:
            there = f"there are: {', '.join(self._servers)}"
            message = 'it must say which "server" is meant: there is more than one'
            fields.complain("", "F007", message, there)
        return next(iter(self._servers), "")

    def _refuse_unknown_server(self, place: Fields, name: str) -> None:
        # One that is there and has mistakes has been complained about.
        declared = (part.top.mapping.get("servers") for part in self._parts)
        names = dict.fromkeys(
            each for inner in declared if isinstance(inner, dict) for each in inner
        )
        if name in names or not names or not self._is_whole:
            return
        meant = closest(name, names)
        question = f"; did you mean {meant!r}?" if meant else ""
        message = f"there is no server {name!r}{question}"
        place.complain("", "F009", message, f"there are: {', '.join(names)}", on_key=False)


def _checks_last(suites: list[Suite], server: str) -> list[Suite]:
    """The suites of a server; what is said of its whole session is asked after all calls."""
    mine = [suite for suite in suites if _server_name(suite) == server]
    if len(mine) == 1:
        return mine
    calls = [
        suite.but(cases=tuple(case for case in suite.cases if not case.check)) for suite in mine
    ]
    checks = [suite.but(cases=tuple(case for case in suite.cases if case.check)) for suite in mine]
    return [suite for suite in (*calls, *checks) if suite.cases]


def _server_name(suite: Suite) -> str:
    return suite.server.name if suite.server else ""


def _run_options(fields: Fields) -> dict[str, object]:
    """What a file says about how it is run; only what is written."""
    inner = fields.mapping_at("run_options")
    if inner is None:
        return {}
    inner.refuse_unknown(RUN_KEYS, (), '"run_options"')
    found: dict[str, object] = {}
    if "parallel" in inner.mapping:
        found["parallel"] = inner.whole_number("parallel", 1, _MOST_WORKERS, 1)
    if "retries" in inner.mapping:
        found["retries"] = inner.whole_number("retries", 0, MOST_RETRIES, 0)
    if "isolation" in inner.mapping:
        found["isolation"] = inner.choice("isolation", ISOLATIONS, "run")
    return found


def _numbers(fields: Fields, key: str, keys: tuple[str, ...], most: float) -> dict[str, float]:
    inner = fields.mapping_at(key)
    if inner is None:
        return {}
    inner.refuse_unknown(keys, (), f'"{key}"')
    if not inner.mapping:
        fields.complain(key, "F011", f'"{key}" is empty: it asks for nothing')
    found = {each: inner.number(each, 0.0, most) for each in keys if each in inner.mapping}
    return {each: value for each, value in found.items() if value is not None}
