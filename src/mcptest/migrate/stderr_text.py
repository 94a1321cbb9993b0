"""What a test expects on stderr, in either format.

A Conductor file looks at stderr without the white space around it, a suite at all of it. So only
what comes to the same for both is carried over: texts and expressions that begin and end with
something to be seen, or say themselves that white space may stand there.
"""

from __future__ import annotations

import re

from mcptest.matching.patterns import PREFIX
from mcptest.migrate.pattern_words import NEGATION, is_pattern
from mcptest.migrate.remarks import LeftBehindError
from mcptest.migrate.tag_words import regex_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.migrate.pattern_words import Matcher, Setting

__all__ = ["EMPTY", "stderr_matcher", "stderr_wish"]

EMPTY = "toBeEmpty"
_SOMETHING = r"\S"
_LEAD, _TAIL = r"^\s*", r"\s*$"

# One character that is neither white space nor has a meaning of its own, or an escape for one.
_SOLID = r"(?:[A-Za-z0-9_\-:,;!\"'/<>=@#%&~`]|\\[dw.\[\]()*+?^$|{}\\/-])"
_INNER = r"(?:[^\\^$|()]|\\[^bBAZzk0-9])*?"
_TRIMMED = rf"{_SOLID}(?![?*{{])(?:{_INNER}{_SOLID})?\+?"
_SPACE = "stderr is looked at with the white space around it in one format and without in the other"


def stderr_matcher(wanted: str, setting: Setting) -> Matcher:
    """The matcher of a suite for what a Conductor file expects on stderr."""
    if wanted == EMPTY:
        return {"not": {"regex": _SOMETHING}}
    if setting.has_references and "${" in wanted:
        raise LeftBehindError("a captured value is expected on stderr")
    text = wanted.strip()
    if not text:
        return stderr_matcher(EMPTY, setting)
    if not is_pattern(text):
        return {"regex": f"{_LEAD}{regex_text(text)}{_TAIL}"}
    body = text.removeprefix(PREFIX)
    matcher = _of_pattern(body.removeprefix(NEGATION), setting)
    return {"not": matcher} if body.startswith(NEGATION) else matcher


def _of_pattern(body: str, setting: Setting) -> Matcher:
    name, _, rest = body.partition(":")
    if not setting.registry.find(name):
        return {"regex": _trimmed_regex(body)}
    if name == "regex":
        return {"regex": _trimmed_regex(rest)}
    is_solid = rest == rest.strip()
    words: dict[str, Matcher] = {
        "contains": {"contains": rest},
        "containsIgnoreCase": {"icontains": rest},
        "startsWith": {"regex": f"{_LEAD}{regex_text(rest)}"},
        "endsWith": {"regex": f"{regex_text(rest)}{_TAIL}"},
        "stringNotEmpty": {"regex": _SOMETHING},
        "notEmpty": {"regex": _SOMETHING},
        "stringEmpty": {"not": {"regex": _SOMETHING}},
        "empty": {"not": {"regex": _SOMETHING}},
    }
    if name not in words or not is_solid:
        raise LeftBehindError(_SPACE)
    return words[name]


def _trimmed_regex(source: str) -> str:
    """An expression that finds in the whole of a text what this one finds in its inside."""
    begins, ends = source.startswith("^"), _ends_at_the_end(source)
    middle = source[begins : len(source) - ends]
    if not re.fullmatch(_TRIMMED, middle):
        raise LeftBehindError(_SPACE)
    return f"{_LEAD if begins else ''}{middle}{_TAIL if ends else ''}"


def _ends_at_the_end(source: str) -> bool:
    return source.endswith("$") and not source.endswith("\\$")


def stderr_wish(matcher: Matcher) -> str:
    """What a Conductor file expects on stderr, for the matcher of a suite."""
    if len(matcher) != 1:
        raise LeftBehindError("a Conductor file expects one thing of stderr")
    word, value = next(iter(matcher.items()))
    if word == "not" and isinstance(value, dict):
        return EMPTY if value == {"regex": _SOMETHING} else _negated(stderr_wish(value))
    text = str(value)
    if word in ("contains", "icontains") and isinstance(value, str) and text == text.strip():
        name = "contains" if word == "contains" else "containsIgnoreCase"
        return f"{PREFIX}{name}:{text}"
    if word == "regex" and (text == _SOMETHING or _is_trimmed(text)):
        return f"{PREFIX}regex:{text}"
    raise LeftBehindError(_SPACE)


def _is_trimmed(source: str) -> bool:
    inner = source.removeprefix(_LEAD).removesuffix(_TAIL)
    return re.fullmatch(_TRIMMED, inner) is not None


def _negated(wish: str) -> str:
    body = wish.removeprefix(PREFIX)
    if wish == EMPTY or body.startswith(NEGATION):
        raise LeftBehindError("a pattern can be negated once")
    return f"{PREFIX}{NEGATION}{body}"
