"""`mcptest report`: render a saved run, or merge several into one."""

from __future__ import annotations

import glob
import os
import stat
import sys

from mcptest.cli.main import status_of_kind
from mcptest.cli.options import COLOR_OPTIONS, Command, Option
from mcptest.cli.reports import Reports, split_target
from mcptest.cli.shared_options import parse_min_coverage
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError, McptestError, NothingSelectedError, UsageError
from mcptest.core.results import exit_code_of
from mcptest.core.text import visible
from mcptest.engine.run import RunOptions, apply_gates
from mcptest.engine.test_files import read_now
from mcptest.reporters.registry import REPORTERS
from mcptest.reporters.run_model import merge_runs
from mcptest.reporters.saved import read_saved_run
from mcptest.transport import OPEN_FLAGS, utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.cli.options import Arguments
    from mcptest.core.events import RunFinished
    from mcptest.reporters.run_model import CollectedRun

__all__ = ["COMMAND", "report"]

_MERGE = "merge"
_STDIN = "-"

# A report is read into memory whole.
_MAX_REPORT_BYTES = 256 * 1024 * 1024
_TOO_LARGE = f"it is larger than {_MAX_REPORT_BYTES:,} bytes, too large for a report"


def report(arguments: Arguments) -> int:
    """Read and render the report or reports; return the exit code of the run."""
    is_merge = arguments.paths[:1] == (_MERGE,)
    files = _expand_globs(arguments.paths[1:] if is_merge else arguments.paths)
    if not files:
        raise UsageError(
            "mcptest report needs the file of a JSON report",
            "write one with: mcptest run … --reporter json=RUN.json",
        )
    if len(files) > 1 and not is_merge:
        raise UsageError(
            f"mcptest report takes one report, not {len(files)}",
            "mcptest report merge A.json B.json … makes one of several",
        )
    allow_missing = arguments.has("--allow-missing")
    if allow_missing and not is_merge:
        raise UsageError("--allow-missing is an option of mcptest report merge")
    wanted = parse_min_coverage(arguments)
    reports = _reports(arguments, files)
    try:
        runs = _read(files)
        run = merge_runs(runs, allow_missing=allow_missing) if is_merge else runs[0][1]
        run.last = apply_gates(run.finished, RunOptions(started_at="", min_coverage=wanted))
    except McptestError as error:
        now = utc_now()
        reports.write_failure(error, now, json_on_stdout=True)
        raise
    # Secrets were blanked when the report was written.
    reports.open(())
    for event in run.replay():
        reports.emit(event)
    reports.close({})
    return reports.exit_status(_status(run.finished))


def _expand_globs(paths: Sequence[str]) -> list[str]:
    """The files that are named, globs expanded."""
    files: list[str] = []
    for path in paths:
        if path == _STDIN or os.path.exists(path) or not glob.has_magic(path):
            files.append(path)
            continue
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            raise NothingSelectedError(f"no file matches {visible(path)}")
        files += matches
    return files


def _reports(arguments: Arguments, files: Sequence[str]) -> Reports:
    words = arguments.all("--format")
    targets = [file for _, file in (split_target(word, "--format") for word in words)]
    if arguments.has("--output"):
        targets.append(arguments.last("--output"))
        words = [*words, f"json={arguments.last('--output')}"]
    read = {os.path.realpath(file): file for file in files}
    for target in targets:
        if target and os.path.realpath(target) in read:
            message = f"{visible(target)} is one of the files to read; it would be replaced"
            raise UsageError(message, "give the new report another name")
    shown = ("--color", "--no-color", "--verbose")
    kept = {name: arguments.all(name) for name in shown if arguments.has(name)}
    return Reports(arguments.but(paths=(), given={**kept, "--reporter": words}), all_logs=True)


def _read(files: Sequence[str]) -> list[tuple[str, CollectedRun]]:
    runs: list[tuple[str, CollectedRun]] = []
    mistakes: list[Diagnostic] = []
    for file in files:
        try:
            runs.append((file, read_saved_run(_text_of(file), file)))
        except FormatError as error:
            mistakes += error.diagnostics
    if mistakes:
        raise FormatError(mistakes)
    return runs


def _text_of(file: str) -> str:
    try:
        if file == _STDIN:
            raw = sys.stdin.buffer.read(_MAX_REPORT_BYTES + 1)
            if len(raw) > _MAX_REPORT_BYTES:
                raise UsageError(f"cannot read standard input: {_TOO_LARGE}")
        else:
            raw = _read_regular(file)
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {visible(file)}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        message = f"this is not UTF-8: byte {error.start + 1:,} does not belong there"
        raise FormatError([Diagnostic(code="F002", file=file, message=message)]) from None


def _read_regular(file: str) -> bytes:
    """The bytes of a regular file; reading a pipe or a device might never end."""
    # Opened without blocking before its type is checked: it may have become a pipe.
    with open(os.open(file, os.O_RDONLY | OPEN_FLAGS), "rb") as source:
        if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
            raise UsageError(
                f"cannot read {visible(file)}: it is not a regular file",
                "what comes through a pipe is read from standard input: mcptest report -",
            )
        raw = read_now(source, _MAX_REPORT_BYTES + 1)
    if len(raw) > _MAX_REPORT_BYTES:
        raise UsageError(f"cannot read {visible(file)}: {_TOO_LARGE}")
    return raw


def _status(finished: RunFinished) -> int:
    """The exit status of the run: a job that renders or merges it must fail, too."""
    fault = finished.fault
    known = status_of_kind(fault.kind) if fault is not None else None
    return exit_code_of(finished) if known is None else known


COMMAND = Command(
    name="mcptest report",
    summary="Render a saved run, or merge several into one.",
    usage="mcptest report [merge] RUN.json… [options]",
    details="RUN.json is a JSON report, a quoted glob, or - for standard input. merge combines "
    "several reports of different test files, such as the shards of a build matrix; all parts of a "
    "sharded run are required, each once. The exit code is that of the run, or of all runs.",
    options=(
        Option(
            names=("--format",),
            value="NAME[=FILE]",
            choices=tuple(REPORTERS),
            repeatable=True,
            help="reporter, as for mcptest run --reporter (default: terminal)",
        ),
        Option(names=("-o", "--output"), value="FILE", help="write the run as a JSON report"),
        Option(
            names=("--allow-missing",),
            help="merge even if parts of a sharded run are missing; the result lists them",
        ),
        Option(
            names=("--min-coverage",),
            value="PERCENT",
            help="exit with 6 if the tests exercise less of what the servers offer",
        ),
        *COLOR_OPTIONS,
        Option(
            names=("-v", "--verbose"),
            help="show more details of failing tests, as far as the report has them",
        ),
    ),
    examples=(
        "mcptest report run.json",
        "mcptest report run.json --format html=run.html --format junit=run.xml",
        'mcptest report merge "shards/*.json" -o run.json --format markdown=summary.md',
    ),
    words=("merge",),
    run=report,
)
