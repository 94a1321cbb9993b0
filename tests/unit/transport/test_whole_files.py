"""Files are replaced whole or not at all, and several of them together."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcptest.transport.files import replace_file, replace_files


def texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.iterdir())}


def refuse_to_replace(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Nothing new can take the place of this file any more."""
    real = os.replace

    def replace(source: str, target: str) -> None:
        if target == str(path) and source.endswith(".tmp"):
            raise PermissionError(1, "Operation not permitted", source)
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o640)
    replace_file(str(file), b"new")
    assert texts(tmp_path) == {"a": "new"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_that_the_user_gives_to_new_files(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("", encoding="utf-8")
    replace_file(str(tmp_path / "a"), b"new")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_what_has_the_name_of_our_temporary_file_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    planted = tmp_path / f"a.mcptest-{os.getpid()}.tmp"
    planted.symlink_to(tmp_path / "mine")
    replace_file(str(tmp_path / "a"), b"new")
    assert texts(tmp_path) == {"a": "new", planted.name: "mine", "mine": "mine"}


def test_several_files_are_written_together(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old", encoding="utf-8")
    replace_files({str(tmp_path / name): name.encode() for name in ("a", "b", "c")})
    assert texts(tmp_path) == {"a": "a", "b": "b", "c": "c"}


def test_when_one_cannot_be_made_none_is_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old", encoding="utf-8")
    lost = str(tmp_path / "none" / "b")
    with pytest.raises(FileNotFoundError) as caught:
        replace_files({str(tmp_path / "a"): b"new", lost: b"new"})
    assert caught.value.filename == lost
    assert texts(tmp_path) == {"a": "old"}


@pytest.mark.parametrize("has_links", [True, False])
@pytest.mark.parametrize("refused", ["a", "b", "c"])
def test_when_one_cannot_be_placed_all_are_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str, has_links: bool
) -> None:
    for name in ("a", "c"):
        (tmp_path / name).write_text("old", encoding="utf-8")
    refuse_to_replace(monkeypatch, tmp_path / refused)
    if not has_links:

        def link(source: str, target: str) -> None:
            # What a file system says that has no second names.
            raise (PermissionError if os.path.exists(source) else FileNotFoundError)(1, "no")

        monkeypatch.setattr(os, "link", link)
    with pytest.raises(PermissionError) as caught:
        replace_files({str(tmp_path / name): b"new" for name in ("a", "b", "c")})
    assert caught.value.filename == str(tmp_path / refused)
    assert texts(tmp_path) == {"a": "old", "c": "old"}


def test_of_no_files_nothing_comes(tmp_path: Path) -> None:
    replace_files({})
    assert texts(tmp_path) == {}
