"""What a reservation is promised of one type it gets, however much others are guaranteed of another: on 20 cores of which the plan has half."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.builders import a_pod, replaced
from core.kernel.reservations.planned import DISCIPLINES, PLAN, Reserving, asked, wanted
from examples import examples
from treadle.core.effects import Bind, Evict
from treadle.core.events import BindDone, PodGone, PodSeen
from treadle.core.kernel.reservations.following import default_path

both = pytest.mark.parametrize("discipline", DISCIPLINES)


class World(Reserving):
    """What is bound or evicted is so at once."""

    evicted = 0

    def run(self, seconds: float) -> World:
        until = self.now + seconds
        while self.now < until:
            self.plan()
            for effect in list(self.effects):
                if isinstance(effect, Bind):
                    spec = self.core.state.pods[effect.uid].spec
                    bound = replaced(spec, node=effect.node, held_in=effect.queue, started=self.now or 0.001)
                    self.tell(BindDone(effect.uid), PodSeen(bound))
                elif isinstance(effect, Evict):
                    self.evicted += 1
                    self.tell(PodGone(effect.uid))
            self.wait(0.5)
        return self

    def pods(self, count: int, name: str, queue: str = "", **fields: Any) -> World:
        given = {"application": f"of-{name}", **fields}
        self.tell(*(PodSeen(a_pod(f"{name}{number}", queue=queue, **given)) for number in range(count)))
        return self

    def placed(self, name: str) -> int:
        return sum(1 for uid, record in self.core.state.pods.items() if uid.rstrip("0123456789") == name and record.node >= 0)


@both
@pytest.mark.parametrize("flood", [8, 10])
@pytest.mark.parametrize("memory", [0, 2, 12])
def test_who_borrows_its_cores_gives_them_back_though_it_is_guaranteed_more_memory_than_it_uses(
    discipline: str, flood: int, memory: int
) -> None:
    at = World(discipline)
    at.ask(wanted("a", asked(cpu=1, count=8, concurrency=8, hours=1, memory=memory), start=1, end=2)).inside("mine", "a")
    at.pods(flood, "flood", default_path(PLAN)).pods(10, "rest", "root.rest").run(3)
    at.at(1).pods(8, "mine", application="mine", memory=memory or 1).run(30)
    assert (at.placed("mine"), at.placed("flood"), at.placed("rest")) == (8, 2, 10)


@both
@pytest.mark.parametrize("queue", [default_path(PLAN), "root.rest"])
@pytest.mark.parametrize("applications", [2, 5, 10])
def test_a_flood_of_small_applications_leaves_as_well(discipline: str, applications: int, queue: str) -> None:
    at = World(discipline)
    at.ask(wanted("a", asked(cpu=1, count=8, concurrency=8, hours=1, memory=1), start=1, end=2)).inside("mine", "a")
    for number in range(applications):
        at.pods(20 // applications, f"flood{number}-", queue)
    at.run(3)
    at.at(1).pods(8, "mine", application="mine").run(40)
    assert at.placed("mine") == 8


@both
def test_a_run_that_is_short_of_memory_that_nobody_lacks_evicts_nobody_for_cores(discipline: str) -> None:
    at = World(discipline)
    at.ask(wanted("a", asked(cpu=1, count=8, hours=1, memory=10), start=1, end=3))
    at.inside("x", "a").inside("y", "a").pods(10, "rest", "root.rest").at(1)
    at.pods(20, "x", application="x").pods(20, "y", application="y").run(30)
    evicted = at.evicted
    at.run(120)
    assert at.evicted == evicted
    assert at.placed("rest") == 10


@both
def test_all_of_one_type_and_half_of_another_are_promised_and_the_rest_goes_on(discipline: str) -> None:
    at = World(discipline)
    at.ask(wanted("a", asked(cpu=1, count=5, concurrency=5, hours=1, memory=20), start=1, end=2)).inside("mine", "a")
    at.pods(10, "flood", default_path(PLAN)).pods(2, "idle", default_path(PLAN), cpu=0).pods(10, "rest", "root.rest").run(3)
    at.at(1).pods(5, "mine", application="mine").run(30)
    assert at.placed("mine") == 5


@both
def test_another_reservation_gives_back_what_it_is_not_promised_itself(discipline: str) -> None:
    at = World(discipline)
    at.ask(wanted("cores", asked(cpu=1, count=8, concurrency=8, hours=1, memory=1), start=1, end=2)).inside("mine", "cores")
    at.ask(wanted("memory", asked(cpu=1, count=2, concurrency=2, hours=1, memory=40), start=1, end=2)).inside("other", "memory")
    at.pods(10, "rest", "root.rest").at(1)
    at.pods(2, "large", application="other", memory=40).pods(8, "small", application="other").run(3)
    assert (at.placed("large"), at.placed("small")) == (2, 8)
    at.pods(8, "mine", application="mine", memory=1).run(30)
    assert (at.placed("mine"), at.placed("large"), at.placed("small"), at.placed("rest")) == (8, 2, 0, 10)


shares = st.tuples(st.integers(1, 5), st.sampled_from([1, 2, 5, 9]))


@both
@given(first=shares, second=shares, flood=st.integers(0, 10), more=st.integers(0, 6), size=st.sampled_from([1, 3, 6]))
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_reservation_gets_what_it_was_promised_whoever_had_it_before(
    discipline: str, first: tuple[int, int], second: tuple[int, int], flood: int, more: int, size: int
) -> None:
    at = World(discipline)
    promised = {"a": first, "b": second}
    for name, (count, memory) in promised.items():
        request = asked(cpu=1, count=count, concurrency=count, hours=1, memory=memory)
        at.ask(wanted(name, request, start=1, end=2)).inside(f"in-{name}", name).plan()
        assert at.phase(name) == "Accepted"
    at.pods(flood, "flood", default_path(PLAN), memory=size).pods(10, "rest", "root.rest").run(2)
    at.at(1).pods(more, "more", application="in-b", memory=min(size, second[1])).run(4)
    for name, (count, memory) in promised.items():
        at.pods(count, f"of-{name}-", application=f"in-{name}", memory=memory)
    at.run(30)
    assert at.placed("rest") == 10
    for name, (count, _) in promised.items():
        mine = at.placed(f"of-{name}-") + (at.placed("more") if name == "b" else 0)
        assert mine >= count, (name, mine, count)
