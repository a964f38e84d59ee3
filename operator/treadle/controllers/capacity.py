"""From the ``capacity`` blocks of Queues and Schedulers to what the core is told of the CapacityScheduler's rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from treadle.api.quantities import seconds
from treadle.api.queue import PartitionCapacity, QueueCapacity
from treadle.api.scheduler import CapacityPreemption as Preemption
from treadle.api.scheduler import SchedulerCapacity, SchedulerNodes
from treadle.core.capacity.settings import (
    Capacity,
    CapacityPreemption,
    CapacityQueueSpec,
    CapacitySettings,
    Kind,
    PartitionShare,
    Portion,
    live,
)
from treadle.core.errors import InvalidSpec
from treadle.core.resources import amount


def queue(path: str, block: QueueCapacity, *, running: bool) -> CapacityQueueSpec:
    """Translate the block of a queue. Raises ``InvalidSpec``."""
    shares = {"": _share("", block.guaranteed, block.maximum, None)}
    for name, partition in (block.partitions or {}).items():
        shares[name] = _partition(name, partition)
    said: dict[str, Any] = {
        "user_limit": block.minimum_user_limit_percent,
        "user_limit_factor": _number(block.user_limit_factor),
        "user_weights": {name: float(weight) for name, weight in (block.user_weights or {}).items()},
        "max_applications": block.maximum_applications,
        "master_share": _number(block.maximum_am_resource_percent),
        "max_allocation": {name: amount(name, text) for name, text in (block.maximum_allocation or {}).items()},
        "order": block.ordering_policy,
        "size_based_weight": block.size_based_weight,
        "enforced_partitions": frozenset(block.enforced_partitions or ()),
        "priority": block.priority,
        "default_application_priority": block.default_application_priority,
        "disable_preemption": block.disable_preemption,
        "disable_intra_preemption": block.disable_intra_queue_preemption,
        "max_lifetime": _seconds(block.maximum_application_lifetime),
        "default_lifetime": _seconds(block.default_application_lifetime),
        "allow_zero_sum": block.allow_zero_capacity_sum,
        "accessible": None if block.accessible_partitions is None else frozenset(block.accessible_partitions),
        "default_partition": block.default_partition,
    }
    given = {name: value for name, value in said.items() if value is not None}
    return CapacityQueueSpec(path, partitions=shares, state=None if running else "STOPPED", **given)


def _partition(name: str, block: PartitionCapacity) -> PartitionShare:
    return _share(f"partitions.{name}.", block.guaranteed, block.maximum, _number(block.maximum_am_resource_percent))


def _share(where: str, guaranteed: str | None, maximum: str | None, masters: float | None) -> PartitionShare:
    if maximum is not None and maximum.endswith("w"):
        raise InvalidSpec(f"spec.capacity.{where}maximum: {maximum!r} is a weight; allowed are a percentage and quantities")
    return PartitionShare(capacity(f"{where}guaranteed", guaranteed), capacity(f"{where}maximum", maximum), masters)


def capacity(where: str, text: str | None) -> Capacity:
    """Read a capacity: a percentage, a weight or a vector. Raises ``InvalidSpec``."""
    if text is None:
        return Capacity()
    if not text.startswith("["):
        kind = Kind.WEIGHT if text.endswith("w") else Kind.PERCENT
        return Capacity(Portion(kind, float(text[:-1])))
    types: dict[str, Portion] = {}
    for entry in text[1:-1].split(","):
        name, _, value = entry.partition("=")
        if name in types:
            raise InvalidSpec(f"spec.capacity.{where}: {text!r} names {name} twice")
        if value.endswith(("%", "w")):
            types[name] = Portion(Kind.PERCENT if value.endswith("%") else Kind.WEIGHT, float(value[:-1]))
        else:
            types[name] = Portion(Kind.ABSOLUTE, amount(name, value))
    if "memory" not in types:
        raise InvalidSpec(f"spec.capacity.{where}: {text!r} names no memory, which quantities must name")
    return Capacity(types=types, written_by_type=True)


def settings(block: SchedulerCapacity | None, nodes: SchedulerNodes) -> CapacitySettings:
    """Translate the settings of a scheduler; times are in seconds."""
    block = block or SchedulerCapacity()
    said: dict[str, Any] = {
        "legacy": block.legacy_queue_mode,
        "all_types": False if block.resource_calculator == "memory" else None,
        "user_limit": block.minimum_user_limit_percent,
        "user_limit_factor": _number(block.user_limit_factor),
        "max_applications": block.maximum_applications,
        "queue_max_applications": block.queue_maximum_applications,
        "master_share": _number(block.maximum_am_resource_percent),
        "max_parallel": block.max_parallel_apps,
        "user_max_parallel": block.user_max_parallel_apps,
        "user_max_parallel_of": block.user_max_parallel_apps_of,
        "max_priority": block.maximum_application_priority,
        "partitions": {partition.name: partition.exclusive for partition in nodes.partitions or ()},
        "preemption": _preemption(block.preemption or Preemption()),
    }
    return replace(live(), **{name: value for name, value in said.items() if value is not None})


def _preemption(block: Preemption) -> CapacityPreemption:
    intra, priority, balance = block.intra_queue, block.queue_priority, block.balance
    said: dict[str, Any] = {
        "enabled": block.enabled,
        "observe_only": block.observe_only,
        "interval": _seconds(block.monitoring_interval),
        "wait_before_kill": _seconds(block.max_wait_before_kill),
        "per_round": _number(block.total_preemption_per_round),
        "ignored_over_capacity": _number(block.max_ignored_over_capacity),
        "natural_termination": _number(block.natural_termination_factor),
        "delete_blocked": block.delete_blocked_victims,
        "hold_timeout": _seconds(block.hold_timeout),
    }
    if intra is not None:
        said["intra_queue"] = intra.enabled
        said["intra_threshold"] = _number(intra.minimum_threshold)
        said["intra_limit"] = _number(intra.max_allowable_limit)
        said["intra_by_priority"] = intra.preemption_order_policy == "priority_first"
    if priority is not None:
        said["by_priority"] = priority.enabled
        said["by_priority_delay"] = _seconds(priority.reserved_container_delay)
    if balance is not None:
        said["balance"] = balance.enabled
        said["balance_wait"] = _seconds(balance.max_wait_before_kill)
    return replace(live().preemption, **{name: value for name, value in said.items() if value is not None})


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _seconds(text: str | None) -> float | None:
    return None if text is None else seconds(text)
