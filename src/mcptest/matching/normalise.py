"""Make a value the same in every run: parts that vary by nature become placeholders.

Equal ids get equal numbers (`<uuid-1>`, `<uuid-2>`), in the order of the result, where the keys of
every object are sorted. Times get no number: whether two of them are equal is chance. Only what can
hardly be content is replaced: a time of this century, a path below a folder that belongs to a
machine, an id that looks random. Every expression here takes time proportional to the text.
"""

from __future__ import annotations

import re

from mcptest.core.record import Record
from mcptest.core.secrets import split_words
from mcptest.core.text import EVERY

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from mcptest.matching.regex import Expression
    from mcptest.matching.values import Steps

    # From where to where, and what is written there; a word without brackets gets a number.
    Span = tuple[int, int, str]

__all__ = [
    "IGNORED",
    "Replacement",
    "Rules",
    "drop_paths",
    "normalise",
    "spans_in",
]

IGNORED = "<ignored>"


class Replacement(Record):
    """An expression for a part of strings that varies, and its replacement."""

    expression: Expression
    text: str

    def applied(self, text: str) -> str:
        # An empty match is not replaced.
        return self.expression.compiled.sub(lambda found: self.text if found[0] else "", text)


class Rules(Record):
    """What an author wants for one value, in addition to the built-in rules.

    `ignored` are paths into the value: a member is removed, an element becomes a placeholder.
    """

    ignored: tuple[Steps, ...] = ()
    replaced: tuple[Replacement, ...] = ()


def normalise(value: object, rules: Rules) -> object:
    """The value without ignored parts, and with placeholders for parts that vary."""
    return _Normaliser(rules.replaced).value(drop_paths(value, rules.ignored), "")


def drop_paths(value: object, ignored: Iterable[Steps]) -> object:
    """The value without these places; only what leads to them is copied."""
    for steps in ignored:
        value = _without(value, steps)
    return value


def _without(value: object, steps: Steps) -> object:
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        named = value if step is EVERY else [step] if step in value else []
        if not rest:
            return {key: inner for key, inner in value.items() if key not in named}
        return value | {key: _without(value[key], rest) for key in named}
    if isinstance(value, list):
        copy = list(value)
        for index in _indexes(step, len(value)):
            copy[index] = _without(value[index], rest) if rest else IGNORED
        return copy
    return value


def _indexes(step: str | int, count: int) -> Iterable[int]:
    if step is EVERY:
        return range(count)
    is_index = isinstance(step, int) or (step.isdecimal() and step.isascii() and len(step) < 10)
    return [int(step)] if is_index and int(step) < count else []


class _Normaliser:
    """Normalises one value; equal originals get the same number."""

    def __init__(self, replaced: tuple[Replacement, ...]) -> None:
        self._replaced = replaced
        self._numbers: dict[str, dict[str, int]] = {}

    def value(self, value: object, key: str) -> object:
        if isinstance(value, str):
            return self._text(self._with_replacements(value), key)
        if isinstance(value, dict):
            return self._mapping(value)
        if isinstance(value, list):
            return [self.value(inner, key) for inner in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return number_placeholder(value, key) or value
        return value

    def _mapping(self, mapping: dict[str, object]) -> dict[str, object]:
        """Sorted by key; keys that vary come last, in their own order."""
        varying = [key for key in mapping if spans_in(key)]
        written: dict[str, object] = {}
        for key in (*sorted(mapping.keys() - {*varying}), *varying):
            name = self._text(key, "")
            # Two keys may have the same placeholder, and neither may get lost.
            if name in written or (name != key and name in mapping):
                name = key
            written[name] = self.value(mapping[key], key)
        return written

    def _with_replacements(self, text: str) -> str:
        for each in self._replaced:
            text = each.applied(text)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            # Replacements may have brought the halves of a surrogate pair together.
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return text

    def _text(self, text: str, key: str) -> str:
        pieces: list[str] = []
        at = 0
        for start, end, shown in spans_in(text, key):
            placeholder, original = shown, text[start:end]
            if not shown.startswith("<"):
                numbers = self._numbers.setdefault(shown, {})
                known = original.lower() if shown == "uuid" else original
                placeholder = f"<{shown}-{numbers.setdefault(known, len(numbers) + 1)}>"
            pieces += (text[at:start], placeholder)
            at = end
        return "".join(pieces) + text[at:]


_UUID = re.compile(
    r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![0-9A-Za-z])"
)
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d"
_TIMES = (
    re.compile(
        rf"(?<!\d)(?<!\d-)20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ]{_CLOCK}"
        r"(?::[0-6]\d(?:[.,]\d{1,9})?)?(?:[Zz]| ?[+-]\d\d:?\d\d| (?:UTC|GMT|Z))?(?![\w:])",
        re.ASCII,
    ),
    re.compile(r"(?<!\w)20\d{6}T\d{6}(?:\.\d{1,9})?(?:Z|[+-]\d{4})?(?!\w)", re.ASCII),
    # As in mail and HTTP, and as `date` prints it.
    re.compile(
        r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:\d{1,2} [A-Z][a-z]{2} 20\d\d"
        rf" {_CLOCK}:\d\d(?: (?:GMT|UTC|[+-]\d{{4}}))?"
        rf"|[A-Z][a-z]{{2}} [ \d]\d {_CLOCK}:\d\d(?: [A-Z]{{3,4}})? 20\d\d)\b",
        re.ASCII,
    ),
)
_UNIT = r"(?:ns|µs|us|ms|s|secs?|seconds?|milliseconds?)"
_DURATION = re.compile(
    r"\b(?:took|elapsed|(?:finished|completed|done) in)[ :=]{1,3}"
    rf"(\d{{1,18}}(?:\.\d{{1,18}})? ?{_UNIT})\b",
    re.ASCII | re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?<= at )0x[0-9a-fA-F]{6,16}\b")
_PORT = re.compile(
    r"(?<![\w.-])(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(\d{5})(?![\w.])", re.ASCII
)
# Ports that the system assigns; lower ones were chosen by someone.
_ANY_PORT = range(32768, 65536)

# A folder or a name in a path, without characters that end a path in prose.
_NAME = r"""[^\s/\\:"'`<>|*?,;()\[\]{}]++"""
_BEFORE_PATH = r"(?<![\w./~@<>-])"
_HOMES = r"(?:home|Users)"
_ROOTS = (
    r"(?:tmp|private|root|mnt|media|Volumes|workspaces?|builds|github|__w|nix/store"
    r"|var/(?:folders|tmp|lib|task)|opt/hostedtoolcache|usr/(?:local|lib))"
)
_POSIX = re.compile(
    rf"{_BEFORE_PATH}/(?:{_HOMES}/{_NAME}(?:/(?:{_NAME}/)*)?|{_ROOTS}/(?:{_NAME}/)*)"
)
# In JSON inside a string, each backslash is doubled.
_SLASH = r"(?:\\{1,2}|/)"
_WINDOWS = re.compile(
    rf"(?<![A-Za-z0-9])[A-Za-z]:(?:{_SLASH}Users{_SLASH}{_NAME}(?:{_SLASH}(?:{_NAME}{_SLASH})*)?"
    rf"|{_SLASH}(?:{_NAME}{_SLASH})+)"
)
_URI_NAME = r"""[^\s/\\"'`<>|*?,;()\[\]{}]++"""
_FILE_URI = re.compile(
    rf"(?i)\bfile://(/?{_HOMES}/{_URI_NAME}(?:/(?:{_URI_NAME}/)*)?|/?(?:{_URI_NAME}/)+)"
)
# Names that programs give to temporary files and folders.
_TEMPORARY = re.compile(
    r"tmp[a-z0-9_]{8}(?!\w)|tmp\.[A-Za-z0-9]{10}(?!\w)|pytest-(?:of-\w+|\d+)(?!\w)"
    r"|[A-Za-z][\w.]{0,40}-(?=[A-Za-z]*(?:[0-9]|[a-z][A-Z]))[A-Za-z0-9]{6}(?![\w.-])",
    re.ASCII,
)
_IN_TEMPORARY = re.compile(r"(?i)/tmp/|/var/folders/|[\\/]temp[\\/]")

# A member of JSON inside a string.
_MEMBER = re.compile(
    r'"([A-Za-z_][\w.-]{0,63})"\s{0,8}:\s{0,8}(?:"([^"\\\n]{1,500})"|(-?\d{1,19}(?:\.\d{1,9})?)(?![\w.]))',
    re.ASCII,
)

_ID_WORDS = frozenset(["guid", "id", "ids", "nonce", "ulid", "uuid"])
_TIME_WORDS = frozenset(
    [
        *("at", "atime", "birthtime", "created", "ctime", "date", "datetime", "epoch", "exp"),
        *("expiration", "expires", "expiry", "finished", "iat", "modified", "mtime", "nbf"),
        *("now", "since", "started", "time", "timestamp", "ts", "until", "updated"),
    ]
)
_MEASURED_WORDS = frozenset(["elapsed", "latency", "took", "uptime"])
_UNIT_WORDS = frozenset(
    [
        *("micros", "millis", "milliseconds", "ms", "nanos", "ns", "s", "sec", "seconds", "secs"),
        *("unix", "us", "utc"),
    ]
)
_FOLDER_WORDS = frozenset(
    ["cwd", "dir", "directory", "filename", "filepath", "folder", "workdir", "workspace"]
)
_PATH_WORDS = frozenset(["file", "path"])
_WHOLE_PATH = re.compile(r"(?:/|[A-Za-z]:[\\/])[^\n\"<>|*?]*[\\/]")
# Between the years 2001 and 2065.
_EPOCHS = (
    ("<epoch>", range(10**9, 3 * 10**9)),
    ("<epoch-ms>", range(10**12, 3 * 10**12)),
    ("<epoch-us>", range(10**15, 3 * 10**15)),
    ("<epoch-ns>", range(10**18, 3 * 10**18)),
)


def spans_in(text: str, key: str = "") -> list[Span]:
    """The parts of a string that vary, in order and without overlaps."""
    by_key = list(_spans_by_key(text, key))
    if by_key and by_key[0][:2] == (0, len(text)):
        return by_key
    found = [*by_key, *_path_spans(text), *_other_spans(text)]
    found += ((*each.span(), "uuid") for each in _UUID.finditer(text) if len({*each[0]}) > 2)
    found += _member_spans(text)
    # Of those that overlap, the one that begins first is kept, or the longer one.
    kept: list[Span] = []
    for span in sorted(found, key=lambda span: (span[0], -span[1])):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def number_placeholder(value: float, key: str) -> str:
    """The placeholder for a number that varies, "" if it does not."""
    words = _key_words(key)
    if words[-1:] == ("pid",) or words[-1:] == ("ppid",):
        return "<pid>"
    if words[-1:] and words[-1] in _MEASURED_WORDS:
        return "<duration>"
    if not words or words[-1] not in _TIME_WORDS:
        return ""
    return next((shown for shown, epoch in _EPOCHS if int(value) in epoch), "")


def _key_words(key: str) -> tuple[str, ...]:
    """The words of a key without a unit at its end."""
    words = split_words(key)
    while len(words) > 1 and words[-1] in _UNIT_WORDS:
        words = words[:-1]
    return words


# Parts that vary according to their key


def _spans_by_key(text: str, key: str) -> Iterator[Span]:
    words = _key_words(key)
    if not words or not text or len(text) > 1000:
        return
    if words[-1] in _ID_WORDS:
        # A prefix such as `user_` is kept.
        prefix = re.match("[a-z]{2,10}[_-]", text)
        start = prefix.end() if prefix else 0
        if _is_random(text[start:], least=14 if prefix else 16):
            yield start, len(text), "id"
    elif words[-1] in _TIME_WORDS:
        shown = number_placeholder(int(text), key) if re.fullmatch("[0-9]{10,19}", text) else ""
        if shown:
            yield 0, len(text), f"{shown[:-1]}-text>"
    elif words[-1] in _MEASURED_WORDS:
        if re.fullmatch(rf"\d+(?:\.\d+)? ?{_UNIT}", text, re.ASCII):
            yield 0, len(text), "<duration>"
    elif words[-1] in _FOLDER_WORDS or words[-1] in _PATH_WORDS:
        folder = _WHOLE_PATH.match(text)
        is_known = _POSIX.match(text) or _WINDOWS.match(text)
        if not folder or is_known or folder.end() == 1:
            return
        # Under `path` it needs a file extension: it may be a route.
        if words[-1] in _FOLDER_WORDS or re.search(r"\.\w{1,8}\Z", text[folder.end() :]):
            yield 0, folder.end(), "<path>/"


def _is_random(text: str, least: int) -> bool:
    """True if a string looks random: too long and too mixed to be words."""
    words = split_words(text)
    is_possible = words and re.fullmatch("[A-Za-z0-9+/_-]+={0,2}", text)
    if len(text) < least or not is_possible or _UUID.fullmatch(text):
        return False
    if re.fullmatch("[0-9a-f]{16,}|[0-9A-F]{16,}", text):
        return not text.isdecimal() and not text.isalpha()
    if re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", text):
        return True
    if text in (text.lower(), text.upper()):
        runs = len(re.findall("[0-9]+", text))
        return text.isalnum() and (runs >= 2 if len(text) >= 24 else runs >= 3 and len(text) >= 20)
    is_named = all(re.fullmatch(_NAMED, piece) for piece in re.split("[_-]", text))
    return not is_named and sum(map(len, words)) <= 4 * len(words)


# One word after the other, each with a capital, and a number at the end; or one of both.
_NAMED = "(?:[A-Z]?[a-z]++)*+[0-9]*|[A-Z]+[0-9]*"


# Parts that vary anywhere in a string


def _path_spans(text: str) -> Iterator[Span]:
    """The folders of paths, and their names if these are temporary ones."""
    if "/" not in text and "\\" not in text:
        return
    places = [found.span() for each in (_POSIX, _WINDOWS) for found in each.finditer(text)]
    places += (found.span(1) for found in _FILE_URI.finditer(text))
    for start, end in places:
        has_name = text[end - 1] in "/\\"
        yield start, end, "<path>/" if has_name else "<path>"
        if has_name and _IN_TEMPORARY.search(text, start, end):
            name = _TEMPORARY.match(text, end)
            if name:
                yield (*name.span(), "<temp>")


def _other_spans(text: str) -> Iterator[Span]:
    """Times, ports, addresses in memory and durations."""
    for expression in _TIMES if ":" in text or "T" in text else ():
        for found in expression.finditer(text):
            yield (*found.span(), "<time>")
    for found in _PORT.finditer(text) if ":" in text else ():
        if int(found[1]) in _ANY_PORT:
            yield (*found.span(1), "port")
    for found in _ADDRESS.finditer(text) if "0x" in text else ():
        yield (*found.span(), "<address>")
    for found in _DURATION.finditer(text):
        yield (*found.span(1), "<duration>")


def _member_spans(text: str) -> Iterator[Span]:
    for found in _MEMBER.finditer(text) if '"' in text else ():
        key, inner, digits = found.groups()
        if inner is not None:
            first = found.start(2)
            for start, end, shown in _spans_by_key(inner, key):
                yield first + start, first + end, shown
        elif shown := number_placeholder(float(digits), key):
            yield (*found.span(3), shown)
