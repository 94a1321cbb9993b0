"""Where the tokens of a login are sent, and what becomes of one that is refused."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import processes
import pytest
from console import ENVIRONMENT, PATIENCE_S
from login_server import ACCESS, LoginServers
from logins import assert_logged_in, data_of, log_in, store_of, use

if TYPE_CHECKING:
    from pathlib import Path

    from console import Ended

TESTS = {"tools": [{"name": "echoes", "tool": "echo", "args": {"text": "hi"}}]}


def write_suite(folder: Path, url: str, **auth: Any) -> None:
    server = {"url": url, "auth": auth or {"login": True}}
    suite = {"servers": {"shop": server}, **TESTS}
    (folder / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")


def edit(folder: Path, **changes: object) -> None:
    """Change the one login that is stored."""
    path = store_of(folder)
    document = json.loads(path.read_text(encoding="utf-8"))
    for login in document["logins"].values():
        login.update(changes)
    path.write_text(json.dumps(document), encoding="utf-8")


def read_login(folder: Path) -> dict[str, Any]:
    document = json.loads(store_of(folder).read_text(encoding="utf-8"))
    [login] = document["logins"].values()
    return dict(login)


def assert_login_needed(ended: Ended, servers: LoginServers, *message: str) -> None:
    assert ended.code == 3, ended
    shown = " ".join((ended.out + ended.err).split())
    assert f"run mcptest login {servers.url}" in shown
    for text in message:
        assert text in shown


# The command line


def test_commands_with_a_url_use_the_login_and_say_so(tmp_path: Path) -> None:
    (tmp_path / "a.test.mcp.yml").write_text(
        "description: a\ntests:\n- it: pings\n  request: {jsonrpc: '2.0', id: 1, method: ping}\n"
        "  expect: {response: {jsonrpc: '2.0', id: 1, result: {}}}\n",
        encoding="utf-8",
    )
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        note = f"note: your login for {servers.url} is used; --no-login leaves it out\n"
        for words in (
            ("run", "a.test.mcp.yml"),
            ("list", "tools"),
            ("call", "echo", "text=hi"),
        ):
            before = len(servers.given)
            ended = use(tmp_path, *words, "--url", servers.url)
            assert (ended.code, ended.err) == (0, note), ended
            # Already the first request has it: nothing is refused.
            assert set(servers.given[before:]) == {f"Bearer {ACCESS}-0"}


def test_without_it_no_token_is_sent(tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        before = len(servers.given)
        ended = use(tmp_path, "list", "--url", servers.url, "--no-login")
        assert ended.code == 3
        assert set(servers.given[before:]) == {""}
        ended = use(tmp_path, "list", "--url", servers.url, "--bearer-env", "T", T="my-own-token")
        assert ended.code == 3
        assert "note" not in ended.err
        assert servers.given[-1] == "Bearer my-own-token"


@pytest.mark.parametrize("other", ["/mcp?x=1", "/other", "/mcp/"])
def test_no_other_url_gets_the_token(other: str, tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        before = len(servers.given)
        ended = use(tmp_path, "list", "--url", f"{servers.origin}{other}")
        assert ended.code == 3
        assert f"{ACCESS}-0" not in " ".join(servers.given[before:])


def test_no_login_is_for_a_url(tmp_path: Path) -> None:
    ended = use(tmp_path, "list", "--no-login", "--", "true")
    assert ended.code == 2
    assert "--no-login is for the server at --url" in ended.err


def test_checks_of_a_server_send_it_as_clients_do(tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        words = ("compliance", "run", "--only", "AUTH", "--url", servers.url)
        ended = use(tmp_path, *words)
        assert ended.code in (0, 1), ended.err
        shown = set(servers.given)
        # With the token, and for some checks without it or with another one.
        assert shown > {"", f"Bearer {ACCESS}-0"}
        before = len(servers.given)
        ended = use(tmp_path, "security", "--only", "SEC-022", "--url", servers.url)
        assert ended.code in (0, 1), ended.err
        assert f"Bearer {ACCESS}-0" in servers.given[before:]
        servers.revoke()
        assert use(tmp_path, *words).code == 3


def test_every_command_says_that_a_login_has_ended(tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        edit(tmp_path, expires_at=1.0, refresh_token="")
        for words in (("list",), ("security",), ("compliance", "run"), ("docs",)):
            ended = use(tmp_path, *words, "--url", servers.url)
            assert_login_needed(ended, servers, f"login of {servers.issuer} has expired")


# Suites and configs


def test_a_suite_uses_the_login(tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        write_suite(tmp_path, servers.url)
        ended = use(tmp_path, "run", "--reporter", "json")
    assert ended.code == 0, ended.out
    assert servers.given[-1] == f"Bearer {ACCESS}-0"


def test_a_config_uses_the_login(tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        config = {"name": "shop", "url": servers.url, "auth": {"login": True}}
        (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
        ended = use(tmp_path, "call", "echo", "text=hi")
        assert (ended.code, ended.err) == (0, "")
        # A token of the command line replaces it.
        ended = use(tmp_path, "call", "echo", "text=hi", "--bearer-env", "T", T="my-own-token")
        assert ended.code == 3
        assert servers.given[-1] == "Bearer my-own-token"


def test_a_suite_without_a_login_fails_and_says_how_to_log_in(tmp_path: Path) -> None:
    with LoginServers() as servers:
        write_suite(tmp_path, servers.url)
        ended = use(tmp_path, "run")
    assert_login_needed(ended, servers, f"there is no login for {servers.url}")
    # Nothing was sent to the server without it.
    assert servers.given == []


def test_an_address_is_quoted_in_the_command_for_a_shell(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/mcp?a=$(true)&b=1"
    write_suite(tmp_path, url)
    ended = use(tmp_path, "run")
    assert ended.code == 3
    assert f"run mcptest login '{url}'" in " ".join(ended.out.split())


def test_a_missing_login_is_reported(tmp_path: Path) -> None:
    message = "or log in: mcptest login URL"
    with LoginServers() as servers:
        ended = use(tmp_path, "list", "--url", servers.url)
        assert ended.code == 3
        assert message in ended.err
        # Not where another token was refused, or no token is asked for.
        ended = use(tmp_path, "list", "--url", servers.url, "--bearer-env", "T", T="my-own-token")
        assert message not in ended.err
        servers.challenge = None
        ended = use(tmp_path, "list", "--url", servers.url)
        assert message not in ended.err


# Expiry and refusal


def test_an_expired_token_is_renewed_and_kept(tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        edit(tmp_path, expires_at=1.0)
        write_suite(tmp_path, servers.url)
        assert use(tmp_path, "run").code == 0
        assert use(tmp_path, "run").code == 0
        assert servers.given[-1] == f"Bearer {ACCESS}-1"
    assert servers.refusals == []
    # The refresh token was used once; the next one is stored.
    assert list(servers.refreshes) == [read_login(tmp_path)["refresh_token"]]
    assert servers.issued == 2


def test_a_token_that_the_server_refuses_is_renewed_once(tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        servers.expire()
        ended = use(tmp_path, "call", "echo", "text=hi", "--url", servers.url)
        assert ended.code == 0, ended.err
        assert servers.issued == 2
        # A server that accepts no token at all is reported, not asked again and again.
        servers.tokens = Nothing()
        ended = use(tmp_path, "call", "echo", "text=hi", "--url", servers.url)
    assert_login_needed(ended, servers)
    assert servers.issued == 3


class Nothing(dict[str, set[str]]):
    """Tokens of which none is valid."""

    def __contains__(self, key: object) -> bool:
        return False


def test_a_revoked_login_is_explained(tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        servers.revoke()
        write_suite(tmp_path, servers.url)
        ended = use(tmp_path, "run")
        assert_login_needed(ended, servers, "could not be renewed", "invalid_grant")
        ended = use(tmp_path, "list", "--url", servers.url)
        assert_login_needed(ended, servers, "could not be renewed", "invalid_grant")
        # The way out is the one that was named.
        servers.refusals.clear()
        assert_logged_in(log_in(tmp_path, servers.url), servers)
        assert use(tmp_path, "run").code == 0


def test_a_renewal_that_takes_too_long_is_explained(tmp_path: Path) -> None:
    is_over = threading.Event()
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        edit(tmp_path, expires_at=1.0)
        write_suite(tmp_path, servers.url)

        def wait(*_: object) -> None:
            is_over.wait(PATIENCE_S)

        servers.pages["/token"] = wait
        ended = use(tmp_path, "run", "--start-timeout", "1")
        is_over.set()
    assert_login_needed(ended, servers, "no answer within 0.9 s")


def test_a_login_that_cannot_be_renewed_is_explained(tmp_path: Path) -> None:
    with LoginServers() as servers:
        servers.gives_refresh = False
        log_in(tmp_path, servers.url)
        write_suite(tmp_path, servers.url)
        servers.expire()
        assert_login_needed(use(tmp_path, "run"), servers, "refused initialize with status 401")
        edit(tmp_path, expires_at=1.0)
        assert_login_needed(use(tmp_path, "run"), servers, f"login of {servers.issuer} has expired")
    assert servers.requests[1:] == []


def test_missing_scopes_are_named_with_the_command_that_adds_them(tmp_path: Path) -> None:
    with LoginServers(scope="read") as servers:
        servers.scopes = {"tools/call": "write"}
        log_in(tmp_path, servers.url)
        ended = use(tmp_path, "call", "echo", "text=hi", "--url", servers.url)
        assert ended.code == 1
        assert f'run mcptest login {servers.url} --scope "read write"' in ended.err
        log_in(tmp_path, servers.url, "--scope", "read write")
        assert use(tmp_path, "call", "echo", "text=hi", "--url", servers.url).code == 0


def test_a_scope_that_a_shell_would_interpret_is_not_in_the_command(tmp_path: Path) -> None:
    with LoginServers(scope="read $(true)") as servers:
        servers.scopes = {"tools/call": "`true` write"}
        log_in(tmp_path, servers.url)
        ended = use(tmp_path, "call", "echo", "text=hi", "--url", servers.url)
    assert f'run mcptest login {servers.url} --scope "read write"' in ended.err


def test_processes_that_renew_at_once_do_not_spoil_it(tmp_path: Path) -> None:
    """A refresh token that is used twice would end all of them."""
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        edit(tmp_path, expires_at=1.0)
        words = ("call", "echo", "text=hi", "--url", servers.url)
        with ThreadPoolExecutor() as pool:
            ended = list(pool.map(lambda _: use(tmp_path, *words), range(6)))
    assert [each.code for each in ended] == [0] * 6, ended
    assert servers.refusals == []
    assert servers.issued == 2


def test_ctrl_c_ends_the_wait_for_another_process(tmp_path: Path) -> None:
    with LoginServers() as servers:
        log_in(tmp_path, servers.url)
        edit(tmp_path, expires_at=1.0)
        folder = os.open(store_of(tmp_path).parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            process = processes.start(
                [sys.executable, "-m", "mcptest", "list", "--url", servers.url],
                cwd=tmp_path,
                env=ENVIRONMENT | data_of(tmp_path),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            assert process.stderr
            # The note that the login is used: what follows is the wait.
            process.stderr.readline()
            os.kill(process.pid, signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE_S)
        finally:
            os.close(folder)
    assert process.returncode == 130, err


def test_a_token_that_lasts_a_moment_is_renewed_before_each_request(tmp_path: Path) -> None:
    with LoginServers(lasts_s=1) as servers:
        log_in(tmp_path, servers.url)
        ended = use(tmp_path, "call", "echo", "text=hi", "--url", servers.url)
    assert ended.code == 0, ended.err
    assert servers.refusals == []
