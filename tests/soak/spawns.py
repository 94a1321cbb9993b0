"""Start and stop servers for a long time; nothing may grow. Row 97 of the fault catalogue.

Usage: python3 tests/soak/spawns.py [COUNT], 10,000 unless it is given. Not part of the test
run: it takes minutes. Every tenth server gets a whole session, the others end at once.
"""

from __future__ import annotations

import resource
import sys
import threading
import time
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS / "faults"), str(TESTS / "servers")]

from staging import has_children, open_descriptors, plan_for, spec_for, stage  # noqa: E402

from mcptest.core.plan import ServerSpec  # noqa: E402  # as above
from mcptest.engine.run import RunOptions, run_plan  # noqa: E402  # as above
from mcptest.transport.process.stopping import list_marked  # noqa: E402  # as above

# What the allocator may keep for itself over any number of servers.
ALLOWED_GROWTH_KIB = 20_000
WARM_UP = 100


def main(count: int) -> int:
    """Zero when every counter is where it was after the first hundred servers."""
    short = plan_for(ServerSpec(name="short", command=("/bin/true",)))
    whole = plan_for(spec_for("good"))
    options = RunOptions(started_at="")
    before: dict[str, int] = {}
    began = time.monotonic()
    with stage() as launcher:
        for number in range(WARM_UP + count):
            if number == WARM_UP:
                before = counters()
            run_plan(short if number % 10 else whole, options, launcher, lambda _: None)
        after = counters()
        marked = list_marked(launcher.guardian.mark)
    grown = {name: after[name] - before[name] for name in before}
    sys.stdout.write(f"{count:,} servers in {time.monotonic() - began:.1f} s; grown: {grown}\n")
    memory = grown.pop("memory_kib")
    leaked = any(grown.values()) or marked or has_children() or memory > ALLOWED_GROWTH_KIB
    return 1 if leaked else 0


def counters() -> dict[str, int]:
    return {
        "descriptors": open_descriptors(),
        "threads": threading.active_count(),
        "memory_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
