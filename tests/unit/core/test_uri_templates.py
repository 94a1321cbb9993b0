"""Which addresses a URI template matches."""

from __future__ import annotations

from case_tables import each_case

from mcptest.core.coverage import matches_template


@each_case(
    ("uri", "template", "fits"),
    [
        ("note://paris", "note://{city}", True),
        ("note://paris/today", "note://{city}", False),
        ("note://paris/today", "note://{city}/{day}", True),
        ("note://paris/today", "note://{+rest}", True),
        ("note://a/b.txt", "note://{path*}.txt", True),
        ("note://a.md", "note://{path}.txt", False),
        ("note://a", "note://a", True),
        ("note://b", "note://a", False),
        ("note://", "note://{a}", True),
        ("other://a", "note://{a}", False),
        ("note://a.b", "note://{a}.{b}", True),
        ("note://ab", "note://{a}.{b}", False),
        ("note://{", "note://{", True),
    ],
)
def test_an_address_fits_or_it_does_not(uri: str, template: str, fits: bool) -> None:
    assert matches_template(uri, template) is fits


def test_many_variables_take_no_longer_than_few() -> None:
    assert not matches_template("a" * 5_000, "{a}" * 5_000 + "x")
    assert matches_template("a" * 5_000, "{a}" * 5_000)


def test_a_template_of_many_variables_takes_no_longer_than_it_is_long() -> None:
    assert not matches_template("a" * 60, "{a}" * 25 + "x")
