"""The complete YAML reader: every feature we accept, every mistake we report.

Text goes in; the value and the lines of its sequence items come out, or a FormatError
with all the mistakes found. PyYAML supplies events with positions, libyaml's when it
is there. `mcptest.formats.yaml.full` decides what they mean. What a document should
contain is not known here.
"""

from __future__ import annotations

import re
from itertools import islice

from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from mcptest.core.diagnostics import closest
from mcptest.core.errors import FormatError
from mcptest.core.text import shorten
from mcptest.core.value_class import Record
from mcptest.formats.yaml.pyyaml import (
    LONE_SURROGATE,
    Shield,
    Source,
    TolerantParser,
    describe_error,
    split_lines,
)
from mcptest.formats.yaml.quick import (
    KNOWN_TAGS,
    MAX_DEPTH,
    MAX_DIAGNOSTICS,
    MAX_NODES,
    resolve_as,
    resolve_plain,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

    from mcptest.core.diagnostics import Diagnostic

    # Of a key: line, column, width. Of a value: line, column, last line, end column, style.
    KeySpot = tuple[int, int, int]
    ValueSpot = tuple[int, int, int, int, str]
    # By the `id` of the mapping or list, then by key or index.
    Spots = dict[int, dict[Any, tuple[KeySpot | None, ValueSpot]]]
    # The target of an anchor: value, nodes in it, levels in it, its text if it is a scalar.
    Target = tuple[Any, int, int, str | None]

__all__ = [
    "Builder",
    "Dialect",
    "Tagged",
    "forbidden_in",
    "read_fully",
    "run",
    "spots_of",
    "ways_to_read",
    "with_spaces",
]


try:
    from yaml._yaml import CParser
except ImportError:  # PyYAML without libyaml: slower, otherwise the same
    CParser = None  # type: ignore[assignment, misc]


_FORBIDDEN = re.compile(
    "[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # YAML 1.2, section 5.1
)
_FLOW_START = re.compile(r"\s*[\[{]")
# Without any of these, the parser in Python reads nothing that libyaml cannot read.
_NOT_FOR_LIBYAML = re.compile(r"[\t!]|[:?][,\[\]{}]")
_LEADING_TAB = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)


def read_fully(text: str, file: str) -> tuple[object, dict[int, list[int]]]:
    """Return the value of `text` and the lines of its sequence items; FormatError on mistakes."""
    text = text.removeprefix("\ufeff")
    source = Source(text, file)
    if forbidden := forbidden_in(text, source):
        raise FormatError(forbidden)
    shield = Shield(with_spaces(text))
    builder = Builder(source, shield)
    mistakes = run(builder, events_of(shield.text), source)
    if mistakes:
        raise FormatError(sorted(mistakes, key=lambda found: (found.line, found.column)))
    return (builder.holder[0] if builder.holder else None), builder.starts


def spots_of(text: str) -> tuple[list[Any], Spots]:
    """Return a list with the value of `text`, and the places of everything that could be read."""
    text = _FORBIDDEN.sub("?", text.removeprefix("\ufeff"))
    shield = Shield(with_spaces(text))
    source = Source(text, "")
    builder = Builder(source, shield, with_spots=True)
    run(builder, events_of(shield.text), source)
    return builder.holder, builder.spots or {}


def run(builder: Builder, next_event: Callable[[], Any], source: Source) -> list[Diagnostic]:
    """Build a value from events; return all mistakes, a syntax error last."""
    try:
        builder.build(next_event)
    except _Abandoned:
        pass
    except MarkedYAMLError as error:
        return [*builder.diagnostics, describe_error(error, source)]
    except (YAMLError, ValueError, OverflowError) as error:
        # The parser in Python lets chr() raise for "\Uffffffff".
        return [*builder.diagnostics, source.diagnostic("F002", f"not valid YAML: {error}", 0, 0)]
    return builder.diagnostics


def forbidden_in(text: str, source: Source) -> list[Diagnostic]:
    """A mistake for every character that YAML does not allow, up to a limit."""
    if not _FORBIDDEN.search(text):
        return []
    found: list[Diagnostic] = []
    for number, line in enumerate(split_lines(text)):
        for match in islice(_FORBIDDEN.finditer(line), MAX_DIAGNOSTICS):
            code = ord(match[0])
            advice = f'in double quotes it can be written as "\\u{code:04x}"'
            if 0xD800 <= code <= 0xDFFF:
                advice = "half of a surrogate pair is not a character"
            message = f"the character U+{code:04X} is not allowed in YAML"
            found.append(source.diagnostic("F002", message, number, match.start(), help=advice))
        if len(found) >= MAX_DIAGNOSTICS:
            break
    return found[:MAX_DIAGNOSTICS]


def with_spaces(text: str) -> str:
    """Replace the tabs of indented JSON by one space each, which keeps the columns."""
    if "\t" not in text or not _FLOW_START.match(text):
        return text
    return _LEADING_TAB.sub(lambda tabs: " " * len(tabs[0]), text)


class _PurePythonParser(Reader, Scanner, Parser):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


def events_of(text: str) -> Callable[[], Any]:
    """Return a function that returns the events of a text one by one."""
    if CParser is None:
        return _PurePythonParser(text).get_event
    return CParser(text).get_event


def ways_to_read(text: str) -> Iterator[Callable[[], Any]]:
    """Yield parsers for a text, each to be tried if the one before reports a mistake."""
    if CParser is not None:
        yield CParser(text).get_event
    if CParser is None or _NOT_FOR_LIBYAML.search(text):
        yield TolerantParser(text).get_event


# Tags: the value of a tagged scalar, or a `_TagError` that says what to write instead.

_YAML_TAG = "tag:yaml.org,2002:"
_COLLECTIONS = {"a mapping": "map", "a list": "seq"}
_PLAIN_VALUES = "write plain mappings, lists, text, numbers, true, false or null"


class _TagError(ValueError):
    """A tag that is not allowed here. `width` is its length in the file, 0 if unknown."""

    def __init__(self, message: str, *, help: str = "", width: int = 0) -> None:
        super().__init__(message)
        self.help = help
        self.width = width


def _value_of_tag(tag: str, text: str, ours: tuple[str, ...]) -> object:
    """Return the value of a scalar with this tag; tags in `ours` give a `Tagged`."""
    if tag == "!":
        return text
    kind = tag.removeprefix(_YAML_TAG)
    if kind == tag or kind not in (*ours, *KNOWN_TAGS):
        raise _refusal(tag, "a scalar", ours)
    if kind in ours:
        return Tagged(tag=kind, text=text)
    try:
        return resolve_as(kind, text)
    except ValueError as refused:
        raise _TagError(f"!!{kind} does not fit: {refused}") from None


def _check_collection_tag(tag: str | None, what: str, ours: tuple[str, ...]) -> None:
    """Refuse every tag on `what` ("a mapping", "a list") except its own."""
    if tag not in (None, "!", _YAML_TAG + _COLLECTIONS[what]):
        raise _refusal(tag, what, ours)


def _refusal(tag: str, what: str, ours: tuple[str, ...]) -> _TagError:
    shown = "!!" + tag.removeprefix(_YAML_TAG) if tag.startswith(_YAML_TAG) else tag
    name = shown.lstrip("!")
    width = len(shown)
    if shown in (f"!!{mine}" for mine in ours):
        return _TagError(
            f"{shown} is on text, not on {what}",
            help=f"write {shown} before a text, and put that in quotes",
            width=width,
        )
    if shown in ("!!map", "!!seq", *(f"!!{kind}" for kind in KNOWN_TAGS)):
        return _TagError(f"{shown} does not fit {what}", width=width)
    if name in ours:
        return _TagError(
            f"the tag {shown} needs two exclamation marks", help=f"write !!{name}", width=width
        )
    refused = f"the tag {shorten(shown, 60)} is refused"
    if not ours:
        return _TagError(f"{refused}: object tags are not allowed", help=_PLAIN_VALUES, width=width)
    meant = closest(name, ours)
    habits = {"regex": "re", "regexp": "re", "var": "ref", "capture": "bind", "string": "type"}
    meant = meant or habits.get(name, "")
    question = f"; did you mean !!{meant}?" if meant else ": object tags are not allowed"
    known = ", ".join(f"!!{mine}" for mine in ours)
    return _TagError(
        f"{refused}{question}", help=f"there are: {known}; or {_PLAIN_VALUES}", width=width
    )


# Places of keys and values in a file: tuples of numbers, since there is one for every key and
# value. Lines and columns count from 0.


def _key_spot(event: Any, first_line: int = 0) -> KeySpot:
    """Return where an event begins, and its width; `first_line` is that of the parsed text."""
    start, end = event.start_mark, event.end_mark
    width = end.column - start.column if end.line == start.line else 1
    return first_line + start.line, start.column, max(width, 1)


def _value_spot(event: Any, first_line: int) -> ValueSpot:
    """Return where a value begins and ends, and its style."""
    start, end = event.start_mark, event.end_mark
    if type(event) is ScalarEvent and event.tag is None and event.anchor is None:
        style = event.style or ""
    else:
        style = "marked" if type(event) in (ScalarEvent, AliasEvent) else "collection"
    return first_line + start.line, start.column, first_line + end.line, end.column, style


# What a kind of file allows beyond plain YAML.


class Tagged(Record):
    """A scalar with a tag that its reader asked for: `!!re "a+"` has the tag "re"."""

    tag: str
    text: str


class Dialect(Record):
    """Which tags become `Tagged`, and which keys of the root may be repeated."""

    tags: tuple[str, ...] = ()
    may_repeat: Callable[[str], bool] | None = None


_PLAIN = Dialect()


# From the events of a parser to a value, with the lines of all sequence items and, if requested,
# the place of every key and value. Mistakes are collected as diagnostics; one that makes the rest
# meaningless raises `_Abandoned`.
#
# A collection is put into its parent when it starts, so that places are known for everything
# before a mistake.

# The key `<<` until its mapping ends.
_MERGE: Any = object()


class _Abandoned(Exception):
    """Reading cannot continue; the reason is the last diagnostic."""


class Builder:
    """Reads one document; its value is valid only if there are no `diagnostics`.

    `nodes` is what other documents of the same file have used up of the limit.
    """

    def __init__(
        self,
        source: Source,
        shield: Shield,
        *,
        with_spots: bool = False,
        dialect: Dialect = _PLAIN,
        nodes: int = 0,
    ) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.holder: list[Any] = []
        self.starts: dict[int, list[int]] = {id(self.holder): []}
        self.spots: Spots | None = {} if with_spots else None
        self.nodes = nodes
        self._source = source
        self._first_line = source.first_line
        self._dialect = dialect
        self._shield = shield if shield.is_needed else None
        self._anchors: dict[str, Target | None] = {}
        self._merges: dict[int, Any] = {}
        self._repeats: dict[str, int] = {}
        self._renamed: set[str] = set()
        self._documents = 0
        self._node: Any = self.holder  # the innermost open collection
        self._key: Any = None  # its entry that waits for a value
        self._key_event: Any = None
        self._key_lines: dict[Any, int] = {}
        self._peak = 0  # the deepest level reached since the innermost collection began
        self._frames: list[tuple[Any, ...]] = []

    def build(self, next_event: Callable[[], Any]) -> None:
        """Read all events of a stream."""
        handlers: dict[type, Callable[[Any], None]] = {
            ScalarEvent: self._on_scalar,
            MappingStartEvent: self._on_mapping,
            MappingEndEvent: self._on_mapping_end,
            SequenceStartEvent: self._on_sequence,
            SequenceEndEvent: self._on_end,
            AliasEvent: self._on_alias,
            DocumentStartEvent: self._on_document,
        }
        while (kind := type(event := next_event())) is not StreamEndEvent:
            if kind in handlers:
                handlers[kind](event)
        del self.starts[id(self.holder)]

    def _on_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._abandon(
                "F005",
                "a second document starts here; a file holds exactly one",
                event,
                help="remove this line, or put what follows into a file of its own",
            )

    def _on_scalar(self, event: Any) -> None:
        self.nodes += 1
        text = event.value
        if self._shield is not None:
            text = self._shield.restore(text, event.style)
            if LONE_SURROGATE.search(text):
                self._report(
                    "F004",
                    "half of a surrogate pair is not a character",
                    event,
                    help="write both halves, or the character itself",
                )
        is_marked = event.tag is not None or event.anchor is not None
        if self._key is not None or type(self._node) is not dict:
            if is_marked:
                self._place(event, self._marked_scalar(event, text))
            else:
                self._place(event, text if event.style else self._plain(event, text))
            return
        if is_marked:
            self._refuse_tagged_key(event, self._marked_scalar(event, text))
        if text == "<<" and not event.style and event.tag is None:
            self._merges[id(self._node)] = event
            self._set_key(event, _MERGE, text)
        else:
            self._set_key(event, text, text)

    def _plain(self, event: Any, text: str) -> object:
        try:
            return resolve_plain(text)
        except ValueError as refused:
            self._report("F004", str(refused), event, help="put it in quotes if it is text")
            return None

    def _marked_scalar(self, event: Any, text: str) -> object:
        """Return the value of a scalar with a tag or an anchor."""
        value: object = None
        if event.tag is None:
            value = text if event.style else self._plain(event, text)
        else:
            try:
                value = _value_of_tag(event.tag, text, self._dialect.tags)
            except _TagError as refused:
                self._refuse_tag(event, refused)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1, 0, text)
        return value

    def _refuse_tag(self, event: Any, refused: _TagError) -> None:
        self._report("F004", str(refused), event, width=refused.width, help=refused.help)

    def _refuse_tagged_key(self, event: Any, value: object) -> None:
        if isinstance(value, Tagged):
            message = f"!!{value.tag} is on a key; a key is plain text"
            self._report("F004", message, event, help=f"remove !!{value.tag}")

    def _set_key(self, event: Any, key: Any, text: str) -> None:
        self._key, self._key_event = key, event
        line = event.start_mark.line
        first = self._key_lines.setdefault(key, line)
        # An entry further up may share the line only in a flow mapping.
        if first == line and key not in self._node:
            return
        is_at_root = len(self._frames) == 1
        may_repeat = self._dialect.may_repeat
        if is_at_root and key in self._renamed:
            self._refuse_name(event, key, line, first)
        elif is_at_root and may_repeat and key is not _MERGE and may_repeat(key):
            self._rename(event, key)
        else:
            number = self._source.number
            self._report(
                "F003",
                f'the key "{shorten(text, 60)}" is written twice: at line {number(first)} and at '
                f"line {number(line)}",
                event,
                help="keep one of them; if another document begins here, write --- before it"
                if is_at_root and may_repeat
                else "keep one of them",
            )

    def _rename(self, event: Any, key: str) -> None:
        """Keep the second `in` as `in#2`."""
        count = self._repeats[key] = self._repeats.get(key, 1) + 1
        name = f"{key}#{count}"
        if name in self._key_lines:
            self._refuse_name(event, name, self._key_lines[name], event.start_mark.line)
        self._key = name
        self._key_lines[name] = event.start_mark.line
        self._renamed.add(name)

    def _refuse_name(self, event: Any, name: str, written: int, again: int) -> None:
        number = self._source.number
        self._report(
            "F003",
            f'the key "{shorten(name, 60)}" at line {number(written)} is also the name that the '
            f"repeated key at line {number(again)} gets",
            event,
            help="call one of them something else",
        )

    def _on_mapping(self, event: Any) -> None:
        if event.tag is not None:
            self._check_tag(event, "a mapping")
        self._open(event, {})

    def _on_sequence(self, event: Any) -> None:
        if event.tag is not None:
            self._check_tag(event, "a list")
        child: list[object] = []
        self.starts[id(child)] = []
        self._open(event, child)

    def _check_tag(self, event: Any, what: str) -> None:
        try:
            _check_collection_tag(event.tag, what, self._dialect.tags)
        except _TagError as refused:
            self._refuse_tag(event, refused)

    def _open(self, event: Any, child: Any) -> None:
        self.nodes += 1
        next_key = None
        if self._key is None and type(self._node) is dict:
            self._refuse_key(event)
            next_key = ""
        else:
            self._place(event, child)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        frames = self._frames
        frames.append((self._node, next_key, self._key_lines, self.nodes, self._peak, event.anchor))
        self._node, self._key, self._key_lines, self._peak = child, None, {}, len(frames)
        if len(frames) > MAX_DEPTH:
            self._abandon("F004", f"nested more than {MAX_DEPTH} levels deep", event)

    def _refuse_key(self, event: Any) -> None:
        self._report("F004", "a key must be text, not a mapping or a list", event)

    def _on_mapping_end(self, event: Any) -> None:
        if _MERGE in self._node:
            self._merge(self._node)
        self._on_end(event)

    def _on_end(self, _event: Any) -> None:
        closed, reached = self._node, self._peak
        self._node, self._key, self._key_lines, began, peak, anchor = self._frames.pop()
        if anchor is not None:
            size = self.nodes - began + 1
            self._anchors[anchor] = (closed, size, reached - len(self._frames), None)
        self._peak = max(peak, reached)

    def _merge(self, node: Any) -> None:
        """Merge `<<`: the mapping's own entries win, then those of the first merged mapping."""
        given = node.pop(_MERGE)
        sources = given if isinstance(given, list) else [given]
        if not all(isinstance(source, dict) for source in sources):
            self._report(
                "F004",
                "<< takes a mapping or a list of mappings",
                self._merges[id(node)],
                help='write "<<" in quotes if the key itself is meant',
            )
            return
        own = dict(node)
        node.clear()
        for source in [*reversed(sources), own]:
            node.update(source)
        if self.spots is not None:
            # Places are stored by `id`, so no object may be freed before them.
            self.holder.append(given)
            known = [self.spots.get(id(source), {}) for source in [*reversed(sources), node]]
            self.spots[id(node)] = {step: spot for spots in known for step, spot in spots.items()}

    def _on_alias(self, event: Any) -> None:
        name = event.anchor
        if name not in self._anchors:
            self._report("F002", f"the alias *{name} has no anchor &{name} before it", event)
        target = self._anchors.get(name, (None, 1, 0, ""))
        if target is None:
            self._abandon("F004", f"the alias *{name} refers to what it is part of", event)
        value, size, levels, text = target
        self.nodes += size
        self._peak = max(self._peak, len(self._frames) + levels)
        if self._peak > MAX_DEPTH:
            self._abandon("F004", f"nested more than {MAX_DEPTH} levels deep", event)
        if self._key is not None or type(self._node) is not dict:
            self._place(event, value)
        elif text is None:
            self._refuse_key(event)
            self._key = ""
        else:
            self._refuse_tagged_key(event, value)
            self._set_key(event, text, text)

    def _place(self, event: Any, value: object) -> None:
        node, step = self._node, self._key
        if self.nodes > MAX_NODES:
            self._abandon(
                "F004",
                f"more than {MAX_NODES:,} keys and values, counting what aliases repeat",
                event,
            )
        if type(node) is list:
            step = len(node)
            node.append(value)
            self.starts[id(node)].append(event.start_mark.line + self._first_line + 1)
        else:
            node[step] = value
            self._key = None
        if self.spots is not None:
            key_event = self._key_event if type(node) is dict else None
            first = self._first_line
            spot = (key_event and _key_spot(key_event, first), _value_spot(event, first))
            self.spots.setdefault(id(node), {}).setdefault(step, spot)

    def _report(
        self, code: str, message: str, event: Any, *, width: int = 0, help: str = ""
    ) -> None:
        line, column, span = _key_spot(event)
        self.diagnostics.append(
            self._source.diagnostic(code, message, line, column, width=width or span, help=help)
        )
        if len(self.diagnostics) >= MAX_DIAGNOSTICS:
            raise _Abandoned

    def _abandon(self, code: str, message: str, event: Any, help: str = "") -> NoReturn:
        self._report(code, message, event, help=help)
        raise _Abandoned
