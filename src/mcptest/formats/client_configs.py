"""Configs of other programs, which list the servers of a client, and `server.json` of the registry.

    {"mcpServers": {"shop": {"command": "python3", "args": ["shop.py"], "env": {"KEY": "${KEY}"}}}}

`ClientConfig` reads such a file. It says which servers there are, and returns one of them as a
`ServerSpec`. The files belong to other programs, so an unknown key is a warning, and they may have
comments and trailing commas. Values of `env` and `headers` are secrets.

    {"name": "io.github.ada/shop", "packages": [{"registryType": "npm", "identifier": "shop"}]}

In a `server.json`, a package is started by the program that its type needs, such as npx; a remote
is reached over HTTP. What a user would have to enter comes from the environment.
"""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote, unquote_plus

from mcptest.core.diagnostics import Diagnostic, PathDiagnostic, closest, suggest
from mcptest.core.errors import FormatError
from mcptest.core.plan import HttpSpec, ServerSpec
from mcptest.core.secrets import (
    is_secret,
    members_of,
    names_secret,
    redact_all,
    redactor,
    why_not_blanked,
)
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import list_names, visible
from mcptest.core.value_class import Record
from mcptest.formats.config import (
    SHELLS,
    default_startup_s,
    is_header_name,
    is_our_header,
    read_http,
    why_not_set,
)
from mcptest.formats.fields import Fields, diagnose, read_top, warn_of_weak_secret
from mcptest.formats.yaml import read_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcptest.formats.yaml import Document

__all__ = [
    "ChoiceError",
    "ClientConfig",
    "ClientServer",
    "parse_env_file",
    "parts_of_secret",
]


class _Format(Record):
    """The keys of a server in one format: those with a meaning here, and those without one."""

    used: tuple[str, ...]
    ignored: tuple[str, ...]


# What a client decides for itself, such as which tools may be called unasked. docs/config.md
# lists these keys.
_POLICIES = (
    *("alwaysAllow", "alwaysLoad", "autoApprove", "disabledTools", "enabledTools"),
    *("excludeTools", "includeTools", "tools", "trust", "timeout"),
)
_ABOUT = ("description", "icon", "name")
_USED = ("type", "command", "args", "env", "envFile", "cwd", "url", "headers", "disabled")
# By the key that holds the servers.
_CLIENTS = {
    "mcpServers": _Format(
        used=(*_USED, "serverUrl", "httpUrl"), ignored=(*_ABOUT, *_POLICIES, "version")
    ),
    "servers": _Format(
        used=_USED,
        ignored=(*_ABOUT, "dev", "gallery", "version", "sandbox", "sandboxEnabled"),
    ),
    "context_servers": _Format(
        used=("source", "command", "args", "env", "url", "headers", "enabled", "disabled"),
        ignored=("remote", "settings", "timeout"),
    ),
}
_REGISTRY = ("packages", "remotes")
_URLS = ("url", "serverUrl", "httpUrl")
# Credentials that another program gets by itself.
_CREDENTIALS = ("auth", "headersHelper", "oauth")

# The values of "type"; "" is a server that is started.
_TYPES = {
    "stdio": "",
    "local": "",
    "http": "auto",
    "streamable-http": "streamable-http",
    "streamableHttp": "streamable-http",
    "streamable_http": "streamable-http",
    "sse": "sse",
}

# Folders in which clients keep their file of a project; the project is the folder above.
_HOMES = (".cursor", ".vscode", ".zed")


_MAX_NAMES_SHOWN = 50


class ChoiceError(ValueError):
    """A file from which no server can be chosen: why, and the names to choose from."""

    def __init__(self, message: str, names: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.names = list_names([*map(visible, names)], _MAX_NAMES_SHOWN)


class ClientServer(Record):
    """A server of such a file, and warnings. `unset` has the variables that have no value."""

    spec: ServerSpec
    warnings: tuple[Diagnostic, ...] = ()
    unset: tuple[Diagnostic, ...] = ()

    def refuse_unset(self) -> ServerSpec:
        """Return the server; FormatError if a variable has no value."""
        if self.unset:
            raise FormatError([*self.unset, *self.warnings])
        return self.spec


class ClientConfig:
    """A file of another program that lists servers.

    `place` is the absolute path of its folder; servers run in `folder`, the folder of the project.
    FormatError if the file is not JSON.
    """

    def __init__(self, text: str, file: str, place: str) -> None:
        self.file = file
        is_home = posixpath.basename(place) in _HOMES
        self.folder = posixpath.dirname(place) if is_home else place
        self._document = _read_json(text, file)
        self._diagnostics: list[PathDiagnostic] = []
        try:
            self._top = read_top(self._document, "a config must be an object", self._diagnostics)
        except FormatError as error:
            raise _without_source(error) from None
        keys = (*_CLIENTS, *_REGISTRY)
        # The key that shows the format; "" if there is none.
        self.kind = next((key for key in keys if key in self._top.mapping), "")
        entries = self._top.mapping.get(self.kind)
        # The secrets of the file, which a quoted line may hold. A server that is a string may be a
        # command with arguments.
        misplaced = entries.values() if isinstance(entries, dict) else [entries]
        written = [secret for each in misplaced for secret in _secrets_in(each, "command")]
        self._written = tuple(dict.fromkeys([*written, *_secrets_in(self._top.mapping)]))
        self._entries: dict[str, Fields] = {}

    def names(self) -> dict[str, bool]:
        """Return the names of the servers, each with whether it is disabled."""
        return {
            name: fields.mapping.get("disabled") is True or fields.mapping.get("enabled") is False
            for name, fields in self._list().items()
        }

    def choose(self, name: str = "") -> tuple[str, list[str]]:
        """Return the name of the only server, or of the one that is named; and disabled ones.

        ChoiceError if there is no such server, or there are several.
        """
        names, shown = self.names(), visible(self.file)
        if name:
            if name not in names:
                question = suggest(name, names)
                raise ChoiceError(f"{shown} has no server {visible(name)!r}{question}", names)
            return name, []
        skipped = [each for each, is_disabled in names.items() if is_disabled]
        left = [each for each in names if each not in skipped]
        if not left:
            listed = list_names([*map(visible, skipped)], _MAX_NAMES_SHOWN)
            message = f"all servers of {shown} are disabled: {listed}"
            raise ChoiceError(message if skipped else f"{shown} has no server", names)
        if len(left) > 1:
            listed = list_names([*map(visible, left)], _MAX_NAMES_SHOWN)
            if skipped:
                listed += f"; disabled: {list_names([*map(visible, skipped)], _MAX_NAMES_SHOWN)}"
            raise ChoiceError(f"{shown} has {len(left)} servers: {listed}", names)
        return left[0], skipped

    def read(
        self, name: str, environment: Mapping[str, str], read_file: Callable[[str], str]
    ) -> ClientServer:
        """Return a server by its name; FormatError with every mistake in it.

        `read_file` returns the text of a file by its absolute path, or raises a ValueError.
        """
        fields = self._list()[name]
        values = _ClientValues(environment, self.folder, self._inputs())
        if self.kind in _CLIENTS:
            spec = _read_entry(name, fields, self.kind, values, read_file)
        else:
            spec = _read_registered(self._top, fields, values)
        secrets = (*_secrets_in(fields.mapping), *values.secrets, *_secrets_in([*spec.command]))
        spec = spec.but(secrets=tuple(dict.fromkeys(secrets)))
        self._written = tuple(dict.fromkeys((*self._written, *spec.secrets)))
        found, unset = self._diagnose(self._diagnostics), self._diagnose(values.unset)
        if any(each.severity == "error" for each in found):
            raise FormatError([*found, *unset])
        return ClientServer(spec=spec, warnings=found, unset=unset)

    def _diagnose(self, diagnostics: list[PathDiagnostic]) -> tuple[Diagnostic, ...]:
        found = []
        secrets = [secret for secret in self._written if not why_not_blanked(secret)]
        secrets.sort(key=len, reverse=True)
        for each in diagnose(self._document, list(dict.fromkeys(diagnostics))):
            source = each.source
            # As long as the secret, so that the caret stays in place.
            for secret in secrets:
                source = source.replace(secret, "*" * len(secret))
            found.append(each.but(source=source))
        return tuple(redact_all(found, redactor(self._written)))

    def _list(self) -> dict[str, Fields]:
        """Return the servers by name; FormatError if the file does not list servers."""
        if self._entries:
            return self._entries
        if not self.kind:
            keys = ", ".join((*_CLIENTS, *_REGISTRY))
            self._top.report("", "F007", f"a config of servers needs one of the keys {keys}")
        elif self.kind in _CLIENTS:
            inner = self._top.mapping_at(self.kind)
            for name in inner.mapping if inner else ():
                assert inner
                entry = inner.mapping_at(name)
                self._entries |= {name: entry} if entry else {}
        else:
            for key in _REGISTRY:
                what = f'an entry of "{key}"'
                for _, entry in self._top.mappings_at(key, what):
                    word = entry.mapping.get("registryType" if key == "packages" else "type")
                    kind = name = word if isinstance(word, str) and word else key
                    number = 1
                    while name in self._entries:
                        number += 1
                        name = f"{kind}#{number}"
                    self._entries[name] = entry
        if any(each.severity == "error" for each in self._diagnostics):
            raise FormatError(self._diagnose(self._diagnostics))
        return self._entries

    def _inputs(self) -> dict[str, Fields]:
        """Return the inputs of VS Code by id."""
        if self.kind != "servers":
            return {}
        _warn_of_unknown(self._top, ("servers", "inputs"), ("$schema", "sandbox"))
        found = self._top.mappings_at("inputs", "an input")
        return {str(fields.mapping.get("id")): fields for _, fields in found}


def _input_variable(id: str) -> str:
    """Return the environment variable for an input: `API_KEY` for `${input:api-key}`."""
    return re.sub("[^A-Za-z0-9]+", "_", id).strip("_").upper()


def _warn_of_unknown(fields: Fields, used: tuple[str, ...], ignored: tuple[str, ...]) -> None:
    for key in fields.mapping:
        if key in used or key in ignored:
            continue
        help = ""
        if key in _CREDENTIALS:
            help = "give credentials with --bearer-env NAME or --header-env HEADER=NAME"
        meant = closest(key, used)
        question = f'; did you mean "{meant}"?' if meant else ""
        message = f'"{key}" is not known to mcptest, and is ignored{question}'
        fields.report(key, "W004", message, help, severity="warning")


def _secrets_in(value: object, key: str = "") -> Iterator[str]:
    """Yield the values of `env` and `headers`, and of keys and options that name secrets."""
    # Headers of a `server.json` are objects with a name and a value.
    has_objects = isinstance(value, list) and any(isinstance(each, dict) for each in value)
    if key == "env" or (key == "headers" and not has_objects):
        yield from _secret_texts(value)
        return
    if isinstance(value, str) and key in _WORDS:
        # Arguments that belong in a list.
        words = re.findall(r"'[^']*'|\"[^\"]*\"|\S+", value)
        value = [word.strip("'\"[],") for word in words]
    if not isinstance(value, dict | list):
        return
    if isinstance(value, dict) and True in (value.get("isSecret"), value.get("password")):
        # An input that the file says is a secret.
        yield from _secret_texts([value.get("default"), value.get("value")])
    for _, name, inner in members_of(value, key):
        is_listed = isinstance(value, list)
        if isinstance(inner, dict | list) or (
            not is_listed and name in (*_WORDS, "env", "headers")
        ):
            yield from _secrets_in(inner, "" if is_listed else name)
        # A reference is not a secret; its value is.
        elif is_secret(name, inner):
            yield from _secret_texts(inner)
        elif isinstance(inner, str):
            yield from _secrets_in_url(inner)
            if is_listed:
                yield from _secret_texts(_find_secret_in(inner))


def _secrets_in_url(text: str) -> Iterator[str]:
    """Yield the password in a URL, and the parameters of its query with the name of a secret."""
    if "://" in text:
        for password in re.findall(r"://[^\s/@:]*:([^\s/@]+)@", text):
            yield from _secret_texts(unquote(password))
        for name, value in re.findall(r"[?&;]([^=&;#?]+)=([^&;#\s'\"]+)", text):
            if names_secret(name):
                yield from _secret_texts(unquote_plus(value))


# Keys whose value, written as one string, is a command with arguments.
_WORDS = ("command", "args")


def _find_secret_in(argument: str) -> str:
    """Return the secret in an argument such as --token=value or Authorization: value, or ""."""
    pattern = re.compile(r"-{0,2}([A-Za-z][\w.-]*)\s*[=:\s]\s*")
    start = 0
    while (found := pattern.match(argument, start)) and found.end() < len(argument):
        start = found.end()
        if names_secret(found[1]):
            return argument[start:]
    return ""


def _secret_texts(value: object) -> Iterator[str]:
    """Yield the strings and numbers in a value, however wrong its type is where it is."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _secret_texts(inner)
            if isinstance(value, list) and isinstance(inner, str):
                # A variable or a header in one string: NAME=value, Name: value
                yield from parts_of_secret(re.split("[=:]", inner, maxsplit=1)[-1].strip())
    # A reference is not a secret; its value is.
    elif not isinstance(value, bool | None) and "${" not in str(value):
        yield from parts_of_secret(str(value))


def parts_of_secret(text: str) -> Iterator[str]:
    """Yield a secret value, and the token alone if it follows a word such as Bearer."""
    if text:
        yield text
    scheme, _, token = text.partition(" ")
    if scheme.lower() in ("basic", "bearer", "token") and token.strip():
        yield token.strip()


# JSON with comments and trailing commas

_STRING = r'"(?:[^"\\\r\n]|\\.)*"'
# A comment that is never closed is matched, too: else, every /* would be a search to the end.
_COMMENT = rf"{_STRING}|//[^\r\n]*|/\*(?:.*?\*/|.*)"
_COMMA = rf"{_STRING}|,(?=\s*[}}\]])"


def _read_json(text: str, file: str) -> Document:
    """Return the document; what JSON does not allow is replaced by spaces, so places stay."""

    def blank(found: re.Match[str]) -> str:
        part = found[0]
        is_open = part.startswith("/*") and (len(part) < len("/**/") or not part.endswith("*/"))
        return part if part[0] == '"' or is_open else re.sub(r"[^\r\n]", " ", part)

    plain = re.sub(_COMMENT, blank, text.removeprefix("\ufeff"), flags=re.DOTALL)
    plain = re.sub(_COMMA, blank, plain)
    try:
        parse_json(plain)
    except NotJsonError as error:
        if error.column:
            before = re.split(r"\r\n|\n|\r", plain[: error.column - 1])
            mistake = Diagnostic(
                code="F002",
                file=file,
                message=f"this is not JSON: {error.reason}",
                line=len(before),
                column=len(before[-1]) + 1,
            )
            # The line is not quoted: it may hold a secret.
            raise FormatError([mistake]) from None
    try:
        return read_document(plain, file)
    except FormatError as error:
        raise _without_source(error) from None


def _without_source(error: FormatError) -> FormatError:
    """Return the mistakes of a file of which no secret is known: its lines are not quoted."""
    return FormatError([each.but(source="") for each in error.diagnostics])


# Variables in the values of a client's config

_VARIABLE = r"\$\{([^}]*)\}"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_WAYS = (
    "variables are written ${NAME}, ${NAME:-default}, ${env:NAME}, ${input:ID}, "
    "${workspaceFolder} or ${userHome}"
)


def _cut_after_brace(text: str) -> str:
    """Return the text up to its last brace: after it, every `${` would be a search to the end."""
    return text[: text.rfind("}") + 1]


class _ClientValues:
    """Values in which variables are replaced; collects secrets, and variables without a value."""

    def __init__(
        self, environment: Mapping[str, str], folder: str, inputs: dict[str, Fields]
    ) -> None:
        self.environment = environment
        self.folder = folder
        self._inputs = inputs
        self.secrets: list[str] = []
        self.unset: list[PathDiagnostic] = []
        self._fixed = {
            "workspaceFolder": folder,
            "workspaceFolderBasename": posixpath.basename(folder),
            "pathSeparator": "/",
            "/": "/",
        }

    def header(self, fields: Fields, key: str) -> str:
        """Return the value of a header, which is a secret."""
        filled = self.fill(fields, key, fields.text(key), is_secret=True)
        self.secrets += parts_of_secret(filled)
        return filled

    def url(self, fields: Fields) -> str:
        """Return the URL with its variables replaced."""
        return self.fill(fields, "url", fields.text("url"), is_secret=True)

    def secret(self, fields: Fields, key: str) -> str:
        raise AssertionError(f"{fields.steps} {key}: no format names a variable with a secret")

    def variable(self, fields: Fields, key: str) -> str:
        """Return the value of a variable of `env`, which is a secret unless it is a path."""
        value = fields.mapping[key]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        text = str(value) if is_number else fields.text(key)
        filled = self.fill(fields, key, text, is_secret=True)
        names = set(re.findall(_VARIABLE, _cut_after_brace(text)))
        if names_secret(key) or not names or names - {*self._fixed, "userHome"}:
            self.secrets += parts_of_secret(filled)
        if names_secret(key) and not names:
            warn_of_weak_secret(fields, key, key, filled)
        if message := why_not_set(key, filled):
            fields.report(key, "F009", message)
        return filled

    def fill(
        self,
        fields: Fields,
        key: str,
        text: str,
        *,
        is_secret: bool = False,
        is_for_shell: bool = False,
    ) -> str:
        """Return a text with its variables replaced; `is_secret` says that their values are.

        With `is_for_shell`, variables of the environment are left to the shell that gets the text.
        """

        closed = _cut_after_brace(text)

        def replace(found: re.Match[str]) -> str:
            written = found[1]
            if written in self._fixed:
                return self._fixed[written]
            way, colon, rest = written.partition(":")
            if way in ("env", "input") and colon and not rest:
                fields.report(key, "F009", f"{found[0]} names nothing", _WAYS, on_key=False)
                return ""
            if way == "input" and colon:
                return self._input(fields, key, rest, is_secret=is_secret)
            if (way == "env" and colon) or written == "userHome":
                name = rest if colon else "HOME"
                value = self.look_up(fields, key, name)
                self._keep(fields, key, name, value, is_secret=is_secret and bool(colon))
                return value
            if plain := re.fullmatch(rf"({_NAME})(?::-(.*))?", written, re.DOTALL):
                if is_for_shell:
                    return found[0]
                return self._plain(fields, key, plain[1], plain[2], is_secret=is_secret)
            if colon:
                message = f"{found[0]} has a value only in the program that this file is for"
                fields.report(key, "F010", message, _WAYS, on_key=False)
            return found[0]

        return re.sub(_VARIABLE, replace, closed) + text[len(closed) :]

    def look_up(self, fields: Fields, key: str, name: str, *others: str) -> str:
        """Return the value of a variable; one without a value is recorded."""
        for each in (name, *others):
            # Commands that start no server pass an environment that contains every name.
            if each in self.environment:
                return self.environment[each]
        steps = (*fields.steps, key) if key else fields.steps
        message = f"the environment variable {name!r} is not set"
        help = f"export {name}=… before the run"
        self.unset.append(PathDiagnostic(code="F016", message=message, help=help, steps=steps))
        return ""

    def _plain(
        self, fields: Fields, key: str, name: str, default: str | None, *, is_secret: bool
    ) -> str:
        if default is None or self.environment.get(name):
            value = self.look_up(fields, key, name)
        else:
            value = default
            if "${" in default:
                message = "a default cannot hold another variable"
                fields.report(key, "F009", message, on_key=False)
        self._keep(fields, key, name, value, is_secret=is_secret)
        return value

    def _input(self, fields: Fields, key: str, id: str, *, is_secret: bool) -> str:
        """Return the value of an input, which the client asks the user for."""
        declared = self._inputs.get(id)
        name = _input_variable(id)
        is_set = id in self.environment or name in self.environment
        if not is_set and declared and isinstance(declared.mapping.get("default"), str):
            value = declared.text("default")
        else:
            value = self.look_up(fields, key, name, id)
        is_password = declared is not None and declared.mapping.get("password") is True
        self._keep(fields, key, name, value, is_secret=is_secret or is_password)
        return value

    def _keep(self, fields: Fields, key: str, name: str, value: str, *, is_secret: bool) -> None:
        """Treat a value as a secret if it is one."""
        if value and (is_secret or names_secret(name)):
            self.secrets.append(value)
        if names_secret(name) or names_secret(key):
            warn_of_weak_secret(fields, key, name, value)


# A server of a client


def _read_entry(
    name: str, fields: Fields, kind: str, values: _ClientValues, read_file: Callable[[str], str]
) -> ServerSpec:
    format = _CLIENTS[kind]
    _warn_of_unknown(fields, format.used, format.ignored)
    if kind == "context_servers":
        fields = _flatten_zed(fields)
    for key in ("disabled", "enabled"):
        fields.flag(key, False)
    word = fields.mapping.get("type")
    is_known = isinstance(word, str) and word in _TYPES
    if "type" in fields.mapping and not is_known:
        message = f'"type" must be one of {", ".join(_TYPES)}'
        fields.report("type", "F009", message, on_key=False)
    transport = _TYPES[str(word)] if is_known else ""
    url_key = next((key for key in _URLS if key in fields.mapping), "")
    is_started = not transport if is_known else "command" in fields.mapping
    if "type" not in fields.mapping and url_key and is_started:
        message = f'"command" and "{url_key}" both say where the server is; give one of them'
        fields.report(url_key, "F003", message, 'or say which with "type"')
    if is_started or not (url_key or transport):
        _warn_of_useless(fields, ("headers",), "that is started")
        return _read_command(name, fields, values, read_file)
    if not url_key:
        fields.report("", "F007", f'a server on HTTP needs the key "{_URLS[0]}"')
        return ServerSpec(name=name, command=())
    _warn_of_useless(fields, ("args", "env", "envFile", "cwd"), "at a URL, which is not started")
    keys = {"url": fields.mapping[url_key]}
    keys |= {"headers": fields.mapping["headers"]} if "headers" in fields.mapping else {}
    http = read_http(fields.replaced(keys), str, values)
    assert http
    return ServerSpec(
        name=name, command=(), http=http.but(transport=transport or "auto"), cwd=values.folder
    )


def _warn_of_useless(fields: Fields, keys: tuple[str, ...], of: str) -> None:
    for key in keys:
        if fields.mapping.get(key):
            message = f'"{key}" means nothing for a server {of}, and is ignored'
            fields.report(key, "W004", message, severity="warning")


def _flatten_zed(fields: Fields) -> Fields:
    """Return a server of Zed with the keys of other clients."""
    command = fields.mapping.get("command")
    if isinstance(command, dict):
        inner = fields.at(("command",)).replaced(command)
        _warn_of_unknown(inner, ("path", "args", "env"), ("timeout",))
        inner.require(("path",), '"command"')
        # Places below "command" are those of the inner mapping.
        return inner.replaced({**command, "command": command.get("path", _REPORTED)})
    if command is None and "url" not in fields.mapping:
        message = "an extension of Zed starts this server; the file does not say how"
        help = 'write "command" and "args" into it, or give the command after --'
        fields.report("", "F007", message, help)
        return fields.replaced({**fields.mapping, "command": _REPORTED})
    return fields


# Instead of a command that is missing, which has been reported.
_REPORTED = "not given"


def _read_command(
    name: str, fields: Fields, values: _ClientValues, read_file: Callable[[str], str]
) -> ServerSpec:
    if "command" not in fields.mapping:
        either = "" if "type" in fields.mapping else f' or "{_URLS[0]}"'
        fields.report("", "F007", f'a server needs the key "command"{either}')
    program = values.fill(fields, "command", fields.non_empty_text("command"))
    is_shell = posixpath.basename(program) in SHELLS
    args = [
        values.fill(fields.at(("args", index)), "", argument, is_for_shell=is_shell)
        for index, argument in enumerate(fields.texts("args"))
    ]
    if "\0" in "".join((program, *args)):
        fields.report("command", "F009", "a command must not hold NUL")
    env = _read_env_file(fields, values, read_file) if "envFile" in fields.mapping else {}
    inner = fields.mapping_at("env")
    env |= {key: values.variable(inner, key) for key in inner.mapping} if inner else {}
    cwd = values.fill(fields, "cwd", fields.text("cwd"))
    return ServerSpec(
        name=name,
        command=(program, *args),
        cwd=posixpath.join(values.folder, cwd),
        env=env,
        startup_timeout_s=default_startup_s(program),
    )


_ENV_LINE = rf"(?s)(?:export\s+)?({_NAME})\s*=\s*(.*)"


def _read_env_file(
    fields: Fields, values: _ClientValues, read_file: Callable[[str], str]
) -> dict[str, str]:
    """Return the variables of a file with a line NAME=value for each; all values are secrets."""
    name = values.fill(fields, "envFile", fields.non_empty_text("envFile"))
    if not name:
        return {}
    try:
        text = read_file(posixpath.join(values.folder, name))
    except ValueError as error:
        reason = str(error).removeprefix("cannot read it: ")
        fields.report("envFile", "F001", f"cannot read {visible(name)}: {reason}", on_key=False)
        return {}
    found, mistakes = parse_env_file(text)
    for number in mistakes:
        # The line is not quoted: it may hold a secret.
        message = f"line {number} of {visible(name)} is not NAME=value"
        fields.report("envFile", "F009", message, on_key=False)
    values.secrets += (part for value in found.values() for part in parts_of_secret(value))
    return found


def parse_env_file(text: str) -> tuple[dict[str, str], list[int]]:
    """Return the variables of a file with a line NAME=value for each, and the numbers of others.

    Blank lines and comments are left out. The last line with a name counts.
    """
    found: dict[str, str] = {}
    mistakes = []
    # Other characters that end a line elsewhere, such as U+2028, may be part of a value.
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        parts = re.fullmatch(_ENV_LINE, line)
        if not parts or "\0" in line:
            mistakes.append(number)
            continue
        value = parts[2]
        if quoted := re.fullmatch(r"(['\"])(.*)\1(?:\s+#.*)?", value):
            value = quoted[2]
        elif value.startswith(("'", '"')) and value.count(value[0]) == 1:
            # The first line of several, of which others could look like NAME=value.
            mistakes.append(number)
            continue
        else:
            value = re.sub(r"\s+#.*", "", value)
        found[parts[1]] = value
    return found, mistakes


# Servers in the registry: `server.json`

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


def _read_registered(top: Fields, fields: Fields, values: _ClientValues) -> ServerSpec:
    """Return the server of a package or a remote."""
    _warn_of_unknown(top, ("name", "packages", "remotes"), _TOP)
    top.require(("name",), "a server.json")
    name = top.text("name")
    if fields.steps[0] == "remotes":
        remote = _read_remote(fields, values, {})
        return ServerSpec(name=name, command=(), http=remote, cwd=values.folder)
    _warn_of_unknown(fields, _PACKAGE, ("_meta", "fileSha256", "registryBaseUrl"))
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
    fields: Fields, key: str, values: _ClientValues, known: dict[str, str]
) -> list[str]:
    words: list[str] = []
    for _, entry in fields.mappings_at(key, "an argument"):
        kind = entry.choice("type", ("positional", "named"), "positional")
        flag = entry.text("name") if kind == "named" else ""
        hint = flag or entry.text("valueHint") or "argument"
        value = _read_input(entry, values, (_input_variable(hint),), known)
        if kind == "named":
            entry.require(("name",), "a named argument")
        if value is None:
            continue
        known |= {hint: value, hint.lstrip("-"): value}
        words += [flag, value] if flag else [value]
    return words


def _read_remote(fields: Fields, values: _ClientValues, known: dict[str, str]) -> HttpSpec:
    _warn_of_unknown(fields, _REMOTE, ("supportedProtocolVersions",))
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
        value = _read_input(entry, values, (_input_variable(name),), known, is_secret=True)
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
    values: _ClientValues,
    variables: tuple[str, ...],
    known: dict[str, str],
    *,
    is_secret: bool = False,
) -> str | None:
    """Return a value that a user may have to give; None if there is none, and none is needed.

    It is what the file says, else an environment variable, else the default.
    """
    _warn_of_unknown(fields, _INPUT, _INPUT_ABOUT)
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
    fields: Fields, key: str, values: _ClientValues, known: dict[str, str], *, is_secret: bool
) -> str:
    """Return a text in which `{name}` is replaced: by a variable of the file, or an input."""
    inner = fields.mapping_at("variables") if "variables" in fields.mapping else None
    declared = inner.mapping if inner else {}

    def replace(found: re.Match[str]) -> str:
        name = found[1]
        if name in declared:
            assert inner
            entry = inner.mapping_at(name)
            names = (_input_variable(name), name)
            value = _read_input(entry, values, names, known, is_secret=is_secret) if entry else ""
            return value or ""
        return known.get(name, found[0])

    return re.sub(_BRACES, replace, fields.text(key))
