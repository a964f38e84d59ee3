"""What others read of the core: figures that agree with what happened, and nothing that changes it."""

from __future__ import annotations

from core.builders import GIB, Scenario, limits
from treadle.core.model import FairSettings
from treadle.core.views.figures import Counts


def busy() -> Scenario:
    """Two queues on a node of four cores: one application has three of five pods, the other one of one."""
    s = Scenario().node("n", cpu=4).queue("root.a", maximum=limits(cpu="3")).queue("root.b")
    s.pods(5, "a", "root.a", application="first").pod("b", "root.b", application="second")
    s.wait(1).plan()
    s.core.refresh_shares(s.now)
    return s


def test_a_queue_has_what_it_uses_wants_and_may_have() -> None:
    queue = busy().core.view.queue("root.a")
    assert queue is not None
    assert queue.used == {"cpu": 3000, "memory": 3 * GIB, "pods": 3}
    assert queue.pending == {"cpu": 2000, "memory": 2 * GIB, "pods": 2}
    assert queue.here.maximum == {"cpu": 3000}
    assert queue.here.used == queue.used
    assert (queue.running, queue.waiting_pods, queue.leaf, queue.state) == (1, 2, True, "Running")
    assert queue.held is None


def test_a_queue_that_is_not_in_force_has_no_figures() -> None:
    assert busy().core.view.queue("root.c") is None


def test_all_queues_in_force_are_told() -> None:
    assert {queue.path for queue in busy().core.view.queues()} == {"root", "root.a", "root.b"}


def test_an_application_says_what_it_has_and_what_its_first_ask_waits_for() -> None:
    view = busy().core.view
    first, second = view.application("ns/first"), view.application("ns/second")
    assert first is not None
    assert second is not None
    assert (first.phase, first.queue, first.waiting_pods) == ("Running", "root.a", 2)
    assert first.waiting is not None
    assert first.waiting[0] == "QueueMaximum"
    assert (second.phase, second.waiting) == ("Running", None)
    assert view.application("ns/none") is None


def test_the_order_of_a_leaf_has_those_who_wait() -> None:
    assert busy().core.view.order_of("root.a") == ["ns/first"]


def test_counts_tell_how_many_there_are() -> None:
    s = busy()
    nothing = {"holds": 0, "backfilled": 0, "backfilled_evicted": 0, "reprovisioned": 0, "without_room": 0}
    expected = Counts(waiting=2, assumed=4, bound=0, pods=6, nodes=1, decisions=4, **nothing)
    assert s.core.view.counts() == expected


def test_pods_are_told_with_their_nodes_and_those_just_decided_apart() -> None:
    s = busy()
    view = s.core.view
    assert view.assumed() == view.just_assumed()
    assert len(view.assumed()) == 4
    s.gone(min(view.assumed()))
    assert s.core.view.just_assumed() == set()
    placed = s.core.view.pod("b")
    assert placed is not None
    assert (placed.application, placed.queue, placed.node) == ("ns/second", "root.b", "n")
    assert s.core.view.pod("nobody") is None


def test_room_that_is_kept_is_told_for_the_queue_and_all_above_it() -> None:
    s = Scenario().scheduler(fair=FairSettings(keep_nodes=True, reservable_nodes=1.0, hold_timeout=600.0)).node("n", cpu=4)
    s.queue("root.small").queue("root.large")
    s.pods(4, "small", "root.small", application="small").confirm(s.plan())
    s.pod("large", "root.large", application="large", cpu=3)
    for _ in range(30):
        s.wait(1.0).plan()
    kept = {queue.path: queue.held for queue in s.core.view.queues()}
    assert kept["root.large"] == kept["root"] == {"cpu": 3000, "memory": GIB, "pods": 1}
    assert kept["root.small"] == {}


def test_reading_changes_nothing() -> None:
    s = busy()
    before = s.core.facts()
    view = s.core.view
    list(view.queues())
    view.tree()
    view.application("ns/first")
    assert s.core.facts() == before
    assert s.plan() == []
