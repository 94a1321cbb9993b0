"""One sentence about a passage, for the comment above its case."""

from __future__ import annotations

from mcptest.core.jsonrpc import message_kind, tool_failure
from mcptest.core.text import plural, shorten, visible
from mcptest.traffic.naming import method_of, target_of
from mcptest.traffic.recording import parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.traffic.passages import Passage
    from mcptest.traffic.recording import Message

__all__ = ["sentence_about"]

_DEEDS = {
    "initialize": "opens the session",
    "ping": "asks whether the server is there",
    "tools/list": "asks for the tools",
    "tools/call": "calls the tool {}",
    "resources/list": "asks for the resources",
    "resources/templates/list": "asks for the resource templates",
    "resources/read": "reads {}",
    "resources/subscribe": "subscribes to {}",
    "resources/unsubscribe": "unsubscribes from {}",
    "prompts/list": "asks for the prompts",
    "prompts/get": "gets the prompt {}",
    "completion/complete": "asks for completions",
    "logging/setLevel": "sets the level of the log",
}
_MAX_CHARS = 60


def sentence_about(passage: Passage) -> str:
    """What the client does in a passage, what comes of it, and what else is said."""
    mine = [
        part
        for spoken in passage.messages
        if spoken.direction == "in"
        for part in parts_of(spoken.message)
    ]
    asked = [message for message in mine if message_kind(message) == "request"]
    told = [message for message in mine if message_kind(message) == "notification"]
    if len(asked) == 1:
        deed = f"The client {_deed(asked[0])}, {_outcome(passage)}"
    elif asked:
        deed = f"The client makes {len(asked)} requests at a time"
    elif told:
        deed = f"The client sends {_shown(method_of(told[0]))}"
    else:
        deed = "The server speaks first"
    return f"{deed}{_beside(passage)}."


def _deed(message: Message) -> str:
    method, target = method_of(message), target_of(message)
    words = _DEEDS.get(method)
    if words is None or ("{}" in words and not target):
        return f"sends {_shown(method)}"
    return words.replace("{}", _shown(target))


def _outcome(passage: Passage) -> str:
    said = passage.messages
    answers = [said[at].message for asked, _, at in passage.pairs if said[asked].direction == "in"]
    if not answers:
        return "and gets no answer"
    answer = answers[0]
    if "error" in answer:
        return "which is refused"
    result = answer.get("result")
    is_failure = isinstance(result, dict) and bool(tool_failure(result))
    return "which fails" if is_failure else "and is answered"


def _beside(passage: Passage) -> str:
    kinds = [message_kind(each.message) for each in passage.messages if each.direction == "out"]
    asked, told = kinds.count("request"), kinds.count("notification")
    sent = [
        *([plural(told, "notification")] if told else []),
        *([f"{plural(asked, 'request')} of its own"] if asked else []),
    ]
    return f"; the server sends {' and '.join(sent)}" if sent else ""


def _shown(text: str) -> str:
    return visible(shorten(text, _MAX_CHARS)) or "a message"
