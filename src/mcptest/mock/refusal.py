"""Error answers that say what was nearest, and what differs from it."""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.core.text import show_json
from mcptest.mock.secret_values import hidden_difference
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
_MAX_IN_WORDS = 3


def refusal(
    id: object,
    method: str,
    code: int,
    sentence: str,
    nearest: dict[str, object] | None = None,
    differences: Sequence[Mismatch] = (),
) -> Sent:
    """An error answer; `method` is that of the request, if one could be made out."""
    differences = [hidden_difference(each) for each in differences]
    message = f"mcptest mock: {sentence}"
    if nearest:
        place = f"{nearest['file']}:{nearest['line']}"
        message += f"; the nearest is {dump_json(nearest['case'])} ({place})"
    # An unknown method has been told already.
    if differences and differences[0].path != "method" and differences[0].message not in sentence:
        message += f": {_in_words(differences)}"
    told = [difference_members(each) for each in differences[:_MAX_DIFFERENCES]]
    data = {"nearest": nearest, "differences": told}
    error = {"code": code, "message": message, "data": data}
    return Sent(message={"jsonrpc": "2.0", "id": id, "error": error}, method=method)


def _in_words(differences: Sequence[Mismatch]) -> str:
    """The first differences on one line, and how many more there are."""
    told = [_told(each) for each in differences[:_MAX_IN_WORDS]]
    if len(differences) > _MAX_IN_WORDS:
        told.append(f"and {len(differences) - _MAX_IN_WORDS} more")
    return "; ".join(told)


def _told(difference: Mismatch) -> str:
    where = f"{difference.path}: " if difference.path else ""
    sides = ""
    if difference.message == "differs":
        sides = f", expected {show_json(difference.expected)}, got {show_json(difference.actual)}"
    elif difference.message == "is missing":
        sides = f", expected {show_json(difference.expected)}"
    elif difference.message == "is not expected":
        sides = f", got {show_json(difference.actual)}"
    hint = f" ({difference.hint})" if difference.hint else ""
    return f"{where}{difference.message}{sides}{hint}"
