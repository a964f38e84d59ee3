"""Kueue's ClusterQueues, Cohorts and LocalQueues as our objects (v1beta1 and v1beta2 of ``kueue.x-k8s.io``).

A cohort is a queue that holds queues, a ClusterQueue a leaf. Nominal quota is the minimum that comes back by preemption; what may be borrowed beyond it is the distance to the maximum.
Quotas of flavors are summed: which nodes a pod goes to is said by the pod.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from treadle.convert.names import Renames
from treadle.convert.objects import Converted
from treadle.convert.peers import (
    NO_COUNTERPART,
    Json,
    PeerRefused,
    amount,
    listed,
    mapping,
    named,
    queue,
    rest,
    scheduler,
    total,
    word,
)
from treadle.kube.quantities import exact, text_of

GROUP: Final = "kueue.x-k8s.io"
VERSIONS: Final = ("v1beta1", "v1beta2")
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
_CLUSTER_QUEUE: Final = (
    "cohort", "cohortName", "resourceGroups", "namespaceSelector", "queueingStrategy", "preemption", "fairSharing", "stopPolicy",
)  # fmt: skip
_COHORT: Final = ("parent", "parentName", "resourceGroups", "fairSharing")


@dataclass(slots=True)
class _Quota:
    """What a ClusterQueue or a Cohort has of each resource: quantities. ``borrowing`` is None for one without a bound."""

    nominal: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    borrowing: dict[str, list[str] | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Node:
    """A Cohort or a ClusterQueue in the tree."""

    name: str
    above: str
    spec: Json
    cohort: bool
    quota: _Quota
    below: list[_Node] = field(default_factory=list)


def is_kueue(document: Any) -> bool:
    """Whether a document is an object of Kueue."""
    return isinstance(document, dict) and str(document.get("apiVersion", "")).startswith(f"{GROUP}/")


def convert(documents: list[Json]) -> Converted:
    """Return the Scheduler and the Queues. Raises ``PeerRefused``."""
    result = Converted()
    nodes: dict[tuple[bool, str], _Node] = {}
    local: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for one in documents:
        kind = str(one.get("kind"))
        name = word(f"{kind}: metadata.name", mapping(f"{kind}: metadata", one.get("metadata")).get("name"))
        version = str(one.get("apiVersion")).partition("/")[2]
        if version not in VERSIONS:
            raise PeerRefused(f"{kind} {name}: apiVersion: {version!r} is not read; allowed are {' and '.join(VERSIONS)}")
        spec = mapping(f"{kind} {name}: spec", one.get("spec"))
        if kind in {"ClusterQueue", "Cohort"}:
            key = (kind == "Cohort", name)
            if key in nodes:
                raise PeerRefused(f"{kind} {name}: it is there twice")
            nodes[key] = _node(kind, name, spec, result.notes)
        elif kind == "LocalQueue":
            namespace = str(one["metadata"].get("namespace") or "default")
            local[word(f"LocalQueue {namespace}/{name}: spec.clusterQueue", spec.get("clusterQueue"))].append((namespace, name))
        elif kind == "ResourceFlavor":
            _flavor(name, spec, result.notes)
        else:
            result.notes.append(f"{kind} {name}: {NO_COUNTERPART}")
    if not any(not cohort for cohort, _ in nodes):
        raise PeerRefused("there is no ClusterQueue among the objects")
    renamed = Renames()
    result.objects.append(queue("root", {"fair": {"schedulingPolicy": "drf"}}))
    paths: dict[str, str] = {}
    for top in _tree(nodes):
        _put("root", top, result, renamed, paths, local)
    for name in sorted(set(local) - set(paths)):
        result.notes += [
            f"LocalQueue {namespace}/{own}: ClusterQueue {name} is not among the objects" for namespace, own in local[name]
        ]
    reclaims = any(_reclaims(one) for one in nodes.values() if not one.cohort)
    result.objects.insert(
        0, scheduler({"discipline": "Fair", "fair": {"preemption": reclaims, "defaultMinSharePreemptionTimeout": "0s"}})
    )
    return result


def _reclaims(one: _Node) -> bool:
    return str((one.spec.get("preemption") or {}).get("reclaimWithinCohort") or "Never") != "Never"


def _node(kind: str, name: str, spec: Json, notes: list[str]) -> _Node:
    where = f"{kind} {name}"
    rest(where, spec, _COHORT if kind == "Cohort" else _CLUSTER_QUEUE, notes)
    keys = ("parentName", "parent") if kind == "Cohort" else ("cohortName", "cohort")
    above = next((str(spec[key]) for key in keys if spec.get(key)), "")
    return _Node(name, above, spec, kind == "Cohort", _quota(where, spec, notes))


def _quota(where: str, spec: Json, notes: list[str]) -> _Quota:
    found = _Quota()
    for group_number, group in enumerate(listed(f"{where}: resourceGroups", spec.get("resourceGroups"))):
        at = f"{where}: resourceGroups[{group_number}]"
        flavors = listed(f"{at}.flavors", group.get("flavors"))
        for flavor in flavors:
            for one in listed(f"{at}.flavors.resources", flavor.get("resources")):
                resource = word(f"{at}: name of a resource", one.get("name"))
                field_of = f"{at}: flavor {flavor.get('name')}: {resource}"
                found.nominal[resource].append(amount(f"{field_of}.nominalQuota", one.get("nominalQuota", 0)))
                _borrow(field_of, found, resource, one.get("borrowingLimit"))
                if one.get("lendingLimit") is not None:
                    notes.append(
                        f"{field_of}.lendingLimit: {NO_COUNTERPART}; what a queue does not use others may borrow, and preemption gives it back"
                    )
        if len(flavors) > 1:
            names = ", ".join(str(one.get("name")) for one in flavors)
            notes.append(f"{at}: the quotas of flavors {names} are added up; which nodes a pod goes to its nodeSelector says")
    return found


def _borrow(where: str, found: _Quota, resource: str, limit: Any) -> None:
    if limit is None:
        found.borrowing[resource] = None
    elif (before := found.borrowing.setdefault(resource, [])) is not None:
        before.append(amount(f"{where}.borrowingLimit", limit))


def _tree(nodes: dict[tuple[bool, str], _Node]) -> Iterable[_Node]:
    """Hang each below its cohort, which need not have an object, and return those on top, by their names."""
    for one in list(nodes.values()):
        if one.above and (True, one.above) not in nodes:
            nodes[True, one.above] = _Node(one.above, "", {}, True, _Quota())
    for one in nodes.values():
        if one.above:
            nodes[True, one.above].below.append(one)
    top = [one for one in nodes.values() if not one.above]
    _check_cycles(nodes, top)
    return sorted(top, key=lambda one: one.name)


def _check_cycles(nodes: dict[tuple[bool, str], _Node], top: list[_Node]) -> None:
    reached = list(top)
    for one in reached:
        reached += one.below
    if len(reached) < len(nodes):
        names = sorted({one.name for one in nodes.values()} - {one.name for one in reached})
        raise PeerRefused(f"Cohorts {', '.join(names)}: they are their own parents")


def _put(
    above: str, one: _Node, result: Converted, renamed: Renames, paths: dict[str, str], local: dict[str, list[tuple[str, str]]]
) -> None:
    where = f"{'Cohort' if one.cohort else 'ClusterQueue'} {one.name}"
    theirs = f"{above}.{one.name.replace('.', '-')}"
    path = named(renamed, theirs, result.notes, where)
    if path != f"{above}.{one.name}" and "." in one.name:
        result.notes.append(f"{where} becomes {path}: a dot parts levels")
    nominal = _nominal(one)
    own: Json = {
        "minResources": {name: value for name, value in nominal.items() if exact(value)},
        "maxResources": _maximum(one, nominal),
    }
    sharing = mapping(f"{where}: fairSharing", one.spec.get("fairSharing"))
    if sharing.get("weight") is not None:
        own["weight"] = amount(f"{where}: fairSharing.weight", sharing["weight"])
    own["schedulingPolicy"] = "drf" if one.cohort else "fifo"
    spec: Json = {"fair": {key: value for key, value in own.items() if value not in ({}, "")}}
    if one.cohort:
        spec["holdsQueues"] = True
    else:
        paths[one.name] = path
        if not nominal:
            result.notes.append(f"{where}: it has no quota, with which Kueue lets nothing in; here it may use what others leave")
        _leaf(where, path, one, spec, local.get(one.name, []), result.notes)
    result.objects.append(queue(path, spec))
    for child in sorted(one.below, key=lambda each: each.name):
        _put(theirs, child, result, renamed, paths, local)


def _nominal(one: _Node) -> dict[str, str]:
    """Return what a queue has itself and by those below."""
    found: dict[str, list[str]] = {name: list(values) for name, values in one.quota.nominal.items()}
    for child in one.below:
        for name, value in _nominal(child).items():
            found.setdefault(name, []).append(value)
    return {name: total(values) for name, values in found.items()}


def _maximum(one: _Node, nominal: dict[str, str]) -> dict[str, str]:
    """Return the most of each resource: nothing is borrowed outside of a cohort, and no more than the limit within one."""
    if not one.above:
        return dict(nominal)
    found = {}
    for name, value in nominal.items():
        limits = one.quota.borrowing.get(name)
        if limits is not None:
            found[name] = text_of(exact(value) + sum(exact(limit) for limit in limits))
    return found


def _leaf(where: str, path: str, one: _Node, spec: Json, local: list[tuple[str, str]], notes: list[str]) -> None:
    said = one.spec
    if str(said.get("queueingStrategy") or "") == "StrictFIFO":
        notes.append(
            f"{where}: queueingStrategy: StrictFIFO: {NO_COUNTERPART}; who is behind goes on while the first finds no room"
        )
    if str(said.get("stopPolicy") or "None") != "None":
        spec["state"] = "Stopped"
        if said["stopPolicy"] == "HoldAndDrain":
            notes.append(f"{where}: stopPolicy: HoldAndDrain: what runs there goes on, and no new application comes in")
    preemption = mapping(f"{where}: preemption", said.get("preemption"))
    for key, value in preemption.items():
        if key != "reclaimWithinCohort" and value not in (None, "Never", {"policy": "Never"}):
            notes.append(
                f"{where}: preemption.{key}: {NO_COUNTERPART}; what a queue is owed comes back to it, and nothing else is preempted"
            )
    namespaces = sorted({namespace for namespace, _ in local})
    if namespaces:
        spec["submitAcl"] = {"namespaces": namespaces}
        for namespace, name in sorted(local):
            notes.append(
                f"LocalQueue {namespace}/{name}: pods name queue {path} by the label treadle.dev/queue in place of {GROUP}/queue-name; or none, after "
                f"kubectl annotate namespace {namespace} treadle.dev/queue={path}"
            )
    else:
        _selector(where, spec, said.get("namespaceSelector"), notes)


def _selector(where: str, spec: Json, selector: Any, notes: list[str]) -> None:
    if selector is None:
        spec["state"] = "Stopped"
        notes.append(f"{where}: without namespaceSelector it takes nobody; it is stopped")
        return
    found = mapping(f"{where}: namespaceSelector", selector)
    labels = mapping(f"{where}: namespaceSelector.matchLabels", found.get("matchLabels"))
    terms = listed(f"{where}: namespaceSelector.matchExpressions", found.get("matchExpressions"))
    names: list[str] | None = [str(labels[NAMESPACE_NAME])] if set(labels) == {NAMESPACE_NAME} else None
    if not labels and len(terms) == 1 and terms[0].get("key") == NAMESPACE_NAME and terms[0].get("operator") == "In":
        names = [str(one) for one in terms[0].get("values") or ()]
    if not labels and not terms:
        spec["submitAcl"] = {"users": ["*"]}
    elif names and (len(labels) == 1) != bool(terms):
        spec["submitAcl"] = {"namespaces": names}
    else:
        notes.append(
            f"{where}: namespaceSelector: {NO_COUNTERPART}; submitAcl.namespaces lists namespaces by their names, and nobody is let in until it does"
        )


def _flavor(name: str, spec: Json, notes: list[str]) -> None:
    labels = mapping(f"ResourceFlavor {name}: nodeLabels", spec.get("nodeLabels"))
    if labels:
        said = ", ".join(f"{key}: {value}" for key, value in labels.items())
        notes.append(f"ResourceFlavor {name}: {NO_COUNTERPART}; pods go to its nodes by a nodeSelector ({said})")
    notes += [
        f"ResourceFlavor {name}: {key}: {NO_COUNTERPART}; pods have tolerations, and gangs topologies, of their own"
        for key in ("nodeTaints", "tolerations", "topologyName")
        if spec.get(key)
    ]
