"""However oddly mcptest is started, servers start and results are right."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from console import TINY_SERVER, Ended, run

from mcptest.transport.process.stopping import MARK_VARIABLE, list_marked

MCPTEST = (sys.executable, "-m", "mcptest")
SUITE = {
    "description": "one",
    "tests": [
        {
            "it": "echoes",
            "request": {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": 1}},
            "expect": {"response": {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}},
        },
        {
            "it": "dies",
            "request": {"jsonrpc": "2.0", "id": 2, "method": "die"},
            "expect": {"exitCode": 1},
        },
    ],
}
IGNORES = "import signal, os, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); " + (
    "os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a.test.mcp.yml").write_text(json.dumps(SUITE), encoding="utf-8")
    config = {"name": "tiny", "command": sys.executable, "args": [str(TINY_SERVER)]}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    return tmp_path


def ended(command: tuple[str, ...], place: Path) -> Ended:
    return run([*command], place, {})


def test_a_run_works_under_a_parent_that_ignores_sigchld(place: Path) -> None:
    """The server ends with status 1, which the second test expects."""
    done = ended((sys.executable, "-c", IGNORES, *MCPTEST, "run"), place)
    assert (done.code, done.err) == (0, "")
    done = ended((sys.executable, "-c", IGNORES, *MCPTEST, "run", "--parallel", "2"), place)
    assert (done.code, done.err) == (0, "")


def test_with_a_variable_that_has_no_name(place: Path) -> None:
    done = ended(("env", "=odd", *MCPTEST, "run"), place)
    assert (done.code, done.err) == (0, "")


def test_with_an_open_file_that_could_not_be_opened_any_more(place: Path) -> None:
    shell = 'exec 99</dev/null; ulimit -n 64; exec "$0" "$@"'
    done = ended(("bash", "-c", shell, *MCPTEST, "run"), place)
    assert (done.code, done.err) == (0, "")


def test_with_too_few_open_files_for_anything(place: Path) -> None:
    done = ended(("bash", "-c", 'ulimit -n 7; exec "$0" "$@"', *MCPTEST, "run"), place)
    assert done.code == 2
    assert "Too many open files" in done.err
    assert "Traceback" not in done.err


def side_by_side(place: Path, *limited: str) -> Ended:
    """The suite four times under a limit; whatever happened, no process is left of it."""
    for name in "bcd":
        shutil.copy(place / "a.test.mcp.yml", place / f"{name}.test.mcp.yml")
    mark = f"outer-{os.urandom(8).hex()}/"
    done = run(
        [*limited, *MCPTEST, "run", "-j", "4", "--isolation", "file"], place, {MARK_VARIABLE: mark}
    )
    assert list_marked(mark) == {}
    assert "Traceback" not in done.err
    return done


def with_limit(option: str, value: int) -> tuple[str, ...]:
    return ("bash", "-c", f'ulimit {option} {value}; exec "$0" "$@"')


@pytest.mark.parametrize("count", range(8, 22))
def test_with_too_few_open_files_for_servers_side_by_side(place: Path, count: int) -> None:
    done = side_by_side(place, *with_limit("-n", count))
    assert done.code in (0, 1, 2, 3)
    assert (done.code == 0) != ("(ulimit -n)" in done.out + done.err)
    assert done.code == 0 or "Too many open files" in done.out + done.err


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_with_too_few_processes_for_servers_side_by_side(place: Path, count: int) -> None:
    limited = ["prlimit", f"--nproc={count}"]
    if os.geteuid() == 0:
        # The limit is not for root; the files of the tests may be.
        caps = "+dac_override,+dac_read_search"
        user = ["--reuid", str(40_000 + os.getpid() % 20_000), "--clear-groups"]
        limited = ["setpriv", *user, "--inh-caps", caps, "--ambient-caps", caps, *limited]
    done = side_by_side(place, *limited)
    # Where it is met depends on what else runs: by a worker, by a server, or before either.
    assert done.code in (1, 2, 3)
    assert "raise the limit of processes (ulimit -u)" in done.out + done.err


@pytest.mark.parametrize("kilobytes", [30_000, 60_000, 75_000, 80_000, 90_000])
def test_with_too_little_memory_for_servers_side_by_side(place: Path, kilobytes: int) -> None:
    done = side_by_side(place, *with_limit("-v", kilobytes))
    assert done.code in (0, 1, 2, 3)
    assert done.code != 2 or "raise the limit of memory (ulimit -v)" in done.err


# A folder of devices without any; and where that may not be made, one that is looked for elsewhere.
BARE = ("unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /dev; exec "$@"', "sh")
ELSEWHERE = (
    sys.executable,
    "-c",
    "import os, sys; os.devnull = '/nowhere/null'\n"
    "from mcptest.cli.main import main; sys.exit(main(sys.argv[4:]))",
)
MAY_UNSHARE = shutil.which("unshare") and not subprocess.run([*BARE, "true"]).returncode
BARE_PLACES = (BARE, ELSEWHERE) if MAY_UNSHARE else (ELSEWHERE,)


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-", ""])
@pytest.mark.parametrize("words", [("run",), ("run", "-j", "2"), ("run", "--json")])
@pytest.mark.parametrize("bare", BARE_PLACES)
def test_without_a_null_device(
    place: Path, bare: tuple[str, ...], words: tuple[str, ...], stream: str
) -> None:
    shell = ("bash", "-c", f'exec "$0" "$@" {stream}')
    done = ended((*shell, *bare, *MCPTEST, *words), place)
    assert (done.code, done.err) == (0, "")
    assert ("passed" in done.out) == (stream != ">&-")


@pytest.mark.parametrize("command", ["run", "list", "validate", "init", "discover", "mock x"])
def test_in_a_folder_that_is_gone(tmp_path: Path, command: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    shell = f'rmdir {gone}; exec "$0" "$@"'
    done = ended(("bash", "-c", shell, *MCPTEST, *command.split()), gone)
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert "does not exist any more" in done.err


def test_in_a_folder_that_goes_while_servers_are_started_elsewhere(place: Path) -> None:
    here = place / "here"
    here.mkdir()
    config = json.loads((place / "conductor.config.json").read_text(encoding="utf-8"))
    config |= {"isolation": "test", "cwd": str(place)}
    # The first server takes the folder away in which mcptest was started.
    config["args"] = [
        "-c",
        f"import os; os.path.isdir({str(here)!r}) and os.rmdir({str(here)!r})\n",
    ]
    config["args"][1] += f"exec(open({str(TINY_SERVER)!r}).read())"
    (place / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    done = ended((*MCPTEST, "run", str(place), "--config", f"{place}/conductor.config.json"), here)
    assert (done.code, done.err) == (0, "")
    assert not here.exists()


DROPS = """
import os, signal
from mcptest.cli.signals import interrupt_on_signals, without_gc
interrupt_on_signals()
class Drops:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
with without_gc():
    Drops()
    print("went on", flush=True)
"""


def test_an_interrupt_that_python_drops_is_raised_again(place: Path) -> None:
    done = ended((sys.executable, "-c", DROPS), place)
    assert done.out == "went on\n"
    assert "Exception ignored" in done.err
    assert done.err.rstrip().endswith("KeyboardInterrupt")
    assert done.code != 0


# Ctrl-C arrives while the module with this name is searched; `entry` is what a script has.
INTERRUPTED = """
import os, signal, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        seen.append(name)
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)
entry, wanted, *sys.argv[1:] = sys.argv[1:]
seen = []
sys.meta_path.insert(0, Interrupts())
signal.signal(signal.SIGINT, signal.default_int_handler)
module, _, function = entry.partition(":")
command = getattr(__import__(module, fromlist=[function]), function)
if wanted == "none":
    os._exit = sys.exit = lambda status: print(" ".join(seen))
command()
"""
ROOT = Path(__file__).parents[3]
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["mcptest", "conductor"])
def test_ctrl_c_during_the_import_of_the_commands_prints_no_traceback(
    place: Path, name: str
) -> None:
    entry = SCRIPTS[name]
    words = ["validate", "a.test.mcp.yml"] if name == "mcptest" else ["--help"]
    start = (sys.executable, "-c", INTERRUPTED, entry)
    names = ended((*start, "none", *words), place).out.rpartition("\n\n")[2].split()[-200:]
    ours = [each for each in names if each.startswith("mcptest.")]
    first = ours.index("mcptest.cli.main")
    assert len(ours) > first + 10
    for each in ours[first:]:
        done = ended((*start, each, *words), place)
        assert done.code == 130, each
        assert "Traceback" not in done.err
        assert "ignored" not in done.err


def test_python_m_starts_as_the_script_does(place: Path) -> None:
    main = (ROOT / "src" / "mcptest" / "__main__.py").read_text("utf-8")
    module, _, function = SCRIPTS["mcptest"].partition(":")
    assert f"from {module} import {function}\n" in main
    assert ended((*MCPTEST, "validate"), place).code == 0


def test_nothing_that_is_not_the_systems_is_called_exhaustion() -> None:
    from mcptest.cli.output import describe_exhaustion  # noqa: PLC0415  # beside what it is about

    assert describe_exhaustion(OSError(28, os.strerror(28))) is None
    assert describe_exhaustion(ValueError("24")) is None
    assert describe_exhaustion(OSError(24, os.strerror(24))) is not None
    assert describe_exhaustion(MemoryError()) is not None
