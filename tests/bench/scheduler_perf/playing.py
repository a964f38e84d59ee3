"""Plays the operations of a workload on an API server, as scheduler_perf does."""

import asyncio
import copy
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from bench.scheduler_perf.cases import Case, Json, numbered
from bench.scheduler_perf.schedulers import Running
from cluster.control_plane import ControlPlane
from treadle.kube import auth
from treadle.kube.transport import MERGE, Client

WORKERS = 30
"""Requests at once, as in scheduler_perf."""
LOOK_EVERY = 0.25
COUNT_EVERY = 40.0
"""Seconds between two counts of what is not bound. Where they are the same it counts as never bound: a count costs the API server much."""
CORE = "/api/v1"
PLACES = {
    "Node": f"{CORE}/nodes",
    "Namespace": f"{CORE}/namespaces",
    "PersistentVolume": f"{CORE}/persistentvolumes",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
    "Pod": f"{CORE}/namespaces/{{}}/pods",
    "Service": f"{CORE}/namespaces/{{}}/services",
    "PersistentVolumeClaim": f"{CORE}/namespaces/{{}}/persistentvolumeclaims",
    "ResourceClaim": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates",
}
"""Where objects of a kind are made."""


class Outcome(NamedTuple):
    """What became of the pods that are measured."""

    measured: int
    bound: int
    seconds: float
    cpu_s: float

    @property
    def per_s(self) -> float:
        """Pods bound a second."""
        return self.bound / self.seconds


class Player:
    """Plays one workload for one scheduler."""

    def __init__(self, plane: ControlPlane, scheduler: Running, case: Case) -> None:
        self.plane, self.scheduler, self.case = plane, scheduler, case
        self.outcome = Outcome(0, 0, 0.0, 0.0)
        self._nodes = 0
        self._background: list[asyncio.Task[None]] = []
        self._encode = msgspec.json.Encoder().encode

    async def play(self) -> Outcome:
        """Play all operations in order; returns what was measured."""
        async with Client(auth.load(str(self.plane.kubeconfig)), timeout=120.0) as self.client:
            try:
                for number, operation in enumerate(self.case.operations):
                    await getattr(self, f"_{operation['opcode']}")(operation, f"namespace-{number}")
            finally:
                for task in self._background:
                    task.cancel()
                await asyncio.gather(*self._background, return_exceptions=True)
        return self.outcome

    # -- operations, by their opcodes

    async def _createNodes(self, operation: Json, _: str) -> None:  # noqa: N802 - as the YAML writes it
        node = self.case.template(operation.get("nodeTemplatePath", "../templates/node-default.yaml"))
        labelled = operation.get("labelNodePrepareStrategy", {"labelKey": "", "labelValues": [""]})
        allocatable = operation.get("nodeAllocatableStrategy", {})
        node["status"]["capacity"] |= allocatable.get("nodeAllocatable", {})

        async def make(number: int) -> None:
            mine = numbered(node, number)
            if labelled["labelKey"]:
                values = labelled["labelValues"]
                mine["metadata"].setdefault("labels", {})[labelled["labelKey"]] = values[number % len(values)]
            # With the usual label; for that the name has to be known.
            name = mine["metadata"].setdefault("name", f"{mine['metadata'].pop('generateName', '')}{self._nodes:05d}")
            self._nodes += 1
            mine["metadata"].setdefault("labels", {})["kubernetes.io/hostname"] = name
            await self._create(mine)
            if "csiNodeAllocatable" in allocatable:
                drivers = [
                    {"name": driver, "nodeID": name, "allocatable": limit}
                    for driver, limit in allocatable["csiNodeAllocatable"].items()
                ]
                migrated = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(allocatable.get("migratedPlugins", []))}
                meta = {"name": name, "annotations": migrated}
                await self._create(
                    {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": meta, "spec": {"drivers": drivers}}
                )

        await self._times(self.case.value(operation, "count"), make)

    async def _createNamespaces(self, operation: Json, _: str) -> None:  # noqa: N802
        path = operation.get("namespaceTemplatePath")
        template = self.case.template(path) if path else {"kind": "Namespace", "metadata": {}}

        async def make(number: int) -> None:
            await self._create({**template, "metadata": {**template["metadata"], "name": f"{operation['prefix']}-{number}"}})

        await self._times(self.case.value(operation, "count"), make)

    async def _createPods(self, operation: Json, namespace: str) -> None:  # noqa: N802
        if self.case.value(operation, "steadyState"):
            raise ValueError(f"{self.case.name}: a steady state is not played")
        namespace = operation.get("namespace", namespace)
        await self._namespace(namespace)
        count = self.case.value(operation, "count")
        pod = self._pod(operation.get("podTemplatePath") or self.case.default_pod or "../templates/pod-default.yaml")
        measured, before, start = operation.get("collectMetrics", False), self.scheduler.cpu_s(), time.perf_counter()
        await self._pods(operation, namespace, pod, count)
        if operation.get("skipWaitToCompletion"):
            return
        left, last = await self._bound(namespace)
        if measured:
            cpu = self.scheduler.cpu_s() - before
            self.outcome = Outcome(count, count - left, last - start, cpu)
        elif left:
            raise RuntimeError(f"{self.case.name}: {left} of {count} pods of {namespace} were not bound before what is measured")

    async def _createPodSets(self, operation: Json, _: str) -> None:  # noqa: N802
        for number in range(self.case.value(operation, "count")):
            inner = {**operation["createPodsOp"], "namespace": f"{operation['namespacePrefix']}-{number}"}
            await self._createPods({**inner, "skipWaitToCompletion": True}, "")
        for number in range(self.case.value(operation, "count")):
            await self._bound(f"{operation['namespacePrefix']}-{number}")

    async def _createAny(self, operation: Json, _: str) -> None:  # noqa: N802
        namespace = operation.get("namespace", "")
        if namespace:
            await self._namespace(namespace)
        template = self.case.template(operation["templatePath"])

        async def make(number: int) -> None:
            await self._create(numbered(template, number), namespace)

        await self._times(self.case.value(operation, "count", 1), make)

    async def _createResourceDriver(self, operation: Json, _: str) -> None:  # noqa: N802
        prefix = operation["nodes"].removesuffix("*")
        names = [name for name in await self._names(f"{CORE}/nodes") if name.startswith(prefix)]
        devices = self.case.value(operation, "maxClaimsPerNode")

        async def make(number: int) -> None:
            await self._create(_slice(operation["driverName"], names[number], devices))

        await self._times(len(names), make)

    async def _churn(self, operation: Json, namespace: str) -> None:
        namespace = operation.get("namespace", namespace)
        await self._namespace(namespace)
        self._background.append(asyncio.create_task(self._keep_churning(operation, namespace)))

    async def _barrier(self, operation: Json, _: str) -> None:
        """Pods that may not be tried have been told so by the API server itself."""
        if operation.get("stageRequirement", "Scheduled") == "Scheduled":
            await self._bound("")

    async def _sleep(self, operation: Json, _: str) -> None:
        await asyncio.sleep(float(str(self.case.value(operation, "duration")).removesuffix("s")))

    async def _deletePods(self, operation: Json, _: str) -> None:  # noqa: N802
        self._background.append(asyncio.create_task(self._delete(operation)))
        if not operation.get("skipWaitToCompletion"):
            await self._background[-1]

    # -- parts

    def _pod(self, path: str) -> Json:
        pod = self.case.template(path)
        pod["spec"]["schedulerName"] = self.scheduler.name
        return pod

    async def _pods(self, operation: Json, namespace: str, pod: Json, count: int) -> None:
        path, body = PLACES["Pod"].format(namespace), self._encode(pod)
        unlike = b"{{" in body

        async def alone(number: int) -> None:
            await self._post(path, self._encode(numbered(pod, number)) if unlike else body)

        async def with_volume(number: int) -> None:
            claim = f"pvc-{number}"
            await self._volume(operation, namespace, claim)
            mine = copy.deepcopy(pod)
            mine["spec"]["volumes"] = [{"name": "vol", "persistentVolumeClaim": {"claimName": claim}}]
            await self._post(path, self._encode(mine))

        await self._times(count, with_volume if "persistentVolumeTemplatePath" in operation else alone)

    async def _volume(self, operation: Json, namespace: str, name: str) -> None:
        """Make a claim and a volume that are bound to each other."""
        claim = self.case.template(operation["persistentVolumeClaimTemplatePath"])
        volume = self.case.template(operation["persistentVolumeTemplatePath"])
        volume_name = f"{namespace}-pv-{name}"
        claim["metadata"]["name"], claim["spec"]["volumeName"] = name, volume_name
        volume["metadata"] = {"name": volume_name}
        if "csi" in volume["spec"]:
            volume["spec"]["csi"]["volumeHandle"] = volume_name
        elif "awsElasticBlockStore" in volume["spec"]:
            volume["spec"]["awsElasticBlockStore"]["volumeID"] = volume_name
        reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
        volume["spec"]["claimRef"] = reference
        await self._create(claim, namespace)
        await self._create(volume)
        for path in (
            f"{PLACES['PersistentVolumeClaim'].format(namespace)}/{name}",
            f"{PLACES['PersistentVolume']}/{volume_name}",
        ):
            status = {"status": {"phase": "Bound"}}
            await self.client.request("PATCH", f"{path}/status", status, content_type=MERGE)

    async def _keep_churning(self, operation: Json, namespace: str) -> None:
        templates = [self.case.template(path) for path in operation["templatePaths"]]
        for one in templates:
            if one["kind"] == "Pod":
                one["spec"]["schedulerName"] = self.scheduler.name
        made: list[tuple[str, str]] = []
        rounds, again = 0, operation["mode"] == "recreate"
        while True:
            await asyncio.sleep(operation.get("intervalMilliseconds", 500) / 1000)
            if again and rounds == operation["number"]:
                for path, name in made:
                    await self.client.request("DELETE", f"{path}/{name}")
                made, rounds = [], 0
                continue
            if not again and operation.get("number") and rounds == operation["number"]:
                return
            for one in templates:
                found = await self._create(one, namespace)
                made.append((PLACES[one["kind"]].format(namespace), found["metadata"]["name"]))
            rounds += 1

    async def _delete(self, operation: Json) -> None:
        path = PLACES["Pod"].format(operation["namespace"])
        rate = operation.get("deletePodsPerSecond", 0)
        for name in await self._names(path):
            await self.client.request("DELETE", f"{path}/{name}")
            if rate:
                await asyncio.sleep(1 / rate)

    async def _bound(self, namespace: str) -> tuple[int, float]:
        """Wait until all pods of a namespace are bound; returns how many are not when nothing moves any more, and when something last did."""
        path = PLACES["Pod"].format(namespace) if namespace else f"{CORE}/pods"
        unbound = {"fieldSelector": "spec.nodeName=,status.phase=Pending"}
        left, moved = -1, time.perf_counter()
        counted = moved
        while True:
            found = (await self.client.request("GET", path, params={**unbound, "limit": "1"})).json()
            now = time.perf_counter()
            if not found["items"]:
                return 0, now
            if now > counted + COUNT_EVERY:
                counted = now
                before, left = left, len((await self.client.request("GET", path, params=unbound)).json()["items"])
                if left == before:
                    return left, moved
                moved = now
            await asyncio.sleep(LOOK_EVERY)

    async def _namespace(self, name: str) -> None:
        await self.client.request("POST", PLACES["Namespace"], {"metadata": {"name": name}})

    async def _names(self, path: str) -> list[str]:
        return [one["metadata"]["name"] for one in (await self.client.request("GET", path)).json()["items"]]

    async def _create(self, body: Json, namespace: str = "") -> Json:
        found: Json = msgspec.json.decode(await self._post(PLACES[body["kind"]].format(namespace), self._encode(body)))
        return found

    async def _post(self, path: str, body: bytes) -> bytes:
        answer = await self.client.request("POST", path, body, pool="bind")
        if answer.status >= 300:
            raise RuntimeError(f"POST {path}: {answer.error()}")
        return answer.body

    async def _times(self, count: int, make: Callable[[int], Awaitable[Any]]) -> None:
        numbers = iter(range(count))

        async def work() -> None:
            for number in numbers:
                await make(number)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(WORKERS, count)):
                group.create_task(work())


def _slice(driver: str, node: str, devices: int) -> Json:
    """A slice with as many devices as scheduler_perf's own driver publishes for a node."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"instance-{number}",
                    "attributes": {
                        "model": {"string": "A100"},
                        "family": {"string": "GPU"},
                        "driverVersion": {"version": "1.2.3"},
                        "dra.example.com/numa": {"int": number},
                    },
                    "capacity": {"memory": {"value": "1Gi"}},
                }
                for number in range(devices)
            ],
        },
    }
