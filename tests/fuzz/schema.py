"""Objects of our kinds made from the schemas of their definitions, as the API server would accept them.

Names come from small pools, so that objects meet; amounts, numbers and texts are often ordinary and sometimes as odd as the
schema allows. What the rules between fields forbid is left out again: the model says which field is wrong.
"""

from __future__ import annotations

import re
from functools import lru_cache
from random import Random
from typing import Any

from fuzz.patterns import text
from treadle.api import crds, objects
from treadle.api.objects import InvalidObject

Json = dict[str, Any]

LEAVES = ["root.a", "root.b.x", "root.b.y", "root.c.z", "root.default", "root.users.ann", "root.b.x.deep"]
QUEUES = [
    "root",
    "root.a",
    "root.b",
    "root.b.x",
    "root.b.y",
    "root.c",
    "root.c.z",
    "root.default",
    "root.users",
    "root.users.ann",
    "root.b.x.deep",
]
USERS = ["ann", "bob", "*", "Zoë", "a.b", "x" * 256, "%user"]
RESOURCES = [
    "cpu",
    "memory",
    "pods",
    "nvidia.com/gpu",
    "ephemeral-storage",
    "hugepages-2Mi",
    "acme.org/fpga",
    "example.com/a-b_c.d",
    "storage",
]
PROFILES = ["large", "small", "x" * 63]
PROFILED = [f"profile.treadle.dev/{name}" for name in (*PROFILES, "none")]
PARTITIONS = ["gpu", "ssd", "default"]
_NAMED = {
    "queue": [*QUEUES, "root.nowhere"], "parentQueue": ["root.users", "root", "root.b", "users", "root.%user"],
    "customPlacement": ["root.users.%user", "root.%primary_group.%user", "a", "root.a"], "value": ["root.a", "root.default", "root.users.%user"],
    "defaultPartition": [*PARTITIONS, "", "none"], "partition": PARTITIONS, "aliases": ["spark", "treadle", "other", "yunikorn"],
    "partitionLabel": ["treadle.dev/partition", "zone", "node.kubernetes.io/pool"],
    "matches": ["*", "ann", "bob", "%user", "%primary_group", "app"], "users": USERS, "groups": ["dev", "ops", "é"], "user": USERS,
    **{name: ["nvidia.com/gpu", "acme.org/fpga", "x.y/z"] for name in ("gpu", "big", "odd", "gpu.example.com")},
}  # fmt: skip
_KEYS = {
    "partitions": [*PARTITIONS, "*", ""], "userWeights": USERS, "userMaxApps": USERS, "userMaxParallelAppsOf": USERS, "amPreemptionOf": LEAVES,
    "resourceProfiles": PROFILES, "deviceClasses": ["gpu", "big", "odd", "gpu.example.com"],
}  # fmt: skip
QUANTITIES = [
    "0", "1", "2", "4", "500m", "16Gi", "1Gi", "100Mi", "1e3", "0.5", "1n", "0.000000001", "3E", "1Ei", "4611686018427387903", "100k", "1.5Gi",
    "07", ".5", "1.", "+1", "12e-1", "1E2", "1e18", "9223372036854775807m", "1u", "0Ki",
]  # fmt: skip
PERCENTS = ["0%", "100%", "50%", "33.333333%", "0.000001%", "60%", "25%", "10%", "000000050%"]
DECIMALS = [
    "0",
    "1",
    "-1",
    "0.5",
    "2",
    "0.000001",
    "999999999",
    "999999999.999999",
    "3.5",
    "100",
    "007",
    "0.1",
    "10000",
    "1000000",
]
DURATIONS = ["0s", "1s", "500ms", "1m", "3s", "15s", "1h30m", "999999999h", "1ms", "0ms", "2m"]
WORDS = ["", "a", "x" * 64, "Zoë", "日本", "%user", "a b", "root.a", "-", "*"]


class Style:
    """What the objects of one run have in common, so that definitions make sense together often enough."""

    def __init__(self, chance: Random) -> None:
        self.capacity = chance.choice(["weight", "weight", "percent", "absolute", "mixed", "any"])
        self.discipline = chance.choice(["Capacity", "Capacity", "Fair", None])
        self.legacy = chance.choice([None, None, False, True])
        self.odd = chance.choice([0.0, 0.02, 0.05, 0.2, 0.7])
        """How often something is as odd as it may be."""
        self.full = chance.choice([0.03, 0.1, 0.2, 0.5])
        """How often what need not be said is."""
        self.sensible = chance.choice([0.9, 0.99, 1.0])
        self.preempts = chance.random() < 0.5
        self.busy = chance.random() < 0.5
        """Whether plain pods keep coming to nodes that stay, so that it is full and limits are met."""


@lru_cache(maxsize=8)
def schema_of(kind: str) -> Json:
    return crds.schema(kind)


class Hopeless(Exception):
    """An object of which nothing more can be left out, and that is not valid."""


def made(kind: str, name: str, chance: Random, style: Style, namespace: str = "") -> Json:
    """Return a valid object. Its metadata has a name and a namespace only."""
    while True:
        try:
            return _valid(kind, drawn(kind, name, chance, style, namespace))
        except Hopeless:
            continue


def drawn(kind: str, name: str, chance: Random, style: Style, namespace: str = "") -> Json:
    """Return an object whose fields are each as their schema says; what rules between fields say is not looked at."""
    body: Json = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": _of(schema_of(kind)["properties"]["spec"], "spec", chance, style),
    }
    _make_sensible(kind, name, body["spec"], chance, style)
    return body


def _valid(kind: str, body: Json) -> Json:
    for _ in range(30):
        try:
            objects.parse(kind, body)
        except InvalidObject as error:
            for problem in error.problems:
                _leave_out(body, problem.partition(": ")[0])
        else:
            return body
    raise Hopeless


def _make_sensible(kind: str, name: str, spec: Json, chance: Random, style: Style) -> None:
    """Let what has to go together for anything to come into force go together, mostly."""

    def usually() -> bool:
        return chance.random() < style.sensible

    if kind == "Scheduler":
        fair, capacity = spec.setdefault("fair", {}), spec.setdefault("capacity", {})
        if style.discipline is not None and usually():
            spec["discipline"] = style.discipline
        if style.legacy is not None and usually():
            capacity["legacyQueueMode"] = style.legacy
        if style.preempts and usually():
            fair |= {
                "preemption": True,
                "waitTimeBeforeKill": "1s",
                "defaultFairSharePreemptionTimeout": "1s",
                "preemptionClusterUtilizationThreshold": "0",
            }
            fair |= {"waitTimeBeforeNextStarvationCheck": "1s", "defaultMinSharePreemptionTimeout": "1s"}
            capacity["preemption"] = {
                **capacity.get("preemption", {}), "enabled": True, "observeOnly": False, "monitoringInterval": "1s", "maxWaitBeforeKill": "1s",
                "totalPreemptionPerRound": "1", "naturalTerminationFactor": "1",
                "intraQueue": {"enabled": True, "minimumThreshold": "0", "maxAllowableLimit": "1"},
            }  # fmt: skip
        if chance.random() < 0.5:
            spec["gangs"] = {**spec.get("gangs", {}), "provisioning": {"className": "check-capacity.autoscaling.x-k8s.io"}}
        if chance.random() < 0.7:
            spec.pop("placementRules", None)
        if chance.random() < 0.5:
            capacity.pop("mappingRules", None)
            capacity.pop("queueMappings", None)
    if kind == "Queue":
        fair = spec.setdefault("fair", {})
        if usually():
            spec["state"] = "Running"
        if usually():
            fair["schedulingPolicy"] = "drf"
        for absent in ("submitAcl", "administerAcl", "maxRunningApplications", "holdsQueues"):
            if chance.random() < 0.7:
                spec.pop(absent, None)
        if chance.random() < 0.7:
            fair.pop("maxAMShare", None)
        if style.busy:
            for absent in (
                "maxResources",
                "maxContainerAllocation",
                "allowPreemptionFrom",
                "fairSharePreemptionTimeout",
                "fairSharePreemptionThreshold",
            ):
                if chance.random() < 0.7:
                    fair.pop(absent, None)
            for absent in (
                "maximum",
                "userLimitFactor",
                "minimumUserLimitPercent",
                "maximumApplications",
                "disablePreemption",
                "maximumAMResourcePercent",
            ):
                if chance.random() < 0.7:
                    spec.get("capacity", {}).pop(absent, None)
            spec.get("capacity", {}).setdefault("userLimitFactor", chance.choice([-1, "2", "10"]))
        if name != "root" and usually():
            capacity = spec.setdefault("capacity", {})
            capacity["guaranteed"] = _capacity(chance, style)
            for absent in ("accessiblePartitions", "orderingPolicy", "userWeights", "maximumAllocation", "defaultPartition"):
                if usually():
                    capacity.pop(absent, None)
            if name in {"root.users", "root.b.x"} and chance.random() < 0.4:
                capacity["autoCreation"] = {**capacity.get("autoCreation", {}), "enabled": True}
            elif name == "root.c" and chance.random() < 0.3:
                capacity["managedChildren"] = {"enabled": True, "leafTemplate": {"guaranteed": "50%", "maximum": "100%"}}


def _capacity(chance: Random, style: Style, *, maximum: bool = False) -> str:
    kind = (
        style.capacity if style.capacity not in {"mixed", "any"} else chance.choice(["weight", "percent", "absolute", "vector"])
    )
    if maximum and kind == "weight":
        kind = "percent"
    if kind == "weight":
        return chance.choice(["1w", "2w", "0w", "0.5w", "10000w", "3w"])
    if kind == "percent":
        return chance.choice(["50%", "100%", "0%", "25%", "33.3%"])
    names = chance.sample(RESOURCES, chance.randint(0, 3))
    values = [chance.choice(QUANTITIES) if kind == "absolute" else chance.choice(["50%", "1w", "2", "0%"]) for _ in names]
    values = [value.lstrip("+.") for value in values]
    entries = [
        f"memory={chance.choice(['1Gi', '16Gi', '4Gi', '0'])}",
        *(f"{name}={value}" for name, value in zip(names, values, strict=True) if name != "memory"),
    ]
    if chance.random() < style.full / 4:
        entries.append(f"{chance.choice(PROFILED)}={chance.choice([1, 3])}")
    return f"[{','.join(entries)}]"


def _leave_out(body: Json, path: str) -> None:
    parts = path.split(".")
    at: Any = body
    walked: list[tuple[Any, Any]] = []
    while parts:
        if isinstance(at, dict):
            taken = next((count for count in range(len(parts), 0, -1) if ".".join(parts[:count]) in at), 0)
            if not taken:
                break
            key: Any = ".".join(parts[:taken])
            parts = parts[taken:]
        elif isinstance(at, list) and parts[0].isdecimal() and int(parts[0]) < len(at):
            key = int(parts.pop(0))
        else:
            break
        walked.append((at, key))
        at = at[key]
    if not walked or walked[-1][0] is body:
        raise Hopeless
    holder, key = walked[-1]
    del holder[key]


def _of(schema: Json, field: str, chance: Random, style: Style) -> Any:
    if schema.get("x-kubernetes-int-or-string"):
        return _number_or_text(schema, chance, style)
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _object(schema, chance, style)
        case "object" if "additionalProperties" in schema:
            return _map(schema, field, chance, style)
        case "object":
            return {}
        case "array":
            return _list(schema, field, chance, style)
        case "boolean":
            return chance.random() < 0.5
        case "integer":
            return _integer(schema, chance)
        case "string":
            return _string(schema, field, chance, style)
    raise NotImplementedError(f"{field}: {schema}")


def _object(schema: Json, chance: Random, style: Style) -> Json:
    needed = schema.get("required", ())
    return {
        name: _of(each, name, chance, style)
        for name, each in schema["properties"].items()
        if name in needed or chance.random() < style.full
    }


def _size(schema: Json, least: str, most: str, chance: Random) -> int:
    low = schema.get(least, 0)
    high = min(schema.get(most, 8), 8)
    return chance.choice([low, chance.randint(low, high), min(high, low + 1), min(high, low + 2)])


def _map(schema: Json, field: str, chance: Random, style: Style) -> Json:
    pool = _KEYS.get(field, RESOURCES)
    keys = chance.sample(pool, min(len(pool), _size(schema, "minProperties", "maxProperties", chance)))
    found = {key: _of(schema["additionalProperties"], key, chance, style) for key in keys}
    if pool is RESOURCES and chance.random() < style.full / 4:
        found[chance.choice(PROFILED)] = chance.choice(["1", 2, "0", 999_999_999])
    return found


def _list(schema: Json, field: str, chance: Random, style: Style) -> list[Any]:
    items = [_of(schema["items"], field, chance, style) for _ in range(_size(schema, "minItems", "maxItems", chance))]
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return [item for at, item in enumerate(items) if item not in items[:at]]
        case "map":
            key = schema["x-kubernetes-list-map-keys"][0]
            return list({item[key]: item for item in items}.values())
    return items


def _integer(schema: Json, chance: Random) -> int:
    low, high = schema.get("minimum", -(2**31)), schema.get("maximum", 2**31 - 1)
    return chance.choice(
        [low, high, max(low, min(high, chance.randint(0, 5))), max(low, min(high, 1)), chance.randint(low, high)]
    )


def _rules(schema: Json) -> str:
    return " ".join(rule["rule"] for rule in schema.get("x-kubernetes-validations", ()))


def _number_or_text(schema: Json, chance: Random, style: Style) -> Any:
    rules = _rules(schema)
    if "isQuantity" not in rules:
        chosen = chance.choice(DECIMALS) if chance.random() < style.odd else chance.choice(["0", "1", "0.5", "2"])
    elif "%" in rules and chance.random() < 0.3:
        chosen = chance.choice(PERCENTS)
    else:
        chosen = chance.choice(QUANTITIES) if chance.random() < style.odd else chance.choice(["1", "2", "4Gi", "0", "8", "500m"])
    return int(chosen) if chosen.lstrip("-").isdecimal() and chance.random() < 0.3 else chosen


def _string(schema: Json, field: str, chance: Random, style: Style) -> str:
    if "enum" in schema:
        return str(chance.choice(schema["enum"]))
    if schema.get("format") == "date-time":
        return chance.choice(["2026-12-01T01:00:00Z", "2026-12-02T01:00:00+01:00", "2027-01-01T00:00:00.5Z"])
    most = schema.get("maxLength", 64)
    found = re.search(r"(?<!!)self\.matches\('\^(.*)\$'\)", schema.get("x-kubernetes-validations", [{"rule": ""}])[0]["rule"])
    pattern = found.group(1).replace("\\\\", "\\") if found else ""
    if "(%" in pattern:
        return (
            _capacity(chance, style, maximum=field == "maximum")
            if chance.random() > style.odd / 4
            else text(pattern, chance, most)
        )
    if "(ms|h|m|s)" in pattern and chance.random() < 0.9:
        return chance.choice(DURATIONS)
    if field in _NAMED and chance.random() > style.odd / 2:
        chosen = str(chance.choice(_NAMED[field]))
        if not pattern or re.fullmatch(pattern, chosen):
            return chosen
    if pattern:
        return text(pattern, chance, most)
    return chance.choice([word for word in WORDS if schema.get("minLength", 0) <= len(word) <= most])
