"""Every mistake in the config of a client has its place, and no secret is ever shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from client_files import SECRET, local, seen_in, write_client, write_text
from console import mcptest

if TYPE_CHECKING:
    from console import Ended


def entry(keys: str) -> str:
    """A config whose one server has these keys on line 3."""
    return '{"mcpServers": {\n "shop": {\n' + keys + "\n}}}"


def visual_studio(keys: str, inputs: str = "[]") -> str:
    return '{"inputs": ' + inputs + ', "servers": {\n "shop": {\n' + keys + "\n}}}"


def zed(keys: str) -> str:
    return '{"context_servers": {\n "shop": {\n' + keys + "\n}}}"


def package(keys: str) -> str:
    return '{"name": "a/b", "packages": [\n {\n' + keys + "\n}]}"


def remote(keys: str) -> str:
    return '{"name": "a/b", "remotes": [\n {\n' + keys + "\n}]}"


NPM = '"registryType": "npm", "identifier": "x"'

# Text, and what is reported: code, line, column and message.
MISTAKES: dict[str, tuple[str, str]] = {
    "no command": (entry('"args": []'), 'F007 2:2 a server needs the key "command" or "url"'),
    "stdio": (entry('"type": "stdio"'), 'F007 2:2 a server needs the key "command"'),
    "command": (entry('"command": 1'), 'F008 3:12 "command" must be text and is a number'),
    "empty": (entry('"command": ""'), 'F009 3:12 "command" is empty'),
    "args": (entry('"command": "x", "args": "y"'), 'F008 3:25 "args" must be a list and is text'),
    "argument": (
        entry('"command": "x", "args": ["y", 1]'),
        'F008 3:31 "args" must hold texts; number 2 is a number',
    ),
    "env": (
        entry('"command": "x", "env": {"A": true}'),
        'F008 3:30 "A" must be text and is a boolean',
    ),
    "name of a variable": (
        entry('"command": "x", "env": {"A=B": ""}'),
        "F009 3:25 the name of a variable must not be empty or hold =, and no value holds NUL",
    ),
    "type": (
        entry('"type": "ws", "url": "http://x"'),
        'F009 3:9 "type" must be one of stdio, local, http, streamable-http, streamableHttp, '
        "streamable_http, sse",
    ),
    "two ways": (
        entry('"command": "x", "url": "http://x"'),
        'F003 3:17 "command" and "url" both say where the server is; give one of them',
    ),
    "no url": (entry('"type": "http"'), 'F007 2:2 a server on HTTP needs the key "url"'),
    "url": (entry('"url": "ftp://x"'), 'F009 3:8 "url" is not the URL of a server'),
    "header": (
        entry('"url": "http://x", "headers": {"A b": "c"}'),
        "F009 3:32 'A b' is not the name of a header",
    ),
    "disabled": (
        entry('"command": "x", "disabled": "yes"'),
        'F008 3:29 "disabled" must be true or false and is text',
    ),
    "unset": (
        entry('"command": "x", "args": ["${NOT_SET}"]'),
        "F016 3:26 the environment variable 'NOT_SET' is not set",
    ),
    "unset by env": (
        entry('"command": "x", "env": {"A": "${env:NOT_SET}"}'),
        "F016 3:30 the environment variable 'NOT_SET' is not set",
    ),
    "nested": (
        entry('"command": "x", "args": ["${A:-${B}}"]'),
        "F009 3:26 a default cannot hold another variable",
    ),
    "foreign variable": (
        entry('"command": "x", "args": ["${command:pick}"]'),
        "F010 3:26 ${command:pick} has a value only in the program that this file is for",
    ),
    "env file": (
        entry('"command": "x", "envFile": "none.env"'),
        "F001 3:28 cannot read none.env: No such file or directory",
    ),
    "no variable": (
        entry('"command": "x", "args": ["${env:}"]'),
        "F009 3:26 ${env:} names nothing",
    ),
    "entry": ('{"mcpServers": {\n"shop": []}}', 'F008 2:9 "shop" must be a mapping and is a list'),
    "servers": ('{\n"mcpServers": []}', 'F008 2:15 "mcpServers" must be a mapping and is a list'),
    "top": ("[]", "F005 1:1 a config must be an object and is a list"),
    "no key": (
        "{}",
        "F007 1:1 a config of servers needs one of the keys mcpServers, servers, context_servers, "
        "packages, remotes",
    ),
    "syntax": ('{"mcpServers":\n {"a" {}}}', "F002 2:7 this is not JSON: expecting ':' delimiter"),
    "open comments": ("/* " * 300_000, "F002 1:1 this is not JSON: expecting value"),
    "open comment": ("{}/*/", "F002 1:3 this is not JSON: something follows the end of the JSON"),
    "end": ('{"mcpServers": {', "F002 1:17 this is not JSON: expecting property name"),
    "twice": ('{"mcpServers": {\n"a": {}, "a": {}}}', 'F003 2:10 the key "a" is written twice'),
    "input": (
        visual_studio('"command": "x", "args": ["${input:the-key}"]'),
        "F016 3:26 the environment variable 'THE_KEY' is not set",
    ),
    "extension": (
        zed('"settings": {}'),
        "F007 2:2 an extension of Zed starts this server; the file does not say how",
    ),
    "path": (zed('"command": {"args": []}'), 'F007 3:1 "command" needs the key "path"'),
    "package": (package('"registryType": "npm"'), 'F007 2:2 a package needs the key "identifier"'),
    "kind": (
        package('"registryType": "mcpb", "identifier": "x"'),
        "F010 3:1 packages of the type 'mcpb' cannot be started",
    ),
    "choice": (
        package(NPM + ', "packageArguments": [{"type": "flag"}]'),
        'F008 3:73 "type" must be one of positional, named',
    ),
    "variable": (
        package(NPM + ', "environmentVariables": [{"name": "NOT_SET", "isRequired": true}]'),
        "F016 3:68 the environment variable 'NOT_SET' is not set",
    ),
    "choices": (
        package(NPM + ', "packageArguments": [{"default": "a", "choices": ["b"]}]'),
        "F009 3:92 the value must be one of b",
    ),
    "name of its variable": (
        package(NPM + ', "environmentVariables": [{"name": "A=B", "value": ""}]'),
        "F009 3:77 the name of a variable must not be empty or hold =, and no value holds NUL",
    ),
    "argument with NUL": (
        package(NPM + ', "packageArguments": [{"value": "\\u0000"}]'),
        "F009 2:2 a command must not hold NUL",
    ),
    "remote": (remote('"type": "sse"'), 'F007 2:2 a remote needs the key "url"'),
    "our header": (
        remote('"type": "sse", "url": "http://x", "headers": [{"name": "Host", "value": "a"}]'),
        "F009 3:56 'Host' is set by mcptest itself",
    ),
}


def mistakes_in(ended: Ended) -> list[str]:
    """The diagnostics on standard error: code, place, message."""
    found = re.findall(r"error\[(F\d+)\]: (.*)\n *--> \.mcp\.json:(\d+:\d+)", ended.err)
    return [f"{code} {place} {message}" for code, message, place in found]


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_with_its_place(name: str, tmp_path: Path) -> None:
    text, wanted = MISTAKES[name]
    write_text(tmp_path, text)
    server = ("--server", "shop") if "shop" in text else ()
    ended = mcptest(tmp_path, "list", *server)
    assert ended.code == 2
    found = mistakes_in(ended)
    assert len(found) == 1, ended.err
    assert found[0].startswith(wanted)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    text = entry('"command": 1,\n"args": ["${NOT_SET}"],\n"env": {"A": [], "B": "${OTHER}"}')
    write_text(tmp_path, text)
    places = [found.split()[:2] for found in mistakes_in(mcptest(tmp_path, "list"))]
    assert places == [["F008", "3:12"], ["F008", "5:14"], ["F016", "4:10"], ["F016", "5:23"]]


def test_mistakes_in_other_servers_of_the_file_do_not_matter(tmp_path: Path) -> None:
    write_client(tmp_path, {"shop": local(), "other": {"command": 1, "colour": "${NOT_SET}"}})
    ended = mcptest(tmp_path, "list", "--config", ".mcp.json", "--server", "shop")
    assert (ended.code, ended.err) == (0, "")


def test_comments_and_trailing_commas_are_allowed_and_places_are_right(tmp_path: Path) -> None:
    text = '{ /* a\n comment */ "mcpServers": { // "x": {"\n "shop": {"command": "python3",\n'
    text += (
        ' "args": ["server.py", "//not a comment", "/* nor this */", "a,]",],\n "colour": 1 ,},},}'
    )
    write_text(tmp_path, text)
    ended = mcptest(tmp_path, "list")
    assert ended.code == 0, ended.err
    assert seen_in(tmp_path)["argv"] == ["//not a comment", "/* nor this */", "a,]"]
    assert " --> .mcp.json:5:2\n" in ended.err


def test_our_own_config_has_no_comments(tmp_path: Path) -> None:
    text = '{"name": "a", // comment\n "command": "python3", "args": ["server.py"]}'
    write_text(tmp_path, text, "conductor.config.json")
    assert mcptest(tmp_path, "list").code == 2


# Keys of other programs

IGNORED = {
    ".mcp.json": (
        "mcpServers",
        "alwaysAllow alwaysLoad autoApprove description disabledTools enabledTools excludeTools "
        "icon includeTools name timeout tools trust version",
    ),
    ".vscode/mcp.json": (
        "servers",
        "description dev gallery icon name sandbox sandboxEnabled version",
    ),
    ".zed/settings.json": ("context_servers", "remote settings timeout"),
}


@pytest.mark.parametrize("name", IGNORED)
def test_keys_that_are_known_to_mean_nothing_here_are_ignored(name: str, tmp_path: Path) -> None:
    key, words = IGNORED[name]
    write_text(tmp_path, json.dumps({key: {"a": local() | dict.fromkeys(words.split(), 1)}}), name)
    ended = mcptest(tmp_path, "list", "--config", name)
    assert (ended.code, ended.err) == (0, "")


def test_the_documentation_lists_them() -> None:
    page = (Path(__file__).parents[3] / "docs" / "config.md").read_text(encoding="utf-8")
    for _, words in IGNORED.values():
        for word in words.split():
            assert f"`{word}`" in page


def test_an_unknown_key_is_a_warning_with_its_place(tmp_path: Path) -> None:
    write_text(
        tmp_path, entry('"command": "python3", "args": ["server.py"], "evn": {}, "oauth": {}')
    )
    ended = mcptest(tmp_path, "list")
    assert ended.code == 0
    assert 'warning[W004]: "evn" is not known to mcptest, and is ignored; did you mean "env"?' in (
        ended.err
    )
    assert " --> .mcp.json:3:46\n" in ended.err
    assert 'warning[W004]: "oauth" is not known to mcptest, and is ignored\n' in ended.err
    assert "help: give credentials with --bearer-env NAME or --header-env HEADER=NAME" in ended.err


def test_a_key_that_means_nothing_for_this_server_is_a_warning(tmp_path: Path) -> None:
    write_client(tmp_path, {"shop": local(headers={"A": "canary"})})
    ended = mcptest(tmp_path, "list")
    assert ended.code == 0
    message = '"headers" means nothing for a server that is started, and is ignored'
    assert f"warning[W004]: {message}\n" in ended.err
    write_text(tmp_path, entry('"url": "http://127.0.0.1:1/", "args": ["a"], "env": {"A": "b"}'))
    ended = mcptest(tmp_path, "list")
    assert ended.code == 3
    message = "means nothing for a server at a URL, which is not started, and is ignored"
    assert re.findall(r'warning\[W004\]: "(.*)" (.*)', ended.err) == [
        ("args", message),
        ("env", message),
    ]


# Variables


def test_variables_are_replaced_wherever_a_value_is_used(tmp_path: Path) -> None:
    args = ["${workspaceFolder}/server.py", "${A}", "${env:A}", "${B:-b}", "${EMPTY:-c}", "${A:-d}"]
    args += ["${workspaceFolderBasename}${/}${userHome}", "${1}", "$A", "{A}"]
    server = local(args=args, command="${PROGRAM}", cwd="${SUB}", env={"X": "${A}-${B:-b}"})
    write_client(tmp_path, {"shop": server})
    (tmp_path / "sub").mkdir()
    variables = {"A": "alpha", "PROGRAM": "python3", "SUB": "sub", "EMPTY": "", "HOME": "/home/ada"}
    ended = mcptest(tmp_path, "list", **variables)
    assert ended.code == 0, ended.err
    seen = seen_in(tmp_path)
    assert seen["argv"][:5] == ["alpha", "alpha", "b", "c", "alpha"]
    assert seen["argv"][5:] == [f"{tmp_path.name}//home/ada", "${1}", "$A", "{A}"]
    assert (seen["cwd"], seen["env"]["X"]) == (str(tmp_path / "sub"), "alpha-b")


def test_variables_in_the_arguments_of_a_shell_are_left_to_it(tmp_path: Path) -> None:
    script = 'for i in 1; do exec python3 "${workspaceFolder}/server.py" "${i}" "${A:-none}"; done'
    write_client(tmp_path, {"shop": {"command": "sh", "args": ["-c", script]}})
    assert mcptest(tmp_path, "list").code == 0
    assert seen_in(tmp_path)["argv"] == ["1", "none"]


# Secrets

REVEAL = {
    "description": "d",
    "tests": [
        {
            "it": "reveals",
            "tool": "reveal",
            "arguments": {"name": "LITERAL"},
            "expect": {"response": {"result": {}}},
        },
        {
            "it": "reveals a variable",
            "tool": "reveal",
            "arguments": {"name": "FILLED"},
            "expect": {"response": {"result": {}}},
        },
        {
            "it": "reveals what a file says",
            "tool": "reveal",
            "arguments": {"name": "OF_FILE"},
            "expect": {"response": {"result": {}}},
        },
    ],
}


def test_values_of_env_are_blanked_in_everything_that_is_written(tmp_path: Path) -> None:
    values = {"LITERAL": "canary-one-111", "FILLED": "canary-two-222", "OF_FILE": "canary-three-33"}
    env = {"LITERAL": values["LITERAL"], "FILLED": "x${SOURCE}"}
    write_client(tmp_path, {"shop": local(env=env, envFile="secrets.env")})
    (tmp_path / "secrets.env").write_text(f"OF_FILE='{values['OF_FILE']}'\n", encoding="utf-8")
    (tmp_path / "a.test.mcp.yml").write_text(json.dumps(REVEAL), encoding="utf-8")
    reports = [f"--reporter={name}=report.{name}" for name in ("json", "junit", "html", "markdown")]
    ended = mcptest(
        tmp_path, "run", "-v", "--capture", "capture.json", *reports, SOURCE=values["FILLED"]
    )
    assert ended.code == 1
    env_seen = seen_in(tmp_path)["env"]
    assert env_seen["FILLED"] == f"x{values['FILLED']}"
    written = ["report.json", "report.junit", "report.html", "report.markdown", "capture.json"]
    texts = [(tmp_path / name).read_text(encoding="utf-8") for name in written]
    for text in (*texts, ended.out, ended.err):
        assert not [value for value in values.values() if value in text]
    assert "[secret]" in ended.out


def test_secrets_are_blanked_in_the_lines_that_a_mistake_quotes(tmp_path: Path) -> None:
    keys = '"command": 1, "args": ["--api-key", "canary-two"], "env": {"A": "canary-one"}'
    text = entry(keys).replace("\n", " ")
    write_text(tmp_path, text)
    ended = mcptest(tmp_path, "list")
    assert "canary" not in ended.err
    # The caret is below the mistake.
    lines = ended.err.splitlines()
    [at] = [index for index, line in enumerate(lines) if "^" in line]
    assert lines[at - 1][lines[at].index("^")] == "1"


@pytest.mark.parametrize(
    "keys",
    [
        '"command": "x", "env": "canary-one"',
        '"command": "x", "env": ["A=canary-one"]',
        '"command": "x", "env": {"A": {"B": ["canary-one"]}}',
        '"url": "http://x", "headers": ["A: canary-one"]',
        '"url": "http://x", "headers": {"A": {"B": "Bearer canary-one"}}',
        '"url": "http://x", "headers": "canary-one"',
        '"command": "x", "env": [{"name": "A", "value": "canary-one"}, {"B": "canary-two"}]',
        '"command": "x", "args": "--token canary-one"',
        '"command": "x", "args": "[\\"--token\\", \\"canary-one\\"]"',
        '"command": "x", "args": ["--token=canary-one", 1]',
        '"command": 1, "args": ["postgres://ada:canary-one@h/db"]',
        '"type": 1, "url": "https://x/mcp?shopApiKey=canary-one&a=b"',
    ],
)
def test_secrets_of_the_wrong_type_are_blanked_too(keys: str, tmp_path: Path) -> None:
    write_text(tmp_path, entry(keys))
    ended = mcptest(tmp_path, "list")
    assert (ended.code, ended.out) == (2, "")
    assert "canary" not in ended.err
    assert "***" in ended.err


@pytest.mark.parametrize(
    "text",
    [
        '[{"mcpServers": {"shop": {"command": "x", "env": {"A": "canary-one"}}}}]',
        '{"mcpServers": {"shop": "x --token canary-one"}}',
        '{"mcpServers": "x --token canary-one"}',
        '{"servers": [], "inputs": [{"id": "a", "password": true, "default": "canary-one"}]}',
    ],
)
def test_secrets_are_blanked_where_no_server_is(text: str, tmp_path: Path) -> None:
    write_text(tmp_path, text)
    ended = mcptest(tmp_path, "list")
    assert ended.code == 2
    assert ".mcp.json:1:" in ended.err
    assert "canary" not in ended.err


def test_headers_of_a_published_server_are_not_quoted(tmp_path: Path) -> None:
    headers = '[{"name": "A", "value": "canary-one"}, {"name": "b c", "value": "d"}]'
    write_text(tmp_path, remote(f'"type": "sse", "url": "http://x", "headers": {headers}'))
    ended = mcptest(tmp_path, "list")
    assert "'b c' is not the name of a header" in ended.err
    assert "canary" not in ended.err


@pytest.mark.parametrize(
    "argument",
    [
        "--token=canary-one",
        "--api-key canary-one",
        "SHOP_TOKEN=canary-one",
        "Authorization: Bearer canary-one",
        "--header=X-Api-Key: canary-one",
        "postgres://ada:canary-one@h/db",
        "https://x/mcp?shopApiKey=canary-one&a=b",
    ],
)
def test_secrets_within_an_argument_are_blanked(argument: str, tmp_path: Path) -> None:
    for server in ({"command": "none", "args": [argument]}, {"command": f"none '{argument}'"}):
        write_client(tmp_path, {"shop": server})
        ended = mcptest(tmp_path, "list")
        assert ended.code == 3
        assert "canary" not in ended.err
        assert "[secret]" in ended.err


@pytest.mark.parametrize(
    "args",
    [
        ["--api-key", "${SETTING}"],
        ["--api-key", "${UNSET:-canary-one}"],
        ["${SHOP_TOKEN:-canary-one}"],
        ["${input:key}"],
    ],
)
def test_values_of_variables_are_blanked_after_an_option_and_as_a_default(
    args: list[str], tmp_path: Path
) -> None:
    inputs = [{"id": "key", "password": True, "default": "canary-one"}]
    servers = {"shop": {"command": "none", "args": args}}
    write_text(tmp_path, json.dumps({"servers": servers, "inputs": inputs}))
    ended = mcptest(tmp_path, "list", SETTING="canary-one")
    assert ended.code == 3
    assert "canary" not in ended.err
    assert "[secret]" in ended.err


def test_secrets_in_a_url_are_blanked(tmp_path: Path) -> None:
    write_client(tmp_path, {"shop": {"url": "http://127.0.0.1:1/mcp?shopApiKey=canary-one"}})
    ended = mcptest(tmp_path, "list")
    assert ended.code == 3
    assert "?shopApiKey=[secret]" in ended.err


@pytest.mark.parametrize("text", ["${" * 300_000, "a:" * 300_000])
def test_a_long_value_is_read_in_seconds(text: str, tmp_path: Path) -> None:
    write_client(tmp_path, {"shop": {"command": "none", "args": [text], "env": {"A": text}}})
    assert mcptest(tmp_path, "list").code == 3


def test_packages_of_any_kind_are_all_there(tmp_path: Path) -> None:
    kinds = [{"registryType": each, "identifier": "x"} for each in ("a#b", "npm", "a#b", "npm")]
    write_text(tmp_path, json.dumps({"name": "a/b", "packages": kinds}))
    err = mcptest(tmp_path, "list").err
    assert err.startswith("error: .mcp.json has 4 servers: a#b, npm, a#b#2, npm#2\n")


def test_a_line_that_is_not_json_is_not_quoted(tmp_path: Path) -> None:
    write_text(tmp_path, '{"mcpServers": {"a": {"env": {"A": "canary" "B"}}}}')
    ended = mcptest(tmp_path, "list")
    assert mistakes_in(ended) == ["F002 1:45 this is not JSON: expecting ',' delimiter"]
    assert "canary" not in ended.err


def test_a_file_that_a_link_leads_to_is_not_quoted(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "key").write_text('{"private": "canary"}', encoding="utf-8")
    (inside / ".mcp.json").symlink_to(outside / "key")
    ended = mcptest(inside, "list")
    assert ended.code == 2
    assert "canary" not in ended.err
    assert "private" not in ended.err


def test_a_weak_secret_is_warned_of(tmp_path: Path) -> None:
    env: dict[str, Any] = {"API_KEY": "abc", "MODE": "abc"}
    write_client(tmp_path, {"shop": local(env=env)})
    ended = mcptest(tmp_path, "list")
    assert ended.err.count("warning[W003]") == 1
    assert "the value of 'API_KEY' is too short to be blanked" in ended.err


def test_the_folder_of_the_project_is_not_a_secret(tmp_path: Path) -> None:
    write_client(tmp_path, {"shop": local(env={"DATA": "${workspaceFolder}/data"})})
    ended = mcptest(tmp_path, "call", "reveal", "name=DATA")
    assert ended.report()["content"][0]["text"] == f"{tmp_path}/data"


def test_bearer_tokens_are_blanked_without_the_word_before_them(tmp_path: Path) -> None:
    write_client(tmp_path, {"shop": local(env={"HEADER": f"Bearer {SECRET}", "TOKEN2": "x"})})
    ended = mcptest(tmp_path, "call", "reveal", "name=HEADER")
    assert ended.report()["content"][0]["text"] == "[secret]"
