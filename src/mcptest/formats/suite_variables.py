"""`variables:` of a suite, and `${name}` wherever a value may stand.

    variables: {order: A-17, region: {from_env: REGION, default: eu}, token: {secret_env: TOKEN}}

A text that is nothing but `${order}` becomes the value itself, whatever its type. Secrets are
named by environment variable, never written, and blanked wherever they would be.
"""

from __future__ import annotations

import re

from mcptest.core.secret_names import is_secret
from mcptest.core.suggest import closest
from mcptest.formats.templates import NAME, filled, references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest.formats.fields import Fields

__all__ = ["SOURCE_KEYS", "Variables"]

# What a value that comes from the environment is written with.
SOURCE_KEYS = ("from_env", "secret_env", "default")


class Variables:
    """The values that a file may refer to, and which of them are secrets."""

    def __init__(self, environment: Mapping[str, str], given: Mapping[str, object]) -> None:
        self._environment = environment
        self.values: dict[str, object] = dict(given)
        self.secrets: list[str] = []

    def read(self, fields: Fields) -> None:
        """Take in what stands under `variables`, each after those that it refers to."""
        for name, value in fields.mapping.items():
            if not re.fullmatch(NAME, name):
                message = f"{name!r} is no name: letters, digits and _ only, not first a digit"
                fields.complain(name, "F009", message)
            elif is_source(value):
                self.values[name] = self.from_environment(fields, name)
            else:
                self.values[name] = self.fill(value, fields.at((name,)))

    def from_environment(self, fields: Fields, key: str) -> str:
        """The value of `{from_env: NAME, default: …}` or `{secret_env: NAME}`."""
        inner = fields.mapping_at(key)
        assert inner is not None, "asked only where there is a mapping"
        inner.refuse_unknown(SOURCE_KEYS, (), "a value from the environment")
        sources = [source for source in SOURCE_KEYS[:2] if source in inner.mapping]
        if len(sources) > 1:
            inner.complain(sources[1], "F003", "from_env and secret_env cannot both be meant")
        name = inner.text(sources[0])
        value = self._environment.get(name)
        if value is None and "default" in inner.mapping and sources[0] == "from_env":
            return inner.text("default")
        if "default" in inner.mapping and sources[0] == "secret_env":
            message = "a secret has no default: it would be written in this file"
            inner.complain("default", "F006", message)
        if value is None:
            message = f"the environment variable {name!r} is not set"
            inner.complain(sources[0], "F016", message, f"export {name}=… before the run")
            return ""
        if value and (sources[0] == "secret_env" or is_secret(name, value)):
            self.secrets.append(value)
        return value

    def fill(self, value: object, place: Fields, more: Iterable[str] = ()) -> object:
        """The value with its references replaced; complaints about those nobody knows.

        `more` are names that become known later; who uses them must be filled again.
        """
        known = {*self.values, *more}
        is_whole = True
        for name, steps in references(value):
            if name not in known:
                self._complain(name, place.at(steps), known)
                is_whole = False
        try:
            return filled(value, self.values) if is_whole else value
        except KeyError:
            return value
        except ValueError as error:
            place.complain("", "F003", str(error))
            return value

    def _complain(self, name: str, place: Fields, known: set[str]) -> None:
        meant = closest(name, known)
        question = f"; did you mean ${{{meant}}}?" if meant else ""
        message = f"nothing is known as {name!r}{question}"
        there = ", ".join(sorted(known)) or "none"
        help = f"there are: {there}; to mean this very text, write $${{{name}}}"
        place.complain("", "F020", message, help, on_key=False)


def is_source(value: object) -> bool:
    """Whether a value says that it comes from the environment."""
    return isinstance(value, dict) and ("from_env" in value or "secret_env" in value)
