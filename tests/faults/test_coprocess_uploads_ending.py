"""The last delivery: what is left is in a file first, and nothing is waited for for long."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from upload_target import collecting

from mcptest.coprocess.uploads import (
    LAST_PATIENCE_S,
    BadTargetError,
    UploadError,
    Uploads,
    read_target,
)
from mcptest.sdk import coprocess as _coprocess
from mcptest.transport.http.probe import post
from mcptest.transport.process.stopping import Grace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcptest.coprocess.stores import Post
    from mcptest.protocol.http_address import Address

PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the session is, and so where its file would be."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def uploads(target: str, *records: dict[str, Any], post: Post = post) -> Uploads:
    made = Uploads(post)
    made.target, made.is_enabled = read_target(target), True
    for record in records:
        made.add(record)
    return made


def unsent(folder: Path) -> list[Any]:
    """What is in the files for what was not delivered."""
    files = sorted((folder / ".mcptest" / "unsent").glob("*"))
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    return [json.loads(line) for line in text.split("\n")[:-1]]


# Save first, remove after delivery


def test_remaining_records_are_in_a_file_before_the_last_delivery_is_tried(folder: Path) -> None:
    seen: list[Any] = []

    def look(address: Address, content_type: str, body: bytes, deadline: float) -> int:
        seen.append(unsent(folder))
        return 200

    made = uploads("https://example.com/", {"n": 1}, {"n": 2}, post=look)
    assert made.finish() == ""
    assert seen == [[{"n": 1}, {"n": 2}]]
    assert list(folder.iterdir()) == [], "delivered is not unsent"


def test_records_saved_early_are_saved_once_and_removed_after_delivery(
    folder: Path,
) -> None:
    with collecting(200) as collector:
        made = uploads(collector.target, {"n": 1})
        made.save()
        assert unsent(folder) == [{"n": 1}]
        made.save()
        assert unsent(folder) == [{"n": 1}]
        assert made.finish() == ""
        assert collector.accepted == [{"n": 1}]
    assert list(folder.iterdir()) == []


def test_undelivered_records_stay_in_the_file_that_is_named(folder: Path) -> None:
    made = uploads(f"file:{folder}/no/a", {"n": 1}, {"n": 2})
    words = made.finish()
    assert words.startswith("2 calls not uploaded: cannot write to file:")
    kept = folder / words.rpartition(" is in ")[2]
    assert kept.read_text(encoding="utf-8") == '{"n":1}\n{"n":2}\n'


def test_without_anything_queued_no_file_is_made(folder: Path) -> None:
    made = uploads("https://example.com/")
    made.save()
    assert made.finish() == ""
    assert list(folder.iterdir()) == []


def test_files_and_folders_of_others_stay(folder: Path) -> None:
    (folder / ".mcptest").mkdir()
    assert uploads(f"file:{folder}/a", {"n": 1}).finish() == ""
    assert list((folder / ".mcptest").iterdir()) == []
    (folder / ".mcptest" / "unsent").mkdir()
    other = folder / ".mcptest" / "unsent" / "other.ndjson"
    other.touch()
    assert uploads(f"file:{folder}/a", {"n": 2}).finish() == ""
    assert list((folder / ".mcptest" / "unsent").iterdir()) == [other]


def test_two_sessions_at_the_same_moment_have_a_file_each(folder: Path) -> None:
    for number in range(5):
        uploads(f"file:{folder}/no/a", {"n": number}).finish()
    assert sorted(record["n"] for record in unsent(folder)) == [0, 1, 2, 3, 4]


def test_a_folder_that_is_removed_meanwhile_is_created_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    makedirs = os.makedirs
    removed: list[str] = []

    def make(path: str, exist_ok: bool) -> None:
        makedirs(path, exist_ok=exist_ok)
        if not removed:
            removed.append(path)
            os.rmdir(path)

    monkeypatch.setattr(os, "makedirs", make)
    made = uploads("https://example.com/", {"n": 1})
    made.save()
    assert unsent(folder) == [{"n": 1}]


# Nothing can be written


def test_records_that_can_be_neither_delivered_nor_written_are_reported(folder: Path) -> None:
    (folder / ".mcptest").touch()
    words = uploads(f"file:{folder}/no/a", {"n": 1}).finish()
    assert words.startswith("1 call lost: cannot write to file:")
    assert "cannot be written: " in words
    assert (folder / ".mcptest").is_file()


def test_it_is_delivered_even_if_no_file_can_be_written(folder: Path) -> None:
    (folder / ".mcptest").touch()
    assert uploads(f"file:{folder}/a", {"n": 1}).finish() == ""
    assert (folder / "a").read_text(encoding="utf-8") == '{"n":1}\n'


def test_half_a_file_does_not_stay(folder: Path) -> None:
    made = uploads(f"file:{folder}/no/a", {"text": "x" * 5000})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        words = made.finish()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert words.endswith("cannot be written: File too large")
    assert list(folder.iterdir()) == []


# No wait is long


def test_all_waits_at_the_end_are_well_below_what_an_sdk_waits() -> None:
    grace = Grace()
    stubborn_s = grace.stdin_s + grace.term_s + grace.linger_s
    assert stubborn_s + LAST_PATIENCE_S < _coprocess._SHUTDOWN_S - 2


@pytest.fixture
def silent_resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Name lookups never end."""
    is_over = threading.Event()

    def look(*_: object, **__: object) -> list[Any]:
        is_over.wait(PATIENCE_S)
        raise socket.gaierror(socket.EAI_AGAIN, "nobody knows")

    monkeypatch.setattr(socket, "getaddrinfo", look)
    yield
    is_over.set()


@pytest.mark.usefixtures("silent_resolver")
def test_a_name_lookup_that_never_ends_is_abandoned_and_nothing_is_lost(folder: Path) -> None:
    made = uploads("https://collector.example.com/calls", {"n": 1})
    with pytest.raises(UploadError, match="its name was not looked up in time"):
        made.flush(0.05)
    assert len(made) == 1
    words = made.finish(0.05)
    assert words.startswith("1 call not uploaded: cannot reach https://collector.example.com/")
    assert unsent(folder) == [{"n": 1}]


@pytest.mark.usefixtures("silent_resolver")
def test_this_machine_is_not_looked_up() -> None:
    with collecting(200) as collector:
        made = uploads(collector.target.replace("127.0.0.1", "localhost"), {"n": 1})
        assert made.flush() == 1


def test_an_unknown_host_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object, **__: object) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "nobody knows")

    monkeypatch.setattr(socket, "getaddrinfo", look)
    words = uploads("https://example.com/", {"n": 1}).finish()
    why = "the host 'example.com' cannot be looked up: nobody knows"
    assert f"cannot reach https://example.com/: {why}" in words


@pytest.mark.parametrize("host", ["a..b", "x" * 5000])
def test_an_invalid_host_is_reported(host: str) -> None:
    assert "cannot reach https://" in uploads(f"https://{host}/", {"n": 1}).finish(PATIENCE_S)


@contextlib.contextmanager
def deaf() -> Iterator[str]:
    """A server on loopback that accepts and never reads."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


def test_a_target_that_does_not_read_everything_times_out() -> None:
    with deaf() as target:
        made = uploads(target, {"text": "x" * 20_000_000})
        with pytest.raises(UploadError, match=r"cannot reach .*it did not take everything in time"):
            made.flush(0.2)
        assert len(made) == 1


# Addresses


def test_an_address_that_cannot_be_reached_loses_nothing() -> None:
    made = uploads("https://[2001:db8::abcd]/x", {"n": 1})
    with pytest.raises(UploadError, match=r"cannot reach https://\[2001:db8::abcd\]/x: "):
        made.flush(0.2)
    assert len(made) == 1


@pytest.mark.parametrize(
    "target",
    [
        "https://[fe80::1%25eth0]/",
        "https://[fe80::1%eth0]/",
        "http://[::1%25lo]/",
        "https://example.com%2f/",
        "https://[v1.example]/",
        # These would be looked up like names.
        "http://127.999.1.1/",
        "http://127.0.0.0001/",
    ],
)
def test_zones_and_what_is_not_an_address_are_bad_targets(target: str) -> None:
    with pytest.raises(BadTargetError):
        read_target(target)
