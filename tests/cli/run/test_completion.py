"""Scripts of `mcptest completion` work in real shells, and the manual page renders."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from console import PATIENCE_S, mcptest

from mcptest.cli.commands.registry import COMMANDS

ROOT = Path(__file__).parent.parent.parent.parent


def needs(program: str) -> str:
    found = shutil.which(program)
    if not found:
        pytest.skip(f"{program} is not installed")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for shell in ("bash", "zsh", "fish", "powershell"):
        ended = mcptest(tmp_path, "completion", shell)
        assert (ended.code, ended.err) == (0, "")
        (tmp_path / f"script.{shell}").write_text(ended.out, encoding="utf-8")
    return tmp_path


def ask(folder: Path, *command: str) -> list[str]:
    ended = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return ended.stdout.split("\n")[:-1]


def in_bash(folder: Path, *words: str) -> list[str]:
    script = (
        'source script.bash; COMP_WORDS=(mcptest "$@"); COMP_CWORD=$#; compopt() { :; }; '
        "_mcptest; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    found = ask(folder, needs("bash"), "--norc", "-c", script, "bash", *words)
    return [word for word in found if word]


def in_fish(folder: Path, *words: str) -> list[str]:
    script = "source script.fish; complete -C (string join ' ' -- mcptest $argv)"
    found = ask(folder, needs("fish"), "--no-config", "-c", script, *words)
    return [line.partition("\t")[0] for line in found]


@pytest.mark.parametrize("complete", [in_bash, in_fish])
def test_commands_options_and_values_are_completed(folder: Path, complete: object) -> None:
    assert callable(complete)
    assert set(complete(folder, "")) >= {*COMMANDS}
    assert complete(folder, "valid") == ["validate"]
    assert complete(folder, "run", "--max-f") == ["--max-failures"]
    assert set(complete(folder, "run", "--color", "")) == {"auto", "always", "never"}
    assert set(complete(folder, "run", "--reporter", "j")) == {"json", "junit"}
    assert complete(folder, "compliance", "run", "--min-g") == ["--min-grade"]
    assert "run" in complete(folder, "compliance", "")
    assert set(complete(folder, "list", "resource")) == {"resources", "resourceTemplates"}
    assert set(complete(folder, "completion", "")) == {"bash", "zsh", "fish", "powershell"}
    assert complete(folder, "help", "mig") == ["migrate"]


def test_files_are_completed_where_files_are_meant(folder: Path) -> None:
    assert in_fish(folder, "run", "script.f") == ["script.fish"]
    assert in_fish(folder, "run", "--config", "script.z") == ["script.zsh"]
    assert in_fish(folder, "run", "--tag", "script") == []


def test_zsh_completes_what_is_typed(folder: Path) -> None:
    typed = {
        "mcptest valid": "mcptest validate ",
        "mcptest run --max-f": "--max-failures",
        "mcptest run --color alw": "always",
        "mcptest run script.f": "script.fish",
    }
    zsh = needs("zsh")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ |= {"TERM": "dumb", "PS1": "> ", "HOME": str(folder)}
        os.execv(zsh, ["zsh", "-f", "-i"])
    try:
        setup = "autoload -U compinit; compinit -u -D; source ./script.zsh; echo rea''dy\n"
        os.write(terminal, setup.encode())
        read_until(terminal, "ready")
        for words, expected in typed.items():
            # Ctrl-U removes the line of the last one.
            os.write(terminal, f"\x15{words}\t".encode())
            read_until(terminal, expected)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def read_until(terminal: int, text: str) -> None:
    seen, deadline = "", time.monotonic() + PATIENCE_S
    while text not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"{text!r} did not appear in {seen!r}"
        # The terminal rings when there are several possibilities.
        seen += os.read(terminal, 4096).decode("utf-8", "replace").replace("\x07", "")


def test_scripts_have_no_mistakes_that_the_shell_finds(folder: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        if shutil.which(shell):
            subprocess.run([shell, "-n", f"script.{shell}"], cwd=folder, check=True, timeout=60)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "error: mcptest completion needs the name of a shell\n  help: there are: bash, zsh"),
        (("fsh",), "error: mcptest completion takes one of bash, zsh, fish, powershell, not 'fsh'"),
        (("bash", "zsh"), "error: mcptest completion takes one of bash, zsh, fish, powershell"),
    ],
)
def test_a_shell_must_be_named(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    ended = mcptest(tmp_path, "completion", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(message)


def test_the_manual_page_renders_without_warnings() -> None:
    page = str(ROOT / "docs" / "mcptest.1")
    words = [needs("groff"), "-ww", "-z", "-man", "-Tutf8", "-K", "utf8", page]
    ended = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
