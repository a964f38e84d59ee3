"""Claims, volumes and pods that have them, as objects of the API, and a small provisioner."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cluster.control_plane import ControlPlane
from cluster.treadle_process import pod

Json = dict[str, Any]
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SELECTED = "volume.kubernetes.io/selected-node"
DRIVER = "csi.test"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
STORAGE = "/apis/storage.k8s.io/v1"


def storage_class(name: str, provisioner: str = DRIVER, binding: str = "WaitForFirstConsumer", **fields: Any) -> Json:
    return {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": binding, **fields}


def claim(name: str, of: str, size: str = "1Gi", mode: str = "ReadWriteOnce") -> Json:
    spec = {"storageClassName": of, "accessModes": [mode], "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def on_nodes(key: str, *values: str) -> Json:
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]}}


def volume(name: str, of: str, affinity: Json, size: str = "1Gi", **fields: Any) -> Json:
    spec = {"storageClassName": of, "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "nodeAffinity": affinity}
    return {"metadata": {"name": name}, "spec": {**spec, **(fields or {"local": {"path": f"/mnt/{name}"}})}}


def with_claims(name: str, *claims: str, **spec: Any) -> Json:
    volumes = [{"name": f"v{at}", "persistentVolumeClaim": {"claimName": one}} for at, one in enumerate(claims)]
    return pod(name, application="app", cpu="100m", memory="64Mi", volumes=volumes, **spec)


def create(plane: ControlPlane, path: str, *objects: Json) -> None:
    for one in objects:
        status, answer = plane.api("POST", path, one)
        assert status == 201, answer


def told(plane: ControlPlane, name: str) -> tuple[str, str]:
    conditions = plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")[1]["status"].get("conditions", [])
    return next(
        ((one["reason"], one["message"]) for one in conditions if one["type"] == "PodScheduled" and "reason" in one), ("", "")
    )


def node_of(plane: ControlPlane, name: str) -> str:
    return plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")[1].get("spec", {}).get("nodeName", "")


class Provisioner:
    """Makes a volume for each claim with a node, as external-provisioner does; claims named ``hopeless…`` are given back once."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.given_back: set[str] = set()
        self.made = 0

    def look(self) -> None:
        for one in self._plane.api("GET", CLAIMS)[1]["items"]:
            meta, spec = one["metadata"], one["spec"]
            node = meta.get("annotations", {}).get(SELECTED)
            if node is None or spec.get("volumeName"):
                continue
            name = meta["name"]
            if name.startswith("hopeless") and name not in self.given_back:
                patch = {"metadata": {"annotations": {SELECTED: None}, "resourceVersion": meta["resourceVersion"]}}
                status, _ = self._plane.api("PATCH", f"{CLAIMS}/{name}", patch, content_type="application/merge-patch+json")
                if status == 200:
                    self.given_back.add(name)
                continue
            made = volume(
                f"pvc-{meta['uid']}",
                spec["storageClassName"],
                on_nodes(HOST, node),
                spec["resources"]["requests"]["storage"],
                csi={"driver": DRIVER, "volumeHandle": meta["uid"]},
            )
            made["spec"]["accessModes"] = spec["accessModes"]
            made["spec"]["claimRef"] = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": "default",
                "name": name,
                "uid": meta["uid"],
            }
            made["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": DRIVER}
            self.made += self._plane.api("POST", VOLUMES, made)[0] == 201

    @contextmanager
    def running(self) -> Iterator[None]:
        over = threading.Event()

        def run() -> None:
            while not over.is_set():
                self.look()
                over.wait(0.2)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
