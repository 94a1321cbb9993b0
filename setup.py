"""The one thing that pyproject.toml cannot say: the readme, with links that work everywhere."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent


def absolute_readme() -> str:
    """README.md with links to the files of this version in the repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = project["urls"]["Source"]
    package = (ROOT / "src" / "mcptest" / "__init__.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.+)"$', package, re.MULTILINE)

    def absolute(link: re.Match[str]) -> str:
        start, path, rest = link.groups()
        kind = "tree" if (ROOT / path).is_dir() else "raw" if start.startswith("!") else "blob"
        return f"{start}{source}/{kind}/v{version}/{path}{rest}"

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.sub(r"(!?\[[^\]]*\]\()([^)#:\s]+)((?:#[^)\s]*)?\))", absolute, text)


setup(long_description=absolute_readme(), long_description_content_type="text/markdown")
