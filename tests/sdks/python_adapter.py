"""The adapter of the SDK for Python: plays the scenarios of protocol/coprocess/kit."""

from __future__ import annotations

import json
import math
import shlex
import signal
import sys
import threading
import time
import warnings
from contextlib import ExitStack
from typing import Any

import mcptest
from mcptest import _collect
from mcptest.sdk.client import Client
from mcptest.sdk.coprocess import Coprocess, split_binary

Json = dict[str, Any]

KINDS = {
    mcptest.OverdueError: "timeout",
    mcptest.BinaryError: "binary",
    mcptest.VersionError: "version",
    mcptest.ContractError: "contract",
    mcptest.ClosedError: "closed",
    mcptest.UpstreamError: "upstream",
    mcptest.UpstreamGoneError: "upstream_gone",
    mcptest.RefusedError: "refused",
    KeyboardInterrupt: "cancelled",
    TypeError: "arguments",
    ValueError: "arguments",
}
OPTIONS = {"revision": "spec_version"}


def describe_error(error: BaseException) -> Json:
    kind = next((KINDS[each] for each in type(error).__mro__ if each in KINDS), "other")
    found: Json = {"kind": kind, "message": str(error)}
    if isinstance(error, mcptest.RefusedError):
        found |= {"code": error.code, "said": error.message, "data": error.data}
    return {"error": found}


class Scenario:
    """One scenario: what is open, and what has been done."""

    def __init__(self, given: Json) -> None:
        self._given = given
        self._opened = ExitStack()
        self._client: Client | None = None

    def play(self) -> list[Json]:
        did: list[Json] = []
        try:
            if self._given["open"] != "none":
                did.append(self._try(self._open))
            if not did or "opened" in did[0]:
                did += [self._do(step) for step in self._given["do"]]
            return did
        finally:
            self._opened.close()

    def _try(self, work: Any) -> Json:
        try:
            return dict(work())
        except (mcptest.CoprocessError, TypeError, ValueError, KeyboardInterrupt) as error:
            return describe_error(error)

    def _open(self) -> Json:
        given = self._given
        if given["open"] == "suite":
            return {"error": {"kind": "unsupported", "message": "there is no suite channel"}}
        if given["open"] == "connect":
            self._client = self._opened.enter_context(self._connect())
        else:
            limit = {"timeout": given["timeout_ms"] / 1000} if "timeout_ms" in given else {}
            coprocess = self._opened.enter_context(Coprocess(given["command"], **limit))
            coprocess.start()
            self._client = Client(coprocess)
        return {"opened": self._client.coprocess.binary_version}

    def _connect(self) -> Any:
        options = {
            OPTIONS.get(key, key): value for key, value in self._given.get("options", {}).items()
        }
        for name, ours in (("timeout_ms", "timeout"), ("start_timeout_ms", "startup_timeout")):
            if name in options:
                options[ours] = options.pop(name) / 1000
        return mcptest.connect(self._given["command"], **options)

    def _do(self, step: Json) -> Json:
        time.sleep(step.get("after_ms", 0) / 1000)
        verb = next(key for key in step if key not in ("after_ms", "cancel_ms"))
        if verb == "parallel":
            return {"parallel": self._do_all(step["parallel"])}
        if "cancel_ms" in step:
            signal.setitimer(signal.ITIMER_REAL, step["cancel_ms"] / 1000)
        try:
            return self._try(lambda: getattr(self, f"_{verb}")(step[verb]))
        finally:
            if "cancel_ms" in step:
                signal.setitimer(signal.ITIMER_REAL, 0)

    def _do_all(self, steps: list[Json]) -> list[Json]:
        did: list[Json] = [{} for _ in steps]

        def do(number: int) -> None:
            did[number] = self._do(steps[number])

        threads = [threading.Thread(target=do, args=(n,)) for n in range(len(steps))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return did

    # What can be asked for

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    def _request(self, given: Json) -> Json:
        result = self.client.coprocess.request(given["method"], given.get("params"))
        return {"result": result}

    def _call(self, given: Json) -> Json:
        verdict = self.client.call_tool(given["tool"], given.get("arguments"))
        names = ("success", "text", "data", "error", "duration_ms", "raw")
        return {"verdict": {name: getattr(verdict, name) for name in names}}

    def _bad_call(self, given: Json) -> Json:
        return self._call({**given, "arguments": {"degrees": [1, math.nan]}})

    def _list_tools(self, _: Json) -> Json:
        return {"result": self.client.list_tools()}

    def _list_resources(self, _: Json) -> Json:
        return {"result": self.client.list_resources()}

    def _read_resource(self, given: Json) -> Json:
        return {"result": self.client.read_resource(given["uri"])}

    def _get_prompt(self, given: Json) -> Json:
        return {"result": self.client.get_prompt(given["name"], given.get("arguments"))}

    def _initialize(self, _: Json) -> Json:
        return {"result": self.client.initialize()}

    def _set_cache(self, given: Json) -> Json:
        self.client.set_cache(given["mode"])
        return {"result": None}

    def _set_cassette(self, given: Json) -> Json:
        self.client.set_cassette(given["mode"], given.get("path", ""))
        return {"result": None}

    def _upload_to(self, given: Json) -> Json:
        self.client.upload_to(given["target"])
        return {"result": None}

    def _flush(self, _: Json) -> Json:
        return {"result": self.client.flush()}

    def _stop_uploads(self, _: Json) -> Json:
        self.client.stop_uploads()
        return {"result": None}

    def _close(self, _: Json) -> Json:
        self.client.coprocess.close()
        return {"closed": True}

    def _forget(self, _: Json) -> Json:
        FORGOTTEN.append(self._opened.pop_all())
        return {"forgotten": True}

    def _lanes(self, _: Json) -> Json:
        return {"result": list(_collect.UNSUPPORTED_LANES)}

    def _lane(self, given: Json) -> Json:
        suite = [shlex.quote(given["suite"])] if "suite" in given else []
        return {"result": _collect.lane_cli_hint(given["lane"], *suite)}

    def _quote(self, argv: list[str]) -> Json:
        return {"result": shlex.join(argv)}

    def _split(self, text: str) -> Json:
        return {"result": list(split_binary(text))}


# Connections that a scenario has neither closed nor released.
FORGOTTEN: list[ExitStack] = []


def main() -> None:
    warnings.simplefilter("always")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for line in sys.stdin.buffer:
        given = json.loads(line)
        answer = {"name": given["name"], "did": Scenario(given).play()}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
