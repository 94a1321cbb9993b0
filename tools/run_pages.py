"""Run the commands of documentation pages: `python -m tools.run_pages [--update] PAGE…`.

In a page that runs, all of it is run from top to bottom in an empty folder:

    ```python title="server.py"     a file; several blocks may write the same file
    ```diff title="server.py"       a change of that file
    ```sh                           commands; `# exits with 1` if one does not exit with 0
    ```text                         after commands: what they write, on a terminal of 80 columns

A line with only … stands for any lines, and durations are not compared. A block after the line
`<!-- not run -->` is not run. `<!-- begins with server.py of tutorial.md -->` copies that file from
another page, as it is at the end of it. `--update` writes the output into the page, except where
it has a ….
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from tools.environment import NODE_FOLDER

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOT_RUN = "<!-- not run -->\n"
BLOCK = re.compile(
    rf"(?P<not_run>^{NOT_RUN})?"
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"\n]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
BEGINS_WITH = re.compile(r"^<!-- begins with (\S+) of (\S+) -->$", re.MULTILINE)
EXIT_CODE = re.compile(r" +# exits with (\d+)$")
DURATION = re.compile(r"(<?\d+ ms|\d+(\.\d+)? s|\d+ m \d+ s)\b|\d+\.\d+s\b")
COLUMNS = 80
# The programs of this environment: mcptest, python3, pytest, aegis.
PROGRAMS = f"{Path(sys.executable).parent}:{NODE_FOLDER}/node_modules/.bin"


class PageError(Exception):
    """A page says what is not so."""


@dataclass(frozen=True)
class Block:
    language: str
    title: str
    text: str
    line: int
    span: tuple[int, int]


def read_blocks(page: str) -> list[Block]:
    """The blocks of a page that are run."""
    return [
        Block(
            match["language"],
            match["title"] or "",
            match["text"],
            page.count("\n", 0, match.start("text")),
            match.span("text"),
        )
        for match in BLOCK.finditer(page)
        if not match["not_run"]
    ]


def run_page(page: str, folder: Path) -> str:
    """Run everything in a page; the page with what its commands write now."""
    for name, other in BEGINS_WITH.findall(page):
        copy_file(name, (DOCS / other).read_text(encoding="utf-8"), folder)
    parts, end, output, is_output = [], 0, "", False
    for block in read_blocks(page):
        if block.title:
            change_file(block, folder / block.title)
        elif block.language == "sh":
            output = "".join(run_command(each, folder) for each in commands_of(block))
        elif block.language == "text" and is_output and not is_same(block.text, output):
            if "\n…\n" in f"\n{block.text}":
                raise PageError(f"line {block.line}: the output is now\n{output}")
            parts += [page[end : block.span[0]], output]
            end = block.span[1]
        is_output = block.language == "sh"
    return "".join([*parts, page[end:]])


def copy_file(name: str, page: str, folder: Path) -> None:
    """Write a file as it is at the end of another page."""
    for block in read_blocks(page):
        if block.title == name:
            change_file(block, folder / name)


def change_file(block: Block, path: Path) -> None:
    if block.language != "diff":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return
    lines = block.text.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    text = path.read_text(encoding="utf-8")
    if text.count(before) != 1:
        raise PageError(f"line {block.line}: this is not in {path.name} exactly once:\n{before}")
    path.write_text(text.replace(before, after), encoding="utf-8")


def commands_of(block: Block) -> list[str]:
    return [line for line in block.text.replace("\\\n", " ").splitlines() if line]


def run_command(line: str, folder: Path) -> str:
    """Run a command in a terminal without colours; what the terminal shows in the end."""
    match = EXIT_CODE.search(line)
    expected, command = (int(match[1]), line[: match.start()]) if match else (0, line)
    status, received = run_in_terminal(command, folder, {"NO_COLOR": "1"})
    output = render(re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", received))
    if status != expected:
        raise PageError(f"{line}\nexited with {status}:\n{output}")
    return output


def run_in_terminal(command: str, folder: Path, settings: dict[str, str]) -> tuple[int, str]:
    """Run a command in a terminal of 80 columns; its exit status and everything it wrote."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "PYTHON"))
        and name not in ("CI", "COLUMNS", "GITHUB_ACTIONS", "NO_COLOR")
    }
    environment |= {"TERM": "xterm", "LC_ALL": "C.UTF-8", **settings}
    environment["PATH"] = f"{PROGRAMS}:{os.environ['PATH']}"
    process = subprocess.Popen(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    received = bytearray()
    try:
        while chunk := os.read(ours, 65536):
            received += chunk
    except OSError:
        # Linux reports EIO when the last writer has closed the terminal.
        pass
    finally:
        os.close(ours)
    return process.wait(), received.decode("utf-8")


def render(received: str) -> str:
    """What a terminal shows of this: a line that was written over is what was written last."""
    lines = received.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rpartition("\r")[2].rstrip() for line in lines)


def is_same(shown: str, output: str) -> bool:
    """Whether a page shows this output, except for durations and what … stands for."""
    lines = DURATION.sub("~", shown).splitlines(keepends=True)
    pattern = "".join("(?:.*\n)*?" if line == "…\n" else re.escape(line) for line in lines)
    return re.fullmatch(pattern, DURATION.sub("~", output)) is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="write the output into the page")
    parser.add_argument("pages", nargs="+", type=Path)
    options = parser.parse_args()
    for path in options.pages:
        page = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            fresh = run_page(page, Path(folder))
        if fresh == page:
            print(f"{path}: up to date")
        elif options.update:
            path.write_text(fresh, encoding="utf-8")
            print(f"{path}: updated")
        else:
            print(
                "".join(unified_diff(page.splitlines(True), fresh.splitlines(True), "page", "now"))
            )
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
