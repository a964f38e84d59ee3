"""The one task that touches the core: what comes in is handled in order, and one bad event or pass stops nothing."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Container
from types import SimpleNamespace
from typing import Any

import pytest

from core.builders import a_node, a_pod, replaced
from kube.access import task_of, until
from treadle.core import Core
from treadle.core.effects import BindVolumes, Effect, Evict, RecordEvent, ReportWaiting
from treadle.core.events import BindDone, BindFailed, Event, NodeSeen, PodGone, PodSeen, QueueSeen
from treadle.core.kernel.pods.states import PodState
from treadle.core.model import QueueSpec, Settings
from treadle.kube.binder import Placement
from treadle.kube.patcher import Write
from treadle.runtime import care as care_module
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
        self.away = 0.0

    def room(self) -> int:
        return max(0, self.free - len(self.placements))

    def submit(self, placement: Placement) -> None:
        self.placements.append(placement)

    def verify(self, placement: Placement) -> None:
        self.questions.append(placement)

    def withdraw(self, uids: Container[str] | None = None) -> list[Placement]:
        taken = [one for one in self.placements if uids is None or one.uid in uids]
        self.placements = [one for one in self.placements if one not in taken]
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


class Claims:
    def __init__(self) -> None:
        self.decided: list[BindVolumes] = []

    def submit(self, decided: BindVolumes) -> None:
        self.decided.append(decided)

    def withdraw(self) -> None:
        self.decided.clear()


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
        self.claims = Claims()
        reports = WaitingReports(self.patcher)  # type: ignore[arg-type]
        self.engine = Engine(self.core, self.binder, self.evictor, reports, self.recorder, self.claims, self.claims, may_plan)  # type: ignore[arg-type]

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


class Thorough(Core):
    """A core whose passes take a while, on a clock of the test's own."""

    took, clock = 0.5, 100.0

    def plan(self, now: float, budget: int = 1_000_000, only: str = "") -> list[Effect]:
        effects = super().plan(now, budget, only)
        self.clock += self.took
        return effects


async def test_after_a_long_pass_nothing_is_decided_for_as_long_again(monkeypatch: pytest.MonkeyPatch) -> None:
    core = Thorough(Settings(report_after=0.0, update_interval=0.01))
    at = At(core=core)
    clock = SimpleNamespace(monotonic=lambda: core.clock, perf_counter=lambda: core.clock)
    monkeypatch.setattr(module, "time", clock)
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("a")))
        await until(lambda: at.binder.placements)
        passes = at.engine.passes
        core.clock += 0.4
        at.put(PodSeen(a_pod("b")))
        await until(lambda: not at.engine.backlog)
        assert (at.engine.passes, len(at.binder.placements)) == (passes, 1)
        core.clock += 0.2
        await until(lambda: len(at.binder.placements) == 2)

    assert at.binder.away == pytest.approx(0.5 * at.engine.passes)


class Fragile(Core):
    """A core with defects: events about what is called ``bad`` raise in the middle, and so do passes while a pod or a queue is called ``cursed``.

    ``weak`` passes raise whatever there is.
    """

    weak = 0

    def handle(self, event: Event, now: float) -> None:
        match event:
            case PodSeen(pod) if pod.name == "bad" and pod.scheduler:
                self.state.pods.decided(-1)
                raise RuntimeError("a defect in an event")
        super().handle(event, now)

    def plan(self, now: float, budget: int = 1_000_000) -> Any:
        if self.weak:
            self.weak -= 1
            raise RuntimeError("a weak moment")
        if "cursed" in self.state.pods or any(spec.weight == 13 for spec in self.state.tree.defined.values()):
            raise RuntimeError("a defect in a pass")
        return super().plan(now, budget)


def fragile() -> At:
    return At(core=Fragile(Settings(report_after=0.0, update_interval=0.01), validate=True))


async def test_an_event_that_cannot_be_handled_harms_only_its_pod_which_is_told_why(caplog: pytest.LogCaptureFixture) -> None:
    at = fragile()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("bad")), PodSeen(a_pod("a")))
        await until(lambda: at.binder.placements and at.patcher.writes)

    assert [one.uid for one in at.binder.placements] == ["a"]
    assert at.core.state.waiting == 0, "what the failed event left behind is gone"
    assert (at.engine.care.errors, list(at.engine.care.set_aside)) == ({"event": 1}, [("Pod", "bad")])
    (condition,) = at.patcher.writes["bad"].body["status"]["conditions"]
    assert (condition["reason"], "RuntimeError: a defect in an event" in condition["message"]) == ("InternalError", True)
    (event,) = at.recorder.warnings
    assert (event.reason, event.name, event.note) == ("InternalError", "bad", condition["message"])
    assert "(test_engine.py:" in event.note, "the error was raised in code that is not ours"
    assert "an event could not be handled: PodSeen(" in caplog.text


async def test_a_pod_that_goes_is_gone_though_it_cannot_be_remembered(caplog: pytest.LogCaptureFixture) -> None:
    at = At()

    def leaving(uid: str) -> None:
        raise KeyError(uid)

    at.engine.leaving = leaving
    async with task_of(at.engine.run()) as running:
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("a")))
        await until(lambda: at.binder.placements)
        at.put(PodGone("a"), PodSeen(a_pod("b")))
        await until(lambda: len(at.binder.placements) == 2 or running.done())

    assert (at.core.view.pod("a"), [one.uid for one in at.binder.placements]) == (None, ["a", "b"])
    assert "an event could not be handled: PodGone(" in caplog.text


async def test_a_pass_that_fails_once_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    at = fragile()
    at.core.weak = 1  # type: ignore[attr-defined]
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("a")))
        await until(lambda: at.binder.placements)

    assert (at.engine.care.errors, at.engine.care.set_aside, at.engine.trouble()) == ({"pass": 1}, {}, "")
    assert "a pass failed; the core is made anew. Story:" in caplog.text


async def test_a_pod_that_makes_every_pass_fail_is_found_and_the_others_are_placed() -> None:
    at = fragile()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n", cpu=99, memory=99)), *(PodSeen(a_pod(f"p-{number}")) for number in range(9)))
        await until(lambda: len(at.binder.placements) == 9)
        at.put(PodSeen(a_pod("cursed")), *(PodSeen(a_pod(f"q-{number}")) for number in range(9)))
        await until(lambda: len(at.binder.placements) == 18)

    assert list(at.engine.care.set_aside) == [("Pod", "cursed")]
    assert {record.state for record in at.core.state.pods.values()} == {PodState.ASSUMED}


async def test_of_an_edit_that_makes_passes_fail_the_last_good_version_stays_in_force_until_the_next_edit() -> None:
    at = fragile()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), QueueSeen(QueueSpec("root.a", weight=2.0)), PodSeen(a_pod("a", "root.a")))
        await until(lambda: at.binder.placements)
        at.put(QueueSeen(QueueSpec("root.a", weight=13.0)), PodSeen(a_pod("b", "root.a")))
        await until(lambda: len(at.binder.placements) == 2)
        assert at.core.state.tree.queues["root.a"].spec.weight == 2.0
        why = at.engine.care.why_set_aside("Queue", "root.a")
        assert re.search(r"RuntimeError: a defect in a pass \(test_engine\.py:\d+\); the last good version stays in force", why)
        at.put(QueueSeen(QueueSpec("root.a", weight=3.0)))
        await until(lambda: at.core.state.tree.queues["root.a"].spec.weight == 3.0)

    assert at.engine.care.set_aside == {}


async def test_a_bound_pod_that_cannot_be_stood_takes_its_room_all_the_same() -> None:
    at = fragile()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n", cpu=2)), PodSeen(a_pod("bad", node="n")), PodSeen(a_pod("a")), PodSeen(a_pod("b")))
        await until(lambda: at.engine.care.set_aside and at.binder.placements)
        await until(lambda: at.core.state.waiting == 1)

    assert len(at.binder.placements) == 1
    assert at.core.state.nodes.free[at.core.state.nodes.row["n"]][at.core.state.types.index["cpu"]] == 0


async def test_what_was_set_aside_is_tried_again_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(care_module, "FIRST_RETRY", 0.0)
    at = fragile()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("cursed")))
        await until(lambda: at.engine.care.set_aside)
        monkeypatch.setattr(Fragile, "plan", Core.plan)
        at.put(NodeSeen(a_node("m")))
        await until(lambda: at.binder.placements)

    assert (at.binder.placements[0].uid, at.engine.care.set_aside) == ("cursed", {})


async def test_a_pod_that_was_set_aside_and_goes_is_forgotten() -> None:
    at = fragile()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("bad")))
        await until(lambda: at.engine.care.set_aside)
        at.put(PodGone("bad"))
        await until(lambda: not at.engine.care.set_aside)


async def test_placements_of_a_pass_that_failed_are_made_anew_and_those_on_their_way_stay() -> None:
    at = fragile()
    plan = Fragile.plan

    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")), PodSeen(a_pod("a")))
        await until(lambda: at.binder.placements)
        failures = iter([True])

        def half(core: Fragile, now: float, budget: int = 1_000_000) -> Any:
            effects = plan(core, now, budget)
            if effects and next(failures, False):
                raise RuntimeError("after the decisions")
            return effects

        at.core.plan = half.__get__(at.core)  # type: ignore[method-assign, attr-defined]
        at.put(PodSeen(a_pod("b")))
        await until(lambda: len(at.binder.placements) == 2)

    assert [one.uid for one in at.binder.placements] == ["a", "b"]
    assert at.engine.care.errors == {"pass": 1}


async def test_an_instance_whose_passes_fail_for_good_says_that_it_is_not_healthy() -> None:
    at = fragile()
    now = 0.0
    at.engine.care._clock = lambda: now
    at.core.weak = 10**9  # type: ignore[attr-defined]
    Fragile.weak = 10**9
    try:
        async with task_of(at.engine.run()):
            at.put(NodeSeen(a_node("n")))
            await until(lambda: at.engine.care.errors)
            assert at.engine.trouble() == ""
            now = 31.0
            assert at.engine.trouble().startswith("no pass has gone well for 31 s: RuntimeError: a weak moment (test_engine.py:")
    finally:
        Fragile.weak = 0


def test_a_backlog_that_keeps_growing_is_trouble_and_a_large_one_that_shrinks_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    at = At()
    for size in (20_000, 30_000, 40_000, 50_000, 60_000, 55_000, 70_000, 80_000, 90_000, 100_000, 110_000, 120_000):
        now, at.engine.passed_at = now + 10, now + 10
        at.engine._inbox = deque([PodGone("x")] * size)
        assert size == 120_000 or at.engine.trouble() == ""
    assert at.engine.trouble() == "120000 events wait to be handled, and they have become more for a minute"


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


async def test_a_bind_of_a_gang_that_fails_takes_back_the_others_that_have_not_been_sent() -> None:
    at = At()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n")))
        at.put(*(PodSeen(a_pod(name, gang="w", gang_minimums=(("w", 3),))) for name in "abc"))
        await until(lambda: len(at.binder.placements) == 3)
        at.binder.placements = at.binder.placements[1:]  # one of them was sent
        at.put(BindFailed("a", "transient", "no"))
        await until(lambda: at.core.state.assumed == 0)

    assert at.binder.placements == []


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


async def test_a_waiting_pods_owner_is_told_with_the_uid_and_the_version_as_a_fence() -> None:
    at = At()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n", cpu=1)), PodSeen(a_pod("a", cpu=2, version="7")))
        await until(lambda: at.patcher.writes)

    write = at.patcher.writes["a"]
    (condition,) = write.body["status"]["conditions"]
    assert write.path == "/api/v1/namespaces/ns/pods/a/status"
    assert write.body["metadata"] == {"uid": "a", "resourceVersion": "7"}
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert condition["lastTransitionTime"].endswith("Z")


async def test_a_pod_that_had_changed_when_it_was_told_is_told_again() -> None:
    at = At()
    async with task_of(at.engine.run()):
        at.put(NodeSeen(a_node("n", cpu=1)), PodSeen(a_pod("a", cpu=2, version="7")))
        await until(lambda: at.patcher.writes)
        first = at.patcher.writes.pop("a")
        at.put(PodSeen(a_pod("a", cpu=2, version="8")))
        assert first.done is not None
        first.done(200)
        await asyncio.sleep(0.05)
        assert at.patcher.writes == {}
        first.done(409)
        await until(lambda: at.patcher.writes)

    assert at.patcher.writes["a"].body["metadata"]["resourceVersion"] == "8"


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
