"""`mcptest record`: the bytes that pass, the capture that is written, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import random
import select
import shutil
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest
from record_client import ECHO, GOOD, ask, recording, script

from mcptest.cli.commands.record import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

INITIALIZE = ask(0, "initialize", protocolVersion="2025-06-18")
SERVER = script(
    """
def answer(request):
    if request["method"] == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    return {"key": os.environ.get("KEY")}
serve(answer)
"""
)

# Every byte is passed on


def payloads() -> dict[str, bytes]:
    chance = random.Random(1)
    message = json.dumps(ask(1, text="ü" * 10)).encode()
    return {
        "nothing": b"",
        "random bytes": chance.randbytes(300_000),
        "invalid utf-8": b"\xff\xfe\n\xc3(\n" + message + b"\n\xed\xa0\x80",
        "crlf": message + b"\r\n" + message + b"\r\n",
        "no final newline": message + b"\n" + message,
        "blank lines and NUL": b"\n\n \n\0\n\r\n" + message,
        "byte order mark": b"\xef\xbb\xbf" + message + b"\n",
        "one huge line": json.dumps(ask(1, text="x" * 5_000_000)).encode() + b"\n",
        "huge lines that are no messages": (chance.randbytes(3_000_000).hex() + "\n").encode() * 2,
        "many small lines": (message + b"\n") * 20_000,
    }


@pytest.mark.parametrize("name", payloads())
def test_every_byte_is_passed_on_unchanged(tmp_path: Path, name: str) -> None:
    data = payloads()[name]
    with recording(tmp_path, command=ECHO) as client:
        if data:
            assert client.converse(data) == data
        assert client.leave() == 0
        assert client.errors() == ""
        assert client.capture()["exit_status"] == "exit status 0"


BOTH_AT_ONCE = script(
    """
import hashlib, threading
seen = hashlib.sha256()
def read():
    while chunk := os.read(0, 65536):
        seen.update(chunk)
reader = threading.Thread(target=read)
reader.start()
write((b"y" * 99 + b"\\n") * 60_000)
reader.join()
write(seen.hexdigest().encode())
"""
)


@pytest.mark.long
@pytest.mark.parametrize("piece", [1 << 10, 1 << 20])
def test_both_directions_flow_at_once_however_slowly_they_are_read(
    tmp_path: Path, piece: int
) -> None:
    data = random.Random(2).randbytes(4_000_000)
    with recording(tmp_path, command=BOTH_AT_ONCE) as client:
        out = client.converse(data, piece=piece)
        assert client.status() == 0
    assert out == (b"y" * 99 + b"\n") * 60_000 + hashlib.sha256(data).hexdigest().encode()


STALLING = script(
    """
import select
os.set_blocking(1, False)
sent = 0
while select.select([], [1], [], 0.5)[1]:
    sent += os.write(1, b"z" * 4096)
sys.stderr.write(f"{sent}\\n")
sys.stderr.flush()
os.set_blocking(1, True)
write(b"\\nend\\n")
"""
)


def test_a_client_that_does_not_read_stops_its_server_and_fills_no_memory(tmp_path: Path) -> None:
    with recording(tmp_path, command=STALLING) as client:
        sent = int(client.error_line())
        assert 64 * 1024 < sent < 8 * 1024 * 1024
        assert client.peak_memory_bytes() < 200 * 1024 * 1024
        assert client.line() == b"z" * sent + b"\n"
        assert client.line() == b"end\n"
        assert client.leave() == 0


def test_a_server_that_does_not_read_stops_its_client(tmp_path: Path) -> None:
    with recording(tmp_path, command=script('write(b"up\\n")\nsignal.pause()')) as client:
        assert client.line() == b"up\n"
        stdin, sent = client.stdin.fileno(), 0
        os.set_blocking(stdin, False)
        while select.select([], [stdin], [], 0.5)[1]:
            sent += os.write(stdin, b"x" * 4096)
        assert 64 * 1024 < sent < 8 * 1024 * 1024
        assert client.peak_memory_bytes() < 200 * 1024 * 1024
        client.process.terminate()
        assert client.status() == 143


def test_the_server_has_our_own_standard_error(tmp_path: Path) -> None:
    command = script("sys.stderr.write(str(os.fstat(2).st_ino))")
    with recording(tmp_path, command=command) as client:
        inode = os.fstat(client.stderr.fileno()).st_ino
        assert client.leave() == 0
        assert client.errors() == str(inode)


# The capture


def test_a_session_is_captured_as_it_was(tmp_path: Path) -> None:
    with recording(tmp_path, command=SERVER) as client:
        client.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        opened = json.loads(client.line())
        answers = [client.ask(number) for number in (1, "1", 2)]
        assert client.leave() == 0
        assert client.errors() == ""
        capture = client.capture()
    assert capture["server_label"] == f"stdio://{os.path.basename(sys.executable)}"
    assert capture["server_capabilities"] == {"tools": {}}
    assert capture["protocol_version"] == "2025-06-18"
    assert capture["exit_status"] == "exit status 0"
    assert capture["transport"].endswith("@" + capture["started_at"])
    assert capture["transport"].startswith("stdio:")
    first, second, *rest = capture["exchanges"]
    assert (first["request"], first["response"]) == (INITIALIZE, opened)
    assert second["request"]["method"] == "notifications/initialized"
    assert "response" not in second
    assert [each["response"] for each in rest] == answers
    assert [each["request"]["id"] for each in rest] == [1, "1", 2]
    times = [each["ms"]["request"] for each in capture["exchanges"]]
    assert times == sorted(times)


def test_a_line_that_is_not_a_message_is_in_the_capture_and_the_capture_stays_readable(
    tmp_path: Path,
) -> None:
    noisy = script('write(b"starting up\\n")\nfor line in sys.stdin.buffer: write(line)')
    with recording(tmp_path, command=noisy) as client:
        client.send(b"hello?\n", b'{"level": "info"}\n', ask(1), b"\xff\n")
        for _ in range(5):
            client.line()
        assert client.leave() == 0
        capture = client.capture()
    (exchange,) = capture["exchanges"]
    received = [*capture["prologue"]["client_noise"], *exchange["client_noise"]]
    assert received == ["hello?", '{"level":"info"}', "\\xff"]
    said = [*capture["prologue"].get("noise", []), *exchange["noise"]]
    assert said == ["starting up", *received]
    assert mcptest(tmp_path, "cases", "from", "s.json").code == 0


def test_a_capture_of_an_ordinary_session_becomes_a_contract(tmp_path: Path) -> None:
    with recording(tmp_path, command=SERVER) as client:
        client.ask(0, "initialize")
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        client.ask(1, "tools/list")
        assert client.leave() == 0
    ended = mcptest(tmp_path, "cases", "from", "s.json")
    assert (ended.code, "tools/list" in ended.out) == (0, True)


def test_the_capture_takes_its_place_at_the_end_and_nothing_else_is_left(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("old", encoding="utf-8")
    with recording(tmp_path) as client:
        client.ask()
        assert (tmp_path / "s.json").read_text(encoding="utf-8") == "old"
        assert client.leave() == 0
        assert client.names() == ["s.json"]
        assert len(client.capture()["exchanges"]) == 1
    assert stat.S_IMODE((tmp_path / "s.json").stat().st_mode) == 0o600


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "s.json").symlink_to("real/there.json")
    with recording(tmp_path) as client:
        assert client.leave() == 0
        assert client.names() == ["real", "s.json"]
        assert client.capture("real/there.json")["exchanges"] == []
    assert (tmp_path / "s.json").is_symlink()


@pytest.mark.parametrize("folder", [".", "kept/"])
def test_in_a_folder_each_session_has_a_file_of_its_own(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    for _ in range(2):
        with recording(tmp_path, "-o", folder, "--name", "my server/1") as client:
            client.ask()
            assert client.leave() == 0
    files = list((tmp_path / folder).glob("my_server_1-*.json"))
    assert len(files) == 2
    for file in files:
        assert json.loads(file.read_bytes())["server_label"] == "stdio://my server/1"


def test_the_values_of_named_variables_are_blanked_in_the_capture_only(tmp_path: Path) -> None:
    secret = {"KEY": "hush-hush-hush"}
    with recording(
        tmp_path, "-o", "s.json", "--redact", "KEY", command=SERVER, env=secret
    ) as client:
        assert client.ask()["result"] == {"key": "hush-hush-hush"}
        assert client.leave() == 0
        (exchange,) = client.capture()["exchanges"]
    assert exchange["response"]["result"] == {"key": "[secret]"}


def test_without_being_asked_nothing_is_blanked(tmp_path: Path) -> None:
    with recording(tmp_path, command=SERVER, env={"KEY": "hush-hush-hush"}) as client:
        client.ask()
        assert client.leave() == 0
        (exchange,) = client.capture()["exchanges"]
    assert exchange["response"]["result"] == {"key": "hush-hush-hush"}


@pytest.mark.parametrize(
    ("words", "label"), [((), "stdio://shop"), (("--name", "mine"), "stdio://mine")]
)
def test_the_capture_calls_the_server_by_its_own_name_or_the_given_one(
    tmp_path: Path, words: tuple[str, ...], label: str
) -> None:
    server = script('serve(lambda request: {"serverInfo": {"name": "shop"}})')
    with recording(tmp_path, "-o", "s.json", *words, command=server) as client:
        client.send(INITIALIZE)
        client.line()
        assert client.leave() == 0
        assert client.capture()["server_label"] == label


def test_credentials_of_the_command_are_blanked_in_the_capture(tmp_path: Path) -> None:
    server = script('serve(lambda request: {"args": sys.argv[1:]})')
    words = ["--api-key", "abc-123-def", "--level", "loud-and-clear"]
    with recording(tmp_path, command=[*server, *words]) as client:
        assert client.ask()["result"] == {"args": words}
        assert client.leave() == 0
        (exchange,) = client.capture()["exchanges"]
    kept = ["--api-key", "[secret]", "--level", "loud-and-clear"]
    assert exchange["response"]["result"] == {"args": kept}


def test_a_credential_that_cannot_be_blanked_is_named(tmp_path: Path) -> None:
    words = ("-o", "s.json", "--", *GOOD, "--api-key", "SECRET", "--level", "test")
    ended = mcptest(tmp_path, "record", *words)
    why = "is too common a word to be blanked; the capture may contain it"
    assert (ended.code, ended.err) == (0, f"note: the value of --api-key {why}\n")


# Recording that fails


def test_a_folder_that_vanishes_costs_the_capture_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    with recording(tmp_path, "-o", "kept/s.json", command=script("serve()\nsys.exit(7)")) as client:
        assert client.ask(1)["id"] == 1
        shutil.rmtree(tmp_path / "kept")
        assert client.ask(2)["id"] == 2
        assert client.leave() == 7
        message = client.errors()
    assert message.startswith("mcptest record: ")
    assert message.endswith("kept/s.json was not written: No such file or directory\n")


def test_a_full_disk_costs_the_capture_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("old", encoding="utf-8")
    # Files may not grow beyond 20 or 40 KiB, as the shell counts.
    limited = ["sh", "-c", 'ulimit -f 40; exec "$0" -m mcptest "$@"', sys.executable]
    with recording(tmp_path, program=limited) as client:
        for number in range(1000):
            assert client.ask(number)["id"] == number
        assert client.leave() == 0
        message = client.errors()
        (part,) = [name for name in client.names() if name != "s.json"]
    assert "s.json was not written: File too large; what was recorded before is in " in message
    assert f"{part}: add ]}} at its end" in message
    assert (tmp_path / "s.json").read_text(encoding="utf-8") == "old"
    saved = json.loads((tmp_path / part).read_text(encoding="utf-8") + "]}")
    assert len(saved["exchanges"]) > 50
    assert all(each["response"]["id"] == each["request"]["id"] for each in saved["exchanges"])


@pytest.mark.long
def test_many_exchanges_need_little_memory(tmp_path: Path) -> None:
    count, text = 20_000, "x" * 1000
    with recording(tmp_path) as client:
        client.send(b'{"jsonrpc": "2.0", "method": "notifications/first"}\n')
        for start in range(0, count, 50):
            asked = [ask(number, text=text) for number in range(start, start + 50)]
            client.send(b"".join(json.dumps(each).encode() + b"\n" for each in asked))
            for each in asked:
                assert json.loads(client.line())["id"] == each["id"]
        peak = client.peak_memory_bytes()
        assert client.leave() == 0
        first, *exchanges = client.capture()["exchanges"]
    assert peak < 100 * 1024 * 1024
    assert "response" not in first
    assert [each["request"]["id"] for each in exchanges] == list(range(count))
    assert all(each["response"]["id"] == each["request"]["id"] for each in exchanges)


# What makes no sense


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--", "SERVER"], "error: mcptest record needs a file"),
        (["-o", "", "--", "SERVER"], "error: mcptest record needs a file"),
        (["-o", "-", "--", "SERVER"], "standard output is the server's"),
        (["-o", "s.json"], "error: mcptest record needs the command"),
        (["-o", "s.json", "--"], "error: nothing follows --"),
        (["-o", "s.json", "--", ""], "error: the server's command is empty"),
        (["-o", "s.json", "SERVER"], "the command that starts the server comes after --"),
        (["-o", "no/s.json", "--", "SERVER"], "error: cannot write no/s.json: there is no folder"),
        (["-o", "no/", "--", "SERVER"], "there is no folder"),
        (["-o", "file/s.json", "--", "SERVER"], "error: cannot write file/s.json"),
        (["-o", "/dev/null", "--", "SERVER"], "error: cannot write /dev/null: it is not a file"),
        (["-o", "s.json", "--redact", "NOT_SET", "--", "SERVER"], "no such environment variable"),
        (["-o", "s.json", "--redact", "MY_TOKN", "--", "SERVER"], "did you mean MY_TOKEN?"),
        (["-o", "s.json", "--redact", "SHORT", "--", "SERVER"], "too short to be blanked"),
        (["-o", "s.json", "--redcat", "KEY", "--", "SERVER"], "did you mean --redact?"),
    ],
)
def test_a_command_that_makes_no_sense_starts_nothing(
    tmp_path: Path, words: list[str], error: str
) -> None:
    (tmp_path / "file").touch()
    server = tmp_path / "SERVER"
    server.write_text("#!/bin/sh\ntouch started\n", encoding="utf-8")
    server.chmod(0o755)
    words = [str(server) if word == "SERVER" else word for word in words]
    ended = mcptest(tmp_path, "record", *words, SHORT="abc", MY_TOKEN="abcdef")
    assert (ended.code, ended.out) == (2, "")
    assert error in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["SERVER", "file"]


def test_a_folder_that_may_not_be_written_to_is_refused(tmp_path: Path) -> None:
    # Not even root may make a file there.
    ended = mcptest(tmp_path, "record", "-o", "/proc/s.json", "--", *GOOD)
    assert (ended.code, ended.out) == (2, "")
    assert "cannot write /proc/s.json: " in ended.err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("no-such-program", "on the PATH"),
        ("./text", "executable"),
    ],
)
def test_a_server_that_cannot_be_started_is_exit_3_and_leaves_the_old_file(
    tmp_path: Path, command: str, words: str
) -> None:
    (tmp_path / "s.json").write_text("old", encoding="utf-8")
    (tmp_path / "text").touch(0o644)
    ended = mcptest(tmp_path, "record", "-o", "s.json", "--", command)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(f"error: cannot start '{command}' in ")
    assert words in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.json", "text"]
    assert (tmp_path / "s.json").read_text(encoding="utf-8") == "old"


def test_the_help_shows_how_a_client_is_configured(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "record", "--help")
    assert ended.code == 0
    (line,) = [line for line in ended.out.splitlines() if "mcpServers" in line]
    config: dict[str, Any] = json.loads(line)["mcpServers"]["files"]
    assert config["command"] == "mcptest"
    assert config["args"][0] == "record"
    assert config["args"][-3] == "--"
    assert line.strip() in COMMAND.examples
