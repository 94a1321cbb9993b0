"""What asking a plugin costs: the same tests with a pattern of ours and with one of a plugin."""

from __future__ import annotations

import json
import sys
from pathlib import Path

__all__ = ["CALLS", "IN_PROCESS", "OVER_PIPES", "report_plugins", "write_plugin_suites"]

CALLS = 2000
IN_PROCESS, OVER_PIPES = "match:contains:hello", "match:plugin:instant.yes:hello"

# The quickest plugin that Python can be: what is measured is the way there and back.
PLUGIN = """\
import json, sys
for line in sys.stdin.buffer:
    answer = {"id": json.loads(line)["id"], "result": {"pass": True}}
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""

TEST = """\
  - it: "case {n} echoes"
    request:
      jsonrpc: "2.0"
      id: "t-{n}"
      method: "tools/call"
      params: {{ name: "echo", arguments: {{ text: "hello {n}" }} }}
    expect:
      response:
        jsonrpc: "2.0"
        id: "t-{n}"
        result: {{ content: [{{ type: "text", text: "{pattern}" }}], isError: false }}
"""


def write_plugin_suites(folder: Path, server: list[str]) -> dict[tuple[str, int], Path]:
    """A folder for each pattern and number of tests, with the config that runs it."""
    plugin = folder / "instant.py"
    plugin.write_text(PLUGIN, encoding="utf-8")
    command = [sys.executable, "-S", "-E", str(plugin)]
    config = {
        "name": "echo",
        "command": server[0],
        "args": server[1:],
        "imports": {"subprocess_matchers": {"instant": {"command": command}}},
    }
    places = {}
    for kind, pattern in enumerate((IN_PROCESS, OVER_PIPES)):
        for tests in (1, CALLS):
            place = folder / f"plugins-{kind}-{tests}"
            place.mkdir()
            body = "".join(TEST.format(n=n, pattern=pattern) for n in range(tests))
            head = f'description: "{tests} tests"\ntests:\n'
            (place / "echo.test.mcp.yml").write_text(head + body, encoding="utf-8")
            (place / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
            places[pattern, tests] = place
    return places


def report_plugins(ms: dict[tuple[str, int], float]) -> float:
    """Print what a test costs with each pattern; how many µs a call of the plugin adds."""
    costs = {
        pattern: (ms[pattern, CALLS] - ms[pattern, 1]) / (CALLS - 1) * 1000
        for pattern in (IN_PROCESS, OVER_PIPES)
    }
    for pattern, cost in costs.items():
        print(f"  {'each further test, ' + pattern:<58} {cost:7.0f} µs")
    starting = ms[OVER_PIPES, 1] - ms[IN_PROCESS, 1]
    print(f"  {'starting the plugin and its first call':<58} {starting:7.1f} ms")
    return costs[OVER_PIPES] - costs[IN_PROCESS]
