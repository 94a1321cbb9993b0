"""Build the source distribution and the wheel, and try what users get: `./check package`.

The wheel is installed alone, with the newest and with the oldest dependencies that pyproject.toml
allows. The action, the workflows and the Dockerfile are linted, and pre-commit runs our hook.
`--built` tries what is in dist/ already; the release workflow does so with what it publishes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

from tools.action_steps import Job
from tools.environment import ROOT, lowest_pins

DIST = ROOT / "dist"
PROGRAMS = Path(sys.executable).parent
OLDEST_PYTEST = "pytest==8.2.0"

# What tools write into a source distribution.
GENERATED = ("PKG-INFO", "setup.cfg")
# These tests read everything that a source distribution must have: pages, examples, sources.
TESTS_OF_SOURCE = ("tests/test_docs.py", "tests/unit/explore", "tests/unit/matching")


def main(words: list[str]) -> int:
    if words not in ([], ["--built"]):
        print(__doc__, file=sys.stderr)
        return 2
    if not words:
        shutil.rmtree(DIST, ignore_errors=True)
        run([sys.executable, "-m", "build", "--outdir", str(DIST)])
    [wheel], [source] = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run([str(PROGRAMS / "twine"), "check", "--strict", str(wheel), str(source)])
    run([str(PROGRAMS / "check-wheel-contents"), str(wheel)])
    lint()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_source(source, folder / "source")
        try_wheel(wheel, folder / "newest", [], "pytest")
        try_wheel(wheel, folder / "lowest", lowest_pins(), OLDEST_PYTEST)
        try_action(folder / "action")
        try_hook(folder / "hook")
    print(f"built and tried: {wheel.name}, {source.name}")
    return 0


def run(command: list[str], cwd: Path = ROOT, **environment: str) -> None:
    """Run a program that must succeed."""
    print(f"-- {Path(command[0]).name} {' '.join(command[1:])}", flush=True)
    # Other programs may read files in the encoding of the system, and need not know better.
    inherited = {key: os.environ[key] for key in os.environ if key != "PYTHONWARNDEFAULTENCODING"}
    if subprocess.run(command, cwd=cwd, env=inherited | environment).returncode:
        raise SystemExit(f"that failed: {' '.join(command)}")


def lint() -> None:
    """Check what GitHub and Docker read against their schemas, and for what could be exploited."""
    checker = [str(PROGRAMS / "check-jsonschema"), "--builtin-schema"]
    workflows = sorted(map(str, (ROOT / ".github" / "workflows").glob("*.yml")))
    run([*checker, "vendor.github-workflows", *workflows])
    run([*checker, "vendor.github-actions", "action.yml"])
    run([str(PROGRAMS / "zizmor"), "--offline", "--no-progress", "--min-severity", "medium", "."])
    run([str(PROGRAMS / "hadolint"), "Dockerfile"])
    run([str(PROGRAMS / "pre-commit"), "validate-manifest", ".pre-commit-hooks.yaml"])


def check_source(archive: Path, folder: Path) -> None:
    """The source distribution has the files of the repository, no others, and its tests pass."""
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    [root] = folder.iterdir()
    found = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    found = {name for name in found if ".egg-info/" not in name and name not in GENERATED}
    if (ROOT / ".git").exists():
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        output = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout
        names = {name for name in output.decode().split("\0") if name}
        wanted = {name for name in names if (ROOT / name).is_file()}
        for name in sorted(wanted ^ found):
            print(f"{'not' if name in wanted else 'only'} in the source distribution: {name}")
        if wanted != found:
            raise SystemExit("the source distribution differs from the repository: see MANIFEST.in")
    pytest = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    run([*pytest, *TESTS_OF_SOURCE], root, PYTHONPATH=str(root / "src"))


def try_wheel(wheel: Path, folder: Path, pins: list[str], pytest: str) -> None:
    """Install the wheel alone, then do what the first pages of the documentation do."""
    environment, work = folder / "venv", folder / "work"
    venv.create(environment, with_pip=True)
    programs = environment / "bin"
    pip = [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, str(wheel), *pins])
    # Nothing of the repository is beside the examples.
    shutil.copytree(ROOT / "examples", work, ignore=shutil.ignore_patterns("sdks", "__pycache__"))
    mcptest, python = str(programs / "mcptest"), str(programs / "python")
    hints = ["--hints", "compliance/hints.yml", "--min-grade", "A+"]
    # HTML pages need assets, and grades profiles, which only a complete wheel has.
    for words in (
        ["--version"],
        ["schema", "-o", "suite.schema.json"],
        ["run", "filesystem", "--reporter", "html=report.html"],
        ["docs", "contract/library.cases.yaml", "-o", "library.html"],
        ["compliance", "run", *hints, "--", python, "compliance/clock_server.py"],
    ):
        run([mcptest, *words], work)
    # A new project, from its server to tests that pass.
    project = folder / "project"
    project.mkdir()
    shutil.copy(work / "filesystem" / "server.py", project)
    shutil.copytree(work / "filesystem" / "test-data", project / "test-data")
    run([mcptest, "init", "--", python, "server.py", "test-data"], project)
    run([mcptest, "validate"], project)
    run([mcptest, "run"], project)
    run([*pip, pytest])
    run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider"], work / "pytest")
    # Commands of the tutorial are those beside the Python that runs it, so the wheel's.
    run([python, "-m", "tools.run_pages", str(ROOT / "docs" / "tutorial.md")])


def try_action(folder: Path) -> None:
    """Install with the action, as in a job that has just checked out the repository."""
    job = Job(folder)
    job.outputs["steps.python.outputs.python-path"] = sys.executable
    shutil.copytree(ROOT / "examples" / "filesystem", job.workspace, dirs_exist_ok=True)
    for id in ("install", "run"):
        done = job.run_step(id)
        print(f"-- the step {id!r} of action.yml\n{done.stdout}{done.stderr}", flush=True)
        if done.returncode:
            raise SystemExit(f"the step {id!r} of action.yml ended with {done.returncode}")
    command = Path(job.path.read_text(encoding="utf-8").strip()) / "mcptest"
    run([str(command), "--version"], folder)


def try_hook(project: Path) -> None:
    """Let pre-commit install this repository, and use our hook on right and wrong files."""
    shutil.copytree(ROOT / "examples" / "filesystem", project)
    suite = "servers:\n  a: {command: [python3, server.py]}\ntools:\n  - {name: b, tool: c}\n"
    (project / "mcptest.yaml").write_text(suite, encoding="utf-8")
    (project / "wrong.test.mcp.yml").write_text("description: a\ntest: []\n", encoding="utf-8")
    (project / "other_test.yaml").write_text("of: another tool\n", encoding="utf-8")
    # Neither the settings nor the cache of the user.
    isolated = {"PRE_COMMIT_HOME": str(project / ".cache"), "GIT_CONFIG_GLOBAL": os.devnull}
    run(["git", "init", "--quiet"], project, **isolated)
    run(["git", "add", "."], project, **isolated)
    # It takes what is committed and what is changed, but not new files.
    command = [str(PROGRAMS / "pre-commit"), "try-repo", str(ROOT), "mcptest-validate"]
    print(f"-- {' '.join(command)}", flush=True)
    done = subprocess.run(
        [*command, "--all-files", "--color", "never"],
        cwd=project,
        env=os.environ | isolated,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    print(done.stdout)
    files = sorted(set(re.findall(r"[\w.]+\.ya?ml(?=:\d)", done.stdout)))
    if done.returncode != 1 or files != ["wrong.test.mcp.yml"]:
        raise SystemExit(f"the hook ended with {done.returncode} and mistakes in {files}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
