"""Run the shell steps of action.yml as GitHub does, to test them without GitHub."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tools.environment import ROOT


@dataclass
class Job:
    """A job on a runner: its folders, and what its steps have written."""

    folder: Path
    outputs: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workspace = self.folder / "workspace"
        self.temp = self.folder / "temp"
        self.summary, self.path = self.folder / "summary.md", self.folder / "path"
        for each in (self.workspace, self.temp):
            each.mkdir(parents=True, exist_ok=True)
        for each in (self.summary, self.path):
            each.touch()

    def run_step(self, id: str, **given: str) -> subprocess.CompletedProcess[str]:
        """Run one shell step with these inputs (`_` for `-`); keep its outputs."""
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        [step] = [step for step in action["runs"]["steps"] if step.get("id") == id]
        inputs = {name: str(each["default"]) for name, each in action["inputs"].items()}
        inputs |= {name.replace("_", "-"): value for name, value in given.items()}
        values = {f"inputs.{name}": value for name, value in inputs.items()} | self.outputs
        written = self.folder / f"{id}.output"
        written.touch()
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env={
                **{key: os.environ[key] for key in os.environ if not key.startswith("PYTHON")},
                **{name: _evaluate(text, values) for name, text in step["env"].items()},
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_OUTPUT": str(written),
                "GITHUB_PATH": str(self.path),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                "GITHUB_WORKSPACE": str(self.workspace),
                "RUNNER_TEMP": str(self.temp),
            },
            capture_output=True,
            encoding="utf-8",
        )
        for line in written.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            self.outputs[f"steps.{id}.outputs.{name}"] = value
        return done


def _evaluate(text: Any, values: dict[str, str]) -> str:
    """An expression such as `${{ inputs.paths }}` becomes its value; no others are needed."""
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: values[match[1]], str(text))
