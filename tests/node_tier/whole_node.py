"""A node whose pods may use the API: everything that makes and places pods in a cluster is there, so that a chart can be installed.

kube-controller-manager acts as itself and its controllers' accounts, as where a cluster is made by the usual tools; kube-scheduler places the pods of
the scheduler. Pods find the API server at the address of its service: no proxy is needed, as the node has that address itself.
"""

from __future__ import annotations

import subprocess

from cluster.control_plane import DEFAULT_CONTROLLERS, ControlPlane
from cluster.metrics_server import front_proxy
from node_tier.real_node import USER, RealNode

SERVICE = "10.0.0.1"
"""Of the API, the first of the range of services."""
MANAGER = "system:kube-controller-manager"
CONTROLLERS = f"{DEFAULT_CONTROLLERS},root-ca-certificate-publisher-controller,endpointslice-controller"


class WholeNode(RealNode):
    """Starts and ends one node, its control plane, its controllers and kube-scheduler."""

    def control_plane(self) -> ControlPlane:
        arguments = [*front_proxy(self.folder / "front-proxy"), "--bind-address=0.0.0.0"]
        arguments.append("--kubelet-preferred-address-types=InternalIP")  # nobody resolves the node's name
        return ControlPlane({USER: ["system:nodes"], MANAGER: []}, arguments, port=443, without="TaintNodesByCondition")

    def _hold(self) -> None:
        super()._hold()
        subprocess.run(self.inside("ip", "address", "add", f"{SERVICE}/32", "dev", "lo"), check=True)

    def _start(self) -> None:
        super()._start()
        own = f"--kubeconfig={self.plane.kubeconfig_for(MANAGER)}"
        self.plane.start_controller_manager(CONTROLLERS, own, "--use-service-account-credentials=true")
        self.plane.start_kube_scheduler()
