"""Test runners have the verdicts of `mcptest run`; here pytest, and runners that are wrong.

`./check sdks` compares the runners of other languages.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from verdict_check import CHOSEN, GATES, LANES, ROOT, check_runner, prepare

SDKS = json.loads((ROOT / "sdks" / "sdks.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("verdicts")
    prepare(made)
    return made


def test_every_sdk_has_a_runner() -> None:
    for name, entry in SDKS.items():
        assert entry["runners"], name
        for runner in entry["runners"].values():
            assert CHOSEN in " ".join(runner["one"]).replace("_", " ")


@pytest.mark.long
def test_those_of_pytest_are_the_same(folder: Path) -> None:
    sdk = SDKS["python"]
    assert list(check_runner(sdk, sdk["runners"]["pytest"], folder)) == []


# A runner that repeats what it is given, and starts the servers that it is given.
REPEAT = """
import json, os, sys
file, mode, faults = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
given = json.load(open(os.path.join(os.path.dirname(file), "given.json")))[mode]
for name, (status, text) in given["tests"].items():
    status, text = faults.get(name, [status, text])
    if status:
        print(json.dumps({"name": name, "status": status, "text": text}))
with open(os.path.join(os.path.dirname(file), "..", "journal"), "a") as journal:
    journal.write(" ".join(faults.get("journal " + mode, given["started"])))
sys.exit(faults.get("exit " + mode, 1 if mode == "all" else 0))
"""


@pytest.fixture
def repeated(tmp_path: Path) -> Any:
    """Runs the runner with faults; returns what is wrong with it."""
    text = "  expected  1\n  actual    2"
    tests = {CHOSEN: ("passed", ""), "counts": ("failed", f"a/mcptest.yaml:7\n\n{text}\n")}
    suite = tmp_path / "suite" / "mcptest.yaml"
    suite.parent.mkdir()
    (tmp_path / "wanted.json").write_text(json.dumps({str(suite): tests}), encoding="utf-8")
    sentences = json.loads(LANES.read_text(encoding="utf-8"))["sentences"]
    lanes = {
        f"lanes::{each['lane']}": ("skipped", each["sentence"].replace("<suite>", "b/mcptest.yaml"))
        for each in sentences
        if "suite" not in each
    }
    gates = {f"left::{name}": ("skipped", "run: mcptest run") for name in GATES}
    mine = {f"clock::{CHOSEN}": ("passed", "")}
    failed = {"clock::counts": ("failed", f"Error:\n{text}\n\nb/mcptest.yaml:7\n")}
    given = {
        "all": {
            "tests": {**mine, **failed, **lanes, **gates},
            "started": ["everything", "files", "clock"],
        },
        "one": {"tests": mine, "started": ["clock"]},
    }
    (suite.parent / "given.json").write_text(json.dumps(given), encoding="utf-8")

    def run(faults: dict[str, Any]) -> str:
        runner = {
            "command": ["{python}", "-c", REPEAT, "{file}"],
            "all": ["all", json.dumps(faults)],
            "one": ["one", json.dumps(faults)],
            "format": "lines",
        }
        return "\n".join(check_runner({"folder": "."}, runner, tmp_path))

    return run


def test_a_runner_that_says_the_same_is_right(repeated: Any) -> None:
    assert repeated({}) == ""


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ({"clock::counts": ["passed", ""]}, "counts: passed, and mcptest run says failed"),
        ({"clock::counts": ["", ""]}, "counts: there is no such test"),
        ({"clock::counts": ["failed", "actual 2, mcptest.yaml:7"]}, "'expected 1 actual 2'"),
        ({"clock::counts": ["failed", "expected 1\nactual 2"]}, "'mcptest.yaml:7' is not in"),
        ({"lanes::agents": ["passed", ""]}, "agents: passed"),
        ({"lanes::agents": ["", ""]}, "agents: missing"),
        ({"lanes::evals": ["skipped", "later"]}, "evals: skipped, not in the words"),
        ({"lanes::evals": ["failed", ""]}, "evals: failed"),
        ({"left::coverage gate": ["", ""]}, "coverage gate: missing, not skipped"),
        ({"left::coverage gate": ["passed", ""]}, "coverage gate: passed, not skipped"),
        ({"journal all": ["files", "clock"]}, "not each server was started once"),
        ({"journal one": ["files", "clock"]}, "which started ['files', 'clock']"),
        ({"journal one": []}, "which started []"),
        ({f"clock::{CHOSEN}": ["", ""]}, "these were run: {}"),
        ({"exit all": 0}, "a test failed, and the exit status is 0"),
        ({"exit one": 3}, "no test failed of those that were chosen, and the exit status is 3"),
    ],
)
def test_a_runner_that_says_something_else_is_wrong(
    repeated: Any, faults: dict[str, Any], says: str
) -> None:
    assert says in repeated(faults)
