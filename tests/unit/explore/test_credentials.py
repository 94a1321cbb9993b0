"""Credentials of a command, a URL, headers and variables become references."""

from __future__ import annotations

import os

from case_tables import each_case

from mcptest.explore.credentials import CredentialHider

KEY = "aB3dE5fG7hJ9kL1mN3pQ"


@each_case(
    ("args", "hidden"),
    [
        (["--api-key", "abc-123-def"], ["--api-key", "${API_KEY}"]),
        (["--token=abc-123"], ["--token=${TOKEN}"]),
        (["--api-key", "SECRET"], ["--api-key", "${API_KEY}"]),
        (["--api-key=test"], ["--api-key=${API_KEY}"]),
        (["-api-key", "test"], ["-api-key", "${API_KEY}"]),
        (["--password", "a"], ["--password", "${PASSWORD}"]),
        (["--secret", "no/such/file"], ["--secret", "${SECRET}"]),
        (["--key", "abc"], ["--key", "${KEY_SECRET}"]),
        (["KEY=x"], ["KEY=${KEY_SECRET}"]),
        (["-e", "SHOP_KEY=x"], ["-e", "SHOP_KEY=${SHOP_KEY_SECRET}"]),
        (["--pass", "hunter22"], ["--pass", "${PASS_SECRET}"]),
        (
            ["-H", "Authorization: Basic dXNlcjpwdw=="],
            ["-H", "Authorization: Basic ${AUTHORIZATION}"],
        ),
        (["-e", "SHOP_TOKEN=abc-123"], ["-e", "SHOP_TOKEN=${SHOP_TOKEN}"]),
        (["--header", "X-Api-Key: abc-123"], ["--header", "X-Api-Key: ${X_API_KEY}"]),
        (
            ["--header", "Authorization: Bearer abc.123"],
            ["--header", "Authorization: Bearer ${BEARER_TOKEN}"],
        ),
        (["ghp_abcdef123456"], ["${GITHUB_TOKEN}"]),
        (["sk-abcdef123456"], ["${API_KEY}"]),
        (["--project", "sk-abcdef123456"], ["--project", "${PROJECT_SECRET}"]),
        ([KEY], ["${SECRET}"]),
        (["--shop", KEY], ["--shop", "${SHOP_SECRET}"]),
        ([f"--shop={KEY}"], ["--shop=${SHOP_SECRET}"]),
        (["postgres://bob:hunter22@db/shop"], ["postgres://bob:${PASSWORD}@db/shop"]),
        (["https://a.test/mcp?api_key=abc123"], ["https://a.test/mcp?api_key=${API_KEY}"]),
        ([f"https://a.test/s/{KEY}/mcp"], ["https://a.test/s/${URL_TOKEN}/mcp"]),
        (
            ["--token", "abc-1", "--token", "abc-2"],
            ["--token", "${TOKEN}", "--token", "${TOKEN_2}"],
        ),
        (["--token", "abc-1", "--token", "abc-1"], ["--token", "${TOKEN}", "--token", "${TOKEN}"]),
        (["-token", "abc-123"], ["-token", "${TOKEN}"]),
        (["--token", "-abc-123", "-v"], ["--token", "${TOKEN}", "-v"]),
        (["--token", "--aB3d"], ["--token", "${TOKEN}"]),
        (["https://h/${X}?api_key=abc123"], ["https://h/${X}?api_key=${API_KEY}"]),
        (["--api-key", 'hunter"abc: #${'], ["--api-key", "${API_KEY}"]),
        (["--api-key", "${X:-hunter22}"], ["--api-key", "${API_KEY}"]),
        (["--token=${X}hunter22"], ["--token=${X}${TOKEN}"]),
        ([f"--shop=${{X}}/{KEY}"], ["--shop=${X}/${SECRET}"]),
        (["postgres://${USER}:hunter22@db"], ["postgres://${USER}:${PASSWORD}@db"]),
        (["--pw", "hunter22"], ["--pw", "${PW_SECRET}"]),
        (["--pat=hunter22"], ["--pat=${PAT_SECRET}"]),
        (["--access-code", "hunter22"], ["--access-code", "${ACCESS_CODE_SECRET}"]),
        (["--license-key", "hunter22"], ["--license-key", "${LICENSE_KEY_SECRET}"]),
        (["-u", "bob:hunter22"], ["-u", "bob:${PASSWORD}"]),
    ],
)
def test_a_credential_in_a_command_becomes_a_reference(args: list[str], hidden: list[str]) -> None:
    hider = CredentialHider({}, os.path.isfile)
    assert hider.hide_args(args) == hidden
    assert hider.found
    assert not any(each.value in each.note for each in hider.found.values() if len(each.value) > 6)
    assert all(f"export {each.name}=…" in each.note for each in hider.found.values())


@each_case(
    "args",
    [
        ["server.py", "--port", "8080", "--verbose"],
        ["--api-key", "${MY_KEY}"],
        ["--token=${MY_TOKEN}"],
        ["--token", "--verbose"],
        ["--auth", "none"],
        ["--token", "-v", "--log-level=info"],
        ["Authorization: Bearer ${MY_TOKEN}", "https://bob:${MY_PW}@h/?api_key=${MY_KEY}"],
        ["-u", "1000:1000"],
        ["-u", "bob", "--user", "https://example.com/"],
        ["-m", "server", "-p", "8080"],
        ["--status-code", "hunter22", "--sort-key", "name", "--pattern", "hunter22"],
        ["--api-key", ""],
        ["--api-key="],
        ["--api-key", __file__],
        [f"--secret={__file__}"],
        ["KEYBOARD=de"],
        ["--token-file", "tokens/abc-123"],
        ["--password-file", "/run/secrets/password"],
        ["-y", "@modelcontextprotocol/server-filesystem@2025.11.25", "/data"],
        ["--since", "2025-01-01T12:00:00Z"],
        ["/nix/store/0c6kzph7l0dcbfmjap64f0czdafn3b7x-python/bin/python3"],
        ["00000000-0000-4000-8000-000000000000"],
        ["getWeatherForecastForTheWholeWeek2"],
        ["https://example.com/mcp?page=2"],
    ],
)
def test_an_argument_that_is_not_a_credential_is_kept(args: list[str]) -> None:
    hider = CredentialHider({"MY_KEY": "abc"}, os.path.isfile)
    assert hider.hide_args(args) == args
    assert hider.found == {}


def test_a_value_that_the_shell_took_from_a_variable_refers_to_that_one() -> None:
    hider = CredentialHider({"MY_TOKEN": "abc-123", "_": "abc-123"}, os.path.isfile)
    assert hider.hide_args(["--api-key", "abc-123"]) == ["--api-key", "${MY_TOKEN}"]
    [found] = hider.found.values()
    assert found.note.endswith("is written as ${MY_TOKEN}, which is set to the same value now")


def test_a_value_that_is_known_as_a_secret_is_hidden_wherever_it_is() -> None:
    environment = {"DB_PASSWORD": "tiger-of-old", "HOME": "/home/ada", "A_TOKEN": "1"}
    hider = CredentialHider(environment, os.path.isfile)
    args = ["-p", "tiger-of-old", "--token", "lion-of-old", "-k", "lion-of-old", "/home/ada", "1"]
    assert hider.hide_args(args) == [
        *("-p", "${DB_PASSWORD}", "--token", "${TOKEN}", "-k", "${TOKEN}", "/home/ada", "1"),
    ]
    assert [each.is_set for each in hider.found.values()] == [False, True]


def test_headers_keep_their_scheme_and_their_references() -> None:
    hider = CredentialHider({}, os.path.isfile)
    headers = {"Authorization": "Bearer abc-123", "X-Api-Key": "${KEY}", "Accept": "text/plain"}
    assert hider.hide_headers(headers) == headers | {"Authorization": "Bearer ${AUTHORIZATION}"}
    mixed = {"Cookie": "${A}hunter22", "Authorization": "Bearer ${KEY}"}
    assert hider.hide_headers(mixed) == mixed | {"Cookie": "${A}${COOKIE}"}


def test_a_variable_that_looks_like_a_secret_becomes_a_reference() -> None:
    env = {"API_KEY": "abc", "LOG": "debug", "TOKEN": "${MY_TOKEN}", "Db_Password": "x"}
    env |= {"AUTH_URL": "https://${HOST}/", "DSN": "postgres://${WHO}:hunter22@db"}
    hider = CredentialHider({}, os.path.isfile)
    assert hider.hide_env(env) == {
        "API_KEY": "${API_KEY}",
        "LOG": "debug",
        "TOKEN": "${MY_TOKEN}",
        "Db_Password": "${Db_Password}",
        "AUTH_URL": "https://${HOST}/",
        "DSN": "postgres://${WHO}:${PASSWORD}@db",
    }
    assert {name: found.value for name, found in hider.found.items()} == {
        "API_KEY": "abc",
        "Db_Password": "x",
        "PASSWORD": "hunter22",
    }
