"""Checks of opening a session (LIFE): versions, capabilities, discovery, what is gone.

Whether the capabilities for tools, resources, prompts and completions are true is checked by their
own families (TOOL-01, RES-01, PROMPT-01, COMP-01), so that one mistake is one finding; LIFE-13 is
about logging.
"""

from __future__ import annotations

from mcptest.compliance.check import PASSED, Check, could_not_run, not_applicable, violated
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt, join_words
from mcptest.protocol import jsonrpc
from mcptest.protocol.revisions import (
    FIRST_STATELESS,
    HANDSHAKE_REVISIONS,
    REVISIONS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    handshake_gaps,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.compliance.check import Outcome
    from mcptest.compliance.raw_connection import Answer, Peer
    from mcptest.compliance.run import Run

__all__ = ["AT_OPENING", "CHECKS"]

AT_OPENING = (
    " when it was sent notifications/initialized, which is a notification (it has no id, and gets "
    "no answer), and then a ping"
)

_HANDSHAKE_END = HANDSHAKE_REVISIONS[-1]
_UNKNOWN_VERSION = "1999-01-01"

# From this revision on, capabilities must be declared truly.
_TRUTH_SINCE = "2025-06-18"

_REMOVED = ("ping", "logging/setLevel", "resources/subscribe", "initialize")


def _show(value: object) -> str:
    return excerpt(dump_json(value), 120)


# With a handshake


def _completes_initialize(peer: Peer, run: Run) -> Outcome:
    offer = run.offer(peer.version)
    gaps = list(handshake_gaps(offer.answer.result or peer.opening))
    return violated(f"initialize: {gaps[0]}").with_evidence(offer) if gaps else PASSED


def _echoes_versions(peer: Peer, run: Run) -> Outcome:
    answered = {version: run.offer(version) for version in HANDSHAKE_REVISIONS}
    spoken = {offer.version for offer in answered.values() if offer.version in answered}
    for version in sorted(spoken):
        offer = answered[version]
        if offer.version != version:
            seen = offer.version or offer.answer.describe()
            return violated(
                f"the server answered {version} to another offer, so it supports that; offered "
                f"{version} itself, it answered with {seen}"
            ).with_evidence(offer)
    return PASSED


def _counters_unknown_versions(peer: Peer, run: Run) -> Outcome:
    offer = run.offer(_UNKNOWN_VERSION)
    if offer.version == _UNKNOWN_VERSION:
        outcome = violated(
            f"offered the version {_UNKNOWN_VERSION}, which does not exist, the server agreed; it "
            "must answer with a version that it supports"
        )
    elif offer.answer.error is not None or offer.answer.status >= 400:
        outcome = violated(
            f"offered the unknown version {_UNKNOWN_VERSION}, the server answered with "
            f"{offer.answer.describe()}; it must answer with a version that it supports",
            level="SHOULD",
        )
    elif offer.version in REVISIONS:
        return PASSED
    else:
        seen = _show((offer.answer.result or {}).get("protocolVersion"))
        seen = offer.answer.problem or f"the version {seen}"
        outcome = violated(f"offered an unknown version, the server answered with {seen}")
    return outcome.with_evidence(offer)


def _counters_with_the_latest(peer: Peer, run: Run) -> Outcome:
    offer = run.offer(_UNKNOWN_VERSION)
    spoken = [version for version in HANDSHAKE_REVISIONS if run.offer(version).version == version]
    if offer.version not in REVISIONS or not spoken:
        return not_applicable("the server answers unknown versions with no version of its own")
    if offer.version == spoken[-1]:
        return PASSED
    message = f"offered an unknown version, the server answered with {offer.version}; it should be "
    return violated(f"{message}the latest one that it supports, {spoken[-1]}").with_evidence(offer)


def _tolerates_extras(peer: Peer, run: Run) -> Outcome:
    fresh = run.connect()
    peer.clear_evidence()
    extra = {"capabilities": {"mcptest/unknown": {"a": [1]}}, "mcptestExtra": {"b": None}}
    answer = fresh.open(peer.version, extra)
    fresh.end()
    if answer.result is not None:
        return PASSED
    message = "initialize with a capability and a member that no revision defines got "
    outcome = violated(f"{message}{answer.describe()}; unknown members must be ignored")
    return outcome.with_evidence(fresh)


def _answers_ping(peer: Peer, run: Run) -> Outcome:
    """On stdio also before `initialize`; over HTTP there is no session before it."""
    early = None
    if peer.transport == "stdio":
        early = peer.request_or_silence(peer.message("ping"))
        if early.result == {}:
            return PASSED
        sent, received = tuple(peer.sent), tuple(peer.received)
    fresh = run.connect(run.version)
    fresh.clear_evidence()
    answer = fresh.request("ping")
    is_lost = fresh.is_lost
    fresh.end()
    if answer.status == 401:
        return could_not_run("the server needs a token: give --bearer-env NAME")
    if peer.transport == "stdio" and is_lost:
        return violated(f"the server {fresh.end_status}{AT_OPENING}").with_evidence(fresh)
    if answer.result != {}:
        message = f"ping must get an empty result; the server answered with {answer.describe()}"
        return violated(message).with_evidence(fresh)
    if early is None:
        return PASSED
    message = "a ping before initialize, which clients may send, got "
    return violated(f"{message}{early.describe()}", level="SHOULD").but(
        sent=sent, received=received
    )


_ANSWERS_EVERYTHING = not_applicable("unknown methods get a result, as BASE-18 reports")


def _declares_logging_truly(peer: Peer, run: Run) -> Outcome:
    answer = peer.request_or_silence(peer.message("logging/setLevel", {"level": "info"}))
    if peer.has("logging"):
        if answer.code == jsonrpc.METHOD_NOT_FOUND:
            return violated(
                "the server declares logging, but has no method logging/setLevel; implement it, or "
                "do not declare logging"
            )
        return PASSED
    if answer.result is not None and run.has_failed("BASE-18"):
        return _ANSWERS_EVERYTHING
    if answer.result is not None:
        return violated(
            "the server answers logging/setLevel, but does not declare logging; declare it, or "
            "answer with error -32601 (method not found)"
        )
    return PASSED


def _declares_subscriptions_truly(peer: Peer, run: Run) -> Outcome:
    resources = peer.list_all("resources")
    uris = [each.get("uri") for each in resources or () if isinstance(each.get("uri"), str)]
    if not uris:
        return not_applicable("the server lists no resource that could be subscribed to")
    peer.clear_evidence()
    answer = peer.request_or_silence(peer.message("resources/subscribe", {"uri": uris[0]}))
    if answer.result is not None:
        peer.request("resources/unsubscribe", {"uri": uris[0]})
    is_declared = peer.has("resources", "subscribe")
    if is_declared and answer.code == jsonrpc.METHOD_NOT_FOUND:
        return violated(
            "the server declares resources.subscribe, but has no method resources/subscribe; "
            "implement it, or do not declare resources.subscribe"
        )
    if not is_declared and answer.result is not None and run.has_failed("BASE-18"):
        return _ANSWERS_EVERYTHING
    if not is_declared and answer.result is not None:
        return violated(
            "the server accepts resources/subscribe, but does not declare resources.subscribe; "
            "declare it, or answer with error -32601 (method not found)"
        )
    return PASSED


# Without a handshake


def _implements_discover(peer: Peer, run: Run) -> Outcome:
    """Without a result no session is opened, and this check is the one that fails."""
    return PASSED


def _discovers_everything(peer: Peer, run: Run) -> Outcome:
    result = peer.opening
    offer = run.offer(peer.version)
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or not all(isinstance(each, str) for each in versions):
        seen = "missing" if versions is None else _show(versions)
        outcome = violated(
            "the result of server/discover must have supportedVersions, an array of strings; it is "
            f"{seen}"
        )
    elif peer.version not in versions:
        outcome = violated(f"supportedVersions lacks {peer.version}, the version of the request")
    elif not isinstance(result.get("capabilities"), dict):
        outcome = violated("the result of server/discover must have capabilities, an object")
    else:
        return PASSED
    return outcome.with_evidence(offer)


def _unknown_version_request(peer: Peer) -> dict[str, Any]:
    return peer.message("server/discover", {"_meta": {VERSION_KEY: _UNKNOWN_VERSION}})


def _send_unknown_version(peer: Peer) -> Answer:
    return peer.request_or_silence(_unknown_version_request(peer), is_judged=False)


def _judge_wrong_version(answer: Answer, when: str) -> Outcome:
    if answer.code != UNSUPPORTED_VERSION:
        return violated(
            f"a request in the unknown revision {_UNKNOWN_VERSION}{when} must get error -32022 "
            f"(unsupported protocol version); the server answered with {answer.describe()}"
        )
    data = (answer.error or {}).get("data")
    data = data if isinstance(data, dict) else {}
    supported = data.get("supported")
    if not isinstance(supported, list) or not supported:
        return violated(f"error -32022 must list the versions in data.supported: {_show(data)}")
    if data.get("requested") != _UNKNOWN_VERSION:
        message = f"data.requested of error -32022 must be {_UNKNOWN_VERSION}, and is "
        return violated(message + _show(data.get("requested")))
    return PASSED


def _refuses_versions_at_once(peer: Peer, run: Run) -> Outcome:
    fresh = run.connect()
    fresh.version = run.version
    answer = _send_unknown_version(fresh)
    fresh.end()
    outcome = _judge_wrong_version(answer, " as the first of a connection")
    return outcome.with_evidence(fresh)


def _refuses_versions_later(peer: Peer, run: Run) -> Outcome:
    return _judge_wrong_version(_send_unknown_version(peer), " after a good one")


def _judges_versions_one_by_one(peer: Peer, run: Run) -> Outcome:
    for _ in range(2):
        wrong = peer.start(_unknown_version_request(peer), is_judged=False)
        good = peer.request("server/discover")
        wrong.close()
        if good.result is None:
            return violated(
                f"a good request after one in the unknown revision {_UNKNOWN_VERSION} got "
                f"{good.describe()}; each request is judged by its own revision"
            )
    return PASSED


def _needs_no_discover(peer: Peer, run: Run) -> Outcome:
    lists = [name for name in ("tools", "resources", "prompts") if peer.has(name)]
    if not lists:
        return not_applicable("the server has no tools, resources or prompts to list")
    fresh = run.connect()
    fresh.version = run.version
    answer = fresh.request(f"{lists[0]}/list")
    fresh.end()
    if answer.result is not None:
        return PASSED
    message = f"{lists[0]}/list as the first request of a connection got {answer.describe()}"
    return violated(f"{message}; server/discover is not required before it").with_evidence(fresh)


def _knows_no_removed_methods(peer: Peer, run: Run) -> Outcome:
    weak = PASSED
    for method in _REMOVED:
        peer.clear_evidence()
        params = {"level": "info"} if method == "logging/setLevel" else {}
        params |= {"uri": f"mcptest://{run.suffix}"} if method == "resources/subscribe" else {}
        params |= peer.initialize_params(_HANDSHAKE_END) if method == "initialize" else {}
        answer = peer.request_or_silence(peer.message(method, params), is_judged=False)
        if not answer.is_refused:
            return violated(
                f"{method}, which revision {peer.version} does not have, got {answer.describe()}"
            )
        if method != "initialize" and answer.code not in (jsonrpc.METHOD_NOT_FOUND, None):
            weak = violated(
                f"{method}, which revision {peer.version} does not have, should get error -32601; "
                f"the server answered with {answer.describe()}",
                level="SHOULD",
            ).with_evidence(peer)
    return weak


def _names_versions_to_old_clients(peer: Peer, run: Run) -> Outcome:
    offer = run.offer(_HANDSHAKE_END)
    if offer.version:
        return not_applicable("the server speaks revisions with a handshake, too")
    if run.version in dump_json(offer.answer.error):
        return PASSED
    message = "the error to initialize should name the versions that the server speaks: "
    return violated(message + offer.answer.describe()).with_evidence(offer)


def _lists_the_same_to_all(peer: Peer, run: Run) -> Outcome:
    names = [
        name
        for name in ("tools", "resources", "prompts")
        if peer.has(name) and not peer.has(name, "listChanged")
    ]
    if not names:
        return not_applicable("the server has no list that does not change")
    fresh = run.connect(run.version)
    differing = [name for name in names if fresh.list_all(name) != peer.list_all(name)]
    fresh.end()
    if not differing:
        return PASSED
    return violated(
        f"two connections got different lists of {join_words(differing)}, and the server does not "
        "declare that they change"
    ).with_evidence(fresh)


CHECKS = {
    "LIFE-01 init-result-complete": Check(
        property="initialize returns a version, capabilities, and the name of the server",
        run=_completes_initialize,
        until=_HANDSHAKE_END,
        explains=("BASE-41",),
        section="basic/lifecycle#Initialization",
    ),
    "LIFE-02 version-echo": Check(
        property="a version that the server supports is accepted when it is offered",
        run=_echoes_versions,
        until=_HANDSHAKE_END,
        phase="own",
        section="basic/lifecycle#Version Negotiation",
    ),
    "LIFE-03 version-counter": Check(
        property="an unknown version is answered with one that the server supports",
        run=_counters_unknown_versions,
        until=_HANDSHAKE_END,
        phase="own",
        section="basic/lifecycle#Version Negotiation",
    ),
    "LIFE-04 version-counter-latest": Check(
        property="an unknown version is answered with the latest one that the server supports",
        run=_counters_with_the_latest,
        until=_HANDSHAKE_END,
        level="SHOULD",
        phase="own",
        section="basic/lifecycle#Version Negotiation",
    ),
    "LIFE-05 init-tolerates-extras": Check(
        property="unknown members and capabilities in initialize are ignored",
        run=_tolerates_extras,
        until=_HANDSHAKE_END,
        level="SHOULD",
        phase="own",
        section="basic/lifecycle#Initialization",
    ),
    "LIFE-11 ping-answer": Check(
        property="ping gets an empty result, also before initialize",
        run=_answers_ping,
        until=_HANDSHAKE_END,
        phase="start",
        section="basic/utilities/ping#Behavior Requirements",
    ),
    "LIFE-13 capability-truth": Check(
        property="logging/setLevel works if, and only if, logging is declared",
        run=_declares_logging_truly,
        until=_HANDSHAKE_END,
        explains=("LOG-03", "LOG-04"),
        section="basic/lifecycle#Capability Negotiation",
        stateless_section="server/discover#Response",
    ),
    "LIFE-14 subscribe-capability-truth": Check(
        property="resources/subscribe works if, and only if, resources.subscribe is declared",
        run=_declares_subscriptions_truly,
        until=_HANDSHAKE_END,
        must_since=_TRUTH_SINCE,
        section="basic/lifecycle#Capability Negotiation",
    ),
    "LIFE-15 discover-implemented": Check(
        property="server/discover returns a result",
        run=_implements_discover,
        since=FIRST_STATELESS,
        section="server/discover#Response",
    ),
    "LIFE-16 discover-shape": Check(
        property="server/discover lists the supported versions, including that of the request",
        run=_discovers_everything,
        since=FIRST_STATELESS,
        explains=("BASE-41",),
        section="server/discover#Response",
    ),
    "LIFE-18 unsupported-version-fresh": Check(
        property="a first request in an unknown revision gets error -32022",
        run=_refuses_versions_at_once,
        since=FIRST_STATELESS,
        phase="own",
        explains=("LIFE-19",),
        section="basic/versioning#Protocol Version Negotiation",
    ),
    "LIFE-19 unsupported-version-later": Check(
        property="a later request in an unknown revision gets error -32022",
        run=_refuses_versions_later,
        since=FIRST_STATELESS,
        transport="stdio",
        phase="malformed",
        section="basic/versioning#Protocol Version Negotiation",
    ),
    "LIFE-20 version-per-request": Check(
        property="the revision of each request is judged by itself",
        run=_judges_versions_one_by_one,
        since=FIRST_STATELESS,
        transport="stdio",
        phase="malformed",
        section="basic/versioning#Protocol Version Negotiation",
    ),
    "LIFE-21 no-discover-needed": Check(
        property="a list can be the first request of a connection",
        run=_needs_no_discover,
        since=FIRST_STATELESS,
        transport="stdio",
        phase="own",
        section="basic/versioning#Protocol Version Negotiation",
    ),
    "LIFE-22 removed-methods-gone": Check(
        property="methods that the revision has removed get an error",
        run=_knows_no_removed_methods,
        since=FIRST_STATELESS,
        phase="malformed",
        section="basic/versioning#Backward Compatibility with Initialization-Based Versions",
    ),
    "LIFE-23 init-error-names-versions": Check(
        property="the error to initialize names the versions that the server speaks",
        run=_names_versions_to_old_clients,
        since=FIRST_STATELESS,
        level="SHOULD",
        phase="own",
        section="basic/versioning#Backward Compatibility with Initialization-Based Versions",
    ),
    "LIFE-24 list-not-per-connection": Check(
        property="all connections get the same lists",
        run=_lists_the_same_to_all,
        since=FIRST_STATELESS,
        phase="own",
        section="server/tools#Capabilities",
    ),
}
