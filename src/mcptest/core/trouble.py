"""What kept an answer from coming, or a message from being taken, below the messages themselves.

A pipe knows only lines and its end. A channel over HTTP can fail at every layer, for one message
and not for the next; each such failure is a value that travels with what else has come.
"""

from __future__ import annotations

from mcptest.core.record import ABSENT, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.outcome import Effect

__all__ = ["Trouble"]


class Trouble(Record):
    """Why the request with this id gets no answer; without an id, what else went wrong.

    `kind` is the stable word for the layer (`mcptest.core.kinds`), `code` the status of HTTP with
    which it was refused; 0 when it was not.
    """

    kind: str
    message: str
    hint: str = ""
    id: object = ABSENT
    effect: Effect = "indefinite"
    # Whether what was refused needed no answer but its acceptance.
    is_refusal: bool = False
    code: int = 0
