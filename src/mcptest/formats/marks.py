"""What an author can say about a test beside what it does: skip, only, tags."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.fields import Fields

__all__ = ["read_only", "read_skip", "read_tags"]

# Words that other versions of YAML take for booleans; none of them is a reason.
_SWITCHES = frozenset(["yes", "no", "on", "off", "y", "n", "true", "false"])


def read_only(fields: Fields, key: str) -> bool:
    """Whether this test asks to be the only one; whoever does is warned."""
    is_only = fields.flag(key, False)
    if is_only:
        message = f'"{key}" leaves out all other tests of this file'
        fields.complain(key, "W002", message, "take it out before committing", severity="warning")
    return is_only


def read_tags(fields: Fields, key: str) -> tuple[str, ...]:
    if isinstance(fields.mapping[key], str):
        return (fields.text(key),)
    return fields.texts(key)


def read_skip(fields: Fields, key: str) -> str | None:
    """Why the test is skipped, "" without a reason; None when it is not."""
    value = fields.mapping[key]
    if isinstance(value, bool):
        return "" if value else None
    is_reason = isinstance(value, str) and value.strip()
    if is_reason and str(value).casefold() not in _SWITCHES:
        return str(value)
    message = f'"{key}" must be true, false or a reason'
    help = "in YAML 1.2 only true and false are booleans" if is_reason else ""
    fields.complain(key, "F008", message, help, on_key=False)
    return None
