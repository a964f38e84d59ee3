"""What the CapacityScheduler's properties say of a queue, or of those that are made from a template, as a ``capacity`` block."""

from collections.abc import Mapping
from typing import Any, Final

from treadle.api.queue import CapacityTemplate
from treadle.convert.capacity_file import FLEXIBLE
from treadle.convert.labels import Partitions
from treadle.convert.texts import decimal, quantity, seconds
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, Kind, PartitionShare, Portion
from treadle.core.rules.capacity.tree import APPLICATION_ORDERS, QUEUE_ORDERS

_TEMPLATED: Final = {field.alias or name for name, field in CapacityTemplate.model_fields.items()}
ORDERS: Final = (*APPLICATION_ORDERS, *QUEUE_ORDERS)
_POLICIES: Final = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy."
_CLASSES: Final = {
    f"{_POLICIES}FifoOrderingPolicy": "fifo",
    f"{_POLICIES}FairOrderingPolicy": "fair",
    f"{_POLICIES}FifoOrderingPolicyWithExclusivePartitions": "fifo-with-partitions",
    f"{_POLICIES}FifoOrderingPolicyForPendingApps": "fifo-for-pending-apps",
}


class Blocks:
    """Makes blocks, and notes what of them does not carry over, with the name of the property."""

    def __init__(self, partitions: Partitions, notes: list[str]) -> None:
        self.partitions, self.notes = partitions, notes

    def block(self, spec: CapacityQueueSpec, prefix: str) -> dict[str, Any]:
        """Return the block for a definition; ``prefix`` begins the names of its properties. Raises ``NameRefused``."""
        share = spec.partitions.get("", PartitionShare())
        found: dict[str, Any] = {
            "guaranteed": self.capacity(share.guaranteed, f"{prefix}capacity"),
            "maximum": self.capacity(share.maximum, f"{prefix}maximum-capacity"),
            "userLimitFactor": _maybe(spec.user_limit_factor),
            "minimumUserLimitPercent": self.percent(spec.user_limit, f"{prefix}minimum-user-limit-percent"),
            "userWeights": {name: decimal(weight) for name, weight in spec.user_weights.items()} or None,
            "maximumApplications": spec.max_applications,
            "maximumAllocation": allocation(spec.max_allocation),
            "maximumApplicationLifetime": _lifetime(spec.max_lifetime),
            "defaultApplicationLifetime": _lifetime(spec.default_lifetime),
            "maximumAMResourcePercent": self.ratio(spec.master_share, f"{prefix}maximum-am-resource-percent"),
            "priority": spec.priority,
            "defaultApplicationPriority": spec.default_application_priority,
            "orderingPolicy": self._order(spec.order, f"{prefix}ordering-policy"),
            "sizeBasedWeight": spec.size_based_weight,
            "enforcedPartitions": [self.partitions.of(name) for name in sorted(spec.enforced_partitions)] or None,
            "disablePreemption": spec.disable_preemption,
            "disableIntraQueuePreemption": spec.disable_intra_preemption,
            "allowZeroCapacitySum": spec.allow_zero_sum,
            "accessiblePartitions": None
            if spec.accessible is None
            else [self.partitions.of(name) for name in sorted(spec.accessible)],
            "defaultPartition": self.partitions.of(spec.default_partition) if spec.default_partition else None,
            "partitions": self._shares(spec.partitions, prefix) or None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def making(self, spec: CapacityQueueSpec, prefix: str, *, removed: bool) -> dict[str, Any]:
        """Return what is said of queues that are made below this one. ``removed``: whether anybody in Hadoop removes them."""
        found: dict[str, Any] = {}
        flexible, managed = spec.flexible, spec.managed
        if flexible.enabled:
            start = f"{prefix}{FLEXIBLE}"
            found["autoCreation"] = {
                "enabled": True,
                "maximumQueues": flexible.max_queues,
                "maximumDepth": flexible.max_depth,
                "automaticRemoval": None if removed and not _stays(flexible.common) else False,
                "template": self._template(flexible.common, f"{start}template."),
                "leafTemplate": self._template(flexible.leaf, f"{start}leaf-template."),
                "parentTemplate": self._template(flexible.parent, f"{start}parent-template."),
            }
        if managed is not None:
            found["managedChildren"] = {
                "enabled": True,
                "maximumQueues": managed.max_queues if managed.max_queues != 1000 else None,
                "failOnExcess": managed.fail_on_excess or None,
                "leafTemplate": {
                    "guaranteed": "0%",  # Hadoop's default
                    **(self._template(managed.template, f"{prefix}leaf-queue-template.") or {}),
                },
            }
        return {name: {key: value for key, value in block.items() if value is not None} for name, block in found.items()}

    def _template(self, spec: CapacityQueueSpec | None, prefix: str) -> dict[str, Any] | None:
        if spec is None:
            return None
        return {name: value for name, value in self.block(spec, prefix).items() if name in _TEMPLATED} or None

    def capacity(self, found: Capacity, name: str) -> str | None:
        """Write a capacity: percent, weight, or amounts by type."""
        if found.uniform is not None:
            kind, value = found.uniform.kind, found.uniform.value
            if kind is Kind.PERCENT and value > 100:
                self.notes.append(f"{name}: {value:g} is over 100 and becomes 100%")
                value = 100.0
            return f"{decimal(value)}{'w' if kind is Kind.WEIGHT else '%'}"
        if not found.types:
            return None
        return f"[{','.join(f'{kind}={_portion(kind, portion)}' for kind, portion in found.types.items())}]"

    def ratio(self, value: float | None, name: str) -> str | None:
        """Write a part of one."""
        if value is not None and not 0 <= value <= 1:
            self.notes.append(f"{name}: {value:g} is not between 0 and 1 and becomes {min(1.0, max(0.0, value)):g}")
            value = min(1.0, max(0.0, value))
        return _maybe(value)

    def percent(self, value: float | None, name: str) -> int | None:
        """Write a whole percentage."""
        if value is None:
            return None
        whole = min(100, max(0, round(value)))
        if whole != value:
            self.notes.append(f"{name}: {value:g} becomes {whole}: a whole number from 0 to 100")
        return whole

    def _shares(self, shares: Mapping[str, PartitionShare], prefix: str) -> dict[str, dict[str, str]]:
        found = {}
        for label, share in shares.items():
            name = f"{prefix}accessible-node-labels.{label}."
            said = {
                "guaranteed": self.capacity(share.guaranteed, f"{name}capacity"),
                "maximum": self.capacity(share.maximum, f"{name}maximum-capacity"),
                "maximumAMResourcePercent": self.ratio(share.master_share, f"{name}maximum-am-resource-percent"),
            }
            given = {key: value for key, value in said.items() if value is not None}
            if label and given:
                found[self.partitions.of(label)] = given
        return found

    def _order(self, order: str | None, name: str) -> str | None:
        if order is not None and order_of(order) is None:
            self.notes.append(f"{name}: {order} is a class of one's own and is left out; allowed are {', '.join(ORDERS)}")
        return order_of(order)


def order_of(order: str | None) -> str | None:
    """Return the name of an order that may be given by its class; None for a class of one's own."""
    return None if order is None else _CLASSES.get(order, None if "." in order else order)


def _stays(template: CapacityQueueSpec | None) -> bool:
    """Whether a template says that what is made from it is never removed."""
    return template is not None and template.flexible.removal is False


def allocation(amounts: Mapping[str, int]) -> dict[str, str] | None:
    """Write the largest pod that may be asked for."""
    return {name: quantity(name, value) for name, value in amounts.items()} or None


def _portion(kind: str, portion: Portion) -> str:
    if portion.kind is Kind.ABSOLUTE:
        return quantity(kind, portion.value)
    return f"{decimal(portion.value)}{'%' if portion.kind is Kind.PERCENT else 'w'}"


def _maybe(value: float | None) -> str | None:
    return None if value is None else decimal(value)


def _lifetime(value: float | None) -> str | None:
    return None if value is None or value < 0 else seconds(value)
