"""`mcptest docs`: from files and servers to documentation, by the real command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from console import Ended, mcptest

SERVERS = Path(__file__).parents[2] / "servers"
ROOT = SERVERS.parent.parent
OFFERING = SERVERS / "offering_server.py"
TINY = SERVERS / "tiny_server.py"
FEATURES = SERVERS / "feature_server.py"
EXAMPLE = ROOT / "examples" / "filesystem"

CASES = """
case: List tools
# Which are there?
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
out: {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "echo", "description": "Echoes."}]}}
---
case: Echo
in: {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {}}}
out: {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": !!re "^a" }]}}
"""


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    path = tmp_path / "echo_test.yaml"
    path.write_text(CASES, encoding="utf-8")
    return path


def docs(folder: Path, *words: str, **environment: str) -> Ended:
    return mcptest(folder, "docs", *words, **environment)


def from_server(folder: Path, server: Path, *words: str, **environment: str) -> Ended:
    return docs(folder, *words, "--", sys.executable, str(server), **environment)


# From files


def test_a_contract_becomes_markdown_on_standard_output(contract: Path) -> None:
    ended = docs(contract.parent, contract.name)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("# echo\n\nThe server offers 1 tool. 2 dialogues show")
    assert "### `echo`\n\nEchoes.\n" in ended.out
    # The first heading has the name already.
    assert "### Echo\n\n- Uses: [`echo`](#echo-1)\n" in ended.out
    assert '"text": !!re "^a"' in ended.out


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("a.html", "<!doctype html>"),
        ("a.HTM", "<!doctype html>"),
        ("a.md", "# echo"),
        ("a.txt", "# echo"),
        ("a", "# echo"),
    ],
)
def test_the_name_of_the_file_says_the_format(contract: Path, name: str, begins: str) -> None:
    ended = docs(contract.parent, contract.name, "-o", name)
    assert (ended.code, ended.out, ended.err) == (0, "", f"wrote {name}\n")
    text = (contract.parent / name).read_text(encoding="utf-8")
    assert text.startswith(begins)


def test_a_format_that_is_given_counts_more_than_a_name(contract: Path) -> None:
    assert docs(contract.parent, contract.name, "-o", "a.md", "--format", "html").code == 0
    text = (contract.parent / "a.md").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert docs(contract.parent, contract.name, "--format=html").out == text


def test_a_title_can_be_given(contract: Path) -> None:
    assert docs(contract.parent, contract.name, "--title", "My *echo*").out.startswith(
        "# My \\*echo\\*\n"
    )


def test_a_folder_means_all_files_in_it(contract: Path) -> None:
    (contract.parent / "other.cases.yaml").write_text(CASES, encoding="utf-8")
    out = docs(contract.parent, ".").out
    assert "4 dialogues show how it is used." in out
    assert "### echo\\_test.yaml\n" in out
    assert "### other.cases.yaml\n" in out


def test_a_server_that_a_contract_names_need_not_be_complete(contract: Path) -> None:
    text = "_server: {command: x, env: {KEY: '${NOT_SET_ANYWHERE}'}}\n---\n" + CASES
    contract.write_text(text, encoding="utf-8")
    ended = docs(contract.parent, contract.name)
    assert (ended.code, ended.err) == (0, "")


def test_a_conductor_file_is_documented_as_well() -> None:
    ended = docs(EXAMPLE, "files.test.mcp.yml")
    assert ended.code == 0
    assert ended.out.startswith("# Filesystem tools\n")
    assert "**client → server** · request `tools/call` `read_file`" in ended.out


def test_the_same_input_gives_the_same_bytes(contract: Path) -> None:
    for name in ("a.html", "b.html"):
        assert (
            docs(contract.parent, contract.name, "-o", name, PYTHONHASHSEED=str(len(name))).code
            == 0
        )
    first, second = ((contract.parent / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


def test_a_file_that_was_there_is_replaced_whole(contract: Path) -> None:
    (contract.parent / "a.md").write_text("x" * 100_000, encoding="utf-8")
    assert docs(contract.parent, contract.name, "-o", "a.md").code == 0
    text = (contract.parent / "a.md").read_text(encoding="utf-8")
    assert text == docs(contract.parent, contract.name).out
    assert sorted(path.name for path in contract.parent.iterdir()) == ["a.md", "echo_test.yaml"]


def test_an_unknown_key_causes_a_warning_and_the_page_is_written(contract: Path) -> None:
    contract.write_text(f"_tgas: [a]\n{CASES.strip()}\n", encoding="utf-8")
    ended = docs(contract.parent, contract.name)
    assert (ended.code, ended.out[:6]) == (0, "# echo")
    assert "warning[W001]" in ended.err


# From servers


def test_a_live_server_is_documented_from_its_own_lists(tmp_path: Path) -> None:
    ended = from_server(tmp_path, OFFERING)
    assert (ended.code, ended.err) == (0, "")
    assert "The server offers 12 tools, 1 resource and 1 prompt." in ended.out
    assert "- Server: `offering 1`" in ended.out
    assert "| `text` | string | yes |  | any text |" in ended.out
    # It is on the second page.
    assert "### `wipe`\n\n*destructive*\n" in ended.out
    assert "| `who` | yes |" in ended.out
    assert "## Dialogues" not in ended.out


def test_no_tool_is_called(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    assert from_server(tmp_path, OFFERING, CALLS=str(calls)).code == 0
    assert not calls.exists()


@pytest.mark.parametrize("format", ["markdown", "html"])
def test_text_from_the_server_is_escaped_in_the_file(tmp_path: Path, format: str) -> None:
    out = from_server(tmp_path, OFFERING, "--format", format, ODD="1").out
    assert "\\u001b" in out
    assert "half" in out
    assert all(char == "\n" or char.isprintable() for char in out)


def test_files_and_a_server_are_joined(contract: Path) -> None:
    ended = from_server(contract.parent, FEATURES, contract.name)
    assert ended.code == 0
    assert ended.out.startswith("# features\n")
    assert (
        "The server offers 7 tools, 1 resource, 1 resource template and 1 prompt. 2 dialogues"
        in (ended.out)
    )
    assert "| `loud` | any | no |\n\nUsed in: [Echo](#echo-1)\n" in ended.out


def test_features_known_only_from_the_contract_are_marked(contract: Path) -> None:
    out = from_server(contract.parent, OFFERING, contract.name).out
    note = "*Not described by the server: what is known of this tool is how it is used.*"
    assert f"### `echo`\n\n{note}\n" in out


def test_a_config_names_the_server(tmp_path: Path) -> None:
    config = {"name": "x", "command": sys.executable, "args": [str(OFFERING)]}
    path = tmp_path / "conductor.config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    given = docs(tmp_path, "--config", path.name)
    assert (given.code, given.out[:10]) == (0, "# offering")
    assert docs(tmp_path) == given


def test_a_config_in_the_folder_starts_nothing_when_there_are_files(contract: Path) -> None:
    config = {"name": "x", "command": "/does/not/exist", "args": []}
    (contract.parent / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    assert docs(contract.parent, contract.name).code == 0


def test_a_secret_of_the_config_is_blanked(tmp_path: Path) -> None:
    config = {"name": "x", "command": sys.executable, "args": [str(TINY), "${KEY}"]}
    (tmp_path / "a.json").write_text(json.dumps(config), encoding="utf-8")
    secret = str(tmp_path / "mark-of-the-server")
    ended = docs(tmp_path, "--config", "a.json", KEY=secret)
    assert ended.code == 7
    assert secret not in ended.out + ended.err


def test_an_incomplete_list_is_reported_and_the_known_part_is_written(tmp_path: Path) -> None:
    ended = from_server(tmp_path, FEATURES, "-o", "a.md", ENDLESS_LISTS="1")
    assert ended.code == 1
    assert 'note: tools: tools/list goes in a circle: a cursor came twice: "again"' in ended.err
    assert "### `echo`" in (tmp_path / "a.md").read_text(encoding="utf-8")


def test_a_server_that_does_not_start_is_reported_and_nothing_is_written(tmp_path: Path) -> None:
    ended = docs(tmp_path, "-o", "a.md", "--", sys.executable, "-c", "raise SystemExit(1)")
    assert (ended.code, ended.out) == (3, "")
    assert list(tmp_path.iterdir()) == []


# Mistakes


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ([], 2, "error: nothing to document: neither a file nor a server is given"),
        (
            ["echo_test.yaml", "--format", "htlm"],
            2,
            "error: --format has no 'htlm'; did you mean html?",
        ),
        (
            ["echo_test.yaml", "--format", "pdf"],
            2,
            "error: --format has no 'pdf'\n  help: there are: markdown, html",
        ),
        (["ecko_test.yaml"], 2, "error: there is no file or folder 'ecko_test.yaml'; did you mean"),
        (
            ["echo_test.yaml", "-o", "echo_test.yaml"],
            2,
            "error: echo_test.yaml is one of the files to read",
        ),
        (["echo_test.yaml", "-o", "no/where.md"], 2, "error: cannot write no/where.md"),
        (["echo_test.yaml", "-o", "."], 2, "error: cannot write .: it is a folder"),
        (
            ["echo_test.yaml", "--titel", "x"],
            2,
            "error: mcptest docs has no option --titel; did you mean --title?",
        ),
        (["empty_test.yaml"], 2, "error[F011]: there is no case in this file"),
        (["bad_test.yaml"], 2, "error[F011]: a case without messages checks nothing"),
        (["empty/"], 7, "error: no test file found in empty/"),
        (
            ["--url", "ftp://localhost"],
            2,
            "error: --url is not the URL of a server",
        ),
        (
            ["--server-command", "a", "--config", "b"],
            2,
            "error: --server-command and --config both name a server",
        ),
    ],
)
def test_a_mistake_is_reported_and_nothing_is_written(
    contract: Path, words: list[str], code: int, error: str
) -> None:
    folder = contract.parent
    (folder / "empty").mkdir()
    (folder / "empty_test.yaml").write_text("# nothing here\n", encoding="utf-8")
    (folder / "bad_test.yaml").write_text("case: a\nnot_a_key: 1\n", encoding="utf-8")
    before = sorted(folder.rglob("*"))
    ended = docs(folder, *words)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(error)
    assert sorted(folder.rglob("*")) == before


def test_a_server_that_offers_nothing_is_nothing_to_document(tmp_path: Path) -> None:
    ended = from_server(tmp_path, TINY, "-o", "a.md")
    assert (ended.code, ended.out) == (7, "")
    assert ended.err.startswith("error: there is nothing to document")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_offers_nothing_is_still_shown_in_dialogues(contract: Path) -> None:
    ended = from_server(contract.parent, TINY, contract.name)
    assert ended.code == 0
    assert "## Dialogues" in ended.out
