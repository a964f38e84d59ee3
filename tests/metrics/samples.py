"""Samples in which every metric has a number."""

from __future__ import annotations

from treadle.core.views.opportunistic import Times
from treadle.metrics.exporter import QueueSample, Samples

QUEUE = QueueSample(
    path="root.a",
    used={"cpu": 1500, "memory": 1 << 30, "pods": 2},
    pending={"cpu": 250},
    fair_share={"cpu": 4000},
    guaranteed={"cpu": 1000},
    maximum={"nvidia.com/gpu": 8},
    running=1,
    accepted=2,
    waiting_pods=3,
    partitions={"gpu": {"used": {"cpu": 500}}},
)
SAMPLES = Samples(
    queues=[QUEUE],
    pods={"waiting": 3, "assumed": 1, "bound": 2},
    nodes=4,
    decisions=10,
    binds={"bound": 8, "failed": 1, "unknown": 1},
    bind_seconds=1.25,
    binds_in_flight=2,
    bind_limit=17.5,
    passes=99,
    busy_seconds=0.5,
    backlog=6,
    requests={("bind", "POST", 201): 8, ("status", "PATCH", 0): 1},
    watches={"pods": (1, 5)},
    sets={"Better": 2, "NoBetter": 1},
    provisioning={"requested": 3, "refused": 0, "provisioned": 2, "failed": 1},
    opportunistic_pods={"waiting": 2, "running": 5, "leaving": 1},
    opportunistic_room={"cpu": 2500, "memory": 1 << 30},
    opportunistic_removed={"Requests": 4, "Usage": 0},
    opportunistic_times={name: Times(3, 12.5, {5.0: 2, 60.0: 3}) for name in ("asking", "removal", "overuse")},
    predictions={
        "predictions": {"cpu": 5},
        "predictions_below": {"cpu": 1},
        "prediction_shortfall": {"cpu": 0.2},
        "prediction_waste": {"cpu": 1.5},
    },
    preempted={"root.a": 2},
    refused={"OutOfcpu": 1},
    evictions={"evicted": 2},
    backfilled={"placed": 1},
    lagging={"no_room": 1},
    from_history={"made": 1},
    reservations={"Accepted": 1},
    plans={("root.a", ""): {"has": {"cpu": 4000}}},
    core_errors={"pass": 1},
    history={"written": 4, "dropped": 0},
    forecasts={"made": 1},
    eta_outcomes={("start", True): 1},
    leader=False,
    status_writes=7,
    events_written=3,
)
