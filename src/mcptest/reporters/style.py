"""How text looks on a terminal: colour, status marks, durations, line wrapping, encodings.

Pure: the caller finds out whether a stream is a terminal, its width and what NO_COLOR says.
"""

from __future__ import annotations

import re

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from mcptest.matching.diff import DiffLine

    class TextSink(Protocol):
        """The part of a text stream that is used; `sys.stdout` has it."""

        @property
        def encoding(self) -> str: ...
        def write(self, text: str, /) -> int: ...
        def flush(self) -> None: ...


__all__ = [
    "NO_COLOUR",
    "Paint",
    "encode_narrow",
    "narrow_encoding",
    "render_duration",
    "status_marks",
    "width_of",
    "wrap_line",
    "wrap_text",
]


class Paint(Record):
    """Wraps text in colour codes when `on`, else returns it unchanged."""

    on: bool

    def red(self, text: str) -> str:
        return self._with("31", text)

    def green(self, text: str) -> str:
        return self._with("32", text)

    def yellow(self, text: str) -> str:
        return self._with("33", text)

    def dim(self, text: str) -> str:
        return self._with("2", text)

    def bold(self, text: str) -> str:
        return self._with("1", text)

    def diff_line(self, line: DiffLine) -> str:
        """The line in the colour of its kind: expected values green, actual values red."""
        if line.sign == "-":
            return self.green(line.text)
        if line.sign in "+^":
            return self.red(line.text)
        return self.dim(line.text) if line.sign == "…" else line.text

    def _with(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text


NO_COLOUR = Paint(on=False)

_MARKS = {"passed": "✓", "failed": "✗", "error": "!", "skipped": "-"}
# Padded, so that the names that follow are aligned.
_ASCII_MARKS = {"passed": "ok   ", "failed": "FAIL ", "error": "ERROR", "skipped": "skip "}
_ASCII_FORMS = {ord("…"): "...", ord("›"): ">"}


def status_marks(paint: Paint, encoding: str) -> dict[str, str]:
    """The mark of each status, in its colour; in ASCII for a narrow encoding."""
    marks = _ASCII_MARKS if encoding else _MARKS
    colours = {"passed": paint.green, "skipped": paint.yellow}
    return {status: colours.get(status, paint.red)(mark) for status, mark in marks.items()}


def narrow_encoding(stream: TextSink) -> str:
    """The encoding of a stream that cannot encode every character; "" for UTF-8 and the like."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return "" if encoding.lower().replace("_", "-").startswith("utf") else encoding


def encode_narrow(text: str, encoding: str) -> str:
    """`text` with characters that `encoding` lacks replaced; "" means UTF-8."""
    if not encoding or text.isascii():
        return text
    text = text.translate(_ASCII_FORMS)
    return text.encode(encoding, "backslashreplace").decode(encoding)


def render_duration(seconds: float) -> str:
    """`<1 ms`, `12 ms`, `1.2 s`, `1 m 03 s`, `1 h 02 m`."""
    if seconds < 0.001:
        return "<1 ms"
    # Rounded before the unit is chosen, so that 999.9 ms is not "1000 ms".
    if round(seconds * 1000) < 1000:
        return f"{round(seconds * 1000)} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} m"


# Compiled on first use: most runs wrap nothing, and compiling takes a tenth of a small run.
_COLOUR = r"\x1b\[[0-9;]*m"
# The source line of a diagnostic and the caret line below it must stay aligned.
_EXCERPT = r" *[0-9]* \|( |$)"
# Chinese, Japanese, Korean, emoji: two columns each on a terminal.
_WIDE = (
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
    "\U0001f300-\U0001faff\U00020000-\U0003fffd]"
)
_HANG = 2


def wrap_line(line: str, columns: int) -> list[str]:
    """The line broken between words; continuation lines are indented further.

    A word longer than a line is left to the terminal. A terminal of unknown width reports 0.
    """
    if columns < 1 or width_of(line) <= columns:
        return [line]
    indent = len(line) - len(line.lstrip(" "))
    hang = " " * (indent + _HANG)
    lines, room = [""], columns
    for word in re.findall(r" *[^ ]+", line):
        if width_of(word) > room and lines != [""]:
            lines.append(hang + word.lstrip(" "))
        else:
            lines[-1] += word
        room = columns - width_of(lines[-1])
    return lines


def wrap_text(text: str, columns: int) -> str:
    """`wrap_line` for each line of a text; source excerpts are left as they are."""
    lines = []
    for line in text.split("\n"):
        lines += [line] if re.match(_EXCERPT, line) else wrap_line(line, columns)
    return "\n".join(lines)


def width_of(text: str) -> int:
    """The columns a text takes: none for colour codes, two for wide characters."""
    plain = re.sub(_COLOUR, "", text)
    return len(plain) if plain.isascii() else len(plain) + len(re.findall(_WIDE, plain))
