"""What does not go together with `--transport-matrix` is refused with a sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console import mcptest
from matrix_runs import AT_A_FREE_PORT, argv, matrix, server, write

if TYPE_CHECKING:
    from pathlib import Path

HTTP = ("--url", AT_A_FREE_PORT, "--http-command", server("http", "{port}"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--spec-version", "2025-11-25"), "--spec-version selects one revision"),
        (("--watch",), "--watch runs the tests affected by a change"),
        (("--update-snapshots",), "compares all runs with the same snapshots"),
        (("--force-update-snapshots",), "compares all runs with the same snapshots"),
    ],
)
def test_options_that_make_no_sense_with_it_are_refused(
    folder: Path, words: tuple[str, ...], sentence: str
) -> None:
    ended = matrix(folder, *words)
    assert (ended.code, sentence in ended.err, f"leave {words[0]} out" in ended.err) == (
        2,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (HTTP, "give both"),
        (("--transport-matrix", *HTTP[2:]), "give --url as well"),
        (("--transport-matrix", *HTTP[:2]), "nothing starts it"),
        (("--transport-matrix", *HTTP[:2], "--http-command", ""), "--http-command is empty"),
        (("--transport-matrix", *HTTP[:2], "--http-command", "'"), "cannot be split"),
        (("--transport-matrix", "--ca-file", "x"), "there is no file 'x'"),
        (("--transport-matrix", "--bearer-env", "PATH"), "give --url as well"),
        (("--transport-matrix", "--url", "here"), "is not the URL of a server"),
    ],
)
def test_half_of_an_http_side_is_refused(
    folder: Path, words: tuple[str, ...], sentence: str
) -> None:
    ended = mcptest(folder, "run", "--server-command", server("stdio"), *words)
    assert (ended.code, sentence in ended.err) == (2, True)


def test_no_server_at_all_is_still_a_usage_error(folder: Path) -> None:
    ended = mcptest(folder, "run", "--transport-matrix")
    assert (ended.code, "no server to test" in ended.err) == (2, True)


def test_several_servers_are_refused_by_name(tmp_path: Path) -> None:
    command = argv("stdio")
    tools = [{"name": name, "server": name, "tool": "greet"} for name in ("shop", "till")]
    servers = {"shop": {"command": command}, "till": {"command": [*command, "old"]}}
    suite = {"servers": servers, "tools": tools}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "run", "--transport-matrix")
    assert (ended.code, "these tests have 2: shop, till" in ended.err) == (2, True)
    assert mcptest(tmp_path, "run", "--transport-matrix", "-k", "shop").code == 0


def test_the_help_shows_how(tmp_path: Path) -> None:
    shown = mcptest(tmp_path, "run", "--help").out
    assert "mcptest run tests/ --transport-matrix" in shown
    assert '--http-command "ARGV"' in shown
