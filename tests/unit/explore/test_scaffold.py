"""A new project's files are valid, and say what was found in the folder."""

from __future__ import annotations

import json

import pytest

from mcptest.core.project import REQUIREMENT, schema_comment
from mcptest.explore.init import (
    guess_from_command,
    guess_server,
    render_config,
    render_first_suite,
    render_workflow,
)
from mcptest.formats.conductor import load_conductor
from mcptest.formats.config import load_config
from mcptest.formats.yaml import read_document
from mcptest.matching.registry import builtin_registry


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"package.json": '{"bin": "dist/cli.js", "main": "x.js"}'}, "node dist/cli.js"),
        ({"package.json": '{"bin": {"a": "a.js", "b": "b.js"}}'}, "node a.js"),
        ({"package.json": '{"main": "x.js"}'}, "node x.js"),
        ({"package.json": '{"scripts": {"start": "x"}}'}, "npm run --silent start"),
        ({"package.json": "{}", "index.js": ""}, "node index.js"),
        ({"package.json": "[", "server.js": ""}, "node server.js"),
        ({"pyproject.toml": "[project.scripts]\nserve = 'a:b'\n"}, "serve"),
        ({"pyproject.toml": "=", "server.py": ""}, "python3 server.py"),
        ({"server.py": "", "index.js": ""}, "python3 server.py"),
    ],
)
def test_the_server_is_found_by_what_lies_in_the_folder(files: dict[str, str], words: str) -> None:
    guess = guess_server(files, "folder")
    assert guess is not None
    assert guess.words == words


@pytest.mark.parametrize("files", [{}, {"package.json": "{}"}, {"pyproject.toml": "[tool.x]\n"}])
def test_a_folder_that_says_nothing_gives_no_guess(files: dict[str, str]) -> None:
    assert guess_server(files, "folder") is None


def test_a_node_server_adds_node_to_the_workflow() -> None:
    for command, runtime in (("npx", "node"), ("/usr/bin/node", "node"), ("python3", "python")):
        assert guess_from_command((command, "x"), "folder").runtime == runtime
    assert "setup-node" in render_workflow("node")
    assert "setup-node" not in render_workflow("python")


def test_a_python_server_adds_its_requirements_to_the_workflow() -> None:
    for command in ("pip install -r requirements.txt", "pip install ."):
        assert f"then {command}; fi" in render_workflow("python")
        assert command not in render_workflow("node")


def test_the_config_loads() -> None:
    guess = guess_from_command(("node", 'a "b".js'), "folder")
    spec, warnings = load_config(render_config(guess), "conductor.config.json", {})
    assert (spec.command, spec.name, warnings) == (("node", 'a "b".js'), "folder", ())
    assert json.loads(render_config(guess))["args"] == ['a "b".js']


def test_the_first_suite_loads() -> None:
    suite, warnings = load_conductor(render_first_suite(), "a", builtin_registry(), {})
    assert ([case.name for case in suite.cases], warnings) == (["lists its tools"], ())
    assert render_first_suite().startswith(schema_comment("conductor"))


@pytest.mark.parametrize("runtime", ["node", "python"])
def test_the_workflow_installs_and_runs_mcptest(runtime: str) -> None:
    workflow = read_document(render_workflow(runtime), "mcptest.yml").value
    assert isinstance(workflow, dict)
    assert list(workflow) == ["name", "on", "permissions", "jobs"]
    runs = [step.get("run") for step in workflow["jobs"]["mcptest"]["steps"]]
    assert "env:" not in render_workflow(runtime)
    assert f'pip install "{REQUIREMENT}"' in runs
    assert "mcptest run tests --junit mcptest-results.xml" in runs
