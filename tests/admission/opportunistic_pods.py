"""Pods, and what becomes of them when they are made as opportunistic ones: one table for the function and for a real server's policy and webhook."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from treadle.api.execution import DEMAND

Json = dict[str, Any]
LABELS = {"treadle.dev/execution-type": "opportunistic"}
NONE = {"requests": {"cpu": "0", "memory": "0"}}


class Case(NamedTuple):
    """A pod as the API server has it at admission, and what it should have then; ``demand`` None: it is left as it is."""

    sentence: str
    spec: Json
    demand: str | None
    containers: list[Json]
    inits: Sequence[Json] = ()
    metadata: Mapping[str, Any] = MappingProxyType({})
    needs: str = ""
    """What the namespace must have for a real server to have the pod so: LimitRange."""


def container(name: str = "c", requests: Json | None = None, limits: Json | None = None, **fields: Any) -> Json:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"name": name, "image": "none", **({"resources": resources} if resources else {}), **fields}


def pod(name: str, spec: Json, metadata: Mapping[str, Any] | None = None) -> Json:
    metadata = metadata or {}
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata, "labels": metadata.get("labels", LABELS)},
        "spec": {"schedulerName": "treadle", **spec},
    }
    return copy.deepcopy(made)


def one(*args: Any, **fields: Any) -> Json:
    return {"containers": [container(*args, **fields)]}


def given(text: str) -> Json:
    return {"annotations": {DEMAND: text}}


BOTH = {"cpu": "2", "memory": "1Gi"}
ZERO_BOTH = {"requests": {"cpu": "0", "memory": "0"}, "limits": BOTH}
SIDECAR = container("proxy", {"cpu": "100m", "memory": "64Mi"}, restartPolicy="Always")

CASES = [
    Case("requests without limits become limits", one("c", BOTH), "c cpu=2 memory=1Gi", [ZERO_BOTH]),
    Case(
        "requests below limits leave the limits",
        one("c", {"cpu": "1", "memory": "512Mi"}, BOTH),
        "c cpu=1 memory=512Mi",
        [ZERO_BOTH],
    ),
    Case("requests that equal limits are no guarantee any more", one("c", BOTH, BOTH), "c cpu=2 memory=1Gi", [ZERO_BOTH]),
    Case("limits alone, which the server has made requests of", one("c", BOTH, BOTH), "c cpu=2 memory=1Gi", [ZERO_BOTH]),
    Case("no resources at all are an explicit nothing", one(), "c cpu=0 memory=0", [NONE]),
    Case(
        "only cpu is requested",
        one("c", {"cpu": "500m"}),
        "c cpu=500m memory=0",
        [{"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "500m"}}],
    ),
    Case(
        "only memory is limited",
        one("c", {"cpu": "500m", "memory": "1Gi"}, {"memory": "1Gi"}),
        "c cpu=500m memory=1Gi",
        [{"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "500m", "memory": "1Gi"}}],
    ),
    Case(
        "requests of nothing by hand would like their limits",
        one("c", {"cpu": "0", "memory": "0"}, BOTH),
        "c cpu=2 memory=1Gi",
        [ZERO_BOTH],
    ),
    Case(
        "a limit of nothing stays, and is no wish",
        one("c", {"cpu": "0", "memory": "1Gi"}, {"cpu": "0"}),
        "c cpu=0 memory=1Gi",
        [{"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "0", "memory": "1Gi"}}],
    ),
    Case(
        "a pod with extended resources is left",
        one("c", {**BOTH, "nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "1"}),
        None,
        [{"requests": {**BOTH, "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}],
    ),
    Case(
        "a pod with claims for devices is left",
        {
            "containers": [{"name": "c", "image": "none", "resources": {"claims": [{"name": "d"}], "requests": BOTH}}],
            "resourceClaims": [{"name": "d", "resourceClaimName": "somebody"}],
        },
        None,
        [{"requests": BOTH, "claims": [{"name": "d"}]}],
    ),
    Case(
        "a pod with huge pages is left",
        one("c", {**BOTH, "hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"}),
        None,
        [{"requests": {**BOTH, "hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4Mi"}}],
    ),
    Case(
        "a pod with ephemeral storage is left, though it is an init container's",
        {"containers": [container("c", BOTH)], "initContainers": [container("i", {**BOTH, "ephemeral-storage": "2Gi"})]},
        None,
        [{"requests": BOTH}],
        [{"requests": {**BOTH, "ephemeral-storage": "2Gi"}}],
    ),
    Case(
        "many containers each have their entry",
        {"containers": [container("c", BOTH), container("side", {"cpu": "1"}), container("idle")]},
        "c cpu=2 memory=1Gi;side cpu=1 memory=0;idle cpu=0 memory=0",
        [ZERO_BOTH, {"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "1"}}, NONE],
    ),
    Case(
        "init containers and sidecars are rewritten as well, after the others",
        {"containers": [container("c", BOTH)], "initContainers": [SIDECAR, container("load", {"cpu": "3"}, {"cpu": "4"})]},
        "c cpu=2 memory=1Gi;proxy cpu=100m memory=64Mi;load cpu=3 memory=0",
        [ZERO_BOTH],
        [
            {"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "100m", "memory": "64Mi"}},
            {"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "4"}},
        ],
    ),
    Case(
        "a demand that is given stands",
        one("c", BOTH),
        "c cpu=7 memory=9Gi",
        [ZERO_BOTH],
        metadata=given("c cpu=7 memory=9Gi"),
    ),
    Case(
        "a demand that misses a container gets its entry",
        {"containers": [container("c", BOTH), container("side", {"cpu": "1"})]},
        " c cpu=7 ;side cpu=1 memory=0",
        [ZERO_BOTH, {"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "1"}}],
        metadata=given(" c cpu=7 "),
    ),
    Case("an empty demand is none", one("c", BOTH), "c cpu=2 memory=1Gi", [ZERO_BOTH], metadata=given("")),
    Case(
        "a demand that makes no sense stays, for the scheduler to say so",
        one("c", BOTH),
        "lots;c cpu=2 memory=1Gi",
        [ZERO_BOTH],
        metadata=given("lots"),
    ),
    Case(
        "other annotations stay",
        one("c", BOTH),
        "c cpu=2 memory=1Gi",
        [ZERO_BOTH],
        metadata={"annotations": {"a.b/c_d": "kept"}},
    ),
    Case(
        "what is rewritten is not rewritten again",
        {"containers": [container("c", NONE["requests"], BOTH)]},
        "c cpu=2 memory=1Gi",
        [ZERO_BOTH],
        metadata=given("c cpu=2 memory=1Gi"),
    ),
    Case(
        "names and variables that occur twice are no hindrance",
        one("c", BOTH, env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
        "c cpu=2 memory=1Gi",
        [ZERO_BOTH],
    ),
    Case(
        "what a LimitRange fills in is wished for",
        one("c", {"cpu": "250m", "memory": "128Mi"}, {"cpu": "1", "memory": "256Mi"}),
        "c cpu=250m memory=128Mi",
        [{"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "1", "memory": "256Mi"}}],
        needs="LimitRange",
    ),
    Case(
        "resources of the pod as a whole are left alone",
        {**one("c", {"cpu": "1"}), "resources": {"requests": {"cpu": "2"}}},
        None,
        [{"requests": {"cpu": "1"}}],
    ),
    Case("a pod of another scheduler is left alone", {**one("c", BOTH), "schedulerName": "other"}, None, [{"requests": BOTH}]),
    Case("a pod without the label is left alone", one("c", BOTH), None, [{"requests": BOTH}], metadata={"labels": {}}),
    Case(
        "a pod that says that it is guaranteed is left alone",
        one("c", BOTH),
        None,
        [{"requests": BOTH}],
        metadata={"labels": {"treadle.dev/execution-type": "guaranteed"}},
    ),
]

SENT = {
    "limits alone, which the server has made requests of": one("c", None, BOTH),
    "only memory is limited": one("c", {"cpu": "0.5"}, {"memory": "1024Mi"}),
    "what a LimitRange fills in is wished for": one(),
}
"""What a person would send where that is not what the server has at admission."""


def resources_of(pod: Json, which: str = "containers") -> list[Json]:
    """The resources of containers, without what is empty: a server leaves that out."""
    return [{key: value for key, value in (one.get("resources") or {}).items() if value} for one in pod["spec"].get(which) or ()]


def demand_of(pod: Json) -> str | None:
    return (pod["metadata"].get("annotations") or {}).get(DEMAND)


def patched(pod: Json, operations: list[Json]) -> Json:
    """Apply a patch that only adds, as RFC 6902 says."""
    pod = copy.deepcopy(pod)
    for operation in operations:
        assert operation["op"] == "add"
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        where: Any = pod
        for part in parents:
            where = where[int(part)] if isinstance(where, list) else where[part]
        where[last] = copy.deepcopy(operation["value"])
    return pod
