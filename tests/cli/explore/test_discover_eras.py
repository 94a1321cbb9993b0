"""`mcptest discover` of a server in one era: the file it writes is for the same era."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console import mcptest
from matrix_runs import AT_A_FREE_PORT, argv

from mcptest.formats.yaml import read_document

if TYPE_CHECKING:
    from pathlib import Path

STATELESS = "2026-07-28"


def discovered(folder: Path, *words: str) -> object:
    """The revision that the file asks for, which passes as it is."""
    ended = mcptest(folder, "discover", "-o", "a.test.mcp.yml", *words)
    assert ended.code == 0, ended.err
    again = mcptest(folder, "run", "a.test.mcp.yml", "--json")
    assert (again.code, again.report()["summary"]["failed"]) == (0, 0)
    text = (folder / "a.test.mcp.yml").read_text(encoding="utf-8")
    written = read_document(text, "a.test.mcp.yml").value
    assert isinstance(written, dict)
    return written["server"].get("protocolVersion")


@pytest.mark.parametrize("version", ["2025-11-25", STATELESS])
def test_a_pinned_revision_is_written_to_the_file(tmp_path: Path, version: str) -> None:
    words = ("--spec-version", version, "--", *argv("stdio"))
    assert discovered(tmp_path, *words) == version


def test_the_era_that_was_found_is_written_to_the_file(tmp_path: Path) -> None:
    assert discovered(tmp_path, "--", *argv("stdio", "no-handshake")) == STATELESS


def test_a_negotiated_revision_is_not_written(tmp_path: Path) -> None:
    assert discovered(tmp_path, "--", *argv("stdio")) is None


def test_a_pinned_revision_goes_before_that_of_the_config(tmp_path: Path) -> None:
    command, *args = argv("http", "{port}")
    config = {"name": "ways", "command": command, "args": args, "url": AT_A_FREE_PORT}
    text = json.dumps(config | {"protocolVersion": "2025-06-18"})
    (tmp_path / "conductor.config.json").write_text(text, encoding="utf-8")
    assert discovered(tmp_path, "--spec-version", STATELESS) == STATELESS
