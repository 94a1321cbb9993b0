"""One server for a command that asks it something; everything returned is free of secrets."""

from __future__ import annotations

import re

from mcptest.core.errors import ServerError
from mcptest.core.secrets import redact_all, redactor
from mcptest.engine.pool import ServerPool
from mcptest.protocol.revisions import STATELESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.plan import ServerSpec
    from mcptest.engine.server import Launcher, Server

    Message = dict[str, Any]

__all__ = ["SingleServer"]

_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_OWN_ID = r' \(id "mcptest-\d+"\)'


class SingleServer:
    """A session with one server.

    `after_waiting` is called after each wait for the server, to remove a progress line.
    """

    def __init__(
        self, spec: ServerSpec, launcher: Launcher, after_waiting: Callable[[], None]
    ) -> None:
        self.spec = spec
        self._pool = ServerPool(launcher)
        self._after_waiting = after_waiting
        self._server: Server | None = None
        self._redact = redactor(spec.secrets)
        self._handshake: Message = {}
        # Whether the server uses the revision without a handshake.
        self.is_stateless = False
        # What earlier processes of the server wrote to stderr.
        self._earlier_stderr = ""

    def open(self) -> None:
        """Start the server and shake hands; ServerError when that is impossible."""
        try:
            server, _ = self._pool.server_for(self.spec, None)
        finally:
            self._after_waiting()
        self._server = server
        self._handshake = self.cleaned(server.handshake)
        self.is_stateless = server.is_stateless

    @property
    def capabilities(self) -> Message:
        """The capabilities that the server declared in the handshake."""
        found = self._handshake.get("capabilities")
        return found if isinstance(found, dict) else {}

    @property
    def server_info(self) -> Message:
        """The server's name and version, as far as it declared them."""
        meta = self._handshake.get("_meta")
        # Without a handshake, they are in the metadata of the result.
        beside = meta.get(_SERVER_KEY) if isinstance(meta, dict) else None
        found = self._handshake.get("serverInfo", beside)
        return found if isinstance(found, dict) else {}

    @property
    def protocol_version(self) -> str:
        return str(self._handshake.get("protocolVersion", STATELESS if self.is_stateless else ""))

    @property
    def instructions(self) -> str:
        """The instructions that the server gives to its clients."""
        found = self._handshake.get("instructions")
        return found if isinstance(found, str) else ""

    def ask(self, method: str, params: dict[str, object]) -> Message:
        """The whole answer to a request; ServerError when there is none."""
        assert self._server is not None, "the server has not been opened"
        try:
            answer: Message = self._server.ask(method, params, self.spec.timeout_s)
        finally:
            self._after_waiting()
        cleaned: Message = self.cleaned(answer)
        return cleaned

    @property
    def unfinished(self) -> str:
        """Why the last answer did not complete the request; "" when it did."""
        return self.cleaned(self._server.unfinished) if self._server else ""

    def attempt(self, method: str, params: dict[str, object]) -> Message | str:
        """The whole answer, or a sentence that says why there is none.

        Starts a fresh server if the last one has ended or left a request unanswered.
        """
        try:
            if self._server is None or not self._server.is_usable:
                self.close()
                self.open()
            return self.ask(method, params)
        except ServerError as error:
            # It may be stuck, or answer late.
            self.close()
            # The ids of our own requests mean nothing to the user.
            message = re.sub(_OWN_ID, "", self.cleaned(error.fault.message))
            return f"{error.fault.kind}: {message}"

    def cleaned(self, value: Any) -> Any:
        """The same without the secrets that the server was given."""
        return redact_all(value, self._redact)

    @property
    def stderr(self) -> str:
        """What the server has written to stderr, as far as it was kept."""
        current = self._server.connection.stderr_since(0) if self._server else ""
        text: str = self.cleaned(self._earlier_stderr + current)
        return text

    def close(self) -> None:
        """Stop the server, if it runs."""
        server, self._server = self._server, None
        self._pool.retire()
        if server:
            self._earlier_stderr += server.connection.stderr_since(0)
