"""The first process of a node's namespaces: it prepares them, takes orphans in, and ends everything by its end.

Run as ``holder.py FOLDER ADDRESS`` in new mount, network and process namespaces. What a node would leave on the machine goes below the folder.
"""

import signal
import subprocess
import sys
from pathlib import Path

SYSCTLS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1000000,
    "kernel/keys/root_maxbytes": 25000000,
}
"""What a kubelet would set for the whole machine: it finds files of its own that say so already."""


def prepare(folder: Path, address: str) -> None:
    def run(*command: str) -> None:
        subprocess.run(command, check=True)

    run("mount", "--make-rshared", "/")
    run("ip", "link", "set", "lo", "up")
    run("ip", "address", "add", f"{address}/32", "dev", "lo")  # a kubelet refuses a loopback address
    for name, where in (("log", "/var/log"), ("lib", "/var/lib")):
        (folder / name).mkdir()
        run("mount", "--bind", str(folder / name), where)
    run("mount", "-t", "tmpfs", "run", "/run")
    for name, value in SYSCTLS.items():
        file = folder / name.replace("/", "_")
        file.write_text(f"{value}\n")
        run("mount", "--bind", str(file), f"/proc/sys/{name}")


if __name__ == "__main__":
    prepare(Path(sys.argv[1]), sys.argv[2])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans leave nothing behind
    (Path(sys.argv[1]) / "prepared").touch()
    while True:
        signal.pause()
