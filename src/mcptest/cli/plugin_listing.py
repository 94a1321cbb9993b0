"""`mcptest plugin list`: everything that extends mcptest here, and who brings it."""

from __future__ import annotations

import shlex

from mcptest.cli.exploring import write_json, write_lines
from mcptest.cli.output import complain, wants_colour
from mcptest.core.errors import UsageError
from mcptest.core.exit_codes import ExitCode
from mcptest.core.record import Record
from mcptest.core.text import visible
from mcptest.matching.registry import builtin_registry
from mcptest.plugins.desk import one_owner_each
from mcptest.plugins.installed import installed_matchers, installed_reporters, owner_of
from mcptest.reporters.registry import REPORTERS
from mcptest.reporters.style import Paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from mcptest.cli.options import Arguments
    from mcptest.core.plan import PluginSpec

__all__ = ["list_plugins"]

_HOW = (
    "none; declare one with --plugin NAME=COMMAND,",
    "or in the config or suite under imports.subprocess_matchers",
)


class _Extensions(Record):
    """What was found, and what of it cannot be used."""

    plugins: tuple[PluginSpec, ...]
    matchers: tuple[tuple[str, str], ...]
    reporters: tuple[tuple[str, str], ...]
    troubles: tuple[UsageError, ...]


def list_plugins(specs: Sequence[PluginSpec], arguments: Arguments) -> int:
    """Show what there is, then what of it cannot be used: a `UsageError` if anything."""
    found = _find(specs)
    if arguments.has("--json") and not found.troubles:
        write_json(_as_json(found))
    elif not arguments.has("--json"):
        paint = Paint(on=wants_colour(arguments.has("--no-color")))
        write_lines(list(_lines(found, paint)))
    for trouble in found.troubles[1:]:
        complain(f"error: {trouble}\n")
    if found.troubles:
        raise found.troubles[0]
    return ExitCode.PASSED


def _find(specs: Sequence[PluginSpec]) -> _Extensions:
    troubles: list[UsageError] = []

    def tried(look: Callable[[], tuple[tuple[str, str], ...]]) -> tuple[tuple[str, str], ...]:
        try:
            return look()
        except UsageError as trouble:
            troubles.append(trouble)
            return ()

    tried(lambda: tuple((name, "") for name in one_owner_each(specs)))
    matchers, reporters = tried(_matchers), tried(_reporters)
    return _Extensions(
        plugins=tuple(specs), matchers=matchers, reporters=reporters, troubles=tuple(troubles)
    )


def _matchers() -> tuple[tuple[str, str], ...]:
    registry = builtin_registry()
    found = installed_matchers()
    for matcher in found:
        registry.add(matcher)
    return tuple((matcher.name, matcher.owner) for matcher in found)


def _reporters() -> tuple[tuple[str, str], ...]:
    return tuple((name, owner_of(point)) for name, point in installed_reporters(REPORTERS).items())


def _as_json(found: _Extensions) -> dict[str, Any]:
    def owned(pairs: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        return [{"name": name, "owner": owner} for name, owner in pairs]

    return {
        "plugins": [
            {
                "name": spec.name,
                "command": list(spec.command),
                "cwd": spec.cwd,
                "call_timeout_ms": round(spec.call_timeout_s * 1000, 3),
                "owner": spec.owner,
            }
            for spec in found.plugins
        ],
        "matchers": owned(found.matchers),
        "reporters": owned(found.reporters),
    }


def _lines(found: _Extensions, paint: Paint) -> Iterator[str]:
    yield paint.bold(f"plugins ({len(found.plugins)})")
    for spec in found.plugins:
        yield f"  {paint.green(spec.name)}"
        yield f"    {visible(shlex.join(spec.command))}"
        yield f"    {paint.dim(f'declared by {visible(spec.owner)}')}"
    if not found.plugins:
        yield from (f"  {paint.dim(line)}" for line in _HOW)
    for kind, pairs in (("matchers", found.matchers), ("reporters", found.reporters)):
        yield ""
        yield paint.bold(f"{kind} of installed packages ({len(pairs)})")
        for name, owner in pairs:
            yield f"  {paint.green(visible(name))}"
            yield f"    {paint.dim(f'brought by {visible(owner)}')}"
