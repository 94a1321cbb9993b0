"""A secret from the environment is in nothing that is written, whatever the server does."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.etree import ElementTree as ET

import pytest
from console import Ended, case, mcptest, write_config, write_suite

if TYPE_CHECKING:
    from pathlib import Path

SECRET = 'hunter2/+pass word="ü"'
REPORTS = ("--junit", "out.xml", "--reporter", "json=out.json", "--capture", "out.capture")


def run_with_secret(folder: Path, secret: str, *words: str) -> tuple[Ended, str]:
    """How the run ended, and everything it wrote anywhere."""
    write_config(folder / "conductor.config.json", env={"KEY": "${TOKEN}"})
    before = set(folder.rglob("*"))
    ended = mcptest(folder, "run", *REPORTS, *words, TOKEN=secret)
    files = [path for path in folder.rglob("*") if path not in before and path.is_file()]
    texts = [path.read_text(encoding="utf-8") for path in files]
    return ended, "\n".join([ended.out, ended.err, *texts])


def assert_hidden(secret: str, written: str) -> None:
    raw = secret.encode()
    forms = [secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]]
    forms += [quote(secret), quote(secret, safe=""), base64.b64encode(raw).decode().rstrip("=")]
    for form in forms:
        assert form not in written
    assert "[secret]" in written


@pytest.mark.parametrize("words", [(), ("--verbose",), ("--json",)])
def test_a_server_that_says_a_secret_aloud_does_not_get_it_written(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    shapes = {
        "plain": SECRET,
        "inside": f"Bearer {SECRET}!",
        "json": json.dumps({"token": SECRET}),
        "percent": quote(SECRET, safe=""),
        "base64": base64.b64encode(SECRET.encode()).decode(),
        SECRET: "as a key",
    }
    write_suite(
        tmp_path / "a.test.mcp.yml",
        # The mismatch, the whole answer and stderr all hold it.
        case("asks", "env", params={"name": "KEY"}, wants={"value": "something else"}),
        # The server dies with it as its last words.
        case("dies", "die"),
        case("echoes", params={}, wants=shapes),
    )
    ended, written = run_with_secret(tmp_path, SECRET, *words)
    assert ended.code == 1
    assert_hidden(SECRET, written)


def test_a_secret_in_a_passing_test_is_still_whole_for_the_server(tmp_path: Path) -> None:
    write_suite(
        tmp_path / "a.test.mcp.yml",
        case("asks", "env", params={"name": "KEY"}, wants={"value": "match:startsWith:hunter2"}),
    )
    ended, written = run_with_secret(tmp_path, SECRET)
    assert ended.code == 0
    assert_hidden(SECRET, written)


def test_a_secret_of_several_lines_is_hidden_line_by_line(tmp_path: Path) -> None:
    secret = "-----BEGIN KEY-----\nMIIEpQIBAAKCAQEA7\n-----END KEY-----"
    write_suite(
        tmp_path / "a.test.mcp.yml",
        case("asks", "env", params={"name": "KEY"}, wants={"value": ""}),
        case("dies", "die"),
    )
    ended, written = run_with_secret(tmp_path, secret, "--verbose")
    assert ended.code == 1
    assert "MIIEpQIBAAKCAQEA7" not in written


def test_a_server_that_dies_before_the_handshake_does_not_get_it_written(tmp_path: Path) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", case("never"))
    program = "import os, sys; sys.exit('cannot log in with ' + os.environ['KEY'])"
    write_config(
        tmp_path / "c.json", command="python3", args=["-c", program], env={"KEY": "${TOKEN}"}
    )
    ended = mcptest(tmp_path, "run", "-c", "c.json", TOKEN=SECRET)
    assert ended.code == 3
    assert "cannot log in with [secret]" in ended.out
    assert_hidden(SECRET, ended.out + ended.err)


@pytest.mark.parametrize("secret", ["8080", "true", "null", "error", "failed", "testcase", "name"])
def test_a_secret_that_is_a_common_word_does_not_break_the_reports(
    tmp_path: Path, secret: str
) -> None:
    """`${PORT}` and `${LOG_LEVEL}` are hardly secrets, but this cannot be known."""
    write_suite(
        tmp_path / "a.test.mcp.yml",
        case("one", params={"port": 8080, "say": secret}, wants={"port": 8080, "say": "x"}),
        case("two", "die"),
    )
    ended, _ = run_with_secret(tmp_path, secret, "--json")
    assert ended.code == 1
    summary = ended.report()["summary"]
    assert (summary["failed"], summary["errors"]) == (1, 1)
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["summary"] == summary
    json.loads((tmp_path / "out.capture").read_text(encoding="utf-8"))
    assert len(list(ET.parse(tmp_path / "out.xml").getroot().iter("testcase"))) == 2


def test_a_variable_that_is_not_set_is_2_and_names_it(tmp_path: Path) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", case("never"))
    write_config(tmp_path / "conductor.config.json", env={"KEY": "${NO_SUCH_VARIABLE_SET}"})
    ended = mcptest(tmp_path, "run")
    assert ended.code == 2
    assert "error[F016]: the environment variable 'NO_SUCH_VARIABLE_SET' is not set" in ended.err


def test_variables_in_server_output_are_never_expanded(tmp_path: Path) -> None:
    bait = {"a": "${TOKEN} $TOKEN {{TOKEN}} %TOKEN% $(id) `id` {0} %s <%= x %>"}
    write_suite(tmp_path / "a.test.mcp.yml", case("echoes", params=bait, wants={"a": "x"}))
    write_config(tmp_path / "conductor.config.json")
    report = mcptest(tmp_path, "run", "--json", TOKEN="expanded").report()
    (mismatch,) = report["suites"][0]["tests"][0]["mismatches"]
    assert mismatch["actual"] == bait["a"]
