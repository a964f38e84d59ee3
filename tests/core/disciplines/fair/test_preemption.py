"""Live preemption: who is owed something gets it back, room is held for whom it was made, and nobody goes in vain."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from core.builders import Scenario, limits, replaced
from treadle.core.effects import Bind, Evict
from treadle.core.events import EvictFailed, PodSeen
from treadle.core.model import FairSettings

ON = FairSettings(preemption=True, fair_share_timeout=5.0, fair_share_threshold=1.0)


class Cluster(Scenario):
    """A scenario whose evicted pods leave when a test says so."""

    def evictions(self) -> list[Evict]:
        return [effect for effect in self.effects if isinstance(effect, Evict)]

    def run(self, seconds: float, step: float = 0.5) -> list[Evict]:
        """Let time go by with a pass every half second; binds are confirmed. Returns who was asked to go."""
        asked: list[Evict] = []
        for _ in range(int(seconds / step)):
            self.wait(step)
            self.confirm(self.plan())
            asked += self.evictions()
        return asked

    def settle(self) -> Cluster:
        self.confirm(self.plan())
        return self

    def leave(self, evictions: list[Evict]) -> Cluster:
        """Let evicted pods be terminating and then be gone."""
        for eviction in evictions:
            self.tell(PodSeen(replaced(self.core.state.pods[eviction.uid].spec, deleting=True)))
        self.gone(*(eviction.uid for eviction in evictions))
        return self

    def running(self) -> dict[str, int]:
        """Pods on nodes, by the first word of their names."""
        return dict(
            Counter(
                record.spec.name.partition("-")[0]
                for record in self.core.state.pods.values()
                if record.spec.node and not record.spec.deleting
            )
        )


def hogged(fair: FairSettings = ON, nodes: int = 2, **hog: Any) -> Cluster:
    """Two nodes of four cores, all of them taken by the queue of a hog, and a starved queue beside it."""
    cluster = Cluster()
    cluster.scheduler(fair=fair).queue("root.hog", **hog).queue("root.starved").nodes(nodes)
    cluster.pods(4 * nodes, "hog", "root.hog", "hog")
    return cluster.settle()


def test_a_starved_queue_gets_its_fair_share_back_after_its_timeout() -> None:
    cluster = hogged()
    cluster.pods(8, "starved", "root.starved", "starved")
    assert cluster.run(4.5) == []
    asked = cluster.run(2.0)
    assert len(asked) == 4, "half of the cluster is owed"
    assert {eviction.name.partition("-")[0] for eviction in asked} == {"hog"}
    cluster.leave(asked).run(1.0)
    assert cluster.running() == {"hog": 4, "starved": 4}
    assert cluster.run(120.0) == [], "what is at its share is owed nothing more"


def test_nothing_is_preempted_unless_it_is_switched_on() -> None:
    cluster = hogged(FairSettings(fair_share_timeout=0.0))
    cluster.pods(8, "starved", "root.starved", "starved")
    assert cluster.run(60.0) == []


def test_without_a_timeout_a_queue_below_its_share_waits() -> None:
    cluster = hogged(FairSettings(preemption=True))
    cluster.pods(8, "starved", "root.starved", "starved")
    assert cluster.run(60.0) == []


def test_the_same_need_never_takes_victims_twice_while_they_are_leaving() -> None:
    cluster = hogged()
    cluster.pods(8, "starved", "root.starved", "starved")
    asked = cluster.run(10.0)
    assert len(asked) == 4
    assert cluster.run(60.0) == [], "the victims take their time, and their room is held"


def test_the_room_of_victims_is_kept_for_whom_it_was_made() -> None:
    cluster = hogged()
    cluster.pods(8, "starved", "root.starved", "starved")
    asked = cluster.run(6.0)
    cluster.queue("root.quick", weight=100.0).pods(8, "quick", "root.quick", "quick")
    cluster.leave(asked)
    binds = cluster.plan()
    assert {bind.queue for bind in binds} == {"root.starved"}, "a queue with more weight comes too late"
    assert len(binds) == 4


def test_a_hold_ends_when_its_pods_do_not_wait_any_more() -> None:
    cluster = hogged()
    cluster.pods(2, "starved", "root.starved", "starved")
    asked = cluster.run(6.0)
    assert len(asked) == 2
    cluster.gone("starved-0", "starved-1").leave(asked)
    cluster.pods(2, "late", "root.hog", "late").settle()
    assert cluster.running()["late"] == 2
    assert not cluster.core.state.preemption.holds


def test_a_hold_ends_when_its_time_is_up() -> None:
    cluster = hogged()
    cluster.pods(2, "starved", "root.starved", "starved")
    assert len(cluster.run(6.0)) == 2
    cluster.run(ON.wait_before_kill + ON.hold_timeout)
    cluster.wait(1.0).plan()
    assert len(cluster.core.state.preemption.holds) in {0, 2}, "nobody left: it may be tried again, but not be held for ever"
    assert all(hold.until > cluster.now for hold in cluster.core.state.preemption.holds)


def test_a_victim_that_stays_is_let_alone_and_another_is_asked() -> None:
    cluster = hogged()
    cluster.pods(1, "starved", "root.starved", "starved")
    (first,) = cluster.run(6.0)
    cluster.tell(EvictFailed(first.uid, "a disruption budget does not let it go"))
    assert not cluster.core.state.preemption.holds
    asked = cluster.run(1.0)
    assert len(asked) == 1, "and at once, since nothing is on its way"
    assert asked[0].uid != first.uid


def test_nobody_goes_below_the_fair_share() -> None:
    cluster = hogged()
    cluster.pods(3, "starved", "root.starved", "starved", cpu=3)
    asked = cluster.run(30.0)
    assert len(asked) == 3, "one pod of three cores fits into the four that are owed; a second one would not"
    cluster.leave(asked).run(1.0)
    assert cluster.running() == {"hog": 5, "starved": 1}


def test_a_queue_that_may_not_be_preempted_keeps_what_it_has() -> None:
    cluster = hogged(preemptable=False)
    cluster.pods(8, "starved", "root.starved", "starved")
    assert cluster.run(60.0) == []


def test_protection_is_inherited() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=ON).queue("root.safe", preemptable=False).queue("root.safe.hog").queue("root.starved").nodes(2)
    cluster.pods(8, "hog", "root.safe.hog", "hog").settle()
    cluster.pods(8, "starved", "root.starved", "starved")
    assert cluster.run(60.0) == []


def test_timeouts_and_thresholds_are_inherited_down_the_tree() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=FairSettings(preemption=True))
    cluster.queue("root.hog").queue("root.dev", fair_share_timeout=1.0, fair_share_threshold=0.5).queue("root.dev.eng").nodes(2)
    cluster.pods(8, "hog", "root.hog", "hog").settle()
    cluster.pods(8, "eng", "root.dev.eng", "eng")
    assert len(cluster.run(3.0)) == 2, "half of the share of four is owed at this threshold"


def test_a_minimum_share_is_given_back_after_its_own_timeout() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=FairSettings(preemption=True))
    cluster.queue("root.hog").queue("root.owed", minimum=limits(cpu="3", memory="3Gi"), min_share_timeout=2.0).nodes(2)
    cluster.pods(8, "hog", "root.hog", "hog").settle()
    cluster.pods(8, "owed", "root.owed", "owed")
    assert cluster.run(1.5) == []
    assert len(cluster.run(2.0)) == 3


def test_below_the_utilisation_threshold_nobody_is_starved() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=ON).queue("root.hog").queue("root.starved").nodes(2)
    cluster.pods(6, "hog", "root.hog", "hog").settle()
    cluster.pods(1, "starved", "root.starved", "starved", cpu=3)
    assert cluster.run(30.0) == [], "three quarters of the cluster are used: below the threshold of 0.8"


def test_masters_go_last() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=ON).queue("root.hog").queue("root.starved").nodes(2)
    for number in range(4):
        cluster.pod(f"hog-m{number}", "root.hog", f"hog{number}", role="master")
        cluster.pod(f"hog-w{number}", "root.hog", f"hog{number}")
    cluster.settle()
    cluster.pods(4, "starved", "root.starved", "starved")
    asked = cluster.run(10.0)
    assert sorted(eviction.name for eviction in asked) == ["hog-w0", "hog-w1", "hog-w2", "hog-w3"]


def test_masters_may_be_kept_from_preemption_altogether() -> None:
    fair = FairSettings(preemption=True, fair_share_timeout=5.0, fair_share_threshold=1.0, master_preemption=False)
    cluster = Cluster()
    cluster.scheduler(fair=fair).queue("root.hog").queue("root.starved").nodes(2)
    for number in range(8):
        cluster.pod(f"hog-m{number}", "root.hog", "hog", role="master")
    cluster.settle()
    cluster.pods(4, "starved", "root.starved", "starved")
    assert cluster.run(30.0) == []


def test_nobody_goes_from_a_node_that_would_not_admit_the_pod() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=ON).queue("root.hog").queue("root.starved").node("a", labels={"disk": "ssd"}).node("b")
    cluster.pods(8, "hog", "root.hog", "hog").settle()
    from treadle.core.model import Constraints

    cluster.pods(4, "starved", "root.starved", "starved", constraints=Constraints(selector=(("disk", "ssd"),)))
    asked = cluster.run(10.0)
    assert len(asked) == 4
    where = {cluster.core.state.nodes.names[cluster.core.state.pods[eviction.uid].node] for eviction in asked}
    assert where == {"a"}


def test_nobody_goes_for_a_pod_that_no_node_is_large_enough_for() -> None:
    cluster = hogged()
    cluster.pods(1, "starved", "root.starved", "starved", cpu=5)
    assert cluster.run(60.0) == []


def test_nobody_goes_for_a_pod_that_its_own_queue_has_no_room_for() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=ON).queue("root.hog").queue("root.starved", maximum=limits(cpu="1")).nodes(2)
    cluster.pods(8, "hog", "root.hog", "hog").settle()
    cluster.pods(4, "starved", "root.starved", "starved")
    assert len(cluster.run(60.0)) == 1


def test_what_is_leaving_anyway_is_waited_for_before_others_are_asked() -> None:
    cluster = hogged()
    spec = cluster.core.state.pods["hog-0"].spec
    cluster.tell(PodSeen(replaced(spec, deleting=True)))
    cluster.pods(1, "starved", "root.starved", "starved")
    assert cluster.run(10.0) == []
    cluster.gone("hog-0").run(1.0)
    assert cluster.running()["starved"] == 1


def test_no_more_pods_go_than_the_room_needs() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=ON).queue("root.hog").queue("root.starved").nodes(1, cpu=8)
    cluster.pods(2, "hog", "root.hog", "small", cpu=1).pods(2, "hog3", "root.hog", "large", cpu=3, created=5.0).settle()
    cluster.pods(1, "starved", "root.starved", "starved", cpu=3)
    asked = cluster.run(10.0)
    assert len(asked) == 1, "one of the large ones is enough"
    assert asked[0].name.startswith("hog3")


def test_daemons_and_what_the_system_needs_are_never_victims() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=ON).queue("root.hog").queue("root.starved").nodes(2)
    cluster.pods(4, "hogd", "root.hog", "daemonset/logs").pods(4, "hogc", "root.hog", "vital", priority=2_000_000_000).settle()
    cluster.pods(4, "starved", "root.starved", "starved")
    assert cluster.run(30.0) == []


def test_pods_of_others_are_never_victims() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=ON).queue("root.starved").queue("root.other").nodes(2)
    for number in range(8):
        cluster.pod(f"foreign-{number}", scheduler="default-scheduler", node=f"node-{number % 2}")
    cluster.pods(4, "starved", "root.starved", "starved")
    assert cluster.run(30.0) == []


def test_the_waiting_pod_says_that_room_is_coming() -> None:
    cluster = hogged()
    cluster.pods(2, "starved", "root.starved", "starved")
    cluster.run(6.0)
    assert "Room for 2 of these pods is held" in cluster.why("starved-0")[1]


def test_a_victim_is_told_for_whom_it_goes() -> None:
    cluster = hogged()
    cluster.pods(1, "starved", "root.starved", "starved")
    (eviction,) = cluster.run(6.0)
    assert eviction.why == "queue root.starved is owed what queue root.hog holds beyond its fair share"
    assert (eviction.queue, eviction.patience, eviction.delete) == ("root.hog", 15.0, False)


def test_a_hold_survives_another_pod_of_the_same_kind_finding_room_elsewhere() -> None:
    cluster = hogged()
    cluster.pods(2, "starved", "root.starved", "starved")
    asked = cluster.run(6.0)
    cluster.nodes(1, "extra").settle()
    assert cluster.running()["starved"] == 2, "a new node has room at once"
    cluster.leave(asked).run(1.0)
    assert not cluster.core.state.preemption.holds
    assert cluster.free("node-0") + cluster.free("node-1") == len(asked)


@pytest.mark.parametrize("policy", ["drf", "fair"])
def test_within_one_leaf_applications_give_back_too(policy: str) -> None:
    cluster = Cluster()
    cluster.scheduler(fair=ON).queue("root", policy=policy).queue("root.one", policy=policy).nodes(2, memory=4)
    cluster.pods(8, "hog", "root.one", "hog").settle()
    cluster.pods(8, "starved", "root.one", "starved")
    asked = cluster.run(10.0)
    assert len(asked) == 4


def test_binds_of_holds_are_binds_like_any_other() -> None:
    cluster = hogged()
    cluster.pods(1, "starved", "root.starved", "starved")
    asked = cluster.run(6.0)
    cluster.leave(asked)
    (bind,) = cluster.plan()
    assert isinstance(bind, Bind)
    assert (bind.uid, bind.queue, bind.application) == ("starved-0", "root.starved", "ns/starved")


def test_cores_come_back_from_a_queue_whose_minimum_has_more_memory_than_it_uses() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=FairSettings(preemption=True, min_share_timeout=1.0, utilization_threshold=0.0))
    cluster.queue("root.a", minimum=limits(cpu="16", memory="8Gi"), policy="drf", weight=0.001)
    cluster.queue("root.b", minimum=limits(cpu="4", memory="70Gi"), policy="drf", weight=0.001)
    cluster.nodes(5)
    cluster.pods(15, "b", "root.b", "b").settle()
    assert cluster.running() == {"b": 15}
    cluster.pods(30, "a", "root.a", "a", memory=0).settle()
    for _ in range(6):
        cluster.leave(cluster.run(10))
    assert cluster.running() == {"a": 16, "b": 4}


def test_an_application_is_not_evicted_for_itself() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=FairSettings(preemption=True, min_share_timeout=1.0, utilization_threshold=0.0))
    for name, memory in (("a", "12Gi"), ("b", "20Gi")):
        cluster.queue(f"root.{name}", minimum=limits(cpu="4", memory=memory), policy="drf", weight=0.001)
    cluster.nodes(2)
    cluster.pods(6, "small", "root.a", "a", memory=0).pods(2, "other", "root.b", "b").settle()
    cluster.pods(2, "large", "root.a", "a", memory=4).settle()
    assert cluster.running() == {"small": 6, "other": 2}
    assert cluster.run(60) == []


def test_nothing_is_taken_back_and_forth_between_whom_cores_and_whom_memory_is_due() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=FairSettings(preemption=True, min_share_timeout=1.0, utilization_threshold=0.0))
    cluster.queue("root.a", minimum=limits(cpu="8", memory="48Gi"), policy="drf", weight=0.001)
    cluster.queue("root.b", minimum=limits(cpu="12", memory="32Gi"), policy="drf", weight=0.001)
    cluster.nodes(5)
    cluster.pods(10, "a", "root.a", "a", memory=6).pods(20, "b", "root.b", "b", memory=2).settle()
    evicted = 0
    for _ in range(30):
        asked = cluster.run(10)
        evicted += len(asked)
        cluster.leave(asked)
    assert evicted <= 10
    assert sum(cluster.running().values()) >= 15


def test_a_small_application_stays_while_a_large_one_of_its_leaf_has_pods_to_spare() -> None:
    cluster = Cluster()
    cluster.scheduler(fair=ON)
    cluster.queue("root.a", policy="drf").queue("root.b", policy="drf").nodes(1, cpu=8, memory=32)
    cluster.pods(6, "large", "root.b", "large").settle()
    cluster.pods(1, "a1", "root.b", "a1").pods(1, "a2", "root.b", "a2").settle()
    assert cluster.running() == {"large": 6, "a1": 1, "a2": 1}
    cluster.pods(8, "mine", "root.a", "mine").settle()
    for _ in range(4):
        cluster.leave(cluster.run(20))
    assert cluster.running() == {"mine": 4, "large": 2, "a1": 1, "a2": 1}
