"""The cache of one server's tools: what is kept, what is found, and what is as good as nothing."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from mcptest.coprocess.stores import Cache, cache_folder, server_key
from mcptest.core.plan import HttpSpec, ServerSpec
from mcptest.core.value_class import ABSENT

if TYPE_CHECKING:
    from pathlib import Path

SPEC = ServerSpec(name="shop", command=("python3", "server.py"), cwd="/shop")
SERVER = server_key(SPEC)
RESULT = {"content": [{"type": "text", "text": "ü\u2028\ud800"}]}


def cache(folder: Path, mode: str = "read_write", server: str = SERVER) -> Cache:
    made = Cache(str(folder), server)
    made.mode = mode
    return made


def kept_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_the_folder_is_what_the_environment_says_or_one_here() -> None:
    assert cache_folder({"MCPTEST_CACHE_DIR": "/tmp/x"}) == "/tmp/x"
    assert cache_folder({"MCPTEST_CACHE_DIR": ""}) == cache_folder({})
    assert cache_folder({}) == os.path.join(".mcptest", "cache")


# Modes


@pytest.mark.parametrize(
    ("mode", "stores", "reads"),
    [
        ("off", False, False),
        ("read_write", True, True),
        ("read_only", False, True),
        ("refresh", True, False),
    ],
)
def test_a_mode_stores_and_reads_as_it_says(
    tmp_path: Path, mode: str, stores: bool, reads: bool
) -> None:
    cache(tmp_path / "a", mode).keep("echo", {"a": 1}, RESULT)
    found = cache(tmp_path / "a", "read_only").find("echo", {"a": 1})
    assert (found == RESULT) == stores
    cache(tmp_path / "b").keep("echo", {}, RESULT)
    assert (cache(tmp_path / "b", mode).find("echo", {}) == RESULT) == reads


def test_a_cache_is_off_by_default(tmp_path: Path) -> None:
    made = Cache(str(tmp_path / "a"), SERVER)
    made.keep("echo", {}, RESULT)
    assert made.find("echo", {}) is ABSENT
    assert not (tmp_path / "a").exists()


def test_a_result_stored_again_replaces_the_old_one(tmp_path: Path) -> None:
    cache(tmp_path).keep("echo", {}, RESULT)
    cache(tmp_path, "refresh").keep("echo", {}, {"content": []})
    assert cache(tmp_path).find("echo", {}) == {"content": []}
    assert len(list(tmp_path.iterdir())) == 1


# Keys


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ech", {"a": 1, "b": [1]}),
        ("echo", {"a": 2, "b": [1]}),
        ("echo", {"a": 1.0, "b": [1]}),
        ("echo", {"a": True, "b": [1]}),
        ("echo", {"a": "1", "b": [1]}),
        ("echo", {"a": 1}),
    ],
)
def test_another_tool_or_argument_is_another_call(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    cache(tmp_path).keep("echo", {"a": 1, "b": [1]}, RESULT)
    assert cache(tmp_path).find(tool, arguments) is ABSENT


THERE = HttpSpec(url="http://localhost:1/mcp", headers={"X-User": "ada"})


@pytest.mark.parametrize(
    "other",
    [
        SPEC.but(command=("python3", "other.py")),
        SPEC.but(command=("python3 server.py",)),
        SPEC.but(cwd="/another/shop"),
        SPEC.but(env={"DATABASE": "test.db"}),
        SPEC.but(spec_version="2025-06-18"),
        SPEC.but(http=THERE),
        SPEC.but(http=THERE.but(url="http://localhost:2/mcp")),
        SPEC.but(http=THERE.but(headers={})),
    ],
)
def test_a_server_that_is_started_otherwise_is_another(other: ServerSpec, tmp_path: Path) -> None:
    for spec in (SPEC, SPEC.but(http=THERE)):
        if spec == other:
            continue
        cache(tmp_path, server=server_key(spec)).keep("echo", {}, RESULT)
    assert cache(tmp_path, server=server_key(other)).find("echo", {}) is ABSENT


def test_a_server_is_known_whatever_the_value_of_a_header_and_tells_nothing_of_itself() -> None:
    renewed = SPEC.but(http=THERE.but(headers={"X-User": "grace"}))
    assert server_key(renewed) == server_key(SPEC.but(http=THERE))
    assert server_key(SPEC.but(env={"A": "1", "B": "2"})) == server_key(
        SPEC.but(env={"B": "2", "A": "1"}, name="another")
    )
    assert "hunter2" not in server_key(SPEC.but(env={"A": "hunter2"}))


def test_the_order_of_arguments_does_not_matter(tmp_path: Path) -> None:
    cache(tmp_path).keep("echo", {"a": {"x": 1, "y": 2}, "b": 1}, RESULT)
    assert cache(tmp_path).find("echo", {"b": 1, "a": {"y": 2, "x": 1}}) == RESULT


# Errors


def test_a_tool_that_says_it_failed_is_asked_again(tmp_path: Path) -> None:
    cache(tmp_path).keep("echo", {}, {"content": [], "isError": True})
    assert cache(tmp_path).find("echo", {}) is ABSENT


def test_a_failure_on_refresh_drops_what_was_kept(tmp_path: Path) -> None:
    cache(tmp_path).keep("echo", {}, RESULT)
    cache(tmp_path, "refresh").keep("echo", {}, {"isError": True})
    assert list(tmp_path.iterdir()) == []


# Files that are not what was written


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"{",
        b"hello",
        b"\xff\xfe",
        b"7",
        b"{}",
        b'{"key":"x","result":{}}',
        b"[" * 100_000,
    ],
)
def test_a_torn_or_foreign_file_is_as_good_as_none_and_is_replaced(
    tmp_path: Path, text: bytes
) -> None:
    cache(tmp_path).keep("echo", {}, RESULT)
    kept_file(tmp_path).write_bytes(text)
    assert cache(tmp_path).find("echo", {}) is ABSENT
    cache(tmp_path).keep("echo", {}, RESULT)
    assert cache(tmp_path).find("echo", {}) == RESULT


def test_every_cut_of_a_file_is_as_good_as_none(tmp_path: Path) -> None:
    cache(tmp_path).keep("echo", {}, RESULT)
    file = kept_file(tmp_path)
    whole = file.read_bytes()
    for size in range(len(whole) - 1):
        file.write_bytes(whole[:size])
        assert cache(tmp_path).find("echo", {}) is ABSENT


@pytest.mark.parametrize(
    "change",
    [
        {"result": "text"},
        {"result": None},
        {"result": []},
        {"key": "another"},
        {"more": 1},
    ],
)
def test_a_file_with_another_shape_is_as_good_as_none(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    cache(tmp_path).keep("echo", {}, {"content": []})
    file = kept_file(tmp_path)
    changed = json.loads(file.read_text(encoding="utf-8")) | change
    file.write_text(json.dumps(changed), encoding="utf-8")
    assert cache(tmp_path).find("echo", {}) is ABSENT


def test_a_pipe_instead_of_a_file_is_not_opened(tmp_path: Path) -> None:
    cache(tmp_path).keep("echo", {}, RESULT)
    file = kept_file(tmp_path)
    file.unlink()
    os.mkfifo(file)
    assert cache(tmp_path).find("echo", {}) is ABSENT
    cache(tmp_path).keep("echo", {}, RESULT)
    assert cache(tmp_path).find("echo", {}) == RESULT


@pytest.mark.parametrize("target", ["/dev/zero", "/nowhere", "."])
def test_a_link_to_something_endless_or_to_nowhere_is_as_good_as_none(
    tmp_path: Path, target: str
) -> None:
    cache(tmp_path).keep("echo", {}, RESULT)
    file = kept_file(tmp_path)
    file.unlink()
    file.symlink_to(target)
    assert cache(tmp_path).find("echo", {}) is ABSENT


def test_a_link_is_replaced_and_what_it_leads_to_is_left_alone(tmp_path: Path) -> None:
    folder, precious = tmp_path / "cache", tmp_path / "precious"
    precious.write_text("mine", encoding="utf-8")
    cache(folder).keep("echo", {}, RESULT)
    file = kept_file(folder)
    file.unlink()
    file.symlink_to(precious)
    beside = file.with_name(f"{file.name}.mcptest-{os.getpid()}.tmp")
    beside.symlink_to(precious)
    cache(folder).keep("echo", {}, RESULT)
    assert cache(folder).find("echo", {}) == RESULT
    assert precious.read_text(encoding="utf-8") == "mine"
    assert sorted(folder.iterdir()) == [file, beside]


def test_a_linked_default_folder_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    for folder in (outside, project):
        folder.mkdir()
    (project / ".mcptest").symlink_to(outside)
    monkeypatch.chdir(project)
    message: list[str] = []
    made = Cache(cache_folder({}), SERVER, message.append)
    made.mode = "read_write"
    made.keep("echo", {}, RESULT)
    made.keep("echo", {}, {"isError": True})
    assert list(outside.iterdir()) == []
    (words,) = message
    assert f"the link .mcptest leads out of this folder, to {outside}" in words
    named = Cache(cache_folder({"MCPTEST_CACHE_DIR": ".mcptest/mine"}), SERVER, message.append)
    named.mode = "read_write"
    named.keep("echo", {}, RESULT)
    assert kept_file(outside / "mine").is_file()


def test_leftover_files_of_a_killed_process_are_removed_with_the_next_result(
    tmp_path: Path,
) -> None:
    left = tmp_path / "0123abcd.json.mcptest-999999999.tmp"
    left.write_text("half", encoding="utf-8")
    cache(tmp_path).keep("echo", {}, RESULT)
    assert list(tmp_path.iterdir()) == [kept_file(tmp_path)]


# Disks that refuse


@pytest.mark.parametrize("folder", ["/dev/null/cache", "a\0b"])
def test_a_bad_folder_is_one_warning_and_breaks_nothing(folder: str) -> None:
    message: list[str] = []
    made = Cache(folder, SERVER, message.append)
    made.mode = "read_write"
    for _ in range(3):
        made.keep("echo", {}, RESULT)
        made.keep("echo", {}, {"isError": True})
        assert made.find("echo", {}) is ABSENT
    (words,) = message
    assert words.startswith("results cannot be kept in the cache ")
    assert "\0" not in words


def test_a_folder_instead_of_a_file_is_a_warning_and_nothing_is_left_beside_it(
    tmp_path: Path,
) -> None:
    cache(tmp_path).keep("echo", {}, RESULT)
    file = kept_file(tmp_path)
    file.unlink()
    file.mkdir()
    message: list[str] = []
    made = Cache(str(tmp_path), SERVER, message.append)
    made.mode = "read_write"
    made.keep("echo", {}, RESULT)
    assert len(message) == 1
    assert list(tmp_path.iterdir()) == [file]
