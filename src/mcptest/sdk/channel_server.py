"""A server behind the channel, as far as performing a case asks for one.

`mcptest.runner.performing` performs, retries and judges cases, here as in a run of the command;
these stand where it has a server on pipes and the keeper of one.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache

from mcptest._coprocess import Coprocess
from mcptest.core.errors import ServerError
from mcptest.core.input_rounds import why_open
from mcptest.core.kinds import FAULTS
from mcptest.core.outcome import Evidence, Fault
from mcptest.core.revisions import STATELESS
from mcptest.runner.launcher import Launcher, Reply
from mcptest.sdk.drivable import NotDrivableError, asked_by
from mcptest.sdk.errors import CoprocessError, OverdueError, UpstreamError, UpstreamGoneError
from mcptest.wire.alone import NoGuardian

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.outcome import Finding, LogLine, LogWish
    from mcptest.core.plan import ServerSpec, Step

    Message = dict[str, Any]

__all__ = ["ChannelKeeper", "ChannelServer"]

# What the binary takes for itself when it is the one to give up.
_SLACK_S = 15.0

# How the ids of requests begin that no test has written.
_OWN = "mcptest-"

# After so many deaths in a row without a passing test the server is given up.
_MAX_DEATHS = 3

# What a server is not used after: it has ended, or nothing it says can be trusted.
_SPENT = frozenset(
    [
        *("exited_during_call", "exited_early", "line_too_long", "output_budget"),
        *("stdin_blocked", "connect_failed", "session_lost"),
    ]
)


class ChannelServer:
    """One server, asked over the channel. The binary waits up to `limit_s` for each answer.

    It is what `mcptest.runner.faces` asks for; what does not come over the channel is not there,
    and no case that looks at it is performed here.
    """

    def __init__(self, spec: ServerSpec, launcher: Launcher, limit_s: float) -> None:
        self.spec = spec
        self.launcher = launcher
        self.findings = _Findings()
        self.connection = _Silent()
        self.notifications: tuple[Any, ...] = ()
        self.is_usable = True
        # What the server said it can do.
        self.capabilities: object = {}
        self._is_stateless = False
        self._begun: Step | None = None
        self._limit_s = limit_s
        timeout_s = limit_s + spec.startup_timeout_s + _SLACK_S
        self._coprocess = Coprocess(spec=spec, timeout=timeout_s, call_timeout=limit_s)

    def open(self) -> None:
        """Start it, and have it shake hands."""
        try:
            hello = self._coprocess.request("mcp.initialize")
        except (UpstreamError, UpstreamGoneError) as error:
            raise ServerError(self._fault(error).but(effect="definite")) from None
        self.capabilities = hello.get("capabilities") if isinstance(hello, dict) else {}
        self._is_stateless = isinstance(hello, dict) and hello.get("protocolVersion") == STATELESS

    def perform(self, step: Step, timeout_s: float) -> Reply:
        """Ask what the step asks, and wait for the answer."""
        began = time.monotonic()
        message: Message = {"jsonrpc": "2.0", "id": step.id}
        try:
            message["result"] = self._asked(step, timeout_s)
        except UpstreamError as error:
            whole = _whole_answer(error.data)
            if whole is None and not _is_answer(error.data):
                raise ServerError(self._fault(error)) from None
            message = whole or message | {"error": error.data}
        except UpstreamGoneError as error:
            raise ServerError(self._fault(error)) from None
        except OverdueError:
            raise ServerError(self._overdue(step.method, timeout_s)) from None
        except BaseException:
            # The binary is gone, or somebody could not wait: what is asked next is not answered.
            self.is_usable = False
            raise
        result = message.get("result")
        return Reply(
            message=message,
            elapsed_s=time.monotonic() - began,
            stderr="",
            size=self._coprocess.last_size,
            # Only without a handshake does a result say whether it is the last.
            unfinished=why_open(result) if self._is_stateless and isinstance(result, dict) else "",
        )

    def _asked(self, step: Step, timeout_s: float) -> object:
        # The binary tells more when it gives up, and the server lives on; it has one limit for
        # all. What nobody wrote, such as asking for the tools, may take as long.
        is_own = isinstance(step.id, str) and step.id.startswith(_OWN)
        is_short = timeout_s < self._limit_s and not is_own
        limit_s = timeout_s if is_short else self._limit_s + _SLACK_S
        begun, self._begun = self._begun, None
        if begun is step:
            return self._coprocess.finish(step, limit_s)
        word, params = asked_by(step)
        return self._coprocess.request(word, params, timeout=limit_s, id=_id_of(step))

    @property
    def has_begun(self) -> bool:
        """Whether the next step is under way already."""
        return self._begun is not None

    def send_ahead(self, step: Step) -> None:
        """Have the next request under way while there is something else to do."""
        try:
            word, params = asked_by(step)
            self._coprocess.begin(word, params, step, id=_id_of(step))
            self._begun = step
        except (NotDrivableError, CoprocessError):
            # Whoever performs the step is told.
            return

    def give_up(self, step: Step) -> None:
        """Nobody waits for the answer to this step any more: the binary goes, and the server."""
        self.is_usable = False

    def wait_for_stderr(self, deadline: float) -> bool:
        return False

    def wait_for_notification(self, deadline: float) -> bool:
        return False

    def close(self) -> None:
        self.is_usable = False
        self._coprocess.close()

    # Faults

    def _overdue(self, method: str, limit_s: float) -> Fault:
        self.is_usable = False
        message = f"no answer to {method} within {limit_s:g} s"
        evidence = Evidence(command=self.spec.command, cwd=self.spec.cwd)
        return Fault(kind="timeout", message=message, effect="indefinite", evidence=evidence)

    def _fault(self, error: UpstreamError | UpstreamGoneError) -> Fault:
        """What the binary saw, as a run would tell it."""
        data: Message = error.data if isinstance(error.data, dict) else {}
        is_gone = isinstance(error, UpstreamGoneError)
        self.is_usable = self.is_usable and not is_gone
        kind = data.get("kind")
        if kind not in FAULTS:
            kind = "exited_during_call" if is_gone else "protocol_violation"
        evidence = Evidence(
            command=self.spec.command,
            url=self.spec.http.url if self.spec.http else "",
            cwd=self.spec.cwd if self.spec.command else "",
            exit_status=str(data.get("exit_status") or ""),
            stderr_tail=str(data.get("stderr") or ""),
        )
        return Fault(
            kind=str(kind),
            message=error.message,
            hint=str(data.get("hint") or ""),
            effect="definite" if data.get("effect") == "definite" else "indefinite",
            evidence=evidence,
        )


def _is_answer(data: object) -> bool:
    """Whether it is what the server itself said."""
    return isinstance(data, dict) and "code" in data and "kind" not in data


def _whole_answer(data: object) -> Message | None:
    """The server's answer with everything around it, where that is not what is usual."""
    answer = data.get("answer") if isinstance(data, dict) and "kind" in data else None
    return answer if isinstance(answer, dict) else None


def _id_of(step: Step) -> int | str | None:
    """The id that the server is to get: a test may look at what it makes of it."""
    return step.id if isinstance(step.id, (int, str)) else None


class _Findings:
    """Where a run keeps what breaks a rule without breaking a test."""

    def add(self, kind: str, message: str) -> None:
        """The test that calls the tool tells it; there is no report of a whole run here."""


class _Silent:
    """What a server says without being asked stays with the binary."""

    # So does that its tools are others now.
    tool_changes = 0

    @property
    def inbox(self) -> _Silent:
        return self

    def stderr_since(self, mark: int) -> str:
        return ""


class ChannelKeeper:
    """Keeps one server behind the channel ready, and replaces it when it is spent.

    `owner` is the file that has it for itself, "" when others share it.
    """

    keeps_log: LogWish = ""
    has_started_one = True

    def __init__(self, spec: ServerSpec, limit_s: float, owner: str = "") -> None:
        self.findings: list[Finding] = []
        self.spec = spec
        self.owner = owner
        self.launcher = _launcher()
        self._limit_s = limit_s
        self._server: ChannelServer | None = None
        self._deaths = 0
        self._given_up: Fault | None = None
        # That there is no binary to ask, or one of another version.
        self._unusable: CoprocessError | None = None
        self._replaced = ""

    def server_for(self, spec: ServerSpec, step: Step | None) -> tuple[ChannelServer, str]:
        """A ready server, and a note when it is not the one from before."""
        if self._given_up:
            raise ServerError(self._given_up)
        if self._unusable:
            raise self._unusable.with_traceback(None)
        if self._server and not self._server.is_usable:
            self.replace("the test before was broken off")
        if self._server:
            return self._server, ""
        self._server = server = ChannelServer(spec, self.launcher, self._limit_s)
        try:
            server.open()
        except ServerError as error:
            # It is told in full once.
            told = f"not run: the server could not be started ({error.fault.kind}), as told above"
            self._given_up = Fault(kind=error.fault.kind, message=told)
            self.close()
            raise
        except CoprocessError as error:
            self._unusable = error
            self.close()
            raise
        note, self._replaced = self._replaced, ""
        return server, note

    def send_ahead(self, step: Step) -> None:
        """Send the next step to the server that the last one passed on."""
        if self._server:
            self._server.send_ahead(step)

    def passed(self) -> None:
        self._deaths = 0

    def failed(self) -> None:
        """Whether the server is stuck is for the binary to find out."""

    def broke(self, fault: Fault) -> None:
        """A test ended in this fault: a server that cannot be trusted is not used again."""
        if self._given_up or self._server is None:
            return
        if self._server.is_usable and fault.kind not in _SPENT:
            return
        self.close()
        self._replaced = f"a fresh server was started: the test before ended in {fault.kind}"
        self._deaths += 1
        if self._deaths >= _MAX_DEATHS:
            told = f"not run: the server failed {_MAX_DEATHS} times in a row, last: "
            self._given_up = fault.but(message=told + fault.message, effect="definite")

    @property
    def is_running(self) -> bool:
        return self._server is not None

    @property
    def is_ready(self) -> bool:
        return self._server is not None and self._server.is_usable

    def take_inventory(self) -> None:
        """Coverage is of a run of the command."""

    def replace(self, reason: str) -> None:
        """Stop the server; whoever needs it again gets a fresh one, and is told the reason."""
        self.close()
        self._replaced = self._replaced or f"a fresh server was started: {reason}"

    def forgive(self) -> None:
        """Another file begins: whatever became of the server in the last one, it may try again."""
        self._deaths, self._given_up, self._unusable = 0, None, None

    def log(self) -> tuple[LogLine, ...]:
        return ()

    def close(self) -> None:
        """Stop the server, if it runs."""
        server, self._server = self._server, None
        if server:
            server.close()


class _Silence:
    """Signals are the program's own business; whoever watches this is never woken."""

    count = 0
    stopped_s = 0.0

    def __init__(self) -> None:
        self.fd, self._writer = os.pipe()


@lru_cache(maxsize=1)
def _launcher() -> Launcher:
    """What a judge in a process of its own is watched with. One is enough."""
    return Launcher(guardian=NoGuardian(), interrupts=_Silence())  # type: ignore[arg-type]  # they have what is asked of them
