"""`match:plugin:NAME.METHOD:ARG`: a value that a program of the user accepts.

The program is asked through `Plugins`; how it is started is not known here. A program that
fails, or whose answer is not a verdict, is a `CheckError`: the test neither passes nor fails.
"""

from __future__ import annotations

from mcptest.core.diagnostics import closest
from mcptest.core.errors import CheckError
from mcptest.core.record import Record
from mcptest.core.results import Fault
from mcptest.core.strict_json import dump_json
from mcptest.core.text import visible
from mcptest.matching.registry import Matcher, Miss, ParameterError, UnknownPluginError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.matching.registry import Plugins

__all__ = ["MATCHERS", "PluginUse", "plugin_matcher"]

_MAX_QUOTED = 200
_MAX_MESSAGE = 1000


class PluginUse(Record):
    """Which method of which plugin judges, and what it is given beside the value."""

    name: str
    method: str
    expected: object = None


def plugin_matcher(plugins: Plugins | None) -> Matcher:
    """The matcher that asks one of these plugins."""

    def parse(target: str, expected: str | None = None) -> PluginUse:
        name, dot, method = target.partition(".")
        if not dot or not name or not method:
            raise ParameterError(f"takes NAME.METHOD, not {visible(target)!r}")
        if plugins is None:
            raise ParameterError("cannot be used here", "only what is run can ask plugins")
        if name not in plugins.names:
            raise _unknown(name, plugins.names)
        return PluginUse(name=name, method=method, expected=expected)

    def check(use: PluginUse, actual: object, path: str = "") -> Miss | None:
        assert plugins is not None, "without plugins nothing is parsed"
        params = {"actual": actual, "expected": use.expected, "path": path}
        return _verdict(use, plugins.ask(use.name, use.method, params))

    return Matcher(
        name="plugin",
        family="Plugins",
        parameters=("NAME.METHOD", "ARG"),
        optional=1,
        summary="The plugin NAME finds the value right: its METHOD is given the value, its path "
        "and ARG, which may be left out. See [plugins](plugins.md).",
        example="match:plugin:geo.near:48.85,2.35,10",
        passes=({"lat": 48.86, "lon": 2.34},),
        fails=({"lat": 59.9, "lon": 10.7}, "Paris", None),
        parse=parse,
        wants=_wants,
        check=check,
        is_remote=True,
    )


def _unknown(name: str, names: Sequence[str]) -> UnknownPluginError:
    meant = closest(name, names)
    question = f"; did you mean {meant!r}?" if meant else ""
    there = f"; there are: {', '.join(names)}" if names and not meant else ""
    return UnknownPluginError(
        f"finds no plugin {visible(name)!r}{question or there}",
        f"declare it with --plugin {visible(name)}=COMMAND, or under "
        "imports.subprocess_matchers in the config or the suite",
    )


def _wants(use: PluginUse) -> str:
    given = "" if use.expected is None else f" for {_cut(dump_json(use.expected), _MAX_QUOTED)}"
    return f"what the plugin {use.name} accepts as {visible(use.method)}{given}"


def _verdict(use: PluginUse, answer: object) -> Miss | None:
    passes = answer.get("pass") if isinstance(answer, dict) else None
    # Where there is nothing to say, some languages say null.
    message = answer.get("message") if isinstance(answer, dict) else None
    message = "" if message is None else message
    if not isinstance(passes, bool) or not isinstance(message, str):
        raise CheckError(_no_verdict(use, answer))
    if passes:
        return None
    return Miss(why=f"it says: {_cut(message, _MAX_MESSAGE)}" if message else "it says no")


def _no_verdict(use: PluginUse, answer: object) -> Fault:
    shown = visible(_cut(dump_json(answer), _MAX_QUOTED))
    return Fault(
        kind="plugin_failed",
        message=f"the plugin {use.name!r} answered {visible(use.method)!r} with {shown}, "
        "which is not a verdict",
        hint='a verdict is {"pass": true} or {"pass": false, "message": "why"}',
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


MATCHERS = (plugin_matcher(None).but(bind=lambda _, services: plugin_matcher(services.plugins)),)
