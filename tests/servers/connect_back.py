"""Know that a process is alive or dead without asking it, without its id and without a sleep.

A fixture process calls home: it connects to a listener of the test and holds the
socket. Whatever ends the process, the kernel closes the socket, so the end of the
stream on the test's side proves the death. The port travels in an environment variable.
"""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

__all__ = ["PORT_VARIABLE", "Caller", "Listener", "call_home"]

PORT_VARIABLE = "MCPTEST_CONNECT_BACK"
_PATIENCE_S = 20.0


def call_home(name: str, port: str = "") -> socket.socket:
    """In the fixture: say who this is. Keep what is returned; never share it over a fork."""
    # Tests start thousands of servers, and few of those call.
    import socket  # noqa: PLC0415

    port = port or os.environ[PORT_VARIABLE]
    home = socket.create_connection(("127.0.0.1", int(port)))
    home.sendall(f"{name}\n".encode())
    return home


class Caller:
    """In the test: one process that called home."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(_PATIENCE_S)
        self._connection = connection
        self._words = connection.makefile("rb")
        self.name = self.next_word()

    def next_word(self) -> str:
        """The next line it sends; "" when it has ended."""
        try:
            return self._words.readline().decode().rstrip("\n")
        except ConnectionResetError:
            return ""

    def let_go(self) -> None:
        """Let a waiting process continue."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._connection.sendall(b"!")

    def is_dead_within(self, seconds: float) -> bool:
        """Wait for the end of the stream; False if it does not end."""
        self._connection.settimeout(seconds)
        try:
            while self._connection.recv(65536):
                pass
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        self._words.close()
        self._connection.close()


class Listener:
    """In the test: where fixtures call."""

    def __init__(self) -> None:
        import socket  # noqa: PLC0415  # see `call_home`

        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(_PATIENCE_S)
        self._callers: list[Caller] = []

    @property
    def environment(self) -> dict[str, str]:
        """What a fixture must find in its environment to call here."""
        return {PORT_VARIABLE: str(self._socket.getsockname()[1])}

    def next_caller(self) -> Caller:
        """Wait for the next process to call."""
        connection, _ = self._socket.accept()
        caller = Caller(connection)
        self._callers.append(caller)
        return caller

    def callers(self, *names: str) -> list[Caller]:
        """Wait for these processes, in whatever order they call; as many as there are names."""
        callers = [self.next_caller() for _ in names]
        assert sorted(caller.name for caller in callers) == sorted(names)
        return callers

    def close(self) -> None:
        for caller in self._callers:
            caller.close()
        self._socket.close()
