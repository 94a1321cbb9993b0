"""The schemas for editors agree with the loaders, on files by hand and on every mistake in them.

In `tests/schemas` there is a folder for each format. What is `right` both accept and what is
`wrong` both refuse. What is `beyond` a schema only the loader refuses, and a comment says why;
`slips` are accepted with a warning, and marked in an editor.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from case_tables import each_case

from mcptest.cli.commands.schema import CHANNELS, FORMATS, schema_of
from mcptest.cli.main import main
from mcptest.core.errors import FormatError
from mcptest.core.project import schema_url
from mcptest.core.results import ExitCode
from mcptest.engine.loading import SuiteResources, Wanted, load_suites
from mcptest.formats.cases import is_turn, load_cases
from mcptest.formats.conductor import load_conductor
from mcptest.formats.config import load_config
from mcptest.formats.fields import Key, Keys
from mcptest.formats.lane_files import read_expected_failures, read_hints
from mcptest.formats.schemas.files import conductor_schema
from mcptest.formats.schemas.from_keys import Types
from mcptest.formats.snapshots import read_snapshots
from mcptest.formats.suite.loader import SuiteContext, load_suite
from mcptest.formats.yaml import read_document
from mcptest.formats.yaml.full import Tagged
from mcptest.formats.yaml.stream import read_stream
from mcptest.matching.case_tags import TAG_NAMES
from mcptest.matching.registry import builtin_registry
from mcptest.mock.manifest import load_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.diagnostics import Diagnostic

    Steps = tuple[str | int, ...]
    Node = dict[str, Any]

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "schemas"
ENVIRONMENT = {"REGION": "eu", "TOKEN": "canary-of-the-corpus"}

REGISTRY = builtin_registry()
SCHEMAS = {name: schema_of(name) for name in FORMATS}
VALIDATORS = {
    name: jsonschema_rs.validator_for(schema, offline=True) for name, schema in SCHEMAS.items()
}


def corpus(kind: str, start: str = "") -> list[Any]:
    found = sorted(CORPUS.glob(f"*/{kind}/{start}*.yaml"))
    return [pytest.param(path, id=f"{path.parts[-3]}-{path.stem}") for path in found]


def format_of(path: Path) -> str:
    return path.parts[-3]


# What the loaders say


def nothing_beside(name: str) -> str:
    raise FileNotFoundError(2, "there is no such file")


def load(format: str, text: str, file: str) -> tuple[Diagnostic, ...]:
    """Load a text of a format; its warnings."""
    registry = REGISTRY
    if format == "suite":
        shelf = SuiteResources(lambda file: (), "check")
        context = SuiteContext(
            environment=ENVIRONMENT,
            folder="/nowhere",
            read_beside=nothing_beside,
            registry_with=lambda plugins: shelf.registry_with(file, plugins),
            book_of=shelf.book_of,
        )
        return load_suite(text, file, context)[1]
    if format == "conductor":
        return load_conductor(text, file, registry, ENVIRONMENT, nothing_beside)[1]
    if format == "cases":
        return load_cases(text, file, registry, ENVIRONMENT, nothing_beside)[1]
    if format == "config":
        return load_config(text, file, ENVIRONMENT)[1]
    if format == "manifest":
        return load_manifest(text, file, registry)[1]
    if format == "hints":
        read_hints(text, file, ENVIRONMENT)
    elif format == "expected-failures":
        read_expected_failures(text, file, ["HTTP-02", "BASE-18"])
    else:
        read_snapshots(text, file)
    return ()


def diagnostics(format: str, text: str, file: str = "file.yaml") -> list[Diagnostic]:
    try:
        return list(load(format, text, file))
    except FormatError as error:
        return list(error.diagnostics)


def diagnostics_of(path: Path) -> list[Diagnostic]:
    """The same of a file, through the door that a run uses where there is one."""
    format = format_of(path)
    if format in ("suite", "conductor", "cases"):
        wanted = Wanted(paths=(str(path),), format=format)
        _, mistakes, warnings = load_suites(wanted, ENVIRONMENT)
        return [*mistakes, *warnings]
    return diagnostics(format, path.read_text(encoding="utf-8"), str(path))


def errors(found: list[Diagnostic]) -> list[str]:
    return [f"{each.code} {each.message}" for each in found if each.severity == "error"]


# What the schemas say


def untagged(value: object) -> object:
    """The value as an editor sees it: a tag is the text behind it."""
    if isinstance(value, dict):
        return {key: untagged(member) for key, member in value.items()}
    if isinstance(value, list):
        return [untagged(item) for item in value]
    return value.text if isinstance(value, Tagged) else value


def documents(format: str, text: str) -> list[Any]:
    if format == "cases":
        stream = read_stream(text, "file.yaml", tags=TAG_NAMES, may_repeat=is_turn)
        return [untagged(document.value) for document in stream.documents]
    return [read_document(text, "file.yaml").value]


def schema_errors(format: str, text: str) -> list[str]:
    return [
        f"{error.instance_path}: {error.message}"
        for document in documents(format, text)
        for error in VALIDATORS[format].iter_errors(document)
    ]


def schema_errors_of(path: Path) -> list[str]:
    return schema_errors(format_of(path), path.read_text(encoding="utf-8"))


# Files by hand


@each_case("path", corpus("right"))
def test_both_accept_what_is_right(path: Path) -> None:
    assert errors(diagnostics_of(path)) == []
    assert schema_errors_of(path) == []


@pytest.mark.slow
@each_case("path", corpus("wrong"))
def test_both_refuse_what_is_wrong(path: Path) -> None:
    assert errors(diagnostics_of(path))
    assert schema_errors_of(path)


@each_case("path", corpus("beyond"))
def test_mistakes_a_schema_cannot_express_are_refused_by_the_loader_only(path: Path) -> None:
    reason = path.read_text(encoding="utf-8").partition("\n")[0]
    assert re.fullmatch(r"# [A-Z].+\.", reason), "its first line says why"
    assert errors(diagnostics_of(path))
    assert schema_errors_of(path) == []


@pytest.mark.parametrize("path", corpus("slips"))
def test_an_editor_marks_what_the_loader_leaves_out(path: Path) -> None:
    assert {found.code for found in diagnostics_of(path)} <= {"W001"}
    assert schema_errors_of(path)


def test_the_corpus_is_large_enough() -> None:
    assert len(corpus("right")) >= 60
    assert len(corpus("wrong")) >= 120
    assert {path.name for path in CORPUS.iterdir()} == set(FORMATS)


def shipped() -> Iterator[Any]:
    endings = {"*.test.mcp.yml": "conductor", "*.cases.yaml": "cases", "mcptest.yaml": "suite"}
    for ending, format in (*endings.items(), ("conductor.config.json", "config")):
        for path in sorted((ROOT / "examples").rglob(ending)):
            yield pytest.param(format, path, id=str(path.relative_to(ROOT)))


@pytest.mark.parametrize(("format", "path"), list(shipped()))
def test_the_examples_are_valid(format: str, path: Path) -> None:
    assert schema_errors(format, path.read_text(encoding="utf-8")) == []


# Every mistake in them

OTHERS: tuple[object, ...] = (None, True, 7, 2.5, -1, 10**12, "zzz", "", [], {})

# Mistakes that a schema cannot express, in words of the loader.
BEYOND = {
    "F001 the baseline": "it is another file",
    "F002 this is not JSON": "no schema reads JSON in a text",
    "F006 a value from the environment has no key": "a variable may be any mapping",
    "F007 a suite needs": "another suite may import this one",
    "F009 there is no server": "names stand elsewhere",
    "F009 there is no argument": "names stand elsewhere",
    'F011 an answer without "when"': "no schema knows the last item of a list",
    "F013 the matcher": "parameters are read by the matcher",
    "F016 ": "the environment is not in the file",
    "F017 ": "two values are compared",
    "F019 ": "a schema says itself what it is judged by",
    "F021 ": "plugins are declared elsewhere, too",
}


def places(value: object, steps: Steps = ()) -> Iterator[Steps]:
    members: Any = value.items() if isinstance(value, dict) else ()
    for key, member in enumerate(value) if isinstance(value, list) else members:
        yield (*steps, key)
        yield from places(member, (*steps, key))


def changed(value: Any, steps: Steps, change: Any) -> Any:
    """The value with the mapping or list that holds a place changed."""
    if len(steps) == 1:
        return change(value, steps[0])
    copy = value.copy()
    copy[steps[0]] = changed(value[steps[0]], steps[1:], change)
    return copy


def replacing(other: object) -> Any:
    def replace(holder: Any, key: Any) -> Any:
        copy = holder.copy()
        copy[key] = other
        return copy

    return replace


def removing(holder: Any, key: Any) -> Any:
    copy = holder.copy()
    del copy[key]
    return copy


def misspelling(holder: Any, key: Any) -> Any:
    return {f"{each}x" if each == key else each: value for each, value in holder.items()}


def spoilt(value: object) -> Iterator[tuple[str, object]]:
    """The value with one thing wrong or missing, for every place in it, and what it is."""
    for steps in places(value):
        part, at = around(value, steps)
        for other in OTHERS:
            yield f"{steps} is {other!r}", changed(part, at, replacing(other))
        yield f"{steps} is gone", changed(part, at, removing)
        if isinstance(steps[-1], str):
            yield f"{steps} is misspelt", changed(part, at, misspelling)


def around(value: Any, steps: Steps) -> tuple[Any, Steps]:
    """A value with only one of its tests, where a place is inside a test, and the place in it."""
    if len(steps) > 2 and isinstance(value[steps[0]], list):
        key, index, *inner = steps
        return {**value, key: [value[key][index]]}, (key, 0, *inner)
    return value, steps


def disagreement(format: str, value: object) -> str:
    """How the two disagree about a value; "" when they do not, or cannot."""
    refusals = errors(diagnostics(format, json.dumps(value)))
    is_valid = VALIDATORS[format].is_valid(value)
    if not is_valid:
        return "" if refusals else "only the schema refuses it"
    unexplained = [each for each in refusals if not each.startswith(tuple(BEYOND))]
    return f"only the loader refuses it: {unexplained}" if unexplained else ""


@pytest.mark.slow
@pytest.mark.parametrize("path", corpus("right", "every-"))
def test_both_accept_and_refuse_the_same_spoilt_values(path: Path) -> None:
    format = format_of(path)
    (value,) = documents(format, path.read_text(encoding="utf-8"))
    found = {what: disagreement(format, mistake) for what, mistake in spoilt(value)}
    assert len(found) > 20
    assert {what: words for what, words in found.items() if words} == {}


# Every key


def resolved(format: str, node: Any) -> Node:
    """A schema with what it refers to."""
    found: Node = node if isinstance(node, dict) else {}
    for each in (found, *found.get("allOf", [])):
        if "$ref" in each:
            found = {**SCHEMAS[format]["$defs"][each["$ref"].rpartition("/")[2]], **found}
    return found


def walk(format: str, node: Any, value: object, steps: Steps = ()) -> Iterator[tuple[Steps, Node]]:
    """The schemas of all mappings in a value, each with its place."""
    node = resolved(format, node)
    if isinstance(value, dict):
        yield steps, node
        for key, member in value.items():
            inner = node.get("properties", {}).get(key, node.get("additionalProperties"))
            for pattern, schema in node.get("patternProperties", {}).items():
                inner = schema if inner is False and re.search(pattern, key) else inner
            yield from walk(format, inner, member, (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(format, node.get("items"), item, (*steps, index))


def is_closed(node: Node) -> bool:
    return node.get("additionalProperties") is False


def known_keys(node: Node) -> set[str]:
    return {
        key
        for key, member in node["properties"].items()
        if not (isinstance(member, dict) and member.get("deprecated"))
    }


def listed_keys(format: str, value: object, steps: Steps) -> set[str] | None:
    """The keys of a mapping that the loader lists for an unknown one."""
    key = "qqqqqq"
    text = json.dumps(changed(value, (*steps, key), replacing(1)))
    for found in diagnostics(format, text):
        listed = re.search(r"there are: ([^;\n]+)", f"{found.message}\n{found.help}")
        if key in found.message and listed:
            return set(listed[1].split(", "))
    return None


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_the_keys_of_every_mapping_are_those_that_the_loader_names(format: str) -> None:
    compared = 0
    for path in sorted((CORPUS / format / "right").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if len(documents(format, text)) > 1 or "!!" in text:
            continue
        (value,) = documents(format, text)
        for steps, node in walk(format, SCHEMAS[format], value):
            if is_closed(node) and (names := listed_keys(format, value, steps)):
                assert names == known_keys(node), f"{path.name}: {steps}"
                compared += 1
    assert compared > 2


def keys_in(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys_in, value.values()))
    return set().union(*map(keys_in, value)) if isinstance(value, list) else set()


def nodes(schema: object) -> Iterator[Node]:
    """Every schema in a schema that may describe something."""
    if isinstance(schema, dict):
        yield schema
        for key, member in schema.items():
            if key not in ("examples", "enum", "const"):
                yield from nodes(member)
    elif isinstance(schema, list):
        for item in schema:
            yield from nodes(item)


@pytest.mark.parametrize("format", FORMATS)
def test_some_right_file_has_every_key(format: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (CORPUS / format / "right").iterdir()]
    used = set().union(*(keys_in(value) for text in texts for value in documents(format, text)))
    known = set().union(*(known_keys(node) for node in nodes(SCHEMAS[format]) if is_closed(node)))
    assert known - used == set()


@pytest.mark.parametrize("format", FORMATS)
def test_every_key_is_described(format: str) -> None:
    for node in filter(is_closed, nodes(SCHEMAS[format])):
        for key, member in node["properties"].items():
            assert resolved(format, member).get("description"), key


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_every_example_is_valid_where_it_is_shown(format: str) -> None:
    schema = SCHEMAS[format]
    defs = schema.get("$defs", {})
    for node in nodes(schema):
        for example in node.get("examples", ()):
            assert jsonschema_rs.validator_for({**node, "$defs": defs}).is_valid(example), example


@pytest.mark.parametrize("format", FORMATS)
def test_the_example_of_a_whole_file_loads(format: str) -> None:
    for example in SCHEMAS[format]["examples"]:
        assert errors(diagnostics(format, json.dumps(example))) == []


def test_a_key_of_an_unknown_type_does_not_go_unnoticed() -> None:
    with pytest.raises(KeyError, match="cassette"):
        Types().mapping(Keys({"record": Key("cassette", "What is recorded.")}))


# As editors read them


@pytest.mark.parametrize("format", FORMATS)
def test_a_schema_is_one_and_says_what_it_is(format: str) -> None:
    schema = SCHEMAS[format]
    assert jsonschema_rs.meta.is_valid(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == schema_url(format)
    assert schema["title"]
    assert schema["description"]


@pytest.mark.parametrize("format", FORMATS)
def test_an_editor_that_knows_only_draft_7_accepts_what_is_right(format: str) -> None:
    draft_7 = {**SCHEMAS[format], "$schema": "http://json-schema.org/draft-07/schema#"}
    assert jsonschema_rs.meta.is_valid(draft_7)
    validator = jsonschema_rs.Draft7Validator(draft_7)
    for path in (CORPUS / format / "right").iterdir():
        for document in documents(format, path.read_text(encoding="utf-8")):
            assert validator.is_valid(document), path.name


def test_a_schema_knows_the_matchers_that_are_installed() -> None:
    registry = builtin_registry()
    like = registry.get("contains")
    assert like
    registry.add(like.but(name="looksLike", example="match:looksLike:rain"))
    text = "match:looksLike:rain"
    file = {"description": "a", "tests": [{"it": "b", "tool": "c", "expect": {"stderr": text}}]}
    assert jsonschema_rs.validator_for(conductor_schema(registry)).is_valid(file)
    assert not VALIDATORS["conductor"].is_valid(file)


def test_no_pattern_has_to_be_read_by_a_person() -> None:
    found = [node for schema in SCHEMAS.values() for node in nodes(schema)]
    texts = [node for node in found if isinstance(node.get("pattern"), str) and "type" in node]
    assert texts
    assert [node["pattern"] for node in texts if not node.get("patternErrorMessage")] == []


# The command


def test_without_a_name_the_schema_of_a_suite_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["schema"]) == ExitCode.PASSED
    printed = capsys.readouterr()
    assert json.loads(printed.out) == SCHEMAS["suite"]
    assert printed.err == ""


@pytest.mark.parametrize("format", FORMATS)
def test_standard_output_holds_the_schema_and_nothing_else(
    format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", format]) == ExitCode.PASSED
    assert json.loads(capsys.readouterr().out) == SCHEMAS[format]


def test_a_schema_goes_into_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "config.schema.json"
    assert main(["schema", "config", "-o", str(target)]) == ExitCode.PASSED
    assert json.loads(target.read_text(encoding="utf-8")) == SCHEMAS["config"]
    assert capsys.readouterr().out == ""


def test_the_formats_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--list"]) == ExitCode.PASSED
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*FORMATS, *CHANNELS]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["suites"], "there is no format 'suites'; did you mean suite?"),
        (["suite", "cases"], "mcptest schema takes one format"),
        (["--list", "suite"], "--list writes no schema"),
        (["--list", "-o", "x.json"], "--list writes no schema"),
        (["-o", "nowhere/x.json"], "cannot write nowhere/x.json"),
    ],
)
def test_a_wrong_call_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", *words]) == ExitCode.BAD_INPUT
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


# The page about them


def test_the_page_names_every_format_and_tag() -> None:
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE) == [*FORMATS, *CHANNELS]
    (settings,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    tags = json.loads(settings)["yaml.customTags"]
    assert tags == [f"tag:yaml.org,2002:{tag} scalar" for tag in TAG_NAMES]


def test_the_suite_on_the_page_is_valid() -> None:
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert errors(diagnostics("suite", text)) == []
    assert schema_errors("suite", text) == []
