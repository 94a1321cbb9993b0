"""What `connect` is given for a server's environment: secrets stay where they belong."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import mcptest
from mcptest.sdk.arguments import ServerArguments, list_secrets
from mcptest.sdk.coprocess import temporary_file
from mcptest.sdk.expect import expect

SERVERS = Path(__file__).parents[2] / "servers"
SERVER = [sys.executable, "-S", "-E", str(SERVERS / "sdk_server.py")]
VALUE = "sk-LEAK-abcdef123456"
PATIENCE_S = 60.0


def recorded(folder: Path, env: dict[str, str], *secrets: str) -> str:
    """A cassette and an upload of a call whose result has the value of a variable."""
    cassette, target = folder / "tape.ndjson", folder / "calls.ndjson"
    name = next(iter(env))
    with mcptest.connect(SERVER, env=env, secrets=secrets, record=cassette) as server:
        server.upload_to(f"file:{target}")
        assert server.call_tool("env", {"name": name}).text == env[name]
    return cassette.read_text(encoding="utf-8") + target.read_text(encoding="utf-8")


def test_a_variable_with_the_name_of_a_secret_is_hidden_in_cassettes_and_uploads(
    tmp_path: Path,
) -> None:
    text = recorded(tmp_path, {"SHOP_TOKEN": VALUE})
    assert VALUE not in text
    assert text.count("[secret]") == 2


def test_a_variable_is_secret_when_it_is_named_one(tmp_path: Path) -> None:
    text = recorded(tmp_path, {"SHOP": VALUE}, "SHOP")
    assert (text.count("[secret]"), VALUE in text) == (2, False)


def test_other_variables_are_left_as_they_are(tmp_path: Path) -> None:
    assert recorded(tmp_path, {"SHOP": VALUE}).count(VALUE) == 2


def test_a_secret_is_blanked_in_errors() -> None:
    with (
        mcptest.connect(SERVER, env={"TOKEN": VALUE}) as server,
        pytest.raises(mcptest.UpstreamGoneError) as caught,
    ):
        server.call_tool("die", {"words": f"I had {VALUE}"})
    assert "[secret]" in caught.value.data["stderr"]
    said = [str(caught.value), *caught.value.__notes__, json.dumps(caught.value.data)]
    assert VALUE not in "\n".join(said)


def test_a_secret_is_blanked_in_what_the_server_refuses() -> None:
    with (
        mcptest.connect(SERVER, env={"TOKEN": VALUE}) as server,
        pytest.raises(mcptest.UpstreamError) as caught,
    ):
        server.call_tool("refuse", {"words": f"not with {VALUE}"})
    error = caught.value
    assert (str(error), error.message) == ("the server refused tools/call: not with [secret]",) * 2
    assert error.data == {"code": -32602, "message": "not with [secret]", "data": {"why": "mood"}}


def test_values_that_are_not_secret_stay_in_a_refusal() -> None:
    with (
        mcptest.connect(SERVER, env={"SHOP": "plain-value-77"}) as server,
        pytest.raises(mcptest.UpstreamError, match="not with plain-value-77"),
    ):
        server.call_tool("refuse", {"words": "not with plain-value-77"})


@pytest.mark.parametrize("encode", [str, lambda text: base64.b64encode(text.encode()).decode()])
def test_a_secret_is_blanked_in_what_an_expectation_says(encode: Callable[[str], str]) -> None:
    value = f"{VALUE}-{encode.__name__}"
    with mcptest.connect(SERVER, env={"TOKEN": value}) as server:
        verdict = server.call_tool("echo", {"text": f"I have {encode(value)}."})
        failed = server.call_tool("fail", {"words": value})
    assert encode(value) in str(verdict.raw)
    claims: list[Callable[[], object]] = [
        lambda: expect(verdict).to_match(
            {"content": [{"type": "text", "text": "nothing"}], "isError": False}
        ),
        lambda: expect(verdict.text).to_match("I have nothing."),
        lambda: expect({"inner": [verdict.text]}).to_meet({"contains": "nothing"}),
        lambda: expect(verdict).to_fail(),
        lambda: expect(failed).to_succeed(),
        lambda: expect(verdict.text).to_match(f"match:nope:{encode(value)}"),
    ]
    for claim in claims:
        with pytest.raises(AssertionError) as caught:
            claim()
        assert encode(value) not in str(caught.value)
        assert "[secret]" in str(caught.value)
    expect(verdict.text).to_match(f"I have {encode(value)}.")
    expect(failed).to_fail()


def test_a_token_and_the_values_of_headers_are_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOP_BEARER", "bearer-value-4711")
    monkeypatch.setenv("SHOP_HEADER", "header-value-4711")
    message = ServerArguments(
        url="http://x", bearer_env="SHOP_BEARER", header_env={"X-Key": "SHOP_HEADER"}
    )
    found = list_secrets(message, os.environ)
    assert found == ("bearer-value-4711", "header-value-4711")


def test_a_secret_is_blanked_in_a_result_that_is_not_a_verdict() -> None:
    with (
        mcptest.connect(SERVER, env={"TOKEN": VALUE}) as server,
        pytest.raises(mcptest.ContractError) as caught,
    ):
        server.call_tool("say", {"success": f"{'x' * 180}{VALUE}"})
    assert VALUE[:8] not in str(caught.value)


def test_a_common_word_under_such_a_name_is_not_a_secret_and_no_reason_to_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with mcptest.connect(SERVER, env={"API_KEY": "test", "PASSWORD": ""}) as server:
            assert server.call_tool("env", {"name": "API_KEY"}).text == "test"


def test_a_common_word_that_is_named_a_secret_is_warned_of() -> None:
    with (
        pytest.warns(mcptest.CoprocessWarning, match="too common"),
        mcptest.connect(SERVER, env={"MODE": "test"}, secrets=["MODE"]) as server,
    ):
        assert server.call_tool("env", {"name": "MODE"}).text == "test"


@pytest.mark.parametrize(
    ("secrets", "error", "words"),
    [
        (["B"], ValueError, "secrets names variables in env, and 'B' is not there"),
        ("A", TypeError, "secrets is a list of names, not str"),
        ([1], TypeError, "a name in secrets is a string, not int"),
        (None, TypeError, "secrets is a list of names, not None"),
    ],
)
def test_names_that_make_no_sense_are_refused(
    secrets: list[str], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        mcptest.connect(SERVER, env={"A": "b"}, secrets=secrets)


# What the binary is handed


def test_the_temporary_file_exists_as_long_as_it_is_needed() -> None:
    with temporary_file('{"a": "é\udcff"}') as path:
        assert Path(path).read_bytes() == b'{"a": "\xc3\xa9\xff"}'
        assert Path(path).is_file()
    assert not os.path.exists(path)


KILLED = """
import os, signal, sys
from mcptest.sdk.coprocess import temporary_file
with temporary_file("a secret"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_no_file_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_where_memory_has_no_path_only_we_can_read_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.memfd_create", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with temporary_file("a secret") as path:
        assert Path(path).read_text(encoding="utf-8") == "a secret"
        assert Path(path).stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == []
