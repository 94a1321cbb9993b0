"""The import rules of ARCHITECTURE.md, as tests."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from case_tables import each_case

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "mcptest"
MODULES = sorted(SRC.rglob("*.py"))
LAYERED = [module for module in MODULES if module.parent != SRC]

# Which package may know which others. Down, never up.
MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "protocol": {"core"},
    "matching": {"core", "protocol"},
    "formats": {"core", "protocol", "matching"},
    "rules": {"core", "protocol", "matching"},
    "transport": {"core", "protocol"},
    "plugins": {"core", "protocol", "matching", "transport"},
    "mock": {"core", "protocol", "matching", "formats"},
    "security": {"core", "protocol", "transport", "explore"},
    "engine": {
        *("core", "protocol", "matching", "formats", "rules", "transport", "plugins", "security"),
    },
    "reporters": {"core", "protocol", "matching"},
    "explore": {"core", "protocol", "matching", "formats"},
    "docgen": {"core", "protocol", "matching", "formats", "reporters", "explore"},
    "traffic": {"core", "protocol", "formats"},
    "migrate": {"core", "protocol", "matching", "formats"},
    "compliance": {
        "core",
        "protocol",
        "matching",
        "formats",
        "rules",
        "transport",
        "engine",
        "explore",
    },
    "coprocess": {
        "_collect",
        "core",
        "protocol",
        "matching",
        "transport",
        "engine",
        "reporters",
    },
    "sdk": {"core", "protocol", "matching", "formats", "transport", "engine", "reporters"},
    "pytest_plugin": {"_collect", "core", "engine", "reporters", "sdk"},
    "cli": {
        "core",
        "protocol",
        "matching",
        "formats",
        "rules",
        "transport",
        "plugins",
        "mock",
        "engine",
        "reporters",
        "explore",
        "docgen",
        "traffic",
        "migrate",
        "compliance",
        "coprocess",
        "security",
    },
}
PURE = {
    "core",
    "protocol",
    "matching",
    "formats",
    "rules",
    "mock",
    "reporters",
    "explore",
    "docgen",
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
# What uses the network: the transport package alone.
NETWORK = {"http", "socket", "ssl"}
# The clock of the progress line, which every caller except the command line passes in.
EXCUSED = {"reporters/terminal.py": {"time"}}
THIRD_PARTY = {
    "cli": {"watchfiles"},
    "formats": {"yaml"},
    "rules": {"jsonschema_rs"},
    "pytest_plugin": {"pytest"},
    "matching": {"jsonschema_rs"},
    # Not ours: what a server's own Python has, asked for inside the server.
    "engine": {"coverage"},
    # The last three are optional, for signatures and keyrings (docs/decisions/0008-oauth.md).
    "transport": {"h11", "cryptography", "jwt", "keyring"},
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


# How many modules of mcptest a run of one passing test may load. Each costs 0.05 to 0.15 ms, so
# this number is part of the start-up time. Lower it when you can; raise it only with a reason.
MOST_MODULES_OF_A_PLAIN_RUN = 69

# A folder is read from its listing: more entries than this do not fit on a screen.
MOST_ENTRIES_OF_A_FOLDER = 26

# Modules are chapters, not fragments: what is read together is in one. Package files do not count.
MOST_MODULES = 251


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


@pytest.mark.long
@each_case("module", LAYERED)
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
            assert layer == "transport", f"{layer} must leave the network to transport: {name}"
        elif layer in PURE and root not in EXCUSED.get(relative(module), ()):
            assert root not in IMPURE, f"{layer} is pure and must not import {name}"


def test_no_folder_has_more_entries_than_fit_on_a_screen() -> None:
    folders = {module.parent for module in MODULES}
    sizes = {
        str(folder.relative_to(ROOT)): sum(each.name != "__pycache__" for each in folder.iterdir())
        for folder in folders
    }
    assert {name for name, size in sizes.items() if size > MOST_ENTRIES_OF_A_FOLDER} == set()


def test_modules_are_chapters_and_not_fragments() -> None:
    assert sum(module.name != "__init__.py" for module in MODULES) <= MOST_MODULES


@each_case("module", MODULES)
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
    """The modules that are loaded at the end of `mcptest run` with these words."""
    return loaded_by(f"from mcptest.cli.main import main; main(['run', *{words!r}])")


def loaded_by(script: str) -> set[str]:
    """The modules that are loaded at the end of a script."""
    done = subprocess.run(
        [
            *(sys.executable, "-S", "-c"),
            f"import sys; sys.path[:0] = {[str(ROOT / 'src'), *sys.path]!r}\n"
            f"{script}\nprint('modules', *sys.modules)",
        ],
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
    assert loaded_by_run(str(example), "--list") & TOO_SLOW_TO_START_WITH == set()


SUITE = """\
servers:
  shop: {{command: [{python}, {server}]}}
tools:
  - name: answers
    tool: echo
    expect:
      - target: result
        matcher: {{exists: true}}
"""


def test_a_plain_suite_loads_nothing_that_is_slow_to_load(tmp_path: Path) -> None:
    server = ROOT / "tests" / "servers" / "suite_server.py"
    suite = SUITE.format(python=json.dumps(sys.executable), server=json.dumps(str(server)))
    (tmp_path / "mcptest.yaml").write_text(suite, encoding="utf-8")
    loaded = loaded_by_run(str(tmp_path / "mcptest.yaml"))
    assert "mcptest.engine.output_schemas" in loaded
    assert loaded & TOO_SLOW_TO_START_WITH == set()


def test_a_session_over_http_does_not_load_openssl() -> None:
    assert loaded_by("import mcptest.transport.http.transport") & {"_hashlib", "_ssl"} == set()


def test_a_plain_run_that_passes_stays_within_its_budget_of_modules(tmp_path: Path) -> None:
    (tmp_path / "a.test.mcp.yml").write_text(PLAIN, encoding="utf-8")
    config = tmp_path / "conductor.config.json"
    server = str(ROOT / "tests" / "servers" / "tiny_server.py")
    spec = {"name": "tiny", "command": sys.executable, "args": [server]}
    config.write_text(json.dumps(spec), encoding="utf-8")
    loaded = loaded_by_run(str(tmp_path), "--config", str(config))
    assert "mcptest.engine.run" in loaded
    ours = sorted(name for name in loaded if name.partition(".")[0] == "mcptest")
    assert len(ours) <= MOST_MODULES_OF_A_PLAIN_RUN, ours
