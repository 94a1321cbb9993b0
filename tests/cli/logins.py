"""Log in with the real command, and a browser that is a small HTTP client."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

import processes
from console import ENVIRONMENT, PATIENCE_S, Ended, mcptest
from login_server import ACCESS, CODE, DEVICE_CODE, REFRESH, SECRET

if TYPE_CHECKING:
    from pathlib import Path

    from login_server import LoginServers

CANARIES = (ACCESS, REFRESH, CODE, DEVICE_CODE, SECRET)


def data_of(folder: Path) -> dict[str, str]:
    """The environment in which logins are kept in a folder."""
    return {"XDG_DATA_HOME": str(folder / "data")}


def store_of(folder: Path) -> Path:
    return folder / "data" / "mcptest" / "logins.json"


def visit(url: str) -> int:
    """What a browser does, which shows no page: follow redirects; the last status."""
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=PATIENCE_S) as answer:
            answer.read()
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except (URLError, OSError):
        return 0


def log_in(folder: Path, url: str, *words: str, **environment: str) -> Ended:
    """Log in through a browser that approves everything."""
    command = [sys.executable, "-m", "mcptest", "login", url, "--no-browser", *words]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with processes.start(
        command,
        cwd=folder,
        env=ENVIRONMENT | data_of(folder) | environment,
        stdin=subprocess.DEVNULL,
        **pipes,
    ) as process:
        assert process.stderr
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        said = b""
        try:
            for line in process.stderr:
                said += line
                found = re.fullmatch(rb"  (https?://\S+)\n", line)
                if found:
                    visit(found[1].decode())
            assert process.stdout
            out = process.stdout.read()
            code = process.wait()
        finally:
            timer.cancel()
            process.kill()
    ended = Ended(code, out.decode(), said.decode())
    assert_hidden(ended)
    return ended


def assert_logged_in(ended: Ended, servers: LoginServers) -> None:
    assert ended.code == 0, ended.err
    assert f"Logged in to {servers.url}" in ended.out
    assert servers.refusals == []


def assert_refused(ended: Ended, *message: str) -> None:
    assert (ended.code, ended.out) == (3, ""), ended
    assert "error: auth_failed: " in ended.err
    for text in message:
        assert text in ended.err


def assert_hidden(ended: Ended) -> None:
    for secret in CANARIES:
        assert secret not in ended.out + ended.err


def use(folder: Path, *words: str, **environment: str) -> Ended:
    """Run another command that may use the login."""
    ended = mcptest(folder, *words, **data_of(folder), **environment)
    assert_hidden(ended)
    return ended
