"""From our objects to the properties of the CapacityScheduler: what ``capacity_objects.convert`` reads, written.

Amounts are in Hadoop's units, MiB and whole ones, rounded down. What has no property is left out: who compares two sets of properties finds no difference there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from treadle.api.quantities import is_percent, seconds, thousandths
from treadle.convert.capacity_file import FLEXIBLE, LABELS, PREFIX
from treadle.convert.capacity_settings import CALCULATOR, MONITORS, PREEMPTION, SETTINGS
from treadle.convert.mapping import FORMAT, LEGACY, OVERRIDE
from treadle.convert.mapping_json import JSON_TEXT
from treadle.convert.reservable import SYSTEM
from treadle.kube.reviews import SERVICE_ACCOUNT

Json = Mapping[str, Any]
_PLAIN: Final = {
    "userLimitFactor": "user-limit-factor",
    "minimumUserLimitPercent": "minimum-user-limit-percent",
    "maximumApplications": "maximum-applications",
    "priority": "priority",
    "defaultApplicationPriority": "default-application-priority",
    "orderingPolicy": "ordering-policy",
    "sizeBasedWeight": "ordering-policy.fair.enable-size-based-weight",
    "disablePreemption": "disable_preemption",
    "disableIntraQueuePreemption": "intra-queue-preemption.disable_preemption",
    "allowZeroCapacitySum": "allow-zero-capacity-sum",
    "defaultPartition": "default-node-label-expression",
}
_LISTS: Final = {
    "accessiblePartitions": LABELS,
    "enforcedPartitions": "ordering-policy.exclusive-enforced-partitions",
}
_TIMES: Final = {
    "maximumApplicationLifetime": "maximum-application-lifetime",
    "defaultApplicationLifetime": "default-application-lifetime",
}
_ACLS: Final = {
    "submitAcl": "acl_submit_applications",
    "administerAcl": "acl_administer_queue",
    "reserveAcl": "acl_submit_reservations",
}
_RESERVATION_PACKAGE: Final = "org.apache.hadoop.yarn.server.resourcemanager.reservation."
_RESERVATION_CLASSES: Final = {
    "agent": {"Aligned": "planning.AlignedPlannerWithGreedy", "Greedy": "planning.GreedyReservationAgent"},
    "policy": {"CapacityOverTime": "CapacityOverTimePolicy", "NoOverCommit": "NoOverCommitPolicy"},
}
_RESERVATION_TIMES: Final = {"window": "reservation-window", "enforcementWindow": "reservation-enforcement-window"}
_RESERVATION_PLAIN: Final = {
    "instantaneousMaxCapacity": "instantaneous-max-capacity",
    "averageCapacity": "average-capacity",
    "moveOnExpiry": "reservation-move-on-expiry",
}
_RESERVATION_SYSTEM: Final = {"favorEarlyAllocation": "favor-early-allocation", "smoothness": "smoothness-factor"}
_TYPES: Final = {"memory": "memory-mb", "cpu": "vcores"}
_VECTOR_TYPES: Final = {"memory": "memory", "cpu": "vcores"}
_CALCULATORS: Final = {
    "memory": "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
    "dominant": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
}


def properties_of(scheduler: Json, queues: Mapping[str, Json]) -> dict[str, str]:
    """Return the properties that a Scheduler and Queues stand for: ``scheduler`` and the values of ``queues``, by path, are their specs as they are written."""
    found = dict(_scheduler(scheduler.get("capacity") or {}))
    paths = sorted({"root", *queues})
    for path in paths:
        children = [other.rpartition(".")[2] for other in paths if other.rpartition(".")[0] == path]
        if children:
            found[f"{PREFIX}{path}.queues"] = ",".join(children)
        for name, value in _queue(queues.get(path) or {}, path == "root"):
            found[f"{PREFIX}{path}.{name}"] = value
    for spec in queues.values():
        for field, name in _RESERVATION_SYSTEM.items():
            said = (spec.get("reservations") or {}).get(field)
            if said is not None:
                found[f"{SYSTEM}{name}"] = _said(said)
    return found


def partitions_of(scheduler: Json) -> str:
    """Return the partitions of a Scheduler as ``yarn rmadmin`` takes node labels."""
    listed: Sequence[Json] = (scheduler.get("nodes") or {}).get("partitions") or ()
    return ",".join(f"{one['name']}(exclusive={_said(one.get('exclusive', True))})" for one in listed)


def _scheduler(block: Json) -> Iterator[tuple[str, str]]:
    yield CALCULATOR, _CALCULATORS[block.get("resourceCalculator") or "dominant"]
    for table, within in ((SETTINGS, block), (PREEMPTION, block.get("preemption") or {})):
        for name, (field, kind) in table.items():
            part, _, last = field.rpartition(".")
            value = ((within.get(part) or {}) if part else within).get(last)
            if value is not None:
                yield name, _timed(value, kind)
    enabled = (block.get("preemption") or {}).get("enabled")
    if enabled is not None:
        yield MONITORS, _said(enabled)
    for user, most in (block.get("userMaxParallelAppsOf") or {}).items():
        yield f"{PREFIX}user.{user}.max-parallel-apps", str(most)
    if block.get("queueMappings"):
        yield LEGACY, block["queueMappings"]
    if block.get("mappingRules"):
        yield FORMAT, "json"
        yield JSON_TEXT, json.dumps({"rules": block["mappingRules"]}, separators=(",", ":"))
    if block.get("queueMappingsOverride") is not None:
        yield OVERRIDE, _said(block["queueMappingsOverride"])


def _queue(spec: Json, root: bool) -> Iterator[tuple[str, str]]:
    if spec.get("state") == "Stopped":
        yield "state", "STOPPED"
    if spec.get("maxRunningApplications") is not None:
        yield "max-parallel-apps", str(spec["maxRunningApplications"])
    for field, name in _ACLS.items():
        if spec.get(field) is not None:
            yield name, acl_text(spec[field])
    if spec.get("priorityAcl"):
        yield "acl_application_max_priority", " ".join(_priority(entry) for entry in spec["priorityAcl"])
    block = spec.get("capacity") or {}
    yield from _alike(block, root=root)
    for user, weight in (block.get("userWeights") or {}).items():
        yield f"user-settings.{user}.weight", str(weight)
    for field, name in _LISTS.items():
        if block.get(field) is not None:
            yield name, ",".join(block[field]) or " "
    yield from _making(block)
    if spec.get("reservations") is not None:
        yield from _reservable(spec["reservations"])


def _alike(block: Json, *, root: bool = False) -> Iterator[tuple[str, str]]:
    """Yield what queues and templates say alike."""
    yield from _share(block, "", root=root)
    for field, name in _PLAIN.items():
        if block.get(field) is not None:
            yield name, _said(block[field])
    for field, name in _TIMES.items():
        if block.get(field) is not None:
            yield name, f"{seconds(block[field]):g}"
    if block.get("maximumAllocation"):
        yield (
            "maximum-allocation",
            ",".join(f"{_TYPES.get(kind, kind)}={_whole(kind, text)}" for kind, text in block["maximumAllocation"].items()),
        )
    for partition, share in (block.get("partitions") or {}).items():
        yield from _share(share, f"{LABELS}.{partition}.", root=root)


def _share(block: Json, prefix: str, *, root: bool) -> Iterator[tuple[str, str]]:
    for field, name in (("guaranteed", "capacity"), ("maximum", "maximum-capacity")):
        if block.get(field) is not None and not (root and field == "guaranteed"):
            yield f"{prefix}{name}", _capacity(block[field])
    if block.get("maximumAMResourcePercent") is not None:
        yield f"{prefix}maximum-am-resource-percent", _said(block["maximumAMResourcePercent"])


def _making(block: Json) -> Iterator[tuple[str, str]]:
    made, managed = block.get("autoCreation") or {}, block.get("managedChildren") or {}
    if made.get("enabled"):
        yield f"{FLEXIBLE}enabled", "true"
        for field, name in (("maximumQueues", "max-queues"), ("maximumDepth", "maximum-queue-depth")):
            if made.get(field) is not None:
                yield f"{FLEXIBLE}{name}", str(made[field])
        if made.get("automaticRemoval") is False:
            yield f"{FLEXIBLE}template.{FLEXIBLE}queue-auto-removal.enable", "false"
        for field, kind in (("template", ""), ("leafTemplate", "leaf-"), ("parentTemplate", "parent-")):
            for name, value in _alike(made.get(field) or {}):
                yield f"{FLEXIBLE}{kind}template.{name}", value
    if managed.get("enabled"):
        yield "auto-create-child-queue.enabled", "true"
        if managed.get("maximumQueues") is not None:
            yield "auto-create-child-queue.max-queues", str(managed["maximumQueues"])
        if managed.get("failOnExcess") is not None:
            yield "auto-create-child-queue.fail-on-exceeding-parent-capacity", _said(managed["failOnExcess"])
        for name, value in _alike(managed.get("leafTemplate") or {}):
            yield f"leaf-queue-template.{name}", value


def _reservable(block: Json) -> Iterator[tuple[str, str]]:
    yield "reservable", "true"
    for field, classes in _RESERVATION_CLASSES.items():
        if block.get(field) is not None:
            yield f"reservation-{field}", _RESERVATION_PACKAGE + classes[block[field]]
    for field, name in _RESERVATION_TIMES.items():
        if block.get(field) is not None:
            yield name, str(round(seconds(block[field]) * 1000))
    for field, name in _RESERVATION_PLAIN.items():
        if block.get(field) is not None:
            yield name, _said(block[field])


def acl_text(acl: Json) -> str:
    """Write a list as ``users groups``; a service account by its user. Namespaces, and names with a comma or a blank, have no form there."""
    accounts = (account_user(one) for one in acl.get("serviceAccounts") or ())
    users, groups = _listed([*(acl.get("users") or ()), *accounts]), _listed(acl.get("groups") or ())
    return "*" if "*" in (acl.get("users") or ()) else f"{users} {groups}"


def account_user(account: str) -> str:
    """Return the user of a service account, which is ``namespace/name``."""
    return f"{SERVICE_ACCOUNT}{account.replace('/', ':')}"


def is_sayable(name: str) -> bool:
    """Whether a user or a group can stand in YARN's lists, which part names by commas and blanks."""
    return not set(name) & set(", ")


def _priority(entry: Json) -> str:
    users, _, groups = acl_text(entry).partition(" ")
    parts = {"user": users, "group": groups, "max_priority": str(entry["maxPriority"])}
    if entry.get("defaultPriority") is not None:
        parts["default_priority"] = str(entry["defaultPriority"])
    return f"[{' '.join(f'{name}={value}' for name, value in parts.items() if value)}]"


def _listed(names: Sequence[str]) -> str:
    return ",".join(name for name in names if is_sayable(name))


def _capacity(text: str) -> str:
    if not text.startswith("["):
        return text.removesuffix("%")
    entries = (entry.partition("=") for entry in text[1:-1].split(","))
    return f"[{','.join(f'{_VECTOR_TYPES.get(kind, kind)}={_portion(kind, value)}' for kind, _, value in entries)}]"


def _portion(kind: str, text: str) -> str:
    return text if is_percent(text) or text.endswith("w") else _whole(kind, text)


def _whole(kind: str, text: str) -> str:
    """Write an amount in MiB, or in whole ones."""
    return str(thousandths(text) // (1000 << 20 if kind == "memory" else 1000))


def _timed(value: Any, kind: str) -> str:
    if kind == "seconds":
        return f"{seconds(value):g}"
    if kind == "milliseconds":
        return str(round(seconds(value) * 1000))
    return _said(value)


def _said(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
