"""Gangs of pods and PodGroups by chance, as the API server may have them: of the systems whose kinds have a schema of their own, and odd ones."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from fuzz.schema import QUEUES
from treadle.core.model import PodGroupSpec
from treadle.core.model.gangs import KUBERNETES, PLUGINS, SOURCES, VOLCANO
from treadle.kube import wire
from treadle.kube.pod_groups import pod_group

Json = dict[str, Any]
COUNTS = [1, 2, 2, 3, 5, 2_000_000_000, 0, -1]

GROUPS = (
    '[{"name": "g", "minMember": 2}]',
    '[{"name": "g", "minMember": 2}, {"name": "h", "minMember": 0}]',
    "[]",
    "{",
    '[{"name": 1, "minMember": "x"}]',
)
TOPOLOGIES = ["zone", "kubernetes.io/hostname", "nowhere", "two words"]

__all__ = ["SOURCES", "add", "group", "translated"]


def add(pod: Json, chance: Random) -> None:
    """Let a pod say, in somebody's words, that it starts with others."""
    meta, name = pod["metadata"], chance.choice("gh")
    labels, notes = dict(meta.get("labels", {})), dict(meta.get("annotations", {}))
    count = chance.choice(["1", "2", "3", "6", "100000", "0", "x"])
    match chance.choice(["own", "own", "own", "yunikorn", "kubernetes", "volcano", "plugins", "kueue", "koordinator"]):
        case "own":
            labels["treadle.dev/gang"] = name
            if chance.random() < 0.8:
                labels["treadle.dev/gang-min-member"] = count
        case "yunikorn":
            notes |= {"yunikorn.apache.org/task-groups": chance.choice(GROUPS), "yunikorn.apache.org/task-group-name": "g"}
        case "kubernetes":
            pod["spec"]["schedulingGroup"] = {"podGroupName": name}
        case "volcano":
            notes["scheduling.k8s.io/group-name"] = name
        case "plugins":
            labels["scheduling.x-k8s.io/pod-group"] = name
        case "kueue":
            labels["kueue.x-k8s.io/pod-group-name"] = name
            notes["kueue.x-k8s.io/pod-group-total-count"] = count
        case "koordinator":
            notes |= {"gang.scheduling.koordinator.sh/name": name, "gang.scheduling.koordinator.sh/min-available": count}
    if chance.random() < 0.3:
        notes[chance.choice(["treadle.dev/gang-topology", "treadle.dev/gang-preferred-topology"])] = chance.choice(TOPOLOGIES)
    meta["labels"], meta["annotations"] = labels, notes


def group(chance: Random, namespaces: list[str]) -> tuple[str, Json]:
    """Return a system and an object of its kind."""
    source = chance.choice(SOURCES)
    meta = {"name": chance.choice("gh"), "namespace": chance.choice(namespaces), "uid": str(chance.randrange(9))}
    return source, {"metadata": meta, "spec": _SPECS[source](chance) if chance.random() < 0.95 else None}


def _kubernetes(chance: Random) -> Json:
    policy = chance.choice([{"basic": {}}, {"gang": {"minCount": chance.choice(COUNTS)}}, {"gang": {"minCount": 2}}])
    topology = chance.choice([[], [{"key": "zone"}], [{"key": "zone"}, {"key": "kubernetes.io/hostname"}]])
    more = chance.choice([{}, {"disruptionMode": "PodGroup", "priority": 7}, {"disruptionMode": {"all": {}}}])
    return {"schedulingPolicy": policy, "schedulingConstraints": {"topology": topology}, **more}


def _volcano(chance: Random) -> Json:
    odd = chance.choice(
        [
            {},
            {"minTaskMember": {"a": 1}},
            {"minMember": "two"},
            {"queue": "default", "minResources": {"cpu": "1"}},
            {"queue": chance.choice([*QUEUES, "nowhere", "", "x" * 300])},
            {"queue": 7},
        ]
    )
    return {"minMember": chance.choice(COUNTS), **odd}


def _plugins(chance: Random) -> Json:
    return {"minMember": chance.choice(COUNTS), "scheduleTimeoutSeconds": 10}


_SPECS = {KUBERNETES: _kubernetes, VOLCANO: _volcano, PLUGINS: _plugins}


def translated(source: str, body: Json) -> PodGroupSpec:
    return pod_group(source, msgspec.json.decode(msgspec.json.encode(body), type=wire.PodGroup))
