"""Texts of the server as a contract has them: what varies in them, what differs, what is secret."""

from __future__ import annotations

import re

from mcptest.core.blanking import Redactor
from mcptest.core.secrets import BLANK, REDACTED
from mcptest.traffic.frames import frame_of, tokens_of
from mcptest.traffic.looks import CONSTANT_KEYS, spans_in, without_overlaps
from mcptest.traffic.secret_texts import merged, secret_places
from mcptest.traffic.tag import ANY, HALF_CHARACTER, MAX_DESCRIBED, TEXT, described_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.traffic.secret_texts import Place
    from mcptest.traffic.tag import Span, Tag
    from mcptest.traffic.varying import Varying

__all__ = ["TextDescriber"]

# More are not looked for outside their own keys, and of these only so many encoded as well.
_MAX_SECRETS = 1_000
_MAX_ENCODED = 20
# Of more than these in one text, it would take too long to see where each ends.
_MAX_HIDDEN = 10


class TextDescriber:
    """Describes one text after the other; `known` is what the client has said so far."""

    def __init__(
        self, secrets: Iterable[str], varying: Varying, *, keep_values: bool = False
    ) -> None:
        longest_first = sorted(dict.fromkeys(secrets), key=len, reverse=True)[:_MAX_SECRETS]
        self._secret = re.compile("|".join(map(re.escape, [*longest_first, BLANK])))
        self._encoded = Redactor(longest_first[:_MAX_ENCODED])
        self._varying = varying
        self._keep_values = keep_values
        self._unwritable: dict[str, bool] = {}
        self.known: set[str] = set()

    def know(self, text: str, key: str = "") -> None:
        """The client has said this: when the server says it again, it stays."""
        self.known.add(text)
        self.known.update(text[start:end] for start, end, _ in spans_in(key, text))

    def without_secrets(self, text: str) -> str:
        """Text of our own, with nothing secret in it that was found elsewhere."""
        return _written(text, self._known_in(text))

    def hidden_in(self, text: str, *, is_prose: bool = False) -> list[Place]:
        """Where secrets stand in a recorded text."""
        places = secret_places(text, is_prose=is_prose)
        known = self._known_in(text)
        return merged([*places, *known]) if places else known

    def _known_in(self, text: str) -> list[Place]:
        """Where secrets that were found elsewhere stand, as they were there or encoded."""
        known = [found.span() for found in self._secret.finditer(text)]
        encoded = self._encoded.places(text)
        return merged([*known, *encoded]) if encoded else known

    def has_secret(self, text: str, *, is_prose: bool = False) -> bool:
        """Whether there is a secret in a text that was not blanked before."""
        places = self.hidden_in(text, is_prose=is_prose)
        return any(text[start:end] != BLANK for start, end in places)

    def redacted(self, text: str, *, is_prose: bool = False) -> str:
        """A recorded text with a word in the place of each secret."""
        return _written(text, self.hidden_in(text, is_prose=is_prose))

    def is_unwritable(self, name: str) -> bool:
        """Whether a key is better not written; what is not written is not checked."""
        if name not in self._unwritable:
            is_varying = name in self._varying and not self._keep_values
            is_bad = HALF_CHARACTER.search(name) or self.hidden_in(name, is_prose=True)
            self._unwritable[name] = bool(is_varying or is_bad)
        return self._unwritable[name]

    def described(
        self, text: str, others: Iterable[str], key: str, *, is_schema: bool = False
    ) -> Tag | str:
        """A text of the server; `others` stand in its place in further recordings."""
        texts = list(dict.fromkeys((text, *others)))
        if len(texts) > 1:
            return self._framed(texts, key, is_schema=is_schema)
        if self.hidden_in(text, is_prose=is_schema or key in CONSTANT_KEYS) == [(0, len(text))]:
            return ANY
        spans = self._spans(key, text, is_schema=is_schema)
        tag = TEXT if spans is None else described_text(text, spans)
        if tag is None and HALF_CHARACTER.search(text):
            return TEXT
        return text if tag is None else tag

    def _framed(self, texts: list[str], key: str, *, is_schema: bool) -> Tag:
        """What texts have in common, and expressions for the rest; any text when it is little."""
        found = [self._spans(key, text, is_schema=is_schema) for text in texts]
        spans = [each for each in found if each is not None]
        if max(map(len, texts)) > MAX_DESCRIBED or len(spans) < len(texts):
            return TEXT
        tokens = list(map(tokens_of, texts, spans))
        if all(each.keys == tokens[0].keys for each in tokens):
            # They differ in nothing but what varies by its look.
            return described_text(texts[0], spans[0]) or TEXT
        frame = frame_of(tokens)
        return (described_text(texts[0], frame) if frame else None) or TEXT

    def _spans(self, key: str, text: str, *, is_schema: bool) -> list[Span] | None:
        """What varies in a text or is secret; None when half a secret would be left over."""
        places = self.hidden_in(text, is_prose=is_schema or key in CONSTANT_KEYS)
        hidden = [(start, end, _expression(text[start:end])) for start, end in places]
        varying = [] if self._keep_values or is_schema else self._varying_spans(key, text)
        if not hidden:
            return varying
        if len(hidden) > _MAX_HIDDEN:
            return None
        spans = without_overlaps([*hidden, *varying])
        return spans if set(hidden) <= set(spans) else None

    def _varying_spans(self, key: str, text: str) -> list[Span]:
        if text in self.known:
            return []
        is_constant = key in CONSTANT_KEYS
        spans = [] if is_constant else spans_in(key, text, self.known)
        found = list(self._varying.spans_in(text, self.known, are_words_kept=is_constant))
        return without_overlaps([*spans, *found]) if found else spans


def _expression(secret: str) -> str:
    """What may stand in the place of a secret: blanks and quotes only where it has some."""
    if secret == BLANK or re.search(r"\s", secret):
        return r"[\s\S]+"
    return r"\S+" if '"' in secret else '[^\\s"]+'


def _written(text: str, hidden: Iterable[Place]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in hidden:
        pieces += [text[done:start], _kept_blank(text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])


def _kept_blank(text: str) -> str:
    return text if text == BLANK else REDACTED
