"""Objects of storage by chance, as the API server takes them, and volumes of pods: names come from small pools, so that they meet."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz import pod_groups

Json = dict[str, Any]
CLAIMS, VOLUMES, CLASSES = ("c0", "c1", "c2", "c3"), ("v0", "v1", "v2"), ("wait", "now", "local", "")
SIZES = ("1Gi", "1Gi", "5Gi", "0", "1E", "9223372036854775808", "1e30", "100m", "12E")
MODES = ("ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod", "ReadOnlyMany")
NODES = ("n0", "n1", "n2")
SELECTED = "volume.kubernetes.io/selected-node"
KINDS = (
    "persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments",
)  # fmt: skip


def _terms(chance: Random) -> list[Json]:
    def one() -> Json:
        operator = chance.choice(["In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
        found: Json = {"key": chance.choice(["zone", "kubernetes.io/hostname", "gpu"]), "operator": operator}
        if operator in {"In", "NotIn"}:
            found["values"] = chance.sample(["a", "b", "n0", "n1"], chance.choice([1, 2]))
        elif operator in {"Gt", "Lt"}:
            found["values"] = [chance.choice(["3", "garbage"])]
        return found

    terms: list[Json] = []
    for _ in range(chance.choice([1, 1, 2])):
        term: Json = {"matchExpressions": [one() for _ in range(chance.choice([0, 1, 1, 2]))]}
        if chance.random() < 0.1:
            term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": [chance.choice(NODES)]}]
        terms.append(term)
    return terms


def thing(kind: str, chance: Random) -> Json:
    """An object of a kind, named by its plural."""
    make = {
        "persistentvolumeclaims": _claim,
        "persistentvolumes": _volume,
        "storageclasses": _class,
        "csinodes": _csi_node,
        "csidrivers": lambda chance: {
            "metadata": {"name": "csi"},
            "spec": {"storageCapacity": chance.choice([True, False, None])},
        },
        "csistoragecapacities": _capacity,
        "volumeattachments": lambda chance: {
            "metadata": {"name": chance.choice(["a0", "a1"])},
            "spec": {
                "attacher": "csi",
                "nodeName": chance.choice(NODES),
                "source": chance.choice([{"persistentVolumeName": chance.choice(VOLUMES)}, {}]),
            },
        },
    }
    return make[kind](chance)


def _claim(chance: Random) -> Json:
    name = chance.choice([*CLAIMS, "p1-v"])
    spec: Json = {"accessModes": [chance.choice(MODES)], "storageClassName": chance.choice(CLASSES)}
    meta: Json = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}-{chance.randrange(3)}",
        "resourceVersion": str(chance.randrange(1, 9999)),
    }
    if chance.random() < 0.9:
        spec["resources"] = {"requests": {"storage": chance.choice(SIZES)}}
    if chance.random() < 0.4:
        spec["volumeName"] = chance.choice(VOLUMES)
        if chance.random() < 0.8:
            meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    elif chance.random() < 0.3:
        meta["annotations"] = {SELECTED: chance.choice([*NODES, "unheard-of", ""])}
    if chance.random() < 0.1:
        meta["deletionTimestamp"] = "2026-11-20T00:00:00Z"
    if chance.random() < 0.1:
        spec["selector"] = chance.choice([{}, {"matchLabels": {"tier": "gold"}}])
    if chance.random() < 0.1:
        spec["volumeMode"] = "Block"
    return {"metadata": meta, "spec": spec, "status": {"phase": chance.choice(["Pending", "Bound", "Lost"])}}


def _volume(chance: Random) -> Json:
    spec: Json = {
        "accessModes": list(chance.sample(MODES, 2)),
        "storageClassName": chance.choice(CLASSES),
        "capacity": {"storage": chance.choice(SIZES)},
    }
    meta: Json = {"name": chance.choice(VOLUMES), "resourceVersion": str(chance.randrange(1, 9999))}
    if chance.random() < 0.5:
        spec["nodeAffinity"] = chance.choice([{"required": {"nodeSelectorTerms": _terms(chance)}}, {}])
    if chance.random() < 0.4:
        claim = chance.choice(CLAIMS)
        spec["claimRef"] = {"namespace": "ns", "name": claim, **({"uid": f"uid-{claim}-0"} if chance.random() < 0.5 else {})}
    spec.update(
        chance.choice(
            [
                {"csi": {"driver": "csi", "volumeHandle": chance.choice(["h", "i"])}},
                {"awsElasticBlockStore": {"volumeID": "x"}},
                {"local": {"path": "/"}},
            ]
        )
    )
    if chance.random() < 0.3:
        meta["labels"] = {"topology.kubernetes.io/zone": chance.choice(["a", "a__b", "__", ""]), "tier": "gold"}
    return {
        "metadata": meta,
        "spec": spec,
        "status": {"phase": chance.choice(["Available", "Available", "Bound", "Released", "Failed"])},
    }


def _class(chance: Random) -> Json:
    name = chance.choice(["wait", "now", "local"])
    provisioner = "kubernetes.io/no-provisioner" if name == "local" else chance.choice(["csi", "kubernetes.io/aws-ebs"])
    found: Json = {
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": chance.choice(["WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate"]),
    }
    if chance.random() < 0.3:
        found["allowedTopologies"] = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
    return found


def _csi_node(chance: Random) -> Json:
    drivers = [
        {
            "name": "csi",
            "nodeID": "x",
            **chance.choice([{}, {"allocatable": {"count": chance.choice([0, 1, 3, 2**31 - 1])}}, {"allocatable": {}}]),
        }
    ]
    return {
        "metadata": {
            "name": chance.choice(NODES),
            "annotations": chance.choice([{}, {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs,"}]),
        },
        "spec": {"drivers": drivers},
    }


def _capacity(chance: Random) -> Json:
    found: Json = {
        "metadata": {"name": chance.choice(["k0", "k1"]), "namespace": "ns"},
        "storageClassName": chance.choice(CLASSES[:3]),
    }
    if chance.random() < 0.8:
        found["nodeTopology"] = chance.choice(
            [{}, {"matchLabels": {"zone": "a"}}, {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
        )
    if chance.random() < 0.8:
        found["capacity"] = chance.choice(SIZES)
    if chance.random() < 0.2:
        found["maximumVolumeSize"] = chance.choice(SIZES)
    return found


def add(pod: Json, chance: Random) -> None:
    """Give a pod volumes, or a gang."""
    if chance.random() < 0.6:
        pod_groups.add(pod, chance)
        return
    found: list[Json] = []
    for at in range(chance.choice([1, 1, 2])):
        source: Json = chance.choice(
            [
                *[{"persistentVolumeClaim": {"claimName": name}} for name in CLAIMS],
                {"ephemeral": {}},
                {"iscsi": {"iqn": "a", "readOnly": chance.random() < 0.5}},
                {"rbd": {"monitors": ["m", "n"], "image": "i"}},
                {"awsElasticBlockStore": {"volumeID": "x"}},
                {"gcePersistentDisk": {"pdName": "x", "readOnly": True}},
            ]
        )
        found.append({"name": f"v{at}" if at else "v", **source})
    pod["spec"]["volumes"] = found
