"""The options of `mcptest run`, and of `conductor`, which is the same command."""

from __future__ import annotations

import os
import re

from mcptest.cli.options import Option
from mcptest.cli.server_options import (
    HTTP_OPTIONS,
    PLUGIN,
    SPEC_VERSION,
    over_http,
    plugins,
    sent_along,
    server_command,
    spec_version,
    timeout_s,
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

__all__ = ["FOLLOWS", "OPTIONS", "file_format", "min_coverage", "parallel", "retries", "wanted"]


# Set for a round of a watch: names the process whose end is the round's end as well.
FOLLOWS = "MCPTEST_FOLLOWS"

_SERVER = (
    Option(
        names=("-c", "--config"),
        value="FILE",
        help="how to start the server; default: conductor.config.json in this folder",
    ),
    Option(
        names=("--server-command",),
        value='"ARGV"',
        help="start the server with this command instead; split like a shell would, "
        "run without one",
    ),
    *HTTP_OPTIONS,
    SPEC_VERSION,
    Option(
        names=("--transport-matrix",),
        help="run everything over stdio and HTTP and in both eras of the protocol, as far as the "
        "server has them, and say in what they differ",
    ),
    Option(
        names=("--http-command",),
        value='"ARGV"',
        help="with --transport-matrix: starts the server at --url; {port} is a free port in both",
    ),
    PLUGIN,
)

_SELECTION = (
    Option(
        names=("-k", "--filter"),
        value="TEXT",
        repeatable=True,
        help="only tests whose name, or whose suite's name, holds this text; case is ignored; "
        "given again, any of the texts will do",
    ),
    Option(names=("--tag",), value="TAG", repeatable=True, help="only tests with this tag"),
    Option(names=("--skip-tag",), value="TAG", repeatable=True, help="no tests with this tag"),
    Option(
        names=("--format",),
        value="NAME",
        help="read all files as conductor, cases or suite; default: by name, else by their text",
    ),
    Option(
        names=("--shard",),
        value="I/N",
        help="only part I of N of the files; every file is in exactly one part",
    ),
)

_RUNNING = (
    Option(
        names=("-j", "--parallel"),
        value="N|auto",
        help="run N files at a time, each with its own server; auto: as many as there are cores",
    ),
    Option(names=("-x", "--bail"), help="stop after the first test that does not pass"),
    Option(
        names=("--retries",),
        value="N",
        help="try a test that does not pass up to N times more; one that then passes is "
        "reported as flaky",
    ),
    Option(
        names=("--timeout",),
        value="TIME",
        help='longest wait for one answer, as 500, "500ms" or "2s"; default 30s',
    ),
    Option(
        names=("--update-snapshots",),
        help="accept what the tests bring as their snapshots; refused in CI",
    ),
    Option(
        names=("--force-update-snapshots",),
        help="accept them in CI, too",
    ),
    Option(
        names=("--allow-not-run",),
        help="a lane of a suite that this version cannot run does not fail the run",
    ),
    Option(
        names=("--watch",),
        help="stay, and run again what is touched by a change of a file; Ctrl-C ends it",
    ),
)

_REPORTS = (
    Option(names=("--json",), help="print the JSON report, and nothing else, on standard output"),
    Option(names=("--junit",), value="FILE", help="write a JUnit XML report"),
    Option(
        names=("--reporter",),
        value="NAME[=FILE]",
        repeatable=True,
        help=f"{', '.join(REPORTERS)}; to standard output or, except terminal, to FILE; "
        "may be repeated",
    ),
    Option(
        names=("--capture",), value="FILE", help="write all traffic as a capture (JSON sessions)"
    ),
    Option(
        names=("--strict-invariants",),
        help="exit with 1 when a rule about whole sessions is broken; otherwise it is only shown",
    ),
    Option(
        names=("--min-coverage",),
        value="PERCENT",
        help="exit with 6 when the tests exercise less of what the server offers",
    ),
    Option(
        names=("--server-coverage",),
        value="DIR",
        help="have a server in Python (coverage.py) or Node (V8) write its code coverage there",
    ),
    Option(names=("--no-color",), help="no colour; NO_COLOR in the environment does the same"),
    Option(
        names=("-v", "--verbose"),
        help="show more: what was sent and answered in tests that fail, folders, stderr",
    ),
)

OPTIONS = _SERVER + _SELECTION + _RUNNING + _REPORTS


# What a command line of `mcptest run` asks for, word by word; bad words are usage errors.


_MOST_WORKERS = 256
_MOST_RETRIES = 100


def wanted(arguments: Arguments) -> Wanted:
    """The files, the server and the selection."""
    return Wanted(
        paths=arguments.paths,
        config=arguments.last("--config"),
        server_command=server_command(arguments),
        server=_server_at_url(arguments),
        sent_along=sent_along(arguments),
        spec_version=spec_version(arguments),
        selection=Selection(
            filters=tuple(arguments.all("--filter")),
            tags=tuple(arguments.all("--tag")),
            skip_tags=tuple(arguments.all("--skip-tag")),
            shard=_shard(arguments),
        ),
        timeout_s=timeout_s(arguments),
        format=file_format(arguments),
        plugins=plugins(arguments),
        snapshots=_snapshot_mode(arguments),
    )


def _server_at_url(arguments: Arguments) -> ServerSpec | None:
    """The server that `--url` names; None when there is no such option."""
    if not arguments.has("--url"):
        return None
    if arguments.has("--config"):
        raise UsageError("--url and --config both name a server; give one of them")
    return over_http(arguments, server_command(arguments))


def _snapshot_mode(arguments: Arguments) -> SnapshotMode | None:
    """What happens to snapshots; None to see when there are some."""
    update, force = arguments.has("--update-snapshots"), arguments.has("--force-update-snapshots")
    if not (update or force):
        return None
    from mcptest.engine.snapshots import mode_of  # noqa: PLC0415  # only for those who update

    return mode_of(update, force, os.environ)


def file_format(arguments: Arguments) -> str:
    """The format that all files are to be read in, "" to see for each."""
    name = arguments.last("--format")
    if arguments.has("--format") and name not in FORMATS:
        message = f"--format takes {' or '.join(FORMATS)}, not {visible(name)!r}"
        raise UsageError(message)
    return name


def parallel(arguments: Arguments) -> int | None:
    """How many files at a time: None when nobody asked, 0 for as many as there are cores."""
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


def _shard(arguments: Arguments) -> Shard | None:
    if not arguments.has("--shard"):
        return None
    text = arguments.last("--shard")
    found = re.fullmatch("([0-9]{1,6})/([0-9]{1,6})", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        message = "--shard takes I/N, part I of N, such as 2/3"
        raise UsageError(f"{message}, not {visible(text)!r}", "I is from 1 to N")
    return Shard(number=int(found[1]), count=int(found[2]))
