"""The golden frames of the coprocess protocol, for our binary, for our SDK, and a fake binary."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from case_tables import each_case
from golden import golden_rows, raw, same

from mcptest import _coprocess
from mcptest.coprocess import protocol
from mcptest.coprocess.protocol import (
    CONNECTION_METHODS,
    COPROCESS_PROTOCOL_VERSION,
    RefusedError,
    describe_version_mismatch,
    read_request,
)
from mcptest.coprocess.uploads import BadTargetError, read_target
from mcptest.protocol.framing import LineDecoder, encode_line
from mcptest.sdk import coprocess
from mcptest.sdk.coprocess import Coprocess
from mcptest.sdk.expect import read_verdict

if TYPE_CHECKING:
    Row = dict[str, Any]

ROOT = Path(__file__).parent.parent.parent
CHANNEL = ROOT / "protocol" / "coprocess"
FOLDER = CHANNEL / f"v{COPROCESS_PROTOCOL_VERSION}"
THEMES = sorted(FOLDER.glob("*.jsonl"))
FAKE = CHANNEL / "fake_binary.py"
MIRROR = [sys.executable, "-S", "-E", str(ROOT / "tests" / "servers" / "mirror_server.py")]
PATIENCE_S = 60.0

BOTH = {"name", "direction", "frame", "frame_base64", "needs"}
MEMBERS = {
    "sdk": {*BOTH, "written", "reads_as", "refused_as", "dropped"},
    "binary": {*BOTH, "answers", "waiting_for", "reads_as", "verdict", "refused_as", "message"},
}
NEEDS = {"big integers", "lone surrogates", "strict keys", "strict numbers", "strict UTF-8"}
CODES = (-32700, -32600, -32601, -32602)

GOLDEN = golden_rows(THEMES)
SDKS = [row for row in GOLDEN if row.values[0]["direction"] == "sdk"]
BINARIES = [row for row in GOLDEN if row.values[0]["direction"] == "binary"]


# The files


def test_every_theme_has_its_file() -> None:
    assert [theme.stem for theme in THEMES] == [
        "big-numbers",
        "errors",
        "large-payload",
        "mismatch",
        "not-json",
        "request",
        "response",
        "strictness",
        "unicode",
        "verdict",
    ]


@each_case("row", GOLDEN)
def test_a_row_says_one_line_and_one_meaning(row: Row) -> None:
    assert set(row) <= MEMBERS[row["direction"]]
    assert len({"frame", "frame_base64"} & set(row)) == 1
    assert len({"reads_as", "refused_as", "dropped"} & set(row)) == 1
    assert row.get("needs", "big integers") in NEEDS
    assert b"\n" not in raw(row)
    if row["direction"] == "binary":
        assert row["answers"] in CONNECTION_METHODS
        assert row.get("refused_as", "contract") in ("contract", "version")
        assert ("message" in row) == (row.get("refused_as") == "version")
    elif "refused_as" in row:
        assert row["refused_as"]["code"] in CODES


def test_every_method_meaning_and_code_is_there() -> None:
    rows = [row.values[0] for row in SDKS]
    assert {row["reads_as"]["method"] for row in rows if "reads_as" in row} == set(
        CONNECTION_METHODS
    )
    assert {row["refused_as"]["code"] for row in rows if "refused_as" in row} == set(CODES)
    answers = [row.values[0] for row in BINARIES]
    assert {row["answers"] for row in answers} == set(CONNECTION_METHODS)
    assert {row.get("refused_as") for row in answers} == {None, "contract", "version"}
    for each in (rows, answers):
        assert any(len(raw(row)) > 65536 for row in each), "more than a pipe holds"


# What an SDK writes, and what the binary makes of it


@each_case("row", SDKS)
def test_a_line_of_an_sdk_is_read_refused_or_ignored(row: Row) -> None:
    assert same(read_by_binary(raw(row)), meaning_of(row))


def meaning_of(row: Row) -> Row:
    return {key: row[key] for key in ("reads_as", "refused_as", "dropped") if key in row}


def read_by_binary(line: bytes) -> Row:
    """What a line means to our side of the protocol, as a row has it."""
    items = LineDecoder().feed(line + b"\n")
    if not items:
        return {"dropped": True}
    try:
        request = read_request(items[0], CONNECTION_METHODS)
    except RefusedError as error:
        return {"refused_as": {"code": error.code, "id": error.id}}
    params = request.params
    if request.method == "coprocess/handshake" and (words := describe_version_mismatch(params)):
        return {"refused_as": {"code": -32602, "id": request.id, "message": words}}
    try:
        read_target(params.get("target", "file:none"))
    except BadTargetError:
        return {"refused_as": {"code": -32602, "id": request.id}}
    return {"reads_as": {"id": request.id, "method": request.method, "params": params}}


@each_case("row", [row for row in SDKS if row.values[0].get("written", True)])
def test_an_sdk_writes_these_very_bytes(row: Row) -> None:
    """Ours does; others may order and escape as their language has it."""
    request = {"jsonrpc": "2.0", **row["reads_as"]}
    if not request["params"]:
        del request["params"]
    assert encode_line(request) == raw(row) + b"\n"


# After a mismatch nothing else would be read.
LIFT = {
    "jsonrpc": "2.0",
    "id": "lift",
    "method": "coprocess/handshake",
    "params": {"protocol_version": COPROCESS_PROTOCOL_VERSION},
}


def talk(folder: Path, lines: list[bytes]) -> list[Any]:
    """What a real binary, with a server that mirrors what it is asked, answers to all of them."""
    words = ["exec", "--connection-server", "--server-command", shlex.join(MIRROR)]
    done = subprocess.run(
        [sys.executable, "-m", "mcptest", *words],
        cwd=folder,
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.split(b"\n")[:-1]]


def test_a_real_binary_answers_every_line_as_it_is_meant(tmp_path: Path) -> None:
    rows = [row.values[0] for row in SDKS if not _says_goodbye(row.values[0])]
    lines = [line for row in rows for line in (raw(row), encode_line(LIFT).rstrip())]
    answers = iter(talk(tmp_path, lines))
    for row in rows:
        if "dropped" not in row:
            _check_answer(row, next(answers))
        assert next(answers)["id"] == "lift", row["name"]
    assert list(answers) == []


def _says_goodbye(row: Row) -> bool:
    return bool(row.get("reads_as", {}).get("method") == "mcp.shutdown")


def _check_answer(row: Row, answer: Any) -> None:
    assert answer["jsonrpc"] == "2.0"
    if "refused_as" in row:
        wanted = row["refused_as"]
        assert same([answer["id"], answer["error"]["code"]], [wanted["id"], wanted["code"]])
        assert wanted.get("message", answer["error"]["message"]) == answer["error"]["message"]
    else:
        request = row["reads_as"]
        assert same(answer["id"], request["id"]), row["name"]
        assert same(answer["result"], _mirrored(request, answer["result"])), row["name"]


def _mirrored(request: Row, result: Any) -> object:
    """What a binary whose server is a mirror answers."""
    method, params = request["method"], request["params"]
    name = params.get("name", params.get("prompt"))
    asked = {
        "mcp.call": {"name": params.get("tool"), "arguments": params.get("arguments", {})},
        "mcp.readResource": params,
        "mcp.callPrompt": {"name": name}
        | ({"arguments": params["arguments"]} if "arguments" in params else {}),
    }
    if method in asked:
        return {"asked": asked[method]}
    if method == "coprocess/handshake":
        return {**result, "protocol_version": COPROCESS_PROTOCOL_VERSION}
    if method == "mcp.initialize":
        return {**result, "serverInfo": {"name": "mirror", "version": "1"}}
    if method in ("mcp.listTools", "mcp.listResources"):
        (key,) = {"mcp.listTools": ["tools"], "mcp.listResources": ["resources"]}[method]
        return {key: [result[key][0]]}
    if method == "mcp.reporter.flush":
        return {"flushed": 0}
    return {key: params[key] for key in ("mode", "enabled") if key in params}


def test_a_real_binary_says_goodbye_as_it_is_written(tmp_path: Path) -> None:
    goodbyes = [row.values[0] for row in SDKS if _says_goodbye(row.values[0])]
    assert goodbyes
    for row in goodbyes:
        assert talk(tmp_path, [raw(row)]) == [
            {"jsonrpc": "2.0", "id": row["reads_as"]["id"], "result": {}}
        ]


# What a binary writes, and what an SDK makes of it


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The fake binary instead of ours; the script is to be written to this file."""
    script = tmp_path / "script.json"
    script.write_text("{}", encoding="utf-8")
    monkeypatch.setenv("MCPTEST_BIN", shlex.join([sys.executable, "-S", "-E", str(FAKE)]))
    monkeypatch.setenv("FAKE_BINARY_SCRIPT", str(script))
    return script


def play(script: Path, row: Row) -> Any:
    """What our SDK makes of a frame that answers one of its requests."""
    frame = {key: row[key] for key in ("frame", "frame_base64") if key in row}
    script.write_text(json.dumps({"answers": {row["answers"]: frame}}), encoding="utf-8")
    with Coprocess(["server"], timeout=PATIENCE_S) as coprocess:
        coprocess.start()
        for _ in range(2, row.get("waiting_for", 2)):
            coprocess.request("mcp.reporter.flush")
        if row["answers"] == "coprocess/handshake":
            return {"protocol_version": 2, "binary_version": coprocess.binary_version}
        return coprocess.request(row["answers"])


@pytest.mark.parametrize("row", BINARIES)
def test_a_line_of_a_binary_is_read_or_refused(row: Row, fake: Path) -> None:
    wanted = {
        key: row[key] for key in ("reads_as", "verdict", "refused_as", "message") if key in row
    }
    if "message" in wanted:
        wanted["message"] = row["message"].replace("{sdk}", "python")
    found = read_by_sdk(fake, row)
    assert same({key: found.get(key) for key in wanted}, wanted)


def read_by_sdk(script: Path, row: Row) -> Row:
    """What a line means to our SDK, as a row has it."""
    id = row.get("waiting_for", 2)
    try:
        result = play(script, row)
        verdict = read_verdict(result, 0.0) if row["answers"] == "mcp.call" else None
    except _coprocess.VersionError as error:
        return {"refused_as": "version", "message": str(error)}
    except _coprocess.ContractError:
        return {"refused_as": "contract"}
    except _coprocess.RefusedError as error:
        said: Row = {"code": error.code, "message": error.message}
        has_data = "data" in row["reads_as"]["error"]
        return {"reads_as": {"id": id, "error": said | ({"data": error.data} if has_data else {})}}
    fields = {key: getattr(verdict, key) for key in row.get("verdict", {})}
    return {"reads_as": {"id": id, "result": result}, "verdict": fields}


def test_every_result_in_the_theme_of_verdicts_says_its_verdict() -> None:
    rows = [row.values[0] for row in BINARIES if str(row.id).startswith("verdict: ")]
    assert rows
    assert all(("verdict" in row) == ("reads_as" in row) for row in rows)
    verdicts = [row["verdict"] for row in rows if "verdict" in row]
    assert all(set(each) >= {"success", "data", "text", "error"} for each in verdicts)


# The fake binary


def fake_session(script: Row, *lines: bytes, **files: Path) -> tuple[bytes, bytes, int]:
    """What the fake binary says to these lines: stdout, stderr, and its status."""
    file = files["folder"] / "script.json"
    file.write_text(json.dumps(script), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-S", "-E", str(FAKE), "exec", "--connection-server"],
        env={"FAKE_BINARY_SCRIPT": str(file), "FAKE_BINARY_HEARD": str(files["folder"] / "heard")},
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode


def line(method: str, id: object = 2) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method}).encode()


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"result": {"a": "ü"}}, '{"jsonrpc":"2.0","id":2,"result":{"a":"ü"}}\n'),
        (
            {"error": {"code": -32601, "message": "no"}},
            '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}\n',
        ),
        (
            {"result": {}, "with": {"id": 99, "trace": 1}},
            '{"jsonrpc":"2.0","id":99,"result":{},"trace":1}\n',
        ),
        ({"frame": "mcptest 1.0"}, "mcptest 1.0\n"),
        ({"frame_base64": "YQ=="}, "a\n"),
        ({"half": '{"jsonrpc"'}, '{"jsonrpc"'),
        ({"golden": ["response", "goodbye"]}, '{"jsonrpc":"2.0","id":2,"result":{}}\n'),
        ({"all": [{"half": "a"}, {"wait_ms": 1}, {"frame": "b"}, {"result": 1}]}, "ab\n{"),
        ({"half_base64": "YQ=="}, "a"),
        ({"all": [{"half": "a"}, {"half": "b"}], "times": 3}, "ababab"),
        ({"deaf_ms": 1}, '{"jsonrpc":"2.0","id":2,"result":{"tools":['),
        ({"all": [{"quiet_ms": 1}, {"result": 1}]}, '{"jsonrpc":"2.0","id":2,"result":1}\n'),
        ({"silence": True}, ""),
    ],
)
def test_the_fake_binary_says_what_its_script_says(action: Row, said: str, tmp_path: Path) -> None:
    out, err, status = fake_session(
        {"answers": {"mcp.listTools": action}}, line("mcp.listTools"), folder=tmp_path
    )
    assert (err, status) == (b"", 0)
    assert out.decode().startswith(said)
    assert bool(out) == bool(said)


def test_the_fake_binary_floods_with_one_line_of_the_usual_answer(tmp_path: Path) -> None:
    script = {"answers": {"mcp.reporter.flush": {"flood": 3_000_000}}}
    out, _, _ = fake_session(script, line("mcp.reporter.flush"), folder=tmp_path)
    assert len(out) == 3_000_000 + len(b"\n")
    assert json.loads(out) == {"jsonrpc": "2.0", "id": 2, "result": {"flushed": 0}}


def test_the_fake_binary_writes_to_stderr(tmp_path: Path) -> None:
    actions = [{"stderr": "ab", "times": 2}, {"stderr_base64": "/w=="}, {"result": 1}]
    script = {"answers": {"mcp.call": {"all": actions}}}
    _, err, status = fake_session(script, line("mcp.call"), folder=tmp_path)
    assert (err, status) == (b"abab\xff", 0)


def test_the_fake_binary_records_input_before_an_answer(tmp_path: Path) -> None:
    script = {"answers": {"mcp.call": [{"all": [{"quiet_ms": 100}, {"result": 1}]}, {"result": 2}]}}
    fake_session(script, line("mcp.call"), line("mcp.call", 3), folder=tmp_path)
    received = [json.loads(each) for each in (tmp_path / "heard").read_bytes().splitlines()]
    first = [next(iter(each)) for each in received]
    assert first == ["arguments", "jsonrpc", "before the answer", "jsonrpc"]


def test_the_fake_binary_can_stay_after_the_end_of_its_input(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"before": [{"stay": True}]}), encoding="utf-8")
    command = f"fake {script} {tmp_path / 'heard'}"
    binary = subprocess.Popen(
        [sys.executable, FAKE, "exec", "--connection-server", "--server-command", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert binary.stdin is not None
    assert binary.stdout is not None
    with binary.stdin, binary.stdout:
        binary.stdin.write(line("coprocess/handshake") + b"\n")
        binary.stdin.flush()
        assert json.loads(binary.stdout.readline())["result"]["protocol_version"] == 2
        binary.stdin.close()
        binary.terminate()
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                binary.wait(0.5)
        finally:
            binary.kill()
            binary.wait()
    assert len((tmp_path / "heard").read_bytes().splitlines()) == 2


def test_the_fake_binary_is_a_suite_channel(tmp_path: Path) -> None:
    """Its answers have the members of the golden frames, and its input is logged."""
    file = tmp_path / "suite.json"
    file.write_text(json.dumps({"heard": str(tmp_path / "heard")}), encoding="utf-8")
    run = {"jsonrpc": "2.0", "id": 3, "method": "suite.run", "params": {"id": "weather::it snows"}}
    done = subprocess.run(
        [sys.executable, FAKE, "exec", "--suite-server", file],
        input=line("suite.list") + b"\n" + json.dumps(run).encode() + b"\n",
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    listed, verdict = (json.loads(each)["result"] for each in done.stdout.splitlines())
    frames = (ROOT / "protocol" / "suite" / "v1" / "response.jsonl").read_text(encoding="ascii")
    golden = {row["name"]: row["reads_as"] for row in map(json.loads, frames.splitlines())}
    assert listed.keys() == golden["a list"]["result"].keys()
    assert listed["tests"][0].keys() == golden["a list"]["result"]["tests"][0].keys()
    assert verdict.keys() == golden["a test that was skipped"]["result"].keys()
    assert (verdict["status"], verdict["text"]) == ("skipped", "only in winter")
    assert len((tmp_path / "heard").read_bytes().splitlines()) == 3


def test_the_fake_binary_exits_on_request(tmp_path: Path) -> None:
    script = {"answers": {"mcp.call": {"exit": 7, "stderr": "last words"}}}
    assert fake_session(script, line("mcp.call"), line("mcp.call"), folder=tmp_path) == (
        *(b"", b"last words", 7),
    )


def test_the_fake_binary_can_write_first_and_records_its_input(
    tmp_path: Path,
) -> None:
    script = {"before": [{"frame": "Welcome"}], "answers": {"*": [{"result": 1}, {"result": 2}]}}
    lines = [line("a"), line("b"), line("c"), line("mcp.shutdown"), line("never read")]
    out, _, status = fake_session(script, *lines, folder=tmp_path)
    first, *answers = out.decode().splitlines()
    assert (first, status) == ("Welcome", 0)
    assert [json.loads(answer)["result"] for answer in answers] == [1, 2, 2, 2]
    received = (tmp_path / "heard").read_bytes().splitlines()
    began = json.loads(received[0])
    assert began.pop("pid") > 0
    assert began == {"arguments": ["exec", "--connection-server"]}
    assert received[1:] == lines[:-1]


@pytest.mark.parametrize(
    "script",
    [
        {"answer": {}},
        {"answers": {"a": {}}},
        {"answers": {"a": {"say": 1}}},
        {"answers": {"a": {"result": 1, "error": {}}}},
        {"answers": {"a": {"frame": "x", "with": {}}}},
        {"answers": {"a": {"golden": ["response", "no such frame"]}}},
    ],
)
def test_a_mistake_in_a_script_is_reported(script: Row, tmp_path: Path) -> None:
    out, err, status = fake_session(script, line("a"), folder=tmp_path)
    assert (out, status) == (b"", 2)
    assert err.startswith(b"fake_binary: ")


def test_the_fake_binary_wants_to_be_started_like_the_real_one() -> None:
    done = subprocess.run([FAKE, "run"], capture_output=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("method", CONNECTION_METHODS)
def test_without_a_script_the_fake_binary_answers_as_the_real_one(
    method: str, tmp_path: Path
) -> None:
    """With the same members, and of the same types."""
    responses = [row.values[0] for row in BINARIES if str(row.id).startswith("response: ")]
    golden = next(row["reads_as"]["result"] for row in responses if row["answers"] == method)
    request = {"jsonrpc": "2.0", "id": 2, "method": method, "params": _some_params(method)}
    out, _, _ = fake_session({}, json.dumps(request).encode(), folder=tmp_path)
    answer = json.loads(out)
    assert set(answer) == {"jsonrpc", "id", "result"}
    assert golden.keys() <= answer["result"].keys()
    assert all(type(answer["result"][key]) is type(golden[key]) for key in golden)


def _some_params(method: str) -> Row:
    requests = [row.values[0]["reads_as"] for row in SDKS if "reads_as" in row.values[0]]
    return next(dict(each["params"]) for each in requests if each["method"] == method)


# The version


PINS = re.compile(r"(?i)\bcoprocess_?protocol_?version\b[^=\n]*=\s*(\d+)\b")


def sdk_pins(folder: Path) -> dict[str, list[str]]:
    """The versions that each SDK pins, by its folder: in its file named after the coprocess.

    Only tracked files count: builds and installed packages have copies.
    """
    command = ["git", "ls-files", "-z", "--", "."]
    listed = subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=60)
    found: dict[str, list[str]] = {}
    for name in sorted(filter(None, listed.stdout.decode("utf-8").split("\0"))):
        sdk, _, rest = name.partition("/")
        if not rest:
            continue
        pins = found.setdefault(sdk, [])
        path = folder / name
        if path.is_file() and path.stem.strip("_").lower() == "coprocess":
            pins += PINS.findall(path.read_text(encoding="utf-8"))
    return found


def test_the_version_is_the_same_everywhere() -> None:
    version = str(COPROCESS_PROTOCOL_VERSION)
    page = (ROOT / "docs" / "coprocess.md").read_text(encoding="utf-8")
    assert re.findall(r"The protocol version is \*\*(.+?)\*\*\.", page) == [version]
    for module in (protocol, _coprocess, coprocess):
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        assert PINS.findall(text) == [version], module.__name__
    pins = sdk_pins(ROOT / "sdks")
    assert pins == {name: [version] for name in pins}
    assert [path.name for path in CHANNEL.glob("v*")] == [f"v{version}"]
    assert f"VERSION = {version}\n" in FAKE.read_text(encoding="utf-8")
    for name in ("README.md", f"v{version}/README.md"):
        heading = (CHANNEL / name).read_text(encoding="utf-8").splitlines()[0]
        assert heading.endswith(f"version {version}"), name


def test_every_sdk_of_the_repository_is_in_the_table_of_the_page() -> None:
    page = (ROOT / "docs" / "coprocess.md").read_text(encoding="utf-8")
    table = page.partition("## Versions")[2]
    rows = re.findall(r"(?m)^\| (\w+)[^|]* \| v(\d+) \| `([^`]+)` \|$", table)
    assert {name for name, _, _ in rows} == {"python", *sdk_pins(ROOT / "sdks")}
    assert {version for _, version, _ in rows} == {str(COPROCESS_PROTOCOL_VERSION)}
    for _, version, path in rows:
        assert PINS.findall((ROOT / path).read_text(encoding="utf-8")) == [version], path


def test_a_pin_that_differs_or_is_missing_would_be_seen(tmp_path: Path) -> None:
    sources = {
        "go/coprocess.go": "const coprocessProtocolVersion = 3\n",
        "rust/src/coprocess.rs": "pub const COPROCESS_PROTOCOL_VERSION: u32 = 2;\n",
        "typescript/src/coprocess.ts": "export const COPROCESS_PROTOCOL_VERSION = 2;\n",
        "jvm/src/Coprocess.java": "static final int COPROCESS_PROTOCOL_VERSION = 2;\n",
        "dotnet/src/Coprocess.cs": "public const int CoprocessProtocolVersion = 2;\n",
        "elixir/mix.exs": "nothing\n",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, timeout=60)
    # What a build leaves behind is not tracked.
    built = tmp_path / "jvm" / "target" / "Coprocess.java"
    built.parent.mkdir()
    built.write_text("static final int COPROCESS_PROTOCOL_VERSION = 1;\n", encoding="utf-8")
    pins = {name: ["2"] for name in ("rust", "typescript", "jvm", "dotnet")}
    assert sdk_pins(tmp_path) == {"go": ["3"], "elixir": [], **pins}


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        f"v{COPROCESS_PROTOCOL_VERSION}/README.md",
        "kit/README.md",
        "../plugin/v1/README.md",
    ],
)
def test_every_link_of_a_readme_leads_somewhere(name: str) -> None:
    readme = CHANNEL / name
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", readme.read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (readme.parent / target).exists()] == []
