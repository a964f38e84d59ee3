"""The keeper: events in, records out, and nothing ever stops for the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from treadle.core import Core
from treadle.core.events import NodeSeen, PodGone, PodRefused, PodSeen, QueueSeen
from treadle.core.model import NodeSpec, PodSpec, QueueSpec, Settings
from treadle.history import keeper as module
from treadle.history.keeper import DAY, EVERY, STANDBY, UNDER_WAY_EVERY, Keeper
from treadle.history.runs import DELETED, FAILED, LINGER, SUCCEEDED, UNKNOWN
from treadle.history.said import Said, Wanted
from treadle.history.store import Store
from treadle.kube.recorder import Told


class World:
    """A core with a node and a queue, and a keeper that looks when it is told to."""

    def __init__(self, url: str) -> None:
        self.now = 1_000_000.0
        self.core = Core(Settings())
        self.keepers: list[Keeper] = []
        self.url = url
        self.keeper = self.another()
        self.handle(NodeSeen(NodeSpec("n1", {"cpu": 64_000, "memory": 1 << 38, "pods": 1000})))
        self.handle(QueueSeen(QueueSpec("root.a")))

    def another(self) -> Keeper:
        made = Keeper(Store(self.url), lambda: self.core.view, clock=lambda: self.now)
        self.keepers.append(made)
        return made

    def handle(self, event: Any) -> None:
        self.core.handle(event, self.now)
        for keeper in self.keepers:
            keeper.note(event)

    def pod(self, uid: str, application: str = "team/etl", node: str = "n1", **given: Any) -> PodSpec:
        demand = (("cpu", 1000), ("memory", 1 << 30), ("pods", 1))
        said = {"scheduler": "treadle", "queue": "root.a", "user": "ann", "application": application, "created": self.now - 30}
        return PodSpec(uid, "team", uid, node=node, demand=demand, **{**said, **given})

    def runs(self, uid: str, **given: Any) -> None:
        self.handle(PodSeen(self.pod(uid, **given)))

    def ends(self, uid: str, phase: str = SUCCEEDED) -> None:
        if phase:
            for keeper in self.keepers:
                keeper.ended(uid, phase == SUCCEEDED)
        self.handle(PodGone(uid))

    async def look(self, seconds: float = EVERY, keeper: Keeper | None = None, *, leads: bool = True) -> None:
        self.now += seconds
        await (keeper or self.keeper).look(leads=leads)

    def stored(self, **wanted: Any) -> list[Any]:
        store = Store(self.url)
        try:
            return list(store.runs(**wanted))
        finally:
            store.close()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    found = World(f"sqlite:///{tmp_path}/history.db")
    yield found
    for keeper in found.keepers:
        await keeper.close()


async def test_an_application_is_written_when_its_last_pod_has_left(world: World) -> None:
    world.runs("a")
    world.now += 20
    world.runs("b")
    world.now += 20
    world.ends("a")
    world.ends("b", FAILED)
    ended = world.now
    await world.look(LINGER)
    (run,) = world.stored()
    assert (run.application, run.queue, run.user, run.outcome) == ("team/etl", "root.a", "ann", FAILED)
    assert (run.started, run.ended, run.submitted) == (ended - 40, ended, ended - 70)
    assert (run.pods, run.succeeded, run.failed) == (2, 1, 1)
    assert world.keeper.written >= 1


async def test_pods_of_others_pods_that_wait_and_pods_that_the_kubelet_refused_are_told_apart(world: World) -> None:
    world.runs("foreign", scheduler="default-scheduler", application="team/web")
    world.runs("waits", node="")
    world.runs("refused", application="team/unlucky")
    world.handle(PodRefused(world.pod("refused", "team/unlucky"), "OutOfcpu", ""))
    world.runs("deleted", application="team/gone")
    world.ends("deleted", "")
    await world.look(LINGER)
    assert {run.application: run.outcome for run in world.stored()} == {"team/unlucky": FAILED, "team/gone": DELETED}


async def test_a_run_under_way_is_written_from_time_to_time_and_queues_are_sampled(world: World) -> None:
    world.runs("a")
    await world.look()
    assert [(run.pods, run.ended) for run in world.stored()] == [(1, None)]
    world.runs("b")
    await world.look()
    assert [run.pods for run in world.stored()] == [1]
    await world.look(UNDER_WAY_EVERY)
    assert [run.pods for run in world.stored()] == [2]
    assert [one.path for one in world.keeper.store.queue_samples("root.a")] == ["root.a"]
    assert next(world.keeper.store.queue_samples("root.a")).used == {"cpu": 1000, "memory": 1 << 30, "pods": 1}


async def test_a_scheduler_that_is_killed_leaves_what_the_next_goes_on_with(world: World) -> None:
    world.runs("a")
    world.runs("b")
    world.runs("lost", application="team/lost")
    began = world.now
    await world.look()
    world.keepers.clear()  # killed
    world.now += 100
    world.ends("a")
    world.ends("lost")
    world.keeper = world.another()
    for uid in ("b",):
        world.keeper.note(PodSeen(world.pod(uid)))
    await world.look()
    world.ends("b")
    await world.look(LINGER)
    kept = {run.application: run for run in world.stored()}
    assert (kept["team/etl"].started, kept["team/etl"].outcome) == (began, SUCCEEDED)
    assert kept["team/etl"].ended is not None
    assert (kept["team/lost"].outcome, kept["team/lost"].ended) == (UNKNOWN, began + EVERY)


async def test_a_standby_writes_nothing_and_goes_on_where_the_leader_ended(world: World) -> None:
    standby = world.another()
    world.runs("a")
    world.runs("b")
    await world.look()
    await world.look(keeper=standby, leads=False)
    world.ends("a")
    await world.look(UNDER_WAY_EVERY)
    await world.look(keeper=standby)
    assert [(run.pods, run.succeeded, run.ended) for run in world.stored()] == [(2, 1, None)]
    world.ends("b")
    await world.look(LINGER, keeper=standby)
    (run,) = world.stored()
    assert (run.pods, run.succeeded, run.outcome) == (2, 2, SUCCEEDED)


async def test_what_a_leader_had_not_written_when_it_ended_is_written_by_the_standby_and_only_that(world: World) -> None:
    standby = world.another()
    world.runs("a", application="team/first")
    world.ends("a")
    await world.look(LINGER)
    await world.look(keeper=standby, leads=False)
    world.runs("b", application="team/second")
    world.ends("b")
    await world.look(LINGER, keeper=standby, leads=False)
    await world.look(keeper=standby)
    assert sorted(run.application for run in world.stored()) == ["team/first", "team/second"]


async def test_a_standby_forgets_after_a_while_what_the_leader_has_surely_written(world: World) -> None:
    world.runs("a")
    world.ends("a")
    await world.look(LINGER, leads=False)
    assert world.keeper.waiting == 1
    await world.look(STANDBY + 1, leads=False)
    assert world.keeper.waiting == 0


async def test_a_full_disk_is_told_drops_the_oldest_and_counts_and_is_written_again_later(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await world.look()
    monkeypatch.setattr(module, "MOST", 3)
    engine = world.keeper.store._engine

    def full(connection: Any, *_: Any) -> None:
        connection.execute("PRAGMA max_page_count=1")

    sql.event.listen(engine, "connect", full)
    for number in range(40):
        world.runs(f"p{number}", application=f"team/a{number}-{'x' * 200}")
        world.ends(f"p{number}")
        await world.look(LINGER)
    assert world.keeper.failures > 0
    assert world.keeper.problem == "database or disk is full"
    assert world.keeper.trouble == f"the history in {world.url} cannot be written: database or disk is full"
    assert world.keeper.dropped > 20
    assert "cannot be written: database or disk is full" in caplog.text
    sql.event.remove(engine, "connect", full)
    await world.look()
    assert world.keeper.problem == world.keeper.trouble == ""
    names = [run.application.partition("-")[0] for run in world.stored()]
    assert names[0] == "team/a39"
    assert 0 < 40 - len(names) <= world.keeper.dropped


async def test_what_is_too_old_is_deleted_now_and_then(world: World) -> None:
    world.runs("a")
    world.ends("a")
    await world.look(LINGER)
    assert len(world.stored()) == 1
    await world.look(91 * DAY)
    assert world.stored() == []


async def test_the_last_is_written_when_the_scheduler_ends(world: World) -> None:
    await world.look()
    world.runs("a")
    await world.keeper.close()
    world.keepers.remove(world.keeper)
    assert [run.pods for run in world.stored()] == [1]


async def test_it_looks_every_while_until_it_is_cancelled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []
    enough = asyncio.Event()

    async def look(*, leads: bool) -> None:
        looks.append(leads)
        if len(looks) == 4:
            enough.set()

    monkeypatch.setattr(module, "EVERY", 0.0)
    monkeypatch.setattr(world.keeper, "look", look)
    assert world.keeper.watched_from == float("inf")
    task = asyncio.create_task(world.keeper.run(lambda: len(looks) > 1))
    await enough.wait()
    task.cancel()
    assert looks[:4] == [False, False, True, True]
    assert world.keeper.watched_from == world.now


async def test_who_stood_by_since_before_a_run_began_counts_a_pod_once_that_the_leader_saw_end_first(world: World) -> None:
    standby = world.another()
    standby.watched_from = world.now - 60
    leader, slow = world.keeper, PodSeen(world.pod("a"))
    world.core.handle(slow, world.now)
    leader.note(slow)
    world.keepers.remove(leader)
    world.runs("b")
    world.now += 1
    leader.ended("a", succeeded=True)
    leader.note(PodGone("a"))
    await leader.look(leads=True)
    world.now += 1
    standby.ended("a", succeeded=True)
    standby.note(slow)
    standby.note(PodGone("a"))
    await world.look(keeper=standby)
    (run,) = world.stored()
    assert (run.pods, run.succeeded, run.ended) == (2, 1, None)
    await leader.close()


def told(reason: str = "Preempted", uid: str = "a", note: str = "Preempted: queue root.b is owed it") -> Told:
    return Told(reason, "Pod", "team", uid, uid, "", "", note)


async def test_what_is_said_is_kept_with_the_application_and_the_queue_of_the_pod(world: World) -> None:
    world.runs("a")
    world.keeper.hear(told())
    world.keeper.hear(told("Scheduled", note="Bound 1 pod"))
    world.keeper.hear(told("FailedScheduling", "unknown", "it waits")._replace(application="team/other"))
    world.keeper.hear(Told("LifetimeOver", "Application", "team", "etl", "u", "", "root.a", "over"))
    world.keeper.hear(Told("ReservationMoved", "Reservation", "team", "plan", "u", "", "", "later"))
    at = world.now
    assert world.keeper.waiting == 4
    await world.look()
    assert list(reversed(list(world.keeper.store.events(Wanted())))) == [
        Said(at, "Preempted", "Pod", "team", "a", "team/etl", "root.a", "Preempted: queue root.b is owed it"),
        Said(at, "FailedScheduling", "Pod", "team", "unknown", "team/other", "", "it waits"),
        Said(at, "LifetimeOver", "Application", "team", "etl", "team/etl", "root.a", "over"),
        Said(at, "ReservationMoved", "Reservation", "team", "plan", "", "", "later"),
    ]
    assert world.keeper.waiting == 0


async def test_what_a_copy_said_that_leads_no_more_is_not_written_later(world: World) -> None:
    world.keeper.hear(told())
    await world.look(leads=False)
    await world.look()
    assert list(world.keeper.store.events(Wanted())) == []


async def test_events_that_cannot_be_written_wait_up_to_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)

    def fails(*_: Any, **__: Any) -> None:
        raise OSError("no room")

    with monkeypatch.context() as broken:
        broken.setattr(world.keeper.store, "write", fails)
        for number in range(5):
            world.keeper.hear(told(note=str(number)))
        await world.look()
    assert "no room" in world.keeper.trouble
    await world.look()
    assert [one.note for one in world.keeper.store.events(Wanted())] == ["4", "3", "2"]
