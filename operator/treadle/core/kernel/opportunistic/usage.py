"""What nodes use, by samples that somebody tells, and how long each is worth anything.

Samples tell of a while that has passed. What was placed here since is added by pod (``rules.opportunistic.samples``), what others' pods request more than when the sample
came in sum. Of the pods that are there when the first sample comes the opportunistic ones count as placed then, others when they were made. Nothing of this is kept, and nothing is noted, unless room goes by usage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.opportunistic import forecast, measured
from treadle.core.kernel.opportunistic.given import asks
from treadle.core.kernel.opportunistic.known import TYPES, Sampled, Usage
from treadle.core.kernel.pods.states import PodState
from treadle.core.model.opportunistic import FULL, SOME
from treadle.core.rules.opportunistic import pressure
from treadle.core.rules.opportunistic.samples import NodeUsage
from treadle.core.rules.opportunistic.thresholds import OverAllocation, over
from treadle.core.units.amounts import beyond

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.events import NodeSampled, UsageKnown
    from treadle.core.kernel.state import State
    from treadle.core.units.resources import Vector

MOST_POLICIES = 1024
RECENT = 300.0
"""Seconds for which a pod that is there when the first sample comes may not be told of yet."""


def sampled(state: State, event: NodeSampled) -> None:
    """Take a sample of a node that is known; what is measured of other types than memory and cpu is passed over."""
    usage, row = state.opportunistic.usage, state.nodes.row.get(event.node)
    if not state.scheduler.opportunistic.by_usage or row is None or state.nodes.specs[row] is None:
        return
    if not usage.of:
        _begin(state)
    one = _of(state, event.node)
    notice(state, row, one.usage)
    if one.usage.take(measured.sample(state, event.usage, event.at, event.window), state.now):
        usage.newest = max(usage.newest, min(event.at, state.now))
        one.others = _others(state, row)
        _note_pressure(state, row, one, event)
        _note_crossing(state, row, one)
        measured.forget_the_gone(state, row)
        forecast.sampled(state, row, one)
        usage.fresh[event.node] = None
        state.opportunistic.come = state.opportunistic.come or bool(state.opportunistic.waiting)


def become_known(state: State, event: UsageKnown) -> None:
    """Take note of whether samples can be had."""
    usage = state.opportunistic.usage
    usage.known, usage.trouble = event.known, event.trouble


def settings_changed(state: State) -> None:
    """Go by other settings from now on; nothing is kept where room does not go by usage."""
    settings, kept = state.scheduler.opportunistic, state.opportunistic
    usage = kept.usage
    usage.policies.clear()
    usage.pods.clear()
    usage.kinds.clear()
    kept.compared = -1
    if not settings.by_usage:
        kept.usage = Usage()
    for one in usage.of.values():
        one.room = None
        one.moments, one.watched = [], []
        one.usage.old_after, one.usage.warm_up = settings.old_after, settings.warm_up
    kept.come = kept.come or bool(kept.waiting)


def node_gone(state: State, name: str) -> None:
    """Forget a node."""
    state.opportunistic.usage.of.pop(name, None)
    state.opportunistic.usage.fresh.pop(name, None)
    state.opportunistic.usage.pods.pop(name, None)


def note(state: State, uids: Iterable[str]) -> None:
    """Take note of pods that were just placed: no sample tells of them yet."""
    names = state.nodes.names
    for uid in uids:
        record = state.pods.get(uid)
        if record is not None and record.node >= 0:
            usage = _of(state, names[record.node]).usage
            if uid not in usage.pending:
                usage.place(uid, asks(record))


def notice(state: State, row: int, usage: NodeUsage) -> None:
    """Take note of which of the pods that were placed on a node are there by now, and which are gone."""
    for uid, pending in list(usage.pending.items()):
        record = state.pods.get(str(uid))
        if record is None or record.node != row:
            usage.leave(uid)
        elif pending.started is None and record.state is PodState.BOUND:
            usage.start(uid, state.now)


def used(state: State, row: int) -> list[int | None]:
    """Return what is used of memory and cpu of a node, or will be at most, with what the sample does not tell of; None where nobody knows."""
    one = state.opportunistic.usage.of.get(state.nodes.names[row])
    if one is None or one.usage.is_old(state.now):
        return [None] * TYPES
    more = beyond(_others(state, row), one.others)
    used = [None if have is None else have + other for have, other in zip(one.usage.used(state.now, TYPES), more, strict=True)]
    return forecast.peaks(state, row, one, used)


def policy_of(state: State, row: int) -> OverAllocation:
    """Return how far a node may be over-allocated."""
    spec, usage = state.nodes.specs[row], state.opportunistic.usage
    settings = state.scheduler.opportunistic
    policy = settings.policy_of(spec.labels) if spec is not None and settings.overrides else settings.policy
    if spec is not None and spec.over_allocation is not None:
        policy = spec.over_allocation.instead_of(policy)
    found = usage.policies.get(policy)
    if found is None:
        if len(usage.policies) >= MOST_POLICIES:  # nodes were edited again and again
            usage.policies.clear()
        found = usage.policies[policy] = OverAllocation.of(policy, state.types)
    return found


def size_of(state: State, row: int) -> Vector:
    """Return what a node has of memory and cpu, without what is left to other schedulers."""
    have = state.nodes.allocatable[row][:TYPES]
    left = state.nodes.left.get(row)
    return have if left is None else beyond(have, left[:TYPES])


def unknown(state: State) -> int:
    """Return of how many nodes there is no sample that is not old."""
    usage = state.opportunistic.usage.of
    rows = (row for row, spec in enumerate(state.nodes.specs) if spec is not None)
    found = (usage.get(state.nodes.names[row]) for row in rows)
    return sum(one is None or one.usage.is_old(state.now) for one in found) + _without_pressure(state)


def _without_pressure(state: State) -> int:
    """Return how many nodes do not tell of the pressure by which it is decided, though they tell what they use."""
    found = 0
    for name, one in state.opportunistic.usage.of.items():
        row = state.nodes.row.get(name)
        if row is not None and state.nodes.specs[row] is not None and not one.usage.is_old(state.now):
            found += any((want.resource, want.kind) not in one.waiting for want in policy_of(state, row).pressure)
    return found


def shut(state: State, row: int, policy: OverAllocation) -> bool:
    """Whether a node takes no opportunistic pods since tasks wait there, or since it is not known whether they do."""
    if not policy.pressure:
        return False
    one = state.opportunistic.usage.of.get(state.nodes.names[row])
    return one is None or one.usage.is_old(state.now) or pressure.shut(policy.pressure, one.waiting) is not None


def is_lost(state: State) -> bool:
    """Whether nobody tells what any node uses: no sample has come, or none can be had and the newest is old."""
    usage = state.opportunistic.usage
    return not usage.of or (usage.known is False and state.now - usage.newest > state.scheduler.opportunistic.old_after)


def _of(state: State, name: str) -> Sampled:
    known = state.opportunistic.usage.of
    one = known.get(name)
    if one is None:
        settings = state.scheduler.opportunistic
        one = known[name] = Sampled(NodeUsage(settings.old_after, settings.warm_up))
    return one


def _begin(state: State) -> None:
    """Take note of pods that have been on nodes for so short that the first samples may not tell of them."""
    now = state.now
    for uid, record in state.pods.items():
        if record.node < 0 or record.application is None:
            continue
        at = max(record.since, record.spec.created - state.settings.epoch)
        if uid in state.opportunistic.of:
            at = now  # since when it is there nobody knows, and it may have waited for long
        if record.state is PodState.ASSUMED or at > now - RECENT:
            usage = _of(state, state.nodes.names[record.node]).usage
            usage.place(uid, asks(record))
            if record.state is not PodState.ASSUMED:
                usage.start(uid, min(at, now))


def _note_pressure(state: State, row: int, one: Sampled, event: NodeSampled) -> None:
    """Take note of how long tasks of a node's pods wait: by the sample, or else by the node's own word, unless that is old, or of a time that is far off."""
    spec = state.nodes.specs[row]
    said = None if spec is None else spec.pressure
    one.waiting, one.waited = {}, None
    if event.pressure:
        one.waiting = {
            (resource, kind): value for resource, *both in event.pressure for kind, value in zip((SOME, FULL), both, strict=True)
        }
    elif said is not None:
        at = said.at - state.settings.epoch
        if abs(state.now - at) <= one.usage.old_after:
            one.waiting, one.waited = dict(said.waiting), min(at, state.now)


def _note_crossing(state: State, row: int, one: Sampled) -> None:
    """Take note of since when a node is used too much beside opportunistic pods, and of when it is not any more."""
    assert one.usage.sample is not None
    at = one.usage.sample.at
    if not over(policy_of(state, row), size_of(state, row), one.usage.measured(state.now, TYPES)):
        if one.crossed is not None:
            state.opportunistic.usage.until_below.add(at - one.crossed)
        one.crossed = None
    elif row not in state.opportunistic.on_row:
        one.crossed = None  # others use too much
    elif one.crossed is None:
        one.crossed = at


def _others(state: State, row: int) -> Vector:
    found = state.nodes.others_on(row)
    return [0] * TYPES if found is None else list(found[:TYPES])
