"""Treadle beside kube-scheduler on one API server: to random clusters both say the same of which nodes a pod may go to.

An extender records what kube-scheduler's filters let through, and lets nothing through itself, so that kube-scheduler decides nothing. ``TREADLE_BESIDE_CASES`` (24) says
how many clusters are tried; the cases are those of the conformance tests but for claims of volumes, which need a provisioner.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cluster.control_plane import ControlPlane
from cluster.treadle_process import Treadle, eventually

Json = dict[str, Any]
CASES = Path(__file__).resolve().parents[1] / "conformance" / "cases"
SUITES = ("node_affinity", "taints", "resources", "host_ports", "pod_affinity", "topology_spread", "devices", "mixed")
COUNT = int(os.environ.get("TREADLE_BESIDE_CASES", "24"))
DEVICES = "/apis/resource.k8s.io/v1"
KINDS = {
    "nodes": "/api/v1/nodes",
    "deviceclasses": f"{DEVICES}/deviceclasses",
    "resourceslices": f"{DEVICES}/resourceslices",
    "resourceclaims": f"{DEVICES}/namespaces/{{}}/resourceclaims",
    "pods": "/api/v1/namespaces/{}/pods",
}
"""Where the objects of a case go, in the order in which they are made."""
NEEDS_MORE = ("pvcs", "pvs", "storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments")
MERGE = "application/merge-patch+json"
ARGUMENTS = ("--disable-admission-plugins=RuntimeClass",)
"""Pods of some cases have an overhead, and there are no runtime classes."""
CALM = "calm"
"""The priority class of a pod that preempts none."""


class Extender:
    """Records the nodes that are passed to it, by the uid of the pod."""

    def __init__(self) -> None:
        self.passed: dict[str, set[str]] = {}
        extender = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                names = asked.get("NodeNames") or []
                extender.passed[asked["Pod"]["metadata"]["uid"]] = set(names)
                body = json.dumps({"NodeNames": [], "FailedNodes": dict.fromkeys(names, "recorded")}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def configuration(self) -> Json:
        url = f"http://127.0.0.1:{self.server.server_address[1]}"
        return {
            "percentageOfNodesToScore": 100,
            "extenders": [{"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True, "weight": 1}],
        }


def is_asked(given: Json) -> bool:
    """Whether kube-scheduler looks at the pod of a case: one whose claims are not there it does not even take up."""
    claims = {one["metadata"]["name"] for one in given.get("resourceclaims", ())}
    named = {one.get("resourceClaimName") for one in given["pod"]["spec"].get("resourceClaims", ())}
    return named <= claims and not any(given.get(kind) for kind in NEEDS_MORE)


def cases() -> list[tuple[str, Json]]:
    """Cases of all suites in turn."""
    found = []
    for suite in SUITES:
        known = json.loads((CASES / f"filters_{suite}.json").read_text())
        found.append([(suite, case) for case in known if is_asked(case["input"])])
    turns = [case for row in zip(*found, strict=False) for case in row]
    return turns[:COUNT]


def as_written(part: Any) -> Any:
    """Return a part of an object without label keys that the API server has merged into selectors already."""
    if isinstance(part, list):
        return [as_written(one) for one in part]
    if isinstance(part, dict):
        return {key: as_written(one) for key, one in part.items() if key not in {"matchLabelKeys", "mismatchLabelKeys"}}
    return part


class Place:
    """The API server of the test, with the objects of one case at a time."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    def create(self, path: str, body: Json) -> Json:
        status, answer = self.plane.api("POST", path, body)
        assert status == 201, f"{path} {body['metadata'].get('name')}: {answer.get('message')}"
        return answer

    @contextmanager
    def cluster(self, given: Json) -> Iterator[None]:
        """Make the objects of a case, and remove them."""
        made: list[str] = []
        for one in given.get("namespaces", ()):
            name, labels = one["metadata"]["name"], one["metadata"].get("labels", {})
            self.plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
            self.plane.api("PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": labels}}, content_type=MERGE)
        try:
            for kind, path in KINDS.items():
                made.extend(self._make(path, one) for one in given.get(kind, ()))
            yield
        finally:
            for path in reversed(made):
                self.plane.api("DELETE", path, {"gracePeriodSeconds": 0})
            for path in made:
                eventually(lambda path=path: self._gone(path), 30, f"{path} being gone")

    def _make(self, path: str, one: Json) -> str:
        meta = {key: value for key, value in one["metadata"].items() if key in {"name", "namespace", "labels", "annotations"}}
        space = meta.get("namespace", "default")
        if "{}" in path and space != "default":
            self.plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
        where = path.format(space)
        spec = {key: value for key, value in as_written(one.get("spec", {})).items() if key != "priority"}
        self.create(where, {"metadata": meta, "spec": spec})
        if one.get("status"):
            status, answer = self.plane.api(
                "PATCH", f"{where}/{meta['name']}/status", {"status": one["status"]}, content_type=MERGE
            )
            assert status == 200, answer
        return f"{where}/{meta['name']}"

    def _gone(self, path: str) -> bool:
        status, found = self.plane.api("GET", path)
        if status == 200 and found["metadata"].get("finalizers"):
            self.plane.api("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)
        return status == 404

    def pod(self, given: Json, name: str, scheduler: str) -> Json:
        """Make the pod of a case for a scheduler."""
        meta = {key: value for key, value in given["metadata"].items() if key in {"namespace", "labels", "annotations"}}
        spec = {key: value for key, value in as_written(given["spec"]).items() if key not in {"priority", "nodeName"}}
        space = meta.setdefault("namespace", "default")
        self.plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
        body = {"metadata": {**meta, "name": name}, "spec": {**spec, "schedulerName": scheduler, "priorityClassName": CALM}}
        return self.create(f"/api/v1/namespaces/{space}/pods", body)

    def verdict(self, pod: Json) -> Json | None:
        """Return a pod when it has a node or was told why it has none."""
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        found = self.plane.api("GET", path)[1]
        told = [one for one in found.get("status", {}).get("conditions", []) if one["type"] == "PodScheduled"]
        return found if found["spec"].get("nodeName") or any(one["status"] == "False" for one in told) else None

    def remove(self, pod: Json) -> None:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        self.plane.api("DELETE", path, {"gracePeriodSeconds": 0})
        eventually(lambda: self._gone(path), 30, f"{path} being gone")


def asked_both(place: Place, extender: Extender, pod: Json) -> str:
    """Ask one scheduler after the other for a pod; returns how they differ, empty where they do not."""
    theirs = place.pod(pod, "theirs", "default-scheduler")
    eventually(lambda: place.verdict(theirs), 60, "kube-scheduler looking at its pod")
    passed = extender.passed.get(theirs["metadata"]["uid"], set())
    place.remove(theirs)
    ours = place.pod(pod, "ours", "treadle")
    found = eventually(lambda: place.verdict(ours), 30, "a verdict on our pod")
    place.remove(ours)
    node = found["spec"].get("nodeName")
    if (node in passed) if passed else not node:
        return ""
    told = [one.get("message") for one in found["status"]["conditions"]]
    return f"{node or told}, kube-scheduler lets it to {sorted(passed)}"


def test_both_say_the_same_of_random_clusters(fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> None:
    plane = fresh_control_plane(arguments=ARGUMENTS)
    plane.apply_crds()
    extender, place, wrong = Extender(), Place(plane), []
    calm = {"metadata": {"name": CALM}, "value": 0, "preemptionPolicy": "Never"}
    place.create("/apis/scheduling.k8s.io/v1/priorityclasses", calm)
    plane.start_kube_scheduler(extender.configuration)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        for suite, case in cases():
            with place.cluster(case["input"]):
                # Each watches kind by kind, and may look at a pod before it has seen the last object of the cluster.
                if asked_both(place, extender, case["input"]["pod"]) and (
                    still := asked_both(place, extender, case["input"]["pod"])
                ):
                    wrong.append(f"{suite}: {case['name']}: {still}")
    assert wrong == []
