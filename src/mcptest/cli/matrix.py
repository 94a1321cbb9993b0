"""`mcptest run --transport-matrix`: how the server is reached over stdio and over HTTP."""

from __future__ import annotations

import os

from mcptest.cli.output import is_terminal, write_stderr
from mcptest.cli.run_options import parse_request
from mcptest.cli.server_options import parse_command, parse_http_server
from mcptest.core.errors import McptestError, UsageError
from mcptest.core.record import Record
from mcptest.core.secrets import redactor
from mcptest.core.text import visible
from mcptest.engine.loading import PlaceholderEnvironment, load_plan
from mcptest.engine.matrix import Transport, run_matrix
from mcptest.formats.config import default_startup_s
from mcptest.reporters.style import Paint, totals

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

# Options about the server on HTTP; the other options are about the server on stdio.
_OVER_HTTP = ("--url", "--bearer-env", "--header-env", "--ca-file")

_REFUSED = {
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

    request: Wanted
    http: ServerSpec | None = None
    is_of_file: bool = False

    @classmethod
    def of(cls, arguments: Arguments) -> Self:
        """Parse a command line; raise a `UsageError` for options that contradict each other."""
        if not arguments.has("--transport-matrix"):
            message = "--http-command starts the HTTP side of --transport-matrix; give both"
            raise UsageError(message, "without it, --server-command starts the server at --url")
        for option, why in _REFUSED.items():
            if arguments.has(option):
                raise UsageError(f"--transport-matrix {why}", f"leave {option} out")
        http = _http_side(arguments)
        if http:
            given = {name: each for name, each in arguments.given.items() if name not in _OVER_HTTP}
            return cls(request=parse_request(arguments.but(given=given)), http=http)
        asked = parse_request(arguments)
        beside = _http_of_file(asked) if asked.server_command else None
        asked = asked.but(sent_along=None) if beside else asked
        return cls(request=asked, http=beside, is_of_file=beside is not None)

    def load(self, environment: Mapping[str, str]) -> Plan:
        """Load the plan for the first transport; raise a `UsageError` if it has several servers."""
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
        asked = self.request
        try:
            return load_plan(asked, environment)
        except UsageError:
            if self.http is None or asked.server_command or asked.config:
                raise
        # Maybe only because there is no server for stdio; other errors are raised again.
        at_url = asked.but(server=self.http, server_command=self.http.command)
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
            named = {"name": spec.name, "secrets": spec.secrets, "isolation": spec.isolation}
            return self.http.but(**named)
        command = self.http.command
        startup_s = default_startup_s(command[0]) if command else 0.0
        return spec.but(
            http=self.http.http,
            command=command,
            cwd=os.getcwd(),
            # It belongs to the server on stdio; this one may never print it.
            ready_pattern="",
            startup_timeout_s=max(spec.startup_timeout_s, startup_s),
        )


def _identity(spec: ServerSpec) -> tuple[object, ...]:
    """Return what distinguishes servers; time limits do not."""
    env = tuple(sorted((spec.env or {}).items()))
    return spec.command, spec.http and spec.http.url, spec.cwd, env, spec.inherit_env


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


def _http_of_file(asked: Wanted) -> ServerSpec | None:
    """Return the server on HTTP that the files describe, or None; the command line has stdio."""
    asked = asked.but(server_command=())
    try:
        plan = load_plan(asked, PlaceholderEnvironment(os.environ))
    except McptestError:
        # The files need not describe a server; other mistakes are reported when they are loaded.
        return None
    if not any(spec.http for _, spec in plan.suites):
        return None
    return load_plan(asked, os.environ).suites[0][1]


def _print_way_totals(plan: Plan, finished: RunFinished) -> None:
    """Progress for the log of a long run."""
    if not is_terminal():
        name = visible(plan.suites[0][1].name)
        write_stderr(f"{name}: {totals(finished.summary, finished.duration_s, _NO_PAINT)}\n")
