"""`mcptest plugin call` and `mcptest plugin list`, with real plugins."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from console import ENVIRONMENT, PATIENCE_S, Ended, mcptest
from installed_package import install_package
from terminal import on_terminal

if TYPE_CHECKING:
    from connect_back import Listener

ROOT = Path(__file__).parents[3]
ECHO = ROOT / "examples" / "plugins" / "echo" / "echo.py"
SERVERS = ROOT / "tests" / "servers"

# A plugin whose answer to any method is this line, with the id of the request for ID.
ANSWERS = """\
import json, sys
for line in sys.stdin:
    id = json.loads(line)["id"]
    {before}
    print({answer!r}.replace("ID", str(id)), flush=True)
"""


def command_of(*words: str) -> str:
    return shlex.join([sys.executable, *words])


def call(folder: Path, *words: str, plugin: str = "", **environment: str) -> Ended:
    plugin = plugin or command_of(str(ECHO))
    return mcptest(folder, "plugin", "call", *words, "--plugin", f"it={plugin}", **environment)


def answering(folder: Path, answer: str, before: str = "pass") -> str:
    """The command of a plugin that answers this."""
    text = ANSWERS.format(answer=answer, before=before)
    (folder / "plugin.py").write_text(text, encoding="utf-8")
    return command_of("plugin.py")


# Answers


def test_the_answer_is_one_line_of_json_and_the_duration_is_reported(tmp_path: Path) -> None:
    ended = call(tmp_path, "it", "echo", '{"a": [1, null, "é"]}')
    assert (ended.code, ended.out) == (0, '{"id":1,"result":{"a":[1,null,"é"]}}\n')
    assert re.fullmatch(r"it answered echo in [\d.]+ m?s, start included\n", ended.err)


def test_params_that_are_left_out_are_not_sent(tmp_path: Path) -> None:
    program = "import json; print(json.dumps({'id': 1, 'result': sorted(json.loads(input()))}))"
    plugin = command_of("-c", program)
    assert call(tmp_path, "it", "m", plugin=plugin).report()["result"] == ["id", "method"]
    with_params = call(tmp_path, "it", "m", "null", plugin=plugin).report()
    assert with_params["result"] == ["id", "method", "params"]


def test_params_may_begin_with_a_dash_after_two_dashes(tmp_path: Path) -> None:
    words = ("plugin", "call", "--plugin", f"it={command_of(str(ECHO))}", "--", "it", "echo", "-5")
    assert mcptest(tmp_path, *words).report()["result"] == -5


def test_an_error_instead_of_a_result_is_exit_1_and_shown_whole(tmp_path: Path) -> None:
    error = {"code": -32602, "message": "no", "data": {"why": 1}}
    answer = '{"id": ID, "error": ' + json.dumps(error) + "}"
    ended = call(tmp_path, "it", "m", plugin=answering(tmp_path, answer))
    assert (ended.code, ended.report()) == (1, {"id": 1, "error": error})
    first, second = ended.err.splitlines()
    assert first == "error: it answered with an error: code -32602 (invalid params), no"
    assert second.startswith("it answered m in ")


def test_an_error_code_of_the_plugins_own_has_no_meaning_added(tmp_path: Path) -> None:
    answer = '{"id": ID, "error": {"code": 7, "message": "no"}}'
    ended = call(tmp_path, "it", "m", plugin=answering(tmp_path, answer))
    assert ended.report() == {"id": 1, "error": {"code": 7, "message": "no"}}
    assert ended.err.startswith("error: it answered with an error: code 7, no\n")


def test_stderr_of_the_plugin_is_shown_line_by_line_without_control_characters(
    tmp_path: Path,
) -> None:
    before = r"""sys.stderr.write("error: ours\n\x1b[31mred\n::error::x\n\n"); sys.stderr.flush()"""
    plugin = answering(tmp_path, '{"id": ID, "result": 1}', before)
    ended = call(tmp_path, "it", "m", plugin=plugin)
    assert (ended.code, ended.report()["result"]) == (0, 1)
    assert ended.err.splitlines()[:4] == [
        "  stderr    | error: ours",
        "            | \\u001b[31mred",
        "            | ::error::x",
        "            | ",
    ]


def test_a_silent_plugin_has_no_stderr_to_show(tmp_path: Path) -> None:
    ended = call(tmp_path, "it", "ping")
    assert (ended.code, "stderr" in ended.err) == (0, False)


def test_an_answer_cannot_act_on_a_terminal_or_a_ci_system(tmp_path: Path) -> None:
    answer = '{"id": ID, "result": "\\u009b2J\\u202e ##[error]x"}'
    ended = call(tmp_path, "it", "m", plugin=answering(tmp_path, answer))
    assert ended.report()["result"] == "\x9b2J\u202e ##[error]x"
    assert not re.search("[\x9b\u202e]|##\\[", ended.out)


# Failures of the plugin


@pytest.mark.parametrize(
    ("plugin", "name", "said"),
    [
        ("no-such-program", "SpawnFailed", "No such file or directory"),
        (command_of("-c", "raise SystemExit(3)"), "PluginCrashed", "exit status 3"),
        (command_of("-c", "input(); print('hello')"), "InvalidJson", ": hello"),
        (command_of("-c", "input(); print('[]')"), "InvalidResponse", "it is not an object: []"),
    ],
)
def test_a_plugin_that_fails_is_exit_1_and_the_failure_has_its_name(
    tmp_path: Path, plugin: str, name: str, said: str
) -> None:
    ended = call(tmp_path, "it", "m", plugin=plugin)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: plugin_failed: the plugin 'it' failed ({name}): ")
    assert said in ended.err
    assert f"\n  command   {shlex.split(plugin)[0]}" in ended.err


def test_a_crash_shows_what_was_on_stderr(tmp_path: Path) -> None:
    ended = call(tmp_path, "it", "m", plugin=command_of("-c", "input(); 1 / 0"))
    assert ended.code == 1
    assert "\n            | ZeroDivisionError: division by zero\n" in ended.err


def test_a_plugin_that_does_not_answer_is_waited_for_as_long_as_was_said(tmp_path: Path) -> None:
    plugin = command_of("-c", "import sys; sys.stdin.read()")
    ended = call(tmp_path, "it", "m", "--timeout", "300ms", plugin=plugin)
    assert (ended.code, ended.out) == (1, "")
    assert "failed (Timeout): no answer to 'm' within 0.3 s\n" in ended.err
    assert "\n  hint      " in ended.err
    assert "killed" not in ended.err


@pytest.mark.long
def test_a_plugin_that_ignores_the_end_of_its_input_is_killed_with_a_note(tmp_path: Path) -> None:
    answer = 'print(\'{"id": 1, "result": 2}\', flush=True)'
    plugin = command_of("-c", f"import signal; input(); {answer}; signal.pause()")
    ended = call(tmp_path, "it", "m", "--timeout", "3s", plugin=plugin)
    assert (ended.code, ended.report()["result"]) == (0, 2)
    note = "note: it did not end within 3 s of the end of its input, and was killed\n"
    assert ended.err.endswith(note)


def test_with_json_a_failure_is_one_json_object_too(tmp_path: Path) -> None:
    ended = call(tmp_path, "it", "m", "--json", plugin="no-such-program")
    assert (ended.code, ended.report()["error"]["kind"]) == (1, "plugin_failed")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_plugin_and_is_exit_130(
    tmp_path: Path, listener: Listener, number: signal.Signals
) -> None:
    program = (
        f"import sys, signal; sys.path.insert(0, {str(SERVERS)!r}); import connect_back\n"
        "home = connect_back.call_home('plugin'); signal.pause()"
    )
    (tmp_path / "stuck.py").write_text(program, encoding="utf-8")
    words = ["plugin", "call", "it", "m", "--plugin", f"it={command_of('stuck.py')}"]
    with subprocess.Popen(
        [sys.executable, "-m", "mcptest", *words, "--timeout", "5m"],
        cwd=tmp_path,
        env=ENVIRONMENT | listener.environment,
        stderr=subprocess.PIPE,
    ) as process:
        caller = listener.next_caller()
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (130, b"error: interrupted; the plugin was stopped\n")
    assert caller.is_dead_within(PATIENCE_S)


# Bad input


@pytest.mark.parametrize(
    ("words", "error", "help"),
    [
        ([], "mcptest plugin needs a subcommand: call or list", "for example"),
        (["cal"], "mcptest plugin has no subcommand 'cal'; did you mean 'call'?", "--help"),
        (["fly"], "mcptest plugin has no subcommand 'fly'", "--help"),
        (["call"], "which plugin?", "write mcptest plugin call NAME METHOD"),
        (["call", "it"], "which method?", "write mcptest plugin call it METHOD"),
        (["call", "it.near"], "which method?", "write mcptest plugin call it near"),
        (["call", "ti", "m"], "there is no plugin 'ti'; did you mean 'it'?", "--plugin NAME="),
        (["call", "other", "m"], "there is no plugin 'other'; there are: it", "--plugin NAME="),
        (["call", "it", "m", "{"], "the params are not JSON: ", "single quotes"),
        (["call", "it", "m", "NaN"], "the params are not JSON: NaN is not JSON", "single quotes"),
        (["call", "it", "m", "1", "2"], "the params are one word of JSON; '2' is", "single quotes"),
        (["call", "it", "m", "--timeout", "soon"], "--timeout must be", ""),
        (["call", "it", "m", "--no-color"], "mcptest plugin call does not take --no-color", ""),
        (["call", "it", "m", "--config", "no"], "there is no config file 'no'", ""),
        (["call", "it", "m", "--plugin", "it=x"], "the plugin 'it' has two owners: ", "another"),
        (["list", "--timeout", "1s"], "mcptest plugin list does not take --timeout", ""),
        (["list", "x"], "mcptest plugin list takes no 'x'", ""),
        (["list", "--plugin", "x"], "--plugin takes NAME=COMMAND, not 'x'", "for example"),
    ],
)
def test_bad_input_is_exit_2_and_nothing_is_started(
    tmp_path: Path, words: list[str], error: str, help: str
) -> None:
    touch = command_of("-c", "open('started', 'w').close()")
    ended = mcptest(tmp_path, "plugin", *words, "--plugin", f"it={touch}")
    assert (ended.code, ended.out) == (2, "")
    first, *rest = ended.err.splitlines()
    assert first.startswith(f"error: {error}")
    assert help in "".join(rest)
    assert not (tmp_path / "started").exists()


def test_without_any_plugin_the_help_says_how_to_declare_one(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "plugin", "call", "it", "m")
    assert ended.code == 2
    assert ended.err.startswith("error: there is no plugin 'it'\n  help: declare it with --plugin")


# Configs


def write_config(path: Path, plugins: dict[str, Any], **keys: Any) -> None:
    imports = {"subprocess_matchers": plugins}
    config = {"name": "x", "command": "no-such-server", "args": [], "imports": imports, **keys}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(config), encoding="utf-8")


def test_a_plugin_of_a_config_runs_in_the_folder_of_the_config(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    answering(home, '{"id": ID, "result": true}')
    config = home / "conductor.config.json"
    # The server needs a variable that is not set; it is not started here.
    plugins = {"it": {"command": [sys.executable, "plugin.py"]}}
    write_config(config, plugins, env={"KEY": "${MCPTEST_SURELY_UNSET}"})
    words = ("plugin", "call", "it", "m")
    assert mcptest(tmp_path, *words, "--config", str(config)).report()["result"] is True
    assert mcptest(home, *words).report()["result"] is True
    assert mcptest(tmp_path, *words).code == 2


def test_the_wait_is_that_of_the_config_unless_the_command_line_says_another(
    tmp_path: Path,
) -> None:
    silent = {"command": [sys.executable, "-c", "import sys; sys.stdin.read()"]}
    plugins = {"it": {**silent, "call_timeout": "200ms"}}
    write_config(tmp_path / "conductor.config.json", plugins)
    assert "within 0.2 s\n" in mcptest(tmp_path, "plugin", "call", "it", "m").err
    ended = mcptest(tmp_path, "plugin", "call", "it", "m", "--timeout", "100")
    assert "within 0.1 s\n" in ended.err


def test_a_config_with_a_mistake_is_reported_with_its_place(tmp_path: Path) -> None:
    write_config(tmp_path / "conductor.config.json", {"it": {"comand": ["x"]}})
    for words in (("call", "it", "m"), ("list",)):
        ended = mcptest(tmp_path, "plugin", *words)
        assert (ended.code, ended.out) == (2, "")
        assert 'error[F006]: a plugin has no key "comand"; did you mean "command"?' in ended.err
        assert "conductor.config.json:1:" in ended.err


# list


def test_list_shows_plugins_matchers_and_reporters_with_their_owners(tmp_path: Path) -> None:
    write_config(tmp_path / "conductor.config.json", {"geo": {"command": ["python3", "a b.py"]}})
    lib = tmp_path / "lib"
    install_package(lib, "evens", MATCHERS, {"mcptest.matchers": {"x": "evens:add"}})
    points = {"shine": "shiny:Shine"}
    installed = install_package(lib, "shiny", "", {"mcptest.reporters": points})
    ended = mcptest(tmp_path, "plugin", "list", "--plugin", "it=prog -v", **installed)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == LISTED
    report = mcptest(tmp_path, "plugin", "list", "--json", **installed).report()
    assert report == {
        "plugins": [
            {
                "name": "geo",
                "command": ["python3", "a b.py"],
                "cwd": str(tmp_path),
                "call_timeout_ms": 5000.0,
                "owner": "conductor.config.json",
            }
        ],
        "matchers": [{"name": "even", "owner": "the package evens 1.0 (evens:add)"}],
        "reporters": [{"name": "shine", "owner": "the package shiny 1.0 (shiny:Shine)"}],
    }


MATCHERS = """\
from mcptest.plugins import Matcher

def add(register):
    register(Matcher(
        name="NAME", family="Mine", summary="It is even.", example="match:even",
        passes=(2,), fails=(3,), parse=lambda: None, wants=lambda given: "an even number",
        check=lambda given, actual: None if actual % 2 == 0 else "it is odd",
    ))
""".replace("NAME", "even")

LISTED = """\
plugins (2)
  it
    prog -v
    declared by --plugin it=prog -v
  geo
    python3 'a b.py'
    declared by conductor.config.json

matchers of installed packages (1)
  even
    provided by the package evens 1.0 (evens:add)

reporters of installed packages (1)
  shine
    provided by the package shiny 1.0 (shiny:Shine)
"""


def test_list_without_anything_says_how_a_plugin_is_declared(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "plugin", "list")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("plugins (0)\n  none; declare one with --plugin NAME=COMMAND,\n")


@pytest.mark.parametrize(
    ("code", "group", "point", "said"),
    [
        ("1 / 0", "matchers", "x", "the package bad 1.0 (bad:add) cannot be used: ZeroDivision"),
        (MATCHERS.replace("even", "contains", 1), "matchers", "x", "the matcher 'contains' has"),
        ("", "reporters", "junit", "the reporter 'junit' has two owners: mcptest itself and the"),
    ],
)
def test_list_shows_the_rest_and_then_what_cannot_be_used(
    tmp_path: Path, code: str, group: str, point: str, said: str
) -> None:
    groups = {f"mcptest.{group}": {point: "bad:add"}}
    installed = install_package(tmp_path / "lib", "bad", code, groups)
    ended = mcptest(tmp_path, "plugin", "list", "--plugin", "it=prog", **installed)
    assert ended.code == 2
    assert ended.out.startswith("plugins (1)\n  it\n")
    assert f"error: {said}" in ended.err
    assert "the package bad 1.0 (bad:add)" in ended.err
    as_json = mcptest(tmp_path, "plugin", "list", "--json", **installed)
    assert (as_json.code, as_json.report()["error"]["kind"]) == (2, "usage")


def test_a_terminal_gets_colour_unless_it_is_switched_off(tmp_path: Path) -> None:
    words = ("plugin", "list", "--plugin", "it=prog")
    assert "\x1b[1mplugins (1)\x1b[0m" in on_terminal(tmp_path, *words, stderr=False).out
    assert "\x1b" not in on_terminal(tmp_path, *words, "--no-color", stderr=False).out


def test_a_secret_of_the_config_is_in_nothing_that_is_said(tmp_path: Path) -> None:
    plugin = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    sys.stderr.write(line)\n"
        "    if asked['method'] == 'garble': print('no JSON', line)\n"
        "    print(json.dumps({'id': asked['id'], 'result': asked['params']}), flush=True)\n"
    )
    (tmp_path / "plugin.py").write_text(plugin, encoding="utf-8")
    config = {
        "name": "s",
        "command": "true",
        "args": [],
        "env": {"KEY": "${CANARY}"},
        "imports": {"subprocess_matchers": {"it": {"command": [sys.executable, "plugin.py"]}}},
    }
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    for method in ("echo", "garble"):
        words = ("plugin", "call", "it", method, '"c4n4ry-in-clear"', "--json")
        ended = mcptest(tmp_path, *words, CANARY="c4n4ry-in-clear")
        assert "[secret]" in ended.out
        assert "c4n4ry" not in ended.out + ended.err
