"""A machine within the machine, with cgroup v2 and pressure, for tests of the node tier: QEMU and Debian's kernel, with the machine's own files to read.

As a program: ``guest.py [ARGUMENT ...]`` runs ``pytest -m node tests/node_tier ARGUMENT ...`` there; its exit status is pytest's, 3 where there can be no such machine. It needs root, Debian's apt-get and 16 GiB of
memory, and no virtualisation by the processor: without it all is 10 to 20 times slower, and tests have so much more time (TREADLE_TEST_PATIENCE). What is written there is forgotten.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

if not __package__:  # run as a program
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cluster.go_module import cache

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("qemu-system-x86", "busybox-static", "linux-image-amd64")
MODULES = [
    "virtio_ring",
    "virtio",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "netfs",
    "fscache",
    "9pnet",
    "9pnet_virtio",
    "9p",
    "overlay",
]
"""Of the kernel, in the order in which they need each other."""
MEMORY = 14 << 10
"""MiB of the guest; what its tests do not use the machine keeps."""
PATIENCE = 20
ENDED = re.compile(rb"guest: exit status (\d+)")

INIT = """\
#!/bin/busybox sh
export PATH=/bin
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
for module in {modules}; do busybox insmod /modules/$module.ko; done
busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose host /machine
busybox mount -t tmpfs -o size=6g written /written
busybox mkdir /written/files /written/work
busybox mount -t overlay -o lowerdir=/machine,upperdir=/written/files,workdir=/written/work overlay /root
busybox mount -t tmpfs -o size=6g tmp /root/tmp
busybox mount -t tmpfs run /root/run
for folder in proc sys dev; do busybox mount --move /$folder /root/$folder; done
busybox mount -t cgroup2 none /root/sys/fs/cgroup
echo 0 > /root/proc/sys/kernel/printk
busybox cp /bin/busybox /tests /root/run/
exec busybox switch_root /root /bin/sh /run/tests
"""

TESTS = """\
ip link set lo up
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
cd {root}
env -i {environment} {command}
echo "guest: exit status $?"
/run/busybox poweroff -f
"""


class NoGuestError(Exception):
    """This machine cannot have a guest; the text says why."""


def unpacked() -> Path:
    """Return the folder in which the packages are unpacked, after having them downloaded if need be. Nothing is installed. Raises ``NoGuestError``."""
    folder = cache() / "guest"
    if (folder / "whole").exists():
        return folder
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise NoGuestError("it needs root, and apt-get to have QEMU and a kernel by")
    shutil.rmtree(folder, ignore_errors=True)
    archives = folder / "archives"
    (archives / "partial").mkdir(parents=True)
    install = ["apt-get", "install", "--download-only", "--no-install-recommends", "--yes", f"-oDir::Cache::archives={archives}"]
    for command in (["apt-get", "update"], [*install, *PACKAGES]):
        got = subprocess.run(command, capture_output=True, text=True, check=False)
    if got.returncode:
        raise NoGuestError(f"QEMU and a kernel cannot be downloaded: {got.stderr.strip()[-300:]}")
    for archive in sorted(archives.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)
    shutil.rmtree(archives)
    (folder / "whole").touch()
    return folder


def found(folder: Path, name: str) -> Path:
    """Return a file of the packages, which may have come from the machine itself. Raises ``NoGuestError``."""
    for base in (folder, Path("/usr/bin"), Path("/bin"), Path("/usr/lib/modules"), Path("/boot")):
        for file in sorted(base.rglob(name)):
            return file
    raise NoGuestError(f"no {name} among {', '.join(PACKAGES)}")


def first_files(folder: Path, work: Path, arguments: list[str]) -> Path:
    """Write the archive of files with which the kernel starts, and return where it is."""
    files, busybox = work / "files", found(folder, "busybox")
    for name in ("bin", "dev", "machine", "modules", "proc", "root", "sys", "written"):
        (files / name).mkdir(parents=True)
    for name in MODULES:
        shutil.copy(found(folder, f"{name}.ko"), files / "modules")
    shutil.copy(busybox, files / "bin")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(Path.home()),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TREADLE_NODE_TESTS": "required",
        "TREADLE_TEST_PATIENCE": str(PATIENCE),
    }
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "node", "tests/node_tier", *arguments]
    said = " ".join(shlex.quote(f"{name}={value}") for name, value in environment.items())
    (files / "init").write_text(INIT.format(modules=" ".join(MODULES)))
    (files / "tests").write_text(TESTS.format(root=shlex.quote(str(ROOT)), environment=said, command=shlex.join(command)))
    (files / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(files)) for path in sorted(files.rglob("*")))
    with (work / "first").open("wb") as archive:
        subprocess.run([busybox, "cpio", "-o", "-H", "newc"], cwd=files, input=names.encode(), stdout=archive, check=True)
    return work / "first"


def run(arguments: list[str]) -> int:
    """Run the tests in a guest, print what it prints, and return their exit status. Raises ``NoGuestError``."""
    folder = unpacked()
    libraries = [str(path) for path in folder.glob("**/lib/*-linux-gnu") if path.is_dir()]
    with tempfile.TemporaryDirectory(prefix="treadle-guest-") as name:
        command: list[str | Path] = [found(folder, "qemu-system-x86_64")]
        for data in ("qemu", "seabios"):
            command += ["-L", folder / "usr" / "share" / data]
        command += [
            "-accel",
            "tcg,thread=multi",
            "-cpu",
            "max",
            "-smp",
            "2",
            "-m",
            str(MEMORY),
            "-nographic",
            "-no-reboot",
            "-nodefaults",
        ]
        command += ["-serial", "stdio", "-net", "none", "-kernel", found(folder, "vmlinuz-*")]
        command += ["-initrd", first_files(folder, Path(name), arguments), "-append", "console=ttyS0 panic=-1 quiet psi=1"]
        command += ["-virtfs", "local,path=/,mount_tag=host,security_model=none,multidevs=remap,readonly=on"]
        environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}
        status = None
        with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as guest:
            assert guest.stdout is not None
            for line in guest.stdout:
                sys.stdout.buffer.write(line)
                sys.stdout.flush()
                if ended := ENDED.search(line):
                    status = int(ended[1])
    if status is None:
        raise NoGuestError(f"the guest ended without an answer, QEMU with {guest.returncode}")
    return status


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except NoGuestError as missing:
        print(f"no guest: {missing}", file=sys.stderr)
        sys.exit(3)
