"""Errors of a broken server are distinguished from errors about a generated value."""

from __future__ import annotations

from typing import Any

from case_tables import each_case

from mcptest.explore.error_answers import find_breakage

MADE_UP = {"path": "example", "limit": 1}


def failed(text: str) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}


def error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


BROKEN = [
    "KeyError: 'city'",
    "Error executing tool x: TypeError: unsupported",
    "java.lang.NullPointerException",
    "Traceback (most recent call last):\n  File x",
    "Cannot read properties of undefined (reading 'a')",
    "'NoneType' object has no attribute 'get'",
    "f() missing 1 required positional argument: 'a'",
    "panic: runtime error",
    "ENOENT: no such file or directory, open '/srv/data/db.json'",
    "[Errno 2] No such file or directory: 'config.yaml'",
    "connect ECONNREFUSED 127.0.0.1:5432",
    "getaddrinfo ENOTFOUND api.shop.test",
    "fetch failed",
    "Request timed out",
    "Could not connect to the database",
    "API key not found",
    "Invalid API key",
    "WEATHER_TOKEN is required",
    "Missing environment variable SHOP_URL",
    "The client is not configured",
    "You are not logged in",
    "401 Unauthorized",
    "Request failed with status code 403",
    "HTTP error 500",
    "503 Service Unavailable",
    "rate limit exceeded",
    "Internal server error",
    "An unexpected error occurred",
    "git: command not found",
    "/bin/sh: 1: git: command not found",
    'exec: "git": executable file not found in $PATH',
    "ffmpeg is not installed",
    "no such table: users",
    'relation "users" does not exist',
    "Table 'shop.users' doesn't exist",
    "Unknown database 'shop'",
    "Permission denied",
    "[Errno 13] Permission denied: '/srv/data/db.json'",
    "EACCES: permission denied, open '/srv/x'",
    "Operation not permitted",
    "Connection refused",
    "[Errno 111] Connection refused",
    "Connection to localhost:5432 refused",
    "The connection was refused",
    "localhost refused to connect",
    "connect failed: No connection could be made because the target actively refused it",
    "connection_refused",
    "error: econnrefused",
    "dial tcp: lookup db: no such host",
    "Unknown host db",
    "ENOENT: no such file or directory, open '/srv/examples/db.json'",
    "File not found: /srv/data/db.json",
    "Cannot find module 'left-pad'",
    "unable to open database file",
    "Quota exceeded",
    "You exceeded your current quota",
    "insufficient_quota",
    "Rate limit reached",
    "rate_limit_exceeded",
    "You are being rate-limited",
    "Unauthorized",
    "You are not authorized",
    "Token expired",
    "it went wrong",
    "",
]


@each_case("text", BROKEN)
def test_an_error_that_is_not_about_a_value_is_a_breakage(text: str) -> None:
    assert find_breakage(failed(text), MADE_UP)


ABOUT_A_VALUE = [
    "City not found",
    "No results were found",
    "Unknown timezone: example",
    "Invalid date",
    "ENOENT: no such file or directory, open '/data/example'",
    "EISDIR: illegal operation on a directory, read",
    "limit must be at least 5",
    "Unsupported currency",
    "Access denied - path outside allowed directories",
    "User example does not exist",
    "MCP error -32602: Input validation error: api_key is too short",
    "Input validation error: 'timeout' is a required property",
    "1 validation error for getArguments\ntoken\n  Field required",
    "ValidationError: limit is out of range",
    "404 page not found",
    "Error: could not parse the expression",
    "File not found: /data/example",
    "command not found: example",
    "no such table: example",
    "Unknown command",
    "Input validation error: Rate limit must be a number",
]


@each_case("text", ABOUT_A_VALUE)
def test_an_error_about_a_value_is_none(text: str) -> None:
    assert find_breakage(failed(text), MADE_UP) is None


@each_case(
    ("answer", "is_broken"),
    [
        (error(-32602, "no"), False),
        (error(-32602, "Missing required parameter: api_key"), False),
        (error(-32602, "KeyError: 'a'"), True),
        (error(-32602, "connection refused"), True),
        (error(-32602, "Unauthorized"), True),
        (error(-32602, "no such table: users"), True),
        (error(-32602, "no such table: example"), False),
        (error(-32602, "Quota exceeded"), True),
        (error(-32002, "Resource a://1"), False),
        (error(-32603, "City not found"), True),
        (error(-32600, "Invalid request"), True),
        (error(-32601, "Method not found"), True),
        (error(-32000, "City not found"), True),
        (error(-32042, "Open this address"), True),
        (error(7, "City not found"), False),
        (error(7, "oops"), True),
        ({"error": {}}, True),
        ({"error": "no"}, True),
        ({"result": {"content": [], "isError": "yes"}}, True),
        ({"result": {"content": []}}, False),
    ],
)
def test_the_code_counts(answer: dict[str, Any], is_broken: bool) -> None:
    assert bool(find_breakage(answer, MADE_UP)) == is_broken


@each_case(
    ("answer", "is_broken"),
    [
        (error(-32602, "a is missing"), False),
        (failed("it went wrong"), False),
        (failed("'a' is a required property"), False),
        (failed("'a'"), True),
        (failed("Error executing tool x: 'a'"), True),
        (failed("KeyError: 'a'"), True),
        (failed("Cannot read properties of undefined"), True),
        (failed("connect ECONNREFUSED"), True),
        (error(-32603, "a is missing"), True),
    ],
)
def test_a_call_without_an_argument_may_be_refused_in_any_words(
    answer: dict[str, Any], is_broken: bool
) -> None:
    assert bool(find_breakage(answer, {}, missing="a")) == is_broken


def test_server_output_is_quoted_shortened_and_without_secrets() -> None:
    found = find_breakage(failed(f"fetch failed\nwith sk-abcdef123456 {'x' * 500}"), {})
    assert found
    assert found.said.startswith('"fetch failed with REDACTED xxx')
    assert len(found.said) < 130
    assert found.reason.endswith("cannot be reached; make it reachable, and take this line out")
