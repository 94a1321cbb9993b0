"""The SDK's side of the coprocess channel: start the binary, shake hands, ask, one at a time.

docs/coprocess.md is the contract. The version is a literal here, as in every SDK; a test holds
it against the binary's, the page's and the other SDKs'.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import threading
import time
import warnings

from mcptest import __version__
from mcptest.core.errors import ServerError
from mcptest.core.plan import Limits, ServerSpec
from mcptest.core.secrets import LEARNED
from mcptest.core.strict_json import dump_json
from mcptest.core.text import visible
from mcptest.protocol.framing import Frame, Overlong, encode_line
from mcptest.protocol.jsonrpc import id_key
from mcptest.sdk.arguments import (
    Told,
    config_of,
    mapping_of,
    path_of,
    plain_config,
    seconds_of,
    secrets_of,
    words_of,
)
from mcptest.sdk.errors import (
    MAYBE_DONE,
    BinaryError,
    ContractError,
    CoprocessError,
    CoprocessWarning,
    OverdueError,
    RefusedError,
    VersionError,
    blanked,
    quoted,
    quoted_line,
    refusal_of,
)
from mcptest.transport.lines import LinePeer, PeerEndedError, PeerSilentError
from mcptest.transport.process.stopping import describe_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType
    from typing import Any, NoReturn

    from mcptest.protocol.framing import Noise
    from mcptest.sdk.arguments import Command
    from mcptest.transport.lines import LinePeer

    Params = dict[str, Any] | None
    Id = int | str | None

__all__ = ["COPROCESS_PROTOCOL_VERSION", "Coprocess", "binary_command", "handed_over", "pass_on"]


COPROCESS_PROTOCOL_VERSION = 2

# Whoever reads a traceback in a test of their own has no use for what is in here.
__tracebackhide__ = True

_METHOD_NOT_FOUND, _INVALID_PARAMS = -32601, -32602
_ENVELOPE = frozenset(["jsonrpc", "id", "result", "error"])
_ERROR = frozenset(["code", "message", "data"])
_HELLO = frozenset(["protocol_version", "binary_version"])

_HANDSHAKE_S = 10.0
_FAREWELL_S = 10.0
# How soon whoever waits for an answer notices that another thread has closed the channel.
_SLICE_S = 0.25
# An answer is the server's, and a little around it.
_ENVELOPE_BYTES = 64 * 1024


class Coprocess:
    """One mcptest binary and the server behind it. Nothing is started before the first request.

    `server_command` starts the server, in `cwd` and with `env` on top of our own environment;
    `told` or a `spec` says more about it, and `spec_version` pins a revision of the protocol.
    `timeout` is for one answer of the binary, `call_timeout` for one of the server, in seconds:
    who gives up first tells what it saw.
    """

    def __init__(
        self,
        server_command: Command = (),
        *,
        told: Told | None = None,
        spec: ServerSpec | None = None,
        spec_version: str = "",
        cwd: str = "",
        env: dict[str, str] | None = None,
        timeout: float = 60.0,
        call_timeout: float | None = None,
    ) -> None:
        if spec:
            self._config, self._variables = config_of(spec, call_timeout or spec.timeout_s)
            spec_version = spec_version or spec.spec_version
            self._secrets = spec.secrets
        else:
            told = told or Told(
                command=words_of(server_command),
                cwd=path_of("cwd", cwd),
                env=mapping_of("env", env),
            )
            if not told.url and not (told.command and told.command[0]):
                raise ValueError("there is no server: give its command, or url=")
            self._words = told.command
            self._secrets = secrets_of(told, os.environ)
            self._config, self._variables = ({}, {}) if told.is_plain else plain_config(told)
        self._is_judged = spec is not None
        self._limits = spec.limits if spec else Limits()
        self._spec_version = spec_version
        self._call_timeout = call_timeout and seconds_of("call_timeout", call_timeout)
        self._timeout = seconds_of("timeout", timeout)
        self._peer: LinePeer | None = None
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._last_id = 0
        # What was begun and is not finished: whose it is, its method and its id.
        self._ahead: tuple[object, str, int | str] | None = None
        self._broken: CoprocessError | None = None
        self._is_closed = False
        self.binary_version = ""
        # How large the last answer was, in bytes.
        self.last_size = 0

    def request(
        self, method: str, params: Params = None, *, timeout: float | None = None, id: Id = None
    ) -> Any:
        """The result of a request; a `CoprocessError` when there is none.

        What the server is asked has the same id: the next number, unless one is given.
        """
        with self._lock:
            self._be_ready()
            self._settle()
            sent_id, line = self._next_request(method, params, id)
            with self._asked(method):
                self._send(line)
                return self._answer(method, sent_id, timeout or self._timeout)

    def begin(self, method: str, params: Params, token: object, id: Id = None) -> None:
        """Send a request whose answer `finish` takes: meanwhile there is something else to do."""
        with self._lock:
            self._be_ready()
            self._settle()
            sent_id, line = self._next_request(method, params, id)
            with self._asked(method):
                self._send(line)
                self._ahead = (token, method, sent_id)

    def finish(self, token: object, timeout: float) -> Any:
        """The answer to what was begun with this token; LookupError when nothing was."""
        with self._lock:
            begun = self._ahead
            if begun is None or begun[0] is not token:
                raise LookupError
            self._be_ready()
            with self._asked(begun[1]):
                self._ahead = None
                return self._answer(begun[1], begun[2], timeout)

    def start(self) -> None:
        """Start the binary and shake hands now, and not with the first request."""
        with self._lock:
            self._be_ready()

    def close(self) -> None:
        """Say goodbye; the binary stops the server and ends. Whoever still waits is told so."""
        self._is_closed = True
        with self._lock:
            peer, self._peer = self._peer, None
            if peer is None or os.getpid() != self._owner:
                return
            if peer.is_running and not self._broken:
                goodbye = {"jsonrpc": "2.0", "id": self._last_id + 1, "method": "mcp.shutdown"}
                peer.send(encode_line(goodbye))
            # Whoever is busy with something that nobody waits for any more is not waited for.
            is_awaited = self._ahead is None
            peer.close(_FAREWELL_S if is_awaited else _SLICE_S)
            told = [] if self._broken else last_words(peer, was_awaited=is_awaited)
        pass_on(told)

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

    def _be_ready(self) -> None:
        if self._is_closed:
            advice = "ask inside the with block, or open another one"
            raise CoprocessError(f"this connection has been left, and its server is gone: {advice}")
        if os.getpid() != self._owner:
            message = "this connection belongs to the process that opened it, and this is a fork"
            raise CoprocessError(f"{message} of it: open another one here")
        if self._broken:
            raise self._broken.with_traceback(None)
        if self._peer is None:
            self._start()

    def _start(self) -> None:
        LEARNED.add(*self._secrets)
        if not self._config:
            return self._start_with("--server-command", shlex.join(self._words))
        with handed_over(dump_json(self._config)) as path:
            return self._start_with("--config", path)

    def _start_with(self, *way: str) -> None:
        limit_s, pinned = self._call_timeout, self._spec_version
        way += ("--timeout", f"{limit_s * 1000:.0f}ms") if limit_s else ()
        way += ("--spec-version", pinned) if pinned else ()
        try:
            command = (*binary_command(), "exec", "--connection-server", *way)
            most = self._limits.max_line_bytes + _ENVELOPE_BYTES
            limits = Limits(max_line_bytes=most)
            spec = ServerSpec(name="mcptest", command=command, env=self._variables, limits=limits)
            self._peer = LinePeer(spec)
            self._peer.start()
            self._handshake()
        except ServerError as error:
            message = f"the mcptest binary cannot be started: {error.fault.message}"
            self._fail(BinaryError(f"{message}. Install mcptest, or set MCPTEST_BIN to it."))

    def _handshake(self) -> None:
        ours = COPROCESS_PROTOCOL_VERSION
        params = {"protocol_version": ours, "sdk": "python", "sdk_version": __version__}
        method = "coprocess/handshake"
        id, line = self._next_request(method, params, None)
        try:
            with self._asked(method):
                self._send(line)
                result = self._answer(method, id, min(_HANDSHAKE_S, self._timeout))
        except RefusedError as error:
            if error.code == _METHOD_NOT_FOUND:
                self._fail(VersionError(_upgrade(1)))
            if error.code == _INVALID_PARAMS:
                self._fail(VersionError(visible(error.message)))
            message = f"the mcptest binary refused the handshake: {error} (code {error.code})"
            self._fail(ContractError(message))
        theirs = result.get("protocol_version") if isinstance(result, dict) else None
        if not isinstance(theirs, int) or isinstance(theirs, bool):
            self._drift(f"the handshake was answered with {quoted(result)}")
        if theirs != ours:
            self._fail(VersionError(_upgrade(theirs)))
        surplus = [key for key in result if key not in _HELLO]
        if surplus:
            self._drift(f"the answer to the handshake has no member {quoted(surplus[0])}")
        self.binary_version = str(result.get("binary_version", ""))

    def _fail(self, error: CoprocessError) -> NoReturn:
        """Nothing more is asked of this binary."""
        self._end(error)
        raise error

    def _drift(self, message: str) -> NoReturn:
        advice = "the binary and this SDK are of different releases"
        self._fail(ContractError(f"contract drift: {message}; {advice}"))

    def _end(self, why: CoprocessError) -> None:
        self._broken = why
        if self._peer:
            self._peer.close(0.0, at_once=True)

    # One request

    @contextlib.contextmanager
    def _asked(self, method: str) -> Iterator[None]:
        """While something is asked: whoever gives it up, gives up the whole channel.

        Ctrl-C, a time limit of a test. Its answer may still come, and must not be taken for that
        of another request.
        """
        try:
            yield
        except CoprocessError:
            raise
        except BaseException as error:
            name = type(error).__name__
            self._end(CoprocessError(f"{method} was given up ({name}), and its answer may come"))
            raise

    def _next_request(self, method: str, params: Params, id: Id) -> tuple[int | str, bytes]:
        """The id of the next request, and its line."""
        assert self._peer is not None, "it was started"
        # What is here by now could be taken for the answer to what nobody has asked yet. Before
        # the first request it is the greeting of another program, and told as that.
        early = self._peer.waiting_items() if self._last_id else []
        if early:
            line = early[0].raw.decode("utf-8", "backslashreplace")
            self._drift(f"before {method} was asked, there came {quoted_line(line)}")
        self._last_id += 1
        sent_id = self._last_id if id is None else id
        request = {"jsonrpc": "2.0", "id": sent_id, "method": method}
        return sent_id, encode_line(request if params is None else {**request, "params": params})

    def _send(self, line: bytes) -> None:
        assert self._peer is not None, "it was started"
        self._peer.send(line)

    def _settle(self) -> None:
        """Take the answer to what was begun and is not wanted any more."""
        if self._ahead:
            _, method, id = self._ahead
            with contextlib.suppress(RefusedError), self._asked(method):
                self._ahead = None
                self._answer(method, id, self._timeout)

    def _answer(self, method: str, id: int | str, limit_s: float) -> Any:
        try:
            item = self._next_item(limit_s)
        except PeerEndedError as error:
            words = visible(error.stderr.strip(), keep_newlines=True)
            said = f"; its last words: {words}" if words else ""
            message = f"the mcptest binary ended before it answered {method}: {error.how}{said}"
            self._fail(BinaryError(message))
        except PeerSilentError:
            if self._is_closed:
                self._fail(CoprocessError(f"closed before {method} was answered"))
            # Its answer may still come, and must not be taken for that of another request.
            message = f"the mcptest binary did not answer {method} within {limit_s:g} s"
            asks = method.startswith("mcp.")
            self._fail(OverdueError(f"{message}; {MAYBE_DONE}" if asks else message))
        return self._result(item, method, id)

    def _next_item(self, limit_s: float) -> Frame | Noise | Overlong:
        assert self._peer is not None, "it was started"
        deadline = time.monotonic() + limit_s
        while True:
            moment = min(deadline, time.monotonic() + _SLICE_S)
            try:
                return self._peer.next_item(moment)
            except PeerSilentError:
                if self._is_closed or time.monotonic() >= deadline:
                    raise

    def _result(self, item: Frame | Noise | Overlong, method: str, id: int | str) -> Any:
        value = item.value if isinstance(item, Frame) else None
        if not isinstance(value, dict):
            line = item.raw.decode("utf-8", "backslashreplace")
            message = f"the mcptest binary answered {method} with a line that is no response"
            advice = "is MCPTEST_BIN the mcptest binary, and does nothing else write to its stdout?"
            self._fail(ContractError(f"{message}: {quoted_line(line)}; {advice}"))
        self.last_size = len(item.raw)
        self._check_envelope(value, method, id)
        if "error" not in value:
            return value["result"]
        said = value["error"]
        raise refusal_of(said["code"], said["message"], said.get("data"), is_judged=self._is_judged)

    def _check_envelope(self, value: dict[str, Any], method: str, id: int | str) -> None:
        surplus = [key for key in value if key not in _ENVELOPE]
        if surplus:
            self._drift(f"a response has no member {quoted(surplus[0])}")
        if value.get("jsonrpc") != "2.0" or ("result" in value) == ("error" in value):
            self._drift(f"the answer to {method} is no response: {quoted(value)}")
        if "error" in value and not _is_error(value["error"]):
            self._drift(f"the answer to {method} has no error that is one: {quoted(value)}")
        if "error" in value and value.get("id", 0) is None:
            said = visible(value["error"]["message"])
            self._fail(ContractError(f"the mcptest binary could not read {method}: {said}"))
        if id_key(value.get("id")) != id_key(id):
            self._drift(f"the answer to {method} has another id: {quoted(value.get('id'))}")


def _is_error(error: object) -> bool:
    if not isinstance(error, dict) or not error.keys() <= _ERROR:
        return False
    code = error.get("code")
    return type(code) is int and isinstance(error.get("message"), str)


def _upgrade(theirs: int) -> str:
    ours = COPROCESS_PROTOCOL_VERSION
    advice = (
        "Upgrade the mcptest binary (or pin the SDK to the matching release)."
        if theirs < ours
        else "Upgrade the python SDK (or pin the mcptest binary to the matching release)."
    )
    return f"mcptest binary speaks coprocess v{theirs}; this SDK needs v{ours}. {advice}"


# Which program is the mcptest binary, and what it is handed when it is started.


def binary_command() -> tuple[str, ...]:
    """The mcptest binary: what MCPTEST_BIN names, else the one of this very interpreter."""
    named = os.environ.get("MCPTEST_BIN", "").strip()
    if not named:
        # Not what happens to be called so in the folder where this is started.
        return (sys.executable, "-P", "-m", "mcptest")
    if os.path.exists(named):
        # One path may hold spaces; a command of several words is split.
        return (os.path.abspath(named) if os.sep in named else named,)
    try:
        return tuple(shlex.split(named))
    except ValueError as error:
        raise BinaryError(f"MCPTEST_BIN cannot be split into words: {error}") from None


@contextlib.contextmanager
def handed_over(text: str) -> Iterator[str]:
    """A path at which the binary can read this while it starts. Nobody else can."""
    raw = text.encode("utf-8", "surrogateescape")
    fd = _memory_with(raw)
    if fd >= 0:
        # No file: whatever ends us, nothing stays on a disc.
        try:
            yield _path_of(fd)
        finally:
            os.close(fd)
        return
    path = _written(raw)
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _memory_with(raw: bytes) -> int:
    """A descriptor of memory that has a path and holds this; -1 where there is no such thing."""
    if not hasattr(os, "memfd_create"):
        return -1
    fd = os.memfd_create("mcptest")
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(raw)
        if os.path.samestat(os.stat(_path_of(fd)), os.fstat(fd)):
            return fd
    except OSError:
        pass
    os.close(fd)
    return -1


def _path_of(fd: int) -> str:
    return f"/proc/{os.getpid()}/fd/{fd}"


def _written(raw: bytes) -> str:
    folder = os.environ.get("TMPDIR") or "/tmp"
    path = os.path.join(folder, f"mcptest-{os.urandom(12).hex()}.json")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fd, "wb") as file:
            file.write(raw)
    except OSError as error:
        message = f"what the server is started with cannot be written to {visible(folder)}"
        raise BinaryError(f"{message}: {error.strerror}; set TMPDIR to another folder") from None
    return path


# What a binary that has ended left to say, passed on to whoever used it.


_MARK = "warning: "


def last_words(peer: LinePeer, *, was_awaited: bool) -> list[str]:
    """The warnings of a binary, and how it ended when that was not as it should.

    Whoever was not awaited to end was ended by us.
    """
    text = "\n" + visible(peer.last_output, keep_newlines=True)
    found = [block.strip("\n") for block in text.split(f"\n{_MARK}") if block.strip()]
    if peer.exit_code and was_awaited:
        found.append(f"the mcptest binary {describe_end(peer.exit_code)}")
    return found


def pass_on(told: Iterable[str]) -> None:
    """Warn, at the line that is not ours. Whoever has warnings raised is left here."""
    for words in told:
        warnings.warn(blanked(words), CoprocessWarning, stacklevel=_outside())


def _outside() -> int:
    """How far up the stack the first caller is that is not in this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("mcptest"):
        frame, level = frame.f_back, level + 1
    return level
