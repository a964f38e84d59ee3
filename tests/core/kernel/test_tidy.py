"""What came and went leaves nothing behind: rows of nodes, shapes and what was found out for them, logs, parts of queues, objects."""

from __future__ import annotations

import gc

import pytest

from core.builders import Scenario, a_node, a_pod, capacities_in
from treadle.core import Core
from treadle.core.disciplines.capacity.locality import Missed
from treadle.core.effects import Bind, RecordEvent
from treadle.core.events import Event, NodeGone, NodeSeen, PodGone, PodSeen, QueueSeen, SchedulerSeen
from treadle.core.kernel.locality import MOST_KEYS
from treadle.core.kernel.nodes import candidates, log
from treadle.core.kernel.nodes import table as rows
from treadle.core.kernel.periodic.failed_scheduling import MOST_RETOLD
from treadle.core.kernel.tidy import close_up
from treadle.core.model import CAPACITY, FAIR, Constraints, FairSettings, HostPort, PlacementRule, QueueSpec, SchedulerSpec, Wish
from treadle.core.model.capacity import Capacity as Portions
from treadle.core.model.capacity import CapacityQueueSpec, Kind, PartitionShare, Portion


class Life:
    """A core that is used for a long while, without the check of all invariants at every step; names are used once."""

    def __init__(self, nodes: int = 20) -> None:
        self.core = Core()
        self.now = 0.0
        self.number = 0
        self.tell(*(NodeSeen(a_node(f"node-{number}", cpu=64, memory=256)) for number in range(nodes)))

    def tell(self, *events: Event) -> None:
        for event in events:
            self.core.handle(event, self.now)

    def plan(self) -> list[str]:
        self.now += 1.0
        return [effect.uid for effect in self.core.plan(self.now) if isinstance(effect, Bind)]

    def pods(self, count: int, at_once: int = 100, *, alike: bool = True) -> None:
        """Let pods come, be placed and go; an application for some of them."""
        for _ in range(0, count, at_once):
            for _ in range(at_once):
                self.number += 1
                rules = Constraints() if alike else Constraints(selector=((f"label-{self.number}", "x"),))
                self.tell(PodSeen(a_pod(f"pod-{self.number}", application=f"app-{self.number // 20}", constraints=rules)))
            self.plan()
            self.tell(*(PodGone(uid) for uid in list(self.core.state.pods)))
            self.plan()

    def nodes(self, count: int, at_once: int = 100) -> None:
        """Let nodes come, each with a pod on it, and go before their pods do."""
        for _ in range(0, count, at_once):
            names = [f"spot-{self.number + more}" for more in range(at_once)]
            self.number += at_once
            self.tell(*(NodeSeen(a_node(name)) for name in names))
            self.tell(*(PodSeen(a_pod(f"on-{name}", application="app-on", node=name)) for name in names))
            self.plan()
            self.tell(*(NodeGone(name) for name in names))
            self.tell(*(PodGone(f"on-{name}") for name in names))
            self.plan()

    def objects(self) -> int:
        gc.collect()
        return len(gc.get_objects())


def test_nodes_that_came_and_went_leave_no_rows() -> None:
    life = Life()
    life.nodes(3_000)
    nodes = life.core.state.nodes
    assert nodes.known() == 20
    assert len(nodes.names) <= 120
    assert len(nodes.row) == 20
    life.core.check()


def test_many_nodes_that_were_there_at_once_leave_no_rows_either() -> None:
    life = Life()
    life.nodes(4_000, at_once=4_000)
    life.tell(NodeSeen(a_node("late")))
    assert len(life.core.state.nodes.names) == 21
    life.core.check()
    life.pods(100)
    life.core.check()


def test_nodes_that_came_and_went_leave_no_objects() -> None:
    life = Life()
    life.nodes(2_000)
    life.pods(100)
    before = life.objects()
    life.nodes(4_000)
    life.pods(100)
    assert life.objects() < before + 300


def test_pods_that_came_and_went_leave_no_objects() -> None:
    life = Life()
    life.core.state.story.__init__(100)  # type: ignore[misc]
    life.pods(2_000)
    before = life.objects()
    life.pods(20_000)
    assert life.objects() < before + 300


def test_shapes_that_no_pod_has_any_more_are_forgotten_with_what_was_found_out_for_them() -> None:
    life = Life()
    life.pods(3_000, alike=False)
    state = life.core.state
    assert len(state.shapes) <= 400
    assert len(state.nodes.orders.kept) <= 400
    assert len(state.nodes._masks) <= 400
    assert state.nodes.orders.entries == sum(state.nodes.orders.kept.values())


def test_shapes_in_use_stay() -> None:
    life = Life(nodes=1)
    for number in range(1_000):
        life.tell(PodSeen(a_pod(f"pod-{number}", memory=1 + number, cpu=100)))
    life.plan()
    assert len(life.core.state.shapes) == 1_000
    life.tell(NodeSeen(a_node("large", cpu=100_000, memory=1_000_000, pods=2_000)))
    assert len(life.plan()) == 1_000


def test_the_logs_of_nodes_keep_their_newest_entries_only() -> None:
    life = Life()
    life.pods(20_000)
    for number in range(10_000):
        life.tell(NodeSeen(a_node("node-0", cpu=64 + number % 2, memory=256)))
    assert len(life.core.state.nodes.improved) <= 2 * log.LEAST
    assert len(life.core.state.nodes.edited) <= 2 * log.LEAST


def test_an_order_that_is_never_walked_does_not_collect_what_improved() -> None:
    life = Life()
    life.tell(*(PodSeen(a_pod(f"first-{number}")) for number in range(50)))
    life.plan()
    for number in range(3_000):
        life.tell(PodSeen(a_pod(f"next-{number}")))
        life.plan()
        life.tell(PodGone(f"next-{number}"))
    order = next(iter(life.core.state.nodes.orders.kept))
    assert len(order.side) <= candidates.MOST_ASIDE + 2 * 20


def test_a_namespace_that_is_gone_is_forgotten() -> None:
    scenario = Scenario()
    for number in range(10):
        scenario.namespace(f"ns-{number}", "root.a").namespace(f"ns-{number}", "")
    assert scenario.core.state.namespaces == {}


# -- a row that gets another node


def test_the_row_of_a_node_that_is_gone_is_kept_while_a_pod_is_on_it() -> None:
    scenario = Scenario().nodes(1).pod("a", node="node-0").without_node("node-0").node("other")
    assert len(scenario.core.state.nodes) == 2
    scenario.gone("a").node("third")
    assert len(scenario.core.state.nodes) == 2
    assert scenario.core.state.nodes.row == {"third": 0, "other": 1}


def test_a_pod_that_asks_for_nothing_keeps_its_row_too() -> None:
    scenario = Scenario().nodes(1).pod("a", cpu=0, memory=0, resources={"pods": 0})
    assert [bind.node for bind in scenario.plan()] == ["node-0"]
    scenario.without_node("node-0").node("other")
    assert scenario.core.state.nodes.names[scenario.core.state.pods["a"].node] == "node-0"
    scenario.gone("a").node("third")
    assert scenario.core.state.nodes.names == ["third", "other"]


@pytest.mark.parametrize("scoring", ["Pack", "Spread"])
def test_a_new_node_in_an_old_row_is_judged_by_its_own_description(scoring: str) -> None:
    scenario = Scenario().scheduler(scoring=scoring)
    rules = Constraints(selector=(("zone", "a"),), host_ports=(HostPort("0.0.0.0", "TCP", 80),))
    scenario.node("old", labels={"zone": "a"}).node("other", labels={"zone": "b"})
    scenario.pod("first", constraints=rules)
    assert [bind.node for bind in scenario.plan()] == ["old"]
    scenario.without_node("old").gone("first").node("new", labels={"zone": "b"}).pod("second", constraints=rules)
    assert scenario.core.state.nodes.row["new"] == 0
    assert scenario.plan() == []
    scenario.node("new", labels={"zone": "a"})
    assert [bind.node for bind in scenario.plan()] == ["new"]


def test_what_stays_is_right_after_the_rows_have_closed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_VACANT", 2)
    scenario = Scenario().nodes(8, cpu=2, memory=2).node("last", cpu=3, memory=3)
    scenario.pod("a", node="last").pod("b", node="unheard-of", scheduler="other").plan()
    scenario.without_node("node-0").pods(4, "big", cpu=2, memory=2)
    placed = {bind.uid: bind.node for bind in scenario.plan()}
    for number in range(1, 8):
        scenario.without_node(f"node-{number}")
    scenario.gone(*placed)
    scenario.plan()
    nodes = scenario.core.state.nodes
    assert len(nodes) == 2
    assert {name: nodes.specs[row] is not None for name, row in nodes.row.items()} == {"last": True, "unheard-of": False}
    scenario.wait(1.0).pods(2, "more")
    assert [bind.node for bind in scenario.plan()] == ["last", "last"]
    scenario.gone("a", "b")
    assert nodes.free[nodes.row["last"]][:2] == [1 << 30, 1000]


def test_rows_may_close_up_while_a_pod_waits_for_the_node_that_it_would_like() -> None:
    scenario = Scenario().scheduler(fair=FairSettings(node_delay=500.0, rack_delay=500.0)).nodes(4)
    preferred = Constraints(wish=Wish(("node-3",)))
    scenario.pod("first", cpu=4, node="node-3").pod("second", cpu=4, constraints=preferred).plan()
    assert scenario.why("second")[0] == "WaitingForLocality"
    scenario.without_node("node-0").without_node("node-1").plan()
    close_up(scenario.core.state)
    scenario.core.check()
    assert scenario.core.state.nodes.row == {"node-2": 0, "node-3": 1}
    scenario.gone("first")
    assert [(bind.uid, bind.node) for bind in scenario.plan()] == [("second", "node-3")]


# -- garbage: what is given up is free without the collector


def weighed(path: str, weight: int, *partitions: str) -> QueueSeen:
    share = PartitionShare(Portions(Portion(Kind.WEIGHT, float(weight))))
    capacity = CapacityQueueSpec(path, partitions=dict.fromkeys(("", *partitions), share))
    return QueueSeen(QueueSpec(path, weight=weight, capacity=capacity))


@pytest.mark.parametrize("discipline", [FAIR, CAPACITY])
def test_nothing_that_is_given_up_waits_for_the_collector_of_garbage(discipline: str) -> None:
    life = Life()
    life.tell(
        SchedulerSeen(SchedulerSpec(discipline=discipline)), *(weighed(f"root.{name}", 1) for name in ("default", "a", "b"))
    )
    life.pods(200)
    assert life.core.state.discipline.name == discipline
    gc.collect()
    gc.disable()
    try:
        life.pods(500)
        life.nodes(100)
        for weight in range(2, 7):
            life.tell(weighed("root.a", weight))
            life.plan()
        assert gc.collect() < 50
    finally:
        gc.enable()


def test_queues_that_rules_made_are_free_when_they_are_removed() -> None:
    life = Life()
    life.tell(SchedulerSeen(SchedulerSpec(rules=(PlacementRule("user"),))))
    gc.collect()
    gc.disable()
    try:
        for number in range(50):
            life.tell(PodSeen(a_pod(f"pod-{number}", user=f"user-{number}", application=f"app-{number}")))
            life.plan()
            life.tell(PodGone(f"pod-{number}"))
        life.now += 100.0
        life.plan()
        life.plan()
        assert len(life.core.state.tree.queues) < 5
        assert gc.collect() < 50
    finally:
        gc.enable()


@pytest.mark.parametrize("discipline", [FAIR, CAPACITY])
def test_an_application_whose_pods_all_like_other_nodes_does_not_remember_them_all(discipline: str) -> None:
    life = Life()
    life.tell(SchedulerSeen(SchedulerSpec(discipline=discipline, fair=FairSettings(node_delay=1.0, rack_delay=1.0))))
    life.tell(weighed("root.default", 1), PodSeen(a_pod("stays", cpu=1000)))
    for number in range(800):
        preferred = Constraints(wish=Wish((f"node-{number % 20}",)), selector=((f"label-{number}", ""),) if number % 2 else ())
        life.tell(PodSeen(a_pod(f"pod-{number}", memory=1 + number, constraints=preferred)))
        life.plan()
        life.tell(PodGone(f"pod-{number}"))
    locality = life.core.state.applications["ns/app"].locality
    assert len(locality.count if isinstance(locality, Missed) else locality.allowed) <= MOST_KEYS + 2


def test_partitions_that_pods_make_up_are_given_up_when_nobody_is_in_them() -> None:
    life = Life()
    life.tell(SchedulerSeen(SchedulerSpec(discipline=CAPACITY)), weighed("root", 1, "part-0", "part-50"))
    life.tell(weighed("root.default", 1, "part-0", "part-50"), weighed("root.a", 1))
    life.tell(PodSeen(a_pod("stays", partition="part-0", application="stays")), PodSeen(a_pod("anchor", application="long")))
    life.tell(NodeSeen(a_node("other", labels={"treadle.dev/partition": "part-1"})))
    for number in range(1, 200):
        name = f"pod-{number}"
        life.tell(PodSeen(a_pod(name, partition=f"part-{number}", application="long" if number % 2 else f"app-{number}")))
        life.plan()
        life.tell(PodGone(name))
        life.plan()
    state = life.core.state
    assert capacities_in(state) is not None
    assert len(state.tree.roots) <= 20
    assert {"part-0", "part-1"} <= state.tree.roots.keys()
    assert sum(map(len, capacities_in(state).bounds.values())) <= 3 * 20
    assert len(state.applications["ns/long"].parts) <= 20
    life.core.check()
    life.tell(*(NodeSeen(a_node(f"of-{number}", labels={"treadle.dev/partition": f"part-{number}"})) for number in (0, 50)))
    life.tell(PodSeen(a_pod("late", partition="part-50", application="long")))
    life.now += 5.0
    assert sorted(life.plan()) == ["late", "stays"]
    life.core.check()


def test_applications_that_leave_without_having_been_served_do_not_pile_up_in_the_order() -> None:
    life = Life(nodes=1)
    life.tell(PodSeen(a_pod("stays", application="stays", cpu=1000, memory=1)))
    for number in range(2_000):
        life.tell(PodSeen(a_pod(f"pod-{number}", application=f"app-{number}", created=float(number))), PodGone(f"pod-{number}"))
    assert len(life.core.state.tree.queues["root.default"].heap) < 100


def test_applications_that_waited_and_were_told_of_leave_nothing() -> None:
    life = Life(nodes=1)
    life.tell(PodSeen(a_pod("hog", application="hog", cpu=64, memory=1, node="node-0")))

    def waited(count: int) -> int:
        for _ in range(count):
            life.number += 1
            life.tell(PodSeen(a_pod(f"late-{life.number}", application=f"late-{life.number}")))
        life.plan()
        life.now += 5
        assert len([effect for effect in life.core.plan(life.now) if isinstance(effect, RecordEvent)]) == count
        life.tell(*(PodGone(uid) for uid in list(life.core.state.pods) if uid != "hog"))
        life.now += 400
        life.plan()
        gc.collect()
        return len(gc.get_objects())

    waited(400)
    before = waited(400)
    for _ in range(10):
        waited(400)
    assert len(life.core.state.reports.again) <= 2 * 400 + MOST_RETOLD + 1
    assert waited(400) < before + 4_000, "an application alone is some thirty objects"
