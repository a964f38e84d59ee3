"""Devices, claims for them and pods that have claims, as objects of the API, and what is read from them."""

from __future__ import annotations

from typing import Any

from cluster.control_plane import ControlPlane
from cluster.treadle_process import pod

Json = dict[str, Any]
DRIVER = "gpu.example.com"
PODS = "/api/v1/namespaces/default/pods"
DEVICES = "/apis/resource.k8s.io/v1"
CLAIMS = f"{DEVICES}/namespaces/default/resourceclaims"
TEMPLATES = f"{DEVICES}/namespaces/default/resourceclaimtemplates"
PROTECTION = "resource.kubernetes.io/delete-protection"


def gpu(name: str, model: str = "a100", memory: str = "40Gi", **fields: Any) -> Json:
    attributes = {"model": {"string": model}, "driverVersion": {"version": "2.1.0"}}
    return {"name": name, "attributes": attributes, "capacity": {"memory": {"value": memory}}, **fields}


def slice_of(node: str, *devices: Json, generation: int = 1) -> Json:
    pool = {"name": node, "generation": generation, "resourceSliceCount": 1}
    return {
        "metadata": {"name": f"slice-{node}"},
        "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": [*devices]},
    }


def device_class(name: str, *expressions: str, **fields: Any) -> Json:
    return {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": one}} for one in expressions], **fields}}


def request(name: str = "gpus", of: str = "gpu", **fields: Any) -> Json:
    return {"name": name, "exactly": {"deviceClassName": of, **fields}}


def claim(name: str, *requests: Json, **fields: Any) -> Json:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"devices": {"requests": [*requests], **fields}}}


def with_claims(name: str, *claims: str, template: str = "", **spec: Any) -> Json:
    entries: list[Json] = [{"name": f"c{at}", "resourceClaimName": one} for at, one in enumerate(claims)]
    if template:
        entries.append({"name": "made", "resourceClaimTemplateName": template})
    return pod(name, application="app", cpu="100m", memory="64Mi", resourceClaims=entries, **spec)


def create(plane: ControlPlane, path: str, *objects: Json) -> None:
    for one in objects:
        status, answer = plane.api("POST", path, one)
        assert status == 201, answer


def get(plane: ControlPlane, path: str) -> Json:
    answer: Json = plane.api("GET", path)[1]
    return answer


def node_of(plane: ControlPlane, name: str) -> str:
    node: str = get(plane, f"{PODS}/{name}").get("spec", {}).get("nodeName", "")
    return node


def told(plane: ControlPlane, name: str) -> tuple[str, str]:
    conditions = get(plane, f"{PODS}/{name}")["status"].get("conditions", [])
    return next(
        ((one["reason"], one["message"]) for one in conditions if one["type"] == "PodScheduled" and "reason" in one), ("", "")
    )


def devices_of(found: Json) -> list[str]:
    results = found.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
    return [f"{one['pool']}/{one['device']}" for one in results]


def holders(found: Json) -> list[str]:
    return sorted(one["name"] for one in found.get("status", {}).get("reservedFor", []))
