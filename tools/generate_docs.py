"""Write the pages that come from code: `python -m tools.generate_docs [--check]`."""

from __future__ import annotations

import sys
from pathlib import Path

from mcptest.cli.conductor import COMMAND as CONDUCTOR
from mcptest.cli.main import COMMANDS, load_command
from mcptest.cli.options import render_help
from mcptest.matching.builtins import builtin_registry

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Made from the code by `python -m tools.generate_docs`; do not edit. -->\n"


def command_page() -> str:
    """Every command with its help."""
    parts = [NOTE, "# Commands\n", "`mcptest --help` and `mcptest COMMAND --help` say the same.\n"]
    for command in (*map(load_command, COMMANDS), CONDUCTOR):
        parts.append(f"## {command.name}\n\n```text\n{render_help(command)}```\n")
    return "\n".join(parts)


def matcher_page() -> str:
    """Every matcher and directive of the registry."""
    registry = builtin_registry()
    parts = [
        NOTE,
        "# Matchers\n",
        "A text that begins with `match:` is a pattern. `match:not:…` negates any of them.\n"
        "`match:TEXT` with no known name searches the text for a regular expression.\n"
        "A misspelt name is an error when the file is loaded, never a pattern by accident.\n",
        "## Patterns, as values\n",
        "| pattern | passes when | for example |\n|---|---|---|",
    ]
    for matcher in registry:
        name = ":".join([matcher.name, *matcher.parameters])
        parts.append(f"| `{name}` | {_cell(matcher.summary)} | `{_cell(matcher.example)}` |")
    parts += ["\n## Directives, as keys\n", "| key | meaning | for example |\n|---|---|---|"]
    for directive in registry.directives.values():
        summary, example = _cell(directive.summary), _cell(directive.example)
        parts.append(f"| `match:{directive.name}` | {summary} | `{example}` |")
    parts.append("\nKeys beside a directive are checked too: what is written must hold.")
    return "\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


PAGES = {"docs/commands.md": command_page, "docs/matchers.md": matcher_page}


def main() -> int:
    stale = []
    for name, build in PAGES.items():
        path = ROOT / name
        fresh = build()
        if not path.exists() or path.read_text(encoding="utf-8") != fresh:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(fresh, encoding="utf-8")
    print("\n".join(stale) or "up to date")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
