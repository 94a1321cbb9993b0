"""Whether a line that could not be read was meant as a message and not written in UTF-8.

Lines that are no messages are kept as text in which each byte that is not UTF-8 stands as
``\\xNN``. The same characters may have been in the line itself, so only what cannot have been is
taken for such a byte.
"""

from __future__ import annotations

__all__ = ["encoding_fault"]

_BOM = "\ufeff"
_UTF16_MARKS = ("\\xff\\xfe", "\\xfe\\xff")
_ESCAPE_CHARS = 4


def encoding_fault(line: str) -> str:
    """What is wrong with the encoding of a line, "" when nothing is or it is no message."""
    if line.startswith(_UTF16_MARKS) and "\0" in line:
        return "a message must be UTF-8 and begins with the byte order mark of UTF-16"
    bare = line.replace("\0", "") if "\0" in line else line
    if not _is_like_a_message(bare.lstrip(_BOM)):
        return ""
    if bare is not line and (len(line) - len(bare)) * 3 > len(line):
        return "a message must be UTF-8 and looks like UTF-16"
    if line.startswith(_BOM):
        return "a message must not begin with a byte order mark"
    byte = _first_byte(line)
    return f"a message must be UTF-8 and holds the byte {byte} (hex)" if byte else ""


def _is_like_a_message(line: str) -> bool:
    body = line.lstrip("[ \t")
    return body[:1] == "{" and body[1:].lstrip(" \t").startswith('"')


def _first_byte(line: str) -> str:
    """The first byte that an escape must stand for, in hex; "" when there is none."""
    at = line.find("\\x")
    while at >= 0:
        run = _run_at(line, at)
        end = at + len(run) * _ESCAPE_CHARS
        # The last bytes of a line that was cut may be a part of one character.
        is_whole = end < len(line)
        if run and is_whole and line[at - 1 : at] != "\\" and not _is_utf8(run):
            return f"{run[0]:x}"
        at = line.find("\\x", max(end, at + 1))
    return ""


def _run_at(line: str, at: int) -> bytes:
    """The bytes that the escapes from here on would be."""
    run = bytearray()
    while line.startswith("\\x", at) and (byte := _byte_of(line[at + 2 : at + 4])) > 127:
        run.append(byte)
        at += _ESCAPE_CHARS
    return bytes(run)


def _byte_of(digits: str) -> int:
    is_hex = len(digits) == 2 and not digits.strip("0123456789abcdef")
    return int(digits, 16) if is_hex else -1


def _is_utf8(run: bytes) -> bool:
    try:
        run.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
