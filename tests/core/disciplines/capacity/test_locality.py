"""Pods that would like to be near something under the capacity discipline: they let offers of other nodes go by, as many as the settings say."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import places, wish
from core.clusters import Cluster
from treadle.core.model import RACK_LABEL


class Racks(Cluster):
    """Nodes a1, a2 in rack a and b1 to b4 in rack b; one queue."""

    def tree(self, cpu: int = 2, **settings: Any) -> Racks:
        self.capacity(**settings).share("root.default", "100%")
        for name in ("b1", "b2", "b3", "b4", "a1", "a2"):
            self.node(name, cpu=cpu, labels={RACK_LABEL: name[0]})
        return self

    def ends(self) -> float:
        """Go to the end of the wait that is under way, and return how long it took."""
        due, before = self.core.next_timer(), self.now
        assert due is not None
        self.now = due
        return due - before


@pytest.fixture
def cluster() -> Racks:
    return Racks()


def test_an_ask_lets_offers_go_by_before_its_racks_and_then_any_node_will_do(cluster: Racks) -> None:
    cluster.tree(node_delay=4, rack_delay=2).pods(7, "p", cpu=1, **wish("a1"))
    assert places(cluster.plan()) == ["a1", "a1"]
    reason, message = cluster.why("p-2")
    assert reason == "WaitingForLocality"
    assert message == (
        "there is no room on the nodes that it prefers; it lets 4 offers of other nodes go by (5 nodes with room, each once a second), "
        "for 0.8 s at the most, then their racks will do"
    )
    cluster.wait(0.79)
    assert cluster.plan() == []
    assert cluster.ends() < 0.02
    assert places(cluster.plan()) == ["a2"], "what is placed in a rack starts the count anew"
    cluster.wait(0.81)
    assert places(cluster.plan()) == ["a2"]
    assert cluster.why("p-4")[1] == (
        "there is no room on the racks of the nodes that it prefers; it lets 6 offers of other nodes go by "
        "(4 nodes with room, each once a second), for 1.5 s at the most, then any node will do"
    )
    cluster.wait(1.51)
    assert places(cluster.plan()) == ["b1", "b1", "b2"], "what is placed anywhere does not start it anew"


def test_what_is_placed_in_a_rack_need_not_start_the_count_anew(cluster: Racks) -> None:
    cluster.tree(node_delay=4, rack_delay=50, rack_full_reset=False).pods(5, "p", cpu=1, **wish("a1"))
    cluster.plan()
    cluster.wait(0.81)
    assert places(cluster.plan()) == ["a2", "a2"]


def test_what_is_placed_where_it_would_like_to_be_starts_the_count_anew(cluster: Racks) -> None:
    cluster.tree(node_delay=4, rack_delay=0).pods(5, "p", cpu=1, **wish("a1"))
    cluster.confirm(cluster.plan())
    cluster.wait(0.7).gone("p-0")
    assert places(cluster.plan()) == ["a1"]
    assert cluster.wait(0.7).plan() == []
    assert places(cluster.wait(0.11).plan()) == ["a2"]


def test_the_delay_is_no_more_than_there_are_nodes(cluster: Racks) -> None:
    cluster.tree(node_delay=40, rack_delay=40).pods(3, "p", cpu=1, **wish("a1"))
    cluster.plan()
    assert "lets 6 offers of other nodes go by" in cluster.why("p-2")[1]


def test_fewer_nodes_with_room_make_fewer_offers(cluster: Racks) -> None:
    cluster.tree(node_delay=4, rack_delay=10).pods(8, "o", "", "other", cpu=1, **wish("b1", "b2", "b3", "b4"))
    cluster.pods(3, "p", cpu=1, created=9.0, **wish("a1"))
    assert len(cluster.plan()) == 10
    assert "(1 node with room, each once a second), for 4 s at the most" in cluster.why("p-2")[1]
    assert cluster.wait(3.9).plan() == []
    assert places(cluster.wait(0.2).plan()) == ["a2"]


def test_without_an_additional_delay_few_pods_that_name_few_nodes_soon_take_any(cluster: Racks) -> None:
    """One node and its rack of six nodes: a third of the pods that wait."""
    cluster.tree(node_delay=40).pods(11, "p", cpu=1, **wish("a1"))
    assert places(cluster.plan()) == ["a1", "a1"]
    assert "lets 3 offers of other nodes go by (5 nodes with room, each once a second), for 0.6 s" in cluster.why("p-2")[1]
    cluster.wait(0.61)
    assert places(cluster.plan())[:3] == ["a2", "a2", "b1"], "near ones first, though any will do"


@pytest.mark.parametrize("delay", [0, -1])
def test_without_a_delay_the_rack_is_taken_at_once(cluster: Racks, delay: int) -> None:
    cluster.tree(node_delay=delay, rack_delay=5).pods(5, "p", cpu=1, **wish("a1"))
    assert places(cluster.plan()) == ["a1", "a1", "a2", "a2"]


def test_the_times_of_the_fair_discipline_do_not_matter(cluster: Racks) -> None:
    from core.clusters import settings
    from treadle.core.model import FairSettings

    cluster.tree()
    cluster.scheduler(
        discipline="Capacity", capacity=settings(node_delay=-1), fair=FairSettings(node_delay=500.0, rack_delay=500.0)
    )
    cluster.pods(3, "p", cpu=1, **wish("a1"))
    assert places(cluster.plan()) == ["a1", "a1", "a2"]


def test_shorter_delays_take_effect_on_what_waits_and_a_wait_is_not_put_off(cluster: Racks) -> None:
    cluster.tree(node_delay=5, rack_delay=5).pods(3, "p", cpu=1, **wish("a1"))
    cluster.plan()
    cluster.wait(0.9).node("b1", cpu=1, labels={RACK_LABEL: "b"}).node("a1", cpu=2, labels={RACK_LABEL: "a"})
    assert cluster.plan() == []
    assert places(cluster.wait(0.11).plan()) == ["a2"]
    cluster.pods(2, "q", cpu=2, **wish("a1")).plan()
    assert cluster.why("q-0")[0] == "WaitingForLocality"
    cluster.capacity(node_delay=0, rack_delay=0)
    assert len(cluster.plan()) == 2


def test_a_liked_node_that_gets_room_is_taken_at_once(cluster: Racks) -> None:
    cluster.tree(node_delay=6, rack_delay=6).pods(3, "p", cpu=1, **wish("a1"))
    cluster.confirm(cluster.plan())
    cluster.wait(0.2).gone("p-1")
    assert places(cluster.plan()) == ["a1"]


def test_nobody_waits_for_places_that_are_not_there(cluster: Racks) -> None:
    cluster.tree().pod("p", **wish("nowhere")).pod("q", "", "other", **wish(racks=("b",)))
    assert {bind.name: bind.node[0] for bind in cluster.plan()} == {"p": "b", "q": "b"}


def test_full_nodes_offer_nothing(cluster: Racks) -> None:
    cluster.tree(cpu=1).pod("p", cpu=2, **wish("a1"))
    assert cluster.plan() == []
    assert cluster.why("p")[0] == "Unschedulable"


def test_a_switch_of_the_discipline_begins_anew(cluster: Racks) -> None:
    cluster.tree(node_delay=6, rack_delay=6).pods(3, "p", cpu=1, **wish("a1"))
    assert len(cluster.plan()) == 2
    cluster.scheduler(discipline="Fair")
    assert places(cluster.plan()) == ["a2"]
