"""How long the fair shares of a large tree take to recompute: 1,000 queues and 10,000 applications, every demand changed."""

import gc
import time
from typing import Any

from treadle.core import Core
from treadle.core.disciplines.fair.update import update_instant_shares, update_shares
from treadle.core.events import NodeSeen, PodSeen, QueueSeen
from treadle.core.kernel.tree.demand import update_demand
from treadle.core.model import Limit, NodeSpec, PodSpec, QueueSpec
from treadle.runtime.garbage import YOUNG

NODES, PARENTS, LEAVES, APPLICATIONS, ROUNDS = 100, 50, 950, 10_000, 9
GIB = 1 << 30


def cluster() -> Core:
    core = Core()
    for number in range(NODES):
        core.handle(NodeSeen(NodeSpec(f"node-{number}", {"cpu": 96_000, "memory": 512 * GIB, "pods": 250})), 0.0)
    for number in range(PARENTS):
        core.handle(QueueSeen(QueueSpec(f"root.d{number}", weight=1 + number % 3)), 0.0)
    for number in range(LEAVES):
        least = {"memory": Limit(64 * GIB)} if number % 4 == 0 else {}
        core.handle(QueueSeen(QueueSpec(f"root.d{number % PARENTS}.q{number}", weight=1 + number % 5, minimum=least)), 0.0)
    for number in range(APPLICATIONS):
        leaf = number % LEAVES
        core.handle(
            PodSeen(
                PodSpec(
                    uid=f"uid-{number}",
                    namespace="bench",
                    name=f"pod-{number}",
                    scheduler="treadle",
                    demand=(("cpu", 500 + number % 7 * 250), ("memory", (1 + number % 11) * GIB), ("pods", 1)),
                    application=f"bench/app-{number}",
                    queue=f"root.d{leaf % PARENTS}.q{leaf}",
                    created=float(number),
                )
            ),
            0.0,
        )
    core.plan(1.0, 0)
    return core


def measure() -> dict[str, Any]:
    state = cluster().state
    root, width = state.tree.root, len(state.types)
    gc.collect()
    gc.freeze()  # as the running scheduler does once it is synced
    gc.set_threshold(*YOUNG)
    passes: dict[str, list[float]] = {"demand": [], "shown_and_steady": [], "instant": []}
    for _ in range(ROUNDS):
        for name, work in (
            ("demand", lambda: update_demand(root, width)),
            ("shown_and_steady", lambda: update_shares(root, state.cluster)),
            ("instant", lambda: update_instant_shares(root, state.cluster)),
        ):
            start = time.perf_counter()
            work()
            passes[name].append((time.perf_counter() - start) * 1000)
    gc.unfreeze()
    return {
        "benchmark": "shares",
        "queues": len(state.tree.queues),
        "applications": len(state.applications),
        **{f"{name}_ms": round(sorted(taken)[len(taken) // 2], 1) for name, taken in passes.items()},
    }
