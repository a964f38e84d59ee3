"""Reservations of partitions: 20 cores of the default one and 20 of ``gpu``, of which the plan has half each, by a clock in hours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.builders import a_pod, replaced
from core.clusters import LABEL
from core.kernel.reservations.planned import GPU, PLAN, Interpreter, Reserving, Split, asked, wanted
from treadle.core import Core
from treadle.core.effects import Bind, Evict
from treadle.core.events import BindDone, PodGone, PodSeen, ReservationLost, ReservationSeen
from treadle.core.kernel.reservations.agreement import broken
from treadle.core.kernel.reservations.following import child_path, default_path
from treadle.core.kernel.reservations.in_front import KEPT
from treadle.core.model import CAPACITY
from treadle.core.model.reservations import Asked, PlanSpec
from treadle.core.views.reservations import PlanFigures

MINE = child_path(PLAN, "ns/a")


def on_gpu(**fields: Any) -> Asked:
    """A request for nodes of the partition."""
    return replace(asked(**fields), partition=GPU)


class World(Split):
    """What is bound or evicted is so at once."""

    def __init__(self, default_partition: str | None = None, **plan: Any) -> None:
        super().__init__(default_partition, **plan)
        self.run()

    def run(self, seconds: float = 3) -> list[Any]:
        """Passes of half a second. Returns the evictions."""
        evicted = []
        until = self.now + seconds
        while self.now < until:
            self.plan()
            for effect in list(self.effects):
                if isinstance(effect, Bind):
                    spec = self.core.state.pods[effect.uid].spec
                    bound = replaced(spec, node=effect.node, held_in=effect.queue, started=self.now or 0.001)
                    self.tell(BindDone(effect.uid), PodSeen(bound))
                elif isinstance(effect, Evict):
                    evicted.append(effect)
                    self.tell(PodGone(effect.uid))
            assert not broken(self.core.state)
            self.wait(0.5)
        return evicted

    def pods(self, count: int, name: str, queue: str = "", **fields: Any) -> World:
        given = {"partition": GPU, "application": f"of-{name}", **fields}
        self.tell(*(PodSeen(a_pod(f"{name}{number}", queue=queue, **given)) for number in range(count)))
        return self

    def placed(self, name: str) -> int:
        return sum(1 for uid, record in self.core.state.pods.items() if uid.rstrip("0123456789") == name and record.node >= 0)

    def due(self, identity: str, partition: str = GPU) -> float:
        """What the queue of a reservation, or the default one, is guaranteed of a partition, in cores."""
        state = self.core.state
        path = default_path(PLAN) if identity == "default" else child_path(PLAN, f"ns/{identity}")
        return state.discipline.limits.due(state.tree.queues[path], partition)[state.types.index["cpu"]] / 1000

    def promised(self, name: str = "a") -> list[tuple[float, float, dict[str, float]]]:
        return [
            (start, end, {kind: value / 1000 for kind, value in amounts.items() if kind.endswith("cpu") and kind != "cpu"})
            for start, end, amounts in self.steps(name)
        ]


def test_a_reservation_of_a_partition_is_planned_on_what_its_queue_has_of_that() -> None:
    at = World()
    at.ask(wanted("a", on_gpu(cpu=1, count=8, concurrency=8, hours=1), start=1, end=2)).plan()
    at.ask(wanted("b", asked(cpu=1, count=8, concurrency=8, hours=1), start=1, end=2)).plan()
    assert (at.phase("a"), at.phase("b")) == ("Accepted", "Accepted")
    assert at.steps("a") == [(1, 2, {"gpu:cpu": 8000})]
    assert at.steps("b") == [(1, 2, {"cpu": 8})]
    at.ask(wanted("c", on_gpu(cpu=1, count=3, concurrency=3, hours=1), start=1, end=2)).plan()
    reason, words = at.said("c")
    assert reason == "NoRoom"
    assert f"queue {PLAN}, which has cpu 10 of partition gpu, has no room for it" in words
    assert "spec.deadline 1970-01-01T03:00:00Z" in words


def test_its_queue_is_guaranteed_that_and_the_default_queue_the_rest_of_each_partition() -> None:
    at = World()
    at.ask(wanted("a", on_gpu(cpu=1, count=8, concurrency=8, hours=1), start=1, end=2)).plan()
    at.at(0.9).run()
    assert (at.due("default"), at.due("default", "")) == (10, 10)
    at.at(1).run()
    assert (at.due("a"), at.due("a", "")) == (8, 0)
    assert (at.due("default"), at.due("default", "")) == (2, 10)
    at.at(2.001).run()
    assert (at.due("default"), at.due("default", "")) == (10, 10)


def test_of_types_of_the_partition_of_which_it_says_nothing_it_has_a_part_and_of_another_partition_nothing() -> None:
    at = World()
    at.ask(wanted("a", on_gpu(cpu=1, count=5, concurrency=5, hours=1), start=1, end=2)).plan()
    at.at(1).run()
    state = at.core.state
    memory = state.types.index["memory"]
    due = state.discipline.limits.due
    assert due(state.tree.queues[MINE], GPU)[memory] == pytest.approx(due(state.tree.queues[PLAN], GPU)[memory] / 2, rel=1e-6)
    assert due(state.tree.queues[MINE])[memory] <= 1


def test_stages_of_two_partitions_come_one_after_the_other() -> None:
    at = World()
    stages = (asked(cpu=10, hours=1), on_gpu(cpu=10, hours=1))
    at.ask(wanted("a", *stages, interpreter=Interpreter.ORDER, start=1, end=3)).plan()
    assert at.steps("a") == [(1, 2, {"cpu": 10}), (2, 3, {"gpu:cpu": 10000})]
    at.at(1.5).run()
    assert (at.due("a", ""), at.due("a")) == (10, 0)
    at.at(2.5).run()
    assert (at.due("a", ""), at.due("a")) == (0, 10)


def test_both_partitions_may_be_wanted_at_once() -> None:
    at = World()
    at.ask(wanted("a", asked(cpu=2, hours=1), on_gpu(cpu=8, hours=1), start=1, end=2)).plan()
    assert at.steps("a") == [(1, 2, {"cpu": 2, "gpu:cpu": 8000})]
    at.at(1).run()
    assert (at.due("a", ""), at.due("a"), at.due("default", ""), at.due("default")) == (2, 8, 8, 2)


def test_its_pods_have_their_nodes_at_the_start_under_a_flood_of_others_in_the_partition() -> None:
    at = World()
    at.ask(wanted("a", on_gpu(cpu=1, count=8, concurrency=8, hours=1), start=1, end=2)).inside("mine", "a")
    at.pods(30, "flood", default_path(PLAN)).pods(30, "rest", "root.rest").run()
    assert at.placed("flood") + at.placed("rest") == 20
    at.at(1).pods(8, "mine", application="mine").run(20)
    assert at.placed("mine") == 8
    assert at.queue_of("mine").startswith(MINE.rpartition("-")[0])


def test_room_is_kept_in_front_of_it_on_its_partition_alone() -> None:
    at = World(lead=60_000)
    at.ask(wanted("a", on_gpu(cpu=1, count=10, concurrency=10, hours=1), start=1, end=2)).inside("mine", "a")
    at.pods(10, "old", "root.rest").run()
    at.now = 3600 - 30
    at.pods(4, "more", "root.rest").pods(4, "plain", "root.rest", partition="").run()
    assert (at.placed("more"), at.placed("plain")) == (0, 4)
    wait = next(ask.wait for ask in at.core.state.applications["ns/of-more"].parts[GPU].asks.values())
    assert wait is not None
    assert wait.reason == KEPT
    assert "which is promised cpu 10 of partition gpu from 1970-01-01T01:00:00Z on" in wait.message
    at.pods(2, "short", "root.rest", duration=5.0).run(2)
    assert at.placed("short") == 2
    for number in range(2):
        at.tell(PodGone(f"short{number}"))
    at.at(1).pods(10, "mine", application="mine").run()
    assert at.placed("mine") == 10


def test_a_partition_lends_nothing_while_room_is_kept_in_it() -> None:
    at = World(lead=60_000)
    spec = at.core.state.scheduler
    assert spec.capacity is not None
    shared = replace(spec.capacity, partitions={GPU: False})
    at.scheduler(discipline=CAPACITY, fair=spec.fair, capacity=shared)
    at.ask(wanted("a", on_gpu(cpu=1, count=10, concurrency=10, hours=1), start=1, end=2)).inside("mine", "a")
    at.pods(20, "old", "root.rest", partition="").pods(4, "lent", "root.rest", partition="").run()
    assert (at.placed("old"), at.placed("lent")) == (20, 4)
    at.at(1).pods(10, "mine", application="mine").run()
    assert at.placed("mine") == 10
    at.pods(4, "late", "root.rest", partition="").run()
    assert at.placed("late") == 0
    at.now = 3600 + 61
    at.run()
    assert at.placed("late") == 4


def test_who_was_backfilled_in_the_partition_and_stays_too_long_leaves_for_it() -> None:
    at = World(lead=60_000)
    at.ask(wanted("a", on_gpu(cpu=1, count=10, concurrency=10, hours=1), start=1, end=2)).inside("mine", "a")
    at.pods(10, "old", "root.rest").run()
    at.now = 3600 - 30
    at.pods(2, "liar", "root.rest", duration=5.0).run(2)
    assert at.placed("liar") == 2
    at.at(1).pods(10, "mine", application="mine").run(4)
    assert (at.placed("mine"), at.placed("liar"), at.placed("old")) == (10, 0, 10)


def test_a_queue_with_a_default_partition_plans_requests_that_name_none_there() -> None:
    at = World(default_partition=GPU)
    at.ask(wanted("a", asked(cpu=1, count=8, concurrency=8, hours=1), start=1, end=2)).inside("mine", "a").plan()
    assert at.steps("a") == [(1, 2, {"gpu:cpu": 8000})]
    at.at(1).pods(8, "mine", application="mine", partition="").run()
    assert at.placed("mine") == 8
    assert at.due("a") == 8


def test_a_partition_of_which_the_queue_has_nothing_is_refused_by_name() -> None:
    at = World()
    at.ask(wanted("a", replace(asked(cpu=1), partition="fpga"))).plan()
    assert at.said("a") == (
        "NoSuchPartition",
        f"spec.expression.requests[0].partition: queue {PLAN} has nothing of partition fpga; of these it has something: gpu, the default one (spec.capacity.partitions of it)",
    )


def test_under_shares_there_are_no_partitions_to_promise_anything_of() -> None:
    at = Reserving("Fair").ask(wanted("a", on_gpu(cpu=1)))
    at.plan()
    reason, words = at.said("a")
    assert reason == "NoSuchPartition"
    assert "'gpu' is a partition of nodes, which there are under the discipline Capacity" in words


def test_another_queue_is_offered_that_has_something_of_the_partition() -> None:
    at = World()
    at.percents["other"], at.percents["none"] = 10, 5
    at.percents["rest"] = 35
    at.define("rest", gpu=0).define("other", plan=PlanSpec(lead=0), gpu=50).define("none", plan=PlanSpec(lead=0), gpu=None)
    at.run()
    at.ask(wanted("first", on_gpu(cpu=8, hours=1), start=1, end=2)).plan()
    at.ask(wanted("second", on_gpu(cpu=8, hours=1), start=1, end=2)).plan()
    decided = at.figures("second").decided
    assert decided is not None
    assert [one.queue for one in decided.alternatives if one.queue] == ["root.other"]


def test_when_nodes_of_the_partition_are_lost_who_was_accepted_last_there_is_dropped() -> None:
    at = World()
    at.ask(wanted("plain", asked(cpu=10, hours=2), start=0, end=2.5)).plan()
    at.ask(wanted("a", on_gpu(cpu=3, hours=2), start=0, end=2.5)).plan()
    at.ask(wanted("b", on_gpu(cpu=3, hours=2), start=0, end=2.5)).plan()
    at.without_node("gpu-0").run()
    assert at.due("a") + at.due("b") <= 5
    at.run(70)
    assert [at.phase(name) for name in ("plain", "a", "b")] == ["Active", "Active", "Dropped"]
    assert at.due("a") == 3
    assert f"queue {PLAN} has cpu 5 of partition gpu since it lost capacity" in at.said("b")[1]


def test_a_promise_of_a_partition_that_the_queue_has_no_more_is_dropped_and_told() -> None:
    at = World()
    at.ask(wanted("a", on_gpu(cpu=3, hours=2), start=0, end=2.5)).plan()
    at.ask(wanted("plain", asked(cpu=10, hours=2), start=0, end=2.5)).plan()
    at.define("rest", gpu=100).define("plan", plan=PlanSpec(lead=0), gpu=0).run()
    at.define("plan", plan=PlanSpec(lead=0), gpu=None).run()
    assert at.phase("a") == "Active"
    at.run(70)
    assert (at.phase("a"), at.phase("plain")) == ("Dropped", "Active")


def told_again(at: World) -> World:
    """Another core that is told what the API has."""
    again = World(lead=0)
    again.now = at.now
    for known in at.core.state.plans.known.values():
        again.tell(ReservationSeen(known.spec, known.decided))
    return again


def test_promises_are_put_back_after_a_restart_as_they_were_even_of_a_partition_that_is_gone() -> None:
    at = World()
    at.ask(wanted("a", on_gpu(cpu=3, hours=2), asked(cpu=1, hours=1), start=0, end=2.5)).plan()
    again = told_again(at)
    again.plan()
    assert again.steps("a") == at.steps("a")
    assert again.core.state.plans.of[PLAN].plan.load.once == at.core.state.plans.of[PLAN].plan.load.once
    without = told_again(at)
    without.define("rest", gpu=100).define("plan", plan=PlanSpec(lead=0), gpu=None).run()
    assert without.core.state.plans.of[PLAN].plan.capacity[len(without.core.state.types) :] == (0, 0, 0)
    assert without.steps("a") == at.steps("a")
    assert without.core.state.plans.of[PLAN].dimensions.partitions == ("", GPU)


def test_a_core_that_is_told_the_same_facts_has_the_same_plans() -> None:
    at = World(default_partition=GPU)
    at.ask(wanted("a", on_gpu(cpu=3, hours=2), start=0, end=2.5)).plan()
    at.ask(wanted("b", on_gpu(cpu=3, hours=2), start=1, end=4)).run()
    other = Core(validate=True)
    for event in at.core.facts():
        other.handle(event, at.now)
    other.plan(at.now)
    for path, one in at.core.state.plans.of.items():
        mine = other.state.plans.of[path]
        assert (mine.dimensions, mine.plan.capacity, mine.plan.load.once) == (
            one.dimensions,
            one.plan.capacity,
            one.plan.load.once,
        )


def test_a_discipline_without_partitions_drops_what_was_promised_of_one_and_tells_it() -> None:
    at = World()
    at.ask(wanted("a", on_gpu(cpu=3, hours=2), start=0, end=2.5)).plan()
    at.ask(wanted("plain", asked(cpu=5, hours=2), start=0, end=2.5)).plan()
    at.scheduler(discipline="Fair", fair=at.core.state.scheduler.fair)
    at.run(70)
    assert (at.phase("a"), at.phase("plain")) == ("Dropped", "Active")
    assert at.said("a")[0] == "CapacityLost"


def test_a_run_that_lags_in_a_partition_is_promised_more_of_it() -> None:
    at = World()
    spec = wanted("a", on_gpu(cpu=1, count=4, concurrency=4, hours=1), start=1, end=4, reprovision=True)
    at.at(0.5).ask(spec).inside("mine", "a").plan()
    at.at(1).plan()
    at.at(1.5).pods(4, "mine", application="mine").run()
    for time in (1.6, 1.9):
        at.at(time).plan()
    decided = at.figures("a").decided
    assert decided is not None
    assert decided.promise is not None
    assert [(start / 3.6e6, end / 3.6e6, dict(named)) for start, end, named in decided.promise.more] == [
        (2, 2.5, {"gpu:cpu": 4000})
    ]
    event = next(one for one in at.decided if one.reason == "ReservationReprovisioned")
    assert "promises it up to cpu 4 of partition gpu more from" in event.note
    at.at(2.2).run()
    assert at.due("a") == 4


def test_a_decision_that_could_not_be_written_is_taken_back() -> None:
    at = World()
    at.ask(wanted("a", on_gpu(cpu=8, hours=1), start=1, end=2)).plan()
    at.tell(ReservationLost("ns/a"))
    at.ask(wanted("b", on_gpu(cpu=8, hours=1), start=1, end=2)).plan()
    assert at.phase("b") == "Accepted"


def test_figures_are_by_partition() -> None:
    at = World()
    at.ask(wanted("a", on_gpu(cpu=4, hours=1), start=0, end=1.5)).plan()
    found = {one.partition: one for one in at.core.view.plans()}
    assert set(found) == {"", GPU}
    assert isinstance(found[GPU], PlanFigures)
    assert (found[GPU].has["cpu"], found[GPU].promised["cpu"]) == (10_000, 4_000)
    assert (found[""].has["cpu"], found[""].promised) == (10_000, {})


def test_a_resource_type_that_comes_later_makes_the_plan_anew_with_what_was_promised() -> None:
    at = World()
    at.ask(wanted("a", on_gpu(cpu=4, hours=1), start=0, end=1.5)).plan()
    at.nodes(1, "fpga", cpu=1, memory=1, labels={LABEL: GPU}, resources={"example.com/fpga": 4})
    at.run()
    one = at.core.state.plans.of[PLAN]
    assert "gpu:example.com/fpga" in one.dimensions.names
    assert one.plan.committed(600_000)[one.dimensions.index["gpu:cpu"]] == 4000


def test_a_place_is_found_beside_what_was_promised_of_a_partition_that_has_nothing_now() -> None:
    at = World()
    at.ask(wanted("a", asked(cpu=1, count=2, hours=1), start=1, end=6)).plan()

    at.percents |= {"rest": 100, "plan": 0}
    at.define("rest").define("plan", plan=PlanSpec(lead=0)).run()
    assert at.core.state.plans.of[PLAN].plan.capacity[:2] == (0, 0)
    at.ask(wanted("b", on_gpu(cpu=2, count=4, hours=1), start=1, end=6)).plan()
    assert at.phase("b") == "Accepted"
    assert {name for *_, amounts in at.steps("b") for name in amounts} == {"gpu:cpu"}


def test_pods_run_in_a_plan_that_has_nothing_of_the_default_partition() -> None:
    at = World()
    at.percents |= {"rest": 100, "plan": 0}
    at.define("rest").define("plan", plan=PlanSpec(lead=0)).run()
    at.ask(wanted("a", on_gpu(cpu=1, count=5, concurrency=5, hours=1), start=1, end=2)).inside("mine", "a").plan()
    at.pods(3, "plain", default_path(PLAN))
    at.at(1).pods(5, "mine", application="mine").run()
    assert (at.placed("mine"), at.placed("plain")) == (5, 3)
