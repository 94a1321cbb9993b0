"""The page of a conformance run can be read on a wide and on a narrow screen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from chromium import Tab

pytest_plugins = ["browsing"]

SERVER = Path(__file__).parents[1] / "servers" / "conformance" / "reference_server.py"
# Cells of the table of all checks that have more than one line, except the last of each row.
BROKEN_CELLS = """Array.from(document.querySelectorAll(".results td:not(:last-child)"))
    .filter(each => {
        const text = document.createRange();
        text.selectNodeContents(each);
        return text.getClientRects().length > 1;
    }).length"""
# Neighbours in a row of which one covers the other.
COVERED_CELLS = """Array.from(document.querySelectorAll(".results tr")).flatMap(row => {
    const boxes = Array.from(row.cells, each => each.getBoundingClientRect());
    return boxes.slice(1).filter((box, at) => box.top < boxes[at].bottom - 1 &&
                                              box.left < boxes[at].right - 1);
}).length"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    words = ["--only", "BASE", "--format", "html", "-o", str(path)]
    server = ["--", sys.executable, str(SERVER), "--break", "BASE-18"]
    argv = [sys.executable, "-m", "mcptest", "compliance", "run", *words, *server]
    ended = subprocess.run(argv, timeout=60, check=False)
    assert ended.returncode == 1
    return path


@pytest.mark.long
@pytest.mark.parametrize("width", [1200, 480, 320])
def test_no_cell_is_broken_and_none_covers_another(tab: Tab, page: Path, width: int) -> None:
    tab.resize(width)
    tab.show(page)
    tab.value("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert tab.value("document.querySelectorAll('.results tr').length") > 40
    assert (tab.value(BROKEN_CELLS), tab.value(COVERED_CELLS)) == (0, 0)
    assert tab.value("document.documentElement.scrollWidth") <= width


def test_each_profile_has_a_line_of_its_own(tab: Tab, page: Path) -> None:
    tab.resize(1200)
    tab.show(page)
    values = "Array.from(document.querySelectorAll('.facts dd'), each => each.textContent)"
    profiles = [each.partition(" ")[0] for each in tab.value(values) if "sha256:" in each]
    assert profiles == ["2025-11-25.1", "2026-07-28.1"]
