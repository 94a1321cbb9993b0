"""Which format a file is written in: by its name, and where that is silent by its text."""

from __future__ import annotations

import re

from mcptest.runner.discovery import CASE_ENDINGS, CONDUCTOR_ENDINGS, is_suite_name

__all__ = ["FORMATS", "format_of"]

FORMATS = ("conductor", "cases", "suite")

# A key of a case at the beginning of a line, and the keys that only a Conductor file has there.
_CASE_KEY = r"(?m)^[\"']?(?:case|in|out|in_\w*|out_\w*|_server)[\"']?[ ]*:"
_CONDUCTOR_KEY = r"(?m)^[\"']?(?:tests|description)[\"']?[ ]*:"
# No other format names several servers, and no suite has tests under this key.
_SERVERS = r"(?m)^(?:\s*\{\s*)?[\"']?servers[\"']?[ ]*:"
_TESTS = r"(?m)^[\"']?tests[\"']?[ ]*:"


def format_of(file: str, text: str) -> str:
    """The format of a file; what looks like neither is taken for a Conductor file."""
    if file.endswith(CONDUCTOR_ENDINGS):
        return "conductor"
    if file.endswith(CASE_ENDINGS):
        return "cases"
    if is_suite_name(file):
        return "suite"
    if re.search(_SERVERS, text) and not re.search(_TESTS, text):
        return "suite"
    looks_like_cases = re.search(_CASE_KEY, text) and not re.search(_CONDUCTOR_KEY, text)
    return "cases" if looks_like_cases else "conductor"
