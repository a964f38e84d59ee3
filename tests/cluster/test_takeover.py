"""How soon the other replica schedules when the leader goes: within 15 seconds of a kill, within 2 of a clean stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from cluster.client import PATIENCE
from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue

KILLED, STOPPED = 15.0, 2.0
TIMES = 3


def test_the_other_replica_takes_over_in_time(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(3, "16")
    cluster.queues(queue("root.a"))
    arguments = ("--leader-elect", "--namespace", "default")
    replicas = [Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path, *arguments).start() for _ in range(2)]
    took: dict[str, list[float]] = {"killed": [], "stopped": []}
    try:
        for number in range(2 * TIMES):
            leader = eventually(
                lambda: next((one for one in replicas if one.metric("treadle_leader") == 1), None), 60, "a leader"
            )
            heir = next(one for one in replicas if one is not leader)
            eventually(heir.ready, 60, "the other one is ready")
            cluster.pods([pod(f"before-{number}", "root.a", f"before-{number}", cpu="10m", memory="8Mi")])
            cluster.wait_bound(2 * number + 1)
            how = "killed" if number % 2 else "stopped"
            if how == "killed":
                leader.kill()
            else:
                assert leader.terminate() == 0
            gone = time.monotonic()
            cluster.pods([pod(f"after-{number}", "root.a", f"after-{number}", cpu="10m", memory="8Mi")])
            cluster.wait_bound(2 * number + 2)
            took[how].append(time.monotonic() - gone)
            leader.start()
    finally:
        for one in replicas:
            one.__exit__()
    print(took)
    assert max(took["killed"]) < KILLED * PATIENCE, took
    assert max(took["stopped"]) < STOPPED * PATIENCE, took
