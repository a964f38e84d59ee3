"""The room of a reservation is there at its start: what borrowed it is asked to go early enough."""

from __future__ import annotations

import pytest

from core.kernel.reservations.planned import DISCIPLINES, PLAN, Reserving, asked, wanted
from treadle.core.effects import Bind, Evict
from treadle.core.kernel.reservations.following import child_path

both = pytest.mark.parametrize("discipline", DISCIPLINES)
GRACE = 20.0
"""Seconds that a victim takes to leave."""


def run(it: Reserving, until: float) -> dict[str, float]:
    """Let the core have each of its timers until a time, victims leave after their grace; returns when pods were bound."""
    leaving: dict[str, float] = {}
    bound: dict[str, float] = {}
    while it.now < until:
        for name in [name for name, when in leaving.items() if when <= it.now]:
            it.gone(name)
            del leaving[name]
        binds = it.plan()
        for effect in it.effects:
            if isinstance(effect, Evict):
                leaving.setdefault(effect.uid, it.now + GRACE)
        bound.update((bind.uid, it.now) for bind in binds if isinstance(bind, Bind))
        it.confirm(binds)
        timer = it.core.next_timer()
        it.now = min(until, max(it.now + 0.5, min([timer if timer is not None else until, *leaving.values()])))
    return bound


@both
def test_borrowed_room_comes_back_before_the_start(discipline: str) -> None:
    it = Reserving(discipline, lead=60_000).ask(wanted("a", asked(cpu=6, hours=1), start=1, end=2)).inside("app", "a")
    it.pods(20, "borrower", queue="root.rest", application="borrower")
    it.confirm(it.plan())
    assert it.used("root.rest") == 20
    it.at(0.9).pods(6, "p")
    bound = run(it, 3600.0)
    mine = {name: when for name, when in bound.items() if name.startswith("p-")}
    assert len(mine) == 6
    assert min(mine.values()) >= 3540.0
    assert it.used(child_path(PLAN, "ns/a")) == 6


@both
def test_without_a_lead_nothing_is_asked_to_go_before_the_start(discipline: str) -> None:
    it = Reserving(discipline, lead=0).ask(wanted("a", asked(cpu=6, hours=1), start=1, end=2)).inside("app", "a")
    it.pods(20, "borrower", queue="root.rest", application="borrower")
    it.confirm(it.plan())
    it.at(0.9).pods(6, "p")
    assert run(it, 3599.0) == {}
    assert it.used("root.rest") == 20
    assert len(run(it, 3700.0)) == 6


@both
def test_what_is_promised_to_somebody_until_the_start_is_not_taken_early(discipline: str) -> None:
    it = Reserving(discipline, lead=60_000)
    it.ask(wanted("first", asked(cpu=8, hours=1), start=0, end=1)).ask(wanted("next", asked(cpu=10, hours=1), start=1, end=2))
    it.plan()
    it.at(3550 / 3600).plan()
    assert it.shares() == {"first": 8, "next": 2, "default": 0}
    it.at(1).plan()
    assert it.shares() == {"next": 10, "default": 0}
    it.at(2).plan()
    assert it.shares() == {"default": 10}


@both
def test_a_reservation_that_grows_has_what_it_will_have_a_lead_earlier(discipline: str) -> None:
    it = Reserving(discipline, lead=60_000, agent="Greedy")
    from core.kernel.reservations.planned import Interpreter

    it.ask(wanted("a", asked(cpu=2, hours=1), asked(cpu=6, hours=1), start=1, end=3, interpreter=Interpreter.ORDER))
    it.plan()
    seen = []
    for seconds in (3539, 3540, 3600, 7139, 7140, 7200, 10800):
        it.at(seconds / 3600).plan()
        seen.append(it.shares())
    assert seen == [
        {"default": 10},
        {"a": 2, "default": 8},
        {"a": 2, "default": 8},
        {"a": 2, "default": 8},
        {"a": 6, "default": 4},
        {"a": 6, "default": 4},
        {"default": 10},
    ]
