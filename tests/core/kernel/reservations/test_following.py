"""The queues of a plan follow it over time, and applications are in the queue of the reservation that they name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.builders import GIB, by_queue
from core.kernel.reservations.planned import DISCIPLINES, HOUR, PLAN, Reserving, asked, wanted
from examples import examples
from treadle.core.effects import Expire
from treadle.core.events import PodGone
from treadle.core.kernel.reservations.following import child_path, default_path
from treadle.core.model import PlacementRule, QueueSpec
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, Kind, PartitionShare, Portion, live
from treadle.core.model.reservations import PlanSpec

both = pytest.mark.parametrize("discipline", DISCIPLINES)


@both
def test_a_plan_has_one_queue_for_all_else_and_one_for_each_reservation_that_is_active(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=6, hours=1), start=1, end=2))
    it.ask(wanted("b", asked(cpu=4, memory=10, hours=2), start=1.5, end=3.5))
    seen = []
    for hour in (0, 1, 1.5, 2, 3.5):
        it.at(hour).plan()
        seen.append(it.shares())
    assert seen == [
        {"default": 10},
        {"a": 6, "default": 4},
        {"a": 6, "b": 4, "default": 0},
        {"b": 4, "default": 6},
        {"default": 10},
    ]


@both
def test_each_type_is_guaranteed_by_itself(discipline: str) -> None:
    it = Reserving(discipline)
    it.ask(wanted("a", asked(cpu=8, memory=10, hours=1), end=2)).ask(wanted("b", asked(cpu=1, memory=80, hours=1), end=2))
    it.plan()
    it.at(1).plan()
    assert it.shares() == {"a": 8, "b": 1, "default": 1}
    assert it.shares("memory") == {"a": 10, "b": 80, "default": 10}


@both
def test_of_a_type_of_which_nothing_is_said_there_is_a_part_of_what_nobody_was_promised(discipline: str) -> None:
    it = Reserving(discipline)
    it.ask(wanted("a", asked(cpu=5, hours=1), end=2)).ask(wanted("b", asked(cpu=2, memory=40, hours=1), end=2))
    it.plan()
    it.at(1).plan()
    assert it.shares() == {"a": 5, "b": 2, "default": 3}
    assert it.shares("memory") == {"a": 30, "b": 40, "default": 30}


@both
def test_the_core_asks_to_be_woken_at_the_next_step_of_the_plan(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=6, hours=1), start=1, end=2))
    it.plan()
    woken = []
    for _ in range(20):
        timer = it.core.next_timer()
        if timer is None or timer > 2 * 3600:
            break
        it.now = max(timer, it.now)
        it.plan()
        woken.append(it.now)
    late = [time for time in woken if time > 600]
    assert sorted(set(late)) == [3600, 7200]
    assert len(late) <= 4  # once more at once, since limits have changed


@both
def test_pods_wait_until_their_reservation_begins_and_run_in_its_queue_then(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=6, hours=1), start=1, end=2)).inside("app", "a")
    it.plan()
    it.pods(6, "p")
    assert it.plan() == []
    assert it.why("p-0") == ("ReservationNotStarted", "reservation ns/a begins at 1970-01-01T01:00:00Z")
    binds = it.at(1).plan()
    assert by_queue(binds) == {child_path(PLAN, "ns/a"): 6}
    assert child_path(PLAN, "ns/a").startswith("root.plan.a-")


@both
def test_afterwards_what_runs_goes_on_in_the_queue_for_all_else(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=6, hours=1), start=1, end=2)).inside("app", "a")
    it.plan()
    it.at(1).pods(3, "p")
    it.confirm(it.plan())
    it.at(2).plan()
    assert it.queue_of("app") == "root.plan.plan"
    assert it.used(default_path(PLAN)) == 3
    assert child_path(PLAN, "ns/a") not in it.core.state.tree.queues
    it.pod("late", application="other").inside("other", "a")
    assert by_queue(it.plan()) == {default_path(PLAN): 1}


@both
def test_afterwards_what_runs_is_deleted_where_the_queue_says_so(discipline: str) -> None:
    it = Reserving(discipline, move=False).ask(wanted("a", asked(cpu=6, hours=1), start=1, end=2)).inside("app", "a")
    it.plan()
    it.at(1).pods(2, "p")
    it.confirm(it.plan())
    it.at(2).pod("late")
    assert it.plan() == []
    gone = [effect for effect in it.effects if isinstance(effect, Expire)]
    assert sorted(effect.name for effect in gone) == ["p-0", "p-1"]
    assert {effect.why for effect in gone} == {"was to run in reservation ns/a until 1970-01-01T02:00:00Z"}
    assert it.why("late") == ("ReservationOver", "reservation ns/a is over since 1970-01-01T02:00:00Z")
    it.wait(5).plan()
    assert not [effect for effect in it.effects if isinstance(effect, Expire)]
    assert it.core.next_timer() is not None
    it.wait(30).plan()
    assert len([effect for effect in it.effects if isinstance(effect, Expire)]) == 2
    it.tell(PodGone("p-0"), PodGone("p-1")).wait(60).plan()
    assert not [effect for effect in it.effects if isinstance(effect, Expire)]


@pytest.mark.parametrize("period", [0, 6 * HOUR])
@both
def test_what_runs_elsewhere_is_not_deleted_though_it_names_a_reservation_that_is_over_or_is_none(
    discipline: str, period: int
) -> None:
    it = Reserving(discipline, move=False).ask(wanted("a", asked(cpu=6, hours=1), start=1, end=2, period=period))
    it.pods(2, "p", queue="root.rest").pods(2, "q", queue=PLAN, application="other")
    it.confirm(it.plan())
    it.at(3).inside("app", "a").inside("other", "nowhere")
    for _ in range(3):
        it.wait(40).plan()
        assert not [effect for effect in it.effects if isinstance(effect, Expire)]
    assert (it.used("root.rest"), it.used(default_path(PLAN))) == (2, 2)
    assert it.core.view.move_refused("ns/app")


@both
def test_what_runs_in_a_reservation_that_is_deleted_ends_where_the_queue_says_so(discipline: str) -> None:
    it = Reserving(discipline, move=False).ask(wanted("a", asked(cpu=6, hours=1), start=0, end=2)).inside("app", "a").pods(2, "p")
    it.confirm(it.plan())
    it.withdraw("a").plan()
    gone = [effect.name for effect in it.effects if isinstance(effect, Expire)]
    assert sorted(gone) == ["p-0", "p-1"]
    it.gone(*gone).pod("late").plan()
    assert it.why("late")[0] == "ReservationNotFound"


@both
def test_what_comes_again_has_its_queue_again(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=6, hours=1), start=1, end=2, period=6 * HOUR)).inside("app", "a")
    it.plan()
    seen = []
    for hour in (0, 1, 2, 7, 8, 25):
        it.at(hour).plan()
        seen.append(it.shares().get("a"))
    assert seen == [None, 6, None, 6, None, 6]
    it.at(27).pod("p").plan()
    assert it.why("p") == ("ReservationNotStarted", "reservation ns/a begins at 1970-01-02T07:00:00Z")


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("nowhere", "ReservationNotFound", "reservation ns/nowhere does not exist"),
        ("no", "ReservationNotAccepted", "reservation ns/no was not accepted: spec.expression.requests: the largest gang"),
        ("elsewhere", "ReservationNotAccepted", "is not accepted yet: spec.queue: root.rest takes no reservations"),
    ],
)
@both
def test_pods_of_a_reservation_that_is_not_accepted_wait_and_say_so(discipline: str, name: str, reason: str, words: str) -> None:
    it = Reserving(discipline).ask(wanted("no", asked(cpu=50))).ask(wanted("elsewhere", queue="root.rest")).inside("app", name)
    it.plan()
    it.pod("p").plan()
    found, said = it.why("p")
    assert (found, words in said) == (reason, True), said


@both
def test_applications_are_asked_again_when_their_reservation_is_accepted_or_deleted(discipline: str) -> None:
    it = Reserving(discipline).inside("app", "a").pod("p")
    it.plan()
    assert it.why("p")[0] == "ReservationNotFound"
    it.ask(wanted("a", start=0, end=3))
    it.confirm(it.plan())
    assert it.queue_of("app") == "root.plan.a"
    it.withdraw("a").plan()
    assert it.queue_of("app") == "root.plan.plan"


@both
def test_who_names_no_reservation_is_in_the_queue_for_all_else(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=6), start=0, end=3))
    it.plan()
    it.pod("p", queue=PLAN).pod("thief", queue=child_path(PLAN, "ns/a"), application="thief")
    assert by_queue(it.plan()) == {default_path(PLAN): 1}
    reason, words = it.why("thief")
    assert reason == "QueueIsReserved"
    assert "is for a reservation" in words


@both
def test_what_runs_is_put_back_into_its_reservation_after_a_restart(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=6, hours=2), start=1, end=3)).inside("app", "a")
    it.plan()
    it.at(1).pods(3, "p")
    binds = it.plan()
    again = Reserving(discipline)
    again.at(1.5)
    for bind in binds:
        again.pod(bind.uid, node=bind.node, held_in=bind.queue)
    again.inside("app", "a").ask(wanted("a"), it.figures("a").decided)
    again.plan()
    assert again.queue_of("app") == "root.plan.a"
    assert again.used(child_path(PLAN, "ns/a")) == 3
    assert again.shares() == {"a": 6, "default": 4}


@both
def test_a_core_made_anew_from_facts_has_the_same_queues_and_goes_on(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=6, hours=2), start=1, end=3)).inside("app", "a")
    it.plan()
    it.at(1).pods(3, "p")
    it.confirm(it.plan())
    it.pod("q")
    fresh = it.core.fresh()
    for fact in it.core.facts():
        fresh.handle(fact, it.now)
    assert {path: queue.usage for path, queue in fresh.state.tree.queues.items()} == {
        path: queue.usage for path, queue in it.core.state.tree.queues.items()
    }
    mine, theirs = it.core.plan(it.now), fresh.plan(it.now)
    assert [effect for effect in mine if "Bind" in type(effect).__name__] != []
    assert [effect[:6] for effect in mine] == [effect[:6] for effect in theirs]
    it.core = fresh
    it.at(3).plan()
    assert it.queue_of("app") == "root.plan.plan"


@both
def test_where_more_is_promised_than_there_is_all_shrink_alike(discipline: str) -> None:
    it = Reserving(discipline)
    it.ask(wanted("a", asked(cpu=6, hours=2), start=0, end=2)).ask(wanted("b", asked(cpu=4, hours=2), start=0, end=2))
    it.plan()
    it.without_node("node-1").wait(1).plan()
    assert it.shares() == {"a": 3, "b": 2, "default": 0}
    it.nodes(2, cpu=10, memory=100).wait(1).plan()
    assert it.shares() == {"a": 6, "b": 4, "default": 0}


def test_a_queue_that_somebody_defines_below_a_plan_is_refused() -> None:
    it = Reserving()
    it.percents["plan.x"] = 1
    it.define("plan.x").plan()
    problem = it.core.view.problem("root.plan.x")
    assert problem is not None
    assert problem.reason == "ParentReservable"
    assert "root.plan.x" not in it.core.state.tree.queues


@both
def test_a_queue_that_takes_reservations_no_more_is_a_leaf_again(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=6), start=0, end=3)).pod("p", queue=PLAN)
    it.confirm(it.plan())
    it.define("plan")
    it.plan()
    it.plan()
    assert sorted(it.core.state.plans.of) == []
    it.gone("p").plan()
    it.pod("q", queue=PLAN, application="q")
    assert by_queue(it.plan()) == {PLAN: 1}


@both
def test_a_leaf_with_applications_takes_reservations_when_they_have_left(discipline: str) -> None:
    it = Reserving(discipline)
    it.divide({"more": 0})
    it.pod("p", queue="root.rest")
    it.confirm(it.plan())
    it.define("rest", plan=PlanSpec())
    it.plan()
    problem = it.core.view.problem("root.rest")
    assert problem is not None
    assert (problem.reason, problem.kept) == ("HasApplications", True)
    it.ask(wanted("a", queue="root.rest"))
    it.plan()
    assert it.phase("a") == "Pending"
    it.gone("p").plan()
    it.plan()
    assert it.phase("a") == "Accepted"


@both
def test_who_comes_while_another_leads_has_a_queue_when_this_one_leads_again(discipline: str) -> None:
    it = Reserving(discipline)
    it.core.forget_plans()
    it.pod("p", queue=PLAN)
    assert by_queue(it.plan()) == {default_path(PLAN): 1}


@both
def test_what_a_reservation_leaves_goes_to_all_else_though_that_is_guaranteed_nothing(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=10, memory=100, hours=2), start=0, end=2))
    it.plan()
    assert it.shares() == {"a": 10, "default": 0}
    it.pods(12, "p", queue=PLAN)
    assert len(it.plan()) == 12


def test_no_rule_makes_a_queue_below_one_that_takes_reservations() -> None:
    it = Reserving()
    rule = PlacementRule("user", parent=PlacementRule("default", queue=PLAN))
    it.scheduler(rules=(rule,)).pod("p", user="ann")
    assert by_queue(it.plan()) == {default_path(PLAN): 1}
    assert sorted(queue.path for queue in it.core.state.tree.dynamic) == []


def test_only_reservations_are_given_their_minimum_at_once() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=6), start=0, end=3))
    it.plan()
    specs = it.core.state.tree.planned.specs
    assert (specs[child_path(PLAN, "ns/a")].min_share_timeout, specs[default_path(PLAN)].min_share_timeout) == (0.0, None)


@pytest.mark.parametrize("legacy", [True, False])
def test_a_queue_of_absolute_amounts_that_is_made_smaller_keeps_its_reservations_within(legacy: bool) -> None:
    it = Reserving("Capacity")
    it.scheduler(discipline="Capacity", capacity=replace(live(), legacy=legacy))

    def sized(cores: int) -> None:
        for name, cpu in (("plan", cores), ("rest", 20 - cores)):
            amounts = {"cpu": Portion(Kind.ABSOLUTE, cpu * 1000), "memory": Portion(Kind.ABSOLUTE, cpu * 10 * GIB)}
            has = Capacity(types=amounts, written_by_type=True)
            capacity = CapacityQueueSpec(f"root.{name}", partitions={"": PartitionShare(has, has)})
            it.tell_queue(QueueSpec(f"root.{name}", capacity=capacity, plan=PlanSpec(lead=0) if name == "plan" else None))
        it.wait(1).plan()

    sized(10)
    it.ask(wanted("a", asked(cpu=8, memory=80, hours=2), start=0, end=3))
    it.wait(1).plan()
    assert it.core.view.discipline_problem == ""
    assert it.shares()["a"] == 8
    sized(4)
    it.wait(1).plan()
    assert it.core.view.discipline_problem == ""
    assert it.core.state.plans.of[PLAN].plan.capacity[1] == 4000
    assert it.shares() == {"a": 4, "default": 0}


@pytest.mark.parametrize(("before", "after"), [("Fair", "Capacity"), ("Capacity", "Fair")])
def test_under_the_other_discipline_plans_have_what_that_gives_them(before: str, after: str) -> None:
    it = Reserving(before)
    it.ask(wanted("a", asked(cpu=6, hours=2), start=0, end=2)).inside("app", "a").pods(3, "p")
    it.confirm(it.plan())
    it.scheduler(discipline=after, capacity=live()).ask(wanted("b", asked(cpu=4, hours=1), start=0, end=1.5))
    it.ask(wanted("c", asked(cpu=1, hours=1.4), start=0, end=1.5))
    for _ in range(3):
        it.wait(0.1).plan()
    it.wait(1).plan()
    assert (it.core.view.discipline, it.core.view.discipline_problem) == (after, "")
    assert (it.phase("a"), it.phase("b"), it.phase("c")) == ("Active", "Active", "Rejected")
    assert it.shares() == {"a": 6, "b": 4, "default": 0}
    assert it.queue_of("app") == "root.plan.a"
    assert it.core.state.plans.of[PLAN].plan.capacity[1] == 10_000


# -- naive


plans = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 4), st.integers(1, 6), st.integers(0, 40), st.sampled_from([0, 0, 0, 12]), st.integers(0, 3)),
    min_size=1,
    max_size=6,
)  # fmt: skip


@both
@given(plans=plans, times=st.lists(st.integers(0, 40), min_size=1, max_size=8))
@settings(max_examples=examples(30), deadline=None)
def test_at_each_step_the_queues_have_what_was_promised_then_and_all_else_the_rest(
    discipline: str, plans: list[tuple[int, ...]], times: list[int]
) -> None:
    it = Reserving(discipline, policy="NoOverCommit", agent="Greedy")
    for number, (start, hours, cpu, memory, period, slack) in enumerate(plans):
        spec = wanted(
            f"r{number}", asked(cpu=cpu, memory=memory, hours=hours), start=start, end=start + hours + slack, period=period * HOUR
        )
        it.ask(spec)
    it.plan()
    for hour in sorted(set(times)):
        it.at(hour).plan()
        naive: dict[str, tuple[float, float]] = {}
        for number in range(len(plans)):
            decided = it.figures(f"r{number}").decided
            promise = None if decided is None else decided.promise
            if promise is None:
                continue
            now = hour * HOUR
            late = max(0, (now - promise.arrival) // promise.period) * promise.period if promise.period else 0
            if not promise.arrival + late <= now < promise.deadline + late:
                continue
            has = {"cpu": 0, "memory": 0}
            for begun, ended, amounts in promise.steps:
                if begun + late <= now < ended + late:
                    has.update(amounts)
            naive[f"r{number}"] = (has["cpu"] / 1000, has["memory"] / 2**30)
        cpu, memory = it.shares("cpu"), it.shares("memory")
        left = 100 - sum(one for _, one in naive.values())
        silent = {f"r{number}": plans[number][3] == 0 for number in range(len(plans))}
        naive = {name: (cores, left * cores / 10 if silent[name] else gib) for name, (cores, gib) in naive.items()}
        rest = (10 - sum(one for one, _ in naive.values()), 100 - sum(one for _, one in naive.values()))
        assert cpu == {**{name: cores for name, (cores, _) in naive.items()}, "default": rest[0]}
        assert memory == pytest.approx({**{name: gib for name, (_, gib) in naive.items()}, "default": max(0, rest[1])}, abs=1e-6)
