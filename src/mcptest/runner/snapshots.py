"""The snapshots of a run: read when they are first asked for, written when all is over.

Those of `shop/mcptest.yaml` are in `shop/__snapshots__/mcptest.yaml.snap.yaml`. While tests
run, books only note what they see, in whichever process that is; `Snapshots.finish` is given
all of it and changes the files, each as a whole or not at all. What cannot be written is a
problem of the run, and keeps nothing else from being told.
"""

from __future__ import annotations

import os

from mcptest.core.ci import ci_variable
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError, RefusedError, UsageError
from mcptest.core.record import ABSENT
from mcptest.core.secrets import redact_all
from mcptest.core.snapshots import WRITTEN, SnapshotTaken
from mcptest.core.text import visible
from mcptest.formats.snapshot_file import read_snapshots, write_snapshots
from mcptest.matching.compare import is_same
from mcptest.matching.registry import ParameterError
from mcptest.runner.discovery import read_text
from mcptest.runner.file_targets import replace_file, resolve_inside
from mcptest.runner.snapshot_reporting import clashes, names_by_file, not_written, reported
from mcptest.runner.snapshot_settling import Settled, settled
from mcptest.wire import folder_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcptest.core.outcome import Finding
    from mcptest.core.snapshots import SnapshotMode, SnapshotReport, SnapshotStatus
    from mcptest.core.text import Trail

    Redact = Callable[[str], str]

__all__ = ["Book", "Snapshots", "is_snapshot_path", "mode_of", "snapshot_path"]

_FOLDER = "__snapshots__"
_ENDING = ".snap.yaml"


def mode_of(update: bool, force: bool, environment: Mapping[str, str]) -> SnapshotMode:
    """What a run does with snapshots; RefusedError where they would be accepted unseen."""
    ci = ci_variable(environment)
    if update and ci and not force:
        raise RefusedError(
            f"--update-snapshots is refused in CI ({ci} is set): no one would review its changes",
            "update them on your own machine and commit them, or add --force-update-snapshots",
        )
    if update or force:
        return "update"
    return "check" if ci else "write_new"


def snapshot_path(file: str) -> str:
    """Where the snapshots of a suite are."""
    folder, name = os.path.split(file)
    return os.path.join(folder, _FOLDER, name + _ENDING)


def is_snapshot_path(path: str) -> bool:
    """Whether a path is one that snapshots are written to."""
    folder, name = os.path.split(path)
    return os.path.basename(folder) == _FOLDER and name.endswith(_ENDING)


class Snapshots:
    """All snapshots of a run. What `redact` blanks is neither kept nor compared.

    Secrets are known when all files are read, so `redact` may be set until the first test.
    """

    def __init__(self, mode: SnapshotMode, redact: Redact | None = None) -> None:
        self.mode = mode
        self.redact = redact
        self._books: dict[str, Book] = {}
        self._taken: list[SnapshotTaken] = []

    def book(self, file: str) -> Book:
        """The snapshots of one suite; a file that nobody asks for is not looked at."""
        if file not in self._books:
            self._books[file] = Book(self, file, self._taken)
        return self._books[file]

    def taken(self) -> tuple[SnapshotTaken, ...]:
        """What this process has seen since this was last asked."""
        taken = tuple(self._taken)
        self._taken.clear()
        return taken

    def try_again(self) -> None:
        """What was seen until now belongs to a try that did not pass."""
        self._taken[:] = [each.but(is_past=True) for each in self._taken]

    def finish(
        self,
        all_taken: Iterable[SnapshotTaken],
        is_complete: bool,
        held: Iterable[SnapshotTaken] = (),
    ) -> tuple[SnapshotReport, tuple[Finding, ...]]:
        """Write what is new or accepted, and say what was done, and what went wrong.

        What no test asks for any more is removed in the mode "update", after a run in which
        whole files ran; else it is only named. What is `held` is neither.
        """
        by_file: dict[str, list[SnapshotTaken]] = {file: [] for file in self._books}
        for taken in all_taken:
            by_file.setdefault(taken.file, []).append(taken)
        done: dict[str, Settled] = {}
        lost: list[SnapshotTaken] = []
        problems: list[Finding] = []
        for file in sorted(by_file):
            try:
                done[file] = self.book(file).settle(by_file[file], is_complete)
            except (FormatError, UsageError) as error:
                lost += by_file[file]
                problems.append(not_written(file, error))
            else:
                problems += clashes(file, done[file].clashing)
        report = reported(done, unwritten=names_by_file(lost), held=names_by_file(held))
        return report, tuple(problems)


class Book:
    """The snapshots of one suite: what `mcptest.matching.snapshot_matcher` asks and tells."""

    def __init__(self, owner: Snapshots, file: str, taken: list[SnapshotTaken]) -> None:
        self.file = file
        self.path = snapshot_path(file)
        self._owner = owner
        self._taken = taken
        # Where in the file the names stand; those that authors give may stand in many places.
        self._declared: dict[str, Trail] = {}
        self._entries: dict[str, object] | None = None

    @property
    def mode(self) -> SnapshotMode:
        return self._owner.mode

    def declare(self, key: str, place: Trail, *, is_given: bool) -> None:
        """Some test has a snapshot of this name. FormatError when the file is no good."""
        key = _writable(key)
        if is_given:
            self._declared.setdefault(key, None)
        elif self._declared.get(key) not in (None, place):
            raise ParameterError(
                f"has the same name as another one, {visible(key)!r}: nobody could tell them apart",
                "give one of them another name: {snapshot: NAME}",
            )
        else:
            self._declared[key] = place
        # While files are loaded every mistake can still be told, and nothing has started.
        self._stored()

    def redacted(self, value: object) -> object:
        redact = self._owner.redact
        return redact_all(value, redact) if redact else value

    def stored(self, key: str) -> object:
        return self.redacted(self._stored().get(self._name(key), ABSENT))

    def _name(self, key: str) -> str:
        """The name as the file may have it; secrets are known by the time a test runs."""
        return str(self.redacted(_writable(key)))

    def saw(
        self, key: str, value: object, *, is_same: bool, place: tuple[str | int, ...] = ()
    ) -> None:
        """Note what came for this snapshot; the last look at it counts."""
        key = self._name(key)
        status = self._status(key, is_same)
        kept = self.redacted(value) if status in WRITTEN else ABSENT
        look = SnapshotTaken(file=self.file, key=key, status=status, value=kept, place=place)
        self._taken.append(look)

    def _status(self, key: str, same: bool) -> SnapshotStatus:
        stored = self._stored().get(key, ABSENT)
        if same:
            # A secret that was written before anybody called it one must not stay.
            is_clean = self.mode == "check" or is_same(stored, self.redacted(stored))
            return "same" if is_clean else "updated"
        if self.mode == "update":
            return "new" if stored is ABSENT else "updated"
        return "new" if self.mode == "write_new" and stored is ABSENT else "different"

    def _stored(self) -> dict[str, object]:
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def _read(self) -> dict[str, object]:
        try:
            self._target()
        except OSError as error:
            # Also before it is only read: what is elsewhere must not be shown as a mistake of ours.
            reason = Diagnostic(code="F001", file=self.path, message=str(error.strerror))
            raise FormatError([reason]) from None
        if not os.path.lexists(self.path):
            return {}
        return read_snapshots(read_text(self.path), self.path)

    def _target(self) -> str:
        """The file itself; OSError if a link leads out of the folder of the suite."""
        return resolve_inside(self.path, os.path.dirname(self.file))

    def settle(self, taken: list[SnapshotTaken], is_complete: bool) -> Settled:
        """Write what is to be written of all that was seen; UsageError when that fails."""
        found = self._settled(taken, is_complete)
        if found.entries is None:
            return found
        try:
            folder = os.path.dirname(self._target())
            os.makedirs(folder, exist_ok=True)
            with folder_lock.locked(folder, folder_lock.PATIENCE_S):
                # Anew: another run may have written to it, up to this moment.
                found = self._settled(taken, is_complete)
                if found.entries is not None:
                    self._write(found.entries)
        except TimeoutError:
            message = f"cannot write {visible(self.path)}: another run has its folder"
            raise UsageError(message, "let the other one end, and run this one again") from None
        except OSError as error:
            raise UsageError(f"cannot write {visible(self.path)}: {error.strerror}") from None
        return found

    def _settled(self, taken: list[SnapshotTaken], is_complete: bool) -> Settled:
        stored = self._read()
        known = stored if self._entries is None else self._entries
        declared = set(map(self._name, self._declared))
        removes = self.mode == "update" and is_complete
        return settled(taken, stored, known, declared, removes=removes)

    def _write(self, entries: dict[str, object]) -> None:
        if entries:
            raw = self._rendered(entries).encode("utf-8")
            replace_file(self._target(), raw)
        else:
            os.unlink(self.path)
        self._entries = entries

    def _rendered(self, entries: dict[str, object]) -> str:
        """The text of the file, which has been read back: a broken file helps nobody."""
        text = write_snapshots(entries, os.path.basename(self.file))
        try:
            is_kept = is_same(entries, read_snapshots(text, self.path))
        except FormatError as error:
            is_kept, reason = False, error.diagnostics[0].message
        else:
            reason = "they would not come back as they are"
        if not is_kept:
            raise UsageError(
                f"cannot keep the snapshots of {visible(self.file)}: {reason}",
                "take snapshots of smaller parts, or spread the tests over several files",
            )
        return text


def _writable(key: str) -> str:
    """The name without half characters, which no file can hold."""
    return key.encode("utf-8", "backslashreplace").decode("utf-8")
