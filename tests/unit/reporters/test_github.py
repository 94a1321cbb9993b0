"""The report for GitHub Actions: groups, annotations, and GitHub's own escapes."""

from __future__ import annotations

from sample_run import FINDING, PASSED, bad_file_run, full_run, rendered, run_of

from mcptest.core.results import Fault, Summary
from mcptest.reporters.github import GithubReporter


def commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("::")]


def test_a_suite_is_a_group_and_a_run_that_passes_has_no_annotation() -> None:
    assert rendered(GithubReporter(), run_of(PASSED).replay()) == (
        "Files\n"
        "\n"
        "::group::Files (1 test)\n"
        "Files  tests/files.test.mcp.yml\n"
        "  ✓ lists the tools (2 ms)\n"
        "::endgroup::\n"
        "\n"
        "1 test: 1 passed, in 510 ms\n"
    )


def test_every_failure_is_an_annotation_at_its_place() -> None:
    place = "file=tests/files.test.mcp.yml"
    assert commands(rendered(GithubReporter(), full_run().replay()))[2:] == [
        f"::warning {place},line=7,col=5,title=W001::a slip%0Amend it",
        f"::error {place},line=9,title=adds failed::result.n: differs%0A  expected  1%0A"
        '  actual    "one"%0A  hint      it is a text%0A%0Aresult.m: is missing%0A'
        '  expected  {"a": 1}%0A  actual    (missing)',
        f"::error {place},line=14,title=divides ended in an error::exited_during_call: the server "
        "exited before it answered%0A  hint      look at its stderr%0A  effect    unknown: the "
        "call may have taken effect%0A  ended     exited with 1%0A"
        "  command   node my server.js%0A  stderr    | Error: boom",
        f"::error {place},line=30,title=adds again failed::result.n: differs%0A  expected  1%0A"
        '  actual    "one"%0A  hint      it is a text%0A%0Aresult.m: is missing%0A'
        '  expected  {"a": 1}%0A  actual    (missing)',
        f"::warning {place},line=25,title=sometimes works is flaky::passed on attempt 2",
        "::notice title=mcptest%3A crlf::ends lines with CRLF (2 times)%0Ax",
        "::error title=mcptest%3A gate missed::coverage is 40 %25, wanted 80 %25",
    ]


def test_mistakes_in_files_are_annotated_where_they_are() -> None:
    assert commands(rendered(GithubReporter(), bad_file_run())) == [
        "::error file=a.yml,line=3,col=5,title=F006::unknown key%0Aremove it",
        "::error title=mcptest%3A bad_file::1 mistake in the files given",
    ]


def test_a_server_that_never_started_is_an_annotation() -> None:
    fault = Fault(kind="spawn_failed", message="no such file", hint="is it installed?")
    run = run_of(summary=Summary(), fault=fault)
    assert commands(rendered(GithubReporter(), run.replay()))[-1] == (
        "::error title=mcptest%3A spawn_failed::no such file%0Ais it installed?"
    )


def test_a_run_without_an_end_closes_its_group_and_says_so() -> None:
    *begun, _, _ = run_of(PASSED).replay()
    assert commands(rendered(GithubReporter(), begun)) == [
        "::group::Files (1 test)",
        "::endgroup::",
        "::error title=mcptest%3A interrupted::1 of 1 test ran",
    ]


def test_characters_that_end_a_property_are_escaped() -> None:
    run = run_of(PASSED.but(name="50%, a:b", status="failed", reason="100%\n::x"), file="a,b:c.yml")
    (annotation,) = commands(rendered(GithubReporter(), run.replay()))[2:]
    assert annotation == (
        "::error file=a%2Cb%3Ac.yml,line=4,title=50%25%2C a%3Ab failed::100%25\\n::x"
    )


def test_a_finding_that_fails_the_run_is_an_error_and_any_other_a_notice() -> None:
    for rules, level in (((), "notice"), (("crlf",), "error")):
        run = run_of(PASSED, findings=(FINDING,), broken_rules=rules)
        text = rendered(GithubReporter(), run.replay())
        assert commands(text)[2:] == [
            f"::{level} title=mcptest%3A crlf::ends lines with CRLF (2 times)%0Ax"
        ]
