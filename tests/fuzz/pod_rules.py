"""Rules of pods about other pods by chance: affinity, spread, allocation tags and placement constraints, sensible ones and odd ones."""

from __future__ import annotations

from random import Random
from typing import Any

Json = dict[str, Any]
APPS = ("web", "db", "")
TOPOLOGIES = ("zone", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "unheard/of")
RULE = "requiredDuringSchedulingIgnoredDuringExecution"
WISH = "preferredDuringSchedulingIgnoredDuringExecution"
TEXTS = (
    "notin,node,a", "in,rack,a", "cardinality,node,a,0,2", "cardinality,rack,a,b,2,1", "and(notin,node,a:or(in,rack,all/b:gpu=yes))", "zone!=a",
    "in,node,not-self/a", "in,node,app-id/a", "in", "", ",", "and(", "or()", "and(" * 40, "in,node," + "a," * 300, "cardinality,node,a,-9,99999999999999999999",
    "delayed-or(1s,in,node,b:5s,zone!=a)", "delayed-or(999999999h,in,node,a:0ms,or(gpu=yes:notin,rack,a))", "delayed-or()", "delayed-or(in,node,a)",
)  # fmt: skip
TAGS = ("a", "b", "a,b", "", ",", " a , a ", "x" * 500)


def labels(chance: Random) -> Json:
    """Labels that rules go by."""
    found = {"app": chance.choice(APPS)}
    if chance.random() < 0.3:
        found["tier"] = chance.choice(["x", "y"])
    return found


def selector(chance: Random) -> Json | None:
    """A label selector, an empty one, or none."""
    if chance.random() < 0.1:
        return None
    found: Json = {}
    if chance.random() < 0.7:
        found["matchLabels"] = {"app": chance.choice(APPS)}
    if chance.random() < 0.4:
        operator = chance.choice(["In", "NotIn", "Exists", "DoesNotExist"])
        one: Json = {"key": chance.choice(["tier", "app"]), "operator": operator}
        if operator in {"In", "NotIn"}:
            one["values"] = chance.sample(["x", "y", "web", ""], chance.choice([1, 2]))
        found["matchExpressions"] = [one]
    return found


def term(chance: Random) -> Json:
    """A term of affinity or anti-affinity."""
    found: Json = {"topologyKey": chance.choice(TOPOLOGIES)}
    chosen = selector(chance)
    if chosen is not None:
        found["labelSelector"] = chosen
    if chance.random() < 0.2:
        found["namespaces"] = chance.sample(["ns", "other", "nowhere"], chance.choice([1, 2]))
    if chance.random() < 0.2:
        found["namespaceSelector"] = chance.choice(
            [{}, {"matchExpressions": [{"key": "treadle.dev/queue", "operator": "Exists"}]}]
        )
    return found


def add(pod: Json, chance: Random) -> None:
    """Give a pod rules about others, and what others' rules go by."""
    meta, spec = pod["metadata"], pod["spec"]
    meta["labels"] = {**meta.get("labels", {}), **labels(chance)}
    affinity: Json = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if chance.random() < 0.3:
            affinity[kind] = {RULE: [term(chance) for _ in range(chance.choice([1, 1, 2]))]}
        if chance.random() < 0.3:
            affinity.setdefault(kind, {})[WISH] = [
                {"weight": chance.choice([1, 50, 100]), "podAffinityTerm": term(chance)} for _ in range(chance.choice([1, 1, 2]))
            ]
    if affinity:
        spec["affinity"] = {**spec.get("affinity", {}), **affinity}
    if chance.random() < 0.4:
        spec["topologySpreadConstraints"] = [_spread(chance) for _ in range(chance.choice([1, 1, 2]))]
    notes = {**meta.get("annotations", {})}
    if chance.random() < 0.4:
        notes["treadle.dev/allocation-tags"] = chance.choice(TAGS)
    if chance.random() < 0.1:
        notes["treadle.dev/application-tags"] = chance.choice(TAGS)
    if chance.random() < 0.3:
        notes["treadle.dev/placement-constraints"] = chance.choice(TEXTS)
    if notes:
        meta["annotations"] = notes


def _spread(chance: Random) -> Json:
    found: Json = {
        "maxSkew": chance.choice([1, 1, 2, 2**31 - 1]),
        "topologyKey": chance.choice(TOPOLOGIES),
        "whenUnsatisfiable": chance.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
    }
    chosen = selector(chance)
    if chosen is not None:
        found["labelSelector"] = chosen
    if chance.random() < 0.2:
        found["minDomains"] = chance.choice([1, 3, 2**31 - 1])
    if chance.random() < 0.2:
        found["nodeAffinityPolicy"] = chance.choice(["Honor", "Ignore"])
    if chance.random() < 0.2:
        found["nodeTaintsPolicy"] = chance.choice(["Honor", "Ignore"])
    if chance.random() < 0.2:
        found["matchLabelKeys"] = [chance.choice(["tier", "absent"])]
    return found
