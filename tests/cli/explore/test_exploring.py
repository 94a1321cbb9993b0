"""`mcptest list`, `call`, `read` and `prompt` against a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from console import ENVIRONMENT, PATIENCE_S, Ended, mcptest
from offering_server import FIRST_PAGE, SECOND_PAGE
from terminal import on_terminal

SERVER = Path(__file__).parents[2] / "servers" / "offering_server.py"
COMMAND = ("--", sys.executable, str(SERVER))


def explore(*words: str, **environment: str) -> Ended:
    return mcptest(Path.cwd(), *words, *COMMAND, **environment)


def shown(*words: str) -> tuple[int, dict[str, Any]]:
    """What the tool `show` was given, in JSON."""
    ended = explore("call", "show", *words)
    if ended.code:
        return ended.code, {}
    return 0, json.loads(ended.report()["content"][0]["text"])


# list


def test_list_gives_every_declared_kind_and_follows_the_pages() -> None:
    ended = explore("list")
    assert (ended.code, ended.err) == (0, "")
    report = ended.report()
    assert list(report) == ["tools", "resources", "resourceTemplates", "prompts"]
    assert report["tools"] == [*FIRST_PAGE, *SECOND_PAGE]
    assert [each["uri"] for each in report["resources"]] == ["note://one"]


def test_list_gives_only_the_kinds_that_are_asked_for() -> None:
    assert list(explore("list", "prompts", "resources").report()) == ["prompts", "resources"]


def test_a_server_that_does_not_know_templates_has_none() -> None:
    ended = explore("list", "resourceTemplates")
    assert (ended.code, ended.report()) == (0, {"resourceTemplates": []})


def test_a_kind_that_is_not_declared_is_not_asked_for_and_a_note_says_so() -> None:
    ended = mcptest(
        Path.cwd(), "list", "tools", "--", sys.executable, str(SERVER.parent / "tiny_server.py")
    )
    assert (ended.code, ended.report()) == (0, {"tools": []})
    assert ended.err == "note: the server does not declare tools, so it was not asked for any\n"


def test_a_misspelt_kind_is_answered_with_what_was_meant() -> None:
    ended = explore("list", "tool")
    assert ended.code == 2
    assert ended.err.startswith("error: a server has no 'tool' to list; did you mean tools?")


def test_raw_gives_each_whole_answer_on_a_line() -> None:
    lines = explore("list", "tools", "--raw").out.splitlines()
    first, second = map(json.loads, lines)
    assert first["jsonrpc"] == "2.0"
    assert first["result"]["nextCursor"] == "two"
    assert second["result"] == {"tools": SECOND_PAGE}


# call


def test_the_result_of_a_tool_is_plain_json() -> None:
    ended = explore("call", "show", "text=hello")
    content = [{"type": "text", "text": '{"text": "hello"}'}]
    assert (ended.code, ended.report(), ended.err) == (0, {"content": content}, "")


def test_values_are_read_as_the_schema_says() -> None:
    words = ["text=5", "count=5", "ratio=0.5", "deep=true", 'tags=["a"]', "mode=fast", "maybe=null"]
    assert shown(*words, "where.city=Rome") == (
        0,
        {
            "text": "5",
            "count": 5,
            "ratio": 0.5,
            "deep": True,
            "tags": ["a"],
            "mode": "fast",
            "maybe": None,
            "where": {"city": "Rome"},
        },
    )


def test_a_value_after_colon_equals_is_json() -> None:
    assert shown('text:="5"', 'where:={"city": "Rome"}') == (
        0,
        {"text": "5", "where": {"city": "Rome"}},
    )


def test_arguments_are_read_from_a_file_and_options_override_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"text": "from file", "count": 1}', encoding="utf-8")
    assert shown("--args", str(path), "count=2") == (0, {"text": "from file", "count": 2})


def test_arguments_are_read_from_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mcptest", "call", "show", "--args", "-", *COMMAND],
        env=ENVIRONMENT,
        input=b'{"text": "piped"}',
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert "piped" in json.loads(done.stdout)["content"][0]["text"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["shwo", "text=a"], "there is no tool 'shwo'; did you mean 'show'?"),
        (["show", "txet=a"], "there is no argument 'txet'; did you mean 'text'?"),
        (["show"], "1 required argument is missing: text (string)"),
        (["show", "text=a", "count=many"], "count must be integer and is 'many'"),
        (["show", "text=a", "mode=fats"], "mode cannot be 'fats'; did you mean 'fast'?"),
        (["show", "text=a", "text=b"], "text is given twice"),
        (["show", "text:=a"], "text:= takes JSON: expecting value"),
        (["show", "text"], "'text' is neither key=value nor key:=json"),
        ([], "which tool?"),
    ],
)
def test_a_call_that_makes_no_sense_is_not_made(words: list[str], error: str) -> None:
    ended = explore("call", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[0] == f"error: {error}"


@pytest.mark.parametrize("text", ["[]", '{"a": 1, "a": 2}', "{"])
def test_args_must_be_one_strict_json_object(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    ended = explore("call", "show", "--args", str(tmp_path / "a.json"))
    assert ended.code == 2
    assert "a.json" in ended.err


def test_no_check_sends_what_is_written() -> None:
    ended = explore("call", "show", "odd=1", "--no-check")
    assert ended.code == 1
    assert ended.report()["isError"] is True


def test_a_tool_that_says_it_failed_is_exit_1_and_its_result_is_shown() -> None:
    ended = explore("call", "fail")
    assert (ended.code, ended.report()["content"][0]["text"]) == (1, "it went wrong")
    assert ended.err.startswith("error: the tool says that it failed (isError is true)\n")
    assert "started" in ended.err


def test_a_refused_call_is_exit_1_and_standard_output_stays_empty() -> None:
    ended = explore("call", "refuse")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith('error: the server refused tools/call: code -32602, "no"\n')


def test_a_refused_call_is_one_json_object_when_json_is_asked_for() -> None:
    ended = explore("call", "refuse", "--json")
    assert (ended.code, ended.report()["error"]["kind"]) == (1, "refused")


def test_raw_shows_a_refusal_unchanged() -> None:
    ended = explore("call", "refuse", "--raw")
    assert (ended.code, ended.report()["error"]) == (1, {"code": -32602, "message": "no"})


# read and prompt


def test_a_resource_is_read() -> None:
    contents = [{"uri": "note://one", "text": "first\nsecond"}]
    ended = explore("read", "note://one")
    assert (ended.code, ended.report(), ended.err) == (0, {"contents": contents}, "")


def test_a_resource_that_is_not_there_is_exit_1_with_the_one_that_was_meant() -> None:
    ended = explore("read", "note://oen")
    assert (ended.code, ended.out) == (1, "")
    assert "note: there is a resource note://one\n" in ended.err


def test_a_prompt_is_got_with_its_arguments() -> None:
    ended = explore("prompt", "greet", "who=you")
    assert ended.code == 0
    assert ended.report()["messages"][0]["content"]["text"] == "Hello you"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["greet"], "1 required argument is missing: who (string)"),
        (["greet", "who=a", "tome=b"], "there is no argument 'tome'; did you mean 'tone'?"),
        (["gret", "who=a"], "there is no prompt 'gret'; did you mean 'greet'?"),
    ],
)
def test_a_prompt_that_makes_no_sense_is_not_asked_for(words: list[str], error: str) -> None:
    ended = explore("prompt", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[0] == f"error: {error}"


# Which server


def write_config(folder: Path, **keys: Any) -> None:
    config = {"name": "offering", "command": sys.executable, "args": [str(SERVER)], **keys}
    (folder / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")


def test_a_config_in_the_folder_is_found(tmp_path: Path) -> None:
    write_config(tmp_path)
    assert mcptest(tmp_path, "read", "note://one").code == 0


def test_a_config_and_a_command_line_name_the_server_as_well(tmp_path: Path) -> None:
    write_config(tmp_path)
    config = str(tmp_path / "conductor.config.json")
    assert mcptest(Path.cwd(), "read", "note://one", "--config", config).code == 0
    command = f"{sys.executable} '{SERVER}'"
    assert mcptest(Path.cwd(), "read", "note://one", "--server-command", command).code == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            [],
            "error: no server to talk to\n  help: give the command that starts it after --, --url",
        ),
        (["--url", "ftp://localhost"], "error: --url is not the URL of a server"),
        (["--bearer-env", "PATH", "--", "b"], "error: --bearer-env is for servers on HTTP; give"),
        (["--config", "no.json"], "error: there is no config file 'no.json'"),
        (["--server-command", ""], "error: --server-command is empty"),
        (["--server-command", "a", "--", "b"], "error: a command after -- and --server-command"),
        (["--timeout", "soon", "--", "b"], "error: --timeout must be"),
        (["--"], "error: nothing follows --"),
    ],
)
def test_a_server_that_is_not_named_well_is_reported(
    tmp_path: Path, words: list[str], error: str
) -> None:
    ended = mcptest(tmp_path, "list", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(error)


@pytest.mark.parametrize("command", [["no-such-program"], [sys.executable, "-c", "exit(3)"]])
def test_a_server_that_does_not_start_is_exit_3(tmp_path: Path, command: list[str]) -> None:
    ended = mcptest(tmp_path, "list", "--", *command)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(("error: spawn_failed: ", "error: exited_early: "))
    as_json = mcptest(tmp_path, "list", "--json", "--", *command)
    assert as_json.code == 3
    assert as_json.report()["error"]["kind"] in ("spawn_failed", "exited_early")


def test_a_json_flag_of_the_server_is_its_own(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "list", "--", "no-such-program", "--json")
    assert (ended.code, ended.out) == (3, "")


def test_a_server_that_dies_in_a_call_is_exit_1_with_its_last_words() -> None:
    ended = explore("call", "die")
    assert (ended.code, ended.out) == (1, "")
    assert "error: exited_during_call: " in ended.err
    assert "| dying now" in ended.err


@pytest.mark.long
def test_a_call_without_an_answer_ends_at_its_timeout() -> None:
    ended = explore("call", "hang", "--timeout", "200ms")
    assert (ended.code, ended.out) == (1, "")
    assert "error: timeout: " in ended.err


# What is shown


def test_stderr_of_the_server_is_shown_when_asked_for_and_made_safe() -> None:
    assert explore("read", "note://one").err == ""
    ended = explore("read", "note://one", "--verbose")
    assert ended.err == "  stderr    | started \\u001b[1m with None\n"


def test_a_secret_of_the_config_is_blanked_everywhere(tmp_path: Path) -> None:
    write_config(tmp_path, env={"KEY": "${MY_KEY}"})
    ended = mcptest(tmp_path, "call", "secret", "--verbose", MY_KEY="hunter22")
    assert ended.report()["content"][0]["text"] == "the key is [secret]"
    assert "hunter22" not in ended.out + ended.err
    assert "with [secret]" in ended.err


def displayed(*words: str) -> str:
    """What a terminal shows."""
    return on_terminal(Path.cwd(), *words, stdin=True, environment={"COLUMNS": "80"}).out


def test_on_a_terminal_a_list_is_made_for_reading() -> None:
    lines = displayed("list", "tools", "prompts", "--no-color", *COMMAND).splitlines()
    assert lines[0] == "offering 1, MCP 2025-11-25"
    assert lines[2] == "tools (12)"
    assert lines[3:6] == [
        "  show",
        "    Shows what it was given. \\u001b[31mred\\u001b[0m \\u0007 \\u202eabc second line",
        "      text*  string           any text",
    ]
    assert '      mode   "fast" | "slow"' in lines
    assert lines[-1] == "* required"
    assert max(map(len, lines)) <= 80


def test_on_a_terminal_there_is_colour_unless_it_is_refused() -> None:
    assert "\x1b[32mshow\x1b[0m" in displayed("list", "tools", *COMMAND)
    assert "\x1b" not in displayed("list", "tools", "--no-color", *COMMAND)


def test_on_a_terminal_text_is_text_and_made_safe() -> None:
    written = displayed("call", "nasty", *COMMAND)
    assert "\\u001b[31mred\\u001b[0m \\u0007 \\u202eabc\nsecond line\n" in written
    assert "\n::error::" not in written


def test_on_a_terminal_bytes_are_a_line() -> None:
    written = displayed("call", "media", "--no-color", *COMMAND)
    assert "[image image/png, 3 bytes]\n[audio of an unnamed type, 2 bytes]\n" in written
    assert "AAAA" not in displayed("read", "note://blob", *COMMAND)


def test_on_a_terminal_structured_content_is_json_and_messages_have_their_role() -> None:
    assert '"n": 1' in displayed("call", "structured", *COMMAND)
    assert "user\n  Hello you\n" in displayed("prompt", "greet", "who=you", "--no-color", *COMMAND)


def test_on_a_terminal_json_is_given_when_asked_for() -> None:
    assert json.loads(displayed("read", "note://one", "--json", *COMMAND))["contents"]


FAULTY = Path(__file__).parents[2] / "servers" / "fault_server.py"


@pytest.mark.long
def test_on_a_terminal_a_slow_start_shows_a_line_that_is_cleared_later() -> None:
    slow = (sys.executable, "-S", "-E", str(FAULTY), "slow-start", "1500")
    written = displayed("list", "tools", "--no-color", "--", *slow)
    assert "\r\x1b[Kwaiting for " in written
    assert written.index("\r\x1b[K", 3) < written.index("tools (1)")
    assert "waiting for" not in displayed("list", "tools", *COMMAND)


def test_a_list_that_is_wrong_is_shown_as_far_as_it_goes_and_is_exit_1(tmp_path: Path) -> None:
    source = SERVER.read_text(encoding="utf-8").replace('"nextCursor": "two"', '"nextCursor": 2')
    (tmp_path / "server.py").write_text(source, encoding="utf-8")
    ended = mcptest(tmp_path, "list", "tools", "--", sys.executable, "server.py")
    assert (ended.code, ended.report()) == (1, {"tools": FIRST_PAGE})
    assert ended.err.startswith("note: tools: the nextCursor of tools/list is not a string: 2\n")


def test_after_two_dashes_a_command_without_a_server_finds_paths(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "validate", "--", "--odd.test.mcp.yml")
    assert ended.err.startswith("error: there is no file or folder '--odd.test.mcp.yml'")


# Being interrupted


@pytest.mark.long
def test_ctrl_c_stops_the_server_and_is_exit_130(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    os.mkfifo(calls)
    words = [sys.executable, "-m", "mcptest", "call", "hang", *COMMAND]
    environment = ENVIRONMENT | {"CALLS": str(calls)}
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE) as process:
        # The server opens the pipe when it is called, and not before.
        assert calls.read_text(encoding="utf-8") == "hang\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (130, b"error: interrupted; the server was stopped\n")
