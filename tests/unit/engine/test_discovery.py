"""Which files a user means."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcptest.core.errors import FormatError, NothingSelectedError, UsageError
from mcptest.engine.test_files import find_config, find_test_files, read_now, read_text

FILES = (
    "a.test.mcp.yml",
    "b.test.mcp.yaml",
    "sub/c.test.mcp.yml",
    "sub/deep/d.test.mcp.yml",
    "sub/other.yml",
    "README.md",
    "node_modules/x/hidden.test.mcp.yml",
    ".git/hidden.test.mcp.yml",
    "__pycache__/hidden.test.mcp.yml",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


ALL = ["a.test.mcp.yml", "b.test.mcp.yaml", "sub/c.test.mcp.yml", "sub/deep/d.test.mcp.yml"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((), ALL),
        ((".",), ALL),
        (("sub",), ["sub/c.test.mcp.yml", "sub/deep/d.test.mcp.yml"]),
        (("sub/",), ["sub/c.test.mcp.yml", "sub/deep/d.test.mcp.yml"]),
        (("a.test.mcp.yml",), ["a.test.mcp.yml"]),
        (("./a.test.mcp.yml", "a.test.mcp.yml", "."), ALL),
        (("sub/other.yml",), ["sub/other.yml"]),
        (("*.test.mcp.yml",), ["a.test.mcp.yml"]),
        (("**/*.test.mcp.yml",), [ALL[0], *ALL[2:]]),
        (("**",), ALL),
        (("sub/*",), ALL[2:]),
        (("sub/*.yml",), ["sub/c.test.mcp.yml", "sub/other.yml"]),
        (("node_modules/*/*.yml",), ["node_modules/x/hidden.test.mcp.yml"]),
        (("sub/*/",), ["sub/deep/d.test.mcp.yml"]),
        (("sub/?.test.mcp.yml",), ["sub/c.test.mcp.yml"]),
        (("sub/[a-c].test.mcp.yml",), ["sub/c.test.mcp.yml"]),
        (("sub/[!z-].test.mcp.yml",), ["sub/c.test.mcp.yml"]),
        (("sub/[[&&c||].test.mcp.yml",), ["sub/c.test.mcp.yml"]),
    ],
)
@pytest.mark.usefixtures("folder")
def test_paths_folders_and_globs_become_files_sorted_and_once(
    arguments: tuple[str, ...], found: list[str]
) -> None:
    assert find_test_files(arguments) == found


@pytest.mark.parametrize("pattern", ["*.nope", "sub/other*.test.mcp.yml", "[!].yml", "[^]"])
@pytest.mark.usefixtures("folder")
def test_a_glob_that_matches_nothing_selects_nothing(pattern: str) -> None:
    endings = r"test files end in \.test\.mcp\.yml, _test\.yaml, \.cases\.yaml or mcptest\.yaml$"
    with pytest.raises(NothingSelectedError, match=endings):
        find_test_files([pattern])


def test_a_folder_without_test_files_selects_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NothingSelectedError) as caught:
        find_test_files([])
    message = str(caught.value)
    assert message.startswith("no test file found in this folder; test files end in ")
    assert message.endswith("; mcptest init and mcptest discover write a first one")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("{sub,one}/*.test.mcp.yml", '"sub/*.test.mcp.yml" "one/*.test.mcp.yml"'),
        ("{a,b}.test.mcp.yml", '"a.test.mcp.yml" "b.test.mcp.yml"'),
        ("{a,{b,c}}.yml", '"a.yml" "b.yml" "c.yml"'),
        ("{a,b}/{c,d}{e,f}.yml", '"a/ce.yml" "a/cf.yml" "a/de.yml" "a/df.yml" …'),
    ],
)
@pytest.mark.usefixtures("folder")
def test_braces_are_refused_with_the_patterns_they_mean(pattern: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_test_files(["a.test.mcp.yml", pattern])
    assert caught.value.message == f"braces are not supported in {pattern!r}"
    assert caught.value.help == f"name each of them, quoted separately: {words}"


def test_a_file_whose_name_has_braces_is_found(folder: Path) -> None:
    (folder / "{x,y}.test.mcp.yml").touch()
    assert find_test_files(["{x,y}.test.mcp.yml"]) == ["{x,y}.test.mcp.yml"]
    assert find_test_files(["*y}.test.mcp.yml"]) == ["{x,y}.test.mcp.yml"]


def test_a_file_whose_name_looks_like_a_glob_is_meant_itself(folder: Path) -> None:
    (folder / "x[1].test.mcp.yml").touch()
    assert find_test_files(["x[1].test.mcp.yml"]) == ["x[1].test.mcp.yml"]


# The config


def test_the_config_is_the_first_of_the_known_names(tmp_path: Path) -> None:
    assert find_config(str(tmp_path)) == ""
    for name in ("aegis.config.json", "mcptest.config.json", "conductor.config.json"):
        (tmp_path / name).touch()
        assert find_config(str(tmp_path)) == str(tmp_path / name)


def test_a_folder_of_that_name_is_not_a_config(tmp_path: Path) -> None:
    (tmp_path / "conductor.config.json").mkdir()
    assert find_config(str(tmp_path)) == ""


# Reading


def test_text_is_read_as_utf8_with_or_without_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfd\xc3\xa9j\xc3\xa0")
    assert read_text(str(path)) == "déjà"


def test_bytes_that_are_not_utf8_are_reported_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo \xff")
    with pytest.raises(FormatError) as caught:
        read_text(str(path))
    (found,) = caught.value.diagnostics
    assert (found.code, found.line, found.column, found.message) == (
        "F001",
        2,
        5,
        "it is not UTF-8: byte 0xff",
    )


def test_a_file_that_cannot_be_opened_is_reported_with_the_cause(tmp_path: Path) -> None:
    os.symlink(tmp_path / "nowhere", tmp_path / "dangling")
    with pytest.raises(FormatError) as caught:
        read_text(str(tmp_path / "dangling"))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("F001", "cannot read it: No such file or directory")


def test_a_folder_is_not_a_file_but_may_hold_the_config_that_is_meant(tmp_path: Path) -> None:
    for name, help in (("", ""), ("aegis.config.json", "the config in it is {}")):
        path = tmp_path / name
        path.touch()
        with pytest.raises(FormatError) as caught:
            read_text(str(tmp_path))
        (found,) = caught.value.diagnostics
        assert (found.code, found.message) == ("F001", "it is a folder")
        assert found.help == help.format(path)


def test_a_file_that_has_nothing_yet_is_not_waited_for() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with open(reader, "rb") as file, open(writer, "wb"), pytest.raises(BlockingIOError) as caught:
        read_now(file, 10)
    assert caught.value.strerror == "it is not a regular file"
