"""What rules of several families look at: results, what they list, blocks of content, and the
syntax of URIs, URI templates, URLs, base64, media types and dates."""

from __future__ import annotations

import binascii
import re

from mcptest.core.coverage import KINDS
from mcptest.rules.rule import collect, members, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcptest.rules.rule import Entry, EntryCheck, Facts, Findings, Members

    # Objects inside a message, each with its path.
    Placed = list[tuple[str, Members]]

__all__ = [
    "INPUT_METHODS",
    "LISTED",
    "all_blocks",
    "base64_fault",
    "complete_result",
    "for_each_block",
    "input_requests",
    "is_iso_date",
    "is_media_type",
    "is_url",
    "listed_objects",
    "media_faults",
    "objects_in",
    "result_blocks",
    "result_contents",
    "template_fault",
    "uri_fault",
]

# The requests that may be answered with a result that requires input.
INPUT_METHODS = ("tools/call", "prompts/get", "resources/read")

# The member under which the result of each method lists its objects.
LISTED = {kind.method: kind.name for kind in KINDS.values()}
_SAMPLING = "sampling/createMessage"


def objects_in(path: str, listed: object, member: str = "") -> Placed:
    """The objects of an array, or those with a member, each with its path; [] for no array."""
    if not isinstance(listed, list):
        return []
    # Most have no such member: their paths are never needed.
    return [
        (f"{path}[{index}]", each)
        for index, each in enumerate(listed)
        if isinstance(each, dict) and (not member or member in each)
    ]


def complete_result(entry: Entry, facts: Facts) -> Members:
    """The result, {} when it is not an object, asks for input, or says that a task began."""
    result = entry.result
    if facts.is_stateless:
        return result if result.get("resultType", "complete") == "complete" else {}
    is_task = "task" in entry.request_params and isinstance(result.get("task"), dict)
    return {} if is_task else result


def listed_objects(entry: Entry, facts: Facts) -> Placed:
    """The objects that the result of a list has, with their paths."""
    member = LISTED.get(entry.method, "")
    return objects_in(f"result.{member}", complete_result(entry, facts).get(member))


# What tools, prompts and resources answer with


def result_blocks(entry: Entry, facts: Facts, *types: str) -> Placed:
    """The blocks of a result of tools/call or prompts/get, with their paths: all, or those of
    some types."""
    result = complete_result(entry, facts)
    if entry.method == "prompts/get":
        placed = [
            (f"{path}.content", message.get("content"))
            for path, message in objects_in("result.messages", result.get("messages"))
        ]
    else:
        placed = [*objects_in("result.content", result.get("content"))]
    return [
        (path, block)
        for path, block in placed
        if isinstance(block, dict) and (not types or block.get("type") in types)
    ]


def result_contents(entry: Entry, facts: Facts) -> Placed:
    """The resources of a result: those that were read, or those that blocks embed."""
    if entry.method == "resources/read":
        return objects_in("result.contents", complete_result(entry, facts).get("contents"))
    return [
        (f"{path}.resource", resource)
        for path, block in result_blocks(entry, facts, "resource")
        if isinstance(resource := block.get("resource"), dict)
    ]


def for_each_block(
    types: tuple[str, ...], judge: Callable[[str, Members], Iterable[str] | None]
) -> EntryCheck:
    """A check that judges every block of these types on its own."""

    def check(entry: Entry, facts: Facts) -> Findings:
        return collect(judge(path, block) for path, block in result_blocks(entry, facts, *types))

    return check


def media_faults(path: str, block: Members) -> Iterator[str]:
    """What is wrong with the encoding of an image or of audio."""
    data = block.get("data")
    reason = base64_fault(data) if isinstance(data, str) else ""
    if reason:
        yield f"{path}.data must be base64: {reason}"


# Blocks anywhere in a message


def input_requests(entry: Entry) -> Placed:
    """What a result asks the client for, each as a request in all but the id."""
    result = entry.result
    if result.get("resultType") != "input_required":
        return []
    return [
        (f"result.inputRequests[{show(key)}]", request)
        for key, request in members(result.get("inputRequests")).items()
        if isinstance(request, dict)
    ]


def all_blocks(entry: Entry) -> Placed:
    """Every block of content with its path; those in the results of tools in sampling too."""
    if entry.kind != "result":
        if entry.method != _SAMPLING:
            return []
        return _message_blocks("params.messages", entry.params.get("messages"))
    found: Placed = []
    if entry.method in ("tools/call", "tasks/result"):
        found = _blocks_in("result.content", entry.result.get("content"))
    elif entry.method == "prompts/get":
        found = _message_blocks("result.messages", entry.result.get("messages"))
    for path, request in input_requests(entry):
        if request.get("method") == _SAMPLING:
            messages = members(request.get("params")).get("messages")
            found += _message_blocks(f"{path}.params.messages", messages)
    return found


def _message_blocks(path: str, messages: object) -> Placed:
    return [
        placed
        for place, message in objects_in(path, messages)
        for placed in _blocks_in(f"{place}.content", message.get("content"))
    ]


def _blocks_in(path: str, content: object) -> Placed:
    """One block, or an array of them; a tool_result has further blocks, one level deep."""
    found = [(path, content)] if isinstance(content, dict) else objects_in(path, content)
    inner: Placed = []
    for place, block in found:
        if block.get("type") == "tool_result":
            inner += objects_in(f"{place}.content", block.get("content"))
    return found + inner if inner else found


# The syntax of strings. They come from servers, so every check takes linear time.

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"

# base64, media types and dates

_ALPHABET = frozenset(_LETTERS + _DIGITS + "+/")
_TOKEN = frozenset(_LETTERS + _DIGITS + "!#$%&'*+-.^_`|~")


def base64_fault(text: str) -> str:
    """Why a string is not base64 (RFC 4648, section 4), "" when it is. The empty string is."""
    # Some versions of Python accept padding that is not needed.
    if len(text) % 4 or text.endswith("==="):
        return _describe_base64_fault(text)
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return _describe_base64_fault(text)
    return ""


def _describe_base64_fault(text: str) -> str:
    if text.startswith("data:"):
        return "it is a data: URL, of which only the part after the comma is wanted"
    body = text.rstrip("=")
    odd = set(body) - _ALPHABET
    if odd:
        least = min(odd)
        hint = "; that is the alphabet for URLs" if least in "-_" else ""
        return f"it has the character {show(least)}{hint}"
    padding, wanted = len(text) - len(body), -len(body) % 4
    if wanted == 3:
        return "its last character has no meaning"
    return f"it must end in {wanted} of the padding (=) and ends in {padding}"


def is_media_type(text: str) -> bool:
    """True if a string is a media type such as `image/png`, with or without parameters."""
    kind, slash, subtype = text.partition(";")[0].strip().partition("/")
    return bool(slash and kind and subtype) and _TOKEN.issuperset(kind + subtype)


_DAY = r"-?(0[1-9]|1[0-2])(-?(0[1-9]|[12]\d|3[01]))?|-?W[0-5]\d(-?[1-7])?|-?[0-3]\d\d"
_CLOCK = r"([01]\d|2[0-4])(:?[0-5]\d(:?([0-5]\d|60))?)?([.,]\d{1,20})?"
_ISO_DATE = rf"\d{{4}}({_DAY})?([T ]{_CLOCK}(Z|[+-]\d\d(:?\d\d)?)?)?"


def is_iso_date(text: str) -> bool:
    """True if a string is a date, or a date and a time, by ISO 8601."""
    return re.fullmatch(_ISO_DATE, text, re.ASCII | re.IGNORECASE) is not None


# URIs and URI templates

_SCHEME = frozenset(_LETTERS + _DIGITS + "+-.")
_IN_URIS = frozenset(_LETTERS + _DIGITS + "-._~:/?#[]@!$&'()*+,;=%")
_IN_NAMES = frozenset(_LETTERS + _DIGITS + "_.%")
_NOT_IN_TEMPLATES = frozenset(map(chr, range(0x20))) | frozenset(' "<>\\^`|\x7f}')
# A user, a host or an address in brackets, a port.
_AUTHORITY = r"(?:[^@\[\]]*@)?(?:\[[^@\[\]]*\]|[^:@\[\]]*)(?::[0-9]*)?"
_OPERATORS = tuple("+#./;?&=,!@|")


def uri_fault(text: str) -> str:
    """Why a string is not a URI with a scheme, "" when it is. It may have a fragment."""
    scheme, colon, rest = text.partition(":")
    if not colon or scheme[:1] not in _LETTERS or not scheme or not _SCHEME.issuperset(scheme):
        return "it does not begin with a scheme, such as file:"
    odd = set(rest) - _IN_URIS
    if odd:
        return f"{show(min(odd))} must be written with %"
    if rest.count("#") > 1:
        return "it has more than one #"
    if fault := _percent_fault(rest):
        return fault
    authority = ""
    if rest.startswith("//"):
        authority = re.split("[/?#]", rest[2:], maxsplit=1)[0]
        rest = rest[2 + len(authority) :]
    if "[" in rest or "]" in rest:
        return "[ and ] must be written with %"
    return "" if re.fullmatch(_AUTHORITY, authority) else f"{show(authority)} is not a host"


def _percent_fault(text: str) -> str:
    bad = re.search("%(?![0-9A-Fa-f]{2})", text)
    if bad is None:
        return ""
    return f"two hexadecimal digits must follow %, not {show(text[bad.end() : bad.end() + 2])}"


def template_fault(text: str) -> str:
    """Why a string is not a URI template (RFC 6570), "" when it is."""
    at = 0
    while at < len(text):
        start = text.find("{", at)
        literal = text[at:] if start < 0 else text[at:start]
        odd = _NOT_IN_TEMPLATES.intersection(literal)
        if odd:
            return f"{show(min(odd))} is not allowed outside of an expression"
        fault = _percent_fault(literal)
        if fault or start < 0:
            return fault
        end = text.find("}", start)
        if end < 0:
            return f"the {{ at character {start + 1} is never closed"
        fault = _expression_fault(text[start + 1 : end])
        if fault:
            return fault
        at = end + 1
    return ""


def _expression_fault(expression: str) -> str:
    names = expression[1:] if expression.startswith(_OPERATORS) else expression
    for variable in names.split(","):
        name, colon, length = variable.removesuffix("*").partition(":")
        parts = name.split(".")
        if not all(parts) or not _IN_NAMES.issuperset(name) or _percent_fault(name):
            return f"{show(name)} is not the name of a variable"
        is_length = length.isdecimal() and length[0] != "0" and len(length) <= 4
        if colon and (not is_length or not length.isascii() or variable[-1] == "*"):
            return f"{show(variable)} must end in a length of 1 to 9999"
    return ""


# URLs


def is_url(text: str) -> bool:
    """True if a string has a scheme and something after it, and only characters of URLs."""
    scheme, colon, rest = text.partition("#")[0].partition("?")[0].partition(":")
    scheme = scheme.lower()
    if not colon or not scheme[:1].isalpha() or not scheme.isascii():
        return False
    if not all(char.isalnum() or char in "+-." for char in scheme):
        return False
    if any(char.isspace() or not char.isprintable() for char in text):
        return False
    if scheme in ("http", "https"):
        authority = rest[2:].partition("/")[0] if rest.startswith("//") else ""
        host = authority.rpartition("@")[2]
        return bool(host) and not host.startswith(":")
    return rest not in ("", "//")
