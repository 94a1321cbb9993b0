"""`mcptest.yaml`: servers, and everything that is asked of them, in one file.

`load_suite` returns one suite for each server of each file, or raises a FormatError with every
mistake. Imported files are read by the same functions as the file itself.
"""

from __future__ import annotations

import posixpath
from functools import partial

from mcptest.core.diagnostics import CODES, UNQUOTED, UnquotedText, suggest
from mcptest.core.errors import FormatError
from mcptest.core.plan import ISOLATIONS, Case, Gates, Suite
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import visible
from mcptest.core.value_class import Record
from mcptest.formats.config import (
    SETTINGS,
    STRICT,
    SUBPROCESS_MATCHERS,
    read_subprocess_matchers,
)
from mcptest.formats.fields import (
    STRING,
    STRINGS,
    Fields,
    Key,
    Keys,
    diagnose,
    kind_of,
    number,
    point_at,
    whole_number,
)
from mcptest.formats.suite.expect import DAY_MS
from mcptest.formats.suite.lanes import SECURITY_KEYS, LaneReader
from mcptest.formats.suite.servers import ServerFiles, read_servers
from mcptest.formats.suite.tests import (
    CALLS,
    DEFAULT_KEYS,
    RETRIES,
    Defaults,
    EntryReader,
    StepReader,
)
from mcptest.formats.suite.variables import Variables
from mcptest.formats.yaml import locate, read_document
from mcptest.matching.suite_matchers import SuiteMatchers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest.core.diagnostics import Diagnostic, PathDiagnostic
    from mcptest.core.plan import PluginSpec, ServerSpec
    from mcptest.formats.suite.variables import GivenVariables
    from mcptest.formats.yaml import Document, Places
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


_PERCENT = number(0, 100)
_TIME_MS = number(0, DAY_MS)

COVERAGE_KEYS = Keys(
    {
        "tools": Key(_PERCENT, "Percent of the tools."),
        "resources": Key(_PERCENT, "Percent of the resources."),
        "prompts": Key(_PERCENT, "Percent of the prompts."),
        "total": Key(_PERCENT, "Percent of everything that is offered."),
    }
)
PERFORMANCE_KEYS = Keys(
    {
        "p50_ms": Key(_TIME_MS, "Half of the answers take no longer."),
        "p90_ms": Key(_TIME_MS, "90 of 100 answers take no longer."),
        "p95_ms": Key(_TIME_MS, "95 of 100 answers take no longer."),
        "p99_ms": Key(_TIME_MS, "99 of 100 answers take no longer."),
        "mean_ms": Key(_TIME_MS, "The mean of all answers is no longer."),
        "max_ms": Key(_TIME_MS, "No answer takes longer."),
    }
)
RUN_KEYS = Keys(
    {
        "parallel": Key(whole_number(1, 256), "How many files run at a time."),
        "isolation": Key(SETTINGS["isolation"].type, SETTINGS["isolation"].description),
        "retries": RETRIES,
        "strict": STRICT,
    }
)
IMPORT_KEYS = Keys(
    {
        "suites": Key(STRINGS, "Other suites, relative to this file.", ["orders.yaml"]),
        "subprocess_matchers": SUBPROCESS_MATCHERS,
    }
)
_LANES = Keys(
    {
        "tools": Key("entries_of_tools", "Tests that call tools."),
        "resources": Key("entries_of_resources", "Tests that read resources."),
        "prompts": Key("entries_of_prompts", "Tests that get prompts."),
        "agents": Key("agents", "What a model does with the tools of the servers."),
        "evals": Key("evals", "Answers of a model that another model judges by a rubric."),
        "compliance": Key(
            "compliance", "Whether the servers keep to the protocol.", {"tests": ["initialize"]}
        ),
        "security": Key(SECURITY_KEYS, "What is hostile in the definitions of a server."),
    }
)
FILE_KEYS = Keys(
    {
        "name": Key(STRING, "What reports call this suite."),
        "description": Key(STRING, "What it is about; reports show it where there is no name."),
        "$schema": Key(STRING, "Where the schema of this file is, for editors."),
        "servers": Key(
            "servers",
            "The servers by name. Each is started once, and only when a test needs it.",
            {"shop": {"command": ["python3", "shop_server.py"]}},
        ),
        "variables": Key(
            "variables",
            "Values by name; ${name} stands for them in servers, calls and expectations.",
            {"order": "A-17", "region": {"from_env": "REGION", "default": "eu"}},
        ),
        "imports": Key(
            "imports", "Other suites that belong to this one, and plugins.", ["orders.yaml"]
        ),
        "defaults": Key(
            DEFAULT_KEYS, "What holds for every entry of this file that does not say it itself."
        ),
        **_LANES,
        "coverage": Key(
            "coverage", "How much of what the servers offer must be called, in percent."
        ),
        "performance": Key("performance", "How long answers may take, in milliseconds."),
        "run_options": Key(RUN_KEYS, "How the tests are run."),
    }
)


class SuiteContext(Record):
    """What the loader needs beside the text of the suite.

    `folder` is the absolute path of the file's folder. `registry_with` returns the matchers
    including the plugins that the file declares, `book_of` the snapshots of a file, `real_path`
    the target of a path, which identifies imported files. `variables` are those of the command
    line.
    """

    environment: Mapping[str, str]
    folder: str
    read_beside: Callable[[str], str]
    registry_with: Callable[[tuple[PluginSpec, ...]], Registry]
    book_of: Callable[[str], SnapshotBook] | None = None
    real_path: Callable[[str], str] | None = None
    variables: GivenVariables | None = None


def load_suite(
    text: str, file: str, context: SuiteContext
) -> tuple[list[Suite], tuple[Diagnostic, ...]]:
    """Return the suites of a file and of those it imports, and warnings."""
    real_path = context.real_path or posixpath.normpath
    parts = read_parts(text, file, context.folder, context.read_beside, real_path)
    loader = _Loader(parts, context)
    suites = loader.suites()
    found = [*parts.mistakes, *loader.found]
    for part in parts.files:
        # `defaults` is read for each entry; report its mistakes once.
        found += diagnose(part.document, list(dict.fromkeys(part.diagnostics)))
    # Messages may contain values that were filled in.
    if loader.secrets:
        found = redact_all(found, redactor(loader.secrets))
    if any(each.severity == "error" for each in found):
        # Unset variables may be the reason.
        needs = (need for suite in suites for case in suite.cases for need in case.needs)
        found += (need.but(severity="warning") for need in dict.fromkeys(needs))
        raise FormatError(found)
    return suites, tuple(found)


class _Loader:
    """Reads all files of one suite; every mistake is a diagnostic, and reading continues."""

    def __init__(self, parts: Parts, context: SuiteContext) -> None:
        self._parts = parts.files
        self._context = context
        diagnostics = (each for part in parts.files for each in part.diagnostics)
        # A file that cannot be read may declare what is missing elsewhere.
        self._is_whole = not parts.mistakes and all(each.code != "F001" for each in diagnostics)
        self._variables = Variables(
            context.environment, context.folder, self._is_whole, context.variables
        )
        self._servers: dict[str, ServerSpec] = {}
        self._needs: dict[str, tuple[Diagnostic, ...]] = {}
        self._owners: dict[str, str] = {}
        # Mistakes and warnings in files that servers name.
        self.found: list[Diagnostic] = []
        # `run_options` of all files.
        self._parallel: int | None = None
        self._retries: int | None = None
        self._isolation = "run"
        self._is_strict = False
        coverage: dict[str, float] = {}
        performance: dict[str, float] = {}
        # Imports first: what the importing file says overrides them.
        for part in parts.imports_first:
            self._read_head(part)
            coverage |= _numbers(part.top, "coverage", COVERAGE_KEYS)
            performance |= _numbers(part.top, "performance", PERFORMANCE_KEYS)
        for part in parts.imports_first:
            self._read_servers(part)
        self._gates = None
        if coverage or performance:
            self._gates = Gates(coverage=coverage or None, performance=performance or None)
        plugins = tuple(plugin for part in parts.files for plugin in part.plugins)
        self._registry = context.registry_with(plugins)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        return tuple(dict.fromkeys(self._variables.secrets))

    def suites(self) -> list[Suite]:
        """Return one suite for each server of each file; those of one server are adjacent."""
        files = [part.top.mapping for part in self._parts]
        if (
            self._is_whole
            and not any("servers" in file for file in files)
            and any(lane in file for file in files for lane in _LANES)
        ):
            self._parts[0].top.require(("servers",), "a suite")
        found = [suite for part in self._parts for suite in self._suites_of(part)]
        if not found and not any(part.diagnostics for part in self._parts):
            message = f"a suite needs tests: one of the keys {', '.join(_LANES)}"
            self._parts[0].top.report("", "F007", message)
        # A server is started once, so its suites run one after the other.
        turns: dict[str, int] = {}
        for suite in found:
            turns.setdefault(_server_name(suite), len(turns))
        found.sort(key=lambda suite: turns[_server_name(suite)])
        return [suite for name in turns for suite in _checks_last(found, name)]

    def _read_head(self, part: Part) -> None:
        """Read what a file says about itself and all of its tests."""
        part.top.check_keys(FILE_KEYS, "a suite")
        for key in ("name", "description", "$schema"):
            part.top.text(key)
        # Only the options that are written: those of imports hold for what is not.
        if options := part.top.mapping_at("run_options"):
            options.check_keys(RUN_KEYS, '"run_options"')
            if "parallel" in options.mapping:
                bounds = RUN_KEYS["parallel"].bounds
                self._parallel = options.whole_number("parallel", *bounds, 1)
            if "retries" in options.mapping:
                self._retries = options.whole_number("retries", *RETRIES.bounds, 0)
            if "isolation" in options.mapping:
                self._isolation = options.choice("isolation", ISOLATIONS, "run")
            if "strict" in options.mapping:
                self._is_strict = options.flag("strict", False)
        inner = part.top.mapping_at("variables")
        if inner:
            self._variables.turn_to(part.folder, part.point)
            self._variables.read(inner)

    def _read_servers(self, part: Part) -> None:
        self._variables.turn_to(part.folder, part.point)
        files = ServerFiles(
            read=part.read_beside, folder=part.folder, file=part.file, found=self.found
        )
        servers = read_servers(part.top, self._variables, self._isolation, files)
        for name, (spec, needs) in servers.items():
            if name in self._owners:
                owners = f"{visible(self._owners[name])} and {visible(part.file)}"
                message = f"the server {name!r} has two owners: {owners}"
                part.top.at(("servers", name)).report("", "F003", message)
            cwd = posixpath.normpath(posixpath.join(part.folder, spec.cwd))
            self._owners[name] = part.file
            if spec.http and spec.http.ca_file:
                ca_file = posixpath.join(part.folder, spec.http.ca_file)
                spec = spec.but(http=spec.http.but(ca_file=ca_file))
            self._servers[name] = spec.but(cwd=cwd, is_strict=self._is_strict)
            self._needs[name] = needs

    def _suites_of(self, part: Part) -> list[Suite]:
        """Return the cases of one file by server, in the order in which servers appear."""
        self._variables.turn_to(part.folder, part.point)
        by_server: dict[str, list[Case]] = {}
        found, row_files = self._cases(part)
        secrets = self.secrets
        for server, case in found:
            names = [server]
            if case.scan and case.scan.others:
                # The other servers of a scan have needs, and must know what is secret.
                names += [each.name for each in case.scan.others]
                others = tuple(each.but(secrets=secrets) for each in case.scan.others)
                case = case.but(scan=case.scan.but(others=others))
            of_servers = [need for name in names for need in self._needs.get(name, ())]
            needs = dict.fromkeys((*of_servers, *case.needs))
            case = case.but(needs=tuple(needs)) if needs else case
            by_server.setdefault(server, []).append(case)
        title = part.top.mapping.get("name") or part.top.mapping.get("description")
        return [
            Suite(
                name=str(title or posixpath.basename(part.file)),
                file=part.file,
                format="suite",
                cases=tuple(sorted(cases, key=lambda case: bool(case.check))),
                server=self._servers[server].but(secrets=secrets),
                gates=self._gates,
                parallel=self._parallel,
                home=self._parts[0].file,
                needs=self._needs.get(server, ()),
                row_files=row_files,
            )
            for server, cases in by_server.items()
            if server in self._servers
        ]

    def _cases(self, part: Part) -> tuple[list[tuple[str, Case]], tuple[str, ...]]:
        """Return the cases of a file, each with its server, and the files of rows."""
        fields = part.top
        book = self._context.book_of(part.file) if self._context.book_of else None

        def words(diagnostics: list[PathDiagnostic]) -> SuiteMatchers:
            return SuiteMatchers(self._registry, diagnostics, part.read_beside, book)

        defaults = Defaults(fields, self._variables, self._retries)
        steps = StepReader(self._variables, words, part.diagnostics)
        entries = EntryReader(part, steps, self._server_of, defaults)
        lanes = LaneReader(
            words(part.diagnostics), self._server_of, part.document.item_line, visible(part.file)
        )
        read = {lane: partial(entries.read, lane) for lane in CALLS} | {
            "agents": lambda: lanes.agents(fields),
            "evals": lambda: lanes.evals(fields),
            "compliance": lambda: lanes.compliance(fields),
            "security": lambda: lanes.security(fields, self._servers, part.read_beside),
        }
        # In the order of the file.
        found = [pair for key in fields.mapping if key in read for pair in read[key]()]
        entries.read_unused()
        return found, entries.row_files

    def _server_of(self, fields: Fields) -> str:
        """Return the name of the server of an entry: the one it names, or the only one."""
        if "server" in fields.mapping:
            name = fields.text("server")
            # A declared server with mistakes has been reported already.
            declared = (part.top.mapping.get("servers") for part in self._parts)
            names = dict.fromkeys(
                each for inner in declared if isinstance(inner, dict) for each in inner
            )
            is_text = isinstance(fields.mapping["server"], str)
            if is_text and names and name not in names and self._is_whole:
                message = f"there is no server {name!r}{suggest(name, names, '{!r}')}"
                help = f"there are: {', '.join(names)}"
                fields.report("server", "F009", message, help, on_key=False)
            return name
        named = fields.mapping.get("servers")
        if isinstance(named, list) and named:
            known = [name for name in named if isinstance(name, str) and name in self._servers]
            return known[0] if known else ""
        if len(self._servers) > 1:
            there = f"there are: {', '.join(self._servers)}"
            message = 'it must say which "server" is meant: there is more than one'
            fields.report("", "F007", message, there)
        return next(iter(self._servers), "")


def _checks_last(suites: list[Suite], server: str) -> list[Suite]:
    """Return the suites of a server, with checks of the whole session after all calls."""
    mine = [suite for suite in suites if _server_name(suite) == server]
    if len(mine) == 1:
        return mine
    parts = (
        suite.but(cases=tuple(case for case in suite.cases if bool(case.check) == is_check))
        for is_check in (False, True)
        for suite in mine
    )
    return [suite for suite in parts if suite.cases]


def _server_name(suite: Suite) -> str:
    return suite.server.name if suite.server else ""


def _numbers(fields: Fields, key: str, keys: Keys) -> dict[str, float]:
    inner = fields.mapping_at(key)
    if inner is None:
        return {}
    inner.check_keys(keys, f'"{key}"')
    if not inner.mapping:
        fields.report(key, "F011", f'"{key}" is empty: it asks for nothing')
    found = {each: inner.number(each, *keys[each].bounds) for each in keys if each in inner.mapping}
    return {each: value for each, value in found.items() if value is not None}


# The files of a suite: itself and its imports, each once

# More files than this: probably copies that import each other.
_MOST_PARTS = 200


class Part(Record):
    """One file of a suite. `folder` is the absolute path of its folder.

    `point` turns a diagnostic into a diagnostic at its place in the file.
    """

    file: str
    folder: str
    document: Document
    top: Fields
    diagnostics: list[PathDiagnostic]
    read_beside: Callable[[str], str]
    point: Callable[[PathDiagnostic], Diagnostic]
    plugins: tuple[PluginSpec, ...] = ()


class Parts(Record):
    """All files of a suite, itself first, and the mistakes of those that cannot be read.

    `imports_first` has the imports of a file, in order, before the file itself.
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
    """Return the file and everything it imports.

    `real_path` identifies files: one file may have several names through links.
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
        document = read_document(text, file)
        diagnostics: list[PathDiagnostic] = []
        value = document.value
        if not isinstance(value, dict):
            message = f"a suite must be a mapping and is {kind_of(value)}"
            Fields({}, (), diagnostics).report("", "F005", message)
            value = {}
        fields = Fields(value, (), diagnostics)
        plugins: tuple[PluginSpec, ...] = ()
        if isinstance(value.get("imports"), dict) and (imports := fields.mapping_at("imports")):
            imports.check_keys(IMPORT_KEYS, '"imports"')
            plugins = read_subprocess_matchers(imports, file)
        return Part(
            file=file,
            folder=home,
            document=document,
            top=fields,
            diagnostics=diagnostics,
            read_beside=lambda name: self._read_beside(posixpath.join(place, name)),
            point=_Pointer(document),
            plugins=tuple(plugin.but(cwd=home) for plugin in plugins),
        )

    def _plain(self, path: str) -> str:
        """Return the path without `..`, unless that would lead elsewhere because of a link."""
        plain = posixpath.normpath(path)
        return plain if self._real_path(plain) == self._real_path(path) else path

    def follow(self, part: Part, real: str, place: str) -> None:
        """Add a file, and its imports before it."""
        self.found[real] = part
        for path, key in _imports(part.top):
            shown = self._plain(posixpath.join(posixpath.dirname(part.file), path))
            # Also ends circular imports.
            if self._real_path(shown) in self.found:
                continue
            if len(self.found) >= _MOST_PARTS:
                message = f"with this there are more than {_MOST_PARTS} files in one suite"
                part.top.at(key).report("", "F004", message, on_key=False)
                continue
            inner = posixpath.join(place, path)
            try:
                text = self._read_beside(inner)
            except (OSError, ValueError, FormatError) as error:
                reason = str(error).removeprefix("cannot read it: ")
                message = f"cannot import it: {reason[:1].lower()}{reason[1:]}"
                part.top.at(key).report("", "F001", message, on_key=False)
                continue
            self._import(text, shown, posixpath.dirname(inner) or ".", part.top.at(key))
        self.done.append(part)

    def _import(self, text: str, name: str, place: str, importer: Fields) -> None:
        try:
            part = self.read(text, name, place)
            mistakes = [part.point(each) for each in part.diagnostics if each.code == "F005"]
        except FormatError as error:
            part, mistakes = None, list(error.diagnostics)
        if isinstance(text, UnquotedText) and mistakes:
            # Only the line that names the file may be shown.
            first = mistakes[0]
            what = f"{CODES[first.code]} (line {first.line}, column {first.column})"
            message = f"cannot import it: {what}"
            importer.report("", first.code, message, UNQUOTED, on_key=False)
        elif part is None:
            self.mistakes += mistakes
        else:
            self.follow(part, self._real_path(name), place)


class _Pointer:
    """Finds places in one document, whose text is read again at most once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._places: Places | None = None

    def __call__(self, diagnostic: PathDiagnostic) -> Diagnostic:
        self._places = self._places or locate(self._document)
        return point_at(diagnostic, self._document.file, self._places)


def _imports(fields: Fields) -> list[tuple[str, tuple[str | int, ...]]]:
    """Return the paths that a file imports, each with its place."""
    value = fields.mapping.get("imports", [])
    if not isinstance(value, (list, dict)):
        message = f'"imports" must be a list of files, or a mapping, and is {kind_of(value)}'
        fields.report("imports", "F008", message, on_key=False)
        return []
    inner, key = fields, "imports"
    if isinstance(value, dict):
        inner, key = fields.at(("imports",)).replaced(value), "suites"
    # Reports items that are not strings.
    inner.texts(key)
    where = (*inner.steps, key)
    items = enumerate(inner.list_at(key))
    return [(path, (*where, index)) for index, path in items if isinstance(path, str)]
