"""The same secret, named by `secret_env` in a suite: no feature of suites writes it anywhere."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from leaky_server import LOUD, QUIET
from test_canary_secret import FILES, LEAKY, SECRET, traces_in, written_by

if TYPE_CHECKING:
    from pathlib import Path

# A plugin that repeats its input in its message and on stderr, and breaks on request.
PLUGIN = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    sys.stderr.write(line)
    if asked["method"] == "die":
        sys.exit(3)
    said = {"pass": False, "message": json.dumps(asked["params"])}
    print(json.dumps({"id": asked["id"], "result": said}), flush=True)
"""


def asserting(matcher: dict[str, Any], target: str = "result") -> list[dict[str, Any]]:
    return [{"target": target, "matcher": matcher, "message": "said of ${token}"}]


def call(name: str, tool: str, *expect: dict[str, Any], **keys: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "tool": tool, "args": {"text": "${token}"}, **keys}
    return {**entry, "expect": list(expect)} if expect else entry


def plugin(method: str) -> dict[str, Any]:
    return {"plugin": {"name": "odd", "method": method, "params": "${token}"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("canary-suite")
    (place / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    keys = {"env": {"KEY": {"secret_env": "CANARY"}}, "timeout": "2s"}
    tools = [
        *(call(f"calls {name}", name) for name in (*LOUD, *QUIET) if name not in ("dies", "hangs")),
        call("differs", "echo", *asserting({"exact": "${token}!"})),
        call("contains", "plain", *asserting({"contains": "${token} and more"}, "result.content")),
        call("has a schema", "structured", *asserting({"schema": {"const": "${token}"}})),
        call("is kept", "structured", *asserting({"snapshot": True})),
        call("is judged", "plain", *asserting(plugin("echo"))),
        call("breaks its judge", "plain", *asserting(plugin("die"))),
        call("logs", "results", *asserting({"exact": "${token}"}, "stderr")),
        {
            "name": "goes on with it",
            "steps": [
                {"tool": "structured", "capture": {"kept": "result.structuredContent.key"}},
                {"tool": "echo", "args": {"text": "${kept}"}, "expect": asserting({"exact": 1})},
            ],
            "teardown": [{"tool": "none", "args": {"text": "${token}"}}],
        },
        call("dies", "dies"),
    ]
    suite = {
        "servers": {"leaky": {"command": [sys.executable, LEAKY], **keys}},
        "variables": {"token": {"secret_env": "CANARY"}},
        "imports": {"subprocess_matchers": {"odd": {"command": [sys.executable, "plugin.py"]}}},
        "tools": tools,
        "resources": [{"name": "reads", "uri": "file:///${token}"}],
        "prompts": [{"name": "greets", "prompt": "greet", "args": {"who": "${token}"}}],
        "agents": [{"name": "asks", "prompt": "${token}"}],
        "compliance": [{"name": "rules", "check": "rules"}, {"name": "list", "check": "list"}],
        "coverage": {"tools": 100},
        "performance": {"max_ms": 0.001},
    }
    (place / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    return place


def assert_clean(parts: dict[str, bytes]) -> None:
    assert {name: traces_in(raw) for name, raw in parts.items() if traces_in(raw)} == {}


@pytest.mark.long
@pytest.mark.parametrize("reporter", [*FILES, "terminal"])
def test_no_report_of_a_suite_has_it(folder: Path, reporter: str) -> None:
    target = f"{reporter}={FILES[reporter]}" if reporter in FILES else reporter
    found = written_by(folder, "run", "--verbose", "--reporter", target, "--capture", "seen.json")
    assert (found.code, bool(found.parts["stdout"])) == (1, True)
    assert_clean(found.parts)
    for name in (FILES.get(reporter, ""), "seen.json"):
        (folder / name).unlink(missing_ok=True) if name else None


def test_no_snapshot_has_it(folder: Path) -> None:
    written_by(folder, "run", "-k", "is kept", "--update-snapshots")
    stored = folder / "__snapshots__" / "mcptest.yaml.snap.yaml"
    assert b"[secret]" in stored.read_bytes()
    assert_clean({"snapshot": stored.read_bytes()})


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ("run", "--parallel", "2", "--json"),
        ("run", "--retries", "1", "-k", "differs"),
        ("validate", "mcptest.yaml"),
    ],
    ids=lambda words: words[0] + words[1],
)
def test_nothing_else_says_it(folder: Path, words: tuple[str, ...]) -> None:
    assert_clean(written_by(folder, *words).parts)


MISTAKES: dict[str, dict[str, Any]] = {
    "a regex": {"regex": "(${token}"},
    "a number": {"gt": "${token}"},
    "a type": {"type": "${token}"},
    "a schema": {"schema": {"type": "${token}"}},
    "a file": {"schema": "${token}.json"},
    "a reference": {"schema": {"$ref": "http://h/${token}"}},
    "a word": {"${token}": 1},
    "a plugin": {"plugin": {"name": "${token}", "method": "m"}},
    "a path": {"snapshot": {"ignore": ["${token}["]}},
}


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_mistake_in_the_file_does_not_say_it(folder: Path, command: str) -> None:
    suite = json.loads((folder / "mcptest.yaml").read_text(encoding="utf-8"))
    suite["tools"] = [
        call("has a wrong target", "plain", {"target": "result[${token}]", "matcher": {"gt": 1}}),
        *(call(name, "plain", *asserting(matcher)) for name, matcher in MISTAKES.items()),
    ]
    (folder / "wrong.yaml").write_text(json.dumps(suite), encoding="utf-8")
    found = written_by(folder, command, "wrong.yaml", "--format", "suite", "--json")
    assert found.code == 2
    assert len(json.loads(found.parts["stdout"])["error"]["diagnostics"]) == len(MISTAKES) + 1
    assert_clean(found.parts)


def test_the_name_of_a_snapshot_does_not_say_it(folder: Path) -> None:
    suite = json.loads((folder / "mcptest.yaml").read_text(encoding="utf-8"))
    kept = asserting({"snapshot": {"name": "of ${token}"}})
    suite["tools"] = [call("is kept", "structured", *kept)]
    for lane in ("resources", "prompts", "agents", "compliance", "coverage", "performance"):
        del suite[lane]
    (folder / "named.yaml").write_text(json.dumps(suite), encoding="utf-8")
    words = ("run", "named.yaml", "--format", "suite", "--json")
    first = written_by(folder, *words)
    stored = folder / "__snapshots__" / "named.yaml.snap.yaml"
    assert b"of [secret]" in stored.read_bytes()
    assert_clean({**first.parts, "snapshot": stored.read_bytes()})
    again = json.loads(written_by(folder, *words).parts["stdout"])
    assert (again["summary"]["passed"], again["snapshots"]["stale"]) == (1, {})


def test_a_canary_that_is_not_declared_secret_is_found_everywhere(folder: Path) -> None:
    """What all of the above rely on: without being named it is everywhere."""
    suite = (folder / "mcptest.yaml").read_text(encoding="utf-8")
    open_ = suite.replace('{"secret_env": "CANARY"}', json.dumps(SECRET))
    (folder / "open.yaml").write_text(open_, encoding="utf-8")
    found = written_by(folder, "run", "open.yaml", "--format", "suite", "--json")
    assert traces_in(found.parts["stdout"])
