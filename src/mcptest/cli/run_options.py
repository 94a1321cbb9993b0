"""The options of `mcptest run`, and of `conductor`, which is the same command."""

from __future__ import annotations

from mcptest.cli.http_options import HTTP_OPTIONS, SPEC_VERSION
from mcptest.cli.options import Option
from mcptest.cli.plugin_options import PLUGIN
from mcptest.reporters.registry import REPORTERS

__all__ = ["FOLLOWS", "OPTIONS"]

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
