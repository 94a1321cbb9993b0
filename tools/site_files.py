"""Write the files of the documentation site that are not pages: `python -m tools.site_files OUT`.

OUT is the folder of the built site. Every schema is written to the address that is its `$id`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mcptest.cli.commands.schema import CHANNELS, FORMATS, schema_of
from mcptest.core.project import SITE


def write_site_files(folder: Path) -> list[Path]:
    """Write all schemas into the folder of the site; their paths."""
    written = []
    for name in FORMATS | CHANNELS:
        schema = schema_of(name)
        path = folder / schema["$id"].removeprefix(SITE)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(schema, ensure_ascii=False, indent=2) + "\n"
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for each in write_site_files(Path(sys.argv[1])):
        print(each)
