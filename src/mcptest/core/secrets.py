"""Which values are secret, by the keys that name them, and their removal from all that is written.

Edit this module to treat one more key or option as secret, to exempt a word from blanking, or to
redact one more kind of value. The search for these values in a text is in `core.blanking`, which
only runs that have secrets load; that for secrets of which no key is known, in
`core.likely_secrets`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    Redact = Callable[[str], str]
    # Start and end of a secret in a string.
    Place = tuple[int, int]

__all__ = [
    "BLANK",
    "CUT",
    "LEARNED",
    "LEAST_CHARS",
    "REDACTED",
    "is_secret",
    "members_of",
    "merge_places",
    "names_secret",
    "redact_all",
    "redact_bytes",
    "redact_part",
    "redactor",
    "secrets_in",
    "split_words",
    "why_not_blanked",
]

# Values that can be blanked

BLANK = "[secret]"

# Marks where mcptest has cut a text.
CUT = "…"

# Shorter values ("1", "on") are not secrets, and blanking them would make reports unreadable.
LEAST_CHARS = 4

# Longer values that are settings rather than secrets, or occur in every answer and report.
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
    """Why a value is never blanked, as a phrase that follows its name; "" when it is blanked."""
    value = secret.strip()
    if len(value) < LEAST_CHARS:
        return "is too short to be blanked"
    is_common = value.lower() in _COMMON or value in BLANK
    return "is too common a word to be blanked" if is_common else ""


# Blanking values and texts

# Number of texts of one value that are searched together.
_MAX_JOINED = 500

# Fields of records that hold a word with a fixed meaning or a digest, never text from outside.
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

# Fields that hold a JSON value from a file or a server. Other numbers are counts, and fields that
# end in _s are times.
_PAYLOADS = frozenset(["actual", "expected", "request", "response", "value"])
_NUMBERS = (int, float, bool)


class _Learned:
    """Secrets that are in no file: tokens that were fetched, credentials of a proxy.

    They are kept for the whole run: a server may return in one session what it received in
    another.
    """

    def __init__(self) -> None:
        self.secrets: tuple[str, ...] = ()
        # Called with all of them before a new one is used.
        self.listener: Callable[[tuple[str, ...]], None] | None = None

    def add(self, *secrets: str) -> None:
        self.secrets = tuple(dict.fromkeys((*self.secrets, *secrets)))
        if self.listener:
            self.listener(self.secrets)


LEARNED = _Learned()


class _LiveRedactor:
    """Blanks its own secrets, and all that have been learned by the time it is called."""

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
            self._redact = _cached_redactor(tuple(sorted(self._own.union(known))))
            self._known = known
        return self._redact


def redactor(secrets: Iterable[str]) -> Redact:
    """A function that blanks these values and learned ones, also encoded, escaped, and cut."""
    return _LiveRedactor(secrets)


@lru_cache(maxsize=16)
def _cached_redactor(secrets: tuple[str, ...]) -> Redact:
    if all(map(why_not_blanked, secrets)):
        return str
    # Only runs that have secrets pay for this import.
    from mcptest.core.blanking import Redactor  # noqa: PLC0415

    return Redactor(secrets)


def redact_all(value: Any, redact: Redact) -> Any:
    """The same value with every text in it redacted.

    This happens before anything is rendered: half a secret is not recognised, and blanking one
    that is also a number or a word of the report ("8080", "error") would break its syntax.
    """
    if isinstance(redact, _LiveRedactor):
        redact = redact.current()
        if redact is str:
            # Most runs have no secrets.
            return value
    if isinstance(value, str):
        return redact(value)
    # Most values hold no secret: their texts are searched together, but few enough at a time to
    # stay below the size above which nested forms are not searched.
    texts: list[str] = []
    _collect_texts(value, texts)
    for start in range(0, len(texts), _MAX_JOINED):
        text = "\0".join(texts[start : start + _MAX_JOINED])
        if redact(text) != text:
            return _redact_value(value, redact)
    return value


def redact_bytes(raw: bytes, redact: Redact) -> bytes:
    """Bytes from a server with every secret in them blanked."""
    text = raw.decode("utf-8", "surrogateescape")
    return redact(text).encode("utf-8", "surrogateescape")


def redact_part(text: str, redact: Redact) -> str:
    """Redact a line or another part of a text, which may begin or end inside a secret."""
    return redact(f"{CUT}{text}{CUT}").removeprefix(CUT).removesuffix(CUT)


def merge_places(places: Iterable[Place]) -> list[Place]:
    """The places in order; those that overlap are made one."""
    kept: list[Place] = []
    for start, end in sorted(places):
        if kept and start < kept[-1][1]:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
        elif end > start:
            kept.append((start, end))
    return kept


def _collect_texts(value: Any, texts: list[str]) -> None:
    """Collect every text that `_redact_value` changes. Called for every event, so it is fast."""
    kind = type(value)
    if kind is str:
        texts.append(value)
    elif isinstance(value, Record):
        for name, inner in vars(value).items():
            if type(inner) is str:
                if name not in _OUR_WORDS:
                    texts.append(inner)
            elif inner and _may_hold_secret(name, inner):
                _collect_texts(inner, texts)
    elif kind is dict:
        texts += value
        for inner in value.values():
            _collect_texts(inner, texts)
    elif kind is tuple or kind is list:
        for inner in value:
            _collect_texts(inner, texts)
    elif kind is int or kind is float:
        texts.append(str(value))
    elif kind is bytes:
        texts.append(value.decode("utf-8", "surrogateescape"))


def _redact_value(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, bytes):
        return redact_bytes(value, redact)
    if isinstance(value, (list, tuple)):
        return type(value)(_redact_value(inner, redact) for inner in value)
    if isinstance(value, dict):
        return {redact(key): _redact_value(inner, redact) for key, inner in value.items()}
    if isinstance(value, Record):
        outer = {
            name: _redact_value(inner, redact)
            for name, inner in vars(value).items()
            if _may_hold_secret(name, inner)
        }
        return value.but(**outer)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if redact(str(value)) == str(value) else BLANK
    return value


def _may_hold_secret(name: str, value: object) -> bool:
    """Whether a field of a record may hold a secret."""
    is_number = type(value) in _NUMBERS or name.endswith("_s")
    return name not in _OUR_WORDS and (not is_number or name in _PAYLOADS)


# Keys that name secrets


@lru_cache(maxsize=4096)
def split_words(key: str) -> tuple[str, ...]:
    """The words of a key, in lower case: createdAt and created_at have two."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", key[:200])
    return tuple(word.lower() for word in found)


REDACTED = "REDACTED"

# Secret anywhere in a key.
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
# A key that ends with one of these describes a secret and does not hold it.
_ABOUT = frozenset(
    [
        *("at", "budget", "count", "counts", "enabled", "endpoint", "expiration", "expires"),
        *("expiry", "format", "in", "length", "limit", "limits", "max", "min", "name", "policy"),
        *("required", "size", "status", "strength", "ttl", "type", "types", "uri", "url", "usage"),
    ]
)
# Tokens that are not credentials: positions in a list, or pieces of a text.
_HARMLESS_TOKENS = frozenset(
    [
        *("cached", "completion", "continuation", "design", "estimated", "input", "max", "min"),
        *("next", "num", "output", "page", "progress", "prompt", "reasoning", "remaining"),
        *("sync", "total", "used"),
    ]
)
_TOKENS = ("token", "tokens")
# A number of fewer digits under "tokens" is a count.
_LEAST_TOKEN_DIGITS = 6
# {"name": "X-Api-Key", "value": "…"} is a member of its own.
_NAME_KEYS = frozenset(["field", "header", "key", "name"])
_MAX_NAME = 100


def is_secret(key: str, value: object) -> bool:
    """Whether a value is secret according to its key."""
    if value is None or isinstance(value, bool) or value in ("", REDACTED, BLANK, [], {}):
        return False
    if isinstance(value, (int, float)):
        is_plural = _letter_words(key)[-1:] == ("tokens",)
        is_count = is_plural and len(str(value)) < _LEAST_TOKEN_DIGITS
        return names_secret(key) and not is_count
    return names_secret(key) or (isinstance(value, str) and _letter_words(key)[-1:] == ("pass",))


def secrets_in(env: Mapping[str, str], listed: Iterable[str]) -> list[str]:
    """The values of secret variables: those that are listed, and those with such a name."""
    # A value that cannot be hidden is probably not a secret, unless it is listed.
    found = [env[name] for name in env if names_secret(name) and not why_not_blanked(env[name])]
    return list(dict.fromkeys([*found, *(env[name] for name in listed)]))


@lru_cache(maxsize=4096)
def names_secret(key: str) -> bool:
    """Whether a key names a secret."""
    words = _letter_words(key)
    if not words or words[-1] in _ABOUT:
        return False
    if words[-1] in _LAST_WORDS or "".join(words).endswith(_SECRET_ENDS):
        return True
    if not _SECRET_WORDS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairwise(words)):
        return True
    # A token, unless it is one of those that are not credentials.
    if words[-1] in ("value", "string"):
        words = words[:-1]
    if not words or not words[-1].endswith(_TOKENS):
        return False
    *before, last = words
    joined = last.removesuffix("s").removesuffix("token")
    return _HARMLESS_TOKENS.isdisjoint([*before, joined])


def _letter_words(key: str) -> tuple[str, ...]:
    """The words of a key, without numbers: password2 is a password."""
    return tuple(word for word in split_words(key) if not word.isdigit())


def members_of(value: Any, key: str) -> Iterator[tuple[str | int, str, Any]]:
    """The members of an object or a list: step, the key that names the value, and value.

    A value beside the name of a secret (`{"name": …, "value": …}`) is named by it, and one after
    an option such as --password by the option.
    """
    if isinstance(value, dict):
        named = _secret_name(value)
        for name, inner in value.items():
            yield name, named if named and name.lower() in ("value", "values") else name, inner
        return
    option = ""
    for index, inner in enumerate(value):
        yield index, option or key, inner
        is_option = not option and isinstance(inner, str) and inner.startswith("-")
        option = inner if is_option and len(inner) <= _MAX_NAME and names_secret(inner) else ""


def _secret_name(value: dict[str, Any]) -> str:
    """The name of a secret that an object gives a value for; "" when there is none."""
    for name, inner in value.items():
        is_name = isinstance(inner, str) and len(inner) <= _MAX_NAME and name.lower() in _NAME_KEYS
        if is_name and names_secret(inner):
            return str(inner)
    return ""
