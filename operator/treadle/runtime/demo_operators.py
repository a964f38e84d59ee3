"""The operators of the demo's pretended cluster: Spark's, the Job controller, and the garbage collector.

Each is level-triggered: ``step(pods)`` compares what there is with what there should be and changes the objects of the embedded
API server in this process. They know nothing of Treadle; that the pods are scheduled by it is written in the pods.
"""

from collections.abc import Mapping
from typing import Any

from treadle.api.labels import role_of
from treadle.fakeapi.errors import ApiError
from treadle.fakeapi.objects import Objects
from treadle.fakeapi.pods import with_condition
from treadle.fakeapi.resources import Resource
from treadle.fakeapi.ticker import RUN_SECONDS
from treadle.runtime.demo_examples import EXAMPLE, Templates, requests

Json = dict[str, Any]
Pods = Mapping[tuple[str, str], Json]
"""All pods by (namespace, name)."""

EXECUTORS = "demo.treadle.dev/executors"
EXECUTOR_SECONDS = "demo.treadle.dev/executor-seconds"
EXECUTOR_CPU = "demo.treadle.dev/executor-cpu"
EXECUTOR_MEMORY = "demo.treadle.dev/executor-memory"
DEFAULT_SECONDS = "20"
"""How long a pod runs that has to end by itself and does not say when."""
FINISHED = ("Succeeded", "Failed")
ENDS = ("Never", "OnFailure")

JOBS = Resource(
    "jobs",
    "Job",
    "batch",
    subresources=("status",),
    fields={"metadata.name": ("metadata", "name"), "metadata.namespace": ("metadata", "namespace")},
    columns=(
        {"name": "Status", "type": "string", "jsonPath": ".status.conditions[0].type"},
        {"name": "Completions", "type": "string", "jsonPath": ".spec.completions"},
        {"name": "Succeeded", "type": "string", "jsonPath": ".status.succeeded"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ),
    categories=("all",),
    generation=True,
    storage="jobs",
)


def serve_jobs(api: Objects) -> None:
    """Make the API server serve ``batch/v1`` Jobs, which only the demo has a controller for."""
    if JOBS.name not in api.resources:
        api.resources[JOBS.name] = api.resources[JOBS.plural] = JOBS


def finished(pod: Json | None) -> bool:
    """Whether a pod has ended or is gone."""
    return pod is None or pod["status"].get("phase") in FINISHED


def key_of(obj: Json) -> tuple[str, str]:
    """(namespace, name) of an object."""
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def owner(obj: Json, kind: str, api_version: str) -> list[Json]:
    """The owner references of something that ``obj`` controls."""
    meta = obj["metadata"]
    return [{"apiVersion": api_version, "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}]


class SparkOperator:
    """Creates the executors of a driver once it runs, and ends the driver when they have ended.

    A driver is a pod with the role of a master and the annotation ``demo.treadle.dev/executors``; further annotations say how big
    the executors are and how long they run. What a deleted driver leaves behind the garbage collector takes.
    """

    def __init__(self, api: Objects, templates: Templates) -> None:
        self._api, self._templates = api, templates
        self._running: dict[str, tuple[tuple[str, str], set[tuple[str, str]]]] = {}

    def step(self, pods: Pods) -> None:
        """Look at every driver once."""
        for driver in pods.values():
            meta = driver["metadata"]
            wanted = (meta.get("annotations") or {}).get(EXECUTORS)
            if wanted is None or driver["status"].get("phase") != "Running" or meta["uid"] in self._running:
                continue
            if role_of(meta.get("labels"), meta.get("annotations")) == "master":
                self._running[meta["uid"]] = (key_of(driver), self._executors(driver, wanted))
        for uid, (key, executors) in list(self._running.items()):
            driver_now = pods.get(key)
            if driver_now is None or finished(driver_now) or driver_now["metadata"]["uid"] != uid:
                del self._running[uid]
                continue
            executors -= {executor for executor in executors if executor in pods and finished(pods[executor])}
            executors -= {executor for executor in executors if self._gone(executor)}
            if not executors:
                self._end(driver_now)
                del self._running[uid]

    def _executors(self, driver: Json, wanted: str) -> set[tuple[str, str]]:
        meta, said = driver["metadata"], driver["metadata"]["annotations"]
        made = set()
        for number in range(1, 1 + (min(int(wanted), 200) if wanted.isdecimal() else 0)):
            executor = self._templates.executor()
            executor["metadata"] = {
                "name": f"{meta['name'].removesuffix('-driver')}-exec-{number}",
                "namespace": meta["namespace"],
                "labels": {**executor["metadata"]["labels"], **(meta.get("labels") or {}), "spark-role": "executor"},
                "annotations": {RUN_SECONDS: _stagger(said.get(EXECUTOR_SECONDS, DEFAULT_SECONDS), number)},
                "ownerReferences": owner(driver, "Pod", "v1"),
            }
            executor["metadata"]["labels"].pop("treadle.dev/role", None)
            asked = requests(executor["spec"])
            asked["cpu"], asked["memory"] = said.get(EXECUTOR_CPU, asked["cpu"]), said.get(EXECUTOR_MEMORY, asked["memory"])
            executor["spec"]["schedulerName"] = driver["spec"]["schedulerName"]
            try:
                made.add(key_of(self._api.create("pods", executor, meta["namespace"])))
            except ApiError:
                continue  # the name is taken: the user has made that executor
        return made

    def _gone(self, key: tuple[str, str]) -> bool:
        return key not in self._api.store.collections["pods"].entries

    def _end(self, driver: Json) -> None:
        now = self._api.now()
        status = with_condition(driver["status"] | {"phase": "Succeeded"}, "Ready", "False", now, "PodCompleted")
        self._api.update("pods", driver | {"status": status}, "status")


def _stagger(seconds: str, number: int) -> str:
    """Executors of one application do not all end in the same moment."""
    try:
        return f"{float(seconds) * (1 + number % 5 * 0.08):.1f}"
    except ValueError:
        return DEFAULT_SECONDS


class JobController:
    """Runs Jobs: ``parallelism`` pods at a time until ``completions`` have succeeded; its status is that of ``batch/v1``."""

    def __init__(self, api: Objects) -> None:
        self._api = api
        self._live: dict[str, set[tuple[str, str]]] = {}
        self._done: dict[str, dict[str, int]] = {}

    def step(self, pods: Pods) -> None:
        """Look at every Job once."""
        jobs = self._api.list("jobs")
        for job in jobs:
            if not any(item["type"] in {"Complete", "Failed"} for item in (job.get("status") or {}).get("conditions") or ()):
                self._advance(job, pods)
        known = {job["metadata"]["uid"] for job in jobs}
        for uid in set(self._live) - known:
            del self._live[uid], self._done[uid]

    def _advance(self, job: Json, pods: Pods) -> None:
        uid, spec, entries = job["metadata"]["uid"], job["spec"], self._api.store.collections["pods"].entries
        live = self._live.setdefault(uid, set())
        done = self._done.setdefault(uid, {"succeeded": 0, "failed": 0})
        for key in [key for key in live if finished(pods.get(key)) and (key in pods or key not in entries)]:
            live.discard(key)
            if (pod := pods.get(key)) is not None:
                done["succeeded" if pod["status"]["phase"] == "Succeeded" else "failed"] += 1
        completions, parallelism = int(spec.get("completions") or 1), int(spec.get("parallelism") or 1)
        failed = done["failed"] > int(spec.get("backoffLimit", 6))
        while not failed and len(live) < min(parallelism, completions - done["succeeded"]):
            live.add(key_of(self._api.create("pods", _job_pod(job), job["metadata"]["namespace"])))
        status: Json = {"active": len(live), **done, "startTime": job["metadata"]["creationTimestamp"]}
        if failed or done["succeeded"] >= completions:
            verdict = {"type": "Failed" if failed else "Complete", "status": "True", "lastTransitionTime": self._api.now()}
            status |= {"conditions": [verdict], "completionTime": self._api.now()}
        if (job.get("status") or {}) != status:
            self._api.update("jobs", job | {"status": status}, "status")


def _job_pod(job: Json) -> Json:
    template, name = job["spec"]["template"], job["metadata"]["name"]
    meta = template.get("metadata") or {}
    labels = {"batch.kubernetes.io/job-name": name, "job-name": name}
    labels |= {EXAMPLE: job["metadata"]["labels"][EXAMPLE]} if EXAMPLE in (job["metadata"].get("labels") or {}) else {}
    return {
        "metadata": {
            "generateName": f"{name}-",
            "labels": {**(meta.get("labels") or {}), **labels},
            "annotations": {RUN_SECONDS: DEFAULT_SECONDS, **(meta.get("annotations") or {})},
            "ownerReferences": owner(job, "Job", "batch/v1"),
        },
        "spec": template["spec"],
    }


class Collector:
    """Ends what should end and clears away: pods of gone owners, and what the demo submitted and has long finished.

    A pod that is not to be restarted and does not say how long it runs gets an answer here. ``keep`` leaves finished objects
    there.
    """

    def __init__(self, api: Objects, after: float, *, keep: bool) -> None:
        self._api, self._after, self._keep = api, after, keep
        self._since: dict[tuple[str, str, str], float] = {}

    def step(self, pods: Pods, now: float) -> None:
        """Look at everything once; ``now`` is in the seconds that ``after`` is in."""
        uids = {pod["metadata"]["uid"] for pod in pods.values()} | {job["metadata"]["uid"] for job in self._api.list("jobs")}
        for (namespace, name), pod in pods.items():
            meta = pod["metadata"]
            owners = [one for one in meta.get("ownerReferences") or () if one.get("controller")]
            if (
                owners
                and owners[0]["kind"] in {"Pod", "Job"}
                and owners[0]["uid"] not in uids
                and "deletionTimestamp" not in meta
            ):
                self._delete("pods", name, namespace)
            elif self._endless(pod):
                self._api.patch("pods", name, {"metadata": {"annotations": {RUN_SECONDS: DEFAULT_SECONDS}}}, namespace)
        if not self._keep:
            self._clear("pods", [pod for pod in pods.values() if finished(pod)], now)
            self._clear("jobs", [job for job in self._api.list("jobs") if (job.get("status") or {}).get("completionTime")], now)
            self._clear("applications.treadle.dev", self._ended_applications(pods), now)

    def _endless(self, pod: Json) -> bool:
        annotations = pod["metadata"].get("annotations") or {}
        waits = pod["status"].get("phase") == "Pending" and not pod["spec"].get("nodeName")
        return (
            waits and pod["spec"].get("restartPolicy") in ENDS and RUN_SECONDS not in annotations and EXECUTORS not in annotations
        )

    def _ended_applications(self, pods: Pods) -> list[Json]:
        alive = {(key[0], (pod["metadata"].get("labels") or {}).get("treadle.dev/application")) for key, pod in pods.items()}
        return [one for one in self._api.list("applications.treadle.dev") if key_of(one) not in alive]

    def _clear(self, kind: str, ended: list[Json], now: float) -> None:
        ours = {(kind, *key_of(one)) for one in ended if EXAMPLE in (one["metadata"].get("labels") or {})}
        for key in [key for key in self._since if key[0] == kind and key not in ours]:
            del self._since[key]
        for key in ours:
            if now - self._since.setdefault(key, now) >= self._after:
                self._delete(*key[:1], key[2], key[1])
                del self._since[key]

    def _delete(self, kind: str, name: str, namespace: str) -> None:
        try:
            self._api.delete(kind, name, namespace)
        except ApiError as error:
            if error.code != 404:
                raise
