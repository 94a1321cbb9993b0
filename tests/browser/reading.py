"""What every page of ours must be: readable in both colour schemes, on paper and on any screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from chromium import Tab

# The least contrast between a text and what is behind it, over all texts that can be seen.
CONTRASTS = """(() => {
    const parse = (text) => text.match(/[\\d.]+/g).map(Number);
    const part = (value) => {
        value /= 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    };
    const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    const behind = (node) => {
        for (let each = node; each; each = each.parentElement) {
            const colour = parse(getComputedStyle(each).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const node = texts.currentNode.parentElement;
        if (!texts.currentNode.data.trim() || !node.checkVisibility()) continue;
        const pair = [light(parse(getComputedStyle(node).color)), light(behind(node))];
        const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
        found.push([ratio, texts.currentNode.data.trim().slice(0, 40)]);
    }
    return found.filter(([ratio]) => ratio < 4.5);
})()"""


def show(tab: Tab, tmp_path: Path, page: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    tab.show(path)


def open_all(tab: Tab) -> None:
    tab.value("for (const each of document.querySelectorAll('details')) each.open = true")
    tab.settle()


def assert_fits(tab: Tab, width: int) -> None:
    """Nothing on an open page needs sideways scrolling."""
    open_all(tab)
    assert tab.value("document.documentElement.scrollWidth") == width


def assert_readable(tab: Tab, scheme: str, paper: dict[str, str]) -> None:
    """Every text on the open page has enough contrast in this colour scheme."""
    tab.prefer(scheme)
    open_all(tab)
    assert tab.value("getComputedStyle(document.body).backgroundColor") == paper[scheme]
    assert tab.value(CONTRASTS) == []


def assert_printed(tab: Tab, scheme: str, closed: str, blocks: str, control: str) -> None:
    """On paper what was closed is open, paper is white, and controls are left out."""
    assert not tab.value(f"document.querySelector({closed!r}).checkVisibility()")
    tab.prefer(scheme, "print")
    tab.settle()
    heights = f"Array.from(document.querySelectorAll({blocks!r}), each => each.offsetHeight)"
    assert min(tab.value(heights)) > 0
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.value(CONTRASTS) == []
    assert not tab.value(f"document.querySelector({control!r}).checkVisibility()")


def assert_named(tab: Tab, roles: set[str]) -> None:
    """Controls of these roles are there, and every control has a name for screen readers."""
    tab.ask("Accessibility.enable")
    nodes: list[dict[str, Any]] = tab.ask("Accessibility.getFullAXTree")["nodes"]
    controls = {*roles, "button", "link", "searchbox", "textbox"}
    used = [node for node in nodes if node.get("role", {}).get("value") in controls]
    assert {node["role"]["value"] for node in used} >= roles
    assert [node for node in used if not node.get("name", {}).get("value")] == []
