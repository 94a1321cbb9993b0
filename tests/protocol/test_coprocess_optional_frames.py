"""The golden frames of the optional methods: for our binary, for our SDK, and for the schema."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from mcptest.coprocess.protocol import (
    CONNECTION_METHODS,
    OPTIONAL_METHODS,
    RefusedError,
    connection_schema,
    read_request,
)
from mcptest.protocol.framing import LineDecoder, encode_line
from mcptest.sdk.coprocess import Coprocess
from mcptest.sdk.errors import RefusedError as SdkRefusedError

if TYPE_CHECKING:
    Row = dict[str, Any]

ROOT = Path(__file__).parents[2]
CHANNEL = ROOT / "protocol" / "coprocess"
FAKE = CHANNEL / "fake_binary.py"
LIBRARY = [sys.executable, str(ROOT / "tests" / "servers" / "lending_server.py")]
PATIENCE_S = 60.0


def rows(theme: str) -> list[Row]:
    text = (CHANNEL / "optional" / f"{theme}.jsonl").read_text(encoding="ascii")
    return [json.loads(line) for line in text.splitlines()]


def test_every_method_is_there() -> None:
    requests, responses = rows("request"), rows("response")
    written = {row["reads_as"]["method"] for row in requests if "reads_as" in row}
    assert written == {row["answers"] for row in responses} == set(OPTIONAL_METHODS)
    assert not set(OPTIONAL_METHODS) & set(CONNECTION_METHODS)


@pytest.mark.parametrize("row", rows("request"), ids=lambda row: row["name"])
def test_a_line_of_an_sdk_is_read_or_refused(row: Row) -> None:
    line = row["frame"].encode()
    (item,) = LineDecoder().feed(line + b"\n")
    if "refused_as" in row:
        with pytest.raises(RefusedError) as caught:
            read_request(item, OPTIONAL_METHODS)
        assert {"code": caught.value.code, "id": caught.value.id} == row["refused_as"]
        return
    request = read_request(item, OPTIONAL_METHODS)
    read = {"id": request.id, "method": request.method, "params": request.params}
    assert read == row["reads_as"]
    params = {"params": read["params"]} if read["params"] else {}
    written = {"jsonrpc": "2.0", "id": read["id"], "method": read["method"], **params}
    assert encode_line(written) == line + b"\n"


def test_a_real_binary_answers_every_line_as_it_is_meant(tmp_path: Path) -> None:
    asked = rows("request")
    words = ["exec", "--connection-server", "--start-timeout", "30s"]
    done = subprocess.run(
        [sys.executable, "-m", "mcptest", *words, "--server-command", shlex.join(LIBRARY)],
        cwd=tmp_path,
        input="".join(f"{row['frame']}\n" for row in asked),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    results = connection_schema()["$defs"]["results"]
    for row, line in zip(asked, done.stdout.splitlines(), strict=True):
        answer = json.loads(line)
        if "refused_as" in row:
            assert (answer["error"]["code"], answer["id"]) == (-32602, 2), row["name"]
        else:
            jsonschema_rs.validate(results[row["reads_as"]["method"]], answer["result"])


@pytest.mark.parametrize("row", rows("response"), ids=lambda row: row["name"])
def test_a_line_of_a_binary_is_read_and_as_the_schema_has_it(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = connection_schema()
    jsonschema_rs.validate(schema, json.loads(row["frame"]))
    script = tmp_path / "script.json"
    answers = {row["answers"]: {"frame": row["frame"]}}
    script.write_text(json.dumps({"answers": answers}), encoding="utf-8")
    monkeypatch.setenv("MCPTEST_BIN", shlex.join([sys.executable, "-S", "-E", str(FAKE)]))
    monkeypatch.setenv("FAKE_BINARY_SCRIPT", str(script))
    with Coprocess(["server"], timeout=PATIENCE_S) as coprocess:
        coprocess.start()
        try:
            result = coprocess.request(row["answers"])
        except SdkRefusedError as error:
            said = {"code": error.code, "message": error.message}
            assert row["reads_as"] == {"id": 2, "error": said}
            return
    assert row["reads_as"] == {"id": 2, "result": result}
    jsonschema_rs.validate(schema["$defs"]["results"][row["answers"]], result)
