"""What a command line of `mcptest run` asks for, word by word; bad words are usage errors."""

from __future__ import annotations

import os
import re

from mcptest.cli.http_options import (
    over_http,
    sent_along,
    server_command,
    spec_version,
    timeout_s,
)
from mcptest.cli.plugin_options import plugins
from mcptest.core.errors import UsageError
from mcptest.core.text import visible
from mcptest.runner.file_format import FORMATS
from mcptest.runner.loading import Wanted
from mcptest.runner.selection import Selection, Shard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.plan import ServerSpec
    from mcptest.core.snapshots import SnapshotMode

__all__ = [
    "file_format",
    "min_coverage",
    "parallel",
    "retries",
    "wanted",
]

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
    from mcptest.runner.snapshots import mode_of  # noqa: PLC0415  # only for those who update

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
