"""Opportunistic pods as they are read: what they will use, what makes no sense, and what a pod without the words is spared."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.idle_pods import GIB, TYPE, container
from kube.manifests import wired
from treadle.api.execution import DEMAND, demand_of
from treadle.core.model import PodSpec
from treadle.core.units.resources import UNBOUNDED
from treadle.kube import translate


def read(demand: str = "", kind: str = "opportunistic", where: str = "labels", **spec: Any) -> PodSpec:
    metadata: dict[str, Any] = {"name": "a", "namespace": "ns", "uid": "a", where: {TYPE: kind}}
    if demand:
        metadata.setdefault("annotations", {})[DEMAND] = demand
    return translate.pod(
        wired({"metadata": metadata, "spec": {"schedulerName": "treadle", "containers": [container("c")], **spec}})
    )


def uses(cpu: int, memory: int) -> tuple[tuple[str, int], ...]:
    return (("cpu", cpu), ("memory", memory))


def test_the_annotation_says_what_each_container_uses() -> None:
    found = read("c cpu=2 memory=1Gi;side cpu=1 memory=0", containers=[container("c"), container("side")])
    assert (found.opportunistic, found.problem) == (uses(3000, GIB), "")
    assert found.demand == (("pods", 1),)


def test_limits_are_what_a_container_uses_that_requests_nothing() -> None:
    assert read(containers=[container("c", limits={"cpu": "500m", "memory": "1Gi"})]).opportunistic == uses(500, GIB)


def test_requests_are_what_a_container_uses_that_has_them() -> None:
    found = read(containers=[container("c", cpu="1", limits={"cpu": "4", "memory": "1Gi"})])
    assert found.opportunistic == uses(1000, GIB)
    assert found.demand == (("cpu", 1000), ("pods", 1)), "the core counts it as guaranteed"


def test_a_container_that_the_annotation_leaves_out_has_its_limits() -> None:
    two = [container("c"), container("side", limits={"cpu": "1", "memory": "1Gi"})]
    assert read("c cpu=2", containers=two).opportunistic == uses(3000, GIB)


def test_a_pod_that_says_nothing_and_requests_nothing_tells_what_it_would_use() -> None:
    silent = {"name": "a", "namespace": "ns", "uid": "a"}
    limited = [container("c", cpu="0", limits={"cpu": "2", "memory": "1Gi"})]
    found = translate.pod(wired({"metadata": silent, "spec": {"schedulerName": "treadle", "containers": limited}}))
    assert (found.says_type, found.opportunistic, found.if_opportunistic) == (False, (), uses(2000, GIB))
    bare = translate.pod(wired({"metadata": silent, "spec": {"schedulerName": "treadle", "containers": [container("c")]}}))
    assert (bare.if_opportunistic, bare.problem) == (uses(0, 0), "")
    assert bare.unclear_if_opportunistic.startswith("metadata: an opportunistic pod")
    odd = {**silent, "annotations": {DEMAND: "x"}}
    found = translate.pod(wired({"metadata": odd, "spec": {"schedulerName": "treadle", "containers": limited}}))
    assert (found.if_opportunistic, found.problem) == (uses(2000, GIB), "")
    assert found.unclear_if_opportunistic.startswith("metadata.annotations[treadle.dev/demand]: 'x' names no container")
    asking = [container("c", cpu="1", limits={"cpu": "2"})]
    found = translate.pod(wired({"metadata": silent, "spec": {"schedulerName": "treadle", "containers": asking}}))
    assert found.if_opportunistic == ()
    assert read("c cpu=1", kind="guaranteed").says_type


def test_limits_of_the_pod_stand_for_those_of_its_containers() -> None:
    whole = {"limits": {"cpu": "2", "memory": "3Gi"}}
    assert read(resources=whole).opportunistic == uses(2000, 3 * GIB)
    assert read("c cpu=1", resources=whole).opportunistic == uses(1000, 0), "the annotation is more exact"


def test_init_containers_run_before_and_sidecars_beside() -> None:
    init = [container("first"), container("side", restartPolicy="Always")]
    assert read("c cpu=1;first cpu=4;side cpu=2", initContainers=init).opportunistic == uses(4000, 0)
    assert read("c cpu=3;first cpu=4;side cpu=2", initContainers=init).opportunistic == uses(5000, 0)


@pytest.mark.parametrize("where", ["labels", "annotations"])
@pytest.mark.parametrize("kind", ["opportunistic", "Opportunistic", "OPPORTUNISTIC"])
def test_the_word_is_a_label_or_an_annotation_in_any_case(where: str, kind: str) -> None:
    assert read("c cpu=1", kind, where).opportunistic == uses(1000, 0)


@pytest.mark.parametrize("kind", ["", "guaranteed", "GUARANTEED"])
def test_others_are_guaranteed(kind: str) -> None:
    found = read("c cpu=1", kind)
    assert (found.opportunistic, found.problem) == ((), "")


def test_a_word_that_is_none_is_the_pods_problem() -> None:
    found = read("c cpu=1", "best-effort")
    assert found.opportunistic == ()
    assert found.problem == (
        "metadata.labels[treadle.dev/execution-type]: 'best-effort' is no execution type; allowed are guaranteed and opportunistic"
    )


FORM = "a list, parted by semicolons, of CONTAINER cpu=AMOUNT memory=AMOUNT, as in c cpu=2 memory=1Gi;side cpu=1 memory=0"
BAD = {
    "cpu=1": f"'cpu=1' names no container or no amount; allowed is {FORM}",
    "c": f"'c' names no container or no amount; allowed is {FORM}",
    "c cpu=1;": f"'' names no container or no amount; allowed is {FORM}",
    "c cpu=1;c cpu=2": f"it names container c twice; allowed is {FORM}",
    "d cpu=1": "'d' is no container of the pod; allowed are c",
}
BAD_AMOUNT = {
    "c gpu=1": "'gpu=1' is not allowed; allowed are cpu=AMOUNT and memory=AMOUNT, once each",
    "c cpu": "'cpu' is not allowed; allowed are cpu=AMOUNT and memory=AMOUNT, once each",
    "c cpu=1 cpu=1": "'cpu=1' is not allowed; allowed are cpu=AMOUNT and memory=AMOUNT, once each",
    "c cpu=much": '\'cpu=much\': \'much\' is not a quantity such as "2", "500m", "1.5Gi" or "1e3"',
    "c cpu=-1": "'cpu=-1': an amount of 0 or more is allowed",
}


@pytest.mark.parametrize(("demand", "words"), BAD.items(), ids=BAD.keys())
def test_a_demand_that_makes_no_sense_is_told_with_what_is_allowed(demand: str, words: str) -> None:
    found = read(demand, containers=[container("c", limits={"cpu": "1"})])
    assert found.problem == f"metadata.annotations[treadle.dev/demand]: {words}"
    assert found.opportunistic == uses(1000, 0), "where it is on a node already it counts for its limits"


@pytest.mark.parametrize(("demand", "words"), BAD_AMOUNT.items(), ids=BAD_AMOUNT.keys())
def test_an_amount_that_makes_no_sense_is_told_with_its_container(demand: str, words: str) -> None:
    assert read(demand).problem == f"metadata.annotations[treadle.dev/demand][c]: {words}"


def test_a_demand_of_endless_length_is_not_read() -> None:
    assert "at most 16384 are allowed" in read("c " + "x" * 20_000).problem


def test_a_pod_that_says_nothing_of_what_it_uses_has_to() -> None:
    found = read()
    assert found.problem == (
        "metadata: an opportunistic pod (treadle.dev/execution-type) has to say what it will use of cpu or memory: "
        "by limits of its containers, or by the annotation treadle.dev/demand"
    )
    assert found.opportunistic == uses(0, 0)


def test_amounts_beyond_all_bounds_are_told() -> None:
    huge = str(UNBOUNDED)
    found = read(f"c memory={huge};d memory={huge}", containers=[container("c"), container("d")])
    assert "at most" in found.problem


@given(st.text(alphabet="c d;=cpumeory12GiM-.\n", max_size=40))
def test_whatever_is_written_is_read_or_refused_in_words(text: str) -> None:
    read(text)  # which raises nothing
    try:
        found = demand_of({DEMAND: text})
    except ValueError as error:
        words = str(error)
    else:
        words = ""
        assert all(set(amounts) <= {"cpu", "memory"} for amounts in found.values())
    assert not words or words.startswith("metadata.annotations[treadle.dev/demand]")
