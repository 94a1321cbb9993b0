"""Read the keys of a mapping, and complain about every one that is wrong.

A reader is given the keys there are; whatever else stands in the mapping is an
error with a suggestion, so nothing that was written is ever ignored.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import Diagnostic, PathDiagnostic, closest, find_abbreviation
from mcptest.core.secrets import LEAST_CHARS, why_not_blanked
from mcptest.formats.yaml.document import locate
from mcptest.formats.yaml.quick import MAX_DIAGNOSTICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.diagnostics import Severity
    from mcptest.formats.yaml.document import Document, Places
    from mcptest.formats.yaml.stream import Stream

    Steps = tuple[str | int, ...]

__all__ = [
    "MAX_DURATION_S",
    "Fields",
    "diagnose",
    "kind_of",
    "parse_duration",
    "point_at",
    "read_only",
    "read_skip",
    "read_tags",
    "warn_of_weak_secret",
]


_KINDS = {
    str: "text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    dict: "a mapping",
    list: "a list",
    type(None): "empty",
}


def kind_of(value: object) -> str:
    """What a value is, as an author of YAML would say it."""
    return _KINDS.get(type(value), "a tag")


class Fields:
    """One mapping of a file, read key by key."""

    def __init__(
        self, mapping: dict[str, object], steps: Steps, complaints: list[PathDiagnostic]
    ) -> None:
        self.mapping = mapping
        self.steps = steps
        self._complaints = complaints
        self._misspelt: set[str] = set()

    def complain(
        self,
        key: str,
        code: str,
        message: str,
        help: str = "",
        *,
        on_key: bool = True,
        severity: Severity = "error",
    ) -> None:
        steps = (*self.steps, key) if key else self.steps
        self._complaints.append(
            PathDiagnostic(
                code=code, message=message, help=help, steps=steps, on_key=on_key, severity=severity
            )
        )

    def at(self, steps: Steps) -> Fields:
        """A place further down, to complain about."""
        return Fields({}, (*self.steps, *steps), self._complaints)

    def replaced(self, mapping: dict[str, object]) -> Fields:
        """The same place with another mapping, whose keys stand where its own do."""
        other = Fields(mapping, self.steps, self._complaints)
        other._misspelt = self._misspelt
        return other

    def number(self, key: str, least: float, most: float) -> float | None:
        """The number at a key, None when there is none; an error when it is out of bounds."""
        if key not in self.mapping:
            return None
        value = self.mapping[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._wrong_type(key, "a number")
        elif not least <= value <= most:
            message = f'"{key}" must be from {least:g} to {most:g}'
            self.complain(key, "F009", message, on_key=False)
        else:
            return float(value)
        return None

    def require(self, keys: Iterable[str], where: str) -> None:
        for key in keys:
            # A key that is there under a wrong name has been complained about already.
            if key not in self.mapping and key not in self._misspelt:
                self.complain("", "F007", f'{where} needs the key "{key}"')

    def is_misspelt(self, key: str) -> bool:
        """Whether a complaint about another key has named this one as the right one."""
        return key in self._misspelt

    def refuse_unknown(
        self,
        known: Sequence[str],
        planned: Sequence[str],
        where: str,
        accepted: Sequence[str] = (),
    ) -> None:
        """An error for every key that is not known; a warning for one that is empty.

        What is `accepted` is let pass, and not recommended to anybody.
        """
        for key, value in self.mapping.items():
            if key in known or key in accepted:
                continue
            if key in planned:
                message = f'"{key}" is not supported by this version of mcptest'
                self.complain(key, "F010", message)
            elif value is None:
                message = f'"{key}" means nothing in {where}; it is empty, and is left out'
                self.complain(key, "W001", message, severity="warning")
            else:
                there_are = (*known, *planned)
                meant = closest(key, there_are) or find_abbreviation(key, there_are)
                self._misspelt.add(meant)
                question = f'; did you mean "{meant}"?' if meant else ""
                there = ", ".join(known)
                self.complain(
                    key, "F006", f'{where} has no key "{key}"{question}', f"there are: {there}"
                )

    def text(self, key: str, default: str = "") -> str:
        """The text at a key; an error when it is something else."""
        value = self.mapping.get(key, default)
        if isinstance(value, str):
            return value
        help = 'put it in quotes: "…"' if not isinstance(value, (dict, list)) else ""
        self._wrong_type(key, "text", help)
        return default

    def flag(self, key: str, default: bool) -> bool:
        value = self.mapping.get(key, default)
        if isinstance(value, bool):
            return value
        self._wrong_type(key, "true or false")
        return default

    def mapping_at(self, key: str) -> Fields | None:
        """The mapping at a key as a reader of its own, or None when there is none."""
        value = self.mapping.get(key)
        if isinstance(value, dict):
            return Fields(value, (*self.steps, key), self._complaints)
        if key in self.mapping:
            self._wrong_type(key, "a mapping")
        return None

    def list_at(self, key: str) -> list[object]:
        value = self.mapping.get(key, [])
        if isinstance(value, list):
            return value
        self._wrong_type(key, "a list")
        return []

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of texts at a key; an error for every item that is something else."""
        texts = []
        for index, item in enumerate(self.list_at(key)):
            if isinstance(item, str):
                texts.append(item)
            else:
                help = 'put it in quotes: "…"' if not isinstance(item, (dict, list)) else ""
                message = f'"{key}" must hold texts; number {index + 1} is {kind_of(item)}'
                self.at((key, index)).complain("", "F008", message, help, on_key=False)
        return tuple(texts)

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        value = self.mapping.get(key, default)
        if isinstance(value, str) and value in choices:
            return value
        message = f'"{key}" must be one of {", ".join(choices)}'
        self.complain(key, "F008", message, on_key=False)
        return default

    def whole_number(self, key: str, least: int, most: int, default: int) -> int:
        value = self.mapping.get(key, default)
        if type(value) is not int:
            self._wrong_type(key, "a whole number")
        elif not least <= value <= most:
            message = f'"{key}" must be from {least:,} to {most:,}'
            self.complain(key, "F009", message, on_key=False)
        else:
            return value
        return default

    def duration_s(self, key: str) -> float | None:
        """The length of time at a key in seconds, or None when there is none."""
        if key not in self.mapping:
            return None
        try:
            return parse_duration(self.mapping[key])
        except ValueError as error:
            self.complain(key, "F009", f'"{key}" {error}', on_key=False)
            return None

    def _wrong_type(self, key: str, wanted: str, help: str = "") -> None:
        seen = kind_of(self.mapping[key])
        message = f'"{key}" must be {wanted} and is {seen}'
        self.complain(key, "F008", message, help, on_key=False)


def diagnose(
    document: Document | Stream, complaints: Sequence[PathDiagnostic]
) -> tuple[Diagnostic, ...]:
    """The complaints with their places in the file, in the order of the file.

    Of very many only the first are shown, errors before warnings, and the rest is counted.
    """
    if not complaints:
        return ()
    shown = sorted(complaints, key=lambda complaint: complaint.severity)[:MAX_DIAGNOSTICS]
    # A stream knows its places; and whoever has none should not have to load its reader.
    places = document.places() if hasattr(document, "places") else locate(document)
    found = [point_at(complaint, document.file, places) for complaint in shown]
    found.sort(key=lambda diagnostic: (diagnostic.line, diagnostic.column))
    if hidden := len(complaints) - len(shown):
        message = f"there are {hidden:,} more like these in this file, which are not shown"
        last = found[-1]
        found.append(last.but(message=message, help="", line=0, source="", severity="warning"))
    return tuple(found)


def point_at(complaint: PathDiagnostic, file: str, places: Places) -> Diagnostic:
    """The complaint with its place in the file."""
    if complaint.on_key:
        place = places.key(complaint.steps)
    else:
        place = places.value(complaint.steps, complaint.offset, complaint.width)
    return Diagnostic(
        code=complaint.code,
        file=file,
        message=complaint.message,
        line=place.line,
        column=place.column,
        help=complaint.help,
        source=place.source,
        width=place.width,
        severity=complaint.severity,
    )


def warn_of_weak_secret(fields: Fields, key: str, name: str, value: str) -> None:
    """Warn if the value of the variable `name` at this key is too weak to be blanked."""
    reason = why_not_blanked(value)
    if value and reason:
        message = f"the value of {name!r} {reason}; whatever is written may hold it"
        help = f"a secret has at least {LEAST_CHARS} characters and is no everyday word"
        fields.complain(key, "W003", message, help, on_key=False, severity="warning")


# What an author can say about a test beside what it does: skip, only, tags.


# Words that other versions of YAML take for booleans; none of them is a reason.
_SWITCHES = frozenset(["yes", "no", "on", "off", "y", "n", "true", "false"])


def read_only(fields: Fields, key: str) -> bool:
    """Whether this test asks to be the only one; whoever does is warned."""
    is_only = fields.flag(key, False)
    if is_only:
        message = f'"{key}" leaves out all other tests of this file'
        fields.complain(key, "W002", message, "take it out before committing", severity="warning")
    return is_only


def read_tags(fields: Fields, key: str) -> tuple[str, ...]:
    if isinstance(fields.mapping[key], str):
        return (fields.text(key),)
    return fields.texts(key)


def read_skip(fields: Fields, key: str) -> str | None:
    """Why the test is skipped, "" without a reason; None when it is not."""
    value = fields.mapping[key]
    if isinstance(value, bool):
        return "" if value else None
    is_reason = isinstance(value, str) and value.strip()
    if is_reason and str(value).casefold() not in _SWITCHES:
        return str(value)
    message = f'"{key}" must be true, false or a reason'
    help = "in YAML 1.2 only true and false are booleans" if is_reason else ""
    fields.complain(key, "F008", message, help, on_key=False)
    return None


# Lengths of time as files and command lines write them: 500, "500ms", "2.5s", "1m".


_WRITTEN = r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|)\s*"
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 0.001}

MAX_DURATION_S = 24 * 3600.0


def parse_duration(value: object) -> float:
    """Seconds; a bare number means milliseconds. ValueError says what is wrong."""
    if isinstance(value, str):
        found = re.fullmatch(_WRITTEN, value)
        seconds = float(found[1]) * _UNITS_S[found[2]] if found else None
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        # Compared before it is divided: an integer may be too large for that.
        seconds = value / 1000 if value <= MAX_DURATION_S * 1000 else MAX_DURATION_S + 1
    else:
        seconds = None
    if seconds is None:
        raise ValueError('must be a number of milliseconds or a text such as "500ms" or "2s"')
    if not 0 < seconds <= MAX_DURATION_S:
        raise ValueError("must be more than 0 and at most 24 hours")
    return seconds
