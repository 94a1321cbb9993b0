"""Where a report goes: standard output, a file of its own, or GitHub's file for summaries."""

from __future__ import annotations

import os

from mcptest.cli.output import StandardOutput, write_file

__all__ = ["STDOUT", "write_line", "write_report"]

# The name of standard output among the names of files.
STDOUT = ""

# Reports for people go out in the encoding of their terminal, all others in UTF-8.
_FOR_PEOPLE = ("agent", "minimal")


def write_report(name: str, file: str, text: str) -> None:
    """Write the report of the reporter `name` to its place."""
    if file == STDOUT:
        output = StandardOutput()
        (output.write if name in _FOR_PEOPLE else output.write_utf8)(text)
    elif name == "markdown" and _is_job_summary(file):
        # Seldom needed, and on the way to every run.
        from mcptest.cli.report_stream import append_file  # noqa: PLC0415

        append_file(file, text)
    else:
        write_file(file, text)


def write_line(text: str) -> None:
    """Write a line of a report that somebody follows."""
    output = StandardOutput()
    output.write_utf8(text)
    output.flush()


def _is_job_summary(file: str) -> bool:
    """Whether this is the file to which all programs of a step of a GitHub workflow may add."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY", "")
    return bool(summary) and os.path.realpath(file) == os.path.realpath(summary)
