"""Nothing that a server or a file says is a command to the CI system that keeps the log.

GitHub obeys lines that begin with `::`, after blanks too, and `##[` anywhere; Azure obeys
`##vso[`, TeamCity `##teamcity[`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from console import Ended, mcptest, run
from hostile_server import ATTACK, INLINE
from mock_client import call, mocking

from mcptest.cli.commands.run import COMMAND
from mcptest.cli.main import main

SERVERS = Path(__file__).parents[2] / "servers"
SERVER = ("--", sys.executable, str(SERVERS / "hostile_server.py"))
COMMANDS = re.compile(r"(?:^|[\r\n])\s*(?:\x1b\[[0-9;]*m)*\s*::|##\[|##vso\[|##teamcity\[")


def named(words: tuple[str, ...]) -> str:
    """The words as the name of a test, which is shown in logs as well."""
    return " ".join(words).replace(INLINE, "INLINE").replace(ATTACK, "ATTACK")


def obeyed(ended: Ended) -> list[str]:
    return COMMANDS.findall(ended.out) + COMMANDS.findall(ended.err)


def test_the_pattern_finds_each_kind() -> None:
    assert len(COMMANDS.findall(ATTACK)) == 9
    assert COMMANDS.findall("a ::b \\u003a:c #\\u0023[d\n  - '::e'") == []


# What a server says

ASKING = [
    ("list",),
    ("list", "--json"),
    ("call", "show"),
    ("call", "show", "--json"),
    ("call", "show", "--raw"),
    ("call", "show", "--verbose"),
    ("call", "refused"),
    ("call", "refused", "--json"),
    ("call", "noise"),
    ("call", "noise", "--json"),
    ("call", INLINE),
    ("call", "show", f"{INLINE}=1"),
    ("call", "show", f"{INLINE}"),
    ("read", "a://b"),
    ("read", "a://b", "--json"),
    ("read", INLINE),
    ("prompt", "ask"),
    ("prompt", "ask", "--json"),
    ("prompt", INLINE),
    ("discover",),
    ("docs",),
    ("docs", "--format", "html"),
    ("docs", "--title", ATTACK),
    ("init",),
]


@pytest.mark.parametrize("words", ASKING, ids=named)
def test_ci_commands_from_a_server_have_no_effect(tmp_path: Path, words: tuple[str, ...]) -> None:
    ended = mcptest(tmp_path, *words, *SERVER)
    assert ended.out + ended.err
    assert ended.code != 4, ended.err
    assert obeyed(ended) == []


@pytest.mark.parametrize(
    "words", [("list",), ("call", "show"), ("read", "a://b"), ("prompt", "ask")], ids=named
)
def test_nor_is_it_where_it_is_made_for_reading(tmp_path: Path, words: tuple[str, ...]) -> None:
    script = "import pty, sys; status = pty.spawn(sys.argv[1:]); sys.exit(status and 1)"
    argv = [sys.executable, "-c", script, sys.executable, "-m", "mcptest", *words, *SERVER]
    ended = run(argv, tmp_path, {"TERM": "xterm", "COLUMNS": "80"})
    assert "by line" in ended.out
    assert COMMANDS.findall(ended.out.replace("\r\n", "\n").replace("\r\x1b[K", "")) == []


def test_json_still_has_the_value(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "call", "show", *SERVER)
    assert ended.report()["content"][0]["text"] == ATTACK


def test_the_file_that_discover_writes_to_standard_output_still_has_the_values(
    tmp_path: Path,
) -> None:
    ended = mcptest(tmp_path, "discover", *SERVER)
    written = yaml.safe_load(ended.out)
    assert INLINE in json.dumps(written)
    tools = {test["request"]["params"].get("name") for test in written["tests"]}
    assert {"show", INLINE} <= tools
    (tmp_path / "a.test.mcp.yml").write_text(ended.out, encoding="utf-8")
    assert obeyed(mcptest(tmp_path, "run", "a.test.mcp.yml")) == []


# What a file says


def conductor(text: str) -> str:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    request["params"] = {"name": "show", "arguments": {"a": text}}
    expect = {"response": {"match:partial": {"result": {"content": [{"text": text}]}}}}
    test = {"it": text, "tags": [text], "request": request, "expect": expect}
    server = {"name": "s", "command": sys.executable, "args": [SERVER[-1], text]}
    return json.dumps({"description": text, "server": server, "tests": [test]})


SUITE = {
    "servers": {"s": {"command": [sys.executable, SERVER[-1]]}},
    "tools": [
        {
            "name": ATTACK,
            "tool": "show",
            "args": {INLINE: ATTACK},
            "expect": [{"target": "result.content[0].text", "matcher": {"exact": ATTACK}}],
        },
        {"name": "other", "tool": "refused", "args": {"a": INLINE}},
    ],
}
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": INLINE}}
REPLY = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": ATTACK}]}}
CASES = json.dumps({"case": INLINE, "in": REQUEST, "out": REPLY})
LOG = f"{json.dumps(REQUEST)}\n{json.dumps(REPLY)}\n"
# Mistakes whose excerpts quote the attack, at the beginning of a line as well.
BROKEN = "tests:\n  - it: a\n::error::x ##[error]y: [\n##vso[a]b\n"
WRONG = json.dumps({INLINE: 1, "tests": [{"it": INLINE, INLINE: ATTACK}]}, indent=0)
BLOCK = 'description: a\ntests:\n  - it: |\n      ::error::a\n      ##[error]b\n    "##[x": 1\n'

READING = [
    ("validate", "a.test.mcp.yml"),
    ("validate", "a.test.mcp.yml", "--json"),
    ("validate", "broken.test.mcp.yml"),
    ("validate", "wrong.test.mcp.yml"),
    ("validate", "block.test.mcp.yml"),
    ("validate", "broken.test.mcp.yml", "wrong.test.mcp.yml", "--json"),
    ("run", "wrong.test.mcp.yml"),
    ("run", "wrong.test.mcp.yml", "--json"),
    ("run", "a.test.mcp.yml"),
    ("run", "a.test.mcp.yml", "--verbose"),
    ("run", "a.test.mcp.yml", "--watch", "--nope"),
    ("run", "s.mcptest.yaml"),
    ("run", "s.mcptest.yaml", "-k", INLINE),
    ("run", INLINE),
    ("run", "--reporter", INLINE),
    ("run", "--config", INLINE),
    ("migrate", "a.test.mcp.yml"),
    ("migrate", "a.cases.yaml"),
    ("migrate", "a.cases.yaml", "--server-command", "run"),
    ("migrate", "broken.test.mcp.yml"),
    ("cases", "from", "log.ndjson"),
    ("cases", "from", "log.ndjson", "--keep-values"),
    ("cases", "from", "broken.test.mcp.yml"),
    ("cases", INLINE),
    ("docs", "a.cases.yaml"),
    ("docs", "a.cases.yaml", "--format", "html"),
    ("docs", "broken.test.mcp.yml"),
    ("compliance", "invariants", "--capture", "capture.json"),
    ("compliance", "invariants", "--capture", "capture.json", "--format", "json"),
    ("compliance", "invariants", "--capture", "capture.json", "--format", "junit"),
    ("compliance", "invariants", "--capture", "broken.test.mcp.yml"),
    ("report", "run.json"),
    ("report", "run.json", "--format", "markdown"),
    ("report", "run.json", "--format", "html"),
    ("report", "broken.test.mcp.yml"),
    ("mock", "broken.test.mcp.yml"),
    ("mock", "a.cases.yaml"),
    ("plugin", INLINE),
    ("schema", INLINE),
    (INLINE,),
    ("run", f"--{INLINE}"),
    (ATTACK,),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    texts = {
        "a.test.mcp.yml": conductor(ATTACK),
        "s.mcptest.yaml": json.dumps(SUITE),
        "a.cases.yaml": CASES,
        "log.ndjson": LOG,
        "broken.test.mcp.yml": BROKEN,
        "wrong.test.mcp.yml": WRONG,
        "block.test.mcp.yml": BLOCK,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    mcptest(
        folder, "run", "a.test.mcp.yml", "--capture", "capture.json", "--reporter=json=run.json"
    )
    return folder


@pytest.mark.parametrize("words", READING, ids=named)
def test_ci_commands_from_a_file_or_a_command_line_have_no_effect(
    files: Path, words: tuple[str, ...]
) -> None:
    ended = mcptest(files, *words)
    assert ended.out + ended.err
    assert ended.code != 4, ended.err
    assert obeyed(ended) == []


def test_the_output_of_migrate_still_has_the_values(files: Path) -> None:
    ended = mcptest(files, "migrate", "a.cases.yaml", "--server-command", "run")
    documents = [document for document in yaml.safe_load_all(ended.out) if document]
    assert json.dumps(ATTACK) in json.dumps(documents)
    assert json.dumps(INLINE) in json.dumps(documents)


def test_a_contract_from_traffic_still_has_the_values(files: Path) -> None:
    ended = mcptest(files, "cases", "from", "log.ndjson", "--keep-values")
    (written,) = [document for document in yaml.safe_load_all(ended.out) if document]
    assert json.dumps(ATTACK) in json.dumps(written)
    assert json.dumps(INLINE) in json.dumps(written)


def test_the_report_of_a_mock_is_not_obeyed(files: Path) -> None:
    with mocking(files, "a.cases.yaml") as client:
        client.ask("initialize", {"protocolVersion": "2025-06-18"})
        client.send(call(f"{INLINE}{ATTACK}"), call(INLINE))
        client.message()
        client.message()
        ended = client.leave()
    assert "::error::by" in ended.err
    assert COMMANDS.findall(ended.err) == []


def test_a_traceback_is_not_obeyed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> int:
        raise ZeroDivisionError(ATTACK)

    monkeypatch.setattr("mcptest.cli.commands.run.COMMAND", COMMAND.but(run=broken))
    assert main(["run", "x", "--json"]) == 4
    out, err = capfd.readouterr()
    assert "by line" in err
    assert COMMANDS.findall(out) + COMMANDS.findall(err) == []
    assert "\x1b" not in err
