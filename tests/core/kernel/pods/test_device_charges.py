"""Devices of claims count against queues: how many, as what, whom they are charged to, and how many there are to share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.builders import Scenario, a_pod, limits
from core.clusters import Cluster, Partitioned
from core.kernel.devices.test_claims import asking, claim, gpus, planned, reserved, see, slice_of, why, written
from treadle.core.effects import Evict, ReserveDevices
from treadle.core.events import BindDone, DevicesGone, DevicesKnown, PodGone, PodSeen
from treadle.core.model import Constraints, FairSettings, PodSpec
from treadle.core.model.devices import (
    ALL,
    Alternative,
    Consumer,
    ContainerAsk,
    DeviceClaimSpec,
    DeviceClassSpec,
    DeviceRequest,
    DeviceSelector,
    DeviceSpec,
    PodClaims,
)

GPU = "nvidia.com/gpu"
CLASS = DeviceClassSpec("gpu", resource=GPU)


def a_cluster(gpus_each: int = 4, **fields: Any) -> Scenario:
    found = Scenario().tell(DevicesKnown(known=True)).scheduler(**fields)
    for number in range(2):
        found.node(f"n{number}", cpu=32, memory=64)
        see(found, slice_of(f"n{number}", *gpus(gpus_each)))
    see(found, CLASS)
    return found


@pytest.fixture
def at() -> Scenario:
    return a_cluster().queue("root").queue("root.a", maximum=limits(**{GPU: 4})).queue("root.b")


def pod(name: str, *claims: str, queue: str = "root.a", **fields: Any) -> PodSpec:
    fields = {"application": f"app-{queue}", **fields}
    return a_pod(name, queue, constraints=Constraints(claims=PodClaims("ns", tuple((one, False) for one in claims))), **fields)


def run(at: Scenario) -> list[str]:
    """Plan until nothing is placed any more, with an API that says yes; returns the pods that were placed."""
    found: dict[str, None] = {}
    while effects := planned(at):
        for effect in effects:
            if isinstance(effect, ReserveDevices):
                found[effect.uid] = None
                written(at, effect)
    return list(found)


def used(at: Scenario, path: str) -> int:
    return int(at.used(path, GPU))


def to_share(at: Scenario) -> int:
    at.wait(10)
    at.core.plan(at.now)
    state = at.core.state
    return state.cluster.total[state.types.index[GPU]]


def test_pods_wait_for_the_maximum_of_their_queue_of_what_their_claims_ask_for(at: Scenario) -> None:
    see(at, *(claim(f"c{number}", asking(count=2)) for number in range(3)))
    at.tell(*(PodSeen(pod(f"p{number}", f"c{number}")) for number in range(3)))
    assert run(at) == ["p0", "p1"]
    assert used(at, "root.a") == used(at, "root") == 4
    words = "queue root.a is at its maximum (maxResources): nvidia.com/gpu 4 used of 4, 2 wanted, 2 missing"
    assert why(at, "p2") == ("QueueMaximum", words)
    at.tell(PodGone("p0"), DevicesGone(DeviceClaimSpec, "ns/c0"))
    assert run(at) == ["p2"]
    assert used(at, "root.a") == 4


def test_a_pod_that_asks_for_more_devices_than_its_queue_may_ever_have_says_so(at: Scenario) -> None:
    at.queue("root.a", maximum=limits(**{GPU: 0}))
    see(at, claim("c"))
    at.tell(PodSeen(pod("p", "c")))
    assert run(at) == []
    assert why(at, "p") == (
        "ZeroMaximum",
        "nvidia.com/gpu: 1 is asked for, and queue root.a may have none of it (maxResources is 0)",
    )
    at.queue("root.a", max_container=limits(**{GPU: 1}))
    see(at, claim("d", asking(count=3)))
    at.tell(PodSeen(pod("q", "d")))
    assert run(at) == ["p"]
    assert why(at, "q")[0] == "OverMaxAllocation"


def test_a_class_counts_as_the_scheduler_says_or_else_as_the_resource_that_it_serves_or_not_at_all(at: Scenario) -> None:
    see(at, DeviceClassSpec("plain"), claim("c"), claim("d", asking("plain")))
    at.tell(PodSeen(pod("p", "c")), PodSeen(pod("q", "d")))
    assert run(at) == ["p", "q"]
    assert used(at, "root.a") == 1
    at.scheduler(device_classes={"plain": GPU, "gpu": "example.com/accelerator"})
    at.core.plan(at.now)
    assert (used(at, "root.a"), at.used("root.a", "example.com/accelerator")) == (1, 1)
    at.scheduler(device_classes={"plain": GPU})
    at.core.plan(at.now)
    assert (used(at, "root.a"), at.used("root.a", "example.com/accelerator")) == (2, 0)
    see(at, DeviceClassSpec("gpu"))
    at.core.plan(at.now)
    assert used(at, "root.a") == 1


def test_there_is_to_share_what_nodes_have_themselves_and_what_slices_of_known_nodes_have(at: Scenario) -> None:
    assert to_share(at) == 8
    at.node("n2", resources={GPU: 3})
    see(at, slice_of("n7", *gpus(2)), replace(slice_of("fabric", *gpus(5)), node="", all_nodes=True))
    assert to_share(at) == 8 + 3 + 5
    at.node("n7")
    assert to_share(at) == 8 + 3 + 5 + 2
    see(at, replace(slice_of("n1", *gpus(1)), generation=2))
    assert to_share(at) == 5 + 3 + 5 + 2
    at.without_node("n2")
    see(at, DeviceClassSpec("gpu", (DeviceSelector("first", lambda _, device: device.name == "gpu-0"),), resource=GPU))
    assert to_share(at) == 4
    see(at, DeviceClassSpec("all", resource=GPU))
    assert to_share(at) == 5 + 5 + 2, "a device that two classes select counts once"


def test_percentages_of_devices_are_of_what_there_is(at: Scenario) -> None:
    at.queue("root.a", maximum=limits(**{GPU: "25%"}))
    see(at, *(claim(f"c{number}") for number in range(3)))
    at.tell(*(PodSeen(pod(f"p{number}", f"c{number}")) for number in range(3)))
    assert run(at) == ["p0", "p1"]
    assert why(at, "p2")[0] == "QueueMaximum"


def test_a_claim_of_several_pods_is_charged_once_to_the_first_that_it_is_reserved_for(at: Scenario) -> None:
    see(at, claim("c", asking(count=4)))
    at.tell(*(PodSeen(pod(f"p{number}", "c")) for number in range(3)), PodSeen(pod("q", "c", queue="root.b")))
    assert sorted(run(at)) == ["p0", "p1", "p2", "q"]
    charged = [path for path in ("root.a", "root.b") if used(at, path)]
    assert sum(used(at, path) for path in ("root.a", "root.b")) == 4
    assert len(charged) == 1
    (first,) = (one.uid for one in at.core.state.shapes.devices.claims["ns/c"].reserved[:1])
    assert at.core.state.pods[first].spec.queue == charged[0]


def test_when_the_pod_that_was_charged_leaves_the_next_one_is(at: Scenario) -> None:
    see(at, claim("c", asking(count=3)))
    at.tell(PodSeen(pod("p", "c")))
    assert run(at) == ["p"]
    at.tell(PodSeen(pod("q", "c", queue="root.b")))
    assert run(at) == ["q"]
    assert (used(at, "root.a"), used(at, "root.b")) == (3, 0)
    at.tell(PodGone("p"))
    assert (used(at, "root.a"), used(at, "root.b")) == (0, 3)
    at.tell(PodGone("q"))
    assert (used(at, "root.a"), used(at, "root.b"), used(at, "root")) == (0, 0, 0)


def test_pods_that_wait_with_a_claim_of_others_demand_it_once(at: Scenario) -> None:
    at.queue("root.a", maximum=limits(**{GPU: 3}))
    see(at, claim("c", asking(count=4)))
    at.tell(*(PodSeen(pod(f"p{number}", "c")) for number in range(5)))
    assert run(at) == []
    at.core.refresh_shares()
    state = at.core.state
    assert state.tree.queues["root.a"].pending[state.types.index[GPU]] == 4
    at.queue("root.a")
    assert len(run(at)) == 5
    assert used(at, "root.a") == 4


def test_a_gang_with_one_claim_for_all_starts_where_the_claim_fits_below_the_maximum(at: Scenario) -> None:
    see(at, claim("c", asking(count=4)))
    fields: dict[str, Any] = {"gang": "workers", "gang_minimums": (("workers", 3),)}
    at.tell(*(PodSeen(pod(f"p{number}", "c", **fields)) for number in range(3)))
    assert sorted(run(at)) == ["p0", "p1", "p2"]
    assert used(at, "root.a") == 4


def test_a_gang_whose_claims_are_beyond_the_maximum_never_starts_and_says_so(at: Scenario) -> None:
    see(at, *(claim(f"c{number}", asking(count=2)) for number in range(3)))
    fields: dict[str, Any] = {"gang": "workers", "gang_minimums": (("workers", 3),)}
    at.tell(*(PodSeen(pod(f"p{number}", f"c{number}", **fields)) for number in range(3)))
    assert run(at) == []
    assert why(at, "p0")[0] == "GangOverMaximum"
    assert used(at, "root.a") == 0


def test_what_a_claim_has_is_charged_when_it_has_it(at: Scenario) -> None:
    """A claim for all devices counts as one until it is known how many they are."""
    see(at, claim("every", asking(mode=ALL)))
    at.tell(PodSeen(pod("p", "every")))
    reserved(at)
    assert used(at, "root.a") == 4
    at.tell(PodGone("p"))
    assert used(at, "root.a") == 0


def test_the_first_alternative_counts_until_another_is_had(at: Scenario) -> None:
    first = Alternative("large", "ghost", count=2)
    see(at, DeviceClassSpec("ghost", (DeviceSelector("none", lambda _, __: False),), resource=GPU))
    see(at, claim("c", DeviceRequest("r", (first, Alternative("small", "gpu", count=3)), first=True)))
    at.queue("root.a", maximum=limits(**{GPU: 1}))
    at.tell(PodSeen(pod("p", "c")))
    assert run(at) == []
    assert "2 wanted" in why(at, "p")[1]
    at.queue("root.a", maximum=limits(**{GPU: 2}))
    assert run(at) == ["p"]
    assert used(at, "root.a") == 3


def test_admin_access_counts_for_nothing(at: Scenario) -> None:
    see(at, claim("c", asking(count=4, admin=True)))
    at.tell(PodSeen(pod("p", "c")))
    assert run(at) == ["p"]
    assert used(at, "root.a") == 0


def test_charges_follow_the_claim_of_a_pod_that_runs(at: Scenario) -> None:
    see(at, claim("c", asking(count=2)))
    at.tell(PodSeen(pod("p", "c")))
    run(at)
    at.tell(BindDone("p"), PodSeen(replace(pod("p", "c"), node="n0")))
    assert used(at, "root.a") == 2
    has = at.core.state.shapes.devices.claims["ns/c"]
    assert has.allocation is not None
    see(at, replace(has, version="9", allocation=replace(has.allocation, results=has.allocation.results[:1])))
    at.core.plan(at.now)
    assert used(at, "root.a") == 1
    at.tell(DevicesGone(DeviceClaimSpec, "ns/c"))
    at.core.plan(at.now)
    assert used(at, "root.a") == 0


def test_a_pod_that_runs_when_it_is_first_seen_is_charged_for_what_it_has(at: Scenario) -> None:
    see(at, claim("c", asking(count=2)))
    at.tell(PodSeen(pod("p", "c")))
    run(at)
    again = Scenario()
    for event in at.core.facts():
        again.tell(event)
    again.core.plan(at.now)
    assert again.used("root.a", GPU) == 2


def test_an_extended_resource_that_a_class_serves_counts_as_what_the_class_does(at: Scenario) -> None:
    asks = (ContainerAsk(0, "main", False, ((GPU, 3, 1),)),)
    spec = a_pod("p", "root.a", resources={GPU: 3}, constraints=Constraints(claims=PodClaims("ns", asks=asks)))
    at.tell(PodSeen(spec))
    reserved(at)
    assert used(at, "root.a") == 3
    at.tell(PodSeen(replace(spec, uid="q", name="q")))
    planned(at)
    assert why(at, "q")[0] == "QueueMaximum"
    at.node("n9", resources={GPU: 8}).queue("root.a", maximum=limits(**{GPU: 6})).tell(PodGone("p"))
    assert used(at, "root.a") == 0
    planned(at)
    assert used(at, "root.a") == 3, "wherever it is placed"


def test_a_node_is_not_full_for_what_it_has_as_devices_and_full_for_what_it_has_itself() -> None:
    at = Scenario().tell(DevicesKnown(known=True)).node("n0", cpu=32, memory=64, resources={GPU: 1})
    see(at, CLASS, slice_of("n0", *gpus(2)), claim("c", asking(count=2)))
    at.tell(PodSeen(pod("p", "c", queue="")), PodSeen(a_pod("q", resources={GPU: 1})), PodSeen(a_pod("r", resources={GPU: 1})))
    placed = {effect.uid for effect in planned(at)}
    assert placed == {"p", "q"}
    assert why(at, "r") == ("Unschedulable", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
    assert to_share(at) == 3
    assert at.used("root", GPU) == 3


def test_pods_of_others_take_their_devices_off_what_there_is_to_share(at: Scenario) -> None:
    has = claim("c", asking(count=3))
    see(at, has)
    at.tell(PodSeen(pod("p", "c")))
    run(at)
    now = replace(at.core.state.shapes.devices.claims["ns/c"], reserved=(Consumer("x", "x"),))
    at.tell(PodGone("p"))
    see(at, now)
    at.tell(PodSeen(replace(pod("x", "c"), scheduler="default-scheduler", node="n0")))
    assert to_share(at) == 5
    assert used(at, "root") == 0
    at.tell(PodGone("x"))
    assert to_share(at) == 8


def test_under_drf_devices_are_a_share_like_any_other_resource() -> None:
    at = a_cluster().queue("root").queue("root.a").queue("root.b")
    see(at, *(claim(f"{queue}{number}") for queue in "ab" for number in range(8)))
    at.tell(*(PodSeen(pod(f"a{number}", f"a{number}", cpu=1)) for number in range(8)))
    at.tell(*(PodSeen(pod(f"b{number}", f"b{number}", queue="root.b", cpu=1)) for number in range(8)))
    assert len(run(at)) == 8
    assert (used(at, "root.a"), used(at, "root.b")) == (4, 4)
    at.core.refresh_shares()
    state = at.core.state
    assert state.tree.queues["root.a"].fair_share[state.types.index[GPU]] == 4


def test_masters_count_their_devices_among_what_masters_of_a_queue_hold() -> None:
    at = a_cluster(fair=FairSettings(queue_max_master_share_default=0.5)).queue("root").queue("root.a")
    see(at, claim("c", asking(count=3)), claim("d", asking(count=3)))
    at.tell(PodSeen(pod("p", "c", role="master")))
    run(at)
    state = at.core.state
    assert state.tree.queues["root.a"].master_usage[state.types.index[GPU]] == 3
    at.tell(PodSeen(pod("q", "d", role="master", application="other")))
    run(at)
    assert why(at, "q")[0] == "MasterShare"
    at.tell(PodGone("p"))
    run(at)
    assert state.tree.queues["root.a"].master_usage[state.types.index[GPU]] == 3


def test_a_capacity_is_a_part_of_the_devices_of_its_partition() -> None:
    at = Partitioned().partitions(gpu=True)
    at.tell(DevicesKnown(known=True))
    see(at, CLASS)
    at.queue("root")
    at.shares("root.a", "50%", "25%", "25%").shares("root.b", "50%", "75%", "75%")
    at.machines(1, 1, cpu=32)
    see(at, slice_of("gpu-0", *gpus(8)), *(claim(f"c{number}") for number in range(4)))
    at.tell(*(PodSeen(replace(pod(f"p{number}", f"c{number}"), partition="gpu")) for number in range(4)))
    assert run(at) == ["p0", "p1"]
    reason, words = why(at, "p2")
    assert reason == "QueueMaximum"
    assert "nvidia.com/gpu 2 used of 2" in words


def test_a_device_of_a_part_counts_as_one(at: Scenario) -> None:
    see(at, slice_of("n0", DeviceSpec("big", multiple=True)), claim("c"), claim("d"))
    at.node("n1", unschedulable=True)
    at.tell(PodSeen(pod("p", "c")), PodSeen(pod("q", "d")))
    assert run(at) == ["p", "q"]
    assert used(at, "root.a") == 2


def test_charges_follow_a_node_into_another_partition() -> None:
    at = Partitioned().partitions(gpu=True)
    at.tell(DevicesKnown(known=True))
    see(at, CLASS)
    at.queue("root")
    at.shares("root.a", "100%", "100%", "100%")
    at.machines(1, 1, cpu=32)
    see(at, slice_of("gpu-0", *gpus(8)), claim("c", asking(count=3)))
    at.tell(PodSeen(replace(pod("p", "c"), partition="gpu")))
    assert run(at) == ["p"]
    queue = at.core.state.tree.queues["root.a"]
    at_gpu = at.core.state.types.index[GPU]
    assert (queue.usage[at_gpu], queue.parts["gpu"].usage[at_gpu]) == (0, 3)
    at.node("gpu-0", cpu=32, memory=64)
    at.core.plan(at.now)
    assert (queue.usage[at_gpu], queue.parts["gpu"].usage[at_gpu]) == (3, 0)
    at.wait(10)
    at.core.plan(at.now)
    assert at.core.state.cluster.total[at_gpu] == 8


def test_a_user_is_limited_by_devices_of_claims_under_the_capacity_discipline() -> None:
    at = Cluster().capacity()
    at.tell(DevicesKnown(known=True))
    see(at, CLASS)
    at.queue("root")
    at.share("root.a", "100%", user_limit_factor=0.5)
    for number in range(2):
        at.node(f"n{number}", cpu=32, memory=64)
        see(at, slice_of(f"n{number}", *gpus(4)))
    see(at, *(claim(f"c{number}") for number in range(8)))
    at.tell(*(PodSeen(pod(f"p{number}", f"c{number}", user="ann")) for number in range(8)))
    placed = run(at)
    assert len(placed) == 5, "one is over the limit by what is placed last, as in YARN"
    assert why(at, "p7")[0] == "UserLimit"
    assert "nvidia.com/gpu" in why(at, "p7")[1]


def test_a_pod_that_is_preempted_gives_its_devices_back_to_its_queue() -> None:
    fair = FairSettings(preemption=True, fair_share_timeout=5.0, fair_share_threshold=1.0)
    at = a_cluster(fair=fair).queue("root").queue("root.a").queue("root.b")
    for number in range(2):
        at.node(f"n{number}", cpu=4, memory=64)
    see(at, *(claim(f"c{number}") for number in range(8)))
    at.tell(*(PodSeen(pod(f"p{number}", f"c{number}", queue="root.b")) for number in range(8)))
    assert len(run(at)) == 8
    for uid, record in list(at.core.state.pods.items()):
        at.tell(BindDone(uid), PodSeen(replace(record.spec, node=at.core.state.nodes.names[record.node])))
    at.tell(*(PodSeen(a_pod(f"q{number}", "root.a", "q")) for number in range(8)))
    victims: list[str] = []
    for _ in range(60):
        at.wait(1.0)
        for effect in at.core.plan(at.now):
            if isinstance(effect, Evict):
                victims.append(effect.uid)
                at.tell(PodGone(effect.uid), DevicesGone(DeviceClaimSpec, f"ns/c{effect.uid[1:]}"))
    assert len(victims) == 4, "as many as bring both to the half that is theirs, and no more"
    assert used(at, "root.b") == 4
