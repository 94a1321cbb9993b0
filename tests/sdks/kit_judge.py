"""Judges an SDK: plays every row of protocol/coprocess/kit through its adapter.

A row is one scenario of the kit, one golden frame, one lane or one command line. The adapter says
what happened, the fake binary what it received, the clock how long it took, and /proc which
processes are left.
protocol/coprocess/kit/README.md describes all formats.

    python tests/sdks/kit_judge.py go            every row
    python tests/sdks/kit_judge.py go -k late    the rows whose name contains "late"
    python tests/sdks/kit_judge.py go -v         also what was sent, done and received
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
CHANNEL = ROOT / "protocol" / "coprocess"
KIT = CHANNEL / "kit"
FAKE = [sys.executable, "-S", "-E", str(CHANNEL / "fake_binary.py")]
VERSION = 2
FRAMES = CHANNEL / f"v{VERSION}"
SUITE_FRAMES = ROOT / "protocol" / "suite" / "v1"

# Added to the time that a row allows: the machine may be busy.
SLACK_S = float(os.environ.get("MCPTEST_KIT_SLACK", "3"))
USUAL_MS = 5000
# How long an adapter may take to start.
START_S = 20.0
# How long a binary may be seen after the row is over, and after the adapter was ended by a signal.
GONE_S = 2.0
GONE_AFTER_SIGNAL_S = 5.0


# The rows


@dataclass(frozen=True)
class Row:
    """One thing that an SDK must do right. `play` has what the README calls a scenario."""

    name: str
    play: Json

    @property
    def needs(self) -> frozenset[str]:
        needs = self.play.get("needs", [])
        return frozenset([needs] if isinstance(needs, str) else needs)

    @property
    def is_alone(self) -> bool:
        """Whether it takes an adapter process of its own."""
        return any(key in self.play for key in ("alone", "binary", "path", "end", "memory_mib"))


MEMBERS = {
    *("name", "needs", "alone", "binary", "path", "open", "options", "command", "timeout_ms"),
    *("script", "do", "want", "heard", "started", "server_env", "warns", "within_ms", "end"),
    *("memory_mib",),
}


def read_rows() -> list[Row]:
    rows = [*_scenarios(), *_frames_of_binaries(), *_frames_of_sdks(), *_frames_of_suites()]
    rows += [*_lanes(), *_words()]
    for row in rows:
        unknown = set(row.play) - MEMBERS
        assert not unknown, f"{row.name}: a scenario has no {min(unknown)!r}"
    names = [row.name for row in rows]
    doubles = {name for name in names if names.count(name) > 1}
    assert not doubles, f"two rows have the same name: {doubles}"
    return rows


def _scenarios() -> Iterator[Row]:
    for path in sorted((KIT / "scenarios").glob("*.json")):
        for scenario in json.loads(path.read_text(encoding="utf-8")):
            yield Row(f"{path.stem}: {scenario['name']}", scenario)


def _golden(direction: str, folder: Path = FRAMES) -> Iterator[tuple[str, Json]]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="ascii").splitlines():
            frame = json.loads(line)
            if frame["direction"] == direction:
                yield path.stem, frame


def _frames_of_binaries() -> Iterator[Row]:
    """The binary answers a request with the frame."""
    for theme, frame in _golden("binary"):
        method = frame["answers"]
        is_call = method == "mcp.call" and "reads_as" in frame
        script = {"answers": {method: {"golden": [theme, frame["name"]]}}}
        fillers = frame.get("waiting_for", 2) - 2
        do: list[Json] = [{"request": {"method": "mcp.reporter.flush"}}] * fillers
        want: list[Json] = [{"opened": True}, *[{"result": {"flushed": 0}}] * fillers]
        received = ["coprocess/handshake", *["mcp.reporter.flush"] * fillers]
        if method == "coprocess/handshake":
            yield _handshake_row(theme, frame, script)
            continue
        if method == "mcp.shutdown":
            # Every row that ends well has it.
            continue
        params = {"params": {"tool": "a"}} if method == "mcp.call" else {}
        do.append({"request": {"method": method, **params}})
        received.append(method)
        want.append(_meaning(frame))
        if theme == "verdict":
            do[-1] = {"call": {"tool": "a"}}
            want[-1] = {"verdict": frame["verdict"]} if is_call else {"error": {"kind": "contract"}}
        # A verdict of another shape fails its own call only.
        is_usable = "refused_as" not in frame or theme == "verdict"
        received += ["mcp.shutdown"] if is_usable else []
        needs = {"needs": frame["needs"]} if "needs" in frame else {}
        play = {"script": script, "do": do, "want": want, "heard": received, **needs}
        yield Row(f"frame: {theme}: {frame['name']}", play)


def _handshake_row(theme: str, frame: Json, script: Json) -> Row:
    want: Json = {"error": {"kind": frame.get("refused_as")}}
    if "reads_as" in frame:
        want = {"opened": frame["reads_as"]["result"]["binary_version"]}
    elif "message" in frame:
        want["error"]["message"] = frame["message"]
    received = ["coprocess/handshake", *(["mcp.shutdown"] if "reads_as" in frame else [])]
    name = f"frame: {theme}: {frame['name']}"
    return Row(name, {"script": script, "do": [], "want": [want], "heard": received})


def _meaning(frame: Json) -> Json:
    if "refused_as" in frame:
        return {"error": {"kind": frame["refused_as"]}}
    meaning = frame["reads_as"]
    if "result" in meaning:
        return {"result": meaning["result"]}
    error = meaning["error"]
    kinds = {-32000: "upstream", -32001: "upstream_gone"}
    return {
        "error": {
            "kind": kinds.get(error["code"], "refused"),
            "code": error["code"],
            "said": error["message"],
            "data": error.get("data"),
        }
    }


def _frames_of_sdks() -> Iterator[Row]:
    """The SDK is asked to send the request of the frame, with an id of its own."""
    for theme, frame in _golden("sdk"):
        request = frame.get("reads_as", {})
        method = request.get("method", "")
        is_special = method in ("", "coprocess/handshake", "mcp.shutdown")
        if is_special or not frame.get("written", True) or request["id"] not in (2, 7):
            continue
        asked = {"method": method, **({"params": request["params"]} if request["params"] else {})}
        play = {
            "script": {"answers": {method: {"result": {}}}},
            "do": [{"request": asked}],
            "want": [{"opened": True}, {"result": {}}],
            "heard": ["coprocess/handshake", asked, "mcp.shutdown"],
            **({"needs": frame["needs"]} if "needs" in frame else {}),
        }
        yield Row(f"request: {theme}: {frame['name']}", play)


def _frames_of_suites() -> Iterator[Row]:
    """The answers to suite.list and suite.run."""
    for theme, frame in _golden("binary", SUITE_FRAMES):
        method = frame["answers"]
        if not method.startswith("suite."):
            continue
        want = _meaning(frame)
        if "message" in frame:
            want["error"]["message"] = frame["message"]
        do: Json = {"run": {"id": "shop::finds the order"}}
        if method == "suite.list":
            do = {"list": {}}
            want.get("result", {}).pop("version", None)
        play = {
            "open": "suite",
            "needs": "suite channel",
            "script": {"answers": {method: {"frame": frame["frame"]}}},
            "do": [do],
            "want": [{"opened": True}, want],
            "heard": ["coprocess/handshake", "suite.list?", f"{method}?", "mcp.shutdown?"],
        }
        yield Row(f"suite frame: {theme}: {frame['name']}", play)


def _lanes() -> Iterator[Row]:
    table = json.loads((KIT / "lanes.json").read_text(encoding="utf-8"))
    lanes = {"open": "none", "do": [{"lanes": {}}], "want": [{"result": table["unsupported"]}]}
    yield Row("lanes: those that cannot be driven", lanes)
    for each in table["sentences"]:
        asked = {key: each[key] for key in ("lane", "suite") if key in each}
        play = {"open": "none", "do": [{"lane": asked}], "want": [{"result": each["sentence"]}]}
        yield Row(f"lanes: {each['lane']} of {each.get('suite', 'a suite')}", play)


def _words() -> Iterator[Row]:
    table = json.loads((KIT / "words.json").read_text(encoding="utf-8"))
    for each in table["quote"]:
        play = {"do": [{"quote": each["argv"]}], "want": [{"result": each["text"]}]}
        yield Row(f"words: quote {each['name']}", {"open": "none", **play})
    for each in table["split"]:
        want: Json = {"result": each.get("argv")}
        if "says" in each:
            want = {"error": {"kind": "binary", "says": each["says"]}}
        split = {"open": "none", "do": [{"split": each["text"]}], "want": [want]}
        yield Row(f"words: split {each['name']}", split)


# The SDKs


@dataclass(frozen=True)
class Sdk:
    """One entry of sdks/sdks.json. `name` is also what its handshake says."""

    name: str
    folder: Path
    adapter: tuple[str, ...]
    cannot: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


def read_sdks() -> dict[str, Sdk]:
    table = json.loads((ROOT / "sdks" / "sdks.json").read_text(encoding="utf-8"))
    return {name: _read_sdk(name, entry) for name, entry in table.items()}


def _read_sdk(name: str, entry: Json) -> Sdk:
    folder = ROOT / entry["folder"]
    words = tuple(fill(word, python=sys.executable, root=str(ROOT)) for word in entry["adapter"])
    return Sdk(name, folder, words, entry.get("cannot", {}), entry.get("environment", {}))


def fill(text: str, **values: str) -> str:
    """The text with `{name}` replaced by each value; other braces are left alone."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


# The adapter


class Adapter:
    """One adapter process."""

    def __init__(self, sdk: Sdk, folder: Path, environment: dict[str, str]) -> None:
        self.stderr_path = folder / "adapter.stderr"
        self._log = self.stderr_path.open("ab")
        try:
            self._process = subprocess.Popen(
                sdk.adapter,
                cwd=sdk.folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
            )
        except OSError as error:
            command = shlex.join(sdk.adapter)
            message = f"the adapter of {sdk.name} cannot be started: {command}: {error.strerror}"
            raise SystemExit(f"{message}; run the build commands of sdks.json first") from None
        self._pending = b""
        self.pid = self._process.pid
        # Its own start does not count. If this has no answer, the first row has none either.
        self.send({"name": "nothing", "open": "none", "do": []})
        self.read(START_S)

    def send(self, message: Json) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def read(self, limit_s: float) -> bytes | None:
        """The next line; None when there is none in time, b"" when the adapter has ended."""
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        deadline = time.monotonic() + limit_s
        parts = [self._pending]
        while b"\n" not in parts[-1]:
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            parts.append(os.read(handle, 1 << 20))
            if not parts[-1]:
                return b""
        line, _, self._pending = b"".join(parts).partition(b"\n")
        return line

    def wait(self, limit_s: float) -> bool:
        """Whether it ends in this time, once its input has ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(limit_s)
        return self._process.returncode is not None

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> None:
        """Kill it, and everything in its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            with contextlib.suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()

    @property
    def stderr(self) -> str:
        return self.stderr_path.read_text(encoding="utf-8", errors="replace")

    @property
    def peak_mib(self) -> float:
        """The largest memory it has had."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0


# Playing


class Judge:
    """Plays rows through the adapter of one SDK. One adapter process plays most of them."""

    def __init__(self, sdk: Sdk, folder: Path, *, is_verbose: bool = False) -> None:
        self.sdk = sdk
        self._folder = folder
        self._is_verbose = is_verbose
        self._shared: Adapter | None = None
        self._numbers = itertools.count(1)
        self._tools = make_tools(folder / "tools")

    def close(self) -> None:
        if self._shared:
            self._shared.wait(GONE_S)
            self._shared.end()
            self._shared = None

    def play(self, row: Row) -> list[str]:
        """What is wrong with the SDK in this row; an empty list if nothing is."""
        folder = self._folder / f"row{next(self._numbers)}"
        folder.mkdir(parents=True)
        try:
            return list(_Play(self, row, folder).problems())
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def adapter_for(self, row: Row, folder: Path, **variables: str) -> Adapter:
        if row.is_alone:
            return Adapter(self.sdk, folder, self._environment(row, folder, variables))
        if self._shared is None:
            self._shared = Adapter(self.sdk, self._folder, self._environment(row, self._folder, {}))
        return self._shared

    def drop(self, adapter: Adapter) -> None:
        """Kill an adapter that is of no more use."""
        adapter.end()
        if adapter is self._shared:
            self._shared = None

    def _environment(self, row: Row, folder: Path, variables: dict[str, str]) -> dict[str, str]:
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        environment = {**os.environ, **self.sdk.environment, **variables, "TMPDIR": str(temporary)}
        environment["MCPTEST_BIN"] = shlex.join(FAKE)
        if "binary" in row.play:
            environment["MCPTEST_BIN"] = fill(row.play["binary"], tools=str(self._tools))
        if "path" in row.play:
            environment["PATH"] = fill(row.play["path"], tools=str(self._tools))
            environment["PATH"] += os.pathsep + os.environ["PATH"]
            del environment["MCPTEST_BIN"]
        return environment


def make_tools(folder: Path) -> Path:
    """Programs that MCPTEST_BIN can name; the README has the list."""
    fake = f'exec {shlex.join(FAKE)} "$@"'
    programs = {
        "with space/mcptest": fake,
        "path/mcptest": fake,
        "banner": "echo 'GNU nano, version 7.2'; sleep 5",
        "quits": "echo 'quits: no such option' >&2; exit 3",
        "not-executable": fake,
    }
    for name, text in programs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o644 if name == "not-executable" else 0o755)
    (folder / "folder").mkdir(exist_ok=True)
    return folder


class _Play:
    """One row with one SDK."""

    def __init__(self, judge: Judge, row: Row, folder: Path) -> None:
        self.judge = judge
        self.row = row
        self.play: Json = expand(row.play)
        self.folder = folder
        self.heard_path = folder / "heard"
        self.script_path = folder / "script.json"
        script = {**self.play.get("script", {}), "heard": str(self.heard_path)}
        self.script_path.write_text(json.dumps(script), encoding="utf-8")

    def problems(self) -> Iterator[str]:
        variables = {
            "FAKE_BINARY_SCRIPT": str(self.script_path),
            "FAKE_BINARY_HEARD": str(self.heard_path),
        }
        adapter = self.judge.adapter_for(self.row, self.folder, **variables)
        stderr_before = len(adapter.stderr)
        peak_before = adapter.peak_mib if "memory_mib" in self.play else 0.0
        began = time.monotonic()
        adapter.send(self.line())
        if self.play.get("end", "exit") != "exit":
            yield from self.end_by_signal(adapter, self.play["end"])
            return
        limit_s = self.play.get("within_ms", USUAL_MS) / 1000 + SLACK_S
        answer = adapter.read(limit_s)
        took_s = time.monotonic() - began
        self.log(f"did    {answer!r}\ntook   {took_s:.2f} s")
        if not answer:
            how = "the adapter ended" if answer == b"" else f"no answer within {limit_s:g} s"
            self.judge.drop(adapter)
            yield f"{how}; {self.describe_heard()}{_tail(adapter.stderr[stderr_before:])}"
            kill_left(self.pids())
            return
        yield from self.check_steps(answer)
        if "memory_mib" in self.play:
            grown = adapter.peak_mib - peak_before
            if grown > self.play["memory_mib"]:
                allowed = self.play["memory_mib"]
                yield f"its memory grew by {grown:.0f} MiB, and {allowed} are allowed"
        if self.row.is_alone and not adapter.wait(GONE_AFTER_SIGNAL_S + SLACK_S):
            yield "the adapter did not end when its input ended"
        yield from self.check_gone(GONE_S)
        if self.row.is_alone:
            adapter.end()
        yield from self.check_heard()
        yield from self.check_warnings(adapter, stderr_before)

    def line(self) -> Json:
        """What the adapter gets, without the expected outcome."""
        is_suite = self.play.get("open") == "suite"
        where: Json = {"command": ["fake", str(self.script_path), str(self.heard_path)]}
        if is_suite:
            where = {"file": str(self.script_path)}
        elif "command" in self.play:
            where = {"command": self.play["command"]}
        given = ("options", "timeout_ms")
        return {
            "name": self.row.name,
            "open": self.play.get("open", "coprocess"),
            **where,
            **{key: self.play[key] for key in given if key in self.play},
            "do": self.play["do"],
        }

    def log(self, text: str) -> None:
        if self.judge._is_verbose:
            sys.stderr.write(f"{text[:3000]}\n")

    # What the adapter said

    def check_steps(self, answer: bytes) -> Iterator[str]:
        try:
            said = json.loads(answer)
        except ValueError:
            yield f"the adapter wrote a line that is not JSON: {answer[:300]!r}"
            return
        if said.get("name") != self.row.name or not isinstance(said.get("did"), list):
            yield f"the adapter answered another row, or without a list did: {answer[:300]!r}"
            return
        yield from compare_lists(self.play["want"], said["did"], "", self.judge.sdk.name)

    # What the fake binary received

    def heard(self) -> list[bytes]:
        if not self.heard_path.exists():
            return []
        return self.heard_path.read_bytes().splitlines(keepends=True)

    def describe_heard(self) -> str:
        methods = [_method(line) for line in self.heard()[1:]]
        return f"the binary heard {', '.join(methods) or 'nothing'}"

    def pids(self) -> list[int]:
        return [json.loads(line)["pid"] for line in self.heard()[:1]]

    def check_heard(self) -> Iterator[str]:
        lines = self.heard()
        self.log("heard  " + "       ".join(line.decode("utf-8", "replace") for line in lines))
        if not lines:
            if self.play.get("heard"):
                yield "no binary was started"
            return
        yield from self.check_started(json.loads(lines[0]))
        requests = []
        for line in lines[1:]:
            try:
                requests.append(json.loads(line.decode("utf-8"), object_pairs_hook=_unique))
            except ValueError as error:
                yield f"it sent a line that is not JSON ({error}): {line[:200]!r}"
                return
        yield from check_requests(requests, self.judge.sdk.name)
        if "heard" in self.play:
            yield from compare_heard(self.play["heard"], requests)

    def check_started(self, began: Json) -> Iterator[str]:
        words = began["arguments"]
        given = dict(itertools.pairwise(words))
        if self.play.get("open") == "suite":
            if words[:3] != ["exec", "--suite-server", str(self.script_path)]:
                yield f"the binary was started with {words}, not with exec --suite-server FILE"
            return
        if words[:2] != ["exec", "--connection-server"]:
            yield f"the binary was started with {words}, not with exec --connection-server …"
        wanted = {**self.play.get("started", {})}
        if "started" not in self.play:
            wanted["--server-command"] = shlex.join(self.line()["command"])
        for option, value in wanted.items():
            if _plain(option, given.get(option)) != _plain(option, value):
                yield f"the binary was started with {words}; {option} {value!r} is missing"
        if "server_env" in self.play:
            sent = json.loads(began.get("server_env", "null"))
            yield from compare(self.play["server_env"], sent, "MCPTEST_SERVER_ENV")

    def check_warnings(self, adapter: Adapter, since: int) -> Iterator[str]:
        for text in self.play.get("warns", []):
            if not wait_until(lambda text=text: text in adapter.stderr[since:], GONE_S):
                yield f"the user was not shown the warning {text!r}"

    # Who is left

    def check_gone(self, limit_s: float) -> Iterator[str]:
        pids = self.pids()
        if not wait_until(lambda: not any(map(is_running, pids)), limit_s + SLACK_S):
            kill_left(pids)
            yield f"the binary was still there {limit_s + SLACK_S:g} s later"
        left = [path.name for path in self.folder.glob("tmp/*") if "mcptest" in path.name]
        if left:
            yield f"files were left in TMPDIR: {left}"

    def end_by_signal(self, adapter: Adapter, name: str) -> Iterator[str]:
        wanted = 1 + len(self.play["heard"])
        if not wait_until(lambda: len(self.heard()) >= wanted, USUAL_MS / 1000 + SLACK_S):
            yield f"{self.describe_heard()} before the adapter was to be ended"
        adapter.signal(getattr(signal, name))
        if not adapter.wait(GONE_AFTER_SIGNAL_S + SLACK_S):
            yield f"the adapter did not end after {name}"
        yield from self.check_gone(GONE_AFTER_SIGNAL_S)
        adapter.end()


def expand(value: Any) -> Any:
    """A value of a scenario with `{"$repeat": [TEXT, N]}` written out."""
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        return {key: expand(each) for key, each in value.items()}
    return [expand(each) for each in value] if isinstance(value, list) else value


def _tail(stderr: str) -> str:
    return f"; the adapter's stderr ends with: {stderr[-600:].strip()}" if stderr.strip() else ""


def _method(line: bytes) -> str:
    try:
        return str(json.loads(line).get("method"))
    except ValueError:
        return repr(line[:80])


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _plain(option: str, value: Any) -> Any:
    """The value of an option, without the freedom that its spelling has."""
    if option == "--server-command" and value is not None:
        return shlex.split(value)
    found = re.fullmatch(r"([\d.]+)(ms|s)", value or "")
    return float(found[1]) * (1000 if found[2] == "s" else 1) if found else value


def wait_until(is_true: Any, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_running(pid: int) -> bool:
    """Whether this fake binary runs; a process that waits for its parent does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX" and b"fake_binary" in command


def kill_left(pids: Iterable[int]) -> None:
    for pid in filter(is_running, pids):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


# Comparing


KINDS = {
    *("binary", "contract", "version", "timeout", "closed", "upstream", "upstream_gone"),
    *("refused", "cancelled", "arguments", "unsupported"),
}
ERROR_MEMBERS = {"kind", "message", "code", "data", "said"}
VERDICT_MEMBERS = {"success", "text", "data", "error", "duration_ms", "raw"}


def compare_lists(want: list[Json], did: list[Json], where: str, sdk: str) -> Iterator[str]:
    for number, (wanted, done) in enumerate(zip(want, did, strict=False)):
        yield from compare_step(wanted, done, f"{where}step {number}", sdk)
    if len(want) != len(did):
        shown = json.dumps(did[len(want) :] or did[-1:])[:600]
        yield f"{where}{len(did)} steps were done, not {len(want)}; the last: {shown}"


def compare_step(want: Json, did: Json, where: str, sdk: str) -> Iterator[str]:
    (kind,) = want
    if list(did) != [kind]:
        yield f"{where}: wanted {json.dumps(want)[:300]}, and it did {json.dumps(did)[:600]}"
    elif kind == "error":
        yield from compare_error(want["error"], did["error"], where, sdk)
    elif kind == "verdict":
        yield from compare_verdict(want["verdict"], did["verdict"], where)
    elif kind == "parallel":
        yield from compare_lists(want["parallel"], did["parallel"], f"{where}, ", sdk)
    elif kind == "opened" and want["opened"] is True:
        if not isinstance(did["opened"], str) or not did["opened"]:
            yield f"{where}: opened has the version of the binary, not {did['opened']!r}"
    else:
        yield from compare(want[kind], did[kind], where)


def compare_error(want: Json, did: Json, where: str, sdk: str) -> Iterator[str]:
    message = did.get("message")
    if did.get("kind") not in KINDS or not isinstance(message, str) or set(did) - ERROR_MEMBERS:
        yield f"{where}: this is not an error as the README has it: {json.dumps(did)[:600]}"
        return
    kinds: Any = want.get("kind", did["kind"])
    if did["kind"] not in ([kinds] if isinstance(kinds, str) else kinds):
        yield f"{where}: the error is {did['kind']!r}, not {kinds!r}: {message[:300]}"
    yield from compare_message(want, message, where, sdk)
    for member in ("code", "said", "data"):
        if member in want:
            yield from compare(want[member], did.get(member), f"{where}, error.{member}")


def compare_message(want: Json, message: str, where: str, sdk: str) -> Iterator[str]:
    if "message" in want and message != fill(want["message"], sdk=sdk):
        yield f"{where}: the message is {message!r}, not {fill(want['message'], sdk=sdk)!r}"
    for text in want.get("says", []):
        if text not in message:
            yield f"{where}: the message does not say {text!r}: {message[:600]!r}"
    for text in want.get("never", []):
        if text in message:
            yield f"{where}: the message has {text!r}: {message[:600]!r}"
    if len(message) > want.get("longest", len(message)):
        yield f"{where}: the message has {len(message)} characters, not up to {want['longest']}"


def compare_verdict(want: Json, did: Json, where: str) -> Iterator[str]:
    if set(did) != VERDICT_MEMBERS:
        yield f"{where}: a verdict has {sorted(VERDICT_MEMBERS)}, not {sorted(did)}"
        return
    duration = did["duration_ms"]
    if not isinstance(duration, (int, float)) or isinstance(duration, bool) or duration < 0:
        yield f"{where}: duration_ms is {duration!r}"
    for member, value in want.items():
        if member == "least_ms":
            if duration < value:
                yield f"{where}: duration_ms is {duration}, and the answer took {value} ms"
        elif (member, value) == ("error", True):
            # It has words, and which is up to the SDK.
            if not isinstance(did["error"], str) or not did["error"]:
                yield f"{where}: the verdict has no error text"
        else:
            yield from compare(value, did[member], f"{where}, verdict.{member}")


def compare(want: Any, did: Any, where: str) -> Iterator[str]:
    if not is_same(want, did):
        yield f"{where}: wanted {json.dumps(want)[:300]}, and it is {json.dumps(did)[:300]}"


def is_same(want: Any, did: Any) -> bool:
    """Equal as JSON, where 1 and 1.0 are the same number, and true is not 1."""
    if isinstance(want, dict) and isinstance(did, dict):
        return want.keys() == did.keys() and all(is_same(want[key], did[key]) for key in want)
    if isinstance(want, list) and isinstance(did, list):
        return len(want) == len(did) and all(map(is_same, want, did))
    return isinstance(want, bool) == isinstance(did, bool) and bool(want == did)


def check_requests(requests: list[Any], sdk: str) -> Iterator[str]:
    """What every request of every SDK must be like."""
    for number, request in enumerate(requests, 1):
        if not isinstance(request, dict) or set(request) - {"jsonrpc", "id", "method", "params"}:
            yield f"this is not a request: {json.dumps(request)[:300]}"
            return
        if request.get("jsonrpc") != "2.0" or not isinstance(request.get("params", {}), dict):
            yield f"this is not a request: {json.dumps(request)[:300]}"
        if type(request.get("id")) is not int or request["id"] != number:
            method, id = request.get("method"), request.get("id")
            yield f"request {number} ({method}) has the id {id!r}: ids are 1, 2, 3, …"
    if not requests:
        return
    first = requests[0]
    if first.get("method") != "coprocess/handshake":
        yield f"the first request is {first.get('method')}, not coprocess/handshake"
        return
    params = first.get("params", {})
    wanted = {"protocol_version": VERSION, "sdk": sdk}
    named = {key: params.get(key) for key in wanted}
    has_version = isinstance(params.get("sdk_version"), str) and params["sdk_version"]
    if named != wanted or not has_version or len(params) != 3:
        yield f"the handshake says {json.dumps(params)}; wanted {wanted} and an sdk_version"


def compare_heard(want: list[Any], requests: list[Json]) -> Iterator[str]:
    """Methods in order; `"mcp.shutdown?"` may be missing; an object has the params as well."""
    left = list(requests)
    methods = [each.get("method") for each in requests]
    for entry in want:
        asked = {"method": entry} if isinstance(entry, str) else entry
        method = asked["method"].removesuffix("?")
        found = left[0] if left else {}
        if found.get("method") != method:
            if asked["method"].endswith("?"):
                continue
            yield f"the binary heard {methods}, and {method} is missing"
            return
        left.pop(0)
        if isinstance(entry, dict):
            yield from compare(
                entry.get("params", {}), found.get("params", {}), f"{method}, params"
            )
    if left:
        yield f"the binary heard {methods}, which is too much"


# Judging an SDK


@dataclass
class Report:
    """What became of the rows."""

    sdk: str
    rows: int = 0
    failures: dict[str, list[str]] = field(default_factory=dict)
    # Rows that failed, as they must, because the SDK declares that it cannot do them.
    beyond: dict[str, list[str]] = field(default_factory=dict)
    # What it declares that it cannot do, and can.
    wrongly_declared: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return bool(self.rows) and not self.failures and not self.wrongly_declared

    def __str__(self) -> str:
        lines = []
        for name, problems in self.failures.items():
            lines += [f"FAIL  {name}", *(f"      {problem}" for problem in problems)]
        for ability in self.wrongly_declared:
            lines.append(f"FAIL  it declares that it cannot do {ability!r}, and it can")
        for name in self.beyond:
            lines.append(f"beyond its abilities: {name}")
        failed = f", {len(self.failures)} failed" if self.failures else ""
        counts = f"{self.rows} kit rows, {len(self.beyond)} beyond its abilities{failed}"
        return "\n".join([*lines, f"{self.sdk}: {counts}"])


def judge_sdk(
    sdk: Sdk, rows: Iterable[Row] | None = None, *, workers: int = 2, is_verbose: bool = False
) -> Report:
    """Play all rows, or these. Those that need their own adapter are played beside the rest."""
    is_whole = rows is None
    chosen = read_rows() if rows is None else list(rows)
    with tempfile.TemporaryDirectory(prefix="kit-") as name:
        judges = [
            Judge(sdk, Path(name) / str(n), is_verbose=is_verbose) for n in range(workers + 1)
        ]
        alone = [row for row in chosen if row.is_alone]
        shared = [row for row in chosen if not row.is_alone]
        lots = [alone, *(shared[n::workers] for n in range(workers))]
        found: dict[str, list[str]] = {}

        def play(judge: Judge, lot: list[Row]) -> None:
            if lot is alone:
                # They wait most of the time.
                with ThreadPoolExecutor(1 if is_verbose else 4) as pool:
                    found.update(zip([r.name for r in lot], pool.map(judge.play, lot), strict=True))
            else:
                found.update((row.name, judge.play(row)) for row in lot)

        try:
            with ThreadPoolExecutor(workers + 1) as pool:
                list(pool.map(play, judges, lots))
        finally:
            for judge in judges:
                judge.close()
    return make_report(sdk, chosen, found, is_whole=is_whole)


def make_report(
    sdk: Sdk, rows: list[Row], found: dict[str, list[str]], *, is_whole: bool
) -> Report:
    report = Report(sdk.name, len(rows))
    confirmed: set[str] = set()
    for row in rows:
        problems, excused = found[row.name], row.needs & sdk.cannot.keys()
        if problems and excused:
            report.beyond[row.name] = problems
            confirmed |= excused
        elif problems:
            report.failures[row.name] = problems
    if is_whole:
        report.wrongly_declared = sorted(sdk.cannot.keys() - confirmed)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    sdks = read_sdks()
    parser.add_argument("sdk", choices=sdks, nargs="?")
    parser.add_argument("--count", action="store_true", help="only print how many rows there are")
    parser.add_argument("-k", default="", help="only rows whose name contains this text")
    parser.add_argument("-v", action="store_true", help="show what was done and heard")
    parser.add_argument("-j", type=int, default=2, help="adapter processes (default: 2)")
    given = parser.parse_args()
    # A shell starts background jobs with Ctrl-C ignored, and adapters would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if given.count:
        sys.stdout.write(f"{len(read_rows())}\n")
        return 0
    if not given.sdk:
        parser.error(f"name an SDK: {', '.join(sdks)}")
    rows = [row for row in read_rows() if given.k in row.name] if given.k else None
    report = judge_sdk(sdks[given.sdk], rows, workers=1 if given.v else given.j, is_verbose=given.v)
    sys.stdout.write(f"{report}\n")
    return 0 if report.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
