"""The complete YAML reader: every feature we accept, every mistake we report.

Text goes in; the value and the lines of its sequence items come out, or a FormatError
with all the mistakes found. PyYAML supplies events with positions, libyaml's when it
is there. `mcptest.formats.full_builder` decides what they mean. What a document should
contain is not known here.
"""

from __future__ import annotations

import re
from itertools import islice

from yaml.error import MarkedYAMLError, YAMLError
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from mcptest.core.errors import FormatError
from mcptest.formats.full_builder import Abandoned, Builder
from mcptest.formats.full_problems import Source, describe, split_lines
from mcptest.formats.full_scanner import TolerantParser
from mcptest.formats.full_shield import Shield
from mcptest.formats.limits import MAX_DIAGNOSTICS

try:
    from yaml._yaml import CParser
except ImportError:  # PyYAML without libyaml: slower, otherwise the same
    CParser = None  # type: ignore[assignment, misc]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.formats.full_spots import Spots

__all__ = [
    "events_of",
    "forbidden_in",
    "read_fully",
    "run",
    "spots_of",
    "ways_to_read",
    "with_spaces",
]

_FORBIDDEN = re.compile(
    "[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # YAML 1.2, section 5.1
)
_FLOW_START = re.compile(r"\s*[\[{]")
# Without these the parser in Python reads nothing that libyaml cannot read.
_NOT_FOR_LIBYAML = re.compile(r"[\t!]|[:?][,\[\]{}]")
_LEADING_TAB = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)


def read_fully(text: str, file: str) -> tuple[object, dict[int, list[int]]]:
    """The value of `text` and the lines of its sequence items; FormatError if it has mistakes."""
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
    """A list that holds the value of `text`, and the places of all that could be read of it."""
    text = _FORBIDDEN.sub("?", text.removeprefix("\ufeff"))
    shield = Shield(with_spaces(text))
    source = Source(text, "")
    builder = Builder(source, shield, with_spots=True)
    run(builder, events_of(shield.text), source)
    return builder.holder, builder.spots or {}


def run(builder: Builder, next_event: Callable[[], Any], source: Source) -> list[Diagnostic]:
    """Build what the events say; all mistakes, a syntax error last."""
    try:
        builder.build(next_event)
    except Abandoned:
        pass
    except MarkedYAMLError as error:
        return [*builder.diagnostics, describe(error, source)]
    except (YAMLError, ValueError, OverflowError) as error:
        # The parser written in Python lets chr() complain about "\Uffffffff".
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
    """JSON may be indented with tabs; one space for each keeps the columns true."""
    if "\t" not in text or not _FLOW_START.match(text):
        return text
    return _LEADING_TAB.sub(lambda tabs: " " * len(tabs[0]), text)


class _PurePythonParser(Reader, Scanner, Parser):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


def events_of(text: str) -> Callable[[], Any]:
    """What gives the events of a text one by one."""
    if CParser is None:
        return _PurePythonParser(text).get_event
    return CParser(text).get_event


def ways_to_read(text: str) -> Iterator[Callable[[], Any]]:
    """Where the events of a text may come from; the next is for when one finds it wrong."""
    if CParser is not None:
        yield CParser(text).get_event
    if CParser is None or _NOT_FOR_LIBYAML.search(text):
        yield TolerantParser(text).get_event
