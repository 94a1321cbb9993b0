"""What the server wrote to stderr during a test is shown with its failure, in every front."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import console
import pytest
from console import ENVIRONMENT, Ended

import mcptest as api

SERVER = Path(__file__).parents[2] / "servers" / "logging_server.py"
COMMAND = [sys.executable, "-S", "-E", str(SERVER)]
FORMATS = ("conductor", "cases", "suite")

# It is escaped, and the value of a secret variable is blanked.
SECRET = "hunter2-hunter2"
SAID = f"\x1b[31mno row\x1b[0m {SECRET}"
SHOWN = r"no row\u001b[0m [secret]"


def mcptest(folder: Path, *words: str) -> Ended:
    return console.mcptest(folder, *words, API_TOKEN=SECRET)


def call(**arguments: object) -> dict[str, Any]:
    return {"name": "log", "arguments": arguments}


def write(folder: Path, form: str, *tests: list[dict[str, Any]]) -> str:
    """A file of this format whose tests call the tool, and expect of the last answer what it is
    not; the path of the file."""
    if form == "suite":
        server = {"command": COMMAND, "env": {"API_TOKEN": {"secret_env": "API_TOKEN"}}}
        never = [{"target": "result.content[0].text", "matcher": {"exact": "other"}}]
        lane = [
            {
                "name": f"test {number}",
                "steps": [
                    {"tool": "log", "args": arguments} | ({"expect": never} if is_last else {})
                    for at, arguments in enumerate(test, 1)
                    for is_last in [at == len(test)]
                ],
            }
            for number, test in enumerate(tests, 1)
        ]
        (folder / "mcptest.yaml").write_text(
            json.dumps({"servers": {"log": server}, "tools": lane}), encoding="utf-8"
        )
        return "mcptest.yaml"
    env = {"API_TOKEN": "${API_TOKEN}"}
    config = {"name": "log", "command": COMMAND[0], "args": COMMAND[1:], "env": env}
    (folder / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    other = {"content": [{"type": "text", "text": "other"}]}
    request = {"jsonrpc": "2.0", "method": "tools/call"}
    if form == "conductor":
        cases = [
            {
                "it": f"test {number}",
                "request": {**request, "id": number, "params": call(**test[-1])},
                "expect": {"response": {"jsonrpc": "2.0", "id": number, "result": other}},
            }
            for number, test in enumerate(tests, 1)
        ]
        suite = {"description": "logs", "tests": cases}
        (folder / "log.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")
        return "log.test.mcp.yml"
    documents = [
        {
            "case": f"test {number}",
            "in": {**request, "id": number, "params": call(**test[-1])},
            "out": {"jsonrpc": "2.0", "id": number, "result": other},
        }
        for number, test in enumerate(tests, 1)
    ]
    text = "\n---\n".join(json.dumps(each) for each in documents)
    (folder / "log.cases.yaml").write_text(text, encoding="utf-8")
    return "log.cases.yaml"


@pytest.mark.parametrize("form", FORMATS)
def test_it_is_shown_with_the_failure_it_belongs_to(tmp_path: Path, form: str) -> None:
    file = write(
        tmp_path,
        form,
        [{"say": "before", "text": "a"}],
        [{"say": SAID, "text": "b"}],
        [{"text": "c"}],
    )
    ended = mcptest(tmp_path, "run", file)
    assert ended.code == 1
    first, second, third = ended.out.split("✗ test ")[1:]
    assert "stderr    | before\n" in first
    assert SHOWN in second
    assert "before" not in second
    assert SECRET not in ended.out
    assert "stderr" not in third
    assert "starting" not in ended.out


@pytest.mark.parametrize("form", FORMATS)
def test_every_report_that_shows_failures_has_it(tmp_path: Path, form: str) -> None:
    file = write(tmp_path, form, [{"say": SAID, "text": "a"}])
    for name, text in reports(tmp_path, file).items():
        assert "no row" in text, name
        assert SECRET not in text, name
    [suite] = json.loads((tmp_path / "json.txt").read_text(encoding="utf-8"))["suites"]
    assert suite["tests"][0]["stderr"] == "\x1b[31mno row\x1b[0m [secret]\n"


@pytest.mark.parametrize("form", FORMATS)
def test_no_report_mentions_it_when_there_was_none(tmp_path: Path, form: str) -> None:
    file = write(tmp_path, form, [{"text": "a"}])
    for name, text in reports(tmp_path, file).items():
        # The program of the page can show it, and so has the word.
        assert name == "html" or "stderr" not in text, name


def reports(folder: Path, file: str) -> dict[str, str]:
    """Every report of one run."""
    names = ("json", "junit", "markdown", "html", "agent", "tap", "github", "ndjson")
    words = [word for name in names for word in ("--reporter", f"{name}={name}.txt")]
    assert mcptest(folder, "run", file, *words).code == 1
    return {name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in names}


def test_a_test_of_several_steps_shows_all_of_them(tmp_path: Path) -> None:
    file = write(tmp_path, "suite", [{"say": "in step 1"}, {"say": "in step 2", "text": "a"}])
    out = mcptest(tmp_path, "run", file).out
    assert "stderr    | in step 1\n" in out
    assert "          | in step 2\n" in out


def test_a_failure_like_an_earlier_one_still_shows_its_own(tmp_path: Path) -> None:
    tests = [[{"say": f"reason {number}", "text": "a"}] for number in (1, 2)]
    file = write(tmp_path, "conductor", *tests)
    out = mcptest(tmp_path, "run", file).out
    assert 'same as "test 1"' in out
    assert "stderr    | reason 2\n" in out
    markdown = mcptest(tmp_path, "run", file, "--reporter", "markdown").out
    assert "the same as `test 1`" in markdown
    assert "reason 2" in markdown


def test_only_the_last_lines_are_shown(tmp_path: Path) -> None:
    said = "\n".join(f"line {number}" for number in range(1, 51))
    out = mcptest(tmp_path, "run", write(tmp_path, "conductor", [{"say": said, "text": "a"}])).out
    assert "… 30 earlier lines" in out
    assert "line 31\n" in out
    assert "line 30\n" not in out


def test_a_server_that_was_started_for_http_is_shown_too(tmp_path: Path) -> None:
    file = write(tmp_path, "conductor", [{"say": "over HTTP", "text": "a"}])
    words = ("--url", "http://127.0.0.1:{port}/mcp")
    command = " ".join([*COMMAND, "{port}"])
    ended = mcptest(tmp_path, "run", file, *words, "--server-command", command)
    assert ended.code == 1
    assert "stderr    | over HTTP\n" in ended.out


def test_pytest_shows_it(tmp_path: Path) -> None:
    write(tmp_path, "conductor", [{"say": SAID, "text": "a"}], [{"text": "b"}])
    ended = pytest_in(tmp_path)
    assert ended.out.count("stderr    | ") == 1
    assert SHOWN in ended.out
    assert SECRET not in ended.out


def pytest_in(folder: Path) -> Ended:
    words = ["-p", "no:cacheprovider", "-p", "no:randomly", "--color=no"]
    return console.run([sys.executable, "-m", "pytest", *words], folder, {"API_TOKEN": SECRET})


# The client API


def failing(work: Any) -> str:
    """The message of the error that this raises, and its notes."""
    with pytest.raises((AssertionError, api.CoprocessError)) as raised:
        work()
    return "\n".join([str(raised.value), *getattr(raised.value, "__notes__", ())])


def test_expect_and_the_errors_of_the_client_show_it() -> None:
    with api.connect(COMMAND, env={"API_TOKEN": SECRET}) as server:
        said = server.call_tool("log", {"say": SAID, "text": "some text"})
        quiet = server.call_tool("log", {})
        for work in (
            lambda: api.expect(said).to_match({"content": []}),
            lambda: api.expect(said).to_meet({"contains": "other"}),
            lambda: api.expect(said).to_fail(),
            lambda: api.expect(said.text).to_match("other"),
            lambda: api.expect(said.raw).to_match({}),
            lambda: server.call_tool("log", {"say": SAID, "refuse": True}),
        ):
            assert SHOWN in failing(work)
        for work in (
            lambda: api.expect(quiet).to_match({"content": []}),
            lambda: api.expect(quiet).to_fail(),
            lambda: api.expect(quiet.text).to_match("other"),
            lambda: api.expect(quiet.raw).to_match({}),
            lambda: api.expect({**said.raw}).to_match({}),
            lambda: api.expect(said.data).to_match(1),
            lambda: server.call_tool("log", {"refuse": True}),
        ):
            assert "stderr" not in failing(work)
        assert said.stderr == "\x1b[31mno row\x1b[0m [secret]\n"


def test_other_answers_of_the_client_have_it_as_well(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    source = SERVER.read_text(encoding="utf-8").replace(
        'if method != "tools/call":', 'if method == "tools/list":'
    )
    source = source.replace(
        '        return reply | {"result": {"tools": []} if method == "tools/list" else {}}\n',
        '        print("no tools today", file=sys.stderr, flush=True)\n'
        '        return reply | {"result": {"tools": []}}\n',
    )
    program.write_text(source, encoding="utf-8")
    with api.connect([sys.executable, str(program)]) as server:
        tools = server.list_tools()
        assert "stderr    | no tools today" in failing(lambda: api.expect(tools).to_match([1]))
        assert "stderr" not in failing(lambda: api.expect([]).to_match([1]))


def test_the_server_does_not_learn_where_its_stderr_is_kept() -> None:
    program = (
        "import os, sys; print([key for key in os.environ if 'STDERR' in key], file=sys.stderr)"
    )
    with pytest.raises(api.UpstreamGoneError) as gone, api.connect([sys.executable, "-c", program]):
        pass
    assert gone.value.data["stderr"] == "[]"


def test_a_connection_leaves_no_descriptor_behind() -> None:
    program = (
        "import os, sys, mcptest\n"
        "count = lambda: len(os.listdir('/proc/self/fd'))\n"
        "before = count()\n"
        f"with mcptest.connect({COMMAND!r}) as server:\n"
        "    server.call_tool('log', {'say': 'x'})\n"
        "print(count() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, check=True
    )
    assert done.stdout == b"0\n"


def test_a_teardown_that_fails_shows_that_of_the_whole_test(tmp_path: Path) -> None:
    first = {"tool": "log", "args": {"say": "said by the test"}}
    last = {"tool": "log", "args": {"say": "said by the teardown", "refuse": True}}
    test = {"name": "cleans up", **first, "teardown": [last]}
    suite = {"servers": {"log": {"command": COMMAND}}, "tools": [test]}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "run")
    assert "it passed, but its teardown did not" in ended.out
    assert "| said by the test\n" in ended.out
    assert "| said by the teardown\n" in ended.out


# Tests in Python under pytest

PLAIN = """
import mcptest

COMMAND = {command!r}

def ask(said):
    with mcptest.connect(COMMAND, env={{"API_TOKEN": {secret!r}}}) as server:
        return server.call_tool("log", {{"say": said}})

def test_earlier():
    ask("of an earlier test")

def test_assert():
    ask("in the first call")
    assert ask({said!r}).text == "other"

def test_expect():
    mcptest.expect(ask("said once")).to_match({{"content": []}})

def test_pass():
    ask("of a test that passes")
"""


@pytest.mark.long
def test_a_plain_assert_shows_it_in_a_section(tmp_path: Path) -> None:
    program = PLAIN.format(command=COMMAND, secret=SECRET, said=SAID)
    (tmp_path / "test_it.py").write_text(program, encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tb=short"]
    ended = subprocess.run(
        words, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, encoding="utf-8", timeout=60
    )
    failure = ended.stdout.partition(" test_assert ")[2].partition(" test_expect ")
    section = failure[0].partition("- Captured stderr of the server -")[2]
    assert "\n| in the first call\n" in section
    assert SHOWN in section
    assert SECRET not in section
    # What a message has already is not shown again.
    assert failure[2].count("said once\n") == 1
    assert "of a test that passes" not in ended.stdout
    assert "of an earlier test" not in ended.stdout
