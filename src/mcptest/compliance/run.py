"""Run the active checks against a server, and the passive rules on all that they provoke.

For each revision that is checked there is one battery: the checks in the order of their phases,
most of them on one connection. A check that breaks the server is named, and the server is started
again for the next. `Run` is what a check gets beside its connection: settings, hints, further
connections.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex

from mcptest.compliance.check import (
    PASSED,
    PHASES,
    UndecidedError,
    could_not_run,
    not_applicable,
    violated,
)
from mcptest.compliance.checks import CHECKS
from mcptest.compliance.checks.features import is_read_only
from mcptest.compliance.checks.lifecycle import AT_OPENING
from mcptest.compliance.raw_connection import (
    Answer,
    HttpPeer,
    OutOfTimeError,
    StdioPeer,
    TimeLimit,
    TooMuchError,
)
from mcptest.compliance.report import UNKNOWN, curl_command, find_reference
from mcptest.core.compliance import CheckResult
from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import excerpt
from mcptest.core.value_class import Record
from mcptest.engine.faults import exit_fault
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import Frame, Noise
from mcptest.protocol.revisions import HANDSHAKE_REVISIONS, REVISIONS, STATELESS_REVISIONS
from mcptest.rules.all_rules import RULES
from mcptest.rules.rule import family_of
from mcptest.transport.http.probe import ProbeClient
from mcptest.transport.http.transport import HttpTransport
from mcptest.transport.stdio import StdioTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from mcptest.compliance.check import Check, Outcome
    from mcptest.compliance.raw_connection import Peer
    from mcptest.core.compliance import CheckVerdict, Level
    from mcptest.core.plan import ServerSpec
    from mcptest.engine.server import Launcher
    from mcptest.rules.rule import Requirement

    Message = dict[str, Any]
    Progress = Callable[[str], None]

__all__ = ["Offer", "Run", "Settings", "check_server"]

# How long to wait for an answer once a later request has been answered.
_OVERTAKEN_S = 0.5

# How many times a server may break before the checks that are left are given up.
_MAX_RESTARTS = 8

# How long the end of a session may take after a signal.
_RESPITE_S = 1.0

_ANSWERED_AT_THE_END = (
    "its answer came only when its stdin was closed: does it flush stdout after each message (in "
    "Python: print(…, flush=True), or python3 -u)?"
)

_BEFORE_LISTENING = "before it listened at the address of the URL"

# Passive rules about lines that are not messages.
_ABOUT_NOISE = ("STDIO-01", "STDIO-02")

_RULES = {rule.id: rule for rule in RULES}
_ACTIVE_IDS = frozenset(check.id for check in CHECKS)
_STATUS: Mapping[str, CheckVerdict] = {
    "pass": "passed",
    "fail": "failed",
    "warning": "warning",
    "not_applicable": "not_applicable",
}
# The hints that are calls of tools.
_CALLS = ("slow_tool", "progress_tool", "eliciting_tool", "sampling_tool", "failing_tool")
# The capability without which a server has nothing that a hint could name.
_CAPABILITY_OF_HINT = {
    **dict.fromkeys(_CALLS, "tools"),
    "readonly_observer": "tools",
    "resource_that_changes": "resources",
    "file_root": "resources",
}
# What is kept when several connections have a verdict of one rule: the worst.
_SEVERITY: Mapping[str, int] = {
    "failed": 4,
    "warning": 3,
    "could_not_run": 2,
    "passed": 1,
    "not_applicable": 0,
}


class Settings(Record):
    """What the user asked for.

    `version` is a revision, "all" for every one that the server speaks, "" for the newest of each
    era. `only` and `skip` are ids or families of checks. `target` is the part of the command line
    that names the server, for the command that repeats a check.
    """

    version: str = ""
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    level: str = "should"
    hints: Mapping[str, Any] = {}
    allowed_tools: tuple[str, ...] = ()
    remote_probes: bool = False
    total_timeout_s: float = 300.0
    target: str = ""

    def selects(self, id: str, level: Level) -> bool:
        """True if a check is wanted."""
        names = (id, family_of(id))
        if self.level == "must" and level != "MUST":
            return False
        if any(name in self.skip for name in names):
            return False
        return not self.only or any(name in self.only for name in names)


class Offer(Record):
    """The answer to the first request of a client, and the revision agreed on, "" if none."""

    version: str
    answer: Answer
    sent: tuple[str, ...] = ()
    received: tuple[str, ...] = ()


def _describe_refusal(answer: Answer) -> str:
    """Why no session could be opened."""
    if answer.status == 401:
        return "the server needs a token: give --bearer-env NAME"
    if answer.message is None and not answer.status:
        return f"no session could be opened: {answer.problem}"
    return f"no session could be opened: the server answered with {answer.describe()}"


def _discover(peer: Peer, version: str) -> tuple[str, Answer]:
    """Ask a server for the stateless era: the revision if it speaks it, and its answer.

    Some servers of the other era leave the request unanswered, so a ping follows it.
    """
    peer.version = version
    asked = peer.start(peer.message("server/discover"), is_judged=False)
    pinged = peer.start(peer.message("ping", id="mcptest-ping"), is_judged=False)
    answer = asked.wait_until(lambda each: asked.is_response(each) or pinged.is_response(each))
    if answer.message is None or not asked.is_response(answer.message):
        answer = asked.wait(_OVERTAKEN_S)
    for pending in (asked, pinged):
        pending.close()
    result = answer.result or {}
    supported = result.get("supportedVersions")
    is_named = isinstance(supported, list) and version in supported
    # Results of this era have a type; some servers answer every method with an empty result.
    is_spoken = is_named or (not supported and "resultType" in result)
    if answer.code == jsonrpc.METHOD_NOT_FOUND:
        # It may lack only this method.
        listed = peer.start(peer.message("tools/list"), is_judged=False)
        is_spoken = "resultType" in (listed.wait().result or {})
        listed.close()
    peer.version = ""
    return version if is_spoken else "", answer


class Run:
    """One run against one server."""

    def __init__(
        self, spec: ServerSpec, launcher: Launcher, settings: Settings, progress: Progress
    ) -> None:
        self.spec = spec
        self.settings = settings
        self.hints = settings.hints
        self.results: list[CheckResult] = []
        self.notes: list[str] = []
        self.server_info: Message = {}
        # The revisions in which a session was opened, in their order.
        self.spoken: list[str] = []
        self.is_interrupted = False
        # The revision that is being checked.
        self.version = ""
        # For names of tools and the like that cannot exist.
        self.suffix = secrets.token_hex(6)
        # A secret in the environment of the server, if it is started here.
        self.canary_variable = "MCPTEST_CANARY_SECRET"
        self.canary = f"canary-{secrets.token_hex(12)}" if spec.command else ""
        if spec.command:
            self.spec = spec.but(env={**(spec.env or {}), self.canary_variable: self.canary})
        # Whether the server refuses requests without a token; None while that is not known.
        self.needs_token: bool | None = None
        # Lines on stdout that are not messages and that an active check has reported.
        self.explained_noise: set[str] = set()
        self._launcher = launcher
        self.progress = progress
        self.limit = TimeLimit(settings.total_timeout_s)
        self._http: HttpTransport | None = None
        self._peers: list[Peer] = []
        # The end of what the first server on stdio wrote to stderr, if it opened no session.
        self.stderr = ""
        self._passive: dict[str, CheckResult] = {}
        self._offers: dict[str, Offer] = {}
        self._battery = _Battery(self)
        # The tools that were listed, by the checks that call some.
        self._tool_names: set[str] = set()

    @property
    def transport(self) -> str:
        return "http" if self.spec.http else "stdio"

    @property
    def is_remote(self) -> bool:
        """True if the server is on another machine, as far as its address says."""
        return self._http is not None and not self._http.address.is_loopback

    # Connections

    def connect(
        self, version: str = "", *, capabilities: Message | None = None, client_name: str = ""
    ) -> Peer:
        """A connection of its own; with a version, a session is opened on it.

        It is ended with `Peer.end`, or at the end of the battery. ServerError if the server cannot
        be started.
        """
        peer: Peer
        if self.spec.http:
            if self._http is None or self._http.has_exited:
                self._start_http()
            assert self._http
            http, interrupts = self._http.http, self._launcher.interrupts
            client = ProbeClient(http, interrupts, self._http.process)
            if http.uses_login:
                # Few servers have one.
                from mcptest.transport.http.login import with_login_token  # noqa: PLC0415

                http = with_login_token(http, interrupts)
            peer = HttpPeer(http, client, self.spec.name, self.spec.timeout_s, self.limit)
        else:
            peer = StdioPeer(self.spec, self._launcher, self.limit)
        self._peers.append(peer)
        peer.client_capabilities = capabilities or {}
        peer.client_name = client_name or peer.client_name
        if version:
            peer.open(version)
        return peer

    def _start_http(self) -> None:
        """Start the server if there is a command for it, and wait until it listens."""
        self._stop_http()
        deadline = self.limit.deadline(self.spec.startup_timeout_s)
        self._http = HttpTransport(self.spec, self._launcher.guardian, self._launcher.interrupts)
        fault = self._http.open(deadline)
        if not fault and self._http.has_exited:
            wire, self._http = self._http, None
            stopped = wire.end(self._launcher.grace)
            fault = exit_fault(wire, _BEFORE_LISTENING, stopped, [], was_open=False)
        if fault:
            self.limit.check()
            raise ServerError(fault)

    def _stop_http(self) -> None:
        if self._http:
            self._http.end(self._launcher.grace)
            self._http = None

    def close(self) -> None:
        self._close_peers()
        self._stop_http()

    def _close_peers(self) -> None:
        peers, self._peers = self._peers, []
        interrupts = self._launcher.interrupts
        for peer in peers:
            # A signal ends all waits, but the sessions still have to be ended.
            in_hurry = bool(interrupts.count)
            respite = interrupts.respite(_RESPITE_S) if in_hurry else contextlib.nullcontext()
            with contextlib.suppress(InterruptedRunError), respite:
                peer.end(in_hurry=in_hurry)
            self._judge_passively(peer)

    def offer(self, version: str) -> Offer:
        """What the server answers if a client begins with this revision; asked only once."""
        if version in self._offers:
            return self._offers[version]
        self.progress(f"offering {version}")
        peer = self.connect()
        try:
            if REVISIONS.get(version, REVISIONS[HANDSHAKE_REVISIONS[-1]]).is_stateless:
                agreed, answer = _discover(peer, version)
            else:
                answer = peer.request("initialize", peer.initialize_params(version))
                given = (answer.result or {}).get("protocolVersion")
                agreed = given if isinstance(given, str) else ""
                if answer.result is not None:
                    peer.notify("notifications/initialized")
        except TooMuchError as error:
            agreed, answer = "", Answer(problem=f"no answer: the server {error}")
        before = len(peer.messages)
        # What a server writes when its input ends says nothing about why it did not answer.
        was_running = isinstance(peer, StdioPeer) and not peer.is_lost
        stderr = peer.stderr if isinstance(peer, StdioPeer) else ""
        peer.end()
        if answer.message is None and any("result" in each for each in peer.messages[before:]):
            answer = answer.but(problem=f"{answer.problem}; {_ANSWERED_AT_THE_END}")
        offer = Offer(
            version=agreed, answer=answer, sent=tuple(peer.sent), received=tuple(peer.received)
        )
        self._offers[version] = offer
        if isinstance(peer, StdioPeer) and not agreed:
            self.stderr = self.stderr or (stderr if was_running else peer.stderr)
        return offer

    def report_no_session(self, version: str) -> None:
        """One failure, and every other check could not run: no session can be opened."""
        self.version = version
        offer = self.offer(version)
        problem = _describe_refusal(offer.answer)
        if offer.version:
            shown = excerpt(offer.version, 60)
            problem = f"the server does not speak {version}: it answered with {shown}"
        for check in self._wanted_checks():
            outcome = violated(problem) if check.id == self.opener else could_not_run(problem)
            self.results.append(self.make_result(check, outcome, offer.sent, offer.received))

    def report_out_of_time(self, version: str) -> None:
        """No check could run: the time was over before a session was opened."""
        self.version = version
        outcome = could_not_run(self.limit.reason)
        self.results += [
            self.make_result(check, outcome, (), ()) for check in self._wanted_checks()
        ]

    def _wanted_checks(self) -> list[Check]:
        """The selected checks that apply to the revision and the transport."""
        return [
            check
            for check in CHECKS
            if self.settings.selects(check.id, check.level_at(self.version))
            and not check.reason_if_unfit(self.version, self.transport)
        ]

    def note_time(self) -> None:
        """Say which limit was over, if checks were left out because of it."""
        reason = self.limit.reason
        if any(result.message == reason for result in self.results):
            self.notes.append(f"{reason} before all checks had run; --total-timeout sets it")

    def note_unknown_tools(self) -> None:
        """Say which tools of the options and of the hints do not exist."""
        if not self._tool_names:
            return
        given = [("--allow-tool", name) for name in self.settings.allowed_tools]
        given += [
            (f"hint {hint}", self.hints[hint]["name"]) for hint in _CALLS if self.hints.get(hint)
        ]
        self.notes += [
            f"{where} {excerpt(name, 60)}: the server lists no tool of this name"
            for where, name in given
            if name not in self._tool_names
        ]

    @property
    def opener(self) -> str:
        """The check that fails if no session can be opened."""
        return "LIFE-15" if REVISIONS[self.version].is_stateless else "LIFE-01"

    # What checks ask for

    def has_failed(self, id: str, *verdicts: str) -> bool:
        """True if an earlier check of this battery was violated, or has one of these verdicts."""
        known = self._battery.results.get(id)
        return known is not None and known.verdict in (verdicts or ("failed", "warning"))

    def unknown_name(self, kind: str) -> str:
        """A name that the server cannot have."""
        return f"{UNKNOWN}{kind}-{self.suffix}"

    def messages(self) -> list[Message]:
        """All that the server has sent on the connections of this battery so far."""
        return [message for peer in self._peers for message in peer.messages]

    def callable_tools(self, peer: Peer) -> list[Message]:
        """The tools that may be called: read-only by annotation, or allowed by name."""
        return [tool for tool in peer.list_all("tools") or () if self.may_call(tool)]

    def may_call(self, tool: Message) -> bool:
        name = tool.get("name")
        if isinstance(name, str):
            self._tool_names.add(name)
        is_allowed = is_read_only(tool) or name in self.settings.allowed_tools
        return is_allowed and isinstance(name, str)

    def observe(self, command: list[str], limit_s: float) -> bytes | None:
        """What a command of the hints writes to stdout; None if it fails or takes too long."""
        spec = self.spec.but(name="observer", command=tuple(command), http=None)
        deadline = self.limit.deadline(limit_s)
        try:
            process = StdioTransport(spec, self._launcher.guardian, self._launcher.interrupts)
        except ServerError:
            return None
        try:
            process.close_stdin()
            has_ended = process.wait_for_exit(deadline, heed_interrupts=True)
        finally:
            stopped = process.end(self._launcher.grace)
        if not has_ended:
            self.limit.check()
        if not has_ended or stopped.exit_code != 0:
            return None
        lines = [f"{process.stdout_tail.total} bytes".encode()]
        for item in process.last_output:
            if isinstance(item, Frame):
                lines.append(dump_json(item.value).encode())
            elif isinstance(item, Noise):
                lines.append(item.raw)
        return b"\n".join(lines)

    # Batteries

    def check_revision(self, version: str) -> None:
        """Run all checks that apply to a revision, which the server speaks."""
        self.version, self._passive, self._battery = version, {}, _Battery(self)
        results = self._battery.results
        why = "the run was interrupted"
        settings = self.settings
        if any(id in _RULES and id not in _ACTIVE_IDS for id in settings.only):
            # A passive rule judges what all other checks provoke.
            settings = settings.but(only=(), level="should")
        chosen = [check for check in CHECKS if settings.selects(check.id, check.level_at(version))]
        unfit = {check.id: check.reason_if_unfit(version, self.transport) for check in chosen}
        try:
            self._battery.run([each for each in chosen if not unfit[each.id]])
        except InterruptedRunError:
            self.is_interrupted = True
        except OutOfTimeError:
            why = self.limit.reason
        self._close_peers()
        for check in chosen:
            if unfit[check.id]:
                outcome = not_applicable(unfit[check.id])
                results[check.id] = self.make_result(check, outcome, (), ())
            elif check.id not in results:
                outcome = could_not_run(why)
                results[check.id] = self.make_result(check, outcome, (), ())
        for result in _explain(chosen, results, self._passive):
            if self.settings.selects(result.id, result.level):
                self.results.append(result)
        if self.is_interrupted:
            raise InterruptedRunError

    # Results

    def make_result(
        self, check: Check, outcome: Outcome, sent: Iterable[str], received: Iterable[str]
    ) -> CheckResult:
        level = outcome.level or check.level_at(self.version)
        is_shared = check.is_shared or outcome.is_shared
        verdict: CheckVerdict
        if outcome.found == "violated":
            verdict = "failed" if level == "MUST" and not is_shared else "warning"
        else:
            verdict = outcome.found
        evidence = tuple(outcome.sent or sent), tuple(outcome.received or received)
        message = outcome.message or check.property
        result = self._describe(check, level, verdict, message, *evidence)
        return result.but(is_shared=is_shared, needs=outcome.needs)

    def _describe(
        self,
        point: Requirement,
        level: Level,
        verdict: CheckVerdict,
        message: str,
        sent: tuple[str, ...],
        received: tuple[str, ...],
    ) -> CheckResult:
        """The result of a check or a rule; only a finding has evidence and commands."""
        is_found = verdict in ("failed", "warning")
        words = ["mcptest", "compliance", "run", "--only", point.id]
        words += ["--spec-version", self.version]
        return CheckResult(
            id=point.id,
            name=point.name,
            family=family_of(point.id),
            level=level,
            revision=self.version,
            transport=self.transport,
            verdict=verdict,
            message=message,
            property=point.property,
            reference=find_reference(point, self.version),
            sent=sent if is_found else (),
            received=received if is_found else (),
            repeat=f"{shlex.join(words)} {self.settings.target}".rstrip() if is_found else "",
            curl=curl_command(sent, self._http.http.url) if is_found and self._http else "",
        )

    def _judge_passively(self, peer: Peer) -> None:
        """Take the verdicts of the passive rules; of several connections, the worst."""
        if peer.judged_version not in (self.version, ""):
            return
        is_explained = bool(peer.noise) and self.explained_noise.issuperset(peer.noise)
        for verdict in peer.verdicts():
            rule = _RULES[verdict.id]
            if is_explained and rule.id in _ABOUT_NOISE:
                continue
            level = rule.level_at(self.version)
            if not self.settings.selects(rule.id, level):
                continue
            sent: tuple[str, ...] = ()
            received: tuple[str, ...] = ()
            if verdict.exchange is not None and 0 <= verdict.exchange < len(peer.exchanges):
                request, answers = peer.exchanges[verdict.exchange]
                sent, received = (request,), tuple(answers)
            status = _STATUS[verdict.status]
            result = self._describe(rule, level, status, verdict.message, sent, received)
            known = self._passive.get(rule.id)
            if known is None or _SEVERITY[result.verdict] > _SEVERITY[known.verdict]:
                self._passive[rule.id] = result.but(is_passive=True)


class _Battery:
    """The checks of one revision in the order of their phases, most of them on one connection."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.results: dict[str, CheckResult] = {}
        # Why the checks that are left cannot run, "" while they can; and whether the reason is
        # that no session could be opened.
        self._problem = ""
        self._is_refused = False
        self._restarts = 0
        # Requests at which the server ended, and the check that made them first.
        self._fatal: dict[str, str] = {}

    def run(self, checks: Sequence[Check]) -> None:
        self._peer = self._run.connect()
        for phase in PHASES:
            if phase == "session" and not self._problem:
                self._begin_session()
            for check in checks:
                if check.phase == phase:
                    self._run_check(check)

    def _begin_session(self) -> None:
        """Open the session that most checks share."""
        run, peer = self._run, self._peer
        run.progress("opening a session")
        peer.clear_evidence()
        answer = self._open(peer)
        if answer.result is None:
            self._problem, self._is_refused = _describe_refusal(answer), True
            return
        if run.version not in run.spoken:
            run.spoken.append(run.version)
        run.server_info = peer.server_info or run.server_info
        # It may end at what every client sends after `initialize`.
        has_handshake = peer.transport == "stdio" and not peer.is_stateless
        if has_handshake and not _answers(peer) and peer.is_lost:
            self._problem, self._is_refused = f"the server {peer.end_status}{AT_OPENING}", True

    def _run_check(self, check: Check) -> None:
        run, peer = self._run, self._peer
        run.progress(f"{check.id} {check.name}")
        outcome = could_not_run(self._problem) if self._problem else self._find_outcome(check)
        if self._is_refused and check.id == run.opener and not run.needs_token:
            outcome = violated(self._problem)
        evidence = (tuple(peer.sent), tuple(peer.received))
        if not self._problem and check.phase not in ("own", "end"):
            outcome = self._look_after(check, outcome)
        self.results[check.id] = run.make_result(check, outcome, *evidence)
        if run.limit.is_over:
            self._problem = self._problem or run.limit.reason

    def _find_outcome(self, check: Check) -> Outcome:
        run, peer, hints = self._run, self._peer, self._run.hints
        peer.clear_evidence()
        peer.timeouts = 0
        if check.server_lacks and (lacking := check.server_lacks(peer)):
            return not_applicable(f"the server does not declare {lacking}")
        if check.hint in hints and hints[check.hint] is None:
            return not_applicable(f"according to the hints the server has no {check.hint}")
        if check.hint and check.hint not in hints:
            capability = _CAPABILITY_OF_HINT.get(check.hint, "")
            if capability and peer.version and not peer.has(capability):
                return not_applicable(f"the server does not declare {capability}")
            return could_not_run(f"needs {check.hint}", needs=check.hint)
        try:
            return check.run(peer, run)
        except UndecidedError as error:
            return error.outcome
        except ServerError as error:
            return could_not_run(f"the server could not be started: {error.fault.message}")
        except TooMuchError as error:
            return could_not_run(f"the server {error}")
        except OutOfTimeError:
            return could_not_run(run.limit.reason)

    def _look_after(self, check: Check, outcome: Outcome) -> Outcome:
        """The outcome of a check that may have broken the server, which is then replaced."""
        peer, is_over = self._peer, self._run.limit.is_over
        is_broken = False
        if peer.has_sent_too_much or is_over:
            is_broken = not is_over
        elif peer.timeouts and not peer.is_lost and peer.version and not _answers(peer):
            is_broken = True
            if outcome == PASSED:
                outcome = violated("the server answers nothing any more after this")
            elif outcome.found == "could_not_run":
                outcome = violated(f"{outcome.message}, and after that the server answers nothing")
        elif peer.is_lost:
            is_broken = True
            fatal = _last_request(peer)
            earlier = self._fatal.setdefault(fatal, check.id) if fatal else check.id
            if outcome.found in ("passed", "not_applicable"):
                outcome = violated(f"the server {peer.end_status} during this check")
                if earlier != check.id:
                    outcome = could_not_run(f"the server ends at {fatal}, as {earlier} reports")
        if is_broken:
            self._replace_peer(check)
        return outcome

    def _replace_peer(self, check: Check) -> None:
        """Go on with a fresh connection after a check that broke the server."""
        self._restarts += 1
        if self._restarts > _MAX_RESTARTS:
            self._problem = f"the server broke {self._restarts} times, the last time in {check.id}"
            return
        try:
            fresh = self._run.connect()
            answer = self._open(fresh) if check.phase not in ("launch", "start") else None
        except ServerError as error:
            self._problem = f"the server broke in {check.id} and cannot be started again: {error}"
            return
        self._peer = fresh
        again = f"the server broke in {check.id}, was started again, and"
        if answer and answer.result is None:
            self._problem = f"{again} {_describe_refusal(answer)}"
        elif answer and not _answers(fresh) and fresh.is_lost:
            self._problem = f"{again} {fresh.end_status} right after a session was opened"

    def _open(self, peer: Peer) -> Answer:
        """Open a session; without a result there is none."""
        try:
            return peer.open(self._run.version)
        except TooMuchError as error:
            return Answer(problem=f"no answer: the server {error}")


def _answers(peer: Peer) -> bool:
    """True if the server still answers."""
    try:
        return peer.settle().message is not None
    except TooMuchError:
        return False


def _last_request(peer: Peer) -> str:
    """The last call of a tool that a check made, as the end of a sentence; "" if it made none."""
    for text in reversed(peer.sent):
        try:
            message = parse_json(text.rpartition("\n")[2])
        except NotJsonError:
            continue
        if isinstance(message, dict) and message.get("method") == "tools/call":
            name = jsonrpc.params_of(message).get("name")
            return f"a call of the tool {excerpt(name, 60)}" if isinstance(name, str) else ""
    return ""


def _explain(
    checks: Iterable[Check], active: Mapping[str, CheckResult], passive: Mapping[str, CheckResult]
) -> Iterable[CheckResult]:
    """The results of one revision, without the findings that others explain."""
    explained = {
        id: check.id
        for check in checks
        if active[check.id].verdict in ("failed", "warning") and not active[check.id].is_shared
        for id in check.explains
    }
    # For an id that is checked both ways, the worse of the two.
    results = [
        max(result, passive.get(id, result), key=lambda each: _SEVERITY[each.verdict])
        for id, result in active.items()
    ]
    results += [result for id, result in passive.items() if id not in active]
    for result in results:
        if result.verdict in ("failed", "warning") and result.id in explained:
            message = f"what was found is reported as {explained[result.id]}"
            yield result.but(verdict="not_applicable", message=message)
        else:
            yield result


def check_server(run: Run) -> None:
    """Check the revisions that the settings name; the results are in `run`.

    ServerError if the server cannot be started at all.
    """
    wanted = run.settings.version
    # The revision of the report if the server agrees to none.
    default = wanted if wanted in REVISIONS else HANDSHAKE_REVISIONS[-1]
    try:
        if wanted == "all":
            spoken = [version for version in REVISIONS if run.offer(version).version == version]
        elif wanted:
            spoken = [wanted] if run.offer(wanted).version == wanted else []
        else:
            eras = (HANDSHAKE_REVISIONS, STATELESS_REVISIONS)
            spoken = [agreed for era in eras if (agreed := run.offer(era[-1]).version) in era]
        if not spoken and run.offer(HANDSHAKE_REVISIONS[-1]).answer.status == 401:
            # What can be checked without a token is checked.
            spoken = [default]
        elif not spoken:
            run.report_no_session(default)
        for version in spoken:
            run.check_revision(version)
    except InterruptedRunError:
        run.is_interrupted = True
    except OutOfTimeError:
        run.report_out_of_time(default)
    run.note_time()
    run.note_unknown_tools()
