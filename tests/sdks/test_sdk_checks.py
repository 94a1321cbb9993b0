"""`./check sdks` is honest: a missing toolchain is named, and a failure where all must be there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcptest import __version__
from tools import sdks

ROOT = Path(__file__).parents[2]

# An "SDK" whose tools are commands that print what those of a real one would.
ENTRY = {
    "folder": "sdk",
    "toolchain": {"name": "sh", "version": ["sh", "-c", "echo version 5.1"], "oldest": "5.0"},
    "test": [["sh", "-c", "echo 3 passed"]],
    "count": r"(\d+) passed",
    "adapter": [],
}
JUDGE = (
    "import sys\nprint('go: 9 kit rows, 1 beyond its abilities' if sys.argv[1:] == ['go'] else 9)\n"
)
# It is asked to prepare once, and then for the SDK.
VERDICTS = """
import os, sys
if sys.argv[1] == "--prepare":
    os.mkdir(sys.argv[2])
elif os.path.isdir(sys.argv[2]):
    print("only the contract")
    print(f"{sys.argv[1]}: 22 verdicts of go test compared")
"""


@pytest.fixture
def checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Checked:
    return Checked(tmp_path, monkeypatch, capsys)


class Checked:
    """A repository with one SDK in it, and its checks."""

    def __init__(
        self, folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._capsys = capsys
        self.folder = folder
        (folder / "sdks").mkdir()
        (folder / "sdk").mkdir()
        self.write("tests/sdks/kit_judge.py", JUDGE)
        self.write("tests/sdks/verdict_check.py", VERDICTS)
        patch.setattr(sdks, "ROOT", folder)
        patch.setattr(sdks, "PYTHON", Path(sys.executable))

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(
        self, *, is_every: bool = False, is_oldest: bool = False, **changes: Any
    ) -> tuple[int, str]:
        self.write("sdks/sdks.json", json.dumps({"go": {**ENTRY, **changes}}))
        status = sdks.check_sdks([], is_every=is_every, is_oldest=is_oldest)
        return status, self._capsys.readouterr().out


def test_an_sdk_that_is_good_is_a_line_of_the_table(checked: Checked) -> None:
    status, out = checked.run()
    assert status == 0
    header, line = out.splitlines()[-2:]
    assert header.split("  ")[0] == "SDK"
    assert line.split()[:7] == ["go", "sh", "5.1", "3", "9", "1", "22"]
    assert "== sdks: go: verdicts: only the contract\n" in out


def test_a_version_of_one_number_is_a_version(checked: Checked) -> None:
    # The first release of a JDK says "javac 21".
    tool = {"name": "java", "version": ["sh", "-c", "echo javac 21"], "oldest": "17"}
    status, out = checked.run(toolchain=tool)
    assert status == 0
    assert out.splitlines()[-1].split()[:3] == ["go", "java", "21"]


def test_an_sdk_without_native_tests_of_its_own_is_judged_and_compared(checked: Checked) -> None:
    # That for Python, which pytest tests.
    tool = {"name": "python", "version": ["{python}", "--version"], "oldest": "3.11"}
    status, out = checked.run(toolchain=tool, test=[])
    assert status == 0
    assert out.splitlines()[-1].split()[3:7] == ["0", "9", "1", "22"]


def test_a_tool_that_builds_is_part_of_the_toolchain(checked: Checked) -> None:
    status, out = checked.run(is_every=True, build=[["no-such-builder", "compile"]])
    assert status == 1
    assert "== sdks: go: not checked, no no-such-builder found\n" in out


@pytest.mark.parametrize(("is_every", "status"), [(False, 0), (True, 1)])
def test_a_toolchain_that_is_missing_or_too_old_is_named(
    checked: Checked, is_every: bool, status: int
) -> None:
    missing = {"name": "go", "version": ["no-such-program"], "oldest": "1.20"}
    ended, out = checked.run(is_every=is_every, toolchain=missing)
    assert ended == status
    assert "== sdks: go: not checked, no go 1.20 or newer found\n" in out
    assert "== sdks: 1 not checked: go\n" in out
    old = {**ENTRY["toolchain"], "oldest": "5.10"}  # type: ignore[dict-item]  # it is a dict
    ended, out = checked.run(is_every=is_every, toolchain=old)
    assert ended == status
    assert "no sh 5.10 or newer found: this is 5.1\n" in out


def test_the_oldest_version_of_a_toolchain_is_asked_for_by_its_variables(checked: Checked) -> None:
    def toolchain(variable: str) -> dict[str, Any]:
        version = ["sh", "-c", "echo version ${WANTED_SH:-6.0}"]
        return {"name": "sh", "version": version, "oldest": "5.1", "oldest_by": {variable: "5.1.8"}}

    # Each version has linters of its own, and packages are made with the usual one.
    without: dict[str, Any] = {
        "lint": [["sh", "-c", "exit 1"]],
        "package": {"commands": [["false"]]},
    }
    status, out = checked.run(is_oldest=True, **without, toolchain=toolchain("WANTED_SH"))
    assert (status, out.splitlines()[-1].split()[:4]) == (0, ["go", "sh", "5.1.8", "3"])
    status, out = checked.run(is_oldest=True, is_every=True, toolchain=toolchain("NOT_HEEDED"))
    assert status == 1
    assert "== sdks: go: not checked, no sh 5.1 found: this is 6.0\n" in out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"build": [["sh", "-c", "echo it broke; exit 3"]]}, "ended with status 3"),
        ({"lint": [["sh", "-c", "exit 1"]]}, "ended with status 1"),
        ({"lint": [["./gofmt"]]}, "./gofmt ended with status 0"),
        ({"test": [["sh", "-c", "exit 1"]]}, "ended with status 1"),
        ({"test": [["sh", "-c", "echo 0 passed"]]}, "no native test passed"),
        ({"example": [["sh", "-c", "exit 4"]]}, "ended with status 4"),
    ],
)
def test_a_step_that_fails_fails_the_check(
    checked: Checked, changes: dict[str, Any], said: str
) -> None:
    checked.write("sdk/gofmt", "#!/bin/sh\necho wrong.go\n")
    (checked.folder / "sdk" / "gofmt").chmod(0o755)
    status, out = checked.run(**changes)
    assert status == 1
    assert "== sdks: go: FAILED: " in out
    assert said in out


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("print('FAIL  a row'); raise SystemExit(1)", "it does not keep to the contract"),
        (JUDGE.replace(" 9 kit", " 8 kit"), "8 rows were judged, and the kit has 9"),
    ],
)
def test_rows_that_fail_or_are_not_judged_fail_the_check(
    checked: Checked, judge: str, said: str
) -> None:
    checked.write("tests/sdks/kit_judge.py", judge)
    status, out = checked.run()
    assert (status, said in out) == (1, True)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ("print('DIFFERS  a test'); raise SystemExit(1)", "mcptest run ended with status 1"),
        (
            VERDICTS.replace("only the contract", "DIFFERS  a test") + "    raise SystemExit(1)\n",
            "its verdicts are not those of mcptest run",
        ),
        (VERDICTS.replace("22 verdicts", "no verdicts"), "its verdicts are not those of"),
    ],
)
def test_other_verdicts_than_those_of_the_program_fail_the_check(
    checked: Checked, verdicts: str, said: str
) -> None:
    checked.write("tests/sdks/verdict_check.py", verdicts)
    status, out = checked.run()
    assert (status, said in out) == (1, True)


def test_a_package_has_what_is_listed_and_nothing_else(checked: Checked) -> None:
    checked.write("sdk/a.txt", "a")
    checked.write("sdk/b.txt", "b")
    pack = "mkdir -p top && cp *.txt top && tar czf a.tgz top"
    package = {"commands": [["sh", "-c", pack]], "folder": ".", "file": "*.tgz"}
    assert checked.run(package={**package, "holds": ["a.txt", "b.txt"]})[0] == 0
    status, out = checked.run(package={**package, "holds": ["a.txt", "c.txt"]})
    assert status == 1
    assert "the package has ['b.txt'] too much, and lacks ['c.txt']" in out


def test_ci_checks_every_sdk_and_starts_every_command() -> None:
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert text.splitlines()[-1] == "exec python3 ./check --all --every-sdk --cold"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cobol"], "there is no SDK 'cobol'; there are: python"),
        (["--oldest", "jvm"], "there is no SDK 'jvm' with --oldest; there are: go, rust"),
    ],
)
def test_an_unknown_sdk_is_refused(words: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.sdks", *words],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


VERSIONS = {
    "sdks/typescript/package.json": '"version": "(.+)"',
    "sdks/typescript/src/coprocess.ts": 'SDK_VERSION = "(.+)"',
    "sdks/go/coprocess.go": 'const Version = "(.+)"',
    "sdks/rust/Cargo.toml": '\nversion = "(.+)"',
    "sdks/jvm/pom.xml": "<artifactId>mcptest-junit5</artifactId>\\s+<version>(.+)</version>",
    "sdks/jvm/src/main/java/mcptest/Coprocess.java": 'SDK_VERSION = "(.+)"',
    "sdks/dotnet/Directory.Build.props": "<Version>(.+)</Version>",
}


@pytest.mark.parametrize("name", VERSIONS)
def test_a_package_has_the_version_of_mcptest(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.findall(VERSIONS[name], text)[:1] == [__version__]


def test_installing_the_npm_package_runs_no_script() -> None:
    text = (ROOT / "sdks" / "typescript" / "package.json").read_text(encoding="utf-8")
    # npm warns its users about these.
    assert (
        not {"preinstall", "install", "postinstall", "prepare"} & json.loads(text)["scripts"].keys()
    )
