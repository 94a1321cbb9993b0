"""Check mutants of the reference server: random parts of its messages are replaced.

Usage: python3 tests/soak/mutants.py [FROM TO]: numbers of mutants, 1 to 20 unless given. Not part
of the test run: it takes minutes. No mutant may lead to an internal error, or to a run that does
not end.
"""

from __future__ import annotations

import json
import random
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parent.parent / "servers" / "conformance" / "reference_server.py"
SHARE = 0.01
PATIENCE_S = 300
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "::error::x", "\x1b[31mred", "\u202ebidi"),
    *([], {}, [[]], [1], ["a"], {"a": 1}, [None], {"": None}, [{}], "file:///etc/passwd"),
)


def main(first: int, last: int) -> int:
    """The number of mutants that the commands do not survive."""
    bad = 0
    http = ("--url", "http://127.0.0.1:{port}/mcp")
    for number in range(first, last + 1):
        for command in (("compliance", "run", "--total-timeout", "60"), ("security",)):
            for options, server in (((), ()), (http, ("--http", "{port}"))):
                argv = [sys.executable, "-m", "mcptest", *command, "--timeout", "1s", *options]
                argv += ["--", sys.executable, __file__, "serve", str(number), *server]
                ended = subprocess.run(argv, capture_output=True, timeout=PATIENCE_S, check=False)
                is_bad = ended.returncode not in (0, 1, 3)
                bad += is_bad
                what = f"{number} {command[0]} {'http' if options else 'stdio'}"
                sys.stdout.write(f"{what}: exit {ended.returncode}\n")
                if is_bad:
                    sys.stdout.write(ended.stderr.decode("utf-8", "replace"))
    return bad


def serve(number: int) -> None:
    """The reference server, whose messages go through `mutate`."""
    chance = random.Random(number)
    write = json.dumps

    def dumps(value: Any, **options: Any) -> str:
        return write(mutate(value, chance), **options)

    json.dumps = dumps  # type: ignore[assignment]  # the reference server gives no positions
    runpy.run_path(str(REFERENCE), run_name="__main__")


def mutate(value: Any, chance: random.Random) -> Any:
    """The value with some of its members left out or replaced."""
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if chance.random() >= SHARE}
        return {key: mutate(each, chance) for key, each in kept.items()}
    if isinstance(value, list):
        return [mutate(each, chance) for each in value]
    return chance.choice(VALUES) if chance.random() < 2 * SHARE else value


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        mutant = int(sys.argv[2])
        sys.argv[1:3] = []
        serve(mutant)
    else:
        numbers = [int(word) for word in sys.argv[1:3]] or [1, 20]
        sys.exit(main(*numbers) > 0)
