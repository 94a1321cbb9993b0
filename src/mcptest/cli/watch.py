"""`mcptest run --watch`: run once, then rerun the tests affected by each change.

A change of a test file reruns that file; a change of another file (the server, a config) reruns
all tests. Each run is a new process, so that no state is carried over.
"""

from __future__ import annotations

import os

from mcptest.cli.output import write_stderr
from mcptest.cli.run_options import WATCHER_VARIABLE, parse_request
from mcptest.core.errors import McptestError, UsageError
from mcptest.core.text import plural, visible
from mcptest.engine.discovery import CONFIG_NAMES, SUITE_ENDINGS, find_suites
from mcptest.engine.loading import load_plan
from mcptest.engine.snapshots import is_snapshot_path
from mcptest.transport.process.workers import run_again

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from mcptest.cli.options import Arguments

__all__ = ["find_affected", "watch"]

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
    files = _import_watchfiles()
    options = _render_options(arguments)
    roots, outputs = _roots(arguments), _output_files(arguments)
    quiet = [] if _has_own_stdout(arguments) else ["--reporter=minimal"]
    status, is_over = 0, False
    command = ["--", *arguments.command] if arguments.command else []
    rounds = files.watch(
        *roots,
        watch_filter=_filter(files, outputs),
        # The first run starts when the folders are watched, so that no change is missed.
        yield_on_timeout=True,
        rust_timeout=_TICK_MS,
        raise_interrupt=True,
    )
    try:
        for number, changes in enumerate(rounds):
            if number == 0:
                words = ["run", *options, *arguments.paths, *command]
                status, is_over = run_again(words, WATCHER_VARIABLE)
                if not is_over:
                    write_stderr(f"watching {plural(len(roots), 'folder')}; Ctrl-C ends it\n")
            elif changes:
                paths = find_affected([path for _, path in changes], arguments.paths)
                words = ["run", *options, *quiet, *paths, *command]
                status, is_over = run_again(words, WATCHER_VARIABLE)
            if is_over:
                break
    except KeyboardInterrupt:
        write_stderr("\n")
    return status


def _import_watchfiles() -> Any:
    try:
        import watchfiles  # noqa: PLC0415  # optional dependency
    except ImportError:
        raise UsageError("--watch needs the package watchfiles", "pip install watchfiles") from None
    return watchfiles


def _filter(files: Any, outputs: tuple[str, ...]) -> Callable[[Any, str], bool]:
    """Return a filter for changes that cause a rerun: source files, not files that programs write.

    Otherwise a server that writes a log or a database into its own folder, or tests that write
    snapshots, would cause endless reruns.
    """
    usual = files.DefaultFilter(ignore_paths=outputs)

    def is_wanted(change: Any, path: str) -> bool:
        name = os.path.basename(path)
        is_source = name.endswith((*SUITE_ENDINGS, *_SOURCES)) or name in (*CONFIG_NAMES, *_NAMES)
        return is_source and not is_snapshot_path(path) and bool(usual(change, path))

    return is_wanted


def find_affected(changed: Iterable[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths to rerun after a change: the changed test files, or all paths."""
    try:
        suites = {os.path.realpath(suite): suite for suite in find_suites(paths)}
    except McptestError:
        return tuple(paths)
    hit = [suites.get(os.path.realpath(path)) for path in changed]
    # A deleted file is not a test file any more, so all are run.
    return tuple(sorted(file for file in hit if file)) if all(hit) else tuple(paths)


def _render_options(arguments: Arguments) -> list[str]:
    """Return the options as they were given, without `--watch`."""
    words = []
    for name, values in arguments.given.items():
        if name != "--watch":
            words += [f"{name}={value}" for value in values] or [name]
    return words


def _has_own_stdout(arguments: Arguments) -> bool:
    on_stdout = [word for word in arguments.all("--reporter") if "=" not in word]
    return bool(on_stdout) or arguments.has("--json")


def _output_files(arguments: Arguments) -> tuple[str, ...]:
    """Return the files that the run itself writes, which must not cause a rerun."""
    files = [arguments.last(name) for name in _OUTPUT_OPTIONS if arguments.has(name)]
    files += [word.partition("=")[2] for word in arguments.all("--reporter") if "=" in word]
    return tuple(os.path.abspath(file) for file in files)


def _roots(arguments: Arguments) -> list[str]:
    """Return the folders of the test files, of the config and of the server."""
    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in arguments.paths}
    folders |= {os.path.dirname(arguments.last("--config"))} if arguments.has("--config") else set()
    if not arguments.paths or any(os.path.exists(name) for name in CONFIG_NAMES):
        folders.add(".")
    try:
        plan = load_plan(parse_request(arguments), os.environ)
    except McptestError:
        plan = None
    for suite, spec in plan.suites if plan else ():
        folders |= {os.path.dirname(suite.file), spec.cwd}
    roots = {os.path.realpath(folder or ".") for folder in folders}
    missing = [root for root in roots if not os.path.isdir(root)]
    if missing:
        raise UsageError(f"there is no folder {visible(missing[0])!r} to watch")
    # Subfolders are watched with their parent.
    return sorted(
        root
        for root in roots
        if not any(root != other and root.startswith(other.rstrip("/") + "/") for other in roots)
    )
