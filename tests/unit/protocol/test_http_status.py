"""What a refusing status says, in a sentence that helps."""

from __future__ import annotations

import pytest

from mcptest.protocol.framing import TransportFault
from mcptest.protocol.http_messages import status_fault


def refused(
    status: int, raw: bytes = b"", headers: dict[str, str] | None = None, said: str = "tools/call"
) -> TransportFault:
    return status_fault(said, 1, status, headers or {}, raw)


@pytest.mark.parametrize(
    ("status", "kind", "effect", "hint"),
    [
        (400, "http_status", "definite", "does not take the message"),
        (401, "auth_failed", "definite", "wants credentials"),
        (403, "http_status", "definite", "credentials are not enough"),
        (404, "http_status", "definite", "is the path of the URL right?"),
        (405, "http_status", "definite", "is this the MCP endpoint?"),
        (413, "http_status", "definite", "larger than the server takes"),
        (418, "http_status", "definite", ""),
        (429, "http_status", "definite", "fewer requests"),
        (500, "http_status", "indefinite", "its own log"),
        (503, "http_status", "indefinite", "is not ready"),
    ],
)
def test_each_status_has_its_kind_its_effect_and_its_hint(
    status: int, kind: str, effect: str, hint: str
) -> None:
    found = refused(status)
    assert (found.kind, found.effect, found.id) == (kind, effect, 1)
    assert found.message == f"the server refused tools/call with status {status} and an empty body"
    assert hint in found.hint


def test_the_response_body_is_quoted_shortened_and_escaped() -> None:
    found = refused(500, b"\x1b[31mboom" + b"x" * 1000)
    assert "boom" in found.message
    assert "\x1b" not in found.message
    assert len(found.message) < 400


def test_where_it_is_cut_it_says_so() -> None:
    assert 'x" … (800 more bytes)' in refused(500, b"x" * 1000).message
    assert "…" not in refused(500, b"x" * 200).message


def test_the_scopes_a_server_requires_are_reported() -> None:
    asked = 'Bearer resource_metadata="https://a/x"\x1b'
    found = refused(401, headers={"www-authenticate": asked})
    assert "it asks for Bearer resource_metadata=" in found.hint
    assert "\x1b" not in found.hint


def test_a_retry_time_is_reported() -> None:
    assert refused(429, headers={"retry-after": "30"}).hint.endswith("come back after 30")
    assert refused(418, headers={"retry-after": "30"}).hint == "it says to come back after 30"


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_refused_discovery_may_be_that_of_the_other_era(status: int) -> None:
    assert "leave out --spec-version" in refused(status, said="server/discover").hint
    assert "leave out --spec-version" not in refused(500, said="server/discover").hint
