"""Reporters of packages that are installed beside mcptest, on real command lines."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from console import CONDUCTOR, Ended, case, mcptest, run, write_config, write_suite
from installed_package import install_package

from mcptest.core.errors import UsageError
from mcptest.core.events import CaseStarted
from mcptest.plugins import installed
from mcptest.plugins.installed import InstalledReporter

if TYPE_CHECKING:
    from pathlib import Path

OWNER = "the reporter 'mine' of the package mine 1.0 (mine:Mine)"

COUNTS = """\
class Mine:
    def __init__(self):
        self.names = []
    def __call__(self, event):
        self.names.append(type(event).__name__)
    def render(self):
        return ",".join(self.names) + "\\n"
"""
ALL_EVENTS = (
    "RunStarted,SuiteStarted,CaseStarted,CaseFinished,CaseStarted,CaseFinished,"
    "SuiteFinished,RunFinished\n"
)

# What a class does wrong, and what is said of it.
FAILING = {
    "raises when told": (
        COUNTS.replace("self.names.append", "1 / 0; self.names.append"),
        "failed on RunStarted: it raised ZeroDivisionError: division by zero",
    ),
    "raises when rendering": (
        COUNTS.replace("return", "return 1 / 0 or"),
        "could not render: it raised ZeroDivisionError: division by zero",
    ),
    "leaves when rendering": (
        COUNTS.replace("return", "raise SystemExit(0) #"),
        "could not render: it raised SystemExit: 0",
    ),
    "returns nothing": (
        COUNTS.replace("return", "None #"),
        "could not render: it returned None",
    ),
    "returns bytes": (
        COUNTS.replace("return", "return b'x' #"),
        "could not render: it returned b'x'",
    ),
}

# Classes that cannot even be made.
UNUSABLE = {
    "import fails": ("1 / 0", "cannot be loaded: it raised ZeroDivisionError: division by zero"),
    "is not there": ("", "cannot be loaded: it raised AttributeError: "),
    "is no class": ("def Mine(): pass", "cannot be used: it is not a class"),
    "cannot be called": (
        "class Mine:\n    def render(self): return ''",
        "cannot be used: it has no method __call__",
    ),
    "cannot render": (
        "class Mine:\n    def __call__(self, event): pass",
        "cannot be used: it has no method render",
    ),
    "needs arguments": (
        COUNTS.replace("__init__(self)", "__init__(self, x)"),
        "cannot be made: it raised TypeError: ",
    ),
    "wants what is not": (
        COUNTS.replace("class Mine:", "class Mine:\n    wants_log = 'some'"),
        "cannot be used: its wants_log is 'some'",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "a.test.mcp.yml", case("good"), case("bad", wants={}))
    return tmp_path


def install(folder: Path, code: str, name: str = "mine", point: str = "mine") -> dict[str, str]:
    groups = {"mcptest.reporters": {point: f"{name}:Mine"}}
    return install_package(folder / "lib", name, code, groups)


def run_with(folder: Path, code: str, *words: str) -> Ended:
    return mcptest(folder, "run", *words, **install(folder, code))


# A reporter that works


def test_it_receives_every_event_and_has_standard_output_for_itself(folder: Path) -> None:
    ended = run_with(folder, COUNTS, "--reporter", "mine")
    assert (ended.code, ended.out, ended.err) == (1, ALL_EVENTS, "")


def test_it_writes_to_a_file_beside_other_reports(folder: Path) -> None:
    ended = run_with(folder, COUNTS, "--reporter", "mine=out", "--reporter", "tap=out.tap")
    assert (ended.code, ended.err) == (1, "")
    assert "2 tests: 1 passed, 1 failed" in ended.out
    assert (folder / "out").read_text(encoding="utf-8") == ALL_EVENTS
    assert "not ok 2" in (folder / "out.tap").read_text(encoding="utf-8")


def test_two_files_are_two_reports(folder: Path) -> None:
    run_with(folder, COUNTS, "--reporter", "mine=one", "--reporter", "mine=two")
    for name in ("one", "two"):
        assert (folder / name).read_text(encoding="utf-8") == ALL_EVENTS


def test_conductor_and_report_know_it_as_well(folder: Path) -> None:
    environment = install(folder, COUNTS)
    mcptest(folder, "run", "--reporter", "json=run.json")
    again = mcptest(folder, "report", "run.json", "--format", "mine", **environment)
    assert (again.code, again.out) == (1, ALL_EVENTS)
    assert mcptest(folder, "run", "--reporter", "mine", "-j", "2", **environment).out == ALL_EVENTS
    words = ["*.test.mcp.yml", "--reporter", "mine"]
    ended = run([sys.executable, "-c", CONDUCTOR, *words], folder, environment)
    assert (ended.code, ended.out) == (1, ALL_EVENTS)


def test_it_sees_results_and_no_secrets(folder: Path) -> None:
    write_config(folder / "conductor.config.json", env={"KEY": "${TOKEN}"})
    asks = case("asks", "env", params={"name": "KEY"}, wants={"value": "x"})
    write_suite(folder / "a.test.mcp.yml", asks)
    code = COUNTS.replace("type(event).__name__", "repr(event)")
    environment = install(folder, code) | {"TOKEN": "hunter2hunter2"}
    ended = mcptest(folder, "run", "--reporter", "mine", **environment)
    assert "Mismatch(path='result.value', expected='x'" in ended.out
    assert "hunter2" not in ended.out


@pytest.mark.parametrize(("wish", "logged"), [("''", []), ("'failures'", ["bad"])])
def test_it_gets_the_logs_it_asks_for(folder: Path, wish: str, logged: list[str]) -> None:
    code = COUNTS.replace("class Mine:", f"class Mine:\n    wants_log = {wish}").replace(
        "type(event).__name__",
        "event.result.name if getattr(event, 'result', 0) and event.result.log else ''",
    )
    ended = run_with(folder, code, "--reporter", "mine")
    assert [name for name in ended.out.strip().split(",") if name] == logged


def test_what_it_prints_does_not_touch_standard_output(folder: Path) -> None:
    code = COUNTS.replace("return", "print('from render'); return")
    ended = run_with(folder, code, "--json", "--reporter", "mine=out")
    assert ended.report()["summary"]["failed"] == 1
    assert ended.err == "from render\n"


def test_when_nothing_could_run_it_receives_the_error(folder: Path) -> None:
    code = COUNTS.replace("type(event).__name__", "str(getattr(event, 'fault', ''))")
    (folder / "out").write_text("yesterday", encoding="utf-8")
    ended = run_with(folder, code, "-k", "nope", "--reporter", "mine=out")
    assert ended.code == 7
    assert "nothing_selected" in (folder / "out").read_text(encoding="utf-8")


# One that does not


@pytest.mark.parametrize("code", FAILING)
def test_a_reporter_that_fails_is_reported_with_its_owner_and_other_reports_are_still_written(
    folder: Path, code: str
) -> None:
    text, said = FAILING[code]
    (folder / "out").write_text("yesterday", encoding="utf-8")
    words = ("--reporter", "mine=out", "--reporter", "tap", "--reporter", "junit=out.xml")
    ended = run_with(folder, text, *words)
    assert ended.code == 2
    assert ended.err.startswith(f"error: {OWNER} {said}")
    assert "\n  help: " in ended.err
    assert "not ok 2 - bad" in ended.out
    assert 'failures="1"' in (folder / "out.xml").read_text(encoding="utf-8")
    assert (folder / "out").read_text(encoding="utf-8").startswith(f"{OWNER} {said}")


def test_a_reporter_that_fails_on_standard_output_leaves_it_empty(folder: Path) -> None:
    ended = run_with(folder, FAILING["returns nothing"][0], "--reporter", "mine")
    assert (ended.code, ended.out) == (2, "")


def test_json_on_standard_output_stays_one_object_when_another_reporter_fails(
    folder: Path,
) -> None:
    environment = install(folder, FAILING["returns nothing"][0])
    words = ("--json", "--reporter", "mine=out", "--reporter", "json=run.json")
    ended = mcptest(folder, "run", *words, **environment)
    assert (ended.code, ended.report()["summary"]["failed"]) == (2, 1)
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["summary"]["failed"] == 1
    again = mcptest(
        folder, "report", "run.json", "--format", "json", "--format", "mine=out", **environment
    )
    assert (again.code, again.report()["summary"]["failed"]) == (2, 1)


def test_a_reporter_that_fails_does_not_hide_that_nothing_could_run(folder: Path) -> None:
    words = ("-k", "nope", "--reporter", "mine=out", "--reporter", "tap=out.tap")
    ended = run_with(folder, FAILING["returns nothing"][0], *words)
    assert ended.code == 7
    for name in ("out", "out.tap"):
        assert "nope" in (folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("code", UNUSABLE)
def test_an_unusable_reporter_is_reported_with_its_owner_before_anything_runs(
    folder: Path, code: str
) -> None:
    text, said = UNUSABLE[code]
    ended = run_with(folder, text, "--reporter", "mine", "--capture", "capture.json")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {OWNER} {said}")
    assert not (folder / "capture.json").exists()


def test_a_reporter_that_never_finishes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        def __call__(self, event: object) -> None: ...

        def render(self) -> str:
            while True:
                pass

    monkeypatch.setattr(installed, "_REPORTER_CPU_LIMIT_S", 0.05)
    reporter = InstalledReporter("the reporter 'x'", Endless())
    reporter(CaseStarted(name="a", line=1))
    with pytest.raises(UsageError, match=r"could not render: it took more than 0.05 s"):
        reporter.render()


def test_a_reporter_that_sleeps_is_ended_after_one_time_limit_for_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Sleepy:
        def __call__(self, event: object) -> None:
            threading.Event().wait(60)

        def render(self) -> str:
            return "never"

    monkeypatch.setattr(installed, "_REPORTER_WALL_LIMIT_S", 0.05)
    reporter = InstalledReporter("the reporter 'x'", Sleepy())
    for _ in range(3):
        reporter(CaseStarted(name="a", line=1))
    with pytest.raises(UsageError, match=r"failed on CaseStarted: it took more than 0.05 s in all"):
        reporter.render()


# Names


def test_an_unknown_name_is_an_error_that_lists_the_installed_ones(folder: Path) -> None:
    ended = run_with(folder, COUNTS, "--reporter", "mien")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: there is no reporter 'mien'; did you mean mine?\n")
    assert ", html, mine\n" in ended.err


def test_packages_are_not_searched_while_all_names_are_built_in(folder: Path) -> None:
    """One that takes a name of ours would be an error if it were seen."""
    environment = install(folder, "1 / 0", point="junit")
    ended = mcptest(folder, "run", "--reporter", "junit", **environment)
    assert (ended.code, ended.err) == (1, "")


def test_a_package_that_takes_a_name_of_ours_is_an_error_once_it_is_seen(folder: Path) -> None:
    environment = install(folder, COUNTS, point="junit")
    ended = mcptest(folder, "run", "--reporter", "other", **environment)
    assert (ended.code, ended.out) == (2, "")
    owners = "mcptest itself and the package mine 1.0 (mine:Mine)"
    assert ended.err.startswith(f"error: the reporter 'junit' has two owners: {owners}\n")


def test_two_packages_with_one_name_are_an_error_that_names_both(folder: Path) -> None:
    install(folder, COUNTS)
    environment = install(folder, COUNTS, name="other")
    ended = mcptest(folder, "run", "--reporter", "mine", **environment)
    assert (ended.code, ended.out) == (2, "")
    assert "error: the reporter 'mine' has two owners: " in ended.err
    assert "the package mine 1.0 (mine:Mine)" in ended.err
    assert "the package other 1.0 (other:Mine)" in ended.err
