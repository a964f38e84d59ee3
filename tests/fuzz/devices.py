"""Objects about devices by chance, as the API server takes them, and claims of pods: names come from small pools, so that they meet."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz.storage import NODES, _terms

Json = dict[str, Any]
CLAIMS, CLASSES, POOLS = ("d0", "d1", "d2", "d3"), ("gpu", "big", "odd"), ("n0", "n1", "fabric")
KINDS = ("resourceslices", "deviceclasses", "resourceclaims")
DRIVER = "gpu.example.com"
AMOUNTS = ("1", "2", "4", "40Gi", "0", "500m", "1e3", "12E")
EXPRESSIONS = (
    "true",
    f'device.driver == "{DRIVER}"',
    f'device.attributes["{DRIVER}"].model == "a"',
    f'device.attributes["{DRIVER}"].nothing == 1',
    f'device.capacity["{DRIVER}"].memory.compareTo(quantity("2")) >= 0',
    f'device.attributes["{DRIVER}"].version.isGreaterThan(semver("1.0.0"))',
    "1 + 1",
    "((",
    "device.driver.find('x') == ''",
)


def thing(kind: str, chance: Random) -> Json:
    """An object of a kind, named by its plural."""
    found = {"resourceslices": _slice, "deviceclasses": _class, "resourceclaims": _claim}[kind](chance)
    found["metadata"]["uid"] = f"uid-{found['metadata']['name']}-{chance.randrange(3)}"
    found["metadata"]["resourceVersion"] = str(chance.randrange(1, 9999))
    return found


def _selectors(chance: Random) -> list[Json]:
    return [{"cel": {"expression": chance.choice(EXPRESSIONS)}} for _ in range(chance.choice([0, 0, 1, 2]))]


def _counters(chance: Random) -> Json:
    return {name: {"value": chance.choice(AMOUNTS)} for name in chance.sample(["units", "slots"], chance.choice([1, 2]))}


def _where(chance: Random, found: Json) -> None:
    way = chance.choice(["node", "node", "all", "terms"])
    if way == "node":
        found["nodeName"] = chance.choice(NODES)
    elif way == "all":
        found["allNodes"] = True
    else:
        found["nodeSelector"] = {"nodeSelectorTerms": _terms(chance)[:1]}


def _device(name: str, chance: Random, *, per_device: bool) -> Json:
    found: Json = {"name": name}
    if per_device:
        _where(chance, found)
    attributes: Json = {
        "model": {"string": chance.choice("ab")},
        "numa": {"int": chance.randrange(2)},
        "ecc": {"bool": True},
        "version": {"version": chance.choice(["1.2.3", "0.1.0-rc.1", "not one"])},
    }
    found["attributes"] = {key: attributes[key] for key in chance.sample(sorted(attributes), chance.randrange(5))}
    if chance.random() < 0.7:
        capacity: Json = {"value": chance.choice(AMOUNTS)}
        if chance.random() < 0.4:
            capacity["requestPolicy"] = {
                "default": "1",
                **chance.choice(
                    [
                        {"validValues": ["1", "2"]},
                        {"validRange": {"min": "1", "max": "4", "step": "1"}},
                        {"validRange": {"min": "0"}},
                    ]
                ),
            }
        found["capacity"] = {"memory": capacity}
    if chance.random() < 0.2:
        found["taints"] = [{"key": "sick", "effect": chance.choice(["NoSchedule", "NoExecute", "None"])}]
    if chance.random() < 0.2:
        found["allowMultipleAllocations"] = True
    if chance.random() < 0.2:
        found["consumesCounters"] = [{"counterSet": chance.choice(["set", "other"]), "counters": _counters(chance)}]
    if chance.random() < 0.1:
        found |= {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"], "bindsToNode": chance.random() < 0.5}
    return found


def _slice(chance: Random) -> Json:
    spec: Json = {
        "driver": chance.choice([DRIVER, DRIVER, "net.example.com"]),
        "pool": {
            "name": chance.choice(POOLS),
            "generation": chance.choice([1, 1, 2]),
            "resourceSliceCount": chance.choice([1, 1, 2]),
        },
    }
    per_device = chance.random() < 0.1
    if per_device:
        spec["perDeviceNodeSelection"] = True
    else:
        _where(chance, spec)
    if chance.random() < 0.15:
        spec["sharedCounters"] = [{"name": "set", "counters": _counters(chance)}]
    else:
        names = [f"gpu-{number}" for number in range(chance.choice([0, 1, 3]))]
        spec["devices"] = [_device(name, chance, per_device=per_device) for name in names]
    return {"metadata": {"name": chance.choice(["s0", "s1", "s2", "s3"])}, "spec": spec}


def _class(chance: Random) -> Json:
    spec: Json = {"selectors": _selectors(chance)}
    if chance.random() < 0.4:
        spec["extendedResourceName"] = chance.choice(["nvidia.com/gpu", "acme.org/fpga"])
    if chance.random() < 0.3:
        spec["config"] = [{"opaque": {"driver": DRIVER, "parameters": {"größe": [1, None]}}}]
    return {"metadata": {"name": chance.choice(CLASSES)}, "spec": spec}


def _asked(chance: Random) -> Json:
    found: Json = {"deviceClassName": chance.choice(CLASSES), "selectors": _selectors(chance)}
    found["allocationMode"] = chance.choice(["ExactCount", "ExactCount", "All", "Later"])
    if found["allocationMode"] == "ExactCount":
        found["count"] = chance.choice([1, 1, 2, 33, 9223372036854775807])
    if chance.random() < 0.3:
        found["tolerations"] = [{"key": "sick", "operator": "Exists"}]
    if chance.random() < 0.3:
        found["capacity"] = {"requests": {chance.choice(["memory", "nothing"]): chance.choice(AMOUNTS)}}
    return found


def _claim(chance: Random) -> Json:
    requests: list[Json] = []
    for number in range(chance.choice([0, 1, 1, 2])):
        how: Json = {"exactly": {**_asked(chance), **({"adminAccess": True} if chance.random() < 0.1 else {})}}
        if chance.random() < 0.2:
            how = {"firstAvailable": [{"name": f"s{sub}", **_asked(chance)} for sub in range(2)]}
        requests.append({"name": f"r{number}", **(how if chance.random() < 0.95 else {})})
    devices: Json = {"requests": requests}
    if chance.random() < 0.3:
        devices["constraints"] = [{chance.choice(["matchAttribute", "distinctAttribute"]): f"{DRIVER}/model", "requests": ["r0"]}]
    if chance.random() < 0.2:
        devices["config"] = [{"opaque": {"driver": DRIVER, "parameters": {}}, "requests": ["r0"]}]
    name = chance.choice([*CLAIMS, "p1-made"])
    meta: Json = {"name": name, "namespace": "ns"}
    if chance.random() < 0.1:
        meta["deletionTimestamp"] = "2026-11-20T00:00:00Z"
    if chance.random() < 0.1:
        meta |= {
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [{"kind": "Pod", "name": "p1", "uid": chance.choice(["p1", "uid-p1"]), "controller": True}],
        }
    found: Json = {"metadata": meta, "spec": {"devices": devices}}
    if chance.random() < 0.3:
        result: Json = {
            "request": "r0",
            "driver": DRIVER,
            "pool": chance.choice(POOLS),
            "device": chance.choice(["gpu-0", "gpu-1", "gone"]),
        }
        if chance.random() < 0.3:
            result |= {"shareID": "x", "consumedCapacity": {"memory": chance.choice(AMOUNTS)}}
        allocation: Json = {"devices": {"results": [result] * chance.choice([0, 1, 2])}}
        if chance.random() < 0.7:
            allocation["nodeSelector"] = {"nodeSelectorTerms": _terms(chance)}
        found["status"] = {"allocation": allocation}
        if chance.random() < 0.5:
            found["status"]["reservedFor"] = [
                {"resource": "pods", "name": "x", "uid": f"u{n}"} for n in range(chance.choice([1, 256]))
            ]
    return found


def add(pod: Json, chance: Random) -> None:
    """Give a pod claims for devices."""
    claims: list[Json] = []
    for at in range(chance.choice([1, 1, 2])):
        way = chance.choice(["named", "named", "named", "made", "made later", "left out", "neither"])
        entry: Json = {"name": f"c{at}"}
        if way == "named":
            entry["resourceClaimName"] = chance.choice(CLAIMS)
        elif way != "neither":
            entry["resourceClaimTemplateName"] = "t"
            if way != "made later":
                made = {"name": entry["name"], **({"resourceClaimName": "p1-made"} if way == "made" else {})}
                pod["status"].setdefault("resourceClaimStatuses", []).append(made)
        claims.append(entry)
    pod["spec"]["resourceClaims"] = claims
