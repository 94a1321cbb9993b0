"""`python -m bench`: what a run costs, each figure a ratio measured in this very run.

Every round measures all contestants one after the other, so that a slow moment of the
machine hits all of them; medians are compared. Not a test: nothing here fails a build.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.captures import write_capture
from bench.plugins import report_plugins, write_plugin_suites
from bench.pytest_suite import (
    NOTHING,
    PYTEST,
    RUN,
    pytest_command,
    report_pytest,
    write_places,
)
from bench.suites import (
    build_server,
    python_environment,
    requests_of,
    write_cases,
    write_large_suite,
    write_sleepy_suites,
    write_suite,
    write_yaml_suite,
)

PYTHON = sys.executable
ENVIRONMENT = python_environment()
ROOT = Path(__file__).parent.parent
MEASURE = ROOT / "bench" / "measure.py"

SIZES = (1, 1000, 5000)
ONE, THOUSAND, MANY = "mcptest, 1 test", "mcptest, 1,000 tests", "mcptest, 5,000 tests"
ONE_ENTRY, THOUSAND_ENTRIES = "mcptest, a suite of 1 test", "mcptest, a suite of 1,000 tests"
ENTRIES = {1: ONE_ENTRY, 1000: THOUSAND_ENTRIES}
ALONE, EIGHT = "8 sleepy files, one at a time", "8 sleepy files, --parallel 8"
RAW_LARGE, LARGE = "raw pipes, 64 MB", "mcptest, 64 MB"
AEGIS = ROOT / ".venv" / "node" / "node_modules" / "mcp-aegis" / "bin" / "aegis.js"
AUTOTEST = "@strowk/mcp-autotest-*/bin/mcp-autotest"
PEERS = {
    "mcp-aegis": [
        shutil.which("node") or "node",
        str(AEGIS),
        "echo.test.mcp.yml",
        "--config",
        "conductor.config.json",
    ]
}


def timed(
    command: list[str], cwd: Path | None = None, env: dict[str, str] = ENVIRONMENT
) -> tuple[float, float]:
    """Wall time in ms and peak memory in MB of one command, its children not counted."""
    done = subprocess.run(
        [PYTHON, "-S", "-E", str(MEASURE), *command],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    if done.returncode != 0:
        raise SystemExit(f"{command} ended with {done.returncode}")
    took_ms, memory_kb = map(float, done.stdout.split())
    return took_ms, memory_kb / 1024


def raw_floor(server: list[str], tests: int) -> tuple[float, float]:
    """The same lines over the same pipes, one after the other, with no work in between."""
    lines = requests_of(tests)
    began = time.perf_counter()
    process = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    writer, reader = process.stdin.fileno(), process.stdout.fileno()
    for line in lines:
        os.write(writer, line)
        while not os.read(reader, 65536).endswith(b"\n"):
            pass
    process.stdin.close()
    process.wait()
    process.stdout.close()
    return (time.perf_counter() - began) * 1000, 0.0


def raw_large(place: Path) -> tuple[float, float]:
    """Read the large answer and do nothing with it; the time from asking to its last byte."""
    config = json.loads((place / "conductor.config.json").read_text(encoding="utf-8"))
    command = [config["command"], *config["args"]]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    reader = process.stdout.fileno()
    process.stdin.write(b'{"jsonrpc":"2.0","id":0,"method":"initialize"}\n')
    os.read(reader, 65536)
    began = time.perf_counter()
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"large"}\n')
    parts = [b""]
    while not parts[-1].endswith(b"\n"):
        parts.append(os.read(reader, 1 << 20))
    b"".join(parts)
    took_ms = (time.perf_counter() - began) * 1000
    process.stdin.close()
    process.wait()
    process.stdout.close()
    return took_ms, 0.0


def our_large(place: Path, env: dict[str, str] = ENVIRONMENT) -> tuple[float, float]:
    """The same answer as a test sees it: read, parsed and judged."""
    done = subprocess.run(
        [PYTHON, "-m", "mcptest", "run", "--json"],
        cwd=place,
        env=env,
        stdout=subprocess.PIPE,
        check=True,
    )
    took_ms: float = json.loads(done.stdout)["suites"][0]["tests"][0]["duration_ms"]
    return took_ms, 0.0


def rounds(
    contestants: dict[str, Callable[[], tuple[float, float]]], count: int
) -> dict[str, tuple[float, float]]:
    """The median time and the largest memory of each contestant."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for number in range(count):
        for name, measure in contestants.items():
            seen[name].append(measure())
        sys.stderr.write(f"\rround {number + 1} of {count}")
    sys.stderr.write("\r\033[K" if sys.stderr.isatty() else "\n")
    return {
        name: (statistics.median(ms for ms, _ in figures), max(mb for _, mb in figures))
        for name, figures in seen.items()
    }


def verdict(name: str, value: float, budget: float) -> str:
    word = "within" if value <= budget else "OVER"
    return f"  {name:<58} {value:7.2f}   {word} {budget:g}"


def report(found: dict[str, tuple[float, float]]) -> None:
    for name, (took_ms, memory_mb) in found.items():
        memory = f"{memory_mb:8.1f} MB" if memory_mb else ""
        print(f"  {name:<40} {took_ms:9.1f} ms {memory}")
    ms = {name: figures[0] for name, figures in found.items()}
    mb = {name: figures[1] for name, figures in found.items()}
    one, thousand, many = (ms[name] for name in (ONE, THOUSAND, MANY))
    floor_us = (ms["raw pipes, 5,000"] - ms["raw pipes, 1"]) / 4.999
    marginal_us = (many - one) / 4.999
    print("\nratios")
    print(verdict("start-up: 1 test over python -c pass", one / ms["python -c pass"], 5))
    print(verdict("growth: 5,000 tests over 1,000", many / thousand, 5.3))
    print(verdict("memory growth per test, KB", (mb[MANY] - mb[ONE]) * 1024 / 4999, 8))
    print(f"  {'marginal cost per test over raw pipes':<58} {marginal_us / floor_us:7.2f}")
    print(f"  {'marginal cost per test, µs':<58} {marginal_us:7.0f}")
    print(verdict("a suite of 1 test, over a test file", ms[ONE_ENTRY] / one, 1.35))
    print(verdict("a suite of 1,000 tests, over a test file", ms[THOUSAND_ENTRIES] / thousand, 2))
    print(verdict("64 MB answer, over reading it raw", ms[LARGE] / ms[RAW_LARGE], 1.5))
    print(verdict("8 files at a time, over one at a time", ms[EIGHT] / ms[ALONE], 1 / 6.4))
    for peer in (*PEERS, "mcp-autotest"):
        if peer + ", 1" in ms:
            report_peer(peer, ms)


def report_peer(peer: str, ms: dict[str, float]) -> None:
    """The same suites under another tool, measured in the same rounds."""
    one, thousand, many = (ms[f"{peer}, {n:,}"] for n in (1, 1000, 5000))
    marginal = (ms[MANY] - ms[ONE]) / (many - one)
    if peer == "mcp-aegis":
        print(verdict(f"start-up against {peer}", ms[ONE] / one, 0.35))
    print(verdict(f"1,000 tests against {peer}", ms[THOUSAND] / thousand, 1))
    print(verdict(f"marginal cost per test against {peer}", marginal, 0.8))


def contestants_of(folder: Path, with_peers: bool) -> dict[str, Callable[[], tuple[float, float]]]:
    server = build_server(folder)
    suites = {n: write_suite(folder, n, server) for n in SIZES}
    contestants: dict[str, Callable[[], tuple[float, float]]] = {
        "python -c pass": lambda: timed([PYTHON, "-c", "pass"]),
        "raw pipes, 1": lambda: raw_floor(server, 1),
        "raw pipes, 5,000": lambda: raw_floor(server, 5000),
    }
    for n, name in zip(SIZES, (ONE, THOUSAND, MANY), strict=True):
        command = [PYTHON, "-m", "mcptest", "run"]
        contestants[name] = partial(timed, command, suites[n])
    for n, name in ENTRIES.items():
        contestants[name] = partial(timed, command, write_yaml_suite(folder, n, server))
    sleepy = write_sleepy_suites(folder)
    for name, workers in ((ALONE, "1"), (EIGHT, "8")):
        contestants[name] = partial(timed, [*command, "--parallel", workers], sleepy)
    large = write_large_suite(folder)
    contestants[RAW_LARGE] = partial(raw_large, large)
    contestants[LARGE] = partial(our_large, large)
    if with_peers:
        for peer, command in PEERS.items():
            for n in SIZES:
                contestants[f"{peer}, {n:,}"] = partial(timed, command, suites[n])
        contestants |= autotest(folder, server)
    return contestants


def autotest(folder: Path, server: list[str]) -> dict[str, Callable[[], tuple[float, float]]]:
    """mcp-autotest on the same tests in its own format, where npm has it for this machine."""
    found = next((ROOT / ".venv" / "node" / "node_modules").glob(AUTOTEST), None)
    if found is None:
        return {}
    # It is packed without the right to be run.
    binary = Path(shutil.copy(found, folder / "mcp-autotest"))
    binary.chmod(0o755)
    return {
        f"mcp-autotest, {n:,}": partial(
            timed, [str(binary), "run", str(write_cases(folder, n)), "--", *server]
        )
        for n in SIZES
    }


def compare_versions(folder: Path, other: Path, count: int) -> None:
    """What this version costs over that of another checkout, measured in turns.

    The least time says more than the median here: other work on the machine only adds to it.
    """
    server = build_server(folder)
    suites = {n: write_suite(folder, n, server) for n in SIZES}
    places = {name: suites[n] for n, name in zip(SIZES, (ONE, THOUSAND, MANY), strict=True)}
    places |= {name: write_yaml_suite(folder, n, server) for n, name in ENTRIES.items()}
    large = write_large_suite(folder)
    command = [PYTHON, "-m", "mcptest", "run"]
    versions = {"this version": ROOT, "the other": other}
    ms: dict[tuple[str, str], list[float]] = {}
    for number in range(count):
        for version, root in versions.items():
            env = ENVIRONMENT | {"PYTHONPATH": str(root / "src")}
            for name, place in places.items():
                ms.setdefault((version, name), []).append(timed(command, place, env)[0])
            ms.setdefault((version, LARGE), []).append(our_large(large, env)[0])
        sys.stderr.write(f"\rround {number + 1} of {count}")
    sys.stderr.write("\n")
    names = (*places, LARGE)
    for how, choose in (("least", min), ("median", statistics.median)):
        this, that = ({name: choose(ms[each, name]) for name in names} for each in versions)
        print(f"{how} of {count}, this version over the other")
        for name in names:
            print(f"  {name:<40} {this[name] / that[name]:5.2f}   {this[name]:9.1f} ms")
        ours, theirs = ((each[MANY] - each[ONE]) / 4.999 for each in (this, that))
        print(f"  {'each further test':<40} {ours / theirs:5.2f}   {ours:9.1f} µs")


SMALL_CAPTURE, LARGE_CAPTURE = 10, 100


def judge_captures(folder: Path, count: int) -> None:
    """How judging a capture grows with its size, in time and in memory."""
    command = [PYTHON, "-m", "mcptest", "compliance", "invariants", "--capture"]
    contestants: dict[str, Callable[[], tuple[float, float]]] = {
        f"judging {size} MB": partial(timed, [*command, str(write_capture(folder, size))])
        for size in (SMALL_CAPTURE, LARGE_CAPTURE)
    }
    found = rounds(contestants, count)
    for name, (took_ms, memory_mb) in found.items():
        print(f"  {name:<40} {took_ms:9.1f} ms {memory_mb:8.1f} MB")
    (small_ms, small_mb), (large_ms, large_mb) = found.values()
    print("\nratios")
    print(verdict("growth: 100 MB over 10 MB", large_ms / small_ms, 10.5))
    print(verdict("memory growth from 10 to 100 MB, MB", large_mb - small_mb, 20))


def ask_plugins(folder: Path, count: int) -> None:
    """What a call of a plugin costs over a matcher of ours."""
    command = [PYTHON, "-m", "mcptest", "run"]
    places = write_plugin_suites(folder, build_server(folder))
    names = {place.name: key for key, place in places.items()}
    contestants: dict[str, Callable[[], tuple[float, float]]] = {
        place.name: partial(timed, command, place) for place in places.values()
    }
    rounds(contestants, 1)
    found = rounds(contestants, count)
    added_us = report_plugins({names[name]: took_ms for name, (took_ms, _) in found.items()})
    print(verdict("a call of a plugin adds, µs", added_us, 1000))
    print(verdict("the same, against what we would like", added_us, 200))


REFERENCE = ROOT / "tests" / "servers" / "conformance" / "reference_server.py"


def timed_with_processor(command: list[str]) -> tuple[float, float]:
    """Wall time in ms, and the processor time in s of a command and all that it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, env=ENVIRONMENT, check=True)
    took_ms = (time.perf_counter() - began) * 1000
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took_ms, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def check_conformance(count: int) -> None:
    """How long all checks of a server take that answers at once: in one revision, in both eras.

    The processor time says more on a busy machine. The limits are for one revision.
    """
    server = [PYTHON, str(REFERENCE)]
    url = "http://127.0.0.1:{port}/mcp"
    ways = {
        "stdio": ["--", *server],
        "HTTP": ["--url", url, "--", *server, "--http", "{port}"],
    }
    command = [PYTHON, "-m", "mcptest", "compliance", "run", "-o", os.devnull]
    one = ["--spec-version", "2025-11-25"]
    contestants: dict[str, Callable[[], tuple[float, float]]] = {
        f"compliance run, {name}{eras}": partial(timed_with_processor, [*command, *more, *words])
        for eras, more in (("", one), (", both eras", []))
        for name, words in ways.items()
    }
    found = rounds(contestants, count)
    for name, limit_s in zip(found, (8, 3), strict=False):
        print(verdict(f"{name}, s", found[name][0] / 1000, limit_s))
    for name, (took_ms, processor_s) in found.items():
        print(f"  {name:<44} {took_ms / 1000:6.1f} s, of it {processor_s:.1f} s of a processor")


def run_pytest(folder: Path, count: int) -> None:
    """1,000 tests under pytest and under `mcptest run`, with servers of different speed."""
    places = write_places(folder, build_server(folder))
    servers = [name for name in places if name != NOTHING]
    contestants = {NOTHING: partial(timed, pytest_command(), places[NOTHING])}
    for name in servers:
        command = [PYTHON, "-m", "mcptest", "run"]
        contestants[f"{RUN}, {name}"] = partial(timed, command, places[name])
        contestants[f"{PYTEST}, {name}"] = partial(timed, pytest_command(), places[name])
    rounds(dict(contestants), 1)
    found = {name: took_ms for name, (took_ms, _) in rounds(dict(contestants), count).items()}
    print(f"  {NOTHING:<58} {found[NOTHING]:7.0f} ms")
    for name in servers:
        print(verdict("pytest over mcptest run", report_pytest(found, name), 2))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="how often each is measured")
    parser.add_argument(
        "--peers",
        action="store_true",
        help="also measure mcp-aegis and mcp-autotest, as ./check installed them",
    )
    parser.add_argument(
        "--captures", action="store_true", help="measure only how captures are judged"
    )
    parser.add_argument(
        "--plugins", action="store_true", help="measure only what asking a plugin costs"
    )
    parser.add_argument(
        "--pytest", action="store_true", help="measure only what pytest costs over a run"
    )
    parser.add_argument(
        "--compliance", action="store_true", help="measure only how long a server is checked"
    )
    parser.add_argument(
        "--against",
        metavar="FOLDER",
        type=Path,
        help="compare this version with that of another checkout, in turns",
    )
    options = parser.parse_args()
    if options.compliance:
        check_conformance(options.rounds)
        return
    with tempfile.TemporaryDirectory() as name:
        if options.against:
            compare_versions(Path(name), options.against.resolve(), options.rounds)
            return
        if options.plugins:
            ask_plugins(Path(name), options.rounds)
            return
        if options.pytest:
            run_pytest(Path(name), options.rounds)
            return
        if options.captures:
            judge_captures(Path(name), options.rounds)
            return
        contestants = contestants_of(Path(name), options.peers)
        rounds(contestants, 1)
        report(rounds(contestants, options.rounds))


if __name__ == "__main__":
    main()
