"""`mcptest plugin`: call a plugin by hand and show its answer, or list what extends mcptest."""

from __future__ import annotations

import os
import shlex
import time

from mcptest.cli.one_server import tell_fault, write_json, write_lines
from mcptest.cli.options import Command, Option
from mcptest.cli.output import StandardOutput, hide_secrets, wants_colour, write_stderr
from mcptest.cli.server_options import PLUGIN, plugins, timeout_s
from mcptest.cli.suite_server import find_suite, plugins_of_suite
from mcptest.core.diagnostics import closest, render_diagnostic
from mcptest.core.errors import FormatError, InterruptedRunError, UsageError
from mcptest.core.record import ABSENT, Record
from mcptest.core.results import Evidence, ExitCode, Fault
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import visible
from mcptest.engine.loading import PlaceholderEnvironment, Servers, Wanted
from mcptest.matching.registry import builtin_registry
from mcptest.plugins import host as protocol
from mcptest.plugins.host import DEFAULT_CALL_TIMEOUT_S, HostError, PluginHost
from mcptest.plugins.installed import installed_matchers, installed_reporters, owner_of
from mcptest.plugins.manager import index_plugins
from mcptest.reporters.registry import REPORTERS
from mcptest.reporters.style import Paint, render_duration
from mcptest.transport.process.guardian import Guardian
from mcptest.transport.process.signals import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from mcptest.cli.options import Arguments
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.plan import PluginSpec
    from mcptest.plugins.host import PluginResponse

    Redact = Callable[[str], str]


# `mcptest plugin list`: everything that extends mcptest here, and who brings it.


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
        write_stderr(f"error: {trouble}\n")
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

    tried(lambda: tuple((name, "") for name in index_plugins(specs)))
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


# What each of the deeds has no use for.
_DEEDS = {"call": ("--no-color",), "list": ("--timeout",)}

_MEANINGS = {
    protocol.PARSE_ERROR: "parse error",
    protocol.INVALID_RESPONSE: "invalid",
    protocol.METHOD_NOT_FOUND: "method not found",
    protocol.INVALID_PARAMS: "invalid params",
    protocol.INTERNAL_ERROR: "internal error",
}


def plugin(arguments: Arguments) -> int:
    """Do what the first word says; the exit status."""
    deed, *words = arguments.paths or ("",)
    if deed not in _DEEDS:
        raise _unknown_deed(deed)
    for option in _DEEDS[deed]:
        if arguments.has(option):
            raise UsageError(f"mcptest plugin {deed} has no use for {option}")
    if deed == "list":
        if words:
            raise UsageError(f"mcptest plugin list takes no {visible(words[0])!r}")
        return list_plugins(_declared(arguments)[0], arguments)
    name, method, params = _request(words)
    specs, secrets = _declared(arguments)
    spec = _named(name, index_plugins(specs))
    limit_s = timeout_s(arguments) or spec.call_timeout_s
    hide_secrets(secrets)
    return _call(spec.but(call_timeout_s=limit_s), method, params, arguments, redactor(secrets))


def _unknown_deed(word: str) -> UsageError:
    if not word:
        message = "mcptest plugin needs a word that says what to do: call or list"
        return UsageError(message, "for example mcptest plugin call geo near '{\"actual\": 1}'")
    near = closest(word, _DEEDS)
    meant = f"; did you mean {near!r}?" if near else ""
    message = f"mcptest plugin cannot do {visible(word)!r}{meant}"
    return UsageError(message, "mcptest plugin --help shows what it can do")


# What is called


def _request(words: Sequence[str]) -> tuple[str, str, object]:
    """The plugin, the method and the params on the command line."""
    if len(words) < 2:
        name, _, method = words[0].partition(".") if words else ("NAME", "", "")
        example = f"mcptest plugin call {visible(name)} {visible(method) or 'METHOD'}"
        what = "method" if words else "plugin"
        raise UsageError(f"which {what}?", f"write {example}, and the params as JSON")
    name, method, *rest = words
    if len(rest) > 1:
        message = f"the params are one word of JSON; {visible(rest[1])!r} is one too many"
        raise UsageError(message, "in a shell, put them between single quotes")
    return name, method, _params(rest[0]) if rest else ABSENT


def _params(text: str) -> object:
    try:
        return parse_json(text)
    except NotJsonError as error:
        where = f" at character {error.column:,}" if error.column else ""
        message = f"the params are not JSON: {visible(error.reason)}{where}"
        raise UsageError(message, "in a shell, put them between single quotes") from None


def _declared(arguments: Arguments) -> tuple[tuple[PluginSpec, ...], tuple[str, ...]]:
    """The plugins that the command line, the config and the suite declare, and their secrets."""
    mistakes: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    config = arguments.last("--config")
    suite = find_suite(config)
    asked = Wanted(config="" if suite else config, plugins=plugins(arguments))
    # The server that a config is about is not started, so it need not be complete.
    servers = Servers(asked, PlaceholderEnvironment(os.environ), mistakes, warnings)
    # Whoever names a suite means it alone; in this folder its tests may ask those of both.
    found = asked.plugins if config and suite else servers.plugins_of("")
    folders = asked.folders()
    if mistakes:
        raise FormatError(folders.quotable(mistakes))
    own, secrets = plugins_of_suite(suite, is_found=not config) if suite else ((), ())
    for warning in folders.quotable(warnings):
        write_stderr(render_diagnostic(warning) + "\n\n")
    return (*found, *own), (*servers.secrets_of(""), *secrets)


def _named(name: str, specs: Mapping[str, PluginSpec]) -> PluginSpec:
    if name in specs:
        return specs[name]
    meant = closest(name, specs)
    question = f"; did you mean {meant!r}?" if meant else ""
    there = f"; there are: {', '.join(specs)}" if specs and not meant else ""
    raise UsageError(
        f"there is no plugin {visible(name)!r}{question or there}",
        "declare it with --plugin NAME=COMMAND, or in the config or suite under "
        "imports.subprocess_matchers",
    )


# The call


def _call(
    spec: PluginSpec, method: str, params: object, arguments: Arguments, clean: Redact
) -> int:
    """Start the plugin, call it once, and end it whatever happens; the exit status."""
    with Interrupts() as interrupts:
        guardian = Guardian(adopts_orphans=True)
        interrupts.on_second = guardian.kill_all
        host = PluginHost(
            spec.command,
            spec.call_timeout_s,
            cwd=spec.cwd,
            guardian=guardian,
            interrupts=interrupts,
            # Whoever calls by hand sees the same answer every time.
            first_id=1,
        )
        try:
            return _ask(host, spec, method, params, arguments, clean)
        except InterruptedRunError:
            raise InterruptedRunError("interrupted; the plugin was stopped") from None
        finally:
            _close(host, spec, at_once=bool(interrupts.count))
            guardian.dismiss()


def _ask(
    host: PluginHost,
    spec: PluginSpec,
    method: str,
    params: object,
    arguments: Arguments,
    clean: Redact,
) -> int:
    began = time.monotonic()
    try:
        response = host.call(method, params)
    except HostError as error:
        tell_fault(redact_all(_fault(spec, error), clean), arguments)
        _tell_stderr(host.stderr)
        return ExitCode.FAILED
    took_s = time.monotonic() - began
    write_json(redact_all(_shown(response), clean))
    # It is there to be read while the plugin takes its time to end.
    StandardOutput().flush()
    _tell_stderr(host.stderr)
    how = f" with an error: {_refusal(response)}" if response.error else ""
    about = f"{spec.name} answered {visible(method)} in {render_duration(took_s)}, start included"
    write_stderr((f"error: {spec.name} answered{how}\n" if how else "") + f"{about}\n")
    return ExitCode.FAILED if response.error else ExitCode.PASSED


def _close(host: PluginHost, spec: PluginSpec, *, at_once: bool) -> None:
    # Whoever waits longer for an answer does not want to wait longer for the end.
    patience_s = host.call_timeout = min(host.call_timeout, DEFAULT_CALL_TIMEOUT_S)
    began = time.monotonic()
    host.close(at_once=at_once)
    if not at_once and time.monotonic() - began >= patience_s:
        told = f"{spec.name} did not end within {patience_s:g} s of the end of its input"
        write_stderr(f"note: {told}, and was killed\n")


def _shown(response: PluginResponse) -> dict[str, Any]:
    """The answer as it goes over the wire."""
    if response.error is None:
        return {"id": response.id, "result": response.result}
    error: dict[str, Any] = {"code": response.error.code, "message": response.error.message}
    if response.error.data is not None:
        error["data"] = response.error.data
    return {"id": response.id, "error": error}


def _refusal(response: PluginResponse) -> str:
    assert response.error is not None
    meaning = _MEANINGS.get(response.error.code)
    code = f"code {response.error.code}{f' ({meaning})' if meaning else ''}"
    return f"{code}, {visible(response.error.message)}"


def _fault(spec: PluginSpec, error: HostError) -> Fault:
    """The failure in the words of a run."""
    return Fault(
        kind="plugin_failed",
        message=f"the plugin {spec.name!r} failed ({type(error).__name__}): {error.message}",
        hint=error.hint,
        evidence=Evidence(command=spec.command, cwd=spec.cwd),
    )


def _tell_stderr(text: str) -> None:
    """What the plugin wrote to stderr, each line behind a bar: none can pass for ours."""
    label = "stderr"
    for line in text.removesuffix("\n").split("\n") if text else ():
        write_stderr(f"  {label:<8}  | {visible(line)}\n")
        label = ""


COMMAND = Command(
    name="mcptest plugin",
    summary="Call a plugin and show its answer, or list what extends mcptest.",
    usage="mcptest plugin (call NAME METHOD [PARAMS] | list) [options]",
    details="call starts the plugin, sends one request (PARAMS is JSON; left out, there are none), "
    "prints the answer as one line of JSON and ends the plugin. A matcher is given an object: "
    "the value as actual, the ARG of the pattern as expected, and the path of the value. list "
    "shows the plugins in reach, and the matchers and reporters of installed Python packages. "
    "Exit status 0: a result; 1: an error in its place, or no answer; 2: nothing was called.",
    options=(
        PLUGIN,
        Option(
            names=("-c", "--config"),
            value="FILE",
            help="a config or a suite, whose imports to use; default: conductor.config.json and "
            "mcptest.yaml in this folder",
        ),
        Option(
            names=("--timeout",),
            value="TIME",
            help='call: longest wait for the answer, as 500, "500ms" or "2s"; default: what the '
            "config says, else 5s",
        ),
        Option(
            names=("--json",),
            help="list: print one JSON object; call: print one also when there is no answer",
        ),
        Option(
            names=("--no-color",),
            help="list: no colour; NO_COLOR in the environment does the same",
        ),
    ),
    examples=(
        "mcptest plugin call echo ping --plugin echo='python3 echo.py'",
        "mcptest plugin call geo near \\",
        '    \'{"actual": {"lat": 48.86, "lon": 2.34}, "expected": "48.85,2.35,10"}\'',
        "mcptest plugin list",
    ),
    run=plugin,
)
