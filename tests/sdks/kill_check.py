"""Kill an SDK's process while its server hangs, again and again: nothing may be left.

    python tests/sdks/kill_check.py go             20 times each way
    python tests/sdks/kill_check.py go --times 3

The adapter of the SDK connects with the real binary and calls a tool that never answers. Then the
adapter, or its whole process group, gets SIGKILL, SIGTERM or SIGINT. After 5 s neither it, nor the
binary, nor the server may be there.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kit_judge import ROOT, Sdk, read_sdks

SERVER = ROOT / "tests" / "servers" / "suite_server.py"
START_S = 30.0
GONE_S = 5.0
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def processes_with(mark: str) -> list[int]:
    """The processes that have this text on their command line, without those that are dead."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if mark.encode() not in (folder / "cmdline").read_bytes():
                continue
            state = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (OSError, ValueError):
            continue
        if state != "Z":
            found.append(int(folder.name))
    return found


def kill_once(sdk: Sdk, number: signal.Signals, *, is_group: bool, folder: Path) -> str:
    """What was left of it, "" if nothing was."""
    mark = f"kill{os.getpid()}x{time.monotonic_ns()}"
    journal = folder / mark
    scenario = {
        "name": mark,
        "open": "connect",
        "command": [sys.executable, "-S", "-E", str(SERVER), mark],
        "do": [{"call": {"tool": f"{mark}hang"}}],
    }
    binary = f"{sys.executable} -P -m mcptest"
    adapter = subprocess.Popen(
        sdk.adapter,
        cwd=sdk.folder,
        env={**os.environ, **sdk.environment, "MCPTEST_BIN": binary, "JOURNAL": str(journal)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert adapter.stdin
    adapter.stdin.write(json.dumps(scenario).encode() + b"\n")
    adapter.stdin.flush()
    deadline = time.monotonic() + START_S
    while not (journal.exists() and "hang" in journal.read_text(encoding="utf-8")):
        if adapter.poll() is not None or time.monotonic() > deadline:
            adapter.kill()
            return "the tool was never called"
        time.sleep(0.02)
    if is_group:
        os.killpg(adapter.pid, number)
    else:
        adapter.send_signal(number)
    # A language may turn Ctrl-C into the end of the call; the adapter then waits for the next row.
    adapter.stdin.close()
    deadline = time.monotonic() + GONE_S
    while adapter.poll() is None or processes_with(mark):
        if time.monotonic() > deadline:
            left = processes_with(mark)
            names = ", ".join(f"{pid}: {_command(pid)}" for pid in left) or "the adapter itself"
            for pid in [*left, adapter.pid]:
                if pid in left or adapter.poll() is None:
                    os.kill(pid, signal.SIGKILL)
            adapter.wait()
            return f"after {GONE_S:g} s there was still: {names}"
        time.sleep(0.02)
    return ""


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "?"
    return raw.replace(b"\0", b" ").decode("utf-8", "replace")[:120]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    sdks = read_sdks()
    parser.add_argument("sdk", choices=sdks)
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    # As in the judge: adapters must not inherit that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="kill-") as name:
        for number in SIGNALS:
            for is_group in (False, True):
                whom = "group" if is_group else "process"
                for _ in range(given.times):
                    left = kill_once(sdks[given.sdk], number, is_group=is_group, folder=Path(name))
                    failures += bool(left)
                    if left:
                        say(f"{number.name} to the {whom}: {left}")
                say(f"{given.sdk}: {number.name} to the {whom}: {given.times} times")
    say(f"{given.sdk}: {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
