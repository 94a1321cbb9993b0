"""Find out by trying in which eras a server speaks over a transport, and what it says there.

Only a refusal that means it makes an era one that is not spoken. Whatever else keeps a server
from being opened is an error of that way.
"""

from __future__ import annotations

import time

from mcptest.core.errors import ServerError
from mcptest.core.handshake import is_unspoken
from mcptest.core.http_status import NOT_SPOKEN
from mcptest.core.matrix import Way
from mcptest.core.offer_kinds import KINDS
from mcptest.core.record import Record
from mcptest.core.revisions import DEFAULT_OFFER, HANDSHAKE_REVISIONS, STATELESS
from mcptest.runner.inventory import EndlessError, list_pages
from mcptest.runner.matrix_differences import Opening
from mcptest.runner.server import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.offer_kinds import Kind
    from mcptest.core.outcome import Fault
    from mcptest.core.plan import ServerSpec
    from mcptest.runner.launcher import Launcher
    from mcptest.runner.matrix_differences import Entries

__all__ = ["Probe", "probe_eras"]

# How long all lists of one way together may take, and how much of each is looked at.
_PATIENCE_S = 5.0
_MAX_ENTRIES = 20_000

# Where a server of the stateless era says who it is.
_INFO_KEY = "io.modelcontextprotocol/serverInfo"

_DISCOVER = "server/discover"


class Probe(Record):
    """One way that was tried: what the server said, or why it cannot be spoken to so.

    `is_broken` when that is an error, and not the server's word that it does not speak so.
    """

    way: Way
    opening: Opening | None = None
    fault: Fault | None = None
    is_broken: bool = False


def probe_eras(transport: str, spec: ServerSpec, launcher: Launcher) -> Iterator[Probe]:
    """Each era with a process and a session of its own: servers may be bound to the first."""
    # Nobody's test is run: nothing of it belongs into captures, logs and scores.
    launcher = launcher.but(keeps_traffic=False, judges=False, keeps_log="")
    yield _with_handshake(transport, spec, launcher)
    yield _probe(Way(transport=transport, revision=STATELESS), spec, launcher)


def _with_handshake(transport: str, spec: ServerSpec, launcher: Launcher) -> Probe:
    """The newest revision with a handshake, or the one that the server has instead."""
    own = [each for each in (spec.spec_version, spec.protocol_version) if each != STATELESS]
    offer = next(filter(None, own), DEFAULT_OFFER)
    probe = _probe(Way(transport=transport, revision=offer), spec, launcher)
    if probe.fault is None or probe.fault.kind != "unsupported_version":
        return probe
    try:
        version = _preferred(spec.but(spec_version="", protocol_version=offer), launcher)
    except ServerError:
        return probe
    if version in HANDSHAKE_REVISIONS and version != offer:
        return _probe(Way(transport=transport, revision=version), spec, launcher)
    return probe


def _preferred(spec: ServerSpec, launcher: Launcher) -> str:
    """The revision that the server counters an offer with; "" when it has no handshake."""
    server = Server(spec, launcher)
    try:
        server.open()
        return "" if server.is_stateless else str(server.handshake.get("protocolVersion", ""))
    finally:
        server.close()


def _probe(way: Way, spec: ServerSpec, launcher: Launcher) -> Probe:
    try:
        server = Server(spec.but(spec_version=way.revision), launcher)
        try:
            server.open()
            return Probe(way=way, opening=_opening(server))
        finally:
            server.close()
    except ServerError as error:
        return Probe(way=way, fault=error.fault, is_broken=not _is_refusal(way, error.fault))


def _is_refusal(way: Way, fault: Fault) -> bool:
    """Whether what came says that this era is not spoken."""
    if is_unspoken(fault):
        return True
    if fault.kind == "http_status":
        return fault.code in NOT_SPOKEN
    # Over pipes, servers with a handshake ignore what may not come first, or give up at it.
    is_mute = fault.kind in ("handshake_timeout", "exited_early") and _DISCOVER in fault.message
    return is_mute and way.transport == "stdio" and way.revision == STATELESS


def _opening(server: Server) -> Opening:
    declared = server.capabilities
    capabilities = declared if isinstance(declared, dict) else {}
    meta = server.handshake.get("_meta")
    info = server.handshake.get("serverInfo")
    if info is None and isinstance(meta, dict):
        info = meta.get(_INFO_KEY)
    deadline = time.monotonic() + _PATIENCE_S
    return Opening(
        capabilities=capabilities,
        info=info if isinstance(info, dict) else None,
        lists={
            kind.name: _entries(server, kind, deadline)
            for kind in KINDS.values()
            if kind.capability in capabilities
        },
    )


def _entries(server: Server, kind: Kind, deadline: float) -> Entries | None:
    """What a list holds; None when it could not be read to its end."""
    found: Entries = {}
    times: dict[str, int] = {}
    try:
        for page in list_pages(server, kind, deadline):
            for entry in page:
                if isinstance(entry, dict) and isinstance(name := entry.get(kind.key), str):
                    times[name] = times.get(name, 0) + 1
                    found[name, times[name]] = entry
            if len(found) > _MAX_ENTRIES:
                return None
    except (EndlessError, ServerError):
        return None
    return found
