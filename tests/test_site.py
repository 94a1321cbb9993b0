"""The parts of tools.site that `./check docs` has no occasion to fail with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcptest.core.project import REPOSITORY, SITE
from tools import screenshots, site
from tools.run_pages import DOCS, read_blocks


def test_the_site_has_the_addresses_of_the_project() -> None:
    config = site.CONFIG.read_text(encoding="utf-8")
    assert f"\nsite_url: {SITE}\n" in config
    assert f"\nrepo_url: {REPOSITORY}\n" in config


def test_links_that_leave_the_site_lead_to_the_repository() -> None:
    names = {"docs/cases.md": "cases.md", "ARCHITECTURE.md": "architecture.md"}
    text = (
        "[a](../ARCHITECTURE.md#map) [b](../examples/contract) [c](../tools/site.py) [d](gone.md)\n"
    )
    assert site.adapt_page(text, "docs/cases.md", names) == (
        "[a](architecture.md#map) "
        f"[b]({REPOSITORY}/tree/main/examples/contract) "
        f"[c]({REPOSITORY}/blob/main/tools/site.py) [d](gone.md)\n"
    )
    back = site.adapt_page("[a](docs/cases.md)\n", "ARCHITECTURE.md", names)
    assert back == "[a](cases.md)\n"


def test_code_is_not_changed_except_bars_in_tables() -> None:
    text = "```md\n[b](../examples)\n| `a\\|b` |\n```\n| `a\\|b` | c\\|d |\n"
    changed = text.replace("`a\\|b` | c", "`a|b` | c")
    assert site.adapt_page(text, "docs/cases.md", {"docs/cases.md": "cases.md"}) == changed


def test_pages_and_navigation_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "SOURCE", tmp_path)
    pages = site.write_source()
    assert list(site.check_navigation(pages)) == []
    added = {**pages, "lost.md": "docs/lost.md"}
    del added["cases.md"]
    assert list(site.check_navigation(added)) == [
        "docs/lost.md: not in the nav of mkdocs.yml",
        "mkdocs.yml: there is no page cases.md",
    ]


@pytest.fixture
def small_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with one page, and the folder that its source is in."""
    monkeypatch.setattr(site, "SITE", tmp_path / "site")
    monkeypatch.setattr(site, "SOURCE", tmp_path / "source")
    (tmp_path / "source").mkdir()
    (tmp_path / "site" / "a").mkdir(parents=True)
    (tmp_path / "source" / "a.md").write_text("# A\n\ntext\n- one\n- two\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="../b/">', "a/index.html: broken link ../b/"),
        ('<a href="#nowhere">', "a/index.html: no such heading: #nowhere"),
        ('<script src="https://example.org/a.js">', "fetches https://example.org/a.js"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "fetches //example.org/a.css"),
        ('<script src="gone.js">', "a/index.html: there is no gone.js"),
        ("<li>", "a.md: 1 <li> on the site, 2 on GitHub"),
    ],
)
def test_mistakes_in_a_built_page_are_reported(small_site: Path, body: str, problem: str) -> None:
    lists = "" if "<li>" in body else "<li><li>"
    html = f'<article><h1 id="a">A</h1><a href="#a">{lists}{body}</article>'
    (small_site / "site" / "a" / "index.html").write_text(html, encoding="utf-8")
    [found] = site.check_site({"a.md": "docs/a.md"})
    assert problem in found


def test_a_style_sheet_that_fetches_a_font_is_reported(small_site: Path) -> None:
    html = "<article><li><li></article>"
    (small_site / "site" / "a" / "index.html").write_text(html, encoding="utf-8")
    style = "@font-face { src: url(https://example.org/a.woff2) }"
    (small_site / "site" / "a.css").write_text(style, encoding="utf-8")
    [found] = site.check_site({"a.md": "docs/a.md"})
    assert found == "a.css: fetches https://example.org/a.woff2"


def test_everything_that_pictures_are_made_from_exists() -> None:
    for _, files in screenshots.TERMINALS.values():
        for name, page in files.items():
            text = (DOCS / page).read_text(encoding="utf-8")
            assert name in {block.title for block in read_blocks(text)}, f"{page} has no {name}"
    for example in screenshots.REPORTED:
        assert list((site.ROOT / "examples" / example).glob("*.test.mcp.yml"))


def test_every_picture_is_made_by_the_script_and_used_in_a_page() -> None:
    made = {*screenshots.TERMINALS, screenshots.REPORT}
    assert {path.name for path in screenshots.IMAGES.iterdir()} == made | {"logo.svg"}
    pages = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    assert [name for name in made if f"](images/{name})" not in pages] == []


@pytest.mark.parametrize("name", screenshots.TERMINALS)
def test_pictures_of_a_terminal_show_what_the_commands_write(name: str) -> None:
    def lines_of(picture: str) -> list[str]:
        shown = re.findall(r">([^<]*)</text>", picture)
        return [re.sub(r"(&lt;)?\d+\s(ms|s)\b", "TIME", text) for text in shown]

    stored = (screenshots.IMAGES / name).read_text(encoding="utf-8")
    made_now = screenshots.picture_terminal(name)
    assert lines_of(stored) == lines_of(made_now), "run python -m tools.screenshots"


def test_a_terminal_is_drawn_with_its_colours_and_columns() -> None:
    drawn = screenshots.draw_terminal("a  <b>\x1b[1;31m bold\x1b[0m")
    assert (
        '<text x="20" y="35" textLength="50.4">a\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}&lt;b&gt;<'
        in drawn
    )
    assert 'fill="#ff7b72" font-weight="bold">bold<' in drawn
