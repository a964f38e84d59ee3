"""What happens next, by chance, and whole runs of such steps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from fuzz import cluster, devices, pod_groups, schema, storage
from fuzz.schema import QUEUES, Style
from fuzz.world import OUTCOMES, REFUSALS, SECONDS, Failure, Json, Step, World, played

WEIGHTS = {
    "object": (4, 10),
    "gone": (1, 2),
    "pod": (6, 14),
    "pods": (10, 9),
    "edit": (2, 5),
    "pod_gone": (2, 6),
    "node": (1, 3),
    "node_gone": (0.3, 1),
    "namespace": (0.3, 1),
    "time": (20, 12),
    "plan": (24, 16),
    "outcomes": (20, 12),
    "evicted": (8, 5),
    "look": (6, 6),
    "anew": (1, 1),
    "storage": (6, 8),
    "storage_gone": (0.5, 1),
    "storage_known": (0.3, 0.5),
    "claims": (6, 6),
    "devices": (6, 8),
    "devices_gone": (0.5, 1),
    "devices_known": (0.3, 0.5),
    "reserved": (6, 6),
    "sampled": (4, 4),
    "pod_sampled": (4, 4),
    "usage_known": (0.3, 0.5),
    "removed_lately": (0.3, 0.5),
    "group": (3, 4),
    "group_gone": (0.3, 0.5),
    "groups_served": (0.5, 1),
    "provisioner": (0.3, 0.5),
    "requested": (1, 1),
}
"""How often each step is, in busy runs and in others."""


def next_step(world: World, chance: Random, style: Style, number: int) -> Step:
    """Return what happens next."""
    weights = [busy if style.busy else calm for busy, calm in WEIGHTS.values()]
    match chance.choices(list(WEIGHTS), weights)[0]:
        case "object":
            kind = chance.choices(["Scheduler", "Queue", "Application", "Reservation"], [3, 10, 3, 2])[0]
            return "object", an_object(kind, chance, style)
        case "gone":
            if world.objects and chance.random() < 0.9:
                return "object_gone", *chance.choice(sorted(world.objects))
            return "object_gone", "Queue", "", chance.choice(QUEUES)
        case "pod":
            return "pod", cluster.pod(f"p{number}", chance, style)
        case "pods":
            return "pods", cluster.pod(f"p{number}", chance, style), chance.choice([2, 6, 16])
        case "edit":
            return "edit", chance.randrange(1 << 16), _edit(chance, style)
        case "pod_gone":
            if chance.random() < 0.3:
                return "pod_refused", chance.randrange(1 << 16), chance.choice(REFUSALS)
            return "pod_gone", chance.randrange(1 << 16)
        case "node":
            return "node", cluster.node(chance.choice(cluster.NODES), chance, style)
        case "node_gone":
            return "node_gone", chance.choice(cluster.NODES)
        case "namespace":
            return "namespace", cluster.namespace(chance.choice(cluster.NAMESPACES), chance)
        case "time":
            return "time", chance.choice(SECONDS)
        case "plan":
            return "plan", chance.choice([1, 3, 1000, 1000])
        case "outcomes":
            return "outcomes", [chance.choice(OUTCOMES) for _ in range(chance.choice([1, 3, 20]))]
        case "storage":
            kind = chance.choice(storage.KINDS)
            return "storage", kind, storage.thing(kind, chance)
        case "storage_gone":
            return "storage_gone", chance.choice(storage.KINDS), chance.randrange(1 << 16)
        case "storage_known":
            return "storage_known", chance.random() < 0.9
        case "claims":
            return "claims", [chance.choice(["made", "made", "written", "failed"]) for _ in range(chance.choice([1, 5]))]
        case "group":
            return "group", *pod_groups.group(chance, cluster.NAMESPACES)
        case "group_gone":
            return "group_gone", chance.choice(pod_groups.SOURCES), f"{chance.choice(cluster.NAMESPACES)}/g"
        case "groups_served":
            return "groups_served", chance.choice(pod_groups.SOURCES), chance.random() < 0.8
        case "provisioner":
            return "provisioner", chance.random() < 0.7, chance.choice(["", "403"])
        case "requested":
            return "requested", chance.choice(["pending", "provisioned", "failed", "refused", ""]), chance.randrange(1 << 16)
        case "devices":
            kind = chance.choice(devices.KINDS)
            return "devices", kind, devices.thing(kind, chance)
        case "devices_gone":
            return "devices_gone", chance.choice(devices.KINDS), chance.randrange(1 << 16)
        case "devices_known":
            return "devices_known", chance.random() < 0.9
        case "reserved":
            return "reserved", [chance.choice(["written", "written", "untold", "failed"]) for _ in range(chance.choice([1, 5]))]
        case "sampled":
            pressure = tuple((name, chance.choice([0, 100, 900]), chance.choice([0, 1000])) for name in _some(chance))
            ago = chance.choice([0.0, 5.0, -5.0, 1e9])
            return "sampled", chance.choice([*cluster.NODES, "nobody"]), _used(chance), ago, pressure
        case "pod_sampled":
            return "pod_sampled", chance.randrange(1 << 16), _used(chance), chance.choice([0.0, 5.0, -5.0, 1e9])
        case "removed_lately":
            return "removed_lately", chance.uniform(-2000.0, 1e6), chance.randint(1, 1000)
        case "usage_known":
            return "usage_known", chance.random() < 0.7
        case "evicted":
            return "evicted", [
                chance.choice(["stays", "leaving", "leaving", "gone", "nothing"]) for _ in range(chance.choice([1, 5]))
            ]
        case "look":
            return ("look",)
    return "anew", chance.random() < 0.3


def _some(chance: Random) -> tuple[str, ...]:
    return chance.choice([("cpu", "memory"), ("memory",), ("io",), ()])


def _used(chance: Random) -> tuple[tuple[str, int], ...]:
    """What a node may be said to use."""
    names = chance.choice([("cpu", "memory"), ("cpu",), ("memory", "example.com/a"), ()])
    return tuple((name, chance.choice([0, 500, 3000, 1 << 30, 1 << 62])) for name in names)


def _thresholds(chance: Random) -> Json:
    found: Json = {}
    for name in chance.choice([("cpu", "memory"), ("cpu",), ("memory",), ()]):
        low, high = sorted(chance.choice([(0, 0), (50, 80), (100, 100)]))
        found[name] = {"allocationPercent": low, "preemptionPercent": high, "borneSamples": chance.choice([0, 1])}
    return found


def _node_queues(chance: Random) -> Json:
    """All fields, each of which may be absent; queues are short, so that they are full at times."""
    least = chance.choice([1, 1, 2, 5])
    whole: Json = {
        "order": chance.choice(["QueueLength", "QueueWaitTime"]),
        "candidates": chance.choice([1, 2, 10, 1000]),
        "nodesPerPod": chance.choice([1, 2, 3, 16]),
        "deviations": chance.choice([0, 0, 1, 2, 100]),
        "minimum": least,
        "maximum": max(least, chance.choice([1, 2, 4, 15, 1000])),
    }
    rest = {name: value for name, value in whole.items() if name not in {"minimum", "maximum"} and chance.random() < 0.7}
    return {**rest, "minimum": whole["minimum"], "maximum": whole["maximum"]} if chance.random() < 0.8 else rest


RESERVABLE, RESERVATIONS = ["root.a", "root.b.x"], ["res", "night", "x" * 63]


def an_object(kind: str, chance: Random, style: Style) -> Json:
    match kind:
        case "Scheduler":
            found = schema.made(kind, cluster.chosen(chance, ["treadle"], ["treadle", "spark", "other"], style), chance, style)
            if chance.random() < 0.5:
                found.setdefault("spec", {})["opportunistic"] = {
                    "usage": {"source": chance.choice(["Metrics", "Kubelets", "Agent", "Agent"])},
                    "thresholds": _thresholds(chance),
                    "prediction": {"method": chance.choice(["LastSample", "NSigma", "Percentile", "Reservation", "Largest"])},
                }
                if chance.random() < 0.5:
                    found["spec"]["opportunistic"]["pressure"] = _thresholds(chance)
            if chance.random() < 0.4:
                found.setdefault("spec", {}).setdefault("opportunistic", {})["nodeQueues"] = _node_queues(chance)
            if chance.random() < 0.4:
                found.setdefault("spec", {})["placeTogether"] = {"solver": chance.choice(["HiGHS", "HiGHS", "None"])}
            return found
        case "Queue":
            found = schema.made(kind, chance.choice(QUEUES), chance, style)
            if found["metadata"]["name"] in RESERVABLE and chance.random() < 0.6:
                policy = chance.choice(["CapacityOverTime", "NoOverCommit"])
                lead, move = chance.choice(["0s", "5s", "1m"]), chance.random() < 0.5
                found.setdefault("spec", {})["reservations"] = {"policy": policy, "leadTime": lead, "moveOnExpiry": move}
            return found
        case "Application":
            found = schema.made(kind, chance.choice(["app0", "app1", "app2", "j"]), chance, style, "ns")
            if chance.random() < 0.4:
                found.setdefault("spec", {})["placeTogether"] = chance.choice(["Serial", "PopularTags"])
            if chance.random() < 0.5:
                found.setdefault("spec", {})["reservation"] = chance.choice(RESERVATIONS)
            return found
    found = schema.made(kind, chance.choice(RESERVATIONS), chance, style, "ns")
    if chance.random() < 0.8:
        found["spec"] = _reserved(chance)
    return found


CALENDARS = (
    {"recurrence": "0 1 * * *"},
    {"recurrence": "*/20 * * * *", "timeZone": "Asia/Kathmandu"},
    {"recurrence": "0,30 0 * * *", "timeZone": "Australia/Lord_Howe"},
    {"recurrence": "* * * * *"},
    {"recurrence": "0 3 1 * *"},
)
"""Of which some are no cycle, or come too often."""


def _reserved(chance: Random) -> Json:
    """What may be had in the seconds of a run, which begins with 1970."""
    start = chance.choice([-100, 0, 3, 20, 100])
    requests = [
        {
            "demand": chance.choice([{"cpu": "1"}, {"cpu": "500m", "memory": "1Gi"}, {"memory": "1Gi"}, {"example.com/a": "1"}]),
            "count": chance.choice([1, 4]) * 2,
            "concurrency": chance.choice([1, 2]),
            "duration": chance.choice(["1s", "7s", "90s", "0s"]),
        }
        for _ in range(chance.choice([1, 2]))
    ]
    return {
        "queue": chance.choice([*RESERVABLE, "root.c"]),
        "arrival": _second(start),
        "deadline": _second(start + chance.choice([1, 10, 200, 1000])),
        "expression": {"interpreter": chance.choice(["All", "Any", "Order", "OrderNoGap"]), "requests": requests},
        **chance.choice([{}, {}, {"recurrence": "10m"}, {"recurrence": "1h"}, *CALENDARS]),
    }


def _second(time: int) -> str:
    return (datetime.fromtimestamp(0, UTC) + timedelta(seconds=time)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _sets(chance: Random) -> list[Json]:
    """A Scheduler that asks for the solver, and Applications whose pods are placed together."""
    asked = {"solver": chance.choice(["HiGHS", "HiGHS", "None"]), "timeLimit": "2s"}
    found = [{"kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {"placeTogether": asked}}]
    for number in range(6):
        spec = {"placeTogether": chance.choice(["Serial", "PopularTags"])}
        found.append({"kind": "Application", "metadata": {"name": f"app{number}", "namespace": "ns"}, "spec": spec})
    return [{"apiVersion": "treadle.dev/v1alpha1", **one} for one in found]


def _edit(chance: Random, style: Style) -> Json:
    labels, notes = cluster._names(chance, style)
    return chance.choice(
        [
            {"metadata": {"labels": labels}},
            {"metadata": {"annotations": notes}},
            {"metadata": {"deletionTimestamp": "2026-11-20T00:00:00Z"}},
            {"spec": {"schedulingGates": None}},
            {"spec": {"tolerations": [cluster._toleration(chance)]}},
            {"spec": {"containers": cluster.pod("x", chance, style)["spec"]["containers"]}},
            {"status": {"phase": chance.choice(["Running", "Pending", "Failed"])}},
            {"status": {"containerStatuses": [{"name": "c0", "allocatedResources": {"cpu": "3", "memory": "1Gi"}}]}},
            {},
        ]
    )


def a_run(seed: int, length: int) -> tuple[list[Step], Failure | None, int]:
    """Play a run of this seed; returns its steps up to a failure, the failure, and how many objects were made."""
    chance = Random(seed)
    style = Style(chance)
    world = World()
    steps: list[Step] = []
    made = 0
    opening: list[Step] = [("storage_known", True), ("devices_known", True)]
    opening += [("node", cluster.node(name, chance, style)) for name in cluster.NODES[:2]]
    opening += [("object", an_object("Scheduler", chance, style))] if chance.random() < 0.8 else []
    if chance.random() < 0.3:
        opening += [("object", body) for body in _sets(chance)]
    for name in sorted(chance.sample(QUEUES, chance.choice([0, 4, 8, len(QUEUES)]))):
        opening.append(("object", schema.made("Queue", name, chance, style)))
    for number in range(length):
        step = opening.pop(0) if opening else next_step(world, chance, style, number)
        steps.append(step)
        made += step[2] if step[0] == "pods" else step[0] in {"object", "pod", "node", "namespace", "edit"}
        if failure := played(world, step):
            return steps, failure, made
    last: Step
    for last in (("plan", 1000), ("look",), ("time", 1.0), ("plan", 1000), ("look",)):
        steps.append(last)
        if failure := played(world, last):
            return steps, failure, made
    return steps, None, made
