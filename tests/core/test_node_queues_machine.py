"""Queues at nodes beside all other things that may happen: none keeps room that it may not have, and nothing is idle that somebody who waits could have."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from core.node_queues_machine import NodeQueuesMachine
from examples import examples

TestNodeQueues = NodeQueuesMachine.TestCase
TestNodeQueues.settings = settings(
    max_examples=examples(60),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
