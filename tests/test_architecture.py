"""The import rules of ARCHITECTURE.md, as tests."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "mcptest"
MODULES = sorted(SRC.rglob("*.py"))
LAYERED = [module for module in MODULES if module.parent != SRC]

# Which package may know which others. Down, never up.
MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "matching": {"core"},
    "formats": {"core", "matching"},
    "wire": {"core"},
    "plugins": {"core", "matching", "wire"},
    "runner": {"core", "matching", "formats", "wire", "rules", "plugins"},
    "coprocess": {"core", "matching", "runner"},
    # The channel itself is one module, where every SDK has it.
    "sdk": {"_coprocess", "core", "matching", "reporters", "runner", "wire"},
    "pytest_plugin": {"_collect", "core", "reporters", "runner", "sdk"},
    "reporters": {"core", "matching"},
    "explore": {"core", "matching", "formats"},
    "docgen": {"core", "matching", "formats", "reporters", "explore"},
    "rules": {"core", "matching"},
    "mock": {"core", "matching", "formats"},
    "traffic": {"core", "matching", "formats"},
    "migrate": {"core", "matching", "formats"},
    "cli": {
        "core",
        "matching",
        "formats",
        "wire",
        "runner",
        "coprocess",
        "reporters",
        "explore",
        "docgen",
        "rules",
        "mock",
        "plugins",
        "traffic",
        "migrate",
    },
}
PURE = {
    "core",
    "matching",
    "formats",
    "reporters",
    "explore",
    "docgen",
    "rules",
    "mock",
    "traffic",
    "migrate",
}
# What a pure package must not reach for: input and output, time, chance, concurrency.
IMPURE = {
    "asyncio",
    "glob",
    "http",
    "os",
    "pathlib",
    "random",
    "secrets",
    "select",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "uuid",
}
# What speaks over a network: the wire alone.
NETWORK = {"http", "socket", "ssl"}
# The clock of the progress line, given as an argument by everybody but the command line.
EXCUSED = {"reporters/terminal.py": {"time"}}
THIRD_PARTY = {
    "cli": {"watchfiles"},
    "formats": {"yaml"},
    "rules": {"jsonschema_rs"},
    "pytest_plugin": {"pytest"},
    "matching": {"jsonschema_rs"},
    # Not ours: what a server's own Python has, asked for inside the server.
    "runner": {"coverage"},
    "wire": {"h11"},
}

# Imports inside functions, and how many: only where start-up would pay for them.
MAY_DEFER = {
    "_collect.py",
    "pytest_plugin/__init__.py",
    "pytest_plugin/fixtures.py",
    "pytest_plugin/items.py",
    "cli/conductor.py",
    "cli/exec.py",
    "cli/failure.py",
    "cli/http_options.py",
    "formats/server_http.py",
    "cli/main.py",
    "cli/mock.py",
    "cli/output.py",
    "cli/plugin_options.py",
    "cli/reports.py",
    "cli/run.py",
    "cli/server_choice.py",
    "cli/start.py",
    "cli/validate.py",
    "cli/wanted.py",
    "cli/watching.py",
    "core/coverage.py",
    "core/secrets.py",
    "formats/conductor.py",
    "formats/conductor_config.py",
    "formats/document.py",
    "rules/judge.py",
    "runner/connection.py",
    "runner/run.py",
    "runner/opening.py",
    "reporters/terminal.py",
    "matching/registry.py",
    "rules/schemas.py",
    "matching/compare.py",
    "matching/matchers/formats.py",
    "matching/suite_matchers.py",
    "matching/values.py",
    "matching/matchers/schema.py",
    "matching/diff.py",
    "runner/apart.py",
    "runner/child/sitecustomize.py",
    "runner/conforming.py",
    "runner/judging.py",
    "runner/loading.py",
    "runner/performing.py",
    "runner/selection.py",
    "runner/shelf.py",
    "runner/verdicts.py",
    "rules/watch.py",
    "runner/weighing.py",
    "runner/wires.py",
    "wire/http_link.py",
    "wire/name_lookup.py",
    "wire/child.py",
    "wire/guardian.py",
    "wire/orphans.py",
    "wire/workers.py",
}

# What a run of one test must never load: each costs a good part of the whole start.
TOO_SLOW_TO_START_WITH = {
    "argparse",
    "asyncio",
    "ctypes",
    "dataclasses",
    "importlib.metadata",
    "inspect",
    "jsonschema_rs",
    "logging",
    "pathlib",
    "selectors",
    "subprocess",
    "threading",
    "typing",
    "yaml",
}


# What a run needs that fails, captures, goes over HTTP or has more to say in its files.
ONLY_FOR_SOME = {
    "mcptest.cli.failure",
    "mcptest.core.capture",
    "mcptest.core.recorder",
    "mcptest.core.blanking",
    "mcptest.core.uri_templates",
    "mcptest.formats.client_stubs",
    "mcptest.formats.conductor_captures",
    "mcptest.formats.full_yaml",
    "mcptest.formats.marks",
    "mcptest.formats.plugin_imports",
    "mcptest.formats.server_http",
    "mcptest.formats.templates",
    "mcptest.rules.registry",
    "mcptest.matching.diff",
    "mcptest.matching.hints",
    "mcptest.reporters.matrix",
    "mcptest.reporters.progress",
    "mcptest.reporters.text",
    "mcptest.runner.apart",
    "mcptest.runner.heard",
    "mcptest.runner.log",
    "mcptest.runner.readiness",
    "mcptest.runner.sent_along",
    "mcptest.runner.tape",
    "mcptest.wire.forked_guard",
    "mcptest.wire.http_server",
}


PLAIN = """\
description: plain
tests:
  - it: passes
    request:
      jsonrpc: "2.0"
      id: 1
      method: ping
    expect:
      response:
        jsonrpc: "2.0"
        id: 1
        result: match:type:object
"""


def relative(module: Path) -> str:
    return module.relative_to(SRC).as_posix()


def runtime_imports(module: Path) -> set[str]:
    """Everything a module imports outside `if TYPE_CHECKING`."""
    names: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(module.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: write the absolute import"
            assert node.module is not None
            names.add(node.module)
        waiting += ast.iter_child_nodes(node)
    return names


@pytest.mark.parametrize("module", LAYERED, ids=relative)
def test_a_module_imports_only_what_its_layer_may(module: Path) -> None:
    layer = relative(module).split("/")[0]
    assert layer in MAY_IMPORT, f"{layer} is not in the import table"
    for name in runtime_imports(module):
        root, _, rest = name.partition(".")
        if root == "mcptest":
            allowed = MAY_IMPORT[layer] | {layer, ""}
            assert rest.split(".")[0] in allowed, f"{layer} must not import {name}"
        elif root not in sys.stdlib_module_names:
            assert root in THIRD_PARTY.get(layer, ()), f"{layer} must not depend on {name}"
        elif root in NETWORK:
            assert layer == "wire", f"{layer} leaves the network to wire, and must not use {name}"
        elif layer in PURE and root not in EXCUSED.get(relative(module), ()):
            assert root not in IMPURE, f"{layer} is pure and must not import {name}"


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_only_the_listed_modules_import_inside_functions(module: Path) -> None:
    deferred = [
        inner
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, (ast.Import, ast.ImportFrom))
    ]
    assert not deferred or relative(module) in MAY_DEFER


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_a_module_says_what_it_is_for(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty_words = {"base", "common", "helpers", "impls", "misc", "util", "utils"}
    assert {module.stem for module in MODULES} & empty_words == set()


def test_the_import_table_is_the_one_in_the_architecture_page() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", page, re.MULTILINE)
    written = {name: set(re.findall(r"`(\w+)`", cell)) for name, cell in rows}
    assert written == MAY_IMPORT


def loaded_by_run(*words: str) -> set[str]:
    """The modules that are there when `mcptest run` with these words has come to its end."""
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); "
        f"from mcptest.cli.main import main; main(['run', *{words!r}]); "
        "print('modules', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_a_run_loads_nothing_that_is_slow_to_load() -> None:
    example = ROOT / "examples" / "filesystem"
    config = str(example / "conductor.config.json")
    assert loaded_by_run(str(example), "--config", config) & TOO_SLOW_TO_START_WITH == set()


def test_a_plain_run_that_passes_loads_nothing_of_ours_that_only_others_need(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.test.mcp.yml").write_text(PLAIN, encoding="utf-8")
    config = tmp_path / "conductor.config.json"
    server = str(ROOT / "tests" / "cli" / "tiny_server.py")
    spec = {"name": "tiny", "command": sys.executable, "args": [server]}
    config.write_text(json.dumps(spec), encoding="utf-8")
    loaded = loaded_by_run(str(tmp_path), "--config", str(config))
    assert "mcptest.runner.run" in loaded
    assert loaded & ONLY_FOR_SOME == set()
