"""The golden frames of the plugin protocol: ours are these bytes, and theirs mean these values."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from case_tables import each_case
from golden import golden_rows, raw, same

from mcptest.core.strict_json import dump_json, parse_json
from mcptest.core.value_class import ABSENT
from mcptest.plugins import PROTOCOL_VERSION, InvalidJson, InvalidResponse, PluginHost, Timeout
from mcptest.plugins.host import encode_request, read_response
from mcptest.protocol.framing import Frame, LineDecoder, Noise
from mcptest.protocol.jsonrpc import id_key

if TYPE_CHECKING:
    from mcptest.plugins import PluginResponse

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "protocol" / "plugin" / f"v{PROTOCOL_VERSION}"
THEMES = sorted(FOLDER.glob("*.jsonl"))
MEMBERS = {
    *("name", "direction", "frame", "frame_base64", "waiting_for", "timed_out", "needs"),
    *("written", "reads_as", "refused_as", "dropped"),
}
REFUSALS: dict[str, type[InvalidJson | InvalidResponse]] = {
    "InvalidJson": InvalidJson,
    "InvalidResponse": InvalidResponse,
}

GOLDEN = golden_rows(THEMES)
HOSTS = [row for row in GOLDEN if row.values[0]["direction"] == "host"]
PLUGINS = [row for row in GOLDEN if row.values[0]["direction"] == "plugin"]


def written(response: PluginResponse) -> dict[str, Any]:
    """A response as `reads_as` has it."""
    if response.error is None:
        return {"id": response.id, "result": response.result}
    error: dict[str, Any] = {"code": response.error.code, "message": response.error.message}
    if response.error.data is not None:
        error["data"] = response.error.data
    return {"id": response.id, "error": error}


# The files


def test_every_theme_has_its_file() -> None:
    assert [theme.stem for theme in THEMES] == [
        "big-numbers",
        "both-neither",
        "error",
        "ids",
        "large-payload",
        "more-members",
        "not-json",
        "request",
        "result",
        "unicode",
    ]


@each_case("row", GOLDEN)
def test_a_row_says_one_line_and_one_meaning(row: dict[str, Any]) -> None:
    assert set(row) <= MEMBERS
    assert len({"frame", "frame_base64"} & set(row)) == 1
    assert len({"reads_as", "refused_as", "dropped"} & set(row)) == 1
    assert row["direction"] in ("host", "plugin")
    assert row.get("refused_as", "InvalidJson") in REFUSALS
    assert b"\n" not in raw(row)
    if row["direction"] == "host":
        assert "reads_as" in row


def test_every_meaning_is_there_in_both_directions() -> None:
    rows = [row.values[0] for row in PLUGINS]
    for meaning in ("reads_as", "refused_as", "dropped"):
        assert any(meaning in row for row in rows)
    assert {row.get("refused_as") for row in rows} >= set(REFUSALS)
    assert any(len(raw(row.values[0])) > 65536 for row in HOSTS), "more than a pipe holds"
    assert any(len(raw(row)) > 65536 for row in rows)


# What a host writes


@each_case("row", HOSTS)
def test_a_request_is_these_very_bytes_and_reads_as_this(row: dict[str, Any]) -> None:
    request = row["reads_as"]
    assert same(parse_json(row["frame"]), request)
    if row.get("written", True):
        assert set(request) <= {"method", "params", "id"}
        params = request.get("params", ABSENT)
        assert encode_request(request["id"], request["method"], params) == raw(row) + b"\n"


# What a plugin writes


@each_case("row", PLUGINS)
def test_a_line_of_a_plugin_is_read_refused_or_ignored(row: dict[str, Any]) -> None:
    items = LineDecoder(keeps_raw=True).feed(raw(row) + b"\n")
    if not items:
        assert row["dropped"] is True
        return
    (item,) = items
    if row.get("refused_as") == "InvalidJson":
        assert isinstance(item, Noise)
        return
    assert isinstance(item, Frame)
    assert item.raw == raw(row)
    line = item.raw.decode()
    try:
        response = read_response(item.value, line)
    except InvalidResponse:
        assert row["refused_as"] == "InvalidResponse"
        return
    is_awaited = id_key(response.id) == id_key(row.get("waiting_for", 1))
    assert is_awaited == ("reads_as" in row)
    if is_awaited:
        assert same(written(response), row["reads_as"])
    else:
        assert (response.id in row.get("timed_out", [])) == ("dropped" in row)


@each_case("row", [row for row in PLUGINS if "reads_as" in row.values[0]])
def test_frames_are_understood_in_any_json_formatting(row: dict[str, Any]) -> None:
    """The same value as we would write it reads the same."""
    again: Any = parse_json(dump_json(row["reads_as"]))
    assert same(written(read_response(again, "")), row["reads_as"])


# A whole host

# Answers no call that is to time out, all others before the last, and says its lines then.
PLAYER = """
import sys
lines, last, timed_out = open(sys.argv[1], "rb").read(), int(sys.argv[2]), sys.argv[3:]
for number in range(1, last + 1):
    sys.stdin.readline()
    if number < last and str(number) not in timed_out:
        sys.stdout.write('{"id":%d,"result":0}\\n' % number)
        sys.stdout.flush()
sys.stdout.buffer.write(lines)
"""
LONG_S, SHORT_S = 30.0, 0.1


def playable(row: dict[str, Any]) -> bool:
    """Our host counts its calls from 1."""
    return isinstance(row.get("waiting_for", 1), int)


@pytest.mark.parametrize("row", [row for row in PLUGINS if playable(row.values[0])])
def test_a_host_that_waits_takes_the_line_as_it_is_meant(
    row: dict[str, Any], tmp_path: Path
) -> None:
    last, timed_out = row.get("waiting_for", 1), row.get("timed_out", [])
    following = b'{"id":%d,"result":"the next line"}\n' % last
    (tmp_path / "lines").write_bytes(raw(row) + b"\n" + following)
    words = [str(tmp_path / "lines"), str(last), *map(str, timed_out)]
    with PluginHost([sys.executable, "-S", "-E", "-c", PLAYER, *words], LONG_S, first_id=1) as host:
        for number in range(1, last):
            host.call_timeout = SHORT_S if number in timed_out else LONG_S
            with pytest.raises(Timeout) if number in timed_out else nullcontext():
                host.call("near")
        host.call_timeout = LONG_S
        if "refused_as" in row:
            refused = REFUSALS[row["refused_as"]]
            with pytest.raises(refused) as caught:
                host.call("near")
            shown = raw(row).decode("utf-8", "backslashreplace")
            assert caught.value.line in (shown, shown[:4096])
        elif "dropped" in row:
            assert host.call("near").result == "the next line"
        else:
            assert same(written(host.call("near")), row["reads_as"])


# The version


def test_the_version_is_that_of_the_folder_and_of_the_page() -> None:
    folders = [path.name for path in (ROOT / "protocol" / "plugin").iterdir()]
    assert folders == [f"v{PROTOCOL_VERSION}"]
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    assert re.findall(r"The protocol version is \*\*(.+?)\*\*", page) == [str(PROTOCOL_VERSION)]
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(
        f"# Golden frames of the plugin protocol, version {PROTOCOL_VERSION}\n"
    )
