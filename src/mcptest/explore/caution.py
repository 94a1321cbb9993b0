"""Which tools are not to be called without being asked to.

A server's own hints count first; where it gives none, the words it uses for the tool. When in
doubt a tool is left alone: a test that is missing costs less than a file that is gone.
"""

from __future__ import annotations

import re
import unicodedata

from mcptest.core.text import is_visible, shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["why_not_called"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# As a word of a name. "add" alone adds numbers; before another word it adds to something.
_VERBS = _words(
    """
    abort alter append apply approve archive assign ban book burn buy cancel change charge chmod
    chown clean clear close commit copy create deactivate decline decrement del delete deploy
    destroy disable drop edit enable erase eval evict exec execute expire flush forget grant halt
    import increment insert install invite invoke kick kill launch lock login logout merge
    migrate mkdir mkfs modify move mutate mute mv notify overwrite patch pause pay post poweroff
    prune publish purchase purge push put reboot rebuild refund register reject remove rename
    replace reply reset restart restore revert revoke rm rmdir rollback rotate run save schedule
    sell send set shred shutdown sign spawn start stop store submit subscribe suspend sync
    terminate toggle transfer trash truncate tweet unban uninstall unlink unlock unpublish
    unregister unset unsubscribe update upgrade upload upsert wipe withdraw write
    """
)

# These are things as well: after a word that reads, that is what they are.
_THINGS_TOO = _words("block comment email empty format mail mark order resume swap trade vote")
_READING = _words(
    """
    analyze calculate check compare convert count describe fetch find get has inspect is list
    lookup parse query read search show summarize validate view
    """
)

# In a sentence many verbs are nouns, or speak of something else; these are what is feared.
_FEARED = _words(
    """
    append ban cancel charge create delete deploy destroy disable drop edit erase execute flush
    insert install kick kill modify move overwrite patch pay post publish purchase purge push
    reboot remove rename replace reset restart restore revoke run send shutdown submit suspend
    terminate transfer truncate uninstall update upload wipe write
    """
)

# Inside a word these mean harm, however it goes on: "deletefile", "wiping", "irrevocably".
_STEMS = (
    r"delet|remov|destroy|destruct|(?<!s)wip(?:e|ing)|eras(?:e|ing|ure)|purg(?:e|ing)|overwrit"
    r"|uninstall|(?<!de)terminat|shutdown|flush|reboot|irrevers|irrevoc|revok|obliterat|nuk(?:e|ing)"
    r"|unlink|rmrf|rmtree|drop(?:table|database|collection|index|schema)|format(?:disk|drive)"
)
# An answer that is cut short harms nobody; a tool that is named for it does more than that.
_STEMS_OF_NAMES = rf"{_STEMS}|truncat"
_FORMATS_A_DISK = (
    r"(?i)format(?:s|ting)?\s+(?:\w+\s+){0,3}(?:card|device|dis[ck]|drive|partition|storage|volume)"
)

# Verbs that are written together with what they are done to, and ends that make things of them.
_GLUED = (
    "cancel|create|deploy|exec(?!ut)|execute|insert|install|kill|modify|publish|rename|replace"
    "|send|submit|transfer|update|upload|write"
)
_THING_ENDS = "d|r|s|rs|ed|er|ers|ing|ation|able|ment"
_GLUED_START = rf"(?:{_GLUED})(?!(?:{_THING_ENDS})s?$)[a-z]{{3,}}"
_GLUED_END = r"[a-z]{3,}(?:create|delete|execute|insert|modify|rename|send|update|upload|write)"

_NAME_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
_SAFE_NAME = r"[A-Za-z0-9_\-./]+"

# The first word of a sentence says what is done, unless it names an argument: "start: a date".
_OPENING = r"(?:\A|[.!?]\s)\W{0,9}(?:[A-Za-z]{1,20}ly\s{1,9})?([A-Za-z]+)(?!\s{0,9}[:(])\b"
_MAX_DESCRIPTION = 20_000


def why_not_called(tool: dict[str, Any]) -> str:
    """Why this tool should not be called just to see what it does; "" when it may be."""
    hints = tool.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    if hints.get("destructiveHint") is True:
        return "the server says that it is destructive"
    if hints.get("readOnlyHint") is True:
        return ""
    if hints.get("readOnlyHint") is False:
        return "the server says that it does more than read"
    if hints.get("openWorldHint") is True:
        return "the server says that it reaches the world outside, and not that it only reads"
    return next(_doubts(tool, hints.get("title")), "")


def _doubts(tool: dict[str, Any], other_title: object) -> Iterator[str]:
    """What speaks against a call, in the words that the server has for the tool."""
    name = str(tool.get("name"))
    if not re.fullmatch(_SAFE_NAME, name):
        shown = visible(shorten(name, 80))
        yield f'its name, "{shown}", has odd characters, and nothing says that it only reads'
    if named := _verb_in_name(name):
        yield f'its name says "{visible(named)}", and the server does not say that it only reads'
    for title in (tool.get("title"), other_title):
        if isinstance(title, str) and (named := _verb_in_name(_evened(title))):
            yield f'its title says "{visible(named)}", and nothing says that it only reads'
    description = tool.get("description")
    if isinstance(description, str):
        if len(description) > _MAX_DESCRIPTION:
            yield "its description is too long to be read, and nothing says that it only reads"
        elif told := _verb_in_text(_evened(description)):
            yield f'its description says "{visible(told)}", and nothing says that it only reads'


def _evened(text: str) -> str:
    """A text without what is not seen of it, and with plain letters where it has fancy ones."""
    if text.isascii():
        return text
    plain = "".join(char for char in text if is_visible(char) or char.isspace())
    return unicodedata.normalize("NFKC", plain)


def _verb_in_name(name: str) -> str:
    words: list[str] = re.findall(_NAME_WORD, name[:_MAX_DESCRIPTION])
    if len(words) > 1 and words[0].casefold() == "add":
        return words[0]
    reads = bool(words) and words[0].casefold() in _READING
    return next((word for word in words if _is_feared_in_name(word.casefold(), reads)), "")


def _is_feared_in_name(word: str, reads: bool) -> bool:
    return (
        word in _VERBS
        or (word in _THINGS_TOO and not reads)
        or re.search(_STEMS_OF_NAMES, word) is not None
        or re.fullmatch(rf"{_GLUED_START}|{_GLUED_END}", word) is not None
    )


def _verb_in_text(text: str) -> str:
    found = re.search(_FORMATS_A_DISK, text)
    if found:
        return " ".join(found[0].split())
    for word in re.findall(_OPENING, text):
        if not (_VERBS | _THINGS_TOO).isdisjoint(_plain_forms(word, "ing")):
            return str(word)
    words: list[str] = re.findall(r"[A-Za-z]+", text)
    for word in words:
        if re.search(_STEMS, word.casefold()) or not _FEARED.isdisjoint(_plain_forms(word)):
            return word
    return ""


def _plain_forms(word: str, *endings: str) -> Iterator[str]:
    """What a word may be without its ending: "stopping" is "stop", "modifies" is "modify"."""
    folded = word.casefold()
    yield folded
    if folded.endswith("ies"):
        yield f"{folded[:-3]}y"
    for ending in ("s", "es"):
        yield folded.removesuffix(ending)
    for ending in endings:
        stem = folded.removesuffix(ending)
        yield from (stem, f"{stem}e")
        if stem[-1:] == stem[-2:-1]:
            yield stem[:-1]
