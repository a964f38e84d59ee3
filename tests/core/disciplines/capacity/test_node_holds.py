"""Nodes kept for large pods under the capacity discipline: who may have one, what it counts as, and when it is given back."""

from __future__ import annotations

from dataclasses import replace

from core.builders import Constraints
from core.clusters import LABEL, QUICK, Churn, Partitioned
from treadle.core.effects import Evict
from treadle.core.events import ApplicationSeen
from treadle.core.kernel.preemption.holds import kept_by_queue
from treadle.core.model import ApplicationSpec, Wish


def test_without_kept_nodes_small_pods_take_every_gap() -> None:
    at = Churn(reservable_nodes=0.0)
    at.pod("large", "root.large", "large", cpu=3)
    at.churn(60)
    assert at.bound("large") == 0
    assert at.kept == []


def test_a_node_is_kept_until_the_large_pod_fits() -> None:
    at = Churn()
    at.pod("large", "root.large", "large", cpu=3)
    at.churn(9)
    assert at.kept == [], "not at once: most room comes by itself"
    at.churn(7)
    assert at.kept == ["node-0"]
    assert "Kept for these pods until enough is free: node-0." in at.why("large")[1]
    at.churn(4)
    assert at.bound("large") == 1
    assert at.used("root.large") == 3
    assert not any(hold.application.id == "ns/large" for hold in at.holds)
    assert not any(isinstance(effect, Evict) for effect in at.effects)


def test_what_is_kept_counts_as_used() -> None:
    at = Churn()
    at.pod("large", "root.large", "large", cpu=3)
    at.churn(16)
    assert at.used("root.large") == 3
    at.gone("large").pass_()
    assert at.used("root.large") == 0
    assert at.kept == [], "nobody needs it any more"


def test_who_has_more_than_its_guarantee_has_no_node_kept_while_others_wait() -> None:
    at = Churn(nodes=2, small="90%", large="10%")
    at.gone(*at.running[:4])
    at.running = at.running[4:]
    at.pod("first", "root.large", "large", cpu=4, created=-1.0)
    at.confirm(at.plan())
    at.churn(3)
    at.pod("larger", "root.large", "large", cpu=3)
    at.churn(25)
    assert not any(hold.application.id == "ns/large" for hold in at.holds)


def test_who_has_more_may_have_one_kept_while_nobody_else_waits() -> None:
    at = Churn(small="90%", large="10%")
    at.gone(*at.running[:3])
    at.running = at.running[3:]
    at.pass_()
    waiting = [uid for uid, record in at.core.state.pods.items() if not record.spec.node]
    at.gone(*waiting)
    at.pods(1, "own", "root.large", "large").pass_()
    at.pod("larger", "root.large", "large", cpu=3)
    at.passes(15)
    assert at.kept == ["node-0"]
    at.pods(2, "owed", "root.small", "owed")
    at.gone(at.running.pop(0)).pass_()
    assert at.bound("owed") == 0
    at.passes(4)
    assert at.bound("owed") == 1, "room is owed to somebody else now, who has less than its guarantee"
    assert at.kept == []


def test_an_owed_queue_keeps_its_node_though_others_are_owed_too() -> None:
    at = Churn(nodes=1, small="30%", large="40%")
    at.shares("root.third", "30%")
    at.pod("large", "root.large", "large", cpu=3)
    at.passes(15)
    assert at.kept == ["node-0"]
    at.pod("third", "root.third", "third", cpu=3)
    at.passes(15)
    assert [hold.application.id for hold in at.holds] == ["ns/large"]


def test_no_more_nodes_are_kept_than_may_be_and_those_first_in_order_come_first() -> None:
    at = Churn(nodes=4, small="40%", large="20%", reservable_nodes=0.3)
    at.shares("root.third", "20%").shares("root.fourth", "20%")
    for name in ("third", "fourth", "large"):
        at.pods(3, name, f"root.{name}", name, cpu=4)
    at.passes(40)
    assert len(at.kept) == 2, "the next whole number of three tenths of four"
    assert [hold.application.id for hold in at.holds] == ["ns/large", "ns/fourth"], (
        "none of the three has any: as they are listed"
    )


def test_a_queue_at_its_maximum_has_no_node_kept() -> None:
    at = Churn()
    at.shares("root.small", "50%")
    at.share("root.large", "50%", "50%", user_limit_factor=-1)
    at.pod("large", "root.large", "large", cpu=3)
    at.churn(20)
    assert at.kept == []


def test_a_user_at_the_limit_has_no_node_kept() -> None:
    at = Churn(nodes=2)
    at.share("root.large", "50%", user_limit_factor=0.5)
    at.gone(*at.running[:3])
    at.running = at.running[3:]
    at.pods(3, "own", "root.large", "large", created=-1.0)
    at.pass_()
    at.pod("larger", "root.large", "large", cpu=3)
    at.churn(20)
    assert at.kept == []
    assert at.why("larger")[0] == "UserLimit"


def test_others_of_the_queue_cannot_take_what_is_kept_from_its_maximum() -> None:
    at = Churn(nodes=2)
    at.share("root.large", "50%", "75%", user_limit_factor=-1)
    at.pod("large", "root.large", "large", cpu=4)
    at.churn(16)
    assert len(at.kept) == 1
    at.pods(8, "further", "root.large", "further", created=50.0)
    at.churn(1)
    for _ in range(6):
        at.gone(at.running.pop(0)).pass_()
    assert at.bound("further") <= 2, "six cores at the most, four of which are kept or used by then"
    at.churn(8)
    assert at.bound("large") == 1


def test_the_pod_may_be_placed_elsewhere_which_gives_the_node_back() -> None:
    at = Churn(nodes=2)
    at.pod("large", "root.large", "large", cpu=3)
    at.passes(15)
    assert len(at.kept) == 1
    at.nodes(1, "new")
    at.pass_()
    assert at.core.state.pods["large"].spec.node == "new-0"
    at.pass_()
    assert at.kept == []
    assert at.used("root.large") == 3


def test_what_is_kept_for_an_ask_does_not_keep_it_from_being_placed_elsewhere() -> None:
    """With what is kept the queue is at its maximum, and the user at the limit."""
    at = Churn(nodes=2)
    at.share("root.large", "50%", "50%", user_limit_factor=1.0)
    at.pod("large", "root.large", "large", cpu=4)
    at.passes(15)
    assert len(at.kept) == 1
    at.nodes(1, "new").pass_()
    assert at.core.state.pods["large"].spec.node == "new-0"
    assert at.kept == []


def test_a_node_that_was_kept_in_vain_is_left_alone_for_as_long() -> None:
    at = Churn(preemption=replace(QUICK, enabled=False, hold_timeout=30.0))
    at.pod("large", "root.large", "large", cpu=3)
    at.passes(15)
    (before,) = at.holds
    at.passes(int(before.until - at.now) + 1)
    assert at.kept == []
    at.passes(28)
    assert at.kept == []
    at.passes(6)
    assert at.kept == ["node-0"]


def test_a_node_of_the_partition_that_is_asked_for_is_kept_and_lent_pods_keep_none() -> None:
    at = Partitioned().partitions(gpu=False)
    at.shares("root.a", "50%", "50%").shares("root.b", "50%", "50%").machines(1, 1, cpu=4)
    at.pods(4, "d", "root.b", "d")
    at.pods(4, "g", "root.b", "g", partition="gpu", created=1.0)
    at.confirm(at.plan())
    at.pod("large", "root.a", "large", cpu=3, partition="gpu")
    for _ in range(15):
        at.confirm(at.wait(1.0).plan())
    state = at.core.state
    assert [state.nodes.names[hold.row] for hold in state.preemption.holds] == ["gpu-0"]
    part = state.tree.queues["root.a"].parts["gpu"]
    assert part.usage[1] == 3000
    assert kept_by_queue(state)[state.tree.root][1] == 3000
    at.gone("large").plan()
    assert part.usage[1] == 0
    at.pod("default", "root.a", "default", cpu=3)
    for _ in range(15):
        at.confirm(at.wait(1.0).plan())
    assert [state.nodes.names[hold.row] for hold in state.preemption.holds] == ["plain-0"]


def test_a_node_that_goes_to_another_partition_is_given_back() -> None:
    at = Churn()
    at.rules(partitions={"gpu": True})
    at.pod("large", "root.large", "large", cpu=3)
    at.passes(15)
    assert at.kept == ["node-0"]
    at.node("node-0", labels={LABEL: "gpu"})
    at.pass_()
    assert at.kept == []
    assert at.used("root.large") == 0


def test_a_pod_that_no_node_is_large_enough_for_has_none_kept() -> None:
    at = Churn()
    at.pod("huge", "root.large", "large", cpu=5)
    at.pod("picky", "root.large", "picky", constraints=Constraints(wish=Wish(("nowhere",), relax=False)))
    at.passes(20)
    assert at.kept == []


def test_preemption_helps_as_if_nothing_was_kept() -> None:
    at = Churn(preemption=replace(QUICK, enabled=False))
    at.pod("large", "root.large", "large", cpu=2)
    at.passes(15)
    assert at.kept == ["node-0"]
    at.rules(preemption=QUICK)
    asked = []
    for _ in range(4):
        at.wait(3.0).plan()
        asked += [effect for effect in at.effects if isinstance(effect, Evict)]
    assert len(asked) == 2
    (hold,) = at.holds
    assert not hold.without_victims
    assert at.used("root.large") == 0


def test_a_node_is_given_back_when_the_application_may_not_run_any_more() -> None:
    at = Churn()
    at.pod("large", "root.large", "large", cpu=3)
    at.passes(15)
    assert at.kept == ["node-0"]
    at.tell(ApplicationSeen(ApplicationSpec("ns/large", "root.large", lifetime=1.0)))
    at.passes(4)
    assert at.why("large")[0] == "LifetimeOver"
    assert not any(hold.application.id == "ns/large" for hold in at.holds)


def test_what_is_kept_moves_with_its_application_and_ends_with_the_discipline() -> None:
    at = Churn()
    at.shares("root.small", "30%").shares("root.large", "40%").shares("root.third", "30%")
    at.pod("large", "root.large", "large", cpu=3)
    at.passes(15)
    assert at.used("root.large") == 3
    at.application("large", "root.third").pass_()
    assert (at.used("root.large"), at.used("root.third")) == (0, 3)
    at.scheduler(discipline="Fair").pass_()
    assert at.kept == []
    assert at.used("root.third") == 0


def test_one_looks_again_by_itself_while_somebody_waits() -> None:
    at = Churn()
    at.pod("large", "root.large", "large", cpu=3).pass_()
    for _ in range(6):
        due = at.core.next_timer()
        assert due is not None
        at.now = max(at.now, due)
        at.pass_()
        if at.kept:
            break
    assert at.kept == ["node-0"]
    assert at.now < 16
