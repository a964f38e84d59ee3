"""A node with a real kubelet, containerd and runc, in namespaces of its own, behind a real API server.

The control plane and what tests start join the network namespace only: everything of this node is on a loopback that nobody else sees. One kill
of the first process of the namespaces ends the kubelet, containerd and all containers.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from cluster import control_plane
from cluster.client import eventually
from cluster.control_plane import ControlPlane, Process
from cluster.metrics_server import front_proxy
from node_tier import binaries, cgroups, images

NAME = "real"
ADDRESS = "198.51.100.10"
"""Of the node, on its own loopback."""
POD_NETWORK = "10.244.0.0/24"
IMAGE = "localhost/worker:1"
KUBELET_PORT = 10250
USER = f"system:node:{NAME}"
CLONE_NEWNET = 0x40000000
RBAC = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


@contextlib.contextmanager
def network_of(pid: int) -> Iterator[None]:
    """Let this thread, and the threads and processes that it starts, be in the network namespace of a process."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(file: int) -> None:
        if libc.setns(file, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")

    forkers, control_plane._FORKER[:] = control_plane._FORKER[:], []  # threads that are there stay where they are
    with Path("/proc/thread-self/ns/net").open() as ours, Path(f"/proc/{pid}/ns/net").open() as theirs:
        enter(theirs.fileno())
        try:
            yield
        finally:
            enter(ours.fileno())
            control_plane._FORKER[:] = forkers


class RealNode:
    """Starts and ends a control plane and one node. ``settings`` are laid over the kubelet's configuration."""

    def __init__(self, **settings: Any) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="treadle-node-"))
        self.cgroup = self.folder.name
        self.manifests = self.folder / "manifests"
        """Pods that the kubelet runs of itself."""
        self.plane = self.control_plane()
        self._settings = settings
        self._ends = contextlib.ExitStack()
        self._pid = 0

    def control_plane(self) -> ControlPlane:
        """What the node is of; it is started with the node."""
        return ControlPlane({USER: ["system:nodes"]}, front_proxy(self.folder / "front-proxy"))

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._ends.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def _start(self) -> None:
        folders = binaries.build()
        self._path = ":".join(str(folder) for folder in folders)
        self._ends.callback(shutil.rmtree, self.folder, ignore_errors=True)
        cgroups.make(self.cgroup)
        self._ends.callback(cgroups.remove, self.cgroup)
        self._hold()
        self._ends.enter_context(network_of(self._pid))
        self._run("containerd", f"--config={self._containerd_settings()}")
        self._ends.enter_context(self.plane)
        for role, group in (("system:node", "system:nodes"),):
            body = {
                "metadata": {"name": "nodes"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
            }
            assert self.plane.api("POST", RBAC, body)[0] == 201
        worker = Path(shutil.which("worker", path=self._path) or "")
        images.write(
            self.folder / "worker.tar", IMAGE, [images.of_program(worker)], {"Entrypoint": ["/worker"], "WorkingDir": "/"}
        )
        eventually(lambda: self.has_image(self.folder / "worker.tar"), 30, "the image is known")
        self.start_kubelet()
        eventually(lambda: self.condition("Ready") == "True", 60, f"the node is ready; {self._last_words()}")

    def _hold(self) -> None:
        command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
        command += [sys.executable, "-I", str(Path(__file__).with_name("holder.py")), str(self.folder), ADDRESS]
        holder = Process("holder", [shutil.which("unshare") or "", *command[1:]], self.folder / "holder.log")
        self._ends.callback(holder.stop)
        eventually(lambda: (self.folder / "prepared").exists() or not holder.running, 20, "namespaces are prepared")
        assert holder.running, holder.tail()
        children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
        self._pid = int(children[0])

    # -- what runs in it

    def inside(self, *command: str) -> list[str]:
        """Return a command that runs another one in all namespaces of the node."""
        nsenter = shutil.which("nsenter") or ""
        environment = f"PATH={self._path}:{os.environ['PATH']}"
        return [nsenter, "-t", str(self._pid), "-m", "-n", "-p", "--", "/usr/bin/env", environment, *command]

    def _run(self, name: str, *arguments: str) -> Process:
        process = Process(name, self.inside(name, *arguments), self.folder / f"{name}.log")
        self.plane.processes[name] = process
        return process

    def start_kubelet(self) -> None:
        """Start the kubelet, with the settings of its construction."""
        self.manifests.mkdir(exist_ok=True)
        settings = self.folder / "kubelet.json"
        settings.write_text(json.dumps(self._kubelet_settings()))
        self._run(
            "kubelet",
            f"--config={settings}",
            f"--kubeconfig={self.plane.kubeconfig_for(USER)}",
            "--root-dir=/var/lib/kubelet",
            f"--cert-dir={self.folder / 'kubelet-pki'}",
            f"--hostname-override={NAME}",
            f"--node-ip={ADDRESS}",
        )

    def _kubelet_settings(self) -> dict[str, Any]:
        evicted = {
            "memory.available": "100Mi",
            **dict.fromkeys(("nodefs.available", "nodefs.inodesFree", "imagefs.available"), "1%"),
        }
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": ADDRESS,
            "port": KUBELET_PORT,
            "readOnlyPort": 0,
            "healthzPort": 0,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "containerRuntimeEndpoint": f"unix://{self.folder / 'containerd.sock'}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self.cgroup}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "makeIPTablesUtilChains": False,
            "registerNode": True,
            "resolvConf": "",
            "staticPodPath": str(self.manifests),
            "fileCheckFrequency": "1s",
            "podLogsDir": str(self.folder / "pod-logs"),
            "volumePluginDir": str(self.folder / "volume-plugins"),
            "nodeStatusUpdateFrequency": "4s",
            "syncFrequency": "10s",
            "evictionPressureTransitionPeriod": "10s",
            "evictionHard": evicted,
            "imageGCHighThresholdPercent": 99,
            "imageGCLowThresholdPercent": 98,
            **self._settings,
        }

    def _containerd_settings(self) -> Path:
        """Write what containerd has to know. A pod that does not use the node's network gets a pair of interfaces, and a route to the node and to others."""
        (self.folder / "cni").mkdir()
        addresses = {"type": "host-local", "ranges": [[{"subnet": POD_NETWORK}]], "routes": [{"dst": "0.0.0.0/0"}]}
        network = {"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp", "ipMasq": False, "ipam": addresses}]}
        (self.folder / "cni" / "10-pods.conflist").write_text(json.dumps(network))
        path = self.folder / "containerd.toml"
        path.write_text(f"""\
version = 3
root = "{self.folder}/containerd"
state = "{self.folder}/containerd-state"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{self.folder}/containerd.sock"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
    BinaryName = "{shutil.which("runc", path=self._path)}"
    SystemdCgroup = false
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["{Path(shutil.which("ptp", path=self._path) or "").parent}"]
  conf_dir = "{self.folder}/cni"
""")
        return path

    def has_image(self, archive: Path) -> bool:
        """Import a Docker archive; False where containerd does not take it, as while it starts."""
        command = ["ctr", "-a", str(self.folder / "containerd.sock"), "-n", "k8s.io", "images", "import", str(archive)]
        return subprocess.run(self.inside(*command), capture_output=True, check=False).returncode == 0

    def _last_words(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.plane.logs())

    # -- what is seen of it

    def seen(self) -> dict[str, Any]:
        """The Node as the API server has it; empty where it has none."""
        status, answer = self.plane.api("GET", f"/api/v1/nodes/{NAME}")
        return answer if status == 200 else {}

    def condition(self, kind: str) -> str:
        """The status of a condition of the node."""
        return next((one["status"] for one in self.seen().get("status", {}).get("conditions", []) if one["type"] == kind), "")

    def held(self, pod: Mapping[str, Any]) -> dict[str, int]:
        """What the kernel holds a pod to (``cgroups.shown``)."""
        return cgroups.shown(self.cgroup, pod["metadata"]["uid"])

    def pod_cgroups(self) -> Iterator[Path]:
        """The cgroups of its pods, one for each that runs."""
        root = cgroups.MOUNT if cgroups.version() == 2 else cgroups.MOUNT / "cpu"
        return (one for one in root.glob(f"{self.cgroup}/kubepods/**/pod*") if one.is_dir())
