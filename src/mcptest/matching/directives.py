"""The directives, one entry each: mapping keys that say how what is under them is compared."""

from __future__ import annotations

from mcptest.matching.registry import Directive

__all__ = ["DIRECTIVES"]

DIRECTIVES = (
    Directive(
        name="partial",
        summary="Only what is written is checked, all the way down; arrays by position.",
        example="match:partial: {isError: false}",
        passes=({"isError": False, "content": []},),
        fails=({"isError": True}, {}, None),
    ),
    Directive(
        name="arrayElements",
        summary="Every element of the array matches what is written.",
        example='match:arrayElements: {type: "text", text: "match:exists"}',
        passes=([{"type": "text", "text": "a"}], []),
        fails=([{"type": "text", "text": "a"}, {"type": "image"}], {}),
    ),
    Directive(
        name="anyElement",
        summary="At least one element of the array matches what is written.",
        example='match:anyElement: {match:partial: {name: "read_file"}}',
        passes=([{"name": "a"}, {"name": "read_file", "title": "Read"}],),
        fails=([{"name": "a"}], [], {"name": "read_file"}),
    ),
    Directive(
        name="extractField",
        summary="Pull values out by path (`a.b`, `[0]`, `*`), then compare with `value`.",
        example='{"match:extractField": "tools.*.name", value: ["read_file"]}',
        passes=({"tools": [{"name": "read_file", "title": "Read"}]},),
        fails=({"tools": []}, {}, None),
    ),
    Directive(
        name="crossField",
        summary="Two fields of this object, as the pattern `crossField` compares them.",
        example='match:crossField: "start < end"',
        passes=({"start": 1, "end": 2, "more": 3},),
        fails=({"start": 2, "end": 1}, {"start": 1}, None),
    ),
    Directive(
        name="not:crossField",
        summary="The same, and it must not hold; without one of the fields it holds with a note.",
        example='match:not:crossField: "used > limit"',
        passes=({"used": 1, "limit": 2}, {"used": 1}),
        fails=({"used": 3, "limit": 2},),
    ),
    Directive(
        name="all",
        summary="Everything in the list must hold of this one value.",
        example='match:all: ["match:startsWith:a", "match:endsWith:z"]',
        passes=("a to z",),
        fails=("a to y", None),
    ),
    Directive(
        name="any",
        summary="At least one of the list must hold; `match:not:exists` allows an absent key.",
        example='match:any: ["match:type:null", "match:startsWith:a"]',
        passes=(None, "abc"),
        fails=("b", 1),
    ),
)
