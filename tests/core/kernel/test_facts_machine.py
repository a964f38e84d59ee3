"""What a core knows can be told to a new one, which goes on as the old one would have."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule

from core.capacity_machine import CapacityMachine
from core.core_machine import CoreMachine
from examples import examples
from treadle.core import Core
from treadle.core.effects import Bind


def seen(core: Core) -> dict[str, Any]:
    """What scheduling goes by, by the names of things."""
    state = core.state
    named = state.types.named
    return {
        "discipline": state.discipline.name,
        "queues": {
            queue.path: (named(queue.usage), named(queue.master_usage), queue.defined, queue.spec)
            for queue in state.tree.queues.values()
            if not queue.dynamic
        },
        "free": {name: named(state.nodes.free[row]) for name, row in state.nodes.row.items() if state.nodes.specs[row]},
        "pods": {uid: _pod(core, uid) for uid, record in state.pods.items() if record.application is not None},
        "users": {application.id: application.user for application in state.applications.values()},
        "counts": (state.waiting, state.assumed, state.bound),
    }


def _pod(core: Core, uid: str) -> tuple[Any, ...]:
    record = core.state.pods[uid]
    assert record.application is not None
    queue = record.application.queue
    node = core.state.nodes.names[record.node] if record.node >= 0 else ""
    return record.state, node, None if queue is None else queue.path, record.failures, record.shape.demand


def shares(core: Core) -> dict[str, Any]:
    core.refresh_shares()
    named = core.state.types.named
    return {queue.path: (named(queue.fair_share), named(queue.minimum or [])) for queue in core.state.tree.queues.values()}


def binds(core: Core, now: float) -> list[Bind]:
    return [effect for effect in core.plan(now) if isinstance(effect, Bind)]


def told_anew(core: Core, now: float) -> Core:
    new = Core(core.state.settings, validate=True)
    for event in core.facts():
        new.handle(event, now)
    return new


def assert_goes_on_alike(core: Core, now: float) -> None:
    """Assert that a core that is told of everything anew sees the same and decides the same. The old one has planned at ``now``."""
    state = core.state
    if any(record.node >= 0 and state.nodes.specs[record.node] is None for record in state.pods.values()):
        return  # in which partition a node was that is gone is not told
    new = told_anew(core, now)
    core.plan(now + 1.0, 0)
    new.plan(now + 1.0, 0)
    if core.state.preemption.holds or new.state.preemption.holds:
        return  # room that is held is not told: who waits gets it anew
    assert seen(new) == seen(core)
    assert shares(new) == shares(core)
    later = now + 2.0
    assert Counter(bind.application for bind in binds(new, later)) == Counter(bind.application for bind in binds(core, later))


class ToldAnew(CoreMachine):
    @rule()
    def a_core_that_is_told_of_everything_anew_goes_on_alike(self) -> None:
        self.scenario.wait(1.0).plan(0)
        assert_goes_on_alike(self.scenario.core, self.scenario.now)
        self.scenario.wait(2.0)


class CapacityToldAnew(CapacityMachine):
    @rule()
    def a_core_that_is_told_of_everything_anew_goes_on_alike(self) -> None:
        self.scenario.wait(1.0).plan(0)
        assert_goes_on_alike(self.scenario.core, self.scenario.now)
        self.scenario.wait(2.0)


MANY = settings(
    max_examples=examples(30),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TestToldAnew = ToldAnew.TestCase
TestToldAnew.settings = MANY
TestCapacityToldAnew = CapacityToldAnew.TestCase
TestCapacityToldAnew.settings = MANY
