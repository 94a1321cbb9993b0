"""Compares the verdicts of an SDK's test runners with those of `mcptest run`.

    python tests/sdks/verdict_check.py --prepare FOLDER    what `mcptest run` says
    python tests/sdks/verdict_check.py go FOLDER           what the runners of an SDK say

The files are copies of examples/suite/mcptest.yaml and of the contract in examples/contract. A test
that is made to fail is added to each, and every lane that an SDK cannot drive to the first. Every
test must have the same verdict, the failure the same text and an exit status that is not 0, and
each lane must be a skipped test in the words of the contract. One test that is chosen by its name
must start no server but its own.

`runners` in sdks/sdks.json has the commands. Standard library only.
"""

from __future__ import annotations

import functools
import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LANES = ROOT / "protocol" / "coprocess" / "kit" / "lanes.json"
NPM = ROOT / ".venv" / "node" / "node_modules" / "@modelcontextprotocol"
LIMIT_S = 300.0

# Added to the files.
FAILING = "is made to fail"
FAILING_TEST = f"""
  - name: {FAILING}
    server: clock
    tool: convert_time
    args: {{ source_timezone: Etc/UTC, time: "12:00", target_timezone: Asia/Tokyo }}
    expect:
      - {{ target: result.structuredContent.time_difference, matcher: {{ exact: "-9.0h" }} }}

resources:
"""
MORE_LANES = """
agents:
  - { name: books a table, server: clock, prompt: book a table }
evals:
  - { name: is polite, server: clock, prompt: be polite, rubric: it says please }
security: { scan: true }
"""
FAILING_CASE = f"""
---
case: {FAILING}
in: {{"jsonrpc": "2.0", "id": 7, "method": "ping"}}
out: {{"jsonrpc": "2.0", "id": 7, "result": {{"pong": true}}}}
"""
# What `mcptest run` runs, and an SDK reports as the lanes compliance and security.
OF_LANES = ("keeps the invariants of a session", "security scan")
# The test that is chosen by its name, and its server. `one` in sdks.json has the name as well.
CHOSEN, CHOSEN_SERVER = "converts between two zones", "clock"
SERVERS = ("everything", "files", "clock")
# Judged for a whole run.
GATES = ("coverage gate", "performance gate")


@dataclass(frozen=True)
class Verdict:
    """What a runner says of a test: `passed`, `failed` or `skipped`, and in which words."""

    status: str
    text: str = ""


Verdicts = dict[str, Verdict]


# The program's own answer


def prepare(folder: Path) -> None:
    """Write the files, and what `mcptest run` says of them."""
    for name in ("suite", "contract"):
        shutil.copytree(ROOT / "examples" / name, folder / name)
    suite, contract = folder / "suite" / "mcptest.yaml", folder / "contract" / "library.cases.yaml"
    text = suite.read_text(encoding="utf-8")
    assert text.count("\nresources:\n") == 1, "a test can be added"
    text = text.replace("\nresources:\n", FAILING_TEST) + MORE_LANES
    suite.write_text(text, encoding="utf-8")
    with contract.open("a", encoding="utf-8") as file:
        file.write(FAILING_CASE)
    # Two servers of the suite come from npm.
    has_servers = NPM.is_dir() and shutil.which("node")
    files = [contract, *([suite] if has_servers else [])]
    wanted = {str(file): ask_program(file, folder) for file in files}
    (folder / "wanted.json").write_text(json.dumps(wanted), encoding="utf-8")


def ask_program(file: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """The status of each test, and the text of a failure, as the terminal shows it."""
    report = folder / "report.json"
    words = ["run", "--allow-not-run", "--no-color", "--reporter", "terminal"]
    done = subprocess.run(
        [*program(), *words, "--reporter", f"json={report}", str(file)],
        env=environment(folder),
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_S,
    )
    found = {}
    for suite in json.loads(report.read_text(encoding="utf-8"))["suites"]:
        for test in suite["tests"]:
            if not test["name"].startswith(OF_LANES) and not test.get("not_run"):
                shown = _shown_block(done.stdout, test["name"])
                found[test["name"]] = (test["status"], shown)
    if [name for name, (status, _) in found.items() if status != "passed"] != [FAILING]:
        raise SystemExit(f"mcptest run does not do what is compared:\n{done.stdout}{done.stderr}")
    if not found[FAILING][1].strip():
        raise SystemExit(f"mcptest run shows no text for {FAILING!r}:\n{done.stdout}")
    return found


def _shown_block(output: str, name: str) -> str:
    """What the terminal shows of a test that failed: the indented lines below its name."""
    found = re.search(rf"(?m)^  ✗ {re.escape(name)} \(.+\)\n((?: {{6}}.*\n|\n)+)", output)
    return found[1] if found else ""


def program() -> list[str]:
    return shlex.split(os.environ.get("MCPTEST_BIN", "")) or [sys.executable, "-m", "mcptest"]


def environment(folder: Path) -> dict[str, str]:
    """The environment of a run: its servers write their names to a journal when they start."""

    def server(name: str, *command: str) -> str:
        journal = shlex.quote(str(folder / "journal"))
        # The suite adds arguments.
        noted = f'echo {name} >> {journal}; exec {shlex.join(command)} "$@"'
        return shlex.join(["sh", "-c", noted, "sh"])

    def from_npm(name: str) -> tuple[str, str]:
        return "node", str(NPM / name / "dist" / "index.js")

    return {
        **os.environ,
        "MCPTEST_BIN": shlex.join(program()),
        "EVERYTHING_SERVER": server("everything", *from_npm("server-everything"), "stdio"),
        "FILESYSTEM_SERVER": server("files", *from_npm("server-filesystem")),
        "TIME_SERVER": server("clock", sys.executable, "-m", "mcp_server_time"),
    }


# What a runner says


def ask_runner(
    sdk: dict[str, Any], runner: dict[str, Any], file: str, *, is_one: bool
) -> tuple[Verdicts, int]:
    """What a runner of an SDK says of all tests of a file, or of the one; its exit status."""
    folder = Path(file).parent.parent
    with tempfile.TemporaryDirectory() as made:
        values = {
            "{file}": file,
            "{out}": str(Path(made) / "out"),
            "{root}": str(ROOT),
            "{python}": sys.executable,
        }
        fill = functools.partial(_fill, values)
        words = [*runner["command"], *(runner["one"] if is_one else runner.get("all", []))]
        done = subprocess.run(
            [fill(word) for word in words],
            cwd=ROOT / sdk["folder"] / runner.get("folder", "."),
            env={
                **environment(folder),
                **{name: fill(text) for name, text in runner.get("environment", {}).items()},
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=LIMIT_S,
        )
        out = Path(values["{out}"])
        written = out.read_text(encoding="utf-8") if out.exists() else ""
    try:
        found = dict(READERS[runner["format"]](done.stdout, written))
    except (ValueError, ElementTree.ParseError) as error:
        found = {}
        sys.stdout.write(f"{error}\n")
    if not found:
        sys.stdout.write(done.stdout[-3000:] + done.stderr[-3000:])
    return found, done.returncode


def _fill(values: dict[str, str], word: str) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word


def read_junit(_: str, written: str) -> Iterator[tuple[str, Verdict]]:
    """A JUnit XML report."""
    for test in ElementTree.fromstring(written).iter("testcase"):
        # vitest puts the file before the name.
        name = test.attrib["name"].rpartition(" > ")[2]
        status, text = "passed", ""
        for child in test:
            if child.tag in ("failure", "error", "skipped"):
                status = "skipped" if child.tag == "skipped" else "failed"
                # The runner of Node escapes twice.
                text += html.unescape(
                    f"{child.attrib.get('message', '')}\n{child.text or ''}"
                ).strip()
        yield name, Verdict(status, text)


def read_node(output: str, _: str) -> Iterator[tuple[str, Verdict]]:
    return read_junit("", output[output.index("<?xml") :])


def read_vitest(output: str, written: str) -> Iterator[tuple[str, Verdict]]:
    """A JUnit XML report, and the lines of the terminal, which alone have reasons for skipping."""
    reasons = dict(re.findall(r"(?m)^ *↓ .* > (.+?)(?: \d+ms)? \[(.*)\]$", output))
    for name, verdict in read_junit("", written):
        reason = reasons.get(name, "")
        # Those that were not chosen have none.
        if verdict.status != "skipped" or reason:
            yield name, Verdict(verdict.status, verdict.text or reason)


def read_go(output: str, _: str) -> Iterator[tuple[str, Verdict]]:
    """The events of go test -json."""
    said: dict[str, str] = {}
    for line in output.splitlines():
        event = json.loads(line)
        name = event.get("Test", "").partition("/")[2]
        if name and event["Action"] == "output":
            said[name] = said.get(name, "") + event["Output"]
        elif name and event["Action"] in ("pass", "fail", "skip"):
            status = {"pass": "passed", "fail": "failed", "skip": "skipped"}[event["Action"]]
            yield name.replace("_", " "), Verdict(status, said.get(name, ""))


def read_cargo(output: str, _: str) -> Iterator[tuple[str, Verdict]]:
    """What cargo test prints."""
    for name, ended, reason in re.findall(r"(?m)^test (.+) \.\.\. (\w+)(?:, (.*))?$", output):
        status = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}[ended]
        block = re.search(rf"(?s)---- {re.escape(name)} stdout ----\n(.*?)\n\n\n?", output)
        whole = output[block.start() :] if block and status == "failed" else ""
        yield re.sub("^mcptest::(left::)?", "", name), Verdict(status, reason or whole)


def read_lines(output: str, _: str) -> Iterator[tuple[str, Verdict]]:
    """A line of JSON for each test, from a program that is a runner only for this."""
    for line in output.splitlines():
        if line.startswith("{"):
            test = json.loads(line)
            yield test["name"], Verdict(test["status"], test["text"])


READERS: dict[str, Callable[[str, str], Iterator[tuple[str, Verdict]]]] = {
    "junit": read_junit,
    "node": read_node,
    "vitest": read_vitest,
    "go": read_go,
    "cargo": read_cargo,
    "lines": read_lines,
}


# Comparing


def compare(
    wanted: dict[str, tuple[str, str]], found: Verdicts, gates: tuple[str, ...] | None
) -> Iterator[str]:
    """What differs, as sentences; a suite has lanes and these gates, other files have none."""
    by_name = {name.rpartition("::")[2]: verdict for name, verdict in found.items()}
    for name, (status, text) in wanted.items():
        verdict = by_name.pop(name, None)
        if verdict is None:
            yield f"{name}: there is no such test"
        elif verdict.status != status:
            yield f"{name}: {verdict.status}, and mcptest run says {status}: {verdict.text}"
        # Runners indent it, and put more around it. The place of the failure is the first line.
        elif text:
            place, _, mismatch = text.strip().partition("\n")
            for part in (mismatch, Path(place).name):
                if _plain(part) not in _plain(verdict.text):
                    yield f"{name}: {_plain(part)!r} is not in {verdict.text!r}"
    if gates is not None:
        yield from _compare_lanes(by_name, gates)
    for name, verdict in by_name.items():
        yield f"{name}: {verdict.status}, and mcptest run has no such test"


def _compare_lanes(by_name: Verdicts, gates: tuple[str, ...]) -> Iterator[str]:
    """Take the lanes and gates of the suite out of the verdicts."""
    for each in json.loads(LANES.read_text(encoding="utf-8"))["sentences"]:
        if "suite" in each:
            continue
        verdict = by_name.pop(each["lane"], Verdict("missing"))
        # The path is relative to the folder of the runner.
        shown = re.sub(r"\S*/mcptest\.yaml", "<suite>", verdict.text)
        if verdict.status != "skipped" or each["sentence"] not in shown:
            yield f"{each['lane']}: {verdict.status}, not in the words of the contract: {shown}"
    for name in gates:
        verdict = by_name.pop(name, Verdict("missing"))
        if verdict.status != "skipped":
            yield f"{name}: {verdict.status}, not skipped"


def is_suite(file: str) -> bool:
    return Path(file).name == "mcptest.yaml"


def check_runner(sdk: dict[str, Any], runner: dict[str, Any], folder: Path) -> Iterator[str]:
    """What a runner of an SDK does otherwise than `mcptest run`."""
    journal = folder / "journal"
    wanted = json.loads((folder / "wanted.json").read_text(encoding="utf-8"))
    for file, tests in wanted.items():
        journal.unlink(missing_ok=True)
        found, exit_status = ask_runner(sdk, runner, file, is_one=False)
        if not exit_status:
            yield "a test failed, and the exit status is 0"
        # A runner that judges a run as a whole says nothing of gates.
        gates = () if runner.get("judges_gates") else GATES
        yield from compare(tests, found, gates if is_suite(file) else None)
        if not is_suite(file):
            continue
        if sorted(journal.read_text(encoding="utf-8").split()) != sorted(SERVERS):
            yield f"not each server was started once: {journal.read_text(encoding='utf-8')!r}"
        journal.unlink(missing_ok=True)
        found, exit_status = ask_runner(sdk, runner, file, is_one=True)
        if exit_status:
            yield f"no test failed of those that were chosen, and the exit status is {exit_status}"
        # Some runners also list those that were not chosen, as skipped.
        run = {name: each.status for name, each in found.items() if each.status != "skipped"}
        if [(name.rpartition("::")[2], run[name]) for name in run] != [(CHOSEN, "passed")]:
            yield f"one test was chosen by its name, and these were run: {run}"
        started = journal.read_text(encoding="utf-8").split() if journal.exists() else []
        if started != [CHOSEN_SERVER]:
            yield f"one test of {CHOSEN_SERVER} was chosen by its name, which started {started}"


def main(words: list[str]) -> int:
    if words[:1] == ["--prepare"]:
        prepare(Path(words[1]))
        return 0
    name, folder = words[0], Path(words[1])
    sdk = json.loads((ROOT / "sdks" / "sdks.json").read_text(encoding="utf-8"))[name]
    wanted = json.loads((folder / "wanted.json").read_text(encoding="utf-8"))
    has_failed = False
    for each, runner in sdk["runners"].items():
        for problem in check_runner(sdk, runner, folder):
            has_failed = True
            sys.stdout.write(f"DIFFERS  {each}: {problem}\n")
    if not any(map(is_suite, wanted)):
        sys.stdout.write("only the contract: there are no servers from npm for the suite\n")
    count = sum(map(len, wanted.values())) * len(sdk["runners"])
    sys.stdout.write(f"{name}: {count} verdicts of {', '.join(sdk['runners'])} compared\n")
    return 1 if has_failed else 0


def _plain(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
