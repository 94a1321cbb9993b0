"""The SDK's side of the coprocess channel: start the binary, shake hands, ask, one at a time.

docs/coprocess.md is the contract. The version is a literal here, as in every SDK; a test holds
it against the binary's, the page's and the other SDKs'.
"""

from __future__ import annotations

import os
import shlex
import sys
import threading
import time

from mcptest import __version__
from mcptest.core.errors import McptestError, ServerError
from mcptest.core.framing import Frame, Overlong, encode_line
from mcptest.core.jsonrpc import id_key
from mcptest.core.plan import ServerSpec
from mcptest.core.strict_json import dump_json
from mcptest.core.visible import visible
from mcptest.wire.line_peer import LinePeer, PeerEndedError, PeerSilentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any, NoReturn

    from mcptest.core.framing import Noise

__all__ = [
    "COPROCESS_PROTOCOL_VERSION",
    "BinaryError",
    "ContractError",
    "Coprocess",
    "CoprocessError",
    "RefusedError",
    "UpstreamError",
    "UpstreamGoneError",
    "VersionError",
    "binary_command",
]

COPROCESS_PROTOCOL_VERSION = 2

_METHOD_NOT_FOUND, _INVALID_PARAMS = -32601, -32602
_UPSTREAM_ERROR, _UPSTREAM_GONE = -32000, -32001
_ENVELOPE = frozenset(["jsonrpc", "id", "result", "error"])

_HANDSHAKE_S = 10.0
_FAREWELL_S = 10.0
_MAX_QUOTED = 200


class CoprocessError(McptestError):
    """The channel, or what is behind it, failed a call."""


class BinaryError(CoprocessError):
    """The mcptest binary cannot be started, ended, or says nothing."""


class VersionError(CoprocessError):
    """The binary and this SDK speak different versions; the sentence says which to upgrade."""


class ContractError(CoprocessError):
    """The binary answered something that this version of the contract does not know."""


class RefusedError(CoprocessError):
    """The binary refused a request."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class UpstreamError(RefusedError):
    """The server under test said no; `data` has its own code and message."""


class UpstreamGoneError(RefusedError):
    """The server under test could not be started, or is gone; `data` has what it left behind."""


def binary_command() -> tuple[str, ...]:
    """The mcptest binary: what MCPTEST_BIN names, else the one of this very interpreter."""
    named = os.environ.get("MCPTEST_BIN", "").strip()
    # One path may hold spaces; a command of several words is split.
    if named:
        return (named,) if os.path.exists(named) else tuple(shlex.split(named))
    return (sys.executable, "-m", "mcptest")


class Coprocess:
    """One mcptest binary and the server behind it. Nothing is started before the first request."""

    def __init__(
        self,
        server_command: str | Sequence[str],
        *,
        cwd: str = "",
        env: dict[str, str] | None = None,
        timeout: float = 60.0,
        call_timeout: float | None = None,
    ) -> None:
        words = server_command if isinstance(server_command, str) else shlex.join(server_command)
        more = ("--timeout", f"{call_timeout * 1000:g}") if call_timeout else ()
        command = (
            *binary_command(),
            *("exec", "--connection-server", "--server-command", words, *more),
        )
        self._peer = LinePeer(ServerSpec(name="mcptest", command=command, cwd=cwd, env=env or {}))
        self._timeout = timeout
        self._lock = threading.Lock()
        self._last_id = 0
        self._broken: CoprocessError | None = None
        self._is_closed = False
        self.binary_version = ""

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of a request; a `CoprocessError` when there is none."""
        with self._lock:
            if self._is_closed:
                raise CoprocessError("this coprocess is closed")
            if self._broken:
                raise self._broken
            if not self._peer.is_running:
                self._start()
            return self._ask(method, params, self._timeout)

    def start(self) -> None:
        """Start the binary and shake hands now, and not with the first request."""
        with self._lock:
            if not self._peer.is_running and not self._is_closed:
                self._start()

    def close(self) -> None:
        """Say goodbye; the binary stops the server and ends."""
        with self._lock:
            if not self._is_closed and self._peer.is_running and not self._broken:
                self._last_id += 1
                goodbye = {"jsonrpc": "2.0", "id": self._last_id, "method": "mcp.shutdown"}
                self._peer.send(encode_line(goodbye))
            self._is_closed = True
            self._peer.close(_FAREWELL_S)

    def __enter__(self) -> Coprocess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Starting

    def _start(self) -> None:
        try:
            self._peer.start()
        except ServerError as error:
            message = f"the mcptest binary cannot be started: {error.fault.message}"
            self._fail(BinaryError(f"{message}. Install mcptest, or set MCPTEST_BIN to it."))
        self._handshake()

    def _handshake(self) -> None:
        ours = COPROCESS_PROTOCOL_VERSION
        params = {"protocol_version": ours, "sdk": "python", "sdk_version": __version__}
        try:
            result = self._ask("coprocess/handshake", params, _HANDSHAKE_S)
        except RefusedError as error:
            if error.code == _METHOD_NOT_FOUND:
                self._fail(VersionError(_upgrade(1)))
            self._fail(VersionError(error.message))
        theirs = result.get("protocol_version") if isinstance(result, dict) else None
        if not isinstance(theirs, int) or isinstance(theirs, bool):
            self._fail(ContractError(f"the handshake was answered with {_quoted(result)}"))
        if theirs != ours:
            self._fail(VersionError(_upgrade(theirs)))
        self.binary_version = str(result.get("binary_version", ""))

    def _fail(self, error: CoprocessError) -> NoReturn:
        """Nothing more is asked of this binary."""
        self._broken = error
        self._peer.close(0.0, at_once=True)
        raise error

    # One request

    def _ask(self, method: str, params: dict[str, Any] | None, limit_s: float) -> Any:
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
        self._peer.send(encode_line(request if params is None else {**request, "params": params}))
        try:
            item = self._peer.next_item(time.monotonic() + limit_s)
        except PeerEndedError as error:
            said = f"; its last words: {visible(error.stderr.strip())}" if error.stderr else ""
            message = f"the mcptest binary ended before it answered {method}: {error.how}{said}"
            self._fail(BinaryError(message))
        except PeerSilentError:
            # Its answer may still come, and must not be taken for that of another request.
            message = f"the mcptest binary did not answer {method} within {limit_s:g} s"
            self._fail(BinaryError(message))
        return self._result(item, method)

    def _result(self, item: Frame | Noise | Overlong, method: str) -> Any:
        value = item.value if isinstance(item, Frame) else None
        if not isinstance(value, dict):
            line = item.raw.decode("utf-8", "backslashreplace")
            message = f"the mcptest binary answered {method} with a line that is no response"
            advice = "is MCPTEST_BIN the mcptest binary, and does nothing else write to its stdout?"
            self._fail(ContractError(f"{message}: {visible(line[:_MAX_QUOTED])}; {advice}"))
        self._check_envelope(value, method)
        if "error" not in value:
            return value["result"]
        raise _refusal(value["error"])

    def _check_envelope(self, value: dict[str, Any], method: str) -> None:
        surplus = [key for key in value if key not in _ENVELOPE]
        if surplus:
            self._fail(ContractError(_drift(f'a response has no member "{surplus[0]}"')))
        if value.get("jsonrpc") != "2.0" or ("result" in value) == ("error" in value):
            message = f"the answer to {method} is no response: {_quoted(value)}"
            self._fail(ContractError(_drift(message)))
        if id_key(value.get("id")) != id_key(self._last_id):
            message = f"the answer to {method} has another id: {_quoted(value.get('id'))}"
            self._fail(ContractError(_drift(message)))


def _refusal(error: object) -> RefusedError:
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return RefusedError(0, f"an error without a code: {_quoted(error)}")
    kinds = {_UPSTREAM_ERROR: UpstreamError, _UPSTREAM_GONE: UpstreamGoneError}
    kind = kinds.get(error["code"], RefusedError)
    return kind(error["code"], str(error.get("message", "")), error.get("data"))


def _upgrade(theirs: int) -> str:
    ours = COPROCESS_PROTOCOL_VERSION
    advice = (
        "Upgrade the mcptest binary (or pin the SDK to the matching release)."
        if theirs < ours
        else "Upgrade the python SDK (or pin the mcptest binary to the matching release)."
    )
    return f"mcptest binary speaks coprocess v{theirs}; this SDK needs v{ours}. {advice}"


def _drift(message: str) -> str:
    return f"contract drift: {message}; the binary and this SDK are of different releases"


def _quoted(value: object) -> str:
    text = dump_json(value)
    return visible(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…")
