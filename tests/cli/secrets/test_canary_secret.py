"""A secret that a server sends everywhere appears in the output of no feature."""

from __future__ import annotations

import base64
import html
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import pytest
from console import mcptest, run, write_suite
from leaky_server import LOUD, QUIET, shapes_of
from record_client import ask, recording
from terminal import on_terminal

from mcptest.reporters.registry import REPORTERS

if TYPE_CHECKING:
    pass

LEAKY = str(Path(__file__).parents[2] / "servers" / "leaky_server.py")

# Every encoding changes something in it, and its first six characters occur nowhere else.
SECRET = 'c4n4ry/&"<\\ ü+%7'
HEAD = "c4n4ry"


def inner_base64(raw: bytes, shift: int) -> bytes:
    """What base64 makes of these bytes alone, this far into a longer text."""
    encoded = base64.b64encode(b"." * shift + raw).rstrip(b"=")
    return encoded[(0, 2, 3)[shift] :][:-1]


FORMS = {
    *(shape.rstrip("=\n")[:-1].encode() for shape in shapes_of(SECRET).values()),
    *(inner_base64(HEAD.encode(), shift) for shift in range(3)),
    *(shapes_of(HEAD)[name].encode() for name in ("plain", "hex", "hex-upper")),
}


def traces_in(written: bytes) -> list[str]:
    """What of the secret is left in these bytes, as it is or however it is escaped."""
    found = [form.decode() for form in FORMS if form in written]
    text = written.decode("utf-8", "replace").replace("\0", "")
    for _ in range(4):
        found += [text[max(0, at - 60) : at + 60] for at in [text.find(HEAD)] if at >= 0]
        text = html.unescape(unquote(re.sub(r"\\(?:u00(..)|(.))", _unescaped, text)))
    return found


def _unescaped(found: re.Match[str]) -> str:
    return unquote(f"%{found[1]}") if found[1] else found[2]


class Written(NamedTuple):
    """What a command has left: its exit status, its output, and every file that is new."""

    code: int
    parts: dict[str, bytes]


def written_by(folder: Path, *words: str, secret: str = SECRET) -> Written:
    before = set(folder.rglob("*"))
    ended = mcptest(folder, *words, CANARY=secret)
    parts = {"stdout": ended.out.encode(), "stderr": ended.err.encode()}
    for path in set(folder.rglob("*")) - before:
        assert traces_in(path.name.encode()) == []
        if path.is_file():
            parts[path.name] = path.read_bytes()
    return Written(ended.code, parts)


def write_config(folder: Path, *arguments: str, **keys: Any) -> None:
    config = {"name": "leaky", "command": sys.executable, "args": [LEAKY, *arguments], **keys}
    config |= {"env": {"KEY": "${CANARY}"}}
    (folder / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")


def called(name: str, **keys: Any) -> dict[str, Any]:
    """A test that calls a tool and expects something else."""
    params = {"name": name, "arguments": {"text": "x"}}
    request = {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params}
    wanted = {"response": {"jsonrpc": "2.0", "id": name, "result": {"content": "something else"}}}
    return {"it": f"calls {name}", "request": request, "expect": wanted, **keys}


def expecting(name: str, tool: str, **expect: Any) -> dict[str, Any]:
    return {**called(tool), "it": name, "expect": expect}


def partial(result: object) -> dict[str, Any]:
    return {"response": {"match:partial": {"result": result}}}


def write_tests(folder: Path) -> None:
    """Tests that pass, fail and break, each on something that holds the secret."""
    write_suite(
        folder / "a.test.mcp.yml",
        *(called(name) for name in (*LOUD, *QUIET) if name not in ("dies", "hangs")),
        expecting("passes", "plain", **partial({"content": "match:arrayLength:1"})),
        expecting("passes loudly", "results", **partial({"content": "match:notEmpty"})),
        expecting("wants other text", "long", **partial({"content": [{"text": "match:regex:^x"}]})),
        expecting("wants its stderr", "results", stderr="match:contains:something else"),
        {
            **expecting("waits for a call", "notify", notifications=["notifications/none"]),
            "tags": "slow",
        },
        expecting("wants another key", "structured", **partial({"structuredContent": {"kex": 1}})),
        called("dies"),
        expecting("goes on", "plain", **partial({"content": "match:arrayLength:1"})),
        {**called("plain"), "it": "left out", "skip": "not today"},
        expecting("is tried again", "results", **partial({"content": []})) | {"retries": 1},
        # It does not recover from that, so this is the last test of its process.
        called("hangs", timeout="300ms", tags="slow"),
    )
    write_suite(
        folder / "b.test.mcp.yml",
        {
            **expecting("keeps it", "structured", **partial({"content": "match:notEmpty"})),
            "capture": {"kept": "result.structuredContent.key", "all": "result.content[0]"},
        },
        {
            "it": "sends it back",
            "tool": "echo",
            "arguments": {"text": "${kept} and ${all}"},
            "expect": partial({"content": [{"text": "match:contains:nothing of the kind"}]}),
        },
        {
            "it": "reads it",
            "resource": "file:///${kept}",
            "expect": partial({"contents": []}),
        },
        {"it": "is greeted with it", "prompt": "greet", "expect": partial({"messages": []})},
        {"it": "lists it", "list": "tools", "expect": {"response": {"result": {"tools": []}}}},
    )


FILES = {name: f"report.{name}" for name in REPORTERS if name != "terminal"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("canary")
    write_config(place, isolation="file", timeout="5s")
    write_tests(place)
    return place


@pytest.fixture(scope="module")
def everything(folder: Path) -> Written:
    """One run with every report there is."""
    reports = [word for name, file in FILES.items() for word in ("--reporter", f"{name}={file}")]
    return written_by(
        folder,
        *("run", "--verbose", "--strict-invariants", "--min-coverage", "100", *reports),
        *("--junit", "more.xml", "--capture", "capture.json"),
    )


@pytest.mark.long
@pytest.mark.parametrize("part", ["stdout", "stderr", *FILES.values(), "more.xml", "capture.json"])
def test_no_report_of_a_run_holds_the_secret(everything: Written, part: str) -> None:
    assert everything.code == 1
    assert traces_in(everything.parts[part]) == []
    # It was there to be seen; only standard error has nothing to say.
    assert (b"[secret]" in everything.parts[part]) == (part != "stderr")


def traces_of(done: Written) -> dict[str, list[str]]:
    found = {name: traces_in(raw) for name, raw in done.parts.items()}
    return {name: traces for name, traces in found.items() if traces}


def assert_hidden(done: Written) -> None:
    """Whatever was written holds no trace of the secret, and some of it said it was there."""
    assert traces_of(done) == {}
    assert any(b"[secret]" in raw for raw in done.parts.values())


RUNS = {
    "terminal": (),
    "json": ("--json",),
    "ndjson": ("--reporter", "ndjson"),
    "github": ("--reporter", "github"),
    "parallel": ("--parallel", "2", "--reporter", "json=parallel.json", "--capture", "both.json"),
    "bail": ("--bail", "--retries", "1", "-k", "calls results"),
    "only failures are logged": ("--reporter", "html=few.html"),
}


@pytest.mark.long
@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS)
def test_no_way_to_run_tells_the_secret(folder: Path, words: tuple[str, ...]) -> None:
    done = written_by(folder, "run", "--skip-tag", "slow", *words)
    assert done.code == 1
    assert_hidden(done)


@pytest.mark.long
def test_the_live_output_of_a_test_is_without_the_secret(folder: Path) -> None:
    raw = shown_on_a_terminal(folder, "run", "--skip-tag", "slow", "--verbose")
    assert b"\x1b[" in raw
    assert_hidden(Written(1, {"terminal": raw}))


LATER = {
    "compliance": ("compliance", "invariants", "--capture", "capture.json"),
    "cases from": ("cases", "from", "capture.json", "-o", "made.cases.yaml"),
    "report": ("report", "report.json", "--format", "html=again.html"),
    "report merge": ("report", "merge", "report.json", "-o", "merged.json"),
}


@pytest.mark.parametrize("words", LATER.values(), ids=LATER)
def test_output_made_from_a_report_or_a_capture_has_no_secret(
    folder: Path, everything: Written, words: tuple[str, ...]
) -> None:
    assert "capture.json" in everything.parts
    done = written_by(folder, *words)
    assert done.code in (0, 1)
    assert_hidden(done)


def test_a_broken_contract_is_reported_without_the_secret(tmp_path: Path) -> None:
    write_config(tmp_path, timeout="5s")
    hook = [sys.executable, "-c", "import os, sys; sys.exit(os.environ['CANARY'])"]
    head = {"jsonrpc": "2.0", "id": 1}
    cases = [
        {
            "case": f"calls {name}",
            "in": {**head, "method": "tools/call", "params": {"name": name, "arguments": {}}},
            "out": {**head, "result": {"content": [], "structuredContent": {"key": 1}}},
            "_strict": True,
        }
        for name in ("structured", "fails", "notify", "strays", "noise", "dies")
    ]
    before = {"command": hook[0], "arguments": hook[1:]}
    cases.append({**cases[0], "case": "has a hook", "_before": before})
    text = "\n---\n".join(map(json.dumps, cases))
    (tmp_path / "a.cases.yaml").write_text(text, encoding="utf-8")
    done = written_by(tmp_path, "run", "--verbose", "--reporter", "json=r.json")
    assert done.code == 1
    assert_hidden(done)


@pytest.mark.long
def test_a_suite_and_its_snapshots_have_no_secret(tmp_path: Path) -> None:
    suite = {
        "servers": {"leaky": {"command": [sys.executable, LEAKY], "env": {"KEY": "${key}"}}},
        "variables": {"key": {"secret_env": "CANARY"}},
        "tools": [
            {
                "name": f"calls {name} with a secret",
                "tool": name,
                "args": {"text": "${key}"},
                "expect": [
                    {"target": "result", "matcher": {"snapshot": True}},
                    {"target": "result.content[0].text", "matcher": {"regex": "^nothing"}},
                    {"target": "result.content[0].text", "matcher": {"exact": "x"}},
                    {"target": "stderr", "matcher": {"contains": "something else"}},
                ],
            }
            for name in ("structured", "fails", "long", "echo", "noise")
        ],
    }
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    for words in (("--verbose",), ("--json",), ("--update-snapshots", "--capture", "c.json")):
        done = written_by(tmp_path, "run", "mcptest.yaml", *words)
        assert done.code == 1
        assert_hidden(done)


PLUGIN = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "die":
        sys.exit(f"cannot judge {line}")
    verdict = {"pass": False, "message": line}
    if request["method"] == "chat":
        verdict["hint"] = str(request["params"])
    print(json.dumps({"id": request["id"], "result": verdict}), flush=True)
"""


def test_a_plugin_cannot_print_it(tmp_path: Path) -> None:
    """It is given what the server said, and may say it again."""
    write_config(tmp_path)
    (tmp_path / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    tests = [
        expecting(f"asks {name}", "structured", **partial({"content": f"match:plugin:loud.{name}"}))
        for name in ("tell", "chat", "die")
    ]
    write_suite(tmp_path / "a.test.mcp.yml", *tests)
    plugin = f"loud={sys.executable} plugin.py"
    done = written_by(tmp_path, "run", "--plugin", plugin, "--reporter", "json=r.json")
    assert done.code == 1
    assert_hidden(done)


BROKEN = ("die", "refuse", "shape", "version", "garble", "silence")


@pytest.mark.parametrize("command", ["run", "list", "discover"])
@pytest.mark.parametrize("mode", BROKEN)
def test_a_server_that_never_starts_cannot_print_it(
    tmp_path: Path, mode: str, command: str
) -> None:
    write_config(tmp_path, mode, startupTimeout="500ms")
    write_suite(tmp_path / "a.test.mcp.yml", called("plain"))
    is_run = command == "run"
    words = ("--json", "--capture", "c.json") if is_run else ("--verbose",)
    done = written_by(tmp_path, command, *words)
    assert done.code == 3
    assert_hidden(done)


# Exploring

EXPLORING = {
    "list": ("list",),
    "list --raw": ("list", "--raw"),
    "list resources": ("list", "resources"),
    **{f"call {name}": ("call", name) for name in (*LOUD, *QUIET) if name != "plain"},
    "call --raw": ("call", "structured", "--raw"),
    "call --json": ("call", "fails", "--json"),
    "call what is not there": ("call", "resultz"),
    "call with what is not there": ("call", "results", "no=1"),
    "read": ("read", "file:///x"),
    "read what is not there": ("read", "nothing"),
    "prompt": ("prompt", "greet"),
    "prompt what is not there": ("prompt", "greed"),
    "docs": ("docs",),
    "docs in html": ("docs", "-o", "docs.html"),
    "discover": ("discover", "-o", "found.test.mcp.yml"),
    "discover, to standard output": ("discover",),
}


@pytest.fixture(scope="module")
def bare_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("exploring")
    write_config(place)
    return place


@pytest.mark.parametrize("words", EXPLORING.values(), ids=EXPLORING)
def test_no_exploring_command_tells_the_secret(bare_folder: Path, words: tuple[str, ...]) -> None:
    done = written_by(bare_folder, *words, "--timeout", "300ms", "--verbose")
    assert done.code in (0, 1, 2)
    assert_hidden(done)


@pytest.mark.parametrize(
    "words", [("list",), ("call", "structured"), ("read", "file:///x"), ("prompt", "greet")]
)
def test_nor_does_it_on_a_terminal(bare_folder: Path, words: tuple[str, ...]) -> None:
    raw = shown_on_a_terminal(bare_folder, *words, "--verbose")
    assert_hidden(Written(0, {"terminal": raw}))


# Recording


def test_a_recording_has_none_of_the_named_secrets(tmp_path: Path) -> None:
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": SECRET}}
    calls = ("structured", "noise", "fails", "notify", "long")
    said = [
        ask(0, "initialize", **info),
        *(ask(name, "tools/call", name=name, arguments={"token": SECRET}) for name in calls),
    ]
    data = "".join(f"{json.dumps(each)}\n" for each in said) + f"no message: {SECRET}\n"
    words = ("-o", "s.json", "--redact", "KEY")
    command = [sys.executable, LEAKY]
    with recording(tmp_path, *words, command=command, env={"KEY": SECRET}) as client:
        received = client.converse(data.encode())
        assert client.status() == 0
    # The client gets every byte as the server wrote it.
    assert SECRET.encode() in received
    assert_hidden(Written(0, {"s.json": (tmp_path / "s.json").read_bytes()}))
    done = written_by(tmp_path, "cases", "from", "s.json")
    assert done.code == 0
    assert_hidden(done)


def test_a_contract_of_a_log_has_no_secret_that_its_key_gives_away(tmp_path: Path) -> None:
    """This log was not blanked before: only the key says what is secret in it."""
    shapes = shapes_of(SECRET)
    call = {"name": "log_in", "arguments": {"password": SECRET}}
    content = [{"type": "text", "text": f"{name}: {shape}"} for name, shape in shapes.items()]
    result = {"content": content, "structuredContent": shapes}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 1, "result": result},
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (tmp_path / "tee.log").write_text(text, encoding="utf-8")
    for words in ((), ("--keep-values",)):
        done = written_by(tmp_path, "cases", "from", "tee.log", *words)
        assert done.code == 0
        assert traces_of(done) == {}


# Faults of ours

BROKEN_MCPTEST = """
import os, sys
import mcptest.engine.run as run
from mcptest.cli.main import main
def broken(*arguments):
    raise RuntimeError("broken by " + os.environ["CANARY"])
run.run_plan = broken
sys.exit(main(sys.argv[1:]))
"""


def test_an_internal_error_is_reported_without_the_secret(tmp_path: Path) -> None:
    write_config(tmp_path)
    write_suite(tmp_path / "a.test.mcp.yml", called("plain"))
    words = ("run", "--json", "--reporter", "html=r.html", "--junit", "r.xml")
    ended = run([sys.executable, "-c", BROKEN_MCPTEST, *words], tmp_path, {"CANARY": SECRET})
    parts = {"stdout": ended.out.encode(), "stderr": ended.err.encode()}
    parts |= {name: (tmp_path / name).read_bytes() for name in ("r.html", "r.xml")}
    assert ended.code == 4
    assert "RuntimeError" in ended.err
    assert_hidden(Written(4, parts))


# Weak secrets


@pytest.mark.parametrize(
    ("value", "reason"),
    [("k7", "is too short to be blanked"), ("True", "is too common a word to be blanked")],
)
@pytest.mark.parametrize("words", [("run", "--json"), ("list", "--raw"), ("validate", ".")])
def test_a_secret_that_cannot_be_blanked_is_warned_of_and_not_quoted(
    tmp_path: Path, words: tuple[str, ...], value: str, reason: str
) -> None:
    server: dict[str, Any] = {"name": "leaky", "command": sys.executable, "args": [LEAKY]}
    # By its name only one of them is a secret.
    server["env"] = {"KEY": "x", "API_TOKEN": "${CANARY}", "MODE": "${CANARY}"}
    if words[0] == "validate":
        write_suite(tmp_path / "a.test.mcp.yml", called("plain"), server=server)
    else:
        write_suite(tmp_path / "a.test.mcp.yml", called("plain"))
        config = tmp_path / "conductor.config.json"
        config.write_text(json.dumps(server), encoding="utf-8")
    ended = mcptest(tmp_path, *words, CANARY=value)
    assert (ended.out + ended.err).count(f"the value of 'CANARY' {reason}") == 1
    assert (ended.out + ended.err).count("W003") == 1


def test_a_weak_secret_of_a_suite_is_warned_of_whatever_its_name(tmp_path: Path) -> None:
    env = {"MODE": {"secret_env": "CANARY"}, "OTHER": {"from_env": "CANARY"}}
    server = {"command": [sys.executable, LEAKY], "env": env}
    suite = {"servers": {"leaky": server}, "tools": [{"name": "a", "tool": "plain"}]}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "validate", "mcptest.yaml", CANARY="k7")
    assert (ended.out + ended.err).count("W003") == 1
    assert "W003" not in mcptest(tmp_path, "validate", "mcptest.yaml", CANARY="k7k7").err


# The tool of the trade


def shown_on_a_terminal(folder: Path, *words: str) -> bytes:
    """All that a command writes to a terminal on which it runs."""
    ended = on_terminal(folder, *words, environment={"CANARY": SECRET, "COLUMNS": "100"})
    assert ended.code in (0, 1)
    return ended.out.encode()


@pytest.mark.parametrize("name", [*shapes_of(SECRET), "half"])
def test_these_tests_would_see_the_secret(name: str) -> None:
    shape = {**shapes_of(SECRET), "half": SECRET[:8]}[name]
    assert traces_in(f"before {shape} after".encode()) != []
    assert traces_in(b"before [secret] after") == []
