"""Which tools are not to be called without being asked to.

A server's own hints count first; where it gives none, the words it uses for the tool. When in
doubt a tool is left alone: a test that is missing costs less than a file that is gone.
"""

from __future__ import annotations

import re

from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["why_not_called"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# As a word of a name. "add" alone adds numbers; before another word it adds to something.
_VERBS = _words(
    """
    append apply archive assign book buy cancel charge clean clear close commit copy create
    deactivate delete deploy destroy disable drop edit enable erase eval evict exec execute
    expire grant import insert install invite invoke kill launch lock login logout merge modify
    move mutate overwrite patch pay post publish purchase purge push put reboot refund register
    reject remove rename replace reply reset restart restore revert revoke rollback rotate run
    save schedule sell send set shutdown sign spawn start stop store submit subscribe sync
    terminate transfer trash truncate uninstall unlink unlock unpublish unregister unset
    unsubscribe update upgrade upload upsert wipe withdraw write
    """
)

# In a sentence many verbs are nouns, or speak of something else; these are what is feared.
_FEARED = _words(
    """
    append cancel charge create delete deploy destroy drop edit erase execute insert install kill
    modify move overwrite patch pay post publish purchase purge push reboot remove rename replace
    reset restart restore revoke run send shutdown submit terminate transfer truncate uninstall
    update upload wipe write
    """
)

_NAME_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
_MAX_DESCRIPTION = 4_000


def why_not_called(tool: dict[str, Any]) -> str:
    """Why this tool should not be called just to see what it does; "" when it may be."""
    hints = tool.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    if hints.get("destructiveHint") is True:
        return "the server says that it is destructive"
    if hints.get("readOnlyHint") is True:
        return ""
    if hints.get("openWorldHint") is True:
        return "the server says that it reaches the world outside, and not that it only reads"
    named = _verb_in_name(str(tool.get("name")))
    if named:
        return f'its name says "{visible(named)}", and the server does not say that it only reads'
    told = _verb_in_text(str(tool.get("description", ""))[:_MAX_DESCRIPTION])
    if told:
        return f'its description says "{visible(told)}", and nothing says that it only reads'
    return ""


def _verb_in_name(name: str) -> str:
    words: list[str] = re.findall(_NAME_WORD, name)
    if len(words) > 1 and words[0].casefold() == "add":
        return words[0]
    return next((word for word in words if word.casefold() in _VERBS), "")


def _verb_in_text(text: str) -> str:
    words: list[str] = re.findall(r"[A-Za-z]+", text)
    for word in words:
        folded = word.casefold()
        if not _FEARED.isdisjoint((folded, folded.removesuffix("s"), folded.removesuffix("es"))):
            return word
    return ""
