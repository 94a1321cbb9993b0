"""Error answers that say what was nearest, and what differs from it."""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.mock.finding import told
from mcptest.mock.state import Sent, difference_members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.outcome import Mismatch

__all__ = ["INVALID_PARAMS", "INVALID_REQUEST", "PARSE_ERROR", "refusal"]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602

# More than this nobody reads, and it would travel in every answer.
_MAX_DIFFERENCES = 20


def refusal(
    id: object,
    method: str,
    code: int,
    sentence: str,
    nearest: dict[str, object] | None = None,
    differences: Sequence[Mismatch] = (),
) -> Sent:
    """An error answer; `method` is that of the request, if one could be made out."""
    message = f"mcptest mock: {sentence}"
    if nearest:
        place = f"{nearest['file']}:{nearest['line']}"
        message += f"; the nearest is {dump_json(nearest['case'])} ({place})"
    # An unknown method has been told already.
    if differences and differences[0].path != "method" and differences[0].message not in sentence:
        message += f": {told(differences[0])}"
    shown = [difference_members(each) for each in differences[:_MAX_DIFFERENCES]]
    data = {"nearest": nearest, "differences": shown}
    error = {"code": code, "message": message, "data": data}
    return Sent(message={"jsonrpc": "2.0", "id": id, "error": error}, method=method)
