"""`python -m bench`: what a run costs, each figure a ratio measured in this very run.

Every round measures all contestants one after the other, so that a slow moment of the
machine hits all of them; medians are compared. Not a test: nothing here fails a build.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.suites import build_server, python_environment, requests_of, write_suite

PYTHON = sys.executable
ENVIRONMENT = python_environment()


def timed(command: list[str], cwd: Path | None = None) -> tuple[float, float]:
    """Wall time in ms and peak memory in MB of one command, its children not counted."""
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=cwd, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return (time.perf_counter() - began) * 1000, usage.ru_maxrss / 1024


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
    for name, (ms, mb) in found.items():
        memory = f"{mb:8.1f} MB" if mb else ""
        print(f"  {name:<40} {ms:9.1f} ms {memory}")
    ms = {name: figures[0] for name, figures in found.items()}
    mb = {name: figures[1] for name, figures in found.items()}
    one, thousand, many = (ms[f"mcptest, {n:,} tests"] for n in (1, 1000, 5000))
    floor = (ms["raw pipes, 5,000"] - ms["raw pipes, 1"]) / 4999
    marginal = (many - one) / 4999
    growth_kb = (mb["mcptest, 5,000 tests"] - mb["mcptest, 1 tests"]) * 1024 / 4999
    print("\nratios")
    print(verdict("start-up: 1 test over python -c pass", one / ms["python -c pass"], 5))
    print(verdict("growth: 5,000 tests over 1,000", many / thousand, 5.3))
    print(verdict("memory growth per test, KB", growth_kb, 8))
    print(f"  {'marginal cost per test over raw pipes':<58} {marginal / floor:7.2f}")
    print(f"  {'marginal cost per test, µs (raw pipes: ' + f'{floor * 1000:.0f})':<58} "
          f"{marginal * 1000:7.0f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="how often each is measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = build_server(folder)
        command = [PYTHON, "-m", "mcptest", "run", "--reporter", "terminal"]
        suites = {n: write_suite(folder, n, server) for n in (1, 1000, 5000)}
        contestants: dict[str, Callable[[], tuple[float, float]]] = {
            "python -c pass": lambda: timed([PYTHON, "-c", "pass"]),
            "raw pipes, 1": lambda: raw_floor(server, 1),
            "raw pipes, 5,000": lambda: raw_floor(server, 5000),
        }
        for n, place in suites.items():
            contestants[f"mcptest, {n:,} tests"] = lambda place=place: timed(command, place)  # type: ignore[misc]  # a lambda with a bound default
        rounds(contestants, 1)
        report(rounds(contestants, options.rounds))


if __name__ == "__main__":
    main()
