"""What a new project starts with: a config, a first test, a CI workflow. Texts in, texts out."""

from __future__ import annotations

import json
import tomllib

from mcptest.core.project import REQUIREMENT, schema_comment
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import visible
from mcptest.core.value_class import Record
from mcptest.formats.yaml.writer import Commented, render_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

__all__ = [
    "CLUES",
    "Guess",
    "guess_from_command",
    "guess_server",
    "render_config",
    "render_first_suite",
    "render_workflow",
    "secret_name",
]

# The files that tell how a server is started, most telling first.
CLUES = ("package.json", "pyproject.toml", "server.py", "server.js", "index.js")


class Guess(Record):
    """How the server is probably started, and from what that was concluded."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    reason: str
    runtime: str = "python"

    @property
    def words(self) -> str:
        return visible(" ".join((self.command, *self.args)))


def guess_server(files: Mapping[str, str], folder: str) -> Guess | None:
    """The server that these files, by name, are about; None when they do not say."""
    return next(_guesses(files, folder), None)


def _guesses(files: Mapping[str, str], folder: str) -> Iterator[Guess]:
    if "package.json" in files:
        yield from _node_guesses(files["package.json"], folder)
    if "pyproject.toml" in files:
        yield from _python_guesses(files["pyproject.toml"], folder)
    for name, program in (("server.py", "python3"), ("server.js", "node"), ("index.js", "node")):
        if name in files:
            runtime = "node" if program == "node" else "python"
            reason = f"there is a {name}"
            yield Guess(name=folder, command=program, args=(name,), reason=reason, runtime=runtime)


def _node_guesses(text: str, folder: str) -> Iterator[Guess]:
    try:
        package = parse_json(text)
    except NotJsonError:
        return
    if not isinstance(package, dict):
        return
    name = package.get("name") if isinstance(package.get("name"), str) else folder
    programs = package.get("bin")
    if isinstance(programs, dict):
        programs = next(iter(programs.values()), None)
    scripts = package.get("scripts")
    guess = Guess(name=str(name), command="node", reason="", runtime="node")
    for key, path in (("bin", programs), ("main", package.get("main"))):
        if isinstance(path, str) and path:
            yield guess.but(args=(path,), reason=f'"{key}" in package.json says so')
    if isinstance(scripts, dict) and isinstance(scripts.get("start"), str):
        # Without --silent npm writes a banner to stdout, where only messages may be.
        words = ("run", "--silent", "start")
        yield guess.but(command="npm", args=words, reason="package.json has a start script")


def _python_guesses(text: str, folder: str) -> Iterator[Guess]:
    try:
        project: Any = tomllib.loads(text).get("project")
    except tomllib.TOMLDecodeError:
        return
    scripts = project.get("scripts") if isinstance(project, dict) else None
    if isinstance(scripts, dict) and scripts:
        script = next(iter(scripts))
        name = str(project.get("name") or folder)
        yield Guess(name=name, command=script, reason="pyproject.toml has this script")


def guess_from_command(command: tuple[str, ...], folder: str) -> Guess:
    """The server that was named on the command line."""
    program = command[0].rpartition("/")[2]
    runtime = (
        "node" if program in ("node", "npm", "npx", "pnpm", "yarn", "bun", "bunx") else "python"
    )
    return Guess(
        name=folder,
        command=command[0],
        args=command[1:],
        reason="you gave this command",
        runtime=runtime,
    )


def render_config(guess: Guess) -> str:
    """`conductor.config.json` for this server."""
    members = {"name": guess.name, "command": guess.command, "args": list(guess.args)}
    # No file depends on what the tests of another one have left behind.
    members["isolation"] = "file"
    return json.dumps(members, indent=2, ensure_ascii=False) + "\n"


def render_first_suite() -> str:
    """One test that holds for every server with tools."""
    test = {
        "it": "lists its tools",
        "request": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
        "expect": {
            "response": {
                "jsonrpc": "2.0",
                "id": 1,
                "result": {"match:partial": {"tools": "match:type:array"}},
            }
        },
    }
    note = "mcptest discover writes a test for everything that the server offers."
    document = {"description": "First steps", "tests": [test]}
    text = render_yaml(Commented(comments=(note,), value=document))
    return schema_comment("conductor") + text


_SETUP: dict[str, list[dict[str, object]]] = {
    "node": [
        {"uses": "actions/setup-node@v4", "with": {"node-version": "22"}},
        {"run": "npm ci && npm run build --if-present"},
    ],
    "python": [
        {"run": "if [ -f requirements.txt ]; then pip install -r requirements.txt; fi"},
        {"run": "if [ -f pyproject.toml ]; then pip install .; fi"},
    ],
}


def secret_name(variable: str) -> str:
    """The secret of a repository for this variable; GitHub keeps names with GITHUB_ for itself."""
    return f"MCP_{variable}" if variable.upper().startswith("GITHUB_") else variable


def render_workflow(runtime: str, variables: Iterable[str] = ()) -> str:
    """A workflow for GitHub that runs the tests and keeps the report.

    `variables` are those that the config refers to: their values are secrets of the repository.
    """
    run: dict[str, object] = {"run": "mcptest run tests --junit mcptest-results.xml"}
    if secrets := {name: f"${{{{ secrets.{secret_name(name)} }}}}" for name in variables}:
        run["env"] = secrets
    steps: list[object] = [
        {"uses": "actions/checkout@v4"},
        {"uses": "actions/setup-python@v5", "with": {"python-version": "3.13"}},
        Commented(comments=("What the server itself needs.",), value=_SETUP[runtime][0]),
        *_SETUP[runtime][1:],
        {"run": f'pip install "{REQUIREMENT}"'},
        run,
        {
            "uses": "actions/upload-artifact@v4",
            "if": "always()",
            "with": {"name": "mcptest-results", "path": "mcptest-results.xml"},
        },
    ]
    workflow = {
        "name": "mcptest",
        "on": {"push": {"branches": ["main"]}, "pull_request": {}},
        "permissions": {"contents": "read"},
        "jobs": {"mcptest": {"runs-on": "ubuntu-latest", "steps": steps}},
    }
    return render_yaml(
        Commented(comments=("Runs the MCP tests; see mcptest run --help.",), value=workflow)
    )
