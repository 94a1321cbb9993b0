"""Uploads: everything is delivered once, and what cannot be delivered stays."""

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

from mcptest.coprocess.uploads import UploadError, Uploads, read_target
from mcptest.transport.http.probe import post

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_S = 20.0


@contextlib.contextmanager
def talking(said: bytes, *, then_silent: bool = False) -> Iterator[str]:
    """A server on loopback that sends these bytes to every client."""
    listener = socket.create_server(("127.0.0.1", 0))
    is_over = threading.Event()

    def serve() -> None:
        caller, _ = listener.accept()
        caller.settimeout(PATIENCE_S)
        with caller, contextlib.suppress(OSError):
            caller.sendall(said)
            if then_silent:
                is_over.wait(PATIENCE_S)
            # Closing with unread input resets the connection.
            caller.shutdown(socket.SHUT_WR)
            while caller.recv(1 << 16):
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        is_over.set()
        thread.join(PATIENCE_S)
        listener.close()


def uploads(target: str, *records: dict[str, Any]) -> Uploads:
    made = Uploads(post)
    made.target, made.is_enabled = read_target(target), True
    for record in records:
        made.add(record)
    return made


def refused(made: Uploads, patience_s: float = PATIENCE_S) -> str:
    with pytest.raises(UploadError) as caught:
        made.flush(patience_s)
    return str(caught.value)


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


# The queue


def test_nothing_is_queued_while_uploads_are_off(tmp_path: Path) -> None:
    made = uploads(f"file:{tmp_path}/a")
    made.is_enabled = False
    made.add({"n": 1})
    assert (len(made), made.flush()) == (0, 0)
    assert not (tmp_path / "a").exists()


def test_without_a_target_nothing_has_to_be_delivered() -> None:
    assert Uploads(post).flush() == 0


def test_queued_records_are_delivered_even_if_uploads_were_switched_off(tmp_path: Path) -> None:
    made = uploads(f"file:{tmp_path}/a", {"n": 1})
    made.is_enabled = False
    assert made.flush() == 1
    assert lines_of(tmp_path / "a") == [{"n": 1}]


# Files


def test_a_file_gets_one_line_for_each_record_after_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "calls.ndjson"
    file.write_text('{"old":1}\n', encoding="utf-8")
    made = uploads(f"file:{file}", {"text": "ü\n\u2028"}, {"n": 2})
    assert made.flush() == 2
    assert made.flush() == 0
    made.add({"n": 3})
    assert made.flush() == 1
    assert lines_of(file) == [{"old": 1}, {"text": "ü\n\u2028"}, {"n": 2}, {"n": 3}]


def test_half_a_surrogate_pair_is_written_as_an_escape(tmp_path: Path) -> None:
    uploads(f"file:{tmp_path}/a", {"text": "\ud800"}).flush()
    assert (tmp_path / "a").read_bytes() == b'{"text":"\\ud800"}\n'


def test_a_folder_that_is_missing_loses_nothing(tmp_path: Path) -> None:
    made = uploads(f"file:{tmp_path}/no/a", {"n": 1}, {"n": 2})
    assert "No such file or directory" in refused(made)
    made.add({"n": 3})
    (tmp_path / "no").mkdir()
    assert made.flush() == 3
    assert lines_of(tmp_path / "no" / "a") == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_a_pipe_a_device_and_a_folder_are_not_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/full")
    for name in ("pipe", "link", "."):
        made = uploads(f"file:{tmp_path}/{name}", {"n": 1})
        assert "cannot write to file:" in refused(made)
        assert len(made) == 1


def test_a_link_out_of_its_folder_is_not_written_through(tmp_path: Path) -> None:
    folder, outside = tmp_path / "project", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("mine", encoding="utf-8")
    (folder / "out").symlink_to(outside)
    (folder / "in").symlink_to("calls.ndjson")
    assert "leads out of its folder" in refused(uploads(f"file:{folder}/out", {"n": 1}))
    assert outside.read_text(encoding="utf-8") == "mine"
    uploads(f"file:{folder}/in", {"n": 1}).flush()
    assert lines_of(folder / "calls.ndjson") == [{"n": 1}]


def test_unsent_records_are_not_kept_in_a_linked_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    for folder in (outside, project):
        folder.mkdir()
    (project / ".mcptest").symlink_to(outside)
    monkeypatch.chdir(project)
    message = uploads(f"file:{tmp_path}/no/a", {"n": 1}).finish()
    assert f"the link .mcptest leads out of this folder, to {outside}" in message
    assert list(outside.iterdir()) == []


def test_half_of_a_delivery_does_not_stay(tmp_path: Path) -> None:
    file = tmp_path / "calls.ndjson"
    file.write_text('{"old":1}\n', encoding="utf-8")
    made = uploads(f"file:{file}", {"text": "x" * 5000}, {"n": 2})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        words = refused(made)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert "File too large" in words
    assert lines_of(file) == [{"old": 1}]
    assert made.flush() == 2
    assert len(lines_of(file)) == 3


# HTTP


@pytest.mark.parametrize("status", [200, 201, 204])
def test_a_target_gets_all_records_in_one_post(status: int) -> None:
    with collecting(status) as collector:
        made = uploads(collector.target, {"n": 1}, {"text": "ü"})
        assert (made.flush(), made.flush()) == (2, 0)
    ((_, path, headers, body),) = collector.heard
    assert path == "/calls?run=1"
    assert headers["Content-Type"] == "application/x-ndjson"
    assert body == '{"n":1}\n{"text":"ü"}\n'.encode()


def test_a_failure_loses_nothing_and_a_success_doubles_nothing() -> None:
    with collecting(500, 503, 200) as collector:
        made = uploads(collector.target, {"n": 1})
        assert refused(made).endswith("answered with status 500")
        made.add({"n": 2})
        assert refused(made).endswith("answered with status 503")
        made.add({"n": 3})
        assert (made.flush(), made.flush()) == (3, 0)
        assert collector.accepted == [{"n": 1}, {"n": 2}, {"n": 3}]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with collecting(200) as elsewhere, collecting(status, Location=elsewhere.target) as collector:
        made = uploads(collector.target, {"n": 1})
        assert refused(made).endswith(f"answered with status {status}")
        assert (len(made), len(collector.heard), elsewhere.heard) == (1, 1, [])


@pytest.mark.parametrize("status", [400, 401, 404, 413])
def test_a_target_that_does_not_want_them_is_reported(status: int) -> None:
    with collecting(status) as collector:
        assert refused(uploads(collector.target, {})).endswith(f"answered with status {status}")


def test_a_target_that_does_not_listen_loses_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    made = uploads(f"http://127.0.0.1:{port}/", {"n": 1})
    assert refused(made).startswith(f"cannot reach http://127.0.0.1:{port}/: ")
    assert len(made) == 1


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "closed the connection without an answer"),
        (b"SSH-2.0-x\r\n\r\n", "does not begin like one of HTTP"),
        (b"HTTP/1.1 \xff\r\n\r\n", "does not begin like one of HTTP"),
        (b"HTTP/1.1 200", "closed the connection without an answer"),
        (b"HTTP/1.1 200 " + b"x" * 300_000, "headers of the answer are larger than"),
        (b"HTTP/1.1 " + b"2" * 5000 + b"\r\n\r\n", "does not begin like one of HTTP"),
        (b"HTTP/1.1 20\r\n\r\n", "does not begin like one of HTTP"),
        (b"HTTP/1.1 000\r\n\r\n", "does not begin like one of HTTP"),
    ],
)
def test_a_reply_that_is_not_http_loses_no_record(said: bytes, why: str) -> None:
    with talking(said) as target:
        made = uploads(target, {"n": 1})
        words = refused(made)
    assert words.startswith("cannot reach ")
    assert why in words
    assert len(made) == 1


def test_an_interim_answer_is_ignored() -> None:
    with talking(b"HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n") as target:
        assert uploads(target, {"n": 1}).flush() == 1


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 \r\n\r\n" * 3])
def test_a_target_that_never_answers_times_out(said: bytes) -> None:
    with talking(said, then_silent=True) as target:
        made = uploads(target, {"n": 1})
        assert refused(made, patience_s=0.2).startswith("cannot reach ")
        assert len(made) == 1


def test_a_secure_target_that_is_not_is_not_spoken_to_in_clear() -> None:
    with talking(b"HTTP/1.1 200 OK\r\n\r\n") as target:
        made = uploads(target.replace("http:", "https:"), {"n": 1})
        assert refused(made).startswith("cannot reach https://")


# What is left at the end is in test_coprocess_uploads_ending.py.
