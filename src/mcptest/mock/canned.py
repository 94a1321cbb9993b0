"""Play a manifest: list its tools, resources and prompts, and give its canned answers."""

from __future__ import annotations

from mcptest import __version__
from mcptest.core.diagnostics import closest, suggest
from mcptest.core.record import ABSENT, Record
from mcptest.core.results import Mismatch
from mcptest.core.text import show_json
from mcptest.formats.keys import filled, filled_texts
from mcptest.matching.compare import compare
from mcptest.matching.values import pull
from mcptest.mock.session import (
    ALWAYS_FINE,
    BEFORE_HANDSHAKE,
    LISTS,
    MockReport,
    Sent,
    Session,
    discover_result,
    hide_secrets,
    initialize_result,
    params_of,
    problem,
    unasked,
)
from mcptest.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, result_response
from mcptest.protocol.revisions import RESOURCE_NOT_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal

    from mcptest.mock.session import Message

    Kind = Literal["tool", "resource", "prompt"]

__all__ = ["CannedAnswer", "Manifest", "ManifestPlayer", "Offer"]

# The kind of offer that a method uses, and the member of the params that names it.
_USES = {
    "tools/call": ("tool", "name"),
    "resources/read": ("resource", "uri"),
    "prompts/get": ("prompt", "name"),
}

# From this revision on, arguments that are not valid are an error of the tool.
_TOOL_ERRORS_SINCE = "2025-11-25"


class CannedAnswer(Record):
    """One answer: `body` has a result or an error, with `${args.…}` for arguments.

    `names` are the references in it, `as_is` are members without any. The answer is given if
    the arguments match `when`.
    """

    body: dict[str, Any]
    as_is: Mapping[str, object]
    names: tuple[str, ...] = ()
    when: object = ABSENT

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments that it needs."""
        found = (name.split(".")[1] for name in self.names if "." in name)
        return tuple(dict.fromkeys(found))

    def filled(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """The body with the arguments of a call; ValueError names a missing one."""
        values: dict[str, object] = {}
        for name in self.names:
            steps = tuple(name.split("."))[1:]
            values[name], _ = pull(arguments, steps)
            if values[name] is ABSENT:
                raise ValueError(f"the argument {'.'.join(steps)} is missing")
        ((outcome, members),) = self.body.items()
        put = {key: _fill_member(key, each, values) for key, each in members.items()}
        return {outcome: {**self.as_is, **put}}


def _fill_member(key: str, member: object, values: Mapping[str, object]) -> object:
    """Fill in a member of a result or an error; in content and messages values become text."""
    if key == "message":
        texts = filled_texts({"text": member}, values)
        assert isinstance(texts, dict)
        return texts["text"]
    if key == "content" and isinstance(member, list):
        return [filled_texts(item, values) for item in member]
    if key == "messages" and isinstance(member, list):
        return [
            each | {"content": filled_texts(each.get("content"), values)}
            if isinstance(each, dict)
            else each
            for each in member
        ]
    return filled(member, values)


class Offer(Record):
    """A tool, resource or prompt, and its answers. It counts as a case.

    `entry` is the item in the list of its kind; `check` says what is wrong with the arguments
    of a call, "" if nothing is.
    """

    kind: Kind
    name: str
    file: str
    line: int
    entry: dict[str, object]
    answers: tuple[CannedAnswer, ...]
    check: Callable[[Mapping[str, object]], str]

    def place(self) -> dict[str, object]:
        """Where it is written, as errors and reports have it."""
        return {"case": f"{self.kind} {self.name}", "file": self.file, "line": self.line}


class Manifest(Record):
    """Everything that is offered; `kinds` are the sections, even if they are empty."""

    name: str
    version: str
    instructions: str
    kinds: tuple[str, ...]
    offers: tuple[Offer, ...]


class ManifestPlayer:
    """A server that offers what a manifest lists; implements the `Player` interface."""

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
    def revision(self) -> str:
        """The client chooses."""
        return ""

    @property
    def about(self) -> tuple[str, str, dict[str, object]]:
        """The name, the version and the capabilities of the server."""
        return self._manifest.name, self._manifest.version or __version__, self._capabilities

    def input_schema(self, tool: str) -> object:
        """The schema of a tool's arguments, None if there is no such tool."""
        number = self._numbers.get(("tool", tool))
        return None if number is None else self._manifest.offers[number].entry.get("inputSchema")

    def start(self) -> Session:
        """A session in which nothing was used."""
        return Session(len(self._manifest.offers))

    def enter(self, session: Session) -> list[Sent]:
        """Begin without a handshake, which makes no difference."""
        return []

    def report(self, session: Session) -> MockReport:
        """What the client did."""
        places = [offer.place() for offer in self._manifest.offers]
        return MockReport.of(places, map(bool, session.used), session)

    def request(self, session: Session, message: Message) -> list[Sent]:
        """Answer a request."""
        method, manifest = message["method"], self._manifest
        if method not in self.methods:
            question = suggest(method, self.methods)
            sentence = f"the manifest has nothing for {method}{question}"
            return [session.refuse(message, METHOD_NOT_FOUND, sentence)]
        if method in _USES:
            return [self._use(session, message)]
        result: dict[str, object] = {}
        if method in LISTS:
            if params_of(message).get("cursor") is not None:
                sentence = "the list has one page, and no cursor"
                return [session.refuse(message, INVALID_PARAMS, sentence)]
            kind = LISTS[method].removesuffix("s")
            result = {LISTS[method]: [each.entry for each in manifest.offers if each.kind == kind]}
        elif method != "ping":
            if method == "initialize":
                result = initialize_result(*self.about, message.get("params"))
                session.revision = str(result["protocolVersion"])
            else:
                result = discover_result(*self.about)
            if manifest.instructions:
                result["instructions"] = manifest.instructions
        return [Sent(message=result_response(message["id"], result), method=method)]

    def notification(self, session: Session, message: Message) -> list[Sent]:
        """Blame a notification that a client has no reason to send."""
        if message["method"] not in ALWAYS_FINE:
            session.blame(message, None, (problem("nothing is known of this notification"),))
        return []

    def response(self, session: Session, message: Message, violations: Sequence[str]) -> list[Sent]:
        """Blame an answer: a manifest never asks anything."""
        session.blame(message, None, (unasked(message),))
        return []

    def _use(self, session: Session, message: Message) -> Sent:
        """Answer a tool call, or a request for a resource or a prompt."""
        kind, member = _USES[message["method"]]
        name = params_of(message).get(member)
        number = self._numbers.get((kind, name)) if isinstance(name, str) else None
        if number is None:
            return self._refuse_unknown(session, message, kind, member, name)
        offer = self._manifest.offers[number]

        def refuse(sentence: str, found: Sequence[Mismatch] = ()) -> Sent:
            return session.refuse(message, INVALID_PARAMS, sentence, offer.place(), found)

        arguments = params_of(message).get("arguments") or {}
        if not isinstance(arguments, dict):
            return refuse("arguments must be an object")
        wrong = offer.check(arguments)
        redacted = hide_secrets(arguments)
        if wrong and redacted != arguments:
            # The sentence must not quote a secret.
            hidden = "the arguments are not valid: what is wrong is a hidden value"
            wrong = offer.check(redacted) or hidden
        if wrong:
            refused = refuse(wrong, (problem(wrong, "params.arguments"),))
            is_for_model = offer.kind == "tool" and session.revision >= _TOOL_ERRORS_SINCE
            return _tool_error(refused) if is_for_model else refused
        mismatches: list[tuple[Mismatch, ...]] = []
        for answer in offer.answers:
            found: tuple[Mismatch, ...] = ()
            if answer.when is not ABSENT:
                trail = ((None, "params"), "arguments")
                found = tuple(compare(answer.when, arguments, trail, leniency="objects"))
            if found:
                mismatches.append(found)
                continue
            try:
                body = answer.filled(arguments)
            except ValueError as error:
                return refuse(str(error), (problem(str(error), "params.arguments"),))
            session.used[number] = 1
            sent = {"jsonrpc": "2.0", "id": message["id"], **body}
            return Sent(message=sent, method=message["method"])
        sentence = f"no answer of the {offer.kind} fits these arguments"
        return refuse(sentence, min(mismatches, key=len, default=()))

    def _refuse_unknown(
        self, session: Session, message: Message, kind: str, member: str, name: object
    ) -> Sent:
        names = [other for each, other in self._numbers if each == kind]
        meant = closest(name, names) if isinstance(name, str) else ""
        place = self._manifest.offers[self._numbers[kind, meant]].place() if meant else None
        found = Mismatch(
            path=f"params.{member}",
            expected=meant or ABSENT,
            actual=name,
            message=f"there is no such {kind}",
        )
        sentence = f"there is no such {kind}: {show_json(name)}"
        is_old = kind == "resource" and isinstance(name, str) and session.era != "stateless"
        code = RESOURCE_NOT_FOUND if is_old else INVALID_PARAMS
        return session.refuse(message, code, sentence, place, (found,))


def _tool_error(refused: Sent) -> Sent:
    """A refused call as the result of its tool, from which a model can learn."""
    message = refused.message
    assert isinstance(message, dict)
    content = [{"type": "text", "text": message["error"]["message"]}]
    result = result_response(message["id"], {"content": content, "isError": True})
    return refused.but(message=result)
