"""What a node is made of, built from Go modules into the cache, and why it cannot be had where it cannot.

As a program: ``binaries.py build-if-possible`` builds it, or says why not and goes on (unless TREADLE_NODE_TESTS=required).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

if not __package__:  # run as a program
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cluster.go_module import GoMissingError, GoModule, cache, kubernetes_flags

TOOLS = Path(__file__).resolve().parent / "tools"
NO_GO = "no Go toolchain to build kubelet, containerd and runc with"

KUBELET = GoModule(
    TOOLS / "kubelet", {"kubelet": "k8s.io/kubernetes/cmd/kubelet"}, "node", ("k8s.io/kubernetes",), missing_go=NO_GO
)
KUBELET = replace(KUBELET, flags=kubernetes_flags(KUBELET.version("k8s.io/kubernetes")))
_CONTAINERD = "github.com/containerd/containerd/v2"
CONTAINERD = GoModule(
    TOOLS / "containerd",
    {name: f"{_CONTAINERD}/cmd/{name}" for name in ("containerd", "ctr", "containerd-shim-runc-v2")},
    "node",
    (_CONTAINERD,),
    tags="no_btrfs no_devmapper no_zfs no_aufs",
    missing_go=NO_GO,
)
RUNC = GoModule(
    TOOLS / "runc",
    {"runc": "github.com/opencontainers/runc"},
    "node",
    ("github.com/opencontainers/runc",),
    flags="-s -w -linkmode external -extldflags -static",
    tags="seccomp netgo osusergo static_build",
    missing_go=NO_GO,
)
WORKER = GoModule(TOOLS / "worker", {"worker": "."}, "node", (), missing_go=NO_GO)
_CNI = "github.com/containernetworking/plugins"
CNI = GoModule(
    TOOLS / "cni",
    {name: f"{_CNI}/plugins/{kind}/{name}" for name, kind in (("ptp", "main"), ("loopback", "main"), ("host-local", "ipam"))},
    "node",
    (_CNI,),
    missing_go=NO_GO,
)
PROXY = GoModule(
    TOOLS / "proxy", {"kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy"}, "node", ("k8s.io/kubernetes",), missing_go=NO_GO
)
PROXY = replace(PROXY, flags=kubernetes_flags(PROXY.version("k8s.io/kubernetes")))
DNS = GoModule(TOOLS / "dns", {"coredns": "."}, "node", ("github.com/coredns/coredns",), missing_go=NO_GO)
PROGRAMS = ("unshare", "nsenter", "mount", "ip")
LEAST_MEMORY = 10 << 30
"""Bytes that have to be free: a test fills some of the node."""


class NoNodeError(Exception):
    """This machine cannot have a node; the text says why."""


def required() -> bool:
    """Whether a machine without a node must fail the run instead of skipping its tests."""
    return os.environ.get("TREADLE_NODE_TESTS") == "required"


def look_whether_possible() -> None:
    """Raise ``NoNodeError`` where a node cannot run, whatever is built."""
    if os.geteuid() != 0:
        raise NoNodeError("a kubelet needs root, which this user is not")
    for program in PROGRAMS:
        if shutil.which(program) is None:
            raise NoNodeError(f"there is no {program} to make namespaces with")
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        raise NoNodeError(f"namespaces are not allowed here: {tried.stderr.strip()}")
    from node_tier.cgroups import make, remove

    try:
        make(name := f"treadle-look-{os.getpid()}")
        remove(name)
    except OSError as error:
        raise NoNodeError(f"cgroups cannot be made here: {error}") from None
    free = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:"))
    if int(free.split()[1]) << 10 < LEAST_MEMORY:
        raise NoNodeError(f"there are less than {LEAST_MEMORY >> 30} GiB of memory free to fill: {free}")


def build() -> list[Path]:
    """Build what is missing and return the folders of all programs. Raises ``NoNodeError``."""
    try:
        runc = RUNC.build() if not RUNC.missing() else replace(RUNC, environment=_with_seccomp()).build()
        return [runc, KUBELET.build(), CONTAINERD.build(), WORKER.build(), CNI.build()]
    except GoMissingError as missing:
        raise NoNodeError(str(missing)) from None
    except subprocess.CalledProcessError as failed:
        raise NoNodeError(f"{failed.cmd[-1]} could not be built") from failed


class NoServicesError(NoNodeError):
    """The kernel cannot lead clients to services; a node without them is possible."""


def build_services() -> list[Path]:
    """Build what is missing for services, and return the folders of kube-proxy, CoreDNS and nft. Raises ``NoNodeError``."""
    try:
        folders = [PROXY.build(), DNS.build(), *_nft()]
    except GoMissingError as missing:
        raise NoNodeError(str(missing)) from None
    except subprocess.CalledProcessError as failed:
        raise NoNodeError(f"{failed.cmd[-1]} could not be built") from failed
    nft = shutil.which("nft", path=":".join([*map(str, folders), os.environ["PATH"]])) or ""
    tried = subprocess.run(["unshare", "--net", nft, "list", "tables"], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise NoServicesError(f"kube-proxy's rules need nf_tables, which this kernel has not: {tried.stderr.strip()}")
    return folders


def _nft() -> list[Path]:
    """Return the folder of nft, by which kube-proxy writes its rules; none where the machine has it. Its package is unpacked, not installed."""
    if shutil.which("nft") is not None:
        return []
    folder = cache() / "node" / "nftables"
    started = folder / "bin" / "nft"
    if not started.exists():
        if shutil.which("apt-get") is None:
            raise NoNodeError("there is no nft for kube-proxy, and no apt-get to have it by")
        archives = folder / "archives"
        (archives / "partial").mkdir(parents=True, exist_ok=True)
        started.parent.mkdir(exist_ok=True)
        install = ["apt-get", "install", "--download-only", "--no-install-recommends", "--yes", "nftables"]
        for command in (["apt-get", "update"], [*install, f"-oDir::Cache::archives={archives}"]):
            got = subprocess.run(command, capture_output=True, text=True, check=False)
        if got.returncode:
            raise NoNodeError(f"nftables, which kube-proxy needs, cannot be downloaded: {got.stderr.strip()[-300:]}")
        for archive in sorted(archives.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)
        libraries = ":".join(str(one) for one in folder.glob("usr/lib/*-linux-gnu"))
        started.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {folder}/usr/sbin/nft "$@"\n')
        started.chmod(0o755)
    return [started.parent]


def _with_seccomp() -> dict[str, str]:
    """Return the environment to build runc in: kubelets ask for the default seccomp profile, and libseccomp is C. Its package is unpacked, not installed."""
    if shutil.which("gcc") is None:
        raise NoNodeError("there is no C compiler to build runc with")
    if subprocess.run(["pkg-config", "--exists", "libseccomp"], check=False).returncode == 0:
        return {"CGO_ENABLED": "1"}
    folder = cache() / "node" / "libseccomp"
    if not list(folder.glob("usr/lib/*/libseccomp.a")):
        _unpack("libseccomp-dev", folder)
    libraries = next(iter(folder.glob("usr/lib/*/libseccomp.a"))).parent
    return {
        "CGO_ENABLED": "1",
        "PKG_CONFIG_PATH": str(libraries / "pkgconfig"),
        "CGO_CFLAGS": f"-I{folder / 'usr' / 'include'}",
        "CGO_LDFLAGS": f"-L{libraries}",
    }


def _unpack(package: str, folder: Path) -> None:
    if shutil.which("apt-get") is None:
        raise NoNodeError(f"there is no {package} to build runc with, and no apt-get to have it by")
    folder.mkdir(parents=True, exist_ok=True)
    for commands in (["apt-get", "download", package], ["apt-get", "update"], ["apt-get", "download", package]):
        got = subprocess.run(commands, cwd=folder, capture_output=True, text=True, check=False)
        if commands[1] == "download" and got.returncode == 0:
            break
    archive = next(iter(folder.glob(f"{package}*.deb")), None)
    if archive is None:
        raise NoNodeError(f"{package}, which runc is built with, cannot be downloaded: {got.stderr.strip()[-200:]}")
    subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)


def main(arguments: list[str]) -> int:
    """``binaries.py build-if-possible``: build what is missing, or say why there can be no node. Returns the exit status."""
    if arguments != ["build-if-possible"]:
        print("usage: binaries.py build-if-possible", file=sys.stderr)
        return 2
    try:
        look_whether_possible()
        print("node tier ready in", ", ".join(map(str, build())))
        print("and for services in", ", ".join(map(str, build_services())))
    except NoServicesError as missing:
        print(f"tests of services skipped: {missing}")
    except NoNodeError as missing:
        print(f"node tier skipped: {missing}")
        return int(required())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
