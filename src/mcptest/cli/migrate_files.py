"""The files of a migration: what they are written in, their servers, and whether they load."""

from __future__ import annotations

import os

from mcptest.cli.http_options import server_command
from mcptest.cli.migrate_writing import SOURCE, needed_by_server
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.plan import ServerSpec
from mcptest.core.record import Record
from mcptest.core.text import visible
from mcptest.formats.case_turns import is_turn
from mcptest.formats.cases import load_cases
from mcptest.formats.conductor import load_conductor
from mcptest.formats.conductor_config import load_config
from mcptest.formats.document import read_document
from mcptest.formats.stream import read_stream
from mcptest.formats.suite import SuiteContext, load_suite
from mcptest.matching.tags import TAG_NAMES
from mcptest.migrate.cases_reading import read_cases
from mcptest.migrate.conductor_reading import has_captures, read_conductor
from mcptest.migrate.pattern_words import Setting
from mcptest.migrate.remarks import Remark
from mcptest.migrate.suite_servers import ServerText, suite_server
from mcptest.migrate.suite_writing import Owned
from mcptest.runner.discovery import CONFIG_NAMES, find_config, read_text
from mcptest.runner.loading import Unneeded, Wanted
from mcptest.runner.quoting import SuiteFolders
from mcptest.runner.servers import Servers, placed
from mcptest.runner.shelf import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.cli.options import Arguments
    from mcptest.core.plan import PluginSpec
    from mcptest.matching.registry import Registry
    from mcptest.migrate.drafts import Source

    Mapping = dict[str, object]

__all__ = ["OwnedFile", "Place", "owned_file", "setting_for"]


class Place:
    """Where the new files will lie, and what can be loaded from there."""

    def __init__(self, folder: str, plugins: tuple[PluginSpec, ...] = ()) -> None:
        self.folder = os.path.abspath(folder or ".")
        self._plugins = plugins
        self._shelf = Shelf(self._plugins_of)
        self._read_beside = SuiteFolders(()).reader_beside(self._name("any"))

    def _plugins_of(self, file: str) -> tuple[PluginSpec, ...]:
        wanted = Wanted(plugins=self._plugins)
        return Servers(wanted, Unneeded(os.environ), [], []).plugins_of(file)

    def registry(self, text: str = "plugin") -> Registry:
        return self._shelf.registry_for(self._name("any"), text)

    def mistake_in_suite(self, text: str) -> str:
        """The first mistake in the text of a suite that lies here, "" without any."""
        name = self._name("mcptest.yaml")
        context = SuiteContext(
            environment=Unneeded(os.environ),
            folder=self.folder,
            read_beside=self._read_beside,
            registry_with=lambda plugins: self._shelf.registry_with(name, plugins),
        )
        return _mistake(lambda: load_suite(text, name, context))

    def mistake_in_conductor(self, text: str) -> str:
        """The same for a Conductor file."""
        name = self._name("a.test.mcp.yml")
        environment = Unneeded(os.environ)
        return _mistake(
            lambda: load_conductor(text, name, self.registry(text), environment, self._read_beside)
        )

    def mistake_in_cases(self, text: str) -> str:
        """The same for a contract."""
        name = self._name("a.cases.yaml")
        environment = Unneeded(os.environ)
        return _mistake(
            lambda: load_cases(text, name, self.registry(text), environment, self._read_beside)
        )

    def _name(self, name: str) -> str:
        return os.path.join(self.folder, name)


def _mistake(load: Callable[[], object]) -> str:
    try:
        load()
    except FormatError as error:
        return next(each.message for each in error.diagnostics if each.severity == "error")
    return ""


def setting_for(file: str, place: Place, *, has_references: bool = False) -> Setting:
    """What a file is migrated with; what it names beside it is found from the new place."""
    folder = os.path.abspath(os.path.dirname(file))
    return Setting(
        registry=place.registry(),
        has_references=has_references,
        relocated=lambda name: os.path.relpath(os.path.join(folder, name), place.folder),
    )


class OwnedFile(Record):
    """A file with its server, and the files of both that must stay as they are."""

    owned: Owned
    needed: dict[str, str]


def owned_file(file: str, format: str, place: Place, arguments: Arguments) -> OwnedFile:
    """What a Conductor file or a contract holds, with its server."""
    text = read_text(file)
    if format == "cases":
        return _contract(text, file, place, arguments)
    document = read_document(text, file)
    setting = setting_for(file, place, has_references=has_captures(document.value))
    source = _with_plugins(read_conductor(document, setting), text)
    own = document.value.get("server") if isinstance(document.value, dict) else None
    server = _server_of(file, own, arguments)
    owned = Owned(source=source, server=suite_server(server, place.folder))
    return OwnedFile(owned=owned, needed=_needed(file, server))


def _needed(file: str, server: ServerText) -> dict[str, str]:
    words = server.keys.get("args")
    named = [server.keys["command"], *(words if isinstance(words, list) else [])]
    sources = dict.fromkeys([file, *([server.file] if server.file else [])], SOURCE)
    return {**needed_by_server(named, [server.cwd]), **sources}


def _with_plugins(source: Source, text: str) -> Source:
    """The same, and that a config stays what it is for those who ask plugins."""
    config = find_config(".") or find_config(os.path.dirname(source.file) or ".")
    if "match:plugin:" not in text.replace("match:not:", "match:") or not config:
        return source
    reason = f"its plugins are still declared in {config}, beside which the suite must lie"
    note = Remark(file=source.file, line=0, what="", reason=reason, is_loss=False)
    return source.but(remarks=(*source.remarks, note))


def _contract(text: str, file: str, place: Place, arguments: Arguments) -> OwnedFile:
    stream = read_stream(text, file, tags=TAG_NAMES, may_repeat=is_turn)
    contract = read_cases(stream, setting_for(file, place))
    first = stream.documents[0].value
    own = first.get("_server") if isinstance(first, dict) else None
    if isinstance(own, dict):
        name = os.path.basename(str(own.get("command")))
        own = {"name": name, "args": [], **own}
    server = _server_of(file, own, arguments)
    owned = Owned(
        source=contract.source,
        server=suite_server(server, place.folder, is_contract=True, hello=contract.hello),
    )
    return OwnedFile(owned=owned, needed=_needed(file, server))


# The server of a file


class _Given(Record):
    """The keys of a server, the file they stand in, and the folder they are seen from."""

    keys: Mapping
    file: str
    folder: str


def _server_of(file: str, own: object, arguments: Arguments) -> ServerText:
    """As in a run: the command line, the file itself, a config here, a config beside it."""
    given = _from_command_line(arguments)
    if given is None and isinstance(own, dict):
        given = _Given(keys=own, file=file, folder=os.path.dirname(file) or ".")
    if given is None:
        given = _from_config(find_config(".") or find_config(os.path.dirname(file) or "."))
    if given is None:
        raise UsageError(
            f"nothing says how the server of {visible(file)} is started",
            f"give --config FILE or --server-command, or put a {CONFIG_NAMES[0]} beside it",
        )
    spec = ServerSpec(name="", command=(), cwd=str(given.keys.get("cwd") or ""))
    return ServerText(keys=given.keys, file=given.file, cwd=placed(spec, given.folder).cwd)


def _from_command_line(arguments: Arguments) -> _Given | None:
    command = server_command(arguments)
    if command:
        name = os.path.basename(command[0])
        keys: Mapping = {"name": name, "command": command[0], "args": list(command[1:])}
        return _Given(keys=keys, file="", folder=".")
    path = arguments.last("--config")
    if path and not os.path.exists(path):
        raise UsageError(f"there is no config file {visible(path)!r}")
    return _from_config(path)


def _from_config(path: str) -> _Given | None:
    if not path:
        return None
    text = read_text(path)
    load_config(text, path, Unneeded(os.environ))
    value = read_document(text, path).value
    assert isinstance(value, dict), "it has been loaded"
    return _Given(keys=value, file=path, folder=os.path.dirname(path) or ".")
