"""Findings are true: servers that conform in unusual ways get none, one cause is found once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from active import check_server, compliance_run

SERVER = Path(__file__).parents[2] / "servers" / "unusual_server.py"


@pytest.mark.long
def test_a_server_that_conforms_in_unusual_ways_has_no_findings(tmp_path: Path) -> None:
    hints = tmp_path / "hints.yml"
    none = "".join(f"{name}: none\n" for name in ("slow_tool", "progress_tool"))
    hints.write_text(none, encoding="utf-8")
    checked = check_server("--hints", str(hints), "--", sys.executable, str(SERVER))
    found = {each["id"]: each for each in checked.report["checks"]}
    shared = {id for id, each in found.items() if each["shared"]}
    assert checked.ids("failed", "warning") - shared == set()
    # A check that could not run neither passes nor counts against the server.
    assert found["PROMPT-04"]["verdict"] == "not_applicable"
    assert found["RES-10"]["verdict"] == "not_applicable"
    assert found["TASK-01"]["verdict"] == "not_applicable"
    assert {each["needs"] for id, each in found.items() if each["verdict"] == "could_not_run"} == {
        *("eliciting_tool", "readonly_observer", "sampling_tool"),
    }


@pytest.mark.long
def test_a_server_that_ends_at_what_it_cannot_read_is_found_once() -> None:
    words = ("BASE", "STDIO", "LOG", "CANC")
    chosen = [word for family in words for word in ("--only", family)]
    checked = check_server(*chosen, "--", sys.executable, str(SERVER), "fragile")
    assert checked.ids("failed", "warning") == {"BASE-20", "BASE-42"}
    odd = checked.checks()["BASE-42"]
    assert "the id 1.5" in odd["message"]
    assert odd["message"].endswith("with the id 1")
    assert "as BASE-20 reports" in checked.checks()["STDIO-06"]["message"]


# It answers every method, and ends at what it does not expect.
ANSWERS_ALL = """\
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    result = {"error": "unknown method"}
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "all", "version": "1"},
                  "capabilities": {"tools": {}}}
    elif message["method"] == "tools/list":
        result = {"tools": []}
    elif message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": message["params"]["arguments"]}]}
    elif message["method"] == "ping":
        result = {}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def test_a_server_that_answers_every_method_is_found_once(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(ANSWERS_ALL, encoding="utf-8")
    words = ("BASE-18", "BASE-19", "LIFE", "COMP", "PROMPT", "RES")
    chosen = [word for name in words for word in ("--only", name)]
    checked = check_server(*chosen, "--", sys.executable, str(server))
    assert checked.ids("failed") == {"BASE-18", "BASE-19"}
    found = checked.checks()
    assert found["LIFE-13"]["message"] == "unknown methods get a result, as BASE-18 reports"
    # If the server ended, its last output is shown.
    assert "KeyError: 'arguments'" in found["BASE-19"]["message"]


def test_a_tool_that_ends_the_server_is_found_once(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    fatal = ANSWERS_ALL.replace('{"tools": []}', '{"tools": [TOOL]}').replace(
        'message["params"]["arguments"]', "sys.exit(5)"
    )
    tool = "{'name': 'look', 'inputSchema': {'type': 'object'}, 'annotations': HINT}"
    text = f"HINT = {{'readOnlyHint': True}}\nTOOL = {tool}\n{fatal}"
    server.write_text(text, encoding="utf-8")
    chosen = [word for name in ("TOOL", "TASK") for word in ("--only", name)]
    checked = check_server(*chosen, "--", sys.executable, str(server))
    assert checked.ids("failed") == {"TOOL-16"}
    message = checked.checks()["TASK-01"]["message"]
    assert message == "the server ends at a call of the tool look, as TOOL-16 reports"


# It asks for roots a moment after the handshake, and waits for the answer at the end of its input.
ASKS_LATE = """\
import json, os, sys, threading

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def ask():
    send({"id": "r", "method": "roots/list"})

is_asking = False
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        is_asking = "roots" in message["params"]["capabilities"]
        info = {"name": "asks", "version": "1"}
        send({"id": message["id"], "result": {
            "protocolVersion": "2025-11-25", "serverInfo": info, "capabilities": {}}})
    elif message["method"] == "notifications/initialized" and is_asking:
        threading.Timer(0.3, ask).start()
    elif "id" in message:
        send({"id": message["id"], "result": {}})
if is_asking:
    threading.Event().wait()
os._exit(0)
"""


@pytest.mark.long
def test_a_server_that_asks_late_and_waits_at_its_end_is_found(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(ASKS_LATE, encoding="utf-8")
    checked = check_server("--only", "STDIO-10", "--", sys.executable, str(server))
    check = checked.checks()["STDIO-10"]
    assert check["verdict"] == "warning"
    assert "while its own request roots/list is unanswered" in check["message"]


def test_without_a_tool_that_may_be_called_the_run_is_incomplete(tmp_path: Path) -> None:
    contract = tmp_path / "offer.yaml"
    contract.write_text("name: offer\ntools: [{name: buy, answer: bought}]\n", encoding="utf-8")
    words = ("--only", "TOOL-16", "--", sys.executable, "-m", "mcptest", "mock", str(contract))
    check = check_server(*words).checks()["TOOL-16"]
    assert (check["verdict"], check["needs"]) == ("could_not_run", "--allow-tool")


# It writes its answers without a newline, or only when its input has ended.
NOT_FLUSHED = """\
import io, json, sys

out = io.TextIOWrapper(open(1, "wb", 65536, closefd=False), newline="")
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {"protocolVersion": "2025-11-25", "capabilities": {},
                  "serverInfo": {"name": "late", "version": "1"}}
        out.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
        END
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("out.flush()", "came without the newline that ends a message: {"),
        ('out.write("\\n")', "its answer came only when its stdin was closed: does it flush"),
    ],
    ids=["no newline", "no flush"],
)
def test_flushing_is_mentioned_if_the_server_wrote_something(
    tmp_path: Path, end: str, words: str
) -> None:
    assert words in refusal(tmp_path, NOT_FLUSHED.replace("END", end))


@pytest.mark.long
def test_flushing_is_not_mentioned_if_the_server_wrote_nothing(tmp_path: Path) -> None:
    message = refusal(tmp_path, "import sys\n\nsys.stdin.read()\n")
    assert message == "no session could be opened: no answer within 1 s"


def refusal(folder: Path, text: str) -> str:
    """Why no session could be opened with this server."""
    server = folder / "server.py"
    server.write_text(text, encoding="utf-8")
    limits = ("--timeout", "1s", "--start-timeout", "1")
    words = ("--format", "json", "--only", "LIFE-01", *limits, "--", sys.executable, str(server))
    ended = compliance_run(*words)
    assert ended.code == 3
    (check,) = ended.report()["checks"]
    return str(check["message"])
