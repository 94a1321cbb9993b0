"""One secret, a server that tells it everywhere, and every feature that writes: it is nowhere."""

from __future__ import annotations

import base64
import html
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import pytest
from console import ENVIRONMENT, PATIENCE_S, mcptest, run, write_suite
from leaky_server import LOUD, QUIET, shapes_of
from record_client import Recorded

from mcptest.cli.report_names import REPORTERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEAKY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "servers", "leaky_server.py")

# Every encoding changes something in it, and its first six characters stand nowhere else.
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
        expecting("wants a notification", "notify", notifications=["notifications/none"]),
        expecting("wants another key", "structured", **partial({"structuredContent": {"kex": 1}})),
        called("dies"),
        expecting("goes on", "plain", **partial({"content": "match:arrayLength:1"})),
        {**called("plain"), "it": "left out", "skip": "not today"},
        expecting("is tried again", "results", **partial({"content": []})) | {"retries": 1},
        # It does not come back from that, so this is the last of its process.
        called("hangs", timeout="300ms"),
    )
    write_suite(
        folder / "b.test.mcp.yml",
        {
            **expecting("keeps it", "structured", **partial({"content": "match:notEmpty"})),
            "capture": {"kept": "result.structuredContent.key", "all": "result"},
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


@pytest.mark.parametrize("part", ["stdout", "stderr", *FILES.values(), "more.xml", "capture.json"])
def test_no_report_of_a_run_holds_the_secret(everything: Written, part: str) -> None:
    assert everything.code == 1
    assert traces_in(everything.parts[part]) == []
    # It was there to be seen; only standard error has nothing to say.
    assert (b"[secret]" in everything.parts[part]) == (part != "stderr")


RUNS = {
    "terminal": (),
    "json": ("--json",),
    "ndjson": ("--reporter", "ndjson"),
    "github": ("--reporter", "github"),
    "parallel": ("--parallel", "2", "--reporter", "json=parallel.json", "--capture", "both.json"),
    "bail": ("--bail", "--retries", "1", "-k", "calls results"),
    "only failures are logged": ("--reporter", "html=few.html"),
}


@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS)
def test_no_way_to_run_tells_the_secret(folder: Path, words: tuple[str, ...]) -> None:
    done = written_by(folder, "run", *words)
    assert done.code == 1
    assert {name: traces_in(raw) for name, raw in done.parts.items()} == dict.fromkeys(
        done.parts, []
    )
    assert any(b"[secret]" in raw for raw in done.parts.values())


def test_the_capture_stays_clean_when_it_is_judged_and_rendered_again(
    folder: Path, everything: Written
) -> None:
    assert everything.code == 1
    for words in (
        ("compliance", "invariants", "--capture", "capture.json"),
        ("cases", "from", "capture.json"),
        ("report", "report.json", "--format", "html=again.html", "--format", "terminal"),
    ):
        done = written_by(folder, *words)
        assert {name: traces_in(raw) for name, raw in done.parts.items()} == dict.fromkeys(
            done.parts, []
        )
