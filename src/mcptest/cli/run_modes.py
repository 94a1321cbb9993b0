"""Other ways to run: `mcptest run --watch` and `--transport-matrix`."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile

from mcptest.cli.output import (
    is_terminal,
    write_note,
    write_stderr,
)
from mcptest.cli.shared_options import (
    SHOWN_VARIABLE,
    WATCHER_VARIABLE,
    parse_command,
    parse_http_server,
    parse_wanted,
)
from mcptest.core.errors import FormatError, McptestError, UsageError
from mcptest.core.secrets import redactor
from mcptest.core.text import plural, visible
from mcptest.core.value_class import Record
from mcptest.engine.loading import PlaceholderEnvironment, load_plan
from mcptest.engine.matrix import Transport, run_matrix
from mcptest.engine.snapshots import is_snapshot_path
from mcptest.engine.test_files import CONFIG_NAMES, SUITE_ENDINGS, find_test_files
from mcptest.formats.config import default_startup_s
from mcptest.reporters.style import Paint, totals
from mcptest.transport.process.workers import run_again

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any, Self

    from mcptest.cli.options import Arguments
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Listener, RunFinished
    from mcptest.core.plan import ServerSpec
    from mcptest.engine.loading import Plan, Wanted
    from mcptest.engine.run import RunOptions
    from mcptest.engine.server import Launcher
    from mcptest.protocol.capture import SessionCapture

    Members = dict[str, Any]

__all__ = ["ShownBefore", "TransportMatrix", "find_affected", "watch"]


# `mcptest run --watch`: again whenever a file changes.

# watchfiles can miss changes at the moment of a tick, so ticks are rare.
_TICK_MS = 400

# Endings and names of files that servers consist of.
_SOURCES = (
    *(".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".go", ".rs", ".java"),
    *(".kt", ".cs", ".rb", ".php", ".c", ".cc", ".cpp", ".h", ".hpp", ".swift", ".scala", ".ex"),
    *(".sh", ".lua", ".pl", ".yml", ".yaml", ".toml"),
)
_NAMES = ("package.json", "tsconfig.json", ".env")
_OUTPUT_OPTIONS = ("--junit", "--capture", "--server-coverage")


def watch(arguments: Arguments) -> int:
    """Run until Ctrl-C; return the exit code of the last run."""
    try:
        import watchfiles as files  # noqa: PLC0415  # optional dependency
    except ImportError:
        raise UsageError("--watch needs the package watchfiles", "pip install watchfiles") from None
    options = arguments.words(name for name in arguments.given if name != "--watch")
    used = _UsedFiles(arguments)
    roots, outputs = _roots(arguments, used), _output_files(arguments)
    status, is_over = 0, False
    command = ["--", *arguments.command] if arguments.command else []
    rounds = files.watch(
        *roots,
        watch_filter=_filter(files, outputs, used.rows),
        # The first run starts when the folders are watched, so that no change is missed.
        yield_on_timeout=True,
        rust_timeout=_TICK_MS,
        raise_interrupt=True,
    )
    with tempfile.NamedTemporaryFile(prefix="mcptest-") as shown:
        os.environ[SHOWN_VARIABLE] = shown.name
        try:
            for number, changes in enumerate(rounds):
                if number and not changes:
                    continue
                changed = [path for _, path in changes]
                paths = find_affected(changed, arguments.paths) if number else arguments.paths
                words = ["run", *options, *paths, *command]
                status, is_over = run_again(words, WATCHER_VARIABLE)
                if is_over:
                    break
                if number:
                    # A test may name another file of rows now, or another server.
                    used.read()
                    _note_unwatched(used, roots)
                if number == 0:
                    write_stderr(f"watching {plural(len(roots), 'folder')}; Ctrl-C ends it\n")
        except KeyboardInterrupt:
            write_stderr("\n")
    return status


def _note_unwatched(used: _UsedFiles, roots: list[str]) -> None:
    """Name each folder that came into use after the watch began, and add it to the roots."""
    for folder in sorted(map(os.path.realpath, used.folders)):
        if os.path.isdir(folder) and not _is_below(folder, roots):
            roots.append(folder)
            how = "not watched until mcptest is started again"
            write_note(f"the folder {visible(folder)}, which tests use now, is {how}")


class ShownBefore:
    """The warnings and notes that earlier rounds of a watch have shown, kept in a file.

    A warning that went away and comes back is shown again.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            with open(path, encoding="utf-8") as file:
                self._shown: list[list[object]] = json.load(file)
        except (OSError, ValueError):
            # The first round.
            self._shown = []

    def new_warnings(
        self, warnings: Sequence[Diagnostic], files: Iterable[str]
    ) -> tuple[Diagnostic, ...]:
        """Those that were not shown yet, of the warnings in these files."""
        counts: dict[tuple[str, ...], int] = {}
        found: list[list[object]] = []
        for each in warnings:
            # Without the line, which changes with every line above it.
            key = (each.file, each.code, each.message)
            counts[key] = counts.get(key, 0) + 1
            found.append([*key, counts[key]])
        new = [each for each, key in zip(warnings, found, strict=True) if key not in self._shown]
        read = {*files, *(each.file for each in warnings)}
        self._keep([key for key in self._shown if key[0] not in read] + found)
        return tuple(new)

    def note(self, text: str) -> None:
        """Write a note, unless it was written before."""
        key: list[object] = ["", text]
        if key not in self._shown:
            self._keep([*self._shown, key])
            write_note(text)

    def _keep(self, shown: list[list[object]]) -> None:
        self._shown = shown
        with contextlib.suppress(OSError), open(self._path, "w", encoding="utf-8") as file:
            json.dump(shown, file)


class _UsedFiles:
    """The folders of the tests and of their servers, and the files of rows (`each`)."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self.folders: set[str] = set()
        self.rows: set[str] = set()
        self.read()

    def read(self) -> None:
        """Read the test files again; what they used before is kept."""
        try:
            # The first round shows its notes.
            plan = load_plan(parse_wanted(self._arguments).but(note=None), os.environ)
        except FormatError as error:
            # One of them may be a file of rows, which is about to be corrected.
            self._add_rows(each.file for each in error.diagnostics)
            return
        except McptestError:
            return
        for suite, spec in plan.suites:
            self.folders |= {os.path.dirname(suite.file), spec.cwd}
            self._add_rows(suite.row_files)

    def _add_rows(self, files: Iterable[str]) -> None:
        paths = {os.path.realpath(file) for file in files}
        self.rows |= paths
        self.folders |= {os.path.dirname(path) for path in paths}


def _filter(
    files: Any, outputs: tuple[str, ...], rows: Collection[str] = ()
) -> Callable[[Any, str], bool]:
    """Return a filter for changes that cause a rerun: source files, not files that programs write.

    Otherwise a server that writes a log or a database into its own folder, or tests that write
    snapshots, would cause endless reruns.
    """
    usual = files.DefaultFilter(ignore_paths=outputs)

    def is_wanted(change: Any, path: str) -> bool:
        name = os.path.basename(path)
        is_source = name.endswith((*SUITE_ENDINGS, *_SOURCES)) or name in (*CONFIG_NAMES, *_NAMES)
        is_source = is_source or (bool(rows) and os.path.realpath(path) in rows)
        return is_source and not is_snapshot_path(path) and bool(usual(change, path))

    return is_wanted


def find_affected(changed: Iterable[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths to rerun after a change: the changed test files, or all paths."""
    try:
        suites = {os.path.realpath(suite): suite for suite in find_test_files(paths)}
    except McptestError:
        return tuple(paths)
    hit = [suites.get(os.path.realpath(path)) for path in changed]
    # A deleted file is not a test file any more, so all are run.
    return tuple(sorted(file for file in hit if file)) if all(hit) else tuple(paths)


def _output_files(arguments: Arguments) -> tuple[str, ...]:
    """Return the files that the run itself writes, which must not cause a rerun."""
    files = [arguments.last(name) for name in _OUTPUT_OPTIONS if arguments.has(name)]
    files += [word.partition("=")[2] for word in arguments.all("--reporter") if "=" in word]
    return tuple(os.path.abspath(file) for file in files)


def _roots(arguments: Arguments, used: _UsedFiles) -> list[str]:
    """Return the folders of the test files, of the config, of the server and of rows."""
    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in arguments.paths}
    folders |= {os.path.dirname(arguments.last("--config"))} if arguments.has("--config") else set()
    if not arguments.paths or any(os.path.exists(name) for name in CONFIG_NAMES):
        folders.add(".")
    roots = {os.path.realpath(folder or ".") for folder in folders | used.folders}
    missing = [root for root in roots if not os.path.isdir(root)]
    if missing:
        raise UsageError(f"there is no folder {visible(missing[0])!r} to watch")
    # Subfolders are watched with their parent.
    return sorted(root for root in roots if not _is_below(root, roots - {root}))


def _is_below(path: str, folders: Iterable[str]) -> bool:
    """True for one of these folders, and for what is in them."""
    return any(path == each or path.startswith(each.rstrip("/") + "/") for each in folders)


# `mcptest run --transport-matrix`: how the server is reached over stdio and over HTTP.


_NO_PAINT = Paint(on=False)

# Options about the server on HTTP; the other options are about the server on stdio.
_OVER_HTTP = ("--url", "--bearer-env", "--header-env", "--ca-file")

_REFUSED_BY_MATRIX = {
    "--spec-version": "tries both eras of the protocol, and --spec-version selects one revision",
    "--watch": "runs all tests several times, and --watch runs the tests affected by a change",
    "--update-snapshots": "compares all runs with the same snapshots; update them without it",
    "--force-update-snapshots": "compares all runs with the same snapshots; update them without it",
}


class TransportMatrix(Record):
    """The transports of a command line: stdio as in other runs, HTTP as in `http`.

    With `is_of_file`, `http` comes from a test file or config, and the command line names the
    command for stdio.
    """

    wanted: Wanted
    http: ServerSpec | None = None
    is_of_file: bool = False

    @classmethod
    def of(cls, arguments: Arguments) -> Self:
        """Parse a command line; raise a `UsageError` for options that contradict each other."""
        if not arguments.has("--transport-matrix"):
            message = "--http-command starts the HTTP side of --transport-matrix; give both"
            raise UsageError(message, "without it, --server-command starts the server at --url")
        for option, why in _REFUSED_BY_MATRIX.items():
            if arguments.has(option):
                raise UsageError(f"--transport-matrix {why}", f"leave {option} out")
        http = _http_side(arguments)
        if http:
            given = {name: each for name, each in arguments.given.items() if name not in _OVER_HTTP}
            return cls(wanted=parse_wanted(arguments.but(given=given)), http=http)
        wanted = parse_wanted(arguments)
        beside = _http_of_file(wanted) if wanted.server_command else None
        wanted = wanted.but(sent_along=None) if beside else wanted
        return cls(wanted=wanted, http=beside, is_of_file=beside is not None)

    def load(self, environment: Mapping[str, str]) -> Plan:
        """Load the plan for the first transport; raise a `UsageError` if it has several servers."""
        plan = self._load(environment)
        # Time limits do not distinguish servers.
        servers = {
            (
                spec.command,
                spec.http and spec.http.url,
                spec.cwd,
                tuple(sorted((spec.env or {}).items())),
                spec.inherit_env,
            ): spec
            for _, spec in plan.suites
        }
        if len(servers) > 1:
            names = ", ".join(sorted({visible(spec.name) for spec in servers.values()}))
            message = f"--transport-matrix is for one server, and these tests have {len(servers)}"
            raise UsageError(f"{message}: {names}", "choose the tests of one of them")
        if self.http and (secrets := self.http.secrets):
            plan = plan.with_servers(lambda spec: spec.but(secrets=(*spec.secrets, *secrets)))
            if plan.snapshots:
                plan.snapshots.redact = redactor(plan.secrets)
        return plan

    def _load(self, environment: Mapping[str, str]) -> Plan:
        wanted = self.wanted
        try:
            return load_plan(wanted, environment)
        except UsageError:
            if self.http is None or wanted.server_command or wanted.config:
                raise
        # Maybe only because there is no server for stdio; other errors are raised again.
        at_url = wanted.but(server=self.http, server_command=self.http.command)
        return load_plan(at_url, environment)

    def transports(self, plan: Plan) -> tuple[Transport, ...]:
        """Return the transports over which the server of the plan can be reached."""
        found = []
        is_on_http = plan.suites[0][1].http is not None
        if not is_on_http:
            found.append(Transport(name="stdio", change=lambda spec: spec))
        if self.http:
            found.append(Transport(name="http", change=self._to_http))
        elif is_on_http:
            found.append(Transport(name="http", change=lambda spec: spec))
        return tuple(found)

    def run(
        self,
        plan: Plan,
        options_for: Callable[[Plan], RunOptions],
        launcher: Launcher,
        emit: Listener,
    ) -> tuple[RunFinished, list[SessionCapture]]:
        """Run the plan in every combination."""
        return run_matrix(
            plan, self.transports(plan), options_for, launcher, emit, _print_way_totals
        )

    def _to_http(self, spec: ServerSpec) -> ServerSpec:
        """Return a server of the plan, reached over HTTP."""
        assert self.http
        if self.is_of_file:
            return self.http.but(
                name=spec.name,
                secrets=spec.secrets,
                isolation=spec.isolation,
                startup_timeout_s=self.wanted.startup_timeout_s or self.http.startup_timeout_s,
            )
        command = self.http.command
        startup_s = default_startup_s(command[0]) if command else 0.0
        return spec.but(
            http=self.http.http,
            command=command,
            cwd=os.getcwd(),
            # It belongs to the server on stdio; this one may never print it.
            ready_pattern="",
            startup_timeout_s=self.wanted.startup_timeout_s
            or max(spec.startup_timeout_s, startup_s),
        )


def _http_side(arguments: Arguments) -> ServerSpec | None:
    """Return the server at `--url`, with the command that starts it, or None."""
    command = parse_command(arguments, "--http-command")
    if not arguments.has("--url"):
        if command:
            raise UsageError("--http-command starts the server at --url; give --url as well")
        return None
    if "{port}" in arguments.last("--url") and not command:
        message = "{port} in --url is a port that is chosen for the server, and nothing starts it"
        raise UsageError(message, 'give --http-command "ARGV" with {port} in it as well')
    return parse_http_server(arguments, command).but(command=command)


def _http_of_file(wanted: Wanted) -> ServerSpec | None:
    """Return the server on HTTP that the files describe, or None; the command line has stdio."""
    wanted = wanted.but(server_command=())
    try:
        plan = load_plan(wanted, PlaceholderEnvironment(os.environ))
    except McptestError:
        # The files need not describe a server; other mistakes are reported when they are loaded.
        return None
    if not any(spec.http for _, spec in plan.suites):
        return None
    return load_plan(wanted, os.environ).suites[0][1]


def _print_way_totals(plan: Plan, finished: RunFinished) -> None:
    """Progress for the log of a long run."""
    if not is_terminal():
        name = visible(plan.suites[0][1].name)
        write_stderr(f"{name}: {totals(finished.summary, finished.duration_s, _NO_PAINT)}\n")
