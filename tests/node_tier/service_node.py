"""A whole node whose pods reach services by address and by name: kube-proxy and CoreDNS run on it, as on nodes elsewhere."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from typing import Any

from cluster.client import eventually
from cluster.control_plane import ControlPlane, free_port
from node_tier.binaries import build_services
from node_tier.real_node import ADDRESS, NAME, RBAC
from node_tier.whole_node import WholeNode

SERVICES = "10.0.0.0/24"
NAMESERVER = "10.0.0.10"
"""Of the cluster's name server, as a service."""
PROXY_USER = "system:kube-proxy"
DNS_USER = "system:coredns"


class ServiceNode(WholeNode):
    """Starts and ends a whole node, kube-proxy and the cluster's name server."""

    def control_plane(self) -> ControlPlane:
        plane = super().control_plane()
        for user in (PROXY_USER, DNS_USER):
            plane.users[user] = []
            plane.tokens[user] = os.urandom(16).hex()
        return plane

    def _hold(self) -> None:
        super()._hold()
        # Without a route to them, connections of the node itself end before kube-proxy's rules see them.
        subprocess.run(self.inside("ip", "route", "add", SERVICES, "dev", "lo", "src", ADDRESS), check=True)

    def _kubelet_settings(self) -> dict[str, Any]:
        return {**super()._kubelet_settings(), "clusterDNS": [NAMESERVER], "clusterDomain": "cluster.local"}

    def _start(self) -> None:
        folders = build_services()
        super()._start()
        self._path = ":".join([*map(str, folders), self._path])
        self._start_proxy()
        self._start_names()

    def _leads(self, space: str, service: str, port: dict[str, Any]) -> None:
        """Lead clients of a service to the node itself."""
        body = {
            "metadata": {"name": service, "labels": {"kubernetes.io/service-name": service}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [ADDRESS]}],
            "ports": [port],
        }
        status, answer = self.plane.api("POST", f"/apis/discovery.k8s.io/v1/namespaces/{space}/endpointslices", body)
        assert status == 201, answer

    def _start_proxy(self) -> None:
        # The API server itself would say that it is at a loopback address, which no service may lead to.
        self._leads("default", "kubernetes", {"name": "https", "protocol": "TCP", "port": 443})
        settings = self.folder / "proxy.json"
        settings.write_text(
            json.dumps(
                {
                    "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
                    "kind": "KubeProxyConfiguration",
                    "mode": "nftables",
                    "hostnameOverride": NAME,
                    "clientConnection": {"kubeconfig": str(self.plane.kubeconfig_for(PROXY_USER))},
                    # The machine's own limits of connections stay as they are.
                    "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
                    "healthzBindAddress": f"127.0.0.1:{free_port()}",
                    "metricsBindAddress": f"127.0.0.1:{free_port()}",
                }
            )
        )
        self._run("kube-proxy", f"--config={settings}")

    def _start_names(self) -> None:
        api = self.plane.api
        role = {"metadata": {"name": DNS_USER}, "rules": []}
        for group, kinds in (("", ["services", "namespaces", "pods"]), ("discovery.k8s.io", ["endpointslices"])):
            role["rules"].append({"apiGroups": [group], "resources": kinds, "verbs": ["list", "watch"]})
        bound = {
            "metadata": {"name": DNS_USER},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": DNS_USER},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": DNS_USER}],
        }
        for path, body in ((RBAC.replace("bindings", "s"), role), (RBAC, bound)):
            status, answer = api("POST", path, body)
            assert status == 201, answer
        port = {"name": "dns", "protocol": "UDP", "port": 53}
        service = {"metadata": {"name": "kube-dns"}, "spec": {"clusterIP": NAMESERVER, "ports": [port]}}
        status, answer = api("POST", "/api/v1/namespaces/kube-system/services", service)
        assert status == 201, answer
        self._leads("kube-system", "kube-dns", port)
        settings = self.folder / "Corefile"
        settings.write_text(f"""\
.:53 {{
  bind {ADDRESS}
  errors
  ready 127.0.0.1:{free_port()}
  cache 5
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {self.plane.kubeconfig_for(DNS_USER)}
  }}
}}
""")
        self._run("coredns", f"-conf={settings}")
        eventually(self._names, 60, f"names are told; {self.plane.processes['coredns'].tail(5)}", 0.5)

    def _names(self) -> bool:
        """Whether the name server, asked by the address of its service, knows the API's service."""
        name = b"".join(bytes([len(part)]) + part for part in b"kubernetes.default.svc.cluster.local".split(b"."))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            asked.settimeout(1)
            try:
                asked.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0" + name + b"\0\0\1\0\1", (NAMESERVER, 53))
                return asked.recv(512)[7] > 0
            except OSError:
                return False
