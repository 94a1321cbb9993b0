"""Which format a file is written in: by its name, and where that is silent by its text.

And whether a file that only has such a name is one of ours: many projects have a `*_test.yaml`.
"""

from __future__ import annotations

import re

from mcptest.runner.discovery import CASE_ENDINGS, CONDUCTOR_ENDINGS, is_suite_name

__all__ = ["FORMATS", "format_of", "is_recognisable"]

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


# What a file of each format has in it, also one with mistakes. The keys of a case are words of
# everybody, so a message must be there too, or the key that only a contract has.
_CASE_WORDS = r"case|in|out|in_\w*|out_\w*"
_MESSAGE = (
    r"[\"']?jsonrpc[\"']?\s*:"
    r"|[\"']?method[\"']?\s*:\s*[\"']?(?:initialize|ping|[a-z]+/[A-Za-z_/]+)\b"
)
_SUITE_WORDS = "servers|imports|tools|resources|prompts|agents|evals|compliance|security"
_IT = r"(?m)^[ \t]*(?:-[ \t]+)?[\"']?it[\"']?[ \t]*:"
_BRACE = r"(?m)^(?:---)?[ \t]*[{\[]"


def is_recognisable(file: str, beginning: str) -> bool:
    """Whether a file with a name of ours begins like one of ours, whatever mistakes it has.

    Nothing is parsed: a file that is broken is recognised by its keys all the same, and one that
    belongs to another program costs next to nothing.
    """
    text = beginning.removeprefix("\ufeff")
    if file.endswith(CONDUCTOR_ENDINGS):
        return _has_key(text, "tests|description") or re.search(_IT, text) is not None
    if file.endswith(CASE_ENDINGS):
        has_message = _has_key(text, _CASE_WORDS) and re.search(_MESSAGE, text)
        return bool(has_message) or _has_key(text, "_server")
    return _has_key(text, _SUITE_WORDS)


def _has_key(text: str, names: str) -> bool:
    """Whether one of these keys is at the top of a document; in braces, at any depth."""
    if re.search(rf"(?m)^[\"']?(?:{names})[\"']?[ \t]*:", text):
        return True
    if not re.search(_BRACE, text):
        return False
    return re.search(rf"[{{,]\s*[\"']?(?:{names})[\"']?\s*:", text) is not None
