"""The messages of one case of a contract, in both directions and in order, as data.

Everything that uses a contract reads its dialogues: the runner sends the client's messages, the
mock the server's, and documentation shows both.
"""

from __future__ import annotations

from mcptest.core.value_class import ABSENT, Record
from mcptest.protocol import jsonrpc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.plan import Expectation
    from mcptest.protocol.jsonrpc import MessageKind

__all__ = ["Bind", "Dialogue", "Hook", "Ref", "Turn"]


class Ref(Record):
    """In a message, the place of a value that was bound to a name before.

    By an earlier message of the file, or, when it `is_own`, further up in the same one.
    """

    name: str
    is_own: bool = False

    @property
    def source(self) -> str:
        """The tag as it is written."""
        return f"!!ref {self.name}"


class Bind(Record):
    """Binds the value at a path of a message to a name; a name may be bound again."""

    name: str
    steps: tuple[str | int, ...]


class Turn(Record):
    """One message of a dialogue, under its key in the file.

    `value` is the message as data, with a pattern of `matching.case_tags` where a tag describes a
    value and a `Ref` where one is used again; for the client's side it may be a list of
    messages, sent as a batch. `needs` are the names that earlier messages must have bound.
    `answers` is the index of the turn whose request this message answers. `expectation` is set
    for messages of the server.
    """

    key: str
    is_ours: bool
    value: object
    line: int
    binds: tuple[Bind, ...] = ()
    needs: tuple[str, ...] = ()
    answers: int | None = None
    comment: str = ""
    expectation: Expectation | None = None

    @property
    def kind(self) -> MessageKind:
        """The kind of the message; "malformed" for a batch."""
        return jsonrpc.message_kind(self.value)

    @property
    def method(self) -> str:
        """The method of a request or a notification, else ""."""
        method = self.value.get("method") if isinstance(self.value, dict) else None
        return method if isinstance(method, str) else ""

    @property
    def id(self) -> object:
        """The id as written, which may be a pattern; ABSENT if there is none."""
        return self.value.get("id", ABSENT) if isinstance(self.value, dict) else ABSENT


class Hook(Record):
    """A command to run before or after a case; `key` is its key in the file."""

    key: str
    command: tuple[str, ...]


class Dialogue(Record):
    """All messages of one case, and how they are compared.

    `needs_session` says that the server must have been initialised before; a dialogue that
    `opens_session` begins with doing so itself. `hello` are the params with which the file did
    so last, None if it never does. `is_exact` allows nothing in a message that is not
    written, `is_strict` no message that is not one of the turns. With `keeps_ids` the ids of
    requests are sent as written, even if the session has used them before.
    """

    turns: tuple[Turn, ...]
    is_exact: bool = False
    is_strict: bool = False
    keeps_ids: bool = False
    needs_session: bool = True
    hello: object = None
    opens_session: bool = False
    before: Hook | None = None
    after: Hook | None = None
    comment: str = ""
    description: str = ""
