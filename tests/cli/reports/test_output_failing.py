"""Standard output, standard error or a file that fails: every other report is complete."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import pty
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from xml.etree import ElementTree as ET

import pytest
from console import (
    ENVIRONMENT,
    PATIENCE_S,
    TINY_SERVER,
    Ended,
    case,
    mcptest,
    write_config,
    write_suite,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")
REPORTERS = (
    "terminal",
    "minimal",
    "json",
    "ndjson",
    "junit",
    "tap",
    "github",
    "markdown",
    "sarif",
    "agent",
    "html",
)
REASONS = {
    "full": "No space left on device",
    "reader left": "Broken pipe",
    "terminal closed": "Input/output error",
}
EXAMPLES = Path(__file__).parents[3] / "examples"


def in_turn(cases: Iterable[T], hows: Iterable[str] = tuple(REASONS)) -> list[tuple[T, str]]:
    """Each case with one way to fail: the ways do not depend on the cases."""
    return list(zip(cases, itertools.cycle(hows), strict=False))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files with a test that fails among them, and a saved run of them."""
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "a.test.mcp.yml", case("good"), case("bad", wants={}))
    write_suite(tmp_path / "b.test.mcp.yml", case("fine"))
    return tmp_path


@contextlib.contextmanager
def failing(how: str) -> Iterator[int]:
    """A descriptor to which nothing can be written."""
    if how == "full":
        fd = os.open("/dev/full", os.O_WRONLY)
    elif how == "reader left":
        reader, fd = os.pipe()
        os.close(reader)
    else:
        terminal, fd = pty.openpty()
        os.close(terminal)
    try:
        yield fd
    finally:
        os.close(fd)


def run(folder: Path, how: str, *words: str, stream: str = "stdout") -> Ended:
    """The command with a stream that fails; what it wrote to the other one."""
    with failing(how) as fd:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: fd}
        ended = subprocess.run(
            [sys.executable, "-m", "mcptest", *words],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=False,
            **streams,  # type: ignore[call-overload]
        )
    out, err = ((text or b"").decode("utf-8") for text in (ended.stdout, ended.stderr))
    assert "Traceback" not in out + err
    return Ended(ended.returncode, out, err)


def summary(path: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))["summary"]
    return {name: count for name, count in found.items() if count}


def is_complete(folder: Path) -> bool:
    """Whether out.json and out.xml have all of the run."""
    (suites,) = ET.parse(folder / "out.xml").iter("testsuites")
    counts = {name: suites.get(name) for name in ("tests", "failures", "errors")}
    return counts == {"tests": "3", "failures": "1", "errors": "0"} and summary(
        folder / "out.json"
    ) == {"total": 3, "passed": 2, "failed": 1}


def has_whole_capture(folder: Path) -> bool:
    exchanges = json.loads((folder / "capture.json").read_text(encoding="utf-8"))["exchanges"]
    said = [each["request"].get("params", {}).get("say") for each in exchanges]
    return [each for each in said if each] == ["good", "bad", "fine"]


FILES = ("--reporter", "json=out.json", "--reporter", "junit=out.xml")


# Standard output


@pytest.mark.parametrize(("reporter", "how"), in_turn(REPORTERS))
def test_reports_in_files_are_complete_when_standard_output_fails(
    folder: Path, reporter: str, how: str
) -> None:
    ended = run(folder, how, "run", "--reporter", reporter, *FILES, "--capture", "capture.json")
    message = f"error: cannot write to standard output: {REASONS[how]}\n"
    assert (ended.code, ended.err) == (2, message)
    assert is_complete(folder)
    assert has_whole_capture(folder)


@pytest.mark.parametrize(
    ("words", "how"),
    in_turn([("-j", "2", "--isolation", "file"), ("--verbose",), ("--json",), ("--bail",)]),
)
def test_so_they_are_however_the_run_goes(folder: Path, how: str, words: tuple[str, ...]) -> None:
    ended = run(folder, how, "run", *words, *FILES)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    if words == ("--bail",):
        assert summary(folder / "out.json")["failed"] == 1
    else:
        assert is_complete(folder)


@pytest.mark.parametrize(("reporter", "how"), in_turn(["terminal", "ndjson", "tap", "json"]))
def test_a_capture_alone_is_written_as_well(folder: Path, how: str, reporter: str) -> None:
    ended = run(folder, how, "run", "--reporter", reporter, "--capture", "capture.json")
    assert ended.code == 2
    assert has_whole_capture(folder)


@pytest.mark.parametrize(
    ("reporter", "how"), in_turn(["terminal", "json", "ndjson", "agent", "html"])
)
@pytest.mark.parametrize("verb", [("report",), ("report", "merge")])
def test_a_saved_run_is_rendered_to_files_when_standard_output_fails(
    folder: Path, how: str, reporter: str, verb: tuple[str, ...]
) -> None:
    mcptest(folder, "run", "--reporter", "json=run.json")
    words = ("--format", reporter, "--format", "json=out.json", "--format", "junit=out.xml")
    ended = run(folder, how, *verb, "run.json", *words)
    message = f"error: cannot write to standard output: {REASONS[how]}\n"
    assert (ended.code, ended.err) == (2, message)
    assert is_complete(folder)


@pytest.mark.parametrize("how", REASONS)
@pytest.mark.parametrize("reporter", ["terminal", "ndjson", "tap", "json"])
def test_a_run_that_never_began_is_reported_in_the_files(
    folder: Path, how: str, reporter: str
) -> None:
    (folder / "out.xml").write_text("yesterday", encoding="utf-8")
    ended = run(folder, how, "run", "-k", "nope", "--reporter", reporter, "--junit", "out.xml")
    assert ended.err.startswith("error: no test matches the filter 'nope'")
    (element,) = ET.parse(folder / "out.xml").iter("error")
    assert element.get("type") == "nothing_selected"
    if reporter == "terminal":
        assert ended.code == 7, "nothing goes to standard output"
    elif reporter != "json":
        assert ended.code == 2
        assert ended.err.endswith(f"error: cannot write to standard output: {REASONS[how]}\n")


@pytest.mark.parametrize(("reporter", "how"), in_turn(REPORTERS, ("full", "terminal closed")))
def test_without_other_reports_the_cause_is_reported(folder: Path, reporter: str, how: str) -> None:
    ended = run(folder, how, "run", "--reporter", reporter)
    message = f"error: cannot write to standard output: {REASONS[how]}\n"
    assert (ended.code, ended.err) == (2, message)


@pytest.mark.parametrize("reporter", REPORTERS)
def test_without_other_reports_a_reader_who_left_ends_the_run(folder: Path, reporter: str) -> None:
    assert run(folder, "reader left", "run", "--reporter", reporter) == Ended(130, "", "")


SERVER = ("--", sys.executable, "-S", "-E", str(EXAMPLES / "filesystem" / "server.py"), ".")
FILESYSTEM = str(EXAMPLES / "filesystem" / "files.test.mcp.yml")
CONTRACT = str(EXAMPLES / "contract" / "library.cases.yaml")
COMMANDS = {
    "help": ("--help",),
    "version": ("--version",),
    "help of a command": ("run", "--help"),
    "validate": ("validate",),
    "validate --json": ("validate", "--json"),
    "discover": ("discover", *SERVER),
    "list": ("list", *SERVER),
    "list --json": ("list", "--json", *SERVER),
    "call": ("call", "list_folder", "path=.", *SERVER),
    "docs of a contract": ("docs", CONTRACT),
    "docs of a server": ("docs", *SERVER),
    "cases from": ("cases", "from", "capture.json"),
    "compliance": ("compliance", "invariants", "--capture", "capture.json"),
    "compliance run": ("compliance", "run", "--only", "BASE-18", *SERVER),
    "compliance run --list": ("compliance", "run", "--list"),
    "schema": ("schema", "conductor"),
    "migrate": ("migrate", FILESYSTEM, "--to", "suite"),
    "report of a broken file": ("report", "a.test.mcp.yml", "--format", "json"),
    "run of a missing file": ("run", "nope.yml", "--json"),
}


@pytest.mark.parametrize(
    ("command", "how"),
    [
        *in_turn(COMMANDS, ("full", "terminal closed")),
        *in_turn(COMMANDS, ("reader left",)),
    ],
)
def test_no_command_takes_it_for_its_own_fault(folder: Path, command: str, how: str) -> None:
    if "capture.json" in COMMANDS[command]:
        mcptest(folder, "run", "--capture", "capture.json")
    ended = run(folder, how, *COMMANDS[command])
    message = f"error: cannot write to standard output: {REASONS[how]}\n"
    if how == "reader left" and command != "report of a broken file":
        assert (ended.code, message in ended.err) == (130, False)
    else:
        assert (ended.code, message in ended.err) == (2, True)


# A terminal that is closed during the run


@pytest.mark.parametrize("is_controlling", [False, True])
@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
def test_a_terminal_that_is_closed_meanwhile_costs_no_other_report(
    folder: Path, words: tuple[str, ...], is_controlling: bool
) -> None:
    """The progress line is drawn while the server takes its time; a hangup is an interrupt."""
    slow = (case("good"), case("slow", "sleep", timeout=1500), case("late"))
    write_suite(folder / "a.test.mcp.yml", *slow)
    terminal, fd = pty.openpty()

    def control() -> None:
        fcntl.ioctl(fd, termios.TIOCSCTTY, 0)

    with subprocess.Popen(
        [sys.executable, "-m", "mcptest", "run", *words, *FILES],
        cwd=folder,
        env=ENVIRONMENT | {"TERM": "xterm"},
        stdin=fd,
        stdout=fd,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=control if is_controlling else None,
    ) as process:
        os.close(fd)
        seen = b""
        while b"tiny" not in seen:
            seen += os.read(terminal, 10_000)
        time.sleep(0.3)
        os.close(terminal)
        assert process.stderr is not None
        err = process.stderr.read().decode("utf-8")
        code = process.wait(PATIENCE_S)
    assert "Traceback" not in err
    assert "error: cannot write to standard output: Input/output error" in err
    report = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert (code, report["interrupted"]) == ((130, True) if is_controlling else (2, False))
    assert ET.parse(folder / "out.xml").getroot().tag == "testsuites"
    if not is_controlling:
        assert summary(folder / "out.json") == {"total": 4, "passed": 3, "errors": 1}


# One file


@pytest.mark.parametrize("reporter", REPORTERS)
def test_a_file_that_fails_costs_no_other_report(folder: Path, reporter: str) -> None:
    whole = mcptest(folder, "run", "--reporter", reporter)
    ended = mcptest(folder, "run", "--reporter", reporter, "--reporter", "tap=/dev/full", *FILES)
    assert ended.code == 2
    assert ended.err == "error: cannot write /dev/full: No space left on device\n"
    assert is_complete(folder)
    assert len(ended.out.splitlines()) == len(whole.out.splitlines())
    if reporter == "json":
        report = ended.report()
        assert (report["error"], report["summary"]["total"]) == (None, 3)


def test_all_files_that_fail_are_named(folder: Path) -> None:
    (folder / "full").symlink_to("/dev/full")
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    (folder / "gone").mkdir()
    write_suite(folder / "c.test.mcp.yml", case("wait", "sleep", timeout=1000))
    words = ("--reporter", "tap=full", "--reporter", "ndjson=pipe", "--junit", "gone/out.xml")
    with subprocess.Popen(
        [sys.executable, "-m", "mcptest", "run", *words, "--json"],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        # It has begun: what was writable is so no more.
        while not os.read(reader, 10_000):
            time.sleep(0.01)
        os.close(reader)
        (folder / "gone").rmdir()
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert sorted(err.decode().splitlines()) == [
        "error: cannot write full: No space left on device",
        "error: cannot write gone/out.xml: No such file or directory",
        "error: cannot write pipe: Broken pipe",
    ]
    assert json.loads(out)["summary"]["total"] == 4


@pytest.mark.long
def test_a_pipe_that_no_one_opens_costs_no_other_report(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    ended = mcptest(folder, "run", "--reporter", "ndjson=pipe", *FILES)
    assert (ended.code, ended.err) == (2, "error: cannot write pipe: No such device or address\n")
    assert "3 tests: 2 passed, 1 failed" in ended.out
    assert is_complete(folder)


def test_a_file_that_fails_is_reported_beside_the_reason_why_nothing_ran(folder: Path) -> None:
    words = ("-k", "nope", "--junit", "/dev/full", "--reporter", "json=out.json")
    ended = mcptest(folder, "run", *words)
    assert ended.code == 2
    first, second = ended.err.splitlines()
    assert first.startswith("error: no test matches the filter 'nope'")
    assert second == "error: cannot write /dev/full: No space left on device"
    report = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert report["error"]["kind"] == "nothing_selected"


# Standard error


@pytest.mark.parametrize("how", REASONS)
def test_standard_error_that_fails_costs_nothing(folder: Path, how: str) -> None:
    ended = run(folder, how, "run", *FILES, stream="stderr")
    assert (ended.code, "3 tests: 2 passed, 1 failed" in ended.out) == (1, True)
    assert is_complete(folder)
    assert run(folder, how, "run", "b.test.mcp.yml", stream="stderr").code == 0
    assert run(folder, how, "run", "-k", "nope", stream="stderr").code == 7
    ended = run(folder, how, "run", "--json", "--junit", "/dev/full", stream="stderr")
    assert (ended.code, ended.report()["summary"]["total"]) == (2, 3)
    assert run(folder, how, "validate", stream="stderr").code == 0
    noisy = ("--server-command", f"{sys.executable} {TINY_SERVER} no-such-way")
    assert run(folder, how, "run", "--verbose", *noisy, stream="stderr").code in (0, 1)
