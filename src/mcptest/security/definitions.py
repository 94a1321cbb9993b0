"""All rules about definitions, and about results and logs: SEC-001 to SEC-014.

Pure: values in, findings out. SEC-010 and SEC-012 to SEC-014 are here, the others in `hidden` and
`wording`.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata

from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import excerpt, join_words, list_names, render_path, visible
from mcptest.core.value_class import Record
from mcptest.security.hidden import (
    find_control_characters,
    find_hidden,
    find_smuggled,
    find_tags,
)
from mcptest.security.rules import Definition, fingerprint_of, make_finding, texts_in
from mcptest.security.wording import find_other_servers_tools, find_wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest.core.security import SecurityFinding
    from mcptest.security.rules import Catalog, Text

__all__ = [
    "Seen",
    "compare_catalogs",
    "find_in_catalog",
    "find_in_results",
    "find_in_stderr",
    "find_shared_names",
    "is_destructive_name",
]


class Seen(Record):
    """What a server has sent besides its definitions: the result of a tool, or a log message.

    `tool` is None for log messages.
    """

    value: object
    tool: Definition | None = None


def find_in_catalog(catalog: Catalog, canaries: Mapping[str, str]) -> Iterator[SecurityFinding]:
    """SEC-001 to SEC-013 for the definitions of one server.

    `canaries` are the secrets that the server was given, by the names of their variables.
    """
    named = (each for each in catalog.definitions if each.kind in ("tools", "prompts"))
    own_names = {each.name.casefold() for each in named}
    for text in catalog.texts():
        yield from find_hidden(text)
        yield from find_wording(text, own_names)
        yield from _find_secrets(text, canaries)
        if not text.is_key:
            yield from find_smuggled(text)
    for tool in catalog.tools:
        yield from _find_mixed_scripts(tool)
        yield from _find_unmarked_harm(tool)


def find_in_results(seen: Sequence[Seen], canaries: Mapping[str, str]) -> Iterator[SecurityFinding]:
    """SEC-001, SEC-004 and SEC-010 for results and log messages."""
    for each in seen:
        # The same message may come any number of times.
        owner = each.tool or Definition(kind="", index=0, value={"logs": True})
        steps = (*owner.steps, "result") if each.tool else ("logs",)
        whole = Definition(kind=owner.kind, index=owner.index, value=each.value)
        for found in texts_in(whole, steps):
            text = found.but(owner=owner)
            yield from find_tags(text)
            yield from find_control_characters(text)
            yield from _find_secrets(text, canaries)


def find_in_stderr(stderr: str, canaries: Mapping[str, str]) -> Iterator[SecurityFinding]:
    """SEC-010 for what the server wrote to stderr: our own secrets only.

    People read it in a terminal, so that colours are no finding.
    """
    leaked = [name for name, secret in canaries.items() if secret in stderr]
    if leaked:
        message = f"secrets in the environment of the server are on stderr: {join_words(leaked)}"
        yield make_finding("SEC-010", "stderr", message, fingerprint_of(["stderr"]))


# SEC-010: secrets

_SHAPES = (
    ("an AWS access key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("a GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{50,}"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("an API key", r"\bsk-(?:ant-|proj-|live-|or-v1-)?[A-Za-z0-9_-]{32,}"),
    ("a Stripe key", r"\b[sr]k_live_[A-Za-z0-9]{20,}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}"),
    ("a Google API key", r"\bAIza[A-Za-z0-9_-]{35}\b"),
    ("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}\b"),
    ("a SendGrid key", r"\bSG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{30,}"),
)
_SECRETS = re.compile("|".join(f"(?P<s{at}>{shape})" for at, (_, shape) in enumerate(_SHAPES)))
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\\n|[\s\S]){0,200}?[A-Za-z0-9+/]{60}"
)
_JWT = re.compile(r"\beyJ[\w-]{8,2000}\.(eyJ[\w-]{8,6000})\.[\w-]{20,}")
# Of a made-up value: words, and characters in the order of the alphabet.
_MADE_UP = re.compile(
    r"example|sample|placeholder|dummy|redacted|your[_-]?|xxxx|\*\*\*\*|abcdef|012345|123456|987654"
    r"|(.)\1{5}|test[_-]?key|fake|changeme|insert",
    re.IGNORECASE,
)
# Tokens that tutorials show.
_KNOWN_CLAIMS = ("1234567890", "John Doe", "example.com", "user123")


def _find_secrets(text: Text, canaries: Mapping[str, str]) -> Iterator[SecurityFinding]:
    value, label = text.value, text.owner.label
    place = "the log" if text.steps[:1] == ("logs",) else label
    leaked = [name for name, secret in canaries.items() if secret in value]
    if leaked:
        message = f"{place}: it reveals secrets in the environment of the server: the value of "
        yield _make_secret_finding(text, message + join_words(leaked), "")
    # An example may come before a real one.
    for found in _SECRETS.finditer(value):
        # A random word has many different characters.
        if not _MADE_UP.search(found[0]) and len(set(found[0])) >= 10:
            what = next(what for at, (what, _) in enumerate(_SHAPES) if found[f"s{at}"])
            yield _make_secret_finding(text, f"{place}: it holds {what}", found[0])
            break
    for pem in _PEM.finditer(value):
        if not _MADE_UP.search(pem[0][-60:]):
            yield _make_secret_finding(text, f"{place}: it holds a private key (PEM)", pem[0])
            break
    for token in _JWT.finditer(value):
        if not _is_public_token(token[1]):
            yield _make_secret_finding(text, f"{place}: it holds a JSON Web Token", token[0])
            break


def _make_secret_finding(text: Text, message: str, secret: str) -> SecurityFinding:
    # Reports must not spread what should not be there.
    evidence = f"{secret[:8]}… ({len(secret):,} characters)" if secret else ""
    return make_finding("SEC-010", text.path, message, text.owner.fingerprint, evidence=evidence)


def _is_public_token(payload: str) -> bool:
    try:
        raw = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        claims = parse_json(raw.decode("utf-8"))
    except (binascii.Error, UnicodeDecodeError, NotJsonError):
        # Not a token at all.
        return True
    if not isinstance(claims, dict):
        return True
    # Keys of the role "anon" are meant to be public.
    is_public = claims.get("role") == "anon"
    return is_public or any(known in str(claims) for known in _KNOWN_CLAIMS)


# SEC-012: names that are taken for others

# Letters of other scripts that look like Latin ones, and what looks alike within Latin.
_LOOK_ALIKES = str.maketrans(
    "абвгеікмнорстухѕјԁһԛԝАВЕІКМНОРСТХЅЈαβγεικμνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "a6breikmhopctyxsjdhqwABEIKMHOPCTXSJabyeikmvoptuxABEZHIKMNOPTYX",
)
_SAME_SHAPES = str.maketrans({"1": "l", "i": "l", "|": "l", "0": "o", "5": "s", "-": "_", ".": "_"})


def _appearance(name: str) -> str:
    """What a name looks like: the same for names that are taken for each other."""
    plain = unicodedata.normalize("NFKC", name).translate(_LOOK_ALIKES).casefold()
    return plain.translate(_SAME_SHAPES).replace("rn", "m").replace("vv", "w")


def _find_mixed_scripts(tool: Definition) -> Iterator[SecurityFinding]:
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in tool.name if char.isalpha()}
    # Only these are mistaken for each other; Japanese uses several scripts by itself.
    mixed = scripts & {"LATIN", "CYRILLIC", "GREEK", "FULLWIDTH", "MATHEMATICAL", "ARMENIAN"}
    if len(mixed) > 1:
        named = join_words(sorted(each.capitalize() for each in mixed))
        odd = [char for char in tool.name if char.isalpha() and not char.isascii()]
        shown = ", ".join(f"U+{ord(char):04X} {unicodedata.name(char, '')}" for char in odd[:5])
        message = f"{tool.label}: its name mixes {named} letters, so that it looks like another"
        path = render_path((*tool.steps, "name"))
        yield make_finding("SEC-012", path, message, tool.fingerprint, evidence=shown)


def find_shared_names(catalogs: Sequence[Catalog]) -> Iterator[tuple[str, SecurityFinding]]:
    """SEC-008 and SEC-012 across servers: each finding with the server that it is about."""
    first: dict[str, tuple[str, str]] = {}
    for at, catalog in enumerate(catalogs):
        for tool in catalog.tools:
            if not tool.name:
                continue
            looks = _appearance(tool.name)
            server, name = first.setdefault(looks, (catalog.server, tool.name))
            if server == catalog.server:
                continue
            like = "is the name of" if name == tool.name else f'looks like "{excerpt(name, 80)}",'
            message = f"{tool.label}: its name {like} a tool of the server {excerpt(server, 80)}"
            path = render_path((*tool.steps, "name"))
            yield catalog.server, make_finding("SEC-012", path, message, tool.fingerprint)
        others = [*catalogs[:at], *catalogs[at + 1 :]]
        for finding in find_other_servers_tools(catalog, others):
            yield catalog.server, finding


# SEC-013: annotations

_DESTRUCTIVE = frozenset(
    [
        *("delete", "destroy", "drop", "erase", "purge", "remove", "rm", "rmdir", "shred"),
        *("terminate", "truncate", "uninstall", "unlink", "wipe"),
    ]
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_destructive_name(name: str) -> bool:
    """True if the first word of a name, or the one after a prefix, destroys something."""
    words = [word.casefold() for word in _WORD.findall(name)]
    return bool(words) and not _DESTRUCTIVE.isdisjoint(words[:2])


def _find_unmarked_harm(tool: Definition) -> Iterator[SecurityFinding]:
    if not is_destructive_name(tool.name):
        return
    hints = tool.value.get("annotations")
    if isinstance(hints, dict) and hints.get("readOnlyHint") is True:
        message = (
            f"{tool.label}: readOnlyHint is true, and its name says that it destroys something"
        )
        path = render_path((*tool.steps, "annotations", "readOnlyHint"))
    elif not isinstance(hints, dict) or not hints.keys() - {"title"}:
        message = (
            f"{tool.label}: its name says that it destroys something, and it has no annotations"
        )
        path = render_path(tool.steps)
    else:
        return
    yield make_finding("SEC-013", path, message, tool.fingerprint)


# SEC-014: definitions that change

# Resources are data: they come and go.
_COMPARED = ("", "tools", "prompts", "resourceTemplates")


def compare_catalogs(
    before: Catalog, after: Catalog, how: str, *, only_changes: bool = False, is_grave: bool = True
) -> Iterator[SecurityFinding]:
    """SEC-014: what differs; `how` completes "it is otherwise …".

    With `only_changes`, entries that appear or disappear do not count. Unless `is_grave`, they
    are of medium severity.
    """
    old = {(each.kind, each.name, _nameless_part(each)): each for each in before.definitions}
    new = {(each.kind, each.name, _nameless_part(each)): each for each in after.definitions}
    for key, definition in old.items():
        if definition.kind not in _COMPARED:
            continue
        other = new.get(key)
        if other and other.fingerprint == definition.fingerprint:
            continue
        if other:
            was, now = definition.value, other.value
            names = dict.fromkeys((*was, *now))
            members = [visible(name) for name in names if was.get(name) != now.get(name)]
            is_same = _lasting_content(was) == _lasting_content(now)
            only = " (only the order, a time or a random name)" if is_same else ""
            message = f"{definition.label}: it is otherwise {how}{only}: {list_names(members, 5)}"
            yield make_finding(
                "SEC-014",
                render_path((*definition.steps, *members[:1])),
                message,
                # What is random differs in every scan.
                fingerprint_of([definition.name, _lasting_content(now)]),
                evidence=_show_first_difference(was, now),
                severity="low" if is_same else None,
            )
        elif not only_changes:
            yield _make_one_sided_finding(definition, f"it is missing {how}", is_grave)
    for key, definition in new.items():
        if key not in old and definition.kind in _COMPARED and not only_changes:
            yield _make_one_sided_finding(definition, f"it is there only {how}", is_grave)


def _nameless_part(definition: Definition) -> str:
    """The member of the server's own answer, such as `instructions`; "" for what has a name."""
    return "" if definition.kind else next(iter(definition.value), "")


_VARYING = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d{1,2}:\d\d(?::\d\d)?\b|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
    r"|(?:127\.0\.0\.1|localhost):\d+|/tmp/[\w./-]+"
)


def _lasting_content(value: object) -> object:
    """A definition without what may differ each time: order, times, names of temporary files.

    Some servers make lists from sets, whose order differs from process to process.
    """
    if isinstance(value, dict):
        return {key: _lasting_content(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return sorted((_lasting_content(each) for each in value), key=repr)
    if isinstance(value, str):
        return sorted(re.findall(r"[^\s,;|.]+", _VARYING.sub("…", value)))
    return value


def _make_one_sided_finding(definition: Definition, what: str, is_grave: bool) -> SecurityFinding:
    return make_finding(
        "SEC-014",
        render_path(definition.steps or (_nameless_part(definition),)),
        f"{definition.label}: {what}",
        definition.fingerprint,
        severity=None if is_grave else "medium",
    )


def _show_first_difference(before: dict[str, object], after: dict[str, object]) -> str:
    texts = {text.steps: text.value for text in _strings(before)}
    for text in _strings(after):
        old = texts.get(text.steps)
        if old != text.value:
            at = next(
                (i for i, (a, b) in enumerate(zip(old or "", text.value, strict=False)) if a != b),
                min(len(old or ""), len(text.value)),
            )
            start = max(0, at - 30)
            was = excerpt((old or "")[start : at + 60], 90)
            return f'"{was}" became "{excerpt(text.value[start : at + 60], 90)}"'
    return ""


def _strings(value: dict[str, object]) -> Iterable[Text]:
    return (each for each in texts_in(Definition(kind="", index=0, value=value)) if not each.is_key)
