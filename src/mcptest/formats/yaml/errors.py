"""Say in plain words what PyYAML found wrong, and where.

An exception of PyYAML goes in, one diagnostic comes out. The parser in C and the one
in Python word the same mistake differently; both wordings are known here, and nothing
else in this package reads PyYAML's messages.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import Diagnostic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yaml.error import MarkedYAMLError

    # message, line, column, help
    Finding = tuple[str, int, int, str]

__all__ = ["Source", "describe", "split_lines"]

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


def describe(error: MarkedYAMLError, source: Source) -> Diagnostic:
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
