"""Affinity and anti-affinity between pods, by the decisions of a core."""

from __future__ import annotations

from dataclasses import replace

from core.builders import a_pod
from core.ruled import ALONE, NEAR_WEB, WEB, a_ruled_pod, placed, zones
from treadle.core.events import BindDone, NamespaceSeen, NodeGone, PodGone, PodSeen
from treadle.core.kernel.nodes.rules.pod_affinity import AFFINITY, ANTI_AFFINITY, AVOIDED
from treadle.core.kernel.tidy import close_up, prune
from treadle.core.model import PodTerm, Requirement


def test_a_pod_goes_where_a_pod_is_that_it_wants_to_be_near() -> None:
    at = zones()
    at.tell(
        PodSeen(replace(a_ruled_pod("there"), scheduler="other", node="z1-0")),
        PodSeen(a_ruled_pod("p", "db", affinity=(NEAR_WEB,))),
    )

    assert placed(at)["p"].startswith("z1")


def test_a_pod_that_is_near_nothing_waits_and_says_so_in_kube_schedulers_words() -> None:
    at = zones().tell(PodSeen(a_ruled_pod("p", "db", affinity=(NEAR_WEB,))))

    assert placed(at) == {}
    assert at.why("p")[1].startswith(f"0/4 nodes are available: 4 {AFFINITY}.")


def test_the_first_of_a_series_goes_anywhere_and_the_others_follow_it() -> None:
    at = zones(3).tell(*(PodSeen(a_ruled_pod(f"p{number}", affinity=(NEAR_WEB,))) for number in range(4)))

    found = placed(at)
    assert len(found) == 4
    assert len({node.partition("-")[0] for node in found.values()}) == 1


def test_a_pod_that_waits_to_be_near_another_is_woken_when_that_is_placed() -> None:
    at = zones().tell(PodSeen(a_ruled_pod("p", "db", affinity=(NEAR_WEB,))))
    assert placed(at) == {}

    at.tell(PodSeen(a_ruled_pod("w", "web")))
    assert set(placed(at)) >= {"p"}


def test_pods_that_want_hosts_for_themselves_get_one_each_and_the_last_waits() -> None:
    at = zones().tell(*(PodSeen(a_ruled_pod(f"p{number}", anti_affinity=(ALONE,))) for number in range(5)))

    found = placed(at)
    assert sorted(found.values()) == ["z0-0", "z0-1", "z1-0", "z1-1"]
    assert at.why("p4")[1].startswith(f"0/4 nodes are available: 4 {ANTI_AFFINITY}.")


def test_the_end_of_a_pod_lets_the_next_one_in() -> None:
    at = zones(1, 1).tell(*(PodSeen(a_ruled_pod(f"p{number}", anti_affinity=(ALONE,))) for number in range(2)))
    assert list(placed(at)) == ["p0"]

    at.tell(PodGone("p0"))
    assert "p1" in placed(at)


def test_a_pod_without_rules_keeps_away_from_a_pod_that_wants_to_be_alone() -> None:
    at = zones(1)
    lonely = replace(a_ruled_pod("lonely", "db", anti_affinity=(PodTerm("host", WEB, ("ns",)),)), scheduler="other", node="z0-0")
    at.tell(PodSeen(lonely), PodSeen(a_ruled_pod("p", "web")), PodSeen(a_ruled_pod("q", "db")))

    found = placed(at)
    assert found["p"] == "z0-1"


def test_a_pod_that_waits_is_kept_away_from_one_that_comes_to_want_to_be_alone() -> None:
    at = zones(1, 1).tell(PodSeen(a_ruled_pod("big", "web")))
    at.tell(PodSeen(replace(a_pod("full", cpu=4), scheduler="other", node="z0-0")))
    assert placed(at) == {}

    lonely = replace(a_ruled_pod("lonely", "db", anti_affinity=(ALONE,)), scheduler="other", node="z0-0")
    at.tell(PodSeen(lonely), PodGone("full"))
    assert placed(at) == {}
    assert AVOIDED in at.why("big")[1]


def test_what_is_decided_in_a_pass_counts_for_what_comes_after_it() -> None:
    at = zones(1, 1).tell(PodSeen(a_ruled_pod("a", "db", anti_affinity=(ALONE,))), PodSeen(a_ruled_pod("b", "web")))

    assert len(placed(at)) == 1


def test_namespaces_are_chosen_by_their_labels_of_now() -> None:
    chosen = PodTerm("host", WEB, (), (Requirement("team", "In", ("x",)),))
    at = zones(1, 1).tell(PodSeen(replace(a_ruled_pod("w"), namespace="far", scheduler="other", node="z0-0")))
    at.tell(NamespaceSeen("far", "", (("team", "x"),)), PodSeen(a_ruled_pod("p", "db", anti_affinity=(chosen,))))
    assert placed(at) == {}

    at.tell(NamespaceSeen("far", "", (("team", "y"),)))
    assert list(placed(at)) == ["p"]


def test_labels_that_a_pod_gets_with_its_bind_count() -> None:
    at = zones(1, 1).tell(PodSeen(a_ruled_pod("a", "db")))
    assert list(placed(at)) == ["a"]
    confirmed = replace(a_ruled_pod("a", "db"), node="z0-0", labels=(("app", "web"),))
    at.tell(BindDone("a"), PodSeen(confirmed), PodSeen(a_ruled_pod("p", "db", anti_affinity=(ALONE,))))

    assert "p" not in placed(at)


def test_all_that_a_pod_helps_are_placed_whichever_applications_they_are_of() -> None:
    at = zones(1, 1)
    for number in range(3):
        at.tell(PodSeen(replace(a_ruled_pod(f"p{number}", "db", affinity=(NEAR_WEB,)), application=f"ns/app{number}")))
    assert placed(at) == {}

    at.tell(PodSeen(a_ruled_pod("w", "web")))
    assert set(placed(at)) == {"w", "p0", "p1", "p2"}


def test_a_bind_that_fails_lets_its_pod_wait_for_what_others_avoid_by_now() -> None:
    at = zones(1, 1).tell(PodSeen(a_ruled_pod("p", "web")))
    (bind,) = at.plan()
    at.tell(PodSeen(replace(a_ruled_pod("lonely", "db", anti_affinity=(ALONE,)), scheduler="other", node="z0-0")))
    at.fail(bind).wait(60)

    assert placed(at) == {}
    assert AVOIDED in at.why("p")[1]


def test_a_pod_on_a_node_that_is_not_known_counts_when_that_is_described() -> None:
    at = zones(1, 1).tell(PodSeen(a_ruled_pod("p", "db", affinity=(NEAR_WEB,))))
    at.tell(PodSeen(replace(a_ruled_pod("w"), scheduler="other", node="late")))
    assert placed(at) == {}

    at.node("late", cpu=0, labels={"zone": "z0", "host": "late"})
    assert placed(at) == {"p": "z0-0"}


def test_rows_that_are_closed_up_and_counts_that_are_pruned_change_nothing() -> None:
    at = zones(2, 2).tell(*(PodSeen(a_ruled_pod(f"p{number}", anti_affinity=(ALONE,))) for number in range(2)))
    before = set(placed(at).values())
    at.tell(NodeGone(min({"z0-0", "z0-1", "z1-0"} - before)))
    prune(at.core.state)
    close_up(at.core.state)
    at.tell(*(PodSeen(a_ruled_pod(f"q{number}", anti_affinity=(ALONE,))) for number in range(2)))

    found = set(placed(at).values())
    assert len(found) == 1
    assert found.isdisjoint(before)
