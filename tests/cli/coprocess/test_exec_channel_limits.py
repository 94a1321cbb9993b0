"""What a server, a target or an SDK overdoes costs an answer at most, and never a word about it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest
from console import PATIENCE_S, Ended, run
from exec_client import (
    NOBODY,
    ExecClient,
    connected,
    converse,
    exec_words,
    fault_server,
    request,
    scripted_server,
)

from mcptest.core.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from connect_back import Listener

CALL = request("mcp.call", {"tool": "a"}, 7)

# Answers a call with a text of JSON, in which numbers are written as its argument has them.
VERBATIM = r"""
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        result = json.dumps({
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "verbatim", "version": "1"},
        })
    elif asked["method"] == "tools/call":
        result = '{"structuredContent":{"v":[' + ",".join(["1e9"] * int(sys.argv[1])) + ']}}'
    else:
        continue
    print('{"jsonrpc":"2.0","id":%s,"result":%s}' % (json.dumps(asked["id"]), result), flush=True)
"""


def limited(folder: Path, server: str, limit: int) -> tuple[str, ...]:
    """The options for a server whose lines have a limit."""
    program, *arguments = shlex.split(server)
    config = {"name": "s", "command": program, "args": arguments, "maxLineBytes": limit}
    (folder / "c.json").write_text(json.dumps(config), encoding="utf-8")
    return "--config", "c.json"


# Answers of the server


def test_the_pages_of_a_list_have_a_limit_in_all(tmp_path: Path) -> None:
    def page(number: int) -> dict[str, Any]:
        tools = [{"name": f"t{number}", "description": "x" * 4000}]
        return {"result": {"tools": tools, "nextCursor": str(number)}}

    last = {"result": {"tools": [{"name": "last"}]}}
    for pages, fits in ((2, True), (3, False)):
        server = scripted_server(tools_list=[*map(page, range(pages)), last])
        options = limited(tmp_path, server, 10_000)
        (found,), _ = converse(tmp_path, "", request("mcp.listTools"), options=options)
        assert ("result" in found) is fits
    assert found["error"] == {
        "code": -32000,
        "message": "the server cannot be used like this: the pages of tools/list have more than "
        "10,000 bytes in all",
    }


def test_an_answer_whose_numbers_grow_too_large_is_reported_as_an_error_of_the_server(
    tmp_path: Path,
) -> None:
    for count, fits in ((5_000, True), (10_000, False)):
        server = shlex.join([sys.executable, "-c", VERBATIM, str(count)])
        options = limited(tmp_path, server, 45_000)
        found, ended = converse(tmp_path, "", CALL, CALL, options=options)
        assert [("result" in answer, answer["id"]) for answer in found] == [(fits, 7)] * 2
        assert ended.code == 0
    error = found[0]["error"]
    assert error["code"] == -32000
    assert error["message"].startswith("the server cannot be used like this: its answer has 130,")


def test_an_error_that_is_too_deep_is_returned_without_its_data(tmp_path: Path) -> None:
    for levels, fits in ((197, True), (198, False)):
        deep = json.loads("[" * levels + "]" * levels)
        said = {"code": -1, "message": "m", "data": deep}
        (found,), ended = converse(tmp_path, scripted_server(tools_call={"error": said}), CALL)
        assert (found["error"]["data"] == said) is fits
        # As an SDK reads it.
        assert parse_json(ended.out.strip()) == found
    error = found["error"]
    assert (error["code"], error["data"]) == (-32000, {"code": -1, "message": "m"})
    assert error["message"].startswith("the server refused tools/call: m (its data is left out: ")


# Where the answers go


def answering_to(folder: Path, redirection: str) -> Ended:
    """The binary, in a shell that does this with its standard output."""
    line = json.dumps(request("mcp.reporter.flush")) + "\n"
    command = ["sh", "-c", f"{shlex.join(exec_words(NOBODY))} {redirection}"]
    return run(command, folder, {}, input=line.encode() * 2)


def test_a_full_disk_and_a_closed_stdout_end_with_a_status_and_a_sentence(tmp_path: Path) -> None:
    full = answering_to(tmp_path, ">/dev/full")
    assert (full.code, full.out) == (2, "")
    assert "cannot write to standard output: No space left on device" in full.err
    closed = answering_to(tmp_path, ">&-")
    assert (closed.code, closed.out) == (2, "")
    assert "standard output is closed" in closed.err
    assert "Traceback" not in full.err + closed.err


def test_a_file_takes_the_answers(tmp_path: Path) -> None:
    done = answering_to(tmp_path, ">answers")
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "answers").read_text(encoding="utf-8").count('{"flushed":0}') == 2


# Uploads at the end


@contextlib.contextmanager
def silent_target() -> Iterator[socket.socket]:
    """A listener that accepts connections and never sends anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        yield listener


def call_and_say_goodbye(sdk: ExecClient, target: socket.socket) -> None:
    url = f"http://127.0.0.1:{target.getsockname()[1]}/"
    sdk.ask("mcp.reporter.setUpload", {"enabled": True, "target": url})
    sdk.text("echo", text="precious")
    assert sdk.ask("mcp.shutdown") == {}


def unsent(folder: Path) -> list[str]:
    """The texts that were called with, in what was not delivered."""
    (file,) = (folder / ".mcptest" / "unsent").iterdir()
    lines = file.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["arguments"]["text"] for line in lines]


def test_a_binary_that_is_killed_while_it_delivers_has_saved_everything(tmp_path: Path) -> None:
    with silent_target() as target, connected(tmp_path, fault_server("good")) as sdk:
        call_and_say_goodbye(sdk, target)
        caller, _ = target.accept()
        with caller:
            sdk.process.kill()
            sdk.process.wait(PATIENCE_S)
    assert unsent(tmp_path) == ["precious"]


def test_a_binary_that_is_killed_while_it_stops_the_server_has_saved_everything(
    tmp_path: Path, listener: Listener
) -> None:
    server = fault_server("announced")
    with (
        silent_target() as target,
        connected(tmp_path, server, **listener.environment) as sdk,
    ):
        call_and_say_goodbye(sdk, target)
        stubborn = listener.next_caller()
        while stubborn.next_word() != "end of stdin":
            pass
        sdk.process.kill()
        sdk.process.wait(PATIENCE_S)
        stubborn.let_go()
    assert unsent(tmp_path) == ["precious"]


@pytest.mark.long
def test_a_target_that_never_answers_times_out_before_the_sdk_does(tmp_path: Path) -> None:
    with silent_target() as target, connected(tmp_path, fault_server("good")) as sdk:
        call_and_say_goodbye(sdk, target)
        ended = sdk.leave()
    assert ended.code == 0
    assert ended.err.startswith("warning: 1 call not uploaded: cannot reach http://127.0.0.1:")
    assert unsent(tmp_path) == ["precious"]
    assert os.path.basename(ended.err.strip()) == os.listdir(tmp_path / ".mcptest" / "unsent")[0]


def test_an_address_without_a_port_is_not_an_internal_error(tmp_path: Path) -> None:
    with connected(tmp_path, fault_server("good")) as sdk:
        for url in ("https://[2001:db8::abcd]/x", "http://[::1]/calls"):
            params = {"enabled": True, "target": url}
            assert sdk.ask("mcp.reporter.setUpload", params) == {"enabled": True}
        zone = {"enabled": True, "target": "https://[fe80::1%25eth0]/"}
        assert sdk.ask("mcp.reporter.setUpload", zone)["code"] == -32602
        sdk.text("echo", text="x")
        error = sdk.ask("mcp.reporter.flush")
        assert error["code"] == -32603
        assert error["message"].startswith("cannot reach http://[::1]/calls: ")
        ended = sdk.leave()
    assert ended.code == 0
    assert "Traceback" not in ended.err
