"""How a recording reaches its file, and what becomes of it when it cannot."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from mcptest.transport.relay import CaptureFile, RelayCapture

if TYPE_CHECKING:
    from pathlib import Path

ASK = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
NEXT = b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


class Files:
    """A folder with an old capture, and the file of a new one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.target = folder / "s.json"
        self.part = folder / "s.json.part"
        self.target.write_text("old", encoding="utf-8")
        self.file = CaptureFile(str(self.target), str(self.part))

    @property
    def capture(self) -> Any:
        return json.loads(self.target.read_text(encoding="utf-8"))

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def completed_part(self) -> Any:
        return json.loads(self.part.read_text(encoding="utf-8") + "]}")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


# The file


def test_the_target_is_the_old_file_until_it_is_the_whole_new_one(files: Files) -> None:
    files.file.begin({"a": 1})
    files.file.append({"request": 1})
    files.file.append({"request": 2})
    files.file.flush()
    assert files.target.read_text(encoding="utf-8") == "old"
    files.file.complete({"b": 2})
    assert files.capture == {"a": 1, "exchanges": [{"request": 1}, {"request": 2}], "b": 2}
    assert files.names == ["s.json"]


def test_a_session_without_exchanges_is_a_capture_too(files: Files) -> None:
    files.file.begin({"a": 1})
    files.file.complete({"b": 2})
    assert files.capture == {"a": 1, "exchanges": [], "b": 2}


def test_only_its_owner_may_read_a_capture(files: Files) -> None:
    files.target.chmod(0o666)
    files.file.begin({"a": 1})
    files.file.complete({"b": 2})
    assert stat.S_IMODE(files.target.stat().st_mode) == 0o600


def test_every_character_is_written_in_a_form_that_can_be_read_and_shown(files: Files) -> None:
    files.file.begin({"a": "\ud800 \x9b \u202e \U0001f600 ü"})
    files.file.complete({"b": 2})
    assert files.capture["a"] == "\ud800 \x9b \u202e \U0001f600 ü"
    text = files.target.read_text(encoding="utf-8")
    assert "ü" in text
    assert "\x9b" not in text


def test_a_flushed_capture_lacks_only_its_end(files: Files) -> None:
    files.file.begin({"a": 1})
    files.file.append({"request": 1})
    files.file.flush()
    assert files.completed_part() == {"a": 1, "exchanges": [{"request": 1}]}


def test_an_abandoned_file_leaves_whole_exchanges(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.file.begin({"a": 1})
    files.file.append({"request": 1})
    files.file.flush()
    files.file.append({"request": "x" * 100})
    write = os.write

    def fill_up(fd: int, data: bytes) -> int:
        monkeypatch.setattr(os, "write", refuse)
        return write(fd, data[:20])

    def refuse(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", fill_up)
    with pytest.raises(OSError, match="No space"):
        files.file.flush()
    monkeypatch.undo()
    assert files.file.abandon() == str(files.part)
    assert files.completed_part() == {"a": 1, "exchanges": [{"request": 1}]}
    assert files.target.read_text(encoding="utf-8") == "old"


def test_a_file_that_is_abandoned_empty_leaves_nothing(files: Files) -> None:
    files.file.begin({"a": 1})
    assert files.file.abandon() == ""
    assert files.names == ["s.json"]


def test_a_partial_file_of_another_process_is_not_overwritten(files: Files) -> None:
    with pytest.raises(FileExistsError):
        CaptureFile(str(files.target), str(files.part))


# The recording


def test_a_recording_works_line_by_line_and_only_on_request(files: Files) -> None:
    recording = RelayCapture(files.file, "stdio://x")
    recording.pid = 42
    recording.add("client", ASK + NEXT[:10])
    recording.add("client", NEXT[10:])
    recording.add("server", ANSWER)
    assert [recording.is_owed, recording.work(), recording.is_owed] == [False, True, True]
    while recording.work():
        pass
    recording.finish("exit status 0")
    assert recording.problem == ""
    capture = files.capture
    assert capture["transport"] == f"stdio:42@{capture['started_at']}"
    assert (capture["server_label"], capture["exit_status"]) == ("stdio://x", "exit status 0")
    assert [sorted(each) for each in capture["exchanges"]] == [
        ["ms", "order", "request", "response"],
        ["ms", "order", "request"],
    ]


def test_unrecorded_messages_are_recorded_at_the_end(files: Files) -> None:
    recording = RelayCapture(files.file, "stdio://x")
    recording.add("server", b"hello\n")
    recording.add("client", ASK)
    recording.add("server", ANSWER[:-1])
    recording.finish("exit status 0")
    (exchange,) = files.capture["exchanges"]
    assert exchange["response"]["id"] == 1
    assert files.capture["prologue"]["noise"] == ["hello"]


def test_a_recording_says_when_it_is_far_behind(files: Files) -> None:
    recording = RelayCapture(files.file, "stdio://x")
    seen = []
    for size in (1000, 4_000_000):
        recording.add("server", b"x" * size + b"\n")
        seen.append(recording.is_behind)
    while recording.work():
        pass
    assert [*seen, recording.is_behind] == [False, True, False]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (RuntimeError("oh"), "a fault of mcptest: RuntimeError: oh"),
    ],
)
def test_an_error_while_recording_ends_only_the_recording(
    files: Files, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    recording = RelayCapture(files.file, "stdio://x")

    def refuse(exchange: object) -> None:
        raise error

    monkeypatch.setattr(files.file, "append", refuse)
    recording.add("client", ASK)
    recording.add("server", ANSWER)
    recording.add("client", NEXT)
    while recording.work():
        pass
    recording.add("client", NEXT)
    assert (recording.has_work, recording.is_behind, recording.is_owed) == (False, False, False)
    recording.finish("exit status 0")
    assert recording.problem.startswith(words)
    assert files.target.read_text(encoding="utf-8") == "old"


def test_secrets_are_blanked_in_what_the_session_says_of_itself(files: Files) -> None:
    recording = RelayCapture(files.file, "stdio://hush-hush", ["hush-hush"])
    recording.finish("exit status 0")
    assert files.capture["server_label"] == "stdio://[secret]"
