"""Read the tests of a Conductor file, and the cases of a contract, as a suite writes them.

A case can be carried over if it consists of requests, each followed by its response. Requests
and notifications of the server, and notifications of the client, have no place in a suite.
"""

from __future__ import annotations

import re

from mcptest.formats.cases import EXTENSIONS, is_ours, is_turn
from mcptest.formats.conductor import SLIPPED_KEYS
from mcptest.formats.each import RowReader
from mcptest.formats.fields import NAME, Fields, parse_duration, references, strings_in
from mcptest.formats.yaml.full import Tagged
from mcptest.matching.json_values import parse_field_path
from mcptest.matching.patterns import PREFIX
from mcptest.migrate.drafts import (
    Draft,
    LeftBehindError,
    Note,
    Source,
    drop_empty,
    escape_references,
    read_request,
)
from mcptest.migrate.matchers import (
    NEGATION,
    CaseTags,
    ResponseReader,
    convert_to_schema,
    escape_regex,
    has_directives,
    is_pattern,
    is_plain,
    render_target,
)
from mcptest.protocol.jsonrpc import id_key, message_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.plan import Leniency
    from mcptest.formats.yaml import Document
    from mcptest.formats.yaml.stream import Stream, StreamDocument
    from mcptest.migrate.matchers import Assertion, Matcher, Setting

    Mapping = dict[str, object]
    Turns = list[tuple[str, object]]

__all__ = ["read_cases", "read_conductor"]

_MARKS = ("tags", "skip", "only", "timeout", "retries", "unlisted")
_SHORT_FORMS = {"tool": "tool", "resource": "uri", "prompt": "prompt"}


def read_conductor(document: Document, setting: Setting) -> Source:
    """Return the tests of a file that has been loaded without a mistake."""
    top = document.value
    assert isinstance(top, dict), "it has been loaded"
    drafts: list[Draft] = []
    notes: list[Note] = []
    for index, test in enumerate(top["tests"]):
        reader = _TestReader(test, document, index, setting)
        try:
            drafts.append(reader.read())
            notes += reader.notes
        except LeftBehindError as error:
            notes.append(reader.note(error.reason))
    return Source(title=str(top["description"]), drafts=tuple(drafts), notes=tuple(notes))


class _Reader:
    """What reading a test and reading a case have in common."""

    def __init__(self, file: str, line: int, name: str, setting: Setting) -> None:
        self._file = file
        self._line = line
        self._name = name
        self._setting = setting
        self.notes: list[Note] = []

    def note(self, reason: str, *, is_loss: bool = True) -> Note:
        return Note(
            file=self._file, line=self._line, test=self._name, reason=reason, is_loss=is_loss
        )

    def _read_request(self, request: Mapping) -> Mapping:
        call, difference = read_request(request)
        if difference:
            self.notes.append(self.note(difference, is_loss=False))
        return call


class _TestReader(_Reader):
    """Reads one test."""

    def __init__(self, test: Mapping, document: Document, index: int, setting: Setting) -> None:
        assert isinstance(document.value, dict)
        line = document.item_line(document.value["tests"], index)
        if "each" in test:
            setting = setting.but(has_references=True)
        super().__init__(document.file, line, str(test["it"]), setting)
        self._document = document
        # As it is written; and, in a file without references, with every `${` escaped.
        self._written = test
        escaped = test if setting.has_references else escape_references(test)
        assert isinstance(escaped, dict)
        self._test = escaped

    def read(self) -> Draft:
        call, id, is_raw = self._read_call()
        capture = self._read_capture()
        expect = self._read_expect(id, is_raw=is_raw)
        step = {**call, **drop_empty({"capture": capture, "expect": expect})}
        has_references = self._setting.has_references
        needs = dict.fromkeys(name for name, _ in references(step)) if has_references else ()
        marks = drop_empty({key: self._written.get(key) for key in _MARKS})
        if "each" in self._test:
            marks["each"] = self._read_rows([*needs], has_captures=bool(capture))
            needs = ()
        return Draft(
            file=self._file,
            line=self._line,
            name=self._name,
            steps=(step,),
            marks=marks,
            needs=tuple(needs),
            captures=tuple(capture),
        )

    def _read_rows(self, needs: list[str], *, has_captures: bool) -> object:
        """Return the rows as a suite has them."""
        rows = RowReader(self._document, self._setting.read_beside).read(
            Fields(self._written, (), [])
        )
        columns = rows[0].values if rows else {}
        inner = [name for row in rows for name, _ in references(row.values)]
        if has_captures or inner or any(name not in columns for name in needs):
            raise LeftBehindError("it has rows, and shares values with other tests")
        compared = {name for name, _ in references(_find_expected(self._written))}
        for row in rows:
            for value in (row.values[name] for name in columns if name in compared):
                if is_pattern(value) or isinstance(value, (dict, list)):
                    shown = "a pattern" if is_pattern(value) else "more than one value"
                    raise LeftBehindError(f"one of its rows expects {shown}")
        written = self._written["each"]
        if isinstance(written, dict):
            return {"file": self._setting.relocate(str(written["file"]))}
        return written

    def _read_call(self) -> tuple[Mapping, object, bool]:
        """Return the call, the id of its request, and whether it is written as a raw request."""
        test = self._test
        if test.get("wire_id") is True:
            raise LeftBehindError("it reuses an id, and a suite chooses its own")
        if "list" in test:
            raise LeftBehindError(f"it lists {test['list']}, and a suite only makes calls")
        for form, key in _SHORT_FORMS.items():
            if form in test:
                return drop_empty({key: test[form], "args": test.get("arguments")}), None, False
        request = test["request"]
        assert isinstance(request, dict)
        return self._read_request(request), request["id"], True

    def _read_capture(self) -> Mapping:
        written = self._test.get("capture")
        found: Mapping = {}
        for name, path in (written if isinstance(written, dict) else {}).items():
            steps = parse_field_path(str(path)) or ("",)
            if steps[0] not in ("result", "error"):
                raise LeftBehindError(f"{name} is captured from the envelope of the response")
            found[name] = render_target(steps)
        return found

    def _read_expect(self, id: object, *, is_raw: bool) -> object:
        expected = _find_expected(self._test)
        if "exitCode" in expected:
            raise LeftBehindError("it expects an exit code, and a suite keeps its servers running")
        assertions: list[Assertion] = []
        if "response" in expected:
            reader = ResponseReader(self._setting)
            reader.read(expected["response"], id, "", has_envelope=is_raw)
            assertions = reader.assertions
        stderr = _find_expected(self._written).get("stderr")
        if stderr is not None:
            matcher: object = _convert_stderr(str(stderr), self._setting)
            if not self._setting.has_references:
                matcher = escape_references(matcher)
            assertions.append({"target": "stderr", "matcher": matcher})
        notifications = expected.get("notifications")
        if isinstance(notifications, list):
            assertions.append(_convert_notifications(notifications))
        performance = expected.get("performance")
        times = performance if isinstance(performance, dict) else {}
        least, most = times.get("minResponseTime"), times.get("maxResponseTime")
        if least is not None:
            matcher = {"gte": _milliseconds(least)}
            assertions.append({"target": "duration_ms", "matcher": matcher})
        if most is None:
            return assertions
        if not assertions:
            # Without an assertion, a suite would expect a success.
            return [{"target": "duration_ms", "matcher": {"lte": _milliseconds(most)}}]
        return {"assertions": assertions, "max_duration_ms": _milliseconds(most)}


def _find_expected(test: Mapping) -> Mapping:
    """Return what is expected, under `expect` or one level too high."""
    inner = test.get("expect")
    found = {key: test[key] for key in SLIPPED_KEYS if key in test}
    found.update(inner if isinstance(inner, dict) else {})
    return {key: value for key, value in found.items() if value is not None}


def _milliseconds(written: object) -> float:
    if isinstance(written, str) and "${" in written:
        raise LeftBehindError("its time limit is a value from elsewhere")
    found = round(parse_duration(written) * 1000, 3)
    return int(found) if found == int(found) else found


# Standard error

# A Conductor file ignores white space around the whole of stderr, a suite does not. A check can
# be converted if it begins and ends with a visible character, or is anchored there.
_ANY_VISIBLE = r"\S"
_LEAD, _TAIL = r"^\s*", r"\s*$"
# One visible character without a special meaning, or an escape for one.
_SOLID = r"(?:[A-Za-z0-9_\-:,;!\"'/<>=@#%&~`]|\\[dw.\[\]()*+?^$|{}\\/-])"
_INNER = r"(?:[^\\^$|()]|\\[^bBAZzk0-9])*?"
_TRIMMED = rf"{_SOLID}(?![?*{{])(?:{_INNER}{_SOLID})?\+?"
_DEPENDS_ON_SPACE = (
    "a Conductor file ignores white space around stderr, a suite does not, "
    "and this check depends on it"
)


def _convert_stderr(expected: str, setting: Setting) -> Matcher:
    """Return the matcher for what a Conductor file expects on stderr."""
    text = expected.strip()
    if expected == "toBeEmpty" or not text:
        return {"not": {"regex": _ANY_VISIBLE}}
    if setting.has_references and "${" in text:
        raise LeftBehindError("a captured value is expected on stderr")
    if not is_pattern(text):
        return {"regex": f"{_LEAD}{escape_regex(text)}{_TAIL}"}
    pattern = text.removeprefix(PREFIX)
    body = pattern.removeprefix(NEGATION)
    name, _, rest = body.partition(":")
    matchers: dict[str, Matcher] = {
        "contains": {"contains": rest},
        "containsIgnoreCase": {"icontains": rest},
        "startsWith": {"regex": f"{_LEAD}{escape_regex(rest)}"},
        "endsWith": {"regex": f"{escape_regex(rest)}{_TAIL}"},
        "stringNotEmpty": {"regex": _ANY_VISIBLE},
        "notEmpty": {"regex": _ANY_VISIBLE},
        "stringEmpty": {"not": {"regex": _ANY_VISIBLE}},
        "empty": {"not": {"regex": _ANY_VISIBLE}},
    }
    if not setting.registry.find(name):
        matcher: Matcher = {"regex": _trimmed_regex(body)}
    elif name == "regex":
        matcher = {"regex": _trimmed_regex(rest)}
    elif name in matchers and rest == rest.strip():
        matcher = matchers[name]
    else:
        raise LeftBehindError(_DEPENDS_ON_SPACE)
    return {"not": matcher} if pattern.startswith(NEGATION) else matcher


def _trimmed_regex(source: str) -> str:
    """Return an expression that finds in a string what `source` finds in the stripped string."""
    begins = source.startswith("^")
    ends = source.endswith("$") and not source.endswith("\\$")
    middle = source[begins : len(source) - ends]
    if not re.fullmatch(_TRIMMED, middle):
        raise LeftBehindError(_DEPENDS_ON_SPACE)
    return f"{_LEAD if begins else ''}{middle}{_TAIL if ends else ''}"


# Notifications

# A method that is the same in JSON and needs no escape there.
_METHOD = r"[A-Za-z0-9_$/.-]+"


def _convert_notifications(expected: list[object]) -> Assertion:
    """Return the assertion for notifications that are expected in this order, among others."""
    methods = [each for each in expected if isinstance(each, str) and re.fullmatch(_METHOD, each)]
    if methods == expected:
        matcher: Matcher = {"pattern": f"arrayContains:{methods[0]}"}
        if len(methods) > 1:
            # The list of methods is searched as JSON, where each one is between quotes.
            matcher = {"regex": ".*".join(f'"{escape_regex(method)}"' for method in methods)}
        return {"target": "notifications[*].method", "matcher": matcher}
    if len(expected) > 1:
        raise LeftBehindError("a suite checks the order of notifications only by their methods")
    message = expected[0]
    if not isinstance(message, dict):
        raise LeftBehindError("a suite cannot look for a notification by a pattern for its method")
    whole = message if has_directives(message) else {"jsonrpc": "2.0", **message}
    if is_plain(whole):
        matcher = {"contains": whole}
    else:
        matcher = {"schema": {"type": "array", "contains": convert_to_schema(whole)}}
    return {"target": "notifications", "matcher": matcher}


_CASE_MARKS = {f"_{key}": key for key in ("tags", "skip", "only", "timeout", "unlisted")}
_REFUSED = {
    "_before": "it runs a command before",
    "_after": "it runs a command after",
    "_wire_id": "with _wire_id it reuses ids, and a suite chooses its own",
    "_strict": "with _strict it allows no other messages, and a suite does not check that",
}
_CONVERTED = ("_server", "_protocol_version", "_match", "_patterns", *_CASE_MARKS, *_REFUSED)
_NOT_PAIRS = "it is more than requests, each followed by its response"


def read_cases(stream: Stream, setting: Setting) -> tuple[Source, Mapping]:
    """Return the cases of a file that has been loaded without a mistake.

    The second value are the params of the first `initialize` request in it; without any, the
    revision that the file names, if it does.
    """
    drafts: list[Draft] = []
    notes: list[Note] = []
    cases = [each for each in stream.documents if any(map(is_turn, _mapping(each)))]
    handshakes = [params for document in cases for params in _handshakes(document)]
    opened = 0
    for number, document in enumerate(cases, 1):
        reader = _CaseReader(document, stream.file, number, setting)
        own = len(list(_handshakes(document)))
        try:
            if own:
                raise LeftBehindError("it opens a session, and a suite does that itself")
            if handshakes and not opened:
                raise LeftBehindError("it comes before the session is opened")
            if opened > 1:
                raise LeftBehindError("it comes after a second session has been opened")
            drafts.append(reader.read())
            notes += reader.notes
        except LeftBehindError as error:
            notes.append(reader.note(error.reason))
        opened += own
    source = Source(title="", drafts=tuple(drafts), notes=tuple(notes))
    if handshakes:
        return source, handshakes[0]
    first = _mapping(stream.documents[0]) if stream.documents else {}
    return source, {"protocolVersion": first.get("_protocol_version")}


class _CaseReader(_Reader):
    """Reads one case."""

    def __init__(self, document: StreamDocument, file: str, number: int, setting: Setting) -> None:
        self._case = _mapping(document)
        line = document.key_lines.get("case", document.line)
        super().__init__(file, line, str(self._case.get("case") or f"case {number}"), setting)
        self._turns: Turns = [
            (key, escape_references(value)) for key, value in self._case.items() if is_turn(key)
        ]
        for key, value in self._case.items():
            if key.startswith("_") and key not in _CONVERTED and value is not None:
                is_known = key in EXTENSIONS
                reason = "has no counterpart in a suite" if is_known else "is not a key of mcptest"
                self.notes.append(self.note(f"{key} {reason}", is_loss=False))

    def read(self) -> Draft:
        for key, reason in _REFUSED.items():
            if self._case.get(key):
                raise LeftBehindError(reason)
        messages = [message for _, message in self._turns]
        if not self._case.get("_patterns") and any(
            is_pattern(text) for _, text in strings_in(messages, with_keys=True)
        ):
            raise LeftBehindError("a string in it begins with match: and is meant literally")
        return Draft(
            file=self._file,
            line=self._line,
            name=self._name,
            steps=tuple(self._read_steps()),
            marks=drop_empty({name: self._case.get(key) for key, name in _CASE_MARKS.items()}),
        )

    def _read_steps(self) -> Iterator[Mapping]:
        used = tuple(name for _, message in self._turns for name in _referenced_names(message))
        bound: tuple[str, ...] = ()
        for at in range(0, len(self._turns), 2):
            request, response = _read_pair(self._turns[at : at + 2])
            tags = CaseTags(bound, used)
            call = {
                key: _fill_references(value, tags)
                for key, value in self._read_request(request).items()
            }
            reader = ResponseReader(self._setting, tags)
            leniency: Leniency = "" if self._case.get("_match") == "exact" else "objects"
            reader.read(response, request["id"], leniency, has_envelope=True)
            for name in tags.captures:
                if not re.fullmatch(NAME, name):
                    raise LeftBehindError(f"{name} cannot be the name of a value in a suite")
            bound += tuple(tags.captures)
            # Without an assertion, a suite would expect a success.
            expect = reader.assertions or [{"target": "duration_ms", "matcher": {"gte": 0}}]
            yield {**call, **drop_empty({"capture": dict(tags.captures), "expect": expect})}


def _read_pair(turns: Turns) -> tuple[Mapping, Mapping]:
    """Return a request and the response that follows it."""
    values = [value for _, value in turns]
    ours = [is_ours(key) for key, _ in turns]
    kinds = [message_kind(value) for value in values]
    if any(isinstance(value, list) for value in values):
        raise LeftBehindError("it sends a batch")
    if ours == [True] and kinds == ["request"]:
        raise LeftBehindError("it does not say what the response must be")
    if ours != [True, False] or kinds != ["request", "response"]:
        raise LeftBehindError(_NOT_PAIRS)
    request, response = values
    assert isinstance(request, dict)
    assert isinstance(response, dict)
    id = response.get("id")
    if not isinstance(id, Tagged) and id is not None and id_key(id) != id_key(request["id"]):
        raise LeftBehindError(_NOT_PAIRS)
    return request, response


def _mapping(document: StreamDocument) -> Mapping:
    assert isinstance(document.value, dict), "it has been loaded"
    return document.value


def _handshakes(document: StreamDocument) -> Iterator[Mapping]:
    """Yield the params of every `initialize` request of a case."""
    for key, value in _mapping(document).items():
        request = value if is_turn(key) and is_ours(key) and isinstance(value, dict) else {}
        if request.get("method") == "initialize":
            params = request.get("params")
            yield params if isinstance(params, dict) else {}


def _referenced_names(value: object) -> Iterator[str]:
    """Yield the names of all `!!ref` tags in a message."""
    if isinstance(value, Tagged):
        if value.tag == "ref":
            yield value.text
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _referenced_names(each)


def _fill_references(value: object, tags: CaseTags) -> object:
    """Return a value to send with every `!!ref` tag as a reference."""
    if isinstance(value, dict):
        return {key: _fill_references(inner, tags) for key, inner in value.items()}
    if isinstance(value, list):
        return [_fill_references(inner, tags) for inner in value]
    if isinstance(value, Tagged):
        if value.tag != "ref":
            raise LeftBehindError("it sends a generated value")
        return tags.refer_to(value.text)
    return value
