"""From an allocation file and yarn-site properties to our objects, and a line for each setting that has no counterpart."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treadle.api.labels import API_VERSION
from treadle.convert import xml
from treadle.convert.allocations import AllocationFile, QueueElement
from treadle.convert.amounts import MEMORY, UNBOUNDED, VCORES, Amounts
from treadle.convert.errors import AllocationError
from treadle.convert.names import RULE, NameRefused, Renames
from treadle.convert.texts import acl, decimal, milliseconds, seconds
from treadle.core.model import PlacementRule
from treadle.core.rules.placement.names import path_problem
from treadle.core.rules.placement.rules import implied, qualified

NAMES = {MEMORY: "memory", VCORES: "cpu"}
_RULES = {"secondaryGroupExistingQueue": "secondaryGroup"}
_PREFIX = "yarn.scheduler.fair."
_REFERENCE = re.compile(r"\$\{([^}$\s]+)\}")
_DEEPEST = 20
_SETTINGS: dict[str, tuple[str, str]] = {
    "preemption": ("preemption", "bool"),
    "preemption.cluster-utilization-threshold": ("preemptionClusterUtilizationThreshold", "decimal"),
    "waitTimeBeforeKill": ("waitTimeBeforeKill", "milliseconds"),
    "waitTimeBeforeNextStarvationCheck": ("waitTimeBeforeNextStarvationCheck", "milliseconds"),
    "am.preemption": ("amPreemption", "bool"),
    "sizebasedweight": ("sizeBasedWeight", "bool"),
    "reservable-nodes": ("reservableNodes", "decimal"),
    "locality.threshold.node": ("localityThresholdNode", "decimal"),
    "locality.threshold.rack": ("localityThresholdRack", "decimal"),
    "locality-delay-node-ms": ("localityDelayNode", "milliseconds"),
    "locality-delay-rack-ms": ("localityDelayRack", "milliseconds"),
}
_AM_PREEMPTION_OF = _PREFIX + "am.preemption."
_WITHOUT_COUNTERPART = {
    "assignmultiple": "several placements are decided in every pass",
    "dynamic.max.assign": "placements of a pass are bounded by what the API server takes",
    "max.assign": "placements of a pass are bounded by what the API server takes",
    "continuous-scheduling-enabled": "scheduling is continuous",
    "continuous-scheduling-sleep-ms": "scheduling is continuous",
    "update-interval-ms": "shares follow the cluster twice a second",
}
_OTHERS = {
    "yarn.acl.enable": "access lists are always in force",
    "yarn.admin.acl": "administrators are those of the root's administerAcl",
    "yarn.scheduler.minimum-allocation-": "pods get what they ask, unrounded",
    "yarn.scheduler.increment-allocation-": "pods get what they ask, unrounded",
    "yarn.scheduler.reservation-threshold.increment-multiple": "pods get what they ask, unrounded",
    "yarn.scheduler.maximum-allocation-": "see maxContainerAllocation of the root queue, or a LimitRange",
    "yarn.resource-types": "resource types are those of the nodes",
}
"""Settings of others that bear on the scheduler: how the name begins, and what to do instead."""
_ACLS = {"aclSubmitApps": "submitAcl", "aclAdministerApps": "administerAcl", "aclSubmitReservations": "reserveAcl"}


@dataclass(slots=True)
class Converted:
    """Objects ready to apply, parents before children, and what did not carry over."""

    objects: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def properties(text: str | bytes) -> dict[str, str]:
    """Read a Hadoop configuration file. Raises ``AllocationError`` if it is none.

    Of values only those of access lists keep their blanks, since a list of groups begins with one. ``${name}`` is another
    property of the file.
    """
    return properties_of(xml.parse(text))


def properties_of(document: xml.Element) -> dict[str, str]:
    """Read the document element of a Hadoop configuration file, as ``properties`` does."""
    if document.tag != "configuration":
        raise AllocationError(document.line, f"the document element is {document.tag!r}; it must be 'configuration'")
    found = {}
    for element in document.children:
        if element.tag.rpartition(":")[2] == "include":
            where = element.attributes.get("href", "another file")
            raise AllocationError(element.line, f"{element.tag} is not read; put the properties of {where} in its place")
        name, value = element.child("name"), element.child("value")
        named = name.text if name is not None else element.attributes.get("name")
        said = value.text if value is not None else element.attributes.get("value")
        if element.tag == "property" and named is not None and said is not None:
            found[named.strip()] = said if ".acl_" in named else said.strip()
    return {name: _expanded(value, found) for name, value in found.items()}


def _expanded(value: str, found: Mapping[str, str]) -> str:
    """Return a value with what it refers to, as deep as Hadoop goes; what is not there stays as it is written."""
    for _ in range(_DEEPEST if "${" in value else 0):
        expanded = _REFERENCE.sub(lambda match: found.get(match[1], match[0]), value)
        if expanded == value:
            break
        value = expanded
    return value


def convert(file: AllocationFile, site: Mapping[str, str] | None = None) -> Converted:
    """Return the Scheduler and the Queues that an allocation file and yarn-site's properties describe."""
    result = Converted(notes=list(file.warnings))
    root = file.root or QueueElement("root", 0, parent=True)
    renamed = Renames()
    result.objects.append(_queue("root", root, file, result.notes))
    for queue in file.queues:
        _queues(queue, file, result, renamed)
    result.objects.insert(0, _scheduler(file, site or {}, renamed, result.notes))
    return result


def _scheduler(file: AllocationFile, site: Mapping[str, str], renamed: Renames, notes: list[str]) -> dict[str, Any]:
    fair: dict[str, Any] = {}
    for key, value in site.items():
        _site_setting(key, value, renamed, fair, notes)
    if float(fair.get("preemptionClusterUtilizationThreshold", 0)) > 1:
        del fair["preemptionClusterUtilizationThreshold"]
        fair["preemption"] = False
        notes.append(
            f"{_PREFIX}preemption.cluster-utilization-threshold is over 1, so nothing is ever preempted: preemption is off"
        )
    plain = {
        "userMaxApps": {user: limit for user, limit in file.user_limits.items() if user} or None,
        "userMaxAppsDefault": file.user_max_apps,
        "queueMaxAppsDefault": file.queue_max_apps,
        "queueMaxResourcesDefault": _amounts(file.queue_max_resources),
        "queueMaxAMShareDefault": _decimal(file.queue_max_am_share),
        "defaultQueueSchedulingPolicy": file.default_policy,
        "defaultMinSharePreemptionTimeout": _seconds(file.minimum_share_timeout),
        "defaultFairSharePreemptionTimeout": _seconds(file.fair_share_timeout),
        "defaultFairSharePreemptionThreshold": _decimal(file.fair_share_threshold),
    }
    fair |= {key: value for key, value in plain.items() if value is not None}
    spec: dict[str, Any] = {"discipline": "Fair", "fair": fair}
    rules = [rule.meant for rule in file.rules] if file.rules is not None else _implied_rules(site)
    spec["placementRules"] = [_rule(rule, renamed, notes) for rule in rules]
    return {"apiVersion": API_VERSION, "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec}


def _site_setting(key: str, value: str, renamed: Renames, fair: dict[str, Any], notes: list[str]) -> None:
    """Take over one property into the settings, or note why it is left out."""
    if key.startswith(_AM_PREEMPTION_OF):
        path = key.removeprefix(_AM_PREEMPTION_OF)
        fair.setdefault("amPreemptionOf", {})[renamed.of(path)] = value.lower() == "true"
        return
    if not key.startswith(_PREFIX):
        notes += [f"{key}: has no counterpart; {words}" for start, words in _OTHERS.items() if key.startswith(start)]
        return
    name = key.removeprefix(_PREFIX)
    if name in _SETTINGS:
        ours, kind = _SETTINGS[name]
        converted = _setting(value, kind)
        if converted is not None:
            fair[ours] = converted
    elif name not in {"allocation.file", "user-as-default-queue", "allow-undeclared-pools"}:
        notes.append(f"{key}: {_WITHOUT_COUNTERPART.get(name, 'has no counterpart')}")


def _implied_rules(site: Mapping[str, str]) -> tuple[PlacementRule, ...]:
    """Return the rules that hold without a queuePlacementPolicy (``QueuePlacementPolicy.fromConfiguration``)."""
    undeclared = site.get(_PREFIX + "allow-undeclared-pools", "true").lower() == "true"
    return implied(undeclared, site.get(_PREFIX + "user-as-default-queue", "true").lower() == "true")


def _rule(rule: PlacementRule, renamed: Renames, notes: list[str]) -> dict[str, Any]:
    converted: dict[str, Any] = {"rule": _RULES.get(rule.name, rule.name), "create": rule.create}
    if rule.queue:
        path = renamed.of(qualified(rule.queue))
        if path_problem(path):
            notes.append(f"rule default: queue {rule.queue!r} cannot be: {path_problem(path)}; root.default takes its place")
        else:
            converted["queue"] = path
    if rule.parent is not None:
        converted["parent"] = _rule(rule.parent, renamed, notes)
    return converted


def _queues(queue: QueueElement, file: AllocationFile, result: Converted, renamed: Renames) -> None:
    try:
        path = renamed.add(queue.path)
    except NameRefused as error:
        raise AllocationError(queue.line, str(error)) from None
    if path.rpartition(".")[2] != queue.path.rpartition(".")[2]:
        result.notes.append(f"line {queue.line}: queue {queue.path} becomes {path}: {RULE}")
    result.objects.append(_queue(path, queue, file, result.notes))
    for child in queue.children:
        _queues(child, file, result, renamed)


def _queue(path: str, queue: QueueElement, file: AllocationFile, notes: list[str]) -> dict[str, Any]:
    if queue.minimum is not None and queue.minimum.percent is not None:
        notes.append(
            f"line {queue.line}: queue {queue.path}: minResources in percent counts as nothing in Hadoop and is left out"
        )
    if queue.weight < 0:
        notes.append(
            f"line {queue.line}: queue {queue.path}: weight {queue.weight:g} counts as 0: the queue gets its minimum only"
        )
    fair = {
        "weight": _decimal(max(0.0, queue.weight)),
        "minResources": _amounts(queue.minimum, zero=False)
        if queue.minimum is not None and queue.minimum.absolute is not None
        else None,
        "maxResources": _amounts(_effective(queue.maximum or file.queue_max_resources, queue.minimum)),
        "maxChildResources": _amounts(queue.maximum_of_children),
        "maxContainerAllocation": _amounts(queue.maximum_container)
        if queue.maximum_container and queue.maximum_container.absolute
        else None,
        "maxAMShare": _decimal(queue.max_am_share),
        "schedulingPolicy": queue.policy or file.default_policy,
        "minSharePreemptionTimeout": _seconds(queue.minimum_share_timeout),
        "fairSharePreemptionTimeout": _seconds(queue.fair_share_timeout),
        "fairSharePreemptionThreshold": _decimal(queue.fair_share_threshold),
        "allowPreemptionFrom": queue.allow_preemption_from,
    }
    spec: dict[str, Any] = {"fair": {key: value for key, value in fair.items() if value not in (None, {})}}
    if queue.parent and not queue.children and not queue.reservation and path != "root":
        spec["holdsQueues"] = True
    running = queue.max_running_apps if queue.max_running_apps is not None else file.queue_max_apps
    if running is not None:
        spec["maxRunningApplications"] = running
    for element, text in queue.acls.items():
        if element in _ACLS:
            spec[_ACLS[element]] = acl(text)
        else:
            notes.append(f"line {queue.line}: queue {queue.path}: {element} has no counterpart")
    if queue.reservation:
        spec["reservations"] = dict(file.reservations)
    if path == "root" and spec["fair"].get("weight") == "1":
        del spec["fair"]["weight"]
    return {"apiVersion": API_VERSION, "kind": "Queue", "metadata": {"name": path}, "spec": spec}


def _effective(maximum: Amounts | None, minimum: Amounts | None) -> Amounts | None:
    """Return the maximum, raised to the minimum where that is larger: Hadoop does so whenever it reads it."""
    if maximum is None or maximum.absolute is None or minimum is None or minimum.absolute is None:
        return maximum
    return Amounts(absolute={name: max(value, minimum.absolute.get(name, 0)) for name, value in maximum.absolute.items()})


def _amounts(found: Amounts | None, *, zero: bool = True) -> dict[str, str] | None:
    if found is None:
        return None
    if found.percent is not None:
        return {NAMES.get(name, name): f"{_decimal(share * 100)}%" for name, share in found.percent.items() if share < 1.0}
    assert found.absolute is not None
    return {
        NAMES.get(name, name): f"{value}Mi" if name == MEMORY else str(value)
        for name, value in found.absolute.items()
        if value < UNBOUNDED and (value or zero)
    }


def _decimal(value: float | None) -> str | None:
    return None if value is None else decimal(value)


def _seconds(value: float | None) -> str | None:
    return None if value is None else seconds(value)


def _setting(value: str, kind: str) -> Any:
    if kind == "bool":
        return value.lower() == "true"
    if kind == "milliseconds":
        time = int(value)
        return None if time < 0 else milliseconds(time)
    return _decimal(float(value))
