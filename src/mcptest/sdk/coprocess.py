"""The SDK's side of the coprocess channel: starts the binary, then one request at a time.

docs/coprocess.md is the contract. The version is a literal here, as in every SDK; a test compares
it with that of the binary, of the page and of the other SDKs.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import sys
import threading
import time
import warnings
from collections import deque

from mcptest import __version__
from mcptest.core.errors import ServerError, UsageError
from mcptest.core.plan import Limits, ServerSpec
from mcptest.core.secrets import LEARNED
from mcptest.core.strict_json import dump_json
from mcptest.core.text import visible
from mcptest.protocol.framing import Frame, Overlong, encode_line
from mcptest.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, id_key
from mcptest.sdk.arguments import (
    ServerArguments,
    build_config,
    build_options,
    check_mapping,
    check_path,
    check_seconds,
    list_secrets,
    name_arguments,
    split_command,
)
from mcptest.sdk.errors import (
    MAY_HAVE_RUN,
    BinaryError,
    ClosedError,
    ContractError,
    CoprocessError,
    CoprocessWarning,
    OverdueError,
    RefusedError,
    VersionError,
    build_refusal,
    hide_secrets,
    quote_json,
    quote_line,
)
from mcptest.transport.line_program import LinePeer, PeerEndedError, PeerSilentError
from mcptest.transport.process.stopping import describe_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, NoReturn

    from mcptest.protocol.framing import Noise
    from mcptest.sdk.arguments import Command

    Params = dict[str, Any] | None

__all__ = [
    "COPROCESS_PROTOCOL_VERSION",
    "RECENT_STDERR",
    "Coprocess",
    "binary_command",
    "emit_warnings",
    "temporary_file",
]


COPROCESS_PROTOCOL_VERSION = 2

# pytest leaves the frames of this module out of tracebacks.
__tracebackhide__ = True

_ENVELOPE = frozenset(["jsonrpc", "id", "result", "error"])
_ERROR = frozenset(["code", "message", "data"])
# Names the file to which the binary writes the server's stderr of a request.
_STDERR_VARIABLE = "MCPTEST_SERVER_STDERR"
_MAX_STDERR_BYTES = 64 * 1024
# What the servers of all connections wrote to stderr during the last requests, for pytest.
RECENT_STDERR: deque[str] = deque(maxlen=20)

_HANDSHAKE = frozenset(["protocol_version", "binary_version"])

# The exit status of a binary that does not accept its command line.
_BAD_INPUT = 2

_HANDSHAKE_S = 10.0
_SHUTDOWN_S = 10.0
# How often a waiting request checks whether another thread has closed the channel.
_POLL_S = 0.25
_MAX_REQUEST_BYTES = Limits().max_line_bytes
# An answer is the server's, and a little around it.
_ENVELOPE_BYTES = 64 * 1024


class Coprocess:
    """One mcptest binary and the server behind it. Nothing is started before the first request.

    `server_command` starts the server, in `cwd` and with `env` added to the environment; or
    `server` has all arguments. `spec_version` pins a revision of the protocol. `timeout` is for
    one answer of the binary, `call_timeout` for one of the server, in seconds; keep the second
    shorter, so that the binary can report what it saw.
    """

    def __init__(
        self,
        server_command: Command = (),
        *,
        server: ServerArguments | None = None,
        spec_version: str = "",
        cwd: str = "",
        env: dict[str, str] | None = None,
        timeout: float = 60.0,
        call_timeout: float | None = None,
    ) -> None:
        self._server = server or ServerArguments(
            command=split_command(server_command),
            cwd=check_path("cwd", cwd),
            env=check_mapping("env", env),
        )
        if not self._server.url and not (self._server.command and self._server.command[0]):
            raise ValueError("there is no server: give its command, or url=")
        self._spec_version = spec_version
        self._call_timeout = call_timeout and check_seconds("call_timeout", call_timeout)
        self._timeout = check_seconds("timeout", timeout)
        self._peer: LinePeer | None = None
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._last_id = 0
        self._broken: CoprocessError | None = None
        self._is_closed = False
        self._stderr: _StderrFile | None = None
        # Of each thread: what the server wrote to stderr during its last request.
        self._last = threading.local()
        self.binary_version = ""

    def request(self, method: str, params: Params = None, *, timeout: float | None = None) -> Any:
        """The result of a request; a `CoprocessError` when there is none."""
        self._last.stderr = ""
        with self._lock:
            self._make_ready(method)
            try:
                result = self._request(method, params, timeout or self._timeout)
            except RefusedError as error:
                error.add_stderr(self._read_stderr())
                raise
            self._last.stderr = self._read_stderr()
            return result

    def _read_stderr(self) -> str:
        text = self._stderr.read() if self._stderr else ""
        if text:
            RECENT_STDERR.append(text)
        return text

    @property
    def last_stderr(self) -> str:
        """What the server wrote to stderr during the last request of this thread."""
        return str(getattr(self._last, "stderr", ""))

    def start(self) -> None:
        """Start the binary now instead of with the first request."""
        with self._lock:
            self._make_ready()

    def close(self) -> None:
        """Shut down; the binary stops the server and ends. Waiting requests fail."""
        self._is_closed = True
        with self._lock:
            peer, self._peer = self._peer, None
            if peer is None or os.getpid() != self._owner:
                return
            if peer.is_running and not self._broken:
                shutdown = {"jsonrpc": "2.0", "id": self._last_id + 1, "method": "mcp.shutdown"}
                peer.send(encode_line(shutdown))
            peer.close(_SHUTDOWN_S)
            if self._stderr:
                self._stderr.close()
        if not self._broken:
            emit_warnings(_read_warnings(peer))

    def __enter__(self) -> Coprocess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Starting

    def _make_ready(self, method: str = "") -> None:
        """Have the binary running, or raise why it cannot be used, by this method."""
        if self._is_closed:
            message = "this connection has been left, and its server is gone"
            message += f", so {method} was not sent" if method else ""
            raise ClosedError(f"{message}: ask inside the with block, or open another one")
        if os.getpid() != self._owner:
            message = "this connection belongs to the process that opened it, and this is a fork"
            raise CoprocessError(f"{message} of it: open another one here")
        if self._broken:
            raise self._broken.with_traceback(None)
        if self._peer:
            return
        self._stderr = _StderrFile()
        LEARNED.add(*list_secrets(self._server, os.environ))
        options, variables = build_options(self._server)
        if not self._server.client:
            self._start_binary(variables, *options)
            return
        with temporary_file(dump_json(build_config(self._server))) as path:
            self._start_binary(variables, "--config", path, *options)

    def _start_binary(self, variables: dict[str, str], *options: str) -> None:
        limit_s, pinned = self._call_timeout, self._spec_version
        options += ("--timeout", f"{limit_s * 1000:.0f}ms") if limit_s else ()
        options += ("--spec-version", pinned) if pinned else ()
        try:
            command = (*binary_command(), "exec", "--connection-server", *options)
            limits = Limits(max_line_bytes=Limits().max_line_bytes + _ENVELOPE_BYTES)
            if self._stderr and self._stderr.path:
                variables = {**variables, _STDERR_VARIABLE: self._stderr.path}
            spec = ServerSpec(name="mcptest", command=command, env=variables, limits=limits)
            self._peer = LinePeer(spec)
            self._peer.start()
            self._handshake()
        except UsageError as error:
            self._fail(BinaryError(f"{error.message}; {error.help}"))
        except ServerError as error:
            if os.strerror(errno.E2BIG) in error.fault.message:
                message = "server_command and env are longer than the system allows"
                self._fail(
                    BinaryError(f"{message}: all of env together has up to 128 KiB on Linux")
                )
            message = f"the mcptest binary cannot be started: {error.fault.message}"
            self._fail(BinaryError(f"{message}. Install mcptest, or set MCPTEST_BIN to it."))

    def _handshake(self) -> None:
        ours = COPROCESS_PROTOCOL_VERSION
        params = {"protocol_version": ours, "sdk": "python", "sdk_version": __version__}
        try:
            result = self._request("coprocess/handshake", params, _HANDSHAKE_S)
        except RefusedError as error:
            if error.code == METHOD_NOT_FOUND:
                self._fail(VersionError(_describe_upgrade(1)))
            if error.code == INVALID_PARAMS:
                self._fail(VersionError(visible(error.message)))
            message = f"the mcptest binary refused the handshake: {error} (code {error.code})"
            self._fail(ContractError(message))
        theirs = result.get("protocol_version") if isinstance(result, dict) else None
        if not isinstance(theirs, int) or isinstance(theirs, bool):
            self._fail_contract(f"the handshake was answered with {quote_json(result)}")
        if theirs != ours:
            self._fail(VersionError(_describe_upgrade(theirs)))
        surplus = [key for key in result if key not in _HANDSHAKE]
        if surplus:
            self._fail_contract(
                f"the answer to the handshake has no member {quote_json(surplus[0])}"
            )
        self.binary_version = str(result.get("binary_version", ""))

    def _fail(self, error: CoprocessError) -> NoReturn:
        """End the binary; every later request raises the same error."""
        self._abandon(error)
        raise error

    def _fail_contract(self, message: str) -> NoReturn:
        advice = "the binary and this SDK are of different releases"
        self._fail(ContractError(f"contract drift: {message}; {advice}"))

    def _abandon(self, why: CoprocessError) -> None:
        self._broken = why
        if self._peer:
            self._peer.close(0.0, at_once=True)

    # One request

    def _request(self, method: str, params: Params, limit_s: float) -> Any:
        assert self._peer is not None, "it was started"
        # A line that is already here was sent before this request and must not be taken for its
        # answer. Before the first request it is the output of another program, which is reported
        # when the answer to the handshake is read.
        early = self._peer.waiting_items() if self._last_id else []
        if early:
            line = early[0].raw.decode("utf-8", "backslashreplace")
            self._fail_contract(f"before {method} was asked, there came {quote_line(line)}")
        request = {"jsonrpc": "2.0", "id": self._last_id + 1, "method": method}
        raw = encode_line(request if params is None else {**request, "params": params})
        if len(raw) > _MAX_REQUEST_BYTES:
            limit = f"a request has up to {_MAX_REQUEST_BYTES}"
            raise ValueError(f"{method} was not sent: it has {len(raw)} bytes, and {limit}")
        self._last_id += 1
        try:
            self._peer.send(raw)
            return self._read_result(self._read_item(method, limit_s), method)
        except CoprocessError:
            raise
        except BaseException as error:
            # Ctrl-C, or the time limit of a test. The answer may still come, and must not be taken
            # for that of another request.
            name = type(error).__name__
            self._abandon(ClosedError(f"{method} was given up ({name}), and its answer may come"))
            raise

    def _read_item(self, method: str, limit_s: float) -> Frame | Noise | Overlong:
        assert self._peer is not None, "it was started"
        deadline = time.monotonic() + limit_s
        while True:
            try:
                return self._peer.next_item(min(deadline, time.monotonic() + _POLL_S))
            except PeerEndedError as error:
                stderr = visible(error.stderr.strip(), keep_newlines=True)
                message = f"the mcptest binary ended before it answered {method}: {error.how}"
                _, _, mistake = f"\n{stderr}".partition("\nerror: ")
                # It does not accept an argument of the user.
                if self._peer.exit_code == _BAD_INPUT and mistake:
                    self._fail(BinaryError(f"{name_arguments(mistake)} ({message})"))
                self._fail(
                    BinaryError(f"{message}; its last words: {stderr}" if stderr else message)
                )
            except PeerSilentError:
                if self._is_closed:
                    self._fail(ClosedError(f"closed before {method} was answered"))
                if time.monotonic() >= deadline:
                    message = f"the mcptest binary did not answer {method} within {limit_s:g} s"
                    is_call = method.startswith("mcp.")
                    self._fail(OverdueError(f"{message}; {MAY_HAVE_RUN}" if is_call else message))

    def _read_result(self, item: Frame | Noise | Overlong, method: str) -> Any:
        if isinstance(item, Overlong):
            message = f"the mcptest binary answered {method} with a line of more than"
            beginning = quote_line(item.raw.decode("utf-8", "backslashreplace"))
            self._fail(ContractError(f"{message} {item.limit} bytes; it begins with {beginning}"))
        value = item.value if isinstance(item, Frame) else None
        if not isinstance(value, dict):
            line = item.raw.decode("utf-8", "backslashreplace")
            message = f"the mcptest binary answered {method} with a line that is not a response"
            advice = "is MCPTEST_BIN the mcptest binary, and does nothing else write to its stdout?"
            self._fail(ContractError(f"{message}: {quote_line(line)}; {advice}"))
        surplus = [key for key in value if key not in _ENVELOPE]
        if surplus:
            self._fail_contract(f"a response has no member {quote_json(surplus[0])}")
        if value.get("jsonrpc") != "2.0" or ("result" in value) == ("error" in value):
            self._fail_contract(f"the answer to {method} is not a response: {quote_json(value)}")
        if "error" in value and not _is_error(value["error"]):
            self._fail_contract(f"the answer to {method} has an invalid error: {quote_json(value)}")
        error = value.get("error")
        if error and value.get("id", 0) is None:
            message = visible(error["message"])
            self._fail(ContractError(f"the mcptest binary could not read {method}: {message}"))
        if id_key(value.get("id")) != id_key(self._last_id):
            found = quote_json(value.get("id"))
            self._fail_contract(f"the answer to {method} has another id: {found}")
        if error:
            raise build_refusal(error["code"], error["message"], error.get("data"))
        return value["result"]


def _is_error(error: object) -> bool:
    return (
        isinstance(error, dict)
        and error.keys() <= _ERROR
        and type(error.get("code")) is int
        and isinstance(error.get("message"), str)
    )


def _describe_upgrade(theirs: int) -> str:
    ours = COPROCESS_PROTOCOL_VERSION
    advice = (
        "Upgrade the mcptest binary (or pin the SDK to the matching release)."
        if theirs < ours
        else "Upgrade the python SDK (or pin the mcptest binary to the matching release)."
    )
    return f"mcptest binary speaks coprocess v{theirs}; this SDK needs v{ours}. {advice}"


def binary_command() -> tuple[str, ...]:
    """The mcptest binary: what MCPTEST_BIN names, else that of this interpreter."""
    named = os.environ.get("MCPTEST_BIN", "").strip()
    if not named:
        # -P: a folder called mcptest where this is started must not be imported.
        return (sys.executable, "-P", "-m", "mcptest")
    if os.path.exists(named):
        # A path may contain spaces; anything else is split like a command.
        return (os.path.abspath(named) if os.sep in named else named,)
    return split_binary(named)


def split_binary(text: str) -> tuple[str, ...]:
    """The words of a command in MCPTEST_BIN, split as a shell would."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise BinaryError(f"MCPTEST_BIN cannot be split into words: {error}") from None


# The config for the binary


@contextlib.contextmanager
def temporary_file(text: str) -> Iterator[str]:
    """A path at which only this user's processes can read the text while the binary starts."""
    raw = text.encode("utf-8", "surrogateescape")
    fd = _make_memory_file(raw)
    if fd >= 0:
        # However this process ends, no file is left on disk.
        try:
            yield _memory_path(fd)
        finally:
            os.close(fd)
        return
    folder = os.environ.get("TMPDIR") or "/tmp"
    path = os.path.join(folder, f"mcptest-{os.urandom(12).hex()}.json")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fd, "wb") as file:
            file.write(raw)
    except OSError as error:
        message = f"what the server is started with cannot be written to {visible(folder)}"
        raise BinaryError(f"{message}: {error.strerror}; set TMPDIR to another folder") from None
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


class _StderrFile:
    """The file to which the binary writes what the server wrote to stderr during a request.

    A memory file, of which nothing is left however this process ends; elsewhere there is none.
    """

    def __init__(self) -> None:
        self._fd = _make_memory_file(b"")
        self.path = _memory_path(self._fd) if self._fd >= 0 else ""

    def read(self) -> str:
        if self._fd < 0:
            return ""
        raw = os.pread(self._fd, _MAX_STDERR_BYTES, 0)
        return str(hide_secrets(raw.decode("utf-8", "backslashreplace")))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    __del__ = close


def _make_memory_file(raw: bytes) -> int:
    """A memory file with this content and a path in /proc; -1 where there are none."""
    if not hasattr(os, "memfd_create"):
        return -1
    fd = os.memfd_create("mcptest")
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(raw)
        if os.path.samestat(os.stat(_memory_path(fd)), os.fstat(fd)):
            return fd
    except OSError:
        pass
    os.close(fd)
    return -1


def _memory_path(fd: int) -> str:
    return f"/proc/{os.getpid()}/fd/{fd}"


# Warnings


def emit_warnings(messages: Iterable[str]) -> None:
    """Emit a `CoprocessWarning` for each, at the first caller outside this package."""
    frame, level = sys._getframe(0), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("mcptest"):
        frame, level = frame.f_back, level + 1
    for message in messages:
        warnings.warn(hide_secrets(message), CoprocessWarning, stacklevel=level)


def _read_warnings(peer: LinePeer) -> list[str]:
    """The warnings that an ended binary wrote to stderr, and its status if it failed."""
    text = "\n" + visible(peer.last_output, keep_newlines=True)
    found = [block.strip("\n") for block in text.split("\nwarning: ") if block.strip()]
    if peer.exit_code:
        found.append(f"the mcptest binary {describe_end(peer.exit_code)}")
    return found
