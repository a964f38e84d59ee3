"""What opportunistic pods gain from idle room, and what that harms, on a production trace whose best-effort pods are opportunistic.

``TREADLE_TRACE`` is the folder of the trace (openb, alibaba/clusterdata, cluster-trace-gpu-v2023). Its 149 days are folded into one by the
time of day, and as many of its nodes are taken as the guaranteed pods fill to ``FULL`` with what they request. The trace tells no usage:
``usage`` has the model. Devices are left out.

Compared are thresholds (placement below the first, removal above the second) with no over-allocation and with a fixed ratio at which
requests are taken to be used.
"""

import os
import sys
from pathlib import Path
from typing import Any

from bench.idle_room.simulation import Plan, simulate
from bench.idle_room.trace import load

PLANS = (
    Plan("none"),
    Plan("ratio 1.5", ratio=1.5),
    Plan("ratio 2", ratio=2.0),
    Plan("50/70", allocation=500, preemption=700),
    Plan("65/85", allocation=650, preemption=850),
    Plan("80/95", allocation=800, preemption=950),
)


def measure() -> dict[str, Any]:
    """Gain and harm by plan; null without a trace."""
    folder = os.environ.get("TREADLE_TRACE", "")
    if not folder:
        return {"benchmark": "idle_room", "plans": None}
    trace = load(Path(folder))
    found = {}
    for plan in PLANS:
        found[plan.name] = simulate(trace, plan)
        print(plan.name, found[plan.name], file=sys.stderr, flush=True)
    return {
        "benchmark": "idle_room",
        "nodes": len(trace.nodes),
        "guaranteed": sum(not pod.idle for pod in trace.pods),
        "opportunistic": sum(pod.idle for pod in trace.pods),
        "plans": found,
    }
