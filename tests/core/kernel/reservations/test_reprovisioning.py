"""A run in a reservation that lags is promised more, as far as there is room: on 20 cores of which the plan has half, by a clock in hours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.builders import a_pod, replaced
from core.kernel.reservations.planned import DISCIPLINES, HOUR, PLAN, Interpreter, Reserving, asked, wanted
from treadle.core.effects import RESERVATION_LAGGING as LAGGING
from treadle.core.effects import RESERVATION_REPROVISIONED as REPROVISIONED
from treadle.core.events import NodeGone, PodGone, PodSeen, ReservationLost, ReservationSeen
from treadle.core.kernel.reservations.agreement import broken
from treadle.core.kernel.reservations.following import child_path

both = pytest.mark.parametrize("discipline", DISCIPLINES)


class Runs(Reserving):
    """A reservation ``a`` for 4 cores from hour 1 until 2, of a window until hour 4."""

    def __init__(self, discipline: str = "Fair", **fields: Any) -> None:
        self.plan_fields = fields.pop("plan_fields", {})
        super().__init__(discipline, **self.plan_fields)
        given = {"start": 1, "end": 4, "reprovision": True, **fields}
        requests = given.pop("requests", (asked(cpu=1, count=4, concurrency=4, hours=1),))
        self.spec = wanted("a", *requests, **given)
        self.at(0.5).ask(self.spec).inside("mine", "a").plan()

    def runs(self, *names: str) -> Runs:
        """Let pods of a core run from now on."""
        for name in names:
            self.tell(PodSeen(a_pod(name, application="mine")))
        for bind in self.plan():
            spec = self.core.state.pods[bind.uid].spec
            self.tell(PodSeen(replaced(spec, node=bind.node, held_in=bind.queue, started=self.now)))
        return self

    def ends(self, *names: str, failed: bool = False) -> Runs:
        for name in names:
            self.tell(PodSeen(replaced(self.core.state.pods[name].spec, finished=True, failed=failed)), PodGone(name))
        return self

    def look(self, *hours: float) -> Runs:
        """Passes at these times."""
        for time in hours:
            self.at(time).plan()
            assert not broken(self.core.state)
        return self

    @property
    def more(self) -> list[tuple[float, float, float]]:
        """What it is promised besides: from hour to hour, cores."""
        decided = self.figures("a").decided
        assert decided is not None
        assert decided.promise is not None
        return [(start / HOUR, end / HOUR, dict(named).get("cpu", 0) / 1000) for start, end, named in decided.promise.more]

    @property
    def behind(self) -> float:
        decided = self.figures("a").decided
        assert decided is not None
        assert decided.promise is not None
        return decided.promise.behind / HOUR

    def told(self) -> list[str]:
        return [one.reason for one in self.decided if one.reason and one.id == "ns/a"]


POOL = ("p0", "p1", "p2", "p3")


@both
def test_a_run_that_began_late_is_promised_the_rest_as_much_later(discipline: str) -> None:
    at = Runs(discipline).look(1).at(1.5).runs(*POOL).look(1.6, 1.9)
    assert at.more == [(2, 2.5, 4)]
    assert at.behind == 0.5
    assert at.told() == [REPROVISIONED]
    assert at.look(2.0, 2.4).shares()["a"] == 4
    assert at.figures("a").next_start is None
    at.ends(*POOL).look(2.5)
    assert at.shares()["a"] == 0
    event = next(one for one in at.decided if one.reason == REPROVISIONED)
    assert event.note == (
        f"its run is 30m behind what it was promised; queue {PLAN} promises it up to cpu 4 more from 1970-01-01T02:00:00Z until 1970-01-01T02:30:00Z"
    )


@both
def test_a_run_in_time_is_promised_nothing_besides(discipline: str) -> None:
    at = Runs(discipline).look(1).runs(*POOL).look(1.3, 1.6, 1.9)
    assert at.more == []
    at.at(1.99).ends(*POOL).look(2.0, 2.2)
    assert at.more == []
    assert at.told() == []


@both
def test_a_run_that_takes_longer_is_promised_what_it_has_for_as_long_as_it_goes_on(discipline: str) -> None:
    at = Runs(discipline).look(1).runs(*POOL).look(1.3, 1.6, 1.9, 2.0)
    assert at.more == [(2, 2.1, 4)]
    assert at.behind == 0
    at.look(2.1)
    assert at.more == [(2.1, 2.2, 4)]
    at.ends("p0", "p1").look(2.2)
    assert at.more == [(2.2, 2.3, 2)]
    at.ends("p2", "p3").look(2.3)
    assert at.more == []
    assert at.shares()["a"] == 0
    assert at.told() == [REPROVISIONED]


@both
def test_no_reservation_is_promised_more_that_does_not_ask_for_it(discipline: str) -> None:
    at = Runs(discipline, reprovision=False).look(1).at(1.5).runs(*POOL).look(1.6, 1.9, 2.0, 2.2)
    assert at.more == []
    assert at.shares()["a"] == 0


@both
def test_what_others_were_promised_is_not_given_and_its_owner_is_told(discipline: str) -> None:
    at = Runs(discipline)
    at.ask(wanted("b", asked(cpu=1, count=8, concurrency=8, hours=2), start=2, end=4)).look(1).at(1.5).runs(*POOL).look(1.6, 1.9)
    assert at.more == [(2, 2.5, 2)]
    other = Runs(discipline)
    other.ask(wanted("b", asked(cpu=1, count=10, concurrency=10, hours=2), start=2, end=4)).look(1).at(1.5).runs(*POOL)
    other.look(1.6, 1.9)
    assert other.more == []
    assert other.told() == [LAGGING]
    assert "has nothing that could be promised it besides" in next(one.note for one in other.decided if one.reason == LAGGING)


@both
def test_others_are_not_accepted_where_it_is_promised_more(discipline: str) -> None:
    at = Runs(discipline).look(1).at(1.5).runs(*POOL).look(1.6)
    at.ask(wanted("b", asked(cpu=1, count=8, concurrency=8, hours=0.5), start=2, end=2.5)).look(1.7)
    assert at.phase("b") == "Rejected"
    at.ends(*POOL).look(1.9, 2.0)
    assert at.more == []
    at.ask(wanted("b", asked(cpu=1, count=8, concurrency=8, hours=0.5), start=2, end=2.5 + 0.1, generation=2)).look(2.05)
    assert at.phase("b") != "Rejected"


@both
def test_the_work_of_pods_that_failed_is_owed_again(discipline: str) -> None:
    at = Runs(discipline).look(1).runs(*POOL).at(1.5).ends(*POOL, failed=True).runs("q0", "q1", "q2", "q3").look(1.6, 1.9)
    assert at.more == [(2, 2.5, 4)]
    well = Runs(discipline).look(1).runs(*POOL).at(1.5).ends(*POOL).runs("q0", "q1", "q2", "q3").look(1.6, 1.9)
    assert well.more == []


def test_what_runs_anew_elsewhere_after_a_node_was_lost_is_owed_the_lost_work() -> None:
    at = Runs().look(1).runs(*POOL).at(1.5)
    node = at.core.state.pods["p0"].spec.node
    lost = [name for name in POOL if at.core.state.pods[name].spec.node == node]
    at.tell(NodeGone(node), *(PodGone(name) for name in lost)).runs(*(f"again-{name}" for name in lost)).look(1.6, 1.9)
    assert at.behind == pytest.approx(0.5 * len(lost) / 4, abs=0.001)
    assert at.more


@both
def test_no_more_is_promised_than_there_are_pods_for(discipline: str) -> None:
    at = Runs(discipline).look(1).at(1.5).runs("p0").look(1.6, 1.9)
    assert {cores for _, _, cores in at.more} == {1}


@both
def test_nobody_is_owed_anything_without_pods(discipline: str) -> None:
    at = Runs(discipline).look(1, 1.3, 1.6, 1.9, 2.0, 2.5)
    assert at.more == []
    at.at(2.6).runs(*POOL).look(2.8)  # it begins after all that it was promised
    assert at.more == [(2.8, 3.6, 4)]
    assert at.shares()["a"] == 4


@both
def test_each_stage_is_owed_as_much_later(discipline: str) -> None:
    stages = (asked(cpu=1, count=4, concurrency=4, hours=0.5), asked(cpu=1, count=2, concurrency=2, hours=0.5))
    at = Runs(discipline, requests=stages, interpreter=Interpreter.ORDER_NO_GAP).look(1).at(1.25).runs(*POOL).look(1.3, 1.45)
    begins = at.steps("a")[0][0]
    assert begins == 1
    assert at.more == [(1.5, 1.75, 2), (2, 2.25, 2)]


@both
def test_it_ends_with_the_occurrence_and_the_next_one_owes_nothing(discipline: str) -> None:
    at = Runs(discipline, start=1, end=3, period=6 * HOUR).look(1).at(1.5).runs(*POOL).look(1.6, 1.9)
    assert at.more == [(2, 2.5, 4)]
    assert at.look(2.4).figures("a").next_start is None
    at.look(2.5, 2.6, 2.8)
    assert all(end <= 3 for _, end, _ in at.more)
    at.look(3.0)
    assert at.more == []
    at.ends(*POOL).look(7.0)
    assert at.more == []
    at.runs("n0", "n1", "n2", "n3").look(7.3, 7.9)
    assert at.more == []


@both
def test_where_capacity_is_lost_it_goes_before_what_was_promised(discipline: str) -> None:
    at = Runs(discipline, plan_fields={"patience": 0})
    at.ask(wanted("b", asked(cpu=1, count=6, concurrency=6, hours=1), start=2, end=3)).look(1).at(1.5).runs(*POOL).look(1.6, 1.9)
    assert at.more
    free = next(
        name for name in at.core.state.nodes.names if not any(at.core.state.pods[one].spec.node == name for one in POOL[:1])
    )
    at.tell(NodeGone(free)).look(1.91)
    assert at.more == []
    dropped = [one.id for one in at.decided if "Dropped" in one.reason]
    assert "ns/a" not in dropped


@both
def test_what_was_given_survives_a_restart_and_what_ran_before_is_not_owed(discipline: str) -> None:
    at = Runs(discipline).look(1).at(1.5).runs(*POOL).look(1.6, 1.9)
    decided = at.figures("a").decided
    after = Reserving(discipline)
    after.at(1.95).ask(at.spec, decided).inside("mine", "a")
    for name in POOL:
        after.tell(PodSeen(at.core.state.pods[name].spec))
    after.plan()
    found = after.figures("a").decided
    assert found is not None
    assert found.promise is not None
    assert [(start / HOUR, end / HOUR) for start, end, _ in found.promise.more] == [(2, 2.5)]
    after.at(2.2).plan()
    assert after.shares()["a"] == 4
    assert not broken(after.core.state)


@both
def test_a_status_that_could_not_be_written_is_found_anew(discipline: str) -> None:
    at = Runs(discipline).look(1)
    before = at.figures("a").decided
    at.at(1.5).runs(*POOL).look(1.6)
    assert at.more
    at.tell(ReservationLost("ns/a"), ReservationSeen(at.spec, before)).look(1.65)
    assert at.more == []
    at.look(1.9)
    assert at.more == [(2, 2.5, 4)]


@both
def test_an_edit_takes_back_what_was_given_and_it_is_found_anew(discipline: str) -> None:
    at = Runs(discipline).look(1).at(1.5).runs(*POOL).look(1.6)
    at.ask(replace(at.spec, generation=2, reprovision=False)).look(1.7, 1.9)
    assert at.more == []
    at.withdraw("a").look(1.95)
    assert child_path(PLAN, "ns/a") not in at.core.state.plans.progress


@both
def test_the_sharing_policy_is_asked(discipline: str) -> None:
    at = Runs(discipline, plan_fields={"average": 0.018}).look(1).at(1.5).runs(*POOL).look(1.6, 1.9)
    assert at.figures("a").phase == "Active"
    assert at.more == []
    assert at.told() == [LAGGING]
