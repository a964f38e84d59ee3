"""The one task that touches the core: what comes in is handled in order, and one bad event or pass stops nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from core.builders import a_node, a_pod, replaced
from kube.access import task_of, until
from treadle.core import Core
from treadle.core.effects import Evict, RecordEvent, ReportWaiting
from treadle.core.events import BindDone, BindFailed, Event, NodeSeen, PodGone, PodSeen
from treadle.core.state import Settings
from treadle.kube.binder import Placement
from treadle.kube.patcher import Write
from treadle.runtime import engine as module
from treadle.runtime.engine import SLICE, Engine
from treadle.runtime.waiting import WaitingReports


class Binder:
    """Takes placements and answers when the test wants."""

    limit = 16.0

    def __init__(self) -> None:
        self.placements: list[Placement] = []
        self.free = 32
        self.withdrawn: list[Placement] = []
        self.questions: list[Placement] = []

    def room(self) -> int:
        return max(0, self.free - len(self.placements))

    def submit(self, placement: Placement) -> None:
        self.placements.append(placement)

    def verify(self, placement: Placement) -> None:
        self.questions.append(placement)

    def withdraw(self) -> list[Placement]:
        taken, self.placements = self.placements, []
        return taken


class Patcher:
    def __init__(self) -> None:
        self.writes: dict[str, Write] = {}

    def submit(self, key: str, write: Write) -> None:
        self.writes[key] = write

    def discard(self, key: str) -> None:
        self.writes.pop(key, None)


class Evictor:
    def __init__(self) -> None:
        self.victims: list[Evict] = []

    def submit(self, victim: Evict) -> None:
        self.victims.append(victim)

    def withdraw(self) -> None:
        self.victims.clear()


class Recorder:
    def __init__(self) -> None:
        self.pods: list[tuple[Any, ...]] = []
        self.warnings: list[RecordEvent] = []

    def scheduled(self, *what: Any) -> None:
        self.pods.append(what)

    def warned(self, event: RecordEvent) -> None:
        self.warnings.append(event)

    def discard(self) -> None:
        self.pods.clear()
        self.warnings.clear()

    def flush(self) -> None:
        pass


class At:
    """An engine with a core of its own and a binder, a patcher and a recorder that only take notes."""

    def __init__(self, may_plan: Callable[[], bool] = lambda: True, core: Core | None = None) -> None:
        self.core = core or Core(Settings(report_after=0.0, update_interval=0.01), validate=True)
        self.binder, self.evictor, self.patcher, self.recorder = Binder(), Evictor(), Patcher(), Recorder()
        reports = WaitingReports(self.patcher)  # type: ignore[arg-type]
        self.engine = Engine(self.core, self.binder, self.evictor, reports, self.recorder, may_plan)  # type: ignore[arg-type]

    def put(self, *events: Event) -> None:
        for event in events:
            self.engine.put(event)


async def test_a_pod_that_is_seen_is_placed() -> None:
    at = At()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("a")))
        await until(lambda: at.binder.placements)

    assert at.binder.placements == [Placement("a", "ns", "a", "n", "root.default", "ns/app")]
    assert at.engine.backlog == 0


class Fragile(Core):
    """A core with a defect: it cannot stand one of its events, or its first passes."""

    bad_passes = 0

    def handle(self, event: Event, now: float) -> None:
        match event:
            case PodGone():
                raise RuntimeError("a defect in an event")
        super().handle(event, now)

    def plan(self, now: float, budget: int = 1_000_000) -> Any:
        if self.bad_passes:
            self.bad_passes -= 1
            raise RuntimeError("a defect in a pass")
        return super().plan(now, budget)


async def test_an_event_that_cannot_be_handled_is_logged_and_the_next_ones_go_on(caplog: pytest.LogCaptureFixture) -> None:
    at = At(core=Fragile())
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodGone("x"), PodSeen(a_pod("a")))
        await until(lambda: at.binder.placements)

    assert "an event could not be handled: PodGone(uid='x')" in caplog.text


async def test_a_pass_that_fails_is_logged_and_the_next_one_tries_again(caplog: pytest.LogCaptureFixture) -> None:
    core = Fragile()
    core.bad_passes = 1
    at = At(core=core)
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")))
        await until(lambda: not core.bad_passes)
        at.put(PodSeen(a_pod("a")))
        await until(lambda: at.binder.placements)

    assert "a pass failed; the next one tries again. Story:" in caplog.text


async def test_until_it_may_plan_events_are_taken_in_and_nothing_is_decided() -> None:
    allowed = False
    at = At(lambda: allowed)
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("a")))
        await until(lambda: at.core.state.waiting == 1)
        assert at.binder.placements == []
        allowed = True
        at.put(PodSeen(a_pod("b")))
        await until(lambda: len(at.binder.placements) == 2)


async def test_no_more_is_decided_than_the_binder_has_room_for() -> None:
    at = At()
    at.binder.free = 10
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n", cpu=100, memory=100)), *(PodSeen(a_pod(f"p{number}")) for number in range(40)))
        await until(lambda: at.binder.placements)
        at.put(PodSeen(a_pod("one-more")))
        await until(lambda: at.engine.backlog == 0)
        assert len(at.binder.placements) == 10
        at.binder.free = 100
        at.put(PodSeen(a_pod("another")))
        await until(lambda: len(at.binder.placements) == 42)


async def test_a_long_list_is_handled_in_slices_and_others_get_their_turn() -> None:
    at = At(lambda: False, core=Core())
    seen: list[int] = []
    async with task_of(at.engine.run()):
        at.put(*(PodSeen(a_pod(f"p{number}")) for number in range(3 * SLICE)))

        def note() -> bool:
            seen.append(at.engine.backlog)
            return at.engine.backlog == 0

        await until(note)
    assert at.engine.events == 3 * SLICE


@pytest.mark.looptime
async def test_events_that_follow_one_another_closely_share_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = asyncio.get_running_loop().time
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock, perf_counter=clock))
    at = At()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")))
        await until(lambda: at.engine.passes)
        for _ in range(3):  # until the pass has ended and the engine waits
            await asyncio.sleep(0)
        before = at.engine.passes
        for number in range(20):
            at.put(PodSeen(a_pod(f"pod-{number}")))
            await asyncio.sleep(0)
        await until(lambda: at.engine.events == 21)

    assert at.engine.passes - before < 10


async def test_at_the_end_all_that_was_told_is_taken_in_and_nothing_is_decided() -> None:
    at = At()
    at.put(NodeSeen(a_node("n")), PodSeen(a_pod("a", node="n")), BindDone("a"), PodSeen(a_pod("b")))
    at.engine.finish()

    assert at.engine.backlog == 0
    assert [pod[4] for pod in at.recorder.pods] == ["a"]
    assert at.binder.placements == []


async def test_when_it_stands_down_what_was_not_sent_waits_again() -> None:
    at = At()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("a")))
        await until(lambda: at.binder.placements)
        at.engine.stopping = True
        at.engine.stand_down()
        await until(lambda: at.core.state.assumed == 0)

    assert at.core.state.waiting == 1


async def test_a_pod_is_recorded_when_it_was_bound_and_not_when_that_was_decided() -> None:
    at = At()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("a")), PodSeen(a_pod("b")))
        await until(lambda: len(at.binder.placements) == 2)
        assert at.recorder.pods == []
        at.put(BindDone("a"), BindFailed("b", "refused", "no"), BindDone("gone meanwhile"))
        await until(lambda: at.core.state.assumed == 1)

    assert at.recorder.pods == [("ns", "ns/app", "root.default", "a", "a", "n")]


# -- telling owners of waiting pods


async def test_a_waiting_pods_owner_is_told_with_the_uid_as_a_fence() -> None:
    at = At()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n", cpu=1)), PodSeen(a_pod("a", cpu=2)))
        await until(lambda: at.patcher.writes)

    write = at.patcher.writes["a"]
    (condition,) = write.body["status"]["conditions"]
    assert write.path == "/api/v1/namespaces/ns/pods/a/status"
    assert write.body["metadata"] == {"uid": "a"}
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert condition["lastTransitionTime"].endswith("Z")


async def test_a_condition_that_is_there_already_keeps_its_time_when_its_reason_changes() -> None:
    at = At()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n", cpu=1)), PodSeen(a_pod("a", cpu=2, reported=("QueueNotFound", "an old reason"))))
        await until(lambda: at.patcher.writes)

    assert "lastTransitionTime" not in at.patcher.writes["a"].body["status"]["conditions"][0]


async def test_a_report_that_was_not_sent_is_dropped_when_the_pod_is_placed() -> None:
    at = At()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n", cpu=1)), PodSeen(a_pod("a", cpu=2)))
        await until(lambda: at.patcher.writes)
        at.put(NodeSeen(a_node("n", cpu=4)))
        await until(lambda: at.binder.placements)

    assert at.patcher.writes == {}


def test_a_long_message_is_cut_to_what_the_api_takes() -> None:
    patcher = Patcher()
    WaitingReports(patcher).submit(ReportWaiting("u", "ns", "a", "Why", "x" * 5000, 1))  # type: ignore[arg-type]

    assert len(patcher.writes["u"].body["status"]["conditions"][0]["message"]) == 1024


async def test_a_bind_that_is_neither_confirmed_nor_failed_is_asked_about_until_there_is_an_answer() -> None:
    at = At(core=Core(Settings(expire_after=0.05), validate=True))
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("a")))
        await until(lambda: len(at.binder.questions) >= 2)
        question = at.binder.questions[0]
        assert (question.uid, question.namespace, question.name, question.node) == ("a", "ns", "a", "n")

        at.put(PodSeen(replaced(a_pod("a"), node="n"), answer=True))
        await until(lambda: at.core.state.bound == 1)
    assert at.core.next_timer() is None
