"""`mcptest migrate`: a suite made from other files reaches the same verdicts."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest
from migrate_corpus import CASES, SCHEMA, contract, samples

from mcptest.core.project import schema_comment
from mcptest.formats.yaml import read_document

SERVERS = Path(__file__).parents[2] / "servers"
ROOT = SERVERS.parent.parent
ANSWERING = SERVERS / "answering_server.py"
CONTRACT = ROOT / "tests" / "contracts" / "everything.cases.yaml"
WRONG_WAYS = (1, 2)


def verdicts(folder: Path, file: str, *words: str) -> dict[str, str]:
    """The status of every test of a file, by name."""
    report = mcptest(folder, "run", file, "--json", *words).report()
    assert report.get("error") is None, report["error"]
    return {test["name"]: test["status"] for suite in report["suites"] for test in suite["tests"]}


def migrated(folder: Path, *words: str) -> Ended:
    ended = mcptest(folder, "migrate", *words)
    assert ended.code in (0, 1), ended.err
    return ended


def members(folder: Path, suite: str) -> dict[str, list[str]]:
    """The tests that each entry of a suite expands to, by its name."""
    value: Any = read_document((folder / suite).read_text(encoding="utf-8"), suite).value
    entries = [each for lane in ("tools", "resources", "prompts") for each in value.get(lane, [])]
    return {
        entry["name"]: [step.get("name", entry["name"]) for step in entry.get("steps", [entry])]
        for entry in entries
    }


def expected(before: dict[str, str], entries: dict[str, list[str]]) -> dict[str, str]:
    """What becomes of entries, by what became of their tests: the worst of it."""
    ranks = ("passed", "failed", "error")
    return {
        name: max((before[each] for each in tests), key=ranks.index)
        for name, tests in entries.items()
    }


# The same verdicts


def answering(
    folder: Path, answers: dict[str, list[dict[str, Any]]], which: int
) -> tuple[str, str]:
    """The words that start a server which answers so."""
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    command = [sys.executable, str(ANSWERING), "answers.json", str(which)]
    return "--server-command", shlex.join(command)


def write_corpus(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The corpus as a Conductor file; the answers to it, by what is called."""
    tests = [{"it": sample.name, **sample.test} for sample in samples()]
    value = {"description": "corpus", "tests": tests}
    (folder / "a.test.mcp.yml").write_text(json.dumps(value), encoding="utf-8")
    (folder / "city.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    called = {"a resource": "memo://a", "a prompt": "greet"}
    return {called.get(sample.name, sample.name): sample.answers for sample in samples()}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the corpus as a Conductor file and as a suite."""
    folder = tmp_path_factory.mktemp("corpus")
    server = answering(folder, write_corpus(folder), 0)
    ended = migrated(folder, "a.test.mcp.yml", "-o", "mcptest.yaml", *server)
    assert (ended.code, ended.err) == (0, "wrote mcptest.yaml\n")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("which", [0, *WRONG_WAYS])
def test_right_answers_pass_and_wrong_ones_fail_in_both_formats(corpus: Path, which: int) -> None:
    server = answering(corpus, write_corpus(corpus), which)
    wrong = {sample.name: 0 < which < len(sample.answers) for sample in samples()}
    right = {name: "failed" if wrong[name] else "passed" for name in wrong}
    for file in ("a.test.mcp.yml", "mcptest.yaml"):
        assert verdicts(corpus, file, *server) == right


def test_a_contract_reaches_the_same_verdicts_as_a_suite(tmp_path: Path) -> None:
    (tmp_path / "a.cases.yaml").write_text(contract(), encoding="utf-8")
    answers = {name: given for name, (_, given) in CASES.items()}
    server = answering(tmp_path, answers, 0)
    ended = migrated(tmp_path, "a.cases.yaml", "-o", "mcptest.yaml", *server)
    assert (ended.code, ended.err) == (0, "wrote mcptest.yaml\n")
    for which in (0, *WRONG_WAYS):
        server = answering(tmp_path, answers, which)
        wrong = {name: 0 < which < len(given) for name, given in answers.items()}
        right = {name: "failed" if wrong[name] else "passed" for name in wrong}
        for file in ("a.cases.yaml", "mcptest.yaml"):
            assert verdicts(tmp_path, file, *server) == right


# Everything that lies here

EXAMPLES = sorted(
    path.relative_to(ROOT / "examples").as_posix()
    for pattern in ("*.test.mcp.yml", "*.cases.yaml")
    for path in (ROOT / "examples").rglob(pattern)
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_reaches_the_same_verdicts_as_a_suite(tmp_path: Path, name: str) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    file = tmp_path / "examples" / name
    skipped = () if shutil.which("node") else ("--skip-tag", "node")
    before = verdicts(file.parent, file.name, *skipped)
    migrated(file.parent, file.name, "-o", "mcptest.yaml", "--force")
    entries = members(file.parent, "mcptest.yaml")
    after = verdicts(file.parent, "mcptest.yaml", *skipped)
    carried = {entry: tests for entry, tests in entries.items() if entry in after}
    # Tests of rows have the same names in both.
    rows = {name: before[name] for name in after if name not in entries}
    assert after == expected(before, carried) | rows
    assert after


def test_the_contract_with_everything_in_it_passes_as_a_suite(tmp_path: Path) -> None:
    mock = (
        "--server-command",
        shlex.join([sys.executable, "-m", "mcptest", "mock", str(CONTRACT)]),
    )
    before = verdicts(tmp_path, str(CONTRACT), *mock)
    migrated(tmp_path, str(CONTRACT), "-o", "mcptest.yaml", *mock)
    after = verdicts(tmp_path, "mcptest.yaml")
    assert after == {name: before[name] for name in after}
    assert len(after) == 5


def test_values_that_tests_share_still_flow(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "notes", tmp_path / "notes")
    folder = tmp_path / "notes"
    migrated(folder, "notes.test.mcp.yml", "-o", "mcptest.yaml")
    joined = "keeps a note and says that the list has changed (and 4 more that build on it)"
    assert verdicts(folder, "mcptest.yaml")[joined] == "passed"
    server = folder / "notes_server.py"
    broken = server.read_text(encoding="utf-8").replace(
        '"mimeType": "text/plain"', '"mimeType": "x"'
    )
    server.write_text(broken, encoding="utf-8")
    assert verdicts(folder, "notes.test.mcp.yml")["has a resource for it"] == "failed"
    assert verdicts(folder, "mcptest.yaml")[joined] == "failed"


# The command line

PASSES = """\
description: "Greetings"
server: {name: shop, command: python3, args: [server.py], env: {TOKEN: "${SHOP_TOKEN}"}}
tests:
  - it: greets
    tool: greet
    expect: {response: {result: "match:type:object"}}
  - it: lists
    list: tools
    expect: {response: {result: "match:type:object"}}
"""
SUITE = """\
servers: {shop: {command: [python3, shop.py]}}
tools: [{name: buys, tool: buy}]
"""


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def text_of(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_parts_that_cannot_be_migrated_are_reported_with_their_place_and_the_rest_is_written(
    tmp_path: Path,
) -> None:
    write(tmp_path, "a.test.mcp.yml", PASSES)
    ended = mcptest(tmp_path, "migrate", "a.test.mcp.yml")
    assert ended.code == 1
    assert ended.err == (
        "left behind: a.test.mcp.yml:7: 'lists': it lists tools, and a suite only makes calls\n"
        "1 thing left behind\n"
    )
    assert ended.out == (
        "# yaml-language-server: "
        "$schema=https://mcptest.github.io/mcptest/schemas/suite.schema.json\n"
        "name: Greetings\n\n"
        "servers:\n  shop:\n    command: [python3, server.py]\n"
        "    env: {TOKEN: {secret_env: SHOP_TOKEN}}\n\n"
        "tools:\n  - name: greets\n    tool: greet\n"
        "    expect:\n      - {target: result, matcher: {type: object}}\n"
    )


def test_when_everything_is_carried_over_nothing_but_the_file_is_written(tmp_path: Path) -> None:
    write(tmp_path, "a.test.mcp.yml", PASSES.partition("  - it: lists")[0])
    ended = mcptest(tmp_path, "migrate", "a.test.mcp.yml")
    assert (ended.code, ended.err) == (0, "")


def test_when_nothing_is_carried_over_no_file_is_written(tmp_path: Path) -> None:
    head, _, rest = PASSES.partition("  - it: greets")
    write(tmp_path, "a.test.mcp.yml", head + rest[rest.index("  - it: lists") :])
    ended = mcptest(tmp_path, "migrate", "a.test.mcp.yml", "-o", "mcptest.yaml")
    assert ended.code == 1
    assert "nothing could be carried over, so nothing is written\n" in ended.err
    assert not (tmp_path / "mcptest.yaml").exists()


def test_files_of_one_server_become_one_suite(tmp_path: Path) -> None:
    config = {"name": "shop", "command": "python3", "args": ["shop.py"]}
    write(tmp_path, "conductor.config.json", json.dumps(config))
    for name in ("a", "b"):
        expect = {"response": {"result": {"a": 1}}}
        test = {"it": name, "tool": name, "expect": expect, "only": True}
        value = {"description": name, "tests": [test]}
        write(tmp_path, f"tests/{name}.test.mcp.yml", json.dumps(value))
    ended = migrated(tmp_path, "tests", "-o", "mcptest.yaml")
    assert ended.err.count("only: it would also exclude the tests of the other files") == 2
    assert text_of(tmp_path, "mcptest.yaml").startswith(
        f"{schema_comment('suite')}"
        "name: a, b\n\nservers:\n  shop:\n    command: [python3, shop.py]\n\ntools:\n  - name: a\n"
    )


def test_a_server_on_http_keeps_its_url_headers_and_credentials(tmp_path: Path) -> None:
    grant = {"tokenUrl": "https://id.example/token", "clientId": "me", "clientSecretEnv": "SECRET"}
    server = {
        "name": "shop",
        "url": "http://127.0.0.1:3001/${PLACE}/mcp",
        "headers": {"X-Key": "${SHOP_KEY}", "X-Team": "a"},
        "auth": {"clientCredentials": grant},
        "caFile": "ca.pem",
    }
    test = {"it": "asks", "tool": "find", "expect": {"response": {"result": {"a": 1}}}}
    value = {"description": "a", "server": server, "tests": [test]}
    write(tmp_path, "a.test.mcp.yml", json.dumps(value))
    assert migrated(tmp_path, "a.test.mcp.yml", "-o", "mcptest.yaml").code == 0
    suite: Any = read_document(text_of(tmp_path, "mcptest.yaml"), "mcptest.yaml").value
    assert suite["servers"]["shop"] == {
        "url": "http://127.0.0.1:3001/${PLACE}/mcp",
        "headers": {"X-Key": {"secret_env": "SHOP_KEY"}, "X-Team": "a"},
        "auth": {
            "client_credentials": {
                "token_url": "https://id.example/token",
                "client_id": "me",
                "client_secret_env": "SECRET",
            }
        },
        "ca_file": "ca.pem",
    }
    assert suite["variables"] == {"PLACE": {"secret_env": "PLACE"}}
    words = {"PLACE": "a", "SHOP_KEY": "b", "SECRET": "c"}
    assert mcptest(tmp_path, "validate", "mcptest.yaml", **words).code == 0


def test_files_of_two_servers_become_one_suite_of_both(tmp_path: Path) -> None:
    write(tmp_path, "a.test.mcp.yml", PASSES)
    write(tmp_path, "b.test.mcp.yml", PASSES.replace("name: shop", "name: clock"))
    assert migrated(tmp_path, ".", "-o", "mcptest.yaml").code == 1
    value: Any = read_document(text_of(tmp_path, "mcptest.yaml"), "").value
    assert list(value["servers"]) == ["shop", "clock"]
    assert [entry["server"] for entry in value["tools"]] == ["shop", "clock"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "mcptest migrate needs a test file"),
        (("none.test.mcp.yml",), "there is no file or folder 'none.test.mcp.yml'"),
        (("a.test.mcp.yml", "--to", "toml"), "--to takes only suite, not 'toml'"),
        (("mcptest.yaml", "--to", "conductor"), "--to takes only suite, not 'conductor'"),
        (("mcptest.yaml", "--to", "cases"), "--to takes only suite, not 'cases'"),
        (("mcptest.yaml",), "mcptest.yaml is already a suite"),
        ((".", "--to", "suite"), "mcptest.yaml is already a suite"),
        (("a.test.mcp.yml", "-o", "b.test.mcp.yml"), "would not be read as a suite"),
        (("a.test.mcp.yml", "-o", "suite.txt"), "would not be read as a suite"),
        (("bare.test.mcp.yml",), "nothing says how to start the server of bare.test.mcp.yml"),
        (("bare.test.mcp.yml", "-c", "no.json"), "there is no config file 'no.json'"),
        (("wrong.test.mcp.yml",), "error[F012]: unknown matcher"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_explained(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    write(tmp_path, "a.test.mcp.yml", PASSES)
    write(tmp_path, "mcptest.yaml", SUITE)
    without = "\n".join(line for line in PASSES.splitlines() if "server:" not in line)
    write(tmp_path, "bare.test.mcp.yml", without)
    write(tmp_path, "wrong.test.mcp.yml", PASSES.replace("match:type", "match:tipe"))
    ended = mcptest(tmp_path, "migrate", *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_paths_are_seen_from_the_new_file(tmp_path: Path) -> None:
    write(tmp_path, "tests/city.json", json.dumps(SCHEMA))
    expect = {"response": {"match:partial": {"result": "match:jsonSchema:city.json"}}}
    server = {"name": "s", "command": "python3", "args": ["s.py"], "cwd": "lib"}
    (tmp_path / "tests" / "lib").mkdir()
    value = {"description": "d", "server": server, "tests": [{"it": "t", "tool": "t"}]}
    value["tests"][0]["expect"] = expect  # type: ignore[index]
    write(tmp_path, "tests/a.test.mcp.yml", json.dumps(value))
    (tmp_path / "out").mkdir()
    assert migrated(tmp_path, "tests/a.test.mcp.yml", "-o", "out/mcptest.yaml").code == 0
    text = text_of(tmp_path, "out/mcptest.yaml")
    assert "cwd: ../tests/lib\n" in text
    assert "{schema: ../tests/city.json}" in text
    assert mcptest(tmp_path, "validate", "out/mcptest.yaml").code == 0


# Files that are needed


def contents(folder: Path) -> dict[str, str]:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return {str(each.relative_to(folder)): each.read_text(encoding="utf-8") for each in files}


def test_a_file_that_exists_is_replaced_only_by_force(tmp_path: Path) -> None:
    write(tmp_path, "a.test.mcp.yml", PASSES)
    write(tmp_path, "mcptest.yaml", "mine")
    ended = mcptest(tmp_path, "migrate", "a.test.mcp.yml", "-o", "mcptest.yaml")
    assert ended.code == 2
    assert "mcptest.yaml exists already and was not changed" in ended.err
    assert text_of(tmp_path, "mcptest.yaml") == "mine"
    assert migrated(tmp_path, "a.test.mcp.yml", "-o", "mcptest.yaml", "--force").code == 1
    assert text_of(tmp_path, "mcptest.yaml").startswith(f"{schema_comment('suite')}name: Greetings")


@pytest.mark.parametrize("link", ["", "symbolic", "hard"])
@pytest.mark.parametrize(
    ("needed", "what"),
    [
        ("source.yaml", "one of the files to read"),
        ("start.yaml", "one of the files to read"),
        ("lib/plays.yaml", "named in the command of a server"),
    ],
)
def test_a_file_that_is_needed_is_not_replaced_even_by_force(
    tmp_path: Path, link: str, needed: str, what: str
) -> None:
    config = {"name": "s", "command": "mcptest", "args": ["mock", "plays.yaml"], "cwd": "lib"}
    write(tmp_path, "start.yaml", json.dumps(config))
    write(tmp_path, "lib/plays.yaml", "case: a\n")
    write(tmp_path, "source.yaml", PASSES.replace("server: ", "# server: "))
    target = needed
    if link == "symbolic":
        target = "new.yaml"
        (tmp_path / target).symlink_to(needed)
    elif link == "hard":
        target = "new.yaml"
        (tmp_path / target).hardlink_to(tmp_path / needed)
    before = contents(tmp_path)
    words = ("migrate", "source.yaml", "-c", "start.yaml", "--force", "-o")
    ended = mcptest(tmp_path, *words, target)
    assert ended.code == 2
    assert f"{target} is {what} and is not replaced" in ended.err
    assert contents(tmp_path) == before
    assert mcptest(tmp_path, *words, "other.yaml").code == 1
    assert (tmp_path / "other.yaml").exists()


def test_nothing_is_written_when_one_of_several_sources_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, "a.test.mcp.yml", PASSES)
    (tmp_path / "b.test.mcp.yml").write_bytes(b"description: \xff\n")
    assert mcptest(tmp_path, "migrate", ".", "-o", "mcptest.yaml").code == 2
    assert not (tmp_path / "mcptest.yaml").exists()


def test_an_output_that_is_not_a_regular_file_is_not_written(tmp_path: Path) -> None:
    write(tmp_path, "a.test.mcp.yml", PASSES)
    (tmp_path / "mcptest.yaml").symlink_to("/dev/null")
    ended = mcptest(tmp_path, "migrate", "a.test.mcp.yml", "-o", "mcptest.yaml", "--force")
    assert (ended.code, "it is not a regular file" in ended.err) == (2, True)
