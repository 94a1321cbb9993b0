"""Make the pictures of the documentation: `python -m tools.screenshots`.

Pictures of a terminal are SVG files, made from what a command writes. The picture of the HTML
report is made by a headless Chromium. Run it again when what they show has changed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from tools.environment import ROOT, find_browser
from tools.run_pages import COLUMNS, DOCS, copy_file, render, run_in_terminal

IMAGES = DOCS / "images"

# Pictures of a terminal: the command, and the files that it needs with the pages that have them.
TERMINALS = {
    "run.svg": ("mcptest run", {"server.py": "tutorial.md", "words.test.mcp.yml": "index.md"}),
    "list.svg": ("mcptest list -- python3 server.py", {"server.py": "tutorial.md"}),
}
# The report is about these examples.
REPORT = "html-report.png"
REPORTED = ("failing", "filesystem", "notes")
REPORT_SIZE = (1200, 760)

BROWSER_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
BROWSER_PATIENCE_S = 60

# A terminal: colours of the foreground by their number, sizes in pixels.
BACKGROUND, FOREGROUND = "#16181d", "#d6d9df"
COLOURS = {
    "31": "#ff7b72",
    "32": "#56d364",
    "33": "#e3b341",
    "34": "#79c0ff",
    "35": "#d2a8ff",
    "36": "#56d4dd",
    "90": "#8b949e",
}
BOLD, FAINT = "1", "2"
CELL, LINE, MARGIN = 8.4, 20, 20
STYLE = re.compile(r"\x1b\[([\d;]*)m")
OTHER_CONTROL = re.compile(r"\x1b\[[\d;?]*[A-Za-ln-z]")


def main() -> int:
    IMAGES.mkdir(exist_ok=True)
    for name in TERMINALS:
        (IMAGES / name).write_text(picture_terminal(name), encoding="utf-8")
        print(IMAGES / name)
    browser = find_browser()
    if browser is None:
        print(f"no browser: {REPORT} is as it was", file=sys.stderr)
        return 1
    picture_report(browser)
    print(IMAGES / REPORT)
    return 0


def picture_terminal(name: str) -> str:
    command, files = TERMINALS[name]
    with tempfile.TemporaryDirectory() as folder:
        for file, page in files.items():
            copy_file(file, (DOCS / page).read_text(encoding="utf-8"), Path(folder))
        _, received = run_in_terminal(command, Path(folder), {})
    shown = render(OTHER_CONTROL.sub("", received)).rstrip("\n")
    return draw_terminal(shown)


def draw_terminal(text: str) -> str:
    """An SVG file that shows a text with escape sequences for colours."""
    lines = text.split("\n")
    width, height = COLUMNS * CELL + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"'
        f' width="{width:g}" height="{height:g}"'
        ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"'
        f' font-size="14" fill="{FOREGROUND}">',
        f'<rect width="100%" height="100%" rx="10" fill="{BACKGROUND}"/>',
    ]
    styles: set[str] = set()
    for row, line in enumerate(lines):
        column = 0
        # Pieces of text and, between them, styles.
        for at, piece in enumerate(STYLE.split(line)):
            if at % 2:
                for code in piece.split(";"):
                    styles = set() if code in ("", "0") else _change(styles, code)
            elif piece.strip():
                parts.append(_draw_text(piece, row, column, styles))
            column += 0 if at % 2 else len(piece)
    return "\n".join([*parts, "</svg>\n"])


def _change(styles: set[str], code: str) -> set[str]:
    if code == "22":
        return styles - {BOLD, FAINT}
    if code == "39":
        return styles & {BOLD, FAINT}
    if code in COLOURS:
        return (styles & {BOLD, FAINT}) | {code}
    return styles | {code}


def _draw_text(piece: str, row: int, column: int, styles: set[str]) -> str:
    indent = len(piece) - len(piece.lstrip())
    # No-break spaces: SVG shows several others as one.
    words = piece.strip().replace(" ", "\N{NO-BREAK SPACE}")
    x, y = MARGIN + (column + indent) * CELL, MARGIN + row * LINE + 15
    attributes = [f'x="{x:g}" y="{y:g}" textLength="{len(words) * CELL:g}"']
    attributes += [f'fill="{COLOURS[code]}"' for code in styles if code in COLOURS]
    attributes += ['font-weight="bold"'] * (BOLD in styles)
    attributes += ['opacity="0.65"'] * (FAINT in styles)
    return f"<text {' '.join(attributes)}>{escape(words, quote=False)}</text>"


def picture_report(browser: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        names = " ".join(REPORTED)
        run_in_terminal(f"mcptest run {names} --reporter html={report}", ROOT / "examples", {})
        width, height = REPORT_SIZE
        command = [
            browser,
            *BROWSER_FLAGS,
            f"--user-data-dir={folder}/profile",
            f"--window-size={width},{height}",
            f"--screenshot={IMAGES / REPORT}",
            report.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=BROWSER_PATIENCE_S)


if __name__ == "__main__":
    sys.exit(main())
