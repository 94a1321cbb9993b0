"""`client:` in a config: what the client can do, and its scripted answers to the server."""

from __future__ import annotations

from mcptest.core.plan import ClientSpec
from mcptest.formats.fields import Fields, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Body = dict[str, object]

__all__ = ["KEYS", "read_client"]

KEYS = ("capabilities", "roots", "sampling", "elicitation")

_ACTIONS = ("accept", "decline", "cancel")

# What says that an answer is an error and not a result.
_ERROR = "error"


def read_client(fields: Fields) -> ClientSpec:
    """The client that these keys describe; mistakes are added to the complaints of `fields`.

        client:
          roots: ["file:///project"]
          sampling: "The capital of France is Paris."
          elicitation: [{action: accept, content: {name: Ada}}, decline]

    Each of the three is one answer, given every time, or a list of answers, given one after
    the other. Whatever has an answer is declared as a capability; `capabilities` adds more.
    """
    fields.refuse_unknown(KEYS, (), '"client"')
    reader = _Reader(fields)
    answers: dict[str, object] = {}
    declared: dict[str, object] = {}
    if "roots" in fields.mapping:
        answers["roots/list"] = reader.roots()
        declared["roots"] = {}
    if "sampling" in fields.mapping:
        answers["sampling/createMessage"] = reader.script("sampling", reader.sample)
        declared["sampling"] = {}
    if "elicitation" in fields.mapping:
        answers["elicitation/create"] = reader.script("elicitation", reader.elicit)
        declared["elicitation"] = {}
    capabilities = fields.mapping_at("capabilities")
    if capabilities:
        declared |= capabilities.mapping
    return ClientSpec(capabilities=declared or None, answers=answers or None)


class _Reader:
    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    def roots(self) -> Body:
        roots = []
        for index, root in enumerate(self._fields.list_at("roots")):
            entry = {"uri": root} if isinstance(root, str) else root
            if not isinstance(entry, dict) or not isinstance(entry.get("uri"), str):
                message = f'a root is a URI or has the key "uri"; number {index + 1} does not'
                self._complain("roots", index, message, 'for example "file:///project"')
            elif not str(entry["uri"]).startswith("file://"):
                message = f"number {index + 1} is no file:// URI, and roots are only those"
                self._complain("roots", index, message, 'for example "file:///project"')
            roots.append(entry)
        return {"result": {"roots": roots}}

    def script(self, key: str, read: Callable[[str, int | None, object], Body]) -> object:
        """One body, or a list of them."""
        value = self._fields.mapping[key]
        if not isinstance(value, list):
            return self._body(key, None, value, read)
        if not value:
            self._fields.complain(key, "F011", f'"{key}" is an empty list: it answers nothing')
        return [self._body(key, index, item, read) for index, item in enumerate(value)]

    def _body(
        self,
        key: str,
        index: int | None,
        value: object,
        read: Callable[[str, int | None, object], Body],
    ) -> Body:
        if not isinstance(value, dict) or _ERROR not in value:
            return read(key, index, value)
        error = value[_ERROR]
        if len(value) > 1 or not isinstance(error, dict) or type(error.get("code")) is not int:
            message = 'an error answer is {error: {code: NUMBER, message: "…"}} and nothing else'
            self._complain(key, index, message)
        return {_ERROR: error}

    def sample(self, key: str, index: int | None, value: object) -> Body:
        if isinstance(value, str):
            content = {"type": "text", "text": value}
            return {"result": {"role": "assistant", "content": content, "model": "mcptest"}}
        if not isinstance(value, dict):
            message = f"an answer to sampling is a text or a whole result and is {kind_of(value)}"
            self._complain(key, index, message)
            return {"result": {}}
        for member in ("role", "content", "model"):
            if member not in value:
                self._complain(key, index, f'a sampling result needs the key "{member}"')
        return {"result": value}

    def elicit(self, key: str, index: int | None, value: object) -> Body:
        result = {"action": value} if isinstance(value, str) else value
        if not isinstance(result, dict) or result.get("action") not in _ACTIONS:
            message = f"an answer to elicitation says one of {', '.join(_ACTIONS)}"
            self._complain(key, index, message, "for example {action: accept, content: {…}}")
            return {"result": {}}
        for member in result:
            if member not in ("action", "content", "_meta"):
                self._complain(key, index, f'an elicitation result has no key "{member}"')
        return {"result": result}

    def _complain(self, key: str, index: int | None, message: str, help: str = "") -> None:
        steps = () if index is None else (index,)
        place = self._fields.at((key, *steps))
        place.complain("", "F009", message, help, on_key=False)
