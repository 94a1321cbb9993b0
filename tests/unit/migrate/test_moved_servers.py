"""The keys of a config as a server of a suite, and back."""

from __future__ import annotations

from typing import Any

from migrating import FOLDER, SERVER, entries_of, moved

from mcptest.formats.document import read_document
from mcptest.formats.yaml_text import render_yaml
from mcptest.migrate.config_servers import ConfigServer, config_server
from mcptest.migrate.suite_servers import ServerText, suite_server


def back(server: dict[str, Any], **more: Any) -> ConfigServer:
    """The config for a suite with this server."""
    entry = {"name": "n", "tool": "t"}
    suite = render_yaml({"servers": {"s": server}, "tools": [entry], **more})
    return config_server("s", entries_of(suite), FOLDER)


def test_every_key_has_its_name_in_a_suite_and_back() -> None:
    keys: dict[str, object] = {
        "name": "s",
        "command": "run",
        "args": ["--fast"],
        "cwd": "lib",
        "env": {"MODE": "test", "TOKEN": "${TOKEN}"},
        "inheritEnv": False,
        "startupTimeout": "5s",
        "readyPattern": "ready",
        "timeout": 500,
        "protocolVersion": "2025-06-18",
        "isolation": "test",
        "maxLineBytes": 1000,
        "client": {"roots": ["file:///a"]},
    }
    text = ServerText(keys=keys, file="a.json", cwd=f"{FOLDER}/lib")
    found = suite_server(text, FOLDER)
    assert found.value == {
        "command": ["run", "--fast"],
        "cwd": "lib",
        "env": {"MODE": "test", "TOKEN": {"secret_env": "TOKEN"}},
        "inherit_env": False,
        "startup_timeout": "5s",
        "ready_pattern": "ready",
        "timeout": 500,
        "protocol_version": "2025-06-18",
        "isolation": "test",
        "max_line_bytes": 1000,
        "client": {"roots": ["file:///a"]},
    }
    assert (found.name, found.remarks, found.variables) == ("s", (), {})
    assert back(found.value) == ConfigServer(keys=keys, remarks=())


def test_a_folder_is_seen_from_the_new_file() -> None:
    text = ServerText(keys=SERVER, file="a.json", cwd="/there/lib")
    assert suite_server(text, FOLDER).value["cwd"] == "../there/lib"
    text = ServerText(keys=SERVER, file="a.json", cwd=FOLDER)
    assert "cwd" not in suite_server(text, FOLDER).value


def test_a_secret_inside_of_a_text_becomes_a_variable_and_back() -> None:
    found = moved({**SERVER, "env": {"AUTH": "Bearer ${TOKEN}, ${odd-name}"}})
    assert found.value["env"] == {"AUTH": "Bearer ${TOKEN}, ${v_odd_name}"}
    variables = {"TOKEN": {"secret_env": "TOKEN"}, "v_odd_name": {"secret_env": "odd-name"}}
    assert found.variables == variables
    again = back(found.value, variables=variables)
    assert again.keys["env"] == {"AUTH": "Bearer ${TOKEN}, ${odd-name}"}


def test_texts_that_look_like_references_stay_texts() -> None:
    found = moved({**SERVER, "args": ["${HOME}"], "readyPattern": "a${b}"})
    assert found.value["command"] == ["run", "$${HOME}"]
    assert found.value["ready_pattern"] == "a$${b}"
    assert back(found.value).keys["args"] == ["${HOME}"]


def test_what_a_suite_cannot_say_of_a_server_is_told() -> None:
    found = moved({**SERVER, "strictInvariants": True, "env": {"A": "$${B}"}})
    assert [(each.file, each.reason) for each in found.remarks] == [
        ("a.json", "strictInvariants: run the suite with --strict-invariants instead"),
        ("a.json", 'env A: "$${B}" would be read as a text that stands for itself'),
    ]
    assert "env" not in found.value


def test_a_contract_has_a_process_of_its_own_and_says_hello_as_it_did() -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {}}
    found = moved(SERVER, is_contract=True, hello=hello)
    assert found.value == {
        "command": ["run"],
        "isolation": "file",
        "protocol_version": "2025-06-18",
        "client": {"capabilities": {"roots": {}}},
    }
    assert found.is_for_one_file
    assert "protocol_version" not in moved(SERVER, hello={"protocolVersion": "1999"}).value


def test_what_a_config_cannot_say_of_a_server_is_told() -> None:
    env = {
        "A": {"from_env": "A", "default": "x"},
        "B": "$${B}",
        "C": "${odd}",
        "D": {"from_env": "D"},
        "E": "${plain} ${count}",
    }
    variables = {"count": 3, "odd": "$${x}", "plain": "text"}
    found = back({"command": ["run"], "env": env}, variables=variables)
    assert found.keys["env"] == {"D": "${D}", "E": "text 3"}
    assert [each.reason for each in found.remarks] == [
        "env A: a config has no default for a variable that is not set",
        "env B: a text with ${…} in it would be read as a variable",
        "env C: a text with ${…} in it would be read as a variable",
    ]


def test_the_folder_of_the_suite_and_its_options_are_put_in() -> None:
    server = {"command": ["${CONFIG_DIR}/run"], "cwd": "${CONFIG_DIR}/lib"}
    found = back(server, run_options={"isolation": "test"})
    assert found.keys == {
        "name": "s",
        "command": f"{FOLDER}/run",
        "args": [],
        "cwd": "lib",
        "isolation": "test",
    }
    assert read_document(render_yaml(found.keys), "").value == found.keys
