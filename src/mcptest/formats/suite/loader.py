"""`mcptest.yaml`: servers, and everything that is asked of them, in one file.

Text goes in; suites come out, one for each server of each file, or a FormatError with every
mistake in it. What a file imports is read through the same functions as the file itself.
"""

from __future__ import annotations

import posixpath
from functools import partial

from mcptest.core.diagnostics import CODES, UNQUOTED, UnquotedText, closest
from mcptest.core.errors import FormatError
from mcptest.core.plan import ISOLATIONS, Case, Gates, Suite
from mcptest.core.record import Record
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import visible
from mcptest.formats.config import read_subprocess_matchers
from mcptest.formats.keys import Fields, diagnose, kind_of, point_at
from mcptest.formats.suite.expect import DAY_MS
from mcptest.formats.suite.lanes import LaneReader
from mcptest.formats.suite.servers import read_servers
from mcptest.formats.suite.tests import CALLS, MOST_RETRIES, Defaults, EntryReader, StepReader
from mcptest.formats.suite.variables import Variables
from mcptest.formats.yaml.document import locate, read_document
from mcptest.matching.suite_matchers import SuiteMatchers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest.core.diagnostics import Diagnostic, PathDiagnostic
    from mcptest.core.plan import PluginSpec, ServerSpec
    from mcptest.formats.yaml.document import Document, Places
    from mcptest.matching.registry import Registry
    from mcptest.matching.snapshots import SnapshotBook

    Resolve = Callable[[str], str]

__all__ = [
    "COVERAGE_KEYS",
    "FILE_KEYS",
    "IMPORT_KEYS",
    "PERFORMANCE_KEYS",
    "RUN_KEYS",
    "Part",
    "SuiteContext",
    "load_suite",
    "read_parts",
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

        def words(complaints: list[PathDiagnostic]) -> SuiteMatchers:
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


# The files that make up a suite: itself, and what its `imports` name, each once.


IMPORT_KEYS = ("suites", "subprocess_matchers")

# More files than anybody imports by hand; whoever has more has a circle of copies.
_MOST_PARTS = 200


class Part(Record):
    """One file of a suite. `folder` is where it lies, definite.

    `point` gives the place of a complaint that is not, or not yet, one of the file's.
    """

    file: str
    folder: str
    document: Document
    top: Fields
    complaints: list[PathDiagnostic]
    read_beside: Callable[[str], str]
    point: Callable[[PathDiagnostic], Diagnostic]
    plugins: tuple[PluginSpec, ...] = ()


class Parts(Record):
    """All files of a suite, itself first, and what is wrong with those that cannot be read.

    `imports_first` has them in the order in which they are to be taken in: what a file imports,
    in the order in which it does, and then the file.
    """

    files: tuple[Part, ...]
    imports_first: tuple[Part, ...]
    mistakes: tuple[Diagnostic, ...] = ()


def read_parts(
    text: str,
    file: str,
    folder: str,
    read_beside: Callable[[str], str],
    real_path: Resolve = posixpath.normpath,
) -> Parts:
    """The file and everything it imports.

    By `real_path` files are told apart: one may have several names, by links.
    """
    reader = _PartReader(folder, read_beside, real_path)
    main = reader.read(text, file, ".")
    reader.follow(main, real_path(file), ".")
    return Parts(
        files=tuple(reader.found.values()),
        imports_first=tuple(reader.done),
        mistakes=tuple(reader.mistakes),
    )


class _PartReader:
    """Reads files, each once, in the order in which they are first named."""

    def __init__(self, folder: str, read_beside: Callable[[str], str], real_path: Resolve) -> None:
        self._folder = folder
        self._read_beside = read_beside
        self._real_path = real_path
        self.found: dict[str, Part] = {}
        self.done: list[Part] = []
        self.mistakes: list[Diagnostic] = []

    def read(self, text: str, file: str, place: str) -> Part:
        home = self._plain(posixpath.join(self._folder, place))
        return _read_part(text, file, home, place, self._read_beside)

    def _plain(self, path: str) -> str:
        """The path without detours, unless one of them leads elsewhere, through a link."""
        plain = posixpath.normpath(path)
        return plain if self._real_path(plain) == self._real_path(path) else path

    def follow(self, part: Part, real: str, place: str) -> None:
        """Take in a file, and whatever it imports before it."""
        self.found[real] = part
        for path, key in _imports(part.top):
            shown = self._plain(posixpath.join(posixpath.dirname(part.file), path))
            # A circle ends where it began.
            if self._real_path(shown) in self.found:
                continue
            if len(self.found) >= _MOST_PARTS:
                message = f"with this there are more than {_MOST_PARTS} files in one suite"
                part.top.at(key).complain("", "F004", message, on_key=False)
                continue
            inner = posixpath.join(place, path)
            text = _text_of(part, inner, key, self._read_beside)
            if text is not None:
                self._import(text, shown, posixpath.dirname(inner) or ".", part.top.at(key))
        self.done.append(part)

    def _import(self, text: str, name: str, place: str, importer: Fields) -> None:
        try:
            part = self.read(text, name, place)
            mistakes = [part.point(each) for each in part.complaints if each.code == "F005"]
        except FormatError as error:
            part, mistakes = None, list(error.diagnostics)
        if isinstance(text, UnquotedText) and mistakes:
            # Where it is named is the only line that may be shown.
            first = mistakes[0]
            what = f"{CODES[first.code]} (line {first.line}, column {first.column})"
            message = f"cannot import it: {what}"
            importer.complain("", first.code, message, UNQUOTED, on_key=False)
        elif part is None:
            self.mistakes += mistakes
        else:
            self.follow(part, self._real_path(name), place)


class _Pointer:
    """Points at places of one document, whose text is read for that once, and only if need be."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._places: Places | None = None

    def __call__(self, complaint: PathDiagnostic) -> Diagnostic:
        self._places = self._places or locate(self._document)
        return point_at(complaint, self._document.file, self._places)


def _read_part(
    text: str, file: str, home: str, place: str, read_beside: Callable[[str], str]
) -> Part:
    document = read_document(text, file)
    complaints: list[PathDiagnostic] = []
    value = document.value
    if not isinstance(value, dict):
        message = f"a suite must be a mapping and is {kind_of(value)}"
        Fields({}, (), complaints).complain("", "F005", message)
        value = {}
    fields = Fields(value, (), complaints)
    return Part(
        file=file,
        folder=home,
        document=document,
        top=fields,
        complaints=complaints,
        read_beside=lambda name: read_beside(posixpath.join(place, name)),
        point=_Pointer(document),
        plugins=tuple(plugin.but(cwd=home) for plugin in _plugins(fields, file)),
    )


def _plugins(fields: Fields, file: str) -> tuple[PluginSpec, ...]:
    if not isinstance(fields.mapping.get("imports"), dict):
        return ()
    imports = fields.mapping_at("imports")
    assert imports is not None
    imports.refuse_unknown(IMPORT_KEYS, (), '"imports"')
    return read_subprocess_matchers(imports, file)


def _imports(fields: Fields) -> list[tuple[str, tuple[str | int, ...]]]:
    """The paths that a file imports, each with its place in it."""
    value = fields.mapping.get("imports", [])
    if not isinstance(value, (list, dict)):
        message = f'"imports" must be a list of files, or a mapping, and is {kind_of(value)}'
        fields.complain("imports", "F008", message, on_key=False)
        return []
    inner, key = fields, "imports"
    if isinstance(value, dict):
        inner, key = fields.at(("imports",)).replaced(value), "suites"
    # Complains about what is no text.
    inner.texts(key)
    where = (*inner.steps, key)
    items = enumerate(inner.list_at(key))
    return [(path, (*where, index)) for index, path in items if isinstance(path, str)]


def _text_of(
    part: Part, path: str, key: tuple[str | int, ...], read_beside: Callable[[str], str]
) -> str | None:
    try:
        return read_beside(path)
    except (OSError, ValueError, FormatError) as error:
        reason = str(error).removeprefix("cannot read it: ")
        message = f"cannot import it: {reason[:1].lower()}{reason[1:]}"
        part.top.at(key).complain("", "F001", message, on_key=False)
        return None
