"""`--transport-matrix` when a server breaks in an era, as opposed to not supporting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest
from matrix_runs import AT_A_FREE_PORT, argv, counts, greets, server, write

if TYPE_CHECKING:
    from pathlib import Path

    from console import Ended


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, greets())
    return tmp_path


def over_http(folder: Path, flag: str, *words: str) -> Ended:
    at = ("--url", AT_A_FREE_PORT, "--http-command", server("http", "{port}", flag))
    return mcptest(folder, "run", "--transport-matrix", *at, *words)


def over_stdio(folder: Path, flag: str, *words: str) -> Ended:
    return mcptest(folder, "run", "--transport-matrix", *words, "--", *argv("stdio", flag))


def way(ended: Ended, at: int) -> dict[str, Any]:
    return dict(ended.report()["matrix"]["ways"][at])


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("status-500", "refused server/discover with status 500"),
        ("status-200", "the answer to server/discover is not JSON"),
        ("failing", 'failed at server/discover: code -32603, "oops"'),
        ("leaving", "while server/discover"),
    ],
)
def test_a_fault_in_a_stateless_session_over_http_is_an_error(
    flag: str, words: str, folder: Path
) -> None:
    ended = over_http(folder, flag, "--json")
    report, broken = ended.report(), way(ended, 1)
    assert (ended.code, report["broken_rules"]) == (3, ["way_broken"])
    assert words in broken["error"]
    assert (broken["spoken"], "reason" in broken) == (False, False)
    assert report["summary"]["passed"] == 1
    (finding,) = [each for each in report["findings"] if each["kind"] == "way_broken"]
    assert finding["server"].endswith("[http, 2026-07-28]")
    assert broken["error"] in finding["message"]


@pytest.mark.parametrize("flag", ["status-400", "status-404", "status-405", "no-stateless"])
def test_a_refusal_of_an_unsupported_era_is_not_an_error(flag: str, folder: Path) -> None:
    ended = over_http(folder, flag, "--json")
    assert (ended.code, ended.report()["broken_rules"]) == (0, [])
    assert (way(ended, 1)["spoken"], "error" in way(ended, 1)) == (False, False)


def test_over_stdio_a_server_may_end_at_a_request_that_it_does_not_know(folder: Path) -> None:
    ended = over_stdio(folder, "leaving", "--json")
    assert (ended.code, way(ended, 1)["spoken"]) == (0, False)
    assert "reason" in way(ended, 1)


@pytest.mark.parametrize(("flag", "at"), [("failing", 1), ("failing-hello", 0)])
def test_over_stdio_a_server_that_fails_inside_is_an_error(
    flag: str, at: int, folder: Path
) -> None:
    ended = over_stdio(folder, flag, "--json")
    assert ended.code == 3
    assert "code -32603" in way(ended, at)["error"]


def test_the_terminal_and_other_reports_say_so(folder: Path) -> None:
    ended = over_stdio(folder, "failing")
    assert "  stdio, 2026-07-28  cannot be opened\n      the server failed at" in ended.out
    assert "no test ran in this way, for the server could not be opened" in ended.out
    words = dict.fromkeys(("tap", "junit", "minimal", "markdown"), "way_broken")
    files = {name: folder / f"report.{name}" for name in (*words, "agent", "html")}
    targets = [f"--reporter={name}={file}" for name, file in files.items()]
    assert over_stdio(folder, "failing", *targets).code == 3
    for name, word in (words | {"agent": "FAILED", "html": "No server"}).items():
        assert word in files[name].read_text(encoding="utf-8"), name


def test_tests_that_fail_elsewhere_count_for_more(folder: Path) -> None:
    write(folder, greets(), counts())
    assert over_stdio(folder, "failing").code == 3
    bad = greets()
    bad["expect"]["response"]["result"] = "another"
    write(folder, bad)
    assert over_stdio(folder, "failing").code == 1


def test_a_saved_run_ends_the_same(folder: Path) -> None:
    over_stdio(folder, "failing", "--reporter", "json=run.json")
    again = mcptest(folder, "report", "run.json")
    assert again.code == 3
    assert "cannot be opened" in again.out


def test_a_tool_that_is_listed_twice_in_one_era_is_a_difference(folder: Path) -> None:
    offers = over_stdio(folder, "twice", "--json").report()["matrix"]["offers"]
    assert [each["what"] for each in offers] == ['tool "greet", listed 2 times']
