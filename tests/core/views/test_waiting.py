"""Why pods wait, counted: what is said of each of them by itself, and whose they are."""

from __future__ import annotations

from collections import Counter

import pytest

from core.builders import Scenario, limits
from core.clusters import Preempting
from treadle.core.events import ProvisionerKnown
from treadle.core.kernel.pods.states import PodState
from treadle.core.model import GangSettings, Settings
from treadle.core.model.gangs import Provisioning
from treadle.core.views import waiting as module
from treadle.core.views.waiting import OTHERS, UserFigures, WaitingFigures


def crowd() -> Scenario:
    """Pods that wait for everything at once: a node, a queue's maximum, gates, another try, and a queue that is not there."""
    cluster = Scenario().nodes(1, cpu=4)
    cluster.queue("root.a", maximum=limits(cpu="2")).queue("root.b").queue("root.c")
    cluster.pods(5, "a", "root.a", "a", user="ann").pods(6, "b", "root.b", "b", user="bob")
    cluster.pod("gated", "root.b", "b", gated=True, user="bob").pod("lost", "root.nowhere", "lost", user="eve")
    cluster.pod("foreign", scheduler="other", gated=True)
    binds = cluster.plan()
    cluster.fail(binds[0]).confirm(binds[1:])
    cluster.plan()
    return cluster


def figures(cluster: Scenario) -> WaitingFigures:
    return cluster.core.view.waiting()


def test_as_many_wait_for_a_reason_as_are_told_it() -> None:
    cluster = crowd()
    told = Counter(
        cluster.why(uid)[0]
        for uid, record in cluster.core.state.pods.items()
        if uid != "foreign" and record.state not in {PodState.BOUND, PodState.ASSUMED}
    )

    found = figures(cluster)
    assert found.reasons == told
    assert {"BindFailed", "SchedulingGated", "Unschedulable", "QueueMaximum", "QueueNotFound"} <= set(told)
    assert (found.active, found.backoff, found.gated) == (0, 1, 1)
    assert found.unschedulable == told.total() - 2


def test_before_a_pass_all_compete() -> None:
    cluster = Scenario().nodes(1).queue("root.a").pods(3, "a", "root.a")

    assert figures(cluster).reasons == {"WaitingForTurn": 3}
    assert figures(cluster).active == 3


def test_users_have_what_their_applications_have() -> None:
    cluster = Scenario().nodes(1, cpu=3).queue("root.a")
    cluster.pods(2, "one", "root.a", "one", user="ann").pods(2, "two", "root.a", "two", user="ann", created=1.0)
    cluster.confirm(cluster.plan())

    assert figures(cluster).users == {"ann": UserFigures(1, 3, {"cpu": 3000, "memory": 3 << 30, "pods": 3})}


def test_of_very_many_users_those_with_the_most_pods_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_USERS", 2)
    cluster = Scenario().nodes(1, cpu=1).queue("root.a")
    for number in range(1, 5):
        cluster.pods(number, f"p{number}", "root.a", f"app{number}", user=f"u{number}")

    found = figures(cluster).users
    assert set(found) == {"u4", "u3", OTHERS}
    assert found[OTHERS].waiting == 3


def test_the_times_of_a_placement_are_those_of_the_last_decision() -> None:
    cluster = Scenario()
    cluster.core.state.settings = Settings(epoch=1000.0)
    cluster.nodes(1, cpu=1).queue("root.a").wait(2).pod("a", "root.a", created=990.0)
    assert cluster.core.view.placement_times("a") is None
    (bind,) = cluster.wait(3).plan()
    cluster.fail(bind)
    (bind,) = cluster.wait(5).tell().plan() or cluster.wait(1).plan()
    cluster.confirm([bind])

    found = cluster.core.view.placement_times("a")
    assert found is not None
    assert (found.queue, found.entered, found.decided, found.since_made) == ("root.a", 2.0, 10.0, 20.0)
    assert cluster.core.view.placement_times("nobody") is None


def test_a_pod_whose_clock_is_not_known_has_no_time_since_it_was_made() -> None:
    cluster = Scenario().nodes(1).queue("root.a").pod("a", "root.a", created=990.0)
    cluster.plan()

    found = cluster.core.view.placement_times("a")
    assert found is not None
    assert found.since_made is None


def test_attempts_in_vain_are_counted_for_pods_that_are_alike_once() -> None:
    cluster = Scenario().nodes(1, cpu=1).queue("root.a").pods(3, "a", "root.a")
    cluster.plan()
    assert cluster.core.view.parked == 1
    cluster.wait(1).plan()
    assert cluster.core.view.parked == 1, "nothing has changed, so nothing was tried"


def test_searches_for_victims_and_how_many_there_were_are_counted() -> None:
    cluster = Preempting()
    cluster.preempting(intra_queue=True, intra_by_priority=True, intra_limit=1.0)
    cluster.share("root.a", "100%").node("one", cpu=2)
    for number in range(2):
        cluster.pod(f"low-{number}", "root.a", "low", created=float(number), node="one")
    cluster.pod("high", "root.a", "high", created=1000.0, priority=10, cpu=2)
    for _ in range(50):
        cluster.wait(0.1).plan()

    searches, victims = cluster.core.view.preemptions
    assert victims == {2: 1}
    assert searches >= 1


def test_a_gang_for_which_nodes_are_asked_is_counted_so() -> None:
    settings = GangSettings(provisioning=Provisioning("check-capacity.autoscaling.x-k8s.io"))
    cluster = Scenario().scheduler(gangs=settings).nodes(1, cpu=2).tell(ProvisionerKnown(True))
    for number in range(3):
        cluster.pod(f"g{number}", gang="g", gang_minimums=(("g", 3),))
    cluster.plan()

    assert cluster.why("g0")[0] == "NodesRequested"
    assert figures(cluster).reasons == {"NodesRequested": 3}


def test_opportunistic_pods_are_counted_by_their_reasons_and_users() -> None:
    cluster = Scenario().nodes(1, cpu=2).queue("root.a")
    for number in range(3):
        cluster.pod(f"idle{number}", "root.a", "idle", cpu=0, memory=0, opportunistic=(("cpu", 1500), ("memory", 1)), user="ann")
    cluster.pod("nowhere", "root.nowhere", "lost", cpu=0, memory=0, opportunistic=(("cpu", 1), ("memory", 1)), user="ann")
    cluster.plan()
    told = Counter(cluster.why(uid)[0] for uid, record in cluster.core.state.pods.items() if record.state is PodState.WAITING)

    assert told == {"NoIdleRoom": 2, "QueueNotFound": 1}
    assert figures(cluster).reasons == told
    assert figures(cluster).users["ann"].waiting == 3
