"""The files of a base image: an interpreter below /usr/local, as the official images have it, and the shared libraries that it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

LEFT_OUT = (
    "__pycache__",
    "site-packages",
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip/_bundled",
    "*.a",
    "config-*",
)
"""What is not for running programs; the official slim images leave most of it out as well."""

C_LIBRARIES = (
    "librt",
    "libpthread",
    "libdl",
    "libutil",
    "libresolv",
    "libnss_files",
    "libnss_dns",
    "libstdc++",
    "libgcc_s",
    "libz",
)
"""What wheels may expect of every base."""


def interpreter() -> Path:
    """The interpreter that the image is made of: TREADLE_IMAGE_PYTHON, else the one that runs the tests."""
    named = os.environ.get("TREADLE_IMAGE_PYTHON")
    return Path(named or Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}").resolve()


def libraries(programs: Iterable[Path]) -> dict[str, Path]:
    """The shared libraries of programs and libraries, by where the loader looks for them in an image."""
    said = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False).stdout
    found = {name: Path(path) for name, path in re.findall(r"^\s+(\S+) => (/\S+) \(", said, re.MULTILINE)}
    folder = found["libc.so.6"].parent
    found |= {path.name: path for name in C_LIBRARIES for path in folder.glob(f"{name}.so.[0-9]")}
    placed = {f"{folder}/{name}": path for name, path in found.items()}
    return placed | {path: Path(path) for path in re.findall(r"^\s+(/\S+) \(", said, re.MULTILINE)}


def write(folder: Path) -> None:
    """Write the files of the base below a folder."""
    program = interpreter()
    version = program.name
    source = program.parents[1] / "lib" / version
    local = folder / "usr/local"
    shutil.copytree(source, local / "lib" / version, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (local / "lib" / version / "site-packages").mkdir()
    (local / "bin").mkdir()
    shutil.copy2(program, local / "bin" / version)
    for name in ("python", "python3"):
        (local / "bin" / name).symlink_to(version)
    extensions = (local / "lib" / version / "lib-dynload").glob("*.so")
    add(folder, libraries([program, *extensions]))
    for name in ("tmp", "proc", "sys", "dev", "etc", "var/lib"):
        (folder / name).mkdir(parents=True, exist_ok=True)


def add(folder: Path, files: dict[str, Path]) -> None:
    """Copy files to where they belong below a folder."""
    for place, path in files.items():
        to = folder / place.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.exists():
            shutil.copy2(path, to)
