"""Caches, cassettes and uploads of real sessions, from one process to the next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from exec_client import NOBODY, ExecClient, connected, fault_server, feature_server
from upload_target import collecting

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Listener

PATIENCE_S = 20.0


def counting(folder: Path) -> str:
    """A server whose tool `flaky` returns how often it has been called in all sessions."""
    return feature_server(str(folder / "tally"))


def count(sdk: ExecClient, **arguments: Any) -> str:
    return sdk.text("flaky", **({"until": 99} | arguments))


# The cache


def test_results_are_kept_from_one_session_to_the_next(tmp_path: Path) -> None:
    cache = str(tmp_path / "deep" / "cache")
    with connected(tmp_path, counting(tmp_path), MCPTEST_CACHE_DIR=cache) as sdk:
        assert sdk.ask("mcp.cache.set_mode", {"mode": "read_write"}) == {"mode": "read_write"}
        assert [count(sdk), count(sdk)] == ["not yet, 1", "not yet, 1"]
        assert count(sdk, other=1) == "not yet, 2"
        assert sdk.leave().err == ""
    with connected(tmp_path, counting(tmp_path), MCPTEST_CACHE_DIR=cache) as sdk:
        assert count(sdk) == "not yet, 3", "it is off until it is told"
        sdk.ask("mcp.cache.set_mode", {"mode": "read_only"})
        assert count(sdk, other=1) == "not yet, 2"
        sdk.ask("mcp.cache.set_mode", {"mode": "refresh"})
        assert count(sdk) == "not yet, 4"
    with connected(tmp_path, counting(tmp_path), MCPTEST_CACHE_DIR=cache) as sdk:
        sdk.ask("mcp.cache.set_mode", {"mode": "read_write"})
        assert count(sdk) == "not yet, 4"


def test_a_call_that_is_kept_needs_no_server(tmp_path: Path, listener: Listener) -> None:
    server, surroundings = fault_server("announced"), listener.environment
    for turn in range(2):
        with connected(tmp_path, server, **surroundings) as sdk:
            sdk.ask("mcp.cache.set_mode", {"mode": "read_write"})
            assert sdk.text("echo", text="kept") == "kept"
            if turn == 0:
                listener.next_caller().let_go()
            assert sdk.leave().code == 0
    (file,) = (tmp_path / ".mcptest" / "cache").iterdir()
    file.write_text("torn", encoding="utf-8")
    with connected(tmp_path, server, **surroundings) as sdk:
        sdk.ask("mcp.cache.set_mode", {"mode": "read_write"})
        assert sdk.text("echo", text="kept") == "kept"
        # The second session has not called home: this is the third.
        third = listener.next_caller()
        words = [third.next_word() for _ in range(3)]
        assert words == ["initialize", "notifications/initialized", "tools/call"]
        third.let_go()
        assert sdk.leave().code == 0


def test_a_cache_that_cannot_be_written_is_reported_on_stderr(tmp_path: Path) -> None:
    with connected(tmp_path, counting(tmp_path), MCPTEST_CACHE_DIR="/dev/null/cache") as sdk:
        sdk.ask("mcp.cache.set_mode", {"mode": "read_write"})
        assert [count(sdk), count(sdk)] == ["not yet, 1", "not yet, 2"]
        ended = sdk.leave()
    assert ended.code == 0
    assert ended.err.startswith("warning: results cannot be kept in the cache /dev/null/cache: ")
    assert ended.err.count("\n") == 1


# Cassettes


def cassette(sdk: ExecClient, mode: str, path: object = "tape.ndjson") -> Any:
    return sdk.ask("mcp.cassette.set_mode", {"mode": mode, "path": str(path)})


def test_a_session_is_recorded_and_replayed_without_any_server(tmp_path: Path) -> None:
    def session(sdk: ExecClient) -> list[Any]:
        return [
            sdk.ask("mcp.initialize"),
            sdk.ask("mcp.initialize"),
            sdk.ask("mcp.listTools"),
            sdk.ask("mcp.listResources"),
            count(sdk),
            count(sdk),
            sdk.text("echo", text="ü\u2028\x85 \U0001f642"),
            sdk.ask("mcp.readResource", {"uri": "memo://one"}),
            sdk.ask("mcp.callPrompt", {"name": "greet", "arguments": {"who": "Ada"}}),
        ]

    with connected(tmp_path, counting(tmp_path)) as sdk:
        assert cassette(sdk, "record") == {"mode": "record"}
        recorded = session(sdk)
        assert recorded[4:6] == ["not yet, 1", "not yet, 2"]
    lines = (tmp_path / "tape.ndjson").read_text(encoding="utf-8").split("\n")
    assert json.loads(lines[0])["format"] == "mcptest-cassette"
    assert [json.loads(line)["method"] for line in lines[1:-1]] == [
        *("initialize", "tools/list", "resources/list", "tools/call", "tools/call", "tools/call"),
        *("resources/read", "prompts/get"),
    ]
    with connected(tmp_path, NOBODY) as sdk:
        assert cassette(sdk, "replay") == {"mode": "replay"}
        assert session(sdk) == recorded
        error = sdk.call("flaky", until=99)
        assert error["code"] == -32000
        assert error["message"].endswith("it was recorded 2 times")
        assert "differs at arguments.text" in sdk.call("echo", text="z")["message"]
        assert sdk.ask("mcp.cassette.set_mode", {"mode": "off"}) == {"mode": "off"}
        assert sdk.call("flaky", until=99)["code"] == -32001, "from here on it is asked live"
        assert sdk.leave().code == 0


def test_errors_of_the_server_are_replayed_as_they_were(tmp_path: Path) -> None:
    def session(sdk: ExecClient) -> list[Any]:
        return [sdk.ask("mcp.listResources"), sdk.ask("mcp.callPrompt", {"prompt": "p"})]

    with connected(tmp_path, fault_server("good")) as sdk:
        cassette(sdk, "record")
        recorded = session(sdk)
        assert [error["code"] for error in recorded] == [-32000, -32000]
        assert recorded[0]["data"]["code"] == -32601
    with connected(tmp_path, NOBODY) as sdk:
        cassette(sdk, "replay")
        assert session(sdk) == recorded


def test_a_recording_that_was_killed_is_whole_up_to_its_last_line(tmp_path: Path) -> None:
    with connected(tmp_path, counting(tmp_path)) as sdk:
        cassette(sdk, "record")
        assert count(sdk) == "not yet, 1"
        sdk.process.kill()
        sdk.process.wait(PATIENCE_S)
    with connected(tmp_path, NOBODY) as sdk:
        cassette(sdk, "replay")
        assert count(sdk) == "not yet, 1"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "it is not a cassette"),
        (b"description: a test\n", "it is not a cassette"),
        (b"\xff", "it is not a cassette: it is not UTF-8"),
        (b'{"format":"mcptest-cassette","version":9,"command":[]}\n', "it is of version 9"),
        (b'{"format":"mcptest-cassette","version":1,"command":[]}\n{"meth', "is torn"),
        (b'{"format":"mcptest-cassette","version":1,"command":[]}\n7\n', "line 2 is not a call"),
    ],
)
def test_a_truncated_or_foreign_cassette_is_refused_with_the_place(
    tmp_path: Path, text: bytes, why: str
) -> None:
    (tmp_path / "tape.ndjson").write_bytes(text)
    with connected(tmp_path, NOBODY) as sdk:
        error = cassette(sdk, "replay")
    assert error["code"] == -32602
    assert error["message"].startswith('the cassette "tape.ndjson" cannot be used to replay: ')
    assert why in error["message"]


# Uploads


def upload_to(sdk: ExecClient, target: str) -> Any:
    return sdk.ask("mcp.reporter.setUpload", {"enabled": True, "target": target})


def texts(records: list[Any]) -> list[str]:
    return [record["arguments"]["text"] for record in records]


def test_calls_are_uploaded_to_a_file(tmp_path: Path) -> None:
    with connected(tmp_path, fault_server("good")) as sdk:
        assert upload_to(sdk, "file:calls.ndjson") == {"enabled": True}
        sdk.text("echo", text="a")
        sdk.text("echo", text="b")
        assert sdk.ask("mcp.reporter.flush") == {"flushed": 2}
        sdk.text("echo", text="c")
        assert sdk.ask("mcp.shutdown") == {}
        ended = sdk.leave()
    assert (ended.code, ended.err) == (0, "")
    lines = (tmp_path / "calls.ndjson").read_text(encoding="utf-8").split("\n")[:-1]
    records = [json.loads(line) for line in lines]
    assert texts(records) == ["a", "b", "c"], "what was not flushed is, at the end"
    assert records[0].pop("duration_ms") > 0
    assert records[0] == {
        "tool": "echo",
        "arguments": {"text": "a"},
        "success": True,
        "result": {"content": [{"type": "text", "text": "a"}]},
    }


def test_a_target_that_fails_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    with collecting(500, 302, 200) as collector:
        with connected(tmp_path, fault_server("good")) as sdk:
            upload_to(sdk, collector.target)
            sdk.text("echo", text="a")
            error = sdk.ask("mcp.reporter.flush")
            assert (error["code"], "status 500; still queued: 1 call" in error["message"]) == (
                *(-32603, True),
            )
            sdk.text("echo", text="b")
            assert "status 302; still queued: 2 calls" in sdk.ask("mcp.reporter.flush")["message"]
            assert sdk.ask("mcp.reporter.flush") == {"flushed": 2}
            assert sdk.ask("mcp.reporter.flush") == {"flushed": 0}
            sdk.text("echo", text="c")
            sdk.stdin.close()
            assert sdk.process.wait(PATIENCE_S) == 0
        assert texts(collector.accepted) == ["a", "b", "c"]


def test_a_target_that_fails_to_the_end_leaves_a_file_that_is_named(tmp_path: Path) -> None:
    with collecting(500) as collector, connected(tmp_path, fault_server("good")) as sdk:
        upload_to(sdk, collector.target)
        sdk.text("echo", text="a")
        assert sdk.ask("mcp.shutdown") == {}
        ended = sdk.leave()
    assert ended.code == 0
    assert ended.err.startswith("warning: 1 call not uploaded: http://127.0.0.1:")
    kept = tmp_path / ended.err.strip().rpartition(" is in ")[2]
    assert texts([json.loads(kept.read_text(encoding="utf-8"))]) == ["a"]


@pytest.mark.parametrize(
    "target",
    ["", "calls.ndjson", "ftp://localhost/", "http://example.com/", "file://tmp/x", "http://[::1"],
)
def test_a_target_that_may_not_be_is_refused(tmp_path: Path, target: str) -> None:
    with connected(tmp_path, NOBODY) as sdk:
        error = upload_to(sdk, target)
        assert error["code"] == -32602
        assert '"target"' in error["message"]
        assert sdk.ask("mcp.reporter.flush") == {"flushed": 0}
