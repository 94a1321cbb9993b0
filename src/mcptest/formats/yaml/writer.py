"""Write values as YAML that reads back as the same values, whatever their strings hold.

Dicts, lists, strings, numbers, booleans and None are written as they are. `Commented` adds
comments above a value, `LiteralBlock` writes a string line by line, and `Tagged` writes a tag
such as `!!re "a+"`. No invisible character is written as itself, and no CI command.

There are three styles. `render_yaml` puts every member on a line of its own and every string in
double quotes, so that no reader takes a word for a number, a boolean or a date. `render_compact`
is closer to what people write: plain words, and short mappings and lists on one line.
`json_lines` writes one entry in the notation of JSON.
"""

from __future__ import annotations

import re

from mcptest.core.strict_json import dump_json
from mcptest.core.text import defuse, defuse_markers, is_visible, visible
from mcptest.core.value_class import Record
from mcptest.formats.yaml.full import Tagged
from mcptest.formats.yaml.quick import resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = [
    "Commented",
    "LiteralBlock",
    "Tagged",
    "comment_lines",
    "json_lines",
    "quoted",
    "render_compact",
    "render_yaml",
]

_WIDTH = 100
_COMMENT_WIDTH = 96
# YAML looks for the colon after a key within 1,024 characters.
_MAX_KEY_CHARS = 1000
# `render_yaml` writes a list inside a list in brackets up to about this length.
_MAX_BRACKETS_CHARS = 80

_PLAIN_KEY = r"[A-Za-z_][A-Za-z0-9_-]*"
_START = r"(?:[A-Za-z/_]|\.{1,2}/)"
_PLAIN = rf"{_START}(?:[A-Za-z0-9_/().,+'-]| (?=[A-Za-z0-9(]))*"
# Inside brackets, a comma ends a word.
_PLAIN_IN_FLOW = rf"{_START}(?:[A-Za-z0-9_/().+'-]| (?=[A-Za-z0-9(]))*"
# YAML 1.1 reads these as booleans.
_BOOLEANS = frozenset(["yes", "no", "on", "off", "y", "n"])


class Commented(Record):
    """A value with comments above it."""

    comments: tuple[str, ...]
    value: object


class LiteralBlock(Record):
    """A string to be written as a literal block (`|`), or in quotes where that is not safe."""

    text: str

    @property
    def is_safe(self) -> bool:
        """True if it reads back the same, even from an editor that trims lines."""
        text = self.text
        if not text or text.startswith("\n") or text.endswith("\n\n"):
            return False
        if any(line[-1:] in (" ", "\t") for line in text.split("\n") if line):
            return False
        # A CI command can be escaped only inside quotes.
        if defuse(text) != text:
            return False
        return all(char in "\n\t" or is_visible(char) for char in text)


def render_yaml(value: object) -> str:
    """Return a document with one member per line and all strings in double quotes."""
    return "".join(f"{line}\n" for line in _Writer().block(value, 0))


def render_compact(
    document: Mapping[str, object], *, blocks: Collection[str] = (), entries: Collection[str] = ()
) -> str:
    """Return a document with plain words and with short mappings and lists on one line.

    The values of keys in `blocks` and `entries` are never put on one line. The members of
    `entries` are not either, and list items among them are separated by blank lines.
    """
    writer = _Writer(is_compact=True, blocks=blocks, entries=entries)
    lines: list[str] = []
    for key, value in document.items():
        section = list(writer.entry(key, value, 0))
        if lines and (len(section) > 1 or lines[-1].startswith(" ")):
            lines.append("")
        lines += section
    return "".join(f"{line}\n" for line in lines)


def json_lines(key: str, value: object) -> Iterator[str]:
    """Yield `key: value` with the value in the notation of JSON, on one line if it fits."""
    return _json_lines(f"{key}:", value, "", "")


def quoted(text: str) -> str:
    """Return a string in double quotes, with the escapes that JSON and YAML share.

    Invisible characters and CI commands are escaped as well.
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    # As `visible` does; strings with no other invisible character take its fast path.
    escaped = escaped.replace("\n", "\\n").replace("\t", "\\t")
    return f'"{defuse_markers(visible(escaped))}"'


def comment_lines(comments: tuple[str, ...]) -> Iterator[str]:
    """Yield comments as lines of at most 97 characters, if their words allow."""
    for comment in comments:
        for part in comment.split("\n"):
            line = "#"
            for word in defuse_markers(visible(part)).split(" "):
                if len(line) + len(word) > _COMMENT_WIDTH and line != "#":
                    yield line
                    line = "#"
                line += f" {word}" if word else ""
            yield line


class _Writer:
    """Yields the lines of values, without the indentation of what is around them."""

    def __init__(
        self,
        *,
        is_compact: bool = False,
        blocks: Collection[str] = (),
        entries: Collection[str] = (),
    ) -> None:
        self._is_compact = is_compact
        self._blocks = blocks
        self._entries = entries

    def block(self, value: object, indent: int, *, has_entries: bool = False) -> Iterator[str]:
        """Yield the lines of a value below its key or dash; `indent` is where they begin."""
        if isinstance(value, Commented):
            yield from comment_lines(value.comments)
            yield from self.block(value.value, indent, has_entries=has_entries)
        elif isinstance(value, dict) and value:
            for key, inner in value.items():
                yield from self.entry(key, inner, indent, is_entry=has_entries)
        elif isinstance(value, list) and value:
            for index, item in enumerate(value):
                if index and (has_entries or isinstance(item, Commented)):
                    yield ""
                yield from self._item(item, indent, is_entry=has_entries)
        elif isinstance(value, LiteralBlock) and value.is_safe:
            text = value.text
            # A block that begins with a space needs its indentation written out.
            indentation = "2" if text[0] in " \t" else ""
            yield f"|{indentation}" if text.endswith("\n") else f"|{indentation}-"
            yield from text.removesuffix("\n").split("\n")
        elif isinstance(value, str):
            yield self._string(value, _PLAIN)
        else:
            yield self.flow(value).rstrip()

    def entry(
        self, key: str, value: object, indent: int, *, is_entry: bool = False
    ) -> Iterator[str]:
        """Yield the lines of a key and its value."""
        if isinstance(value, Commented):
            yield from comment_lines(value.comments)
            value = value.value
        head = f"{self._key(key)}:"
        if len(head) > _MAX_KEY_CHARS:
            yield f"? {self._key(key)}"
            head = ":"
        has_entries = key in self._entries
        must_be_block = is_entry or has_entries or key in self._blocks
        lines = self.block(value, indent + 2, has_entries=has_entries)
        if not isinstance(value, (dict, list)) or not value:
            yield f"{head} {next(lines)}"
        elif not must_be_block and (flow := self._one_line(head, value, indent)):
            yield flow
            return
        else:
            yield head
        for line in lines:
            yield f"  {line}" if line else line

    def _item(self, value: object, indent: int, *, is_entry: bool) -> Iterator[str]:
        if isinstance(value, Commented):
            yield from comment_lines(value.comments)
            value = value.value
        if not is_entry and (flow := self._one_line("-", value, indent)):
            yield flow
            return
        lines = self.block(value, indent + 2)
        yield f"- {next(lines)}"
        for line in lines:
            yield f"  {line}" if line else line

    def _one_line(self, head: str, value: object, indent: int) -> str:
        """Return a mapping or list behind its head on one line, "" if it belongs on several."""
        if not isinstance(value, (dict, list)) or not value:
            return ""
        if not self._is_compact:
            is_short = isinstance(value, list) and head == "-" and _fits(value, _MAX_BRACKETS_CHARS)
            return f"{head} {self.flow(value)}" if is_short else ""
        # The estimate is at most twice the length, and avoids writing out long values.
        line = f"{head} {self.flow(value)}" if _fits(value, 2 * _WIDTH) else ""
        return line if indent + len(line) <= _WIDTH else ""

    def flow(self, value: object) -> str:
        """Return a value on one line."""
        if isinstance(value, str):
            return self._string(value, _PLAIN_IN_FLOW)
        if isinstance(value, Tagged):
            return _tag(value)
        if isinstance(value, LiteralBlock):
            return quoted(value.text)
        if isinstance(value, dict):
            write_key = self._key if self._is_compact else quoted
            members = (f"{write_key(key)}: {self.flow(each)}" for key, each in value.items())
            return f"{{{', '.join(members)}}}"
        if isinstance(value, list):
            return f"[{', '.join(map(self.flow, value))}]"
        return dump_json(value)

    def _string(self, text: str, plain: str) -> str:
        return text if self._is_compact and _is_word(text, plain) else quoted(text)

    def _key(self, key: str) -> str:
        if self._is_compact:
            is_word = _is_word(key, _PLAIN_IN_FLOW)
        else:
            is_word = bool(re.fullmatch(_PLAIN_KEY, key)) and isinstance(resolve_plain(key), str)
        return key if is_word else quoted(key)


def _json_lines(head: str, value: object, indent: str, tail: str) -> Iterator[str]:
    """Yield a value behind its head; `tail` is the comma after it."""
    lead = f"{indent}{head} " if head else indent
    if not isinstance(value, (dict, list)) or not value:
        yield f"{lead}{_Writer().flow(value)}{tail}".rstrip()
        return
    if _fits(value, 2 * _WIDTH) and len(line := f"{lead}{_Writer().flow(value)}{tail}") <= _WIDTH:
        yield line
        return
    if not indent:
        # JSON begins below its key, and not in the first column.
        yield head
        indent = lead = "  "
    is_mapping = isinstance(value, dict)
    yield f"{lead}{'{' if is_mapping else '['}"
    members = value.items() if isinstance(value, dict) else (("", item) for item in value)
    for index, (name, member) in enumerate(members, start=1):
        key = f"{quoted(name)}:" if is_mapping else ""
        if len(key) > _MAX_KEY_CHARS:
            key = f"? {quoted(name)} :"
        yield from _json_lines(key, member, f"{indent}  ", "," if index < len(value) else "")
    yield f"{indent}{'}' if is_mapping else ']'}{tail}"


def _is_word(text: str, plain: str) -> bool:
    """True if every reader takes this for the same string without quotes."""
    is_plain_text = re.fullmatch(plain, text) and text.lower() not in _BOOLEANS
    return bool(is_plain_text) and resolve_plain(text) == text


def _fits(value: object, max_chars: int) -> bool:
    """True if a value is short by an estimate, and holds nothing that needs lines of its own."""
    room = max_chars
    waiting = [value]
    while waiting and room >= 0:
        inner = waiting.pop()
        if isinstance(inner, (Commented, LiteralBlock)):
            return False
        if isinstance(inner, (dict, list)):
            room -= 2 * len(inner) + 2
            waiting += [*inner, *inner.values()] if isinstance(inner, dict) else inner
        else:
            room -= len(inner) + 2 if isinstance(inner, str) else 4
    return room >= 0


def _tag(tagged: Tagged) -> str:
    name, text = f"!!{tagged.tag}", tagged.text
    if not text:
        # Without the space, a comma or a bracket would become part of the name.
        return f"{name} "
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        return f"{name} {text}"
    if "\n" not in text and defuse_markers(visible(text)) == text:
        single = text.replace("'", "''")
        return f"{name} '{single}'"
    return f"{name} {quoted(text)}"
