"""Docker archives of images, written without a registry or a container engine."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
FOLDERS = ("tmp", "proc", "sys", "dev", "etc")


def write(archive: Path, reference: str, layers: Sequence[bytes], settings: Mapping[str, Any]) -> None:
    """Write a Docker archive of layers; ``settings`` are those of an image's ``config`` (Entrypoint, User, Env, ...)."""
    names = [hashlib.sha256(layer).hexdigest() for layer in layers]
    config = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": dict(settings),
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{name}" for name in names]},
    }
    text = json.dumps(config).encode()
    name = f"{hashlib.sha256(text).hexdigest()}.json"
    manifest = json.dumps([{"Config": name, "RepoTags": [reference], "Layers": [f"{one}.tar" for one in names]}]).encode()
    contents = {f"{one}.tar": layer for one, layer in zip(names, layers, strict=True)}
    with tarfile.open(archive, mode="w") as written:
        for path, content in {**contents, name: text, "manifest.json": manifest}.items():
            _add(written, path, content, 0o644)


def of_program(program: Path) -> bytes:
    """A layer that has a program at ``/worker``, and the folders that a container wants."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for folder in FOLDERS:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        _add(archive, "worker", program.read_bytes(), 0o755)
    return made.getvalue()


def of_folder(folder: Path) -> bytes:
    """A layer of all files below a folder, which are root's; the same files make the same layer."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, str(path.relative_to(folder)), recursive=False, filter=plain)
    return made.getvalue()


def compressed(layer: bytes) -> int:
    """Bytes that a registry keeps of a layer, and that nodes fetch."""
    return len(gzip.compress(layer, 6, mtime=0))


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
