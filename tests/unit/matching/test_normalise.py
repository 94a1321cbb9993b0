"""What varies from run to run gives way to a placeholder, and what is content stays."""

from __future__ import annotations

import json
import random
import string

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.text import EVERY
from mcptest.matching.regex import compile_expression
from mcptest.matching.snapshots import IGNORED, Replacement, Rules, normalise

UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
OTHER = "0f8fad5b-d9cb-469f-a165-70867728950e"
NANOID = "V1StGXR8_Z5jdHi6B-myT"

TEXTS = st.text(max_size=30) | st.text(st.sampled_from("/\\:.-T0123456789abcXYZ \"'file"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def plain(value: object) -> object:
    return normalise(value, Rules())


def under(key: str, value: object) -> object:
    written = plain({key: value})
    assert isinstance(written, dict)
    return written[key]


# Texts


@each_case(
    ("text", "shown"),
    [
        (f"order {UUID}.", "order <uuid-1>."),
        (f"user_{UUID}", "user_<uuid-1>"),
        (UUID.upper(), "<uuid-1>"),
        ("at 2024-05-01T10:00:00Z", "at <time>"),
        ("2024-05-01T10:00:00.123456+02:00", "<time>"),
        ("2024-05-01 10:00", "<time>"),
        ("backup-2024-05-01 10:00:00 UTC.zip", "backup-<time>.zip"),
        ("20240501T101112Z", "<time>"),
        ("Tue, 12 Nov 2024 10:11:12 GMT", "<time>"),
        ("Tue Nov 12 10:11:12 UTC 2024", "<time>"),
        ("see /home/ada/shop/a.py:12", "see <path>/a.py:12"),
        ("in /home/ada, and", "in <path>, and"),
        ("/Users/ada/x", "<path>/x"),
        ("/var/folders/zz/T/out.txt", "<path>/out.txt"),
        ("/tmp/tmpab12cd_9/out", "<path>/out"),
        ("/tmp/tmpab12cd_9", "<path>/<temp>"),
        ("/tmp/mcp-x8Kd02", "<path>/<temp>"),
        ("C:\\Users\\Ada\\a.txt", "<path>/a.txt"),
        ("C:\\Users\\Ada", "<path>"),
        ('{"p": "D:\\\\a\\\\b\\\\c.txt"}', '{"p": "<path>/c.txt"}'),
        ("file:///srv/shop/a.txt", "file://<path>/a.txt"),
        ("file:///home/ada", "file://<path>"),
        ("file:///C:/a/b.txt", "file://<path>/b.txt"),
        ("http://localhost:54321/x", "http://localhost:<port-1>/x"),
        ("on 127.0.0.1:40001", "on 127.0.0.1:<port-1>"),
        ("<Shop object at 0x7f8a2c3d4e50>", "<Shop object at <address>>"),
        ("it took 12 ms", "it took <duration>"),
        ("done in 0.35s", "done in <duration>"),
        (f'{{"id": "{NANOID}", "n": 1}}', '{"id": "<id-1>", "n": 1}'),
        ('{"createdAt": 1700000000000}', '{"createdAt": <epoch-ms>}'),
    ],
)
def test_varying_parts_of_a_string_are_replaced_and_the_rest_stays(text: str, shown: str) -> None:
    assert plain({"text": text}) == {"text": shown}


@each_case(
    "text",
    [
        "",
        "A-17",
        "00000000-0000-0000-0000-000000000000",
        f"x{UUID}",
        "2024-05-01",
        "10:11:12",
        "1999-12-31T23:59:59Z",
        "1970-01-01T00:00:00Z",
        "version 2024-05-01T99:00",
        "/api/v1/users",
        "and/or",
        "text/plain",
        "/etc/hosts",
        "/tmp",
        "https://shop.example/home/ada/x",
        "file:///readme",
        "C:\\temp",
        "x:\\d+",
        "http://localhost:8080/x",
        "http://shop.example:54321/x",
        "retry in 500 ms",
        "lasts 3 s",
        "0x7f8a2c3d4e50",
        '{"id": "A-17", "price": 1700000000000}',
        NANOID,
    ],
)
def test_probable_content_is_not_replaced(text: str) -> None:
    assert plain({"text": text}) == {"text": text}


# Values that are known by their keys


@each_case(
    ("key", "value", "shown"),
    [
        ("id", NANOID, "<id-1>"),
        ("userId", "507f1f77bcf86cd799439011", "<id-1>"),
        ("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736", "<id-1>"),
        ("ID", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "<id-1>"),
        ("message_id", "msg_01XFDUDYJgAACzvnptvVoYEL", "msg_<id-1>"),
        ("ids", [NANOID, "x", NANOID], ["<id-1>", "x", "<id-1>"]),
        ("createdAt", 1700000000000, "<epoch-ms>"),
        ("mtimeMs", 1700000000000.25, "<epoch-ms>"),
        ("expires_at", 1700000000, "<epoch>"),
        ("ts", "1700000000123", "<epoch-ms-text>"),
        ("timestamp_ns", 1700000000000000000, "<epoch-ns>"),
        ("took", 12.5, "<duration>"),
        ("elapsed_ms", 3, "<duration>"),
        ("latency", "12 ms", "<duration>"),
        ("pid", 4711, "<pid>"),
        ("cwd", "/srv/shop", "<path>/shop"),
        ("filePath", "/srv/my shop/a.txt", "<path>/a.txt"),
        ("path", "/srv/shop/a.txt", "<path>/a.txt"),
    ],
)
def test_a_key_says_that_its_value_varies(key: str, value: object, shown: object) -> None:
    assert under(key, value) == shown


@each_case(
    ("key", "value"),
    [
        ("id", 17),
        ("id", "A-17"),
        ("orderId", "order-2024-000017"),
        ("modelId", "claude-3-5-Sonnet-20241022"),
        ("modelId", "gpt-4o-mini-2024-07-18"),
        ("typeId", "orderItemVersion2Beta"),
        ("actionId", "getUserByIdFromDb2"),
        ("productId", "sku-AB12-CD34-EF56"),
        ("cardId", "4111111111111111"),
        ("clusterId", "us-east-1-prod-cluster-2"),
        ("name", NANOID),
        ("price", 1700000000000),
        ("createdAt", 17),
        ("createdAt", True),
        ("createdAt", None),
        ("duration", 215),
        ("elapsed", "a while"),
        ("path", "/api/v1/users"),
        ("cwd", "/"),
        ("cwd", "shop"),
    ],
)
def test_a_key_alone_is_not_enough(key: str, value: object) -> None:
    assert under(key, value) == value


@pytest.mark.parametrize(
    ("letters", "length"),
    [
        (string.ascii_letters + string.digits + "_-", 21),
        (string.ascii_letters + string.digits, 22),
        (string.ascii_lowercase + string.digits, 25),
        ("0123456789abcdef", 24),
    ],
)
def test_nearly_every_random_id_is_seen(letters: str, length: int) -> None:
    chance = random.Random(7)
    ids = ["".join(chance.choice(letters) for _ in range(length)) for _ in range(2000)]
    missed = [text for text in ids if "<id-1>" not in str(under("id", text))]
    assert len(missed) <= 20


# Numbers


def test_equal_originals_get_equal_numbers_in_the_order_of_the_result() -> None:
    value = {"z": UUID, "a": f"{OTHER}, {UUID.upper()}", "id": NANOID}
    assert plain(value) == {"a": "<uuid-1>, <uuid-2>", "id": "<id-1>", "z": "<uuid-2>"}


def test_times_get_no_number_for_it_is_chance_whether_they_are_equal() -> None:
    at_once = {"created": "2024-05-01T10:00:00Z", "updated": "2024-05-01T10:00:00Z"}
    later = {"created": "2024-05-01T10:00:00Z", "updated": "2024-05-01T10:00:01Z"}
    assert plain(at_once) == plain(later)


def test_the_order_of_keys_does_not_matter() -> None:
    one = {"a": {"x": UUID, "y": OTHER}, "b": OTHER}
    other = {"b": OTHER, "a": {"y": OTHER, "x": UUID}}
    assert json.dumps(plain(one)) == json.dumps(plain(other))


def test_a_key_that_varies_is_replaced_and_is_last() -> None:
    written = plain({UUID: 1, "z": 2, OTHER: 3})
    assert list(written.items()) == [("z", 2), ("<uuid-1>", 1), ("<uuid-2>", 3)]  # type: ignore[attr-defined]  # it is a dict


def test_keys_that_would_look_the_same_are_kept_apart() -> None:
    value = {"/home/ada/a/x": 1, "/home/ada/b/x": 2, "<path>/x": 3}
    written = plain(value)
    assert isinstance(written, dict)
    assert sorted(written.values()) == [1, 2, 3]


# What an author says


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        (("a",), {"b": [{"id": 1, "n": 2}, {"id": 3}]}),
        (("b", EVERY, "id"), {"a": {"x": 1}, "b": [{"n": 2}, {}]}),
        (("b", 0), {"a": {"x": 1}, "b": [IGNORED, {"id": 3}]}),
        (("b", "1", "id"), {"a": {"x": 1}, "b": [{"id": 1, "n": 2}, {}]}),
        (("a", EVERY), {"a": {}, "b": [{"id": 1, "n": 2}, {"id": 3}]}),
        (("b", EVERY), {"a": {"x": 1}, "b": [IGNORED, IGNORED]}),
        (("nope", "x"), {"a": {"x": 1}, "b": [{"id": 1, "n": 2}, {"id": 3}]}),
        (("a", "x", "y"), {"a": {"x": 1}, "b": [{"id": 1, "n": 2}, {"id": 3}]}),
        (("b", 9), {"a": {"x": 1}, "b": [{"id": 1, "n": 2}, {"id": 3}]}),
    ],
)
def test_ignored_members_are_left_out(steps: tuple[str | int, ...], left: object) -> None:
    value = {"a": {"x": 1}, "b": [{"id": 1, "n": 2}, {"id": 3}]}
    before = json.dumps(value)
    assert normalise(value, Rules(ignored=(steps,))) == left
    assert json.dumps(value) == before


def replaced(text: str, *pairs: tuple[str, str]) -> object:
    rules = (Replacement(expression=compile_expression(p), text=shown) for p, shown in pairs)
    return normalise(text, Rules(replaced=tuple(rules)))


def test_an_author_can_replace_more() -> None:
    assert replaced("build 4711 of v12", (r"\d{4}", "N"), (r"v\d+", r"\1v")) == r"build N of \1v"


def test_replacements_of_the_author_are_applied_first() -> None:
    assert replaced(f"key {UUID}", ("key [0-9a-f-]+", "<key>")) == "<key>"


def test_a_pattern_that_matches_nothing_puts_nothing() -> None:
    assert replaced("aab", ("a*", "x")) == "xb"


def test_two_adjacent_surrogates_are_one_character() -> None:
    assert replaced("\ud83dx\ude00", ("x", "")) == "😀"
    assert replaced("\ud83dx", ("x", "")) == "\ud83d"


# Any value


@pytest.mark.slow
@given(VALUES)
def test_a_normalised_value_is_not_changed_again(value: object) -> None:
    once = plain(value)
    assert plain(once) == once


@pytest.mark.long
@pytest.mark.slow
@each_case(
    "text",
    [
        "/tmp/" * 100_000,
        "/tmp/" + "a" * 500_000,
        "=/tmp/a" * 70_000,
        " /home/a" * 60_000,
        " a:/b" * 100_000,
        "a:/" + "b" * 500_000,
        "file://" * 70_000,
        '"a":"' * 100_000,
        "1" * 500_000,
        "2024-01-01T00:00:00" * 25_000,
        UUID * 14_000,
        "\\" * 500_000,
        "took " * 100_000,
    ],
)
def test_a_hostile_text_is_done_with_in_one_go(text: str) -> None:
    """Each would take minutes if an expression scanned it again and again."""
    assert isinstance(under("id", text), str)


@pytest.mark.parametrize("text", ["a" * 999 + "A", "aA" * 499, "a_" * 499 + "A", "_" * 500])
def test_a_hostile_id_is_done_with_in_one_go(text: str) -> None:
    assert isinstance(under("id", text), str)


def test_a_deep_value_is_taken() -> None:
    value: object = UUID
    for _ in range(200):
        value = [{"a": value}]
    assert "<uuid-1>" in json.dumps(plain(value))
