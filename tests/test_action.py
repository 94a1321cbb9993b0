"""The GitHub action: its shell steps are run as GitHub runs them, with inputs of all kinds."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tools.action_steps import Job

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job in which mcptest is installed; `./check package` tries the step that does it."""
    job = Job(tmp_path)
    (job.temp / "mcptest").symlink_to(Path(sys.executable).parent.parent)
    for name in ("filesystem", "failing"):
        shutil.copytree(EXAMPLES / name, job.workspace / name)
    return job


def test_a_suite_that_passes_leaves_a_summary_and_its_results(job: Job) -> None:
    (job.workspace / "filesystem").rename(job.workspace / "my tests")
    done = job.run_step("run", paths="'my tests'\n", args="--filter 'reads an existing file'")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 test: 1 passed" in done.stdout
    assert job.summary.read_text(encoding="utf-8").startswith("## mcptest: 1 test passed")
    junit = job.workspace / "mcptest-results.xml"
    assert ElementTree.parse(junit).getroot().get("tests") == "1"
    assert job.outputs == {
        "steps.run.outputs.exit-code": "0",
        "steps.run.outputs.junit": str(junit),
    }


def test_a_suite_that_fails_does_so_with_its_exit_code_and_keeps_its_results(job: Job) -> None:
    done = job.run_step("run", working_directory="failing", junit="r.xml")
    assert done.returncode == 1
    assert "::error file=failing/wrong.test.mcp.yml,line=7," in done.stdout
    assert "did not pass" in job.summary.read_text(encoding="utf-8")
    assert job.outputs["steps.run.outputs.exit-code"] == "1"
    assert job.outputs["steps.run.outputs.junit"] == str(job.workspace / "failing" / "r.xml")
    assert (job.workspace / "failing" / "r.xml").stat().st_size


def test_a_command_for_the_server_is_after_all_options(job: Job) -> None:
    (job.workspace / "filesystem" / "conductor.config.json").unlink()
    words = "-- python3 server.py test-data"
    done = job.run_step("run", working_directory="filesystem", args=words)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["paths", "args", "junit", "working_directory"])
@pytest.mark.parametrize("code", ['"; touch pwned; "', "$(touch pwned)", "`touch pwned`", "a\nb=c"])
def test_no_input_is_run_by_a_shell(job: Job, name: str, code: str) -> None:
    if name in ("paths", "args"):
        code = f"'{code}'"
    job.run_step("run", **{name: code})
    assert list(job.folder.rglob("pwned")) == []
    assert set(job.outputs) <= {"steps.run.outputs.exit-code", "steps.run.outputs.junit"}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"paths": "'a"}, "the input 'paths' cannot be split into words: No closing quotation"),
        ({"args": 'b"'}, "the input 'args' cannot be split into words: No closing quotation"),
        *(
            (
                {"paths": paths},
                "the input 'paths' has an option; options belong in 'args', and -x is ./-x",
            )
            for paths in ("-- touch pwned", "a --server-command=none", "-v")
        ),
        ({"junit": ""}, "the input 'junit' must be the name of a file"),
        ({"working_directory": "none"}, "the input 'working-directory' must be a folder"),
    ],
)
def test_a_wrong_input_is_an_error_of_the_job(
    job: Job, inputs: dict[str, str], message: str
) -> None:
    done = job.run_step("run", **inputs)
    assert (done.returncode, done.stdout) == (2, f"::error title=mcptest::{message}\n")


def test_a_folder_whose_name_has_several_lines_is_refused(job: Job) -> None:
    shutil.copytree(job.workspace / "filesystem", job.workspace / "a\nexit-code=0")
    done = job.run_step("run", working_directory="a\nexit-code=0")
    message = "the input 'working-directory' must be a folder"
    assert (done.returncode, done.stdout) == (2, f"::error title=mcptest::{message}\n")
    assert job.outputs == {}


def test_modules_in_the_repository_do_not_shadow_those_of_python() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    scripts = [step.get("run", "") for step in action["runs"]["steps"]]
    started = [line for script in scripts for line in script.splitlines() if " -m " in line]
    assert len(started) == 2
    assert all(" -I -m " in line for line in started)


def test_no_script_contains_an_expression_and_every_input_is_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    action = yaml.safe_load(text)
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(action["inputs"])


def test_the_page_lists_the_inputs_and_outputs_with_their_defaults() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (?:`(.*?)`)? *\|", page, re.MULTILINE)
    declared = [(name, each["default"]) for name, each in action["inputs"].items()]
    assert rows == declared + [(name, "") for name in action["outputs"]]
