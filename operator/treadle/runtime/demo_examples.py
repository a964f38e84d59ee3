"""The manifests that the demo is made of: the files of ``examples/``, in a checkout or inside an installed package."""

import copy
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

import treadle
from treadle.api.objects import PLURALS

Json = dict[str, Any]

EXAMPLE = "demo.treadle.dev/example"
"""The label of everything that the demo itself submits; only that is cleared away again."""
GPU_MODEL = "demo.treadle.dev/gpu-model"
GPU = "nvidia.com/gpu"

_PACKAGE = Path(treadle.__file__).parent


class ExamplesMissing(Exception):
    """The folder ``examples/`` is neither beside the package nor in it: the installation is broken."""


def folder() -> Path:
    """Where the examples are: inside the package where a wheel puts them, else at the top of the checkout.

    Raises ``ExamplesMissing``.
    """
    for candidate in (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples"):
        if (candidate / "classic.yaml").is_file():
            return candidate
    raise ExamplesMissing(f"no examples in {_PACKAGE / 'examples'} or {_PACKAGE.parents[1] / 'examples'}")


def manifests(name: str) -> list[Json]:
    """All documents of one file of the examples."""
    return [document for document in yaml.safe_load_all((folder() / name).read_text()) if document]


def kinds_of_ours(name: str) -> Iterator[tuple[str, Json]]:
    """(kind as ``Objects`` names it, object) for each object of our group in one file."""
    for document in manifests(name):
        if document["kind"] in PLURALS:
            yield f"{PLURALS[document['kind']]}.treadle.dev", document


class Templates:
    """The objects of the examples that the generator makes its own from; every call returns a fresh copy."""

    def __init__(self) -> None:
        spark = manifests("application-spark.yaml")
        roles = {pod["metadata"]["labels"].get("spark-role"): pod for pod in spark if pod["kind"] == "Pod"}
        self._application = next(one for one in spark if one["kind"] == "Application")
        self._driver, self._executor = roles["driver"], roles["executor"]
        self._job, self._pod = manifests("job.yaml")[0], manifests("pod.yaml")[0]

    def application(self) -> Json:
        """The Application object of the Spark example."""
        return copy.deepcopy(self._application)

    def driver(self) -> Json:
        """The Spark driver's pod."""
        return copy.deepcopy(self._driver)

    def executor(self) -> Json:
        """A Spark executor's pod."""
        return copy.deepcopy(self._executor)

    def job(self) -> Json:
        """The batch Job."""
        return copy.deepcopy(self._job)

    def pod(self) -> Json:
        """The single pod."""
        return copy.deepcopy(self._pod)


def requests(pod_spec: Json) -> Json:
    """The requests of a pod's first container, to be read or changed in place."""
    asked: Json = pod_spec["containers"][0].setdefault("resources", {}).setdefault("requests", {})
    return asked


def node(name: str, cpu: str, memory: str, *, labels: Json | None = None, extended: Json | None = None) -> Json:
    """A ready node as kwok makes them, with room for 110 pods; ``extended`` are further resources."""
    amounts = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "200Gi", **(extended or {})}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **(labels or {})}},
        "spec": {},
        "status": {
            "allocatable": amounts,
            "capacity": dict(amounts),
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a pretended kubelet"}],
            "nodeInfo": {"kubeletVersion": "v1.36.0-treadle-demo", "operatingSystem": "linux", "architecture": "amd64"},
        },
    }


def trace_nodes() -> list[Json]:
    """The nodes of the trace's slice; GPUs are whole devices of ``nvidia.com/gpu``."""
    made = []
    for row in _rows("nodes.csv"):
        gpus = {GPU: row["gpu"]} if row["gpu"] != "0" else {}
        labels = {GPU_MODEL: row["model"]} if row["model"] else {}
        made.append(node(row["sn"], f"{row['cpu_milli']}m", f"{row['memory_mib']}Mi", labels=labels, extended=gpus))
    return made


def trace_pods() -> list[dict[str, str]]:
    """The rows of the trace's pods by time of creation."""
    return _rows("pods.csv")


def _rows(name: str) -> list[dict[str, str]]:
    with (folder() / "trace" / name).open(newline="") as file:
        return list(csv.DictReader(file))
