"""Which files are suites: by their names, and by their text where the name says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_tables import each_case

from mcptest.core.errors import UsageError
from mcptest.engine.test_files import find_test_files, format_of, is_suite_name

SERVERS = "servers:\n  shop: {command: [x]}\n"


@pytest.mark.parametrize(
    ("path", "is_suite"),
    [
        ("mcptest.yaml", True),
        ("mcptest.yml", True),
        ("deep/down/mcptest.yaml", True),
        ("weather.mcptest.yaml", True),
        ("deep/weather.mcptest.yml", True),
        ("notmcptest.yaml", False),
        ("mcptest.yaml.bak", False),
        ("mcptest.json", False),
        ("mcptest.test.mcp.yml", False),
        ("__snapshots__/mcptest.yaml.snap.yaml", False),
    ],
)
def test_a_suite_is_called_mcptest_alone_or_behind_a_dot(path: str, is_suite: bool) -> None:
    assert is_suite_name(path) == is_suite


@each_case(
    ("path", "text", "format"),
    [
        ("mcptest.yaml", "tests: []\n", "suite"),
        ("a.mcptest.yml", "", "suite"),
        ("a.test.mcp.yml", SERVERS, "conductor"),
        ("a.cases.yaml", SERVERS, "cases"),
        ("any.yaml", SERVERS, "suite"),
        ("any.yaml", "description: d\n" + SERVERS, "suite"),
        ("any.yaml", "# a comment\n'servers' :\n", "suite"),
        ("any.json", '{"servers": {}}', "suite"),
        ("any.json", '{\n "servers": {}}', "suite"),
        ("any.yaml", SERVERS + "tests: []\n", "conductor"),
        ("any.yaml", "tools:\n  servers: x\n", "conductor"),
        ("any.yaml", "case: c\nin: {}\n", "cases"),
        ("any.yaml", "", "conductor"),
    ],
)
def test_the_format_is_seen_from_the_name_and_else_from_the_keys(
    path: str, text: str, format: str
) -> None:
    assert format_of(path, text) == format


def test_without_a_path_the_suite_of_the_folder_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.test.mcp.yml", "sub/mcptest.yaml", "sub/b.mcptest.yaml", "sub/notmcptest.yaml"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    below = ["sub/b.mcptest.yaml", "sub/mcptest.yaml"]
    assert find_test_files(()) == ["a.test.mcp.yml", *below]
    assert find_test_files(("sub/*",)) == below
    assert find_test_files(("sub/*.yaml",)) == [*below, "sub/notmcptest.yaml"]
    # Beside others of its kind it has to be named.
    Path("b.mcptest.yaml").touch()
    assert find_test_files(()) == ["a.test.mcp.yml", "b.mcptest.yaml", *below]
    Path("mcptest.yml").touch()
    assert find_test_files(()) == ["mcptest.yml"]
    Path("mcptest.yaml").mkdir()
    assert find_test_files(()) == ["mcptest.yml"]
    Path("mcptest.yaml").rmdir()
    Path("mcptest.yaml").touch()
    with pytest.raises(UsageError) as caught:
        find_test_files(())
    assert (
        caught.value.message == "there are both mcptest.yaml and mcptest.yml; which one is meant?"
    )
    assert caught.value.help == "name it: mcptest run mcptest.yaml"
