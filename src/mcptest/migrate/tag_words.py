"""`!!re` and the other tags of case files, as matchers and captures of a suite."""

from __future__ import annotations

import re

from mcptest.matching.tags import literal_parts
from mcptest.migrate.references import escaped
from mcptest.migrate.remarks import LeftBehindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.stream import Tagged
    from mcptest.migrate.pattern_words import Matcher

__all__ = ["ANYTHING", "TagWords", "regex_text"]

ANYTHING: Matcher = {"any": [{"exists": True}, {"exact": None}]}
_SPECIAL = r"[\\^$.|?*+()\[\]{}]"


class TagWords:
    """The tags of one case. `bound` are the names that its earlier messages have bound.

    What a message binds and somebody uses becomes one of its `captures`.
    """

    def __init__(self, bound: tuple[str, ...] = (), used: tuple[str, ...] = ()) -> None:
        self._bound = bound
        self._used = used
        self.captures: dict[str, str] = {}

    def matcher_of(self, tagged: Tagged, target: str) -> Matcher | None:
        """What must hold at the target; None where the capture says all there is to say."""
        if tagged.tag == "bind" and tagged.text in self._used:
            self.captures[tagged.text] = target
            return None
        if tagged.tag == "ref":
            return {"exact": self.reference(tagged.text)}
        if tagged.tag == "type":
            return {"type": tagged.text}
        if tagged.tag == "re":
            return {"type": "string", "regex": escaped(tagged.text)}
        if tagged.tag == "ere":
            return {"type": "string", "regex": escaped(_whole(tagged.text))}
        return dict(ANYTHING)

    def reference(self, name: str) -> str:
        """The value of a name, as a suite refers to it."""
        if name not in self._bound:
            raise LeftBehindError(f"the value of {name} is bound by another case or message")
        return f"${{{name}}}"


def regex_text(text: str) -> str:
    """A regular expression for this very text."""
    return re.sub(_SPECIAL, r"\\\g<0>", text)


def _whole(text: str) -> str:
    """The regular expression that an `!!ere` text stands for."""
    parts = literal_parts(text)
    spelt = [f"(?:{each})" if at % 2 else regex_text(each) for at, each in enumerate(parts)]
    return f"^{''.join(spelt)}$"
