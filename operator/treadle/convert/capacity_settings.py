"""The cluster-wide properties of the CapacityScheduler as the Scheduler's ``capacity`` block: only what was said, under our names."""

from collections.abc import Mapping
from typing import Any, Final

from treadle.convert.capacity_blocks import Blocks
from treadle.convert.capacity_file import (
    EXPIRY,
    FLEXIBLE,
    MONITOR,
    PREFIX,
    QUEUES,
    UNDERUTILIZED,
    CapacityFileError,
    Properties,
)
from treadle.convert.texts import decimal, milliseconds, seconds

CEILING: Final = "yarn.cluster.max-application-priority"
MONITORS: Final = "yarn.resourcemanager.scheduler.monitor.enable"
POLICIES: Final = "yarn.resourcemanager.scheduler.monitor.policies"
CALCULATOR: Final = f"{PREFIX}resource-calculator"
SETTINGS: Final[dict[str, tuple[str, str]]] = {
    f"{PREFIX}legacy-queue-mode.enabled": ("legacyQueueMode", "flag"),
    f"{PREFIX}minimum-user-limit-percent": ("minimumUserLimitPercent", "percent"),
    f"{PREFIX}user-limit-factor": ("userLimitFactor", "decimal"),
    f"{PREFIX}maximum-applications": ("maximumApplications", "count"),
    f"{PREFIX}global-queue-max-application": ("queueMaximumApplications", "count"),
    f"{PREFIX}maximum-am-resource-percent": ("maximumAMResourcePercent", "ratio"),
    f"{PREFIX}max-parallel-apps": ("maxParallelApps", "count"),
    f"{PREFIX}user.max-parallel-apps": ("userMaxParallelApps", "count"),
    f"{PREFIX}node-locality-delay": ("nodeLocalityDelay", "whole"),
    f"{PREFIX}rack-locality-additional-delay": ("rackLocalityAdditionalDelay", "whole"),
    f"{PREFIX}rack-locality-full-reset": ("rackLocalityFullReset", "flag"),
    CEILING: ("maximumApplicationPriority", "count"),
    f"{PREFIX}{FLEXIBLE}maximum-queue-depth": ("autoCreation.maximumDepth", "count"),
    f"{PREFIX}{EXPIRY}": ("autoCreation.expirationTime", "seconds"),
    f"{QUEUES}monitoring-interval": ("autoCreation.managementInterval", "milliseconds"),
}
_INTRA, _BALANCE = "intra-queue-preemption.", "preemption-to-balance-queue-after-satisfied."
PREEMPTION: Final[dict[str, tuple[str, str]]] = {
    f"{MONITOR}observe_only": ("observeOnly", "flag"),
    f"{MONITOR}monitoring_interval": ("monitoringInterval", "milliseconds"),
    f"{MONITOR}max_wait_before_kill": ("maxWaitBeforeKill", "milliseconds"),
    f"{MONITOR}total_preemption_per_round": ("totalPreemptionPerRound", "ratio"),
    f"{MONITOR}max_ignored_over_capacity": ("maxIgnoredOverCapacity", "ratio"),
    f"{MONITOR}natural_termination_factor": ("naturalTerminationFactor", "ratio"),
    f"{MONITOR}{_INTRA}enabled": ("intraQueue.enabled", "flag"),
    f"{MONITOR}{_INTRA}minimum-threshold": ("intraQueue.minimumThreshold", "ratio"),
    f"{MONITOR}{_INTRA}max-allowable-limit": ("intraQueue.maxAllowableLimit", "ratio"),
    f"{MONITOR}{_INTRA}preemption-order-policy": ("intraQueue.preemptionOrderPolicy", "lower"),
    f"{MONITOR}{_BALANCE}enabled": ("balance.enabled", "flag"),
    f"{MONITOR}{_BALANCE}max-wait-before-kill": ("balance.maxWaitBeforeKill", "milliseconds"),
    f"{UNDERUTILIZED}enabled": ("queuePriority.enabled", "flag"),
    f"{UNDERUTILIZED}reserved-container-delay-ms": ("queuePriority.reservedContainerDelay", "milliseconds"),
}
_CALCULATORS: Final = {"DefaultResourceCalculator": "memory", "DominantResourceCalculator": "dominant"}
_DELETION: Final = "AutoCreatedQueueDeletionPolicy"
_PROPORTIONAL: Final = "ProportionalCapacityPreemptionPolicy"


def settings(properties: Properties, blocks: Blocks, *, with_site: bool) -> dict[str, Any]:
    """Return the block.

    ``with_site``: yarn-site.xml is known, so that what it does not say has Hadoop's default. Raises ``CapacityFileError``.
    """
    found: dict[str, Any] = {"resourceCalculator": _calculator(properties, blocks.notes)}
    _take(found, SETTINGS, properties, blocks)
    if with_site:
        # Hadoop's applications have the priority 0 unless somebody raised the ceiling
        found.setdefault("maximumApplicationPriority", 0)
    users = {
        name[: -len(".max-parallel-apps")]: int(properties.number(f"{PREFIX}user.{name}", 0))
        for name in properties.names(f"{PREFIX}user.")
        if name.endswith(".max-parallel-apps")
    }
    if users:
        found["userMaxParallelAppsOf"] = users
    preemption = _preemption(properties, blocks)
    if preemption:
        found["preemption"] = preemption
    return found


def is_user_limit(name: str) -> bool:
    """Whether a property is a limit of one user's applications."""
    return name.startswith(f"{PREFIX}user.") and name.endswith(".max-parallel-apps")


def _calculator(properties: Properties, notes: list[str]) -> str:
    given = (properties.text(CALCULATOR) or "DefaultResourceCalculator").strip()
    known = _CALCULATORS.get(given.rpartition(".")[2])
    if known is None:
        notes.append(f"{CALCULATOR}: {given} is not known; dominant takes its place")
    return known or "dominant"


def _preemption(properties: Properties, blocks: Blocks) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if properties.text(MONITORS) is not None:
        policies = properties.text(POLICIES)
        found["enabled"] = properties.flag(MONITORS, default=False) and (policies is None or _PROPORTIONAL in policies)
    _take(found, PREEMPTION, properties, blocks)
    return found


def removes_queues(properties: Properties) -> bool:
    """Whether queues that were made are removed in Hadoop, where a monitor does it."""
    return properties.flag(MONITORS, default=False) and _DELETION in (properties.text(POLICIES) or "")


def _take(block: dict[str, Any], table: Mapping[str, tuple[str, str]], properties: Properties, blocks: Blocks) -> None:
    """Put what properties say into a block; a name with a point goes into a part of it."""
    for name, (ours, kind) in table.items():
        value = _value(properties, name, kind, blocks)
        if value is not None:
            part, _, field = ours.rpartition(".")
            (block.setdefault(part, {}) if part else block)[field] = value


def _value(properties: Properties, name: str, kind: str, blocks: Blocks) -> Any:
    text = properties.text(name)
    if text is None or not text.strip():
        return None
    if kind == "flag":
        return properties.flag(name, default=False)
    if kind == "lower":
        return text.strip().lower()
    value = properties.number(name, 0.0)
    match kind:
        case "percent":
            return blocks.percent(value, name)
        case "ratio":
            return blocks.ratio(value, name)
        case "decimal":
            return decimal(value)
        case "seconds":
            return seconds(max(0.0, value))
        case "milliseconds":
            if value < 0:
                raise CapacityFileError(name, f"{text} is negative; allowed are milliseconds")
            return milliseconds(int(value))
        case "count":
            return int(value) if value >= 0 else None
        case _:
            return int(value)
