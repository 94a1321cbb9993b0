"""`mcptest run --watch`: run once, then run again whatever a change touches.

A change of a test file runs that file; a change of anything else (the server, a config)
runs all. Each round is a process of its own, so that every round starts from nothing.
"""

from __future__ import annotations

import os

from mcptest.cli.output import complain
from mcptest.cli.run_options import FOLLOWS, wanted
from mcptest.core.errors import McptestError, UsageError
from mcptest.core.text import visible
from mcptest.engine.discovery import CONFIG_NAMES, SUITE_ENDINGS, find_suites
from mcptest.engine.loading import load_plan
from mcptest.engine.snapshots import is_snapshot_path
from mcptest.transport.process.workers import run_again

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from mcptest.cli.options import Arguments

__all__ = ["touched", "watch"]

# The library forgets what changes in the very moment of a tick, so there are few of them.
_TICK_MS = 400

# Endings of the files that servers are made of, and names without one.
_SOURCES = (
    *(".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".go", ".rs", ".java"),
    *(".kt", ".cs", ".rb", ".php", ".c", ".cc", ".cpp", ".h", ".hpp", ".swift", ".scala", ".ex"),
    *(".sh", ".lua", ".pl", ".yml", ".yaml", ".toml"),
)
_NAMES = ("package.json", "tsconfig.json", ".env")
_WRITTEN = ("--junit", "--capture", "--server-coverage")


def watch(arguments: Arguments) -> int:
    """Run until somebody presses Ctrl-C; the exit status of the last round."""
    files = _import_watchfiles()
    words = _words(arguments)
    roots, ours = _roots(arguments), _ours(arguments)
    quiet = [] if _has_own_stdout(arguments) else ["--reporter=minimal"]
    status, is_over = 0, False
    command = ["--", *arguments.command] if arguments.command else []
    rounds = files.watch(
        *roots,
        watch_filter=_filter(files, ours),
        # The first round starts once the folders are watched: a change meanwhile is not lost.
        yield_on_timeout=True,
        rust_timeout=_TICK_MS,
        raise_interrupt=True,
    )
    try:
        for number, changes in enumerate(rounds):
            if number == 0:
                status, is_over = run_again(["run", *words, *arguments.paths, *command], FOLLOWS)
                noun = "folder" if len(roots) == 1 else "folders"
                if not is_over:
                    complain(f"watching {len(roots)} {noun}; Ctrl-C ends it\n")
            elif changes:
                paths = touched([path for _, path in changes], arguments.paths)
                status, is_over = run_again(["run", *words, *quiet, *paths, *command], FOLLOWS)
            if is_over:
                break
    except KeyboardInterrupt:
        complain("\n")
    return status


def _import_watchfiles() -> Any:
    try:
        import watchfiles  # noqa: PLC0415  # for those who want it
    except ImportError:
        raise UsageError("--watch needs the package watchfiles", "pip install watchfiles") from None
    return watchfiles


def _filter(files: Any, ours: tuple[str, ...]) -> Callable[[Any, str], bool]:
    """What is a reason to run again: what people write, not what programs leave behind.

    A server that writes a log or a database into its own folder would otherwise be run for
    ever, and so would tests that write their snapshots.
    """
    usual = files.DefaultFilter(ignore_paths=ours)

    def is_wanted(change: Any, path: str) -> bool:
        name = os.path.basename(path)
        is_source = name.endswith((*SUITE_ENDINGS, *_SOURCES)) or name in (*CONFIG_NAMES, *_NAMES)
        return is_source and not is_snapshot_path(path) and bool(usual(change, path))

    return is_wanted


def touched(changed: Iterable[str], paths: Sequence[str]) -> tuple[str, ...]:
    """What to run after these files have changed: the test files among them, or all."""
    try:
        suites = {os.path.realpath(suite): suite for suite in find_suites(paths)}
    except McptestError:
        return tuple(paths)
    hit = [suites.get(os.path.realpath(path)) for path in changed]
    # What has been deleted is no test file any more, and the others are run to say so.
    return tuple(sorted(file for file in hit if file)) if all(hit) else tuple(paths)


def _words(arguments: Arguments) -> list[str]:
    """The options as they were given, but for the one that is ours."""
    words = []
    for name, values in arguments.given.items():
        if name != "--watch":
            words += [f"{name}={value}" for value in values] or [name]
    return words


def _has_own_stdout(arguments: Arguments) -> bool:
    on_stdout = [word for word in arguments.all("--reporter") if "=" not in word]
    return bool(on_stdout) or arguments.has("--json")


def _ours(arguments: Arguments) -> tuple[str, ...]:
    """What the run itself writes, and what therefore is no reason to run again."""
    files = [arguments.last(name) for name in _WRITTEN if arguments.has(name)]
    files += [word.partition("=")[2] for word in arguments.all("--reporter") if "=" in word]
    return tuple(os.path.abspath(file) for file in files)


def _roots(arguments: Arguments) -> list[str]:
    """The folders of the test files, of the config and of the server."""
    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in arguments.paths}
    folders |= {os.path.dirname(arguments.last("--config"))} if arguments.has("--config") else set()
    if not arguments.paths or any(os.path.exists(name) for name in CONFIG_NAMES):
        folders.add(".")
    try:
        plan = load_plan(wanted(arguments), os.environ)
    except McptestError:
        plan = None
    for suite, spec in plan.suites if plan else ():
        folders |= {os.path.dirname(suite.file), spec.cwd}
    roots = {os.path.realpath(folder or ".") for folder in folders}
    missing = [root for root in roots if not os.path.isdir(root)]
    if missing:
        raise UsageError(f"there is no folder {visible(missing[0])!r} to watch")
    # A folder below another one is watched with it.
    return sorted(
        root
        for root in roots
        if not any(root != other and root.startswith(other.rstrip("/") + "/") for other in roots)
    )
