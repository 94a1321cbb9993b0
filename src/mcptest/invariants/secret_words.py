"""Guesses about secrets: ELIC-06 and ELIC-07. Words can mislead, so they only ever warn."""

from __future__ import annotations

from mcptest.invariants.asking import asked_in, asking_topics, each_asked
from mcptest.invariants.elicitation import METHOD, is_form
from mcptest.invariants.elicitation_urls import needed_urls
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.urls import split_url
from mcptest.invariants.wording import few, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.invariants.asking import Asked
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["SECRET_RULES", "asks_for_secret", "is_secret_name"]

# No name or sentence is looked at further than this.
_MAX_TEXT = 2000
_LONGEST = 2

_SECRETS = frozenset(
    (
        "password",
        "passwd",
        "pwd",
        "passphrase",
        "passcode",
        "secret",
        "secrets",
        "token",
        "credential",
        "credentials",
        "apikey",
        "api key",
        "access key",
        "secret key",
        "private key",
        "signing key",
        "card number",
        "credit card",
        "cvv",
        "cvc",
        "security code",
        "pin code",
    )
)
# A token after one of these grants nothing: it is a place in a list.
_PLACES = frozenset(["page", "next", "continuation", "progress", "cursor", "sync", "previous"])
# What may follow a secret in a name that still means the secret.
_TRAILING = frozenset(["again", "confirm", "confirmation", "repeat", "value", "optional"])
# A sentence asks with these, and what it asks for follows before one of `_TURNS`.
_ASKING = frozenset(["enter", "provide", "type", "paste", "supply", "give", "input", "insert"])
_TURNS = frozenset(["for", "of", "to", "about", "with", "in", "from", "without"])
_NEGATIONS = frozenset(["not", "never", "no", "don", "doesn", "won"])
_ATTRIBUTES = frozenset(
    ["count", "limit", "length", "name", "hint", "policy", "type", "id", "budget", "expiry", "age"]
)


def words_of(text: str) -> list[str]:
    """The words of a name or a sentence, in small letters: `apiKey2` has api, key and 2."""
    text = text[:_MAX_TEXT]
    words: list[str] = []
    kind = ""
    for at, char in enumerate(text):
        now = _kind(char)
        begins = now != kind and not (kind == "upper" and now == "lower")
        ends_capitals = kind == now == "upper" and text[at + 1 : at + 2].islower()
        if now and (begins or ends_capitals or not words):
            words.append("")
        if now:
            words[-1] += char.lower()
        kind = now
    return words


def _kind(char: str) -> str:
    if char.isdigit():
        return "digit"
    if not char.isalpha():
        return ""
    return "upper" if char.isupper() else "lower"


def _secret_before(words: list[str], end: int) -> bool:
    """Whether the words up to a place end with the name of a secret."""
    if words[end - 1] == "token" and end > 1 and words[end - 2] in _PLACES:
        return False
    return any(" ".join(words[max(end - n, 0) : end]) in _SECRETS for n in range(1, _LONGEST + 1))


def is_secret_name(name: str) -> bool:
    """Whether something with this name or title is probably a secret."""
    words = words_of(name)
    while words and (words[-1] in _TRAILING or words[-1].isdigit()):
        words.pop()
    return bool(words) and _secret_before(words, len(words))


def asks_for_secret(message: str) -> bool:
    """Whether a sentence of this text asks to enter a secret."""
    text = message[:_MAX_TEXT]
    for mark in "!?\n;":
        text = text.replace(mark, ".")
    return any(_sentence_asks(words_of(sentence)) for sentence in text.split("."))


def _sentence_asks(words: list[str]) -> bool:
    is_asking = False
    for at, word in enumerate(words):
        if word in _NEGATIONS:
            return False
        if word in _ASKING:
            is_asking = True
        elif word in _TURNS:
            is_asking = False
        elif is_asking and _secret_before(words, at + 1):
            if words[at + 1 : at + 2] and words[at + 1] in _ATTRIBUTES:
                continue
            return True
    return False


# The rules


def _form(asked: Asked, facts: Facts) -> Breaches:
    if not is_form(asked, facts):
        return None
    return few(_form_breaches(asked))


def _form_breaches(asked: Asked) -> Iterator[str]:
    schema = asked.params.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    can_be_typed = False
    for name, wanted in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(wanted, dict) or not _is_typed_in(wanted):
            continue
        can_be_typed = True
        title = wanted.get("title")
        is_secret = is_secret_name(name) or wanted.get("format") == "password"
        if is_secret or (isinstance(title, str) and is_secret_name(title)):
            where = asked.at("requestedSchema", "properties", name)
            yield f"{where} seems to ask for a secret; a form must not, the mode url is for that"
    message = asked.params.get("message")
    if can_be_typed and isinstance(message, str) and asks_for_secret(message):
        yield f"{asked.at('message')} seems to ask for a secret: {shown(message)}"


def _is_typed_in(wanted: dict[str, object]) -> bool:
    is_choice = "enum" in wanted or "oneOf" in wanted
    return wanted.get("type") in ("string", "number", "integer") and not is_choice


def _urls(said: Said, facts: Facts) -> Breaches:
    found: list[str] | None = None
    for where, url in _urls_in(said, facts):
        found = few((*(found or ()), *(f"{where} {problem}" for problem in _url_problems(url))))
    return found


def _urls_in(said: Said, facts: Facts) -> Iterator[tuple[str, str]]:
    if said.kind == "error":
        for index, each in enumerate(needed_urls(said) or ()):
            if isinstance(each, dict) and isinstance(each.get("url"), str):
                yield f"error.data.elicitations[{index}].url", each["url"]
        return
    for asked in asked_in(said, facts):
        url = asked.params.get("url") if asked.params.get("mode") == "url" else None
        if asked.method == METHOD and isinstance(url, str):
            yield asked.at("url"), url


def _url_problems(text: str) -> Iterator[str]:
    """What a URL gives away. The secrets themselves are not repeated."""
    url = split_url(text[:_MAX_TEXT])
    if "@" in url.authority:
        yield "has credentials before its host"
    for pair in (*url.query.split("&"), *url.fragment.split("&")):
        name, _, value = pair.partition("=")
        if value and is_secret_name(name):
            yield f"has what seems to be a secret in its parameter {shown(name)}"
    if any(_has_email(part) for part in (url.path, url.query, url.fragment)):
        yield "has an e-mail address in it"


def _has_email(text: str) -> bool:
    before, at, after = text.replace("%40", "@").partition("@")
    if not at or not before[-1:].isalnum():
        return False
    for mark in "/&;?":
        after = after.partition(mark)[0]
    host, dot, end = after.rpartition(".")
    return bool(host and dot and end.isalpha())


SECRET_RULES = (
    Rule(
        id="ELIC-06",
        name="no-secrets-in-form",
        category="elicitation",
        property="no form asks for passwords, keys, tokens or the numbers of cards",
        levels=at_levels(should="CDE"),
        topics=asking_topics(METHOD),
        start=each_asked(METHOD, _form),
        nothing="the server asked for no form",
        elsewhere="no elicitation",
    ),
    Rule(
        id="ELIC-07",
        name="no-secrets-in-url",
        category="elicitation",
        property="no URL that a user is sent to has credentials or an e-mail address in it",
        levels=at_levels(should="DE"),
        topics=(*asking_topics(METHOD), "error"),
        start=lambda: Looking(_urls),
        nothing="the server asked for no visit to a URL",
        elsewhere="no modes of elicitation",
    ),
)
