"""Documentation that disagrees with the code fails here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcptest.core.diagnostics import CODES, render_diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.results import FAULTS, FINDINGS, ExitCode
from mcptest.core.text import CI_VARIABLES
from mcptest.formats.cases import EXTENSIONS
from mcptest.formats.conductor import load_conductor
from mcptest.formats.config import KEYS
from mcptest.matching.case_tags import TAG_NAMES
from mcptest.matching.registry import builtin_registry
from tools.generate_docs import PAGES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES_BY_HAND = sorted(
    path
    for path in [
        *ROOT.glob("*.md"),
        *DOCS.rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / "sdks").glob("*/README.md"),
    ]
    # Those of installed packages are not ours.
    if "node_modules" not in path.parts
)


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_code_says_now(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name]()


def test_every_code_has_its_section_and_no_section_is_about_another() -> None:
    sections = re.findall(r"^## ([FW]\d+): (.+)$", page("errors.md"), re.MULTILINE)
    assert sections == list(CODES.items())


def test_every_config_key_is_in_the_table() -> None:
    assert re.findall(r"^\| `(\w+)` \|", page("config.md"), re.MULTILINE) == list(KEYS)


def test_every_tag_and_extension_of_case_files_is_in_its_table() -> None:
    page = (DOCS / "cases.md").read_text(encoding="utf-8")
    rows = "".join(re.findall(r"(?m)^\| ([^|]*) \|", page))
    assert [tag for tag in TAG_NAMES if f"`!!{tag}" not in rows] == []
    assert [key for key in EXTENSIONS if f"`{key}`" not in rows] == []


def test_every_variable_that_means_ci_is_in_the_page_on_snapshots() -> None:
    section = page("snapshots.md").partition("## In CI")[2].partition("\n## ")[0]
    listed = section.split("\n\n")[2]
    assert re.findall(r"`(\w+)`", listed) == list(CI_VARIABLES)


def test_every_exit_code_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", readme, re.MULTILINE)]
    assert codes == [code.value for code in ExitCode]


def kinds_in_table(text: str) -> set[str]:
    cells = re.findall(r"^\| (`[a-z_`, ]+`) \|", text, re.MULTILINE)
    return {kind for cell in cells for kind in re.findall(r"`([a-z_]+)`", cell)}


def test_every_kind_of_fault_and_finding_is_in_its_table() -> None:
    faults, findings = page("faults.md").split("## Findings")
    assert kinds_in_table(faults) == FAULTS
    assert kinds_in_table(findings) == FINDINGS


def test_no_kind_is_used_that_is_not_in_the_list() -> None:
    sources = (ROOT / "src" / "mcptest").rglob("*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    used = set(re.findall(r'(?:\bFault|but)\(\s*kind="([a-z_]+)"', text))
    added = set(re.findall(r'(?:findings|self)\.add\(\s*"([a-z_]+)",', text))
    carried = set(re.findall(r'TransportFault\(\s*kind="([a-z_]+)"', text))
    assert used - FAULTS == set()
    assert added - FINDINGS == set()
    assert carried - FAULTS - FINDINGS == set()


@pytest.mark.parametrize("path", PAGES_BY_HAND, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_decision_is_in_the_list_with_its_title() -> None:
    pages = sorted((DOCS / "decisions").glob("0*.md"))
    titles = [path.read_text(encoding="utf-8").partition("\n")[0][2:] for path in pages]
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", page("decisions/README.md"), re.MULTILINE)
    assert listed == [(title, path.name) for title, path in zip(titles, pages, strict=True)]


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 170


def blocks(text: str) -> list[str]:
    return re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_failure_in_the_readme_is_the_one_the_example_shows() -> None:
    shown = blocks((ROOT / "README.md").read_text(encoding="utf-8"))[0]
    real = (ROOT / "examples" / "failing" / "expected-output.txt").read_text(encoding="utf-8")
    body = shown.partition("\n")[2]
    assert body.strip()
    assert body in real


def test_the_mistake_in_the_readme_is_quoted_exactly(tmp_path: Path) -> None:
    shown = blocks((ROOT / "README.md").read_text(encoding="utf-8"))[1]
    request = "    request: {jsonrpc: '2.0', id: 1, method: a}\n"
    head = "description: a\ntests:\n  - it: b\n" + request + "    expect:\n      response:\n"
    text = head + "\n" * 7 + '            text: "match:containz:sunny"\n'
    with pytest.raises(FormatError) as caught:
        load_conductor(text, "weather.test.mcp.yml", builtin_registry(), {})
    assert [render_diagnostic(found) + "\n" for found in caught.value.diagnostics] == [shown]
