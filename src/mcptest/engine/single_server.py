"""One server, opened for a command that wants to ask it something.

A visit starts the server, shakes hands, asks and stops it. What comes back has no secrets in
it. `attempt` is for those who ask many things: it never raises for what the server does, and
starts a fresh one when the last has died or fallen silent.
"""

from __future__ import annotations

import re

from mcptest.core.errors import ServerError
from mcptest.core.secrets import redact_all, redactor
from mcptest.engine import faults
from mcptest.engine.server import Server
from mcptest.protocol.revisions import STATELESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.plan import ServerSpec
    from mcptest.engine.server import Launcher

    Message = dict[str, Any]

__all__ = ["Visit"]

_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_OWN_ID = r' \(id "mcptest-\d+"\)'


class Visit:
    """A conversation with one server.

    `after_waiting` is called when an answer has come, or will not: whoever shows that we wait
    can stop doing so.
    """

    def __init__(
        self, spec: ServerSpec, launcher: Launcher, after_waiting: Callable[[], None]
    ) -> None:
        self.spec = spec
        self._launcher = launcher
        self._after_waiting = after_waiting
        self._server: Server | None = None
        self._redact = redactor(spec.secrets)
        self._handshake: Message = {}
        self._is_stateless = False
        self._heard = ""

    def open(self) -> None:
        """Start the server and shake hands; ServerError when that is impossible."""
        server = self._server = Server(self.spec, self._launcher)
        try:
            server.open()
        except ServerError as error:
            self.close()
            fault = faults.unflushed(error.fault) if server.answered_at_the_end else error.fault
            raise ServerError(fault) from None
        finally:
            self._after_waiting()
        self._handshake = self.cleaned(server.handshake)
        self._is_stateless = server.is_stateless

    @property
    def is_stateless(self) -> bool:
        """Whether the server is spoken to in the era without a handshake."""
        return self._is_stateless

    @property
    def capabilities(self) -> Message:
        """What the server said in the handshake that it can do."""
        found = self._handshake.get("capabilities")
        return found if isinstance(found, dict) else {}

    @property
    def server_info(self) -> Message:
        """The server's own name and version, as far as it gave them."""
        meta = self._handshake.get("_meta")
        # Where there is no handshake, it is beside the result.
        beside = meta.get(_SERVER_KEY) if isinstance(meta, dict) else None
        found = self._handshake.get("serverInfo", beside)
        return found if isinstance(found, dict) else {}

    @property
    def protocol_version(self) -> str:
        # Where there is no handshake, none was agreed on: it is the one that was spoken.
        return str(self._handshake.get("protocolVersion", STATELESS if self._is_stateless else ""))

    @property
    def instructions(self) -> str:
        """What the server says about itself to whoever uses it."""
        found = self._handshake.get("instructions")
        return found if isinstance(found, str) else ""

    def ask(self, method: str, params: dict[str, object]) -> Message:
        """The whole answer to a request; ServerError when there is none."""
        assert self._server is not None, "the visit has not been opened"
        try:
            answer: Message = self._server.ask(method, params, self.spec.timeout_s)
        finally:
            self._after_waiting()
        cleaned: Message = self.cleaned(answer)
        return cleaned

    @property
    def unfinished(self) -> str:
        """Why the last answer was not the end of what was asked; "" when it was."""
        return self.cleaned(self._server.unfinished) if self._server else ""

    def attempt(self, method: str, params: dict[str, object]) -> Message | str:
        """The whole answer, or a sentence that says why there is none."""
        try:
            if self._server is None or not self._server.is_usable:
                self.close()
                self.open()
            return self.ask(method, params)
        except ServerError as error:
            # It may be stuck, or answer late: the next one gets a fresh process.
            self.close()
            # The ids of our own requests mean nothing to anybody.
            message = re.sub(_OWN_ID, "", self.cleaned(error.fault.message))
            return f"{error.fault.kind}: {message}"

    def cleaned(self, value: Any) -> Any:
        """The same without the secrets that the server was given."""
        return redact_all(value, self._redact)

    @property
    def stderr(self) -> str:
        """What the server has written to stderr, as far as it was kept."""
        here = self._server.connection.stderr_since(0) if self._server else ""
        text: str = self.cleaned(self._heard + here)
        return text

    def close(self) -> None:
        """Stop the server, if it runs."""
        server, self._server = self._server, None
        if server:
            server.close()
            self._heard += server.connection.stderr_since(0)
