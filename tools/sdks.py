"""Check the SDKs of other languages: build, lint, test, judge, compare, run the example, pack.

./check sdks                every SDK whose toolchain is there
./check sdks go rust        only these
./check sdks --oldest       those for Go and Rust, with the oldest versions that they promise
./check --every-sdk sdks    every SDK, and a toolchain that is missing is a failure

sdks/sdks.json has the commands. Standard library only.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.dotnet import find_dotnet
from tools.environment import PYTHON, ROOT, VENV

# A build on a busy machine that has nothing in its caches yet.
_PATIENCE_S = 900
# pytest judges this one.
_OWN = "python"


@dataclass
class Sdk:
    """One entry of sdks/sdks.json, and what became of it."""

    name: str
    entry: dict[str, Any]
    # Whether to use the oldest version of its toolchain, not the one that is there.
    is_oldest: bool = False
    version: str = ""
    native_tests: int = 0
    rows: int = 0
    beyond: int = 0
    verdicts: int = 0
    seconds: float = 0.0
    problem: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return ROOT / str(self.entry["folder"])


def check_sdks(names: list[str], *, is_every: bool = False, is_oldest: bool = False) -> int:
    """Check these SDKs, or all; return the exit status."""
    table = json.loads((ROOT / "sdks" / "sdks.json").read_text(encoding="utf-8"))
    if is_oldest:
        table = {name: entry for name, entry in table.items() if "oldest_by" in entry["toolchain"]}
    unknown = [name for name in names if name not in table]
    if unknown:
        with_what = " with --oldest" if is_oldest else ""
        known = ", ".join(table)
        print(f"there is no SDK {unknown[0]!r}{with_what}; there are: {known}", file=sys.stderr)
        return 2
    chosen = [
        Sdk(name, table[name], is_oldest=is_oldest)
        for name in names or table
        if names or name != _OWN
    ]
    # Alone, an SDK waits for processes most of the time and uses less than one core.
    with ThreadPoolExecutor(2) as pool:
        is_checked = list(pool.map(_check_if_possible, chosen))
    checked = [sdk for sdk, is_one in zip(chosen, is_checked, strict=True) if is_one]
    missing = [sdk for sdk in chosen if sdk not in checked]
    _print_table(checked)
    if missing:
        names = [sdk.name for sdk in missing]
        print(f"== sdks: {len(names)} not checked: {', '.join(names)}", flush=True)
    return 1 if (missing and is_every) or any(sdk.problem for sdk in checked) else 0


def _check_if_possible(sdk: Sdk) -> bool:
    """Check an SDK; False if it lacks its toolchain."""
    began = time.monotonic()
    reason = _find_toolchain(sdk)
    if reason:
        print(f"== sdks: {sdk.name}: not checked, {reason}", flush=True)
        return False
    print(f"== sdks: {sdk.name}: {sdk.version}", flush=True)
    _check(sdk)
    sdk.seconds = time.monotonic() - began
    if sdk.problem:
        print(f"== sdks: {sdk.name}: FAILED: {sdk.problem}", flush=True)
    return True


def _find_toolchain(sdk: Sdk) -> str:
    """Prepare to run the tools of an SDK; why that is impossible, "" if it is not."""
    tool = sdk.entry["toolchain"]
    command, oldest = _fill(sdk, tool["version"]), str(tool["oldest"])
    lacking = f"no {tool['name']} {oldest}{'' if sdk.is_oldest else ' or newer'} found"
    if sdk.is_oldest:
        sdk.environment.update(tool["oldest_by"])
    if tool["name"] == "dotnet":
        found = find_dotnet()
        if found is None:
            return lacking
        program, sdk.environment = found
        # So that the commands of the entry can say "dotnet".
        sdk.environment["PATH"] = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
    if not shutil.which(command[0], path=sdk.environment.get("PATH")):
        return lacking
    for program in {words[0] for words in sdk.entry.get("build", []) if "{" not in words[0]}:
        # A compiler may come without the tool that builds with it.
        if not shutil.which(program, path=sdk.environment.get("PATH")):
            return f"no {program} found"
    done = _run(sdk, command)
    match = re.search(r"\d+(\.\d+)*", done.stdout)
    if done.returncode or not match:
        return f"{lacking}: {' '.join(command)} does not work"
    sdk.version = f"{tool['name']} {match[0]}"
    numbers = [int(each) for each in match[0].split(".")]
    if numbers < [int(each) for each in oldest.split(".")]:
        return f"{lacking}: this is {match[0]}"
    if sdk.is_oldest and not f"{match[0]}.".startswith(f"{oldest}."):
        return f"{lacking}: this is {match[0]}"
    return ""


def _check(sdk: Sdk) -> None:
    """All steps, up to the first that fails."""
    steps: list[Callable[[Sdk], object]] = [
        lambda sdk: _run_all(sdk, "build"),
        lambda sdk: _run_all(sdk, "lint"),
        *(_test, _judge, _compare_verdicts),
        lambda sdk: _run_all(sdk, "example"),
        _pack,
    ]
    if sdk.is_oldest:
        # Linters have other opinions in each version; packages are made with the usual one.
        del steps[-1], steps[1]
    for step in steps:
        step(sdk)
        if sdk.problem:
            return


def _test(sdk: Sdk) -> None:
    """Run its native tests, and count them."""
    output = _run_all(sdk, "test")
    if sdk.problem or not sdk.entry["test"]:
        return
    sdk.native_tests = sum(map(int, re.findall(sdk.entry["count"], output)))
    if not sdk.native_tests:
        print(output, flush=True)
        sdk.problem = "no native test passed"


def _judge(sdk: Sdk) -> None:
    """Hold the SDK against every row of the kit."""
    done = _run(sdk, [str(PYTHON), str(ROOT / "tests" / "sdks" / "kit_judge.py"), sdk.name])
    match = re.search(r": (\d+) kit rows, (\d+) beyond its abilities$", done.stdout.strip())
    if done.returncode or not match:
        print(done.stdout + done.stderr, flush=True)
        sdk.problem = "it does not keep to the contract"
        return
    sdk.rows, sdk.beyond = int(match[1]), int(match[2])
    total = _run(sdk, [str(PYTHON), str(ROOT / "tests" / "sdks" / "kit_judge.py"), "--count"])
    if total.stdout.strip() != str(sdk.rows):
        sdk.problem = f"{sdk.rows} rows were judged, and the kit has {total.stdout.strip()}"


def _compare_verdicts(sdk: Sdk) -> None:
    """Compare what the test runners of the SDK say of our examples with what mcptest run says."""
    command = [str(PYTHON), str(ROOT / "tests" / "sdks" / "verdict_check.py")]
    with tempfile.TemporaryDirectory() as parent:
        folder = str(Path(parent) / "verdicts")
        done = _run(sdk, [*command, "--prepare", folder])
        if done.returncode:
            sdk.problem = _describe_failure(["mcptest", "run"], done)
            return
        done = _run(sdk, [*command, sdk.name, folder])
    *remarks, last = done.stdout.strip().splitlines() or [""]
    match = re.search(r": (\d+) verdicts of ", last)
    if done.returncode or not match:
        print(done.stdout + done.stderr, flush=True)
        sdk.problem = "its verdicts are not those of mcptest run"
        return
    sdk.verdicts = int(match[1])
    for remark in remarks:
        print(f"== sdks: {sdk.name}: verdicts: {remark}", flush=True)


def _pack(sdk: Sdk) -> None:
    """Make the package, if there is one, and compare what is in it."""
    entry = sdk.entry.get("package")
    if not entry:
        return
    folder = sdk.folder / entry["folder"]
    for old in folder.glob(entry["file"]):
        old.unlink()
    for command in entry["commands"]:
        done = _run(sdk, command)
        if done.returncode:
            sdk.problem = _describe_failure(command, done)
            return
    made = list(folder.glob(entry["file"]))
    if len(made) != 1:
        sdk.problem = f"packing made {len(made)} files like {entry['file']}, not one"
        return
    found, wanted = sorted(_files_in(made[0])), sorted(_fill(sdk, entry["holds"]))
    if found != wanted:
        surplus = sorted(set(found) - set(wanted))
        lacking = sorted(set(wanted) - set(found))
        sdk.problem = f"the package has {surplus} too much, and lacks {lacking}"


def _files_in(package: Path) -> list[str]:
    """The files of a package; names that differ from build to build are cut."""
    if package.name.endswith((".tgz", ".crate", ".tar.gz")):
        with tarfile.open(package) as packed:
            # Below the one folder that such packages have.
            return [each.name.partition("/")[2] for each in packed if each.isfile()]
    with zipfile.ZipFile(package) as packed:
        names = [name for name in packed.namelist() if not name.endswith("/")]
    return [re.sub(r"[0-9a-f]{32}(?=\.psmdcp$)", "*", name) for name in names]


def _run_all(sdk: Sdk, step: str) -> str:
    """The output of all commands of a step."""
    output = ""
    for command in sdk.entry.get(step, []):
        done = _run(sdk, command)
        output += done.stdout + done.stderr
        # gofmt -l lists what is wrong, and succeeds.
        is_list = step == "lint" and Path(command[0]).name == "gofmt"
        if done.returncode or (is_list and done.stdout.strip()):
            sdk.problem = _describe_failure(command, done)
            break
    return output


def _describe_failure(command: list[str], done: subprocess.CompletedProcess[str]) -> str:
    print(done.stdout + done.stderr, flush=True)
    return f"{' '.join(command)} ended with status {done.returncode}"


def _run(sdk: Sdk, command: list[str]) -> subprocess.CompletedProcess[str]:
    words = _fill(sdk, command)
    environment = {**os.environ, "MCPTEST_BIN": str(VENV / "bin" / "mcptest"), **sdk.environment}
    program = shutil.which(words[0], path=environment["PATH"]) or words[0]
    try:
        return subprocess.run(
            [program, *words[1:]],
            cwd=sdk.folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))


def _fill(sdk: Sdk, words: list[str]) -> list[str]:
    """The words with `{python}`, `{root}` and, for .NET, `{framework}` replaced."""
    values = {
        "{python}": str(PYTHON),
        "{root}": str(ROOT),
        "{framework}": sdk.environment.get("MCPTEST_DOTNET_FRAMEWORK", ""),
    }
    pattern = re.compile("|".join(map(re.escape, values)))
    return [pattern.sub(lambda found: values[found[0]], word) for word in words]


def _print_table(sdks: list[Sdk]) -> None:
    rows: list[tuple[str, ...]] = [
        ("SDK", "toolchain", "native tests", "kit rows", "beyond", "verdicts", "seconds")
    ]
    for sdk in sdks:
        state = "FAILED" if sdk.problem else str(sdk.rows)
        numbers = (sdk.native_tests, state, sdk.beyond, sdk.verdicts, f"{sdk.seconds:.0f}")
        rows.append((sdk.name, sdk.version, *map(str, numbers)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip(), flush=True)


if __name__ == "__main__":
    # A shell starts background jobs with Ctrl-C ignored; tests that press it would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    given = sys.argv[1:]
    chosen = [word for word in given if word not in ("--every", "--oldest")]
    sys.exit(check_sdks(chosen, is_every="--every" in given, is_oldest="--oldest" in given))
