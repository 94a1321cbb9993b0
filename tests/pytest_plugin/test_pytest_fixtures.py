"""The fixtures: which server, for how long, and what is shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from sessions import SERVER, call, pytest_in, run_as_is, text, write_conductor

COMMAND = ("--mcp-server-command", " ".join(SERVER))


def write(folder: Path, **files: str) -> None:
    for name, program in files.items():
        (folder / f"{name}.py").write_text(program, encoding="utf-8")


def ini(folder: Path, **keys: str) -> None:
    lines = [f"{key} = {value}" for key, value in keys.items()]
    (folder / "pytest.ini").write_text("\n".join(["[pytest]", *lines, ""]), encoding="utf-8")


COUNTING = """
def test_one(mcptest_client):
    assert mcptest_client.call_tool("count").text == "{0}"

class TestTwo:
    def test_two(self, mcptest_client):
        assert mcptest_client.call_tool("count").text == "{1}"

    def test_three(self, mcptest_client):
        assert mcptest_client.call_tool("count").text == "{2}"
"""


@pytest.mark.parametrize(
    ("scope", "first", "second"),
    [
        ("session", (1, 2, 3), (4, 5, 6)),
        ("package", (1, 2, 3), (4, 5, 6)),
        ("module", (1, 2, 3), (1, 2, 3)),
        ("class", (1, 1, 2), (1, 1, 2)),
        ("function", (1, 1, 1), (1, 1, 1)),
    ],
)
def test_a_server_is_shared_as_far_as_the_scope_says(
    tmp_path: Path, scope: str, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    ini(tmp_path, mcp_server_command=" ".join(SERVER), mcp_server_scope=scope)
    write(tmp_path, test_a=COUNTING.format(*first), test_b=COUNTING.format(*second))
    ended = pytest_in(tmp_path)
    assert (ended.code, ended.summary) == (0, "6 passed"), ended.out


def test_a_session_is_one_of_its_own_for_each_test(tmp_path: Path) -> None:
    program = (
        "def test_a(mcptest_session, mcptest_client):\n"
        "    assert mcptest_session.call_tool('count').text == '1'\n"
        "    mcptest_client.call_tool('count')\n"
        "def test_b(mcptest_session, mcptest_client):\n"
        "    assert mcptest_session.call_tool('count').text == '1'\n"
        "    assert mcptest_client.call_tool('count').text == '2'\n"
    )
    write(tmp_path, test_a=program)
    assert pytest_in(tmp_path, *COMMAND).summary == "2 passed"


def test_the_command_line_counts_more_than_the_config(tmp_path: Path) -> None:
    ini(tmp_path, mcp_server_command="no-such-program")
    write(tmp_path, test_a="def test_a(mcptest_client): assert mcptest_client.list_tools()\n")
    assert pytest_in(tmp_path, *COMMAND).summary == "1 passed"


def test_a_conftest_can_say_what_the_command_is(tmp_path: Path) -> None:
    conftest = (
        "import pytest\n"
        "@pytest.fixture(scope='session')\n"
        f"def mcp_server_command(): return {SERVER!r}\n"
    )
    write(tmp_path, conftest=conftest, test_a=COUNTING.format(1, 2, 3))
    assert pytest_in(tmp_path).summary == "3 passed"


def test_without_a_command_it_says_how_to_give_one(tmp_path: Path) -> None:
    write(tmp_path, test_a="def test_a(mcptest_client): pass\ndef test_b(mcptest_session): pass\n")
    ended = pytest_in(tmp_path)
    assert ended.summary == "2 errors"
    words = "no server to test: give --mcp-server-command or --mcp-server-url, set "
    assert words in ended.out
    assert "Traceback" not in ended.out


def test_a_scope_that_is_none_is_refused_at_once(tmp_path: Path) -> None:
    ini(tmp_path, mcp_server_scope="sesion")
    ended = pytest_in(tmp_path)
    assert ended.code == 4
    assert "mcp_server_scope is one of session, package, module, class, function" in ended.err


def test_an_expectation_that_is_not_met_shows_the_diff_and_not_our_code(tmp_path: Path) -> None:
    program = (
        "from mcptest import expect\n"
        "def test_a(mcptest_client):\n"
        "    answer = mcptest_client.call_tool('echo', {'text': 'Hello, world!'})\n"
        "    expect(answer).to_match({'content': [{'type': 'text', 'text': 'Hello, World!'}],\n"
        "                             'isError': False})\n"
    )
    write(tmp_path, test_a=program)
    ended = pytest_in(tmp_path, *COMMAND)
    assert ended.code == 1
    assert "E       AssertionError: content[0].text: differs" in ended.out
    assert 'expected  "Hello, World!"' in ended.out
    assert "expecting.py" not in ended.out
    # The same lines as for a test of a file.
    wanted = {"content": [{"type": "text", "text": "Hello, World!"}], "isError": False}
    write_conductor(
        tmp_path / "a.test.mcp.yml", call("a", "echo", wanted, arguments={"text": "Hello, world!"})
    )
    said = [line.strip() for line in pytest_in(tmp_path, "a.test.mcp.yml").out.splitlines()]
    shown = [line.removeprefix("E").strip() for line in ended.out.splitlines()]
    start = said.index("result.content[0].text: differs")
    for line in said[start + 1 : start + 5]:
        assert line in shown


def test_a_server_that_dies_shows_what_it_left_behind(tmp_path: Path) -> None:
    program = (
        "def test_a(mcptest_client): mcptest_client.call_tool('die', {'words': 'out of luck'})\n"
    )
    write(tmp_path, test_a=program)
    ended = pytest_in(tmp_path, *COMMAND)
    assert ended.summary == "1 failed"
    assert "UpstreamGoneError: the server ended (exit status 3)" in ended.out
    assert "| last words: out of luck" in ended.out


@pytest.mark.long
def test_fixtures_are_shared_within_each_worker(tmp_path: Path) -> None:
    program = "".join(
        f"def test_{number}(mcptest_client): assert mcptest_client.call_tool('count').success\n"
        for number in range(8)
    )
    write(tmp_path, test_a=program)
    ended = pytest_in(tmp_path, *COMMAND, "-n", "2", plugins=("xdist.plugin", "no:cacheprovider"))
    assert ended.summary == "8 passed"


def test_tests_of_files_run_in_any_thread(tmp_path: Path) -> None:
    """Only the main thread can bound a pattern; elsewhere it is matched without a bound."""
    words = {"text": "aaa"}
    write_conductor(
        tmp_path / "a.test.mcp.yml",
        call("one", "echo", text("match:regex:^a+$"), arguments=words),
        call("two", "echo", text("match:regex:^b+$"), arguments=words),
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    words_of_pytest = ["-p", "mcptest.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    program = (
        "import pytest, threading\n"
        f"thread = threading.Thread(target=pytest.main, args=({words_of_pytest!r},))\n"
        "thread.start(); thread.join()\n"
    )
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = run_as_is([sys.executable, "-c", program], tmp_path, environment)
    assert "1 failed, 1 passed" in done.out
    assert "result.content[0].text: expected a string that matches" in done.out


@pytest.mark.parametrize(
    ("old", "new"), [("mcp_server", "mcptest_client"), ("mcp_session", "mcptest_session")]
)
def test_a_former_name_works_with_a_warning(tmp_path: Path, old: str, new: str) -> None:
    program = f"def test_a({old}): assert {old}.call_tool('count').text == '1'\n"
    (tmp_path / "test_a.py").write_text(program, encoding="utf-8")
    words = ("--mcp-server-command", " ".join(SERVER))
    ended = pytest_in(tmp_path, *words)
    assert ended.summary == "1 passed, 1 warning"
    assert f"McptestDeprecationWarning: the fixture {old} is now called {new}" in ended.out
    assert pytest_in(tmp_path, *words, "-W", "error").summary == "1 error"
