"""From recorded traffic to a contract: the text of a case file.

Messages are written as they were recorded. In what the server sent, values that vary become
tags and secrets match anything. What the client sent is sent again, except for values that the
server chose and for secrets.

A secret in any message is hidden wherever else it occurs in the traffic; how a secret is known is
in `core.secrets` and `core.likely_secrets`.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache, reduce
from operator import getitem

from mcptest.core.blanking import Redactor
from mcptest.core.likely_secrets import (
    AUTH_SCHEMES,
    LEAST_FOUND_CHARS,
    replace_places,
    secret_places,
    unescape_json,
)
from mcptest.core.secrets import BLANK, REDACTED, is_secret, members_of, merge_places, split_words
from mcptest.core.strict_json import dump_json
from mcptest.core.text import defuse_markers, excerpt, render_path, shorten, visible
from mcptest.core.value_class import Record
from mcptest.formats.yaml.full import Tagged
from mcptest.formats.yaml.quick import MAX_NODES, MAX_TEXT_BYTES, is_within_limits, resolve_plain
from mcptest.formats.yaml.writer import json_lines, quoted
from mcptest.protocol.jsonrpc import id_key, params_of
from mcptest.protocol.revisions import STATELESS_REVISIONS, VERSION_KEY
from mcptest.traffic.cases import (
    Names,
    case_comment,
    case_name,
    identifier,
    mark_server_ids,
    message_keys,
    split_session,
)
from mcptest.traffic.reading import error, messages_in, read_traffic
from mcptest.traffic.varying_values import (
    ANY,
    CONSTANT_KEYS,
    HALF_CHARACTER,
    SCHEMA_KEYS,
    STRING,
    VaryingStrings,
    drop_overlaps,
    find_varying,
    has_digit,
    is_id_key,
    is_random,
    tag_for,
    tag_for_spans,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from mcptest.core.secrets import Place as SecretPlace
    from mcptest.protocol.jsonrpc import IdKey
    from mcptest.traffic.cases import Marks, RecordedCase
    from mcptest.traffic.reading import Message, Traffic
    from mcptest.traffic.varying_values import Span, Steps

    # Where a value is: the marks of its case, its place there, and its key.
    ValuePlace = tuple[Marks, tuple[int, Steps], str]

__all__ = [
    "Contract",
    "build_contract",
    "contract_text",
]


_PLAIN = r"[A-Za-z](?:[A-Za-z0-9 _/().-]|:(?=[A-Za-z0-9/]))*"


class Contract(Record):
    """The text of a case file, how many cases it has, and sentences about what is special."""

    text: str
    cases: int
    skipped: int = 0
    notes: tuple[str, ...] = ()


def contract_text(text: str, file: str, *, keep_values: bool = False) -> str:
    """The case file for recorded traffic. FormatError if there is nothing to make it of."""
    return build_contract(read_traffic(text, file), keep_values=keep_values).text


def build_contract(traffic: Traffic, *, keep_values: bool = False) -> Contract:
    """The contract for recorded traffic; with `keep_values` nothing that varies is replaced."""
    file = traffic.file
    cases: list[RecordedCase] = []
    notes = list(traffic.notes)
    for session in traffic.sessions:
        found, left_out = split_session(session)
        cases += found
        notes += [f"{file}: {sentence}" for sentence in left_out]
    if not cases:
        raise error("F005", file, "no message of this file can be in a contract")
    messages = [each.message for case in cases for each in case.messages]
    # Checked before much time is spent on what no reader of case files would accept.
    if not is_within_limits(messages):
        limit = f"a case file may hold {MAX_NODES:,} values; record less at a time"
        raise error("F004", file, "there is too much traffic in this file", limit)

    secrets = _Secrets(messages)
    redacted = [_redact_targets(case, secrets) for case in cases]
    titles = [secrets.redact_known(case_name(case)) for case in redacted]
    comments = [secrets.redact_known(case_comment(case)) for case in redacted]
    case_names = Names()
    names = [case_names.unique(title, "{name} ({number})") for title in titles]
    value_names = Names()
    marks = [mark_server_ids(case, value_names) for case in cases]
    linker = _Linker(value_names)
    if not keep_values:
        for case, own, name in zip(cases, marks, names, strict=True):
            linker.link(case, own, name)
    describer = _Describer(secrets, linker.varying, keep_values=keep_values)
    source = shorten(posixpath.basename(file), 200)
    documents = [_first_document(source, messages)]
    for case, own, name, comment in zip(cases, marks, names, comments, strict=True):
        described = describer.describe(case, own, name)
        # Without quotes only if it cannot be read as anything else.
        is_plain = re.fullmatch(_PLAIN, name) and not name.endswith(" ")
        shown = name if is_plain and resolve_plain(name) == name else quoted(name)
        lines = [_comment(comment), f"case: {shown}"]
        if case.is_unanswered:
            lines.append("_skip: not answered when it was recorded")
        for key, message in zip(message_keys(case), described, strict=True):
            lines += json_lines(key, message)
        documents.append("".join(f"{line}\n" for line in lines))
    text = "\n---\n".join(documents)
    size = len(text.encode("utf-8"))
    if size > MAX_TEXT_BYTES:
        message = f"the contract would have {size:,} bytes (limit {MAX_TEXT_BYTES:,})"
        raise error("F004", file, message, "record less at a time")
    return Contract(
        text=text,
        cases=len(cases),
        skipped=sum(case.is_unanswered for case in cases),
        notes=(*notes, *map(secrets.redact_known, (*linker.notes, *describer.notes))),
    )


def _first_document(source: str, messages: list[Any]) -> str:
    """A comment that belongs to no case and, if there is no handshake, the revision."""
    text = f"{_comment(f'Made by mcptest from {source}; edit it as you like.')}\n"
    requests = [part for each in messages for part in messages_in(each) if "method" in part]
    metas = [params_of(request).get("_meta") for request in requests]
    named = [meta.get(VERSION_KEY) for meta in metas if isinstance(meta, dict)]
    revision = next((each for each in named if each in STATELESS_REVISIONS), None)
    if revision and all(request["method"] != "initialize" for request in requests):
        text += f'_protocol_version: "{revision}"\n'
    return text


def _comment(text: str) -> str:
    return f"# {defuse_markers(visible(text))}"


def _redact_targets(case: RecordedCase, secrets: _Secrets) -> RecordedCase:
    """A case to be named: names are cut, and part of a secret could not be recognized as one."""

    def redacted(message: Any) -> Any:
        if isinstance(message, list):
            return [redacted(part) for part in message]
        params = params_of(message)
        targets = {
            name: secrets.redact(params[name])
            for name in ("name", "uri")
            if isinstance(params.get(name), str)
        }
        return {**message, "params": {**params, **targets}} if targets else message

    return case.but(
        messages=tuple(each.but(message=redacted(each.message)) for each in case.messages)
    )


# Messages as the contract has them

_SENT = "holds a secret; a made-up string is sent instead"
_SENT_INSIDE = (
    f'holds a secret inside a longer string; "{REDACTED}" is sent instead, and the case will not '
    "play as recorded"
)
_RECEIVED = "holds a secret, which is left out and not checked"
# Of more secrets in one string it would take too long to match where each ends.
_MAX_SECRETS_IN_A_STRING = 10


class _Describer:
    """Turns the messages of one case after the other into what the contract has for them."""

    def __init__(self, secrets: _Secrets, varying: VaryingStrings, *, keep_values: bool) -> None:
        self._secrets = secrets
        self._varying = varying
        self._keep_values = keep_values
        # What the client has sent so far: if the server repeats it, it does not vary.
        self._known: set[str] = set()
        self._unwritable: dict[str, bool] = {}
        # The message that is being described, and its case.
        self._marks: Marks = {}
        self._case = ""
        self._index = 0
        self._is_sent = False
        self.notes: dict[str, None] = {}

    def describe(self, case: RecordedCase, marks: Marks, name: str) -> list[Any]:
        self._marks, self._case = marks, name
        described: list[Any] = []
        for index, each in enumerate(case.messages):
            self._index, self._is_sent = index, each.direction == "in"
            parts = enumerate(messages_in(each.message))
            if isinstance(each.message, list):
                described.append([self._describe_message(part, (at,)) for at, part in parts])
            else:
                described.append(self._describe_message(each.message, ()))
        return described

    def _describe_message(self, message: Message, lead: Steps) -> Message:
        described = {}
        for name, inner in message.items():
            steps = (*lead, name)
            if not self._is_sent and not _is_expected(message, name):
                continue
            is_envelope = name in ("jsonrpc", "id", "method")
            if is_envelope and (self._index, steps) not in self._marks:
                described[name] = _replace_half_characters(inner)
            elif (key := self._describe_key(name, lead)) is not None:
                described[key] = self._describe_value(inner, steps, name)
        return described

    def _describe_key(self, name: str, steps: Steps) -> str | None:
        """A key as it is written; None if it is left out, so that it is not checked."""
        if self._is_sent:
            return self._describe_sent_string(name, steps, is_prose=True)
        if name not in self._unwritable:
            is_varying = name in self._varying and not self._keep_values
            is_bad = HALF_CHARACTER.search(name) or self._secrets.find(name, is_prose=True)
            self._unwritable[name] = bool(is_varying or is_bad)
        if not self._unwritable[name]:
            return name
        if _has_secret(name, self._secrets.find(name, is_prose=True)):
            self._note(steps, "has a secret for a key and is checked without it")
        return None

    def _describe_value(self, value: Any, steps: Steps, key: str) -> Any:
        if (self._index, steps) in self._marks:
            mark = self._marks[self._index, steps]
            return value if mark is None else mark
        is_schema = not SCHEMA_KEYS.isdisjoint(steps)
        if is_secret(key, value) and not is_schema:
            self._note(steps, _SENT if self._is_sent else _RECEIVED)
            return _hide_scalars(value) if self._is_sent else ANY
        if isinstance(value, dict):
            described = {}
            for step, name, inner in members_of(value, key):
                written = self._describe_key(str(step), steps)
                if written is not None:
                    described[written] = self._describe_value(inner, (*steps, step), name)
            return described
        if isinstance(value, list):
            return [
                self._describe_value(inner, (*steps, step), name)
                for step, name, inner in members_of(value, key)
            ]
        if self._is_sent:
            return self._describe_sent_scalar(value, steps, key, is_schema=is_schema)
        if isinstance(value, str):
            return self._describe_received_string(value, steps, key, is_schema=is_schema)
        if self._secrets.covers(str(value)):
            self._note(steps, _RECEIVED)
            return ANY
        is_literal = is_schema or key in CONSTANT_KEYS or self._keep_values
        return (None if is_literal else tag_for(key, value, self._known)) or value

    def _describe_sent_scalar(self, value: Any, steps: Steps, key: str, *, is_schema: bool) -> Any:
        is_prose = isinstance(value, str) and (is_schema or key in CONSTANT_KEYS)
        if value != BLANK and self._secrets.covers(str(value), is_prose=is_prose):
            self._note(steps, _SENT)
            return ANY
        self._known.add(str(value))
        if not isinstance(value, str):
            return value
        self._known.update(value[start:end] for start, end, _ in find_varying(key, value))
        return self._describe_sent_string(value, steps, is_prose=is_prose)

    def _describe_sent_string(self, text: str, steps: Steps, *, is_prose: bool) -> str:
        """A string that a file can contain, without secrets."""
        if BLANK in text:
            self._note(steps, f"holds {BLANK}, a secret that was blanked when it was recorded")
        redacted = self._secrets.redact(text, is_prose=is_prose)
        if redacted != text:
            self._note(steps, _SENT_INSIDE)
        if HALF_CHARACTER.search(redacted):
            self._note(steps, "holds half a character, which cannot be written")
        return str(_replace_half_characters(redacted))

    def _describe_received_string(
        self, text: str, steps: Steps, key: str, *, is_schema: bool
    ) -> Tagged | str:
        is_constant = key in CONSTANT_KEYS
        places = self._secrets.find(text, is_prose=is_schema or is_constant)
        if _has_secret(text, places):
            self._note(steps, _RECEIVED)
        if places == [(0, len(text))]:
            return ANY
        varying: list[Span] = []
        if not (self._keep_values or is_schema or text in self._known):
            by_look = [] if is_constant else find_varying(key, text, self._known)
            inside = self._varying.spans_in(text, self._known, skips_words=is_constant)
            varying = drop_overlaps([*by_look, *inside])
        hidden = [(start, end, _secret_expression(text[start:end])) for start, end in places]
        spans = drop_overlaps([*hidden, *varying])
        # Otherwise part of a secret would be left over.
        is_hidden = len(hidden) <= _MAX_SECRETS_IN_A_STRING and set(hidden) <= set(spans)
        tag = tag_for_spans(text, spans) if is_hidden else STRING
        if tag is None and HALF_CHARACTER.search(text):
            return STRING
        return text if tag is None else tag

    def _note(self, steps: Steps, sentence: str) -> None:
        path = [self._secrets.redact(each) if isinstance(each, str) else each for each in steps]
        place = excerpt(render_path(path), 100)
        self.notes[f"{self._case}: {place} {sentence}"] = None


def _has_secret(text: str, places: list[SecretPlace]) -> bool:
    """True if one of the secrets in a string was not blanked when it was recorded."""
    return any(text[start:end] != BLANK for start, end in places)


def _is_expected(message: Message, name: str) -> bool:
    """False for members of a server's message that a contract cannot require."""
    if name == "jsonrpc":
        return bool(message[name] == "2.0")
    if name in ("result", "error") and "result" in message and "error" in message:
        return name == ("result" if message["error"] is None else "error")
    return True


def _secret_expression(secret: str) -> str:
    """An expression for a secret: white space and quotes only if it has some."""
    if secret == BLANK or re.search(r"\s", secret):
        return r"[\s\S]+"
    return r"\S+" if '"' in secret else '[^\\s"]+'


def _replace_half_characters(value: Any) -> Any:
    return HALF_CHARACTER.sub("\ufffd", value) if isinstance(value, str) else value


def _hide_scalars(value: Any) -> Any:
    """A secret to be sent: its structure with any value for strings and numbers."""
    if isinstance(value, dict):
        return {name: _hide_scalars(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_hide_scalars(inner) for inner in value]
    return value if value is None or isinstance(value, bool) else ANY


# Values that the server sends and the client uses later: an id, a cursor, a session. Such a value
# is bound to a name where it first appears, and replaced by the name later, so that the contract
# holds when the server sends another value.

_FIND_NAME = re.compile(r"[\w-]{4,}")
_MAX_SHOWN = 60


class _Linker:
    """Goes through all cases in order and marks where names are bound and used.

    `varying` collects the strings that vary, `notes` what cannot be bound or used.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        # By value: where the server sent it, and its name once the client has sent it back.
        self._received: dict[IdKey, ValuePlace] = {}
        self._bound: dict[IdKey, str] = {}
        # Values of the client's own.
        self._sent: set[IdKey] = set()
        # Strings that the server sent before the client did: what varies inside longer ones,
        # words inside longer ones that may be names, and values of keys like "id".
        self._varying_inside: set[str] = set()
        self._names_inside: set[str] = set()
        self._ids: set[str] = set()
        self._from_client: set[str] = set()
        self.varying = VaryingStrings()
        self.notes: list[str] = []

    def link(self, case: RecordedCase, marks: Marks, name: str) -> None:
        """Mark the messages of a case; the ids of the server's requests are marked already."""
        for (index, steps), tag in marks.items():
            if tag is not None and tag.tag == "bind":
                self.varying.add_bound(reduce(getitem, steps, case.messages[index].message))
        for index, each in enumerate(case.messages):
            for steps, key, value in _scalars_of(each.message):
                place = (marks, (index, steps), key)
                if each.direction == "out":
                    self._collect_strings(key, value)
                if (index, steps) in marks:
                    continue
                if each.direction == "in":
                    self._mark_sent(value, place, name)
                else:
                    self._mark_received(value, place, is_source=not case.is_unanswered)

    def _mark_received(self, value: Any, place: ValuePlace, *, is_source: bool) -> None:
        """A value that the server sends; a source is in a case that is run."""
        marks, at, key = place
        value_key = id_key(value)
        name = self._bound.get(value_key)
        if name and (_is_same_thing(key, key, value) or _is_unmistakable(value)):
            marks[at] = Tagged(tag="ref", text=name)
        elif is_source and value_key not in self._sent:
            first = self._received.setdefault(value_key, place)
            # A place whose key says that it is an id is preferred to the first.
            if _is_handle_key(key) and not _is_handle_key(first[2]):
                self._received[value_key] = place

    def _collect_strings(self, key: str, value: object) -> None:
        """Note what varies in a value of the server, and what the client may take out of it."""
        if not isinstance(value, str):
            if tag_for(key, value):
                self.varying.add_seen(str(value), r"\d+")
            return
        for start, end, expression in find_varying(key, value):
            part = value[start:end]
            if part not in self._from_client:
                if not find_varying("", part):
                    self.varying.add_seen(part, expression)
                if part != value:
                    self._varying_inside.add(part)
        if _is_handle_key(key):
            self._ids.update({value} - self._from_client)
        elif key not in CONSTANT_KEYS and has_digit(value):
            self._names_inside.update(set(_names_in(value)) - self._from_client - {value})

    def _mark_sent(self, value: Any, place: ValuePlace, case_name: str) -> None:
        """A value that the client sends: one of the server, or one of its own."""
        marks, at, key = place
        value_key = id_key(value)
        source = self._received.get(value_key)
        is_bound = value_key in self._bound and _is_unmistakable(value)
        if not source or not (is_bound or _is_same_thing(source[2], key, value)):
            self._sent.add(value_key)
            if isinstance(value, str):
                self._note_unlinked(key, value, case_name)
            return
        if value_key not in self._bound:
            source_marks, source_at, source_key = source
            # The longer of the two keys says more: noteId rather than id.
            words = split_words(source_key if key == "id" else key)
            name = self._names.unique(identifier("_".join(words).removeprefix("next_")))
            self._bound[value_key] = name
            source_marks[source_at] = Tagged(tag="bind", text=name)
            self.varying.add_bound(value)
        marks[at] = Tagged(tag="ref", text=self._bound[value_key])

    def _note_unlinked(self, key: str, value: str, case_name: str) -> None:
        """Report a value of the server that cannot be replaced, as it is inside a longer string."""
        parts = [value, *(value[start:end] for start, end, _ in find_varying(key, value))]
        taken_out = [part for part in parts if part in self._varying_inside]
        if _is_handle_key(key) and value in self._names_inside:
            taken_out.append(value)
        put_in = [name for name in _names_in(value) if name in self._ids and name != value]
        self._from_client.update(parts)
        if taken_out:
            self.notes.append(
                f"{case_name}: the client sends {_show(taken_out[0])}, which the server sent "
                "inside a longer string; it is sent again as it is"
            )
        elif put_in:
            self.notes.append(
                f"{case_name}: the client sends {_show(put_in[0])}, which the server sent, "
                "inside a longer string; it is sent again as it is"
            )


def _show(text: str) -> str:
    # Part of a secret could not be recognized as one, so nothing is cut.
    return visible(text) if len(text) <= _MAX_SHOWN else "a long string"


def _names_in(text: str) -> list[str]:
    """The words of a string that may be names: of four characters and with a digit."""
    return [each for each in _FIND_NAME.findall(text) if has_digit(each)]


def _is_same_thing(received_as: str, sent_as: str, value: object) -> bool:
    """True if a value that came under one key and is sent under another is the same thing."""
    if isinstance(value, str) and find_varying(received_as, value):
        return True
    are_handles = [_is_handle_key(received_as), _is_handle_key(sent_as)]
    if _is_unmistakable(value) and (any(are_handles) or received_as == "uri"):
        return True
    return all(are_handles)


def _is_unmistakable(value: object) -> bool:
    """True if a value is so random that it is the same thing under any key."""
    return isinstance(value, str) and any(map(is_random, _names_in(value)))


@lru_cache(maxsize=4096)
def _is_handle_key(key: str) -> bool:
    return is_id_key(key) or split_words(key)[-1:] == ("token",)


def _scalars_of(message: Any) -> Iterator[tuple[Steps, str, Any]]:
    """Every string and integer in the contents of a message, with its path and its key."""
    for part, each in enumerate(messages_in(message)):
        lead = (part,) if isinstance(message, list) else ()
        for name in ("params", "result", "error"):
            if name in each:
                yield from _scalars_in(each[name], (*lead, name), name)


def _scalars_in(value: Any, steps: Steps, key: str) -> Iterator[tuple[Steps, str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in SCHEMA_KEYS:
                yield from _scalars_in(inner, (*steps, name), name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _scalars_in(inner, (*steps, index), key)
    elif value != "" and type(value) in (str, int):
        yield steps, key, value


# Secrets, wherever in the messages they are

# So many secrets are searched for in other strings, and so many of these in encoded form.
_MAX_SEARCHED_SECRETS = 1_000
_MAX_ENCODED_SECRETS = 20


class _Secrets:
    """The secrets of some messages, to be hidden wherever else they are."""

    def __init__(self, messages: Iterable[Any]) -> None:
        found = dict.fromkeys(each for message in messages for each in _secrets_in(message))
        longest_first = sorted(found, key=len, reverse=True)[:_MAX_SEARCHED_SECRETS]
        self._known = re.compile("|".join(map(re.escape, [*longest_first, BLANK])))
        self._encoded = Redactor(longest_first[:_MAX_ENCODED_SECRETS])

    def find(self, text: str, *, is_prose: bool = False) -> list[SecretPlace]:
        """Where secrets are in a recorded string; none overlap."""
        places = secret_places(text, is_prose=is_prose)
        known = self._find_known(text)
        return merge_places([*places, *known]) if places else known

    def _find_known(self, text: str) -> list[SecretPlace]:
        known = [found.span() for found in self._known.finditer(text)]
        encoded = self._encoded.places(text)
        return merge_places([*known, *encoded]) if encoded else known

    def covers(self, text: str, *, is_prose: bool = False) -> bool:
        """True if a recorded string is a secret as a whole."""
        return self.find(text, is_prose=is_prose) == [(0, len(text))]

    def redact(self, text: str, *, is_prose: bool = False) -> str:
        """A recorded string with REDACTED in place of each secret."""
        return replace_places(text, self.find(text, is_prose=is_prose))

    def redact_known(self, text: str) -> str:
        """A string written by mcptest, without the secrets of the messages."""
        return replace_places(text, self._find_known(text))


def _secrets_in(message: Any) -> Iterator[str]:
    """Every secret in a message, in each of its spellings, that is long enough to search for."""
    for secret in _find_secrets(message, "", is_schema=False):
        scheme = re.match(AUTH_SCHEMES, secret, re.IGNORECASE)
        for text in (secret, secret[scheme.end() :] if scheme else secret):
            yield from (form for form in _spellings(text) if len(form) >= LEAST_FOUND_CHARS)


def _spellings(text: str) -> Iterator[str]:
    """A secret as it was found, escaped as in JSON, and unescaped if it was found in JSON."""
    yield text
    if not (text.isascii() and text.isalnum()):
        yield dump_json(text)[1:-1]
    while "\\" in text:
        text, before = unescape_json(text)[0], text
        if text == before:
            break
        yield text


def _find_secrets(value: Any, key: str, *, is_schema: bool) -> Iterator[str]:
    if not is_schema and is_secret(key, value):
        yield from _texts_of_secret(value)
    elif isinstance(value, str):
        for start, end in secret_places(value, is_prose=is_schema or key in CONSTANT_KEYS):
            yield value[start:end]
    elif isinstance(value, (dict, list)):
        for step, name, inner in members_of(value, key):
            yield from _find_secrets(inner, name, is_schema=is_schema or step in SCHEMA_KEYS)


def _texts_of_secret(value: Any) -> Iterator[str]:
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_of_secret(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
