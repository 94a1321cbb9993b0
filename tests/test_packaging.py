"""What users get: metadata, addresses, the readme of the package index, schemas on the site."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from email.parser import HeaderParser
from pathlib import Path

import yaml

from mcptest import __version__
from mcptest.cli.commands.schema import CHANNELS, FORMATS, schema_of
from mcptest.core.project import REPOSITORY, REQUIREMENT, SITE, schema_url
from tools.environment import MINIMUM
from tools.site_files import write_site_files

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_package_and_its_metadata_have_the_same_addresses() -> None:
    urls = PROJECT["urls"]
    assert (urls["Documentation"], urls["Source"]) == (SITE, REPOSITORY)
    assert urls["Homepage"] == SITE
    assert f"\nsite_url: {SITE}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert urls["Issues"] == f"{REPOSITORY}/issues"
    assert urls["Changelog"] == f"{REPOSITORY}/blob/main/CHANGELOG.md"


def test_no_file_names_another_address_of_the_project() -> None:
    pattern = re.compile(r"https://(?:github\.com/[\w.-]+/mcptest\b|[\w.-]+\.github\.io/mcptest\b)")
    places = ("*.md", "*.toml", "*.yml", ".github/**/*.yml", "docs/**/*.md", "src/**/*.py")
    files = [path for place in (*places, "tools/*.py") for path in ROOT.glob(place)]
    named = {path: set(pattern.findall(path.read_text(encoding="utf-8"))) for path in files}
    assert set().union(*named.values()) == {REPOSITORY, SITE.rstrip("/")}, named


def test_the_metadata_names_every_python_that_ci_tests() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    tested = workflow["jobs"]["check"]["strategy"]["matrix"]["python"]
    start = "Programming Language :: Python :: 3."
    named = [each[len(start) - 2 :] for each in PROJECT["classifiers"] if each.startswith(start)]
    assert named == tested
    assert PROJECT["requires-python"] == ">=" + ".".join(map(str, MINIMUM)) == f">={tested[0]}"


def test_the_index_shows_who_what_and_where_with_links_that_lead_to_files(tmp_path: Path) -> None:
    code = "import sys; from setuptools import build_meta as b; b.prepare_metadata_for_build_wheel"
    # Setuptools reads files in the encoding of the system.
    environment = {key: os.environ[key] for key in os.environ if key != "PYTHONWARNDEFAULTENCODING"}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{code}(sys.argv[1])", str(tmp_path)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    [file] = tmp_path.glob("*.dist-info/METADATA")
    metadata = HeaderParser().parsestr(file.read_text(encoding="utf-8"))
    assert metadata["Version"] == __version__
    assert metadata["Author"] == "The mcptest authors"
    assert metadata["License-Expression"] == "MIT"
    urls = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL", []))
    assert urls == PROJECT["urls"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    targets = re.findall(r"\]\(([^)\s]+)\)", str(metadata.get_payload()))
    assert len(targets) > 30
    for target in targets:
        assert re.match(r"https://|#", target), target
        ours = re.match(rf"{REPOSITORY}/(blob|tree|raw)/v{re.escape(__version__)}/([^#]+)", target)
        if ours:
            path = ROOT / ours[2]
            assert path.is_dir() if ours[1] == "tree" else path.is_file(), target
        else:
            assert not target.startswith(f"{REPOSITORY}/"), target


def test_every_documented_command_installs_what_can_be_installed_today() -> None:
    command = re.compile(
        r"(?:pip install|pipx (?:install|run)|uvx|uv tool install) [^`\n#]*mcptest.*"
    )
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found = [line for page in pages for line in command.findall(page.read_text(encoding="utf-8"))]
    assert len(found) > 10
    source = REQUIREMENT.partition(" @ ")[2]
    assert [line for line in found if source not in line] == []


def test_the_action_and_the_hook_are_named_by_the_address_of_the_repository() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert f"uses: {REPOSITORY.removeprefix('https://github.com/')}@" in page
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert f"- repo: {REPOSITORY}\n" in page
    assert f"- id: {hook['id']}\n" in page


# Schemas


def test_every_schema_is_on_the_site_at_the_address_that_is_its_id(tmp_path: Path) -> None:
    written = write_site_files(tmp_path)
    assert len(written) == len(FORMATS | CHANNELS)
    for name in FORMATS | CHANNELS:
        path = tmp_path / schema_url(name).removeprefix(SITE)
        assert json.loads(path.read_text(encoding="utf-8")) == schema_of(name)
        assert schema_of(name)["$id"] == schema_url(name)
