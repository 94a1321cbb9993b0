"""Random suites against random servers for a long time; nothing may pass that was not answered.

Usage: python3 tests/soak/pairs.py [COUNT [SEED]], 500 from seed 0 unless they are given. Not part
of the test run: it takes minutes. A scenario that fails prints its seed.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "faults"))

from pairing import (  # found by the line above
    LONG_S,
    SHORT_S,
    explain,
    may_pass,
    passed_in,
    random_scenario,
    run,
)

# In one of this many scenarios the server is correct, and every test must pass.
KIND_EVERY = 10


def main(count: int, first: int) -> int:
    """How many scenarios went wrong."""
    wrong = 0
    for seed in range(first, first + count):
        found = problem(seed)
        if found:
            wrong += 1
            sys.stdout.write(f"seed {seed}: {found}\n\n")
    sys.stdout.write(f"{count:,} scenarios from seed {first}; {wrong:,} went wrong\n")
    return min(wrong, 1)


def problem(seed: int) -> str:
    """What is wrong with the scenario of this seed, "" when nothing is."""
    is_hostile = seed % KIND_EVERY != 0
    scenario = random_scenario(random.Random(seed).choice, is_hostile=is_hostile)
    with tempfile.TemporaryDirectory() as folder:
        limit_s = SHORT_S if is_hostile else LONG_S
        report, log = run(Path(folder), scenario, limit_s)
    passed, allowed = passed_in(report), may_pass(scenario, log, limit_s)
    names = {test.tag for test in scenario.tests}
    if passed - allowed:
        return f"{sorted(passed - allowed)} passed\n{explain(scenario, report, log)}"
    if not is_hostile and passed != names:
        return f"{sorted(names - passed)} did not pass\n{explain(scenario, report, log)}"
    return ""


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(given[0] if given else 500, given[1] if given[1:] else 0))
