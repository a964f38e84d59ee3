"""From a case's configuration to what the core is told: queues, settings and rules in YARN's units (MB and whole vcores)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.java_orders import configured
from treadle.convert.allocations import AllocationFile, QueueElement, read
from treadle.convert.amounts import Amounts
from treadle.convert.rules import Rule
from treadle.core.model import AccessList, FairSettings, Limit, PlacementRule, QueueSpec
from treadle.core.rules.placement.rules import implied
from treadle.core.units.amounts import f32
from treadle.core.units.resources import UNBOUNDED, ResourceTypes

NAMES = {"memory-mb": "memory", "vcores": "cpu"}
YARN = "yarn.scheduler."
FAIR = "yarn.scheduler.fair."
EMPTY = '<?xml version="1.0"?><allocations/>'


@dataclass(frozen=True, slots=True)
class Share(Limit):
    """A part of the cluster, multiplied as Hadoop does it."""

    share: float = 0.0

    def resolve(self, total: int) -> int:
        return int(total * self.share)


@dataclass
class Loaded:
    queues: list[QueueSpec]
    settings: FairSettings
    rules: Sequence[PlacementRule]


def hadoop_types(case: Mapping[str, Any]) -> list[str]:
    return ["memory-mb", "vcores", *case.get("resource_types", [])]


def types_of(case: Mapping[str, Any]) -> ResourceTypes:
    types = ResourceTypes()
    for name in case.get("resource_types", []):
        types.position(name)
    return types


def vector(amounts: Sequence[int], types: ResourceTypes) -> list[int]:
    """Hadoop's order of types to ours, which has the pods third."""
    given = [*amounts, *([0] * (len(types) - 1 - len(amounts)))]
    return [given[0], given[1], 0, *given[2:]]


def load(case: Mapping[str, Any], allocations: str | None = None) -> Loaded:
    names = hadoop_types(case)
    text = allocations if allocations is not None else case.get("allocations") or EMPTY
    found = read(text, names)
    site = case.get("conf") or {}
    settings = _settings(found, site, case)
    rules = (
        implied(_flag(site, "allow-undeclared-pools", True), _flag(site, "user-as-default-queue", True))
        if found.rules is None
        else tuple(_rule(rule) for rule in found.rules)
    )
    return Loaded(_queues(found, settings), settings, rules)


def _flag(site: Mapping[str, str], name: str, default: bool) -> bool:
    return str(site.get(FAIR + name, default)).strip().lower() == "true"


def _rule(rule: Rule) -> PlacementRule:
    parent = _rule(rule.parent) if rule.parent is not None else None
    return PlacementRule(rule.name, rule.create, rule.queue if rule.name == "default" else "", parent)


def _queues(found: AllocationFile, settings: FairSettings) -> list[QueueSpec]:
    specs: dict[str, QueueSpec] = {}

    def walk(queue: QueueElement) -> None:
        specs[queue.path] = _spec(queue, settings)
        for child in queue.children:
            walk(child)

    root = found.root or QueueElement("root", 0, parent=True, children=found.queues)
    walk(root)
    parents = {spec.parent for spec in specs.values()} | {path for path, spec in specs.items() if spec.holds_queues}
    leaves = configured([path for path in specs if path not in parents])
    return [specs[path] for path in [*leaves, *configured([path for path in specs if path in parents])]]


def _spec(queue: QueueElement, settings: FairSettings) -> QueueSpec:
    return QueueSpec(
        path=queue.path,
        weight=f32(queue.weight),
        minimum=_limits(queue.minimum) if queue.minimum is not None and queue.minimum.absolute is not None else {},
        maximum=_limits(queue.maximum) if queue.maximum is not None else {},
        policy=queue.policy or settings.default_policy,
        holds_queues=queue.parent,
        max_running=queue.max_running_apps,
        max_master_share=queue.max_am_share,
        max_container=_limits(queue.maximum_container) if queue.maximum_container is not None else {},
        max_child=_limits(queue.maximum_of_children) if queue.maximum_of_children is not None else None,
        min_share_timeout=_ms(queue.minimum_share_timeout),
        fair_share_timeout=_ms(queue.fair_share_timeout),
        fair_share_threshold=queue.fair_share_threshold,
        preemptable=queue.allow_preemption_from is not False,
        submit=_acl(queue.acls.get("aclSubmitApps")),
        administer=_acl(queue.acls.get("aclAdministerApps")),
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _limits(amounts: Amounts) -> dict[str, Limit]:
    if amounts.percent is not None:
        return {NAMES.get(name, name): Share(percent=share * 100, share=share) for name, share in amounts.percent.items()}
    assert amounts.absolute is not None
    return {NAMES.get(name, name): Limit(min(value, UNBOUNDED)) for name, value in amounts.absolute.items()}


def _acl(text: str | None) -> AccessList | None:
    if text is None:
        return None
    if text.strip() == "*":
        return AccessList(frozenset({"*"}))
    users, _, groups = text.partition(" ")
    return AccessList(*(frozenset(one.strip() for one in part.split(",") if one.strip()) for part in (users, groups)))


def _settings(found: AllocationFile, site: Mapping[str, str], case: Mapping[str, Any]) -> FairSettings:
    def number(name: str, default: float) -> float:
        return f32(float(site.get(FAIR + name, default)))

    prefix = FAIR + "am.preemption."
    continuous = _flag(site, "continuous-scheduling-enabled", False)
    return FairSettings(
        preemption=_flag(site, "preemption", False),
        utilization_threshold=number("preemption.cluster-utilization-threshold", 0.8),
        wait_before_kill=float(site.get(FAIR + "waitTimeBeforeKill", 15000)),
        wait_before_next_check=float(site.get(FAIR + "waitTimeBeforeNextStarvationCheck", 10000)),
        heartbeat=0.0,  # Hadoop makes its preemption thread before it has read the interval
        master_preemption=_flag(site, "am.preemption", True),
        master_preemption_of={
            key.removeprefix(prefix): value.strip().lower() == "true" for key, value in site.items() if key.startswith(prefix)
        },
        size_based_weight=_flag(site, "sizebasedweight", False),
        assign_multiple=_flag(site, "assignmultiple", False),
        dynamic_max_assign=_flag(site, "dynamic.max.assign", True),
        max_assign=int(site.get(FAIR + "max.assign", -1)),
        node_threshold=number("locality.threshold.node", -1),
        rack_threshold=number("locality.threshold.rack", -1),
        node_delay=float(site.get(FAIR + "locality-delay-node-ms", -1)) if continuous else -1.0,
        rack_delay=float(site.get(FAIR + "locality-delay-rack-ms", -1)) if continuous else -1.0,
        reservable_nodes=number("reservable-nodes", 0.05),
        reservation_multiple=f32(float(site.get(YARN + "reservation-threshold.increment-multiple", 2.0))),
        increment=_amounts(site, case, "increment-allocation", 1024, 1, 0),
        least=_amounts(site, case, "minimum-allocation", 1024, 1, 0),
        most=_amounts(site, case, "maximum-allocation", 8192, 4, UNBOUNDED),
        user_max_running=dict(found.user_limits),
        user_max_running_default=found.user_max_apps,
        queue_max_running_default=found.queue_max_apps,
        queue_max_default=_limits(found.queue_max_resources) if found.queue_max_resources is not None else None,
        queue_max_master_share_default=0.5 if found.queue_max_am_share is None else found.queue_max_am_share,
        default_policy=found.default_policy,
        min_share_timeout=_ms(found.minimum_share_timeout),
        fair_share_timeout=_ms(found.fair_share_timeout),
        fair_share_threshold=0.5 if found.fair_share_threshold is None else found.fair_share_threshold,
    )


_UNITS = {"": 1, "k": 1000, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def _amounts(site: Mapping[str, str], case: Mapping[str, Any], what: str, memory: int, vcores: int, other: int) -> dict[str, int]:
    result = {
        "memory": int(site.get(f"{YARN}{what}-mb", memory)),
        "cpu": int(site.get(f"{YARN}{what}-vcores", vcores)),
        **dict.fromkeys(case.get("resource_types", []), other),
    }
    for name in hadoop_types(case):
        text = site.get(f"yarn.resource-types.{name}.{what}")
        if text is None:
            continue
        digits = text.strip().rstrip("kMGTi ")
        unit = text.strip()[len(digits) :].strip()
        value = int(digits) * _UNITS[unit]
        result[NAMES.get(name, name)] = value // 2**20 if name == "memory-mb" and unit else value
    return result
