#!/usr/bin/env python3
"""A fake mcptest binary for the tests of SDKs: answers as a script says, rightly or wrongly.

Started like the real one, `fake_binary.py exec --connection-server --server-command …`, so that
MCPTEST_BIN can name it. It starts no server. What it answers is in a JSON file: the one that
`--server-command "fake SCRIPT HEARD"` names, the FILE of `exec --suite-server FILE`, or that of the
variable FAKE_BINARY_SCRIPT. Without a script it is a binary of version 2 with a small weather
server behind it. Everything it hears is appended to the file HEARD, to the one that the script
names as "heard", or to FAKE_BINARY_HEARD, its arguments first. README.md beside this file says what
a script can hold. Standard library only.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shlex
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    Message = dict[str, Any]

VERSION = 2
FRAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"v{VERSION}")

HELLO = {"protocol_version": VERSION, "binary_version": "0.0.0-fake"}
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
    "serverInfo": {"name": "fake weather", "version": "1"},
}
TOOL = {"name": "get_weather", "inputSchema": {"type": "object"}}
RESOURCE = {"uri": "weather://paris", "name": "Paris"}

# The tests of the suite channel by name: their status, what is printed, and why they are skipped.
TESTS = {
    "it is sunny": ("passed", "", ""),
    "it is warm": ("failed", 'text\n  expected: "warm"\n  actual:   "cold"\n\nsuite.json:6', ""),
    "it breaks": ("error", "the server exited with status 3\n\nsuite.json:9", ""),
    "it snows": ("skipped", "only in winter", "only in winter"),
}
TEST_LIMIT_MS = 5000


def usual_answer(request: Message) -> Message:
    """What a real binary would answer, as the members of the response."""
    method, params = request.get("method"), request.get("params", {})
    results: Message = {
        "coprocess/handshake": HELLO,
        "mcp.initialize": INITIALIZED,
        "mcp.call": _called(params),
        "mcp.listTools": {"tools": [TOOL]},
        "mcp.listResources": {"resources": [RESOURCE]},
        "mcp.readResource": {"contents": [{"uri": params.get("uri"), "text": "sunny"}]},
        "mcp.callPrompt": {"messages": [_message(params)]},
        "mcp.reporter.setUpload": {"enabled": params.get("enabled")},
        "mcp.reporter.flush": {"flushed": 0},
        "mcp.cache.set_mode": {"mode": params.get("mode")},
        "mcp.cassette.set_mode": {"mode": params.get("mode")},
        "suite.list": listed_suite("suite.json"),
        "mcp.shutdown": {},
    }
    if method in results:
        return {"result": results[method]}
    if method == "suite.run":
        return run_test(params.get("id"))
    return {"error": {"code": -32601, "message": f'there is no method "{method}"'}}


def listed_suite(file: str) -> Message:
    tests = [
        {
            "id": f"weather::{name}",
            "server": "weather",
            "name": name,
            "file": file,
            "line": 3 * number,
            "tags": ["quick"],
            "skip": skip,
            "limit_ms": TEST_LIMIT_MS,
        }
        for number, (name, (_, _, skip)) in enumerate(TESTS.items(), 1)
    ]
    return {
        "version": 1,
        "file": file,
        "tests": tests,
        "lanes": [{"lane": "agents", "line": 20}, {"lane": "evals", "line": 25}],
        "left": [{"name": "coverage", "reason": "it is judged for a whole run"}],
        "warnings": [],
    }


def run_test(id: Any) -> Message:
    names = list(TESTS)
    name = str(id).removeprefix("weather::")
    if name not in names:
        return {"error": {"code": -32602, "message": f'there is no test "{id}"'}}
    status, text, _ = TESTS[name]
    result = {
        "status": status,
        "text": text,
        "file": "suite.json",
        "line": 3 * (names.index(name) + 1),
        "duration_ms": 3,
        "notes": [],
    }
    return {"result": result}


def _called(params: Message) -> Message:
    text = json.dumps(params.get("arguments", {}))
    content = [{"type": "text", "text": text}]
    return {"content": content, "structuredContent": {"tool": params.get("tool")}, "isError": False}


def _message(params: Message) -> Message:
    name = params.get("name", params.get("prompt"))
    return {"role": "user", "content": {"type": "text", "text": f"This is {name}."}}


class FakeBinary:
    """One session."""

    def __init__(self, script: Message, heard: str) -> None:
        unknown = set(script) - {"before", "answers", "heard"}
        if unknown:
            fail(f'a script has no "{min(unknown)}"')
        self._before = script.get("before", [])
        self._answers = script.get("answers", {})
        INPUT.heard = heard or script.get("heard", "")

    def serve(self) -> None:
        """Answer line by line until the input ends, or an answer is to exit."""
        began: Message = {"arguments": sys.argv[1:], "pid": os.getpid()}
        if "MCPTEST_SERVER_ENV" in os.environ:
            began["server_env"] = os.environ["MCPTEST_SERVER_ENV"]
        INPUT.note(json.dumps(began).encode() + b"\n")
        for action in self._before:
            perform(action, {})
        while line := INPUT.next_line():
            INPUT.note(line)
            request = json.loads(line)
            action = self._next_action(request.get("method", ""))
            if action is None:
                say({"jsonrpc": "2.0", "id": request.get("id"), **usual_answer(request)})
            else:
                perform(action, request)
            if request.get("method") == "mcp.shutdown":
                break
        if stays:
            time.sleep(LONGEST_STAY_S)

    def _next_action(self, method: str) -> Any:
        """What the script says to this method now: of a list the next one, the last one again."""
        found = self._answers.get(method, self._answers.get("*"))
        if not isinstance(found, list):
            return found
        return found.pop(0) if len(found) > 1 else found[0]


class Input:
    """Standard input line by line, and the file that says what was heard."""

    def __init__(self) -> None:
        self.heard = ""
        self._pending = b""

    def next_line(self) -> bytes:
        """The next line with its newline; b"" at the end, and for what has no newline."""
        parts = [self._pending]
        while b"\n" not in parts[-1]:
            parts.append(os.read(0, 1 << 16))
            if not parts[-1]:
                return b""
        line, _, self._pending = b"".join(parts).partition(b"\n")
        return line + b"\n"

    def note(self, line: bytes) -> None:
        if self.heard:
            with open(self.heard, "ab") as file:
                file.write(line)

    def expect_nothing(self, limit_s: float) -> None:
        """Note what comes although nobody was answered yet."""
        if not self._pending and select.select([0], [], [], limit_s)[0]:
            self._pending = os.read(0, 1 << 16)
        if self._pending:
            early = self._pending[:200].decode("utf-8", "replace")
            self.note(json.dumps({"before the answer": early}).encode() + b"\n")


INPUT = Input()


def perform(action: Any, request: Message) -> None:
    """Do what a script says in the place of an answer."""
    kind = kind_of(action)
    value = action[kind]
    if kind in ("result", "error"):
        say({"jsonrpc": "2.0", "id": request.get("id"), kind: value, **action.get("with", {})})
    elif kind in ("frame", "frame_base64", "half", "half_base64"):
        write(_bytes_of(kind, value))
    elif kind == "golden":
        perform(golden(*value), request)
    elif kind == "all":
        for each in value * action.get("times", 1):
            perform(each, request)
    elif kind == "wait_ms":
        time.sleep(value / 1000)
    elif kind == "deaf_ms":
        say({"jsonrpc": "2.0", "id": request.get("id"), **usual_answer(request)})
        time.sleep(value / 1000)
    elif kind == "flood":
        flood(request, value)
    else:
        perform_elsewhere(kind, action)


def perform_elsewhere(kind: str, action: Message) -> None:
    """Do what shows anywhere but in an answer."""
    if kind == "stderr":
        write_stderr(action["stderr"].encode("utf-8") * action.get("times", 1))
    elif kind == "stderr_base64":
        write_stderr(base64.b64decode(action["stderr_base64"]))
    elif kind == "quiet_ms":
        INPUT.expect_nothing(action["quiet_ms"] / 1000)
    elif kind == "stay":
        stay()
    elif kind == "child_ms":
        leave_child(action["child_ms"] / 1000)
    elif kind == "exit":
        write_stderr(action.get("stderr", "").encode("utf-8"))
        sys.exit(action["exit"])


def leave_child(seconds: float) -> None:
    """Start a process that has our pipes, in a session of its own: no signal to ours reaches it."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.close(write)
        time.sleep(seconds)
        os._exit(0)
    os.close(write)
    # Ends when the child has its session.
    os.read(read, 1)
    os.close(read)


# What there is to do, and what may be said beside it.
KINDS: dict[str, tuple[str, ...]] = {
    "result": ("with",),
    "error": ("with",),
    "frame": (),
    "frame_base64": (),
    "half": (),
    "half_base64": (),
    "golden": (),
    "all": ("times",),
    "wait_ms": (),
    "silence": (),
    "deaf_ms": (),
    "quiet_ms": (),
    "flood": (),
    "stay": (),
    "child_ms": (),
    "exit": ("stderr",),
    "stderr": ("times",),
    "stderr_base64": (),
}

# Whatever happens to the SDK, nothing stays for longer than this.
LONGEST_STAY_S = 60.0
stays = False


def stay() -> None:
    """Ignore SIGTERM, SIGINT and the end of the input from now on."""
    global stays
    stays = True
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def flood(request: Message, size: int) -> None:
    """The usual answer as a line of this many bytes, most of which are spaces."""
    text = json.dumps({"jsonrpc": "2.0", "id": request.get("id"), **usual_answer(request)})
    write(text[:-1].encode())
    left = size - len(text)
    while left > 0:
        write(b" " * min(left, 1 << 20))
        left -= 1 << 20
    write(b"}\n")


def kind_of(action: Any) -> str:
    kinds = [name for name in KINDS if isinstance(action, dict) and name in action]
    if kinds == ["exit", "stderr"]:
        kinds = ["exit"]
    if len(kinds) != 1 or set(action) - {kinds[0], *KINDS[kinds[0]]}:
        fail(f"this is nothing that can be done: {json.dumps(action)}")
    return kinds[0]


def _bytes_of(kind: str, text: str) -> bytes:
    """The bytes that a script means; only half a line has no end."""
    raw = base64.b64decode(text) if kind.endswith("_base64") else text.encode("utf-8")
    return raw + (b"" if kind.startswith("half") else b"\n")


def golden(theme: str, name: str) -> Message:
    """A frame of the binary, from the files beside this one."""
    with open(os.path.join(FRAMES, f"{theme}.jsonl"), encoding="ascii") as file:
        for line in file:
            row = json.loads(line)
            if row["name"] == name and row["direction"] == "binary":
                return {key: row[key] for key in ("frame", "frame_base64") if key in row}
    fail(f'there is no frame "{name}" of the binary in {theme}.jsonl')


def say(message: Message) -> None:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    write(text.encode("utf-8", "backslashreplace") + b"\n")


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_stderr(data: bytes) -> None:
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()


def fail(why: str) -> NoReturn:
    sys.stderr.write(f"fake_binary: {why}\n")
    sys.exit(2)


def main() -> None:
    words = sys.argv[1:]
    script: Message = {}
    path, heard = os.environ.get("FAKE_BINARY_SCRIPT", ""), os.environ.get("FAKE_BINARY_HEARD", "")
    if words[:2] == ["exec", "--suite-server"] and len(words) > 2:
        path = words[2]
    elif words[:2] == ["exec", "--connection-server"]:
        command = words[words.index("--server-command") + 1] if "--server-command" in words else ""
        named = shlex.split(command)
        if named[:1] == ["fake"] and len(named) == 3:
            path, heard = named[1:]
    else:
        fail(f"started with {words}, not with exec --connection-server … or --suite-server FILE")
    if path:
        with open(path, encoding="utf-8") as file:
            script = json.load(file)
    FakeBinary(script, heard).serve()


if __name__ == "__main__":
    main()
