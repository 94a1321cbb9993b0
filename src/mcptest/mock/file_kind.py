"""What kind of file a mock is made of, by what stands at its top: cases, manifest or capture."""

from __future__ import annotations

import re

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
_TOP_KEY = re.compile(r"""^["']?([A-Za-z_][\w.-]*)["']?\s*:(?:\s|$)""", re.MULTILINE)


def kind_of_file(text: str) -> FileKind:
    """What is in a file; whatever is not told by its keys is a file of cases."""
    text = text.removeprefix("\ufeff")
    value = read_json(text)
    if value is NOT_JSON and re.match(r"\s*(#.*\s+)*\{", text):
        value = _flow(text)
    if isinstance(value, list):
        is_capture = any(isinstance(each, dict) and _EXCHANGES in each for each in value)
        return "capture" if is_capture else "cases"
    keys = set(value) if isinstance(value, dict) else set(_TOP_KEY.findall(text))
    if _EXCHANGES in keys:
        return "capture"
    has_turns = any(key == "case" or _is_turn(key) for key in keys)
    return "manifest" if keys.intersection(SECTIONS) and not has_turns else "cases"


def _is_turn(key: str) -> bool:
    return key.startswith(("in", "out")) and key != "instructions"


def _flow(text: str) -> object:
    try:
        return read_document(text, "").value
    except FormatError:
        return NOT_JSON
