"""The test file that a survey comes to: YAML with comments, whole and valid.

Probes and a description of the server go in, the text of a `*.test.mcp.yml` comes out. Requests
are written in full, so that other tools which read the format can run the file as well.
"""

from __future__ import annotations

import re

from mcptest.formats.yaml_writer import Commented, render_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest.explore.discover import Probe

__all__ = ["hidden_env", "render_suite"]

_HEAD = (
    "Written by mcptest discover. Whatever is not skipped passed when it was written, so from\n"
    "here on this file says when the server changes. Values are expected by their type only:\n"
    "put in the ones that matter. A skipped test says why; take its skip line out to run it.\n"
    "Tools that read this format and do not know skip would run those tests too."
)
_SECRET_NAME = r"(?i)token|secret|passw|key|credential|auth|cookie|session|dsn|private"


def render_suite(
    description: str, server: Mapping[str, object] | None, probes: Sequence[Probe]
) -> str:
    """The text of the file. Ids count from 1: each test has one of its own."""
    document: dict[str, object] = {"description": description}
    if server is not None:
        document["server"] = dict(server)
    document["tests"] = [_test(probe, id) for id, probe in enumerate(probes, 1)]
    return render_yaml(Commented(comments=(_HEAD,), value=document))


def _test(probe: Probe, id: int) -> object:
    request = {"jsonrpc": "2.0", "id": id, "method": probe.method, "params": probe.params}
    expected = {"response": {"jsonrpc": "2.0", "id": id, **probe.response}}
    test: dict[str, object] = {"it": probe.name}
    if probe.skip:
        test["skip"] = probe.skip
    test |= {"request": request, "expect": expected}
    return Commented(comments=probe.remarks, value=test)


def hidden_env(env: Mapping[str, object]) -> dict[str, object]:
    """The variables of a server, with those that look like secrets as references.

    A value that already is one, `${NAME}`, stays as it is: it says nothing.
    """
    return {
        name: f"${{{name}}}" if re.search(_SECRET_NAME, name) and "${" not in str(value) else value
        for name, value in env.items()
    }
