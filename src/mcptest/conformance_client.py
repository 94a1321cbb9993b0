"""The client that the official MCP conformance suite judges.

    python -m mcptest.conformance_client URL

The suite starts this program once for each scenario, against a server of its own, and judges what
the client does. The program uses the server as `mcptest call`, `read` and `prompt` do: it opens a
session, lists what the server offers, and uses all of it once. The suite says the rest in the
environment: `MCP_CONFORMANCE_SCENARIO` is the name of the scenario,
`MCP_CONFORMANCE_PROTOCOL_VERSION` the revision to use, and `MCP_CONFORMANCE_CONTEXT` has
credentials and calls, as JSON. docs/conformance-client.md describes how to run it.

In scenarios in which a user logs in, the program is the user: when an error says to run
`mcptest login`, it runs that command, and follows the page that the command prints.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from mcptest.core.coverage import KINDS
from mcptest.core.errors import FormatError, ServerError
from mcptest.core.results import ExitCode
from mcptest.core.strict_json import dump_json
from mcptest.core.text import printable_json
from mcptest.engine.pool import SingleServer
from mcptest.engine.server import launching
from mcptest.explore.arguments import sample_arguments, sample_string
from mcptest.formats.config import load_config
from mcptest.protocol.http_messages import header_annotation_fault
from mcptest.protocol.lists import is_declared, list_features
from mcptest.reporters.failure_text import fault_headline
from mcptest.transport.process.signals import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from mcptest.core.plan import ServerSpec

    Message = dict[str, Any]
    Call = tuple[str, Message]

__all__ = ["main"]

# The scenario in which the schema of one tool is sent to another one.
_SCHEMA_ECHO = "json_schema_echo"


# Scenarios of client credentials, in which no user takes part.
_WITHOUT_USER = "auth/client-credentials-"

# How often the user logs in before giving up.
_MAX_LOGINS = 3

# How long a login may take.
_LOGIN_S = 30

# What the authorization server may fetch of this client. The suite knows this URL.
_CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"


def main(url: str, environment: Mapping[str, str]) -> int:
    """Use the server at this URL as the scenario demands; return the exit code."""
    context = json.loads(environment.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    scenario = environment.get("MCP_CONFORMANCE_SCENARIO", "")
    if not scenario.startswith("auth/") or scenario.startswith(_WITHOUT_USER):
        return _use_server(url, context, environment)[0]
    with tempfile.TemporaryDirectory() as folder:
        # Logins of this scenario alone; both this process and the command use them.
        os.environ["XDG_DATA_HOME"] = folder
        command = ["mcptest", "login", url]
        for _ in range(_MAX_LOGINS):
            if not _log_in(command, context):
                return ExitCode.NO_SERVER
            status, hint = _use_server(url, context, environment)
            found = re.search(r"run (mcptest login .+?)(?=;|$)", hint)
            if status == ExitCode.PASSED or not found:
                return status
            command = shlex.split(found[1])
    return status


def _log_in(command: list[str], context: Message) -> bool:
    """Run `mcptest login` and follow the page that it prints; True if it succeeds."""
    options = ["--no-browser", "--timeout", str(_LOGIN_S)]
    given = dict(os.environ)
    if "client_id" in context:
        options += ["--client-id", context["client_id"], "--client-secret-env", "CLIENT_SECRET"]
        given["CLIENT_SECRET"] = context["client_secret"]
    else:
        options += ["--client-metadata-url", _CLIENT_DOCUMENT]
    words = [sys.executable, "-m", *command, *options]
    with subprocess.Popen(words, env=given, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr
        for line in process.stderr:
            sys.stderr.write(line)
            if line.startswith("  http"):
                _follow_page(line.strip())
    return process.returncode == ExitCode.PASSED


def _follow_page(page: str) -> None:
    """Follow redirects, as a browser does where the user need not do anything."""
    try:
        with build_opener(ProxyHandler({})).open(page, timeout=_LOGIN_S) as answer:
            answer.read()
    except (URLError, OSError) as error:
        sys.stderr.write(f"the page could not be followed: {error}\n")


def _use_server(url: str, context: Message, environment: Mapping[str, str]) -> tuple[int, str]:
    """Use all of the server once; the exit code, and what to do about a failure."""
    try:
        spec = _read_server(url, context, environment)
        with Interrupts() as interrupts, launching(interrupts, None, judges=False) as launcher:
            server = SingleServer(spec, launcher, lambda: None)
            try:
                server.open()
                for method, params in _list_calls(server, context):
                    answer = server.ask(method, params)
                    # The suite shows it when a scenario fails.
                    sys.stdout.write(f"{method}: {printable_json(dump_json(answer))}\n")
            finally:
                server.close()
    except ServerError as error:
        fault = error.fault
        status = _report(f"{fault_headline(fault)}\n  {fault.hint}", ExitCode.NO_SERVER)
        return status, fault.hint
    except FormatError as error:
        mistakes = "; ".join(each.message for each in error.diagnostics)
        return _report(mistakes, ExitCode.BAD_INPUT), ""
    return ExitCode.PASSED, ""


def _report(message: str, status: ExitCode) -> int:
    sys.stderr.write(f"error: {message}\n")
    return status


def _read_server(url: str, context: Message, environment: Mapping[str, str]) -> ServerSpec:
    """The server as a config describes it, with the credentials of the scenario."""
    # Longer than usual: the suite runs many clients at once, and has a limit of its own.
    config: Message = {"name": "conformance", "url": url, "startupTimeout": "25s"}
    config["client"] = {
        "roots": ["file:///conformance"],
        "sampling": "An answer of the conformance client.",
        "elicitation": "accept-defaults",
    }
    known = dict(environment)
    scenario = environment.get("MCP_CONFORMANCE_SCENARIO", "")
    if scenario.startswith(_WITHOUT_USER):
        key = context.get("private_key_pem", "")
        known |= {"PRIVATE_KEY": key, "SECRET": context.get("client_secret", "")}
        grant = {"clientId": context["client_id"]}
        grant |= {"privateKeyEnv": "PRIVATE_KEY"} if key else {"clientSecretEnv": "SECRET"}
        config["auth"] = {"clientCredentials": grant}
    elif scenario.startswith("auth/"):
        config["auth"] = {"login": True}
    spec, _ = load_config(json.dumps(config), "conformance", known)
    return spec.but(spec_version=environment.get("MCP_CONFORMANCE_PROTOCOL_VERSION", ""))


def _list_calls(server: SingleServer, context: Message) -> Iterator[Call]:
    """The requests of the scenario, or one for each thing that the server offers."""
    offered = {
        name: list_features(server.ask, kind).features
        for name, kind in KINDS.items()
        if name != "resourceTemplates" and is_declared(kind, server.capabilities)
    }
    schemas = {tool["name"]: tool.get("inputSchema") for tool in offered.get("tools", ())}
    given = context.get("toolCalls")
    if given:
        yield from (("tools/call", call) for call in given)
        return
    for name, schema in schemas.items():
        # As `mcptest call` does it.
        if server.sends_param_headers and header_annotation_fault(schema):
            continue
        arguments = sample_arguments(schema).arguments
        if name == _SCHEMA_ECHO:
            arguments = {"schema": next(iter(schemas.values()))}
        yield "tools/call", {"name": name, "arguments": arguments}
    for resource in offered.get("resources", ()):
        yield "resources/read", {"uri": resource["uri"]}
    for prompt in offered.get("prompts", ()):
        needed = [each for each in prompt.get("arguments") or () if each.get("required")]
        arguments = {each["name"]: sample_string(each["name"]) for each in needed}
        yield "prompts/get", {"name": prompt["name"], "arguments": arguments}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m mcptest.conformance_client URL")
    sys.exit(main(sys.argv[1], os.environ))
