"""The official conformance suite, as the judge of mcptest's own client, in both eras."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.environment import LEAST_NODE, NODE_FOLDER, find_newer_node

MODULES = NODE_FOLDER / "node_modules"
OLDER = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
NEWER = MODULES / "conformance-2026/dist/index.js"
CLIENT = f"{sys.executable} -m mcptest.conformance_client"
PATIENCE_S = 120

needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None, reason="there is no npm, so ./check could not install it"
)

# Scenarios in which a user logs in, in every era.
LOGINS = (
    *(f"auth/metadata-{name}" for name in ("default", "var1", "var2", "var3")),
    "auth/basic-cimd",
    "auth/pre-registration",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
)
# Scenarios of the handshake era.
HANDSHAKE = (
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    *LOGINS,
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
)
# The stateless era, which only the newer suite has.
STATELESS = (
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
    *LOGINS,
    "auth/resource-mismatch",
    "auth/metadata-issuer-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/authorization-server-migration",
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
)
# Extensions that no test of a server needs.
OUT_OF_SCOPE = {
    "auth/enterprise-managed-authorization",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
}


# Of the older suite, one scenario of each kind. In two of the others, metadata-var2 and -var3, its
# metadata has the issuer of another path, which must be refused.
OLDER_SCENARIOS = (
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/basic-cimd",
    "auth/pre-registration",
    "auth/scope-step-up",
    "auth/token-endpoint-auth-basic",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
)


def newer_node() -> str:
    found = find_newer_node()
    if found is None:
        pytest.skip(f"the newest conformance suite needs Node {LEAST_NODE} or newer")
    return found


def judge(node: str, suite: Path, scenario: str, *words: str) -> str:
    """What the suite says about one scenario, which must pass with at least one check."""
    done = subprocess.run(
        [
            *(node, str(suite), "client", "--command", CLIENT, "--scenario", scenario),
            *("--timeout", str(1000 * PATIENCE_S // 2), *words),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )
    message = done.stdout + done.stderr
    assert done.returncode == 0, message
    counts = re.search(r"Passed: (\d+)/(\d+)", message)
    assert counts, message
    assert int(counts[1]) > 0, message
    return message


@pytest.mark.long
@needs_npm
@pytest.mark.parametrize("scenario", OLDER_SCENARIOS)
def test_a_scenario_of_the_older_suite_passes(scenario: str) -> None:
    judge("node", OLDER, scenario)


@pytest.mark.long
@needs_npm
@pytest.mark.parametrize("scenario", HANDSHAKE)
def test_a_scenario_of_the_handshake_era_passes(scenario: str) -> None:
    judge(newer_node(), NEWER, scenario)


@pytest.mark.long
@needs_npm
@pytest.mark.parametrize("scenario", STATELESS)
def test_a_scenario_of_the_stateless_era_passes(scenario: str) -> None:
    judge(newer_node(), NEWER, scenario, "--spec-version", "2026-07-28")


@pytest.mark.long
@needs_npm
def test_every_scenario_is_run_or_out_of_scope() -> None:
    listed = subprocess.run(
        [newer_node(), str(NEWER), "list", "--client"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=True,
    )
    known = set(re.findall(r"^  - (\S+)", listed.stdout, re.MULTILINE))
    run = {*HANDSHAKE, *STATELESS}
    assert known == run | OUT_OF_SCOPE
    assert not run & OUT_OF_SCOPE
