"""From file names to a plan: read everything, and report every mistake in one go."""

from __future__ import annotations

import os
import time
from functools import cache, partial

from mcptest.core.diagnostics import suggest
from mcptest.core.errors import FormatError, NothingSelectedError, UsageError
from mcptest.core.events import ReportedShard
from mcptest.core.plan import PluginSpec, ServerSpec, Suite
from mcptest.core.secrets import redactor
from mcptest.core.text import visible
from mcptest.core.value_class import Record
from mcptest.engine.selection import (
    Selection,
    describe_shard,
    filter_cases,
    select,
    select_lines,
)
from mcptest.engine.test_files import (
    CONFIG_NAMES,
    SuiteFolders,
    find_client_config,
    find_config,
    find_test_files,
    format_of,
    glob_root,
    is_client_config,
    read_text,
)
from mcptest.formats.conductor import load_conductor
from mcptest.formats.config import default_startup_s, load_config
from mcptest.matching.registry import builtin_registry
from mcptest.transport.process.signals import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import NoReturn

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.results import SnapshotMode
    from mcptest.engine.snapshots import Book, Snapshots
    from mcptest.formats.suite.variables import GivenVariables
    from mcptest.matching.registry import Matcher, Registry
    from mcptest.plugins.host import DeclaredPlugins, PluginManager

    Loader = Callable[
        [str, str, Registry, Mapping[str, str], Callable[[str], str]],
        tuple[Suite, tuple[Diagnostic, ...]],
    ]

__all__ = [
    "Diagnostics",
    "ExtraHttpOptions",
    "PlaceholderEnvironment",
    "Plan",
    "Servers",
    "SuiteResources",
    "Wanted",
    "load_client_servers",
    "load_plan",
    "load_server",
    "load_suites",
    "resolve_folders",
]


# How long a regular expression may compute while a matching string is generated.
_PATTERN_LIMIT = CpuLimit(1.0)


class Wanted(Record):
    """What the user asked for, as they wrote it."""

    paths: tuple[str, ...] = ()
    # Whether a search found these paths; the user did not write them.
    is_found: bool = False
    config: str = ""
    # Which server of the config; "" for the only one.
    server_name: str = ""
    server_command: tuple[str, ...] = ()
    server: ServerSpec | None = None
    sent_along: ExtraHttpOptions | None = None
    spec_version: str = ""
    # What gets a server process of its own, instead of what configs and suites say.
    isolation: str = ""
    selection: Selection = Selection()
    timeout_s: float | None = None
    startup_timeout_s: float | None = None
    format: str = ""
    plugins: tuple[PluginSpec, ...] = ()
    snapshots: SnapshotMode | None = None
    # Values of variables of suites, instead of those that they say.
    variables: dict[str, object] = {}  # noqa: RUF012  # nothing of a record changes
    # Whether unset variables are checked by the caller when a case is run.
    is_chosen_later: bool = False
    # Whether nothing is run, so that neither servers nor variables are needed.
    is_only_listed: bool = False
    # Called with a sentence about each file that is skipped, because it belongs to another tool.
    note: Callable[[str], None] | None = None

    def find_test_files(self) -> list[str]:
        """The files that the paths name."""
        return find_test_files(self.paths, self.note, has_format=bool(self.format))

    def folders(self) -> SuiteFolders:
        """The folders whose files messages may quote."""
        return SuiteFolders((*self.paths, self.config), is_found=self.is_found)


class Plan(Record):
    """Everything a run needs to know; nothing has been started yet.

    `gated_files` are all files of each suite with gates, those of other shards among them.
    """

    suites: tuple[tuple[Suite, ServerSpec], ...]
    warnings: tuple[Diagnostic, ...] = ()
    plugins: PluginManager | None = None
    snapshots: Snapshots | None = None
    is_whole: bool = True
    gated_files: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  # nothing of a record changes
    shard: ReportedShard | None = None

    @property
    def total(self) -> int:
        return sum(len(suite.cases) for suite, _ in self.suites)

    @property
    def workers(self) -> int | None:
        """How many files the suites ask to run side by side; None if none does."""
        return max((suite.parallel or 0 for suite, _ in self.suites), default=0) or None

    def with_servers(self, change: Callable[[ServerSpec], ServerSpec]) -> Plan:
        """The plan with every server changed; equal servers stay the same object."""
        changed = {id(spec): change(spec) for _, spec in self.suites}
        return self.but(suites=tuple((suite, changed[id(spec)]) for suite, spec in self.suites))

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(secret for _, spec in self.suites for secret in spec.secrets)


class Diagnostics:
    """What is wrong with the files of a run, in the order in which it is found.

    Among the mistakes are the warnings of files that have mistakes.
    """

    def __init__(self) -> None:
        self.mistakes: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []


def load_plan(wanted: Wanted, environment: Mapping[str, str]) -> Plan:
    """Load all files, select the cases that are wanted, and give each suite its server.

    Raises the first of: mistakes in files, no test that is selected, mistakes in configs, options
    that do not fit the files, unset variables, no server.
    """
    with wanted.folders() as folders:
        found = Diagnostics()
        servers = Servers(wanted, environment, found)
        resources = SuiteResources(servers.plugins_of, wanted.snapshots, wanted.variables)
        # If the command line names the server, those of files may have unset variables.
        is_named = bool(wanted.server_command or wanted.config or wanted.server)
        for_servers = PlaceholderEnvironment(environment) if is_named else environment
        loader = _FileLoader(wanted, folders, resources, environment, for_servers)
        suites = loader.load_all(found)
        # After mistakes nothing is selected, so that those in configs are reported, too.
        selected = _Selected(suites=suites) if found.mistakes else _select(suites, wanted)
        # A config is read only if a selected file needs it.
        pairs = [(suite, servers.server_of(suite, suites)) for suite in selected.suites]
        if found.mistakes:
            raise FormatError(found.mistakes)
        _refuse_unknown_variables(resources.variables)
        servers.refuse_unused_name()
        if sent_along := wanted.sent_along:
            sent_along.refuse_several(spec for _, spec in pairs if spec)
            pairs = [(suite, spec and sent_along.to(spec)) for suite, spec in pairs]
        if not (wanted.is_chosen_later or wanted.is_only_listed):
            _refuse_unset(selected.suites)
        without_server = _NO_SERVER if wanted.is_only_listed else None
        gated = dict.fromkeys((suite.home, suite.file) for suite in suites if suite.gates)
        plan = Plan(
            suites=tuple(
                (suite, spec or without_server or _raise_no_server(suite)) for suite, spec in pairs
            ),
            warnings=tuple(folders.quotable(found.warnings)),
            plugins=resources.plugin_manager,
            snapshots=resources.snapshots,
            is_whole=selected.is_whole,
            gated_files={
                home: tuple(file for other, file in gated if other == home) for home, _ in gated
            },
            shard=selected.shard,
        )
        if resources.snapshots:
            resources.snapshots.redact = redactor(plan.secrets)
        return plan


# The server of a test that is only listed, if nothing names one.
_NO_SERVER = ServerSpec(name="", command=())


class _Selected(Record):
    """The suites with the selected tests; whole if nothing but a shard was selected."""

    suites: Sequence[Suite]
    is_whole: bool = True
    shard: ReportedShard | None = None


def _select(suites: Sequence[Suite], wanted: Wanted) -> _Selected:
    selection = wanted.selection
    if selection.lines:
        suites = select_lines(suites, selection.lines)
    if selection.last_failed and not any(filter_cases(suite, selection).cases for suite in suites):
        if wanted.note:
            wanted.note(
                "--last-failed: none of the tests that failed is among these, so all of them run"
            )
        selection = selection.but(last_failed={})
    shard = describe_shard(suites, selection, selection.shard) if selection.shard else None
    try:
        selected = select(suites, selection)
    except NothingSelectedError as error:
        error.shard = shard
        raise
    is_whole = selection.but(shard=None) == Selection()
    return _Selected(suites=selected, is_whole=is_whole, shard=shard)


def _refuse_unknown_variables(given: GivenVariables | None) -> None:
    """Raise a UsageError if the command line gives a variable that no suite declares."""
    declared = sorted(given.declared) if given else []
    for name in given.values if given else ():
        if name not in declared:
            message = f"--variable: no suite here declares the variable {visible(name)!r}"
            shown = f"there are: {visible(', '.join(declared))}" if declared else ""
            raise UsageError(message + suggest(name, declared), shown)


def _refuse_unset(suites: Iterable[Suite]) -> None:
    """Unset variables are an error only for the tests that are selected."""
    users: dict[Diagnostic, str] = {}
    for suite in suites:
        for case in suite.cases:
            for need in case.needs if case.skip is None else ():
                users.setdefault(need, case.name)
    if users:
        uses = ((need, f"{visible(name)!r} uses it") for need, name in users.items())
        raise FormatError([need.but(help=f"{used}: {need.help}") for need, used in uses])


def load_suites(
    wanted: Wanted, environment: Mapping[str, str]
) -> tuple[list[Suite], list[Diagnostic], list[Diagnostic]]:
    """The suites, mistakes and warnings in the files that the paths name, to check or read them."""
    found = Diagnostics()

    @cache
    def servers() -> Servers:
        # A config is read once, and only if a plugin is used. Only its mistakes matter here.
        of_config = Diagnostics()
        of_config.mistakes = found.mistakes
        return Servers(wanted, PlaceholderEnvironment(environment), of_config)

    with wanted.folders() as folders:
        resources = SuiteResources(lambda file: servers().plugins_of(file))
        suites = _FileLoader(wanted, folders, resources, environment, environment).load_all(found)
    # Nothing is run here, so unset variables do not matter.
    needs = (need for suite in suites for case in suite.cases for need in case.needs)
    warnings = [
        *found.warnings,
        *(need.but(severity="warning") for need in dict.fromkeys(needs)),
        *(each for each in found.mistakes if each.severity == "warning"),
    ]
    mistakes = [each for each in found.mistakes if each.severity == "error"]
    return suites, folders.quotable(mistakes), folders.quotable(warnings)


class _FileLoader:
    """Loads test files, each in the format that is wanted, or that its name or its text shows.

    Suites take their variables from `environment`, the `server` blocks of other files from
    `for_servers`.
    """

    def __init__(
        self,
        wanted: Wanted,
        folders: SuiteFolders,
        resources: SuiteResources,
        environment: Mapping[str, str],
        for_servers: Mapping[str, str],
    ) -> None:
        self._wanted = wanted
        self._folders = folders
        self._resources = resources
        self._environment = environment
        self._for_servers = for_servers

    def load_all(self, diagnostics: Diagnostics) -> list[Suite]:
        """The suites of all files without mistakes; what is wrong is added to the diagnostics."""
        suites: list[Suite] = []
        # By real path: the files that run by themselves, and those that are imported.
        homes: set[str] = set()
        imported: set[str] = set()
        for file in self._wanted.find_test_files():
            if imported and os.path.realpath(file) in imported:
                continue
            try:
                found, warnings = self._load(file)
            except FormatError as error:
                known = diagnostics.mistakes
                # Several files may name the same file of rows.
                known += (each for each in error.diagnostics if each not in known)
                continue
            imports = {
                os.path.realpath(suite.file): suite.file
                for suite in found
                if suite.home not in ("", suite.file)
            }
            # A file that runs by itself is not run again for the suites that import it.
            run_already = {name for real, name in imports.items() if real in homes}
            suites += [suite for suite in found if suite.file not in run_already]
            homes |= {os.path.realpath(file)} if any(suite.home for suite in found) else set()
            imported |= imports.keys()
            diagnostics.warnings += warnings
        return suites

    def _load(self, file: str) -> tuple[list[Suite], tuple[Diagnostic, ...]]:
        text = read_text(file)
        format = self._wanted.format or format_of(file, text)
        read_beside = self._folders.reader_beside(file)
        resources = self._resources
        if format == "suite":
            # Loaded only for suites.
            from mcptest.formats.suite.loader import SuiteContext, load_suite  # noqa: PLC0415

            context = SuiteContext(
                environment=self._environment,
                folder=os.path.abspath(os.path.dirname(file)),
                read_beside=read_beside,
                registry_with=lambda plugins: resources.registry_with(file, plugins),
                book_of=resources.book_of,
                real_path=os.path.realpath,
                variables=resources.variables,
            )
            return load_suite(text, file, context)
        load: Loader = load_conductor
        if format == "cases":
            # Loaded only for streams of YAML documents.
            from mcptest.formats.cases import load_cases  # noqa: PLC0415

            load = partial(load_cases, bounded=_PATTERN_LIMIT)
        registry = resources.registry_with(file)
        suite, warnings = load(text, file, registry, self._for_servers, read_beside)
        return [suite], warnings


def _raise_no_server(suite: Suite) -> NoReturn:
    is_contract = suite.format == "cases"
    block = "a _server: key into its first document" if is_contract else "a server: block into it"
    # A config in a folder above is suggested, and not used unasked.
    folder = os.path.dirname(os.path.abspath(suite.file))
    while not (found := find_config(folder)) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    above = found and os.path.relpath(found)
    raise UsageError(
        f"no server to test {visible(suite.file)} against",
        f"there is {visible(above)}: give --config {visible(above)}"
        if above
        else f"give --config FILE or --server-command, put a {CONFIG_NAMES[0]} in this folder or "
        f"beside the test file, or {block}",
    )


# The server and plugins of each file


class PlaceholderEnvironment(dict[str, str]):
    """An environment in which every variable is set, for commands that start no server."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return ""


class Servers:
    """Which server each suite is tested against.

    What the command line says counts most, then what the file itself says, then a config
    in the folder where the command was started, then one beside the file, then one above it, up
    to a folder that the command line names. Those further up belong to other projects. Configs of
    other programs are searched for in the same places, after all of our own.
    """

    def __init__(
        self,
        wanted: Wanted,
        environment: Mapping[str, str],
        diagnostics: Diagnostics,
    ) -> None:
        self._wanted = wanted
        # If a command names the server, that of a config may have unset variables.
        self._environment = (
            PlaceholderEnvironment(environment) if wanted.server_command else environment
        )
        self._diagnostics = diagnostics
        self._configs: dict[str, ServerSpec | None] = {}
        paths = filter(os.path.isdir, map(glob_root, wanted.paths or (".",)))
        self._named = tuple(os.path.abspath(path).rstrip(os.sep) + os.sep for path in paths)
        self._from_options = self._from_command_line()

    def server_of(self, suite: Suite, suites: Sequence[Suite]) -> ServerSpec | None:
        """The server for a suite; None if none is named, or it has mistakes."""
        folder = os.path.dirname(suite.file) or "."
        wanted = self._wanted
        spec = self._from_options
        if suite.format == "suite":
            spec = self._instead_of(suite, suites)
        if spec is None and suite.server:
            spec = resolve_folders(suite.server, folder)
        if spec is None and not wanted.config:
            spec = self._from_config_for(folder) or self._from_client_config_for(folder)
        if spec is None:
            return None
        isolation = wanted.isolation or spec.isolation
        if suite.format == "cases" and isolation == "run":
            # A contract is a conversation with one process.
            isolation = "file"
        changed = spec.but(
            isolation=isolation,
            protocol_version=suite.protocol_version or spec.protocol_version,
            spec_version=wanted.spec_version or spec.spec_version,
            startup_timeout_s=wanted.startup_timeout_s or spec.startup_timeout_s,
            timeout_s=wanted.timeout_s or spec.timeout_s,
        )
        # The same object is recognised sooner than an equal one.
        return spec if changed == spec else changed

    def refuse_unused_name(self) -> None:
        """Raise a UsageError if `--server` chooses a server of a config, and none was read."""
        # pytest loads each file by itself, so another file may need the server.
        if self._wanted.server_name and not (self._configs or self._wanted.is_chosen_later):
            message = "--server chooses a server of a config, and no test here needs one"
            raise UsageError(message, "suites and server: blocks name their servers themselves")

    def _instead_of(self, suite: Suite, suites: Sequence[Suite]) -> ServerSpec | None:
        """The server of the command line that replaces the suite's own.

        A suite names its servers itself, so a config, which describes one, is for other files.
        """
        is_named = self._wanted.server_command or self._wanted.server
        if not (self._from_options and is_named) or suite.server is None:
            return None
        names = {each.server.name for each in suites if each.home == suite.home and each.server}
        if len(names) > 1:
            message = f"{visible(suite.file)} has {len(names)} servers: {', '.join(sorted(names))}"
            option = "--url" if self._wanted.server else "--server-command"
            raise UsageError(f"{option} names one server, and {message}")
        named = self._from_options
        secrets = (*suite.server.secrets, *named.secrets)
        return suite.server.but(
            command=named.command, cwd=os.getcwd(), http=named.http, secrets=secrets
        )

    def plugins_of(self, file: str) -> tuple[PluginSpec, ...]:
        """The plugins that the tests of a file may use."""
        config = self._config_of(file)
        return (*self._wanted.plugins, *(config.plugins if config else ()))

    def secrets_of(self, file: str) -> tuple[str, ...]:
        """The secrets of the config for a file."""
        config = self._config_of(file)
        return config.secrets if config else ()

    def _config_of(self, file: str) -> ServerSpec | None:
        if self._wanted.server_command:
            # It names the server, not plugins.
            path = find_config(".") or self._config_near(os.path.dirname(file) or ".")
            return self._from_config(path) if path else None
        config = self._from_options
        if config is None and not self._wanted.config:
            config = self._from_config_for(os.path.dirname(file) or ".")
        return config

    def _from_config_for(self, folder: str) -> ServerSpec | None:
        """The server of the config for a folder; it is read only when a file there needs it."""
        here = find_config(".")
        if here and (spec := self._from_config(here)):
            return spec
        beside = self._config_near(folder)
        return self._from_config(beside) if beside else None

    def _from_client_config_for(self, folder: str) -> ServerSpec | None:
        """The server of another program's config for a folder."""
        if find_config(".") or self._config_near(folder):
            # Our own config has mistakes, which are reported.
            return None
        path = find_client_config(".") or self._config_near(folder, find_client_config)
        is_new = path not in self._configs
        spec = self._from_config(path) if path else None
        if spec and is_new and self._wanted.note:
            self._wanted.note(f"{visible(path)} describes the server: {visible(spec.name)}")
        return spec

    def _config_near(self, folder: str, find: Callable[[str], str] = find_config) -> str:
        """The config in a folder, or in the next one above that may be looked into; else ""."""
        found, path = find(folder), os.path.abspath(folder)
        while not found and any(path.startswith(each) for each in self._named):
            path = os.path.dirname(path)
            found = find(path)
            found = os.path.relpath(found) if found and not os.path.isabs(folder) else found
        return found

    def _from_command_line(self) -> ServerSpec | None:
        command, config = self._wanted.server_command, self._wanted.config
        if self._wanted.server:
            startup_s = default_startup_s(command[0]) if command else 0.0
            return self._wanted.server.but(
                command=command,
                cwd=os.getcwd(),
                startup_timeout_s=startup_s or self._wanted.server.startup_timeout_s,
            )
        if command:
            return ServerSpec(
                name=os.path.basename(command[0]),
                is_named=False,
                command=command,
                startup_timeout_s=default_startup_s(command[0]),
            )
        if config and not os.path.exists(config):
            raise UsageError(f"there is no config file {visible(config)!r}")
        return self._from_config(config) if config else None

    def _from_config(self, path: str) -> ServerSpec | None:
        if path in self._configs:
            return self._configs[path]
        self._configs[path] = None
        try:
            spec, found_warnings = load_server(
                path, self._wanted.server_name, self._environment, self._wanted.note
            )
        except FormatError as error:
            self._diagnostics.mistakes += error.diagnostics
            return None
        self._diagnostics.warnings += found_warnings
        # Plugins run in the folder of the file that declares them.
        folder = os.path.abspath(os.path.dirname(path))
        plugins = tuple(each.but(cwd=folder) for each in spec.plugins)
        self._configs[path] = spec.but(plugins=plugins)
        return self._configs[path]


def load_server(
    path: str,
    name: str,
    environment: Mapping[str, str],
    note: Callable[[str], None] | None = None,
) -> tuple[ServerSpec, tuple[Diagnostic, ...]]:
    """The server that a config describes, with absolute paths, and warnings.

    `name` chooses one of several; it may be "". `note` is called about servers that are skipped.
    """
    text = read_text(path)
    if is_client_config(path, text):
        [spec], warnings = load_client_servers(path, text, name, environment, note)
        return spec, warnings
    spec, warnings = load_config(text, path, environment)
    if name not in ("", spec.name):
        message = f"{visible(path)} has no server {visible(name)!r}; there is {visible(spec.name)}"
        raise UsageError(message, "it describes one server, so --server is not needed")
    return resolve_folders(spec, os.path.dirname(path) or "."), warnings


def load_client_servers(
    path: str,
    text: str,
    name: str,
    environment: Mapping[str, str],
    note: Callable[[str], None] | None = None,
    *,
    takes_all: bool = False,
) -> tuple[list[ServerSpec], tuple[Diagnostic, ...]]:
    """The server of another program's config, or all that are enabled, and warnings."""
    # Loaded only for such files.
    from mcptest.formats.client_configs import ChoiceError, ClientConfig  # noqa: PLC0415

    config = ClientConfig(text, path, os.path.abspath(os.path.dirname(path)))
    try:
        names = config.names()
        skipped = [each for each, is_disabled in names.items() if is_disabled]
        if takes_all and not name and len(names) > len(skipped):
            chosen = [each for each in names if each not in skipped]
        else:
            one, skipped = config.choose(name)
            chosen = [one]
    except ChoiceError as error:
        help = f"choose one with --server NAME: {error.names}" if error.names else ""
        raise UsageError(str(error), help) from None
    for each in skipped if note else ():
        assert note
        note(f"skipped the server {visible(each)!r} of {visible(path)}: it is disabled")
    read_file = SuiteFolders(()).reader_beside("")
    servers = [config.read(each, environment, read_file) for each in chosen]
    specs = [resolve_folders(server.refuse_unset(), config.folder) for server in servers]
    return specs, tuple(dict.fromkeys(found for server in servers for found in server.warnings))


def resolve_folders(spec: ServerSpec, folder: str) -> ServerSpec:
    """The server with absolute paths of its working folder and CA file.

    A relative `cwd` is taken from the folder of the file that names it; where no such
    folder exists, from where the command was started.
    """
    beside = os.path.normpath(os.path.join(folder, spec.cwd))
    if spec.cwd and not os.path.isdir(beside) and os.path.isdir(spec.cwd):
        beside = spec.cwd
    if spec.http and spec.http.ca_file:
        ca_file = os.path.abspath(os.path.join(folder, spec.http.ca_file))
        spec = spec.but(http=spec.http.but(ca_file=ca_file))
    return spec.but(cwd=os.path.abspath(beside))


class ExtraHttpOptions(Record):
    """Headers with secret values and a CA file from the command line, given by `option`."""

    option: str
    headers: dict[str, str]
    secrets: tuple[str, ...] = ()
    ca_file: str = ""

    def to(self, spec: ServerSpec) -> ServerSpec:
        """The server with these headers, which replace those of the file."""
        if spec.http is None:
            raise UsageError(f"{self.option} is for servers on HTTP; give --url as well")
        own = {name.lower() for name in self.headers}
        written = (spec.http.headers or {}).items()
        http = spec.http.but(
            headers={name: text for name, text in written if name.lower() not in own}
            | self.headers,
            oauth=None if "authorization" in own else spec.http.oauth,
            uses_login=spec.http.uses_login and "authorization" not in own,
            ca_file=self.ca_file or spec.http.ca_file,
        )
        return spec.but(http=http, secrets=(*spec.secrets, *self.secrets))

    def refuse_several(self, specs: Iterable[ServerSpec]) -> None:
        """Credentials must not be sent to any other server."""
        places = {spec.http.url: spec.name for spec in specs if spec.http}
        if len(places) > 1:
            names = ", ".join(sorted(map(visible, places.values())))
            message = f"{self.option} is for one server, and these tests have {len(places)} on HTTP"
            hint = 'say it of each in the file, with "headers" or "auth"'
            raise UsageError(f"{message}: {names}", hint)


class SuiteResources:
    """The matchers and snapshots that each file may use."""

    def __init__(
        self,
        plugins_of: Callable[[str], Iterable[PluginSpec]],
        snapshots: SnapshotMode | None = None,
        variables: Mapping[str, object] | None = None,
    ) -> None:
        self.registry = builtin_registry(
            time.time, outside=self._installed, try_schema=self._find_schema_failure
        )
        self._found: list[Matcher] | None = None
        # By the text of a schema, why it cannot be read; many tests use the same one.
        self._trials: dict[str, str] = {}
        self._plugins_of = plugins_of
        self.plugin_manager: PluginManager | None = None
        self._mode = snapshots
        self.snapshots: Snapshots | None = None
        # The variables of suites that the command line gives.
        self.variables: GivenVariables | None = None
        if variables:
            from mcptest.formats.suite.variables import GivenVariables  # noqa: PLC0415  # rare

            self.variables = GivenVariables(variables)

    def book_of(self, file: str) -> Book:
        """The snapshots of a suite."""
        from mcptest.engine.snapshots import Snapshots, choose_mode  # noqa: PLC0415  # see below

        if self.snapshots is None:
            mode = self._mode or choose_mode(update=False, force=False, environment=os.environ)
            self.snapshots = Snapshots(mode)
        return self.snapshots.book(file)

    def registry_with(self, file: str, plugins: Iterable[PluginSpec] = ()) -> Registry:
        """The matchers of a file; a suite may declare plugins of its own."""

        def declare() -> DeclaredPlugins:
            # Loaded only if a file uses a plugin.
            from mcptest.plugins.host import DeclaredPlugins, PluginManager  # noqa: PLC0415

            self.plugin_manager = self.plugin_manager or PluginManager()
            return DeclaredPlugins(self.plugin_manager, lambda: (*self._plugins_of(file), *plugins))

        return self.registry.with_plugins(declare)

    def _installed(self) -> list[Matcher]:
        """The matchers of installed packages."""
        if self._found is None:
            # Loading them takes longer than a small run.
            from mcptest.plugins.installed import installed_matchers  # noqa: PLC0415

            self._found = installed_matchers()
        return self._found

    def _find_schema_failure(self, work: Callable[[], object], text: str) -> str:
        """Why this schema cannot be read, "" when it can."""
        from mcptest.engine.judge import find_read_failure_alone  # noqa: PLC0415  # see above

        if text not in self._trials:
            self._trials[text] = find_read_failure_alone(work)
        return self._trials[text]
