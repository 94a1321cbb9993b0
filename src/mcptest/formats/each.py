"""`each:` makes one test of every row of a table, written in the test or in a file beside it.

    each:                                        each: {file: rows.csv}
      - {path: hello.txt, text: Hello}
      - {path: empty.txt, text: ""}

The values of a row replace `${column}` before the test is read, as if they were written there, so
whatever a test can do works for every row. Loaded only for files that have the key.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import Counter
from typing import TypeVar

from mcptest.core.diagnostics import Diagnostic, PathDiagnostic, UnquotedText
from mcptest.core.errors import FormatError
from mcptest.core.strict_json import dump_json
from mcptest.core.text import plural, show_json, visible
from mcptest.core.value_class import Record
from mcptest.formats.fields import (
    _REFERENCE,
    EACH_KEYS,
    ROW_ENDINGS,
    Fields,
    kind_of,
    lone_reference,
    point_at,
    references,
)
from mcptest.formats.suite.variables import WHOLE_FILE, Size, TooLargeError, size_put_in
from mcptest.formats.yaml import Place, locate, read_document
from mcptest.formats.yaml.quick import MAX_TEXT_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from mcptest.formats.yaml import Document, Places

    Steps = tuple[str | int, ...]
    Values = dict[str, object]

__all__ = ["MAX_ROWS", "Row", "RowReader", "read_csv"]

T = TypeVar("T")

# In all tests of one file together. More is a job for a program that writes the file.
MAX_ROWS = 10_000

# Names of tests: how much of a value they show, and how many columns.
_SHOWN_CHARS = 30
_SHOWN_COLUMNS = 4

_MORE_CELLS = "put a cell that has a comma in it between double quotes"
_FEWER_CELLS = "write a comma for an empty cell, too"


class Row(Record):
    """The values of one row. `line` is that of its test in the test file, `place` its own."""

    values: Values
    line: int
    place: str


class _Table(Record):
    """The rows of one test, or of a file of rows, which several tests may use.

    `point` says where the value of a column is: it gets the diagnostic, the index of the row, the
    column and the path within the value.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    point: Callable[[PathDiagnostic, int, str, Steps], PathDiagnostic]


class RowReader:
    """Expands the tests of one file; `files` are the files of rows that it has read."""

    def __init__(
        self,
        document: Document,
        read_beside: Callable[[str], str] | None,
        reserved: Collection[str] = (),
    ) -> None:
        self._document = document
        self._read_beside = read_beside
        self._reserved = reserved
        self._tables: dict[str, _Table | None] = {}
        self._count = 0
        self._put_in = Size()
        self.files: list[str] = []

    def read(self, fields: Fields) -> tuple[Row, ...]:
        """Return the rows of a test, none if there is a mistake in them."""
        table = self._table(fields, 0)
        return table.rows if table else ()

    def expand(
        self,
        fields: Fields,
        line: int,
        keys: Sequence[str],
        found: list[PathDiagnostic],
        read: Callable[[Fields, Row, int], T],
    ) -> tuple[list[T], list[PathDiagnostic]]:
        """Return what `read` makes of the test for each row, and the mistakes in them.

        `keys` are those in which `${column}` is replaced; the first of them is the name of the
        test. `read` gets the keys of the test, its row and the number of the row. It reports
        mistakes to `found`, from which they are removed: those that all rows share are in the
        test, the others in the value of a row.
        """
        written = {key: fields.mapping[key] for key in keys if key in fields.mapping}
        table = self._table(fields, line)
        if table is None:
            return [], self._other_mistakes(fields, line, written, found, read)
        self._warn_of_unused(fields, table, written)
        tests: list[T] = []
        mistakes: list[list[PathDiagnostic]] = []
        names = _names(written.get(keys[0]), table)
        for number, (row, name) in enumerate(zip(table.rows, names, strict=True), 1):
            start = len(found)
            if not self._has_room(fields, written, row):
                break
            place = Fields({}, fields.steps, found)
            try:
                test = {**_without_each(fields), **_fill_call(written, row.values, keys)}
            except ValueError as error:
                place.report("", "F003", str(error))
            else:
                named = {keys[0]: name} if name else {}
                tests.append(read(place.replaced({**test, **named}), row, number))
            mistakes.append(found[start:])
            del found[start:]
        return tests, list(_place_mistakes(fields, table, written, mistakes))

    def _table(self, fields: Fields, line: int) -> _Table | None:
        """Return the rows of a test, None if there is a mistake in them."""
        value = fields.mapping["each"]
        if isinstance(value, dict):
            inner = fields.at(("each",)).replaced(value)
            inner.check_keys(EACH_KEYS, '"each"')
            table = self._file(inner, inner.non_empty_text("file"))
            table = table and table.but(rows=tuple(row.but(line=line) for row in table.rows))
        elif isinstance(value, list):
            table = self._inline(fields, value)
        else:
            message = f'"each" must be a list of rows, or {{file: …}}, and is {kind_of(value)}'
            fields.report("each", "F008", message, on_key=False)
            return None
        self._count += len(table.rows) if table else 0
        if table and self._count > MAX_ROWS:
            message = f"with these there are more than {MAX_ROWS:,} rows in one test file"
            fields.report("each", "F004", message, "split the file")
            return None
        return table

    def _inline(self, fields: Fields, rows: list[object]) -> _Table | None:
        if not rows:
            fields.report("each", "F011", '"each" is empty: it tests nothing')
        mistakes: list[PathDiagnostic] = []
        columns = self._columns(rows, fields.at(("each",)).steps, mistakes)
        for mistake in mistakes:
            fields.add(mistake)
        if not rows or mistakes:
            return None
        base = (*fields.steps, "each")

        def point(found: PathDiagnostic, index: int, column: str, below: Steps) -> PathDiagnostic:
            return found.but(steps=(*base, index, column, *below), on_key=False)

        lines = self._document.item_lines(rows)
        file = self._document.file
        places = [
            Row(values=row, line=line, place=f"{file}:{line}")
            for row, line in zip(rows, lines, strict=True)
            if isinstance(row, dict)
        ]
        return _Table(columns=columns, rows=tuple(places), point=point)

    def _columns(
        self, rows: Sequence[object], base: Steps, mistakes: list[PathDiagnostic]
    ) -> tuple[str, ...]:
        """Return the columns, which are those of the first row, and report what is wrong."""
        columns: tuple[str, ...] = ()
        for index, row in enumerate(rows[: MAX_ROWS + 1]):
            place = Fields({}, (*base, index), mistakes)
            if not isinstance(row, dict):
                message = f"a row must be a mapping and is {kind_of(row)}"
                place.report("", "F008", message, on_key=False)
            elif not row:
                place.report("", "F011", "a row without columns", on_key=False)
            elif not columns:
                columns = tuple(row)
                for column in columns:
                    self._check_name(place, column)
            else:
                # By name alone: elsewhere, an unknown key without a value is only a warning.
                inner = place.replaced(dict.fromkeys(row, True))
                inner.refuse_unknown(columns, "a row")
                inner.require(columns, "a row")
        return columns

    def _check_name(self, place: Fields, column: str, help: str = "") -> bool:
        if column in self._reserved:
            place.report(column, "F003", f"{column} cannot be set, so no column has this name")
            return False
        return place.check_name(column, help)

    # Files of rows

    def _file(self, fields: Fields, name: str) -> _Table | None:
        if not name:
            return None
        if name not in self._tables:
            mistakes: list[PathDiagnostic] = []
            self._tables[name] = self._read_file(name, mistakes)
            for mistake in mistakes:
                steps = (*fields.steps, "file")
                fields.add(mistake if mistake.elsewhere else mistake.but(steps=steps))
        return self._tables[name]

    def _read_file(self, name: str, mistakes: list[PathDiagnostic]) -> _Table | None:
        here = Fields({}, (), mistakes)
        if not name.endswith(ROW_ENDINGS):
            message = f"rows are read from files that end in {', '.join(ROW_ENDINGS)}"
            here.report("", "F009", message, on_key=False)
            return None
        file = posixpath.normpath(posixpath.join(posixpath.dirname(self._document.file), name))
        self.files.append(file)
        try:
            if self._read_beside is None:
                raise ValueError("this command reads no other files")
            text = self._read_beside(name)
        except (OSError, ValueError, FormatError) as error:
            reason = str(error).removeprefix("cannot read it: ")
            message = f"cannot read the rows: {reason[:1].lower()}{reason[1:]}"
            here.report("", "F001", message, on_key=False)
            return None
        if isinstance(text, UnquotedText):
            # Names of tests show values of rows.
            message = "cannot read the rows: the file is outside the folders of this run"
            here.report(
                "", "F001", message, "start mcptest in a folder that holds it", on_key=False
            )
            return None
        read = self._read_csv if name.endswith(".csv") else self._read_yaml
        try:
            return read(text, file)
        except FormatError as error:
            mistakes += map(_elsewhere, error.diagnostics)
            return None

    def _read_yaml(self, text: str, file: str) -> _Table:
        document = read_document(text, file)
        rows = document.value
        mistakes: list[PathDiagnostic] = []
        top = Fields({}, (), mistakes)
        columns: tuple[str, ...] = ()
        if not isinstance(rows, list):
            message = f"a file of rows must be a list of mappings and is {kind_of(rows)}"
            top.report("", "F005", message)
            rows = []
        elif not rows:
            top.report("", "F011", "there are no rows: it tests nothing")
        else:
            columns = self._columns(rows, (), mistakes)
        if mistakes:
            found = locate(document)
            raise FormatError([point_at(each, file, found) for each in mistakes])

        places: list[Places] = []

        def point(found: PathDiagnostic, index: int, column: str, below: Steps) -> PathDiagnostic:
            if not places:
                # Reads the text again, and only if there is something to point at.
                places.append(locate(document))
            at = found.but(steps=(index, column, *below), on_key=False)
            return _elsewhere(point_at(at, file, places[0]))

        lines = document.item_lines(rows)
        return _Table(
            columns=columns,
            rows=tuple(
                Row(values=row, line=0, place=f"{file}:{line}")
                for row, line in zip(rows, lines, strict=True)
            ),
            point=point,
        )

    def _read_csv(self, text: str, file: str) -> _Table:
        text = text.removeprefix("\ufeff")
        lines = _Lines(text, file)
        if len(text) > MAX_TEXT_BYTES:
            message = f"the file has {len(text):,} characters (limit {MAX_TEXT_BYTES:,})"
            raise FormatError([Diagnostic(code="F004", file=file, message=message)])
        records: list[list[tuple[str, int]]] = []
        mistakes: list[Diagnostic] = []
        try:
            for record in read_csv(text):
                records.append(record)
                if len(records) > MAX_ROWS + 1:
                    break
        except CsvError as error:
            mistakes.append(lines.diagnostic("F002", str(error), error.at, help=error.help))
        header, *rest = records or [[]]
        mistakes += self._header_mistakes(header, lines)
        for record in rest:
            if len(record) != len(header):
                cells = plural(len(record), "cell")
                message = f"this row has {cells}, and the first line {len(header)}"
                help = (_FEWER_CELLS, _MORE_CELLS)[len(record) > len(header)]
                mistakes.append(lines.diagnostic("F008", message, record[0][1], help=help))
        if not rest and not mistakes:
            message = "there are no rows: it tests nothing"
            help = "the first line has the names of the columns, every other line is a row"
            mistakes.append(lines.diagnostic("F011", message, 0, help=help))
        if mistakes:
            raise FormatError(mistakes)

        columns = [name for name, _ in header]

        def point(found: PathDiagnostic, index: int, column: str, below: Steps) -> PathDiagnostic:
            value, at = rest[index][columns.index(column)]
            placed = lines.diagnostic(found.code, found.message, at, len(value), found.help)
            return _elsewhere(placed.but(severity=found.severity))

        return _Table(
            columns=tuple(columns),
            rows=tuple(
                Row(
                    values={name: value for name, (value, _) in zip(columns, record, strict=True)},
                    line=0,
                    place=f"{file}:{lines.number(record[0][1])}",
                )
                for record in rest
            ),
            point=point,
        )

    def _header_mistakes(self, header: list[tuple[str, int]], lines: _Lines) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        seen: set[str] = set()
        for name, at in header:
            mistakes: list[PathDiagnostic] = []
            help = "columns are separated by commas" if re.search(r"[;\t|]", name) else ""
            if name in seen:
                message = f"the column {dump_json(name)} is there twice"
                found.append(lines.diagnostic("F003", message, at, len(name)))
            elif not self._check_name(Fields({}, (), mistakes), name, help):
                [each] = mistakes
                found.append(lines.diagnostic(each.code, each.message, at, len(name), each.help))
            seen.add(name)
        return found

    # What goes beyond the rows

    def _other_mistakes(
        self,
        fields: Fields,
        line: int,
        written: Values,
        found: list[PathDiagnostic],
        read: Callable[[Fields, Row, int], object],
    ) -> list[PathDiagnostic]:
        """Return the mistakes in a test without rows, except those that its rows would decide."""
        start = len(found)
        place = Fields(_without_each(fields), fields.steps, found)
        read(place, Row(values={}, line=line, place=""), 1)
        mistakes = found[start:]
        del found[start:]
        places = [(*fields.steps, *steps) for _, steps in references(written)]
        return [
            each
            for each in dict.fromkeys(mistakes)
            if not any(each.steps[: len(steps)] == steps for steps in places)
        ]

    def _warn_of_unused(self, fields: Fields, table: _Table, written: Values) -> None:
        used = {name for name, _ in references(written)}
        if isinstance(fields.mapping["each"], dict):
            if used.isdisjoint(table.columns):
                message = "no column of this file is used, so every row is the same test"
                names = ", ".join(f"${{{name}}}" for name in table.columns)
                place = fields.at(("each", "file"))
                place.report(
                    "", "W001", message, f"there are: {names}", on_key=False, severity="warning"
                )
            return
        for column in table.columns:
            if column not in used:
                message = f"the test does not use the column {column!r}"
                help = f"write ${{{column}}} where its value belongs, or leave it out"
                place = fields.at(("each", 0))
                place.report(column, "W001", message, help, severity="warning")

    def _has_room(self, fields: Fields, written: Values, row: Row) -> bool:
        """True if all tests of the file are within the limits with this row; reported if not."""
        others = dict.fromkeys((name for name, _ in references(written)), "")
        try:
            self._put_in = size_put_in(written, others | row.values, WHOLE_FILE, self._put_in)
        except TooLargeError as error:
            fields.at(error.steps).report("", "F004", str(error), on_key=False)
            return False
        return True


def _elsewhere(diagnostic: Diagnostic) -> PathDiagnostic:
    return PathDiagnostic(
        code=diagnostic.code,
        message=diagnostic.message,
        severity=diagnostic.severity,
        elsewhere=diagnostic,
    )


def _place_mistakes(
    fields: Fields, table: _Table, written: Values, mistakes: list[list[PathDiagnostic]]
) -> Iterator[PathDiagnostic]:
    """Yield each mistake once, at the place where it can be corrected."""
    base = len(fields.steps)
    counts = Counter(each for of_row in mistakes for each in dict.fromkeys(of_row))
    used = [(name, at) for name, at in references(written) if name in table.columns]
    lone = {at for name, at in used if _value_at(written, at) == f"${{{name}}}"}
    done: set[PathDiagnostic] = set()
    for index, of_row in enumerate(mistakes):
        for each in of_row:
            here = each.steps[base:]
            column, at = next(((name, at) for name, at in used if here[: len(at)] == at), ("", ()))
            is_about_defaults = each.steps[:base] != fields.steps
            is_in_all_rows = counts[each] == len(table.rows)
            # The value of a single row is to blame, except for names that nothing declares.
            is_of_test = is_in_all_rows and (
                not column or len(table.rows) > 1 or each.code == "F020"
            )
            if column and at not in lone:
                # What it points at within the string is after replacement.
                each = each.but(offset=0, width=0)
            if is_about_defaults or is_of_test:
                placed = each
            elif column:
                placed = table.point(each, index, column, here[len(at) :])
            else:
                shown = _describe(table.rows[index].values, table.columns)
                placed = each.but(message=f"{each.message} (in the row {shown})")
            if placed not in done:
                done.add(placed)
                yield placed


def _value_at(value: object, steps: Steps) -> object:
    for step in steps:
        assert isinstance(value, (dict, list))
        value = value[step]  # type: ignore[index]  # a path of `references` leads somewhere
    return value


# Values instead of `${column}`


def _without_each(fields: Fields) -> Values:
    return {key: value for key, value in fields.mapping.items() if key != "each"}


# Keys with calls in them, and those with the arguments of a call.
_CALLS = ("steps", "setup", "teardown")
_ARGUMENTS = ("arguments", "args")


def _fill_call(call: Values, row: Values, keys: Collection[str]) -> Values:
    """Return a test or a step with the values of a row; arguments of a prompt become strings."""
    found: Values = {}
    for key, value in call.items():
        if key not in keys:
            found[key] = value
        elif key in _CALLS and isinstance(value, list):
            found[key] = [
                _fill_call(step, row, keys) if isinstance(step, dict) else step for step in value
            ]
        elif key in _ARGUMENTS and "prompt" in call and isinstance(value, dict):
            found[key] = {
                _text(name, row): _text(each, row) if isinstance(each, str) else each
                for name, each in value.items()
            }
        else:
            found[key] = _fill(value, row)
    return found


def _fill(value: object, row: Values) -> object:
    """Return the value with the columns of a row; other references are left for the loader."""
    if isinstance(value, str):
        name = lone_reference(value)
        return row[name] if name in row else _text(value, row)
    if isinstance(value, list):
        return [_fill(item, row) for item in value]
    if not isinstance(value, dict):
        return value
    members: Values = {}
    for key, member in value.items():
        put = _text(key, row)
        if put in members:
            raise ValueError(f"the key {dump_json(put)} would be there twice")
        members[put] = _fill(member, row)
    return members


def _text(text: str, row: Values) -> str:
    def replacement(found: re.Match[str]) -> str:
        if found[1] or found[2] not in row:
            return found[0]
        value = row[found[2]]
        return value if isinstance(value, str) else dump_json(value)

    return _REFERENCE.sub(replacement, text)


# Names of tests


def _names(written: object, table: _Table) -> list[str]:
    """Return the name of the test of each row, "" if the test has none.

    A name that shows columns itself is used as it is. Any other is followed by the row: by as few
    columns as are needed to tell the rows apart.
    """
    if not isinstance(written, str) or not written:
        return [""] * len(table.rows)
    if any(name in table.columns for name, _ in references(written)):
        names = [
            _text(written, {key: _show(value) for key, value in row.values.items()})
            for row in table.rows
        ]
    else:
        best: list[str] = []
        for count in range(1, min(len(table.columns), _SHOWN_COLUMNS) + 1):
            columns = table.columns[:count]
            tried = [f"{written} [{_describe(row.values, columns)}]" for row in table.rows]
            if len(set(tried)) > len(set(best)):
                best = tried
        names = best
    taken = set(names)
    seen: Counter[str] = Counter()
    for index, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            while f"{name} #{seen[name]}" in taken:
                seen[name] += 1
            names[index] = f"{name} #{seen[name]}"
            taken.add(names[index])
    return names


def _describe(values: Mapping[str, object], columns: Sequence[str]) -> str:
    """Return the first columns of a row in words: path=hello.txt, count=3."""
    shown = columns[:_SHOWN_COLUMNS]
    return ", ".join(f"{name}={_show(values.get(name))}" for name in shown)


def _show(value: object) -> str:
    if not isinstance(value, str):
        return show_json(value, _SHOWN_CHARS)
    cut = value[:_SHOWN_CHARS] + ("…" if len(value) > _SHOWN_CHARS else "")
    return visible(cut) or '""'


# CSV: cells are separated by commas, records by line breaks, and `""` is a quote in quotes.
#
# The reader of the standard library does not say in which column a cell begins.

_CELL = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r\n|\n|\r|\Z)')
_QUOTED_CELL = re.compile(r'"[^"]*(?:""[^"]*)*"')


class CsvError(ValueError):
    """What is wrong, and the index in the text where it is."""

    def __init__(self, message: str, at: int, help: str = "") -> None:
        super().__init__(message)
        self.at = at
        self.help = help


def read_csv(text: str) -> Iterator[list[tuple[str, int]]]:
    """Yield the records, as cells with their indexes in the text; blank lines are left out."""
    record: list[tuple[str, int]] = []
    at = 0
    while at < len(text) or record:
        cell = _CELL.match(text, at)
        if cell is None:
            whole = _QUOTED_CELL.match(text, at)
            if whole and text[whole.end()] != '"':
                message, help = "there is text after the closing quote", 'a quote is ""'
                raise CsvError(message, whole.end(), help)
            if text[at] == '"':
                raise CsvError("the quote at the beginning of this cell is never closed", at)
            help = 'put the cell between double quotes, and write "" for a quote in it'
            message = "there is a quote in a cell without quotes"
            raise CsvError(message, text.index('"', at), help)
        quoted, plain, end = cell.groups()
        record.append((plain if quoted is None else quoted.replace('""', '"'), at))
        at = cell.end()
        if end != ",":
            is_blank = len(record) == 1 and quoted is None and not plain
            if not is_blank:
                yield record
            record = []


class _Lines:
    """The lines of a text, for diagnostics about it."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._starts = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]

    def number(self, at: int) -> int:
        return bisect_right(self._starts, at)

    def diagnostic(
        self, code: str, message: str, at: int, width: int = 1, help: str = ""
    ) -> Diagnostic:
        line = self.number(at)
        start = self._starts[line - 1]
        source = re.split(r"[\r\n]", self._text[start : start + 10_000], maxsplit=1)[0]
        place = Place(line=line, column=at - start + 1, width=max(1, width), source=source)
        return Diagnostic(
            code=code,
            file=self._file,
            message=message,
            line=place.line,
            column=place.column,
            help=help,
            source=place.source,
            width=place.width,
        )
