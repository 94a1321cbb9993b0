"""Make the virtual environment that `./try` and `./check` work in. Standard library only."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"

# Servers and suites nobody here wrote, to test against; only where there is npm.
NODE_PACKAGES = (
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
    "mcp-aegis",  # for its example suites and servers: the same format by other hands
)
NODE_FOLDER = VENV / "node"

MINIMUM = (3, 11)


def prepare(*, for_tests: bool) -> None:
    """Create or update the environment; quick when nothing has changed."""
    if sys.version_info < MINIMUM:
        wanted = ".".join(map(str, MINIMUM))
        raise SystemExit(
            f"mcptest needs Python {wanted} or newer; this is {sys.version.split()[0]}"
        )
    if not PYTHON.exists():
        _say("creating .venv")
        _run([sys.executable, "-m", "venv", str(VENV)])
    _install("tests" if for_tests else "use", [".[dev]" if for_tests else "."])
    if for_tests and shutil.which("npm"):
        _install_node_packages()


def _install(purpose: str, targets: list[str]) -> None:
    stamp = VENV / f".installed-for-{purpose}"
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    _say(f"installing what is needed for {purpose}")
    _run([str(PYTHON), "-m", "pip", "install", "--quiet", "--editable", *targets])
    stamp.write_text(wanted, encoding="utf-8")


def _install_node_packages() -> None:
    if all((NODE_FOLDER / "node_modules" / name).exists() for name in NODE_PACKAGES):
        return
    _say("installing servers from npm to test against")
    NODE_FOLDER.mkdir(exist_ok=True)
    npm = ["npm", "install", "--prefix", str(NODE_FOLDER), "--no-audit", "--no-fund", "--silent"]
    _run([*npm, *NODE_PACKAGES])


def _run(command: list[str]) -> None:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if subprocess.run(command, cwd=ROOT, env=environment).returncode:
        raise SystemExit(f"== that failed: {' '.join(command)}\n== is the package index in reach?")


def _say(what: str) -> None:
    print(f"== {what}", file=sys.stderr, flush=True)
