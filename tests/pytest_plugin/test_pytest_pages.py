"""Every piece of code on the pages about Python and pytest, and the example they name."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from sessions import (
    Ended,
    call,
    pytest_in,
    run_as_is,
    text,
    write_conductor,
    write_suite,
)

import mcptest
from mcptest.sdk.client import AsyncClient, Client
from mcptest.sdk.expect import Verdict

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "pytest"
GUIDE = (ROOT / "docs" / "python-sdk.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def rows(page: str, heading: str) -> list[str]:
    """The first cells of the first table below a heading."""
    below = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| (`.*?`) \|", below, re.MULTILINE)


def run_program(folder: Path, program: str) -> Ended:
    shutil.copy(EXAMPLE / "shelf_server.py", folder)
    return run_as_is([sys.executable, "-c", program], folder)


# The guide

PROGRAMS = blocks(GUIDE, "python")
(TOLD,) = blocks(GUIDE, "text")


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_of_the_guide_does_what_it_says(tmp_path: Path, number: int) -> None:
    done = run_program(tmp_path, PROGRAMS[number])
    shows_failure = "dubliners" in PROGRAMS[number]
    assert (done.code, done.out) == (int(shows_failure), ""), done.err
    if shows_failure:
        assert done.err.endswith(TOLD)
    else:
        assert done.err == ""


def test_every_call_in_the_guide_is_there_twice() -> None:
    cells = re.findall(r"^\| (`.*?) \|", GUIDE.split("Methods of a connection:")[1], re.MULTILINE)
    named = {name for cell in cells[:11] for name in re.findall(r"`(\w+)[(`]", cell)}
    real = {name for name in vars(Client) if not name.startswith("_")}
    assert named == real
    assert named <= set(dir(AsyncClient))


def test_the_guide_names_every_field_of_a_verdict() -> None:
    assert [cell.strip("`") for cell in rows(GUIDE, "Verdicts")] == [
        *("success", "text", "data", "error", "duration_ms", "raw", "stderr", "progress")
    ]
    assert {cell.strip("`") for cell in rows(GUIDE, "Verdicts")} == set(Verdict._fields)


def test_the_guide_names_every_error() -> None:
    named = {cell.strip("`") for cell in rows(GUIDE, "Errors")}
    errors = {name for name in mcptest.__all__ if name.endswith("Error")}
    assert named == errors - {"CoprocessError", "BadExpectationError"}
    for name in named:
        assert issubclass(getattr(mcptest, name), mcptest.CoprocessError)


# The page about pytest


def test_the_example_passes_and_looks_as_the_page_says() -> None:
    ended = pytest_in(EXAMPLE, "-v")
    assert (ended.code, ended.summary) == (0, "8 passed"), ended.out
    shown = blocks(PAGE, "text")[0].splitlines()[1:]
    for line in shown:
        assert line in re.sub(r" +\[ *\d+%\]", "", ended.out).splitlines()


@pytest.mark.long
def test_the_example_is_found_from_elsewhere_when_mcptest_is_installed() -> None:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/pytest"]
    done = run_as_is([sys.executable, *words], ROOT)
    assert (done.code, done.err) == (0, ""), done.out
    assert "8 passed" in done.out


def test_the_failure_of_the_page_is_reported_in_these_words(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "shelf_server.py", tmp_path)
    (tmp_path / "wrong.test.mcp.yml").write_text(
        "description: a\n"
        "server: {name: shelf, command: python3, args: [shelf_server.py]}\n"
        "tests:\n"
        "  - it: puts a book on the shelf\n"
        "    tool: add_book\n"
        "    arguments: {title: Dubliners}\n"
        '    expect: {response: "match:type:object"}\n'
        "  - it: expects another book\n"
        "    tool: find_book\n"
        "    arguments: {id: 1}\n"
        "    expect: {response: {match:partial: {result: {content: [{text: dubliners}]}}}}\n",
        encoding="utf-8",
    )
    ended = pytest_in(tmp_path, env={"COLUMNS": "120"})
    shown = blocks(PAGE, "text")[1]
    real = re.sub(r"([_=])\1{10,}", "", ended.out)
    for line in re.sub(r"([_=])\1{10,}", "", shown).splitlines():
        assert line in real.splitlines(), line


def test_unsupported_parts_are_reported_in_these_words(tmp_path: Path) -> None:
    write_suite(tmp_path / "mcptest.yaml", agents=[{"name": "a", "prompt": "b"}])
    ended = pytest_in(tmp_path, "-rs", env={"COLUMNS": "200"})
    for line in blocks(PAGE, "text")[2].splitlines():
        assert line in ended.out.splitlines(), line


def test_the_fixtures_of_the_page_work(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "shelf_server.py", tmp_path)
    (program,) = blocks(PAGE, "python")
    (tmp_path / "test_page.py").write_text(program, encoding="utf-8")
    ended = pytest_in(tmp_path, "--mcp-server-command", "python3 shelf_server.py")
    assert (ended.code, ended.summary) == (0, "2 passed"), ended.out


def test_every_fixture_and_every_setting_is_on_the_page(tmp_path: Path) -> None:
    below = PAGE.split("\n## Fixtures\n")[1]
    ended = pytest_in(tmp_path, "--fixtures", "-q")
    fixtures = set(re.findall(r"^(mcp\w+)", ended.out, re.MULTILINE))
    cells = re.findall(r"^\| (`mcp\w+`(?:, `mcp\w+`)*) \|", below, re.MULTILINE)
    assert fixtures == set(re.findall(r"mcp\w+", " ".join(cells)))
    help = pytest_in(tmp_path, "--help").out
    settings = set(re.findall(r"^\| `(mcp_\w+) =", below, re.MULTILINE))
    assert settings == set(re.findall(r"^  (mcp_\w+) \(", help, re.MULTILINE))
    assert "--mcp-server-command=ARGV" in help


def test_the_words_for_xdist_are_its_own(tmp_path: Path) -> None:
    (local, _) = blocks(PAGE, "sh")
    words = local.split()[1:]
    write_conductor(tmp_path / "a.test.mcp.yml", call("counts", "count", text("1")))
    ended = pytest_in(tmp_path, *words, plugins=("xdist.plugin", "no:cacheprovider"))
    assert (ended.code, ended.summary) == (0, "1 passed")
