"""From file names to a plan: read everything, and report every mistake in one go."""

from __future__ import annotations

import os
from functools import partial

from mcptest.core.errors import FormatError, NothingSelectedError, UsageError
from mcptest.core.plan import PluginSpec, ServerSpec, Suite
from mcptest.core.record import Record
from mcptest.core.secrets import redactor
from mcptest.core.text import visible
from mcptest.formats.conductor import load_conductor
from mcptest.runner.discovery import CONFIG_NAMES, find_config, find_suites, read_text
from mcptest.runner.file_format import format_of
from mcptest.runner.quoting import SuiteFolders
from mcptest.runner.selection import Selection, describe_shard, select
from mcptest.runner.servers import Servers, Unneeded
from mcptest.runner.shelf import Shelf
from mcptest.wire.cpu_limit import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import NoReturn

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import ReportedShard
    from mcptest.core.snapshots import SnapshotMode
    from mcptest.matching.registry import Registry
    from mcptest.plugins.desk import PluginDesk
    from mcptest.runner.sent_along import SentAlong
    from mcptest.runner.snapshots import Snapshots

    Loader = Callable[
        [str, str, Registry, Mapping[str, str], Callable[[str], str]],
        tuple[Suite, tuple[Diagnostic, ...]],
    ]

# How long a regular expression may compute while a text is made up for it.
_PATTERN_LIMIT = CpuLimit(1.0)

__all__ = ["Plan", "Unneeded", "Wanted", "load_plan", "load_suites"]


class Wanted(Record):
    """What the user asked for, as they wrote it."""

    paths: tuple[str, ...] = ()
    # Whether a search found these paths; the user did not write them.
    is_found: bool = False
    config: str = ""
    server_command: tuple[str, ...] = ()
    server: ServerSpec | None = None
    sent_along: SentAlong | None = None
    spec_version: str = ""
    selection: Selection = Selection()
    timeout_s: float | None = None
    format: str = ""
    plugins: tuple[PluginSpec, ...] = ()
    snapshots: SnapshotMode | None = None
    # Whether whoever runs a case looks after what the environment has not for it.
    is_chosen_later: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether no test of the files is left out."""
        return self.selection.but(shard=None) == Selection()

    def folders(self) -> SuiteFolders:
        """The folders whose files messages may quote."""
        return SuiteFolders((*self.paths, self.config), is_found=self.is_found)


class Plan(Record):
    """Everything a run needs to know; nothing has been started yet.

    `gated_files` are all files of each suite with gates, those of other shards among them.
    """

    suites: tuple[tuple[Suite, ServerSpec], ...]
    warnings: tuple[Diagnostic, ...] = ()
    plugins: PluginDesk | None = None
    snapshots: Snapshots | None = None
    is_whole: bool = True
    gated_files: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  # nothing of a record changes
    shard: ReportedShard | None = None

    @property
    def total(self) -> int:
        return sum(len(suite.cases) for suite, _ in self.suites)

    def with_servers(self, change: Callable[[ServerSpec], ServerSpec]) -> Plan:
        """The same plan with every server changed; those that were one stay one."""
        changed = {id(spec): change(spec) for _, spec in self.suites}
        return self.but(suites=tuple((suite, changed[id(spec)]) for suite, spec in self.suites))

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(secret for _, spec in self.suites for secret in spec.secrets)


def load_plan(wanted: Wanted, environment: Mapping[str, str]) -> Plan:
    """Load all files, pick the cases that are wanted, and give each suite its server."""
    folders = wanted.folders()
    with folders:
        plan = _load_plan(wanted, environment, folders)
    return plan.but(warnings=tuple(folders.quotable(plan.warnings)))


def _load_plan(wanted: Wanted, environment: Mapping[str, str], folders: SuiteFolders) -> Plan:
    mistakes: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    servers = Servers(wanted, environment, mistakes, warnings)
    shelf = Shelf(servers.plugins_of, wanted.snapshots)
    # Where the command line names the server, what files say of theirs need not be complete.
    is_named = bool(wanted.server_command or wanted.config or wanted.server)
    known = Unneeded(environment) if is_named else environment
    files = find_suites(wanted.paths)
    # A suite says more of the environment than how its servers are started.
    shelf.environment = environment
    suites = _load_all(files, known, mistakes, warnings, wanted.format, shelf, folders)
    specs = {_key(suite): servers.server_of(suite, suites) for suite in suites}
    if mistakes:
        raise FormatError(mistakes)
    if wanted.sent_along:
        wanted.sent_along.refuse_several(spec for spec in specs.values() if spec)
        # Those that were one stay one.
        changed = {id(spec): wanted.sent_along.to(spec) for spec in specs.values() if spec}
        specs = {key: changed[id(spec)] if spec else None for key, spec in specs.items()}
    asked = wanted.selection.shard
    shard = describe_shard(suites, wanted.selection, asked) if asked else None
    try:
        selected = select(suites, wanted.selection)
    except NothingSelectedError as error:
        error.shard = shard
        raise
    if not wanted.is_chosen_later:
        _refuse_unset(selected)
    paired = [(suite, specs[_key(suite)] or _no_server(suite)) for suite in selected]
    plan = Plan(
        suites=tuple(paired),
        warnings=tuple(warnings),
        plugins=shelf.desk,
        snapshots=shelf.snapshots,
        is_whole=wanted.is_whole,
        gated_files=_gated_files(suites),
        shard=shard,
    )
    if shelf.snapshots:
        shelf.snapshots.redact = redactor(plan.secrets)
    return plan


def _gated_files(suites: Iterable[Suite]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for suite in suites:
        if suite.gates:
            found.setdefault(suite.home, {})[suite.file] = None
    return {home: tuple(files) for home, files in found.items()}


def _refuse_unset(suites: Iterable[Suite]) -> None:
    """What the environment does not have is missed by those that are run, and by nobody else."""
    users: dict[Diagnostic, str] = {}
    for suite in suites:
        for case in suite.cases:
            for need in case.needs if case.skip is None else ():
                users.setdefault(need, case.name)
    if users:
        told = ((need, f"{visible(name)!r} uses it") for need, name in users.items())
        raise FormatError([need.but(help=f"{used}: {need.help}") for need, used in told])


def _key(suite: Suite) -> tuple[str, str, str]:
    """What tells suites apart: a file may need several servers, and be imported by several."""
    return suite.home, suite.file, suite.server.name if suite.server else ""


def load_suites(
    wanted: Wanted, environment: Mapping[str, str]
) -> tuple[list[Suite], list[Diagnostic], list[Diagnostic]]:
    """The suites, mistakes and warnings in the files that the paths name.

    Each is read in the format that its name or its text shows, unless one is given.
    """
    mistakes: list[Diagnostic] = []
    warnings: list[Diagnostic] = []

    servers: list[Servers] = []

    def plugins_of(file: str) -> tuple[PluginSpec, ...]:
        # A config is read only for those who ask for a plugin, and once.
        if not servers:
            servers.append(Servers(wanted, Unneeded(environment), mistakes, []))
        return servers[0].plugins_of(file)

    folders = wanted.folders()
    with folders:
        files = find_suites(wanted.paths)
        shelf = Shelf(plugins_of)
        suites = _load_all(files, environment, mistakes, warnings, wanted.format, shelf, folders)
    # Nothing is run here, so that it is not set does no harm.
    needs = (need for suite in suites for case in suite.cases for need in case.needs)
    warnings += (need.but(severity="warning") for need in dict.fromkeys(needs))
    return suites, folders.quotable(mistakes), folders.quotable(warnings)


def _load_all(
    files: Iterable[str],
    environment: Mapping[str, str],
    mistakes: list[Diagnostic],
    warnings: list[Diagnostic],
    format: str,
    shelf: Shelf,
    folders: SuiteFolders,
) -> list[Suite]:
    suites: list[Suite] = []
    # By what their names lead to: those that run by themselves, and those that others import.
    homes: set[str] = set()
    imported: set[str] = set()
    for file in files:
        if imported and os.path.realpath(file) in imported:
            continue
        try:
            text = read_text(file)
            format_here = format or format_of(file, text)
            read_beside = folders.reader_beside(file)
            found, slips = _load(text, file, format_here, environment, shelf, read_beside)
        except FormatError as error:
            mistakes += error.diagnostics
        else:
            imports = {os.path.realpath(each.file): each.file for each in found if _is_import(each)}
            # What runs by itself already is not run again for whoever imports it.
            known = {name for real, name in imports.items() if real in homes}
            suites += [suite for suite in found if suite.file not in known]
            homes |= {os.path.realpath(file)} if any(suite.home for suite in found) else set()
            imported |= imports.keys()
            warnings += slips
    return suites


def _is_import(suite: Suite) -> bool:
    return suite.home not in ("", suite.file)


def _load(
    text: str,
    file: str,
    format: str,
    environment: Mapping[str, str],
    shelf: Shelf,
    read_beside: Callable[[str], str],
) -> tuple[list[Suite], tuple[Diagnostic, ...]]:
    if format != "suite":
        load = _loader_of(format)
        registry = shelf.registry_for(file, text)
        suite, slips = load(text, file, registry, environment, read_beside)
        return [suite], slips
    # Nobody else pays for the reader of suites.
    from mcptest.formats.suite import SuiteContext, load_suite  # noqa: PLC0415

    context = SuiteContext(
        environment=environment if shelf.environment is None else shelf.environment,
        folder=os.path.abspath(os.path.dirname(file)),
        read_beside=read_beside,
        registry_with=lambda plugins: shelf.registry_with(file, plugins),
        book_of=shelf.book_of,
        real_path=os.path.realpath,
    )
    return load_suite(text, file, context)


def _loader_of(format: str) -> Loader:
    if format != "cases":
        return load_conductor
    # Nobody else pays for the reader of whole streams of YAML.
    from mcptest.formats.cases import load_cases  # noqa: PLC0415

    return partial(load_cases, bounded=_PATTERN_LIMIT)


def _no_server(suite: Suite) -> NoReturn:
    block = (
        "a _server: key into its first document"
        if suite.format == "cases"
        else ("a server: block into it")
    )
    above = _config_above(suite.file)
    raise UsageError(
        f"no server to test {visible(suite.file)} against",
        f"there is {visible(above)}: give --config {visible(above)}"
        if above
        else f"give --config FILE or --server-command, put a {CONFIG_NAMES[0]} in this folder or "
        f"beside the test file, or {block}",
    )


def _config_above(file: str) -> str:
    """The config in one of the folders above a file; it is named, and not used unasked."""
    folder = os.path.dirname(os.path.abspath(file))
    while not (found := find_config(folder)) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return found and os.path.relpath(found)
