"""The files that make up a suite: itself, and what its `imports` name, each once."""

from __future__ import annotations

import posixpath

from mcptest.core.diagnostics import CODES, UNQUOTED, UnquotedText
from mcptest.core.errors import FormatError
from mcptest.core.record import Record
from mcptest.formats.document import locate, read_document
from mcptest.formats.fields import Fields, kind_of, point_at
from mcptest.formats.plugin_imports import read_subprocess_matchers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.diagnostics import Complaint, Diagnostic
    from mcptest.core.plan import PluginSpec
    from mcptest.formats.document import Document, Places

    Resolve = Callable[[str], str]

__all__ = ["IMPORT_KEYS", "Part", "Parts", "read_parts"]

IMPORT_KEYS = ("suites", "subprocess_matchers")

# More files than anybody imports by hand; whoever has more has a circle of copies.
_MOST_PARTS = 200


class Part(Record):
    """One file of a suite. `folder` is where it lies, definite.

    `point` gives the place of a complaint that is not, or not yet, one of the file's.
    """

    file: str
    folder: str
    document: Document
    top: Fields
    complaints: list[Complaint]
    read_beside: Callable[[str], str]
    point: Callable[[Complaint], Diagnostic]
    plugins: tuple[PluginSpec, ...] = ()


class Parts(Record):
    """All files of a suite, itself first, and what is wrong with those that cannot be read.

    `imports_first` has them in the order in which they are to be taken in: what a file imports,
    in the order in which it does, and then the file.
    """

    files: tuple[Part, ...]
    imports_first: tuple[Part, ...]
    mistakes: tuple[Diagnostic, ...] = ()


def read_parts(
    text: str,
    file: str,
    folder: str,
    read_beside: Callable[[str], str],
    real_path: Resolve = posixpath.normpath,
) -> Parts:
    """The file and everything it imports.

    By `real_path` files are told apart: one may have several names, by links.
    """
    reader = _PartReader(folder, read_beside, real_path)
    main = reader.read(text, file, ".")
    reader.follow(main, real_path(file), ".")
    return Parts(
        files=tuple(reader.found.values()),
        imports_first=tuple(reader.done),
        mistakes=tuple(reader.mistakes),
    )


class _PartReader:
    """Reads files, each once, in the order in which they are first named."""

    def __init__(self, folder: str, read_beside: Callable[[str], str], real_path: Resolve) -> None:
        self._folder = folder
        self._read_beside = read_beside
        self._real_path = real_path
        self.found: dict[str, Part] = {}
        self.done: list[Part] = []
        self.mistakes: list[Diagnostic] = []

    def read(self, text: str, file: str, place: str) -> Part:
        home = self._plain(posixpath.join(self._folder, place))
        return _read_part(text, file, home, place, self._read_beside)

    def _plain(self, path: str) -> str:
        """The path without detours, unless one of them leads elsewhere, through a link."""
        plain = posixpath.normpath(path)
        return plain if self._real_path(plain) == self._real_path(path) else path

    def follow(self, part: Part, real: str, place: str) -> None:
        """Take in a file, and whatever it imports before it."""
        self.found[real] = part
        for path, key in _imports(part.top):
            shown = self._plain(posixpath.join(posixpath.dirname(part.file), path))
            # A circle ends where it began.
            if self._real_path(shown) in self.found:
                continue
            if len(self.found) >= _MOST_PARTS:
                message = f"with this there are more than {_MOST_PARTS} files in one suite"
                part.top.at(key).complain("", "F004", message, on_key=False)
                continue
            inner = posixpath.join(place, path)
            text = _text_of(part, inner, key, self._read_beside)
            if text is not None:
                self._import(text, shown, posixpath.dirname(inner) or ".", part.top.at(key))
        self.done.append(part)

    def _import(self, text: str, name: str, place: str, importer: Fields) -> None:
        try:
            part = self.read(text, name, place)
            mistakes = [part.point(each) for each in part.complaints if each.code == "F005"]
        except FormatError as error:
            part, mistakes = None, list(error.diagnostics)
        if isinstance(text, UnquotedText) and mistakes:
            # Where it is named is the only line that may be shown.
            first = mistakes[0]
            what = f"{CODES[first.code]} (line {first.line}, column {first.column})"
            message = f"cannot import it: {what}"
            importer.complain("", first.code, message, UNQUOTED, on_key=False)
        elif part is None:
            self.mistakes += mistakes
        else:
            self.follow(part, self._real_path(name), place)


class _Pointer:
    """Points at places of one document, whose text is read for that once, and only if need be."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._places: Places | None = None

    def __call__(self, complaint: Complaint) -> Diagnostic:
        self._places = self._places or locate(self._document)
        return point_at(complaint, self._document.file, self._places)


def _read_part(
    text: str, file: str, home: str, place: str, read_beside: Callable[[str], str]
) -> Part:
    document = read_document(text, file)
    complaints: list[Complaint] = []
    value = document.value
    if not isinstance(value, dict):
        message = f"a suite must be a mapping and is {kind_of(value)}"
        Fields({}, (), complaints).complain("", "F005", message)
        value = {}
    fields = Fields(value, (), complaints)
    return Part(
        file=file,
        folder=home,
        document=document,
        top=fields,
        complaints=complaints,
        read_beside=lambda name: read_beside(posixpath.join(place, name)),
        point=_Pointer(document),
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
    value = fields.mapping.get("imports", [])
    if not isinstance(value, (list, dict)):
        message = f'"imports" must be a list of files, or a mapping, and is {kind_of(value)}'
        fields.complain("imports", "F008", message, on_key=False)
        return []
    inner, key = fields, "imports"
    if isinstance(value, dict):
        inner, key = fields.at(("imports",)).replaced(value), "suites"
    # Complains about what is no text.
    inner.texts(key)
    where = (*inner.steps, key)
    items = enumerate(inner.list_at(key))
    return [(path, (*where, index)) for index, path in items if isinstance(path, str)]


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
