"""The search for secrets whose values are not known, inside strings: by what they look like.

Edit this module to recognise one more kind of token (`ghp_…`), header (`Bearer …`) or place in a
string, such as the query of a URL. Which keys name a secret is decided in `core.secrets`; here they
are looked for in sentences, URLs and JSON inside a string. Every regular expression goes over a
string once, without backtracking.
"""

from __future__ import annotations

import re
from functools import lru_cache

from mcptest.core.secrets import (
    BLANK,
    REDACTED,
    is_secret,
    members_of,
    merge_places,
    names_secret,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from mcptest.core.secrets import Place

__all__ = [
    "AUTH_SCHEMES",
    "LEAST_FOUND_CHARS",
    "hide_secrets_in",
    "replace_places",
    "secret_places",
    "unescape_json",
]

# Shorter secrets are hidden under their own keys only: any string could contain them.
LEAST_FOUND_CHARS = 6


def hide_secrets_in(text: str) -> str:
    """A string with REDACTED in place of everything that looks like a secret."""
    return replace_places(text, secret_places(text))


def replace_places(text: str, places: Iterable[Place]) -> str:
    """A string with REDACTED in place of each secret."""
    pieces: list[str] = []
    done = 0
    for start, end in places:
        pieces += [text[done:start], BLANK if text[start:end] == BLANK else REDACTED]
        done = end
    return "".join([*pieces, text[done:]])


# Every secret below has one of these; most strings have none and are not searched.
_MAY_HOLD = re.compile(
    r"pass|secret|token|key|auth|credential|cookie|jwt|bearer|basic|otp|pin|pwd|[cx]srf|"
    r"connection|sig|://|\\u|sk[-_]|[rp]k_|gh[a-z]_|github_|glpat|xox|xapp|AKIA|ASIA|eyJ|AIza|"
    r"npm_|hf_|ya29|SG\.",
    re.IGNORECASE,
)
_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))"
_SHAPES = re.compile(
    rf"{_BEGIN}(?:sk[-_][A-Za-z0-9_-]{{8,}}+|[rp]k_(?:live|test)_[A-Za-z0-9]{{6,}}+"
    r"|gh[a-z]_[A-Za-z0-9]{6,}+|github_pat_[A-Za-z0-9_]{6,}+|glpat-[A-Za-z0-9_-]{6,}+"
    r"|xox[a-z]-[A-Za-z0-9-]{6,}+|xapp-[A-Za-z0-9-]{6,}+|(?:AKIA|ASIA)[A-Z0-9]{12,}+"
    r"|AIza[A-Za-z0-9_-]{10,}+|npm_[A-Za-z0-9]{20,}+|hf_[A-Za-z0-9]{20,}+"
    r"|ya29\.[A-Za-z0-9_-]{10,}+|SG\.[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+)"
)
_LONG_SHAPE = 24
_JWT = re.compile(r"(?<![\w-])[\w-]++\.[\w-]++\.[\w-]*+", re.ASCII)
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_USER_INFO = re.compile(r"://[^\s/?#\"'@:\\]*+:([^\s/?#\"'\\]++)")
_QUERY = re.compile(r"[?&#;]([\w.~%-]++)=([^\s&#\"'<>\\]++)")
_QUERY_NAMES = frozenset(["key", "sig", "signature", "x-amz-credential", "x-amz-signature"])
_SCHEME = re.compile(
    r"(?<![\w-])(bearer|basic)[ \t]++([A-Za-z0-9._~+/=:|-]++)(?<![.:])", re.IGNORECASE
)
AUTH_SCHEMES = r"(?:(?:bearer|basic|token|apikey|negotiate)[ \t]++)?"
_BARE = (
    r"(?:[^\s\"'`\\,;&<>()\[\]{}]|[()\[\]{}](?=\w)"
    r"|[,;](?=[^\s\"'`\\,;&<>()\[\]{}])(?![\w.-]{1,40}[=:]))"
)
# A key of one or two words, closing quotes, = or :, and a value.
_ASSIGNMENT = re.compile(
    r"(?<![\w.-])(?=([\w.-]++(?: [\w.-]++)?))\1[\\\"'`\]]{0,8}[ \t]{0,8}(?:=>|:=|={1,3}|:)"
    rf"[ \t]{{0,8}}[\\\"'`]{{0,8}}(?!//|[:=<$*{{\[(])({AUTH_SCHEMES}{_BARE}++)",
    re.IGNORECASE,
)
_QUOTED = {quote: re.compile(rf"[^{quote}\\\r\n]*+") for quote in ('"', "'")}
_LINE = re.compile(r"[^\"'\\\r\n]*+")
_LINE_NAMES = ("cookie", "cookies")
# Words that a sentence about secrets may have in place of one.
_WORDS = frozenset(
    [
        *("a", "an", "and", "any", "are", "as", "at", "auth", "authentication", "authorization"),
        *("array", "bearer", "bool", "boolean", "can", "cannot", "denied", "empty", "error"),
        *("expired", "failed", "false", "for", "format", "from", "has", "header", "hidden", "if"),
        *("in", "incorrect", "int", "integer", "invalid", "is", "it", "malformed", "mismatch"),
        *("missing", "must", "no", "none", "not", "null", "number", "object", "of", "ok", "on"),
        *("optional", "or", "password", "present", "required", "revoked", "scheme", "secret"),
        *("set", "should", "str", "string", "that", "the", "this", "to", "token", "tokens"),
        *("true", "undefined", "unknown", "valid", "was", "when", "which", "with", "wrong"),
        *("yes", "you", "your", "access", "api", "user", "users", "use", "used", "value"),
        *(REDACTED.lower(), BLANK),
    ]
)
_DIGIT = re.compile("[0-9]")


@lru_cache(maxsize=64)
def secret_places(text: str, *, is_prose: bool = False) -> tuple[Place, ...]:
    """Where secrets are in a string; none overlap.

    In prose, such as a description, a word after "password:" is just a word.
    """
    if not _MAY_HOLD.search(text):
        return ()
    found = [
        *_find_by_look(text),
        *_find_in_addresses(text),
        *_find_after_words(text, is_prose=is_prose),
    ]
    if '"' in text and ("{" in text or "[" in text):
        found += _find_in_json(text)
    return tuple(merge_places(found))


def _find_by_look(text: str) -> Iterator[Place]:
    for found in _SHAPES.finditer(text):
        if _DIGIT.search(found[0]) or len(found[0]) >= _LONG_SHAPE:
            yield found.span()
    for found in _JWT.finditer(text):
        at = found[0].find("eyJ")
        if 0 <= at < found[0].find("."):
            yield found.start() + at, found.end()
    done = 0
    while begin := _PEM_BEGIN.search(text, done):
        end = _PEM_END.search(text, begin.end())
        done = end.end() if end else len(text)
        yield begin.start(), done


def _find_in_addresses(text: str) -> Iterator[Place]:
    for found in _USER_INFO.finditer(text):
        at = found[1].rfind("@")
        if at > 0:
            yield found.start(1), found.start(1) + at
    if "?" in text or "#" in text:
        for found in _QUERY.finditer(text):
            if found[1].lower() in _QUERY_NAMES or is_secret(found[1], found[2]):
                yield found.span(2)


def _find_after_words(text: str, *, is_prose: bool) -> Iterator[Place]:
    for found in _SCHEME.finditer(text):
        # "Basic usage" is not a secret; credentials are base64.
        is_word = found[1].lower() == "basic" and re.fullmatch("[A-Za-z]?[a-z]+", found[2])
        if not is_word and _is_value(found[2], is_prose=is_prose):
            yield found.span()
    done = 0
    for found in _ASSIGNMENT.finditer(text):
        key, value = found[1], found[2]
        last = key.rpartition(" ")[2]
        number = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else value
        is_key = last.lower() in ("key", "keys") and names_secret(key)
        if found.start() >= done and (is_key or is_secret(last, number)):
            start, done = _extend_value(text, found)
            if _is_value(text[start:done], is_prose=is_prose):
                yield start, done


def _extend_value(text: str, found: re.Match[str]) -> Place:
    """All of a value: in quotes up to the closing one, a cookie up to the end of its line."""
    start, end = found.span(2)
    if text[start - 1] in _QUOTED:
        closed = _QUOTED[text[start - 1]].match(text, start)
        return start, max(end, closed.end()) if closed else end
    if found[1].lower().endswith(_LINE_NAMES):
        line = _LINE.match(text, start)
        end = max(end, line.end()) if line else end
    while end > start + 1 and text[end - 1] in ".!?:)]}":
        end -= 1
    return start, end


def _is_value(text: str, *, is_prose: bool) -> bool:
    """True if a string may be a secret and is not just a word in a sentence about one."""
    if is_prose:
        return len(text) >= LEAST_FOUND_CHARS and _DIGIT.search(text) is not None
    return text.lower() not in _WORDS


# JSON inside a string, which may be cut off, nested or surrounded by words

# A quote after a backslash does not begin a string, else many of them would take quadratic time.
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)"|\\.|([{}\[\],:])|([\w.+-]++)', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
# Deeper values are read as if they were side by side.
_MAX_DEPTH = 200


def _find_in_json(text: str) -> Iterator[Place]:
    waiting: list[tuple[Any, str]] = [(root, "") for root in _parse_json_parts(text)]
    while waiting:
        node, key = waiting.pop()
        if isinstance(node, _Leaf):
            if is_secret(key, node.value):
                yield node.start, node.end
            elif not node.is_bare:
                yield from (node.place(*place) for place in secret_places(str(node)))
        elif is_secret(key, node):
            inner = [node]
            while inner:
                each = inner.pop()
                if not isinstance(each, _Leaf):
                    inner += each.values() if isinstance(each, dict) else each
                elif is_secret(key, each.value):
                    yield each.start, each.end
        else:
            waiting += [(inner, name) for _, name, inner in members_of(node, key)]


class _Leaf(str):
    """A string or number in JSON, unescaped, with the place where it is written."""

    __slots__ = ("_offsets", "end", "is_bare", "start")

    start: int
    end: int
    is_bare: bool
    _offsets: list[int] | None

    @classmethod
    def read(cls, written: str, start: int, *, is_bare: bool) -> _Leaf:
        text, offsets = (written, None) if is_bare else unescape_json(written)
        leaf = cls(text)
        leaf.start, leaf.end = start, start + len(written)
        leaf.is_bare, leaf._offsets = is_bare, offsets
        return leaf

    def place(self, start: int, end: int) -> Place:
        """Where a part of it is written."""
        if self._offsets is None:
            return self.start + start, self.start + end
        return self.start + self._offsets[start], self.start + self._offsets[end]

    @property
    def value(self) -> object:
        """The JSON value; None for constants."""
        if not self.is_bare:
            return str(self)
        if self in ("null", "true", "false"):
            return None
        try:
            return float(self) if "." in self or len(self) > 20 else int(self)
        except ValueError:
            return str(self)


def unescape_json(written: str) -> tuple[str, list[int] | None]:
    """The string that is written in JSON, and where each of its characters is written."""
    if "\\" not in written:
        return written, None
    pieces: list[str] = []
    offsets: list[int] = []
    done = 0
    for found in _ESCAPE.finditer(written):
        pieces.append(written[done : found.start()])
        offsets += range(done, found.start() + 1)
        pieces.append(chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2]))
        done = found.end()
    pieces.append(written[done:])
    return "".join(pieces), [*offsets, *range(done, len(written) + 1)]


def _parse_json_parts(text: str) -> list[Any]:
    """The objects and arrays in a string, with leaves in them; everything else is skipped."""
    roots: list[Any] = []
    # The containers around the current place, each with the key that is being read if any.
    around: list[tuple[dict[str, Any] | list[Any], list[str]]] = [(roots, [])]
    last: _Leaf | None = None
    for found in _TOKEN.finditer(text):
        mark, group = found[2], found.lastindex
        if mark is None:
            if group is not None:
                last = _Leaf.read(found[group], found.start(group), is_bare=group == 3)
                if len(around) > 1:
                    _put(last, *around[-1])
            continue
        if mark in "{[" and len(around) <= _MAX_DEPTH:
            opened: dict[str, Any] | list[Any] = {} if mark == "{" else []
            _put(opened, *around[-1])
            around.append((opened, []))
        elif mark in "}]" and len(around) > 1:
            around.pop()
        elif mark in ":,":
            around[-1][1][:] = [last] if mark == ":" and last is not None else []
        last = None
    return roots


def _put(value: Any, holder: dict[str, Any] | list[Any], keys: list[str]) -> None:
    if isinstance(holder, list):
        holder.append(value)
    elif keys or not isinstance(value, _Leaf):
        key = keys[0] if keys else ""
        # The value of a repeated key is kept as well; a number in a key has no meaning.
        holder[f"{key} {len(holder)}" if key in holder else key] = value
