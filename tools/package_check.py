"""Build the source distribution and the wheel, and try the wheel in an empty environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def main() -> int:
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(DIST)], cwd=ROOT, check=True)
    [wheel] = DIST.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        venv.create(environment, with_pip=True)
        programs = environment / "bin"
        subprocess.run([str(programs / "pip"), "install", "--quiet", str(wheel)], check=True)
        # HTML pages need assets, and grades profiles, which only a complete wheel has.
        example = ROOT / "examples" / "filesystem"
        report, page = f"html={folder}/report.html", f"{folder}/library.html"
        contract = ROOT / "examples" / "contract" / "library.cases.yaml"
        clock = ROOT / "examples" / "compliance"
        hints = ["--hints", str(clock / "hints.yml"), "--min-grade", "A+"]
        for words in (
            ["compliance", "run", *hints, "--", sys.executable, str(clock / "clock_server.py")],
            ["run", str(example), "--reporter", report],
            ["docs", str(contract), "-o", page],
        ):
            subprocess.run([str(programs / "mcptest"), *words], cwd=folder, check=True)
    names = ", ".join(sorted(each.name for each in DIST.iterdir()))
    print(f"built and tried: {names}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
