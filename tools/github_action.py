"""The step of `action.yml` that runs mcptest. It takes the inputs from environment variables.

Standard library only; it runs in the environment that has nothing but mcptest.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

MCPTEST = Path(sys.executable).parent / "mcptest"


def main() -> int:
    folder = Path(os.environ["MCPTEST_FOLDER"]).absolute()
    junit = os.environ["MCPTEST_JUNIT"]
    words = {}
    for name in ("paths", "args"):
        try:
            words[name] = shlex.split(os.environ[f"MCPTEST_{name.upper()}"])
        except ValueError as error:
            return refuse(f"the input {name!r} cannot be split into words: {error}")
    if any(word.startswith("-") for word in words["paths"]):
        # Paths may come from somebody else, such as the names of changed files.
        return refuse("the input 'paths' has an option; options belong in 'args', and -x is ./-x")
    if not junit or not junit.isprintable():
        return refuse("the input 'junit' must be the name of a file")
    # Outputs are lines.
    if not folder.is_dir() or not str(folder).isprintable():
        return refuse("the input 'working-directory' must be a folder")
    reports = ["--reporter", "github", "--junit", junit]
    reports += ["--reporter", f"markdown={os.environ['GITHUB_STEP_SUMMARY']}"]
    # The words of args come last: there may be a `--` among them.
    command = [str(MCPTEST), "run", *words["paths"], *reports, *words["args"]]
    code = subprocess.run(command, cwd=folder).returncode
    if code < 0:
        # Ended by a signal; the code that a shell would report.
        code = 128 - code
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as file:
        file.write(f"exit-code={code}\njunit={folder / junit}\n")
    return code


def refuse(message: str) -> int:
    """Report a wrong input as an error of the job; return the exit code for bad usage."""
    escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::error title=mcptest::{escaped}")
    return 2


if __name__ == "__main__":
    sys.exit(main())
