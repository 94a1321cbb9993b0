"""The variables of a suite, put into the values that refer to them.

What a step captures stays a reference. What comes from the environment is known only when the
suite runs, so whoever refers to it cannot be carried over.
"""

from __future__ import annotations

import re

from mcptest.core.strict_json import dump_json
from mcptest.formats.suite_variables import is_source
from mcptest.migrate.references import escaped, unescaped
from mcptest.migrate.remarks import LeftBehindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SuiteValues"]

_REFERENCE = re.compile(r"(\$?)\$\{([^}]*)\}")


class SuiteValues:
    """What the names of a suite stand for."""

    def __init__(self, folder: str) -> None:
        self._known: dict[str, object] = {"CONFIG_DIR": folder}
        # The environment variable behind each name that has one; "" when it has a default, too.
        self.sources: dict[str, str] = {}

    def turn_to(self, folder: str) -> None:
        """What is read next stands in a file of this folder."""
        self._known["CONFIG_DIR"] = folder

    def read(self, variables: Mapping[str, object]) -> None:
        """Take in what stands under `variables`."""
        for name, value in variables.items():
            self.sources.pop(name, None)
            self._known.pop(name, None)
            if is_source(value):
                self.sources[name] = source_of(value)
                continue
            try:
                self._known[name] = unescaped(self.filled(value))
            except LeftBehindError:
                self.sources[name] = ""

    def filled(self, value: object) -> object:
        """The value with every variable put in; references to captures stay."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._as_text(key): self.filled(member) for key, member in value.items()}
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        return value

    def _text(self, text: str) -> object:
        whole = _REFERENCE.fullmatch(text)
        if whole and not whole[1] and whole[2] in self._known:
            return escaped(self._known[whole[2]])
        return self._as_text(text)

    def _as_text(self, text: str) -> str:
        return _REFERENCE.sub(self._replacement, text)

    def _replacement(self, found: re.Match[str]) -> str:
        name = found[2]
        if found[1]:
            return found[0]
        if name in self.sources:
            raise LeftBehindError(f"it uses {name}, which comes from the environment")
        if name not in self._known:
            return found[0]
        value = self._known[name]
        put = escaped(value if isinstance(value, str) else dump_json(value))
        assert isinstance(put, str)
        return put


def source_of(value: object) -> str:
    """The environment variable that a value comes from, "" when it has a default as well."""
    given = value if isinstance(value, dict) else {}
    name = given.get("secret_env") or given.get("from_env") or ""
    return "" if "default" in given else str(name)
