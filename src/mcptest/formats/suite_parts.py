"""The files that make up a suite: itself, and what its `imports` name, each once."""

from __future__ import annotations

import posixpath

from mcptest.core.errors import FormatError
from mcptest.core.record import Record
from mcptest.formats.document import read_document
from mcptest.formats.fields import Fields, kind_of
from mcptest.formats.plugin_imports import read_subprocess_matchers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.diagnostics import Complaint
    from mcptest.core.plan import PluginSpec
    from mcptest.formats.document import Document

__all__ = ["IMPORT_KEYS", "Part", "read_parts"]

IMPORT_KEYS = ("suites", "subprocess_matchers")

# More files than anybody imports by hand; whoever has more has a circle of copies.
_MOST_PARTS = 200


class Part(Record):
    """One file of a suite. `folder` is where it lies, definite."""

    file: str
    folder: str
    document: Document
    top: Fields
    complaints: list[Complaint]
    read_beside: Callable[[str], str]
    plugins: tuple[PluginSpec, ...] = ()


def read_parts(text: str, file: str, folder: str, read_beside: Callable[[str], str]) -> list[Part]:
    """The file and everything it imports, itself first."""
    found: dict[str, Part] = {}
    pending = [(file, ".", text)]
    while pending:
        name, place, content = pending.pop(0)
        part = _read_part(content, name, folder, place, read_beside)
        found[posixpath.normpath(name)] = part
        for path, key in _imports(part.top):
            shown = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            if shown in found or any(shown == other for other, _, _ in pending):
                continue
            if len(found) + len(pending) >= _MOST_PARTS:
                part.top.at(key).complain("", "F004", f"more than {_MOST_PARTS} files")
                return list(found.values())
            inner = posixpath.join(place, path)
            text_ = _text_of(part, inner, key, read_beside)
            if text_ is not None:
                pending.append((shown, posixpath.dirname(inner) or ".", text_))
    return list(found.values())


def _read_part(
    text: str, file: str, folder: str, place: str, read_beside: Callable[[str], str]
) -> Part:
    document = read_document(text, file)
    complaints: list[Complaint] = []
    value = document.value
    if not isinstance(value, dict):
        message = f"a suite must be a mapping and is {kind_of(value)}"
        Fields({}, (), complaints).complain("", "F005", message)
        value = {}
    fields = Fields(value, (), complaints)
    home = posixpath.normpath(posixpath.join(folder, place))
    return Part(
        file=file,
        folder=home,
        document=document,
        top=fields,
        complaints=complaints,
        read_beside=lambda name: read_beside(posixpath.join(place, name)),
        plugins=tuple(plugin.but(cwd=home) for plugin in _plugins(fields, file)),
    )


def _plugins(fields: Fields, file: str) -> tuple[PluginSpec, ...]:
    if not isinstance(fields.mapping.get("imports"), dict):
        return ()
    imports = fields.mapping_at("imports")
    assert imports is not None
    imports.refuse_unknown(IMPORT_KEYS, (), '"imports"')
    return read_subprocess_matchers(imports, file)


def _imports(fields: Fields) -> list[tuple[str, tuple[str | int, ...]]]:
    """The paths that a file imports, each with its place in it."""
    value = fields.mapping.get("imports")
    if isinstance(value, dict):
        inner = fields.mapping_at("imports")
        assert inner is not None
        return [
            (path, ("imports", "suites", index)) for index, path in enumerate(inner.texts("suites"))
        ]
    return [(path, ("imports", index)) for index, path in enumerate(fields.texts("imports"))]


def _text_of(
    part: Part, path: str, key: tuple[str | int, ...], read_beside: Callable[[str], str]
) -> str | None:
    try:
        return read_beside(path)
    except (OSError, ValueError, FormatError) as error:
        reason = str(error).removeprefix("cannot read it: ")
        message = f"cannot import it: {reason[:1].lower()}{reason[1:]}"
        part.top.at(key).complain("", "F001", message, on_key=False)
        return None
