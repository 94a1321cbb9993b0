"""From recorded traffic to a contract: the text of a case file.

Messages are written as they were recorded. In what the server sent, values that vary become
tags and secrets match anything. What the client sent is sent again, except for values that the
server chose and for secrets.
"""

from __future__ import annotations

import posixpath
import re

from mcptest.core.record import Record
from mcptest.core.secrets import BLANK, REDACTED, is_secret, members_of
from mcptest.core.text import defuse_markers, excerpt, render_path, shorten, visible
from mcptest.formats.yaml.quick import MAX_NODES, MAX_TEXT_BYTES, is_within_limits, resolve_plain
from mcptest.formats.yaml.writer import json_lines, quoted
from mcptest.traffic.cases import (
    Names,
    case_comment,
    case_name,
    mark_server_ids,
    message_keys,
    split_session,
)
from mcptest.traffic.links import Linker
from mcptest.traffic.reading import error, read_traffic
from mcptest.traffic.secrets import Secrets
from mcptest.traffic.varying import (
    ANY,
    CONSTANT_KEYS,
    HALF_CHARACTER,
    SCHEMA_KEYS,
    STRING,
    find_varying,
    tag_for,
    tag_for_spans,
    without_overlaps,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.formats.yaml.writer import Tagged
    from mcptest.traffic.cases import Marks, RecordedCase
    from mcptest.traffic.reading import Message, Traffic, TrafficMessage
    from mcptest.traffic.varying import Span, Steps, VaryingStrings

__all__ = ["Contract", "build_contract", "contract_text"]

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

    secrets = Secrets(messages)
    case_names = Names()
    names = [
        case_names.unique(
            secrets.redact_known(case_name(_with_redacted_targets(case, secrets))),
            "{name} ({number})",
        )
        for case in cases
    ]
    value_names = Names()
    marks = [mark_server_ids(case, value_names) for case in cases]
    linker = Linker(value_names)
    if not keep_values:
        for case, own, name in zip(cases, marks, names, strict=True):
            linker.link(case, own, name)
    describer = _Describer(secrets, linker.varying, keep_values=keep_values)
    source = shorten(posixpath.basename(file), 200)
    # Comments in a document of their own belong to no case.
    documents = [f"{_comment(f'Made by mcptest from {source}; edit it as you like.')}\n"]
    for case, own, name in zip(cases, marks, names, strict=True):
        comment = case_comment(_with_redacted_targets(case, secrets))
        described = describer.describe(case, own, name)
        lines = [_comment(secrets.redact_known(comment)), f"case: {_plain_or_quoted(name)}"]
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


def _comment(text: str) -> str:
    return f"# {defuse_markers(visible(text))}"


def _plain_or_quoted(text: str) -> str:
    """A string without quotes where it cannot be read as anything else."""
    is_plain = re.fullmatch(_PLAIN, text) and not text.endswith(" ")
    return text if is_plain and resolve_plain(text) == text else quoted(text)


def _with_redacted_targets(case: RecordedCase, secrets: Secrets) -> RecordedCase:
    """A case to be named: names are cut, and part of a secret could not be recognized as one."""

    def redacted(message: Any) -> Any:
        if isinstance(message, list):
            return [redacted(part) for part in message]
        params = message.get("params")
        if not isinstance(params, dict):
            return message
        targets = {
            name: secrets.redact(params[name])
            for name in ("name", "uri")
            if isinstance(params.get(name), str)
        }
        return {**message, "params": {**params, **targets}}

    return case.but(
        messages=tuple(each.but(message=redacted(each.message)) for each in case.messages)
    )


_SENT = "holds a secret; a made-up string is sent instead"
_SENT_INSIDE = (
    f'holds a secret inside a longer string; "{REDACTED}" is sent instead, and the case will not '
    "play as recorded"
)
_RECEIVED = "holds a secret, which is left out and not checked"
# Of more secrets in one string it would take too long to match where each ends.
_MAX_SECRETS = 10


class _Describer:
    """Turns the messages of one case after the other into what the contract has for them."""

    def __init__(self, secrets: Secrets, varying: VaryingStrings, *, keep_values: bool) -> None:
        self._secrets = secrets
        self._varying = varying
        self._keep_values = keep_values
        # What the client has sent so far: if the server repeats it, it does not vary.
        self._known: set[str] = set()
        self._unwritable: dict[str, bool] = {}
        self._marks: Marks = {}
        self._case = ""
        self._index = 0
        self._is_sent = False
        self.notes: dict[str, None] = {}

    def describe(self, case: RecordedCase, marks: Marks, name: str) -> list[Any]:
        self._marks, self._case = marks, name
        return [self._describe_turn(index, each) for index, each in enumerate(case.messages)]

    def _describe_turn(self, index: int, each: TrafficMessage) -> Any:
        self._index, self._is_sent = index, each.direction == "in"
        if isinstance(each.message, list):
            return [
                self._describe_message(message, (part,))
                for part, message in enumerate(each.message)
            ]
        return self._describe_message(each.message, ())

    def _describe_message(self, message: Message, lead: Steps) -> Message:
        described = {}
        for name, inner in message.items():
            steps = (*lead, name)
            if not self._is_sent and not _is_expected(message, name):
                continue
            is_envelope = name in ("jsonrpc", "id", "method")
            if is_envelope and (self._index, steps) not in self._marks:
                described[name] = _without_half_characters(inner)
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
        if self._has_secret(name, is_prose=True):
            self._note(steps, "has a secret for a key and is checked without it")
        return None

    def _describe_value(self, value: Any, steps: Steps, key: str) -> Any:
        if (self._index, steps) in self._marks:
            mark = self._marks[self._index, steps]
            return value if mark is None else mark
        is_schema = not SCHEMA_KEYS.isdisjoint(steps)
        if is_secret(key, value) and not is_schema:
            self._note(steps, _SENT if self._is_sent else _RECEIVED)
            return _with_any_scalars(value) if self._is_sent else ANY
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
        return self._describe_scalar(value, steps, key, is_schema=is_schema)

    def _describe_scalar(self, value: Any, steps: Steps, key: str, *, is_schema: bool) -> Any:
        is_prose = is_schema or key in CONSTANT_KEYS
        if isinstance(value, str) and not self._is_sent:
            if self._has_secret(value, is_prose=is_prose):
                self._note(steps, _RECEIVED)
            return self._describe_received_string(value, key, is_schema=is_schema)
        is_prose = is_prose and isinstance(value, str)
        if value != BLANK and self._secrets.covers(str(value), is_prose=is_prose):
            self._note(steps, _SENT if self._is_sent else _RECEIVED)
            return ANY
        if self._is_sent:
            self._known.add(str(value))
            if not isinstance(value, str):
                return value
            self._known.update(value[start:end] for start, end, _ in find_varying(key, value))
            return self._describe_sent_string(value, steps, is_prose=is_prose)
        is_literal = is_schema or key in CONSTANT_KEYS or self._keep_values
        return (None if is_literal else tag_for(key, value, self._known)) or value

    def _describe_sent_string(self, text: str, steps: Steps, *, is_prose: bool) -> str:
        """A string that a file can contain, without secrets."""
        if BLANK in text:
            self._note(steps, f"holds {BLANK}, a secret that was blanked when it was recorded")
        redacted = self._secrets.redact(text, is_prose=is_prose)
        if redacted != text:
            self._note(steps, _SENT_INSIDE)
        if HALF_CHARACTER.search(redacted):
            self._note(steps, "holds half a character, which cannot be written")
        return str(_without_half_characters(redacted))

    def _describe_received_string(self, text: str, key: str, *, is_schema: bool) -> Tagged | str:
        is_constant = key in CONSTANT_KEYS
        places = self._secrets.find(text, is_prose=is_schema or is_constant)
        if places == [(0, len(text))]:
            return ANY
        varying: list[Span] = []
        if not (self._keep_values or is_schema or text in self._known):
            by_look = [] if is_constant else find_varying(key, text, self._known)
            inside = self._varying.spans_in(text, self._known, skips_words=is_constant)
            varying = without_overlaps([*by_look, *inside])
        hidden = [(start, end, _secret_expression(text[start:end])) for start, end in places]
        spans = without_overlaps([*hidden, *varying])
        # Otherwise part of a secret would be left over.
        is_hidden = len(hidden) <= _MAX_SECRETS and set(hidden) <= set(spans)
        tag = tag_for_spans(text, spans) if is_hidden else STRING
        if tag is None and HALF_CHARACTER.search(text):
            return STRING
        return text if tag is None else tag

    def _has_secret(self, text: str, *, is_prose: bool) -> bool:
        """True if there is a secret in a string that was not blanked when it was recorded."""
        places = self._secrets.find(text, is_prose=is_prose)
        return any(text[start:end] != BLANK for start, end in places)

    def _note(self, steps: Steps, sentence: str) -> None:
        path = [self._secrets.redact(each) if isinstance(each, str) else each for each in steps]
        place = excerpt(render_path(path), 100)
        self.notes[f"{self._case}: {place} {sentence}"] = None


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


def _without_half_characters(value: Any) -> Any:
    return HALF_CHARACTER.sub("\ufffd", value) if isinstance(value, str) else value


def _with_any_scalars(value: Any) -> Any:
    """A secret to be sent: its structure with any value for strings and numbers."""
    if isinstance(value, dict):
        return {name: _with_any_scalars(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_any_scalars(inner) for inner in value]
    return value if value is None or isinstance(value, bool) else ANY
