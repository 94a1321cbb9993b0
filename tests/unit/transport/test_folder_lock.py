"""A folder is had by one at a time, and nobody waits for ever."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

import pytest

from mcptest.transport.files import locked

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_that_is_taken_stays_so_until_the_patience_is_over(tmp_path: Path) -> None:
    with locked(str(tmp_path), 0.0), pytest.raises(TimeoutError), locked(str(tmp_path), 0.05):
        pass


def test_it_is_free_again_afterwards_also_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(str(tmp_path), 0.0):
        raise KeyError
    with locked(str(tmp_path), 0.0):
        pass
    assert list(tmp_path.iterdir()) == []


def test_two_folders_are_two_locks(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with locked(str(tmp_path), 0.0), locked(str(tmp_path / "a"), 0.0):
        pass


def test_where_there_are_no_locks_it_goes_on_without(
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
