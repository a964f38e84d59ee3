"""A cgroup v2 hierarchy in a folder, as a kubelet with either driver makes it."""

from __future__ import annotations

import shutil
from pathlib import Path

PRESSURE = (
    "some avg10={some:.2f} avg60=0.50 avg300=0.10 total={total}\nfull avg10={full:.2f} avg60=0.05 avg300=0.01 total={half}\n"
)


class Tree:
    """Writes what the kernel would; ``systemd`` says whose names are used."""

    def __init__(self, mount: Path, *, systemd: bool = True) -> None:
        self.mount, self.systemd = mount, systemd
        mount.mkdir(exist_ok=True)
        (mount / "cgroup.controllers").write_text("cpu io memory\n")
        self.root = mount / ("kubepods.slice" if systemd else "kubepods")

    def path(self, uid: str, quality: str) -> Path:
        """The folder of a pod; ``quality`` is burstable, besteffort, or empty for the class Guaranteed."""
        if not self.systemd:
            return self.root / quality / f"pod{uid}"
        stem = f"kubepods-{quality}" if quality else "kubepods"
        return (self.root / f"{stem}.slice" if quality else self.root) / f"{stem}-pod{uid.replace('-', '_')}.slice"

    def all(self, cpu: int = 0, memory: int = 0, cache: int = 0, **files: str | None) -> Path:
        """Write the cgroup of all pods: microseconds of processor, bytes in use, and bytes of inactive pages of files."""
        return self.write(self.root, cpu, memory, cache, **files)

    def pod(self, uid: str, quality: str = "", cpu: int = 0, memory: int = 0, cache: int = 0, **files: str | None) -> Path:
        path = self.path(uid, quality)
        if quality:
            self.write(path.parent, 0, 0, 0)
        return self.write(path, cpu, memory, cache, **files)

    @staticmethod
    def write(path: Path, cpu: int, memory: int, cache: int, **files: str | None) -> Path:
        """``files`` replaces one by its name with ``_`` for the dot; None: the kernel has it not."""
        path.mkdir(parents=True, exist_ok=True)
        pressure = PRESSURE.format(some=1.25, full=0.25, total=2_500_000, half=500_000)
        content: dict[str, str | None] = {
            "cpu_stat": f"usage_usec {cpu}\nuser_usec 0\nsystem_usec 0\nnr_periods 0\n",
            "memory_current": f"{memory}\n",
            "memory_stat": f"anon 1\nfile 2\nshmem 3\ninactive_anon 4\nactive_anon 5\ninactive_file {cache}\nactive_file 6\nunevictable 7\n",
            "cpu_pressure": pressure,
            "memory_pressure": pressure,
            "io_pressure": pressure,
            **files,
        }
        for name, text in content.items():
            if text is not None:
                (path / name.replace("_", ".", 1)).write_text(text)
        return path

    def remove(self, path: Path) -> None:
        shutil.rmtree(path)
