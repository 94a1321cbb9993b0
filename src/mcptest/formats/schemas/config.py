"""The schema of `conductor.config.json`."""

from __future__ import annotations

from mcptest.formats.schemas.servers import config_server, plugins
from mcptest.formats.schemas.shape import closed, document, said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.schemas.shape import Schema

__all__ = ["config_schema"]

_EXAMPLE = {"name": "files", "command": "python3", "args": ["server.py", "test-data"]}


def config_schema() -> Schema:
    """What may stand in a config."""
    members = {"subprocess_matchers": plugins()}
    imports = said("Plugins for the test files.", closed(tuple(members), members))
    body = {**config_server({"imports": imports}), "examples": [_EXAMPLE]}
    description = "How the server under test is started: conductor.config.json."
    return document("config", "mcptest config", description, body, {})
