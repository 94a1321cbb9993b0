"""Random suites, random servers, and an oracle that says which tests may pass.

The oracle knows nothing of the program that is tested. It reads what the server wrote down, and
the tests as they were made: a test may pass only if the server sent, after it had read the test's
request, an answer with the id of that very request which meets the expectation.

The server cannot know when a request was sent, only when it read it. What it wrote before that
with an id that it guessed is too early where the request cannot have been sent by then. Where it
may have been sent, the answer counts.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Message = dict[str, Any]
    # Takes one of several.
    Choose = Callable[[Sequence[Any]], Any]

__all__ = [
    "LONG_S",
    "SHORT_S",
    "Case",
    "Scenario",
    "explain",
    "may_pass",
    "passed_in",
    "random_scenario",
    "run",
]

SERVER = Path(__file__).parent.parent / "servers" / "pairing_server.py"

# Nothing here takes this long; it is where a hang is called a hang.
PATIENCE_S = 60.0

# How long a test waits for its answer: where some never arrive, and where all do.
SHORT_S = 0.3
LONG_S = 20.0

# Of every JSON type that an id may have, and some that look alike.
IDS: tuple[object, ...] = (1, 1, 1, "1", 2, "a", 0, -1, 1.5, "01")
EXPECTATIONS = ("exact", "partial", "any", "time", "error")
ERROR = {"code": -32000, "message": "refused"}

# What a run must have seen before anything else can go wrong, or goes wrong most.
_LIKELY = ("right", "right", "right", "right", "twice", "twice, with a pause", "early")

# Long enough for the next request to have been sent, and the server has not read it.
PAUSE = {"pause_ms": 40}


class Case(NamedTuple):
    """One test: its file, its id, what it expects, and what its server does."""

    tag: str
    file: str
    id: object
    nonce: str
    expects: str
    call: Message

    @property
    def request(self) -> Message:
        params = {"name": "echo", "arguments": {"tag": self.tag, "nonce": self.nonce}}
        return {"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": params}

    @property
    def right(self) -> Message:
        """What a server answers that behaves: what the test expects, beside the envelope."""
        if self.expects == "error":
            return {"error": ERROR}
        return {"result": {"content": [{"type": "text", "text": self.nonce}]}}

    def is_met_by(self, answer: Message) -> bool:
        """Whether an answer is what the test expects, its id aside."""
        if self.expects == "time":
            return "error" not in answer
        if self.expects == "any":
            return isinstance(answer.get("result"), dict)
        return all(answer.get(key) == value for key, value in self.right.items())


class Entry(NamedTuple):
    """One line of the log of a server."""

    pid: int
    direction: str
    at_s: float
    piece: int
    message: Message

    @property
    def is_read(self) -> bool:
        return self.direction == "in"

    @property
    def is_request(self) -> bool:
        return self.is_read and "id" in self.message and "method" in self.message

    def answers(self, id: object) -> bool:
        """Whether the server wrote this as an answer to the id: the same value and JSON type."""
        if self.is_read or "method" in self.message or self.message.get("id") is None:
            return False
        mine = self.message["id"]
        return isinstance(mine, str) == isinstance(id, str) and bool(mine == id)


class Scenario(NamedTuple):
    """Everything that is written before a run."""

    tests: tuple[Case, ...]
    start: tuple[Message, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def script(self) -> Message:
        return {"start": self.start, "calls": {test.tag: test.call for test in self.tests}}


# Making them


def random_scenario(choose: Choose, *, is_hostile: bool) -> Scenario:
    """Some files of some tests; `choose` takes one of several each time it is asked."""
    # Where all answers are equal, their ids alone say whose they are.
    same = choose([True, True, False])
    tests: list[Case] = []
    for file in ("a.test.mcp.yml", "b.test.mcp.yml", "c.cases.yaml")[: choose([1, 1, 2, 3])]:
        ids = [1] if choose([True, False]) else IDS
        for _ in range(choose([2, 3, 4])):
            tag = f"t{len(tests)}"
            # Cases have no word for the time alone.
            known = EXPECTATIONS if file.endswith(".yml") else ("partial", "error")
            expects = choose(known)
            test = Case(tag, file, choose(ids), "same" if same else tag, expects, {})
            tests.append(test)
    right = [{"id": "wire", **test.right} for test in tests]
    tests = [test._replace(call={"write": [op]}) for test, op in zip(tests, right, strict=True)]
    words = ("--strict-invariants",) if choose([False, True]) else ()
    if not is_hostile:
        return Scenario(tuple(tests), words=words)
    following = [*tests[1:], None]
    tests = [
        test._replace(call=_hostile_call(choose, test, after))
        for test, after in zip(tests, following, strict=True)
    ]
    start = choose([(), (), ({"jsonrpc": "2.0", "id": tests[0].id, **tests[0].right},)])
    return Scenario(tuple(tests), start, words)


def _hostile_call(choose: Choose, test: Case, after: Case | None) -> Message:
    ops = [op for _ in range(choose([1, 1, 2])) for op in _hostile_ops(choose, test, after)]
    is_last = choose([False] * 9 + [True])
    return {"write": ops, "exit": is_last, "delay_ms": choose([0, 0, 20])}


def _hostile_ops(choose: Choose, test: Case, after: Case | None) -> list[Message]:
    right = {"id": "wire", **test.right}
    refused = {"id": "wire", "error": ERROR}
    # With the id as the file has it, which is what a server can know beforehand.
    early = {"id": [after.id], **after.right} if after else {"id": [test.id], **test.right}
    alike: object = str(test.id) if not isinstance(test.id, str) else 1
    ways: dict[str, list[Message]] = {
        "right": [right],
        "twice": [right, right],
        "twice, with a pause": [right, PAUSE, right],
        "refused and then right": [refused, PAUSE, right],
        "early": [early, right],
        "early, after it": [right, early],
        "only early": [early],
        "a guess": [{**early, "id": "next"}, right],
        "nothing": [],
        "late": [{**right, "hold": True}],
        "for the last one": [{**right, "id": "last"}],
        "another type": [{**right, "id": [alike]}],
        "as written": [{**right, "id": [test.id]}],
        "no id": [{"id": [None], "error": ERROR}],
        "wrong": [{"id": "wire", "result": {"content": []}}],
        "refused": [refused],
        "echo": [{"echo": True}],
    }
    return ways[choose([*ways, *_LIKELY])]


# Running them


def run(
    folder: Path, scenario: Scenario, timeout_s: float, server: Sequence[str] = ()
) -> tuple[Message, list[Entry]]:
    """The report of the real command, and the log of its servers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "script.json").write_text(json.dumps(scenario.script), encoding="utf-8")
    files = sorted({test.file for test in scenario.tests})
    for file in files:
        tests = [test for test in scenario.tests if test.file == file]
        text = _conductor(tests) if file.endswith(".yml") else _cases(tests)
        (folder / file).write_text(text, encoding="utf-8")
    log = folder / "log.jsonl"
    log.touch()
    server = server or [sys.executable, "-S", "-E", str(SERVER), "script.json", str(log)]
    words = ["--server-command", shlex.join(server), "--timeout", f"{timeout_s * 1000:.0f}ms"]
    ended = processes.run(
        [sys.executable, "-m", "mcptest", "run", *files, "--json", *words, *scenario.words],
        cwd=folder,
        env=processes.ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )
    assert b"Traceback" not in ended.stderr, ended.stderr.decode()
    report = json.loads(ended.stdout)
    assert ended.returncode in (0, 1, 3), report["error"]
    lines = log.read_text(encoding="utf-8").splitlines()
    return report, [
        Entry(pid, direction, at_s, piece, json.loads(line))
        for pid, direction, at_s, piece, line in map(json.loads, lines)
    ]


def _conductor(tests: Sequence[Case]) -> str:
    return json.dumps(
        {
            "description": "pairs",
            "tests": [
                {"it": test.tag, "request": test.request, "expect": _expect(test)} for test in tests
            ],
        }
    )


def _expect(test: Case) -> Message:
    if test.expects == "time":
        return {"performance": {"maxResponseTime": "20s"}}
    if test.expects == "any":
        return {"response": {"match:partial": {"result": "match:type:object"}}}
    if test.expects == "partial":
        return {"response": {"match:partial": test.right}}
    return {"response": {"jsonrpc": "2.0", "id": test.id, **test.right}}


def _cases(tests: Sequence[Case]) -> str:
    documents = [
        {
            "case": test.tag,
            "in": test.request,
            "out": {"jsonrpc": "2.0", "id": test.id} | test.right,
        }
        for test in tests
    ]
    return "\n---\n".join(map(json.dumps, documents))


# Judging them


def passed_in(report: Message) -> set[str]:
    """The names of the tests that the report calls passed."""
    return {
        test["name"]
        for suite in report["suites"]
        for test in suite["tests"]
        if test["status"] == "passed"
    }


def may_pass(scenario: Scenario, log: Sequence[Entry], timeout_s: float) -> set[str]:
    """The names of the tests whose server sent what they expect, when they could expect it."""
    found = set()
    for pid in {entry.pid for entry in log}:
        mine = [entry for entry in log if entry.pid == pid]
        for at, entry in enumerate(mine):
            tag = _tag_of(entry.message) if entry.is_read else None
            for test in scenario.tests:
                if test.tag == tag and any(
                    test.is_met_by(each.message) for each in _answers_to(mine, at, timeout_s)
                ):
                    found.add(test.tag)
    return found


def _answers_to(log: Sequence[Entry], at: int, timeout_s: float) -> Iterator[Entry]:
    """What one server wrote with the id of the request that it read here, and not too early."""
    id = log[at].message["id"]
    for place, entry in enumerate(log):
        if entry.answers(id) and (place > at or _may_be_in_time(log, place, timeout_s)):
            yield entry


def _may_be_in_time(log: Sequence[Entry], place: int, timeout_s: float) -> bool:
    """Whether an answer to what was not read yet may have been written after that was sent.

    An id that was read before was meant for that request. Any other was guessed: the next request
    is sent when the one before it has its answer, or when its time is up. Until then the guess was
    too early; afterwards it cannot be known.
    """
    entry = log[place]
    asked = [at for at in range(place) if log[at].is_request]
    if not asked or any(entry.answers(log[at].message["id"]) for at in asked):
        return False
    before = asked[-1]
    answers = (each for each in log[before:place] if each.answers(log[before].message["id"]))
    first = next(answers, None)
    if first and first.piece < entry.piece:
        return True
    # It was not sent before what the server did last until it read it.
    sent_s = log[before - 1].at_s if before else log[before].at_s
    return entry.at_s >= sent_s + timeout_s


def _tag_of(message: Message) -> object:
    params = message.get("params")
    arguments = params.get("arguments") if isinstance(params, dict) else None
    return arguments.get("tag") if isinstance(arguments, dict) else None


def explain(scenario: Scenario, report: Message, log: Sequence[Entry]) -> str:
    """Everything needed to reproduce the scenario."""
    lines = [f"words: {' '.join(scenario.words)}", f"start: {json.dumps(scenario.start)}"]
    for test in scenario.tests:
        lines.append(
            f"{test.tag} in {test.file}, id {test.id!r}, expects {test.expects} {test.nonce}: "
            f"{json.dumps(test.call)}"
        )
    lines += [f"{each.pid} {each.direction:3} {json.dumps(each.message)}" for each in log]
    for suite in report["suites"]:
        for test in suite["tests"]:
            said = test["error"] or test["mismatches"]
            lines.append(f"{test['name']}: {test['status']} {json.dumps(said)[:300]}")
    lines.append(f"findings: {json.dumps(report['findings'])[:1000]}")
    return "\n".join(lines)
