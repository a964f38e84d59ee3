"""Hadoop's properties of the CapacityScheduler, from capacity-scheduler.xml and yarn-site.xml, as the core's definitions.

Amounts stay in YARN's units (MB, whole cores). What Hadoop cannot read is refused as Hadoop does, with the name of the property.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from treadle.core.model.access import AccessList
from treadle.core.model.capacity import (
    UNLIMITED,
    Capacity,
    CapacityPreemption,
    CapacityQueueSpec,
    CapacitySettings,
    FlexibleCreation,
    Kind,
    ManagedCreation,
    PartitionShare,
    Portion,
)
from treadle.core.units.resources import UNBOUNDED

PREFIX = "yarn.scheduler.capacity."
MONITOR = "yarn.resourcemanager.monitor.capacity.preemption."
EXPIRY = "auto-queue-creation-v2.queue-expiration-time"
QUEUES = "yarn.resourcemanager.monitor.capacity.queue-management."
UNDERUTILIZED = PREFIX + "ordering-policy.priority-utilization.underutilized-preemption."
LABELS = "accessible-node-labels"
MOST_LEVELS = 100
"""Queues within one another; a path of ours has far fewer."""
FLEXIBLE = "auto-queue-creation-v2."
TEMPLATE = "template"
"""Stands for the queue that a template is about."""
_VECTOR = re.compile(r"^\[[\w.,\-_%\ /=]+\]$")
_UNITS = {
    "k": 1000,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "Ki": 1 << 10,
    "Mi": 1 << 20,
    "Gi": 1 << 30,
    "Ti": 1 << 40,
    "Pi": 1 << 50,
}
_TYPES = {"memory": "memory", "memory-mb": "memory", "vcores": "cpu"}


class CapacityFileError(Exception):
    """A property that Hadoop refuses; ``hadoop`` is the exception that it throws."""

    def __init__(self, name: str, message: str, hadoop: str = "IllegalArgumentException") -> None:
        self.name, self.message, self.hadoop = name, message, hadoop
        super().__init__(f"{name}: {message} (Hadoop: {hadoop})")


@dataclass(frozen=True, slots=True)
class CapacityFile:
    """What the properties say: queues by path, the parents before their children, and the cluster-wide settings."""

    queues: dict[str, CapacityQueueSpec]
    settings: CapacitySettings
    properties: Properties
    alike: Mapping[str, str]
    """Of leaves whose properties say the same, each but the first: the path of the first."""

    def undeclared(self, path: str) -> CapacityQueueSpec:
        """Return what is said about a queue that no list of children names. Raises ``CapacityFileError``."""
        return _queue(self.properties, path)


class Properties:
    """Properties with Hadoop's ways to read numbers and switches."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = {name: str(value) for name, value in values.items()}
        self._sorted: list[tuple[str, int]] | None = None
        self._flexible: bool | None = None

    def text(self, name: str) -> str | None:
        """Return a property as it was written."""
        return self.values.get(name)

    def number(self, name: str, default: float) -> float:
        """Return a number. Raises ``CapacityFileError``."""
        text = self.values.get(name)
        try:
            return default if text is None or not text.strip() else float(text)
        except ValueError as error:
            raise CapacityFileError(name, f"{text!r} is not a number", "NumberFormatException") from error

    def maybe(self, name: str) -> float | None:
        """Return a number, ``None`` without one."""
        return None if self.text(name) is None else self.number(name, 0.0)

    def maybe_whole(self, name: str) -> int | None:
        """Return a whole number, ``None`` without one."""
        return None if self.text(name) is None else int(self.number(name, 0.0))

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a switch; whatever is neither true nor false is the default."""
        text = (self.text(name) or "").strip().lower()
        return {"true": True, "false": False}.get(text, default)

    def maybe_flag(self, name: str) -> bool | None:
        """Return a switch, ``None`` without one."""
        return None if self.text(name) is None else self.flag(name, default=False)

    @property
    def flexible(self) -> bool:
        """Whether anything is said of queues that are made on their own, anywhere."""
        if self._flexible is None:
            self._flexible = any(FLEXIBLE in name for name in self.values)
        return self._flexible

    def names(self, prefix: str) -> Iterator[str]:
        """Yield what follows a prefix in the names that have it, in the order of the properties."""
        if self._sorted is None:  # each queue asks, and to look at all properties each time takes the square of them
            self._sorted = sorted((name, at) for at, name in enumerate(self.values))
        found, at = list[tuple[int, str]](), bisect_left(self._sorted, (prefix, 0))
        while at < len(self._sorted) and self._sorted[at][0].startswith(prefix):
            name, place = self._sorted[at]
            found.append((place, name))
            at += 1
        for _, name in sorted(found):
            yield name[len(prefix) :]


def read(values: Mapping[str, str], types: Sequence[str] = (), partitions: Mapping[str, bool] | None = None) -> CapacityFile:
    """Read properties.

    ``types`` are resource types beside memory and vcores, ``partitions`` says which are exclusive. Raises ``CapacityFileError``.
    """
    properties = Properties(values)
    settings = _settings(properties, types, partitions or {})
    queues: dict[str, CapacityQueueSpec] = {}
    firsts: dict[tuple[tuple[str, str], ...], str] = {}
    alike: dict[str, str] = {}

    def walk(path: str) -> None:
        if path.count(".") >= MOST_LEVELS:
            raise CapacityFileError(f"{PREFIX}{path[:80]}….queues", f"queues are nested deeper than {MOST_LEVELS} levels")
        said = _said(properties, path)
        first = firsts.get(said) if said is not None else None
        if first is not None:
            alike[path] = first
            queues[path] = replace(queues[first], path=path)
            return
        queues[path] = _queue(properties, path)
        if said is not None:
            firsts[said] = path
        for child in queues[path].children:
            walk(f"{path}.{child}")

    walk("root")
    return CapacityFile(queues, settings, properties, alike)


def _said(properties: Properties, path: str) -> tuple[tuple[str, str], ...] | None:
    """Return all that is said about a leaf; files have thousands that say the same. None of a queue whose path has a meaning beside its properties."""
    prefix = f"{PREFIX}{path}."
    if path == "root" or properties.flexible or properties.text(f"{prefix}queues") is not None:
        return None
    said = tuple((name, properties.values[prefix + name]) for name in properties.names(prefix))
    return None if any(name.startswith("auto-create-child-queue.") for name, _ in said) else said


def _settings(properties: Properties, types: Sequence[str], partitions: Mapping[str, bool]) -> CapacitySettings:
    def number(name: str, default: float) -> float:
        return properties.number(PREFIX + name, default)

    def flag(name: str, *, default: bool) -> bool:
        return properties.flag(PREFIX + name, default=default)

    calculator = properties.text(PREFIX + "resource-calculator") or ""
    users = {
        name[: -len(".max-parallel-apps")]: int(number(f"user.{name}", UNLIMITED))
        for name in properties.names(PREFIX + "user.")
        if name.endswith(".max-parallel-apps")
    }
    return CapacitySettings(
        legacy=flag("legacy-queue-mode.enabled", default=True),
        all_types=calculator.strip().endswith("DominantResourceCalculator"),
        least=_allocation(properties, "minimum-allocation", 1024, 1, 0, types),
        most=_allocation(properties, "maximum-allocation", 8192, 4, UNBOUNDED, types),
        user_limit=number("minimum-user-limit-percent", 100.0),
        user_limit_factor=number("user-limit-factor", 1.0),
        max_applications=int(number("maximum-applications", 10000)),
        queue_max_applications=int(number("global-queue-max-application", -1)),
        master_share=number("maximum-am-resource-percent", 0.1),
        max_parallel=int(number("max-parallel-apps", UNLIMITED)),
        user_max_parallel=int(number("user.max-parallel-apps", UNLIMITED)),
        user_max_parallel_of=users,
        max_priority=int(properties.number("yarn.cluster.max-application-priority", 0)),
        node_delay=int(number("node-locality-delay", 40)),
        rack_delay=int(number("rack-locality-additional-delay", -1)),
        rack_full_reset=flag("rack-locality-full-reset", default=True),
        look_further=flag("reservations-continue-look-all-nodes", default=True),
        assign_multiple=flag("per-node-heartbeat.multiple-assignments-enabled", default=True),
        max_assign=int(number("per-node-heartbeat.maximum-container-assignments", 100)),
        max_offswitch=max(int(number("per-node-heartbeat.maximum-offswitch-assignments", 1)), 1),
        lazy_preemption=flag("lazy-preemption-enabled", default=False),
        masters_share_partitions=properties.flag(
            "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation", default=False
        ),
        partitions=dict(partitions),
        max_depth=int(number(FLEXIBLE + "maximum-queue-depth", 2)),
        # Hadoop compares whole seconds, and wants more than the limit
        idle_before_removal=(int(number(EXPIRY, 300)) + 1) * 1000,
        removal_interval=int(number(EXPIRY, 300)) * 1000,
        management_interval=properties.number(QUEUES + "monitoring-interval", 1500),
        preemption=_preemption(properties),
    )


def _preemption(properties: Properties) -> CapacityPreemption:
    def number(name: str, default: float) -> float:
        return properties.number(MONITOR + name, default)

    def flag(name: str, *, default: bool = False) -> bool:
        return properties.flag(MONITOR + name, default=default)

    intra, balance = "intra-queue-preemption.", "preemption-to-balance-queue-after-satisfied."
    policy = (properties.text(MONITOR + intra + "preemption-order-policy") or "userlimit_first").strip().lower()
    if policy not in {"userlimit_first", "priority_first"}:
        raise CapacityFileError(MONITOR + intra + "preemption-order-policy", f"{policy} is not userlimit_first or priority_first")
    return CapacityPreemption(
        enabled=properties.flag("yarn.resourcemanager.scheduler.monitor.enable", default=False),
        observe_only=flag("observe_only"),
        interval=number("monitoring_interval", 3000),
        wait_before_kill=number("max_wait_before_kill", 15000),
        per_round=number("total_preemption_per_round", 0.1),
        ignored_over_capacity=number("max_ignored_over_capacity", 0.1),
        natural_termination=number("natural_termination_factor", 0.2),
        count_reserved_as_pending=flag("additional_res_balance_based_on_reserved_containers"),
        by_reserved=flag("select_based_on_reserved_containers"),
        conservative=flag("conservative-drf"),
        intra_queue=flag(intra + "enabled"),
        intra_threshold=number(intra + "minimum-threshold", 0.5),
        intra_limit=number(intra + "max-allowable-limit", 0.2),
        intra_by_priority=policy == "priority_first",
        intra_conservative=flag(intra + "conservative-drf", default=True),
        balance=flag(balance + "enabled"),
        balance_wait=number(balance + "max-wait-before-kill", 300000),
        by_priority=properties.flag(UNDERUTILIZED + "enabled", default=False),
        by_priority_delay=properties.number(UNDERUTILIZED + "reserved-container-delay-ms", 60000),
        by_priority_moves=properties.flag(UNDERUTILIZED + "allow-move-reservation", default=False),
    )


def _allocation(properties: Properties, what: str, memory: int, vcores: int, other: int, types: Sequence[str]) -> dict[str, int]:
    result = {
        "memory": int(properties.number(f"yarn.scheduler.{what}-mb", memory)),
        "cpu": int(properties.number(f"yarn.scheduler.{what}-vcores", vcores)),
    }
    for name in types:
        text = properties.text(f"yarn.resource-types.{name}.{what}")
        result[name] = other if text is None else int(text)
    return result


def _queue(properties: Properties, path: str) -> CapacityQueueSpec:
    prefix = f"{PREFIX}{path}."
    listed = properties.text(prefix + "queues") or ""
    weights = {
        name[: -len(".weight")]: properties.number(f"{prefix}user-settings.{name}", 1.0)
        for name in properties.names(prefix + "user-settings.")
        if name.endswith(".weight")
    }
    parallel, applications = (
        properties.maybe(prefix + "max-parallel-apps"),
        properties.number(prefix + "maximum-applications", -1),
    )
    order = properties.text(prefix + "ordering-policy")
    enforced = properties.text(prefix + "ordering-policy.exclusive-enforced-partitions") or ""
    state = properties.text(prefix + "state")
    return CapacityQueueSpec(
        path,
        children=tuple(child.strip() for child in listed.split(",") if child.strip()),
        partitions=_partitions(properties, path),
        accessible=_accessible(properties.text(prefix + LABELS)) if path != "root" else None,
        default_partition=(properties.text(prefix + "default-node-label-expression") or "").strip() or None,
        state=state.strip().upper() if state else None,
        user_limit=properties.maybe(prefix + "minimum-user-limit-percent"),
        user_limit_factor=properties.maybe(prefix + "user-limit-factor"),
        user_weights=weights,
        max_applications=int(applications) if applications >= 0 else None,
        max_parallel=int(parallel) if parallel is not None else None,
        master_share=properties.maybe(prefix + "maximum-am-resource-percent"),
        max_allocation=_largest(properties, prefix),
        order=order.strip() if order else None,
        size_based_weight=properties.maybe_flag(prefix + "ordering-policy.fair.enable-size-based-weight"),
        enforced_partitions=frozenset(name.strip() for name in enforced.split(",") if name.strip()),
        priority=properties.maybe_whole(prefix + "priority"),
        default_application_priority=properties.maybe_whole(prefix + "default-application-priority"),
        disable_preemption=properties.maybe_flag(prefix + "disable_preemption"),
        disable_intra_preemption=properties.maybe_flag(prefix + "intra-queue-preemption.disable_preemption"),
        max_lifetime=properties.maybe(prefix + "maximum-application-lifetime"),
        default_lifetime=properties.maybe(prefix + "default-application-lifetime"),
        allow_zero_sum=properties.maybe_flag(prefix + "allow-zero-capacity-sum"),
        submit=_acl(properties.text(prefix + "acl_submit_applications")),
        administer=_acl(properties.text(prefix + "acl_administer_queue")),
        flexible=_flexible(properties, path, prefix + FLEXIBLE),
        managed=_managed(properties, path, prefix),
    )


def _flexible(properties: Properties, path: str, prefix: str) -> FlexibleCreation:
    if not properties.flexible:  # a queue's templates may be those of many paths, and most files have none
        return FlexibleCreation()
    depth = properties.maybe_whole(prefix + "maximum-queue-depth")
    enabled = properties.flag(prefix + "enabled", default=False)
    levels = depth if depth is not None else int(properties.number(PREFIX + FLEXIBLE + "maximum-queue-depth", 2))
    parts = path.split(".")
    paths = [".".join([*parts[: len(parts) - number], *["*"] * number]) for number in range(min(len(parts) - 1, levels) + 1)]
    common, leaf, parent = (
        _template(properties, [f"{each}.{FLEXIBLE}{kind}template" for each in paths]) for kind in ("", "leaf-", "parent-")
    )
    own = _labels(properties, f"{path}.{FLEXIBLE}template")
    return FlexibleCreation(
        enabled,
        properties.maybe_whole(prefix + "max-queues"),
        depth,
        properties.maybe_flag(prefix + "queue-auto-removal.enable"),
        common,
        leaf,
        parent,
        frozenset(own) if len(own) > 1 else None,
    )


def _managed(properties: Properties, path: str, prefix: str) -> ManagedCreation | None:
    if not properties.flag(prefix + "auto-create-child-queue.enabled", default=False):
        return None
    return ManagedCreation(
        _template(properties, [f"{path}.leaf-queue-template"]) or CapacityQueueSpec(path),
        int(properties.number(prefix + "auto-create-child-queue.max-queues", 1000)),
        properties.flag(prefix + "auto-create-child-queue.fail-on-exceeding-parent-capacity", default=False),
    )


def _template(properties: Properties, paths: Sequence[str]) -> CapacityQueueSpec | None:
    """Return what templates say together, the first before the second, ``None`` if that is nothing."""
    values: dict[str, str] = {}
    for path in reversed(paths):
        values.update(
            {
                f"{PREFIX}{TEMPLATE}.{name}": properties.values[f"{PREFIX}{path}.{name}"]
                for name in properties.names(f"{PREFIX}{path}.")
            }
        )
    return _queue(Properties(values), TEMPLATE) if values else None


def _accessible(text: str | None) -> frozenset[str] | None:
    if text is None:
        return None
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    return frozenset({"*"}) if "*" in names else names


def _largest(properties: Properties, prefix: str) -> dict[str, int]:
    text = properties.text(prefix + "maximum-allocation")
    if text is not None:
        pairs = [pair.split("=") for pair in text.split(",") if "=" in pair]
        return {_TYPES.get(name.strip(), name.strip()): int(value) for name, value in pairs}
    found = {
        "memory": properties.number(prefix + "maximum-allocation-mb", -1),
        "cpu": properties.number(prefix + "maximum-allocation-vcores", -1),
    }
    return {name: int(value) for name, value in found.items() if value != -1}


def _partitions(properties: Properties, path: str) -> dict[str, PartitionShare]:
    result = {}
    for label in _labels(properties, path):
        prefix = f"{PREFIX}{path}." + (f"{LABELS}.{label}." if label else "")
        root = path == "root"
        result[label] = PartitionShare(
            guaranteed=Capacity() if root else capacity(prefix + "capacity", properties.text(prefix + "capacity")),
            maximum=capacity(prefix + "maximum-capacity", properties.text(prefix + "maximum-capacity"), maximum=True),
            master_share=properties.maybe(prefix + "maximum-am-resource-percent") if label else None,
        )
    return result


def _labels(properties: Properties, path: str) -> list[str]:
    """Return the partitions that a queue has settings for, the default one first."""
    labels = dict.fromkeys([""])
    for rest in properties.names(f"{PREFIX}{path}.{LABELS}."):
        if "." in rest:
            labels.setdefault(rest.split(".", 1)[0])
    return list(labels)


def capacity(name: str, text: str | None, *, maximum: bool = False) -> Capacity:
    """Read a capacity: percent, a weight with ``w``, or ``[type=amount,...]``. Raises ``CapacityFileError``."""
    if text is None or not text.strip():
        return Capacity()
    text = re.sub(r"\s", "", text)
    if _VECTOR.match(text):
        return Capacity(types=_by_type(name, text), written_by_type=True)
    weight = text.endswith("w") and not maximum
    digits = text[:-1] if weight else text
    try:
        value = float(digits)
    except ValueError as error:
        raise CapacityFileError(
            name, f"{text!r} is not a percentage{'' if maximum else ', weight'} or vector", "NumberFormatException"
        ) from error
    if weight:
        return Capacity(Portion(Kind.WEIGHT, value))
    if maximum and value == -1:
        return Capacity()
    if not maximum and not 0 <= value <= 100:
        raise CapacityFileError(name, f"{text} is not between 0 and 100")
    return Capacity(Portion(Kind.PERCENT, value))


def _by_type(name: str, text: str) -> dict[str, Portion]:
    result: dict[str, Portion] = {}
    for part in text[1:-1].split(","):
        kind, _, value = part.partition("=")
        match = re.match(r"^([0-9.]+)([A-Za-z%]*)$", value)
        if match is None:
            continue
        digits, unit = match.groups()
        try:
            amount = float(digits)
        except ValueError as error:
            raise CapacityFileError(name, f"{part!r} has no number", "NumberFormatException") from error
        meaning = {"%": Kind.PERCENT, "w": Kind.WEIGHT}.get(unit, Kind.ABSOLUTE)
        if meaning is Kind.ABSOLUTE and unit:
            if unit not in _UNITS:
                continue
            amount = float(int(amount) * _UNITS[unit] // _UNITS["Mi"])
        result[_TYPES.get(kind.lower(), kind)] = Portion(meaning, amount)
    return result if result.get("memory", Portion(Kind.ABSOLUTE, 0)).value else {}


def _acl(text: str | None) -> AccessList | None:
    if text is None:
        return None
    if text.strip() == "*":
        return AccessList(frozenset({"*"}))
    users, _, groups = text.partition(" ")
    return AccessList(_listed(users), _listed(groups))


def _listed(text: str) -> frozenset[str]:
    return frozenset(one.strip() for one in text.split(",") if one.strip())
