"""What a core knows, told to a new one as events."""

from __future__ import annotations

from core.builders import Scenario, a_pod, limits
from treadle.core import Core
from treadle.core.effects import Verify
from treadle.core.events import BindDone, BindFailed, PodSeen
from treadle.core.kernel.pods.states import PodState
from treadle.core.model import FairSettings


def told_anew(scenario: Scenario, under_way: set[str] | None = None) -> Scenario:
    new = Scenario()
    new.now = scenario.now
    for event in scenario.core.facts(under_way):
        new.tell(event)
    return new


def state_of(scenario: Scenario, uid: str) -> PodState:
    return scenario.core.state.pods[uid].state


def test_a_bind_that_is_under_way_stays_counted_until_it_is_known_what_became_of_it() -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a").pod("p", "root.a", cpu=3).pod("q", "root.a", cpu=3)
    (bind,) = scenario.plan()
    new = told_anew(scenario)
    assert (state_of(new, bind.uid), new.used("root.a"), new.free("node-0")) == (PodState.ASSUMED, 3, 1)
    assert new.wait(1).plan() == []

    new.tell(BindFailed(bind.uid, "transient", "no answer"))
    assert (new.used("root.a"), new.free("node-0")) == (0, 4)


def test_a_bind_that_is_confirmed_afterwards_is_counted_once() -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a").pod("p", "root.a", cpu=3)
    (bind,) = scenario.plan()
    new = told_anew(scenario)
    new.tell(BindDone("p"), PodSeen(a_pod("p", "root.a", cpu=3, node=bind.node)))
    assert (state_of(new, "p"), new.used("root.a")) == (PodState.BOUND, 3)


def test_what_was_decided_and_never_sent_is_decided_again() -> None:
    scenario = Scenario().nodes(1, cpu=4).pods(2, "p")
    assert len(scenario.plan()) == 2
    assert [bind.uid for bind in told_anew(scenario, under_way={"p-0"}).plan()] == ["p-1"]


def test_a_bind_that_nothing_is_heard_of_is_asked_after() -> None:
    scenario = Scenario().nodes(1).pod("p")
    scenario.plan()
    new = told_anew(scenario)
    new.plan()
    assert new.effects == []
    new.wait(60).plan()
    assert [type(effect) for effect in new.effects] == [Verify]


def test_failures_are_not_forgotten() -> None:
    scenario = Scenario().nodes(1, cpu=4).pod("p").pod("q")
    for bind in scenario.plan():
        scenario.fail(bind, "transient" if bind.uid == "p" else "refused")
    new = told_anew(scenario)
    assert [state_of(new, uid) for uid in "pq"] == [PodState.DELAYED, PodState.IDLE]
    assert new.wait(0.9).plan() == []
    assert [bind.uid for bind in new.wait(0.2).plan()] == ["p"]
    assert new.core.state.pods["p"].failures == 1


def test_a_reason_that_has_been_told_is_not_told_again() -> None:
    scenario = Scenario().nodes(1, cpu=1).pod("big", cpu=2)
    scenario.plan()
    scenario.wait(3).plan()
    assert len(scenario.reports) == 1
    new = told_anew(scenario)
    new.plan()
    new.wait(10).plan()
    assert new.reports == []


def test_a_definition_that_was_refused_leaves_the_last_good_one_in_force() -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a", maximum=limits(cpu="2"))
    scenario.plan()
    scenario.queue("root.a", minimum=limits(cpu="9"), maximum=limits(cpu="3")).plan()
    new = told_anew(scenario)
    new.plan()
    assert new.core.state.tree.queues["root.a"].spec == scenario.core.state.tree.queues["root.a"].spec
    assert new.core.state.tree.problems == scenario.core.state.tree.problems


def test_an_application_goes_on_in_a_queue_that_drains_and_new_ones_are_not_let_in() -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a").queue("root.b").pod("p", "root.a")
    scenario.confirm(scenario.plan())
    scenario.without_queue("root.a").wait(1).plan()
    new = told_anew(scenario)
    new.pod("q", "root.a", "other").wait(1).plan()
    assert new.used("root.a") == 1
    assert new.why("q")[0] == "QueueNotFound"


def test_who_runs_over_a_limit_that_was_lowered_goes_on() -> None:
    scenario = Scenario().nodes(1, cpu=4)
    for name in "pq":
        scenario.pod(name, application=name, cpu=3)
    scenario.plan()
    scenario.scheduler(fair=FairSettings(queue_max_running_default=1)).wait(1).plan()
    new = told_anew(scenario)
    new.wait(1).plan()
    counted = {application.id for application in new.core.state.applications.values() if application.counted}
    assert counted == {"ns/p", "ns/q"}


def test_a_core_that_broke_off_in_the_middle_of_a_pass_can_still_tell() -> None:
    scenario = Scenario().nodes(1, cpu=4).pods(3, "p")
    core: Core = scenario.core
    core.state.tree.root.heap.clear()  # as an exception might have left it
    new = told_anew(scenario)
    assert len(new.plan()) == 3
