"""The cassette of a session: records what the server says, or plays it in the server's place."""

from __future__ import annotations

from mcptest.coprocess.files import read_regular, why_not
from mcptest.coprocess.recorder import Recorder
from mcptest.coprocess.refusals import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    UPSTREAM_ERROR,
    RefusedError,
    quoted,
)
from mcptest.coprocess.tape import (
    BadTapeError,
    Player,
    Take,
    read_tape,
)
from mcptest.core.record import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.coprocess.upstream import Upstream

    Params = dict[str, Any]

__all__ = ["Cassette"]


class Cassette:
    """Stands between a session and its server. A tape holds no secrets of the config."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._recorder: Recorder | None = None
        self._player: Player | None = None
        # What became of recordings that did not become a tape, in words.
        self.troubles: list[str] = []

    @property
    def is_in(self) -> bool:
        """Whether anything is recorded or played."""
        return bool(self._recorder or self._player)

    def set_mode(self, mode: str, path: str) -> None:
        """Record to a tape, play one, or neither. When that is impossible, nothing changes."""
        recorder: Recorder | None = None
        player: Player | None = None
        try:
            if mode == "record":
                recorder = Recorder(path, self._upstream.cleaned(self._upstream.spec.command))
            elif mode == "replay":
                player = Player(read_tape(read_regular(self._source(path))))
        except UnicodeDecodeError:
            raise _unusable(path, mode, "it is no cassette: it is not UTF-8") from None
        except (OSError, BadTapeError) as error:
            raise _unusable(path, mode, why_not(error)) from None
        self.eject()
        self._recorder, self._player = recorder, player

    def _source(self, path: str) -> str:
        """Where a tape is read from: what is being recorded is not at its place yet."""
        is_recorded = self._recorder and self._recorder.path == path
        return self._recorder.part if self._recorder and is_recorded else path

    def eject(self, *, is_whole: bool = True) -> None:
        """Nothing is recorded or played any more; a session that broke off is not whole."""
        if self._recorder:
            trouble = self._recorder.finish(is_whole=is_whole and not self._upstream.is_lost)
            self.troubles += [trouble] if trouble else []
        self._recorder = self._player = None

    def perform(self, method: str, params: Params, ask: Callable[[], Any]) -> Any:
        """What the server says, or the tape in its place; never both."""
        if self._player:
            return self._played(self._player, method, params)
        if self._recorder is None:
            return ask()
        try:
            result = ask()
        except RefusedError as error:
            if error.code == UPSTREAM_ERROR:
                said: dict[str, object] = {"message": error.message}
                said |= {} if error.data is ABSENT else {"data": error.data}
                self._record(self._recorder, Take(method=method, params=params, error=said))
            raise
        self._record(self._recorder, Take(method=method, params=params, result=result))
        return result

    def _played(self, player: Player, method: str, params: Params) -> Any:
        try:
            take = player.play(method, self._upstream.cleaned(params))
        except BadTapeError as error:
            raise RefusedError(UPSTREAM_ERROR, str(error)) from None
        if take.error is not ABSENT:
            data = take.error.get("data", ABSENT)
            raise RefusedError(UPSTREAM_ERROR, take.error["message"], data)
        return take.result

    def _record(self, recorder: Recorder, take: Take) -> None:
        cleaned = self._upstream.cleaned
        # Whoever plays it may ask for this, whether or not it was asked for now.
        hello = Take(method="initialize", params={}, result=cleaned(self._upstream.handshake))
        fields = {name: cleaned(getattr(take, name)) for name in ("params", "result", "error")}
        try:
            recorder.begin(hello)
            if take.method != "initialize":
                recorder.add(take.but(**fields))
        except OSError as error:
            message = f"the cassette {quoted(recorder.path)} cannot be written: {why_not(error)}"
            raise RefusedError(INTERNAL_ERROR, message) from None


def _unusable(path: str, mode: str, why: str) -> RefusedError:
    return RefusedError(
        INVALID_PARAMS, f"the cassette {quoted(path)} cannot be used to {mode}: {why}"
    )
