"""A test passes only by the answer to its own request, whatever else the server sends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from command import running, write_files
from http_runs import run, run_over_http
from processes import MCPTEST
from raw_http import EVENTS, Asked, Line, RawHttp, answer, event, good, result_for
from staging import Report, call, echo, perform, spec_for

from mcptest.engine.connection import Inbox

if TYPE_CHECKING:
    from mcptest.core.plan import ServerSpec

    Message = dict[str, Any]

SERVERS = Path(__file__).parent.parent / "servers"

# Long enough for a server to answer, also on a busy machine.
SHORT = "1500ms"

ANY_ERROR = {"expect": {"response": {"match:partial": {"error": "match:type:object"}}}}
ANY_RESULT = {"expect": {"response": {"match:partial": {"result": "match:type:object"}}}}


def server(body: str, **options: Any) -> ServerSpec:
    """A server that runs this code; `g` is the good server it may use."""
    code = f"import json, os, sys, time\nsys.path.insert(0, {str(SERVERS)!r})\n"
    code += f"import good_server as g\n{body}"
    return spec_for("peer", command=(sys.executable, "-S", "-E", "-c", code), **options)


def run_files(folder: Path, spec: ServerSpec, *words: str, **files: Any) -> Report:
    """Run these files by the command; a value is the text of a file or a list of tests."""
    write_files(folder, spec)
    (folder / "a.test.mcp.yml").unlink()
    for name, content in files.items():
        if isinstance(content, list):
            path, content = (
                folder / f"{name}.test.mcp.yml",
                json.dumps({"description": name, "tests": content}),
            )
        else:
            path = folder / f"{name}.cases.yaml"
        path.write_text(content, encoding="utf-8")
    return run(folder, [MCPTEST, "run", ".", "--json", *words])


# Ids

# Answers the first call twice, and no other.
TWICE = """
seen = []
def call(request):
    if not seen:
        g.write(g.line_for(request))
        # By now the next request is on its way.
        time.sleep(0.2)
        g.write(g.line_for(request))
    seen.append(request)
g.serve({"tools/call": call})
"""

CONTRACT = """
case: the first
in: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: echo, arguments: {text: hi}}}
out: {jsonrpc: "2.0", id: 1, result: {content: [{type: text, text: hi}]}}
---
case: the second
in: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: echo, arguments: {text: hi}}}
out: {jsonrpc: "2.0", id: 1, result: {content: [{type: text, text: hi}]}}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "files"),
    [
        ((), {"a": [echo(), echo()]}),
        ((), {"a": [echo()], "b": [echo()]}),
        ((), {"a": CONTRACT}),
        (("--strict-invariants",), {"a": [echo(), echo()]}),
    ],
    ids=["one file", "two files", "contract", "strict"],
)
def test_a_second_answer_is_never_that_to_the_next_request(
    tmp_path: Path, words: tuple[str, ...], files: dict[str, Any]
) -> None:
    report = run_files(tmp_path, server(TWICE), "--timeout", SHORT, *words, **files)
    assert (report.status, report.statuses) == (1, ["passed", "error"])
    assert report.fault["kind"] == "timeout"
    assert "duplicate_response" in [each["kind"] for each in report.members["findings"]]


@pytest.mark.long
def test_a_second_answer_is_never_that_to_the_next_request_under_pytest(tmp_path: Path) -> None:
    write_files(tmp_path, server(TWICE, timeout_s=1.5), echo(), echo())
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "a.test.mcp.yml"]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
        encoding="utf-8",
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout


LOGGING = """
log = open(sys.argv[1], "a")
def call(request):
    log.write(json.dumps(request["id"]) + "\\n"); log.flush()
    g.write(g.line_for(request))
g.serve({"tools/call": call})
"""


def ids_on_the_wire(log: Path) -> list[object]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_each_request_has_an_id_of_its_own_and_reports_have_the_written_one(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    spec = server(LOGGING)
    spec = spec.but(command=(*spec.command, str(log)))
    tests = [echo(), echo("again"), echo(id="a"), echo(id="a"), echo("no", expect={"stderr": "x"})]
    words = ("--capture", "capture.json", "--reporter", "json=log.json", "--verbose")
    report = run_files(tmp_path, spec, *words, a=tests)
    assert report.statuses == ["passed"] * 4 + ["failed"]
    assert ids_on_the_wire(log) == [1, 1_000_001, "a", "a~3", 1_000_003]
    assert "1000003" not in json.dumps(report.members["suites"])
    session = json.loads((tmp_path / "capture.json").read_text(encoding="utf-8"))
    calls = [x for x in session["exchanges"] if x["request"]["method"] == "tools/call"]
    assert [x["request"]["id"] for x in calls] == [1, 1, "a", "a", 1]
    assert [x["response"]["id"] for x in calls] == [1, 1, "a", "a", 1]
    assert [x.get("wire_id") for x in calls] == [None, 1_000_001, None, "a~3", 1_000_003]


# Answers the second call twice.
SECOND_TWICE = """
seen = []
def call(request):
    g.write(g.line_for(request) * (1 + len(seen)))
    seen.append(request)
g.serve({"tools/call": call})
"""


def test_a_broken_rule_names_the_id_of_the_file_live_and_in_a_capture(tmp_path: Path) -> None:
    spec = server(SECOND_TWICE)
    report = run_files(tmp_path, spec, "--capture", "capture.json", a=[echo(), echo()])
    sentence = "the request with the id 1 (sent as 1000001) was answered more than once"
    assert sentence in json.dumps(report.members)
    words = [MCPTEST, "compliance", "check", "--capture", "capture.json"]
    shown = subprocess.run(words, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert sentence in " ".join(shown.stdout.split())


def test_a_test_that_means_to_use_an_id_again_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log"
    spec = server(LOGGING)
    spec = spec.but(command=(*spec.command, str(log)))
    report = run_files(tmp_path, spec, a=[echo(), echo(wire_id=True), echo(wire_id=False)])
    assert report.statuses == ["passed"] * 3
    assert ids_on_the_wire(log) == [1, 1, 1_000_001]


def test_so_does_a_case_of_a_contract(tmp_path: Path) -> None:
    log = tmp_path / "log"
    spec = server(LOGGING)
    spec = spec.but(command=(*spec.command, str(log)))
    report = run_files(tmp_path, spec, a=CONTRACT.replace("---", "---\n_wire_id: true"))
    assert report.statuses == ["passed"] * 2
    assert ids_on_the_wire(log) == [1, 1]


def test_a_short_form_has_no_id_that_could_be_kept(tmp_path: Path) -> None:
    test = {"it": "x", "tool": "echo", "wire_id": True, "expect": {"response": {"result": {}}}}
    report = run_files(tmp_path, server("g.serve()"), a=[test])
    assert report.status == 2
    assert "this test writes none" in json.dumps(report.members["error"])


def test_a_test_that_cancels_a_request_names_the_id_that_was_sent(tmp_path: Path) -> None:
    body = """
    log = open(sys.argv[1], "a")
    def note(request):
        log.write(json.dumps(request["params"]["requestId"]) + "\\n"); log.flush()
    g.serve({"notifications/cancelled": note})
    """.replace("\n    ", "\n")
    log = tmp_path / "log"
    spec = server(body)
    cancels = {
        "it": "cancels",
        "request": {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 1},
        },
        "expect": {"stderr": "toBeEmpty"},
    }
    run_files(tmp_path, spec.but(command=(*spec.command, str(log))), a=[echo(), echo(), cancels])
    assert ids_on_the_wire(log) == [1_000_001]


# Streams of HTTP


@pytest.mark.long
@pytest.mark.parametrize(
    ("reply", "kind"), [(answer(status="202 Accepted", kind=""), "http_body"), (EVENTS, "timeout")]
)
def test_an_answer_on_another_stream_does_not_count(
    tmp_path: Path, reply: bytes, kind: str
) -> None:
    """The POST is only accepted, or its stream stays silent; the answer is on the GET stream."""
    calls: list[Asked] = []

    def script(asked: Asked, line: Line) -> None:
        if asked.about == "tools/call":
            calls.append(asked)
            line.send(reply)
        elif asked.about == "GET":
            line.send(EVENTS)
            while not calls:
                time.sleep(0.01)
            line.send(event(result_for(calls[0])))
        else:
            good(asked, line)
            return
        line.wait_for_the_end()

    with RawHttp(script) as peer:
        report = run_over_http(tmp_path, peer.url, echo(), words=("--timeout", SHORT))
    assert (report.status, report.statuses) == (1, ["error"])
    assert report.fault["kind"] == kind
    findings = [each["kind"] for each in report.members["findings"]]
    assert kind == "http_body" or "misplaced_response" in findings


# Echoes

ECHO = """
for line in sys.stdin.buffer:
    request = json.loads(line)
    if request.get("method") == "initialize":
        line = g.line_for(request)
    g.write(line)
"""

# Asks under the id of the call, and sends the reply back as its answer.
REFLECTS = """
for line in sys.stdin.buffer:
    request = json.loads(line)
    if request.get("method") == "tools/call":
        g.write(g.line_of({"jsonrpc": "2.0", "id": request["id"], "method": "roots/list"}))
    elif "method" not in request:
        g.write(line)
    elif "id" in request:
        g.write(g.line_for(request))
"""


@pytest.mark.parametrize("body", [ECHO, REFLECTS], ids=["echo", "reflects"])
@pytest.mark.parametrize("wanted", [ANY_ERROR, ANY_RESULT])
def test_a_peer_that_echoes_never_passes(body: str, wanted: Message) -> None:
    report = perform(server(body, timeout_s=2.0), echo() | wanted)
    assert (report.status, report.statuses) == (1, ["error"])
    assert "sends back what it is sent" in report.fault["message"]


def test_a_plain_echo_is_recognised_at_the_handshake() -> None:
    report = perform(spec_for("cat", command=("cat",)))
    assert (report.status, report.fault["kind"]) == (3, "protocol_violation")


def test_an_echo_is_recognised_in_a_contract(tmp_path: Path) -> None:
    contract = """
case: any error
in: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: echo}}
out: {jsonrpc: "2.0", id: 1, error: {code: -32601}}
"""
    report = run_files(tmp_path, server(ECHO), "--timeout", SHORT, a=contract)
    assert (report.status, report.statuses) == (1, ["error"])


# Too early

# Answers what it expects to be asked, before it is.
EAGER = """
def initialize(request):
    guesses = [{"jsonrpc": "2.0", "id": id, "method": "tools/call"} for id in (1, 2)]
    for guess in guesses:
        guess["params"] = {"name": "echo", "arguments": {"text": "hi"}}
    g.write(g.line_for(request) + b"".join(map(g.line_for, guesses)))
g.serve({"initialize": initialize, "tools/call": lambda request: None})
"""

# Begins its answer before it is asked, and ends it afterwards.
HALF = """
def initialize(request):
    global rest
    guess = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    guess["params"] = {"name": "echo", "arguments": {"text": "hi"}}
    line = g.line_for(guess)
    rest = line[10:]
    g.write(g.line_for(request) + line[:10])
def call(request):
    g.write(rest)
g.serve({"initialize": initialize, "tools/call": call})
"""

# Reads no further than the handshake, and answers by the clock.
DEAF = """
def line():
    raw = b""
    while not raw.endswith(b"\\n"):
        raw += os.read(0, 1)
    return json.loads(raw)
g.write(g.line_for(line()))
line()
while True:
    time.sleep(0.2)
    g.write(g.line_for({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": "hi"}}}))
"""


def test_an_answer_before_its_request_does_not_count() -> None:
    report = perform(server(EAGER, timeout_s=0.7), echo())
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert "an answer with id 1 came before the request was sent" in report.fault["hint"]
    assert report.findings["early_response"]["count"] == 1


def test_an_early_answer_is_reported_once_however_often_its_id_is_used() -> None:
    body = EAGER.replace(', "tools/call": lambda request: None', "")
    report = perform(server(body), *[echo(id=1)] * 3)
    assert report.statuses == ["passed"] * 3
    assert report.findings["early_response"]["count"] == 1


@pytest.mark.long
def test_nor_does_it_in_a_contract(tmp_path: Path) -> None:
    report = run_files(tmp_path, server(EAGER), "--timeout", SHORT, a=CONTRACT)
    assert report.status == 1
    assert "passed" not in report.statuses


def test_an_answer_that_began_before_its_request_does_not_count() -> None:
    report = perform(server(HALF, timeout_s=0.7), echo())
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert report.findings["early_response"]["count"] == 1


@pytest.mark.long
def test_a_server_that_reads_nothing_does_not_pass_in_a_contract(tmp_path: Path) -> None:
    report = run_files(tmp_path, server(DEAF), "--timeout", SHORT, a=CONTRACT)
    assert (report.status, set(report.statuses)) == (1, {"error"})
    assert report.tests[0]["error"]["kind"] == "early_response"


def test_a_server_that_reads_nothing_does_not_pass() -> None:
    report = perform(server(DEAF, timeout_s=2.0), echo())
    assert (report.status, report.statuses) == (1, ["error"])
    assert (report.fault["kind"], "has read nothing of it" in report.fault["message"]) == (
        "early_response",
        True,
    )


# A batch that begins before the request.
HALF_BATCH = """
g.INITIALIZE_RESULT["protocolVersion"] = "2025-03-26"
def initialize(request):
    guess = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    guess["params"] = {"name": "echo", "arguments": {"text": "hi"}}
    g.write(g.line_for(request) + b"[" + g.line_for(guess).strip() + b"]")
g.serve({"initialize": initialize, "tools/call": lambda request: g.write(b"\\n")})
"""


def test_an_answer_in_a_batch_that_began_before_its_request_does_not_count() -> None:
    report = perform(server(HALF_BATCH, timeout_s=0.7), echo())
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert report.findings["early_response"]["count"] == 1


TWO_CALLS = """
case: two at once
in: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: echo, arguments: {text: hi}}}
in2: {jsonrpc: "2.0", id: 2, method: tools/call, params: {name: echo, arguments: {text: hi}}}
out: {jsonrpc: "2.0", id: 1, result: {content: [{type: text, text: hi}]}}
out2: {jsonrpc: "2.0", id: 2, result: {content: [{type: text, text: hi}]}}
"""


@pytest.mark.long
def test_neither_of_two_calls_in_a_contract_is_answered_by_a_line_begun_earlier(
    tmp_path: Path,
) -> None:
    second = "    if request['id'] == 2: g.write(rest + g.line_for(request))"
    body = HALF.replace("    g.write(rest)", second)
    report = run_files(tmp_path, server(body), "--timeout", SHORT, a=TWO_CALLS)
    assert (report.status, report.statuses) == (1, ["error"])


@pytest.mark.parametrize("before", ["Loading ...", " ", "\\r"])
@pytest.mark.parametrize("after", [" done\\n", "\\n"])
def test_a_line_that_is_not_a_message_does_not_affect_the_next(before: str, after: str) -> None:
    body = f"""
def initialize(request):
    g.write(g.line_for(request) + b"{before}")
def call(request):
    g.write(b"{after}" + g.line_for(request))
g.serve({{"initialize": initialize, "tools/call": call}})
"""
    assert perform(server(body), echo()).statuses == ["passed"]


def test_a_log_line_with_the_id_of_a_call_is_not_its_answer() -> None:
    body = """
def call(request):
    g.write(b'INFO loaded user {"id": 1, "name": "x"}\\n' + g.line_for(request))
g.serve({"tools/call": call})
"""
    assert perform(server(body), echo()).statuses == ["passed"]


# Says something once, before any case begins, and takes its time for a ping.
SAYS_ONCE = """
def ping(request):
    time.sleep(0.1)
    g.write(g.line_for(request))
g.serve({"ping": ping, "notifications/initialized": lambda note: g.write(g.line_of(g.LOG))})
"""

SAID_AFTERWARDS = """
case: says something after the ping
in: {jsonrpc: "2.0", id: 1, method: ping}
out: {jsonrpc: "2.0", method: notifications/message}
out2: {jsonrpc: "2.0", id: 1, result: {}}
"""

SAID_FIRST = """
case: says something at the start
out: {jsonrpc: "2.0", method: notifications/message}
in: {jsonrpc: "2.0", id: 1, method: ping}
out2: {jsonrpc: "2.0", id: 1, result: {}}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("contract", "status"), [(SAID_AFTERWARDS, "failed"), (SAID_FIRST, "passed")]
)
def test_messages_before_a_case_do_not_count_as_following_its_request(
    tmp_path: Path, contract: str, status: str
) -> None:
    report = run_files(tmp_path, server(SAYS_ONCE), "--timeout", SHORT, a=contract)
    assert report.statuses == [status]


# Guesses the id of the next round, and sends its answer before the round.
GUESSED_ROUND = """
def answer(id, **result):
    g.write(g.line_of({"jsonrpc": "2.0", "id": id, "result": result}))
for line in sys.stdin.buffer:
    request = json.loads(line)
    if request.get("method") == "server/discover":
        answer(request["id"], resultType="complete", supportedVersions=["2026-07-28"],
               capabilities={"tools": {}}, serverInfo={"name": "x", "version": "1"})
    elif request.get("method") == "tools/call" and "requestState" not in request["params"]:
        answer(request["id"], resultType="input_required", requestState="s")
        answer("mcptest-round-1", resultType="complete", content=[])
"""


@pytest.mark.long
def test_an_answer_to_a_round_that_was_not_sent_does_not_count(tmp_path: Path) -> None:
    words = ("--timeout", SHORT, "--spec-version", "2026-07-28")
    report = run_files(tmp_path, server(GUESSED_ROUND), *words, a=[echo() | ANY_RESULT])
    assert (report.status, report.statuses) == (1, ["error"])
    assert report.fault["kind"] == "timeout"


# Refuses only the first message that is not legal, and late.
LATE_REFUSAL = """
import threading
refused = []
def refuse():
    time.sleep(0.4)
    g.write(g.line_of({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "bad"}}))
for line in sys.stdin.buffer:
    request = json.loads(line)
    if request.get("jsonrpc") != "2.0":
        if not os.path.exists("refused"):
            open("refused", "w").close()
            threading.Thread(target=refuse, daemon=True).start()
    elif "id" in request:
        g.write(g.line_for(request))
"""


@pytest.mark.long
def test_a_late_refusal_of_an_earlier_message_is_not_that_of_the_next(tmp_path: Path) -> None:
    note = {"it": "note", "request": {"jsonrpc": "1.0", "method": "x"}}
    note["expect"] = {"stderr": "toBeEmpty"}
    illegal = {"it": "illegal", "request": {"jsonrpc": "1.0", "id": 7, "method": "y"}, **ANY_ERROR}
    words = ("--timeout", SHORT)
    report = run_files(tmp_path, server(LATE_REFUSAL), *words, a=[note, illegal])
    assert report.statuses == ["passed", "error"]
    assert "a late answer to an earlier message" in report.notes[0]


def test_ids_with_as_many_digits_as_can_be_read_are_replaced() -> None:
    body = "sys.set_int_max_str_digits(0)\ng.serve()"
    tests = [echo(id=sign * (10**4299 - 1)) for sign in (1, 1, -1, -1)]
    assert perform(server(body), *tests).statuses == ["passed"] * 4


def test_quick_answers_take_some_time() -> None:
    timed = echo(expect={"performance": {"minResponseTime": 0.001, "maxResponseTime": "20s"}})
    report = perform(server("g.serve()"), *[timed] * 20)
    assert report.statuses == ["passed"] * 20


# The end right after an answer

ONE_SHOT = """
def call(request):
    g.write(g.line_for(request))
    os._exit(3)
g.serve({"tools/call": call})
"""


@pytest.mark.parametrize("is_hasty", [True, False])
def test_a_server_that_ends_after_its_answer_has_the_same_verdicts_every_time(
    is_hasty: bool,
) -> None:
    """The answer counts; the end is an error of the next test, whenever it was noticed."""
    spec = server(
        ONE_SHOT if is_hasty else ONE_SHOT.replace("os._exit", "time.sleep(.03); os._exit")
    )
    found = []
    for _ in range(6):
        report = perform(spec, echo(id=1), echo(id=2), echo(id=3))
        assert (report.status, report.statuses) == (1, ["passed", "error", "passed"])
        error = report.fault
        assert (error["kind"], error["effect"]) == ("exited_during_call", "definite")
        found.append(error["message"])
    wanted = (
        "the server ended (exit status 3) after its last answer, before it read tools/call (id 2)"
    )
    assert set(found) == {wanted}


def test_an_exit_that_one_test_requested_is_not_an_error_of_the_next() -> None:
    ends = {"it": "ends", "request": call(id=1), "expect": {"exitCode": 3}}
    report = perform(server(ONE_SHOT), ends, echo(id=2))
    assert report.statuses == ["passed", "passed"]


# Our own time, and our own replies

# Asks something that takes a large reply, and answers without reading it.
ASKS_MUCH = """
def call(request):
    asked = {"jsonrpc": "2.0", "id": "q", "method": "x" * 400_000}
    g.write(json.dumps(asked).encode() + b"\\n" + g.line_for(request))
    time.sleep(0.3)
g.serve({"tools/call": call})
"""


def test_a_right_answer_counts_while_our_own_large_reply_is_unread() -> None:
    report = perform(server(ASKS_MUCH), echo(id=1), echo(id=2))
    assert report.statuses == ["passed", "passed"]


BUSY = """
def call(request):
    g.write(g.line_of(g.LOG) * 25_000 + g.line_for(request))
g.serve({"tools/call": call})
"""


@pytest.mark.long
def test_our_own_work_with_many_messages_is_not_counted_as_time_of_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take = Inbox._take_notification

    def slowly(inbox: Inbox, event: Any) -> None:
        time.sleep(0.0001)
        take(inbox, event)

    monkeypatch.setattr(Inbox, "_take_notification", slowly)
    # Less than our own work takes, and much more than that of the server on a busy machine.
    report = perform(server(BUSY, timeout_s=3.0), echo())
    assert report.statuses == ["passed"]


SLOW = """
def call(request):
    open("called", "w").close()
    time.sleep(0.5)
    g.write(g.line_for(request))
g.serve({"tools/call": call})
"""


@pytest.mark.long
@pytest.mark.parametrize("name", ["a.test.mcp.yml", "a.cases.yaml"])
def test_being_stopped_is_not_the_time_of_the_server(tmp_path: Path, name: str) -> None:
    timed = echo(expect={"performance": {"maxResponseTime": "2500ms"}})
    words = write_files(tmp_path, server(SLOW, timeout_s=2.5), timed)
    (tmp_path / "a.cases.yaml").write_text(CONTRACT.partition("---")[0], encoding="utf-8")
    words = [name if word == "a.test.mcp.yml" else word for word in words]
    with running(tmp_path, [*words, "--json"], process_group=0) as job:
        while not (tmp_path / "called").exists():
            time.sleep(0.01)
        os.killpg(job.process.pid, signal.SIGTSTP)
        _, status = os.waitpid(job.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        time.sleep(3.5)
        os.killpg(job.process.pid, signal.SIGCONT)
        report = job.finish()
    assert report.statuses == ["passed"], report.members
