"""Applications of several users come, go, move and are edited under changing limits: nobody runs beyond one, nobody waits without one.

The core checks its invariants after every step: counts agree up the tree and by user, and who waits has a limit that holds it.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core.builders import Scenario, limits, replaced
from examples import examples
from treadle.core.effects import Bind, Verify
from treadle.core.events import ApplicationSeen, PodSeen
from treadle.core.kernel.pods.states import PodState
from treadle.core.model import ApplicationSpec, Constraints, FairSettings, Wish

LEAVES = ["root.a", "root.b.x", "root.b.y"]
QUEUES = ["root", "root.a", "root.b", "root.b.x", "root.b.y"]
applications = st.integers(0, 7)
users = st.sampled_from(["ann", "bob"])
most = st.sampled_from([None, 0, 1, 2, 3])


class LimitsMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.scenario = Scenario().nodes(2, cpu=6, memory=12)
        for path in QUEUES:
            self.scenario.queue(path)
        self.number = 0
        self.ran: dict[str, set[str]] = {}
        self.confirmed = 0

    @rule(
        path=st.sampled_from(QUEUES),
        running=most,
        share=st.sampled_from([None, 0.1, 0.5, 1.0, -1.0]),
        largest=st.sampled_from([{}, {}, limits(cpu="2")]),
        maximum=st.sampled_from([{}, {}, limits(cpu="3"), limits(gpu="0")]),
    )
    def queue(self, path: str, running: int | None, share: float | None, largest: Any, maximum: Any) -> None:
        leaf = path in LEAVES
        self.scenario.queue(
            path,
            max_running=running,
            max_master_share=share if leaf else None,
            max_container=largest,
            maximum={} if path == "root" else maximum,
        )

    @rule(
        of_ann=most,
        default=most,
        queues=most,
        share=st.sampled_from([0.0, 0.5, 1.0]),
        sized=st.booleans(),
        delay=st.sampled_from([-1.0, 2.0]),
    )
    def scheduler(
        self, of_ann: int | None, default: int | None, queues: int | None, share: float, sized: bool, delay: float
    ) -> None:
        fair = FairSettings(
            user_max_running={} if of_ann is None else {"ann": of_ann},
            user_max_running_default=default,
            queue_max_running_default=queues,
            queue_max_master_share_default=share,
            size_based_weight=sized,
            node_delay=delay,
            rack_delay=delay,
        )
        self.scenario.scheduler(fair=fair)

    @rule(
        number=applications,
        leaf=st.sampled_from(LEAVES),
        user=users,
        cpu=st.integers(1, 3),
        count=st.integers(1, 3),
        master=st.booleans(),
        preferred=st.sampled_from(["", "node-0", "nowhere"]),
        bound=st.integers(0, 9),
    )
    def pods(self, number: int, leaf: str, user: str, cpu: int, count: int, master: bool, preferred: str, bound: int) -> None:
        for _ in range(count):
            self.number += 1
            self.scenario.pod(
                f"p{self.number}",
                leaf,
                f"app{number}",
                user=user,
                cpu=cpu,
                role="master" if master else "",
                created=float(self.number),
                constraints=Constraints(wish=Wish((preferred,))) if preferred else Constraints(),
                node="node-1" if bound == 0 else "",
            )

    @rule(
        number=applications,
        leaf=st.sampled_from(["", *LEAVES, "root.nowhere", "root.b"]),
        user=st.sampled_from(["", "ann", "bob"]),
    )
    def application(self, number: int, leaf: str, user: str) -> None:
        self.scenario.tell(ApplicationSeen(ApplicationSpec(f"ns/app{number}", leaf, user=user)))

    @rule(data=st.data())
    def pod_goes(self, data: st.DataObject) -> None:
        pods = sorted(self.scenario.core.state.pods)
        if pods:
            self.scenario.gone(data.draw(st.sampled_from(pods)))

    @rule(number=applications)
    def application_ends(self, number: int) -> None:
        application = self.scenario.core.state.applications.get(f"ns/app{number}")
        if application is not None:
            self.scenario.gone(*list(application.pods))

    @rule(data=st.data(), leaf=st.sampled_from(LEAVES), role=st.sampled_from(["", "master"]))
    def pod_is_edited(self, data: st.DataObject, leaf: str, role: str) -> None:
        state = self.scenario.core.state
        if state.pods:
            spec = state.pods[data.draw(st.sampled_from(sorted(state.pods)))].spec
            self.scenario.tell(PodSeen(replaced(spec, queue=leaf, role=role, reported=("x", str(self.number)))))

    @rule(budget=st.sampled_from([1, 100]), outcome=st.sampled_from(["confirmed", "transient", "refused", "unknown"]))
    def plan(self, budget: int, outcome: str) -> None:
        binds: list[Bind] = self.scenario.plan(budget)
        for bind in binds:
            if outcome == "confirmed":
                self.scenario.confirm([bind])
            elif outcome != "unknown":
                self.scenario.fail(bind, outcome)
        self.answer()

    def answer(self) -> None:
        state = self.scenario.core.state
        for effect in self.scenario.effects:
            if isinstance(effect, Verify) and state.pods[effect.uid].state is PodState.ASSUMED:
                self.scenario.tell(PodSeen(replaced(state.pods[effect.uid].spec, node=effect.node), answer=True))

    @rule(seconds=st.sampled_from([0.2, 1.0, 3.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.scenario.wait(seconds)

    @rule()
    def after_a_while_nothing_is_assumed_and_what_waits_is_held_by_something(self) -> None:
        state = self.scenario.core.state
        for _ in range(3):
            self.scenario.wait(61.0)
            self.scenario.confirm(self.scenario.plan())
            self.answer()
        self.scenario.wait(1.0).plan(0)
        assert not any(
            record.state is PodState.ASSUMED and record.since < self.scenario.now - 62 for record in state.pods.values()
        )
        for application in state.applications.values():
            for ask in application.asks.values():
                if ask.wait is not None and ask.wait.reason == "WaitingForLocality":
                    assert state.locality.until[ask] > self.scenario.now

    @invariant()
    def everything_that_waits_says_why(self) -> None:
        self.scenario.everybody_says_why()

    @invariant()
    def nobody_comes_to_run_over_a_limit(self) -> None:
        """A queue has more than its limit only by who ran before, or was found running."""
        state = self.scenario.core.state
        for queue in state.tree.queues.values():
            below = [application for one in queue.walk() for application in one.applications.values()]
            ran = self.ran.get(queue.path, set())
            found = {application.id for application in below if application.allocated} - ran
            assert queue.running_below <= max(queue.max_running, len(ran) + len(found)), queue.path
            self.ran[queue.path] = {application.id for application in below if application.counted}


TestLimits = LimitsMachine.TestCase
TestLimits.settings = settings(
    max_examples=examples(60),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
