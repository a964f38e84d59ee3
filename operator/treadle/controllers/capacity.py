"""From the ``capacity`` blocks of Queues and Schedulers to what the core is told of the CapacityScheduler's rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from treadle.api.quantities import seconds
from treadle.api.queue import AutoCreation, CapacityTemplate, ManagedChildren, PartitionCapacity, QueueCapacity
from treadle.api.scheduler import CapacityPreemption as Preemption
from treadle.api.scheduler import MappingRule as Rule
from treadle.api.scheduler import SchedulerAutoCreation, SchedulerCapacity, SchedulerNodes
from treadle.core.errors import InvalidSpec
from treadle.core.model.capacity import (
    Capacity,
    CapacityPreemption,
    CapacityQueueSpec,
    CapacitySettings,
    FlexibleCreation,
    Kind,
    ManagedCreation,
    PartitionShare,
    Portion,
    live,
)
from treadle.core.model.mapping import Fallback, MappingRule, Match
from treadle.core.rules.placement.mapping import USER, place_of
from treadle.core.units.resources import amount


def queue(path: str, block: QueueCapacity, *, running: bool) -> CapacityQueueSpec:
    """Translate the block of a queue. Raises ``InvalidSpec``."""
    said: dict[str, Any] = {
        "user_weights": {name: float(weight) for name, weight in (block.user_weights or {}).items()},
        "enforced_partitions": frozenset(block.enforced_partitions or ()),
        "allow_zero_sum": block.allow_zero_capacity_sum,
        "accessible": None if block.accessible_partitions is None else frozenset(block.accessible_partitions),
        "default_partition": block.default_partition,
        "flexible": None if block.auto_creation is None else _flexible(path, block.auto_creation),
        "managed": None if block.managed_children is None else _managed(path, block.managed_children),
        "state": None if running else "STOPPED",
    }
    return replace(_alike(path, block, ""), **_given(said))


def _alike(path: str, block: CapacityTemplate, where: str) -> CapacityQueueSpec:
    """Translate what queues and templates may say alike; ``where`` is the field of the block below ``spec.capacity``, with a dot."""
    shares = {name: _partition(f"{where}partitions.{name}.", one) for name, one in (block.partitions or {}).items()}
    if not where or block.guaranteed is not None or block.maximum is not None:
        shares = {"": _share(where, block.guaranteed, block.maximum, None), **shares}
    most, default = _seconds(block.maximum_application_lifetime), _seconds(block.default_application_lifetime)
    if most and default is not None and default > most:
        raise InvalidSpec(
            f"spec.capacity.{where}defaultApplicationLifetime: {block.default_application_lifetime!r} is more than "
            f"maximumApplicationLifetime, which allows {block.maximum_application_lifetime!r}"
        )
    said: dict[str, Any] = {
        "user_limit": block.minimum_user_limit_percent,
        "user_limit_factor": _number(block.user_limit_factor),
        "max_applications": block.maximum_applications,
        "master_share": _number(block.maximum_am_resource_percent),
        "max_allocation": {name: amount(name, text) for name, text in (block.maximum_allocation or {}).items()},
        "order": block.ordering_policy,
        "size_based_weight": block.size_based_weight,
        "priority": block.priority,
        "default_application_priority": block.default_application_priority,
        "disable_preemption": block.disable_preemption,
        "disable_intra_preemption": block.disable_intra_queue_preemption,
        "max_lifetime": most,
        "default_lifetime": default,
    }
    return CapacityQueueSpec(path, partitions=shares, **_given(said))


def _given(said: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value is not None}


def _flexible(path: str, block: AutoCreation) -> FlexibleCreation:
    """Translate flexible creation. What is said about removal is meant for the queues that are made, as a template says it."""
    templates = {
        field: _alike(path, template, f"autoCreation.{name}.")
        for field, name, template in (
            ("common", "template", block.template),
            ("leaf", "leafTemplate", block.leaf_template),
            ("parent", "parentTemplate", block.parent_template),
        )
        if template is not None
    }
    if block.automatic_removal is not None:
        common = templates.get("common", CapacityQueueSpec(path))
        templates["common"] = replace(common, flexible=FlexibleCreation(removal=block.automatic_removal))
    partitions = frozenset(name for template in templates.values() for name in template.partitions)
    return FlexibleCreation(
        enabled=block.enabled is True,
        max_queues=block.maximum_queues,
        max_depth=block.maximum_depth,
        partitions=partitions or None,
        common=templates.get("common"),
        leaf=templates.get("leaf"),
        parent=templates.get("parent"),
    )


def _managed(path: str, block: ManagedChildren) -> ManagedCreation | None:
    if not block.enabled:
        return None
    if block.leaf_template is None or block.leaf_template.guaranteed is None:
        raise InvalidSpec(
            "spec.capacity.managedChildren.leafTemplate.guaranteed: is missing; allowed are a percentage of the queue and quantities"
        )
    if "w" in block.leaf_template.guaranteed.rpartition("=")[2]:
        raise InvalidSpec(
            f"spec.capacity.managedChildren.leafTemplate.guaranteed: {block.leaf_template.guaranteed!r} is a weight; "
            "allowed are a percentage of the queue and quantities"
        )
    most = 1000 if block.maximum_queues is None else block.maximum_queues
    return ManagedCreation(
        _alike(path, block.leaf_template, "managedChildren.leafTemplate."), most, fail_on_excess=block.fail_on_excess is True
    )


def _partition(where: str, block: PartitionCapacity) -> PartitionShare:
    return _share(where, block.guaranteed, block.maximum, _number(block.maximum_am_resource_percent))


def _share(where: str, guaranteed: str | None, maximum: str | None, masters: float | None) -> PartitionShare:
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
        "node_delay": block.node_locality_delay,
        "rack_delay": block.rack_locality_additional_delay,
        "rack_full_reset": block.rack_locality_full_reset,
        "reservable_nodes": _number(block.reservable_nodes),
        "max_priority": block.maximum_application_priority,
        "partitions": {partition.name: partition.exclusive for partition in nodes.partitions or ()},
        "preemption": _preemption(block.preemption or Preemption()),
        **_creation(block.auto_creation or SchedulerAutoCreation()),
    }
    return replace(live(), **{name: value for name, value in said.items() if value is not None})


def _creation(block: SchedulerAutoCreation) -> dict[str, Any]:
    """Translate what is about automatic queues.

    Rounds of removal are as far apart as queues must have been idle for, and that is strict.
    """
    idle = _seconds(block.expiration_time)
    return {
        "max_depth": block.maximum_depth,
        "removal_interval": idle,
        "idle_before_removal": None if idle is None else idle + 1.0,
        "management_interval": _seconds(block.management_interval),
    }


def mapping(block: SchedulerCapacity | None) -> tuple[MappingRule, ...]:
    """Translate the mapping rules, of either form. What of them the tree does not allow is found by the core."""
    if block is None:
        return ()
    if block.queue_mappings is not None:
        return tuple(_legacy(text) for text in block.queue_mappings.split(","))
    return tuple(_rule(rule) for rule in block.mapping_rules or ())


def _legacy(text: str) -> MappingRule:
    kind, who, where = (part.strip() for part in text.split(":"))
    match = Match.ANY if (kind, who) == ("u", USER) else Match.USER if kind == "u" else Match.GROUP
    return MappingRule(match, who, where, fallback=Fallback.PLACE_DEFAULT)


def _rule(rule: Rule) -> MappingRule:
    match = Match.ANY if rule.type == "user" and rule.matches == "*" else Match(rule.type)
    fallback = Fallback(rule.fallback_result or "skip")
    place, default, create = None, None, rule.create is not False
    if rule.policy == "custom":
        place = rule.custom_placement
    elif rule.policy == "setDefaultQueue":
        default = rule.value
    elif rule.policy != "reject":
        place = place_of(rule.policy, rule.parent_queue)
        create = create and rule.policy != "defaultQueue"
    return MappingRule(match, rule.matches, place, default, create, fallback)


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
