"""What a file is, by what stands in it."""

from __future__ import annotations

import pytest

from mcptest.mock.manifest import kind_of_file


@pytest.mark.parametrize(
    "text",
    [
        "tools: []",
        "# a comment\nname: x\ninstructions: y\n\nprompts:\n  - {name: p, text: x}\n",
        '{"resources": []}',
        "{tools: [], name: x}",
        "\ufeff# words\n\n{tools: []}",
        "# words\n---\n# more\n{tools: []}",
        "--- {tools: []}",
        "%YAML 1.2\n---\n{tools: []}\n",
        '{"tools": []}\n# the end\n',
        "# see issue #12\n" * 2000 + "{tools: []}",
        "# see issue #12\n" * 2000 + "\ttools: x\ntools: []\n",
        '"tools":\n  - name: broken\n   answer: [',
    ],
)
def test_a_mapping_with_offers_is_a_manifest(text: str) -> None:
    assert kind_of_file(text) == "manifest"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "case: a\nin: {}\n",
        "in: {method: tools/list}\nout: {result: {tools: []}}\n",
        "case: a\ntools: []\n",
        "in_request: {}\ntools: []\n",
        '{"out": {}, "tools": []}',
        "---\nin: {}\n---\nin: {}\n",
        "in:\n  tools: []\n",
        "[1]",
        "{broken",
        "# see issue #12\n" * 2000,
        "# see issue #12\n" * 2000 + "case: a\nin: {}\n",
        "#" + " #" * 100_000 + " {tools",
        "\n \n" * 100_000 + "# {tools: []}",
        "x" * 1_000_000,
        "x" + " " * 1_000_000,
        '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * 5_000,
        "---\n" * 1000 + "in: {}\n",
    ],
)
def test_everything_else_is_cases(text: str) -> None:
    assert kind_of_file(text) == "cases"


@pytest.mark.parametrize("text", ['{"exchanges": []}', '[{"exchanges": []}]', "exchanges: []\n"])
def test_exchanges_are_a_capture(text: str) -> None:
    assert kind_of_file(text) == "capture"
