"""Volcano's Queues as our objects (``scheduling.volcano.sh/v1beta1``): weight, capability, guarantee, deserved, and parents."""

from __future__ import annotations

from typing import Any, Final

from treadle.convert.names import Renames
from treadle.convert.objects import Converted
from treadle.convert.peers import NO_COUNTERPART, Json, PeerRefused, amount, mapping, named, queue, rest, scheduler, truth, word

GROUP: Final = "scheduling.volcano.sh"
ROOT: Final = "root"
_KNOWN: Final = (
    "weight",
    "capability",
    "guarantee",
    "deserved",
    "parent",
    "reclaimable",
    "priority",
    "dequeueStrategy",
    "affinity",
)


def is_volcano(document: Any) -> bool:
    """Whether a document is an object of Volcano's scheduling group."""
    return isinstance(document, dict) and str(document.get("apiVersion", "")).startswith(f"{GROUP}/")


def convert(documents: list[Json]) -> Converted:
    """Return the Scheduler and the Queues. Raises ``PeerRefused``."""
    result = Converted()
    found: dict[str, Json] = {}
    states: dict[str, str] = {}
    for one in documents:
        kind = str(one.get("kind"))
        name = word(f"{kind}: metadata.name", mapping(f"{kind}: metadata", one.get("metadata")).get("name"))
        if kind != "Queue":
            result.notes.append(f"{kind} {name}: {NO_COUNTERPART}")
            continue
        if name in found:
            raise PeerRefused(f"Queue {name}: it is there twice")
        found[name] = mapping(f"Queue {name}: spec", one.get("spec"))
        states[name] = str(mapping(f"Queue {name}: status", one.get("status")).get("state") or "Open")
    if not found:
        raise PeerRefused("there is no Queue among the objects")
    below: dict[str, list[str]] = {}
    for name, spec in found.items():
        if name != ROOT:
            below.setdefault(str(spec.get("parent") or ROOT), []).append(name)
    for parent, names in below.items():
        if parent != ROOT and parent not in found:
            raise PeerRefused(f"Queue {names[0]}: parent: there is no queue {parent!r} among the objects")
    renamed = Renames()
    reached: set[str] = set()
    _put(ROOT, "", found, below, states, result, renamed, reached)
    if lost := sorted(set(found) - reached - {ROOT}):
        raise PeerRefused(f"Queues {', '.join(lost)}: they are their own parents")
    result.objects.insert(
        0, scheduler({"discipline": "Fair", "fair": {"preemption": True, "defaultMinSharePreemptionTimeout": "0s"}})
    )
    return result


def _put(
    name: str,
    above: str,
    found: dict[str, Json],
    below: dict[str, list[str]],
    states: dict[str, str],
    result: Converted,
    renamed: Renames,
    reached: set[str],
) -> None:
    where, spec = f"Queue {name}", found.get(name, {})
    reached.add(name)
    theirs = f"{above}.{name.replace('.', '-')}" if above else ROOT
    path = named(renamed, theirs, result.notes, where) if above else ROOT
    if above and path != f"root.{name}":
        result.notes.append(f"{where}: pods name it {path}, since queues are named by their whole path")
    children = sorted(below.get(name, []))
    result.objects.append(queue(path, _spec(where, spec, bool(children) or not above, states.get(name, "Open"), result.notes)))
    for child in children:
        _put(child, theirs, found, below, states, result, renamed, reached)


def _spec(where: str, said: Json, parent: bool, state: str, notes: list[str]) -> Json:
    rest(where, said, _KNOWN, notes)
    guarantee = mapping(f"{where}: guarantee", said.get("guarantee"))
    kept = _amounts(f"{where}: guarantee.resource", guarantee.get("resource"))
    deserved = _amounts(f"{where}: deserved", said.get("deserved"))
    if kept and deserved:
        notes.append(
            f"{where}: guarantee.resource: what is in deserved is the minimum; that a part of it is never lent {NO_COUNTERPART}"
        )
    elif kept:
        notes.append(
            f"{where}: guarantee.resource becomes minResources; that it is never lent {NO_COUNTERPART}, and preemption gives it back"
        )
    fair: Json = {
        "weight": amount(f"{where}: weight", said["weight"]) if said.get("weight") is not None else "",
        "minResources": deserved or kept,
        "maxResources": _amounts(f"{where}: capability", said.get("capability")),
        "schedulingPolicy": "drf" if parent or str(said.get("dequeueStrategy") or "traverse") == "traverse" else "fifo",
    }
    if said.get("reclaimable") is not None and not truth(f"{where}: reclaimable", said["reclaimable"]):
        fair["allowPreemptionFrom"] = False
    for key, words in (
        ("priority", "queues share by weight and minimum"),
        ("affinity", "pods have a nodeSelector, and the discipline Capacity partitions"),
    ):
        if said.get(key):
            notes.append(f"{where}: {key}: {NO_COUNTERPART}; {words}")
    spec: Json = {"fair": {key: value for key, value in fair.items() if value not in ({}, "")}}
    if parent and where != f"Queue {ROOT}":
        spec["holdsQueues"] = True
    if state in {"Closed", "Closing"}:
        spec["state"] = "Stopped"
    return spec


def _amounts(where: str, found: Any) -> Json:
    return {name: amount(f"{where}.{name}", value) for name, value in mapping(where, found).items()}
