"""Pods, nodes and namespaces as the API server would have them: ordinary ones, and such as nobody would write and the server takes all the same."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz import devices, pod_rules, storage
from fuzz.schema import LEAVES, PARTITIONS, PROFILES, QUANTITIES, QUEUES, USERS, Style

Json = dict[str, Any]

NODES = ["n0", "n1", "n2", "n3"]
NAMESPACES = ["ns", "other"]
TYPES = ["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi", "acme.org/fpga", "example.com/a-b_c.d"]
ZONES = ["a", "b", ""]
KEYS = ["zone", "treadle.dev/partition", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "size", "acme.org/x"]
NUMBERS = ["1", "5", "-3", "007", "9223372036854775807", "99999999999999999999", "a", "", "1.5", "+2"]
FEATURES = ["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"]
IMAGES = ["none", "none:latest", "registry.example/app:1", "registry.example/app@sha256:1", ""]
OVER_ALLOCATIONS = (
    "maximumPercent=0",
    "maximumPercent=1000",
    "cpu.allocationPercent=0,cpu.preemptionPercent=100",
    "pressure.cpu.of=Full,pressure.cpu.allocationPercent=0,pressure.cpu.preemptionPercent=0",
    "gpu=1",
    "",
    "x" * 2000,
)
PRESSURES = (
    "memory.some=12.5,cpu.full=100,at=1970-01-01T00:00:05Z",
    "memory.some=0,at=9999-12-31T23:59:59Z",
    "at=x",
    "",
    "x" * 300,
)
HEADROOMS = ["cpu=1,memory=1Gi", "cpu=1", "pods=100", "cpu=x", "", "=", "cpu=1,cpu=2", "made.org/n=1", "memory=-1", "x" * 500]
_POD_QUANTITIES = [text for text in QUANTITIES if not text.startswith("-")]


def chosen(chance: Random, usual: list[Any], odd: list[Any], style: Style) -> Any:
    return chance.choice(odd if chance.random() < style.odd else usual)


def node(name: str, chance: Random, style: Style) -> Json:
    allocatable = {
        "cpu": chosen(chance, ["2", "4", "8"], QUANTITIES, style),
        "memory": chosen(chance, ["64Gi", "8Gi"], QUANTITIES, style),
    }
    allocatable["pods"] = chosen(chance, ["110", "110", "20"], ["0", "1", "1k"], style)
    for other in chance.sample(TYPES[2:], chance.choice([0, 0, 1, 2])):
        allocatable[other] = chosen(chance, ["2", "8", "1Gi"], QUANTITIES, style)
    if chance.random() < style.odd / 8:
        for _ in range(chance.choice([3, 70])):
            allocatable[f"made.org/n{chance.randint(0, 200)}"] = "1"
    for absent in list(allocatable):
        if chance.random() < style.odd / 8:
            del allocatable[absent]
    labels = {"kubernetes.io/hostname": name}
    for key in KEYS:
        if chance.random() < (0.08 if style.busy else 0.25):
            labels[key] = chance.choice([*PARTITIONS[:2], *ZONES, "5", name])
    taints = [
        {
            "key": chance.choice(["gpu", "t"]),
            "value": chance.choice(["", "yes"]),
            "effect": chance.choice(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
        }
        for _ in range(0 if style.busy else chance.choice([0] * 8 + [1, 2]))
    ]
    status: Json = {"allocatable": allocatable}
    if chance.random() < 0.3:
        status["declaredFeatures"] = chance.sample([*FEATURES, "SomethingElse"], chance.choice([1, 2, 3]))
    if chance.random() < 0.5:
        status["images"] = [
            {"names": chance.sample(IMAGES, chance.choice([0, 1, 2])), "sizeBytes": chance.choice([0, 5 << 20, 500 << 20, 2**62])}
            for _ in range(chance.choice([1, 2, 5]))
        ]
    meta: Json = {"name": name, "uid": f"uid-{name}", "labels": labels}
    if chance.random() < 0.15:
        meta["annotations"] = {"treadle.dev/headroom": chance.choice(HEADROOMS)}
    if chance.random() < 0.15:
        meta.setdefault("annotations", {})["treadle.dev/over-allocation"] = chance.choice(OVER_ALLOCATIONS)
    if chance.random() < 0.15:
        meta.setdefault("annotations", {})["treadle.dev/pressure"] = chance.choice(PRESSURES)
    spec: Json = {}
    if taints:
        spec["taints"] = taints
    if chance.random() < 0.05:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": status,
    }  # fmt: skip


def namespace(name: str, chance: Random) -> Json:
    labels = {"treadle.dev/queue": chance.choice([*QUEUES, "nowhere"])} if chance.random() < 0.5 else {}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels}}


def pod(uid: str, chance: Random, style: Style) -> Json:
    """Return a pod. Those of one application are often alike."""
    if style.busy and chance.random() < 0.8:
        return _plain(uid, chance)
    meta: Json = {"name": uid, "namespace": chosen(chance, ["ns"], NAMESPACES, style), "uid": uid, "resourceVersion": "1"}
    if chance.random() < 0.9:
        meta["creationTimestamp"] = (
            f"2026-11-{chance.randint(1, 28):02}T{chance.randint(0, 23):02}:00:{chance.randint(0, 59):02}Z"
        )
    labels, notes = _names(chance, style)
    if labels or chance.random() < 0.5:
        meta["labels"] = labels
    if notes:
        meta["annotations"] = notes
    if chance.random() < 0.2:
        kind = chance.choice(["Job", "ReplicaSet", "DaemonSet", "PyTorchJob"])
        meta["ownerReferences"] = [
            {
                "kind": kind,
                "name": chance.choice(["j", "k"]),
                "uid": "u",
                "controller": chance.choice([True, False]),
                "apiVersion": "x/v1",
            }
        ]
    if chance.random() < 0.02:
        meta["deletionTimestamp"] = "2026-11-20T00:00:00Z"
    spec: Json = {
        "schedulerName": chosen(chance, ["treadle"], ["treadle", "default-scheduler", "spark", "other", "yunikorn"], style),
        "containers": [_container(f"c{at}", chance, style) for at in range(chosen(chance, [1, 1, 1, 2], [1, 1, 3, 12], style))],
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
    }
    if chance.random() < 0.15:
        spec["initContainers"] = [
            {**_container(f"i{at}", chance, style), **({"restartPolicy": "Always"} if chance.random() < 0.5 else {})}
            for at in range(chance.choice([1, 2, 4]))
        ]
    if chance.random() < style.odd / 4:
        spec["overhead"] = _requests(chance, style)
    if chance.random() < style.odd / 4:
        spec["resources"] = {
            "requests": {
                key: value for key, value in _requests(chance, style).items() if key in {"cpu", "memory", "hugepages-2Mi"}
            }
        }
    priority = chosen(chance, [None, 0], [None, 5, -5, 2**31 - 1, -(2**31), 2_000_000_000], style)
    if priority is not None:
        spec["priority"] = priority
    if chance.random() < 0.04:
        spec["nodeSelector"] = {chance.choice(KEYS): chance.choice([*ZONES, "gpu", "n1"])}
    if chance.random() < 0.25:
        spec["tolerations"] = [_toleration(chance) for _ in range(chance.choice([1, 2]))]
    if chance.random() < 0.07:
        spec["affinity"] = _affinity(chance)
    if chance.random() < 0.04:
        spec["schedulingGates"] = [{"name": "acme.org/wait"}]
    if chance.random() < style.odd / 8:
        spec["volumes"] = [{"name": "v", chance.choice(["persistentVolumeClaim", "emptyDir", "rbd"]): {}}]
    if chance.random() < 0.08:
        spec["nodeName"] = chosen(chance, NODES, [*NODES, "unheard-of"], style)
        if notes is not None and chance.random() < 0.7:
            notes["treadle.dev/allocated-queue"] = chance.choice([*LEAVES, "root.made.up", "root..", "x", "root.b.x.made.deep"])
            meta["annotations"] = notes
    if chance.random() < 0.03:
        spec["hostNetwork"] = True
        spec["hostUsers"] = chance.choice([True, False])
    status: Json = {"phase": "Running" if "nodeName" in spec and chance.random() < 0.8 else "Pending"}
    if chance.random() < 0.02:
        status["phase"] = chance.choice(["Succeeded", "Failed"])
        if chance.random() < 0.5:
            status["reason"] = chance.choice(["OutOfcpu", "OutOf", "NodeAffinity", "Evicted", "größer" * 300])
            status["message"] = chance.choice(["", "Pod was rejected: no room", "x" * 5000])
    if "nodeName" not in spec and chance.random() < 0.08:
        status["nominatedNodeName"] = chance.choice([*NODES, "unheard-of"])
    if "nodeName" not in spec and chance.random() < 0.1:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "x"}]
    found: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}
    if chance.random() < 0.15:
        pod_rules.add(found, chance)
    if chance.random() < 0.15:
        storage.add(found, chance)
    if chance.random() < 0.15:
        devices.add(found, chance)
    return found


def _plain(uid: str, chance: Random) -> Json:
    labels = {"treadle.dev/queue": chance.choice(LEAVES), "treadle.dev/application": f"app{chance.randrange(8)}"}
    if chance.random() < 0.1:
        labels["treadle.dev/role"] = "master"
    if chance.random() < 0.1:
        labels["treadle.dev/partition"] = "gpu"
    requests = {"cpu": chance.choice(["1", "500m", "2"]), "memory": chance.choice(["1Gi", "2Gi"])}
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": uid, "namespace": "ns", "uid": uid, "labels": labels, "annotations": {"treadle.dev/user": chance.choice(["ann", "bob"])}},
        "spec": {
            "schedulerName": "treadle", "priority": chance.choice([0, 0, 5]),
            "containers": [{"name": "c0", "image": "none", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Pending"},
    }  # fmt: skip


def _names(chance: Random, style: Style) -> tuple[dict[str, str], dict[str, str]]:
    labels: dict[str, str] = {}
    notes: dict[str, str] = {}
    if chance.random() < 0.7:
        labels["treadle.dev/queue"] = chosen(
            chance,
            LEAVES,
            [*QUEUES, "nowhere", "default", "root.users.bob", "root.users.new.bob", "a", "root.b.x.p.q", "A_b"],
            style,
        )
    if chance.random() < 0.7:
        labels["treadle.dev/application"] = chance.choice(["app0", "app1", "app2", "app3", "app4", "app5"])
    if chance.random() < 0.15:
        labels["treadle.dev/role"] = chosen(chance, ["master"], ["worker", "boss", ""], style)
    if chance.random() < 0.1:
        labels["treadle.dev/partition"] = chance.choice([*PARTITIONS, "none"])
    if chance.random() < 0.1:
        notes["treadle.dev/resource-profile"] = chosen(chance, PROFILES, ["none", "", "X" * 300], style)
    if chance.random() < 0.4:
        notes["treadle.dev/user"] = chosen(chance, ["ann", "bob"], [*USERS, "u" * 300, "日" * 200, " ", "a.b.c", "é"], style)
    if chance.random() < 0.2:
        notes["treadle.dev/groups"] = chosen(chance, ["dev,ops"], ["", ",", " a , b", "é"], style)
    if chance.random() < 0.1:
        notes["treadle.dev/locality-nodes"] = chosen(chance, ["n0", "n0,n1"], ["", "nowhere", ",,"], style)
        if chance.random() < 0.5:
            notes["treadle.dev/locality-racks"] = chosen(chance, ["a", "b"], ["", "zz"], style)
        if chance.random() < 0.4:
            notes["treadle.dev/relax-locality"] = chosen(chance, ["true", "false"], ["", "no"], style)
    if chance.random() < style.odd:
        where = chance.choice([labels, notes])
        key, values = chance.choice(
            [
                ("yunikorn.apache.org/queue", ["root.a", "root.default", "ROOT"]),
                ("yunikorn.apache.org/app-id", ["app1", "x-uniqueautogen"]),
                (
                    "yunikorn.apache.org/user.info",
                    ['{"user":"ann","groups":["dev"]}', "{", "[]", '{"user":1}', '{"user":"x","groups":[1,"g"]}'],
                ),
                ("kueue.x-k8s.io/queue-name", ["a", "root.a"]),
                ("scheduling.volcano.sh/queue-name", ["default", "b"]),
                ("spark-role", ["driver", "executor", "x"]),
                ("spark-app-selector", ["spark-1"]),
                ("component", ["jobmanager", "taskmanager"]),
                ("ray.io/node-type", ["head", "worker"]),
                ("ray.io/cluster", ["r"]),
                ("job-name", ["j"]),
                ("treadle.dev/gang", ["g"]),
                ("treadle.dev/execution-type", ["guaranteed", "Opportunistic", "opportunistic", "neither", ""]),
                ("treadle.dev/demand", ["c0 cpu=1 memory=1Gi", "c0 memory=4Ei", "c0 memory=0;other cpu=1", "c0", ";"]),
            ]
        )
        where[key] = chance.choice(values)
    if chance.random() < style.odd / 10:
        notes["big"] = "x" * chance.choice([100, 262000])
    return labels, notes


def _requests(chance: Random, style: Style) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if chance.random() < 0.95:
        found["cpu"] = chosen(chance, ["1", "2", "500m"], _POD_QUANTITIES, style)
    if chance.random() < 0.95:
        found["memory"] = chosen(chance, ["1Gi", "2Gi", "512Mi"], _POD_QUANTITIES, style)
    if chance.random() < 0.15:
        found[chance.choice(TYPES)] = chosen(chance, ["1", "2"], _POD_QUANTITIES, style)
    if chance.random() < style.odd / 10:
        for _ in range(chance.choice([1, 40])):
            found[f"new.org/t{chance.randint(0, 99)}"] = "1"
    return found


def _container(name: str, chance: Random, style: Style) -> Json:
    found: Json = {"name": name, "image": chance.choice(IMAGES[:4])}
    if chance.random() < 0.03:
        found["restartPolicyRules"] = [{"action": chance.choice(["RestartAllContainers", "Restart"])}]
    if chance.random() < 0.95:
        found["resources"] = {"requests": _requests(chance, style)}
    if chance.random() < 0.08:
        found["resources"] = {"requests": {"cpu": "0", "memory": "0"}, "limits": _requests(chance, style)}
    if chance.random() < 0.08:
        found["ports"] = [
            {
                "containerPort": 80,
                "hostPort": chance.choice([80, 81]),
                "protocol": chance.choice(["TCP", "UDP"]),
                **chance.choice([{}, {"hostIP": "10.0.0.1"}, {"hostIP": "0.0.0.0"}]),
            }
            for _ in range(chance.choice([1, 1, 2]))
        ]
    return found


def _toleration(chance: Random) -> Json:
    operator = chance.choice(["Exists", "Equal", None, "Lt", "Gt"])
    found: Json = {} if operator is None else {"operator": operator}
    if operator != "Exists" or chance.random() < 0.7:
        found["key"] = chance.choice(["gpu", "t"])
    if operator != "Exists":
        found["value"] = chance.choice(["", "yes", "5"])
    if chance.random() < 0.5:
        found["effect"] = chance.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"])
    return found


def _expression(chance: Random) -> Json:
    operator = chance.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    found: Json = {"key": chance.choice(KEYS), "operator": operator}
    if operator in {"In", "NotIn"}:
        found["values"] = chance.sample(["a", "b", "", "gpu", "5", "n0"], chance.choice([1, 2]))
    elif operator in {"Gt", "Lt"}:
        found["values"] = [chance.choice(NUMBERS)]
    return found


def _term(chance: Random) -> Json:
    found: Json = {}
    if chance.random() < 0.8:
        found["matchExpressions"] = [_expression(chance) for _ in range(chance.choice([0, 1, 1, 2]))]
    if chance.random() < 0.3:
        found["matchFields"] = [
            {"key": "metadata.name", "operator": chance.choice(["In", "NotIn"]), "values": [chance.choice([*NODES, "none"])]}
        ]
    return found


def _affinity(chance: Random) -> Json:
    node: Json = {}
    if chance.random() < 0.6:
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [_term(chance) for _ in range(chance.choice([1, 1, 2]))]
        }
    if chance.random() < 0.5:
        node["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": chance.choice([1, 50, 100]), "preference": _term(chance)} for _ in range(chance.choice([1, 2]))
        ]
    return {"nodeAffinity": node}
