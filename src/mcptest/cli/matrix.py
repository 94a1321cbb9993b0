"""`mcptest run --transport-matrix`: what the command line says of the ways to the server."""

from __future__ import annotations

import os
import shlex

from mcptest.cli.output import is_terminal, write_stderr
from mcptest.cli.run_options import parse_request
from mcptest.cli.server_options import over_http
from mcptest.core.errors import McptestError, UsageError
from mcptest.core.record import Record
from mcptest.core.secrets import redactor
from mcptest.core.text import visible
from mcptest.engine.loading import PlaceholderEnvironment, load_plan
from mcptest.engine.matrix import Transport, run_matrix
from mcptest.formats.config import default_startup_s
from mcptest.reporters.style import Paint
from mcptest.reporters.summary import totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from mcptest.cli.options import Arguments
    from mcptest.core.events import Listener, RunFinished
    from mcptest.core.plan import ServerSpec
    from mcptest.engine.loading import Plan, Wanted
    from mcptest.engine.run import RunOptions
    from mcptest.engine.server import Launcher
    from mcptest.protocol.capture import SessionCapture

__all__ = ["TransportMatrix"]

_NO_PAINT = Paint(on=False)

# What says where the server on HTTP is; the rest of the command line is about the other one.
_OVER_HTTP = ("--url", "--bearer-env", "--header-env", "--ca-file")

_REFUSED = {
    "--spec-version": "tries both eras of the protocol, and --spec-version picks one revision",
    "--watch": "runs everything several times, and --watch runs what a change touches",
    "--update-snapshots": "compares every way with the same snapshots; update them without it",
    "--force-update-snapshots": "compares every way with the same snapshots; update them "
    "without it",
}


class TransportMatrix(Record):
    """The ways that a command line asks for: over stdio as ever, over HTTP as `http` says.

    With `is_of_file` that is the server of a file, of which the command line names another way.
    """

    parse_request: Wanted
    http: ServerSpec | None = None
    is_of_file: bool = False

    @classmethod
    def of(cls, arguments: Arguments) -> Self:
        """A `UsageError` where the command line does not go together."""
        if not arguments.has("--transport-matrix"):
            message = "--http-command starts the HTTP side of --transport-matrix; give both"
            raise UsageError(message, "without it, --server-command starts the server at --url")
        for option, why in _REFUSED.items():
            if arguments.has(option):
                raise UsageError(f"--transport-matrix {why}", f"leave {option} out")
        http = _http_side(arguments)
        if http:
            given = {name: each for name, each in arguments.given.items() if name not in _OVER_HTTP}
            return cls(wanted=parse_request(arguments.but(given=given)), http=http)
        asked = parse_request(arguments)
        beside = _http_of_file(asked) if asked.server_command else None
        asked = asked.but(sent_along=None) if beside else asked
        return cls(wanted=asked, http=beside, is_of_file=beside is not None)

    def load(self, environment: Mapping[str, str]) -> Plan:
        """The plan as it is for the first transport; it may have one server."""
        plan = self._load(environment)
        servers = {_identity(spec): spec for _, spec in plan.suites}
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
        asked = self.wanted
        try:
            return load_plan(asked, environment)
        except UsageError:
            if self.http is None or asked.server_command or asked.config:
                raise
        # Nobody names a server for stdio; whatever else is wrong is still wrong.
        at_url = asked.but(server=self.http, server_command=self.http.command)
        return load_plan(at_url, environment)

    def transports(self, plan: Plan) -> tuple[Transport, ...]:
        """The transports over which the server of the plan can be had."""
        found = []
        is_on_http = plan.suites[0][1].http is not None
        if not is_on_http:
            found.append(Transport(name="stdio", change=lambda spec: spec))
        if self.http:
            found.append(Transport(name="http", change=self._moved))
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
        """Run the plan in all ways."""
        return run_matrix(
            plan, self.transports(plan), options_for, launcher, emit, _print_way_totals
        )

    def _moved(self, spec: ServerSpec) -> ServerSpec:
        """A server of the plan, reached as the command line says of HTTP."""
        assert self.http
        if self.is_of_file:
            named = {"name": spec.name, "secrets": spec.secrets, "isolation": spec.isolation}
            return self.http.but(**named)
        command = self.http.command
        startup_s = default_startup_s(command[0]) if command else 0.0
        return spec.but(
            http=self.http.http,
            command=command,
            cwd=os.getcwd(),
            # It is of the other one, and may never come from this one.
            ready_pattern="",
            startup_timeout_s=max(spec.startup_timeout_s, startup_s),
        )


def _identity(spec: ServerSpec) -> tuple[object, ...]:
    """What makes a server another one; how long it is waited for does not."""
    env = tuple(sorted((spec.env or {}).items()))
    return spec.command, spec.http and spec.http.url, spec.cwd, env, spec.inherit_env


def _http_side(arguments: Arguments) -> ServerSpec | None:
    """The server at `--url`, with the command that starts it; None without that option."""
    command = _http_command(arguments)
    if not arguments.has("--url"):
        if command:
            raise UsageError("--http-command starts the server at --url; give --url as well")
        return None
    if "{port}" in arguments.last("--url") and not command:
        message = "{port} in --url is a port that is chosen for the server, and nothing starts it"
        raise UsageError(message, 'give --http-command "ARGV" with {port} in it as well')
    return over_http(arguments, command).but(command=command)


def _http_of_file(asked: Wanted) -> ServerSpec | None:
    """The server on HTTP that the files describe, where the command line says how on stdio."""
    asked = asked.but(server_command=())
    try:
        plan = load_plan(asked, PlaceholderEnvironment(os.environ))
    except McptestError:
        # They need not describe any; what is wrong with the tests is told when they are loaded.
        return None
    if not any(spec.http for _, spec in plan.suites):
        return None
    return load_plan(asked, os.environ).suites[0][1]


def _http_command(arguments: Arguments) -> tuple[str, ...]:
    if not arguments.has("--http-command"):
        return ()
    try:
        words = tuple(shlex.split(arguments.last("--http-command")))
    except ValueError as error:
        raise UsageError(f"--http-command cannot be split: {error}") from None
    if not words:
        raise UsageError("--http-command is empty")
    return words


def _print_way_totals(plan: Plan, finished: RunFinished) -> None:
    """In a log, show how far a run in several ways is."""
    if not is_terminal():
        name = visible(plan.suites[0][1].name)
        write_stderr(f"{name}: {totals(finished.summary, finished.duration_s, _NO_PAINT)}\n")
