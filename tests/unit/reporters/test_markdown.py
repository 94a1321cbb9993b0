"""The Markdown report: a verdict, tables and failures, and nothing from outside as markup."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case
from markdown_it import MarkdownIt
from sample_run import FAILED, PASSED, bad_file_run, full_run, rendered, run_of

from mcptest.reporters.markdown import MarkdownReporter, code_cell, code_span, fenced


def test_a_run_that_passes_is_a_verdict_and_a_table() -> None:
    assert rendered(MarkdownReporter(), run_of(PASSED).replay()) == (
        "## mcptest: 1 test passed\n"
        "\n"
        "| suite | passed | failed | errors | skipped | time |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| `Files` | 1 | 0 | 0 | 0 | 2 ms |\n"
    )


def test_everything_that_can_be_said_is_said() -> None:
    assert rendered(MarkdownReporter(), full_run().replay()) == (
        "## mcptest: 3 of 6 tests did not pass\n"
        "\n"
        "**Gate missed:** `coverage is 40 %, wanted 80 %`\n"
        "\n"
        "| suite | passed | failed | errors | skipped | time |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| `Files` | 2 | 2 | 1 | 1 | 510 ms |\n"
        "\n"
        "### Failures\n"
        "\n"
        "#### `adds`\n"
        "\n"
        "`tests/files.test.mcp.yml:9`\n"
        "\n"
        "```text\n"
        "result.n: differs\n"
        "  expected  1\n"
        '  actual    "one"\n'
        "  hint      it is a text\n"
        "\n"
        "result.m: is missing\n"
        '  expected  {"a": 1}\n'
        "  actual    (missing)\n"
        "```\n"
        "\n"
        "#### `divides`\n"
        "\n"
        "`tests/files.test.mcp.yml:14`\n"
        "\n"
        "```text\n"
        "exited_during_call: the server exited before it answered\n"
        "  hint      look at its stderr\n"
        "  effect    unknown: the call may have taken effect\n"
        "  ended     exited with 1\n"
        "  command   node my server.js\n"
        "  stderr    | Error: boom\n"
        "```\n"
        "\n"
        "#### `adds again`\n"
        "\n"
        "`tests/files.test.mcp.yml:30`: the same as `adds`\n"
        "\n"
        "### Flaky\n"
        "\n"
        "- `sometimes works` passed on attempt 2\n"
        "\n"
        "### Notes about the server\n"
        "\n"
        "- `ends lines with CRLF` (2 times)\n"
        "\n"
        "### Warnings\n"
        "\n"
        "- `tests/files.test.mcp.yml:7:5: warning[W001]: a slip; mend it`\n"
        "\n"
        "### Coverage\n"
        "\n"
        "| server | coverage | not exercised |\n"
        "| --- | --- | --- |\n"
        "| `Files` | 40 % | tools never called: `drop`; prompts never used: `ask`; "
        "inputs never given: `add.b` |\n"
    )


def test_a_run_that_never_began_says_why() -> None:
    assert rendered(MarkdownReporter(), bad_file_run()) == (
        "## mcptest: no test could run\n"
        "\n"
        "```text\n"
        "bad_file: 1 mistake in the files given\n"
        "```\n"
        "\n"
        "```text\n"
        "a.yml:3:5: error[F006]: unknown key; remove it\n"
        "```\n"
    )


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"interrupted": True}, "interrupted, 1 test passed"),
        ({"missed_gates": ("g",)}, "1 test passed, but a gate was missed"),
        ({}, "1 test passed"),
    ],
    ids=["interrupted", "gate", "passed"],
)
def test_the_first_line_never_sounds_better_than_the_run_was(
    fields: dict[str, Any], verdict: str
) -> None:
    text = rendered(MarkdownReporter(), run_of(PASSED, **fields).replay())
    assert text.splitlines()[0] == f"## mcptest: {verdict}"


def test_several_suites_have_a_line_for_all_of_them() -> None:
    run = run_of(PASSED)
    run.all_suites *= 2
    assert "| all | 2 | 0 | 0 | 0 | 510 ms |" in rendered(MarkdownReporter(), run.replay())


def test_failures_beyond_the_limit_are_counted_and_a_comment_can_hold_the_rest() -> None:
    different = (FAILED.but(name="x" * 200, reason=str(number) * 900) for number in range(300))
    text = rendered(MarkdownReporter(), run_of(*different).replay())
    assert "\n… and " in text
    assert len(text) < 65_536


@each_case(
    "text", ["plain", "`", "``", "a`b", "`a", "a|b", "a\\|b", "\\", " spaced ", "<b>", "@you", ""]
)
def test_a_code_span_shows_the_text_as_it_is_also_in_a_table(text: str) -> None:
    shown = text.strip() or "(nothing)"
    (inline,) = [token for token in MarkdownIt().parse(code_span(text)) if token.type == "inline"]
    assert [(token.type, token.content) for token in inline.children or ()] == [
        ("code_inline", shown)
    ]
    table = MarkdownIt().enable("table").parse(f"| a |\n| - |\n| {code_cell(text)} |")
    cell = [token for token in table if token.type == "inline"][-1]
    (span,) = cell.children or [cell]
    assert span.type == "code_inline"
    assert span.content.replace("\\\\|", "\\|") == shown


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fenced(["````", "x"]) == "`````text\n````\nx\n`````"
