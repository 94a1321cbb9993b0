"""What is particular to PyYAML: a parser that accepts more, and its errors in plain words.

PyYAML's parser in Python is extended to accept tabs and tags on empty values. Text goes in, events
come out, as from libyaml. PyYAML knows no blank but the space; here tabs are blanks wherever they
do not indent a block, so between brackets and braces they are welcome everywhere. libyaml stumbles
over one after `1` and a line break, and over a tag that ends where its empty value does: `[!!any]`.

An exception of PyYAML goes in, one diagnostic comes out. The parser in C and the one in Python word
the same mistake differently; both wordings are known here, and nothing else in this package reads
PyYAML's messages.
"""

from __future__ import annotations

import re

from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner, ScannerError
from yaml.tokens import ScalarToken, TagToken

from mcptest.core.diagnostics import Diagnostic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yaml.error import MarkedYAMLError

    # message, line, column, help
    Finding = tuple[str, int, int, str]

__all__ = [
    "LONE_SURROGATE",
    "Shield",
    "Source",
    "TolerantParser",
    "describe_error",
    "split_lines",
]


_BLANKS = re.compile(r"[ \t]*")
# A colon is part of a word unless a blank or, in flow, a bracket follows.
_WORD = re.compile(r"(?:[^\0 \t\r\n:]|:(?![\0 \t\r\n]))+")
_WORD_IN_FLOW = re.compile(r"(?:[^\0 \t\r\n:,\[\]{}]|:(?![\0 \t\r\n,\[\]{}]))+")
_BLOCK_HEADER = re.compile(r"(?:[+-]?[1-9]?|[1-9][+-])(?=[\0 \t\r\n#])")
_SHORT_TAG = r"(!!?)([0-9A-Za-z;/?:@&=+$_.~*'()-]+)"
_TAG = re.compile(_SHORT_TAG + r"(?=[ \t\r\n\0])")
_TAG_IN_FLOW = re.compile(_SHORT_TAG + r"(?=[ \t\r\n\0,\[\]{}])")


class TolerantParser(Reader, Scanner, Parser):
    """Gives the events of a text; `get_event` is the one to call."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def scan_to_next_token(self) -> None:
        """Skip what is between tokens, except a tab that would indent a block."""
        while True:
            if self._is_tab_a_blank():
                self.forward(len(self._blanks()))
            super().scan_to_next_token()
            if self.peek() != "\t" or not self._is_tab_a_blank():
                return

    def _is_tab_a_blank(self) -> bool:
        return bool(self.flow_level) or not self.allow_simple_key

    def _blanks(self) -> str:
        found = _BLANKS.match(self.buffer, self.pointer)
        return found[0] if found else ""

    def scan_plain(self) -> ScalarToken:
        """An unquoted text; unlike PyYAML, it may hold `?` between brackets."""
        words: list[str] = []
        between: list[str] = []
        start = end = self.get_mark()
        pattern = _WORD_IN_FLOW if self.flow_level else _WORD
        while word := pattern.match(self.buffer, self.pointer):
            self.allow_simple_key = False
            words += [*between, word[0]]
            self.forward(len(word[0]))
            end = self.get_mark()
            between = self.scan_plain_spaces(self.indent + 1, start)
            is_outdented = not self.flow_level and self.column <= self.indent
            if not between or is_outdented or self.peek() == "#":
                break
        return ScalarToken("".join(words), True, start, end)

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> list[str]:
        """Return what is between two words of a plain scalar: blanks, or folded line breaks."""
        blanks = self._blanks()
        self.forward(len(blanks))
        if self.peek() not in "\r\n":
            return [blanks] if blanks else []
        self._skip_break()
        self.allow_simple_key = True
        breaks: list[str] = []
        while True:
            is_marker = self.prefix(3) in ("---", "...") and self.peek(3) in "\0 \t\r\n"
            if self.column == 0 and is_marker:
                return []
            char = self.peek()
            if char in "\r\n":
                breaks.append("\n")
                self._skip_break()
                continue
            if char not in " \t":
                return breaks or [" "]
            if char == "\t" and not self.flow_level and self.column < indent:
                raise ScannerError(
                    "while scanning a plain scalar",
                    start_mark,
                    "found a tab character that violates indentation",
                    self.get_mark(),
                )
            self.forward()

    def _skip_break(self) -> None:
        self.forward(2 if self.prefix(2) == "\r\n" else 1)

    def scan_block_scalar_indicators(self, start_mark: Any) -> Any:
        found = _BLOCK_HEADER.match(self.buffer, self.pointer)
        if found is None:
            return super().scan_block_scalar_indicators(start_mark)
        self.forward(len(found[0]))
        chomping = {"+": True, "-": False}.get(found[0].strip("123456789"))
        return chomping, int(found[0].strip("+-") or 0) or None

    def scan_block_scalar_ignored_line(self, start_mark: Any) -> None:
        self.forward(len(self._blanks()))
        super().scan_block_scalar_ignored_line(start_mark)

    def scan_directive(self) -> Any:
        token = super().scan_directive()
        if token.name not in ("YAML", "TAG"):
            raise ScannerError(
                "while scanning a directive",
                token.start_mark,
                "found unknown directive name",
                token.end_mark,
            )
        return token

    def scan_tag(self) -> Any:
        pattern = _TAG_IN_FLOW if self.flow_level else _TAG
        short = pattern.match(self.buffer, self.pointer)
        if short is None:
            return super().scan_tag()
        start = self.get_mark()
        self.forward(len(short[0]))
        return TagToken((short[1], short[2]), start, self.get_mark())


# Some characters and escapes PyYAML would change or refuse. They are replaced by others of the
# same length that the file does not use, so that positions stay the same; `restore` reverts this
# in the scalars that were read.
#
# - `"\ud83d\ude00"` is one character to JSON. libyaml refuses each half, and the parser
#   in Python keeps two halves that cannot be encoded.
# - U+0085, U+2028 and U+2029 end a line in YAML 1.1 and are ordinary text in YAML 1.2.

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
_OLD_BREAKS = "\x85\u2028\u2029"


def _escape_starting(digit: str) -> re.Pattern[str]:
    """The escapes of the code points `digit`800 to `digit`FFF; two backslashes start none."""
    return re.compile(
        rf"(?<!\\)((?:\\\\)*\\(?:u|U0000))([{digit}{digit.upper()}])(?=[89a-fA-F][0-9a-fA-F]{{2}})"
    )


_SURROGATE_ESCAPE = _escape_starting("d")
# Letters, so that upper and lower case survive. E800 to EFFF is for private use.
_STAND_INS = "ecbaf"


class Shield:
    """A text with replacements: `text` is for the parser, `restore` for the scalars it reads."""

    def __init__(self, text: str) -> None:
        self._digit = ""
        self._halves: dict[int, int] = {}
        self._breaks: dict[int, str] = {}
        if _SURROGATE_ESCAPE.search(text):
            self._digit = next((digit for digit in _STAND_INS if _is_unused(digit, text)), "")
        if self._digit:
            text = _swap("d", self._digit, text)
            first = _first_code(self._digit)
            self._halves = {first + offset: 0xD800 + offset for offset in range(0x800)}
        if any(char in text for char in _OLD_BREAKS):
            spare = (code for code in range(0xF0000, 0xFFFFE) if chr(code) not in text)
            self._breaks = {next(spare): char for char in _OLD_BREAKS}
            text = text.translate({ord(char): code for code, char in self._breaks.items()})
        self.text = text
        self.is_needed = bool(self._digit or self._breaks)

    def restore(self, text: str, style: str | None) -> str:
        """Return the scalar as written; a lone surrogate stays one."""
        text = text.translate(self._breaks)
        if not self._digit:
            return text
        if style != '"':
            return _swap(self._digit, "d", text)
        return _PAIR.sub(_join_surrogates, text.translate(self._halves))


def _first_code(digit: str) -> int:
    return int(digit, 16) * 0x1000 + 0x800


def _is_unused(digit: str, text: str) -> bool:
    first = _first_code(digit)
    raw = re.compile(f"[{chr(first)}-{chr(first + 0x7FF)}]")
    return not (raw.search(text) or _escape_starting(digit).search(text))


def _swap(old: str, new: str, text: str) -> str:
    return _escape_starting(old).sub(
        lambda match: match[1] + (new if match[2].islower() else new.upper()), text
    )


def _join_surrogates(pair: re.Match[str]) -> str:
    high, low = ord(pair[1]), ord(pair[2])
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


# Places in a text

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_ENTRY_BEFORE = re.compile(r"[ ]*(?:- +)*[^ #].*?:[ ]")


def split_lines(text: str) -> list[str]:
    """The lines of a text as YAML 1.2 counts them."""
    return _LINE_BREAK.split(text)


class Source:
    """The text of a file, for pointing into it. Lines and columns count from 0 here.

    It may be a part of the file: `first_line` is then the line of the file where it begins.
    """

    def __init__(self, text: str, file: str, first_line: int = 0) -> None:
        self._text = text
        self._file = file
        self._lines: list[str] = []
        self.first_line = first_line

    def number(self, line: int) -> int:
        """Return the line number in the file, counted from 1."""
        return self.first_line + line + 1

    def line(self, number: int) -> str:
        if not self._lines:
            self._lines = split_lines(self._text)
        return self._lines[number] if number < len(self._lines) else ""

    def clamp(self, line: int, column: int) -> tuple[int, int]:
        """The same place, or the end of the last line with text when it is after the end."""
        self.line(0)
        last = len(self._lines) - 1
        while last > 0 and not self._lines[last].strip():
            last -= 1
        return (line, column) if line <= last else (last, len(self._lines[last].rstrip()))

    def is_end(self, line: int, column: int) -> bool:
        return self.clamp(line, column) != (line, column) or (
            line == len(self._lines) - 1 and not self._lines[line][column:].strip()
        )

    def diagnostic(
        self, code: str, message: str, line: int, column: int, *, width: int = 1, help: str = ""
    ) -> Diagnostic:
        return Diagnostic(
            code=code,
            file=self._file,
            message=message,
            line=self.number(line),
            column=column + 1,
            width=max(width, 1),
            help=help,
            source=self.line(line),
        )


# Errors in plain words


class _SyntaxError:
    """An error of PyYAML, with what the functions below need."""

    def __init__(self, error: MarkedYAMLError, source: Source) -> None:
        self.problem = str(error.problem or error.context or "not valid YAML")
        self.context = str(error.context or "")
        at = error.problem_mark or error.context_mark
        self.line, self.column = (at.line, at.column) if at else (0, 0)
        began = error.context_mark or at
        self.began, self.began_column = (began.line, began.column) if began else (0, 0)
        self.began_number = source.number(self.began)
        self.source = source
        self.char = source.line(self.line)[self.column : self.column + 1]

    def here(self, message: str, help: str = "") -> Finding:
        line, column = self.source.clamp(self.line, self.column)
        return message, line, column, help

    def at_beginning(self, message: str, help: str = "") -> Finding:
        return message, self.began, self.began_column, help


def describe_error(error: MarkedYAMLError, source: Source) -> Diagnostic:
    """The diagnostic for a syntax error."""
    found = _SyntaxError(error, source)
    if found.char == "\t" or "tab character" in found.problem:
        text = source.line(found.line)
        indentation = text[: len(text) - len(text.lstrip())]
        message, help = "a tab is used as indentation", "YAML indents with spaces only"
        line, column = found.line, indentation.find("\t")
        column = found.column if column < 0 else column
    else:
        sentence = next(each for words, each in _SENTENCES if words in found.problem)
        finding = found.here(*sentence) if isinstance(sentence, tuple) else sentence(found)
        message, line, column, help = finding
    return source.diagnostic("F002", message, line, column, help=help)


def _colon(found: _SyntaxError) -> Finding:
    before = found.source.line(found.line)[: found.column]
    if _ENTRY_BEFORE.match(before):
        return found.here(
            'an unquoted value contains ": ", which starts a mapping entry',
            "put the value in quotes",
        )
    return found.here(
        "a mapping entry cannot start here",
        "check the indentation of this line and whether the line before it is complete",
    )


def _end_of_text(found: _SyntaxError) -> Finding:
    if "quoted" not in found.context:
        return found.here("the text ends in the middle of a value")
    return found.at_beginning(
        "this quote is never closed", "end the text with the quote it starts with"
    )


def _in_flow(found: _SyntaxError) -> Finding:
    opener, closer = ("[", "]") if "sequence" in found.context else ("{", "}")
    if found.source.is_end(found.line, found.column):
        return found.at_beginning(f'this "{opener}" is never closed', f'add the missing "{closer}"')
    return found.here(
        f'expected "," or "{closer}" here',
        f'the "{opener}" it belongs to is at line {found.began_number}; text that holds any of '
        "[ ] { } , needs quotes there",
    )


def _no_token(found: _SyntaxError) -> Finding:
    return found.here(
        f'an unquoted value cannot start with "{found.char}"', "put the value in quotes"
    )


def _no_content(found: _SyntaxError) -> Finding:
    if found.source.is_end(found.line, found.column):
        return found.here(
            "the text ends where a value is expected", "check that every bracket is closed"
        )
    return found.here(
        f'a value is missing before "{found.char}"',
        f'put the value in quotes if it starts with "{found.char}"',
    )


def _block_end(found: _SyntaxError) -> Finding:
    before = found.source.line(found.line)[: found.column].rstrip()
    if before.endswith(("'", '"')):
        quote = before[-1]
        inside = "''" if quote == "'" else '\\"'
        return found.here(
            "text follows the quote that ends the value",
            f"a quote that belongs to the text is written {inside}",
        )
    if "mapping" in found.context:
        return found.here(
            "expected a key here",
            f'the mapping that starts at line {found.began_number} goes on with "key: value" in '
            f"column {found.began_column + 1}",
        )
    return found.here(
        'expected "- " here',
        f"the list that starts at line {found.began_number} goes on with dashes in column "
        f"{found.began_column + 1}",
    )


def _no_colon(found: _SyntaxError) -> Finding:
    opener = found.source.line(found.began)[found.began_column :][:1]
    if opener in ("[", "{"):
        return found.at_beginning(
            f'this "{opener}" is not indented, so it is not a value of the key before it',
            "indent it by a space, or write it on the line of the key",
        )
    return found.at_beginning(
        'this line is not a "key: value" entry', 'add ": " after the key, or put the text in quotes'
    )


def _outside(found: _SyntaxError) -> Finding:
    if found.source.line(found.line).startswith("..."):
        return found.here(
            'text follows the "..." that ends the document',
            'start the next document with a line "---"',
        )
    return found.here(
        "this does not belong to what came before",
        "check its indentation, and that quotes and brackets before it are closed",
    )


def _name(found: _SyntaxError) -> Finding:
    sign = found.source.line(found.began)[found.began_column :][:1]
    return found.at_beginning(
        f'"{sign}" starts an anchor or an alias here and needs a name',
        "put the value in quotes if it is text",
    )


def _other(found: _SyntaxError) -> Finding:
    context = f" {found.context}" if found.context not in ("", found.problem) else ""
    problem = found.problem.replace("did not find expected", "expected")
    return found.here(f"{problem}{context}")


_ESCAPE = (
    "a double-quoted text contains an escape that YAML does not know",
    "write two backslashes for a backslash, or put the text in single quotes",
)
_ITEM = ("a list item cannot start here", "start it on a line of its own")
_AFTER_TAG = ("a tag ends with a space, and this is not one", 'write it as in !!str "text"')

# By words of PyYAML: the message and the help, or a function that finds them.
_SENTENCES: tuple[tuple[str, tuple[str, str] | Callable[[_SyntaxError], Finding]], ...] = (
    ("mapping values are not allowed", _colon),
    ("unexpected end of stream", _end_of_text),
    ("unexpected document", _end_of_text),
    ("expected ',' or", _in_flow),
    ("cannot start any token", _no_token),
    ("node content", _no_content),
    ("expected key", _block_end),
    ("expected '-' indicator", _block_end),
    ("expected <block end>", _block_end),
    ("unknown escape", _ESCAPE),
    ("expected hexadecimal", _ESCAPE),
    ("hexadecimal numbers", _ESCAPE),
    ("invalid Unicode character escape", _ESCAPE),
    ("expected ':'", _no_colon),
    ("sequence entries are not allowed", _ITEM),
    ("document start>", _outside),
    ("expected whitespace or line break", _AFTER_TAG),
    ("expected ' '", _AFTER_TAG),
    ("alphabetic or numeric", _name),
    ("", _other),
)
