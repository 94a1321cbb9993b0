"""The golden frames of the suite channel, and the JSON Schemas of the frames of both channels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from case_tables import each_case

from mcptest.cli.commands.schema import schema_of
from mcptest.coprocess.protocol import SUITE_METHODS, RefusedError, read_request
from mcptest.protocol.framing import LineDecoder

PROTOCOL = Path(__file__).parents[2] / "protocol"
SUITE = PROTOCOL / "suite" / "v1"
COPROCESS = PROTOCOL / "coprocess" / "v2"

Row = dict[str, Any]


def rows_in(folder: Path) -> list[Row]:
    themes = sorted(folder.glob("*.jsonl"))
    lines = (line for theme in themes for line in theme.read_text("ascii").splitlines())
    return [json.loads(line) for line in lines]


def ids(rows: list[Row]) -> list[Any]:
    names = [f"{row['direction']}: {row['name']}" for row in rows]
    assert len(set(names)) == len(names)
    return [pytest.param(row, id=name) for row, name in zip(rows, names, strict=True)]


ROWS = ids(rows_in(SUITE))
SDKS = [row for row in ROWS if row.values[0]["direction"] == "sdk"]
BINARIES = [row for row in ROWS if row.values[0]["direction"] == "binary"]


@each_case("row", SDKS)
def test_the_binary_reads_or_refuses_what_an_sdk_writes(row: Row) -> None:
    (item,) = LineDecoder().feed(row["frame"].encode() + b"\n")
    if "reads_as" in row:
        request = read_request(item, SUITE_METHODS)
        read = {"id": request.id, "method": request.method, "params": request.params}
        assert read == row["reads_as"]
        return
    with pytest.raises(RefusedError) as refused:
        read_request(item, SUITE_METHODS)
    assert {"code": refused.value.code, "id": refused.value.id} == row["refused_as"]


def test_every_method_is_there() -> None:
    read = [row.values[0]["reads_as"] for row in SDKS if "reads_as" in row.values[0]]
    assert {each["method"] for each in read} == set(SUITE_METHODS)
    assert {row.values[0]["answers"] for row in BINARIES} == set(SUITE_METHODS)


# The schemas


def validator(name: str, part: str) -> Any:
    schema = schema_of(name)
    return jsonschema_rs.validator_for({"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]})


@pytest.mark.long
@each_case("row", BINARIES)
def test_a_result_is_valid_unless_an_sdk_refuses_it(row: Row) -> None:
    frame = json.loads(row["frame"])
    assert validator("suite-channel", "response").is_valid(frame)
    if "result" in frame:
        method = row["answers"].replace("/", "~1")
        is_valid = validator("suite-channel", f"results/{method}").is_valid(frame["result"])
        # Which ids there are is beyond a schema.
        assert is_valid == ("refused_as" not in row or row["name"] == "two tests with one id")


@pytest.mark.parametrize(("name", "folder"), [("suite-channel", SUITE), ("coprocess", COPROCESS)])
def test_a_request_is_valid_unless_the_binary_refuses_it(name: str, folder: Path) -> None:
    rows = [row for row in rows_in(folder) if row["direction"] == "sdk" and "frame" in row]
    whole = validator(name, "request")
    read = [row for row in rows if "reads_as" in row]
    assert [row["name"] for row in read if not whole.is_valid(json.loads(row["frame"]))] == []
    refused = [row for row in rows if row.get("refused_as", {}).get("code") in (-32600, -32601)]
    accepted = [row["name"] for row in refused if whole.is_valid(json.loads(row["frame"]))]
    assert (bool(refused), accepted) == (True, [])


def test_an_answer_is_valid_unless_an_sdk_refuses_its_envelope() -> None:
    rows = [row for row in rows_in(COPROCESS) if row["direction"] == "binary" and "frame" in row]
    response = validator("coprocess", "response")
    good = [row for row in rows if "reads_as" in row]
    assert [row["name"] for row in good if not response.is_valid(json.loads(row["frame"]))] == []
