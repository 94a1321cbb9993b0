"""What `connect` and a connection refuse, and in which words; what they take in several forms."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mcptest

SERVERS = Path(__file__).parents[2] / "servers"
SERVER = [sys.executable, "-S", "-E", str(SERVERS / "sdk_server.py")]
URL = "http://127.0.0.1:1/mcp"


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({}, ValueError, "there is no server: give server_command, or url="),
        ({"server_command": [""]}, ValueError, "server_command is empty"),
        ({"server_command": URL}, ValueError, f"say connect(url='{URL}')"),
        ({"server_command": 5}, TypeError, "server_command is a list of words, or one string"),
        ({"server_command": ["a", 5]}, TypeError, "a word of server_command is a string or a path"),
        ({"server_command": "a", "timeout": "5"}, TypeError, "timeout is a number of seconds"),
        ({"server_command": "a", "timeout": True}, TypeError, "timeout is a number of seconds"),
        ({"server_command": "a", "timeout": 0}, ValueError, "timeout is more than 0"),
        ({"server_command": "a", "timeout": float("nan")}, ValueError, "timeout is more than 0"),
        ({"server_command": "a", "startup_timeout": -1}, ValueError, "startup_timeout is more"),
        ({"server_command": "a", "cwd": 5}, TypeError, "cwd is a string or a path, not int"),
        ({"server_command": "a", "env": {"A": 1}}, TypeError, "env['A'] is a string, not int"),
        ({"server_command": "a", "env": {"A=B": ""}}, ValueError, "env has the key 'A=B'"),
        ({"server_command": "a", "env": "A"}, TypeError, "env is a dict of strings, not str"),
        ({"server_command": "a", "client": []}, TypeError, "client is a dict, not list"),
        ({"server_command": "a", "cache": "on"}, ValueError, "cache is one of off, read_write"),
        ({"server_command": "a", "spec_version": "1"}, ValueError, "spec_version is one of 2024-"),
        ({"server_command": "a\0b"}, ValueError, "holds a NUL character"),
        ({"server_command": "a", "bearer_env": "PATH"}, ValueError, "give url= as well"),
        ({"url": URL, "bearer_env": "NOT_SET_HERE"}, ValueError, "'NOT_SET_HERE', which is not"),
        ({"url": URL, "header_env": {"X": "NOT_SET_HERE"}}, ValueError, "header_env['X'] names"),
        ({"url": URL, "cwd": "/tmp"}, ValueError, "give server_command as well"),
    ],
)
def test_an_argument_that_makes_no_sense_is_named_at_once(
    arguments: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=re.escape(words)):
        mcptest.connect(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"server_command": "a", "cwd": "/nowhere"}, "cwd: there is no folder '/nowhere' (the"),
        ({"url": "ftp://a"}, "url is not the URL of a server: it must begin with"),
        ({"url": URL, "ca_file": "/nowhere"}, "ca_file: there is no file '/nowhere'"),
        ({"url": URL, "header_env": {"Host": "PATH"}}, "header_env: the header Host is set by"),
        (
            {"server_command": "a", "env": {"A": "a" * 100_000, "B": "b" * 100_000}},
            "server_command and env are longer than the system allows",
        ),
    ],
)
def test_an_error_of_the_binary_names_the_argument_of_connect(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(mcptest.BinaryError) as caught, mcptest.connect(**arguments):
        pass
    assert str(caught.value).startswith(words)


def test_paths_are_taken_wherever_a_path_is_meant(tmp_path: Path) -> None:
    command: list[str | Path] = [Path(sys.executable), "-S", "-E", SERVERS / "sdk_server.py"]
    cassette = tmp_path / "tape"
    with mcptest.connect(command, cwd=tmp_path, record=cassette) as server:
        assert server.call_tool("cwd").text == str(tmp_path)
    with mcptest.connect("no-such-program", replay=cassette) as server:
        assert server.call_tool("cwd").text == str(tmp_path)
        server.set_cassette("replay", cassette)


@pytest.mark.parametrize(
    ("ask", "kind", "words"),
    [
        (lambda server: server.call_tool(5), TypeError, "name is a string, not int"),
        (lambda server: server.call_tool("a", []), TypeError, "arguments is a dict, not list"),
        (lambda server: server.read_resource(None), TypeError, "uri is a string, not None"),
        (lambda server: server.set_cache("on"), ValueError, "mode is one of off"),
        (lambda server: server.set_cassette("record"), ValueError, "to record takes the path"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_here(
    ask: Any, kind: type[Exception], words: str
) -> None:
    with mcptest.connect(SERVER) as server, pytest.raises(kind, match=words):
        ask(server)


# A connection is entered, once


def test_a_connection_that_is_not_entered_says_how_that_is_done() -> None:
    connection = mcptest.connect(SERVER)
    with pytest.raises(AttributeError, match=r"with mcptest.connect\(…\) as server: server.call_t"):
        connection.call_tool("echo")  # type: ignore[attr-defined]  # that is the point
    with pytest.raises(AttributeError, match=r"no 'cal_tool' before it is entered$"):
        connection.cal_tool("echo")  # type: ignore[attr-defined]  # that is the point


def test_a_connection_is_entered_once_and_left_for_good() -> None:
    connection = mcptest.connect(SERVER)
    with connection as server:
        with pytest.raises(mcptest.CoprocessError, match=r"entered before.*connect.. again"):
            connection.__enter__()
        assert server.call_tool("count").text == "1", "the first is none the worse for it"
    with pytest.raises(mcptest.CoprocessError, match=r"has been left.*inside the with block"):
        server.call_tool("count")


# How long, and what we answer


def test_a_server_gets_the_time_it_is_given_to_start() -> None:
    unready = {"SDK_MODE": "no-answer"}
    with (
        pytest.raises(mcptest.UpstreamGoneError, match="answer initialize within 200 ms"),
        mcptest.connect(SERVER, env=unready, startup_timeout=0.2),
    ):
        pytest.fail("it was entered")


@pytest.mark.long
def test_the_time_for_an_answer_holds_beside_other_arguments(tmp_path: Path) -> None:
    with (
        pytest.warns(mcptest.CoprocessWarning, match="SIGTERM did it"),
        mcptest.connect(SERVER, cwd=tmp_path, env={"A": "b"}, timeout=0.3) as server,
        pytest.raises(mcptest.UpstreamError, match="no answer to tools/call within 300 ms"),
    ):
        server.call_tool("hang")


def test_a_server_that_asks_is_answered_as_the_program_says() -> None:
    with mcptest.connect(SERVER, client={"roots": ["file:///project"]}) as server:
        answer = server.call_tool("ask", {"method": "roots/list"}).text
    assert "file:///project" in str(answer)


def test_a_client_that_makes_no_sense_is_reported_in_the_words_of_a_config() -> None:
    with (
        pytest.raises(mcptest.BinaryError, match='"sampling"'),
        mcptest.connect(SERVER, client={"samplin": "x"}),
    ):
        pytest.fail("it was entered")


# What is said in the end


def test_records_that_cannot_be_uploaded_cause_a_warning_that_names_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = pytest.warns(mcptest.CoprocessWarning, match=r"1 call not uploaded: .*unsent")
    with message as caught, mcptest.connect(SERVER) as server:
        server.upload_to("file:no-such-folder/calls.ndjson")
        server.call_tool("count")
    (file,) = (tmp_path / ".mcptest" / "unsent").iterdir()
    assert file.name in str(caught[0].message)
    assert caught[0].filename == __file__


def test_uploads_can_be_stopped(tmp_path: Path) -> None:
    with mcptest.connect(SERVER) as server:
        server.upload_to(f"file:{tmp_path}/calls.ndjson")
        server.call_tool("count")
        server.stop_uploads()
        server.call_tool("count")
        assert server.flush() == 1


def test_a_server_fault_that_breaks_no_call_is_a_warning() -> None:
    noisy = [sys.executable, "-S", "-E", str(SERVERS / "fault_server.py"), "crlf"]
    with (
        pytest.warns(mcptest.CoprocessWarning, match="CR LF"),
        mcptest.connect(noisy) as server,
    ):
        server.call_tool("echo", {"text": "x"})


def test_a_session_without_errors_ends_without_output() -> None:
    program = f"import mcptest\nwith mcptest.connect({SERVER!r}) as s: s.call_tool('count')\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# Hints


def test_a_hint_is_in_the_text_of_an_error_and_not_only_in_its_data() -> None:
    with (
        pytest.raises(mcptest.UpstreamGoneError) as caught,
        mcptest.connect("/nowhere/no-such-server"),
    ):
        pytest.fail("it was entered")
    assert "\nhint: there is no such file: check the path, and whether it is installed" in str(
        caught.value
    )
    assert "effect" not in str(caught.value), "it was never asked anything"


def test_the_second_call_after_the_end_of_a_server_says_that_it_was_not_sent() -> None:
    with mcptest.connect(SERVER) as server:
        with pytest.raises(mcptest.UpstreamGoneError, match="may have taken effect") as first:
            server.call_tool("die")
        with pytest.raises(mcptest.UpstreamGoneError) as caught:
            server.list_tools()
    assert str(caught.value).startswith("tools/list was not sent, because of what came before: ")
    assert "may have taken effect" not in str(caught.value)
    for gone in (first.value, caught.value):
        assert (gone.exit_status, gone.exit_code, gone.signal) == ("exit status 3", 3, None)


# Existing cassettes


def recorded(cassette: Path) -> list[str]:
    lines = cassette.read_text(encoding="utf-8").splitlines()[2:]
    return [json.loads(line)["params"]["name"] for line in lines]


def test_a_recording_that_fails_leaves_the_existing_cassette(tmp_path: Path) -> None:
    cassette = tmp_path / "tape"
    with mcptest.connect(SERVER, record=cassette) as server:
        server.call_tool("count")
    before = cassette.read_bytes()
    with (
        pytest.raises(mcptest.UpstreamGoneError),
        mcptest.connect("/nowhere/no-such-server", record=cassette),
    ):
        pytest.fail("it was entered")
    left = pytest.warns(mcptest.CoprocessWarning, match="left as it is: nothing was asked")
    with left, mcptest.connect(SERVER, record=cassette):
        pass
    assert cassette.read_bytes() == before
    assert list(tmp_path.iterdir()) == [cassette]
    broken = pytest.warns(mcptest.CoprocessWarning, match="the session broke off; what was")
    with broken, mcptest.connect(SERVER, record=cassette) as server:
        server.call_tool("echo")
        with pytest.raises(mcptest.UpstreamGoneError):
            server.call_tool("die")
    assert cassette.read_bytes() == before
    (part,) = {*tmp_path.iterdir()} - {cassette}
    assert recorded(part) == ["echo"]


def test_a_recorded_session_replaces_the_existing_cassette(tmp_path: Path) -> None:
    cassette = tmp_path / "tape"
    for name in ("count", "echo"):
        with mcptest.connect(SERVER, record=cassette) as server:
            server.call_tool(name)
            server.set_cassette("replay", cassette)
            server.call_tool(name)
        assert recorded(cassette) == [name]
    assert list(tmp_path.iterdir()) == [cassette]


def test_a_file_that_only_begins_like_a_cassette_is_not_overwritten(tmp_path: Path) -> None:
    cassette = tmp_path / "tape"
    cassette.write_text('{"format":"mcptest-cassette" and much more\n', encoding="utf-8")
    before = cassette.read_bytes()
    with (
        pytest.raises(mcptest.RefusedError, match="it exists and is not a cassette"),
        mcptest.connect(SERVER, record=cassette),
    ):
        pytest.fail("it was entered")
    assert cassette.read_bytes() == before
