"""An image of one program, written without a registry or a container engine."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write(archive: Path, reference: str, program: Path) -> None:
    """Write a Docker archive whose only layer has the program at ``/worker``, which is what its containers run."""
    layer = _tar({"worker": (program.read_bytes(), 0o755)}, folders=("tmp", "proc", "sys", "dev", "etc"))
    identity = hashlib.sha256(layer).hexdigest()
    config = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Entrypoint": ["/worker"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{identity}"]},
    }
    text = json.dumps(config).encode()
    name = f"{hashlib.sha256(text).hexdigest()}.json"
    manifest = json.dumps([{"Config": name, "RepoTags": [reference], "Layers": [f"{identity}.tar"]}]).encode()
    archive.write_bytes(_tar({f"{identity}.tar": (layer, 0o644), name: (text, 0o644), "manifest.json": (manifest, 0o644)}))


def _tar(files: dict[str, tuple[bytes, int]], folders: tuple[str, ...] = ()) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for folder in folders:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()
