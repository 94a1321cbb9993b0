"""Which tests failed in the last runs of a folder, for `--last-failed`.

They are kept in `.mcptest/last-failed.json` of the current folder. Whatever is wrong with that file
means that nothing is known; that it cannot be written never fails a run.
"""

from __future__ import annotations

import os
from contextlib import suppress

from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.engine.discovery import read_regular, resolve_inside
from mcptest.engine.loading import STATE_FILE
from mcptest.transport.files import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    # The names of tests by their file.
    Results = dict[str, set[str]]
    # The names of tests by the file that they are in, relative to the current folder.
    Names = dict[str, frozenset[str]]

__all__ = ["keep_failed", "read_failed"]

_VERSION = 1


def read_failed() -> tuple[Names, str]:
    """Return the tests that failed, and why they are not known, "" if they are."""
    try:
        value = parse_json(read_regular(resolve_inside(STATE_FILE, ".")))
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"{STATE_FILE} cannot be read: {error.strerror}"
    except (NotJsonError, UnicodeDecodeError):
        return {}, f"{STATE_FILE} is not JSON"
    state = value if isinstance(value, dict) else {}
    failed = state.get("failed")
    if not isinstance(failed, dict) or state.get("version") != _VERSION:
        return {}, f"{STATE_FILE} was not written by this version of mcptest"
    names: Names = {}
    for file, tests in failed.items():
        if not isinstance(tests, list) or not all(isinstance(name, str) for name in tests):
            return {}, f"{STATE_FILE} was not written by this version of mcptest"
        names[file] = frozenset(tests)
    return names, ""


def keep_failed(failed: Results, passed: Results, whole_files: Results) -> None:
    """Keep the failures of a run; those of tests that it did not run stay.

    `whole_files` has the names of all tests of files that were run whole: what else is known of
    these files is forgotten.
    """
    failed, passed, whole_files = map(_with_short_paths, (failed, passed, whole_files))
    known, _ = read_failed()
    kept: dict[str, list[str]] = {}
    for file in sorted({*known, *failed}):
        names = known.get(file, frozenset()) - passed.get(file, set())
        names &= whole_files.get(file, set(names))
        names |= failed.get(file, set())
        if names and os.path.exists(file):
            kept[file] = sorted(names)
    if kept == {file: sorted(names) for file, names in known.items()}:
        return
    with suppress(OSError):
        path = resolve_inside(STATE_FILE, ".")
        if kept:
            _write(path, dump_json({"version": _VERSION, "failed": kept}) + "\n")
        else:
            os.unlink(path)


def _write(path: str, text: str) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    try:
        ignore = os.path.join(folder, ".gitignore")
        if not os.path.lexists(ignore):
            # The folder is not part of the project.
            replace_file(ignore, b"*\n")
        replace_file(path, text.encode("utf-8", "backslashreplace"))
    except OSError:
        # Only if nothing is in it.
        with suppress(OSError):
            os.rmdir(folder)
        raise


def _with_short_paths(results: Results) -> Results:
    return {os.path.relpath(file): names for file, names in results.items()}
