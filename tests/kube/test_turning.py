"""What a pod on a node asks to request, and how that is written: as the API server takes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.access import task_of, until
from kube.idle_pods import GIB, TYPE, container
from kube.manifests import wired
from kube.stub import Answer, Request, StubClient, ok, refused, unreachable
from treadle.api.execution import DEMAND, PROMOTION
from treadle.core.effects import Resize
from treadle.core.events import PodGone, ResizeDone, ResizeFailed
from treadle.core.model import PodSpec
from treadle.kube import translate, turning, wire
from treadle.kube.resizer import TRIES, Resizer

Json = dict[str, Any]
LIMITS = {"cpu": "2", "memory": "1Gi"}


def manifest(
    kind: str, *containers: Json, demand: str = "c cpu=2 memory=1Gi", node: str = "n", promotion: str = "", **spec: Any
) -> Json:
    metadata = {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7", "labels": {TYPE: kind}}
    if demand:
        metadata["annotations"] = {DEMAND: demand, **({PROMOTION: promotion} if promotion else {})}
    held = list(containers) or [container("c", limits=LIMITS)]
    return {"metadata": metadata, "spec": {"schedulerName": "treadle", "nodeName": node, "containers": held, **spec}}


def read(kind: str, *containers: Json, **fields: Any) -> PodSpec:
    return translate.pod(wired(manifest(kind, *containers, **fields)))


def test_a_pod_whose_label_says_guaranteed_and_that_requests_nothing_asks_for_what_it_uses() -> None:
    found = read("guaranteed", container("c", limits={"cpu": "4", "memory": "1Gi"}))
    assert (found.promotes, found.demotes) == ((("cpu", 2000), ("memory", GIB)), False)
    assert found.opportunistic == (("cpu", 2000), ("memory", GIB)), "it counts as what it is until then"


def test_requests_that_would_equal_all_limits_stop_one_thousandth_of_a_cpu_short() -> None:
    assert read("guaranteed").promotes == (("cpu", 1999), ("memory", GIB))
    two = [container("c", limits=LIMITS), container("d", limits=LIMITS)]
    assert read("guaranteed", *two, demand="c cpu=2 memory=1Gi;d cpu=2 memory=1Gi").promotes == (
        ("cpu", 3999),
        ("memory", 2 * GIB),
    )


def test_a_limit_of_no_cpu_makes_no_request_below_nothing() -> None:
    none = {"cpu": "0", "memory": "1Gi"}
    seen = wired(manifest("guaranteed", container("c", limits=none)))
    assert turning.when_guaranteed(seen.spec, seen.metadata.annotations) == {"c": {"cpu": 0, "memory": GIB}}
    two = wired(manifest("guaranteed", container("c", limits=none), container("d", limits=LIMITS), demand="d cpu=2 memory=1Gi"))
    assert turning.when_guaranteed(two.spec, two.metadata.annotations)["d"] == {"cpu": 1999, "memory": GIB}


def test_what_is_asked_for_is_held_at_the_limits() -> None:
    assert read("guaranteed", demand="c cpu=9 memory=9Gi").promotes == (("cpu", 1999), ("memory", GIB))


def test_an_opportunistic_pod_that_says_so_asks_by_itself() -> None:
    found = read("opportunistic", promotion="Automatic")
    assert (found.promotes, found.promotes_itself, found.demotes) == ((("cpu", 1999), ("memory", GIB)), True, False)
    assert not read("guaranteed", promotion="automatic").promotes_itself, "its owner has asked already"
    assert read("opportunistic", promotion="on-request").promotes == ()
    assert read("opportunistic", promotion="automatic", node="").promotes == ()
    assert read("opportunistic", promotion="automatic", demand="").promotes == ()


def test_what_says_nothing_of_promotion_is_refused_with_what_is_allowed() -> None:
    words = "metadata.annotations[treadle.dev/promotion]: 'yes' says nothing of promotion; allowed are automatic and on-request"
    assert read("opportunistic", promotion="yes").problem == words


def test_a_container_that_the_annotation_leaves_out_requests_its_limits() -> None:
    two = [container("c", limits={"cpu": "9"}), container("d", limits={"cpu": "1"})]
    assert dict(read("guaranteed", *two, demand="c cpu=2").promotes)["cpu"] == 3000


def test_sidecars_are_resized_and_other_init_containers_are_not() -> None:
    init = [container("i", limits=LIMITS), container("s", limits={"cpu": "4"}, restartPolicy="Always")]
    found = read("guaranteed", demand="c cpu=1;i cpu=1;s cpu=3", initContainers=init)
    assert dict(found.promotes)["cpu"] == 4000


@pytest.mark.parametrize(
    ("kind", "containers", "fields"),
    [
        ("guaranteed", [], {"node": ""}),
        ("guaranteed", [], {"demand": ""}),
        ("guaranteed", [container("c", cpu="1", limits=LIMITS)], {}),
        ("guaranteed", [], {"demand": "nonsense"}),
        ("opportunistic", [], {}),
        ("opportunistic", [container("c", memory="1Ki", limits=LIMITS)], {}),
        ("opportunistic", [container("c", cpu="1", limits=LIMITS)], {"demand": ""}),
        ("opportunistic", [container("c", cpu="1", limits=LIMITS)], {"node": ""}),
        ("lazy", [container("c", cpu="1", limits=LIMITS)], {}),
    ],
)
def test_who_asks_for_nothing(kind: str, containers: list[Json], fields: Json) -> None:
    found = read(kind, *containers, **fields)
    assert (found.promotes, found.demotes) == ((), False)


def test_a_guaranteed_pod_whose_label_says_opportunistic_asks_to_request_nothing() -> None:
    found = read("opportunistic", container("c", cpu="1", memory="1Gi", limits=LIMITS))
    assert (found.promotes, found.demotes) == ((), True)
    assert found.demand == (("cpu", 1000), ("memory", GIB), ("pods", 1))


@pytest.mark.parametrize("promotion", ["", "automatic"])
def test_one_that_was_bound_as_a_guaranteed_pod_though_it_said_opportunistic_asks_for_nothing_by_saying_so_still(
    promotion: str,
) -> None:
    said = manifest("opportunistic", container("c", cpu="1", memory="1Gi", limits=LIMITS), promotion=promotion)
    notes = said["metadata"]["annotations"]
    notes["treadle.dev/bound-as"] = "guaranteed"
    assert not translate.pod(wired(said)).demotes
    del notes["treadle.dev/bound-as"]  # which is how its owner asks
    assert translate.pod(wired(said)).demotes


DEMAND_FORM = (
    "allowed is a list, parted by semicolons, of CONTAINER cpu=AMOUNT memory=AMOUNT, as in c cpu=2 memory=1Gi;side cpu=1 memory=0"
)


def bound_as(kind: str | None, what: str, *containers: Json, **fields: Any) -> PodSpec:
    """A pod on a node that was bound as one type and says by now that it is of another, or nothing."""
    said = manifest(kind or "", *containers, **fields)
    if kind is None:
        del said["metadata"]["labels"]
    said["metadata"].setdefault("annotations", {})["treadle.dev/bound-as"] = what
    return translate.pod(wired(said))


USED = (("cpu", 2000), ("memory", GIB))


@pytest.mark.parametrize(
    ("kind", "fields", "why"),
    [
        ("guaranteed", {"demand": ""}, "metadata.annotations[treadle.dev/demand]: it is not there, and says what the pod is to request; " + DEMAND_FORM),
        ("guaranteed", {"demand": "c cpu=two"}, "metadata.annotations[treadle.dev/demand][c]: 'cpu=two'"),
        ("guaranteed", {"demand": "c cpu=0"}, "metadata.annotations[treadle.dev/demand]: what it says comes to nothing that could be requested; allowed are amounts above 0"),
        ("guaranteed", {"demand": "d cpu=1"}, ""),
        ("lazy", {}, "metadata.labels[treadle.dev/execution-type]: 'lazy' is no execution type; allowed are guaranteed and opportunistic"),
        (None, {}, ""),
    ],
)  # fmt: skip
def test_one_that_was_bound_as_opportunistic_and_requests_nothing_stays_so_whatever_its_words_become(
    kind: str | None, fields: Json, why: str
) -> None:
    found = bound_as(kind, "opportunistic", **fields)
    assert found.opportunistic == (USED if fields.get("demand") != "c cpu=0" else (("cpu", 0), ("memory", GIB)))
    assert found.unheeded.startswith(why)
    if kind is not None:
        assert found.unheeded or found.promotes
    assert found.stays or found.promotes


def test_one_that_is_opportunistic_by_its_application_alone_is_told_that_its_promotion_is_not_acted_on() -> None:
    silent = manifest("", promotion="automatic")
    del silent["metadata"]["labels"]
    found = translate.pod(wired(silent))
    assert found.unheeded.startswith("metadata.annotations[treadle.dev/promotion]: it counts beside the label")
    assert (found.promotes, found.stays, found.opportunistic) == ((), False, ())


def test_one_that_was_bound_as_opportunistic_by_its_application_says_what_it_is_to_request_if_that_is_guaranteed() -> None:
    assert bound_as(None, "opportunistic").if_guaranteed == (("cpu", 1999), ("memory", GIB))
    assert bound_as(None, "opportunistic", demand="").if_guaranteed == ()
    assert bound_as(None, "opportunistic", demand="c cpu=two").if_guaranteed == ()
    assert bound_as(None, "opportunistic", container("c", memory="1Gi", limits=LIMITS)).if_guaranteed == ()
    assert bound_as(None, "guaranteed").if_guaranteed == ()
    assert bound_as("opportunistic", "opportunistic").if_guaranteed == ()


def test_one_that_was_demoted_and_says_nothing_any_more_counts_for_what_it_uses() -> None:
    found = bound_as(None, "opportunistic", container("c", memory="1Ki", limits=LIMITS))
    assert (found.opportunistic, found.stays) == (USED, True)


def test_one_that_was_bound_as_opportunistic_and_requests_something_by_now_is_guaranteed() -> None:
    for kind in ("guaranteed", None):
        found = bound_as(kind, "opportunistic", container("c", cpu="1", limits=LIMITS))
        assert (found.opportunistic, found.stays, found.unheeded) == ((), False, "")


@pytest.mark.parametrize(
    ("kind", "containers", "fields", "why"),
    [
        ("opportunistic", [], {"promotion": "at-once"}, "metadata.annotations[treadle.dev/promotion]: 'at-once' says nothing of promotion"),
        ("opportunistic", [], {"demand": "c cpu=two"}, "metadata.annotations[treadle.dev/demand][c]: 'cpu=two'"),
        ("opportunistic", [container("c", cpu="1", limits=LIMITS)], {"demand": ""}, "metadata.annotations[treadle.dev/demand]: it is not there"),
        ("lazy", [container("c", cpu="1", limits=LIMITS)], {}, "metadata.labels[treadle.dev/execution-type]: 'lazy' is no execution type"),
        ("guaranteed", [], {"demand": "nonsense"}, "metadata.annotations[treadle.dev/demand]: 'nonsense' names no container"),
        ("guaranteed", [], {"demand": ""}, ""),
        ("guaranteed", [container("c", cpu="1", limits=LIMITS)], {"demand": ""}, ""),
        ("opportunistic", [], {"demand": ""}, ""),
        ("opportunistic", [], {}, ""),
    ],
)  # fmt: skip
def test_what_a_pod_on_a_node_says_in_vain_is_told_with_what_is_allowed(
    kind: str, containers: list[Json], fields: Json, why: str
) -> None:
    assert read(kind, *containers, **fields).unheeded.startswith(why)
    assert bool(read(kind, *containers, **fields).unheeded) == bool(why)
    assert read(kind, *containers, **fields, node="").unheeded == ""


def test_one_that_is_to_be_promoted_by_itself_and_does_not_say_what_it_is_to_request_is_told() -> None:
    without = manifest("opportunistic", demand="")
    without["metadata"]["annotations"] = {PROMOTION: "automatic"}
    found = translate.pod(wired(without))
    assert found.unheeded.startswith("metadata.annotations[treadle.dev/demand]: it is not there")
    assert (found.opportunistic, found.promotes) == (USED, ())


def test_memory_is_lowered_to_1_ki_since_kubelets_keep_showing_the_old_request_otherwise() -> None:
    seen = wired(manifest("opportunistic", container("c", cpu="1", memory="1Gi"), container("d"), container("e", cpu="1")))
    assert seen.spec is not None
    assert turning.body(seen, turning.when_opportunistic(seen.spec)) == {
        "metadata": {"uid": "u", "resourceVersion": "7"},
        "spec": {
            "containers": [
                {"name": "c", "resources": {"requests": {"cpu": "0", "memory": "1Ki"}}},
                {"name": "e", "resources": {"requests": {"cpu": "0", "memory": "0"}}},
            ]
        },
    }


amount = st.sampled_from(["", "0", "1m", "500m", "2", "1Ki", "3Gi"])


@given(st.lists(st.tuples(amount, amount, amount), min_size=1, max_size=3))
def test_a_promotion_never_makes_the_class_guaranteed_nor_goes_beyond_a_limit(sizes: list[tuple[str, str, str]]) -> None:
    containers = [
        container(f"c{at}", limits={key: value for key, value in (("cpu", cpu), ("memory", memory)) if value})
        for at, (cpu, memory, _) in enumerate(sizes)
    ]
    said = ";".join(f"c{at} cpu={wants or '1'} memory=1Ki" for at, (_, _, wants) in enumerate(sizes))
    seen = wired(manifest("guaranteed", *containers, demand=said))
    assert seen.spec is not None
    found = turning.when_guaranteed(seen.spec, {DEMAND: said})
    equal = []
    for one in seen.spec.containers or ():
        limits = turning._amounts(one.resources.limits if one.resources is not None else None)
        requests = found.get(one.name, {})
        assert all(value <= limits.get(name, value) for name, value in requests.items())
        equal.append(len(limits) == 2 and all(0 < limits[name] == requests.get(name, 0) for name in limits))
    assert not all(equal)


# -- written


DECIDED = Resize("u", "ns", "a", True, 1)


async def outcome(answer: Callable[[Request], Answer], decided: Resize = DECIDED) -> tuple[list[Any], list[Request]]:
    outcomes: list[Any] = []
    client = StubClient(answer)
    resizer = Resizer(client, outcomes.append)  # type: ignore[arg-type]
    async with task_of(resizer.run()):
        resizer.submit(decided)
        await until(lambda: bool(outcomes))
    return outcomes, client.requests


def serving(body: Json, *answers: Answer) -> Callable[[Request], Answer]:
    left = list(answers)
    return lambda request: ok(200, body) if request.method == "GET" else left.pop(0)


async def test_what_a_pod_requests_is_written_for_the_pod_as_it_was_read() -> None:
    found, requests = await outcome(serving(manifest("guaranteed"), ok()))
    assert found == [ResizeDone("u", guaranteed=True)]
    assert [(one.method, one.path) for one in requests][1] == ("PATCH", "/api/v1/namespaces/ns/pods/a/resize")
    assert requests[1].body["metadata"] == {"uid": "u", "resourceVersion": "7"}
    assert requests[1].pool == "claims", "which only a leader may write with"


async def test_one_that_is_promoted_by_itself_says_what_it_is_before_it_requests_anything() -> None:
    idle, labelled = manifest("opportunistic", promotion="automatic"), manifest("guaranteed", promotion="automatic")
    labelled["metadata"]["resourceVersion"] = "8"
    found, requests = await outcome(serving(idle, ok(200, labelled), ok()))
    assert found == [ResizeDone("u", guaranteed=True)]
    pod = "/api/v1/namespaces/ns/pods/a"
    assert [(one.method, one.path) for one in requests] == [("GET", pod), ("PATCH", f"{pod}/status"), ("PATCH", f"{pod}/resize")]
    assert requests[1].body["metadata"] == {"uid": "u", "resourceVersion": "7", "labels": {TYPE: "guaranteed"}}
    assert requests[2].body["metadata"] == {"uid": "u", "resourceVersion": "8"}


async def test_one_whose_label_cannot_be_written_is_not_resized() -> None:
    idle = manifest("opportunistic", promotion="automatic")
    found, requests = await outcome(serving(idle, refused(403, "no")))
    assert found == [ResizeFailed("u", "403 no", refused=True)]
    assert len(requests) == 2


def promoted_by_itself(refusal: Answer, *more: Answer) -> Callable[[Request], Answer]:
    """A pod that says automatic: its label is taken, its requests are answered with a refusal, and it is read as it is by then."""
    idle, labelled = manifest("opportunistic", promotion="automatic"), manifest("guaranteed", promotion="automatic")
    labelled["metadata"]["resourceVersion"] = "8"
    writes, reads = [ok(200, labelled), refusal, *more], [ok(200, idle), ok(200, {**labelled})]
    return lambda request: reads.pop(0) if request.method == "GET" else writes.pop(0)


async def test_one_whose_requests_are_refused_after_its_label_was_written_says_again_what_it_is() -> None:
    found, requests = await outcome(promoted_by_itself(refused(403, "exceeded quota"), ok()))
    assert found == [ResizeFailed("u", "403 exceeded quota", refused=True)]
    assert [one.path.rpartition("/")[2] for one in requests] == ["a", "status", "resize", "status"]
    assert requests[3].body["metadata"] == {"uid": "u", "resourceVersion": "8", "labels": {TYPE: "opportunistic"}}


async def test_its_label_is_written_back_to_the_pod_as_it_is_by_then() -> None:
    found, requests = await outcome(promoted_by_itself(refused(403, "no"), refused(409), ok()))
    assert found == [ResizeFailed("u", "403 no", refused=True)]
    assert [one.path.rpartition("/")[2] for one in requests] == ["a", "status", "resize", "status", "a", "status"]


async def test_a_label_that_an_owner_wrote_and_no_automatic_stands_though_it_is_refused() -> None:
    found, requests = await outcome(serving(manifest("guaranteed"), refused(403, "no")))
    assert found == [ResizeFailed("u", "403 no", refused=True)]
    assert len(requests) == 2


async def test_it_is_written_of_a_pod_that_is_demoted_that_it_is_opportunistic() -> None:
    asks = manifest("opportunistic", container("c", cpu="1", limits=LIMITS))
    noted = manifest("opportunistic", container("c", cpu="1", limits=LIMITS))
    noted["metadata"]["resourceVersion"] = "8"
    found, requests = await outcome(serving(asks, ok(200, noted), ok()), DECIDED._replace(guaranteed=False))
    assert found == [ResizeDone("u", guaranteed=False)]
    assert [one.path.rpartition("/")[2] for one in requests] == ["a", "status", "resize"]
    assert requests[1].body["metadata"]["annotations"] == {"treadle.dev/bound-as": "opportunistic"}
    assert requests[2].body["metadata"] == {"uid": "u", "resourceVersion": "8"}


async def test_a_pod_that_changed_is_read_again() -> None:
    found, requests = await outcome(serving(manifest("guaranteed"), refused(409), ok()))
    assert found == [ResizeDone("u", guaranteed=True)]
    assert [one.method for one in requests] == ["GET", "PATCH", "GET", "PATCH"]


async def test_one_that_changes_again_and_again_is_left_for_a_while() -> None:
    found, _ = await outcome(serving(manifest("guaranteed"), *[refused(409)] * TRIES))
    assert found == [ResizeFailed("u", "the pod changes again and again")]


@pytest.mark.parametrize(("code", "is_refusal"), [(422, True), (403, True), (404, True), (500, False), (429, False)])
async def test_a_refusal_is_told_in_the_servers_words(code: int, is_refusal: bool) -> None:
    found, _ = await outcome(serving(manifest("guaranteed"), refused(code, "no")))
    assert found == [ResizeFailed("u", f"{code} no", is_refusal)]


async def test_a_pod_that_asks_for_it_no_longer_is_not_touched() -> None:
    found, requests = await outcome(serving(manifest("opportunistic")))
    assert found == [ResizeFailed("u", "the pod does not ask for it any more")]
    assert len(requests) == 1


async def test_one_whose_application_is_guaranteed_by_now_is_resized_and_gets_no_label() -> None:
    silent = manifest("")
    del silent["metadata"]["labels"]
    silent["metadata"]["annotations"]["treadle.dev/bound-as"] = "opportunistic"
    found, requests = await outcome(serving(silent, ok()))
    assert found == [ResizeDone("u", guaranteed=True)]
    assert [one.path for one in requests] == ["/api/v1/namespaces/ns/pods/a", "/api/v1/namespaces/ns/pods/a/resize"]


async def test_a_pod_that_is_gone_or_another_of_its_name_is_gone() -> None:
    assert (await outcome(lambda _: refused(404)))[0] == [PodGone("u")]
    other = manifest("guaranteed")
    other["metadata"]["uid"] = "another"
    assert (await outcome(serving(other)))[0] == [PodGone("u")]


async def test_a_server_that_does_not_answer_leaves_it_for_a_while() -> None:
    (found,), _ = await outcome(lambda _: unreachable())
    assert isinstance(found, ResizeFailed)
    assert not found.refused


async def test_who_does_not_lead_any_more_changes_nothing() -> None:
    outcomes: list[Any] = []
    client = StubClient(serving(manifest("guaranteed"), ok()))
    resizer = Resizer(client, outcomes.append)  # type: ignore[arg-type]
    resizer.submit(DECIDED)
    resizer.withdraw()
    assert [(one.uid, one.refused) for one in outcomes] == [("u", False)]
    assert client.requests == []


def test_a_pod_without_a_spec_asks_for_nothing() -> None:
    assert turning.turns(wire.Pod()) == turning.NOTHING
