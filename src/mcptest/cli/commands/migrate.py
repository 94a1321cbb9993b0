"""`mcptest migrate`: convert Conductor files and contracts to a suite."""

from __future__ import annotations

import os

from mcptest.cli.options import Command, Option
from mcptest.cli.output import StandardOutput, write_note, write_stderr, write_stderr_wrapped
from mcptest.cli.report_files import check_writable, is_special, write_file
from mcptest.cli.shared_options import parse_server_command
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.plan import ServerSpec
from mcptest.core.results import ExitCode
from mcptest.core.text import plural, visible
from mcptest.engine.loading import (
    Diagnostics,
    PlaceholderEnvironment,
    Servers,
    SuiteResources,
    Wanted,
    load_suites,
    resolve_folders,
)
from mcptest.engine.test_files import (
    CONFIG_NAMES,
    SuiteFolders,
    find_config,
    find_test_files,
    format_of,
    read_text,
)
from mcptest.formats.cases import is_turn
from mcptest.formats.conductor import has_captures
from mcptest.formats.config import load_config
from mcptest.formats.suite.loader import SuiteContext, load_suite
from mcptest.formats.yaml import read_document
from mcptest.formats.yaml.stream import read_stream
from mcptest.matching.case_tags import TAG_NAMES
from mcptest.migrate.drafts import Note
from mcptest.migrate.matchers import Setting
from mcptest.migrate.sources import read_cases, read_conductor
from mcptest.migrate.suite import ServerConfig, convert_server, write_suite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.cli.options import Arguments
    from mcptest.core.plan import PluginSpec
    from mcptest.migrate.drafts import Source
    from mcptest.migrate.suite import SuiteServer

    Mapping = dict[str, object]

__all__ = ["COMMAND", "migrate"]


def migrate(arguments: Arguments) -> int:
    """Write one suite with the tests of all files; return the exit code."""
    if not arguments.paths:
        raise UsageError("mcptest migrate needs a test file", "for example a.test.mcp.yml")
    to = arguments.last("--to", "suite")
    if to != "suite":
        message = f"--to takes only suite, not {visible(to)!r}"
        raise UsageError(message, "Conductor files and contracts can be read, but not written")
    formats = {
        file: format_of(file, read_text(file))
        for file in find_test_files(arguments.paths, write_note)
    }
    for file, format in formats.items():
        if format == "suite":
            message = f"{visible(file)} is already a suite"
            raise UsageError(message, "name only Conductor files and contracts")
    target = arguments.last("--output", "-")
    target = "" if target == "-" else target
    is_suite = target.endswith((".yaml", ".yml")) and format_of(target, "servers:\n") == "suite"
    if target and not is_suite:
        message = f"{visible(target)} would not be read as a suite"
        raise UsageError(message, "for example -o mcptest.yaml")
    _refuse_mistakes(arguments)
    folder = _SuiteFolder(os.path.dirname(target))
    readers = [_SourceFile(file, format, folder, arguments) for file, format in formats.items()]
    text, notes = write_suite([(each.source, each.server) for each in readers], folder.find_mistake)
    if text and target:
        needed = {path: what for each in readers for path, what in each.needed_files().items()}
        _check_target(target, needed, force=arguments.has("--force"))
        write_file(target, text)
    elif text:
        StandardOutput().write_utf8(text)
    return _report(notes, text, target)


def _refuse_mistakes(arguments: Arguments) -> None:
    wanted = Wanted(paths=arguments.paths, config=arguments.last("--config"))
    _, mistakes, warnings = load_suites(wanted, PlaceholderEnvironment(os.environ))
    if mistakes:
        raise FormatError([*mistakes, *warnings])
    for warning in warnings:
        write_stderr_wrapped(render_diagnostic(warning) + "\n\n")


def _check_target(path: str, needed: dict[str, str], *, force: bool) -> None:
    """Refuse to replace a file that is needed, or that the user has not said may be replaced."""
    check_writable(path)
    for each, what in needed.items():
        # Links and names in other letters, on some disks, are names of the same file.
        if os.path.exists(path) and os.path.samefile(path, each):
            message = f"{visible(path)} is {what} and is not replaced"
            raise UsageError(message, "give the new file another name")
    if os.path.lexists(path) and not force:
        message = f"{visible(path)} exists already and was not changed"
        raise UsageError(message, "--force replaces it; another name with -o keeps both")
    if is_special(path):
        raise UsageError(f"cannot write {visible(path)}: it is not a regular file")


def _report(notes: Iterable[Note], text: str, target: str) -> int:
    losses = 0
    for note in sorted(notes, key=lambda note: (note.file, note.line)):
        losses += note.is_loss
        place = f"{visible(note.file)}:{note.line}" if note.line else visible(note.file)
        name = f"{visible(note.test)!r}: " if note.test else ""
        kind = "left behind" if note.is_loss else "note"
        write_stderr_wrapped(f"{kind}: {place}: {name}{visible(note.reason)}\n")
    if not text:
        write_stderr("nothing could be carried over, so nothing is written\n")
    elif target:
        write_stderr(f"wrote {visible(target)}\n")
    if losses:
        write_stderr(f"{plural(losses, 'thing')} left behind\n")
    return ExitCode.FAILED if losses else ExitCode.PASSED


class _SuiteFolder:
    """The folder of the new suite: what a suite may use there."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.abspath(folder or ".")
        self._suite = os.path.join(self.path, "mcptest.yaml")
        self._resources = SuiteResources(self._plugins_of)
        self.registry = self._resources.registry_with(self._suite, ())

    def _plugins_of(self, file: str) -> tuple[PluginSpec, ...]:
        return Servers(Wanted(), PlaceholderEnvironment(os.environ), Diagnostics()).plugins_of(file)

    def find_mistake(self, text: str) -> str:
        """Return the first mistake in the text of a suite in this folder, "" if there is none."""
        context = SuiteContext(
            environment=PlaceholderEnvironment(os.environ),
            folder=self.path,
            read_beside=SuiteFolders(()).reader_beside(self._suite),
            registry_with=lambda plugins: self._resources.registry_with(self._suite, plugins),
        )
        try:
            load_suite(text, self._suite, context)
        except FormatError as error:
            return next(each.message for each in error.diagnostics if each.severity == "error")
        return ""


class _SourceFile:
    """A Conductor file or a contract: its tests, and the server that a run would start."""

    source: Source
    server: SuiteServer

    def __init__(self, file: str, format: str, folder: _SuiteFolder, arguments: Arguments) -> None:
        self._file = file
        text = read_text(file)
        if format == "cases":
            stream = read_stream(text, file, tags=TAG_NAMES, may_repeat=is_turn)
            self.source, handshake = read_cases(stream, self._setting(folder))
            first = stream.documents[0].value
            own = first.get("_server") if isinstance(first, dict) else None
            if isinstance(own, dict):
                own = {"name": os.path.basename(str(own.get("command"))), "args": [], **own}
            self._config = _find_server(file, own, arguments)
            self.server = convert_server(self._config, folder.path, handshake=handshake)
        else:
            document = read_document(text, file)
            setting = self._setting(folder, has_references=has_captures(document.value))
            self.source = read_conductor(document, setting)
            # A suite elsewhere would not use the plugins of this config.
            config = find_config(".") or find_config(os.path.dirname(self._file) or ".")
            if config and "match:plugin:" in text.replace("match:not:", "match:"):
                reason = (
                    f"its plugins are declared in {config}, and the suite must be beside that file"
                )
                note = Note(file=self._file, line=0, test="", reason=reason, is_loss=False)
                self.source = self.source.but(notes=(*self.source.notes, note))
            own = document.value.get("server") if isinstance(document.value, dict) else None
            self._config = _find_server(file, own, arguments)
            self.server = convert_server(self._config, folder.path)

    def _setting(self, folder: _SuiteFolder, *, has_references: bool = False) -> Setting:
        here = os.path.abspath(os.path.dirname(self._file))
        return Setting(
            registry=folder.registry,
            has_references=has_references,
            relocate=lambda name: os.path.relpath(os.path.join(here, name), folder.path),
            read_beside=SuiteFolders((self._file,)).reader_beside(self._file),
        )

    def needed_files(self) -> dict[str, str]:
        """Return the files that must not be replaced, and what each of them is."""
        config = self._config
        arguments = config.keys.get("args")
        words = [
            config.keys.get("command", ""),
            *(arguments if isinstance(arguments, list) else []),
        ]
        paths = [os.path.join(config.cwd, str(word)) for word in words]
        needed = dict.fromkeys(filter(os.path.isfile, paths), "named in the command of a server")
        for path in filter(None, (self._file, config.file)):
            needed[path] = "one of the files to read"
        return needed


def _find_server(file: str, own: object, arguments: Arguments) -> ServerConfig:
    """Return the server that a run would start for a file.

    It is named on the command line, else in the file itself, else in a config in the current
    folder, else in one beside the file.
    """
    command = parse_server_command(arguments)
    if command:
        name = os.path.basename(command[0])
        keys: Mapping = {"name": name, "command": command[0], "args": list(command[1:])}
        return ServerConfig(keys=keys, file="", cwd=os.path.abspath("."))
    path = arguments.last("--config")
    if path and not os.path.exists(path):
        raise UsageError(f"there is no config file {visible(path)!r}")
    if not path and not isinstance(own, dict):
        path = find_config(".") or find_config(os.path.dirname(file) or ".")
    if path:
        text = read_text(path)
        load_config(text, path, PlaceholderEnvironment(os.environ))
        own, file = read_document(text, path).value, path
    if not isinstance(own, dict):
        raise UsageError(
            f"nothing says how to start the server of {visible(file)}",
            f"give --config FILE or --server-command, or put a {CONFIG_NAMES[0]} beside it",
        )
    spec = ServerSpec(name="", command=(), cwd=str(own.get("cwd") or ""))
    return ServerConfig(
        keys=own, file=file, cwd=resolve_folders(spec, os.path.dirname(file) or ".").cwd
    )


COMMAND = Command(
    name="mcptest migrate",
    summary="Convert Conductor files and contracts to a suite.",
    usage="mcptest migrate FILE… [-o OUT] [options]",
    details="All files become one suite. A test is carried over if a suite can make exactly the "
    "same checks. Otherwise it is left behind: standard error lists each such test with its "
    "location and the reason, and the exit code is 1. Comments are not carried over. Nothing is "
    "run.",
    options=(
        Option(
            names=("-o", "--output"),
            value="OUT",
            help="suite to write (default: standard output, with paths relative to the current "
            "folder)",
        ),
        Option(names=("--force",), help="replace the suite if it exists"),
        Option(
            names=("-c", "--config"),
            value="FILE",
            help="config that describes the server (default: the files themselves, or a config "
            "beside them)",
        ),
        Option(
            names=("--server-command",),
            value='"ARGV"',
            help="command that starts the server",
        ),
        Option(
            names=("--to",),
            value="FORMAT",
            choices=("suite",),
            help="target format: suite (the default, and the only one)",
        ),
    ),
    examples=(
        "mcptest migrate tests/*.test.mcp.yml -o mcptest.yaml",
        "mcptest migrate server.cases.yaml > mcptest.yaml",
    ),
    run=migrate,
)
