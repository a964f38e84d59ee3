"""Claims that wait for their first consumer, told as a story: what is decided, what the API says, and what comes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.builders import Scenario, a_pod
from treadle.core.effects import Bind, BindVolumes, Effect
from treadle.core.events import BindFailed, NodeGone, PodSeen, StorageGone, StorageKnown, StorageSeen
from treadle.core.model import Constraints, PodSpec, Requirement
from treadle.core.model.volumes import (
    AVAILABLE,
    ONE_POD,
    WAITS,
    AttachmentSpec,
    ClaimSpec,
    CSIDriverSpec,
    CSINodeSpec,
    Disk,
    PodVolumes,
    StorageClassSpec,
    StorageObject,
    VolumeSpec,
)

LOCAL = StorageClassSpec("local", "kubernetes.io/no-provisioner", WAITS)
MADE = StorageClassSpec("made", "csi", WAITS)


def see(at: Scenario, *things: StorageObject) -> None:
    at.tell(*(StorageSeen(thing) for thing in things))


def claim(name: str, of: str = "made", **fields: object) -> ClaimSpec:
    return ClaimSpec("ns", name, f"uid-{name}", storage_class=of, modes=("ReadWriteOnce",), size=1, version="1", **fields)  # type: ignore[arg-type]


def on(*hosts: str) -> tuple[tuple[Requirement, ...], ...]:
    return ((Requirement("host", "In", hosts),),)


def volume(name: str, *hosts: str, **fields: object) -> VolumeSpec:
    affinity = on(*hosts) if hosts else None
    return replace(
        VolumeSpec(name, None, "local", 1, ("ReadWriteOnce",), affinity=affinity, phase=AVAILABLE, version="7"), **fields
    )


def with_claims(name: str, *claims: str, disks: tuple[Disk, ...] = (), **fields: object) -> PodSpec:
    volumes = PodVolumes("ns", tuple((one, False) for one in claims), disks)
    return a_pod(name, constraints=Constraints(volumes=volumes), **fields)


@pytest.fixture
def at() -> Scenario:
    found = Scenario().tell(StorageKnown(known=True))
    for number in range(3):
        found.node(f"n{number}", labels={"host": f"n{number}"})
    see(found, LOCAL, MADE)
    return found


def planned(at: Scenario) -> list[Effect]:
    return [effect for effect in at.core.plan(at.now) if isinstance(effect, Bind | BindVolumes)]


def test_a_pod_is_bound_when_the_volume_of_its_claim_was_made_on_its_node(at: Scenario) -> None:
    see(at, claim("data"))
    at.tell(PodSeen(with_claims("p", "data")))
    (asked,) = planned(at)
    assert isinstance(asked, BindVolumes)
    assert [(one.claim, one.version) for one in asked.made] == [("data", "1")]
    assert at.used("root.default") == 1, "it is counted while its claim is being bound"

    see(at, claim("data", selected_node=asked.node))
    assert planned(at) == []
    see(at, volume("pv", asked.node, storage_class="made", claim=("ns/data", "uid-data"), phase="Bound"))
    see(at, claim("data", selected_node=asked.node, volume="pv", bound=True))
    (bound,) = planned(at)
    assert isinstance(bound, Bind)
    assert bound.node == asked.node
    assert bound.queue == "root.default"


def test_two_pods_get_two_volumes_and_a_third_waits_for_one_to_come(at: Scenario) -> None:
    see(at, volume("v0", "n0"), volume("v1", "n1"), *(claim(f"c{number}", "local") for number in range(3)))
    at.tell(*(PodSeen(with_claims(f"p{number}", f"c{number}")) for number in range(3)))
    first, second = planned(at)
    assert {(one.node, one.found[0].volume) for one in (first, second)} == {("n0", "v0"), ("n1", "v1")}  # type: ignore[union-attr]
    assert at.why("p2")[1].startswith("0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind")
    see(at, volume("v2", "n2"))
    (third,) = planned(at)
    assert third.node == "n2"


def test_a_node_that_is_out_for_two_reasons_is_one_node(at: Scenario) -> None:
    there = volume("v", "n0", "n1", claim=("ns/found", "uid-found"), phase="Bound")
    see(at, there, claim("found", "local", volume="v", bound=True), claim("wanting", "local"))
    at.tell(PodSeen(with_claims("p", "wanting", "found"))).wait(1).plan()
    assert at.why("p")[1] == (
        "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind, "
        "1 node(s) didn't match PersistentVolume's node affinity."
    )
    held = at.core.view.held("p")
    assert held is not None
    assert held.nodes is not None
    assert (held.nodes.roomy, held.nodes.closest is None) == (0, False)


def test_a_claim_that_could_not_be_written_is_decided_anew(at: Scenario) -> None:
    see(at, claim("data", "local"), volume("v0", "n0"))
    at.tell(PodSeen(with_claims("p", "data")))
    assert len(planned(at)) == 1
    at.tell(BindFailed("p", "transient", "conflict"))
    assert at.used("root.default") == 0
    assert planned(at) == []
    at.wait(60)
    assert len(planned(at)) == 1, "the volume is free again"


def test_a_volume_that_cannot_be_made_there_frees_the_pod_for_another_node(at: Scenario) -> None:
    see(at, claim("data"))
    at.tell(PodSeen(with_claims("p", "data")))
    (asked,) = planned(at)
    see(at, claim("data", selected_node=asked.node))
    planned(at)
    see(at, claim("data"))
    planned(at)
    assert at.used("root.default") == 0
    assert "no volume could be made" in at.core.state.pods["p"].failure_words


def test_claims_that_are_not_bound_in_ten_minutes_or_whose_node_goes_are_given_up(at: Scenario) -> None:
    see(at, claim("slow"), claim("lost"))
    at.tell(PodSeen(with_claims("slow", "slow")), PodSeen(with_claims("lost", "lost")))
    asked = {one.uid: one.node for one in planned(at)}  # type: ignore[union-attr]
    at.tell(NodeGone(asked["lost"]))
    planned(at)
    assert at.core.state.pods["lost"].failure_words == f"node {asked['lost']} is gone"
    assert at.core.next_timer() is not None
    at.wait(601)
    planned(at)
    assert "in time" in at.core.state.pods["slow"].failure_words or asked["slow"] == asked["lost"]


def test_a_claim_with_a_node_lets_its_pod_to_no_other(at: Scenario) -> None:
    see(at, claim("data", selected_node="n2"))
    at.tell(PodSeen(with_claims("p", "data")))
    (asked,) = planned(at)
    assert isinstance(asked, BindVolumes)
    assert (asked.node, asked.made, asked.found) == ("n2", (), ())


def test_pods_that_share_a_claim_go_where_its_volume_is_made(at: Scenario) -> None:
    see(at, claim("shared"))
    at.tell(*(PodSeen(with_claims(f"p{number}", "shared")) for number in range(3)))
    asked = planned(at)
    while more := planned(at):
        asked += more
    assert len(asked) == 3
    assert len({one.node for one in asked}) == 1  # type: ignore[union-attr]
    assert sum(len(one.made) for one in asked) == 1, "the API is asked once"  # type: ignore[union-attr]


def test_a_claim_for_one_pod_alone_is_had_by_the_next_when_the_first_has_gone(at: Scenario) -> None:
    see(at, volume("v", phase="Bound", claim=("ns/c", "uid-c")), claim("c", "local", volume="v", bound=True))
    see(at, replace(claim("c", "local", volume="v", bound=True), modes=(ONE_POD,)))
    at.tell(PodSeen(with_claims("a", "c")), PodSeen(with_claims("b", "c")))
    (first,) = planned(at)
    assert isinstance(first, Bind)
    assert "already in-use by another pod" in at.why("b" if first.uid == "a" else "a")[1]
    at.gone(first.uid)
    (second,) = planned(at)
    assert second.uid != first.uid


def test_a_node_takes_no_more_volumes_than_its_driver_can_attach(at: Scenario) -> None:
    see(at, *(CSINodeSpec(f"n{number}", (("csi", 1),)) for number in range(3)), *(claim(f"c{number}") for number in range(4)))
    see(at, AttachmentSpec("old", "n0", "csi", "left"), volume("left", driver="csi", handle="left", phase="Bound"))
    at.tell(*(PodSeen(with_claims(f"p{number}", f"c{number}")) for number in range(4)))
    assert {one.node for one in planned(at)} == {"n1", "n2"}  # type: ignore[union-attr]
    at.tell(StorageGone(AttachmentSpec, "old"))
    assert [one.node for one in planned(at)] == ["n0"]  # type: ignore[union-attr]
    see(at, CSINodeSpec("n1", (("csi", 2),)))
    assert [one.node for one in planned(at)] == ["n1"]  # type: ignore[union-attr]


def test_a_disk_that_pods_name_themselves_is_on_a_node_once_but_where_all_only_read(at: Scenario) -> None:
    writing, reading = Disk("rbd", ("m1", "m2"), ("pool", "image")), Disk("rbd", ("m2",), ("pool", "image"), read_only=True)
    at.tell(PodSeen(with_claims("w", disks=(writing,))), *(PodSeen(with_claims(f"r{n}", disks=(reading,))) for n in range(4)))
    binds = {one.uid: one.node for one in planned(at)}  # type: ignore[union-attr]
    assert len(binds) == 5
    assert list(binds.values()).count(binds["w"]) == 1


def test_pods_with_claims_of_their_own_are_one_shape(at: Scenario) -> None:
    see(at, *(claim(f"c{number}") for number in range(10)))
    at.tell(*(PodSeen(with_claims(f"p{number}", f"c{number}")) for number in range(10)))
    assert len({record.shape for record in at.core.state.pods.values()}) == 1


@pytest.mark.parametrize(
    ("things", "words"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        ([claim("c", "nowhere")], "pod has unbound immediate PersistentVolumeClaims"),
        ([claim("c", deleting=True)], 'persistentvolumeclaim "c" is being deleted'),
        ([claim("c", volume="v", lost=True)], 'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"'),
        ([claim("c", volume="v", bound=True)], 'persistentvolume "v" not found'),
    ],
)
def test_a_pod_says_what_its_claim_waits_for_and_goes_on_when_it_has_come(
    at: Scenario, things: list[StorageObject], words: str
) -> None:
    see(at, *things)
    at.tell(PodSeen(with_claims("p", "c")))
    assert planned(at) == []
    assert at.why("p") == ("VolumesNotReady", words)
    see(at, volume("v"), claim("c", volume="v", bound=True))
    assert [type(one) for one in planned(at)] == [Bind]


def test_until_storage_is_known_pods_with_claims_wait_and_others_do_not() -> None:
    at = Scenario().nodes(1)
    see(at, MADE, claim("c"))
    at.tell(PodSeen(with_claims("p", "c")), PodSeen(a_pod("q")))
    assert [one.uid for one in planned(at)] == ["q"]  # type: ignore[union-attr]
    at.tell(StorageKnown(known=False, trouble="persistentvolumes: 403 Forbidden"))
    planned(at)
    assert at.why("p") == ("VolumesNotReady", "claims and volumes have not been listed yet: persistentvolumes: 403 Forbidden")
    at.tell(StorageKnown(known=True))
    assert len(planned(at)) == 1


def test_another_problem_with_its_claim_is_told_within_half_a_minute(at: Scenario) -> None:
    at.tell(PodSeen(with_claims("p", "c"))).plan()
    at.wait(3).plan()
    assert [report.message for report in at.reports] == ['persistentvolumeclaim "c" not found']
    see(at, claim("c", "nowhere"))
    at.plan()
    at.wait(3).plan()
    assert at.reports == []
    at.wait(30).plan()
    assert [report.message for report in at.reports] == ["pod has unbound immediate PersistentVolumeClaims"]


def test_a_volume_that_is_gone_is_not_counted_on_by_pods_that_looked_at_it_before(at: Scenario) -> None:
    """A node on which it was found is asked again, though nothing has come that could help."""
    see(at, StorageClassSpec("tracked", "tracks", WAITS), CSIDriverSpec("tracks", capacity=True))
    see(at, volume("pv", "n0"), claim("a", "local"), claim("b", "tracked"))
    at.tell(PodSeen(with_claims("p", "a", "b")))
    assert planned(at) == []
    assert at.core.view.refusals("p")["n0"] == ["node(s) did not have enough free storage"]
    at.tell(StorageGone(VolumeSpec, "pv"))
    planned(at)
    assert at.core.view.refusals("p")["n0"] == ["node(s) didn't find available persistent volumes to bind"]
