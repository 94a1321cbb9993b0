"""The SDK's side of the channel: which binary, which version, and how strictly frames are read."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_binary import ENOUGH, SILENCE, hello, scripted

import mcptest
from mcptest.sdk import coprocess as _coprocess
from mcptest.sdk.coprocess import COPROCESS_PROTOCOL_VERSION, Coprocess, binary_command
from mcptest.sdk.errors import (
    BinaryError,
    ContractError,
    CoprocessError,
    OverdueError,
    RefusedError,
    UpstreamError,
    UpstreamGoneError,
    VersionError,
)

SERVERS = Path(__file__).parents[2] / "servers"
SERVER = [sys.executable, "-S", "-E", str(SERVERS / "sdk_server.py")]
HELLO = hello(2)

# What fails at the handshake must not take long; this leaves room for a busy machine.
SOON_S = 10.0

Speak = Callable[..., Coprocess]


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Speak:
    """A coprocess whose binary answers what a script says."""

    def speak(*script: object, timeout: float = 30.0) -> Coprocess:
        for name, value in scripted(tmp_path, *script).items():
            monkeypatch.setenv(name, value)
        return Coprocess(SERVER, timeout=timeout)

    return speak


def failure(coprocess: Coprocess, kind: type[CoprocessError]) -> str:
    """What a first request fails with, soon, and every later one as well."""
    began = time.monotonic()
    with coprocess, pytest.raises(kind) as caught:
        coprocess.request("mcp.initialize")
    assert time.monotonic() - began < SOON_S
    assert type(caught.value) is kind
    return str(caught.value)


# The binary


def test_without_a_word_it_is_that_of_this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCPTEST_BIN", raising=False)
    assert binary_command() == (sys.executable, "-P", "-m", "mcptest")


@pytest.mark.parametrize(
    ("named", "command"),
    [
        ("mcptest", ("mcptest",)),
        ("python3 -m mcptest", ("python3", "-m", "mcptest")),
        ('"/opt/my tools/mcptest" --x', ("/opt/my tools/mcptest", "--x")),
        ("  mcptest ", ("mcptest",)),
    ],
)
def test_the_variable_names_the_binary(
    monkeypatch: pytest.MonkeyPatch, named: str, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("MCPTEST_BIN", named)
    assert binary_command() == command


def write_binary(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m mcptest "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def test_a_path_with_spaces_is_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "my tools" / "mcptest"
    write_binary(binary)
    monkeypatch.setenv("MCPTEST_BIN", str(binary))
    with Coprocess(SERVER) as coprocess:
        assert coprocess.request("mcp.initialize")["serverInfo"]["name"] == "sdk"


def test_a_path_from_here_is_one_also_for_a_server_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_binary(tmp_path / "bin" / "mcptest")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MCPTEST_BIN", "bin/mcptest")
    with Coprocess(SERVER, cwd="/") as coprocess:
        call = {"tool": "cwd", "arguments": {}}
        assert coprocess.request("mcp.call", call)["content"][0]["text"] == "/"


def test_a_command_that_cannot_be_split_is_reported(
    odd: Speak, monkeypatch: pytest.MonkeyPatch
) -> None:
    coprocess = odd()
    monkeypatch.setenv("MCPTEST_BIN", '"mcptest')
    words = "MCPTEST_BIN cannot be split into words: No closing quotation"
    assert failure(coprocess, BinaryError) == words


def test_a_missing_binary_says_what_to_do(odd: Speak, monkeypatch: pytest.MonkeyPatch) -> None:
    coprocess = odd()
    monkeypatch.setenv("MCPTEST_BIN", "/nowhere/mcptest")
    text = failure(coprocess, BinaryError)
    assert text.startswith("the mcptest binary cannot be started: cannot start '/nowhere/mcptest'")
    assert text.endswith("No such file or directory. Install mcptest, or set MCPTEST_BIN to it.")


@pytest.mark.parametrize("name", ["json", "select", "mcptest"])
def test_a_module_of_the_folder_is_not_imported_instead_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('not me')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with Coprocess(SERVER) as coprocess:
        assert coprocess.request("mcp.initialize")["serverInfo"]["name"] == "sdk"


@pytest.mark.parametrize("command", ["", [], [""]])
def test_an_empty_command_is_refused_before_anything_starts(command: Any) -> None:
    with pytest.raises(ValueError, match="there is no server: give its command"):
        Coprocess(command)


def test_a_command_that_cannot_be_split_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be split into words"):
        Coprocess("python3 'server.py")


# Versions

UPGRADE_BINARY = "Upgrade the mcptest binary (or pin the SDK to the matching release)."
UPGRADE_SDK = "Upgrade the python SDK (or pin the mcptest binary to the matching release)."
MISMATCH = "coprocess protocol version mismatch: this mcptest binary speaks v2, the python SDK sent"


def test_a_binary_that_answers_the_handshake_is_used(odd: Speak) -> None:
    with odd(HELLO, {"result": {"a": 1}}) as coprocess:
        assert coprocess.request("mcp.initialize") == {"a": 1}
        assert coprocess.binary_version == "9.9"


@pytest.mark.parametrize(("ours", "advice"), [(3, UPGRADE_BINARY), (1, UPGRADE_SDK)])
def test_the_real_binary_says_which_side_to_upgrade(
    monkeypatch: pytest.MonkeyPatch, ours: int, advice: str
) -> None:
    monkeypatch.setattr(_coprocess, "COPROCESS_PROTOCOL_VERSION", ours)
    assert failure(Coprocess(SERVER), VersionError) == f"{MISMATCH} v{ours}. {advice}"


@pytest.mark.parametrize(("theirs", "advice"), [(1, UPGRADE_BINARY), (3, UPGRADE_SDK)])
def test_a_binary_that_reports_another_version_is_not_used(
    odd: Speak, theirs: int, advice: str
) -> None:
    words = f"mcptest binary speaks coprocess v{theirs}; this SDK needs v2. {advice}"
    assert failure(odd(hello(theirs)), VersionError) == words


def test_a_binary_that_does_not_know_the_handshake_is_version_one(odd: Speak) -> None:
    unknown = {"error": {"code": -32601, "message": "no such method"}}
    words = f"mcptest binary speaks coprocess v1; this SDK needs v2. {UPGRADE_BINARY}"
    assert failure(odd(unknown), VersionError) == words


def test_the_version_is_the_one_of_the_contract() -> None:
    assert COPROCESS_PROTOCOL_VERSION == 2


# Binaries that are none


@pytest.mark.parametrize("banner", ["mcptest 9.9, welcome!", "\x1b[1mhi", "[]", "5", "é"])
def test_a_banner_is_not_an_answer(odd: Speak, banner: str) -> None:
    text = failure(odd(banner), ContractError)
    assert text.startswith(
        "the mcptest binary answered coprocess/handshake with a line that is not a response: "
    )
    assert text.endswith(
        "is MCPTEST_BIN the mcptest binary, and does nothing else write to its stdout?"
    )
    assert "\x1b" not in text


def test_a_binary_that_ends_is_reported_with_its_last_output(odd: Speak) -> None:
    assert failure(odd(ENOUGH), BinaryError) == (
        "the mcptest binary ended before it answered coprocess/handshake: exit status 7; "
        "its last words: fake: I have had enough"
    )


def test_a_binary_that_says_half_a_line_and_closes_is_reported(odd: Speak) -> None:
    coprocess = odd({"all": [{"half": '{"jsonrpc": "2.0"'}, {"exit": 0}]})
    with coprocess, pytest.raises(BinaryError, match="in the middle of a line"):
        coprocess.request("mcp.initialize")


def test_a_silent_binary_times_out(odd: Speak, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_coprocess, "_HANDSHAKE_S", 0.3)
    words = "the mcptest binary did not answer coprocess/handshake within 0.3 s"
    assert failure(odd(SILENCE), OverdueError) == words


def test_another_program_is_not_accepted_as_the_binary(
    odd: Speak, monkeypatch: pytest.MonkeyPatch
) -> None:
    coprocess = odd()
    monkeypatch.setenv("MCPTEST_BIN", "false")
    assert "ended before it answered" in failure(coprocess, BinaryError)


# Strictness

ENVELOPES: list[tuple[object, str]] = [
    ({"result": {}, "took_ms": 3}, 'a response has no member "took_ms"'),
    ({}, "the answer to mcp.initialize is not a response"),
    ({"result": {}, "error": {"code": 1, "message": "a"}}, "is not a response"),
    ({"result": {}, "jsonrpc": "1.0"}, "is not a response"),
    ({"result": {}, "id": 7}, "the answer to mcp.initialize has another id: 7"),
    ({"result": {}, "id": "2"}, 'the answer to mcp.initialize has another id: "2"'),
    ({"result": {}, "id": None}, "the answer to mcp.initialize has another id: null"),
    ({"error": "no"}, "has an invalid error"),
    ({"error": {"message": "no"}}, "has an invalid error"),
    ({"error": {"code": "1", "message": "no"}}, "has an invalid error"),
    ({"error": {"code": True, "message": "no"}}, "has an invalid error"),
    ({"error": {"code": 1}}, "has an invalid error"),
    ({"error": {"code": 1, "message": "no", "hint": "a"}}, "has an invalid error"),
]


@pytest.mark.parametrize(("answer", "words"), ENVELOPES)
def test_an_answer_of_another_shape_is_contract_drift(
    odd: Speak, answer: object, words: str
) -> None:
    text = failure(odd(HELLO, answer), ContractError)
    assert text.startswith("contract drift: ")
    assert words in text
    assert text.endswith("; the binary and this SDK are of different releases")


@pytest.mark.parametrize(
    "result",
    [
        None,
        [],
        {},
        {"binary_version": "9.9"},
        {"protocol_version": "2"},
        {"protocol_version": True},
        {"protocol_version": 2.0},
        {"protocol_version": 2, "binary_version": "9.9", "motd": "hi"},
    ],
)
def test_a_handshake_of_another_shape_is_contract_drift(odd: Speak, result: object) -> None:
    text = failure(odd({"result": result}), ContractError)
    assert text.startswith("contract drift: the ")
    assert "handshake" in text


def test_a_handshake_that_is_refused_for_another_reason_says_which(odd: Speak) -> None:
    refused = {"error": {"code": -32603, "message": "out of \x1b[1mmemory"}}
    words = "the mcptest binary refused the handshake: out of \\u001b[1mmemory (code -32603)"
    assert failure(odd(refused), ContractError) == words


def test_a_request_that_the_binary_cannot_read_raises_its_message(odd: Speak) -> None:
    unread = {"id": None, "error": {"code": -32700, "message": "the line cannot be read"}}
    words = "the mcptest binary could not read mcp.initialize: the line cannot be read"
    assert failure(odd(HELLO, unread), ContractError) == words


def test_after_drift_nothing_more_is_asked(odd: Speak) -> None:
    with odd(HELLO, {}, {"result": {}}) as coprocess:
        for _ in range(2):
            with pytest.raises(ContractError):
                coprocess.request("mcp.initialize")


def test_a_frame_with_a_repeated_key_is_not_an_answer(odd: Speak) -> None:
    twice = '{"jsonrpc":"2.0","id":2,"id":2,"result":{}}'
    assert "a line that is not a response" in failure(odd(HELLO, twice), ContractError)


def test_strings_and_numbers_arrive_unchanged(odd: Speak) -> None:
    result = {"a": "Ærø 🙂 \u2028", "n": 12345678901234567890, "x": 1e300, "long": "é" * 300_000}
    with odd(HELLO, {"result": result}) as coprocess:
        assert coprocess.request("mcp.call", {"tool": "a"}) == result


# Refusals


@pytest.mark.parametrize(
    ("code", "kind"),
    [(-32000, UpstreamError), (-32001, UpstreamGoneError), (-32602, RefusedError)],
)
def test_a_refusal_has_its_kind_and_leaves_the_channel_open(
    odd: Speak, code: int, kind: type[RefusedError]
) -> None:
    error = {"code": code, "message": "no\x1b[1m", "data": {"kind": "timeout"}}
    with odd(HELLO, {"error": error}, {"result": 1}) as coprocess:
        with pytest.raises(kind) as caught:
            coprocess.request("mcp.call")
        assert type(caught.value) is kind
        assert (caught.value.code, caught.value.message) == (code, "no\x1b[1m")
        assert caught.value.data == {"kind": "timeout"}
        assert "\x1b" not in str(caught.value)
        assert coprocess.request("mcp.call") == 1


def test_processes_a_server_left_behind_are_noted_on_the_error(odd: Speak) -> None:
    data = {"command": ["a", "b"], "exit_status": "exit status 3", "stderr": "one\ntw\x1bo"}
    error = {"code": -32001, "message": "it is gone", "data": data}
    with odd(HELLO, {"error": error}) as coprocess, pytest.raises(UpstreamGoneError) as caught:
        coprocess.request("mcp.call")
    assert caught.value.__notes__ == [
        "  command   a b",
        "  ended     exit status 3",
        "  stderr    | one",
        "            | tw\\u001bo",
    ]
    # A binary that says no more.
    assert (caught.value.exit_status, caught.value.exit_code) == ("exit status 3", None)
    assert caught.value.signal is None


def test_every_error_of_the_channel_is_one() -> None:
    assert mcptest.CoprocessError is CoprocessError
    for kind in (BinaryError, VersionError, ContractError, RefusedError):
        assert issubclass(kind, CoprocessError)
