"""Where logins are kept, who may read them, and the browser that is opened for one."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from console import mcptest
from login_server import ACCESS, REFRESH, LoginServers
from logins import (
    CANARIES,
    assert_logged_in,
    assert_refused,
    data_of,
    log_in,
    store_of,
    use,
)
from terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

# A browser: it follows the page to the end.
BROWSER = """\
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
opener.open(sys.argv[1], timeout=30).read()
"""

# A keyring that is a file, for the library that knows the keyrings of systems.
KEYRING = """\
import json, os, pathlib
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError
FILE = pathlib.Path(os.environ["KEYRING_FILE"])
class Keyring(KeyringBackend):
    priority = int(os.environ.get("KEYRING_PRIORITY", "1"))
    def _all(self): return json.loads(FILE.read_text()) if FILE.exists() else {}
    def get_password(self, service, username): return self._all().get(f"{service} {username}")
    def set_password(self, service, username, password):
        FILE.write_text(json.dumps(self._all() | {f"{service} {username}": password}))
    def delete_password(self, service, username):
        if f"{service} {username}" not in self._all(): raise PasswordDeleteError
        FILE.write_text(json.dumps({}))
"""


# The file


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    path = store_of(tmp_path)
    path.parent.mkdir(parents=True)
    os.mkfifo(path, 0o600)
    assert_refused(use(tmp_path, "login", "--list"), "it is not a regular file", "remove it")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_reach_is_not_used(mode: int, tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        path = store_of(tmp_path)
        path.chmod(mode)
        message = ("other users can read or write it", f"chmod 600 {path}")
        assert_refused(use(tmp_path, "login", "--list"), *message)
        assert_refused(use(tmp_path, "logout", servers.url), *message)
        # Before the login is approved.
        before = len(servers.authorizations)
        assert_refused(log_in(tmp_path, servers.url), *message)
        assert len(servers.authorizations) == before
        # A command with a URL may be about another server: it continues without a token.
        ended = use(tmp_path, "list", "--url", servers.url)
        assert ended.code == 3
        assert "note: the file with the logins" in ended.err
        assert servers.given[-1] == ""
        # A suite that needs the login does not.
        server = {"url": servers.url, "auth": {"login": True}}
        suite = {"servers": {"shop": server}, "tools": [{"name": "a", "tool": "echo"}]}
        (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
        asked = len(servers.given)
        ended = use(tmp_path, "run")
        assert ended.code == 3
        assert "other users can read or write it" in ended.out
        assert len(servers.given) == asked


@pytest.mark.cold
def test_the_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with LoginServers() as servers:
            assert_logged_in(log_in(tmp_path, servers.url), servers)
    finally:
        os.umask(before)
    assert store_of(tmp_path).stat().st_mode & 0o777 == 0o600
    assert store_of(tmp_path).parent.stat().st_mode & 0o077 == 0


def test_logins_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    servers = [LoginServers() for _ in range(4)]
    try:
        with ThreadPoolExecutor() as pool:
            ended = list(pool.map(lambda each: log_in(tmp_path, each.url), servers))
    finally:
        for each in servers:
            each.__exit__()
    assert [each.code for each in ended] == [0] * 4, ended
    stored = json.loads(store_of(tmp_path).read_text(encoding="utf-8"))
    assert set(stored["logins"]) == {each.url for each in servers}
    # Nothing else is left beside it.
    assert os.listdir(store_of(tmp_path).parent) == ["logins.json"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file", encoding="utf-8")
    with LoginServers() as servers:
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, "data/mcptest")
    # Before the login is approved.
    assert servers.authorizations == []


def test_the_folder_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir(mode=0o700)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mcptest").symlink_to(tmp_path / "kept")
    with LoginServers() as servers:
        assert_logged_in(log_in(tmp_path, servers.url), servers)
    assert (tmp_path / "kept" / "logins.json").is_file()


def test_a_relative_folder_for_data_is_ignored(tmp_path: Path) -> None:
    with LoginServers() as servers:
        ended = log_in(tmp_path, servers.url, XDG_DATA_HOME="data", HOME=str(tmp_path / "home"))
    assert_logged_in(ended, servers)
    assert (tmp_path / "home" / ".local" / "share" / "mcptest" / "logins.json").is_file()
    assert not (tmp_path / "data").exists()


def test_commands_in_messages_can_be_pasted(tmp_path: Path) -> None:
    folder = tmp_path / "Application Support"
    path = store_of(folder)
    path.parent.mkdir(parents=True)
    path.write_text("{}", encoding="utf-8")
    path.chmod(0o644)
    assert_refused(use(folder, "login", "--list"), f"chmod 600 '{path}', and")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "it is not a list of logins"),
        (json.dumps({"version": 2, "logins": {}}), "a newer version of mcptest"),
        (json.dumps({"version": 1, "logins": {"x": {"scope": 7}}}), "it is not a list of logins"),
        (json.dumps({"version": 1, "logins": {"x": {"other": "7"}}}), "it is not a list of logins"),
        (json.dumps({"version": 1, "logins": {"x": {}}}), "it is not a list of logins"),
        (json.dumps([]), "it is not a list of logins"),
    ],
)
def test_a_file_that_is_not_a_list_of_logins_is_named(
    text: str, message: str, tmp_path: Path
) -> None:
    path = store_of(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    ended = use(tmp_path, "login", "--list")
    assert_refused(ended, message, "remove it and log in again")


# The keyring


def keyring_of(folder: Path) -> dict[str, str]:
    (folder / "file_keyring.py").write_text(KEYRING, encoding="utf-8")
    return {
        "PYTHONPATH": str(folder),
        "PYTHON_KEYRING_BACKEND": "file_keyring.Keyring",
        "KEYRING_FILE": str(folder / "keyring.json"),
    }


def test_tokens_may_be_in_the_keyring(tmp_path: Path) -> None:
    environment = keyring_of(tmp_path)
    with LoginServers() as servers:
        ended = log_in(tmp_path, servers.url, "--keyring", **environment)
        assert_logged_in(ended, servers)
        assert "kept in  the keyring\n" in ended.out
        written = store_of(tmp_path).read_text(encoding="utf-8")
        assert not any(secret in written for secret in CANARIES)
        [kept] = json.loads((tmp_path / "keyring.json").read_text(encoding="utf-8")).values()
        expected = {"access_token": f"{ACCESS}-0", "refresh_token": f"{REFRESH}-0"}
        assert json.loads(kept) == expected | {"client_secret": ""}
        # They are used and renewed there.
        servers.expire()
        ended = use(tmp_path, "call", "echo", "text=hi", "--url", servers.url, **environment)
        assert ended.code == 0, ended.err
        assert servers.given[-1] == f"Bearer {ACCESS}-1"
        assert f"{REFRESH}-1" in (tmp_path / "keyring.json").read_text(encoding="utf-8")
        assert use(tmp_path, "logout", servers.url, **environment).code == 0
        assert (tmp_path / "keyring.json").read_text(encoding="utf-8") == "{}"


def test_a_keyring_that_cannot_be_used_is_explained(tmp_path: Path) -> None:
    environment = keyring_of(tmp_path)
    with LoginServers() as servers:
        ended = log_in(tmp_path, servers.url, "--keyring", **environment, KEYRING_PRIORITY="0")
        assert_refused(ended, "this system has no keyring that can be used", "without --keyring")
        assert servers.authorizations == []
        (tmp_path / "keyring.py").write_text("raise ImportError\n", encoding="utf-8")
        ended = log_in(tmp_path, servers.url, "--keyring", PYTHONPATH=str(tmp_path))
        assert_refused(
            ended, "keyring is missing", "pip install keyring (of the extra mcptest[oauth])"
        )


# The browser


def in_a_terminal(folder: Path, *words: str, **environment: str) -> tuple[int, str]:
    """Run the command with a terminal; its exit code and what the terminal shows."""
    ended = on_terminal(folder, *words, stdin=True, environment=data_of(folder) | environment)
    return ended.code, ended.out


def test_a_browser_is_opened_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "browser.py").write_text(BROWSER, encoding="utf-8")
    browser = f"{sys.executable} {tmp_path / 'browser.py'} %s"
    with LoginServers() as servers:
        code, shown = in_a_terminal(tmp_path, "login", servers.url, BROWSER=browser)
    assert code == 0, shown
    assert servers.refusals == []
    assert "Opening a browser to log in. If it does not open, open this page" in shown
    assert shown.startswith(f"The server names the authorization server {servers.issuer}\n")
    assert f"Logged in to {servers.url}" in shown


@pytest.mark.long
def test_a_browser_that_cannot_be_opened_does_not_end_the_login(tmp_path: Path) -> None:
    with LoginServers() as servers:
        words = ("login", servers.url, "--timeout", "2s")
        code, shown = in_a_terminal(tmp_path, *words, BROWSER="false %s")
    assert code == 3
    assert "No browser could be opened." in shown
    assert "the login was not approved in time" in shown


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"CI": "true"}, "this is CI (CI is set)"),
        ({"GITHUB_ACTIONS": "true"}, "this is CI (GITHUB_ACTIONS is set)"),
        ({"BROWSER": "false"}, "standard error is not a terminal"),
    ],
)
def test_no_browser_is_opened_without_a_terminal(
    environment: dict[str, str], message: str, tmp_path: Path
) -> None:
    ended = mcptest(
        tmp_path, "login", "https://shop.example/mcp", **data_of(tmp_path), **environment
    )
    assert_refused(ended, f"no browser is opened: {message}", "--device", "--bearer-env")
