"""`variables:` of a suite, and `${name}` wherever a value may stand.

    variables: {order: A-17, region: {from_env: REGION, default: eu}, token: {secret_env: TOKEN}}

A text that is nothing but `${order}` becomes the value itself, whatever its type. Secrets are
named by environment variable, never written, and blanked wherever they would be.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import Complaint
from mcptest.core.secrets import is_secret
from mcptest.core.strict_json import dump_json
from mcptest.core.suggest import closest
from mcptest.formats.fields import Fields, warn_of_weak_secret
from mcptest.formats.suite_sizes import ONE_VALUE, WHOLE_FILE, Size, TooLargeError, size_put_in
from mcptest.formats.templates import NAME, filled, references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import TypeGuard

    from mcptest.core.diagnostics import Diagnostic

    Steps = tuple[str | int, ...]

__all__ = ["CONFIG_DIR", "SOURCE_KEYS", "Variables", "is_source", "text_of"]

# What a value that comes from the environment is written with.
SOURCE_KEYS = ("from_env", "secret_env", "default")

# The folder of the file that says it; no file can set it.
CONFIG_DIR = "CONFIG_DIR"

_UNCLOSED = r"\$\{[^}]*\Z"

# Stands for the value of a variable that the environment does not have.
_STAND_IN = "…"

# The same where only ASCII may stand.
_STAND_IN_TEXT = "not-set"


class Variables:
    """The values that a file may refer to, and which of them are secrets."""

    def __init__(self, environment: Mapping[str, str], folder: str, is_whole: bool = True) -> None:
        self._environment = environment
        # Whether all that could set a value has been read.
        self._is_whole = is_whole
        self.values: dict[str, object] = {CONFIG_DIR: folder}
        self.secrets: list[str] = []
        # Names that will be known further down in the file.
        self._later: frozenset[str] = frozenset()
        self._put_in = Size()
        self._is_full = False
        # What the environment does not have: for each value, and what was asked for of late.
        self._unset: dict[str, tuple[Diagnostic, ...]] = {}
        self._asked: dict[Diagnostic, None] = {}
        self._point: Callable[[Complaint], Diagnostic] | None = None

    def turn_to(self, folder: str, point: Callable[[Complaint], Diagnostic]) -> None:
        """What is read next stands in a file of this folder, whose places `point` knows."""
        self.values[CONFIG_DIR] = folder
        self._point = point

    def asked(self) -> tuple[Diagnostic, ...]:
        """What the environment would have to have for what was read since the last question."""
        found = tuple(self._asked)
        self._asked.clear()
        return found

    def read(self, fields: Fields) -> None:
        """Take in what stands under `variables`, each after those that it refers to."""
        names = list(fields.mapping)
        for index, name in enumerate(names):
            self._later = frozenset(names[index:]) - self.values.keys()
            if not re.fullmatch(NAME, name):
                message = f"{name!r} is no name: letters, digits and _ only, not first a digit"
                fields.complain(name, "F009", message)
            elif name == CONFIG_DIR:
                message = f"{CONFIG_DIR} is the folder of the file, and cannot be set"
                fields.complain(name, "F003", message)
            else:
                self.asked()
                self.values[name] = self._value(fields, name)
                self._unset[name] = self.asked()
        self._later = frozenset()

    def _value(self, fields: Fields, name: str) -> object:
        value = fields.mapping[name]
        if is_source(value):
            return self.from_environment(fields, name)
        key = next((key for key in value if key != "default"), "") if _may_be_source(value) else ""
        meant = closest(key, SOURCE_KEYS[:2])
        if meant:
            message = f'a value from the environment has no key "{key}"; did you mean "{meant}"?'
            fields.at((name, key)).complain("", "F006", message)
        return self.fill(value, fields.at((name,)))

    def from_environment(self, fields: Fields, key: str) -> str:
        """The value of `{from_env: NAME, default: …}` or `{secret_env: NAME}`."""
        inner = fields.mapping_at(key)
        assert inner is not None, "asked only where there is a mapping"
        inner.refuse_unknown(SOURCE_KEYS, (), "a value from the environment")
        source, *others = [each for each in SOURCE_KEYS[:2] if each in inner.mapping]
        if others:
            inner.complain(others[0], "F003", "from_env and secret_env cannot both be meant")
        default = self._default(inner, source)
        name = inner.text(source)
        if not name:
            if inner.mapping[source] == "":
                inner.complain(source, "F009", f'"{source}" is empty', on_key=False)
            return ""
        value = self._environment.get(name)
        if value is None:
            if default is None:
                self._miss(name, (*inner.steps, source))
            return f"{_STAND_IN}{name}" if default is None else default
        if value and (source == "secret_env" or is_secret(name, value)):
            self.secrets.append(value)
            warn_of_weak_secret(inner, source, name, value)
        return value

    def sent_from_environment(self, fields: Fields, key: str) -> str:
        """The same for a header, where a value that is not known must be one that could stand."""
        value = self.from_environment(fields, key)
        return _STAND_IN_TEXT if value.startswith(_STAND_IN) else value

    def secret(self, fields: Fields, key: str) -> str:
        """The value of the variable of the environment that is named at a key."""
        name = fields.text(key)
        if not name:
            if fields.mapping[key] == "":
                fields.complain(key, "F009", f'"{key}" is empty', on_key=False)
            return ""
        value = self._environment.get(name)
        if not value:
            # Nobody is known by an empty credential.
            self._miss(name, (*fields.steps, key), is_empty=value == "")
            return _STAND_IN_TEXT
        self.secrets.append(value)
        warn_of_weak_secret(fields, key, name, value)
        return value

    def _miss(self, name: str, steps: Steps, *, is_empty: bool = False) -> None:
        """A variable that is not set is a mistake only for those who are run and use it."""
        # Whoever starts no server has every variable, and no value for it.
        if (name in self._environment and not is_empty) or self._point is None:
            return
        complaint = Complaint(
            code="F016",
            message=f"the environment variable {name!r} is {'empty' if is_empty else 'not set'}",
            help=f"export {name}=… before the run",
            steps=steps,
            on_key=True,
        )
        self._asked[self._point(complaint)] = None

    def _default(self, fields: Fields, source: str) -> str | None:
        if "default" not in fields.mapping:
            return None
        if source == "secret_env":
            message = "a secret has no default: it would be written in this file"
            fields.complain("default", "F006", message)
            return None
        return fields.text("default")

    def fill(self, value: object, place: Fields, more: Collection[str] = ()) -> object:
        """The value with its references replaced; complaints about those nobody knows.

        `more` are names that become known later; who uses them must be filled again.
        """
        known = {*self.values, *more}
        is_whole = True
        for name, steps in references(value):
            if name not in more:
                self._asked |= dict.fromkeys(self._unset.get(name, ()))
            if name not in known:
                is_whole = False
                if self._is_whole:
                    self._complain(name, place.at(steps), known)
        for steps in _unclosed(value):
            message = "a ${ that is never closed is taken as it stands"
            place.at(steps).complain("", "W001", message, on_key=False, severity="warning")
        try:
            return self._filled(value, place) if is_whole else value
        except KeyError:
            return value
        except ValueError as error:
            place.complain("", "F003", str(error))
            return value

    def has_room(self, value: object, values: Mapping[str, object], place: Fields) -> bool:
        """Whether these values may be put in; a complaint about the first that is too much."""
        if self._is_full:
            return False
        try:
            size_put_in(value, values, ONE_VALUE)
            self._put_in = size_put_in(value, values, WHOLE_FILE, self._put_in)
        except TooLargeError as error:
            # With all that came before, everything else would be too much as well.
            self._is_full = error.is_of_all
            message = str(error)
            if place.steps[:1] == ("variables",) and not error.is_of_all:
                message = error.about(repr(place.steps[1]))
            place.at(error.steps).complain("", "F004", message, on_key=False)
            return False
        return True

    def _filled(self, value: object, place: Fields) -> object:
        return filled(value, self.values) if self.has_room(value, self.values, place) else value

    def text(self, value: object, place: Fields) -> object:
        """The same where a text is wanted: a reference alone is put as text, too."""
        return text_of(value, self.fill(value, place))

    def _complain(self, name: str, place: Fields, known: set[str]) -> None:
        meant = closest(name, known)
        question = f"; did you mean ${{{meant}}}?" if meant else ""
        message = f"nothing is known as {name!r}{question}"
        if name in self._later:
            message = f"{name!r} is set further down; a value is known only below the place"
        there = ", ".join(sorted(known)) or "none"
        help = f"there are: {there}; to mean this very text, write $${{{name}}}"
        place.complain("", "F020", message, help, on_key=False)


def text_of(written: object, value: object) -> object:
    """What became of a text, as a text; of anything else, as it is."""
    return dump_json(value) if isinstance(written, str) and not isinstance(value, str) else value


def is_source(value: object) -> bool:
    """Whether a value says that it comes from the environment."""
    return isinstance(value, dict) and ("from_env" in value or "secret_env" in value)


def _may_be_source(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a mapping could be meant as a source, had it the right key."""
    return isinstance(value, dict) and (len(value) == 1 or (len(value) == 2 and "default" in value))


def _unclosed(value: object, steps: Steps = ()) -> Iterator[Steps]:
    """Where a reference is begun and never ended."""
    if isinstance(value, str):
        if "${" in value and re.search(_UNCLOSED, value):
            yield steps
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _unclosed(member, (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unclosed(item, (*steps, index))
