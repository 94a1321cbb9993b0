"""Secrets"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Redact = Callable[[str], str]

__all__ = [
    "BLANK",
    "CUT",
    "LEARNED",
    "LEAST_CHARS",
    "REDACTED",
    "is_secret",
    "members_of",
    "names_secret",
    "redact_all",
    "redact_bytes",
    "redact_part",
    "redactor",
    "split_words",
    "why_not_blanked",
]

BLANK = "[secret]"

# Wherever we cut a text, this says so.
CUT = "…"

# Shorter values ("1", "on") are no secrets, and blanking them would shred the report.
LEAST_CHARS = 4

# Longer ones that are settings and not secrets, or stand in every answer and every report.
_COMMON = frozenset(
    [
        *("true", "false", "null", "none", "undefined", "auto", "default", "enabled", "disabled"),
        *("test", "tests", "testing", "prod", "production", "stage", "staging", "develop"),
        *("development", "local", "localhost", "demo", "example", "debug", "info", "warn"),
        *("warning", "error", "trace", "verbose", "quiet", "silent", "http", "https", "stdio"),
        *("utf-8", "utf8", "json", "text", "name", "type", "result", "content", "method"),
        *("params", "jsonrpc", "tool", "tools", "server", "client", "string", "object"),
        *("secret", "secrets"),
    ]
)


def why_not_blanked(secret: str) -> str:
    """Why a value is left as it is wherever it stands, as half a sentence; "" when it is not."""
    value = secret.strip()
    if len(value) < LEAST_CHARS:
        return "is too short to be blanked"
    is_common = value.lower() in _COMMON or value in BLANK
    return "is too common a word to be blanked" if is_common else ""


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


@lru_cache(maxsize=4096)
def split_words(key: str) -> tuple[str, ...]:
    """The words of a key, in small letters: createdAt and created_at have two."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", key[:200])
    return tuple(word.lower() for word in found)


REDACTED = "REDACTED"

# Secret wherever they stand in a key.
_SECRET_WORDS = frozenset(
    [
        *("apikey", "apikeys", "authorization", "credential", "credentials", "passphrase"),
        *("passcode", "passwd", "password", "passwords", "pwd", "secret", "secrets", "bearer"),
    ]
)
# Secret at the end of a key, also when it is written as one word.
_SECRET_ENDS = (
    *("accesskey", "accesskeys", "apikey", "apikeys", "authkey", "encryptionkey", "passcode"),
    *("passphrase", "passwd", "password", "passwords", "privatekey", "privatekeys", "secret"),
    *("secretkey", "secrets", "sessionkey", "signingkey", "connectionstring"),
)
_LAST_WORDS = frozenset(
    ["auth", "cookie", "cookies", "csrf", "jwt", "jwts", "otp", "pin", "pincode", "totp", "xsrf"]
)
_SECRET_PAIRS = frozenset(
    (first, second)
    for first in ("access", "api", "auth", "encryption", "private", "secret", "session", "signing")
    for second in ("key", "keys")
)
# A key that ends so tells something about a secret, and not the secret.
_ABOUT = frozenset(
    [
        *("at", "budget", "count", "counts", "enabled", "endpoint", "expiration", "expires"),
        *("expiry", "format", "in", "length", "limit", "limits", "max", "min", "name", "policy"),
        *("required", "size", "status", "strength", "ttl", "type", "types", "uri", "url", "usage"),
    ]
)
# Tokens that open nothing: they say how far something has come, or are pieces of a text.
_HARMLESS_TOKENS = frozenset(
    [
        *("cached", "completion", "continuation", "design", "estimated", "input", "max", "min"),
        *("next", "num", "output", "page", "progress", "prompt", "reasoning", "remaining"),
        *("sync", "total", "used"),
    ]
)
_TOKENS = ("token", "tokens")
# Fewer digits under "tokens" are a count of them.
_LEAST_TOKEN_DIGITS = 6
# {"name": "X-Api-Key", "value": "…"} is a member of its own.
_NAME_KEYS = frozenset(["field", "header", "key", "name"])
_MAX_NAME = 100


def is_secret(key: str, value: object) -> bool:
    """Whether a value is secret by the key it stands under."""
    if value is None or isinstance(value, bool) or value in ("", REDACTED, BLANK, [], {}):
        return False
    if isinstance(value, (int, float)):
        return names_secret(key) and not _is_count(key, value)
    return names_secret(key) or (isinstance(value, str) and _words(key)[-1:] == ("pass",))


def _is_count(key: str, value: float) -> bool:
    is_plural = _words(key)[-1:] == ("tokens",)
    return is_plural and len(str(value)) < _LEAST_TOKEN_DIGITS


@lru_cache(maxsize=4096)
def names_secret(key: str) -> bool:
    """Whether a key says that what stands under it is secret."""
    words = _words(key)
    if not words or words[-1] in _ABOUT:
        return False
    if words[-1] in _LAST_WORDS or "".join(words).endswith(_SECRET_ENDS):
        return True
    if not _SECRET_WORDS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairwise(words)):
        return True
    return _names_token(words)


def _names_token(words: tuple[str, ...]) -> bool:
    if words[-1:] == ("value",) or words[-1:] == ("string",):
        words = words[:-1]
    if not words or not words[-1].endswith(_TOKENS):
        return False
    *before, last = words
    joined = last.removesuffix("s").removesuffix("token")
    return _HARMLESS_TOKENS.isdisjoint([*before, joined])


def _words(key: str) -> tuple[str, ...]:
    """The words of a key, without numbers: password2 is a password."""
    return tuple(word for word in split_words(key) if not word.isdigit())


def members_of(value: Any, key: str) -> Iterator[tuple[str | int, str, Any]]:
    """The members of an object or a list: the step to each, the key it stands under, and itself.

    A value beside the name of a secret stands under that name, and one behind an option such
    as --password under the option.
    """
    if isinstance(value, dict):
        named = _secret_name(value)
        for name, inner in value.items():
            yield name, named if named and name.lower() in ("value", "values") else name, inner
        return
    option = ""
    for index, inner in enumerate(value):
        yield index, option or key, inner
        option = inner if isinstance(inner, str) and not option and _is_option(inner) else ""


def _secret_name(value: dict[str, Any]) -> str:
    """The name of a secret that an object has a value for; "" when there is none."""
    for name, inner in value.items():
        is_name = isinstance(inner, str) and len(inner) <= _MAX_NAME and name.lower() in _NAME_KEYS
        if is_name and names_secret(inner):
            return str(inner)
    return ""


def _is_option(text: str) -> bool:
    return text.startswith("-") and len(text) <= _MAX_NAME and names_secret(text)
