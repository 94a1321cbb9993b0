"""Every SDK keeps the contract: SDK × row of protocol/coprocess/kit.

A plain run judges the SDK for Python. `MCPTEST_SDKS=go,rust` names others, whose toolchain must be
there and whose adapter must have been built.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kit_judge import Judge, Row, Sdk, make_report, read_rows, read_sdks

if TYPE_CHECKING:
    from collections.abc import Iterator

SDKS = read_sdks()
ROWS = read_rows()
CHOSEN = [SDKS[name] for name in os.environ.get("MCPTEST_SDKS", "python").split(",")]
WITHIN = [
    pytest.param(sdk, row, id=f"{sdk.name}: {row.name}")
    for sdk in CHOSEN
    for row in ROWS
    if not row.needs & sdk.cannot.keys()
]


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Judge]]:
    found = {sdk.name: Judge(sdk, tmp_path_factory.mktemp(sdk.name)) for sdk in CHOSEN}
    yield found
    for judge in found.values():
        judge.close()


@pytest.mark.long
@pytest.mark.parametrize(("sdk", "row"), WITHIN)
def test_row(sdk: Sdk, row: Row, judges: dict[str, Judge]) -> None:
    problems = judges[sdk.name].play(row)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("sdk", CHOSEN, ids=lambda sdk: sdk.name)
def test_an_sdk_cannot_do_what_it_declares_unsupported(sdk: Sdk, tmp_path: Path) -> None:
    known = {need for row in ROWS for need in row.needs}
    assert sdk.cannot.keys() <= known, "an inability that no row is about"
    rows = [row for row in ROWS if row.needs & sdk.cannot.keys()]
    judge = Judge(sdk, tmp_path)
    try:
        found = {row.name: judge.play(row) for row in rows}
    finally:
        judge.close()
    report = make_report(sdk, rows, found, is_whole=True)
    assert not report.wrongly_declared, str(report)
