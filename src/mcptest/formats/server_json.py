"""`server.json` of the MCP registry: where a server is published, as packages and as remotes.

    {"name": "io.github.ada/shop", "packages": [{"registryType": "npm", "identifier": "shop"}]}

A package is started by the program that its type needs, such as npx; a remote is reached over HTTP.
What a user would have to enter comes from the environment.
"""

from __future__ import annotations

import posixpath
import re

from mcptest.core.plan import HttpSpec, ServerSpec
from mcptest.core.text import visible
from mcptest.formats.client_configs import input_variable, parts_of_secret, warn_of_unknown
from mcptest.formats.config import (
    default_startup_s,
    is_header_name,
    is_our_header,
    read_http,
    why_not_set,
)
from mcptest.formats.keys import warn_of_weak_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.client_configs import ClientValues
    from mcptest.formats.keys import Fields

__all__ = ["read_registered"]

_TOP = (
    *("$schema", "_meta", "description", "icons", "repository", "status", "title", "version"),
    "websiteUrl",
)
_PACKAGE = (
    *("registryType", "identifier", "version", "runtimeHint", "transport"),
    *("runtimeArguments", "packageArguments", "environmentVariables"),
)
_REMOTE = ("type", "url", "headers", "variables")
_INPUT = (
    *("name", "type", "value", "default", "choices", "isRequired", "isSecret", "variables"),
    "valueHint",
)
_INPUT_ABOUT = ("description", "format", "isRepeated", "placeholder")

# The program that runs a package, if the file does not say.
_RUNTIMES = {"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx"}
_BRACES = r"\{([^{}]+)\}"


def read_registered(top: Fields, fields: Fields, values: ClientValues) -> ServerSpec:
    """Return the server of a package or a remote."""
    warn_of_unknown(top, ("name", "packages", "remotes"), _TOP)
    top.require(("name",), "a server.json")
    name = top.text("name")
    if fields.steps[0] == "remotes":
        remote = _read_remote(fields, values, {})
        return ServerSpec(name=name, command=(), http=remote, cwd=values.folder)
    warn_of_unknown(fields, _PACKAGE, ("_meta", "fileSha256", "registryBaseUrl"))
    fields.require(("registryType", "identifier"), "a package")
    kind, identifier = fields.text("registryType"), fields.non_empty_text("identifier")
    if "registryType" in fields.mapping and kind not in _RUNTIMES:
        message = f"packages of the type {visible(kind)!r} cannot be started"
        fields.report("registryType", "F010", message, f"there are: {', '.join(_RUNTIMES)}")
    known: dict[str, str] = {}
    env = {}
    for _, entry in fields.mappings_at("environmentVariables", "a variable"):
        key = entry.text("name")
        value = _read_input(entry, values, (key,), known, is_secret=True)
        entry.require(("name",), "a variable")
        message = why_not_set(key, value or "")
        if "name" in entry.mapping and message:
            entry.report("name", "F009", message, on_key=False)
        elif value is not None and key:
            env[key] = known[key] = value
    runtime = _read_arguments(fields, "runtimeArguments", values, known)
    arguments = _read_arguments(fields, "packageArguments", values, known)
    program = fields.text("runtimeHint") or _RUNTIMES.get(kind, "")
    version = fields.text("version")
    has_tag = "@" in identifier or ":" in posixpath.basename(identifier)
    package = f"{identifier}{':' if kind == 'oci' else '@'}{version}"
    if not version or (kind == "oci" and has_tag):
        package = identifier
    command = (program, *_runtime_words(program, runtime, env), package)
    command += ("--yes", "--", *arguments) if program == "dnx" else tuple(arguments)
    if "\0" in "".join(command):
        fields.report("", "F009", "a command must not hold NUL")
    transport = fields.mapping_at("transport")
    http: HttpSpec | None = None
    if transport and transport.mapping.get("type") not in (None, "stdio"):
        http = _read_remote(transport, values, known)
    return ServerSpec(
        name=name,
        command=command,
        http=http,
        cwd=values.folder,
        env=env,
        startup_timeout_s=default_startup_s(program),
    )


def _runtime_words(program: str, given: list[str], env: dict[str, str]) -> list[str]:
    """Return the arguments of the program that runs a package: those given, and those it needs."""
    if program == "npx":
        # Without it, npx asks before it fetches a package.
        return given if "-y" in given or "--yes" in given else ["-y", *given]
    if program not in ("docker", "podman"):
        return given
    first = [] if "run" in given else ["run", "-i", "--rm"]
    passed = " ".join(given)
    # A container gets only variables that are passed on.
    wanted = [name for name in env if not re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", passed)]
    return [*first, *given, *(word for name in wanted for word in ("-e", name))]


def _read_arguments(
    fields: Fields, key: str, values: ClientValues, known: dict[str, str]
) -> list[str]:
    words: list[str] = []
    for _, entry in fields.mappings_at(key, "an argument"):
        kind = entry.choice("type", ("positional", "named"), "positional")
        flag = entry.text("name") if kind == "named" else ""
        hint = flag or entry.text("valueHint") or "argument"
        value = _read_input(entry, values, (input_variable(hint),), known)
        if kind == "named":
            entry.require(("name",), "a named argument")
        if value is None:
            continue
        known |= {hint: value, hint.lstrip("-"): value}
        words += [flag, value] if flag else [value]
    return words


def _read_remote(fields: Fields, values: ClientValues, known: dict[str, str]) -> HttpSpec:
    warn_of_unknown(fields, _REMOTE, ("supportedProtocolVersions",))
    fields.require(("type", "url"), "a remote")
    transport = fields.choice("type", ("streamable-http", "sse"), "auto")
    http = None
    if "url" in fields.mapping:
        url = _fill_braces(fields, "url", values, known, is_secret=True)
        http = read_http(fields.replaced({"url": url}), str, values)
    headers = {}
    for _, entry in fields.mappings_at("headers", "a header"):
        entry.require(("name",), "a header")
        name = entry.text("name")
        value = _read_input(entry, values, (input_variable(name),), known, is_secret=True)
        if value is None or not name:
            continue
        if not is_header_name(name) or is_our_header(name):
            why = (
                "is set by mcptest itself" if is_our_header(name) else "is not the name of a header"
            )
            entry.report("name", "F009", f"{visible(name)!r} {why}", on_key=False)
        elif not value.isprintable() or not value.isascii():
            entry.report("", "F009", "a header holds visible ASCII only")
        else:
            headers[name] = value
    return (http or HttpSpec(url="")).but(headers=headers, transport=transport)


def _read_input(
    fields: Fields,
    values: ClientValues,
    variables: tuple[str, ...],
    known: dict[str, str],
    *,
    is_secret: bool = False,
) -> str | None:
    """Return a value that a user may have to give; None if there is none, and none is needed.

    It is what the file says, else an environment variable, else the default.
    """
    warn_of_unknown(fields, _INPUT, _INPUT_ABOUT)
    is_secret = fields.flag("isSecret", False) or is_secret
    is_required = fields.flag("isRequired", False)
    if "value" in fields.mapping:
        value = _fill_braces(fields, "value", values, known, is_secret=is_secret)
    else:
        name = next((each for each in variables if values.environment.get(each)), "")
        default = fields.mapping.get("default")
        if not name and isinstance(default, bool | int | float):
            # As in JSON.
            value = str(default).lower() if isinstance(default, bool) else str(default)
        elif not name and "default" in fields.mapping:
            value = fields.text("default")
        elif name or is_required:
            value = values.look_up(fields, "", *variables)
        else:
            return None
        choices = fields.texts("choices")
        if choices and value and value not in choices:
            message = f"the value must be one of {', '.join(map(visible, choices))}"
            fields.report("choices", "F009", message, on_key=False)
    if is_secret:
        values.secrets += parts_of_secret(value)
        if fields.mapping.get("isSecret") is True:
            warn_of_weak_secret(fields, "", variables[0], value)
    return value


def _fill_braces(
    fields: Fields, key: str, values: ClientValues, known: dict[str, str], *, is_secret: bool
) -> str:
    """Return a text in which `{name}` is replaced: by a variable of the file, or an input."""
    inner = fields.mapping_at("variables") if "variables" in fields.mapping else None
    declared = inner.mapping if inner else {}

    def replace(found: re.Match[str]) -> str:
        name = found[1]
        if name in declared:
            assert inner
            entry = inner.mapping_at(name)
            names = (input_variable(name), name)
            value = _read_input(entry, values, names, known, is_secret=is_secret) if entry else ""
            return value or ""
        return known.get(name, found[0])

    return re.sub(_BRACES, replace, fields.text(key))
