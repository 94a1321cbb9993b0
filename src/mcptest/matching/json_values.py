"""JSON values as matchers see them: types, equality, paths, numbers, parameters, near matches.

A path is what an author writes: `a.b[0]`, `items[*].id`, `meta["a key"]`. A key is a word or is
quoted, with double quotes as in JSON or with single quotes as it is. `*`, after a dot or in
brackets, is every element of an array or every member of an object.
"""

from __future__ import annotations

import json
import re

from mcptest.core.diagnostics import closest
from mcptest.core.strict_json import dump_json
from mcptest.core.text import EVERY, is_visible
from mcptest.core.value_class import ABSENT
from mcptest.matching.registry import CannotHoldError, ParameterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Exact = tuple[int, int]
    Steps = tuple[str | int, ...]

__all__ = [
    "any_string",
    "common_prefix",
    "describe_near_match",
    "describe_none",
    "exact_number",
    "first_difference",
    "hash_key",
    "is_equal",
    "is_less",
    "is_long",
    "is_multiple",
    "is_same_number",
    "is_whole",
    "json_type",
    "no_parameter",
    "parse_count",
    "parse_counts",
    "parse_exact",
    "parse_field_path",
    "parse_number",
    "parse_numbers",
    "parse_string",
    "pull",
    "read_path",
    "remainder",
    "render_exact",
    "subtract",
    "to_text",
    "type_name",
    "why_unmatched",
]

_TYPES = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}
_WORDS = {
    "string": "a string",
    "boolean": "a boolean",
    "number": "a number",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


def json_type(value: object) -> str:
    """The JSON type of a value; an integer is a number and null is not an object."""
    return _TYPES[type(value)]


def type_name(value: object) -> str:
    """The type of a value, as it reads in a sentence."""
    return "nothing" if value is ABSENT else _WORDS[json_type(value)]


def is_whole(value: object) -> bool:
    """True if a value is a number without a fraction; true is not a number."""
    return type(value) is int or (isinstance(value, float) and value.is_integer())


def to_text(value: object) -> str:
    """The text of a value: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else dump_json(value)


def describe_none(elements: list[object], does: str) -> str:
    """That no element of an array does it, in words."""
    if not elements:
        return "it is empty"
    count = len(elements)
    return f"it has {count:,} element{'s' if count != 1 else ''} and none {does}"


def is_equal(left: object, right: object) -> bool:
    """Equality as JSON has it: 1 equals 1.0, and neither equals true."""
    if json_type(left) != json_type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    return left == right


def hash_key(value: object) -> object:
    """Something to look a value up by: the same for two values exactly when they are equal."""
    if isinstance(value, dict):
        return "object", frozenset((key, hash_key(member)) for key, member in value.items())
    if isinstance(value, list):
        return "array", tuple(map(hash_key, value))
    return json_type(value), value


# Strings that differ


def common_prefix(left: str, right: str) -> int:
    """How many characters two strings share from the start."""
    low, high = 0, min(len(left), len(right))
    # Halving compares slices in C: a loop over 16 MB of text would take a second.
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def first_difference(left: str, right: str) -> tuple[int, int]:
    """The index in each of two strings where they begin to differ."""
    at = common_prefix(left, right)
    return at, at


# In longer strings, a message says where they begin to differ.
_LONG_CHARS = 300


def is_long(left: str, right: str) -> bool:
    """True if one of two strings is too long to see at once where they differ."""
    return max(len(left), len(right)) > _LONG_CHARS


# Paths into values

_KEY = r"""(?P<double>"(?:[^"\\]|\\.)*+")|'(?P<single>[^']*+)'"""
_STEP = (
    rf"""\[(?P<index>\d{{1,9}}|\*)\]|\[(?:{_KEY})\]|{_KEY.replace("P<", "P<bare_")}"""
    r"""|(?P<word>[^.\[\]"'][^.\[\]"]*+)"""
)


def read_path(text: str) -> Steps:
    """The steps of a path; ValueError says where it goes wrong."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        has_dot = bool(steps) and text[at] == "."
        at += has_dot
        found = re.compile(_STEP, re.DOTALL).match(text, at)
        # A dot precedes every key except the first, and no bracket.
        if found is None or (steps and has_dot == found[0].startswith("[")):
            raise ValueError(
                f"goes wrong at character {at + 1}" if at < len(text) else "ends too soon"
            )
        at = found.end()
        index, word = found["index"], found["word"]
        double = found["double"] or found["bare_double"]
        if "*" in (index, word):
            steps.append(EVERY)
        elif index:
            steps.append(int(index))
        elif double:
            try:
                # Mismatches show line breaks in keys as they are.
                steps.append(json.loads(double, strict=False))
            except ValueError:
                where = f"goes wrong in the quotes at character {found.start() + 1}"
                raise ValueError(where) from None
        else:
            single = found["single"]
            steps.append(word or (found["bare_single"] if single is None else single))
    return tuple(steps)


def parse_field_path(path: str) -> Steps | None:
    """The steps of a path, None when it is empty or cannot be read."""
    try:
        return read_path(path) or None
    except ValueError:
        return None


def pull(value: object, steps: Steps) -> tuple[object, str]:
    """The value at the steps, or ABSENT and why there is none; "*" gives a list."""
    for at, step in enumerate(steps):
        if step is EVERY:
            inner = _members(value)
            if inner is None:
                return ABSENT, f"there is {type_name(value)} where * wants an array"
            pulled = [pull(element, steps[at + 1 :])[0] for element in inner]
            # An element without the field becomes null, so that the others keep their index.
            return [None if element is ABSENT else element for element in pulled], ""
        if isinstance(value, dict) and isinstance(step, str):
            if step not in value:
                near = closest(step, value)
                return ABSENT, f'no key "{step}"' + (f'; there is "{near}"' if near else "")
            value = value[step]
        elif isinstance(value, list) and str(step).isdecimal() and len(str(step)) < 10:
            if int(step) >= len(value):
                return ABSENT, f"no element {int(step)} among {len(value)}"
            value = value[int(step)]
        else:
            return ABSENT, f'there is {type_name(value)} where "{step}" should be'
    return value, ""


def why_unmatched(value: object, steps: Steps) -> str:
    """Why a path with `*` leads to no value; "" when it leads to one.

    Such a path gives an empty list or one of nulls, which only looks like a value.
    """
    if EVERY not in steps:
        return ""
    at = steps.index(EVERY)
    rest, why = steps[at + 1 :], "there are no elements"
    for element in _members(pull(value, steps[:at])[0]) or ():
        found, missing = pull(element, rest)
        why = missing if found is ABSENT else why_unmatched(element, rest)
        if not why:
            return ""
    return why


def _members(value: object) -> list[object] | None:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else None


# Exact numbers

_NUMBER = r"\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?\s*"

# Converting longer texts takes long, and no test compares such numbers.
_MAX_NUMBER_CHARS = 400


def exact_number(value: object) -> Exact | None:
    """The value as an exact number, also of a string that is one; None when it is not a number."""
    kind = type(value)
    if kind is int:
        return value, 0  # type: ignore[return-value]  # it is an int
    if kind is float:
        return parse_exact(repr(value))
    return parse_exact(value) if isinstance(value, str) else None


def parse_exact(text: str) -> Exact | None:
    if len(text) > _MAX_NUMBER_CHARS:
        return None
    found = re.fullmatch(_NUMBER, text, re.ASCII)
    if found is None:
        return None
    sign, whole, fraction, power = found.groups("")
    if not whole and not fraction:
        return None
    mantissa = int(f"{sign}{whole}{fraction}")
    places = len(fraction) - int(power or 0)
    return (mantissa, places) if places >= 0 else (mantissa * 10**-places, 0)


def _level(left: Exact, right: Exact) -> tuple[int, int]:
    """Both as whole numbers of the same smallest unit."""
    return left[0] * 10 ** right[1], right[0] * 10 ** left[1]


def is_less(left: Exact, right: Exact) -> bool:
    one, other = _level(left, right)
    return one < other


def is_same_number(left: Exact, right: Exact) -> bool:
    one, other = _level(left, right)
    return one == other


def remainder(number: Exact, unit: Exact) -> Exact:
    """What is left of a number after taking away a unit as often as it goes."""
    one, other = _level(number, unit)
    return one % abs(other), number[1] + unit[1]


def is_multiple(number: Exact, unit: Exact) -> bool:
    return not remainder(number, unit)[0]


def subtract(left: Exact, right: Exact) -> Exact:
    one, other = _level(left, right)
    return one - other, left[1] + right[1]


def render_exact(number: Exact) -> str:
    """The number as a person writes it."""
    mantissa, places = number
    while places > 0 and mantissa % 10 == 0:
        mantissa, places = mantissa // 10, places - 1
    if abs(mantissa).bit_length() > 1000:
        return "a very large number"
    sign, digits = ("-" if mantissa < 0 else ""), str(abs(mantissa)).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else sign + digits


# Parameters of patterns


def parse_string(raw: str) -> str:
    if not raw:
        raise ParameterError("needs a string after the colon: without one it would always hold")
    return raw


def any_string(raw: str) -> str:
    return raw


def no_parameter() -> None:
    return None


def parse_count(raw: str) -> int:
    """How many of something there are."""
    if re.fullmatch(r"[0-9]{1,18}", raw.strip()):
        return int(raw)
    if re.fullmatch(r"-[0-9]+", raw.strip()):
        raise CannotHoldError(f"counts from 0, and nothing is {raw.strip()} long")
    raise ParameterError(f"needs a whole number, not {dump_json(raw)}")


def parse_counts(low: str, high: str) -> tuple[int, int]:
    counts = parse_count(low), parse_count(high)
    if counts[0] > counts[1]:
        raise CannotHoldError(_describe_reversed(low, high))
    return counts


def parse_number(raw: str) -> Exact:
    number = parse_exact(raw)
    if number is None:
        raise ParameterError(f"needs a number, not {dump_json(raw)}")
    return number


def parse_numbers(low: str, high: str) -> tuple[Exact, Exact]:
    numbers = parse_number(low), parse_number(high)
    if is_less(numbers[1], numbers[0]):
        raise CannotHoldError(_describe_reversed(low, high))
    return numbers


def _describe_reversed(low: str, high: str) -> str:
    low, high = low.strip(), high.strip()
    return f"goes from {low} down to {high}, where nothing lies; write {high}:{low}"


# Near matches

# Longer texts are not compared character by character.
_MAX_CHARS = 20_000


def describe_near_match(wanted: str, text: str, test: Callable[[str, str], bool]) -> str:
    """How `test(text, wanted)` could hold after all: a hint, or ""."""
    if max(len(wanted), len(text)) > _MAX_CHARS:
        return ""
    for even, hint in _WAYS:
        evened = even(wanted)
        # Where nothing is left to look for, everything holds.
        if (evened or not wanted) and test(even(text), evened):
            return hint + (_describe_code_points(wanted, text) if even is _visible_only else "")
    return ""


# So many characters may be written in another way at one place.
_MAX_APART = 8


def _describe_code_points(wanted: str, text: str) -> str:
    """The first code points in which two texts differ that look the same."""
    if _visible_only(wanted) != _visible_only(text):
        # One contains the other, and it is not known where.
        return ""
    pairs = enumerate(zip(wanted, text, strict=False))
    start = next((at for at, (one, other) in pairs if one != other), min(len(wanted), len(text)))
    left, right = wanted[start:], text[start:]
    sizes = ((size - more, more) for size in range(1, 2 * _MAX_APART) for more in range(size + 1))
    for mine, other in sizes:
        is_same_after = left[mine : mine + 1] == right[other : other + 1]
        if is_same_after and _visible_only(left[:mine]) == _visible_only(right[:other]):
            return f": {_code_points(left[:mine])} against {_code_points(right[:other])}"
    return f": {_code_points(left[:1])} against {_code_points(right[:1])}"


def _code_points(chars: str) -> str:
    return " ".join(f"U+{ord(char):04X}" for char in chars) or "nothing"


def _single_space(text: str) -> str:
    return " ".join(text.split())


def _visible_only(text: str) -> str:
    """Only what is seen of a text, in one spelling of it."""
    if text.isascii() and text.isprintable():
        return text
    # Only a failing test needs these tables.
    import unicodedata  # noqa: PLC0415

    plain = "".join(char if is_visible(char) or char in "\n\t" else "" for char in text)
    return unicodedata.normalize("NFC", plain)


_TYPEWRITTEN = str.maketrans("‘’‚“”„‐‑–—−", "''‚\"\"„-----")

_WAYS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.casefold, "differs only in case"),
    (_single_space, "differs only in white space"),
    (lambda text: "".join(text.split()), "differs only in white space"),
    (_visible_only, "differs only in characters that cannot be seen"),
    (lambda text: text.translate(_TYPEWRITTEN), "differs only in the kind of quotes or dashes"),
    (
        lambda text: _single_space(_visible_only(text).casefold()),
        "differs only in case and white space",
    ),
)
