"""Reservations are accepted or refused in the pass after they were seen, under both disciplines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.kernel.reservations.planned import DISCIPLINES, HOUR, PLAN, Interpreter, Reserving, asked, wanted
from treadle.core.events import ReservationLost, ReservationSeen
from treadle.core.model.reservations import Decision, PlanSpec

both = pytest.mark.parametrize("discipline", DISCIPLINES)


@both
def test_what_fits_is_accepted_with_the_next_pass_and_says_what_it_has(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=5, count=2, concurrency=2, hours=1)))
    assert it.phase("a") == "Pending"
    it.plan()
    assert (it.phase("a"), it.said("a")) == ("Accepted", ("", ""))
    assert it.steps("a") == [(1, 2, {"cpu": 10})]
    assert [(one.id, one.reason) for one in it.decided] == [("ns/a", "")]


@both
def test_a_plan_has_what_its_queue_is_guaranteed_and_no_more_is_promised(discipline: str) -> None:
    it = Reserving(discipline, percent=30)  # 6 of 20 cores
    it.ask(wanted("a", asked(cpu=6, hours=2))).ask(wanted("b", asked(cpu=1, hours=1)))
    it.plan()
    assert it.phase("a") == "Accepted"
    assert it.phase("b") == "Rejected"
    reason, words = it.said("b")
    assert reason == "NoRoom"
    assert "queue root.plan" in words
    assert "from 1970-01-01T01:00:00Z until 1970-01-01T03:00:00Z" in words
    assert [one.reason for one in it.decided if one.id == "ns/b"] == ["ReservationRefused"]


REFUSED = [
    (
        "its deadline is over",
        wanted("a", start=-3, end=-1),
        "DeadlinePast",
        "spec.deadline: 1969-12-31T23:00:00Z is over, it is 1970-01-01T00:00:00Z now",
    ),
    (
        "its window is too short",
        wanted("a", asked(hours=3)),
        "WindowTooShort",
        "spec.deadline: from 1970-01-01T01:00:00Z until 1970-01-01T03:00:00Z are 2h, and the requests take 3h",
    ),
    (
        "what is left of its window is too short",
        wanted("a", asked(hours=3), start=-3, end=2),
        "WindowTooShort",
        "spec.deadline: from 1970-01-01T00:00:00Z until 1970-01-01T02:00:00Z are 2h, and the requests take 3h",
    ),
    (
        "requests one after the other take longer together",
        wanted("a", asked(hours=1.5), asked(hours=1), interpreter=Interpreter.ORDER),
        "WindowTooShort",
        "and the requests take 2h30m",
    ),
    (
        "its gang is larger than the plan",
        wanted("a", asked(cpu=4, count=3, concurrency=3)),
        "GangTooLarge",
        "the largest gang asks for cpu 12, and queue root.plan has cpu 10",
    ),
    ("nobody has what it asks for", wanted("a", asked(gpu=1)), "NoSuchResource", "requests[0].demand: no node has gpu"),
    ("its period is shorter than its window", wanted("a", period=HOUR), "PeriodTooShort", "1h is shorter than the window"),
    (
        "its period does not divide the longest one",
        wanted("a", period=7 * HOUR),
        "PeriodNoDivisor",
        "7h does not divide the longest period of queue root.plan, which is 24h",
    ),
    ("it would come every minute", wanted("a", asked(hours=0.01), end=1.01, period=60_000), "PeriodTooShort", "1m is a shorter"),
    ("its window is a year", wanted("a", end=8000), "WindowTooLong", "at most 2400h are planned"),
    ("it lasts no time", wanted("a", asked(hours=0)), "Invalid", "requests[0].duration: 0 ms is less than 1 ms"),
    ("it is in many years", wanted("a", start=9e5, end=9e5 + 3), "TooFarAhead", "at most 3653 days ahead"),
]


@pytest.mark.parametrize(("spec", "reason", "words"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
@both
def test_what_cannot_be_is_refused_with_the_rule_and_the_numbers(discipline: str, spec, reason: str, words: str) -> None:
    it = Reserving(discipline).ask(spec)
    it.plan()
    assert it.phase("a") == "Rejected"
    found, said = it.said("a")
    assert (found, words in said) == (reason, True), said


def test_a_user_may_have_a_part_at_once_and_on_average() -> None:
    it = Reserving(at_once=0.5, average=0.1, window=10 * HOUR)
    it.ask(wanted("a", asked(cpu=6)))
    it.ask(wanted("b", asked(cpu=5, hours=2), end=4, user="bob"))
    it.ask(wanted("c", asked(cpu=5, hours=3), end=4, user="cid"))
    it.plan()
    assert it.said("a")[0] == "NoRoom"
    assert "50% at once" in it.said("a")[1]
    assert it.phase("b") == "Accepted"
    assert it.said("c")[0] == "OverQuota"
    assert "would have cpu 1500m of queue root.plan on average in the 10h before" in it.said("c")[1]


def test_whatever_is_free_may_be_had_by_one_user_where_the_policy_says_so() -> None:
    it = Reserving(policy="NoOverCommit", at_once=0.1).ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    assert it.phase("a") == "Accepted"


@both
def test_an_update_takes_the_place_of_what_was_promised_and_one_that_does_not_fit_changes_nothing(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    it.ask(wanted("a", asked(cpu=8, hours=2), generation=2))
    it.plan()
    assert it.steps("a") == [(1, 3, {"cpu": 8})]
    it.ask(wanted("a", asked(cpu=11, hours=2), generation=3))
    assert it.said("a") == ("NotDecided", "it is decided with the next pass; what was promised before stands")
    it.plan()
    assert it.steps("a") == [(1, 3, {"cpu": 8})]
    assert it.phase("a") == "Accepted"
    reason, words = it.said("a")
    assert (reason, words.endswith("; what was promised before stands")) == ("GangTooLarge", True)
    it.ask(wanted("b", asked(cpu=2, hours=2)))
    it.plan()
    assert it.phase("b") == "Accepted"


def test_an_update_may_go_to_another_queue() -> None:
    it = Reserving().divide({"other": 50}, other=PlanSpec())
    it.ask(wanted("a", asked(cpu=5)))
    it.plan()
    it.ask(wanted("a", asked(cpu=5), queue="root.other", generation=2))
    it.plan()
    plans = it.core.state.plans.of
    assert (list(plans[PLAN].plan.reservations), list(plans["root.other"].plan.reservations)) == ([], ["ns/a"])


def test_what_is_deleted_makes_room() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    it.withdraw("a").ask(wanted("b", asked(cpu=10, hours=2)))
    it.plan()
    assert it.phase("b") == "Accepted"


def test_a_new_object_of_the_same_name_is_another_reservation() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    it.ask(wanted("a", asked(cpu=9), uid="later"))
    assert it.phase("a") == "Pending"
    it.plan()
    assert it.steps("a")[0][2] == {"cpu": 9}


def test_one_whose_queue_takes_no_reservations_waits_for_that_and_says_so() -> None:
    it = Reserving().ask(wanted("a", queue="root.rest")).ask(wanted("b", queue="root.new"))
    it.plan()
    waits = "the reservation is planned when it takes some"
    assert it.said("a") == ("QueueNotReservable", f"spec.queue: root.rest takes no reservations; {waits}")
    assert it.said("b") == ("QueueNotReservable", f"spec.queue: root.new does not exist; {waits}")
    assert it.phase("a") == "Pending"
    it.divide({"new": 50}, new=PlanSpec())
    it.plan()
    assert it.phase("b") == "Accepted"


def test_the_more_important_is_decided_first_and_then_the_older() -> None:
    it = Reserving()
    for name, priority, created in [("a", None, 1), ("b", 5, 3), ("c", 5, 2), ("d", 9, 1)]:
        it.ask(wanted(name, asked(cpu=10, hours=2), priority=priority, created=created))
    it.plan()
    assert [name for name in "abcd" if it.phase(name) == "Accepted"] == ["c"]
    assert [one.id for one in it.decided] == ["ns/c", "ns/b", "ns/d", "ns/a"]


def test_many_are_decided_in_several_passes_which_the_core_asks_for() -> None:
    it = Reserving()
    for number in range(50):
        it.ask(wanted(f"r{number}", asked(cpu=1, hours=0.1)))
    it.plan()
    assert len(it.decided) == 20
    assert it.core.next_timer() == 0.0
    it.plan()
    it.plan()
    assert len(it.decided) == 50


# -- the status is the store


@both
def test_a_new_core_that_is_told_of_decisions_has_what_was_promised_before_anything_new_is_decided(discipline: str) -> None:
    it = Reserving(discipline)
    it.ask(wanted("a", asked(cpu=6, hours=1))).ask(wanted("p", asked(cpu=4, hours=1), period=6 * HOUR))
    it.ask(wanted("no", asked(cpu=10, hours=2)))
    it.plan()
    kept = {name: it.figures(name).decided for name in ("a", "p", "no")}
    steps = {name: it.steps(name) for name in ("a", "p")}
    again = Reserving(discipline)
    again.ask(wanted("new", asked(cpu=1, hours=2), priority=0))
    again.ask(wanted("no", asked(cpu=10, hours=2)), kept["no"]).ask(wanted("p", period=6 * HOUR), kept["p"])
    again.ask(wanted("a", asked(cpu=6, hours=1)), kept["a"])
    again.plan()
    assert {name: again.steps(name) for name in ("a", "p")} == steps
    assert (again.phase("no"), again.said("no")) == ("Rejected", it.said("no"))
    assert [one.id for one in again.decided] == ["ns/new"]
    plan, before = again.core.state.plans.of[PLAN].plan, it.core.state.plans.of[PLAN].plan
    again.withdraw("new")
    assert list(plan.load.segments(0, 30 * HOUR)) == list(before.load.segments(0, 30 * HOUR))


def test_what_was_promised_is_put_back_though_it_could_not_be_promised_now() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    again = Reserving(percent=10).ask(wanted("a", asked(cpu=10, hours=2)), it.figures("a").decided)
    again.plan()
    assert (again.phase("a"), again.steps("a")) == ("Accepted", [(1, 3, {"cpu": 10})])


def test_a_promise_waits_for_its_queue() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    it.define("plan")
    it.plan()
    assert it.phase("a") == "Accepted"
    assert it.said("a")[0] == "QueueNotReservable"
    it.define("plan", plan=PlanSpec(lead=0)).ask(wanted("b", asked(cpu=1, hours=2)))
    it.plan()
    assert (it.said("a"), it.phase("b")) == (("", ""), "Rejected")


def test_what_another_leader_decided_counts_and_what_this_one_decided_and_did_not_write_does_not() -> None:
    other = Reserving().ask(wanted("a", asked(cpu=10, hours=1), start=2)).ask(wanted("b", asked(cpu=10, hours=1), start=1))
    other.plan()
    it = Reserving().ask(wanted("b", asked(cpu=10, hours=2))).ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    assert (it.phase("a"), it.phase("b")) == ("Accepted", "Rejected")
    it.core.forget_plans()
    assert (it.phase("a"), it.phase("b")) == ("Pending", "Pending")
    for name in "ab":
        it.ask(wanted(name), other.figures(name).decided)
    it.plan()
    assert (it.steps("a"), it.steps("b")) == (other.steps("a"), other.steps("b"))


def test_what_a_leader_decided_itself_is_not_undone_by_what_the_api_still_has() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    it.ask(wanted("a", asked(cpu=10, hours=2)), None)
    it.plan()
    assert it.phase("a") == "Accepted"
    assert len(it.decided) == 1


def test_a_decision_that_could_not_be_written_is_taken_back_until_the_object_is_told_again() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    it.tell(ReservationLost("ns/a")).ask(wanted("b", asked(cpu=10, hours=2)))
    it.plan()
    assert (it.phase("a"), it.phase("b")) == ("Pending", "Accepted")
    assert it.core.next_timer() != it.now
    it.ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    assert it.phase("a") == "Rejected"


@both
def test_the_facts_of_a_core_have_all_that_was_decided(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=10, hours=2))).ask(wanted("b", asked(cpu=10, hours=2)))
    it.plan()
    facts = it.core.facts()
    assert [(one.reservation.id, one.decided) for one in facts if isinstance(one, ReservationSeen)] == [
        ("ns/a", it.figures("a").decided),
        ("ns/b", it.figures("b").decided),
    ]
    fresh = it.core.fresh()
    for fact in facts:
        fresh.handle(fact, it.now)
    fresh.plan(it.now)
    assert fresh.view.reservation("ns/a") == it.figures("a")
    assert fresh.view.reservation("ns/b") == it.figures("b")


# -- times


def test_a_window_that_has_begun_is_planned_from_now_on() -> None:
    it = Reserving().at(2).ask(wanted("a", asked(cpu=5, hours=1), start=0, end=4))
    it.plan()
    (first, *_) = it.steps("a")
    assert first[0] >= 2
    assert it.phase("a") == "Active"


def test_what_comes_again_is_planned_from_the_first_window_that_is_not_over() -> None:
    it = Reserving().at(50).ask(wanted("a", asked(cpu=5, hours=1), start=1, end=3, period=24 * HOUR))
    it.plan()
    decided = it.figures("a").decided
    assert decided is not None
    assert decided.promise is not None
    assert (decided.promise.arrival, decided.promise.deadline) == (49 * HOUR, 51 * HOUR)


@both
def test_what_comes_again_may_not_have_what_is_promised_once_many_periods_later(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("once", asked(cpu=8, hours=2), start=9 * 24 + 1, end=9 * 24 + 3))
    it.plan()
    assert it.phase("once") == "Accepted"
    it.ask(wanted("daily", asked(cpu=5, hours=2), period=24 * HOUR)).plan()
    reason, words = it.said("daily")
    assert (it.phase("daily"), reason) == ("Rejected", "NoRoom")
    assert (
        "has no room for it from 1970-01-01T01:00:00Z until 1970-01-01T03:00:00Z, or when it comes again, beside what is promised already"
        in words
    )
    it.ask(wanted("small", asked(cpu=2, hours=2), period=24 * HOUR)).plan()
    it.ask(wanted("later", asked(cpu=8, hours=2), start=3, end=5, period=24 * HOUR)).plan()
    assert (it.phase("small"), it.phase("later")) == ("Accepted", "Accepted")


def test_phases_follow_the_time() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=1, hours=2))).ask(wanted("p", asked(cpu=1, hours=2), period=6 * HOUR))
    it.plan()
    seen = []
    for hour in (0, 1, 2.9, 3, 7.5, 9):
        it.at(hour).plan()
        starts = [it.figures(name).next_start for name in "ap"]
        seen.append((it.phase("a"), it.phase("p"), *(None if start is None else start / HOUR for start in starts)))
    assert seen == [
        ("Accepted", "Accepted", 1, 1),
        ("Active", "Active", None, None),
        ("Active", "Active", None, None),
        ("Completed", "Accepted", None, 7),
        ("Completed", "Active", None, None),
        ("Completed", "Accepted", None, 13),
    ]


def test_types_that_nodes_bring_later_are_in_plans_from_then_on() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=5, hours=2)))
    it.plan()
    it.node("gpus", cpu=0, memory=0, resources={"gpu": 4}).wait(1).plan()
    it.ask(wanted("b", asked(cpu=1, gpu=2), end=4))
    it.plan()
    assert it.phase("b") == "Accepted"
    assert it.steps("a") == [(1, 3, {"cpu": 5})]


def test_thousands_of_types_are_planned() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=5, hours=2)))
    it.plan()
    it.node("many", cpu=0, memory=0, resources={f"acme.org/t{number}": 4 for number in range(2000)}).wait(1).plan()
    it.ask(wanted("b", asked(cpu=1, **{"acme.org/t1999": 2}), end=4)).ask(wanted("c", asked(cpu=1, **{"acme.org/t7": 3}), end=4))
    it.plan()
    assert [it.phase(name) for name in "abc"] == ["Accepted", "Accepted", "Rejected"]


def test_a_container_that_is_larger_than_the_queue_takes_is_refused() -> None:
    it = Reserving()
    spec = wanted("a", asked(cpu=5, hours=1))
    it.ask(replace(spec, requests=(replace(spec.requests[0], count=3, concurrency=2),))).plan()
    assert it.said("a")[0] == "Invalid"
    assert "spec.expression.requests[0].count: 3 is no multiple of concurrency, which is 2" in it.said("a")[1]


def test_a_decision_knows_whether_its_version_is_what_is_promised() -> None:
    it = Reserving().ask(wanted("a"))
    it.plan()
    decided = it.figures("a").decided
    assert decided is not None
    assert decided.accepted
    assert not Decision(2, decided.promise, "NoRoom").accepted


def test_what_only_asks_is_told_what_it_would_have_and_is_promised_nothing() -> None:
    it = Reserving().ask(wanted("try", asked(cpu=10, hours=2), trial=True)).ask(wanted("no", asked(cpu=11), trial=True))
    it.plan()
    reason, words = it.said("try")
    assert (it.phase("try"), reason) == ("Pending", "WouldBeAccepted")
    assert "it would have cpu 10 from 1970-01-01T01:00:00Z until 1970-01-01T03:00:00Z" in words
    assert (it.phase("no"), it.said("no")[0]) == ("Rejected", "GangTooLarge")
    it.ask(wanted("real", asked(cpu=10, hours=2)))
    it.plan()
    assert it.phase("real") == "Accepted"


def test_gangs_are_smaller_where_that_is_allowed_and_those_that_were_asked_for_find_no_place() -> None:
    it = Reserving()
    spec = wanted("a", asked(cpu=2, count=12, concurrency=12, hours=0.5))
    it.ask(replace(spec, requests=(replace(spec.requests[0], least=3),)))
    it.ask(wanted("b", asked(cpu=1, count=2, concurrency=2), start=20, end=30))
    it.plan()
    assert it.phase("a") == "Accepted"
    decided = it.figures("a").decided
    assert decided is not None
    assert decided.promise is not None
    assert decided.promise.concurrency == (4,)
    assert {amounts["cpu"] for _, _, amounts in it.steps("a")} == {8}
    other = it.figures("b").decided
    assert other is not None
    assert other.promise is not None
    assert other.promise.concurrency == ()


def test_gangs_are_not_smaller_than_their_minimum() -> None:
    it = Reserving()
    spec = wanted("a", asked(cpu=2, count=12, concurrency=12, hours=0.5))
    it.ask(replace(spec, requests=(replace(spec.requests[0], least=6),)))
    it.plan()
    assert it.said("a")[0] == "GangTooLarge"
    assert it.said("a")[1].endswith("it would be accepted with a concurrency of 4")


def test_a_promise_stands_though_its_object_only_asks_later() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=10, hours=2)))
    it.plan()
    it.ask(wanted("a", asked(cpu=9, hours=2), generation=2, trial=True))
    it.plan()
    assert (it.phase("a"), it.steps("a")) == ("Accepted", [(1, 3, {"cpu": 9})])


@pytest.mark.parametrize("interpreter", Interpreter)
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("agent", ["Aligned", "Greedy"])
def test_a_request_for_nothing_is_refused_and_named(interpreter: Interpreter, early: bool, agent: str) -> None:
    for number, requests in enumerate(([asked(), asked(cpu=0)], [asked(cpu=0), asked()], [asked(cpu=0)])):
        it = Reserving(agent=agent, early=early).ask(wanted("a", *requests, end=6, interpreter=interpreter))
        it.plan()
        reason, words = it.said("a")
        assert (it.phase("a"), reason) == ("Rejected", "Invalid")
        assert words.startswith(f"spec.expression.requests[{1 if number == 0 else 0}].demand: asks for nothing; ")


@both
def test_nothing_is_promised_twice_where_longer_periods_were_allowed_before(discipline: str) -> None:
    it = Reserving(discipline, cycle=7 * 24 * HOUR)
    it.ask(wanted("weekly", asked(cpu=10, hours=1), start=49, end=50, period=7 * 24 * HOUR))
    it.plan()
    it.define("plan", plan=PlanSpec(lead=0))
    it.plan()
    it.ask(wanted("daily", asked(cpu=10, hours=1), start=1, end=2, period=24 * HOUR))
    it.plan()
    assert (it.phase("weekly"), it.phase("daily"), it.said("daily")[0]) == ("Accepted", "Rejected", "NoRoom")
    it.ask(wanted("free", asked(cpu=10, hours=1), start=2, end=3, period=24 * HOUR, user="bob"))
    it.plan()
    assert it.phase("free") == "Accepted"


@both
def test_gangs_become_as_small_as_a_queue_has_room_for_whatever_the_number_of_larger_sizes(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", replace(asked(count=720, concurrency=720, hours=0.01), least=1), end=6))
    it.plan()
    decided = it.figures("a").decided
    assert decided is not None
    assert decided.promise is not None
    assert decided.promise.concurrency == (10,)
    it.ask(wanted("b", asked(count=720, concurrency=720, hours=0.01), end=6, user="bob"))
    it.plan()
    assert "; it would be accepted with a concurrency of 10" in it.said("b")[1]


def test_a_container_that_is_too_large_is_told_in_amounts_that_people_read() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=64, memory=1), end=6, interpreter=Interpreter.ANY))
    it.plan()
    assert it.said("a") == (
        "Invalid",
        "spec.expression.requests[0].demand: asks for cpu 64, memory 1Gi, and the largest container of queue root.plan has cpu 10, memory 100Gi",
    )


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_containers_may_be_as_large_as_the_queue_has_become(discipline: str) -> None:
    at = Reserving(discipline)
    at.ask(wanted("early", asked(cpu=12))).plan()
    assert at.said("early")[0] == "GangTooLarge"
    at.nodes(1, "more", cpu=40, memory=100).wait(1).plan()
    at.ask(wanted("late", asked(cpu=12))).plan()
    assert at.phase("late") == "Accepted"
