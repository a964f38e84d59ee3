"""What a pod takes of a node, by the computation that Kubernetes makes part of its API."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from kube.manifests import Json, container, pod, wired
from treadle.core.errors import InvalidSpec
from treadle.kube.accounting import demand

GI = 1 << 30


def amounts(manifest: Json) -> dict[str, int]:
    return dict(demand(wired(manifest)))


def status(*containers: Json, infeasible: bool = False, deferred: bool = False, **fields: Any) -> Json:
    reason = "Infeasible" if infeasible else "Deferred" if deferred else ""
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else []
    return {"phase": "Running", "containerStatuses": list(containers), "conditions": conditions, **fields}


def in_force(name: str = "main", allocated: Json | None = None, **requests: str) -> Json:
    return {"name": name, "allocatedResources": allocated, "resources": {"requests": requests}}


BOUND = {"nodeName": "n"}

TABLE: dict[str, tuple[Json, dict[str, int]]] = {
    "a container's requests are its pod's": (pod("a", container(cpu="500m", memory="1Gi")), {"cpu": 500, "memory": GI}),
    "containers add up": (
        pod("a", container("x", cpu="1"), container("y", cpu="250m", memory="1Gi")),
        {"cpu": 1250, "memory": GI},
    ),
    "a pod without requests takes its slot only": (pod("a", {"name": "main"}), {}),
    "requests of zero are as none": (pod("a", container(cpu="0", memory="0")), {}),
    "fractions are rounded up": (pod("a", container(cpu="100u", memory="1.2")), {"cpu": 1, "memory": 2}),
    "an init container smaller than the sum changes nothing": (
        pod("a", container(cpu="2"), initContainers=[container("i", cpu="1")]),
        {"cpu": 2000},
    ),
    "an init container larger than the sum is the peak, for each resource by itself": (
        pod("a", container(cpu="2", memory="1Gi"), initContainers=[container("i", cpu="1", memory="3Gi")]),
        {"cpu": 2000, "memory": 3 * GI},
    ),
    "init containers run one after the other, so only the largest counts": (
        pod("a", container(cpu="1"), initContainers=[container("i", cpu="2"), container("j", cpu="3")]),
        {"cpu": 3000},
    ),
    "a sidecar runs beside the containers": (
        pod("a", container(cpu="2"), initContainers=[container("s", always=True, cpu="1")]),
        {"cpu": 3000},
    ),
    "an init container after a sidecar runs beside it": (
        pod("a", container(cpu="1"), initContainers=[container("s", always=True, cpu="1"), container("i", cpu="3")]),
        {"cpu": 4000},
    ),
    "an init container before a sidecar runs without it": (
        pod("a", container(cpu="1"), initContainers=[container("i", cpu="3"), container("s", always=True, cpu="1")]),
        {"cpu": 3000},
    ),
    "sidecars pile up in their order": (
        pod(
            "a",
            container(cpu="1"),
            initContainers=[
                container("s", always=True, cpu="1"),
                container("i", cpu="2"),
                container("t", always=True, cpu="2"),
                container("j", cpu="2"),
            ],
        ),
        {"cpu": 5000},
    ),
    "overhead comes on top": (
        pod("a", container(cpu="1"), overhead={"cpu": "250m", "memory": "1Gi"}),
        {"cpu": 1250, "memory": GI},
    ),
    "overhead comes on top of the peak too": (
        pod("a", container(cpu="1"), initContainers=[container("i", cpu="4")], overhead={"cpu": "1"}),
        {"cpu": 5000},
    ),
    "the pod's own requests replace the sum": (
        pod("a", container(cpu="1", memory="1Gi"), resources={"requests": {"cpu": "3"}}),
        {"cpu": 3000, "memory": GI},
    ),
    "the pod's own requests replace a larger peak": (
        pod("a", container(cpu="1"), initContainers=[container("i", cpu="4")], resources={"requests": {"cpu": "2"}}),
        {"cpu": 2000},
    ),
    "the pod's own huge pages replace the sum": (
        pod("a", container(hugepages_2Mi="2Mi"), resources={"requests": {"hugepages-2Mi": "4Mi"}}),
        {"hugepages-2Mi": 4 << 20},
    ),
    "of other resources the pod's own requests are not heard": (
        pod(
            "a",
            {"name": "m", "resources": {"requests": {"example.com/gpu": "2"}}},
            resources={"requests": {"example.com/gpu": "8"}},
        ),
        {"example.com/gpu": 2},
    ),
    "overhead comes on top of the pod's own requests": (
        pod("a", container(cpu="1"), resources={"requests": {"cpu": "3"}}, overhead={"cpu": "1"}),
        {"cpu": 4000},
    ),
    "extended resources count as they are": (
        pod("a", {"name": "m", "resources": {"requests": {"nvidia.com/gpu": "2", "ephemeral-storage": "1Gi"}}}),
        {"nvidia.com/gpu": 2, "ephemeral-storage": GI},
    ),
    "a request for pods does not buy a second slot": (pod("a", {"name": "m", "resources": {"requests": {"pods": "5"}}}), {}),
    "a resize that grows counts as wished": (
        pod("a", container(cpu="3"), **BOUND, status=status(in_force(cpu="1", allocated={"cpu": "1"}))),
        {"cpu": 3000},
    ),
    "a resize that shrinks counts what is in force until it is done": (
        pod("a", container(cpu="1"), **BOUND, status=status(in_force(cpu="3", allocated={"cpu": "1"}))),
        {"cpu": 3000},
    ),
    "what is allocated counts before it is in force": (
        pod("a", container(cpu="1"), **BOUND, status=status(in_force(cpu="1", allocated={"cpu": "2"}))),
        {"cpu": 2000},
    ),
    "each container counts its own largest view": (
        pod(
            "a",
            container("x", cpu="1"),
            container("y", cpu="3"),
            **BOUND,
            status=status(in_force("x", cpu="3"), in_force("y", cpu="1")),
        ),
        {"cpu": 6000},
    ),
    "an infeasible resize does not count as wished": (
        pod("a", container(cpu="30"), **BOUND, status=status(in_force(cpu="1", allocated={"cpu": "1"}), infeasible=True)),
        {"cpu": 1000},
    ),
    "a deferred resize counts as wished": (
        pod("a", container(cpu="3"), **BOUND, status=status(in_force(cpu="1", allocated={"cpu": "1"}), deferred=True)),
        {"cpu": 3000},
    ),
    "an infeasible resize of a container without a status counts its spec, the only thing known": (
        pod("a", container(cpu="3"), **BOUND, status=status(infeasible=True)),
        {"cpu": 3000},
    ),
    "a sidecar's resize counts too": (
        pod(
            "a",
            container(cpu="1"),
            **BOUND,
            initContainers=[container("s", always=True, cpu="1")],
            status=status(initContainerStatuses=[in_force("s", cpu="2")]),
        ),
        {"cpu": 3000},
    ),
    "a shrinking pod counts the pod-level requests in force": (
        pod(
            "a",
            container(cpu="1"),
            **BOUND,
            resources={"requests": {"cpu": "2"}},
            status=status(resources={"requests": {"cpu": "4"}}, allocatedResources={"cpu": "3"}),
        ),
        {"cpu": 4000},
    ),
    "an infeasible resize of a pod's own requests does not count as wished": (
        pod(
            "a",
            container(cpu="1"),
            **BOUND,
            resources={"requests": {"cpu": "9"}},
            status=status(resources={"requests": {"cpu": "2"}}, allocatedResources={"cpu": "2"}, infeasible=True),
        ),
        {"cpu": 2000},
    ),
    "a pod without a node has nothing in force, whatever its status says": (
        pod("a", container(cpu="1"), initContainers=[container("i", cpu="1")], status=status(in_force(cpu="9"))),
        {"cpu": 1000},
    ),
}


@pytest.mark.parametrize(("manifest", "expected"), TABLE.values(), ids=TABLE.keys())
def test_the_accounting_table(manifest: Json, expected: dict[str, int]) -> None:
    assert amounts(manifest) == {**expected, "pods": 1}


def test_the_amounts_are_ordered_by_name_so_that_equal_pods_are_one_shape() -> None:
    assert demand(wired(pod("a", container(memory="1Gi", cpu="1")))) == (("cpu", 1000), ("memory", GI), ("pods", 1))


def test_a_pod_without_a_spec_takes_its_slot() -> None:
    assert demand(wired({"metadata": {"name": "a"}})) == (("pods", 1),)


@pytest.mark.parametrize(
    ("manifest", "where"),
    [
        (
            pod("a", container("web", cpu="a lot")),
            r"spec\.containers\[web\]\.resources\.requests\[cpu\]: 'a lot' is not a quantity",
        ),
        (
            pod("a", container(), initContainers=[container("load", memory="1GB")]),
            r"spec\.initContainers\[load\]\.resources\.requests\[memory\]: '1GB'",
        ),
        (pod("a", overhead={"cpu": "-"}), r"spec\.overhead\[cpu\]: '-'"),
        (pod("a", resources={"requests": {"cpu": ""}}), r"spec\.resources\.requests\[cpu\]: ''"),
        (pod("a", container(memory="99999Ei")), r"\[memory\]: memory: '99999Ei' is out of range"),
        (
            pod("a", *(container(str(number), memory="4E") for number in range(2))),
            r"requests of memory sum up to 8000000000000000000, at most",
        ),
    ],
)
def test_a_bad_quantity_is_named_with_its_field(manifest: Json, where: str) -> None:
    with pytest.raises(InvalidSpec, match=where):
        amounts(manifest)


# -- against an independent reading of the rule

NAMES = ("cpu", "memory", "hugepages-2Mi", "example.com/gpu", "ephemeral-storage")
requests = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 4).map(str), max_size=4)
init = st.lists(st.tuples(requests, st.booleans()), max_size=4)


@given(st.lists(requests, min_size=1, max_size=3), init, requests, st.none() | requests, st.data())
@settings(max_examples=examples(150), deadline=None)
def test_it_agrees_with_a_naive_reading_of_the_rule(
    containers: list[Json], inits: list[tuple[Json, bool]], overhead: Json, own: Json | None, data: st.DataObject
) -> None:
    named = [{"name": f"c{number}", "resources": {"requests": one}} for number, one in enumerate(containers)]
    named_init = [
        {"name": f"i{number}", "resources": {"requests": one}, **({"restartPolicy": "Always"} if always else {})}
        for number, (one, always) in enumerate(inits)
    ]
    seen = {
        name: {"allocated": data.draw(requests), "force": data.draw(requests)}
        for name in data.draw(st.sets(st.sampled_from([one["name"] for one in (*named, *named_init)])))
    }
    infeasible = data.draw(st.booleans())
    manifest = pod(
        "a",
        *named,
        nodeName="n",
        initContainers=named_init,
        overhead=overhead,
        **({"resources": {"requests": own}} if own is not None else {}),
        status={
            "containerStatuses": [_status(name, views) for name, views in seen.items() if name.startswith("c")],
            "initContainerStatuses": [_status(name, views) for name, views in seen.items() if name.startswith("i")],
            "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}] if infeasible else [],
        },
    )

    assert amounts(manifest) == naive(containers, inits, overhead, own, seen, infeasible=infeasible)


def _status(name: str, views: dict[str, Json]) -> Json:
    return {"name": name, "allocatedResources": views["allocated"], "resources": {"requests": views["force"]}}


def naive(
    containers: list[Json],
    inits: list[tuple[Json, bool]],
    overhead: Json,
    own: Json | None,
    seen: dict[str, Any],
    *,
    infeasible: bool,
) -> dict[str, int]:
    """One resource at a time, moments of the pod's life one by one."""
    result = {"pods": 1}
    for resource in NAMES:

        def of(container_name: str, wished: Json, resource: str = resource) -> Fraction:
            views = seen.get(container_name)
            if views is None:
                return Fraction(wished.get(resource, 0))
            given = [Fraction(view.get(resource, 0)) for view in views.values()]
            return max(given if infeasible and any(views.values()) else [*given, Fraction(wished.get(resource, 0))])

        running = sum(of(f"c{number}", one) for number, one in enumerate(containers))
        sidecars_so_far, moments = Fraction(0), []
        for number, (one, always) in enumerate(inits):
            moments.append(sidecars_so_far + of(f"i{number}", one))
            if always:
                sidecars_so_far += of(f"i{number}", one)
        total = max([running + sidecars_so_far, *moments])
        if own is not None and resource in own and resource in {"cpu", "memory", "hugepages-2Mi"}:
            total = Fraction(own[resource])
        total += Fraction(overhead.get(resource, 0))
        if total:
            result[resource] = int(total * (1000 if resource == "cpu" else 1))
    return result
