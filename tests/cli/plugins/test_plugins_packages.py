"""Matchers of Python packages that are installed beside mcptest, found by their entry points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from console import Ended, case, mcptest, write_config, write_suite
from plugin_runs import option, results, statuses

if TYPE_CHECKING:
    from pathlib import Path

# A package with one matcher; each test replaces what it is about.
MODULE = """
from mcptest.plugins import Matcher, Miss, ParameterError

def parse(text):
    if not text.isdigit():
        raise ParameterError(f"takes a number, not {text!r}")
    return int(text)

def wants(limit):
    return f"text of at most {limit} words"

def check(limit, actual):
    if not isinstance(actual, str):
        return "it is no text"
    count = len(actual.split())
    return None if count <= limit else Miss(why=f"it has {count}", hint=lambda: "leave some out")

def add(register):
    register(Matcher(name=NAME, family="Words", parameters=("N",), summary="Few words.",
        example="match:words:3", passes=("a b c",), fails=("a b c d",),
        parse=parse, wants=wants, check=check))
"""


def install(
    folder: Path, module: str = MODULE, package: str = "wordy", name: str = "words"
) -> dict[str, str]:
    """A distribution in a folder of its own; the environment in which it is installed."""
    site = folder / "site"
    facts = site / f"{package}-1.0.dist-info"
    facts.mkdir(parents=True)
    module = module.replace("NAME", repr(name))
    (site / f"{package}.py").write_text(module, encoding="utf-8")
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
    (facts / "METADATA").write_text(metadata, encoding="utf-8")
    points = f"[mcptest.matchers]\n{package} = {package}:add\n"
    (facts / "entry_points.txt").write_text(points, encoding="utf-8")
    return {"PYTHONPATH": str(site)}


def with_check(body: str) -> str:
    """The package with another check."""
    start, _, rest = MODULE.partition("def check(limit, actual):\n")
    return f"{start}def check(limit, actual):\n{body}\n\ndef add{rest.partition('def add')[2]}"


def saying(value: object, pattern: object, name: str = "") -> dict[str, Any]:
    return case(name or str(pattern), params={"say": value}, wants={"say": pattern})


def run(folder: Path, environment: dict[str, str], *tests: dict[str, Any]) -> Ended:
    write_config(folder / "conductor.config.json")
    write_suite(folder / "a.test.mcp.yml", *tests)
    return mcptest(folder, "run", "a.test.mcp.yml", "--json", **environment)


# Pass and fail


def test_a_matcher_of_a_package_is_used_by_its_name_and_judges(tmp_path: Path) -> None:
    tests = (
        saying("a b c", "match:words:3"),
        saying("a b c d", "match:words:3"),
        saying(7, "match:words:3"),
        saying("a b c d", "match:not:words:3"),
    )
    ended = run(tmp_path, install(tmp_path), *tests)
    assert (ended.code, statuses(ended)) == (1, ["passed", "failed", "failed", "passed"])
    [mismatch] = results(ended)[1]["mismatches"]
    assert mismatch == {
        "path": "result.say",
        "expected": "match:words:3",
        "actual": "a b c d",
        "message": "expected text of at most 3 words; it has 4",
        "hint": "leave some out",
    }
    assert results(ended)[2]["mismatches"][0]["message"].endswith("; it is no text")


def test_a_matcher_of_a_package_works_in_directives_and_contracts(tmp_path: Path) -> None:
    environment = install(tmp_path)
    test = saying(["a b", "a"], {"match:arrayElements": "match:words:2"})
    assert run(tmp_path, environment, test).code == 0
    document = (
        "case: a\n_patterns: true\n"
        "in: {jsonrpc: '2.0', id: 1, method: echo, params: {say: a b c}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {say: 'match:words:2'}}\n"
    )
    (tmp_path / "a.cases.yaml").write_text(document, encoding="utf-8")
    ended = mcptest(tmp_path, "run", "a.cases.yaml", "--json", **environment)
    assert (ended.code, statuses(ended)) == (1, ["failed"])
    assert results(ended)[0]["mismatches"][0]["path"] == "out.result.say"


def test_a_matcher_of_a_package_and_a_plugin_may_judge_one_answer(tmp_path: Path) -> None:
    environment = install(tmp_path)
    write_config(tmp_path / "conductor.config.json")
    both = {"match:all": ["match:words:2", "match:plugin:geo.same:a b"]}
    write_suite(tmp_path / "a.test.mcp.yml", saying("a b", both), saying("a b c", both))
    ended = mcptest(tmp_path, "run", "a.test.mcp.yml", "--json", *option(), **environment)
    assert (ended.code, statuses(ended)) == (1, ["passed", "failed"])
    assert len(results(ended)[1]["mismatches"]) == 2


# Mistakes in test files


def test_a_parameter_that_the_package_refuses_is_a_mistake_with_its_place(tmp_path: Path) -> None:
    ended = run(tmp_path, install(tmp_path), saying("a", "match:words:few"))
    assert ended.code == 2
    [found] = ended.report()["error"]["diagnostics"]
    assert (found["code"], found["file"]) == ("F013", "a.test.mcp.yml")
    assert found["message"] == "the matcher \"words\" takes a number, not 'few'"
    assert found["help"] == "for example match:words:3"


def test_a_parser_that_breaks_is_a_mistake_with_its_place(tmp_path: Path) -> None:
    module = MODULE.replace("if not text.isdigit():", "1 / 0")
    module = module.replace('        raise ParameterError(f"takes a number, not {text!r}")\n', "")
    ended = run(tmp_path, install(tmp_path, module), saying("a", "match:words:3"))
    assert ended.code == 2
    [found] = ended.report()["error"]["diagnostics"]
    assert "cannot read its parameters: ZeroDivisionError" in found["message"]


def test_a_similar_name_is_suggested(tmp_path: Path) -> None:
    ended = run(tmp_path, install(tmp_path), saying("a", "match:wordz:3"))
    assert ended.code == 2
    [found] = ended.report()["error"]["diagnostics"]
    assert 'did you mean "words"?' in found["message"]


def test_validate_knows_the_matchers_of_packages(tmp_path: Path) -> None:
    environment = install(tmp_path)
    write_suite(tmp_path / "a.test.mcp.yml", saying("a", "match:words:few"))
    assert mcptest(tmp_path, "validate", "a.test.mcp.yml", **environment).code == 2
    write_suite(tmp_path / "a.test.mcp.yml", saying("a", "match:words:3"))
    assert mcptest(tmp_path, "validate", "a.test.mcp.yml", **environment).code == 0


# Packages that fail while they judge


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    raise ValueError('town\\x1b')", "raised ValueError: town\\u001b"),
        ("    raise SystemExit(0)", "raised SystemExit: 0"),
        ("    return limit.no_such_thing", "raised AttributeError: "),
        ("    return True", "returned True; expected None or a string"),
        ("    return 0", "returned 0; expected None or a string"),
        ("    return ['x' * 10_000]", "returned ['xxx"),
        ("    return Miss(why='no', hint=lambda: 1 / 0)", "raised ZeroDivisionError"),
        ("    return Miss(why='no', hint='not to be called')", "raised TypeError"),
    ],
)
def test_a_check_that_breaks_or_returns_nonsense_is_an_error_of_its_test(
    body: str, message: str, tmp_path: Path
) -> None:
    environment = install(tmp_path, with_check(body))
    ended = run(tmp_path, environment, saying("a", "match:words:3"), case("other"))
    assert (ended.code, statuses(ended)) == (1, ["error", "passed"])
    fault = results(ended)[0]["error"]
    assert fault["kind"] == "plugin_failed"
    lead = "the matcher 'words' of the package wordy 1.0 (wordy:add) "
    assert fault["message"].startswith(lead + message)
    assert len(fault["message"]) < 500
    assert ended.err == ""
    assert ended.report()["findings"] == []


def test_whatever_a_check_raises_the_run_continues(tmp_path: Path) -> None:
    body = "    raise type('Odd', (BaseException,), {})"
    ended = run(tmp_path, install(tmp_path, with_check(body)), saying("a", "match:words:3"))
    assert (ended.code, statuses(ended)) == (1, ["error"])
    assert results(ended)[0]["error"]["kind"] == "plugin_failed"


def test_a_package_whose_metadata_cannot_be_read_is_ignored(tmp_path: Path) -> None:
    environment = install(tmp_path)
    broken = tmp_path / "site" / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\n", encoding="utf-8")
    (broken / "entry_points.txt").write_bytes(b"[console_scripts]\ngarbage\n\xff\xfe")
    ended = run(tmp_path, environment, saying("a b", "match:words:3"))
    assert (ended.code, statuses(ended)) == (0, ["passed"])


def test_a_negated_check_that_breaks_does_not_pass(tmp_path: Path) -> None:
    environment = install(tmp_path, with_check("    raise KeyError"))
    ended = run(tmp_path, environment, saying("a", "match:not:words:3"))
    assert (ended.code, statuses(ended)) == (1, ["error"])


@pytest.mark.long
@pytest.mark.parametrize(
    "body",
    [
        "    import threading; threading.Event().wait()",
        "    while True: pass",
        "    import re; re.search('(a+)+$', 'a' * 64 + 'b')",
    ],
)
def test_a_check_that_never_ends_is_ended_and_the_run_continues(body: str, tmp_path: Path) -> None:
    environment = install(tmp_path, with_check(body))
    ended = run(tmp_path, environment, saying("a", "match:words:3"), case("other"))
    assert (ended.code, statuses(ended)) == (1, ["error", "passed"])
    assert results(ended)[0]["error"]["kind"] == "pattern_too_slow"


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("    import os; os._exit(7)", "exit status 7"),
        ("    import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9"),
    ],
)
def test_a_check_that_ends_its_process_is_not_an_internal_error(
    body: str, how: str, tmp_path: Path
) -> None:
    environment = install(tmp_path, with_check(body))
    ended = run(tmp_path, environment, saying("a", "match:words:3"), case("other"))
    assert (ended.code, statuses(ended)) == (1, ["error", "passed"])
    fault = results(ended)[0]["error"]
    message = f"a matcher ended the process that judged the answer: {how}"
    assert (fault["kind"], fault["message"]) == ("plugin_failed", message)


@pytest.mark.long
def test_a_check_that_never_ends_is_ended_beside_a_plugin_too(tmp_path: Path) -> None:
    environment = install(tmp_path, with_check("    import threading; threading.Event().wait()"))
    write_config(tmp_path / "conductor.config.json")
    both = {"match:all": ["match:plugin:geo.same:a b", "match:words:2"]}
    write_suite(tmp_path / "a.test.mcp.yml", saying("a b", both), case("other"))
    ended = mcptest(tmp_path, "run", "a.test.mcp.yml", "--json", *option(), **environment)
    assert (ended.code, statuses(ended)) == (1, ["error", "passed"])
    assert results(ended)[0]["error"]["kind"] == "pattern_too_slow"


def test_words_for_what_is_wanted_that_break_do_not_cost_the_verdict(tmp_path: Path) -> None:
    module = MODULE.replace('return f"text of at most {limit} words"', "raise KeyError")
    ended = run(tmp_path, install(tmp_path, module), saying("a b c d", "match:words:3"))
    assert (ended.code, statuses(ended)) == (1, ["failed"])
    message = results(ended)[0]["mismatches"][0]["message"]
    assert message == "expected what the matcher words accepts; it has 4"


def test_output_that_a_package_prints_stays_out_of_the_report(tmp_path: Path) -> None:
    module = MODULE.replace("    count = len", "    print('counting', flush=True)\n    count = len")
    module = f"print('loading', flush=True)\n{module}"
    ended = run(tmp_path, install(tmp_path, module), saying("a b c", "match:words:3"))
    assert (ended.code, statuses(ended)) == (0, ["passed"])
    assert ended.err == "loading\ncounting\n"


# Packages that cannot be used


def refusal(folder: Path, environment: dict[str, str]) -> str:
    """The message about a package when a name is not one of ours; nothing runs."""
    ended = run(folder, environment, saying("a", "match:words:3"))
    assert ended.code == 2
    report = ended.report()
    assert report["suites"] == []
    assert "Traceback" not in ended.err
    return str(report["error"]["message"])


def test_a_check_named_like_a_built_in_matcher_is_refused_and_both_owners_are_named(
    tmp_path: Path,
) -> None:
    message = refusal(tmp_path, install(tmp_path, name="contains"))
    assert message == (
        "the matcher 'contains' has two owners: mcptest itself and the package wordy 1.0 "
        "(wordy:add)"
    )


def test_a_check_named_like_a_directive_is_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, install(tmp_path, name="partial"))
    assert message.startswith(
        "the matcher 'partial' has two owners: mcptest itself and the package"
    )


def test_two_packages_with_one_name_are_refused_and_both_are_named(tmp_path: Path) -> None:
    environment = install(tmp_path, package="wordy") | install(tmp_path, package="verbose")
    message = refusal(tmp_path, environment)
    assert message.startswith("the matcher 'words' has two owners: the package ")
    assert "wordy 1.0 (wordy:add)" in message
    assert "verbose 1.0 (verbose:add)" in message


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named"),
        ("raise SystemExit('go away')", "SystemExit: go away"),
        ("def add(register: 5", "SyntaxError: "),
        ("other = 1", "AttributeError: "),
        ("add = 5", "TypeError: 'int' object is not callable"),
        ("def add(register): 1 / 0", "ZeroDivisionError: division by zero"),
        ("def add(): pass", "TypeError: add() takes 0 positional arguments"),
    ],
)
def test_a_check_that_cannot_be_loaded_is_named_with_the_reason(
    module: str, why: str, tmp_path: Path
) -> None:
    message = refusal(tmp_path, install(tmp_path, module))
    assert message.startswith(f"the package wordy 1.0 (wordy:add) cannot be used: {why}")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("register(Matcher", "register(dict", "which is not a Matcher"),
        ("NAME", "'two words'", "a matcher of the name 'two words', which no pattern can have"),
        ("NAME", "'not'", "a matcher of the name 'not', which no pattern can have"),
        ("NAME", "5", "a matcher of the name 5, which no pattern can have"),
        ('("N",)', '"N"', "the matcher 'words', whose parameters are not a tuple of strings"),
        ("check=check", "check=5", "the matcher 'words', of which parse, wants or check cannot"),
        ("check=check", "check=check, is_remote=True", "the matcher 'words' with is_remote"),
    ],
)
def test_an_invalid_matcher_is_refused_and_the_package_named(
    old: str, new: str, why: str, tmp_path: Path
) -> None:
    message = refusal(tmp_path, install(tmp_path, MODULE.replace(old, new)))
    assert message.startswith("the package wordy 1.0 (wordy:add) registers ")
    assert why in message


def test_a_matcher_without_what_it_needs_is_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, install(tmp_path, MODULE.replace('summary="Few words.",', "")))
    assert message.endswith("cannot be used: TypeError: Matcher needs 'summary'")


# Packages are only searched if needed


def test_a_run_that_uses_only_what_is_ours_never_looks_for_packages(tmp_path: Path) -> None:
    """This package would crash it."""
    environment = install(tmp_path, "import os\nos._exit(99)")
    patterns = ("match:contains:a", "match:type:string", "match:not:empty", "match:an? [a-z]+")
    tests = [saying("a word", pattern) for pattern in patterns]
    ended = run(tmp_path, environment, *tests)
    assert (ended.code, statuses(ended)) == (0, ["passed"] * len(patterns))
    ended = run(tmp_path, environment, saying("a word", "match:words:3"))
    assert ended.code == 99, "and it is looked for when a name is met that is none of ours"


def test_a_run_that_asks_a_plugin_does_not_look_for_packages_either(tmp_path: Path) -> None:
    environment = install(tmp_path, "import os\nos._exit(99)")
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "a.test.mcp.yml", saying("a", "match:plugin:geo.same:a"))
    ended = mcptest(tmp_path, "run", "a.test.mcp.yml", "--json", *option(), **environment)
    assert (ended.code, statuses(ended)) == (0, ["passed"])


def test_packages_are_asked_once_for_all_files_those_that_ask_plugins_too(
    tmp_path: Path,
) -> None:
    module = MODULE.replace("def add(register):", "def add(register):\n    print('added')")
    environment = install(tmp_path, module)
    write_config(tmp_path / "conductor.config.json")
    both = {"match:all": ["match:words:2", "match:plugin:geo.same:a b"]}
    for name, pattern in (("a", both), ("b", "match:words:2"), ("c", both)):
        write_suite(tmp_path / f"{name}.test.mcp.yml", saying("a b", pattern))
    ended = mcptest(tmp_path, "run", ".", "--json", *option(), **environment)
    assert (ended.code, statuses(ended)) == (0, ["passed"] * 3)
    assert ended.err == "added\n"


def test_packages_are_loaded_once_for_all_files_and_workers_have_them_too(tmp_path: Path) -> None:
    module = MODULE.replace("def add(register):", "def add(register):\n    print('added')")
    environment = install(tmp_path, module)
    write_config(tmp_path / "conductor.config.json")
    for name in ("a", "b", "c"):
        write_suite(tmp_path / f"{name}.test.mcp.yml", saying("a b", "match:words:2"))
    for words in ((), ("--parallel", "2")):
        command = ("run", ".", "--json", "--isolation", "file", *words)
        ended = mcptest(tmp_path, *command, **environment)
        assert (ended.code, statuses(ended)) == (0, ["passed"] * 3)
        assert ended.err == "added\n"
