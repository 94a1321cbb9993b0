"""Files are replaced whole or not at all, and a folder is locked by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from mcptest.core.errors import InterruptedRunError
from mcptest.transport.files import locked, replace_file
from mcptest.transport.process.signals import Interrupts


def texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.iterdir())}


def test_a_new_file_has_the_mode_that_the_user_gives_to_new_files(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("", encoding="utf-8")
    replace_file(str(tmp_path / "a"), b"new")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_foreign_file_with_the_name_of_our_temporary_file_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    planted = tmp_path / f"a.mcptest-{os.getpid()}.tmp"
    planted.symlink_to(tmp_path / "mine")
    replace_file(str(tmp_path / "a"), b"new")
    assert texts(tmp_path) == {"a": "new", planted.name: "mine", "mine": "mine"}


def test_when_it_cannot_be_made_the_error_names_the_file(tmp_path: Path) -> None:
    lost = str(tmp_path / "none" / "b")
    with pytest.raises(FileNotFoundError) as caught:
        replace_file(lost, b"new")
    assert caught.value.filename == lost


def test_if_it_cannot_be_moved_into_place_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("old", encoding="utf-8")

    def replace(source: str, target: str) -> None:
        raise PermissionError(1, "Operation not permitted", source)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(PermissionError) as caught:
        replace_file(str(tmp_path / "a"), b"new")
    assert caught.value.filename == str(tmp_path / "a")
    assert texts(tmp_path) == {"a": "old"}


# Locks


def test_a_folder_that_is_taken_stays_so_until_the_patience_is_over(tmp_path: Path) -> None:
    with locked(str(tmp_path), 0.0), pytest.raises(TimeoutError), locked(str(tmp_path), 0.05):
        pass


def test_a_signal_ends_the_wait_for_a_lock(tmp_path: Path) -> None:
    interrupts = Interrupts()
    interrupts.count = 1
    try:
        with (
            locked(str(tmp_path), 0.0),
            pytest.raises(InterruptedRunError),
            locked(str(tmp_path), 60.0, interrupts),
        ):
            pass
    finally:
        interrupts.close()


def test_the_lock_is_released_also_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(str(tmp_path), 0.0):
        raise KeyError
    with locked(str(tmp_path), 0.0):
        pass
    assert list(tmp_path.iterdir()) == []


def test_two_folders_are_two_locks(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with locked(str(tmp_path), 0.0), locked(str(tmp_path / "a"), 0.0):
        pass


def test_without_file_locks_it_continues_unlocked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, operation: int) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(str(tmp_path), 0.0):
        pass


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), locked(str(tmp_path / "none"), 0.0):
        pass
