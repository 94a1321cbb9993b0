"""Nothing that is parsed is ignored: without a key, a file is a mistake or another plan.

Every key of the right files in `tests/schemas` is left out once. If the plan is the same in all
files, nothing reads the key. A file that has it needs a value that is not the default.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from case_tables import each_case

from mcptest.core.errors import FormatError
from mcptest.engine.loading import SuiteResources
from mcptest.formats.conductor import load_conductor
from mcptest.formats.config import load_config
from mcptest.formats.suite.loader import SuiteContext, load_suite
from mcptest.formats.yaml import read_document
from mcptest.matching.registry import builtin_registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.core.plan import PluginSpec
    from mcptest.matching.registry import Registry

    Steps = tuple[str | int, ...]

CORPUS = Path(__file__).parents[2] / "schemas"
ENVIRONMENT = {"REGION": "eu", "TOKEN": "canary-of-the-corpus"}
FORMATS = ("suite", "conductor", "config")
# Mappings whose keys are names that authors choose.
NAMED = ("servers", "variables", "env", "headers")
# For editors and readers, what `engine.loading` reads itself, and what is refused with a warning.
ELSEWHERE = {"$schema", "description", "imports.suites", "config"}
# Lanes that are checked for mistakes and not run.
PLANNED = ("agents.", "evals.")


def load(format: str, value: object, path: Path) -> str:
    """The plan of a file as text, without the text of the file and the addresses of objects."""
    text, file = json.dumps(value), str(path)

    def read_beside(name: str) -> str:
        return (path.parent / name).read_text(encoding="utf-8")

    loaded: object
    plugins: list[PluginSpec] = []
    if format == "suite":
        resources = SuiteResources(lambda file: (), "check")

        def registry_with(found: Sequence[PluginSpec]) -> Registry:
            plugins.extend(found)
            return resources.registry_with(file, found)

        context = SuiteContext(
            environment=ENVIRONMENT,
            folder=str(path.parent),
            read_beside=read_beside,
            registry_with=registry_with,
            book_of=resources.book_of,
        )
        suites, _ = load_suite(text, file, context)
        loaded = suites, plugins
    elif format == "conductor":
        loaded = load_conductor(text, file, builtin_registry(), ENVIRONMENT, read_beside)[0]
    else:
        loaded = load_config(text, file, ENVIRONMENT)[0]
    # Diagnostics of what may be missing quote the file.
    shown = re.sub(r"\bsource='(\\.|[^'\\])*'|column=\d+", "", repr(loaded))
    return re.sub(r" at 0x[0-9a-f]+", "", shown)


def key_places(value: object, steps: Steps = ()) -> Iterator[Steps]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield (*steps, key)
            yield from key_places(member, (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from key_places(item, (*steps, index))


def without(value: Any, steps: Steps) -> Any:
    step, *rest = steps
    if isinstance(value, list):
        return [without(item, tuple(rest)) if i == step else item for i, item in enumerate(value)]
    if not rest:
        return {key: member for key, member in value.items() if key != step}
    return value | {step: without(value[step], tuple(rest))}


def describe_place(steps: Steps) -> str:
    parents = ("", *steps)
    return ".".join(
        "*" if isinstance(step, int) or parent in NAMED else step
        for parent, step in zip(parents, steps, strict=False)
    )


@each_case("format", FORMATS)
def test_every_key_of_a_format_is_read(format: str) -> None:
    found: dict[str, bool] = {}
    for path in sorted(CORPUS.glob(f"{format}/right/*.yaml")):
        value = read_document(path.read_text(encoding="utf-8"), str(path)).value
        whole = load(format, value, path)
        assert load(format, value, path) == whole
        for steps in key_places(value):
            place = describe_place(steps)
            if found.get(place) or place in ELSEWHERE or place.startswith(PLANNED):
                continue
            try:
                found[place] = load(format, without(value, steps), path) != whole
            except FormatError:
                found[place] = True
    assert [place for place, is_read in found.items() if not is_read] == []
