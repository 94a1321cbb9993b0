"""The options of `mcptest run` and `conductor`, and how their values are parsed."""

from __future__ import annotations

import os
import re

from mcptest.cli.options import Option
from mcptest.cli.server_options import (
    HTTP_OPTIONS,
    PLUGIN_OPTION,
    SPEC_VERSION_OPTION,
    parse_credentials,
    parse_http_server,
    parse_plugins,
    parse_server_command,
    parse_spec_version,
    parse_timeout_s,
)
from mcptest.core.errors import UsageError
from mcptest.core.text import visible
from mcptest.engine.discovery import FORMATS
from mcptest.engine.loading import Wanted
from mcptest.engine.selection import Selection, Shard
from mcptest.reporters.registry import REPORTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import SnapshotMode

__all__ = [
    "OPTIONS",
    "WATCHER_VARIABLE",
    "min_coverage",
    "parallel",
    "parse_format",
    "parse_request",
    "retries",
]


# Set in the runs of --watch: the id of the watching process. A run ends when that process ends.
WATCHER_VARIABLE = "MCPTEST_FOLLOWS"

_SERVER = (
    Option(
        names=("-c", "--config"),
        value="FILE",
        help="config that describes the server (default: conductor.config.json in the current "
        "folder)",
    ),
    Option(
        names=("--server-command",),
        value='"ARGV"',
        help="command that starts the server; split like in a shell, run without one",
    ),
    *HTTP_OPTIONS,
    SPEC_VERSION_OPTION,
    Option(
        names=("--transport-matrix",),
        help="run all tests over stdio and HTTP and in both eras of the protocol, as far as the "
        "server supports them, and report differences",
    ),
    Option(
        names=("--http-command",),
        value='"ARGV"',
        help="with --transport-matrix: command that starts the server at --url; {port} is a free "
        "port in both",
    ),
    PLUGIN_OPTION,
)

_SELECTION = (
    Option(
        names=("-k", "--filter"),
        value="TEXT",
        repeatable=True,
        help="run only tests whose name, or whose suite's name, contains this text, ignoring "
        "case; repeatable: any of the texts",
    ),
    Option(names=("--tag",), value="TAG", repeatable=True, help="run only tests with this tag"),
    Option(
        names=("--skip-tag",), value="TAG", repeatable=True, help="do not run tests with this tag"
    ),
    Option(
        names=("--format",),
        value="NAME",
        help="read all files as conductor, cases or suite (default: by name, else by content)",
    ),
    Option(
        names=("--shard",),
        value="I/N",
        help="run only part I of N of the files; every file is in exactly one part",
    ),
)

_RUNNING = (
    Option(
        names=("-j", "--parallel"),
        value="N|auto",
        help="run N files at a time, each with its own server; auto: one per core",
    ),
    Option(names=("-x", "--bail"), help="stop after the first test that does not pass"),
    Option(
        names=("--retries",),
        value="N",
        help="retry a test that does not pass up to N times; one that then passes is reported "
        "as flaky",
    ),
    Option(
        names=("--timeout",),
        value="TIME",
        help='time limit for each answer: 500, "500ms" or "2s" (default: 30s)',
    ),
    Option(
        names=("--update-snapshots",),
        help="accept the current answers as snapshots; refused in CI",
    ),
    Option(
        names=("--force-update-snapshots",),
        help="accept the current answers as snapshots, in CI too",
    ),
    Option(
        names=("--allow-not-run",),
        help="do not fail because of lanes of a suite that this version cannot run",
    ),
    Option(
        names=("--watch",),
        help="keep running: rerun the tests affected by each change, until Ctrl-C",
    ),
)

_REPORTS = (
    Option(names=("--json",), help="print the JSON report on standard output, and nothing else"),
    Option(names=("--junit",), value="FILE", help="write a JUnit XML report"),
    Option(
        names=("--reporter",),
        value="NAME[=FILE]",
        repeatable=True,
        help=f"{', '.join(REPORTERS)}; to standard output or, except terminal, to FILE; repeatable",
    ),
    Option(
        names=("--capture",), value="FILE", help="write all traffic as a capture (sessions in JSON)"
    ),
    Option(
        names=("--strict-invariants",),
        help="exit with 1 if a rule about sessions is violated (default: only report it)",
    ),
    Option(
        names=("--min-coverage",),
        value="PERCENT",
        help="exit with 6 if the tests exercise less of what the server offers",
    ),
    Option(
        names=("--server-coverage",),
        value="DIR",
        help="collect the code coverage of a Python (coverage.py) or Node (V8) server in DIR",
    ),
    Option(names=("--no-color",), help="disable colour, as NO_COLOR in the environment does"),
    Option(
        names=("-v", "--verbose"),
        help="show more: requests and answers of failing tests, folders, stderr",
    ),
)

OPTIONS = _SERVER + _SELECTION + _RUNNING + _REPORTS

_MOST_WORKERS = 256
_MOST_RETRIES = 100


def parse_request(arguments: Arguments) -> Wanted:
    """Return the files, the server and the selection that a command line asks for."""
    return Wanted(
        paths=arguments.paths,
        config=arguments.last("--config"),
        server_command=parse_server_command(arguments),
        server=_parse_server_at_url(arguments),
        sent_along=parse_credentials(arguments),
        spec_version=parse_spec_version(arguments),
        selection=Selection(
            filters=tuple(arguments.all("--filter")),
            tags=tuple(arguments.all("--tag")),
            skip_tags=tuple(arguments.all("--skip-tag")),
            shard=_parse_shard(arguments),
        ),
        timeout_s=parse_timeout_s(arguments),
        format=parse_format(arguments),
        plugins=parse_plugins(arguments),
        snapshots=_parse_snapshot_mode(arguments),
    )


def _parse_server_at_url(arguments: Arguments) -> ServerSpec | None:
    """Return the server at `--url`, or None."""
    if not arguments.has("--url"):
        return None
    if arguments.has("--config"):
        raise UsageError("--url and --config both name a server; give one of them")
    return parse_http_server(arguments, parse_server_command(arguments))


def _parse_snapshot_mode(arguments: Arguments) -> SnapshotMode | None:
    """Return the mode that the options set, or None to decide when there are snapshots."""
    update, force = arguments.has("--update-snapshots"), arguments.has("--force-update-snapshots")
    if not (update or force):
        return None
    from mcptest.engine.snapshots import mode_of  # noqa: PLC0415  # rare

    return mode_of(update, force, os.environ)


def parse_format(arguments: Arguments) -> str:
    """Return the format to read all files in, "" to detect it for each file."""
    name = arguments.last("--format")
    if arguments.has("--format") and name not in FORMATS:
        message = f"--format takes {' or '.join(FORMATS)}, not {visible(name)!r}"
        raise UsageError(message)
    return name


def parallel(arguments: Arguments) -> int | None:
    """Return how many files to run at a time: None without the option, 0 for one per core."""
    if not arguments.has("--parallel"):
        return None
    text = arguments.last("--parallel")
    if text == "auto":
        return 0
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= _MOST_WORKERS:
        message = f"--parallel takes a number from 1 to {_MOST_WORKERS} or auto"
        raise UsageError(f"{message}, not {visible(text)!r}")
    return int(text)


def retries(arguments: Arguments) -> int:
    if not arguments.has("--retries"):
        return 0
    text = arguments.last("--retries")
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) > _MOST_RETRIES:
        message = f"--retries takes a number from 0 to {_MOST_RETRIES}"
        raise UsageError(f"{message}, not {visible(text)!r}")
    return int(text)


def min_coverage(arguments: Arguments) -> float | None:
    if not arguments.has("--min-coverage"):
        return None
    text = arguments.last("--min-coverage").removesuffix("%")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", text) or not 0 < float(text) <= 100:
        message = "--min-coverage takes a number above 0 and up to 100"
        raise UsageError(f"{message}, not {visible(arguments.last('--min-coverage'))!r}")
    return float(text)


def _parse_shard(arguments: Arguments) -> Shard | None:
    if not arguments.has("--shard"):
        return None
    text = arguments.last("--shard")
    found = re.fullmatch("([0-9]{1,6})/([0-9]{1,6})", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        message = "--shard takes I/N, part I of N, such as 2/3"
        raise UsageError(f"{message}, not {visible(text)!r}", "I is from 1 to N")
    return Shard(number=int(found[1]), count=int(found[2]))
