"""Claims for devices, told as a story: what is decided, what the API says, and what comes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.builders import Scenario, a_node, a_pod
from core.claims import asking, claim, gpus, planned, reserved, see, slice_of, why, with_claims, written
from treadle.core import Core
from treadle.core.effects import Bind, FreeDevices, ReserveDevices
from treadle.core.events import BindFailed, DevicesGone, DevicesKnown, NodeGone, NodeSeen, PodGone, PodSeen
from treadle.core.model import Constraints, PodSpec, Requirement
from treadle.core.model.devices import (
    ALL,
    MOST_CONSUMERS,
    PROTECTION,
    Allocation,
    Alternative,
    AttributeConstraint,
    Consumer,
    ContainerAsk,
    DeviceCapacity,
    DeviceClaimSpec,
    DeviceClassSpec,
    DeviceRequest,
    DeviceResult,
    DeviceSelector,
    DeviceSpec,
    DeviceTaint,
    DeviceToleration,
    PodClaims,
    SelectorProblem,
    SliceSpec,
)

GPU = DeviceClassSpec("gpu", configs=('{"driver":"d"}',))


def on(*names: str) -> tuple[tuple[Requirement, ...], ...]:
    return ((Requirement("metadata.name", "In", names, field=True),),)


@pytest.fixture
def at() -> Scenario:
    found = Scenario().tell(DevicesKnown(known=True))
    for number in range(2):
        found.node(f"n{number}")
    see(found, GPU)
    return found


def test_a_pod_is_bound_when_its_claim_has_devices_and_is_reserved_for_it(at: Scenario) -> None:
    see(at, slice_of("n1", *gpus(2)), claim("c", asking(count=2), finalizers=("mine",)))
    at.tell(PodSeen(with_claims("p", "c")))
    asked = reserved(at)
    (one,) = asked.claims
    assert (asked.node, one.version, one.reserved, one.finalizers) == ("n1", "1", (Consumer("p", "p"),), ("mine",))
    assert one.allocation is not None
    assert [result.device for result in one.allocation.results] == ["gpu-0", "gpu-1"]
    assert one.allocation.nodes == on("n1")
    assert [(config.source, config.requests) for config in one.allocation.configs] == [("FromClass", ("r",))]
    assert planned(at) == []
    written(at, asked)
    (bound,) = planned(at)
    assert isinstance(bound, Bind)
    assert bound.node == "n1"


def test_what_is_decided_is_in_use_at_once(at: Scenario) -> None:
    see(at, slice_of("n0", *gpus(1)), claim("a"), claim("b"))
    at.tell(PodSeen(with_claims("first", "a")), PodSeen(with_claims("second", "b")))
    asked = reserved(at)
    assert asked.uid == "first"
    assert why(at, "second") == ("Unschedulable", "0/2 nodes are available: 2 cannot allocate all claims.")


def test_devices_are_kept_for_a_pod_that_is_gone_until_it_is_known_what_became_of_its_write(at: Scenario) -> None:
    see(at, slice_of("n0", *gpus(1)), claim("a"), claim("b"))
    at.tell(PodSeen(with_claims("first", "a")), PodSeen(with_claims("second", "b")))
    asked = reserved(at)
    at.tell(PodGone("first"))
    assert planned(at) == [], "the write may still be taken"
    written(at, asked)
    assert planned(at) == [], "it was"
    at.tell(DevicesGone(DeviceClaimSpec, "ns/a"))
    assert reserved(at).uid == "second"


def test_a_write_that_was_not_taken_frees_the_devices(at: Scenario) -> None:
    see(at, slice_of("n0", *gpus(1)), claim("a"), claim("b"))
    at.tell(PodSeen(with_claims("first", "a")), PodSeen(with_claims("second", "b")))
    reserved(at)
    at.tell(PodGone("first"), BindFailed("first", "transient", "conflict"))
    assert reserved(at).uid == "second"


def test_pods_that_share_a_claim_are_placed_together_and_reserve_it_one_after_the_other(at: Scenario) -> None:
    see(at, slice_of("n0", *gpus(1)), slice_of("n1", *gpus(1)), claim("c"))
    at.tell(*(PodSeen(with_claims(f"p{number}", "c")) for number in range(3)))
    first, *others = planned(at)
    assert isinstance(first, ReserveDevices)
    assert all(isinstance(one, ReserveDevices) and not one.claims and one.node == first.node for one in others)
    written(at, first)
    found = planned(at)
    assert sum(isinstance(one, Bind) for one in found) == 1
    asked = [one for one in found if isinstance(one, ReserveDevices)]
    assert [one.claims[0].allocation for one in asked] == [None, None]
    for one in asked:
        written(at, one)
    assert len(planned(at)) == 2


def test_a_claim_that_was_allocated_before_is_used_where_its_devices_are(at: Scenario) -> None:
    allocation = Allocation((DeviceResult("r", "driver", "n1", "gpu-0"),), on("n1"))
    see(at, slice_of("n1", *gpus(1)), slice_of("n0", *gpus(4)), claim("c", allocation=allocation))
    at.tell(PodSeen(with_claims("p", "c")))
    asked = reserved(at)
    assert (asked.node, asked.claims[0].allocation) == ("n1", None)
    written(at, asked)
    assert [type(one) for one in planned(at)] == [Bind]


def test_devices_where_a_pod_cannot_go_are_given_back_if_nobody_else_has_them(at: Scenario) -> None:
    allocation = Allocation((DeviceResult("r", "driver", "gone", "gpu-0"),), on("gone"))
    other = (Consumer("other"),)
    see(at, slice_of("n0", *gpus(1)), claim("c", allocation=allocation), claim("d", allocation=allocation, reserved=other))
    at.tell(PodSeen(with_claims("p", "c")), PodSeen(with_claims("q", "d")))
    planned(at)
    (freed,) = planned(at)
    assert freed[:4] == ("p", "ns", "c", "1")
    assert planned(at) == [], "it is asked for once"
    see(at, claim("c", allocation=None))
    assert reserved(at).node == "n0"


def test_a_node_that_is_gone_is_not_waited_for(at: Scenario) -> None:
    see(at, slice_of("n1", *gpus(1)), claim("c"))
    at.tell(PodSeen(with_claims("p", "c")))
    reserved(at)
    at.tell(NodeGone("n1"))
    planned(at)
    assert at.used("root.default") == 0


def test_a_pod_is_bound_when_its_devices_are_ready_and_placed_anew_when_they_will_not_be(at: Scenario) -> None:
    see(at, slice_of("n0", *gpus(1, conditions=("Ready",), failures=("Broken",))), claim("c"))
    at.tell(PodSeen(with_claims("p", "c")))
    asked = reserved(at)
    written(at, asked)
    assert planned(at) == []
    now = at.core.state.shapes.devices.claims["ns/c"]
    device = ("driver", "n0", "gpu-0")
    see(at, replace(now, conditions=((device, "Broken"),)))
    assert planned(at) == []
    assert at.used("root.default") == 0
    see(at, replace(now, conditions=((device, "Ready"),)))
    at.wait(60.0)
    assert [type(one) for one in planned(at)] == [Bind]


PROBLEMS: dict[str, tuple[DeviceClaimSpec | None, str, str]] = {
    "there is no claim": (None, "DevicesNotReady", 'could not find ResourceClaim "ns/c"'),
    "it is being deleted": (claim("c", deleting=True), "DevicesNotReady", 'resourceclaim "c" is being deleted'),
    "there is no class": (claim("c", asking("x")), "DevicesNotReady", "request r: device class x does not exist"),
    "it has all the pods that it can": (
        claim("c", allocation=Allocation(), reserved=tuple(Consumer(f"u{at}") for at in range(MOST_CONSUMERS))),
        "DevicesNotReady",
        'resourceclaim "c" is reserved for 256 pods; at most 256 are allowed',
    ),
    "it has what is not known": (
        claim("c", problem="spec.devices.requests[r].allocationMode Some"),
        "UnsupportedConstraint",
        'not supported: spec.devices.requests[r].allocationMode Some of resourceclaim "c"; the pod is not placed against its own rule',
    ),
}


@pytest.mark.parametrize(("known", "reason", "words"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_pod_says_what_is_wrong_with_its_claim(at: Scenario, known: DeviceClaimSpec | None, reason: str, words: str) -> None:
    see(at, slice_of("n0", *gpus(1)), *([known] if known is not None else []))
    at.tell(PodSeen(with_claims("p", "c")))
    assert why(at, "p") == (reason, words)
    see(at, claim("c"))
    assert reserved(at).node == "n0"


def test_a_claim_that_is_not_made_yet_is_waited_for(at: Scenario) -> None:
    see(at, slice_of("n0", *gpus(1)))
    at.tell(PodSeen(with_claims("p", waiting=("gpu",))))
    words = 'waiting for the resourceclaim controller to create the claim of spec.resourceClaims "gpu"'
    assert why(at, "p") == ("DevicesNotReady", words)
    made = a_pod("p", constraints=Constraints(claims=PodClaims("ns", (("made", True),), pod="p", name="p")))
    at.tell(PodSeen(made))
    see(at, claim("made", owner="other"))
    assert why(at, "p") == ("DevicesNotReady", "ResourceClaim ns/made was not created for Pod ns/p (Pod is not owner)")
    see(at, claim("made", owner="p"))
    assert reserved(at).node == "n0"


def fails(_: str, device: DeviceSpec) -> bool:
    raise SelectorProblem(f"it fails for device {device.name}")


HALF = DeviceCapacity(4, default=1)
CHOICES: dict[str, tuple[tuple[SliceSpec, ...], DeviceClaimSpec, str]] = {
    "a selector that fails": (
        (slice_of("n0", *gpus(1)),),
        claim("c", asking(selectors=(DeviceSelector("x.y", fails),))),
        "the claim: the selector `x.y`: it fails for device gpu-0",
    ),
    "a taint": (
        (slice_of("n0", *gpus(1, taints=(DeviceTaint("sick", effect="NoExecute"),))),),
        claim("c"),
        "cannot allocate all claims",
    ),
    "a taint that is tolerated": (
        (slice_of("n0", *gpus(1, taints=(DeviceTaint("sick", effect="NoSchedule"),))),),
        claim("c", asking(tolerations=(DeviceToleration("sick", "Exists"),))),
        "",
    ),
    "a pool that is not complete": ((replace(slice_of("n0", *gpus(1)), count=2),), claim("c"), "cannot allocate all claims"),
    "all of a pool that is not complete": (
        (replace(slice_of("n0", *gpus(1)), count=2),),
        claim("c", asking(mode=ALL)),
        "request r: asks for all devices, but resource pool driver/n0 is currently being updated",
    ),
    "a pool with a device twice": (
        (slice_of("n0", *gpus(1), *gpus(1)),),
        claim("c"),
        "invalid resource pools were encountered",
    ),
    "an older generation": (
        (slice_of("n0", *gpus(1)), SliceSpec("newer", "driver", "n0", 2, 1, "n0")),
        claim("c"),
        "cannot allocate all claims",
    ),
    "counters that are enough for one": (
        (
            replace(slice_of("n0", *gpus(2, counters=(("set", (("units", 3),)),))), count=2),
            SliceSpec("counters", "driver", "n0", 1, 2, "n0", counters=(("set", (("units", 4),)),)),
        ),
        claim("c", asking(count=2)),
        "cannot allocate all claims",
    ),
    "parts of one device": (
        (slice_of("n0", *gpus(1, multiple=True, capacity=(("memory", HALF),))),),
        claim(
            "c",
            DeviceRequest("a", (Alternative("", "gpu", capacity=(("memory", 2),)),)),
            DeviceRequest("b", (Alternative("", "gpu"),)),
        ),
        "",
    ),
    "more of a device than it has": (
        (slice_of("n0", *gpus(1, multiple=True, capacity=(("memory", HALF),))),),
        claim("c", asking(capacity=(("memory", 5),))),
        "cannot allocate all claims",
    ),
    "an attribute that differs": (
        (slice_of("n0", DeviceSpec("a", (("numa", ("int", 0)),)), DeviceSpec("b", (("numa", ("int", 1)),))),),
        claim("c", asking(count=2), constraints=(AttributeConstraint("driver/numa"),)),
        "cannot allocate all claims",
    ),
    "an attribute that differs as it must": (
        (slice_of("n0", DeviceSpec("a", (("numa", ("int", 0)),)), DeviceSpec("b", (("numa", ("int", 1)),))),),
        claim("c", asking(count=2), constraints=(AttributeConstraint("driver/numa", distinct=True),)),
        "",
    ),
    "the second alternative": (
        (slice_of("n0", *gpus(1)),),
        claim("c", DeviceRequest("r", (Alternative("two", "gpu", count=2), Alternative("one", "gpu")), first=True)),
        "",
    ),
    "more than a claim can have": (
        (slice_of("n0", *gpus(40)),),
        claim("c", asking(count=33)),
        "a claim asks for 33 devices; at most 32 are allowed",
    ),
    "a search without an end": (
        (slice_of("n0", *(DeviceSpec(f"d{at}", (("kind", ("int", at // 2)),)) for at in range(60))),),
        claim(
            "c",
            asking(count=20),
            constraints=(AttributeConstraint("driver/kind", ("r",)), AttributeConstraint("driver/kind", distinct=True)),
        ),
        "cannot allocate all claims",
    ),
    "a search that takes too long": (
        (slice_of("n0", *gpus(30)),),
        claim(
            "c", DeviceRequest("a", (Alternative("", "gpu", count=15),)), DeviceRequest("b", (Alternative("", "gpu", count=16),))
        ),
        "the search for devices was given up after 20000 steps",
    ),
}


@pytest.mark.parametrize(("slices", "known", "words"), CHOICES.values(), ids=CHOICES.keys())
def test_devices_are_chosen_on_a_node_or_it_is_said_why_not(
    at: Scenario, slices: tuple[SliceSpec, ...], known: DeviceClaimSpec, words: str
) -> None:
    see(at, *slices, known)
    at.tell(PodSeen(with_claims("p", "c")))
    if words:
        assert planned(at) == []
        assert at.core.view.refusals("p")["n0"] == [words]
    else:
        assert reserved(at).node == "n0"


def extended(name: str, count: int, special: str = "") -> PodSpec:
    asks = (ContainerAsk(0, "main", False, (("example.com/gpu", count, 1),)),)
    demand = (("cpu", 1), ("example.com/gpu", count), ("memory", 1), ("pods", 1))
    return replace(a_pod(name, constraints=Constraints(claims=PodClaims("ns", asks=asks, special=special))), demand=demand)


def test_an_extended_resource_is_had_from_the_node_or_else_from_devices(at: Scenario) -> None:
    own = a_node("own")
    at.tell(NodeSeen(replace(own, allocatable={**own.allocatable, "example.com/gpu": 2})))
    see(at, slice_of("n0", *gpus(2)))
    at.tell(PodSeen(extended("early", 2)))
    assert [(type(one), one.node) for one in planned(at)] == [(Bind, "own")], "no class serves it yet"
    see(at, replace(GPU, resource="example.com/gpu"))
    at.tell(PodSeen(extended("late", 2)), PodSeen(extended("last", 1)))
    asked = reserved(at)
    assert (asked.uid, asked.node, asked.claims) == ("late", "n0", ())
    assert asked.made is not None
    assert [(one.name, one.alternatives[0].count) for one in asked.made.requests] == [("container-0-request-1", 2)]
    assert [(one.container, one.request) for one in asked.made.mappings] == [("main", "container-0-request-1")]
    refused = at.core.view.refusals("last")
    assert refused == {
        "n0": ["cannot allocate all claims"],
        "n1": ["cannot allocate all claims"],
        "own": ["Insufficient example.com/gpu"],
    }

    made = claim("late-x", allocation=asked.made.allocation, owner="late", special=True, reserved=(Consumer("late"),))
    see(at, made)
    assert planned(at) == [], "the pod does not name it yet"
    at.tell(PodSeen(extended("late", 2, "late-x")))
    assert [type(one) for one in planned(at)] == [Bind]


def test_a_node_that_lacks_other_things_too_names_the_extended_resource_that_it_has_too_little_of(at: Scenario) -> None:
    see(at, replace(GPU, resource="example.com/gpu"))
    own = a_node("own")
    at.tell(NodeSeen(replace(own, allocatable={**own.allocatable, "example.com/gpu": 2})))
    large = extended("p", 3)
    at.tell(PodSeen(replace(large, demand=(("cpu", 1_000_000), *large.demand[1:]))))
    assert planned(at) == []
    refused = at.core.view.refusals("p")
    assert refused["own"] == ["Insufficient cpu", "Insufficient example.com/gpu"]
    assert refused["n0"] == ["Insufficient cpu"]


def test_what_pods_of_others_have_of_an_extended_resource_of_a_node_is_counted_and_returned(at: Scenario) -> None:
    see(at, replace(GPU, resource="example.com/gpu"))
    own = a_node("own")
    at.tell(NodeSeen(replace(own, allocatable={**own.allocatable, "example.com/gpu": 2})))
    at.tell(PodSeen(replace(extended("other", 2), scheduler="other", node="own")))
    position = at.core.state.types.index["example.com/gpu"]
    assert at.core.state.nodes.foreign[position] == 2
    at.tell(PodSeen(extended("p", 1)))
    assert planned(at) == []
    at.gone("other")
    assert at.core.state.nodes.foreign[position] == 0
    assert [(type(one), one.node) for one in planned(at)] == [(Bind, "own")]


def test_a_claim_that_is_left_of_an_earlier_placement_is_deleted_first(at: Scenario) -> None:
    see(at, replace(GPU, resource="example.com/gpu"), slice_of("n0", *gpus(2)), claim("old", owner="p", special=True))
    at.tell(PodSeen(extended("p", 1)))
    (freed,) = planned(at)
    assert isinstance(freed, FreeDevices)
    assert (freed.claim, freed.delete) == ("old", True)
    assert why(at, "p")[1] == 'resourceclaim "old" of an earlier placement is being deleted'
    at.tell(DevicesGone(DeviceClaimSpec, "ns/old"))
    assert reserved(at).node == "n0"


def test_a_core_that_is_made_anew_keeps_what_was_decided_and_asks_again(at: Scenario) -> None:
    see(at, slice_of("n0", *gpus(1)), claim("a"), claim("b"))
    at.tell(PodSeen(with_claims("first", "a")), PodSeen(with_claims("second", "b")))
    asked = reserved(at)
    again = Core(at.core.state.settings, validate=True)
    for event in at.core.facts(set()):
        again.handle(event, at.now)
    (repeated,) = [one for one in again.plan(at.now) if isinstance(one, Bind | ReserveDevices)]
    assert repeated == asked._replace(cause=repeated.cause)


def test_the_finalizer_is_kubernetes_own() -> None:
    assert PROTECTION == "resource.kubernetes.io/delete-protection"


def test_the_pods_of_a_gang_are_tried_before_anything_is_asked_for_and_each_gets_its_devices(at: Scenario) -> None:
    see(at, slice_of("n0", *gpus(2)), *(claim(f"c{number}") for number in range(2)))
    members = [
        replace(with_claims(f"p{number}", f"c{number}"), application="ns/app", gang="g", gang_minimums=(("g", 2),))
        for number in range(2)
    ]
    at.tell(PodSeen(members[0]))
    assert [effect for effect in at.core.plan(at.now) if isinstance(effect, ReserveDevices | Bind)] == []
    at.tell(PodSeen(members[1]))
    asked = [effect for effect in at.core.plan(at.now) if isinstance(effect, ReserveDevices)]
    given = [result.device for effect in asked for one in effect.claims if one.allocation for result in one.allocation.results]
    assert sorted(given) == ["gpu-0", "gpu-1"]
    assert not at.core.state.reservations.lingering
