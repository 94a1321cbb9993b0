"""From the files of a mock to who plays them; every mistake in any of them in one go."""

from __future__ import annotations

import os
import time

from mcptest.core.errors import FormatError, NothingSelectedError, UsageError
from mcptest.core.suggest import closest
from mcptest.core.text import visible
from mcptest.formats.cases import load_cases
from mcptest.matching.registry import builtin_registry
from mcptest.mock.canned import ManifestPlayer
from mcptest.mock.contract import ContractPlayer
from mcptest.mock.file_kind import kind_of_file
from mcptest.mock.manifest import load_manifest, merged_manifests
from mcptest.mock.script import RECORDED, build_script
from mcptest.runner.discovery import read_text
from mcptest.runner.loading import Unneeded
from mcptest.runner.quoting import SuiteFolders
from mcptest.traffic import contract_text, is_traffic
from mcptest.wire.cpu_limit import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.plan import Suite
    from mcptest.mock.offers import Manifest
    from mcptest.mock.respond import Player

__all__ = ["load_player"]

# How long a regular expression may compute while a text is made up for it.
_PATTERN_LIMIT = CpuLimit(1.0)


def load_player(paths: Sequence[str], *, is_once: bool) -> tuple[Player, list[Diagnostic]]:
    """Who plays these files, and warnings. FormatError lists every mistake in them."""
    files = _Files(SuiteFolders(paths))
    for path in _each_once(paths):
        _refuse_missing(path)
        files.read(path)
    if files.mistakes:
        raise FormatError([*files.mistakes, *files.warnings])
    if files.manifests and files.suites:
        raise UsageError(
            "a manifest and cases cannot be played together",
            "several manifests can, and so can several files of cases or captures",
        )
    if files.manifests:
        if is_once:
            raise UsageError("--once is for cases: what a manifest offers is always there")
        return ManifestPlayer(merged_manifests(files.manifests)), files.warnings
    script = build_script(files.suites, _PATTERN_LIMIT)
    if not script.acts:
        raise NothingSelectedError(
            "every case in these files is skipped, so nothing is left to play"
        )
    return ContractPlayer(script, is_once=is_once), files.warnings


class _Files:
    """What was read so far."""

    def __init__(self, folders: SuiteFolders) -> None:
        self._folders = folders
        self._registry = builtin_registry(time.time)
        self.suites: list[Suite] = []
        self.manifests: list[Manifest] = []
        self.mistakes: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def read(self, path: str) -> None:
        try:
            self._read(path)
        except FormatError as error:
            self.mistakes += error.diagnostics

    def _read(self, path: str) -> None:
        text = read_text(path)
        kind = _kind_of(text)
        if kind == "manifest":
            manifest, slips = load_manifest(text, path, self._registry)
            self.manifests.append(manifest)
        elif kind == "capture":
            suite, slips = self._cases(contract_text(text, path, keep_values=True), path)
            # Lines of the text that was made of it would mean nothing to anybody.
            cases = tuple(case.but(line=1) for case in suite.cases)
            self.suites.append(suite.but(format=RECORDED, cases=cases))
        else:
            suite, slips = self._cases(text, path)
            self.suites.append(suite)
        self.warnings += slips

    def _cases(self, text: str, path: str) -> tuple[Suite, tuple[Diagnostic, ...]]:
        return load_cases(
            text,
            path,
            self._registry,
            # No server is started, whatever the file says of one.
            Unneeded(os.environ),
            self._folders.reader_beside(path),
            for_mock=True,
            bounded=_PATTERN_LIMIT,
        )


def _each_once(paths: Sequence[str]) -> list[str]:
    """The paths without those that lead to a file once more."""
    found: dict[str, str] = {}
    for path in paths:
        found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _kind_of(text: str) -> str:
    """What is in a file; a log of messages is played like a capture."""
    kind = kind_of_file(text)
    # What a comment quotes is nothing that was said.
    said = (line for line in text.splitlines() if not line.startswith("#"))
    return "capture" if kind == "cases" and is_traffic("\n".join(said)) else kind


def _refuse_missing(path: str) -> None:
    if os.path.isdir(path):
        raise UsageError(f"{visible(path)} is a folder", "name the files to play")
    if os.path.lexists(path):
        return
    folder, name = os.path.split(path)
    names = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    meant = closest(name, names)
    question = f"; did you mean {visible(os.path.join(folder, meant))!r}?" if meant else ""
    raise UsageError(f"there is no file {visible(path)!r}{question}")
