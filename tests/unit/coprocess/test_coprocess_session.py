"""A session with a fake server: what the SDK sets, and the effect."""

from __future__ import annotations

import json
import resource
import signal
from typing import TYPE_CHECKING, Any

import pytest

from mcptest import __version__
from mcptest.coprocess.connection import ConnectionSession, Upstream
from mcptest.coprocess.protocol import UPSTREAM_ERROR, UPSTREAM_GONE, RefusedError
from mcptest.coprocess.stores import Cache
from mcptest.core.errors import InterruptedRunError
from mcptest.core.plan import ServerSpec
from mcptest.engine.server import make_bare_launcher
from mcptest.protocol.framing import LineDecoder, encode_line
from mcptest.transport.http.probe import post

if TYPE_CHECKING:
    from pathlib import Path

HELLO = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "stub"}}
SECRET = "s3cr3t-value-of-the-config"


class StubUpstream(Upstream):
    """Counts what it is asked; `says` maps a tool to what becomes of its call."""

    def __init__(self, *secrets: str, **says: Any) -> None:
        spec = ServerSpec(name="stub", command=("stub", *secrets), secrets=secrets)
        super().__init__(spec, make_bare_launcher())
        self.says = says
        self.asked: list[str] = []

    def initialize(self) -> dict[str, Any]:
        self.asked.append("initialize")
        self.handshake = HELLO
        return HELLO

    def ask(
        self, method: str, params: dict[str, Any], limit_s: float | None = None
    ) -> dict[str, Any]:
        self.handshake = HELLO
        self.asked.append(method)
        said = self.says.get(params.get("name", ""), {"n": len(self.asked), "asked": params})
        if isinstance(said, Exception):
            raise said
        return dict(said)

    def ask_all(self, method: str, key: str, limit_s: float | None = None) -> dict[str, Any]:
        return {key: [self.ask(method, {})]}


class Talk:
    """A session and its upstream, driven by requests."""

    def __init__(self, folder: Path, *secrets: str, **says: Any) -> None:
        self.upstream = StubUpstream(*secrets, **says)
        self.session = ConnectionSession(self.upstream, Cache(str(folder / "cache"), "stub"), post)
        self._id = 0

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result, or the whole error."""
        self._id += 1
        request = {"jsonrpc": "2.0", "id": self._id, "method": method}
        line = encode_line(request if params is None else request | {"params": params})
        (item,) = LineDecoder().feed(line)
        answer = json.loads(self.session.answer(item))
        assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self._id)
        return answer["result"] if "result" in answer else answer["error"]

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("mcp.call", {"tool": tool, "arguments": arguments})


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


def shake(talk: Talk, version: int, **names: str) -> Any:
    return talk.ask("coprocess/handshake", {"protocol_version": version, **names})


OURS = {"protocol_version": 2, "binary_version": __version__}


# The handshake


def test_the_handshake_may_be_absent_late_or_repeated(talk: Talk) -> None:
    assert talk.call("echo")["n"] == 1
    assert shake(talk, 2) == OURS
    assert shake(talk, 2, sdk="go") == OURS
    assert talk.call("echo")["n"] == 2


@pytest.mark.parametrize("version", [1, 3, 0, -1, 10**30])
def test_after_a_mismatch_everything_but_goodbye_gets_the_same_sentence(
    tmp_path: Path, version: int
) -> None:
    talk = Talk(tmp_path)
    error = shake(talk, version, sdk="go")
    assert error["code"] == -32602
    assert f"this mcptest binary speaks v2, the go SDK sent v{version}." in error["message"]
    requests: list[tuple[str, dict[str, Any]]] = [
        ("mcp.initialize", {}),
        ("mcp.call", {"tool": "a"}),
        ("mcp.listTools", {}),
        ("mcp.listResources", {}),
        ("mcp.readResource", {"uri": "a:"}),
        ("mcp.callPrompt", {"name": "a"}),
        ("mcp.reporter.setUpload", {"enabled": False}),
        ("mcp.reporter.flush", {}),
        ("mcp.cache.set_mode", {"mode": "off"}),
        ("mcp.cassette.set_mode", {"mode": "off"}),
    ]
    assert [talk.ask(*request) for request in requests] == [error] * len(requests)
    assert talk.upstream.asked == []
    assert talk.ask("mcp.shutdown") == {}
    assert talk.session.is_over


def test_a_later_matching_handshake_lifts_a_version_mismatch_and_another_causes_it(
    talk: Talk,
) -> None:
    assert shake(talk, 1)["code"] == -32602
    assert shake(talk, 2) == OURS
    assert talk.call("echo")["n"] == 1
    assert shake(talk, 3)["code"] == -32602
    assert talk.call("echo")["code"] == -32602


def test_a_handshake_that_is_not_a_handshake_changes_nothing(talk: Talk) -> None:
    assert talk.ask("coprocess/handshake", {"protocol_version": "3"})["code"] == -32602
    assert talk.call("echo")["n"] == 1


# What goes to the server


def test_each_method_asks_the_server_in_its_own_words(talk: Talk) -> None:
    assert talk.ask("mcp.initialize") == HELLO
    assert talk.call("add", a=1)["asked"] == {"name": "add", "arguments": {"a": 1}}
    assert talk.ask("mcp.call", {"tool": "add"})["asked"] == {"name": "add", "arguments": {}}
    assert talk.ask("mcp.readResource", {"uri": "a:b"})["asked"] == {"uri": "a:b"}
    assert talk.ask("mcp.callPrompt", {"name": "p"})["asked"] == {"name": "p"}
    assert talk.ask("mcp.callPrompt", {"prompt": "p", "arguments": {"a": "b"}})["asked"] == {
        "name": "p",
        "arguments": {"a": "b"},
    }
    assert list(talk.ask("mcp.listTools")) == ["tools"]
    assert list(talk.ask("mcp.listResources")) == ["resources"]
    assert talk.upstream.asked == [
        *("initialize", "tools/call", "tools/call", "resources/read", "prompts/get"),
        *("prompts/get", "tools/list", "resources/list"),
    ]


# The cache


def test_the_cache_is_used_for_calls_only_and_only_when_it_is_on(talk: Talk) -> None:
    talk.call("echo")
    assert talk.call("echo")["n"] == 2
    assert talk.ask("mcp.cache.set_mode", {"mode": "read_write"}) == {"mode": "read_write"}
    assert [talk.call("echo")["n"] for _ in range(3)] == [3, 3, 3]
    assert talk.ask("mcp.readResource", {"uri": "a:"})["n"] == 4
    assert talk.ask("mcp.readResource", {"uri": "a:"})["n"] == 5
    talk.ask("mcp.cache.set_mode", {"mode": "refresh"})
    assert [talk.call("echo")["n"] for _ in range(2)] == [6, 7]
    talk.ask("mcp.cache.set_mode", {"mode": "read_only"})
    assert talk.call("echo")["n"] == 7
    assert [talk.call("other")["n"] for _ in range(2)] == [8, 9]
    talk.ask("mcp.cache.set_mode", {"mode": "off"})
    assert talk.call("echo")["n"] == 10


def test_a_refused_call_is_not_cached(tmp_path: Path) -> None:
    talk = Talk(tmp_path, bad=RefusedError(UPSTREAM_ERROR, "no"))
    talk.ask("mcp.cache.set_mode", {"mode": "read_write"})
    assert [talk.call("bad")["code"] for _ in range(2)] == [-32000, -32000]
    assert len(talk.upstream.asked) == 2


def test_an_answer_with_a_secret_of_the_config_is_not_cached(tmp_path: Path) -> None:
    talk = Talk(tmp_path, SECRET, leak={"text": f"it is {SECRET}"})
    talk.ask("mcp.cache.set_mode", {"mode": "read_write"})
    assert talk.call("leak") == {"text": f"it is {SECRET}"}
    assert not (tmp_path / "cache").exists()


# Cassettes


def cassette_in(folder: Path, mode: str) -> dict[str, Any]:
    return {"mode": mode, "path": str(folder / "tape")}


def test_a_cassette_answers_initialize_whether_or_not_it_was_asked_while_recording(
    tmp_path: Path,
) -> None:
    live = Talk(tmp_path)
    live.ask("mcp.initialize")
    live.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "record"))
    live.call("echo")
    played = Talk(tmp_path)
    played.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "replay"))
    assert [played.ask("mcp.initialize") for _ in range(2)] == [HELLO, HELLO]


def test_a_server_that_is_gone_is_not_on_the_cassette(tmp_path: Path) -> None:
    live = Talk(tmp_path, bad=RefusedError(UPSTREAM_GONE, "it is gone"))
    live.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "record"))
    assert live.call("bad")["code"] == -32001
    assert len((tmp_path / "tape").read_text(encoding="utf-8").splitlines()) == 1


def test_recording_again_begins_a_new_cassette(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    for _ in range(2):
        talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "record"))
        talk.call("echo")
    lines = (tmp_path / "tape").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3, "a header, the handshake, and one call"


def test_the_cache_is_not_used_with_a_cassette(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    talk.ask("mcp.cache.set_mode", {"mode": "read_write"})
    talk.call("kept")
    talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "record"))
    assert talk.call("kept")["n"] == 2, "a tape has what the server said"
    assert talk.call("new")["n"] == 3
    talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "replay"))
    assert talk.call("kept")["n"] == 2
    assert talk.call("new")["n"] == 3
    talk.ask("mcp.cassette.set_mode", {"mode": "off"})
    assert talk.call("kept")["n"] == 1
    assert talk.call("new")["n"] == 4


@pytest.mark.parametrize("name", ["no/tape", ".", "a\0b", "\ud800"])
@pytest.mark.parametrize("mode", ["record", "replay"])
def test_a_cassette_that_cannot_be_used_leaves_everything_as_it_was(
    tmp_path: Path, mode: str, name: str
) -> None:
    talk = Talk(tmp_path)
    talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "record"))
    talk.call("echo")
    talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "replay"))
    error = talk.ask("mcp.cassette.set_mode", {"mode": mode, "path": f"{tmp_path}/{name}"})
    assert error["code"] == -32602
    assert f"cannot be used to {mode}: " in error["message"]
    assert talk.call("echo")["n"] == 1
    assert talk.call("echo")["code"] == -32000, "still nothing is asked live"


def test_an_empty_file_is_recorded_to(tmp_path: Path) -> None:
    (tmp_path / "tape").touch()
    talk = Talk(tmp_path)
    assert talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "record")) == {"mode": "record"}


def test_a_cassette_contains_no_secret_of_the_config_and_can_be_replayed(tmp_path: Path) -> None:
    live = Talk(tmp_path, SECRET, leak={"text": f"it is {SECRET}"})
    live.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "record"))
    assert live.call("leak", key=SECRET) == {"text": f"it is {SECRET}"}
    assert SECRET not in (tmp_path / "tape").read_text(encoding="utf-8")
    live.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "replay"))
    assert live.call("leak", key=SECRET)["text"].startswith("it is ")


def test_a_device_is_not_a_cassette(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    (tmp_path / "tape").symlink_to("/dev/full")
    for mode in ("record", "replay"):
        error = talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, mode))
        assert error["message"].endswith("it is not a regular file")


def test_a_cassette_is_not_recorded_through_a_link_out_of_its_folder(tmp_path: Path) -> None:
    folder, outside = tmp_path / "project", tmp_path / "outside"
    folder.mkdir()
    (folder / "tape").symlink_to(outside)
    error = Talk(folder).ask("mcp.cassette.set_mode", cassette_in(folder, "record"))
    assert "leads out of its folder" in error["message"]
    assert not outside.exists()


def test_a_full_disk_is_reported_and_the_cassette_stays_whole(tmp_path: Path) -> None:
    talk = Talk(tmp_path, large={"text": "x" * 5000})
    talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "record"))
    talk.call("echo")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        error = talk.call("large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert error["code"] == -32603
    assert error["message"].endswith("cannot be written: File too large")
    talk.call("echo", a=1)
    talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "replay"))
    assert [talk.call("echo")["n"], talk.call("echo", a=1)["n"]] == [1, 3]


# Uploads


def records(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record in found:
        assert record.pop("duration_ms") >= 0
    return found


def enable(talk: Talk, target: str) -> Any:
    return talk.ask("mcp.reporter.setUpload", {"enabled": True, "target": target})


def test_calls_are_uploaded_with_their_outcome_and_counted(tmp_path: Path) -> None:
    talk = Talk(
        tmp_path,
        good={"content": []},
        failing={"content": [], "isError": True},
        bad=RefusedError(UPSTREAM_ERROR, "no", {"code": 1}),
    )
    assert talk.ask("mcp.reporter.flush") == {"flushed": 0}
    talk.call("good", before=1)
    assert enable(talk, f"file:{tmp_path}/calls") == {"enabled": True}
    talk.call("good", a=1)
    talk.call("failing")
    talk.call("bad")
    talk.ask("mcp.listTools")
    assert talk.ask("mcp.reporter.flush") == {"flushed": 3}
    assert talk.ask("mcp.reporter.flush") == {"flushed": 0}
    assert talk.ask("mcp.reporter.setUpload", {"enabled": False}) == {"enabled": False}
    talk.call("good", after=1)
    assert talk.ask("mcp.reporter.flush") == {"flushed": 0}
    error = {"code": -32000, "message": "no"}
    assert records(tmp_path / "calls") == [
        {"tool": "good", "arguments": {"a": 1}, "success": True, "result": {"content": []}},
        {
            "tool": "failing",
            "arguments": {},
            "success": False,
            "result": {"content": [], "isError": True},
        },
        {"tool": "bad", "arguments": {}, "success": False, "error": error},
    ]


def test_calls_from_the_cache_and_from_a_cassette_are_uploaded_too(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    enable(talk, f"file:{tmp_path}/calls")
    talk.ask("mcp.cache.set_mode", {"mode": "read_write"})
    talk.call("echo")
    talk.call("echo")
    talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "record"))
    talk.call("echo")
    talk.ask("mcp.cassette.set_mode", cassette_in(tmp_path, "replay"))
    talk.call("echo")
    assert talk.ask("mcp.reporter.flush") == {"flushed": 4}


@pytest.mark.parametrize("enabled", [True, False])
def test_a_target_that_may_not_be_changes_nothing(tmp_path: Path, enabled: bool) -> None:
    talk = Talk(tmp_path)
    enable(talk, f"file:{tmp_path}/calls")
    bad = {"enabled": enabled, "target": "http://example.com/"}
    error = talk.ask("mcp.reporter.setUpload", bad)
    assert error["code"] == -32602
    assert error["message"].startswith('the param "target" of mcp.reporter.setUpload: ')
    talk.call("echo")
    assert talk.ask("mcp.reporter.flush") == {"flushed": 1}


def test_no_secret_of_the_config_is_uploaded(tmp_path: Path) -> None:
    talk = Talk(tmp_path, SECRET, leak={"text": SECRET})
    enable(talk, f"file:{tmp_path}/calls")
    talk.call("leak", key=SECRET)
    talk.ask("mcp.reporter.flush")
    text = (tmp_path / "calls").read_text(encoding="utf-8")
    assert ('"leak"' in text, SECRET in text) == (True, False)


def test_a_call_that_was_interrupted_is_delivered_as_one_without_an_answer(
    tmp_path: Path,
) -> None:
    talk = Talk(tmp_path, stuck=InterruptedRunError())
    enable(talk, f"file:{tmp_path}/calls")
    with pytest.raises(InterruptedRunError):
        talk.call("stuck")
    talk.session.close()
    (record,) = records(tmp_path / "calls")
    assert (record["success"], record["error"]["code"]) == (False, -32603)


def test_a_folder_that_cannot_be_written_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcptest").touch()
    talk = Talk(tmp_path)
    enable(talk, f"file:{tmp_path}/no/calls")
    talk.call("echo")
    assert talk.session.close().startswith("1 call lost: ")
