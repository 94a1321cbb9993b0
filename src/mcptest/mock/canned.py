"""Play a manifest: list what it offers, and give its canned answers."""

from __future__ import annotations

from mcptest import __version__
from mcptest.core.jsonrpc import METHOD_NOT_FOUND, result_response
from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.core.suggest import closest
from mcptest.core.text import show_json
from mcptest.matching.compare import compare
from mcptest.mock.bodies import LISTS
from mcptest.mock.implied import (
    ALWAYS_FINE,
    BEFORE_HANDSHAKE,
    discover_result,
    initialize_result,
)
from mcptest.mock.refusal import INVALID_PARAMS, refusal
from mcptest.mock.report import MockReport
from mcptest.mock.secret_values import hidden
from mcptest.mock.state import Sent, fresh_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest.mock.offers import Manifest, Offer
    from mcptest.mock.state import Message, State

    Outcome = tuple[State, tuple[Sent, ...]]

__all__ = ["ManifestPlayer"]

# What is used with a method: its kind, and the member of the params that names it.
_USES = {
    "tools/call": ("tool", "name"),
    "resources/read": ("resource", "uri"),
    "prompts/get": ("prompt", "name"),
}


class ManifestPlayer:
    """A server that offers what a manifest lists; each offer counts as a case."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._numbers: dict[tuple[str, str], int] = {
            (offer.kind, offer.name): number for number, offer in enumerate(manifest.offers)
        }
        self._capabilities: dict[str, object] = {kind: {} for kind in manifest.kinds}

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of requests that can be answered."""
        families = self._manifest.kinds
        known = [method for method in (*LISTS, *_USES) if method.partition("/")[0] in families]
        return (*BEFORE_HANDSHAKE, *known)

    @property
    def about(self) -> tuple[str, str, dict[str, object]]:
        """The name, the version and the capabilities of the server."""
        return self._manifest.name, self._manifest.version or __version__, self._capabilities

    def input_schema(self, tool: str) -> object:
        """The schema of the arguments of a tool, None when there is no such tool."""
        number = self._numbers.get(("tool", tool))
        return None if number is None else self._manifest.offers[number].entry.get("inputSchema")

    def start(self) -> State:
        return fresh_state()

    def enter(self, state: State) -> Outcome:
        """Nothing is different for a client that makes no handshake."""
        return state, ()

    def report(self, state: State) -> MockReport:
        """What the client did in a session."""
        offers = self._manifest.offers
        exercised = [state.has_used(number) for number, _ in enumerate(offers)]
        return MockReport.of([offer.place() for offer in offers], exercised, state)

    def request(self, state: State, message: Message) -> Outcome:
        method = message["method"]
        if method not in self.methods:
            meant = closest(method, self.methods)
            question = f"; did you mean {meant}?" if meant else ""
            sentence = f"the manifest has nothing for {method}{question}"
            return _refused(state, message, METHOD_NOT_FOUND, sentence)
        if method in _USES:
            return self._use(state, message)
        result = self._standing(message)
        if method == "initialize":
            state = state.but(revision=str(result["protocolVersion"]))
        elif method in LISTS and _params(message).get("cursor") is not None:
            return _refused(state, message, INVALID_PARAMS, "the list has one page, and no cursor")
        return state, (_result(message, result),)

    def _standing(self, message: Message) -> dict[str, object]:
        """The results that hold for all calls."""
        method = message["method"]
        manifest = self._manifest
        if method == "ping":
            return {}
        if method in LISTS:
            kind = LISTS[method].removesuffix("s")
            entries = [offer.entry for offer in manifest.offers if offer.kind == kind]
            return {LISTS[method]: entries}
        about = (manifest.name, manifest.version, self._capabilities)
        told = {"instructions": manifest.instructions} if manifest.instructions else {}
        if method == "initialize":
            return initialize_result(*about, message.get("params")) | told
        return discover_result(*about) | told

    def _use(self, state: State, message: Message) -> Outcome:
        kind, member = _USES[message["method"]]
        name = _params(message).get(member)
        number = self._numbers.get((kind, name)) if isinstance(name, str) else None
        if number is None:
            return self._unknown(state, message, kind, member, name)
        offer = self._manifest.offers[number]
        arguments = _params(message).get("arguments") or {}
        if not isinstance(arguments, dict):
            return _refused(state, message, INVALID_PARAMS, "arguments must be an object", offer)
        wrong = _wrong_with(offer, arguments)
        if wrong:
            return _refused(
                state, message, INVALID_PARAMS, wrong, offer, (_said(wrong, "params.arguments"),)
            )
        return self._answer(state.use(number), state, message, offer, arguments)

    def _answer(
        self,
        used: State,
        state: State,
        message: Message,
        offer: Offer,
        arguments: Mapping[str, object],
    ) -> Outcome:
        answer = offer.answer_for(arguments)
        if answer is None:
            found = _nearest(offer, arguments)
            sentence = f"no answer of the {offer.kind} fits these arguments"
            return _refused(state, message, INVALID_PARAMS, sentence, offer, found)
        try:
            body = answer.filled(arguments)
        except ValueError as error:
            found = (_said(str(error), "params.arguments"),)
            return _refused(state, message, INVALID_PARAMS, str(error), offer, found)
        sent = {"jsonrpc": "2.0", "id": message["id"], **body}
        return used, (Sent(message=sent, method=message["method"]),)

    def _unknown(
        self, state: State, message: Message, kind: str, member: str, name: object
    ) -> Outcome:
        names = [other for each, other in self._numbers if each == kind]
        meant = closest(name, names) if isinstance(name, str) else ""
        offer = self._manifest.offers[self._numbers[kind, meant]] if meant else None
        found = Mismatch(
            path=f"params.{member}",
            expected=meant or ABSENT,
            actual=name,
            message=f"there is no such {kind}",
        )
        sentence = f"there is no such {kind}: {show_json(name)}"
        return _refused(state, message, INVALID_PARAMS, sentence, offer, (found,))

    def notification(self, state: State, message: Message) -> Outcome:
        """Nothing follows upon a notification."""
        if message["method"] in ALWAYS_FINE:
            return state, ()
        return state.blame(message, None, (_said("nothing is known of this notification"),)), ()

    def response(self, state: State, message: Message, breaches: Sequence[str]) -> Outcome:
        """Nothing is ever asked, so there is nothing to answer."""
        found = Mismatch(
            path="id",
            expected=ABSENT,
            actual=message.get("id"),
            message="answers nothing that was asked",
        )
        return state.blame(message, None, (found,)), ()


def _wrong_with(offer: Offer, arguments: Mapping[str, object]) -> str:
    """What is wrong with the arguments, "" when nothing is; no secret is quoted."""
    wrong = offer.check(arguments)
    told = hidden(arguments)
    if not wrong or told == arguments:
        return wrong
    return offer.check(told) or "the arguments are not valid: what is wrong is a hidden value"


def _nearest(offer: Offer, arguments: Mapping[str, object]) -> tuple[Mismatch, ...]:
    """What differs from the answer that comes nearest."""
    trail = ((None, "params"), "arguments")
    found = [
        tuple(compare(answer.when, arguments, trail, leniency="objects"))
        for answer in offer.answers
    ]
    return min(found, key=len, default=())


def _said(sentence: str, path: str = "") -> Mismatch:
    return Mismatch(path=path, expected=ABSENT, actual=ABSENT, message=sentence)


def _params(message: Message) -> Mapping[str, object]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _result(message: Message, result: dict[str, object]) -> Sent:
    return Sent(message=result_response(message["id"], result), method=message["method"])


def _refused(
    state: State,
    message: Message,
    code: int,
    sentence: str,
    offer: Offer | None = None,
    found: Sequence[Mismatch] = (),
) -> Outcome:
    place = offer.place() if offer else None
    answer = refusal(message["id"], message["method"], code, sentence, place, found)
    return state.blame(message, place, found or (_said(sentence),)), (answer,)
