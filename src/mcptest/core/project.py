"""Where the project is published: repository, documentation site, package index.

`[project.urls]` in pyproject.toml has the same addresses; `tests/test_packaging.py` compares them.
"""

from __future__ import annotations

__all__ = ["REPOSITORY", "REQUIREMENT", "SITE", "schema_comment", "schema_url"]

REPOSITORY = "https://github.com/mcptest/mcptest"
SITE = "https://mcptest.github.io/mcptest/"

# What pip installs. After the first release on the package index this is "mcptest"; the test above
# lists the pages that change with it.
REQUIREMENT = f"mcptest @ git+{REPOSITORY}"


def schema_url(name: str) -> str:
    """The id of a schema, which is also its address on the documentation site."""
    return f"{SITE}schemas/{name}.schema.json"


def schema_comment(name: str) -> str:
    """The first line of a YAML file, by which editors find the schema of its format."""
    return f"# yaml-language-server: $schema={schema_url(name)}\n"
