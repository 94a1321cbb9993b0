"""Write a Python package that is installed as far as `importlib.metadata` can tell."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["install_package"]


def install_package(
    folder: Path, name: str, code: str, groups: dict[str, dict[str, str]]
) -> dict[str, str]:
    """A module with this code and the metadata beside it; the environment that finds both.

    `groups` are its entry points. Packages in one folder are found together.
    """
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (metadata / "METADATA").write_text(head, encoding="utf-8")
    lines: list[str] = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{point} = {value}" for point, value in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    above = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join([str(folder), *([above] if above else [])])}
