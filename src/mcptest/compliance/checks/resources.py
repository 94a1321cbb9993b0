"""Checks of resources and of subscriptions: what can be read, and what must not be.

RES-01 is the part of LIFE-13 that is about resources. Subscriptions of the stateless era are
requests that stay open; every check cancels those that it has opened.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from mcptest.compliance.check import (
    PASSED,
    Check,
    Outcome,
    UndecidedError,
    could_not_run,
    not_applicable,
    violated,
)
from mcptest.compliance.checks.features import (
    answers_list,
    declares_truly,
    hinted_call,
    judge_silence,
    names_of,
    own_session,
    require_entries,
    undeclared,
)
from mcptest.compliance.raw_connection import HttpPeer, StdioPeer
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt
from mcptest.protocol import jsonrpc
from mcptest.protocol.revisions import META_SUBSCRIPTION, MISSING_CAPABILITY, RESOURCE_NOT_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.compliance.raw_connection import Answer, Peer, Pending
    from mcptest.compliance.run import Run

    Message = dict[str, Any]

__all__ = ["CHECKS"]

_MAX_READ = 5


# Reading


def _reads_listed(peer: Peer, run: Run) -> Outcome:
    """Read some of the resources; the shape of what comes back is judged by the passive rule."""
    resources = require_entries(peer, "resources")
    uris = list(names_of(resources, "uri"))[:_MAX_READ]
    if not uris:
        return could_not_run("no listed resource has a URI")
    has_read = False
    for uri in uris:
        peer.clear_evidence()
        answer = peer.request("resources/read", {"uri": uri})
        has_read |= answer.result is not None
        if answer.result is None and answer.code != MISSING_CAPABILITY:
            return violated(
                f"resources/list has {excerpt(uri, 120)}, and resources/read of it got "
                f"{answer.describe()}",
                level="SHOULD",
            )
    if not has_read:
        return not_applicable("every listed resource needs a capability of the client")
    return PASSED


def _unknown_uri(peer: Peer, run: Run) -> str:
    """A URI that the server cannot have; "" if its templates may fit any URI.

    It is a neighbour of a listed resource, unless a template has that scheme.
    """
    name = run.unknown_name("resource")
    templates = list(names_of(peer.list_all("resourceTemplates") or [], "uriTemplate"))
    if any("{" in each.partition(":")[0] for each in templates):
        return ""
    taken = {each.partition(":")[0].lower() for each in templates}
    for uri in names_of(peer.list_all("resources") or [], "uri"):
        folder, slash, _ = uri.rpartition("/")
        scheme = uri.partition(":")[0].lower()
        if slash and scheme not in taken and not folder.endswith((":", ":/")):
            return f"{folder}/{name}"
    return f"{name}://nothing"


def _read_unknown(peer: Peer, run: Run) -> Answer:
    """The answer to a read of a URI that does not exist. UndecidedError if none is known."""
    if not peer.has("resources"):
        raise UndecidedError(undeclared("resources"))
    uri = _unknown_uri(peer, run)
    if not uri:
        reason = "a template of the server may fit any URI, so none is unknown"
        raise UndecidedError(not_applicable(reason))
    peer.clear_evidence()
    answer = peer.request_or_silence(peer.message("resources/read", {"uri": uri}))
    if (answer.result or {}).get("contents"):
        reason = "the server has contents for a URI that it does not list"
        raise UndecidedError(not_applicable(reason))
    return answer


def _refuses_unknown_uris(code: int) -> Callable[[Peer, Run], Outcome]:
    def check(peer: Peer, run: Run) -> Outcome:
        answer = _read_unknown(peer, run)
        if answer.code == code:
            return PASSED
        if peer.is_stateless and answer.result is not None:
            return not_applicable("an unknown URI got a result, which RES-09 reports")
        return violated(
            f"resources/read of a URI that does not exist got {answer.describe()}; "
            f"expected error {code}"
        )

    return check


def _has_no_empty_contents(peer: Peer, run: Run) -> Outcome:
    answer = _read_unknown(peer, run)
    if answer.result is None:
        return PASSED
    return violated(
        f"resources/read of a URI that does not exist got {answer.describe()}; a client takes that "
        "for a resource that is empty; expected error -32602"
    )


# None of these is a URI.
_GARBAGE = ("", "not a URI", "://", "\u0000", "mcptest\n{}", "%zz %00")


def _refuses_garbage(peer: Peer, run: Run) -> Outcome:
    if not peer.has("resources"):
        return undeclared("resources")
    if not _unknown_uri(peer, run):
        return not_applicable("a template of the server may fit any string")
    for uri in _GARBAGE:
        peer.clear_evidence()
        what = f"resources/read of {dump_json(uri)}, which is not a URI,"
        answer = peer.request("resources/read", {"uri": uri}, is_judged=False)
        if outcome := judge_silence(peer, what, answer):
            return outcome
        if answer.result is None:
            continue
        if answer.result.get("contents"):
            return violated(f"{what} got {answer.describe()}; expected an error")
        # In the stateless era RES-09 reports this.
        if not peer.is_stateless:
            return violated(f"{what} got {answer.describe()}; expected an error", level="SHOULD")
    return PASSED


# A file that every Unix has, and no server has a reason to offer.
_OUTSIDE = "etc/hosts"


def _stays_inside(peer: Peer, run: Run) -> Outcome:
    """Read a file outside of what is offered with `..`, which must not get further than its path.

    A server that also reads the file by its plain path may offer the whole file system.
    """
    resources = require_entries(peer, "resources")
    files = [uri for uri in names_of(resources, "uri") if uri.lower().startswith("file:///")]
    if not files:
        return not_applicable("the server lists no file:// resource")
    if not run.is_remote and not Path(f"/{_OUTSIDE}").exists():
        return not_applicable(f"this machine has no /{_OUTSIDE}, which could be reached")
    folder = urlsplit(files[0]).path.rpartition("/")[0]
    plain = peer.request("resources/read", {"uri": f"file:///{_OUTSIDE}"})
    root = str(run.hints.get("file_root") or "/")
    if (plain.result or {}).get("contents"):
        if f"/{_OUTSIDE}".startswith(f"{root.rstrip('/')}/"):
            return could_not_run(
                f"the server also reads file:///{_OUTSIDE} by its plain path; whether it may is "
                "not known: give file_root in the file that --hints names",
                needs="file_root",
            )
        return violated(f"file:///{_OUTSIDE} can be read, which is outside of {excerpt(root, 80)}")
    up = folder.count("/") + 3
    for step in ("..", "%2e%2e", "%2E%2E", "..%2f.."):
        peer.clear_evidence()
        uri = f"file://{folder}/{'/'.join([step] * up)}/{_OUTSIDE}"
        answer = peer.request("resources/read", {"uri": uri})
        if outcome := judge_silence(peer, f"resources/read of {uri}", answer):
            return outcome
        if (answer.result or {}).get("contents"):
            return violated(
                f"resources/read of {excerpt(uri, 160)} got {answer.describe()}, although "
                f"file:///{_OUTSIDE} itself is refused; expected an error"
            )
    return PASSED


# Updates of the handshake era


def _lacks_subscribe(peer: Peer) -> str:
    return "" if peer.has("resources", "subscribe") else "resources.subscribe"


def _updates_only_subscribers(peer: Peer, run: Run) -> Outcome:
    """Change a resource before a subscription, during it and after it."""
    change = _Change(run)
    with _open_stream(peer) as stream:
        params = {"uri": change.uri}
        if change.is_seen(peer, stream):
            return violated(
                f"notifications/resources/updated came for {excerpt(change.uri, 120)} before "
                "resources/subscribe was sent for it"
            )
        peer.clear_evidence()
        answer = peer.request("resources/subscribe", params)
        if answer.result is None:
            return could_not_run(f"resources/subscribe got {answer.describe()}")
        is_seen = change.is_seen(peer, stream)
        peer.clear_evidence()
        answer = peer.request("resources/unsubscribe", params)
        if not is_seen:
            return could_not_run("no update came while there was a subscription")
        if answer.result is None:
            return could_not_run(f"resources/unsubscribe got {answer.describe()}")
        if change.is_seen(peer, stream):
            return violated(
                f"notifications/resources/updated came for {excerpt(change.uri, 120)} after "
                "resources/unsubscribe was answered"
            )
    return PASSED


class _Change:
    """The hint `resource_that_changes`: its URI, and the call that changes it or how long it takes.

    `{uri: URI, tool: {name: NAME, arguments: {…}}, seconds: 2}`; without a tool it must change by
    itself within these seconds.
    """

    def __init__(self, run: Run) -> None:
        hint = run.hints["resource_that_changes"]
        self.uri: str = hint["uri"]
        self._call = hinted_call(hint, "tool") if "tool" in hint else None
        self._seconds: float = hint.get("seconds", 0.5 if self._call else 5.0)

    def is_seen(self, peer: Peer, stream: Pending | None) -> bool:
        """Let the resource change; True if an update of it comes."""
        before = len(peer.messages)
        if self._call:
            peer.request("tools/call", self._call)
        if stream:
            stream.look_for(self.is_update, self._seconds)
        elif not any(map(self.is_update, peer.messages[before:])):
            peer.listen(self._seconds)
        return any(map(self.is_update, peer.messages[before:]))

    def is_update(self, message: Message) -> bool:
        is_update = message.get("method") == "notifications/resources/updated"
        return is_update and jsonrpc.params_of(message).get("uri") == self.uri


@contextmanager
def _open_stream(peer: Peer) -> Iterator[Pending | None]:
    """The stream on which a server on HTTP sends what belongs to no request; None on stdio."""
    pending = peer.open_stream() if isinstance(peer, HttpPeer) else None
    try:
        yield pending
    finally:
        if pending:
            pending.close()


# Subscriptions of the stateless era

_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_FLAGS = {
    "toolsListChanged": ("tools", "listChanged"),
    "promptsListChanged": ("prompts", "listChanged"),
    "resourcesListChanged": ("resources", "listChanged"),
}
_MOMENT_S = 0.3


def _offered_filter(peer: Peer) -> Message:
    """A filter with all that the server declares to notify of."""
    offered: Message = {flag: True for flag, words in _FLAGS.items() if peer.has(*words)}
    if peer.has("resources", "subscribe"):
        uris = list(names_of(peer.list_all("resources") or [], "uri"))
        offered |= {"resourceSubscriptions": uris[:1]} if uris else {}
    return offered


def _lacks_changes(peer: Peer) -> str:
    return "" if _offered_filter(peer) else "anything that one could subscribe to"


class _Subscription:
    """A request to listen, until it is cancelled."""

    def __init__(self, peer: Peer, filter: Message, id: object) -> None:
        self.peer = peer
        self.id = id
        message = peer.message("subscriptions/listen", {"notifications": filter}, id=id)
        self.pending = peer.start(message)
        self._is_cancelled = False

    def owns(self, message: Message) -> bool:
        """True if a message names this subscription, or is the response to its request."""
        named = jsonrpc.meta_of(message).get(META_SUBSCRIPTION)
        is_named = named is not None and jsonrpc.id_key(named) == jsonrpc.id_key(self.id)
        return is_named or self.pending.is_response(message)

    def wait_first(self) -> Answer:
        """Its first message. Over HTTP that is the first on its stream, whatever it names."""
        is_first = (lambda _: True) if self.peer.transport == "http" else self.owns
        return self.pending.wait_until(is_first)

    def is_acknowledged(self) -> bool:
        first = self.wait_first().message or {}
        return first.get("method") == _ACKNOWLEDGED

    def cancel(self) -> None:
        """Cancel it; over HTTP the end of its stream does that."""
        if not self._is_cancelled and not self.peer.is_lost and self.peer.transport == "stdio":
            self.peer.notify("notifications/cancelled", {"requestId": self.id})
        self._is_cancelled = True
        self.pending.close()


@contextmanager
def _listen(peer: Peer, filter: Message, id: object = None) -> Iterator[_Subscription]:
    subscription = _Subscription(peer, filter, peer.next_id() if id is None else id)
    try:
        yield subscription
    finally:
        subscription.cancel()


_NOT_ACKNOWLEDGED = could_not_run("subscriptions/listen was not acknowledged, see SUB-01")


def _acknowledges_first(peer: Peer, run: Run) -> Outcome:
    offered = _offered_filter(peer)
    for id in (f"mcptest-listen-{peer.next_id()}", peer.next_id()):
        peer.clear_evidence()
        with _listen(peer, offered, id) as subscription:
            first = subscription.wait_first()
            if first.message is not None and first.message.get("method") == _ACKNOWLEDGED:
                continue
            came = first.describe()
            if first.message is not None and "method" in first.message:
                came = f"{excerpt(str(first.message['method']), 80)} first"
            return violated(
                f"subscriptions/listen with the id {dump_json(id)} got {came}; expected "
                f"{_ACKNOWLEDGED} before anything else"
            )
    return PASSED


def _acknowledges_subset(peer: Peer, run: Run) -> Outcome:
    offered = _offered_filter(peer)
    for name in offered:
        peer.clear_evidence()
        asked = {name: offered[name]}
        with _listen(peer, asked) as subscription:
            first = subscription.wait_first().message or {}
        if first.get("method") != _ACKNOWLEDGED:
            return _NOT_ACKNOWLEDGED
        given = jsonrpc.params_of(first).get("notifications")
        more = _more_than(asked, given if isinstance(given, dict) else {})
        if more:
            return violated(
                f"subscriptions/listen asked for {dump_json(asked)}, and the acknowledgement also "
                f"has {excerpt(dump_json(more), 160)}"
            )
    return PASSED


def _more_than(asked: Message, given: Message) -> Message:
    """What an acknowledgement has that was not asked for."""
    more: Message = {}
    for name, value in given.items():
        wanted = asked.get(name)
        if isinstance(value, list):
            extra = [each for each in value if not isinstance(wanted, list) or each not in wanted]
            more |= {name: extra} if extra else {}
        elif value is True and wanted is not True:
            more[name] = value
    return more


def _serves_two(peer: Peer, run: Run) -> Outcome:
    offered = _offered_filter(peer)
    with _listen(peer, offered) as one:
        # Over HTTP the server may see two requests that are under way in either order.
        if not one.is_acknowledged():
            return _NOT_ACKNOWLEDGED
        with _listen(peer, offered, f"mcptest-{peer.next_id()}") as two:
            first = two.wait_first()
            message = first.message or {}
            named = jsonrpc.meta_of(message).get(META_SUBSCRIPTION)
            if message.get("method") == _ACKNOWLEDGED and two.owns(message):
                return PASSED
            came = first.describe()
            if message.get("method") == _ACKNOWLEDGED:
                came = f"an acknowledgement with the subscriptionId {dump_json(named)}"
            return violated(
                f"while the subscription {dump_json(one.id)} was open, subscriptions/listen with "
                f"the id {dump_json(two.id)} got {came}; expected an acknowledgement with its own "
                "id"
            )


def _stops_when_cancelled(peer: Peer, run: Run) -> Outcome:
    offered = _offered_filter(peer)
    came: Message | None = None
    # Once may be chance: a message that was on its way when the subscription was cancelled.
    for _ in range(2):
        peer.clear_evidence()
        with _listen(peer, offered) as cancelled, _listen(peer, offered) as other:
            if not (cancelled.is_acknowledged() and other.is_acknowledged()):
                return _NOT_ACKNOWLEDGED
            before = len(peer.messages)
            cancelled.cancel()
            if peer.settle().message is None:
                return violated("after a subscription was cancelled, the server answers nothing")
            if peer.transport == "http":
                other.pending.look_for(cancelled.owns, _MOMENT_S)
            came = next(filter(cancelled.owns, peer.messages[before:]), None)
            if came is None:
                return PASSED
    assert came
    if cancelled.pending.is_response(came):
        return violated(
            "a subscription that was cancelled with notifications/cancelled still got a response; "
            "expected nothing",
            level="SHOULD",
        )
    return violated(
        f"a subscription that was cancelled still got {excerpt(str(came.get('method')), 80)}; "
        "expected nothing"
    )


def _ends_gracefully(peer: Peer, run: Run) -> Outcome:
    """End the server with SIGTERM while a subscription is open."""
    with own_session(peer, run) as fresh:
        assert isinstance(fresh, StdioPeer)
        offered = _offered_filter(fresh)
        subscription = _Subscription(fresh, offered, fresh.next_id())
        if not subscription.is_acknowledged():
            return _NOT_ACKNOWLEDGED
        before = len(fresh.messages)
        ended_s = fresh.terminate(signal.SIGTERM, fresh.timeout_s)
        stopped = fresh.end()
    if ended_s is None:
        return could_not_run("the server did not end at SIGTERM")
    if stopped.exit_code is not None and stopped.exit_code < 0:
        return not_applicable("SIGTERM kills the server before it could say anything")
    for message in fresh.messages[before:]:
        names = jsonrpc.params_of(message).get("requestId")
        is_notice = message.get("method") == "notifications/cancelled" and names == subscription.id
        if is_notice or subscription.pending.is_response(message):
            return PASSED
    return violated(
        "the server ended at SIGTERM and left an open subscription without a word; expected "
        "notifications/cancelled or a result for it"
    )


def _honours_filter(peer: Peer, run: Run) -> Outcome:
    """Let a resource change of which one subscription wants to know, and another does not."""
    offered = _offered_filter(peer)
    change = _Change(run)
    asked = {"resourceSubscriptions": [change.uri]}
    others = {name: value for name, value in offered.items() if name in _FLAGS}
    uris = [uri for uri in names_of(peer.list_all("resources") or [], "uri") if uri != change.uri]
    others |= {"resourceSubscriptions": uris[:1]} if uris else {}
    # Only the list: a filter must not be empty.
    others = others or {"toolsListChanged": True}
    with _listen(peer, asked) as wanting, _listen(peer, others) as other:
        if not (wanting.is_acknowledged() and other.is_acknowledged()):
            return _NOT_ACKNOWLEDGED
        before = len(peer.messages)
        if not change.is_seen(peer, wanting.pending if peer.transport == "http" else None):
            return could_not_run("no update came for the resource that changes")
        if peer.transport == "http":
            other.pending.look_for(change.is_update, _MOMENT_S)
        else:
            peer.settle()
        for message in peer.messages[before:]:
            if other.owns(message) and change.is_update(message):
                return violated(
                    f"a subscription to {excerpt(dump_json(others), 160)} got an update of "
                    f"{excerpt(change.uri, 120)}, for which it did not ask"
                )
    return PASSED


CHECKS = {
    "RES-01 capability": Check(
        property="resources are served if and only if the capability is declared",
        run=declares_truly("resources"),
        section="server/resources#Capabilities",
    ),
    "RES-02 list-answered": Check(
        property="a server that declares resources answers resources/list with a list",
        run=answers_list("resources"),
        explains=("PAGE-03",),
        must_since="2026-07-28",
        section="server/resources#Listing Resources",
        stateless_section="server/resources#Capabilities",
    ),
    "RES-05 read-shape": Check(
        property="listed resources can be read, and their contents have a URI and text or a blob",
        run=_reads_listed,
        section="server/resources#Reading Resources",
    ),
    "RES-07 not-found-error": Check(
        property="a URI that does not exist gets the error -32002",
        run=_refuses_unknown_uris(RESOURCE_NOT_FOUND),
        until="2025-11-25",
        level="SHOULD",
        is_shared=True,
        section="server/resources#Error Handling",
    ),
    "RES-08 not-found-32602": Check(
        property="a URI that does not exist gets the error -32602",
        run=_refuses_unknown_uris(jsonrpc.INVALID_PARAMS),
        since="2026-07-28",
        explains=("BASE-27",),
        section="server/resources#Error Handling",
    ),
    "RES-09 not-found-not-empty": Check(
        property="a URI that does not exist does not get empty contents",
        run=_has_no_empty_contents,
        since="2026-07-28",
        section="server/resources#Error Handling",
    ),
    "RES-10 uri-validated": Check(
        property="strings that are not URIs get an error, and the server keeps running",
        run=_refuses_garbage,
        section="server/resources#Security Considerations",
    ),
    "RES-11 traversal": Check(
        property="files outside of what is offered cannot be read with .. or %2e%2e",
        run=_stays_inside,
        section="server/resources#Security Considerations",
    ),
    "RES-13 updated-only-after-subscribe": Check(
        property="updates of a resource come only between resources/subscribe and unsubscribe",
        run=_updates_only_subscribers,
        server_lacks=_lacks_subscribe,
        until="2025-11-25",
        hint="resource_that_changes",
        section="server/resources#Subscriptions",
    ),
    "SUB-01 ack-first": Check(
        property="the first message of a subscription is its acknowledgement",
        run=_acknowledges_first,
        server_lacks=_lacks_changes,
        since="2026-07-28",
        section="basic/patterns/subscriptions#Acknowledgment",
    ),
    "SUB-02 ack-subset": Check(
        property="an acknowledgement has nothing that was not asked for",
        run=_acknowledges_subset,
        server_lacks=_lacks_changes,
        since="2026-07-28",
        section="basic/patterns/subscriptions#Acknowledgment",
    ),
    "SUB-04 filter-honoured": Check(
        property="a subscription gets only what it asked for",
        run=_honours_filter,
        server_lacks=_lacks_changes,
        since="2026-07-28",
        hint="resource_that_changes",
        section="basic/patterns/subscriptions#Opening a Stream",
    ),
    "SUB-06 concurrent": Check(
        property="several subscriptions can be open, each with its own id",
        run=_serves_two,
        explains=("SUB-03",),
        server_lacks=_lacks_changes,
        since="2026-07-28",
        section="basic/patterns/subscriptions#Multiple Concurrent Subscriptions",
    ),
    "SUB-08 graceful-end": Check(
        property="a server that shuts down ends its subscriptions with a message",
        run=_ends_gracefully,
        server_lacks=_lacks_changes,
        since="2026-07-28",
        level="SHOULD",
        transport="stdio",
        phase="own",
        section="basic/patterns/subscriptions#Cancellation",
    ),
    "SUB-09 cancel-stops": Check(
        property="nothing comes for a subscription that was cancelled",
        run=_stops_when_cancelled,
        server_lacks=_lacks_changes,
        since="2026-07-28",
        section="basic/patterns/subscriptions#Cancellation",
    ),
}
