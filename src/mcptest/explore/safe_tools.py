"""Which tools may be called just to see what they answer.

The hints of the server count first. Without them a tool is called only if its name begins with a
verb that reads, and neither the rest of its name nor its title, its description or its arguments
say otherwise. In doubt a tool is not called: a missing test costs less than a deleted file. Every
part of mcptest that calls tools on its own asks `reason_not_to_call`.
"""

from __future__ import annotations

import re
import unicodedata

from mcptest.core.schema_walk import SchemaWalker, dict_at, list_at
from mcptest.core.secrets import split_words
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt, is_visible, visible
from mcptest.explore.arguments import sample_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.schema_walk import Schema
    from mcptest.explore.arguments import Sample
    from mcptest.protocol.lists import Message

__all__ = ["made_up_arguments", "reason_not_to_call"]


def reason_not_to_call(tool: Message, *, calls_unannotated: bool = False) -> str:
    """Why this tool must not be called just to see what it does; "" if it may be.

    With `calls_unannotated`, a tool without hints need not look as if it only reads; it must only
    not look as if it did harm.
    """
    if malformed := _malformed_member(tool):
        return malformed
    hints = tool.get("annotations") or {}
    if hints.get("destructiveHint") is True:
        return "the server says that it is destructive"
    if hints.get("readOnlyHint") is True:
        return ""
    if hints.get("readOnlyHint") is False:
        return "the server says that it does more than read"
    if harm := _reason_in_words(tool, hints.get("title")) or _reason_in_values(tool):
        return harm
    if calls_unannotated:
        return ""
    if hints.get("openWorldHint") is True:
        return "the server says that it reaches the world outside, and not that it only reads"
    return _reason_it_may_not_read(tool)


def _malformed_member(tool: Message) -> str:
    """What is wrong with a hint or a text about the tool, "" if nothing is; null is none."""
    hints = tool.get("annotations")
    if not isinstance(hints, (dict, type(None))):
        return "its annotations are not an object"
    hints = hints or {}
    for key in ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"):
        if not isinstance(hints.get(key), (bool, type(None))):
            return f"its {key} is neither true nor false"
    for holder, key in ((tool, "title"), (hints, "title"), (tool, "description")):
        if not isinstance(holder.get(key), (str, type(None))):
            return f"its {key} is not a string"
    return ""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Tools that look as if they only read

# Verbs that read, as the first word of a name. Left out are those that may cost money (ask,
# summarize, translate), that take a program (query, evaluate), that leave something behind
# (download, generate, open, record) and that mean several things (add, load, resolve, verify).
_READING = _words(
    """
    calculate check compare convert count describe echo fetch find get has inspect is list lookup
    parse read retrieve search show validate view
    """
)
# With the second word these do something else: check_in, show_notification.
_PHRASES = {
    "check": _words("in into off on out up"),
    "show": _words("alert dialog message notification popup toast window"),
}
_JOINING = _words("and or then")
# An argument that takes a program could do anything.
_PROGRAMS = _words("cmd command expr expression javascript js mutation script shell sql statement")
# An argument that says where to write: output_path, saveTo, outfile.
_WRITTEN = _words("dest destination dst out output save target")
_PLACES = _words("dir directory file filename folder path to")
_GLUED_PLACE = r"(?:dest|destination|dst|out|output|save|target)(?:dir|file|folder|path)"
# "to" alone is also the currency to convert to; beside one of these it is a place.
_SOURCES = _PLACES | {"source", "src", "uri", "url"}


def _reason_it_may_not_read(tool: Message) -> str:
    unsaid = "and the server does not say that it only reads"
    first, *rest = [word.casefold() for word in _name_words(str(tool.get("name")))] or [""]
    if first not in _READING:
        return f"its name does not begin with a verb that reads, such as get or list, {unsaid}"
    if rest and rest[0] in _PHRASES.get(first, ()):
        return f'its name says "{first} {rest[0]}", {unsaid}'
    for before, joint, word in zip([first, *rest], rest, rest[1:], strict=False):
        # A plural is another thing to read: files_and_folders; "process" is none.
        is_plural = word.endswith("s") and not word.endswith(("is", "ss", "us"))
        is_another_thing = is_plural and before not in _READING
        if joint in _JOINING and word not in _READING and not is_another_thing:
            return f'its name says "{joint} {word}", {unsaid}'
    names = {name: frozenset(split_words(name)) for name, _ in _arguments(tool)}
    for name, words in names.items():
        if words & _PROGRAMS or words == {"code"}:
            return f'its argument "{_short(name)}" may take a program, {unsaid}'
        others = [other for key, other in names.items() if key != name]
        if _is_place_to_write(name, words, others):
            return f'its argument "{_short(name)}" may say where to write, {unsaid}'
        if "dry" in words or "dryrun" in words:
            return f'its argument "{_short(name)}" says that it does more than read'
    return ""


def _is_place_to_write(name: str, words: frozenset[str], others: list[frozenset[str]]) -> bool:
    """True if an argument says where to write, by its words and those of all other arguments."""
    if words == {"to"}:
        return any(other & _SOURCES for other in others)
    if "to" in words and words <= _PLACES:
        return True
    if words & _WRITTEN and (words & _PLACES or len(words) == 1):
        return True
    return bool(re.fullmatch(_GLUED_PLACE, name.casefold()))


def _arguments(tool: Message) -> Iterator[tuple[str, Schema]]:
    """The names and schemas of all arguments, also of those inside others."""
    walker = SchemaWalker(tool.get("inputSchema"))
    pending = [(each, 0) for each in walker.branches(walker.root().schema)]
    while pending:
        schema, depth = pending.pop()
        for name, part in dict_at(schema, "properties").items():
            for branch in walker.branches(part):
                yield name, branch
                inner = [branch, *walker.branches(branch.get("items"))]
                pending += [(each, depth + 1) for each in inner if depth < _MAX_DEPTH]


def _name_words(name: str) -> list[str]:
    return re.findall(_NAME_WORD, name[:_MAX_DESCRIPTION_CHARS])


# Values that look as if they did harm

# An argument that says what to do: action, httpMethod.
_CHOICES = _words(
    "action actions cmd command commands do method mode op operation operations ops verb"
)
_HARMLESS_METHODS = _words("head options")
_WRITING_MODE = r"(?:rw|[wax])[bt]?\+?|r[bt]?\+"
# With a value of true these make matters worse.
_SWITCHES = _words("confirm confirmed force forced recurse recursive yes")
_STATEMENT = (
    r"(?i:\b(?:alter|create|drop|truncate)\s+(?:\w+\s+)?(?:column|database|index|role|schema|table"
    r"|user|view)\b|\bdelete\s+from\b|\b(?:insert|merge|replace)\s+into\b"
    r"|\bupdate\s+\S+\s+set\b|\A\s*mutation\b)"
)
_QUERIES = _words("cypher q query queries sql statement statements")
_STATEMENT_VERBS = (
    "alter|create|delete|detach|drop|grant|insert|merge|revoke|truncate|update|upsert"
)
_CHANGING_QUERY = (
    rf"(?i:(?:\A|;)\s*(?:{_STATEMENT_VERBS})\b)|\b(?:{_STATEMENT_VERBS.upper()})\b"
    r"|\.(?:delete|drop|insert|remove|update)\w*\("
)
_MAX_DEPTH = 8


def made_up_arguments(tool: Message) -> Sample:
    """Arguments to call a tool with, harmless ones if there are any."""
    return sample_arguments(tool.get("inputSchema"), _harmless_values)


def _reason_in_values(tool: Message) -> str:
    for name, schema in _arguments(tool):
        given = [schema.get(key) for key in ("const", "default", "example")]
        for value in (*given, *list_at(schema, "examples"), *list_at(schema, "enum")):
            text = value[:_MAX_DESCRIPTION_CHARS] if isinstance(value, str) else ""
            is_query = not _QUERIES.isdisjoint(split_words(name))
            # A program that changes something.
            if re.search(_STATEMENT, text) or (is_query and re.search(_CHANGING_QUERY, text)):
                shown = f'its argument "{_short(name)}" may be "{excerpt(value, 60)}"'
                return f"{shown}, and nothing says that it only reads"
    for name, value in made_up_arguments(tool).harmful:
        shown = excerpt(value if isinstance(value, str) else dump_json(value), 60)
        argument = f'its argument "{_short(name)}" would be "{shown}"'
        return f"{argument}, and nothing says that it only reads"
    return ""


def _harmless_values(name: str, values: list[object]) -> list[object]:
    """Those of the values of an argument that change nothing, best first."""
    harmless = [value for value in values if not _is_harmful(name, value)]
    if len(harmless) == len(values) or _CHOICES.isdisjoint(split_words(name)):
        return harmless
    # What can delete can do more: only what plainly reads is harmless.
    plain: list[object] = []
    for value in harmless:
        first = "".join(_name_words(value)[:1]).casefold() if isinstance(value, str) else ""
        if first in _READING | _HARMLESS_METHODS or re.fullmatch("r[bt]?", first):
            plain.append(value)
    return plain


def _is_harmful(name: str, value: object) -> bool:
    if isinstance(value, dict):
        return any(_is_harmful(key, inner) for key, inner in value.items())
    if isinstance(value, list):
        return any(_is_harmful(name, inner) for inner in value)
    words = frozenset(split_words(name))
    if value is True or (isinstance(value, str) and value.casefold() in ("on", "true", "yes")):
        return bool(words & _SWITCHES or _verb_in_name(name))
    if not isinstance(value, str):
        return False
    if words & _CHOICES:
        return bool(_verb_in_name(value) or re.fullmatch(_WRITING_MODE, value.casefold()))
    is_word = re.fullmatch(r"[A-Za-z_-]+", value)
    return bool(is_word and re.search(_STEMS_OF_NAMES, value.casefold()))


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

# In a sentence these count with the -s of the third person: "It clears the cache."
# "claims", "increments" and "marks" are nouns as often: `_CONSUMES` has them with their objects.
_VERBS_THIRD_PERSON = (_VERBS | _VERBS_OR_NOUNS | _words("dismiss process")) - _words(
    "claim increment mark"
)
# With -s these are plurals as well ...
_PLURALS = _VERBS_OR_NOUNS | _words(
    """
    archive book change charge commit copy drop edit grant import invite launch lock merge move
    patch post process purchase push refund register reset run schedule set sign start stop store
    tweet transfer update upgrade upload
    """
)
# ... after one of these words, and before one of those.
_BEFORE_NOUNS = _words(
    """
    a about all an any available between by closed for from given her his how in into its last
    latest many matching more most multiple my new no of old on open other our past pending per
    previous recent related return returns several some the their these those under various via
    what whose with your
    """
)
_AFTER_NOUNS = _words("and are as by for from have in is matching of or per since that which with")
_CLAUSES = _words("and api bot command function it or server service that then this to tool which")
# Without an object these change nothing: "starts with", "expires in", "that applies".
_VERBS_WITH_OBJECT = _words("apply change close expire start")
_NO_OBJECTS = _words("after at before by for from if in on only to when with")

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
    # Punctuation counts as a word: a plural may come before it, and an object does not.
    words: list[str] = re.findall(r"[A-Za-z]+|[^A-Za-z\s'’`\"*-]", text)
    for index, word in enumerate(words):
        if re.search(_STEMS, word.casefold()):
            return word
        bases = frozenset(_base_forms(word))
        is_third_person = word.casefold() not in bases & _VERBS and word.endswith("s")
        if is_third_person and bases & _VERBS_THIRD_PERSON:
            if not _is_noun(words, index):
                return word
        elif bases & _VERBS_IN_TEXT:
            return word
    return ""


def _is_noun(words: list[str], index: int) -> bool:
    """True if what may be a verb in the third person is a plural here, or does nothing."""
    bases = frozenset(_base_forms(words[index]))
    before = [word.casefold() for word in words[max(index - 4, 0) : index]][::-1] or [""]
    after = words[index + 1].casefold() if index + 1 < len(words) else "."
    if bases & _VERBS_WITH_OBJECT and (after in _NO_OBJECTS or not after.isalpha()):
        return True
    if not bases & _PLURALS:
        return False
    if before[0] in _BEFORE_NOUNS or not _READING.isdisjoint(_base_forms(before[0])):
        return True
    if after not in _AFTER_NOUNS and after.isalpha():
        return False
    # "List all blog posts of …", "posts and comments"
    if before[0] in ("and", "or", ",") and index > 1:
        # What is before the other word says whether that is a noun.
        first = words[index - 3].casefold() if index > 2 else ""
        is_noun = first in _BEFORE_NOUNS or not _READING.isdisjoint(_base_forms(first))
        return before[1].endswith("s") and is_noun
    for word in before:
        if not word.isalpha() or word in _CLAUSES:
            return False
        if word == "of" or not _READING.isdisjoint(_base_forms(word)):
            return True
    return False


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
