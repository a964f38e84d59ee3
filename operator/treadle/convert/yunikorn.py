"""YuniKorn's ``queues.yaml`` as our objects (its documents: Partition and Queue Configuration, App Placement Rules, App & Queue Sorting, Preemption).

The discipline is Fair: guaranteed amounts are minima that preemption gives back, maxima are maxima, and leaves are in their own order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from treadle.convert.names import Renames
from treadle.convert.objects import Converted
from treadle.convert.peers import (
    NO_COUNTERPART,
    Json,
    PeerRefused,
    amount,
    count,
    listed,
    mapping,
    named,
    queue,
    rest,
    scheduler,
    truth,
    word,
)
from treadle.convert.texts import acl, seconds
from treadle.convert.yunikorn_rules import rules_of

TYPES: Final = {"vcore": "cpu"}
DELAY: Final = "30s"
"""The time under a guarantee before preemption where no queue says otherwise (``preemption.delay``)."""
_PARTITION: Final = ("name", "queues", "placementrules", "limits", "preemption", "nodesortpolicy")
_QUEUE: Final = (
    "name", "parent", "resources", "maxapplications", "properties", "adminacl", "submitacl", "childtemplate", "queues", "limits",
)  # fmt: skip
_UNIT: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def is_yunikorn(document: Any) -> bool:
    """Whether a document is ``queues.yaml``, or a ConfigMap or values of a chart that have it."""
    return _inside(document) is not None


def _inside(document: Any) -> Any:
    if not isinstance(document, dict):
        return None
    if "partitions" in document:
        return document
    for key in ("data", "yunikornDefaults", "binaryData"):
        found = document.get(key)
        if isinstance(found, dict) and "queues.yaml" in found:
            return found["queues.yaml"]
    return None


def text_inside(document: Any) -> str | None:
    """Return the text of ``queues.yaml`` in a ConfigMap or in values of the chart, None where the document is it."""
    found = _inside(document)
    return found if isinstance(found, str) else None


def convert(document: Json) -> Converted:
    """Return the Scheduler and the Queues. Raises ``PeerRefused``."""
    result = Converted()
    partitions = listed("partitions", document.get("partitions"))
    if not partitions:
        raise PeerRefused("partitions: there is none; allowed is one that is called default")
    chosen = next((one for one in partitions if one.get("name", "default") == "default"), partitions[0])
    for one in partitions:
        if one is not chosen:
            result.notes.append(
                f"partition {one.get('name')}: {NO_COUNTERPART}; YuniKorn on Kubernetes uses the partition default alone"
            )
    rest("partition default", chosen, _PARTITION, result.notes)
    roots = listed("queues", chosen.get("queues"))
    root = next((one for one in roots if str(one.get("name", "")).lower() == "root"), None)
    if root is None:
        root = {"name": "root", "queues": roots}
    elif len(roots) > 1:
        raise PeerRefused("queues: beside root there are others on the first level; below root they are allowed")
    fair: Json = {"preemption": True, "defaultMinSharePreemptionTimeout": DELAY}
    preemption = mapping("preemption", chosen.get("preemption"))
    if "enabled" in preemption and not truth("preemption.enabled", preemption["enabled"]):
        fair["preemption"] = False
    _limits("partition default", "root", chosen.get("limits"), fair, result.notes)
    renamed = Renames()
    _queue("", root, result, renamed, fair)
    if not any("submitAcl" in one["spec"] or "administerAcl" in one["spec"] for one in result.objects):
        result.notes.append(
            "no queue has a submitacl or adminacl, with which YuniKorn lets nobody in; here access.default decides"
        )
    spec: Json = {"discipline": "Fair", "fair": fair}
    rules = rules_of(listed("placementrules", chosen.get("placementrules")), renamed, result.notes)
    if rules:
        spec["placementRules"] = rules
    order = mapping("nodesortpolicy", chosen.get("nodesortpolicy"))
    if kind := order.get("type"):
        spec["nodes"] = {"scoring": "Pack" if str(kind) == "binpacking" else "Spread"}
    rest("nodesortpolicy", order, ("type",), result.notes)
    result.objects.insert(0, scheduler(spec))
    return result


def _queue(above: str, found: Json, result: Converted, renamed: Renames, fair: Json) -> None:
    name = word(f"a queue below {above or 'the partition'}: name", found.get("name")).lower()
    if "." in name:
        raise PeerRefused(f"queue {above}: name: {name!r} has a dot; a queue below another one is in its list queues")
    theirs = f"{above}.{name}" if above else name
    path = named(renamed, theirs, result.notes) if above else "root"
    where = f"queue {theirs}"
    notes = result.notes
    rest(where, found, _QUEUE, notes)
    children = listed(f"{where}: queues", found.get("queues"))
    parent = bool(children) or truth(f"{where}: parent", found.get("parent"))
    resources = mapping(f"{where}: resources", found.get("resources"))
    rest(f"{where}: resources", resources, ("guaranteed", "max"), notes)
    own: Json = {
        "minResources": _amounts(f"{where}: resources.guaranteed", resources.get("guaranteed")),
        "maxResources": _amounts(f"{where}: resources.max", resources.get("max")),
        "maxChildResources": _template(where, found.get("childtemplate"), notes),
        "schedulingPolicy": "drf" if parent or not above else "fifo",
        **_properties(where, mapping(f"{where}: properties", found.get("properties")), parent or not above, notes),
    }
    spec: Json = {"fair": {key: value for key, value in own.items() if value not in ({}, "")}}
    if parent and not children and above:
        spec["holdsQueues"] = True
    if found.get("maxapplications"):
        spec["maxRunningApplications"] = count(f"{where}: maxapplications", found["maxapplications"])
    for key, ours in (("submitacl", "submitAcl"), ("adminacl", "administerAcl")):
        if found.get(key) is not None and (
            said := acl(str(found[key]).strip() if str(found[key]).strip() == "*" else str(found[key]))
        ):
            spec[ours] = said
    _limits(where, theirs, found.get("limits"), fair, notes)
    result.objects.append(queue(path, spec))
    for child in children:
        _queue(theirs, child, result, renamed, fair)


def _amounts(where: str, found: Any) -> Json:
    return {TYPES.get(name, name): amount(f"{where}.{name}", value) for name, value in mapping(where, found).items()}


def _template(where: str, found: Any, notes: list[str]) -> Json:
    template = mapping(f"{where}: childtemplate", found)
    resources = mapping(f"{where}: childtemplate.resources", template.get("resources"))
    notes += [
        f"{where}: childtemplate.{key}: {NO_COUNTERPART}; give the queues objects of their own"
        for key in ("maxapplications", "properties")
        if template.get(key)
    ]
    if resources.get("guaranteed"):
        notes.append(f"{where}: childtemplate.resources.guaranteed: {NO_COUNTERPART}; queues that rules make have no minimum")
    return _amounts(f"{where}: childtemplate.resources.max", resources.get("max"))


def _properties(where: str, found: Mapping[str, Any], parent: bool, notes: list[str]) -> Json:
    said: Json = {}
    for key, value in found.items():
        text, at = str(value).strip().lower(), f"{where}: properties.{key}"
        match key:
            case "application.sort.policy" if parent:
                notes.append(f"{at}: counts in leaves alone")
            case "application.sort.policy" if text in {"fifo", "stateaware"}:
                said["schedulingPolicy"] = "fifo"
                if text == "stateaware":
                    notes.append(f"{at}: stateaware was taken out of YuniKorn; fifo takes its place")
            case "application.sort.policy" if text == "fair":
                said["schedulingPolicy"] = "drf"
            case "preemption.policy" if text == "disabled":
                said["allowPreemptionFrom"] = False
                notes.append(
                    f"{at}: nothing is preempted from the queue; what it is owed still comes back to it, which YuniKorn does not do"
                )
            case "preemption.policy" if text == "default":
                pass
            case "preemption.delay":
                said["minSharePreemptionTimeout"] = _time(at, text)
            case "application.sort.priority" if text == "enabled":
                pass
            case "application.sort.priority":
                notes.append(f"{at}: {NO_COUNTERPART}; applications of higher priority go first wherever they have one")
            case "preemption.policy" | "priority.policy":
                notes.append(
                    f"{at}: {value}: {NO_COUNTERPART}; preemption is for what a queue is owed, wherever above it that is lacking"
                )
            case "priority.offset":
                notes.append(f"{at}: {NO_COUNTERPART}; queues share by weight and minimum, not by priority")
            case _:
                notes.append(f"{at}: {NO_COUNTERPART}")
    return said


def _time(where: str, text: str) -> str:
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ms|h|m|s)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise PeerRefused(f"{where}: {text[:40]!r} is not a time such as 30s or 5m")
    return seconds(sum(float(number) * _UNIT[unit] for number, unit in parts))


def _limits(where: str, path: str, found: Any, fair: Json, notes: list[str]) -> None:
    """Take over how many applications users may run in the whole tree, and note all other limits."""
    for number, limit in enumerate(listed(f"{where}: limits", found)):
        at = f"{where}: limits[{number}]"
        rest(at, limit, ("limit", "users", "groups", "maxapplications", "maxresources"), notes)
        users = [str(one) for one in limit.get("users") or ()]
        applications = limit.get("maxapplications")
        if path == "root" and users and applications:
            most = count(f"{at}.maxapplications", applications)
            for user in users:
                if user == "*":
                    fair["userMaxAppsDefault"] = most
                else:
                    fair.setdefault("userMaxApps", {})[user] = most
        elif applications and users:
            notes.append(
                f"{at}.maxapplications: {NO_COUNTERPART} in one queue; userMaxApps of the Scheduler counts in all together"
            )
        if limit.get("groups"):
            notes.append(f"{at}.groups: {NO_COUNTERPART}; limits are of queues and of users")
        if limit.get("maxresources"):
            notes.append(
                f"{at}.maxresources: {NO_COUNTERPART} under Fair; userLimitFactor of the discipline Capacity bounds what one user holds of a queue"
            )
