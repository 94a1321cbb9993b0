"""Blank secrets out of everything that is written, whatever shape they took on the way."""

from __future__ import annotations

from functools import lru_cache

from mcptest.core.record import Record
from mcptest.core.weak_secrets import BLANK, CUT, why_not_blanked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Redact = Callable[[str], str]

__all__ = [
    "BLANK",
    "LEARNED",
    "redact_all",
    "redact_bytes",
    "redact_part",
    "redactor",
    "why_not_blanked",
]

# So many texts of one value are looked through together.
_MAX_JOINED = 500

# Fields of our records that hold a word with a fixed meaning or a digest, never text from outside.
_OUR_WORDS = frozenset(
    [
        "code",
        "direction",
        "effect",
        "format",
        "kind",
        "selection",
        "severity",
        "started_at",
        "status",
    ]
)

# Fields that hold a JSON value from a file or a server; other numbers are counts of ours, and
# those that end in _s are times.
_PAYLOADS = frozenset(["actual", "expected", "request", "response", "value"])
_NUMBERS = (int, float, bool)


class _Learned:
    """Secrets that nobody wrote in a file: tokens that were fetched, credentials of a proxy.

    They are kept for as long as we run: a server may show in one session what it was told in
    another.
    """

    def __init__(self) -> None:
        self.secrets: tuple[str, ...] = ()
        # Hears of all of them before they are used.
        self.listener: Callable[[tuple[str, ...]], None] | None = None

    def add(self, *secrets: str) -> None:
        self.secrets = tuple(dict.fromkeys((*self.secrets, *secrets)))
        if self.listener:
            self.listener(self.secrets)


LEARNED = _Learned()


class _LiveRedactor:
    """Blanks its own secrets, and all that have been learned by the time it is asked."""

    __slots__ = ("_known", "_own", "_redact")

    def __init__(self, secrets: Iterable[str]) -> None:
        self._own = frozenset(secrets)
        self._known: tuple[str, ...] | None = None
        self._redact: Redact = str

    def __call__(self, text: str) -> str:
        return self.current()(text)

    def current(self) -> Redact:
        known = LEARNED.secrets
        if known is not self._known:
            self._redact = _redactor(tuple(sorted(self._own.union(known))))
            self._known = known
        return self._redact


def redactor(secrets: Iterable[str]) -> Redact:
    """A function that blanks these values and learned ones, also encoded, escaped, and cut."""
    return _LiveRedactor(secrets)


@lru_cache(maxsize=16)
def _redactor(secrets: tuple[str, ...]) -> Redact:
    if all(map(why_not_blanked, secrets)):
        return str
    # Only runs that have secrets pay for this import.
    from mcptest.core.blanking import Redactor  # noqa: PLC0415

    return Redactor(secrets)


def redact_all(value: Any, redact: Redact) -> Any:
    """The same value with every text in it redacted.

    This has to happen before anything is rendered: half a secret is not recognised any
    more, and one that is also a number or a word of ours ("8080", "error") would take the
    syntax of the report with it.
    """
    if isinstance(redact, _LiveRedactor):
        redact = redact.current()
        if redact is str:
            # There are no secrets, as in most runs.
            return value
    if isinstance(value, str):
        return redact(value)
    # Most values have no secret in them: their texts are looked through together, but not so
    # many at a time that they would be read less thoroughly.
    texts: list[str] = []
    _gather(value, texts)
    for start in range(0, len(texts), _MAX_JOINED):
        text = "\0".join(texts[start : start + _MAX_JOINED])
        if redact(text) != text:
            return _redacted(value, redact)
    return value


def redact_bytes(raw: bytes, redact: Redact) -> bytes:
    """Bytes from a server with every secret in them blanked."""
    text = raw.decode("utf-8", "surrogateescape")
    return redact(text).encode("utf-8", "surrogateescape")


def redact_part(text: str, redact: Redact) -> str:
    """A line, or another part of what came, which may begin or end in the middle of a secret."""
    return redact(f"{CUT}{text}{CUT}").removeprefix(CUT).removesuffix(CUT)


def _gather(value: Any, texts: list[str]) -> None:
    """Every text that `_redacted` looks at. Asked of all that is told, so it is quick."""
    kind = type(value)
    if kind is str:
        texts.append(value)
    elif isinstance(value, Record):
        _gather_fields(value, texts)
    elif kind is dict:
        texts += value
        for inner in value.values():
            _gather(inner, texts)
    elif kind is tuple or kind is list:
        for inner in value:
            _gather(inner, texts)
    elif kind is int or kind is float:
        texts.append(str(value))
    elif kind is bytes:
        texts.append(value.decode("utf-8", "surrogateescape"))


def _gather_fields(record: Record, texts: list[str]) -> None:
    for name, value in vars(record).items():
        if type(value) is str:
            if name not in _OUR_WORDS:
                texts.append(value)
        elif value and _is_from_outside(name, value):
            _gather(value, texts)


def _redacted(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, bytes):
        return redact_bytes(value, redact)
    if isinstance(value, (list, tuple)):
        return type(value)(_redacted(inner, redact) for inner in value)
    if isinstance(value, dict):
        return {redact(key): _redacted(inner, redact) for key, inner in value.items()}
    if isinstance(value, Record):
        outer = {
            name: _redacted(inner, redact)
            for name, inner in vars(value).items()
            if _is_from_outside(name, inner)
        }
        return value.but(**outer)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if redact(str(value)) == str(value) else BLANK
    return value


def _is_from_outside(name: str, value: object) -> bool:
    """Whether a field of ours may hold a secret; what nobody gave is a default of ours."""
    is_number = type(value) in _NUMBERS or name.endswith("_s")
    return name not in _OUR_WORDS and (not is_number or name in _PAYLOADS)
