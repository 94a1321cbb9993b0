"""Scan servers: read what they say, see what they do, and make a report of it.

The caller gives the sessions (`connect`), so that the command line and suites scan in the same way.
Only tools that are read-only by their annotations and need no arguments are called, and those that
the user names.
"""

from __future__ import annotations

import os
import time
from functools import partial

from mcptest.core.coverage import KINDS
from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.schema_walk import SchemaWalker, required_names
from mcptest.core.security import SEVERITIES, RuleOutcome, ScannedServer, ScanReport
from mcptest.core.text import excerpt, list_names, visible
from mcptest.core.value_class import Record
from mcptest.explore.arguments import sample_arguments, unknown_name
from mcptest.protocol.jsonrpc import METHOD_NOT_FOUND
from mcptest.protocol.lists import ListPages, is_declared
from mcptest.security.definitions import (
    Seen,
    compare_catalogs,
    find_in_catalog,
    find_in_results,
    find_in_stderr,
    find_shared_names,
    is_destructive_name,
)
from mcptest.security.rules import MAX_CATALOG_CHARS, MAX_VALUES, RULES, Catalog, Definition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Protocol

    from mcptest.core.coverage import Kind
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Fault
    from mcptest.core.security import SecurityFinding
    from mcptest.protocol.lists import ListProblem
    from mcptest.transport.http.probe import ProbeClient

    Message = dict[str, Any]

    class Session(Protocol):
        """A session with one server, as `mcptest.engine.pool.SingleServer` offers it."""

        spec: ServerSpec
        deadline: float
        stateless_revision: str
        on_notification: Callable[[Message], None] | None

        @property
        def capabilities(self) -> Message: ...
        @property
        def server_info(self) -> Message: ...
        @property
        def protocol_version(self) -> str: ...
        @property
        def instructions(self) -> str: ...
        @property
        def stderr(self) -> str: ...
        def open(self) -> None: ...
        def attempt(self, method: str, params: dict[str, object]) -> Message | str: ...
        def probe_client(self) -> ProbeClient | None: ...
        def credential_headers(self) -> dict[str, str]: ...
        def close(self) -> None: ...


__all__ = ["ScanOptions", "Scanner"]

# The name of another client, for servers whose definitions depend on the client.
_OTHER_CLIENT = "claude-ai"

_MAX_PAGES = 200
_MAX_ENTRIES = 10_000
_MAX_CALLS = 25
_CALLS_S = 60.0
_MAX_LOGS = 2_000
_MAX_PER_RULE = 200

# In the environment of a server that we start. No program uses variables of these names.
_CANARY_VARIABLES = ("MCPTEST_CANARY_SECRET", "MCPTEST_CANARY_API_TOKEN")


class ScanOptions(Record):
    """What is asked for. `only` and `skip` are ids of rules; no `only` means all."""

    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    probe_tools: tuple[str, ...] = ()
    file_root: str = ""
    remote_probes: bool = False
    fail_on: str = "high"
    total_timeout_s: float = 300.0

    def wants(self, id: str) -> bool:
        return id not in self.skip and (not self.only or id in self.only)

    def wants_any(self, ids: Iterable[str]) -> bool:
        return any(map(self.wants, ids))


class Scanner:
    """Scans servers one after the other; `report` can be asked for at any time."""

    def __init__(
        self,
        connect: Callable[[ServerSpec], Session],
        options: ScanOptions,
        progress: Callable[[str], None] = lambda text: None,
        started_at: str = "",
    ) -> None:
        self._connect = connect
        self._options = options
        self._progress = progress
        self._started_at = started_at
        self._findings: dict[tuple[str, str, str, str], SecurityFinding] = {}
        self._servers: list[ScannedServer] = []
        self._catalogs: list[Catalog] = []
        self._notes: list[str] = []
        # The lists that could not be read, and why.
        self._unread: dict[str, None] = {}
        self._ran: set[str] = set()
        # Why rules did not run: by id, the reason for each server.
        self._left_out: dict[str, dict[str, str]] = {}
        self._is_interrupted = False
        # Why servers could not be started.
        self.faults: list[Fault] = []
        self._deadline = time.monotonic() + options.total_timeout_s

    def run(self, specs: Sequence[ServerSpec]) -> None:
        """Scan all servers; a signal ends it early.

        ServerError if the only server cannot be started. Of several, such a server is not judged,
        and `faults` says why.
        """
        try:
            for spec in specs:
                if time.monotonic() >= self._deadline:
                    self._note_not_scanned(spec, self._time_is_over)
                    continue
                try:
                    self._scan(spec, is_one_of_many=len(specs) > 1)
                except ServerError as error:
                    if len(specs) == 1:
                        raise
                    self.faults.append(error.fault)
                    self._note_not_scanned(spec, error.fault.message)
            self._compare_servers()
            self._refuse_unknown_tools(self._catalogs)
        except InterruptedRunError:
            self._is_interrupted = True

    def _note_not_scanned(self, spec: ServerSpec, reason: str) -> None:
        transport = "http" if spec.http else "stdio"
        self._servers.append(ScannedServer(name=spec.name, transport=transport))
        self._unread[f"{spec.name}: not scanned: {reason}"] = None

    def compare(self, specs: Sequence[ServerSpec]) -> None:
        """Judge only what is about several servers together: SEC-008 and SEC-012."""
        try:
            for spec in specs:
                session = self._new_session(spec)
                try:
                    session.open()
                    self._catalogs.append(self._read_catalog(session, ("tools",)))
                    self._add_server(session, self._catalogs[-1])
                finally:
                    session.close()
            self._compare_servers()
        except InterruptedRunError:
            self._is_interrupted = True

    def report(self) -> ScanReport:
        findings = sorted(
            self._findings.values(), key=lambda each: -SEVERITIES.index(each.severity)
        )
        return ScanReport(
            servers=tuple(self._servers),
            findings=tuple(findings),
            rules=tuple(self._outcome(id) for id in RULES),
            fail_on=self._options.fail_on,
            notes=tuple(self._notes),
            unread=tuple(self._unread),
            interrupted=self._is_interrupted,
            started_at=self._started_at,
        )

    def _outcome(self, id: str) -> RuleOutcome:
        title = RULES[id].title
        if not self._options.wants(id):
            reason = "left out by --skip" if id in self._options.skip else "not among --only"
            return RuleOutcome(id=id, title=title, status="skipped", reason=reason)
        left_out = self._left_out.get(id, {})
        reason = "; ".join(f"{server}: {why}" for server, why in left_out.items())
        if id not in self._ran and len(set(left_out.values())) == 1:
            [reason] = set(left_out.values())
        if id in self._ran and not reason:
            return RuleOutcome(id=id, title=title, status="ran")
        if self._is_interrupted and not reason:
            return RuleOutcome(id=id, title=title, status="not_run", reason="interrupted before it")
        status = "not_run" if reason else "not_applicable"
        if not reason and RULES[id].needs == "http":
            reason = "the server is not on HTTP"
        elif not reason and RULES[id].needs == "tools":
            reason, status = "no tool is named: --probe-tools NAME", "not_run"
            if self._options.probe_tools:
                reason = "no server lists a tool that --probe-tools names"
        return RuleOutcome(id=id, title=title, status=status, reason=reason)  # type: ignore[arg-type]  # one of two

    def _add(self, server: str, findings: Iterable[SecurityFinding]) -> None:
        counts: dict[str, int] = {}
        for finding in findings:
            key = (server, finding.id, finding.path, finding.message)
            if key in self._findings or not self._options.wants(finding.id):
                continue
            counts[finding.id] = counts.get(finding.id, 0) + 1
            if counts[finding.id] <= _MAX_PER_RULE:
                self._findings[key] = finding.but(server=server)
        for id, count in counts.items():
            if count > _MAX_PER_RULE:
                self._notes.append(f"{id}: only the first {_MAX_PER_RULE} findings are listed")

    def _new_session(self, spec: ServerSpec) -> Session:
        session = self._connect(spec)
        session.deadline = self._deadline
        return session

    def _leave_out(self, server: str, ids: Iterable[str], reason: str) -> None:
        """Note why these rules were not applied to a server."""
        for id in ids:
            self._left_out.setdefault(id, {})[server] = reason

    @property
    def _time_is_over(self) -> str:
        return f"the time limit of the scan, {self._options.total_timeout_s:g} s, was over"

    def _leave_out_if_late(self, server: str, ids: Iterable[str]) -> bool:
        """Leave these rules out if the time is over; True if it is."""
        if time.monotonic() < self._deadline:
            return False
        self._leave_out(server, ids, self._time_is_over)
        return True

    def _note_applied(self, server: str, ids: Iterable[str], left_out: dict[str, str]) -> None:
        """Note that these rules were applied, except those that `left_out` gives a reason for."""
        for id, reason in left_out.items():
            self._leave_out(server, [id], reason)
        applied = set(ids) - left_out.keys()
        if not self._leave_out_if_late(server, applied):
            self._ran |= applied

    # One server

    def _scan(self, spec: ServerSpec, *, is_one_of_many: bool) -> None:
        canaries: dict[str, str] = {}
        if spec.command:
            canaries = {name: f"canary-{os.urandom(12).hex()}" for name in _CANARY_VARIABLES}
            spec = spec.but(env={**(spec.env or {}), **canaries})
        logs: list[Message] = []
        catalog: Catalog | None = None
        session = self._new_session(spec)
        session.on_notification = lambda message: _keep_log(logs, message)
        try:
            self._progress("reading definitions")
            session.open()
            # It sends log messages, and the client says which.
            has_logging = "logging" in session.capabilities and not session.stateless_revision
            if spec.command and not spec.http and has_logging:
                answer = session.attempt("logging/setLevel", {"level": "debug"})
                if isinstance(answer, str):
                    session.open()
            catalog = self._read_catalog(session)
            if not is_one_of_many:
                self._refuse_unknown_tools([catalog])
            self._judge(session, catalog, canaries, logs)
        except ServerError as error:
            if catalog is None:
                raise
            why = f"not completed: {error.fault.message}"
            self._notes.append(f"{catalog.server}: {why}")
            if spec.http:
                # They are the last rules of the session.
                ids = [id for id, rule in RULES.items() if rule.needs == "http"]
                self._leave_out(catalog.server, ids, why)
        finally:
            session.close()
        self._add(catalog.server, find_in_stderr(session.stderr, canaries))
        if self._options.wants("SEC-014"):
            self._compare_connections(spec, catalog)
        if self._options.probe_tools:
            self._probe_tools(spec, catalog)

    def _judge(
        self,
        session: Session,
        catalog: Catalog,
        canaries: dict[str, str],
        logs: list[Message],
    ) -> None:
        """Judge the definitions, then what the server does in the same session."""
        self._catalogs.append(catalog)
        self._add_server(session, catalog)
        if catalog.is_too_large:
            limits = (
                f"the first {MAX_CATALOG_CHARS:,} characters, and {MAX_VALUES:,} values of each"
            )
            self._unread[f"{catalog.server}: definitions: only {limits}, were judged"] = None
        self._add(catalog.server, find_in_catalog(catalog, canaries))
        self._ran |= {f"SEC-{number:03}" for number in range(1, 14)}
        # Before anything else calls them: some tools change something only the first time.
        caller = _ToolCaller(session)
        self._watch_changes(caller, catalog)
        results = self._call_tools(caller, catalog)
        called = tuple(excerpt(each.tool.name, 80) for each in results if each.tool)
        self._servers[-1] = self._servers[-1].but(called=called)
        seen = [*results, *(Seen(value=message) for message in logs)]
        self._add(catalog.server, find_in_results(seen, canaries))
        if caller.has_ended_session:
            session.open()
        elif results and self._options.wants("SEC-014"):
            again = self._read_catalog(session, ("tools", "prompts", "resourceTemplates"))
            how = "in the same connection after calls of read-only tools"
            self._add(catalog.server, compare_catalogs(catalog, again, how, only_changes=True))
            # What appears only now has not been judged.
            known = {each.fingerprint for each in catalog.definitions}
            fresh = (each for each in again.definitions if each.fingerprint not in known)
            self._add(
                catalog.server, find_in_catalog(again.but(definitions=tuple(fresh)), canaries)
            )
        self._probe_http(session, catalog.server)

    def _refuse_unknown_tools(self, catalogs: Sequence[Catalog]) -> None:
        if self._unread:
            # It may be a tool of what could not be read.
            return
        tools = [tool.name for catalog in catalogs for tool in catalog.tools]
        for name in self._options.probe_tools:
            if name not in tools:
                raise unknown_name("tool", name, tools, "--probe-tools takes names of tools")

    def _add_server(self, session: Session, catalog: Catalog) -> None:
        version, spec = session.server_info.get("version"), session.spec
        self._servers.append(
            ScannedServer(
                name=catalog.server,
                version=excerpt(version, 60) if isinstance(version, str) else "",
                transport="http" if spec.http else "stdio",
                revision=excerpt(session.protocol_version, 20),
                entries=sum(1 for each in catalog.definitions if each.kind),
            )
        )

    def _read_catalog(self, session: Session, kinds: Sequence[str] = tuple(KINDS)) -> Catalog:
        """Everything that the server says of itself."""
        definitions: list[Definition] = []
        for kind in (KINDS[name] for name in kinds):
            if not is_declared(kind, session.capabilities):
                continue
            entries: list[object] = []
            pages = ListPages(
                kind.method,
                kind.name,
                limit_s=self._options.total_timeout_s,
                max_pages=_MAX_PAGES,
                max_entries=_MAX_ENTRIES,
            )
            while (params := pages.next_params(self._deadline - time.monotonic())) is not None:
                answer = session.attempt(kind.method, params)
                if isinstance(answer, str):
                    # What was read of it is judged; the other lists are read in a new session.
                    self._unread[f"{_server_name(session)}: {kind.name}: {answer}"] = None
                    break
                entries += pages.add(answer)
            if pages.problem:
                self._add_problem(session, kind, pages.problem)
            if odd := [index for index, entry in enumerate(entries) if not isinstance(entry, dict)]:
                text = f"the entry at index {odd[0]} of {kind.method} is not an object"
                self._unread[f"{_server_name(session)}: {kind.name}: {text}"] = None
            definitions += [
                Definition(kind=kind.name, index=index, value=entry)
                for index, entry in enumerate(entries)
                if isinstance(entry, dict)
            ]
        whole: Message = {"instructions": session.instructions, "serverInfo": session.server_info}
        definitions += [
            Definition(kind="", index=index, value={name: value})
            for index, (name, value) in enumerate(whole.items())
            if value and len(kinds) == len(KINDS)
        ]
        return Catalog(server=_server_name(session), definitions=tuple(definitions))

    def _add_problem(self, session: Session, kind: Kind, problem: ListProblem) -> None:
        """Remember a list that was not read to its end."""
        code = problem.value.get("code") if isinstance(problem.value, dict) else None
        text = f"{_server_name(session)}: {kind.name}: {problem.message}"
        if kind.name == "tools" or code != METHOD_NOT_FOUND:
            self._unread[text] = None
        elif kind.name != "resourceTemplates" and text not in self._notes:
            # It declares them and has no such method: then no client is shown any. Templates
            # share the capability of resources, and need not be there.
            self._notes.append(text)

    def _call_tools(self, caller: _ToolCaller, catalog: Catalog) -> list[Seen]:
        """The results of tools that only read and need nothing, and of those that are named."""
        if not self._options.wants_any(("SEC-001", "SEC-004", "SEC-010", "SEC-014")):
            return []
        found = []
        deadline = min(time.monotonic() + _CALLS_S, self._deadline)
        named = self._options.probe_tools
        harmless = [tool for tool in catalog.tools if tool.name in named or _is_harmless(tool)]
        for tool in harmless[:_MAX_CALLS]:
            if time.monotonic() > deadline:
                break
            self._progress(f"calling {visible(tool.name)}")
            sample = sample_arguments(tool.value.get("inputSchema")).arguments
            answer = caller.call(tool, sample)
            if isinstance(answer, str):
                self._notes.append(f"{tool.label}: {answer}")
            else:
                found.append(Seen(value=answer.get("result", answer.get("error")), tool=tool))
        if len(found) < len(harmless):
            missing = [
                tool.name for tool in harmless if all(tool is not each.tool for each in found)
            ]
            self._notes.append(f"{catalog.server}: no result of {list_names(missing, 5)}")
        return found

    # SEC-014

    def _compare_connections(self, spec: ServerSpec, catalog: Catalog) -> None:
        seen: set[str] = set()
        for name, how in (
            (spec.client.name, "in a second connection"),
            (_OTHER_CLIENT, f'for a client that calls itself "{_OTHER_CLIENT}"'),
        ):
            self._progress(f"reading definitions {how}")
            if self._leave_out_if_late(catalog.server, ["SEC-014"]):
                return
            session = self._new_session(spec.but(client=spec.client.but(name=name)))
            unread = len(self._unread)
            try:
                session.open()
                other = self._read_catalog(session).but(server=catalog.server)
            except ServerError as error:
                self._leave_out(catalog.server, ["SEC-014"], f"{how}, {error.fault.message}")
                return
            finally:
                session.close()
            if len(self._unread) > unread:
                why = f"{how}, not all lists could be read"
                self._leave_out(catalog.server, ["SEC-014"], why)
                return
            found = compare_catalogs(
                catalog, other, how, is_grave=bool(seen) or name != spec.client.name
            )
            fresh = [each for each in found if each.path not in seen]
            seen |= {each.path for each in fresh}
            self._add(catalog.server, fresh)
        self._ran.add("SEC-014")

    # SEC-008 and SEC-012

    def _compare_servers(self) -> None:
        if len(self._catalogs) > 1:
            for server, finding in find_shared_names(self._catalogs):
                self._add(server, [finding])
            self._ran |= {"SEC-008", "SEC-012"}

    # SEC-020 to SEC-024

    def _probe_http(self, session: Session, server: str) -> None:
        ids = [id for id, rule in RULES.items() if rule.needs == "http"]
        is_wanted = session.spec.http and self._options.wants_any(ids)
        if not is_wanted or self._leave_out_if_late(server, ids):
            return
        # The last request may have ended it.
        session.open()
        client = session.probe_client()
        assert client, "the server is on HTTP"
        # Only servers on HTTP need it.
        from mcptest.security.http_probes import Endpoint, probe_endpoint  # noqa: PLC0415
        from mcptest.transport.http.connection import listening_addresses  # noqa: PLC0415

        self._progress("probing the endpoint")
        endpoint = Endpoint(
            client=client,
            headers=session.credential_headers(),
            revision=session.stateless_revision or session.protocol_version,
            is_stateless=bool(session.stateless_revision),
            allows_remote=self._options.remote_probes,
            listens_on=tuple(listening_addresses(client.address.port)),
            deadline=self._deadline,
        )
        left_out: dict[str, str] = {}
        self._add(server, probe_endpoint(endpoint, self._options.wants, left_out))
        self._note_applied(server, ids, left_out)

    # SEC-030 to SEC-033

    def _chosen_tools(
        self, spec: ServerSpec, catalog: Catalog, ids: Sequence[str]
    ) -> list[Definition]:
        """The tools to probe for these rules; none if that is not asked for, or cannot be."""
        tools = {tool.name: tool for tool in catalog.tools}
        chosen = [tools[name] for name in self._options.probe_tools if name in tools]
        if not chosen or not self._options.wants_any(ids):
            return []
        if not spec.command and not _is_loopback(spec):
            self._leave_out(catalog.server, ids, "the server is not on this machine")
            return []
        return [] if self._leave_out_if_late(catalog.server, ids) else chosen

    def _file_root(self, spec: ServerSpec) -> str:
        """Below it tools may read."""
        return self._options.file_root or spec.cwd or os.getcwd()

    def _watch_changes(self, caller: _ToolCaller, catalog: Catalog) -> None:
        """Apply SEC-033."""
        spec = caller.session.spec
        chosen = self._chosen_tools(spec, catalog, ["SEC-033"])
        if not chosen:
            return
        # Only these rules look at files.
        from mcptest.security.effects import find_changes  # noqa: PLC0415

        left_out: dict[str, str] = {}
        for tool in chosen:
            self._progress(f"calling {visible(tool.name)}")
            call = partial(caller.call, tool)
            self._add(catalog.server, find_changes(tool, call, self._file_root(spec), left_out))
            if time.monotonic() >= self._deadline:
                break
        self._note_applied(catalog.server, ["SEC-033"], left_out)

    def _probe_tools(self, spec: ServerSpec, catalog: Catalog) -> None:
        ids = ["SEC-030", "SEC-031", "SEC-032"]
        chosen = self._chosen_tools(spec, catalog, ids)
        if not chosen:
            return
        # Only these rules make files.
        from mcptest.security.effects import Canaries, probe_tool  # noqa: PLC0415

        left_out: dict[str, str] = {}
        session = self._new_session(spec)
        try:
            session.open()
            with Canaries(self._file_root(spec)) as canaries:
                self._notes += canaries.notes
                if not canaries.ways:
                    why = f"nothing is outside the root {visible(canaries.root)}"
                    left_out["SEC-030"] = f"{why}; give file_root in --hints"
                caller, wants = _ToolCaller(session), self._options.wants
                for tool in chosen:
                    self._progress(f"probing {visible(tool.name)}")
                    call = partial(caller.call, tool)
                    found = probe_tool(tool, call, canaries, wants, self._notes, self._deadline)
                    self._add(catalog.server, found)
            self._note_applied(catalog.server, ids, left_out)
        except ServerError as error:
            # What was found before is reported all the same.
            self._leave_out(catalog.server, ids, error.fault.message)
        finally:
            session.close()


class _ToolCaller:
    """Calls tools in a session; an answer is a string, the reason, if the session has ended."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.has_ended_session = False

    def call(self, tool: Definition, arguments: Message) -> Message | str:
        params: Message = {"name": tool.name, "arguments": arguments}
        answer = self.session.attempt("tools/call", params)
        self.has_ended_session |= isinstance(answer, str)
        return answer


def _server_name(session: Session) -> str:
    """What the server is called in the report."""
    own = session.server_info.get("name")
    if not session.spec.is_named and isinstance(own, str) and own.strip():
        return excerpt(own.strip(), 100)
    return session.spec.name


def _keep_log(logs: list[Message], message: Message) -> None:
    if message.get("method") == "notifications/message" and len(logs) < _MAX_LOGS:
        params = message.get("params")
        logs.append(params if isinstance(params, dict) else {"data": params})


def _is_harmless(tool: Definition) -> bool:
    """True if the server says that a tool only reads, and it needs no arguments."""
    hints = tool.value.get("annotations")
    if not isinstance(hints, dict) or hints.get("readOnlyHint") is not True:
        return False
    if hints.get("destructiveHint") is True or is_destructive_name(tool.name):
        return False
    return not required_names(SchemaWalker(tool.value.get("inputSchema")).root().schema)


def _is_loopback(spec: ServerSpec) -> bool:
    from mcptest.protocol.http_address import parse_url  # noqa: PLC0415  # only servers on HTTP

    return spec.http is not None and parse_url(spec.http.url.replace("{port}", "1")).is_loopback
