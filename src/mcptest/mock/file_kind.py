"""What kind of file a mock is made of, by what stands at its top: cases, manifest or capture."""

from __future__ import annotations

import re
from io import StringIO

from mcptest.core.errors import FormatError
from mcptest.formats.document import read_document
from mcptest.formats.json_text import NOT_JSON, read_json
from mcptest.mock.manifest import SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    FileKind = Literal["cases", "manifest", "capture"]

__all__ = ["kind_of_file"]

_EXCHANGES = "exchanges"

# A key at the top of a YAML document: read like this, mistakes elsewhere do not matter.
_TOP_KEY = re.compile(r"""^["']?([A-Za-z_][\w.-]*)["']?[ \t]*:(?:\s|$)""", re.MULTILINE)


def kind_of_file(text: str) -> FileKind:
    """What is in a file; whatever is not told by its keys is a file of cases."""
    text = text.removeprefix("\ufeff")
    value = read_json(text)
    if value is NOT_JSON:
        value = _in_braces(text)
    if isinstance(value, list):
        is_capture = any(isinstance(each, dict) and _EXCHANGES in each for each in value)
        return "capture" if is_capture else "cases"
    keys = set(value) if isinstance(value, dict) else set(_TOP_KEY.findall(text))
    if _EXCHANGES in keys:
        return "capture"
    has_turns = any(key == "case" or _is_turn(key) for key in keys)
    return "manifest" if keys.intersection(SECTIONS) and not has_turns else "cases"


def _is_turn(key: object) -> bool:
    return isinstance(key, str) and key.startswith(("in", "out")) and key != "instructions"


def _in_braces(text: str) -> object:
    """The value of a document that is written in braces; NOT_JSON when it is not, or is broken."""
    first = _first_line(text)
    if not first.startswith("{"):
        return NOT_JSON
    value = read_json(first)
    if value is not NOT_JSON:
        # Any number of such lines may follow, as in a log, and YAML would read them all.
        return value
    try:
        return read_document(text, "").value
    except FormatError:
        return NOT_JSON


def _first_line(text: str) -> str:
    """The first line with something on it, comments and the marks of YAML apart."""
    for line in StringIO(text):
        content = line.strip()
        if content.startswith("---"):
            content = content[3:].lstrip()
        if content and not content.startswith(("#", "%")):
            return content
    return ""
