"""Two instances of Treadle with one lease, each behind a proxy of its own that can hinder it."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from cluster.faulty_proxy import FaultyProxy, refused
from cluster.treadle_process import Cluster, Treadle, eventually, overfull_nodes

BINDING, LEASE = "/binding", "/leases/"


def overfull(cluster: Cluster) -> list[str]:
    return overfull_nodes(cluster.all_pods(), cluster.plane.api("GET", "/api/v1/nodes")[1]["items"])


class Pair:
    """Two instances with one lease, each behind a proxy of its own; the first leads."""

    def __init__(self, cluster: Cluster, proxied: Callable[[str], FaultyProxy], folder: Path) -> None:
        self.cluster = cluster
        self.proxies = [proxied("one"), proxied("other")]
        arguments = ("--leader-elect", "--namespace", "default")
        self.treadles = [Treadle(proxy.kubeconfig, folder, *arguments) for proxy in self.proxies]

    def __enter__(self) -> Self:
        self.start(0)
        self.wait_leader(0)
        self.start(1)
        self.treadles[1].wait_ready()
        return self

    def __exit__(self, *_: object) -> None:
        for treadle in self.treadles:
            treadle.__exit__()

    def start(self, which: int) -> None:
        """Start an instance; its proxy knows its requests by the name that it writes into the lease."""
        process = self.treadles[which].start().process
        assert process is not None
        self.proxies[which].sender = f"{socket.gethostname()}-{process.pid}"

    def wait_leader(self, which: int) -> None:
        treadle = self.treadles[which]
        eventually(lambda: (treadle.ready() or {}).get("leader") == "leader", 60, f"instance {which} leads")

    def signal(self, which: int, what: signal.Signals) -> None:
        process = self.treadles[which].process
        assert process is not None
        process.send_signal(what)

    def lose(self, which: int) -> None:
        """Let an instance renew its lease no more."""
        self.proxies[which].fault("PUT", LEASE, refused(503))
        self.proxies[which].fault("GET", LEASE, refused(503))

    def binds(self, which: int) -> int:
        return sum(method == "POST" and path.endswith(BINDING) for method, path, _ in self.proxies[which].seen)

    def settled(self, bound: int) -> None:
        """Wait until so many pods are bound, and a while longer, in which whatever was on its way arrives."""
        self.cluster.wait_bound(bound)
        end = time.monotonic() + 5
        eventually(lambda: time.monotonic() > end, 30)
        assert (len(self.cluster.bound()), overfull(self.cluster)) == (bound, [])
