"""Where secrets stand inside a text: by the word before them, by their look, or in JSON.

Every expression here goes over a text once: nothing that was read is given back.
"""

from __future__ import annotations

import re
from functools import lru_cache

from mcptest.core.secrets import BLANK, REDACTED, is_secret, members_of, names_secret
from mcptest.traffic.json_text import Leaf, json_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Place = tuple[int, int]

__all__ = ["merged", "secret_places", "without_scheme"]

# Whatever is found below has one of these; most texts have none, and are not looked through.
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
_SCHEMES = r"(?:(?:bearer|basic|token|apikey|negotiate)[ \t]++)?"
_BARE = (
    r"(?:[^\s\"'`\\,;&<>()\[\]{}]|[()\[\]{}](?=\w)"
    r"|[,;](?=[^\s\"'`\\,;&<>()\[\]{}])(?![\w.-]{1,40}[=:]))"
)
# A key of one or two words, what may close its quotes, = or :, and a value.
_ASSIGNMENT = re.compile(
    r"(?<![\w.-])(?=([\w.-]++(?: [\w.-]++)?))\1[\\\"'`\]]{0,8}[ \t]{0,8}(?:=>|:=|={1,3}|:)"
    rf"[ \t]{{0,8}}[\\\"'`]{{0,8}}(?!//|[:=<$*{{\[(])({_SCHEMES}{_BARE}++)",
    re.IGNORECASE,
)
_QUOTED = {quote: re.compile(rf"[^{quote}\\\r\n]*+") for quote in ('"', "'")}
_LINE = re.compile(r"[^\"'\\\r\n]*+")
_LINE_NAMES = ("cookie", "cookies")
# Words that speak of a secret where one might stand.
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
_LEAST_SURE = 6


@lru_cache(maxsize=64)
def secret_places(text: str, *, is_prose: bool = False) -> tuple[Place, ...]:
    """From where to where secrets stand in a text; none overlap.

    Prose is what describes something: a word behind "password:" is one of its words there.
    """
    if not _MAY_HOLD.search(text):
        return ()
    found = [*_by_look(text), *_in_addresses(text)]
    found += _behind_words(text, is_prose=is_prose)
    if '"' in text and ("{" in text or "[" in text):
        found += _in_json(text)
    return tuple(merged(found))


def merged(places: Iterable[Place]) -> list[Place]:
    """The places in order; those that overlap are one."""
    kept: list[Place] = []
    for start, end in sorted(places):
        if kept and start < kept[-1][1]:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
        elif end > start:
            kept.append((start, end))
    return kept


def without_scheme(text: str) -> str:
    """An authorization without the word that says of which kind it is."""
    found = re.match(_SCHEMES, text, re.IGNORECASE)
    return text[found.end() :] if found else text


def _by_look(text: str) -> Iterator[Place]:
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


def _in_addresses(text: str) -> Iterator[Place]:
    for found in _USER_INFO.finditer(text):
        at = found[1].rfind("@")
        if at > 0:
            yield found.start(1), found.start(1) + at
    if "?" not in text and "#" not in text:
        return
    for found in _QUERY.finditer(text):
        if found[1].lower() in _QUERY_NAMES or is_secret(found[1], found[2]):
            yield found.span(2)


def _behind_words(text: str, *, is_prose: bool) -> Iterator[Place]:
    for found in _SCHEME.finditer(text):
        # "Basic usage" is nothing secret; what is, is in base64.
        is_word = found[1].lower() == "basic" and re.fullmatch("[A-Za-z]?[a-z]+", found[2])
        if not is_word and _is_value(found[2], is_prose=is_prose):
            yield found.span()
    done = 0
    for found in _ASSIGNMENT.finditer(text):
        if found.start() >= done and _names_value(found[1], found[2]):
            start, done = _whole_value(text, found)
            if _is_value(text[start:done], is_prose=is_prose):
                yield start, done


def _names_value(key: str, value: str) -> bool:
    """Whether a word, or two, before a colon say that a secret follows."""
    *_, last = key.split(" ")
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else value
    return is_secret(last, number) or (last.lower() in ("key", "keys") and names_secret(key))


def _whole_value(text: str, found: re.Match[str]) -> Place:
    """All of a value: in quotes up to where they close, a cookie up to the end of its line."""
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
    """Whether a text may be a secret, and is not one of the words that speak of it."""
    if is_prose:
        return len(text) >= _LEAST_SURE and _DIGIT.search(text) is not None
    return text.lower() not in _WORDS


def _in_json(text: str) -> Iterator[Place]:
    """What is secret in the JSON of a text, and in the texts in it."""
    waiting: list[tuple[Any, str]] = [(root, "") for root in json_in(text)]
    while waiting:
        node, key = waiting.pop()
        if isinstance(node, Leaf):
            yield from _in_leaf(node, key)
        elif is_secret(key, node):
            leaves = (leaf for leaf in _leaves(node) if is_secret(key, _meant(leaf)))
            yield from ((leaf.start, leaf.end) for leaf in leaves)
        else:
            waiting += [(inner, name) for _, name, inner in members_of(node, key)]


def _in_leaf(leaf: Leaf, key: str) -> Iterator[Place]:
    if is_secret(key, _meant(leaf)):
        yield leaf.start, leaf.end
    elif not leaf.is_bare:
        yield from (leaf.place(start, end) for start, end in secret_places(str(leaf)))


def _leaves(node: Any) -> Iterator[Leaf]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Leaf):
            yield node
        else:
            waiting += node.values() if isinstance(node, dict) else node


def _meant(leaf: Leaf) -> object:
    """What a leaf stands for: a word without quotes is no text."""
    if not leaf.is_bare:
        return str(leaf)
    if leaf in ("null", "true", "false"):
        return None
    try:
        return float(leaf) if "." in leaf or len(leaf) > 20 else int(leaf)
    except ValueError:
        return str(leaf)
