"""Opportunistic pods in few words, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.builders import GIB, Scenario, a_pod
from treadle.core.effects import Evict
from treadle.core.events import PodSeen
from treadle.core.model import PodSpec


def idle(name: str, queue: str = "", application: str = "batch", cpu: int = 1, memory: int = 1, **fields: Any) -> PodSpec:
    """An opportunistic pod: it requests nothing but its slot."""
    return a_pod(name, queue, application, 0, 0, opportunistic=(("cpu", cpu * 1000), ("memory", memory * GIB)), **fields)


def seen(scenario: Scenario, *pods: PodSpec) -> Scenario:
    return scenario.tell(*map(PodSeen, pods))


def bound(scenario: Scenario) -> dict[str, str]:
    """Plan, let every bind be confirmed, and return the nodes by pod."""
    state = scenario.core.state
    binds = scenario.plan()
    for bind in binds:
        spec = state.pods[bind.uid].spec
        scenario.tell(PodSeen(on_node(spec, bind.node, bind.queue)))
    return {bind.uid: bind.node for bind in binds}


def on_node(spec: PodSpec, node: str, queue: str = "") -> PodSpec:
    return replace(spec, node=node, held_in=queue)


def evicted(scenario: Scenario) -> list[str]:
    return [effect.uid for effect in scenario.effects if isinstance(effect, Evict)]
