"""Which tools may be called just to see what they answer.

The hints of the server count first. Without them a tool is called only if its name begins with a
verb that reads, and neither the rest of its name nor its title, its description or its arguments
say otherwise. In doubt a tool is not called: a missing test costs less than a deleted file. Every
part of mcptest that calls tools on its own asks `reason_not_to_call`.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from mcptest.core.schema_walk import SchemaWalker, dict_at
from mcptest.core.secrets import split_words
from mcptest.core.text import excerpt, is_visible, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.explore.features import Message

__all__ = ["reason_not_to_call"]


def reason_not_to_call(tool: Message, *, calls_unannotated: bool = False) -> str:
    """Why this tool must not be called just to see what it does; "" if it may be.

    With `calls_unannotated`, a tool without hints need not look as if it only reads; it must only
    not look as if it did harm.
    """
    hints = tool.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    if hints.get("destructiveHint") is True:
        return "the server says that it is destructive"
    if hints.get("readOnlyHint") is True:
        return ""
    if hints.get("readOnlyHint") is False:
        return "the server says that it does more than read"
    if harm := _reason_in_words(tool, hints.get("title")):
        return harm
    if calls_unannotated:
        return ""
    if hints.get("openWorldHint") is True:
        return "the server says that it reaches the world outside, and not that it only reads"
    return _reason_it_may_not_read(tool)


# Tools that look as if they only read

# Verbs that read, as the first word of a name. Left out are those that may cost money (ask,
# summarize, translate), that take a program (query, evaluate), that leave something behind
# (download, generate, open, record) and that mean several things (add, load, resolve, verify).
_READING = frozenset(
    [
        *("calculate", "check", "compare", "convert", "count", "describe", "echo", "fetch", "find"),
        *("get", "has", "inspect", "is", "list", "lookup", "parse", "read", "retrieve", "search"),
        *("show", "validate", "view"),
    ]
)
# With the second word these do something else: check_in, show_notification.
_PHRASES = {
    "check": frozenset(["in", "into", "off", "on", "out", "up"]),
    "show": frozenset(["alert", "dialog", "message", "notification", "popup", "toast", "window"]),
}
_JOINING = frozenset(["and", "or", "then"])
# An argument that takes a program could do anything.
_PROGRAMS = frozenset(["cmd", "command", "mutation", "script", "shell", "sql", "statement"])
# An argument that says where to write: output_path, saveTo.
_WRITTEN = frozenset(["dest", "destination", "out", "output", "save"])
_PLACES = frozenset(["dir", "directory", "file", "filename", "folder", "path", "to"])


def _reason_it_may_not_read(tool: Message) -> str:
    unsaid = "and the server does not say that it only reads"
    first, *rest = [word.casefold() for word in _name_words(str(tool.get("name")))] or [""]
    if first not in _READING:
        return f"its name does not begin with a verb that reads, such as get or list, {unsaid}"
    if rest and rest[0] in _PHRASES.get(first, ()):
        return f'its name says "{first} {rest[0]}", {unsaid}'
    for joint, word in pairwise(rest):
        # A plural is another thing to read: files_and_folders.
        if joint in _JOINING and word not in _READING and not word.endswith("s"):
            return f'its name says "{joint} {word}", {unsaid}'
    for name in dict_at(SchemaWalker(tool.get("inputSchema")).root().schema, "properties"):
        words = frozenset(split_words(name))
        if words & _PROGRAMS or words == {"code"}:
            return f'its argument "{_short(name)}" may take a program, {unsaid}'
        if words & _WRITTEN and (words & _PLACES or len(words) == 1):
            return f'its argument "{_short(name)}" may say where to write, {unsaid}'
    return ""


def _name_words(name: str) -> list[str]:
    return re.findall(_NAME_WORD, name[:_MAX_DESCRIPTION_CHARS])


# Tools that look as if they did harm


def _reason_in_words(tool: Message, hint_title: object) -> str:
    name, description = str(tool.get("name")), tool.get("description")
    if not re.fullmatch(_SAFE_NAME, name):
        odd = f'its name, "{_short(name)}", has odd characters'
        return f"{odd}, and nothing says that it only reads"
    if verb := _verb_in_name(name):
        return f'its name says "{visible(verb)}", and the server does not say that it only reads'
    for title in (tool.get("title"), hint_title):
        if isinstance(title, str) and (verb := _verb_in_name(_plain_letters(title))):
            return f'its title says "{visible(verb)}", and nothing says that it only reads'
    if not isinstance(description, str):
        return ""
    if len(description) > _MAX_DESCRIPTION_CHARS:
        return "its description is too long to be read, and nothing says that it only reads"
    if verb := _verb_in_text(_plain_letters(description)):
        return f'its description says "{visible(verb)}", and nothing says that it only reads'
    return ""


def _short(name: str) -> str:
    return excerpt(name, 80)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Verbs that change something, as a word of a name.
_VERBS = _words(
    """
    abort ack acknowledge alter append apply approve archive assign ban book burn buy cancel change
    charge chmod chown claim clean clear close commit consume copy create deactivate decline
    decrement del delete deploy dequeue destroy disable drop edit enable erase eval evict exec
    execute expire flush forget grant halt import increment insert install invite invoke kick kill
    launch lock login logout mark merge migrate mkdir mkfs modify move mutate mute mv notify
    overwrite patch pause pay pop post poweroff prune publish purchase purge push put reboot
    rebuild refund register reject remove rename replace reply reset restart restore revert revoke
    rm rmdir rollback rotate run save schedule sell send set shred shutdown sign spawn start stop
    store submit subscribe suspend sync terminate toggle transfer trash truncate tweet unban
    uninstall unlink unlock unpublish unregister unset unsubscribe update upgrade upload upsert
    wipe withdraw write
    """
)

# In a name these say that the tool moves on: get_next_job, fetch_and_take.
_MOVING_ON = _words("advance drain next take")

# These may be nouns: after a verb that reads, they are.
_VERBS_OR_NOUNS = _words("block comment email empty format mail order resume swap trade vote")

# In a sentence many verbs are nouns, or mean something else; these are the ones that count.
_VERBS_IN_TEXT = _words(
    """
    append ban cancel charge create delete deploy destroy disable drop edit erase execute flush
    insert install kick kill modify move mutate overwrite patch pay persist post publish purchase
    purge push reboot remove rename replace reset restart restore revoke run save send shutdown
    submit suspend terminate transfer truncate uninstall update upload wipe write
    """
)

# Inside any word these mean harm: "deletefile", "wiping", "irrevocably".
_STEMS = (
    r"delet|remov|destroy|destruct|(?<!s)wip(?:e|ing)|eras(?:e|ing|ure)|purg(?:e|ing)|overwrit"
    r"|uninstall|(?<!de)terminat|shutdown|flush|reboot|irrevers|irrevoc|revok|obliterat|nuk(?:e|ing)"
    r"|unlink|rmrf|rmtree|drop(?:table|database|collection|index|schema)|format(?:disk|drive)"
)
# A description may speak of a truncated answer, which is harmless; a name does not.
_STEMS_OF_NAMES = rf"{_STEMS}|truncat"
_FORMATS_A_DISK = (
    r"(?i)format(?:s|ting)?\s+(?:\w+\s+){0,3}(?:card|device|dis[ck]|drive|partition|storage|volume)"
)

# Verbs written together with their object, and endings that make nouns of them.
_GLUED = (
    "cancel|create|deploy|exec(?!ut)|execute|insert|install|kill|modify|publish|rename|replace"
    "|send|submit|transfer|update|upload|write"
)
_NOUN_ENDINGS = "d|r|s|rs|ed|er|ers|ing|ation|able|ment"
_GLUED_START = rf"(?:{_GLUED})(?!(?:{_NOUN_ENDINGS})s?$)[a-z]{{3,}}"
_GLUED_END = r"[a-z]{3,}(?:create|delete|execute|insert|modify|rename|send|update|upload|write)"

# A tool that reads and changes what it reads: "lists mails and marks them as read".
_OBJECT = r"(?:an?|all|any|as|each|every|it|its|next|off|one|the|their|them|these|this|those)"
_CONSUMES = (
    r"(?i)\b(?:acknowledg(?:es?|ing)|consum(?:es?|ing)|dequeu(?:es?|e?ing)"
    r"|(?:de|in)crement(?:s|ing)?(?!\s+of\b)"
    rf"|(?:mark(?:s|ing)?|pop(?:s|ping)?|claim(?:s|ing)?|advanc(?:es?|ing))\s+{_OBJECT}"
    r"|tak(?:es?|ing)\s+(?:it|them|(?:the\s+)?(?:first|next|oldest))"
    r"|marked\s+(?:as\s+)?(?:delivered|done|handled|processed|read|seen))\b"
)

_NAME_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
_SAFE_NAME = r"[A-Za-z0-9_\-./]+"

# The first word of a sentence is its verb, unless it names an argument: "start: a date".
_OPENING = r"(?:\A|[.!?]\s)\W{0,9}(?:[A-Za-z]{1,20}ly\s{1,9})?([A-Za-z]+)(?!\s{0,9}[:(])\b"
_MAX_DESCRIPTION_CHARS = 20_000


def _plain_letters(text: str) -> str:
    """A text without invisible characters, and with plain letters instead of fancy ones."""
    if text.isascii():
        return text
    plain = "".join(char for char in text if is_visible(char) or char.isspace())
    return unicodedata.normalize("NFKC", plain)


def _verb_in_name(name: str) -> str:
    words = _name_words(name)
    # "add" alone adds numbers; before another word it adds to something.
    if len(words) > 1 and words[0].casefold() == "add":
        return words[0]
    reads = bool(words) and words[0].casefold() in _READING
    for word in words:
        folded = word.casefold()
        if (
            folded in _VERBS
            or folded in _MOVING_ON
            or (folded in _VERBS_OR_NOUNS and not reads)
            or re.search(_STEMS_OF_NAMES, folded)
            or re.fullmatch(rf"{_GLUED_START}|{_GLUED_END}", folded)
        ):
            return word
    return ""


def _verb_in_text(text: str) -> str:
    found = re.search(_FORMATS_A_DISK, text) or re.search(_CONSUMES, text)
    if found:
        return " ".join(found[0].split())
    for word in re.findall(_OPENING, text):
        if not (_VERBS | _VERBS_OR_NOUNS).isdisjoint(_base_forms(word, "ing")):
            return str(word)
    words: list[str] = re.findall(r"[A-Za-z]+", text)
    for word in words:
        if re.search(_STEMS, word.casefold()) or not _VERBS_IN_TEXT.isdisjoint(_base_forms(word)):
            return word
    return ""


def _base_forms(word: str, *endings: str) -> Iterator[str]:
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
