"""The client that the official MCP conformance suite judges.

    python -m mcptest.conformance_client URL

The suite starts this program once for each scenario, against a server of its own, and judges what
the client does. The program uses the server as `mcptest call`, `read` and `prompt` do: it opens a
session, lists what the server offers, and uses all of it once. The suite says the rest in the
environment: `MCP_CONFORMANCE_SCENARIO` is the name of the scenario,
`MCP_CONFORMANCE_PROTOCOL_VERSION` the revision to use, and `MCP_CONFORMANCE_CONTEXT` has
credentials and calls, as JSON. docs/conformance-client.md describes how to run it.
"""

from __future__ import annotations

import json
import os
import sys

from mcptest.core.coverage import KINDS
from mcptest.core.errors import FormatError, ServerError
from mcptest.core.results import ExitCode
from mcptest.core.strict_json import dump_json
from mcptest.core.text import printable_json
from mcptest.engine.pool import SingleServer
from mcptest.engine.server import launching
from mcptest.explore.arguments import sample_arguments, sample_string
from mcptest.explore.features import is_declared, list_features
from mcptest.formats.config import load_config
from mcptest.protocol.http_messages import header_annotation_fault
from mcptest.reporters.text import fault_headline
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


def main(url: str, environment: Mapping[str, str]) -> int:
    """Use the server at this URL as the scenario demands; return the exit code."""
    context = json.loads(environment.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    try:
        spec = _read_server(url, context, environment)
        with Interrupts() as interrupts, launching(interrupts, None, judges=False) as launcher:
            visit = SingleServer(spec, launcher, lambda: None)
            try:
                visit.open()
                for method, params in _calls(visit, context):
                    answer = visit.ask(method, params)
                    # The suite shows it when a scenario fails.
                    sys.stdout.write(f"{method}: {printable_json(dump_json(answer))}\n")
            finally:
                visit.close()
    except ServerError as error:
        fault = error.fault
        return _report(f"{fault_headline(fault)}\n  {fault.hint}", ExitCode.NO_SERVER)
    except FormatError as error:
        mistakes = "; ".join(each.message for each in error.diagnostics)
        return _report(mistakes, ExitCode.BAD_INPUT)
    return ExitCode.PASSED


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
    if environment.get("MCP_CONFORMANCE_SCENARIO", "").startswith("auth/"):
        # Where the suite has no credentials, made-up ones show what is done with metadata.
        key = context.get("private_key_pem", "")
        known |= {"PRIVATE_KEY": key, "SECRET": context.get("client_secret", "conformance-secret")}
        grant = {"clientId": context.get("client_id", "mcptest")}
        grant |= {"privateKeyEnv": "PRIVATE_KEY"} if key else {"clientSecretEnv": "SECRET"}
        config["auth"] = {"clientCredentials": grant}
    spec, _ = load_config(json.dumps(config), "conformance", known)
    return spec.but(spec_version=environment.get("MCP_CONFORMANCE_PROTOCOL_VERSION", ""))


def _calls(visit: SingleServer, context: Message) -> Iterator[Call]:
    """The requests of the scenario, or one for each thing that the server offers."""
    offered = {
        name: list_features(visit.ask, kind).features
        for name, kind in KINDS.items()
        if name != "resourceTemplates" and is_declared(kind, visit.capabilities)
    }
    schemas = {tool["name"]: tool.get("inputSchema") for tool in offered.get("tools", ())}
    given = context.get("toolCalls")
    if given:
        yield from (("tools/call", call) for call in given)
        return
    for name, schema in schemas.items():
        # As `mcptest call` does it.
        if visit.sends_param_headers and header_annotation_fault(schema):
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
