"""Colours are on or off, as a value."""

from __future__ import annotations

from mcptest.reporters.style import Paint


def painted(paint: Paint, text: str) -> list[str]:
    return [
        colour(text) for colour in (paint.red, paint.green, paint.yellow, paint.dim, paint.bold)
    ]


def test_each_colour_wraps_its_text_and_ends_with_a_reset() -> None:
    assert painted(Paint(on=True), "x") == [
        "\x1b[31mx\x1b[0m",
        "\x1b[32mx\x1b[0m",
        "\x1b[33mx\x1b[0m",
        "\x1b[2mx\x1b[0m",
        "\x1b[1mx\x1b[0m",
    ]


def test_without_colour_text_comes_back_as_it_went_in() -> None:
    assert painted(Paint(on=False), "x") == ["x"] * 5


def test_nothing_stays_nothing() -> None:
    assert painted(Paint(on=True), "") == [""] * 5
