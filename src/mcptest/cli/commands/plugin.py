"""`mcptest plugin`: call a plugin and show its answer, or list plugins and extensions."""

from __future__ import annotations

import os
import shlex
import time

from mcptest.cli.one_server import print_fault, write_json, write_lines
from mcptest.cli.options import COLOR_OPTIONS, Command, Option, parse_color
from mcptest.cli.output import StandardOutput, hide_secrets, wants_colour, write_stderr
from mcptest.cli.shared_options import PLUGIN_OPTION, find_suite, parse_plugins, parse_timeout_s
from mcptest.core.diagnostics import closest, render_diagnostic
from mcptest.core.errors import FormatError, InterruptedRunError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.secrets import is_secret, redact_all, redactor
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.engine.loading import Diagnostics, PlaceholderEnvironment, Servers, Wanted
from mcptest.engine.server import launching
from mcptest.engine.test_files import SuiteFolders, read_text
from mcptest.formats.fields import diagnose
from mcptest.formats.suite.loader import read_parts
from mcptest.matching.registry import builtin_registry
from mcptest.plugins.host import (
    DEFAULT_CALL_TIMEOUT_S,
    HostError,
    PluginHost,
    describe_failure,
    index_plugins,
)
from mcptest.plugins.installed import installed_matchers, installed_reporters, owner_of
from mcptest.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)
from mcptest.reporters.registry import REPORTERS
from mcptest.reporters.style import Paint, render_duration
from mcptest.transport import refuse_windows
from mcptest.transport.process.signals import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from mcptest.cli.options import Arguments
    from mcptest.core.plan import PluginSpec
    from mcptest.plugins.host import PluginResponse

    Redact = Callable[[str], str]

__all__ = ["COMMAND", "plugin"]

_HOW = (
    "none; declare one with --plugin NAME=COMMAND,",
    "or in the config or suite under imports.subprocess_matchers",
)


class _Extensions(Record):
    """The plugins and extensions that were found, and the errors about them."""

    plugins: tuple[PluginSpec, ...]
    matchers: tuple[tuple[str, str], ...]
    reporters: tuple[tuple[str, str], ...]
    errors: tuple[UsageError, ...]


def _list(specs: Sequence[PluginSpec], arguments: Arguments) -> int:
    """Show plugins and extensions; raise a `UsageError` if one of them cannot be used."""
    found = _find(specs)
    if arguments.has("--json") and not found.errors:
        write_json(_as_json(found))
    elif not arguments.has("--json"):
        paint = Paint(on=wants_colour(parse_color(arguments)))
        write_lines(list(_lines(found, paint)))
    for error in found.errors[1:]:
        write_stderr(f"error: {error}\n")
    if found.errors:
        raise found.errors[0]
    return ExitCode.PASSED


def _find(specs: Sequence[PluginSpec]) -> _Extensions:
    errors: list[UsageError] = []

    def attempt(look: Callable[[], tuple[tuple[str, str], ...]]) -> tuple[tuple[str, str], ...]:
        try:
            return look()
        except UsageError as error:
            errors.append(error)
            return ()

    def find_matchers() -> tuple[tuple[str, str], ...]:
        registry = builtin_registry()
        found = installed_matchers()
        for matcher in found:
            registry.add(matcher)
        return tuple((matcher.name, matcher.owner) for matcher in found)

    def find_reporters() -> tuple[tuple[str, str], ...]:
        points = installed_reporters(REPORTERS).items()
        return tuple((name, owner_of(point)) for name, point in points)

    attempt(lambda: tuple((name, "") for name in index_plugins(specs)))
    matchers, reporters = attempt(find_matchers), attempt(find_reporters)
    return _Extensions(
        plugins=tuple(specs), matchers=matchers, reporters=reporters, errors=tuple(errors)
    )


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
            yield f"    {paint.dim(f'provided by {visible(owner)}')}"


# The subcommands, and the options that each does not take.
_SUBCOMMANDS = {"call": ("--color", "--no-color"), "list": ("--timeout",)}

_MEANINGS = {
    PARSE_ERROR: "parse error",
    INVALID_REQUEST: "invalid",
    METHOD_NOT_FOUND: "method not found",
    INVALID_PARAMS: "invalid params",
    INTERNAL_ERROR: "internal error",
}


def plugin(arguments: Arguments) -> int:
    """Run the subcommand that the first word names; return the exit code."""
    subcommand, *words = arguments.paths or ("",)
    if subcommand not in _SUBCOMMANDS:
        raise _unknown_subcommand(subcommand)
    for option in _SUBCOMMANDS[subcommand]:
        if arguments.has(option):
            raise UsageError(f"mcptest plugin {subcommand} does not take {option}")
    if subcommand == "list":
        if words:
            raise UsageError(f"mcptest plugin list takes no {visible(words[0])!r}")
        return _list(_find_declared(arguments)[0], arguments)
    name, method, params = _request(words)
    specs, secrets = _find_declared(arguments)
    spec = _find_plugin(name, index_plugins(specs))
    limit_s = parse_timeout_s(arguments) or spec.call_timeout_s
    hide_secrets(secrets)
    return _call(spec.but(call_timeout_s=limit_s), method, params, arguments, redactor(secrets))


def _unknown_subcommand(word: str) -> UsageError:
    if not word:
        message = "mcptest plugin needs a subcommand: call or list"
        return UsageError(message, "for example mcptest plugin call geo near '{\"actual\": 1}'")
    near = closest(word, _SUBCOMMANDS)
    meant = f"; did you mean {near!r}?" if near else ""
    message = f"mcptest plugin has no subcommand {visible(word)!r}{meant}"
    return UsageError(message, "mcptest plugin --help lists the subcommands")


def _request(words: Sequence[str]) -> tuple[str, str, object]:
    """Return the plugin, the method and the params of the command line."""
    if len(words) < 2:
        name, _, method = words[0].partition(".") if words else ("NAME", "", "")
        example = f"mcptest plugin call {visible(name)} {visible(method) or 'METHOD'}"
        what = "method" if words else "plugin"
        raise UsageError(f"which {what}?", f"write {example}, and the params as JSON")
    name, method, *rest = words
    if len(rest) > 1:
        message = f"the params are one word of JSON; {visible(rest[1])!r} is one too many"
        raise UsageError(message, "in a shell, put them between single quotes")
    if not rest:
        return name, method, ABSENT
    try:
        return name, method, parse_json(rest[0])
    except NotJsonError as error:
        where = f" at character {error.column:,}" if error.column else ""
        message = f"the params are not JSON: {visible(error.reason)}{where}"
        raise UsageError(message, "in a shell, put them between single quotes") from None


def _find_declared(arguments: Arguments) -> tuple[tuple[PluginSpec, ...], tuple[str, ...]]:
    """Return the plugins of the command line, the config and the suite, and their secrets."""
    config = arguments.last("--config")
    suite = find_suite(config)
    wanted = Wanted(config="" if suite else config, plugins=parse_plugins(arguments))
    # The server of the config is not started, so its variables may be unset.
    diagnostics = Diagnostics()
    servers = Servers(wanted, PlaceholderEnvironment(os.environ), diagnostics)
    # A suite that is named is used alone; one that is found, together with the config beside it.
    found = wanted.plugins if config and suite else servers.plugins_of("")
    folders = wanted.folders()
    if diagnostics.mistakes:
        raise FormatError(folders.quotable(diagnostics.mistakes))
    own, secrets = _read_suite_plugins(suite, is_found=not config) if suite else ((), ())
    for warning in folders.quotable(diagnostics.warnings):
        write_stderr(render_diagnostic(warning) + "\n\n")
    return (*found, *own), (*servers.secrets_of(""), *secrets)


def _read_suite_plugins(
    path: str, *, is_found: bool
) -> tuple[tuple[PluginSpec, ...], tuple[str, ...]]:
    """Return the plugins of a suite and its imports, and the values of its secrets."""
    folder = os.path.abspath(os.path.dirname(path))
    folders = SuiteFolders((path,), is_found=is_found)
    with folders:
        read_beside = folders.reader_beside(path)
        parts = read_parts(read_text(path), path, folder, read_beside, os.path.realpath)
        mistakes = list(parts.mistakes)
        for part in parts.files:
            mistakes += diagnose(part.document, part.diagnostics)
        if any(each.severity == "error" for each in mistakes):
            raise FormatError(mistakes)
    plugins = tuple(plugin for part in parts.files for plugin in part.plugins)
    keys = ("variables", "servers")
    values = (part.top.mapping.get(key) for part in parts.files for key in keys)
    names = dict.fromkeys(name for value in values for name in _secret_names(value))
    return plugins, tuple(os.environ[name] for name in names if os.environ.get(name))


def _secret_names(value: object) -> Iterator[str]:
    """Yield the environment variables with secrets that a value names, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from _secret_names(item)
    for key, name in value.items() if isinstance(value, dict) else ():
        if not isinstance(name, str):
            yield from _secret_names(name)
        # Not every variable under from_env is a secret.
        elif is_secret(name, os.environ.get(name)) if key == "from_env" else key.endswith("_env"):
            yield name


def _find_plugin(name: str, specs: Mapping[str, PluginSpec]) -> PluginSpec:
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


def _call(
    spec: PluginSpec, method: str, params: object, arguments: Arguments, clean: Redact
) -> int:
    """Start the plugin, call it once, and stop it; return the exit code."""
    refuse_windows("starting a plugin")
    with Interrupts() as interrupts, launching(interrupts, None) as launcher:
        host = PluginHost(
            spec.command,
            spec.call_timeout_s,
            cwd=spec.cwd,
            guardian=launcher.guardian,
            interrupts=interrupts,
            # The same id, and so the same output, every time.
            first_id=1,
        )
        try:
            return _ask(host, spec, method, params, arguments, clean)
        except InterruptedRunError:
            raise InterruptedRunError("interrupted; the plugin was stopped") from None
        finally:
            at_once = bool(interrupts.count)
            # A longer limit for the answer does not extend the limit for the end.
            patience_s = host.call_timeout = min(host.call_timeout, DEFAULT_CALL_TIMEOUT_S)
            began = time.monotonic()
            host.close(at_once=at_once)
            if not at_once and time.monotonic() - began >= patience_s:
                message = f"{spec.name} did not end within {patience_s:g} s of the end of its input"
                write_stderr(f"note: {message}, and was killed\n")


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
        fault = describe_failure(spec, error)
        # Its stderr is printed below.
        fault = fault.but(evidence=fault.evidence.but(stderr_tail=""))
        print_fault(redact_all(fault, clean), arguments)
        _print_stderr(host.stderr)
        return ExitCode.FAILED
    took_s = time.monotonic() - began
    write_json(redact_all(_describe_response(response), clean))
    # Show it before waiting for the plugin to end.
    StandardOutput().flush()
    _print_stderr(host.stderr)
    about = f"{spec.name} answered {visible(method)} in {render_duration(took_s)}, start included"
    if response.error is None:
        write_stderr(f"{about}\n")
        return ExitCode.PASSED
    meaning = _MEANINGS.get(response.error.code)
    code = f"code {response.error.code}{f' ({meaning})' if meaning else ''}"
    how = f"answered with an error: {code}, {visible(response.error.message)}"
    write_stderr(f"error: {spec.name} {how}\n{about}\n")
    return ExitCode.FAILED


def _describe_response(response: PluginResponse) -> dict[str, Any]:
    """Return the answer as it was sent."""
    if response.error is None:
        return {"id": response.id, "result": response.result}
    error: dict[str, Any] = {"code": response.error.code, "message": response.error.message}
    if response.error.data is not None:
        error["data"] = response.error.data
    return {"id": response.id, "error": error}


def _print_stderr(text: str) -> None:
    """Print the stderr of the plugin, each line behind a bar, which marks it as the plugin's."""
    label = "stderr"
    for line in text.removesuffix("\n").split("\n") if text else ():
        write_stderr(f"  {label:<8}  | {visible(line)}\n")
        label = ""


COMMAND = Command(
    name="mcptest plugin",
    summary="Call a plugin and show its answer, or list plugins and extensions.",
    usage="mcptest plugin (call NAME METHOD [PARAMS] | list) [options]",
    details="call starts the plugin, sends one request (PARAMS is optional JSON), prints the "
    "answer as one line of JSON and stops the plugin. A matcher gets an object with the value as "
    "actual, the ARG of the pattern as expected, and the path of the value. list shows the "
    "declared plugins, and the matchers and reporters of installed Python packages. Exit code 0: "
    "a result; 1: an error or no answer; 2: nothing was called.",
    options=(
        PLUGIN_OPTION,
        Option(
            names=("-c", "--config"),
            value="FILE",
            help="config or suite whose imports to use (default: conductor.config.json and "
            "mcptest.yaml in the current folder)",
        ),
        Option(
            names=("--timeout",),
            value="TIME",
            help='call: time limit for the answer: 500, "500ms" or "2s" (default: that of the '
            "config, else 5s)",
        ),
        Option(
            names=("--json",),
            help="list: print one JSON object; call: print one even if there is no answer",
        ),
        *(option.but(help=f"list: {option.help}") for option in COLOR_OPTIONS),
    ),
    examples=(
        "mcptest plugin call echo ping --plugin echo='python3 echo.py'",
        "mcptest plugin call geo near \\",
        '    \'{"actual": {"lat": 48.86, "lon": 2.34}, "expected": "48.85,2.35,10"}\'',
        "mcptest plugin list",
    ),
    words=tuple(_SUBCOMMANDS),
    run=plugin,
)
