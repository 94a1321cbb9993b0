"""`mcptest discover`: write a test file for everything that a server offers.

The features that the server lists are tried if that cannot do harm. The answers become a test file,
which is loaded and run once before it is written: tests that do not pass a second time are skipped
in it, with the reason. Both tries together have a time limit, half of it each.
"""

from __future__ import annotations

import math
import os
import sys
import textwrap
import time
from itertools import zip_longest

from mcptest.cli.one_server import print_note, use_server
from mcptest.cli.options import Command, Option
from mcptest.cli.output import StandardOutput, write_stderr
from mcptest.cli.report_files import check_writable, write_file
from mcptest.cli.shared_options import (
    SERVER_DETAILS,
    SERVER_OPTIONS,
    VERBOSE_OPTION,
    choose_server,
    find_server_file,
    parse_seconds,
)
from mcptest.core.coverage import KINDS
from mcptest.core.errors import InterruptedRunError, ServerError, UsageError
from mcptest.core.events import CaseFinished, CaseStarted
from mcptest.core.results import ExitCode
from mcptest.core.text import excerpt, list_names, plural, visible
from mcptest.core.value_class import Record
from mcptest.engine.loading import Plan
from mcptest.engine.run import RunOptions, run_plan
from mcptest.engine.test_files import (
    CONDUCTOR_ENDINGS,
    is_client_config,
    is_suite_name,
    read_text,
)
from mcptest.explore.credentials import CredentialHider
from mcptest.explore.discover import Probe, Surveyor, render_suite
from mcptest.explore.safe_tools import reason_not_to_call
from mcptest.formats.conductor import load_conductor
from mcptest.formats.yaml import read_document
from mcptest.matching.registry import builtin_registry
from mcptest.protocol.lists import Listing, is_declared, list_features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from mcptest.cli.options import Arguments
    from mcptest.core.coverage import Kind
    from mcptest.core.events import Event
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import CaseResult
    from mcptest.engine.pool import SingleServer
    from mcptest.engine.server import Launcher

    Message = dict[str, Any]

__all__ = [
    "COMMAND",
    "VERBOSE_WITH_CALLS_OPTION",
    "DiscoverOptions",
    "build_verified_suite",
    "discover",
    "report_discovered",
    "with_short_timeout",
]

# Shorter than in a run: a slow call is not a good first test.
_TIMEOUT_S = 5.0
_TOTAL_S = 60.0

_MAX_NAMED = 10
_MAX_TOOLS_NAMED = 40


class DiscoverOptions(Record):
    """Which tools are called, and how long all requests together may take.

    With `names_all`, every tool that is called is named on standard error, however many there are.
    `variables` are the values of references that the file will have.
    """

    calls_tools: bool = True
    calls_unannotated: bool = False
    names_all: bool = False
    total_s: float = _TOTAL_S
    variables: dict[str, str] = {}  # noqa: RUF012  # nothing of a record changes

    def list_calls(self, verb: str, names: Sequence[str], count: int, end: str = "") -> str:
        """A sentence with the names of the tools that are called, in lines of 80 columns."""
        listed = list_names(
            [excerpt(name, 60) for name in names],
            len(names) if self.names_all else _MAX_TOOLS_NAMED,
        )
        sentence = (
            f"{verb} {len(names)} of {plural(count, 'tool')}{': ' if names else ''}{listed}{end}"
        )
        return textwrap.fill(
            sentence, 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )

    def reason_not_to_call(self, tool: Message) -> str:
        if not self.calls_tools:
            return "--no-calls was given"
        return reason_not_to_call(tool, calls_unannotated=self.calls_unannotated)


class _Discovered(Record):
    """The text of the file, its tests, and the tools that were called to make them."""

    text: str
    probes: tuple[Probe, ...]
    called: tuple[str, ...]
    tool_count: int

    @property
    def has_uncalled(self) -> bool:
        return len(self.called) < self.tool_count


def discover(arguments: Arguments) -> int:
    """Write tests for the features of a server; return the exit code."""
    if arguments.paths:
        message = f"mcptest discover takes no {visible(arguments.paths[0])!r}"
        raise UsageError(message, "the command that starts the server comes after --")
    if arguments.has("--no-calls") and arguments.has("--call-unannotated"):
        raise UsageError("--no-calls and --call-unannotated exclude each other; give one of them")
    target = _target(arguments)
    total_s = parse_seconds(arguments, "--total-timeout") or _TOTAL_S
    spec = with_short_timeout(choose_server(arguments), arguments, total_s)
    hider = CredentialHider(os.environ, os.path.isfile)
    block = _server_block(arguments, spec, target, hider)
    values = {name: found.value for name, found in hider.found.items()}
    options = DiscoverOptions(
        calls_tools=not arguments.has("--no-calls"),
        calls_unannotated=arguments.has("--call-unannotated"),
        names_all=arguments.has("--verbose"),
        total_s=total_s,
        variables=values,
    )
    # Whatever the server says is written without them, too.
    spec = spec.but(secrets=(*spec.secrets, *values.values()))

    def work(visit: SingleServer, launcher: Launcher) -> int:
        if visit.stateless_revision and block is not None:
            # Spares each run of the file a handshake that the server refuses.
            block["protocolVersion"] = visit.stateless_revision
        file = target or "discovered.test.mcp.yml"
        found = build_verified_suite(visit, launcher, file, block, options)
        if target:
            write_file(target, found.text)
        else:
            StandardOutput().write_utf8(found.text)
        words = ""
        if block is None:
            words = f" --config {visible(find_server_file(arguments))}"
            words += f" --server {visible(arguments.last('--server'))}" * arguments.has("--server")
        report_discovered(found, options, target, words)
        if words and not target:
            print_note(f"the file does not name its server: run it with{words}")
        for credential in hider.found.values():
            print_note(visible(credential.note))
        return ExitCode.PASSED

    return use_server(arguments, spec, work)


def with_short_timeout(
    spec: ServerSpec, arguments: Arguments, total_s: float = _TOTAL_S
) -> ServerSpec:
    """Return the server with a short timeout, unless the user has set one."""
    limit_s = spec.timeout_s if arguments.has("--timeout") else _TIMEOUT_S
    return spec.but(timeout_s=min(limit_s, total_s))


def _target(arguments: Arguments) -> str:
    """Return the file to write, "" for standard output; refuse existing files and bad names."""
    path = arguments.last("--output", "-")
    if path == "-":
        return ""
    if not path:
        raise UsageError("the name of the test file is empty", "for example -o server.test.mcp.yml")
    if not path.endswith(CONDUCTOR_ENDINGS):
        raise UsageError(
            f"{visible(path)} would not be found as a test file; their names end in "
            f"{CONDUCTOR_ENDINGS[0]}",
            f"for example -o {visible(path.partition('.')[0] or 'server')}{CONDUCTOR_ENDINGS[0]}",
        )
    if os.path.lexists(path) and not arguments.has("--force"):
        message = f"{visible(path)} exists already and was not changed"
        raise UsageError(message, "--force replaces it; another name with -o keeps both")
    check_writable(path)
    return path


def _server_block(
    arguments: Arguments, spec: ServerSpec, target: str, hider: CredentialHider
) -> Message | None:
    """Return the keys under `server:`: those of the config, or the command and its folder.

    None if the config is that of another program: its values are secrets, and stay there.
    """
    config = find_server_file(arguments)
    if config and is_client_config(config, read_text(config)):
        return None
    block: Message = {"name": spec.name}
    if spec.command:
        block |= {"command": spec.command[0], "args": list(spec.command[1:])}
    if arguments.has("--url"):
        block["url"] = arguments.last("--url")
    if config and not is_suite_name(config):
        written = read_document(read_text(config), config).value
        assert isinstance(written, dict), "the config has been loaded before"
        block |= {key: value for key, value in written.items() if value is not None}
    hide: dict[str, Callable[[Any], object]] = {
        "args": hider.hide_args,
        "env": hider.hide_env,
        "headers": hider.hide_headers,
        "url": hider.hide_url,
    }
    block |= {key: hide[key](value) for key, value in block.items() if key in hide}
    if spec.http:
        block |= _http_keys(arguments, block.get("headers"))
    if spec.spec_version:
        block["protocolVersion"] = spec.spec_version
    block.pop("cwd", None)
    folder = os.path.relpath(spec.cwd, os.path.dirname(os.path.abspath(target)))
    if target and folder != "." and spec.command:
        block["cwd"] = folder
    return block


def _http_keys(arguments: Arguments, written: object) -> Message:
    """Return headers and credentials of a server on HTTP, as references to variables."""
    found: Message = {}
    words = (word.partition("=") for word in arguments.all("--header-env"))
    headers = {header: f"${{{name}}}" for header, _, name in words}
    if headers:
        found["headers"] = (written if isinstance(written, dict) else {}) | headers
    if arguments.has("--bearer-env"):
        found["auth"] = {"bearerTokenEnv": arguments.last("--bearer-env")}
    if arguments.has("--ca-file"):
        found["caFile"] = os.path.abspath(arguments.last("--ca-file"))
    return found


def build_verified_suite(
    visit: SingleServer,
    launcher: Launcher,
    file: str,
    block: Mapping[str, object] | None,
    options: DiscoverOptions,
) -> _Discovered:
    """Return a test file whose tests have passed or are skipped."""
    began, total_s = time.monotonic(), options.total_s
    half_s = total_s / 2
    visit.deadline = began + total_s

    def left_s() -> float:
        return began + half_s - time.monotonic()

    def out_of_time() -> str:
        limit = f"{half_s:g} s, half of --total-timeout"
        return "" if left_s() > 0 else f"not tried: the time for all requests ({limit}) was over"

    declared = [kind for kind in KINDS.values() if is_declared(kind, visit.capabilities)]
    listings = {kind.name: _list_kind(visit, kind, left_s, total_s) for kind in declared}
    for listing in listings.values():
        if listing.problem:
            print_note(f"{listing.kind.name}: {listing.problem}")
    counts: list[int] = []

    def announce(names: list[str], count: int) -> None:
        counts.append(count)
        write_stderr(options.list_calls("calling", names, count) + "\n")

    surveyor = Surveyor(
        visit.attempt,
        visit.capabilities,
        lambda: visit.unfinished,
        out_of_time=out_of_time,
        caution=options.reason_not_to_call,
        announce=announce,
    )
    probes = surveyor.survey(listings)
    for each in surveyor.notes:
        print_note(each)
    visit.close()
    name = visit.server_info.get("name")
    description = _writable(name) if isinstance(name, str) and name else visit.spec.name
    if block is not None and not visit.spec.is_named:
        block = {**block, "name": description}
    text = render_suite(description, block, probes)
    plan = _load(text, file, visit.spec, options.variables)
    results = visit.redact(_results(plan, launcher, began + total_s))
    probes = [
        probe if probe.skip else _after_second_try(probe, result, total_s)
        for probe, result in zip_longest(probes, results)
    ]
    text = render_suite(description, block, probes)
    _load(text, file, visit.spec, options.variables)
    return _Discovered(
        text=text,
        probes=tuple(probes),
        called=tuple(surveyor.called),
        tool_count=sum(counts),
    )


def _list_kind(
    visit: SingleServer, kind: Kind, left_s: Callable[[], float], total_s: float
) -> Listing:
    """List one kind in half of the time; a list that is not answered in all of it has a problem."""
    try:
        return list_features(visit.ask, kind, left_s, total_s / 2)
    except ServerError as error:
        if error.fault.kind != "timeout" or time.monotonic() < visit.deadline:
            raise
        limit = f"the time for all requests ({total_s:g} s, --total-timeout) was over"
        return Listing(kind=kind, problem=f"{kind.method} was not answered before {limit}")


def _writable(name: str) -> str:
    """Return the name of a server without references to variables, to be written to a file."""
    return excerpt(name, 100).replace("${", "{")


class _OutOfTimeError(Exception):
    """There is no time to run the rest of the file."""


class _Countdown:
    """Raises _OutOfTimeError once after the deadline: then the server is stopped in order."""

    def __init__(self, deadline: float, show_progress: Callable[[], None] | None) -> None:
        self._deadline = deadline
        self._show_progress = show_progress

    def tick(self) -> None:
        """Called every now and then while an answer is awaited."""
        if self._show_progress:
            self._show_progress()
        self.check()

    def check(self) -> None:
        if time.monotonic() > self._deadline:
            self._deadline = math.inf
            raise _OutOfTimeError


def _results(plan: Plan, launcher: Launcher, deadline: float) -> list[CaseResult]:
    """Run the file like `mcptest run`, until the deadline, and return the results."""
    results: list[CaseResult] = []
    countdown = _Countdown(deadline, launcher.while_waiting)

    def listen(event: Event) -> None:
        if isinstance(event, CaseStarted):
            countdown.check()
        if isinstance(event, CaseFinished):
            results.append(event.result)

    try:
        bounded = launcher.but(while_waiting=countdown.tick)
        finished, _ = run_plan(plan, RunOptions(started_at=""), bounded, listen)
    except _OutOfTimeError:
        return results
    if finished.interrupted:
        raise InterruptedRunError
    if finished.fault:
        raise ServerError(finished.fault)
    return results


def _load(text: str, file: str, spec: ServerSpec, variables: Mapping[str, str]) -> Plan:
    # Variables that the file refers to have their values from the config or the command line.
    environment = {**(spec.env or {}), **os.environ, **variables}
    suite, _ = load_conductor(text, file, builtin_registry(), environment)
    return Plan(suites=((suite, spec.but(is_named=True)),))


def _after_second_try(probe: Probe, result: CaseResult | None, total_s: float) -> Probe:
    if result is None:
        late = f"not tried a second time: {total_s:g} s (--total-timeout) were over"
        return probe.but(skip=late, is_untried=True)
    if result.status == "passed":
        return probe
    if result.fault:
        said = excerpt(result.fault.message, 200)
        return probe.but(skip=f"a second try ended in {result.fault.kind}: {said}")
    where = result.mismatches[0]
    reason = f"a second try was answered differently: {where.path} {where.message}"
    return probe.but(skip=excerpt(reason, 300))


def report_discovered(
    found: _Discovered, options: DiscoverOptions, target: str, server: str = ""
) -> None:
    """Report what is in the file, and what is not; `target` is "" for standard output.

    `server` are the options that name the server, each after a space, if the file does not.
    """
    skipped = [probe for probe in found.probes if probe.skip]
    where = f"wrote {visible(target)}: " if target else ""
    # Overwrites the progress line.
    start = "\r\x1b[K" if sys.stderr.isatty() else ""
    count = plural(len(found.probes), "test")
    lines = [f"{start}{where}{count}, {len(skipped)} of them skipped with a reason"]
    if found.tool_count:
        others = "; the file says why not the others" if found.has_uncalled else ""
        lines.append(options.list_calls("called", found.called, found.tool_count, others))
    broken = [probe for probe in skipped if probe.problem]
    if broken:
        is_one = len(broken) == 1
        what = "1 answer looks" if is_one else f"{len(broken)} answers look"
        whose = "its test is" if is_one else "their tests are"
        lines.append(f"{what} as if the server were broken or not set up; {whose} skipped:")
        lines += [f"  {probe.name}: {probe.problem}" for probe in broken[:_MAX_NAMED]]
        if len(broken) > _MAX_NAMED:
            lines.append(f"  and {len(broken) - _MAX_NAMED} more")
    late = [probe.name for probe in skipped if probe.is_untried]
    is_all_skipped = len(skipped) == len(found.probes)
    if late and is_all_skipped:
        limit = f"all requests together have {options.total_s:g} s"
        lines.append(f"no test was completed before the time was over: {limit}")
        lines.append("  give them more with --total-timeout")
    elif late:
        lines.append(f"{plural(len(late), 'test')} not tried: {list_names(late, _MAX_NAMED)}")
        lines.append(f"  all requests together have {options.total_s:g} s; see --total-timeout")
    deaths = sum(1 for probe in skipped if "exited_during_call" in probe.skip)
    if deaths:
        lines.append(f"{plural(deaths, 'call')} ended the server: look for exited_during_call")
    if target and not is_all_skipped:
        lines.append(f"run them: mcptest run {visible(target)}{server}")
    write_stderr("\n".join(lines) + "\n")


VERBOSE_WITH_CALLS_OPTION = Option(
    names=VERBOSE_OPTION.names,
    help="show what the server writes to stderr, and the names of all tools that are called "
    f"(otherwise {_MAX_TOOLS_NAMED})",
)

COMMAND = Command(
    name="mcptest discover",
    summary="Write a test file for everything a server offers.",
    usage="mcptest discover [-o FILE] [options] [-- COMMAND…]",
    details="Features are tried if that cannot do harm, and the answers become tests that pass. "
    "A tool is called if its readOnlyHint is true, or, without hints, if its name begins with a "
    "verb that reads (get, list, search, …) and neither its name nor its description says "
    f"otherwise. All others are skipped in the file, with the reason. {SERVER_DETAILS}",
    options=(
        Option(
            names=("-o", "--output"),
            value="FILE",
            help="test file to write, *.test.mcp.yml (default: standard output)",
        ),
        Option(names=("--force",), help="replace the file if it exists"),
        Option(
            names=("--call-unannotated",),
            help="also call tools without hints whose names do not begin with a verb that reads; "
            "never those with destructiveHint true or readOnlyHint false, nor those with a verb of "
            "harm (delete, write, send, run, pay, …) in name, title or description",
        ),
        Option(names=("--no-calls",), help="call no tool at all; resources and prompts are read"),
        Option(
            names=("--total-timeout",),
            value="SECONDS",
            help='time limit for all requests together: 30, "500ms" or "2m"; what is not tried by '
            "then is skipped in the file (default: 60)",
        ),
        *(option for option in SERVER_OPTIONS if option is not VERBOSE_OPTION),
        VERBOSE_WITH_CALLS_OPTION,
    ),
    examples=(
        "mcptest discover -o server.test.mcp.yml -- python3 server.py",
        "mcptest discover --config conductor.config.json > server.test.mcp.yml",
    ),
    run=discover,
    takes_command=True,
)
