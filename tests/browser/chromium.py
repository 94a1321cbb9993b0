"""A headless Chromium, driven over its debugging pipe, that records what pages do.

What a page does by itself is recorded in `Tab.deeds`: requests, dialogs, messages on
the console, exceptions, windows. Every wait has a bound, and the browser is ended with
everything it started.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tools.environment import BROWSERS

if TYPE_CHECKING:
    from pathlib import Path

    Members = dict[str, Any]

PATIENCE_S = 20.0

FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

# Chromium reads commands from 3 and writes to 4; the numbers we hold are others.
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""

DEEDS = {
    "Network.requestWillBeSent",
    "Network.webSocketCreated",
    "Page.javascriptDialogOpening",
    "Page.windowOpen",
    "Page.frameAttached",
    "Runtime.consoleAPICalled",
    "Runtime.exceptionThrown",
    "Log.entryAdded",
}


def required(program: str | None, *, is_ci: bool) -> str:
    """The browser. Without one the tests are skipped, save where that would go unseen."""
    if program is None:
        diagnostic = f"there is no browser here; one of these is needed: {', '.join(BROWSERS)}"
        if is_ci:
            pytest.fail(diagnostic)
        pytest.skip(diagnostic)
    return program


class Browser:
    """One Chromium with a profile of its own."""

    def __init__(self, program: str, profile: Path) -> None:
        sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
        command = [program, *FLAGS, *sandbox, f"--user-data-dir={profile}", "about:blank"]
        theirs_in, self._to = _pipe()
        self._from, theirs_out = _pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(theirs_in), str(theirs_out), *command],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._tail = b""
        self._last_id = 0
        self._waiting: list[Members] = []
        self.tabs: dict[str, Tab] = {}

    def open_tab(self) -> Tab:
        target = self.ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.ask("Target.attachToTarget", {"targetId": target, "flatten": True})
        tab = Tab(self, target, session["sessionId"])
        self.tabs[tab.session] = tab
        for domain in ("Page", "Runtime", "Network", "Log"):
            tab.ask(f"{domain}.enable")
        return tab

    def ask(self, method: str, params: Members | None = None, session: str = "") -> Members:
        """Send one command and wait for its answer; earlier events are kept."""
        self._last_id += 1
        message: Members = {"id": self._last_id, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        _write_all(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._next(deadline, f"the answer to {method}")
            if answer.get("id") != self._last_id:
                self._hear(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                result: Members = answer["result"]
                return result

    def listen(self, deadline: float, awaited: str) -> None:
        """Take in one more event."""
        self._hear(self._next(deadline, awaited))

    def _hear(self, event: Members) -> None:
        tab = self.tabs.get(event.get("sessionId", ""))
        if tab:
            tab.hear(event)

    def _next(self, deadline: float, awaited: str) -> Members:
        while not self._waiting:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise TimeoutError(f"Chromium: {awaited} did not come within {PATIENCE_S} s")
            chunk = os.read(self._from, 1 << 20)
            if not chunk:
                raise RuntimeError(f"Chromium ended while {awaited} was awaited")
            *whole, self._tail = (self._tail + chunk).split(b"\0")
            self._waiting += [json.loads(message) for message in whole]
        return self._waiting.pop(0)

    def close(self) -> None:
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):
            self.ask("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        # Its own session, so its own group: whatever is left of it ends here.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE_S)
        os.close(self._to)
        os.close(self._from)


class Tab:
    """One page, and everything it did."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self.session = session
        self.events: list[Members] = []

    def hear(self, event: Members) -> None:
        self.events.append(event)
        if event["method"] == "Page.javascriptDialogOpening":
            # The page waits until the dialog is answered.
            self.ask("Page.handleJavaScriptDialog", {"accept": False})

    @property
    def deeds(self) -> list[str]:
        """What the page did without being asked, save being loaded."""
        message = [
            (each["method"], each["params"]) for each in self.events if each["method"] in DEEDS
        ]
        return [
            f"{method} {json.dumps(params)[:500]}"
            for method, params in message
            if not (
                method == "Network.requestWillBeSent"
                and params["documentURL"] == params["request"]["url"]
                and params["request"]["url"].startswith("file:")
            )
        ]

    def ask(self, method: str, params: Members | None = None) -> Members:
        return self._browser.ask(method, params, self.session)

    def show(self, path: Path) -> None:
        """Load a file and wait until it is there."""
        self.events.clear()
        self.ask("Page.navigate", {"url": path.as_uri()})
        self._await_load()
        self.settle()

    def reload_without_script(self) -> None:
        """The same page with scripts disabled; the scripts of the tests still run."""
        self.ask("Emulation.setScriptExecutionDisabled", {"value": True})
        self.events.clear()
        self.ask("Page.reload")
        self._await_load()

    def _await_load(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._browser.listen(deadline, "the end of loading")

    def settle(self) -> None:
        """Wait until the page has drawn itself twice: what was scheduled has happened."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def value(self, expression: str) -> Any:
        """What an expression gives on the page; a promise is waited for."""
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        result = self.ask("Runtime.evaluate", asked)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def type(self, text: str) -> None:
        self.ask("Input.insertText", {"text": text})
        self.settle()

    def press(self, key: str, code: int) -> None:
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            params = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            self.ask("Input.dispatchKeyEvent", params | (text if kind == "keyDown" else {}))
        self.settle()

    def resize(self, width: int, height: int = 900) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str, media: str = "") -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.ask("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})

    def screenshot(self, path: Path) -> None:
        shot = self.ask("Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self._browser.ask("Target.closeTarget", {"targetId": self._target})
        del self._browser.tabs[self.session]


def _pipe() -> tuple[int, int]:
    """A pipe whose numbers are far from 3 and 4, which Chromium's must have."""
    ends = []
    for end in os.pipe():
        ends.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10))
        os.close(end)
    return ends[0], ends[1]


def _write_all(fd: int, raw: bytes) -> None:
    while raw:
        raw = raw[os.write(fd, raw) :]
