"""Every reporter on the command line: on standard output, in a file, and when nothing could run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from console import ENVIRONMENT, PATIENCE_S, case, mcptest, server, write_config, write_suite

from mcptest.reporters.registry import REPORTERS

ROOT = Path(__file__).parents[3]
# All but the one that goes to standard output only.
TO_FILES = sorted(set(REPORTERS) - {"terminal"})

# What each says of a run with one test that passes and one that does not.
SAYS = {
    "terminal": "2 tests: 1 passed, 1 failed",
    "minimal": "FAIL a.test.mcp.yml:24 bad: result.say: ",
    "json": '"failed": 1, "errors": 0',
    "ndjson": '{"event": "run_finished"',
    "junit": '<testsuites name="mcptest" tests="2" failures="1"',
    "tap": "not ok 2 - bad",
    "github": "::error file=a.test.mcp.yml,line=24,title=bad failed::",
    "markdown": "## mcptest: 1 of 2 tests did not pass",
    "sarif": '"ruleId": "test-failed"',
    "agent": "repeat: mcptest run a.test.mcp.yml -k bad",
    "html": "<!doctype html>",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "a.test.mcp.yml", case("good"), case("bad", wants={}))
    return tmp_path


def assert_reads_as(name: str, text: str) -> None:
    """The shape that makes a text a report of this kind; the unit tests look deeper."""
    if name in ("json", "sarif"):
        json.loads(text)
    elif name == "ndjson":
        assert [json.loads(line) for line in text.splitlines()]
    elif name == "junit":
        ET.fromstring(text)
    elif name == "tap":
        assert re.match(r"TAP version 14\n1\.\.[1-9]", text)
    elif name == "html":
        assert text.startswith("<!doctype html>")
        assert text.endswith("</html>\n")
    elif name == "markdown":
        assert text.startswith("## mcptest: ")
    assert text.endswith("\n")


def test_these_tests_cover_every_reporter() -> None:
    assert set(SAYS) == set(REPORTERS)


@pytest.mark.parametrize("name", sorted(REPORTERS))
def test_a_reporter_alone_has_standard_output_for_itself(folder: Path, name: str) -> None:
    ended = mcptest(folder, "run", "--reporter", name)
    assert (ended.code, ended.err) == (1, "")
    assert SAYS[name] in ended.out
    assert_reads_as(name, ended.out)


def test_all_of_them_can_be_written_to_files_in_one_run(folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    words = [f"--reporter={name}=out.{name}" for name in TO_FILES]
    ended = mcptest(folder, "run", *words)
    assert (ended.code, ended.err) == (1, "")
    assert SAYS["terminal"] in ended.out
    written = {path.name for path in folder.iterdir()} - before
    assert written == {".mcptest", *(f"out.{name}" for name in TO_FILES)}
    for name in TO_FILES:
        text = (folder / f"out.{name}").read_text(encoding="utf-8")
        assert SAYS[name] in text
        assert_reads_as(name, text)


@pytest.mark.parametrize(
    ("words", "code", "kind", "why"),
    [
        (("bad.test.mcp.yml",), 2, "bad_file", "1 mistake in the files given"),
        (("-k", "nope"), 7, "nothing_selected", "nope"),
        (("--server-command", "no-such-thing"), 3, "spawn_failed", "no-such-thing"),
    ],
    ids=["bad file", "nothing selected", "no server"],
)
def test_when_nothing_could_run_every_report_says_so_in_its_own_way(
    folder: Path, words: tuple[str, ...], code: int, kind: str, why: str
) -> None:
    """A green report of yesterday must not pass for today's run."""
    (folder / "bad.test.mcp.yml").write_text("description: x\n", encoding="utf-8")
    paths = () if words[0].endswith(".yml") else ("a.test.mcp.yml",)
    for name in TO_FILES:
        (folder / f"out.{name}").write_text("yesterday", encoding="utf-8")
    reporters = [f"--reporter={name}=out.{name}" for name in TO_FILES]
    assert mcptest(folder, "run", *paths, *words, *reporters).code == code
    for name in TO_FILES:
        on_stdout = mcptest(folder, "run", *paths, *words, "--reporter", name)
        assert on_stdout.code == code
        for text in ((folder / f"out.{name}").read_text(encoding="utf-8"), on_stdout.out):
            assert "yesterday" not in text
            assert why in text, name
            assert kind in text or name in ("minimal", "tap", "markdown", "agent"), name
            assert_reads_as(name, text)


def test_a_mistake_is_shown_at_its_place_by_those_that_have_places(folder: Path) -> None:
    (folder / "bad.test.mcp.yml").write_text("description: x\ntsts: []\n", encoding="utf-8")
    ended = mcptest(folder, "run", "bad.test.mcp.yml", "--reporter", "github")
    assert "::error file=bad.test.mcp.yml,line=2,col=1,title=F006::" in ended.out
    ended = mcptest(folder, "run", "bad.test.mcp.yml", "--reporter", "sarif")
    results = json.loads(ended.out)["runs"][0]["results"]
    regions = [each["locations"][0]["physicalLocation"]["region"] for each in results[:-1]]
    assert {"startLine": 2, "startColumn": 1} in regions


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--reporter", "tap", "--reporter", "github"), "tap and github cannot both go to"),
        (("--reporter", "markdwon"), "there is no reporter 'markdwon'; did you mean markdown?"),
        (("--reporter", "sarif="), "--reporter sarif= needs a file after the equals sign"),
        (("--reporter", "terminal=x"), "the terminal report goes to standard output"),
        (("--reporter", "tap=x", "--reporter", "sarif=x"), "two reports cannot share the file x"),
        (("--reporter", "ndjson=no/such/x"), "there is no folder"),
    ],
)
def test_reports_that_cannot_be_are_refused(folder: Path, words: tuple[str, ...], why: str) -> None:
    ended = mcptest(folder, "run", *words)
    assert (ended.code, ended.out) == (2, "")
    assert why in ended.err


def test_ndjson_arrives_while_the_run_continues(folder: Path) -> None:
    """The second test ends only when this test has read of the first, and lets it."""
    os.mkfifo(folder / "gate")
    program = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if 'id' not in message: continue\n"
        "    if message['method'] == 'wait': open('gate').read()\n"
        "    result = dict(message['params'], capabilities={}, serverInfo={})\n"
        "    print(json.dumps(dict(jsonrpc='2.0', id=message['id'], result=result)), flush=True)\n"
    )
    (folder / "slow.py").write_text(program, encoding="utf-8")
    gated = case("second", "wait") | {"expect": {"response": {"match:partial": {"id": 1}}}}
    first = case("first") | {"expect": {"response": {"match:partial": {"id": 1}}}}
    write_suite(folder / "slow.test.mcp.yml", first, gated)
    words = ("slow.test.mcp.yml", "--server-command", f"{sys.executable} slow.py")
    running = subprocess.Popen(
        [sys.executable, "-m", "mcptest", "run", *words, "--reporter", "ndjson"],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert running.stdout is not None
    seen = []
    for line in running.stdout:
        event = json.loads(line)
        seen.append((event["event"], event.get("name")))
        if seen[-1] == ("test_finished", "first"):
            (folder / "gate").write_text("", encoding="utf-8")
    assert running.wait(PATIENCE_S) == 0
    running.stdout.close()
    assert ("test_finished", "second") in seen
    assert seen[-1][0] == "run_finished"


def test_ndjson_can_be_followed_through_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["cat", str(folder / "pipe")], stdout=subprocess.PIPE)
    assert mcptest(folder, "run", "--reporter", "ndjson=pipe").code == 1
    out, _ = reader.communicate(timeout=PATIENCE_S)
    assert json.loads(out.splitlines()[-1])["summary"]["failed"] == 1


def test_a_full_device_costs_ndjson_alone(folder: Path) -> None:
    words = ("--reporter", "ndjson=/dev/full", "--reporter", "tap=out.tap")
    ended = mcptest(folder, "run", *words)
    assert ended.code == 2
    assert ended.err == "error: cannot write /dev/full: No space left on device\n"
    assert SAYS["terminal"] in ended.out
    assert SAYS["tap"] in (folder / "out.tap").read_text(encoding="utf-8")


def test_the_job_summary_of_github_is_added_to_and_any_other_file_replaced(folder: Path) -> None:
    for name in ("summary.md", "other.md"):
        (folder / name).write_text("before\n", encoding="utf-8")
    words = ("--reporter", "markdown=summary.md", "--reporter", "markdown=other.md")
    mcptest(folder, "run", *words, GITHUB_STEP_SUMMARY=str(folder / "summary.md"))
    other = (folder / "other.md").read_text(encoding="utf-8")
    assert other.startswith("## mcptest: ")
    assert (folder / "summary.md").read_text(encoding="utf-8") == f"before\n{other}"


def test_the_command_for_an_agent_repeats_the_failure(folder: Path) -> None:
    (folder / "conductor.config.json").rename(folder / "my config.json")
    name = 'it\'s "bad" & worse'
    write_suite(folder / "a b.test.mcp.yml", case("good"), case(name, wants={}))
    ended = mcptest(
        folder, "run", "a b.test.mcp.yml", "-c", "my config.json", "--reporter", "agent"
    )
    (command,) = re.findall(r"^   repeat: (.*)$", ended.out, re.MULTILINE)
    program, *words = shlex.split(command)
    assert program == "mcptest"
    again = mcptest(folder, *words, "--json").report()
    assert again["summary"]["failed"] == again["summary"]["total"] == 1


def test_no_report_holds_a_secret(folder: Path) -> None:
    write_config(folder / "conductor.config.json", env={"KEY": "${TOKEN}"})
    asks = case("asks", "env", params={"name": "KEY"}, wants={"value": "x"})
    write_suite(folder / "a.test.mcp.yml", asks, case("dies", "die"))
    words = [f"--reporter={name}=out.{name}" for name in TO_FILES]
    ended = mcptest(folder, "run", "-v", *words, TOKEN="hunter2hunter2")
    assert ended.code == 1
    for path in [*folder.glob("out.*")]:
        assert "hunter2" not in path.read_text(encoding="utf-8"), path.name


def test_the_log_of_a_test_that_failed_is_in_the_json_report(folder: Path) -> None:
    good, bad = mcptest(folder, "run", "--json").report()["suites"][0]["tests"]
    assert "log" not in good
    assert [line["direction"] for line in bad["log"]] == ["sent", "received"]
    good, bad = mcptest(folder, "run", "--json", "-v").report()["suites"][0]["tests"]
    assert [line["direction"] for line in good["log"]] == ["sent", "received"]


def test_coverage_of_a_real_server_is_in_every_report_that_has_it(folder: Path) -> None:
    """The example offers two tools with one input each; the suite leaves one input out."""
    example = ROOT / "examples" / "filesystem"
    words = [f"--reporter={name}=out.{name}" for name in ("json", "minimal", "markdown", "agent")]
    config = str(example / "conductor.config.json")
    ended = mcptest(folder, "run", str(example), "-c", config, *words)
    assert ended.code == 0
    assert "inputs never given    list_folder.path\n" in ended.out
    coverage = json.loads((folder / "out.json").read_text(encoding="utf-8"))["coverage"]
    (offered,) = coverage["servers"]
    assert coverage["percent"] == offered["percent"] == 75.0
    assert [tool["name"] for tool in offered["tools"]] == ["read_file", "list_folder"]
    assert "; coverage 75 %\n" in (folder / "out.minimal").read_text(encoding="utf-8")
    assert "inputs never given: `list_folder.path`" in (folder / "out.markdown").read_text(
        encoding="utf-8"
    )


def test_every_reporter_has_a_heading_in_the_documentation() -> None:
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\S+)$", page, re.MULTILINE)
    assert [name for name in headings if name in REPORTERS] == list(REPORTERS)


def samples() -> dict[str, str]:
    """The first sample below each heading that is the name of a reporter."""
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## (\S+)$", page, flags=re.MULTILINE)
    found: dict[str, str] = {}
    for name, section in zip(parts[::2], parts[1::2], strict=True):
        blocks = re.findall(r"^```(?:text|xml|json)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        if name in REPORTERS and blocks:
            found[name] = blocks[0]
    return found


# That of the JSON report shows every member there is, which no run has.
SAMPLES = {name: body for name, body in samples().items() if name != "json"}


def without_numbers(text: str) -> str:
    """Without what differs from run to run."""
    text = re.sub(r"<?\d+(\.\d+)? m?s\b", "N ms", text)
    text = re.sub(r"timestamp=\"[^\"]+", 'timestamp="T', text)
    return re.sub(r"(duration_ms: |time=\")[0-9.]+", r"\1N", text)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_sample_in_the_documentation_is_what_is_really_written(name: str) -> None:
    ended = mcptest(ROOT, "run", "examples/failing", "--reporter", name, COLUMNS="80")
    lines = iter(without_numbers(ended.out).split("\n"))
    for line in without_numbers(SAMPLES[name]).removesuffix("\n").split("\n"):
        # In this order, with others between them.
        assert any(real.startswith(line) for real in lines), line


def test_most_reporters_have_a_sample() -> None:
    assert set(REPORTERS) - set(SAMPLES) == {"json", "html"}


def test_a_server_in_a_file_needs_no_option_to_be_repeated(folder: Path) -> None:
    write_suite(folder / "own.test.mcp.yml", case("bad", wants={}), server=server())
    ended = mcptest(folder, "run", "own.test.mcp.yml", "--reporter", "agent")
    assert "   repeat: mcptest run own.test.mcp.yml -k bad\n" in ended.out
