"""Build the documentation site in build/site: `python -m tools.site`.

Warnings are errors. Pages stay as GitHub shows them; links that leave docs/ are rewritten for the
site, and the built pages are checked: every page is in the navigation, every link and anchor leads
somewhere, nothing is fetched from elsewhere, and lists, tables and code are what GitHub shows.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from markdown_it import MarkdownIt

from mcptest.core.project import REPOSITORY
from tools.site_files import write_site_files

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "mkdocs.yml"
SOURCE = ROOT / "build" / "site-source"
SITE = ROOT / "build" / "site"

# Pages of the site that are not in docs/, and their names there.
OTHER_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "examples/README.md": "examples.md",
    "sdks/dotnet/README.md": "sdks/dotnet.md",
    "sdks/go/README.md": "sdks/go.md",
    "sdks/jvm/README.md": "sdks/jvm.md",
    "sdks/rust/mcptest-runner/README.md": "sdks/rust.md",
    "sdks/typescript/README.md": "sdks/typescript.md",
}

FENCE = re.compile(r"^ *(```|~~~)")
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")
REMOTE_STYLE = re.compile(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)")
CODE_SPAN = re.compile(r"`[^`]+`")


def main() -> int:
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    pages = write_source()
    problems = list(check_navigation(pages))
    problems += build(pages) or check_site(pages)
    write_site_files(SITE)
    print("\n".join(problems) or f"{len(pages)} pages in {SITE.relative_to(ROOT)}")
    return 1 if problems else 0


# The source


def write_source() -> dict[str, str]:
    """Copy everything that belongs to the site; the pages, and their paths in the repository."""
    docs = ROOT / "docs"
    files = {str(path.relative_to(docs)): path for path in docs.rglob("*") if path.is_file()}
    files |= {name: ROOT / place for place, name in OTHER_PAGES.items()}
    names = {str(path.relative_to(ROOT)): name for name, path in files.items()}
    for name, path in files.items():
        target = SOURCE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            place = str(path.relative_to(ROOT))
            text = adapt_page(path.read_text(encoding="utf-8"), place, names)
            target.write_text(text, encoding="utf-8")
        else:
            shutil.copy(path, target)
    return {name: place for place, name in names.items() if name.endswith(".md")}


def adapt_page(text: str, place: str, names: dict[str, str]) -> str:
    """The text of a page for the site; `names` has the names of all files of the site."""

    def rewrite_link(match: re.Match[str]) -> str:
        target = os.path.normpath(Path(place).parent / match[2])
        if target in names:
            target = os.path.relpath(names[target], Path(names[place]).parent)
        elif (ROOT / target).exists():
            kind = "tree" if (ROOT / target).is_dir() else "blob"
            target = f"{REPOSITORY}/{kind}/main/{target}"
        else:
            target = match[2]
        return f"{match[1]}{target}{match[3]}"

    lines, is_code = [], False
    for line in text.splitlines():
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            line = LINK.sub(rewrite_link, line)
            if line.startswith("|"):
                # GitHub wants | escaped in the code of a table; Python-Markdown shows the \.
                line = CODE_SPAN.sub(lambda span: span[0].replace("\\|", "|"), line)
        lines.append(line)
    return "\n".join(lines) + "\n"


class _ConfigLoader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags for Python objects do not matter here."""


_ConfigLoader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def check_navigation(pages: dict[str, str]) -> Iterator[str]:
    # The loader only drops tags; it constructs no objects.
    config = yaml.load(CONFIG.read_text(encoding="utf-8"), _ConfigLoader)
    listed = list(_names_in(config["nav"]))
    for name in sorted(set(pages) - set(listed)):
        yield f"{pages[name]}: not in the nav of mkdocs.yml"
    for name in sorted(set(listed) - set(pages)):
        yield f"mkdocs.yml: there is no page {name}"
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield f"mkdocs.yml: {name} is in the nav twice"


def _names_in(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, list):
        for each in nav:
            yield from _names_in(each)
    elif isinstance(nav, dict):
        for each in nav.values():
            yield from _names_in(each)


# The built pages


def build(pages: dict[str, str]) -> list[str]:
    """Build the site; its warnings, one a line."""
    # The cache is cleared: Zensical repeats no warning about a page that it has there.
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    output = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)
    warnings = re.findall(r"Warning: (.+)\n.*\[ (.+?\.md)(:[\d:]+) \]", output)
    if done.returncode and not warnings:
        return [output]
    return [f"{pages[name]}{place}: {message}" for message, name, place in warnings]


class _Page(HTMLParser):
    """What one page links to, fetches and contains."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.resources: list[str] = []
        # How often each of these occurs in the article.
        self.counts = dict.fromkeys(("li", "table", "td", "pre", "img", "h2", "h3"), 0)
        self._article = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if "src" in values:
            self.resources.append(values["src"])
        if tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            self.resources.append(values.get("href", ""))
        self._article += tag == "article"
        if self._article and tag in self.counts:
            self.counts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self._article -= tag == "article"


def check_site(pages: dict[str, str]) -> Iterator[str]:
    built = {
        path: _Page(path.read_text(encoding="utf-8"))
        for path in SITE.rglob("*.html")
        if path.name != "404.html"
    }
    for path, page in built.items():
        name = path.relative_to(SITE)
        for link in page.links:
            yield from (f"{name}: {each}" for each in _check_link(path, link, built))
        for each in page.resources:
            if urlsplit(each).netloc:
                yield f"{name}: fetches {each}"
            elif not (path.parent / unquote(urlsplit(each).path)).exists():
                yield f"{name}: there is no {each}"
    for style in SITE.rglob("*.css"):
        for each in REMOTE_STYLE.findall(style.read_text(encoding="utf-8")):
            yield f"{style.relative_to(SITE)}: fetches {each}"
    for source in pages:
        yield from _compare_with_github(source, built)


def _check_link(path: Path, link: str, built: dict[Path, _Page]) -> Iterator[str]:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return
    target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
    if target.is_dir():
        target /= "index.html"
    anchor = unquote(parts.fragment)
    if not target.exists():
        yield f"broken link {link}"
    elif anchor and target in built and anchor not in built[target].anchors:
        yield f"no such heading: {link}"


def _compare_with_github(name: str, built: dict[Path, _Page]) -> Iterator[str]:
    """Python-Markdown and GitHub disagree about lists that follow text, and about indentation."""
    stem = name.removesuffix("README.md").removesuffix("index.md").removesuffix(".md")
    page = built[SITE / stem / "index.html"]
    renderer = MarkdownIt("commonmark", {"html": True}).enable("table")
    wanted = _Page(f"<article>{renderer.render((SOURCE / name).read_text('utf-8'))}</article>")
    for tag, count in wanted.counts.items():
        if page.counts[tag] != count:
            yield f"{name}: {page.counts[tag]} <{tag}> on the site, {count} on GitHub"


if __name__ == "__main__":
    sys.exit(main())
