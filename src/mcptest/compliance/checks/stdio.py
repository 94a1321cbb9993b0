"""Checks of the stdio transport (STDIO): what is on stdout, how the server ends, large lines."""

from __future__ import annotations

import signal

from mcptest.compliance.check import PASSED, Check, could_not_run, not_applicable, violated
from mcptest.compliance.raw_connection import StdioPeer
from mcptest.core.text import excerpt
from mcptest.protocol.revisions import HANDSHAKE_REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.compliance.check import Outcome
    from mcptest.compliance.raw_connection import Peer
    from mcptest.compliance.run import Run

__all__ = ["CHECKS"]

# How long the server is left alone after its start: a banner comes at once.
_BANNER_S = 1.0

# How long a server should take to end after its input has ended, and how long it may take.
_PROMPT_S = 2.0
_EXIT_S = 3.0

# How long after the handshake a server may begin to ask the client something.
_ASKS_S = 0.8

_LARGE_CHARS = 900_000

# What a client must declare so that servers ask it for something.
_ASKING = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}


def _judge_noise(peer: Peer, run: Run, since: int, when: str) -> Outcome:
    """Everything on stdout must be a message."""
    noise = peer.noise[since:]
    if not noise:
        return PASSED
    run.explained_noise.update(noise)
    return violated(
        f"the server wrote to stdout {when}: {excerpt(noise[0], 120)}; stdout is for messages "
        "only, logs and banners go to stderr"
    )


def _prints_no_banner(peer: Peer, run: Run) -> Outcome:
    answer = peer.listen(_BANNER_S)
    if answer.others:
        return violated("the server sent a message before it was sent any", level="SHOULD")
    return _judge_noise(peer, run, 0, "before it was sent anything")


def _keeps_errors_off_stdout(peer: Peer, run: Run) -> Outcome:
    if not run.explained_noise.issuperset(peer.noise):
        return not_applicable("stdout has other lines than messages anyway; STDIO-01 is about that")
    before = len(peer.noise)
    peer.request_or_silence(peer.message(f"mcptest/unknown-{run.suffix}"))
    peer.request_or_silence(peer.message("tools/call", {"name": run.unknown_name("tool")}))
    peer.send({"jsonrpc": "2.0", "method": 7})
    peer.settle()
    if peer.is_lost and len(peer.noise) == before and run.has_failed("BASE-20", "failed"):
        return could_not_run("the server ends at a malformed message, as BASE-20 reports")
    return _judge_noise(peer, run, before, "when it was sent requests that it must refuse")


def _keeps_stdout_pure_at_the_end(peer: Peer, run: Run) -> Outcome:
    assert isinstance(peer, StdioPeer), "the check is for stdio"
    before = len(peer.noise)
    peer.close_input(_EXIT_S)
    outcome = _judge_noise(peer, run, before, "after its input had ended")
    if outcome != PASSED:
        return outcome
    other = run.connect(run.version)
    assert isinstance(other, StdioPeer), "as above"
    before = len(other.noise)
    other.terminate(signal.SIGTERM, _EXIT_S)
    other.end()
    outcome = _judge_noise(other, run, before, "after SIGTERM")
    return outcome.with_evidence(other)


def _ends_with_its_input(peer: Peer, run: Run) -> Outcome:
    assert isinstance(peer, StdioPeer), "the check is for stdio"
    outcome = _judge_exit(peer.close_input(_EXIT_S), "")
    if outcome != PASSED or not HANDSHAKE_REVISIONS[0] <= run.version <= HANDSHAKE_REVISIONS[-1]:
        return outcome
    # Servers often wait for the answer to a request of their own instead of ending.
    asked = run.connect(capabilities=_ASKING)
    assert isinstance(asked, StdioPeer), "as above"
    asked.is_mute = True
    asked.open(run.version)
    # Many ask a moment after the handshake: without the wait it would depend on luck.
    asked.settle_until(_is_request, _ASKS_S)
    requests = [each for each in asked.messages if _is_request(each)]
    if requests:
        when = f" while its own request {requests[0]['method']} is unanswered"
        outcome = _judge_exit(asked.close_input(_EXIT_S), when)
        outcome = outcome.with_evidence(asked)
    # Do not wait until it ends by itself: its request stays unanswered.
    asked.terminate(signal.SIGTERM, 1.0)
    asked.end()
    return outcome


def _is_request(message: dict[str, Any]) -> bool:
    return "method" in message and "id" in message


def _judge_exit(seconds: float | None, when: str) -> Outcome:
    if seconds is None:
        return violated(
            f"the server does not end when its input ends{when}: after {_EXIT_S:g} s it was still "
            "running, and had to be stopped by a signal"
        )
    if seconds > _PROMPT_S:
        message = f"the server took {seconds:.1f} s to end after its input had ended{when}; "
        return violated(f"{message}clients wait about {_PROMPT_S:g} s")
    return PASSED


def _survives_large_lines(peer: Peer, run: Run) -> Outcome:
    odd = 'line\nbreak \u2028 \u2029 \u0085 tab\t quote" ü 🙂'
    for text in (odd, "x" * _LARGE_CHARS):
        peer.clear_evidence()
        message = peer.message(peer.harmless_method, {"_meta": {"com.example/filler": text}})
        answer = peer.request_or_silence(message)
        if answer.message is None:
            what = f"{len(text):,} characters" if text != odd else "line separators (U+2028)"
            return violated(f"a request with {what} in a string got {answer.problem}")
    return PASSED


CHECKS = {
    "STDIO-04 stdout-before-init": Check(
        property="the server writes nothing to stdout before it is sent anything",
        run=_prints_no_banner,
        transport="stdio",
        phase="launch",
        section="basic/transports#stdio",
        stateless_section="basic/transports/stdio#Receiving Messages",
    ),
    "STDIO-05 stdout-at-shutdown": Check(
        property="only messages come on stdout while the server ends",
        run=_keeps_stdout_pure_at_the_end,
        transport="stdio",
        phase="end",
        section="basic/transports#stdio",
        stateless_section="basic/transports/stdio#Receiving Messages",
    ),
    "STDIO-06 stdout-under-error": Check(
        property="only messages come on stdout when requests fail",
        run=_keeps_errors_off_stdout,
        transport="stdio",
        phase="malformed",
        section="basic/transports#stdio",
        stateless_section="basic/transports/stdio#Receiving Messages",
    ),
    "STDIO-10 exit-on-eof": Check(
        property="the server ends soon after its input has ended",
        run=_ends_with_its_input,
        transport="stdio",
        level="SHOULD",
        phase="end",
        section="basic/lifecycle#Shutdown",
        stateless_section="basic/transports/stdio#Shutdown",
    ),
    "STDIO-16 survives-large-and-unicode": Check(
        property="requests of a megabyte, and with any character, get a response",
        run=_survives_large_lines,
        transport="stdio",
        section="basic/transports#stdio",
        stateless_section="basic/transports/stdio#Receiving Messages",
    ),
}
