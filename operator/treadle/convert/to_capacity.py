"""From the fair blocks of Queues and a Scheduler to their capacity blocks, as Hadoop's fs2cs does (``FSConfigToCSConfigConverter``).

The fair blocks stay, so that ``discipline: Fair`` brings back what was. What has no counterpart has a line. Beyond fs2cs, which
drops every ``maxResources``, a maximum is carried over where it is one percentage of the cluster or quantities.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from decimal import Decimal
from typing import Any, Final

from treadle.api.labels import API_VERSION
from treadle.api.objects import parse
from treadle.api.quantities import is_percent
from treadle.convert.fair_rules import DEFAULT, mapping_rules
from treadle.convert.fair_shares import below, bounded, percentages
from treadle.convert.names import ROOT
from treadle.convert.objects import Converted

_QUEUE_REASONS: Final = {
    "minResources": "what a queue is guaranteed is its share by weight",
    "maxChildResources": "queues that are made have what their template says",
    "minSharePreemptionTimeout": "preemption has one pace for all queues",
    "fairSharePreemptionTimeout": "preemption has one pace for all queues",
    "fairSharePreemptionThreshold": "preemption goes by what queues are guaranteed",
}
_REASONS: Final = {
    "preemptionClusterUtilizationThreshold": "preemption does not depend on how full the cluster is",
    "amPreemption": "masters are preempted last",
    "amPreemptionOf": "masters are preempted last",
    "reservableNodes": "it is a part of the nodes for each application there; capacity.reservableNodes is one for all of a partition",
    "localityThresholdNode": "it is a part of the nodes; nodeLocalityDelay is a number of them",
    "localityThresholdRack": "it is a part of the nodes; rackLocalityAdditionalDelay is a number of them",
    "localityDelayNode": "it is a time; nodeLocalityDelay is a number of nodes",
    "localityDelayRack": "it is a time; rackLocalityAdditionalDelay is a number of nodes",
    "queueMaxResourcesDefault": "queues that are made have what their template says",
    "defaultMinSharePreemptionTimeout": "preemption has one pace for all queues",
    "defaultFairSharePreemptionTimeout": "preemption has one pace for all queues",
    "defaultFairSharePreemptionThreshold": "preemption goes by what queues are guaranteed",
}
_CARRIED: Final = {
    "userMaxApps": "userMaxParallelAppsOf",
    "userMaxAppsDefault": "userMaxParallelApps",
    "queueMaxAppsDefault": "maxParallelApps",
}
_PREEMPTION: Final = {
    "waitTimeBeforeKill": "maxWaitBeforeKill",
    "waitTimeBeforeNextStarvationCheck": "monitoringInterval",
    "deleteBlockedVictims": "deleteBlockedVictims",
    "holdTimeout": "holdTimeout",
}
_IDLE: Final = "10s"
"""How long the FairScheduler keeps a queue that it made and nobody uses."""
KINDS: Final = ("Scheduler", "Queue")
_SERVERS: Final = frozenset(
    {"creationTimestamp", "finalizers", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
)
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MASTERS: Final = "0.5"
"""FairScheduler's default for ``queueMaxAMShareDefault``; the CapacityScheduler's is a tenth."""


class Tree:
    """The Queues by path, and what is above and below each."""

    def __init__(self, queues: Mapping[str, dict[str, Any]]) -> None:
        self.queues = queues

    def children(self, path: str) -> list[str]:
        """Return the paths right below one."""
        return [one for one in self.queues if one != ROOT and one.rpartition(".")[0] == path]

    def is_leaf(self, path: str) -> bool:
        """Whether applications live in it."""
        return path != ROOT and not self.children(path) and not self.queues[path]["spec"].get("holdsQueues")

    def fair(self, path: str) -> dict[str, Any]:
        """Return the fair block of a queue."""
        found: dict[str, Any] = self.queues[path]["spec"].get("fair") or {}
        return found

    def chain(self, path: str) -> Iterator[str]:
        """Yield the paths from the root down to one."""
        parts = path.split(".")
        yield from (".".join(parts[: length + 1]) for length in range(len(parts)))


def to_capacity(given: Sequence[Mapping[str, Any]], *, by_percentage: bool = False) -> Converted:
    """Return the objects with capacity blocks, and what does not carry over.

    Raises ``InvalidObject`` for one that is not ours.
    """
    result = Converted()
    for one in _listed(given):
        if one.get("kind") in KINDS:
            parse(str(one["kind"]), one)
            result.objects.append(one)
        else:
            result.notes.append(
                f"{one.get('kind')} {(one.get('metadata') or {}).get('name')}: is left out; allowed are {', '.join(KINDS)}"
            )
    schedulers = [one for one in result.objects if one["kind"] == "Scheduler"]
    if not schedulers:
        schedulers = [_object("Scheduler", "treadle")]
        result.objects.insert(0, schedulers[0])
    queues = {one["metadata"]["name"]: one for one in result.objects if one["kind"] == "Queue"}
    for path in _missing(queues, schedulers):
        queues[path] = _object("Queue", path)
        result.objects.append(queues[path])
    for one in (*schedulers, *queues.values()):
        one["spec"] = one.get("spec") or {}
    tree = Tree(queues)
    for scheduler in schedulers:
        _scheduler(scheduler, tree, result.notes, by_percentage=by_percentage)
    sized = any((one["spec"].get("fair") or {}).get("sizeBasedWeight") for one in schedulers)
    for path in sorted(queues):
        _queue(path, tree, result.notes, by_percentage=by_percentage, sized=sized)
    if any(tree.is_leaf(path) and tree.fair(path).get("schedulingPolicy", "drf") != "fifo" for path in queues):
        result.notes.append("orderingPolicy fair: applications are ordered by their memory alone, also where they were by drf")
    return result


def _listed(given: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the objects, also those in lists, without what the API server wrote into them."""
    for one in given:
        if str(one.get("kind")).endswith("List"):
            yield from _listed(one.get("items") or ())
            continue
        found = {key: deepcopy(value) for key, value in one.items() if key != "status"}
        metadata = found.get("metadata")
        if isinstance(metadata, dict):
            annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != _APPLIED}
            kept = {key: value for key, value in metadata.items() if key not in {*_SERVERS, "annotations"}}
            found["metadata"] = {**kept, "annotations": annotations} if annotations else kept
        yield found


def _object(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": {}}


def _missing(queues: Mapping[str, Any], schedulers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the queues that the CapacityScheduler needs to be declared: the root, and the default queue of the rules."""
    missing = [] if ROOT in queues else [ROOT]
    for scheduler in schedulers:
        for rule in (scheduler.get("spec") or {}).get("placementRules") or ():
            target = rule.get("queue") or DEFAULT
            above = target.rpartition(".")[0]
            if rule["rule"] == "default" and target not in queues and (above in {ROOT, *queues}):
                missing.append(target)
    return list(dict.fromkeys(missing))


def _scheduler(scheduler: dict[str, Any], tree: Tree, notes: list[str], *, by_percentage: bool) -> None:
    spec, name = scheduler["spec"], scheduler["metadata"]["name"]
    fair = spec.get("fair") or {}
    block: dict[str, Any] = {"resourceCalculator": _calculator(fair, tree, notes)}
    block |= {ours: deepcopy(fair[theirs]) for theirs, ours in _CARRIED.items() if theirs in fair}
    masters = str(fair.get("queueMaxAMShareDefault", _MASTERS))
    block["maximumAMResourcePercent"] = "1" if masters == "-1" else masters
    if fair.get("preemption"):
        carried = {ours: fair[theirs] for theirs, ours in _PREEMPTION.items() if theirs in fair}
        block["preemption"] = {"enabled": True, "monitoringInterval": "10s", **carried}
    rules = spec.get("placementRules")
    if rules:
        notes_of: list[str] = []
        made = mapping_rules(rules, notes_of, percentages=by_percentage)
        notes += [f"Scheduler {name}: {note}" for note in notes_of]
        block |= {"mappingRules": made, "queueMappingsOverride": True}
    if not by_percentage:
        block["autoCreation"] = {"expirationTime": _IDLE}
    notes += [f"Scheduler {name}: fair.{field} has no counterpart; {_REASONS[field]}" for field in fair if field in _REASONS]
    spec["discipline"] = "Capacity"
    spec["capacity"] = block


def _calculator(fair: Mapping[str, Any], tree: Tree, notes: list[str]) -> str:
    """Return what counts: every resource as soon as one queue, or the default, is of the policy drf."""
    policies = {path: tree.fair(path).get("schedulingPolicy", "drf") for path in tree.queues}
    if "drf" not in {*policies.values(), fair.get("defaultQueueSchedulingPolicy")}:
        return "memory"
    notes += [
        f"Queue {path}: fair.schedulingPolicy fair: every resource counts, since others have the policy drf"
        for path, policy in sorted(policies.items())
        if policy == "fair"
    ]
    return "dominant"


def _queue(path: str, tree: Tree, notes: list[str], *, by_percentage: bool, sized: bool) -> None:
    spec, fair, where = tree.queues[path]["spec"], tree.fair(path), f"Queue {path}"
    block: dict[str, Any] = {}
    if path != ROOT:
        block |= _guaranteed(path, tree, notes, by_percentage=by_percentage)
    maximum = _maximum(path, tree, notes)
    if maximum is not None:
        block["maximum"] = maximum
    if tree.is_leaf(path):
        block |= _leaf(where, fair, notes, sized=sized)
    elif by_percentage:
        weights = [tree.fair(child).get("weight", "1") for child in tree.children(path)]
        if len(weights) > 1 and not any(Decimal(weight) for weight in weights):
            block["allowZeroCapacitySum"] = True
    else:
        block["autoCreation"] = {"enabled": True}
    if "maxAMShare" in fair:
        share = str(fair["maxAMShare"])
        block["maximumAMResourcePercent"] = "1" if share == "-1" else share
    if "maxContainerAllocation" in fair:
        block["maximumAllocation"] = dict(fair["maxContainerAllocation"])
    if "allowPreemptionFrom" in fair:
        block["disablePreemption"] = not fair["allowPreemptionFrom"]
    notes += [f"{where}: fair.{field} has no counterpart; {_QUEUE_REASONS[field]}" for field in fair if field in _QUEUE_REASONS]
    if block or path != ROOT:
        spec["capacity"] = block


def _guaranteed(path: str, tree: Tree, notes: list[str], *, by_percentage: bool) -> dict[str, str]:
    parent = path.rpartition(".")[0]
    siblings = tree.children(parent)
    weights = {one: str(tree.fair(one).get("weight", "1")) for one in siblings}
    if by_percentage:
        return {"guaranteed": f"{percentages(weights)[path]}%"}
    found = bounded(weights)
    if found[path] != Decimal(weights[path]):
        notes.append(f"Queue {path}: fair.weight {weights[path]} becomes {found[path].normalize():f}: weights are at most 10000")
    return {"guaranteed": f"{found[path].normalize():f}w"}


def _leaf(where: str, fair: Mapping[str, Any], notes: list[str], *, sized: bool) -> dict[str, Any]:
    policy = fair.get("schedulingPolicy", "drf")
    if policy not in {"fifo", "fair", "drf"}:
        notes.append(f"{where}: fair.schedulingPolicy {policy} has no counterpart; applications are ordered by fair")
    block: dict[str, Any] = {"userLimitFactor": "-1", "orderingPolicy": "fifo" if policy == "fifo" else "fair"}
    if sized:
        block["sizeBasedWeight"] = True
    return block


def _maximum(path: str, tree: Tree, notes: list[str]) -> str | None:
    """Return the maximum where it can be said as the CapacityScheduler has it: a percentage of the parent's, or quantities with memory."""
    limits = [tree.fair(one).get("maxResources") if one in tree.queues else None for one in tree.chain(path)]
    own = limits[-1]
    if not own:
        return None
    where = f"Queue {path}: fair.maxResources"
    if any(is_percent(str(text)) for text in own.values()):
        percents = [_uniform(one) for one in limits]
        quantities = any(one and not any(is_percent(str(text)) for text in one.values()) for one in limits)
        found = None if quantities else below(percents)
        if found is None or any(one and percent is None for one, percent in zip(limits, percents, strict=True)):
            notes.append(
                f"{where} has no counterpart: a maximum is one percentage of the parent's for all resources, or quantities"
            )
            return None
        return f"{found.normalize():f}%"
    if "memory" not in own:
        notes.append(f"{where} has no counterpart without memory")
        return None
    return f"[{','.join(f'{name}={amount}' for name, amount in own.items())}]"


def _uniform(limits: Mapping[str, str] | None) -> Decimal | None:
    """Return the percentage that limits give to memory and cpu alike, None where they say something else."""
    texts = {str(text) for text in (limits or {}).values()}
    if len(texts) != 1 or not {"memory", "cpu"} <= set(limits or ()):
        return None
    text = texts.pop()
    return Decimal(text.removesuffix("%")) if is_percent(text) else None
