"""The plugins under `examples/plugins`, and every piece of code on the page about plugins."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from console import PATIENCE_S, case, mcptest, run, write_config, write_suite
from installed_package import install_package

from mcptest.core.events import Event, ServerNamed
from mcptest.core.results import CaseResult
from mcptest.formats.config import load_config
from mcptest.plugins import PROTOCOL_VERSION, HostError, Matcher, PluginError, PluginHost
from mcptest.plugins.host import encode_request, read_response
from mcptest.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)

ROOT = Path(__file__).parents[3]
PLUGINS = ROOT / "examples" / "plugins"
GEO = PLUGINS / "geo"
ECHO = [sys.executable, str(PLUGINS / "echo" / "echo.py")]

# One plugin in three languages.
LANGUAGES = [
    pytest.param([sys.executable, "geo.py"], id="python"),
    pytest.param(
        ["node", "geo.mjs"],
        id="node",
        marks=pytest.mark.skipif(not shutil.which("node"), reason="there is no node here"),
    ),
    pytest.param(["sh", "geo.sh"], id="sh"),
]
NO_PLACE = "this is no place: lat and lon are missing or wrong"
PARIS = "48.85,2.35,10"


def said(command: list[str], *lines: str) -> tuple[int, list[Any], str]:
    """How a plugin ends that is given these lines and no more, its answers, its stderr."""
    text = "".join(f"{line}\n" for line in lines)
    ended = subprocess.run(
        command,
        cwd=GEO,
        input=text.encode(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return (
        ended.returncode,
        [json.loads(line) for line in ended.stdout.splitlines()],
        ended.stderr.decode(),
    )


# echo


def test_echo_gives_back_what_it_is_given_and_ping_says_pong() -> None:
    with PluginHost(ECHO) as echo:
        for value in ({"a": [1, 2.5, None, True, "é\n"]}, "", 0, None):
            assert echo.call("echo", value).result == value
        assert echo.call("echo").result is None
        assert echo.call("ping").result == "pong"


def test_echo_refuses_methods_that_it_does_not_have_and_continues() -> None:
    with PluginHost(ECHO) as echo:
        error = PluginError(code=-32601, message="there is no method fly")
        assert echo.call("fly").error == error
        assert echo.call("ping").result == "pong"


def test_echo_answers_only_requests_with_an_id_and_ends_with_its_input() -> None:
    """Without an id there is nothing to answer: version 1 has no answers with a null id."""
    lines = ('{"id": 1}', "{", "[]", '{"method": "ping"}', '{"method": "ping", "id": "x"}')
    code, answers, stderr = said(ECHO, *lines)
    refusal = {"code": -32600, "message": "the method must be text"}
    assert answers == [{"id": 1, "error": refusal}, {"id": "x", "result": "pong"}]
    assert (code, stderr) == (0, "echo: this line is no request\n" * 3)


def test_echo_understands_every_golden_request() -> None:
    files = sorted((ROOT / "protocol" / "plugin" / f"v{PROTOCOL_VERSION}").glob("*.jsonl"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    frames = [json.loads(line) for line in lines]
    requests = [each for each in frames if each["direction"] == "host" and "frame" in each]
    assert requests
    code, answers, stderr = said(ECHO, *(each["frame"] for each in requests))
    assert (code, stderr) == (0, "")
    assert [each["id"] for each in answers] == [each["reads_as"]["id"] for each in requests]


# geo, the same in every language


NEAR: list[tuple[object, str, bool, str]] = [
    ({"lat": 48.86, "lon": 2.34}, PARIS, True, "1.3 km away, 10 km are allowed"),
    ({"lat": 59.9, "lon": 10.7}, PARIS, False, "1340.0 km away, 10 km are allowed"),
    ({"lat": 1, "lon": 2}, "1,2,0", True, "0.0 km away, 0 km are allowed"),
    ({"lat": 0, "lon": 179.5}, " 0 , -179.5 , 112 ", True, "111.2 km away, 112 km are allowed"),
    ({"lat": -90, "lon": 7}, "90,7,20000", False, "20015.1 km away, 20000 km are allowed"),
    ({"lat": 1e-05, "lon": 0}, "0,0,1.5e0", True, "0.0 km away, 1.5e0 km are allowed"),
    ({"lon": 2, "x": {"lat": 9}, "lat": 1}, "1,2,3", True, "0.0 km away, 3 km are allowed"),
    ({"lat": 91, "lon": 0}, PARIS, False, NO_PLACE),
    ({"lat": "48.86", "lon": 2.34}, PARIS, False, NO_PLACE),
    ({"lat": True, "lon": False}, PARIS, False, NO_PLACE),
    ({"lat": 48.86}, PARIS, False, NO_PLACE),
    ({"x": {"lat": 48.86, "lon": 2.34}}, PARIS, False, NO_PLACE),
    ([48.86, 2.34], PARIS, False, NO_PLACE),
    ('Paris "}], \\ é', PARIS, False, NO_PLACE),
    (None, PARIS, False, NO_PLACE),
]  # fmt: skip


@pytest.mark.parametrize("command", LANGUAGES)
def test_near_says_whether_it_is_near_and_how_far_it_is(command: list[str]) -> None:
    with PluginHost(command, 30, cwd=str(GEO)) as geo:
        for actual, expected, passes, message in NEAR:
            params = {"actual": actual, "expected": expected, "path": "result"}
            wanted = {"pass": passes, "message": message}
            assert geo.call("near", params).result == wanted, actual


BAD_PARAMS = [
    {"actual": {"lat": 1, "lon": 2}},
    *(
        {"actual": {"lat": 1, "lon": 2}, "expected": expected}
        for expected in (None, 5, "", "1,2", "1,2,", "1,2,3,4", "a,b,c", "1,2,-3", "91,2,3")
    ),
    [1, 2],
    "48.85,2.35,10",
    None,
]  # fmt: skip


@pytest.mark.parametrize("command", LANGUAGES)
def test_near_refuses_params_that_make_no_sense_and_continues(command: list[str]) -> None:
    message = "expected must be LAT,LON,KM, such as 48.85,2.35,10"
    with PluginHost(command, 30, cwd=str(GEO)) as geo:
        for params in BAD_PARAMS:
            assert geo.call("near", params).error == PluginError(code=-32602, message=message)
        assert geo.call("near").error == PluginError(code=-32602, message=message)
        good = {"actual": {"lat": 1, "lon": 2}, "expected": "1,2,3"}
        assert geo.call("near", good).result == {
            "pass": True,
            "message": "0.0 km away, 3 km are allowed",
        }


@pytest.mark.parametrize("command", LANGUAGES)
def test_a_method_that_is_not_there_is_refused(command: list[str]) -> None:
    with PluginHost(command, 30, cwd=str(GEO)) as geo:
        error = PluginError(code=-32601, message="there is no method far")
        assert geo.call("far", {"actual": 1}).error == error


@pytest.mark.parametrize("command", LANGUAGES)
def test_the_id_is_returned_unchanged_and_the_plugin_ends_with_its_input(
    command: list[str],
) -> None:
    ids = [1, "a b", 'say "x" \\ é', 0]
    lines = [json.dumps({"method": "far", "id": id}, ensure_ascii=False) for id in ids]
    code, answers, stderr = said(command, *lines)
    assert (code, stderr) == (0, "")
    assert [answer["id"] for answer in answers] == ids


# The suite that uses them


def test_the_suite_asks_every_language_and_a_wrong_place_is_reported_with_its_distance(
    tmp_path: Path,
) -> None:
    words = ["--skip-tag", "node"] if not shutil.which("node") else []
    ended = mcptest(GEO, "run", *words)
    assert (ended.code, ended.err) == (0, "")
    text = (GEO / "places.test.mcp.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"plugin:([a-z-]+)\.near", text)) == {"geo", "geo-node", "geo-sh"}
    wrong = tmp_path / "wrong.test.mcp.yml"
    wrong.write_text(text.replace("-18.1,-179.9,200", "48.85,2.35,200"), encoding="utf-8")
    config = str(GEO / "conductor.config.json")
    message = mcptest(GEO, "run", str(wrong), "-c", config, *words)
    assert message.code == 1
    assert "it says: 16582.4 km away, 200 km are allowed" in message.out


def test_the_command_for_an_agent_repeats_every_plugin(tmp_path: Path) -> None:
    text = (GEO / "places.test.mcp.yml").read_text(encoding="utf-8")
    suite = tmp_path / "wrong.test.mcp.yml"
    suite.write_text(text.replace("geo-node", "two").replace("48.85,2.35,10", "0,0,1", 1), "utf-8")
    geo = shlex.join([sys.executable, str(GEO / "geo.py")])
    words = [f"--plugin={name}={geo}" for name in ("geo", "two", "geo-sh")]
    server = shlex.join([sys.executable, str(GEO / "places_server.py")])
    ended = mcptest(
        tmp_path, "run", str(suite), *words, "--server-command", server, "--reporter", "agent"
    )
    (command,) = re.findall(r"^   repeat: (.*)$", ended.out, re.MULTILINE)
    again = mcptest(tmp_path, *shlex.split(command)[1:], "--json").report()
    assert again["summary"]["failed"] == again["summary"]["total"] == 1


# The page


PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


EVEN, MATCHERS, REPORTER, HOST = blocks("python")
IMPORTS, REQUEST, RESPONSES = blocks("json")
(TEST_FILE,) = blocks("yaml")
(PROJECT,) = blocks("toml")


def without_durations(text: str) -> str:
    return re.sub(r"in [\d.]+ m?s, start", "in N ms, start", text)


def dialogues(transcript: str) -> list[tuple[list[str], str]]:
    """The commands of a transcript, each with its output."""
    parts = re.split(r"^\$ mcptest (.*)\n", transcript, flags=re.MULTILINE)[1:]
    return [
        (shlex.split(words), message)
        for words, message in zip(parts[::2], parts[1::2], strict=True)
    ]


@pytest.fixture
def even(tmp_path: Path) -> Path:
    (tmp_path / "even.py").write_text(EVEN, encoding="utf-8")
    return tmp_path


def test_the_version_on_the_page_is_the_version() -> None:
    assert f"The protocol version is **{PROTOCOL_VERSION}**." in PAGE


def test_the_quick_start_is_short_and_does_what_it_is_shown_to_do(even: Path) -> None:
    assert len(EVEN.splitlines()) <= 10
    for words, message in dialogues(blocks("text")[0]):
        ended = mcptest(even, *words)
        assert without_durations(ended.out + ended.err) == without_durations(message)
    with PluginHost([sys.executable, "even.py"], 30, cwd=str(even)) as plugin:
        assert plugin.call("check", {"actual": 4}).result == {
            "pass": True,
            "message": "4 is not even",
        }


def test_the_test_file_of_the_page_has_no_mistakes(even: Path) -> None:
    (even / "numbers.test.mcp.yml").write_text(TEST_FILE, encoding="utf-8")
    (run,) = re.findall(r"`mcptest run (numbers.*? --plugin .*?)`", PAGE)
    ended = mcptest(even, "validate", *shlex.split(run))
    assert (ended.code, ended.out) == (0, "1 file with 1 test: no mistakes\n")


def test_the_calls_on_the_page_end_as_shown() -> None:
    shown = dialogues(blocks("text")[1])
    assert shown
    for words, message in shown:
        ended = mcptest(GEO, *words)
        assert without_durations(ended.out + ended.err) == without_durations(message)


def test_the_imports_on_the_page_are_those_of_the_example() -> None:
    config = json.loads((GEO / "conductor.config.json").read_text(encoding="utf-8"))
    assert json.loads(IMPORTS) == config["imports"]


def test_plugin_examples_on_other_pages_are_valid() -> None:
    page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^## Plugins$.*?^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    spec, warnings = load_config(block, "conductor.config.json", {})
    assert ([each.name for each in spec.plugins], warnings) == (["geo"], ())
    page = (ROOT / "docs" / "test-files.md").read_text(encoding="utf-8")
    (pattern,) = re.findall(r'"(match:plugin:geo.*?)"', page)
    assert pattern in (GEO / "places.test.mcp.yml").read_text(encoding="utf-8")


def test_the_frames_on_the_page_are_what_is_sent_and_read() -> None:
    request = json.loads(REQUEST)
    line = encode_request(request["id"], request["method"], request["params"])
    assert json.loads(line) == request
    assert list(json.loads(line)) == list(request)
    result, error = (read_response(json.loads(text), text) for text in RESPONSES.splitlines())
    assert (result.id, error.id) == (1, 1)
    assert result.error is None
    assert error.error is not None
    verdict = said([sys.executable, "geo.py"], REQUEST.strip())[1][0]["result"]
    assert verdict == result.result


def test_the_error_codes_on_the_page_are_those_of_the_protocol() -> None:
    codes = [int(code) for code in re.findall(r"^\| (-\d+) \|", PAGE, re.MULTILINE)]
    ours = (PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR)
    assert codes == list(ours)


# How to cause each failure; the page must quote its message.
BROKEN = {
    "SpawnFailed": ["./geo"],
    "PluginCrashed": [sys.executable, "-c", "raise SystemExit(1)"],
    "Timeout": [sys.executable, "-c", "import sys; sys.stdin.read()"],
    "InvalidJson": [sys.executable, "-c", "input(); print('hello', flush=True); input()"],
    "InvalidResponse": [sys.executable, "-c", "input(); print('{\"id\": 1}', flush=True); input()"],
}


def test_every_failure_message_is_quoted_on_the_page(tmp_path: Path) -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^|]*)` \|", PAGE, re.MULTILINE))
    kinds = {kind.__name__ for kind in HostError.__subclasses__() if kind.__name__[0] != "_"}
    for parent in HostError.__subclasses__():
        kinds |= {kind.__name__ for kind in parent.__subclasses__()}
    assert set(BROKEN) == kinds
    for name, command in BROKEN.items():
        limit_s = 0.2 if name == "Timeout" else 30
        with PluginHost(command, limit_s, cwd=str(tmp_path)) as host:
            with pytest.raises(HostError) as caught:
                host.call("near")
            assert type(caught.value).__name__ == name
            words = re.escape(rows[name]).replace("…", ".*").replace("within\\ 5\\ s", ".*")
            assert re.fullmatch(words, caught.value.message)


@pytest.fixture
def package(tmp_path: Path) -> dict[str, str]:
    """The package of the page, installed."""
    project = tomllib.loads(PROJECT)["project"]
    groups = project["entry-points"]
    code = f"{MATCHERS}\n{REPORTER}"
    return install_package(tmp_path / "lib", "mcptest_words", code, groups=groups)


def test_the_matcher_of_the_page_passes_fails_and_refuses(
    tmp_path: Path, package: dict[str, str]
) -> None:
    write_config(tmp_path / "conductor.config.json")
    tests = [
        case("good", params={"say": "Tinsel"}, wants={"say": "match:anagramOf:listen"}),
        case("bad", params={"say": "listens"}, wants={"say": "match:anagramOf:listen"}),
        case("odd", params={"say": 7}, wants={"say": "match:anagramOf:listen"}),
    ]
    write_suite(tmp_path / "a.test.mcp.yml", *tests)
    report = mcptest(tmp_path, "run", "--json", **package).report()
    good, bad, odd = report["suites"][0]["tests"]
    assert [each["status"] for each in (good, bad, odd)] == ["passed", "failed", "failed"]
    assert "the letters eilnst in any order" in bad["mismatches"][0]["message"]
    assert "its letters are different" in bad["mismatches"][0]["message"]
    assert "it is not a string" in odd["mismatches"][0]["message"]
    wrong = case("wrong", params={"say": ""}, wants={"say": "match:anagramOf:two words"})
    write_suite(tmp_path / "a.test.mcp.yml", wrong)
    ended = mcptest(tmp_path, "validate", ".", **package)
    assert ended.code == 2
    assert "takes one word" in ended.err


def test_the_fields_on_the_page_are_fields_of_a_matcher() -> None:
    section = PAGE.split("### Matchers")[1].split("### Reporters")[0]
    cells = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert named <= set(Matcher._fields)
    assert Matcher._required <= named


def test_the_reporter_of_the_page_reports(tmp_path: Path, package: dict[str, str]) -> None:
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "a.test.mcp.yml", case("one"), case("two"))
    ended = mcptest(tmp_path, "run", "--reporter", "slowest", **package)
    assert (ended.code, ended.err) == (0, "")
    assert sorted(re.findall(r"^(.*): 0\.\d{3} s$", ended.out, re.MULTILINE)) == ["one", "two"]


def test_the_events_on_the_page_have_the_members_that_they_have() -> None:
    section = PAGE.split("### Reporters")[1].split("## From Python")[0]
    rows = re.findall(r"^\| `([A-Z]\w+)` \| (.*) \|$", section, re.MULTILINE)
    written = {name: tuple(re.findall(r"`(\w+)`", cell)) for name, cell in rows}
    # Reporters get the name of a server in the other events.
    kinds = [kind for kind in Event.__subclasses__() if kind is not ServerNamed]
    real = {kind.__name__: kind._fields for kind in kinds}
    assert list(written) == list(real)
    for name, members in written.items():
        assert set(members) <= set(real[name])
        assert bool(members) == bool(real[name])
    (about,) = re.findall(r"^A `result` has, .*?, (.*?)\. ", section, re.MULTILINE | re.DOTALL)
    words = re.sub(r"\(.*?\)", "", about)
    assert {"name", "status", "mismatches", "fault"} <= set(re.findall(r"`(\w+)`", words))
    assert set(re.findall(r"`(\w+)`", words)) <= set(CaseResult._fields)


def test_the_program_of_the_page_runs() -> None:
    done = run([sys.executable, "-c", HOST], ROOT, {})
    message = "{'pass': True, 'message': '1.3 km away, 10 km are allowed'}\n"
    assert done == (0, message, "")
