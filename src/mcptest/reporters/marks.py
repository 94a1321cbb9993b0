"""The marks of verdicts, and text for streams that cannot take every character."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from mcptest.reporters.paint import Paint

    class TextSink(Protocol):
        """What is needed of a stream; `sys.stdout` is one."""

        @property
        def encoding(self) -> str: ...
        def write(self, text: str, /) -> int: ...
        def flush(self) -> None: ...


__all__ = ["MARKS", "encodable", "narrow_encoding", "painted_marks"]

MARKS = {"passed": "✓", "failed": "✗", "error": "!", "skipped": "-"}
# Padded, so that names stand in one column.
ASCII_MARKS = {"passed": "ok   ", "failed": "FAIL ", "error": "ERROR", "skipped": "skip "}
ASCII_FORMS = {ord("…"): "...", ord("›"): ">"}


def painted_marks(paint: Paint, encoding: str) -> dict[str, str]:
    """The mark of each status, in its colour; in ASCII for a narrow encoding."""
    marks = ASCII_MARKS if encoding else MARKS
    return {
        "passed": paint.green(marks["passed"]),
        "failed": paint.red(marks["failed"]),
        "error": paint.red(marks["error"]),
        "skipped": paint.yellow(marks["skipped"]),
    }


def narrow_encoding(stream: TextSink) -> str:
    """The encoding of a stream that cannot take every character, else nothing."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return "" if encoding.lower().replace("_", "-").startswith("utf") else encoding


def encodable(text: str, encoding: str) -> str:
    """`text` as a stream of this narrow encoding can show it; "" stands for UTF-8."""
    if not encoding or text.isascii():
        return text
    text = text.translate(ASCII_FORMS)
    return text.encode(encoding, "backslashreplace").decode(encoding)
