"""What a server is called in reports: as its file says, else as it calls itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from console import Ended, case, mcptest, server, write_config, write_suite

SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        version = message.get("params", {}).get("protocolVersion")
        info = {"name": NAME, "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        if message["method"] == "tools/list":
            result = {"tools": [{"name": "sell", "inputSchema": {"type": "object"}}]}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
PROGRAM = Path(sys.executable).name
LISTS = case("lists", "tools/list", params={}, wants={"tools": "match:type:array"})


def run(folder: Path, name: object, *words: str) -> Ended:
    """Run two files against a server that calls itself this, and that no file names."""
    (folder / "server.py").write_text(SERVER.replace("NAME", repr(name)), encoding="utf-8")
    for file in ("a", "b"):
        write_suite(folder / f"{file}.test.mcp.yml", LISTS)
    return mcptest(folder, "run", *words, "--", sys.executable, "-S", "-E", "server.py")


def test_the_terminal_calls_an_unnamed_server_by_its_own_name(tmp_path: Path) -> None:
    ended = run(tmp_path, "shop", "-v")
    assert ended.code == 0
    assert ended.out.startswith("shop\n\na  a.test.mcp.yml\n")
    assert "\ncoverage of shop: 0 % (0 of 1)\n" in ended.out
    assert "\nshop  stdio, 2025-11-25\n" in ended.out


@pytest.mark.parametrize("words", [(), ("-j", "2")], ids=["in turn", "parallel"])
def test_the_json_report_and_the_capture_have_the_name_everywhere(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    report = run(tmp_path, "shop", "--json", "--capture", "c.json", *words).report()
    assert (report["server"], report["suites"][1]["server"]) == ("shop", "shop")
    assert {each["server"] for each in report["invariants"]} == {"stdio://shop"}
    assert report["coverage"]["servers"][0]["server"] == "shop"
    assert report["spoken"][0]["server"] == "shop"
    saved = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert "stdio://shop" in json.dumps(saved)
    assert f'"stdio://{PROGRAM}"' not in json.dumps([report, saved])


def contract(folder: Path, own: str, **keys: object) -> None:
    """Write a contract with its own server, which calls itself by this name."""
    (folder / f"{own}.py").write_text(SERVER.replace("NAME", repr(own)), encoding="utf-8")
    started = {"command": sys.executable, "args": ["-S", "-E", f"{own}.py"], **keys}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    response = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "sell"}]}}
    case = {"_server": started, "case": "lists", "in": request, "out": response}
    (folder / f"{own}.cases.yaml").write_text(json.dumps(case), encoding="utf-8")


def test_the_unnamed_server_of_a_contract_is_called_by_its_own_name(tmp_path: Path) -> None:
    contract(tmp_path, "shop")
    report = mcptest(tmp_path, "run", "shop.cases.yaml", "--json").report()
    assert (report["server"], report["suites"][0]["server"]) == ("shop", "shop")
    assert report["coverage"]["servers"][0]["server"] == "shop"
    assert mcptest(tmp_path, "run", "shop.cases.yaml").out.startswith("shop\n")


def test_the_name_in_a_contract_stays(tmp_path: Path) -> None:
    contract(tmp_path, "shop", name="mine")
    assert mcptest(tmp_path, "run", "shop.cases.yaml").out.startswith("mine\n")


@pytest.mark.parametrize("words", [(), ("-j", "2")], ids=["in turn", "parallel"])
def test_different_servers_of_one_program_have_their_own_names(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    contract(tmp_path, "shop")
    contract(tmp_path, "bank")
    report = mcptest(tmp_path, "run", "--json", "--capture", "c.json", *words).report()
    assert [suite["server"] for suite in report["suites"]] == ["bank", "shop"]
    assert [each["server"] for each in report["coverage"]["servers"]] == ["bank", "shop"]
    assert {each["server"] for each in report["invariants"]} == {"stdio://bank", "stdio://shop"}
    assert [each["server"] for each in report["spoken"]] == ["bank", "shop"]
    saved = (tmp_path / "c.json").read_text(encoding="utf-8")
    assert "stdio://bank" in saved
    assert "stdio://shop" in saved


@pytest.mark.parametrize("name", [{}, {"name": "mine"}], ids=["unnamed", "one name"])
def test_what_one_server_lists_is_not_mistaken_for_the_list_of_another(
    tmp_path: Path, name: dict[str, str]
) -> None:
    """Both tests call a tool that their own server lists, and expect an error."""
    refused = {"error": {"code": -32602, "message": "no"}}
    for own in ("shop", "bank"):
        contract(tmp_path, own, **name)
        program = SERVER.replace("NAME", repr(own)).replace('"sell"', f'"{own}_tool"')
        program = program.replace(
            '"result": result}', f'**({refused} if "name" in message["params"] else OK)}}'
        ).replace("        print(", '        OK = {"result": result}\n        print(')
        (tmp_path / f"{own}.py").write_text(program, encoding="utf-8")
        path = tmp_path / f"{own}.cases.yaml"
        text = json.loads(path.read_text(encoding="utf-8"))
        text["in"] |= {"method": "tools/call", "params": {"name": f"{own}_tool"}}
        text["out"] = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602}}
        path.write_text(json.dumps(text), encoding="utf-8")
    ended = mcptest(tmp_path, "run")
    assert ended.code == 0, ended.out
    assert "lists no tool" not in ended.out
    assert ended.out.count(": 100 % (1 of 1)") == 2


def test_the_note_on_shared_servers_names_no_program(tmp_path: Path) -> None:
    ended = run(tmp_path, "shop", "-j", "2")
    assert "2 files share one server and run one after the other" in ended.err


@pytest.mark.parametrize("reporter", ["html", "markdown", "ndjson"])
def test_files_have_the_name(tmp_path: Path, reporter: str) -> None:
    run(tmp_path, "the shop", "--reporter", f"{reporter}=report")
    text = (tmp_path / "report").read_text(encoding="utf-8")
    assert "the shop" in text


def test_a_name_of_a_server_is_shown_escaped_and_shortened(tmp_path: Path) -> None:
    ended = run(tmp_path, "\x1b[31mred\n" + "x" * 500)
    assert ended.out.startswith("\\u001b[31mred\\nxxx")
    assert len(ended.out.splitlines()[0]) < 130


@pytest.mark.parametrize("name", ["", " ", 5, None])
def test_a_server_without_a_name_is_called_like_its_program(tmp_path: Path, name: object) -> None:
    assert run(tmp_path, name).out.startswith(f"{PROGRAM}\n")


def test_a_server_that_does_not_start_is_called_like_its_program(tmp_path: Path) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", LISTS)
    ended = mcptest(tmp_path, "run", "--json", "--", "no-such-program")
    assert (ended.code, ended.report()["server"]) == (3, "no-such-program")


def test_the_name_in_a_config_stays(tmp_path: Path) -> None:
    write_config(tmp_path / "conductor.config.json", name="mine")
    write_suite(tmp_path / "a.test.mcp.yml", case("speaks"))
    assert mcptest(tmp_path, "run").out.startswith("mine\n")


def test_the_name_in_a_suite_stays(tmp_path: Path) -> None:
    entry = server()
    command = [entry["command"], *entry["args"]]
    suite = {"name": "s", "servers": {"mine": {"command": command}}}
    expect = [{"target": "result", "matcher": {"type": "object"}}]
    text = json.dumps({**suite, "tools": [{"name": "t", "tool": "a", "expect": expect}]})
    (tmp_path / "mcptest.yaml").write_text(text, encoding="utf-8")
    report = mcptest(tmp_path, "run", "--json", "--", *command).report()
    assert report["suites"][0]["server"] == "mine"


def test_a_contract_with_its_own_handshake_learns_the_name(tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    result = {"serverInfo": {"name": "shop", "version": "1"}, "protocolVersion": "2025-11-25"}
    response = {"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {"tools": {}}, **result}}
    (tmp_path / "server.py").write_text(SERVER.replace("NAME", "'shop'"), encoding="utf-8")
    contract = {"case": "opens", "in": request, "out": response}
    (tmp_path / "a.cases.yaml").write_text(json.dumps(contract), encoding="utf-8")
    ended = mcptest(tmp_path, "run", "--", sys.executable, "-S", "-E", "server.py")
    assert ended.out.startswith("shop\n"), ended
