"""A small SDK and its adapter, right or with one fault, to test the kit with.

    wrong_sdk.py            keeps the contract
    wrong_sdk.py FAULT      has one of the `FAULTS`

It shares no code with the SDK for Python. Each fault is one that a real SDK could have, and names
the row of the kit that notices it.
"""

from __future__ import annotations

import codecs
import collections
import contextlib
import json
import math
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Any, NoReturn

Json = dict[str, Any]

# What can be wrong, and the row that notices.
FAULTS = {
    # The binary
    "a path with a space is split": "starting: a path with a space that exists is one word",
    "the path is not searched": "starting: without MCPTEST_BIN it is mcptest on the path",
    "a missing binary is another error": "starting: no binary",
    "MCPTEST_BIN is not named": "starting: a binary that is a folder",
    "bad quoting is guessed at": "words: split a quote that does not end",
    "words are split at spaces": "words: split double quotes",
    "words are not quoted": "words: quote spaces",
    "empty words are lost": "words: quote an empty word",
    "a mistake in an option is only quoted": (
        "starting: a mistake in the command line is what matters, not the warning before it"
    ),
    # The handshake
    "no handshake": "calls: list_tools",
    "the handshake has no name": "calls: list_tools",
    "another version is accepted": "starting: a binary that is one version ahead",
    "-32601 to the handshake is accepted": "starting: a binary without a handshake",
    "something is sent after a mismatch": "starting: a binary that is one version behind",
    "the wrong side is to be upgraded": "starting: a binary that is one version ahead",
    "the handshake waits forever": "starting: no answer to the handshake",
    "the handshake has the limit of a call": (
        "starting: a handshake may take longer than the limit of a call"
    ),
    # Ids and envelopes
    "ids begin at 0": "calls: list_tools",
    "ids are text": "calls: list_tools",
    "all ids are 1": "calls: many calls in a row",
    "any id is accepted": "contract: the id of another request",
    "an id of another type is accepted": "frame: strictness: the id as text",
    "members in any case": "frame: strictness: the member id in another case",
    "success in any case": "frame: verdict: success in another case is the server's own",
    "members that there are not": "frame: strictness: a member that there is not",
    "members of errors that there are not": (
        "frame: strictness: a member of an error that there is not"
    ),
    "a result and an error": "frame: strictness: a result and an error",
    "jsonrpc is not read": "frame: strictness: jsonrpc 1.0",
    "a code with a fraction": "frame: strictness: a code with a fraction",
    # Lines
    "half a line is accepted": "dying: a whole answer without a newline, then the end",
    "half a line is not shown": "dying: half a line, then the end",
    "a line may have any length": "contract: a line of one byte more",
    "a line may have 64 MiB": "contract: a line of 64 MiB and 64 KiB",
    "a line is read to its end": "contract: a line that does not end",
    "lines that are no JSON are skipped": "contract: a line that is not a response",
    "a banner is skipped": "starting: a banner before the handshake is answered",
    "an empty line is no JSON": "contract: empty lines are passed over",
    "invalid UTF-8 is replaced": "frame: not-json: bytes that are no UTF-8",
    "each chunk is decoded": "contract: a character in pieces",
    "a byte order mark is skipped": "frame: not-json: a byte order mark",
    "duplicate keys are accepted": "frame: not-json: a key twice, and the last one fits",
    "NaN is accepted": "frame: big-numbers: NaN",
    "numbers are doubles": "frame: big-numbers: an integer beyond them",
    "the parser goes 128 levels deep": "frame: large-payload: two hundred levels",
    "the parser goes any depth": "frame: large-payload: two hundred and one levels",
    "Unicode ends lines": "frame: unicode: line separators of Unicode end no line",
    # Answers and requests
    "an early answer is taken": "contract: an answer before the request",
    "a late answer is taken for the next": "time: a late answer is not taken for the next",
    "calls go on after a contract error": "contract: the id of the next request",
    "two calls are interleaved": (
        "concurrent: one at a time: the next is sent when the previous was answered"
    ),
    "large requests are interleaved": "concurrent: large requests do not get mixed up",
    "the limit includes the queue": (
        "concurrent: a waiting call does not use up the time of the next"
    ),
    "the last call is sent first": "concurrent: concurrent calls are sent in order",
    # Time
    "a call waits forever": "time: no answer in time",
    "every byte extends the limit": "time: half a line does not extend the limit",
    "a write waits forever": "time: a large request to a binary that does not read",
    "the effect is not mentioned": "time: no answer in time",
    "the limit is not mentioned": "time: no answer in time",
    "the next error is another one": "time: no answer in time",
    "cancelling is ignored": "time: a cancelled call stops the binary",
    "cancelling leaves the binary": (
        "time: the answer to a cancelled call is not taken for the next"
    ),
    # Standard error and the end
    "stderr is not drained": "stderr: 3 MB on stderr during a call",
    "stderr is drained during calls": "stderr: 3 MB on stderr at the end",
    "stderr is lost": "dying: the binary dies during a call",
    "stderr is kept from the beginning": "stderr: of 3 MB the last lines are in the message",
    "stderr must be UTF-8": "stderr: stderr that is not UTF-8",
    "the exit status is lost": "dying: the binary dies during a call",
    "the end of the output is waited for": (
        "dying: a process that is left has the pipes of the binary"
    ),
    "its process group is killed instead": (
        "dying: a process that is left has the pipes of the binary"
    ),
    "closing waits for the end of stderr": (
        "closing: a process that is left has the pipes of the binary"
    ),
    "warnings are lost": "stderr: warnings are passed on at the end",
    "control characters are shown": "dying: control characters in the last words are escaped",
    "a line is shown whole": "contract: a long line is shown in part, and its control characters "
    "escaped",
    "no mcp.shutdown": "closing: closed after a call",
    "no kill": "closing: a binary that ignores the end of its input and SIGTERM",
    "a broken binary is stopped by closing": (
        "closing: stopped at once by a contract error, without being closed"
    ),
    "no kill after a timeout": "closing: a binary that ignores SIGTERM and does not answer",
    "closing waits for the call": "closing: closed while a call waits",
    "closing twice fails": "closing: closed twice",
    "a closed connection is another error": "closing: used after closing",
    "a closed connection is opened again": "closing: used after closing",
    "a forgotten connection keeps the program": "closing: never closed",
    "a forgotten binary is left": "closing: kill -9 during a call",
    # Verdicts, errors, calls
    "undeclared fields are accepted": "frame: verdict: a field that there is not",
    "undeclared fields end the connection": (
        "contract: a verdict with a field that is not declared fails its own call only"
    ),
    "success may be 1": "frame: verdict: success that is 1",
    "only true is an error": "calls: isError that is text is no success",
    "null is no error": "calls: isError that is null is no success",
    "texts are joined by nothing": (
        "frame: verdict: blocks of text are joined by newlines, and others left out"
    ),
    "no text is empty": "frame: verdict: no blocks are no text",
    "a failure without words": "frame: verdict: a tool that failed without a word",
    "a failed tool is an error": "calls: a tool that fails is a verdict",
    "all codes are one kind": "errors: -32001 is upstream_gone",
    "the data of errors is lost": "frame: errors: data of any type",
    "hints are lost": "errors: a hint and an indefinite effect are in the message",
    "data of the server is taken for ours": (
        "errors: data of the server's own is not taken for that of the binary"
    ),
    "a request of any size is sent": "calls: a request of more than 64 MiB is not sent",
    "NaN is sent": "calls: arguments that JSON cannot express",
    "text is sent as ASCII": "calls: text of every kind goes out and comes back",
    "the prompt has empty arguments": "calls: get_prompt",
    "connecting does not initialize": "connecting: connecting initializes the server",
    "secrets are not named": "connecting: a folder, variables and a limit to start",
    "limits are in seconds": "connecting: the limit of the server's answers",
    # Lanes and suites
    "another sentence for lanes": "lanes: compliance of a suite",
    "the suite is not quoted": "lanes: compliance of my tests/mcptest.yaml",
    "a lane is forgotten": "lanes: those that cannot be driven",
    "any status is accepted": "suite frame: strictness: an unknown status",
    "any version of a list is accepted": "suite frame: strictness: a list of another version",
    "any member of a list is accepted": (
        "suite frame: strictness: a list with a member that there is not"
    ),
    "two tests may have one id": "suite frame: strictness: two tests with one id",
    "types in lists are not read": "suite frame: strictness: tests that are no list",
    "a bad verdict ends the suite": "suite: a verdict of another shape fails its own test only",
    "the skip reason is lost": "suite: list",
    "a test has the limit of a call": "suite: a test may take as long as it says, and 15 s",
}

FAULT = " ".join(sys.argv[1:])


def has(fault: str) -> bool:
    assert fault in FAULTS, fault
    return fault == FAULT


VERSION = 2
NAME = "wrong"
MAX_REQUEST_BYTES = 64 * 1024 * 1024
MAX_LINE = 64 * 1024 * 1024 + 64 * 1024
HANDSHAKE_S = 10.0
SHUTDOWN_S = 10.0
USUAL_S = 45.0
MAY = "it may have taken effect"


class SdkError(Exception):
    def __init__(self, kind: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.more = more


# Words


def quote(words: list[str]) -> str:
    if has("words are not quoted"):
        return " ".join(words)
    if has("empty words are lost"):
        words = [word for word in words if word]
    return " ".join(shlex.quote(word) for word in words)


def split(text: str) -> list[str]:
    if has("words are split at spaces"):
        return text.split()
    try:
        return shlex.split(text)
    except ValueError as error:
        if has("bad quoting is guessed at"):
            return text.split()
        raise SdkError("binary", f"MCPTEST_BIN cannot be split: {error}") from None


def find_binary() -> list[str]:
    named = os.environ.get("MCPTEST_BIN", "").strip()
    if not named:
        found = None if has("the path is not searched") else shutil.which("mcptest")
        return [found or "/usr/bin/mcptest"]
    if os.path.exists(named) and not has("a path with a space is split"):
        return [named]
    return split(named)


LANES = ["agents", "compliance", "security", "evals"]


def lane_hint(lane: str, suite: str | None) -> str:
    command = {"compliance": "compliance run --from-suite", "evals": "eval"}.get(lane, "run")
    if has("another sentence for lanes"):
        command = "run"
    where = "<suite>" if suite is None else shlex.quote(suite)
    if has("the suite is not quoted") and suite:
        where = suite
    return f'lane "{lane}" is not drivable over the SDK channel; run: mcptest {command} {where}'


# JSON


def parse(raw: bytes) -> Any:
    def pairs(found: list[tuple[str, Any]]) -> Json:
        if len(dict(found)) != len(found) and not has("duplicate keys are accepted"):
            raise ValueError("a key occurs twice")
        return dict(found)

    def constant(name: str) -> float:
        if has("NaN is accepted"):
            return 0.0
        raise ValueError(name)

    def number(text: str) -> float:
        if math.isinf(float(text)):
            raise ValueError("no double holds it")
        return float(text)

    if has("a byte order mark is skipped"):
        raw = raw.removeprefix(codecs.BOM_UTF8)
    text = raw.decode("utf-8", "replace" if has("invalid UTF-8 is replaced") else "strict")
    whole = float if has("numbers are doubles") else int
    value = json.loads(
        text, object_pairs_hook=pairs, parse_constant=constant, parse_float=number, parse_int=whole
    )
    deepest = 128 if has("the parser goes 128 levels deep") else 200
    if depth_of(value) > deepest and not has("the parser goes any depth"):
        raise ValueError("too deep")
    return value


def depth_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(depth_of, inner), default=0)


def show(text: str, limit: int = 200) -> str:
    if not has("control characters are shown"):
        text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", text)
    return text if len(text) <= limit or has("a line is shown whole") else text[:limit] + "…"


def check_json(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for key, each in value.items():
            check_json(each, f"{where}.{key}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            check_json(each, f"{where}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise SdkError("arguments", f"{where} is {value}, which JSON does not have")


# The binary


class Coprocess:
    """One binary. Threads read its output, drain its stderr and write its input."""

    def __init__(self, words: list[str], limit_s: float, environment: Json | None = None) -> None:
        self.limit_s = limit_s
        self.version = ""
        self._words = words
        self._environment = {**os.environ, **(environment or {})}
        self._turns = threading.Condition()
        self._queue: collections.deque[object] = collections.deque()
        self._id = 0
        self._broken: SdkError | None = None
        self._closed = threading.Event()
        # Lines, and at last None.
        self._lines: queue.Queue[bytes | SdkError | None] = queue.Queue()
        self._rest = b""
        self._heard_at = time.monotonic()
        self._stderr = b""
        self._warnings: list[str] = []
        self._is_asking = threading.Event()
        self._writes: queue.Queue[bytes | None] = queue.Queue()
        self._start()
        self._handshake()

    def _start(self) -> None:
        tried = find_binary()
        more: Json = {}
        if has("a forgotten binary is left"):
            # An open end of this pipe keeps the binary alive.
            read, write = os.pipe()
            os.set_inheritable(write, True)
            more = {"stdin": read, "pass_fds": (write,)}
            self._stdin_fd = write
        try:
            self._process = subprocess.Popen(
                [*tried, *self._words],
                **{"stdin": subprocess.PIPE, **more},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment,
                bufsize=0,
                start_new_session=has("its process group is killed instead"),
            )
        except OSError as error:
            name = "another program" if has("MCPTEST_BIN is not named") else "MCPTEST_BIN"
            kind = "contract" if has("a missing binary is another error") else "binary"
            raise SdkError(kind, f"cannot start {tried[0]}: {error}; set {name}") from None
        if not more:
            assert self._process.stdin is not None
            self._stdin_fd = self._process.stdin.fileno()
        is_daemon = not has("a forgotten connection keeps the program")
        self._threads = [
            threading.Thread(target=work, daemon=is_daemon)
            for work in (self._read, self._drain, self._write, self._watch)
        ]
        for thread in self._threads:
            thread.start()

    # The threads

    def _read(self) -> None:
        assert self._process.stdout is not None
        limit = 64 * 1024 * 1024 if has("a line may have 64 MiB") else MAX_LINE
        parts: list[bytes] = []
        size = 0
        while chunk := os.read(self._process.stdout.fileno(), 1 << 18):
            self._heard_at = time.monotonic()
            if has("each chunk is decoded"):
                chunk = chunk.decode("utf-8", "replace").encode()
            if has("Unicode ends lines"):
                chunk = b"\n".join(part.encode() for part in chunk.decode().splitlines())
                chunk += b"\n"
            *ended, rest = chunk.split(b"\n")
            for piece in ended:
                size += len(piece)
                if size > limit and not has("a line may have any length"):
                    self._lines.put(SdkError("contract", f"a line of more than {limit} bytes"))
                    return
                self._lines.put(b"".join([*parts, piece]))
                parts, size = [], 0
            parts.append(rest)
            size += len(rest)
            is_long = size > limit and not has("a line may have any length")
            if is_long and not has("a line is read to its end"):
                self._lines.put(SdkError("contract", f"a line of more than {limit} bytes"))
                return
        self._rest = b"".join(parts)
        if self._rest and has("half a line is accepted"):
            self._lines.put(self._rest)
        self._lines.put(None)

    def _watch(self) -> None:
        """Report the end of a binary whose output another process keeps open."""
        self._process.wait()
        self._threads[0].join(0.5)
        if has("its process group is killed instead"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        elif not has("the end of the output is waited for"):
            self._lines.put(None)

    def _drain(self) -> None:
        assert self._process.stderr is not None
        if has("stderr is not drained"):
            return
        pending = b""
        while True:
            if has("stderr is drained during calls"):
                self._is_asking.wait()
            chunk = os.read(self._process.stderr.fileno(), 1 << 16)
            if not chunk:
                return
            self._stderr += chunk
            if has("stderr is kept from the beginning"):
                self._stderr = self._stderr[:4096]
            self._stderr = self._stderr[-4096:]
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                if line.startswith(b"warning: ") and not has("warnings are lost"):
                    self._warnings.append(line.decode("utf-8", "replace"))

    def _write(self) -> None:
        while (data := self._writes.get()) is not None:
            self._write_now(data)
        with contextlib.suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
            else:
                os.close(self._stdin_fd)

    def _write_now(self, data: bytes) -> None:
        step = 1 << 12 if has("large requests are interleaved") else 1 << 16
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._stdin_fd, data[:step]) :]
                if has("large requests are interleaved"):
                    time.sleep(0)

    # Requests

    def _handshake(self) -> None:
        if has("no handshake"):
            self.version = "?"
            return
        params = {"protocol_version": VERSION, "sdk": NAME, "sdk_version": "1.0.0"}
        if has("the handshake has no name"):
            del params["sdk"]
        limit_s = 1e9 if has("the handshake waits forever") else HANDSHAKE_S
        if has("the handshake has the limit of a call"):
            limit_s = self.limit_s
        try:
            result = self.request("coprocess/handshake", params, limit_s=limit_s)
        except SdkError as error:
            self._read_refused_handshake(error)
            return
        theirs: Any = result.get("protocol_version") if isinstance(result, dict) else None
        if type(theirs) is not int:
            self._fail(SdkError("contract", f"the handshake was answered with {result}"))
        if theirs != VERSION and not has("another version is accepted"):
            if has("something is sent after a mismatch"):
                self._writes.put(b'{"jsonrpc":"2.0","id":2,"method":"mcp.shutdown"}\n')
                time.sleep(0.2)
            self._fail(SdkError("version", mismatch(theirs)))
        surplus = set(result) - {"protocol_version", "binary_version"}
        if surplus:
            self._fail(SdkError("contract", f"the handshake has no {surplus}"))
        self.version = str(result.get("binary_version"))

    def _read_refused_handshake(self, error: SdkError) -> None:
        code = error.more.get("code")
        if code is None:
            raise error
        if code == -32601 and has("-32601 to the handshake is accepted"):
            self.version = "1.0"
        elif code == -32601:
            self._fail(SdkError("version", mismatch(1)))
        elif code == -32602:
            self._fail(SdkError("version", error.more["said"]))
        else:
            self._fail(SdkError("contract", f"the handshake was refused: {error}"))

    def request(
        self,
        method: str,
        params: Json | None = None,
        *,
        limit_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Any:
        limit_s = limit_s or self.limit_s
        asked_at = time.monotonic()
        with self._turn(method):
            began = asked_at if has("the limit includes the queue") else time.monotonic()
            self._is_asking.set()
            try:
                return self._request(method, params, began, limit_s, cancel)
            finally:
                self._is_asking.clear()

    @contextlib.contextmanager
    def _turn(self, method: str) -> Any:
        """One request at a time, in order."""
        if has("two calls are interleaved") or has("large requests are interleaved"):
            self._check_usable(method)
            yield
            return
        ticket = object()
        with self._turns:
            self._queue.append(ticket)
            if has("the last call is sent first") and len(self._queue) > 2:
                self._queue.remove(ticket)
                self._queue.insert(1, ticket)
            while self._queue[0] is not ticket and not self._closed.is_set():
                self._turns.wait(0.05)
        try:
            self._check_usable(method)
            yield
        finally:
            with self._turns:
                self._queue.remove(ticket)
                self._turns.notify_all()

    def _check_usable(self, method: str) -> None:
        if self._closed.is_set():
            if has("a closed connection is opened again"):
                self._closed.clear()
                self._lines = queue.Queue()
                self._writes = queue.Queue()
                self._start()
                return
            kind = "binary" if has("a closed connection is another error") else "closed"
            raise SdkError(kind, f"the connection is closed, so {method} was not sent")
        if self._broken:
            if has("the next error is another one"):
                raise SdkError("binary", f"{method}: the binary is gone")
            raise self._broken

    def _request(
        self,
        method: str,
        params: Json | None,
        began: float,
        limit_s: float,
        cancel: threading.Event | None,
    ) -> Any:
        if len(json.dumps(params)) > MAX_REQUEST_BYTES and not has("a request of any size is sent"):
            problem = f"{method} was not sent: it has more than {MAX_REQUEST_BYTES} bytes"
            raise SdkError("arguments", problem)
        if self._id and not has("an early answer is taken"):
            self._refuse_early(method)
        self._id = 1 if has("all ids are 1") else self._id + 1
        id: Any = self._id - 1 if has("ids begin at 0") else self._id
        id = str(id) if has("ids are text") else id
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        message |= {} if params is None else {"params": params}
        text = json.dumps(message, ensure_ascii=False)
        errors = "replace" if has("text is sent as ASCII") else "backslashreplace"
        raw = text.encode("ascii" if has("text is sent as ASCII") else "utf-8", errors) + b"\n"
        if has("a write waits forever") or has("large requests are interleaved"):
            self._write_now(raw)
        else:
            self._writes.put(raw)
        while True:
            line = self._next_line(method, began, limit_s, cancel)
            if not line.strip() and not has("an empty line is no JSON"):
                continue
            try:
                value = self._read_value(line, method)
            except BlockingIOError:
                continue
            return self._read_response(value, id, method)

    def _refuse_early(self, method: str) -> None:
        try:
            early = self._lines.get_nowait()
        except queue.Empty:
            return
        if early is None:
            self._lines.put(None)
        elif not isinstance(early, SdkError) and early.strip():
            line = show(early.decode("utf-8", "replace"))
            self._fail(SdkError("contract", f"before {method} was sent, there came {line}"))

    def _next_line(
        self, method: str, began: float, limit_s: float, cancel: threading.Event | None
    ) -> bytes:
        if has("a call waits forever") and method != "coprocess/handshake":
            limit_s = 1e9
        while True:
            if has("every byte extends the limit"):
                began = max(began, self._heard_at)
            left = began + limit_s - time.monotonic()
            if left <= 0:
                limit = "the limit" if has("the limit is not mentioned") else f"{limit_s:g} s"
                effect = "" if method.startswith("coprocess/") else f"; {MAY}"
                effect = "" if has("the effect is not mentioned") else effect
                error = SdkError("timeout", f"no answer to {method} within {limit}{effect}")
                if has("a late answer is taken for the next"):
                    raise error
                self._fail(error)
            try:
                line = self._lines.get(timeout=min(left, 0.05))
            except queue.Empty:
                self._check_stopped(method, cancel)
                continue
            if isinstance(line, SdkError):
                self._fail(SdkError(line.kind, f"{method} was answered with {line}"))
            if line is None:
                self._check_stopped(method, cancel)
                raise self._describe_end(method)
            return line

    def _check_stopped(self, method: str, cancel: threading.Event | None) -> None:
        if self._closed.is_set() and not has("closing waits for the call"):
            raise SdkError("closed", f"closed before {method} was answered")
        if cancel and cancel.is_set() and not has("cancelling is ignored"):
            if not has("cancelling leaves the binary"):
                self._broken = SdkError("closed", f"{method} was cancelled")
                self._stop()
            raise SdkError("cancelled", f"{method} was cancelled")

    def _describe_end(self, method: str) -> SdkError:
        self._lines.put(None)
        for thread in self._threads[:2]:
            thread.join(0.5)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        status = self._process.returncode
        how = "it is gone" if has("the exit status is lost") else f"exit status {status}"
        errors = "strict" if has("stderr must be UTF-8") else "backslashreplace"
        words = show(self._stderr.decode("utf-8", errors), 4096).strip()
        words = "" if has("stderr is lost") else f"; its last words: {words}"
        half = f"; half a line: {show(self._rest.decode('utf-8', 'replace'))}"
        half = half if self._rest and not has("half a line is not shown") else ""
        message = f"the binary ended before it answered {method}: {how}{half}{words}"
        _, _, mistake = self._stderr.decode("utf-8", "replace").partition("error: ")
        if status == 2 and mistake and not has("a mistake in an option is only quoted"):
            message = f"{mistake.strip()} ({how})"
        self._broken = SdkError("binary", message)
        self._stop()
        return self._broken

    def _read_value(self, line: bytes, method: str) -> Any:
        try:
            value = parse(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            if has("lines that are no JSON are skipped") or (
                has("a banner is skipped") and method == "coprocess/handshake"
            ):
                raise BlockingIOError
            text = show(line.decode("utf-8", "backslashreplace"))
            error = SdkError("contract", f"{method} was answered with {text}")
            self._fail(error)
        if has("members in any case"):
            value = {key.lower(): each for key, each in value.items()}
        return value

    def _read_response(self, value: Json, id: Any, method: str) -> Any:
        why = self._find_fault(value, id)
        if why:
            text = show(json.dumps(value))
            error = SdkError("contract", f"the answer to {method} {why}: {text}")
            if has("calls go on after a contract error"):
                raise error
            self._fail(error)
        if "error" in value and not ("result" in value and has("a result and an error")):
            raise refusal(value["error"])
        return value["result"]

    def _find_fault(self, value: Json, id: Any) -> str:
        surplus = set(value) - {"jsonrpc", "id", "result", "error"}
        if surplus and not has("members that there are not"):
            return f"has no member {min(surplus)}"
        if value.get("jsonrpc") != "2.0" and not has("jsonrpc is not read"):
            return "is not JSON-RPC 2.0"
        if ("result" in value) == ("error" in value) and not (
            has("a result and an error") and "result" in value
        ):
            return "has both or neither of result and error"
        if "error" in value and "result" not in value and not is_error(value["error"]):
            return "has an error of another shape"
        theirs = value.get("id")
        is_same = type(theirs) is type(id) and theirs == id
        if has("an id of another type is accepted"):
            is_same = str(theirs) == str(id)
        if not is_same and not has("any id is accepted"):
            # With this fault, the answer to an earlier request is taken, too.
            if has("a late answer is taken for the next") and isinstance(theirs, int):
                return "" if theirs < id else "has another id"
            if has("cancelling leaves the binary") and theirs == id - 1:
                return ""
            return "has another id"
        return ""

    # The end

    def _fail(self, error: SdkError) -> NoReturn:
        self._broken = error
        self._stop()
        raise error

    def _stop(self) -> None:
        """End the binary at once."""
        if has("a broken binary is stopped by closing") and not self._closed.is_set():
            return
        if has("no kill after a timeout"):
            self._process.terminate()
            return
        self._process.kill()
        self._process.wait()
        self._writes.put(None)

    def close(self) -> None:
        if self._closed.is_set():
            if has("closing twice fails"):
                raise SdkError("closed", "it is closed")
            return
        is_busy = bool(self._queue)
        if has("closing waits for the call"):
            while self._queue:
                time.sleep(0.05)
        self._closed.set()
        if self._broken:
            self._writes.put(None)
            return
        if is_busy:
            self._stop()
            return
        if not has("no mcp.shutdown"):
            id: Any = str(self._id + 1) if has("ids are text") else self._id + 1
            shutdown = {"jsonrpc": "2.0", "id": id, "method": "mcp.shutdown"}
            self._writes.put(json.dumps(shutdown).encode() + b"\n")
        self._writes.put(None)
        self._wait_for_end()
        for warning in self._warnings:
            sys.stderr.write(f"{show(warning, 4096)}\n")
        sys.stderr.flush()

    def _wait_for_end(self) -> None:
        try:
            self._process.wait(SHUTDOWN_S)
        except subprocess.TimeoutExpired:
            if has("no kill"):
                self._process.terminate()
                return
            self._process.kill()
            self._process.wait()
        self._threads[1].join(60.0 if has("closing waits for the end of stderr") else 1.0)


def mismatch(theirs: int, ours: int = VERSION) -> str:
    is_behind = theirs < ours
    if has("the wrong side is to be upgraded"):
        is_behind = not is_behind
    advice = f"Upgrade the {NAME} SDK (or pin the mcptest binary to the matching release)."
    if is_behind:
        advice = "Upgrade the mcptest binary (or pin the SDK to the matching release)."
    return f"mcptest binary speaks coprocess v{theirs}; this SDK needs v{ours}. {advice}"


def is_error(error: Any) -> bool:
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return False
    surplus = set(error) - {"code", "message", "data"}
    kinds = (int, float) if has("a code with a fraction") else (int,)
    has_code = type(error.get("code")) in kinds
    return has_code and (not surplus or has("members of errors that there are not"))


def refusal(error: Json) -> SdkError:
    code, data = error["code"], error.get("data")
    kind = {-32000: "upstream", -32001: "upstream_gone"}.get(code, "refused")
    kind = "refused" if has("all codes are one kind") else kind
    lines = [show(error["message"], 4096)]
    details: Json = data if isinstance(data, dict) else {}
    if "kind" not in details and not has("data of the server is taken for ours"):
        details = {}
    if details.get("hint") and not has("hints are lost"):
        lines.append(f"hint: {details['hint']}")
    if details.get("effect") == "indefinite":
        lines.append(MAY)
    data = None if has("the data of errors is lost") else data
    return SdkError(kind, "\n".join(lines), code=code, said=error["message"], data=data)


# Calls


FIELDS = {"success", "data", "text", "error", "duration_ms"}


def read_verdict(result: Any, took_ms: float) -> Json:
    if not isinstance(result, dict):
        raise SdkError("contract", f"the result of mcp.call is {json.dumps(result)[:200]}")
    declared = result
    if has("success in any case"):
        declared = {key.lower(): value for key, value in result.items()}
    if "success" in declared:
        surplus = set(declared) - FIELDS
        if surplus and not has("undeclared fields are accepted"):
            raise SdkError("contract", f"a verdict has no {min(surplus)}")
        types: Json = {
            "success": (bool, int) if has("success may be 1") else (bool,),
            "text": (str, type(None)),
            "error": (str, type(None)),
            "duration_ms": (int, float),
        }
        for field in sorted(FIELDS):
            if field not in declared or type(declared[field]) not in types.get(
                field, (type(declared[field]),)
            ):
                raise SdkError("contract", f"the verdict of mcp.call has a bad {field}")
        return {**{field: declared[field] for field in FIELDS}, "raw": result}
    return derive_verdict(result, took_ms)


def derive_verdict(result: Json, took_ms: float) -> Json:
    content = result.get("content")
    texts = [
        block["text"]
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict) and block.get("type") == "text"
        if isinstance(block.get("text"), str)
    ]
    glue = "" if has("texts are joined by nothing") else "\n"
    text = glue.join(texts) if texts or has("no text is empty") else None
    success = result.get("isError", False) is False
    if has("only true is an error"):
        success = result.get("isError") is not True
    if has("null is no error"):
        success = not result.get("isError")
    words = "" if has("a failure without words") else "the tool reported an error"
    return {
        "success": success,
        "data": result.get("structuredContent"),
        "text": text,
        "error": None if success else text or words,
        "duration_ms": took_ms,
        "raw": result,
    }


TEXTS = "list of strings"
LIST: Json = {"version": int, "file": str, "tests": list, "lanes": list, "left": list}
LIST["warnings"] = TEXTS
TEST: Json = {"id": str, "server": str, "name": str, "file": str, "line": int, "tags": TEXTS}
TEST |= {"skip": str, "limit_ms": (int, float)}
RUN: Json = {"status": str, "text": str, "file": str, "line": int, "duration_ms": (int, float)}
RUN["notes"] = TEXTS


def check_shape(method: str, value: Any, shape: Json) -> None:
    if not isinstance(value, dict):
        raise SdkError("contract", f"the result of {method} is {json.dumps(value)[:200]}")
    surplus = set(value) - set(shape)
    if surplus and not has("any member of a list is accepted"):
        raise SdkError("contract", f"the result of {method} has no member {min(surplus)}")
    for name, kind in shape.items():
        if not is_of(value.get(name), kind) and not has("types in lists are not read"):
            raise SdkError("contract", f"{name} in the result of {method} is not right")


def is_of(value: Any, kind: Any) -> bool:
    if kind == TEXTS:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    return isinstance(value, kind) and not isinstance(value, bool)


class Client:
    """The calls, by their neutral names."""

    def __init__(self, coprocess: Coprocess) -> None:
        self.coprocess = coprocess
        self._limits: dict[str, float] = {}

    def call(self, given: Json, cancel: threading.Event | None) -> Json:
        arguments = given.get("arguments", {})
        if not has("NaN is sent"):
            check_json(arguments, "arguments")
        began = time.monotonic()
        params = {"tool": given["tool"], "arguments": arguments}
        result = self.coprocess.request("mcp.call", params, cancel=cancel)
        try:
            verdict = read_verdict(result, (time.monotonic() - began) * 1000)
        except SdkError as error:
            if has("undeclared fields end the connection"):
                self.coprocess._fail(error)
            raise
        if has("a failed tool is an error") and not verdict["success"]:
            raise SdkError("upstream", verdict["error"])
        return verdict

    def ask(self, verb: str, given: Json) -> Any:
        request = self.coprocess.request
        if verb in ("list_tools", "list_resources"):
            key = verb.removeprefix("list_")
            method = f"mcp.list{key.title()}"
            result = request(method)
            if not isinstance(result, dict) or not isinstance(result.get(key), list):
                raise SdkError("contract", f"the result of {method} is {result}")
            return result[key]
        if verb == "flush":
            count = request("mcp.reporter.flush").get("flushed")
            if type(count) is not int:
                raise SdkError("contract", f"mcp.reporter.flush counted {count!r}")
            return count
        if verb == "get_prompt":
            if has("the prompt has empty arguments"):
                given = {"arguments": {}, **given}
            return request("mcp.callPrompt", given)
        simple: dict[str, tuple[str, Json | None]] = {
            "read_resource": ("mcp.readResource", given),
            "initialize": ("mcp.initialize", None),
        }
        if verb in simple:
            return request(*simple[verb])
        done: dict[str, tuple[str, Json]] = {
            "set_cache": ("mcp.cache.set_mode", given),
            "set_cassette": ("mcp.cassette.set_mode", given),
            "upload_to": ("mcp.reporter.setUpload", {"enabled": True, **given}),
            "stop_uploads": ("mcp.reporter.setUpload", {"enabled": False}),
        }
        request(*done[verb])
        return None

    def list(self) -> Json:
        result = self.coprocess.request("suite.list")
        theirs = result.get("version") if isinstance(result, dict) else None
        if type(theirs) is int and theirs != 1 and not has("any version of a list is accepted"):
            sentence = mismatch(theirs, 1).replace("coprocess", "suite channel")
            self.coprocess._fail(SdkError("version", sentence))
        check_shape("suite.list", result, LIST)
        for test in result["tests"]:
            check_shape("suite.list", test, TEST)
            if test["id"] in self._limits and not has("two tests may have one id"):
                raise SdkError("contract", f"suite.list has two tests {test['id']!r}")
            self._limits[test["id"]] = test["limit_ms"] / 1000
            if has("the skip reason is lost"):
                test["skip"] = ""
        for lane in result["lanes"]:
            check_shape("suite.list", lane, {"lane": str, "line": int})
        for left in result["left"]:
            check_shape("suite.list", left, {"name": str, "reason": str})
        return {key: result[key] for key in LIST if key != "version"}

    def run(self, id: str) -> Json:
        limit_s = self._limits.get(id, 30.0) + 15.0
        if has("a test has the limit of a call"):
            limit_s = USUAL_S
        result = self.coprocess.request("suite.run", {"id": id}, limit_s=limit_s)
        check_shape("suite.run", result, RUN)
        known = ("passed", "failed", "error", "skipped")
        if result["status"] not in known and not has("any status is accepted"):
            error = SdkError("contract", f"suite.run has the status {result['status']!r}")
            if has("a bad verdict ends the suite"):
                self.coprocess._fail(error)
            raise error
        return dict(result)


OPTIONS = {
    "url": "--url",
    "bearer_env": "--bearer-env",
    "ca_file": "--ca-file",
    "cwd": "--cwd",
    "revision": "--spec-version",
    "timeout_ms": "--timeout",
    "start_timeout_ms": "--start-timeout",
}


def connect(command: list[str], options: Json) -> Client:
    words: list[str] = []
    environment: Json = {}
    for option, word in OPTIONS.items():
        unit = "ms" if option.endswith("_ms") else ""
        unit = "s" if unit and has("limits are in seconds") else unit
        words += [word, f"{options[option]}{unit}"] if option in options else []
    for header, variable in options.get("header_env", {}).items():
        words += ["--header-env", f"{header}={variable}"]
    if "env" in options:
        secrets = [] if has("secrets are not named") else options.get("secrets", [])
        given = {"set": options["env"], "secrets": secrets}
        environment["MCPTEST_SERVER_ENV"] = json.dumps(given)
    limit_s = options.get("timeout_ms", 30000) / 1000 + 15.0
    start = ["exec", "--connection-server"]
    start += ["--server-command", quote(command)] if command else []
    client = Client(Coprocess([*start, *words], limit_s, environment))
    try:
        prepare(client, options)
    except SdkError:
        client.coprocess.close()
        raise
    return client


def prepare(client: Client, options: Json) -> None:
    if "cache" in options:
        client.ask("set_cache", {"mode": options["cache"]})
    for mode in ("record", "replay"):
        if mode in options:
            client.ask("set_cassette", {"mode": mode, "path": options[mode]})
    if not has("connecting does not initialize"):
        client.ask("initialize", {})


# The adapter


FORGOTTEN: list[Client] = []


class Scenario:
    def __init__(self, given: Json) -> None:
        self._given = given
        self._client: Client | None = None

    def play(self) -> list[Json]:
        did: list[Json] = []
        if self._given["open"] != "none":
            did.append(self._try(self._open))
        if not did or "opened" in did[0]:
            did += [self._do(step) for step in self._given["do"]]
        if self._client:
            with contextlib.suppress(SdkError):
                self._client.coprocess.close()
        return did

    def _try(self, work: Any) -> Json:
        try:
            return dict(work())
        except SdkError as error:
            return {"error": {"kind": error.kind, "message": str(error), **error.more}}

    def _open(self) -> Json:
        given = self._given
        limit_s = given.get("timeout_ms", USUAL_S * 1000) / 1000
        if given["open"] == "connect":
            self._client = connect(given["command"], given.get("options", {}))
        elif given["open"] == "suite":
            self._client = Client(Coprocess(["exec", "--suite-server", given["file"]], limit_s))
        else:
            words = ["exec", "--connection-server", "--server-command", quote(given["command"])]
            self._client = Client(Coprocess(words, limit_s))
        return {"opened": self._client.coprocess.version}

    def _do(self, step: Json) -> Json:
        time.sleep(step.get("after_ms", 0) / 1000)
        verb = next(key for key in step if key not in ("after_ms", "cancel_ms"))
        if verb == "parallel":
            return {"parallel": self._do_all(step["parallel"])}
        cancel = threading.Event()
        timer = threading.Timer(step.get("cancel_ms", 0) / 1000, cancel.set)
        if "cancel_ms" in step:
            timer.start()
        try:
            return self._try(lambda: self._ask(verb, step[verb], cancel))
        finally:
            timer.cancel()

    def _do_all(self, steps: list[Json]) -> list[Json]:
        did: list[Json] = [{} for _ in steps]

        def do(number: int) -> None:
            did[number] = self._do(steps[number])

        threads = [threading.Thread(target=do, args=(n,)) for n in range(len(steps))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return did

    def _ask(self, verb: str, given: Any, cancel: threading.Event) -> Json:
        if verb == "lanes":
            return {"result": LANES[:-1] if has("a lane is forgotten") else LANES}
        if verb == "lane":
            return {"result": lane_hint(given["lane"], given.get("suite"))}
        if verb in ("quote", "split"):
            return {"result": quote(given) if verb == "quote" else split(given)}
        client = self._client
        assert client is not None
        if verb == "call":
            return {"verdict": client.call(given, cancel)}
        if verb == "bad_call":
            arguments = {"degrees": [1, math.nan]}
            return {"verdict": client.call({**given, "arguments": arguments}, cancel)}
        if verb == "request":
            params = given.get("params")
            return {"result": client.coprocess.request(given["method"], params, cancel=cancel)}
        if verb == "close":
            client.coprocess.close()
            return {"closed": True}
        if verb == "forget":
            FORGOTTEN.append(client)
            self._client = None
            return {"forgotten": True}
        if verb in ("list", "run"):
            return {"result": client.list() if verb == "list" else client.run(given["id"])}
        return {"result": client.ask(verb, given)}


def main() -> None:
    for line in sys.stdin.buffer:
        given = json.loads(line)
        answer = {"name": given["name"], "did": Scenario(given).play()}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    assert not FAULT or FAULT in FAULTS, f"there is no fault {FAULT!r}"
    main()
