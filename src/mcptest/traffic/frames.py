"""What texts in the same place of several recordings have in common, and what may stand between.

Texts are cut into words and what is between words; what varies by its look is one word, and the
same in all texts. The words of the first text that all others have in the same order are the
frame.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate

from mcptest.core.record import Record
from mcptest.traffic.shapes import expression_for, is_loose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.traffic.tag import Span

    # Of each token of the first text that another one has, the place there.
    Places = dict[int, int]

__all__ = ["Tokens", "frame_of", "tokens_of"]

# 3.5, 12:30, a-b and file.txt are one word each.
_TOKEN = re.compile(r"\w+(?:[-.]\w+|(?<=\d):(?=\d)\w+)*|\s+|.", re.DOTALL)
# A frame has at least this part of the words.
_LEAST_SHARE = 1 / 3
# More than this would take longer to compare than it is worth; of very many gaps none is sure.
_MAX_PAIRS = 40_000
_MAX_LOOSE = 10
# How much a token counts when two texts have it in common.
_WORD, _MARK, _BLANK = 4, 2, 1


class Tokens(Record):
    """A text in pieces. Those with the same key may stand in each other's place."""

    texts: list[str]
    expressions: list[str]
    keys: list[str]
    weights: list[int]

    def words(self) -> list[str]:
        """The keys of the words."""
        pairs = zip(self.keys, self.weights, strict=True)
        return [key for key, weight in pairs if weight == _WORD]


def tokens_of(text: str, spans: Sequence[Span]) -> Tokens:
    """A text in pieces, each of the spans as one: what varies by its look is one word."""
    texts: list[str] = []
    expressions: list[str] = []
    done = 0
    for start, end, expression in spans:
        texts += _TOKEN.findall(text[done:start])
        expressions += [""] * (len(texts) - len(expressions)) + [expression]
        texts.append(text[start:end])
        done = end
    texts += _TOKEN.findall(text[done:])
    expressions += [""] * (len(texts) - len(expressions))
    pairs = list(zip(texts, expressions, strict=True))
    return Tokens(
        texts=texts,
        expressions=expressions,
        keys=[f"/{expression}/" if expression else each for each, expression in pairs],
        weights=[_WORD if expression else _weight(each) for each, expression in pairs],
    )


def _weight(token: str) -> int:
    if token[0].isalnum() or token[0] == "_":
        return _WORD
    return _BLANK if token.isspace() else _MARK


def frame_of(texts: Sequence[Tokens]) -> list[Span] | None:
    """The parts of the first text that vary; None when the texts have little in common."""
    first, *others = texts
    words = [Counter(text.words()) for text in texts]
    least = max(1, max(each.total() for each in words) * _LEAST_SHARE)
    if any((words[0] & each).total() < least for each in words):
        return None
    places = [_places(first, other) for other in others]
    kept = [at for at in range(len(first.keys)) if all(at in each for each in places)]
    if sum(first.weights[at] == _WORD for at in kept) < least:
        return None
    gaps = _without_blanks(_gaps(texts, kept, places), "".join(first.texts))
    if sum(is_loose(gap.expression) for gap in gaps) > _MAX_LOOSE:
        return None
    return _spans(first, kept, gaps)


# Which tokens belong together


def _places(first: Tokens, other: Tokens) -> Places:
    ours, theirs = first.keys, other.keys
    if len(ours) == len(theirs):
        same = [at for at, key in enumerate(ours) if key == theirs[at]]
        words = sum(first.weights[at] == _WORD for at in same)
        if words * 2 >= first.weights.count(_WORD):
            return {at: at for at in same}
    head = _common(ours, theirs)
    tail = _common(ours[head:][::-1], theirs[head:][::-1])
    places = {at: at for at in range(head)}
    places |= {len(ours) - at: len(theirs) - at for at in range(1, tail + 1)}
    inside, inside_theirs = slice(head, len(ours) - tail), slice(head, len(theirs) - tail)
    if len(ours[inside]) * len(theirs[inside_theirs]) <= _MAX_PAIRS:
        found = _longest(ours[inside], first.weights[inside], theirs[inside_theirs])
        places |= {head + at: head + place for at, place in found.items()}
    return places


def _common(ours: list[str], theirs: list[str]) -> int:
    """How many tokens at the beginning are the same."""
    count = 0
    for one, other in zip(ours, theirs, strict=False):
        if one != other:
            break
        count += 1
    return count


def _longest(ours: list[str], weights: list[int], theirs: list[str]) -> Places:
    """The weightiest tokens that both have in the same order."""
    # best[i][j] is the weight of what ours[i:] and theirs[j:] have in common.
    best = [[0] * (len(theirs) + 1)]
    for key, weight in zip(reversed(ours), reversed(weights), strict=True):
        below, row = best[-1], [0] * (len(theirs) + 1)
        right = 0
        for at in range(len(theirs) - 1, -1, -1):
            if key == theirs[at]:
                right = below[at + 1] + weight
            elif below[at] > right:
                right = below[at]
            row[at] = right
        best.append(row)
    best.reverse()
    return _walked(ours, theirs, best)


def _walked(ours: list[str], theirs: list[str], best: list[list[int]]) -> Places:
    places: Places = {}
    at = place = 0
    while at < len(ours) and place < len(theirs):
        if ours[at] == theirs[place]:
            places[at] = place
            at, place = at + 1, place + 1
        elif best[at + 1][place] >= best[at][place + 1]:
            at += 1
        else:
            place += 1
    return places


# What stands between them


class _Gap(Record):
    """A place in the first text that is not of the frame, and what stands there in each text."""

    start: int
    end: int
    texts: tuple[str, ...]
    expression: str


def _gaps(texts: Sequence[Tokens], kept: list[int], places: list[Places]) -> Iterator[_Gap]:
    at = list(accumulate(map(len, texts[0].texts), initial=0))
    starts = [0] * len(texts)
    ends = [[each, *(place[each] for place in places)] for each in kept]
    for stops in (*ends, [len(text.texts) for text in texts]):
        if stops != starts:
            ranges = zip(texts, starts, stops, strict=True)
            between = tuple("".join(text.texts[start:stop]) for text, start, stop in ranges)
            yield _Gap(
                start=at[starts[0]],
                end=at[stops[0]],
                texts=between,
                expression=expression_for(between),
            )
        starts = [stop + 1 for stop in stops]


def _without_blanks(gaps: Iterator[_Gap], text: str) -> list[_Gap]:
    """The gaps, with two made one when nothing but blanks is between them.

    How many words there are is then left open. Gaps that are known for something stay.
    """
    found: list[_Gap] = []
    for gap in gaps:
        last = found[-1] if found else gap
        between = text[last.end : gap.start]
        is_open = is_loose(last.expression) or is_loose(gap.expression)
        if not found or not between.isspace() or not is_open:
            found.append(gap)
            continue
        pairs = zip(last.texts, gap.texts, strict=True)
        joined = tuple(f"{before}{between}{after}" for before, after in pairs)
        found[-1] = gap.but(start=last.start, texts=joined, expression=expression_for(joined))
    return found


def _spans(first: Tokens, kept: list[int], gaps: list[_Gap]) -> list[Span]:
    at = list(accumulate(map(len, first.texts), initial=0))
    varying = [
        (at[each], at[each + 1], first.expressions[each])
        for each in kept
        if first.expressions[each]
    ]
    return sorted([*varying, *((gap.start, gap.end, gap.expression) for gap in gaps)])
