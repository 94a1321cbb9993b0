"""Say of a secret that it is too weak to be blanked, while its name is still known."""

from __future__ import annotations

from mcptest.core.secrets import LEAST_CHARS, why_not_blanked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.fields import Fields

__all__ = ["warn_of_weak"]

_HELP = f"a secret has at least {LEAST_CHARS} characters and is no everyday word"


def warn_of_weak(fields: Fields, key: str, name: str, value: str) -> None:
    """Warn that what the variable `name` brought to this key will not be blanked, if so."""
    reason = why_not_blanked(value)
    if value and reason:
        message = f"the value of {name!r} {reason}; whatever is written may hold it"
        fields.complain(key, "W003", message, _HELP, on_key=False, severity="warning")
